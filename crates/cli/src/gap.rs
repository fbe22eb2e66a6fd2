//! `warpbound gap`.

use std::path::PathBuf;

use clap::builder::RangedU64ValueParser;
use clap::{Args, ValueEnum};
use warpbound_audit::{GapOptions, has_launch_gap, launch_gap};
use warpbound_base::Diagnostic;
use warpbound_bounds::CycleOptions;
use warpbound_query::CacheState;
use warpbound_report::{GapReport, to_json};
use warpbound_runs::SingleWarp;

use crate::arguments::{FactsArguments, Input, LaunchInput, OutputArguments, PageFormat};
use crate::common::{CommandError, NO_BOUND, VIOLATED, facts_options, launched_session, print};
use crate::output::Output;
use crate::progress::Progress;
use crate::values::{named, single_warp};
use warpbound_query::input;

/// Arguments of `gap`.
#[derive(Args)]
pub(crate) struct GapArguments {
    #[command(flatten)]
    pub(crate) input: Input,
    #[command(flatten)]
    pub(crate) launch: LaunchInput,
    #[command(flatten)]
    pub(crate) facts: FactsArguments,
    /// L2 cache at the start that the bound is for: in any state, holding buffers, constants and code (warm), or empty
    /// (cold)
    #[arg(long, value_parser = named::<CacheState>(), default_value = "any")]
    pub(crate) caches: CacheState,
    /// Number of random selections of the machine's parameters, besides slow, typical, lo and hi
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = RangedU64ValueParser::<u64>::new().range(0..=10_000))]
    pub(crate) seeds: u64,
    /// Number of different contents of the buffers: first the contents in the launch file, then random ones
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = RangedU64ValueParser::<u64>::new().range(1..=10_000))]
    pub(crate) contents: u64,
    /// Extent of the runs: one warp after the other, each alone (warp), or the whole launch (grid) [default: grid for
    /// launches of several warps on NVIDIA's GPUs, if no warp is named]
    #[arg(long, value_enum)]
    pub(crate) scope: Option<GapScope>,
    /// Maximum number of runs of a whole launch, chosen from all combinations of parameters, schedulers, contents, orders
    /// and caches
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = RangedU64ValueParser::<u64>::new().range(1..=1_000_000))]
    pub(crate) runs: u64,
    /// The warp that runs, such as 3.1: warp 1 of the block with linear index 3 [default: at most 16 warps, spread over
    /// the launch, one after the other]
    #[arg(long, value_name = "BLOCK.WARP", value_parser = single_warp)]
    pub(crate) warp: Option<SingleWarp>,
    /// Limit of the warp instructions of a run; longer ones are left out
    #[arg(long, value_name = "N", default_value_t = 2_000_000, value_parser = RangedU64ValueParser::<u64>::new().range(1..))]
    pub(crate) max_instructions: u64,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: PageFormat,
    /// Also draw the chain as a waterfall
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) output: OutputArguments,
}

/// Extent of the runs of a gap breakdown.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum GapScope {
    /// A warp alone.
    Warp,
    /// The whole launch.
    Grid,
}

/// Compares a bound in cycles with simulated runs. Returns the exit code.
pub(crate) fn gap(arguments: &GapArguments) -> Result<u8, CommandError> {
    let GapArguments {
        input,
        launch: launched,
        facts,
        caches,
        seeds,
        contents,
        scope,
        runs,
        warp,
        max_instructions,
        format,
        svg,
        output,
    } = arguments;
    if *scope == Some(GapScope::Grid) && warp.is_some() {
        return Err(Diagnostic::new("--warp names one warp, --scope grid is for all").into());
    }
    let library = input::library(&input.file)?;
    if library.is_text() {
        let message = "bounds of warps in cycles are for GPU kernels, this is mini-SIMT";
        return Err(Diagnostic::new(message)
            .in_file(library.name())
            .hint("`warpbound cta` bounds the cycles of a block")
            .into());
    }
    if output.output.is_some() && output.output == *svg {
        return Err(Diagnostic::new("--output and --svg name the same file").into());
    }
    let facts = facts_options(&library, facts)?;
    let grid = input::grid(&launched.launch)?;
    let name = launched.kernel.as_deref();
    let session = launched_session(&library, input, name, &grid)?;
    let kernel = session.launched_kernel(name, grid.kernel.as_deref())?;
    let machine = match &launched.machine {
        Some(name) => input::gpu_model(name)?,
        None => session.own_gpu_model()?,
    };
    let options = GapOptions {
        facts: facts.facts,
        loop_default: facts.loop_default,
        seeds: *seeds,
        contents: *contents,
        warp: *warp,
        most_runs: *runs,
        max_instructions: *max_instructions,
        ..GapOptions::new(CycleOptions {
            counts: Default::default(),
            machine,
            caches: *caches,
            splitting: Default::default(),
        })
    };
    // Opened before the runs, which may take long, so that an error shows early.
    let out = Output::open(output.output.as_deref())?;
    let drawing = svg.as_deref().map(Output::file).transpose()?;
    let mut progress = Progress::new();
    let show = |done, all| progress.runs(done, all);
    let is_launch = match scope {
        Some(scope) => *scope == GapScope::Grid,
        None => warp.is_none() && has_launch_gap(&session, &grid),
    };
    let report = match is_launch {
        true => launch_gap(&session, kernel, &grid, &options, show),
        false => warpbound_audit::gap(&session, kernel, &grid, &options, show),
    };
    progress.clear();
    let report = report?;
    if let Some(drawing) = drawing {
        print(drawing, &report.svg())?;
    }
    let text = match format {
        PageFormat::Text => report.text(),
        PageFormat::Json => to_json(&report),
        PageFormat::Html => report.html(),
    };
    print(out, &text)?;
    Ok(code(&report))
}

/// Returns the exit code. A chain that inverts, which includes a bound below a run, takes precedence over a missing
/// bound.
fn code(report: &GapReport) -> u8 {
    let first = report.chain.first().map(|element| element.name);
    if report.inversion().is_some() {
        VIOLATED
    } else if first != GapReport::CHAIN.first().copied() {
        // A chain that does not begin with the bound belongs to a kernel without one.
        NO_BOUND
    } else {
        0
    }
}
