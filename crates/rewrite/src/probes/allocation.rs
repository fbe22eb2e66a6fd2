//! Choice of registers, predicates and scoreboards for probes.
//!
//! Two kinds of registers are used. Counters keep theirs from the entry to the exits, so no instruction of the
//! program may name them. Temporaries need only be free at their probe. For example, R9 is a temporary of a probe if
//! its value is not read after the probe and no load in flight writes it.

use std::collections::{BTreeMap, BTreeSet};

use warpbound_base::Diagnostic;
use warpbound_ir::{Cell, OpIndex};
use warpbound_isa::nvidia::SassProgram;

use super::{CounterRange, Increment, ProbeRequest, ProbeStyle, ProbedCode, ProbedQuantity};
use crate::register_set::RegisterSet;

/// Place of a counter while a thread runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CounterHome {
    /// General register of the thread.
    Register(u8),
    /// Two general registers: this one and the next.
    Pair(u8),
    /// The variable.
    Memory,
}

/// Inputs for the choice of registers.
pub(super) struct AllocationInputs<'a> {
    pub(super) probed: &'a ProbedCode<'a>,
    pub(super) request: &'a ProbeRequest,
    pub(super) points: &'a BTreeMap<OpIndex, &'a BTreeSet<Increment>>,
    pub(super) exits: &'a [OpIndex],
}

/// Registers that belong to the probes from the entry of the kernel to its exits. No instruction of the program names
/// them.
pub(super) struct Allocation {
    /// By counter: its place.
    pub(super) homes: Vec<CounterHome>,
    /// Register with the mask of the lower lanes.
    pub(super) lanes_below: Option<u8>,
    /// Registers with the address of the warp's shared memory and with the number 1.
    pub(super) shared: Option<[u8; 2]>,
    /// Lower register of the pair with the address of the variable.
    pub(super) address: Option<u8>,
    /// Lower register of the pair with the number that is added to the variable.
    pub(super) value: Option<u8>,
    /// Number that the value register holds from beginning to end; `None` if probes write it.
    pub(super) constant_value: Option<u32>,
    /// Upper half of the number in `constant_value`.
    pub(super) constant_high: u32,
    /// By point: two registers that the probe may write.
    pub(super) temporaries: BTreeMap<OpIndex, [u8; 2]>,
    /// By point: a predicate that the probe may write. A probe without one computes with masks.
    pub(super) predicates: BTreeMap<OpIndex, u8>,
    /// By exit: registers that the flush may write.
    pub(super) flush_pairs: BTreeMap<OpIndex, FlushPairs>,
    /// Scoreboard that the probes set.
    pub(super) scoreboard: u8,
    /// Whether no instruction of the program sets that scoreboard.
    pub(super) is_scoreboard_own: bool,
    /// Highest register of the probes.
    greatest: Option<u8>,
}

/// Pairs of registers that a flush may write.
pub(super) struct FlushPairs {
    /// Pair for the address of the variable.
    pub(super) address: u8,
    /// Pairs for counters that have one register each.
    pub(super) values: Vec<u8>,
    /// Whether operations in flight may use the pairs, so that the flush must wait for all scoreboards.
    pub(super) waits: bool,
}

/// Maximum number of pairs for values in a flush: one for each scoreboard.
const FLUSH_PAIRS: usize = 6;

