//! Arithmetic of matrix units: the sum of a number and some products.
//!
//! Sums of floating-point products differ from IEEE 754. The units align the exact products and the summand to the
//! greatest exponent among them, cut off what lies below a few bits more than a single has, and add the rest as integers:
//! for example, four products at a time on Volta, and 16 on Hopper. A longer row is added block by block, the elements with
//! the lower numbers first. Singles are rounded towards zero, halves to nearest.
//!
//! Sources: Fasi, Higham, Mikaitis and Pranesh, "Numerical behavior of NVIDIA tensor cores" (PeerJ Computer Science, 2021);
//! Khattak and Mikaitis, "Accurate Models of NVIDIA Tensor Cores" (arXiv 2512.07004), whose recorded results of eight GPUs are a
//! test of this module. Three things are assumed: blocks, and products of doubles, are added in the order of their numbers; sums
//! of halves are rounded after each block; integers saturate once, at the end.

use crate::float::{Rounding, double};

/// Format of the elements of a factor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ElementFormat {
    /// binary16.
    F16,
    /// bfloat16.
    Bf16,
    /// The upper 19 bits of a single.
    Tf32,
    /// 8 bits with 4 of exponent; no infinity.
    E4m3,
    /// 8 bits with 5 of exponent.
    E5m2,
    /// binary64.
    F64,
    /// Signed byte.
    S8,
    /// Byte.
    U8,
    /// Signed number of 4 bits.
    S4,
    /// Number of 4 bits.
    U4,
    /// One bit.
    Bit,
}

impl ElementFormat {
    /// Bits of an element in a register.
    pub const fn bits(self) -> usize {
        match self {
            ElementFormat::F16 | ElementFormat::Bf16 => 16,
            ElementFormat::Tf32 => 32,
            ElementFormat::E4m3 | ElementFormat::E5m2 | ElementFormat::S8 | ElementFormat::U8 => 8,
            ElementFormat::F64 => 64,
            ElementFormat::S4 | ElementFormat::U4 => 4,
            ElementFormat::Bit => 1,
        }
    }

    /// Kind of its numbers.
    pub const fn kind(self) -> ElementKind {
        match self {
            ElementFormat::F64 => ElementKind::Double,
            ElementFormat::Bit => ElementKind::Bit,
            ElementFormat::S8 | ElementFormat::U8 | ElementFormat::S4 | ElementFormat::U4 => {
                ElementKind::Integer
            }
            _ => ElementKind::Float,
        }
    }

    /// Value of an integer element.
    fn integer(self, bits: u64) -> i64 {
        match self {
            ElementFormat::S8 => i64::from(bits as i8),
            ElementFormat::S4 => i64::from((bits << 4) as i8 >> 4),
            _ => bits as i64,
        }
    }
}

/// Kind of the numbers of a factor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ElementKind {
    /// Floating-point numbers whose products are added aligned.
    Float,
    /// Doubles.
    Double,
    /// Integers.
    Integer,
    /// Single bits.
    Bit,
}

/// Format of sums.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SumFormat {
    /// binary16.
    F16,
    /// binary32.
    F32,
    /// binary64.
    F64,
    /// Signed word.
    S32,
}

impl SumFormat {
    /// Bits of a sum.
    pub const fn bits(self) -> usize {
        match self {
            SumFormat::F16 => 16,
            SumFormat::F32 | SumFormat::S32 => 32,
            SumFormat::F64 => 64,
        }
    }
}

/// Way in which products are added.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SumRule {
    /// Blocks of products, aligned with the sum so far and cut off.
    Aligned {
        /// Products of a block.
        terms: u8,
        /// Bits that are kept below the greatest exponent.
        fraction: u8,
    },
    /// One fused multiplication and addition after the other, rounded to nearest.
    Fused,
    /// Integers, modulo 2^32.
    Wrapping,
    /// Integers; sums outside the range become its ends.
    Saturating,
    /// Number of bits that both factors have.
    CountCommon,
    /// Number of bits that one of the factors has.
    CountDifferent,
}

/// Row or column of a factor.
#[derive(Clone, Copy)]
pub(super) struct Factor<'a> {
    pub(super) format: ElementFormat,
    pub(super) elements: &'a [u64],
}

/// Floating-point format with an implied leading bit.
#[derive(Clone, Copy)]
struct Layout {
    /// Bits of the fraction.
    fraction: u32,
    /// Exponent of the smallest normal number.
    lowest: i32,
    /// Bits below the fraction that do not count.
    ignored: u32,
    /// Total width, with the ignored bits.
    width: u32,
    /// Whether only the pattern of all ones is no number, and there is no infinity.
    is_finite: bool,
}

const SINGLE: Layout = Layout {
    fraction: 23,
    lowest: -126,
    ignored: 0,
    width: 32,
    is_finite: false,
};
const HALF: Layout = Layout {
    fraction: 10,
    lowest: -14,
    width: 16,
    ..SINGLE
};

