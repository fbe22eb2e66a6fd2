//! What can be typed.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::RangedU64ValueParser;
use clap::{Args, Parser, Subcommand, ValueEnum, value_parser};
use warpbound_driver::{
    AgreementDomain, DivergenceOrder, FactsFile, GroupDomain, Interlock, CfgLevel, WarpModel, Selection,
    FactReading, Selection, Sm, StackDomain, StartCaches, WarpPolicy,
};
use warpbound_report::BoundFormat;

use crate::input;
use crate::later::Later;
use crate::values::{SetTo, block, loop_default, pick, seconds, set};

/// Worst-case bounds of GPU kernels, from their machine code.
#[derive(Parser)]
#[command(name = "warpbound", version)]
#[command(
    after_help = "Exit codes: 0 done, 1 an audit found a violation, 2 some kernel has no bound, 3 the input cannot be used, 64 wrong usage."
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// List the kernels of a cubin, or the images of a library
    List(Later<ListArguments>),
    /// Write images of a library as cubins
    Extract(Later<ExtractArguments>),
    /// Print the machine code with its control words
    Disasm(Later<DisasmArguments>),
    /// Print the control-flow graph of a thread or of a warp
    Cfg(Later<CfgArguments>),
    /// Run a kernel on a simulated machine, cycle by cycle, or a GPU kernel without time
    Run(Later<RunArguments>),
    /// Estimate a block of a mini-SIMT kernel by abstract CTA simulation, and bound its cycles
    Cta(Later<CtaArguments>),
    /// Run a GPU kernel without time and compare each step of its warps with what is claimed of it
    Audit(Later<AuditArguments>),
    /// Print which branches, loads and barriers may diverge, and why
    Divergence(Later<DivergenceArguments>),
    /// Print a facts file with one line per loop, ready to be filled
    Facts(Later<TemplateArguments>),
    /// Bound the warp instructions that a warp issues
    Bound(Later<BoundArguments>),
}

/// Arguments of `list`.
#[derive(Args)]
pub(crate) struct ListArguments {
    #[command(flatten)]
    pub(crate) input: Input,
    /// Only the kernels of this name: mangled, as C++ has it, without namespaces or arguments, or a prefix and `*`
    #[arg(long, value_name = "K")]
    pub(crate) kernel: Option<String>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
    #[command(flatten)]
    pub(crate) output: OutputArguments,
}

/// Arguments of `extract`.
#[derive(Args)]
pub(crate) struct ExtractArguments {
    #[command(flatten)]
    pub(crate) input: Input,
    /// Only images with a kernel of this name: mangled, as C++ has it, without namespaces or arguments, or a prefix and `*`
    #[arg(long, value_name = "K")]
    pub(crate) kernel: Option<String>,
    /// A file for the only image, or a folder for any number; a folder is made where there is none [default: standard output, for one image]
    #[arg(long, value_name = "PATH")]
    pub(crate) output: Option<PathBuf>,
}

/// Arguments of `disasm`.
#[derive(Args)]
pub(crate) struct DisasmArguments {
    #[command(flatten)]
    pub(crate) input: Input,
    /// Only the kernels of this name: mangled, as C++ has it, without namespaces or arguments, or a prefix and `*`
    #[arg(long, value_name = "K")]
    pub(crate) kernel: Option<String>,
    /// Columns with decoded control words, or plain lines spelled as nvdisasm does
    #[arg(long, value_enum, default_value_t)]
    pub(crate) style: Style,
    #[command(flatten)]
    pub(crate) output: OutputArguments,
}

/// Arguments of `cfg`.
#[derive(Args)]
pub(crate) struct CfgArguments {
    #[command(flatten)]
    pub(crate) input: Input,
    /// The kernel: its name mangled, as C++ has it, without namespaces or arguments, or a prefix and `*`
    #[arg(long, value_name = "K")]
    pub(crate) kernel: String,
    /// Whose control flow
    #[arg(long, value_enum, default_value_t)]
    pub(crate) level: GraphLevel,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: GraphFormat,
    #[command(flatten)]
    pub(crate) output: OutputArguments,
    #[command(flatten)]
    pub(crate) launch: LaunchArguments,
    #[command(flatten)]
    pub(crate) domains: Domains,
}

