//! Random instruction words.

use warpbound_isa::nvidia::Form;

use super::Slotted;

/// Draws `count` words with random bits 19:17 of their slots.
pub(crate) fn random_words(
    random: &mut SplitMix,
    count: usize,
    samples: &[u64],
    forms: &[&Form],
) -> Vec<Slotted> {
    (0..count)
        .map(|_| {
            let word = random_word(random, samples, forms);
            (word, (random.next() % 8) as u8)
        })
        .collect()
}

fn random_word(random: &mut SplitMix, samples: &[u64], forms: &[&Form]) -> u64 {
    match random.next() % 3 {
        0 => match random.choose(forms) {
            Some(form) => {
                let word = form.value as u64 | random_fields(random) & !form.mask as u64;
                match random.next() % 128 {
                    // One bit of the fixed part flipped in half of the words, to find masks with too many bits.
                    bit @ 0..64 => word ^ 1 << bit,
                    _ => word,
                }
            }
            None => random.next(),
        },
        1 => {
            let mut word = random.choose(samples).copied().unwrap_or_default();
            for _ in 0..1 + random.next() % 6 {
                word ^= 1 << (random.next() % 64);
            }
            word
        }
        _ => random.next(),
    }
}

/// Draws bits for the free fields of a form. Fields of all zeros or ones (RZ, PT, no modifier) are rare among uniform
/// bits but common in programs, so they are made frequent.
pub(crate) fn random_fields(random: &mut SplitMix) -> u64 {
    /// Fields where most forms have registers, constants, offsets and their third operand.
    const FIELDS: [u64; 5] = [0xff, 0xff00, 0xff << 20, 0xff << 28, 0xff << 39];
    let (a, b, c) = (random.next(), random.next(), random.next());
    let mut bits = match random.next() % 4 {
        0 => a,
        1 => a & b & c,
        2 => a | b | c,
        _ => a & b & c & random.next() & random.next(),
    };
    for field in FIELDS {
        match random.next() % 8 {
            0 => bits |= field,
            1 => bits &= !field,
            _ => {}
        }
    }
    // Half of the words are unconditional (guard PT).
    match random.next() % 2 {
        0 => bits & !0xf_0000 | 0x7_0000,
        _ => bits,
    }
}

/// SplitMix64 (Steele, Lea, Flood 2014): a fixed sequence for each seed.
pub(crate) struct SplitMix(pub(crate) u64);

impl SplitMix {
    pub(crate) fn choose<'a, T>(&mut self, list: &'a [T]) -> Option<&'a T> {
        let index = self.next().checked_rem(list.len() as u64)?;
        list.get(usize::try_from(index).ok()?)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}
