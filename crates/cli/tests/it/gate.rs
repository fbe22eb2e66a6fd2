//! `gate`: limits that are exceeded are named with the line of the budget and of the source.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::Value;

use crate::support::{CommandOutput, built, run, scratch};

const BASE: &str = "../rebuilt/pressure.base.cubin";

/// Checks a build in `kernels/rebuilt` against a budget.
fn gate(test: &str, file: &str, budget: &str, more: &[&str]) -> CommandOutput {
    let budget = scratch(&format!("gate.{test}.toml"), budget);
    let mut arguments = vec!["gate", file, "--budget", &budget];
    arguments.extend(more);
    run(&arguments)
}

/// Budget of the base build: its own figures.
fn own_budget(test: &str) -> String {
    let path = scratch(
        &format!("gate.{test}.own.toml"),
        "# Budget.\n[conditions]\narch = \"sm_61\"\n",
    );
    run(&["gate", BASE, "--budget", &path, "--update"]).done();
    std::fs::read_to_string(path).expect("the budget")
}

/// Each planted change breaks the limit of its figure, with both lines; the base build is within its own budget.
#[test]
fn planted_changes_are_over_budget() {
    let own = own_budget("planted");
    let line_of = |key: &str| {
        let at = own
            .lines()
            .position(|line| line.starts_with(&format!("{key} = ")));
        at.unwrap_or_else(|| panic!("no {key} in {own}")) + 1
    };
    let passed = gate("planted.base", BASE, &own, &[]).done();
    assert!(passed.contains("0 over budget, 0 not proved"), "{passed}");
    let cases = [
        ("iteration", "bound", "pressure.cu:"),
        ("register", "registers", "pressure.cu:"),
        ("register", "occupancy", "pressure.cu:"),
        ("spill", "spills", "pressure.cu:"),
        ("register", "code_bytes", "pressure.cu:"),
    ];
    for (build, figure, source) in cases {
        let file = format!("../rebuilt/pressure.{build}.cubin");
        let result = gate(&format!("planted.{build}"), &file, &own, &[]);
        assert_eq!(
            (result.code, result.stderr.as_str()),
            (Some(1), ""),
            "{build}"
        );
        let line = line_of(figure);
        let lines: Vec<&str> = result.stdout.lines().collect();
        let found = lines.iter().position(|text| {
            text.contains(&format!(".toml:{line}: ")) && text.contains(&format!(": {figure} is "))
        });
        let at = found.unwrap_or_else(|| panic!("{build} {figure}: {}", result.stdout));
        assert!(
            lines[at + 1].trim_start().starts_with(source),
            "{}",
            lines[at + 1]
        );
        assert!(lines[at + 2].contains("--update"), "{}", lines[at + 2]);
    }
    // What passes is not listed.
    let result = gate(
        "planted.other",
        "../rebuilt/pressure.iteration.cubin",
        &own,
        &[],
    );
    assert!(!result.stdout.contains("registers is"), "{}", result.stdout);
}

/// Kernels with equal code are analysed once, but each is reported with its own lines.
#[test]
fn equal_kernels_have_their_own_lines() {
    let budget = "[[kernel]]\nname = \"*pressure*\"\nbound = 1\n";
    let budget = scratch("gate.equal.toml", budget);
    let other = "../rebuilt/pressure.renamed.cubin";
    let result = run(&["gate", BASE, other, "--budget", &budget, "--jobs", "1"]);
    assert_eq!((result.code, &*result.stderr), (Some(1), ""));
    let lines: Vec<&str> = result.stdout.lines().map(str::trim_start).collect();
    for source in ["pressure.cu:", "other.cu:"] {
        let named = lines.iter().filter(|line| line.starts_with(source));
        assert_eq!(named.count(), 1, "{source} {}", result.stdout);
    }
}

