//! Encoding forms: the rows of a table (format: `isa/nvidia/README.md`).
//!
//! A row has fixed bits, effects and a template of the text. For example, the row of `IADD` with three registers has
//! the mask fff8000000000000 on Maxwell, the effect `-` (none), and an operand `{=R7:0 cc=47}`: a destination in bits 7:0 that
//! sets the condition code if bit 47 is set.

use super::arch::Arch;
use super::brief::Steps;
use super::dialect::Dialect;
use super::encode::NamedField;
use super::field::{Cond, Field};
use super::names::{ListFile, NamesId, TimingId};
use super::opcode::Opcode;
use super::template::{ItemKind, Piece, Template};
use crate::encoding::RowHead;
use crate::instr::{MemoryEffect, MemorySpace, StackToken};
use std::sync::OnceLock;
use warpbound_base::{BitRange, Bits, Named};

/// Index of a row of the form table.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FormId(pub(crate) u16);

/// Dependence of the written value on anything apart from the operands.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) enum Origin {
    #[default]
    Operands,
    Memory,
    Lane,
    Uniform,
    /// Special register: the list of their names, and the field with the number.
    Special(NamesId, BitRange),
}

/// Control-flow kind of a row; the target comes from the operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum FlowKind {
    #[default]
    Next,
    Branch,
    BranchRegister,
    JumpRegister,
    Call,
    Push(StackToken),
    Pop(StackToken),
    LinkedCall,
    LinkedIndirect,
    Return,
    OpenBarrier,
    JoinBarrier,
    BreakBarrier,
    /// Moves a convergence barrier into a register, and clears it if the bit is set.
    SaveBarrier(u8),
    WriteBarrier,
    /// Lets lanes pass a convergence barrier.
    Release,
    /// The same; if the bit is set, lanes may continue at the target.
    Collective(u8),
    /// BRA, which each lane takes or not if this bit is set.
    BranchOrFree(u8),
    Exit,
    Unsupported,
}

impl FlowKind {
    /// Whether predicate operands are conditions of a control transfer.
    pub(crate) fn has_condition(self) -> bool {
        !matches!(
            self,
            FlowKind::Next | FlowKind::Release | FlowKind::Unsupported
        )
    }
}

/// Use of bits 124:122 of a word of 128 bits. With a stall code from 17 on they keep operands in the reuse cache, if
/// the form has such operands. Otherwise they are a code for batches of instructions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ControlHints {
    /// Bits of the operands that the reuse cache can keep.
    Reuse(u64),
    /// Always a code for batches: instructions of variable latency.
    Batch,
}

impl ControlHints {
    /// Whether stall code and bits fit together.
    #[inline]
    pub(crate) fn allow(self, word: u128) -> bool {
        const STALL: BitRange = BitRange { hi: 109, lo: 105 };
        const HINTS: BitRange = BitRange { hi: 124, lo: 122 };
        let kind = match self {
            ControlHints::Reuse(operands) => operands as usize,
            ControlHints::Batch => BATCH,
        };
        let of_kind = ALLOWED_HINTS.get(kind);
        let allowed = of_kind.and_then(|allowed| allowed.get(word.field(STALL) as usize));
        allowed.is_some_and(|allowed| allowed >> word.field(HINTS) & 1 == 1)
    }

    /// Whether the bits keep operands in the reuse cache.
    #[inline]
    pub(crate) fn are_reuse(self, word: u128) -> bool {
        // Both sides are computed, because a branch on a stall code is often predicted wrong.
        word.bit(109) & (self != ControlHints::Batch)
    }
}

/// Index of [`ControlHints::Batch`] in [`ALLOWED_HINTS`]; the sets of operands come before it.
const BATCH: usize = 8;

