//! Memory divergence of a launch: its accesses, counted from the addresses of the lanes in a run without time. For
//! example, 32 lanes that load 4 bytes each from consecutive addresses touch fewer sectors than 32 lanes that are 128
//! bytes apart.

use std::collections::BTreeMap;

use warpbound_analyse::ThreadCfg;
use warpbound_analyse::access::{AccessClass, AccessCounts};
use warpbound_analyse::thread_cfg::Limits;
use warpbound_base::{Diagnostic, Family, Named as _};
use warpbound_bounds::access::access_classes;
use warpbound_ir::OpIndex;
use warpbound_isa::instr::MemorySpace;
use warpbound_launch::LaunchFile;
use warpbound_report::memory_metrics::{AccessedMemory, MemoryDivergence};
use warpbound_simulate::functional::{
    ExecutionListener, Issue, MemoryAccess, launch_with_listener,
};

use warpbound_query::{BoundOptions, Prepared, Session, StatedLaunches};
use warpbound_runs::RunOptions;
use warpbound_runs::access_counts::count_access;
use warpbound_runs::runs::functional::{MAX_INSTRUCTIONS, fault_diagnostic};

/// Sums over the executions of an access to one memory space.
#[derive(Clone, Copy, Default)]
struct AccessSums {
    executions: u64,
    transactions: u64,
    sectors: u64,
    conflicts: u64,
}

/// Listener that adds up accesses.
#[derive(Default)]
struct AccessTally {
    /// Operation issued last.
    at: OpIndex,
    sums: BTreeMap<(OpIndex, &'static str), (MemorySpace, AccessSums)>,
}

impl<E> ExecutionListener<E> for AccessTally {
    fn issue(&mut self, issue: &Issue<'_, E>) -> bool {
        // An access has no operation of its own; the listener sees it after the issue that causes it.
        self.at = issue.at;
        true
    }

    fn access(&mut self, access: &MemoryAccess<'_>) {
        // Without a lane whose guard holds there is no access.
        if access.taken == 0 {
            return;
        }
        for (space, counts) in count_access(access) {
            let sums = self.sums.entry((self.at, space.name()));
            let (_, sums) = sums.or_insert((space, AccessSums::default()));
            sums.executions += 1;
            sums.transactions += u64::from(counts.transactions);
            sums.sectors += u64::from(counts.sectors);
            sums.conflicts += u64::from(counts.conflicts);
        }
    }
}

/// Counts the memory divergence of a launch in a run without time; `None` for code of other vendors than NVIDIA.
///
/// # Errors
///
/// The launch does not suit the kernel, or the kernel faults.
pub fn memory_divergence(
    session: &Session,
    prepared: &Prepared<'_>,
    launch: &LaunchFile,
    options: &RunOptions,
) -> Result<Option<MemoryDivergence>, Diagnostic> {
    match prepared.family() {
        Family::Maxwell => {}
        Family::Volta | Family::Gcn3 | Family::MiniSimt => return Ok(None),
    }
    let most = options.max_instructions.unwrap_or(MAX_INSTRUCTIONS);
    let (run, mut memory) = session.bind(prepared, launch, options.order, most)?;
    let mut tally = AccessTally::default();
    launch_with_listener(&prepared.code, &run, &mut memory, &mut tally).map_err(|fault| {
        let fault = fault_diagnostic(prepared, &fault);
        session.locate(fault.in_kernel(prepared.kernel.demangled()))
    })?;
    // The limits need a graph of the kernel; the counts do not, so a refusal loses only the limits.
    let classes = classes_of(session, prepared, launch).unwrap_or_default();
    Ok(Some(divergence(prepared, &tally, &classes)))
}

fn classes_of(
    session: &Session,
    prepared: &Prepared<'_>,
    launch: &LaunchFile,
) -> Result<BTreeMap<OpIndex, AccessClass>, Diagnostic> {
    let options = BoundOptions {
        block: Some(launch.block),
        launches: StatedLaunches::one(launch),
        ..BoundOptions::default()
    };
    let knowledge = session.launch(prepared.kernel, &options)?;
    let flow = session.flow(prepared, &knowledge.context, &options)?;
    access_classes(session, prepared, &flow, launch)
}

/// Returns the report of counted accesses.
fn divergence(
    prepared: &Prepared<'_>,
    tally: &AccessTally,
    classes: &BTreeMap<OpIndex, AccessClass>,
) -> MemoryDivergence {
    let block_of = blocks(prepared);
    let mut found = MemoryDivergence::default();
    type Groups = BTreeMap<(Option<String>, &'static str), AccessedMemory>;
    let (mut spaces, mut lines) = (Groups::new(), Groups::new());
    let mut blocks: BTreeMap<(OpIndex, &'static str), AccessedMemory> = BTreeMap::new();
    for (&(at, space), (kind, sums)) in &tally.sums {
        // A class limits each execution, so the limit of the sum is a product.
        let limit = classes.get(&at).and_then(|class| class.limit(*kind));
        let mnemonic = prepared.program.mnemonic(at.index()).unwrap_or("?");
        let one = accessed(
            format!("{} {mnemonic}", prepared.location(at)),
            *kind,
            space,
            *sums,
            limit,
        );
        spaces.entry((None, space)).or_default().add(&one);
        let line = prepared.source(prepared.addr(at));
        lines.entry((line, space)).or_default().add(&one);
        let block = block_of.get(&at).copied().unwrap_or(at);
        blocks.entry((block, space)).or_default().add(&one);
        found.accesses.push(one);
    }
    // Without debug information there is one group without a name, which repeats the sums by space.
    if lines.keys().all(|(line, _)| line.is_none()) {
        lines.clear();
    }
    let named = |groups: Groups| -> Vec<AccessedMemory> {
        let groups = groups.into_iter();
        groups
            .map(|((name, _), sum)| AccessedMemory { name, ..sum })
            .collect()
    };
    found.spaces = named(spaces);
    found.lines = named(lines);
    found.blocks = blocks
        .into_iter()
        .map(|((block, _), sum)| AccessedMemory {
            name: Some(prepared.location(block)),
            ..sum
        })
        .collect();
    found
}

fn accessed(
    name: String,
    kind: MemorySpace,
    space: &'static str,
    sums: AccessSums,
    limit: Option<AccessCounts>,
) -> AccessedMemory {
    let is_shared = kind == MemorySpace::Shared;
    let most = |of: fn(AccessCounts) -> u32| {
        let each = limit.map(|limit| u64::from(of(limit)));
        each.and_then(|each| each.checked_mul(sums.executions))
    };
    AccessedMemory {
        name: Some(name),
        space,
        executions: sums.executions,
        transactions: sums.transactions,
        // Shared memory has banks, and other memory has sectors.
        sectors: (!is_shared).then_some(sums.sectors),
        conflicts: is_shared.then_some(sums.conflicts),
        most_transactions: most(|limit| limit.transactions),
        most_sectors: most(|limit| limit.sectors).filter(|_| !is_shared),
        most_conflicts: most(|limit| limit.conflicts).filter(|_| is_shared),
    }
}

/// Returns the first operation of the block of each operation.
fn blocks(prepared: &Prepared<'_>) -> BTreeMap<OpIndex, OpIndex> {
    let Ok(thread) = ThreadCfg::build(&prepared.code, &Limits::default()) else {
        return BTreeMap::new();
    };
    let blocks = (0..thread.space.blocks.len()).map(|number| thread.space.blocks.get(number));
    blocks
        .flat_map(|block| {
            block
                .ops()
                .map(move |at| (at, block.first))
                .collect::<Vec<_>>()
        })
        .collect()
}
