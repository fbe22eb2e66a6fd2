//! Meaning of floating-point instructions.
//!
//! Rounding and subnormal numbers follow MODE; if it is not known, there is no meaning. The bit IEEE must be set
//! wherever a NaN is passed on. It also makes the hardware ignore the output modifier `omod` (GCN3 manual, "Output
//! modifiers"). For example, `v_add_f32` has no meaning where paths with different roundings join.

mod arithmetic;
mod compare;
mod convert;
mod divide;
mod source;
#[cfg(test)]
mod tests;

use warpbound_isa::amd::GcnView;

use crate::Meaning;
use crate::gcn3::MeaningContext;
use crate::gcn3::operands::Operands;
use source::FloatInstr;

/// Returns the meaning; `None` if it is unknown or not a floating-point instruction.
pub(in crate::gcn3) fn meaning(
    view: &GcnView,
    o: &Operands<'_>,
    context: &MeaningContext<'_>,
) -> Option<Meaning> {
    let name = view.opcode.name().strip_prefix("v_")?;
    let instr = FloatInstr {
        modifiers: &view.modifiers,
        o,
        mode: context.mode,
    };
    if let Some(name) = name.strip_prefix("cmp_") {
        return compare::meaning(&instr, name, false);
    }
    if let Some(name) = name.strip_prefix("cmpx_") {
        return compare::meaning(&instr, name, true);
    }
    if let Some(name) = name.strip_prefix("cvt_") {
        return convert::meaning(&instr, name);
    }
    let (name, format) = name.rsplit_once('_')?;
    let format = source::format(format)?;
    match name.strip_prefix("div_") {
        Some(name) => divide::meaning(&instr, name, format),
        None => arithmetic::meaning(&instr, name, format),
    }
}
