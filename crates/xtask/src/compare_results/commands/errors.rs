//! Command lines that have to fail: their exit codes and messages are results too.

use super::super::execute::FOLDER;
use super::{Plan, contents};
use crate::repository::Repository;

/// A cubin, a launch of it, a program and a launch of that.
const CUBIN: &str = "kernels/built/matmul_int.sm_61.cubin";
const LAUNCH: &str = "kernels/cuda/matmul_int.8x8.toml";
const PROGRAM: &str = "kernels/msimt/gcd.msimt";
const PROGRAM_LAUNCH: &str = "kernels/msimt/gcd.toml";

/// Calls with words that are not understood, or too few.
const USAGE: [&str; 24] = [
    "",
    "--version",
    "nothing",
    "list",
    "list a b",
    "list @C --format xml",
    "list @C --image x",
    "list @C --sm maxwell",
    "cfg @C",
    "cfg @C --kernel matmul_int --level block",
    "bound @C --loop-default many",
    "bound @C --loop-default -1",
    "bound @C --block 0",
    "bound @C --block 1,2,3,4",
    "bound @C --block 4096",
    "bound @C --stack none",
    "bound @C --warp-width 65",
    "bound @C --jobs 0",
    "bound @C --time-limit never",
    "run @C",
    "run @R --functional --machine gtx1080",
    "run @R --functional --select lo",
    "audit @R --runs 0",
    "cta @C",
];

/// Calls of `run` with values that no machine has.
const VALUES: [&str; 17] = [
    "--machine nothing",
    "--machine nothing.toml",
    "--machine paper-2014",
    "--machine jetson-tx2",
    "--set nothing=1",
    "--set shared.latency",
    "--set shared.latency=x",
    "--set shared.latency=-1",
    "--set shared.latency=99999999999",
    "--set sm.count=0",
    "--scheduler nothing",
    "--scheduler random:x",
    "--select nothing",
    "--select seed=x",
    "--caches hot",
    "--interlock none",
    "--max-instructions 0",
];

/// Calls whose files or kernels are not usable.
const INPUTS: [&str; 26] = [
    "list nothing.cubin",
    "list README.md",
    "list kernels",
    "list @C --image 9",
    "list @C --sm sm_99",
    "list @C --sm sm_50",
    "list @C --kernel nothing",
    "disasm @C --kernel nothing",
    "disasm @C --kernel matmul*",
    "cfg @C --kernel nothing",
    "cfg kernels/built/spmv.sm_61.cubin --kernel *",
    "divergence @C --kernel nothing",
    "facts @C --kernel nothing",
    "bound @C --kernel nothing",
    "bound @C --facts nothing.facts",
    "bound @C --facts README.md",
    "bound @C --loop-default 10 --output nothing/here/x",
    "extract @C --kernel nothing --output {folder}/x",
    "run @C --launch nothing.toml",
    "run @C --launch README.md",
    "run @C --launch kernels/microbenchmarks/rates.toml",
    "run @C --launch kernels/launches/vote.vote.0.toml",
    "run @R --kernel nothing",
    "cta @R",
    "audit @C --launch kernels/msimt/gcd.toml",
    "run kernels/msimt/gcd.msimt --launch kernels/cuda/matmul_int.8x8.toml",
];

/// Lines that replace `block = [8, 8]` in a launch file, or come with it.
const LAUNCH_LINES: [&str; 7] = [
    "block = [64, 64]",
    "block = [0]",
    "block = \"8\"",
    "block = [8, 8]\nnothing = 1",
    "block = [8, 8]\ncaches = \"hot\"",
    "block = [8, 8]\nmachine = \"nothing\"",
    "block = [8, 7]",
];

pub(super) fn add(plan: &mut Plan, repository: &Repository) -> anyhow::Result<()> {
    let root = repository.root();
    let run = format!("run {CUBIN} --launch {LAUNCH}");
    let mini = format!("run {PROGRAM} --launch {PROGRAM_LAUNCH}");
    let files = |words: &str| {
        let launched = format!("{CUBIN} --launch {LAUNCH}");
        words.replace("@C", CUBIN).replace("@R", &launched)
    };
    for words in USAGE {
        plan.add("usage", &files(words));
    }
    for words in INPUTS {
        plan.add("unusable inputs", &files(words));
    }
    for words in VALUES {
        plan.add("unusable values", &format!("{run} {words}"));
        plan.add("unusable values", &format!("{mini} {words}"));
    }
    for (command, rest) in [("list", ""), ("disasm", ""), ("bound", "--loop-default 2")] {
        for (file, whole) in [(CUBIN, true), (CUBIN, false), (PROGRAM, true)] {
            let bytes = contents(root, file)?;
            let end = if whole { bytes.len() } else { bytes.len() / 2 };
            let line = plan.add_with("standard input", &format!("{command} - {rest}"), &[]);
            line.standard_input = bytes[..end].to_vec();
        }
    }
    let launch = String::from_utf8_lossy(&contents(root, LAUNCH)?).into_owned();
    for lines in LAUNCH_LINES {
        let changed = launch.replace("block = [8, 8]", lines);
        let given = [("launch.toml", changed.into_bytes())];
        let words = format!("run {CUBIN} --launch {FOLDER}/launch.toml");
        plan.add_with("unusable launches", &words, &given);
        plan.add_with(
            "unusable launches",
            &format!("{words} --functional"),
            &given,
        );
    }
    for text in [
        "[[kernel]]\nname = \"matmul_int\"\ncode = \"0000000000000000\"\nloops = []\n",
        "[[kernel]]\nname = \"matmul_int\"\nnothing = 1\n",
        "[[kernel]]\nname = \"nothing\"\ncode = \"0000000000000000\"\nloops = []\n",
        "bound = ",
    ] {
        let given = [("kernel.facts", text.as_bytes().to_vec())];
        let words = format!("bound {CUBIN} --facts {FOLDER}/kernel.facts");
        plan.add_with("unusable facts", &words, &given);
        plan.add_with("unusable facts", &format!("{words} --format json"), &given);
    }
    for text in [
        "",
        "kernel",
        "Kernel:\n  load a = ",
        "Kernel:\n  nothing a\n",
        "Kernel:\n  jump nowhere\n",
    ] {
        let given = [("program.msimt", text.as_bytes().to_vec())];
        plan.add_with(
            "unusable programs",
            &format!("list {FOLDER}/program.msimt"),
            &given,
        );
        plan.add_with(
            "unusable programs",
            &format!("disasm {FOLDER}/program.msimt"),
            &given,
        );
    }
    Ok(())
}
