//! `diff`: planted changes are named with their lines, and builds that differ in nothing have no difference.

use serde_json::Value;

use crate::support::{run, scratch};

/// Returns the comparison of two builds of a source in `kernels/rebuilt`, as JSON.
fn pressure(old: &str, new: &str, more: &[&str]) -> Value {
    let path = |name: &str| format!("../rebuilt/pressure.{name}.cubin");
    compared(&path(old), &path(new), more)
}

fn compared(old: &str, new: &str, more: &[&str]) -> Value {
    let mut arguments = vec!["diff", old, new, "--format", "json"];
    arguments.extend(more);
    serde_json::from_str(&run(&arguments).done()).expect("JSON")
}

/// Returns old and new value of a figure, and the source line of its place.
fn figure<'a>(report: &'a Value, name: &str) -> Option<(u64, u64, &'a str)> {
    let figures = report["kernels"][0]["figures"].as_array()?;
    let found = figures.iter().find(|change| change["figure"] == name)?;
    let place = found["place"]["source"].as_str().unwrap_or("");
    Some((found["old"].as_u64()?, found["new"].as_u64()?, place))
}

/// A loop that runs once more is named with its line, and the bound grows by what one iteration issues.
#[test]
fn an_iteration_is_named() {
    let report = pressure("base", "iteration", &[]);
    let (old, new, _) = figure(&report, "bound").expect("a bound");
    let change = &report["kernels"][0]["loops"][0];
    assert_eq!(change["old"]["bound"], 8);
    assert_eq!(change["new"]["bound"], 9);
    assert_eq!(change["new"]["source"], "pressure.cu:13");
    let issued = |side: &Value| side["instructions"].as_u64().expect("a number");
    assert_eq!(new - old, issued(&change["new"]) - issued(&change["old"]));
    assert!(new > old);
    // Each iteration issues as many.
    assert_eq!(issued(&change["new"]) * 8, issued(&change["old"]) * 9);
    // All lines of the loop, and no other.
    let lines = report["kernels"][0]["lines"].as_array().expect("lines");
    let sum = |key: &str| {
        lines
            .iter()
            .map(|line| line[key].as_u64().expect("a number"))
            .sum::<u64>()
    };
    assert_eq!(sum("new") - sum("old"), new - old);
    assert_eq!(report["kernels"][0]["mix"], serde_json::json!([]));
    assert_eq!(figure(&report, "registers"), None);
}

/// Registers over a step of the occupancy are named with the line that writes the highest of them.
#[test]
fn registers_over_a_step_of_occupancy_are_named() {
    let report = pressure("base", "register", &[]);
    let (old, new, place) = figure(&report, "registers").expect("registers");
    assert_eq!((old, new), (32, 40));
    assert!(place.starts_with("pressure.cu:"), "{place}");
    let (old, new, other) = figure(&report, "occupancy").expect("an occupancy");
    assert_eq!((old, new, other), (64, 48, place));
    let text = run(&[
        "diff",
        "../rebuilt/pressure.base.cubin",
        "../rebuilt/pressure.register.cubin",
    ]);
    let text = text.done();
    assert!(text.contains("limited by registers"), "{text}");
    assert!(
        text.contains("R39, the highest register, is first written here")
            || text.contains("the highest register"),
        "{text}"
    );
    // Within a step, there is no change: blocks of 1024 threads have the same warps.
    let report = pressure("base", "spill", &[]);
    assert_eq!(figure(&report, "occupancy"), None);
}

/// Spilled registers are named with the line that stores most of them.
#[test]
fn a_spill_is_named() {
    let report = pressure("base", "spill", &[]);
    let (old, new, place) = figure(&report, "local accesses").expect("local accesses");
    assert_eq!(old, 0);
    assert!(new > 0);
    assert!(place.starts_with("pressure.cu:"), "{place}");
    assert_eq!(
        figure(&report, "local").map(|(old, new, _)| (old, new)),
        Some((0, 64))
    );
    let gained = report["kernels"][0]["gained_accesses"]
        .as_array()
        .expect("a list");
    let is_local = |class: &Value| {
        class["class"]
            .as_str()
            .is_some_and(|text| text.starts_with("local"))
    };
    assert!(gained.iter().any(is_local), "{gained:?}");
}

