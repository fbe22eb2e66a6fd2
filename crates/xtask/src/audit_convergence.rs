//! `cargo xtask audit-convergence`: random programs with convergence barriers, run by groups of lanes in any order,
//! compared with their bounds.

use anyhow::{Context, bail};
use warpbound_testkit::convergence::{
    BarrierMeaning, BarrierProgram, BoundCheck, GroupMachine, PredictionCheck, ProfileCheck,
    ProfileFault, Shapes, check, check_prediction, check_profile,
};

use crate::repository::Repository;
use crate::workers::for_each_number;

pub(crate) const HELP: &str = "\
usage: cargo run --release -p warpbound-xtask -- audit-convergence [--programs COUNT] [--first NUMBER] [--runs COUNT]

Generates random programs with convergence barriers as compilers emit them, runs each on a machine whose groups of lanes
run in any order, with and without merges, and compares the executions of each run with the bound of all instructions
and of one block (SOUNDNESS 21). Programs without functions and YIELD also run on a machine with one mask for each
barrier. Programs in which the launch decides some branches are compared with the profile of the warp as well, and with
predicted counts of their blocks. Fails if a run executes more than a bound or a profile, or not what is predicted, or if a
program is refused.

  --programs COUNT  programs (20000)
  --first NUMBER    number of the first program (0), to go on where a campaign was stopped
  --runs COUNT      runs of each program on each machine (4)";

/// Programs that a worker takes at a time.
const CHUNK: u64 = 100;

/// Number of problems that are printed.
const SHOWN: usize = 20;

/// Results of programs.
#[derive(Default)]
struct Tally {
    checked: usize,
    /// Programs whose slowest run reached the bound.
    attained: usize,
    /// Sum of bound / slowest run.
    ratios: f64,
    /// Programs with a profile.
    profiled: usize,
    /// Programs with an exact profile.
    exact: usize,
    /// Programs whose slowest run reached the profile.
    reached: usize,
    /// Predicted blocks with both counts, with lanes only, and with no count.
    predicted: [u64; 3],
    problems: Vec<String>,
}

pub(crate) fn run(_: &Repository, arguments: &[String]) -> anyhow::Result<()> {
    let (mut programs, mut first, mut runs) = (20_000u64, 0u64, 4u64);
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let value = rest.next().context("an option without a value")?;
        match argument.as_str() {
            "--programs" => programs = value.parse()?,
            "--first" => first = value.parse()?,
            "--runs" => runs = value.parse()?,
            other => bail!("no option is called {other:?}"),
        }
    }
    let end = first
        .checked_add(programs)
        .context("numbers of programs are below 2^64")?;
    let find = |chunk: u64| {
        let from = first + chunk * CHUNK;
        let mut tally = Tally::default();
        for seed in from..end.min(from.saturating_add(CHUNK)) {
            tally.program(seed, runs);
            tally.profile(seed, runs);
        }
        tally
    };
    let add = |total: &mut Tally, _, part: Tally| total.add(part);
    let total = for_each_number(programs.div_ceil(CHUNK), find, Tally::default(), add);
    println!(
        "{programs} programs, {} checks of {runs} runs; the slowest run reached the bound in {}; bound / slowest run {:.2} on average",
        total.checked,
        total.attained,
        total.ratios / total.checked.max(1) as f64
    );
    println!(
        "{} profiles, {} of them exact; the slowest run reached {}",
        total.profiled, total.exact, total.reached
    );
    let [known, lanes_only, unknown] = total.predicted;
    println!(
        "{known} predicted blocks with both counts, {lanes_only} with their lanes only, {unknown} with none"
    );
    for problem in total.problems.iter().take(SHOWN) {
        println!("  {problem}");
    }
    match total.problems.len() {
        0 => Ok(()),
        count => bail!("{count} problems"),
    }
}

impl Tally {
    fn program(&mut self, seed: u64, runs: u64) {
        let instances = |merges| GroupMachine {
            barriers: BarrierMeaning::Instances,
            merges,
        };
        let masks = GroupMachine {
            barriers: BarrierMeaning::AddedMask,
            merges: true,
        };
        // A barrier in a register, or one that is released early, is no mask of the warp.
        let without_releases = Shapes {
            calls: false,
            spills: false,
            yields: false,
            ..Shapes::ALL
        };
        for (shapes, machine) in [
            (Shapes::ALL, instances(true)),
            (Shapes::ALL, instances(false)),
            (without_releases, masks),
        ] {
            let program = BarrierProgram::random(seed, shapes);
            self.checked += 1;
            match check(&program, &program.code, machine, runs) {
                BoundCheck::Holds(slowest, bound) => {
                    self.attained += usize::from(u128::from(slowest) == bound);
                    self.ratios += bound as f64 / slowest as f64;
                }
                BoundCheck::Violated(what) | BoundCheck::Refused(what) => {
                    self.problems
                        .push(format!("program {seed}, {machine:?}: {what}"));
                }
                BoundCheck::Unbounded => {
                    self.problems
                        .push(format!("program {seed}, {machine:?}: no bound"));
                }
            }
        }
    }

    /// Compares runs of a program whose launch decides some branches with the profile of the warp.
    fn profile(&mut self, seed: u64, runs: u64) {
        let machine = GroupMachine {
            barriers: BarrierMeaning::Instances,
            merges: true,
        };
        for shapes in [Shapes::WITH_VALUES, Shapes::DECIDED] {
            let program = BarrierProgram::random(seed, shapes).with_values();
            match check_profile(&program, machine, runs, ProfileFault::None) {
                ProfileCheck::None => {}
                ProfileCheck::Holds {
                    slowest,
                    issues,
                    is_exact,
                } => {
                    self.profiled += 1;
                    self.exact += usize::from(is_exact);
                    self.reached += usize::from(slowest == issues);
                }
                ProfileCheck::Violated(what) => {
                    self.problems
                        .push(format!("profile of program {seed}: {what}"));
                }
            }
            match check_prediction(&program, runs, ProfileFault::None) {
                PredictionCheck::None => {}
                PredictionCheck::Holds {
                    known,
                    lanes_only,
                    unknown,
                    ..
                } => {
                    let counts = [known, lanes_only, unknown];
                    for (sum, count) in self.predicted.iter_mut().zip(counts) {
                        *sum += count;
                    }
                }
                PredictionCheck::Violated(what) => {
                    self.problems
                        .push(format!("prediction of program {seed}: {what}"));
                }
            }
        }
    }

    fn add(&mut self, part: Tally) {
        self.profiled += part.profiled;
        self.exact += part.exact;
        self.reached += part.reached;
        for (sum, count) in self.predicted.iter_mut().zip(part.predicted) {
            *sum += count;
        }
        self.checked += part.checked;
        self.attained += part.attained;
        self.ratios += part.ratios;
        self.problems.extend(part.problems);
    }
}
