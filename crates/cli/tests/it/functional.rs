//! `run --functional` with its launch files.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::{CommandOutput, built_folder, run};

/// Creates an empty folder for one test.
fn folder(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    // An earlier run may have left files.
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).expect("a folder");
    path
}

fn launched(cubin: &str, launch: &Path, rest: &[&str]) -> CommandOutput {
    let launch = launch.to_str().expect("a plain path");
    run(&[&["run", cubin, "--functional", "--launch", launch], rest].concat())
}

/// Returns the sorted files in a folder.
fn files(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    let name = |entry: std::io::Result<std::fs::DirEntry>| {
        entry
            .expect("an entry")
            .file_name()
            .into_string()
            .expect("a plain name")
    };
    let mut names: Vec<String> = entries.map(name).collect();
    names.sort();
    names
}

/// Writes a launch of a product of 2 x 2 matrices into the folder, with lines added to the parameter of the product.
fn product(folder: &Path, rest: &str) -> PathBuf {
    let matrix = "type = \"s32\"\nvalues = [1, 2, 3, 4]";
    let text = format!(
        "kernel = \"matmul_int\"\ngrid = [1]\nblock = [2, 2]\n[[param]]\n{matrix}\n[[param]]\n{matrix}\n\
         [[param]]\nname = \"product\"\ntype = \"s32\"\nshape = [2, 2]\n{rest}\n[[param]]\ntype = \"s32\"\nvalue = 2\n"
    );
    let path = folder.join("launch.toml");
    std::fs::write(&path, text).expect("a launch file");
    path
}

const MATMUL: &str = "matmul_int.sm_61.cubin";

/// 7, 10, 15, 22 as an NPY file.
fn expected_file() -> Vec<u8> {
    let header = "{'descr': '<i4', 'fortran_order': False, 'shape': (2, 2), }";
    let mut file = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    file.extend(format!("{header:<117}\n").bytes());
    file.extend([7i32, 10, 15, 22].iter().flat_map(|n| n.to_le_bytes()));
    file
}

#[test]
fn outputs_are_written_beside_the_launch_file() {
    let folder = folder("functional_output");
    let launch = product(&folder, "output = \"end.npy\"");
    launched(MATMUL, &launch, &[]).done();
    assert_eq!(files(&folder), ["end.npy", "launch.toml"]);
    let written = std::fs::read(folder.join("end.npy")).expect("it");
    assert_eq!(written, expected_file());
    // A written file can be the expectation of another run.
    let launch = product(&folder, "expect = \"end.npy\"");
    let message = launched(MATMUL, &launch, &[]).done();
    assert!(
        message.contains("4 elements of buffers are as the launch file expects"),
        "{message}"
    );
}

/// Variables of the module are written like buffers.
#[test]
fn outputs_of_variables() {
    let folder = folder("functional_variable");
    let launch = folder.join("launch.toml");
    let text = "grid = [1]\nblock = [64]\n[[param]]\ntype = \"s32\"\nvalues = [0, 1, 2, 3]\n\
                [[param]]\ntype = \"s32\"\nshape = [4]\n[[param]]\ntype = \"s32\"\nvalue = 4\n\
                [[variable]]\nname = \"counter\"\ntype = \"u32\"\nvalues = [10]\noutput = \"counter.npy\"\n";
    std::fs::write(&launch, text).expect("a launch file");
    launched("module_variables.sm_61.cubin", &launch, &[]).done();
    let written = std::fs::read(folder.join("counter.npy")).expect("it");
    assert_eq!(written[128..], [14, 0, 0, 0]);
}

/// Outputs are written even if they differ from the expected ones.
#[test]
fn outputs_are_written_when_something_else_is_expected() {
    let folder = folder("functional_unexpected");
    let rest = "output = \"end.npy\"\nexpect = [7, 11, 15, 20]";
    let launch = product(&folder, rest);
    let message = launched(MATMUL, &launch, &[]).refusal();
    let expected_message = ": kernel matmul_int: product[0][1] is 10 at the end, not 11, and 1 more of 4 elements differ";
    assert_eq!(message, format!("{}{expected_message}", launch.display()));
    assert_eq!(
        std::fs::read(folder.join("end.npy")).expect("it"),
        expected_file()
    );
}

