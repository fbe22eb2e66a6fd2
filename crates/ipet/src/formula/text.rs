//! Formulas as text. Counts of loops that are polynomials in parameters are written out; the other counts have names.

use std::collections::BTreeSet;

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{Signed, Zero};
use warpbound_base::Quantity;

use super::certificate::FormulaPiece;
use super::parameters::{CountExpression, LoopSymbol, ParameterFormula};
use super::polynomial::Polynomial;

/// Formula as text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FormulaText {
    /// Regions; where some overlap, each gives a bound.
    pub regions: Vec<FormulaRegionText>,
    /// Range of parameters and counts for which the formula is written: `n >= 1`.
    pub range: Vec<String>,
    /// Definitions of named counts: `L1 = max(1, ceil((n - 32) / 128) + 1)`.
    pub definitions: Vec<String>,
}

/// Bounds of a region as text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FormulaRegionText {
    /// Polynomials; the smallest one, rounded down, is the bound.
    pub bounds: Vec<FormulaSum>,
    /// Conditions of the region in addition to the range of the formula.
    pub conditions: Vec<String>,
}

/// Polynomial as text and by terms.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FormulaSum {
    /// Text: `235 + 12*n`.
    pub text: String,
    /// Coefficient and factors of each term.
    pub terms: Vec<(String, Vec<String>)>,
}

/// Symbols of the written formula: parameters, then loops with named counts.
struct Names<'a> {
    parameters: &'a [String],
    loops: &'a [LoopSymbol],
    /// Counts of loops that are written as polynomials in parameters.
    written: Vec<Option<Polynomial>>,
    /// Minimum values of parameters and then of counts for which the formula is written.
    least: Vec<u64>,
    /// Maximum values of parameters; `u64::MAX` for no limit.
    most: Vec<u64>,
}

impl<Q: Quantity> ParameterFormula<Q> {
    /// Returns the formula as text.
    pub fn text(&self) -> FormulaText {
        let names = Names::of(self);
        let mut regions: Vec<FormulaRegionText> = Vec::new();
        let mut used = BTreeSet::new();
        for piece in self.formula.pieces() {
            let Some((bound, conditions)) = names.piece(piece) else {
                continue;
            };
            for polynomial in conditions.iter().chain([&bound]) {
                used.extend(polynomial.terms().flat_map(|(m, _)| m.iter().copied()));
            }
            let bound = names.sum(&bound);
            let conditions: Vec<String> = conditions.iter().map(|c| names.condition(c)).collect();
            match regions.last_mut() {
                Some(last) if last.conditions == conditions => {
                    if !last.bounds.contains(&bound) {
                        last.bounds.push(bound);
                    }
                }
                _ => regions.push(FormulaRegionText {
                    bounds: vec![bound],
                    conditions,
                }),
            }
        }
        FormulaText {
            regions,
            range: names.range(),
            definitions: names.definitions(&used),
        }
    }
}

