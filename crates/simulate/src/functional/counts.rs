//! Execution counts of a launch, and notes on probable mistakes of the kernel.

use warpbound_ir::{Cell, OpIndex};
use warpbound_simt::Mask;

use super::Size;
use super::checks::Hazard;
use super::lanes::count_lanes;

/// Execution counts of a launch, summed over its warps. Each list has one number per operation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Counts {
    /// Issues by a warp.
    pub issues: Vec<u64>,
    /// Active lanes, summed over all issues.
    pub active: Vec<u64>,
    /// Active lanes where the execution condition was true, summed over all issues.
    pub executed: Vec<u64>,
    /// Issues after which lanes diverged.
    pub divergences: Vec<u64>,
    /// Probable mistakes of the kernel, in the order of their first occurrence.
    pub notes: Vec<Note>,
}

/// A probable mistake of the kernel that did not stop the launch: its first occurrence, and its count.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Note {
    /// The operation.
    pub at: OpIndex,
    /// Index of the block.
    pub block: Size,
    /// Kind of the mistake.
    pub kind: NoteKind,
    /// Occurrences at this operation.
    pub times: u64,
}

/// Kinds of probable mistakes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NoteKind {
    /// A thread reads shared memory that no thread of its block has written; the value is 0.
    Unwritten {
        /// The thread.
        thread: Size,
        /// The byte address.
        address: u64,
    },
    /// A thread accesses shared memory past its end: reads give 0, writes are dropped (AMD's machines).
    PastShared {
        /// The thread.
        thread: Size,
        /// The byte address.
        address: u64,
    },
    /// A read of a register that has no defined value (AMD's machines).
    Undefined {
        /// The register.
        cell: Cell,
        /// The lane, if each lane has one.
        lane: Option<u32>,
    },
    /// Two instructions without the wait states that they need (AMD's machines).
    Hazard(Hazard),
    /// Warps pass a barrier of the whole block after this number of threads has exited. The hardware does not wait for
    /// exited threads; CUDA forbids such a barrier.
    ExitedThreads(u32),
}

impl Counts {
    /// Returns counts of zero.
    pub(crate) fn new(operations: usize) -> Counts {
        Counts {
            issues: vec![0; operations],
            active: vec![0; operations],
            executed: vec![0; operations],
            divergences: vec![0; operations],
            notes: Vec::new(),
        }
    }

    /// Number of issued warp instructions.
    pub fn issued(&self) -> u64 {
        self.issues.iter().sum()
    }

    /// Adds the counts and notes of a later part of the launch.
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

    /// Counts one issue.
    #[inline(always)]
    pub(super) fn count<const W: usize>(&mut self, at: u32, active: Mask, taken: Mask) {
        let at = at as usize;
        if let Some(issues) = self.issues.get_mut(at) {
            *issues += 1;
        }
        if let Some(lanes) = self.active.get_mut(at) {
            *lanes += count_lanes::<W>(active);
        }
        if let Some(lanes) = self.executed.get_mut(at) {
            *lanes += count_lanes::<W>(taken);
        }
    }

    /// Counts a divergence.
    pub(super) fn diverge(&mut self, at: u32) {
        if let Some(times) = self.divergences.get_mut(at as usize) {
            *times += 1;
        }
    }

    /// Notes a read of shared memory that no thread has written.
    #[cold]
    pub(super) fn note_unwritten(&mut self, at: u32, block: Size, thread: Size, address: u64) {
        self.note(Note {
            at: OpIndex(at),
            block,
            kind: NoteKind::Unwritten { thread, address },
            times: 1,
        });
    }

    /// Notes an access past the end of shared memory.
    #[cold]
    pub(super) fn note_past_shared(&mut self, at: u32, block: Size, thread: Size, address: u64) {
        self.note(Note {
            at: OpIndex(at),
            block,
            kind: NoteKind::PastShared { thread, address },
            times: 1,
        });
    }

    /// Notes a barrier that opened without waiting for `threads` exited threads.
    #[cold]
    pub(super) fn note_exited_threads(&mut self, at: u32, block: Size, threads: u32) {
        self.note(Note {
            at: OpIndex(at),
            block,
            kind: NoteKind::ExitedThreads(threads),
            times: 1,
        });
    }

    /// Adds a note, or increments the count of one of the same kind at the same operation.
    pub(super) fn note(&mut self, new: Note) {
        // The numbers of the kind are not compared, so that an operation has one note of each kind at most.
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
