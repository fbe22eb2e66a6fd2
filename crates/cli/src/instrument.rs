//! `warpbound instrument`.

mod header;

use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use warpbound_base::Diagnostic;
use warpbound_measure::probes::{ProbeMetric, ProbePlan, ProbedBlocks};
use warpbound_measure::{
    COUNTERS, CounterKind, InstrumentOptions, InstrumentedKernel, InstrumentedWaves, ProbeOptions,
    instrument_stamps, instrument_waves, probe_plan,
};
use warpbound_measure::{CounterHome, ProbeStyle};
use warpbound_query::LaunchFile;
use warpbound_query::{Kernel, NamePattern};
use warpbound_query::{Library, Session, rewritten};
use warpbound_report::to_json;

use crate::arguments::Input;
use crate::common::{CommandError, print};
use crate::output::Output;
use crate::stages::Stages;
use warpbound_query::input;

/// Realisation of probes.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Style {
    /// Counters in registers, added to memory where a thread exits
    Registers,
    /// Each probe adds to memory
    Memory,
    /// Two sums in memory, as the paper's figure 2: instructions times active lanes, and times lanes of a warp
    Paper,
    /// The same sums, with lanes counted and chosen by atomic operations on shared memory between fences, as the paper
    /// does; needs --launch
    PaperLocal,
}

/// Rule by which blocks get probes.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum BlockRule {
    /// Each block
    All,
    /// Blocks on the sides of branches that depend on the thread index
    Tainted,
    /// The cheapest set of probes that determines all wanted counts
    Plan,
}

/// Counts that are wanted.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Wanted {
    /// Issues and lanes of each block
    Counts,
    /// Instructions times issues and lanes: the activity factor
    Activity,
    /// Accesses of global memory, and instructions: the memory intensity
    Memory,
}

impl From<BlockRule> for ProbedBlocks {
    fn from(rule: BlockRule) -> ProbedBlocks {
        match rule {
            BlockRule::All => ProbedBlocks::All,
            BlockRule::Tainted => ProbedBlocks::Tainted,
            BlockRule::Plan => ProbedBlocks::Plan,
        }
    }
}

impl From<Wanted> for ProbeMetric {
    fn from(wanted: Wanted) -> ProbeMetric {
        match wanted {
            Wanted::Counts => ProbeMetric::Counts,
            Wanted::Activity => ProbeMetric::Activity,
            Wanted::Memory => ProbeMetric::Memory,
        }
    }
}

/// Arguments of `instrument`.
#[derive(Args)]
pub(crate) struct InstrumentArguments {
    #[command(flatten)]
    input: Input,
    /// Kernel to instrument, if there are several
    #[arg(long, value_name = "NAME")]
    kernel: Option<String>,
    /// Launch that is to be measured; counts that can be predicted for it need no probe
    #[arg(long, value_name = "FILE")]
    launch: Option<PathBuf>,
    /// Plan of the probes, as `probes --write` makes it
    #[arg(long, value_name = "FILE", conflicts_with_all = ["blocks", "metrics"])]
    plan: Option<PathBuf>,
    /// Insert time stamps in place of counters: they keep the largest time of each step between the entries of two blocks,
    /// for `hybrid --stamps`
    #[arg(long, conflicts_with_all = ["plan", "blocks", "metrics", "probe", "none"])]
    stamps: bool,
    /// Blocks that get probes
    #[arg(long, value_enum, default_value = "plan")]
    blocks: BlockRule,
    /// Wanted counts, separated by commas
    #[arg(long, value_enum, value_delimiter = ',', default_value = "counts")]
    metrics: Vec<Wanted>,
    /// Give each probe a counter of its own, although sums over several probes would suffice
    #[arg(long, conflicts_with = "plan")]
    each: bool,
    /// Way of counting
    #[arg(long, value_enum, default_value = "registers")]
    probe: Style,
    /// Maximum number of registers of a thread, with those for counters
    #[arg(long, value_name = "N")]
    registers: Option<u16>,
    /// Print the times of the stages to standard error
    #[arg(long)]
    timing: bool,
    /// Write the file again without probes, as a check
    #[arg(long, conflicts_with_all = ["plan", "blocks", "metrics", "probe", "registers", "launch"])]
    none: bool,
    /// File to write: OUT.cubin or OUT.co, with OUT.plan.json, OUT.h, and for a launch OUT.toml
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,
}

