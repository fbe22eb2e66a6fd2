//! Bounds in cycles of the integer matrix products of `pastis-2022`, beside runs of single warps and the board's cycles.

use std::sync::Arc;

use warpbound_query::{BoundOptions, CacheState, CycleQuery, Session, StatedLaunches};

use warpbound_runs::{RunHooks, TimedOptions, simulate};

use warpbound_machine::Selection;

use warpbound_simulate::timed::SingleWarp;

use warpbound_launch::LaunchFile;
use warpbound_launch::StartCaches;
use warpbound_machine::{GpuModel, Parameter};

/// Side, and cycles of the block on a Jetson TX2 (`pastis-2022`, V, Figure 10).
const BOARD: [(u32, u64); 3] = [(4, 1131), (8, 1381), (11, 1580)];

const KERNELS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../kernels");

/// Random selections of the parameters that are simulated besides the four others.
const SEEDS: u64 = 20;

fn open() -> Session {
    let cubin = "matmul_int.sm_62.cubin";
    let contents = std::fs::read(format!("{KERNELS}/built/{cubin}"));
    Session::open(cubin, &contents.expect("the cubin is in the repository")).expect("it loads")
}

fn launch(side: u32) -> LaunchFile {
    let name = format!("{KERNELS}/cuda/matmul_int.{side}x{side}.toml");
    let text = std::fs::read_to_string(&name).expect("the launch is in the repository");
    let launch = LaunchFile::parse(&name, &text, &|_| unreachable!("it names no files"));
    launch.expect("a launch")
}

/// Bound of one warp of the launch: in all, and the part of it that is launch overhead.
fn bound(session: &Session, launch: &LaunchFile, caches: CacheState) -> (u64, u64) {
    let kernel = session.launched_kernel(None, launch.kernel.as_deref());
    let options = BoundOptions {
        launches: StatedLaunches {
            file: Some(Arc::new(launch.clone())),
            ..StatedLaunches::default()
        },
        cycles: Some(CycleQuery {
            machine: Some(GpuModel::built_in("jetson-tx2").expect("it comes with the tool")),
            caches,
            ..CycleQuery::default()
        }),
        ..BoundOptions::default()
    };
    let report = warpbound_bounds::bound(session, kernel.expect("its kernel"), &options);
    let cycles = report.expect("a report").cycles.expect("it is asked for");
    let overhead = cycles
        .terms
        .iter()
        .find(|term| term.name == "launch overhead");
    let limit = cycles.bound.expect("a bound in cycles");
    (limit, overhead.expect("a term").cycles)
}

/// Most cycles of a run of a single warp of the launch, without launch overhead.
fn worst_run(session: &Session, launch: &LaunchFile, caches: StartCaches) -> u64 {
    let machine = GpuModel::built_in("jetson-tx2").expect("it comes with the tool");
    let kernel = session.launched_kernel(None, launch.kernel.as_deref());
    let kernel = kernel.expect("its kernel");
    let warps = launch.block.iter().product::<u32>().div_ceil(32);
    let mut selections = vec![
        Selection::Slow,
        Selection::Typical,
        Selection::Least,
        Selection::Most,
    ];
    selections.extend((1..=SEEDS).map(Selection::Seed));
    let mut worst = 0;
    for selection in selections {
        let selected = machine.select(selection);
        let overhead = selected[Parameter::LaunchKernel] + selected[Parameter::LaunchEnd];
        for warp in 0..warps {
            let options = TimedOptions {
                selection,
                caches: Some(caches),
                only: Some(SingleWarp { block: 0, warp }),
                ..TimedOptions::new(machine.clone())
            };
            let hooks = RunHooks {
                events: None,
                timeline: None,
                progress: &mut |_| (),
            };
            let run = simulate(session, kernel, launch, &options, hooks).expect("it runs");
            worst = worst.max(run.report.cycles - overhead);
        }
    }
    worst
}

/// The board's cycles are those of a block of 1, 2 and 4 warps, bounds and runs those of one warp that runs alone. The
/// model's launch overhead is fitted on 4 x 4: a bound for the board has that, and not the greatest one of its range.
#[test]
fn integer_matrix_products_of_the_paper_are_bounded() {
    let session = open();
    let machine = GpuModel::built_in("jetson-tx2").expect("it comes with the tool");
    let typical = |parameter| machine.range(parameter).typical;
    let fitted = typical(Parameter::LaunchKernel) + typical(Parameter::LaunchEnd);
    println!(
        "without launch overhead, but for the last column, which has the fitted one ({fitted}):"
    );
    println!(
        "side  caches  warps  bound of a warp  worst run of a warp  ratio  block on the board  ratio"
    );
    for (side, published) in BOARD {
        let launch = launch(side);
        let warps = (side * side).div_ceil(32);
        for (start, caches) in [
            (StartCaches::Warm, CacheState::Warm),
            (StartCaches::Cold, CacheState::Cold),
        ] {
            let (limit, overhead) = bound(&session, &launch, caches);
            let net = limit - overhead;
            let worst = worst_run(&session, &launch, start);
            let name = match caches {
                CacheState::Warm => "warm",
                _ => "cold",
            };
            let ratio = net as f64 / worst as f64;
            let of_board = (net + fitted) as f64 / published as f64;
            println!(
                "{side:>4}  {name:>6}  {warps:>5}  {net:>15}  {worst:>19}  {ratio:>5.2}  {published:>18}  {of_board:>5.2}"
            );
            assert!(
                worst <= net,
                "{side} x {side}, {name}: {worst} cycles, bound {net}"
            );
            // The board had just copied the matrices (V). Its block of 4 x 4 is one warp.
            assert!(
                net + fitted >= published,
                "{side} x {side}, {name}: bound {net} + {fitted}, {published} on the board"
            );
        }
    }
}
