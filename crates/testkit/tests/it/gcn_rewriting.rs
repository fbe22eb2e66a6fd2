//! Code objects of our own kernels for GCN3 written again: unchanged, with all code moved, and with probes.

#![allow(clippy::panic, reason = "helpers of tests")]

mod changed_files;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use warpbound_analyse::blocks::Blocks;
use warpbound_base::CodeAddr;
use warpbound_ir::{Code, lift};
use warpbound_isa::amd::{Encoding, GcnModifiers, GcnOpcode, GcnProgram, GcnValue, GcnView};
use warpbound_isa::{Program, RegisterKind};
use warpbound_launch::{
    GlobalMemory, LOADED_FILE, LaunchFile, PathOrder, compare_buffers, output_files,
};
use warpbound_load::{Image, Kernel};
use warpbound_machine::GpuModel;
use warpbound_measure::probes::{ProbeMetric, ProbedBlocks};
use warpbound_measure::{COUNTERS, ProbeCounters, decode_counters, instrument_waves, plan_for};
use warpbound_query::Session;
use warpbound_rewrite::gcn::{CodeObjectRewriter, NewGcnInstr, ScalarProbes};
use warpbound_rewrite::probes::{Increment, ProbedQuantity};
use warpbound_runs::{TimedOptions, simulate_to_end};
use warpbound_simulate::functional::{Counts, launch};
use warpbound_simulate::timed::Silent;
use warpbound_testkit::kernels::{self, KernelReference};

/// Sources of the seven kernels of `efficient-instrumentation-2014`.
const OF_THE_PAPER: [&str; 7] = [
    "bitonic_network",
    "lud_diagonal",
    "nbody_tiles",
    "nearest_neighbour",
    "reduction",
    "transpose",
    "walsh_transform",
];

fn code_object(reference: &KernelReference) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels/built");
    let file = format!("{}.gfx803.co", reference.source);
    std::fs::read(path.join(file)).expect("it is in the repository")
}

fn kernel_of<'a>(image: &'a Image, reference: &KernelReference) -> &'a Kernel {
    let kernels = image.kernels().expect("it has kernels");
    let is_it = |kernel: &&Kernel| *kernel.name == *reference.kernel;
    kernels.iter().find(is_it).expect("the kernel")
}

fn lifted(kernel: &Kernel) -> Code {
    let program = GcnProgram::decode(kernel.code()).expect("whole dwords");
    lift(kernel, &Program::Amd(program)).expect("it is lifted")
}

/// Address of the kernel's code in its section.
fn shift(file: &[u8], kernel: &Kernel) -> u32 {
    let object = kernel.code_object.as_ref().expect("a code object");
    let text = CodeObjectRewriter::open(file)
        .expect("it opens")
        .code_address();
    u32::try_from(object.code_address - text).expect("near")
}

/// First instructions of the blocks of a kernel, relative to the code section.
fn blocks(file: &[u8], reference: &KernelReference) -> Vec<CodeAddr> {
    let image = Image::parse(file).expect("it loads");
    let kernel = kernel_of(&image, reference);
    let (code, shift) = (lifted(kernel), shift(file, kernel));
    let blocks = Blocks::build(&code, &BTreeSet::new());
    let first = (0..blocks.len()).filter_map(|index| code.get(blocks.get(index).first));
    first.map(|op| CodeAddr(op.addr.0 + shift)).collect()
}

/// Result of a run: counts by operation, the operations' addresses, the memory of the code object.
struct Ran {
    counts: Counts,
    addrs: Vec<CodeAddr>,
    object: Vec<u8>,
    memory: GlobalMemory,
}

/// Runs a launch and compares its buffers with the reference.
fn run(file: &[u8], reference: &KernelReference, number: u64) -> Result<Ran, String> {
    run_launch(file, reference, &(reference.launch)(number))
}

