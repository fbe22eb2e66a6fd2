//! `cargo xtask paper-metrics`: activity factor, memory intensity, slowdowns and stages of the seven kernels of the
//! paper.

mod slowdowns;

use anyhow::{Context, bail};
use warpbound_query::Session;
use warpbound_report::metrics::{MetricsSet, RunMetrics};
use warpbound_runs::{RunOptions, execute};
use warpbound_testkit::kernels;

use crate::repository::Repository;

pub(crate) const HELP: &str = "\
usage: cargo xtask paper-metrics [--svg FILE] [--slowdowns FILE] [--stages FILE]

Prints activity factor and memory intensity of our versions of the seven kernels of efficient-instrumentation-2014
(Figures 5 and 6) for sm_61, as a table in Markdown.

  --svg FILE         draw them as bars
  --slowdowns FILE   measure slowdowns by instrumentation, in simulated cycles, and draw them (Figure 7)
  --stages FILE      measure the time of the stages on this machine, and draw their shares (Figure 8)";

/// Kernel of the paper's Table 1 in our version.
struct PaperKernel {
    /// Name in the paper.
    paper: &'static str,
    source: &'static str,
    /// Name in the cubin.
    kernel: &'static str,
    /// Short name.
    name: &'static str,
    /// Number of the launch.
    launch: u64,
}

const fn row(
    paper: &'static str,
    source: &'static str,
    (kernel, name): (&'static str, &'static str),
    launch: u64,
) -> PaperKernel {
    PaperKernel {
        paper,
        source,
        kernel,
        name,
        launch,
    }
}

const KERNELS: &[PaperKernel] = &[
    row(
        "BitonicSort",
        "bitonic_sort",
        ("void bitonic::block<int>(int*)", "bitonic_block_int"),
        0,
    ),
    row(
        "BitonicSort",
        "bitonic_sort",
        ("bitonic::step(float*, int, int)", "bitonic_step"),
        0,
    ),
    row(
        "FastWalshTransform",
        "walsh_transform",
        ("walsh_block", "walsh_block"),
        1,
    ),
    row("LUD", "lud_diagonal", ("lud_diagonal", "lud_diagonal"), 0),
    row(
        "MatrixTranspose",
        "transpose",
        ("transpose", "transpose"),
        1,
    ),
    row(
        "NearestNeighbor",
        "nearest_neighbour",
        ("nearest_distances", "nearest_distances"),
        1,
    ),
    row(
        "NBody",
        "nbody",
        (
            "nbody::advance(float4 const*, float4*, float4*, int, float, float)",
            "nbody_advance",
        ),
        1,
    ),
    row(
        "Reduction",
        "reduction",
        ("reduction_tree", "reduction_tree"),
        0,
    ),
    row(
        "Reduction",
        "reduction",
        (
            "void reduction<int, 256>(int const*, int*, int)",
            "reduction_int_256",
        ),
        0,
    ),
];

pub(crate) fn run(repository: &Repository, arguments: &[String]) -> anyhow::Result<()> {
    let (mut svg, mut slowdowns, mut stages) = (None, None, None);
    for pair in arguments.chunks(2) {
        let [option, file] = pair else {
            bail!("usage: see --help");
        };
        *match option.as_str() {
            "--svg" => &mut svg,
            "--slowdowns" => &mut slowdowns,
            "--stages" => &mut stages,
            _ => bail!("usage: see --help"),
        } = Some(file);
    }
    print_metrics(repository, svg)?;
    let write = |file: &String, text: String| {
        std::fs::write(file, text).with_context(|| format!("cannot write {file}"))
    };
    if let Some(file) = slowdowns {
        write(file, slowdowns::draw_slowdowns(repository)?)?;
    }
    if let Some(file) = stages {
        write(file, slowdowns::draw_stages(repository)?)?;
    }
    Ok(())
}

/// Prints the table of metrics, and draws it.
fn print_metrics(repository: &Repository, svg: Option<&String>) -> anyhow::Result<()> {
    let mut runs = Vec::new();
    println!(
        "| kernel of the paper | ours, launch | warp instructions | activity factor | of lanes with a thread | memory intensity | branch divergence |"
    );
    println!("|---|---|---|---|---|---|---|");
    for kernel in KERNELS {
        let PaperKernel {
            paper,
            name,
            launch,
            ..
        } = kernel;
        let run = measured(repository, kernel)?;
        let total = &run.metrics.total;
        let share = |share: Option<f64>| {
            share.map_or("?".to_owned(), |share| format!("{:.1} %", share * 100.0))
        };
        let executions: Option<u64> = run.metrics.branches.iter().map(|b| b.executions).sum();
        let divergent: u64 = run.metrics.branches.iter().map(|b| b.divergent).sum();
        let divergence = executions.filter(|&all| all > 0);
        let divergence = divergence.map(|all| divergent as f64 / all as f64);
        println!(
            "| {paper} | `{name}`, {launch} | {} | {} | {} | {} | {} |",
            total.warp_instructions.unwrap_or_default(),
            share(total.activity_factor),
            share(total.activity_of_launched),
            share(total.memory_intensity),
            share(divergence),
        );
        runs.push(run);
    }
    if let Some(file) = svg {
        let set = MetricsSet::new("kernels/built".to_owned(), runs);
        std::fs::write(file, set.svg()).with_context(|| format!("cannot write {file}"))?;
    }
    Ok(())
}

/// Executes a launch and returns its metrics.
fn measured(repository: &Repository, wanted: &PaperKernel) -> anyhow::Result<RunMetrics> {
    let PaperKernel {
        source,
        kernel,
        name,
        launch: number,
        ..
    } = wanted;
    let reference = kernels::all()
        .into_iter()
        .find(|one| one.source == *source && one.kernel == *kernel)
        .with_context(|| format!("no kernel {kernel}"))?;
    let file = format!("{source}.sm_61.cubin");
    let contents = std::fs::read(repository.built_kernels().join(&file))?;
    let session = Session::open(&file, &contents).map_err(|d| anyhow::anyhow!("{d}"))?;
    let launch = (reference.launch)(*number);
    let metrics = || {
        let found = session.launched_kernel(Some(*kernel), None)?;
        let run = execute(
            &session,
            found,
            &launch,
            &RunOptions::default(),
            &mut |_| (),
        )?;
        let prepared = session.prepare(found)?;
        run.as_expected()?.metrics(&prepared, &launch)
    };
    let mut metrics = metrics().map_err(|d| anyhow::anyhow!("{d}"))?;
    metrics.kernel = (*name).to_owned();
    Ok(RunMetrics {
        launch: format!("{name}.{number}"),
        metrics,
    })
}
