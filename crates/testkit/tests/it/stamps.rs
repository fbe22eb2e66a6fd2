//! Perturbation by time stamps in the code: instructions that read the clock at each entry of a block, in rewritten
//! cubins, and the cycles that they add to a warp that runs alone.

use std::collections::BTreeMap;

use warpbound_analyse::ThreadCfg;
use warpbound_analyse::thread_cfg::Limits;
use warpbound_base::CodeAddr;
use warpbound_isa::nvidia::SassProgram;
use warpbound_isa::{ControlWord, Program};
use warpbound_launch::StartCaches;
use warpbound_launch::{LaunchFile, compare_buffers};
use warpbound_load::Kernel;
use warpbound_measure::{
    HybridOptions, StampPlan, StampTimes, hybrid_of_stamps, instrument_stamps,
};
use warpbound_query::Session;
use warpbound_rewrite::{CubinRewriter, Entry, NewInstr};
use warpbound_runs::{RunHooks, TimedOptions, simulate, simulate_to_end};
use warpbound_simulate::timed::SingleWarp;
use warpbound_simulate::timed::{Event, EventListener};
use warpbound_testkit::kernels;

/// Instructions of a stamp that keeps the time of a step.
const STAMP_INSTRUCTIONS: u64 = 9;

/// Distance to the next issue after a stamp, which is the latency of the instruction.
const STALL: u8 = 6;

/// A read of the low word of the clock into a register, without a guard.
const READ_CLOCK: u64 = 0x50c8_0000_0507_0000;

/// Guard and register of a read of the clock.
const CLOCK_FIELDS: u64 = 0xf_00ff;

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
    let run = simulate(&session, kernel, launch, &options, hooks).ok()?;
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

/// Listener of the clocks that each warp reads: the cycles of the first and the last one.
struct ClockReads<'a> {
    program: &'a SassProgram,
    of_warp: BTreeMap<(u64, u32), (u64, u64)>,
}

impl ClockReads<'_> {
    fn longest(&self) -> u64 {
        let times = self.of_warp.values().map(|(first, last)| last - first);
        times.max().unwrap_or(0)
    }
}

impl EventListener for ClockReads<'_> {
    fn event(&mut self, cycle: u64, event: &Event) {
        let Event::Issue { warp, at, .. } = event else {
            return;
        };
        let instr = self.program.instrs.get(at.index());
        if instr
            .is_some_and(|instr| instr.word as u64 & !CLOCK_FIELDS == READ_CLOCK & !CLOCK_FIELDS)
        {
            let place = (warp.block, warp.warp);
            let reads = self.of_warp.entry(place).or_insert((cycle, cycle));
            reads.1 = cycle;
        }
    }
}

/// Times that stamps kept in a run, and the longest time of a warp between its first stamp and its last one.
struct StampedRun {
    plan: StampPlan,
    times: StampTimes,
    longest: u64,
    cycles: u64,
}

/// Runs a kernel with stamps; `None` if it cannot have any, or its run is too long.
fn stamped_run(
    session: &Session,
    contents: &[u8],
    kernel: &Kernel,
    launch: &LaunchFile,
) -> Option<StampedRun> {
    let (plan, made) = instrument_stamps(session, contents, kernel).ok()?;
    let stamped = Session::open("stamped", &made.bytes).expect("it loads");
    let kernel = stamped
        .launched_kernel(Some(&kernel.name), None)
        .expect("the kernel is there");
    let prepared = stamped.prepare(kernel).expect("it lifts");
    let Program::Nvidia(program) = &prepared.program else {
        return None;
    };
    let mut reads = ClockReads {
        program,
        of_warp: BTreeMap::new(),
    };
    let options = TimedOptions {
        caches: Some(StartCaches::Warm),
        max_instructions: Some(200_000),
        ..TimedOptions::new(stamped.own_gpu_model().expect("a machine"))
    };
    let launch = made.launch(launch, None);
    let run = simulate_to_end(&stamped, &prepared, &launch, &options, &mut reads);
    let (result, memory) = run.ok()?;
    let compared = compare_buffers(&launch, &memory);
    assert!(compared.mismatch.is_none(), "{:?}", compared.mismatch);
    let counters = made.counters(&memory).expect("the variable is there");
    let words: Vec<u64> = counters.plan.into_iter().chain(counters.values).collect();
    let times = StampTimes::of_words(&words, &plan).expect("they are of this plan");
    Some(StampedRun {
        plan,
        times,
        longest: reads.longest(),
        cycles: result.cycles.0.0,
    })
}

/// Most points of a kernel of the test: estimates take long for many steps.
const MOST_POINTS: usize = 40;

