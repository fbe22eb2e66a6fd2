//! Report of memory accesses: the class of each, and the reason for it.
//!
//! A class limits the requests, lines, sectors and bank conflicts that one execution by a warp can cause (SOUNDNESS
//! 5.13). For example, `s[2 * threadIdx.x]` in shared memory with words of 4 bytes has two words in each of 16 banks:
//! 2 transactions and 1 conflict. [`TimedFindings`] holds the classes for bounds in cycles, with the execution counts
//! of a stated launch.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use warpbound_analyse::LaunchContext;
use warpbound_analyse::access::{
    AccessClass, AccessCounts, AccessMode, AccessPattern, AccessShape, MemoryUnits, RequestRule,
    StatedAccess,
};
use warpbound_analyse::addresses::LaneAddresses;
use warpbound_analyse::launch_profile::{
    LaunchExecutions, LaunchProfiler, LaunchRecord, NoProfile, ValueOrigin,
};
use warpbound_base::{CodeAddr, Diagnostic, Named as _};
use warpbound_ir::{Meaning, Op, OpIndex};
use warpbound_isa::instr::{MemoryEffect, MemorySpace};
use warpbound_launch::LaunchFile;
use warpbound_load::Kernel;
use warpbound_report::BoundAssumption;
use warpbound_report::access::{AccessClassReport, AccessNumbers, AccessReport, ReportedAccess};

use crate::assumptions::{lanes_assumption, launch_assumptions, warp_graph_assumptions};
use crate::cycles::LaunchCounts;
use crate::facts::accesses::stated_accesses;
use crate::profile::{ProfileOptions, loops_of_profile, reason_text, with_launch_values};
use warpbound_query::prepared::Prepared;
use warpbound_query::{
    AnalysedKernel, BoundOptions, Contents, KernelAnalysis, KernelFlow, Session, StatedLaunches,
};

/// Accesses of a kernel, with classes that an execution of the launch may have limited further.
pub(crate) struct AccessFindings<'a> {
    /// Addresses of the lanes.
    addresses: &'a BTreeMap<OpIndex, LaneAddresses>,
    /// Classes of the operations that access memory at an address.
    pub(crate) classes: BTreeMap<OpIndex, AccessClass>,
    /// Reason why the addresses of a stated launch were not followed one by one, if they were to be.
    not_executed: Option<NoProfile>,
}

/// Knowledge about the accesses and executions of a kernel for bounds in cycles.
#[derive(Clone, Debug, Default)]
pub struct TimedFindings {
    /// Classes of the operations that access memory at an address.
    pub classes: BTreeMap<OpIndex, AccessClass>,
    /// Ranges of addresses that accesses of a stated launch to global memory touch, where they are known.
    pub(crate) extents: BTreeMap<OpIndex, Range<u64>>,
    /// Executions of the first operation of each block of the code in a stated launch, if its warps can be executed.
    pub(crate) executions: Option<LaunchExecutions>,
    /// Names of the buffers whose contents the findings rest on.
    pub(crate) read: Vec<String>,
    /// Reason why the warps of a stated launch were not executed, if they were to be.
    pub(crate) not_executed: Option<String>,
}

