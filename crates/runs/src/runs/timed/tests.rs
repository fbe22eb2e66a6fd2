//! Tests of listeners on a generated run: their counts and files are consistent.

use std::collections::BTreeMap;

use warpbound_ir::OpIndex;
use warpbound_isa::instr::MemorySpace;
use warpbound_isa::nvidia::WARP_LANES;
use warpbound_report::terms::MachineTerms;
use warpbound_report::timed::TheoreticalOccupancy;
use warpbound_report::trace::TraceMetadata;
use warpbound_simt::lowest_lanes;
use warpbound_simulate::functional::Counts;
use warpbound_simulate::timed::{
    AccessKind, Event, EventListener, HitLevel, Stall, StallCycles, WarpPlace,
};

use crate::listeners::cycle_statistics::CycleStatistics;
use crate::listeners::events::EventFile;
use crate::listeners::names::InstrNames;
use crate::{listeners::timeline::Timeline, listeners::timeline::WarpSlots};
use warpbound_query::Session;

const CUBIN: &str = "../../kernels/built/matmul_int.sm_61.cubin";

/// Warp slots of the generated SMs.
const SLOTS: WarpSlots = WarpSlots {
    base: 8,
    reserve: 0,
};

/// Totals of a generated run.
#[derive(Default)]
struct Known {
    issues: u64,
    /// Cycles from the start of the block to the last issue, over all warps.
    warp_cycles: u64,
    /// Blocks, and cycles with resident blocks, by SM.
    sms: BTreeMap<u32, (u64, u64)>,
    accesses: usize,
    misses: usize,
    barriers: usize,
    blocks: usize,
    shared_transactions: u64,
    global_sectors: u64,
}

/// Generates the events of a warp.
fn warp(
    random: &mut fastrand::Rng,
    place: WarpPlace,
    begin: u64,
    operations: u32,
    known: &mut Known,
) -> Vec<(u64, Event)> {
    let mut events = Vec::new();
    let (mut now, mut before) = (begin, None);
    for _ in 0..random.u32(1..20) {
        let mut waited = StallCycles::default();
        let mut next = now;
        if before.is_some() && random.u8(0..10) > 0 {
            waited[Stall::Issue as usize] = 1;
            next += 1;
        }
        // Zero if two instructions issue in one cycle.
        for _ in 0..random.u32(0..3) {
            let reason = random.usize(1..7);
            let cycles = random.u64(0..30);
            waited[reason] += cycles;
            next += cycles;
        }
        let at = OpIndex(random.u32(0..operations));
        let issue = Event::Issue {
            warp: place,
            at,
            active: lowest_lanes(WARP_LANES),
            taken: random.u32(..).into(),
            waited,
        };
        events.push((next, issue));
        let kind = [AccessKind::Load, AccessKind::Store, AccessKind::Atomic][random.usize(0..3)];
        let done = next + random.u64(20..300);
        match random.u8(0..8) {
            0 => {
                let transactions = random.u32(1..33);
                known.shared_transactions += u64::from(transactions);
                known.accesses += 1;
                let access = Event::Shared {
                    warp: place,
                    at,
                    access: kind,
                    transactions,
                    conflicts: transactions - 1,
                    done,
                };
                events.push((next, access));
            }
            1 => {
                let sectors = random.u32(1..33);
                known.global_sectors += u64::from(sectors);
                known.accesses += 1;
                let access = Event::Memory {
                    warp: place,
                    at,
                    space: MemorySpace::Global,
                    access: kind,
                    requests: 1,
                    sectors,
                    l1_hits: 0,
                    l1_lookups: sectors,
                    l2_hits: sectors / 2,
                    l2_lookups: sectors,
                    dram_sectors: sectors - sectors / 2,
                    tlb_misses: 0,
                    done,
                };
                events.push((next, access));
            }
            2 => {
                known.misses += 1;
                let miss = Event::FetchMiss {
                    sm: place.sm,
                    at,
                    found: HitLevel::L2,
                };
                events.push((next, miss));
            }
            _ => {}
        }
        known.issues += 1;
        now = next;
        before = Some(next);
    }
    known.warp_cycles += now - begin;
    events.push((now + random.u64(0..5), Event::WarpEnds { warp: place }));
    events
}

