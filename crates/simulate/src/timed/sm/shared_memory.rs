//! Transactions and bank conflicts of shared memory (`pastis-2022`, III.B).

use std::ops::Range;

use warpbound_machine::Parameter;
use warpbound_simt::{Mask, lanes_of};

use super::super::parameters::{Tracked, UsedParameters};

/// Upper limit of `shared.banks` (`machine/src/validity.rs`).
const MAX_BANKS: usize = 32;

/// Parameters of every access to shared memory, from section `shared` of the machine file.
#[derive(Clone, Copy, Debug)]
pub(super) struct SharedSection {
    pub(super) latency: u64,
    /// Cycles per conflict.
    pub(super) conflict: u64,
    /// Cycles per transaction without conflict.
    pub(super) transaction: u64,
    pub(super) sources: u64,
    pub(super) banks: Banks,
}

impl SharedSection {
    pub(super) fn read(parameters: &UsedParameters) -> Tracked<SharedSection> {
        let mut reader = parameters.reader();
        let section = SharedSection {
            latency: reader.get(Parameter::SharedLatency),
            conflict: reader.get(Parameter::SharedConflict),
            transaction: reader.get(Parameter::SharedTransaction),
            sources: reader.get(Parameter::SharedSources),
            banks: Banks {
                count: reader.get(Parameter::SharedBanks) as usize,
                pool_threads: reader.get(Parameter::SharedPoolThreads) as usize,
                serves_idle: parameters.family().facts().serves_idle_lanes,
            },
        };
        reader.track(section)
    }
}

/// Interleaving of shared memory over banks of 32-bit words; both numbers are powers of two.
#[derive(Clone, Copy, Debug)]
pub(super) struct Banks {
    /// At least 4, so that a word of 128 bits has no two parts in one bank.
    pub(super) count: usize,
    /// Threads of a pool whose accesses have at most 32 bits.
    pub(super) pool_threads: usize,
    /// Whether a pool without active threads takes a transaction.
    pub(super) serves_idle: bool,
}

/// Transactions of an access of a warp.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Transactions {
    /// Number of transactions.
    pub(super) all: u32,
    /// Transactions due to bank conflicts: threads of a pool request different words of one bank.
    pub(super) conflicts: u32,
}

impl Banks {
    /// Returns the transactions of an access of `size` bytes per lane by the lanes of `taken`.
    ///
    /// A warp of 32 lanes is split into pools of 32, 16 or 8 threads for accesses of at most 32, of 64 or of 128
    /// bits. A pool takes one transaction, on some GPUs even without active threads, plus its bank-conflict degree less one.
    /// Threads that request the same word do not conflict. For example, with 32 banks, 32 threads that load the words
    /// 0, 32, 64 and so on take 32 transactions, 31 of them due to conflicts.
    pub(super) fn transactions(self, size: u32, addresses: &[u64], taken: Mask) -> Transactions {
        // An access of less than a word counts as a word.
        let words = (size / 4).clamp(1, 4) as usize;
        let lanes = addresses.len().max(1);
        let threads = (self.pool_threads / words).clamp(1, lanes);
        let pools = lanes / threads;
        let (mut conflicts, mut served) = (0, 0);
        for pool in 0..pools {
            let lanes = pool * threads..(pool + 1) * threads;
            served +=
                u32::from(self.serves_idle || lanes.clone().any(|lane| taken >> lane & 1 == 1));
            let degree = self.conflict_degree(words, addresses, taken, lanes);
            conflicts += degree.saturating_sub(1);
        }
        Transactions {
            all: served + conflicts,
            conflicts,
        }
    }

    /// Returns the bank-conflict degree of a pool: the maximum number of distinct words that its threads request from
    /// one bank, at least 1. Each thread requests `words` consecutive words.
    fn conflict_degree(
        self,
        words: usize,
        addresses: &[u64],
        taken: Mask,
        lanes: Range<usize>,
    ) -> u32 {
        const NONE: u32 = u32::MAX;
        // A word requested from each bank. An access of several words is aligned to its size, so its words are in
        // consecutive banks and conflict with another access in all of them or in none: the first bank stands for all.
        let mut requested = [NONE; MAX_BANKS];
        let mut conflict = false;
        for lane in lanes.clone() {
            if taken >> lane & 1 == 1 {
                let (bank, word) = self.bank_of(addresses[lane], words);
                conflict |= requested[bank] != NONE && requested[bank] != word;
                requested[bank] = word;
            }
        }
        match conflict {
            // Fast path: most accesses are free of conflicts.
            false => 1,
            true => self.count_conflict_degree(words, addresses, taken, lanes),
        }
    }

