//! Snapshots of outputs in `tests/expected`. `WARPBOUND_BLESS=1` rewrites the files.

use std::path::Path;

use crate::support::run;

#[track_caller]
fn expect(name: &str, arguments: &[&str]) {
    let text = run(arguments).done();
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/expected")
        .join(name);
    if std::env::var_os("WARPBOUND_BLESS").is_some() {
        std::fs::write(&path, text).expect("the file is written");
        return;
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(
        text, expected,
        "not as in tests/expected/{name}; if it should be, run the tests with WARPBOUND_BLESS=1"
    );
}

#[test]
fn bound_of_a_loop_with_break() {
    expect(
        "bound.txt",
        &["bound", "break_loop.sm_61.cubin", "--param", "p3=1..100"],
    );
}

#[test]
fn facts_of_nested_loops() {
    expect(
        "facts.txt",
        &[
            "facts",
            "nested_loops.sm_61.cubin",
            "--kernel",
            "nested_divergent",
        ],
    );
}

#[test]
fn graph_of_if_else() {
    expect(
        "cfg.txt",
        &["cfg", "if_else.sm_61.cubin", "--kernel", "if_else"],
    );
}

#[test]
fn listing_of_an_early_exit() {
    expect("disasm.txt", &["disasm", "early_exit.sm_61.cubin"]);
}

#[test]
fn operations_of_an_early_exit() {
    expect(
        "disasm_ir.txt",
        &["disasm", "early_exit.sm_61.cubin", "--ir"],
    );
}

#[test]
fn divergence_of_a_loop_with_break() {
    expect("divergence.txt", &["divergence", "break_loop.sm_61.cubin"]);
}

#[test]
fn divergence_behind_calls_of_a_pointer() {
    let kernel = ["--kernel", "callback"];
    let arguments = ["divergence", "callback.sm_61.cubin"];
    expect("divergence_callback.txt", &[arguments, kernel].concat());
}

const TRIANGLE_SUM: [&str; 3] = [
    "../msimt/triangle_sum.msimt",
    "--launch",
    "../msimt/triangle_sum.16x4.toml",
];

#[test]
fn run_of_triangle_sum() {
    expect("run.txt", &[&["run"], &TRIANGLE_SUM[..]].concat());
}

#[test]
fn abstract_simulation_of_triangle_sum() {
    expect("cta.txt", &[&["cta"], &TRIANGLE_SUM[..]].concat());
    let dot = [&["cta"], &TRIANGLE_SUM[..], &["--format", "dot"]].concat();
    expect("cta.dot", &dot);
}

#[test]
fn run_of_a_matrix_product() {
    expect(
        "functional.txt",
        &[
            "run",
            "matmul_int.sm_61.cubin",
            "--functional",
            "--stats",
            "--launch",
            "../cuda/matmul_int.4x4.toml",
        ],
    );
}

#[test]
fn audit_of_a_matrix_product() {
    expect(
        "audit.txt",
        &[
            "audit",
            "matmul_int.sm_61.cubin",
            "--launch",
            "../cuda/matmul_int.8x8.toml",
            "--loop-default",
            "9",
            "--runs",
            "5",
        ],
    );
}
