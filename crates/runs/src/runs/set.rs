//! Launch sets: the order of the launches of a host program, and the buffers that they share.
//!
//! A launch outside streams waits for all launches before it. Launches in streams are put off until the host waits.
//! For example, of A in stream 1, B in stream 2 and C outside streams, C is last, and the stream order decides
//! between A and B.

use std::cmp::Reverse;

use crate::runs::functional::execute_prepared;
use crate::runs::timed::simulate_prepared;
use warpbound_base::Diagnostic;
use warpbound_launch::{
    GlobalMemory, LaunchFile, LaunchSet, Repetition, SetContents, SetLaunch, compare_buffers,
    output_files,
};
use warpbound_load::Kernel;
use warpbound_machine::Parameter;
use warpbound_report::functional::{IssueCounts, RunNote};
use warpbound_report::launch_set::{
    CycleTotals, LaunchSetReport, LaunchTotals, RepetitionRounds, SetTime,
};
use warpbound_report::terms::MachineTerms;

use super::functional::{MAX_INSTRUCTIONS, RunOptions};
use super::timed::{RunHooks, TimedOptions, configuration};
use warpbound_query::{Prepared, Session};

/// Order of launches in different streams, between two points at which all launches have ended.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum StreamOrder {
    /// Order of the file.
    #[default]
    File,
    /// All launches of the stream with the highest number first, then all of the next lower one.
    Reversed,
}

/// End of an execution of a launch set.
#[derive(Clone, Debug)]
pub struct SetEnd {
    /// Memory after the last launch; `None` if no launch was executed to its end.
    pub memory: Option<GlobalMemory>,
    /// Rounds of each repetition, in the order of [`LaunchSet::repetitions`].
    pub rounds: Vec<u64>,
    /// Repetition whose condition did not hold after its last round; the launches after it were not executed.
    pub unfinished: Option<Diagnostic>,
}

/// Executes the launches of a set from `contents` on. `execute` gets the number of a launch and the launch with the
/// contents of its buffers, and returns memory at its end, or `None` to end the execution.
///
/// # Errors
///
/// The errors of `execute`, or the contents of variables of the module cannot be kept.
pub fn run_set(
    set: &LaunchSet,
    contents: SetContents,
    order: StreamOrder,
    execute: &mut ExecuteLaunch<'_>,
) -> Result<SetEnd, Diagnostic> {
    let mut execution = SetExecution {
        set,
        contents,
        order,
        pending: Vec::new(),
        has_stopped: false,
        end: SetEnd {
            memory: None,
            rounds: vec![0; set.repetitions.len()],
            unfinished: None,
        },
        execute,
    };
    for (number, repetition) in set.repetitions.iter().enumerate() {
        if !execution.repeat(number, repetition)? {
            break;
        }
    }
    // Launches in streams after the last point where the host waits.
    execution.run_pending()?;
    Ok(execution.end)
}

/// Function that executes a launch, see [`run_set`].
pub type ExecuteLaunch<'a> =
    dyn FnMut(usize, &LaunchFile) -> Result<Option<GlobalMemory>, Diagnostic> + 'a;

/// Execution of a launch set.
struct SetExecution<'a, 'b> {
    set: &'a LaunchSet,
    contents: SetContents,
    order: StreamOrder,
    /// Launches in streams that have not been executed yet, with their rounds.
    pending: Vec<(usize, u64)>,
    has_stopped: bool,
    end: SetEnd,
    execute: &'a mut ExecuteLaunch<'b>,
}

