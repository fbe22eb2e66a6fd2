//! What looks like a mistake of the kernel but did not end the run.

use warpbound_report::functional::RunNote;
use warpbound_simulate::functional::{Counts, Note, NoteKind};

use crate::Prepared;

/// The notes of a run, in the order in which they happened first.
pub(crate) fn notes(prepared: &Prepared<'_>, counts: &Counts) -> Vec<RunNote> {
    let size = |[x, y, z]: [u32; 3]| format!("({x}, {y}, {z})");
    let spell = |note: &Note| {
        let (what, thread) = match note.kind {
            NoteKind::Unwritten { thread, address } => (
                format!(
                    "byte {address} of shared memory is read, which nobody in the block has written"
                ),
                format!("thread {} of ", size(thread)),
            ),
            NoteKind::ExitedThreads(threads) => (
                format!(
                    "a barrier of the whole block is passed although {threads} of its threads have left the kernel"
                ),
                String::new(),
            ),
        };
        RunNote {
            address: prepared.addr(note.at).to_string(),
            mnemonic: prepared
                .program
                .mnemonic(note.at.index())
                .unwrap_or("?")
                .to_owned(),
            source: prepared.source(prepared.addr(note.at)),
            what,
            place: format!("{thread}block {}", size(note.block)),
            times: note.times,
        }
    };
    counts.notes.iter().map(spell).collect()
}
