//! Formulas in parameters and sizes of the launch against the bounds of launches.

use std::collections::BTreeSet;

use warpbound_base::Instructions;
use warpbound_bounds::{bound, formula};
use warpbound_ipet::formula::ParameterFormula;
use warpbound_load::Kernel;
use warpbound_query::{
    BoundOptions, FormulaSymbols, NumberRange, Session, StatedLaunches, StatedParam,
};

/// Numbers of all kernels.
#[derive(Default)]
pub(super) struct ParameterComparison {
    launches: usize,
    with_formula: usize,
    equal_kernels: usize,
    compared: usize,
    equal: usize,
    pub(super) smaller: usize,
    outside: usize,
}

impl ParameterComparison {
    pub(super) fn new(launches: usize) -> ParameterComparison {
        ParameterComparison {
            launches,
            ..ParameterComparison::default()
        }
    }

    /// Compares the formula of a kernel in all words of its launch.
    pub(super) fn kernel(
        &mut self,
        session: &Session,
        kernel: &Kernel,
        random: &mut fastrand::Rng,
        name: &str,
    ) -> anyhow::Result<()> {
        let words = session
            .launch(kernel, &BoundOptions::default())?
            .ranges
            .words;
        let is_number = |name: &String| {
            let is_size = name.starts_with("blockDim.") || name.starts_with("gridDim.");
            is_size || (name.starts_with('p') && !name.ends_with(".high"))
        };
        let names = words.into_values().map(|word| word.name);
        let options = BoundOptions {
            formula: Some(FormulaSymbols::Parameters(
                names.filter(is_number).collect(),
            )),
            ..BoundOptions::default()
        };
        let formula = match formula(session, kernel, &options)? {
            Ok(formula) => formula,
            Err(why) => {
                println!("{name}: no formula in parameters because {}", why.message);
                return Ok(());
            }
        };
        self.with_formula += 1;
        let used = used(&formula);
        let (mut equal, mut compared, mut worst) = (0, 0, 1.0f64);
        for number in 0..self.launches {
            let most = if number % 2 == 0 { 40 } else { 5000 };
            let values: Vec<i64> = (0..formula.parameters.len())
                .map(|at| match used.contains(&at) {
                    true => value(&formula, at, most, random),
                    false => 0,
                })
                .collect();
            let Some(options) = options_of(&formula, &used, &values) else {
                continue;
            };
            let Some(at) = formula.at(&values) else {
                self.outside += 1;
                continue;
            };
            let Some(bound) = bound(session, kernel, &options)?.verdict.bound() else {
                continue;
            };
            let at = at.limit().0;
            compared += 1;
            equal += usize::from(at == bound);
            worst = worst.max(at as f64 / bound as f64);
            if at < bound {
                self.smaller += 1;
                println!("{name}: {at} is below the bound {bound} at {values:?}");
            }
        }
        let names: Vec<&str> = (used.iter())
            .filter_map(|&at| Some(formula.parameters.get(at)?.as_str()))
            .collect();
        println!(
            "{name}: formula in {}; {equal} of {compared} launches equal, at most {worst:.3} of the bound",
            names.join(", ")
        );
        self.compared += compared;
        self.equal += equal;
        self.equal_kernels += usize::from(equal * 100 >= compared * 95);
        Ok(())
    }

    pub(super) fn print(&self) {
        println!(
            "{} kernels with a formula in parameters, {} of them equal to the bound at 95 % of the launches",
            self.with_formula, self.equal_kernels
        );
        println!(
            "{} launches in the range of the formulas, {} equal, {} smaller; {} outside the range",
            self.compared, self.equal, self.smaller, self.outside
        );
    }
}

/// Returns the parameters with a range.
fn used(formula: &ParameterFormula<Instructions>) -> BTreeSet<usize> {
    formula.ranges().map(|(parameter, ..)| *parameter).collect()
}

/// Returns a random value of a parameter, if possible in the range of the counts.
fn value(
    formula: &ParameterFormula<Instructions>,
    parameter: usize,
    most: i64,
    random: &mut fastrand::Rng,
) -> i64 {
    let valid = formula.ranges();
    let (mut from, mut to) = (0, most);
    for (_, least, most) in valid.filter(|(of, ..)| *of == parameter) {
        from = from.max(*least);
        to = to.min(*most);
    }
    let name = formula.parameters.get(parameter).map_or("", String::as_str);
    if name.starts_with("blockDim") {
        (from, to) = (from.max(1), to.min(512));
    } else if name.starts_with("gridDim") {
        from = from.max(1);
    }
    random.i64(from..=to.max(from))
}

/// Returns the options of a launch with these values of the parameters that are used; `None` if they cannot be stated.
fn options_of(
    formula: &ParameterFormula<Instructions>,
    used: &BTreeSet<usize>,
    values: &[i64],
) -> Option<BoundOptions> {
    let mut launches = StatedLaunches::default();
    for &at in used {
        let (name, value) = (formula.parameters.get(at)?, *values.get(at)?);
        let range = NumberRange::one(value);
        let axis = |name: &str| ["x", "y", "z"].iter().position(|axis| name.ends_with(axis));
        let one = [NumberRange::one(1); 3];
        if name.starts_with("blockDim") {
            *launches.block.get_or_insert(one).get_mut(axis(name)?)? = range;
        } else if name.starts_with("gridDim") {
            *launches.grid.get_or_insert(one).get_mut(axis(name)?)? = range;
        } else {
            let name = name.clone();
            launches.params.push(StatedParam { name, range });
        }
    }
    Some(BoundOptions {
        launches,
        ..BoundOptions::default()
    })
}