/// The limit itself is within the budget, one less is not; the tolerance is rounded down.
#[test]
fn limits_are_exact() {
    let row = |number: u64, tolerance: &str| {
        format!(
            "[[kernel]]\nname = \"*pressure*\"\ntolerance = \"{tolerance}\"\nregisters = {number}\n"
        )
    };
    gate("exact.32", BASE, &row(32, "0 %"), &[]).done();
    assert_eq!(gate("exact.31", BASE, &row(31, "0 %"), &[]).code, Some(1));
    // Registers have no tolerance.
    assert_eq!(
        gate("exact.tolerance", BASE, &row(31, "50 %"), &[]).code,
        Some(1)
    );
    let bound = |number: u64, tolerance: &str| {
        format!(
            "[[kernel]]\nname = \"*pressure*\"\ntolerance = \"{tolerance}\"\nbound = {number}\n"
        )
    };
    let report = gate("exact.bound", BASE, &bound(1, "0 %"), &["--format", "json"]);
    let report: Value = serde_json::from_str(&report.stdout).expect("JSON");
    let actual = report["kernels"][0]["checks"][0]["actual"]
        .as_u64()
        .expect("a number");
    gate("exact.same", BASE, &bound(actual, "0 %"), &[]).done();
    assert_eq!(
        gate("exact.less", BASE, &bound(actual - 1, "0 %"), &[]).code,
        Some(1)
    );
    gate("exact.tolerated", BASE, &bound(actual - 1, "1 %"), &[]).done();
    let occupancy =
        |number: u64| format!("[[kernel]]\nname = \"*pressure*\"\noccupancy = {number}\n");
    gate("exact.64", BASE, &occupancy(64), &[]).done();
    assert_eq!(gate("exact.65", BASE, &occupancy(65), &[]).code, Some(1));
}

/// The first row that states a figure decides it, whole names before patterns.
#[test]
fn whole_names_come_before_patterns() {
    let budget = "[[kernel]]\nname = \"*\"\nregisters = 1\nspills = 0\n\n[[kernel]]\n\
                  name = \"void pressure<1>(float const*, float*, int)\"\nregisters = 32\n";
    gate("order", BASE, budget, &[]).done();
    let other = budget.replace("registers = 32", "arch = \"sm_62\"");
    let result = gate("order.arch", BASE, &other, &[]);
    assert_eq!(result.code, Some(1));
    assert!(result.stdout.contains(":3: "), "{}", result.stdout);
}

/// Bounds that are not known are no pass.
#[test]
fn what_is_not_proved_is_named() {
    let budget = "[[kernel]]\nname = \"*\"\nbound = 100000\n";
    let result = gate("unproved", "bfs.sm_61.cubin", budget, &[]);
    assert_eq!((result.code, result.stderr.as_str()), (Some(2), ""));
    assert!(result.stdout.contains("is not proved"), "{}", result.stdout);
    assert!(
        result.stdout.contains("state the missing fact"),
        "{}",
        result.stdout
    );
    let budget = format!("[conditions]\nloop_default = 10\n\n{budget}assumptions = []\n");
    let result = gate("unproved.default", "bfs.sm_61.cubin", &budget, &[]);
    // Its assumptions are not allowed.
    assert_eq!(result.code, Some(1));
    assert!(result.stdout.contains("loop-default"), "{}", result.stdout);
    let result = gate("unproved.missing", "missing.cubin", &budget, &[]);
    assert!(result.refusal().contains("cannot be read"));
}

