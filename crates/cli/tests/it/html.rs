//! `--format html`: what pages have, without a browser; `cargo xtask html-check` opens them in one.

use std::collections::BTreeSet;

use crate::support::run;

const LAUNCH: [&str; 7] = [
    "--cost",
    "cycles",
    "--machine",
    "jetson-tx2",
    "--launch",
    "../launches/transpose.transpose.1.toml",
    "--format",
];

/// Returns the page and the JSON report of a file.
fn page_and_report(file: &str, options: &[&str]) -> (String, String) {
    let of = |format: &[&str]| run(&[&["bound", file][..], options, format].concat());
    let (page, report) = (of(&["html"]), of(&["json", "--machine-code"]));
    assert_eq!(page.code, report.code, "{}", page.stderr);
    (page.stdout, report.stdout)
}

const DIFF: [&str; 4] = [
    "diff",
    "../rebuilt/pressure.base.cubin",
    "../rebuilt/pressure.spill.cubin",
    "--cycles",
];

const RUN: [&str; 5] = [
    "run",
    "transpose.sm_62.cubin",
    "--launch",
    "../launches/transpose.transpose.1.toml",
    "--stats",
];

const GAP: [&str; 8] = [
    "gap",
    "matmul_int.sm_61.cubin",
    "--launch",
    "../cuda/matmul_int.8x8.toml",
    "--seeds",
    "1",
    "--contents",
    "1",
];

/// Returns the page and the text of the JSON report of a command.
fn page_and_text(command: &[&str]) -> (String, String) {
    let of = |format: &str| run(&[command, &["--format", format]].concat()).done();
    (of("html"), of("json"))
}

/// Returns the page and the JSON report of a command.
fn page_and_json(command: &[&str]) -> (String, serde_json::Value) {
    let (page, report) = page_and_text(command);
    (page, serde_json::from_str(&report).expect("JSON"))
}

/// Returns the texts between tags, without style and script.
fn texts(page: &str) -> Vec<String> {
    let (_, main) = page.split_once("<main>").expect("the content");
    let (main, _) = main.split_once("</main>").expect("its end");
    let after_tags = main.split('<').skip(1);
    after_tags
        .filter_map(|part| Some(part.split_once('>')?.1))
        .map(|text| text.replace("&lt;", "<").replace("&gt;", ">"))
        .map(|text| text.replace("&quot;", "\"").replace("&amp;", "&"))
        .collect()
}

/// Returns the decimal and hexadecimal numbers that stand alone in a text.
fn numbers(text: &str) -> BTreeSet<String> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
    let words = text
        .split(|c| !is_word(c))
        .map(|word| word.trim_matches('.'));
    let is_number = |word: &&str| match word.strip_prefix("0x") {
        Some(digits) => digits.chars().all(|c| c.is_ascii_hexdigit()),
        None => !word.is_empty() && word.chars().all(|c| c.is_ascii_digit() || c == '.'),
    };
    words.filter(is_number).map(str::to_owned).collect()
}

#[test]
fn every_number_of_a_page_is_in_the_report() {
    let files: [(&str, &[&str]); 4] = [
        ("transpose.sm_62.cubin", &LAUNCH),
        (
            "break_loop.sm_61.cubin",
            &["--loop-default", "10", "--format"],
        ),
        ("call_depth2.sm_61.cubin", &["--format"]),
        ("nested_loops.gfx803.co", &["--format"]),
    ];
    for (file, options) in files {
        let (page, report) = page_and_report(file, options);
        let known = numbers(&report);
        let shown = numbers(&texts(&page).join("\n"));
        assert!(shown.len() > 20, "{file}: {}", shown.len());
        let unknown: Vec<_> = shown.difference(&known).collect();
        assert!(unknown.is_empty(), "{file}: {unknown:?}");
    }
}

/// Pages of comparisons, of runs with time on both families of machines and without, and of gap breakdowns.
#[test]
fn every_number_of_other_pages_is_in_the_report() {
    let waves = [
        "run",
        "nested_loops.gfx803.co",
        "--launch",
        "../launches/nested_loops.nested_divergent.1.toml",
        "--splits",
        "1",
    ];
    let functional = [&RUN[..], &["--functional"]].concat();
    let set = ["--sensitivities", "--set", "shared.latency=30"];
    let sensitive = [&RUN[..], &set].concat();
    for command in [&DIFF[..], &RUN, &waves, &functional, &sensitive, &GAP] {
        let (page, report) = page_and_text(command);
        let known = numbers(&report);
        let shown = numbers(&texts(&page).join("\n"));
        assert!(shown.len() > 10, "{command:?}: {}", shown.len());
        let unknown: Vec<_> = shown.difference(&known).collect();
        assert!(unknown.is_empty(), "{command:?}: {unknown:?}");
    }
}

