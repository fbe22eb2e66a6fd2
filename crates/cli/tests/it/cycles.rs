//! `bound --cost cycles`: text, JSON, refusals, exit codes.

use serde_json::Value;

use crate::support::{run, scratch};

const TRANSPOSE: &str = "transpose.sm_61.cubin";
/// A warp of a launch that runs alone.
const LAUNCH: [&str; 4] = [
    "--launch",
    "../launches/transpose.transpose.0.toml",
    "--scope",
    "warp",
];

fn json(arguments: &[&str]) -> (Option<i32>, Value) {
    let all = [
        &["bound", "--cost", "cycles", "--format", "json"],
        arguments,
    ]
    .concat();
    let message = run(&all);
    assert_eq!(message.stderr, "");
    let report = serde_json::from_str(&message.stdout).expect("JSON");
    (message.code, report)
}

fn text(arguments: &[&str]) -> String {
    run(&[&["bound", "--cost", "cycles"], arguments].concat()).done()
}

/// Returns the reason why the first kernel has no bound in cycles.
fn reason(arguments: &[&str]) -> String {
    let (code, report) = json(arguments);
    assert_eq!(code, Some(2));
    let cycles = &report["kernels"][0]["cycles"];
    assert!(cycles["bound"].is_null());
    assert_eq!(cycles["terms"], Value::Array(Vec::new()));
    cycles["reason"].as_str().expect("a reason").to_owned()
}

fn ids(of: &Value) -> Vec<&str> {
    let all = of["assumptions"].as_array().expect("assumptions");
    all.iter().filter_map(|a| a["id"].as_str()).collect()
}

#[test]
fn terms_add_up_to_the_bound_with_and_without_a_launch() {
    let mut bounds = Vec::new();
    for launch in [&[][..], &LAUNCH] {
        let (code, report) = json(&[&[TRANSPOSE, "--kernel", "transpose"], launch].concat());
        assert_eq!(code, Some(0));
        let kernel = &report["kernels"][0];
        assert_eq!(kernel["unit"], "instructions");
        let cycles = &kernel["cycles"];
        let bound = cycles["bound"].as_u64().expect("a bound");
        let terms = cycles["terms"].as_array().expect("terms");
        let sum: u64 = terms
            .iter()
            .filter_map(|term| term["cycles"].as_u64())
            .sum();
        assert_eq!(sum, bound);
        assert_eq!(terms[0]["name"], "launch overhead");
        assert_eq!(cycles["scope"], "warp");
        assert_eq!(cycles["machine"], "gtx1080");
        assert_eq!(cycles["caches"], "any");
        assert!(
            cycles["milliseconds"]
                .as_f64()
                .is_some_and(|time| time > 0.0)
        );
        assert!(
            kernel["bound"]
                .as_u64()
                .is_some_and(|issued| issued < bound)
        );
        bounds.push(bound);
    }
    assert!(bounds[1] < bounds[0], "{bounds:?}");
}

#[test]
fn what_the_bound_rests_on_is_listed() {
    let (_, report) = json(&[TRANSPOSE, "--kernel", "transpose"]);
    let cycles = &report["kernels"][0]["cycles"];
    let own = [
        "lone-warp",
        "timing-model",
        "numbers-in-range",
        "no-other-traffic",
        "clock",
        "memory-units",
        "aligned",
    ];
    assert_eq!(ids(cycles), own);
    let numbers = cycles["numbers"].as_array().expect("numbers");
    let standing = |name: &str| numbers.iter().filter(|n| n["standing"] == name).count();
    let counted = format!(
        "{} are assumed and {} fitted",
        standing("assumed"),
        standing("fitted")
    );
    assert_eq!(standing("assumed") + standing("fitted"), numbers.len());
    assert!(!numbers.is_empty());
    let text = cycles["assumptions"][2]["text"].as_str().expect("text");
    assert!(text.contains(&counted), "{text}");
    let stated = ["--caches", "warm", "--machine", "p100"];
    let all = [&[TRANSPOSE], &LAUNCH[..], &stated].concat();
    let (_, report) = json(&all);
    let kernel = &report["kernels"][0];
    let found = [ids(kernel), ids(&kernel["cycles"])].concat();
    for id in [
        "other-architecture",
        "caches-warm",
        "launch-range",
        "launch",
        "addresses",
    ] {
        let times = found.iter().filter(|known| **known == id).count();
        assert_eq!(times, 1, "{id} in {found:?}");
    }
    assert!(!ids(&kernel["cycles"]).contains(&"caches-cold"));
}

