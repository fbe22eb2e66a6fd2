//! Disassembly with control words, labels and source lines.
//!
//! There are two syntaxes: a listing for readers, where targets are labels such as `.L3`, and the syntax of nvdisasm
//! for raw code, whose targets are addresses. The operations of a kernel can be printed as well.

use std::collections::{BTreeMap, BTreeSet};

use warpbound_base::{CodeAddr, Diagnostic};
use warpbound_ir::{ControlEffect, ControlTarget, OpIndex, text};
use warpbound_isa::nvidia::{self, Relocated};
use warpbound_isa::{ControlWord, Program, TargetStyle};
use warpbound_load::Kernel;
use warpbound_report::listing::{ControlColumns, Listing, ListingLine};

use crate::Session;
use crate::own_code::own_ops;
use crate::prepared::Prepared;

/// Returns the disassembly of a prepared kernel, see [`Session::disassemble`].
pub fn listing_of(prepared: &Prepared<'_>) -> Listing {
    let own = own_ops(prepared.kernel, &prepared.code);
    let labels = labels(prepared, &own);
    let mut last_source = None;
    let relocated = match &prepared.program {
        Program::Nvidia(program) => relocated(prepared.kernel, program),
        Program::Amd(_) | Program::Mini(_) => Vec::new(),
    };
    let lines = (0u32..)
        .map(OpIndex)
        .zip(&prepared.code.ops)
        .filter(|(at, _)| own.contains(at))
        .filter_map(|(at, op)| {
            let here = relocated.binary_search_by_key(&op.addr, |r| r.addr);
            let here = here.ok().and_then(|index| relocated.get(index));
            let (text, words, control) = instr_text(prepared, &labels, at, here)?;
            let source = prepared.source(op.addr);
            let changed = source != last_source;
            last_source.clone_from(&source);
            Some(ListingLine {
                at: op.addr.to_string(),
                labels: labels.get(&at).cloned().unwrap_or_default(),
                text,
                words,
                control,
                source: source.filter(|_| changed),
            })
        })
        .collect();
    Listing {
        kernel: prepared.kernel.demangled(),
        lines,
    }
}

impl Session {
    /// Disassembles a kernel and the functions that follow it, in its section and in joined ones. For a code object,
    /// these are the kernel and the functions that it may call.
    ///
    /// # Errors
    ///
    /// See [`Prepared::for_listing`].
    pub fn disassemble(&self, kernel: &Kernel) -> Result<Listing, Diagnostic> {
        let prepared = Prepared::for_listing(kernel, self.image.isa(), &self.file);
        let prepared = prepared.map_err(|diagnostic| self.locate(diagnostic))?;
        Ok(listing_of(&prepared))
    }

    /// Appends the disassembly of a kernel and of the functions in its own section, in the syntax of nvdisasm for raw
    /// code: a line with the kernel's name, then one per instruction. The code is only decoded, so that large
    /// libraries are listed quickly.
    ///
    /// # Errors
    ///
    /// The code section contains no code of the architecture.
    pub fn disassemble_plain(&self, kernel: &Kernel, out: &mut String) -> Result<(), Diagnostic> {
        // nvdisasm prints each section once, at its own addresses.
        let own = kernel.own_section();
        let program = Prepared::decode(&own, self.image.isa()).map_err(|d| self.locate(d))?;
        match program {
            Program::Nvidia(program) => {
                out.push_str(".text.");
                out.push_str(&kernel.demangled());
                out.push_str(":\n");
                program.write_listing(&relocated(&own, &program), out);
                Ok(())
            }
            Program::Amd(_) | Program::Mini(_) => {
                let message = format!("nvdisasm has no syntax for {}", self.image.isa());
                Err(self.locate(Diagnostic::new(message).in_kernel(kernel.demangled())))
            }
        }
    }
}

impl Session {
    /// Appends the operations of a kernel and of the functions that follow it, as text that [`text::parse`] reads; a
    /// comment with the kernel's name comes first.
    ///
    /// # Errors
    ///
    /// See [`Session::prepare`].
    pub fn print_ir(&self, kernel: &Kernel, out: &mut String) -> Result<(), Diagnostic> {
        let prepared = self.prepare(kernel)?;
        out.push_str(&format!("; {}\n", kernel.demangled()));
        out.push_str(&text::print(&prepared.code));
        Ok(())
    }
}

