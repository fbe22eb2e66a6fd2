//! `probe-overhead`: simulated cycles of instrumented kernels.

use anyhow::{Context, bail};
use warpbound_runs::TimedOptions;
use warpbound_testkit::kernels::built::BuiltKernel;
use warpbound_testkit::probe_overheads::{
    OverheadRow, overhead_machine, overhead_percentiles, overhead_rows, overhead_table,
    paper_launches,
};

use crate::repository::Repository;

pub(crate) const HELP: &str = "\
cargo xtask probe-overhead [--launches N] [--all] [SOURCE...]

Simulates kernels on jetson-tx2 with warm caches, without probes and with probes of each kind, and prints the cycles. The
first table has the seven kernels of the paper (efficient-instrumentation-2014, table 1); with --all a second one has all
launches of the repository's kernels, and the median and the 90th percentile of each column.

  --launches N   launches of each kernel of the second table (3)";

pub(crate) fn run(repository: &Repository, arguments: &[String]) -> anyhow::Result<()> {
    let (mut launches, mut all, mut sources) = (3u64, false, Vec::new());
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "--launches" => launches = rest.next().context("--launches without N")?.parse()?,
            "--all" => all = true,
            flag if flag.starts_with('-') => bail!("no option is called {flag:?}"),
            name => sources.push(name),
        }
    }
    let kernels = BuiltKernel::of_build(&repository.built_kernels(), "sm_61", &sources)?;
    let timed = overhead_machine()?;
    print!(
        "{}",
        overhead_table(&measured(&paper_launches(&kernels), &timed))
    );
    if all {
        let every = kernels
            .iter()
            .flat_map(|own| (0..launches).map(move |number| (own, number)));
        let rows = measured(&every.collect::<Vec<_>>(), &timed);
        print!("\n{}{}", overhead_table(&rows), overhead_percentiles(&rows));
    }
    Ok(())
}

/// Simulates launches. Launches that fail are left out with a message.
fn measured(launches: &[(&BuiltKernel, u64)], timed: &TimedOptions) -> Vec<OverheadRow> {
    let mut rows = Vec::new();
    for row in overhead_rows(launches, timed) {
        match row {
            Ok(row) => rows.push(row),
            Err(why) => println!("{}", why.message),
        }
    }
    rows
}
