//! Loop bounds derived from the machine code in reports: origins, evidence, assumptions, facts beside them.

use serde_json::Value;

use crate::support::{run, scratch};

const MATMUL: [&str; 3] = ["matmul_int.sm_61.cubin", "--kernel", "matmul_int"];
const LAUNCH: [&str; 2] = ["--launch", "../cuda/matmul_int.8x8.toml"];

/// Returns the exit code and the report of the only kernel.
fn bound(arguments: &[&str]) -> (Option<i32>, Value) {
    let out = run(&[&["bound", "--format", "json"], arguments].concat());
    assert_eq!(out.stderr, "");
    let report: Value = serde_json::from_str(&out.stdout).expect("JSON");
    (out.code, report["kernels"][0].clone())
}

fn matmul(options: &[&str]) -> Value {
    let (code, kernel) = bound(&[&MATMUL, options].concat());
    assert_eq!(code, Some(0), "{options:?}");
    kernel
}

fn has_assumption(kernel: &Value, id: &str) -> bool {
    let all = kernel["assumptions"].as_array().expect("assumptions");
    all.iter().any(|assumption| assumption["id"] == id)
}

#[test]
fn a_loop_that_a_parameter_decides_names_it() {
    let (code, kernel) = bound(&MATMUL);
    let l = &kernel["loops"][0];
    assert_eq!(code, Some(2));
    assert_eq!(
        (&l["origin"], &l["parameter"]),
        (&"missing".into(), &"p3".into())
    );
    assert!(l["bound"].is_null() && l["evidence"].is_null() && l["decided_by"].is_null());
    let text = run(&[&["bound"], &MATMUL[..]].concat()).without_bound();
    assert!(
        text.contains("decided by p3: give --param p3=LO..HI\n"),
        "{text}"
    );
    // The name is that of the launch file.
    let (_, kernel) = bound(&[&MATMUL[..], &LAUNCH, &["--param", "n=0..100"]].concat());
    assert_eq!(kernel["loops"][0]["evidence"]["limit"], "< n");
}

#[test]
fn what_is_stated_is_not_asked_for_again() {
    for range in [
        "p3=0..4294967295",
        "p3=-2147483648..4294967295",
        "p3=0..2147483647",
    ] {
        let command = [&["bound"], &MATMUL[..], &["--param", range]].concat();
        let text = run(&command).without_bound();
        assert!(!text.contains("give --param"), "{range}: {text}");
        let counted = "iterations, and counts above 268435456 are taken for unknown: state a smaller range or a fact";
        assert!(text.contains(counted), "{range}: {text}");
    }
}

/// A launch file may be about many launches.
#[test]
fn a_loop_of_a_parameter_that_varies() {
    let file = format!("../cuda/{}", "matmul_int.8x8.toml");
    let text =
        std::fs::read_to_string(crate::support::built_folder().join(file)).expect("a launch");
    let text = format!("{text}vary = [3, 5]\n");
    let launch = scratch("derived_vary.toml", text);
    let stated = ["--launch", launch.as_str()];
    let kernel = matmul(&stated);
    // The value of the file is among them.
    assert_eq!(kernel["loops"][0]["bound"], 8);
    assert!(
        kernel["profile"].is_null(),
        "no warp of one launch is followed"
    );
    let assumptions = kernel["assumptions"].to_string();
    assert!(
        assumptions.contains("the ranges of those that vary"),
        "{assumptions}"
    );
    let text = std::fs::read_to_string(&launch).expect("written");
    let wider = scratch("derived_vary_more.toml", text.replace("[3, 5]", "[3, 50]"));
    assert_eq!(matmul(&["--launch", &wider])["loops"][0]["bound"], 50);
    // The option replaces the range.
    let kernel = matmul(&["--launch", &wider, "--param", "n=4"]);
    assert_eq!(kernel["loops"][0]["bound"], 4);
    // The grid in cycles for all values is no less than for one of them.
    let grid = [
        "--cost",
        "cycles",
        "--scope",
        "grid",
        "--machine",
        "gtx1080",
    ];
    let cycles = |stated: &[&str]| {
        let (code, kernel) = bound(&[&MATMUL[..], stated, &grid].concat());
        assert_eq!(code, Some(0));
        kernel["cycles"]["bound"].as_u64().expect("a bound")
    };
    let range = cycles(&["--launch", &wider]);
    assert!(range > cycles(&stated));
    assert!(range >= cycles(&["--launch", &wider, "--param", "n=50"]));
    let (code, kernel) = bound(&[&MATMUL[..], &stated, &grid, &["--grid", "1..4"]].concat());
    assert_eq!(code, Some(2));
    let why = kernel["cycles"]["reason"].as_str().expect("a reason");
    assert!(why.contains("leave --block and --grid out"), "{why}");
}