/// Runs a launch of the kernel and compares its buffers with what it expects.
fn run_launch(file: &[u8], reference: &KernelReference, grid: &LaunchFile) -> Result<Ran, String> {
    let image = Image::parse(file).map_err(|diagnostic| diagnostic.to_string())?;
    let kernel = kernel_of(&image, reference);
    let code = lifted(kernel);
    let order = PathOrder::TakenFirst;
    let bound = warpbound_launch::bind(grid, &image, kernel, &code, order, 1 << 30);
    let (bound, mut memory) = bound.map_err(|diagnostic| diagnostic.to_string())?;
    let counts = launch(&code, &bound, &mut memory).map_err(|fault| format!("{fault:?}"))?;
    if let Some(mismatch) = compare_buffers(grid, &memory).mismatch {
        return Err(mismatch.to_string());
    }
    let mut buffers = memory.buffers().iter();
    let object = buffers.find(|buffer| buffer.name == LOADED_FILE);
    Ok(Ran {
        counts,
        addrs: code.ops.iter().map(|op| op.addr).collect(),
        object: object.expect("it is in memory").bytes.clone(),
        memory,
    })
}

fn instr(opcode: GcnOpcode, encoding: Encoding, values: &[GcnValue]) -> NewGcnInstr {
    let view = GcnView::new(opcode, encoding, values, GcnModifiers::default());
    NewGcnInstr::of_view(&view.expect("a form")).expect("an encoding")
}

/// The file with instructions before each block of a kernel.
fn with_everywhere(file: &[u8], reference: &KernelReference, instrs: &[NewGcnInstr]) -> Vec<u8> {
    let mut rewriter = CodeObjectRewriter::open(file).expect("it opens");
    for at in blocks(file, reference) {
        rewriter
            .insert_before(at, instrs.to_vec())
            .expect("an instruction");
    }
    rewriter.finish().expect("it is rewritten")
}

/// Cycles of a launch on gem5-apu.
fn cycles(file: &[u8], reference: &KernelReference) -> u64 {
    timed(file, reference, &(reference.launch)(0)).0
}

/// Cycles of a launch on gem5-apu, and the memory at the end.
fn timed(file: &[u8], reference: &KernelReference, launch: &LaunchFile) -> (u64, GlobalMemory) {
    let session = Session::open("file.co", file).expect("it loads");
    let kernels = session.kernels(None).expect("it has kernels");
    let kernel = kernels
        .into_iter()
        .find(|kernel| *kernel.name == *reference.kernel);
    let prepared = session
        .prepare(kernel.expect("the kernel"))
        .expect("it decodes");
    let machine = GpuModel::built_in("gem5-apu").expect("it comes with the tool");
    let options = TimedOptions::new(machine);
    let done = simulate_to_end(&session, &prepared, launch, &options, &mut Silent);
    let (result, memory) = done.expect("it runs");
    (result.cycles.0.0, memory)
}

/// Kernels whose launches leave the contents of their references: not-a-numbers of `cc_branch` have other bits than
/// NVIDIA's.
fn executed() -> impl Iterator<Item = KernelReference> {
    let all = kernels::gcn3_executable().into_iter();
    all.filter(|reference| reference.source != "cc_branch")
}

#[test]
fn unchanged_code_objects_keep_their_bytes() {
    let mut files = 0;
    for reference in kernels::gcn3() {
        let file = code_object(&reference);
        let rewriter = CodeObjectRewriter::open(&file).expect("it opens");
        let again = rewriter.finish().expect("it is rewritten");
        assert!(again == file, "{}", reference.source);
        files += 1;
    }
    assert!(files >= 90, "{files}");
}

#[test]
fn results_are_the_same_after_all_blocks_move() {
    let nop = instr(GcnOpcode::SNop, Encoding::Sopp, &[GcnValue::Immediate(0)]);
    let mut runs = 0;
    for reference in executed() {
        let file = code_object(&reference);
        // Little code stays at its address, much moves to the end of the loaded file.
        for count in [1, 100] {
            let moved = with_everywhere(&file, &reference, &vec![nop; count]);
            let title = format!("{} {}", reference.source, reference.kernel);
            run(&moved, &reference, 0).unwrap_or_else(|error| panic!("{title}: {error}"));
            runs += 1;
        }
    }
    assert!(runs >= 180, "{runs}");
}

