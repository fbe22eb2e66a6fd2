//! Formula of a bound: the integer program with loop counts as symbols, and the counts in terms of the launch.
//!
//! For example, a kernel with one loop has the formula 3 * B + 24, where B is the number of header executions per
//! entry and thread. If B is derived as n / 32 + 1, the bound can be evaluated for each n in its range.

use warpbound_analyse::LaunchRanges;
use warpbound_analyse::loop_bounds::CountFormula;
use warpbound_base::{Diagnostic, Instructions, SizeLimits};
use warpbound_ipet::formula::{
    CountExpression, FormulaEffort, FormulaSum, LoopSymbol, ParameterFormula, Polynomial,
    SymbolicProgram, find_formula,
};
use warpbound_ipet::{Ipet, StatedCounts};
use warpbound_load::Kernel;
use warpbound_report::formula::{BoundFormula, FormulaPart, FormulaPolynomial, FormulaTerm};
use warpbound_simt::NodeId;

use super::flow_facts::LoopFacts;
use super::query::BoundQuery;
use warpbound_query::{
    AnalysedKernel, BoundOptions, FormulaSymbols, KernelFlow, NumberRange, Session, StatedParam,
};

/// Largest values of open parameters, in the order that they are tried.
const OPEN_RANGES: [i64; 3] = [1 << 30, 1 << 20, 1 << 14];

/// Returns the integer program where the bounds of some loops are symbols. Symbol `s` is the bound of fact `facts[s]`
/// (one per element of `Loops::sites`), header executions per entry and thread. `stated` has the bounds of the other
/// loops; a node costs `cost(node)`.
///
/// # Errors
///
/// A number is too large for the program.
pub fn symbolic_program(
    flow: &KernelFlow,
    facts: &[usize],
    stated: StatedCounts<'_>,
    cost: impl Fn(NodeId) -> Instructions,
) -> Result<SymbolicProgram, Diagnostic> {
    SymbolicProgram::read_off(facts.len(), |values| {
        let mut bounds = stated.bounds.to_vec();
        for (&fact, &value) in facts.iter().zip(values) {
            if let Some(bound) = bounds.get_mut(fact) {
                *bound = Some(value);
            }
        }
        let stated = StatedCounts {
            bounds: &bounds,
            ..stated
        };
        let ipet = Ipet::with_facts(&flow.counts, &cost, stated);
        let ipet = ipet.map_err(|_| Diagnostic::new("a number is too large to compute with"))?;
        Ok(ipet.model().clone())
    })
}

/// Computes the formula of the bound of a kernel. The inner error is the reason why there is none.
///
/// # Errors
///
/// See [`bound`](fn@crate::bound).
pub fn formula(
    session: &Session,
    kernel: &Kernel,
    options: &BoundOptions,
) -> Result<Result<ParameterFormula<Instructions>, Diagnostic>, Diagnostic> {
    let analysis = session.analyse(kernel, options)?;
    let symbols = options.formula.as_ref().unwrap_or(&FormulaSymbols::Loops);
    Ok(match analysis.parts() {
        Ok(analysed) => formula_of_flow(analysed, symbols),
        Err(refusal) => Err(Diagnostic::new(refusal.reason.to_string())),
    })
}

/// Returns the formula or the reason why there is none, if one is asked for.
pub(super) fn formula_report(
    analysed: AnalysedKernel<'_>,
) -> (Option<BoundFormula>, Option<String>) {
    let Some(symbols) = &analysed.options.formula else {
        return (None, None);
    };
    match formula_of_flow(analysed, symbols) {
        Ok(formula) => (Some(reported_formula(&formula)), None),
        Err(why) => (None, Some(why.message)),
    }
}