#[test]
fn accesses_that_fault_in_a_launch_are_named() {
    let file = crate::support::built_folder().join("../cuda/matmul_int.8x8.toml");
    let text = std::fs::read_to_string(file).expect("a launch");
    let own = "name = \"b\"\ntype = \"s32\"\nshape = [8, 8]\nfill = \"iota\"\n";
    assert!(text.contains(own));
    let misaligned = "name = \"b\"\nsame_as = \"a\"\noffset = 2\n";
    let launch = scratch("derived_misaligned.toml", text.replace(own, misaligned));
    let faults = |launch: &str| {
        let kernel = matmul(&["--launch", launch]);
        kernel["assumptions"]
            .to_string()
            .contains("whose address is misaligned")
    };
    assert!(faults(&launch));
    assert!(!faults(LAUNCH[1]));
    // The run shows the fault.
    let run = run(&["run", MATMUL[0], "--functional", "--launch", &launch]);
    assert_eq!(run.code, Some(3), "{}", run.stdout);
    assert!(run.stderr.contains("is no multiple of 4"), "{}", run.stderr);
}

#[test]
fn a_loop_of_a_launch() {
    let kernel = matmul(&LAUNCH);
    let l = &kernel["loops"][0];
    assert_eq!((&l["bound"], &l["origin"]), (&8.into(), &"launch".into()));
    for key in ["exit", "source", "pattern", "start", "step", "limit"] {
        assert!(l["evidence"][key].is_string(), "no {key}");
    }
    assert!(has_assumption(&kernel, "launch-range"));
    assert!(has_assumption(&kernel, "buffers-aligned"));
    let text = run(&[&["bound"], &MATMUL[..], &LAUNCH].concat()).done();
    for part in [
        "instructions, if the launch is as stated\n",
        "all launches have the sizes and parameters of ../cuda/matmul_int.8x8.toml (launch-range)\n",
        "  launch  matmul_int.cu:16\n        i = 1; i < 8; i += 1, until the branch at 0x01b0 (matmul_int.cu:16)\n",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn a_loop_of_a_range_of_launches() {
    let options = ["--param", "p3=1..4096", "--block", "8,8", "--grid", "1..4"];
    let kernel = matmul(&options);
    let l = &kernel["loops"][0];
    assert_eq!(
        (&l["bound"], &l["origin"]),
        (&4096.into(), &"launch".into())
    );
    assert!(!has_assumption(&kernel, "buffers-aligned"));
    let assumptions = kernel["assumptions"].to_string();
    let text =
        "all launches have blocks of 8 x 8 x 1 threads, grids of 1..4 x 1 x 1 blocks, p3 = 1..4096";
    assert!(assumptions.contains(text), "{assumptions}");
    // The option replaces the value of the launch file.
    let kernel = matmul(&[&LAUNCH[..], &["--param", "n=1..30"]].concat());
    assert_eq!(kernel["loops"][0]["bound"], 30);
    let text =
        "all launches have the sizes and parameters of ../cuda/matmul_int.8x8.toml, but n = 1..30";
    assert!(kernel["assumptions"].to_string().contains(text));
}

/// A bound that is the same for any launch assumes nothing about it, whatever is stated.
#[test]
fn a_loop_of_constants() {
    let file = ["nested_loops.sm_61.cubin", "--kernel", "nested_fixed"];
    for options in [
        &[][..],
        &["--grid", "1"],
        &["--block", "64", "--param", "p1=3"],
    ] {
        let (code, kernel) = bound(&[&file, options].concat());
        assert_eq!(code, Some(0));
        let loops = kernel["loops"].as_array().expect("loops");
        assert!(loops.iter().all(|l| l["origin"] == "derived"), "{loops:?}");
        assert!(!has_assumption(&kernel, "launch-range"), "{options:?}");
        assert!(!has_assumption(&kernel, "loop-facts"));
    }
    let (code, kernel) = bound(&[&file[..], &["--no-derive"]].concat());
    assert_eq!(code, Some(2));
    assert!(kernel["loops"][0]["reason"].is_null());
    // Derived bounds are about threads, and the paper's loops are those of warps.
    let (code, _) = bound(&[&file[..], &["--flow", "paper"]].concat());
    assert_eq!(code, Some(2));
}

#[test]
fn a_loop_that_memory_decides_names_the_load() {
    let file = ["early_exit.sm_61.cubin", "--kernel", "early_exit"];
    let (code, kernel) = bound(&file);
    assert_eq!(code, Some(2));
    let decided_by = &kernel["loops"][0]["decided_by"];
    assert_eq!(decided_by["load"], "0x0108");
    assert_eq!(decided_by["source"], "early_exit.cu:16");
    let text = run(&[&["bound"], &file[..]].concat()).without_bound();
    let line = "decided by the load at 0x0108 (early_exit.cu:16)\n";
    assert!(text.contains(line), "{text}");
    // It is named beside a bound that is only assumed, too.
    let text = run(&[&["bound"], &file[..], &["--loop-default", "9"]].concat()).done();
    assert!(text.contains(line), "{text}");
}

/// Facts for the loop of `matmul_int`; `name` is unique.
fn facts(name: &str, numbers: &str) -> String {
    let (_, kernel) = bound(&MATMUL);
    let text = format!(
        "[[kernel]]\nname = \"matmul_int\"\ncode = {}\nloops = [\n{{ at = \"0x0150\", {numbers} }},\n]\n",
        kernel["code"]
    );
    scratch(&format!("derived.{name}.toml"), text)
}

#[test]
fn the_smaller_of_fact_and_derived_bound() {
    let range = ["--param", "p3=1..4096"];
    let with = |name: &str, numbers: &str| {
        let facts = facts(name, numbers);
        matmul(&[&range[..], &["--facts", &facts, "--loop-default", "2"]].concat())
    };
    for (name, numbers, bound, origin, total_origin) in [
        ("smaller", "bound = 100", 100, "facts", None),
        ("larger", "bound = 5000", 4096, "launch", None),
        ("total", "total = 70", 70, "facts", Some("facts")),
        (
            "both",
            "bound = 5000, total = 6000",
            4096,
            "launch",
            Some("facts"),
        ),
    ] {
        let kernel = with(name, numbers);
        let l = &kernel["loops"][0];
        assert_eq!((&l["bound"], &l["origin"]), (&bound.into(), &origin.into()));
        assert_eq!(l["total_origin"].as_str(), total_origin, "{name}");
        let uses_facts = origin == "facts" || total_origin.is_some();
        assert_eq!(has_assumption(&kernel, "loop-facts"), uses_facts, "{name}");
        assert_eq!(has_assumption(&kernel, "launch-range"), origin == "launch");
        assert!(!has_assumption(&kernel, "loop-default"));
    }
}

/// A fact that some thread of every launch exceeds is no fact.
#[test]
fn a_false_fact() {
    let file = ["nested_loops.sm_61.cubin", "--kernel", "nested_fixed"];
    let template = run(&[&["facts"], &file[..], &["--no-derive"]].concat()).done();
    let line = template
        .lines()
        .position(|line| line.contains("\"L1\""))
        .expect("L1")
        + 1;
    for (number, launch, launches) in [
        ("6", &[][..], "all launches"),
        ("5", &["--grid", "1"], "all launches that are stated"),
    ] {
        let facts = scratch(
            &format!("derived.false.{number}.toml"),
            template.replace("\"?\"", number),
        );
        let options = [&["--facts", facts.as_str()], launch].concat();
        let message = run(&[&["bound"], &file[..], &options].concat()).refusal();
        let expected = format!(
            "{facts}: kernel nested_fixed: line {line}: the bound {number} of loop L1 is false: in {launches} a thread \
             executes its header 7 times"
        );
        assert_eq!(message, expected);
    }
    // The counts themselves are true.
    let facts = scratch("derived.true.toml", template.replace("\"?\"", "7"));
    let text = run(&[&["bound"], &file[..], &["--facts", &facts]].concat()).done();
    assert!(!text.contains("facts file"), "{text}");
}

/// Templates of facts ask for what is not derived.
#[test]
fn templates_ask_for_the_rest() {
    let of = |options: &[&str]| run(&[&["facts"], &MATMUL[..], options].concat()).done();
    let unknown = of(&[]);
    let lines = "loops = [\n    # decided by p3: give --param p3=LO..HI\n    { id = \"L1\", at = \"0x0150\", bound = \"?\"";
    assert!(unknown.contains(lines), "{unknown}");
    let known = of(&LAUNCH);
    let line = "# kernel matmul_int needs no facts\n# L1 at 0x0150 (matmul_int.cu:16): at most 8, derived: i = 1; i < 8; \
                i += 1, until the branch at 0x01b0 (matmul_int.cu:16)\n";
    assert!(known.contains(line), "{known}");
    assert!(!known.contains("[[kernel]]"), "{known}");
    let mixed = run(&["facts", "nested_loops.sm_61.cubin"]).done();
    let filled = scratch("derived.mixed.toml", mixed.replace("\"?\"", "5"));
    let text = run(&["bound", "nested_loops.sm_61.cubin", "--facts", &filled]).done();
    assert!(!text.contains("missing"), "{text}");
}

#[test]
fn accesses_outside_the_buffers_of_a_launch_are_named() {
    let file = crate::support::built_folder().join("../cuda/matmul_int.8x8.toml");
    let text = std::fs::read_to_string(file).expect("a launch");
    let own = "name = \"b\"\ntype = \"s32\"\nshape = [8, 8]\nfill = \"iota\"\n";
    assert!(text.contains(own));
    let assumptions = |name: &str, rows: u32| {
        let shape = own.replace("[8, 8]", &format!("[{rows}, 8]"));
        let launch = scratch(name, text.replace(own, &shape));
        let kernel = matmul(&["--launch", &launch]);
        (launch, kernel["assumptions"].to_string())
    };
    let outside = "a thread leaves all buffers";
    let (whole, text_of_whole) = assumptions("derived_whole.toml", 8);
    assert!(!text_of_whole.contains(outside), "{text_of_whole}");
    let (short, text_of_short) = assumptions("derived_short.toml", 7);
    assert!(text_of_short.contains(outside), "{text_of_short}");
    // The runs show it.
    let runs = |launch: &str| run(&["run", MATMUL[0], "--functional", "--launch", launch]).code;
    assert_eq!((runs(&whole), runs(&short)), (Some(0), Some(3)));
}