impl Allocation {
    /// Chooses registers.
    ///
    /// # Errors
    ///
    /// A thread has no registers left.
    pub(super) fn choose(inputs: &AllocationInputs<'_>) -> Result<Allocation, Diagnostic> {
        let AllocationInputs {
            probed,
            request,
            points,
            exits,
        } = inputs;
        let (scoreboard, is_scoreboard_own) = choose_scoreboard(probed.program);
        let mut allocation = Allocation {
            homes: vec![CounterHome::Memory; request.counters],
            lanes_below: None,
            shared: None,
            address: None,
            value: None,
            constant_value: None,
            constant_high: 0,
            temporaries: BTreeMap::new(),
            predicates: BTreeMap::new(),
            flush_pairs: BTreeMap::new(),
            scoreboard,
            is_scoreboard_own,
            greatest: None,
        };
        let mut unused = Unused::new(probed);
        let issues = |increments: &BTreeSet<Increment>| {
            increments
                .iter()
                .any(|i| i.quantity == ProbedQuantity::Issues)
        };
        let has_leaders =
            request.style == ProbeStyle::Paper || points.values().any(|of| issues(of));
        if request.style == ProbeStyle::PaperLocal {
            let any = u16::from(u8::MAX);
            allocation.shared = Some([unused.one(any)?, unused.one(any)?]);
        } else if has_leaders {
            allocation.lanes_below = Some(unused.one(u16::from(u8::MAX))?);
        }
        // First, because `constant_value` depends on the predicates.
        allocation.choose_predicates(probed, points);
        allocation.place_counters(inputs, &mut unused)?;
        let in_memory =
            |counter: usize| allocation.homes.get(counter) == Some(&CounterHome::Memory);
        let in_memory: Vec<&Increment> = points
            .values()
            .flat_map(|of| of.iter())
            .filter(|increment| in_memory(increment.counter))
            .collect();
        if !in_memory.is_empty() {
            allocation.address = Some(unused.pair()?);
            allocation.value = Some(unused.pair()?);
            // One number for all probes can stay in the register. Without a predicate, a probe overwrites it with a
            // masked number.
            let weights: BTreeSet<u32> = in_memory.iter().map(|i| i.weight).collect();
            let guarded = points
                .keys()
                .all(|at| allocation.predicates.contains_key(at));
            let is_constant = weights.len() == 1 && guarded && !request.style.by_leader();
            allocation.constant_value = weights.first().copied().filter(|_| is_constant);
            let constant = allocation.constant_value;
            allocation.constant_high = constant.map_or(0, |weight| request.high(weight));
        }
        allocation.choose_temporaries(probed, points, &mut unused)?;
        allocation.choose_flush_pairs(probed, exits, &mut unused)?;
        allocation.greatest = unused.greatest;
        Ok(allocation)
    }

    /// Registers of a thread with the probes, for a kernel with `before` registers without them.
    pub(super) fn registers(&self, before: u16) -> u16 {
        let own = self.greatest.map_or(0, |greatest| u16::from(greatest) + 1);
        before.max(own)
    }

    /// Register of a counter, or the lower register of its pair.
    pub(super) fn register_of(&self, counter: usize) -> Option<u8> {
        match self.homes.get(counter) {
            Some(CounterHome::Register(register) | CounterHome::Pair(register)) => Some(*register),
            _ => None,
        }
    }

    fn choose_predicates(
        &mut self,
        probed: &ProbedCode<'_>,
        points: &BTreeMap<OpIndex, &BTreeSet<Increment>>,
    ) {
        for &at in points.keys() {
            let is_free = |&pred: &u8| probed.liveness.is_free(at, Cell::pred(pred));
            let named = named_in_block(probed, at);
            // A predicate that the block does not name is free up to the end of the block, where more gaps can hold
            // the probe.
            let unnamed = |&pred: &u8| is_free(&pred) && !named.has_predicate(pred);
            let found = (0..7).find(unnamed).or_else(|| (0..7).find(is_free));
            if let Some(pred) = found {
                self.predicates.insert(at, pred);
            }
        }
    }

    /// Places counters in registers as long as the limit allows, the counters with the most points first.
    fn place_counters(
        &mut self,
        inputs: &AllocationInputs<'_>,
        unused: &mut Unused,
    ) -> Result<(), Diagnostic> {
        if inputs.request.style != ProbeStyle::Registers {
            return Ok(());
        }
        let limit = inputs.request.most_registers.max(inputs.probed.registers);
        // A pair needs the carry in the condition code at each of its probes.
        if inputs.request.range == CounterRange::Double && !carries_everywhere(inputs) {
            return Ok(());
        }
        let mut counters: Vec<usize> = (0..self.homes.len()).collect();
        let weight = |counter: usize| {
            let all = inputs.points.values().flat_map(|of| of.iter());
            all.filter(|increment| increment.counter == counter).count()
        };
        let counts: Vec<usize> = counters.iter().map(|&counter| weight(counter)).collect();
        // A counter that no probe increases needs no register.
        counters.retain(|&counter| counts.get(counter).is_some_and(|&count| count > 0));
        counters.sort_by_key(|&counter| std::cmp::Reverse(counts.get(counter).copied()));
        // If registers do not suffice, six are left for counters in memory: the pairs of address and value, and two
        // temporaries.
        let tight = counters.len() > unused.left(limit);
        let limit = if tight {
            limit.saturating_sub(6)
        } else {
            limit
        };
        for counter in counters {
            let home = match inputs.request.range {
                CounterRange::Double => unused.pair_below(limit).map(CounterHome::Pair),
                _ if unused.left(limit) == 0 => None,
                _ => Some(CounterHome::Register(unused.one(limit)?)),
            };
            let Some(home) = home else { break };
            if let Some(slot) = self.homes.get_mut(counter) {
                *slot = home;
            }
        }
        Ok(())
    }