/// Counters of a probed run, and the counts of the same run: issues and lanes of each block.
fn counted(reference: &KernelReference, number: u64) -> Vec<((u64, u64), (u64, u64))> {
    let file = code_object(reference);
    let blocks = blocks(&file, reference);
    let mut probes = ScalarProbes {
        kernel: reference.kernel.to_owned(),
        counters: 2 * blocks.len(),
        first_byte: 8,
        points: BTreeMap::new(),
    };
    for (index, at) in blocks.iter().enumerate() {
        let increment = |counter, quantity| Increment {
            counter,
            quantity,
            weight: 1,
        };
        let increments = BTreeSet::from([
            increment(2 * index, ProbedQuantity::Issues),
            increment(2 * index + 1, ProbedQuantity::Lanes),
        ]);
        probes.points.insert(*at, increments);
    }
    let title = format!("{} {} {number}", reference.source, reference.kernel);
    let mut rewriter = CodeObjectRewriter::open(&file).expect("it opens");
    let placed = rewriter.add_probes(&probes);
    let placed = placed.unwrap_or_else(|error| panic!("{title}: {error}"));
    let moved = rewriter.moved().expect("short code");
    let file = rewriter
        .finish()
        .unwrap_or_else(|error| panic!("{title}: {error}"));
    let ran = run(&file, reference, number).unwrap_or_else(|error| panic!("{title}: {error}"));
    let image = Image::parse(&file).expect("it loads");
    let shift = shift(&file, kernel_of(&image, reference));
    let start = usize::try_from(placed.address).expect("small");
    let sum = |counter: usize| {
        let bytes = ran
            .object
            .get(start + 8 * counter..)
            .and_then(<[u8]>::first_chunk);
        u64::from_le_bytes(*bytes.expect("inside the variable"))
    };
    let pairs = blocks.iter().enumerate().map(|(index, at)| {
        // At the end of a wave, EXEC is another one after the probe.
        let new = CodeAddr(moved[at].0.0 - shift);
        let op = ran.addrs.iter().position(|addr| *addr == new);
        let op = op.expect("the block's first operation");
        let counts = (ran.counts.issues[op], ran.counts.active[op]);
        ((sum(2 * index), sum(2 * index + 1)), counts)
    });
    pairs.collect()
}

#[test]
fn counters_of_the_kernels_of_the_paper_are_exact() {
    let mut compared = 0;
    for reference in executed() {
        if !OF_THE_PAPER.contains(&reference.source) {
            continue;
        }
        for number in 0..4 {
            for (counters, counts) in counted(&reference, number) {
                assert_eq!(counters, counts, "{} {number}", reference.source);
                compared += usize::from(counts.0 > 0);
            }
        }
    }
    assert!(compared > 100, "{compared} blocks");
}

#[test]
fn counters_of_all_kernels_are_exact() {
    let mut kernels = 0;
    for reference in executed() {
        let pairs = counted(&reference, 0);
        let wrong = pairs.iter().filter(|(counters, counts)| counters != counts);
        assert_eq!(
            wrong.count(),
            0,
            "{} {}",
            reference.source,
            reference.kernel
        );
        assert!(pairs.iter().any(|(counters, _)| counters.0 > 0));
        kernels += 1;
    }
    assert!(kernels >= 90, "{kernels}");
}

