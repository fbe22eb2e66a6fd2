//! Values of the 32 lanes of a profiled warp: known or unknown in each lane, and what they follow from.

use warpbound_ir::float::single::Scale;
use warpbound_ir::float::{FloatOp, Flush, Format};
use warpbound_ir::{BinaryOp, TernaryOp, UnaryOp, WordHalf};
use warpbound_isa::nvidia::WARP_LANES;

/// Lanes of a row.
pub(crate) const LANES: usize = WARP_LANES as usize;

/// Set of properties of a launch from which a value follows; what follows from none of them is the same in all warps of
/// all blocks, wherever buffers are.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct ValueOrigin(u8);

impl ValueOrigin {
    /// No property.
    pub const NONE: ValueOrigin = ValueOrigin(0);
    /// Index of the block along each axis.
    pub const BLOCK: [ValueOrigin; 3] = [ValueOrigin(1), ValueOrigin(2), ValueOrigin(4)];
    /// Number of the warp in its block.
    pub const WARP: ValueOrigin = ValueOrigin(8);
    /// Addresses of buffers, variables and windows.
    pub const ADDRESS: ValueOrigin = ValueOrigin(16);
    /// Contents of buffers.
    pub const CONTENTS: ValueOrigin = ValueOrigin(32);

    /// Returns the union with another set.
    #[must_use]
    pub const fn with(self, other: ValueOrigin) -> ValueOrigin {
        ValueOrigin(self.0 | other.0)
    }

    /// Returns whether the set has all properties of another one.
    pub const fn has(self, other: ValueOrigin) -> bool {
        self.0 & other.0 == other.0
    }
}

/// Value of a cell in each lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct LaneRow {
    /// Words, by lane; any number where it is unknown.
    pub(crate) words: [u32; LANES],
    /// Lanes in which the word is known.
    pub(crate) known: u32,
    /// Properties from which the words follow, and in which lanes they are known.
    pub(crate) origin: ValueOrigin,
}

impl LaneRow {
    /// Unknown in all lanes, whatever the launch.
    pub(crate) const UNKNOWN: LaneRow = LaneRow::unknown_from(ValueOrigin::NONE);

    /// Unknown in all lanes.
    pub(crate) const fn unknown_from(origin: ValueOrigin) -> LaneRow {
        LaneRow {
            words: [0; LANES],
            known: 0,
            origin,
        }
    }

    /// The same word in all lanes.
    pub(crate) const fn splat(word: u32, origin: ValueOrigin) -> LaneRow {
        LaneRow::of_lanes([word; LANES], origin)
    }

    /// A known word for each lane.
    pub(crate) const fn of_lanes(words: [u32; LANES], origin: ValueOrigin) -> LaneRow {
        LaneRow {
            words,
            known: u32::MAX,
            origin,
        }
    }

    /// The word of a lane if it is known.
    pub(crate) fn word(&self, lane: usize) -> Option<u32> {
        (self.known >> lane & 1 == 1).then(|| self.words[lane])
    }

    /// Makes the word of a lane known.
    pub(crate) fn set(&mut self, lane: usize, word: u32) {
        self.words[lane] = word;
        self.known |= 1 << lane;
    }

    /// The word of all lanes, if it is known in all and the same.
    pub(crate) fn uniform_word(&self) -> Option<u32> {
        let [first, ..] = self.words;
        let is_uniform = self.known == u32::MAX && self.words.iter().all(|&word| word == first);
        is_uniform.then_some(first)
    }

    /// Lanes in which the word is known and not 0.
    pub(crate) fn known_true(&self) -> u32 {
        self.known & self.lanes_where(|word| word != 0)
    }

    /// Lanes in which the word is known to be 0.
    pub(crate) fn known_false(&self) -> u32 {
        self.known & self.lanes_where(|word| word == 0)
    }

    /// Lanes whose word, known or not, satisfies a condition.
    fn lanes_where(&self, condition: impl Fn(u32) -> bool) -> u32 {
        let bits = self.words.iter().enumerate();
        bits.fold(0, |lanes, (lane, &word)| {
            lanes | u32::from(condition(word)) << lane
        })
    }

    /// The words of `new` in the lanes `certain`; in the lanes `possible` those on which both agree.
    pub(crate) fn overwrite(&mut self, new: &LaneRow, certain: u32, possible: u32) {
        let agreed = self.agreed_lanes(new);
        for (lane, (word, &new)) in self.words.iter_mut().zip(&new.words).enumerate() {
            if certain >> lane & 1 == 1 {
                *word = new;
            }
        }
        self.known = self.known & !(certain | possible) | new.known & certain | agreed & possible;
    }

    /// Lanes in which both rows are known and equal.
    fn agreed_lanes(&self, other: &LaneRow) -> u32 {
        let pairs = self.words.iter().zip(&other.words).enumerate();
        let equal = pairs.fold(0, |lanes, (lane, (a, b))| lanes | u32::from(a == b) << lane);
        equal & self.known & other.known
    }

    pub(crate) fn unary(op: UnaryOp, a: &LaneRow) -> LaneRow {
        LaneRow {
            words: std::array::from_fn(|lane| op.apply(a.words[lane])),
            ..*a
        }
    }

