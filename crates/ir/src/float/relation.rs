//! Comparisons of floating-point numbers.

/// Comparison of FSET, FSETP, FCMP, DSET, DSETP, HSET2 and HSETP2, with the number that encodes it
/// (list `fcmp`, see [`float`](super)).
///
/// Two operands are in exactly one of four relations. The bits of the number are the relations for which the
/// comparison holds: 1 less, 2 equal, 4 greater, 8 unordered. For example, `.LE` is 1 + 2 = 3. Source: PTX ISA,
/// "Comparison and Selection Instructions" (`set`, `setp`) and section "Floating Point Comparisons".
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Comparison {
    /// Never.
    F = 0,
    /// Less.
    Lt = 1,
    /// Equal.
    Eq = 2,
    /// Less or equal.
    Le = 3,
    /// Greater.
    Gt = 4,
    /// Not equal, and no NaN.
    Ne = 5,
    /// Greater or equal.
    Ge = 6,
    /// No NaN.
    Num = 7,
    /// At least one NaN.
    Nan = 8,
    /// Less, or a NaN.
    Ltu = 9,
    /// Equal, or a NaN.
    Equ = 10,
    /// Less or equal, or a NaN.
    Leu = 11,
    /// Greater, or a NaN.
    Gtu = 12,
    /// Not equal, or a NaN.
    Neu = 13,
    /// Greater or equal, or a NaN.
    Geu = 14,
    /// Always.
    T = 15,
}

impl Comparison {
    /// All comparisons, by number.
    pub const ALL: [Comparison; 16] = [
        Comparison::F,
        Comparison::Lt,
        Comparison::Eq,
        Comparison::Le,
        Comparison::Gt,
        Comparison::Ne,
        Comparison::Ge,
        Comparison::Num,
        Comparison::Nan,
        Comparison::Ltu,
        Comparison::Equ,
        Comparison::Leu,
        Comparison::Gtu,
        Comparison::Neu,
        Comparison::Geu,
        Comparison::T,
    ];

    /// Whether the comparison holds for two numbers. The host compares according to IEEE 754.
    #[inline(always)]
    pub(super) fn holds<T: PartialOrd>(self, a: T, b: T) -> bool {
        let (less, equal, greater) = (a < b, a == b, a > b);
        let unordered = !(less | equal | greater);
        let relation = u8::from(less)
            | u8::from(equal) << 1
            | u8::from(greater) << 2
            | u8::from(unordered) << 3;
        relation & self as u8 != 0
    }
}
