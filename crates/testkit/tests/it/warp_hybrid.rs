//! Estimates from observed times of the parts of warps: no warp of the same runs takes longer.

use warpbound_driver::audit::AuditOptions;
use warpbound_driver::{
    BoundOptions, FactsFile, HybridOptions, Kernel, LaunchFile, Session, TimedOptions,
};
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

/// Returns the facts that an audit of the launch observes.
fn observed(session: &Session, kernel: &Kernel, launch: &LaunchFile) -> FactsFile {
    let runs = AuditOptions::default();
    let audit = session.audit(kernel, launch, &BoundOptions::default(), &runs, |_| ());
    let facts = session.observed_facts(kernel, &audit.expect("an audit"));
    FactsFile::parse("observed", &facts.expect("facts")).expect("a facts file")
}

#[test]
fn no_warp_takes_longer_than_the_estimate_from_its_run() {
    let (mut derived, mut stated, mut none) = (0, 0, Vec::new());
    for reference in kernels::all() {
        let session = session(reference.source);
        let launch = (reference.launch)(LAUNCH);
        let kernel = session
            .launched_kernel(Some(reference.kernel), launch.kernel.as_deref())
            .expect("the kernel is there");
        let launches = [launch];
        let estimate = |facts| {
            let options = options(&session, facts);
            let report = session.hybrid_of_warps(kernel, &launches, &options, |_, _| ());
            report.unwrap_or_else(|why| panic!("{}: {why}", reference.kernel))
        };
        let mut report = estimate(FactsFile::default());
        derived += u64::from(report.estimate.is_some());
        if report.estimate.is_none() {
            // Facts of the run itself, as far as they can be observed.
            report = estimate(observed(&session, kernel, &launches[0]));
            stated += u64::from(report.estimate.is_some());
        }
        assert!(!report.is_exceeded(), "{}", report.text());
        assert!(
            report.warps > 0 && report.observed > 0,
            "{}",
            reference.kernel
        );
        if report.estimate.is_none() {
            none.push(reference.kernel);
        }
    }
    assert!(
        derived > 100,
        "{derived} derived, {stated} stated, none: {none:?}"
    );
    assert!(none.len() < 10, "no estimate of {none:?}");
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
    let bound = session
        .bound(kernel, &BoundOptions::default())
        .expect("a report");
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
    let report = session.hybrid_of_warps(kernel, &[launch], &options, |_, _| ());
    // A bound that is smaller than what every launch reaches is refused before it is used.
    if let Ok(report) = report {
        assert!(report.is_exceeded(), "{}", report.text());
    }
}
