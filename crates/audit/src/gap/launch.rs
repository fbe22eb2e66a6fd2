//! Gap breakdown of a whole launch: its worst simulated run, its bound, and the parts of the gap between them.
//!
//! The chain is like the chain of a single warp, with a composition in place of the replay: it puts the times and
//! services of the run into the sum of the bound (SOUNDNESS 20.10). What is left between the composition and the run
//! is the slack of the sum itself, for example where services of two resources overlap.

mod chain;
mod composition;
mod paths;
mod record;
mod runs;

#[cfg(test)]
mod tests;

use warpbound_base::{Diagnostic, Family, Named as _};
use warpbound_ipet::LaunchTerm;
use warpbound_launch::LaunchFile;
use warpbound_load::Kernel;
use warpbound_report::gap::{ChainValue, CompositionPart, GapReport, ResourceShare};

use super::chain::Replaced;
use super::conditions::launch_overhead;
use super::{AddToChain, GapOptions, GapSubject};
use warpbound_query::Session;

use chain::{KnownVectors, LaunchChain};
use runs::{LaunchRuns, WorstLaunch};

/// Simulates a whole launch, and compares the worst run with the bound of the launch. `on_run` receives the number of
/// completed runs and the number of all runs.
///
/// # Errors
///
/// The launch does not suit the kernel, no run ends, or the time of the launch is not known.
pub fn launch_gap(
    session: &Session,
    kernel: &Kernel,
    grid: &LaunchFile,
    options: &GapOptions,
    mut on_run: impl FnMut(u64, u64),
) -> Result<GapReport, Diagnostic> {
    launch_gap_with(session, kernel, grid, options, &mut on_run, |_| {})
}

/// Makes the gap breakdown of a launch. `change` alters the chain before its numbers are computed, so that tests can plant
/// faults.
fn launch_gap_with(
    session: &Session,
    kernel: &Kernel,
    grid: &LaunchFile,
    options: &GapOptions,
    on_run: &mut dyn FnMut(u64, u64),
    change: impl FnOnce(&mut LaunchChain<'_>),
) -> Result<GapReport, Diagnostic> {
    let locate = |d: Diagnostic| session.locate(d.in_kernel(kernel.demangled()));
    // As for a single warp: runs with other parameters may exceed the bound for the stated ones.
    let grid = &grid.as_one();
    let prepared = session.prepare_timed(kernel)?;
    if prepared.family() == Family::Gcn3 {
        let why = Diagnostic::new("gap breakdowns of launches are for NVIDIA's code");
        return Err(locate(why.hint("state --scope warp for one wave")));
    }
    let subject = GapSubject::new(session, &prepared, grid, options)?;
    let mut chain = LaunchChain {
        session,
        prepared: &prepared,
        flow: &subject.claims.flow,
        found: &subject.found,
        launch: grid,
        options: &options.cycles,
        observed: None,
    };
    // A launch whose time is not known is refused here, before any of its runs.
    let unknown = chain.claimed().map_err(locate)?.unknown_addresses();
    let mut runs = LaunchRuns {
        session,
        prepared: &prepared,
        claims: &subject.claims,
        options,
        count: 0,
        failed: None,
        violations: 0,
        depends_on_time: false,
    };
    let worst = runs.worst(grid, on_run)?;
    let mut report = empty_launch_gap(session, kernel, options, &worst);
    chain.observe(subject.given, worst).map_err(locate)?;
    change(&mut chain);
    report.runs = runs.count;
    report.unknown_addresses = unknown as u64;
    let overhead = launch_overhead(&options.cycles.machine);
    report.launch_overhead = overhead.iter().map(|(_, cycles)| cycles).sum();
    report.accesses = chain.loose_accesses().map_err(locate)?;
    runs.add_notes(&mut report.notes);
    chain.fill(&mut report).map_err(locate)?;
    Ok(report)
}

/// Returns the report of a gap breakdown without its chain.
fn empty_launch_gap(
    session: &Session,
    kernel: &Kernel,
    options: &GapOptions,
    worst: &WorstLaunch,
) -> GapReport {
    GapReport {
        scope: "grid",
        worst_simulated: worst.cycles,
        worst_run: worst.text().to_owned(),
        ..GapReport::empty(
            session.file.clone(),
            kernel.demangled(),
            options.cycles.machine.name.clone(),
            options.cycles.caches.name(),
        )
    }
}

impl LaunchChain<'_> {
    /// Computes the chain from the bound to the worst run, and the parts of the gap.
    fn fill(&self, report: &mut GapReport) -> Result<(), Diagnostic> {
        let names = GapReport::LAUNCH_CHAIN;
        let mut vectors = KnownVectors::default();
        let own = self.value(Replaced::default(), &mut vectors);
        let has_bound = own.is_ok();
        let mut first = Replaced::default();
        let has_counts = self.observation()?.seen.is_some();
        match own {
            Ok(bound) => report.bound = bound,
            // Without observed loop counts nothing can take the place of the missing facts.
            Err(why) if !has_counts => return Err(why),
            Err(why) => {
                first.loops = true;
                report.bound = self.value(first, &mut vectors)?;
                report.notes.push(format!(
                    "without observations there is no bound ({}): the chain begins with the loop counts of the runs",
                    why.message
                ));
            }
        }
        if !has_counts {
            report.notes.push(
                "loop counts are those of the facts: they depend on time, or a run without time did not come to its end"
                    .to_owned(),
            );
        }
        let mut before = report.bound;
        let mut replaced = first;
        report.chain.push(ChainValue {
            name: if has_bound { names[0] } else { names[1] },
            value: before,
        });
        let paths = self.observation()?.paths().err();
        let loops_alone = Replaced {
            loops: true,
            ..Replaced::default()
        };
        for name in names {
            let mut alone = first;
            // Some names stand for no claim, and a claim that is replaced from the start has no share of its own.
            if !replaced.replace(name) || !alone.replace(name) {
                continue;
            }
            if let Some(why) = paths.as_ref().filter(|_| replaced.path) {
                report
                    .notes
                    .push(format!("the chain ends before \"{name}\": {}", why.message));
                break;
            }
            let mut value = self.value(replaced, &mut vectors)?;
            if replaced == loops_alone {
                // The bound for the stated facts also holds for smaller counts, and its vectors may suit them better.
                value = value.min(before);
            }
            // Vectors of elements before would make this share depend on the order of the claims.
            let alone = self.value(alone, &mut KnownVectors::default())?;
            report.add(name, value, &mut before, Some(alone));
        }
        if paths.is_none() {
            let composed = self.composition(&vectors)?;
            let value = composed.all.cycles().0.0;
            report.add("composition", value, &mut before, None);
            report.composition = LaunchTerm::ALL
                .iter()
                .map(|&term| CompositionPart {
                    name: term.name(),
                    cycles: composed.all.term(term),
                })
                .collect();
            report.resources = composed
                .without
                .iter()
                .map(|(resource, without)| ResourceShare {
                    name: resource.name(),
                    without: without.cycles().0.0,
                    // Signed, so that a resource without which the sum grows would show.
                    cycles: i128::from(value) - i128::from(without.cycles().0.0),
                })
                .collect();
        }
        let simulated = report.worst_simulated;
        report.add("worst simulated", simulated, &mut before, None);
        Ok(())
    }
}
