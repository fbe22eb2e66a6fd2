//! Metrics of a kernel from the executions of its blocks.
//!
//! All instructions of a block are issued as often as its first one, and up to a write of the mask of active lanes
//! with as many lanes. So counts of blocks give each sum of warp and thread instructions, whichever way they were
//! found.

use std::collections::{BTreeMap, BTreeSet};

use warpbound_analyse::ThreadCfg;
use warpbound_analyse::blocks::{Block, Blocks};
use warpbound_analyse::thread_cfg::Limits;
use warpbound_base::Named;
use warpbound_ir::{ControlEffect, OpIndex};
use warpbound_isa::instr::MemorySpace;
use warpbound_report::metrics::{BranchMetrics, InstructionMetrics, NamedMetrics, SpaceMetrics};

pub use warpbound_report::MetricsReport;

use crate::{block_counts::BlockCount, block_counts::BlockCounts};
use crate::{
    listeners::instruction_statistics::access_at, listeners::instruction_statistics::class_of,
};
use warpbound_query::Prepared;

/// Knowledge besides the counts of blocks.
#[derive(Clone, Debug, Default)]
pub struct MetricsBasis {
    /// Threads of a block of the launch.
    pub block_threads: Option<u64>,
    /// Known numbers of executions after which lanes diverged, by conditional control transfer.
    pub divergences: BTreeMap<OpIndex, u64>,
}

/// Returns the metrics of a kernel on warps of `width` lanes. Blocks without a count are unknown, unless no thread
/// reaches them.
pub fn metrics(prepared: &Prepared<'_>, counts: &BlockCounts, width: u32) -> MetricsReport {
    metrics_with(prepared, counts, width, &MetricsBasis::default())
}

/// Returns the metrics of a kernel like [`metrics`], with further knowledge about the launch.
pub fn metrics_with(
    prepared: &Prepared<'_>,
    counts: &BlockCounts,
    width: u32,
    basis: &MetricsBasis,
) -> MetricsReport {
    let launched = launched_lanes(basis.block_threads, width);
    let scale = Scale { width, launched };
    let mut total = Sums::default();
    let mut classes: BTreeMap<String, Sums> = BTreeMap::new();
    let mut lines: BTreeMap<Option<String>, Sums> = BTreeMap::new();
    let mut spaces: BTreeMap<&'static str, Sums> = BTreeMap::new();
    let (mut blocks, mut unknown_blocks) = (Vec::new(), Vec::new());
    let mut branches = Vec::new();
    for counted in counted_blocks(prepared, counts) {
        let mut sums = Sums::default();
        for (at, issued) in issued_ops(prepared, &counted) {
            let place = at.index();
            let space = space_of(prepared, at);
            let add = |sums: &mut Sums| sums.add(issued, space);
            add(&mut sums);
            add(&mut total);
            add(classes.entry(class_of(prepared, place)).or_default());
            add(lines.entry(prepared.source(prepared.addr(at))).or_default());
            if let Some(space) = space {
                add(spaces.entry(space.name()).or_default());
            }
            if let Some(&divergent) = basis.divergences.get(&at) {
                branches.push(branch(prepared, at, issued, divergent));
            }
        }
        let name = prepared.location(counted.block.first);
        if counted.count.is_none() {
            unknown_blocks.push(name.clone());
        }
        blocks.push(scale.named(Some(name), &sums));
    }
    // The sort is stable: equally frequent classes stay in the order of their names.
    let mut classes: Vec<(String, Sums)> = classes.into_iter().collect();
    classes.sort_by_key(|(_, sums)| std::cmp::Reverse(sums.warps.0));
    // Without a line table, the only row would repeat the total.
    if lines.keys().all(Option::is_none) {
        lines.clear();
    }
    MetricsReport {
        schema: MetricsReport::SCHEMA,
        kernel: prepared.kernel.demangled(),
        width,
        launched_lanes: launched,
        total: scale.metrics(&total),
        unknown_blocks,
        classes: named(&scale, classes.into_iter().map(|(n, s)| (Some(n), s))),
        spaces: spaces
            .into_iter()
            .map(|(space, sums)| space_metrics(space, sums))
            .collect(),
        branches,
        lines: named(&scale, lines.into_iter()),
        blocks,
        memory_divergence: None,
    }
}

