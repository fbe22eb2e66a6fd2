//! Perturbation by time stamps in the code: instructions that read the clock at each entry of a block, in rewritten
//! cubins, and the cycles that they add to a warp that runs alone.

use warpbound_analyse::ThreadCfg;
use warpbound_analyse::thread_cfg::Limits;
use warpbound_base::CodeAddr;
use warpbound_driver::{RunHooks, Session, SingleWarp, StartCaches, TimedOptions};
use warpbound_isa::ControlWord;
use warpbound_launch::LaunchFile;
use warpbound_rewrite::{CubinRewriter, Entry, NewInstr};
use warpbound_testkit::kernels;

/// Distance to the next issue after a stamp, which is the latency of the instruction.
const STALL: u8 = 6;

/// A read of the low word of the clock into a register, without a guard.
const READ_CLOCK: u64 = 0x50c8_0000_0507_0000;

/// Registers of a thread that an instruction can name.
const MOST_REGISTERS: u8 = 254;

fn stamp(register: u8) -> NewInstr {
    let control = ControlWord {
        usched: STALL,
        write_sb: None,
        read_sb: None,
        wait_mask: 0,
        reuse: 0,
        coupled: false,
    };
    NewInstr::new(READ_CLOCK | u64::from(register), control)
}

/// Returns the cubin with a stamp at the entry of each block of a kernel; `None` if it has no free register, or cannot be
/// rewritten.
fn stamped(file: &str, contents: &[u8], kernel: &str) -> Option<Vec<u8>> {
    let session = Session::open(file, contents).expect("it loads");
    let kernel = session
        .launched_kernel(Some(kernel), None)
        .expect("the kernel is there");
    let prepared = session.prepare(kernel).expect("it lifts");
    let thread = ThreadCfg::build(&prepared.code, &Limits::default()).expect("a graph");
    let mut firsts: Vec<CodeAddr> = Vec::new();
    for id in thread.space.ids().filter(|&id| thread.is_reached(id)) {
        firsts.extend(
            prepared
                .code
                .get(thread.space.block(id).first)
                .map(|op| op.addr),
        );
    }
    firsts.sort_unstable();
    firsts.dedup();
    let mut rewriter = CubinRewriter::open(contents).ok()?;
    let free = rewriter.registers(&kernel.name).ok()?;
    if free >= MOST_REGISTERS {
        return None;
    }
    rewriter.set_registers(&kernel.name, free + 1).ok()?;
    let code = rewriter.code(&kernel.name).ok()?;
    for first in firsts {
        code.insert_before(first, Entry::All, vec![stamp(free)])
            .ok()?;
    }
    rewriter.finish().ok()
}

/// Cycles and warp instructions of the first warp of a launch, alone.
fn alone(file: &str, contents: &[u8], kernel: &str, launch: &LaunchFile) -> Option<(u64, u64)> {
    let session = Session::open(file, contents).expect("it loads");
    let kernel = session.launched_kernel(Some(kernel), None).ok()?;
    let options = TimedOptions {
        only: Some(SingleWarp { block: 0, warp: 0 }),
        caches: Some(StartCaches::Warm),
        max_instructions: Some(300_000),
        ..TimedOptions::new(session.own_gpu_model().expect("a machine"))
    };
    let hooks = RunHooks {
        events: None,
        timeline: None,
        progress: &mut |_| (),
    };
    let run = session.simulate(kernel, launch, &options, hooks).ok()?;
    Some((run.report.cycles, run.report.issued.warp_instructions))
}

/// The time of a warp with stamps is nearly its time without them and their issue distances. What a kernel gains or loses
/// otherwise (fetches of the longer code, stamps in shadows of latencies) is small in its time, not in the difference.
#[test]
fn cycles_of_stamps_are_those_that_are_predicted() {
    let (mut all, mut near, mut ratios) = (0, 0, Vec::new());
    for reference in kernels::all() {
        let file = format!("{}.sm_61.cubin", reference.source);
        let path = format!("{}/../../kernels/built/{file}", env!("CARGO_MANIFEST_DIR"));
        let contents = std::fs::read(path).expect("the cubin is in the repository");
        let launch = (reference.launch)(0);
        let Some(changed) = stamped(&file, &contents, reference.kernel) else {
            continue;
        };
        let before = alone(&file, &contents, reference.kernel, &launch);
        let after = alone(&file, &changed, reference.kernel, &launch);
        let Some(((cycles, issued), (stamped_cycles, stamped_issued))) = before.zip(after) else {
            continue;
        };
        let stamps = stamped_issued - issued.min(stamped_issued);
        let predicted = cycles + u64::from(STALL) * stamps;
        let ratio = predicted as f64 / stamped_cycles as f64;
        all += 1;
        near += usize::from((0.9..=1.1).contains(&ratio));
        let added = stamped_cycles as i64 - cycles as i64;
        ratios.push((ratio, reference.kernel, cycles, stamps, added));
    }
    ratios.sort_by(|a, b| a.0.total_cmp(&b.0));
    println!("{near} of {all} within 10 %");
    for ratio in &ratios {
        println!("{ratio:?}");
    }
    assert!(all > 100, "only {all} kernels");
    assert!(near * 10 > all * 9, "{near} of {all} within 10 %");
}
