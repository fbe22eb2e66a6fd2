//! Mutants of kernels: one control word changed, so that a wait is shorter or gone.

use std::collections::BTreeMap;

use warpbound_base::CodeAddr;
use warpbound_isa::nvidia::{Arch, ControlWord};
use warpbound_load::Kernel;

use super::samples::{Checked, check};

/// Bytes of an instruction.
const BYTES: usize = 16;

/// Kinds of changes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Change {
    /// The stall count is lowered to 1.
    Stall,
    /// One scoreboard is not waited for.
    Wait,
    /// The result sets no scoreboard.
    WriteScoreboard,
    /// The reading of the sources sets no scoreboard.
    ReadScoreboard,
}

impl Change {
    const ALL: [Change; 4] = [
        Change::Stall,
        Change::Wait,
        Change::WriteScoreboard,
        Change::ReadScoreboard,
    ];

    /// Changed control word; `None` if there is nothing to change.
    fn apply(self, control: ControlWord, random: u64) -> Option<ControlWord> {
        let mut changed = control;
        match self {
            Change::Stall => {
                control.stall().filter(|&stall| stall > 1)?;
                // The fifth bit, which says whether other warps go first, stays.
                changed.usched = control.usched & 16 | 1;
            }
            Change::Wait => {
                let set: Vec<u8> = (0..6).filter(|n| control.wait_mask >> n & 1 == 1).collect();
                let at = usize::try_from(random).ok()?.checked_rem(set.len())?;
                changed.wait_mask &= !(1 << set.get(at)?);
            }
            Change::WriteScoreboard => {
                control.write_sb?;
                changed.write_sb = None;
            }
            Change::ReadScoreboard => {
                control.read_sb?;
                changed.read_sb = None;
            }
        }
        Some(changed)
    }
}

/// Number of mutants of one kind, by what the check says.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Outcome {
    pub(crate) made: u64,
    /// With a finding, and with a possible finding only.
    pub(crate) found: u64,
    pub(crate) possible: u64,
    /// Without a finding, although a use without a required distance came closer.
    pub(crate) not_judged: u64,
}

/// Outcomes of kinds, and examples of mutants without a finding.
#[derive(Default)]
pub(crate) struct Outcomes {
    pub(crate) by_change: BTreeMap<Change, Outcome>,
    pub(crate) silent: Vec<String>,
}

impl Outcomes {
    pub(crate) fn append(&mut self, other: Outcomes) {
        for (change, outcome) in other.by_change {
            let own = self.by_change.entry(change).or_default();
            own.made += outcome.made;
            own.found += outcome.found;
            own.possible += outcome.possible;
            own.not_judged += outcome.not_judged;
        }
        self.silent.extend(other.silent);
    }
}

/// Random numbers (SplitMix64).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }
}

/// Makes `count` mutants of a kernel and checks each.
pub(crate) fn mutate(arch: Arch, kernel: &Kernel, count: u64, random: &mut Random) -> Outcomes {
    let mut outcomes = Outcomes::default();
    let words = (kernel.code().len() / BYTES).max(1);
    let Some(original) = check(arch, kernel, kernel.code()) else {
        return outcomes;
    };
    let mut made = 0;
    // Few instructions set a scoreboard, and most attempts therefore change nothing.
    for _ in 0..count * 50 {
        if made == count {
            break;
        }
        let at = random.next() as usize % words;
        let change = Change::ALL[random.next() as usize % Change::ALL.len()];
        let mut code = kernel.code().to_vec();
        let Some(slot) = code
            .get_mut(at * BYTES..)
            .and_then(|rest| rest.first_chunk_mut())
        else {
            continue;
        };
        let word = u128::from_le_bytes(*slot);
        let Some(changed) = change.apply(ControlWord::of_field(word), random.next()) else {
            continue;
        };
        *slot = changed.in_word(word).to_le_bytes();
        let Some(mutant) = check(arch, kernel, &code) else {
            continue;
        };
        made += 1;
        let outcome = outcomes.by_change.entry(change).or_default();
        outcome.made += 1;
        let findings = &mutant.linted.findings;
        if findings.iter().any(|finding| !finding.is_possible) {
            outcome.found += 1;
        } else if !findings.is_empty() {
            outcome.possible += 1;
        } else if unjudged(&mutant) != unjudged(&original) {
            outcome.not_judged += 1;
        } else {
            let text = mutant
                .program
                .instrs
                .get(at)
                .and_then(|instr| mutant.program.text(instr, warpbound_isa::TargetStyle::Hex));
            let addr = CodeAddr((at * BYTES) as u32);
            let name = kernel.demangled();
            let text = text.unwrap_or_default();
            outcomes
                .silent
                .push(format!("{arch} {name} {addr}: {change:?}: {text}"));
        }
    }
    outcomes
}

/// Uses of results without a required distance, by distance.
fn unjudged(checked: &Checked) -> BTreeMap<u8, usize> {
    let mut found = BTreeMap::new();
    let uses = checked.linted.dependences.iter();
    for dependence in uses.filter(|dependence| dependence.least.is_none()) {
        *found.entry(dependence.cycles).or_default() += 1;
    }
    found
}