/// Block that a thread may reach, with its count if it is known.
struct CountedBlock {
    block: Block,
    count: Option<BlockCount>,
}

/// Returns the blocks that threads may reach. A block ends where another block with a count begins, so each operation
/// has the count of the nearest counted operation before it.
fn counted_blocks(prepared: &Prepared<'_>, counts: &BlockCounts) -> Vec<CountedBlock> {
    let code = &prepared.code;
    let thread = ThreadCfg::build(code, &Limits::default()).ok();
    let has_indirect = || {
        let mut ops = code.ops.iter();
        ops.any(|op| matches!(op.control, ControlEffect::Indirect { .. }))
    };
    // Without the graph, targets of indirect jumps are unknown: a counted block might contain one that has no count.
    let is_cut = thread.is_some() || !has_indirect();
    let mut leaders: BTreeSet<OpIndex> = counts.blocks.keys().copied().collect();
    let mut reached = BTreeSet::new();
    if let Some(thread) = &thread {
        let firsts = (0..thread.space.blocks.len()).map(|n| thread.space.blocks.get(n).first);
        leaders.extend(firsts);
        let ids = thread.space.ids().filter(|&id| thread.is_reached(id));
        for block in ids.map(|id| thread.space.block(id)) {
            reached.extend(block.ops());
        }
    }
    let blocks = Blocks::build(code, &leaders);
    let all = (0..blocks.len()).map(|index| blocks.get(index));
    let counted = all.map(|block| CountedBlock {
        block,
        count: counts.blocks.get(&block.first).copied().filter(|_| is_cut),
    });
    // A count of a block that the graph does not reach contradicts the graph; it is not dropped.
    let is_possible = |one: &CountedBlock| {
        let is_executed = one.count.is_some_and(|count| count.issues > 0);
        thread.is_none() || is_executed || reached.contains(&one.block.first)
    };
    counted.filter(is_possible).collect()
}

/// Issues of an operation and active lanes, as far as they are known.
#[derive(Clone, Copy)]
struct Issued {
    warps: Option<u64>,
    threads: Option<u64>,
}

/// Returns the operations that a block issues, with their counts.
fn issued_ops(prepared: &Prepared<'_>, counted: &CountedBlock) -> Vec<(OpIndex, Issued)> {
    let mut issued = Issued {
        warps: counted.count.map(|count| count.issues),
        threads: counted.count.map(|count| count.lanes),
    };
    let mut ops = Vec::new();
    for at in counted.block.ops() {
        let Some(op) = prepared.code.get(at) else {
            continue;
        };
        if op.control == ControlEffect::End {
            continue;
        }
        ops.push((at, issued));
        // After a write of the mask, other lanes may be active than at the start of the block; without executions,
        // there are none.
        if matches!(op.control, ControlEffect::SetActive(_)) && issued.warps != Some(0) {
            issued.threads = None;
        }
    }
    ops
}

/// Returns the memory space that an operation accesses.
pub fn space_of(prepared: &Prepared<'_>, at: OpIndex) -> Option<MemorySpace> {
    let op = prepared.code.get(at)?;
    let (access, _) = access_at(prepared, at.index(), op)?;
    (access.loads || access.stores).then_some(access.space)
}

/// Sum of counts; unknown if one of them is.
#[derive(Clone, Copy)]
struct Sum(Option<u64>);

impl Default for Sum {
    fn default() -> Sum {
        Sum(Some(0))
    }
}

