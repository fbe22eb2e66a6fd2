//! Replays of a few instructions, against cycles computed by hand.

use smallvec::SmallVec;
use warpbound_ir::OpIndex;
use warpbound_isa::nvidia::ExecUnit;
use warpbound_machine::{GpuModel, MachineConfig, Parameter, Selection};
use warpbound_timing::{Completion, Distance, InstrFacts, L1Use};

use super::{
    FetchSource, RecordedTrace, ServiceOrder, TracedAccess, TracedFetch, TracedInstr, TracedL2Line,
    TracedLine, TracedMiss, TranslationSource, replay, replay_bounded,
};
use crate::memory::AccessDirection;
use crate::numbers::MachineNumbers;

fn machine() -> MachineConfig {
    let model = GpuModel::built_in("gtx1080").expect("a built-in machine");
    model.select(Selection::Typical)
}

/// Returns an instruction that issues a cycle before the next one and waits for nothing.
fn plain(number: u32) -> InstrFacts {
    InstrFacts {
        address: 8 + 8 * number,
        distance: Distance::Cycles(1),
        least: 1,
        fetched: SmallVec::new(),
        drains: false,
        yields: false,
        write_sb: None,
        read_sb: None,
        wait_mask: 0,
        unit: ExecUnit::None,
        completion: Completion::Fixed,
        is_memory: false,
        constants: SmallVec::new(),
        branches: false,
        arrives: false,
        passes_barrier: false,
        reads: SmallVec::new(),
        writes: SmallVec::new(),
        controls_caches: false,
        has_class: true,
    }
}

/// Returns the trace of instructions that follow each other.
fn in_order(facts: &[InstrFacts]) -> RecordedTrace {
    let instr = |number: usize| TracedInstr {
        at: OpIndex(number as u32),
        ..TracedInstr::default()
    };
    RecordedTrace {
        instrs: (0..facts.len()).map(instr).collect(),
    }
}

/// Replays instructions; returns the cycles of their issues after the start of the warp. Checks that the functions of
/// the bound are never earlier.
fn issues(facts: &[InstrFacts], trace: &RecordedTrace, machine: &MachineConfig) -> Vec<u64> {
    let numbers = MachineNumbers::of_config(machine).expect("a machine for bounds");
    let replayed = replay(facts, trace, &numbers, ServiceOrder::Gaps);
    let bounded = replay_bounded(facts, trace, &numbers);
    for (exact, bounded) in replayed.issues.iter().zip(&bounded.issues) {
        assert!(bounded >= exact, "{:?}, {:?}", replayed.issues, bounded);
    }
    let start = machine[Parameter::LaunchKernel];
    replayed.issues.iter().map(|issue| issue - start).collect()
}

/// Code 0 waits for each of the six scoreboards, for writes and for reads.
#[test]
fn a_drain_waits_for_each_scoreboard() {
    let machine = machine();
    let latency = machine[Parameter::LatencyXu];
    let sources = machine[Parameter::SharedSources].min(latency);
    let drain = machine[Parameter::IssueDrain];
    for number in 0..6 {
        for is_read in [false, true] {
            let mut facts: Vec<InstrFacts> = (0..3).map(plain).collect();
            facts[0].unit = ExecUnit::Xu;
            facts[0].completion = Completion::Latency(Parameter::LatencyXu);
            match is_read {
                false => facts[0].write_sb = Some(number),
                true => facts[0].read_sb = Some(number),
            }
            facts[1].drains = true;
            let released = 1 + if is_read { sources } else { latency };
            let expected = [1, 2, released.max(3) + drain];
            assert_eq!(
                issues(&facts, &in_order(&facts), &machine),
                expected,
                "{number}"
            );
        }
    }
}

/// Three instructions with code 16: the first two are a pair, the third issues a cycle later and pairs with the fourth.
#[test]
fn pairs_do_not_overlap() {
    let machine = machine().with(Parameter::IssueDual, 1);
    let mut facts: Vec<InstrFacts> = (0..5).map(plain).collect();
    for facts in &mut facts[..3] {
        facts.distance = Distance::Pair;
        facts.least = 0;
    }
    assert_eq!(issues(&facts, &in_order(&facts), &machine), [1, 1, 2, 2, 3]);
    let single = machine.with(Parameter::IssueDual, 0);
    assert_eq!(issues(&facts, &in_order(&facts), &single), [1, 2, 3, 4, 5]);
}

/// An instruction for either pipe takes the one that is free.
#[test]
fn either_pipe_is_taken() {
    let machine = machine()
        .with(Parameter::OccupancyFxu, 8)
        .with(Parameter::OccupancyFmai, 4);
    let mut facts: Vec<InstrFacts> = (0..5).map(plain).collect();
    let units = [
        ExecUnit::Fmai,
        ExecUnit::Math,
        ExecUnit::Math,
        ExecUnit::Fxu,
        ExecUnit::Math,
    ];
    for (facts, unit) in facts.iter_mut().zip(units) {
        facts.unit = unit;
    }
    // Fmai 1 to 5, Fxu 2 to 10, Fmai 5 to 9, Fxu 10 to 18, Fmai 11 to 15.
    assert_eq!(
        issues(&facts, &in_order(&facts), &machine),
        [1, 2, 5, 10, 11]
    );
}

