//! Search for an integer point on the optimal face of the relaxation.
//!
//! Most programs of kernels have an integer optimum with the relaxation's objective, and the relaxation's vertex
//! differs from it in a few counts. A few exact steps along the optimal face find it, where the integer solver would
//! start from scratch.

use crate::exact::Rational;
use crate::integer::integral;
use crate::reduce::Reduced;
use crate::simplex::Simplex;

/// Maximum number of counts to round before the search gives up.
const MAX_ROUNDED: usize = 64;

/// Finds an integer point of the original program of `reduced` with the objective of the optimum in `simplex`. `None`
/// if these steps reach none, although there may be one.
///
/// Fractional counts are lowered to the next integer one after the other, or raised where that is not possible, and
/// fixed there. The point satisfies the rows exactly; `simplex` is left at another optimum, with narrower bounds.
pub(crate) fn integer_optimum(simplex: &mut Simplex, reduced: &Reduced) -> Option<Vec<u128>> {
    // All moves on the optimal face keep the objective, so an integer point there has the objective of the optimum.
    simplex.restrict_to_optimal_face();
    for _ in 0..MAX_ROUNDED {
        let point = simplex.point();
        if let Some(point) = integral(&reduced.expand_point(&point)) {
            return Some(point);
        }
        let is_fraction = |value: &Rational| !value.to_big().is_integer();
        let column = point.iter().position(is_fraction)?;
        let value = point[column].to_big();
        let reached = simplex.lower_to(column, Rational::big(value.floor()))
            || simplex.raise_to(column, Rational::big(value.ceil()));
        if !reached {
            return None;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use warpbound_base::Deadline;

    use super::*;
    use crate::linear::LinearProgram;
    use crate::model::{IntegerProgram, Relation};
    use crate::simplex::SimplexOutcome;

    /// Program with variables `a` and `b` with these costs and rows `p a + q b <= r`.
    fn model(costs: [i64; 2], rows: &[(i64, i64, i128)]) -> IntegerProgram {
        let mut model = IntegerProgram::new();
        let [a, b] = costs.map(|cost| model.add_var("count", cost, None));
        for &(p, q, most) in rows {
            model.add_row("row", "given", [(a, p), (b, q)], Relation::Le, most);
        }
        model
    }

    /// Integer optimum found from a fractional optimum.
    fn found(model: &IntegerProgram) -> Option<Vec<u128>> {
        let reduced = Reduced::new(&LinearProgram::relax(model));
        let mut simplex =
            Simplex::new(&reduced.linear, 1000, Deadline::default()).expect("a basis");
        assert!(matches!(simplex.run(), SimplexOutcome::Optimal));
        let vertex = reduced.expand_point(&simplex.point());
        assert!(integral(&vertex).is_none(), "{vertex:?}");
        integer_optimum(&mut simplex, &reduced)
    }

    #[test]
    fn a_fraction_is_lowered_or_raised_along_the_optima() {
        let lowered = model([1, 1], &[(1, 1, 3), (2, 0, 3)]);
        assert_eq!(found(&lowered), Some(vec![1, 2]));
        let raised = model([1, 2], &[(1, 2, 4), (0, 4, 5)]);
        assert_eq!(found(&raised), Some(vec![2, 1]));
    }

    #[test]
    fn optima_without_integer_point_give_none() {
        let between = model([1, 1], &[(1, 1, 3), (2, 0, 3), (0, 4, 7)]);
        assert_eq!(found(&between), None);
    }
}
