//! Simulated cycles of kernels with probes for the activity factor, as a table: the seven kernels of
//! `efficient-instrumentation-2014`, or with `all` one launch of each kernel for sm_61:
//! `cargo bench -p warpbound-driver --bench overheads [-- all]`.
#![allow(clippy::expect_used, reason = "benchmarks")]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use warpbound_base::Diagnostic;
use warpbound_driver::probes::{ProbeMetric, ProbedBlocks};
use warpbound_driver::{
    CounterKind, InstrumentOptions, ProbeOptions, ProbeStyle, Session, TimedOptions,
};
use warpbound_launch::{LaunchFile, StartCaches};
use warpbound_machine::GpuModel;
use warpbound_simulate::timed::Silent;

/// Launches of the kernels of the paper's table 1.
const PAPER: [&str; 9] = [
    "nbody.nbody_advance.1",
    "walsh_transform.walsh_block.1",
    "transpose.transpose.1",
    "bitonic_sort.bitonic_block_int.0",
    "reduction.reduction_tree.0",
    "reduction.reduction_int_256.0",
    "lud_diagonal.lud_diagonal.0",
    "nearest_neighbour.nearest_distances.1",
    "nearest_neighbour.nearest_few.1",
];

/// Kinds of probes: heading, blocks, realisation, counters, whether each probe has a counter.
const KINDS: [(&str, ProbedBlocks, ProbeStyle, CounterKind, bool); 4] = [
    (
        "paper local",
        ProbedBlocks::All,
        ProbeStyle::PaperLocal,
        CounterKind::Sums,
        true,
    ),
    (
        "paper",
        ProbedBlocks::All,
        ProbeStyle::Paper,
        CounterKind::Sums,
        true,
    ),
    (
        "registers",
        ProbedBlocks::All,
        ProbeStyle::Registers,
        CounterKind::Sums,
        true,
    ),
    (
        "sums of the plan",
        ProbedBlocks::Plan,
        ProbeStyle::Registers,
        CounterKind::Probes,
        false,
    ),
];

fn kernels() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels")
}

fn main() {
    let all = std::env::args().any(|argument| argument == "all");
    let names = if all {
        first_launches()
    } else {
        PAPER.map(str::to_owned).to_vec()
    };
    let heads = KINDS.map(|(head, ..)| format!(" {head} |"));
    println!("| launch | cycles |{}", heads.concat());
    println!("|---|---|{}", "---|".repeat(KINDS.len()));
    for name in names {
        match row(&name) {
            Ok(row) => println!("{row}"),
            Err(why) => println!("| {name} | {why} |"),
        }
    }
}

/// The first launch of each kernel.
fn first_launches() -> Vec<String> {
    let files = std::fs::read_dir(kernels().join("launches")).expect("launches of the repository");
    let names = files.filter_map(|file| file.ok()?.file_name().into_string().ok());
    let mut names: Vec<String> = names
        .filter_map(|name| Some(name.strip_suffix(".toml")?.to_owned()))
        .filter(|name| name.ends_with(".0"))
        .collect();
    names.sort_unstable();
    names
}

fn row(name: &str) -> Result<String, Diagnostic> {
    let folder = kernels().join("launches");
    let read =
        |file: &str| std::fs::read(folder.join(file)).map_err(|e| Diagnostic::new(e.to_string()));
    let file = format!("{name}.toml");
    let text = String::from_utf8_lossy(&read(&file)?).into_owned();
    let launch = LaunchFile::parse(&file, &text, &read)?;
    let source = name.split('.').next().unwrap_or(name);
    let build = kernels()
        .join("built")
        .join(format!("{source}.sm_61.cubin"));
    let contents = std::fs::read(build).map_err(|e| Diagnostic::new(e.to_string()))?;
    let session = Session::open(name, &contents)?;
    let kernel = session.launched_kernel(None, launch.kernel.as_deref())?;
    let options = TimedOptions {
        caches: Some(StartCaches::Warm),
        ..TimedOptions::new(GpuModel::built_in("jetson-tx2")?)
    };
    let cycles = |session: &Session, launch: &LaunchFile| {
        let kernel = session.launched_kernel(None, Some(&kernel.name))?;
        let prepared = session.prepare(kernel)?;
        let (result, _) = session.simulate_to_end(&prepared, launch, &options, &mut Silent)?;
        Ok::<u64, Diagnostic>(result.cycles.0.0)
    };
    let plain = cycles(&session, &launch)?;
    let mut cells = format!("| {name} | {plain} |");
    for (_, rule, style, counters, each) in KINDS {
        let wanted = vec![ProbeMetric::Activity];
        let plan_options = ProbeOptions {
            each,
            ..ProbeOptions::for_launch(Some(&launch), rule, wanted)
        };
        let instrument = InstrumentOptions {
            style,
            counters,
            launch: Some(Arc::new(launch.clone())),
            ..InstrumentOptions::default()
        };
        let with = session.probe_plan(kernel, &plan_options).and_then(|plan| {
            let made = session.instrument(&contents, kernel, &plan, &instrument)?;
            let probed = Session::open(name, &made.bytes)?;
            cycles(&probed, &made.launch(&launch, None))
        });
        cells += &match with {
            Ok(with) => {
                let percent = 100.0 * (with as f64 - plain as f64) / plain as f64;
                format!(" {percent:+.1} % |")
            }
            Err(_) => " refused |".to_owned(),
        };
    }
    Ok(cells)
}