#[test]
fn text_names_the_sum_and_the_assumptions() {
    let text = text(&[&[TRANSPOSE], &LAUNCH[..]].concat());
    for part in [
        "bound: a warp issues at most ",
        "bound: a warp that runs alone takes at most ",
        "machine gtx1080, any scheduler, caches in any state",
        "where cycles go",
        "launch overhead",
        "assumed for the cycles:",
        "(lone-warp)",
        "(numbers-in-range)",
    ] {
        assert!(text.contains(part), "no {part:?} in {text}");
    }
}

#[test]
fn caches_that_hold_the_data_are_not_slower() {
    let bound = |caches: &str| {
        let (_, report) = json(&[&[TRANSPOSE], &LAUNCH[..], &["--caches", caches]].concat());
        report["kernels"][0]["cycles"]["bound"]
            .as_u64()
            .expect("a bound")
    };
    assert!(bound("warm") < bound("any"));
    assert!(bound("cold") <= bound("any"));
}

#[test]
fn a_machine_of_the_code_is_the_default() {
    for (file, machine) in [
        ("transpose.sm_50.cubin", "titan-x-maxwell"),
        ("transpose.sm_61.cubin", "gtx1080"),
        ("transpose.sm_62.cubin", "jetson-tx2"),
    ] {
        let (_, report) = json(&[file, "--kernel", "transpose"]);
        assert_eq!(report["kernels"][0]["cycles"]["machine"], machine);
    }
}

/// A machine file with wider ranges has a greater bound.
#[test]
fn a_machine_is_a_file() {
    let built_in = include_str!("../../../../machine/nvidia/gtx1080.toml");
    let file = scratch("same.toml", built_in);
    let bound = |machine: &str| {
        let (code, report) = json(&[TRANSPOSE, "--kernel", "transpose", "--machine", machine]);
        assert_eq!(code, Some(0));
        report["kernels"][0]["cycles"]["bound"]
            .as_u64()
            .expect("a bound")
    };
    assert_eq!(bound(&file), bound("gtx1080"));
}

#[test]
fn what_the_model_lacks_is_refused_by_name() {
    let latency = "the timing model does not have the latency of textures and surfaces";
    let texture = reason(&[
        "texture.sm_61.cubin",
        "--kernel",
        "texture_blur",
        "--loop-default",
        "3",
    ]);
    assert!(
        texture.starts_with("0x") && texture.ends_with(latency),
        "{texture}"
    );
    let outside = reason(&[
        "external_call.sm_61.cubin",
        "--call-default",
        "20",
        "--loop-default",
        "3",
    ]);
    assert!(outside.contains("which is outside the file"), "{outside}");
    let text = run(&[
        "bound",
        "texture.sm_61.cubin",
        "--loop-default",
        "3",
        "--cost",
        "cycles",
    ]);
    let text = text.without_bound();
    assert!(text.contains("  no bound in cycles: 0x"), "{text}");
}

/// The bound in instructions decides alone if no cycles are asked for.
#[test]
fn a_kernel_without_a_bound_in_cycles_is_one_without_a_bound() {
    let kernel = [
        "bound",
        "texture.sm_61.cubin",
        "--kernel",
        "texture_blur",
        "--loop-default",
        "3",
    ];
    let plain = run(&kernel).done();
    assert!(!plain.contains("cycles"), "{plain}");
    run(&[&kernel[..], &["--cost", "cycles"]].concat()).without_bound();
    let unit = run(&[&kernel[..], &["--cost", "unit"]].concat()).done();
    assert_eq!(unit, plain);
}

#[test]
fn a_missing_fact_is_the_reason() {
    let reason = reason(&["break_loop.sm_61.cubin"]);
    assert_eq!(reason, "1 loop has no bound");
}