/// Returns the operands that the linker or the driver has yet to write, by address.
fn relocated(kernel: &Kernel, program: &nvidia::SassProgram) -> Vec<Relocated> {
    let relocated = kernel.relocations.iter().filter_map(|relocation| {
        let instr = program.at(CodeAddr(relocation.offset))?;
        let operand = relocation.operand(instr.word);
        Some(Relocated {
            addr: instr.addr,
            low_bit: operand.low_bit,
            text: operand.text,
        })
    });
    relocated.collect()
}

/// Returns the text of an instruction, with labels as targets, its dwords and its control word.
fn instr_text(
    prepared: &Prepared<'_>,
    labels: &BTreeMap<OpIndex, Vec<String>>,
    at: OpIndex,
    relocated: Option<&Relocated>,
) -> Option<(String, Option<String>, Option<ControlColumns>)> {
    let label = |addr: CodeAddr| {
        let at = prepared.code.at(addr)?;
        labels.get(&at)?.first().cloned()
    };
    let program = match &prepared.program {
        Program::Nvidia(program) => program,
        Program::Amd(program) => {
            let instr = program.instrs.get(at.index())?;
            let (first, second) = (instr.word as u32, instr.word >> 32);
            let words = match instr.bytes {
                8 => format!("{first:08x} {second:08x}"),
                _ => format!("{first:08x}"),
            };
            let text = instr.text(TargetStyle::Labels(&label));
            return Some((text.unwrap_or_else(|| "???".to_owned()), Some(words), None));
        }
        Program::Mini(_) => return Some((prepared.program.text(at.index())?, None, None)),
    };
    let instr = program.instrs.get(at.index())?;
    let mut text = String::new();
    if !program.write_text(instr, TargetStyle::Labels(&label), relocated, &mut text) {
        // The word is shown, because it is all that is known about an instruction without an entry in the table.
        let digits = 2 * program.instruction_bytes() as usize;
        text = format!("??? 0x{:0digits$x}", instr.word);
    }
    Some((format!("{text} ;"), None, Some(columns(instr.control))))
}

/// Returns the labels of the operations that are listed: names of functions, and numbered targets of jumps and pushes
/// by address.
fn labels(prepared: &Prepared<'_>, own: &BTreeSet<OpIndex>) -> BTreeMap<OpIndex, Vec<String>> {
    if let Program::Mini(program) = &prepared.program {
        let own = |at: u32| program.labels(at).map(str::to_owned).collect();
        let all = 0..program.instrs.len() as u32;
        return all.map(|at| (OpIndex(at), own(at))).collect();
    }
    let mut labels: BTreeMap<OpIndex, Vec<String>> = BTreeMap::new();
    for function in &prepared.code.functions {
        let name = prepared.function_name(&function.name);
        labels.entry(function.entry).or_default().push(name);
    }
    let mut targets: Vec<OpIndex> = prepared
        .code
        .ops
        .iter()
        .zip(0u32..)
        .filter(|(_, at)| own.contains(&OpIndex(*at)))
        .filter_map(|(op, _)| match &op.control {
            ControlEffect::Jump(ControlTarget::Op(to))
            | ControlEffect::Call(ControlTarget::Op(to))
            | ControlEffect::LinkedCall(ControlTarget::Op(to))
            | ControlEffect::OpenBarrier(_, ControlTarget::Op(to))
            | ControlEffect::Collective(ControlTarget::Op(to))
            | ControlEffect::FreeJump(ControlTarget::Op(to))
            | ControlEffect::Push(_, ControlTarget::Op(to)) => Some(*to),
            _ => None,
        })
        // The entry of a function has its name as the label.
        .filter(|to| !labels.contains_key(to))
        .collect();
    targets.sort_unstable();
    targets.dedup();
    for (number, target) in targets.into_iter().enumerate() {
        labels.insert(target, vec![format!(".L{}", number + 1)]);
    }
    labels
}

/// Returns the control word of an instruction in columns, if it has one.
pub fn control_text(program: &Program, at: usize) -> Option<String> {
    match program {
        Program::Nvidia(program) => Some(columns(program.instrs.get(at)?.control).text()),
        Program::Amd(_) | Program::Mini(_) => None,
    }
}

/// Converts a control word to its columns.
fn columns(control: ControlWord) -> ControlColumns {
    ControlColumns {
        stall: match control.stall() {
            // An instruction without a stall is issued in the same cycle as the next one (dual issue).
            Some(0) => "pair".to_owned(),
            Some(cycles) => cycles.to_string(),
            None => format!("s{}", control.usched),
        },
        yields: control.yields(),
        write: control.write_sb,
        read: control.read_sb,
        wait: control.wait_mask,
        reuse: control.reuse,
    }
}
