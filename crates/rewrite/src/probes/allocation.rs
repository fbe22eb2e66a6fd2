//! Registers, predicates and scoreboards of probes.

use std::collections::{BTreeMap, BTreeSet};

use warpbound_base::Diagnostic;
use warpbound_ir::{Cell, OpIndex};
use warpbound_isa::nvidia::SassProgram;

use super::{Increment, ProbeRequest, ProbeStyle, ProbedCode, ProbedQuantity};
use crate::register_set::RegisterSet;

/// Place of a counter while a thread runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CounterHome {
    /// General register of the thread.
    Register(u8),
    /// The variable.
    Memory,
}

/// Inputs of the choice of registers.
pub(super) struct AllocationInputs<'a> {
    pub(super) probed: &'a ProbedCode<'a>,
    pub(super) request: &'a ProbeRequest,
    pub(super) points: &'a BTreeMap<OpIndex, &'a BTreeSet<Increment>>,
    pub(super) exits: &'a [OpIndex],
}

/// Registers that belong to the probes, from the entry of the kernel to its exits. No instruction of the program names
/// them.
pub(super) struct Allocation {
    /// By counter: its place.
    pub(super) homes: Vec<CounterHome>,
    /// Mask of the lanes below.
    pub(super) lanes_below: Option<u8>,
    /// Pair with the address of the variable.
    pub(super) address: Option<u8>,
    /// Pair with the number that is added to the variable; the upper register holds zero.
    pub(super) value: Option<u8>,
    /// Number that the value register holds from the beginning to the end; `None` if probes write it.
    pub(super) constant_value: Option<u32>,
    /// By point: two registers that the probe may write.
    pub(super) temporaries: BTreeMap<OpIndex, [u8; 2]>,
    /// By point: a predicate that the probe may write; without one it computes with masks.
    pub(super) predicates: BTreeMap<OpIndex, u8>,
    /// By exit: pairs that the flush may write, the first for the address.
    pub(super) flush_pairs: BTreeMap<OpIndex, Vec<u8>>,
    /// Scoreboard of the probes.
    pub(super) scoreboard: u8,
    /// Whether no instruction of the program sets that scoreboard.
    pub(super) is_scoreboard_own: bool,
    /// Greatest register of the probes.
    greatest: Option<u8>,
}

/// Pairs for values of a flush at most, each with a scoreboard.
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
            address: None,
            value: None,
            constant_value: None,
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
        if has_leaders {
            allocation.lanes_below = Some(unused.one(u16::from(u8::MAX))?);
        }
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
            let weights: BTreeSet<u32> = in_memory.iter().map(|i| i.weight).collect();
            let guarded = points
                .keys()
                .all(|at| allocation.predicates.contains_key(at));
            let is_constant = weights.len() == 1 && guarded && request.style != ProbeStyle::Paper;
            allocation.constant_value = weights.first().copied().filter(|_| is_constant);
        }
        allocation.choose_temporaries(probed, points, &mut unused)?;
        allocation.choose_flush_pairs(probed, exits, &mut unused)?;
        allocation.greatest = unused.greatest;
        Ok(allocation)
    }

    /// Registers of a thread with the probes, of a kernel that has `before` without them.
    pub(super) fn registers(&self, before: u16) -> u16 {
        let own = self.greatest.map_or(0, |greatest| u16::from(greatest) + 1);
        before.max(own)
    }

    /// Whether a counter is in a register.
    pub(super) fn register_of(&self, counter: usize) -> Option<u8> {
        match self.homes.get(counter) {
            Some(CounterHome::Register(register)) => Some(*register),
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
            if let Some(pred) = (0..7).find(is_free) {
                self.predicates.insert(at, pred);
            }
        }
    }

    /// Gives counters registers, those at the most points first, as long as the limit allows.
    fn place_counters(
        &mut self,
        inputs: &AllocationInputs<'_>,
        unused: &mut Unused,
    ) -> Result<(), Diagnostic> {
        if inputs.request.style != ProbeStyle::Registers {
            return Ok(());
        }
        let limit = inputs.request.most_registers.max(inputs.probed.registers);
        let mut counters: Vec<usize> = (0..self.homes.len()).collect();
        let weight = |counter: usize| {
            let all = inputs.points.values().flat_map(|of| of.iter());
            all.filter(|increment| increment.counter == counter).count()
        };
        let counts: Vec<usize> = counters.iter().map(|&counter| weight(counter)).collect();
        counters.retain(|&counter| counts.get(counter).is_some_and(|&count| count > 0));
        counters.sort_by_key(|&counter| std::cmp::Reverse(counts.get(counter).copied()));
        // Two pairs and a temporary are left for the counters in memory.
        let tight = counters.len() > unused.left(limit);
        let limit = if tight {
            limit.saturating_sub(6)
        } else {
            limit
        };
        for counter in counters {
            if unused.left(limit) == 0 {
                break;
            }
            if let Some(home) = self.homes.get_mut(counter) {
                *home = CounterHome::Register(unused.one(limit)?);
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
                // Registers that the program does not name may become those of a later choice.
                probed.liveness.used().has_general(register)
                    && !unused.is_taken(register)
                    && probed.liveness.is_free(at, Cell::gpr(register))
            };
            let mut found: Vec<u8> = (0..top).filter(is_free).take(2).collect();
            for index in 0..2 - found.len() {
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

    /// Chooses pairs for the flush: at an exit all registers of the program are free, but for those of operations that no
    /// scoreboard protects.
    fn choose_flush_pairs(
        &mut self,
        probed: &ProbedCode<'_>,
        exits: &[OpIndex],
        unused: &mut Unused,
    ) -> Result<(), Diagnostic> {
        let in_registers = self
            .homes
            .iter()
            .filter(|&&home| home != CounterHome::Memory);
        let wanted = 1 + in_registers.count().min(FLUSH_PAIRS);
        if wanted == 1 {
            return Ok(());
        }
        let mut own: Vec<u8> = Vec::new();
        for &at in exits {
            let unprotected = probed.liveness.unprotected_before(at);
            let is_free = |register: u8| {
                probed.liveness.used().has_general(register)
                    && register != 1
                    && !unused.is_taken(register)
                    && !unprotected.has_general(register)
            };
            let top = probed.registers.min(254) as u8;
            let pairs = (0..top / 2).map(|half| 2 * half);
            let mut found: Vec<u8> = pairs
                .filter(|&pair| is_free(pair) && is_free(pair + 1))
                .take(wanted)
                .collect();
            for index in 0..2_usize.saturating_sub(found.len()) {
                if own.len() <= index {
                    own.push(unused.pair()?);
                }
                found.extend(own.get(index));
            }
            self.flush_pairs.insert(at, found);
        }
        Ok(())
    }
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
        used.insert(Cell::gpr(1));
        Unused {
            used,
            taken: RegisterSet::default(),
            greatest: None,
        }
    }

    /// The greatest register that was taken.
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

    /// Two consecutive registers, the first of even number.
    pub(super) fn pair(&mut self) -> Result<u8, Diagnostic> {
        let pairs = (0..127).map(|half| 2 * half);
        let mut free = pairs.filter(|&pair| self.is_unused(pair) && self.is_unused(pair + 1));
        let pair = free.next().ok_or_else(none_left)?;
        self.take(pair);
        self.take(pair + 1);
        Ok(pair)
    }
}

fn none_left() -> Diagnostic {
    Diagnostic::new("all 255 registers are in use, so that probes have none")
}
