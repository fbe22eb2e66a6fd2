//! Benchmarks of the mini-SIMT machine: `cargo bench -p warpbound-simulate`.
#![allow(clippy::expect_used, reason = "benchmarks")]

use divan::Bencher;
use divan::counter::ItemsCount;
use warpbound_ir::{Cell, Code, lift};
use warpbound_isa::{Program, mini};
use warpbound_launch::mini::LaunchFile;
use warpbound_load::Image;
use warpbound_machine::mini::{Latency, Machine};
use warpbound_simulate::mini::{Simulation, Start};

fn main() {
    divan::main();
}

/// Code and launch of an example, and the cells of its launch constants.
fn example(text: &str, launch: &str) -> (Code, LaunchFile, Vec<(Cell, u32)>) {
    let image = Image::parse(text.as_bytes()).expect("an example");
    let kernel = &image.kernels().expect("supported")[0];
    let program = mini::Program::decode(kernel.code(), kernel.first_line).expect("an example");
    let launch = LaunchFile::parse("launch", launch).expect("an example");
    let params = program.variables.iter().take(program.params);
    let cells = (0u8..)
        .zip(params)
        .map(|(n, name)| (Cell::gpr(n), launch.constants[name]));
    let cells = cells.collect();
    let code = lift(kernel, &Program::Mini(program)).expect("an example");
    (code, launch, cells)
}

fn run(bencher: Bencher, text: &str, launch: &str, width: u32) {
    let (code, launch, cells) = example(text, launch);
    let machine = Machine {
        warp_width: width,
        memory: Latency::exactly(10),
        ..Machine::built_in(Machine::DEFAULT).expect("built in")
    };
    let simulation = Simulation::new(&code, &machine).expect("runnable");
    let start = Start {
        threads: launch.threads,
        cells,
        memory: launch.words(),
    };
    let once = simulation.run(&start, u64::MAX, |_| ()).expect("runs");
    bencher
        .counter(ItemsCount::new(once.issued))
        .bench_local(|| simulation.run(divan::black_box(&start), u64::MAX, |_| ()));
}

/// Sixteen threads; includes the setup of a run.
#[divan::bench(args = [4, 16])]
fn triangle_sum(bencher: Bencher, width: u32) {
    run(
        bencher,
        include_str!("../../../kernels/msimt/triangle_sum.msimt"),
        include_str!("../../../kernels/msimt/triangle_sum.16x4.toml"),
        width,
    );
}

const LONG: &str = "
.kernel Long
.param rounds
        const i = 0
next:   binop p = i < rounds
        bz    p, done
        binop a = Tid * i
        binop b = a + i
        binop a = a & b
        binop c = a < b
        bz    c, other
        binop s = s + a
other:  sync
        binop t = i % 8
        bnz   t, skip
        load  x = i
        binop s = s + x
skip:   sync
        binop i = i + 1
        jump  next
done:   sync
        store Tid = s
";

/// A long loop with divergence and reads, 64 threads.
#[divan::bench(args = [1, 4, 8, 32, 64])]
fn long_loop(bencher: Bencher, width: u32) {
    let launch = "threads = 64\nmemory = 4096\n[constants]\nrounds = 2000\n";
    run(bencher, LONG, launch, width);
}
