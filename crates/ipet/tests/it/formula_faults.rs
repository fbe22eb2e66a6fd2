//! Faults planted in claims of formulas: the checker must reject each.

#![allow(clippy::panic, reason = "helpers of tests")]

use num_bigint::BigInt;
use num_rational::BigRational;
use warpbound_base::Instructions;
use warpbound_ipet::formula::{
    FormulaClaim, FormulaEffort, FormulaRegion, Obligation, Polynomial, SymbolicProgram, certify,
    find_claims,
};
use warpbound_ipet::{IntegerProgram, Relation};

use crate::formula::symbolic;
use crate::generate::{Graph, Region};

/// `x` costs 3 and runs at most `n` times, `z` costs 2 and runs once, `x` at most 100 times in any case.
fn program() -> SymbolicProgram {
    let program = SymbolicProgram::read_off(1, |values| {
        let n = i64::try_from(values[0]).expect("a small number");
        let mut program = IntegerProgram::new();
        let [start, x, z] = [("start", 0), ("x", 3), ("z", 2)]
            .map(|(label, cost)| program.add_var(label, cost, None));
        program.add_row("start", "given", [(start, 1)], Relation::Eq, 1);
        program.add_row("loop", "given", [(x, 1), (start, -n)], Relation::Le, 0);
        program.add_row("once", "given", [(z, 1), (start, -1)], Relation::Le, 0);
        program.add_row("most", "given", [(x, 1), (start, -100)], Relation::Le, 0);
        Ok(program)
    });
    program.expect("multiples of n")
}

fn number(n: i128) -> Polynomial {
    Polynomial::integer(n)
}

fn n() -> Polynomial {
    Polynomial::symbol(0)
}

/// The claim `3n + 2` for all n from 1 on.
fn claim() -> FormulaClaim {
    FormulaClaim {
        region: FormulaRegion {
            least: vec![1],
            conditions: Vec::new(),
        },
        multipliers: vec![
            n().times(&number(3)).plus(&number(2)),
            number(3),
            number(2),
            number(0),
        ],
        proofs: Default::default(),
    }
}

fn accepted(claim: &FormulaClaim) -> Polynomial {
    let formula = certify::<Instructions>(&program(), vec![claim.clone()]).expect("a proof");
    formula.pieces()[0].bound().clone()
}

fn rejected(claim: &FormulaClaim, words: &str) {
    let error = certify::<Instructions>(&program(), vec![claim.clone()]).expect_err("accepted");
    assert!(error.message.contains(words), "{error}");
}

#[test]
fn the_untouched_claim_is_accepted() {
    assert_eq!(accepted(&claim()).text(|_| "n".to_owned()), "2 + 3*n");
}

#[test]
fn a_changed_multiplier_of_a_formula_is_rejected() {
    for (row, less) in [(0, number(1)), (0, n()), (1, number(1)), (2, number(1))] {
        let mut wrong = claim();
        wrong.multipliers[row] = wrong.multipliers[row].minus(&less);
        rejected(&wrong, "may not pay for");
    }
}

/// With `most` counted negatively the bound would be `4n - 98`.
#[test]
fn a_multiplier_of_the_wrong_sign_is_rejected_in_a_formula() {
    let mut wrong = claim();
    wrong.multipliers[0] = n().times(&number(4)).minus(&number(98));
    wrong.multipliers[1] = number(4);
    wrong.multipliers[3] = number(-1);
    rejected(&wrong, "`most` may have the wrong sign");
}

