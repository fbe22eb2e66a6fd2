//! Table of the simulated cycles that probes of each kind add: of the seven kernels of `efficient-instrumentation-2014`,
//! beside its statements, and with `more` of the first launch of forty other kernels:
//! `cargo bench -p warpbound-testkit --bench overheads [-- more]`.
#![allow(clippy::expect_used, reason = "benchmarks")]

use std::path::Path;

use warpbound_testkit::kernels::built::BuiltKernel;
use warpbound_testkit::probe_overheads::{
    OverheadRow, STATEMENTS, overhead_machine, overhead_percentiles, overhead_rows, overhead_table,
    paper_launches,
};

/// Other kernels whose first launch is measured.
const MORE: usize = 40;

fn main() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels/built");
    let kernels = BuiltKernel::of_build(&folder, "sm_61", &[]).expect("kernels are built");
    let paper = paper_launches(&kernels);
    println!("efficient-instrumentation-2014 says, of the run time on its GPU:");
    for statement in STATEMENTS {
        println!("* {statement}");
    }
    println!("\nadded cycles on jetson-tx2, simulated, caches warm:\n");
    print(&paper);
    if std::env::args().any(|argument| argument == "more") {
        // Spread over all sources.
        let others: Vec<&BuiltKernel> = (kernels.iter())
            .filter(|own| paper.iter().all(|(known, _)| !std::ptr::eq(*known, *own)))
            .collect();
        let step = others.len().div_ceil(MORE).max(1);
        let some: Vec<(&BuiltKernel, u64)> = (others.into_iter().step_by(step))
            .map(|own| (own, 0))
            .collect();
        println!();
        print(&some);
    }
}

/// Measures launches and prints their table, and the percentiles of many.
fn print(launches: &[(&BuiltKernel, u64)]) {
    let timed = overhead_machine().expect("the machine is built in");
    let mut rows: Vec<OverheadRow> = Vec::new();
    for row in overhead_rows(launches, &timed) {
        match row {
            Ok(row) => rows.push(row),
            Err(why) => println!("{}", why.message),
        }
    }
    print!("{}", overhead_table(&rows));
    if launches.len() > MORE / 2 {
        print!("\n{}", overhead_percentiles(&rows));
    }
}
