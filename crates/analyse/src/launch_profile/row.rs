//! Values of the 32 lanes of a profiled warp: known, known in some bits or unknown in each lane, and what they follow
//! from.

mod bits;

use warpbound_ir::float::single::Scale;
use warpbound_ir::float::{FloatOp, Flush, Format, convert::IntegerType};
use warpbound_ir::{BinaryOp, TernaryOp, UnaryOp, WordHalf};
use warpbound_isa::nvidia::WARP_LANES;

use bits::KnownBits;

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

/// Word of a constant bank of a launch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ConstantWord {
    /// Its value; any bits where they are unknown.
    pub word: u32,
    /// Its known bits. The bits next to a parameter of one or two bytes are unknown unless another parameter defines
    /// them.
    pub known: u32,
    /// Whether it follows from the addresses of buffers, variables or windows, which another run may choose otherwise.
    pub is_address: bool,
}

impl ConstantWord {
    /// Returns the value, if all bits are known.
    pub fn whole(self) -> Option<u32> {
        (self.known == u32::MAX).then_some(self.word)
    }

    pub(crate) fn origin(self) -> ValueOrigin {
        match self.is_address {
            true => ValueOrigin::ADDRESS,
            false => ValueOrigin::NONE,
        }
    }
}

/// Value of a cell in each lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct LaneRow {
    /// Words, by lane; any bits where they are unknown.
    words: [u32; LANES],
    /// Known bits in the lanes whose word is not known as a whole; 0 in the others.
    partial: [u32; LANES],
    /// Lanes whose word is known.
    known: u32,
    /// Properties from which the words follow, and also which lanes are known.
    pub(crate) origin: ValueOrigin,
}

impl LaneRow {
    /// Unknown in all lanes, whatever the launch.
    pub(crate) const UNKNOWN: LaneRow = LaneRow::unknown_from(ValueOrigin::NONE);

    /// Unknown in all lanes.
    pub(crate) const fn unknown_from(origin: ValueOrigin) -> LaneRow {
        LaneRow {
            words: [0; LANES],
            partial: [0; LANES],
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
            partial: [0; LANES],
            known: u32::MAX,
            origin,
        }
    }

    /// Lanes whose word is known.
    pub(crate) fn known(&self) -> u32 {
        self.known
    }

    /// Makes the words of lanes unknown.
    pub(crate) fn forget(&mut self, lanes: u32) {
        self.known &= !lanes;
        for (lane, partial) in self.partial.iter_mut().enumerate() {
            if lanes >> lane & 1 == 1 {
                *partial = 0;
            }
        }
    }

    /// Knowledge of the word of a lane below [`LANES`].
    fn bits(&self, lane: usize) -> KnownBits {
        let word = self.words[lane];
        match self.known >> lane & 1 {
            1 => KnownBits::all(word),
            _ => KnownBits {
                word,
                mask: self.partial[lane],
            },
        }
    }

    /// Builds a row from the knowledge about the word of each lane.
    fn of_bits(bits: impl Fn(usize) -> KnownBits, origin: ValueOrigin) -> LaneRow {
        let mut row = LaneRow::unknown_from(origin);
        for lane in 0..LANES {
            let KnownBits { word, mask } = bits(lane);
            row.words[lane] = word;
            match mask {
                u32::MAX => row.known |= 1 << lane,
                _ => row.partial[lane] = mask,
            }
        }
        row
    }

    /// The word of a lane if it is known.
    pub(crate) fn word(&self, lane: usize) -> Option<u32> {
        (self.known >> lane & 1 == 1).then(|| self.words[lane])
    }

    /// Makes the word of a lane known.
    pub(crate) fn set(&mut self, lane: usize, word: u32) {
        self.words[lane] = word;
        self.partial[lane] = 0;
        self.known |= 1 << lane;
    }

    /// The same word of a constant bank in all lanes.
    pub(crate) fn splat_constant(constant: ConstantWord, origin: ValueOrigin) -> LaneRow {
        match constant.whole() {
            Some(word) => LaneRow::splat(word, origin),
            None => LaneRow {
                words: [constant.word; LANES],
                partial: [constant.known; LANES],
                known: 0,
                origin,
            },
        }
    }