/// Arguments of `cta`.
#[derive(Args)]
pub(crate) struct CtaArguments {
    #[command(flatten)]
    pub(crate) input: Input,
    #[command(flatten)]
    pub(crate) launch: LaunchInput,
    #[command(flatten)]
    pub(crate) facts: FactsArguments,
    /// Output format; dot and svg draw the abstract warp
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: GraphFormat,
    #[command(flatten)]
    pub(crate) output: OutputArguments,
}

/// Arguments of `audit`.
#[derive(Args)]
pub(crate) struct AuditArguments {
    #[command(flatten)]
    pub(crate) input: Input,
    #[command(flatten)]
    pub(crate) launch: GridInput,
    #[command(flatten)]
    pub(crate) facts: FactsArguments,
    /// Runs: first the launch as given, then others with other contents of its buffers
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = RangedU64ValueParser::<u64>::new().range(1..))]
    pub(crate) runs: u64,
    /// Start of the random sequence of those
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Stop the first run after so many warp instructions [default: 1000000000]
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<u64>::new().range(1..))]
    pub(crate) max_instructions: Option<u64>,
    /// Write how often loops ran into a facts file, marked as observed
    #[arg(long, value_name = "PATH")]
    pub(crate) write_facts: Option<PathBuf>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
    #[command(flatten)]
    pub(crate) output: OutputArguments,
}

/// Arguments of `divergence`.
#[derive(Args)]
pub(crate) struct DivergenceArguments {
    #[command(flatten)]
    pub(crate) input: Input,
    /// Only the kernels of this name: mangled, as C++ has it, without namespaces or arguments, or a prefix and `*`
    #[arg(long, value_name = "K")]
    pub(crate) kernel: Option<String>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
    #[command(flatten)]
    pub(crate) output: OutputArguments,
    #[command(flatten)]
    pub(crate) launch: LaunchArguments,
    #[command(flatten)]
    pub(crate) domains: Domains,
}

/// Arguments of `facts`.
#[derive(Args)]
pub(crate) struct TemplateArguments {
    #[command(flatten)]
    pub(crate) input: Input,
    /// Only the kernels of this name: mangled, as C++ has it, without namespaces or arguments, or a prefix and `*`
    #[arg(long, value_name = "K")]
    pub(crate) kernel: Option<String>,
    #[command(flatten)]
    pub(crate) output: OutputArguments,
}

/// Arguments of `bound`.
#[derive(Args)]
pub(crate) struct BoundArguments {
    #[command(flatten)]
    pub(crate) input: Input,
    /// Only the kernels of this name: mangled, as C++ has it, without namespaces or arguments, or a prefix and `*`
    #[arg(long, value_name = "K")]
    pub(crate) kernel: Option<String>,
    #[command(flatten)]
    pub(crate) facts: FactsArguments,
    /// Warp instructions of one call of a function outside the file, where no fact says it
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<u64>::new().range(0..=FactsFile::MOST_BOUND))]
    pub(crate) call_default: Option<u64>,
    #[command(flatten)]
    pub(crate) launch: LaunchArguments,
    /// What an instruction costs: `unit` is 1 each time the warp issues it
    #[arg(long, value_enum, default_value_t)]
    pub(crate) cost: Cost,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
    #[command(flatten)]
    pub(crate) output: OutputArguments,
    /// Say more: over which steps the warp takes up lanes that a divergent branch left waiting (JSON has them always)
    #[arg(long)]
    pub(crate) explain: bool,
    /// Give a kernel up after this many seconds (for example 0.5): it then has no bound; the machine's speed decides which kernels these are
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) time_limit: Option<Duration>,
    /// Add the seconds that each warp-level graph took to JSON (`cfg_seconds`); they differ from run to run
    #[arg(long)]
    pub(crate) timing: bool,
    /// Threads; the output does not depend on their number [default: one for each core]
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<u64>::new().range(1..=1024))]
    pub(crate) jobs: Option<u64>,
    #[command(flatten)]
    pub(crate) domains: Domains,
    /// Loop facts are about threads (simt), or about the loops of the warp-level graph, which may be others (paper)
    #[arg(long, value_enum, default_value_t)]
    pub(crate) flow: FlowReading,
}

