//! Cycles that were measured on boards and published.

use warpbound_driver::{Hooks, Session, TimedOptions, TimedRun};
use warpbound_load::{GridFile, StartCaches};
use warpbound_machine::{Device, Parameter, Standing};

/// What `pastis-2022` (V, Figures 10 to 12) measured on a Jetson TX2 for the integer matrix product: side, cycles, read and
/// write transactions of shared memory.
const BOARD: [(u32, u64, u64, u64); 3] = [(4, 1131, 8, 2), (8, 1381, 32, 4), (11, 1580, 88, 8)];

fn matrix_product(side: u32) -> TimedRun {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../kernels");
    let file = format!("{root}/built/matmul_int.sm_62.cubin");
    let contents = std::fs::read(&file).expect("the cubin is in the repository");
    let session = Session::open("matmul_int.sm_62.cubin", &contents).expect("it loads");
    let name = format!("{root}/cuda/matmul_int.{side}x{side}.toml");
    let text = std::fs::read_to_string(&name).expect("the launch is in the repository");
    let grid = GridFile::parse(&name, &text, &|_| unreachable!("it names no files"));
    let grid = grid.expect("a launch");
    let kernel = session.launched_grid(None, &grid).expect("its kernel");
    let machine = Device::built_in("jetson-tx2").expect("it comes with the tool");
    // The host has just copied the matrices through the second-level cache (V).
    assert_eq!(grid.caches, StartCaches::Warm);
    let options = TimedOptions::new(machine);
    let hooks = Hooks {
        events: None,
        timeline: None,
        progress: &mut |_| (),
    };
    let run = session.run_timed(kernel, &grid, &options, hooks);
    let run = run.expect("it runs");
    assert!(run.unexpected.is_none(), "{:?}", run.unexpected);
    run
}

/// `part` percent of `whole`.
fn within(found: u64, published: u64, percent: u64) -> bool {
    found.abs_diff(published) * 100 <= published * percent
}

#[test]
fn integer_matrix_products_of_the_paper() {
    let mut cycles = Vec::new();
    for (side, published, reads, writes) in BOARD {
        let report = matrix_product(side).report;
        println!(
            "{side} x {side}: {} cycles, {published} on the board",
            report.cycles
        );
        let transactions = (
            report.shared_read_transactions,
            report.shared_write_transactions,
        );
        assert_eq!(transactions, (reads, writes), "{side} x {side}");
        assert!(
            within(report.cycles, published, 5),
            "{side} x {side}: {} cycles, {published} on the board",
            report.cycles
        );
        cycles.push(report.cycles);
    }
    for (pair, published) in cycles.windows(2).zip([250, 199]) {
        let difference = pair[1] - pair[0];
        assert!(
            within(difference, published, 10),
            "{difference} more cycles, {published} on the board"
        );
    }
}

/// One number is fitted, on the smallest of the three; the others are predictions.
#[test]
fn one_number_is_fitted() {
    for name in Device::names() {
        let device = Device::built_in(name).expect("it comes with the tool");
        let fitted = Parameter::ALL
            .iter()
            .filter(|&&parameter| device.figure(parameter).standing == Standing::Fitted);
        let fitted: Vec<&str> = fitted.map(|parameter| parameter.name()).collect();
        let expected: &[&str] = match name {
            "jetson-tx2" => &["launch.kernel"],
            _ => &[],
        };
        assert_eq!(fitted, expected, "{name}");
    }
}
