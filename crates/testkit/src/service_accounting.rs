//! Service accounting of timed runs: for how long each resource of a GPU serves warps, counted from events and
//! outcomes.
//!
//! The bound of a launch counts a service for each warp and resource (SOUNDNESS 20.1). In no run may the warps take
//! more of a resource than that. The sum of a bound hides a service that is too small wherever another term is too
//! large; this accounting does not.

use std::collections::BTreeMap;

use warpbound_audit::audit::LaunchTimeRuns;
use warpbound_base::Diagnostic;
use warpbound_bounds::LaunchServices;
use warpbound_ipet::ExecutedServices;
use warpbound_ir::OpIndex;
use warpbound_isa::Program;
use warpbound_isa::nvidia::{ExecUnit, LatencyClass, SassProgram};
use warpbound_launch::{LaunchFile, StartCaches};
use warpbound_machine::{MachineConfig, Parameter};
use warpbound_query::{CacheState, Session};
use warpbound_runs::{TimedOptions, simulate_with};
use warpbound_simulate::timed::{AccessKind, Event, EventListener, Outcome, WarpPlace};

use crate::short_launches::compare_launch;

/// Thousandths of a cycle.
const MILLI: u64 = 1000;

/// Lanes of a warp.
const LANES: u64 = 32;

/// Event listener that adds up the services of each resource, in thousandths of cycles.
pub struct ServiceAccounting<'a> {
    program: &'a SassProgram,
    machine: &'a MachineConfig,
    /// By SM and sub-partition.
    core: BTreeMap<(u32, u32), Served>,
    /// Service of the sub-partition since the last barrier, by block and warp.
    segments: BTreeMap<(u64, u32), u64>,
    /// The most of all warps between two barriers.
    segment: u64,
    /// By SM.
    sm: BTreeMap<u32, Served>,
    /// Slices and DRAM.
    gpu: Served,
    /// Warp that the next outcomes are about.
    place: Option<WarpPlace>,
    /// Access that the next outcomes are about; `None` for lines of code and constants.
    access: Option<Access>,
    /// Sectors read from DRAM since the bus was last turned to writes.
    unturned: u64,
}

/// Access to global or local memory.
#[derive(Clone, Copy)]
struct Access {
    kind: AccessKind,
}

/// Service of a resource, and the warps that it serves.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Served {
    /// Thousandths of cycles.
    pub milli: u64,
    /// Warps.
    pub warps: u64,
}

/// Services of a run: of each sub-partition, of each SM, and of the memory that all SMs share.
#[derive(Clone, Debug)]
pub struct Services {
    /// Issue slot and units of each sub-partition.
    pub core: Vec<Served>,
    /// The most that a sub-partition serves a warp between two barriers, or between one and its start or end, in
    /// thousandths of cycles.
    pub segment: u64,
    /// Shared memory, barriers, tags and port of each SM.
    pub sm: Vec<Served>,
    /// Slices of the L2 cache and DRAM.
    pub gpu: Served,
}

