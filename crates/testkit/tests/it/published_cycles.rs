//! Timing model compared with published measurements of boards.

use std::collections::BTreeMap;

use warpbound_runs::{RunHooks, TimedOptions, TimedRun, simulate, simulate_with};

use warpbound_isa::{Program, nvidia};
use warpbound_launch::{LaunchFile, StartCaches};
use warpbound_machine::{GpuModel, Provenance};
use warpbound_query::Session;
use warpbound_simulate::timed::{AccessKind, Event, EventListener};
use warpbound_testkit::kernels;

/// Measurements of `pastis-2022` (V, Figures 10 to 12) on a Jetson TX2 for the integer matrix product: side, cycles,
/// read and write transactions of shared memory.
const BOARD: [(u32, u64, u64, u64); 3] = [(4, 1131, 8, 2), (8, 1381, 32, 4), (11, 1580, 88, 8)];

const KERNELS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../kernels");

fn open(cubin: &str) -> Session {
    let contents = std::fs::read(format!("{KERNELS}/built/{cubin}"));
    Session::open(cubin, &contents.expect("the cubin is in the repository")).expect("it loads")
}

fn matrix_product(side: u32) -> TimedRun {
    let session = open("matmul_int.sm_62.cubin");
    let name = format!("{KERNELS}/cuda/matmul_int.{side}x{side}.toml");
    let text = std::fs::read_to_string(&name).expect("the launch is in the repository");
    let grid = LaunchFile::parse(&name, &text, &|_| unreachable!("it names no files"));
    let grid = grid.expect("a launch");
    let kernel = session
        .launched_kernel(None, grid.kernel.as_deref())
        .expect("its kernel");
    let machine = GpuModel::built_in("jetson-tx2").expect("it comes with the tool");
    // The host has just copied the matrices through L2 (V).
    assert_eq!(grid.caches, StartCaches::Warm);
    let options = TimedOptions::new(machine);
    let hooks = RunHooks {
        events: None,
        timeline: None,
        progress: &mut |_| (),
    };
    let run = simulate(&session, kernel, &grid, &options, hooks);
    let run = run.expect("it runs");
    assert!(run.unexpected.is_none(), "{:?}", run.unexpected);
    run
}

/// Whether a value is within `percent` of the published one.
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

/// Shortest loads from shared memory, by bytes of a lane: cycles without the 2 for each conflict.
struct Shortest<'a> {
    program: &'a nvidia::SassProgram,
    cycles: BTreeMap<u32, u64>,
}

impl EventListener for Shortest<'_> {
    fn event(&mut self, cycle: u64, event: &Event) {
        let Event::Shared {
            at,
            access: AccessKind::Load,
            conflicts,
            done,
            ..
        } = *event
        else {
            return;
        };
        let instr = &self.program.instrs[at.index()];
        let bytes = self.program.access_bytes(instr).expect("it loads");
        let took = done - cycle - 2 * u64::from(conflicts);
        let shortest = self.cycles.entry(bytes).or_insert(took);
        *shortest = took.min(*shortest);
    }
}

/// Checks `pastis-2022`, III.B: 22 + base + 2 for each conflict, base 1, 8 and 16 for 32, 64 and 128 bits. Loads that
/// wait for the memory take longer, none is shorter, and some of each width do not wait.
#[test]
fn durations_of_shared_memory() {
    let mut shortest = BTreeMap::new();
    for reference in kernels::all() {
        if !["matmul_int", "matmul_tiled", "bitonic_sort"].contains(&reference.source) {
            continue;
        }
        let session = open(&format!("{}.sm_62.cubin", reference.source));
        let launch = (reference.launch)(0);
        let kernel = session.launched_kernel(Some(reference.kernel), launch.kernel.as_deref());
        let prepared = session
            .prepare(kernel.expect("its kernel"))
            .expect("it is decoded");
        let Program::Nvidia(program) = &prepared.program else {
            panic!("it is for a GPU");
        };
        let machine = GpuModel::built_in("jetson-tx2").expect("it comes with the tool");
        let mut listener = Shortest {
            program,
            cycles: shortest,
        };
        simulate_with(
            &session,
            &prepared,
            &launch,
            &TimedOptions::new(machine),
            &mut listener,
        )
        .expect("it runs");
        shortest = listener.cycles;
    }
    let published = BTreeMap::from([(4, 22 + 1), (8, 22 + 8), (16, 22 + 16)]);
    assert_eq!(shortest, published);
}

/// One parameter is fitted to the smallest of these three products; the other two are predictions. Two are fitted to
/// sustained rates (`bandwidth.rs`) for each kind of memory, and the latency of the P100's memory.
#[test]
fn few_parameters_are_fitted() {
    for name in GpuModel::names() {
        let device = GpuModel::built_in(name).expect("it comes with the tool");
        let fitted = device
            .parameters()
            .filter(|&parameter| device.range(parameter).provenance == Provenance::Fitted);
        let fitted: Vec<&str> = fitted.map(|parameter| parameter.name()).collect();
        let expected: &[&str] = match name {
            "jetson-tx2" => &["launch.kernel"],
            "p100" => &["dram.beyond_l2", "dram.read_efficiency", "dram.turnaround"],
            "gtx1080" | "titan-x-maxwell" => &["dram.read_efficiency", "dram.turnaround"],
            // To microbenchmarks as a whole.
            "h200" => &["launch.kernel", "constant.preloaded"],
            "h100" => &["constant.preloaded"],
            _ => &[],
        };
        assert_eq!(fitted, expected, "{name}");
    }
}
