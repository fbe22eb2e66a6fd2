//! Unusable files: one line that names file, location and cause.

use crate::support::{built, one_line, run, scratch};

const COMMANDS: [&[&str]; 5] = [
    &["list"],
    &["disasm"],
    &["facts"],
    &["bound", "--loop-default", "10"],
    &["cfg", "--kernel", "nested_fixed"],
];

/// Returns the message of every command about the file, without its name.
#[track_caller]
fn refusal(file: &str) -> String {
    let mut lines: Vec<String> = COMMANDS
        .iter()
        .map(|command| run(&[*command, &[file]].concat()).refusal())
        .map(|line| {
            line.strip_prefix(&format!("{file}: "))
                .unwrap_or_else(|| panic!("does not name the file: {line}"))
                .to_owned()
        })
        .collect();
    lines.dedup();
    assert_eq!(lines.len(), 1, "{lines:?}");
    lines.remove(0)
}

#[test]
fn files_that_cannot_be_read() {
    assert!(refusal("no_such_file.cubin").starts_with("cannot be read: No such file"));
    assert!(refusal(env!("CARGO_TARGET_TMPDIR")).starts_with("cannot be read: Is a directory"));
}

#[test]
fn files_without_end() {
    let file = scratch("large.cubin", "");
    let large = std::fs::OpenOptions::new()
        .write(true)
        .open(&file)
        .expect("a scratch file");
    large.set_len(1 << 32).expect("a sparse file");
    // Only the needed parts of a regular file are read.
    assert!(refusal(&file).starts_with("offset 0x0: this is neither a cubin nor"));
    let message = "larger than 256 MiB, which no input of warpbound is";
    let facts = ["bound", "nested_loops.sm_61.cubin", "--facts", &file];
    assert_eq!(run(&facts).refusal(), format!("{file}: {message}"));
    large.set_len(0).expect("a file made small again");
    if cfg!(target_os = "linux") {
        assert_eq!(
            run(&["list", "/dev/zero"]).refusal(),
            format!("/dev/zero: {message}")
        );
    }
}

#[test]
fn files_that_are_no_cubins() {
    assert_eq!(
        refusal(&scratch("empty.cubin", "")),
        "offset 0x0: the file is empty"
    );
    let text = scratch("text.cubin", "Two cubes met.\n");
    assert!(refusal(&text).starts_with("offset 0x0: this is neither a cubin nor"));
    // The command itself is an executable for the host.
    if cfg!(target_os = "linux") {
        let message = refusal(env!("CARGO_BIN_EXE_warpbound"));
        assert!(
            message.starts_with("offset 0x12: this is an ELF file for "),
            "{message}"
        );
    }
}

#[test]
fn files_cut_short() {
    let bytes = built("nested_loops.sm_61.cubin");
    for (index, length) in [
        1,
        3,
        16,
        63,
        64,
        100,
        1000,
        4096,
        bytes.len() / 2,
        bytes.len() - 1,
    ]
    .into_iter()
    .enumerate()
    {
        let file = scratch(&format!("cut.{index}.cubin"), &bytes[..length]);
        let message = refusal(&file);
        assert!(
            message.starts_with("offset 0x"),
            "{length} bytes: {message}"
        );
    }
}

/// Header fields that claim more than there is.
#[test]
fn huge_fields_are_refused_where_they_are() {
    let original = built("nested_loops.sm_61.cubin");
    let table = u64::from_le_bytes(original[40..48].try_into().expect("8 bytes")) as usize;
    for (at, field) in [
        (32, "e_phoff"),
        (40, "e_shoff"),
        (60, "e_shnum"),
        (62, "e_shstrndx"),
        (table + 64 + 24, "sh_offset"),
        (table + 64 + 32, "sh_size"),
        (table + 64 + 36, "upper half of sh_size"),
    ] {
        let mut bytes = original.clone();
        bytes[at..at + 2].fill(0xff);
        let message = refusal(&scratch(&format!("huge.{field}.cubin"), bytes));
        assert!(message.contains("offset 0x"), "{field}: {message}");
    }
    // A record of .nv.info: EIFMT_SVAL, EIATTR_FRAME_SIZE (0x11), 8 bytes.
    let at = original
        .windows(4)
        .position(|w| w == [4, 0x11, 8, 0])
        .expect("a record");
    let mut bytes = original.clone();
    bytes[at + 2..at + 4].fill(0xff);
    let message = refusal(&scratch("huge.record.cubin", bytes));
    assert!(
        message.contains(&format!("offset 0x{at:x}: attribute ")),
        "{message}"
    );
    assert!(
        message.ends_with("of 65535 bytes reaches beyond its section"),
        "{message}"
    );
}

