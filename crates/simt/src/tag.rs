//! Identifiers of stack entries and control points.

use std::collections::HashMap;

/// Tag of a stack entry: the kind of instruction that it waits for (`warp-cfg-2023` 2).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Tag {
    /// None: lanes of one side of a divergent branch, pending until the other sides have run.
    Nil,
    /// Lanes that wait at the end of a region that may diverge.
    Sync,
    /// Lanes that have left a loop.
    Brk,
    /// Lanes that have begun another iteration of a loop.
    Cont,
    /// Lanes that have returned from a function.
    Ret,
    /// Lanes that take part in the convergence barrier with this number.
    Barrier(u8),
    /// Synchronisation frame: pushed by a divergent branch, popped to at its reconvergence point.
    Frame,
}

impl Tag {
    /// Name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Tag::Nil => "NIL",
            Tag::Sync => "SYNC",
            Tag::Brk => "BRK",
            Tag::Cont => "CONT",
            Tag::Ret => "RET",
            Tag::Barrier(number) => BARRIERS.get(usize::from(number)).copied().unwrap_or("B?"),
            Tag::Frame => "FRAME",
        }
    }

    /// Instruction that pops to an entry of this tag, and the one that pushes it (`warp-cfg-2023` 2); `None` if the
    /// execution model pushes it at branches.
    pub fn instructions(self) -> Option<(&'static str, &'static str)> {
        match self {
            Tag::Sync => Some(("SYNC", "SSY")),
            Tag::Brk => Some(("BRK", "PBK")),
            Tag::Cont => Some(("CONT", "PCNT")),
            Tag::Ret => Some(("RET", "CAL")),
            Tag::Barrier(_) => Some(("BSYNC", "BSSY")),
            Tag::Frame | Tag::Nil => None,
        }
    }
}

/// Names of convergence barriers.
const BARRIERS: [&str; 16] = [
    "B0", "B1", "B2", "B3", "B4", "B5", "B6", "B7", "B8", "B9", "B10", "B11", "B12", "B13", "B14",
    "B15",
];

/// Control point of the analysed program: a basic block in a calling context.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct NodeId(pub u32);

impl NodeId {
    /// Position of the node in tables indexed by node.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Abstract stack entry, identified by the node that pushes it, the node where it resumes, and its tag.
///
/// `warp-cfg-2023` 3.1 identifies entries by (pc, tag). The pushing node separates entries that different
/// instructions push for the same pc, so that "pops ≤ pushes" (SOUNDNESS 5.3) is a row for each push. For example,
/// two calls of a function push two RET entries, which resume at different nodes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct EntrySite {
    /// Node whose last instruction pushes the entry.
    pub pushed_by: NodeId,
    /// Node where its lanes continue.
    pub resume: NodeId,
    /// Kind of instruction that it waits for.
    pub tag: Tag,
    /// Reconvergence point of its frame, in code with synchronisation frames.
    pub reconvergence: Option<NodeId>,
}

impl EntrySite {
    /// Only node from which a thread's step leads to `resume` through this entry: the divergent branch of a NIL
    /// entry, or the reconvergence point of a frame. `None` for entries to which several instructions may pop.
    pub fn predecessor(&self) -> Option<NodeId> {
        match self.tag {
            Tag::Nil => Some(self.pushed_by),
            Tag::Frame => self.reconvergence,
            Tag::Sync | Tag::Brk | Tag::Cont | Tag::Ret | Tag::Barrier(_) => None,
        }
    }
}

/// Index of an interned [`EntrySite`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct EntryId(pub u32);

/// Interned entries of one program.
#[derive(Clone, Debug, Default)]
pub struct EntryTable {
    entries: Vec<EntrySite>,
    ids: HashMap<EntrySite, EntryId>,
}

impl EntryTable {
    /// Interns `entry` and returns its id.
    pub fn intern(&mut self, entry: EntrySite) -> EntryId {
        *self.ids.entry(entry).or_insert_with(|| {
            self.entries.push(entry);
            EntryId(self.entries.len() as u32 - 1)
        })
    }

    /// Id of `entry`, if it is in the table.
    pub fn find(&self, entry: EntrySite) -> Option<EntryId> {
        self.ids.get(&entry).copied()
    }

    /// Entry with an id of this table.
    pub fn get(&self, id: EntryId) -> EntrySite {
        self.entries[id.0 as usize]
    }

    /// Entries with their ids, in the order of interning.
    pub fn iter(&self) -> impl Iterator<Item = (EntryId, EntrySite)> + '_ {
        self.entries
            .iter()
            .enumerate()
            .map(|(i, &e)| (EntryId(i as u32), e))
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether no entry was pushed.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}
