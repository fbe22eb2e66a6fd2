//! Faults planted on purpose: the checker must reject each.

#![allow(clippy::panic, reason = "helpers of tests")]

use crate::generate::{Graph, Random, Region};
use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{Signed, Zero};
use warpbound_ipet::{
    Certificate, Effort, IntegerProgram, Relation, SolveOutcome, solve, verify, verify_infeasible,
    verify_ray,
};

fn sample() -> (IntegerProgram, Certificate) {
    let mut random = Random(7);
    let parts = (0..4)
        .map(|_| Region::random(&mut random, 10, 3, 20))
        .collect();
    let model = Graph::of(&Region::Sequence(parts)).warp_model(32);
    match solve(&model, Effort::default()) {
        SolveOutcome::Bounded(certified) => {
            assert!(certified.certificate.witness.is_some());
            (model, certified.certificate)
        }
        other => panic!("{other:?}"),
    }
}

/// The model without row `dropped`.
fn without_row(model: &IntegerProgram, dropped: usize) -> IntegerProgram {
    let mut smaller = IntegerProgram::new();
    let ids: Vec<_> = model
        .vars()
        .iter()
        .map(|v| smaller.add_var(v.label.clone(), v.cost, v.upper))
        .collect();
    for (index, row) in model.rows().iter().enumerate() {
        if index != dropped {
            let terms = row.terms.iter().map(|&(v, c)| (ids[v.index()], c));
            smaller.add_row(
                row.label.clone(),
                row.reason.clone(),
                terms,
                row.relation,
                row.rhs,
            );
        }
    }
    smaller
}

fn rejected(model: &IntegerProgram, certificate: &Certificate, words: &str) {
    let error = verify(model, certificate).expect_err("accepted");
    assert!(error.message.contains(words), "{error}");
}

#[test]
fn the_untouched_certificate_is_accepted() {
    let (model, certificate) = sample();
    assert_eq!(verify(&model, &certificate), Ok(certificate.bound));
}

#[test]
fn a_bound_one_too_low_is_rejected() {
    let (model, mut certificate) = sample();
    certificate.bound -= 1;
    rejected(&model, &certificate, "claimed bound");
    certificate.witness = None;
    rejected(&model, &certificate, "claimed bound");
}

#[test]
fn a_bound_below_the_witness_is_rejected_even_if_the_multipliers_agree() {
    // Relaxing the witness side: a point outside the rows cannot be used, so a low bound needs broken multipliers.
    let mut m = IntegerProgram::new();
    let a = m.add_var("a", 1, Some(5));
    m.add_row("r", "given", [(a, 1)], Relation::Le, 5);
    let half = BigRational::new(1.into(), 2.into());
    let certificate = Certificate {
        bound: 4,
        multipliers: vec![half],
        witness: Some(vec![5]),
    };
    assert!(verify(&m, &certificate).is_err());
}

#[test]
fn every_lowered_multiplier_is_rejected() {
    let (model, certificate) = sample();
    let tiny = BigRational::new(BigInt::from(1), BigInt::from(1_000_000));
    let mut tried = 0;
    for index in 0..certificate.multipliers.len() {
        if certificate.multipliers[index].is_zero() {
            continue;
        }
        for change in [&tiny, &-&tiny] {
            let mut wrong = certificate.clone();
            wrong.multipliers[index] += change;
            // A change can only be accepted if it still implies the claim, so lower the claim's slack to none.
            match verify(&model, &wrong) {
                Err(_) => tried += 1,
                Ok(bound) => assert!(bound >= certificate.bound),
            }
        }
    }
    assert!(tried > 20, "only {tried} changes were rejected");
}

#[test]
fn a_wrong_multiplier_is_rejected() {
    let (model, certificate) = sample();
    // Halving every multiplier leaves the costs unpaid.
    let mut wrong = certificate.clone();
    for multiplier in &mut wrong.multipliers {
        *multiplier /= BigInt::from(2);
    }
    rejected(&model, &wrong, "do not pay");
}

