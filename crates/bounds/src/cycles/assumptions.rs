//! Assumptions of a bound in cycles, in addition to the assumptions of its flow facts (SOUNDNESS 2).
//!
//! An assumption is listed only if the bound rests on it. For example, `access-facts` is listed if a facts file
//! states numbers of an access, and `caches-warm` with `--caches warm`.

use warpbound_analyse::access::MemoryUnits;
use warpbound_base::Family;
use warpbound_machine::Provenance;
use warpbound_report::BoundAssumption;
use warpbound_report::cycle_bound::UnpublishedRange;

use super::{CacheState, CycleOptions, clock, runtime_memory};
use crate::access::memory_assumptions;
use crate::assumptions::launch_assumptions;
use crate::{facts::accesses::stated_accesses, facts::accesses::stated_text};
use warpbound_query::prepared::Prepared;
use warpbound_query::{AnalysedKernel, BoundOptions};
use warpbound_runs::{
    runs::timed::assumptions::provenance_name, runs::timed::assumptions::unit_name,
};

impl CycleOptions {
    /// Lists what the bound in cycles rests on, besides the assumptions of the kernel's flow.
    pub(crate) fn assumptions(&self, analysed: AnalysedKernel<'_>) -> Vec<BoundAssumption> {
        let AnalysedKernel {
            session,
            prepared,
            options,
            ..
        } = analysed;
        let kernel = prepared.kernel;
        let mut all = vec![
            assumption("lone-warp", alone_text(self.machine.family())),
            assumption(
                "timing-model",
                match self.machine.family() {
                    Family::Maxwell | Family::Volta | Family::MiniSimt => {
                        "cycles are those of the timing model (docs/timing-model.md), not of a chip"
                    }
                    Family::Gcn3 => {
                        "cycles are those of the timing model (docs/timing-model-gcn3.md), not of a chip"
                    }
                },
            ),
            assumption("numbers-in-range", self.numbers_text()),
            assumption(
                "no-other-traffic",
                "nothing else uses the memory of the GPU: no copies, no display and, where a CPU shares it (Jetson, APUs), no \
                 accesses of the CPU",
            ),
            clock::assumption(&self.machine),
        ];
        if self.machine.family().may_merge_groups() {
            all.push(assumption(
                "group-changes",
                "a warp goes on with another group of its lanes only after a branch, a wait, an exit or a hint to yield",
            ));
        }
        all.extend(access_facts(prepared, options));
        let isa = session.image.isa().to_string();
        if !self.machine.is_for(&isa) {
            let machine = &self.machine;
            let text = format!(
                "code for {isa} runs on {}, which is for {}",
                machine.name,
                machine.architectures.join(", ")
            );
            all.push(assumption("other-architecture", text));
        }
        match self.caches {
            // The bound holds for all contents of the cache.
            CacheState::Any => {}
            CacheState::Warm => all.push(assumption(
                "caches-warm",
                "the second-level cache holds the buffers, constants and code of the launch when it begins",
            )),
            CacheState::Cold => all.push(assumption(
                "caches-cold",
                "the second-level cache and its TLB are empty when the launch begins",
            )),
        }
        let units = MemoryUnits::of(self.machine.family());
        all.extend(units.iter().flat_map(memory_assumptions));
        if self.splitting.splits > 0 {
            all.push(assumption(
                "splits",
                "the wave splits at no other branches than the sites that are found, and each bound of a loop holds for waves \
                 with fewer lanes",
            ));
        }
        // Which lines of code share a set depends on where the other sections are.
        if !kernel.joined.is_empty() {
            all.push(assumption(
                "code-layout",
                "the code sections of the functions that the kernel calls follow its own in memory, in the order of the calls",
            ));
        }
        all.extend(stated_launch(options));
        // Without a launch no page is counted once, so the pages of the runtime do not matter.
        if self.machine.family() == Family::Gcn3 && options.launches.shaped_file().is_some() {
            all.push(runtime_memory::assumption());
        }
        all
    }

    /// States the ranges of the machine's numbers, and how many of them are not published.
    fn numbers_text(&self) -> String {
        let numbers = self.unpublished();
        let of = |provenance| {
            let name = provenance_name(provenance);
            numbers.iter().filter(|n| n.provenance == name).count()
        };
        format!(
            "the numbers of {} are in their ranges; of {}, {} are assumed and {} fitted (--format json lists them)",
            self.machine.name,
            self.machine.parameters().count(),
            of(Provenance::Assumed),
            of(Provenance::Fitted)
        )
    }

    /// Lists the ranges that are not published.
    pub(crate) fn unpublished(&self) -> Vec<UnpublishedRange> {
        let ranges = self.machine.parameters();
        let ranges = ranges.map(|parameter| (parameter, self.machine.range(parameter)));
        ranges
            .filter(|(_, range)| !range.provenance.is_of_device())
            .map(|(parameter, range)| UnpublishedRange {
                name: parameter.name(),
                least: range.least,
                most: range.most,
                unit: unit_name(parameter),
                provenance: provenance_name(range.provenance),
            })
            .collect()
    }
}

/// States the facts about accesses.
fn access_facts(prepared: &Prepared<'_>, options: &BoundOptions) -> Option<BoundAssumption> {
    // Facts that do not suit the kernel have ended the query before.
    let stated = stated_accesses(prepared, &options.facts).unwrap_or_default();
    let stated: Vec<String> = stated
        .iter()
        .map(|(&at, stated)| stated_text(prepared, at, stated))
        .collect();
    let text = || {
        format!(
            "no execution of an access by a warp has more than the facts file states, or is to other memory, for any input: {}",
            stated.join(", ")
        )
    };
    (!stated.is_empty()).then(|| assumption("access-facts", text()))
}

/// Lists the statements of the user about launches.
fn stated_launch(options: &BoundOptions) -> Vec<BoundAssumption> {
    let mut all = Vec::new();
    if options.states_launch() {
        all.extend(launch_assumptions(options));
    }
    if options.launches.shaped_file().is_some() {
        let of_launch = [
            (
                "launch",
                match options.launches.only_file() {
                    Some(_) => {
                        "the launch has the grid, block, parameters and constants of the launch file"
                    }
                    None => {
                        "the launch has the grid, block, buffers and constants of the launch file, and parameters as they \
                         are stated"
                    }
                },
            ),
            (
                "addresses",
                "buffers are at the addresses at which runs of this program place them",
            ),
        ];
        all.extend(of_launch.map(|(id, text)| assumption(id, text)));
    }
    all
}

fn assumption(id: &'static str, text: impl Into<String>) -> BoundAssumption {
    let text = text.into();
    BoundAssumption { id, text }
}

/// Returns the statement that nothing else runs.
fn alone_text(family: Family) -> &'static str {
    match family {
        Family::Maxwell | Family::Volta | Family::MiniSimt => {
            "no other warp and no other kernel runs on the GPU; the other warps of the block have exited, so \
                         that barriers open at once"
        }
        Family::Gcn3 => {
            "no other wave and no other kernel runs on the GPU; the other waves of the group have ended, so \
                         that barriers open at once"
        }
    }
}
