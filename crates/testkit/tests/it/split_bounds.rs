//! Bounds of waves that split: single waves of kernels with splits against their bounds, and a planted fault.

use std::fs;

use warpbound_audit::audit::{LoneWarpAudit, LoneWarpRuns, PathOrder};
use warpbound_audit::{audit_lone_warps, claims};
use warpbound_bounds::{CycleInputs, CycleOptions};
use warpbound_launch::LaunchFile;
use warpbound_machine::{GpuModel, Selection};
use warpbound_query::{BoundOptions, CacheState, Session, SplitMarks, SplitOptions};
use warpbound_simulate::timed::SplitPipelines;
use warpbound_testkit::cycle_bounds::{ComparedCycles, CycleSubject, RunSetup, starts};
use warpbound_testkit::kernels::{self, KernelReference};
use warpbound_testkit::wave_programs::{KERNEL, WaveProgram};

/// Sources of kernels whose waves split: sides of a branch, nested ones, lanes that end early.
const SOURCES: [&str; 3] = ["if_else", "if_else_nested", "early_exit"];

fn session(source: &str) -> Session {
    let file = format!("{source}.gfx803.co");
    let path = format!("{}/../../kernels/built/{file}", env!("CARGO_MANIFEST_DIR"));
    let contents = fs::read(path).expect("the file is in the repository");
    Session::open(&file, &contents).expect("it loads")
}

fn references(source: &str) -> Vec<KernelReference> {
    let all = kernels::gcn3().into_iter();
    all.filter(|kernel| kernel.source == source).collect()
}

fn launch_of(kernel: &KernelReference, number: u64) -> LaunchFile {
    let mut launch = (kernel.launch)(number);
    launch.kernel = Some(kernel.kernel.to_owned());
    launch
}

/// Splits at all sites: with and without pipelines of their own, with and without merges.
fn splittings(splits: u32) -> impl Iterator<Item = SplitOptions> {
    let pipelines = [SplitPipelines::Parallel, SplitPipelines::Serialised];
    let of = move |pipelines| {
        [false, true].map(|merge| SplitOptions {
            splits,
            pipelines,
            marks: SplitMarks::All,
            merge,
        })
    };
    pipelines.into_iter().flat_map(of)
}

/// Runs single waves of a launch against their bounds.
fn audit(
    session: &Session,
    launch: &LaunchFile,
    machine: &GpuModel,
    splitting: &SplitOptions,
) -> LoneWarpAudit {
    let kernel = session.launched_kernel(None, launch.kernel.as_deref());
    let prepared = session.prepare(kernel.expect("its kernel"));
    let prepared = prepared.expect("it decodes");
    let options = BoundOptions {
        block: Some(launch.block),
        ..BoundOptions::default()
    };
    let claims = claims(session, &prepared, &options).expect("it is followed");
    let runs = LoneWarpRuns {
        cycles: CycleOptions {
            counts: Default::default(),
            machine: machine.clone(),
            caches: CacheState::Any,
            splitting: splitting.clone(),
        },
        most_warps: 2,
        searched_warps: 1,
        refresh_phases: 1,
        selections: vec![Selection::Slow, Selection::Typical, Selection::Seed(1)],
        orders: vec![PathOrder::TakenFirst, PathOrder::FallThroughFirst],
        max_instructions: LoneWarpRuns::MAX_INSTRUCTIONS,
    };
    let found = audit_lone_warps(session, &prepared, &claims, launch, &runs);
    found.expect("the launch suits the kernel")
}

/// Waves that split, in four ways, stay below the bounds for their splits.
#[test]
fn waves_that_split_keep_their_bounds() {
    let machine = GpuModel::built_in("gem5-apu").expect("it comes with the tool");
    let (mut runs, mut refused) = (0, Vec::new());
    for source in SOURCES {
        let session = session(source);
        for kernel in references(source) {
            let launch = launch_of(&kernel, 0);
            for splitting in [1, 3].into_iter().flat_map(splittings) {
                let found = audit(&session, &launch, &machine, &splitting);
                assert!(
                    found.exceeded.is_empty(),
                    "{source} {splitting:?}: {:?}",
                    found.exceeded
                );
                runs += found.runs;
                refused.extend(found.refused.map(|why| format!("{source}: {why}")));
            }
        }
    }
    assert!(runs >= 400, "{runs} runs; without a bound: {refused:?}");
    println!("{runs} runs; without a bound: {refused:?}");
}

/// Compares runs of a program with its bound, whose inputs are changed.
fn compare(
    words: &[u32],
    splitting: &SplitOptions,
    change: &dyn Fn(&mut CycleInputs),
) -> ComparedCycles {
    let machine = GpuModel::built_in("gem5-apu").expect("it comes with the tool");
    let program = WaveProgram::with_prologue(words);
    let session = program.session();
    let subject = CycleSubject {
        session: &session,
        kernel: KERNEL,
        launches: vec![program.launch(0)],
        loops: Vec::new(),
        machine: &machine,
        caches: CacheState::Warm,
        splitting: splitting.clone(),
    };
    let setups: Vec<RunSetup> = starts(CacheState::Warm)
        .iter()
        .flat_map(|&start| RunSetup::selections(&machine, start, &[1]))
        .collect();
    let found = subject.compare(&machine, &setups, change);
    found.expect("a program with a bound")
}

/// Two branches on bits of the lane, then a long tail that each of four splits executes: the bound of a wave that does not
/// split, taken for that of a wave whose splits take turns at one pipeline.
#[test]
fn a_bound_without_siblings_is_found() {
    // v_and_b32 v3, BIT, v0; v_cmp_ne_u32 vcc, 0, v3; s_and_saveexec_b64 s[16:17], vcc; s_cbranch_execz over the next;
    // v_xor_b32 v8, v0, v3; s_or_b64 exec, exec, s[16:17].
    let branch = |bit: u32, saved: u32| {
        [
            0x2606_0080 + bit,
            0x7d9a_0680,
            0xbe80_206a + (saved << 16),
            0xbf88_0001,
            0x2a10_0700,
            0x87fe_007e + (saved << 8),
        ]
    };
    let mut words = [branch(1, 16), branch(2, 18)].concat();
    // v_mul_lo_u32 v8, v8, v9, at a quarter of the rate.
    words.extend([0xd285_0008, 0x0002_1308].repeat(200));
    words.push(0xbf81_0000);
    let serialised = SplitOptions {
        splits: 3,
        pipelines: SplitPipelines::Serialised,
        marks: SplitMarks::All,
        merge: false,
    };
    let found = compare(&words, &serialised, &|_| {});
    assert!(found.violations.is_empty(), "{:?}", found.violations);
    let found = compare(&words, &serialised, &|inputs| inputs.splits = None);
    assert!(
        !found.violations.is_empty(),
        "the fault is not found: at most {} cycles, bound {} ({})",
        found.worst,
        found.counted,
        found.terms
    );
}
