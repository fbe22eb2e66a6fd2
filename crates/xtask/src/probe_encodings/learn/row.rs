//! Learning of the rows of an opcode: a hypothesis about the words with some fixed bits is spelled as a row, compared with
//! the disassembler, and corrected, until they agree or the words are divided.
//!
//! Words are divided on a bit that changes mnemonic or kinds of operands, or whose effect one row cannot say. A value
//! of a field that is printed in another way gets a narrower row.

use std::collections::{BTreeMap, BTreeSet};

use warpbound_base::CodeAddr;
use warpbound_isa::nvidia::{Arch, ProposedRows};

use super::answers::{Answers, Disassembler};
use super::fields::{Fields, Found};
use super::frame::Frame;
use super::hiding;
use super::influence::{Influence, Part, Scope};
use super::model::{Choices, Conflict, RowModel};
use super::partition::Partition;
use super::printed::{Printed, Slot, Slots, Style};
use super::refine::{self, Special};
use super::spell::{SpelledRow, spell, with_product};
use super::tabulate::Tabulation;
use super::use_of_control;
use super::word_bits::Bits;
use crate::disasm_compare::SplitMix;

/// Divisions of the words of an opcode, one within the other.
const DEPTH: usize = 8;

/// Divisions for what one row cannot say.
const DOUBTFUL_DEPTH: usize = 4;

/// Corrections of a hypothesis.
const ROUNDS: usize = 9;

/// Questions about a row after which it is not corrected any more.
const QUESTIONS: usize = 90;

/// Base words whose bits are flipped.
const BASES: usize = 3;

/// Narrower rows of the first row of an opcode, and of those within.
const SPECIALS: [usize; 2] = [5, 2];

/// Words from which others are drawn by flipping several bits, in each of a few rounds.
const DRAWN: usize = 60;

/// Texts by which the format of a float is chosen.
const FORMAT_SAMPLES: usize = 60;

/// State of learning the rows of one opcode.
pub(super) struct Learner<'a> {
    pub(super) answers: Answers<'a>,
    pub(super) random: SplitMix,
    pub(super) arch: Arch,
    /// Divisions and corrections that were given up, for the report.
    pub(super) doubts: Vec<String>,
}

/// Hypothesis about the words of a row, apart from what follows from asking.
#[derive(Clone, Default)]
pub(super) struct Hypothesis {
    pub(super) partition: Partition,
    pub(super) conflicts: BTreeMap<Vec<Bits>, BTreeSet<Vec<u64>>>,
    pub(super) bad: BTreeSet<usize>,
    pub(super) specials: Vec<Special>,
}

/// Next step for the words of a scope.
enum Step {
    Rows(Vec<SpelledRow>),
    Divide(u8),
}

