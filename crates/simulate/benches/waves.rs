//! Wave instructions per second of kernels for GCN3 without and with time, on one core; the results are checked:
//! `cargo bench -p warpbound-simulate --bench waves`.
#![allow(clippy::expect_used, reason = "benchmarks")]

use divan::Bencher;
use divan::counter::ItemsCount;
use warpbound_base::Diagnostic;
use warpbound_ir::Code;
use warpbound_isa::{Program, amd};
use warpbound_launch::{GlobalMemory, Launch, LaunchFile, PathOrder, StartCaches, bind};
use warpbound_load::Image;
use warpbound_machine::{GpuModel, SchedulerPolicy, Selection};
use warpbound_simulate::functional::launch;
use warpbound_simulate::timed::{Silent, SplitSetup, WaveSetup, run_waves};

fn main() {
    divan::main();
}

/// Number of a buffer, and its words.
type BufferContents = (usize, Vec<u32>);

/// A kernel of the repository, a launch of it, and contents of its buffers, by the number of the buffer.
struct Case {
    name: &'static str,
    file: &'static str,
    launch: &'static str,
    /// Contents at the start.
    fill: fn(&mut [Vec<u32>]),
    /// The number of the buffer with the result, and the result.
    result: fn(&[Vec<u32>]) -> BufferContents,
}

impl std::fmt::Display for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

const WIDTH: usize = 256;

const CASES: [Case; 3] = [
    Case {
        name: "matrix product",
        file: "matmul_tiled",
        launch: "kernel = 'matmul_any_width'\ngrid = [16, 16]\nblock = [16, 16]\n\
            param = [{name = 'a', type = 'f32', shape = [65536]}, {name = 'b', type = 'f32', shape = [65536]},\
            {name = 'c', type = 'f32', shape = [65536]}, {name = 'width', type = 's32', value = 256}]",
        fill: |buffers| {
            // Small integers: products and sums are exact.
            for (at, word) in buffers[0].iter_mut().enumerate() {
                *word = ((at * 7 % 13) as f32).to_bits();
            }
            for (at, word) in buffers[1].iter_mut().enumerate() {
                *word = ((at * 5 % 11) as f32).to_bits();
            }
        },
        result: |buffers| {
            let value = |buffer: usize, at: usize| f32::from_bits(buffers[buffer][at]);
            let product = |row: usize, column: usize| {
                (0..WIDTH).fold(0.0, |sum: f32, k| {
                    sum + value(0, row * WIDTH + k) * value(1, k * WIDTH + column)
                })
            };
            let all = (0..WIDTH * WIDTH).map(|at| product(at / WIDTH, at % WIDTH).to_bits());
            (2, all.collect())
        },
    },
    Case {
        name: "reduction",
        file: "reduction",
        launch: "kernel = 'reduction_tree'\ngrid = [2048]\nblock = [256]\n\
            param = [{name = 'in', type = 'f32', shape = [524288]}, {name = 'out', type = 'f32', shape = [2048]}]",
        fill: |buffers| {
            for (at, word) in buffers[0].iter_mut().enumerate() {
                *word = ((at % 1000) as f32 * 0.37).to_bits();
            }
        },
        result: |buffers| {
            let sum = |group: &[u32]| {
                let mut cells: Vec<f32> = group.iter().map(|word| f32::from_bits(*word)).collect();
                let mut stride = cells.len() / 2;
                while stride > 0 {
                    for at in 0..stride {
                        cells[at] += cells[at + stride];
                    }
                    stride /= 2;
                }
                cells[0].to_bits()
            };
            (1, buffers[0].chunks(256).map(sum).collect())
        },
    },
    Case {
        name: "bfs",
        file: "bfs",
        launch: "kernel = 'bfs_expand'\ngrid = [256]\nblock = [256]\n\
            param = [{name = 'nodes', type = 's32', shape = [131072]}, {name = 'edges', type = 's32', shape = [1048576]},\
            {name = 'frontier', type = 'u8', shape = [65536]}, {name = 'next', type = 'u8', shape = [65536]},\
            {name = 'visited', type = 'u8', shape = [65536]}, {name = 'cost', type = 's32', shape = [65536]},\
            {name = 'count', type = 's32', value = 65536}]",
        fill: |buffers| {
            // Node n has n % 16 edges. Even nodes are the frontier, and have been visited.
            for (at, pair) in buffers[0].chunks_mut(2).enumerate() {
                pair.copy_from_slice(&[16 * at as u32, at as u32 % 16]);
            }
            for (at, target) in buffers[1].iter_mut().enumerate() {
                *target = (at as u32).wrapping_mul(2_654_435_761) >> 16;
            }
            for buffer in [2, 4] {
                buffers[buffer].fill(0x0001_0001);
            }
        },
        result: |buffers| {
            let mut cost = vec![0; 65536];
            for node in (0..65536).step_by(2) {
                let [first, count] = [0, 1].map(|word| buffers[0][2 * node + word] as usize);
                for &target in &buffers[1][first..first + count] {
                    cost[target as usize] = target % 2;
                }
            }
            (5, cost)
        },
    },
];

