//! Slice of a kernel that decides the counts of a loop, or the addresses of an access: operations and branches, closed
//! under dependence on data, memory and control.

use std::collections::{BTreeMap, BTreeSet};

use warpbound_ir::{Cell, Code, ControlEffect, Meaning, Op, OpIndex, SurfaceOp};
use warpbound_isa::instr::MemorySpace;
use warpbound_simt::NodeId;
use warpbound_simt::counts::CountedLoop;

use crate::thread_cfg::ThreadCfg;

use super::FingerprintObstacle as Obstacle;
use super::events::Events;
use super::operands::{Operands, is_unknown};
use super::reaching::Origin;
use super::values::Values;

/// Subject of a slice.
pub(super) enum Subject<'a> {
    /// Counts of a loop, given in all contexts.
    Loop(&'a [&'a CountedLoop]),
    /// Addresses of an access in all its executions.
    Access {
        /// The access.
        at: OpIndex,
        /// Text of its address.
        address: &'a Operands,
    },
}

/// Operations and branches that decide the counts of a loop, or the addresses of an access.
pub(super) struct Slice {
    /// Order of the observed nodes.
    pub(super) events: Events,
    /// Operations whose place matters, by node.
    pub(super) placed: BTreeMap<NodeId, BTreeSet<OpIndex>>,
    /// Nodes with the access that the slice is about.
    pub(super) accesses: BTreeSet<NodeId>,
    /// Whether some placed operation writes memory or waits, so that the order of loads matters.
    pub(super) writes_memory: bool,
    /// Whether contents of memory or constants of the module are read.
    pub(super) reads_data: bool,
}

/// Memory that other operations of the kernel may have written.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum ReadMemory {
    /// Memory of the thread.
    Local,
    /// Memory of the block.
    Shared,
    /// Memory of the grid.
    Global,
    /// Any of them.
    Generic,
}

/// Slice under construction.
struct Search<'a, 'v> {
    code: &'a Code,
    thread: &'a ThreadCfg,
    values: &'v mut Values<'a>,
    slice: Slice,
    open: Vec<(NodeId, OpIndex)>,
    memory: BTreeSet<ReadMemory>,
    /// Number of operations that may still be placed.
    left: usize,
}

impl Slice {
    /// Finds the slice of a loop or access, of at most `share` operations.
    pub(super) fn find<'a>(
        code: &'a Code,
        thread: &'a ThreadCfg,
        values: &mut Values<'a>,
        subject: &Subject<'_>,
        share: usize,
    ) -> Result<Slice, Obstacle> {
        let loops = match subject {
            Subject::Loop(loops) => *loops,
            Subject::Access { .. } => &[],
        };
        let mut search = Search {
            code,
            thread,
            values,
            slice: Slice {
                events: Events::new(thread, loops),
                placed: BTreeMap::new(),
                accesses: BTreeSet::new(),
                writes_memory: false,
                reads_data: false,
            },
            open: Vec::new(),
            memory: BTreeSet::new(),
            left: share,
        };
        // A trap ends the launch, so it is an event as the end of the thread is.
        search.place_all(|meaning| matches!(meaning, Meaning::Trap));
        if let Subject::Access { at, address } = *subject {
            search.add_access(at, address)?;
        }
        loop {
            if thread.deadline.is_past() {
                return Err(Obstacle::TimeLimit);
            }
            while let Some((node, at)) = search.open.pop() {
                if search.left == 0 {
                    return Err(Obstacle::TooLarge);
                }
                search.add_inputs(node, at)?;
            }
            // New operations are new events, which may need new branches, and these need operations.
            let branches = search.slice.events.close();
            if branches.is_empty() {
                return Ok(search.slice);
            }
            for node in branches {
                search.add_branch(node)?;
            }
        }
    }
}

