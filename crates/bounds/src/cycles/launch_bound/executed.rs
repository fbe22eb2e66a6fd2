//! Services of whole blocks and of a whole launch, by the executions and accesses that the launch fixes (SOUNDNESS
//! 20.5).
//!
//! For example, the first warp of a block loads a table and takes 1000 cycles of the SM, and each of the other seven
//! takes 200. The block takes 1000 + 7 * 200 = 2400 cycles, whereas eight times the worst warp is 8000.

use std::collections::{BTreeMap, BTreeSet};

use warpbound_analyse::access::{AccessCounts, MemoryUnits};
use warpbound_analyse::launch_profile::{BlockKind, LaunchExecutions, LineWaitCounts};
use warpbound_cycles::{
    AccessLimits, Contention, KeepingCache, KernelTime, MachineNumbers, NodeServices, Service,
};
use warpbound_ipet::{BlockChain, ExecutedServices, ServicesOfBlocks};
use warpbound_ir::OpIndex;
use warpbound_machine::Parameter;

use super::node_services::of_node;
use super::sums::SmServices;
use crate::CycleInputs;
use warpbound_query::KernelFlow;

/// Upper bounds on how often a chain of warps waits for lines on their way, if caches keep them; `None` if not known.
#[derive(Clone, Copy, Debug)]
pub(super) struct FlightWaits {
    to_l1: Option<u64>,
    to_l2: Option<u64>,
}

impl FlightWaits {
    pub(super) fn of(
        executions: Option<&LaunchExecutions>,
        chain: BlockChain,
        numbers: &MachineNumbers,
    ) -> FlightWaits {
        let of_chain = |waits: LineWaitCounts| match chain {
            BlockChain::Aligned => waits.of_chain,
            BlockChain::OneWarp | BlockChain::AllWarps => waits.of_warp,
        };
        // Waits are counted for lines of this size. An access waits for all sectors of its line, so with longer lines
        // it may wait for sectors that the count gives to another line. A longer line is not kept in L1.
        let (_, line) = numbers.range(Parameter::L2Line);
        let of_l2 = executions.filter(|_| line <= MemoryUnits::NVIDIA.line_bytes);
        FlightWaits {
            to_l1: executions.map(|executions| of_chain(executions.load_waits)),
            to_l2: of_l2.map(|executions| of_chain(executions.line_waits)),
        }
    }

    /// Waits for lines on their way to a cache.
    pub(super) fn on_the_way_to(self, cache: KeepingCache) -> Option<u64> {
        match cache {
            KeepingCache::L1 => self.to_l1,
            KeepingCache::L2 => self.to_l2,
        }
    }
}

/// Executions of nodes and accesses by all warps of blocks, and of the launch.
#[derive(Clone, Debug)]
pub(super) struct ExecutedNodes {
    groups: Vec<NodeGroup>,
    /// Kinds of blocks, which together have all blocks of the launch.
    kinds: Vec<ExecutedKind>,
    /// Executions of each group by the whole launch, if one kind stands for different blocks.
    of_launch: Option<Vec<u64>>,
}

/// Nodes that begin with the same operation. They differ in their calls.
#[derive(Clone, Debug)]
struct NodeGroup {
    nodes: Vec<usize>,
    /// Operations of the nodes.
    ops: BTreeSet<OpIndex>,
}

/// Blocks with the same executions.
#[derive(Clone, Debug)]
struct ExecutedKind {
    blocks: u64,
    /// Executions of each group.
    groups: Vec<u64>,
    /// Executions of accesses whose numbers are known.
    accesses: Vec<CountedAccess>,
}

/// Executions of an access with the same numbers.
#[derive(Clone, Copy, Debug)]
struct CountedAccess {
    at: OpIndex,
    counts: AccessCounts,
    times: u64,
}

impl ExecutedNodes {
    /// Groups the executions of a launch by the nodes of its code. Where groups of lanes may meet (`meeting`), the numbers
    /// of an access say nothing about one execution (SOUNDNESS 21.10).
    pub(super) fn of(
        flow: &KernelFlow,
        executions: &LaunchExecutions,
        blocks: u64,
        meeting: &BTreeSet<OpIndex>,
    ) -> ExecutedNodes {
        let mut by_first: BTreeMap<_, (Vec<usize>, BTreeSet<OpIndex>)> = BTreeMap::new();
        for node in flow.thread.space.ids() {
            let block = flow.thread.space.block(node);
            let (nodes, ops) = by_first.entry(block.first).or_default();
            nodes.push(node.index());
            ops.extend((block.first.0..=block.last.0).map(OpIndex));
        }
        // An operation that no warp executes takes nothing.
        by_first.retain(|first, _| executions.of_launch.contains_key(first));
        let of_groups = |of_ops: &BTreeMap<OpIndex, u64>| -> Vec<u64> {
            let firsts = by_first.keys();
            firsts
                .map(|first| of_ops.get(first).copied().unwrap_or(0))
                .collect()
        };
        let kind = |kind: &BlockKind| ExecutedKind {
            blocks: kind.blocks,
            groups: of_groups(&kind.executions),
            accesses: kind
                .accesses
                .iter()
                .filter(|((at, _), _)| !meeting.contains(at))
                .map(|(&(at, numbers), &times)| CountedAccess {
                    at,
                    counts: AccessCounts::of_numbers(numbers),
                    times,
                })
                .collect(),
        };
        let kinds = match &executions.kinds {
            Some(kinds) => kinds.iter().map(kind).collect(),
            // The launch has too many kinds of blocks. Each block counts with the largest number of executions of
            // each operation that any block has.
            None => vec![ExecutedKind {
                blocks,
                groups: of_groups(&executions.of_block),
                accesses: Vec::new(),
            }],
        };
        ExecutedNodes {
            of_launch: match executions.kinds {
                Some(_) => None,
                None => Some(of_groups(&executions.of_launch)),
            },
            groups: by_first
                .into_values()
                .map(|(nodes, ops)| NodeGroup { nodes, ops })
                .collect(),
            kinds,
        }
    }

