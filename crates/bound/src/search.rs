use crate::exact::{Exact, Nudged};
use crate::linear::Linear;
use crate::repair::Repair;
use crate::simplex::Simplex;

/// The best integer point a bounded depth-first branch and bound finds below the solved relaxation `root`.
///
/// Returns a point of the program's columns. It need not be optimal, and finding none proves nothing; the bound never
/// rests on this search.
pub(crate) fn integer_point(linear: &Linear, root: &Simplex, nodes: usize) -> Option<Vec<Exact>> {
    let mut root = root.clone();
    root.forget_nudges();
    let ceiling = objective(linear, &root.point()).floor();
    let mut best: Option<(Exact, Vec<Exact>)> = None;
    let mut open: Vec<Vec<Split>> = vec![Vec::new()];
    for _ in 0..nodes {
        let Some(splits) = open.pop() else {
            break;
        };
        let mut node = root.clone();
        for split in &splits {
            node.restrict(split.column, split.lower.clone(), split.upper.clone());
        }
        let end = node.repair();
        root.charge(&node);
        if end != Repair::Optimal {
            continue;
        }
        let point = node.point();
        let value = objective(linear, &point).floor();
        if best.as_ref().is_some_and(|(least, _)| value <= *least) {
            continue;
        }
        let Some(column) = most_fractional(&point) else {
            let reached = value == ceiling;
            best = Some((value, point));
            if reached {
                break;
            }
            continue;
        };
        let below = point[column].floor();
        let down = Split {
            column,
            lower: None,
            upper: Some(below.clone()),
        };
        let up = Split {
            column,
            lower: Some(below.add(&Exact::ONE)),
            upper: None,
        };
        // The nearer side is pushed last, so it is tried first.
        let fraction = point[column].sub(&below);
        let order = if fraction.add(&fraction) < Exact::ONE {
            [up, down]
        } else {
            [down, up]
        };
        for split in order {
            let mut splits = splits.clone();
            splits.push(split);
            open.push(splits);
        }
    }
    best.map(|(_, point)| point)
}

#[derive(Clone, Debug)]
struct Split {
    column: usize,
    lower: Option<Exact>,
    upper: Option<Exact>,
}

fn objective(linear: &Linear, point: &[Exact]) -> Exact {
    let mut sum = Exact::ZERO;
    for (cost, value) in linear.cost.iter().zip(point) {
        sum = sum.add(&cost.mul(value));
    }
    sum
}

/// The column whose value is furthest from an integer, the first of them.
fn most_fractional(point: &[Exact]) -> Option<usize> {
    let mut best: Option<(Exact, usize)> = None;
    for (column, value) in point.iter().enumerate().filter(|(_, v)| !v.is_integer()) {
        let fraction = value.sub(&value.floor());
        let rest = Exact::ONE.sub(&fraction);
        let distance = fraction.min(rest);
        if best.as_ref().is_none_or(|(most, _)| distance > *most) {
            best = Some((distance, column));
        }
    }
    best.map(|(_, column)| column)
}

impl Simplex {
    /// Tightens the bounds of one of the program's columns.
    fn restrict(&mut self, column: usize, lower: Option<Exact>, upper: Option<Exact>) {
        if let Some(lower) = lower.map(Nudged::plain) {
            self.raise_lower(column, lower);
        }
        if let Some(upper) = upper.map(Nudged::plain) {
            self.reduce_upper(column, upper);
        }
    }
}
