//! Instruction caches and constant caches of an SM; both have two levels and are refilled from the L2 cache.

use std::ops::RangeInclusive;

use warpbound_machine::Parameter;

use super::cache::Cache;
use super::event::HitLevel;
use super::l2::{CODE_BASE, CONSTANT_BANK_STRIDE, CONSTANT_BASE, L2Cache};
use super::outcome::{FetchLevel, Outcome};
use super::parameters::{Tracked, UsedParameters};

/// Returns an empty cache with the size, line and associativity that three parameters state.
fn cache(parameters: &UsedParameters, shape: [Parameter; 3]) -> Tracked<Cache> {
    let mut reader = parameters.reader();
    let [bytes, line, ways] = shape.map(|parameter| reader.get(parameter));
    reader.track(Cache::new(bytes, line.max(1), ways))
}

/// Instruction caches of an SM, with sequential prefetching.
pub(super) struct InstructionCaches {
    first: Tracked<Cache>,
    second: Tracked<Cache>,
    /// Bytes of a line of both caches.
    pub(super) line: u64,
    /// Number of lines prefetched after the line in use. It has no effect, and is not marked as used, until one of
    /// them misses.
    ahead: Tracked<u64>,
}

impl InstructionCaches {
    /// Returns the caches of a machine, empty.
    pub(super) fn new(parameters: &UsedParameters) -> InstructionCaches {
        use Parameter as P;
        let mut ahead = parameters.reader();
        let lines_ahead = ahead.get(P::InstructionAhead);
        let mut line = parameters.reader();
        InstructionCaches {
            first: cache(
                parameters,
                [
                    P::InstructionL1Bytes,
                    P::InstructionLine,
                    P::InstructionL1Ways,
                ],
            ),
            second: cache(
                parameters,
                [
                    P::InstructionL15Bytes,
                    P::InstructionLine,
                    P::InstructionL15Ways,
                ],
            ),
            line: line.get(P::InstructionLine).max(1),
            ahead: ahead.track(lines_ahead),
        }
    }

    /// Enters the line of the first instruction and the prefetched lines after it, because a launch loads them. It also loads
    /// some bytes of code into the second cache, as far as there is code.
    pub(super) fn preload(&mut self, code: &RangeInclusive<u64>, bytes: u64) {
        let line = code.start() / self.line * self.line;
        let addresses = (line..=*code.end()).step_by(self.line as usize);
        for address in addresses.take(bytes.div_ceil(self.line) as usize) {
            self.second.unmarked().request_line(address);
        }
        for number in 0..=*self.ahead.unmarked() {
            let address = line + number * self.line;
            // Their arrival stays cycle 0: the lines are present when the launch begins.
            self.second.unmarked().request_line(address);
            self.first.unmarked().request_line(address);
        }
    }

    /// Fetches the line of an address in cycle `at` and prefetches the lines after it. Returns the cycle when the
    /// line is present, and the level at which it was found unless that is the first cache.
    pub(super) fn fetch(
        &mut self,
        at: u64,
        address: u64,
        l2: &mut L2Cache<'_>,
    ) -> (u64, Option<HitLevel>) {
        let parameters = l2.parameters;
        let line = address / self.line * self.line;
        let (ready, found) = match self.first.get_mut(parameters).request_line(line) {
            Some(ready) => {
                record_line(l2, line, 0, FetchLevel::First);
                (ready.max(at), None)
            }
            None => {
                let (ready, found) = self.refill(at, line, 0, l2);
                (ready, Some(found))
            }
        };
        // After the line in use, which must not wait for prefetched lines.
        for number in 1..=*self.ahead.unmarked() {
            let next = line + number * self.line;
            let first = self.first.get_mut(parameters);
            if first.request_line(next).is_some() {
                record_line(l2, next, number, FetchLevel::First);
            } else {
                let (ready, _) = self.refill(at, next, number, l2);
                // Prefetched lines arrive one after the other, after the line in use.
                let bandwidth = parameters.get(Parameter::InstructionAheadBandwidth);
                let transfer = number * self.line * 1000 / bandwidth.max(1);
                let first = self.first.get_mut(parameters);
                first.set_ready(next, ready + transfer);
            }
        }
        (ready, found)
    }

    /// Requests a line that missed in the first cache, `ahead` lines after the line in use; returns the cycle of its
    /// arrival and the level at which it was found.
    fn refill(&mut self, at: u64, line: u64, ahead: u64, l2: &mut L2Cache<'_>) -> (u64, HitLevel) {
        let parameters = l2.parameters;
        // Which lines miss depends on the lines that were prefetched so far, so the parameter is in use from now on.
        self.ahead.get(parameters);
        let second = self.second.get_mut(parameters);
        let (ready, found) = match second.request_line(line) {
            Some(ready) => {
                record_line(l2, line, ahead, FetchLevel::Second);
                let latency = parameters.get(Parameter::InstructionL15Hit);
                // A line in flight arrives in this cache first and then takes the latency from here (SOUNDNESS 20.3).
                (ready.max(at) + latency, HitLevel::Second)
            }
            None => {
                record_line(l2, line, ahead, FetchLevel::L2);
                let latency = parameters.get(Parameter::InstructionL2Hit);
                let (ready, hit) = l2.fetch_line(at, CODE_BASE + line, self.line, latency);
                second.set_ready(line, ready);
                (ready, if hit { HitLevel::L2 } else { HitLevel::Dram })
            }
        };
        self.first.get_mut(parameters).set_ready(line, ready);
        (ready, found)
    }
}

