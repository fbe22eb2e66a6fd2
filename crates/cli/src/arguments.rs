//! Command-line arguments. Doc comments of fields are their help texts.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::RangedU64ValueParser;
use clap::{Args, ValueEnum, value_parser};
use warpbound_base::Sm;
use warpbound_query::Isa;
use warpbound_query::SplitPipelines;
use warpbound_query::input;
use warpbound_query::{AgreementDomain, DivergenceOrder, GroupDomain, StackDomain, WarpModel};
use warpbound_query::{
    CacheState, CfgLevel, Contents, FactReading, ImageSelection, NumberRange, Shard, SplitOptions,
    StatedParam, TimeScope,
};
use warpbound_query::{FactsFile, SchedulerClass};
use warpbound_report::{BoundFormat, ReportFormat};
use warpbound_rows::RowFormat;

use crate::cycle_limit::CycleLimit;
use crate::values::{clock, loop_default, named, param, seconds, size};

/// Arguments of `disasm`.
#[derive(Args)]
pub(crate) struct DisasmArguments {
    #[command(flatten)]
    pub(crate) input: Input,
    /// Only kernels with this name: mangled, demangled, demangled without namespaces and arguments, or a prefix and `*`
    #[arg(long, value_name = "K")]
    pub(crate) kernel: Option<String>,
    /// Columns with decoded control words, or the plain text of nvdisasm
    #[arg(long, value_enum, default_value_t)]
    pub(crate) style: Style,
    /// Operations as analyses and simulators read them, with their meanings
    #[arg(long, conflicts_with = "style")]
    pub(crate) ir: bool,
    /// FILE has bare instruction words of the architecture, in hexadecimal, one on a line: 16 digits, from sm_75 on 32; for gfx803 8, or 16
    /// with the second dword first. `invalid` stands for a word that is no instruction
    #[arg(long, requires = "arch", conflicts_with_all = ["style", "ir", "kernel", "image"])]
    pub(crate) words: bool,
    #[command(flatten)]
    pub(crate) jobs: Jobs,
    #[command(flatten)]
    pub(crate) output: OutputArguments,
}

/// Arguments of `cfg`.
#[derive(Args)]
pub(crate) struct CfgArguments {
    #[command(flatten)]
    pub(crate) input: Input,
    /// Name of the kernel: mangled, demangled, demangled without namespaces and arguments, or a prefix and `*`
    #[arg(long, value_name = "K")]
    pub(crate) kernel: String,
    /// Control flow of one thread, or of a warp
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
    pub(crate) domains: DomainArguments,
}

/// Arguments of `audit`.
#[derive(Args)]
pub(crate) struct AuditArguments {
    #[command(flatten)]
    pub(crate) input: Input,
    /// Name of the kernel [default: the one that the launch file names]
    #[arg(long, value_name = "K")]
    pub(crate) kernel: Option<String>,
    /// Launch file: grid, block, parameters; or a launch set. May be repeated for --format jsonl and parquet
    #[arg(
        id = "launch",
        long,
        value_name = "FILE",
        required_unless_present = "counts"
    )]
    pub(crate) launches: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) counts: CountsArguments,
    #[command(flatten)]
    pub(crate) facts: FactsArguments,
    /// Number of runs: the launch as given, then launches with random buffer contents
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = RangedU64ValueParser::<u64>::new().range(1..))]
    pub(crate) runs: u64,
    /// Seed of the random buffer contents
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Limit of the warp instructions of the first run [default: 1000000000]
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<u64>::new().range(1..))]
    pub(crate) max_instructions: Option<u64>,
    /// Also run single warps of each launch with time, and compare them with the bounds in cycles for their loop counts
    #[arg(long, help_heading = "Bounds in cycles")]
    pub(crate) cycles: bool,
    /// Machine: a file, or the name of a built-in machine [default: the one that the code is for]
    #[arg(
        long,
        value_name = "M",
        requires = "cycles",
        help_heading = "Bounds in cycles"
    )]
    pub(crate) machine: Option<String>,
    /// L2 cache at the start that the bounds are for: in any state, holding buffers, constants and code (warm), or empty
    /// (cold) [default: any]
    #[arg(long, value_parser = named::<CacheState>(), requires = "cycles", help_heading = "Bounds in cycles")]
    pub(crate) caches: Option<CacheState>,
    /// Write the iterations of loops that the runs had as a facts file, with a mark that they are observed only
    #[arg(long, value_name = "PATH")]
    pub(crate) write_facts: Option<PathBuf>,
    /// Output format. JSON lines and Parquet have a row for each launch
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: LaunchFormat,
    #[command(flatten)]
    pub(crate) shard: ShardArguments,
    #[command(flatten)]
    pub(crate) output: OutputArguments,
}

