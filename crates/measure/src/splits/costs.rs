//! Cycles of the blocks of a kernel for the choice of sites, and their executions in a wave.
//!
//! These are estimates, not bounds. Each instruction takes its latency at the typical values of the machine, and
//! memory answers like a hit. There is no contention and no overlap, and an instruction takes at least the turn of
//! its SIMD. For example, with 4 SIMDs an instruction with a latency of 1 cycle counts as 4.

use warpbound_ir::OpIndex;
use warpbound_isa::amd::{GcnClass, GcnProgram};
use warpbound_machine::{MachineConfig, Parameter};
use warpbound_simt::NodeId;
use warpbound_timing::{IssueKind, WaveFacts, gcn_facts};

use warpbound_query::KernelFlow;
use warpbound_query::prepared::Prepared;

/// Cycles of a piece of code.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct CodeCycles {
    /// All.
    pub(super) all: u64,
    /// Cycles that memory units are occupied, which splits share.
    pub(super) memory: u64,
}

impl CodeCycles {
    pub(super) fn plus(self, other: CodeCycles) -> CodeCycles {
        CodeCycles {
            all: self.all.saturating_add(other.all),
            memory: self.memory.saturating_add(other.memory),
        }
    }

    pub(super) fn times(self, count: u64) -> CodeCycles {
        CodeCycles {
            all: self.all.saturating_mul(count),
            memory: self.memory.saturating_mul(count),
        }
    }
}

/// Costs of the operations of a kernel, and executions of its nodes.
pub(super) struct NodeCosts<'a> {
    flow: &'a KernelFlow,
    ops: Vec<CodeCycles>,
    /// Executions of each node by a wave, from the bounds of the enclosing loops; `None` if a loop has none.
    executions: Vec<Option<u64>>,
    /// Cycles of a split and of a merge.
    pub(super) split: u64,
    pub(super) merge: u64,
}

impl<'a> NodeCosts<'a> {
    /// Computes the costs on a machine; `bounds` has the bound of each of [`warpbound_analyse::loops::Loops::sites`].
    pub(super) fn new(
        prepared: &Prepared<'_>,
        program: &GcnProgram,
        machine: &MachineConfig,
        flow: &'a KernelFlow,
        bounds: &[Option<u64>],
    ) -> NodeCosts<'a> {
        let facts = gcn_facts(&prepared.code, program);
        let ops = facts.iter().map(|facts| instruction_cycles(facts, machine));
        let nodes = flow.thread.space.ids();
        NodeCosts {
            flow,
            ops: ops.collect(),
            executions: nodes
                .map(|node| executions(prepared, flow, bounds, node))
                .collect(),
            split: machine[Parameter::SplitLatency],
            merge: machine[Parameter::SplitMerge],
        }
    }

    /// Returns the executions of a node by a wave; `None` if they have no bound.
    pub(super) fn executions(&self, node: NodeId) -> Option<u64> {
        self.executions.get(node.index()).copied().flatten()
    }

    /// Returns the cycles of one execution of the operations of a node before `end`.
    pub(super) fn before(&self, node: NodeId, end: OpIndex) -> CodeCycles {
        let block = self.flow.thread.space.block(node);
        let costs = block.ops().take_while(|&at| at < end).map(|at| self.op(at));
        costs.fold(CodeCycles::default(), CodeCycles::plus)
    }

    /// Returns the cycles of one execution of a node.
    pub(super) fn node(&self, node: NodeId) -> CodeCycles {
        self.before(node, self.flow.thread.space.block(node).last.next())
    }

    fn op(&self, at: OpIndex) -> CodeCycles {
        self.ops.get(at.index()).copied().unwrap_or_default()
    }
}

/// Returns the cycles of an instruction.
fn instruction_cycles(facts: &WaveFacts, machine: &MachineConfig) -> CodeCycles {
    let of = |parameter: Parameter| machine[parameter];
    let dwords = u64::from(facts.dwords);
    let cycles = match facts.class {
        GcnClass::Full => of(Parameter::ValuCycles),
        GcnClass::Quarter => of(Parameter::ValuQuarter),
        GcnClass::F64Add => of(Parameter::ValuF64Add),
        GcnClass::F64Mul => of(Parameter::ValuF64Mul),
        GcnClass::Scalar => of(Parameter::SaluLatency),
        GcnClass::ScalarSlow => of(Parameter::SaluSlow),
        GcnClass::ScalarMemory => of(Parameter::ScalarHit),
        GcnClass::Lds => of(Parameter::LdsLatency),
        GcnClass::Flat | GcnClass::Buffer => of(Parameter::L1Hit),
        GcnClass::Branch => of(Parameter::BranchTaken),
        GcnClass::Message => of(Parameter::MessageLatency),
        GcnClass::Nop => u64::from(facts.idle).saturating_mul(of(Parameter::NopState)),
        GcnClass::Sleep => u64::from(facts.idle).saturating_mul(of(Parameter::SleepUnit)),
        // The time of a wait is already in the latency of the operation that it waits for.
        GcnClass::Wait
        | GcnClass::Barrier
        | GcnClass::End
        | GcnClass::Internal
        | GcnClass::None => 0,
    };
    let memory = match facts.kind {
        IssueKind::VectorMemory => of(Parameter::VmemCycles).saturating_mul(dwords),
        IssueKind::Lds => of(Parameter::LdsCycles).saturating_mul(dwords),
        IssueKind::ScalarMemory => of(Parameter::SmemCycles),
        _ => 0,
    };
    // A SIMD issues in turn with the others of its compute unit.
    let turn = of(Parameter::CuSimds);
    CodeCycles {
        all: cycles.max(turn).max(memory),
        memory,
    }
}

/// Returns the executions of a node from the bounds of the enclosing loops. For example, a node in a loop of 8 rounds
/// inside one of 10 is executed 80 times.
fn executions(
    prepared: &Prepared<'_>,
    flow: &KernelFlow,
    bounds: &[Option<u64>],
    node: NodeId,
) -> Option<u64> {
    let loops = &flow.dependence().loops;
    let mut count: u64 = 1;
    let mut around = loops.innermost(node.index());
    while let Some(index) = around {
        let body = loops.get(index);
        let header = body.headers.first()?;
        let first = flow.thread.space.block(NodeId(*header as u32)).first;
        let addr = prepared.addr(first);
        // Bounds are stated for loops of the code, and a loop of the graph is one of them in some context.
        let mut sites = flow.loops.sites.iter();
        let site = sites.position(|site| site.headers.contains(&addr))?;
        count = count.saturating_mul((*bounds.get(site)?)?);
        around = body.parent;
    }
    Some(count)
}