/// The same source under another name and with other lines, other template arguments without an effect, and the same file
/// have no difference.
#[test]
fn equal_builds_have_no_difference() {
    for other in ["base", "renamed", "argument"] {
        let report = pressure("base", other, &[]);
        assert_eq!(report["kernels"], serde_json::json!([]), "{other}");
        assert_eq!(report["removed"], serde_json::json!([]), "{other}");
        assert_eq!(report["added"], serde_json::json!([]), "{other}");
        assert_eq!(report["summary"]["identical"], 1, "{other}");
    }
    let report = pressure("base", "argument", &[]);
    assert_eq!(report["renamed"][0]["paired_by"], "code");
    // Lines moved in all our rebuilt kernels.
    for source in ["matmul_int", "reduction", "lud_diagonal", "bfs"] {
        let report = compared(
            &format!("{source}.sm_61.cubin"),
            &format!("../rebuilt/{source}.moved.cubin"),
            &["--loop-default", "10"],
        );
        assert_eq!(report["kernels"], serde_json::json!([]), "{source}");
        assert_eq!(report["summary"]["different"], 0, "{source}");
    }
}

/// A symbol with another digest of a file in it is the same kernel, even if its code is another one.
#[test]
fn digests_in_names_are_no_difference() {
    let bytes = std::fs::read("../../kernels/rebuilt/pressure.base.cubin").expect("a cubin");
    let other = std::fs::read("../../kernels/rebuilt/pressure.iteration.cubin").expect("a cubin");
    let symbol = b"_Z8pressureILi1EEvPKfPfi";
    let renamed = |bytes: &[u8], name: &[u8; 24]| {
        let mut bytes = bytes.to_vec();
        let places: Vec<usize> = bytes
            .windows(symbol.len())
            .enumerate()
            .filter(|(_, window)| window == symbol)
            .map(|(at, _)| at)
            .collect();
        assert!(!places.is_empty());
        for at in places {
            bytes[at..at + name.len()].copy_from_slice(name);
        }
        bytes
    };
    let old = scratch(
        "diff.digest.old.cubin",
        renamed(&bytes, b"kernel_0f3a99d2b7c1_norm"),
    );
    let new = scratch(
        "diff.digest.new.cubin",
        renamed(&bytes, b"kernel_77de02c4a551_norm"),
    );
    let report = compared(&old, &new, &[]);
    assert_eq!(report["summary"]["paired_without_hashes"], 1);
    assert_eq!(report["summary"]["identical"], 1);
    let new = scratch(
        "diff.digest.other.cubin",
        renamed(&other, b"kernel_77de02c4a551_norm"),
    );
    let report = compared(&old, &new, &[]);
    assert_eq!(report["kernels"][0]["paired_by"], "name-without-hashes");
    // Another name without a digest, and other code: nothing pairs them but their shape.
    let new = scratch(
        "diff.shape.cubin",
        renamed(&other, b"matrices_of_another_name"),
    );
    let report = compared(&old, &new, &[]);
    assert_eq!(report["kernels"][0]["paired_by"], "shape");
}

