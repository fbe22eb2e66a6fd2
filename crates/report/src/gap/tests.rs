use super::*;

/// Gap breakdown with the given chain values, from the bound to the worst simulated run.
fn gap(values: [u64; 8]) -> GapReport {
    let chain: Vec<ChainValue> = GapReport::CHAIN
        .into_iter()
        .zip(values)
        .map(|(name, value)| ChainValue { name, value })
        .collect();
    let shares = chain.windows(2).map(|pair| GapShare {
        name: pair[1].name,
        telescoped: i128::from(pair[0].value) - i128::from(pair[1].value),
        alone: Some(7),
    });
    let mut shares: Vec<GapShare> = shares.collect();
    shares[6].alone = None;
    GapReport {
        worst_simulated: values[7],
        worst_run: "selection slow, scheduler lrr, contents 3, larger part first".to_owned(),
        runs: 5040,
        bound: values[0],
        launch_overhead: 5000,
        chain,
        shares,
        notes: vec!["the seeds are 1 to 20".to_owned()],
        ..GapReport::empty(
            "a.cubin".to_owned(),
            "void sum<int>(int const*, int)".to_owned(),
            "gtx1080".to_owned(),
            "any",
        )
    }
}

const VALUES: [u64; 8] = [6388, 6300, 6300, 6260, 6230, 6205, 6200, 6200];

#[test]
fn text_has_the_chain_and_the_parts_of_the_gap() {
    assert_eq!(
        gap(VALUES).text(),
        "kernel void sum<int>(int const*, int)  (a.cubin, machine gtx1080, caches any)
  a warp that runs alone takes at most 6388 cycles, and 6200 in the worst of 5040 simulated runs; ratio 1.157 without the launch overhead of 5000 in both
  worst run: selection slow, scheduler lrr, contents 3, larger part first

    as in the worst run  cycles  less by  of the gap  alone
    bound                  6388
    loops                  6300       88      46.8 %      7
    paths                  6300        0       0.0 %      7
    addresses              6260       40      21.3 %      7
    hits and misses        6230       30      16.0 %      7
    machine numbers        6205       25      13.3 %      7
    replay                 6200        5       2.7 %      7
    worst simulated        6200        0       0.0 %

  note: the seeds are 1 to 20
"
    );
}

/// A launch has the sum that its last element consists of, and what is left of it without each resource.
#[test]
fn text_of_a_launch_has_its_composition() {
    let mut report = gap(VALUES);
    report.scope = "grid";
    report.chain[6].name = "composition";
    report.shares[5].name = "composition";
    let part = |name, cycles| CompositionPart { name, cycles };
    report.composition = vec![
        part("launch overhead", 5000),
        part("warps one after the other", 1200),
        part("DRAM refresh", 0),
    ];
    let share = |name, cycles: u64| ResourceShare {
        name,
        without: 6200 - cycles,
        cycles: cycles.into(),
    };
    report.resources = vec![share("units", 150), share("DRAM", 0)];
    let text = report.text();
    let tables = "
    composition                cycles
    launch overhead              5000
    warps one after the other    1200

    composition without  cycles  less by
    units                  6050      150
";
    assert!(text.contains("the launch takes at most 6388"), "{text}");
    assert!(text.contains(tables), "{text}");
}

/// The keys of the interface, in order.
#[test]
fn json_has_the_keys_of_the_schema() {
    let json: serde_json::Value =
        serde_json::from_str(&crate::to_json(&gap(VALUES))).expect("a document");
    assert_eq!(json["schema"], "warpbound.sandwich/1");
    let mut keys: Vec<&str> = json
        .as_object()
        .expect("an object")
        .keys()
        .map(String::as_str)
        .collect();
    keys.sort_unstable();
    let mut expected = [
        "schema",
        "file",
        "kernel",
        "machine",
        "caches",
        "scope",
        "unknown_addresses",
        "worst_simulated",
        "worst_run",
        "runs",
        "bound",
        "launch_overhead",
        "chain",
        "shares",
        "composition",
        "resources",
        "accesses",
        "notes",
    ];
    expected.sort_unstable();
    assert_eq!(keys, expected);
    assert_eq!(json["worst_simulated"], 6200);
    assert_eq!(
        json["chain"][0],
        serde_json::json!({"name": "bound", "value": 6388})
    );
    let last = serde_json::json!({"name": "worst simulated", "telescoped": 0, "alone": null});
    assert_eq!(json["shares"][6], last);
    // The parts add up to the gap.
    let parts = json["shares"].as_array().expect("a list").iter();
    let sum: i64 = parts
        .map(|share| share["telescoped"].as_i64().expect("cycles"))
        .sum();
    assert_eq!(sum, 188);
}