/// A limit that is exceeded is not hidden by another figure that is not proved, nor by a file that cannot be read.
#[test]
fn a_broken_budget_is_not_hidden() {
    let budget = "[[kernel]]\nname = \"*\"\nbound = 100000\nregisters = 1\n";
    let result = gate("hidden", "bfs.sm_61.cubin", budget, &[]);
    assert!(result.stdout.contains("is not proved"), "{}", result.stdout);
    assert!(result.stdout.contains("more than 1"), "{}", result.stdout);
    assert_eq!(result.code, Some(1));
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("gate.hidden");
    std::fs::create_dir_all(&folder).expect("a folder");
    let whole = built("bfs.sm_61.cubin");
    std::fs::write(folder.join("damaged.cubin"), &whole[..300]).expect("written");
    std::fs::write(folder.join("bfs.cubin"), whole).expect("written");
    let folder = folder.to_str().expect("a plain path");
    let both = gate("hidden.too", folder, budget, &[]);
    assert!(both.stderr.contains("damaged.cubin"), "{}", both.stderr);
    assert_eq!(both.code, Some(1), "{}", both.stderr);
    // `bound --limit` has the same order.
    let bound = [
        "bound",
        "bfs.sm_61.cubin",
        "--cost",
        "cycles",
        "--limit",
        "1",
    ];
    let some = ["--block", "64", "--machine", "gtx1080"];
    let result = run(&[&bound[..], &some].concat());
    assert_eq!(result.code, Some(1), "{}", result.stderr);
}

/// A row without a kernel is an error, unless it is optional; kernels without a row may be one.
#[test]
fn rows_and_kernels_fit() {
    let row = "[[kernel]]\nname = \"presure*\"\nregisters = 32\n";
    let result = gate("stale", BASE, row, &[]);
    assert_eq!(result.code, Some(1));
    assert!(
        result.stdout.contains(":1: no kernel matches \"presure*\""),
        "{}",
        result.stdout
    );
    gate(
        "stale.optional",
        BASE,
        &format!("{row}optional = true\n"),
        &[],
    )
    .done();
    let deny = format!("[conditions]\nuncovered = \"deny\"\n\n{row}optional = true\n");
    let result = gate("uncovered", BASE, &deny, &[]);
    assert_eq!(result.code, Some(1));
    assert!(result.stdout.contains("no row"), "{}", result.stdout);
}

/// Budgets that are not budgets are refused with the line.
#[test]
fn wrong_budgets_are_refused() {
    let cases = [
        (
            "[[kernel]]\nname = \"a\"\nregister = 1\n",
            "line 3",
            "\"register\" is no key here",
        ),
        (
            "[[kernel]]\nregisters = 1\n",
            "line 1",
            "the row has no name",
        ),
        (
            "[[kernel]]\nname = \"a\"\nbound = -1\n",
            "line 3",
            "bound must be a number",
        ),
        (
            "[conditions]\ntolerance = \"200 %\"\n",
            "line 2",
            "tolerance must be",
        ),
        ("[conditions]\narch = \"sm61\"\n", "line 2", "arch must be"),
        ("[kernels]\n", "line 1", "\"kernels\" is no key of a budget"),
        ("a = [\n", "line ", ""),
    ];
    for (number, (text, line, message)) in cases.iter().enumerate() {
        let refusal = gate(&format!("wrong.{number}"), BASE, text, &[]).refusal();
        assert!(
            refusal.contains(line) && refusal.contains(message),
            "{refusal}"
        );
    }
}

/// 4,000 rows with comments everywhere are updated in place: no other byte changes.
#[test]
fn an_update_keeps_comments() {
    let mut text = "# Head.\n\n[conditions] # Of all.\narch = \"sm_61\" # Pascal.\n".to_owned();
    for row in 0..4_000 {
        let _ = writeln!(
            text,
            "\n# Before row {row}.\n[[kernel]] # Head {row}.\nname = \"kernel_{row}\"   # Name.\noptional = true\n\
             registers   =  {row}   # Why {row}.\n# Between.\nspills = 0"
        );
    }
    let own = "\n# Ours.\n[[kernel]]\nname = \"*pressure*\" # All of them.\nregisters  = 99 # Loose.\nspills = 0 # None.\n\
               assumptions = [\n  \"undisturbed\", # Always.\n  \"loop-default\",\n]\n# The end.\n";
    text.push_str(own);
    let path = scratch("gate.update.toml", &text);
    let said = run(&["gate", BASE, "--budget", &path, "--update"]).done();
    assert!(said.contains("1 rows changed, 0 rows added"), "{said}");
    let updated = std::fs::read_to_string(&path).expect("the budget");
    assert!(
        !updated.contains("\"loop-default\""),
        "an assumption that is gone stays"
    );
    let comments = |text: &str| text.matches('#').count();
    assert_eq!(comments(&text), comments(&updated));
    // But for the assumptions, the text is the same with the new number.
    let (head, _) = text.split_once("assumptions").expect("assumptions");
    let head = head.replace("registers  = 99 # Loose.", "registers  = 32 # Loose.");
    assert!(updated.starts_with(&head));
    // A second update changes nothing, and the build is within its budget.
    run(&["gate", BASE, "--budget", &path, "--update"]).done();
    assert_eq!(updated, std::fs::read_to_string(&path).expect("the budget"));
    run(&["gate", BASE, "--budget", &path]).done();
}