/// Computes the formula from the control flow of a kernel.
fn formula_of_flow(
    analysed: AnalysedKernel<'_>,
    symbols: &FormulaSymbols,
) -> Result<ParameterFormula<Instructions>, Diagnostic> {
    let kernel = analysed.prepared.kernel;
    // Counts that hold for large numbers are preferred; with smaller ones fewer sums can wrap around.
    let mut reason = None;
    for most in OPEN_RANGES {
        let limits = analysed.knowledge.ranges.limits;
        let options = with_open(analysed.options, symbols.parameters(), limits, most);
        let knowledge = analysed.session.launch(kernel, &options)?;
        let query = BoundQuery::new(AnalysedKernel {
            options: &options,
            knowledge: &knowledge,
            ..analysed
        });
        match query.formula(symbols) {
            Ok(formula) => return Ok(formula),
            Err(why) => {
                // The reason of the first try is kept: it is about the largest range.
                reason.get_or_insert(why);
            }
        }
        if symbols.parameters().is_empty() || analysed.deadline.is_past() {
            break;
        }
    }
    Err(reason.unwrap_or_else(|| Diagnostic::new("nothing was tried")))
}

/// Returns the options for a formula in these parameters and sizes. A parameter that the user does not state may be
/// any number up to `most`, even if a launch file has a value.
fn with_open(
    options: &BoundOptions,
    names: &[String],
    limits: SizeLimits,
    most: i64,
) -> BoundOptions {
    let mut options = options.clone();
    let launches = &mut options.launches;
    // All sizes that the machines have: sizes that are not named are open too.
    let size = |limit: u32| NumberRange {
        least: 1,
        most: limit.into(),
    };
    for name in names {
        let in_file = launches.file.is_some() || options.block.is_some();
        if name.starts_with("blockDim.") {
            if launches.block.is_none() && !in_file {
                launches.block = Some(limits.block.map(size));
            }
        } else if name.starts_with("gridDim.") {
            if launches.grid.is_none() && !in_file {
                launches.grid = Some(limits.grid.map(size));
            }
        } else if launches.params.iter().all(|param| param.name != *name) {
            launches.params.push(StatedParam {
                name: name.clone(),
                range: NumberRange {
                    least: 0,
                    most: most.into(),
                },
            });
        }
    }
    options
}

impl BoundQuery<'_> {
    /// Computes the formula.
    fn formula(
        &self,
        symbols: &FormulaSymbols,
    ) -> Result<ParameterFormula<Instructions>, Diagnostic> {
        let (facts, excluded) = (self.loop_facts()?, self.excluded()?);
        let external = self.external_calls()?;
        if let Some(refusal) = external.refusal() {
            return Err(refusal);
        }
        for name in symbols.parameters() {
            if !self
                .analysed
                .knowledge
                .ranges
                .words
                .values()
                .any(|word| word.name == *name)
            {
                let message = format!("the launch of the kernel has no number named {name}");
                return Err(Diagnostic::new(message));
            }
        }
        let (mut symbolic, mut loops) = (Vec::new(), Vec::new());
        for fact in 0..self.names.len() {
            if let Some(symbol) = self.loop_symbol(fact, symbols, &facts)? {
                symbolic.push(fact);
                loops.push(symbol);
            }
        }
        let (bounds, totals) = (facts.bounds(), facts.totals());
        let stated = StatedCounts {
            bounds: &bounds,
            totals: &totals,
            never: &excluded,
        };
        let cost = |node| Instructions(self.cost(node, &external).into());
        let program = symbolic_program(self.analysed.flow, &symbolic, stated, cost)?;
        let effort = FormulaEffort {
            deadline: self.analysed.deadline,
            ..FormulaEffort::default()
        };
        // The formula holds only in these ranges, because numbers that are derived for other loops rest on them as
        // well.
        let mut valid = Vec::new();
        for (parameter, name) in symbols.parameters().iter().enumerate() {
            let words = self
                .analysed
                .knowledge
                .ranges
                .words
                .values()
                .filter(|word| word.name == *name);
            let ranges = words.filter_map(|word| word.range);
            valid.extend(ranges.map(|range| (parameter, range.least, range.most)));
        }
        Ok(ParameterFormula {
            valid,
            formula: find_formula(&program, effort)?,
            loops,
            parameters: symbols.parameters().to_vec(),
        })
    }

    /// Returns the symbol of a loop; `None` for a loop whose bound is a number.
    ///
    /// # Errors
    ///
    /// The count of the loop is neither known as a number nor in terms of the parameters.
    fn loop_symbol(
        &self,
        fact: usize,
        symbols: &FormulaSymbols,
        facts: &LoopFacts,
    ) -> Result<Option<LoopSymbol>, Diagnostic> {
        let name = self.names.get(fact).map_or("?", |name| name.id.as_str());
        let symbol = |count| LoopSymbol {
            name: name.to_owned(),
            count,
        };
        // A stated fact is a number for all launches, and may be below what the code shows.
        if facts.is_stated(fact) {
            return Ok(None);
        }
        let FormulaSymbols::Parameters(parameters) = symbols else {
            return Ok(Some(symbol(None)));
        };
        let count = self
            .verdicts
            .bound(fact)
            .and_then(|bound| bound.count.as_ref());
        let count =
            // A count without a parameter is a number, and needs no symbol.
            count.filter(|count| count.numerator.iter().any(|(_, words)| !words.is_empty()));
        match (count, facts.bound(fact)) {
            (Some(count), _) => {
                match expression(count, parameters, &self.analysed.knowledge.ranges) {
                    Ok(count) => Ok(Some(symbol(Some(count)))),
                    Err(word) => Err(Diagnostic::new(format!(
                        "the count of loop {name} depends on {word}, which is neither in --formula nor stated"
                    ))),
                }
            }
            (None, Some(_)) => Ok(None),
            (None, None) => Err(Diagnostic::new(format!(
                "the count of loop {name} is not known in terms of the launch"
            ))),
        }
    }
}

