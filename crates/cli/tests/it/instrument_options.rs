//! Options of `instrument` and of the commands that read what it wrote: time stamps, wanted sums, times of stages.

use serde_json::Value;

use crate::support::{run, scratch};

const LUD: &str = "lud_diagonal.sm_61.cubin";
const MATMUL: &str = "matmul_int.sm_61.cubin";
const OTHER: &str = "lud_diagonal.nvrtc11.sm_61.cubin";
const LAUNCH: &str = "../launches/lud_diagonal.lud_diagonal.0.toml";

/// Path of a file to write, without its last ending, and with it.
fn output(name: &str) -> (String, String) {
    let file = scratch(&format!("{name}.cubin"), "");
    let stem = file.strip_suffix(".cubin").expect("its end").to_owned();
    (stem, file)
}

/// Output of a command as JSON.
fn json(arguments: &[&str]) -> Value {
    let text = run(&[arguments, &["--format", "json"]].concat()).done();
    serde_json::from_str(&text).expect("JSON")
}

/// Stamps, as a user takes them: a rewritten kernel, a run of it, the estimate from what the run kept.
#[test]
fn stamps_of_a_run_give_an_estimate() {
    let (stem, cubin) = output("stamped");
    let made = ["instrument", LUD, "--stamps", "--launch", LAUNCH];
    let text = run(&[&made[..], &["-o", &cubin]].concat()).done();
    assert!(text.contains("points") && text.contains("times"), "{text}");
    let file = |end: &str| format!("{stem}.{end}");
    let (plan, times) = (file("stamps.json"), file("counters.npy"));
    let ran = run(&["run", &cubin, "--launch", &file("toml")]).done();
    assert!(ran.contains("256 elements of buffers are as"), "{ran}");
    let of_times = |times: &[&str]| {
        let mut arguments = vec!["hybrid", LUD, "--stamps", &plan, "--launch", LAUNCH];
        arguments.extend(times.iter().flat_map(|path| ["--times", path]));
        json(&arguments)
    };
    let report = of_times(&[&times]);
    let cycles =
        |report: &Value, key: &str| report.pointer(key).and_then(Value::as_u64).expect("cycles");
    let (observed, estimate) = (cycles(&report, "/observed"), cycles(&report, "/estimate"));
    assert!(0 < observed && observed <= estimate, "{report}");
    assert!(
        cycles(&report, "/stamps/estimate_without") < estimate,
        "{report}"
    );
    assert_eq!(report, of_times(&[&times, &times]));
    // The largest time of a thread, after the header, the digest: it counts wherever it comes from.
    let mut longer = std::fs::read(&times).expect("the run wrote it");
    let header = 10 + usize::from(u16::from_le_bytes([longer[8], longer[9]]));
    let at = header + 8;
    let kept = longer[at..].first_chunk().expect("a word");
    assert_eq!(u64::from_le_bytes(*kept), observed);
    longer[at..at + 8].copy_from_slice(&(estimate + 1).to_le_bytes());
    let longer = scratch("stamped.longer.npy", longer);
    for paths in [[&times, &longer], [&longer, &times]] {
        let mut arguments = vec!["hybrid", LUD, "--stamps", &plan, "--launch", LAUNCH];
        arguments.extend(paths.iter().flat_map(|path| ["--times", path]));
        let exceeded = run(&arguments);
        assert_eq!(exceeded.code, Some(1), "{}", exceeded.stdout);
        assert!(exceeded.stdout.contains("a run exceeds the estimate"));
    }
}

/// Launches that a GPU refuses, for each kind of file that is written for a launch.
#[test]
fn launches_that_are_too_large_are_refused() {
    let (stem, cubin) = output("too.large");
    let kernel = ["--kernel", "matmul_int"];
    let planned = ["instrument", MATMUL, "--blocks", "all", "-o", &cubin];
    run(&[&planned[..], &kernel].concat()).done();
    let plan = format!("{stem}.plan.json");
    for (name, sizes, message) in [
        (
            "block",
            "grid = [1]\nblock = [2, 2, 65]",
            "block has 65 elements in z, at most 64",
        ),
        (
            "grid",
            "grid = [1, 65536]\nblock = [1]",
            "grid has 65536 elements in y, at most 65535",
        ),
    ] {
        let params = "param = [{ type = \"s32\", shape = [1] }, { type = \"s32\", shape = [1] }, \
                      { type = \"s32\", shape = [1] }, { type = \"s32\", value = 1 }]";
        let launch = scratch(
            &format!("too.large.{name}.toml"),
            format!("{sizes}\n{params}\n"),
        );
        for way in [&[][..], &["--stamps"], &["--plan", &plan]] {
            let files = ["instrument", MATMUL, "--launch", &launch, "-o", &cubin];
            let refused = run(&[&files[..], &kernel, way].concat()).refusal();
            assert!(refused.contains(message), "{way:?}: {refused}");
        }
    }
}