/// A term of a sum.
#[derive(Clone, Copy)]
enum Term {
    Nan,
    /// Infinity; whether it is negative.
    Infinite(bool),
    /// `significand` * 2^(`exponent` - `fraction`). The exponent is one of the format, or the sum of two.
    Finite {
        significand: i64,
        fraction: i32,
        exponent: i32,
    },
}

impl Layout {
    /// Layout of a factor's format; `None` for integers and doubles.
    const fn of_factor(format: ElementFormat) -> Option<Layout> {
        Some(match format {
            ElementFormat::F16 => HALF,
            ElementFormat::Bf16 => Layout {
                fraction: 7,
                width: 16,
                ..SINGLE
            },
            ElementFormat::Tf32 => Layout {
                fraction: 10,
                ignored: 13,
                ..SINGLE
            },
            ElementFormat::E4m3 => Layout {
                fraction: 3,
                lowest: -6,
                width: 8,
                is_finite: true,
                ..SINGLE
            },
            ElementFormat::E5m2 => Layout {
                fraction: 2,
                lowest: -14,
                width: 8,
                ..SINGLE
            },
            _ => return None,
        })
    }

    fn term(self, bits: u64) -> Term {
        let is_negative = bits >> (self.width - 1) & 1 == 1;
        let magnitude = (bits & ((1 << (self.width - 1)) - 1)) >> self.ignored;
        let ones = (1 << (self.width - 1 - self.ignored)) - 1;
        let infinity = ones & !((1 << self.fraction) - 1);
        match self.is_finite {
            true if magnitude == ones => return Term::Nan,
            false if magnitude > infinity => return Term::Nan,
            false if magnitude == infinity => return Term::Infinite(is_negative),
            _ => {}
        }
        let field = (magnitude >> self.fraction) as i32;
        // Subnormal factors count with their value: units do not flush them.
        let hidden = u64::from(field != 0) << self.fraction;
        let significand = (magnitude & ((1 << self.fraction) - 1) | hidden) as i64;
        Term::Finite {
            significand: if is_negative {
                -significand
            } else {
                significand
            },
            fraction: self.fraction as i32,
            exponent: field.max(1) - 1 + self.lowest,
        }
    }
}

impl Term {
    fn times(self, other: Term) -> Term {
        match (self, other) {
            (
                Term::Finite {
                    significand: a,
                    fraction: a_fraction,
                    exponent: a_exponent,
                },
                Term::Finite {
                    significand: b,
                    fraction: b_fraction,
                    exponent: b_exponent,
                },
            ) => Term::Finite {
                significand: a * b,
                fraction: a_fraction + b_fraction,
                exponent: a_exponent + b_exponent,
            },
            (Term::Infinite(a), Term::Infinite(b)) => Term::Infinite(a != b),
            (Term::Infinite(is_negative), Term::Finite { significand, .. })
            | (Term::Finite { significand, .. }, Term::Infinite(is_negative)) => {
                match significand {
                    0 => Term::Nan,
                    _ => Term::Infinite(is_negative != (significand < 0)),
                }
            }
            (Term::Nan, _) | (_, Term::Nan) => Term::Nan,
        }
    }
}

impl SumRule {
    /// Blocks of `terms` products, with `fraction` bits below the greatest exponent.
    pub const fn aligned(terms: u8, fraction: u8) -> SumRule {
        SumRule::Aligned { terms, fraction }
    }

    /// Adds the products of two rows to a sum, both given by their bits.
    pub(super) fn add_products(
        self,
        format: SumFormat,
        sum: u64,
        a: Factor<'_>,
        b: Factor<'_>,
    ) -> u64 {
        let [a_format, b_format] = [a.format, b.format];
        let (a, b) = (a.elements, b.elements);
        let pairs = || a.iter().zip(b);
        match self {
            SumRule::Aligned { terms, fraction } => {
                let layouts = [a_format, b_format].map(Layout::of_factor);
                let [Some(a_layout), Some(b_layout)] = layouts else {
                    return 0;
                };
                // A block without products would never end the row.
                let terms = usize::from(terms).max(1);
                let blocks = a.chunks(terms).zip(b.chunks(terms));
                // The unit rounds after each block, so the order of the blocks decides the result.
                blocks.fold(sum, |sum, (a, b)| {
                    let products = a
                        .iter()
                        .zip(b)
                        .map(|(&a, &b)| a_layout.term(a).times(b_layout.term(b)));
                    aligned_sum(format, sum, products, u32::from(fraction))
                })
            }
            // The order matters, because each step rounds.
            SumRule::Fused => pairs().fold(sum, |sum, (&a, &b)| {
                double::fma(a, b, sum, Rounding::Nearest)
            }),
            SumRule::Wrapping | SumRule::Saturating => {
                let products = pairs().map(|(&a, &b)| a_format.integer(a) * b_format.integer(b));
                // At most 256 products of 16 bits: the sum is exact.
                let exact = products.sum::<i64>() + i64::from(sum as u32 as i32);
                let range = i64::from(i32::MIN)..=i64::from(i32::MAX);
                let kept = match self {
                    SumRule::Saturating => exact.clamp(*range.start(), *range.end()),
                    _ => exact,
                };
                u64::from(kept as u32)
            }
            SumRule::CountCommon | SumRule::CountDifferent => {
                let is_counted = |a: u64, b: u64| match self {
                    SumRule::CountCommon => a & b == 1,
                    _ => a ^ b == 1,
                };
                let count = pairs().filter(|&(&a, &b)| is_counted(a, b)).count();
                u64::from((sum as u32).wrapping_add(count as u32))
            }
        }
    }
}

