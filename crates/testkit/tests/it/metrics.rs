//! Metrics from counts of blocks are those of the counts of each instruction, on the launches of the repository's kernels.

use std::collections::BTreeMap;

use warpbound_analyse::ThreadCfg;
use warpbound_analyse::thread_cfg::Limits;
use warpbound_ir::{Meaning, Op, OpIndex};
use warpbound_isa::instr::MemorySpace;
use warpbound_query::{Prepared, Session};
use warpbound_runs::block_counts::BlockCounts;
use warpbound_runs::metrics::{MetricsReport, metrics};
use warpbound_runs::{RunOptions, execute};
use warpbound_simulate::functional::Counts;
use warpbound_testkit::kernels::{self, KernelReference};

/// Number of launches of each kernel.
const LAUNCHES: u64 = 4;

fn session(reference: &KernelReference, build: &str) -> Session {
    let file = format!("{}.{build}", reference.source);
    let path = format!("{}/../../kernels/built/{file}", env!("CARGO_MANIFEST_DIR"));
    let contents = std::fs::read(path).expect("the file is in the repository");
    Session::open(&file, &contents).expect("it loads")
}

/// Executes launches of kernels and passes the counts of each to a check.
fn each_run(
    references: Vec<KernelReference>,
    build: &str,
    mut check: impl FnMut(&str, &Prepared<'_>, &Counts),
) {
    for reference in references {
        let session = session(&reference, build);
        for number in 0..LAUNCHES {
            let launch = (reference.launch)(number);
            let kernel = session
                .launched_kernel(Some(reference.kernel), launch.kernel.as_deref())
                .expect("the kernel is there");
            let prepared = session.prepare(kernel).expect("it lifts");
            let run = execute(
                &session,
                kernel,
                &launch,
                &RunOptions::default(),
                &mut |_| (),
            )
            .expect("it runs");
            let name = format!("{} launch {number}", reference.kernel);
            check(&name, &prepared, &run.counts);
        }
    }
}

fn block_counts(prepared: &Prepared<'_>, counts: &Counts) -> BlockCounts {
    let thread = ThreadCfg::build(&prepared.code, &Limits::default()).expect("a graph");
    BlockCounts::of_run(&thread.space.blocks, counts)
}

/// Sums by instruction, without blocks.
#[derive(Default, PartialEq, Eq, Debug)]
struct Sums {
    warps: u64,
    threads: u64,
    global: u64,
    generic: u64,
}

/// Returns the memory space of an instruction by its meaning; the report has it from the tables of the instruction set.
fn space(prepared: &Prepared<'_>, at: usize) -> Option<MemorySpace> {
    match prepared.code.ops.get(at)?.meaning.as_ref()? {
        Meaning::Load { space, .. }
        | Meaning::Store { space, .. }
        | Meaning::Atomic { space, .. } => Some(*space),
        _ => None,
    }
}

fn is_atomic(op: &Op) -> bool {
    matches!(op.meaning, Some(Meaning::Atomic { .. }))
}

/// Returns the sums over all instructions, and over those of each source line.
fn sums(prepared: &Prepared<'_>, counts: &Counts) -> (Sums, BTreeMap<Option<String>, Sums>) {
    let (mut all, mut lines) = (Sums::default(), BTreeMap::<_, Sums>::new());
    for (at, op) in prepared.code.ops.iter().enumerate() {
        let line = prepared.kernel.source_line(op.addr).map(|source| {
            let file = source
                .file
                .rsplit('/')
                .next()
                .unwrap_or_default()
                .to_owned();
            format!("{file}:{}", source.line)
        });
        for sums in [&mut all, lines.entry(line).or_default()] {
            sums.warps += counts.issues[at];
            sums.threads += counts.active[at];
            match space(prepared, at) {
                Some(MemorySpace::Global) => sums.global += counts.issues[at],
                // Compilers emit the atomic operations of generic addresses for global memory only.
                Some(MemorySpace::Generic) if is_atomic(op) => sums.global += counts.issues[at],
                Some(MemorySpace::Generic) => sums.generic += counts.issues[at],
                _ => {}
            }
        }
    }
    (all, lines)
}

/// Compares a report with the counts of each instruction.
fn compare(prepared: &Prepared<'_>, counts: &Counts, report: &MetricsReport) -> Result<(), String> {
    let equal = |what: &str, found: Option<u64>, expected: u64| match found == Some(expected) {
        true => Ok(()),
        false => Err(format!("{what}: {found:?}, expected {expected}")),
    };
    let (all, lines) = sums(prepared, counts);
    let total = &report.total;
    equal("warps", total.warp_instructions, all.warps)?;
    equal("threads", total.thread_instructions, all.threads)?;
    match all.generic {
        0 => equal("global", total.global_instructions, all.global)?,
        _ if total.global_instructions.is_some() => return Err("generic is unknown".to_owned()),
        _ => {}
    }
    let factor = all.threads as f64 / (all.warps * u64::from(report.width)) as f64;
    if total
        .activity_factor
        .is_none_or(|found| (found - factor).abs() > 1e-12)
    {
        return Err(format!(
            "activity {:?}, expected {factor}",
            total.activity_factor
        ));
    }
    for line in &report.lines {
        let expected = lines.get(&line.name).ok_or("a line without instructions")?;
        equal(
            "warps of a line",
            line.metrics.warp_instructions,
            expected.warps,
        )?;
        equal(
            "threads of a line",
            line.metrics.thread_instructions,
            expected.threads,
        )?;
    }
    for (name, of) in [("classes", &report.classes), ("blocks", &report.blocks)] {
        let warps: Option<u64> = of.iter().map(|named| named.metrics.warp_instructions).sum();
        equal(name, warps, all.warps)?;
    }
    Ok(())
}

#[test]
fn metrics_of_blocks_are_those_of_instructions() {
    let mut intensive = 0;
    each_run(kernels::all(), "sm_61.cubin", |name, prepared, counts| {
        let report = metrics(
            prepared,
            &block_counts(prepared, counts),
            prepared.code.lanes(),
        );
        compare(prepared, counts, &report).unwrap_or_else(|why| panic!("{name}: {why}"));
        assert!(report.unknown_blocks.is_empty(), "{name}");
        let intensity = report.total.memory_intensity;
        intensive += u64::from(intensity.is_some_and(|share| share > 0.0));
    });
    assert!(intensive > 300, "only {intensive} runs with global memory");
}

#[test]
fn lanes_of_waves_are_known_up_to_a_write_of_the_mask() {
    let (mut known, mut unknown) = (0, 0);
    each_run(
        kernels::gcn3_executable(),
        "gfx803.co",
        |name, prepared, counts| {
            // Without the targets of indirect jumps no block has a count.
            if ThreadCfg::build(&prepared.code, &Limits::default()).is_err() {
                return;
            }
            let report = metrics(
                prepared,
                &block_counts(prepared, counts),
                prepared.code.lanes(),
            );
            let (all, _) = sums(prepared, counts);
            assert_eq!(report.total.warp_instructions, Some(all.warps), "{name}");
            match report.total.thread_instructions {
                Some(threads) => {
                    assert_eq!(threads, all.threads, "{name}");
                    known += 1;
                }
                None => unknown += 1,
            }
        },
    );
    assert!(known > 0 && unknown > 0, "{known} known, {unknown} unknown");
}

/// Each wrong count of an executed block is found, and a missing one makes sums unknown.
#[test]
fn planted_wrong_counts_of_blocks_are_found() {
    let reference = kernels::all();
    let reference = reference
        .into_iter()
        .filter(|one| one.source == "lud_diagonal");
    let mut changed = 0;
    each_run(
        reference.collect(),
        "sm_61.cubin",
        |name, prepared, counts| {
            let right = block_counts(prepared, counts);
            let executed: Vec<OpIndex> = right
                .blocks
                .iter()
                .filter(|(_, count)| count.issues > 0)
                .map(|(&at, _)| at)
                .collect();
            for at in executed {
                for lanes in [false, true] {
                    let mut wrong = right.clone();
                    let count = wrong.blocks.get_mut(&at).expect("it is there");
                    match lanes {
                        true => count.lanes -= 1,
                        false => count.issues += 1,
                    }
                    let report = metrics(prepared, &wrong, prepared.code.lanes());
                    assert!(compare(prepared, counts, &report).is_err(), "{name} {at:?}");
                    changed += 1;
                }
                let mut missing = right.clone();
                missing.blocks.remove(&at);
                let report = metrics(prepared, &missing, prepared.code.lanes());
                assert_eq!(report.total.warp_instructions, None, "{name} {at:?}");
                assert_eq!(report.unknown_blocks.len(), 1, "{name} {at:?}");
            }
        },
    );
    assert!(changed > 20, "only {changed}");
}
