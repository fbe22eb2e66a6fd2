//! Quadratic interpolation, as the multifunction unit computes it (S. Oberman and M. Siu, "A high-performance area-efficient
//! multifunction interpolator", ARITH 2005; widths and rounding: B. Carleton, github.com/bcarlet/ptx-math).
//!
//! The upper bits of a fraction select a cell with three coefficients, and the lower ones are the distance in the cell. The
//! unit squares the distance without the lowest columns of the partial products, adds the three terms and a constant, and cuts
//! the sum off.

use super::coefficients::{self, Coefficients};

/// Bits of the fraction of a single.
const FRACTION: u32 = 23;

/// Columns of partial products that the squarer leaves out.
const DROPPED_COLUMNS: u32 = 19;
/// Rows of partial products that reach into these columns.
const DROPPED_ROWS: u32 = 9;

/// Interpolation of one function.
pub(super) struct Interpolation {
    table: &'static [Coefficients],
    /// Bits of the fraction that select the cell.
    cell_bits: u32,
    /// Positions of the constant and of the linear coefficient above the quadratic one.
    shifts: [u32; 2],
    /// Whether the linear and the quadratic term are subtracted.
    subtracts: [bool; 2],
    /// The distance is squared with one more bit, whose columns are dropped then as well.
    squares_double: bool,
    /// Constant that is added before the sum is cut off.
    bias: u64,
    /// Bit of the sum that stands for 1.
    pub(super) one: u32,
}

pub(super) const RCP: Interpolation = Interpolation {
    table: &coefficients::RCP,
    cell_bits: 7,
    shifts: [30, 17],
    subtracts: [true, false],
    squares_double: true,
    bias: 0xcfce_0000,
    one: 56,
};

pub(super) const SQRT: Interpolation = Interpolation {
    table: &coefficients::SQRT,
    cell_bits: 6,
    shifts: [33, 18],
    subtracts: [false, true],
    squares_double: false,
    bias: 0x3_fffc_0000,
    one: 58,
};

pub(super) const RSQRT: Interpolation = Interpolation {
    table: &coefficients::RSQRT,
    cell_bits: 6,
    shifts: [31, 17],
    subtracts: [true, false],
    squares_double: false,
    bias: 0x1_fffe_0000,
    one: 57,
};

pub(super) const SIN: Interpolation = Interpolation {
    table: &coefficients::SIN,
    cell_bits: 6,
    shifts: [31, 19],
    subtracts: [false, true],
    squares_double: false,
    bias: 0,
    one: 56,
};

pub(super) const LG2: Interpolation = Interpolation {
    table: &coefficients::LG2,
    cell_bits: 6,
    shifts: [30, 18],
    subtracts: [false, true],
    squares_double: false,
    bias: 0x1_0d16_0000,
    one: 56,
};

pub(super) const EX2: Interpolation = Interpolation {
    table: &coefficients::EX2,
    cell_bits: 6,
    shifts: [32, 19],
    subtracts: [false, false],
    squares_double: false,
    bias: 0x1_bf10_0000,
    one: 57,
};

impl Interpolation {
    /// Sum for a fraction of 23 bits. `second` selects the second half of a table for operands of both parities of the
    /// exponent.
    pub(super) fn sum(&self, fraction: u32, second: bool) -> u64 {
        let distance_bits = FRACTION - self.cell_bits;
        let distance = u64::from(fraction & ((1 << distance_bits) - 1));
        // Roots have a table for x and one for 2x, because the exponent of a root is half the operand's.
        let half = u32::from(second) << self.cell_bits;
        let cell = (fraction >> distance_bits & ((1 << self.cell_bits) - 1)) + half;
        let row = self.table.get(cell as usize).copied().unwrap_or_default();
        let [constant, linear, quadratic] = row.map(u64::from);
        // The reciprocal squares twice the distance, so that other partial products are cut off.
        let square = match self.squares_double {
            true => truncated_square(2 * distance) >> 2,
            false => truncated_square(distance),
        };
        let signed = |term: u64, subtracts: bool| match subtracts {
            true => term.wrapping_neg(),
            false => term,
        };
        let [constant_shift, linear_shift] = self.shifts;
        (constant << constant_shift)
            .wrapping_add(signed(
                (linear * distance) << linear_shift,
                self.subtracts[0],
            ))
            .wrapping_add(signed(quadratic * square, self.subtracts[1]))
            .wrapping_add(self.bias)
    }

    /// The 23 bits of a sum below its leading bit.
    pub(super) fn fraction_of(&self, sum: u64) -> u32 {
        (sum >> (self.one - FRACTION)) as u32 & ((1 << FRACTION) - 1)
    }
}

/// Square of a number of at most 17 bits without the partial products in the lowest columns.
fn truncated_square(x: u64) -> u64 {
    let kept = (1u64 << DROPPED_COLUMNS) - 1;
    // Each bit times itself; then each bit times the higher bits, twice.
    let diagonal = (0..u64::BITS / 2).fold(0, |sum, bit| sum | (x >> bit & 1) << (2 * bit));
    let row = |bit: u32| match x >> bit & 1 {
        0 => 0,
        _ => x >> (bit + 1) << (2 * bit + 2),
    };
    let dropped = (0..DROPPED_ROWS).fold(diagonal & kept, |sum, bit| sum + (row(bit) & kept));
    x * x - dropped
}
