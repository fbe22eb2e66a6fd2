//! Meaning of instructions from Volta to Blackwell.

use warpbound_isa::View;
use warpbound_isa::nvidia::Opcode;

use crate::Meaning;

/// Returns the meaning of an instruction; `None` if it is unknown.
pub(crate) fn meaning(view: &View) -> Option<Meaning> {
    match view.opcode {
        // Control operations, fences and waits have no effect on data.
        Opcode::Nop
        | Opcode::Bra
        | Opcode::Exit => Some(Meaning::nothing()),
        _ => None,
    }
}
