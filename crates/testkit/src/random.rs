//! Many random programs, audited.

use std::collections::BTreeMap;

use fastrand::Rng;
use warpbound_analyse::LaunchContext;
use warpbound_analyse::thread::Limits;
use warpbound_ir::Code;
use warpbound_simt::concrete::Mask;
use warpbound_simt::warp::{AgreementDomain, DivergenceOrder, GroupDomain, WarpModel, StackDomain};

use crate::audit::Analysed;
use crate::execute::{Ending, RunSeed, mix};
use crate::generate::{
    by_place, exotic, structured, two_headers, unstructured, unwound_from_outside,
};

/// Totals of a campaign.
#[derive(Clone, Debug, Default)]
pub struct Campaign {
    /// Programs analysed.
    pub programs: usize,
    /// Programs that the analyses refused at full precision.
    pub refused: usize,
    /// Programs that were refused with a domain switched off.
    pub refused_with_less: usize,
    /// Why those of full precision were, and how often.
    pub refusals: BTreeMap<String, usize>,
    /// Runs.
    pub runs: usize,
    /// Runs in which the warp diverged.
    pub diverged: usize,
    /// Runs that ended within the step limit.
    pub finished: usize,
    /// Runs whose executed instructions were compared with a bound.
    pub bounded: usize,
    /// Bound divided by executed instructions, for each of those.
    pub ratios: Vec<f64>,
    /// Everything that must not happen, with the program's seed.
    pub problems: Vec<String>,
}

impl Campaign {
    /// The median of the ratios; 0 without any.
    pub fn median_ratio(&self) -> f64 {
        let mut sorted = self.ratios.clone();
        sorted.sort_by(f64::total_cmp);
        sorted.get(sorted.len() / 2).copied().unwrap_or(0.0)
    }
}

/// Runs are cut after this many warp steps.
const MAX_STEPS: usize = 2_000;

/// Runs of each program.
const RUNS_PER_PROGRAM: usize = 10;

/// Audits `runs` runs of random programs.
pub fn campaign(seed: u64, runs: usize) -> Campaign {
    let mut total = Campaign::default();
    let mut program = 0;
    while total.runs < runs {
        program += 1;
        let program_seed = mix(&[seed, program]);
        let mut rng = fastrand::Rng::with_seed(program_seed);
        let (kind, code) = match rng.u8(0..10) {
            9 => ("placed", by_place(&mut rng)),
            0..=1 => ("unstructured", unstructured(&mut rng)),
            2..=3 => ("exotic", exotic(&mut rng)),
            4 if rng.bool() => ("two-headed", two_headers(&mut rng)),
            4 => ("unwound", unwound_from_outside(&mut rng)),
            _ => ("structured", structured(&mut rng)),
        };
        let name = format!("{kind} program {program_seed:#x}");
        total.audit(&name, &code, &mut rng, RUNS_PER_PROGRAM);
    }
    total
}

impl Campaign {
    /// Audits `runs` runs of one program for a random launch, order of divergence, precision, and limit of
    /// calling contexts. Returns whether the program was accepted.
    pub fn audit(&mut self, name: &str, code: &Code, rng: &mut Rng, runs: usize) -> bool {
        let launch = LaunchContext {
            // Seldom so narrow that nothing can diverge.
            warp_width: [1, 2, 3, 4, 8, 8, 32, 32, 64, 64][rng.usize(0..10)],
            block: rng
                .bool()
                .then(|| [rng.u32(1..70), rng.u32(1..4), rng.u32(1..3)]),
            global_is_stable: true,
        };
        let order = if rng.bool() {
            DivergenceOrder::Any
        } else {
            DivergenceOrder::TakenFirst
        };
        let mut model = WarpModel {
            may_diverge: true,
            order,
            ..WarpModel::default()
        };
        let mut limits = Limits::default();
        let less = rng.bool();
        if less {
            model.stack =
                [StackDomain::Full, StackDomain::Full, StackDomain::Acyclic][rng.usize(0..3)];
            model.groups = [GroupDomain::Full, GroupDomain::Off][rng.usize(0..2)];
            model.agreement = [
                AgreementDomain::Full,
                AgreementDomain::ActiveOnly,
                AgreementDomain::Off,
            ][rng.usize(0..3)];
            limits.contexts = rng.usize(1..5);
        }
        self.programs += 1;
        let analysed = match Analysed::run(code, launch, &model, &limits) {
            Ok(analysed) => analysed,
            Err(_) if less => {
                self.refused_with_less += 1;
                return false;
            }
            Err(refusal) => {
                self.refused += 1;
                let what = format!(
                    "{}: {}",
                    name.split(' ').next().unwrap_or_default(),
                    refusal.reason
                );
                *self.refusals.entry(what).or_default() += 1;
                return false;
            }
        };
        let warps = launch
            .block
            .map_or(1, |[x, y, z]| (x * y * z).div_ceil(launch.warp_width));
        for _ in 0..runs {
            let number = rng.u32(0..warps);
            let all = warp_of(&launch, number);
            let run = RunSeed {
                first_thread: number * launch.warp_width,
                seed: rng.u64(..),
                lanes: match rng.u8(0..4) {
                    0 => (rng.u64(..) & all).max(1),
                    _ => all,
                },
                fall_through_first: match order {
                    DivergenceOrder::Any => None,
                    DivergenceOrder::TakenFirst => Some(false),
                    DivergenceOrder::FallThroughFirst => Some(true),
                },
                max_steps: MAX_STEPS,
                fault: None,
            };
            let findings = analysed.audit(run, 2, true);
            self.runs += 1;
            self.diverged += usize::from(findings.diverged);
            self.finished += usize::from(findings.ending == Some(Ending::Finished));
            if let Some((executed, Some(bound))) = findings.executed_and_bound {
                self.bounded += 1;
                self.ratios.push(bound as f64 / executed as f64);
            }
            for problem in findings.violations.into_iter().chain(findings.mismatches) {
                self.problems
                    .push(format!("{name} run {:#x}: {problem}", run.seed));
            }
        }
        true
    }
}

/// The lanes of the first warp that hold a thread.
pub fn first_warp(launch: &LaunchContext) -> Mask {
    warp_of(launch, 0)
}

/// The lanes of a warp of the block that hold a thread. Counted here and not asked of the launch: how many there are is a
/// claim.
pub fn warp_of(launch: &LaunchContext, number: u32) -> Mask {
    let threads = launch.block.map_or(u32::MAX, |[x, y, z]| x * y * z);
    let first = number * launch.warp_width;
    let lanes = (0..launch.warp_width).filter(|&lane| first + lane < threads);
    lanes.fold(0, |mask, lane| mask | 1 << lane)
}