impl Learner<'_> {
    /// Rows of the words of a scope. Legal words of it must have been asked.
    pub(super) fn rows(
        &mut self,
        scope: Scope,
        depth: usize,
        wider: Option<&Fields>,
    ) -> anyhow::Result<Vec<SpelledRow>> {
        match self.row(scope, depth, wider)? {
            Step::Rows(rows) => Ok(rows),
            Step::Divide(bit) => {
                let halves = [0, u128::MAX].map(|word| scope.with(1 << bit, word));
                self.several(&halves, depth + 1, wider)
            }
        }
    }

    /// Rows of several scopes, each learned in a thread of its own, because each mostly waits for the disassembler.
    fn several(
        &mut self,
        scopes: &[Scope],
        depth: usize,
        wider: Option<&Fields>,
    ) -> anyhow::Result<Vec<SpelledRow>> {
        let disassembler = self.answers.disassembler();
        let parts = scopes.iter().map(|scope| Learner {
            answers: self.answers.within(scope.mask, scope.value),
            random: SplitMix(self.random.next()),
            arch: self.arch,
            doubts: Vec::new(),
        });
        let mut parts: Vec<Learner<'_>> = parts.collect();
        disassembler.divided(parts.len());
        let results: Vec<anyhow::Result<Vec<SpelledRow>>> = std::thread::scope(|threads| {
            let running = parts.iter_mut().zip(scopes).map(|(part, scope)| {
                threads.spawn(move || {
                    let _ending = Ending(disassembler);
                    part.rows(*scope, depth, wider)
                })
            });
            let running: Vec<_> = running.collect();
            let ended = running.into_iter().map(std::thread::ScopedJoinHandle::join);
            let failed = || anyhow::anyhow!("a thread that learns rows has stopped");
            ended
                .map(|rows| rows.unwrap_or_else(|_| Err(failed())))
                .collect()
        });
        disassembler.ended(true);
        let mut rows = Vec::new();
        for result in results {
            rows.extend(result?);
        }
        self.doubts
            .extend(parts.into_iter().flat_map(|part| part.doubts));
        Ok(rows)
    }

    fn row(&mut self, scope: Scope, depth: usize, wider: Option<&Fields>) -> anyhow::Result<Step> {
        let Some((frame, bases)) = self.explore(scope)? else {
            return Ok(Step::Rows(Vec::new()));
        };
        let influence = Influence::find(&mut self.answers, scope, &frame, &bases)?;
        let framing = influence.framing.iter().max_by_key(|(_, bases)| **bases);
        if let Some((bit, _)) = framing {
            if depth < DEPTH {
                return Ok(Step::Divide(*bit));
            }
            self.doubts.push(format!(
                "bit {bit} still changes the operands of {}",
                frame.mnemonic
            ));
            return Ok(Step::Rows(Vec::new()));
        }
        let (scope, others) = self.fixed(scope, &influence, &bases);
        let mut fields = match Fields::find(&influence, &frame.shapes) {
            Found::Fields(fields) => fields,
            Found::Divide(bit) if depth < DEPTH => return Ok(Step::Divide(bit)),
            Found::Divide(_) => Fields::default(),
        };
        if let Some(wider) = wider {
            fields.inherit(wider, scope, &frame.shapes);
        }
        let taken = fields.mask();
        let others: Vec<u8> = others
            .into_iter()
            .filter(|bit| taken >> bit & 1 == 0)
            .collect();
        let partition = Partition::find(
            &mut self.answers,
            &frame,
            &bases,
            &influence,
            taken,
            &others,
        )?;
        let hypothesis = Hypothesis {
            partition,
            ..Hypothesis::default()
        };
        let slots = chosen_slots(&influence, taken);
        let candidate = Candidate {
            scope,
            frame,
            bases,
            fields,
            slots,
        };
        self.correct(candidate, hypothesis, depth)
    }

    /// Corrects a hypothesis until its row agrees with the disassembler.
    fn correct(
        &mut self,
        candidate: Candidate,
        mut hypothesis: Hypothesis,
        depth: usize,
    ) -> anyhow::Result<Step> {
        let mut best: Option<(usize, SpelledRow, RowModel)> = None;
        let mut suspects: Vec<u8> = Vec::new();
        for _ in 0..ROUNDS {
            let Some(choices) = self.tabulate(&candidate, &mut hypothesis)? else {
                continue;
            };
            let mut model = candidate.model(choices, &hypothesis);
            model.constant = slots_of(&self.answers, model.base);
            let legal = self
                .answers
                .legal(candidate.scope.mask, candidate.scope.value);
            let unruly = hiding::find(&mut model, &legal);
            self.choose_formats(&mut model);
            let row = match spell(&model) {
                Ok(row) => row,
                Err(unspeakable) => {
                    suspects = unspeakable.bits;
                    if suspects.contains(&u8::MAX) {
                        let mnemonic = &model.frame.mnemonic;
                        self.doubts
                            .push(format!("{mnemonic}: a term in brackets has no field"));
                        return Ok(Step::Rows(Vec::new()));
                    }
                    break;
                }
            };
            let reader = read(self.arch, &row)?;
            let predict = |word: u128| reader.text(word, CodeAddr(0));
            let refined = refine::refine(self, &model, &predict, &mut hypothesis)?;
            if best
                .as_ref()
                .is_none_or(|(wrong, ..)| refined.wrong <= *wrong)
            {
                best = Some((refined.wrong, row, model));
            }
            suspects = refined.suspects;
            let patient = self.answers.asked() < QUESTIONS;
            if refined.wrong == 0 && unruly.is_empty() || !refined.progress || !patient {
                break;
            }
        }
        let wrong = best.as_ref().map(|(wrong, ..)| *wrong);
        if let (false, Some(bit)) = (wrong == Some(0), most_frequent(&suspects))
            && depth < DOUBTFUL_DEPTH
            && candidate.scope.mask >> bit & 1 == 0
        {
            return Ok(Step::Divide(bit));
        }
        let Some((wrong, row, mut model)) = best else {
            let mnemonic = &candidate.frame.mnemonic;
            self.doubts.push(format!(
                "{mnemonic}: no row can say what bits {suspects:?} do"
            ));
            return Ok(Step::Rows(Vec::new()));
        };
        if wrong > 0 {
            let mnemonic = &model.frame.mnemonic;
            self.doubts
                .push(format!("{mnemonic}: {wrong} words still differ"));
        }
        use_of_control::find(self, &mut model)?;
        let mut row = spell(&model).unwrap_or(row);
        with_product(&model, &mut row);
        let mut rows = vec![row];
        self.narrower(&model, &hypothesis, depth, &mut rows)?;
        Ok(Step::Rows(rows))
    }

    /// Rows for special values of fields.
    fn narrower(
        &mut self,
        model: &RowModel,
        hypothesis: &Hypothesis,
        depth: usize,
        rows: &mut Vec<SpelledRow>,
    ) -> anyhow::Result<()> {
        let most = SPECIALS
            .get(usize::from(depth > 0))
            .copied()
            .unwrap_or_default();
        let mut specials = hypothesis.specials.clone();
        specials.sort_by_key(|special| special.bits.width());
        let mut done: Vec<Special> = Vec::new();
        let mut scopes = Vec::new();
        for special in specials {
            let word = special.bits.put(0, special.value);
            let within = |other: &Special| {
                let inside = other.bits.mask() & !special.bits.mask() == 0;
                inside && other.bits.get(word) == other.value
            };
            if done.iter().any(within) || done.len() >= most || depth >= DEPTH {
                continue;
            }
            let scope = model.scope.with(special.bits.mask(), word);
            let legal = self.answers.legal(model.scope.mask, model.scope.value);
            let words = legal.iter().rev().take(DRAWN);
            let words: Vec<u128> = words
                .map(|(w, _)| special.bits.put(*w, special.value))
                .collect();
            self.answers.ask(&words)?;
            match self.answers.legal(scope.mask, scope.value).is_empty() {
                true => rows.push(SpelledRow::illegal(scope.mask, scope.value)),
                false => scopes.push(scope),
            }
            done.push(special);
        }
        rows.extend(self.several(&scopes, depth + 2, Some(&model.fields))?);
        Ok(())
    }

    /// Finds more legal words of a scope, and from them the frame with the most operands and its base words.
    fn explore(&mut self, scope: Scope) -> anyhow::Result<Option<(Frame, Vec<u128>)>> {
        let free = scope.free();
        let mut known = self.answers.legal(scope.mask, scope.value);
        known.sort_by_key(|(_, r)| (std::cmp::Reverse(r.printed.operands.len()), r.text.len()));
        let Some((first, _)) = known.first() else {
            return Ok(None);
        };
        let mut starts = vec![*first];
        starts.extend((1..BASES).filter_map(|_| Some(self.random.choose(&known)?.0)));
        let flips = starts
            .iter()
            .flat_map(|w| free.iter().map(move |bit| w ^ 1 << bit));
        let flips: Vec<u128> = flips.collect();
        self.answers.ask(&flips)?;
        let harmless = free.iter().copied().filter(|bit| {
            let mut flipped = starts.iter().map(|word| word ^ 1 << bit);
            flipped.any(|word| self.answers.get(word).is_some())
        });
        let harmless: Vec<u8> = harmless.collect();
        // Few bits at first, because most rare combinations are not legal.
        for rarity in [7, 2] {
            let pool = self.answers.legal(scope.mask, scope.value);
            let mut words = Vec::new();
            for _ in 0..DRAWN {
                let Some((word, _)) = self.random.choose(&pool) else {
                    break;
                };
                let flips = harmless.iter().fold(0, |flips, bit| {
                    let chosen = self.random.next().is_multiple_of(rarity);
                    flips | u128::from(chosen) << bit
                });
                words.push(word ^ flips);
            }
            self.answers.ask(&words)?;
        }
        let legal = self.answers.legal(scope.mask, scope.value);
        let mut counts: BTreeMap<Frame, usize> = BTreeMap::new();
        for (_, reading) in &legal {
            *counts.entry(Frame::of(&reading.printed)).or_default() += 1;
        }
        let frame = counts
            .iter()
            .max_by_key(|(frame, count)| (frame.shapes.len(), **count));
        let Some((frame, _)) = frame else {
            return Ok(None);
        };
        let frame = frame.clone();
        let mut full: Vec<(usize, u128)> = legal
            .iter()
            .filter(|(_, reading)| Frame::of(&reading.printed) == frame)
            .map(|(word, reading)| {
                // Invalid modifiers make a poor base, many modifiers a good one.
                let text = &reading.text;
                let invalid = text.matches("INVALID").count() + text.matches("???").count();
                (invalid * 10_000 + text.len(), *word)
            })
            .collect();
        full.sort_unstable();
        let mut bases: Vec<u128> = full.first().map(|(_, word)| *word).into_iter().collect();
        bases.extend((1..BASES).filter_map(|_| Some(self.random.choose(&full)?.1)));
        bases.dedup();
        Ok(Some((frame, bases)))
    }

    /// Fixes the bits that are never legal otherwise; returns the bits that decide only whether a word is legal.
    fn fixed(&self, scope: Scope, influence: &Influence, bases: &[u128]) -> (Scope, Vec<u8>) {
        let legal = self.answers.legal(scope.mask, scope.value);
        let seen = influence.seen();
        let (mut scope, mut others) = (scope, Vec::new());
        let base = bases.first().copied().unwrap_or_default();
        for (&bit, &illegal) in &influence.illegal {
            if seen.contains(&bit) {
                continue;
            }
            let same = legal.iter().all(|(word, _)| (word ^ base) >> bit & 1 == 0);
            match illegal == bases.len() && same {
                true => scope = scope.with(1 << bit, base),
                false => others.push(bit),
            }
        }
        (scope, others)
    }

    fn tabulate(
        &mut self,
        candidate: &Candidate,
        hypothesis: &mut Hypothesis,
    ) -> anyhow::Result<Option<Choices>> {
        let mut tabulation = Tabulation {
            answers: &mut self.answers,
            scope: candidate.scope,
            frame: &candidate.frame,
            bases: &candidate.bases,
            slots: &candidate.slots,
        };
        tabulation.make(&mut hypothesis.partition, &mut self.random)
    }

    /// Chooses the format of each float that prints most of the words seen.
    fn choose_formats(&mut self, model: &mut RowModel) {
        let floats: Vec<usize> = model.fields.floats.keys().copied().collect();
        let legal = self.answers.legal(model.scope.mask, model.scope.value);
        let style = Style {
            uniform_zero: 0,
            next: None,
        };
        for at in floats {
            let mut best = (0, 'F');
            for letter in ['F', 'D', 'H'] {
                model.formats.insert(at, letter);
                let Some(reader) = spell(model).ok().and_then(|row| read(self.arch, &row).ok())
                else {
                    continue;
                };
                let samples = legal.iter().rev().take(FORMAT_SAMPLES);
                let equal = samples.filter(|(word, reading)| {
                    let text = reader.text(*word, CodeAddr(0)).unwrap_or_default();
                    let ours = Printed::parse(&text, style);
                    let digits = |printed: &Printed| {
                        let operand = printed.operands.get(at)?;
                        operand.slots.get(&Slot::Float).cloned()
                    };
                    digits(&ours).is_some() && digits(&ours) == digits(&reading.printed)
                });
                best = best.max((equal.count(), letter));
            }
            model.formats.insert(at, best.1);
        }
    }
}