#[test]
fn a_multiplier_of_the_wrong_sign_is_rejected() {
    let (model, mut certificate) = sample();
    let index = (0..model.rows().len())
        .find(|&i| {
            model.rows()[i].relation == Relation::Le && certificate.multipliers[i].is_positive()
        })
        .unwrap();
    let negated = -certificate.multipliers[index].clone();
    certificate.multipliers[index] = negated;
    rejected(&model, &certificate, "wrong sign");
}

#[test]
fn a_missing_multiplier_is_rejected() {
    let (model, mut certificate) = sample();
    certificate.multipliers.pop();
    rejected(&model, &certificate, "multipliers");
}

#[test]
fn a_wrong_witness_is_rejected() {
    // One path, so that no single count can change alone.
    let mut random = Random(7);
    let model = Graph::of(&Region::random(&mut random, 30, 3, 20)).path_model();
    let SolveOutcome::Bounded(certified) = solve(&model, Effort::default()) else {
        panic!("not bounded");
    };
    let certificate = certified.certificate;
    for index in 0..model.vars().len() {
        let mut wrong = certificate.clone();
        if let Some(witness) = &mut wrong.witness {
            witness[index] += 1;
        }
        assert!(verify(&model, &wrong).is_err(), "variable {index}");
    }
    let mut short = certificate;
    short.witness.as_mut().unwrap().pop();
    rejected(&model, &short, "values for");
}

#[test]
fn a_witness_above_a_variable_bound_is_rejected() {
    let mut m = IntegerProgram::new();
    m.add_var("a", 1, Some(5));
    let certificate = Certificate {
        bound: 6,
        multipliers: vec![],
        witness: Some(vec![6]),
    };
    rejected(&m, &certificate, "above its bound");
}

#[test]
fn a_dropped_row_is_rejected() {
    let (model, certificate) = sample();
    let mut tried = 0;
    for index in 0..model.rows().len() {
        if certificate.multipliers[index].is_zero() {
            continue;
        }
        let smaller = without_row(&model, index);
        // With its multiplier dropped too, the rest no longer implies the bound.
        let mut wrong = certificate.clone();
        wrong.multipliers.remove(index);
        assert!(verify(&smaller, &wrong).is_err(), "row {index}");
        tried += 1;
    }
    assert!(tried > 10);
}

#[test]
fn a_loop_bound_one_higher_is_rejected() {
    let (model, certificate) = sample();
    let mut random = Random(7);
    let parts = (0..4)
        .map(|_| Region::random(&mut random, 10, 3, 20))
        .collect();
    let mut graph = Graph::of(&Region::Sequence(parts));
    for (_, bound, _) in &mut graph.loops {
        *bound += 1;
    }
    let looser = graph.warp_model(32);
    assert_eq!(looser.rows().len(), model.rows().len());
    assert!(verify(&looser, &certificate).is_err());
}

#[test]
fn a_false_contradiction_is_rejected() {
    let mut m = IntegerProgram::new();
    let a = m.add_var("a", 1, None);
    m.add_row("low", "given", [(a, 1)], Relation::Le, 5);
    m.add_row("high", "given", [(a, 1)], Relation::Ge, 5);
    let one = BigRational::from_integer(1.into());
    assert!(verify_infeasible(&m, &[one.clone(), -one]).is_err());
}

#[test]
fn a_false_ray_is_rejected() {
    let mut m = IntegerProgram::new();
    let a = m.add_var("a", 1, None);
    let b = m.add_var("b", 1, Some(3));
    m.add_row("low", "given", [(a, 1), (b, -1)], Relation::Le, 5);
    let [zero, one] = [0, 1].map(|n| BigRational::from_integer(n.into()));
    assert!(verify_ray(&m, &[one.clone(), zero.clone()]).is_err());
    assert!(verify_ray(&m, &[one.clone(), one.clone()]).is_err());
    assert!(verify_ray(&m, &[zero.clone(), zero]).is_err());
    assert!(verify_ray(&m, &[one]).is_err());
}
