//! Maintenance commands of the repository: `cargo xtask COMMAND [ARGUMENT...]`.
//!
//! This file contains only the table of commands. Each command has its own module with `HELP`, the text that `--help`
//! prints, and `run`, which takes the arguments after the command's name.
//!
//! # Concepts
//!
//! * experiments on splitting waves, plots: `xtask/src/reproduce_splitting.rs`; `docs/wavefront-splitting.md`
//! * figures of `docs/evidence.md`: `xtask/src/evidence.rs`, `xtask/src/evidence/sections.toml`
//! * results of two builds of warpbound compared: `xtask/src/compare_results.rs`
//! * disassembly compared with NVIDIA's and LLVM's: `xtask/src/disasm_compare.rs`, `nvdisasm.rs`, `llvm_mc.rs`

mod audit;
mod audit_control_words;
mod audit_convergence;
mod audit_cycles;
mod audit_grids;
mod audit_kernels;
mod audit_loops;
mod audit_mini;
mod audit_mutants;
mod audit_odd_machines;
mod audit_short_launches;
mod audit_sizes;
mod audit_splits;
mod compare_results;
mod concepts;
mod containers;
mod cubin;
mod disasm_compare;
mod each_kernel;
mod encode_check;
mod evidence;
mod expressions;
mod extract;
mod formulas;
mod gaps;
mod gcn3_compiler;
mod html_check;
mod journal;
mod kernels;
mod launches;
mod life_ranges;
mod lint_distances;
mod listing_speed;
mod llvm_mc;
mod loops;
mod meanings;
mod monotone;
mod nvdisasm;
mod nvrtc;
mod oracle;
mod paper_metrics;
mod plan_check;
mod precision;
mod predict_check;
mod probe_check;
mod probe_encodings;
mod probe_overhead;
mod profiles;
mod reality;
mod rebuilt;
mod recordings;
mod replay;
mod repository;
mod reproduce_splitting;
mod rewrite_check;
mod survey;
mod tables;
mod train_perceptron;
mod workers;

use std::process::ExitCode;

use repository::Repository;

/// A maintenance command.
struct Command {
    /// Name on the command line.
    name: &'static str,
    /// One-line summary for the list of commands.
    summary: &'static str,
    /// Text of `cargo xtask NAME --help`.
    help: &'static str,
    /// Runs the command; an error becomes one line on standard error.
    run: fn(&Repository, &[String]) -> anyhow::Result<()>,
}