impl Sum {
    fn add(&mut self, count: Option<u64>) {
        // A sum that overflows is unknown, not saturated, because metrics are exact.
        let sum = self.0.zip(count);
        self.0 = sum.and_then(|(sum, count)| sum.checked_add(count));
    }
}

/// Counts of a set of instructions.
#[derive(Clone, Copy, Default)]
struct Sums {
    warps: Sum,
    threads: Sum,
    memory: Sum,
    global: Sum,
    generic: Sum,
}

impl Sums {
    fn add(&mut self, issued: Issued, space: Option<MemorySpace>) {
        self.warps.add(issued.warps);
        self.threads.add(issued.threads);
        let Some(space) = space else {
            return;
        };
        self.memory.add(issued.warps);
        match space {
            MemorySpace::Global => self.global.add(issued.warps),
            MemorySpace::Generic => self.generic.add(issued.warps),
            MemorySpace::Shared
            | MemorySpace::Local
            | MemorySpace::Constant
            | MemorySpace::Texture
            | MemorySpace::Surface
            | MemorySpace::Attribute => {}
        }
    }
}

/// Denominators of activity factors.
struct Scale {
    width: u32,
    launched: Option<u32>,
}

impl Scale {
    fn metrics(&self, sums: &Sums) -> InstructionMetrics {
        let warps = sums.warps.0;
        // A generic access may be to global memory, so the number is known only if there are no generic accesses.
        let global = sums.global.0.filter(|_| sums.generic.0 == Some(0));
        let of_lanes = |lanes: u32| {
            let all = warps?.checked_mul(u64::from(lanes))?;
            ratio(sums.threads.0?, all)
        };
        let share = |part: Option<u64>| ratio(part?, warps?);
        InstructionMetrics {
            warp_instructions: warps,
            thread_instructions: sums.threads.0,
            activity_factor: of_lanes(self.width),
            activity_of_launched: self.launched.and_then(of_lanes),
            memory_instructions: sums.memory.0,
            global_instructions: global,
            memory_intensity: share(global),
            memory_share: share(sums.memory.0),
        }
    }

    fn named(&self, name: Option<String>, sums: &Sums) -> NamedMetrics {
        NamedMetrics {
            name,
            metrics: self.metrics(sums),
        }
    }
}

fn named(scale: &Scale, sums: impl Iterator<Item = (Option<String>, Sums)>) -> Vec<NamedMetrics> {
    sums.map(|(name, sums)| scale.named(name, &sums)).collect()
}

fn space_metrics(space: &'static str, sums: Sums) -> SpaceMetrics {
    SpaceMetrics {
        space,
        warp_instructions: sums.warps.0,
        thread_instructions: sums.threads.0,
    }
}

fn branch(prepared: &Prepared<'_>, at: OpIndex, issued: Issued, divergent: u64) -> BranchMetrics {
    let mnemonic = prepared.program.mnemonic(at.index());
    BranchMetrics {
        address: prepared.addr(at).to_string(),
        mnemonic: mnemonic.unwrap_or("?").to_owned(),
        source: prepared.source(prepared.addr(at)),
        executions: issued.warps,
        divergent,
        divergence: issued.warps.and_then(|all| ratio(divergent, all)),
    }
}

/// Returns the number of threads that each warp of a launch begins with, if it is the same for all warps. For
/// example, blocks of 96 threads have 3 warps of 32, and blocks of 100 threads have no common number.
fn launched_lanes(block_threads: Option<u64>, width: u32) -> Option<u32> {
    let threads = block_threads.filter(|&threads| threads > 0)?;
    match threads < u64::from(width) {
        true => u32::try_from(threads).ok(),
        false => threads.is_multiple_of(u64::from(width)).then_some(width),
    }
}

/// Returns a share; `None` if the whole is 0.
fn ratio(part: u64, all: u64) -> Option<f64> {
    (all > 0).then(|| part as f64 / all as f64)
}
