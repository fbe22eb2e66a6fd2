use super::*;
use crate::bound::{BoundVerdict, KernelBound};
use crate::{BoundFormat, BoundWriter, to_json};
use warpbound_base::Family;

fn cycles() -> CycleBoundReport {
    let terms = [
        ("launch overhead", 5000),
        ("issue", 120),
        ("dependencies", 300),
        ("global memory", 900),
        ("local memory", 0),
        ("shared memory", 0),
        ("constants", 30),
        ("instruction fetch", 250),
        ("translation", 0),
        ("DRAM refresh", 0),
        ("barriers and fences", 0),
    ];
    let line = |(n, cycles): (usize, u64)| LineCycles {
        line: format!("sum.cu:{n}"),
        cycles,
    };
    CycleBoundReport {
        scope: "warp",
        bound: Some(6600),
        reason: None,
        milliseconds: Some(0.0041),
        times: vec![ClockTime {
            clock: "base".to_owned(),
            kilohertz: 1_607_000,
            milliseconds: 0.0041,
        }],
        machine: Some("gtx1080".to_owned()),
        schedulers: "any",
        launch: None,
        estimate: None,
        no_estimate: None,
        not_executed: None,
        caches: "any",
        terms: terms
            .into_iter()
            .map(|(name, cycles)| CycleTerm { name, cycles })
            .collect(),
        lines: (1..=12)
            .zip([40, 30, 0, 700, 1, 2, 3, 4, 5, 6, 7, 8])
            .map(line)
            .collect(),
        numbers: vec![UnpublishedRange {
            name: "launch.kernel",
            least: 0,
            most: 5000,
            unit: Some("cycles"),
            provenance: "assumed",
        }],
        assumptions: vec![BoundAssumption {
            id: "numbers-in-range",
            text: "the machine's numbers are in their ranges".to_owned(),
        }],
    }
}

fn kernel(cycles: Option<CycleBoundReport>) -> KernelBound {
    KernelBound {
        name: "sum".to_owned(),
        symbol: "sum".to_owned(),
        image: None,
        isa: "sm_61".to_owned(),
        verdict: BoundVerdict::Bounded {
            bound: 40,
            worst_path_value: Some(40),
        },
        lanes: 32,
        family: Family::Maxwell,
        block: None,
        code: "0".to_owned(),
        profile: None,
        loops: Vec::new(),
        external_calls: Vec::new(),
        worst_path: Vec::new(),
        divergent_branches: Vec::new(),
        divergence_edges: Vec::new(),
        assumptions: Vec::new(),
        notes: Vec::new(),
        never: Vec::new(),
        formula: None,
        formula_reason: None,
        cycles,
        missing_facts: Vec::new(),
        machine_code: None,
        nodes: 1,
        edges: 1,
        cfg_seconds: None,
    }
}

fn written(format: BoundFormat, kernels: &[KernelBound]) -> String {
    let mut writer = BoundWriter::new(Vec::new(), format, "a.cubin");
    for kernel in kernels {
        writer.kernel(kernel).expect("memory");
    }
    String::from_utf8(writer.finish().expect("memory")).expect("text")
}

#[test]
fn text_is_a_sum_with_the_most_expensive_lines() {
    assert_eq!(
        written(BoundFormat::Text, &[kernel(Some(cycles()))]),
        "kernel sum  (a.cubin, sm_61)
  bound: a warp issues at most 40 instructions
  re-checked in exact arithmetic; the worst path below reaches it
  bound: a warp that runs alone takes at most 6600 cycles
  4.100 us at 1607 MHz (base clock); machine gtx1080, any scheduler, caches in any state
    where cycles go    cycles    share
    launch overhead      5000   75.7 %
    issue                 120    1.8 %
    dependencies          300    4.5 %
    global memory         900   13.6 %
    constants              30    0.4 %
    instruction fetch     250    3.7 %
    sum                  6600  100.0 %
    line       cycles   share
    sum.cu:4      700  10.6 %
    sum.cu:1       40   0.6 %
    sum.cu:2       30   0.4 %
    sum.cu:12       8   0.1 %
    sum.cu:11       7   0.1 %
    sum.cu:10       6   0.0 %
    sum.cu:9        5   0.0 %
    sum.cu:8        4   0.0 %
    sum.cu:7        3   0.0 %
    sum.cu:6        2   0.0 %
    and 1 line with 1 cycle in all, 0.0 % (--format json lists them)
  assumed:
  assumed for the cycles:
    the machine's numbers are in their ranges (numbers-in-range)
"
    );
}

