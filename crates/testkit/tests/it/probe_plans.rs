//! Plans of probes: reconstructed counts are those of the run, forged certificates are refused, and rows that are no
//! equalities of real runs are found out.

use std::path::Path;

use fastrand::Rng;
use warpbound_base::Diagnostic;
use warpbound_launch::LaunchFile;
use warpbound_launch::PathOrder;
use warpbound_measure::probes::system::holds_in_every_run;
use warpbound_measure::probes::{
    ProbeCounters, ProbeMetric, ProbeOptions, ProbePlan, ProbeQuantity, ProbedBlocks, WantedCount,
};
use warpbound_measure::{decode_counters, plan_for, probe_plan, probe_system};
use warpbound_query::{BoundOptions, Session};
use warpbound_runs::block_counts::{BlockCount, BlockCounts};
use warpbound_simt::counts::{CountRow, RowFamily};
use warpbound_testkit::probe_plans::{BlockPlan, random_plans, run_counts};

fn kernels() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels")
}

fn launch_file(name: &str) -> LaunchFile {
    let folder = kernels().join("launches");
    let files =
        |file: &str| std::fs::read(folder.join(file)).map_err(|e| Diagnostic::new(e.to_string()));
    let name = format!("{name}.toml");
    let text = std::fs::read_to_string(folder.join(&name)).expect("a kernel of ours");
    LaunchFile::parse(&name, &text, &files).expect("a kernel of ours")
}

fn cubin(build: &str) -> Vec<u8> {
    std::fs::read(kernels().join("built").join(build)).expect("a kernel of ours")
}

/// Counts of the blocks in a functional run of the launch.
fn counted(contents: &[u8], session: &Session, launch: &LaunchFile) -> BlockCounts {
    let kernel = session
        .launched_kernel(None, launch.kernel.as_deref())
        .expect("a kernel of ours");
    let prepared = session.prepare(kernel).expect("a kernel of ours");
    let order = PathOrder::TakenFirst;
    let counts =
        run_counts(contents, &prepared, launch, order, 50_000_000).expect("a kernel of ours");
    let plan = probe_system(session, kernel, &BoundOptions::default()).expect("a kernel of ours");
    BlockCounts {
        blocks: plan
            .blocks
            .keys()
            .map(|&first| {
                let count = BlockCount {
                    issues: counts.issues[first.index()],
                    lanes: counts.active[first.index()],
                };
                (first, count)
            })
            .collect(),
    }
}

/// Values of a plan's counters in a run.
fn values(
    session: &Session,
    plan: &ProbePlan,
    launch: &LaunchFile,
    counts: &BlockCounts,
) -> Vec<u64> {
    let kernel = session
        .launched_kernel(None, launch.kernel.as_deref())
        .expect("a kernel of ours");
    let prepared = session.prepare(kernel).expect("a kernel of ours");
    let values = plan.probes.iter().map(|probe| {
        let first = prepared
            .code
            .at(warpbound_base::CodeAddr(probe.at))
            .expect("a kernel of ours");
        let count = counts.blocks[&first];
        match probe.quantity {
            ProbeQuantity::Issues => count.issues,
            ProbeQuantity::Lanes => count.lanes,
        }
    });
    let values: Vec<u64> = values.collect();
    if plan.sums.is_empty() {
        return values;
    }
    let sum = |terms: &Vec<(usize, i64)>| {
        let terms = terms
            .iter()
            .map(|&(probe, factor)| values[probe] as i64 * factor);
        terms.sum::<i64>() as u64
    };
    plan.sums.iter().map(|of| sum(&of.probes)).collect()
}

const SAMPLE: [(&str, &str); 6] = [
    ("lud_diagonal.sm_61.cubin", "lud_diagonal.lud_diagonal.0"),
    ("reduction.sm_61.cubin", "reduction.reduction_tree.0"),
    (
        "bitonic_sort.sm_61.cubin",
        "bitonic_sort.bitonic_block_int.0",
    ),
    ("recursion.sm_61.cubin", "recursion.recursion.0"),
    ("lud_diagonal.gfx803.co", "lud_diagonal.lud_diagonal.0"),
    ("transpose.gfx803.co", "transpose.transpose.0"),
];