#[test]
fn options_without_cycles_are_wrong_usage() {
    for option in [
        ["--machine", "gtx1080"],
        ["--caches", "warm"],
        ["--scope", "warp"],
    ] {
        for cost in [&[][..], &["--cost", "unit"]] {
            let all = [&["bound", TRANSPOSE], &option[..], cost].concat();
            let message = run(&all).usage();
            let expected = format!("{} is for --cost cycles", option[0]);
            assert!(message.contains(&expected), "{message}");
        }
    }
    let cycles = ["bound", TRANSPOSE, "--cost", "cycles"];
    let scopes = run(&[&cycles[..], &["--scope", "kernel"]].concat()).usage();
    assert!(
        scopes.contains("[possible values: warp, block, sm, grid]"),
        "{scopes}"
    );
    let no_scoreboard = run(&[&cycles[..], &["--interlock", "scoreboard"]].concat()).usage();
    assert!(no_scoreboard.contains("--interlock"), "{no_scoreboard}");
    run(&[&cycles[..], &["--caches", "hot"]].concat()).usage();
}

#[test]
fn unknown_machines_and_other_kernels_are_unusable() {
    let cycles = ["bound", TRANSPOSE, "--cost", "cycles"];
    let unknown = run(&[&cycles[..], &["--machine", "gtx1"]].concat()).refusal();
    assert!(
        unknown.contains("there is no machine \"gtx1\""),
        "{unknown}"
    );
    let text = "../msimt/triangle_sum.msimt";
    let refused = run(&["bound", text, "--cost", "cycles"]).refusal();
    assert!(refused.contains("this is mini-SIMT"), "{refused}");
}

#[test]
fn the_number_of_threads_does_not_show() {
    for format in ["text", "json"] {
        let with = |jobs: &str| {
            let file = ["nested_loops.sm_61.cubin", "--loop-default", "10"];
            let how = ["--format", format, "--jobs", jobs];
            text(&[&file[..], &how].concat())
        };
        assert_eq!(with("1"), with("4"));
    }
}

#[test]
fn a_file_of_several_kernels_has_a_column_of_cycles() {
    let all = text(&["nested_loops.sm_61.cubin", "--loop-default", "10"]);
    let mut lines = all.lines();
    assert_eq!(
        lines.next(),
        Some("nested_loops.sm_61.cubin: 3 kernels, 3 bounded")
    );
    let head = lines.next().unwrap_or_default();
    assert!(
        head.contains("and most cycles that it takes alone"),
        "{head}"
    );
    let columns = lines.next().unwrap_or_default();
    assert_eq!(
        columns.split_whitespace().collect::<Vec<_>>(),
        ["at", "most", "cycles", "loops", "kernel"]
    );
}

/// A constant bank may end in a part of a line of the constant cache: the host has written the rest of the line nowhere,
/// so that a warm L2 cache lacks it.
#[test]
fn constants_in_part_of_a_line_miss_a_warm_cache() {
    for (file, launch) in [
        ("backprop.sm_61.cubin", "backprop.backprop_adjust.0"),
        ("float_mix.sm_61.cubin", "float_mix.float_mix.0"),
    ] {
        let launch = format!("../launches/{launch}.toml");
        let how = [
            file,
            "--launch",
            &launch,
            "--machine",
            "gtx1080",
            "--caches",
            "warm",
        ];
        let (_, report) = json(&how);
        let bound = report["kernels"][0]["cycles"]["bound"].as_u64();
        let slow = [
            "run",
            "--format",
            "json",
            "--select",
            "slow",
            "--only-warp",
            "0.0",
        ];
        let simulated = run(&[&slow[..], &how].concat()).done();
        let simulated: Value = serde_json::from_str(&simulated).expect("JSON");
        assert!(
            bound >= simulated["cycles"].as_u64(),
            "{file}: {bound:?}, {simulated}"
        );
    }
}

