//! Files for GPUs with instructions of 128 bits: their kernels are listed and extracted, and what needs instructions is
//! refused by name.

use serde_json::Value;

use crate::support::{one_line, run, scratch};

const KERNELS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../kernels/wide/");
const DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../load/tests/data/wide/");

#[test]
fn kernels_are_listed_with_their_resources() {
    let file = format!("{KERNELS}atomics.sm_120.cubin");
    let text = run(&["list", &file]).done();
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].ends_with("atomics.sm_120.cubin  sm_120"), "{text}");
    let heads = "instr  regs  shared  local  const  params  bars  calls  loops  block  kernel";
    assert_eq!(lines[1], heads);
    let row = lines
        .iter()
        .find(|line| line.ends_with("  atomics"))
        .expect("a row");
    let cells: Vec<&str> = row.split_whitespace().collect();
    assert_eq!(
        cells,
        [
            "64", "24", "8", "0", "948", "5/36", "1", "-", "-", "-", "atomics"
        ]
    );
    for line in [
        "shared: without the 1024 bytes of each block that belong to the system",
        "calls, loops: not counted, sm_120 is not supported yet (sm_50 to sm_62 are)",
    ] {
        assert!(lines.contains(&line), "{text}");
    }
    let skipped = lines
        .iter()
        .find(|line| line.starts_with("not read: "))
        .expect("a line");
    let begin = "not read: Mercury code and its metadata (20 sections, ";
    assert!(skipped.starts_with(begin), "{skipped}");
    assert!(
        skipped.ends_with("notes (2 sections, 208 bytes)"),
        "{skipped}"
    );
}

#[test]
fn documents_have_what_is_known() {
    let file = format!("{DATA}resources.cuda13.sm_100a.cubin");
    let json = run(&["list", &file, "--format", "json"]).done();
    let json: Value = serde_json::from_str(&json).expect("JSON");
    let image = &json["images"][0];
    assert_eq!(
        (&image["isa"], &image["supported"]),
        (&"sm_100a".into(), &false.into())
    );
    let contents = &image["contents"];
    assert_eq!(contents["refused"], Value::Null);
    assert!(
        contents["undecoded"]
            .as_str()
            .is_some_and(|why| why.starts_with("sm_100a is not"))
    );
    let kernels = contents["kernels"].as_array().expect("kernels");
    let kernel = kernels
        .iter()
        .find(|kernel| kernel["symbol"] == "cluster")
        .expect("a kernel");
    assert_eq!(kernel["required_cluster"], serde_json::json!([2, 2, 1]));
    assert_eq!(
        (&kernel["calls"], &kernel["reserved_shared"]),
        (&Value::Null, &1024.into())
    );
    let text = run(&["list", &file, "--kernel", "cluster"]).done();
    assert!(
        text.contains("block  cluster  kernel") && text.contains("2,2,1  cluster"),
        "{text}"
    );
}

#[test]
fn a_library_names_its_images() {
    let file = format!("{DATA}wide.fatbin");
    let text = run(&["list", &file]).done();
    let note = "kernels can be listed, not bounded";
    for isa in ["sm_75", "sm_90", "sm_100a", "sm_120f"] {
        let is_row = |line: &&str| line.contains(&format!("cubin  {isa}")) && line.ends_with(note);
        assert_eq!(text.lines().filter(is_row).count(), 1, "{isa}: {text}");
    }
    // Chips in the order of their numbers.
    let place = |isa: &str| text.find(&format!("cubin  {isa}"));
    assert!(
        place("sm_75") < place("sm_90") && place("sm_90") < place("sm_100a"),
        "{text}"
    );
    let one = run(&["list", &file, "--image", "2"]).done();
    assert!(
        one.contains("image 2  sm_90") && one.contains("vote"),
        "{one}"
    );
    let arch = run(&["list", &file, "--arch", "sm_100a"]).done();
    assert!(arch.contains("image 3  sm_100a"), "{arch}");
    let named = run(&["list", &file, "--kernel", "cluster"]).done();
    assert!(
        named.contains("image 3") && named.contains("image 4"),
        "{named}"
    );
}

#[test]
fn images_are_extracted() {
    let file = format!("{DATA}wide.fatbin");
    let target = scratch("wide.extracted.cubin", Vec::new());
    run(&["extract", &file, "--image", "2", "--output", &target]).done();
    let own = std::fs::read(&target).expect("it is written");
    let expected = std::fs::read(format!("{KERNELS}vote.sm_90.cubin")).expect("it is there");
    // `fatbinary` pads contents.
    assert_eq!(own[..expected.len()], expected[..]);
    assert!(own[expected.len()..].iter().all(|&byte| byte == 0));
}

#[test]
fn what_needs_instructions_is_refused_by_name() {
    let file = format!("{KERNELS}nested_loops.sm_87.cubin");
    let why = format!("{file}: sm_87 is not supported yet (sm_50 to sm_62 are)");
    for command in ["bound", "disasm", "facts", "divergence", "access", "lint"] {
        let output = run(&[command, &file]);
        assert_eq!(output.code, Some(3), "{command}");
        assert_eq!(one_line(&output.stderr), why, "{command}");
    }
}
