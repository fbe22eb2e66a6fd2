//! Completion of an instruction: what has to happen until its result is present.

use warpbound_ir::Cell;
use warpbound_isa::instr::MemorySpace;
use warpbound_isa::nvidia::{
    LatencyClass, Modifier, OperandValue, OperandWord, SassInstr, SassProgram, Timing, View,
};
use warpbound_machine::Parameter;

/// Event that completes an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Completion {
    /// Fixed latency, which its control word accounts for.
    Fixed,
    /// Variable latency: a parameter of the machine.
    Latency(Parameter),
    /// Memory access.
    Memory(L1Use),
    /// Indexed access to a constant bank (LDC): bank, register, byte offset.
    Constant(u8, Option<Cell>, i32),
    /// Texture or surface.
    Texture,
    /// Memory barrier: the completion of the warp's stores.
    Fence {
        /// Whether the fence is for the whole device, or only for the block.
        device: bool,
    },
    /// Release of scoreboards.
    Depbar {
        /// Scoreboard released to a count.
        scoreboard: u8,
        /// Maximum number of outstanding operations of that scoreboard.
        most: u8,
        /// Mask of the scoreboards released to 0.
        zero: u8,
    },
}

/// Use of the L1 cache by an access to local or global memory. Stores and atomic operations look it up at most to mark what
/// they have changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum L1Use {
    /// All machines look it up: local memory, `.CI`.
    Always,
    /// The machine decides (`l1.all_loads`), and may replace the line early: `.EF`, `.LU`, `.NA`.
    Transient,
    /// The machine decides, and treats the line as all others.
    Plain,
    /// No machine looks it up, because the access has to see what other SMs have written: `.STRONG`, `.CV`, `.CG`.
    Never,
}

impl L1Use {
    fn of(view: &View, is_local: bool) -> L1Use {
        const OF_L2: [Modifier; 4] = [Modifier::Strong, Modifier::Mmio, Modifier::Cg, Modifier::Cv];
        const PLAIN: [Modifier; 13] = [
            Modifier::E,
            Modifier::U,
            Modifier::U8,
            Modifier::S8,
            Modifier::U16,
            Modifier::S16,
            Modifier::B64,
            Modifier::B128,
            Modifier::Constant,
            Modifier::El,
            Modifier::Ltc64b,
            Modifier::Ltc128b,
            Modifier::Ltc256b,
        ];
        if is_local || view.has(Modifier::Ci) {
            return L1Use::Always;
        }
        let mut modifiers = view.modifiers.iter();
        if modifiers.any(|modifier| OF_L2.contains(modifier)) {
            return L1Use::Never;
        }
        let mut modifiers = view.modifiers.iter();
        match modifiers.all(|modifier| PLAIN.contains(modifier)) {
            true => L1Use::Plain,
            false => L1Use::Transient,
        }
    }
}

/// Returns what completes an instruction, from its latency class and its operands.
pub(super) fn completion(
    program: &SassProgram,
    instr: &SassInstr,
    view: Option<&View>,
    timing: Option<&Timing>,
) -> Completion {
    // No source states a completion without a timing class; `InstrFacts::has_class` makes bounds refuse the
    // instruction.
    let (Some(view), Some(timing)) = (view, timing) else {
        return Completion::Fixed;
    };
    Completion::Latency(match timing.completion {
        LatencyClass::Fixed | LatencyClass::Unknown => return Completion::Fixed,
        LatencyClass::Memory => {
            let access = program.effects(instr).access;
            let is_local = access.is_some_and(|access| access.space == MemorySpace::Local);
            return Completion::Memory(L1Use::of(view, is_local));
        }
        LatencyClass::Constant => {
            let mut operands = view.operands.iter();
            let word = operands.find_map(|operand| operand.value.constant());
            return match word {
                Some(word) => Completion::Constant(word.bank, word.base.map(Cell::of), word.offset),
                None => Completion::Latency(Parameter::ConstantL1Hit),
            };
        }
        LatencyClass::Texture => return Completion::Texture,
        LatencyClass::Fence => {
            return Completion::Fence {
                // Only MEMBAR.CTA is for the block.
                device: !view.has(Modifier::Cta),
            };
        }
        LatencyClass::Depbar => return depbar(view),
        LatencyClass::Fp64 => Parameter::LatencyFp64,
        LatencyClass::Fp16 => Parameter::LatencyFp16,
        LatencyClass::Xu => Parameter::LatencyXu,
        LatencyClass::Conversion => Parameter::LatencyConversion,
        LatencyClass::Imad => Parameter::LatencyImad,
        LatencyClass::Shuffle => Parameter::LatencyShuffle,
        LatencyClass::SpecialRegister => Parameter::LatencySpecialRegister,
        LatencyClass::Other => Parameter::LatencyOther,
    })
}

