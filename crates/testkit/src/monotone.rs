//! Monotonicity of timed runs of a single warp: a run is no faster when one machine parameter moves to its slow end
//! (`docs/timing-model.md`).

use std::collections::HashMap;

use warpbound_base::Diagnostic;
use warpbound_launch::LaunchFile;
use warpbound_machine::{Parameter, Selection, SlowEnd};
use warpbound_query::{Prepared, Session};
use warpbound_runs::{TimedOptions, simulate_with};
use warpbound_simulate::timed::{Event, EventListener, HitLevel, Silent};

/// Bandwidth, in bytes per 1000 cycles, at which transfers take no time.
const UNLIMITED_BANDWIDTH: u64 = 1 << 40;

/// Runs of a launch with its parameters at their slow ends, one at a time.
#[derive(Clone, Debug, Default)]
pub struct SlowEndRuns {
    /// Number of runs that were compared with the reference run.
    pub runs: usize,
    /// Number of these runs that were slower.
    pub slower: usize,
    /// Runs that were faster.
    pub faster: Vec<FasterRun>,
}

/// Run that was faster although a parameter was at its slow end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FasterRun {
    /// The parameter.
    pub parameter: Parameter,
    /// Its value in the reference run, and at the slow end.
    pub values: [u64; 2],
    /// Cycles of the reference run, and of the other.
    pub cycles: [u64; 2],
    /// Maximum gain in cycles that contention explains: code or constant fetches and the warp's own data share an L2
    /// slice or DRAM, and their order may change. `None` where the run without contention is faster too.
    pub contention_limit: Option<u64>,
}

impl FasterRun {
    /// Whether the gain exceeds what contention between fetches and data explains.
    pub fn is_violation(&self) -> bool {
        self.contention_limit.is_none_or(|most| self.gain() > most)
    }

    /// Returns the gain in cycles.
    pub fn gain(&self) -> u64 {
        self.cycles[0] - self.cycles[1]
    }
}

/// Whether a launch has a single warp.
pub fn is_single_warp(launch: &LaunchFile) -> bool {
    let threads: u64 = launch.block.iter().map(|&n| u64::from(n)).product();
    launch.grid == [1; 3] && threads <= 32
}

/// Runs a launch of a single warp; then, for each parameter that the run used and that has a slow end, runs it again
/// with the parameter's value in `to` ([`Selection::Slow`]), unless the value is the same.
///
/// # Errors
///
/// The launch does not run on the machine.
pub fn compare_at_slow_end(
    session: &Session,
    prepared: &Prepared<'_>,
    launch: &LaunchFile,
    options: &TimedOptions,
    to: Selection,
) -> Result<SlowEndRuns, Diagnostic> {
    let mut traffic = DataTraffic::default();
    let first = simulate_with(session, prepared, launch, options, &mut traffic)?;
    let [reference, ends] = [options.selection, to].map(|pick| options.machine.select(pick));
    let mut compared = SlowEndRuns::default();
    // Cycles without contention, by the parameter at its slow end; computed on first use.
    let mut uncontended: HashMap<Option<Parameter>, u64> = HashMap::new();
    for &parameter in &first.used_parameters {
        let end = ends[parameter];
        if matches!(parameter.slow_end(), SlowEnd::Either | SlowEnd::Each)
            || end == reference[parameter]
        {
            continue;
        }
        let with = |set: &[(Parameter, u64)]| {
            let options = TimedOptions {
                set: set.to_vec(),
                ..options.clone()
            };
            let run = simulate_with(session, prepared, launch, &options, &mut Silent)?;
            Ok::<u64, Diagnostic>(run.cycles.0.0)
        };
        let cycles = [first.cycles.0.0, with(&[(parameter, end)])?];
        compared.runs += 1;
        compared.slower += usize::from(cycles[1] > cycles[0]);
        if cycles[1] >= cycles[0] {
            continue;
        }
        let mut without_contention = |changed: Option<Parameter>| {
            if let Some(&cycles) = uncontended.get(&changed) {
                return Ok(cycles);
            }
            let mut set = vec![
                (Parameter::L2Bandwidth, UNLIMITED_BANDWIDTH),
                (Parameter::DramBandwidth, UNLIMITED_BANDWIDTH),
                (Parameter::AtomicOccupancy, 0),
            ];
            set.retain(|(other, _)| Some(*other) != changed);
            set.extend(changed.map(|parameter| (parameter, end)));
            let cycles = with(&set)?;
            uncontended.insert(changed, cycles);
            Ok::<u64, Diagnostic>(cycles)
        };
        let is_shared =
            traffic.fetches && without_contention(Some(parameter))? >= without_contention(None)?;
        compared.faster.push(FasterRun {
            parameter,
            values: [reference[parameter], end],
            cycles,
            contention_limit: is_shared.then(|| {
                let slow = reference.clone().with(parameter, end);
                let service =
                    [&reference, &slow].map(|machine| traffic.service_cycles(|p| machine[p]));
                service[0].max(service[1])
            }),
        });
    }
    Ok(compared)
}