impl TimedFindings {
    /// Finds the accesses and executions that bounds in cycles rest on, in addition to the flow. If one launch is
    /// stated, its warps are executed as far as the launch fixes their values; loops that unknown values end have
    /// `loop_bounds`, one for each site.
    ///
    /// # Errors
    ///
    /// The launch does not suit the kernel.
    pub fn find(
        analysed: AnalysedKernel<'_>,
        counts: LaunchCounts,
        loop_bounds: &[Option<u64>],
    ) -> Result<TimedFindings, Diagnostic> {
        let AnalysedKernel {
            prepared,
            flow,
            options,
            ..
        } = analysed;
        let Some(units) = MemoryUnits::of(prepared.family()) else {
            return Ok(TimedFindings::default());
        };
        let stated = stated_accesses(prepared, &options.facts)?;
        let mut found = AccessFindings::of(analysed);
        // Profiles follow the stack of a warp, so only warps with one are executed.
        let followed = prepared.family().follows_stack();
        let Some(file) = options.launches.only_file().filter(|_| followed) else {
            found.state(&stated, units);
            return Ok(TimedFindings {
                classes: found.classes,
                ..TimedFindings::default()
            });
        };
        let contents = options.profiled_launch.as_ref();
        let nodes = flow.thread.space.ids();
        let counted: BTreeSet<OpIndex> =
            nodes.map(|id| flow.thread.space.block(id).first).collect();
        let profile = ProfileOptions {
            contents: contents.map_or(Contents::Any, |launch| launch.contents),
            loops: loops_of_profile(flow, options.reading, loop_bounds),
            ..ProfileOptions::default()
        };
        let (record, read) = record_launch(analysed, file, profile, units, &counted)?;
        let rests_on_contents = record
            .as_ref()
            .is_ok_and(|record| record.decided.has(ValueOrigin::CONTENTS));
        let extents = match &record {
            Ok(record) => record.extents.clone(),
            Err(_) => BTreeMap::new(),
        };
        // The classes use the record in any case, and the counts only if the options ask for them.
        let executions = found
            .follow(record)
            .filter(|_| counts == LaunchCounts::Executed);
        found.state(&stated, units);
        Ok(TimedFindings {
            classes: found.classes,
            extents,
            executions,
            read: if rests_on_contents { read } else { Vec::new() },
            not_executed: found
                .not_executed
                .map(|why| why_not_executed(prepared, why)),
        })
    }

    /// Executions by one warp, if they are known.
    pub fn of_warp(&self) -> Option<&BTreeMap<OpIndex, u64>> {
        self.executions
            .as_ref()
            .map(|executions| &executions.of_warp)
    }
}

/// Returns the reason why the warps of a launch were not executed, with its place in the code.
fn why_not_executed(prepared: &Prepared<'_>, why: NoProfile) -> String {
    let place = prepared.location(why.at);
    format!("{}, at {place}", reason_text(why.reason))
}

/// Executes the warps of a launch for the addresses of its accesses, and counts executions of some operations. `profile` has
/// contents and loops. Also returns the names of the buffers whose contents may have decided.
fn record_launch(
    analysed: AnalysedKernel<'_>,
    file: &LaunchFile,
    profile: ProfileOptions,
    units: MemoryUnits,
    counted: &BTreeSet<OpIndex>,
) -> Result<(Result<LaunchRecord, NoProfile>, Vec<String>), Diagnostic> {
    let AnalysedKernel {
        session,
        prepared,
        flow,
        ..
    } = analysed;
    let options = ProfileOptions {
        steps: MAX_STEPS,
        deadline: flow.thread.deadline,
        transfers: flow.known_transfers(&prepared.code),
        ..profile
    };
    with_launch_values(session, prepared, file, &options, |values| {
        LaunchProfiler::record(values, units, counted.iter().copied())
    })
}

/// Finds the accesses by which some thread of a launch certainly leaves the buffers of global memory, as far as a few
/// steps show. None are found where warps are not followed on a stack.
pub(crate) fn accesses_outside_buffers(
    session: &Session,
    prepared: &Prepared<'_>,
    flow: &KernelFlow,
    file: &LaunchFile,
) -> Result<BTreeSet<OpIndex>, Diagnostic> {
    let followed = prepared.family().follows_stack();
    let Some(units) = MemoryUnits::of(prepared.family()).filter(|_| followed) else {
        return Ok(BTreeSet::new());
    };
    let options = ProfileOptions {
        steps: STEPS_FOR_FAULTS,
        deadline: flow.thread.deadline,
        transfers: flow.known_transfers(&prepared.code),
        ..ProfileOptions::default()
    };
    let (outside, _) = with_launch_values(session, prepared, file, &options, |values| {
        LaunchProfiler::find_outside(values, units)
    })?;
    Ok(outside)
}

