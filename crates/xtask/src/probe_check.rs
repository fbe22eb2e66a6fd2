//! `probe-check`: counters of instrumented kernels against the counts of the same runs.

use anyhow::{Context, bail};
use warpbound_measure::probes::{ProbeMetric, ProbedBlocks};
use warpbound_measure::{CounterKind, InstrumentOptions, InstrumentedKernel, instrument, plan_for};
use warpbound_rewrite::probes::ProbeStyle;
use warpbound_runs::TimedOptions;
use warpbound_testkit::kernels::built::BuiltKernel;
use warpbound_testkit::probe_overheads::overhead_machine;
use warpbound_testkit::probes::{ProbedKernel, ProbedTime};

use crate::repository::Repository;
use crate::workers::for_each_task;

pub(crate) const HELP: &str = "\
cargo xtask probe-check [--launches N] [--functional] [--build BUILD] [SOURCE...]

Instruments the repository's kernels in all modes: probes in all blocks, in those that the paper's rule taints, and those
of a plan, with the launch known and without; counters in registers, in memory, sums with the plan's factors, and sums
as the paper's. Runs each launch, without and with time, and
compares each counter with the counts of the same run, the buffers with the expected contents, and the events with the
issue rules.

  --launches N   launches of each kernel (3)
  --functional   without time only
  --build BUILD  cubins kernels/built/SOURCE.BUILD.cubin (sm_61)
  --from N       the first launch (0)";

/// Modes: blocks, realisation, counters, what is wanted, whether the plan knows the launch.
pub(crate) const MODES: [Mode; 14] = {
    use CounterKind::{Probes, Sums};
    use ProbeMetric::{Activity, Counts};
    use ProbeStyle::{Memory, Paper, PaperLocal, Registers};
    use ProbedBlocks::{All, Plan, Tainted};
    [
        (All, Registers, Probes, Counts, true),
        (All, Memory, Probes, Counts, true),
        (All, Paper, Sums, Counts, true),
        (All, PaperLocal, Sums, Counts, true),
        (All, Registers, Sums, Counts, true),
        (Tainted, Registers, Probes, Counts, true),
        (Tainted, Paper, Sums, Counts, true),
        (Plan, Registers, Probes, Counts, true),
        (Plan, Memory, Probes, Counts, true),
        // Sums with the plan's factors: in one word where the launch allows, in two, and in memory.
        (All, Registers, Probes, Activity, true),
        (Plan, Registers, Probes, Activity, true),
        (All, Registers, Probes, Activity, false),
        (Plan, Registers, Probes, Activity, false),
        (Plan, Memory, Probes, Activity, false),
    ]
};

/// Mode of an instrumentation.
pub(crate) type Mode = (ProbedBlocks, ProbeStyle, CounterKind, ProbeMetric, bool);

#[derive(Default)]
struct Total {
    runs: u64,
    counters: u64,
    in_memory: u64,
    probes: u64,
    instructions: [u64; 2],
    raised: u64,
    refused: Vec<String>,
    problems: Vec<String>,
}

pub(crate) fn run(repository: &Repository, arguments: &[String]) -> anyhow::Result<()> {
    let (mut launches, mut from, mut functional) = (3u64, 0u64, false);
    let (mut build, mut sources) = ("sm_61", Vec::new());
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "--launches" => launches = rest.next().context("--launches without N")?.parse()?,
            "--from" => from = rest.next().context("--from without N")?.parse()?,
            "--build" => build = rest.next().context("--build without a name")?,
            "--functional" => functional = true,
            flag if flag.starts_with('-') => bail!("no option is called {flag:?}"),
            name => sources.push(name),
        }
    }
    let kernels = BuiltKernel::of_build(&repository.built_kernels(), build, &sources)?;
    let timed = overhead_machine()?;
    let timed = (!functional).then_some(&timed);
    let find = |own| check_kernel(own, from..from + launches, timed);
    let add = |total: &mut Total, own: &BuiltKernel, of| match of {
        Ok(of) => total.add(of),
        Err(error) => {
            let error: anyhow::Error = error;
            let problem = format!("{}: {error}", own.reference.kernel);
            total.problems.push(problem);
        }
    };
    let total = for_each_task(&kernels, find, Total::default(), add);
    for refused in &total.refused {
        println!("refused: {refused}");
    }
    for problem in &total.problems {
        println!("{problem}");
    }
    println!(
        "{} kernels, {} instrumented kernels run, {} counters compared, {} of them in memory; {} instructions inserted into \
         {}; {} kernels with more registers; {} refused, {} problems",
        kernels.len(),
        total.runs,
        total.counters,
        total.in_memory,
        total.instructions[1],
        total.instructions[0],
        total.raised,
        total.refused.len(),
        total.problems.len()
    );
    if !total.problems.is_empty() {
        bail!("{} problems", total.problems.len());
    }
    Ok(())
}

