//! What the warps of a grid did.

use warpbound_ir::OpIndex;

use super::Size;

/// What the warps of a grid did. Lists have a number for each operation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Counts {
    /// How often a warp issued it.
    pub issues: Vec<u64>,
    /// How many lanes were active, over all its issues.
    pub active: Vec<u64>,
    /// In how many of them its condition held.
    pub executed: Vec<u64>,
    /// After how many of its issues lanes went different ways.
    pub divergences: Vec<u64>,
    /// What looks like a mistake of the kernel, in the order in which it happened first.
    pub notes: Vec<Note>,
}

/// Something that looks like a mistake but did not end the run: where it happened first, and how often.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Note {
    /// The operation.
    pub at: OpIndex,
    /// The block.
    pub block: Size,
    /// What happened.
    pub kind: NoteKind,
    /// How often it happened at this operation.
    pub times: u64,
}

/// What looks like a mistake.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NoteKind {
    /// A thread reads shared memory that nobody in its block has written; it gets 0.
    Unwritten {
        /// The thread.
        thread: Size,
        /// The address.
        address: u64,
    },
    /// Warps pass a barrier of the whole block although so many threads have left the kernel before: Pascal does not wait
    /// for them, CUDA forbids it.
    ExitedThreads(u32),
}

impl Counts {
    /// Nothing done.
    pub(crate) fn new(operations: usize) -> Counts {
        Counts {
            issues: vec![0; operations],
            active: vec![0; operations],
            executed: vec![0; operations],
            divergences: vec![0; operations],
            notes: Vec::new(),
        }
    }

    /// Instructions that warps have issued.
    pub fn issued(&self) -> u64 {
        self.issues.iter().sum()
    }

    /// Adds what was done later.
    pub(super) fn add(&mut self, later: &Counts) {
        let lists = [
            (&mut self.issues, &later.issues),
            (&mut self.active, &later.active),
            (&mut self.executed, &later.executed),
            (&mut self.divergences, &later.divergences),
        ];
        for (sums, numbers) in lists {
            for (sum, number) in sums.iter_mut().zip(numbers) {
                *sum += number;
            }
        }
        for note in &later.notes {
            self.note(note.clone());
        }
    }

    #[inline(always)]
    pub(super) fn count(&mut self, at: u32, active: u32, taken: u32) {
        let at = at as usize;
        if let Some(issues) = self.issues.get_mut(at) {
            *issues += 1;
        }
        if let Some(lanes) = self.active.get_mut(at) {
            *lanes += u64::from(active.count_ones());
        }
        if let Some(lanes) = self.executed.get_mut(at) {
            *lanes += u64::from(taken.count_ones());
        }
    }

    pub(super) fn diverge(&mut self, at: u32) {
        if let Some(times) = self.divergences.get_mut(at as usize) {
            *times += 1;
        }
    }

    #[cold]
    pub(super) fn note_unwritten(&mut self, at: u32, block: Size, thread: Size, address: u64) {
        self.note(Note {
            at: OpIndex(at),
            block,
            kind: NoteKind::Unwritten { thread, address },
            times: 1,
        });
    }

    #[cold]
    pub(super) fn note_exited_threads(&mut self, at: u32, block: Size, threads: u32) {
        self.note(Note {
            at: OpIndex(at),
            block,
            kind: NoteKind::ExitedThreads(threads),
            times: 1,
        });
    }

    fn note(&mut self, new: Note) {
        let same = |note: &&mut Note| {
            note.at == new.at
                && std::mem::discriminant(&note.kind) == std::mem::discriminant(&new.kind)
        };
        match self.notes.iter_mut().find(same) {
            Some(note) => note.times += new.times,
            None => self.notes.push(new),
        }
    }
}
