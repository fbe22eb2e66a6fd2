//! Targets of jumps to addresses in registers, as constants relative to the program counter. For example, after
//! `s_getpc_b64 s[0:1]` at 0, `s_add_u32 s0, s0, 0x100` and `s_addc_u32 s1, s1, 0`, the pair holds the address 0x104
//! of the code, and `s_setpc_b64 s[0:1]` jumps there.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use warpbound_base::CodeAddr;
use warpbound_isa::amd::{GcnFlow, GcnInstr, GcnOpcode, GcnProgram, GcnValue, GcnView, scalar};
use warpbound_isa::instr::BranchTarget;
use warpbound_isa::{Reg, RegisterKind};
use warpbound_load::Kernel;

use crate::{AddressWord, Cell, Code, Expr, Meaning, WordHalf};

/// First register of the pair that holds the return address of a function (LLVM's calling convention).
pub(super) const LINK: u8 = 30;

/// First register of the pair that an instruction sets to the address of the next instruction.
pub(super) fn program_counter_dest(view: &GcnView) -> Option<u8> {
    match (view.opcode, view.operands.first()?.value) {
        (GcnOpcode::SGetpcB64 | GcnOpcode::SSwappcB64, GcnValue::Scalar(first)) => Some(first),
        _ => None,
    }
}

/// Write of a code address to a pair: two words that the loader chooses.
pub(super) fn program_counter(
    first: u8,
    offset: u32,
    address_words: &mut Vec<AddressWord>,
) -> Meaning {
    let mut word = |half| {
        let number = address_words.len() as u32;
        address_words.push(AddressWord {
            symbol: String::new(),
            addend: offset.into(),
            half,
        });
        Expr::Constant(Code::ADDRESS_BANK, Expr::Const(number * 4).into())
    };
    let words = [word(WordHalf::Low), word(WordHalf::High)];
    let cells = [first, first + 1].map(Cell::scalar);
    Meaning::Set(cells.into_iter().zip(words).collect())
}

/// Known word of a scalar register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum KnownWord {
    /// Constant.
    Constant(u32),
    /// Low word of the code address at an offset.
    Low(i64),
    /// High word of the code address at an offset.
    High(i64),
    /// Carry out of the sum of the low word of an address and a constant.
    Carry(i64, u32),
    /// Borrow out of the difference of the low word of an address and a constant.
    Borrow(i64, u32),
}

type KnownWords = BTreeMap<u8, KnownWord>;

/// Known targets of jumps through registers: addresses that the register holds on every path from the kernel's entry.
///
/// Calls are assumed to return to the next instruction, with registers unchanged that the callee does not write
/// (`calling-convention`).
#[derive(PartialEq, Eq, Debug, Default)]
pub(super) struct Jumps {
    /// Targets by index of the instruction.
    targets: BTreeMap<usize, CodeAddr>,
}

/// Targets found by one pass over the code.
struct Pass {
    jumps: Jumps,
    /// Whether the targets of all reachable jumps are known. Calls need no known target, because a callee begins at a
    /// function.
    is_complete: bool,
}

impl Jumps {
    /// Follows constants from the kernel's entry through branches, known jumps and calls.
    ///
    /// The targets are the greatest set that follows from itself. The first pass assumes that callees write nothing;
    /// each further pass assumes that they write what the targets of the pass before imply, until a pass confirms its
    /// assumption. If all jumps of a run are in such a set, the run cannot be the first to contradict it.
    pub(super) fn find(kernel: &Kernel, program: &GcnProgram) -> Jumps {
        let is_jump = |instr: &&GcnInstr| through_registers(instr).is_some();
        let count = program.instrs.iter().filter(is_jump).count();
        // Most kernels have no such jump, and need no passes.
        if count == 0 {
            return Jumps::default();
        }
        let mut pass = follow(kernel, program, None);
        // Each pass except the last loses at least one target, so this many passes suffice.
        for _ in 0..=count {
            let next = follow(kernel, program, Some(&pass.jumps));
            if next.jumps == pass.jumps {
                // An unknown jump may lead to any instruction.
                return match next.is_complete {
                    true => next.jumps,
                    false => Jumps::default(),
                };
            }
            pass = next;
        }
        Jumps::default()
    }

    /// Target of the jump through registers at an index, if it is known.
    pub(super) fn target(&self, at: usize) -> Option<CodeAddr> {
        self.targets.get(&at).copied()
    }
}