/// Stamps and times that do not belong together, or to the code.
#[test]
fn stamps_of_others_are_refused() {
    let (stem, cubin) = output("stamped.refused");
    run(&[
        "instrument",
        LUD,
        "--stamps",
        "--launch",
        LAUNCH,
        "-o",
        &cubin,
    ])
    .done();
    run(&["run", &cubin, "--launch", &format!("{stem}.toml")]).done();
    let (plan, times) = (
        format!("{stem}.stamps.json"),
        format!("{stem}.counters.npy"),
    );
    let line = run(&["hybrid", OTHER, "--stamps", &plan, "--times", &times]).refusal();
    assert!(line.contains("the stamps are for code"), "{line}");
    let (other, counted) = output("stamped.counted");
    run(&["instrument", LUD, "--launch", LAUNCH, "-o", &counted]).done();
    run(&["run", &counted, "--launch", &format!("{other}.toml")]).done();
    let counters = format!("{other}.counters.npy");
    let line = run(&["hybrid", LUD, "--stamps", &plan, "--times", &counters]).refusal();
    assert!(line.contains("the times are of stamps"), "{line}");
    run(&["hybrid", LUD, "--stamps", &plan]).usage();
    run(&["hybrid", LUD, "--times", &times]).usage();
    let blocks = ["instrument", LUD, "--stamps", "--blocks", "all"];
    run(&[&blocks[..], &["-o", &cubin]].concat()).usage();
    let waves = ["instrument", "reduction.gfx803.co", "--stamps"];
    let line = run(&[&waves[..], &["-o", &cubin]].concat()).refusal();
    assert!(line.contains("Maxwell and Pascal"), "{line}");
}

/// Sums that are wanted, each with the value that a run of the original has, and a counter for each probe on request.
#[test]
fn sums_are_decoded() {
    let total = &json(&["metrics", LUD, "--launch", LAUNCH])["launches"][0]["total"];
    let (issues, lanes) = (&total["warp_instructions"], &total["thread_instructions"]);
    // A load of each of 16 rows, and a store of all but the first.
    let global = Value::from(31);
    let of_metrics = [
        ("activity", vec![issues, lanes]),
        ("memory", vec![issues, &global]),
        ("activity,memory", vec![issues, lanes, &global]),
    ];
    for (number, (metrics, expected)) in of_metrics.into_iter().enumerate() {
        for each in [false, true] {
            for blocks in ["plan", "all"] {
                let (stem, cubin) = output(&format!("sums.{number}.{each}.{blocks}"));
                let mut made = vec!["instrument", LUD, "--launch", LAUNCH, "--blocks", blocks];
                made.extend(["--metrics", metrics, "-o", &cubin]);
                made.extend(each.then_some("--each"));
                run(&made).done();
                let launch = format!("{stem}.toml");
                run(&["run", &cubin, "--launch", &launch, "--functional"]).done();
                let plan = format!("{stem}.plan.json");
                let counters = format!("{stem}.counters.npy");
                let decoded = json(&["decode", LUD, "--plan", &plan, "--counters", &counters]);
                let count = decoded["counters"].as_u64().expect("a number");
                assert_eq!(count > 3, each, "{metrics} {blocks}: {decoded}");
                if each {
                    continue;
                }
                let values = decoded["values"].as_array().expect("values");
                let values: Vec<&Value> = values.iter().map(|value| &value["value"]).collect();
                assert_eq!(values, expected, "{blocks}: {decoded}");
            }
        }
    }
}