/// Generates a run of two SMs, each with two block slots.
fn made_up(seed: u64, operations: u32) -> (Vec<(u64, Event)>, Known) {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut known = Known::default();
    let mut all = vec![(0, Event::Launched)];
    let mut last = 0;
    for sm in 0..2 {
        let mut events = Vec::new();
        let mut busy = Vec::new();
        for place in 0..2 {
            let mut begin = random.u64(0..40);
            for _ in 0..random.u32(1..5) {
                let number = known.blocks as u64;
                known.blocks += 1;
                known.sms.entry(sm).or_default().0 += 1;
                let block = [number as u32, 0, 0];
                let warps = random.u32(1..4);
                let begins = Event::BlockBegins {
                    sm,
                    block: number,
                    index: block,
                    warps,
                };
                let mut own = vec![(begin, begins)];
                let mut end = begin;
                for number_in_block in 0..warps {
                    // Each block slot has warp slots of its own, since its blocks have at most three warps.
                    let slot = place * 4 + number_in_block;
                    let of = WarpPlace {
                        sm,
                        scheduler: slot % 4,
                        slot,
                        block: number,
                        warp: number_in_block,
                    };
                    own.extend(warp(&mut random, of, begin, operations, &mut known));
                    end = own.last().map_or(end, |(cycle, _)| end.max(*cycle));
                }
                let opens = Event::BarrierOpens {
                    sm,
                    block: number,
                    warps,
                };
                known.barriers += 1;
                own.push((end, opens));
                own.push((
                    end,
                    Event::BlockEnds {
                        sm,
                        block: number,
                        index: block,
                    },
                ));
                busy.push((begin, end));
                // The sort is stable: events of one cycle stay in order.
                own.sort_by_key(|(cycle, _)| *cycle);
                events.extend(own);
                // Blocks of one slot follow each other, so its warp slots are free again.
                begin = end + random.u64(0..10);
            }
        }
        events.sort_by_key(|(cycle, _)| *cycle);
        last = events.last().map_or(last, |(cycle, _)| last.max(*cycle));
        let cycles = 0..=last;
        let is_busy = |cycle: &u64| busy.iter().any(|(from, to)| from <= cycle && cycle < to);
        known.sms.entry(sm).or_default().1 = cycles.filter(is_busy).count() as u64;
        all.extend(events);
    }
    all.push((last, Event::Done));
    (all, known)
}

