//! Maintenance commands of the repository: `cargo xtask COMMAND [ARGUMENT...]`.
//!
//! This file is only the table of commands. Each command has a module of its own with
//! `HELP`, what `--help` prints for it, and `run`, which gets the arguments after the command's name.

mod audit;
mod audit_kernels;
mod audit_mini;
mod containers;
mod cubin;
mod disasm_compare;
mod each_kernel;
mod expressions;
mod extract;
mod kernels;
mod launches;
mod life_ranges;
mod listing_speed;
mod meanings;
mod monotone;
mod nvdisasm;
mod nvrtc;
mod oracle;
mod repository;
mod survey;
mod tables;
mod train_perceptron;

use std::process::ExitCode;

use repository::Repository;

/// One maintenance command.
struct Command {
    /// What is typed after `cargo xtask`.
    name: &'static str,
    /// One line for the list of commands.
    summary: &'static str,
    /// The text of `cargo xtask NAME --help`.
    help: &'static str,
    /// Does the work; the error becomes one line on standard error.
    run: fn(&Repository, &[String]) -> anyhow::Result<()>,
}

const COMMANDS: &[Command] = &[
    Command {
        name: "oracle",
        summary: "download NVIDIA's disassembler and compiler into oracle/",
        help: oracle::HELP,
        run: oracle::run,
    },
    Command {
        name: "kernels",
        summary: "build kernels/cuda/*.cu into kernels/built/, or check that they are up to date",
        help: kernels::HELP,
        run: kernels::run,
    },
    Command {
        name: "launches",
        summary: "write launch files of our kernels from their references, or check that they are up to date",
        help: launches::HELP,
        run: launches::run,
    },
    Command {
        name: "containers",
        summary: "pack cubins into the files with cubins inside that tests read",
        help: containers::HELP,
        run: containers::run,
    },
    Command {
        name: "extract",
        summary: "take the cubins out of libraries",
        help: extract::HELP,
        run: extract::run,
    },
    Command {
        name: "disasm-compare",
        summary: "compare our disassembly with NVIDIA's, over our kernels, other cubins or random words",
        help: disasm_compare::HELP,
        run: disasm_compare::run,
    },
    Command {
        name: "life-ranges",
        summary: "compare reads and writes with the life ranges that NVIDIA's disassembler prints",
        help: life_ranges::HELP,
        run: life_ranges::run,
    },
    Command {
        name: "monotone",
        summary: "run single warps with each number of the machine at its slow end: none may be faster",
        help: monotone::HELP,
        run: monotone::run,
    },
    Command {
        name: "listing-speed",
        summary: "instructions listed per second, beside NVIDIA's disassembler",
        help: listing_speed::HELP,
        run: listing_speed::run,
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
        name: "audit",
        summary: "concrete warps against every claim of the analyses",
        help: audit::HELP,
        run: audit::run,
    },
    Command {
        name: "audit-kernels",
        summary: "kernels with a reference, run without time, against every claim and their bounds",
        help: audit_kernels::HELP,
        run: audit_kernels::run,
    },
    Command {
        name: "expressions",
        summary: "random expressions of CUDA C, compiled and run, against Rust",
        help: expressions::HELP,
        run: expressions::run,
    },
    Command {
        name: "audit-mini",
        summary: "the mini-SIMT machine against all that is said of its programs",
        help: audit_mini::HELP,
        run: audit_mini::run,
    },
    Command {
        name: "train-perceptron",
        summary: "the weights of the digit perceptrons in kernels/data/perceptron",
        help: train_perceptron::HELP,
        run: train_perceptron::run,
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
        println!("\n`cargo xtask COMMAND --help` says more about one command.");
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