#[test]
fn a_page_needs_nothing_else() {
    let (bound, _) = page_and_report("transpose.sm_62.cubin", &LAUNCH);
    let others = [&DIFF[..], &RUN, &GAP].map(|command| page_and_json(command).0);
    for page in others.into_iter().chain([bound]) {
        assert!(page.starts_with("<!DOCTYPE html>\n"), "{page}");
        // The name of a namespace is no request.
        let page = page.replace("http://www.w3.org/2000/svg", "");
        for request in ["http", " src=", "<link", "@import", "url(//"] {
            assert!(!page.contains(request), "{request}");
        }
    }
}

/// Returns a list of a report.
fn list(value: &serde_json::Value) -> &[serde_json::Value] {
    value.as_array().expect("a list")
}

/// Whether a text stands alone in a page.
fn has(texts: &[String], wanted: &str) -> bool {
    texts.iter().any(|own| own.trim() == wanted)
}

#[test]
fn a_page_of_a_comparison_names_figures_loops_and_lines() {
    let (page, report) = page_and_json(&DIFF);
    let texts = texts(&page);
    let kernel = &report["kernels"][0];
    assert!(list(&kernel["figures"]).len() > 3, "{kernel}");
    for figure in list(&kernel["figures"]) {
        let name = figure["figure"].as_str().expect("a name");
        assert!(has(&texts, name), "{name}");
        let change = figure["change"].as_i64().expect("a change");
        let [old, new] = ["old", "new"].map(|side| figure[side].as_i64().expect("a number"));
        assert_eq!(change, new - old, "{figure}");
        assert!(has(&texts, &format!("{change:+}")), "{figure}");
        if let Some(line) = figure["place"]["source"].as_str() {
            assert!(texts.iter().any(|own| own.starts_with(line)), "{line}");
        }
    }
    for line in list(&kernel["lines"]) {
        let name = line["new_line"].as_str().or(line["old_line"].as_str());
        assert!(has(&texts, name.expect("a line")), "{line}");
    }
    let (page, report) = page_and_json(&[
        "diff",
        "../rebuilt/pressure.base.cubin",
        "../rebuilt/pressure.iteration.cubin",
    ]);
    let own = &report["kernels"][0]["loops"][0];
    let iterations = |side: &str| format!("{} per entry (derived)", own[side]["bound"]);
    for side in ["old", "new"] {
        assert!(page.contains(&iterations(side)), "{own}");
    }
}

#[test]
fn a_folder_of_a_comparison_has_an_index() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = format!("{}/pages/", folder.path().display());
    let command = [&DIFF[..], &["--format", "html", "--output", &output]].concat();
    run(&command).done();
    let read = |name: &str| std::fs::read_to_string(format!("{output}{name}")).expect(name);
    assert!(read("index.html").contains("href=\"kernels-1.html#k0\""));
    assert!(read("kernels-1.html").contains("id=\"k0\""));
}

#[test]
fn a_page_of_a_run_has_stalls_lines_and_machine_code() {
    let (page, report) = page_and_json(&RUN);
    let texts = texts(&page);
    for (name, cycles) in report["stalls"].as_object().expect("reasons") {
        let name = name.replace('_', " ");
        assert!(*cycles == 0 || has(&texts, &name), "{name}");
        assert!(*cycles == 0 || has(&texts, &cycles.to_string()), "{name}");
    }
    for line in list(&report["lines"]) {
        assert!(has(&texts, line["source"].as_str().expect("a line")));
    }
    let instructions = list(&report["instructions"]);
    assert!(instructions.len() > 20, "{}", instructions.len());
    for instruction in instructions {
        for key in ["address", "text"] {
            assert!(has(&texts, instruction[key].as_str().expect(key)));
        }
        for key in ["warp_instructions", "thread_instructions", "warp_cycles"] {
            assert!(has(&texts, &instruction[key].to_string()), "{instruction}");
        }
    }
    // Lanes of the instructions are those of the whole run.
    let lanes = |rows: &str| -> u64 {
        let lanes = list(&report[rows])
            .iter()
            .map(|row| &row["thread_instructions"]);
        lanes.map(|lanes| lanes.as_u64().expect("lanes")).sum()
    };
    for rows in ["instructions", "lines"] {
        assert_eq!(Some(lanes(rows)), report["thread_instructions"].as_u64());
    }
}

#[test]
fn a_page_of_a_gap_has_the_whole_chain() {
    let (page, report) = page_and_json(&GAP);
    let texts = texts(&page);
    for element in list(&report["chain"]) {
        assert!(has(&texts, element["name"].as_str().expect("a name")));
        assert!(has(&texts, &element["value"].to_string()), "{element}");
    }
    for share in list(&report["shares"]) {
        assert!(has(&texts, &share["telescoped"].to_string()), "{share}");
    }
}