#[test]
fn a_run_that_fails_leaves_the_outputs_of_before() {
    let folder = folder("functional_fails");
    std::fs::write(folder.join("end.npy"), "before").expect("a file");
    let launch = product(&folder, "output = \"end.npy\"");
    let message = launched(MATMUL, &launch, &["--max-instructions", "5"]).refusal();
    assert!(message.contains("have issued 5 instructions"), "{message}");
    assert_eq!(files(&folder), ["end.npy", "launch.toml"]);
    assert_eq!(
        std::fs::read(folder.join("end.npy")).expect("it"),
        b"before"
    );
}

#[test]
fn files_that_cannot_be_used() {
    let folder = folder("functional_refused");
    let shown = folder.display();
    let refused = |rest: &str| {
        let launch = product(&folder, rest);
        launched(MATMUL, &launch, &[]).refusal()
    };
    let line = |rest: &str| format!("{shown}/launch.toml: line 14: parameter product: {rest}");
    assert_eq!(
        refused("file = \"none.npy\""),
        line(&format!(
            "{shown}/none.npy: cannot be read: No such file or directory (os error 2)"
        ))
    );
    std::fs::write(folder.join("text.npy"), "text").expect("a file");
    assert_eq!(
        refused("expect = \"text.npy\""),
        line("text.npy: no NPY file; write it with numpy.save")
    );
    assert_eq!(
        refused("raw = \"text.npy\""),
        line("text.npy has 1 numbers, the buffer 4")
    );
    assert_eq!(
        refused("output = \"none/end.npy\""),
        format!("{shown}/none/end.npy: cannot be written: No such file or directory (os error 2)")
    );
    assert_eq!(files(&folder), ["launch.toml", "text.npy"]);
}

/// Runs each example of the documentation, in order, in one folder.
#[test]
fn examples_of_the_documentation() {
    let folder = folder("functional_examples");
    let text =
        std::fs::read_to_string(built_folder().join("../../docs/launch-files.md")).expect("it");
    let mut count = 0;
    for block in text.split("```toml\n").skip(1) {
        let (example, _) = block.split_once("```").expect("it ends");
        let first = example.lines().next().unwrap_or_default();
        let cubin = first.strip_prefix("# kernels/built/").expect("a cubin");
        let launch = folder.join("launch.toml");
        std::fs::write(&launch, example).expect("a launch file");
        let message = launched(cubin, &launch, &[]);
        assert_eq!(
            (message.code, message.stderr.as_str()),
            (Some(0), ""),
            "{example}"
        );
        // All examples state expected results, except the one that makes files for the next.
        let expects = example.contains("expect =");
        assert_eq!(
            message.stdout.contains("as the launch file expects"),
            expects,
            "{example}"
        );
        count += 1;
    }
    assert_eq!(count, 15);
    assert_eq!(
        files(&folder),
        [
            "launch.toml",
            "matrix.npy",
            "product.npy",
            "result.npy",
            "transposed.npy"
        ]
    );
}

/// Some of the committed launches, as a user runs them.
#[test]
fn committed_launches() {
    for launch in [
        "matmul_int.matmul_int.1",
        "matmul_int.matmul_int_fixed_11.0",
    ] {
        let path = built_folder().join(format!("../launches/{launch}.toml"));
        let message = launched(MATMUL, &path, &[]).done();
        assert!(
            message.contains("elements of buffers are as the launch file expects"),
            "{message}"
        );
    }
}

const HISTOGRAM: &str = "grid = [64]\nblock = [64]\n\
    [[param]]\ntype = \"u32\"\nshape = [20000]\nfill = { random = 1 }\nhigh = 4294967295\n\
    [[param]]\ntype = \"u32\"\nshape = [256]\noutput = \"bins.npy\"\n\
    [[param]]\ntype = \"s32\"\nvalue = 20000\n";

/// The output does not depend on the number of threads, not even if blocks add to the same counters.
#[test]
fn threads_change_nothing() {
    let folder = folder("functional_threads");
    let launch = folder.join("launch.toml");
    std::fs::write(&launch, HISTOGRAM).expect("a launch file");
    let output = |threads: &str| {
        let format = ["--format", "json", "--threads", threads];
        let message = launched("histogram.sm_61.cubin", &launch, &format).done();
        (message, std::fs::read(folder.join("bins.npy")).expect("it"))
    };
    let one = output("1");
    let counts = one.1[128..]
        .as_chunks()
        .0
        .iter()
        .map(|b| u32::from_le_bytes(*b));
    assert_eq!(counts.sum::<u32>(), 4 * 20000);
    for threads in ["2", "5"] {
        assert!(output(threads) == one, "{threads} threads");
    }
}