/// What is run, and how.
#[derive(Args)]
pub(crate) struct RunArguments {
    #[command(flatten)]
    pub(crate) input: Input,
    #[command(flatten)]
    pub(crate) launch: LaunchInput,
    /// Run a GPU kernel without time: what it computes
    #[arg(long, conflicts_with_all = ["machine", "scheduler", "pick", "set", "caches", "interlock", "sensitivities", "timeline", "events", "trace", "max_cycles"])]
    pub(crate) functional: bool,
    /// More tables: where cycles went by SM, line and instruction; with --functional what was issued by class, opcode, branch, memory and line
    #[arg(long, help_heading = "GPU kernels")]
    pub(crate) stats: bool,
    /// Stop after so many warp instructions [default: 1000000000]
    #[arg(long, value_name = "N", help_heading = "GPU kernels", value_parser = RangedU64ValueParser::<u64>::new().range(1..))]
    pub(crate) max_instructions: Option<u64>,
    /// Threads for --sensitivities, and with --functional for blocks; the output does not depend on it [default: 1]
    #[arg(long, value_name = "N", help_heading = "GPU kernels", value_parser = RangedU64ValueParser::<u64>::new().range(1..=1024))]
    pub(crate) threads: Option<u64>,
    /// Which lanes go on first where they part [default: taken-first]
    #[arg(long, value_enum, help_heading = "GPU kernels")]
    pub(crate) order: Option<LaneOrder>,
    /// Which ready warp issues next [default: what the machine says]: the next one in turn (lrr), the one that issued last as long as it can, then the oldest (gto), the oldest, the youngest, any (random:SEED), the one whose unit most others want (contended-unit), or one until it ends or waits at a barrier (run-to-barrier)
    #[arg(long, value_name = "SCHEDULER", value_parser = value_parser!(WarpPolicy), help_heading = "GPU kernels with time")]
    pub(crate) scheduler: Option<WarpPolicy>,
    /// Which values the numbers of the machine have: the slow or the fast end of each, typical ones, at random with seed=N, or the least (lo) or the most (hi) of each [default: typical]. Of numbers without a slow end, such as sizes of caches, slow and fast try each value where runs are short. lo and hi are not the fastest and the slowest run: of some numbers more is faster
    #[arg(long = "select", visible_alias = "pick", value_name = "VALUES", value_parser = pick, help_heading = "GPU kernels with time")]
    pub(crate) pick: Option<Selection>,
    /// Another value of a number of the machine, named as in machine files: shared.latency=30; can be given several times. Names of earlier files that are sums are understood: dram.latency is l2.hit and dram.beyond_l2
    #[arg(long, value_name = "NAME=VALUE", value_parser = set, help_heading = "GPU kernels with time")]
    pub(crate) set: Vec<SetTo>,
    /// What is in the second-level cache at the start: nothing, or buffers, constants and code [default: what the launch file says, else cold]
    #[arg(long, value_enum, help_heading = "GPU kernels with time")]
    pub(crate) caches: Option<FirstCaches>,
    /// What decides when a warp may issue again: the control words, as in the machine, or a scoreboard of all registers [default: control-words]
    #[arg(long, value_enum, help_heading = "GPU kernels with time")]
    pub(crate) interlock: Option<Keeper>,
    /// Run again with the least and the most of each number of the machine that matters, and say what changes
    #[arg(long, help_heading = "GPU kernels with time")]
    pub(crate) sensitivities: bool,
    /// Write a timeline, which ui.perfetto.dev shows; a cycle is drawn as a microsecond
    #[arg(long, value_name = "FILE", help_heading = "GPU kernels with time")]
    pub(crate) timeline: Option<PathBuf>,
    /// Write each event as a line of JSON
    #[arg(long, value_name = "FILE", help_heading = "GPU kernels with time")]
    pub(crate) events: Option<PathBuf>,
    /// Print a line for each cycle: cycle, place, instruction, lanes
    #[arg(long, help_heading = "mini-SIMT kernels")]
    pub(crate) trace: bool,
    /// Stop after so many cycles [default: 100000000]
    #[arg(long, value_name = "N", help_heading = "mini-SIMT kernels", value_parser = RangedU64ValueParser::<u64>::new().range(1..))]
    pub(crate) max_cycles: Option<u64>,
    /// Output format
    #[arg(long, value_enum, default_value_t, conflicts_with = "trace")]
    pub(crate) format: Format,
    #[command(flatten)]
    pub(crate) output: OutputArguments,
}

