//! Campaigns over random mini-SIMT programs and launches.

use fastrand::Rng;
use warpbound_machine::mini::{AfterBarrier, Latency, Machine, Policy};
use warpbound_simt::warp::DivergenceOrder;

use crate::execute::mix;
use crate::mini::audit::{BlockCase, BlockFindings, PlantedError, Subject, audit};
use crate::mini::generate::{
    Generated, MEMORY, READ_ONLY, program, split_loop_entry, unstructured_program,
};

/// Totals of a campaign over random mini-SIMT programs.
#[derive(Clone, Debug, Default)]
pub struct MiniCampaign {
    /// Number of programs.
    pub programs: usize,
    /// Number of runs that ended.
    pub runs: usize,
    /// Number of runs that did not end.
    pub stuck: usize,
    /// Number of runs with a deadlock at a barrier, as claimed.
    pub deadlocks: usize,
    /// Number of warps that diverged.
    pub diverged: usize,
    /// Number of programs without a bound.
    pub unbounded: usize,
    /// Numbers of warps with an exact profile, with bounded regions, and bounded as a whole.
    pub profiles: [usize; 3],
    /// Bound divided by cycles, for each run that ended.
    pub ratios: Vec<f64>,
    /// Contradictions, with the seed of the program.
    pub problems: Vec<String>,
}

impl MiniCampaign {
    /// Returns the given percentile of the ratios; 0 without runs.
    pub fn ratio(&self, percent: usize) -> f64 {
        let mut sorted = self.ratios.clone();
        sorted.sort_by(f64::total_cmp);
        let last = sorted.len().saturating_sub(1);
        sorted.get(last * percent / 100).copied().unwrap_or(0.0)
    }
}

/// Audits `programs` random programs; `case` generates a program and its launch from a seed.
pub fn campaign(
    case: fn(u64) -> (Generated, BlockCase),
    seed: u64,
    programs: usize,
    planted: Option<PlantedError>,
) -> MiniCampaign {
    let mut total = MiniCampaign::default();
    for number in 0..programs as u64 {
        let program_seed = mix(&[seed, number]);
        let (generated, case) = case(program_seed);
        let findings = audit_one(&generated, &BlockCase { planted, ..case });
        total.programs += 1;
        total.runs += findings.runs.len();
        total.stuck += findings.stuck;
        total.deadlocks += findings.deadlocks;
        total.diverged += findings.diverged;
        total.unbounded += usize::from(findings.unbounded);
        for (sum, n) in total.profiles.iter_mut().zip(findings.profiles) {
            *sum += n;
        }
        total.ratios.extend(
            findings
                .runs
                .iter()
                .map(|&(bound, cycles)| bound as f64 / cycles.max(1) as f64),
        );
        let name = |problem: &String| format!("program {program_seed:#x}: {problem}");
        total
            .problems
            .extend(findings.problems.iter().take(3).map(name));
    }
    total
}

/// Parses and audits one program; a diagnostic of the parser is a problem.
fn audit_one(generated: &Generated, case: &BlockCase) -> BlockFindings {
    match Subject::new(&generated.text) {
        Ok(subject) => audit(generated, &subject, case),
        Err(problem) => BlockFindings {
            problems: vec![problem],
            ..BlockFindings::default()
        },
    }
}

/// Generates the program of a seed and a launch of it, with three memories, on a random machine.
pub fn case(seed: u64) -> (Generated, BlockCase) {
    let mut rng = Rng::with_seed(seed);
    let most = rng.u32(1..9);
    let generated = program(&mut rng, most);
    let case = launch(&mut rng, most);
    (generated, case)
}

/// Generates an [`unstructured_program`] and a small launch of it: most of its lanes take paths of their own.
pub fn unstructured_case(seed: u64) -> (Generated, BlockCase) {
    let mut rng = Rng::with_seed(seed);
    let generated = unstructured_program(&mut rng);
    let mut case = launch(&mut rng, 8);
    case.threads = case.threads.min(3 * case.machine.warp_width);
    case.constants[0] = case.threads;
    (generated, case)
}

/// Generates a program whose warps enter a loop in two parts ([`split_loop_entry`]), on a machine with an even warp
/// width.
pub fn split_loop_entry_case(seed: u64) -> (Generated, BlockCase) {
    let mut rng = Rng::with_seed(seed);
    let width = 2 * rng.u32(1..5);
    let (split, other) = (rng.u32(1..4), rng.u32(1..3));
    let generated = split_loop_entry(&mut rng, width, split, other);
    let mut case = launch(&mut rng, 12);
    case.machine.warp_width = width;
    case.threads = width * (split + other);
    case.constants[0] = case.threads;
    // Small words, so that branches diverge within a warp.
    for memory in &mut case.memories {
        for word in memory.iter_mut().take(READ_ONLY as usize) {
            *word &= 7;
        }
    }
    (generated, case)
}

/// Draws a launch on a random machine, with three memories; the constants `n` and `m` are at most `most`.
fn launch(rng: &mut Rng, most: u32) -> BlockCase {
    let width = match rng.u8(0..4) {
        0 => rng.u32(1..65),
        1 => 1 << rng.u32(0..7),
        _ => rng.u32(2..9),
    };
    let warps = match rng.u8(0..3) {
        0 => rng.u32(1..65),
        _ => rng.u32(1..9),
    };
    let threads = (width * warps).saturating_sub(rng.u32(0..width)).max(1);
    let often_one = |rng: &mut Rng| match rng.u8(0..4) {
        0 => rng.u64(1..4),
        _ => 1,
    };
    let machine = Machine {
        name: "random".to_owned(),
        warp_width: width,
        warps: 64,
        plain: Latency::exactly(often_one(rng)),
        memory: Latency::exactly(rng.u64(0..201)),
        barrier_release: Latency::exactly(often_one(rng)),
        policy: [Policy::RoundRobin, Policy::LowestFirst, Policy::Greedy][rng.usize(..3)],
        after_barrier: match rng.bool() {
            true => AfterBarrier::FirstWarp,
            false => AfterBarrier::NextWarp,
        },
        order: match rng.bool() {
            true => DivergenceOrder::TakenFirst,
            false => DivergenceOrder::FallThroughFirst,
        },
    };
    let constants = vec![threads, rng.u32(0..most + 1), rng.u32(0..most + 1)];
    let memory = |rng: &mut Rng| {
        let mut words = vec![0; MEMORY as usize];
        let small = rng.bool();
        for word in words.iter_mut().take(READ_ONLY as usize) {
            *word = if small { rng.u32(0..8) } else { rng.u32(..) };
        }
        words
    };
    let memories = (0..3).map(|_| memory(rng)).collect();
    BlockCase {
        machine,
        threads,
        constants,
        memories,
        planted: None,
    }
}
