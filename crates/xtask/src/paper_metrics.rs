//! `cargo xtask paper-metrics`: activity factor and memory intensity of the seven kernels of the paper.

use anyhow::{Context, bail};
use warpbound_driver::{RunOptions, Session};
use warpbound_report::metrics::{MetricsSet, RunMetrics};
use warpbound_testkit::kernels;

use crate::repository::Repository;

pub(crate) const HELP: &str = "\
usage: cargo xtask paper-metrics [--svg FILE]

Prints activity factor and memory intensity of our versions of the seven kernels of efficient-instrumentation-2014
(Figures 5 and 6) for sm_61, as a table in Markdown.

  --svg FILE   draw them as bars";

/// Kernels of the paper's Table 1: its name, our source, kernel and number of the launch.
const KERNELS: &[(&str, &str, &str, u64)] = &[
    ("BitonicSort", "bitonic_sort", "bitonic_block_int", 0),
    ("BitonicSort", "bitonic_sort", "bitonic_step", 0),
    ("FastWalshTransform", "walsh_transform", "walsh_block", 1),
    ("LUD", "lud_diagonal", "lud_diagonal", 0),
    ("MatrixTranspose", "transpose", "transpose", 1),
    (
        "NearestNeighbor",
        "nearest_neighbour",
        "nearest_distances",
        1,
    ),
    ("NBody", "nbody", "nbody_advance", 1),
    ("Reduction", "reduction", "reduction_tree", 0),
    ("Reduction", "reduction", "reduction_int_256", 0),
];

pub(crate) fn run(repository: &Repository, arguments: &[String]) -> anyhow::Result<()> {
    let svg = match arguments {
        [] => None,
        [option, file] if option == "--svg" => Some(file),
        _ => bail!("usage: see --help"),
    };
    let mut runs = Vec::new();
    println!(
        "| kernel of the paper | ours, launch | warp instructions | activity factor | of lanes with a thread | memory intensity | branch divergence |"
    );
    println!("|---|---|---|---|---|---|---|");
    for &(paper, source, name, number) in KERNELS {
        let run = measured(repository, source, name, number)?;
        let total = &run.metrics.total;
        let share = |share: Option<f64>| {
            share.map_or("?".to_owned(), |share| format!("{:.1} %", share * 100.0))
        };
        let executions: Option<u64> = run.metrics.branches.iter().map(|b| b.executions).sum();
        let divergent: u64 = run.metrics.branches.iter().map(|b| b.divergent).sum();
        let divergence = executions.filter(|&all| all > 0);
        let divergence = divergence.map(|all| divergent as f64 / all as f64);
        println!(
            "| {paper} | `{name}`, {number} | {} | {} | {} | {} | {} |",
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
fn measured(
    repository: &Repository,
    source: &str,
    name: &str,
    number: u64,
) -> anyhow::Result<RunMetrics> {
    let reference = kernels::all()
        .into_iter()
        .find(|one| one.source == source && one.kernel == name)
        .with_context(|| format!("no kernel {name}"))?;
    let file = format!("{source}.sm_61.cubin");
    let contents = std::fs::read(repository.built_kernels().join(&file))?;
    let session = Session::open(&file, &contents).map_err(|d| anyhow::anyhow!("{d}"))?;
    let launch = (reference.launch)(number);
    let metrics = || {
        let kernel = session.launched_kernel(Some(name), None)?;
        let run = session.execute(kernel, &launch, &RunOptions::default(), &mut |_| ())?;
        let prepared = session.prepare(kernel)?;
        run.as_expected()?.metrics(&prepared, &launch)
    };
    Ok(RunMetrics {
        launch: format!("{name}.{number}"),
        metrics: metrics().map_err(|d| anyhow::anyhow!("{d}"))?,
    })
}