/// With and without the launch, for all rules and metrics: every decoded count is that of the run.
#[test]
fn decoded_counts_are_those_of_the_run() {
    let mut compared = 0;
    for (build, launch) in SAMPLE {
        let contents = cubin(build);
        let session = Session::open(build, &contents).unwrap();
        let launch = launch_file(launch);
        let kernel = session
            .launched_kernel(None, launch.kernel.as_deref())
            .unwrap();
        let counts = counted(&contents, &session, &launch);
        for (rule, knows_launch) in [
            (ProbedBlocks::All, false),
            (ProbedBlocks::Plan, false),
            (ProbedBlocks::Plan, true),
        ] {
            let options = ProbeOptions {
                bound: BoundOptions {
                    block: knows_launch.then_some(launch.block),
                    ..BoundOptions::default()
                },
                launch: knows_launch.then(|| launch.clone().into()),
                rule,
                ..ProbeOptions::default()
            };
            let plan = probe_plan(&session, kernel, &options).unwrap();
            let text = serde_json::to_string(&plan).unwrap();
            let read = ProbePlan::from_json(&text).unwrap();
            assert_eq!(read, plan);
            let counters = ProbeCounters {
                values: values(&session, &read, &launch, &counts),
                ..ProbeCounters::default()
            };
            let decoded =
                decode_counters(&session, kernel, &read, &counters, Some(&launch)).unwrap();
            assert_eq!(decoded.blocks, counts, "{build} {rule:?}");
            compared += counts.blocks.len();
        }
    }
    assert!(compared > 200, "{compared}");
}

/// Sums need no more counters than all counts, and are those of the run.
#[test]
fn sums_need_fewer_probes() {
    let (build, launch) = SAMPLE[0];
    let contents = cubin(build);
    let session = Session::open(build, &contents).unwrap();
    let launch = launch_file(launch);
    let kernel = session
        .launched_kernel(None, launch.kernel.as_deref())
        .unwrap();
    let counts = counted(&contents, &session, &launch);
    let plan_for = |metrics: Vec<ProbeMetric>| {
        let options = ProbeOptions {
            launch: Some(launch.clone().into()),
            metrics,
            ..ProbeOptions::default()
        };
        probe_plan(&session, kernel, &options).unwrap()
    };
    let all = plan_for(vec![ProbeMetric::Counts]);
    let plan = plan_for(vec![ProbeMetric::Memory]);
    assert!(plan.probes.len() < all.probes.len());
    let counters = ProbeCounters {
        values: values(&session, &plan, &launch, &counts),
        ..ProbeCounters::default()
    };
    let decoded = decode_counters(&session, kernel, &plan, &counters, None).unwrap();
    // The report of the same counts prepares the kernel once.
    let before = session.preparations();
    warpbound_measure::decoded(&session, kernel, &plan, &counters, None).unwrap();
    assert_eq!(session.preparations() - before, 1);
    let system = probe_system(&session, kernel, &BoundOptions::default()).unwrap();
    let blocks = system.blocks.iter();
    let issued = blocks.map(|(first, forms)| forms.instructions * counts.blocks[first].issues);
    let wanted = WantedCount::Instructions(ProbeQuantity::Issues);
    assert_eq!(decoded.values[&wanted], issued.sum::<u64>());
}

/// A plan whose counters are sums: forged factors are refused, as are counters and launches of another kind.
#[test]
fn sums_with_other_factors_are_refused() {
    let contents = cubin("lud_diagonal.sm_61.cubin");
    let session = Session::open("lud", &contents).unwrap();
    let launch = launch_file("lud_diagonal.lud_diagonal.0");
    let kernel = session.launched_kernel(None, None).unwrap();
    let metrics = vec![ProbeMetric::Activity];
    let plan = plan_for(&session, kernel, Some(&launch), ProbedBlocks::Plan, metrics);
    let plan = plan.unwrap();
    assert_eq!(plan.sums.len(), 2);
    assert!(plan.probes.len() > 2);
    let decode = |plan: &ProbePlan, text: &str, launch: Option<&LaunchFile>| {
        let counters = ProbeCounters::from_csv(text)?;
        decode_counters(&session, kernel, plan, &counters, launch)
    };
    let csv = ProbeCounters::to_csv(&plan, &[0, 0]);
    decode(&plan, &csv, Some(&launch)).unwrap();
    let refused =
        |plan: &ProbePlan, text: &str, launch| decode(plan, text, launch).unwrap_err().to_string();
    for sum in 0..2 {
        for term in 0..plan.sums[sum].probes.len() {
            let mut forged = plan.clone();
            forged.sums[sum].probes[term].1 += 1;
            let csv = ProbeCounters::to_csv(&forged, &[0, 0]);
            let message = refused(&forged, &csv, None);
            assert!(message.contains("is off by"), "{message}");
            assert!(
                refused(&forged, &ProbeCounters::to_csv(&plan, &[0, 0]), None).contains("of plan")
            );
        }
    }
    let mut forged = plan.clone();
    forged.sums[0].probes[0].0 = forged.probes.len();
    let csv_of_forged = ProbeCounters::to_csv(&forged, &[0, 0]);
    assert!(refused(&forged, &csv_of_forged, None).contains("does not have"));
    // Another launch of the same size, and counters that say so.
    let other = launch_file("lud_diagonal.lud_diagonal.1");
    assert_eq!((other.grid, other.block), (launch.grid, launch.block));
    assert!(refused(&plan, &csv, Some(&other)).contains("the plan is for launch"));
    let digest = plan.launch.clone().unwrap();
    let of_other = csv.replace(&digest, "0123456789abcdef");
    assert!(refused(&plan, &of_other, None).contains("the counters are of launch"));
    // Negative sums are numbers, names of other counters are not.
    let negative = ProbeCounters::to_csv(&plan, &[u64::MAX, 0]);
    assert!(negative.contains("sum,0,-1"));
    assert_eq!(
        ProbeCounters::from_csv(&negative).unwrap().values,
        [u64::MAX, 0]
    );
    let misnamed = csv.replace("sum,1", "sum,2");
    assert!(refused(&plan, &misnamed, None).contains("no counter sum,2"));
}

