//! Time of each stage on real kernels: `cargo bench -p warpbound-bounds --bench kernels`.
#![allow(clippy::expect_used, reason = "benchmarks")]

use divan::Bencher;
use divan::counter::ItemsCount;
use warpbound_isa::amd::GcnProgram;
use warpbound_isa::{Arch, TargetStyle, nvidia::SassProgram};
use warpbound_query::{BoundOptions, KernelFlow, Session};
use warpbound_simt::warp::WarpModel;

fn main() {
    divan::main();
}

/// A short kernel, one with a jump table, one with many calls, and the largest graph of ours.
const KERNELS: [(&str, &str); 4] = [
    ("if_else", "if_else"),
    ("switch_table", "switch_table"),
    ("lud_diagonal", "lud_diagonal"),
    ("srad", "srad_coefficient"),
];

fn contents(file: &str) -> Vec<u8> {
    let path = format!(
        "{}/../../kernels/built/{file}.sm_61.cubin",
        env!("CARGO_MANIFEST_DIR")
    );
    std::fs::read(path).expect("the cubin is in the repository")
}

#[divan::bench(args = KERNELS.map(|(file, _)| file))]
fn load(bencher: Bencher<'_, '_>, file: &str) {
    let contents = contents(file);
    bencher.bench(|| Session::open(file, &contents).map(drop));
}

#[divan::bench(args = KERNELS.map(|(file, _)| file))]
fn list(bencher: Bencher<'_, '_>, file: &str) {
    let session = Session::open(file, &contents(file)).expect("it loads");
    bencher.bench_local(|| session.list());
}

fn with_kernel<'a>(name: &str, work: impl FnOnce(&Session, &warpbound_load::Kernel) + 'a) {
    let file = KERNELS
        .iter()
        .find(|(_, k)| *k == name)
        .map_or("", |(f, _)| f);
    let session = Session::open(file, &contents(file)).expect("it loads");
    let kernels = session.kernels(Some(name)).expect("it has the kernel");
    work(&session, kernels[0]);
}

/// Instructions per second of decoding alone.
#[divan::bench(args = KERNELS.map(|(_, kernel)| kernel))]
fn decode(bencher: Bencher<'_, '_>, kernel: &str) {
    with_kernel(kernel, |_, kernel| {
        bencher
            .counter(ItemsCount::new(kernel.code().len() / 32 * 3))
            .bench_local(|| SassProgram::decode(Arch::Sm61, kernel.code()).map(drop));
    });
}

/// Instructions per second of decoding and printing.
#[divan::bench(args = KERNELS.map(|(_, kernel)| kernel))]
fn listing(bencher: Bencher<'_, '_>, kernel: &str) {
    with_kernel(kernel, |session, kernel| {
        let mut text = String::new();
        bencher
            .counter(ItemsCount::new(kernel.code().len() / 32 * 3))
            .bench_local(|| {
                text.clear();
                session.disassemble_plain(kernel, &mut text)
            });
    });
}

/// Instructions of GCN3 per second of decoding and printing.
#[divan::bench(args = ["bfs", "matmul_tiled"])]
fn gcn3_listing(bencher: Bencher<'_, '_>, name: &str) {
    let built = concat!(env!("CARGO_MANIFEST_DIR"), "/../../kernels/built");
    let file = std::fs::read(format!("{built}/{name}.gfx803.co")).expect("it is there");
    let session = Session::open(name, &file).expect("it loads");
    let kernels = session.kernels(None).expect("it has kernels");
    let code = kernels[0].code();
    let program = GcnProgram::decode(code).expect("whole dwords");
    let mut text = String::new();
    bencher
        .counter(ItemsCount::new(program.instrs.len()))
        .bench_local(|| {
            text.clear();
            for instr in GcnProgram::decode(code).iter().flat_map(|p| &p.instrs) {
                instr.write_text(TargetStyle::Hex, &mut text);
                text.push('\n');
            }
        });
}

#[divan::bench(args = KERNELS.map(|(_, kernel)| kernel))]
fn decode_and_lift(bencher: Bencher<'_, '_>, kernel: &str) {
    with_kernel(kernel, |session, kernel| {
        bencher.bench_local(|| session.prepare(kernel).map(drop));
    });
}

#[divan::bench(args = KERNELS.map(|(_, kernel)| kernel))]
fn graphs_loops_rows(bencher: Bencher<'_, '_>, kernel: &str) {
    with_kernel(kernel, |session, kernel| {
        let prepared = session.prepare(kernel).expect("it decodes");
        let model = WarpModel {
            may_diverge: true,
            ..WarpModel::default()
        };
        bencher.bench_local(|| {
            KernelFlow::analyse(
                &prepared.code,
                &Default::default(),
                &model,
                &Default::default(),
            )
            .map(drop)
        });
    });
}

#[divan::bench(args = KERNELS.map(|(_, kernel)| kernel))]
fn whole_bound(bencher: Bencher<'_, '_>, kernel: &str) {
    with_kernel(kernel, |session, kernel| {
        let options = BoundOptions {
            loop_default: Some(10),
            ..BoundOptions::default()
        };
        bencher.bench_local(|| warpbound_bounds::bound(session, kernel, &options).map(drop));
    });
}
