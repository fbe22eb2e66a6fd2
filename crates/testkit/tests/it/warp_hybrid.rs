//! Estimates from observed times of the parts of warps: no warp of the same runs takes longer.

use warpbound_bounds::bound;
use warpbound_query::{BoundOptions, Session};

use warpbound_ipet::FactsFile;

use warpbound_measure::{HybridOptions, hybrid_of_warps};

use warpbound_runs::TimedOptions;
use warpbound_testkit::kernels;

/// Launch of each kernel whose warps are timed.
const LAUNCH: u64 = 0;

fn session(source: &str) -> Session {
    let file = format!("{source}.sm_61.cubin");
    let path = format!("{}/../../kernels/built/{file}", env!("CARGO_MANIFEST_DIR"));
    let contents = std::fs::read(path).expect("the cubin is in the repository");
    Session::open(&file, &contents).expect("it loads")
}

fn options(session: &Session, facts: FactsFile) -> HybridOptions {
    let machine = session.own_gpu_model().expect("a machine");
    HybridOptions {
        facts,
        ..HybridOptions::new(TimedOptions::new(machine))
    }
}

#[test]
fn no_warp_takes_longer_than_the_estimate_from_its_run() {
    let mut estimated = 0;
    for reference in kernels::all() {
        let session = session(reference.source);
        let launch = (reference.launch)(LAUNCH);
        let kernel = session
            .launched_kernel(Some(reference.kernel), launch.kernel.as_deref())
            .expect("the kernel is there");
        let options = options(&session, FactsFile::default());
        let report = hybrid_of_warps(&session, kernel, &[launch], &options, |_, _| ());
        let report = report.unwrap_or_else(|why| panic!("{}: {why}", reference.kernel));
        assert!(!report.is_exceeded(), "{}", report.text());
        assert!(
            report.warps > 0 && report.observed > 0,
            "{}",
            reference.kernel
        );
        // The others have loops without a derived bound.
        estimated += u64::from(report.estimate.is_some());
    }
    assert!(estimated > 100, "only {estimated} kernels with an estimate");
}

#[test]
fn planted_small_loop_bounds_are_exceeded() {
    let reference = kernels::all()
        .into_iter()
        .find(|one| one.source == "lud_diagonal");
    let reference = reference.expect("a kernel with loops");
    let session = session(reference.source);
    let launch = (reference.launch)(LAUNCH);
    let kernel = session.launched_kernel(Some(reference.kernel), launch.kernel.as_deref());
    let kernel = kernel.expect("the kernel is there");
    let bound = bound(&session, kernel, &BoundOptions::default()).expect("a report");
    let lines = bound.loops.iter();
    let lines = lines.map(|l| format!("{{ id = \"{}\", at = \"{}\", bound = 3 }},", l.id, l.at));
    let facts = format!(
        "[[kernel]]\nname = \"{}\"\ncode = \"{}\"\nloops = [{}]\n",
        kernel.name,
        kernel.code_digest(),
        lines.collect::<String>()
    );
    let facts = FactsFile::parse("facts", &facts).expect("a facts file");
    let options = options(&session, facts);
    let report = hybrid_of_warps(&session, kernel, &[launch], &options, |_, _| ());
    // A bound that is smaller than what every launch reaches is refused before it is used.
    if let Ok(report) = report {
        assert!(report.is_exceeded(), "{}", report.text());
    }
}