/// JUnit has a case for each kernel, and SARIF a result with a place for each figure that did not pass.
#[test]
fn other_formats_are_written() {
    let own = own_budget("formats");
    let junit = scratch("gate.junit.xml", "");
    let sarif = scratch("gate.sarif", "");
    let file = "../rebuilt/pressure.register.cubin";
    let more = ["--junit", &junit, "--sarif", &sarif];
    let result = gate("formats", file, &own, &more);
    assert_eq!(result.code, Some(1));
    let text = std::fs::read_to_string(&junit).expect("JUnit");
    let document = roxmltree::Document::parse(&text).expect("XML");
    let cases: Vec<_> = document
        .descendants()
        .filter(|n| n.has_tag_name("testcase"))
        .collect();
    assert_eq!(cases.len(), 1);
    let failure = cases[0]
        .children()
        .find(|n| n.has_tag_name("failure"))
        .expect("a failure");
    assert!(
        failure
            .text()
            .is_some_and(|text| text.contains("registers is 40"))
    );
    let suite = document
        .descendants()
        .find(|n| n.has_tag_name("testsuite"))
        .expect("a suite");
    assert_eq!(suite.attribute("failures"), Some("1"));
    // Demanded by the schema of JUnit's Ant task, besides the attributes that say something.
    let demanded = ["id", "package", "name", "timestamp", "hostname", "time"];
    for attribute in demanded {
        assert!(suite.has_attribute(attribute), "{attribute}");
    }
    assert!(cases[0].has_attribute("time") && failure.has_attribute("type"));
    let parts: Vec<&str> = suite
        .children()
        .filter(|n| n.is_element())
        .map(|n| n.tag_name().name())
        .collect();
    assert_eq!(
        parts,
        ["properties", "testcase", "system-out", "system-err"]
    );
    let log: Value =
        serde_json::from_str(&std::fs::read_to_string(&sarif).expect("SARIF")).expect("JSON");
    assert_eq!(log["version"], "2.1.0");
    let results = log["runs"][0]["results"].as_array().expect("results");
    assert!(results.len() >= 3, "{log}");
    for result in results {
        let place = &result["locations"][0]["physicalLocation"];
        let uri = place["artifactLocation"]["uri"].as_str().expect("a place");
        assert!(uri.ends_with("kernels/rebuilt/pressure.cu"), "{uri}");
        assert!(
            place["region"]["startLine"]
                .as_u64()
                .is_some_and(|line| line > 0)
        );
        assert!(
            result["message"]["text"]
                .as_str()
                .is_some_and(|text| text.contains("--update"))
        );
        let related = &result["relatedLocations"][0]["physicalLocation"]["artifactLocation"];
        assert!(
            related["uri"]
                .as_str()
                .is_some_and(|uri| uri.ends_with(".toml"))
        );
    }
    // What passes has no result.
    let clean = scratch("gate.clean.sarif", "");
    gate("formats.clean", BASE, &own, &["--sarif", &clean]).done();
    let log: Value =
        serde_json::from_str(&std::fs::read_to_string(&clean).expect("SARIF")).expect("JSON");
    assert_eq!(log["runs"][0]["results"], serde_json::json!([]));
}
