//! Time to bound whole launches in cycles, from the launch file to the sum:
//! `cargo bench -p warpbound-bounds --bench launch_bounds`. It does not grow with the number of blocks.
#![allow(clippy::expect_used, reason = "benchmarks")]

use std::sync::Arc;

use divan::Bencher;
use warpbound_base::Diagnostic;
use warpbound_launch::LaunchFile;
use warpbound_machine::GpuModel;
use warpbound_query::{BoundOptions, CycleQuery, Session, StatedLaunches, TimeScope};

fn main() {
    divan::main();
}

/// Matrix product of tiles of 16 x 16, with a barrier for each two tiles.
const PRODUCT: (&str, &str) = (
    "matmul_tiled",
    "kernel = 'void product::tiled<float, 16, true>(float const*, float const*, float*, int)'\nblock = [16, 16]\n\
     param = [{name = 'a', type = 'f32', shape = [256, 256]}, {name = 'b', type = 'f32', shape = [256, 256]},\
     {name = 'c', type = 'f32', shape = [256, 256]}, {name = 'tiles', type = 's32', value = 16}]\n",
);

/// Dependent loads from shared memory.
const CHASE: (&str, &str) = (
    "microbenchmarks",
    "kernel = 'chase_shared'\nblock = [128]\n\
     param = [{name = 'cycles', type = 'u32', shape = [32]}, {name = 'values', type = 'u32', shape = [1088]}]\n",
);

#[divan::bench(args = [1, 100_000, 1_000_000_000])]
fn product(bencher: Bencher, blocks: u32) {
    bench(bencher, PRODUCT, blocks);
}

#[divan::bench(args = [1, 100_000, 1_000_000_000])]
fn chase(bencher: Bencher, blocks: u32) {
    bench(bencher, CHASE, blocks);
}

fn bench(bencher: Bencher, (source, text): (&str, &str), blocks: u32) {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../kernels/built");
    let contents = std::fs::read(format!("{root}/{source}.sm_61.cubin")).expect("it is there");
    let session = Session::open(source, &contents).expect("it loads");
    let text = format!("grid = [{blocks}]\n{text}");
    let machine = GpuModel::built_in("gtx1080").expect("it comes with the tool");
    bencher.bench_local(|| {
        let no_files = |name: &str| Err(Diagnostic::new("no files").in_file(name));
        let launch = LaunchFile::parse("launch", &text, &no_files).expect("a launch");
        let kernel = session.launched_kernel(None, launch.kernel.as_deref());
        let options = BoundOptions {
            launches: StatedLaunches {
                file: Some(Arc::new(launch)),
                ..StatedLaunches::default()
            },
            cycles: Some(CycleQuery {
                machine: Some(machine.clone()),
                scope: Some(TimeScope::Grid),
                ..CycleQuery::default()
            }),
            ..BoundOptions::default()
        };
        let bound = warpbound_bounds::bound(&session, kernel.expect("its kernel"), &options);
        let bound = bound.expect("it is bounded").cycles;
        bound.and_then(|cycles| cycles.bound).expect("a bound")
    });
}
