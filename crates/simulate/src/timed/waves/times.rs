//! Times of the instructions of a wave: occupancy of their units, results, delays of the next issue.

use warpbound_isa::amd::GcnClass;
use warpbound_machine::Parameter;
use warpbound_timing::WaveFacts;

use super::super::event::{EventListener, Stall};
use super::compute_unit::{ComputeUnit, WaveContext};
use super::wave::Wave;

impl<'r> ComputeUnit<'r> {
    /// Computes the times of an instruction issued in cycle `now`: of its unit, its results, and the next issue of the
    /// wave, at `next`.
    pub(super) fn time_instruction<L: EventListener>(
        &mut self,
        now: u64,
        facts: &WaveFacts,
        next: Option<u32>,
        wave: &mut Wave,
        gpu: &mut WaveContext<'_, 'r, L>,
    ) {
        let parameters = gpu.parameters;
        match facts.class {
            GcnClass::Full => self.time_vector(now, Parameter::ValuCycles, facts, wave, gpu),
            GcnClass::Quarter => self.time_vector(now, Parameter::ValuQuarter, facts, wave, gpu),
            GcnClass::F64Add => self.time_vector(now, Parameter::ValuF64Add, facts, wave, gpu),
            GcnClass::F64Mul => self.time_vector(now, Parameter::ValuF64Mul, facts, wave, gpu),
            GcnClass::Scalar | GcnClass::ScalarSlow => {
                let cycles = parameters.get(Parameter::SaluCycles);
                self.own.scalar.occupy(now, wave.issuer(), cycles);
                let latency = parameters.get(match facts.class {
                    GcnClass::ScalarSlow => Parameter::SaluSlow,
                    _ => Parameter::SaluLatency,
                });
                for cell in &facts.writes {
                    wave.own.write(*cell, now + latency);
                }
            }
            GcnClass::Branch => {
                let cycles = parameters.get(Parameter::BranchCycles);
                self.own.branch.occupy(now, wave.issuer(), cycles);
                if next == Some(wave.at + 1) {
                    let delay = parameters.get(Parameter::BranchNotTaken);
                    wave.wait(now + delay, Stall::Dependency);
                } else {
                    let delay = parameters.get(Parameter::BranchTaken);
                    wave.wait(now + delay, Stall::Fetch);
                }
            }
            GcnClass::ScalarMemory => self.access_scalar(now, facts, wave, gpu),
            GcnClass::Lds => self.access_lds(now, facts, wave, gpu),
            GcnClass::Flat | GcnClass::Buffer => self.access_vector(now, facts, wave, gpu),
            GcnClass::Message => {
                let done = now + parameters.get(Parameter::MessageLatency);
                wave.own
                    .counters
                    .raise_lgkm(now, facts.kind, done, facts.raises.lgkm);
            }
            GcnClass::Nop => {
                let cycles = u64::from(facts.idle) * parameters.get(Parameter::NopState);
                wave.wait(now + cycles, Stall::Dependency);
            }
            GcnClass::Sleep if facts.idle > 0 => {
                let cycles = u64::from(facts.idle) * parameters.get(Parameter::SleepUnit);
                wave.wait(now + cycles, Stall::Dependency);
            }
            GcnClass::Sleep
            | GcnClass::Wait
            | GcnClass::Barrier
            | GcnClass::End
            | GcnClass::Internal
            | GcnClass::None => {}
        }
    }

    /// Times a vector instruction that occupies its pipeline for the cycles of a parameter.
    fn time_vector<L>(
        &mut self,
        now: u64,
        occupancy: Parameter,
        facts: &WaveFacts,
        wave: &mut Wave,
        gpu: &WaveContext<'_, 'r, L>,
    ) {
        let cycles = gpu.parameters.get(occupancy);
        let simd = &mut self.schedulers[wave.place.scheduler as usize];
        simd.vector.occupy(now, wave.issuer(), cycles);
        for cell in &facts.writes {
            let latency = gpu.parameters.get(match cell.is_per_lane() {
                true => Parameter::ValuLatency,
                false => Parameter::ValuToScalar,
            });
            // A result is not present before its instruction has left the vector ALU.
            wave.own.write(*cell, now + latency.max(cycles));
        }
    }
}