const COMMANDS: &[Command] = &[
    Command {
        name: "oracle",
        summary: "download the compilers and disassemblers of both vendors into oracle/",
        help: oracle::HELP,
        run: oracle::run,
    },
    Command {
        name: "kernels",
        summary: "build kernels/cuda/*.cu and kernels/gcn3/* into kernels/built/, or check that they are up to date",
        help: kernels::HELP,
        run: kernels::run,
    },
    Command {
        name: "rebuilt",
        summary: "build changed sources of kernels/cuda, for tests of facts that survive a rebuild",
        help: rebuilt::HELP,
        run: rebuilt::run,
    },
    Command {
        name: "launches",
        summary: "write launch files of our kernels from their references, or check that they are up to date",
        help: launches::HELP,
        run: launches::run,
    },
    Command {
        name: "containers",
        summary: "pack cubins into the containers that tests read",
        help: containers::HELP,
        run: containers::run,
    },
    Command {
        name: "probe-encodings",
        summary: "what the table of 128-bit instructions gets wrong",
        help: probe_encodings::HELP,
        run: probe_encodings::run,
    },
    Command {
        name: "extract",
        summary: "extract the cubins of libraries",
        help: extract::HELP,
        run: extract::run,
    },
    Command {
        name: "lint-distances",
        summary: "learn the distances that control words must keep from the code of compilers, or check the table",
        help: lint_distances::HELP,
        run: lint_distances::run,
    },
    Command {
        name: "disasm-compare",
        summary: "compare our disassembly with NVIDIA's, over our kernels, other cubins or random words",
        help: disasm_compare::HELP,
        run: disasm_compare::run,
    },
    Command {
        name: "encode-check",
        summary: "encode the instructions of kernels and libraries, or random words, from their fields and operands",
        help: encode_check::HELP,
        run: encode_check::run,
    },
    Command {
        name: "html-check",
        summary: "open pages of bounds in a headless browser",
        help: html_check::HELP,
        run: html_check::run,
    },
    Command {
        name: "rewrite-check",
        summary: "write cubins again, with and without insertions, and compare results and disassembly",
        help: rewrite_check::HELP,
        run: rewrite_check::run,
    },
    Command {
        name: "life-ranges",
        summary: "compare reads and writes with the life ranges that NVIDIA's disassembler prints",
        help: life_ranges::HELP,
        run: life_ranges::run,
    },
    Command {
        name: "audit-sizes",
        summary: "compare bounds in cycles for ranges of sizes with runs of sizes in them",
        help: audit_sizes::HELP,
        run: audit_sizes::run,
    },
    Command {
        name: "monotone",
        summary: "run single warps with each parameter of the machine at its slow end: none may be faster",
        help: monotone::HELP,
        run: monotone::run,
    },
    Command {
        name: "plan-check",
        summary: "plans of probes: sizes, forged proofs, the optimum by enumeration, counts of all own launches",
        help: plan_check::HELP,
        run: plan_check::run,
    },
    Command {
        name: "replay",
        summary: "replay recorded runs of single warps with the transfer functions of bounds, cycle by cycle",
        help: replay::HELP,
        run: replay::run,
    },
    Command {
        name: "gaps",
        summary: "bounds of single warps and of launches against their worst runs, the gaps by cause; no chain may invert",
        help: gaps::HELP,
        run: gaps::run,
    },
    Command {
        name: "gap",
        summary: "the same as gaps",
        help: gaps::HELP,
        run: gaps::run,
    },
    Command {
        name: "sandwiches",
        summary: "the same as gaps",
        help: gaps::HELP,
        run: gaps::run,
    },
    Command {
        name: "sandwich",
        summary: "the same as gaps",
        help: gaps::HELP,
        run: gaps::run,
    },
    Command {
        name: "paper-metrics",
        summary: "activity factor and memory intensity of the seven kernels of efficient-instrumentation-2014",
        help: paper_metrics::HELP,
        run: paper_metrics::run,
    },
    Command {
        name: "listing-speed",
        summary: "instructions listed per second, compared with NVIDIA's disassembler",
        help: listing_speed::HELP,
        run: listing_speed::run,
    },
    Command {
        name: "reality",
        summary: "compare what a GPU measured with the timing model of it",
        help: reality::HELP,
        run: reality::run,
    },
    Command {
        name: "recordings",
        summary: "executions that a GPU recorded, against graphs and bounds",
        help: recordings::HELP,
        run: recordings::run,
    },
    Command {
        name: "survey",
        summary: "bound all own kernels; times; branch targets against the compiler's record",
        help: survey::HELP,
        run: survey::run,
    },
    Command {
        name: "tables",
        summary: "the evaluation of warp-cfg-2023: domains switched off, divergence edges, times",
        help: tables::HELP,
        run: tables::run,
    },
    Command {
        name: "meanings",
        summary: "write docs/instructions.md, or count the instructions of kernels that have a meaning",
        help: meanings::HELP,
        run: meanings::run,
    },
    Command {
        name: "concepts",
        summary: "write docs/concepts.md from the heads of the crates",
        help: concepts::HELP,
        run: concepts::run,
    },
    Command {
        name: "audit",
        summary: "compare concrete warps with every claim of the analyses",
        help: audit::HELP,
        run: audit::run,
    },
    Command {
        name: "audit-convergence",
        summary: "compare runs of random programs with convergence barriers with their bounds",
        help: audit_convergence::HELP,
        run: audit_convergence::run,
    },
    Command {
        name: "audit-loops",
        summary: "compare threads of random programs with the derived bounds of their loops",
        help: audit_loops::HELP,
        run: audit_loops::run,
    },
    Command {
        name: "audit-mutants",
        summary: "change instructions of compiled kernels and compare their runs with what is claimed of counts",
        help: audit_mutants::HELP,
        run: audit_mutants::run,
    },
    Command {
        name: "loops",
        summary: "loops of our kernels with a derived bound, by pattern, and what the others lack",
        help: loops::HELP,
        run: loops::run,
    },
    Command {
        name: "audit-kernels",
        summary: "compare functional runs of kernels with a reference with every claim and their bounds",
        help: audit_kernels::HELP,
        run: audit_kernels::run,
    },
    Command {
        name: "formulas",
        summary: "formulas of bounds in the counts of loops against the bounds at random points",
        help: formulas::HELP,
        run: formulas::run,
    },
    Command {
        name: "precision",
        summary: "more precision gives no greater bound, over all own kernels and both readings of loop facts",
        help: precision::HELP,
        run: precision::run,
    },
    Command {
        name: "predict-check",
        summary: "compare predicted counts with those of functional runs",
        help: predict_check::HELP,
        run: predict_check::run,
    },
    Command {
        name: "profiles",
        summary: "compare launch profiles with the instructions that each warp issues",
        help: profiles::HELP,
        run: profiles::run,
    },
    Command {
        name: "expressions",
        summary: "compile and run random expressions of CUDA C and compare them with Rust",
        help: expressions::HELP,
        run: expressions::run,
    },
    Command {
        name: "audit-mini",
        summary: "compare the mini-SIMT machine with every claim about its programs",
        help: audit_mini::HELP,
        run: audit_mini::run,
    },
    Command {
        name: "evidence",
        summary: "measure the figures of docs/evidence.md again and write them",
        help: evidence::HELP,
        run: evidence::run,
    },
    Command {
        name: "reproduce-splitting",
        summary: "the experiments of wavefront-splitting-2022 on simulated compute units, with plots",
        help: reproduce_splitting::HELP,
        run: reproduce_splitting::run,
    },
    Command {
        name: "compare-results",
        summary: "two builds of warpbound on the same command lines: equal results, but for renamed words",
        help: compare_results::HELP,
        run: compare_results::run,
    },
    Command {
        name: "train-perceptron",
        summary: "train the digit perceptrons in kernels/data/perceptron",
        help: train_perceptron::HELP,
        run: train_perceptron::run,
    },
    Command {
        name: "probe-check",
        summary: "compare the counters of instrumented kernels with the counts of the same runs, all launches and modes",
        help: probe_check::HELP,
        run: probe_check::run,
    },
    Command {
        name: "probe-overhead",
        summary: "simulated cycles of instrumented kernels, by kind of probe",
        help: probe_overhead::HELP,
        run: probe_overhead::run,
    },
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match dispatch(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn dispatch(arguments: &[String]) -> anyhow::Result<()> {
    let Some((name, rest)) = arguments.split_first() else {
        anyhow::bail!("no command given; `cargo xtask --help` lists them");
    };
    if is_help(name) {
        println!("usage: cargo xtask COMMAND [ARGUMENT...]\n");
        for command in COMMANDS {
            println!("  {:<16} {}", command.name, command.summary);
        }
        println!("\n`cargo xtask COMMAND --help` describes one command.");
        return Ok(());
    }
    let Some(command) = COMMANDS.iter().find(|command| command.name == name) else {
        anyhow::bail!("no command is called {name:?}; `cargo xtask --help` lists them");
    };
    if rest.iter().any(|argument| is_help(argument)) {
        println!("{}", command.help.trim_end());
        return Ok(());
    }
    (command.run)(&Repository::find()?, rest)
}

fn is_help(argument: &str) -> bool {
    matches!(argument, "--help" | "-h" | "help")
}
