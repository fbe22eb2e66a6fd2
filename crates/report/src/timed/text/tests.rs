//! Tests of the text of a constructed report.

use super::*;
use crate::functional::IssueCounts;
use crate::table::WIDTH;
use crate::timed::{
    LineTime, MemoryTraffic, OccupancyReport, SearchedParameter, Sensitivity, SharedCount,
    SmReport, Spread,
};

fn stalls() -> Stalls {
    Stalls {
        issue: 2_180_096,
        dependency: 3_912_004,
        memory: 9_120_551,
        barrier: 1_204_778,
        unit_busy: 310_040,
        instruction_fetch: 0,
        not_selected: 801_101,
    }
}

fn memory(space: &'static str, access: &'static str, lookups: u64) -> MemoryTraffic {
    MemoryTraffic {
        space,
        access,
        accesses: 131_072,
        requests: 524_288,
        sectors: 1_048_576,
        bytes: 33_554_432,
        l1_lookups: lookups,
        l1_hits: lookups / 3,
        l1_hit_rate: None,
        l2_lookups: 900_000,
        l2_hits: 890_123,
        l2_hit_rate: None,
        dram_sectors: 16_384,
        tlb_misses: 1_024,
    }
}

fn rerun(value: u64, cycles: u64, of: u64) -> Rerun {
    Rerun {
        value,
        cycles: Some(cycles),
        change: Some(cycles as i64 - of as i64),
        stopped: None,
    }
}

fn number(
    name: &str,
    value: u64,
    least: u64,
    most: u64,
    standing: &'static str,
) -> UnpublishedNumber {
    UnpublishedNumber {
        name: name.to_owned(),
        value: ParameterValue::Number(value),
        least: Some(least),
        most: Some(most),
        unit: Some("cycles"),
        provenance: standing,
        source: "No source states the duration; between the shortest that any paper on the \
                 architecture states for something like it and twice the longest"
            .to_owned(),
    }
}

#[allow(
    clippy::too_many_lines,
    reason = "a table: one entry per field of the report"
)]
fn sample() -> TimedReport {
    let of = 1_234_567;
    TimedReport {
        schema: TimedReport::SCHEMA,
        terms: MachineTerms::NVIDIA,
        file: "matmul_tiled.sm_61.cubin".to_owned(),
        kernel: "void product::tiled<float, 16, true>(float const*, float const*, float*, int)"
            .to_owned(),
        grid: [16, 16, 1],
        block: [16, 16, 1],
        machine: "gtx1080".to_owned(),
        machine_title: "NVIDIA GeForce GTX 1080".to_owned(),
        machine_sms: 20,
        scheduler: "gto".to_owned(),
        selection: "typical".to_owned(),
        set: Vec::new(),
        selection_search: None,
        caches: "cold",
        interlock: "control-words",
        only_warp: None,
        cycles: of,
        clock_khz: 1_733_000,
        milliseconds: of as f64 / 1_733_000.0,
        issued: IssueCounts {
            warp_instructions: 2_180_096,
            thread_instructions: 69_763_072,
            executed_thread_instructions: 69_000_000,
        },
        divergences: 0,
        checked_elements: 65_536,
        notes: Vec::new(),
        ipc: 1.766,
        ipc_active: 1.8,
        occupancy: OccupancyReport {
            most_warps: 64,
            resident_warps: 58.3,
            achieved: 0.911,
            theoretical: TheoreticalOccupancy {
                blocks: 8,
                warps: 64,
                occupancy: 1.0,
                limiter: "warps".to_owned(),
            },
        },
        warp_cycles: stalls().named().iter().map(|(_, cycles)| cycles).sum(),
        stalls: stalls(),
        shared_read_transactions: 0,
        shared_write_transactions: 0,
        shared_atomic_transactions: 0,
        shared: vec![SharedCount {
            access: "load",
            accesses: 1_048_576,
            transactions: 2_097_152,
            conflicts: 1_048_576,
        }],
        memory: vec![
            memory("global", "load", 600_000),
            memory("local", "store", 0),
        ],
        constant_misses: Misses {
            second: 1,
            l2: 20,
            dram: 3,
        },
        instruction_misses: Misses::default(),
        lines: (0..30)
            .map(|line| LineTime {
                source: Some(format!("matmul_tiled.cu:{line}")),
                warp_instructions: 123_456,
                thread_instructions: 3_950_592,
                warp_cycles: 400_000 - line * 10_000,
                stalls: Stalls {
                    memory: 300_000 - line * 10_000,
                    barrier: 100_000,
                    ..Stalls::default()
                },
            })
            .collect(),
        instructions: vec![InstructionTime {
            address: "0x0188".to_owned(),
            text: "@!P0 LDG.E.CI R12, [R34+0x12]".to_owned(),
            control: None,
            source: None,
            warp_instructions: 123_456,
            thread_instructions: 3_950_592,
            warp_cycles: 400_000,
            stalls: Stalls {
                instruction_fetch: 400_000,
                ..Stalls::default()
            },
        }],
        sms: vec![SmReport {
            sm: 0,
            blocks: 13,
            active_cycles: 1_200_000,
            warp_instructions: 109_004,
            ipc: 1.79,
            resident_warps: 58.1,
        }],
        waves: None,
        assumptions: vec![
            UnpublishedNumber {
                name: "scheduler.policy".to_owned(),
                value: ParameterValue::Choice("gto".to_owned()),
                least: None,
                most: None,
                unit: None,
                provenance: "assumed",
                source: "no source".to_owned(),
            },
            number("launch.kernel", 1_350, 0, 5_000, "fitted"),
            number("issue.wake", 0, 0, 2, "assumed"),
            number("launch.end", 0, 0, 0, "assumed"),
        ],
        spread: None,
        sensitivities: Some(vec![
            Sensitivity {
                name: "dram.latency".to_owned(),
                value: 200,
                least: rerun(180, of - 30_000, of),
                most: rerun(250, of + 60_000, of),
            },
            Sensitivity {
                name: "issue.wake".to_owned(),
                value: 0,
                least: rerun(0, of, of),
                most: rerun(2, of, of),
            },
        ]),
    }
}

