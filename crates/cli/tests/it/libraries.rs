//! Files with many cubins inside.

use crate::support::{one_line, run, scratch};

const DATA: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../load/tests/data/containers/"
);

fn container(name: &str) -> String {
    format!("{DATA}{name}")
}

#[test]
fn list_is_a_directory_without_a_selection() {
    let text = run(&["list", &container("host.so")]).done();
    let head = text.lines().next().unwrap_or_default();
    assert!(head.ends_with("host.so  host file, 6 images"), "{text}");
    let images: Vec<&str> = text
        .lines()
        .filter(|l| l.contains("zstd") || l.contains("lz4"))
        .collect();
    assert_eq!(images.len(), 4, "{text}");
    let whole = run(&["list", &container("host.so"), "--image", "2"]).done();
    assert!(whole.contains("image 2  sm_62"), "{whole}");
    assert!(whole.contains("vote"), "{whole}");
    let both = run(&["list", &container("host.so"), "--sm", "sm_61"]).done();
    assert!(
        both.contains("image 1") && both.contains("image 4"),
        "{both}"
    );
}

/// The reports about a cubin in a container equal those about the cubin itself.
#[test]
fn bounds_of_packed_cubins_are_those_of_the_cubins() {
    let alone = run(&["bound", "if_else.sm_61.cubin", "--loop-default", "10"]).done();
    for (file, image) in [
        ("plain.fatbin", "1"),
        ("lz4.fatbin", "1"),
        ("host.so", "4"),
        ("host.a", "1"),
    ] {
        let file = container(file);
        let packed = run(&["bound", &file, "--image", image, "--loop-default", "10"]).done();
        let same = packed.replace(&format!("{file} image {image}"), "if_else.sm_61.cubin");
        assert!(alone.contains("(if_else.sm_61.cubin, sm_61)"), "{alone}");
        // After the table, which has a column for images.
        let kernels = |text: &str| text.split_once("\n\n").map(|(_, rest)| rest.to_owned());
        assert!(
            kernels(&alone).is_some_and(|text| text.contains("if_else")),
            "{alone}"
        );
        assert_eq!(kernels(&same), kernels(&alone), "{file}");
    }
}

#[test]
fn the_number_of_jobs_does_not_show() {
    let file = container("host.so");
    let text = |jobs| run(&["bound", &file, "--loop-default", "10", "--jobs", jobs]).done();
    let one = text("1");
    assert!(one.contains("image 1, sm_61") && one.contains("image 5, sm_62"));
    for jobs in ["2", "3", "16"] {
        assert_eq!(text(jobs), one, "{jobs} jobs");
    }
    let json = |jobs| {
        let format = ["--format", "json", "--jobs", jobs];
        let arguments = [&["bound", &file, "--loop-default", "10"], &format[..]].concat();
        run(&arguments).done()
    };
    assert_eq!(json("1"), json("4"));
}

#[test]
fn a_kernel_of_several_images() {
    let file = container("host.so");
    let arguments = ["bound", file.as_str(), "--kernel", "if_only"];
    let text = run(&arguments).done();
    assert!(
        text.contains("image 1, sm_61") && text.contains("image 4, sm_61"),
        "{text}"
    );
    // A graph is one document.
    let cfg = [
        "cfg",
        file.as_str(),
        "--kernel",
        "if_only",
        "--format",
        "json",
    ];
    let message = run(&cfg).refusal();
    assert!(
        message.contains("image 1 and in ") && message.contains("--image"),
        "{message}"
    );
    let graph = run(&[&cfg[..], &["--image", "4"]].concat()).done();
    serde_json::from_str::<serde_json::Value>(&graph).expect("JSON");
    let message = run(&["bound", &file, "--kernel", "no_such"]).refusal();
    assert!(
        message.contains("there is no kernel \"no_such\""),
        "{message}"
    );
    let message = run(&["bound", &file, "--sm", "sm_70"]).refusal();
    assert!(
        message.ends_with(
            "there is no machine code for sm_70 in this file; the file has sm_61, sm_62"
        ),
        "{message}"
    );
    let message = run(&["bound", &file, "--image", "7"]).refusal();
    assert!(
        message.ends_with("there is no image 7; the file has the images 1 to 6"),
        "{message}"
    );
    let message = run(&["bound", &file, "--image", "3"]).refusal();
    assert!(
        message.ends_with("image 3 is PTX, not a cubin"),
        "{message}"
    );
}

/// Facts name the code they are about, so those of two architectures fit into one file.
#[test]
fn facts_of_several_images() {
    let file = container("host.a");
    let facts = run(&["facts", &file]).done();
    assert!(facts.matches("[[kernel]]").count() >= 1, "{facts}");
    let filled = scratch("library.facts", facts.replace("\"?\"", "3"));
    let text = run(&["bound", &file, "--facts", &filled]);
    assert!(!text.stdout.contains("missing"), "{}", text.stdout);
    let other = scratch(
        "other.facts",
        facts
            .replace("\"?\"", "3")
            .replace("code = \"", "code = \"0"),
    );
    let message = run(&["bound", &file, "--facts", &other]).refusal();
    assert!(
        message.contains("the facts are about other code"),
        "{message}"
    );
}

