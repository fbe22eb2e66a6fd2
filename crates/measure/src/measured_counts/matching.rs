//! Instructions of a file of counts, found in the code of a kernel.

use std::collections::BTreeMap;

use warpbound_base::Diagnostic;
use warpbound_ir::OpIndex;

use super::{MatchedCounts, MeasuredCounts, MeasuredRow, OpCounts};
use warpbound_query::Prepared;

impl MeasuredCounts {
    /// Finds the instructions of the file in the code. Addresses are offsets from the beginning of the code, or
    /// absolute. With absolute addresses the file must list all instructions, because the first one shows where the
    /// code begins. For example, if the first instruction of the kernel is at offset 8 and the lowest address is
    /// 0x7fc400001008, the code begins at 0x7fc400001000.
    ///
    /// # Errors
    ///
    /// The file is about other code: an address is not of an instruction, the opcode there is another one, or
    /// instructions are missing.
    pub(crate) fn matched(&self, prepared: &Prepared<'_>) -> Result<MatchedCounts, Diagnostic> {
        let ops = &prepared.code.ops;
        let offsets: BTreeMap<u64, usize> = (0..)
            .zip(ops)
            .map(|(at, op)| (u64::from(op.addr.0), at))
            .collect();
        let begin = self.begin(&offsets)?;
        let mut counts = vec![None; ops.len()];
        for row in &self.rows {
            // This never wraps: `begin` is at most the lowest address.
            let offset = row.address.wrapping_sub(begin);
            let Some(&at) = offsets.get(&offset) else {
                let message = format!("no instruction of the kernel is at {:#06x}", row.address);
                return Err(self.other_code(row, message));
            };
            self.check_text(prepared, row, at)?;
            let Some(slot) = counts.get_mut(at) else {
                continue;
            };
            let counted = OpCounts {
                line: Some(row.line),
                issues: row.issues,
                lanes: row.lanes,
                executed: row.executed,
            };
            if slot.replace(counted).is_some() {
                let message = format!("a second row for {:#06x}", row.address);
                return Err(self.at_row(row, message));
            }
        }
        let listed = counts.iter().flatten().count();
        if self.source.lists_all() && listed != ops.len() {
            let all = ops.len();
            let message = format!(
                "{listed} instructions, and the kernel has {all}: these counts are of another build"
            );
            return Err(Diagnostic::new(message).in_file(self.file.as_str()));
        }
        // A tool that lists only executed instructions leaves out those with a count of 0. A column counts as present
        // only if all rows have it.
        let columns =
            |of: fn(&MeasuredRow) -> Option<u64>| self.rows.iter().all(|row| of(row).is_some());
        let unlisted = OpCounts {
            line: None,
            issues: columns(|row| row.issues).then_some(0),
            lanes: columns(|row| row.lanes).then_some(0),
            executed: columns(|row| row.executed).then_some(0),
        };
        let ops = counts
            .into_iter()
            .map(|counted| counted.unwrap_or(unlisted));
        Ok(MatchedCounts { ops: ops.collect() })
    }

    /// Returns the address at which the code begins; 0 if addresses are offsets.
    fn begin(&self, offsets: &BTreeMap<u64, usize>) -> Result<u64, Diagnostic> {
        let lowest = self.rows.iter().map(|row| row.address).min().unwrap_or(0);
        let first = offsets.keys().next().copied().unwrap_or(0);
        let last = offsets.keys().next_back().copied().unwrap_or(0);
        // Absolute addresses are taken to be beyond all offsets of the kernel. An address that is neither fits no
        // instruction, and the caller reports it.
        if lowest <= last {
            return Ok(0);
        }
        // If an instruction is missing it may be the first one, and all offsets would be too small.
        if self.rows.len() != offsets.len() {
            let (listed, all) = (self.rows.len(), offsets.len());
            let message = format!(
                "absolute addresses, and {listed} of the kernel's {all} instructions: where the code begins is unknown"
            );
            return Err(Diagnostic::new(message)
                .in_file(self.file.as_str())
                .hint("subtract the address of the function, or list all instructions"));
        }
        Ok(lowest.wrapping_sub(first))
    }

    /// Checks that the file has the opcode of the operation.
    fn check_text(
        &self,
        prepared: &Prepared<'_>,
        row: &MeasuredRow,
        at: usize,
    ) -> Result<(), Diagnostic> {
        let own = prepared.program.text(at).unwrap_or_default();
        // Files without texts are matched by address alone.
        let (Some(theirs), Some(own)) = (row.text.as_deref().and_then(opcode), opcode(&own)) else {
            return Ok(());
        };
        match theirs == own {
            true => Ok(()),
            false => {
                let at = prepared.location(OpIndex(u32::try_from(at).unwrap_or(u32::MAX)));
                Err(self.other_code(row, format!("{theirs}, and the kernel has {own} at {at}")))
            }
        }
    }

    fn at_row(&self, row: &MeasuredRow, message: String) -> Diagnostic {
        let message = Diagnostic::new(message);
        message
            .at(format_args!("line {}", row.line))
            .in_file(self.file.as_str())
    }

    fn other_code(&self, row: &MeasuredRow, message: String) -> Diagnostic {
        self.at_row(row, message)
            .hint("these counts are of another kernel or another build")
    }
}

/// Returns the opcode of an instruction's text, without guard, modifiers and marks of paired instructions.
fn opcode(text: &str) -> Option<String> {
    let words = text.split([' ', '\t', '{', '}', ';', ',']);
    let mut words = words.filter(|word| !word.is_empty());
    let word = words.find(|word| !word.starts_with('@') && !word.starts_with("/*"))?;
    word.split('.').next().map(str::to_uppercase)
}
