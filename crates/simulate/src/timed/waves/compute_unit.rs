//! Compute units of GCN3, as the [`FamilyTiming`] of this family: turns of SIMDs, kinds of instructions, units.

use warpbound_launch::Launch;
use warpbound_machine::{BlockResources, Parameter, WaveNeeds};
use warpbound_simt::Mask;
use warpbound_timing::{IssueKind, WaveFacts};

use super::super::core::{Core, IssueEffects};
use super::super::dispatch::{Dispatcher, Placement};
use super::super::event::{EventListener, Stall, WarpPlace};
use super::super::event_queue::NEVER;
use super::super::family_timing::{FamilyTiming, Layout, RunContext};
use super::super::parameters::{Tracked, UsedParameters};
use super::super::server::Server;
use super::lds::LdsSection;
use super::pipelines::{Issuer, Pipelines};
use super::probe::WaveProbe;
use super::scalar_cache::ScalarCache;
use super::setup::{SplitPipelines, WaveSetup};
use super::simd::{Simd, SimdWave, TurnIssues};
use super::wave::{Turns, Wave, WaveState};
use crate::functional::{Block, Fault, FaultKind};
use crate::functional::{WAVE_LANES, WaveModel};

/// Compute unit.
pub(super) type ComputeUnit<'r> = Core<'r, WaveUnits, WAVE_LANES>;

/// State of a run that all compute units share.
pub(super) type WaveContext<'a, 'r, L> = RunContext<'a, 'r, WaveUnits, L, WAVE_LANES>;

/// Setup of a run, and the facts about each instruction.
#[derive(Clone, Copy)]
pub(in crate::timed) struct WaveRun<'a> {
    pub(super) setup: &'a WaveSetup,
    pub(super) facts: &'a [WaveFacts],
}

impl<'a> WaveRun<'a> {
    /// Facts about an instruction.
    fn facts_at(self, at: u32) -> Option<&'a WaveFacts> {
        self.facts.get(at as usize)
    }

    /// Kind of an instruction.
    fn kind_of(self, at: u32) -> IssueKind {
        let facts = self.facts_at(at);
        facts.map_or(IssueKind::Internal, |facts| facts.kind)
    }
}

/// Numbers of a compute unit.
#[derive(Clone, Copy, Debug)]
pub(super) struct UnitShape {
    pub(super) simds: u32,
    /// Base slots of a SIMD.
    pub(super) waves: u32,
    /// Waves of the launch that a SIMD holds, by its slots and registers.
    pub(super) residents: u32,
    /// Waves and splits whose registers a SIMD holds.
    pub(super) holders: u64,
    /// Reserve slots of each base slot.
    pub(super) splits: u32,
}

impl UnitShape {
    /// Base slots of the compute unit.
    pub(super) fn base_slots(&self) -> u32 {
        self.simds * self.waves
    }
}

/// Part of a compute unit that only this family has: units and caches that its SIMDs share.
pub(in crate::timed) struct WaveUnits {
    pub(super) shape: UnitShape,
    /// Whether each base slot belongs to a resident group.
    held: Vec<bool>,
    /// SIMD of the next wave that starts.
    next_simd: u32,
    pub(super) scalar: Pipelines,
    pub(super) branch: Pipelines,
    /// First cycle when the memory units accept an instruction.
    pub(super) vector_memory: u64,
    pub(super) lds_unit: u64,
    pub(super) scalar_memory: u64,
    pub(super) lds: Server,
    pub(super) lds_section: Tracked<LdsSection>,
    pub(super) scalar_cache: ScalarCache,
    /// Number of merges planned so far.
    pub(super) merges: u64,
}

impl WaveUnits {
    /// Returns the idle units of a compute unit with `further` further pipelines.
    fn new(shape: UnitShape, further: u32, parameters: &UsedParameters) -> WaveUnits {
        WaveUnits {
            shape,
            held: vec![false; shape.base_slots() as usize],
            next_simd: 0,
            scalar: Pipelines::new(further),
            branch: Pipelines::new(further),
            vector_memory: 0,
            lds_unit: 0,
            scalar_memory: 0,
            lds: Server::default(),
            lds_section: LdsSection::read(parameters),
            scalar_cache: ScalarCache::new(parameters),
            merges: 0,
        }
    }
}