    /// Sets the word of a lane to a word of a constant bank.
    pub(crate) fn set_constant(&mut self, lane: usize, constant: ConstantWord) {
        match constant.whole() {
            Some(word) => self.set(lane, word),
            None => {
                self.words[lane] = constant.word;
                self.partial[lane] = constant.known;
                self.known &= !(1 << lane);
            }
        }
    }

    /// The word of all lanes, if it is known in all and the same.
    pub(crate) fn uniform_word(&self) -> Option<u32> {
        let [first, ..] = self.words;
        let is_uniform = self.known == u32::MAX && self.words.iter().all(|&word| word == first);
        is_uniform.then_some(first)
    }

    /// Lanes whose word is known and not 0.
    pub(crate) fn known_true(&self) -> u32 {
        self.known & self.lanes_where(|word| word != 0)
    }

    /// Lanes whose word is known to be 0.
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

    /// The words of `new` in the lanes `certain`; in the lanes `possible` the bits on which both agree.
    pub(crate) fn overwrite(&mut self, new: &LaneRow, certain: u32, possible: u32) {
        let old = *self;
        let bits = |lane: usize| match (certain >> lane & 1, possible >> lane & 1) {
            (1, _) => new.bits(lane),
            (_, 1) => old.bits(lane).agreed(new.bits(lane)),
            _ => old.bits(lane),
        };
        *self = LaneRow::of_bits(bits, old.origin);
    }

    pub(crate) fn unary(op: UnaryOp, a: &LaneRow) -> LaneRow {
        if a.known == u32::MAX {
            return LaneRow {
                words: std::array::from_fn(|lane| op.apply(a.words[lane])),
                ..*a
            };
        }
        LaneRow::of_bits(|lane| KnownBits::unary(op, a.bits(lane)), a.origin)
    }

    pub(crate) fn binary(op: BinaryOp, a: &LaneRow, b: &LaneRow) -> LaneRow {
        let origin = a.origin.with(b.origin);
        if a.known & b.known == u32::MAX {
            let mut row = LaneRow::splat(0, origin);
            for (lane, word) in row.words.iter_mut().enumerate() {
                match op.apply(a.words[lane], b.words[lane]) {
                    Some(result) => *word = result,
                    // A division by zero has no value.
                    None => row.known &= !(1 << lane),
                }
            }
            return row;
        }
        let bits = |lane| KnownBits::binary(op, a.bits(lane), b.bits(lane));
        LaneRow::of_bits(bits, origin)
    }

    pub(crate) fn ternary(op: TernaryOp, [a, b, c]: [&LaneRow; 3]) -> LaneRow {
        let origin = a.origin.with(b.origin).with(c.origin);
        if a.known & b.known & c.known == u32::MAX {
            let apply = |lane: usize| op.apply(a.words[lane], b.words[lane], c.words[lane]);
            return LaneRow::of_lanes(std::array::from_fn(apply), origin);
        }
        let bits = |lane: usize| {
            let operands = [a, b, c].map(|row| row.bits(lane));
            KnownBits::ternary(op, operands)
        };
        LaneRow::of_bits(bits, origin)
    }

    /// One word of the result of a floating-point operation; unknown where a document leaves the result open.
    pub(crate) fn float(op: FloatOp, words: &[LaneRow], half: WordHalf) -> LaneRow {
        // A result is known only where all words of its operands are.
        let joined = words
            .iter()
            .fold((u32::MAX, ValueOrigin::NONE), |(known, origin), row| {
                (known & row.known, origin.with(row.origin))
            });
        let mut row = LaneRow {
            known: joined.0,
            ..LaneRow::unknown_from(joined.1)
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
        // The magnitude of the least number, and its negation, are no numbers of the type.
        FloatOp::FromInteger {
            from: IntegerType::S32,
            ..
        } => words[0] != i32::MIN as u32,
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

/// Whether an operation flushes its result and may round it. No document states whether the flush is decided before
/// or after rounding, so results near the subnormal numbers are open.
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
