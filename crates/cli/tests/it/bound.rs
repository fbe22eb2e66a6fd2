//! `bound`: text, JSON, exit codes, and the steps from a missing fact to a bound.

use serde_json::Value;

use crate::support::{run, scratch};

fn json(arguments: &[&str]) -> (Option<i32>, Value) {
    let message = run(&[&["bound", "--format", "json"], arguments].concat());
    assert_eq!(message.stderr, "");
    (
        message.code,
        serde_json::from_str(&message.stdout).expect("JSON"),
    )
}

fn bounds(report: &Value) -> Vec<(String, Option<u64>)> {
    let kernels = report["kernels"].as_array().expect("kernels");
    kernels
        .iter()
        .map(|k| {
            (
                k["symbol"].as_str().expect("symbol").to_owned(),
                k["bound"].as_u64(),
            )
        })
        .collect()
}

#[test]
fn json_has_the_promised_keys() {
    let (code, report) = json(&[
        "nested_loops.sm_61.cubin",
        "--no-derive",
        "--loop-default",
        "10",
    ]);
    assert_eq!(code, Some(0));
    assert_eq!(report["schema"], "warpbound.bound/1");
    assert_eq!(report["file"], "nested_loops.sm_61.cubin");
    assert_eq!(report["kernels"][0]["isa"], "sm_61");
    let kernels = report["kernels"].as_array().expect("kernels");
    assert_eq!(kernels.len(), 3);
    for kernel in kernels {
        for key in [
            "name",
            "status",
            "reason",
            "bound",
            "unit",
            "loops",
            "divergence_edges",
            "assumptions",
        ] {
            assert!(kernel.get(key).is_some(), "no {key}");
        }
        assert_eq!(kernel["status"], "bounded");
        assert_eq!(kernel["unit"], "instructions");
        assert!(kernel["reason"].is_null());
        assert!(kernel["bound"].as_u64().is_some_and(|n| n > 0));
        for l in kernel["loops"].as_array().expect("loops") {
            assert_eq!(
                (&l["bound"], &l["origin"]),
                (&10.into(), &"loop-default".into())
            );
            for key in ["id", "at", "source", "depth", "together"] {
                assert!(l.get(key).is_some_and(|v| !v.is_null()), "no {key}");
            }
        }
        let assumptions: Vec<&str> = kernel["assumptions"]
            .as_array()
            .expect("assumptions")
            .iter()
            .filter_map(|a| a["id"].as_str())
            .collect();
        for id in ["undisturbed", "lanes", "loop-default"] {
            assert!(assumptions.contains(&id), "{assumptions:?}");
        }
    }
    let edges = kernels[0]["divergence_edges"].as_array().expect("edges");
    assert!(
        !edges.is_empty()
            && edges
                .iter()
                .all(|e| e["from"].is_string() && e["to"].is_string())
    );
}

#[test]
fn json_status_values() {
    let statuses = |arguments: &[&str]| -> (Option<i32>, Vec<String>) {
        let (code, report) = json(arguments);
        let kernels = report["kernels"].as_array().expect("kernels").clone();
        let status = |k: &Value| {
            let status = k["status"].as_str().expect("status").to_owned();
            assert_eq!(k["reason"].is_null(), status == "bounded");
            assert_eq!(k["bound"].is_null(), status != "bounded");
            status
        };
        (code, kernels.iter().map(status).collect())
    };
    let all = |code, status: &str| (Some(code), vec![status.to_owned()]);
    assert_eq!(
        statuses(&["if_else.sm_61.cubin", "--kernel", "if_else"]),
        all(0, "bounded")
    );
    assert_eq!(statuses(&["break_loop.sm_61.cubin"]), all(2, "unbounded"));
    assert_eq!(
        statuses(&[
            "infinite_loop.sm_61.cubin",
            "--kernel",
            "infinite_loop",
            "--loop-default",
            "9"
        ]),
        all(2, "refused")
    );
    // One kernel with a bound and one without.
    assert_eq!(
        statuses(&["backprop.sm_61.cubin", "--no-derive"]),
        (Some(2), vec!["bounded".to_owned(), "unbounded".to_owned()])
    );
}

