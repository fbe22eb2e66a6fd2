//! Printer of operations on matrices and of copies. For example, a product of 16 rows of 8 halves by 8 columns:
//! `R4, R5, R6, R7 = matrix_product.16.8.f16.f16.f32.aligned8_24 a(R8, R9) b(R10) c(R4, R5, R6, R7)`.

use std::fmt;

use warpbound_base::Named;

use super::print::{Dest, write_dests, write_field};
use crate::{MatrixRegisters, Meaning};

/// Writes an operation on matrices or a copy; nothing for other meanings.
pub(super) fn write(f: &mut fmt::Formatter<'_>, meaning: &Meaning) -> fmt::Result {
    match meaning {
        Meaning::MatrixProduct(product) => {
            write_dests(f, product.dests.iter().copied().map(Dest))?;
            let [a, b] = product.factors.map(Named::name);
            let (sums, rule) = (product.sums.name(), product.rule.name());
            let (rows, depth) = (product.rows, product.depth);
            write!(f, "matrix_product.{rows}.{depth}.{a}.{b}.{sums}.{rule}")?;
            write_field(f, "a", &product.a)?;
            write_field(f, "b", &product.b)?;
            write_field(f, "c", &product.c)
        }
        Meaning::MatrixTranspose(transpose) => {
            write_dests(f, [Dest(transpose.dest)])?;
            write!(f, "matrix_transpose value({})", transpose.value)
        }
        Meaning::MatrixAccess(access) => {
            let order = match access.transposes {
                true => ".transposed",
                false => "",
            };
            match &access.registers {
                MatrixRegisters::Load(dests) => {
                    write_dests(f, dests.iter().copied().map(Dest))?;
                    write!(f, "matrix_load{order} {}", access.address)
                }
                MatrixRegisters::Store(values) => {
                    write!(f, "matrix_store{order} {}", access.address)?;
                    write_field(f, "values", values)
                }
            }
        }
        Meaning::MemoryCopy(copy) => {
            let padding = match copy.pads {
                true => ".padded",
                false => "",
            };
            write!(
                f,
                "copy.{}{padding} {} from {}",
                copy.bytes, copy.to, copy.from
            )?;
            write!(f, " reads({})", copy.reads)
        }
        _ => Ok(()),
    }
}