/// `list` prints the names nevertheless; of known architectures it prints more (`wide.rs`).
#[test]
fn other_architectures() {
    for (number, name) in [(35u8, "sm_35"), (63, "sm_63"), (200, "sm_200")] {
        let mut bytes = built("nested_loops.sm_61.cubin");
        bytes[48] = number;
        let file = scratch(&format!("{name}.cubin"), bytes);
        let yet = if number > 121 { " yet" } else { "" };
        let why = format!(
            "{name} is not supported{yet} (sm_50 to sm_62, sm_75 to sm_103, sm_110 to sm_121 are)"
        );
        for command in &COMMANDS[1..4] {
            let message = run(&[*command, &[file.as_str()]].concat()).refusal();
            assert_eq!(message, format!("{file}: {why}"));
        }
        let message = run(&["cfg", &file, "--kernel", "nested_fixed"]).refusal();
        assert_eq!(message, format!("{file}: {why}"));
        let message = run(&["list", &file]);
        assert_eq!(message.code, Some(3));
        assert_eq!(one_line(&message.stderr), format!("{file}: {why}"));
        assert_eq!(
            message.stdout,
            format!("{file}  {name}\n  nested_divergent\n  nested_triangular\n  nested_fixed\n")
        );
    }
}

/// A file with device functions and no kernels.
#[test]
fn a_file_without_kernels() {
    const STO_ENTRY: u8 = 0x10;
    let mut bytes = built("break_loop.sm_61.cubin");
    let word = |bytes: &[u8], at: usize| {
        u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes"))
    };
    let table = word(&bytes, 40) as usize;
    let symbols = (0..usize::from(bytes[60]))
        .map(|index| table + 64 * index)
        .find(|&header| bytes[header + 4] == 2)
        .map(|header| {
            word(&bytes, header + 24) as usize
                ..(word(&bytes, header + 24) + word(&bytes, header + 32)) as usize
        })
        .expect("a symbol table");
    for symbol in symbols.step_by(24) {
        bytes[symbol + 5] &= !STO_ENTRY;
    }
    let file = scratch("no_kernels.cubin", bytes);
    let listing = run(&["disasm", &file, "--kernel", "break_loop"]).done();
    assert!(listing.starts_with("break_loop\n"), "{listing}");
    for command in ["facts", "bound"] {
        assert_eq!(
            run(&[command, &file]).refusal(),
            format!("{file}: the file has no kernels; `warpbound list` prints what it has")
        );
    }
    let message = run(&["cfg", &file, "--kernel", "break_loop"]).refusal();
    assert_eq!(
        message,
        format!("{file}: there is no kernel \"break_loop\"; the file has no kernels")
    );
    let text = run(&["list", &file]).done();
    assert!(text.contains("\n  device function break_loop"), "{text}");
}

/// A pipe can be read once, and `bound` needs the launch more than once.
#[test]
#[cfg(target_os = "linux")]
fn a_launch_file_on_a_pipe() {
    use std::io::Write as _;
    use std::process::{Command, Stdio};

    let folder = crate::support::built_folder();
    let launch = std::fs::read(folder.join("../cuda/matmul_int.8x8.toml")).expect("a launch");
    for command in [&["bound"][..], &["run", "--functional"], &["audit"]] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_warpbound"))
            .args(command)
            .args(["matmul_int.sm_61.cubin", "--launch", "/dev/stdin"])
            .current_dir(&folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the command starts");
        let mut pipe = child.stdin.take().expect("piped");
        pipe.write_all(&launch).expect("written");
        drop(pipe);
        let output = child.wait_with_output().expect("it ends");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(
            (output.status.code(), stderr.as_ref()),
            (Some(0), ""),
            "{command:?}"
        );
    }
}
