//! Results of integer instructions with words of 128 bits, computed on wide integers and single bits from the text that
//! NVIDIA's disassembler printed: the reference of the meanings in `warpbound_ir` from Turing on. It shares neither a
//! function with them nor the decoder, so a word that is decoded wrongly is found, too.

mod arithmetic;
mod bits;
mod compare;
mod syntax;

use smallvec::SmallVec;
use warpbound_ir::Cell;
use warpbound_isa::Reg;

pub use syntax::WideInstr;
use syntax::{RegisterName, SourceOperand, SourceValue};

/// State of a lane that an instruction reads.
#[derive(Clone, Debug)]
pub struct WideInputs {
    /// General registers.
    pub registers: [u32; 256],
    /// Uniform registers.
    pub uniform: [u32; 256],
    /// Predicates.
    pub predicates: [bool; 8],
    /// Uniform predicates.
    pub uniform_predicates: [bool; 8],
    /// Words of the constant banks, which [`WideInputs::constant`] repeats.
    pub constants: Vec<u32>,
    /// Place among them of the first byte of bank 0.
    pub first_constant: usize,
}

impl WideInputs {
    /// Returns the word at a byte of a constant bank; each byte has a word of its own.
    pub fn constant(&self, bank: u8, byte: u32) -> u32 {
        let place = self.first_constant + 67 * usize::from(bank) + byte as usize;
        self.constants[place % self.constants.len()]
    }

    fn register(&self, name: RegisterName) -> u32 {
        match name.uniform {
            false => self.registers[usize::from(name.number)],
            true => self.uniform[usize::from(name.number)],
        }
    }
}

/// Written cells with their values.
pub type WideOutputs = SmallVec<[(Cell, u32); 8]>;

/// Reference of a group of instructions.
type Rule = fn(&WideCase<'_>) -> Option<WideOutputs>;

fn rule(mnemonic: &str) -> Option<Rule> {
    Some(match mnemonic {
        "IADD3" | "IADD" | "VIADD" => arithmetic::sum,
        "IMAD" => arithmetic::product_and_sum,
        "LEA" => arithmetic::scaled_sum,
        "IABS" => arithmetic::absolute,
        "IMNMX" | "VIMNMX" => arithmetic::min_max,
        "VIMNMX3" | "VIADDMNMX" => arithmetic::min_max_of_three,
        "VABSDIFF" => arithmetic::difference_and_sum,
        "VABSDIFF4" => arithmetic::differences_of_bytes,
        "IDP" => arithmetic::dot_product,
        "SHF" => bits::shift,
        "LOP3" => bits::look_up,
        "POPC" => bits::population,
        "FLO" => bits::find_leading_one,
        "BREV" => bits::reversed,
        "PRMT" => bits::permute,
        "SGXT" => bits::extension,
        "BMSK" => bits::bit_mask,
        "MOV" => bits::moved,
        "CS2R" => bits::zeros,
        "LDC" | "LDCU" => bits::loaded_constant,
        "ISETP" => compare::set_predicates,
        "PLOP3" => compare::predicate_look_up,
        "SEL" => compare::select,
        "P2R" => compare::predicates_to_register,
        "R2P" => compare::register_to_predicates,
        _ => return None,
    })
}

/// Mnemonic without the letter of the uniform datapath, whose instructions compute the same.
fn without_datapath(mnemonic: &str) -> &str {
    match mnemonic.strip_prefix('U') {
        Some(rest) if rule(rest).is_some() => rest,
        _ => mnemonic,
    }
}

/// Whether instructions of this name have a reference.
pub fn has_reference(mnemonic: &str) -> bool {
    rule(without_datapath(mnemonic)).is_some()
}

/// Returns the cells that an instruction writes; `None` when the reference does not cover the form.
pub fn outputs(instr: &WideInstr<'_>, inputs: &WideInputs) -> Option<WideOutputs> {
    // Only R2P selects a part of a register, which its rule checks.
    let is_known = |operand: &SourceOperand<'_>| {
        !operand.absolute && (operand.suffix.is_empty() || instr.base == "R2P")
    };
    if !instr.reads.iter().all(is_known) {
        return None;
    }
    rule(instr.base)?(&WideCase { instr, inputs })
}

/// An instruction and the state that it reads.
struct WideCase<'a> {
    instr: &'a WideInstr<'a>,
    inputs: &'a WideInputs,
}