/// The bound of a launch: scope, schedulers, shape and terms in JSON, the terms add up, and a larger scope takes longer.
#[test]
fn launches_have_bounds() {
    let launch = ["--launch", "../launches/transpose.transpose.1.toml"];
    let of = |scope: &str| {
        let machine = ["--machine", "gtx1080", "--scope", scope];
        let (code, report) = json(&[&[TRANSPOSE], &launch[..], &machine].concat());
        assert_eq!(code, Some(0));
        report["kernels"][0]["cycles"].clone()
    };
    let number = |value: &Value| value.as_u64().expect("a number");
    let mut before = 0;
    for scope in ["warp", "block", "grid"] {
        let cycles = of(scope);
        assert_eq!(cycles["scope"], scope);
        let bound = number(&cycles["bound"]);
        assert!(bound > before, "{scope}: {bound}, before {before}");
        before = bound;
        let terms = cycles["terms"].as_array().expect("terms").iter();
        let terms = terms.map(|term| number(&term["cycles"]));
        assert_eq!(terms.sum::<u64>(), bound);
        if scope != "warp" {
            assert_eq!(cycles["schedulers"], "work-conserving");
            assert_eq!(cycles["launch"]["chain"], "aligned-barriers");
        }
    }
    assert_eq!(of("grid")["launch"]["blocks"], 6);
    let all = text(&[&[TRANSPOSE], &launch[..], &["--scope", "grid"]].concat());
    let subject = "the grid of 6 blocks of 8 warps takes at most";
    assert!(all.contains(subject), "{all}");
    let limited = |limit| {
        let cycles = ["bound", TRANSPOSE, "--cost", "cycles", "--scope", "grid"];
        run(&[&cycles[..], &launch, &["--limit", limit]].concat())
    };
    assert_eq!(limited("1s").code, Some(0));
    let over = limited("1us");
    assert_eq!(over.code, Some(1));
    assert!(over.stderr.contains("over the limit"), "{}", over.stderr);
    limited("soon").usage();
    let without = reason(&[TRANSPOSE, "--scope", "grid"]);
    assert!(without.contains("state one with --launch"), "{without}");
}

/// With a launch, the bound is that of the whole launch; bounds for any scheduler are greater.
#[test]
fn launches_are_bounded_as_a_whole() {
    let launch = ["--launch", "../launches/transpose.transpose.1.toml"];
    let of = |options: &[&str]| {
        let machine = ["--machine", "gtx1080"];
        let (code, report) = json(&[&[TRANSPOSE], &launch[..], &machine, options].concat());
        assert_eq!(code, Some(0));
        report["kernels"][0]["cycles"].clone()
    };
    let whole = of(&[]);
    assert_eq!(whole, of(&["--scope", "grid"]));
    let any = of(&["--schedulers", "any"]);
    assert_eq!(any["schedulers"], "any");
    assert!(any["bound"].as_u64() > whole["bound"].as_u64());
    let lines = whole["lines"].as_array().expect("lines");
    let sum: u64 = lines
        .iter()
        .filter_map(|line| line["cycles"].as_u64())
        .sum();
    assert!(sum > 0 && Some(sum) <= whole["bound"].as_u64(), "{sum}");
    let text = text(&[&[TRANSPOSE], &launch[..]].concat());
    assert!(text.contains("limited most by"), "{text}");
}

