//! Results of integer instructions, computed from their assembly text on wide integers and single bits: the reference
//! of the meanings in `warpbound_ir`, with which it shares only the names of registers.

mod arithmetic;
mod bits;
mod compare;
mod video;

use warpbound_ir::Cell;
use warpbound_isa::nvidia::Spelling;
use warpbound_isa::{Operand, OperandRole, OperandValue};

use super::variants::SpelledView;

/// State of a lane that an instruction reads.
#[derive(Clone, Debug)]
pub struct InstrInputs {
    /// General registers.
    pub registers: [u32; 16],
    /// Predicates.
    pub predicates: [bool; 7],
    /// Condition code: zero, sign, carry and overflow in bits 0 to 3.
    pub flags: u32,
    /// The word at every address of every constant bank.
    pub constant: u32,
    /// Index of the lane.
    pub lane: u32,
}

/// Written cells with their values.
pub type InstrOutputs = Vec<(Cell, u32)>;

/// Reference of a group of instructions.
type Rule = fn(&InstrCase<'_>) -> Option<InstrOutputs>;

/// Returns the name of the file with the reference of an instruction, by mnemonic.
pub fn file_of(mnemonic: &str) -> Option<&'static str> {
    rule(mnemonic).map(|(file, _)| file)
}

fn rule(mnemonic: &str) -> Option<(&'static str, Rule)> {
    Some(match mnemonic {
        "IADD" | "IADD32I" | "IADD3" | "ISCADD" | "ISCADD32I" | "LEA" | "IMUL" | "IMUL32I"
        | "IMAD" | "IMAD32I" | "XMAD" | "IMNMX" | "I2I" => ("arithmetic", arithmetic::outputs),
        "LOP" | "LOP32I" | "LOP3" | "SHL" | "SHR" | "SHF" | "BFE" | "BFI" | "POPC" | "FLO"
        | "PRMT" | "SEL" | "MOV" | "MOV32I" => ("bits", bits::outputs),
        "ISET" | "ISETP" | "ICMP" | "PSET" | "PSETP" | "CSET" | "CSETP" | "P2R" | "R2P" => {
            ("compare", compare::outputs)
        }
        "VADD" | "VABSDIFF" | "VMNMX" | "VSHL" | "VSHR" | "VSET" | "VSETP" | "VMAD"
        | "VABSDIFF4" | "IDP" => ("video", video::outputs),
        _ => return None,
    })
}

/// Returns the cells that an instruction writes; `None` when the reference does not cover the form.
pub fn outputs(instr: &SpelledView, inputs: &InstrInputs) -> Option<InstrOutputs> {
    let (_, rule) = rule(instr.spelling.mnemonic)?;
    rule(&InstrCase::of(instr, inputs))
}

/// An instruction with its operands and the state that it reads.
struct InstrCase<'a> {
    spelling: &'a Spelling,
    inputs: &'a InstrInputs,
    reads: Vec<&'a Operand>,
    writes: Vec<&'a Operand>,
}

impl<'a> InstrCase<'a> {
    fn of(instr: &'a SpelledView, inputs: &'a InstrInputs) -> InstrCase<'a> {
        let write_with_flags = |role| instr.view.operands.iter().filter(move |o| o.role == role);
        InstrCase {
            spelling: &instr.spelling,
            inputs,
            reads: write_with_flags(OperandRole::Read).collect(),
            writes: write_with_flags(OperandRole::Write).collect(),
        }
    }

    fn has(&self, modifier: &str) -> bool {
        self.spelling.modifiers.contains(&modifier)
    }

    /// Bits of a read operand, without its modifiers.
    fn operand_bits(&self, index: usize) -> u32 {
        match self.reads[index].value {
            OperandValue::Reg(None) => 0,
            OperandValue::Reg(Some(n)) => self.inputs.registers[usize::from(n)],
            OperandValue::Int(n) => n as u32,
            OperandValue::Const { .. } => self.inputs.constant,
            other => unreachable!("{other:?}"),
        }
    }

    fn is_negated(&self, index: usize) -> bool {
        self.reads[index].negate
    }

    fn select(&self, index: usize) -> &'static str {
        self.reads[index].select
    }

    fn immediate(&self, index: usize) -> Option<u32> {
        match self.reads[index].value {
            OperandValue::Int(n) => Some(n as u32),
            _ => None,
        }
    }

    /// Value of the predicate at an index among the operands that are read.
    fn predicate(&self, index: usize) -> bool {
        let OperandValue::Pred { pred, negated } = self.reads[index].value else {
            unreachable!("{:?}", self.reads[index]);
        };
        pred.is_none_or(|n| self.inputs.predicates[usize::from(n)]) != negated
    }

    fn flag(&self, index: u32) -> bool {
        self.inputs.flags >> index & 1 == 1
    }

    fn zero(&self) -> bool {
        self.flag(0)
    }

    fn carry(&self) -> bool {
        self.flag(2)
    }

    fn sets_cc(&self) -> bool {
        self.writes.iter().any(|operand| operand.sets_cc)
    }

    /// Register that is written, unless it is RZ.
    fn register(&self) -> Option<Cell> {
        self.writes.iter().find_map(|operand| match operand.value {
            OperandValue::Reg(register) => register.map(Cell::gpr),
            _ => None,
        })
    }

    /// Predicates that are written, in order; `None` for PT.
    fn written_predicates(&self) -> Vec<Option<Cell>> {
        let of = |operand: &&Operand| match operand.value {
            OperandValue::Pred { pred, .. } => Some(pred.map(Cell::pred)),
            _ => None,
        };
        self.writes.iter().filter_map(of).collect()
    }

    /// Writes a value to the register; `None` if the instruction also sets the condition code.
    fn write_register(&self, value: i128) -> Option<InstrOutputs> {
        (!self.sets_cc()).then(|| self.with(value, None))
    }

    /// Writes a value to the register, and the flags to the condition code if the instruction sets it.
    fn with(&self, value: i128, flags: Option<[bool; 4]>) -> InstrOutputs {
        let mut out: InstrOutputs = self
            .register()
            .map(|cell| (cell, value as u32))
            .into_iter()
            .collect();
        if let Some(flags) = flags.filter(|_| self.sets_cc()) {
            let bits = flags
                .iter()
                .rev()
                .fold(0, |bits, &flag| bits << 1 | u32::from(flag));
            out.push((Cell::CC, bits));
        }
        out
    }

    /// Writes bits to the register, and their sign and zero flag to the condition code. With `chained`, the zero flag
    /// also requires the zero flag of the lower words.
    fn write_bits(&self, value: u32, chained: bool) -> InstrOutputs {
        let is_zero = value == 0 && (!chained || self.zero());
        let flags = [is_zero, value >> 31 == 1, false, false];
        self.with(value.into(), Some(flags))
    }
}

/// Sign-extends the low bits of a word.
fn sign_extend(value: u32, bits: u32) -> i128 {
    let whole = i128::from(value) & ((1 << bits) - 1);
    if whole >> (bits - 1) & 1 == 1 {
        whole - (1 << bits)
    } else {
        whole
    }
}

/// Bit field of a word as a number: first bit, number of bits, signedness.
fn bit_field(value: u32, from: u32, bits: u32, with_sign: bool) -> i128 {
    let part = value >> from;
    match with_sign {
        true => sign_extend(part, bits),
        false => i128::from(part) & ((1 << bits) - 1),
    }
}
