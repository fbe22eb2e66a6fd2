//! README and recipes: each command runs, and prints what is shown.

use std::path::{Path, PathBuf};

use crate::support::{CommandOutput, run, run_in};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(document: &str) -> String {
    std::fs::read_to_string(root().join(document)).expect("a document")
}

/// Example: a command, and the text and the block that follow it.
struct Example {
    command: String,
    /// Text between the command and what it prints.
    text: String,
    /// Lines that it prints, without the indentation of the document.
    shown: Vec<String>,
}

/// Returns the examples of a part of a document: blocks of one line with a command.
fn examples(part: &str) -> Vec<Example> {
    let mut examples: Vec<Example> = Vec::new();
    // Whether text has followed what the last command prints.
    let mut is_over = false;
    for line in part.lines() {
        let code = line.strip_prefix("    ");
        match (code, examples.last_mut()) {
            (Some(code), _) if code.starts_with("warpbound ") => {
                is_over = false;
                examples.push(Example {
                    command: code.to_owned(),
                    text: String::new(),
                    shown: Vec::new(),
                });
            }
            (Some(code), Some(last)) if !is_over => last.shown.push(code.to_owned()),
            (None, Some(last)) if last.shown.is_empty() => last.text.push_str(line),
            (None, Some(_)) => is_over |= !line.is_empty(),
            _ => {}
        }
    }
    examples
}

/// Runs a command as it is written, in the root of the repository.
fn execute(command: &str) -> CommandOutput {
    let words: Vec<&str> = command.split_whitespace().skip(1).collect();
    run_in(&root(), &words, &[])
}

/// Text after "prints:" is the whole output; other lines occur in it, in their order.
#[test]
fn examples_print_what_is_shown() {
    let readme = read("README.md");
    let (_, part) = readme.split_once("\n## Try it\n").expect("the part");
    let (part, _) = part.split_once("\n## ").expect("its end");
    let examples = examples(part);
    assert!(examples.len() >= 3);
    for Example {
        command,
        text,
        shown,
    } in examples
    {
        let output = execute(&command);
        assert_eq!(
            (output.code, output.stderr.as_str()),
            (Some(0), ""),
            "{command}"
        );
        assert!(!shown.is_empty(), "{command}");
        if text.ends_with("prints:") {
            let lines: Vec<&str> = output.stdout.lines().collect();
            assert_eq!(lines, shown, "{command}");
            continue;
        }
        let mut printed = output.stdout.lines();
        for line in &shown {
            assert!(
                printed.any(|own| own == line),
                "{command} does not print this line, or not in this place:\n{line}\nbut\n{}",
                output.stdout
            );
        }
    }
}

/// The slowest run that the text states is that of a run.
#[test]
fn the_stated_run_is_right() {
    let readme = read("README.md");
    let launch = "kernels/launches/transpose.transpose.1.toml";
    let output = execute(&format!(
        "warpbound run kernels/built/transpose.sm_62.cubin --machine jetson-tx2 --launch {launch} --select slow --caches warm"
    ));
    let text = output.done();
    let cycles = readme.split_once("run of this launch takes ");
    let cycles = cycles.and_then(|(_, rest)| rest.split_once(" cycles"));
    let (cycles, _) = cycles.expect("the cycles");
    assert!(
        text.contains(&format!("\n  {cycles} cycles,")),
        "{cycles}: {text}"
    );
}

/// The list of commands has each command, with options that it has.
#[test]
fn the_list_of_commands_is_complete() {
    let readme = read("README.md");
    let (_, part) = readme.split_once("\n## Commands\n").expect("the part");
    let (part, _) = part.split_once("\n[`docs/usage.md`]").expect("its end");
    let mut listed = Vec::new();
    for line in part.lines().filter(|line| !line.is_empty()) {
        let line = line.trim_start();
        let synopsis = line.split_once("  ").map_or(line, |(name, rest)| {
            // Names are padded to the same width.
            match rest.trim_start().split_once("  ") {
                Some((arguments, _)) if name.split(' ').count() == 2 && !arguments.is_empty() => {
                    &line[..line.len() - rest.trim_start().len() + arguments.len()]
                }
                _ => name,
            }
        });
        let mut words = synopsis.split_whitespace().skip(1);
        let command = words.next().expect("a command");
        let help = run(&[command, "--help"]).done();
        let options = words.map(|word| word.trim_matches(['[', ']']));
        for option in options.filter(|word| word.starts_with('-')) {
            assert!(help.contains(option), "{command} {option}");
        }
        listed.push(command.to_owned());
    }
    let help = run(&["--help"]).done();
    let commands = help.split_once("Commands:\n").expect("commands").1;
    let commands = commands.lines().take_while(|line| !line.is_empty());
    let names = commands.filter_map(|line| line.split_whitespace().next());
    for name in names.filter(|name| *name != "help") {
        assert!(listed.iter().any(|own| own == name), "README lacks {name}");
    }
}

/// The recipes for continuous integration run in a folder as they describe it, with the exit codes that they rely on.
#[test]
fn recipes_run() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("recipes");
    let _ = std::fs::remove_dir_all(&folder);
    for (build, file) in [("base/build", "base"), ("build", "register")] {
        let build = folder.join(build);
        std::fs::create_dir_all(&build).expect("a folder");
        let from = root().join(format!("kernels/rebuilt/pressure.{file}.cubin"));
        std::fs::copy(from, build.join("pressure.cubin")).expect("a copy");
    }
    let document = read("docs/ci.md");
    let commands: Vec<&str> = document
        .lines()
        .filter(|line| line.starts_with("    "))
        .filter_map(|line| line.find("warpbound ").map(|at| &line[at..]))
        .collect();
    assert!(commands.len() >= 6, "{commands:?}");
    for command in commands {
        let (command, _) = command.split_once(" >>").unwrap_or((command, ""));
        let path = folder.to_str().expect("a plain path");
        let command = command.replace("\"$PWD\"", path);
        let words: Vec<&str> = command.split_whitespace().skip(1).collect();
        let output = run_in(&folder, &words, &[]);
        assert_eq!(
            (output.code, output.stderr.as_str()),
            (Some(0), ""),
            "{command}"
        );
    }
    for file in ["budget.toml", "gate.xml", "gate.sarif"] {
        assert!(folder.join(file).is_file(), "{file}");
    }
    // The kernels of the base branch differ from those of the budget.
    let gate = ["gate", "base/build", "--budget", "budget.toml"];
    assert_eq!(run_in(&folder, &gate, &[]).code, Some(0));
    let budget = std::fs::read_to_string(folder.join("budget.toml")).expect("the budget");
    let lower = budget.replace("registers = ", "registers = 1 # was ");
    std::fs::write(folder.join("budget.toml"), lower).expect("a budget");
    assert_eq!(run_in(&folder, &gate, &[]).code, Some(1));
}