/// For each kind of hints and each stall code, the values of the bits that are allowed, one bit for each. A table,
/// because branches on stall codes are often predicted wrong.
static ALLOWED_HINTS: [[u8; 32]; BATCH + 1] = {
    let mut allowed = [[0; 32]; BATCH + 1];
    let mut at = 0;
    while at < allowed.len() * 256 {
        let (kind, stall, hints) = (at / 256, at / 8 % 32, at % 8);
        allowed[kind][stall] |= (allows(kind, stall, hints) as u8) << hints;
        at += 1;
    }
    allowed
};

const fn allows(kind: usize, stall: usize, hints: usize) -> bool {
    /// Highest code for batches.
    const LAST: usize = 5;
    match (stall, kind) {
        (16 | 28.., _) => false,
        (0, _) => hints == 0,
        (17.., 0..BATCH) => hints & !kind == 0,
        // Code 3 asks for an operand that these forms lack.
        (_, 0) => hints <= LAST && hints != 3,
        _ => hints <= LAST,
    }
}

/// Effects of a form apart from reading and writing its operands: the second column of the row.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct RowEffects {
    pub(crate) origin: Origin,
    pub(crate) flow: FlowKind,
    /// Memory access: space, whether it loads, whether it stores.
    pub(crate) access: Option<(MemorySpace, bool, bool)>,
    pub(crate) barrier: bool,
    pub(crate) reads_cc: bool,
    pub(crate) unguarded: bool,
    /// Whether the word is not an instruction although a less specific row matches.
    pub(crate) illegal: bool,
    /// Conditions that make the control flow unsupported by the analyses.
    pub(crate) refused: Vec<Cond>,
    /// Condition under which a control transfer depends on the lanes that execute it together.
    pub(crate) of_group: Option<Cond>,
    /// Bits that must be zero for the word to be an instruction.
    pub(crate) zero_bits: Option<BitRange>,
    /// Whether the guard is a predicate of the uniform datapath.
    pub(crate) uniform_guard: bool,
    /// Use of the bits beside the stall count of a word of 128 bits; `None` if no bits are checked.
    pub(crate) hints: Option<ControlHints>,
    /// Conditions under which the word is not an instruction.
    pub(crate) never: Vec<Cond>,
    /// Those of them under which NVIDIA's disassembler stops, because two of its operation classes match.
    pub(crate) ambiguous: Vec<Cond>,
    /// Further fields, beside the template, with values that are not an instruction.
    pub(crate) legal: Vec<(NamesId, Field)>,
    /// First of two uniform registers with a descriptor that the text does not show.
    pub(crate) descriptor: Option<BitRange>,
    /// Mask of the lanes of each quad that the instruction writes, if the form has one.
    pub(crate) quad_mask: Option<BitRange>,
}

impl RowEffects {
    /// Memory access of the form.
    pub(crate) fn memory_effect(&self) -> Option<MemoryEffect> {
        self.access.map(|(space, loads, stores)| MemoryEffect {
            space,
            loads,
            stores,
        })
    }
}

/// Encoding form: one row of the table.
#[derive(Clone, Debug)]
pub struct Form {
    /// Bits that must equal [`Form::value`].
    pub mask: u128,
    /// Values of the fixed bits.
    pub value: u128,
    /// Row without its last columns.
    head: &'static RowHead,
    pub(crate) dialect: &'static Dialect,
    opcode: Opcode,
    pub(crate) timing: Vec<TimingChoice>,
    pub(crate) effects: RowEffects,
    pub(crate) template: Template,
    /// Fields printed with a list of names. A value without a name makes the word illegal.
    pub(crate) name_fields: Vec<(NamesId, Field)>,
    /// Found when a word of the row is first taken apart.
    pub(super) fields: OnceLock<Vec<NamedField>>,
    /// Made when a word of the row is first printed.
    steps: OnceLock<Steps>,
}

impl Form {
    /// Opcode.
    pub fn opcode(&self) -> Opcode {
        self.opcode
    }