impl SetExecution<'_, '_> {
    /// Executes the rounds of a repetition; returns whether the launches after it are executed.
    fn repeat(&mut self, number: usize, repetition: &Repetition) -> Result<bool, Diagnostic> {
        for round in 0..repetition.rounds {
            for launch in repetition.launches.clone() {
                self.launch(launch, round)?;
            }
            if let Some(rounds) = self.end.rounds.get_mut(number) {
                *rounds += 1;
            }
            let Some(end) = &repetition.end else {
                if self.has_stopped {
                    return Ok(false);
                }
                continue;
            };
            // The host reads a number to decide whether to go on, so it waits for all launches.
            self.run_pending()?;
            if self.has_stopped {
                return Ok(false);
            }
            if self.contents.is_ended(end) {
                return Ok(true);
            }
        }
        let Some(end) = &repetition.end else {
            return Ok(true);
        };
        // The condition does not hold after the maximum number of rounds, so the launches after the repetition must
        // not run.
        let name = repetition.name.as_deref().unwrap_or("?");
        let found = self.contents.describe(self.set, end);
        let rounds = repetition.rounds;
        let message = format!("repeat {name} has not ended after {rounds} rounds: {found}");
        let diagnostic = Diagnostic::new(message).in_file(self.set.file.as_str());
        self.end.unfinished = Some(diagnostic.hint("count is the most rounds"));
        Ok(false)
    }

    /// Executes a launch, or puts it off if it is in a stream.
    fn launch(&mut self, number: usize, round: u64) -> Result<(), Diagnostic> {
        let Some(launch) = self.set.launches.get(number) else {
            return Ok(());
        };
        // Launches outside streams and writes of the host wait for all launches before them.
        if launch.stream.is_none() || !launch.writes.is_empty() {
            self.run_pending()?;
        }
        for write in &launch.writes {
            self.contents.write(write);
        }
        self.pending.push((number, round));
        match launch.stream {
            None => self.run_pending(),
            Some(_) => Ok(()),
        }
    }

    /// Executes the launches that were put off.
    fn run_pending(&mut self) -> Result<(), Diagnostic> {
        let mut pending = std::mem::take(&mut self.pending);
        if self.order == StreamOrder::Reversed {
            // The sort is stable, so launches of one stream keep their order.
            let stream = |number: usize| self.set.launches.get(number).map(|l| l.stream);
            pending.sort_by_key(|&(number, _)| Reverse(stream(number)));
        }
        for (number, round) in pending {
            let Some(launch) = self.set.launches.get(number) else {
                continue;
            };
            if self.has_stopped {
                return Ok(());
            }
            let file = self.contents.launch(launch, round);
            match (self.execute)(number, &file)? {
                Some(memory) => {
                    self.contents
                        .keep(&memory)
                        .map_err(|d| d.in_file(self.set.file.as_str()))?;
                    self.end.memory = Some(memory);
                }
                None => self.has_stopped = true,
            }
        }
        Ok(())
    }
}

/// Result of executing a launch set to its end.
#[derive(Clone, Debug)]
pub struct SetRun {
    /// Report of the execution.
    pub report: LaunchSetReport,
    /// Memory at the end.
    pub memory: GlobalMemory,
    /// Diagnostic of the first buffer element that differs from the expected value.
    pub unexpected: Option<Diagnostic>,
}

impl SetRun {
    /// Returns the output files of the set: names in the file, and contents in the NPY format.
    pub fn outputs<'a>(&'a self, set: &'a LaunchSet) -> impl Iterator<Item = (&'a str, Vec<u8>)> {
        output_files(&set.objects, &self.memory)
    }
}

/// Result of one launch of a set.
struct LaunchResult {
    memory: GlobalMemory,
    issued: IssueCounts,
    divergences: u64,
    notes: Vec<RunNote>,
    cycles: Option<u64>,
    splits: Option<u64>,
}

/// Executes a launch set without time. `progress` receives the number of completed launches after each one.
///
/// # Errors
///
/// The errors of [`execute_prepared`], or a repetition has not ended after its last round.
pub fn execute_set(
    session: &Session,
    set: &LaunchSet,
    options: &RunOptions,
    progress: &mut dyn FnMut(u64),
) -> Result<SetRun, Diagnostic> {
    // The limit is for the whole set, so each launch gets what the ones before it leave.
    let mut left = options.max_instructions.unwrap_or(MAX_INSTRUCTIONS);
    run_launches(session, set, progress, &mut |prepared, file| {
        let options = RunOptions {
            max_instructions: Some(left),
            ..*options
        };
        let run = execute_prepared(session, prepared, file, &options, &mut |_| {})?;
        left = left.saturating_sub(run.report.issued.warp_instructions);
        Ok(LaunchResult {
            memory: run.memory,
            issued: run.report.issued,
            divergences: run.report.divergences,
            notes: run.report.notes,
            cycles: None,
            splits: None,
        })
    })
}