/// Returns an access of one line with a sector in the L2 cache.
fn one_sector(direction: AccessDirection) -> TracedAccess {
    TracedAccess {
        direction,
        cached: true,
        is_local: false,
        contended: false,
        requests: vec![vec![TracedLine {
            line: 0x1000,
            sectors: 1,
            merged: 0,
            l1_hits: 0,
            beyond: Some(TracedMiss {
                translation: TranslationSource::Walk,
                awaits_translation: false,
                lines: [TracedL2Line {
                    line: 0x20,
                    slice: 0,
                    sectors: 1,
                    hits: 1,
                    awaits_sectors: false,
                    missing: 0,
                    evicted: 0,
                }]
                .into_iter()
                .collect(),
            }),
        }]],
    }
}

/// A hit of the L1 cache waits for its line in flight, which waits for a translation.
#[test]
fn a_hit_waits_for_its_line() {
    let machine = machine();
    let mut facts: Vec<InstrFacts> = (0..3).map(plain).collect();
    for facts in &mut facts[..2] {
        facts.unit = ExecUnit::Lsu;
        facts.completion = Completion::Memory(L1Use::Always);
    }
    facts[1].write_sb = Some(2);
    facts[2].wait_mask = 1 << 2;
    let mut trace = in_order(&facts);
    trace.instrs[0].bytes = 4;
    trace.instrs[0].accesses = vec![one_sector(AccessDirection::Load)];
    let mut hit = one_sector(AccessDirection::Load);
    hit.requests[0][0].l1_hits = 1;
    hit.requests[0][0].beyond = None;
    trace.instrs[1].bytes = 4;
    trace.instrs[1].accesses = vec![hit];
    let done = 1 + machine[Parameter::TlbWalk] + machine[Parameter::L2Hit];
    let expected = [1, 2, done + machine[Parameter::IssueWake]];
    assert_eq!(issues(&facts, &trace, &machine), expected);
}

/// A fence of the device waits for the stores of the warp.
#[test]
fn a_fence_waits_for_stores() {
    let machine = machine();
    let mut facts: Vec<InstrFacts> = (0..3).map(plain).collect();
    facts[0].unit = ExecUnit::Lsu;
    facts[0].completion = Completion::Memory(L1Use::Plain);
    facts[1].completion = Completion::Fence { device: true };
    let mut trace = in_order(&facts);
    trace.instrs[0].bytes = 4;
    for direction in [AccessDirection::Store, AccessDirection::Atomic] {
        trace.instrs[0].accesses = vec![one_sector(direction)];
        let atomic = match direction {
            AccessDirection::Atomic => machine[Parameter::AtomicLatency],
            _ => 0,
        };
        let stored = 1 + machine[Parameter::TlbWalk] + machine[Parameter::L2Hit] + atomic;
        let expected = [1, 2, stored + machine[Parameter::FenceDevice]];
        assert_eq!(issues(&facts, &trace, &machine), expected, "{direction:?}");
    }
}

/// A line of code ahead of the one that is fetched arrives later by its transfer, and so does its first use.
#[test]
fn a_line_ahead_is_awaited() {
    let machine = machine();
    let facts: Vec<InstrFacts> = (0..3).map(plain).collect();
    let line = machine[Parameter::InstructionLine];
    let mut trace = in_order(&facts);
    let fetch = |number: u64, ahead, found| TracedFetch {
        address: number * line,
        ahead,
        found,
        lines: SmallVec::new(),
    };
    trace.instrs[0].code = [
        fetch(0, 0, FetchSource::First),
        fetch(1, 1, FetchSource::Second),
        fetch(2, 2, FetchSource::Second),
    ]
    .into_iter()
    .collect();
    trace.instrs[1].code = [fetch(2, 0, FetchSource::First)].into_iter().collect();
    let transfer = 2 * line * 1000 / machine[Parameter::InstructionAheadBandwidth];
    let arrival = machine[Parameter::InstructionL15Hit] + transfer;
    assert_eq!(issues(&facts, &trace, &machine), [1, arrival, arrival + 1]);
}

/// A store to sectors that a load has requested from DRAM is complete when they have arrived.
#[test]
fn a_store_waits_for_its_sectors_in_flight() {
    let machine = machine();
    let mut facts: Vec<InstrFacts> = (0..4).map(plain).collect();
    for facts in &mut facts[..2] {
        facts.unit = ExecUnit::Lsu;
        facts.completion = Completion::Memory(L1Use::Plain);
    }
    facts[2].completion = Completion::Fence { device: true };
    let mut trace = in_order(&facts);
    let mut load = one_sector(AccessDirection::Load);
    let mut store = one_sector(AccessDirection::Store);
    if let Some(beyond) = &mut load.requests[0][0].beyond {
        beyond.translation = TranslationSource::First;
        (beyond.lines[0].hits, beyond.lines[0].missing) = (0, 1);
    }
    if let Some(beyond) = &mut store.requests[0][0].beyond {
        beyond.translation = TranslationSource::First;
        beyond.lines[0].awaits_sectors = true;
    }
    for (number, access) in [load, store].into_iter().enumerate() {
        trace.instrs[number].bytes = 4;
        trace.instrs[number].accesses = vec![access];
    }
    let dram = machine[Parameter::L2Hit] + machine[Parameter::DramBeyond];
    let expected = [1, 2, 3, 1 + dram + machine[Parameter::FenceDevice]];
    assert_eq!(issues(&facts, &trace, &machine), expected);
}