/// Only lines with names of kernels may be longer.
#[test]
fn text_fits_a_terminal() {
    let report = sample();
    for stats in [false, true] {
        let text = report.text(stats);
        for line in text.lines() {
            assert!(
                line.chars().count() <= WIDTH || line.starts_with("kernel "),
                "{line}"
            );
            assert_eq!(line, line.trim_end());
        }
    }
}

/// The order is cycles, stall reasons, memory, sensitivities, unpublished parameters.
#[test]
fn text_answers_first() {
    let report = sample();
    let (short, long) = (report.text(false), report.text(true));
    let line = |text: &str, nth| text.lines().nth(nth).unwrap_or_default().to_owned();
    assert_eq!(line(&short, 1), "  1234567 cycles, 712.4 us at 1733 MHz");
    let order = [
        "    where cycles went ",
        "    memory                 9120551  52.0 %  ################\n",
        "    dependency ",
        "\n\n    memory ",
        "    sensitive to ",
        "    no other cycles with the least or the most of issue.wake\n",
        "    4 parameters without a published source (--stats gives the reasons)\n",
        "    scheduler.policy gto, launch.kernel 1350 (0 to 5000), issue.wake 0 (0 to 2), launch.end 0\n",
    ];
    let at = |part: &str| short.find(part).unwrap_or_else(|| panic!("{part}"));
    assert!(order.map(at).is_sorted(), "{short}");
    // Stall reasons without cycles are omitted.
    assert!(!short.contains("instruction fetch"), "{short}");
    for part in [
        "    and 5 lines with ",
        "memory 75 %",
        "        No source states the",
    ] {
        assert!(!short.contains(part) && long.contains(part), "{part}");
    }
}

/// The spread is the largest decrease and increase over both ends of all ranges.
#[test]
fn cycles_have_a_spread() {
    let mut report = sample();
    let line = |report: &TimedReport| report.text(false).lines().nth(2).map(str::to_owned);
    let unknown = "  --sensitivities says how far single assumptions move these cycles";
    assert_eq!(line(&report).as_deref(), Some(unknown));
    let rows = report.sensitivities.clone().unwrap_or_default();
    report.spread = Some(Spread::of(&rows));
    let both = "  -2.4 % (dram.latency = 180) to +4.9 % (dram.latency = 250) by single assumptions";
    assert_eq!(line(&report).as_deref(), Some(both));
    report.spread = Some(Spread::of(&rows[1..]));
    let none = "  no single assumption moves these cycles";
    assert_eq!(line(&report).as_deref(), Some(none));
}

#[test]
fn times_have_a_fitting_unit() {
    let shown = [0.00087, 0.25, 3.5, 1999.0].map(duration);
    assert_eq!(shown, ["0.870 us", "250.0 us", "3.500 ms", "1.999 s"]);
}

/// Parameters that the user set are listed in lines that fit; without them there is no such line.
#[test]
fn numbers_that_were_set_are_named() {
    let mut report = sample();
    let without = report.text(false);
    report.set = vec![
        ParameterOverride {
            name: "dram.bandwidth".to_owned(),
            value: 1_000_000,
            instead_of: 45_923,
        };
        4
    ];
    let text = report.text(false);
    let (one, two) = ("dram.bandwidth 1000000", "instead of 45923");
    let excerpt = format!("  with {one} {two}, {one} {two},\n  {one} {two}, {one} {two}\n");
    assert_eq!(text.replace(&excerpt, ""), without, "{text}");
    assert_ne!(text, without);
}

/// With the slow end of each parameter, the outcome of the search over those without one is reported.
#[test]
fn numbers_that_were_tried_are_named() {
    let mut report = sample();
    report.selection = "slow".to_owned();
    let excerpt = |report: &TimedReport| {
        let text = report.text(false);
        let begin = text.find("with the slow end of each number");
        let rest = begin.map_or("", |begin| &text[begin..]);
        let lines = rest.lines().take_while(|line| !line.is_empty());
        lines.map(str::trim).collect::<Vec<&str>>().join(" ")
    };
    assert_eq!(excerpt(&report), "");
    let number = |name: &str, value| SearchedParameter {
        name: name.to_owned(),
        value,
        typical: 4,
        others: 2,
    };
    report.selection_search = Some(SelectionSearch {
        numbers: vec![number("l2.slices", 4)],
        skipped: Vec::new(),
    });
    let typical = "with the slow end of each number; of 1 number without one, tried one by one, the slowest value is the typical one";
    assert!(
        excerpt(&report).starts_with(typical),
        "{}",
        excerpt(&report)
    );
    report.selection_search = Some(SelectionSearch {
        numbers: vec![number("l2.slices", 2), number("l1.units", 4)],
        skipped: vec!["l1.bytes".to_owned()],
    });
    let two = "with the slow end of each number; of 2 numbers without one, tried one by one, the slowest value: l2.slices 2; typical, as the run is long: l1.bytes";
    assert!(excerpt(&report).starts_with(two), "{}", excerpt(&report));
}
