//! Each task decodes and lifts its kernel once.

use warpbound_bounds::{FactsExtent, access, bound, facts_template};
use warpbound_query::{BoundOptions, CfgLevel, CycleQuery, Session};

const CUBIN: &[u8] = include_bytes!("../../../../kernels/built/loop_repush.sm_61.cubin");

/// Runs a task on a fresh image, and returns how many times it prepared the kernel.
fn preparations(task: impl Fn(&Session, &BoundOptions)) -> usize {
    let session = Session::open("loop_repush", CUBIN).expect("it loads");
    let options = BoundOptions {
        machine_code: true,
        loop_default: Some(10),
        cycles: Some(CycleQuery::default()),
        ..BoundOptions::default()
    };
    task(&session, &options);
    session.preparations()
}

#[test]
fn a_task_prepares_its_kernel_once() {
    let kernel = |session: &Session| session.kernel_at(0).expect("a kernel").clone();
    // A page of HTML has the listing, the bound, the accesses, the divergence and the graph.
    let page = preparations(|session, options| {
        let report = bound(session, &kernel(session), options).expect("a report");
        assert!(report.machine_code.is_some() && report.cycles.is_some());
    });
    let accesses = preparations(|session, options| {
        access(session, &kernel(session), options).expect("a report");
    });
    let divergence = preparations(|session, options| {
        session
            .divergence(&kernel(session), options)
            .expect("a report");
    });
    let graph = preparations(|session, options| {
        let graph = session.graph(&kernel(session), CfgLevel::Warp, options);
        graph.expect("a graph");
    });
    let facts = preparations(|session, options| {
        let extent = FactsExtent::Accesses;
        facts_template(session, &kernel(session), options, extent).expect("a template");
    });
    assert_eq!([page, accesses, divergence, graph, facts], [1; 5]);
}
