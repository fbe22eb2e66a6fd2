//! Rules of lanes for operations on floats.

use super::super::FloatKind::{self, F16, F32, F64};
use super::super::lane_rule::{LaneEnv, LaneOutput, LaneRule};
use super::super::{ComparedBits, Kind};
use super::mode::FloatMode;

pub(in crate::instructions::gcn3) fn kind_of(float: FloatKind) -> Kind {
    match float {
        F16 => Kind::F16,
        F32 => Kind::F32,
        F64 => Kind::F64,
    }
}

/// Operation of one format.
pub(in crate::instructions::gcn3) fn of_one(
    kind: FloatKind,
    sources: usize,
    compute: impl Fn(FloatMode, &[u64]) -> u64 + 'static,
) -> Option<LaneRule> {
    let operand = kind_of(kind);
    Some(LaneRule {
        inputs: vec![operand; sources],
        output: LaneOutput::Value(operand),
        reads_destination: false,
        compute: Box::new(move |env: &LaneEnv, x: &[u64]| {
            Some((compute(FloatMode::of(kind, env.mode), x), false))
        }),
        compare: ComparedBits::of(kind),
    })
}

/// Operation with a result of another kind.
pub(in crate::instructions::gcn3) fn to_other(
    inputs: &[Kind],
    output: Kind,
    compute: impl Fn(&LaneEnv, &[u64]) -> u64 + 'static,
) -> Option<LaneRule> {
    Some(LaneRule {
        inputs: inputs.to_vec(),
        output: LaneOutput::Value(output),
        reads_destination: false,
        compute: Box::new(move |env: &LaneEnv, x: &[u64]| Some((compute(env, x), false))),
        compare: output.float().map_or(ComparedBits::Exact, ComparedBits::of),
    })
}