/// Arguments of commands that report on each kernel.
#[derive(Args)]
pub(crate) struct QueryArguments {
    #[command(flatten)]
    pub(crate) input: Input,
    /// Only kernels with this name: mangled, demangled, demangled without namespaces and arguments, or a prefix and `*`
    #[arg(long, value_name = "K")]
    pub(crate) kernel: Option<String>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
    #[command(flatten)]
    pub(crate) jobs: Jobs,
    #[command(flatten)]
    pub(crate) output: OutputArguments,
}

/// Number of threads of a command that works on several kernels or files.
#[derive(Args)]
pub(crate) struct Jobs {
    /// Number of threads, which does not change the output [default: one per core]
    #[arg(long, short = 'j', value_name = "N", value_parser = RangedU64ValueParser::<u64>::new().range(1..=1024))]
    jobs: Option<u64>,
}

impl Jobs {
    /// Returns the number of threads.
    pub(crate) fn count(&self) -> usize {
        let given = self.jobs.and_then(|jobs| usize::try_from(jobs).ok());
        given.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from))
    }
}

/// Arguments of `divergence`.
#[derive(Args)]
pub(crate) struct DivergenceArguments {
    #[command(flatten)]
    pub(crate) query: QueryArguments,
    #[command(flatten)]
    pub(crate) launch: LaunchArguments,
    #[command(flatten)]
    pub(crate) domains: DomainArguments,
}

/// Arguments of `access`.
#[derive(Args)]
pub(crate) struct AccessArguments {
    #[command(flatten)]
    pub(crate) query: QueryArguments,
    #[command(flatten)]
    pub(crate) launch: LaunchArguments,
    #[command(flatten)]
    pub(crate) domains: DomainArguments,
}

/// Arguments of `facts`.
#[derive(Args)]
pub(crate) struct TemplateArguments {
    #[command(flatten)]
    pub(crate) input: Input,
    /// Only kernels with this name: mangled, demangled, demangled without namespaces and arguments, or a prefix and `*`
    #[arg(long, value_name = "K")]
    pub(crate) kernel: Option<String>,
    /// Also list the memory accesses whose addresses are not known, the most expensive first
    #[arg(long, conflicts_with = "update")]
    pub(crate) accesses: bool,
    /// Carry over facts about an earlier build from this file, where they hold for this build; list the other facts
    #[arg(long, value_name = "OLD")]
    pub(crate) update: Option<PathBuf>,
    /// File of the earlier build, for facts in OLD without fingerprints
    #[arg(long, value_name = "OLDFILE", requires = "update")]
    pub(crate) before: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) launch: LaunchArguments,
    /// Use no loop bounds derived from the machine code
    #[arg(long, help_heading = "Precision")]
    pub(crate) no_derive: bool,
    #[command(flatten)]
    pub(crate) output: OutputArguments,
}

