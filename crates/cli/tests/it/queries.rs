//! Queries on files with many kernels: kernel names, inputs, outputs.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::support::{built, built_folder, one_line, run, scratch};

const SORT: &str = "bitonic_sort.sm_61.cubin";

fn container(name: &str) -> String {
    let data = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../load/tests/data/containers/"
    );
    format!("{data}{name}")
}

/// Creates an empty folder for one test.
fn folder(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).expect("a scratch folder");
    path
}

fn spelled(path: &Path) -> &str {
    path.to_str().expect("a plain path")
}

/// Returns the names in the order of the file.
fn kernels(name: &str) -> Vec<String> {
    let arguments = ["bound", SORT, "--loop-default", "2", "--format", "json"];
    let message = run(&[&arguments[..], &["--kernel", name]].concat()).done();
    let report: Value = serde_json::from_str(&message).expect("JSON");
    let kernels = report["kernels"].as_array().expect("kernels");
    let names = kernels.iter().map(|k| k["name"].as_str().expect("a name"));
    names.map(str::to_owned).collect()
}

#[test]
fn kernels_by_parts_of_their_names() {
    let all = kernels("*");
    let blocks: Vec<String> = all
        .iter()
        .filter(|n| n.contains("::block<"))
        .cloned()
        .collect();
    assert!(blocks.len() > 1 && blocks.len() < all.len(), "{all:?}");
    assert_eq!(kernels("block"), blocks);
    assert_eq!(kernels("bitonic::block"), blocks);
    assert_eq!(kernels("bitonic::bl*"), blocks);
    let one = ["void bitonic::block<int>(int*)".to_owned()];
    assert_eq!(kernels("block<int>"), one);
    assert_eq!(kernels("bitonic::block<int>"), one);
    // Every command accepts these names; a command on one kernel names the candidates.
    for command in ["disasm", "facts", "divergence", "list"] {
        let text = run(&[command, SORT, "--kernel", "block"]).done();
        assert!(
            blocks.iter().all(|name| text.contains(name)),
            "{command}: {text}"
        );
    }
    let cfg = |name: &str| run(&["cfg", SORT, "--kernel", name]);
    assert_eq!(cfg("block<int>").done(), cfg(&one[0]).done());
    let message = cfg("block").refusal();
    assert!(
        message.contains("is the name of several kernels: "),
        "{message}"
    );
    assert!(
        blocks.iter().all(|name| message.contains(name)),
        "{message}"
    );
}

#[test]
fn launch_files_name_kernels_as_options_do() {
    let launch = scratch(
        "short_name.toml",
        "kernel = \"external_c*\"\ngrid = [1]\nblock = [1]\n",
    );
    let message = run(&["run", "external_call.sm_61.cubin", "--launch", &launch]).refusal();
    assert!(
        message.contains("kernel external_call: the kernel has 3 parameters"),
        "{message}"
    );
}

#[test]
fn the_nearest_kernel_is_suggested() {
    let message = run(&["bound", SORT, "--kernel", "blokc"]).refusal();
    let first = message.split("; the file has ").nth(1).unwrap_or_default();
    assert!(first.starts_with("bitonic::block, "), "{message}");
    let library = container("host.so");
    let message = run(&["bound", &library, "--kernel", "if_onyl"]).refusal();
    assert!(
        message.contains("there is no kernel \"if_onyl\"; the file has if_only"),
        "{message}"
    );
}

/// A damaged image does not prevent an answer about a kernel in another one.
#[test]
fn an_answered_question_ends_well() {
    let mut bytes = std::fs::read(container("lz4.fatbin")).expect("a file of the tests");
    for byte in &mut bytes[0x60..0x90] {
        *byte ^= 0x55;
    }
    let file = scratch("other_damaged.fatbin", bytes);
    for command in [
        &["bound", "--loop-default", "10"][..],
        &["disasm"],
        &["facts"],
        &["divergence"],
        &["list"],
    ] {
        let asked = run(&[command, &[&file, "--kernel", "vote"]].concat());
        assert_eq!(asked.code, Some(0), "{command:?}");
        assert!(asked.stdout.contains("vote"), "{command:?}");
        // The damaged image is named nevertheless: it may contain the kernel as well.
        assert!(one_line(&asked.stderr).contains("image 1"), "{command:?}");
        // This query selects all images.
        let all = run(&[command, &[file.as_str()]].concat());
        let expected = if command == ["list"] { 0 } else { 3 };
        assert_eq!(all.code, Some(expected), "{command:?}");
        let none = run(&[command, &[&file, "--kernel", "nothing"]].concat());
        assert_eq!(none.code, Some(3), "{command:?}");
    }
    // A missing bound keeps its exit code.
    let message = run(&["bound", "break_loop.sm_61.cubin", "--kernel", "break_loop"]);
    assert_eq!(message.code, Some(2));
}

