//! Bank conflicts of LDS, by both rules: banks of words, as the hardware has them, and banks of bytes, as gem5 has them
//! (`src/gpu-compute/lds_state.cc`, `countBankConflicts`).

use warpbound_machine::Parameter;
use warpbound_simt::{Mask, lanes_of, lowest_lanes};

use super::super::parameters::{Tracked, UsedParameters};
use crate::functional::AccessKind;

/// Upper limit of `lds.banks` (`machine/src/validity.rs`).
const MAX_BANKS: usize = 64;

/// Parameters of every access to LDS.
#[derive(Clone, Copy, Debug)]
pub(super) struct LdsSection {
    pub(super) latency: u64,
    /// Cycles of each further pass.
    pub(super) conflict: u64,
    pub(super) banks: LdsBanks,
}

impl LdsSection {
    pub(super) fn read(parameters: &UsedParameters) -> Tracked<LdsSection> {
        let mut reader = parameters.reader();
        let section = LdsSection {
            latency: reader.get(Parameter::LdsLatency),
            conflict: reader.get(Parameter::LdsConflict),
            banks: LdsBanks {
                count: reader.get(Parameter::LdsBanks).clamp(1, MAX_BANKS as u64),
                shift: reader.get(Parameter::LdsBankShift).min(2) as u32,
                group: reader.get(Parameter::LdsGroup).clamp(1, 64) as u32,
            },
        };
        reader.track(section)
    }
}

/// Banks of LDS.
#[derive(Clone, Copy, Debug)]
pub(super) struct LdsBanks {
    pub(super) count: u64,
    /// Bits of an address below its bank: 2 for banks of words, 0 for banks of bytes.
    pub(super) shift: u32,
    /// Lanes whose conflicts are resolved together.
    pub(super) group: u32,
}

/// Passes of an access over the banks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Passes {
    /// One for each group of lanes and each dword of them, and the further ones.
    pub(super) all: u32,
    /// Passes due to conflicts: those after the first of a group.
    pub(super) further: u32,
}

impl LdsBanks {
    /// Returns the passes of an access of `size` bytes per lane by the lanes of `taken`. Each dword of each group of
    /// lanes takes as many passes as the fullest bank has requests. Equal words (with banks of bytes, equal
    /// addresses) are one request, except of atomic operations. For example, if a group of 32 lanes reads the words
    /// 0, 2, 4 and so on from 32 banks of words, it takes two passes.
    pub(super) fn passes(
        self,
        kind: AccessKind,
        size: u32,
        addresses: &[u64],
        taken: Mask,
    ) -> Passes {
        let mut passes = Passes::default();
        let dwords = size.div_ceil(4).max(1);
        for dword in 0..dwords {
            for first in (0..addresses.len() as u32).step_by(self.group as usize) {
                let lanes = taken & lowest_lanes(self.group) << first;
                if lanes != 0 {
                    let fullest = self.fullest_bank(kind, dword * 4, addresses, lanes);
                    passes.all += fullest;
                    passes.further += fullest - 1;
                }
            }
        }
        passes
    }