/// Says at the end of a thread that it asks no more, even if it panics, because the others wait for its questions.
struct Ending<'a>(&'a dyn Disassembler);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.ended(false);
    }
}

/// Words that a row is corrected from.
struct Candidate {
    scope: Scope,
    frame: Frame,
    bases: Vec<u128>,
    fields: Fields,
    slots: BTreeMap<(usize, Slot), u8>,
}

impl Candidate {
    fn model(&self, choices: Choices, hypothesis: &Hypothesis) -> RowModel {
        let groups: BTreeSet<&Bits> = choices.legal.keys().collect();
        // A conflict of groups that were joined since is part of their table.
        let conflicts = hypothesis.conflicts.iter().filter(|(bits, illegal)| {
            !illegal.is_empty() && bits.iter().all(|bits| groups.contains(bits))
        });
        let conflicts = conflicts.map(|(groups, illegal)| Conflict {
            groups: groups.clone(),
            illegal: illegal.clone(),
        });
        RowModel {
            scope: self.scope,
            frame: self.frame.clone(),
            base: self.bases.first().copied().unwrap_or_default(),
            constant: Vec::new(),
            fields: self.fields.clone(),
            conflicts: conflicts.collect(),
            choices,
            hidden: BTreeMap::new(),
            omitted: BTreeMap::new(),
            inside: BTreeSet::new(),
            bad: hypothesis.bad.clone(),
            formats: BTreeMap::new(),
            effects: Vec::new(),
            reuse: BTreeMap::new(),
        }
    }
}

