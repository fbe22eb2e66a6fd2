//! Inputs of the time of a GCN3 kernel: limits of its accesses and of its scalar loads.
//!
//! For example, a `ds_read_b32` of 64 lanes without a known address has at most 62 conflicts: in each half of the
//! wave, all 32 lanes may have one bank.

use std::collections::BTreeMap;

use warpbound_analyse::access::{AccessClass, AccessCounts, AccessPattern, AccessShape};
use warpbound_base::Diagnostic;
use warpbound_cycles::{AccessDirection, AccessLimits, ScalarLimits, SpaceLimits, wave_refusal};
use warpbound_ir::{Meaning, OpIndex, Width};
use warpbound_isa::instr::MemorySpace;
use warpbound_timing::{IssueKind, L1Use, WaveFacts};

use super::CycleInputs;
use super::access_knowledge::AccessKnowledge;
use super::inputs::direction;
use warpbound_query::prepared::Prepared;

/// Lanes whose bank conflicts are resolved together (`memory-units`). The first pass of such a group is no conflict.
const LDS_GROUP: u32 = 32;

/// Bytes of a line of the scalar cache (`memory-units`).
const MEMORY_LINE: u32 = 64;

impl CycleInputs {
    /// Adds the accesses of an instruction of a wave.
    pub(super) fn add_wave_op(
        &mut self,
        at: OpIndex,
        prepared: &Prepared<'_>,
        classes: &BTreeMap<OpIndex, AccessClass>,
        knowledge: &AccessKnowledge,
    ) -> Result<(), Diagnostic> {
        let Some(facts) = self.wave_facts.get(at.index()) else {
            return Ok(());
        };
        let meaning = prepared.code.get(at).and_then(|op| op.meaning.as_ref());
        match facts.kind {
            IssueKind::VectorMemory | IssueKind::Lds => {
                let lanes = knowledge.lanes;
                // An access without a class is not refused; it has the worst one for its width.
                let worst = meaning.and_then(|meaning| worst_class(meaning, facts, lanes));
                let class = classes.get(&at).or(worst.as_ref());
                let direction = meaning.and_then(direction);
                if let Some((class, direction)) = class.zip(direction) {
                    let limits = knowledge.limits(class, direction, L1Use::Always);
                    let mut spaces = limits.spaces.iter();
                    self.reaches_dram |= spaces.any(|space| space.may_miss || space.may_evict);
                    self.accesses.insert(at, limits);
                // Exchanges between lanes go through LDS, but their meaning is no load or store.
                } else if facts.kind == IssueKind::Lds && direction.is_none() {
                    self.accesses.insert(at, exchange());
                }
            }
            IssueKind::ScalarMemory => {
                let limits = ScalarLimits {
                    lines: scalar_lines(facts),
                    may_miss: !knowledge.is_warm(),
                    may_evict: knowledge.may_evict(),
                    stores: matches!(
                        meaning,
                        Some(Meaning::Store { .. } | Meaning::Atomic { .. })
                    ),
                };
                self.reaches_dram |= limits.may_miss || limits.may_evict;
                self.scalar_loads.insert(at, limits);
            }
            _ => {}
        }
        let known = (self.accesses.get(&at), self.scalar_loads.get(&at));
        match wave_refusal(facts, known.0, known.1) {
            Some(why) => Err(why),
            None => Ok(()),
        }
    }
}

/// Returns the limits of an exchange between lanes, which passes LDS and accesses none of its words.
fn exchange() -> AccessLimits {
    AccessLimits {
        direction: AccessDirection::Load,
        bytes: 4,
        always: false,
        spaces: std::iter::once(SpaceLimits {
            space: MemorySpace::Shared,
            requests: 1,
            lines: 0,
            sectors: 0,
            conflicts: 0,
            same_word: 0,
            may_miss: false,
            may_walk: false,
            may_evict: false,
            may_hit_l1: false,
            stays_in_l1: false,
        })
        .collect(),
    }
}

/// Maximum number of lines of a scalar load, whose address is a multiple of 4. For example, 16 dwords from byte 60 of
/// a line on touch two lines.
fn scalar_lines(facts: &WaveFacts) -> u32 {
    let bytes = u32::from(facts.dwords) * 4;
    1 + (bytes - 4).div_ceil(MEMORY_LINE)
}

/// Returns the class of an access with unknown addresses: each lane that exists has a line of its own, and all lanes
/// have one bank.
fn worst_class(meaning: &Meaning, facts: &WaveFacts, lanes: u32) -> Option<AccessClass> {
    let (space, width) = match meaning {
        Meaning::Load { space, width, .. } | Meaning::Store { space, width, .. } => (space, *width),
        Meaning::Atomic { space, .. } => (space, Width::Words),
        _ => return None,
    };
    let dwords = u32::from(facts.dwords);
    let bytes = match width {
        Width::U8 | Width::S8 => 1,
        Width::U16 | Width::S16 => 2,
        Width::Words => dwords * 4,
    };
    // Vector accesses are aligned to 4 bytes only, so that a longer one may be in two lines.
    let touched = lanes * (1 + bytes.saturating_sub(4).div_ceil(MEMORY_LINE));
    let in_memory = AccessCounts {
        requests: dwords,
        transactions: touched,
        sectors: touched,
        lines: touched,
        ..AccessCounts::default()
    };
    // Scratch is accessed dword by dword, because its dwords are interleaved by lane.
    let in_scratch = AccessCounts {
        requests: dwords,
        transactions: lanes * dwords,
        sectors: lanes * dwords,
        lines: lanes * dwords,
        ..AccessCounts::default()
    };
    let in_lds = AccessCounts {
        requests: dwords,
        conflicts: (lanes - lanes.div_ceil(LDS_GROUP)) * dwords,
        ..AccessCounts::default()
    };
    let spaces: &[MemorySpace] = match space {
        // A generic address may be in each space, and all lanes may be in the same one.
        MemorySpace::Generic => &[MemorySpace::Shared, MemorySpace::Local, MemorySpace::Global],
        MemorySpace::Shared => &[MemorySpace::Shared],
        MemorySpace::Local => &[MemorySpace::Local],
        // An access through a descriptor may go to private memory (SOUNDNESS 5.13).
        _ => &[MemorySpace::Local, MemorySpace::Global],
    };
    let limit = |&space: &MemorySpace| match space {
        MemorySpace::Shared => (space, in_lds),
        MemorySpace::Local => (space, in_scratch),
        _ => (space, in_memory),
    };
    Some(AccessClass {
        shape: AccessShape::plain(*space, bytes),
        pattern: AccessPattern::Unknown(None),
        limits: spaces.iter().map(limit).collect(),
        lanes,
        is_exact: false,
        needs_block: false,
    })
}
