//! Words with some known bits, and what follows for the results of operations.
//!
//! Compilers pack predicates into halves of registers, so that a word can have a known half next to an unknown one.
//! For example, whatever `x` is, all bits of `x & 1` except the lowest are known to be 0.

use warpbound_ir::{BinaryOp, TernaryOp, UnaryOp};

/// Word with some known bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct KnownBits {
    /// Its bits; any where they are unknown.
    pub(crate) word: u32,
    /// Bits that are known.
    pub(crate) mask: u32,
}

impl KnownBits {
    /// Nothing is known.
    pub(crate) const NONE: KnownBits = KnownBits { word: 0, mask: 0 };

    /// A known word.
    pub(crate) const fn all(word: u32) -> KnownBits {
        KnownBits {
            word,
            mask: u32::MAX,
        }
    }

    /// The word if all of its bits are known.
    fn known(self) -> Option<u32> {
        (self.mask == u32::MAX).then_some(self.word)
    }

    /// Bits known to be 1.
    fn ones(self) -> u32 {
        self.word & self.mask
    }

    /// Bits known to be 0.
    fn zeros(self) -> u32 {
        !self.word & self.mask
    }

    /// A word with these bits known.
    fn of(ones: u32, zeros: u32) -> KnownBits {
        KnownBits {
            word: ones,
            mask: ones | zeros,
        }
    }

    /// The bits that both have with the same value.
    pub(crate) fn agreed(self, other: KnownBits) -> KnownBits {
        KnownBits {
            word: self.word,
            mask: self.mask & other.mask & !(self.word ^ other.word),
        }
    }

    /// Result of a unary operation.
    pub(crate) fn unary(op: UnaryOp, a: KnownBits) -> KnownBits {
        if let Some(word) = a.known() {
            return KnownBits::all(op.apply(word));
        }
        match op {
            UnaryOp::Not => KnownBits { word: !a.word, ..a },
            UnaryOp::Reverse => KnownBits {
                word: a.word.reverse_bits(),
                mask: a.mask.reverse_bits(),
            },
            // The mask is extended like the word: by the bit that says whether the sign is known.
            UnaryOp::SignExtend8 | UnaryOp::SignExtend16 => KnownBits {
                word: op.apply(a.word),
                mask: op.apply(a.mask),
            },
            // The low bits of a negation follow from the low bits of the operand alone.
            UnaryOp::Neg => KnownBits::low(UnaryOp::Neg.apply(a.word), a.mask.trailing_ones()),
            UnaryOp::AbsS | UnaryOp::Popc | UnaryOp::HighestOne | UnaryOp::HighestNonSign => {
                KnownBits::NONE
            }
        }
    }

    /// A word whose lowest `bits` are known.
    fn low(word: u32, bits: u32) -> KnownBits {
        let mask = u32::MAX.checked_shl(bits).map_or(u32::MAX, |above| !above);
        KnownBits { word, mask }
    }

    /// Result of a binary operation.
    pub(crate) fn binary(op: BinaryOp, a: KnownBits, b: KnownBits) -> KnownBits {
        if let (Some(a), Some(b)) = (a.known(), b.known()) {
            // A division by zero has no value.
            return op.apply(a, b).map_or(KnownBits::NONE, KnownBits::all);
        }
        match op {
            BinaryOp::And => KnownBits::of(a.ones() & b.ones(), a.zeros() | b.zeros()),
            BinaryOp::Or => KnownBits::of(a.ones() | b.ones(), a.zeros() & b.zeros()),
            BinaryOp::Xor => KnownBits {
                word: a.word ^ b.word,
                mask: a.mask & b.mask,
            },
            // Carries move upwards only, so the low bits of a sum follow from the low bits of the operands.
            BinaryOp::Add | BinaryOp::Sub => {
                let word = op.apply(a.word, b.word).unwrap_or_default();
                KnownBits::low(word, (a.mask & b.mask).trailing_ones())
            }
            BinaryOp::Mul => KnownBits::product(a, b),
            BinaryOp::Shl | BinaryOp::Shr | BinaryOp::Sar => match b.known() {
                Some(amount) => KnownBits::shifted(op, a, amount),
                None => KnownBits::NONE,
            },
            // One bit that is known to differ decides.
            BinaryOp::Eq | BinaryOp::Ne => match (a.word ^ b.word) & a.mask & b.mask {
                0 => KnownBits::NONE,
                _ => KnownBits::all((op == BinaryOp::Ne).into()),
            },
            _ => KnownBits::NONE,
        }
    }

    /// Product with 0 or 1, or else the low bits that follow from the low bits of both operands.
    fn product(a: KnownBits, b: KnownBits) -> KnownBits {
        for (factor, other) in [(a, b), (b, a)] {
            match factor.known() {
                Some(0) => return KnownBits::all(0),
                Some(1) => return other,
                _ => {}
            }
        }
        let word = BinaryOp::Mul.apply(a.word, b.word).unwrap_or_default();
        KnownBits::low(word, (a.mask & b.mask).trailing_ones())
    }

    /// Word shifted by a known amount.
    fn shifted(op: BinaryOp, a: KnownBits, amount: u32) -> KnownBits {
        let apply = |op: BinaryOp, word| op.apply(word, amount).unwrap_or_default();
        let word = apply(op, a.word);
        let mask = match op {
            // The shifted mask is filled with the bit that says whether the sign is known.
            BinaryOp::Sar => apply(op, a.mask),
            // Zeros come in from the side.
            _ => apply(op, a.mask) | !apply(op, u32::MAX),
        };
        KnownBits { word, mask }
    }

