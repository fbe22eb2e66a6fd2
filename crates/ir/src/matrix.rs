//! Operations on matrices whose elements are spread over the registers of a warp: products (`HMMA`, `IMMA`, `DMMA`, `QMMA`,
//! `BMMA`), transpositions (`MOVM`), and moves between registers and shared memory (`LDSM`, `STSM`).
//!
//! Each lane holds a *fragment* of a matrix. PTX's `mma`, `ldmatrix` and `movmatrix` define the layout of fragments, because
//! compilers translate each of these into one instruction with the same registers. For example, lane 5 of a product
//! with 16 rows has the elements (1, 2) and (1, 3) of the result in its first two registers.

mod arithmetic;
mod layout;
mod units;

use smallvec::SmallVec;

use crate::{Address, Cell, Expr};
use arithmetic::Factor;

pub use arithmetic::{ElementFormat, ElementKind, SumFormat, SumRule};
pub use layout::{Fragment, transposed};

/// Lanes that hold the fragments.
pub(crate) const LANES: usize = 32;

/// Columns of the second factor and of the result, in every shape that the instructions have.
pub(crate) const COLUMNS: usize = 8;

/// Product of two matrices plus a third one: `d = a * b + c` (PTX manual, `mma`).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MatrixProduct {
    /// Rows of `a`, `c` and `d`: 8 or 16. `b`, `c` and `d` have 8 columns.
    pub rows: u8,
    /// Columns of `a` and rows of `b`.
    pub depth: u16,
    /// Formats of the elements of `a` and `b`.
    pub factors: [ElementFormat; 2],
    /// Format of the elements of `c` and `d`.
    pub sums: SumFormat,
    /// Way in which products are added.
    pub rule: SumRule,
    /// Words of each lane's fragment of `a`.
    pub a: Vec<Expr>,
    /// Words of each lane's fragment of `b`.
    pub b: Vec<Expr>,
    /// Words of each lane's fragment of `c`.
    pub c: Vec<Expr>,
    /// Destinations of the words of each lane's fragment of `d`.
    pub dests: Vec<Option<Cell>>,
}

impl MatrixProduct {
    /// Makes a product without words, for example to ask for its [`fragments`](MatrixProduct::fragments).
    pub fn without_words(
        rows: u8,
        depth: u16,
        factors: [ElementFormat; 2],
        sums: SumFormat,
        rule: SumRule,
    ) -> MatrixProduct {
        MatrixProduct {
            rows,
            depth,
            factors,
            sums,
            rule,
            a: Vec::new(),
            b: Vec::new(),
            c: Vec::new(),
            dests: Vec::new(),
        }
    }

    /// Layouts of `a`, `b`, and `c` and `d`.
    pub fn fragments(&self) -> [Fragment; 3] {
        let (rows, depth) = (usize::from(self.rows), usize::from(self.depth));
        let [a, b] = self.factors.map(ElementFormat::bits);
        [
            Fragment::of_factor(rows, depth, a),
            Fragment::of_factor(COLUMNS, depth, b),
            Fragment::of_sums(rows, COLUMNS, self.sums.bits()),
        ]
    }

    /// Whether each fragment has as many words as its shape needs, and the formats go with the rule.
    pub fn is_consistent(&self) -> bool {
        let [a, b, sums] = self.fragments().map(Fragment::word_count);
        let has_words = [self.a.len(), self.b.len()] == [a, b]
            && [self.c.len(), self.dests.len()] == [sums, sums];
        let is_of = |kind: ElementKind| self.factors.iter().all(|format| format.kind() == kind);
        let has_formats = match (self.rule, self.sums) {
            (SumRule::Aligned { .. }, SumFormat::F16 | SumFormat::F32) => is_of(ElementKind::Float),
            (SumRule::Fused, SumFormat::F64) => is_of(ElementKind::Double),
            (SumRule::Wrapping | SumRule::Saturating, SumFormat::S32) => {
                is_of(ElementKind::Integer)
            }
            (SumRule::CountCommon | SumRule::CountDifferent, SumFormat::S32) => {
                is_of(ElementKind::Bit)
            }
            _ => false,
        };
        // Lines are divided among four lanes by whole runs.
        let has_lines = self.fragments().iter().all(|of| of.has_whole_runs());
        let [a_bits, b_bits] = self.factors.map(ElementFormat::bits);
        has_words && has_formats && has_lines && a_bits == b_bits
    }

    /// Computes the words of all fragments of `d` from the words of all fragments of `a`, `b` and `c`, each with the values
    /// of all lanes.
    pub fn multiply(
        &self,
        a: &[[u32; LANES]],
        b: &[[u32; LANES]],
        c: &[[u32; LANES]],
    ) -> Vec<[u32; LANES]> {
        // `chunks` refuses lines without elements.
        let depth = usize::from(self.depth).max(1);
        let [rows, columns, sums] = self.fragments();
        let [a_format, b_format] = self.factors;
        let (a, b, mut d) = (rows.elements(a), columns.elements(b), sums.elements(c));
        for (row, results) in a.chunks(depth).zip(d.chunks_mut(COLUMNS)) {
            for (column, result) in b.chunks(depth).zip(results) {
                let a = Factor {
                    format: a_format,
                    elements: row,
                };
                let b = Factor {
                    format: b_format,
                    elements: column,
                };
                *result = self.rule.add_products(self.sums, *result, a, b);
            }
        }
        sums.words(&d)
    }
}

/// Transposition of a matrix of 8 by 8 elements of 16 bits (PTX manual, `movmatrix`).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MatrixTranspose {
    /// Word of each lane's fragment.
    pub value: Expr,
    /// Destination of the word of the transposed matrix.
    pub dest: Option<Cell>,
}

/// Load or store of one, two or four matrices of 8 by 8 elements of 16 bits in shared memory (PTX manual, `ldmatrix`,
/// `stmatrix`). Lane 8 i + j gives the address of row j of matrix i.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MatrixAccess {
    /// Whether fragments hold the transposed matrices.
    pub transposes: bool,
    /// Address of a row of 16 bytes.
    pub address: Address,
    /// Registers of the fragments, a word for each matrix.
    pub registers: MatrixRegisters,
}

/// Registers of the fragments that a matrix access moves.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum MatrixRegisters {
    /// Destinations of a load.
    Load(SmallVec<[Option<Cell>; 4]>),
    /// Values of a store.
    Store(SmallVec<[Expr; 4]>),
}

impl MatrixAccess {
    /// Bytes of a row.
    pub const ROW_BYTES: u32 = 16;

    /// Rows of a matrix.
    pub const ROWS: usize = 8;

    /// Number of matrices.
    pub fn matrices(&self) -> usize {
        match &self.registers {
            MatrixRegisters::Load(dests) => dests.len(),
            MatrixRegisters::Store(values) => values.len(),
        }
    }
}

/// Copy from global to shared memory that no register passes (`LDGSTS`; PTX manual, `cp.async`). The copy is complete after a
/// wait of its thread for it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MemoryCopy {
    /// Bytes that are written: 4, 8 or 16.
    pub bytes: u8,
    /// Address in shared memory.
    pub to: Address,
    /// Address in global memory; with `pads`, its low bits are no part of it.
    pub from: Address,
    /// 0 in lanes that write zeros, and read nothing.
    pub reads: Expr,
    /// Whether the low bits of `from` are the number of bytes at the end of the destination that receive zeros, and no part
    /// of the address.
    pub pads: bool,
}
