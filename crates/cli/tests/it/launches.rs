//! Options about launches: `--launch`, `--block`, `--grid`, `--param`.

use crate::support::{one_line, run, scratch};

const MATMUL: &str = "matmul_int.sm_61.cubin";
const LAUNCH: &str = "../cuda/matmul_int.8x8.toml";

/// Returns the message about statements that `bound` refuses before any kernel.
#[track_caller]
fn refusal(file: &str, options: &[&str]) -> String {
    let command = [&["bound", file, "--loop-default", "10"], options].concat();
    run(&command).refusal()
}

#[test]
fn sizes_that_no_gpu_has() {
    for (options, message) in [
        (
            &["--block", "0"][..],
            "--block: 0 is not between 1 and 1024",
        ),
        (&["--block", "32,0"], "--block: 0 is not between 1 and 1024"),
        (
            &["--block", "1025"],
            "--block: 1025 is not between 1 and 1024",
        ),
        (
            &["--block", "1,1,65"],
            "--block: 65 is not between 1 and 64",
        ),
        (&["--block", "-1"], "--block: -1 is not between 1 and 1024"),
        (
            &["--block", "64,32"],
            "--block: a block has at most 1024 threads",
        ),
        (
            &["--block", "64..128,32"],
            "--block: a block has at most 1024 threads",
        ),
        (&["--block", "0..4"], "--block: 0 is not between 1 and 1024"),
        (&["--block", "8..4"], "--block: the range 8..4 is empty"),
        (
            &["--grid", "0"],
            "--grid: 0 is not between 1 and 2147483647",
        ),
        (
            &["--grid", "1,65536"],
            "--grid: 65536 is not between 1 and 65535",
        ),
        (&["--grid", "1,1,2..1"], "--grid: the range 2..1 is empty"),
    ] {
        assert_eq!(refusal(MATMUL, options), message, "{options:?}");
    }
}

/// Groups of AMD's GPUs may have 1024 work-items along z, and grids more groups along y and z than CUDA's.
#[test]
fn sizes_of_the_family() {
    let kernel = "grid_3d.gfx803.co";
    let sizes = ["--block", "1,1,65", "--grid", "1,65536,70000"];
    let bound = [&["bound", kernel, "--loop-default", "10"], &sizes[..]].concat();
    run(&bound).done();
    let refused = refusal(kernel, &["--block", "1,1,1025"]);
    assert_eq!(refused, "--block: 1025 is not between 1 and 1024");
}

#[test]
fn parameters_that_do_not_fit() {
    let launch = |param| ["--launch", LAUNCH, "--param", param];
    let kernel = |param| ["--kernel", "matmul_int", "--param", param];
    for (options, message) in [
        (
            launch("m=4"),
            "there is no parameter \"m\"; it has a (8 bytes), b (8 bytes), product (8 bytes), n (4 bytes)",
        ),
        (
            kernel("n=4"),
            "there is no parameter \"n\"; it has p0 (8 bytes), p1 (8 bytes), p2 (8 bytes), p3 (4 bytes)",
        ),
        (
            launch("a=4"),
            "--param a: it is the address of a buffer, not a number",
        ),
        (
            launch("n=2147483648"),
            "--param n: 2147483648 is not in the range of its type, -2147483648 to 2147483647",
        ),
        (
            kernel("p3=-1..4294967296"),
            "--param p3: -1..4294967296 is not in the range of its type, -2147483648 to 4294967295",
        ),
        (
            kernel("p3[4]=1"),
            "parameter p3 (4 bytes) has no word at byte 4",
        ),
        (
            kernel("p0[2]=1"),
            "parameter p0 (8 bytes) has no word at byte 2",
        ),
    ] {
        let expected = format!("{MATMUL}: kernel matmul_int: {message}");
        assert_eq!(refusal(MATMUL, &options), expected);
    }
    assert_eq!(
        refusal(MATMUL, &kernel("p3=4..1")),
        "--param p3: the range 4..1 is empty"
    );
    let twice = [&kernel("p3=1")[..], &["--param", "3=2"]].concat();
    assert!(refusal(MATMUL, &twice).ends_with("--param 3: it is stated twice"));
}

#[test]
fn kinds_of_parameters() {
    for (cubin, launch, param, message) in [
        (
            "convolution",
            "convolution.saxpy.0",
            "a=1..2",
            "--param a: it is f32, and ranges are for integers",
        ),
        (
            "pointers",
            "pointers.row_sums.0",
            "table=1..2",
            "--param table: it has 24 bytes: state its words, such as table[0]",
        ),
        (
            "pointers",
            "pointers.row_sums.0",
            "table[24]=1",
            "parameter table (24 bytes) has no word at byte 24",
        ),
        (
            "pointers",
            "pointers.row_sums.0",
            "table[0]=4294967296",
            "--param table[0]: 4294967296 is not in the range of its type, -2147483648 to 4294967295",
        ),
        (
            "texture",
            "texture.texture_blur.0",
            "image=1",
            "--param image: it is a texture or surface, not a number",
        ),
    ] {
        let cubin = format!("{cubin}.sm_61.cubin");
        let launch = format!("../launches/{launch}.toml");
        let found = refusal(&cubin, &["--launch", &launch, "--param", param]);
        assert!(found.ends_with(message), "{found}");
    }
    let structure = ["--launch", "../launches/pointers.row_sums.0.toml"];
    let word = ["--param", "table[0]=1..4", "--loop-default", "10"];
    run(&[&["bound", "pointers.sm_61.cubin"], &structure[..], &word].concat()).done();
}

