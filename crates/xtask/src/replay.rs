//! `cargo xtask replay`: recorded runs of single warps against the transfer functions of bounds, cycle by cycle.

use std::collections::BTreeMap;
use std::fs;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use warpbound_audit::audit::{RecordedRun, ReplayDifference, ServiceOrder};
use warpbound_audit::record_warp;
use warpbound_base::Diagnostic;
use warpbound_launch::LaunchFile;
use warpbound_query::{GpuModel, Selection};
use warpbound_query::{Prepared, Session};
use warpbound_runs::SingleWarp;
use warpbound_runs::TimedOptions;
use warpbound_testkit::control_words;

use crate::audit_cycles::{MACHINES, chosen_warps, launches};
use crate::repository::Repository;
use crate::workers::{for_each_number, for_each_task};

pub(crate) const HELP: &str = "\
usage: cargo run --release -p warpbound-xtask -- replay [--seeds COUNT] [--warps COUNT] [--programs COUNT] [NAME...]

Records runs of single warps of the launches in kernels/launches (only those of the kernels of kernels/cuda/NAME.cu, or
whose names begin with NAME, if names are given) on four machines, with the slow, typical, least, greatest and random
numbers, and replays each with the transfer functions of bounds in cycles. Each issue and the end have to be in the cycle of
the run. Three replays of each run:
  exact      the recorded outcomes, servers that fill gaps: equal, or the command fails
  in order   the recorded outcomes, servers that serve requests in their order: never earlier; prints how many are equal
  bound      the functions of the bound with the recorded numbers of requests, lines and sectors: never earlier
Prints totals, and each run that fails with the first instruction concerned.

  --seeds COUNT   random selections of the machine's numbers (20)
  --warps COUNT   warps of each launch of several, spread over all (1)
  --programs COUNT
                  replay COUNT random programs with random control words instead of the launches, on three machines with the
                  slow, typical, least, greatest and one random selection of the numbers";

/// Maximum number of warp instructions of a run; longer ones are left out, and counted.
const MOST_INSTRUCTIONS: u64 = 300_000;

/// Time between two progress lines.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(20);

/// Maximum number of failures that are printed.
const MOST_SHOWN: usize = 40;

pub(crate) fn run(repository: &Repository, arguments: &[String]) -> anyhow::Result<()> {
    let (mut seeds, mut warps, mut names) = (20u64, 1u64, Vec::new());
    let mut programs = 0u64;
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let mut number = || -> anyhow::Result<u64> {
            Ok(rest.next().context("an option without a number")?.parse()?)
        };
        match argument.as_str() {
            "--seeds" => seeds = number()?,
            "--warps" => warps = number()?,
            "--programs" => programs = number()?,
            flag if flag.starts_with('-') => bail!("no option is called {flag:?}"),
            name => names.push(name),
        }
    }
    if programs > 0 {
        return replay_programs(programs);
    }
    let mut picks = vec![
        Selection::Slow,
        Selection::Typical,
        Selection::Least,
        Selection::Most,
    ];
    picks.extend((1..=seeds).map(Selection::Seed));
    let mut machines = Vec::new();
    for (name, chip) in MACHINES {
        let machine = GpuModel::built_in(name).map_err(|d| anyhow::anyhow!("{d}"))?;
        machines.push((machine, chip));
    }
    let launches = launches(repository.cuda_launches()?, &names)?;
    if launches.is_empty() {
        bail!("no launch with these names");
    }
    let mut tasks = Vec::new();
    for launch in &launches {
        tasks.extend(machines.iter().map(|machine| (launch, machine)));
    }
    let begin = Instant::now();
    let find = |&(launch, machine): &(&(String, LaunchFile), &(GpuModel, &str))| {
        let mut own = ReplayTotal::default();
        if let Err(error) = own.replay_launch(repository, launch, machine, (&picks, warps)) {
            own.failures.push(format!("{}: {error:#}", launch.0));
        }
        own
    };
    let add = |total: &mut ReplayTotal, _: &_, own| {
        total.add(own);
        total.print_progress(tasks.len(), begin);
    };
    let total = for_each_task(&tasks, find, ReplayTotal::default(), add);
    total.print(&format!(
        "{} launches on {} machines",
        launches.len(),
        machines.len()
    ))
}