/// Records where a line of code was found.
#[inline(always)]
fn record_line(l2: &mut L2Cache<'_>, line: u64, ahead: u64, found: FetchLevel) {
    l2.recorder.record(|| Outcome::Code { line, ahead, found });
}

/// Bytes of a word of a constant bank.
const WORD_BYTES: usize = 4;

/// Constant caches of an SM.
pub(super) struct ConstantCaches {
    first: Tracked<Cache>,
    second: Tracked<Cache>,
    /// Bytes of a line of the second cache.
    line: u64,
}

impl ConstantCaches {
    /// Returns the caches of a machine, empty.
    pub(super) fn new(parameters: &UsedParameters) -> ConstantCaches {
        use Parameter as P;
        let mut line = parameters.reader();
        ConstantCaches {
            first: cache(
                parameters,
                [P::ConstantL1Bytes, P::ConstantL1Line, P::ConstantL1Ways],
            ),
            second: cache(
                parameters,
                [P::ConstantL15Bytes, P::ConstantL15Line, P::ConstantL15Ways],
            ),
            line: line.get(P::ConstantL15Line).max(1),
        }
    }

    /// Enters the first bytes of a bank in a number of caches, from the second on, because a launch loads them.
    pub(super) fn preload(&mut self, bank: u8, bytes: u64, caches: u64) {
        let begin = u64::from(bank) * CONSTANT_BANK_STRIDE;
        // Their arrival stays cycle 0: the lines are present when the launch begins.
        for offset in (0..bytes).step_by(WORD_BYTES) {
            if caches >= 1 {
                self.second.unmarked().request_line(begin + offset);
            }
            if caches >= 2 {
                self.first.unmarked().request_line(begin + offset);
            }
        }
    }

    /// Reads a constant in cycle `at`. Returns the cycle when its line is present in the first cache, without the
    /// latency of a hit there, and the level at which it was found unless that is the first cache.
    #[inline]
    pub(super) fn read(
        &mut self,
        at: u64,
        bank: u8,
        offset: u32,
        l2: &mut L2Cache<'_>,
    ) -> (u64, Option<HitLevel>) {
        let address = u64::from(bank) * CONSTANT_BANK_STRIDE + u64::from(offset);
        match self.first.get_mut(l2.parameters).request_line(address) {
            Some(ready) => {
                l2.recorder.record(|| Outcome::Constant {
                    bank,
                    offset,
                    found: FetchLevel::First,
                });
                (ready.max(at), None)
            }
            None => {
                let (ready, found) = self.refill(at, bank, offset, l2);
                self.first.get_mut(l2.parameters).set_ready(address, ready);
                (ready, Some(found))
            }
        }
    }

    /// Requests the line of a constant that missed in the first cache; returns the cycle of its arrival and the level
    /// at which it was found.
    fn refill(&mut self, at: u64, bank: u8, offset: u32, l2: &mut L2Cache<'_>) -> (u64, HitLevel) {
        let parameters = l2.parameters;
        let address = u64::from(bank) * CONSTANT_BANK_STRIDE + u64::from(offset);
        let second = self.second.get_mut(parameters);
        let ready = second.request_line(address);
        l2.recorder.record(|| Outcome::Constant {
            bank,
            offset,
            found: match ready {
                Some(_) => FetchLevel::Second,
                None => FetchLevel::L2,
            },
        });
        match ready {
            Some(ready) => {
                let latency = parameters.get(Parameter::ConstantL15Beyond);
                // As for code: both latencies, one after the other.
                (ready.max(at) + latency, HitLevel::Second)
            }
            None => {
                let latency = parameters.get(Parameter::ConstantL2Beyond);
                let line = address / self.line * self.line;
                let (ready, hit) = l2.fetch_line(at, CONSTANT_BASE + line, self.line, latency);
                second.set_ready(address, ready);
                (ready, if hit { HitLevel::L2 } else { HitLevel::Dram })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use warpbound_machine::{GpuModel, Selection};

    use super::*;

    /// Prefetched lines arrive one after the other, at their bandwidth.
    #[test]
    fn prefetched_lines_arrive_in_order() {
        let model = GpuModel::built_in("gtx1080").expect("a built-in machine");
        let arrivals = |bytes_per_cycle: u64| {
            let machine = model.select(Selection::Typical);
            let machine = machine.with(Parameter::InstructionAhead, 2);
            let bandwidth = bytes_per_cycle * 1000;
            let machine = machine.with(Parameter::InstructionAheadBandwidth, bandwidth);
            let parameters = UsedParameters::new(&machine);
            let mut caches = InstructionCaches::new(&parameters);
            let mut l2 = L2Cache::new(&parameters);
            [0, 1, 2].map(|line| caches.fetch(0, line * caches.line, &mut l2).0)
        };
        let (fast, slow) = (arrivals(32), arrivals(16));
        assert_eq!(fast[0], slow[0]);
        for line in [1, 2] {
            // 128 bytes take 4 cycles more at half the bandwidth.
            assert_eq!(slow[line] - fast[line], 4 * line as u64);
        }
    }
}