/// Writes an instrumented cubin or code object. Returns the exit code.
pub(crate) fn instrument(arguments: &InstrumentArguments) -> Result<u8, CommandError> {
    let mut stages = Stages::new(arguments.timing);
    let library = input::library(&arguments.input.file)?;
    let launch = arguments.launch.as_deref().map(input::grid).transpose()?;
    let named = launch.as_ref().and_then(|launch| launch.kernel.clone());
    let kernel = arguments.kernel.clone().or(named);
    let contents = image(&library, &arguments.input, kernel.as_deref())?;
    if arguments.none {
        let written = rewritten(&contents).map_err(|error| error.in_file(library.name()))?;
        return Ok(write_all(&[(arguments.output.clone(), written)])?);
    }
    let session = Session::open(library.name(), &contents)?;
    let kernel = session.launched_kernel(kernel.as_deref(), None)?;
    if let Some(launch) = &launch {
        // Here, because plans that are read and stamps need no launch, but write one.
        session.check_launch(kernel, launch)?;
    }
    stages.end("parse");
    if arguments.stamps {
        let code = write_stamped(arguments, &session, &contents, kernel)?;
        stages.end("instrument");
        stages.print();
        return Ok(code);
    }
    let plan = match &arguments.plan {
        Some(path) => {
            let plan = ProbePlan::from_json(&input::text(path)?).map_err(Diagnostic::new);
            plan.map_err(|d| d.in_file(path.display().to_string()))?
        }
        None => {
            let metrics = arguments.metrics.iter().copied().map(ProbeMetric::from);
            let rule = ProbedBlocks::from(arguments.blocks);
            let options = ProbeOptions {
                // Waves have no sums, so each probe has a counter of its own.
                each: arguments.each || kernel.code_object.is_some(),
                ..ProbeOptions::for_launch(launch.as_ref(), rule, metrics.collect())
            };
            probe_plan(&session, kernel, &options)?
        }
    };
    stages.end("analyse");
    let made = probed(
        arguments,
        &session,
        &contents,
        kernel,
        &plan,
        launch.as_ref(),
    )?;
    stages.end("instrument");
    let stem = arguments.output.with_extension("");
    let plan = to_json(&plan).into_bytes();
    let mut files = vec![
        (arguments.output.clone(), made.bytes.clone()),
        (beside(&stem, "plan.json"), plan),
        (beside(&stem, "h"), made.header.clone().into_bytes()),
    ];
    if let Some(path) = &arguments.launch {
        let text = launch_text(path, &stem, &made)?;
        files.push((beside(&stem, "toml"), text.into_bytes()));
    }
    write_all(&files)?;
    print(Output::open(None)?, &made.summary)?;
    stages.print();
    Ok(0)
}

