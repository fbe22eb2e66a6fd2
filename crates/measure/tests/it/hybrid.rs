//! Hybrid analysis on machines for GCN3: Table 4.1 of `wavefront-splitting-2022`, and estimates beside their runs.

use std::path::Path;

use warpbound_base::Diagnostic;
use warpbound_launch::LaunchFile;
use warpbound_machine::GpuModel;
use warpbound_measure::{HybridOptions, hybrid};
use warpbound_query::Session;
use warpbound_report::HybridReport;
use warpbound_runs::{TimedOptions, simulate_with};
use warpbound_simulate::timed::{Event, EventListener};

/// Opens a kernel and a launch of it; returns both.
fn open(kernel: &str, launch: &str) -> (Session, LaunchFile) {
    let kernels = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels");
    let file = format!("{kernel}.gfx803.co");
    let contents = std::fs::read(kernels.join("built").join(&file)).expect("the kernel is built");
    let session = Session::open(&file, &contents).expect("it loads");
    let folder = kernels.join("launches");
    let name = format!("{kernel}.{launch}.toml");
    let files = |file: &str| {
        std::fs::read(folder.join(file)).map_err(|error| Diagnostic::new(error.to_string()))
    };
    let text = std::fs::read_to_string(folder.join(&name)).expect("a launch file");
    let launch = LaunchFile::parse(&name, &text, &files).expect("a launch");
    (session, launch)
}

/// Masks at the branches on EXEC, by slot of the wave or split: slot, operation, EXEC.
#[derive(Default)]
struct Masks {
    branches: Vec<u32>,
    issued: Vec<(u32, u32, u128)>,
    splits: Vec<(u128, u128)>,
}

impl EventListener for Masks {
    fn event(&mut self, _cycle: u64, event: &Event) {
        match event {
            Event::Issue {
                warp, at, active, ..
            } if self.branches.contains(&at.0) => {
                self.issued.push((warp.slot, at.0, u128::from(*active)));
            }
            Event::Split {
                parent_lanes,
                child_lanes,
                ..
            } => {
                self.splits
                    .push((u128::from(*parent_lanes), u128::from(*child_lanes)));
            }
            _ => {}
        }
    }
}

/// Table 4.1: the masks of both splits at both branches of Figure 4.4, with 4 lanes.
#[test]
fn masks_of_table_4_1() {
    let (session, mut launch) = open("marked_branches", "marked_branches.0");
    launch.block = [4, 1, 1];
    let kernel = session.kernels(None).expect("a kernel")[0];
    let prepared = session.prepare(kernel).expect("code");
    let branches: Vec<u32> = (0u32..)
        .zip(&prepared.code.ops)
        .filter(|(index, _)| {
            let text = prepared.program.text(*index as usize);
            text.is_some_and(|text| text.starts_with("s_cbranch_execz"))
        })
        .map(|(index, _)| index)
        .collect();
    let [first, second] = branches[..] else {
        panic!("{branches:?}")
    };
    let machine = GpuModel::for_architecture("gfx803").expect("a machine");
    let mut options = TimedOptions::new(machine);
    options.splitting.splits = 1;
    let mut masks = Masks {
        branches,
        ..Masks::default()
    };
    simulate_with(&session, &prepared, &launch, &options, &mut masks).expect("a run");
    assert_eq!(masks.splits, [(0b0111, 0b1000)]);
    let parent = masks.issued[0].0;
    let of = |is_parent: bool| {
        let own = masks
            .issued
            .iter()
            .filter(|issue| (issue.0 == parent) == is_parent);
        own.map(|issue| (issue.1, issue.2)).collect::<Vec<_>>()
    };
    assert_eq!(of(true), [(first, 0b0111), (second, 0b0000)]);
    assert_eq!(of(false), [(first, 0b0000), (second, 0b1000)]);
}

fn analyse(kernel: &str, launch: &str, splits: &[u32], merge: bool) -> HybridReport {
    let (session, launch) = open(kernel, launch);
    let name = launch.kernel.clone();
    let found = session.kernels(name.as_deref()).expect("a kernel");
    let machine = GpuModel::for_architecture("gfx803").expect("a machine");
    let mut timed = TimedOptions::new(machine);
    timed.splitting.merge = merge;
    let options = HybridOptions {
        splits: splits.to_vec(),
        contents: 2,
        ..HybridOptions::new(timed)
    };
    let report = hybrid(&session, found[0], &[launch], &options, |_, _| {});
    report
        .map_err(|why| format!("{kernel}: {why}"))
        .expect("a report")
}

/// No run exceeds its estimate, and the report has its keys.
#[test]
fn estimates_cover_their_runs() {
    let mut estimates = 0;
    for (kernel, launch) in [
        ("if_else", "if_else.0"),
        ("if_else_nested", "if_else_nested.0"),
        ("loop_repush", "loop_repush.0"),
        ("collatz", "collatz.0"),
        ("marked_branches", "marked_branches.0"),
        ("needleman_wunsch", "needleman_wunsch.0"),
    ] {
        for merge in [false, true] {
            let report = analyse(kernel, launch, &[0, 1, 3], merge);
            assert_eq!(report.exceeded(), None, "{}", report.text());
            assert_eq!(report.splits.len(), 3);
            for of in &report.splits {
                assert!(of.observed > 0 && of.observed <= of.observed_with_launch);
                assert!(
                    of.parallel.is_some() || of.reason.is_some(),
                    "{}",
                    report.text()
                );
                let seen = of.parallel_of_seen.is_none_or(|seen| seen >= of.observed);
                assert!(seen, "{}", report.text());
                estimates += u32::from(of.parallel.is_some());
            }
            let json = warpbound_report::to_json(&report);
            for key in [
                "observed",
                "parallel",
                "serialised",
                "thesis_parallel",
                "coverage",
                "edges",
            ] {
                assert!(json.contains(&format!("\"{key}\":")), "{key}");
            }
        }
    }
    assert!(estimates > 18, "{estimates}");
}
