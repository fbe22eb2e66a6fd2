//! Measured counts: those of runs satisfy all rows and facts, changed ones do not.

use warpbound_bounds::bound;
use warpbound_ipet::FactsFile;
use warpbound_launch::LaunchFile;
use warpbound_load::Kernel;
use warpbound_measure::measured_counts::CountsAuditReport;
use warpbound_measure::{CountsAuditOptions, MeasuredCounts, audit_counts};
use warpbound_query::{BoundOptions, Session};
use warpbound_runs::{RunOptions, execute};
use warpbound_testkit::kernels::{self, KernelReference};

/// Number of launches of each kernel.
const LAUNCHES: u64 = 2;

fn session(source: &str) -> Session {
    let file = format!("{source}.sm_61.cubin");
    let path = format!("{}/../../kernels/built/{file}", env!("CARGO_MANIFEST_DIR"));
    let contents = std::fs::read(path).expect("the cubin is in the repository");
    Session::open(&file, &contents).expect("it loads")
}

fn reference(kernel: &str) -> KernelReference {
    let found = kernels::all().into_iter().find(|one| one.kernel == kernel);
    found.expect("a kernel of the repository")
}

/// Returns the kernel of a launch and the file of its counts.
fn counted<'a>(
    session: &'a Session,
    reference: &KernelReference,
    launch: &LaunchFile,
) -> (&'a Kernel, String) {
    let kernel = session
        .launched_kernel(Some(reference.kernel), launch.kernel.as_deref())
        .expect("the kernel is there");
    let prepared = session.prepare(kernel).expect("it lifts");
    let run =
        execute(session, kernel, launch, &RunOptions::default(), &mut |_| ()).expect("it runs");
    (kernel, MeasuredCounts::of_run(&prepared, &run.counts))
}

fn options(launch: &LaunchFile) -> CountsAuditOptions {
    CountsAuditOptions {
        bound: BoundOptions {
            block: Some(launch.block),
            ..BoundOptions::default()
        },
        grid: Some(launch.grid),
    }
}

fn audit(
    session: &Session,
    kernel: &Kernel,
    text: &str,
    options: &CountsAuditOptions,
) -> Result<CountsAuditReport, String> {
    let measured = MeasuredCounts::parse("counts.csv", text).map_err(|d| d.to_string())?;
    let report = audit_counts(session, kernel, &measured, options);
    report.map_err(|d| d.to_string())
}

#[test]
fn counts_of_runs_satisfy_all_rows() {
    let (mut checked, mut loops) = (0, 0);
    for reference in kernels::all() {
        let session = session(reference.source);
        for number in 0..LAUNCHES {
            let launch = (reference.launch)(number);
            let (kernel, text) = counted(&session, &reference, &launch);
            // With the sizes of the launch, and once with those that the counts themselves give.
            let sizes = [options(&launch), CountsAuditOptions::default()];
            for options in sizes.iter().take(2 - usize::from(number > 0)) {
                let report = audit(&session, kernel, &text, options).expect("it is compared");
                let name = format!("{} launch {number}", reference.kernel);
                assert_eq!(report.violations, 0, "{name}: {}", report.text());
                assert!(report.unchecked.is_empty(), "{name}: {}", report.text());
                checked += u64::from(report.refused.is_none());
                loops += report.loops;
            }
        }
    }
    assert!(
        checked > 400 && loops > 150,
        "{checked} runs, {loops} loops"
    );
}

/// Returns the text with other counts in the row of an address: each count multiplied.
fn multiplied(text: &str, lines: &[usize], by: u64) -> String {
    let mut out = String::new();
    for (number, line) in text.lines().enumerate() {
        let mut line = line.to_owned();
        if lines.contains(&number) {
            let numbers: Vec<&str> = line.rsplitn(4, ',').collect();
            let scaled = |n: usize| numbers[n].parse::<u64>().expect("a count") * by;
            line = format!("{},{},{},{}", numbers[3], scaled(2), scaled(1), scaled(0));
        }
        out.push_str(&line);
        out.push('\n');
    }
    out
}

/// Returns the lines of the file of counts that belong to each block which was executed.
fn lines_of_blocks(session: &Session, kernel: &Kernel, text: &str) -> Vec<Vec<usize>> {
    use warpbound_analyse::ThreadCfg;
    use warpbound_analyse::thread_cfg::Limits;
    let prepared = session.prepare(kernel).expect("it lifts");
    let thread = ThreadCfg::build(&prepared.code, &Limits::default()).expect("a graph");
    let blocks = &thread.space.blocks;
    let first = text
        .lines()
        .position(|line| line.starts_with("0x"))
        .expect("a row");
    let blocks = (0..blocks.len()).map(|index| blocks.get(index));
    let lines = blocks.map(|block| block.ops().map(|at| first + at.index()).collect());
    let executed = |lines: &Vec<usize>| {
        let row = text.lines().nth(lines[0]).expect("a row");
        !row.ends_with(",0,0,0")
    };
    lines.filter(executed).collect()
}

#[test]
fn planted_changes_of_an_instruction_are_found_in_its_block() {
    let reference = reference("lud_diagonal");
    let session = session(reference.source);
    let launch = (reference.launch)(0);
    let (kernel, text) = counted(&session, &reference, &launch);
    for lines in lines_of_blocks(&session, kernel, &text) {
        let Some(&second) = lines.get(1) else {
            continue;
        };
        let changed = multiplied(&text, &[second], 2);
        let report = audit(&session, kernel, &changed, &options(&launch)).expect("it is compared");
        let row = text.lines().nth(second).expect("a row");
        let address = row.split(',').next();
        let found = report
            .findings
            .iter()
            .any(|found| found.claim == "block" && found.at.as_deref() == address);
        assert!(found, "{row}: {}", report.text());
    }
}