/// Replays random programs with random control words.
fn replay_programs(programs: u64) -> anyhow::Result<()> {
    let begin = Instant::now();
    let find = |seed| {
        let mut own = ReplayTotal::default();
        if let Err(error) = own.replay_program(seed) {
            own.failures.push(format!("program {seed}: {error:#}"));
        }
        own
    };
    let add = |total: &mut ReplayTotal, _, own| {
        total.add(own);
        total.print_progress(programs as usize, begin);
    };
    let total = for_each_number(programs, find, ReplayTotal::default(), add);
    total.print(&format!("{programs} random programs"))
}

/// Totals of the replays.
#[derive(Default)]
struct ReplayTotal {
    done: usize,
    reported: Duration,
    /// Launches on a machine that had at least one replay.
    replayed: usize,
    runs: u64,
    instrs: u64,
    equal: u64,
    equal_in_order: u64,
    without_code: usize,
    left_out: BTreeMap<String, u64>,
    /// Ratio of the end by the functions of the bound to the simulated one, without the launch.
    ratios: Vec<f64>,
    failures: Vec<String>,
}

impl ReplayTotal {
    fn replay_launch(
        &mut self,
        repository: &Repository,
        (name, grid): &(String, LaunchFile),
        (machine, chip): &(GpuModel, &str),
        (picks, most_warps): (&[Selection], u64),
    ) -> anyhow::Result<()> {
        let source = name.split('.').next().unwrap_or_default();
        let builds = [chip.to_string(), format!("nvrtc11.{chip}")];
        let cubin = |build: String| {
            repository
                .built_kernels()
                .join(format!("{source}.{build}.cubin"))
        };
        let Some(path) = builds.map(cubin).into_iter().find(|path| path.exists()) else {
            self.without_code += 1;
            return Ok(());
        };
        let to_error = |diagnostic: Diagnostic| anyhow::anyhow!("{diagnostic}");
        let session = Session::open(name, &fs::read(&path)?).map_err(to_error)?;
        let kernel = session
            .launched_kernel(None, grid.kernel.as_deref())
            .map_err(to_error)?;
        let prepared = session.prepare(kernel).map_err(to_error)?;
        let of_block = u64::from(grid.block.iter().product::<u32>().div_ceil(32)).max(1);
        let all = of_block * grid.grid.iter().map(|&n| u64::from(n)).product::<u64>();
        let before = self.runs;
        for number in chosen_warps(all, most_warps) {
            for &selection in picks {
                let timed = TimedOptions {
                    selection,
                    only: (all > 1).then_some(SingleWarp {
                        block: number / of_block,
                        warp: (number % of_block) as u32,
                    }),
                    max_instructions: Some(MOST_INSTRUCTIONS),
                    ..TimedOptions::new(machine.clone())
                };
                let what = format!("{name} on {}, {selection}, warp {number}", machine.name);
                self.replay_run(&session, &prepared, grid, &timed, &what);
            }
        }
        self.replayed += usize::from(self.runs > before);
        Ok(())
    }

    /// Replays a random program; its words are valid from sm_52 on.
    fn replay_program(&mut self, seed: u64) -> anyhow::Result<()> {
        let to_error = |diagnostic: Diagnostic| anyhow::anyhow!("{diagnostic}");
        let program = control_words::program(seed);
        let grid = program.launch(seed);
        for (name, chip) in MACHINES {
            let Ok(sm @ 52..) = chip.trim_start_matches("sm_").parse::<u8>() else {
                continue;
            };
            let machine = GpuModel::built_in(name).map_err(to_error)?;
            let session = program.session(sm);
            let prepared = program.prepared(&session).map_err(to_error)?;
            for selection in [
                Selection::Slow,
                Selection::Typical,
                Selection::Least,
                Selection::Most,
                Selection::Seed(seed),
            ] {
                let timed = TimedOptions {
                    selection,
                    ..TimedOptions::new(machine.clone())
                };
                let what = format!("program {seed} on {name}, {selection}");
                self.replay_run(&session, &prepared, &grid, &timed, &what);
            }
            self.replayed += 1;
        }
        Ok(())
    }