/// Counts that follow from the plan's probes, compared with those of the same run.
#[test]
fn decoded_counts_of_plans_are_those_of_the_run() {
    let (mut compared, mut probes, mut all) = (0, 0, 0);
    for reference in executed() {
        if !OF_THE_PAPER.contains(&reference.source) {
            continue;
        }
        let file = code_object(&reference);
        let session = Session::open("file.co", &file).expect("it loads");
        let kernels = session.kernels(None).expect("it has kernels");
        let kernel = kernels
            .into_iter()
            .find(|kernel| *kernel.name == *reference.kernel);
        let kernel = kernel.expect("the kernel");
        for number in 0..3 {
            let launch = (reference.launch)(number);
            let metrics = vec![ProbeMetric::Counts];
            let plan = plan_for(&session, kernel, None, ProbedBlocks::Plan, metrics);
            let plan = plan.unwrap_or_else(|error| panic!("{}: {error}", reference.kernel));
            let made = instrument_waves(&session, &file, kernel, &plan);
            let made = made.unwrap_or_else(|error| panic!("{}: {error}", reference.kernel));
            let ran = run(&made.bytes, &reference, number).expect("the same results");
            let counters = made.counters(&ran.memory).expect("counters");
            let decoded = decode_counters(&session, kernel, &plan, &counters, Some(&launch));
            let decoded = decoded.unwrap_or_else(|error| panic!("{}: {error}", reference.kernel));
            let code = lifted(kernel);
            for (first, count) in &decoded.blocks.blocks {
                let at = code.get(*first).expect("a block").addr;
                let op = ran.addrs.iter().position(|addr| *addr == made.moved[&at]);
                let op = op.expect("the block's first operation");
                let counts = (ran.counts.issues[op], ran.counts.active[op]);
                assert_eq!(
                    (count.issues, count.lanes),
                    counts,
                    "{} {at}",
                    reference.kernel
                );
                compared += 1;
            }
            probes += plan.probes.len();
            all += 2 * decoded.blocks.blocks.len();
        }
    }
    assert!(compared > 100, "{compared} blocks");
    assert!(probes < all, "{probes} probes of {all}");
}

/// Counters in the output of a launch.
fn output_counters(launch: &LaunchFile, memory: &GlobalMemory) -> ProbeCounters {
    let mut outputs = output_files(launch, memory);
    let output = outputs.find(|(name, _)| *name == "counters.npy");
    let (_, bytes) = output.expect("the variable is an output");
    ProbeCounters::from_npy(&bytes).expect("an array of counters")
}

/// The variable of the counters, as a launch file names it, after runs with and without time: results are those of the
/// original, and the counts that follow are those of the original's run.
#[test]
fn counters_of_launch_files_are_decoded() {
    let (mut compared, mut rewritten) = (0, BTreeSet::new());
    for reference in executed() {
        if !OF_THE_PAPER.contains(&reference.source) {
            continue;
        }
        let title = reference.kernel;
        let file = code_object(&reference);
        let session = Session::open("file.co", &file).expect("it loads");
        let kernel = session.launched_kernel(Some(title), None);
        let kernel = kernel.expect("the kernel");
        for (rule, number) in [
            (ProbedBlocks::Plan, 0),
            (ProbedBlocks::Plan, 1),
            (ProbedBlocks::All, 0),
        ] {
            let launch = (reference.launch)(number);
            let plan = plan_for(
                &session,
                kernel,
                Some(&launch),
                rule,
                vec![ProbeMetric::Counts],
            );
            let plan = plan.unwrap_or_else(|error| panic!("{title}: {error}"));
            let made = instrument_waves(&session, &file, kernel, &plan);
            let made = made.unwrap_or_else(|error| panic!("{title}: {error}"));
            let original = run(&file, &reference, number).expect("it runs");
            let probed = made.launch(&launch, Some("counters.npy".to_owned()));
            let functional = run_launch(&made.bytes, &reference, &probed);
            let functional = functional.unwrap_or_else(|error| panic!("{title}: {error}"));
            let (_, memory) = timed(&made.bytes, &reference, &probed);
            assert!(compare_buffers(&probed, &memory).mismatch.is_none());
            for memory in [&functional.memory, &memory] {
                let counters = output_counters(&probed, memory);
                let decoded = decode_counters(&session, kernel, &plan, &counters, Some(&launch));
                let decoded = decoded.unwrap_or_else(|error| panic!("{title}: {error}"));
                for (first, count) in &decoded.blocks.blocks {
                    let at = first.index();
                    let counts = (original.counts.issues[at], original.counts.active[at]);
                    assert_eq!((count.issues, count.lanes), counts, "{title} {first:?}");
                    compared += 1;
                }
            }
        }
        rewritten.insert(reference.source);
    }
    assert_eq!(rewritten.len(), OF_THE_PAPER.len());
    assert!(compared > 400, "{compared} blocks");
}

