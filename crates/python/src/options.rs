//! Options of queries, given as the JSON objects that the package writes.

use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use serde::Deserialize;
use warpbound_audit::audit::AuditOptions;
use warpbound_base::{Diagnostic, Named};
use warpbound_query::FactsFile;
use warpbound_query::Isa;
use warpbound_query::LaunchFile;
use warpbound_query::{
    BoundOptions, CycleQuery, FormulaSymbols, ImageSelection, Library, NumberRange, ProfiledLaunch,
    Session, StatedLaunches, StatedParam, input,
};
use warpbound_query::{SchedulerPolicy, Selection};
use warpbound_runs::{Override, RunOptions, TimedOptions};

/// Parses the options of a query.
///
/// # Errors
///
/// If a value has a wrong type or is out of range. Names of options are never wrong, because the package writes them.
pub(crate) fn parse<'a, T: Deserialize<'a>>(json: &'a str) -> Result<T, Diagnostic> {
    serde_json::from_str(json).map_err(|error| Diagnostic::new(format!("wrong option: {error}")))
}

/// Selection of kernels.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct KernelQuery {
    arch: Option<String>,
    image: Option<usize>,
    pub(crate) kernel: Option<String>,
}

impl KernelQuery {
    /// Returns the selection of images.
    ///
    /// # Errors
    ///
    /// If there is no such architecture.
    pub(crate) fn selection(&self) -> Result<ImageSelection, Diagnostic> {
        Ok(ImageSelection {
            image: self.image,
            isa: parsed::<Isa>("arch", self.arch.as_deref())?,
        })
    }
}

/// Parses an option whose values have a type of their own.
fn parsed<T: FromStr<Err: ToString>>(
    option: &str,
    text: Option<&str>,
) -> Result<Option<T>, Diagnostic> {
    let parse = |text: &str| {
        let value = text.parse();
        value.map_err(|why: T::Err| Diagnostic::new(format!("{option}: {}", why.to_string())))
    };
    text.map(parse).transpose()
}

/// Returns the value of an enumeration by its name.
fn named<T: Named>(option: &str, name: Option<&str>) -> Result<Option<T>, Diagnostic> {
    let Some(name) = name else {
        return Ok(None);
    };
    let names: Vec<&str> = T::ALL.iter().map(|(_, name)| *name).collect();
    let unknown = || Diagnostic::new(format!("{option}: there is no {name:?}"));
    let value = T::from_name(name);
    let value = value.ok_or_else(|| unknown().hint(format!("it is one of {}", names.join(", "))));
    value.map(Some)
}

/// Minimum and maximum of a number.
type Range = [i128; 2];

fn range([least, most]: Range) -> NumberRange {
    NumberRange { least, most }
}

/// Statements about launches, in addition to the launch itself.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct LaunchStatements {
    block: Option<[Range; 3]>,
    grid: Option<[Range; 3]>,
    params: Vec<(String, Range)>,
    warp_width: Option<u32>,
}

impl LaunchStatements {
    /// Adds the statements and the launch to options.
    ///
    /// # Errors
    ///
    /// If a warp cannot have this number of lanes, or if the code is mini-SIMT, whose launches are different.
    pub(crate) fn options(
        self,
        library: &Library,
        launch: Option<Arc<LaunchFile>>,
        options: BoundOptions,
    ) -> Result<BoundOptions, Diagnostic> {
        if launch.is_some() && library.is_text() {
            let message = "launch is for GPU kernels, this is mini-SIMT";
            return Err(Diagnostic::new(message).in_file(library.name()));
        }
        // 64 lanes are the maximum, as on the command line.
        if let Some(lanes) = self.warp_width.filter(|lanes| !(1..=64).contains(lanes)) {
            let message = format!("warp_width: a warp of {lanes} lanes, not 1 to 64");
            return Err(Diagnostic::new(message));
        }
        let params = self.params.into_iter();
        Ok(BoundOptions {
            warp_width: self.warp_width,
            launches: StatedLaunches {
                file: launch,
                block: self.block.map(|size| size.map(range)),
                grid: self.grid.map(|size| size.map(range)),
                params: params
                    .map(|(name, numbers)| StatedParam {
                        name,
                        range: range(numbers),
                    })
                    .collect(),
            },
            ..options
        })
    }
}

/// Flow facts.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct FlowFacts {
    facts: Option<PathBuf>,
    loop_default: Option<u64>,
}

impl FlowFacts {
    /// Returns the options of bounds with these facts.
    ///
    /// # Errors
    ///
    /// If the facts file does not fit the library, or if the default is out of range.
    pub(crate) fn options(&self, library: &Library) -> Result<BoundOptions, Diagnostic> {
        check_range("loop_default", self.loop_default, 1..=FactsFile::MAX_BOUND)?;
        Ok(BoundOptions {
            facts: match &self.facts {
                Some(path) => input::facts(library, path)?,
                None => FactsFile::default(),
            },
            loop_default: self.loop_default,
            ..BoundOptions::default()
        })
    }
}

fn check_range(
    option: &str,
    number: Option<u64>,
    range: std::ops::RangeInclusive<u64>,
) -> Result<(), Diagnostic> {
    match number.filter(|number| !range.contains(number)) {
        Some(number) => Err(Diagnostic::new(format!(
            "{option}: {number} is not in {} to {}",
            range.start(),
            range.end()
        ))),
        None => Ok(()),
    }
}

/// Options of bounds.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct BoundRequest {
    pub(crate) kernels: KernelQuery,
    launches: LaunchStatements,
    facts: FlowFacts,
    call_default: Option<u64>,
    no_derive: bool,
    formula: Vec<String>,
    contents: Option<String>,
    machine_code: bool,
    cycles: Option<CycleRequest>,
    pub(crate) jobs: Option<usize>,
}