/// An inverted chain is not hidden: text names the element, and the drawing has a step up.
#[test]
fn inverted_chain_is_named() {
    let sound = gap(VALUES);
    assert_eq!(sound.inversion(), None);
    assert!(!sound.svg().contains("class=\"inverted\""));
    let inverted = gap([6388, 6300, 6310, 6260, 6230, 6205, 6200, 6200]);
    assert_eq!(inverted.inversion(), Some("paths"));
    assert!(inverted.text().contains("inverts at \"paths\""));
    assert!(inverted.text().contains("-10"));
    assert!(inverted.svg().contains("class=\"inverted\""));
    assert!(inverted.svg().contains(">+10<"));
    let exceeded = gap([6388, 6300, 6300, 6260, 6230, 6205, 6200, 6201]);
    assert_eq!(exceeded.inversion(), Some("worst simulated"));
    assert!(exceeded.svg().contains(">rest<"));
}

/// A bound that a run exceeds has a ratio below 1.
#[test]
fn exceeded_bound_has_a_ratio_below_one() {
    let exceeded = gap([6000, 6000, 6000, 6000, 6000, 6000, 6000, 6200]);
    assert!(exceeded.ratio().is_some_and(|ratio| ratio < 1.0));
    assert_eq!(exceeded.gap(), -200);
    assert_eq!(exceeded.inversion(), Some("worst simulated"));
}

/// Checks that elements are closed in order, and that no text has a character that XML reserves.
fn assert_well_formed(svg: &str) {
    let mut open: Vec<&str> = Vec::new();
    for part in svg.split('<').skip(1) {
        let (tag, text) = part.split_once('>').expect("a tag ends");
        assert!(!text.contains('>'), "{text}");
        for entity in text.split('&').skip(1) {
            assert!(
                ["amp;", "lt;", "gt;"]
                    .iter()
                    .any(|name| entity.starts_with(name)),
                "{text}"
            );
        }
        assert!(
            !text.chars().any(|c| c.is_control() && c != '\n'),
            "{text:?}"
        );
        assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name));
        } else if !tag.ends_with('/') {
            open.push(tag.split(' ').next().unwrap_or_default());
        }
    }
    assert!(open.is_empty(), "{open:?}");
}

/// Values of an attribute.
fn attributes(svg: &str, key: &str) -> Vec<f64> {
    let attribute = format!(" {key}=\"");
    let rest = svg.split(attribute.as_str()).skip(1);
    rest.filter_map(|rest| rest.split('"').next()?.parse().ok())
        .collect()
}

#[test]
fn waterfall_is_well_formed_and_inside_the_page() {
    let largest = [u64::MAX, u64::MAX, u64::MAX - 1, 3, 2, 2, 1, 0];
    let rising = [0, 1, 2, 3, 4, 5, 6, u64::MAX];
    for values in [
        VALUES,
        [1; 8],
        [0; 8],
        largest,
        rising,
        [900, 400, 300, 90, 80, 70, 60, 50],
    ] {
        let mut report = gap(values);
        let svg = report.svg();
        assert_well_formed(&svg);
        assert_eq!(svg, report.svg());
        let page = attributes(&svg, "height")[0];
        for key in ["y", "y1", "y2"] {
            assert!(
                attributes(&svg, key)
                    .iter()
                    .all(|&y| (0.0..=page).contains(&y)),
                "{key}: {svg}"
            );
        }
        let width = attributes(&svg, "width")[0];
        for key in ["x", "x1", "x2"] {
            assert!(
                attributes(&svg, key)
                    .iter()
                    .all(|&x| (0.0..=width).contains(&x)),
                "{key}: {svg}"
            );
        }
        report.kernel = "<&\">\u{1}k".repeat(60);
        report.chain.clear();
        report.shares.clear();
        assert_well_formed(&report.svg());
        let _ = report.text();
    }
}

/// The bars have the values of the chain as labels, and heights in proportion.
#[test]
fn waterfall_shows_every_step() {
    let svg = gap([900, 400, 300, 90, 80, 70, 60, 60]).svg();
    for label in [
        "900",
        "\u{2212}500",
        "\u{2212}100",
        "\u{2212}210",
        "\u{2212}10",
        "60",
    ] {
        assert!(svg.contains(&format!(">{label}<")), "{label}: {svg}");
    }
    let heights: Vec<f64> = svg
        .lines()
        .filter(|line| line.starts_with("<rect x="))
        .flat_map(|line| attributes(line, "height"))
        .collect();
    // The axis is from 0 to 1000 in 300 pixels: the bound, six steps, the run.
    let expected = [270.0, 150.0, 30.0, 63.0, 3.0, 3.0, 3.0, 18.0];
    assert_eq!(heights, expected, "{svg}");
    assert!(!svg.contains("the axis begins"));
    assert!(gap(VALUES).svg().contains("the axis begins at 6"));
}
