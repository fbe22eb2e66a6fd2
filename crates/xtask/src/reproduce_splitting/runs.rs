//! Single runs: what a run depends on, its key, and its numbers.

use std::hash::{DefaultHasher, Hash, Hasher};

use warpbound_base::Diagnostic;
use warpbound_launch::GlobalMemory;
use warpbound_launch::LaunchFile;
use warpbound_query::SplitPipelines;
use warpbound_query::{GpuModel, Parameter, Selection};
use warpbound_query::{Session, SplitMarks, SplitOptions};
use warpbound_runs::{RunHooks, TimedOptions};
use warpbound_testkit::kernels::HostProgram;

use super::measurements::{Measured, Numbers};
use crate::repository::Repository;

/// Maximum number of wave instructions of a program without splitting. A program with more did not finish.
pub(super) const MOST_INSTRUCTIONS: u64 = 60_000_000;

/// Splitting of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct RunSplitting {
    /// Reserve slots of a wave.
    pub(super) splits: u32,
    /// Whether splits share one pipeline.
    pub(super) is_serialised: bool,
    /// Whether splits become one again at joins.
    pub(super) merges: bool,
}

/// Everything that a run depends on besides its program and input.
#[derive(Clone, Debug)]
pub(super) struct RunConfiguration {
    /// Name of a built-in machine.
    pub(super) machine: &'static str,
    /// Selection of its numbers.
    pub(super) selection: Selection,
    /// Numbers of the machine that are set.
    pub(super) set: Vec<(Parameter, u64)>,
    /// Splitting.
    pub(super) splitting: RunSplitting,
}

impl RunSplitting {
    /// Splitting with parallel pipelines and without merging, as in the thesis.
    pub(super) fn parallel(splits: u32) -> RunSplitting {
        RunSplitting {
            splits,
            is_serialised: false,
            merges: false,
        }
    }
}

impl RunConfiguration {
    /// A machine with its typical numbers.
    pub(super) fn typical(machine: &'static str, splitting: RunSplitting) -> RunConfiguration {
        RunConfiguration {
            machine,
            selection: Selection::Typical,
            set: Vec::new(),
            splitting,
        }
    }

    /// Words of a key.
    pub(super) fn key(&self) -> String {
        let RunSplitting {
            splits,
            is_serialised,
            merges,
        } = self.splitting;
        let pipelines = if is_serialised {
            "serialised"
        } else {
            "parallel"
        };
        let merge = if merges { "join" } else { "none" };
        let mut key = format!(
            "{} {} S={splits} {pipelines} {merge}",
            self.machine, self.selection
        );
        for (parameter, value) in &self.set {
            key += &format!(" {}={value}", parameter.name());
        }
        key
    }

    /// Options of a timed run.
    pub(super) fn options(&self) -> Result<TimedOptions, Diagnostic> {
        let mut options = TimedOptions::new(GpuModel::built_in(self.machine)?);
        options.selection = self.selection;
        options.set.clone_from(&self.set);
        options.splitting = SplitOptions {
            splits: self.splitting.splits,
            pipelines: match self.splitting.is_serialised {
                true => SplitPipelines::Serialised,
                false => SplitPipelines::Parallel,
            },
            marks: SplitMarks::All,
            merge: self.splitting.merges,
        };
        Ok(options)
    }
}

/// Loads the code object of a source in `kernels/gcn3`.
pub(super) fn session(repository: &Repository, source: &str) -> anyhow::Result<Session> {
    let file = format!("{source}.gfx803.co");
    let contents = std::fs::read(repository.built_kernels().join(&file))?;
    Session::open(&file, &contents).map_err(|d| anyhow::anyhow!("{d}"))
}

/// Simulates all launches of a program, and returns sums of their numbers. `results` is a hash of all that they leave
/// in memory.
pub(super) fn program_run(
    session: &Session,
    program: &HostProgram,
    input: usize,
    configuration: &RunConfiguration,
) -> Measured {
    let options = configuration.options().map_err(|d| d.message)?;
    let mut numbers = Numbers::new();
    let mut results = DefaultHasher::new();
    // A wave and all its splits can execute each instruction once.
    let most = MOST_INSTRUCTIONS * (1 + u64::from(configuration.splitting.splits));
    let run = program.run(input, &mut |launch| {
        let done = numbers.get("instructions").copied().unwrap_or(0);
        let options = TimedOptions {
            max_instructions: Some(most - done),
            ..options.clone()
        };
        let memory = simulate(session, launch, &options, &mut numbers)?;
        for buffer in memory.buffers() {
            buffer.bytes.hash(&mut results);
        }
        Ok(memory)
    });
    run.map_err(|d| d.message)?;
    numbers.insert("results".to_owned(), results.finish());
    Ok(numbers)
}

/// Simulates a launch and adds its numbers.
fn simulate(
    session: &Session,
    launch: &LaunchFile,
    options: &TimedOptions,
    numbers: &mut Numbers,
) -> Result<GlobalMemory, Diagnostic> {
    let kernel = session.launched_kernel(None, launch.kernel.as_deref())?;
    let hooks = RunHooks {
        events: None,
        timeline: None,
        progress: &mut |_| {},
    };
    let run = warpbound_runs::simulate(session, kernel, launch, options, hooks)?;
    let mut add = |name: &str, value: u64| *numbers.entry(name.to_owned()).or_default() += value;
    add("cycles", run.report.cycles);
    add("instructions", run.report.issued.warp_instructions);
    add("launches", 1);
    if let Some(waves) = &run.report.waves {
        add("lanes_used", waves.lane_cycles.used);
        add("lanes_offered", waves.lane_cycles.offered);
        if let Some(splitting) = &waves.splitting {
            add("splits", splitting.taken);
            add("merges", splitting.merges);
            add("no_slot", splitting.refused.no_slot);
            add("no_registers", splitting.refused.no_registers);
            let most = numbers.entry("sites".to_owned()).or_default();
            *most = (*most).max(splitting.sites.len() as u64);
        }
    }
    Ok(run.memory)
}
