//! One block of threads.

use warpbound_ir::{OpIndex, VoteMode};
use warpbound_isa::instr::Space;
use warpbound_simt::Tag;
use warpbound_simt::concrete::ActivationStack;

use super::compile::{Access, At, Compiled, Effect, Flow, Program, Special, Step};
use super::fault::{Fault, FaultKind};
use super::lanes::{LANES, Mask, Row, binary, gather, lanes_of, spread, ternary, unary};
use super::memory::{GlobalMemory, put_word, size_of, word_of};
use super::{Counts, Launch, Size};

struct Warp {
    stack: ActivationStack<u32>,
    /// The number of its first thread.
    first: u32,
    registers: Vec<Row>,
    predicates: [Mask; 8],
    cc: Row,
    /// The thread's place in the block in x, y, z.
    place: [Row; 3],
    local: Vec<u8>,
    /// The barrier at which it waits, and for how many threads.
    waits: Option<(u32, u32)>,
}

pub(super) struct Block<'a> {
    program: &'a Program,
    launch: &'a Launch,
    index: Size,
    warps: Vec<Warp>,
    shared: Vec<u8>,
    scratch: Vec<Row>,
}

impl<'a> Block<'a> {
    pub(super) fn new(
        program: &'a Program,
        launch: &'a Launch,
        index: Size,
        entry: OpIndex,
    ) -> Block<'a> {
        let threads = launch.block.iter().product::<u32>();
        let warps = (0..threads.div_ceil(LANES as u32)).map(|number| {
            let first = number * LANES as u32;
            let count = (threads - first).min(LANES as u32);
            let [x, y, _] = launch.block;
            let thread = |lane: usize| first + lane as u32;
            Warp {
                stack: ActivationStack::new(entry.0, u64::from(u32::MAX >> (32 - count))),
                first,
                registers: vec![[0; LANES]; program.registers],
                predicates: [0; 8],
                cc: [0; LANES],
                place: [
                    std::array::from_fn(|lane| thread(lane) % x),
                    std::array::from_fn(|lane| thread(lane) / x % y),
                    std::array::from_fn(|lane| thread(lane) / x / y),
                ],
                local: vec![0; launch.local as usize * count as usize],
                waits: None,
            }
        });
        Block {
            warps: warps.collect(),
            shared: vec![0; launch.shared as usize],
            scratch: vec![[0; LANES]; program.scratch],
            program,
            launch,
            index,
        }
    }

    /// Runs to the end.
    pub(super) fn run(
        mut self,
        memory: &mut GlobalMemory,
        counts: &mut Counts,
        left: &mut u64,
    ) -> Result<(), Fault> {
        loop {
            let mut moved = false;
            for number in 0..self.warps.len() {
                while self.warps[number].waits.is_none()
                    && let Some(top) = self.warps[number].stack.top().copied()
                {
                    moved = true;
                    self.step(number, top.next, top.mask as Mask, memory, counts, left)?;
                }
            }
            if !moved {
                return match self.warps.iter().find_map(|warp| warp.waits) {
                    None => Ok(()),
                    Some((number, expected)) => Err(self.deadlock(number, expected)),
                };
            }
        }
    }

    fn fault(&self, at: u32, kind: FaultKind) -> Fault {
        Fault {
            at: OpIndex(at),
            block: self.index,
            thread: None,
            kind,
        }
    }

    fn lane_fault(&self, at: u32, warp: usize, lane: usize, kind: FaultKind) -> Fault {
        let place = self.warps[warp].place.map(|row| row[lane]);
        Fault {
            thread: Some(place),
            ..self.fault(at, kind)
        }
    }

    /// Executes the next instruction of a warp.
    fn step(
        &mut self,
        number: usize,
        at: u32,
        active: Mask,
        memory: &mut GlobalMemory,
        counts: &mut Counts,
        left: &mut u64,
    ) -> Result<(), Fault> {
        let program = self.program;
        let Some(op) = program.ops.get(at as usize) else {
            return Err(self.fault(at, FaultKind::RunsOffTheEnd));
        };
        if *left == 0 {
            let limit = self.launch.max_instructions;
            return Err(self.fault(at, FaultKind::TooLong(limit)));
        }
        *left -= 1;
        counts.issues[at as usize] += 1;
        counts.active[at as usize] += u64::from(active.count_ones());
        let taken = match op.guard {
            _ if op.never => 0,
            None => active,
            Some((predicate, negated)) => {
                let holds = self.warps[number].predicates[usize::from(predicate)];
                active & if negated { !holds } else { holds }
            }
        };
        counts.executed[at as usize] += u64::from(taken.count_ones());
        if taken != 0 {
            self.effect(number, at, op, taken, memory)?;
        }
        self.flow(number, at, op, active, taken, counts)
    }

    fn flow(
        &mut self,
        number: usize,
        at: u32,
        op: &Compiled,
        active: Mask,
        taken: Mask,
        counts: &mut Counts,
    ) -> Result<(), Fault> {
        let next = at + 1;
        let others = active & !taken;
        let stack = &mut self.warps[number].stack;
        match op.flow {
            Flow::Next => stack.advance(next),
            Flow::Jump(to) => match (taken, others) {
                (0, _) => stack.advance(next),
                (_, 0) => stack.advance(to),
                _ if to == next => stack.advance(next),
                _ => {
                    counts.divergences[at as usize] += 1;
                    stack.diverge(&[(to, taken.into()), (next, others.into())]);
                }
            },
            Flow::Push(tag, to) => stack.push(tag, to, next),
            Flow::Call(to) => stack.push(Tag::Ret, next, to),
            Flow::Exit => {
                counts.divergences[at as usize] += u64::from(taken != 0 && others != 0);
                stack.exit(taken.into(), next);
            }
            Flow::Unwind(tag) => {
                counts.divergences[at as usize] += u64::from(taken != 0 && others != 0);
                let done = stack.unwind(tag, taken.into(), next);
                done.map_err(|e| self.fault(at, FaultKind::NoEntry(e.tag.name())))?;
            }
            Flow::Unknown => return Err(self.fault(at, FaultKind::NotRunnable)),
        }
        Ok(())
    }

    fn row(&self, warp: &Warp, at: At) -> Row {
        match at {
            At::Register(row) => warp.registers[usize::from(row)],
            At::Predicate(n) => spread(warp.predicates[usize::from(n)]),
            At::Cc => warp.cc,
            At::Shared(row) => self.program.shared[usize::from(row)],
            At::Scratch(row) => self.scratch[usize::from(row)],
            At::Special(special) => match special {
                Special::Lane => std::array::from_fn(|lane| lane as u32),
                Special::Thread(axis) => warp.place[usize::from(axis)],
                Special::Block(axis) => [self.index[usize::from(axis)]; LANES],
                Special::Equal => std::array::from_fn(|lane| 1 << lane),
                Special::Below => std::array::from_fn(|lane| (1 << lane) - 1),
                Special::BelowOrEqual => std::array::from_fn(|lane| u32::MAX >> (31 - lane)),
                Special::Above => std::array::from_fn(|lane| (u32::MAX << lane) << 1),
                Special::AboveOrEqual => std::array::from_fn(|lane| u32::MAX << lane),
            },
        }
    }

    fn effect(
        &mut self,
        number: usize,
        at: u32,
        op: &Compiled,
        taken: Mask,
        memory: &mut GlobalMemory,
    ) -> Result<(), Fault> {
        for (place, step) in op.steps.iter().enumerate() {
            let warp = &self.warps[number];
            self.scratch[place] = match *step {
                Step::Unary(op, a) => unary(op, &self.row(warp, a)),
                Step::Binary(op, a, b) => binary(op, &self.row(warp, a), &self.row(warp, b)),
                Step::Ternary(op, a, b, c) => ternary(
                    op,
                    &self.row(warp, a),
                    &self.row(warp, b),
                    &self.row(warp, c),
                ),
            };
        }
        match &op.effect {
            Effect::Write(writes) => {
                // All of them are read before any is written, except where there is one.
                let rows: smallvec::SmallVec<[Row; 2]> = writes
                    .iter()
                    .map(|&(_, from)| self.row(&self.warps[number], from))
                    .collect();
                let warp = &mut self.warps[number];
                for (&(to, _), row) in writes.iter().zip(rows) {
                    write(warp, to, &row, taken);
                }
                Ok(())
            }
            Effect::Load { dests, access } => {
                let size = size_of(access.width);
                let addresses = self.addresses(number, access);
                for lane in lanes_of(taken) {
                    for (place, dest) in dests.iter().enumerate() {
                        let address = addresses[lane] + (place * size) as u64;
                        let total = (dests.len() * size) as u64;
                        let (space, width) = (access.space, access.width);
                        let whole = (place == 0).then_some((addresses[lane], total));
                        let word = self
                            .bytes(number, lane, space, address, size, whole, memory)
                            .map(|bytes| word_of(width, bytes));
                        let word = word.map_err(|kind| self.lane_fault(at, number, lane, kind))?;
                        if let Some(row) = dest {
                            self.warps[number].registers[usize::from(*row)][lane] = word;
                        }
                    }
                }
                Ok(())
            }
            Effect::Store { values, access } => {
                let size = size_of(access.width);
                let addresses = self.addresses(number, access);
                let total = (values.len() * size) as u64;
                for (place, &value) in values.iter().enumerate() {
                    let row = self.row(&self.warps[number], value);
                    for lane in lanes_of(taken) {
                        let address = addresses[lane] + (place * size) as u64;
                        let whole = (place == 0).then_some((addresses[lane], total));
                        let done = self
                            .bytes(number, lane, access.space, address, size, whole, memory)
                            .map(|bytes| put_word(bytes, row[lane]));
                        done.map_err(|kind| self.lane_fault(at, number, lane, kind))?;
                    }
                }
                Ok(())
            }
            Effect::Shuffle {
                dest,
                in_range,
                mode,
                value,
                lane,
                limit,
            } => {
                let warp = &self.warps[number];
                let [value, lane, limit] = [value, lane, limit].map(|&at| self.row(warp, at));
                let (mut result, mut found) = ([0; LANES], 0);
                for own in 0..LANES {
                    let (from, in_range) = mode.source(own as u32, lane[own], limit[own]);
                    result[own] = value[from as usize % LANES];
                    found |= Mask::from(in_range) << own;
                }
                let warp = &mut self.warps[number];
                if let Some(to) = dest {
                    write(warp, *to, &result, taken);
                }
                if let Some(to) = in_range {
                    write(warp, *to, &spread(found), taken);
                }
                Ok(())
            }
            Effect::Vote {
                ballot,
                result,
                mode,
                predicate,
            } => {
                let yes = gather(&self.row(&self.warps[number], *predicate)) & taken;
                let answer = match mode {
                    VoteMode::All => yes == taken,
                    VoteMode::Any => yes != 0,
                    VoteMode::Same => yes == taken || yes == 0,
                };
                let warp = &mut self.warps[number];
                if let Some(to) = ballot {
                    write(warp, *to, &[yes; LANES], taken);
                }
                if let Some(to) = result {
                    write(warp, *to, &[answer.into(); LANES], taken);
                }
                Ok(())
            }
            Effect::Barrier(barrier, threads) => {
                let lane = taken.trailing_zeros() as usize % LANES;
                let warp = &self.warps[number];
                let barrier = self.row(warp, *barrier)[lane];
                let threads = match threads {
                    Some(threads) => self.row(warp, *threads)[lane],
                    None => self.launch.block.iter().product(),
                };
                self.warps[number].waits = Some((barrier, threads));
                self.release(barrier, threads);
                Ok(())
            }
            Effect::Unknown => Err(self.fault(at, FaultKind::NotRunnable)),
        }
    }

    fn addresses(&self, number: usize, access: &Access) -> [u64; LANES] {
        let warp = &self.warps[number];
        let low = self.row(warp, access.low);
        match access.high {
            None => low.map(u64::from),
            Some(high) => {
                let high = self.row(warp, high);
                std::array::from_fn(|lane| u64::from(high[lane]) << 32 | u64::from(low[lane]))
            }
        }
    }

    /// The bytes of one cell of an access; `whole` is the address and size of all of it, once.
    #[allow(clippy::too_many_arguments)]
    fn bytes<'m>(
        &'m mut self,
        number: usize,
        lane: usize,
        space: Space,
        address: u64,
        size: usize,
        whole: Option<(u64, u64)>,
        memory: &'m mut GlobalMemory,
    ) -> Result<&'m mut [u8], FaultKind> {
        if let Some((first, total)) = whole
            && !first.is_multiple_of(total)
        {
            return Err(FaultKind::Misaligned {
                space,
                address: first,
                size: total as u32,
            });
        }
        let outside = |near| FaultKind::OutOfBounds {
            space,
            address,
            near,
        };
        let within = |bytes: &'m mut [u8]| {
            let start = usize::try_from(address).ok()?;
            bytes.get_mut(start..start.checked_add(size)?)
        };
        match space {
            Space::Global => {
                let near = memory.near(address);
                memory.bytes(address, size).ok_or_else(|| outside(near))
            }
            Space::Shared => within(&mut self.shared).ok_or_else(|| outside(None)),
            Space::Local => {
                let each = self.launch.local as usize;
                let local = &mut self.warps[number].local;
                let own = local.get_mut(lane * each..(lane + 1) * each);
                own.and_then(within).ok_or_else(|| outside(None))
            }
            _ => Err(outside(None)),
        }
    }

    /// Lets warps go that wait at a barrier with enough others.
    fn release(&mut self, barrier: u32, threads: u32) {
        let (arrived, _) = self.waiting(barrier);
        if arrived >= threads {
            for warp in &mut self.warps {
                if warp.waits.is_some_and(|(number, _)| number == barrier) {
                    warp.waits = None;
                }
            }
        }
    }

    /// Threads at a barrier (whole warps count), and whether somebody has left for good.
    fn waiting(&self, barrier: u32) -> (u32, bool) {
        let threads: u32 = self.launch.block.iter().product();
        let of_warp = |warp: &Warp| (threads - warp.first).min(LANES as u32);
        let there = self
            .warps
            .iter()
            .filter(|warp| warp.waits.is_some_and(|(number, _)| number == barrier));
        let left = self.warps.iter().any(|warp| warp.stack.top().is_none());
        (there.map(of_warp).sum(), left)
    }

    fn deadlock(&mut self, number: u32, expected: u32) -> Fault {
        let (arrived, _) = self.waiting(number);
        let at = self.warps.iter().find(|warp| warp.waits.is_some());
        let at = at
            .and_then(|warp| warp.stack.top())
            .map_or(0, |top| top.next);
        self.fault(
            at.saturating_sub(1),
            FaultKind::Deadlock {
                number,
                arrived,
                expected,
            },
        )
    }
}

fn write(warp: &mut Warp, to: At, row: &Row, taken: Mask) {
    let target = match to {
        At::Register(n) => &mut warp.registers[usize::from(n)],
        At::Cc => &mut warp.cc,
        At::Predicate(n) => {
            let mask = &mut warp.predicates[usize::from(n)];
            *mask = *mask & !taken | gather(row) & taken;
            return;
        }
        At::Special(_) | At::Shared(_) | At::Scratch(_) => return,
    };
    if taken == Mask::MAX {
        *target = *row;
        return;
    }
    for (lane, (old, new)) in target.iter_mut().zip(row).enumerate() {
        *old = if taken >> lane & 1 == 1 { *new } else { *old };
    }
}