    /// Opcode name, without modifiers: `FFMA`.
    pub fn mnemonic(&self) -> &'static str {
        self.opcode.name()
    }

    /// Template prepared for printing.
    pub(crate) fn steps(&self) -> &Steps {
        self.steps
            .get_or_init(|| Steps::of(self.mnemonic(), &self.template, self.dialect))
    }

    /// Whether the row encodes an instruction. Otherwise it excludes words that a less specific row matches.
    pub fn is_instruction(&self) -> bool {
        !self.effects.illegal
    }

    /// Whether there are words of the row at which NVIDIA's disassembler stops.
    pub fn has_ambiguous_words(&self) -> bool {
        !self.effects.ambiguous.is_empty()
    }

    /// Whether it stops at this word, if no narrower row matches the word.
    pub fn is_ambiguous(&self, word: u128) -> bool {
        word & self.mask == self.value && self.effects.ambiguous.iter().any(|cond| cond.holds(word))
    }

    /// Whether the architecture has the form.
    pub fn exists_on(&self, arch: Arch) -> bool {
        arch.family() == self.dialect.family
            && self.head.archs.has(self.dialect.index_of(arch.sm()))
    }

    /// Parses the row of a head; `line` and `timing` are the texts of the row and of its timing column. The error
    /// names the column that cannot be parsed.
    pub(crate) fn parse(
        dialect: &'static Dialect,
        opcode: Opcode,
        head: &'static RowHead,
        line: &'static str,
        timing: &'static str,
    ) -> Result<Form, String> {
        let mut columns = line.splitn(3, '|').skip(1);
        let (Some(effects), Some(template)) = (columns.next(), columns.next()) else {
            return Err("three columns expected".to_string());
        };
        let template = template.trim_ascii();
        // The build script has parsed the mnemonic.
        let template = template.strip_prefix(opcode.name()).unwrap_or(template);
        let template = Template::parse(template, dialect)?;
        let lists = dialect.lists;
        let effects = parse_effects(effects, lists)?;
        let mut spelled = name_fields(&template);
        spelled.extend(effects.legal.iter().cloned());
        Ok(Form {
            mask: head.mask,
            value: head.value,
            head,
            dialect,
            opcode,
            timing: parse_timing(timing, lists).ok_or_else(|| format!("bad timing `{timing}`"))?,
            effects,
            template,
            name_fields: spelled,
            fields: OnceLock::new(),
            steps: OnceLock::new(),
        })
    }
}

fn name_fields(template: &Template) -> Vec<(NamesId, Field)> {
    let mut out = Vec::new();
    for piece in template.pieces() {
        match piece {
            Piece::Name { names, field, .. } => out.push((*names, field.clone())),
            Piece::Item(item) => {
                out.extend(item.select.clone());
                if let ItemKind::Brackets(brackets) = &item.kind {
                    out.extend(brackets.lists().map(|(id, field)| (id, field.clone())));
                }
            }
            Piece::Literal(_) | Piece::Flag { .. } | Piece::ImadAlias(_) => {}
        }
    }
    out
}

/// Condition on a field, and the timing class that applies if it holds.
type TimingChoice = (Option<(BitRange, u64)>, TimingId);

/// Parses `xu;11:10=3:dconv`: the class, then exceptions `bits=value:class`. The last one that holds wins.
fn parse_timing(text: &'static str, lists: &ListFile) -> Option<Vec<TimingChoice>> {
    let known = |name| lists.timing_id(name);
    let mut out = Vec::new();
    for part in text.split(';') {
        // From the right, because a range of bits has a colon of its own: `11:10=3:dconv`.
        match part.rsplit_once(':') {
            None => out.push((None, known(part)?)),
            Some((condition, class)) => {
                let (range, value) = condition.split_once('=')?;
                out.push((
                    Some((parse_range(range)?, value.parse().ok()?)),
                    known(class)?,
                ));
            }
        }
    }
    Some(out)
}