#[test]
fn planted_changes_of_a_block_contradict_the_flow() {
    let reference = reference("lud_diagonal");
    let session = session(reference.source);
    let launch = (reference.launch)(0);
    let (kernel, text) = counted(&session, &reference, &launch);
    let (mut found, mut all) = (0, 0);
    for lines in lines_of_blocks(&session, kernel, &text) {
        let changed = multiplied(&text, &lines, 3);
        let report = audit(&session, kernel, &changed, &options(&launch)).expect("it is compared");
        all += 1;
        let is_named = report
            .findings
            .iter()
            .any(|f| matches!(f.claim, "flow" | "loop"));
        found += usize::from(is_named);
    }
    // A block that a warp may execute alone as often as it likes contradicts nothing.
    assert!(all > 10 && found * 10 > all * 8, "{found} of {all}");
}

#[test]
fn a_loop_that_iterates_more_often_than_stated_is_named() {
    let reference = reference("lud_diagonal");
    let session = session(reference.source);
    let launch = (reference.launch)(0);
    let (kernel, text) = counted(&session, &reference, &launch);
    let bound = bound(&session, kernel, &BoundOptions::default()).expect("a report");
    let lines = bound.loops.iter();
    let lines = lines.map(|l| format!("{{ id = \"{}\", at = \"{}\", bound = 1 }},", l.id, l.at));
    let facts = format!(
        "[[kernel]]\nname = \"{}\"\ncode = \"{}\"\nloops = [{}]\n",
        kernel.name,
        kernel.code_digest(),
        lines.collect::<String>()
    );
    let facts = FactsFile::parse("facts", &facts).expect("a facts file");
    let options = CountsAuditOptions {
        bound: BoundOptions {
            facts,
            derive: false,
            ..options(&launch).bound
        },
        ..options(&launch)
    };
    let report = audit(&session, kernel, &text, &options).expect("it is compared");
    let named = report.findings.iter().filter(|found| found.claim == "loop");
    assert!(named.count() > 0, "{}", report.text());
    let first = report.findings.first().expect("one");
    assert!(
        first.source.is_some() && first.at.is_some(),
        "{}",
        report.text()
    );
}

#[test]
fn counts_of_another_build_are_refused() {
    let reference = reference("lud_diagonal");
    let session = session(reference.source);
    let launch = (reference.launch)(0);
    let (kernel, text) = counted(&session, &reference, &launch);
    let refused =
        |text: &str| audit(&session, kernel, text, &options(&launch)).expect_err("refused");
    let mut lines: Vec<&str> = text.lines().collect();
    let last = lines.pop().expect("a row");
    assert!(refused(&lines.join("\n")).contains("another build"));
    let other = format!("{}\n0xfff0,X,1,1,1\n", lines.join("\n"));
    assert!(refused(&other).contains("no instruction of the kernel"));
    let address = last.split(',').next().expect("an address");
    let other = format!("{}\n{address},XYZ R0,1,1,1\n", lines.join("\n"));
    assert!(
        refused(&other).contains("another kernel or another build"),
        "{}",
        refused(&other)
    );
    assert!(refused("a,b\n1,2\n").contains("no head"));
    let twice = format!("{text}{text}");
    assert!(refused(&twice).contains("a second kernel"));
}

/// The same counts as other tools write them.
#[test]
fn files_of_other_tools_are_read() {
    let reference = reference("lud_diagonal");
    let session = session(reference.source);
    let launch = (reference.launch)(0);
    let (kernel, text) = counted(&session, &reference, &launch);
    let measured = MeasuredCounts::parse("own", &text).expect("it is read");
    let number = |n: Option<u64>| n.expect("a count");
    let mut nsight = String::from(
        "\"Kernel Name\",\"lud_diagonal\"\n\"Address\",\"Source\",\"# Samples\",\"Instructions Executed\",\
         \"Thread Instructions Executed\",\"Predicated-On Thread Instructions Executed\"\n",
    );
    let mut cupti = String::from("pcOffset,executed,threadsExecuted,notPredOffThreadsExecuted\n");
    let mut other = String::from("offset,warp_count,thread_count\n");
    for row in &measured.rows {
        let (issues, lanes, executed) =
            (number(row.issues), number(row.lanes), number(row.executed));
        let text = row.text.clone().expect("a text");
        let address = 0x7f00_1234_5000 + row.address;
        nsight.push_str(&format!(
            "\"{address:#x}\",\"      {text} \",\"7\",\"{issues}\",\"{lanes}\",\"{executed}\"\n"
        ));
        if issues > 0 {
            cupti.push_str(&format!("{},{issues},{lanes},{executed}\n", row.address));
            other.push_str(&format!("{:#x},{issues},{lanes}\n", row.address));
        }
    }
    for (text, source) in [
        (nsight, "Nsight Compute"),
        (cupti, "CUPTI"),
        (other, "counts by address"),
    ] {
        let report = audit(&session, kernel, &text, &options(&launch)).expect("it is compared");
        assert_eq!(
            (report.source, report.violations),
            (source, 0),
            "{}",
            report.text()
        );
    }
}