/// Arguments of `bound`.
#[derive(Args)]
pub(crate) struct BoundArguments {
    #[command(flatten)]
    pub(crate) input: Input,
    /// Only kernels with this name: mangled, demangled, demangled without namespaces and arguments, or a prefix and `*`
    #[arg(long, value_name = "K")]
    pub(crate) kernel: Option<String>,
    #[command(flatten)]
    pub(crate) facts: FactsArguments,
    /// Warp instructions per call of a function outside the file, for functions without a fact
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<u64>::new().range(0..=FactsFile::MAX_BOUND))]
    pub(crate) call_default: Option<u64>,
    #[command(flatten)]
    pub(crate) launch: LaunchArguments,
    /// Also give the bound as a formula in these parameters, sizes of block and grid, or words of parameters (`n`, `p3`,
    /// `blockDim.x`, as in --param), whose values stay open; `loops` gives a formula in the counts of the loops that have
    /// no fact
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    pub(crate) formula: Vec<String>,
    /// Contents of the buffers that the bound holds for: any contents (any), or the contents in the launch file (as-given)
    #[arg(long, value_enum, default_value_t, requires = "launch")]
    pub(crate) contents: BufferContents,
    /// Cost that is bounded: warp instructions (unit), or also the cycles of the timing model (cycles)
    #[arg(long, value_enum, default_value_t)]
    pub(crate) cost: Cost,
    #[command(flatten)]
    pub(crate) cycles: CycleArguments,
    /// Output format. HTML is a page that needs no other file; with a folder as --output, an index and a page for each
    /// 100 kernels. JSON lines and Parquet have a row for each kernel
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: OutputFormat,
    #[command(flatten)]
    pub(crate) shard: ShardArguments,
    /// Folder of the source files; their lines are shown between the machine code
    #[arg(long, value_name = "FOLDER")]
    pub(crate) sources: Option<PathBuf>,
    /// Also give the machine code, with executions, cycles, accesses and divergence of each instruction, in JSON (HTML
    /// always has it)
    #[arg(long)]
    pub(crate) machine_code: bool,
    #[command(flatten)]
    pub(crate) output: OutputArguments,
    /// Also list the edges over which a warp resumes lanes that a divergent branch left pending (JSON always lists
    /// them)
    #[arg(long)]
    pub(crate) explain: bool,
    /// Time limit per kernel in seconds, such as 0.5; a kernel that exceeds it has no bound, so the result depends on
    /// the speed of the host
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) time_limit: Option<Duration>,
    /// Add the construction time of each warp-level graph in seconds to JSON (`cfg_seconds`); it differs from run to
    /// run
    #[arg(long)]
    pub(crate) timing: bool,
    #[command(flatten)]
    pub(crate) jobs: Jobs,
    #[command(flatten)]
    pub(crate) domains: DomainArguments,
    /// Use no loop bounds derived from the machine code
    #[arg(long, help_heading = "Precision")]
    pub(crate) no_derive: bool,
    /// Apply loop facts to the loops of a thread (simt), or to the loops of the warp-level graph, which may differ (paper)
    #[arg(long, value_enum, default_value_t)]
    pub(crate) flow: FlowReading,
}

