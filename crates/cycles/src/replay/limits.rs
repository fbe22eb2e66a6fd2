//! Numbers of the traced accesses of an instruction: requests, lines and sectors, in the form of the bound's limits.

use warpbound_isa::instr::MemorySpace;

use super::trace::{TracedAccess, TracedInstr, TracedShared, TranslationSource};
use crate::memory::{AccessLimits, SpaceLimits};

/// Returns the numbers of a traced access; `None` if no lane takes part.
pub(super) fn limits_of(instr: &TracedInstr) -> Option<AccessLimits> {
    let shared = instr.shared.as_ref().map(shared_limits);
    let of_shared = instr.shared.map(|shared| shared.direction);
    let direction = of_shared.or(instr.accesses.first().map(|access| access.direction))?;
    let in_space = |is_local| {
        let accesses = instr.accesses.iter();
        let own: Vec<_> = accesses
            .filter(|access| access.is_local == is_local)
            .collect();
        (!own.is_empty()).then(|| space_limits(&own, is_local))
    };
    let spaces = shared
        .into_iter()
        .chain(in_space(true))
        .chain(in_space(false));
    Some(AccessLimits {
        direction,
        bytes: instr.bytes,
        always: true,
        spaces: spaces.collect(),
    })
}

/// Returns the numbers of an access to shared memory.
pub(super) fn shared_limits(shared: &TracedShared) -> SpaceLimits {
    SpaceLimits {
        space: MemorySpace::Shared,
        requests: shared.transactions.saturating_sub(shared.conflicts),
        conflicts: shared.conflicts,
        same_word: shared.same_word,
        lines: 0,
        sectors: 0,
        may_miss: false,
        may_walk: false,
        may_evict: false,
        may_hit_l1: false,
        stays_in_l1: false,
    }
}

/// Returns the numbers of the accesses of an instruction to local or to global memory.
fn space_limits(accesses: &[&TracedAccess], is_local: bool) -> SpaceLimits {
    let mut limits = SpaceLimits {
        space: match is_local {
            true => MemorySpace::Local,
            false => MemorySpace::Global,
        },
        requests: 0,
        lines: 0,
        sectors: 0,
        conflicts: 0,
        same_word: 0,
        may_miss: false,
        may_walk: false,
        may_evict: false,
        may_hit_l1: false,
        stays_in_l1: false,
    };
    for request in accesses.iter().flat_map(|access| &access.requests) {
        limits.requests += 1;
        limits.lines += request.len() as u32;
        for line in request {
            limits.sectors += (line.sectors & !line.merged).count_ones();
            limits.may_hit_l1 |= line.l1_hits != 0;
            if let Some(beyond) = &line.beyond {
                let is_present = beyond.translation == TranslationSource::First;
                limits.may_walk |= !is_present || beyond.awaits_translation;
                for line in &beyond.lines {
                    limits.may_miss |= line.missing > 0 || line.awaits_sectors;
                    limits.may_evict |= line.evicted > 0;
                }
            }
        }
    }
    limits
}
