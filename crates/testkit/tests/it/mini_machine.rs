//! Cycles of TriangleSum for each machine rule that the paper leaves open: the table in `kernels/msimt/README.md`.

use std::path::Path;

use warpbound_query::{Session, mini};
use warpbound_runs::run_mini;

/// Returns the cycles of TriangleSum with 4 and with 16 threads, on the paper's machine with one line replaced.
fn cycles(line: &str, other: &str) -> [u64; 2] {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let read = |name: &str| std::fs::read_to_string(root.join(name)).expect(name);
    let text = read("machine/mini-simt/paper-2014.toml");
    assert!(text.contains(line), "{line}");
    let machine = mini::Machine::parse("machine", &text.replace(line, other)).expect("a machine");
    let program = read("kernels/msimt/triangle_sum.msimt");
    let session = Session::open("triangle_sum.msimt", program.as_bytes()).expect("a program");
    ["4x1", "16x4"].map(|name| {
        let file = format!("kernels/msimt/triangle_sum.{name}.toml");
        let launch = mini::LaunchFile::parse(&file, &read(&file)).expect("a launch");
        let kernel = session
            .launched_kernel(None, launch.kernel.as_deref())
            .expect("one kernel");
        let report = run_mini(&session, kernel, &launch, &machine, None, None);
        report.expect("a run").cycles
    })
}

#[test]
fn each_choice_takes_the_cycles_in_the_readme() {
    for (line, other, expected) in [
        ("warps = 64", "warps = 64", [91, 688]),
        ("\"first-warp\"", "\"next-warp\"", [91, 685]),
        ("\"round-robin\"", "\"lowest-first\"", [91, 700]),
        ("\"round-robin\"", "\"greedy\"", [91, 664]),
        ("\"taken-first\"", "\"fall-through-first\"", [91, 685]),
        (
            "barrier_release = { cycles = [1, 1]",
            "barrier_release = { cycles = [2, 2]",
            [95, 704],
        ),
        (
            "memory = { cycles = [10, 10]",
            "memory = { cycles = [11, 11]",
            [93, 696],
        ),
    ] {
        assert_eq!(cycles(line, other), expected, "{other}");
    }
}