/// The keys of JSON are part of the interface.
#[test]
fn statistics_as_json() {
    let folder = folder("functional_json");
    let launch = folder.join("launch.toml");
    std::fs::write(&launch, HISTOGRAM).expect("a launch file");
    let message = launched("histogram.sm_61.cubin", &launch, &["--format", "json"]).done();
    let report: Value = serde_json::from_str(&message).expect("JSON");
    let keys = |value: &Value| -> Vec<String> {
        let object = value.as_object().expect("an object");
        object.keys().cloned().collect()
    };
    let issued = [
        "executed_thread_instructions",
        "thread_instructions",
        "warp_instructions",
    ];
    let with = |own: &[&str]| {
        let mut keys: Vec<String> = own.iter().chain(&issued).map(|k| (*k).to_owned()).collect();
        keys.sort();
        keys
    };
    assert_eq!(report["schema"], "warpbound.functional/2");
    assert_eq!(
        keys(&report),
        with(&[
            "block",
            "branches",
            "checked_elements",
            "classes",
            "divergences",
            "file",
            "grid",
            "kernel",
            "lines",
            "memory",
            "mnemonics",
            "notes",
            "schema",
        ])
    );
    for (list, own) in [
        ("classes", &["class"][..]),
        ("mnemonics", &["mnemonic"]),
        (
            "branches",
            &["address", "divergences", "mnemonic", "source"],
        ),
        ("lines", &["divergences", "source"]),
    ] {
        assert_eq!(keys(&report[list][0]), with(own), "{list}");
    }
    assert_eq!(
        keys(&report["memory"][0]),
        [
            "access",
            "bytes",
            "space",
            "thread_accesses",
            "warp_accesses"
        ]
    );
}

/// Without --stats the text stays short.
#[test]
fn short_text() {
    let folder = folder("functional_short");
    let launch = product(&folder, "expect = [7, 10, 15, 22]");
    let short = launched(MATMUL, &launch, &[]).done();
    assert_eq!(short.lines().count(), 4, "{short}");
    let long = launched(MATMUL, &launch, &["--stats"]).done();
    assert!(long.starts_with(&short));
    for head in ["class ", "opcode ", "branch ", "memory ", "line "] {
        assert!(long.contains(&format!("\n\n    {head}")), "{head}");
    }
}

/// A read of uninitialised shared memory does not end the run, and is noted.
#[test]
fn notes() {
    let folder = folder("functional_notes");
    let launch = folder.join("launch.toml");
    // With 2 threads for 8 numbers, half of the tree stays uninitialised.
    let text = "grid = [1]\nblock = [2]\n[[param]]\ntype = \"s32\"\nshape = [8]\n\
                [[param]]\ntype = \"s32\"\nshape = [8]\n[[param]]\ntype = \"s32\"\nvalue = 8\n";
    std::fs::write(&launch, text).expect("a launch file");
    let message = launched("prefix_scan.sm_61.cubin", &launch, &[]).done();
    let notes: Vec<&str> = message
        .lines()
        .filter(|line| line.contains("  note: 0x"))
        .collect();
    assert!(!notes.is_empty(), "{message}");
    for note in notes {
        assert!(
            note.contains("LDS: byte ") && note.contains("(prefix_scan.cu:"),
            "{note}"
        );
        assert!(
            note.contains("but no thread of the block has written it"),
            "{note}"
        );
    }
}

/// References of the module are listed, and a launch that leaves one unbound names it.
#[test]
fn references_are_bound_by_name() {
    const CUBIN: &str = "texture_reference.nvrtc11.sm_61.cubin";
    let listed = run(&["list", CUBIN]).done();
    for line in ["texture reference picture", "surface reference canvas"] {
        assert!(listed.contains(line), "{listed}");
    }
    let folder = folder("functional_references");
    let launch = folder.join("launch.toml");
    let text = "kernel = \"reference_mirror\"\ngrid = [1]\nblock = [2]\n\
        [[param]]\ntype = \"s32\"\nvalue = 2\n\
        [[buffer]]\nname = \"pixels\"\ntype = \"f32\"\nshape = [2]\n\
        [[texture]]\nname = \"picture\"\ntexels = \"pixels\"\nkind = \"2d\"\nsize = [2, 1]\n";
    std::fs::write(&launch, text).expect("a launch file");
    let refusal = launched(CUBIN, &launch, &[]).refusal();
    assert!(
        refusal.contains("nothing is bound to the surface reference canvas"),
        "{refusal}"
    );
}