impl<'a> AccessFindings<'a> {
    /// Returns the accesses of all launches that are stated.
    fn of(analysed: AnalysedKernel<'a>) -> AccessFindings<'a> {
        let found = analysed.accesses();
        AccessFindings {
            addresses: &found.addresses,
            classes: found.classes.clone(),
            not_executed: None,
        }
    }

    /// Returns the accesses with their classes. If one launch is stated, its warps are executed for the addresses
    /// that follow from it. An access keeps its class if memory decides one of its addresses.
    ///
    /// # Errors
    ///
    /// The launch does not suit the kernel.
    pub(crate) fn find_in_launch(
        analysed: AnalysedKernel<'a>,
        file: Option<&LaunchFile>,
        units: MemoryUnits,
    ) -> Result<AccessFindings<'a>, Diagnostic> {
        let mut found = AccessFindings::of(analysed);
        // An exact class has these numbers for every base, so an execution cannot lower them.
        let is_open = found.classes.values().any(|class| !class.is_exact);
        let followed = analysed.prepared.family().follows_stack();
        let Some(file) = file.filter(|_| is_open && followed) else {
            return Ok(found);
        };
        // The report of accesses lists no assumption about contents and no fact, so none is used.
        let (profile, counted) = (ProfileOptions::default(), BTreeSet::new());
        let (record, _) = record_launch(analysed, file, profile, units, &counted)?;
        found.follow(record);
        Ok(found)
    }

    /// Limits the classes to the numbers that the user states.
    fn state(&mut self, stated: &BTreeMap<OpIndex, StatedAccess>, units: MemoryUnits) {
        for (at, stated) in stated {
            if let Some(class) = self.classes.get_mut(at) {
                class.state(&units, stated);
            }
        }
    }

    /// Limits the classes to the numbers that the execution of a launch shows. Returns the executions that it has
    /// counted.
    fn follow(&mut self, record: Result<LaunchRecord, NoProfile>) -> Option<LaunchExecutions> {
        match record {
            Ok(record) => {
                for (at, counts) in record.accesses {
                    if let Some(class) = self.classes.get_mut(&at) {
                        class.limit_to(counts);
                    }
                }
                Some(record.executions)
            }
            // One warp without a profile may have any executions and addresses, so nothing holds for all warps.
            Err(why) => {
                self.not_executed = Some(why);
                None
            }
        }
    }
}

/// Maximum number of warp instructions of a launch that are executed for the addresses of its accesses.
const MAX_STEPS: u64 = 10_000_000;

/// Maximum number of warp instructions of a launch that are executed for accesses outside its buffers. These add
/// nothing to a bound, so they may not take long.
const STEPS_FOR_FAULTS: u64 = 1_000_000;

/// Returns the classes of the accesses of a kernel in one launch. Mini-SIMT programs have none.
///
/// # Errors
///
/// The launch does not suit the kernel.
pub fn access_classes(
    session: &Session,
    prepared: &Prepared<'_>,
    flow: &KernelFlow,
    launch: &LaunchFile,
) -> Result<BTreeMap<OpIndex, AccessClass>, Diagnostic> {
    let Some(units) = MemoryUnits::of(prepared.family()) else {
        return Ok(BTreeMap::new());
    };
    let options = BoundOptions {
        block: Some(launch.block),
        launches: StatedLaunches::one(launch),
        ..BoundOptions::default()
    };
    let analysed = AnalysedKernel {
        session,
        prepared,
        options: &options,
        knowledge: &session.launch(prepared.kernel, &options)?,
        flow,
        deadline: flow.thread.deadline,
    };
    let found = AccessFindings::find_in_launch(analysed, Some(launch), units)?;
    Ok(found.classes)
}

/// Reports the memory accesses of a kernel and the maximum number of transactions of each.
///
/// # Errors
///
/// The kernel is refused, or is no GPU kernel.
pub fn access(
    session: &Session,
    kernel: &Kernel,
    options: &BoundOptions,
) -> Result<AccessReport, Diagnostic> {
    access_of(&session.analyse(kernel, options)?)
}

/// Reports the memory accesses of an analysed kernel, see [`access`].
///
/// # Errors
///
/// See [`access`]; or the stated launch does not suit the kernel.
pub fn access_of(analysis: &KernelAnalysis<'_>) -> Result<AccessReport, Diagnostic> {
    let (session, prepared) = (analysis.session, &analysis.prepared);
    let Some(units) = MemoryUnits::of(prepared.family()) else {
        let isa = session.image.isa();
        let message = Diagnostic::new(format!(
            "classes of accesses are for GPU kernels, the code is {isa}"
        ));
        return Err(session.locate(message.in_kernel(prepared.kernel.demangled())));
    };
    let analysed = analysis.followed()?;
    let file = analysed.options.launches.only_file();
    let found = AccessFindings::find_in_launch(analysed, file, units)?;
    Ok(report(analysed, &found, units))
}