/// Adds terms to a sum, aligned to the greatest exponent.
fn aligned_sum(
    format: SumFormat,
    sum: u64,
    products: impl Iterator<Item = Term> + Clone,
    fraction: u32,
) -> u64 {
    // Sums of other formats have other rules.
    let layout = match format {
        SumFormat::F16 => HALF,
        _ => SINGLE,
    };
    let terms = || std::iter::once(layout.term(sum)).chain(products.clone());
    // A term that is no number, or infinities of both signs, make the sum no number.
    let (mut is_nan, mut signs) = (false, [false; 2]);
    let mut greatest: Option<i32> = None;
    for term in terms() {
        match term {
            Term::Nan => is_nan = true,
            Term::Infinite(is_negative) => signs[usize::from(is_negative)] = true,
            Term::Finite { significand: 0, .. } => {}
            Term::Finite { exponent, .. } => greatest = greatest.max(Some(exponent)),
        }
    }
    let ones = (1u64 << layout.width) - 1;
    let infinity = (ones >> 1) & !((1 << layout.fraction) - 1);
    let sign = 1 << (layout.width - 1);
    match signs {
        _ if is_nan => return ones >> 1,
        [true, true] => return ones >> 1,
        [true, false] => return infinity,
        [false, true] => return infinity | sign,
        [false, false] => {}
    }
    // A sum of zeros is +0, whatever their signs are (the recorded results have no -0).
    let Some(greatest) = greatest else { return 0 };
    let fraction = fraction as i32;
    let guard = fraction - SINGLE.fraction as i32;
    // Units that keep more than a single has do not align below a limit (Khattak and Mikaitis, models of each GPU).
    let limit = if guard < 0 {
        i32::MIN
    } else {
        layout.lowest - 5 - guard
    };
    let greatest = greatest.max(limit);
    let mut total = 0i64;
    for term in terms() {
        if let Term::Finite {
            significand,
            fraction: own,
            exponent,
        } = term
        {
            // Positive only if the term has fewer bits than are kept, so nothing is lost upwards.
            let shift = fraction - own - (greatest - exponent);
            // The magnitude is cut off, so that negative terms are rounded towards zero as well.
            let magnitude = match shift {
                0.. => significand.abs() << shift.min(40),
                _ => significand.abs() >> (-shift).min(63),
            };
            total += significand.signum() * magnitude;
        }
    }
    let bits = rounded(layout, total, greatest - fraction);
    // Singles of a unit that keeps fewer bits than they have are cut off, too.
    let cut = match format {
        SumFormat::F32 => !0 << (-guard).max(0),
        _ => !0,
    };
    bits & cut | if total < 0 { sign } else { 0 }
}

/// Rounds `|total|` * 2^`exponent`: singles towards zero, halves to nearest.
fn rounded(layout: Layout, total: i64, exponent: i32) -> u64 {
    let magnitude = total.unsigned_abs();
    // Terms that cancel have no leading bit.
    if magnitude == 0 {
        return 0;
    }
    let leading = 63 - magnitude.leading_zeros() as i32 + exponent;
    // Subnormal results keep fewer bits, because their lowest bit has a fixed place.
    let lowest_bit = leading.max(layout.lowest) - layout.fraction as i32;
    let mut kept = match exponent - lowest_bit {
        up @ 0.. => magnitude << up,
        down => {
            // A shift by all bits leaves nothing, like one by more.
            let down = (-down).min(63);
            let rest = magnitude & ((1 << down) - 1);
            let half = 1 << (down - 1);
            let kept = magnitude >> down;
            let is_up =
                layout.width == HALF.width && (rest > half || rest == half && kept & 1 == 1);
            kept + u64::from(is_up)
        }
    };
    let mut field = (leading.max(layout.lowest) - layout.lowest) as u64;
    // Rounding may carry into the next exponent, and out of the subnormal numbers.
    if kept >> (layout.fraction + 1) != 0 {
        kept >>= 1;
        field += 1;
    }
    let hidden = kept >> layout.fraction & 1;
    // Also sums that are rounded towards zero become infinities beyond the greatest number, as recorded.
    let infinity_field = (1u64 << (layout.width - 1 - layout.fraction)) - 1;
    let field = match hidden {
        0 => 0,
        _ => field + 1,
    };
    match field >= infinity_field {
        true => infinity_field << layout.fraction,
        false => field << layout.fraction | kept & ((1 << layout.fraction) - 1),
    }
}