fn words(bytes: &[u8]) -> Vec<u32> {
    let words = bytes.as_chunks::<4>().0.iter();
    words.map(|word| u32::from_le_bytes(*word)).collect()
}

/// Loaded case: instructions, code, launch, memory at the start.
fn open(case: &Case) -> (amd::GcnProgram, Code, Launch, GlobalMemory) {
    let folder = env!("CARGO_MANIFEST_DIR");
    let path = format!("{folder}/../../kernels/built/{}.gfx803.co", case.file);
    let image = Image::parse(&std::fs::read(path).expect("a file")).expect("it loads");
    let grid = LaunchFile::parse("launch", case.launch, &|name| {
        Err(Diagnostic::new("no launch here names files").in_file(name))
    });
    let grid = grid.expect("a launch");
    let kernel = image.kernel(grid.kernel.as_deref().expect("a name"));
    let kernel = kernel.expect("it has the kernel");
    let program = amd::GcnProgram::decode(kernel.code()).expect("instructions");
    let code = warpbound_ir::lift(kernel, &Program::Amd(program.clone())).expect("it lifts");
    let most = 1_000_000_000;
    let bound = bind(&grid, &image, kernel, &code, PathOrder::TakenFirst, most);
    let (launch, mut memory) = bound.expect("it suits the kernel");
    let mut buffers: Vec<Vec<u32>> = memory.buffers().iter().map(|b| words(&b.bytes)).collect();
    (case.fill)(&mut buffers);
    let addresses: Vec<u64> = memory.buffers().iter().map(|b| b.address).collect();
    // The buffers of the parameters are the first.
    let params = grid.params.len() - usize::from(case.name != "reduction");
    for (address, buffer) in addresses.into_iter().zip(buffers).take(params) {
        let bytes: Vec<u8> = buffer.iter().flat_map(|word| word.to_le_bytes()).collect();
        assert!(memory.write(address, &bytes));
    }
    (program, code, launch, memory)
}

#[divan::bench(args = &CASES)]
fn functional(bencher: Bencher, case: &Case) {
    let (_, code, state, memory) = open(case);
    let mut after = memory.clone();
    let count = launch(&code, &state, &mut after).expect("it runs").issued();
    let buffers = |memory: &GlobalMemory| -> Vec<Vec<u32>> {
        memory.buffers().iter().map(|b| words(&b.bytes)).collect()
    };
    let (number, expected) = (case.result)(&buffers(&memory));
    assert!(buffers(&after)[number] == expected, "{case}");
    bencher
        .counter(ItemsCount::new(count))
        .with_inputs(|| memory.clone())
        .bench_local_refs(|memory| launch(&code, &state, memory).expect("it runs").issued());
}

#[divan::bench(args = &CASES)]
fn timed(bencher: Bencher, case: &Case) {
    let (program, code, state, memory) = open(case);
    let entry = state.wave_entry.as_ref().expect("waves");
    let machine = GpuModel::built_in("r9-nano").expect("a machine");
    let setup = WaveSetup {
        machine: machine.select(Selection::Typical),
        policy: SchedulerPolicy::Oldest,
        caches: StartCaches::Cold,
        vgprs: entry.vector_count().into(),
        sgprs: entry.scalar_count().into(),
        only: None,
        splitting: SplitSetup::default(),
    };
    let run = |memory: &mut GlobalMemory| {
        let result = run_waves(&code, &program, &state, &setup, memory, &mut Silent);
        result.expect("it runs").counts.issued()
    };
    let mut after = memory.clone();
    let count = run(&mut after);
    let buffers = |memory: &GlobalMemory| -> Vec<Vec<u32>> {
        memory.buffers().iter().map(|b| words(&b.bytes)).collect()
    };
    let (number, expected) = (case.result)(&buffers(&memory));
    assert!(buffers(&after)[number] == expected, "{case}");
    bencher
        .counter(ItemsCount::new(count))
        .with_inputs(|| memory.clone())
        .bench_local_refs(run);
}
