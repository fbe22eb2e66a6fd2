/// What the 21 bits of one slot of a control word say about an instruction.
///
/// Layout (experiments with NVIDIA's disassembler): 4:0 scheduling code, 7:5 write scoreboard,
/// 10:8 read scoreboard, 16:11 wait mask, 19:17 reuse of operands A, B, C, 20 coupled flag.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct ControlWord {
    /// The 5-bit scheduling code, 0..=31.
    pub usched: u8,
    /// Scoreboard released when the result is written; `None` is the code 7.
    pub write_sb: Option<u8>,
    /// Scoreboard released when the sources have been read; `None` is the code 7.
    pub read_sb: Option<u8>,
    /// Bit i: wait until scoreboard i counts zero before issue.
    pub wait_mask: u8,
    /// Bit 0, 1, 2: keep operand A, B, C in the reuse cache. For instructions of variable
    /// latency the same bits mean something else and nothing is reused.
    pub reuse: u8,
    /// Bit 20; 0 in all compiler output seen.
    pub coupled: bool,
}

impl ControlWord {
    /// The control bits of slot `slot` (0, 1 or 2) of a control word.
    pub fn of_slot(word: u64, slot: u32) -> ControlWord {
        // Of every instruction all of this is read: plain shifts take a fraction of the time.
        let bits = word.checked_shr(21 * slot).unwrap_or(0) as u32;
        let field = |hi: u32, lo: u32| (bits >> lo & ((1 << (hi - lo + 1)) - 1)) as u8;
        let scoreboard = |code: u8| (code != 7).then_some(code);
        ControlWord {
            usched: field(4, 0),
            write_sb: scoreboard(field(7, 5)),
            read_sb: scoreboard(field(10, 8)),
            wait_mask: field(16, 11),
            reuse: field(19, 17),
            coupled: field(20, 20) == 1,
        }
    }

    /// The instruction issues together with the next one of its warp (code 16, the only one that
    /// NVIDIA's disassembler prints as a pair in braces).
    pub fn dual_issue(self) -> bool {
        self.usched == 16
    }

    /// The fewest cycles from this issue to the warp's next one, as far as the code says.
    ///
    /// Codes 1..=15 and 17..=27 name their distance; 29 and 30 read YIELD6 and YIELD8 and give
    /// 6 and 8; for 0, 16, 28 and 31 the code gives no lower bound (0).
    pub fn min_distance(self) -> u8 {
        match self.usched {
            n @ 1..=15 => n,
            n @ 17..=27 => n - 16,
            29 => 6,
            30 => 8,
            _ => 0,
        }
    }

    /// The distance in cycles to the warp's next issue where the code fixes one ("stall");
    /// `None` for codes that wait on events (0, 28..=31), `Some(0)` for dual issue.
    pub fn stall(self) -> Option<u8> {
        match self.usched {
            16 => Some(0),
            1..=15 | 17..=27 => Some(self.min_distance()),
            _ => None,
        }
    }

    /// The scheduler is invited to switch to another warp: codes below 16 and 29..=31.
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
