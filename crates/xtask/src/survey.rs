//! `cargo xtask survey`: all own kernels, their bounds, times, and the compiler's branch targets.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::bail;
use warpbound_driver::{Flow, Model, Options, Session};
use warpbound_report::bound::Status;
use warpbound_testkit::targets::compare;

use crate::repository::{Repository, files_with_extension};

pub(crate) const HELP: &str = "\
usage: cargo run --release -p warpbound-xtask -- survey [DIRECTORY]

Bounds every kernel of the cubins in a directory (kernels/built) with a bound of 10 for each loop and compares
the targets of SYNC, BRK and BRX with those that the compiler recorded. Prints one line per kernel, the distribution of the times
that the warp-level graph and the whole bound take (median of nine turns each, one core), and what differs.
Fails if a target differs.";

/// Turns of each measurement.
const TURNS: usize = 9;

pub(crate) fn run(repository: &Repository, arguments: &[String]) -> anyhow::Result<()> {
    let directory = match arguments {
        [] => repository.built_kernels(),
        [directory] => PathBuf::from(directory),
        _ => bail!("more than one directory"),
    };
    let options = Options {
        loop_default: Some(10),
        ..Options::default()
    };
    let model = Model {
        may_diverge: true,
        ..Model::default()
    };
    let (mut cfg_times, mut bound_times) = (Vec::new(), Vec::new());
    let (mut equal, mut unreachable, mut differences) = (0, Vec::new(), Vec::new());
    let (mut bounded, mut others) = (0, Vec::new());
    for path in files_with_extension(&directory, "cubin")? {
        let file = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let session = Session::open(&file, &std::fs::read(&path)?)?;
        for kernel in session.kernels(None)? {
            let name = format!("{file} {}", kernel.demangled());
            let prepared = session.prepare(kernel)?;
            let launch = Default::default();
            let flow = || Flow::run(&prepared.code, &launch, &model, &Default::default());
            cfg_times.push(median(|| drop(flow())));
            bound_times.push(median(|| drop(session.bound(kernel, &options))));
            let report = session.bound(kernel, &options)?;
            match (report.status, report.bound) {
                (Status::Bounded, Some(bound)) => {
                    bounded += 1;
                    println!(
                        "{bound:>8}  {name}: {} nodes, {} edges, {} of divergence, gap {:?}",
                        report.nodes,
                        report.edges,
                        report.divergence_edges.len(),
                        report.integrality_gap
                    );
                }
                _ => others.push(format!("{name}: {}", report.reason.unwrap_or_default())),
            }
            if let Ok(flow) = flow() {
                let check = compare(kernel, &prepared.code, &flow.thread);
                equal += check.equal;
                unreachable.extend(check.unreachable.iter().map(|at| format!("{name} {at}")));
                differences.extend(check.differences.iter().map(|d| format!("{name} {d}")));
            }
        }
    }
    println!("\n{bounded} bounded, {} not:", others.len());
    for other in &others {
        println!("  {other}");
    }
    println!(
        "\ntargets of SYNC, BRK, BRX: {equal} as recorded by the compiler, {} differ",
        differences.len()
    );
    for difference in &differences {
        println!("  {difference}");
    }
    println!("recorded but unreachable: {}", unreachable.len());
    for place in &unreachable {
        println!("  {place}");
    }
    print_times(
        "warp-level graph (both graphs, loops, rows)",
        &mut cfg_times,
    );
    print_times("whole bound, from the loaded file", &mut bound_times);
    if !differences.is_empty() {
        bail!("{} targets differ", differences.len());
    }
    Ok(())
}

fn median(mut work: impl FnMut()) -> Duration {
    let mut times: Vec<Duration> = (0..TURNS)
        .map(|_| {
            let start = Instant::now();
            work();
            start.elapsed()
        })
        .collect();
    times.sort_unstable();
    times.get(TURNS / 2).copied().unwrap_or_default()
}

fn print_times(what: &str, times: &mut [Duration]) {
    times.sort_unstable();
    let at = |percent: usize| {
        let index = (times.len() * percent / 100).min(times.len().saturating_sub(1));
        times.get(index).copied().unwrap_or_default()
    };
    println!(
        "\n{what}, {} kernels: 50 % {:?}, 75 % {:?}, 95 % {:?}, most {:?}",
        times.len(),
        at(50),
        at(75),
        at(95),
        at(100)
    );
}