/// A kernel without an answer is named, and the others are answered.
#[test]
fn lists_are_documents() {
    let parse = |arguments: &[&str]| -> Value {
        let message = run(&[arguments, &["--format", "json"]].concat()).done();
        serde_json::from_str(&message).expect("one document")
    };
    let report = parse(&["list", SORT]);
    assert_eq!(report["schema"], "warpbound.list/1");
    assert_eq!(
        (&report["file"], &report["kind"]),
        (&SORT.into(), &"cubin".into())
    );
    let contents = &report["images"][0]["contents"];
    let names: Vec<&str> = contents["kernels"]
        .as_array()
        .expect("kernels")
        .iter()
        .filter_map(|kernel| kernel["name"].as_str())
        .collect();
    assert_eq!(names, kernels("*"));
    let library = container("host.so");
    let all = parse(&["list", &library]);
    let images = all["images"].as_array().expect("images");
    assert_eq!(images.len(), 6);
    assert!(images.iter().all(|image| image["contents"].is_null()));
    assert_eq!(images[2]["kind"], "PTX");
    let some = parse(&["list", &library, "--sm", "sm_61"]);
    let images = some["images"].as_array().expect("images");
    let numbers: Vec<u64> = images.iter().filter_map(|i| i["number"].as_u64()).collect();
    assert_eq!(numbers, [1, 4]);
    assert!(
        images
            .iter()
            .all(|image| image["contents"]["kernels"].is_array())
    );
}

/// Each command writes its output to a file; on failure the file is named and nothing remains.
#[test]
fn every_command_has_an_output() {
    let folder = folder("outputs");
    let triangle = [
        "../msimt/triangle_sum.msimt",
        "--launch",
        "../msimt/triangle_sum.16x4.toml",
    ];
    let product = [
        "matmul_int.sm_61.cubin",
        "--launch",
        "../cuda/matmul_int.4x4.toml",
    ];
    let commands: [Vec<&str>; 12] = [
        vec!["list", SORT],
        vec!["list", SORT, "--format", "json"],
        vec!["disasm", "if_else.sm_61.cubin"],
        vec![
            "cfg",
            "if_else.sm_61.cubin",
            "--kernel",
            "if_only",
            "--format",
            "svg",
        ],
        vec!["divergence", "if_else.sm_61.cubin", "--format", "json"],
        vec!["facts", "nested_loops.sm_61.cubin"],
        vec!["bound", "if_else.sm_61.cubin"],
        [&["run"], &triangle[..]].concat(),
        [&["cta"], &triangle[..]].concat(),
        [&["run"], &product[..]].concat(),
        [&["run"], &product[..], &["--functional"]].concat(),
        [&["audit"], &product[..], &["--loop-default", "10"]].concat(),
    ];
    for arguments in commands {
        let file = folder.join("output");
        let printed = run(&arguments).done();
        let to = |file: &Path| run(&[&arguments[..], &["--output", spelled(file)]].concat());
        assert_eq!(to(&file).done(), "", "{arguments:?}");
        let written = std::fs::read_to_string(&file).expect("it is written");
        assert_eq!(written, printed, "{arguments:?}");
        std::fs::remove_file(&file).expect("it can be removed");
        let nowhere = folder.join("none/output");
        let message = to(&nowhere).refusal();
        let expected = format!("{}: cannot be written: No such file", nowhere.display());
        assert!(message.starts_with(&expected), "{arguments:?}: {message}");
        let left = std::fs::read_dir(&folder).expect("a folder").count();
        assert_eq!(left, 0, "{arguments:?}");
    }
    let file = folder.join("kept");
    std::fs::write(&file, "old").expect("a file");
    let run = |arguments: &[&str]| run(&[arguments, &["--output", spelled(&file)]].concat());
    run(&["disasm", SORT, "--kernel", "nothing"]).refusal();
    assert_eq!(std::fs::read_to_string(&file).expect("there"), "old");
    let message = run(&[&["run"], &product[..], &["--events", spelled(&file)]].concat()).refusal();
    assert!(
        message.ends_with("--output and --events name the same file"),
        "{message}"
    );
}

