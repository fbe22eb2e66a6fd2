//! Registers of a wave when a kernel begins, if their contents have a name (AMDGPU backend of LLVM, "Initial Kernel
//! Execution State"). For example, a kernel whose only user registers are the 2 words of the kernarg pointer finds
//! that address in `s[0:1]` and, if it asks for it, its block index in s2.

use warpbound_isa::{Axis, SpecialReg};
use warpbound_load::GcnDescriptor;

use crate::{Cell, Code, Expr};

/// User registers by their bit in the code properties: the number of words, and the offset of their content in
/// [`Code::POINTER_BANK`] if it has one.
const USER_REGISTERS: [(u32, u8, Option<u32>); 10] = [
    (0, 4, None),
    (1, 2, Some(Code::DISPATCH_POINTER)),
    (2, 2, None),
    (3, 2, Some(Code::KERNARG_POINTER)),
    (4, 2, None),
    (5, 2, None),
    (6, 1, None),
    (7, 1, None),
    (8, 1, None),
    (9, 1, None),
];

const AXES: [Axis; 3] = [Axis::X, Axis::Y, Axis::Z];

/// Contents of cells when the kernel begins.
pub(super) fn values(descriptor: &GcnDescriptor) -> Vec<(Cell, Expr)> {
    let mut values = Vec::new();
    let mut first = 0;
    for (property, words, pointer) in USER_REGISTERS {
        if !descriptor.has(1 << property) {
            continue;
        }
        if let Some(offset) = pointer {
            for (word, offset) in [(0, offset), (1, offset + 4)] {
                let content = Expr::Constant(Code::POINTER_BANK, Expr::Const(offset).into());
                values.push((Cell::scalar(first + word), content));
            }
        }
        first += words;
    }
    // System registers follow the user registers, whose number is in the descriptor.
    let mut next = descriptor.user_registers() as u8;
    for (number, axis) in (0..).zip(AXES) {
        if descriptor.has_block_index(number) {
            values.push((
                Cell::scalar(next),
                Expr::Special(SpecialReg::BlockIndex(axis)),
            ));
            next += 1;
        }
    }
    let indices = descriptor.index_registers().min(3) as u8;
    for (number, axis) in (0..indices).zip(AXES) {
        values.push((
            Cell::gpr(number),
            Expr::Special(SpecialReg::ThreadIndex(axis)),
        ));
    }
    values
}
