//! Many random mini-SIMT programs and launches, audited.

use fastrand::Rng;
use warpbound_machine::{AfterBarrier, Latency, Machine, Policy};
use warpbound_simt::warp::DivergenceOrder;

use crate::execute::mix;
use crate::mini::audit::{Case, Findings, Planted, Subject, audit};
use crate::mini::generate::{Generated, MEMORY, READ_ONLY, parted, program, tangled};

/// Totals.
#[derive(Clone, Debug, Default)]
pub struct Campaign {
    /// Programs.
    pub programs: usize,
    /// Runs that ended.
    pub runs: usize,
    /// Runs that did not.
    pub stuck: usize,
    /// Runs that stopped at a barrier for ever, as claimed.
    pub deadlocks: usize,
    /// Warps whose lanes parted.
    pub diverged: usize,
    /// Programs without a bound.
    pub unbounded: usize,
    /// Warps known exactly, but for regions, bounded as a whole.
    pub outlines: [usize; 3],
    /// Bound divided by cycles, for each run.
    pub ratios: Vec<f64>,
    /// Everything that must not happen, with the program's seed.
    pub problems: Vec<String>,
}

impl Campaign {
    /// The ratio that so many per cent of the runs do not exceed; 0 without runs.
    pub fn ratio(&self, percent: usize) -> f64 {
        let mut sorted = self.ratios.clone();
        sorted.sort_by(f64::total_cmp);
        let last = sorted.len().saturating_sub(1);
        sorted.get(last * percent / 100).copied().unwrap_or(0.0)
    }
}

/// Audits random programs, which `case` makes of seeds.
pub fn campaign(
    case: fn(u64) -> (Generated, Case),
    seed: u64,
    programs: usize,
    planted: Option<Planted>,
) -> Campaign {
    let mut total = Campaign::default();
    for number in 0..programs as u64 {
        let program_seed = mix(&[seed, number]);
        let (generated, case) = case(program_seed);
        let findings = one(&generated, &Case { planted, ..case });
        total.programs += 1;
        total.runs += findings.runs.len();
        total.stuck += findings.stuck;
        total.deadlocks += findings.deadlocks;
        total.diverged += findings.diverged;
        total.unbounded += usize::from(findings.unbounded);
        for (sum, n) in total.outlines.iter_mut().zip(findings.outlines) {
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

fn one(generated: &Generated, case: &Case) -> Findings {
    match Subject::new(&generated.text) {
        Ok(subject) => audit(generated, &subject, case),
        Err(problem) => Findings {
            problems: vec![problem],
            ..Findings::default()
        },
    }
}

/// The program of a seed, and a launch of it with three memories on a random machine.
pub fn case(seed: u64) -> (Generated, Case) {
    let mut rng = Rng::with_seed(seed);
    let most = rng.u32(1..9);
    let generated = program(&mut rng, most);
    let case = launch(&mut rng, most);
    (generated, case)
}

/// The same with a program that is [`tangled`]. Its launches are small: most of its lanes go ways of their own.
pub fn tangled_case(seed: u64) -> (Generated, Case) {
    let mut rng = Rng::with_seed(seed);
    let generated = tangled(&mut rng);
    let mut case = launch(&mut rng, 8);
    case.threads = case.threads.min(3 * case.machine.warp_width);
    case.constants[0] = case.threads;
    (generated, case)
}

/// A program whose warps come to a loop in parts ([`parted`]), on a machine whose warps have an even number of lanes.
pub fn parted_case(seed: u64) -> (Generated, Case) {
    let mut rng = Rng::with_seed(seed);
    let width = 2 * rng.u32(1..5);
    let (split, other) = (rng.u32(1..4), rng.u32(1..3));
    let generated = parted(&mut rng, width, split, other);
    let mut case = launch(&mut rng, 12);
    case.machine.warp_width = width;
    case.threads = width * (split + other);
    case.constants[0] = case.threads;
    // So that all branches go both ways in the same warp.
    for memory in &mut case.memories {
        for word in memory.iter_mut().take(READ_ONLY as usize) {
            *word &= 7;
        }
    }
    (generated, case)
}

/// A random launch on a random machine, with three memories; the numbers among the constants are at most `most`.
fn launch(rng: &mut Rng, most: u32) -> Case {
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
    Case {
        machine,
        threads,
        constants,
        memories,
        planted: None,
    }
}
