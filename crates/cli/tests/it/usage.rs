//! Command-line usage and the messages about wrong usage.

use crate::support::run;

const FILE: &str = "nested_loops.sm_61.cubin";

#[test]
fn help_and_version() {
    for arguments in [&["--help"][..], &["bound", "--help"], &["help", "cfg"]] {
        let text = run(arguments).done();
        assert!(text.contains("Usage: "), "{text}");
    }
    assert!(run(&["--version"]).done().starts_with("warpbound "));
    let text = run(&["bound", "--help"]).done();
    for option in [
        "--kernel",
        "--facts",
        "--loop-default",
        "--launch",
        "--block",
        "--grid",
        "--param",
        "--cost",
        "--format",
        "--stack",
        "--groups",
        "--agreement",
        "--flow",
    ] {
        assert!(text.contains(option), "{option}");
    }
}

/// Help says what it means: pronouns and relative clauses that a reader has to resolve are absent.
#[test]
fn help_is_in_plain_words() {
    let all = run(&["--help"]).done();
    let commands = all.split_once("Commands:\n").expect("commands").1;
    let commands = commands.lines().take_while(|line| !line.is_empty());
    let names = commands.filter_map(|line| line.split_whitespace().next());
    let helps = names
        .filter(|name| *name != "help")
        .map(|name| run(&[name, "--help"]).done());
    let hard = [
        "that of",
        "those of",
        "that is meant",
        "in which",
        "of which",
        "for which",
        "at which",
        "from which",
        "with which",
        "beside itself",
    ];
    for help in helps.chain([all.clone()]) {
        // Lines are broken anywhere.
        let words: Vec<&str> = help.split_whitespace().collect();
        let text = words.join(" ");
        for phrase in hard {
            let at = text.find(phrase);
            assert_eq!(at, None, "{phrase:?} in {text}");
        }
    }
}

#[test]
fn wrong_usage() {
    let file = |rest: &[&'static str]| [&["bound", FILE], rest].concat();
    for (arguments, part) in [
        (vec![], "Usage: "),
        (vec!["frob"], "'frob'"),
        (vec!["bound"], "<FILE>"),
        (vec!["cfg", FILE], "--kernel <K>"),
        (
            vec!["cfg", FILE, "--kernel", "k", "--level", "lane"],
            "'lane'",
        ),
        (vec!["disasm", FILE, "--style", "ptx"], "'ptx'"),
        (
            vec!["disasm", FILE, "--style", "nvdisasm", "--ir"],
            "cannot be used with",
        ),
        (vec!["list", FILE, FILE], "unexpected argument"),
        (file(&["--bogus"]), "'--bogus'"),
        (file(&["--loop-default"]), "--loop-default"),
        (
            file(&["--loop-default", "0"]),
            "0 is not in 1..=1099511627776",
        ),
        (file(&["--loop-default", "-1"]), "'-1'"),
        (file(&["--loop-default", "ten"]), "'ten'"),
        (
            file(&["--loop-default", "1000000000000000000"]),
            "is not in 1..=1099511627776",
        ),
        (
            file(&["--loop-default", "99999999999999999999"]),
            "too large",
        ),
        (file(&["--block", "1,2,3,4"]), "more than three numbers"),
        (file(&["--block", "8x8"]), "separated by commas: 8,8"),
        (file(&["--block", ""]), "not a whole number"),
        (file(&["--block", "8.."]), "not a whole number"),
        (file(&["--grid", "1,2,3,4"]), "more than three numbers"),
        (file(&["--grid", "1.5"]), "not a whole number"),
        (
            file(&["--param", "n"]),
            "expected NAME=VALUE or NAME=LO..HI",
        ),
        (
            file(&["--param", "=1"]),
            "expected NAME=VALUE or NAME=LO..HI",
        ),
        (file(&["--param", "n=1..2..3"]), "not a whole number"),
        (file(&["--param", "n=1.5"]), "not a whole number"),
        (file(&["--param", "n=--1"]), "not a whole number"),
        (
            file(&["--param", "n=18446744073709551616"]),
            "not a whole number of 64 bits",
        ),
        (file(&["--cost", "seconds"]), "'seconds'"),
        (file(&["--format", "xml"]), "'xml'"),
        (file(&["--stack", "none"]), "'none'"),
        (file(&["--groups", "some"]), "'some'"),
        (file(&["--agreement", "none"]), "'none'"),
        (file(&["--flow", "warp"]), "'warp'"),
        (
            file(&["--format", "json", "--format", "text"]),
            "cannot be used multiple times",
        ),
    ] {
        let message = run(&arguments).usage();
        assert!(message.contains(part), "{arguments:?}: {message}");
    }
}

#[test]
fn a_kernel_has_two_names() {
    let file = "bitonic_sort.sm_61.cubin";
    let bound = |name: &str| run(&["bound", file, "--loop-default", "10", "--kernel", name]).done();
    let demangled = "void bitonic::block<int>(int*)";
    assert_eq!(bound(demangled), bound("_ZN7bitonic5blockIiEEvPT_"));
    assert!(bound(demangled).starts_with(&format!("kernel {demangled}  ({file}, sm_61)\n")));
    for command in ["disasm", "facts", "cfg"] {
        let by = |name: &str| run(&[command, file, "--kernel", name]).done();
        assert_eq!(by(demangled), by("_ZN7bitonic5blockIiEEvPT_"), "{command}");
        assert!(by(demangled).contains("bitonic::block<int>"), "{command}");
        assert!(
            !by(demangled).contains("bitonic::block<double>"),
            "{command}"
        );
    }
}

#[test]
fn an_unknown_kernel_is_named() {
    for command in ["disasm", "facts", "cfg", "bound"] {
        assert_eq!(
            run(&[command, FILE, "--kernel", "nested"]).refusal(),
            format!(
                "{FILE}: there is no kernel \"nested\"; \
                 the file has nested_fixed, nested_divergent, nested_triangular"
            )
        );
        let message = run(&[command, FILE, "--kernel", "two\nlines"]).refusal();
        assert!(message.contains(r#""two\nlines""#), "{message}");
    }
}

/// A position-independent program would take an eighth longer to list a small file.
#[cfg(all(
    target_os = "linux",
    target_env = "gnu",
    not(target_feature = "crt-static")
))]
#[test]
fn the_command_is_loaded_at_a_fixed_address() {
    /// Type of an ELF file that is loaded at a fixed address.
    const ET_EXEC: [u8; 2] = [2, 0];
    let program = std::fs::read(env!("CARGO_BIN_EXE_warpbound")).expect("the command is built");
    assert_eq!(program[16..18], ET_EXEC);
}