    fn choose_temporaries(
        &mut self,
        probed: &ProbedCode<'_>,
        points: &BTreeMap<OpIndex, &BTreeSet<Increment>>,
        unused: &mut Unused,
    ) -> Result<(), Diagnostic> {
        let mut own: Vec<u8> = Vec::new();
        for &at in points.keys() {
            let top = probed.registers.min(255) as u8;
            let is_free = |&register: &u8| {
                // Registers that the program does not name may be taken by a later choice.
                probed.liveness.used().has_general(register)
                    && !unused.is_taken(register)
                    && probed.liveness.is_free(at, Cell::gpr(register))
            };
            let named = named_in_block(probed, at);
            let mut found: Vec<u8> = (0..top).filter(is_free).collect();
            // Registers that the block does not name are free up to its end.
            found.sort_by_key(|&register| named.has_general(register));
            found.truncate(2);
            for index in 0..2 - found.len() {
                // All points share these two, because no probe needs their values after its end.
                if own.len() <= index {
                    own.push(unused.one(u16::from(u8::MAX))?);
                }
                found.extend(own.get(index));
            }
            if let [first, second] = found[..] {
                self.temporaries.insert(at, [first, second]);
            }
        }
        Ok(())
    }

    /// Chooses pairs for the flush. At an exit no value of the program is needed any more, so all its registers are
    /// free except the registers of operations that no scoreboard protects.
    fn choose_flush_pairs(
        &mut self,
        probed: &ProbedCode<'_>,
        exits: &[OpIndex],
        unused: &mut Unused,
    ) -> Result<(), Diagnostic> {
        let count =
            |of: fn(&CounterHome) -> bool| self.homes.iter().filter(|home| of(home)).count();
        let single = count(|home| matches!(home, CounterHome::Register(_)));
        if single + count(|home| matches!(home, CounterHome::Pair(_))) == 0 {
            return Ok(());
        }
        let wanted = 1 + single.min(FLUSH_PAIRS);
        let mut own: Vec<u8> = Vec::new();
        for &at in exits {
            let unprotected = probed.liveness.unprotected_before(at);
            let in_flight = probed.liveness.in_flight_before(at);
            let is_free = |register: u8| {
                probed.liveness.used().has_general(register)
                    && register != 1
                    && !unused.is_taken(register)
                    && !unprotected.has_general(register)
            };
            let is_idle =
                |&pair: &u8| !in_flight.has_general(pair) && !in_flight.has_general(pair + 1);
            let top = probed.registers.min(254) as u8;
            let pairs = (0..top / 2).map(|half| 2 * half);
            let free = pairs.filter(|&pair| is_free(pair) && is_free(pair + 1));
            // Idle pairs need no wait, so they are taken first.
            let (idle, busy): (Vec<u8>, Vec<u8>) = free.partition(is_idle);
            // One pair for the address and one for a value are enough to go on without a wait.
            let waits = idle.len() < wanted.min(2);
            let mut found = idle;
            if waits {
                found.extend(busy);
            }
            found.truncate(wanted);
            for index in 0..wanted.min(2).saturating_sub(found.len()) {
                if own.len() <= index {
                    own.push(unused.pair()?);
                }
                found.extend(own.get(index));
            }
            if let [address, values @ ..] = found.as_slice() {
                let pairs = FlushPairs {
                    address: *address,
                    values: values.to_vec(),
                    waits,
                };
                self.flush_pairs.insert(at, pairs);
            }
        }
        Ok(())
    }
}

