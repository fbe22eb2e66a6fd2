//! Services of whole blocks and of a whole launch, by the executions that the launch fixes (SOUNDNESS 20.5).

use std::collections::BTreeMap;

use warpbound_analyse::launch_profile::LaunchExecutions;
use warpbound_bound::ExecutedServices;
use warpbound_cycles::{Contention, Service};

use super::sums::SmServices;
use super::{of_node, whole_cycles};
use crate::KernelFlow;

/// Executions of nodes by all warps of a block, and of the launch.
#[derive(Clone, Debug)]
pub(super) struct ExecutedNodes {
    groups: Vec<ExecutedGroup>,
}

/// Nodes that begin with the same operation, which differ in their calls.
#[derive(Clone, Debug)]
struct ExecutedGroup {
    nodes: Vec<usize>,
    of_block: u64,
    of_launch: u64,
}

impl ExecutedNodes {
    pub(super) fn of(flow: &KernelFlow, executions: &LaunchExecutions) -> ExecutedNodes {
        let mut by_first: BTreeMap<_, Vec<usize>> = BTreeMap::new();
        for node in flow.thread.space.ids() {
            let first = flow.thread.space.block(node).first;
            by_first.entry(first).or_default().push(node.index());
        }
        let groups = by_first.into_iter().filter_map(|(first, nodes)| {
            Some(ExecutedGroup {
                nodes,
                of_block: *executions.of_block.get(&first)?,
                of_launch: *executions.of_launch.get(&first)?,
            })
        });
        ExecutedNodes {
            groups: groups.collect(),
        }
    }

    /// Sums the services of blocks of this many warps.
    pub(super) fn services(
        &self,
        contention: &Contention,
        of_sm: SmServices<'_>,
        warps: u64,
    ) -> ExecutedServices {
        let service = |service: Service| {
            move |node: usize| whole_cycles(of_node(contention, node)[service as usize])
        };
        let of_block = |of_node: &dyn Fn(usize) -> u64| {
            let groups = self.groups.iter();
            let sums = groups.map(|group| u128::from(group.of_block) * group.worst(of_node));
            sums.sum::<u128>()
        };
        let gpu = service(Service::Gpu);
        let groups = self.groups.iter();
        let of_launch = groups.map(|group| u128::from(group.of_launch) * group.worst(&gpu));
        ExecutedServices {
            core_of_block: of_block(&service(Service::Core)),
            sm_of_block: of_block(&|node| of_sm.of_node(node))
                + u128::from(warps) * u128::from(of_sm.of_warp()),
            gpu_of_block: of_block(&gpu),
            gpu_of_launch: of_launch.sum(),
        }
    }
}

impl ExecutedGroup {
    /// The greatest number of one of its nodes.
    fn worst(&self, of_node: &dyn Fn(usize) -> u64) -> u128 {
        let nodes = self.nodes.iter();
        nodes
            .map(|&node| u128::from(of_node(node)))
            .max()
            .unwrap_or(0)
    }
}
