//! Slowdowns by instrumentation, and times of the stages (`efficient-instrumentation-2014`, Figures 7 and 8).

use std::time::{Duration, Instant};

use anyhow::Context;
use warpbound_launch::LaunchFile;
use warpbound_measure::probes::{ProbeMetric, ProbePlan, ProbedBlocks};
use warpbound_measure::{CounterKind, InstrumentOptions, InstrumentedKernel, instrument, plan_for};
use warpbound_query::Session;
use warpbound_report::bar_chart::{BarArrangement, BarPanel, BarUnit, bar_charts};
use warpbound_rewrite::probes::ProbeStyle;
use warpbound_runs::{RunOptions, execute_to_end};
use warpbound_testkit::kernels::built::BuiltKernel;
use warpbound_testkit::probe_overheads::overhead_machine;
use warpbound_testkit::probes::{ProbedKernel, ProbedTime, plain_cycles};

use super::{KERNELS, PaperKernel};
use crate::repository::Repository;

/// Selection of probes: name, blocks, realisation, counters.
type Selection = (&'static str, ProbedBlocks, ProbeStyle, CounterKind);

/// Selections of Figure 7: the paper's two, with its probe and with instructions in place of its atomics, and ours.
const SELECTIONS: [Selection; 5] = [
    (
        "all, local atomics",
        ProbedBlocks::All,
        ProbeStyle::PaperLocal,
        CounterKind::Sums,
    ),
    (
        "all, paper's sums",
        ProbedBlocks::All,
        ProbeStyle::Paper,
        CounterKind::Sums,
    ),
    (
        "paper's selection",
        ProbedBlocks::Tainted,
        ProbeStyle::Paper,
        CounterKind::Sums,
    ),
    (
        "all, registers",
        ProbedBlocks::All,
        ProbeStyle::Registers,
        CounterKind::Sums,
    ),
    (
        "plan, registers",
        ProbedBlocks::Plan,
        ProbeStyle::Registers,
        CounterKind::Probes,
    ),
];

/// Stages of Figure 8.
const STAGES: [&str; 4] = ["parse", "analyse", "instrument", "execute"];

/// Kernel of the table with its file and launch.
struct Subject {
    name: String,
    own: BuiltKernel,
    launch: LaunchFile,
}

fn subjects(repository: &Repository) -> anyhow::Result<Vec<Subject>> {
    let mut found = Vec::new();
    for wanted in KERNELS {
        let PaperKernel {
            source,
            kernel,
            name,
            launch,
            ..
        } = wanted;
        let own = BuiltKernel::of_build(&repository.built_kernels(), "sm_61", &[*source])?;
        let own = own.into_iter().find(|own| own.reference.kernel == *kernel);
        let own = own.with_context(|| format!("no kernel {kernel}"))?;
        found.push(Subject {
            name: (*name).to_owned(),
            launch: (own.reference.launch)(*launch),
            own,
        });
    }
    Ok(found)
}

fn instrumented(
    session: &Session,
    subject: &Subject,
    (_, rule, style, counters): Selection,
) -> anyhow::Result<(ProbePlan, InstrumentedKernel)> {
    let kernel = session.launched_kernel(Some(subject.own.reference.kernel), None)?;
    let metrics = vec![ProbeMetric::Activity];
    let plan = plan_for(session, kernel, Some(&subject.launch), rule, metrics)?;
    let options = InstrumentOptions {
        style,
        counters,
        launch: Some(subject.launch.clone().into()),
        ..InstrumentOptions::default()
    };
    let made = instrument(session, &subject.own.contents, kernel, &plan, &options)?;
    Ok((plan, made))
}

/// Draws the slowdowns in simulated cycles on jetson-tx2 with warm caches; the counters of each run are checked.
pub(super) fn draw_slowdowns(repository: &Repository) -> anyhow::Result<String> {
    let timed = overhead_machine()?;
    let names = SELECTIONS.map(|(name, ..)| name.to_owned());
    let mut panel = BarPanel {
        title: "Slowdown by instrumentation for the activity factor (simulated cycles)".to_owned(),
        unit: BarUnit::Factor,
        arrangement: BarArrangement::Beside,
        series: names.to_vec(),
        groups: Vec::new(),
    };
    let line = "|---".repeat(names.len() + 1);
    println!("\n| launch | {} |\n{line}|", names.join(" | "));
    for subject in subjects(repository)? {
        let session = &subject.own.session;
        let prepared = session.prepare(subject.own.kernel()?)?;
        let cycles = plain_cycles(session, &prepared, &subject.launch, &timed)?;
        let mut values = Vec::new();
        for selection in SELECTIONS {
            let (plan, made) = instrumented(session, &subject, selection)?;
            let probed = ProbedKernel {
                original: &prepared,
                plan: &plan,
                counters: selection.3,
                instrumented: &made,
            };
            let run = probed.run(&subject.launch, ProbedTime::Timed(&timed))?;
            if let Some(problem) = run.problems().first() {
                anyhow::bail!("{}: {problem}", subject.name);
            }
            values.push(Some(run.cycles as f64 / cycles.max(1) as f64));
        }
        let texts = values.iter().flatten().map(|value| format!("{value:.2} ×"));
        let texts: Vec<String> = texts.collect();
        println!("| `{}` | {} |", subject.name, texts.join(" | "));
        panel.groups.push((subject.name.clone(), values));
    }
    Ok(bar_charts(&[panel]))
}

/// Number of runs; the shortest time is taken, because other programs on the machine only add to it.
const REPEATS: usize = 25;

/// Draws the shares of the stages in the time of this machine: with the paper's selection, and with a plan.
pub(super) fn draw_stages(repository: &Repository) -> anyhow::Result<String> {
    let mut panels = Vec::new();
    for selection in [SELECTIONS[2], SELECTIONS[4]] {
        let name = selection.0;
        let mut panel = BarPanel {
            title: format!("Share of the stages in the time: {name}"),
            unit: BarUnit::Share,
            arrangement: BarArrangement::Stacked,
            series: STAGES.map(str::to_owned).to_vec(),
            groups: Vec::new(),
        };
        println!("\n{name}, in milliseconds:\n");
        println!("| launch | {} |\n|---|---|---|---|---|", STAGES.join(" | "));
        for subject in subjects(repository)? {
            let times = stage_times(&subject, selection)?;
            let all: Duration = times.iter().sum();
            let share = |time: &Duration| Some(time.as_secs_f64() / all.as_secs_f64().max(1e-12));
            let texts = times.map(|time| format!("{:.2}", time.as_secs_f64() * 1e3));
            println!("| `{}` | {} |", subject.name, texts.join(" | "));
            let shares = times.iter().map(share).collect();
            panel.groups.push((subject.name.clone(), shares));
        }
        panels.push(panel);
    }
    Ok(bar_charts(&panels))
}

/// Returns the least time of each stage. A kernel that needs no probe is not instrumented.
fn stage_times(
    subject: &Subject,
    (_, rule, style, counters): Selection,
) -> anyhow::Result<[Duration; STAGES.len()]> {
    let mut all: [Vec<Duration>; STAGES.len()] = Default::default();
    for _ in 0..REPEATS {
        let mut clock = Instant::now();
        let mut end = |stage: &mut Vec<Duration>| {
            stage.push(clock.elapsed());
            clock = Instant::now();
        };
        let session = Session::open("kernel", &subject.own.contents)?;
        let kernel = session.launched_kernel(Some(subject.own.reference.kernel), None)?;
        let prepared = session.prepare(kernel)?;
        end(&mut all[0]);
        let metrics = vec![ProbeMetric::Activity];
        let plan = plan_for(&session, kernel, Some(&subject.launch), rule, metrics)?;
        end(&mut all[1]);
        if plan.probes.is_empty() {
            all[2].push(Duration::ZERO);
            execute_to_end(&session, &prepared, &subject.launch, &RunOptions::default())?;
            end(&mut all[3]);
            continue;
        }
        let options = InstrumentOptions {
            style,
            counters,
            launch: Some(subject.launch.clone().into()),
            ..InstrumentOptions::default()
        };
        let made = instrument(&session, &subject.own.contents, kernel, &plan, &options)?;
        end(&mut all[2]);
        let session = Session::open("instrumented", &made.bytes)?;
        let kernel = session.launched_kernel(Some(subject.own.reference.kernel), None)?;
        let prepared = session.prepare(kernel)?;
        let launch = made.launch(&subject.launch, None);
        execute_to_end(&session, &prepared, &launch, &RunOptions::default())?;
        end(&mut all[3]);
    }
    Ok(all.map(|times| times.into_iter().min().unwrap_or_default()))
}