/// The time that a kernel keeps is that of its longest warp, exactly; and no warp of a run takes longer than the estimate
/// from the times of the same run, where all loops have a bound.
#[test]
fn estimates_from_stamps_cover_their_runs() {
    let (mut runs, mut estimates, mut with_missing, mut found_faults) = (0, 0, 0, 0);
    for reference in kernels::all() {
        let file = format!("{}.sm_61.cubin", reference.source);
        let path = format!("{}/../../kernels/built/{file}", env!("CARGO_MANIFEST_DIR"));
        let contents = std::fs::read(path).expect("the cubin is in the repository");
        let session = Session::open(&file, &contents).expect("it loads");
        let Ok(kernel) = session.launched_kernel(Some(reference.kernel), None) else {
            continue;
        };
        let launch = (reference.launch)(0);
        let Some(run) = stamped_run(&session, &contents, kernel, &launch) else {
            continue;
        };
        let name = reference.kernel;
        runs += 1;
        assert_eq!(run.times.values.first(), Some(&run.longest), "{name}");
        assert!(run.longest <= run.cycles, "{name}");
        if run.plan.points.len() > MOST_POINTS {
            continue;
        }
        let model = session.own_gpu_model().expect("a machine");
        let options = HybridOptions::new(TimedOptions::new(model));
        let estimate = |times: &StampTimes| {
            hybrid_of_stamps(&session, kernel, &run.plan, times, Some(&launch), &options)
        };
        let report = estimate(&run.times).expect("the steps are those of the graph");
        let Some(cycles) = report.estimate else {
            continue;
        };
        estimates += 1;
        assert!(cycles >= run.longest, "{name}: {cycles} < {}", run.longest);
        assert!(!report.is_exceeded(), "{name}");
        with_missing += usize::from(report.missing.iter().any(|one| one.most_passes > Some(0)));
        // Without the longest step, the rest does not cover the run, or no path is left.
        let mut fault = run.times.clone();
        let longest = fault.values.iter_mut().skip(1).max();
        *longest.expect("there are steps") = 1;
        let report = estimate(&fault).expect("the steps are those of the graph");
        found_faults += usize::from(report.is_exceeded());
    }
    println!("{runs} runs, {estimates} estimates, {with_missing} with steps that were not taken");
    println!("{found_faults} of {estimates} wrong times are found");
    assert!(runs > 100 && estimates > 60, "{runs} {estimates}");
    assert!(
        with_missing > 10 && found_faults > 30,
        "{with_missing} {found_faults}"
    );
}

/// Times of another build, of other stamps, and files of another length are refused.
#[test]
fn times_of_other_stamps_are_refused() {
    let path = format!(
        "{}/../../kernels/built/transpose.sm_61.cubin",
        env!("CARGO_MANIFEST_DIR")
    );
    let contents = std::fs::read(path).expect("the cubin is in the repository");
    let session = Session::open("transpose", &contents).expect("it loads");
    let kernel = session.launched_kernel(Some("transpose"), None);
    let kernel = kernel.expect("the kernel is there");
    let (plan, made) = instrument_stamps(&session, &contents, kernel).expect("it can be rewritten");
    let mut words = vec![0; made.counters + 1];
    assert!(StampTimes::of_words(&words, &plan).is_err());
    words[0] = plan.digest();
    let times = StampTimes::of_words(&words, &plan).expect("they are of this plan");
    words.pop();
    assert!(StampTimes::of_words(&words, &plan).is_err());
    let model = session.own_gpu_model().expect("a machine");
    let options = HybridOptions::new(TimedOptions::new(model));
    let other = StampPlan {
        code: "0".to_owned(),
        ..plan
    };
    let refused = hybrid_of_stamps(&session, kernel, &other, &times, None, &options);
    let message = refused.expect_err("it is other code").to_string();
    assert!(message.contains("stamps are for code"), "{message}");
}

/// The time of a lone warp with stamps is at least its time without them and the stated cycles of the stamps. The rest is
/// the first read of the address of the variable, waits for the atomic operations, and fetches of the longer code.
#[test]
fn stated_cycles_of_stamps_are_a_least() {
    let (mut all, mut near, mut least, mut ratios) = (0, 0, 0, Vec::new());
    for reference in kernels::all() {
        let file = format!("{}.sm_61.cubin", reference.source);
        let path = format!("{}/../../kernels/built/{file}", env!("CARGO_MANIFEST_DIR"));
        let contents = std::fs::read(path).expect("the cubin is in the repository");
        let session = Session::open(&file, &contents).expect("it loads");
        let Ok(kernel) = session.launched_kernel(Some(reference.kernel), None) else {
            continue;
        };
        let Ok((plan, made)) = instrument_stamps(&session, &contents, kernel) else {
            continue;
        };
        let launch = (reference.launch)(0);
        let with = made.launch(&launch, None);
        let before = alone(&file, &contents, reference.kernel, &launch);
        let after = alone(&file, &made.bytes, reference.kernel, &with);
        let Some(((cycles, issued), (stamped_cycles, stamped_issued))) = before.zip(after) else {
            continue;
        };
        let [each, _] = plan.cycles;
        let stamps = (stamped_issued - issued.min(stamped_issued)) / STAMP_INSTRUCTIONS;
        let predicted = cycles + u64::from(each) * stamps;
        let ratio = predicted as f64 / stamped_cycles as f64;
        all += 1;
        near += usize::from((0.9..=1.1).contains(&ratio));
        least += usize::from(predicted <= stamped_cycles);
        ratios.push((ratio, reference.kernel, cycles, stamps, stamped_cycles));
    }
    ratios.sort_by(|a, b| a.0.total_cmp(&b.0));
    println!("stamps in the code: {near} of {all} within 10 %");
    for ratio in &ratios {
        println!("{ratio:?}");
    }
    assert!(all > 100, "only {all} kernels");
    assert_eq!(least, all);
}