impl Search<'_, '_> {
    /// Adds what the branch at the end of a node depends on.
    fn add_branch(&mut self, node: NodeId) -> Result<(), Obstacle> {
        let last = self.thread.space.block(node).last;
        let Some(op) = self.code.get(last) else {
            return Ok(());
        };
        if let ControlEffect::Indirect { .. } | ControlEffect::SetActive(_) = op.control {
            return Err(Obstacle::IndirectJump(op.addr));
        }
        self.add_condition(node, last, op)
    }

    /// Adds the executions of an access and what its address depends on.
    fn add_access(&mut self, at: OpIndex, address: &Operands) -> Result<(), Obstacle> {
        let Some(op) = self.code.get(at) else {
            return Ok(());
        };
        if address.reads_unknown_literals {
            return Err(Obstacle::UnknownInstruction(op.addr));
        }
        self.slice.reads_data |= address.reads_module_data;
        let space = &self.thread.space;
        let is_around = |&node: &NodeId| {
            let block = space.block(node);
            self.thread.is_reached(node) && block.first <= at && at <= block.last
        };
        let nodes: Vec<NodeId> = space.ids().filter(is_around).collect();
        for node in nodes {
            self.slice.accesses.insert(node);
            self.slice.events.observe(node);
            self.add_condition(node, at, op)?;
            for cell in address.uses() {
                self.add_use(node, at, cell)?;
            }
        }
        Ok(())
    }

    fn add_condition(&mut self, node: NodeId, at: OpIndex, op: &Op) -> Result<(), Obstacle> {
        op.condition
            .cells()
            .try_for_each(|cell| self.add_use(node, at, cell))
    }

    /// Adds what an operation of the slice depends on.
    fn add_inputs(&mut self, node: NodeId, at: OpIndex) -> Result<(), Obstacle> {
        let Some(op) = self.code.get(at) else {
            return Ok(());
        };
        let Some(operands) = self.values.operands(at) else {
            return Err(Obstacle::UnknownInstruction(op.addr));
        };
        self.add_condition(node, at, op)?;
        if operands.reads_unknown_literals {
            return Err(Obstacle::UnknownInstruction(op.addr));
        }
        self.slice.reads_data |= operands.reads_module_data;
        for cell in operands.uses() {
            self.add_use(node, at, cell)?;
        }
        match &op.meaning {
            Some(meaning) => self.add_memory_of(meaning, op),
            None => Ok(()),
        }
    }

    /// Adds the memory that an operation of the slice reads.
    fn add_memory_of(&mut self, meaning: &Meaning, op: &Op) -> Result<(), Obstacle> {
        match meaning {
            Meaning::Set(_) | Meaning::TextureSize { .. } | Meaning::Trap => Ok(()),
            Meaning::Store { .. } | Meaning::Barrier { .. } => {
                self.slice.writes_memory = true;
                Ok(())
            }
            Meaning::Load { space, .. } => match space {
                MemorySpace::Constant => {
                    self.slice.reads_data = true;
                    Ok(())
                }
                MemorySpace::Attribute => Err(Obstacle::UnknownInstruction(op.addr)),
                _ => self.add_memory(memory_of(*space)),
            },
            Meaning::Atomic { space, dests, .. } => {
                self.slice.writes_memory = true;
                match dests.is_empty() {
                    true => Ok(()),
                    false => self.add_memory(memory_of(*space)),
                }
            }
            Meaning::Texture(_) => self.add_memory(ReadMemory::Global),
            // Which waits complete a copy is not part of the text, so two versions may differ in it.
            Meaning::MemoryCopy(_) => Err(Obstacle::UnknownInstruction(op.addr)),
            Meaning::Surface(access) => match &access.op {
                SurfaceOp::Load(_) => self.add_memory(ReadMemory::Global),
                SurfaceOp::Store(_) | SurfaceOp::Reduce(..) => {
                    self.slice.writes_memory = true;
                    Ok(())
                }
            },
            Meaning::Meet(_) | Meaning::Part | Meaning::Ask(_) | Meaning::AnyLane(_) => Ok(()),
            Meaning::Shuffle { .. }
            | Meaning::Vote { .. }
            | Meaning::Reduce { .. }
            | Meaning::Match { .. }
            | Meaning::FirstLane { .. }
            | Meaning::MatrixProduct(_)
            | Meaning::MatrixTranspose(_)
            | Meaning::MatrixAccess(_)
            | Meaning::BarrierResult { .. } => Err(Obstacle::OtherLanes(op.addr)),
        }
    }