fn parse_range(text: &str) -> Option<BitRange> {
    let (hi, lo) = text.split_once(':')?;
    Some(BitRange {
        hi: hi.parse().ok()?,
        lo: lo.parse().ok()?,
    })
}

fn parse_effects(text: &str, lists: &ListFile) -> Result<RowEffects, String> {
    let mut effects = RowEffects::default();
    for word in text.split_whitespace() {
        parse_effect(word, lists, &mut effects).ok_or_else(|| format!("cannot read `{word}`"))?;
    }
    Ok(effects)
}

fn parse_effect(word: &str, lists: &ListFile, effects: &mut RowEffects) -> Option<()> {
    let (name, value) = word.split_once(':').unwrap_or((word, ""));
    match name {
        "-" => {}
        "lane" => effects.origin = Origin::Lane,
        "memory" => effects.origin = Origin::Memory,
        "uniform" => effects.origin = Origin::Uniform,
        "special" => {
            let (list, field) = value.split_once(':')?;
            effects.origin = Origin::Special(lists.names_id(list)?, parse_range(field)?);
        }
        "rcc" => effects.reads_cc = true,
        "refuse" => effects.refused.push(Cond::parse(value)?),
        "group" => effects.of_group = Some(Cond::parse(value)?),
        "zero" => effects.zero_bits = Some(parse_range(value)?),
        "descriptor" => effects.descriptor = Some(parse_range(value)?),
        "quad" => effects.quad_mask = Some(parse_range(value)?),
        "noguard" => effects.unguarded = true,
        "batch" => effects.hints = Some(ControlHints::Batch),
        "reuse" => {
            let operands = value.parse().ok().filter(|&operands| operands < 8)?;
            effects.hints = Some(ControlHints::Reuse(operands));
        }
        "uguard" => effects.uniform_guard = true,
        "never" => effects.never.push(Cond::parse(value)?),
        "ambiguous" => {
            effects.never.push(Cond::parse(value)?);
            effects.ambiguous.push(Cond::parse(value)?);
        }
        "legal" => {
            let (list, field) = value.split_once('@')?;
            effects
                .legal
                .push((lists.names_id(list)?, Field::parse(field)?));
        }
        "illegal" => effects.illegal = true,
        "bar" => effects.barrier = true,
        "branch" => {
            effects.flow = match value {
                "" => FlowKind::Branch,
                bit => FlowKind::BranchOrFree(bit.parse().ok()?),
            };
        }
        "brx" => effects.flow = FlowKind::BranchRegister,
        "jmx" => effects.flow = FlowKind::JumpRegister,
        "call" => effects.flow = FlowKind::Call,
        "linkr" => effects.flow = FlowKind::LinkedIndirect,
        "link" => effects.flow = FlowKind::LinkedCall,
        "return" => effects.flow = FlowKind::Return,
        "open" => effects.flow = FlowKind::OpenBarrier,
        "join" => effects.flow = FlowKind::JoinBarrier,
        "break" => effects.flow = FlowKind::BreakBarrier,
        "save" => effects.flow = FlowKind::SaveBarrier(value.parse().ok()?),
        "release" => effects.flow = FlowKind::Release,
        "collective" => effects.flow = FlowKind::Collective(value.parse().ok()?),
        "setb" => effects.flow = FlowKind::WriteBarrier,
        "exit" => effects.flow = FlowKind::Exit,
        "unsupported" => effects.flow = FlowKind::Unsupported,
        "push" => effects.flow = FlowKind::Push(StackToken::from_name(value)?),
        "pop" => effects.flow = FlowKind::Pop(StackToken::from_name(value)?),
        "access" => {
            let (space, kind) = value.split_once(':')?;
            let space = MemorySpace::from_name(space)?;
            effects.access = Some(match kind {
                "ld" => (space, true, false),
                "st" => (space, false, true),
                "rw" => (space, true, true),
                "none" => (space, false, false),
                _ => return None,
            });
        }
        _ => return None,
    }
    Some(())
}
