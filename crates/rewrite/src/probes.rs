//! Probes: instructions that count executions of blocks, for code of groups with control words.
//!
//! A request says at which blocks which counters grow, and by how much. The result has the instructions to insert,
//! with control words, and the number of registers that the kernel needs with them. Counters are sums of 64 bits in a
//! variable of the module. While a thread runs, its part of a sum is in a register, which is added to the variable
//! where the thread exits; or each probe adds to the variable at once.
//!
//! For example, a loop body of 20 executions by 32 lanes counts 20 issues and 640 lanes.

mod allocation;
mod body;
mod flush;
mod schedule;
mod sequence;
pub mod stamps;
mod steps;

use std::collections::{BTreeMap, BTreeSet};

use warpbound_analyse::thread_cfg::ThreadCfg;
use warpbound_base::Diagnostic;
use warpbound_ir::{Code, OpIndex};
use warpbound_isa::ControlWord;
use warpbound_isa::nvidia::SassProgram;

use crate::liveness::Liveness;
pub use crate::liveness::ProbeFault;
pub use allocation::CounterHome;
use allocation::{Allocation, AllocationInputs};
pub use sequence::ProbeInstr;

/// Implementation of probes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ProbeStyle {
    /// Counters are in registers of each thread and are added to the variable at its exit. Counters without a
    /// register are in memory.
    #[default]
    Registers,
    /// Each probe adds to the variable.
    Memory,
    /// As in figure 2 of `efficient-instrumentation-2014`: one lane of the warp adds the population count of the
    /// active lanes, times a factor, to the variable.
    Paper,
    /// As in the text of the paper (2.5): atomic operations on shared memory, between fences, count the active lanes
    /// and choose one of them.
    PaperLocal,
}

impl ProbeStyle {
    /// Whether one lane adds for the whole warp.
    fn by_leader(self) -> bool {
        matches!(self, ProbeStyle::Paper | ProbeStyle::PaperLocal)
    }
}

/// Shared memory of the probes of [`ProbeStyle::PaperLocal`]: eight bytes for each warp of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SharedSlots {
    /// Offset of the words of the first warp.
    pub first_byte: u32,
    /// Threads of a block in x, y and z.
    pub block: [u32; 3],
}

/// Range of the sum that one thread may reach in a counter in registers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum CounterRange {
    /// From 0 to 2^32 - 1: one register.
    #[default]
    Count,
    /// From -2^31 to 2^31 - 1, which the caller has proven: one register, extended with its sign.
    SignedWord,
    /// From -2^63 to 2^63 - 1: two registers, with the carry in the condition code.
    Double,
}

/// Quantity that a probe counts when a warp executes it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum ProbedQuantity {
    /// One for the warp.
    Issues,
    /// One for each active lane.
    Lanes,
}

/// Increment of a counter at a probe.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Increment {
    /// Index of the counter.
    pub counter: usize,
    /// Quantity.
    pub quantity: ProbedQuantity,
    /// Factor of the quantity, in two's complement unless the range is [`CounterRange::Count`].
    pub weight: u32,
}

/// Request for probes in a kernel.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ProbeRequest {
    /// Number of counters.
    pub counters: usize,
    /// Increments at each execution of a block, by the first operation of the block.
    pub points: BTreeMap<OpIndex, BTreeSet<Increment>>,
    /// Realisation.
    pub style: ProbeStyle,
    /// Range of the sums of a thread.
    pub range: CounterRange,
    /// Shared memory, for probes that use it.
    pub shared: Option<SharedSlots>,
    /// Maximum number of registers of a thread with probes. A kernel with more registers keeps its number. Counters
    /// without a register are in memory.
    pub most_registers: u16,
}

/// Kernel that gets probes.
#[derive(Clone, Copy)]
pub struct ProbedCode<'a> {
    /// Operations.
    pub code: &'a Code,
    /// Instructions.
    pub program: &'a SassProgram,
    /// Graph of a thread.
    pub cfg: &'a ThreadCfg,
    /// Registers in use.
    pub liveness: &'a Liveness,
    /// Registers of a thread.
    pub registers: u16,
    /// Byte offset in constant bank 4 at which the address of the variable is. Stamps add to that word in one
    /// instruction.
    pub address_offset: u32,
    /// Bytes in the variable before the counters of this kernel, which have eight bytes each.
    pub first_byte: u32,
    /// Fault that a test plants.
    pub fault: Option<ProbeFault>,
}

/// Paths to an operation on which inserted instructions are executed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ProbeEntry {
    /// Only the path from the operation before.
    FallThrough,
    /// All paths, including jumps to the operation.
    All,
}

/// Instructions to insert before an operation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProbeInsertion {
    /// The operation.
    pub at: OpIndex,
    /// Paths that execute the instructions.
    pub entry: ProbeEntry,
    /// Instructions in order.
    pub instrs: Vec<ProbeInstr>,
}

/// Changes that give a kernel its probes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProbeEdits {
    /// Insertions. Several insertions before one operation are in order.
    pub insertions: Vec<ProbeInsertion>,
    /// New control words for instructions of the program, which let inserted ones issue in cycles when the warp
    /// waited.
    pub controls: BTreeMap<OpIndex, ControlWord>,
    /// Registers of a thread.
    pub registers: u16,
    /// Place of each counter while a thread runs.
    pub homes: Vec<CounterHome>,
}

