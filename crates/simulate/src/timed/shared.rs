//! Transactions of shared memory (`pastis-2022`, III.B).

use std::ops::Range;

/// Banks of shared memory, each of 32 bits.
const BANKS: usize = 32;

/// What an access of a warp costs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Transactions {
    /// All.
    pub(super) all: u32,
    /// Those that are there because threads of a pool want different words of the same bank.
    pub(super) conflicts: u32,
}

/// The transactions of an access of `size` bytes by each of some lanes.
///
/// The warp falls into pools of 32, 16 or 8 threads for accesses of at most 32, of 64, of 128 bits. Each pool takes one
/// transaction, also when none of its threads is active, and one more for each further word of the bank that is wanted
/// most. Threads that want the same word do not conflict.
pub(super) fn transactions(size: u32, addresses: &[u64; 32], taken: u32) -> Transactions {
    let pools = (size / 4).clamp(1, 4) as usize;
    let threads = 32 / pools;
    let mut conflicts = 0;
    for pool in 0..pools {
        let lanes = pool * threads..(pool + 1) * threads;
        conflicts += fullest_bank(pools, addresses, taken, lanes).saturating_sub(1);
    }
    Transactions {
        all: pools as u32 + conflicts,
        conflicts,
    }
}

/// How many words the threads of a pool want of the bank of which they want most; each of them wants so many words.
fn fullest_bank(words: usize, addresses: &[u64; 32], taken: u32, lanes: Range<usize>) -> u32 {
    const NONE: u32 = u32::MAX;
    // For each bank a word that is wanted. An access of several words begins at a multiple of its size, so that its first
    // bank tells all.
    let mut wanted = [NONE; BANKS];
    let mut conflict = false;
    for lane in lanes.clone() {
        if taken >> lane & 1 == 1 {
            let (bank, word) = bank_of(addresses[lane], words);
            conflict |= wanted[bank] != NONE && wanted[bank] != word;
            wanted[bank] = word;
        }
    }
    match conflict {
        // Most accesses.
        false => 1,
        true => count_fullest_bank(words, addresses, taken, lanes),
    }
}

/// The same where some threads want different words of a bank.
fn count_fullest_bank(words: usize, addresses: &[u64; 32], taken: u32, lanes: Range<usize>) -> u32 {
    let mut counts = [0; BANKS];
    for lane in lanes.clone().filter(|lane| taken >> lane & 1 == 1) {
        let own = bank_of(addresses[lane], words);
        let mut before = (lanes.start..lane).filter(|lane| taken >> lane & 1 == 1);
        if !before.any(|lane| bank_of(addresses[lane], words) == own) {
            counts[own.0] += 1;
        }
    }
    counts.into_iter().max().unwrap_or(0)
}

/// The first bank of an access of so many words, and its first word. Shared memory has fewer words than 32 bits tell.
fn bank_of(address: u64, words: usize) -> (usize, u32) {
    let word = (address / 4) as u32;
    (word as usize % BANKS / words * words, word)
}

