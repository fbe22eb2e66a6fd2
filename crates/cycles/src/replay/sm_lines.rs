//! Arrival of the lines of code and constants of a replay, which are found at known levels.

use std::collections::HashMap;

use warpbound_machine::Parameter;

use super::levels::ConfigValues;
use super::trace::{FetchSource, TracedFetch};
use crate::numbers::MILLI;

/// Two caches of an SM, of code or of constants: the arrivals of their lines.
pub(super) struct SmLines {
    /// By line of the first and of the second cache.
    arrivals: [HashMap<u64, i64>; 2],
    line: [u64; 2],
    /// Latency of the second cache and of a hit of the L2 cache.
    latencies: [i64; 2],
    /// Bytes per 1000 cycles at which lines ahead arrive.
    bandwidth: u64,
}

impl SmLines {
    /// Caches of code.
    pub(super) fn of_code(values: ConfigValues<'_>) -> SmLines {
        let line = values.0.slow(Parameter::InstructionLine).max(1);
        SmLines {
            arrivals: Default::default(),
            line: [line, line],
            latencies: [
                values.cycles(Parameter::InstructionL15Hit),
                values.cycles(Parameter::InstructionL2Hit),
            ],
            bandwidth: values.0.slow(Parameter::InstructionAheadBandwidth).max(1),
        }
    }

    /// Caches of constants.
    pub(super) fn of_constants(values: ConfigValues<'_>) -> SmLines {
        let line = |parameter| values.0.slow(parameter).max(1);
        SmLines {
            arrivals: Default::default(),
            line: [
                line(Parameter::ConstantL1Line),
                line(Parameter::ConstantL15Line),
            ],
            latencies: [
                values.cycles(Parameter::ConstantL15Beyond),
                values.cycles(Parameter::ConstantL2Beyond),
            ],
            bandwidth: 1,
        }
    }

    /// Time from which the line or constant requested at a time is present in the first cache; nothing is present
    /// before `at`. `beyond` returns the arrival of a line that neither cache has, from the latency of a hit in the
    /// L2 cache.
    pub(super) fn arrival(
        &mut self,
        at: i64,
        fetch: &TracedFetch,
        beyond: impl FnOnce(i64) -> i64,
    ) -> i64 {
        let [first, second] = self.line.map(|size| fetch.address / size);
        let [of_first, of_second] = &mut self.arrivals;
        let known = |lines: &HashMap<u64, i64>, line| lines.get(&line).copied().unwrap_or(0);
        let refilled = match fetch.found {
            FetchSource::First => return known(of_first, first).max(at),
            FetchSource::Second => known(of_second, second).max(at) + self.latencies[0],
            FetchSource::Beyond => {
                let arrival = beyond(self.latencies[1]);
                of_second.insert(second, arrival);
                arrival
            }
        };
        // Lines ahead arrive one after the other.
        let transfer = fetch.ahead * self.line[0] * 1000 / self.bandwidth;
        let present = refilled + transfer as i64 * MILLI;
        of_first.insert(first, present);
        present
    }
}
