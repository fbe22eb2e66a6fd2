//! Compilation of operations on matrices and of copies to shared memory.

use warpbound_ir::{
    BinaryOp, Expr, MatrixAccess, MatrixProduct, MatrixRegisters, MemoryCopy, Width,
};
use warpbound_isa::instr::MemorySpace;

use super::compile::Compiler;
use super::program::{CopyEffect, FragmentSlots, MatrixAccessEffect, ProductEffect};
use super::steps::Steps;

impl<const W: usize> Compiler<'_, W> {
    /// Compiles a product; `None` if a register is not modelled.
    pub(super) fn compile_product(
        &mut self,
        product: &MatrixProduct,
        steps: &mut Steps,
    ) -> Option<ProductEffect> {
        Some(ProductEffect {
            a: self.compile_exprs(&product.a, steps)?,
            b: self.compile_exprs(&product.b, steps)?,
            c: self.compile_exprs(&product.c, steps)?,
            dests: self.optional_dests(&product.dests)?,
            // The expressions are compiled; what remains are shape, formats and arithmetic.
            product: MatrixProduct::without_words(
                product.rows,
                product.depth,
                product.factors,
                product.sums,
                product.rule,
            ),
        })
    }

    /// Compiles an access of matrices; `None` if a register is not modelled.
    pub(super) fn compile_matrix_access(
        &mut self,
        access: &MatrixAccess,
        steps: &mut Steps,
    ) -> Option<MatrixAccessEffect> {
        let registers = match &access.registers {
            MatrixRegisters::Load(dests) => FragmentSlots::Load(self.optional_dests(dests)?),
            MatrixRegisters::Store(values) => {
                FragmentSlots::Store(self.compile_exprs(values, steps)?)
            }
        };
        let space = MemorySpace::Shared;
        Some(MatrixAccessEffect {
            transposes: access.transposes,
            access: self.memory_operand(space, Width::Words, &access.address, steps)?,
            registers,
        })
    }

    /// Compiles a copy; `None` if an address is not modelled.
    pub(super) fn compile_copy(
        &mut self,
        copy: &MemoryCopy,
        steps: &mut Steps,
    ) -> Option<CopyEffect> {
        // Sizes are powers of two, so the low bits of an aligned address are 0.
        let low_bits = u32::from(copy.bytes) - 1;
        let mut from = copy.from.clone();
        let padding = match copy.pads {
            true => {
                let bits =
                    |mask| Expr::binary(BinaryOp::And, copy.from.low.clone(), Expr::Const(mask));
                from.low = bits(!low_bits);
                Some(self.compile_slot(&bits(low_bits), steps)?)
            }
            false => None,
        };
        Some(CopyEffect {
            bytes: copy.bytes.into(),
            to: self.memory_operand(MemorySpace::Shared, Width::Words, &copy.to, steps)?,
            from: self.memory_operand(MemorySpace::Global, Width::Words, &from, steps)?,
            reads: self.compile_slot(&copy.reads, steps)?,
            padding,
        })
    }
}