    /// Sums the services of blocks of `warps` warps, from the services of their nodes and accesses.
    pub(super) fn services(&self, of: &ExecutionServices<'_>, warps: u64) -> ExecutedServices {
        let sums = BlockSums {
            groups: &self.groups,
            of,
        };
        let kinds = self.kinds.iter();
        ExecutedServices {
            kinds: kinds.map(|kind| sums.of_kind(kind, warps)).collect(),
            gpu_of_launch: self.of_launch.as_ref().map(|executions| {
                let all = sums.of_groups(executions, &BTreeMap::new());
                whole_cycles_of_sum(all.gpu)
            }),
        }
    }
}

/// Thousandths of cycles of whole blocks.
#[derive(Clone, Copy, Default)]
struct MilliServices {
    core: u128,
    sm: u128,
    gpu: u128,
}

impl MilliServices {
    fn add(&mut self, services: &NodeServices, times: u64, of_sm: SmServices<'_>) {
        let times = u128::from(times);
        let of = |milli: u64| times.saturating_mul(milli.into());
        self.core = self
            .core
            .saturating_add(of(services[Service::Core as usize]));
        self.sm = self.sm.saturating_add(of(of_sm.milli(services)));
        self.gpu = self.gpu.saturating_add(of(services[Service::Gpu as usize]));
    }
}

/// Converts thousandths of cycles to whole cycles, rounded up.
fn whole_cycles_of_sum(milli: u128) -> u128 {
    milli.div_ceil(warpbound_cycles::MILLI.unsigned_abs().into())
}

/// Services that single executions take.
pub(super) struct ExecutionServices<'a> {
    pub(super) inputs: &'a CycleInputs,
    pub(super) time: &'a KernelTime<'a>,
    pub(super) contention: &'a Contention,
    pub(super) of_sm: SmServices<'a>,
}

/// Sums over the executions of blocks.
struct BlockSums<'a> {
    groups: &'a [NodeGroup],
    of: &'a ExecutionServices<'a>,
}

impl BlockSums<'_> {
    fn of_kind(&self, kind: &ExecutedKind, warps: u64) -> ServicesOfBlocks {
        // Executions with known numbers are served for these numbers; `of_groups` adds the rest.
        let mut known: BTreeMap<OpIndex, u64> = BTreeMap::new();
        let mut sums = MilliServices::default();
        for counted in &kind.accesses {
            let limits = self.of.inputs.accesses.get(&counted.at);
            let limits = limits.and_then(|limits| limits_of(limits, counted.counts));
            let services = limits.and_then(|limits| self.of.time.services(counted.at, &limits));
            if let Some(services) = services {
                sums.add(&services, counted.times, self.of.of_sm);
                *known.entry(counted.at).or_default() += counted.times;
            }
        }
        let others = self.of_groups(&kind.groups, &known);
        // The barriers of the SM may serve a warp when it ends, whatever its nodes are.
        let of_warps = u128::from(warps) * u128::from(self.of.of_sm.of_warp());
        ServicesOfBlocks {
            blocks: kind.blocks,
            core: whole_cycles_of_sum(sums.core + others.core),
            sm: whole_cycles_of_sum(sums.sm + others.sm) + of_warps,
            gpu: whole_cycles_of_sum(sums.gpu + others.gpu),
        }
    }

    /// Services of executions of the groups, without the accesses that are `known`.
    fn of_groups(&self, executions: &[u64], known: &BTreeMap<OpIndex, u64>) -> MilliServices {
        let mut sums = MilliServices::default();
        for (group, &executions) in self.groups.iter().zip(executions) {
            let of_ops = group.ops.iter().filter_map(|&at| {
                let times = known.get(&at)?;
                Some((self.of.contention.ops.get(at.index())?, *times))
            });
            let of_ops: Vec<(&NodeServices, u64)> = of_ops.collect();
            // The counts are by operation, so the node of an execution is not known. The worst node is taken for each
            // resource.
            let mut worst = NodeServices::default();
            for &node in &group.nodes {
                let mut services = of_node(self.of.contention, node);
                for (of_op, _) in &of_ops {
                    for (own, of_op) in services.iter_mut().zip(of_op.iter()) {
                        *own = own.saturating_sub(*of_op);
                    }
                }
                for (worst, own) in worst.iter_mut().zip(services) {
                    *worst = own.max(*worst);
                }
            }
            sums.add(&worst, executions, self.of.of_sm);
            // Executions with unknown numbers take the largest service of the access.
            for (of_op, times) in of_ops {
                sums.add(of_op, executions.saturating_sub(times), self.of.of_sm);
            }
        }
        sums
    }
}

/// Limits of an execution of an access with these numbers; `None` if the access may be to several spaces.
fn limits_of(limits: &AccessLimits, counts: AccessCounts) -> Option<AccessLimits> {
    let mut limits = limits.clone();
    let [limit] = &mut limits.spaces[..] else {
        return None;
    };
    // Both numbers hold for the execution. Limits count the lines of each request, which `transactions` are.
    limit.requests = limit.requests.min(counts.requests);
    limit.lines = limit.lines.min(counts.transactions);
    limit.sectors = limit.sectors.min(counts.sectors);
    limit.conflicts = limit
        .conflicts
        .min(counts.conflicts.max(counts.byte_conflicts));
    Some(limits)
}