/// Targets that follow if callees write what `assumed` implies, or nothing without an assumption.
fn follow(kernel: &Kernel, program: &GcnProgram, assumed: Option<&Jumps>) -> Pass {
    let clobbers = assumed.map(|jumps| Clobbers {
        kernel,
        program,
        jumps,
    });
    let functions = kernel.functions.iter().map(|function| function.start);
    let functions: Vec<usize> = functions.filter_map(|a| program.index_of(a)).collect();
    // A sorted worklist visits code mostly in its order, which needs few repetitions.
    let mut open: BTreeSet<usize> = program.index_of(kernel.entry).into_iter().collect();
    let known = |at: usize| (at, KnownWords::new());
    let mut states: BTreeMap<usize, KnownWords> = open.iter().copied().map(known).collect();
    while let Some(at) = open.pop_first() {
        let (Some(instr), Some(before)) = (program.instrs.get(at), states.get(&at)) else {
            continue;
        };
        let mut words = before.clone();
        let flow = apply(instr, &mut words);
        let target = through_registers(instr).and_then(|pair| code_address(before, pair));
        let to = target.and_then(|addr| program.index_of(addr));
        let mut reached: Vec<(usize, KnownWords)> = Vec::new();
        if matches!(flow, GcnFlow::Call { .. }) {
            // An unknown callee may be any function. Every function begins with nothing known.
            let callees = to.map_or_else(|| functions.clone(), |callee| vec![callee]);
            reached.extend(callees.into_iter().map(known));
            if let Some(clobbers) = &clobbers {
                clobbers.apply(target, &mut words);
            }
        }
        let next = successors(program, at, flow, to);
        reached.extend(next.map(|next| (next, words.clone())));
        for (next, words) in reached {
            let changed = match states.get_mut(&next) {
                None => {
                    states.insert(next, words);
                    true
                }
                Some(known) => {
                    let count = known.len();
                    // At a join only words remain that both paths agree on, so states shrink and the loop ends.
                    known.retain(|register, word| words.get(register) == Some(word));
                    known.len() != count
                }
            };
            if changed {
                open.insert(next);
            }
        }
    }
    let mut pass = Pass {
        jumps: Jumps::default(),
        is_complete: true,
    };
    for (at, words) in states {
        let Some(instr) = program.instrs.get(at) else {
            continue;
        };
        let target = through_registers(instr).and_then(|pair| code_address(&words, pair));
        match (target, instr.effects().flow) {
            (Some(target), _) => {
                pass.jumps.targets.insert(at, target);
            }
            // A return of a function, which the calling convention covers.
            (None, GcnFlow::Indirect { from: LINK }) if !is_in_kernel(kernel, instr.addr) => {}
            (None, GcnFlow::Indirect { .. }) => pass.is_complete = false,
            _ => {}
        }
    }
    pass
}

/// Whether an address is in the kernel's own function.
pub(super) fn is_in_kernel(kernel: &Kernel, addr: CodeAddr) -> bool {
    let function = kernel.function_at(addr);
    function.is_none_or(|function| function.start == kernel.entry)
}

/// First register of the pair that holds the target of an instruction's jump.
fn through_registers(instr: &GcnInstr) -> Option<u8> {
    match instr.effects().flow {
        GcnFlow::Call { to: pair, .. } | GcnFlow::Indirect { from: pair } => Some(pair),
        _ => None,
    }
}

/// Instructions at which the wave may continue within the function. After a call this is its return point; after a
/// jump through registers, `known`.
fn successors(
    program: &GcnProgram,
    at: usize,
    flow: GcnFlow,
    known: Option<usize>,
) -> impl Iterator<Item = usize> + use<> {
    let to = |target: BranchTarget| match target {
        BranchTarget::Code(addr) => program.index_of(addr),
        _ => None,
    };
    let found = match flow {
        GcnFlow::Next | GcnFlow::Call { .. } => [Some(at + 1), None],
        GcnFlow::Jump(target) => [to(target), None],
        GcnFlow::Branch(_, target) => [Some(at + 1), to(target)],
        GcnFlow::Indirect { .. } => [known, None],
        GcnFlow::Exit | GcnFlow::Unsupported => [None, None],
    };
    found.into_iter().flatten()
}

/// Registers that callees write.
struct Clobbers<'a> {
    kernel: &'a Kernel,
    program: &'a GcnProgram,
    jumps: &'a Jumps,
}

impl Clobbers<'_> {
    /// Removes the words that a call of a function may write; all words if not all of its code is known.
    fn apply(&self, callee: Option<CodeAddr>, words: &mut KnownWords) {
        let mut visited = BTreeSet::new();
        let written = callee.and_then(|callee| self.written(callee, &mut visited));
        match written {
            Some(written) => words.retain(|register, _| !written.contains(register)),
            None => words.clear(),
        }
    }

    /// Scalar registers that a function and its callees write; `None` if it may leave the known code.
    fn written(&self, entry: CodeAddr, visited: &mut BTreeSet<CodeAddr>) -> Option<BTreeSet<u8>> {
        let mut written = BTreeSet::new();
        if !visited.insert(entry) {
            // The activation that is being visited already contributes these writes.
            return Some(written);
        }
        let mut seen = BTreeSet::new();
        let mut open = vec![self.program.index_of(entry)?];
        while let Some(at) = open.pop() {
            if !seen.insert(at) {
                continue;
            }
            let effects = self.program.instrs.get(at)?.effects();
            let scalars = effects.writes.iter();
            let scalars = scalars.filter(|register| register.kind == RegisterKind::Scalar);
            written.extend(scalars.map(|register| register.number));
            match effects.flow {
                // Other link registers do not follow the calling convention.
                GcnFlow::Call { link: LINK, .. } => {
                    let callee = self.jumps.target(at)?;
                    written.extend(self.written(callee, visited)?);
                    open.push(at + 1);
                }
                GcnFlow::Indirect { from: LINK } if self.jumps.target(at).is_none() => {}
                GcnFlow::Next
                | GcnFlow::Jump(_)
                | GcnFlow::Branch(..)
                | GcnFlow::Indirect { .. } => {
                    let known = self.jumps.target(at);
                    let known = known.and_then(|addr| self.program.index_of(addr));
                    let count = open.len();
                    open.extend(successors(self.program, at, effects.flow, known));
                    // No successor is known, so the function may continue anywhere.
                    if open.len() == count {
                        return None;
                    }
                }
                GcnFlow::Exit => {}
                GcnFlow::Call { .. } | GcnFlow::Unsupported => return None,
            }
        }
        // No code calls a kernel, so a call of its entry is not understood.
        (entry != self.kernel.entry).then_some(written)
    }
}

