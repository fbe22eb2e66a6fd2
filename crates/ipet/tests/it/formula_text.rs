//! Formulas in parameters of the launch: counts, texts, ranges of validity.

use warpbound_base::{Instructions, UpperBound};
use warpbound_ipet::formula::{
    CountExpression, FormulaEffort, LoopSymbol, ParameterFormula, Polynomial, find_formula,
};

use crate::formula::symbolic;
use crate::generate::{Graph, Region};

fn block(cost: i64) -> Box<Region> {
    Box::new(Region::Block { cost })
}

/// An outer loop with header cost 10, whose body is a loop with header cost 2 and body cost 1.
fn nest() -> Region {
    let body = Region::Loop {
        cost: 2,
        bound: 1,
        body: block(1),
    };
    Region::Loop {
        cost: 10,
        bound: 1,
        body: Box::new(body),
    }
}

/// `ceil(slope * parameter / divisor) + added`, at least 1.
fn count(parameter: usize, slope: i128, divisor: u64, added: i64) -> CountExpression {
    CountExpression {
        least: 1,
        numerator: Polynomial::symbol(parameter).times(&Polynomial::integer(slope)),
        divisor,
        added,
        valid: vec![(parameter, 0, 1 << 20)],
    }
}

fn formula(region: &Region, counts: &[Option<CountExpression>]) -> ParameterFormula<Instructions> {
    let program = symbolic(&Graph::of(region), false);
    let loops = counts.iter().enumerate().map(|(number, count)| LoopSymbol {
        name: format!("L{}", number + 1),
        count: count.clone(),
    });
    ParameterFormula {
        formula: find_formula(&program, FormulaEffort::default()).expect("a formula"),
        loops: loops.collect(),
        parameters: vec!["n".to_owned(), "m".to_owned()],
        valid: Vec::new(),
    }
}

#[test]
fn counts_without_division_are_written_in_parameters() {
    let formula = formula(
        &nest(),
        &[Some(count(0, 1, 1, 1)), Some(count(1, 2, 1, -3))],
    );
    let text = formula.text();
    let [region] = text.regions.as_slice() else {
        panic!("{text:?}");
    };
    // 10 (n + 1) + n (3 (2m - 3) - 1)
    assert_eq!(region.bounds[0].text, "10 + 6*n*m");
    assert_eq!(region.conditions, [""; 0]);
    // With m = 1 the loop would have less than one header execution.
    assert_eq!(text.range, ["1 <= n <= 1048576", "2 <= m <= 1048576"]);
    assert_eq!(text.definitions, [""; 0]);
    assert_eq!(
        formula.at(&[4, 5]),
        Some(UpperBound::proven(Instructions(10 + 6 * 20)))
    );
}

#[test]
fn counts_with_division_are_named() {
    let formula = formula(
        &nest(),
        &[Some(count(0, 1, 32, 1)), Some(count(1, 1, 1, 0))],
    );
    let text = formula.text();
    assert_eq!(text.regions[0].bounds[0].text, "1 - 3*m + 9*L1 + 3*m*L1");
    assert_eq!(text.definitions, ["L1 = max(1, ceil(n / 32) + 1)"]);
    // L1 is 3.
    assert_eq!(
        formula.at(&[33, 4]),
        Some(UpperBound::proven(Instructions(1 + 27 - 12 + 36)))
    );
}

/// At the limits of the range the counts are those of the expression, beyond there is no bound.
#[test]
fn counts_have_a_range() {
    let count = count(0, 3, 2, -1);
    let at = |n: i64| count.at(&[n]);
    assert_eq!(
        [at(0), at(1), at(2), at(3)],
        [Some(1), Some(1), Some(2), Some(4)]
    );
    assert_eq!(at(1 << 20), Some((3 << 19) - 1));
    assert_eq!([at(-1), at((1 << 20) + 1)], [None, None]);
    assert_eq!(count.at(&[]), None);
}

#[test]
fn a_count_below_the_least_is_the_least() {
    let formula = formula(
        &nest(),
        &[Some(count(0, 1, 1, -5)), Some(count(1, 1, 1, 0))],
    );
    assert_eq!(formula.text().range[0], "6 <= n <= 1048576");
    // One execution of the outer header, which leaves.
    assert_eq!(
        formula.at(&[3, 7]),
        Some(UpperBound::proven(Instructions(10)))
    );
}

/// Counts that stay symbols have their names, and a condition has positive terms on both sides.
#[test]
fn conditions_of_regions_are_written() {
    let arm = |cost: i64| Region::Loop {
        cost,
        bound: 1,
        body: block(1),
    };
    let region = Region::Branch {
        cost: 5,
        arms: vec![arm(10), arm(20)],
    };
    let mut formula = formula(&region, &[None, None]);
    formula.parameters.clear();
    let text = formula.text();
    let mut conditions: Vec<String> = text
        .regions
        .iter()
        .flat_map(|r| r.conditions.clone())
        .collect();
    conditions.sort();
    assert_eq!(conditions, ["11*L1 >= 1 + 21*L2", "21*L2 >= 11*L1"]);
    assert_eq!(text.range, ["L1 >= 1", "L2 >= 1"]);
    assert_eq!(formula.at(&[]), None);
}

/// A number of the program may rest on the range of a parameter that no count has.
#[test]
fn ranges_of_parameters_limit_formulas_without_them() {
    let mut formula = formula(&nest(), &[Some(count(0, 1, 1, 0)), Some(count(0, 1, 1, 0))]);
    assert!(formula.at(&[3, 2000]).is_some());
    formula.valid = vec![(1, 1, 1024)];
    assert_eq!(formula.at(&[3, 2000]), None);
    assert_eq!(formula.at(&[3, 0]), None);
    assert!(formula.at(&[3, 1024]).is_some());
    assert_eq!(formula.text().range[1], "1 <= m <= 1024");
}