/// Where the result goes.
#[derive(Args)]
pub(crate) struct OutputArguments {
    /// Write here instead of to standard output; the file appears when all is done
    #[arg(long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

/// What is known of loops.
#[derive(Args)]
pub(crate) struct FactsArguments {
    /// Flow facts (see `warpbound facts`)
    #[arg(long, value_name = "FILE")]
    pub(crate) facts: Option<PathBuf>,
    /// Bound of loops without a fact: header executions per entry and thread
    #[arg(long, value_name = "N", value_parser = loop_default())]
    pub(crate) loop_default: Option<u64>,
}

/// What is launched, and on which machine.
#[derive(Args)]
pub(crate) struct LaunchInput {
    /// The kernel [default: the one that the launch file names]
    #[arg(long, value_name = "K")]
    pub(crate) kernel: Option<String>,
    /// The launch: threads, constants, data
    #[arg(long, value_name = "FILE")]
    pub(crate) launch: PathBuf,
    /// The machine: a file, or the name of one that comes with warpbound [default: that of the launch file, or the one that the code is for]
    #[arg(long, value_name = "M")]
    pub(crate) machine: Option<String>,
}

/// What is launched of a grid.
#[derive(Args)]
pub(crate) struct GridInput {
    /// The kernel [default: the one that the launch file names]
    #[arg(long, value_name = "K")]
    pub(crate) kernel: Option<String>,
    /// The launch: grid, block, parameters
    #[arg(long, value_name = "FILE")]
    pub(crate) launch: PathBuf,
}

/// A file, and which of its images.
#[derive(Args)]
pub(crate) struct Input {
    /// A cubin, a file with cubins inside (fat binary, program, shared object, object file, archive), or mini-SIMT text; `-` is standard input
    pub(crate) file: PathBuf,
    /// Only images for this architecture: sm_61
    #[arg(long, value_name = "SM")]
    sm: Option<Sm>,
    /// Only the image of this number (see `warpbound list`)
    #[arg(long, value_name = "N")]
    image: Option<usize>,
}

impl Input {
    /// The name of the file in messages and reports.
    pub(crate) fn name(&self) -> String {
        match self.file.as_os_str() == "-" {
            true => input::STDIN.to_owned(),
            false => self.file.display().to_string(),
        }
    }