impl ProbeRequest {
    /// Upper half of the 64-bit number whose lower half is this weight: all bits or none.
    fn high(&self, weight: u32) -> u32 {
        let negative = self.range != CounterRange::Count && (weight as i32) < 0;
        if negative { u32::MAX } else { 0 }
    }
}

impl ProbeEdits {
    /// Number of inserted instructions.
    pub fn instructions(&self) -> usize {
        self.insertions.iter().map(|of| of.instrs.len()).sum()
    }
}

/// Upper end of the latency range, in cycles, for registers that instructions of fixed latency write, over all
/// machines described (`latency.alu`, which `testkit` compares).
pub const REGISTER_LATENCY: u8 = 6;

/// Upper end of the latency range of predicates, in cycles, over all machines described (`latency.predicate`).
pub const PREDICATE_LATENCY: u8 = 13;

/// Returns the changes that give a kernel its probes.
///
/// Blocks that no thread reaches get no probes: their counters stay zero.
///
/// # Errors
///
/// The kernel has no registers left, calls a function outside its section, or exits under a condition code; the
/// diagnostic has the address.
pub fn plan_edits(
    probed: &ProbedCode<'_>,
    request: &ProbeRequest,
) -> Result<ProbeEdits, Diagnostic> {
    refuse_external_calls(probed)?;
    let reached = reached_ops(probed.cfg);
    let points: BTreeMap<OpIndex, &BTreeSet<Increment>> = request
        .points
        .iter()
        .filter(|(at, increments)| reached.contains(at) && !increments.is_empty())
        .map(|(at, increments)| (*at, increments))
        .collect();
    for at in points.keys() {
        if probed.cfg.space.blocks.starting_at(*at).is_none() {
            return Err(at_op(
                probed,
                *at,
                "no block begins here, so that a probe has no count",
            ));
        }
    }
    let mut exits: Vec<OpIndex> = flush::exits(probed, &reached)?;
    if ProbeFault::MissesAnExit.is_in(probed.fault) {
        exits.pop();
    }
    let inputs = AllocationInputs {
        probed,
        request,
        points: &points,
        exits: &exits,
    };
    let allocation = Allocation::choose(&inputs)?;
    let mut edits = ProbeEdits {
        insertions: Vec::new(),
        controls: BTreeMap::new(),
        registers: allocation.registers(probed.registers),
        homes: allocation.homes.clone(),
    };
    // Without a probe there is nothing to clear or to add, so the kernel keeps its registers.
    if points.is_empty() {
        edits.registers = probed.registers;
        return Ok(edits);
    }
    let (mut prologue, ready) = flush::prologue(probed, request, &allocation)?;
    // The prologue need not wait if the probe at the entry waits on its own and its block lasts until the counters are
    // ready, because every other probe comes later.
    let mut waits = true;
    for (&at, increments) in &points {
        let is_entry = at == probed.code.entry;
        let start = if is_entry { ready } else { 0 };
        if let Some(placed) = steps::probe(probed, request, &allocation, at, increments, start)? {
            let long = body::least_cycles_of_block(probed, at) >= ready;
            waits &= !(is_entry && long);
            let insertions = placed.insertions.into_iter();
            insertions.for_each(|insertion| edits.insert(insertion));
            edits.controls.extend(placed.controls);
            continue;
        }
        edits.insert(ProbeInsertion {
            at,
            entry: ProbeEntry::All,
            instrs: body::probe(probed, request, &allocation, at, increments)?,
        });
    }
    if waits {
        sequence::wait(&mut prologue, ready);
    }
    edits.insert(ProbeInsertion {
        at: probed.code.entry,
        entry: ProbeEntry::FallThrough,
        instrs: prologue,
    });
    for at in &exits {
        let instrs = flush::flush(probed, request, &allocation, *at)?;
        // A jump to the exit must execute the flush as well.
        let entry = ProbeEntry::All;
        edits.insert(ProbeInsertion {
            at: *at,
            entry,
            instrs,
        });
    }
    Ok(edits)
}

impl ProbeEdits {
    /// Adds an insertion unless it is empty. The rewriter splits a pair of instructions that the insertion divides.
    fn insert(&mut self, insertion: ProbeInsertion) {
        if !insertion.instrs.is_empty() {
            self.insertions.push(insertion);
        }
    }
}

/// Returns the operations of the nodes that a thread may reach.
fn reached_ops(cfg: &ThreadCfg) -> BTreeSet<OpIndex> {
    let nodes = cfg.space.ids().filter(|&node| cfg.is_reached(node));
    let blocks: Vec<_> = nodes.map(|node| cfg.space.block(node)).collect();
    blocks.iter().flat_map(|block| block.ops()).collect()
}

/// Refuses kernels that call functions outside their section. Such a function might use the registers of counters,
/// exit, or have blocks that no probe counts.
fn refuse_external_calls(probed: &ProbedCode<'_>) -> Result<(), Diagnostic> {
    for node in probed.cfg.space.ids() {
        let resolved = probed
            .cfg
            .resolved
            .get(node.index())
            .and_then(Option::as_ref);
        if let Some(name) = resolved.and_then(|resolved| resolved.external.as_ref()) {
            let message = format!("calls {name}, which is outside the kernel's code");
            return Err(at_op(probed, probed.cfg.space.block(node).last, &message));
        }
    }
    Ok(())
}

/// Returns a diagnostic with the address of an operation.
fn at_op(probed: &ProbedCode<'_>, at: OpIndex, message: &str) -> Diagnostic {
    let addr = probed.code.get(at).map(|op| op.addr).unwrap_or_default();
    Diagnostic::new(message.to_owned()).at(addr)
}
