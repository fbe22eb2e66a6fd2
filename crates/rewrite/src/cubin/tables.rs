//! Addresses of code in constant bank 2: jump tables, and functions that pointers select.
//!
//! The bank also holds literals. For example, the word 0x48 may be a target or the number 72. A word counts as an
//! address only if an indirect branch loads it and nothing else reads it. Where that is not certain, the kernel is
//! refused.

use std::collections::{BTreeMap, BTreeSet};

use warpbound_base::{CodeAddr, ConstantBanks, Diagnostic};
use warpbound_isa::nvidia::{InstrClass, OperandValue, SassInstr, SassProgram, View};
use warpbound_isa::{OperandRole, Reg};

use crate::code::CodeMap;

/// Constant bank with the literals of the compiler.
pub(super) const LITERALS: u8 = ConstantBanks::OF_CUBINS.literals;

/// Targets of an indirect branch, as the attributes of the file list them.
pub(super) struct ListedBranch {
    /// Whether it is a call.
    pub(super) is_call: bool,
    pub(super) targets: Vec<CodeAddr>,
}

/// Indirect branches of a section and all reads of bank 2.
struct Reads {
    /// Byte offsets of words that an instruction reads by a fixed offset.
    fixed: BTreeSet<u32>,
    /// Start of the words that an instruction reads at an offset in a register, and whether every such result is a
    /// target.
    indexed: BTreeMap<u32, bool>,
    /// Indirect branches, each with the start of its table if known.
    branches: Vec<(CodeAddr, Option<u32>)>,
    /// Immediate operands of moves, with the address of the move.
    immediates: Vec<(CodeAddr, u32)>,
}

/// Moves the addresses in the contents of bank 2 of a code section.
///
/// # Errors
///
/// With the address of an indirect branch whose targets are not known, or whose table has words that are used
/// otherwise.
pub(super) fn move_tables(
    program: &SassProgram,
    bank: &mut [u8],
    listed: &BTreeMap<CodeAddr, ListedBranch>,
    functions: &BTreeSet<u32>,
    map: &CodeMap,
) -> Result<(), Diagnostic> {
    let reads = Reads::find(program);
    // A set, because two branches may share a table, and a word must be moved only once.
    let mut moved = BTreeSet::new();
    for (at, table) in &reads.branches {
        let refuse = |why: &str| Diagnostic::new(format!("indirect branch: {why}")).at(*at);
        let branch = listed
            .get(at)
            .ok_or_else(|| refuse("the file does not list its targets"))?;
        // A pointer may select any function, so a call has no table of its own.
        if branch.is_call {
            // Such a move may make a pointer in a register, which no table holds. Moving the function would break it.
            let mut immediates = reads.immediates.iter();
            let address = immediates.find(|(_, value)| functions.contains(value));
            if let Some((load, value)) = address {
                return Err(refuse(&format!(
                    "the immediate 0x{value:x} at {load} may be the address of a function or a number"
                )));
            }
            moved.extend(functions_in(bank, functions, &reads, *at)?);
            continue;
        }
        let start = table.ok_or_else(|| refuse("the table of its targets is not found"))?;
        let words = table_at(bank, start, &branch.targets, &reads);
        // The list of the file is the check: if a listed target is missing, the table was cut short by a word of
        // another use.
        let found: BTreeSet<u32> = words.iter().filter_map(|&at| word(bank, at)).collect();
        if branch
            .targets
            .iter()
            .any(|target| !found.contains(&target.0))
        {
            return Err(refuse("its table has words of another use"));
        }
        moved.extend(words);
    }
    for at in moved {
        let new = word(bank, at).and_then(|old| map.target(CodeAddr(old)));
        let new = new.ok_or_else(|| {
            let message = format!("constant bank 2, offset 0x{at:x}: a target is no instruction");
            Diagnostic::new(message)
        })?;
        let place = bank
            .get_mut(at as usize..)
            .and_then(|b| b.first_chunk_mut::<4>());
        if let Some(place) = place {
            *place = new.0.to_le_bytes();
        }
    }
    Ok(())
}

/// Returns the word at an offset.
fn word(bank: &[u8], at: u32) -> Option<u32> {
    let bytes = bank.get(usize::try_from(at).ok()?..)?.first_chunk::<4>()?;
    Some(u32::from_le_bytes(*bytes))
}

/// Offsets of the words of a table, which ends at the first word that is no target or is read otherwise.
fn table_at(bank: &[u8], start: u32, targets: &[CodeAddr], reads: &Reads) -> Vec<u32> {
    let is_table = |at: u32| {
        let is_target = word(bank, at).is_some_and(|word| targets.contains(&CodeAddr(word)));
        // The next table begins where another indexed load begins.
        let is_next = at != start && reads.indexed.contains_key(&at);
        is_target && !is_next && !reads.fixed.contains(&at)
    };
    let words = (0..).map_while(|n: u32| n.checked_mul(4)?.checked_add(start));
    words.take_while(|&at| is_table(at)).collect()
}