impl ComputeUnit<'_> {
    /// First cycle, not before `from`, when the unit of an instruction accepts it.
    fn unit_accepts(&self, from: u64, simd: usize, kind: IssueKind, issuer: Issuer) -> u64 {
        let units = &self.own;
        let free = match kind {
            IssueKind::Vector => return self.schedulers[simd].vector.accepts(from, issuer),
            IssueKind::Scalar => return units.scalar.accepts(from, issuer),
            IssueKind::Branch => return units.branch.accepts(from, issuer),
            IssueKind::VectorMemory => units.vector_memory,
            IssueKind::Lds => units.lds_unit,
            IssueKind::ScalarMemory => units.scalar_memory,
            IssueKind::Message | IssueKind::Export | IssueKind::Internal => 0,
        };
        free.max(from)
    }

    /// Removes a wave from its SIMD. A split frees its slot and its registers.
    pub(super) fn remove_wave(&mut self, wave: &Wave) {
        let simd = &mut self.schedulers[wave.place.scheduler as usize];
        simd.remove(wave.place.slot);
        if wave.place.slot != wave.own.base {
            simd.holders -= 1;
        }
    }
}

impl FamilyTiming<WAVE_LANES> for WaveUnits {
    type Model = WaveModel;
    type Scheduler = Simd;
    type WarpState = WaveState;
    type Run<'a> = WaveRun<'a>;
    type Probe<'a> = WaveProbe;

    /// A wave starts in the first turn of its SIMD after the start of its group.
    const FIRST_ISSUE_DELAY: u64 = 1;

    fn layout(
        run: WaveRun<'_>,
        launch: &Launch,
        parameters: &UsedParameters,
    ) -> Layout<WaveUnits, WAVE_LANES> {
        let (shape, of_unit, need) = resources(launch, run.setup, parameters);
        let further = match run.setup.splitting.pipelines {
            SplitPipelines::Parallel => shape.splits,
            SplitPipelines::Serialised => 0,
        };
        let simds = u64::from(shape.simds);
        let simd = |simd| Simd::new(Turns { simds, simd }, Pipelines::new(further));
        let core = || {
            let units = WaveUnits::new(shape, further, parameters);
            (units, (0..simds).map(simd).collect())
        };
        let units = parameters.get(Parameter::CuCount).max(1) as usize;
        let dispatcher = Dispatcher::new(units, of_unit);
        Layout {
            cores: std::iter::repeat_with(core).take(units).collect(),
            // Groups go to the compute units in turn (docs/timing-model-gcn3.md).
            dispatcher: dispatcher.with_placement(Placement::RoundRobin),
            need,
        }
    }

    #[inline(always)]
    fn taken(probe: &WaveProbe) -> Mask {
        probe.taken
    }

    fn end_others(block: &mut Block<'_, WaveModel, WAVE_LANES>, number: u32) {
        block.end_other_waves(number);
    }

    /// Takes the base slot of a wave that starts: SIMDs in turn, the lowest free slot of each.
    fn take_slot(
        unit: &mut ComputeUnit<'_>,
        _resident: usize,
        _warps: usize,
        _number: u32,
    ) -> Option<u32> {
        let units = &mut unit.own;
        let UnitShape {
            simds, residents, ..
        } = units.shape;
        for distance in 0..simds {
            let simd = (units.next_simd + distance) % simds;
            let mut slots = (0..residents).map(|number| simd + number * simds);
            if let Some(slot) = slots.find(|slot| !units.held[*slot as usize]) {
                units.held[slot as usize] = true;
                units.next_simd = (simd + 1) % simds;
                return Some(slot);
            }
        }
        None
    }

    /// A group frees its slots and registers as a whole (docs/timing-model-gcn3.md).
    fn free_slots(unit: &mut ComputeUnit<'_>, slots: &[u32]) {
        let UnitShape { simds, .. } = unit.own.shape;
        for &slot in slots {
            // Splits have freed their reserve slots when they ended.
            let Some(held) = unit.own.held.get_mut(slot as usize) else {
                continue;
            };
            *held = false;
            let simd = &mut unit.schedulers[(slot % simds) as usize];
            simd.holders -= 1;
            simd.base_waves -= 1;
        }
    }