fn report(
    analysed: AnalysedKernel<'_>,
    found: &AccessFindings,
    units: MemoryUnits,
) -> AccessReport {
    let AnalysedKernel { prepared, flow, .. } = analysed;
    let launch = &analysed.knowledge.context;
    let builder = ReportBuilder {
        prepared,
        launch,
        found,
        units: &units,
    };
    let ops = (0..prepared.code.ops.len() as u32).map(OpIndex);
    let external = flow.external_names();
    let note =
        |name: &String| format!("accesses of {name}, which is outside the file, are not listed");
    let not_executed = found.not_executed.map(|why| {
        format!(
            "the addresses of the launch were not followed one by one: {}",
            why_not_executed(prepared, why)
        )
    });
    AccessReport {
        schema: AccessReport::SCHEMA,
        kernel: prepared.kernel.demangled(),
        block: launch.block,
        accesses: ops.filter_map(|at| builder.access(at)).collect(),
        notes: external.iter().map(note).chain(not_executed).collect(),
        family: prepared.family(),
        assumptions: assumptions(flow, found, launch, analysed.options, &units),
    }
}

/// Lists the assumptions of the numbers (SOUNDNESS 2).
fn assumptions(
    flow: &KernelFlow,
    found: &AccessFindings,
    launch: &LaunchContext,
    options: &BoundOptions,
    units: &MemoryUnits,
) -> Vec<BoundAssumption> {
    let mut all = vec![lanes_assumption(launch)];
    if options.states_launch() {
        all.extend(launch_assumptions(options));
    }
    let mut classes = found.classes.values();
    // Only addresses that were executed depend on where buffers begin; forms hold for every base modulo 128.
    if classes.any(|class| class.pattern == AccessPattern::Listed) {
        all.push(BoundAssumption {
            id: "addresses",
            text: "buffers are at the addresses at which runs of this program place them"
                .to_owned(),
        });
    }
    all.extend(memory_assumptions(units));
    all.extend(warp_graph_assumptions(&flow.warp.used));
    all
}

/// Lists the assumptions of access classes about the machine and about addresses.
pub(crate) fn memory_assumptions(units: &MemoryUnits) -> impl Iterator<Item = BoundAssumption> {
    const NVIDIA_ALIGNED: (&str, &str) = (
        "aligned",
        "addresses are multiples of the size of the access: others end the run",
    );
    let own = match (units.keeps_masks, units.requests) {
        (false, RequestRule::Groups(_)) => [
            (
                "memory-units",
                "lines have 128 bytes, sectors 32; requests are of 8, 4 or 2 threads, pools of 32, 16 or 8; there are 32 \
                 banks of 32 bits",
            ),
            NVIDIA_ALIGNED,
        ],
        (false, RequestRule::Warp) => [
            (
                "memory-units",
                "lines have 128 bytes, sectors 32; a warp makes one request; pools are of 32, 16 or 8 threads, at most; there \
                 are 32 banks of 32 bits",
            ),
            NVIDIA_ALIGNED,
        ],
        (true, _) => [
            (
                "memory-units",
                "lines have 64 bytes; requests are of 64, 32, 21 or 16 lanes; LDS has 32 banks, whose conflicts are \
                 resolved for 32 lanes at a time",
            ),
            (
                "aligned",
                "words are aligned, and accesses to LDS to their size: others end the run",
            ),
        ],
    };
    own.into_iter().map(|(id, text)| BoundAssumption {
        id,
        text: text.to_owned(),
    })
}

/// Builder of the report.
struct ReportBuilder<'a> {
    prepared: &'a Prepared<'a>,
    launch: &'a LaunchContext,
    found: &'a AccessFindings<'a>,
    units: &'a MemoryUnits,
}

