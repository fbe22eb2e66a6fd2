//! Lines of global memory that a warp touches: how often the warp may wait for a line from DRAM, if all lines stay in
//! the L2 cache (SOUNDNESS 20.3).

use std::collections::HashMap;

use crate::access::MemoryUnits;

use super::row::LANES;

/// Maximum number of lines of a warp that are distinguished.
const MAX_LINES: usize = 1 << 20;

/// Addresses of an execution of an access to global memory.
#[derive(Clone, Debug)]
pub(super) struct TouchedAddresses {
    /// Addresses of the lanes that may take part.
    pub(super) addresses: [Option<u64>; LANES],
    /// Lanes that certainly take part.
    pub(super) certain: u32,
    /// Bytes of each lane.
    pub(super) bytes: u32,
    /// Whether what is missing is fetched: stores fetch nothing.
    pub(super) fetches: bool,
}

/// Upper bounds on how often a warp may wait for lines from DRAM.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct LineWaits {
    /// Waits for a line that the warp has not certainly touched before, in each part between barriers.
    pub(super) first: Vec<u64>,
    /// Other waits: for sectors of a line that are fetched later.
    pub(super) later: u64,
}

impl LineWaits {
    /// All waits.
    pub(super) fn all(&self) -> u64 {
        let first = self.first.iter().copied();
        first.fold(self.later, u64::saturating_add)
    }
}

/// Lines touched so far by the warp that is executed.
pub(super) struct TouchedLines {
    line: u64,
    sector: u64,
    lines: HashMap<u64, TouchedLine>,
    /// Waits so far, without the later ones.
    first: Vec<u64>,
}

/// Line that a warp has touched.
#[derive(Clone, Copy)]
struct TouchedLine {
    touches: u64,
    /// Minimum number of sectors that an execution certainly fetches.
    least: u32,
    /// First part with a lane that certainly touches it.
    certain_in: Option<usize>,
    /// Last part for which it is counted.
    counted_in: Option<usize>,
}

impl TouchedLine {
    /// Waits after the first one. Each sector is fetched once, and the first execution waits for all that it has
    /// requested. For example, of 4 sectors one is left to wait for if each execution fetches at least 3.
    fn later(&self, sectors: u32) -> u64 {
        let fetched_later = u64::from((sectors - 1).min(sectors.saturating_sub(self.least)));
        fetched_later.min(self.touches.saturating_sub(1))
    }
}

impl TouchedLines {
    pub(super) fn new(units: &MemoryUnits) -> TouchedLines {
        TouchedLines {
            line: units.line_bytes.max(1),
            sector: units.sector_bytes.max(1),
            lines: HashMap::new(),
            first: vec![0],
        }
    }

    /// Adds the execution of an access to global memory. With unknown addresses it may touch any line.
    pub(super) fn touch(&mut self, addresses: Option<&TouchedAddresses>) {
        // A line that cannot be kept counts like an unknown address: as a new line each time.
        let Some(addresses) = addresses.filter(|_| self.lines.len() < MAX_LINES) else {
            self.count();
            return;
        };
        for (line, certain) in self.sectors_by_line(addresses) {
            let fetched = match addresses.fetches {
                true => certain.count_ones(),
                false => 0,
            };
            self.touch_line(line, certain != 0, fetched);
        }
    }

    /// Returns the lines of an execution, each once, with the mask of the sectors that lanes certainly touch.
    fn sectors_by_line(&self, addresses: &TouchedAddresses) -> Vec<(u64, u64)> {
        let mut touched: Vec<(u64, u64)> = Vec::new();
        for (lane, first) in addresses.addresses.iter().enumerate() {
            let Some(first) = *first else { continue };
            let last = first.saturating_add(u64::from(addresses.bytes.max(1)) - 1);
            for sector in first / self.sector..=last / self.sector {
                let address = sector * self.sector;
                let bit = match addresses.certain >> lane & 1 {
                    1 => 1u64.checked_shl((address % self.line / self.sector) as u32),
                    _ => None,
                };
                touched.push((address / self.line, bit.unwrap_or(0)));
            }
        }
        // In order, so that the sectors of each line are adjacent.
        touched.sort_unstable();
        touched.dedup_by(|later, kept| {
            let is_same = later.0 == kept.0;
            if is_same {
                kept.1 |= later.1;
            }
            is_same
        });
        touched
    }