/// Offsets of the words that hold the address of a function. A call through a pointer loads one: a pointer is an
/// offset in the bank.
fn functions_in(
    bank: &[u8],
    functions: &BTreeSet<u32>,
    reads: &Reads,
    at: CodeAddr,
) -> Result<Vec<u32>, Diagnostic> {
    let mut found = Vec::new();
    for offset in (0..bank.len() as u32).step_by(4) {
        let is_function = word(bank, offset).is_some_and(|word| functions.contains(&word));
        if !is_function {
            continue;
        }
        // The table around the word, if an indexed load reads it.
        let table = reads.indexed.range(..=offset).next_back();
        // An index may reach any word after the start of its table, so the nearest start before the word decides.
        let is_data = table.is_some_and(|(_, is_target)| !is_target);
        if reads.fixed.contains(&offset) || is_data {
            let message = format!(
                "indirect call: the word at offset 0x{offset:x} of constant bank 2 may be the address of a function or a number"
            );
            return Err(Diagnostic::new(message).at(at));
        }
        found.push(offset);
    }
    Ok(found)
}

impl Reads {
    fn find(program: &SassProgram) -> Reads {
        let mut reads = Reads {
            fixed: BTreeSet::new(),
            indexed: BTreeMap::new(),
            branches: Vec::new(),
            immediates: Vec::new(),
        };
        for (index, instr) in program.instrs.iter().enumerate() {
            let Some(view) = program.view(instr) else {
                continue;
            };
            for operand in &view.operands {
                match operand.value {
                    OperandValue::Const {
                        bank: LITERALS,
                        offset,
                    }
                    | OperandValue::ConstIndexed {
                        bank: LITERALS,
                        base: None,
                        offset,
                    } => reads.add_fixed(&view, offset),
                    OperandValue::ConstIndexed {
                        bank: LITERALS,
                        base: Some(_),
                        offset,
                    } => {
                        let offset = u32::try_from(offset).unwrap_or(0);
                        let is_target = feeds_branch(program, index, &view);
                        let known = reads.indexed.entry(offset).or_insert(is_target);
                        // One load that uses the words as data makes the whole table data.
                        *known &= is_target;
                    }
                    OperandValue::RegTarget {
                        base: Some(base), ..
                    } => {
                        let table = table_of(program, index, base);
                        reads.branches.push((instr.addr, table));
                    }
                    OperandValue::Int(value) if view.opcode.class() == InstrClass::Move => {
                        reads.immediates.push((instr.addr, value as u32));
                    }
                    _ => {}
                }
            }
        }
        reads
    }

    fn add_fixed(&mut self, view: &View, offset: i32) {
        // A fixed read may name a byte or half of a word, and the whole word counts as read.
        let offset = u32::try_from(offset).unwrap_or(0) & !3;
        self.fixed.insert(offset);
        // Numbers of 64 bits take two words. An operand does not say its width, so the class of the instruction
        // decides.
        let is_wide = matches!(
            view.opcode.class(),
            InstrClass::Fp64 | InstrClass::Conversion | InstrClass::LoadStore
        );
        if is_wide && offset % 8 == 0 {
            self.fixed.insert(offset + 4);
        }
    }
}

/// Whether the instruction writes a register.
fn writes(program: &SassProgram, instr: &SassInstr, register: u8) -> bool {
    let effects = program.effects(instr);
    effects.writes.contains(&Reg::vector(register))
}

/// Maximum number of instructions between the load of a target and the branch.
const DISTANCE: usize = 32;

/// Start of the table from which an indirect branch takes its target, that is the offset of the last load before it
/// that writes the register of the branch.
fn table_of(program: &SassProgram, branch: usize, register: u8) -> Option<u32> {
    let before = program
        .instrs
        .get(branch.saturating_sub(DISTANCE)..branch)?;
    let load = before
        .iter()
        .rev()
        // Backwards, because the last write before the branch decides.
        .find(|instr| writes(program, instr, register))?;
    let view = program.view(load)?;
    view.operands
        .iter()
        .find_map(|operand| match operand.value {
            OperandValue::ConstIndexed {
                bank: LITERALS,
                base: Some(_),
                offset,
            } => u32::try_from(offset).ok(),
            _ => None,
        })
}

/// Whether the result of a load is the target of an indirect branch shortly after it.
fn feeds_branch(program: &SassProgram, load: usize, view: &View) -> bool {
    let destination = view
        .operands
        .iter()
        .find_map(|operand| match operand.value {
            OperandValue::Reg(register) if operand.role == OperandRole::Write => register,
            _ => None,
        });
    let Some(destination) = destination else {
        return false;
    };
    let after = program.instrs.iter().skip(load + 1).take(DISTANCE);
    for instr in after {
        let target = program.view(instr).and_then(|view| {
            view.operands
                .iter()
                .find_map(|operand| match operand.value {
                    OperandValue::RegTarget { base, .. } => base,
                    _ => None,
                })
        });
        if target == Some(destination) {
            return true;
        }
        // The register now holds another value.
        if writes(program, instr, destination) {
            return false;
        }
    }
    false
}
