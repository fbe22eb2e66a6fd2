//! Notes: suspicious behaviour of a kernel that does not end the run.
//!
//! For example, a read of shared memory that no thread of the block has written: the simulator has zeros there, and
//! hardware may have anything.

use warpbound_base::Named;
use warpbound_launch::LaunchFile;
use warpbound_report::functional::RunNote;
use warpbound_simulate::functional::{Counts, Note, NoteKind};

use warpbound_query::Prepared;

/// Returns the notes of a run: first an assumed size of the stack, then the others in the order of their first
/// occurrence.
pub(crate) fn notes(prepared: &Prepared<'_>, launch: &LaunchFile, counts: &Counts) -> Vec<RunNote> {
    let size = |[x, y, z]: [u32; 3]| format!("({x}, {y}, {z})");
    let run_note = |note: &Note| {
        let (message, thread) = match note.kind {
            NoteKind::Unwritten { thread, address } => (
                format!(
                    "byte {address} of shared memory is read, but no thread of the block has written it"
                ),
                format!("thread {} of ", size(thread)),
            ),
            NoteKind::PastShared { thread, address } => (
                format!(
                    "byte {address} is past the end of shared memory: reads give 0, writes are dropped"
                ),
                format!("thread {} of ", size(thread)),
            ),
            // Registers and hazards are checked for the wave, so these notes name no thread.
            NoteKind::Undefined { cell, lane } => (
                match lane {
                    Some(lane) => format!("{cell} is read in lane {lane}, where it is undefined"),
                    None => format!("{cell} is read, but it is undefined"),
                },
                String::new(),
            ),
            NoteKind::Hazard(hazard) => (
                format!(
                    "{}: {} wait states are needed between them",
                    hazard.name(),
                    hazard.wait_states()
                ),
                String::new(),
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
            message,
            location: format!("{thread}block {}", size(note.block)),
            times: note.times,
        }
    };
    let own = counts.notes.iter().map(run_note);
    stack_note(prepared, launch)
        .into_iter()
        .chain(own)
        .collect()
}

/// Returns the note that the size of the stack is assumed.
fn stack_note(prepared: &Prepared<'_>, launch: &LaunchFile) -> Option<RunNote> {
    let bytes = warpbound_launch::assumed_stack(prepared.kernel, launch)?;
    let entry = prepared.code.entry;
    Some(RunNote {
        address: prepared.addr(entry).to_string(),
        mnemonic: prepared
            .program
            .mnemonic(entry.index())
            .unwrap_or("?")
            .to_owned(),
        source: prepared.source(prepared.addr(entry)),
        message: format!(
            "the file does not know the size of the stack: each thread has {bytes} bytes (state another with `stack` in the launch file)"
        ),
        location: "all threads".to_owned(),
        times: 1,
    })
}
