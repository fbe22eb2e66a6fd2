//! Names of what a stack holds.

use std::collections::HashMap;

/// Tag of a stack entry: what it waits for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Tag {
    /// Not a reconvergence point: lanes that wait for their turn after a divergence.
    Nil,
    /// Pushed by SSY, reached by SYNC.
    Sync,
    /// Pushed by PBK, reached by BRK.
    Brk,
    /// Pushed by PCNT, reached by CONT.
    Cont,
    /// Pushed by CAL or PRET, reached by RET.
    Ret,
    /// Pushed by a branch that sends lanes apart, reached at its meeting point.
    Frame,
}

impl Tag {
    /// Name as the reports spell it.
    pub fn name(self) -> &'static str {
        match self {
            Tag::Nil => "NIL",
            Tag::Sync => "SYNC",
            Tag::Brk => "BRK",
            Tag::Cont => "CONT",
            Tag::Ret => "RET",
            Tag::Frame => "FRAME",
        }
    }
}

/// A control point of the analysed program: a basic block in a calling context.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct NodeId(pub u32);

impl NodeId {
    /// As an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// An abstract stack entry: where it was pushed, where it resumes, its tag.
///
/// The paper names entries by (pc, tag). Naming the push as well separates entries that different
/// instructions push for the same pc, and lets counts say "pops ≤ pushes" for each push.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct EntrySite {
    /// Node whose last instruction pushes the entry.
    pub pushed_by: NodeId,
    /// Node at which its lanes go on.
    pub resume: NodeId,
    /// What it waits for.
    pub tag: Tag,
    /// The node at which the lanes of its frame meet, in code with synchronisation frames.
    pub meets: Option<NodeId>,
}

impl EntrySite {
    /// The node from which its lanes walk to where it resumes, when there is only one: the branch that left
    /// them waiting, or the point at which they met.
    pub fn left(&self) -> Option<NodeId> {
        match self.tag {
            Tag::Nil => Some(self.pushed_by),
            Tag::Frame => self.meets,
            Tag::Sync | Tag::Brk | Tag::Cont | Tag::Ret => None,
        }
    }
}

/// An interned [`Entry`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct EntryId(pub u32);

/// All entries met so far.
#[derive(Clone, Debug, Default)]
pub struct EntryTable {
    entries: Vec<EntrySite>,
    ids: HashMap<EntrySite, EntryId>,
}

impl EntryTable {
    /// The id of `entry`, new or known.
    pub fn intern(&mut self, entry: EntrySite) -> EntryId {
        *self.ids.entry(entry).or_insert_with(|| {
            self.entries.push(entry);
            EntryId(self.entries.len() as u32 - 1)
        })
    }

    /// The id of `entry` if it was met.
    pub fn find(&self, entry: EntrySite) -> Option<EntryId> {
        self.ids.get(&entry).copied()
    }

    /// The entry behind an id of this table.
    pub fn get(&self, id: EntryId) -> EntrySite {
        self.entries[id.0 as usize]
    }

    /// All entries with their ids, in the order in which they were met.
    pub fn iter(&self) -> impl Iterator<Item = (EntryId, EntrySite)> + '_ {
        self.entries
            .iter()
            .enumerate()
            .map(|(i, &e)| (EntryId(i as u32), e))
    }

    /// Number of entries met.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Nothing was pushed anywhere.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}
