//! Bounds of loops derived from the machine code, and their reports.
//!
//! A bound is derived twice: for any launch, and for the stated launches. For example, if both give 64, the origin of
//! the bound is the code alone, and its report lists no statement about the launch.

use warpbound_analyse::launch_ranges::{LaunchRanges, LaunchWord};
use warpbound_analyse::loop_bounds::{DerivedBound, LoopVerdict, WhyUnknown, derive};
use warpbound_base::{CodeAddr, Deadline};
use warpbound_load::{Isa, Kernel};
use warpbound_report::bound::Origin;
use warpbound_report::derivation::{DecidingLoad, LoopDerivation, LoopEvidence};

use crate::launch_knowledge::words_of_every_launch;
use crate::prepared::Prepared;
use crate::{BoundOptions, FactReading, KernelFlow};

/// Verdicts on the loops of a kernel.
pub struct LoopVerdicts {
    /// Verdict and origin of each loop, by site; empty if nothing was derived.
    sites: Vec<(LoopVerdict, Origin)>,
}

impl LoopVerdicts {
    /// Derives bounds of loops, if the options ask for them. The paper's reading gets none, because its loop bounds
    /// are about warps, and derived bounds are about threads.
    pub fn derive(
        prepared: &Prepared<'_>,
        flow: &KernelFlow,
        launch: &LaunchRanges,
        options: &BoundOptions,
        deadline: Deadline,
    ) -> LoopVerdicts {
        let is_derived = options.derive && options.reading == FactReading::Simt;
        // Without derived bounds, loops need facts, so leaving them out is sound.
        if !is_derived || deadline.is_past() {
            return LoopVerdicts { sites: Vec::new() };
        }
        let of = |launch: &LaunchRanges| derive(&prepared.code, &flow.thread, &flow.loops, launch);
        let any = any_launch(launch, prepared.isa, prepared.kernel);
        let sites = of(&any).into_iter();
        let sites = match options.states_launch() {
            false => sites.map(|verdict| (verdict, Origin::Derived)).collect(),
            true => sites
                .zip(of(launch))
                .map(|(of_any, stated)| smaller(of_any, stated))
                .collect(),
        };
        LoopVerdicts { sites }
    }

    /// Returns the derived bound of a loop.
    pub fn bound(&self, site: usize) -> Option<&DerivedBound> {
        match self.sites.get(site)? {
            (LoopVerdict::Bounded(bound), _) => Some(bound),
            (LoopVerdict::Unknown(_), _) => None,
        }
    }

    /// Returns the origin of the derived bound of a loop: the code, or the code and what is stated about the launch.
    pub fn origin(&self, site: usize) -> Option<Origin> {
        let (verdict, origin) = self.sites.get(site)?;
        matches!(verdict, LoopVerdict::Bounded(_)).then_some(*origin)
    }

    /// Returns the report of the derivation for a loop.
    pub fn derivation(&self, prepared: &Prepared<'_>, site: usize) -> LoopDerivation {
        let mut report = LoopDerivation::default();
        let place = |at: CodeAddr| (prepared.location_of(at), prepared.source(at));
        match self.sites.get(site).map(|(verdict, _)| verdict) {
            None => {}
            Some(LoopVerdict::Bounded(bound)) => {
                let evidence = &bound.evidence;
                let (exit, source) = place(evidence.exit);
                report.evidence = Some(LoopEvidence {
                    exit,
                    source,
                    pattern: evidence.pattern.name(),
                    start: evidence.start.clone(),
                    step: evidence.step.clone(),
                    limit: evidence.limit.clone(),
                });
            }
            Some(LoopVerdict::Unknown(WhyUnknown::Memory { load, .. })) => {
                let (load, source) = place(*load);
                report.decided_by = Some(DecidingLoad { load, source });
            }
            Some(LoopVerdict::Unknown(WhyUnknown::Parameter { name, .. })) => {
                report.parameter = Some(name.clone());
            }
            Some(LoopVerdict::Unknown(WhyUnknown::Pattern(reason))) => {
                report.reason = Some(reason.clone());
            }
        }
        report
    }
}