impl ReportBuilder<'_> {
    /// Returns the report of an operation; `None` if it accesses no memory.
    fn access(&self, at: OpIndex) -> Option<ReportedAccess> {
        let effect = self.prepared.program.access(at.index());
        let class = self.found.classes.get(&at);
        let shape = match (class, effect) {
            (Some(class), _) => class.shape,
            // A constant at a fixed address is an operand.
            (None, Some((effect, _))) if effect.space == MemorySpace::Constant => {
                let op = self.prepared.code.get(at);
                let is_known = op.is_some_and(|op| op.meaning.is_some());
                if is_known {
                    return None;
                }
                AccessShape::plain(effect.space, 4)
            }
            (None, Some((effect, bytes))) => AccessShape::plain(effect.space, bytes),
            (None, None) => return None,
        };
        let addr = self.prepared.addr(at);
        let report = class.map_or(AccessClassReport::NotCounted, |class| self.class(class));
        Some(ReportedAccess {
            address: self.prepared.location(at),
            instruction: self.prepared.program.text(at.index()).unwrap_or_default(),
            source: self.prepared.source(addr),
            function: self.prepared.function(addr),
            space: shape.space.name(),
            kind: effect.map_or("load", |(effect, _)| kind(effect)),
            bytes: class.map(|class| class.shape.bytes),
            class: report,
            numbers: class.map_or(AccessNumbers::default(), |class| {
                report_numbers(self.units, shape.space, class.worst())
            }),
            exact: class.is_some_and(|class| class.is_exact),
            reason: match class {
                Some(class) => self.reason(at, class),
                None => not_counted(shape.space, self.prepared.code.get(at)).to_owned(),
            },
        })
    }

    /// Returns the class for reports.
    fn class(&self, class: &AccessClass) -> AccessClassReport {
        match class.pattern {
            AccessPattern::Uniform => AccessClassReport::Uniform,
            AccessPattern::Coalesced => AccessClassReport::Coalesced,
            AccessPattern::Strided(stride) => AccessClassReport::Strided { stride },
            AccessPattern::Affine(coefficients) => AccessClassReport::Affine { coefficients },
            AccessPattern::Array(array_bytes) => AccessClassReport::Array { array_bytes },
            AccessPattern::Near(warp) => AccessClassReport::Near {
                clusters: warp.clusters,
                distance_bytes: (warp.distance < u64::MAX).then_some(warp.distance),
            },
            AccessPattern::Listed => AccessClassReport::Listed,
            AccessPattern::Stated => AccessClassReport::Stated,
            AccessPattern::Unknown(load) => AccessClassReport::Unknown {
                decided_by: load.map(|load| self.prepared.location_of(load)),
            },
        }
    }

    /// Explains a class in a clause.
    fn reason(&self, at: OpIndex, class: &AccessClass) -> String {
        let mut parts = Vec::new();
        match class.pattern {
            AccessPattern::Uniform => parts.push("all threads access one address".to_owned()),
            AccessPattern::Coalesced => {
                parts.push("consecutive threads access consecutive elements".to_owned());
            }
            AccessPattern::Strided(stride) => parts.push(format!(
                "addresses of consecutive threads differ by {stride} bytes"
            )),
            AccessPattern::Affine(coefficients) => parts.push(self.sum_text(coefficients)),
            AccessPattern::Array(bytes) => {
                parts.push(format!("all addresses lie within {bytes} bytes"));
            }
            AccessPattern::Near(warp) => parts.push(match (warp.clusters, warp.distance) {
                (_, u64::MAX) => "addresses of lanes beside each other are close".to_owned(),
                (1, distance) => format!("all addresses lie at most {distance} bytes apart"),
                (clusters, distance) => format!(
                    "addresses form at most {clusters} clusters, each with addresses at most {distance} bytes apart"
                ),
            }),
            AccessPattern::Listed => {
                return "all addresses follow from the launch, which was executed".to_owned();
            }
            AccessPattern::Stated => {
                return "the facts file states numbers of the access".to_owned();
            }
            AccessPattern::Unknown(Some(load)) => {
                parts.push(format!(
                    "unknown because of the load at {}",
                    self.load(load)
                ));
            }
            AccessPattern::Unknown(None) => {
                parts.push("nothing is known of the addresses".to_owned());
            }
        }
        if let Some(LaneAddresses::Affine {
            modulus,
            residue,
            wraps,
            ..
        }) = self.found.addresses.get(&at)
            && class.shape.space != MemorySpace::Constant
            && class.pattern != AccessPattern::Uniform
        {
            parts.push(match (modulus, residue) {
                (0 | 1, _) => "nothing is known of the base".to_owned(),
                (modulus, 0) => format!("the base is a multiple of {modulus}"),
                (modulus, residue) => format!("the base is {residue} modulo {modulus}"),
            });
            if *wraps {
                parts.push("the index may exceed 32 bits in some of the lanes".to_owned());
            }
        }
        let all = self.launch.live_lanes();
        match class.shape.mode {
            AccessMode::Scalar => parts.push("the wave as a whole reads one address".to_owned()),
            AccessMode::Buffer => {
                parts.push("the descriptor of a buffer decides the addresses".to_owned());
            }
            AccessMode::Plain | AccessMode::Atomic => {}
        }
        // A scalar access is made once for the whole wave, whatever its lanes are.
        let is_of_lanes = class.shape.mode != AccessMode::Scalar;
        if is_of_lanes && u64::from(class.lanes) < all {
            let warp = match self.units.keeps_masks {
                true => "wave",
                false => "warp",
            };
            parts.push(format!(
                "{} of {all} threads of a {warp} take part",
                class.lanes
            ));
        }
        if class.needs_block {
            parts.push("for blocks of any shape (--block X,Y,Z gives less)".to_owned());
        }
        parts.join("; ")
    }

    /// Returns the address of a load with its source line.
    fn load(&self, load: CodeAddr) -> String {
        let at = self.prepared.location_of(load);
        match self.prepared.source(load) {
            Some(source) => format!("{at} ({source})"),
            None => at,
        }
    }

    /// Formats a linear function of the thread index.
    fn sum_text(&self, coefficients: [i64; 3]) -> String {
        let axes = ["x", "y", "z"].into_iter().zip(coefficients);
        let parts: Vec<String> = axes
            .filter(|&(_, coefficient)| coefficient != 0)
            .map(|(axis, coefficient)| format!("{coefficient} bytes for each threadIdx.{axis}"))
            .collect();
        let sum = format!("addresses grow by {}", parts.join(", "));
        match self.launch.block {
            Some([x, y, z]) => format!("{sum}, in blocks of {x} x {y} x {z}"),
            None => sum,
        }
    }
}