    /// Result of a ternary operation.
    pub(crate) fn ternary(op: TernaryOp, [a, b, c]: [KnownBits; 3]) -> KnownBits {
        if let (Some(a), Some(b), Some(c)) = (a.known(), b.known(), c.known()) {
            return KnownBits::all(op.apply(a, b, c));
        }
        match op {
            // A known one decides, whatever the other bits are.
            TernaryOp::Select if a.ones() != 0 => b,
            TernaryOp::Select if a.mask == u32::MAX => c,
            // Where the condition is unknown, both choices may be the same.
            TernaryOp::Select => b.agreed(c),
            TernaryOp::Lut(_) => {
                // A bit of the result is known if it is the same for all values of the unknown bits.
                let mut known = KnownBits::NONE;
                for number in 0..8u32 {
                    let fill = |bits: KnownBits, at: u32| {
                        let unknown = if number >> at & 1 == 1 { u32::MAX } else { 0 };
                        bits.ones() | unknown & !bits.mask
                    };
                    let result = KnownBits::all(op.apply(fill(a, 2), fill(b, 1), fill(c, 0)));
                    known = match number {
                        0 => result,
                        _ => known.agreed(result),
                    };
                }
                known
            }
            TernaryOp::Carry
            | TernaryOp::FunnelRight
            | TernaryOp::FunnelLeft
            | TernaryOp::Permute => KnownBits::NONE,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Random numbers: the state of a linear congruential generator (Knuth's MMIX).
    struct Random(u64);

    impl Random {
        fn word(&mut self) -> u32 {
            let next = self.0.wrapping_mul(6_364_136_223_846_793_005);
            self.0 = next.wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 32) as u32
        }

        fn below(&mut self, end: u32) -> u32 {
            self.word() % end
        }

        /// Bits at random, mostly the known ones of halves or bytes.
        fn bits(&mut self) -> KnownBits {
            let masks = [0, 0xffff, 0xffff_0000, 0xff, 1, u32::MAX, self.word()];
            let words = [0, 1, 0xffff, self.word(), self.word()];
            KnownBits {
                word: words[self.below(5) as usize],
                mask: masks[self.below(7) as usize],
            }
        }

        /// A word that has the known bits.
        fn word_of(&mut self, of: KnownBits) -> u32 {
            of.word & of.mask | self.word() & !of.mask
        }
    }

    fn has(of: KnownBits, word: u32) -> bool {
        (of.word ^ word) & of.mask == 0
    }

    #[test]
    fn known_bits_are_those_of_all_words() {
        let mut random = Random(15);
        let unary = [
            UnaryOp::Neg,
            UnaryOp::Not,
            UnaryOp::AbsS,
            UnaryOp::Popc,
            UnaryOp::HighestOne,
            UnaryOp::HighestNonSign,
            UnaryOp::Reverse,
            UnaryOp::SignExtend8,
            UnaryOp::SignExtend16,
        ];
        let binary = [
            BinaryOp::Add,
            BinaryOp::Sub,
            BinaryOp::Mul,
            BinaryOp::DivS,
            BinaryOp::RemS,
            BinaryOp::And,
            BinaryOp::Or,
            BinaryOp::Xor,
            BinaryOp::Shl,
            BinaryOp::Shr,
            BinaryOp::Sar,
            BinaryOp::MulHighU,
            BinaryOp::LtS,
            BinaryOp::Eq,
            BinaryOp::Ne,
            BinaryOp::MinU,
        ];
        let ternary = [
            TernaryOp::Select,
            TernaryOp::Lut(0x96),
            TernaryOp::Lut(0xca),
            TernaryOp::Carry,
            TernaryOp::FunnelRight,
            TernaryOp::Permute,
        ];
        let mut partly = 0;
        for _ in 0..20_000 {
            let mut operands = [(); 3].map(|()| random.bits());
            if random.below(2) == 0 {
                operands[1] = KnownBits::all(random.below(40));
            }
            let [a, b, _] = operands;
            let words = operands.map(|of| random.word_of(of));
            let mut check = |result: KnownBits, word: Option<u32>, what: &str| {
                partly += u32::from(result.mask != 0 && result.mask != u32::MAX);
                let is_right = word.is_none_or(|word| has(result, word));
                assert!(is_right, "{what} of {operands:x?}: {result:x?}");
            };
            for op in unary {
                let what = format!("{op:?}");
                check(KnownBits::unary(op, a), Some(op.apply(words[0])), &what);
            }
            for op in binary {
                let what = format!("{op:?}");
                let word = op.apply(words[0], words[1]);
                check(KnownBits::binary(op, a, b), word, &what);
            }
            for op in ternary {
                let what = format!("{op:?}");
                let word = op.apply(words[0], words[1], words[2]);
                check(KnownBits::ternary(op, operands), Some(word), &what);
            }
        }
        assert!(partly > 50_000, "{partly}");
    }

    #[test]
    fn packed_predicate_is_found_beside_unknown_bits() {
        // The low half of a register is replaced, the high half stays unknown; then the low half is read.
        let high = KnownBits::binary(BinaryOp::Shl, KnownBits::NONE, KnownBits::all(16));
        let packed = KnownBits::binary(BinaryOp::Add, high, KnownBits::all(1));
        let read = KnownBits::binary(BinaryOp::And, packed, KnownBits::all(0xffff));
        assert_eq!(read.known(), Some(1));
    }
}