impl Total {
    fn add(&mut self, other: Total) {
        self.runs += other.runs;
        self.counters += other.counters;
        self.in_memory += other.in_memory;
        self.probes += other.probes;
        self.raised += other.raised;
        for (own, others) in self.instructions.iter_mut().zip(other.instructions) {
            *own += others;
        }
        self.refused.extend(other.refused);
        self.problems.extend(other.problems);
    }

    fn count(&mut self, instrumented: &InstrumentedKernel) {
        use warpbound_rewrite::probes::CounterHome;
        self.counters += instrumented.counters as u64;
        let in_memory = instrumented
            .homes
            .iter()
            .filter(|home| **home == CounterHome::Memory);
        self.in_memory += in_memory.count() as u64;
        self.raised += u64::from(instrumented.registers[0] < instrumented.registers[1]);
        for (own, others) in self.instructions.iter_mut().zip(instrumented.instructions) {
            *own += others as u64;
        }
    }
}

/// Checks a kernel in all modes.
fn check_kernel(
    own: &BuiltKernel,
    launches: std::ops::Range<u64>,
    timed: Option<&TimedOptions>,
) -> anyhow::Result<Total> {
    let kernel = own.kernel()?;
    let prepared = own.session.prepare(kernel)?;
    let mut total = Total::default();
    for number in launches {
        let launch = (own.reference.launch)(number);
        for (rule, style, counters, metric, knows_launch) in MODES {
            let name = format!(
                "{} launch {number}, {} {style:?} {counters:?} {}{}",
                own.reference.kernel,
                rule.name(),
                metric.name(),
                if knows_launch { " for the launch" } else { "" }
            );
            let options = InstrumentOptions {
                style,
                counters,
                launch: knows_launch.then(|| launch.clone().into()),
                ..InstrumentOptions::default()
            };
            let planned = knows_launch.then_some(&launch);
            let made =
                plan_for(&own.session, kernel, planned, rule, vec![metric]).and_then(|plan| {
                    let made = instrument(&own.session, &own.contents, kernel, &plan, &options)?;
                    Ok((plan, made))
                });
            let (plan, instrumented) = match made {
                Ok(made) => made,
                Err(error) => {
                    total.refused.push(format!("{name}: {error}"));
                    continue;
                }
            };
            total.count(&instrumented);
            let probed = ProbedKernel {
                original: &prepared,
                plan: &plan,
                counters,
                instrumented: &instrumented,
            };
            let times = [Some(ProbedTime::Functional), timed.map(ProbedTime::Timed)];
            for time in times.into_iter().flatten() {
                total.runs += 1;
                match probed.run(&launch, time) {
                    Ok(run) => {
                        let mut found = run.problems();
                        if counters == CounterKind::Probes {
                            found.extend(probed.wrong_totals(&own.session, &launch, &run)?);
                        }
                        let problems = found.into_iter().take(3);
                        total
                            .problems
                            .extend(problems.map(|problem| format!("{name}: {problem}")));
                    }
                    Err(error) => total.problems.push(format!("{name}: {error}")),
                }
            }
        }
    }
    Ok(total)
}
