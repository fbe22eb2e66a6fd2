//! Colours, `--quiet`, completions and the manual.

use std::path::Path;

use crate::support::{built_folder, run, run_in, scratch};

const MISSING: &str = "warpbound: missing.cubin: cannot be read";

/// Neither a pipe nor `NO_COLOR` gets colours; `--color always` does, and changes nothing else.
#[test]
fn colours_are_for_terminals() {
    let list = |more: &[&str], variables: &[(&str, &str)]| {
        let arguments = [&["list", "missing.cubin"], more].concat();
        run_in(&built_folder(), &arguments, variables).stderr
    };
    let plain = list(&[], &[]);
    assert!(plain.starts_with(MISSING), "{plain}");
    assert_eq!(plain, list(&["--color", "never"], &[]));
    assert_eq!(plain, list(&["--quiet"], &[("NO_COLOR", "1")]));
    for variables in [&[][..], &[("NO_COLOR", "1")]] {
        let coloured = list(&["--color", "always"], variables);
        assert!(coloured.starts_with("\x1b[1;31mwarpbound:\x1b[0m "));
        assert_eq!(without_colours(&coloured), plain);
    }
    let usage = run(&["--color", "always", "frob"]).usage();
    assert!(usage.contains('\x1b'), "{usage}");
    assert!(!run(&["frob"]).usage().contains('\x1b'));
}

/// Sentences about figures over their budget have a colour on a terminal, never in a file.
#[test]
fn what_is_over_budget_is_marked() {
    let budget = scratch(
        "messages.toml",
        "[[kernel]]\nname = \"*\"\nregisters = 1\n\n[[kernel]]\nname = \"none\"\nspills = 0\n",
    );
    let gate = ["gate", "if_else.sm_61.cubin", "--budget", &budget];
    let plain = run(&gate).stdout;
    assert!(!plain.contains('\x1b'), "{plain}");
    let coloured = run(&[&gate[..], &["--color", "always"]].concat()).stdout;
    assert!(coloured.contains("\x1b[1;31mregisters is "), "{coloured}");
    assert!(coloured.contains("\x1b[1;31mno kernel matches \"none\"\x1b[0m"));
    assert_eq!(without_colours(&coloured), plain);
    let path = scratch("messages.txt", "");
    run(&[&gate[..], &["--color", "always", "--output", &path]].concat());
    assert_eq!(std::fs::read_to_string(path).expect("the report"), plain);
}

fn without_colours(text: &str) -> String {
    text.replace("\x1b[1;31m", "").replace("\x1b[0m", "")
}

/// Completions know the commands and their options.
#[test]
fn completions_of_each_shell() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = run(&["completions", shell]).done();
        for word in ["gap", "loop-default", "quiet"] {
            assert!(script.contains(word), "{shell}: {word}");
        }
    }
    assert!(run(&["completions", "cmd"]).usage().contains("'cmd'"));
}

/// A folder gets a page for each command; a single page is the same.
#[test]
fn pages_of_the_manual() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("man");
    let path = folder.to_str().expect("a plain path");
    assert_eq!(run(&["man", "-o", path]).done(), "");
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).expect("a page");
    let all = read("warpbound.1");
    assert_eq!(run(&["man"]).done(), all);
    let help = run(&["--help"]).done();
    let commands = help.split_once("Commands:\n").expect("commands").1;
    let commands = commands.lines().take_while(|line| !line.is_empty());
    let names: Vec<&str> = commands
        .filter_map(|l| l.split_whitespace().next())
        .collect();
    assert!(names.len() > 20, "{names:?}");
    for name in names.into_iter().filter(|name| *name != "help") {
        let page = read(&format!("warpbound-{name}.1"));
        assert_eq!(run(&["man", name]).done(), page);
        assert!(page.contains(".SH OPTIONS"), "{name}");
        assert!(all.contains(&format!("warpbound\\-{name}(1)")), "{name}");
    }
    assert!(run(&["man", "frob"]).usage().contains("no such command"));
}
