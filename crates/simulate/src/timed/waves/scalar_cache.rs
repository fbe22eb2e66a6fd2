//! Scalar cache of a compute unit, as the unit sees it: the units that share one do not disturb each other here.

use warpbound_machine::Parameter;

use super::super::cache::Cache;
use super::super::l2::{L2Access, L2Cache};
use super::super::parameters::{Tracked, UsedParameters};

/// Scalar cache.
pub(super) struct ScalarCache {
    cache: Tracked<Cache>,
    /// Bytes of a line.
    line: u64,
}

/// Outcome of an access to scalar memory.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ScalarOutcome {
    pub(super) lines: u32,
    pub(super) hits: u32,
    pub(super) l2_hits: u32,
    /// Cycle when the data arrives; for stores, the cycle when the L2 cache has accepted it.
    pub(super) done: u64,
}

impl ScalarCache {
    /// Returns the cache of a machine, empty.
    pub(super) fn new(parameters: &UsedParameters) -> ScalarCache {
        let mut reader = parameters.reader();
        let bytes = reader.get(Parameter::ScalarBytes);
        let line = reader.get(Parameter::ScalarLine).max(1);
        let ways = reader.get(Parameter::ScalarWays);
        ScalarCache {
            cache: reader.track(Cache::new(bytes, line, ways)),
            line,
        }
    }

    /// Invalidates all lines. That alone takes no time, so no parameter is marked as used.
    pub(super) fn invalidate_all(&mut self) {
        self.cache.unmarked().invalidate_all();
    }

    /// Reads `bytes` from an address on, in cycle `at`: the lines one after the other, all requested at once.
    pub(super) fn read(
        &mut self,
        at: u64,
        address: u64,
        bytes: u32,
        l2: &mut L2Cache<'_>,
    ) -> ScalarOutcome {
        let parameters = l2.parameters;
        let hit = parameters.get(Parameter::ScalarHit);
        let mut outcome = ScalarOutcome::default();
        let last = address.saturating_add(u64::from(bytes.max(1)) - 1);
        let mut line = address / self.line * self.line;
        while line <= last {
            outcome.lines += 1;
            let cache = self.cache.get_mut(parameters);
            let ready = match cache.request_line(line) {
                Some(ready) => {
                    outcome.hits += 1;
                    ready.max(at)
                }
                None => {
                    let beyond = parameters.get(Parameter::ScalarBeyond);
                    // The latency of a hit is added below.
                    let (ready, is_hit) = l2.fetch_line(at, line, self.line, beyond);
                    outcome.l2_hits += u32::from(is_hit);
                    self.cache.get_mut(parameters).set_ready(line, ready);
                    ready
                }
            };
            outcome.done = outcome.done.max(ready + hit);
            // The last line of the address space has no next one.
            let Some(next) = line.checked_add(self.line) else {
                break;
            };
            line = next;
        }
        outcome
    }

    /// Writes `bytes` from an address on, in cycle `at`: through to the L2 cache.
    pub(super) fn write(
        &mut self,
        at: u64,
        address: u64,
        bytes: u32,
        l2: &mut L2Cache<'_>,
    ) -> ScalarOutcome {
        let sector = l2.parameters.get(Parameter::L2Sector).max(1);
        let first = address / sector * sector;
        let count = (address - first + u64::from(bytes.max(1))).div_ceil(sector);
        let sectors = u32::MAX >> (32 - count.clamp(1, 32));
        let reached = l2.access_range(at, first, sectors, L2Access::Write);
        ScalarOutcome {
            lines: 1,
            done: reached.done,
            ..ScalarOutcome::default()
        }
    }
}