    pub(crate) fn selection(&self) -> Selection {
        Selection {
            image: self.image,
            sm: self.sm,
        }
    }
}

#[derive(Args)]
pub(crate) struct LaunchArguments {
    /// Threads of a block; Y and Z are 1 if left out
    #[arg(long, value_name = "X,Y,Z", value_parser = block)]
    pub(crate) block: Option<[u32; 3]>,
    /// Lanes of a warp, for mini-SIMT code [default: 64, the most that a machine may have]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64))]
    pub(crate) warp_width: Option<u32>,
}

#[derive(Args)]
pub(crate) struct Domains {
    /// Stacks as graphs with cycles, or without
    #[arg(long, value_enum, default_value_t, help_heading = "Precision")]
    stack: Stack,
    /// Keep relations between groups of lanes
    #[arg(long, value_enum, default_value_t, help_heading = "Precision")]
    groups: Groups,
    /// Keep agreement for all groups, for the active lanes, or not at all
    #[arg(long, value_enum, default_value_t, help_heading = "Precision")]
    agreement: Agreement,
    /// Which side of a divergent branch runs first
    #[arg(long, value_enum, default_value_t, help_heading = "Precision")]
    divergence_order: Order,
}

impl Domains {
    pub(crate) fn model(&self) -> WarpModel {
        WarpModel {
            may_diverge: true,
            order: match self.divergence_order {
                Order::Any => DivergenceOrder::Any,
                Order::TakenFirst => DivergenceOrder::TakenFirst,
                Order::FallThroughFirst => DivergenceOrder::FallThroughFirst,
            },
            stack: match self.stack {
                Stack::Full => StackDomain::Full,
                Stack::Acyclic => StackDomain::Acyclic,
            },
            groups: match self.groups {
                Groups::Full => GroupDomain::Full,
                Groups::Off => GroupDomain::Off,
            },
            agreement: match self.agreement {
                Agreement::Full => AgreementDomain::Full,
                Agreement::Active => AgreementDomain::ActiveOnly,
                Agreement::Off => AgreementDomain::Off,
            },
        }
    }
}

#[derive(Clone, Copy, Default, ValueEnum)]
pub(crate) enum Style {
    #[default]
    Columns,
    Nvdisasm,
}

#[derive(Clone, Copy, Default, ValueEnum)]
pub(crate) enum GraphLevel {
    Thread,
    #[default]
    Warp,
}

impl From<GraphLevel> for CfgLevel {
    fn from(level: GraphLevel) -> CfgLevel {
        match level {
            GraphLevel::Thread => CfgLevel::Thread,
            GraphLevel::Warp => CfgLevel::Warp,
        }
    }
}

#[derive(Clone, Copy, Default, ValueEnum)]
pub(crate) enum GraphFormat {
    #[default]
    Text,
    Dot,
    Json,
    Svg,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    #[default]
    Text,
    Json,
}

impl From<Format> for BoundFormat {
    fn from(format: Format) -> BoundFormat {
        match format {
            Format::Text => BoundFormat::Text,
            Format::Json => BoundFormat::Json,
        }
    }
}

#[derive(Clone, Copy, Default, ValueEnum)]
pub(crate) enum Cost {
    #[default]
    Unit,
}

#[derive(Clone, Copy, Default, ValueEnum)]
pub(crate) enum FlowReading {
    #[default]
    Simt,
    Paper,
}

impl From<FlowReading> for FactReading {
    fn from(flow: FlowReading) -> FactReading {
        match flow {
            FlowReading::Simt => FactReading::Simt,
            FlowReading::Paper => FactReading::Paper,
        }
    }
}

#[derive(Clone, Copy, Default, ValueEnum)]
enum Stack {
    #[default]
    Full,
    Acyclic,
}

#[derive(Clone, Copy, Default, ValueEnum)]
enum Groups {
    #[default]
    Full,
    Off,
}

#[derive(Clone, Copy, Default, ValueEnum)]
enum Agreement {
    #[default]
    Full,
    Active,
    Off,
}

#[derive(Clone, Copy, Default, ValueEnum)]
enum Order {
    #[default]
    Any,
    TakenFirst,
    FallThroughFirst,
}

/// Which lanes of a warp go on first where they part.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(crate) enum LaneOrder {
    /// Those that jump, as experiments with GPUs see it
    TakenFirst,
    /// Those that fall through
    FallThroughFirst,
}

/// What is in the second-level cache at the start.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum FirstCaches {
    Cold,
    Warm,
}

impl From<FirstCaches> for StartCaches {
    fn from(caches: FirstCaches) -> StartCaches {
        match caches {
            FirstCaches::Cold => StartCaches::Cold,
            FirstCaches::Warm => StartCaches::Warm,
        }
    }
}

/// What decides when a warp may issue again.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Keeper {
    ControlWords,
    Scoreboard,
}

impl From<Keeper> for Interlock {
    fn from(keeper: Keeper) -> Interlock {
        match keeper {
            Keeper::ControlWords => Interlock::ControlWords,
            Keeper::Scoreboard => Interlock::Scoreboard,
        }
    }
}