/// An extracted image is the cubin that was packed.
#[test]
fn images_are_extracted() {
    let folder = folder("extracted");
    let library = container("host.so");
    let cubin = folder.join("one.cubin");
    let one = [
        "extract",
        &library,
        "--image",
        "4",
        "--output",
        spelled(&cubin),
    ];
    assert_eq!(run(&one).done(), "");
    assert_eq!(
        std::fs::read(&cubin).expect("it is written"),
        built("if_else.sm_61.cubin")
    );
    // Several images are written to a folder, which is created.
    let several = folder.join("several");
    let message = run(&[
        "extract",
        &library,
        "--sm",
        "sm_61",
        "--output",
        spelled(&several),
    ])
    .done();
    let names: Vec<&str> = message
        .lines()
        .filter_map(|l| l.rsplit('/').next())
        .collect();
    assert_eq!(names, ["host.so.1.sm_61.cubin", "host.so.4.sm_61.cubin"]);
    let fourth = std::fs::read(several.join(names[1])).expect("it is written");
    assert_eq!(fourth, built("if_else.sm_61.cubin"));
    let found = run(&[
        "extract",
        &library,
        "--kernel",
        "if_on*",
        "--output",
        spelled(&several),
    ]);
    assert_eq!(found.done().lines().count(), 2);
    let message = run(&["extract", &library]).refusal();
    assert!(
        message.contains("images do not go into one file; --output FOLDER"),
        "{message}"
    );
    let message = run(&["extract", &library, "--kernel", "vtoe", "--output", "-"]).refusal();
    assert!(
        message.contains("there is no kernel \"vtoe\"; the file has vote"),
        "{message}"
    );
    let message = run(&["extract", &library, "--image", "3", "--output", "-"]).refusal();
    assert!(
        message.ends_with("image 3 is PTX, not a cubin"),
        "{message}"
    );
}

/// Runs the command with data on its standard input.
fn piped(arguments: &[&str], input: &[u8]) -> (Option<i32>, Vec<u8>, String) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_warpbound"))
        .args(arguments)
        .current_dir(built_folder())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    let mut stdin = child.stdin.take().expect("piped");
    stdin.write_all(input).expect("it reads");
    drop(stdin);
    let output = child.wait_with_output().expect("it ends");
    let stderr = String::from_utf8(output.stderr).expect("UTF-8");
    (output.status.code(), output.stdout, stderr)
}

#[test]
fn standard_input_is_a_file() {
    let file = "if_else.sm_61.cubin";
    for command in [&["bound"][..], &["disasm"], &["list", "--format", "json"]] {
        let (code, stdout, stderr) = piped(&[command, &["-"]].concat(), &built(file));
        assert_eq!((code, stderr.as_str()), (Some(0), ""), "{command:?}");
        let named = run(&[command, &[file]].concat()).done();
        let text = String::from_utf8(stdout).expect("UTF-8");
        assert_eq!(text.replace("standard input", file), named, "{command:?}");
    }
    let packed = std::fs::read(container("host.so")).expect("a file of the tests");
    let extract = ["extract", "-", "--image", "4", "--output", "-"];
    let (code, stdout, _) = piped(&extract, &packed);
    assert_eq!((code, stdout), (Some(0), built(file)));
    let (code, _, stderr) = piped(&["bound", "-"], b"");
    assert_eq!(code, Some(3));
    assert_eq!(
        one_line(&stderr),
        "standard input: offset 0x0: the file is empty"
    );
}

/// A kernel that exceeds the time limit is named, with code 2, and the others are bounded.
#[test]
fn kernels_over_the_time_limit() {
    let arguments = ["bound", SORT, "--loop-default", "10"];
    let limited = |limit: &str| run(&[&arguments[..], &["--time-limit", limit]].concat());
    let unlimited = run(&arguments).done();
    assert_eq!(limited("3600").done(), unlimited);
    let text = limited("0.000000001").without_bound();
    assert!(!text.contains("bound: a warp"), "{text}");
    let why = "no bound: not done within the time limit of 0.000000001 s (--time-limit)";
    assert_eq!(text.matches(why).count(), kernels("*").len(), "{text}");
    for wrong in ["0", "-1", "soon", "nan", "inf"] {
        limited(wrong).usage();
    }
}

/// Divergence edges are listed on request.
#[test]
fn divergence_edges_are_listed_on_request() {
    let arguments = ["bound", "break_loop.sm_61.cubin", "--loop-default", "10"];
    let (short, long) = (
        run(&arguments).done(),
        run(&[&arguments[..], &["--explain"]].concat()).done(),
    );
    let line = "  and waiting lanes resume over: 0x0170 ~> 0x02f8";
    assert!(!short.contains(line) && long.contains(line), "{long}");
    let rest: String = long
        .lines()
        .filter(|text| !text.starts_with(line))
        .map(|text| format!("{text}\n"))
        .collect();
    assert_eq!(rest, short);
}

