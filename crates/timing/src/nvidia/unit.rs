//! Execution units: occupancy, competition and queues.

use warpbound_isa::nvidia::ExecUnit;
use warpbound_machine::Parameter;

/// Behaviour of an execution unit in the timing model.
pub trait UnitModel: Copy {
    /// Parameter of the cycles for which a warp instruction occupies the unit; `None` for a unit that is never busy.
    fn occupancy(self) -> Option<Parameter>;

    /// Whether an instruction for this unit can delay one for another unit.
    fn competes(self, other: ExecUnit) -> bool;

    /// Whether instructions wait for the unit in a queue while their warp continues.
    fn is_queued(self) -> bool;
}

impl UnitModel for ExecUnit {
    #[inline]
    fn occupancy(self) -> Option<Parameter> {
        Some(match self {
            ExecUnit::None => return None,
            ExecUnit::Fxu => Parameter::OccupancyFxu,
            ExecUnit::Fmai | ExecUnit::Math => Parameter::OccupancyFmai,
            ExecUnit::Xu => Parameter::OccupancyXu,
            ExecUnit::Fp64 => Parameter::OccupancyFp64,
            ExecUnit::Fp16 => Parameter::OccupancyFp16,
            ExecUnit::Lsu => Parameter::OccupancyLsu,
        })
    }

    #[inline]
    fn competes(self, other: ExecUnit) -> bool {
        let pipe = |unit| matches!(unit, ExecUnit::Fxu | ExecUnit::Fmai);
        match (self, other) {
            (ExecUnit::None, _) => false,
            (ExecUnit::Math, other) => other == ExecUnit::Math || pipe(other),
            (own, ExecUnit::Math) => pipe(own),
            (own, other) => own == other,
        }
    }

    #[inline]
    fn is_queued(self) -> bool {
        matches!(
            self,
            ExecUnit::Xu | ExecUnit::Fp64 | ExecUnit::Fp16 | ExecUnit::Lsu
        )
    }
}
