//! Disassembly with control words, labels and source lines.

use std::collections::BTreeMap;

use warpbound_base::{CodeAddr, Diagnostic};
use warpbound_ir::{Control, OpIndex, Target};
use warpbound_isa::{Control as ControlWord, Instr, TargetStyle};
use warpbound_load::Kernel;
use warpbound_report::listing::{ControlColumns, Line, Listing};

use crate::Session;
use crate::prepared::Prepared;

impl Session {
    /// The instructions of a kernel and of the functions behind it.
    ///
    /// # Errors
    ///
    /// See [`Session::prepare`].
    pub fn disassemble(&self, kernel: &Kernel) -> Result<Listing, Diagnostic> {
        let prepared = self.prepare(kernel)?;
        let labels = labels(&prepared);
        let label = |addr: CodeAddr| {
            let at = prepared.code.at(addr)?;
            labels.get(&at)?.first().cloned()
        };
        let spell = |instr: &Instr| {
            prepared
                .program
                .text(instr, TargetStyle::Labels(&label))
                .unwrap_or_else(|| format!("??? 0x{:016x}", instr.word))
        };
        let mut last_source = None;
        let lines = prepared
            .program
            .instrs
            .iter()
            .enumerate()
            .map(|(index, instr)| {
                let source = prepared.source(instr.addr);
                let changed = source != last_source;
                last_source.clone_from(&source);
                Line {
                    at: instr.addr.to_string(),
                    labels: labels
                        .get(&OpIndex(index as u32))
                        .cloned()
                        .unwrap_or_default(),
                    text: format!("{} ;", spell(instr)),
                    control: columns(instr.control),
                    source: source.filter(|_| changed),
                }
            })
            .collect();
        Ok(Listing {
            kernel: kernel.demangled(),
            lines,
        })
    }

    /// Appends the instructions of a kernel and of the functions behind it, spelled as nvdisasm spells raw
    /// code: a line with the kernel's name, then one for each instruction. Nothing beyond decoding is done, so
    /// that large libraries are listed quickly.
    ///
    /// # Errors
    ///
    /// Where the code section is no code of the architecture.
    pub fn disassemble_plain(&self, kernel: &Kernel, out: &mut String) -> Result<(), Diagnostic> {
        let program = Prepared::decode(kernel, self.image.sm()).map_err(|d| self.locate(d))?;
        out.push_str(".text.");
        out.push_str(&kernel.demangled());
        out.push_str(":\n");
        program.write_listing(out);
        Ok(())
    }
}

/// Labels by operation: functions by name, targets of jumps and pushes numbered by address.
fn labels(prepared: &Prepared<'_>) -> BTreeMap<OpIndex, Vec<String>> {
    let mut labels: BTreeMap<OpIndex, Vec<String>> = BTreeMap::new();
    for function in &prepared.code.functions {
        let name = prepared.function_name(&function.name);
        labels.entry(function.entry).or_default().push(name);
    }
    let mut targets: Vec<OpIndex> = prepared
        .code
        .ops
        .iter()
        .filter_map(|op| match &op.control {
            Control::Jump(Target::Op(to))
            | Control::Call(Target::Op(to))
            | Control::Push(_, Target::Op(to)) => Some(*to),
            _ => None,
        })
        .filter(|to| !labels.contains_key(to))
        .collect();
    targets.sort_unstable();
    targets.dedup();
    for (number, target) in targets.into_iter().enumerate() {
        labels.insert(target, vec![format!(".L{}", number + 1)]);
    }
    labels
}

fn columns(control: ControlWord) -> ControlColumns {
    ControlColumns {
        stall: match control.stall() {
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