/// Sectors that a run moves between its SM, L2 and DRAM.
#[derive(Clone, Copy, Debug, Default)]
struct DataTraffic {
    /// Sectors of data looked up in L2.
    sectors: u64,
    /// Sectors of data moved to or from DRAM.
    dram: u64,
    /// Whether code or constants were fetched from L2 or DRAM.
    fetches: bool,
}

impl DataTraffic {
    /// Returns the cycles for which the data occupies an L2 slice and DRAM if all of it lies in one slice and every
    /// write turns the bus around.
    fn service_cycles(&self, value: impl Fn(Parameter) -> u64) -> u64 {
        let sector = value(Parameter::L2Sector);
        let cycles = |sectors: u64, rate| (sectors * sector * 1000).div_ceil(value(rate).max(1));
        // In thousandths of the time at the bandwidth of the data sheet.
        let part = value(Parameter::DramReads).min(value(Parameter::DramWrites));
        let times = 1_000_000 / part.max(1) + value(Parameter::DramTurnaround) + 1;
        cycles(self.sectors, Parameter::L2Bandwidth)
            + (cycles(self.dram, Parameter::DramBandwidth) * times).div_ceil(1000)
            + self.sectors * value(Parameter::AtomicOccupancy)
    }
}

impl EventListener for DataTraffic {
    fn event(&mut self, _: u64, event: &Event) {
        match event {
            Event::Memory {
                l2_lookups,
                dram_sectors: dram,
                ..
            } => {
                self.sectors += u64::from(*l2_lookups);
                self.dram += u64::from(*dram);
            }
            Event::ConstantMiss { found, .. } | Event::FetchMiss { found, .. } => {
                self.fetches |= matches!(found, HitLevel::L2 | HitLevel::Dram);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gain_within_contention_is_allowed() {
        let faster = |shared| FasterRun {
            parameter: Parameter::L2Hit,
            values: [216, 250],
            cycles: [1000, 990],
            contention_limit: shared,
        };
        assert_eq!(faster(None).gain(), 10);
        assert!(faster(None).is_violation());
        assert!(faster(Some(9)).is_violation());
        assert!(!faster(Some(10)).is_violation());
    }

    #[test]
    fn service_of_data() {
        let traffic = DataTraffic {
            sectors: 10,
            dram: 3,
            fetches: true,
        };
        let value = |parameter| match parameter {
            Parameter::L2Sector => 32,
            Parameter::L2Bandwidth => 64_000,
            Parameter::DramBandwidth => 50_000,
            Parameter::DramReads | Parameter::DramWrites => 500,
            _ => 1,
        };
        assert_eq!(traffic.service_cycles(value), 5 + 5 + 10);
    }
}
