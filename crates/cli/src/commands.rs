//! Commands: their summaries, their arguments, and the functions that execute them.

use clap::{Parser, Subcommand};

use crate::arguments::{
    AccessArguments, AuditArguments, BoundArguments, CfgArguments, DisasmArguments,
    DivergenceArguments, QueryArguments, TemplateArguments,
};
use crate::common::CommandError;
use crate::cta::CtaArguments;
use crate::diff::DiffArguments;
use crate::extract::ExtractArguments;
use crate::gap::GapArguments;
use crate::gate::GateArguments;
use crate::hybrid::HybridArguments;
use crate::instrument::InstrumentArguments;
use crate::later::Deferred;
use crate::list::ListArguments;
use crate::manual::{CompletionsArguments, ManArguments};
use crate::messages::MessageArguments;
use crate::metrics::MetricsArguments;
use crate::probes::{DecodeArguments, ProbesArguments};
use crate::run::RunArguments;
use crate::splits::SplitsArguments;
use crate::{
    audit, bound, cta, diff, extract, gap, gate, graph, hybrid, instrument, kernels, lint, list,
    manual, metrics, predict, probes, run, splits,
};

/// Bound, simulate and audit GPU kernels, from their machine code
#[derive(Parser)]
#[command(name = "warpbound", version)]
#[command(
    after_help = "Exit codes: 0 success, 1 an audit found a violation or a limit is exceeded, 2 some kernel has no bound, 3 unusable input, 64 wrong usage. If several apply, 1 comes before 3, and 3 before 2."
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
    #[command(flatten)]
    pub(crate) messages: MessageArguments,
}

/// Command with its arguments. The doc comments are the summaries of `warpbound --help`.
#[derive(Subcommand)]
pub(crate) enum Command {
    /// List the kernels of a cubin, or the images of a library
    List(Deferred<ListArguments>),
    /// Write images of a library as files of their own
    Extract(Deferred<ExtractArguments>),
    /// Disassemble kernels, with decoded control words
    Disasm(Deferred<DisasmArguments>),
    /// Print the thread-level or warp-level control-flow graph of a kernel
    Cfg(Deferred<CfgArguments>),
    /// Simulate a launch of a kernel, cycle by cycle or without timing
    Run(Deferred<RunArguments>),
    /// Bound the cycles of a block of a mini-SIMT kernel, and estimate them by abstract CTA simulation
    Cta(Deferred<CtaArguments>),
    /// Execute a GPU kernel and compare each step of its warps with the claims of the analyses
    Audit(Deferred<AuditArguments>),
    /// Report which branches, loads and barriers may diverge, and why
    Divergence(Deferred<DivergenceArguments>),
    /// Report the class of each memory access: the most requests, transactions and sectors that it can cause
    Access(Deferred<AccessArguments>),
    /// Report the branches where waves of GCN3 may split, with costs, and which to choose
    Splits(Deferred<SplitsArguments>),
    /// Plan the fewest probes that determine all counts of a kernel, with the proof
    Probes(Deferred<ProbesArguments>),
    /// Reconstruct the counts of a launch from the counters of a plan of probes
    Decode(Deferred<DecodeArguments>),
    /// Print a template of a facts file, with a line for each loop
    Facts(Deferred<TemplateArguments>),
    /// Bound the instructions that a warp of a kernel issues, and the cycles that it takes alone
    Bound(Deferred<BoundArguments>),
    /// Compare the bound of a warp in cycles with the worst simulated run, and split the gap into causes
    #[command(alias = "sandwich")]
    Gap(Deferred<GapArguments>),
    /// Estimate the time of a kernel from observed times of its parts, with waves that split
    Hybrid(Deferred<HybridArguments>),
    /// Write a cubin or code object whose kernel counts the executions of its blocks
    Instrument(Deferred<InstrumentArguments>),
    /// Predict how often each block of a kernel runs in a launch, without running it
    Predict(Deferred<predict::PredictArguments>),
    /// Execute launches without timing and report activity factor, memory intensity, instruction mix and divergence
    Metrics(Deferred<MetricsArguments>),
    /// Check the control words of kernels: whether each result is present when it is read
    Lint(Deferred<QueryArguments>),
    /// Compare two builds kernel by kernel: resources, bounds, loops, accesses, divergence, assumptions
    Diff(Deferred<DiffArguments>),
    /// Check kernels against a budget of bounds, registers, memory, occupancy and assumptions
    Gate(Deferred<GateArguments>),
    /// Print the completions of a shell
    Completions(Deferred<CompletionsArguments>),
    /// Print the page of a command in the manual, or write all pages
    Man(Deferred<ManArguments>),
}

/// Executes a command and returns the exit code.
pub(crate) fn execute(command: &Command) -> Result<u8, CommandError> {
    match command {
        Command::List(arguments) => list::list(&arguments.0),
        Command::Extract(arguments) => extract::extract(&arguments.0),
        Command::Disasm(arguments) => kernels::disasm(&arguments.0),
        Command::Cfg(arguments) => graph::graph(&arguments.0),
        Command::Run(arguments) => run::run(&arguments.0),
        Command::Cta(arguments) => cta::cta(&arguments.0),
        Command::Audit(arguments) => audit::audit(&arguments.0),
        Command::Divergence(arguments) => kernels::divergence(&arguments.0),
        Command::Access(arguments) => kernels::access(&arguments.0),
        Command::Splits(arguments) => splits::splits(&arguments.0),
        Command::Probes(arguments) => probes::probes(&arguments.0),
        Command::Decode(arguments) => probes::decode(&arguments.0),
        Command::Facts(arguments) => kernels::facts(&arguments.0),
        Command::Bound(arguments) => bound::bound(&arguments.0),
        Command::Gap(arguments) => gap::gap(&arguments.0),
        Command::Hybrid(arguments) => hybrid::hybrid(&arguments.0),
        Command::Instrument(arguments) => instrument::instrument(&arguments.0),
        Command::Predict(arguments) => predict::predict(&arguments.0),
        Command::Metrics(arguments) => metrics::metrics(&arguments.0),
        Command::Lint(arguments) => lint::lint(&arguments.0),
        Command::Diff(arguments) => diff::diff(&arguments.0),
        Command::Gate(arguments) => gate::gate(&arguments.0),
        Command::Completions(arguments) => manual::completions(&arguments.0),
        Command::Man(arguments) => manual::man(&arguments.0),
    }
}