/// Returns the kernel with the probes of a plan.
fn probed(
    arguments: &InstrumentArguments,
    session: &Session,
    contents: &[u8],
    kernel: &Kernel,
    plan: &ProbePlan,
    launch: Option<&LaunchFile>,
) -> Result<Made, CommandError> {
    let (style, counters) = match arguments.probe {
        Style::Registers => (ProbeStyle::Registers, CounterKind::Probes),
        Style::Memory => (ProbeStyle::Memory, CounterKind::Probes),
        Style::Paper => (ProbeStyle::Paper, CounterKind::Sums),
        Style::PaperLocal => (ProbeStyle::PaperLocal, CounterKind::Sums),
    };
    Ok(match &kernel.code_object {
        Some(_) if arguments.probe != Style::Registers => {
            let message = "on GCN3 counters are in scalar registers: lanes change within blocks, so that sums are not exact";
            return Err(Diagnostic::new(message).hint("leave out --probe").into());
        }
        Some(_) => {
            let made = instrument_waves(session, contents, kernel, plan)?;
            Made {
                header: header::of_waves(plan, &made),
                summary: waves_summary(plan, &made),
                bytes: made.bytes,
                counters: made.counters,
                digest: made.digest,
                shared: 0,
            }
        }
        None => {
            let options = InstrumentOptions {
                style,
                counters,
                launch: launch.cloned().map(Into::into),
                most_registers: arguments.registers,
                ..InstrumentOptions::default()
            };
            let made = warpbound_measure::instrument(session, contents, kernel, plan, &options)?;
            Made {
                header: header::of_warps(plan, &made, counters),
                summary: summary(plan, &made),
                bytes: made.bytes,
                counters: made.counters,
                digest: made.digest,
                shared: made.shared,
            }
        }
    })
}

/// Writes a kernel with time stamps, their places, and a launch file with the variable of the times.
fn write_stamped(
    arguments: &InstrumentArguments,
    session: &Session,
    contents: &[u8],
    kernel: &Kernel,
) -> Result<u8, CommandError> {
    let (plan, made) = instrument_stamps(session, contents, kernel)?;
    let stem = arguments.output.with_extension("");
    let mut files = vec![
        (arguments.output.clone(), made.bytes.clone()),
        (beside(&stem, "stamps.json"), to_json(&plan).into_bytes()),
    ];
    if let Some(path) = &arguments.launch {
        let variable = Made {
            bytes: Vec::new(),
            header: String::new(),
            summary: String::new(),
            counters: made.counters,
            digest: made.digest,
            shared: 0,
        };
        let text = launch_text(path, &stem, &variable)?;
        files.push((beside(&stem, "toml"), text.into_bytes()));
    }
    write_all(&files)?;
    let [before, after] = made.registers;
    let [instructions, inserted] = made.instructions;
    let text = format!(
        "{}: {} points, {} times; {inserted} instructions inserted into {instructions}; registers {before} -> {after}\n",
        plan.kernel,
        plan.points.len(),
        made.counters
    );
    print(Output::open(None)?, &text)?;
    Ok(0)
}

/// Instrumented file, with the data for the files next to it.
struct Made {
    bytes: Vec<u8>,
    counters: usize,
    digest: u64,
    /// Bytes of dynamic shared memory that blocks need in addition to the launch's.
    shared: u32,
    /// Header for host programs.
    header: String,
    /// Summary of the changes.
    summary: String,
}

/// Returns the path with another ending. The stem may contain dots.
fn beside(stem: &Path, ending: &str) -> PathBuf {
    // `with_extension` would cut off the part of the stem after its last dot.
    let mut path = stem.as_os_str().to_owned();
    path.push(".");
    path.push(ending);
    path.into()
}

/// Returns the contents of the only image that has the kernel.
fn image(library: &Library, input: &Input, kernel: Option<&str>) -> Result<Vec<u8>, CommandError> {
    let mut images = crate::common::select(library, input)?;
    if let Some(kernel) = kernel {
        let pattern = NamePattern::new(kernel);
        // An unreadable image is no error here, because the kernel may be in another one.
        images.retain(|&number| library.has_kernel(number, &pattern).unwrap_or(false));
    }
    let named = |kernel: Option<&str>| match kernel {
        Some(name) => format!("a kernel {name:?}"),
        None => "such a kernel".to_owned(),
    };
    match images.as_slice() {
        [only] => Ok(library.extract(*only)?.contents.to_vec()),
        [] => Err(Diagnostic::new(format!("no image has {}", named(kernel)))
            .in_file(library.name())
            .into()),
        several => {
            let message = format!("{} images have {}", several.len(), named(kernel));
            let hint = "choose with --arch or --image";
            Err(Diagnostic::new(message)
                .in_file(library.name())
                .hint(hint)
                .into())
        }
    }
}

