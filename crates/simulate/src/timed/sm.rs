//! A streaming multiprocessor: its blocks, its warps and what they share.

use warpbound_ir::OpIndex;
use warpbound_machine::Parameter;
use warpbound_simt::concrete::StackEntry;

use super::event::{Event, EventListener, Stall, WarpPlace};
use super::fetch::{Constants, Instructions};
use super::global::Path;
use super::level::Level;
use super::numbers::{Numbered, Numbers};
use super::probe::Probe;
use super::row::{Row, Unit, Work};
use super::scheduler::{NEVER, Scheduler};
use super::scoreboard::COUNT;
use super::server::Server;
use super::warp::Warp;
use super::{Interlock, Setup};
use crate::functional::{Block, Counts, Fault, GlobalMemory, Launch, Program, Size, ClockRegister, ExecContext};

/// What all SMs work with.
pub(super) struct Around<'a, 'r, L> {
    pub(super) numbers: &'a Numbers,
    pub(super) setup: &'a Setup,
    pub(super) program: &'r Program<'r>,
    pub(super) launch: &'r Launch,
    pub(super) rows: &'a [Row],
    /// Some instruction reads what a block is told.
    pub(super) tells: bool,
    /// Some instruction asks how many results are outstanding.
    pub(super) counted: bool,
    pub(super) level: Level<'a>,
    pub(super) memory: &'a mut GlobalMemory,
    pub(super) counts: Counts,
    pub(super) left: u64,
    /// When the second level has all that was stored so far.
    pub(super) stored: u64,
    pub(super) probe: Probe<'a>,
    pub(super) listener: &'a mut L,
}

impl<L> Around<'_, '_, L> {
    /// The time of a cycle.
    fn nanoseconds(&self, cycle: u64) -> u64 {
        let kilohertz = self.numbers.get(Parameter::Clock).max(1);
        (u128::from(cycle) * 1_000_000 / u128::from(kilohertz)) as u64
    }
}

/// A block on an SM.
struct Resident<'r> {
    block: Block<'r>,
    number: u64,
    index: Size,
    /// The slots of its warps, in their order.
    slots: Vec<u32>,
    /// Warps that have not ended.
    running: usize,
}

/// A streaming multiprocessor.
pub(super) struct Sm<'r> {
    pub(super) number: u32,
    residents: Vec<Option<Resident<'r>>>,
    /// By slot.
    warps: Vec<Option<Warp>>,
    /// How many warps it can hold.
    pub(super) slots: u64,
    pub(super) schedulers: Vec<Scheduler>,
    pub(super) shared: Server,
    barrier: Server,
    pub(super) path: Path,
    instructions: Instructions,
    constants: Constants,
}

/// How a warp goes on behind an instruction.
enum After {
    /// With the next one, which the instruction may pair with.
    Goes { pairs: bool },
    /// It has come to a barrier of its block, where it waits or not.
    Arrives { resident: usize },
    /// Not at all.
    Ends,
}

/// What a turn of a scheduler led to.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Turn {
    /// Warps of other schedulers may be ready now.
    pub(super) woke: bool,
    /// A block ended.
    pub(super) ended: bool,
}