/// Folders are compared file by file, with kernels that are gone and new.
#[test]
fn folders_are_compared() {
    let folder = |name: &str, files: &[(&str, &str)]| {
        let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(path.join("inner")).expect("a folder");
        for (to, from) in files {
            std::fs::copy(format!("../../kernels/{from}"), path.join(to)).expect("a copy");
        }
        std::fs::write(path.join("notes.txt"), "no code").expect("a file");
        path.into_os_string().into_string().expect("a plain path")
    };
    let old = folder(
        "diff.old",
        &[
            ("a.cubin", "rebuilt/pressure.base.cubin"),
            ("inner/b.cubin", "built/transpose.sm_61.cubin"),
        ],
    );
    let new = folder(
        "diff.new",
        &[
            ("inner/other.cubin", "rebuilt/pressure.iteration.cubin"),
            ("c.cubin", "built/histogram.sm_61.cubin"),
        ],
    );
    let report = compared(&old, &new, &[]);
    assert_eq!(report["summary"]["different"], 1);
    let names = |key: &str| -> Vec<String> {
        let kernels = report[key].as_array().expect("a list").iter();
        kernels.map(|kernel| kernel["name"].to_string()).collect()
    };
    assert!(
        names("removed")
            .iter()
            .any(|name| name.contains("transpose")),
        "{report}"
    );
    assert!(
        names("added").iter().any(|name| name.contains("histogram")),
        "{report}"
    );
    let empty = folder("diff.empty", &[]);
    let refusal = run(&["diff", &old, &empty]).refusal();
    assert!(
        refusal.contains("no file in this folder has machine code"),
        "{refusal}"
    );
}

/// All three formats say the same, and the same input gives the same bytes on any number of threads.
#[test]
fn formats_agree() {
    let files = [
        "../rebuilt/pressure.base.cubin",
        "../rebuilt/pressure.register.cubin",
    ];
    let of = |more: &[&str]| {
        let mut arguments = vec!["diff", files[0], files[1]];
        arguments.extend(more);
        run(&arguments).done()
    };
    let markdown = of(&["--format", "markdown"]);
    assert!(
        markdown.contains("| registers | 32 | 40 | +8 (+25.0 %) |"),
        "{markdown}"
    );
    assert!(
        markdown.contains("`void pressure<1>(float const*, float*, int)`"),
        "{markdown}"
    );
    let text = of(&[]);
    assert!(
        text.contains("registers        32 -> 40 registers  +8 (+25.0 %)"),
        "{text}"
    );
    for format in ["text", "json", "markdown"] {
        let one = of(&["--format", format, "--jobs", "1"]);
        assert_eq!(one, of(&["--format", format, "--jobs", "3"]));
    }
}

/// Cycles are compared if they are asked for, and by line.
#[test]
fn cycles_are_compared() {
    let report = pressure("base", "iteration", &["--cycles"]);
    let (old, new, place) = figure(&report, "cycles").expect("cycles");
    assert!(new > old);
    assert!(place.starts_with("pressure.cu:"), "{place}");
    let lines = report["kernels"][0]["cycle_lines"]
        .as_array()
        .expect("lines");
    assert!(!lines.is_empty());
    let refused = run(&["diff", "a", "b", "--machine", "gtx1080"]).usage();
    assert!(refused.contains("--cycles"), "{refused}");
}

/// Builds whose machine code is equal, but for the registers that the header of the code section states, differ.
#[test]
fn equal_code_with_other_registers_differs() {
    const CODE: &[u8] = b".text.";
    let file = "if_else.sm_61.cubin";
    let mut bytes = crate::support::built(file);
    let number = |bytes: &[u8], at: usize, size: usize| {
        let digits = bytes[at..at + size].iter().rev();
        digits.fold(0_usize, |sum, &digit| sum << 8 | usize::from(digit))
    };
    let (table, size) = (number(&bytes, 0x28, 8), number(&bytes, 0x3a, 2));
    let header = |at: usize| table + at * size;
    let names = number(&bytes, header(number(&bytes, 0x3e, 2)) + 0x18, 8);
    let is_code = |at: &usize| bytes[names + number(&bytes, header(*at), 4)..].starts_with(CODE);
    let code = (0..number(&bytes, 0x3c, 2)).find(is_code).expect("code");
    // The highest byte of `sh_info`.
    let registers = header(code) + 0x2f;
    bytes[registers] += 1;
    let other = crate::support::scratch("diff.registers.cubin", &bytes);
    let report = run(&["diff", file, &other, "--format", "json"]).done();
    let report: Value = serde_json::from_str(&report).expect("JSON");
    let (old, new, _) = figure(&report, "registers").expect("registers");
    assert_eq!(new, old + 1);
}