/// Code address in a pair of registers.
fn code_address(words: &KnownWords, pair: u8) -> Option<CodeAddr> {
    match (words.get(&pair)?, words.get(&(pair + 1))?) {
        // Both words must belong to one address: the high word is recorded with the whole offset.
        (KnownWord::Low(low), KnownWord::High(whole)) if *low as u32 == *whole as u32 => {
            u32::try_from(*whole).ok().map(CodeAddr)
        }
        _ => None,
    }
}

/// Applies an instruction; returns its control flow.
fn apply(instr: &GcnInstr, words: &mut KnownWords) -> GcnFlow {
    let effects = instr.effects();
    let results = instr.view().map(|view| results(instr, &view, words));
    // Results are computed from the words before the instruction, then its writes replace them.
    for Reg { kind, number } in effects.writes {
        if kind == RegisterKind::Scalar {
            words.remove(&number);
        }
    }
    words.extend(results.into_iter().flatten());
    effects.flow
}

/// Known words that an instruction writes.
fn results(instr: &GcnInstr, view: &GcnView, words: &KnownWords) -> Vec<(u8, KnownWord)> {
    let dest = match view.operands.first().map(|operand| operand.value) {
        Some(GcnValue::Scalar(first)) => first,
        _ => return Vec::new(),
    };
    let source = |index: usize, word: u8| match view.operands.get(index)?.value {
        GcnValue::Scalar(first) => words.get(&(first + word)).copied(),
        GcnValue::Int(value) if word == 0 => Some(KnownWord::Constant(value as u32)),
        GcnValue::Literal(value) if word == 0 => Some(KnownWord::Constant(value)),
        _ => None,
    };
    let mut found = Vec::new();
    match view.opcode {
        GcnOpcode::SGetpcB64 => {
            let next = i64::from(instr.addr.0) + i64::from(instr.bytes);
            found.push((dest, KnownWord::Low(next)));
            found.push((dest + 1, KnownWord::High(next)));
        }
        GcnOpcode::SMovB32 => found.extend(source(1, 0).map(|word| (dest, word))),
        GcnOpcode::SMovB64 => {
            for word in [0, 1] {
                found.extend(source(1, word).map(|known| (dest + word, known)));
            }
        }
        GcnOpcode::SAddU32 => {
            if let (Some(KnownWord::Low(from)), Some(KnownWord::Constant(added)))
            | (Some(KnownWord::Constant(added)), Some(KnownWord::Low(from))) =
                (source(1, 0), source(2, 0))
            {
                found.push((dest, KnownWord::Low(from + i64::from(added))));
                // The carry is kept with the sum that it belongs to, so that only the addition of the high word of
                // this sum can use it.
                found.push((scalar::SCC, KnownWord::Carry(from, added)));
            }
        }
        GcnOpcode::SSubU32 => {
            if let (Some(KnownWord::Low(from)), Some(KnownWord::Constant(taken))) =
                (source(1, 0), source(2, 0))
            {
                found.push((dest, KnownWord::Low(from - i64::from(taken))));
                found.push((scalar::SCC, KnownWord::Borrow(from, taken)));
            }
        }
        GcnOpcode::SAddcU32 => {
            if let (Some(KnownWord::High(from)), Some(KnownWord::Constant(added)))
            | (Some(KnownWord::Constant(added)), Some(KnownWord::High(from))) =
                (source(1, 0), source(2, 0))
                && let Some(KnownWord::Carry(low, low_added)) = words.get(&scalar::SCC)
                && *low == from
            {
                found.push((
                    dest,
                    KnownWord::High(from.wrapping_add(double(added, *low_added))),
                ));
            }
        }
        GcnOpcode::SSubbU32 => {
            if let (Some(KnownWord::High(from)), Some(KnownWord::Constant(taken))) =
                (source(1, 0), source(2, 0))
                && let Some(KnownWord::Borrow(low, low_taken)) = words.get(&scalar::SCC)
                && *low == from
            {
                found.push((
                    dest,
                    KnownWord::High(from.wrapping_sub(double(taken, *low_taken))),
                ));
            }
        }
        _ => {}
    }
    found
}

/// 64-bit number with these words.
fn double(high: u32, low: u32) -> i64 {
    i64::from(high as i32) << 32 | i64::from(low)
}
