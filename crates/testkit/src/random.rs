//! Campaigns over random programs: generation, analysis and audit of several runs of each.

use std::collections::BTreeMap;

use fastrand::Rng;
use warpbound_analyse::LaunchContext;
use warpbound_analyse::thread_cfg::Limits;
use warpbound_ir::Code;
use warpbound_simt::Mask;
use warpbound_simt::warp::{AgreementDomain, DivergenceOrder, GroupDomain, StackDomain, WarpModel};

use crate::audit::Analysed;
use crate::execute::{Ending, RunSeed, mix};
use crate::generate::{
    by_thread_index, exotic, jump_or_call, structured, two_headers, unstructured,
    unwound_from_outside,
};

/// Totals of a campaign over random programs of the activation-stack model.
#[derive(Clone, Debug, Default)]
pub struct WarpCampaign {
    /// Number of programs analysed.
    pub programs: usize,
    /// Number of programs refused at full precision.
    pub refused: usize,
    /// Number of programs refused with a domain or a limit reduced.
    pub refused_at_reduced_precision: usize,
    /// Reasons of the refusals at full precision, with their numbers.
    pub refusals: BTreeMap<String, usize>,
    /// Number of runs.
    pub runs: usize,
    /// Number of runs whose warp diverged.
    pub diverged: usize,
    /// Number of runs that ended within the step limit.
    pub finished: usize,
    /// Number of runs whose executed instructions were compared with a bound.
    pub bounded: usize,
    /// Bound divided by executed instructions, for each of these runs.
    pub ratios: Vec<f64>,
    /// Violations and mismatches, with the seed of the program.
    pub problems: Vec<String>,
}

impl WarpCampaign {
    /// Returns the median of the ratios; 0 if there are none.
    pub fn median_ratio(&self) -> f64 {
        let mut sorted = self.ratios.clone();
        sorted.sort_by(f64::total_cmp);
        sorted.get(sorted.len() / 2).copied().unwrap_or(0.0)
    }
}

/// Warp steps after which a run is cut off.
const MAX_STEPS: usize = 2_000;

/// Runs of each program.
const RUNS_PER_PROGRAM: usize = 10;

/// Audits at least `runs` runs of random programs, 10 of each.
pub fn campaign(seed: u64, runs: usize) -> WarpCampaign {
    let mut total = WarpCampaign::default();
    let mut program = 0;
    while total.runs < runs {
        program += 1;
        let program_seed = mix(&[seed, program]);
        let mut rng = fastrand::Rng::with_seed(program_seed);
        let (kind, code) = match rng.u8(0..10) {
            9 => ("thread-index", by_thread_index(&mut rng)),
            0..=1 => ("unstructured", unstructured(&mut rng)),
            2..=3 => ("exotic", exotic(&mut rng)),
            // By number: a further draw would change the programs of the other kinds.
            4 if program.is_multiple_of(3) => ("jump-or-call", jump_or_call(&mut rng)),
            4 if rng.bool() => ("two-headed", two_headers(&mut rng)),
            4 => ("unwound", unwound_from_outside(&mut rng)),
            _ => ("structured", structured(&mut rng)),
        };
        let name = format!("{kind} program {program_seed:#x}");
        total.audit_program(&name, &code, &mut rng, RUNS_PER_PROGRAM);
    }
    total
}

impl WarpCampaign {
    /// Audits `runs` runs of one program with a random launch, divergence order, precision and limit of calling
    /// contexts. Returns whether the analyses accepted the program.
    pub fn audit_program(&mut self, name: &str, code: &Code, rng: &mut Rng, runs: usize) -> bool {
        let launch = LaunchContext {
            // Width 1 is rare, because nothing diverges there.
            warp_width: [1, 2, 3, 4, 8, 8, 32, 32, 64, 64][rng.usize(0..10)],
            block: rng
                .bool()
                .then(|| [rng.u32(1..70), rng.u32(1..4), rng.u32(1..3)]),
            global_is_stable: true,
        };
        let (model, limits, is_reduced) = draw_precision(rng);
        self.programs += 1;
        let analysed = match Analysed::run(code, launch, &model, &limits) {
            Ok(analysed) => analysed,
            Err(_) if is_reduced => {
                self.refused_at_reduced_precision += 1;
                return false;
            }
            Err(refusal) => {
                self.refused += 1;
                let kind = name.split(' ').next().unwrap_or_default();
                let reason = format!("{kind}: {}", refusal.reason);
                *self.refusals.entry(reason).or_default() += 1;
                return false;
            }
        };
        let warps = launch
            .block
            .map_or(1, |[x, y, z]| (x * y * z).div_ceil(launch.warp_width));
        for _ in 0..runs {
            let number = rng.u32(0..warps);
            let all = live_lanes_of_warp(&launch, number);
            let run = RunSeed {
                first_thread: number * launch.warp_width,
                seed: rng.u64(..),
                lanes: match rng.u8(0..4) {
                    0 => (rng.u64(..) & all).max(1),
                    _ => all,
                },
                fall_through_first: match model.order {
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

/// Draws the divergence order, domains and limits of the analyses; returns also whether their precision is reduced.
fn draw_precision(rng: &mut Rng) -> (WarpModel, Limits, bool) {
    let order = match rng.bool() {
        true => DivergenceOrder::Any,
        false => DivergenceOrder::TakenFirst,
    };
    let mut model = WarpModel {
        may_diverge: true,
        order,
        ..WarpModel::default()
    };
    let mut limits = Limits::default();
    let is_reduced = rng.bool();
    if is_reduced {
        model.stack = [StackDomain::Full, StackDomain::Full, StackDomain::Acyclic][rng.usize(0..3)];
        model.groups = [GroupDomain::Full, GroupDomain::Off][rng.usize(0..2)];
        model.agreement = [
            AgreementDomain::Full,
            AgreementDomain::ActiveOnly,
            AgreementDomain::Off,
        ][rng.usize(0..3)];
        limits.contexts = rng.usize(1..5);
    }
    (model, limits, is_reduced)
}

/// Returns the lanes of the first warp that hold a thread.
pub fn live_lanes_of_first_warp(launch: &LaunchContext) -> Mask {
    live_lanes_of_warp(launch, 0)
}

/// Returns the lanes of warp `number` of the block that hold a thread. The number of live lanes is a claim of the
/// analyses, so it is counted here and not taken from the launch.
pub fn live_lanes_of_warp(launch: &LaunchContext, number: u32) -> Mask {
    let threads = launch.block.map_or(u32::MAX, |[x, y, z]| x * y * z);
    let first = number * launch.warp_width;
    let lanes = (0..launch.warp_width).filter(|&lane| first + lane < threads);
    lanes.fold(0, |mask, lane| mask | 1 << lane)
}
