//! Checks of a launch on an AMD GPU: reads of registers that are undefined, and wait states that software has to
//! insert. Both are notes: a run goes on with the value that the simulator has.

mod hazards;
mod registers;

use rustc_hash::FxHashMap;
use warpbound_ir::Code;
use warpbound_isa::amd::GcnProgram;
use warpbound_launch::{GlobalMemory, Launch, Size};

use super::counts::{Note, NoteKind};
use super::{Counts, ExecutionListener, Fault, Issue, WaveModel, launch_waves};
use hazards::{HazardFacts, RecentInstrs};
use registers::DefinedRegisters;

pub use hazards::Hazard;

/// Listener that checks each instruction of each wave before it takes effect.
struct WaveChecks<'a> {
    code: &'a Code,
    launch: &'a Launch,
    /// Facts of each operation.
    facts: Vec<HazardFacts>,
    /// Waves of the running block, by their first threads.
    waves: FxHashMap<u32, WaveHistory>,
    notes: Vec<Note>,
}

/// Past of a wave.
struct WaveHistory {
    defined: DefinedRegisters,
    recent: RecentInstrs,
}

impl ExecutionListener<WaveModel> for WaveChecks<'_> {
    fn issue(&mut self, issue: &Issue<'_, WaveModel>) -> bool {
        let first = issue.first_thread();
        let wave = self.waves.entry(first).or_insert_with(|| WaveHistory {
            defined: DefinedRegisters::at_entry(self.launch, issue.block, first),
            recent: RecentInstrs::default(),
        });
        let Some(op) = self.code.get(issue.at) else {
            return true;
        };
        let mut note = |kind| {
            self.notes.push(Note {
                at: issue.at,
                block: issue.block,
                kind,
                times: 1,
            });
        };
        // Reads are checked first, because an operation may write a register that it reads.
        if let Some((cell, lane)) = wave.defined.first_undefined(op, issue.taken) {
            note(NoteKind::Undefined { cell, lane });
        }
        wave.defined.write(op, issue.taken);
        if let Some(facts) = self.facts.get(issue.at.index()) {
            if let Some(hazard) = wave.recent.hazard(facts, &self.facts) {
                note(NoteKind::Hazard(hazard));
            }
            wave.recent.issue(issue.at, facts);
        }
        true
    }

    fn block_done(&mut self, _block: Size) {
        // The waves of the next block have the same first threads.
        self.waves.clear();
    }
}

/// Executes all blocks of a launch on an AMD GPU, one after the other, and checks each instruction of `program`, from
/// which `code` was lifted. The notes of the checks follow the notes of the run.
///
/// # Errors
///
/// As [`super::launch`].
pub fn launch_checked(
    code: &Code,
    program: &GcnProgram,
    launch: &Launch,
    memory: &mut GlobalMemory,
) -> Result<Counts, Fault> {
    let mut checks = WaveChecks {
        code,
        launch,
        facts: program.instrs.iter().map(HazardFacts::of).collect(),
        waves: FxHashMap::default(),
        notes: Vec::new(),
    };
    let mut counts = launch_waves(code, launch, memory, &mut checks)?;
    for note in checks.notes {
        counts.note(note);
    }
    Ok(counts)
}
