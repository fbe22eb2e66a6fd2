//! Unusable mini-SIMT programs, launches and machines: messages and their locations.

use crate::support::{built_folder, run, scratch};

/// Launch of four threads for programs without constants.
const LAUNCH: &str = "threads = 4\nmemory = 8\n";

/// Program for every launch without constants.
const PROGRAM: &str = ".kernel K\n    const x = 1\n";

/// Returns the message of `command` about a program and a launch, in which the files are `program` and `launch`.
#[track_caller]
fn refusal(test: &str, command: &[&str], program: &str, launch: &str) -> String {
    let program = scratch(&format!("{test}.msimt"), program);
    let launch = scratch(&format!("{test}.toml"), launch);
    let arguments = [&[command[0], &program, "--launch", &launch], &command[1..]].concat();
    let line = run(&arguments).refusal();
    line.replace(&program, "program").replace(&launch, "launch")
}

/// Programs that cannot be read or lifted: the text of each, and the message after file and kernel.
const PROGRAMS: [(&str, &str); 16] = [
    (
        "    const x = 1\n    bz x, done\n",
        "line 3, column 11: unknown label done",
    ),
    (
        "    binop x = 1 + y\n    store 0 = x\n",
        "line 2, column 19: unknown variable y; no instruction writes it; launch constants are declared with .param",
    ),
    (
        "    const x = 1\n    barrier 0 4\n",
        "line 3, column 15: \",\" is expected, not \"4\"",
    ),
    (
        ".param a b\n    const x = a\n",
        "line 2, column 10: a comma is missing",
    ),
    (
        "    const x = Tid\n    bz x, l\n    const x = 1\nl:  store Tid = x\n",
        "line 3, column 5: the paths from this branch reconverge at l, which is not a sync; insert a sync there",
    ),
    (
        "l:  const x = Tid\nl:  store Tid = x\n",
        "line 3, column 1: second label l",
    ),
    (
        "    const x = Tid\n.param n\n",
        "line 3, column 2: .param must stand before the first instruction",
    ),
    (
        ".param n, n\n    const x = n\n",
        "line 2, column 11: second launch constant n",
    ),
    (
        "    const Tid = 2\n",
        "line 2, column 11: Tid is the number of the thread and cannot be changed",
    ),
    (
        "    const x = 4294967296\n",
        "line 2, column 15: \"4294967296\" is not a 32-bit number",
    ),
    (
        "    binop x = 1 ** 2\n",
        "line 2, column 18: a number or a variable is expected, not \"*\"",
    ),
    (
        "    const x =\n",
        "line 2, column 14: a number or a variable is missing",
    ),
    (
        "    const x = 1 1\n",
        "line 2, column 17: \"1\" is too much",
    ),
    (
        "    frob x = 1\n",
        "line 2, column 5: unknown instruction \"frob\"; there are bz, bnz, jump, store, load, binop, const, sync, barrier",
    ),
    (
        "    const x = 1\n. kernel L\n    const x = 2\n",
        "line 3, column 3: this begins no kernel: only blanks may stand before .kernel, and none in it",
    ),
    (
        "; nothing\n",
        "line 1, column 1: the kernel has no instructions",
    ),
];

#[test]
fn programs() {
    for (body, expected) in PROGRAMS {
        let program = format!(".kernel K\n{body}");
        for command in ["run", "cta"] {
            assert_eq!(
                refusal("programs", &[command], &program, LAUNCH),
                format!("program: kernel K: {expected}"),
                "{program}"
            );
        }
    }
}

/// Line numbers are those of the file, not of the kernel.
#[test]
fn lines_are_counted_in_the_file() {
    let program =
        "; two kernels\n.kernel A\n    const x = 1\n\n.kernel B\n    const x = 1\n    bz x, done\n";
    assert_eq!(
        refusal("second", &["run", "--kernel", "B"], program, LAUNCH),
        "program: kernel B: line 7, column 11: unknown label done"
    );
    assert_eq!(
        refusal("second", &["run"], program, LAUNCH),
        "program: the file has several kernels: A, B; choose with --kernel"
    );
    let other = format!("kernel = \"C\"\n{LAUNCH}");
    assert_eq!(
        refusal("second", &["run"], program, &other),
        "program: there is no kernel \"C\"; the file has A, B"
    );
}

#[test]
fn faults_of_runs() {
    for (body, rest, expected) in [
        (
            "    binop x = 1 / Tid\n",
            &[][..],
            "line 2, column 5: #0: division by zero, in thread 0, at cycle 0",
        ),
        (
            "    binop x = 2 - Tid\n    binop x = 1 % x\n",
            &[],
            "line 3, column 5: #1: division by zero, in thread 2, at cycle 1",
        ),
        (
            "    binop x = Tid - 1\n    load x = x\n",
            &[],
            "line 3, column 5: #1: address -1 is outside the memory of 8 words, in thread 0, at cycle 1",
        ),
        (
            "    binop x = Tid + 6\n    store x = 1\n",
            &[],
            "line 3, column 5: #1: address 8 is outside the memory of 8 words, in thread 2, at cycle 1",
        ),
        (
            "l:  jump l\n",
            &["--max-cycles", "50"],
            "line 2, column 5: l: the kernel has not ended after 50 cycles, at cycle 50",
        ),
        (
            "    barrier 0, 5\n",
            &[],
            "line 2, column 5: #0: barrier 0 can never be satisfied: 4 threads have arrived, it waits for 5, \
             and no other thread can arrive, at cycle 1",
        ),
        (
            "    barrier Tid, 4\n",
            &[],
            "line 2, column 5: #0: the lanes of the warp do not agree on the barrier and its number of threads, \
             at cycle 0",
        ),
    ] {
        let program = format!(".kernel K\n{body}");
        assert_eq!(
            refusal("faults", &[&["run"], rest].concat(), &program, LAUNCH),
            format!("program: kernel K: {expected}"),
            "{program}"
        );
    }
}