#[test]
fn runs_without_pages_are_named() {
    let mini = "../msimt/triangle_sum.msimt";
    let launch = "../msimt/triangle_sum.16x4.toml";
    let refused = run(&["run", mini, "--launch", launch, "--format", "html"]).usage();
    assert!(refused.contains("mini-SIMT"), "{refused}");
}

#[test]
fn a_page_has_the_bound_its_sum_path_loops_and_assumptions() {
    let (page, report) = page_and_report("transpose.sm_62.cubin", &LAUNCH);
    let texts = texts(&page);
    let report: serde_json::Value = serde_json::from_str(&report).expect("JSON");
    let kernel = &report["kernels"][0];
    let has = |text: &str| texts.iter().any(|own| own.trim() == text);
    for term in kernel["cycles"]["terms"].as_array().expect("terms") {
        let is_zero = term["cycles"] == 0;
        assert!(
            is_zero || has(term["name"].as_str().expect("a name")),
            "{term}"
        );
    }
    let lists = [&kernel["assumptions"], &kernel["cycles"]["assumptions"]];
    for assumption in lists
        .into_iter()
        .flat_map(|l| l.as_array().expect("a list"))
    {
        assert!(
            has(assumption["text"].as_str().expect("a text")),
            "{assumption}"
        );
    }
    let code = kernel["machine_code"]["instructions"]
        .as_array()
        .expect("code");
    assert!(code.len() > 40, "{}", code.len());
    for instruction in code {
        assert!(
            has(instruction["text"].as_str().expect("a text")),
            "{instruction}"
        );
        assert!(
            has(instruction["at"].as_str().expect("an address")),
            "{instruction}"
        );
    }
    // Each block of the worst path runs all of its instructions as often as it runs.
    for block in kernel["worst_path"].as_array().expect("blocks") {
        let first = code
            .iter()
            .find(|own| own["at"] == block["from"])
            .expect("its code");
        assert_eq!(first["executions"], block["count"], "{block}");
    }
}

#[test]
fn a_folder_has_an_index_with_links_to_all_kernels() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = format!("{}/pages/", folder.path().display());
    let file = "rates.sm_50.cubin";
    let done = run(&["bound", file, "--format", "html", "--output", &output]);
    assert!(
        done.code.is_some_and(|code| code == 0 || code == 2),
        "{}",
        done.stderr
    );
    let read = |name: &str| std::fs::read_to_string(format!("{output}{name}")).expect(name);
    let (index, shard) = (read("index.html"), read("kernels-1.html"));
    let links: Vec<&str> = index
        .split("href=\"kernels-1.html#")
        .skip(1)
        .filter_map(|rest| rest.split('"').next())
        .collect();
    assert_eq!(links.len(), 31, "{index}");
    for link in links {
        assert_eq!(
            shard.matches(&format!("id=\"{link}\"")).count(),
            1,
            "{link}"
        );
    }
}

#[test]
fn names_with_brackets_are_text() {
    let file = "bitonic_sort.sm_61.cubin";
    let (page, _) = page_and_report(file, &["--loop-default", "10", "--format"]);
    assert!(
        page.contains("<h2>void bitonic::block&lt;int&gt;(int*)</h2>"),
        "{page}"
    );
    assert!(!page.contains("block<int>"), "{page}");
}

#[test]
fn source_lines_are_shown_between_the_code() {
    let options = [&LAUNCH[..6], &["--sources", "../cuda", "--format"]].concat();
    let (page, report) = page_and_report("transpose.sm_62.cubin", &options);
    let source = std::fs::read_to_string("../../kernels/cuda/transpose.cu").expect("the source");
    let report: serde_json::Value = serde_json::from_str(&report).expect("JSON");
    let code = report["kernels"][0]["machine_code"]["instructions"]
        .as_array()
        .expect("code");
    let mut shown = 0;
    for instruction in code {
        let Some(line) = instruction["source"].as_str() else {
            assert!(instruction["source_text"].is_null(), "{instruction}");
            continue;
        };
        let number: usize = line
            .rsplit(':')
            .next()
            .and_then(|n| n.parse().ok())
            .expect(line);
        let text = source.lines().nth(number - 1).expect(line).trim();
        assert_eq!(instruction["source_text"], text);
        assert!(texts(&page).iter().any(|own| own.contains(text)), "{text}");
        shown += 1;
    }
    assert!(shown > 8, "{shown}");
}

#[test]
fn source_files_that_are_missing_are_named() {
    let file = "transpose.sm_62.cubin";
    let done = run(&["bound", file, "--sources", ".", "--format", "html"]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    assert!(
        done.stderr.contains("transpose.cu cannot be read"),
        "{}",
        done.stderr
    );
}