impl<'a> ServiceAccounting<'a> {
    /// State before a run of a program on a machine.
    pub fn new(program: &'a SassProgram, machine: &'a MachineConfig) -> ServiceAccounting<'a> {
        ServiceAccounting {
            program,
            machine,
            core: BTreeMap::new(),
            segments: BTreeMap::new(),
            segment: 0,
            sm: BTreeMap::new(),
            gpu: Served::default(),
            place: None,
            access: None,
            unturned: 0,
        }
    }

    /// Returns the services of the run.
    pub fn services(&self) -> Services {
        Services {
            core: self.core.values().copied().collect(),
            segment: self.segment,
            sm: self.sm.values().copied().collect(),
            gpu: self.gpu,
        }
    }

    /// Thousandths of a parameter in cycles.
    fn milli(&self, parameter: Parameter) -> u64 {
        self.machine[parameter] * MILLI
    }

    fn serve_core(&mut self, milli: u64) {
        if let Some(place) = self.place {
            let core = self.core.entry((place.sm, place.scheduler)).or_default();
            core.milli += milli;
            let segment = self.segments.entry((place.block, place.warp)).or_default();
            *segment += milli;
            self.segment = self.segment.max(*segment);
        }
    }

    fn serve_sm(&mut self, milli: u64) {
        if let Some(place) = self.place {
            self.sm.entry(place.sm).or_default().milli += milli;
        }
    }

    /// Adds the issue slot and the unit of an instruction, and what it takes of its SM besides accesses to memory.
    fn issue(&mut self, at: OpIndex) {
        let instr = self.program.instrs.get(at.index());
        let Some(timing) = instr.and_then(|instr| self.program.timing(instr)) else {
            return;
        };
        // A pipe is taken from the cycle of the issue on, a unit with a queue perhaps later.
        let of_pipe = |parameter| self.milli(parameter).max(MILLI);
        let of_queue = |parameter| self.milli(parameter) + MILLI;
        let core = match timing.unit {
            ExecUnit::None => MILLI,
            ExecUnit::Fxu => of_pipe(Parameter::OccupancyFxu),
            ExecUnit::Fmai => of_pipe(Parameter::OccupancyFmai),
            // One of the two.
            ExecUnit::Math => {
                of_pipe(Parameter::OccupancyFxu).min(of_pipe(Parameter::OccupancyFmai))
            }
            ExecUnit::Xu => of_queue(Parameter::OccupancyXu),
            ExecUnit::Fp64 => of_queue(Parameter::OccupancyFp64),
            ExecUnit::Fp16 => of_queue(Parameter::OccupancyFp16),
            ExecUnit::Lsu => of_queue(Parameter::OccupancyLsu),
        };
        let sm = match timing.completion {
            LatencyClass::Shuffle => self.milli(Parameter::OccupancyShuffle),
            LatencyClass::Texture => self.milli(Parameter::TextureOccupancy),
            _ => 0,
        };
        self.serve_core(core);
        self.serve_sm(sm);
        // A barrier is a part of the segment before it.
        let mnemonic = instr.and_then(|instr| self.program.mnemonic(instr));
        if let (Some("BAR"), Some(place)) = (mnemonic, self.place) {
            self.segments.remove(&(place.block, place.warp));
        }
    }

    /// Adds the passes of an access through the load/store lanes after the first: one for each word of 32 bits.
    fn pass(&mut self, bytes: u32, is_first: bool) {
        let words = u64::from(bytes / 4).max(1);
        let passes = words - u64::from(is_first);
        self.serve_core(passes * self.milli(Parameter::OccupancyLsu));
    }

    /// Adds an access to shared memory.
    fn shared(&mut self, transactions: u32, conflicts: u32, same_word: u32) {
        let of = |count: u32, parameter| u64::from(count) * self.milli(parameter);
        let served = of(conflicts, Parameter::SharedConflict)
            + of(transactions - conflicts, Parameter::SharedTransaction)
            + of(same_word, Parameter::SharedAtomicThread);
        self.serve_sm(served);
    }

    /// Time of sectors at a bandwidth in bytes per 1000 cycles.
    fn transfer(&self, sectors: u64, bandwidth: Parameter) -> u64 {
        let bytes = sectors * self.machine[Parameter::L2Sector];
        bytes * MILLI * MILLI / self.machine[bandwidth].max(1)
    }

    /// Adds sectors of a line of the L2 cache.
    fn l2_line(&mut self, sectors: u32, missing: u32, evicted: u32) {
        let sectors = u64::from(sectors);
        let mut served = self.transfer(sectors, Parameter::L2Bandwidth);
        if let Some(Access { kind }) = self.access
            && kind == AccessKind::Atomic
        {
            served += sectors * self.milli(Parameter::AtomicOccupancy);
        }
        let of_dram = |sectors: u64, efficiency: u64| {
            self.transfer(sectors, Parameter::DramBandwidth) * MILLI / efficiency.max(1)
        };
        let (missing, evicted) = (u64::from(missing), u64::from(evicted));
        served += of_dram(missing, self.machine[Parameter::DramReads]);
        served += of_dram(evicted, self.machine[Parameter::DramWrites]);
        // Writes turn the bus once for each sector that was read before, up to a line of each slice.
        let line = self.machine[Parameter::L2Line] / self.machine[Parameter::L2Sector].max(1);
        let most = self.machine[Parameter::L2Slices] * line;
        let unturned = (self.unturned + missing).min(most);
        let turned = evicted.min(unturned);
        served += of_dram(turned, MILLI) * self.machine[Parameter::DramTurnaround] / MILLI;
        self.unturned = unturned - turned;
        self.gpu.milli += served;
    }
}

