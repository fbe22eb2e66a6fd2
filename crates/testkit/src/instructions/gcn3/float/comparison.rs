//! Comparisons of floats, and their classes.

use super::super::FloatKind::{self, F16, F32, F64};
use super::super::exact::Number;
use super::super::lane_rule::{Compute, LaneEnv, LaneOutput, LaneRule};
use super::super::{ComparedBits, Kind};
use super::mode::{FloatMode, rank};
use super::rules::kind_of;

/// Comparisons: `nlt_f32`, `class_f64`.
pub(in crate::instructions::gcn3) fn comparison(name: &str) -> Option<LaneRule> {
    let (condition, kind) = name.split_once('_')?;
    let kind = match kind {
        "f16" => F16,
        "f32" => F32,
        "f64" => F64,
        _ => return None,
    };
    let operand = kind_of(kind);
    let (inputs, compute): (Vec<Kind>, Compute) = if condition == "class" {
        let second = if kind == F16 { Kind::U16 } else { Kind::U32 };
        let compute = move |_: &LaneEnv, x: &[u64]| Some((0, x[1] >> class(kind, x[0]) & 1 == 1));
        (vec![operand, second], Box::new(compute))
    } else {
        let holds = condition_holds(condition)?;
        let compute = move |env: &LaneEnv, x: &[u64]| {
            let mode = FloatMode::of(kind, env.mode);
            let order = |bits: u64| match mode.input(bits) {
                Number::Nan(_) => None,
                Number::Finite(x) if x.is_zero() => Some(0),
                _ => Some(rank(kind, bits) + i128::from(bits & kind.sign(true) != 0)),
            };
            let order = order(x[0]).zip(order(x[1])).map(|(a, b)| a.cmp(&b));
            Some((0, holds(order)))
        };
        (vec![operand, operand], Box::new(compute))
    };
    Some(LaneRule {
        inputs,
        output: LaneOutput::Mask,
        reads_destination: false,
        compute,
        compare: ComparedBits::Exact,
    })
}

type Order = Option<std::cmp::Ordering>;

fn condition_holds(condition: &str) -> Option<fn(Order) -> bool> {
    use std::cmp::Ordering::{Equal, Greater, Less};
    Some(match condition {
        "f" => |_| false,
        "lt" => |order| order == Some(Less),
        "eq" => |order| order == Some(Equal),
        "le" => |order| matches!(order, Some(Less | Equal)),
        "gt" => |order| order == Some(Greater),
        "lg" => |order| matches!(order, Some(Less | Greater)),
        "ge" => |order| matches!(order, Some(Greater | Equal)),
        "o" => |order| order.is_some(),
        "u" => |order| order.is_none(),
        "nge" => |order| !matches!(order, Some(Greater | Equal)),
        "nlg" => |order| !matches!(order, Some(Less | Greater)),
        "ngt" => |order| order != Some(Greater),
        "nle" => |order| !matches!(order, Some(Less | Equal)),
        "neq" => |order| order != Some(Equal),
        "nlt" => |order| order != Some(Less),
        "tru" => |_| true,
        _ => return None,
    })
}

/// Number of the class of a float in the mask of `v_cmp_class`.
fn class(kind: FloatKind, bits: u64) -> u32 {
    let positive = match kind.decode(bits) {
        Number::Nan(true) => return 0,
        Number::Nan(false) => return 1,
        Number::Infinite(_) => 9,
        Number::Finite(x) if x.is_zero() => 6,
        Number::Finite(_) if kind.is_subnormal(bits) => 7,
        Number::Finite(_) => 8,
    };
    match bits & kind.sign(true) {
        0 => positive,
        // The classes of negative numbers are in the opposite order.
        _ => 11 - positive,
    }
}
