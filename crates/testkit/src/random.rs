//! Many random programs, audited.

use warpbound_analyse::Launch;
use warpbound_simt::warp::{DivergenceOrder, Model};

use crate::audit::Analysed;
use crate::execute::{Ending, RunSeed, mix};
use crate::generate::{structured, unstructured};

/// Totals of a campaign.
#[derive(Clone, Debug, Default)]
pub struct Campaign {
    /// Programs analysed.
    pub programs: usize,
    /// Programs that the analyses refused.
    pub refused: usize,
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

/// Audits `runs` runs of random programs.
pub fn campaign(seed: u64, runs: usize) -> Campaign {
    let mut total = Campaign::default();
    let mut program = 0;
    while total.runs < runs {
        program += 1;
        let program_seed = mix(&[seed, program]);
        let mut rng = fastrand::Rng::with_seed(program_seed);
        let code = if rng.u8(0..3) == 0 {
            unstructured(&mut rng)
        } else {
            structured(&mut rng)
        };
        let launch = Launch {
            warp_width: [4, 8, 32, 64][rng.usize(0..4)],
            block: rng.bool().then(|| [rng.u32(1..70), rng.u32(1..4), 1]),
            global_is_stable: true,
        };
        let order = if rng.bool() {
            DivergenceOrder::Any
        } else {
            DivergenceOrder::TakenFirst
        };
        let model = Model {
            may_diverge: true,
            order,
            ..Model::default()
        };
        total.programs += 1;
        let Ok(analysed) = Analysed::run(&code, launch, &model) else {
            total.refused += 1;
            continue;
        };
        for _ in 0..10 {
            let all = u64::MAX >> (64 - launch.live_lanes());
            let run = RunSeed {
                seed: rng.u64(..),
                lanes: match rng.u8(0..4) {
                    0 => (rng.u64(..) & all).max(1),
                    _ => all,
                },
                fall_through_first: match order {
                    DivergenceOrder::Any => None,
                    DivergenceOrder::TakenFirst => Some(false),
                },
                max_steps: 2_000,
            };
            let findings = analysed.audit(run, 2, true);
            total.runs += 1;
            total.diverged += usize::from(findings.diverged);
            total.finished += usize::from(findings.ending == Some(Ending::Finished));
            if let Some((executed, Some(bound))) = findings.executed_and_bound {
                total.bounded += 1;
                total.ratios.push(bound as f64 / executed as f64);
            }
            for problem in findings.violations.into_iter().chain(findings.mismatches) {
                total
                    .problems
                    .push(format!("program {program_seed:#x} run {:#x}: {problem}", run.seed));
            }
        }
    }
    total
}
