//! Time limits stop the work at each stage, without a result.

use std::path::Path;
use std::time::Duration;

use warpbound_analyse::thread_cfg::Limits;
use warpbound_analyse::{Reason, ThreadCfg, WarpCfg};
use warpbound_base::{Deadline, Instructions};
use warpbound_ipet::{Effort, Ipet, Verdict};
use warpbound_query::{BoundOptions, KernelFlow, Session};

fn past() -> Deadline {
    Deadline::after(Duration::ZERO)
}

#[test]
fn each_stage_gives_up() {
    let name = "nested_loops.sm_61.cubin";
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../kernels/built");
    let bytes = std::fs::read(Path::new(folder).join(name)).expect("a cubin");
    let session = Session::open(name, &bytes).expect("it is read");
    let kernel = session.kernels(None).expect("kernels")[0];
    let prepared = session.prepare(kernel).expect("it is decoded");
    let model = BoundOptions::default().model;

    let limits = Limits {
        deadline: past(),
        ..Limits::default()
    };
    let refusal = ThreadCfg::build(&prepared.code, &limits).expect_err("too late");
    assert_eq!(refusal.reason, Reason::TimeLimit);

    let mut thread = ThreadCfg::build(&prepared.code, &Limits::default()).expect("a graph");
    thread.deadline = past();
    let launch = Default::default();
    let refusal =
        WarpCfg::build(&prepared.code, &mut thread, &launch, &model).expect_err("too late");
    assert_eq!(refusal.reason, Reason::TimeLimit);

    let flow =
        KernelFlow::analyse(&prepared.code, &launch, &model, &Limits::default()).expect("a flow");
    let bounds = vec![Some(10); flow.loops.sites.len()];
    let ipet = Ipet::new(&flow.counts, |_| Instructions(1), &bounds).expect("a model");
    let solved = |deadline| {
        let effort = Effort {
            deadline,
            ..Effort::default()
        };
        ipet.solve(effort)
    };
    assert!(matches!(
        solved(Deadline::default()),
        Ok(Verdict::Bounded(_))
    ));
    assert!(matches!(solved(past()), Ok(Verdict::Refused(_))));
    // A deadline beyond the range of the clock is no deadline.
    assert!(!Deadline::after(Duration::MAX).is_past());
}