/// The bound of `n - 5` times the row `loop` less `n - 8` times nothing: a sign that holds from 5 on only.
#[test]
fn a_range_of_validity_that_is_too_wide_is_rejected() {
    let mut from_five = claim();
    // 8 - n and n - 5 sum up to 3, and the first is at least 0 up to 8.
    from_five.region.least = vec![5];
    from_five.region.conditions = vec![number(8).minus(&n())];
    let (loops, most) = (number(8).minus(&n()), n().minus(&number(5)));
    from_five.multipliers[0] = loops
        .times(&n())
        .plus(&most.times(&number(100)))
        .plus(&number(2));
    from_five.multipliers[1] = loops;
    from_five.multipliers[3] = most;
    from_five
        .proofs
        .insert(Obligation::Sign(1), vec![(0, number(1))]);
    assert_eq!(accepted(&from_five).degree(), 2);
    let mut wide = from_five.clone();
    wide.region.least = vec![4];
    rejected(&wide, "`most` may have the wrong sign");
    let mut wide = from_five.clone();
    wide.region.conditions = vec![number(9).minus(&n())];
    rejected(&wide, "`loop` may have the wrong sign");
    let mut wide = from_five.clone();
    wide.region.conditions.clear();
    rejected(&wide, "a condition that the region does not have");
    let mut unproved = from_five;
    unproved.proofs.clear();
    rejected(&unproved, "`loop` may have the wrong sign");
}

/// Without its row nothing pays for `z`.
#[test]
fn a_variable_that_is_not_paid_for_is_rejected_in_a_formula() {
    let mut wrong = claim();
    wrong.multipliers[0] = n().times(&number(3));
    wrong.multipliers[2] = number(0);
    rejected(&wrong, "may not pay for [z]");
}

#[test]
fn factors_with_negative_terms_are_rejected() {
    let mut wrong = claim();
    wrong.region.conditions = vec![n()];
    wrong.multipliers[3] = number(-1);
    wrong.multipliers[1] = number(4);
    wrong.multipliers[0] = n().times(&number(4)).minus(&number(98));
    for factor in [number(-1), n().minus(&number(9))] {
        wrong.proofs.insert(Obligation::Sign(3), vec![(0, factor)]);
        rejected(&wrong, "a factor with a negative term");
    }
}

#[test]
fn claims_of_another_shape_are_rejected() {
    let mut wrong = claim();
    wrong.multipliers.pop();
    rejected(&wrong, "3 multipliers");
    let mut wrong = claim();
    wrong.region.least = vec![1, 1];
    rejected(&wrong, "2 least values");
    let mut wrong = claim();
    wrong.multipliers[0] = Polynomial::symbol(1).plus(&n().times(&number(9)));
    rejected(&wrong, "symbol 1 does not exist");
}

/// Each multiplier of claims that were found, made smaller, larger or 0: what is still accepted bounds the path.
#[test]
fn no_changed_claim_of_a_path_is_below_it() {
    let body = Region::Loop {
        cost: 7,
        bound: 1,
        body: Box::new(Region::Block { cost: 4 }),
    };
    let region = Region::Loop {
        cost: 10,
        bound: 1,
        body: Box::new(body),
    };
    let program = symbolic(&Graph::of(&region), false);
    let claims = find_claims(&program, FormulaEffort::default()).expect("claims");
    let longest = |a: i128, b: i128| 10 * a + (a - 1) * (7 * b + 4 * (b - 1));
    let (mut rejected, mut kept) = (0, 0);
    for claim in &claims {
        for row in 0..claim.multipliers.len() {
            let third = BigRational::new(BigInt::from(1), BigInt::from(3));
            for change in [number(1), number(-1), n(), Polynomial::constant(third)] {
                let mut changed = claim.clone();
                changed.multipliers[row] = changed.multipliers[row].plus(&change);
                match certify::<Instructions>(&program, vec![changed]) {
                    Err(_) => rejected += 1,
                    Ok(formula) => {
                        kept += 1;
                        for (a, b) in [(1, 1), (1, 9), (9, 1), (50, 70)] {
                            if let Some(bound) = formula.at(&[a, b]) {
                                let exact = longest(a.into(), b.into());
                                assert!(bound.limit().0 as i128 >= exact, "{a} {b}");
                            }
                        }
                    }
                }
            }
        }
    }
    assert!(rejected > 20, "{rejected} rejected, {kept} kept");
}