/// The launches of a set are bounded one after the other; those in streams are refused.
#[test]
fn launch_sets_have_bounds() {
    let set = "../sets/gaussian.toml";
    let bound = |set: &str, options: &[&str]| {
        let cycles = ["bound", "gaussian.sm_61.cubin", "--launch", set];
        let machine = ["--machine", "gtx1080"];
        run(&[&cycles[..], &machine, options].concat())
    };
    let done = bound(set, &["--cost", "cycles", "--format", "json"]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    let report: Value = serde_json::from_str(&done.stdout).expect("JSON");
    let launches = report["launches"].as_array().expect("launches");
    let sums = launches.iter().filter_map(|launch| launch["sum"].as_u64());
    assert_eq!(Some(sums.sum::<u64>()), report["bound"].as_u64());
    assert_eq!(launches.len(), 2);
    for launch in launches {
        // Later rounds are smaller.
        let most = launch["bound"].as_u64().zip(launch["rounds"].as_u64());
        assert!(launch["sum"].as_u64() <= most.map(|(bound, rounds)| bound * rounds));
    }
    let assumed = |id: &str| {
        let all = report["assumptions"].as_array().expect("assumptions");
        all.iter().any(|assumption| assumption["id"] == id)
    };
    assert!(
        assumed("one-after-the-other") && assumed("clean-caches") && assumed("scheduler-class")
    );
    let over = bound(set, &["--cost", "cycles", "--limit", "1us"]);
    assert_eq!(over.code, Some(1), "{}", over.stderr);
    assert_eq!(
        bound("../sets/bfs.toml", &["--cost", "cycles"]).code,
        Some(3)
    );
    bound(set, &["--cost", "cycles", "--block", "32"]).usage();
    let plain = run(&["bound", "gaussian.sm_61.cubin", "--launch", set]);
    assert!(plain.stderr.contains("--cost cycles"), "{}", plain.stderr);
}

/// Times are for the clocks of the machine, or for the one that the user states.
#[test]
fn times_name_their_clock() {
    let launch = ["--launch", "../cuda/matmul_int.8x8.toml"];
    let board = ["matmul_int.sm_62.cubin"];
    // Numbers in JSON are decimal.
    let is_close = |value: &Value, expected: f64| {
        let value = value.as_f64().expect("a number");
        (value - expected).abs() < 1e-9 * expected
    };
    let clocks = |options: &[&str]| -> Vec<(String, u64)> {
        let (code, report) = json(options);
        assert_eq!(code, Some(0), "{options:?}");
        let cycles = &report["kernels"][0]["cycles"];
        let bound = cycles["bound"].as_u64().expect("a bound") as f64;
        let times = cycles["times"].as_array().expect("times");
        let clocks = times.iter().map(|time| {
            let kilohertz = time["kilohertz"].as_u64().expect("kHz");
            assert!(is_close(&time["milliseconds"], bound / kilohertz as f64));
            (
                time["clock"].as_str().expect("a clock").to_owned(),
                kilohertz,
            )
        });
        let clocks: Vec<(String, u64)> = clocks.collect();
        let least = clocks
            .iter()
            .map(|(_, kilohertz)| *kilohertz)
            .min()
            .expect("a clock");
        assert!(is_close(&cycles["milliseconds"], bound / least as f64));
        assert!(ids(cycles).contains(&"clock") && ids(cycles).contains(&"no-other-traffic"));
        clocks
    };
    let named = |clock: &str, kilohertz| (clock.to_owned(), kilohertz);
    assert_eq!(
        clocks(&[&board[..], &launch].concat()),
        [
            named("MAXN", 1_300_000),
            named("MAXP", 1_120_000),
            named("MAXQ", 850_000)
        ]
    );
    let gtx = ["matmul_int.sm_61.cubin"];
    assert_eq!(
        clocks(&[&gtx[..], &launch].concat()),
        [named("base", 1_607_000)]
    );
    for (stated, kilohertz) in [
        ("850MHz", 850_000),
        ("850..1300MHz", 850_000),
        ("0.5GHz", 500_000),
    ] {
        let options = [&board[..], &launch, &["--clock", stated]].concat();
        assert_eq!(clocks(&options), [named("stated", kilohertz)]);
    }
    let page = text(&[&board[..], &launch].concat());
    assert!(
        page.contains(" at 1300 MHz (MAXN), ") && page.contains(" at 850 MHz (MAXQ); machine"),
        "{page}"
    );
    let command = ["bound", board[0], launch[0], launch[1]];
    let with = |more: &[&str]| run(&[&command[..], more].concat());
    with(&["--cost", "cycles", "--clock", "1300"]).usage();
    with(&["--clock", "850MHz"]).usage();
}

/// 1300 is a number of MHz.
#[test]
fn frequencies_that_no_gpu_has_are_refused() {
    let file = crate::support::built_folder().join("../../machine/nvidia/gtx1080.toml");
    let machine = std::fs::read_to_string(file).expect("a machine");
    let own = "value = [1607000, 1733000], typical = 1607000";
    assert!(machine.contains(own));
    let machine = machine.replace(own, "value = [1300, 1300], typical = 1300");
    let file = scratch("megahertz.toml", machine);
    let message = run(&["bound", TRANSPOSE, "--cost", "cycles", "--machine", &file]).refusal();
    assert!(
        message.ends_with("clock.frequency is 1300 kHz, but must be 10000 to 10000000 kHz"),
        "{message}"
    );
}

/// An SM alone takes no longer than the grid that it is a part of.
#[test]
fn an_sm_takes_no_longer_than_the_grid() {
    for (file, launch) in [
        ("matmul_int.sm_61.cubin", "../cuda/matmul_int.8x8.toml"),
        (TRANSPOSE, "../launches/transpose.transpose.0.toml"),
        (
            "nbody.sm_61.cubin",
            "../launches/nbody.nbody_advance.1.toml",
        ),
        (
            "lud_diagonal.sm_61.cubin",
            "../launches/lud_diagonal.lud_diagonal.0.toml",
        ),
    ] {
        let bound = |scope: &str| {
            let (_, report) = json(&[file, "--launch", launch, "--scope", scope]);
            report["kernels"][0]["cycles"]["bound"].as_u64()
        };
        let (sm, grid) = (bound("sm"), bound("grid"));
        assert!(sm.is_some() && sm <= grid, "{launch}: {sm:?} {grid:?}");
    }
}
