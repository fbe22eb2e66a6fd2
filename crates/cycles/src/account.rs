//! Accounting of a bound: the term to which each cycle is charged. For example, an instruction that is ready at 10,
//! waits for a scoreboard until 25 and for a constant until 30 charges 15 cycles to the load that raised the
//! scoreboard, and 5 to constants.

use warpbound_ir::OpIndex;
use warpbound_isa::instr::MemorySpace;

use crate::memory::AccessLimits;
use crate::state::{Part, SCOREBOARDS, TimeVector};

/// Term of the sum of a bound.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(usize)]
pub enum Term {
    /// Start and end of the launch.
    Launch,
    /// Cycle of each issue, and waits for a unit.
    Issue,
    /// Distances of control words and results that are not from memory.
    Dependencies,
    /// Loads, stores and atomic operations on global memory.
    GlobalMemory,
    /// Accesses to local memory.
    LocalMemory,
    /// Accesses to shared memory.
    SharedMemory,
    /// Constants.
    Constants,
    /// Lines of code, and taken branches.
    Fetch,
    /// Address translations that are missing.
    Translation,
    /// Refreshes of DRAM.
    Refresh,
    /// Barriers and fences; begins and merges of splits.
    Synchronisation,
    /// Other splits of the wave, which take what it waits for.
    Siblings,
    /// Changes between groups of lanes that have parted.
    Groups,
}

impl Term {
    /// All terms, in the order of reports.
    pub const ALL: [Term; 13] = [
        Term::Launch,
        Term::Issue,
        Term::Dependencies,
        Term::GlobalMemory,
        Term::LocalMemory,
        Term::SharedMemory,
        Term::Constants,
        Term::Fetch,
        Term::Translation,
        Term::Refresh,
        Term::Synchronisation,
        Term::Siblings,
        Term::Groups,
    ];

    /// Name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Term::Launch => "launch overhead",
            Term::Issue => "issue",
            Term::Dependencies => "dependencies",
            Term::GlobalMemory => "global memory",
            Term::LocalMemory => "local memory",
            Term::SharedMemory => "shared memory",
            Term::Constants => "constants",
            Term::Fetch => "instruction fetch",
            Term::Translation => "translation",
            Term::Refresh => "DRAM refresh",
            Term::Synchronisation => "barriers and fences",
            Term::Siblings => "other splits",
            Term::Groups => "changes of groups",
        }
    }

    /// Term of waits for an access.
    pub(crate) fn of_access(limits: &AccessLimits) -> Term {
        let is_in = |space| limits.spaces.iter().any(|limit| limit.space == space);
        if is_in(MemorySpace::Global) {
            Term::GlobalMemory
        } else if is_in(MemorySpace::Local) {
            Term::LocalMemory
        } else {
            Term::SharedMemory
        }
    }
}

/// Cycles by term, in the order of [`Term::ALL`].
pub type TermCycles = [i64; Term::ALL.len()];

/// Charges the time of a warp to terms and instructions, in thousandths of cycles. Each wait is charged from the time
/// until which the warp waits already.
pub(crate) struct Account<'a> {
    pub(crate) terms: TermCycles,
    /// Term of the instruction that raised each scoreboard last.
    pub(crate) raised_by: [Term; SCOREBOARDS],
    /// Time of each instruction by its index, from the issue before it to its own issue, if it is wanted.
    pub(crate) ops: Option<&'a mut [i64]>,
}

impl<'a> Account<'a> {
    pub(crate) fn new(raised_by: [Term; SCOREBOARDS]) -> Account<'a> {
        Account {
            terms: [0; Term::ALL.len()],
            raised_by,
            ops: None,
        }
    }

    /// Delays the next instruction until a time.
    pub(crate) fn wait(&mut self, vector: &mut TimeVector, until: i64, term: Term) {
        let ready = vector.get(Part::Ready);
        // Only the part of a wait that earlier waits do not cover is charged, so that the terms add up to the time.
        if until > ready {
            self.terms[term as usize] += until - ready;
            vector.set(Part::Ready, until);
        }
    }

    /// Delays the next instruction until a scoreboard is released.
    pub(crate) fn wait_for_scoreboard(
        &mut self,
        vector: &mut TimeVector,
        until: i64,
        number: usize,
    ) {
        let term = self.raised_by.get(number).copied();
        self.wait(vector, until, term.unwrap_or(Term::Dependencies));
    }

    /// Charges the time for which the issue of an instruction waits for its unit or for the issue before it.
    pub(crate) fn issue(&mut self, vector: &TimeVector, now: i64, at: OpIndex) {
        self.terms[Term::Issue as usize] += now - vector.get(Part::Ready);
        if let Some(ops) = &mut self.ops
            && let Some(time) = ops.get_mut(at.index())
        {
            *time += now - vector.get(Part::LastIssue);
        }
    }

    /// Records the instruction that raises a scoreboard.
    pub(crate) fn raise(&mut self, number: usize, term: Term) {
        if let Some(known) = self.raised_by.get_mut(number) {
            *known = term;
        }
    }
}
