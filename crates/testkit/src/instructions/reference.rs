//! What integer instructions compute, from their spelling, on wide integers and single bits: the reference of the
//! meanings. Nothing here is shared with them but the names of registers.

mod arithmetic;
mod bits;
mod compare;
mod video;

use warpbound_ir::Cell;
use warpbound_isa::{Operand, OperandRole, OperandValue, View};

/// What an instruction finds in a lane.
#[derive(Clone, Debug)]
pub struct Inputs {
    /// General registers.
    pub registers: [u32; 16],
    /// Predicates.
    pub predicates: [bool; 7],
    /// Zero, sign, carry and overflow, in bits 0 to 3.
    pub flags: u32,
    /// The word at every place of every constant bank.
    pub constant: u32,
    /// The number of the lane.
    pub lane: u32,
}

/// What cells get.
pub type Outputs = Vec<(Cell, u32)>;

type Rule = fn(&Case<'_>) -> Option<Outputs>;

/// The file with the reference of an instruction, by its mnemonic.
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

/// What an instruction writes; `None` when the reference does not know the form.
pub fn outputs(view: &View, inputs: &Inputs) -> Option<Outputs> {
    let (_, rule) = rule(view.mnemonic)?;
    rule(&Case::of(view, inputs))
}

/// An instruction with what it finds.
struct Case<'a> {
    view: &'a View,
    inputs: &'a Inputs,
    reads: Vec<&'a Operand>,
    writes: Vec<&'a Operand>,
}

impl<'a> Case<'a> {
    fn of(view: &'a View, inputs: &'a Inputs) -> Case<'a> {
        let with = |role| view.operands.iter().filter(move |o| o.role == role);
        Case {
            view,
            inputs,
            reads: with(OperandRole::Read).collect(),
            writes: with(OperandRole::Write).collect(),
        }
    }

    fn has(&self, modifier: &str) -> bool {
        self.view.modifiers.contains(&modifier)
    }

    /// The bits of a read operand, whatever stands around it.
    fn bits(&self, place: usize) -> u32 {
        match self.reads[place].value {
            OperandValue::Reg(None) => 0,
            OperandValue::Reg(Some(n)) => self.inputs.registers[usize::from(n)],
            OperandValue::Int(n) => n as u32,
            OperandValue::Const { .. } => self.inputs.constant,
            other => unreachable!("{other:?}"),
        }
    }

    fn minus(&self, place: usize) -> bool {
        self.reads[place].negate
    }

    fn select(&self, place: usize) -> &'static str {
        self.reads[place].select
    }

    fn number(&self, place: usize) -> Option<u32> {
        match self.reads[place].value {
            OperandValue::Int(n) => Some(n as u32),
            _ => None,
        }
    }

    /// The predicate at a place among the operands that are read.
    fn predicate(&self, place: usize) -> bool {
        let OperandValue::Pred { pred, negated } = self.reads[place].value else {
            unreachable!("{:?}", self.reads[place]);
        };
        pred.is_none_or(|n| self.inputs.predicates[usize::from(n)]) != negated
    }

    fn flag(&self, place: u32) -> bool {
        self.inputs.flags >> place & 1 == 1
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

    /// The register that is written, unless it is RZ.
    fn register(&self) -> Option<Cell> {
        self.writes.iter().find_map(|operand| match operand.value {
            OperandValue::Reg(register) => register.map(Cell::gpr),
            _ => None,
        })
    }

    /// The predicates that are written, in their order.
    fn written_predicates(&self) -> Vec<Option<Cell>> {
        let of = |operand: &&Operand| match operand.value {
            OperandValue::Pred { pred, .. } => Some(pred.map(Cell::pred)),
            _ => None,
        };
        self.writes.iter().filter_map(of).collect()
    }

    /// The register gets a value.
    fn plain(&self, value: i128) -> Option<Outputs> {
        (!self.sets_cc()).then(|| self.with(value, None))
    }

    /// The register gets a value, the condition code flags where it is asked for.
    fn with(&self, value: i128, flags: Option<[bool; 4]>) -> Outputs {
        let mut out: Outputs = self
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

    /// The register gets bits, the condition code their sign and whether they, and words before them, are 0.
    fn of_bits(&self, value: u32, chained: bool) -> Outputs {
        let is_zero = value == 0 && (!chained || self.zero());
        let flags = [is_zero, value >> 31 == 1, false, false];
        self.with(value.into(), Some(flags))
    }
}

/// The low bits of a number with its sign.
fn signed(value: u32, bits: u32) -> i128 {
    let whole = i128::from(value) & ((1 << bits) - 1);
    if whole >> (bits - 1) & 1 == 1 {
        whole - (1 << bits)
    } else {
        whole
    }
}

/// Part of a word as a number: where it begins, how many bits it has, whether it has a sign.
fn part(value: u32, from: u32, bits: u32, with_sign: bool) -> i128 {
    let part = value >> from;
    match with_sign {
        true => signed(part, bits),
        false => i128::from(part) & ((1 << bits) - 1),
    }
}