    fn add_use(&mut self, node: NodeId, at: OpIndex, cell: Cell) -> Result<(), Obstacle> {
        // A fixed value is the same wherever it was computed, so its operations need no place in the slice.
        if let Some(value) = self.values.fixed(node, at, cell) {
            self.slice.reads_data |= self.values.rests_on_data(value);
            return Ok(());
        }
        let origins = self.values.origins(node, at, cell);
        for origin in origins.all(node) {
            match origin {
                Origin::Entry => {}
                Origin::Op(node, at) => self.place(node, at),
                Origin::Callee(_) => return Err(Obstacle::ExternalCall),
            }
        }
        Ok(())
    }

    fn place(&mut self, node: NodeId, at: OpIndex) {
        if self.slice.placed.entry(node).or_default().insert(at) {
            self.slice.events.observe(node);
            self.open.push((node, at));
            self.left = self.left.saturating_sub(1);
        }
    }

    /// Adds everything in the kernel that may decide what a load reads: writes of all threads, and barriers.
    fn add_memory(&mut self, memory: ReadMemory) -> Result<(), Obstacle> {
        self.slice.reads_data = true;
        if !self.memory.insert(memory) {
            return Ok(());
        }
        if self
            .thread
            .resolved
            .iter()
            .flatten()
            .any(|resolved| resolved.external.is_some())
        {
            return Err(Obstacle::ExternalCall);
        }
        // An operation of unknown effect may write memory, wherever it is.
        let unknown = |op: &&Op| op.control == ControlEffect::Next && is_unknown(op);
        if let Some(op) = self.code.ops.iter().find(unknown) {
            return Err(Obstacle::UnknownInstruction(op.addr));
        }
        self.place_all(|meaning| may_write(meaning, memory));
        Ok(())
    }

    /// Places all operations of the kernel that are chosen by their meaning.
    fn place_all(&mut self, choose: impl Fn(&Meaning) -> bool) {
        let space = &self.thread.space;
        for node in space.ids().filter(|&node| self.thread.is_reached(node)) {
            for at in space.block(node).ops() {
                let op = self.code.get(at).filter(|op| !op.condition.is_never());
                if op.and_then(|op| op.meaning.as_ref()).is_some_and(&choose) {
                    self.place(node, at);
                }
            }
        }
    }
}

fn memory_of(space: MemorySpace) -> ReadMemory {
    match space {
        MemorySpace::Local => ReadMemory::Local,
        MemorySpace::Shared => ReadMemory::Shared,
        MemorySpace::Global | MemorySpace::Texture | MemorySpace::Surface => ReadMemory::Global,
        MemorySpace::Generic | MemorySpace::Constant | MemorySpace::Attribute => {
            ReadMemory::Generic
        }
    }
}

/// Whether an operation may change the contents that a load finds in a memory, or the time of the load.
fn may_write(meaning: &Meaning, memory: ReadMemory) -> bool {
    // A generic address may lie in any space.
    let reaches = |space: MemorySpace| match (memory, memory_of(space)) {
        (ReadMemory::Generic, _) | (_, ReadMemory::Generic) => true,
        (read, written) => read == written,
    };
    match meaning {
        Meaning::Surface(access) => {
            !matches!(access.op, SurfaceOp::Load(_)) && reaches(MemorySpace::Surface)
        }
        // A barrier orders the accesses of several threads, while only its own thread writes local memory.
        Meaning::Barrier { .. } => memory != ReadMemory::Local,
        _ => {
            let accesses = meaning.accesses();
            let mut stores = accesses.iter().filter(|access| access.stores);
            stores.any(|access| reaches(access.space))
        }
    }
}