/// The only number that differs from run to run is printed only on request.
#[test]
fn repeated_runs_give_equal_output() {
    for file in [
        "srad.sm_61.cubin",
        "recursion.sm_61.cubin",
        "function_pointer.sm_61.cubin",
    ] {
        let arguments = ["bound", file, "--loop-default", "10", "--format", "json"];
        let json = || run(&arguments).done();
        assert_eq!(json(), json(), "{file}");
        assert!(!json().contains("cfg_seconds"), "{file}");
        let timed = run(&[&arguments[..], &["--timing"]].concat()).done();
        let (times, rest): (Vec<&str>, Vec<&str>) = timed
            .lines()
            .partition(|line| line.contains("\"cfg_seconds\": "));
        assert!(!times.is_empty(), "{file}");
        let without = |line: &str| line.trim_end_matches(',').to_owned();
        let rest: Vec<String> = rest.into_iter().map(without).collect();
        let json: Vec<String> = json().lines().map(without).collect();
        assert_eq!(rest, json, "{file}");
        let text = || run(&["bound", file, "--loop-default", "10"]).done();
        assert_eq!(text(), text(), "{file}");
    }
}

#[test]
fn several_kernels_begin_with_a_table() {
    let text = run(&[
        "bound",
        "nested_loops.sm_61.cubin",
        "--no-derive",
        "--loop-default",
        "10",
    ])
    .done();
    let head = "nested_loops.sm_61.cubin: 3 kernels, 3 bounded\n  most instructions that a warp issues, \
                if every loop runs its header at most 10 times per entry:\n    at most  loops  kernel\n";
    let rest = text.strip_prefix(head).unwrap_or_else(|| panic!("{text}"));
    let (table, kernels) = rest.split_once("\n\n").expect("a table");
    assert!(kernels.starts_with("kernel nested_divergent "), "{kernels}");
    let names: Vec<&str> = table
        .lines()
        .filter_map(|line| line.split_whitespace().last())
        .collect();
    assert_eq!(
        names,
        ["nested_divergent", "nested_triangular", "nested_fixed"]
    );
    let one = run(&[
        "bound",
        "nested_loops.sm_61.cubin",
        "--kernel",
        "nested_fixed",
        "--no-derive",
        "--loop-default",
        "10",
    ]);
    let one = one.done();
    assert!(!one.contains("all kernels") && text.contains(one.trim_end()));
}

/// The template of `facts`, with numbers for `?`, makes `bound` succeed.
#[test]
fn facts_go_round() {
    for file in [
        "nested_loops.sm_61.cubin",
        "bitonic_sort.sm_61.cubin",
        "goto_flow.sm_61.cubin",
        "recursion.sm_61.cubin",
        "call_depth2.sm_61.cubin",
        "lud_diagonal.sm_62.cubin",
    ] {
        let empty = run(&["facts", file, "--no-derive"]).done();
        let unfilled = scratch(&format!("unfilled.{file}.toml"), &empty);
        let (code, report) = json(&[file, "--no-derive", "--facts", &unfilled]);
        assert_eq!(code, Some(2), "{file}: a ? is no bound");
        assert!(bounds(&report).iter().any(|(_, bound)| bound.is_none()));
        let (code, by_default) = json(&[
            file,
            "--no-derive",
            "--facts",
            &unfilled,
            "--loop-default",
            "7",
        ]);
        assert_eq!(code, Some(0), "{file}: --loop-default stands in for ?");

        let filled = empty.replace("bound = \"?\"", "bound = 7");
        assert_ne!(filled, empty);
        let filled = scratch(&format!("filled.{file}.toml"), filled);
        let (code, stated) = json(&[file, "--no-derive", "--facts", &filled]);
        assert_eq!(code, Some(0), "{file}");
        let (_, default) = json(&[file, "--no-derive", "--loop-default", "7"]);
        assert_eq!(bounds(&stated), bounds(&default), "{file}");
        assert_eq!(bounds(&by_default), bounds(&default), "{file}");
        for l in stated["kernels"]
            .as_array()
            .expect("kernels")
            .iter()
            .flat_map(|k| k["loops"].as_array())
        {
            assert!(l.iter().all(|l| l["origin"] == "facts" && l["bound"] == 7));
        }
        // Facts override the default.
        let (_, both) = json(&[
            file,
            "--no-derive",
            "--facts",
            &filled,
            "--loop-default",
            "1000",
        ]);
        assert_eq!(bounds(&both), bounds(&default), "{file}");
    }
}