    fn begin_warp<L>(
        unit: &mut ComputeUnit<'_>,
        place: WarpPlace,
        _context: &WaveContext<'_, '_, L>,
    ) -> WaveState {
        let slot = place.slot;
        let simd = &mut unit.schedulers[place.scheduler as usize];
        simd.holders += 1;
        simd.base_waves += 1;
        simd.add(SimdWave {
            ready: NEVER,
            kind: IssueKind::Internal,
            slot,
            base: slot,
        });
        WaveState::new(simd.turns, slot)
    }

    fn end_warp<'r, L: EventListener>(
        unit: &mut ComputeUnit<'r>,
        now: u64,
        wave: &Wave,
        context: &mut WaveContext<'_, 'r, L>,
    ) {
        unit.remove_wave(wave);
        // Its siblings must not wait for a merge with it.
        for record in &wave.own.records {
            unit.forget_merge(now, record.sibling, record.id, context);
        }
    }

    #[inline(always)]
    fn set_ready<L>(
        unit: &mut ComputeUnit<'_>,
        wave: &Wave,
        ready: u64,
        context: &WaveContext<'_, '_, L>,
    ) {
        let kind = context.run.kind_of(wave.at);
        unit.schedulers[wave.place.scheduler as usize].update(wave.place.slot, ready, kind);
    }

    fn earliest_issue<L>(
        unit: &ComputeUnit<'_>,
        scheduler: usize,
        from: u64,
        _context: &WaveContext<'_, '_, L>,
    ) -> u64 {
        let simd = &unit.schedulers[scheduler];
        let mut first = NEVER;
        for wave in simd.waves() {
            if wave.ready < first {
                let ready = wave.ready.max(from);
                let accepts = unit.unit_accepts(ready, scheduler, wave.kind, wave.issuer());
                first = first.min(accepts);
            }
        }
        match first {
            NEVER => NEVER,
            // A SIMD issues in its turns only.
            first => simd.turns.from(first),
        }
    }

    #[inline]
    fn issue_cycle<'r, L: EventListener>(
        unit: &mut ComputeUnit<'r>,
        now: u64,
        scheduler: usize,
        context: &mut WaveContext<'_, 'r, L>,
        effects: &mut IssueEffects,
    ) -> Result<(), Fault> {
        let mut issues = TurnIssues::new();
        let most = context.parameters.get(Parameter::IssueKinds);
        let WaveSetup {
            policy, splitting, ..
        } = context.run.setup;
        let together = splitting.pipelines == SplitPipelines::Parallel;
        let mut is_first = true;
        for entry in unit.schedulers[scheduler].ready(now, *policy) {
            let accepts = || unit.unit_accepts(now, scheduler, entry.kind, entry.issuer());
            if !issues.allow(&entry, most, together) || accepts() > now {
                continue;
            }
            issues.record(&entry);
            if std::mem::take(&mut is_first) {
                unit.schedulers[scheduler].record_first(entry.slot);
            }
            unit.issue(now, entry.slot, context, effects)?;
        }
        Ok(())
    }

    #[inline(always)]
    fn accepts<L>(unit: &ComputeUnit<'_>, wave: &Wave, context: &WaveContext<'_, '_, L>) -> u64 {
        let (simd, kind) = (wave.place.scheduler as usize, context.run.kind_of(wave.at));
        unit.unit_accepts(wave.ready, simd, kind, wave.issuer())
    }

    #[inline(always)]
    fn before_issue<'r, L: EventListener>(
        unit: &mut ComputeUnit<'r>,
        now: u64,
        wave: &mut Wave,
        context: &mut WaveContext<'_, 'r, L>,
    ) -> Result<(), FaultKind> {
        let facts = context.run.facts_at(wave.at);
        // Before the branch is executed, because both parts of a split execute it.
        if facts.is_some_and(|facts| facts.kind == IssueKind::Branch) {
            unit.split(now, wave, context);
        }
        match facts.is_some_and(|facts| facts.has_class) {
            true => Ok(()),
            false => Err(FaultKind::WithoutTime),
        }
    }

    #[inline(always)]
    fn time<'r, L: EventListener>(
        unit: &mut ComputeUnit<'r>,
        now: u64,
        wave: &mut Wave,
        next: Option<(u32, Mask)>,
        context: &mut WaveContext<'_, 'r, L>,
    ) {
        wave.wait_for_next_turn(now);
        if let Some(facts) = context.run.facts_at(wave.at) {
            let next = next.map(|(at, _)| at);
            unit.time_instruction(now, facts, next, wave, context);
        }
    }

    #[inline(always)]
    fn arrives(run: WaveRun<'_>, at: u32) -> bool {
        run.facts_at(at).is_some_and(|facts| facts.arrives)
    }

    /// Parked siblings have to arrive as well before the barrier can open.
    fn after_arrival<'r, L: EventListener>(
        unit: &mut ComputeUnit<'r>,
        now: u64,
        slot: u32,
        context: &mut WaveContext<'_, 'r, L>,
    ) {
        unit.release_siblings(now, slot, context);
    }

    #[inline(always)]
    fn parks(wave: &Wave) -> bool {
        let record = wave.own.records.last();
        record.is_some_and(|record| record.at == wave.at)
    }

    fn park<'r, L: EventListener>(
        unit: &mut ComputeUnit<'r>,
        now: u64,
        slot: u32,
        context: &mut WaveContext<'_, 'r, L>,
    ) {
        unit.park_wave(now, slot, context);
    }

    #[inline(always)]
    fn code_range(run: WaveRun<'_>, at: u32) -> Option<(u64, u64)> {
        // An instruction of 8 bytes may cross a line.
        let facts = run.facts_at(at)?;
        Some((facts.address.into(), facts.bytes.into()))
    }

    /// Waits for registers and counters.
    #[inline(always)]
    fn wait_for_operands<'r, L: EventListener>(
        _unit: &mut ComputeUnit<'r>,
        _now: u64,
        _from: u64,
        wave: &mut Wave,
        context: &mut WaveContext<'_, 'r, L>,
    ) {
        let Some(facts) = context.run.facts_at(wave.at) else {
            return;
        };
        // Written cells too: an earlier result must not arrive later.
        for cell in facts.reads.iter().chain(&facts.writes) {
            let ready = wave.own.cells.get(cell.index()).copied().unwrap_or(0);
            wave.wait(ready, Stall::Dependency);
        }
        if let Some(waits) = &facts.waits {
            let release = wave.own.counters.release_cycle(waits);
            wave.wait(release, Stall::Memory);
        }
    }

    fn release_cycle<L>(
        _unit: &mut ComputeUnit<'_>,
        now: u64,
        context: &WaveContext<'_, '_, L>,
    ) -> u64 {
        // A wave that is released does not issue in the same turn.
        now + context.parameters.get(Parameter::BarrierLatency).max(1)
    }
}