    /// Counts the distinct words of each bank, as [`Banks::conflict_degree`].
    fn count_conflict_degree(
        self,
        words: usize,
        addresses: &[u64],
        taken: Mask,
        lanes: Range<usize>,
    ) -> u32 {
        let mut counts = [0; MAX_BANKS];
        for lane in lanes.clone().filter(|lane| taken >> lane & 1 == 1) {
            let own = self.bank_of(addresses[lane], words);
            let mut before = (lanes.start..lane).filter(|lane| taken >> lane & 1 == 1);
            if !before.any(|lane| self.bank_of(addresses[lane], words) == own) {
                counts[own.0] += 1;
            }
        }
        counts.into_iter().max().unwrap_or(0)
    }

    /// Returns the first bank and the first word of an access of some words. Word numbers of shared memory have at most
    /// 32 bits.
    fn bank_of(self, address: u64, words: usize) -> (usize, u32) {
        let word = (address / 4) as u32;
        // The second mask changes no bank (`shared.banks` is at most 32); it bounds the index for the compiler.
        let bank = word as usize & (self.count - 1) & (MAX_BANKS - 1);
        (bank / words * words, word)
    }
}

/// Returns the largest number of threads that request the same word.
pub(super) fn same_word_degree(addresses: &[u64], taken: Mask) -> u32 {
    let same = |lane: usize| {
        let word = addresses[lane] / 4;
        lanes_of(taken)
            .filter(|&l| addresses[l] / 4 == word)
            .count() as u32
    };
    lanes_of(taken).map(same).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use warpbound_simt::lowest_lanes;

    use super::*;

    /// All lanes of a warp.
    const ALL: Mask = 0xffff_ffff;

    /// Shared memory of the paper.
    const BANKS: Banks = Banks {
        count: 32,
        pool_threads: 32,
        serves_idle: true,
    };

    fn transactions(size: u32, addresses: &[u64; 32], taken: Mask) -> Transactions {
        BANKS.transactions(size, addresses, taken)
    }

    fn masks() -> impl Iterator<Item = (u32, Mask)> {
        (1..=32).map(|threads| (threads, lowest_lanes(threads)))
    }

    /// Table I: threads access consecutive words.
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

    /// Table II, row by row: all active threads request different words of one bank.
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
        // All words lie in bank 0.
        let addresses = std::array::from_fn(|lane| lane as u64 * 128);
        for ((threads, mask), row) in masks().zip(TABLE) {
            let found = [4, 8, 16].map(|size| transactions(size, &addresses, mask).all);
            assert_eq!(found, row, "{threads} threads");
        }
    }

    /// Figure 8: 128 bits each; threads 0 to 4 conflict on banks 0 to 3, 5 to 7 on 4 to 7, 8 to 11 on 8 to 11, 12 to 15
    /// on 12 to 15. The two pools of the figure take 9 transactions, the warp with its two idle pools 11.
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
        let pools = [0..8, 8..16].map(|pool| BANKS.conflict_degree(4, &addresses, 0xffff, pool));
        assert_eq!(pools, [4 + 1, 3 + 1]);
    }

    /// Threads that request the same word, or bytes of it, do not conflict.
    #[test]
    fn a_word_is_read_once() {
        let found = transactions(4, &[64; 32], ALL);
        assert_eq!((found.all, found.conflicts), (1, 0));
        assert_eq!(same_word_degree(&[64; 32], ALL), 32);
        let bytes: [u64; 32] = std::array::from_fn(|lane| lane as u64);
        assert_eq!(transactions(1, &bytes, ALL).all, 1);
        assert_eq!(same_word_degree(&bytes, ALL), 4);
        // Two words of one bank, each requested by 16 threads.
        let pairs: [u64; 32] = std::array::from_fn(|lane| (lane as u64 % 2) * 128);
        assert_eq!(transactions(4, &pairs, ALL).all, 2);
        assert_eq!(same_word_degree(&pairs, ALL), 16);
        assert_eq!(same_word_degree(&pairs, 0b111), 2);
    }

    /// Half as many banks conflict where 32 do not; smaller pools take more transactions, but have fewer conflicts.
    #[test]
    fn other_banks_and_pools() {
        let every_second: [u64; 32] = std::array::from_fn(|lane| lane as u64 * 8);
        let of = |count, pool_threads| {
            let banks = Banks {
                count,
                pool_threads,
                serves_idle: true,
            };
            let found = banks.transactions(4, &every_second, ALL);
            (found.all, found.conflicts)
        };
        // 16 banks with two words each; 8 of 16 banks with four; no two words of a smaller pool in one bank.
        assert_eq!(of(32, 32), (2, 1));
        assert_eq!(of(16, 32), (4, 3));
        assert_eq!(of(32, 16), (2, 0));
    }

    /// The formula of the paper, implemented literally, gives the same numbers for random accesses.
    #[test]
    fn the_formula_of_the_paper() {
        let mut random = fastrand::Rng::with_seed(8);
        for _ in 0..20_000 {
            let size = *random.choice(&[1u32, 2, 4, 8, 16]).unwrap();
            let span = 1 << random.u32(3..9);
            let addresses = std::array::from_fn(|_| random.u64(0..span) * u64::from(size));
            let taken = Mask::from(random.u32(..) & random.u32(..));
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