fn with_kernel<T>(work: impl FnOnce(&warpbound_query::Prepared<'_>) -> T) -> T {
    let session = Session::open("k.cubin", &std::fs::read(CUBIN).unwrap()).unwrap();
    let kernel = session.kernels(Some("matmul_int")).unwrap()[0];
    work(&session.prepare(kernel).unwrap())
}

fn send(listener: &mut impl EventListener, events: &[(u64, Event)]) {
    for (cycle, event) in events {
        listener.event(*cycle, event);
    }
}

#[test]
fn counts_add_up() {
    with_kernel(|prepared| {
        let operations = prepared.code.ops.len();
        let names = InstrNames::of(prepared);
        let machine = warpbound_machine::GpuModel::built_in("jetson-tx2").unwrap();
        let machine = machine.select(warpbound_machine::Selection::Typical);
        for seed in 0..50 {
            let (events, known) = made_up(seed, operations as u32);
            let mut statistics = CycleStatistics::new(operations);
            send(&mut statistics, &events);
            // Issues are counted by the simulator and not by the listener.
            let mut issues = vec![0; operations];
            for (_, event) in &events {
                if let Event::Issue { at, .. } = event {
                    issues[at.index()] += 1;
                }
            }
            let counts = Counts {
                active: vec![0; operations],
                executed: vec![0; operations],
                divergences: vec![0; operations],
                notes: Vec::new(),
                issues,
            };
            let tables = statistics.tables(prepared, &names, &counts, &machine);
            assert_eq!(tables.warp_cycles, known.warp_cycles);
            let stalls = tables.stalls.named();
            let named: u64 = stalls.iter().map(|(_, cycles)| cycles).sum();
            assert_eq!(named, known.warp_cycles);
            for rows in [
                tables.lines.iter().map(|l| l.warp_cycles).collect(),
                tables.instructions.iter().map(|i| i.warp_cycles).collect(),
            ] {
                let rows: Vec<u64> = rows;
                assert!(rows.is_sorted_by(|a, b| a >= b), "{rows:?}");
                assert_eq!(rows.iter().sum::<u64>(), known.warp_cycles);
            }
            let issued = |rows: &[u64]| rows.iter().sum::<u64>();
            let sms: Vec<u64> = tables.sms.iter().map(|sm| sm.warp_instructions).collect();
            assert_eq!(issued(&sms), known.issues);
            for sm in &tables.sms {
                assert_eq!((sm.blocks, sm.active_cycles), known.sms[&sm.sm]);
                // Two blocks of at most three warps are resident.
                assert!(sm.resident_warps <= 6.0, "{}", sm.resident_warps);
            }
            let transactions: u64 = tables.shared_transactions.iter().sum();
            assert_eq!(transactions, known.shared_transactions);
            let sectors: u64 = tables.memory.iter().map(|m| m.sectors).sum();
            assert_eq!(sectors, known.global_sectors);
            assert_eq!(tables.instruction_misses.l2, known.misses as u64);
        }
    });
}

/// Resident warps are counted cycle by cycle.
#[test]
fn occupancy_is_an_average() {
    let place = |slot| WarpPlace {
        sm: 1,
        scheduler: 0,
        slot,
        block: 0,
        warp: slot,
    };
    let events = [
        (
            10,
            Event::BlockBegins {
                sm: 1,
                block: 0,
                index: [0; 3],
                warps: 2,
            },
        ),
        (20, Event::WarpEnds { warp: place(0) }),
        (40, Event::WarpEnds { warp: place(1) }),
        (
            40,
            Event::BlockEnds {
                sm: 1,
                block: 0,
                index: [0; 3],
            },
        ),
    ];
    let mut statistics = CycleStatistics::new(0);
    send(&mut statistics, &events);
    // Two for 10 cycles, one for 20.
    let theoretical = TheoreticalOccupancy {
        blocks: 1,
        warps: 2,
        occupancy: 0.25,
        limiter: "blocks".to_owned(),
    };
    let occupancy = statistics.occupancy(8, theoretical);
    assert!((occupancy.resident_warps - 4.0 / 3.0).abs() < 1e-12);
    assert!((occupancy.achieved - 1.0 / 6.0).abs() < 1e-12);
    let sms = statistics.sms();
    assert_eq!(
        (sms.len(), sms[0].sm, sms[0].active_cycles),
        (1, 1, 30),
        "SM 0 had nothing"
    );
}

#[test]
fn a_line_for_each_event() {
    with_kernel(|prepared| {
        let names = InstrNames::of(prepared);
        let (events, _) = made_up(1, prepared.code.ops.len() as u32);
        let mut bytes = Vec::new();
        let mut lines = EventFile::new(&mut bytes, &names);
        send(&mut lines, &events);
        lines.finish().unwrap();
        let text = String::from_utf8(bytes).unwrap();
        assert_eq!(text.lines().count(), events.len());
        for (line, (cycle, event)) in text.lines().zip(&events) {
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            assert_eq!(line["cycle"], *cycle);
            match event {
                Event::Issue { at, waited, .. } => {
                    assert_eq!(line["event"], "issue");
                    assert_eq!(line["address"], prepared.addr(*at).to_string());
                    let text = prepared.program.text(at.index()).unwrap();
                    assert_eq!(line["text"], text);
                    let cycles = line["waited"].as_object().unwrap().values();
                    let cycles: u64 = cycles.map(|cycles| cycles.as_u64().unwrap()).sum();
                    assert_eq!(cycles, waited.iter().sum::<u64>());
                }
                Event::BlockBegins { block: number, .. } => {
                    assert_eq!(line["event"], "block_begins");
                    assert_eq!(line["block"], *number);
                }
                Event::WarpEnds { warp } => {
                    assert_eq!(line["event"], "warp_ends");
                    assert_eq!(line["slot"], warp.slot);
                }
                _ => assert!(line["event"].is_string()),
            }
        }
    });
}

/// Requirements of the Trace Event Format: every kind of event has its fields, slices of a thread nest, begins and
/// ends of asynchronous slices pair, and every thread with slices has a name.
#[test]
fn timelines_are_well_formed() {
    with_kernel(|prepared| {
        let names = InstrNames::of(prepared);
        for seed in 0..20 {
            let (events, known) = made_up(seed, prepared.code.ops.len() as u32);
            let about = TraceMetadata {
                file: "k.cubin",
                kernel: "matmul_int",
                machine: "none",
                time: TraceMetadata::TIME,
            };
            let mut bytes = Vec::new();
            let mut timeline =
                Timeline::new(&mut bytes, &names, &about, MachineTerms::NVIDIA, SLOTS);
            send(&mut timeline, &events);
            timeline.finish().unwrap();
            let file: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
            assert!(matches!(
                file["displayTimeUnit"].as_str(),
                Some("ns" | "ms")
            ));
            assert_eq!(file["otherData"]["time"], "1 us shown is 1 cycle");
            let drawn = file["traceEvents"].as_array().unwrap();
            let issues = check_slices(drawn);
            assert_eq!(issues, (known.issues as usize, known.blocks));
            let phase = |ph: &str| drawn.iter().filter(|e| e["ph"] == ph).count();
            assert_eq!((phase("b"), phase("e")), (known.accesses, known.accesses));
            // And two for the kernel.
            assert_eq!(phase("i"), known.misses + known.barriers + 2);
        }
    });
}

/// Checks all events and returns the numbers of issues and blocks.
fn check_slices(drawn: &[serde_json::Value]) -> (usize, usize) {
    let number = |event: &serde_json::Value, key: &str| -> u64 {
        let number = event[key].as_u64();
        number.unwrap_or_else(|| panic!("{event} has no {key}"))
    };
    let mut named = Vec::new();
    let mut ends: BTreeMap<(u64, u64), u64> = BTreeMap::new();
    let mut open: BTreeMap<u64, u64> = BTreeMap::new();
    let (mut issues, mut blocks) = (0, 0);
    for event in drawn {
        let thread = (number(event, "pid"), number(event, "tid"));
        let ts = number(event, "ts");
        assert!(!event["name"].as_str().unwrap().is_empty());
        assert!(event["cat"].is_string());
        match event["ph"].as_str().unwrap() {
            "M" if event["name"] == "thread_name" => {
                assert!(event["args"]["name"].is_string());
                assert!(!named.contains(&thread), "two names");
                named.push(thread);
            }
            "M" => assert!(event["args"].is_object()),
            "X" => {
                assert!(named.contains(&thread), "{event}");
                // No slice contains another, so nesting means succession.
                let end = ends.entry(thread).or_default();
                assert!(ts >= *end, "{event} begins before {end}");
                *end = ts + number(event, "dur");
                match event["cat"].as_str().unwrap() {
                    "issue" => issues += 1,
                    "block" => blocks += 1,
                    other => panic!("{other}"),
                }
            }
            "i" => assert!(matches!(event["s"].as_str(), Some("g" | "t"))),
            "b" => assert_eq!(open.insert(number(event, "id"), ts), None),
            "e" => {
                let began = open.remove(&number(event, "id"));
                assert!(began.is_some_and(|began| began <= ts), "{event}");
            }
            other => panic!("{other}"),
        }
    }
    assert!(open.is_empty(), "{open:?}");
    (issues, blocks)
}