/// Maximum number of live splits besides the wave itself, since each has a lane of its own.
const MOST_SPLITS: u32 = WAVE_LANES as u32 - 1;

/// Returns the numbers of a compute unit, its resources, and the resources that a group needs.
fn resources(
    launch: &Launch,
    setup: &WaveSetup,
    parameters: &UsedParameters,
) -> (UnitShape, BlockResources, BlockResources) {
    let threads = launch.block.iter().map(|&n| u64::from(n)).product();
    let needs = WaveNeeds {
        vgprs: setup.vgprs.into(),
        sgprs: setup.sgprs.into(),
    };
    let mut reader = parameters.reader();
    let machine = reader.machine(BlockResources::CU_PARAMETERS);
    let of_unit = BlockResources::of_cu(machine, &needs);
    let of_group = BlockResources::of_group(machine, threads, launch.shared.into());
    let WaveNeeds { vgprs, sgprs } = needs.allocated(machine);
    let by_vectors = machine[Parameter::SimdVgprs] / vgprs.max(1);
    let by_scalars = machine[Parameter::SimdSgprs] / sgprs.max(1);
    let simds = machine[Parameter::CuSimds].max(1);
    let shape = UnitShape {
        simds: simds as u32,
        waves: machine[Parameter::SimdWaves] as u32,
        // `of_cu` counts the waves of all SIMDs.
        residents: (of_unit.warps / simds) as u32,
        holders: by_vectors.min(by_scalars),
        splits: setup.splitting.splits.min(MOST_SPLITS),
    };
    *reader.track((shape, of_unit, of_group)).get(parameters)
}