/// Writes files. None appears under its name before all are complete.
fn write_all(files: &[(PathBuf, Vec<u8>)]) -> Result<u8, std::io::Error> {
    let mut open = Vec::new();
    for (path, bytes) in files {
        let mut out = Output::open(Some(path))?;
        out.write_all(bytes)?;
        // A file appears when it is finished, so all are written before the first one is.
        open.push(out);
    }
    for out in open {
        out.finish()?;
    }
    Ok(0)
}

/// Returns the text of the launch file with the variable of the counters. Files that the launch names stay in the
/// folder of the original launch file.
fn launch_text(path: &Path, stem: &Path, made: &Made) -> Result<String, Diagnostic> {
    let folder = path.parent().map(Path::to_path_buf).unwrap_or_default();
    // Absolute, because the new launch file may be in another folder.
    let folder = std::fs::canonicalize(match folder.as_os_str().is_empty() {
        true => Path::new("."),
        false => &folder,
    });
    let folder = folder.map_err(|error| {
        let message = format!("its folder cannot be found: {error}");
        Diagnostic::new(message).in_file(path.display().to_string())
    })?;
    let mut text = String::new();
    let (original, shared) = (input::text(path)?, input::grid(path)?.dynamic_shared);
    // At the beginning: after a table, the key would belong to that table.
    if made.shared > 0 {
        text += &format!("dynamic_shared = {}\n", shared.saturating_add(made.shared));
    }
    for line in original.lines() {
        let mut line = line.to_owned();
        // The sum above replaces this key.
        if made.shared > 0 && line.trim_start().starts_with("dynamic_shared") {
            continue;
        }
        for key in ["file", "raw", "expect"] {
            let start = format!("{key} = \"");
            if let Some(name) = line.trim_start().strip_prefix(&start) {
                line = format!("{start}{}/{name}", folder.display());
            }
        }
        text += &line;
        text += "\n";
    }
    let name = stem.file_name().unwrap_or_default().to_string_lossy();
    // The first word holds the digest of the plan, so that counters are never decoded with another plan.
    let zeros = ", \"0\"".repeat(made.counters);
    text += &format!(
        "\n[[variable]]\nname = \"{COUNTERS}\"\ntype = \"u64\"\nvalues = [\"0x{:016x}\"{zeros}]\noutput = \"{name}.counters.npy\"\n",
        made.digest
    );
    Ok(text)
}

/// Returns the summary for a kernel of an NVIDIA GPU.
fn summary(plan: &ProbePlan, made: &InstrumentedKernel) -> String {
    let in_memory = made
        .homes
        .iter()
        .filter(|home| **home == CounterHome::Memory)
        .count();
    let [before, after] = made.registers;
    let [instructions, inserted] = made.instructions;
    let mut text = format!(
        "{}: {} counters of {} probes, {in_memory} of them in memory; {inserted} instructions inserted into {instructions}; registers {before}",
        plan.kernel,
        made.counters,
        plan.probes.len()
    );
    if before != after {
        text += &format!(" -> {after}");
        // An SM allocates the registers of a thread in units of 8.
        let step = |registers: u16| registers.next_multiple_of(8);
        if step(before) != step(after) {
            text += &format!(
                " (allocated {} -> {}: fewer warps may fit on an SM)",
                step(before),
                step(after)
            );
        }
    }
    if made.shared > 0 {
        text += &format!(
            "; launches need {} bytes more of dynamic shared memory",
            made.shared
        );
    }
    text + "\n"
}

/// Returns the summary for a kernel of GCN3.
fn waves_summary(plan: &ProbePlan, made: &InstrumentedWaves) -> String {
    let [instructions, inserted] = made.instructions;
    let (scalar, vector) = made.registers;
    let mut text = format!(
        "{}: {} counters; {inserted} instructions inserted into {instructions}",
        plan.kernel, made.counters
    );
    if inserted > 0 {
        text += &format!("; needs {scalar} SGPRs with numbers and {vector} VGPRs");
    }
    text + "\n"
}