/// Launch files name variables of code objects; those that are not there, or are smaller, are refused.
#[test]
fn variables_of_code_objects() {
    let mut all = executed();
    let reference = all.find(|reference| reference.source == "reduction");
    let reference = reference.expect("a kernel of the paper");
    let file = code_object(&reference);
    let session = Session::open("file.co", &file).expect("it loads");
    let kernel = session.launched_kernel(Some(reference.kernel), None);
    let kernel = kernel.expect("the kernel");
    let metrics = vec![ProbeMetric::Counts];
    let plan = plan_for(&session, kernel, None, ProbedBlocks::All, metrics);
    let made = instrument_waves(&session, &file, kernel, &plan.expect("a plan"));
    let made = made.expect("it is rewritten");
    let image = Image::parse(&made.bytes).expect("it loads");
    let [variable] = image.variables() else {
        panic!("{:?}", image.variables());
    };
    assert_eq!(&*variable.name, COUNTERS);
    assert_eq!(variable.size as usize, 8 * (made.counters + 1));
    let mut launch = made.launch(&(reference.launch)(0), None);
    // What the launch gives the variable is there at the start: the counters grow from it.
    let given = launch.variables.first_mut().expect("the counters");
    given.buffer.bytes[8] = 200;
    let output = Some("counters.npy".to_owned());
    given.buffer.output.clone_from(&output);
    let more = run_launch(&made.bytes, &reference, &launch).expect("it runs");
    let more = output_counters(&launch, &more.memory);
    let launch = made.launch(&(reference.launch)(0), output);
    let counters = run_launch(&made.bytes, &reference, &launch).expect("it runs");
    let counters = output_counters(&launch, &counters.memory);
    assert_eq!(more.plan, counters.plan);
    assert_eq!(more.values[0], counters.values[0] + 200);
    assert_eq!(more.values[1..], counters.values[1..]);
    let mut other = launch.clone();
    other.variables[0].name = "other".to_owned();
    let refused = run_launch(&made.bytes, &reference, &other).err();
    assert!(refused.is_some_and(|text| text.contains("no variable other")));
    let mut larger = launch;
    larger.variables[0].buffer.bytes.push(0);
    let refused = run_launch(&made.bytes, &reference, &larger).err();
    assert!(refused.is_some_and(|text| text.contains("the launch gives it")));
}

/// A planted fault: instructions that write SCC where it is live change results.
#[test]
fn probes_that_lose_scc_are_found() {
    let one = GcnValue::Int(1);
    let zero = GcnValue::Int(0);
    let clobber = instr(GcnOpcode::SCmpLgU32, Encoding::Sopc, &[one, zero]);
    let mut changed = 0;
    for reference in executed() {
        let file = with_everywhere(&code_object(&reference), &reference, &[clobber]);
        changed += usize::from(run(&file, &reference, 1).is_err());
    }
    assert!(changed > 0, "no kernel has SCC live at a block");
}

/// Cycles of the kernels of the paper on gem5-apu, unchanged and with all blocks probed.
#[test]
fn probes_in_scalar_registers_cost_little() {
    for reference in executed() {
        if !OF_THE_PAPER.contains(&reference.source) {
            continue;
        }
        let file = code_object(&reference);
        let again = CodeObjectRewriter::open(&file).and_then(CodeObjectRewriter::finish);
        let again = again.expect("it is rewritten");
        assert_eq!(cycles(&file, &reference), cycles(&again, &reference));
    }
}