/// Machine and caches of bounds in cycles.
#[derive(Args)]
pub(crate) struct CycleArguments {
    /// Machine: a file, or the name of a built-in machine; the bound holds for all values in its ranges [default: the
    /// one that the code is for]
    #[arg(long, value_name = "M", help_heading = "Bounds in cycles")]
    pub(crate) machine: Option<String>,
    /// L2 cache at the start: in any state, holding buffers, constants and code (warm), or empty (cold) [default: any]
    #[arg(long, value_parser = named::<CacheState>(), help_heading = "Bounds in cycles")]
    pub(crate) caches: Option<CacheState>,
    /// Part of the launch whose cycles are bounded: a warp that runs alone, a block alone, as many blocks as an SM holds, or
    /// the whole grid, with any order of blocks and warps [default: grid with --launch for NVIDIA's code, else warp]
    #[arg(long, value_parser = named::<TimeScope>(), help_heading = "Bounds in cycles")]
    pub(crate) scope: Option<TimeScope>,
    /// Schedulers that the bound of a launch holds for: schedulers that issue whenever one of their warps is ready
    /// (work-conserving), or also schedulers that follow one warp until it ends or waits at a barrier (any) [default:
    /// work-conserving]
    #[arg(long, value_parser = named::<SchedulerClass>(), help_heading = "Bounds in cycles")]
    pub(crate) schedulers: Option<SchedulerClass>,
    /// Frequency of the clock, or its range, that times are for: 850MHz, 850..1300MHz, 1.3GHz [default: the modes of the
    /// machine, or its base clock]
    #[arg(long, value_name = "F", value_parser = clock, help_heading = "Bounds in cycles")]
    pub(crate) clock: Option<(u64, u64)>,
    /// Limit of each bound in cycles: a number of cycles, or a time such as 2ms at the slowest clock; the exit code is 1 if
    /// a bound is over it
    #[arg(long, value_name = "TIME", value_parser = CycleLimit::parse, help_heading = "Bounds in cycles")]
    pub(crate) limit: Option<CycleLimit>,
    /// Maximum number of splits of a wave of GCN3 that live at the same time, without the wave itself; the bound is for the
    /// wave with all its splits, at all branches where it may split [default: 0]
    #[arg(long, value_name = "S", value_parser = value_parser!(u32).range(0..=SplitOptions::MAX_SPLITS), help_heading = "Bounds in cycles")]
    pub(crate) splits: Option<u32>,
    /// Pipelines that splits use: a further one for each split (parallel), or the pipelines of all waves (serialised)
    /// [default: parallel]
    #[arg(long, value_parser = named::<SplitPipelines>(), requires = "splits", help_heading = "Bounds in cycles")]
    pub(crate) pipelines: Option<SplitPipelines>,
    /// Merging of splits into one wave: never (none), or where the sides of their branch join (join) [default: none]
    #[arg(
        long,
        value_enum,
        requires = "splits",
        help_heading = "Bounds in cycles"
    )]
    pub(crate) merge: Option<SplitMerge>,
}

/// Place where splits become one again.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum SplitMerge {
    None,
    Join,
}

/// Destination of the result.
#[derive(Args)]
pub(crate) struct OutputArguments {
    /// Write to this file instead of standard output; it appears once it is complete
    #[arg(long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

/// Part of a query that several processes share.
#[derive(Args)]
pub(crate) struct ShardArguments {
    /// Part of the kernels (bound) or launches (audit, run), such as 1/4: every fourth, from the first on. Together, the
    /// parts have the same rows as the whole
    #[arg(long, value_name = "NUMBER/COUNT", value_parser = value_parser!(Shard))]
    pub(crate) shard: Option<Shard>,
}

/// Flow facts.
#[derive(Args)]
pub(crate) struct FactsArguments {
    /// Facts file (see `warpbound facts`)
    #[arg(long, value_name = "FILE")]
    pub(crate) facts: Option<PathBuf>,
    /// Bound of loops without a fact: header executions of a thread per entry of the loop
    #[arg(long, value_name = "N", value_parser = loop_default())]
    pub(crate) loop_default: Option<u64>,
}

/// Launch, and the machine that it runs on.
#[derive(Args)]
pub(crate) struct LaunchInput {
    /// Name of the kernel [default: the one that the launch file names]
    #[arg(long, value_name = "K")]
    pub(crate) kernel: Option<String>,
    /// Launch file: threads or grid, parameters, data; or a launch set
    #[arg(long, value_name = "FILE")]
    pub(crate) launch: PathBuf,
    /// Machine: a file, or the name of a built-in machine [default: the one that the launch file names, or the one that the code is for]
    #[arg(long, value_name = "M")]
    pub(crate) machine: Option<String>,
}

/// Input file, and the selection of its images.
#[derive(Args)]
pub(crate) struct Input {
    /// Cubin or code object, file with embedded ones (fat binary, offload bundle, executable, shared object, object file,
    /// archive), or mini-SIMT text; `-` is standard input
    pub(crate) file: PathBuf,
    #[arg(
        long,
        alias = "sm",
        value_name = "ARCH",
        help = format!("Use only images for this architecture, such as {} or gfx803", Sm::EXAMPLE)
    )]
    pub(crate) arch: Option<Isa>,
    /// Use only the image with this number (see `warpbound list`)
    #[arg(long, value_name = "N")]
    image: Option<usize>,
}

