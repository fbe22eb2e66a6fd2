//! A small piece of the experiments, and the parts that they share.

use std::collections::BTreeMap;
use std::fs;

use warpbound_testkit::kernels::HOST_PROGRAMS;

use super::chart::{Chart, ChartSeries};
use super::measurements::{Measurements, RunTask};
use super::runs::{RunConfiguration, RunSplitting, program_run, session};
use super::{MACHINES, chosen};
use crate::repository::Repository;

fn task<'a>(
    key: &str,
    run: impl Fn() -> super::measurements::Measured + Send + Sync + 'a,
) -> RunTask<'a> {
    RunTask {
        key: key.to_owned(),
        run: Box::new(run),
    }
}

#[test]
fn measurements_go_on_where_they_stopped() {
    let folder = tempfile::tempdir().expect("a folder");
    let one = || Ok(BTreeMap::from([("cycles".to_owned(), 7)]));
    let first = Measurements::open(folder.path(), b"inputs").expect("it opens");
    let tasks = [
        task("a", one),
        task("b", || Err("did not\tfinish".to_owned())),
    ];
    first.make("test", &tasks).expect("they run");
    // A line that an interruption cut.
    let path = folder.path().join("measurements.tsv");
    let text = fs::read_to_string(&path).expect("it is there");
    fs::write(&path, format!("{text}c\tcycles=1")).expect("it is written");
    let second = Measurements::open(folder.path(), b"inputs").expect("it opens");
    assert_eq!(second.number("a", "cycles"), Some(7));
    assert_eq!(second.get("b"), Err("did not finish".to_owned()));
    assert_eq!(second.get("c"), Err("not measured".to_owned()));
    let again = [task("a", || Err("it ran again".to_owned())), task("c", one)];
    second.make("test", &again).expect("they run");
    assert_eq!(second.number("a", "cycles"), Some(7));
    assert_eq!(second.number("c", "cycles"), Some(7));
    let other = Measurements::open(folder.path(), b"other inputs").expect("it opens");
    assert_eq!(other.get("a"), Err("not measured".to_owned()));
}

#[test]
fn charts_have_a_bar_for_each_value() {
    let chart = Chart {
        head: vec!["a < b".to_owned()],
        axis: "cycles".to_owned(),
        categories: vec!["one".to_owned(), "two".to_owned()],
        series: vec![ChartSeries {
            name: "observed".to_owned(),
            values: vec![Some(3.0), None],
        }],
        is_lines: false,
        level: Some((1.0, 0.0)),
    };
    let svg = chart.svg();
    assert!(
        svg.contains("a &lt; b") && svg.ends_with("</svg>\n"),
        "{svg}"
    );
    // The page, the legend, and one bar.
    assert_eq!(svg.matches("<rect").count(), 3, "{svg}");
    let lines = Chart {
        is_lines: true,
        ..chart
    };
    assert_eq!(lines.svg().matches("<circle").count(), 1);
}

#[test]
fn names_of_experiments_are_checked() {
    let names = |text: &str| vec![text.to_owned()];
    assert!(chosen(Some(&names("x2"))).is_ok_and(|found| found.len() == 1));
    assert!(chosen(Some(&names("X99"))).is_err());
    assert!(chosen(None).is_ok_and(|all| all.len() == 8));
}

#[test]
fn a_small_program_has_the_same_results_with_splits() {
    let repository = Repository::find().expect("it is here");
    let program = HOST_PROGRAMS.iter().find(|program| program.name == "bfs");
    let program = program.expect("it is in the table");
    let session = session(&repository, program.source).expect("it loads");
    let run = |splits, merges| {
        let splitting = RunSplitting {
            merges,
            ..RunSplitting::parallel(splits)
        };
        let configuration = RunConfiguration::typical(MACHINES[0], splitting);
        program_run(&session, program, 0, &configuration).expect("it runs")
    };
    let whole = run(0, false);
    for merges in [false, true] {
        let split = run(2, merges);
        assert!(
            split.get("splits").is_some_and(|&splits| splits > 0),
            "{split:?}"
        );
        assert_eq!(split.get("results"), whole.get("results"));
        assert!(split.get("instructions") >= whole.get("instructions"));
    }
}
