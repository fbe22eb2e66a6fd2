//! State of a wave or a split under the issue rules: results and accesses that its next instructions wait for.

use std::collections::BTreeMap;

use warpbound_simt::Mask;

use super::spelled::{SpelledInstr, SpelledKind, SpelledRegister};
use super::{Rule, Violation};

/// A wave, or a split of one.
#[derive(Clone)]
pub(super) struct Split {
    /// Group and number of the launch wave.
    pub(super) wave: (u64, u32),
    pub(super) simd: u32,
    pub(super) lanes: Mask,
    /// Cycle of the last issue and the issued instruction.
    pub(super) last: Option<(u64, usize)>,
    /// First cycle when it may issue, for a reason other than its last instruction.
    pub(super) not_before: u64,
    /// Instruction that it has to issue next, if that is known.
    pub(super) next: Option<usize>,
    /// Cycle from which the result in a register may be read.
    pub(super) ready: BTreeMap<SpelledRegister, u64>,
    /// Accesses that vmcnt counts, in order of issue.
    pub(super) vector_accesses: Vec<Access>,
    /// Accesses that lgkmcnt counts, in order of issue.
    pub(super) other_accesses: Vec<Access>,
    /// Barriers at which it has arrived.
    pub(super) arrivals: u64,
}

/// An outstanding access.
#[derive(Clone, Copy)]
pub(super) struct Access {
    pub(super) issued: u64,
    pub(super) at: usize,
    pub(super) kind: SpelledKind,
    /// By how much it raises its counter.
    pub(super) count: u64,
    /// Cycle when it completes, as the events of its memory say, or the cycle of its issue if there are none.
    pub(super) done: u64,
}

/// Adds the accesses of a split that merges, in order of issue. Those from before the split are in both lists.
pub(super) fn unite(own: &mut Vec<Access>, other: Vec<Access>) {
    let key = |access: &Access| (access.issued, access.at);
    let new = other.into_iter();
    let new = new.filter(|access| !own.iter().any(|known| key(known) == key(access)));
    let new: Vec<Access> = new.collect();
    own.extend(new);
    own.sort_by_key(key);
}

/// Checks that the results which an instruction reads are there.
pub(super) fn check_registers(cycle: u64, split: &Split, instr: &SpelledInstr) -> Vec<Violation> {
    let reads = instr.reads.iter();
    let late = reads.filter_map(|register| {
        let ready = split.ready.get(register).filter(|ready| cycle < **ready)?;
        let violation = format!("{} reads {register:?} before {ready}", instr.name);
        Some((Rule::Registers, violation))
    });
    late.collect()
}

/// Checks that at most as many accesses are outstanding as s_waitcnt lets pass.
pub(super) fn check_waits(cycle: u64, split: &Split, instr: &SpelledInstr) -> Vec<Violation> {
    let mut violations = Vec::new();
    let is_open = |done: u64| done > cycle;
    if let Some(most) = instr.vm {
        // They complete in order: one that is done waits for those before it.
        let first = split.vector_accesses.iter().position(|a| is_open(a.done));
        let open = first.map_or(0, |first| split.vector_accesses.len() - first);
        if open as u64 > most {
            violations.push((Rule::Waits, format!("{open} vector accesses, not {most}")));
        }
    }
    if let Some(most) = instr.lgkm {
        let mut is_lds_open = false;
        let open: u64 = split
            .other_accesses
            .iter()
            .filter(|access| {
                let open = is_open(access.done);
                // Accesses to LDS complete in order.
                if access.kind == SpelledKind::Lds {
                    is_lds_open |= open;
                    return is_lds_open;
                }
                open
            })
            .map(|access| access.count)
            .sum();
        if open > most {
            violations.push((Rule::Waits, format!("{open} other accesses, not {most}")));
        }
    }
    violations
}