impl EventListener for ServiceAccounting<'_> {
    const RECORDS: bool = true;

    fn event(&mut self, _cycle: u64, event: &Event) {
        match *event {
            // 32 lanes of each warp that waited.
            Event::BarrierOpens { sm, warps, .. } => {
                let rate = self.machine[Parameter::BarrierThreads].max(1);
                let sm = self.sm.entry(sm).or_default();
                sm.milli += u64::from(warps) * LANES * MILLI / rate;
            }
            Event::WarpEnds { warp } => {
                let core = self.core.entry((warp.sm, warp.scheduler)).or_default();
                core.warps += 1;
                self.sm.entry(warp.sm).or_default().warps += 1;
                self.gpu.warps += 1;
            }
            _ => {}
        }
    }

    fn outcome(&mut self, outcome: &Outcome) {
        match *outcome {
            Outcome::Prepare { warp, .. } => {
                (self.place, self.access) = (Some(warp), None);
            }
            Outcome::Issue { warp, at, .. } => {
                (self.place, self.access) = (Some(warp), None);
                self.issue(at);
            }
            Outcome::Shared {
                size,
                transactions,
                conflicts,
                same_word,
                ..
            } => {
                self.pass(size, true);
                self.shared(transactions, conflicts, same_word);
            }
            Outcome::Access { kind, size, .. } => {
                self.pass(size, self.access.is_none());
                self.access = Some(Access { kind });
            }
            Outcome::Request { lines } => {
                let tags = self.machine[Parameter::L1Tags].max(1);
                self.serve_sm(u64::from(lines).div_ceil(tags) * MILLI);
            }
            Outcome::Line {
                sectors,
                merged,
                l1_hits,
                ..
            } => {
                let requested = u64::from((sectors & !merged & !l1_hits).count_ones());
                self.serve_sm(self.transfer(requested, Parameter::SmBandwidth));
            }
            Outcome::L2Line {
                sectors,
                missing,
                evicted,
                ..
            } => self.l2_line(sectors, missing, evicted),
            Outcome::Code { .. }
            | Outcome::Constant { .. }
            | Outcome::Translation { .. }
            | Outcome::Refreshes { .. } => {}
        }
    }
}

/// Comparison of the services of runs with those that the bound of their launch counts.
#[derive(Clone, Default, Debug)]
pub struct ServiceAudit {
    /// Runs that were compared.
    pub runs: u64,
    /// Resources that served more than the bound counts.
    pub exceeded: Vec<String>,
    /// Minimum difference of a bound and a service, in thousandths of cycles for each warp: of sub-partitions, of
    /// SMs, of the memory that all SMs share. `None` for a resource that served none.
    pub slack: [Option<u64>; 3],
    /// The same for whole blocks whose executions are known, for all their warps: of all sub-partitions, of an SM, of
    /// the memory that all SMs share.
    pub of_blocks: [Option<u64>; 3],
    /// Difference of the largest service between two barriers in the bound and in the runs, if the bound counts less
    /// than a whole warp for it.
    pub segment: Option<u64>,
}

impl ServiceAudit {
    /// Compares the service of a resource with the service of its warps that the bound counts, and a rest.
    fn compare(&mut self, resource: usize, served: Served, of_warp: u64, rest: u64) {
        const NAMES: [&str; 3] = ["sub-partition", "SM", "GPU"];
        let Served { milli, warps } = served;
        let counted = (of_warp * warps + rest) * MILLI;
        if milli > counted {
            let name = NAMES[resource];
            let text = format!("a {name} serves {warps} warps for {milli}, at most {counted}");
            self.exceeded.push(text);
        } else if milli > 0 {
            let slack = (counted - milli) / warps.max(1);
            let least = &mut self.slack[resource];
            *least = Some(least.map_or(slack, |least| least.min(slack)));
        }
    }

