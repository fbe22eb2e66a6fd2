//! Times of bounds in cycles, at the clocks of a machine.
//!
//! For example, 2 000 000 cycles take 2 milliseconds at 1 GHz, because a frequency in kilohertz is the number of
//! cycles per millisecond.

use warpbound_machine::{ClockBasis, GpuModel, Parameter};
use warpbound_report::BoundAssumption;
use warpbound_report::cycle_bound::ClockTime;

/// Returns the durations of a number of cycles: at the lowest frequency that the user states, in each mode of the
/// machine, or at its base clock.
pub(crate) fn times(machine: &GpuModel, cycles: u64) -> Vec<ClockTime> {
    let time = |clock: &str, kilohertz: u64| ClockTime {
        clock: clock.to_owned(),
        kilohertz,
        milliseconds: cycles as f64 / kilohertz.max(1) as f64,
    };
    // A bound in cycles takes longest at the lowest frequency.
    let least = machine.range(Parameter::Clock).least;
    match machine.clock() {
        ClockBasis::Stated => vec![time("stated", least)],
        ClockBasis::Base => vec![time("base", least)],
        ClockBasis::Modes(modes) => {
            let modes = modes.iter();
            modes.map(|mode| time(&mode.name, mode.frequency)).collect()
        }
    }
}

/// Returns the longest of the times of a number of cycles, in milliseconds.
pub(crate) fn slowest(times: &[ClockTime]) -> Option<f64> {
    times.iter().map(|time| time.milliseconds).reduce(f64::max)
}

/// Returns the assumption that the times rest on.
pub(super) fn assumption(machine: &GpuModel) -> BoundAssumption {
    let text = match machine.clock() {
        ClockBasis::Stated => {
            "times are for SMs that run at the stated frequency, or faster, all the time; the numbers of the machine, in \
             cycles, hold at this frequency"
        }
        ClockBasis::Modes(_) => {
            "times are for SMs that run at the frequency of the mode all the time; limits of power and heat may make them \
             slower (--clock states a frequency); the numbers of the machine, in cycles, hold in each mode"
        }
        ClockBasis::Base => {
            "times are for SMs that run at the base clock of the machine, or faster, all the time; limits of power and heat \
             may make them slower (--clock states a frequency)"
        }
    };
    BoundAssumption {
        id: "clock",
        text: text.to_owned(),
    }
}