/// Without a kernel's name, a parameter is one of the kernels that have it.
#[test]
fn several_kernels() {
    assert_eq!(
        refusal(MATMUL, &["--param", "p9=1"]),
        format!(
            "{MATMUL}: no kernel has a parameter \"p9\"; by position, parameters are called p0, p1, ..."
        )
    );
    // `matmul_int_2d` and others have other parameters.
    run(&[
        "bound",
        MATMUL,
        "--loop-default",
        "10",
        "--param",
        "p3=1..8",
    ])
    .done();
    let text = std::fs::read_to_string(
        std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../kernels/cuda/matmul_int.8x8.toml"),
    )
    .expect("a launch");
    let nameless = scratch("nameless.toml", text.replace("kernel = ", "# "));
    let message = refusal(MATMUL, &["--launch", &nameless]);
    assert!(
        message.contains("the file has several kernels: "),
        "{message}"
    );
    assert!(message.contains("choose with --kernel"), "{message}");
    for command in ["bound", "facts", "divergence", "cfg"] {
        let kernel = ["--kernel", "matmul_int", "--launch", &nameless];
        let named = run(&[&[command, MATMUL][..], &kernel].concat());
        assert_eq!(named.stderr, "", "{command}");
        let other = ["--kernel", "break_loop", "--launch", LAUNCH];
        let other = run(&[&[command, "break_loop.sm_61.cubin"][..], &other].concat());
        assert_eq!(
            other.refusal(),
            format!("{LAUNCH}: kernel break_loop: the launch is of kernel \"matmul_int\""),
            "{command}"
        );
    }
    let message = run(&["bound", "break_loop.sm_61.cubin", "--launch", LAUNCH]).refusal();
    assert!(
        message.contains("there is no kernel \"matmul_int\""),
        "{message}"
    );
}

/// The kernel of the launch is the only one in the answer.
#[test]
fn the_kernel_of_the_launch() {
    let names = |options: &[&str]| {
        let command = ["bound", MATMUL, "--loop-default", "10", "--format", "json"];
        let out = run(&[&command, options].concat()).done();
        out.matches("\"symbol\": ").count()
    };
    assert!(names(&[]) > 1);
    assert_eq!(names(&["--launch", LAUNCH]), 1);
}

#[test]
fn other_launches_than_the_kernel_allows() {
    let launch = |text: &str| {
        let text = format!("grid = [1]\n{text}");
        scratch("other.toml", text)
    };
    let refused = |text: &str| refusal("break_loop.sm_61.cubin", &["--launch", &launch(text)]);
    let message = refused("block = [32]");
    assert!(
        message.ends_with("the kernel has 4 parameters, the launch 0"),
        "{message}"
    );
    let param = "{ type = \"s32\", value = 1 }";
    let message = refused(&format!(
        "block = [32]\nparam = [{param}, {param}, {param}, {param}]"
    ));
    assert!(
        message.ends_with("parameter 0 has 4 bytes, and 8 in the kernel"),
        "{message}"
    );
    let message = run(&[
        "bound",
        "break_loop.sm_61.cubin",
        "--launch",
        "missing.toml",
    ])
    .refusal();
    assert!(
        message.starts_with("missing.toml: cannot be read"),
        "{message}"
    );
}

#[test]
fn mini_simt_has_blocks_only() {
    let file = "../msimt/triangle_sum.msimt";
    for options in [
        ["--grid", "1"],
        ["--param", "n=1"],
        ["--launch", "../msimt/triangle_sum.16x4.toml"],
    ] {
        let message = refusal(file, &options);
        let expected = format!(
            "{file}: {} is for GPU kernels, this is mini-SIMT",
            options[0]
        );
        assert_eq!(message, expected);
    }
    run(&["bound", file, "--loop-default", "9", "--block", "16..32"]).done();
}

/// The size of a launch is that of `--block`, for all analyses.
#[test]
fn a_launch_has_a_block() {
    let row_leader = "row_leader.sm_61.cubin";
    let kernel = [
        "--kernel",
        "row_leader_shared",
        "--no-derive",
        "--loop-default",
        "10",
    ];
    let bound = |options: &[&str]| {
        let command = [&["bound", row_leader][..], &kernel, options].concat();
        let out = run(&command).done();
        let line = out.lines().nth(1).expect("a bound").to_owned();
        line.split_once(" instructions")
            .expect("a bound")
            .0
            .to_owned()
    };
    let known = bound(&["--block", "32,4"]);
    assert_ne!(known, bound(&[]));
    assert_eq!(known, bound(&["--block", "32..32,4"]));
    // With a range, the number of lanes that a branch leaves is not known.
    assert_eq!(bound(&[]), bound(&["--block", "31..32,4"]));
}

#[test]
fn a_value_that_suits_no_kernel_is_an_error_of_each() {
    let out = run(&[
        "bound",
        MATMUL,
        "--loop-default",
        "10",
        "--param",
        "p3=4294967296",
    ]);
    assert_eq!(out.code, Some(3));
    assert!(one_line(&out.stderr).contains("is not in the range of its type"));
}