/// Returns the launches of a kernel without the statements of the user: only the kernel limits them.
fn any_launch(stated: &LaunchRanges, isa: Isa, kernel: &Kernel) -> LaunchRanges {
    let fixed = words_of_every_launch(isa, kernel);
    let words = stated.words.iter().map(|(&at, word)| {
        let range = fixed.get(&at).copied();
        let name = word.name.clone();
        (at, LaunchWord { name, range })
    });
    LaunchRanges {
        block: match kernel.required_block {
            Some(_) => stated.block,
            None => [None; 3],
        },
        // Grids of AMD's GPUs may be larger than grids of CUDA, so a loop that counts to `blockIdx.y` has another bound.
        limits: stated.limits,
        words: words.collect(),
        ..LaunchRanges::default()
    }
}

/// Returns the verdict for any launch, unless the stated launches give a smaller number: then only the smaller bound
/// needs the statements.
fn smaller(of_any: LoopVerdict, stated: LoopVerdict) -> (LoopVerdict, Origin) {
    let LoopVerdict::Bounded(mut bound) = of_any else {
        return (stated, Origin::Launch);
    };
    if let LoopVerdict::Bounded(of_stated) = stated {
        // An unknown total does not limit anything.
        let total = |bound: &DerivedBound| bound.total.unwrap_or(u64::MAX);
        if of_stated.per_entry < bound.per_entry || total(&of_stated) < total(&bound) {
            return (LoopVerdict::Bounded(of_stated), Origin::Launch);
        }
        // The stated launches are fewer, so more header executions may be certain in them; the result is about these
        // launches.
        bound.certain = bound.certain.max(of_stated.certain);
    }
    (LoopVerdict::Bounded(bound), Origin::Derived)
}

#[cfg(test)]
mod tests {
    use warpbound_analyse::launch_ranges::WordRange;
    use warpbound_base::SizeLimits;
    use warpbound_ir::Code;
    use warpbound_load::{
        ArgKind, CodeObjectKernel, CodeObjectVersion, GcnDescriptor, HiddenArg, KernelArg,
    };

    use super::*;

    /// Bounds for any launch hold for all sizes that the machines of the code have.
    #[test]
    fn any_launch_has_the_limits_of_its_machines() {
        for limits in [SizeLimits::CUDA, SizeLimits::HSA] {
            let stated = LaunchRanges {
                limits,
                ..LaunchRanges::default()
            };
            assert_eq!(
                any_launch(&stated, Isa::MiniSimt, &Kernel::default()).limits,
                limits
            );
        }
    }

    /// A block that a kernel requires fixes its own size in every launch, and not the remainder of the grid, which may
    /// share a word with it: a launch file has whole groups, and other launches need not.
    #[test]
    fn a_required_block_does_not_fix_the_remainder() {
        let arg = |offset, hidden| KernelArg {
            name: None,
            offset,
            size: 2,
            kind: ArgKind::Hidden(hidden),
        };
        let mut kernel = Kernel::default();
        kernel.required_block = Some([8, 4, 2]);
        kernel.code_object = Some(CodeObjectKernel {
            version: CodeObjectVersion::V5,
            descriptor: GcnDescriptor::default(),
            descriptor_address: 0,
            code_address: 0,
            kernarg_size: 24,
            args: vec![
                arg(12, HiddenArg::GroupSize(0)),
                arg(14, HiddenArg::GroupSize(1)),
                arg(16, HiddenArg::GroupSize(2)),
                arg(18, HiddenArg::Remainder(0)),
            ],
            uses_dynamic_stack: false,
        });
        let block = [8, 4, 2].map(|size| Some(WordRange::one(size)));
        // As a launch file states them.
        let word = |at, name: &str, word| {
            let (name, range) = (name.to_owned(), Some(WordRange::one(word)));
            ((Code::KERNARG_BANK, at), LaunchWord { name, range })
        };
        let (whole, shared) = ("blockDim.x,blockDim.y", "blockDim.z,remainder.x");
        let stated = LaunchRanges {
            block,
            words: [word(12, whole, 4 << 16 | 8), word(16, shared, 2)].into(),
            ..LaunchRanges::default()
        };
        let found = |ranges: &LaunchRanges, name: &str| {
            let mut words = ranges.words.values();
            words
                .find(|word| word.name == name)
                .and_then(|word| word.range)
        };
        let any = any_launch(&stated, Isa::MiniSimt, &kernel);
        let low_half = WordRange {
            modulus: 1 << 16,
            residue: 2,
            ..WordRange::ANY
        };
        assert_eq!(found(&any, shared), Some(low_half));
        assert_eq!(found(&any, whole), Some(WordRange::one(4 << 16 | 8)));
    }
}
