//! Control words, which replace hardware interlocks. For example, the slot 0x7e1 of Maxwell waits for
//! nothing, sets no scoreboard, and lets the warp issue its next instruction one cycle later.

/// The 21 bits of scheduling information for one instruction: a slot of the control word of Maxwell and Pascal, or
/// bits 125:105 of a word from Volta on.
///
/// Layout (experiments with NVIDIA's disassembler; maxas): 4:0 scheduling code, 7:5 write scoreboard,
/// 10:8 read scoreboard, 16:11 wait mask, 19:17 reuse of operands A, B, C. Bit 20 is the coupled flag of Maxwell, and
/// from Volta on a fourth bit of reuse.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct ControlWord {
    /// Scheduling code, 5 bits.
    pub usched: u8,
    /// Scoreboard released when the result is written; `None` is code 7.
    pub write_sb: Option<u8>,
    /// Scoreboard released when the sources have been read; `None` is code 7.
    pub read_sb: Option<u8>,
    /// Scoreboards to wait for: bit i delays issue until scoreboard i is zero.
    pub wait_mask: u8,
    /// Operand reuse: bits 0, 1, 2 keep operands A, B, C in the reuse cache. For instructions of variable latency,
    /// these bits have another meaning and nothing is reused; from Volta on also where the scheduling code is below 17.
    /// Bit 3 is there from Volta on; no operand is known for it.
    pub reuse: u8,
    /// Coupled flag of Maxwell and Pascal, bit 20; 0 in all compiler output seen, and always 0 from Volta on.
    pub coupled: bool,
}

impl ControlWord {
    /// Control word without scoreboards and reuse, after which the warp issues its next instruction one cycle later.
    pub const PLAIN: ControlWord = ControlWord {
        usched: 17,
        write_sb: None,
        read_sb: None,
        wait_mask: 0,
        reuse: 0,
        coupled: false,
    };

    /// Bits of a control field that are no reuse.
    pub(crate) const EXCEPT_REUSE: u32 = (1 << 17) - 1;

    /// Decodes slot `slot` (0, 1 or 2) of a control word.
    pub fn of_slot(word: u64, slot: u32) -> ControlWord {
        let bits = word.checked_shr(21 * slot).unwrap_or(0) as u32;
        let control = ControlWord::of_bits(bits);
        ControlWord {
            // The bit is no reuse of an operand here.
            reuse: control.reuse & 7,
            coupled: control.reuse >> 3 == 1,
            ..control
        }
    }

    /// Decodes the control field of a word of 128 bits.
    pub fn of_field(word: u128) -> ControlWord {
        ControlWord::of_bits((word >> 105) as u32)
    }

    /// Control field of a word of 128 bits: 21 bits, the inverse of [`ControlWord::of_field`]. Numbers are cut to their
    /// fields, and the field has no coupled flag.
    pub fn field_bits(self) -> u32 {
        let scoreboard = |number: Option<u8>| u32::from(number.unwrap_or(7) & 7);
        u32::from(self.usched & 31)
            | scoreboard(self.write_sb) << 5
            | scoreboard(self.read_sb) << 8
            | u32::from(self.wait_mask & 63) << 11
            | u32::from(self.reuse & 15) << 17
    }

    /// Word of 128 bits with this control word in its field.
    pub fn in_word(self, word: u128) -> u128 {
        const FIELD: u128 = ((1 << 21) - 1) << 105;
        word & !FIELD | u128::from(self.field_bits()) << 105
    }

    /// Decodes the low 21 bits, with bit 20 as the fourth bit of reuse.
    fn of_bits(bits: u32) -> ControlWord {
        // Every field is decoded for every instruction, so plain shifts instead of `Bits::field`, which is slower.
        let field = |hi: u32, lo: u32| (bits >> lo & ((1 << (hi - lo + 1)) - 1)) as u8;
        let scoreboard = |code: u8| (code != 7).then_some(code);
        ControlWord {
            usched: field(4, 0),
            write_sb: scoreboard(field(7, 5)),
            read_sb: scoreboard(field(10, 8)),
            wait_mask: field(16, 11),
            reuse: field(20, 17),
            coupled: false,
        }
    }

    /// Whether the instruction issues together with the next one of its warp (code 16, the only code that NVIDIA's
    /// disassembler prints as a pair in braces). Only Maxwell and Pascal issue pairs: words of 128 bits with this code are
    /// no instructions.
    pub fn dual_issue(self) -> bool {
        self.usched == 16
    }

    /// Lower bound on the cycles from this issue to the warp's next one.
    ///
    /// Codes 1 to 15 and 17 to 27 encode the distance; 29 and 30 (YIELD6, YIELD8 of Maxwell and Pascal) give 6 and 8.
    /// Codes 0, 16, 28 and 31 give no lower bound, hence 0. For example, code 20 gives 4.
    pub fn min_distance(self) -> u8 {
        match self.usched {
            n @ 1..=15 => n,
            n @ 17..=27 => n - 16,
            29 => 6,
            30 => 8,
            _ => 0,
        }
    }

    /// Stall count: the distance in cycles to the warp's next issue, if the code fixes it. `None` for codes that wait
    /// for events (0, 28 to 31), `Some(0)` for dual issue.
    pub fn stall(self) -> Option<u8> {
        match self.usched {
            16 => Some(0),
            1..=15 | 17..=27 => Some(self.min_distance()),
            _ => None,
        }
    }

    /// Whether the code hints that the scheduler should switch to another warp: codes below 16 and 29 to 31.
    pub fn yields(self) -> bool {
        self.usched < 16 || self.usched >= 29
    }
}

#[cfg(test)]
mod tests {
    use super::ControlWord;

    #[test]
    fn fields_of_each_slot() {
        // 0x7ef: no scoreboards, usched 15.
        let word = 0x7ef | (0x0f_u64 << 21) | (0x1e_1234_u64 << 42);
        let first = ControlWord::of_slot(word, 0);
        assert_eq!(
            (first.usched, first.write_sb, first.read_sb, first.wait_mask),
            (15, None, None, 0)
        );
        let second = ControlWord::of_slot(word, 1);
        assert_eq!((second.write_sb, second.read_sb), (Some(0), Some(0)));
        let third = ControlWord::of_slot(word, 2);
        assert_eq!(third.usched, 0x14);
        assert_eq!(third.write_sb, Some(1));
        assert_eq!(third.read_sb, Some(2));
        assert_eq!(third.wait_mask, 2);
        assert_eq!(third.reuse, 7);
        assert!(third.coupled);
    }

    #[test]
    fn every_control_field_is_put_back() {
        for bits in 0..1u128 << 21 {
            let control = ControlWord::of_field(bits << 105);
            assert_eq!(u128::from(control.field_bits()), bits);
        }
        assert_eq!(
            ControlWord::PLAIN.in_word(u128::MAX) >> 105,
            3 << 21 | 0x7f1
        );
        assert_eq!(ControlWord::PLAIN.in_word(5), 0x7f1 << 105 | 5);
    }

    #[test]
    fn distances() {
        let with = |usched| ControlWord::of_slot(usched, 0);
        assert_eq!(with(1).stall(), Some(1));
        assert_eq!(with(16).stall(), Some(0));
        assert_eq!(with(27).stall(), Some(11));
        assert_eq!(with(30).stall(), None);
        assert_eq!(with(30).min_distance(), 8);
        assert!(with(15).yields() && !with(17).yields() && with(31).yields());
    }
}