#[test]
fn loops_without_end_are_not_bounded() {
    assert_eq!(
        refusal("endless", &["cta"], ".kernel K\n\nl:  jump l\n", LAUNCH),
        "program: kernel K: line 3, column 5: infinite loop: no instruction reachable from here exits the kernel"
    );
}

/// The limit of a launch file applies without an option.
#[test]
fn cycle_limits_of_launch_file_and_option() {
    let launch = format!("max_cycles = 7\n{LAUNCH}");
    let program = ".kernel K\nl:  jump l\n";
    let message = refusal("limit", &["run"], program, &launch);
    assert!(
        message.contains("has not ended after 7 cycles"),
        "{message}"
    );
    let message = refusal("limit", &["run", "--max-cycles", "9"], program, &launch);
    assert!(
        message.contains("has not ended after 9 cycles"),
        "{message}"
    );
}

#[test]
fn launches() {
    for (launch, program, expected) in [
        (
            "threads = 257\nmemory = 0\n",
            PROGRAM,
            "launch: 257 threads make 65 warps, machine paper-2014 holds 64",
        ),
        (
            "threads = 1\nmemory = 0\n[constants]\nm = 1\nn = 1\n",
            ".kernel K\n.param n\n    const x = n\n",
            "launch: kernel K: the kernel has no launch constant m",
        ),
        (
            LAUNCH,
            ".kernel K\n.param n\n    const x = n\n",
            "launch: kernel K: launch constant n has no value",
        ),
        (
            "threads = 1\nmemory = 0\nmachine = \"hopper\"\n",
            PROGRAM,
            "launch: there is no machine \"hopper\"; there are paper-2014, wide-8, and files that end in .toml",
        ),
        (
            "threads = 1\nmemory = 0\n\nthread = 2\n",
            PROGRAM,
            "launch: line 4: unknown field `thread`, expected one of `kernel`, `machine`, `threads`, `memory`, \
             `max_cycles`, `fails`, `constants`, `data`, `expect`",
        ),
        (
            "threads = 1\n",
            PROGRAM,
            "launch: line 1: missing field `memory`",
        ),
        (
            "threads = 0\nmemory = 0\n",
            PROGRAM,
            "launch: threads is 0; a block has 1 to 1048576",
        ),
    ] {
        for command in ["run", "cta"] {
            assert_eq!(
                refusal("launches", &[command], program, launch),
                expected,
                "{command}"
            );
        }
    }
    let launch = "threads = 1\nmemory = 4\n[[expect]]\nat = 2\nvalues = [0, -1]\n";
    assert_eq!(
        refusal("launches", &["run"], PROGRAM, launch),
        "launch: kernel K: the word at 3 is 0 at the end, not -1"
    );
}

#[test]
fn machines() {
    let text =
        std::fs::read_to_string(built_folder().join("../../machine/mini-simt/paper-2014.toml"))
            .expect("a machine");
    for (line, with, expected) in [
        ("\nwarps = 64", "", "line 1: missing field `warps`"),
        ("\nmemory = ", "\n# ", "line 13: missing field `memory`"),
        (
            "warp_width = 4",
            "warp_width = 0",
            "warp_width is 0; warps have 1 to 64 lanes",
        ),
        (
            "\"round-robin\", source",
            "\"oldest\", source",
            "unknown policy \"oldest\"; there are \"round-robin\", \"lowest-first\" and \"greedy\"",
        ),
    ] {
        let changed = text.replace(line, with);
        assert_ne!(changed, text);
        let machine = scratch("machines.machine.toml", changed);
        for command in ["run", "cta"] {
            let message = refusal(
                "machines",
                &[command, "--machine", &machine],
                PROGRAM,
                LAUNCH,
            );
            assert_eq!(message, format!("{machine}: {expected}"));
        }
        // The file that a launch names is in the folder of the launch.
        let launch = format!("machine = \"machines.machine.toml\"\n{LAUNCH}");
        let message = refusal("machines", &["run"], PROGRAM, &launch);
        assert_eq!(message, format!("{machine}: {expected}"));
    }
    let message = refusal(
        "machines",
        &["run", "--machine", "nowhere.toml"],
        PROGRAM,
        LAUNCH,
    );
    assert!(
        message.starts_with("nowhere.toml: cannot be read: "),
        "{message}"
    );
}

/// Machine code does not run on mini-SIMT machines.
#[test]
fn cubins_are_not_simulated_as_mini_simt() {
    let launch = scratch("cubins.toml", LAUNCH);
    for (file, kernel) in [
        ("if_else.sm_61.cubin", "if_only"),
        ("nested_loops.sm_62.cubin", "nested_fixed"),
    ] {
        let message = run(&["cta", file, "--kernel", kernel, "--launch", &launch]).refusal();
        assert_eq!(
            message,
            format!(
                "{file}: cta bounds blocks of mini-SIMT kernels, and this is machine code of a GPU; `warpbound bound` \
                 bounds the instructions that a warp of it issues, `warpbound run` simulates it"
            )
        );
        // A launch of the other kind is refused by the key that it lacks.
        let message = run(&["run", file, "--kernel", kernel, "--launch", &launch]).refusal();
        assert!(message.starts_with(&format!("{launch}: ")), "{message}");
        assert!(
            message.ends_with("and the kernel is for a GPU"),
            "{message}"
        );
    }
}
