//! Assumptions that several reports state: of lanes, of launches, of the warp-level graph (SOUNDNESS 2).

use warpbound_analyse::LaunchContext;
use warpbound_analyse::agreement::UsedAssumptions;
use warpbound_analyse::thread_cfg::ThreadCfg;
use warpbound_base::Reconvergence;
use warpbound_ir::{Code, ControlEffect, Op};
use warpbound_launch::{DataRange, LaunchFile};
use warpbound_query::BoundOptions;
use warpbound_report::BoundAssumption;

/// Returns an assumption by its name.
pub fn assumption(id: &'static str, text: impl Into<String>) -> BoundAssumption {
    let text = text.into();
    BoundAssumption { id, text }
}

/// States the threads of blocks, or of warps.
pub fn lanes_assumption(launch: &LaunchContext) -> BoundAssumption {
    let text = match launch.block {
        Some([x, y, z]) => format!("blocks have {x} x {y} x {z} threads"),
        None => format!("a warp has at most {} threads", launch.live_lanes()),
    };
    assumption("lanes", text)
}

/// Lists the statements of the user about launches.
pub fn launch_assumptions(options: &BoundOptions) -> Vec<BoundAssumption> {
    let text = format!("all launches have {}", options.launch_text());
    let mut all = vec![assumption("launch-range", text)];
    let file = options.launches.file.as_ref();
    if file.is_some_and(|file| file.has_addresses()) {
        let text = "the launch's buffers begin at multiples of 256 bytes";
        all.push(assumption("buffers-aligned", text));
    }
    let ranges = file.map_or(String::new(), |file| data_ranges_text(file));
    if !ranges.is_empty() {
        let text = format!(
            "what the kernel loads at an address that is a parameter and an offset is in the range of its buffer: {ranges}"
        );
        all.push(assumption("data-ranges", text));
    }
    all
}

/// Lists the ranges that a launch file states for the numbers in buffers.
fn data_ranges_text(file: &LaunchFile) -> String {
    let ranges = file.buffers().filter_map(|(name, buffer)| {
        let DataRange { least, most } = buffer.range?;
        Some(format!("{name} {least} to {most}"))
    });
    ranges.collect::<Vec<_>>().join(", ")
}

/// Lists the properties of the hardware that the warp-level graph rests on.
pub fn warp_graph_assumptions(used: &UsedAssumptions) -> impl Iterator<Item = BoundAssumption> {
    [
        (
            used.stable_global,
            "stable-global",
            "lanes that load one address of global memory with one instruction get the same word",
        ),
        (
            used.virtual_id,
            "virtual-id",
            "all bits of SR_VIRTID are the same in the lanes of a warp",
        ),
        (
            used.condition_code,
            "condition-code",
            "only instructions whose disassembly names the condition code read or write it",
        ),
    ]
    .into_iter()
    .filter(|(is_used, ..)| *is_used)
    .map(|(_, id, text)| assumption(id, text))
}

/// Lists the assumptions about convergence barriers and uniform registers (SOUNDNESS 21.1); none for other families.
pub fn convergence_assumptions(code: &Code, thread: &ThreadCfg) -> Vec<BoundAssumption> {
    if code.family.facts().reconvergence != Reconvergence::ConvergenceBarriers {
        return Vec::new();
    }
    let reached = thread.space.ids().filter(|&node| thread.is_reached(node));
    let ops: Vec<&Op> = reached
        .flat_map(|node| thread.space.block(node).ops().collect::<Vec<_>>())
        .filter_map(|at| code.get(at))
        .collect();
    let any = |has: fn(&Op) -> bool| ops.iter().any(|op| has(op));
    let regions = &thread.regions;
    let joins = regions.ends.len() > regions.demoted.len();
    let used = [
        (
            true,
            "groups-whole",
            "lanes that execute an instruction together stay together as long as they go to the same place",
        ),
        (
            joins,
            "bsync-joins",
            "lanes that executed a BSSY together leave its BSYNC together, unless one of them executes YIELD, NANOSLEEP or WARPSYNC before",
        ),
        (
            any(|op| op.reads.iter().any(|cell| cell.is_uniform())),
            "uniform-private",
            "lanes read from a uniform register what they, or the lanes that they were together with, wrote last; lanes that write one together agree on the guard",
        ),
        (
            any(|op| matches!(op.control, ControlEffect::SaveBarrier(_, Some(_)))),
            "barrier-spill",
            "a convergence barrier that is moved to a register and back has the same lanes as before",
        ),
        (
            any(|op| matches!(op.control, ControlEffect::Collective(_))),
            "collective",
            "a group of lanes executes the code after WARPSYNC.COLLECTIVE at most once for each time that it arrives there",
        ),
        (
            any(|op| matches!(op.control, ControlEffect::Return { .. })),
            "calling-convention",
            "functions return to the instruction after their call",
        ),
    ];
    let used = used.into_iter().filter(|(is_used, ..)| *is_used);
    used.map(|(_, id, text)| assumption(id, text)).collect()
}
