//! Division of code into instructions. For example, the 32 bytes of a Maxwell group are a control word at offset 0
//! and instructions at 8, 16 and 24; GCN3 code is a sequence of units of 4 bytes, and an instruction takes one or
//! two.

use warpbound_base::CodeAddr;

/// Bytes of a group of [`CodeLayout::ControlGroups`].
pub(crate) const GROUP: usize = 32;

/// Number of bits of a word.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum WordWidth {
    /// 4 bytes.
    Bits32,
    /// 8 bytes.
    Bits64,
    /// 16 bytes.
    Bits128,
}

impl WordWidth {
    /// Number of bits.
    pub const fn bits(self) -> u32 {
        match self {
            WordWidth::Bits32 => 32,
            WordWidth::Bits64 => 64,
            WordWidth::Bits128 => 128,
        }
    }

    /// Number of bytes.
    pub const fn bytes(self) -> usize {
        self.bits() as usize / 8
    }

    /// Width of a word that is written with `digits` hexadecimal digits.
    pub(crate) const fn of_digits(digits: usize) -> Option<WordWidth> {
        match digits {
            8 => Some(WordWidth::Bits32),
            16 => Some(WordWidth::Bits64),
            32 => Some(WordWidth::Bits128),
            _ => None,
        }
    }
}

/// Sequence of the instructions in code. All words are little-endian.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CodeLayout {
    /// Groups of 32 bytes: a control word and three instructions of 64 bits (Maxwell and Pascal).
    ControlGroups,
    /// Instructions of one or more units, one after the other. The matching row gives the length; a word that no row
    /// matches is one unit long.
    Units(WordWidth),
}

impl CodeLayout {
    /// Shortest instruction.
    pub const fn unit(self) -> WordWidth {
        match self {
            CodeLayout::ControlGroups => WordWidth::Bits64,
            CodeLayout::Units(unit) => unit,
        }
    }
}

/// Instruction in code, with the row that matches it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EncodedInstr {
    /// Address of its first byte.
    pub addr: CodeAddr,
    /// Number of bytes, including a literal.
    pub length: usize,
    /// All bytes of the instruction; a literal is above its own bits.
    pub word: u128,
    /// Index of the row; `None` if no row matches.
    pub row: Option<u16>,
    /// Control word of its group and its slot there (0, 1, 2); `None` in a layout without control words.
    pub control: Option<(u64, u32)>,
}