/// The paper's two sums, instructions times active lanes and times lanes of a warp, give the activity factor of the blocks
/// with probes.
#[test]
fn sums_of_the_paper_give_the_activity_factor() {
    for (number, metrics) in ["counts", "activity"].into_iter().enumerate() {
        for probe in ["paper", "paper-local"] {
            let (stem, cubin) = output(&format!("paper.{probe}.{number}"));
            let made = ["instrument", LUD, "--blocks", "all", "--probe", probe];
            let made = [&made[..], &["--metrics", metrics, "-o", &cubin]].concat();
            if probe == "paper-local" {
                let line = run(&made).refusal();
                assert!(line.contains("give --launch"), "{line}");
            }
            let text = run(&[&made[..], &["--launch", LAUNCH]].concat()).done();
            let is_larger = text.contains("more of dynamic shared memory");
            assert_eq!(is_larger, probe == "paper-local", "{text}");
            let launch = format!("{stem}.toml");
            let ran = run(&["run", &cubin, "--launch", &launch, "--functional"]).done();
            assert!(ran.contains("256 elements of buffers are as"), "{ran}");
            let (plan, counters) = (format!("{stem}.plan.json"), format!("{stem}.counters.npy"));
            let text = run(&["decode", LUD, "--plan", &plan, "--counters", &counters]).done();
            assert!(text.contains("activity factor  25.8 %\n"), "{text}");
            let bytes = std::fs::read(&counters).expect("the run wrote it");
            let (words, rest) = bytes[bytes.len() - 16..].as_chunks::<8>();
            assert!(rest.is_empty());
            let sums: Vec<u64> = words.iter().map(|word| u64::from_le_bytes(*word)).collect();
            assert_eq!(sums, [23_972, 2_903 * 32], "{probe}");
        }
    }
}

/// Times of stages are on standard error: the output is the same with them.
#[test]
fn stages_are_timed_on_request() {
    let (_, cubin) = output("timed_stages");
    let instrument = ["instrument", LUD, "--launch", LAUNCH, "-o", &cubin];
    let stamps = ["instrument", LUD, "--stamps", "-o", &cubin];
    let metrics = ["metrics", LUD, "--launch", LAUNCH];
    let predict = ["predict", LUD, "--launch", LAUNCH];
    let probes = ["probes", LUD, "--launch", LAUNCH];
    for (arguments, stages) in [
        (&instrument[..], &["parse", "analyse", "instrument"][..]),
        (&stamps, &["parse", "instrument"]),
        (&metrics, &["parse", "execute", "analyse"]),
        (&predict, &["parse", "analyse"]),
        (&probes, &["parse", "analyse"]),
    ] {
        let without = run(arguments);
        assert_eq!(without.stderr, "");
        let timed = run(&[arguments, &["--timing"]].concat());
        assert_eq!((timed.code, &timed.stdout), (without.code, &without.stdout));
        let lines = timed.stderr.lines();
        let names = lines.filter_map(|line| line.split_whitespace().next());
        assert_eq!(names.collect::<Vec<_>>(), stages, "{}", timed.stderr);
        assert!(timed.stderr.lines().all(|line| line.contains(" ms")));
    }
}

/// Sectors and bank conflicts of the accesses, in all and by instruction.
#[test]
fn memory_divergence_of_a_launch() {
    let arguments = ["metrics", LUD, "--launch", LAUNCH];
    let memory = &json(&arguments)["launches"][0]["memory_divergence"];
    let spaces = memory["spaces"].as_array().expect("spaces");
    let [global, shared] = spaces.as_slice() else {
        panic!("{memory}");
    };
    // 16 neighbouring floats of a row are two sectors.
    assert_eq!(
        (&global["space"], &global["executions"]),
        (&"global".into(), &31.into())
    );
    assert_eq!(global["sectors"], 62);
    assert_eq!(
        (&shared["space"], &shared["sectors"]),
        (&"shared".into(), &Value::Null)
    );
    let number = |of: &Value, key: &str| of[key].as_u64().expect("a number");
    for of in spaces {
        let key = ["sectors", "conflicts"]
            .into_iter()
            .find(|key| !of[key].is_null());
        let key = key.expect("one of them");
        assert!(
            number(of, key) <= number(of, &format!("most_{key}")),
            "{of}"
        );
        for part in ["accesses", "blocks", "lines"] {
            let parts = memory[part].as_array().expect("rows").iter();
            let parts = parts.filter(|row| row["space"] == of["space"]);
            let sum: u64 = parts.map(|row| number(row, key)).sum();
            assert_eq!(sum, number(of, key), "{part}");
        }
    }
    let text = run(&arguments).done();
    assert!(text.contains("each access on average"), "{text}");
    assert!(!text.contains("LDG"), "{text}");
    let text = run(&[&arguments[..], &["--stats"]].concat()).done();
    assert!(text.contains("0x00d8 LDG"), "{text}");
}