impl<'a> Names<'a> {
    fn of<Q: Quantity>(formula: &'a ParameterFormula<Q>) -> Names<'a> {
        let ParameterFormula {
            formula: of_loops,
            loops,
            parameters,
            ..
        } = formula;
        let mut least = vec![1; parameters.len()];
        let mut most = vec![u64::MAX; parameters.len()];
        for (parameter, from, to) in formula.ranges() {
            if let Some(least) = least.get_mut(*parameter) {
                // The text is about parameters from 1 on, so a negative limit says nothing more.
                *least = u64::try_from(*from).unwrap_or(0).max(*least);
            }
            if let Some(most) = most.get_mut(*parameter) {
                *most = u64::try_from(*to).unwrap_or(0).min(*most);
            }
        }
        // Minimum count that the formula needs, or that the expression gives in any case.
        let needed = |symbol: usize, count: &CountExpression| {
            let regions = of_loops.pieces().iter().map(|piece| piece.region());
            let of_pieces = regions.filter_map(|region| region.least.get(symbol).copied());
            of_pieces.min().unwrap_or(1).max(count.least)
        };
        let mut written = Vec::with_capacity(loops.len());
        for (symbol, of_loop) in loops.iter().enumerate() {
            let count = of_loop.count.as_ref();
            let polynomial = count.and_then(|count| {
                let polynomial = count.polynomial()?;
                let limit = Polynomial::integer(needed(symbol, count).into());
                is_reached(&polynomial.minus(&limit), &mut least, &most).then_some(polynomial)
            });
            written.push(polynomial);
        }
        let counts = loops
            .iter()
            .map(|l| l.count.as_ref().map_or(1, |count| count.least));
        least.extend(counts);
        Names {
            parameters,
            loops,
            written,
            least,
            most,
        }
    }

    /// Bound and conditions of a piece in the symbols of the text, without conditions that always hold; `None` if a
    /// condition never holds.
    fn piece(&self, piece: &FormulaPiece) -> Option<(Polynomial, Vec<Polynomial>)> {
        let by = |symbol: usize| {
            let named = Polynomial::symbol(self.parameters.len() + symbol);
            let written = self.written.get(symbol).cloned().flatten();
            Some(written.unwrap_or(named))
        };
        let bound = piece.bound().substituted(by)?;
        let region = piece.region();
        let least = region.least.iter().enumerate().map(|(symbol, &least)| {
            Polynomial::symbol(symbol).minus(&Polynomial::integer(least.into()))
        });
        let mut conditions = Vec::new();
        for condition in least.chain(region.conditions.iter().cloned()) {
            let condition = condition.substituted(by)?;
            let shifted = condition.shifted(&self.least);
            // It holds for all parameters of the stated range, so the text need not say it.
            if shifted.has_no_negative_term() {
                continue;
            }
            if condition
                .number()
                .is_some_and(|number| number.is_negative())
            {
                return None;
            }
            conditions.push(condition.primitive());
        }
        Some((bound, conditions))
    }

    fn name(&self, symbol: usize) -> String {
        let parameter = self.parameters.get(symbol).cloned();
        let of_loop = symbol.checked_sub(self.parameters.len());
        let of_loop = of_loop.and_then(|symbol| Some(self.loops.get(symbol)?.name.clone()));
        parameter
            .or(of_loop)
            .unwrap_or_else(|| format!("?{symbol}"))
    }

    fn sum(&self, polynomial: &Polynomial) -> FormulaSum {
        let terms = polynomial.terms().map(|(monomial, coefficient)| {
            let factors = monomial.iter().map(|&symbol| self.name(symbol));
            (coefficient.to_string(), factors.collect())
        });
        FormulaSum {
            text: polynomial.text(|symbol| self.name(symbol)),
            terms: terms.collect(),
        }
    }

    /// Condition `polynomial >= 0`, with positive terms on both sides.
    fn condition(&self, polynomial: &Polynomial) -> String {
        let (mut left, mut right) = (Polynomial::default(), Polynomial::default());
        for (monomial, coefficient) in polynomial.terms() {
            match coefficient.is_negative() {
                true => right.add_term(monomial.clone(), -coefficient),
                false => left.add_term(monomial.clone(), coefficient.clone()),
            }
        }
        let text = |side: &Polynomial| side.text(|symbol| self.name(symbol));
        match left.number().is_some() {
            true => format!("{} <= {}", text(&right), text(&left)),
            false => format!("{} >= {}", text(&left), text(&right)),
        }
    }

    fn range(&self) -> Vec<String> {
        let mut range = Vec::new();
        for (parameter, name) in self.parameters.iter().enumerate() {
            let least = self.least.get(parameter).copied().unwrap_or(1);
            range.push(
                match self.most.get(parameter).filter(|most| **most < u64::MAX) {
                    Some(most) => format!("{least} <= {name} <= {most}"),
                    None => format!("{name} >= {least}"),
                },
            );
        }
        let counted = self.loops.iter().filter(|l| l.count.is_none());
        range.extend(counted.map(|l| format!("{} >= 1", l.name)));
        range
    }

    /// Definitions of the counts that are named in the text.
    fn definitions(&self, used: &BTreeSet<usize>) -> Vec<String> {
        let loops = self.loops.iter().enumerate();
        let named = loops.filter(|(symbol, _)| used.contains(&(self.parameters.len() + symbol)));
        named
            .filter_map(|(_, of_loop)| {
                let count = of_loop.count.as_ref()?;
                Some(format!("{} = {}", of_loop.name, self.expression(count)))
            })
            .collect()
    }

    fn expression(&self, count: &CountExpression) -> String {
        let numerator = count.numerator.text(|symbol| self.name(symbol));
        let quotient = match count.divisor {
            0 | 1 => numerator,
            divisor if count.numerator.terms().count() > 1 => {
                format!("ceil(({numerator}) / {divisor})")
            }
            divisor => format!("ceil({numerator} / {divisor})"),
        };
        let sum = match count.added {
            0 => quotient,
            added if added < 0 => format!("{quotient} - {}", added.unsigned_abs()),
            added => format!("{quotient} + {added}"),
        };
        format!("max({}, {sum})", count.least)
    }
}

/// Whether `polynomial` is at least 0 for all parameters from their minimum values on. If it has only one parameter,
/// the minimum of the parameter is raised to make this true, up to its maximum.
fn is_reached(polynomial: &Polynomial, least: &mut [u64], most: &[u64]) -> bool {
    if polynomial.shifted(least).has_no_negative_term() {
        return true;
    }
    let mut symbols = polynomial
        .terms()
        .filter(|(monomial, _)| !monomial.is_empty());
    let (Some((monomial, slope)), None) = (symbols.next(), symbols.next()) else {
        return false;
    };
    let ([parameter], true) = (monomial.as_slice(), slope.is_positive()) else {
        return false;
    };
    let zero = BigRational::zero();
    let constant = polynomial.coefficient(&Vec::new()).unwrap_or(&zero);
    let from = (-constant / slope).ceil().to_integer().max(BigInt::zero());
    match (u64::try_from(from), least.get_mut(*parameter)) {
        (Ok(from), Some(least)) if most.get(*parameter).is_some_and(|most| from <= *most) => {
            *least = from.max(*least);
            true
        }
        _ => false,
    }
}