/// Simulates a launch set with time: one launch after the other, each from the caches that it states. `progress`
/// receives the number of completed launches after each one.
///
/// # Errors
///
/// The errors of [`simulate_prepared`], or a repetition has not ended after its last round.
pub fn simulate_set(
    session: &Session,
    set: &LaunchSet,
    options: &TimedOptions,
    progress: &mut dyn FnMut(u64),
) -> Result<SetRun, Diagnostic> {
    let mut left = options.max_instructions.unwrap_or(MAX_INSTRUCTIONS);
    let mut run = run_launches(session, set, progress, &mut |prepared, file| {
        let options = TimedOptions {
            max_instructions: Some(left),
            spread: false,
            ..options.clone()
        };
        let hooks = RunHooks {
            events: None,
            timeline: None,
            progress: &mut |_| {},
        };
        let run = simulate_prepared(session, prepared, file, &options, hooks)?;
        left = left.saturating_sub(run.report.issued.warp_instructions);
        let splitting = run.report.waves.and_then(|waves| waves.splitting);
        Ok(LaunchResult {
            memory: run.memory,
            issued: run.report.issued,
            divergences: run.report.divergences,
            notes: run.report.notes,
            splits: splitting.map(|splitting| splitting.taken),
            cycles: Some(run.report.cycles),
        })
    })?;
    let clock_khz = configuration(options)?[Parameter::Clock];
    let totals = run.report.launches.iter();
    let cycles = totals.filter_map(|launch| Some(launch.cycles?.total)).sum();
    run.report.time = Some(SetTime {
        machine: options.machine.name.clone(),
        selection: options.selection.to_string(),
        cycles,
        clock_khz,
        milliseconds: crate::listeners::tables::ratio(cycles, clock_khz),
    });
    Ok(run)
}

/// Executes the launches of a set with `execute`, and adds up their counts.
fn run_launches(
    session: &Session,
    set: &LaunchSet,
    progress: &mut dyn FnMut(u64),
    execute: &mut dyn FnMut(&Prepared<'_>, &LaunchFile) -> Result<LaunchResult, Diagnostic>,
) -> Result<SetRun, Diagnostic> {
    let kernels = kernels_of_set(session, set)?;
    let prepared = PreparedKernels::of(session, &kernels)?;
    let pairs = set.launches.iter().zip(&kernels);
    let mut totals: Vec<LaunchTotals> = pairs
        .map(|(launch, kernel)| no_totals(launch, kernel))
        .collect();
    let mut done = 0;
    let mut run_launch = |number: usize, file: &LaunchFile| {
        let (Some(kernel), Some(totals)) = (prepared.of_launch(number), totals.get_mut(number))
        else {
            return Ok(None);
        };
        let result = execute(kernel, file)?;
        add(totals, &result);
        done += 1;
        progress(done);
        Ok(Some(result.memory))
    };
    let start = SetContents::of(set);
    let end = run_set(set, start, StreamOrder::File, &mut run_launch)?;
    if let Some(diagnostic) = end.unfinished {
        return Err(diagnostic);
    }
    let memory = end.memory.unwrap_or_default();
    let compared = compare_buffers(&set.objects, &memory);
    let mut issued = IssueCounts::default();
    for launch in &totals {
        issued += launch.issued;
    }
    let report = LaunchSetReport {
        schema: LaunchSetReport::SCHEMA,
        terms: MachineTerms::of(session.family().unwrap_or_default()),
        file: session.file.clone(),
        set: set.file.clone(),
        launches: totals,
        repetitions: rounds(set, &end.rounds),
        issued,
        checked_elements: compared.elements,
        time: None,
    };
    Ok(SetRun {
        report,
        memory,
        unexpected: compared.mismatch,
    })
}

/// Kernels of a set, decoded and lifted once each, because a set may launch a kernel many times.
struct PreparedKernels<'a> {
    all: Vec<Prepared<'a>>,
    /// Position in `all` of the kernel of each launch.
    of_launch: Vec<usize>,
}