/// Machine and caches of bounds in cycles.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct CycleRequest {
    machine: Option<String>,
    caches: Option<String>,
    scope: Option<String>,
    schedulers: Option<String>,
    /// Minimum and maximum frequency in kHz.
    clock: Option<(u64, u64)>,
}

impl CycleRequest {
    fn query(&self, library: &Library) -> Result<CycleQuery, Diagnostic> {
        if library.is_text() {
            let message = "bounds in cycles are for GPU kernels, this is mini-SIMT";
            return Err(Diagnostic::new(message).in_file(library.name()));
        }
        Ok(CycleQuery {
            machine: self.machine.as_deref().map(input::gpu_model).transpose()?,
            caches: named("caches", self.caches.as_deref())?.unwrap_or_default(),
            scope: named("scope", self.scope.as_deref())?,
            schedulers: named("schedulers", self.schedulers.as_deref())?.unwrap_or_default(),
            clock: self.clock,
            ..CycleQuery::default()
        })
    }
}

impl BoundRequest {
    /// Returns the options for bounds of kernels of a library.
    ///
    /// # Errors
    ///
    /// If an option cannot be used for this library.
    pub(crate) fn options(
        self,
        library: &Library,
        launch: Option<Arc<LaunchFile>>,
    ) -> Result<BoundOptions, Diagnostic> {
        let most = FactsFile::MAX_BOUND;
        check_range("call_default", self.call_default, 0..=most)?;
        let contents = named("contents", self.contents.as_deref())?.unwrap_or_default();
        let profiled = launch.as_deref().cloned();
        let options = BoundOptions {
            derive: !self.no_derive,
            formula: FormulaSymbols::named(&self.formula),
            call_default: self.call_default,
            machine_code: self.machine_code,
            cycles: self.cycles.map(|c| c.query(library)).transpose()?,
            ..self.facts.options(library)?
        };
        let mut options = self.launches.options(library, launch, options)?;
        // A profile executes one launch, so it applies only if no other statement widens it.
        if options.launches.only_file().is_some() {
            options.profiled_launch = profiled.map(|file| ProfiledLaunch { file, contents });
        }
        Ok(options)
    }
}

/// Options of analyses of control flow.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct FlowRequest {
    pub(crate) kernels: KernelQuery,
    pub(crate) launches: LaunchStatements,
}

/// Options of runs.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct RunRequest {
    pub(crate) kernels: KernelQuery,
    pub(crate) functional: bool,
    machine: Option<String>,
    scheduler: Option<String>,
    select: Option<String>,
    set: Vec<(String, u64)>,
    caches: Option<String>,
    interlock: Option<String>,
    order: Option<String>,
    max_instructions: Option<u64>,
    sensitivities: bool,
    threads: Option<std::num::NonZero<usize>>,
}

impl RunRequest {
    /// Returns the options of a run without time.
    ///
    /// # Errors
    ///
    /// If there is no such order.
    pub(crate) fn functional(&self) -> Result<RunOptions, Diagnostic> {
        Ok(RunOptions {
            max_instructions: self.max_instructions,
            order: named("order", self.order.as_deref())?.unwrap_or_default(),
            threads: self.threads.unwrap_or(std::num::NonZero::<usize>::MIN),
            checks: false,
        })
    }

    /// Returns the options of a run with time.
    ///
    /// # Errors
    ///
    /// If the machine cannot be used, or if a name or a value is wrong.
    pub(crate) fn timed(&self, session: &Session) -> Result<TimedOptions, Diagnostic> {
        let machine = match &self.machine {
            Some(name) => input::gpu_model(name)?,
            None => session.own_gpu_model()?,
        };
        let set = self.set.iter();
        let set: Result<Vec<Override>, Diagnostic> = set
            .map(|(name, value)| Override::named(name, *value))
            .collect();
        let set = set?;
        Override::check_distinct(&set)?;
        let functional = self.functional()?;
        let options = TimedOptions {
            scheduler: parsed::<SchedulerPolicy>("scheduler", self.scheduler.as_deref())?,
            selection: parsed::<Selection>("select", self.select.as_deref())?.unwrap_or_default(),
            caches: named("caches", self.caches.as_deref())?,
            interlock: named("interlock", self.interlock.as_deref())?.unwrap_or_default(),
            max_instructions: functional.max_instructions,
            order: functional.order,
            sensitivities: self.sensitivities,
            spread: true,
            threads: functional.threads,
            ..TimedOptions::new(machine)
        };
        Ok(options.with_overrides(&set))
    }
}

/// Options of audits.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct AuditRequest {
    pub(crate) kernels: KernelQuery,
    pub(crate) facts: FlowFacts,
    runs: Option<u64>,
    seed: Option<u64>,
    max_instructions: Option<u64>,
    cycles: Option<CycleRequest>,
}

impl AuditRequest {
    /// Returns the options of the runs.
    ///
    /// # Errors
    ///
    /// If the machine cannot be used, or if a name is wrong.
    pub(crate) fn options(&self, library: &Library) -> Result<AuditOptions, Diagnostic> {
        check_range("runs", self.runs, 1..=u64::MAX)?;
        let cycles = self.cycles.as_ref();
        // The defaults of the command line, so that both give the same audit.
        let defaults = AuditOptions::default();
        Ok(AuditOptions {
            runs: self.runs.unwrap_or(defaults.runs),
            seed: self.seed.unwrap_or(defaults.seed),
            max_instructions: self.max_instructions,
            cycles: cycles.map(|c| c.query(library)).transpose()?,
        })
    }
}
