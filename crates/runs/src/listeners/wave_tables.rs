//! Tables of a timed simulation of waves: work of the units, use of the lanes, and splits.

use warpbound_isa::amd::{GcnClass, GcnProgram};
use warpbound_machine::{MachineConfig, Parameter};
use warpbound_report::timed::waves::{LaneCycles, UnitTime, WaveReport};
use warpbound_simulate::functional::Counts;
use warpbound_simulate::timed::{SplitPipelines, WaveSetup};
use warpbound_timing::{IssueKind, WaveFacts, gcn_facts};

use super::cycle_statistics::CycleStatistics;
use warpbound_query::Prepared;

/// Lanes of a vector ALU: an instruction of 64 lanes at the full rate takes 4 cycles.
const ALU_LANES: u64 = 16;

/// Name of the unit of the local data share.
const LDS_UNIT: &str = "LDS unit";

/// Kinds of instructions that a unit executes, with the names of the units. The vector ALU is first.
const UNITS: [(IssueKind, &str); 6] = [
    (IssueKind::Vector, "vector ALU"),
    (IssueKind::Scalar, "scalar ALU"),
    (IssueKind::Branch, "branch"),
    (IssueKind::VectorMemory, "vector memory"),
    (IssueKind::Lds, LDS_UNIT),
    (IssueKind::ScalarMemory, "scalar memory"),
];

/// Builds the tables, except the table of splits.
pub(crate) fn wave_report(
    prepared: &Prepared<'_>,
    program: &GcnProgram,
    counts: &Counts,
    statistics: &CycleStatistics,
    setup: &WaveSetup,
) -> WaveReport {
    let machine = &setup.machine;
    let facts = gcn_facts(&prepared.code, program);
    let active_cycles = statistics.active_cycles();
    let mut used = 0u64;
    let mut units = UNITS.map(|(kind, unit)| UnitTime {
        unit,
        wave_instructions: 0,
        busy_cycles: 0,
        offered_cycles: active_cycles.saturating_mul(unit_count(kind, setup)),
    });
    for (at, facts) in facts.iter().enumerate() {
        let issues = counts.issues.get(at).copied().unwrap_or(0);
        let Some(number) = UNITS.iter().position(|(kind, _)| *kind == facts.kind) else {
            continue;
        };
        let cycles = unit_cycles(facts, machine);
        units[number].wave_instructions += issues;
        units[number].busy_cycles += issues.saturating_mul(cycles);
        if facts.kind == IssueKind::Vector {
            let active = counts.active.get(at).copied().unwrap_or(0);
            // 64 active lanes use all 16 lanes of the ALU in each cycle, and fewer use a part of them.
            used += active.saturating_mul(cycles) * ALU_LANES / 64;
        }
    }
    // Conflicts depend on addresses, so they do not follow from the numbers of issues.
    let conflicts: u64 = statistics
        .shared
        .iter()
        .map(|shared| shared.conflicts)
        .sum();
    if let Some(lds) = units.iter_mut().find(|unit| unit.unit == LDS_UNIT) {
        lds.busy_cycles += conflicts.saturating_mul(machine[Parameter::LdsConflict]);
    }
    let [vector, ..] = &units;
    let offered = vector.offered_cycles.saturating_mul(ALU_LANES);
    WaveReport {
        units: units.into(),
        lane_cycles: LaneCycles { used, offered },
        scalar_memory: statistics.scalar,
        splitting: None,
    }
}

/// Returns the number of pipelines of a kind that a compute unit has.
fn unit_count(kind: IssueKind, setup: &WaveSetup) -> u64 {
    // Parallel splits have ALUs and branch units of their own; memory units are shared.
    let copies = match setup.splitting.pipelines {
        SplitPipelines::Parallel => u64::from(setup.splitting.splits) + 1,
        SplitPipelines::Serialised => 1,
    };
    match kind {
        IssueKind::Vector => copies * setup.machine[Parameter::CuSimds],
        IssueKind::Scalar | IssueKind::Branch => copies,
        _ => 1,
    }
}

/// Returns the cycles for which an instruction occupies its unit, without conflicts of LDS.
fn unit_cycles(facts: &WaveFacts, machine: &MachineConfig) -> u64 {
    let dwords = u64::from(facts.dwords);
    match facts.class {
        GcnClass::Full => machine[Parameter::ValuCycles],
        GcnClass::Quarter => machine[Parameter::ValuQuarter],
        GcnClass::F64Add => machine[Parameter::ValuF64Add],
        GcnClass::F64Mul => machine[Parameter::ValuF64Mul],
        GcnClass::Scalar | GcnClass::ScalarSlow => machine[Parameter::SaluCycles],
        GcnClass::Branch => machine[Parameter::BranchCycles],
        GcnClass::Flat | GcnClass::Buffer => machine[Parameter::VmemCycles] * dwords,
        GcnClass::Lds => machine[Parameter::LdsCycles] * dwords,
        GcnClass::ScalarMemory if dwords > 8 => machine[Parameter::SmemCycles16],
        GcnClass::ScalarMemory if dwords > 4 => machine[Parameter::SmemCycles8],
        GcnClass::ScalarMemory => machine[Parameter::SmemCycles],
        _ => 0,
    }
}
