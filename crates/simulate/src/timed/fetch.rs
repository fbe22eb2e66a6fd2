//! Instruction and constant caches of an SM.

use warpbound_machine::Parameter;

use super::cache::Cache;
use super::event::HitLevel as Found;
use super::level::{BANK, CODE, CONSTANTS, Level};
use super::numbers::{Numbered, Numbers};

const INSTRUCTIONS: Numbered = Numbered::of(&[
    Parameter::InstructionLine,
    Parameter::InstructionL1Bytes,
    Parameter::InstructionL1Ways,
]);
const INSTRUCTIONS_BEYOND: Numbered = Numbered::of(&[
    Parameter::InstructionAhead,
    Parameter::InstructionL15Bytes,
    Parameter::InstructionL15Ways,
]);
const CONSTANT: Numbered = Numbered::of(&[
    Parameter::ConstantL1Bytes,
    Parameter::ConstantL1Line,
    Parameter::ConstantL1Ways,
]);
const CONSTANT_BEYOND: Numbered = Numbered::of(&[
    Parameter::ConstantL15Bytes,
    Parameter::ConstantL15Line,
    Parameter::ConstantL15Ways,
]);

/// Bytes that arrive in a cycle when lines come one behind the other.
const STREAM: u64 = 32;

/// The instruction caches of an SM.
pub(super) struct Instructions {
    first: Cache,
    second: Cache,
    pub(super) line: u64,
}

impl Instructions {
    pub(super) fn new(numbers: &Numbers) -> Instructions {
        let peek = |parameter| numbers.peek(parameter);
        let line = peek(Parameter::InstructionLine).max(1);
        Instructions {
            first: Cache::new(
                peek(Parameter::InstructionL1Bytes),
                line,
                peek(Parameter::InstructionL1Ways),
            ),
            second: Cache::new(
                peek(Parameter::InstructionL15Bytes),
                line,
                peek(Parameter::InstructionL15Ways),
            ),
            line,
        }
    }

    /// The launch has brought the line of an address and those behind it that are fetched ahead.
    pub(super) fn launch(&mut self, address: u64, ahead: u64) {
        let line = address / self.line * self.line;
        for number in 0..=ahead {
            self.second.whole(line + number * self.line);
            self.first.whole(line + number * self.line);
        }
    }

    /// The line of an address is needed at a cycle: when it is there, and where it was when that is not the first cache.
    pub(super) fn fetch(
        &mut self,
        at: u64,
        address: u64,
        level: &mut Level<'_>,
    ) -> (u64, Option<Found>) {
        level.numbers.touch(INSTRUCTIONS);
        let line = address / self.line * self.line;
        let (there, found) = match self.first.whole(line) {
            Some(ready) => (ready.max(at), None),
            None => {
                let (ready, found) = self.bring(at, line, level);
                (ready, Some(found))
            }
        };
        let ahead = level.numbers.peek(Parameter::InstructionAhead);
        for number in 1..=ahead {
            let next = line + number * self.line;
            if self.first.whole(next).is_none() {
                let (ready, _) = self.bring(at, next, level);
                self.first
                    .arrives(next, ready + number * (self.line / STREAM));
            }
        }
        (there, found)
    }

    fn bring(&mut self, at: u64, line: u64, level: &mut Level<'_>) -> (u64, Found) {
        level.numbers.touch(INSTRUCTIONS_BEYOND);
        let (ready, found) = match self.second.whole(line) {
            Some(ready) => {
                let latency = level.numbers.get(Parameter::InstructionL15Hit);
                (ready.max(at) + latency, Found::Second)
            }
            None => {
                let latency = level.numbers.get(Parameter::InstructionL2Hit);
                let (ready, had) = level.line_of(at, CODE + line, self.line, latency);
                self.second.arrives(line, ready);
                (ready, if had { Found::L2 } else { Found::Dram })
            }
        };
        self.first.arrives(line, ready);
        (ready, found)
    }
}

/// The constant caches of an SM.
pub(super) struct Constants {
    first: Cache,
    second: Cache,
    line: u64,
}

impl Constants {
    pub(super) fn new(numbers: &Numbers) -> Constants {
        let peek = |parameter| numbers.peek(parameter);
        Constants {
            first: Cache::new(
                peek(Parameter::ConstantL1Bytes),
                peek(Parameter::ConstantL1Line),
                peek(Parameter::ConstantL1Ways),
            ),
            second: Cache::new(
                peek(Parameter::ConstantL15Bytes),
                peek(Parameter::ConstantL15Line),
                peek(Parameter::ConstantL15Ways),
            ),
            line: peek(Parameter::ConstantL15Line).max(1),
        }
    }

    /// A constant is needed at a cycle: when it is there, where a hit in the first cache is at once, and where it was when
    /// that is not the first cache.
    #[inline]
    pub(super) fn need(
        &mut self,
        at: u64,
        bank: u8,
        offset: u32,
        level: &mut Level<'_>,
    ) -> (u64, Option<Found>) {
        level.numbers.touch(CONSTANT);
        let address = u64::from(bank) * BANK + u64::from(offset);
        match self.first.whole(address) {
            Some(ready) => (ready.max(at), None),
            None => {
                let (ready, found) = self.bring(at, address, level);
                self.first.arrives(address, ready);
                (ready, Some(found))
            }
        }
    }

    fn bring(&mut self, at: u64, address: u64, level: &mut Level<'_>) -> (u64, Found) {
        level.numbers.touch(CONSTANT_BEYOND);
        match self.second.whole(address) {
            Some(ready) => {
                let latency = level.numbers.get(Parameter::ConstantL15Beyond);
                (ready.max(at) + latency, Found::Second)
            }
            None => {
                let latency = level.numbers.get(Parameter::ConstantL2Beyond);
                let line = address / self.line * self.line;
                let (ready, had) = level.line_of(at, CONSTANTS + line, self.line, latency);
                self.second.arrives(address, ready);
                (ready, if had { Found::L2 } else { Found::Dram })
            }
        }
    }
}
