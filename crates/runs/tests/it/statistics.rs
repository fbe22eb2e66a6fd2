//! Counts of untimed executions, compared with counts by hand.
#![allow(clippy::panic, reason = "tests")]

use warpbound_base::Diagnostic;
use warpbound_launch::LaunchFile;
use warpbound_query::Session;
use warpbound_report::FunctionalReport;
use warpbound_report::functional::IssueCounts;
use warpbound_runs::{FunctionalRun, RunOptions};

fn run(file: &str, launch: &str) -> FunctionalReport {
    let file = format!("{file}.sm_61.cubin");
    let path = format!("{}/../../kernels/built/{file}", env!("CARGO_MANIFEST_DIR"));
    let contents = std::fs::read(path).expect("the cubin is in the repository");
    let session = Session::open(&file, &contents).expect("it loads");
    let none = |name: &str| Err(Diagnostic::new(name));
    let launch = LaunchFile::parse("launch", launch, &none).expect("a launch");
    let kernel = session
        .launched_kernel(None, launch.kernel.as_deref())
        .expect("a kernel");
    let run = warpbound_runs::execute(
        &session,
        kernel,
        &launch,
        &RunOptions::default(),
        &mut |_| (),
    )
    .and_then(FunctionalRun::as_expected)
    .expect("it runs");
    run.report
}

/// All groupings have the same totals.
fn check_sums(report: &FunctionalReport) {
    let sum = |parts: Vec<IssueCounts>| {
        let mut sum = IssueCounts::default();
        for part in parts {
            sum += part;
        }
        sum
    };
    let ways = [
        report.classes.iter().map(|c| c.issued).collect(),
        report.mnemonics.iter().map(|c| c.issued).collect(),
        report.lines.iter().map(|c| c.issued).collect(),
    ];
    for way in ways {
        assert_eq!(sum(way), report.issued);
    }
    let branches: u64 = report.branches.iter().map(|b| b.divergences).sum();
    let lines: u64 = report.lines.iter().map(|l| l.divergences).sum();
    assert_eq!((branches, lines), (report.divergences, report.divergences));
    let of_classes: u64 = report
        .classes
        .iter()
        .filter(|c| c.class.starts_with("load/store ") || c.class.starts_with("atomic "))
        .map(|c| c.issued.executed_thread_instructions)
        .sum();
    let accesses: u64 = report.memory.iter().map(|m| m.thread_accesses).sum();
    assert_eq!(of_classes, accesses);
}

/// Returns warps, threads and bytes of a memory space.
fn accesses(report: &FunctionalReport, space: &str, access: &str) -> [u64; 3] {
    let found = report
        .memory
        .iter()
        .find(|m| (m.space, m.access) == (space, access));
    let found = found.unwrap_or_else(|| panic!("no {access} of {space}"));
    [found.warp_accesses, found.thread_accesses, found.bytes]
}

/// A product of n x n matrices loads two elements for each thread, and 2 n from shared memory.
#[test]
fn accesses_of_a_matrix_product() {
    for n in [4u64, 8, 11] {
        let launch = format!(
            "{}/../../kernels/cuda/matmul_int.{n}x{n}.toml",
            env!("CARGO_MANIFEST_DIR")
        );
        let report = run(
            "matmul_int",
            &std::fs::read_to_string(launch).expect("a launch"),
        );
        check_sums(&report);
        let (threads, warps) = (n * n, (n * n).div_ceil(32));
        for (space, access, times) in [
            ("global", "load", 2),
            ("global", "store", 1),
            ("shared", "load", 2 * n),
            ("shared", "store", 2),
        ] {
            let expected = [times * warps, times * threads, 4 * times * threads];
            assert_eq!(
                accesses(&report, space, access),
                expected,
                "{n}: {space} {access}"
            );
        }
        assert_eq!(report.memory.len(), 4);
        assert_eq!(report.divergences, 0);
    }
}

