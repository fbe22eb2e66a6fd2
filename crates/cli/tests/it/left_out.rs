//! Images of architectures that are not supported: each command names them.

use serde_json::Value;

use crate::support::{CommandOutput, built, run, scratch};

/// Returns a fat binary with an image for sm_61, and one for sm_107 in place of sm_62.
fn mixed(test: &str) -> String {
    let data = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../load/tests/data/containers/plain.fatbin"
    );
    let mut bytes = std::fs::read(data).expect("a file of the tests");
    // Headers of entries have 64 bytes: the size of the contents at byte 8, the architecture at byte 28.
    let size = bytes[16 + 8..16 + 12].try_into().expect("four bytes");
    let header = 16 + 64 + u32::from_le_bytes(size) as usize;
    let cubin = header + 64;
    for at in [header + 28, cubin + 48] {
        assert_eq!(bytes[at], 62);
        bytes[at] = 107;
    }
    scratch(&format!("{test}.fatbin"), bytes)
}

/// Returns a cubin for sm_107: no code of it is read.
fn newer(name: &str) -> String {
    let mut bytes = built("vote.sm_62.cubin");
    bytes[48] = 107;
    scratch(name, bytes)
}

#[track_caller]
fn incomplete(output: CommandOutput) -> CommandOutput {
    incomplete_with(2, output)
}

#[track_caller]
fn incomplete_with(code: i32, output: CommandOutput) -> CommandOutput {
    assert_eq!(
        output.code,
        Some(code),
        "{}\n{}",
        output.stdout,
        output.stderr
    );
    let all = format!("{}{}", output.stdout, output.stderr);
    assert!(all.contains("image 2 for sm_107 is left out"), "{all}");
    output
}

#[test]
fn queries_name_images_that_are_left_out() {
    let file = mixed("queries");
    for command in ["bound", "divergence", "access", "disasm", "facts", "lint"] {
        incomplete(run(&[command, &file]));
        // What is asked for is there: nothing is left out.
        assert_eq!(run(&[command, &file, "--arch", "sm_61"]).code, Some(0));
    }
    // No kernel of this name is in the other image.
    assert_eq!(run(&["bound", &file, "--kernel", "if_else"]).code, Some(0));
    assert_eq!(run(&["list", &file, "--kernel", "if_else"]).code, Some(0));
    // The directory lists all.
    assert!(run(&["list", &file]).done().contains("sm_107"));
}

#[test]
fn documents_and_rows_name_images_that_are_left_out() {
    let file = mixed("documents");
    for command in ["bound", "divergence", "access", "lint"] {
        let output = incomplete(run(&[command, &file, "--format", "json"]));
        let document: Value = serde_json::from_str(&output.stdout).expect("JSON");
        assert_eq!(document["left_out"][0]["isa"], "sm_107", "{command}");
        assert_eq!(document["left_out"][0]["images"][0], 2, "{command}");
    }
    let rows = incomplete(run(&["bound", &file, "--format", "jsonl"])).stdout;
    let last: Value = serde_json::from_str(rows.lines().last().expect("a row")).expect("JSON");
    assert_eq!(
        (&last["isa"], &last["status"], &last["image"]),
        (&"sm_107".into(), &"refused".into(), &2.into())
    );
    let page = incomplete(run(&["bound", &file, "--format", "html"])).stdout;
    assert!(page.contains("<h2>Left out</h2>"), "{page}");
}

#[test]
fn a_gate_names_and_denies_images_that_are_left_out() {
    let file = mixed("gated");
    let scratch_file = |name: &str| scratch(name, Vec::new());
    let budget = scratch_file("left_out.toml");
    std::fs::remove_file(&budget).expect("a file of the test");
    let update = ["gate", &file, "--budget", &budget, "--update"];
    assert_eq!(incomplete(run(&update)).code, Some(2));
    let rows = std::fs::read_to_string(&budget).expect("written");
    let (junit, sarif) = (scratch_file("left_out.xml"), scratch_file("left_out.sarif"));
    for denied in [false, true] {
        let deny = "[conditions]\nuncovered = \"deny\"\n";
        let text = if denied {
            format!("{deny}{rows}")
        } else {
            rows.clone()
        };
        std::fs::write(&budget, text).expect("written");
        let check = [
            "gate", &file, "--budget", &budget, "--junit", &junit, "--sarif", &sarif,
        ];
        let code = if denied { 1 } else { 2 };
        incomplete_with(code, run(&check));
        let junit = std::fs::read_to_string(&junit).expect("written");
        let tag = if denied { "<failure" } else { "<error" };
        let case = junit.lines().find(|line| line.contains("name=\"sm_107\""));
        assert!(case.is_some_and(|line| line.contains(tag)), "{junit}");
        let sarif = std::fs::read_to_string(&sarif).expect("written");
        assert!(sarif.contains("\"ruleId\": \"left-out\""), "{sarif}");
        let json = incomplete_with(code, run(&[&check[..], &["--format", "json"]].concat())).stdout;
        let json: Value = serde_json::from_str(&json).expect("JSON");
        assert_eq!(json["left_out"][0]["isa"], "sm_107");
    }
    // A choice of architectures restricts what is asked about.
    let own = format!("[conditions]\narch = \"sm_61\"\n{rows}");
    std::fs::write(&budget, own).expect("written");
    assert_eq!(run(&["gate", &file, "--budget", &budget]).code, Some(0));
}

#[test]
fn builds_without_a_supported_image_are_refused() {
    let file = newer("alone.sm_107.cubin");
    let budget = scratch("alone.toml", Vec::new());
    for command in [
        &["gate", &file, "--budget", &budget][..],
        &["gate", &file, "--budget", &budget, "--update"],
        &["diff", &file, &file],
    ] {
        let message = run(command).refusal();
        assert!(message.contains("sm_107 is not supported yet"), "{message}");
    }
}

#[test]
fn a_comparison_names_images_that_are_left_out() {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("left_out_builds");
    std::fs::create_dir_all(&folder).expect("a folder");
    for (name, bytes) in [
        ("a.cubin", built("vote.sm_62.cubin")),
        (
            "b.cubin",
            std::fs::read(newer("b.sm_107.cubin")).expect("a file of the test"),
        ),
    ] {
        std::fs::write(folder.join(name), bytes).expect("written");
    }
    let folder_name = folder.display().to_string();
    let output = run(&["diff", &folder_name, &folder_name]);
    assert_eq!(output.code, Some(2), "{}", output.stdout);
    assert!(
        output
            .stdout
            .contains("b.cubin: image 1 for sm_107 is left out"),
        "{}",
        output.stdout
    );
    assert_eq!(
        run(&["diff", &folder_name, &folder_name, "--arch", "sm_62"]).code,
        Some(0)
    );
    // Damaged machine code of a folder is not passed over either.
    let damaged = built("vote.sm_62.cubin")[..1000].to_vec();
    std::fs::write(folder.join("b.cubin"), damaged).expect("written");
    let output = run(&["diff", &folder_name, &folder_name]);
    assert_eq!(output.code, Some(3), "{}", output.stdout);
    assert!(output.stdout.contains("b.cubin"), "{}", output.stdout);
}