/// The lines that `bound` prints are lines of the facts file.
#[test]
fn a_missing_fact_is_a_line_to_paste() {
    let arguments = [
        "bound",
        "nested_loops.sm_61.cubin",
        "--kernel",
        "nested_fixed",
        "--no-derive",
    ];
    let text = run(&arguments).without_bound();
    assert!(
        text.contains("\n  no bound: 2 loops have no bound\n"),
        "{text}"
    );
    let lines: Vec<&str> = text
        .lines()
        .map(str::trim)
        .filter(|line| line.ends_with("},"))
        .collect();
    assert_eq!(lines.len(), 2, "{text}");
    let facts = run(&["facts", "nested_loops.sm_61.cubin", "--no-derive"]).done();
    // The lines of `facts` have fingerprints in addition.
    let keys = |line: &&str| line.trim_end_matches(" },").to_owned() + ",";
    assert!(
        lines.iter().all(|line| facts.contains(&keys(line))),
        "{facts}"
    );

    let (_, report) = json(&arguments[1..]);
    let kernel = &report["kernels"][0];
    let missing: Vec<&str> = kernel["missing_facts"]
        .as_array()
        .expect("lines")
        .iter()
        .filter_map(Value::as_str)
        .collect();
    assert_eq!(missing, lines);
    let pasted = format!(
        "[[kernel]]\nname = {}\ncode = {}\nloops = [\n{}\n]\n",
        kernel["symbol"],
        kernel["code"],
        lines.join("\n").replace("\"?\"", "4")
    );
    let facts = scratch("pasted.toml", pasted);
    let text = run(&[&arguments[..], &["--facts", &facts]].concat()).done();
    assert!(
        text.contains("facts file") && !text.contains("missing"),
        "{text}"
    );

    // One loop stated, the other still missing.
    let (_, half) = facts_of_first_loop(kernel, lines[0]);
    let message = run(&[&arguments[..], &["--facts", &half]].concat()).without_bound();
    assert!(
        message.contains("no bound: 1 loop has no bound"),
        "{message}"
    );
    assert!(
        message.contains(lines[1]) && !message.contains(lines[0]),
        "{message}"
    );
}

fn facts_of_first_loop(kernel: &Value, line: &str) -> (String, String) {
    let text = format!(
        "[[kernel]]\nname = {}\ncode = {}\nloops = [ {} ]\n",
        kernel["name"],
        kernel["code"],
        line.replace("\"?\"", "4")
    );
    let path = scratch("half.toml", &text);
    (text, path)
}

#[test]
fn a_function_outside_the_file_needs_a_cost() {
    let file = "external_call.sm_61.cubin";
    let arguments = ["bound", file, "--kernel", "external_call"];
    let text = run(&arguments).without_bound();
    assert!(
        text.contains("call of vprintf, whose cost is unknown"),
        "{text}"
    );
    let line = "{ name = \"vprintf\", instructions = \"?\" },";
    assert!(text.contains(line), "{text}");
    let facts = run(&["facts", file, "--kernel", "external_call"]).done();
    assert!(facts.contains(line), "{facts}");

    let with_cost = |cost: &str| {
        let facts = facts.replace("\"?\"", cost);
        let facts = scratch(&format!("vprintf.{cost}.toml"), facts);
        json(&[&arguments[1..], &["--facts", &facts]].concat())
    };
    let (code, without_cost) = with_cost("0");
    assert_eq!(code, Some(0));
    let (_, with_400) = with_cost("400");
    let bound = |report: &Value| report["kernels"][0]["bound"].as_u64().expect("a bound");
    // The call follows a divergent branch: once per warp.
    assert_eq!(bound(&with_400) - bound(&without_cost), 400);
    let assumptions = with_400["kernels"][0]["assumptions"].to_string();
    assert!(
        assumptions.contains("each call of vprintf issues at most 400 instructions"),
        "{assumptions}"
    );
    // A `?` is no cost.
    let facts = scratch("vprintf.unknown.toml", &facts);
    let message = run(&[&arguments[..], &["--facts", &facts]].concat()).without_bound();
    assert!(message.contains(line), "{message}");
}

/// A function pointer that the host passes is a call with a cost; where each lane has its own pointer, the warp
/// issues as many callees as it has lanes.
#[test]
fn an_unknown_callee_needs_a_cost() {
    let file = "callback.sm_61.cubin";
    let text = run(&["bound", file, "--kernel", "callback_apart"]).without_bound();
    assert!(
        text.contains("call of unknown callee at 0x00b8, whose cost is unknown"),
        "{text}"
    );
    let bound = |kernel: &str, more: &[&str], cost: &str| {
        let kernel = [
            file,
            "--kernel",
            kernel,
            "--loop-default",
            "10",
            "--call-default",
            cost,
        ];
        let (code, report) = json(&[&kernel[..], more].concat());
        assert_eq!(code, Some(0));
        report["kernels"][0]["bound"].as_u64().expect("a bound")
    };
    let apart =
        |more: &[&str]| bound("callback_apart", more, "100") - bound("callback_apart", more, "0");
    assert_eq!(apart(&[]), 32 * 100);
    assert_eq!(apart(&["--block", "8"]), 8 * 100);
    // The pointer is a parameter, so all lanes call the same function.
    let calls = |cost: &str| bound("callback", &[], cost) - bound("callback", &[], "0");
    let together = calls("100");
    assert_eq!(together % 100, 0);
    let off = ["--agreement", "off"];
    let calls = bound("callback", &off, "100") - bound("callback", &off, "0");
    assert_eq!(calls % 3200, 0);
    // A fact overrides the default.
    let facts = run(&["facts", file, "--kernel", "callback_apart"]).done();
    let facts = scratch("callback.toml", facts.replace("\"?\"", "7"));
    let stated = bound("callback_apart", &["--facts", &facts], "100");
    assert_eq!(stated - bound("callback_apart", &[], "0"), 32 * 7);
}

