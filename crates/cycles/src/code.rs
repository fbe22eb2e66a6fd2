//! Facts about the instructions of a kernel, of either kind of code.

use warpbound_ir::OpIndex;
use warpbound_timing::{Completion, Distance, InstrFacts, WaveFacts};

use crate::numbers::{MILLI, MachineNumbers};

/// Facts about the instructions of a kernel, with the indices of the operations.
#[derive(Clone, Copy, Debug)]
pub enum TimedCode<'a> {
    /// Instructions of NVIDIA's GPUs.
    Warps(&'a [InstrFacts]),
    /// Instructions of AMD's GCN3.
    Waves(&'a [WaveFacts]),
}

impl<'a> TimedCode<'a> {
    /// Number of instructions.
    pub(crate) fn len(self) -> usize {
        match self {
            TimedCode::Warps(facts) => facts.len(),
            TimedCode::Waves(facts) => facts.len(),
        }
    }

    /// Addresses of the first and of the last byte of an instruction; 0 if there is none.
    pub(crate) fn bytes(self, at: OpIndex) -> (u64, u64) {
        match self {
            // An instruction of NVIDIA's GPUs lies in one line, so its other bytes are not needed.
            TimedCode::Warps(facts) => facts.get(at.index()).map(|facts| {
                let first = u64::from(facts.address);
                (first, first)
            }),
            TimedCode::Waves(facts) => facts.get(at.index()).map(|facts| {
                let first = u64::from(facts.address);
                (first, first + u64::from(facts.bytes.max(1)) - 1)
            }),
        }
        .unwrap_or_default()
    }

    /// Constant operands of an instruction: bank and byte offset.
    pub(crate) fn constants(self, at: OpIndex) -> &'a [(u8, u32)] {
        match self {
            TimedCode::Warps(facts) => facts
                .get(at.index())
                .map_or(&[][..], |facts| &facts.constants),
            TimedCode::Waves(_) => &[],
        }
    }

    /// Scoreboards or counters that an instruction waits for, as a mask.
    pub(crate) fn waited(self, at: OpIndex) -> u8 {
        match self {
            TimedCode::Warps(facts) => facts.get(at.index()).map_or(0, waited_scoreboards),
            TimedCode::Waves(facts) => {
                let waits = facts.get(at.index()).and_then(|facts| facts.waits);
                let counts = waits.map_or([None; 3], |waits| [waits.vm, waits.exp, waits.lgkm]);
                let counts = counts.into_iter().enumerate();
                let mask = counts.fold(0, |mask, (number, count)| {
                    mask | u8::from(count.is_some()) << number
                });
                // Flat accesses count in lgkmcnt until those before them are complete in vmcnt.
                if mask & 4 != 0 { mask | 1 } else { mask }
            }
        }
    }

    /// Minimum time from the issue of an instruction to the next issue of its warp.
    pub(crate) fn least(self, at: OpIndex, numbers: &MachineNumbers) -> i64 {
        match self {
            TimedCode::Warps(facts) => facts.get(at.index()).map_or(0, |f| least(f, numbers)),
            // A wave issues at most once in a turn of its SIMD.
            TimedCode::Waves(_) => numbers.turn(),
        }
    }
}

/// Scoreboards that an instruction waits for.
fn waited_scoreboards(facts: &InstrFacts) -> u8 {
    let depbar = match facts.completion {
        // DEPBAR without a count names no scoreboard, only the mask of the ones released to 0.
        Completion::Depbar {
            scoreboard,
            most,
            zero,
        } => zero | u8::from(most != u8::MAX) << scoreboard.min(7),
        _ => 0,
    };
    let drained = if facts.drains { u8::MAX } else { 0 };
    facts.wait_mask | depbar | drained
}

/// Minimum time from the issue of an instruction to the next issue of its warp.
fn least(facts: &InstrFacts, numbers: &MachineNumbers) -> i64 {
    use warpbound_machine::Parameter;
    // A lower limit, since prefetches subtract this time from the delay of a line.
    let cycles = match facts.distance {
        Distance::Cycles(cycles) => i64::from(cycles.max(facts.least)),
        Distance::Parameter(parameter) => numbers.range(parameter).0 as i64,
        Distance::Pair if numbers.range(Parameter::IssueDual).1 == 0 => 1,
        Distance::Pair => 0,
    };
    cycles * MILLI
}
