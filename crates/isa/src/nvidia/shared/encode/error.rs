//! Reasons why a word cannot be encoded. For example, `MOV32I` with a number of 33 bits fails with
//! [`OperandMismatch::Range`].

use std::error::Error;
use std::fmt;

use super::super::arch::Arch;
use super::super::opcode::Opcode;

/// Reason why no word with an opcode, modifiers and operands exists.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum EncodeError {
    /// The architecture has no row with the opcode.
    NoForm {
        /// Opcode.
        opcode: Opcode,
        /// Architecture.
        arch: Arch,
    },
    /// No row of the opcode has a guard.
    Unguarded {
        /// Opcode.
        opcode: Opcode,
    },
    /// No row of the opcode can have the control word: its stall code, or bits of its reuse.
    Control {
        /// Opcode.
        opcode: Opcode,
    },
    /// The guard is no predicate of the register file.
    GuardNumber {
        /// Number of the predicate.
        pred: u8,
    },
    /// No row of the opcode has these modifiers together, in this order.
    Modifiers {
        /// Opcode.
        opcode: Opcode,
        /// Modifiers as text, each with a dot before it.
        modifiers: String,
    },
    /// An operand cannot be encoded.
    Operand {
        /// Opcode.
        opcode: Opcode,
        /// Index of the operand among those given.
        index: usize,
        /// Reason.
        mismatch: OperandMismatch,
    },
    /// Every row needs an operand that was not given.
    TooFewOperands {
        /// Opcode.
        opcode: Opcode,
        /// Number of operands given.
        given: usize,
    },
    /// More operands were given than a row has.
    TooManyOperands {
        /// Opcode.
        opcode: Opcode,
        /// Number of operands given.
        given: usize,
    },
    /// Operands and modifiers fit individually, but not together.
    Together {
        /// Opcode.
        opcode: Opcode,
    },
    /// The word needs bits 19:17 of its control slot, but was requested without them.
    ControlBits {
        /// Opcode.
        opcode: Opcode,
        /// The three bits.
        bits: u8,
    },
    /// The word has no code target that is a number in the word.
    NoTarget {
        /// Word.
        word: u128,
    },
    /// A code target is too far away for the field of the word.
    TargetRange {
        /// Word.
        word: u128,
        /// Offset or address that does not fit.
        value: i64,
    },
    /// The word is no instruction of the architecture.
    NoInstruction {
        /// Word.
        word: u128,
    },
}

/// Reason why an operand cannot be encoded at its position.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OperandMismatch {
    /// No row of the opcode has an operand of this kind there.
    Kind,
    /// A number outside its field.
    Range {
        /// Lower end of the range.
        low: i64,
        /// Upper end of the range.
        high: i64,
    },
    /// A number that is not a multiple of the unit of its field.
    Multiple {
        /// Unit.
        of: u32,
    },
    /// A floating-point number with low bits that the field does not have.
    Precision {
        /// Number of high bits that the field has.
        bits: u32,
    },
    /// A register number that the register file does not have.
    RegisterNumber,
    /// The first register of a group is not a multiple of their number.
    Alignment {
        /// Number of registers.
        of: u8,
    },
    /// Sign, part, complement, condition code or reuse cannot be chosen for this operand.
    Modifier,
    /// A relative target was given, but no address of the instruction.
    NoAddress,
}

impl fmt::Display for OperandMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OperandMismatch::Kind => f.write_str("no form has an operand of this kind there"),
            OperandMismatch::Range { low, high } => write!(f, "not between {low} and {high}"),
            OperandMismatch::Multiple { of } => write!(f, "not a multiple of {of}"),
            OperandMismatch::Precision { bits } => {
                write!(f, "only the {bits} high bits of the number can be encoded")
            }
            OperandMismatch::RegisterNumber => f.write_str("no register with this number"),
            OperandMismatch::Alignment { of } => {
                write!(f, "the register is not a multiple of {of}")
            }
            OperandMismatch::Modifier => {
                f.write_str("sign, part, complement, condition code or reuse cannot be chosen here")
            }
            OperandMismatch::NoAddress => {
                f.write_str("a relative target needs the address of the instruction")
            }
        }
    }
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EncodeError::NoForm { opcode, arch } => write!(f, "{opcode}: not on {arch}"),
            EncodeError::Unguarded { opcode } => write!(f, "{opcode}: has no guard"),
            EncodeError::Control { opcode } => {
                write!(f, "{opcode}: no form can have this control word")
            }
            EncodeError::GuardNumber { pred } => write!(f, "guard: no predicate {pred}"),
            EncodeError::Modifiers { opcode, modifiers } => {
                write!(f, "{opcode}: no form with the modifiers `{modifiers}`")
            }
            EncodeError::Operand {
                opcode,
                index,
                mismatch,
            } => write!(f, "{opcode}, operand {index}: {mismatch}"),
            EncodeError::TooFewOperands { opcode, given } => {
                write!(f, "{opcode}: {given} operands are too few")
            }
            EncodeError::TooManyOperands { opcode, given } => {
                write!(f, "{opcode}: {given} operands are too many")
            }
            EncodeError::Together { opcode } => {
                write!(
                    f,
                    "{opcode}: these operands and modifiers exclude each other"
                )
            }
            EncodeError::ControlBits { opcode, bits } => {
                write!(f, "{opcode}: needs the bits {bits:03b} of its control word")
            }
            EncodeError::NoTarget { word } => {
                write!(
                    f,
                    "word {word:016x}: no code target that is a number in the word"
                )
            }
            EncodeError::TargetRange { word, value } => {
                write!(f, "word {word:016x}: its target field cannot be {value:#x}")
            }
            EncodeError::NoInstruction { word } => write!(f, "word {word:016x}: no instruction"),
        }
    }
}

impl Error for EncodeError {}