impl Input {
    /// Returns the name of the file in messages and reports.
    pub(crate) fn name(&self) -> String {
        match self.file.as_os_str() == "-" {
            true => input::STDIN.to_owned(),
            false => self.file.display().to_string(),
        }
    }

    /// Returns the selection of images.
    pub(crate) fn selection(&self) -> ImageSelection {
        ImageSelection {
            image: self.image,
            isa: self.arch,
        }
    }
}

/// Launches that analyses are about. Each number of a size may be a range, such as 1..8.
#[derive(Args)]
pub(crate) struct LaunchArguments {
    /// Launch file: the results are about its kernel, with its sizes and parameters
    #[arg(long, value_name = "FILE", help_heading = "Launches")]
    pub(crate) launch: Option<PathBuf>,
    /// Threads of a block, each a number or a range LO..HI; Y and Z default to 1
    #[arg(long, value_name = "X,Y,Z", value_parser = size, allow_hyphen_values = true, help_heading = "Launches")]
    pub(crate) block: Option<[NumberRange; 3]>,
    /// Blocks of the grid, each a number or a range LO..HI; Y and Z default to 1
    #[arg(long, value_name = "X,Y,Z", value_parser = size, allow_hyphen_values = true, help_heading = "Launches")]
    pub(crate) grid: Option<[NumberRange; 3]>,
    /// Value of an integer parameter, or its range NAME=LO..HI; may be repeated. NAME is a name in the launch file, or
    /// p0, p1, ... by position; `p2[8]` is the word at byte 8 of a structure
    #[arg(
        long = "param",
        value_name = "NAME=VALUE",
        value_parser = param,
        allow_hyphen_values = true,
        help_heading = "Launches"
    )]
    pub(crate) params: Vec<StatedParam>,
    /// Lanes of a warp, for mini-SIMT code [default: 64, the maximum]
    #[arg(long, value_name = "N", help_heading = "Launches", value_parser = clap::value_parser!(u32).range(1..=64))]
    pub(crate) warp_width: Option<u32>,
}

/// Abstract domains of the warp-level analysis, for comparisons of precision.
#[derive(Args)]
pub(crate) struct DomainArguments {
    /// Represent activation stacks by graphs with cycles, or without
    #[arg(long, value_enum, default_value_t, help_heading = "Precision")]
    stack: Stack,
    /// Track relations between groups of lanes
    #[arg(long, value_enum, default_value_t, help_heading = "Precision")]
    groups: Groups,
    /// Track agreement for all groups, for the active lanes, or not at all
    #[arg(long, value_enum, default_value_t, help_heading = "Precision")]
    agreement: Agreement,
    /// Successor of a divergent branch that runs first
    #[arg(long, value_enum, default_value_t, help_heading = "Precision")]
    divergence_order: Order,
}

impl DomainArguments {
    /// Returns the model of the warp-level analysis.
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

/// Style of a disassembly.
#[derive(Clone, Copy, Default, ValueEnum)]
pub(crate) enum Style {
    #[default]
    Columns,
    Nvdisasm,
}

/// Level of a control-flow graph.
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

/// Output format of a graph.
#[derive(Clone, Copy, Default, ValueEnum)]
pub(crate) enum GraphFormat {
    #[default]
    Text,
    Dot,
    Json,
    Svg,
}

/// Output format of a report.
#[derive(Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    #[default]
    Text,
    Json,
}

