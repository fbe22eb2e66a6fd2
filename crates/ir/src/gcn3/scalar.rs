//! Meaning of scalar instructions (SOP1, SOP2, SOPK, SOPC, SOPP) and scalar memory (SMEM). They execute once for the
//! wave, whatever EXEC is.

mod arithmetic;
mod bits;
mod compare;
mod memory;

use warpbound_isa::Reg;
use warpbound_isa::amd::{Encoding, GcnInstr, GcnOpcode, GcnView};

use super::expressions::{constant, ne, or};
use super::operands::Operands;
use crate::{BarrierArrival, Cell, Expr, Meaning};
use GcnOpcode as Op;

/// Returns the meaning; `None` if it is unknown.
pub(super) fn meaning(view: &GcnView, o: &Operands<'_>) -> Option<Meaning> {
    match view.encoding {
        Encoding::Sop2 => arithmetic::meaning(view.opcode, o),
        Encoding::Sop1 => bits::meaning(view.opcode, o),
        Encoding::Sopc => compare::meaning(view.opcode, o),
        Encoding::Sopk => compare::with_constant(view.opcode, o),
        Encoding::Sopp => program(view.opcode),
        Encoding::Smem => memory::meaning(view, o),
        _ => None,
    }
}

/// Whether an instruction writes bits of MODE that make later instructions address registers in another way or be
/// skipped.
pub(super) fn changes_addressing(instr: &GcnInstr) -> bool {
    let is_write = matches!(instr.opcode(), Some(Op::SSetregB32 | Op::SSetregImm32B32));
    let view = instr.view().filter(|_| is_write);
    view.is_some_and(|view| compare::writes_addressing(&Operands::new(&view)))
}

/// SCC after an instruction.
enum ConditionCode {
    /// Not written, or with a value on which sources disagree.
    NoValue,
    /// 1 if the result is not 0.
    NonZero,
    /// Value.
    Is(Expr),
}

/// Assignment of a result of one word or two, and of SCC.
fn set<const N: usize>(o: &Operands<'_>, words: [Expr; N], code: ConditionCode) -> Option<Meaning> {
    let code = match code {
        ConditionCode::NoValue => None,
        ConditionCode::Is(value) => Some(value),
        ConditionCode::NonZero => Some(non_zero(words.clone())),
    };
    o.set(words, code.map(|value| (condition_code(), value)))
}

/// Whether a value of one word or more is not 0.
fn non_zero<const N: usize>(words: [Expr; N]) -> Expr {
    let any = words.into_iter().reduce(or);
    ne(any.unwrap_or(constant(0)), constant(0))
}

/// Cell of SCC.
fn condition_code() -> Cell {
    Cell::of(Reg::SCC)
}

/// Program control. Among these instructions, only barriers affect data.
fn program(opcode: GcnOpcode) -> Option<Meaning> {
    Some(match opcode {
        Op::SBarrier => Meaning::Barrier {
            number: constant(0),
            threads: constant(0),
            arrival: BarrierArrival::Wait,
        },
        Op::SNop
        | Op::SEndpgm
        | Op::SEndpgmSaved
        | Op::SBranch
        | Op::SCbranchScc0
        | Op::SCbranchScc1
        | Op::SCbranchVccz
        | Op::SCbranchVccnz
        | Op::SCbranchExecz
        | Op::SCbranchExecnz
        | Op::SWakeup
        | Op::SWaitcnt
        | Op::SSleep
        | Op::SSetprio
        | Op::SSendmsg
        | Op::SSendmsghalt
        | Op::SIcacheInv
        | Op::SIncperflevel
        | Op::SDecperflevel
        | Op::STtracedata => Meaning::nothing(),
        _ => return None,
    })
}