/// With stated costs, all kernels with calls outside the file are bounded.
#[test]
fn all_functions_outside_the_file_with_costs() {
    let file = "external_call.sm_62.cubin";
    let facts = run(&["facts", file]).done();
    assert_eq!(facts.matches("instructions = \"?\"").count(), 2, "{facts}");
    let facts = scratch("outside.toml", facts.replace("\"?\"", "1000"));
    let (code, report) = json(&[file, "--facts", &facts]);
    assert_eq!(code, Some(0));
    assert!(
        bounds(&report)
            .iter()
            .all(|(_, bound)| bound.is_some_and(|n| n > 1000))
    );
}

#[test]
fn an_infinite_loop_is_refused_by_name() {
    let arguments = ["bound", "infinite_loop.sm_61.cubin", "--loop-default", "10"];
    let text = run(&arguments).without_bound();
    for (kernel, at) in [("infinite_for_some", "0x0078"), ("infinite_loop", "0x0008")] {
        let head = format!(
            "kernel {kernel}  (infinite_loop.sm_61.cubin, sm_61)\n  no bound: {at} (infinite_loop.cu:"
        );
        assert!(text.contains(&head), "{text}");
        let facts = run(&["facts", "infinite_loop.sm_61.cubin", "--kernel", kernel]).done();
        let note = format!("\n# kernel {kernel} is refused: {at}: infinite loop");
        assert!(facts.contains(&note), "{facts}");
    }
    assert!(
        text.contains("infinite loop: no instruction reachable from here exits the kernel"),
        "{text}"
    );
}

#[test]
fn a_block_narrows_the_bound() {
    let bound = |block: &[&str]| {
        let (code, report) = json(
            &[
                &[
                    "recursion.sm_61.cubin",
                    "--kernel",
                    "recursion",
                    "--loop-default",
                    "10",
                ],
                block,
            ]
            .concat(),
        );
        assert_eq!(code, Some(0));
        let kernel = &report["kernels"][0];
        (
            kernel["lanes"].as_u64().expect("lanes"),
            kernel["bound"].as_u64().expect("a bound"),
        )
    };
    let unknown = bound(&[]);
    assert_eq!(unknown.0, 32);
    assert_eq!(bound(&["--block", "256"]), unknown);
    assert_eq!(bound(&["--block", "8,8,4"]), unknown);
    let four = bound(&["--block", "2,2"]);
    let one = bound(&["--block", "1"]);
    assert_eq!((four.0, one.0), (4, 1));
    assert!(
        one.1 < four.1 && four.1 < unknown.1,
        "{one:?} {four:?} {unknown:?}"
    );
}

#[test]
fn readings_of_a_fact() {
    let bound = |kernel: &str, file: &str, flow: &str| {
        let (code, report) = json(&[
            file,
            "--kernel",
            kernel,
            "--no-derive",
            "--loop-default",
            "10",
            "--flow",
            flow,
        ]);
        assert_eq!(code, Some(0));
        let kernel = &report["kernels"][0];
        let assumed = kernel["assumptions"].to_string().contains("paper-flow");
        assert_eq!(assumed, flow == "paper");
        kernel["bound"].as_u64().expect("a bound")
    };
    // Lanes that iterate in lockstep: the readings agree. 10 and 10 * 10 header executions.
    let (kernel, file) = ("nested_fixed", "nested_loops.sm_61.cubin");
    assert_eq!(bound(kernel, file, "simt"), bound(kernel, file, "paper"));
    // Lanes that recurse separately: the paper's reading misses that each does so.
    let (kernel, file) = ("recursion", "recursion.sm_61.cubin");
    assert!(bound(kernel, file, "simt") > bound(kernel, file, "paper"));
}