    /// Requests to the fullest bank, at least 1.
    fn fullest_bank(self, kind: AccessKind, offset: u32, addresses: &[u64], lanes: Mask) -> u32 {
        let mut counts = [0_u32; MAX_BANKS];
        // The last word of each bank: most accesses have at most one word in a bank, or all lanes have the same.
        let mut last = [u64::MAX; MAX_BANKS];
        let mut repeats = false;
        for lane in lanes_of(lanes) {
            let word = (addresses[lane] + u64::from(offset)) >> self.shift;
            // The second remainder changes no bank (`lds.banks` is at most 64); it bounds the index for the compiler.
            let bank = (word % self.count) as usize % MAX_BANKS;
            if kind == AccessKind::Atomic || last[bank] != word {
                // A word that comes again after another one would be counted twice.
                repeats |= last[bank] != u64::MAX;
                counts[bank] += 1;
                last[bank] = word;
            }
        }
        // Each lane of an atomic operation is a request, so only other accesses are counted again.
        if repeats && kind != AccessKind::Atomic {
            counts = [0; MAX_BANKS];
            let mut words: Vec<u64> = lanes_of(lanes)
                .map(|lane| (addresses[lane] + u64::from(offset)) >> self.shift)
                .collect();
            words.sort_unstable();
            words.dedup();
            for word in words {
                counts[(word % self.count) as usize % MAX_BANKS] += 1;
            }
        }
        counts.into_iter().max().unwrap_or(0).max(1)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;

    const ALL: Mask = Mask::MAX;

    fn banks(shift: u32) -> LdsBanks {
        LdsBanks {
            count: 32,
            shift,
            group: 32,
        }
    }

    fn passes(shift: u32, address: impl Fn(u64) -> u64) -> Passes {
        let addresses: [u64; 64] = std::array::from_fn(|lane| address(lane as u64));
        banks(shift).passes(AccessKind::Load, 4, &addresses, ALL)
    }

    /// A conflict of degree k takes k passes of each group of 32 lanes, by the rule of each kind of banks.
    #[test]
    fn conflicts_of_degree_k() {
        for degree in [1, 2, 4, 8, 16, 32] {
            // Words: a stride of `degree` words.
            let expected = Passes {
                all: 2 * degree,
                further: 2 * (degree - 1),
            };
            let stride = u64::from(degree) * 4;
            assert_eq!(passes(2, |lane| lane * stride), expected, "words {degree}");
            // Bytes: a stride of `degree` bytes.
            let stride = u64::from(degree);
            assert_eq!(passes(0, |lane| lane * stride), expected, "bytes {degree}");
        }
    }

    /// Consecutive words conflict in no bank of words, and four times in banks of bytes; a word that all lanes read is
    /// one request.
    #[test]
    fn lds_banks_by_byte_are_not_those_by_word() {
        assert_eq!(passes(2, |lane| lane * 4).all, 2);
        assert_eq!(passes(0, |lane| lane * 4).all, 8);
        assert_eq!(passes(2, |_| 400).all, 2);
        assert_eq!(passes(0, |_| 400).all, 2);
        // Four bytes of a word are one word, but four addresses.
        assert_eq!(passes(2, |lane| lane % 4).all, 2);
        // Atomic operations are not merged.
        let atomic = |shift| {
            banks(shift)
                .passes(AccessKind::Atomic, 4, &[400; 64], ALL)
                .all
        };
        assert_eq!([atomic(0), atomic(2)], [64, 64]);
    }

    /// Random accesses of 1 to 16 bytes, against sets of words for each bank, group and dword.
    #[test]
    fn passes_are_those_of_the_definition() {
        let mut random = fastrand::Rng::with_seed(7);
        for _ in 0..20_000 {
            let banks = LdsBanks {
                count: 1 << random.u32(0..7),
                shift: 2 * random.u32(0..2),
                group: 1 << random.u32(3..7),
            };
            let size = *random.choice(&[1, 2, 4, 8, 12, 16]).unwrap_or(&4);
            let spread = 1 << random.u32(1..12);
            let addresses: [u64; 64] = std::array::from_fn(|_| random.u64(0..spread));
            let taken = random.u64(..) & random.u64(..);
            let atomic = random.bool();
            let kind = match atomic {
                true => AccessKind::Atomic,
                false => AccessKind::Store,
            };
            let (mut all, mut groups) = (0, 0);
            for dword in 0..u64::max(1, u64::from(size) / 4) {
                for group in 0..64 / banks.group as usize {
                    let mut requests: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
                    for (lane, address) in addresses.iter().enumerate() {
                        if lane / banks.group as usize == group && taken >> lane & 1 == 1 {
                            let unit = (address + 4 * dword) / (1 << banks.shift);
                            requests.entry(unit % banks.count).or_default().push(unit);
                        }
                    }
                    let degree = |units: &Vec<u64>| match atomic {
                        true => units.len(),
                        false => units.iter().collect::<BTreeSet<_>>().len(),
                    };
                    let fullest = requests.values().map(degree).max().unwrap_or(0);
                    all += fullest;
                    groups += usize::from(fullest > 0);
                }
            }
            let found = banks.passes(kind, size, &addresses, taken);
            assert_eq!(found.all as usize, all, "{banks:?} {size} {taken:x}");
            assert_eq!((found.all - found.further) as usize, groups);
        }
    }
}
