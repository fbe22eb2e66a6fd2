//! Timed runs of the repository's kernels for GCN3 under the issue rules and the cycle accounting.

use std::path::Path;

use warpbound_machine::{GpuModel, Parameter, SchedulerPolicy, Selection};

use warpbound_query::{Prepared, Session, SplitMarks, SplitOptions};

use warpbound_simulate::timed::{SingleWarp, SplitPipelines};

use warpbound_isa::Program;
use warpbound_launch::LaunchFile;
use warpbound_runs::{TimedOptions, simulate_with};
use warpbound_simulate::timed::EventListener;

use crate::cycle_accounting::CycleAccounting;
use crate::kernels::KernelReference;
use crate::wave_issue_rules::{WaveIssueRules, WaveRuleSetup};

/// Machines for GCN3.
pub const MACHINES: [&str; 2] = ["gem5-apu", "r9-nano"];

/// Counts of the runs that were checked.
#[derive(Clone, Copy, Default, Debug)]
pub struct WaveRunCounts {
    /// Runs.
    pub runs: u64,
    /// Issues.
    pub issues: u64,
    /// Splits.
    pub splits: u64,
}

/// Opens the code object of a reference.
///
/// # Panics
///
/// It cannot be read.
#[must_use]
pub fn open(reference: &KernelReference) -> Session {
    let file = format!("{}.gfx803.co", reference.source);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels/built");
    let contents = std::fs::read(path.join(&file)).expect("it is in the repository");
    Session::open(&file, &contents).expect("it loads")
}

/// Returns a variety of options by a number: machine, selection, policy, splits, pipelines, merging, single waves.
///
/// # Panics
///
/// A machine is missing.
#[must_use]
pub fn options(number: u64) -> TimedOptions {
    let mut random = fastrand::Rng::with_seed(number);
    let machine = GpuModel::built_in(MACHINES[random.usize(..2)]).expect("it comes with the tool");
    let selections = [
        Selection::Typical,
        Selection::Slow,
        Selection::Fast,
        Selection::Least,
        Selection::Most,
        Selection::Seed(number),
        Selection::Seed(number ^ 77),
    ];
    let splits = [0, 1, 3, 7][random.usize(..4)];
    TimedOptions {
        selection: selections[random.usize(..selections.len())],
        scheduler: [
            None,
            Some(SchedulerPolicy::Oldest),
            Some(SchedulerPolicy::Lrr),
        ][random.usize(..3)],
        splitting: SplitOptions {
            splits,
            pipelines: [SplitPipelines::Parallel, SplitPipelines::Serialised][random.usize(..2)],
            marks: SplitMarks::All,
            merge: random.bool(),
        },
        only: (random.u8(..6) == 0).then_some(SingleWarp { block: 0, warp: 0 }),
        // Splits that need registers of their SIMD, and few slots.
        set: match random.u8(..4) {
            0 => vec![(Parameter::SplitRegisters, random.u64(..2))],
            _ => Vec::new(),
        },
        max_instructions: Some(3_000_000),
        ..TimedOptions::new(machine)
    }
}

/// Runs a launch and returns the violations of the issue rules and of the accounting.
///
/// # Errors
///
/// The run does not come to its end.
pub fn check(
    session: &Session,
    prepared: &Prepared<'_>,
    launch: &LaunchFile,
    options: &TimedOptions,
    counts: &mut WaveRunCounts,
) -> Result<Vec<String>, String> {
    let mut accounting = CycleAccounting::new();
    let (rules, mut violations) = with_rules(session, prepared, launch, options, &mut accounting)?;
    counts.runs += 1;
    counts.issues += rules.0;
    counts.splits += rules.1;
    match accounting.finish() {
        Ok(issued) if issued == rules.0 => {}
        Ok(issued) => violations.push(format!("{issued} issues are accounted for")),
        Err(all) => violations.extend(all.lines().map(str::to_owned)),
    }
    Ok(violations)
}

/// Issues and splits of a run, and violations of the issue rules.
type Checked = ((u64, u64), Vec<String>);

fn with_rules(
    session: &Session,
    prepared: &Prepared<'_>,
    launch: &LaunchFile,
    options: &TimedOptions,
    other: &mut impl EventListener,
) -> Result<Checked, String> {
    let Program::Amd(program) = &prepared.program else {
        return Err("no waves".to_owned());
    };
    let machine = configuration(options);
    let mut rules = WaveIssueRules::new(program, &machine, rule_setup(prepared, options));
    let mut both = (&mut rules, other);
    let done = simulate_with(session, prepared, launch, options, &mut both)
        .map_err(|diagnostic| diagnostic.to_string())?;
    let mut violations = rules.all_violations();
    if done.counts.issued() != rules.issues {
        violations.push(format!("{} issues are counted", done.counts.issued()));
    }
    Ok(((rules.issues, rules.splits_taken), violations))
}

/// Returns the configuration of the machine of a run.
#[must_use]
pub fn configuration(options: &TimedOptions) -> warpbound_machine::MachineConfig {
    let selected = options.machine.select(options.selection);
    let set = options.set.iter();
    set.fold(selected, |machine, &(parameter, value)| {
        machine.with(parameter, value)
    })
}

/// Returns what the rules need to know of a run.
#[must_use]
pub fn rule_setup(prepared: &Prepared<'_>, options: &TimedOptions) -> WaveRuleSetup {
    let facts = prepared.kernel.code_object.as_ref();
    let registers = facts.map(|facts| {
        let vector = facts.descriptor.vector_registers();
        (vector.into(), facts.descriptor.scalar_registers().into())
    });
    WaveRuleSetup {
        splits: options.splitting.splits,
        pipelines: options.splitting.pipelines,
        registers: registers.unwrap_or_default(),
    }
}