/// Converts a derived count to an expression in the parameters.
///
/// # Errors
///
/// The name of a word that is no parameter.
fn expression(
    count: &CountFormula,
    parameters: &[String],
    ranges: &LaunchRanges,
) -> Result<CountExpression, String> {
    let parameter = |key: &(u8, u32)| {
        let name = ranges
            .words
            .get(key)
            .map_or("a word of the launch", |word| &word.name);
        let position = parameters.iter().position(|parameter| parameter == name);
        position.ok_or_else(|| name.to_owned())
    };
    let mut numerator = Polynomial::default();
    for (coefficient, words) in &count.numerator {
        let mut product = Polynomial::integer((*coefficient).into());
        for word in words {
            product = product.times(&Polynomial::symbol(parameter(word)?));
        }
        numerator = numerator.plus(&product);
    }
    let valid = count.valid.iter();
    let valid = valid.map(|(key, least, most)| Ok((parameter(key)?, *least, *most)));
    Ok(CountExpression {
        // The header is executed at least once, and `added` times if the quotient is not positive.
        least: u64::try_from(count.added).unwrap_or(0).max(1),
        numerator,
        divisor: count.divisor,
        added: count.added,
        valid: valid.collect::<Result<_, String>>()?,
    })
}

/// Converts a formula to its report.
fn reported_formula(formula: &ParameterFormula<Instructions>) -> BoundFormula {
    let text = formula.text();
    let polynomial = |sum: FormulaSum| FormulaPolynomial {
        text: sum.text,
        terms: (sum.terms.into_iter())
            .map(|(coefficient, factors)| FormulaTerm {
                coefficient,
                factors,
            })
            .collect(),
    };
    let pieces = text.regions.into_iter().map(|region| FormulaPart {
        range: region.conditions,
        bounds: region.bounds.into_iter().map(polynomial).collect(),
    });
    BoundFormula::new(text.range, text.definitions, pieces.collect())
}

#[cfg(test)]
mod tests {
    use super::{BoundOptions, SizeLimits, with_open};

    /// Sizes without a statement may be all that the machines have: a grid of AMD's GPUs may have 100,000 groups in y.
    #[test]
    fn open_sizes_have_the_limits_of_the_machines() {
        let names = ["gridDim.y".to_owned(), "blockDim.z".to_owned()];
        for limits in [SizeLimits::CUDA, SizeLimits::HSA] {
            let launches = with_open(&BoundOptions::default(), &names, limits, 1).launches;
            for (stated, limits) in [(launches.grid, limits.grid), (launches.block, limits.block)] {
                let most = stated.map(|size| size.map(|axis| axis.most));
                assert_eq!(most, Some(limits.map(i128::from)));
            }
        }
    }
}