impl<'a> PreparedKernels<'a> {
    /// Prepares the kernels of the launches.
    fn of(session: &'a Session, kernels: &[&'a Kernel]) -> Result<PreparedKernels<'a>, Diagnostic> {
        let mut prepared = PreparedKernels {
            all: Vec::new(),
            of_launch: Vec::with_capacity(kernels.len()),
        };
        for kernel in kernels {
            // Kernels are borrowed from one session, so the same kernel has the same address.
            let is_same = |other: &Prepared<'_>| std::ptr::eq(other.kernel, *kernel);
            let known = prepared.all.iter().position(is_same);
            let position = known.unwrap_or(prepared.all.len());
            if known.is_none() {
                prepared.all.push(session.prepare_run(kernel)?);
            }
            prepared.of_launch.push(position);
        }
        Ok(prepared)
    }

    /// Returns the kernel of a launch; `None` if the set has no such launch.
    fn of_launch(&self, number: usize) -> Option<&Prepared<'a>> {
        self.all.get(*self.of_launch.get(number)?)
    }
}

/// Returns the kernel of each launch of a set.
///
/// # Errors
///
/// The image has no such kernel, or a launch names none and there are several. A round of a launch exceeds a limit of the
/// GPU or of the kernel.
pub fn kernels_of_set<'a>(
    session: &'a Session,
    set: &LaunchSet,
) -> Result<Vec<&'a Kernel>, Diagnostic> {
    let launches = set.launches.iter();
    let kernels = launches.map(|launch| session.only_kernel(launch.launch.kernel.as_deref()));
    let kernels = kernels.collect::<Result<Vec<_>, Diagnostic>>()?;
    for repetition in &set.repetitions {
        let range = repetition.launches.clone();
        let launches = set.launches.get(range.clone()).into_iter().flatten();
        for (launch, kernel) in launches.zip(kernels.get(range).into_iter().flatten()) {
            // Before any launch runs, because a late round may exceed a limit after hours.
            launch
                .check_limits(session.image.isa(), kernel, repetition.rounds)
                .map_err(|d| session.locate(d))?;
        }
    }
    Ok(kernels)
}

/// Returns the rounds of the repetitions that have a name, or more than one round.
pub fn rounds(set: &LaunchSet, rounds: &[u64]) -> Vec<RepetitionRounds> {
    let pairs = set.repetitions.iter().zip(rounds);
    let repeated =
        pairs.filter(|(repetition, _)| repetition.name.is_some() || repetition.rounds > 1);
    repeated
        .map(|(repetition, &rounds)| RepetitionRounds {
            name: repetition.name.clone(),
            launches: set
                .launches
                .get(repetition.launches.clone())
                .unwrap_or_default()
                .iter()
                .map(|launch| launch.name.clone())
                .collect(),
            rounds,
            most: repetition.rounds,
        })
        .collect()
}

/// Returns the totals of a launch before its first execution.
fn no_totals(launch: &SetLaunch, kernel: &Kernel) -> LaunchTotals {
    LaunchTotals {
        name: launch.name.clone(),
        kernel: kernel.demangled(),
        grid: launch.launch.grid,
        block: launch.launch.block,
        stream: launch.stream,
        executions: 0,
        issued: IssueCounts::default(),
        divergences: 0,
        cycles: None,
        splits: None,
        notes: Vec::new(),
    }
}

/// Adds an execution to the totals of its launch.
fn add(totals: &mut LaunchTotals, result: &LaunchResult) {
    totals.executions += 1;
    totals.issued += result.issued;
    totals.divergences += result.divergences;
    if let Some(splits) = result.splits {
        *totals.splits.get_or_insert(0) += splits;
    }
    if let Some(cycles) = result.cycles {
        let all = totals.cycles.get_or_insert(CycleTotals {
            total: 0,
            least: cycles,
            most: cycles,
        });
        all.total += cycles;
        all.least = all.least.min(cycles);
        all.most = all.most.max(cycles);
    }
    for note in &result.notes {
        // Repeated launches give the same notes, which are listed once with their number.
        let same = |other: &&mut RunNote| {
            (&other.address, &other.message) == (&note.address, &note.message)
        };
        match totals.notes.iter_mut().find(same) {
            Some(other) => other.times += note.times,
            None => totals.notes.push(note.clone()),
        }
    }
}