impl WideCase<'_> {
    fn has(&self, modifier: &str) -> bool {
        self.instr.modifiers.contains(&modifier)
    }

    /// Fails if there is a modifier that the rule does not know.
    fn knows_only(&self, modifiers: &[&str]) -> Option<()> {
        let mut all = self.instr.modifiers.iter();
        all.all(|modifier| modifiers.contains(modifier))
            .then_some(())
    }

    fn operand(&self, index: usize) -> Option<&SourceOperand<'_>> {
        self.instr.reads.get(index)
    }

    /// Source operand without its sign, as an unsigned number of 32 or 64 bits.
    fn bare(&self, index: usize, bits: u32) -> Option<i128> {
        let word = |number: u8| -> Option<u32> {
            Some(match self.operand(index)?.value {
                SourceValue::Register(None) => 0,
                SourceValue::Register(Some(name)) => self.inputs.register(name.after(number)),
                SourceValue::Number(value) => (value >> (32 * u32::from(number))) as u32,
                SourceValue::Constant { bank, .. } => {
                    let byte = self
                        .constant_byte(index)?
                        .wrapping_add(4 * u32::from(number));
                    self.inputs.constant(bank, byte)
                }
                _ => return None,
            })
        };
        let low = i128::from(word(0)?);
        Some(match bits {
            32 => low,
            _ => low + (i128::from(word(1)?) << 32),
        })
    }

    /// Byte of a constant bank at which a source operand is.
    fn constant_byte(&self, index: usize) -> Option<u32> {
        let SourceValue::Constant { bases, offset, .. } = self.operand(index)?.value else {
            return None;
        };
        let bases = bases.into_iter().flatten();
        let sum: i128 = bases
            .map(|name| i128::from(self.inputs.register(name)))
            .sum();
        Some(low_bits(sum + i128::from(offset), 32) as u32)
    }

    /// Source operand as what an adder adds: the complement for `~`, and the complement plus 1 for `-`.
    fn summand(&self, index: usize, bits: u32) -> Option<i128> {
        let bare = self.bare(index, bits)?;
        let operand = self.operand(index)?;
        let complement = (1 << bits) - 1 - bare;
        Some(match (operand.minus, operand.complement) {
            (false, false) => bare,
            (false, true) => complement,
            (true, false) => complement + 1,
            (true, true) => return None,
        })
    }

    /// Source operand with its sign or complement, as an unsigned number of 32 or 64 bits.
    fn value(&self, index: usize, bits: u32) -> Option<i128> {
        Some(low_bits(self.summand(index, bits)?, bits))
    }

    fn word(&self, index: usize) -> Option<u32> {
        Some(self.value(index, 32)? as u32)
    }

    /// Source operand as a number with or without a sign.
    fn number(&self, index: usize, bits: u32, signed: bool) -> Option<i128> {
        let value = self.value(index, bits)?;
        Some(if signed {
            signed_number(value, bits)
        } else {
            value
        })
    }

    fn immediate(&self, index: usize) -> Option<u32> {
        match self.operand(index)?.value {
            SourceValue::Number(value) => Some(value as u32),
            _ => None,
        }
    }

    fn predicate(&self, index: usize) -> Option<bool> {
        let operand = self.operand(index)?;
        let SourceValue::Predicate(name) = operand.value else {
            return None;
        };
        let value = name.is_none_or(|name| match name.uniform {
            false => self.inputs.predicates[usize::from(name.number)],
            true => self.inputs.uniform_predicates[usize::from(name.number)],
        });
        Some(value != operand.not)
    }

    /// Writes the low bits of a number to the register, or to a pair of them for 64 bits.
    fn write(&self, value: i128, bits: u32) -> WideOutputs {
        let Some(first) = self.instr.register else {
            return WideOutputs::new();
        };
        let words = (0..bits / 32).map(|number| {
            let cell = first.after(number as u8).cell();
            (cell, (value >> (32 * number)) as u32)
        });
        words.collect()
    }

    /// Writes a word to the register; fails if a predicate is written, too.
    fn write_only(&self, value: i128, bits: u32) -> Option<WideOutputs> {
        let mut predicates = self.instr.predicates.iter();
        predicates
            .all(Option::is_none)
            .then(|| self.write(value, bits))
    }

    /// Writes truth values to the predicates.
    fn write_predicates(&self, truths: &[bool], out: &mut WideOutputs) {
        for (name, &truth) in self.instr.predicates.iter().zip(truths) {
            out.extend(name.map(|name| (name.predicate_cell(), truth.into())));
        }
    }
}

impl RegisterName {
    fn after(self, number: u8) -> RegisterName {
        RegisterName {
            number: self.number.wrapping_add(number),
            ..self
        }
    }

    fn cell(self) -> Cell {
        match self.uniform {
            false => Cell::gpr(self.number),
            true => Cell::of(Reg::uniform(self.number)),
        }
    }

    fn predicate_cell(self) -> Cell {
        match self.uniform {
            false => Cell::pred(self.number),
            true => Cell::of(Reg::uniform_predicate(self.number)),
        }
    }
}

/// Low bits of a number, as an unsigned number.
fn low_bits(value: i128, bits: u32) -> i128 {
    value.rem_euclid(1 << bits)
}

/// Number in two's complement of the low bits of a number.
fn signed_number(value: i128, bits: u32) -> i128 {
    let whole = low_bits(value, bits);
    match whole >= 1 << (bits - 1) {
        true => whole - (1 << bits),
        false => whole,
    }
}

/// Part of a word at a bit, as a number.
fn part(value: i128, from: u32, bits: u32, signed: bool) -> i128 {
    match signed {
        true => signed_number(value >> from, bits),
        false => low_bits(value >> from, bits),
    }
}