    fn touch_line(&mut self, line: u64, is_certain: bool, fetched: u32) {
        let part = self.first.len() - 1;
        let known = self.lines.entry(line).or_insert(TouchedLine {
            touches: 0,
            least: u32::MAX,
            certain_in: None,
            counted_in: None,
        });
        // A flight that began before a barrier has ended when the warps leave it, so the line is not new to any
        // (SOUNDNESS 20.3).
        let is_known = known.certain_in.is_some_and(|before| before < part);
        // A line counts once in a part; what is fetched of it after its first touch counts as later.
        let counts = !is_known && known.counted_in != Some(part);
        known.touches += 1;
        known.least = known.least.min(fetched);
        if is_certain {
            known.certain_in.get_or_insert(part);
        }
        if counts {
            known.counted_in = Some(part);
            self.count();
        }
    }

    fn count(&mut self) {
        if let Some(part) = self.first.last_mut() {
            *part += 1;
        }
    }

    /// Begins with the next part between barriers.
    pub(super) fn pass_barrier(&mut self) {
        self.first.push(0);
    }

    /// Returns the waits of the warp, and begins with another one.
    pub(super) fn end(&mut self) -> LineWaits {
        let sectors = (self.line / self.sector).max(1) as u32;
        let later = self.lines.values().map(|line| line.later(sectors));
        let later = later.fold(0, u64::saturating_add);
        self.lines.clear();
        LineWaits {
            first: std::mem::replace(&mut self.first, vec![0]),
            later,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn touch(
        addresses: impl IntoIterator<Item = u64>,
        certain: u32,
        fetches: bool,
    ) -> TouchedAddresses {
        let mut rows = [None; LANES];
        for (row, address) in rows.iter_mut().zip(addresses) {
            *row = Some(address);
        }
        TouchedAddresses {
            addresses: rows,
            certain,
            bytes: 4,
            fetches,
        }
    }

    fn waits(touches: &[TouchedAddresses]) -> LineWaits {
        let mut lines = TouchedLines::new(&MemoryUnits::NVIDIA);
        for touch in touches {
            lines.touch(Some(touch));
        }
        lines.end()
    }

    fn row(first: u64) -> impl Iterator<Item = u64> {
        (0..32).map(move |lane| first + 4 * lane)
    }

    /// All sectors of the line are requested at once: none arrives later.
    #[test]
    fn whole_lines_are_waited_for_once() {
        let whole = touch(row(0x1000), u32::MAX, true);
        let found = waits(&[whole.clone(), whole.clone(), whole]);
        assert_eq!((found.first, found.later), (vec![1], 0));
    }

    /// Another warp may fetch the other sectors later, one after the other.
    #[test]
    fn other_sectors_of_a_line_may_be_fetched_later() {
        let part = touch([0x1000], 1, true);
        let found = waits(&[part.clone(), part.clone()]);
        assert_eq!((found.first, found.later), (vec![1], 1));
        let found = waits(&[part.clone(), part.clone(), part.clone(), part.clone(), part]);
        assert_eq!(found.all(), 4);
    }

    /// Lanes that may not take part, and stores, have requested nothing.
    #[test]
    fn uncertain_lanes_and_stores_fetch_nothing() {
        for none in [
            touch(row(0x1000), 0, true),
            touch(row(0x1000), u32::MAX, false),
        ] {
            let whole = touch(row(0x1000), u32::MAX, true);
            assert_eq!(waits(&[none, whole.clone(), whole]).all(), 3);
        }
    }

    /// A line that is certainly touched before a barrier is not new after it.
    #[test]
    fn parts_between_barriers_count_new_lines() {
        let mut lines = TouchedLines::new(&MemoryUnits::NVIDIA);
        lines.touch(Some(&touch(row(0x1000), u32::MAX, true)));
        lines.touch(Some(&touch(row(0x2000), 0, true)));
        lines.pass_barrier();
        lines.touch(Some(&touch(row(0x1000), u32::MAX, true)));
        lines.touch(Some(&touch(row(0x2000), u32::MAX, true)));
        lines.touch(None);
        let found = lines.end();
        assert_eq!(found.first, [2, 2]);
    }

    #[test]
    fn accesses_over_the_end_of_a_line_touch_two() {
        let over = TouchedAddresses {
            addresses: [Some(0x107c); LANES],
            certain: u32::MAX,
            bytes: 16,
            fetches: true,
        };
        assert_eq!(waits(&[over]).first, [2]);
    }
}