/// The most threads that want the same word.
pub(super) fn most_on_a_word(addresses: &[u64; 32], taken: u32) -> u32 {
    let lanes = || (0..32).filter(|lane| taken >> lane & 1 == 1);
    let same = |lane: usize| {
        let word = addresses[lane] / 4;
        lanes().filter(|&l| addresses[l] / 4 == word).count() as u32
    };
    lanes().map(same).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn masks() -> impl Iterator<Item = (u32, u32)> {
        (1..=32).map(|threads| (threads, u32::MAX >> (32 - threads)))
    }

    /// Table I: threads access one area after the other.
    #[test]
    fn table_1_of_the_paper() {
        for (_, mask) in masks() {
            for (size, expected) in [(4, 1), (8, 2), (16, 4)] {
                let addresses = std::array::from_fn(|lane| lane as u64 * u64::from(size));
                let found = transactions(size, &addresses, mask);
                assert_eq!(
                    (found.all, found.conflicts),
                    (expected, 0),
                    "{mask:08x} {size}"
                );
            }
        }
    }

    /// Table II, row by row: all active threads want different words of the same bank.
    #[test]
    fn table_2_of_the_paper() {
        const TABLE: [[u32; 3]; 32] = [
            [1, 2, 4],
            [2, 3, 5],
            [3, 4, 6],
            [4, 5, 7],
            [5, 6, 8],
            [6, 7, 9],
            [7, 8, 10],
            [8, 9, 11],
            [9, 10, 11],
            [10, 11, 12],
            [11, 12, 13],
            [12, 13, 14],
            [13, 14, 15],
            [14, 15, 16],
            [15, 16, 17],
            [16, 17, 18],
            [17, 17, 18],
            [18, 18, 19],
            [19, 19, 20],
            [20, 20, 21],
            [21, 21, 22],
            [22, 22, 23],
            [23, 23, 24],
            [24, 24, 25],
            [25, 25, 25],
            [26, 26, 26],
            [27, 27, 27],
            [28, 28, 28],
            [29, 29, 29],
            [30, 30, 30],
            [31, 31, 31],
            [32, 32, 32],
        ];
        let addresses = std::array::from_fn(|lane| lane as u64 * 128);
        for ((threads, mask), row) in masks().zip(TABLE) {
            let found = [4, 8, 16].map(|size| transactions(size, &addresses, mask).all);
            assert_eq!(found, row, "{threads} threads");
        }
    }

    /// Figure 8: 128 bits each; threads 0 to 4 conflict on banks 0 to 3, 5 to 7 on 4 to 7, 8 to 11 on 8 to 11, 12 to 15
    /// on 12 to 15. The two pools drawn take 9 transactions, the warp with its two idle pools 11.
    #[test]
    fn figure_8_of_the_paper() {
        let addresses: [u64; 32] = std::array::from_fn(|lane| {
            let (bank, row) = match lane {
                0..=4 => (0, lane),
                5..=7 => (4, lane - 5),
                8..=11 => (8, lane - 8),
                _ => (12, lane % 4),
            };
            (row * 128 + bank * 4) as u64
        });
        let found = transactions(16, &addresses, 0xffff);
        assert_eq!((found.all, found.conflicts), (11, 4 + 3));
        let pools = [0..8, 8..16].map(|pool| fullest_bank(4, &addresses, 0xffff, pool));
        assert_eq!(pools, [4 + 1, 3 + 1]);
    }

    /// Threads that want the same word, or bytes of it, do not conflict.
    #[test]
    fn a_word_is_read_once() {
        let found = transactions(4, &[64; 32], u32::MAX);
        assert_eq!((found.all, found.conflicts), (1, 0));
        assert_eq!(most_on_a_word(&[64; 32], u32::MAX), 32);
        let bytes = std::array::from_fn(|lane| lane as u64);
        assert_eq!(transactions(1, &bytes, u32::MAX).all, 1);
        assert_eq!(most_on_a_word(&bytes, u32::MAX), 4);
        // Two rows of a bank, each wanted by 16 threads.
        let pairs = std::array::from_fn(|lane| (lane as u64 % 2) * 128);
        assert_eq!(transactions(4, &pairs, u32::MAX).all, 2);
        assert_eq!(most_on_a_word(&pairs, u32::MAX), 16);
        assert_eq!(most_on_a_word(&pairs, 0b111), 2);
    }

    /// The same numbers as the formula of the paper, written down as it stands there, for random accesses.
    #[test]
    fn the_formula_of_the_paper() {
        let mut random = fastrand::Rng::with_seed(8);
        for _ in 0..20_000 {
            let size = *random.choice(&[1u32, 2, 4, 8, 16]).unwrap();
            let span = 1 << random.u32(3..9);
            let addresses = std::array::from_fn(|_| random.u64(0..span) * u64::from(size));
            let taken = random.u32(..) & random.u32(..);
            let pools = (size / 4).max(1);
            let mut expected = 0;
            for pool in 0..pools {
                let most = (0..32u64).map(|bank| {
                    let mut words = std::collections::BTreeSet::new();
                    for lane in pool * 32 / pools..(pool + 1) * 32 / pools {
                        let first = addresses[lane as usize] / 4;
                        let own = first..first + u64::from(pools);
                        if taken >> lane & 1 == 1 {
                            words.extend(own.filter(|word| word % 32 == bank));
                        }
                    }
                    words.len().saturating_sub(1) as u32
                });
                expected += 1 + most.max().unwrap();
            }
            assert_eq!(transactions(size, &addresses, taken).all, expected);
        }
    }
}