    /// Compares the services of a run with those that a bound counts; blocks have `warps` warps.
    fn compare_run(&mut self, run: &Services, counted: &LaunchServices, warps: u64) {
        self.runs += 1;
        for &core in &run.core {
            self.compare(0, core, counted.core.limit().0, 0);
        }
        for &sm in &run.sm {
            self.compare(1, sm, counted.sm.limit().0, 0);
        }
        let of_segment = counted.segment.0 * MILLI;
        if run.segment > of_segment {
            let text = format!(
                "a segment takes a sub-partition for {}, at most {of_segment}",
                run.segment
            );
            self.exceeded.push(text);
        } else if counted.segment < counted.core.limit() {
            let slack = of_segment - run.segment;
            self.segment = Some(self.segment.map_or(slack, |least| least.min(slack)));
        }
        let lines = counted.lines.0 * run.sm.len() as u64;
        self.compare(2, run.gpu, counted.gpu.limit().0, lines);
        if let Some(executed) = &counted.executed {
            self.compare_blocks(run, executed, (warps, lines));
        }
    }

    /// Compares the services of a run with the services of whole blocks that a bound counts.
    fn compare_blocks(
        &mut self,
        run: &Services,
        executed: &ExecutedServices,
        (warps, lines): (u64, u64),
    ) {
        let sum = |served: &[Served]| Served {
            milli: served.iter().map(|own| own.milli).sum(),
            warps: served.iter().map(|own| own.warps).sum(),
        };
        let blocks = |served: Served| u128::from(served.warps / warps.max(1));
        let mut compare = |resource: usize, served: Served, counted: Option<u128>, rest: u64| {
            let counted = counted.and_then(|counted| u64::try_from(counted).ok());
            let counted = counted.unwrap_or(u64::MAX / MILLI - rest);
            let before = self.slack;
            self.compare(resource, Served { warps: 1, ..served }, counted, rest);
            let slack = std::mem::replace(&mut self.slack, before)[resource];
            let least = &mut self.of_blocks[resource];
            *least = match (*least, slack) {
                (Some(least), Some(slack)) => Some(least.min(slack)),
                (least, slack) => least.or(slack),
            };
        };
        let core = sum(&run.core);
        compare(
            0,
            core,
            executed.greatest(blocks(core), |kind| kind.core),
            0,
        );
        for &sm in &run.sm {
            compare(1, sm, executed.greatest(blocks(sm), |kind| kind.sm), 0);
        }
        let of_launch = executed.gpu_of_launch.unwrap_or(u128::MAX);
        let gpu = executed.greatest(blocks(run.gpu), |kind| kind.gpu);
        compare(2, run.gpu, gpu.map(|gpu| gpu.min(of_launch)), lines);
    }
}

/// Compares the services of the runs of a launch with those that its bound counts. There are none if it has no bound,
/// if it is one warp, to which nothing else is served, or if the order of warps decides what they execute.
///
/// # Errors
///
/// If the kernel is not followed, or the launch does not suit it.
pub fn compare_services(
    session: &Session,
    launch: &LaunchFile,
    runs: &LaunchTimeRuns,
) -> Result<ServiceAudit, Diagnostic> {
    let none = LaunchTimeRuns {
        runs: Vec::new(),
        ..runs.clone()
    };
    let mut audit = ServiceAudit::default();
    let warps = launch.block.iter().product::<u32>().div_ceil(LANES as u32);
    let is_alone = launch.grid.iter().product::<u32>() * warps == 1;
    let found = compare_launch(session, launch, &none)?;
    let (Some(counted), Some(issued)) = (found.services, found.issued) else {
        return Ok(audit);
    };
    let prepared = session.prepare(session.launched_kernel(None, launch.kernel.as_deref())?)?;
    let Program::Nvidia(program) = &prepared.program else {
        return Ok(audit);
    };
    if is_alone {
        return Ok(audit);
    }
    let caches = match runs.cycles.caches {
        CacheState::Cold => StartCaches::Cold,
        CacheState::Warm | CacheState::Any => StartCaches::Warm,
    };
    for &(selection, policy) in &runs.runs {
        let options = TimedOptions {
            selection,
            order: runs.order,
            scheduler: Some(policy),
            caches: Some(caches),
            max_instructions: Some(runs.max_instructions),
            ..TimedOptions::new(runs.cycles.machine.clone())
        };
        let machine = options.machine.select(selection);
        let mut accounting = ServiceAccounting::new(program, &machine);
        let run = simulate_with(session, &prepared, launch, &options, &mut accounting);
        // Where the order of warps decides what they execute, the bound is for other counts.
        if run.is_ok_and(|run| run.counts.issued() == issued) {
            audit.compare_run(&accounting.services(), &counted, warps.into());
        }
    }
    Ok(audit)
}