/// Launches that CUDA refuses are refused.
#[test]
fn limits_of_launches() {
    let launch = |name: &str, rest: &str| {
        let text = format!("kernel = \"matmul_int\"\n{rest}\n");
        let launch = scratch(&format!("limits.{name}.toml"), text);
        let cubin = "matmul_int.sm_61.cubin";
        let file = ["--launch", &launch];
        let functional = run(&[&["run", cubin, "--functional"], &file[..]].concat()).refusal();
        let audit = run(&[&["audit", cubin], &file[..]].concat()).refusal();
        assert_eq!(functional, audit);
        functional
    };
    for (name, rest, expected) in [
        (
            "y",
            "grid = [1, 65536]\nblock = [1]",
            "grid has 65536 elements in y, at most 65535",
        ),
        (
            "z",
            "grid = [1, 1, 65536]\nblock = [1]",
            "grid has 65536 elements in z, at most 65535",
        ),
        (
            "x",
            "grid = [2147483648]\nblock = [1]",
            "in x, at most 2147483647",
        ),
        (
            "block",
            "grid = [1]\nblock = [1, 1, 65]",
            "block has 65 elements in z, at most 64",
        ),
        (
            "shared",
            "grid = [1]\nblock = [1]\ndynamic_shared = 49152",
            "dynamic), and may have 49152",
        ),
    ] {
        let message = launch(name, rest);
        assert!(message.contains(expected), "{message}");
    }
    let message = launch(
        "fits",
        "grid = [2147483647]\nblock = [1, 1, 64]\ndynamic_shared = 1024",
    );
    assert!(message.contains("the kernel has 4 parameters"), "{message}");
}

/// A call of a function outside the file is named, with a hint.
#[test]
fn printf_in_a_run() {
    let words = "type = \"s32\"\nshape = [32]\nfill = \"iota\"\n";
    let launch = format!(
        "kernel = \"external_call\"\ngrid = [1]\nblock = [32]\n[[param]]\nname = \"in\"\n{words}\
         [[param]]\nname = \"out\"\n{words}[[param]]\nname = \"n\"\ntype = \"s32\"\nvalue = 4\n"
    );
    let launch = scratch("printf.toml", launch);
    let file = "external_call.sm_61.cubin";
    for how in [&["--functional"][..], &[]] {
        let message = run(&[&["run", file, "--launch", &launch], how].concat()).refusal();
        assert!(
            message.contains("goes to vprintf, which is not in the file"),
            "{message}"
        );
        assert!(
            message.contains("compile the kernel without the call"),
            "{message}"
        );
    }
}

/// A short run reports the spread of its cycles without request; `lo` and `hi` say that they are no extremes.
#[test]
fn cycles_have_a_spread() {
    let product = [
        "run",
        "matmul_int.sm_62.cubin",
        "--launch",
        "../cuda/matmul_int.8x8.toml",
    ];
    let text = run(&product).done();
    let line = text.lines().nth(2).unwrap_or_default();
    assert!(line.ends_with(" by single assumptions"), "{text}");
    let json = |rest: &[&str]| -> Value {
        let message = run(&[&product[..], &["--format", "json"], rest].concat()).done();
        serde_json::from_str(&message).expect("JSON")
    };
    let (short, whole) = (json(&[]), json(&["--sensitivities"]));
    assert_eq!(short["spread"], whole["spread"]);
    assert!(short.get("sensitivities").is_none());
    let rows = whole["sensitivities"].as_array().expect("rows");
    let changes = rows.iter().flat_map(|row| [&row["least"], &row["most"]]);
    let changes: Vec<i64> = changes
        .filter_map(|rerun| rerun["change"].as_i64())
        .collect();
    assert_eq!(
        short["spread"]["fewest"]["change"].as_i64(),
        changes.iter().copied().min()
    );
    assert_eq!(
        short["spread"]["most"]["change"].as_i64(),
        changes.iter().copied().max()
    );
    for (pick, which) in [("lo", "fastest"), ("hi", "slowest")] {
        let text = run(&[&product[..], &["--select", pick]].concat()).done();
        assert!(
            text.contains(&format!("need not be the {which} run")),
            "{text}"
        );
    }
    let help = run(&["run", "--help"]).done();
    assert!(
        help.contains("not the fastest and the slowest run"),
        "{help}"
    );
}
