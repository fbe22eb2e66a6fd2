//! Bounds of warps from count rows: verdicts, contradictions, and numbers that are too large.

use std::collections::BTreeMap;

use warpbound_base::{Cycles, Instructions, Quantity};
use warpbound_ipet::{Contradiction, Effort, Ipet, NumberTooLarge, StatedCounts, Verdict};
use warpbound_simt::NodeId;
use warpbound_simt::counts::{
    CountKind, CountRow, CountSystem, CountVar, Factor, RowFamily, RowRelation,
};

const START: CountVar = CountVar(0);
const HEADER: CountVar = CountVar(1);

fn row(
    family: RowFamily,
    label: &str,
    terms: Vec<(CountVar, Factor)>,
    relation: RowRelation,
    constant: i64,
) -> CountRow {
    CountRow {
        terms,
        relation,
        constant,
        family,
        label: label.to_owned(),
    }
}

/// One warp, and a loop header that it executes as often as fact 0 states.
fn counted_loop() -> CountSystem {
    let is_bounded = vec![
        (HEADER, Factor::Number(1)),
        (START, Factor::TimesBound(-1, 0)),
    ];
    CountSystem {
        variables: vec![CountKind::WarpStart, CountKind::ThreadStart],
        rows: vec![
            row(
                RowFamily::Start,
                "loop-like label of a row without facts",
                vec![(START, Factor::Number(1))],
                RowRelation::Exactly,
                1,
            ),
            row(
                RowFamily::LoopOfWarp,
                "loop of node 1",
                is_bounded,
                RowRelation::AtMost,
                0,
            ),
        ],
        executions: BTreeMap::from([(NodeId(0), vec![START]), (NodeId(1), vec![HEADER])]),
        lockstep: Vec::new(),
    }
}

/// Solves the system where node 1 costs `header` and node 0 nothing.
fn solved<Q: Quantity>(
    system: &CountSystem,
    header: Q,
    stated: StatedCounts<'_>,
) -> Result<Result<Verdict<Q>, Contradiction>, NumberTooLarge> {
    let nothing = Q::from_number(0).expect("a number");
    let cost = |node: NodeId| if node.0 == 1 { header } else { nothing };
    Ok(Ipet::with_facts(system, cost, stated)?.solve(Effort::default()))
}

fn bounds(bounds: &[Option<u64>]) -> StatedCounts<'_> {
    StatedCounts {
        bounds,
        ..StatedCounts::default()
    }
}

#[test]
fn a_bound_has_its_worst_path() {
    let verdict = solved(&counted_loop(), Instructions(3), bounds(&[Some(5)]));
    let Ok(Ok(Verdict::Bounded(bound))) = verdict else {
        panic!("{verdict:?}");
    };
    assert_eq!(bound.upper_bound().limit(), Instructions(15));
    let path = bound.worst_path().expect("an integral solution");
    assert_eq!(path.value(), Instructions(15));
    assert_eq!((path.count(START), path.count(HEADER)), (1, 5));
    assert_eq!(path.count(CountVar(2)), 0);
}

#[test]
fn missing_bounds_are_counted() {
    let verdict = solved(&counted_loop(), Instructions(3), bounds(&[None, Some(7)]));
    assert_eq!(verdict, Ok(Ok(Verdict::Unbounded { missing_bounds: 1 })));
}

/// A cost that the program cannot have was once replaced by the largest one, which is below it.
#[test]
fn a_cost_above_the_coefficients_is_an_error() {
    let most = i64::MAX.unsigned_abs();
    let stated = bounds(&[Some(1)]);
    let verdict = solved(&counted_loop(), Cycles(most), stated);
    let Ok(Ok(Verdict::Bounded(bound))) = verdict else {
        panic!("{verdict:?}");
    };
    assert_eq!(bound.upper_bound().limit(), Cycles(most));
    for cost in [most + 1, u64::MAX] {
        let error = Err(NumberTooLarge::Cost(NodeId(1)));
        assert_eq!(solved(&counted_loop(), Cycles(cost), stated), error);
        let instructions = Instructions(cost.into());
        let error = Err(NumberTooLarge::Cost(NodeId(1)));
        assert_eq!(solved(&counted_loop(), instructions, stated), error);
    }
}

#[test]
fn a_loop_fact_above_the_coefficients_is_an_error() {
    let verdict = solved(&counted_loop(), Cycles(1), bounds(&[Some(u64::MAX)]));
    assert_eq!(verdict, Err(NumberTooLarge::LoopFact(0)));
}

/// Instructions have 128 bits, cycles 64.
#[test]
fn a_bound_that_its_unit_cannot_express_is_refused() {
    let (cost, stated) = (1 << 62, bounds(&[Some(8)]));
    let verdict = solved(&counted_loop(), Cycles(cost), stated);
    assert!(
        matches!(verdict, Ok(Ok(Verdict::Refused(_)))),
        "{verdict:?}"
    );
    let verdict = solved(&counted_loop(), Instructions(cost.into()), stated);
    let Ok(Ok(Verdict::Bounded(bound))) = verdict else {
        panic!("{verdict:?}");
    };
    assert_eq!(bound.upper_bound().limit(), Instructions(1 << 65));
}

/// Rows are distinguished by their family, not by their label.
#[test]
fn a_contradiction_names_the_rows_of_the_users_statements() {
    let mut system = counted_loop();
    system.rows.push(row(
        RowFamily::Flow,
        "loop-like flow",
        vec![(HEADER, Factor::Number(1)), (START, Factor::Number(-6))],
        RowRelation::Exactly,
        0,
    ));
    let contradiction = |stated| match solved(&system, Instructions(1), stated) {
        Ok(Err(Contradiction { rows })) => rows,
        other => panic!("{other:?}"),
    };
    assert_eq!(contradiction(bounds(&[Some(5)])), ["loop of node 1"]);
    let never = [("0x0100".to_owned(), vec![HEADER])];
    let stated = StatedCounts {
        bounds: &[Some(9)],
        never: &never,
        ..StatedCounts::default()
    };
    assert_eq!(contradiction(stated), ["never 0x0100"]);
}