/// With 0, 1, 2, ... each warp has even and odd numbers, and diverges once; with zeros it has even ones only.
#[test]
fn divergence_of_an_if() {
    for (fill, divergences) in [("iota", 3), ("zeros", 0)] {
        let launch = format!(
            "kernel = \"if_else\"\ngrid = [3]\nblock = [32]\n\
             [[param]]\ntype = \"s32\"\nshape = [98]\nfill = \"{fill}\"\n\
             [[param]]\ntype = \"s32\"\nshape = [96]\n\
             [[param]]\ntype = \"s32\"\nvalue = 5\n"
        );
        let report = run("if_else", &launch);
        check_sums(&report);
        assert_eq!(report.divergences, divergences);
        let parted: Vec<_> = report
            .branches
            .iter()
            .filter(|b| b.divergences > 0)
            .collect();
        assert_eq!(parted.len() as u64, divergences.min(1));
        for branch in parted {
            assert_eq!((branch.mnemonic.as_str(), branch.divergences), ("BRA", 3));
            let IssueCounts {
                warp_instructions,
                thread_instructions,
                executed_thread_instructions,
            } = branch.issued;
            assert_eq!((warp_instructions, thread_instructions), (3, 96));
            assert_eq!(executed_thread_instructions, 48);
            assert_eq!(branch.source.as_deref(), Some("if_else.cu:9"));
        }
        assert!(report.branches.is_sorted_by(|a, b| a.address < b.address));
        let counts: Vec<u64> = report
            .lines
            .iter()
            .map(|l| l.issued.warp_instructions)
            .collect();
        assert!(counts.is_sorted_by(|a, b| a >= b), "{counts:?}");
        // Both sides of a diverged warp are issued for half of its lanes.
        let even = report
            .lines
            .iter()
            .find(|l| l.source.as_deref() == Some("if_else.cu:10"));
        let even = even.expect("the even side").issued;
        let lanes = if divergences > 0 { 16 } else { 32 };
        assert_eq!(even.thread_instructions, lanes * even.warp_instructions);
    }
}

/// Four bytes of each word are counted, each by an atomic operation on shared memory.
#[test]
fn atomics_of_a_histogram() {
    let launch = "grid = [2]\nblock = [64]\n\
                  [[param]]\ntype = \"u32\"\nshape = [200]\nfill = { random = 1 }\nlow = 0\nhigh = 4294967295\n\
                  [[param]]\ntype = \"u32\"\nshape = [256]\n\
                  [[param]]\ntype = \"s32\"\nvalue = 200\n";
    let report = run("histogram", launch);
    check_sums(&report);
    let [_, threads, bytes] = accesses(&report, "shared", "atomic");
    assert_eq!((threads, bytes), (800, 3200));
    assert_eq!(accesses(&report, "global", "load")[1..], [200, 800]);
    assert!(report.classes.iter().any(|c| c.class == "atomic global"));
}

/// Lanes whose guard does not hold access nothing.
#[test]
fn guarded_accesses() {
    // 40 of 64 threads are below n.
    let launch = "kernel = \"saxpy\"\ngrid = [2]\nblock = [32]\n\
                  [[param]]\ntype = \"f32\"\nvalue = 2\n\
                  [[param]]\ntype = \"f32\"\nshape = [40]\nfill = \"iota\"\n\
                  [[param]]\ntype = \"f32\"\nshape = [40]\n\
                  [[param]]\ntype = \"s32\"\nvalue = 40\n";
    let report = run("convolution", launch);
    check_sums(&report);
    assert_eq!(accesses(&report, "global", "load"), [4, 80, 320]);
    assert_eq!(accesses(&report, "global", "store"), [2, 40, 160]);
    let fp32 = report
        .classes
        .iter()
        .find(|c| c.class == "fp32")
        .expect("FFMA");
    assert_eq!(fp32.issued.executed_thread_instructions, 40);
}