    pub(crate) fn binary(op: BinaryOp, a: &LaneRow, b: &LaneRow) -> LaneRow {
        let mut row = LaneRow {
            words: [0; LANES],
            known: a.known & b.known,
            origin: a.origin.with(b.origin),
        };
        for (lane, word) in row.words.iter_mut().enumerate() {
            match op.apply(a.words[lane], b.words[lane]) {
                Some(result) => *word = result,
                // A division by zero has no value.
                None => row.known &= !(1 << lane),
            }
        }
        // The result is known where one operand decides it.
        let absorbing = match op {
            BinaryOp::And | BinaryOp::Mul => a.known_false() | b.known_false(),
            _ => 0,
        };
        for (lane, word) in row.words.iter_mut().enumerate() {
            if absorbing >> lane & 1 == 1 {
                *word = 0;
            }
        }
        row.known |= absorbing;
        row
    }

    pub(crate) fn ternary(op: TernaryOp, [a, b, c]: [&LaneRow; 3]) -> LaneRow {
        let mut row = LaneRow {
            words: std::array::from_fn(|lane| {
                op.apply(a.words[lane], b.words[lane], c.words[lane])
            }),
            known: a.known & b.known & c.known,
            origin: a.origin.with(b.origin).with(c.origin),
        };
        if op == TernaryOp::Select {
            // Where the condition is unknown, both choices may be the same.
            let same = b.agreed_lanes(c) & !a.known;
            row.known = a.known_true() & b.known | a.known_false() & c.known | same;
            for (lane, word) in row.words.iter_mut().enumerate() {
                if same >> lane & 1 == 1 {
                    *word = b.words[lane];
                }
            }
        }
        row
    }

    /// One word of the result of a floating-point operation; unknown where a document leaves the result open.
    pub(crate) fn float(op: FloatOp, words: &[LaneRow], half: WordHalf) -> LaneRow {
        let joined = words
            .iter()
            .fold((u32::MAX, ValueOrigin::NONE), |(known, origin), row| {
                (known & row.known, origin.with(row.origin))
            });
        let mut row = LaneRow {
            words: [0; LANES],
            known: joined.0,
            origin: joined.1,
        };
        for (lane, word) in row.words.iter_mut().enumerate() {
            if row.known >> lane & 1 == 0 {
                continue;
            }
            let mut operands = [0; FloatOp::MAX_WORDS];
            for (operand, row) in operands.iter_mut().zip(words) {
                *operand = row.words[lane];
            }
            match float_result(op, operands) {
                Some(result) => *word = half.of(result),
                None => row.known &= !(1 << lane),
            }
        }
        row
    }
}

/// Result of a floating-point operation that a standard or a manual fixes (IEEE 754, PTX ISA); `None` for the others:
/// approximations, arithmetic of halves, the quirks of division, and the bits of NaNs.
fn float_result(op: FloatOp, words: [u32; FloatOp::MAX_WORDS]) -> Option<u64> {
    let is_fixed = match op {
        FloatOp::AddSingle(..)
        | FloatOp::FmaSingle(..)
        | FloatOp::MinSingle(_)
        | FloatOp::MaxSingle(_)
        | FloatOp::CompareSingle(..)
        | FloatOp::AddDouble(_)
        | FloatOp::MulDouble(_)
        | FloatOp::FmaDouble(_)
        | FloatOp::MinDouble
        | FloatOp::MaxDouble
        | FloatOp::CompareDouble(_)
        | FloatOp::ToInteger { .. } => true,
        FloatOp::ToFormat { to, .. } | FloatOp::ToIntegral { format: to, .. } => to.width() > 16,
        FloatOp::MulSingle(scale, ..) => scale == Scale::One,
        FloatOp::FromInteger {
            absolute, negate, ..
        } => !absolute && !negate,
        _ => false,
    };
    if !is_fixed {
        return None;
    }
    let result = op.apply(words);
    if rounds_and_flushes(op, words) && f32::from_bits(result as u32).abs() <= f32::MIN_POSITIVE {
        return None;
    }
    let is_number = match op {
        _ if op.is_truth() => true,
        FloatOp::ToInteger { .. } => true,
        _ if op.is_wide() => !f64::from_bits(result).is_nan(),
        _ => !f32::from_bits(result as u32).is_nan(),
    };
    is_number.then_some(result)
}

/// Whether an operation flushes its result and may round it: then whether a result near the subnormal numbers is flushed
/// depends on when it is judged, which no document states.
fn rounds_and_flushes(op: FloatOp, words: [u32; FloatOp::MAX_WORDS]) -> bool {
    // Sums with a zero, and products with one, are exact. The sum of a product and a zero is not.
    let (flush, exact_with_zero) = match op {
        FloatOp::AddSingle(_, flush)
        | FloatOp::MulSingle(_, _, flush)
        | FloatOp::FmaSingle(_, flush) => (flush, 2),
        FloatOp::ToFormat {
            from: Format::Double,
            to: Format::Single,
            flush,
            ..
        } => (flush, 0),
        _ => return false,
    };
    let mut operands = words.iter().take(exact_with_zero);
    flush != Flush::Keep && operands.all(|&word| word << 1 != 0)
}
