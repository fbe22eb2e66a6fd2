//! Comparison of runs of a lone warp: slower, or as slow, when a number of its machine goes to its slow end.

use std::collections::HashMap;

use warpbound_base::Diagnostic;
use warpbound_driver::{Prepared, Session, TimedOptions};
use warpbound_load::LaunchFile;
use warpbound_machine::{Parameter, Selection, SlowEnd};
use warpbound_simulate::timed::{Event, HitLevel, EventListener, Silent};

/// A number that is never reached: what moves so much takes no time.
const AT_ONCE: u64 = 1 << 40;

/// Runs of a launch whose numbers went to their slow ends, one at a time.
#[derive(Clone, Debug, Default)]
pub struct Compared {
    /// The runs that were compared with the first one.
    pub runs: usize,
    /// Those of them that were slower.
    pub slower: usize,
    /// Those that were faster.
    pub faster: Vec<Faster>,
}

/// A run that was faster although a number was at its slow end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Faster {
    /// The number.
    pub number: Parameter,
    /// Value in the first run, and at the slow end.
    pub values: [u64; 2],
    /// Cycles of the first run, and of the other.
    pub cycles: [u64; 2],
    /// Where code or constants and the warp's own data share a slice of the second level or the memory, and are in each other's
    /// way: how many cycles that may make at most.
    pub shared: Option<u64>,
}

impl Faster {
    /// Tells whether it is faster by more than what fetches and data that share a slice explain.
    pub fn is_broken(&self) -> bool {
        self.shared.is_none_or(|most| self.gain() > most)
    }

    /// Cycles by which it is faster.
    pub fn gain(&self) -> u64 {
        self.cycles[0] - self.cycles[1]
    }
}

/// Tells whether a launch is of a single warp.
pub fn is_lone(launch: &LaunchFile) -> bool {
    let threads: u64 = launch.block.iter().map(|&n| u64::from(n)).product();
    launch.grid == [1; 3] && threads <= 32
}

/// Runs a launch of a single warp, then again with each number that the run asked for and that has a slow end at the value
/// that it has in `to`, where that is another one: [`Pick::Slow`].
///
/// # Errors
///
/// Where the launch does not run on the machine.
pub fn compare(
    session: &Session,
    prepared: &Prepared<'_>,
    launch: &LaunchFile,
    options: &TimedOptions,
    to: Selection,
) -> Result<Compared, Diagnostic> {
    let mut traffic = Traffic::default();
    let first = session.time(prepared, launch, options, &mut traffic)?;
    let [picked, ends] = [options.pick, to].map(|pick| options.machine.pick(pick));
    let mut compared = Compared::default();
    // Without what fetches and data share: known where it was asked for.
    let mut apart: HashMap<Option<Parameter>, u64> = HashMap::new();
    for &number in &first.touched {
        let end = ends[number];
        if matches!(number.slow(), SlowEnd::Either | SlowEnd::Each) || end == picked[number] {
            continue;
        }
        let with = |set: &[(Parameter, u64)]| {
            let options = TimedOptions {
                set: set.to_vec(),
                ..options.clone()
            };
            let run = session.time(prepared, launch, &options, &mut Silent)?;
            Ok::<u64, Diagnostic>(run.cycles.0.0)
        };
        let cycles = [first.cycles.0.0, with(&[(number, end)])?];
        compared.runs += 1;
        compared.slower += usize::from(cycles[1] > cycles[0]);
        if cycles[1] >= cycles[0] {
            continue;
        }
        let mut without = |changed: Option<Parameter>| {
            if let Some(&cycles) = apart.get(&changed) {
                return Ok(cycles);
            }
            let mut set = vec![
                (Parameter::L2Bandwidth, AT_ONCE),
                (Parameter::DramBandwidth, AT_ONCE),
                (Parameter::AtomicOccupancy, 0),
            ];
            set.retain(|(other, _)| Some(*other) != changed);
            set.extend(changed.map(|number| (number, end)));
            let cycles = with(&set)?;
            apart.insert(changed, cycles);
            Ok::<u64, Diagnostic>(cycles)
        };
        let is_shared = traffic.fetches && without(Some(number))? >= without(None)?;
        compared.faster.push(Faster {
            number,
            values: [picked[number], end],
            cycles,
            shared: is_shared.then(|| {
                let slow = picked.clone().with(number, end);
                let service = [&picked, &slow].map(|machine| traffic.service(|p| machine[p]));
                service[0].max(service[1])
            }),
        });
    }
    Ok(compared)
}

/// Sectors that a run moves between its SM, the second level and memory.
#[derive(Clone, Copy, Debug, Default)]
struct Traffic {
    /// Sectors of data.
    sectors: u64,
    /// Those of them that went on to memory or came from there.
    dram: u64,
    /// Code or constants were asked for in the second level.
    fetches: bool,
}

impl Traffic {
    /// The cycles for which the data takes a slice and the memory, if all of it is in one slice and every write turns the bus.
    fn service(&self, number: impl Fn(Parameter) -> u64) -> u64 {
        let sector = number(Parameter::L2Sector);
        let cycles = |sectors: u64, rate| (sectors * sector * 1000).div_ceil(number(rate).max(1));
        // In thousandths of the time that the bandwidth of the data sheet takes.
        let part = number(Parameter::DramReads).min(number(Parameter::DramWrites));
        let times = 1_000_000 / part.max(1) + number(Parameter::DramTurnaround) + 1;
        cycles(self.sectors, Parameter::L2Bandwidth)
            + (cycles(self.dram, Parameter::DramBandwidth) * times).div_ceil(1000)
            + self.sectors * number(Parameter::AtomicOccupancy)
    }
}

impl EventListener for Traffic {
    fn event(&mut self, _: u64, event: &Event) {
        match event {
            Event::Global {
                l2_lookups, dram, ..
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
    fn what_is_allowed() {
        let faster = |shared| Faster {
            number: Parameter::L2Hit,
            values: [216, 250],
            cycles: [1000, 990],
            shared,
        };
        assert_eq!(faster(None).gain(), 10);
        assert!(faster(None).is_broken());
        assert!(faster(Some(9)).is_broken());
        assert!(!faster(Some(10)).is_broken());
    }

    #[test]
    fn service_of_data() {
        let traffic = Traffic {
            sectors: 10,
            dram: 3,
            fetches: true,
        };
        let number = |parameter| match parameter {
            Parameter::L2Sector => 32,
            Parameter::L2Bandwidth => 64_000,
            Parameter::DramBandwidth => 50_000,
            Parameter::DramReads | Parameter::DramWrites => 500,
            _ => 1,
        };
        assert_eq!(traffic.service(number), 5 + 5 + 10);
    }
}