#[test]
fn one_damaged_image_is_no_reason_to_be_silent_about_the_others() {
    let mut bytes = std::fs::read(container("lz4.fatbin")).expect("a file of the tests");
    for byte in &mut bytes[0x60..0x90] {
        *byte ^= 0x55;
    }
    let file = scratch("one_damaged.fatbin", bytes);
    let message = run(&["bound", &file, "--loop-default", "10"]);
    assert_eq!(message.code, Some(3));
    assert!(
        message.stdout.contains("image 2, sm_62"),
        "{}",
        message.stdout
    );
    let line = one_line(&message.stderr);
    let unpacked = format!("{file} image 1: offset 0x50: cannot be unpacked");
    assert!(line.starts_with(&unpacked), "{line}");
    for command in [
        &["disasm", &file][..],
        &["facts", &file],
        &["list", &file, "--sm", "sm_62"],
    ] {
        let message = run(command);
        assert!(message.stdout.contains("vote"), "{}", message.stdout);
        let damaged = command[0] != "list";
        assert_eq!(
            message.code,
            Some(if damaged { 3 } else { 0 }),
            "{command:?}"
        );
    }
    // The kernel is in the other image.
    run(&["cfg", &file, "--kernel", "vote"]).done();
}

#[test]
fn an_output_file_appears_when_all_is_done() {
    let there = scratch("report.json", "old");
    let file = container("plain.fatbin");
    let run_it = |file: &str| {
        let arguments = ["bound", file, "--loop-default", "10", "--format", "json"];
        run(&[&arguments[..], &["--output", &there]].concat())
    };
    let message = run_it(&file);
    assert_eq!((message.code, message.stdout.as_str()), (Some(0), ""));
    let text = std::fs::read_to_string(&there).expect("it is written");
    let report: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(report["schema"], "warpbound.bound/1");
    // A failure leaves the file unchanged, and no other file.
    run_it("no_such_file.cubin").refusal();
    assert_eq!(std::fs::read_to_string(&there).expect("still there"), text);
    let folder = std::path::Path::new(&there).parent().expect("a folder");
    let left = std::fs::read_dir(folder)
        .expect("a folder")
        .filter(|entry| {
            let name = entry.as_ref().expect("an entry").file_name();
            name.to_string_lossy().starts_with(".tmp")
        });
    assert_eq!(left.count(), 0);
}

/// Interrupted at any moment, the command leaves either the whole report or nothing.
#[cfg(unix)]
#[test]
fn an_interrupt_leaves_nothing_half_written() {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("interrupted");
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a scratch folder");
    let report = folder.join("report.json");
    let mut interrupted = 0;
    for turn in 0..60u64 {
        let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_warpbound"))
            .args(["bound", &container("host.so"), "--loop-default", "10"])
            .args(["--format", "json", "--output"])
            .arg(&report)
            .stderr(std::process::Stdio::null())
            .spawn()
            .expect("the command starts");
        std::thread::sleep(std::time::Duration::from_micros(turn * 500));
        let kill = std::process::Command::new("kill")
            .args(["-INT", &child.id().to_string()])
            .stderr(std::process::Stdio::null())
            .status();
        assert!(kill.is_ok(), "{kill:?}");
        let status = child.wait().expect("it ends");
        interrupted += u32::from(!status.success());
        let left: Vec<_> = std::fs::read_dir(&folder)
            .expect("a folder")
            .flatten()
            .collect();
        assert!(left.len() <= 1, "{left:?}");
        if let Ok(text) = std::fs::read_to_string(&report) {
            serde_json::from_str::<serde_json::Value>(&text).expect("a whole report");
            std::fs::remove_file(&report).expect("it can be removed");
        }
    }
    assert!(
        interrupted > 0,
        "no interrupt came in time to mean anything"
    );
}

/// An existing link keeps its target, an existing device stays a device, and a new file may be read by all
/// whom the umask permits.
#[cfg(unix)]
#[test]
fn output_files_are_replaced_with_care() {
    use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _, symlink};
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("kinds");
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a scratch folder");
    let bound = |to: &std::path::Path| {
        let to = to.display().to_string();
        run(&["bound", "if_else.sm_61.cubin", "--output", &to]).done()
    };
    let (target, link) = (folder.join("target"), folder.join("link"));
    std::fs::write(&target, "old").expect("a file");
    symlink(&target, &link).expect("a link");
    bound(&link);
    assert!(
        std::fs::symlink_metadata(&link)
            .expect("there")
            .is_symlink()
    );
    let text = std::fs::read_to_string(&target).expect("there");
    assert!(text.starts_with("if_else.sm_61.cubin: 2 kernels"), "{text}");
    let plain = folder.join("plain");
    std::fs::write(&plain, "").expect("a file");
    let usual = std::fs::metadata(&plain)
        .expect("there")
        .permissions()
        .mode();
    let mode = std::fs::metadata(&target)
        .expect("there")
        .permissions()
        .mode();
    assert_eq!(mode, usual);

    let pipe = folder.join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.is_ok_and(|status| status.success()));
    let reader = {
        let pipe = pipe.clone();
        std::thread::spawn(move || std::fs::read_to_string(pipe).expect("a pipe"))
    };
    bound(&pipe);
    assert_eq!(reader.join().expect("it reads"), text);
    assert!(
        std::fs::metadata(&pipe)
            .expect("there")
            .file_type()
            .is_fifo()
    );
}

/// An error before the first kernel leaves no half of a JSON document on the output.
#[test]
fn an_error_before_the_first_kernel_prints_nothing() {
    let file = container("plain.fatbin");
    for what in [["--kernel", "no_such"], ["--image", "99"]] {
        run(&[&["bound", &file, "--format", "json"], &what[..]].concat()).refusal();
    }
}