/// Slots with texts that bits choose, with one such bit.
fn chosen_slots(influence: &Influence, fields: u128) -> BTreeMap<(usize, Slot), u8> {
    let parts = influence.parts.iter().filter_map(|(part, bits)| {
        let Part::Slot(at, slot) = part else {
            return None;
        };
        let mut bits = bits.iter().filter(|bit| fields >> *bit & 1 == 0);
        let chosen = !slot.is_number() && *slot != Slot::Float;
        chosen.then(|| bits.next().map(|bit| ((*at, *slot), *bit)))?
    });
    parts.collect()
}

/// Reads a row with its lists.
pub(super) fn read(arch: Arch, row: &SpelledRow) -> anyhow::Result<ProposedRows> {
    let mut lists = String::from("timing unknown scoreboard_rw 0 - - none other\n");
    let names: Vec<String> = (0..row.lists.len()).map(|at| format!("l{at}")).collect();
    for (name, list) in names.iter().zip(&row.lists) {
        lists.push_str(&super::lists::line(name, list));
    }
    let line = row.line(&arch.sm().to_string(), &names);
    ProposedRows::read(arch, &line, &lists).map_err(anyhow::Error::msg)
}

fn most_frequent(bits: &[u8]) -> Option<u8> {
    let mut counts: BTreeMap<u8, usize> = BTreeMap::new();
    for bit in bits {
        *counts.entry(*bit).or_default() += 1;
    }
    let best = counts.into_iter().max_by_key(|(_, count)| *count);
    best.map(|(bit, _)| bit)
}

/// Slots of the operands of a word, none for a word that is not legal.
pub(super) fn slots_of(answers: &Answers<'_>, word: u128) -> Vec<Slots> {
    let reading = answers.get(word);
    let operands = reading.into_iter().flat_map(|r| &r.printed.operands);
    operands.map(|operand| operand.slots.clone()).collect()
}