/// Returns the numbers of an access that its memory space has.
pub fn report_numbers(
    units: &MemoryUnits,
    space: MemorySpace,
    counts: AccessCounts,
) -> AccessNumbers {
    // Shared memory has banks and constants have words; only the caches have lines and sectors.
    let has_lines = !matches!(space, MemorySpace::Shared | MemorySpace::Constant);
    let has_banks = matches!(space, MemorySpace::Shared | MemorySpace::Generic);
    AccessNumbers {
        requests: Some(counts.requests),
        transactions: Some(counts.transactions),
        sectors: has_lines.then_some(counts.sectors),
        lines: has_lines.then_some(counts.lines),
        conflicts: has_banks.then_some(counts.conflicts),
        byte_conflicts: (has_banks && units.keeps_masks).then_some(counts.byte_conflicts),
    }
}

/// Returns the reason why an access to a memory space has no numbers.
fn not_counted(space: MemorySpace, op: Option<&Op>) -> &'static str {
    match (space, op.and_then(|op| op.meaning.as_ref())) {
        (MemorySpace::Texture, _) => "the layout of texels is not known",
        (MemorySpace::Surface, _) => "the layout of surfaces is not known",
        (_, Some(Meaning::MatrixAccess(_) | Meaning::MemoryCopy(_))) => {
            "accesses of matrices and copies to shared memory are not counted"
        }
        _ => "the instruction has no meaning here",
    }
}

/// Returns the name of a kind of access.
fn kind(effect: MemoryEffect) -> &'static str {
    match (effect.loads, effect.stores) {
        (true, true) => "atomic",
        (false, true) => "store",
        _ => "load",
    }
}