impl<'r> Sm<'r> {
    /// `entry` is the address of the kernel's first instruction.
    pub(super) fn new(number: u32, entry: u64, numbers: &Numbers) -> Sm<'r> {
        let count = |parameter| numbers.peek(parameter) as usize;
        let slots = count(Parameter::SmWarps);
        let mut instructions = Instructions::new(numbers);
        instructions.launch(entry, numbers.peek(Parameter::InstructionAhead));
        Sm {
            number,
            residents: Vec::new(),
            warps: (0..slots).map(|_| None).collect(),
            slots: slots as u64,
            schedulers: vec![Scheduler::new(); count(Parameter::SmSchedulers).max(1)],
            shared: Server::default(),
            barrier: Server::default(),
            path: Path::new(numbers),
            instructions,
            constants: Constants::new(numbers),
        }
    }

    /// A block begins at a cycle: its warps take a row of slots, which they give back together when it ends. So the warps of a
    /// block are spread over the sub-partitions evenly.
    pub(super) fn begin<L: EventListener>(
        &mut self,
        now: u64,
        (number, index): (u64, Size),
        around: &mut Around<'_, 'r, L>,
    ) {
        let block = Block::new(around.program, around.launch, index);
        let count = block.warps.len();
        let place = self.residents.iter().position(Option::is_none);
        let resident = place.unwrap_or(self.residents.len());
        if place.is_none() {
            self.residents.push(None);
        }
        // All blocks of a launch have as many warps, and the dispatcher gives no more blocks than have room.
        let first = resident * count;
        let slots: Vec<u32> = (first as u32..).take(count).collect();
        if self.warps.len() < first + count {
            self.warps.resize_with(first + count, || None);
        }
        let event = Event::BlockBegins {
            sm: self.number,
            number,
            block: index,
            warps: count as u32,
        };
        around.listener.event(now, &event);
        let watches = around.setup.interlock == Interlock::Scoreboard;
        for (warp, (&slot, state)) in (0..).zip(slots.iter().zip(&block.warps)) {
            let scheduler = slot % self.schedulers.len() as u32;
            let place = WarpPlace {
                sm: self.number,
                scheduler,
                slot,
                block: number,
                warp,
            };
            let top = state.stack.top().map_or((0, 0), next_of);
            let mut warp = Warp::new(place, resident, top, now, watches, around.counted);
            self.prepare(&mut warp, now, now, around);
            let unit = unit_of(around.rows, warp.at);
            self.schedulers[scheduler as usize].add(slot, warp.ready, unit);
            self.warps[slot as usize] = Some(warp);
        }
        self.residents[resident] = Some(Resident {
            block,
            number,
            index,
            running: slots.len(),
            slots,
        });
    }

    /// A scheduler issues what it can at a cycle.
    pub(super) fn turn<L: EventListener>(
        &mut self,
        now: u64,
        scheduler: usize,
        around: &mut Around<'_, 'r, L>,
    ) -> Result<Turn, Fault> {
        let mut turn = Turn::default();
        let policy = around.setup.policy;
        let Some(slot) = self.schedulers[scheduler].choose(now, policy) else {
            return Ok(turn);
        };
        let pairs = self.issue(now, slot, around, &mut turn)?;
        if pairs && self.schedulers[scheduler].earliest_of(slot) <= now {
            self.issue(now, slot, around, &mut turn)?;
        }
        Ok(turn)
    }

    /// A warp issues its next instruction; whether that pairs with the one behind it.
    fn issue<L: EventListener>(
        &mut self,
        now: u64,
        slot: u32,
        around: &mut Around<'_, 'r, L>,
        turn: &mut Turn,
    ) -> Result<bool, Fault> {
        // The warp changes while the SM does: it is elsewhere meanwhile.
        let mut warps = std::mem::take(&mut self.warps);
        let after = match warps.get_mut(slot as usize) {
            Some(Some(warp)) => self.execute(now, warp, around),
            _ => Ok(After::Goes { pairs: false }),
        };
        self.warps = warps;
        match after? {
            After::Goes { pairs } => return Ok(pairs),
            After::Arrives { resident } => self.arrive(now, resident, around, turn),
            After::Ends => {
                if let Some(warp) = self.warps.get_mut(slot as usize).and_then(Option::take) {
                    self.end(now, &warp, around, turn);
                }
            }
        }
        Ok(false)
    }

    /// A warp executes its next instruction, and its scheduler learns when it can issue the one behind.
    fn execute<L: EventListener>(
        &mut self,
        now: u64,
        warp: &mut Warp,
        around: &mut Around<'_, 'r, L>,
    ) -> Result<After, Fault> {
        let Some(resident) = self
            .residents
            .get_mut(warp.resident)
            .and_then(Option::as_mut)
        else {
            return Ok(After::Ends);
        };
        let slot = warp.place.slot;
        let scheduler = &mut self.schedulers[warp.place.scheduler as usize];
        let at = warp.at;
        let rows = around.rows;
        warp.wait(scheduler.open(unit_of(rows, at)).min(now), Stall::Unit);
        warp.wait(now, Stall::Selection);
        if around.tells {
            let block = &mut resident.block;
            let sms = around.numbers.peek(Parameter::SmCount) as u32;
            let nanoseconds = around.nanoseconds(now);
            block.set_clock_register(ClockRegister::VirtCfg, sms << 20);
            block.set_clock_register(ClockRegister::VirtId, self.number << 20 | slot << 8);
            block.set_clock_register(ClockRegister::ClockLow, now as u32);
            block.set_clock_register(ClockRegister::ClockHigh, (now >> 32) as u32);
            block.set_clock_register(ClockRegister::TimeLow, nanoseconds as u32);
            block.set_clock_register(ClockRegister::TimeHigh, (nanoseconds >> 32) as u32);
        }
        let number = warp.place.warp as usize;
        let mut world = ExecContext {
            memory: &mut *around.memory,
            counts: &mut around.counts,
            budget: &mut around.left,
            listener: &mut around.probe,
        };
        resident.block.step(number, at, warp.active, &mut world)?;
        let event = Event::Issue {
            warp: warp.place,
            at: OpIndex(at),
            active: warp.active,
            taken: around.probe.taken,
            waited: warp.waited,
        };
        around.listener.event(now, &event);
        // Whoever executed it has found that it exists.
        let Some(row) = rows.get(at as usize) else {
            return Ok(After::Ends);
        };
        scheduler.issued(slot, row.yields);
        around.numbers.touch(row.touches);
        let state = &resident.block.warps[number];
        let next = state.stack.top().map(next_of);
        let waits = state.barrier_wait.is_some();
        warp.restart(now);
        self.work(now, row, warp, around);
        let Some(next) = next else {
            return Ok(After::Ends);
        };
        (warp.at, warp.active) = next;
        if row.jumps && warp.at != at + 1 {
            let more = around.numbers.get(Parameter::IssueJump);
            warp.wait(warp.ready + more, Stall::Fetch);
        }
        let (ready, unit) = match waits {
            // It is ready when the barrier opens.
            true => (NEVER, Unit::None),
            false => {
                self.prepare(warp, now, now, around);
                (warp.ready, unit_of(rows, warp.at))
            }
        };
        self.schedulers[warp.place.scheduler as usize].set(slot, ready, unit);
        let resident = warp.resident;
        Ok(match waits || row.arrives {
            true => After::Arrives { resident },
            false => After::Goes { pairs: row.pairs },
        })
    }

    /// An instruction begins its work at a cycle: when its sources have been read, when its result is there, and when its
    /// warp may issue the next one.
    fn work<L: EventListener>(
        &mut self,
        now: u64,
        row: &Row,
        warp: &mut Warp,
        around: &mut Around<'_, 'r, L>,
    ) {
        let numbers = around.numbers;
        let distance = match around.setup.interlock {
            Interlock::ControlWords => u64::from(row.distance),
            Interlock::Scoreboard => 1,
        };
        // The cycle of the issue itself; none in front of the second of a pair.
        warp.wait(now + distance.min(1), Stall::Issue);
        warp.wait(
            now + distance + u64::from(row.bank_cycles),
            Stall::Dependency,
        );
        let scheduler = &mut self.schedulers[warp.place.scheduler as usize];
        let times = match around.probe.access {
            Some(access) if row.unit == Unit::Lsu => u64::from(access.size / 4).max(1),
            _ => 1,
        };
        let begin = scheduler.give(row.unit, now, times, numbers);
        let (sources, done) = match row.work {
            Work::Fixed => (begin, begin + 1),
            Work::Takes(latency) => {
                // Shuffles go through the exchange of shared memory, one warp in a cycle.
                let begin = match latency {
                    Parameter::LatencyShuffle => self.shared.reserve(now, begin, 1),
                    _ => begin,
                };
                let done = begin + numbers.get(latency);
                (
                    done.min(begin + numbers.get(Parameter::SharedSources)),
                    done,
                )
            }
            Work::Access { cached } => self.access(begin, cached, warp, around),
            Work::Constant(bank, ..) => {
                let mut done = begin + 1;
                // One after the other: the cache has one port.
                let offsets = std::mem::take(&mut around.probe.constants);
                for (number, &offset) in (0..).zip(&offsets) {
                    let there = self.constant(now, begin + number, (bank, offset), around);
                    done = done.max(there + numbers.get(Parameter::ConstantL1Hit));
                }
                around.probe.constants = offsets;
                (begin + numbers.get(Parameter::SharedSources), done)
            }
            Work::Texture => {
                numbers.touch(const { Numbered::of(&[Parameter::L1Units]) });
                let cycles = numbers.get(Parameter::TextureOccupancy);
                let begin = self
                    .path
                    .texture(now, begin, unit_of_path(warp, self), cycles);
                let sources = begin + numbers.get(Parameter::L1Sources);
                (sources, begin + numbers.get(Parameter::TextureHit))
            }
            Work::Fence { device } => {
                let fence = match device {
                    true => warp.stored.max(now) + numbers.get(Parameter::FenceDevice),
                    false => now + numbers.get(Parameter::FenceBlock),
                };
                warp.wait(fence, Stall::Barrier);
                (fence, fence)
            }
            Work::Outstanding {
                scoreboard,
                most,
                none_of,
            } => {
                let (until, is_memory) = warp.scoreboards.at_most(scoreboard.into(), most);
                warp.wait(until, reason(is_memory));
                clear(warp, none_of, 0);
                (now, now)
            }
        };
        if let Some(scoreboard) = row.read_sb {
            warp.scoreboards
                .raise(scoreboard.into(), now, sources, row.is_memory);
        }
        if let Some(scoreboard) = row.write_sb {
            warp.scoreboards
                .raise(scoreboard.into(), now, done, row.is_memory);
        }
        if row.drains {
            clear(warp, u8::MAX, 0);
            let more = numbers.get(Parameter::IssueDrain);
            warp.wait(warp.ready + more, Stall::Dependency);
        }
        if around.setup.interlock == Interlock::Scoreboard {
            for cell in &row.writes {
                let done = match row.work {
                    Work::Fixed if cell.is_predicate() => {
                        begin + numbers.get(Parameter::LatencyPredicate)
                    }
                    Work::Fixed if *cell == warpbound_ir::Cell::CC => {
                        begin + numbers.get(Parameter::LatencyCarry)
                    }
                    Work::Fixed => begin + numbers.get(Parameter::LatencyAlu),
                    _ => done,
                };
                warp.cells[cell.index()] = (done, row.is_memory);
            }
        }
    }

    /// When a warp can issue its next instruction, as far as that depends on itself; it asks for it from a cycle on that is
    /// not before now.
    fn prepare<L: EventListener>(
        &mut self,
        warp: &mut Warp,
        now: u64,
        from: u64,
        around: &mut Around<'_, 'r, L>,
    ) {
        let rows = around.rows;
        let Some(row) = rows.get(warp.at as usize) else {
            return;
        };
        let line = u64::from(row.address) / self.instructions.line;
        if warp.line != Some(line) {
            warp.line = Some(line);
            let address = u64::from(row.address);
            let (ready, found) = self.instructions.fetch(from, address, &mut around.level);
            if let Some(found) = found {
                let event = Event::FetchMiss {
                    sm: self.number,
                    at: OpIndex(warp.at),
                    found,
                };
                around.listener.event(now, &event);
            }
            warp.wait(ready, Stall::Fetch);
        }
        match around.setup.interlock {
            Interlock::ControlWords => {
                if row.wait_mask != 0 {
                    let wake = around.numbers.get(Parameter::IssueWake);
                    clear(warp, row.wait_mask, wake);
                }
            }
            Interlock::Scoreboard => {
                for cell in row.reads.iter().chain(&row.writes) {
                    let (until, is_memory) = warp.cells[cell.index()];
                    warp.wait(until, reason(is_memory));
                }
            }
        }
        for &constant in &row.constants {
            let there = self.constant(now, from, constant, around);
            let more = around.numbers.get(Parameter::ConstantOperand);
            warp.wait(there + more, Stall::Memory);
        }
    }

    /// A constant is needed at a cycle; when it is there.
    fn constant<L: EventListener>(
        &mut self,
        now: u64,
        at: u64,
        (bank, offset): (u8, u32),
        around: &mut Around<'_, 'r, L>,
    ) -> u64 {
        let (there, found) = self.constants.need(at, bank, offset, &mut around.level);
        if let Some(found) = found {
            let event = Event::ConstantMiss {
                sm: self.number,
                bank,
                offset,
                found,
            };
            around.listener.event(now, &event);
        }
        there
    }

    /// A warp of a block has come to a barrier, or to its end: perhaps others go on.
    fn arrive<L: EventListener>(
        &mut self,
        now: u64,
        place: usize,
        around: &mut Around<'_, 'r, L>,
        turn: &mut Turn,
    ) {
        let Some(mut resident) = self.residents.get_mut(place).and_then(Option::take) else {
            return;
        };
        let rate = around.numbers.get(Parameter::BarrierThreads).max(1);
        let counted = self.barrier.transfer(now, now, 32, rate * 1000);
        let waiting = |resident: &Resident<'_>| -> Vec<bool> {
            let warps = resident.block.warps.iter();
            warps.map(|warp| warp.barrier_wait.is_some()).collect()
        };
        let before = waiting(&resident);
        resident.block.release(&mut around.counts);
        let after = waiting(&resident);
        let opens = counted + around.numbers.get(Parameter::BarrierLatency);
        let mut warps = 0;
        for (number, (before, after)) in before.into_iter().zip(after).enumerate() {
            if !before || after {
                continue;
            }
            warps += 1;
            let slot = resident.slots[number] as usize;
            let Some(mut warp) = self.warps.get_mut(slot).and_then(Option::take) else {
                continue;
            };
            warp.wait(opens, Stall::Barrier);
            self.prepare(&mut warp, now, opens, around);
            let scheduler = &mut self.schedulers[warp.place.scheduler as usize];
            scheduler.set(slot as u32, warp.ready, unit_of(around.rows, warp.at));
            self.warps[slot] = Some(warp);
        }
        if warps > 0 {
            turn.woke = true;
            let event = Event::BarrierOpens {
                sm: self.number,
                block: resident.number,
                warps,
            };
            around.listener.event(now, &event);
        }
        self.residents[place] = Some(resident);
    }

    /// A warp comes to its end.
    fn end<L: EventListener>(
        &mut self,
        now: u64,
        warp: &Warp,
        around: &mut Around<'_, 'r, L>,
        turn: &mut Turn,
    ) {
        let place = warp.place;
        self.schedulers[place.scheduler as usize].remove(place.slot);
        around.listener.event(now, &Event::WarpEnds { warp: place });
        let Some(resident) = self
            .residents
            .get_mut(warp.resident)
            .and_then(Option::as_mut)
        else {
            return;
        };
        resident.running -= 1;
        if resident.running > 0 {
            // The others may have waited for it; where nobody waits, barriers have no part in it.
            if resident.block.warps.iter().all(|warp| warp.barrier_wait.is_none()) {
                return;
            }
            self.arrive(now, warp.resident, around, turn);
            return;
        }
        let event = Event::BlockEnds {
            sm: self.number,
            number: resident.number,
            block: resident.index,
        };
        around.listener.event(now, &event);
        self.residents[warp.resident] = None;
        turn.ended = true;
    }

    /// What keeps a block for ever, if there is one.
    pub(super) fn deadlock(&self) -> Option<Fault> {
        let resident = self.residents.iter().flatten().next()?;
        Some(resident.block.deadlock())
    }
}

fn next_of(stage: &StackEntry<u32>) -> (u32, u32) {
    (stage.next, stage.mask as u32)
}

fn unit_of(rows: &[Row], at: u32) -> Unit {
    rows.get(at as usize).map_or(Unit::None, |row| row.unit)
}

/// Sub-partitions share the first-level caches: two neighbours have one where there are two of them.
pub(super) fn unit_of_path(warp: &Warp, sm: &Sm<'_>) -> usize {
    warp.place.scheduler as usize * sm.path.units() / sm.schedulers.len().max(1)
}

/// What a warp waits for when it waits for a scoreboard.
fn reason(is_memory: bool) -> Stall {
    match is_memory {
        true => Stall::Memory,
        false => Stall::Dependency,
    }
}

/// A warp waits until scoreboards count nothing and some cycles have passed since.
fn clear(warp: &mut Warp, mask: u8, wake: u64) {
    for number in (0..COUNT).filter(|number| mask >> number & 1 == 1) {
        let (until, is_memory) = warp.scoreboards.clear(number);
        warp.wait(until + wake, reason(is_memory));
    }
}