#[test]
fn plans_and_counters_of_other_code_are_refused() {
    let (build, launch) = (
        "if_else_nested.sm_61.cubin",
        "if_else_nested.if_else_nested.0",
    );
    let contents = cubin(build);
    let session = Session::open(build, &contents).unwrap();
    let launch = launch_file(launch);
    let kernel = session
        .launched_kernel(None, launch.kernel.as_deref())
        .unwrap();
    let plan = probe_plan(&session, kernel, &ProbeOptions::default()).unwrap();
    // More executions than the warps of the launch can make.
    let many = vec![1 << 40; plan.probes.len()];
    let csv = ProbeCounters::to_csv(&plan, &many);
    let counters = ProbeCounters::from_csv(&csv).unwrap();
    let refused = |plan: &ProbePlan, counters: &ProbeCounters| {
        let decoded = decode_counters(&session, kernel, plan, counters, Some(&launch));
        decoded.unwrap_err().to_string()
    };
    assert!(refused(&plan, &counters).contains("contradict each other"));
    let other = ProbePlan {
        code: "0123456789abcdef".to_owned(),
        ..plan.clone()
    };
    assert!(refused(&other, &counters).contains("the plan is for code 0123456789abcdef"));
    let of_other = ProbeCounters {
        code: Some("0123456789abcdef".to_owned()),
        ..counters.clone()
    };
    assert!(refused(&plan, &of_other).contains("the counters are of code"));
    let of_other = ProbeCounters {
        plan: Some(1),
        ..counters.clone()
    };
    assert!(refused(&plan, &of_other).contains("the counters are of plan"));
    // A multiplier in the file of the plan.
    let mut forged = plan.clone();
    let term = forged
        .derived
        .iter_mut()
        .find_map(|d| d.probes.first_mut())
        .unwrap();
    term.1 = "7/3".to_owned();
    assert!(refused(&forged, &counters).contains("is off by"));
    let mut forged = plan.clone();
    forged.probes[0].at += 8;
    assert_ne!(refused(&forged, &counters), "");
}

#[test]
fn counts_of_random_programs_are_reconstructed() {
    let found = random_plans(14, 1_500, holds_in_every_run);
    assert!(found.wrong.is_empty(), "{:?}", found.wrong);
    assert!(found.probes < 2 * found.blocks);
    println!(
        "{} programs, {} blocks, {} counters, {} runs",
        found.programs, found.blocks, found.probes, found.runs
    );
}

/// A row that only limits counts is no equality of real runs: reconstructed counts are wrong if it is used as one.
#[test]
fn an_inequality_used_as_an_equality_is_caught() {
    for family in [RowFamily::ThreadFlow, RowFamily::Pops] {
        let planted = |row: &CountRow| holds_in_every_run(row) || row.family == family;
        let found = random_plans(15, 300, planted);
        assert!(!found.wrong.is_empty(), "{family:?}");
    }
}

#[test]
fn forged_certificates_are_refused() {
    let (build, _) = SAMPLE[0];
    let session = Session::open(build, &cubin(build)).unwrap();
    let mut rng = Rng::with_seed(3);
    let mut forged = 0;
    for kernel in session.kernels(None).unwrap() {
        let system = probe_system(&session, kernel, &BoundOptions::default()).unwrap();
        let plan = BlockPlan::new(&system);
        for _ in 0..300 {
            if let Some(is_refused) = plan.forged(&mut rng) {
                assert!(is_refused, "{}", kernel.name);
                forged += 1;
            }
        }
    }
    assert!(forged > 100);
}