/// Returns the scoreboards that DEPBAR waits for. `DEPBAR.LE SB5, 3, {4,2}` waits until scoreboard 5 has at most 3
/// outstanding operations, and scoreboards 4 and 2 have none; `DEPBAR {4,2}` has no scoreboard with a count.
fn depbar(view: &View) -> Completion {
    let (mut named, mut most, mut zero) = (None, None, 0);
    for operand in &view.operands {
        match operand.value {
            OperandValue::Word {
                word: OperandWord::Scoreboard(number),
                ..
            } => named = Some(number),
            OperandValue::Word {
                word: OperandWord::Scoreboards(set),
                ..
            } => zero = set,
            OperandValue::Int(count) => most = most.or(u8::try_from(count).ok()),
            _ => {}
        }
    }
    Completion::Depbar {
        scoreboard: named.unwrap_or(0),
        most: match named {
            Some(_) => most.unwrap_or(0),
            // No count is named, so no number of outstanding operations may delay the instruction.
            None => u8::MAX,
        },
        zero,
    }
}

#[cfg(test)]
mod tests {
    use warpbound_isa::Arch;
    use warpbound_isa::nvidia::Opcode;

    use super::*;

    /// Returns a program of one instruction and two NOPs, whose control word has no waits.
    fn program(word: u64) -> SassProgram {
        let nop = 0x50b0_0000_0007_0f00;
        let words = [0x001f_8000_fc00_07e0, word, nop, nop];
        let code: Vec<u8> = words
            .iter()
            .flat_map(|word: &u64| word.to_le_bytes())
            .collect();
        SassProgram::decode(Arch::Sm61, &code).expect("a whole group")
    }

    /// DEPBAR: opcode f0f0; bit 29 is `.LE`, with the scoreboard in bits 28:26 and the count in 25:20; bits 5:0 are
    /// other scoreboards.
    #[test]
    fn depbar_releases_scoreboards() {
        let decode = |word| {
            let program = program(word);
            let view = program.view(&program.instrs[0]).expect("DEPBAR");
            assert_eq!(view.opcode, Opcode::Depbar);
            match depbar(&view) {
                Completion::Depbar {
                    scoreboard,
                    most,
                    zero,
                } => (scoreboard, most, zero),
                other => panic!("{other:?}"),
            }
        };
        const DEPBAR: u64 = 0xf0f0_0000_0007_0000;
        const LE: u64 = DEPBAR | 1 << 29;
        for scoreboard in 0..6u8 {
            for most in [0, 1, 2, 3, 31, 63u8] {
                for others in 0..64u8 {
                    let fields = u64::from(scoreboard) << 26 | u64::from(most) << 20;
                    let found = decode(LE | fields | u64::from(others));
                    assert_eq!(found, (scoreboard, most, others));
                }
            }
        }
        // Without `.LE` no scoreboard is named: its count may be any.
        for others in 0..64u8 {
            let (_, most, zero) = decode(DEPBAR | u64::from(others));
            assert_eq!((most, zero), (u8::MAX, others));
        }
    }
}