/// Without the option, neither format mentions cycles.
#[test]
fn reports_without_cycles_are_unchanged() {
    for format in [BoundFormat::Text, BoundFormat::Json] {
        for count in [1, 2] {
            let text = written(format, &vec![kernel(None); count]);
            assert!(!text.contains("cycles"), "{text}");
        }
    }
}

#[test]
fn json_has_the_keys_of_the_interface() {
    let json: serde_json::Value =
        serde_json::from_str(&written(BoundFormat::Json, &[kernel(Some(cycles()))]))
            .expect("a document");
    let cycles = &json["kernels"][0]["cycles"];
    let mut keys: Vec<&str> = cycles
        .as_object()
        .expect("an object")
        .keys()
        .map(String::as_str)
        .collect();
    keys.sort_unstable();
    let expected = [
        "assumptions",
        "bound",
        "caches",
        "lines",
        "machine",
        "milliseconds",
        "numbers",
        "reason",
        "schedulers",
        "scope",
        "terms",
        "times",
    ];
    assert_eq!(keys, expected);
    assert_eq!(cycles["scope"], "warp");
    assert_eq!(cycles["schedulers"], "any");
    let terms = cycles["terms"].as_array().expect("a list");
    assert_eq!(
        terms[0],
        serde_json::json!({"name": "launch overhead", "cycles": 5000})
    );
    let sum: u64 = terms
        .iter()
        .map(|term| term["cycles"].as_u64().expect("cycles"))
        .sum();
    assert_eq!(cycles["bound"], sum);
    assert_eq!(
        cycles["lines"][0],
        serde_json::json!({"line": "sum.cu:1", "cycles": 40})
    );
}

/// A kernel without a bound in cycles says why, and the table of several kernels has a column of cycles.
#[test]
fn reason_stands_in_the_place_of_a_bound() {
    let refused = CycleBoundReport {
        bound: None,
        reason: Some("0x0048: TEX has a latency that the machine does not state".to_owned()),
        milliseconds: None,
        terms: Vec::new(),
        lines: Vec::new(),
        ..cycles()
    };
    let text = written(BoundFormat::Text, &[kernel(Some(refused.clone()))]);
    assert!(
        text.contains("  no bound in cycles: 0x0048: TEX has"),
        "{text}"
    );
    assert!(!text.contains("assumed for the cycles"), "{text}");
    let text = written(
        BoundFormat::Text,
        &[kernel(Some(cycles())), kernel(Some(refused))],
    );
    let table: Vec<&str> = text.lines().skip(1).take(4).collect();
    assert_eq!(
        table,
        [
            "  most instructions that a warp issues, and most cycles that it takes alone:",
            "    at most    cycles  loops  kernel",
            "         40      6600      0  sum",
            "         40  no bound      0  sum",
        ]
    );
    let _ = to_json(&kernel(None));
}

/// An estimate above a sound bound says nothing.
#[test]
fn an_estimate_is_not_above_the_bound() {
    let estimate = |cycles| CtaEstimate {
        cycles,
        warps: 8,
        rounds: 2,
    };
    assert_eq!(estimate(181_487).within(181_487), Ok(estimate(181_487)));
    let why = estimate(11_257_529_702).within(181_487).expect_err("above");
    assert!(
        why.contains("11257529702 cycles, more than the bound"),
        "{why}"
    );
}
