//! Statistics of an execution: issue counts by class, opcode, branch, memory access and source line.

use std::collections::BTreeMap;

use warpbound_base::Named;
use warpbound_ir::{ControlEffect, Meaning, Op, OpIndex, Width};
use warpbound_isa::MemoryEffect;
use warpbound_isa::nvidia::InstrClass;
use warpbound_report::functional::{
    BranchCount, ClassCount, IssueCounts, LineCount, MemoryCount, MnemonicCount,
};
use warpbound_simulate::functional::Counts;

use warpbound_query::Prepared;

/// Counts of an execution by operation, and their aggregates.
pub(crate) struct InstructionStatistics<'a> {
    prepared: &'a Prepared<'a>,
    counts: &'a Counts,
}

impl<'a> InstructionStatistics<'a> {
    pub(crate) fn new(prepared: &'a Prepared<'a>, counts: &'a Counts) -> InstructionStatistics<'a> {
        InstructionStatistics { prepared, counts }
    }

    /// Returns the issue counts of an operation.
    fn issued_at(&self, at: usize) -> IssueCounts {
        let count = |counts: &[u64]| counts.get(at).copied().unwrap_or(0);
        IssueCounts {
            warp_instructions: count(&self.counts.issues),
            thread_instructions: count(&self.counts.active),
            executed_thread_instructions: count(&self.counts.executed),
        }
    }

    fn diverged_at(&self, at: usize) -> u64 {
        self.counts.divergences.get(at).copied().unwrap_or(0)
    }

    /// Iterates over the issued operations in order of address.
    fn issued_operations(&self) -> impl Iterator<Item = (usize, &'a Op, IssueCounts)> {
        let ops = self.prepared.code.ops.iter().enumerate();
        ops.map(|(at, op)| (at, op, self.issued_at(at)))
            .filter(|(_, _, issued)| issued.warp_instructions > 0)
    }

    fn mnemonic(&self, at: usize) -> &'static str {
        self.prepared.program.mnemonic(at).unwrap_or("?")
    }

    fn source(&self, at: usize) -> Option<String> {
        self.prepared.source(self.prepared.addr(OpIndex(at as u32)))
    }

    /// Returns the totals over all operations.
    pub(crate) fn total(&self) -> IssueCounts {
        let mut total = IssueCounts::default();
        for (_, _, issued) in self.issued_operations() {
            total += issued;
        }
        total
    }

    /// Returns the counts by class, most frequent first.
    pub(crate) fn classes(&self) -> Vec<ClassCount> {
        let groups = self.group_by(|at| class_of(self.prepared, at));
        let count = |(class, (issued, _))| ClassCount { class, issued };
        groups.into_iter().map(count).collect()
    }

    /// Returns the counts by opcode, most frequent first.
    pub(crate) fn mnemonics(&self) -> Vec<MnemonicCount> {
        let groups = self.group_by(|at| self.mnemonic(at));
        let count = |(mnemonic, (issued, _)): (&str, _)| MnemonicCount {
            mnemonic: mnemonic.to_owned(),
            issued,
        };
        groups.into_iter().map(count).collect()
    }

    /// Returns the counts by source line; empty if no instruction has one.
    pub(crate) fn lines(&self) -> Vec<LineCount> {
        let groups = self.group_by(|at| self.source(at));
        // Without a line table, the only row would repeat the total.
        if groups.iter().all(|(source, _)| source.is_none()) {
            return Vec::new();
        }
        let count = |(source, (issued, divergences))| LineCount {
            source,
            issued,
            divergences,
        };
        groups.into_iter().map(count).collect()
    }

    /// Groups operations by key, most frequent first; each group has its issue counts and divergences.
    fn group_by<K: Ord>(&self, key: impl Fn(usize) -> K) -> Vec<(K, (IssueCounts, u64))> {
        let mut groups: BTreeMap<K, (IssueCounts, u64)> = BTreeMap::new();
        for (at, _, issued) in self.issued_operations() {
            let (total, divergences) = groups.entry(key(at)).or_default();
            *total += issued;
            *divergences += self.diverged_at(at);
        }
        let mut groups: Vec<(K, (IssueCounts, u64))> = groups.into_iter().collect();
        // The sort is stable: equally frequent groups stay in the order of their keys.
        groups.sort_by_key(|(_, (issued, _))| std::cmp::Reverse(issued.warp_instructions));
        groups
    }

    /// Returns the counts of instructions at which lanes can diverge, in order of address.
    pub(crate) fn branches(&self) -> Vec<BranchCount> {
        self.issued_operations()
            .filter(|(at, ..)| can_part(self.prepared, OpIndex(*at as u32)))
            .map(|(at, op, issued)| BranchCount {
                address: op.addr.to_string(),
                mnemonic: self.mnemonic(at).to_owned(),
                source: self.source(at),
                issued,
                divergences: self.diverged_at(at),
            })
            .collect()
    }