    fn replay_run(
        &mut self,
        session: &Session,
        prepared: &Prepared<'_>,
        grid: &LaunchFile,
        timed: &TimedOptions,
        what: &str,
    ) {
        let run = match record_warp(session, prepared, grid, timed) {
            Ok(run) => run,
            Err(why) => {
                *self.left_out.entry(why.message).or_default() += 1;
                return;
            }
        };
        if let Some(why) = run.refusal() {
            *self.left_out.entry(why).or_default() += 1;
            return;
        }
        self.runs += 1;
        self.instrs += run.trace.instrs.len() as u64;
        self.compare(&run, prepared, what);
    }

    fn compare(&mut self, run: &RecordedRun, prepared: &Prepared<'_>, what: &str) {
        match run.compare(ServiceOrder::Gaps) {
            None => self.equal += 1,
            Some(found) => self
                .failures
                .push(difference("exact", what, prepared, found)),
        }
        let in_order = run.replay(ServiceOrder::Requests);
        match run.difference(&in_order) {
            None => self.equal_in_order += 1,
            Some(_) => {
                if let Some(found) = run.first_earlier(&in_order) {
                    self.failures
                        .push(difference("in order", what, prepared, found));
                }
            }
        }
        self.compare_bounded(run, prepared, what);
    }

    /// Compares the functions of the bound: late by at most the refreshes of DRAM until then.
    fn compare_bounded(&mut self, run: &RecordedRun, prepared: &Prepared<'_>, what: &str) {
        let bounded = run.replay_bounded();
        if let Some(found) = run.first_earlier_than_refreshes(&bounded) {
            self.failures
                .push(difference("bound", what, prepared, found));
        }
        let (start, end) = (run.start(), run.simulated.end);
        if end > start {
            self.ratios
                .push((bounded.end - start.min(bounded.end)) as f64 / (end - start) as f64);
        }
    }

    fn add(&mut self, other: ReplayTotal) {
        self.done += 1;
        self.replayed += other.replayed;
        self.runs += other.runs;
        self.instrs += other.instrs;
        self.equal += other.equal;
        self.equal_in_order += other.equal_in_order;
        self.without_code += other.without_code;
        for (why, count) in other.left_out {
            *self.left_out.entry(why).or_default() += count;
        }
        self.ratios.extend(other.ratios);
        self.failures.extend(other.failures);
    }

    /// Prints the progress on standard error.
    fn print_progress(&mut self, all: usize, begin: Instant) {
        let now = begin.elapsed();
        if now >= self.reported + PROGRESS_INTERVAL {
            self.reported = now;
            eprintln!(
                "{} of {all}, {} runs, {} failures",
                self.done,
                self.runs,
                self.failures.len()
            );
        }
    }

    fn print(mut self, subject: &str) -> anyhow::Result<()> {
        self.failures.sort();
        for failure in self.failures.iter().take(MOST_SHOWN) {
            println!("{failure}");
        }
        println!(
            "{subject}: {} replayed, {} without code for the chip",
            self.replayed, self.without_code
        );
        println!(
            "{} runs of single warps, {} instructions",
            self.runs, self.instrs
        );
        println!("exact: {} equal in each cycle", self.equal);
        println!(
            "in order: {} equal in each cycle, {} later: a request overtakes an earlier one",
            self.equal_in_order,
            self.runs - self.equal_in_order
        );
        self.ratios.sort_by(f64::total_cmp);
        let at = |share: f64| {
            let position = (self.ratios.len() as f64 * share) as usize;
            let last = self.ratios.len().saturating_sub(1);
            self.ratios
                .get(position.min(last))
                .copied()
                .unwrap_or(f64::NAN)
        };
        println!(
            "bound, without the launch, over simulated: median {:.3}, 90 % {:.3}, most {:.3}",
            at(0.5),
            at(0.9),
            at(1.0)
        );
        for (reason, count) in &self.left_out {
            println!("left out: {count} {reason}");
        }
        match self.failures.len() {
            0 => Ok(()),
            count => bail!("{count} replays differ"),
        }
    }
}

/// Text of a difference.
fn difference(
    replay: &str,
    what: &str,
    prepared: &Prepared<'_>,
    found: ReplayDifference,
) -> String {
    let op = prepared.code.ops.get(found.at.index());
    format!(
        "{replay} {what}: instruction {} of the trace at {:#x} in cycle {}, replayed {}",
        found.position,
        op.map_or(0, |op| op.addr.0),
        found.cycles.0,
        found.cycles.1
    )
}