/// Registers that the instructions of the block name, from `at` on.
fn named_in_block(probed: &ProbedCode<'_>, at: OpIndex) -> RegisterSet {
    let blocks = &probed.cfg.space.blocks;
    let Some(block) = blocks.starting_at(at).map(|index| blocks.get(index)) else {
        // No block begins here, so every register counts as named.
        return RegisterSet::ALL;
    };
    let ops = block.ops().filter_map(|at| probed.code.get(at));
    let cells = ops.flat_map(|op| {
        let reads = op.reads.iter().copied().chain(op.condition.cells());
        reads.chain(op.writes.iter().copied())
    });
    cells.collect()
}

/// Whether the condition code is free at every probe.
fn carries_everywhere(inputs: &AllocationInputs<'_>) -> bool {
    let mut points = inputs.points.keys();
    points.all(|&at| is_carry_free(inputs.probed, at))
}

/// Whether a probe before `at` may write the condition code.
pub(super) fn is_carry_free(probed: &ProbedCode<'_>, at: OpIndex) -> bool {
    let liveness = probed.liveness;
    !liveness.live_before(at).contains(Cell::CC)
        && !liveness.in_flight_before(at).contains(Cell::CC)
}

/// Returns a scoreboard that no instruction of the program sets, if there is one, or else the last.
pub(super) fn choose_scoreboard(program: &SassProgram) -> (u8, bool) {
    let set = program.instrs.iter().fold(0_u8, |set, instr| {
        let named = [instr.control.write_sb, instr.control.read_sb];
        let named = named.into_iter().flatten().filter(|&number| number < 6);
        named.fold(set, |set, number| set | 1 << number)
    });
    match (0..6).rev().find(|number| set >> number & 1 == 0) {
        Some(own) => (own, true),
        None => (5, false),
    }
}

/// Registers that no instruction of the program names.
pub(super) struct Unused {
    used: RegisterSet,
    taken: RegisterSet,
    greatest: Option<u8>,
}

impl Unused {
    pub(super) fn new(probed: &ProbedCode<'_>) -> Unused {
        let mut used = probed.liveness.used();
        // R1 is the stack pointer, so it is in use even if no instruction names it.
        used.insert(Cell::gpr(1));
        Unused {
            used,
            taken: RegisterSet::default(),
            greatest: None,
        }
    }

    /// Returns the highest register that was taken.
    pub(super) fn greatest(&self) -> Option<u8> {
        self.greatest
    }

    fn is_taken(&self, register: u8) -> bool {
        self.taken.has_general(register)
    }

    fn is_unused(&self, register: u8) -> bool {
        !self.used.has_general(register) && !self.taken.has_general(register)
    }

    /// Number of registers left below a limit.
    fn left(&self, limit: u16) -> usize {
        let top = limit.min(255) as u8;
        (0..top)
            .filter(|&register| self.is_unused(register))
            .count()
    }

    fn take(&mut self, register: u8) {
        self.taken.insert(Cell::gpr(register));
        self.greatest = self.greatest.max(Some(register));
    }

    pub(super) fn one(&mut self, limit: u16) -> Result<u8, Diagnostic> {
        let top = limit.min(255) as u8;
        let found = (0..top).find(|&register| self.is_unused(register));
        let register = found.ok_or_else(none_left)?;
        self.take(register);
        Ok(register)
    }

    /// Takes two consecutive registers, the first with an even number.
    pub(super) fn pair(&mut self) -> Result<u8, Diagnostic> {
        self.pair_below(254).ok_or_else(none_left)
    }

    /// Takes two consecutive registers below a limit, the first with an even number.
    fn pair_below(&mut self, limit: u16) -> Option<u8> {
        let pairs = (0..limit.min(254) as u8 / 2).map(|half| 2 * half);
        let mut free = pairs.filter(|&pair| self.is_unused(pair) && self.is_unused(pair + 1));
        let pair = free.next()?;
        self.take(pair);
        self.take(pair + 1);
        Some(pair)
    }
}

fn none_left() -> Diagnostic {
    Diagnostic::new("all 255 registers are in use, so that probes have none")
}