    /// Returns the accesses by memory space and kind.
    pub(crate) fn memory(&self) -> Vec<MemoryCount> {
        let mut groups: BTreeMap<(&str, &str), MemoryCount> = BTreeMap::new();
        for (at, op, issued) in self.issued_operations() {
            let access = access_at(self.prepared, at, op);
            let Some((access, bytes)) = access else {
                continue;
            };
            let key = (access.space.name(), access_name(access));
            let count = groups.entry(key).or_insert(MemoryCount {
                space: key.0,
                access: key.1,
                warp_accesses: 0,
                thread_accesses: 0,
                bytes: 0,
            });
            // Active lanes whose guard does not hold access no memory.
            let threads = issued.executed_thread_instructions;
            count.warp_accesses += issued.warp_instructions;
            count.thread_accesses += threads;
            count.bytes += threads.saturating_mul(bytes.into());
        }
        groups.into_values().collect()
    }
}

/// Returns the class of an operation in statistics; loads, stores and atomics are divided by space.
pub fn class_of(prepared: &Prepared<'_>, at: usize) -> String {
    let program = &prepared.program;
    let name = program.class_name(at);
    let name = name.unwrap_or(InstrClass::Other.name());
    match (program.class(at), program.access(at)) {
        (Some(InstrClass::LoadStore | InstrClass::Atomic), Some((access, _))) => {
            format!("{name} {}", access.space.name())
        }
        _ => name.to_owned(),
    }
}

/// Returns the memory effect of an operation and the bytes that each lane accesses.
pub(crate) fn access_at(
    prepared: &Prepared<'_>,
    at: usize,
    op: &Op,
) -> Option<(MemoryEffect, u32)> {
    // Instruction sets without classes have no table of access sizes either, so their meanings decide.
    match prepared.program.class(at) {
        Some(_) => prepared.program.access(at),
        None => access_of(op),
    }
}

/// Returns the memory effect of an operation by its meaning, and the bytes that each lane accesses, or the warp if it
/// is executed once; `None` if memory is not addressed in bytes (mini-SIMT).
fn access_of(op: &Op) -> Option<(MemoryEffect, u32)> {
    let (space, width, words, [loads, stores]) = match op.meaning.as_ref()? {
        Meaning::Load {
            dests,
            width,
            space,
            ..
        } => (*space, *width, dests.len(), [true, false]),
        Meaning::Store {
            values,
            width,
            space,
            ..
        } => (*space, *width, values.len(), [false, true]),
        // An atomic operation counts as a load and a store, and has a size of its own.
        Meaning::Atomic { kind, space, .. } => {
            (*space, Width::Words, kind.size() / 4, [true, true])
        }
        _ => return None,
    };
    let bytes = match width {
        Width::U8 | Width::S8 => 1,
        Width::U16 | Width::S16 => 2,
        Width::Words => 4 * u32::try_from(words).ok()?,
    };
    let access = MemoryEffect {
        space,
        loads,
        stores,
    };
    Some((access, bytes))
}

fn access_name(access: MemoryEffect) -> &'static str {
    match (access.loads, access.stores) {
        (_, false) => "load",
        (false, true) => "store",
        (true, true) => "atomic",
    }
}

/// Whether the lanes of a warp may diverge at an operation. For example, at a guarded branch, but not at an unguarded
/// one.
pub fn can_part(prepared: &Prepared<'_>, at: OpIndex) -> bool {
    let Some(op) = prepared.code.get(at) else {
        return false;
    };
    match op.control {
        ControlEffect::Next
        | ControlEffect::Push(..)
        | ControlEffect::Reconverge
        | ControlEffect::SetActive(_)
        | ControlEffect::OpenBarrier(..)
        | ControlEffect::JoinBarrier(_)
        | ControlEffect::BreakBarrier(_)
        | ControlEffect::SaveBarrier(..)
        | ControlEffect::WriteBarrier { .. }
        | ControlEffect::Release
        | ControlEffect::End => false,
        // Lanes may have different targets, even without a guard.
        ControlEffect::Indirect { .. }
        | ControlEffect::LinkedIndirect { .. }
        | ControlEffect::Return { .. }
        | ControlEffect::Collective(_)
        | ControlEffect::FreeJump(_) => true,
        ControlEffect::Jump(_)
        | ControlEffect::LinkedCall(_)
        | ControlEffect::Branch { .. }
        | ControlEffect::Call(_)
        | ControlEffect::Pop(_)
        | ControlEffect::Exit
        | ControlEffect::Unsupported(_) => !op.condition.is_always(),
    }
}