impl From<Format> for ReportFormat {
    fn from(format: Format) -> ReportFormat {
        match format {
            Format::Text => ReportFormat::Text,
            Format::Json => ReportFormat::Json,
        }
    }
}

/// Output format of a report that is also a page.
#[derive(Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum PageFormat {
    #[default]
    Text,
    Json,
    Html,
}

impl From<PageFormat> for BoundFormat {
    fn from(format: PageFormat) -> BoundFormat {
        match format {
            PageFormat::Text => BoundFormat::Text,
            PageFormat::Json => BoundFormat::Json,
            PageFormat::Html => BoundFormat::Html,
        }
    }
}

/// Output format of reports that are also pages and rows.
#[derive(Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    #[default]
    Text,
    Json,
    Html,
    Jsonl,
    Parquet,
}

impl OutputFormat {
    /// Returns the format of a report, or else the format of rows.
    pub(crate) fn report_or_rows(self) -> Result<PageFormat, RowFormat> {
        match self {
            OutputFormat::Text => Ok(PageFormat::Text),
            OutputFormat::Json => Ok(PageFormat::Json),
            OutputFormat::Html => Ok(PageFormat::Html),
            OutputFormat::Jsonl => Err(RowFormat::JsonLines),
            OutputFormat::Parquet => Err(RowFormat::Parquet),
        }
    }
}

/// Output format of reports on launches.
#[derive(Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum LaunchFormat {
    #[default]
    Text,
    Json,
    Jsonl,
    Parquet,
}

impl LaunchFormat {
    /// Returns the format of a report, or else the format of rows.
    pub(crate) fn report_or_rows(self) -> Result<Format, RowFormat> {
        match self {
            LaunchFormat::Text => Ok(Format::Text),
            LaunchFormat::Json => Ok(Format::Json),
            LaunchFormat::Jsonl => Err(RowFormat::JsonLines),
            LaunchFormat::Parquet => Err(RowFormat::Parquet),
        }
    }
}

/// Cost that is bounded.
#[derive(Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Cost {
    #[default]
    Unit,
    Cycles,
}

/// Contents of the buffers of a launch.
#[derive(Clone, Copy, Default, ValueEnum)]
pub(crate) enum BufferContents {
    #[default]
    Any,
    AsGiven,
}

impl From<BufferContents> for Contents {
    fn from(contents: BufferContents) -> Contents {
        match contents {
            BufferContents::Any => Contents::Any,
            BufferContents::AsGiven => Contents::AsGiven,
        }
    }
}

/// Interpretation of loop facts.
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

/// Counts that were measured elsewhere.
#[derive(Args)]
pub(crate) struct CountsArguments {
    /// Compare counts of instructions that were measured elsewhere, in place of runs: a CSV of Nsight Compute's source
    /// page, of CUPTI's fields, of `run --functional --counts`, or with columns address, warp_count, thread_count
    #[arg(long, value_name = "CSV", conflicts_with_all = ["runs", "seed", "max_instructions", "cycles", "write_facts"], help_heading = "Measured counts")]
    pub(crate) counts: Option<PathBuf>,
    /// Blocks of the measured launch [default: as in --launch]
    #[arg(long, value_name = "X[,Y[,Z]]", requires = "counts", conflicts_with = "launch", value_delimiter = ',', value_parser = RangedU64ValueParser::<u32>::new().range(1..), help_heading = "Measured counts")]
    pub(crate) grid: Vec<u32>,
    /// Threads of a block of the measured launch [default: as in --launch]
    #[arg(long, value_name = "X[,Y[,Z]]", requires = "counts", conflicts_with = "launch", value_delimiter = ',', value_parser = RangedU64ValueParser::<u32>::new().range(1..), help_heading = "Measured counts")]
    pub(crate) block: Vec<u32>,
}
