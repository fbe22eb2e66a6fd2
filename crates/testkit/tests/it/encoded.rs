//! Encoded instructions compared with references that interpret their disassembly.
//!
//! Random words of every form are decoded, lifted and run with random values and edge cases. A reference reads the text
//! of the disassembler, which equals NVIDIA's (`crates/isa/tests/it/spelling.rs`), and computes registers, predicates
//! and memory after the instruction. It shares no code with `warpbound_ir` except the names of formats and roundings.

mod arithmetic;
mod conversions;
mod halves;
mod machine;
mod memory;
mod operands;
#[path = "../../../ir/tests/it/float/reference.rs"]
mod reference;
mod special;
mod text;
mod without_meaning;
mod words;

use std::collections::{BTreeMap, BTreeSet};

use warpbound_ir::float::Format;

use machine::{BANK_WORDS, BufferSpace, Machine, State};
use operands::{FinalState, InitialState};
use reference::{Random, specials};
use text::Instruction;
use words::Form;

/// Minimum number of compared results of each form, and number of threads that execute a word.
const RESULTS: usize = 10_000;
const THREADS: usize = 32;

/// Minimum and maximum number of words of each form.
const WORDS: std::ops::Range<usize> = 400..6000;

type Reference = fn(&InitialState<'_>) -> Option<FinalState>;

/// Coverage of a form.
#[derive(Default)]
struct Tried {
    words: usize,
    compared: usize,
    modifiers: BTreeSet<String>,
    /// Reasons of words without a meaning.
    reasons: BTreeSet<&'static str>,
}

/// Runs random words of the forms of some mnemonics.
fn check(mnemonics: &[&str], seed: u64, word: fn(&Form, &mut Random) -> u64, after: Reference) {
    let mut random = Random(seed);
    let mut problems: BTreeMap<String, String> = BTreeMap::new();
    let forms = words::forms(mnemonics);
    let found: BTreeSet<&str> = forms.iter().map(|form| form.mnemonic).collect();
    assert_eq!(
        found,
        mnemonics.iter().copied().collect(),
        "forms that are tried"
    );
    for form in &forms {
        let mut tried = Tried::default();
        for nth in 0..WORDS.end {
            if nth >= WORDS.start && tried.compared >= RESULTS {
                break;
            }
            let word = word(form, &mut random);
            let machine = Machine::of(word, memory::buffer_space(form.mnemonic));
            let Some(text) = &machine.text else {
                continue;
            };
            if without_meaning::may_be_either(text) {
                continue;
            }
            let why = without_meaning::reason_of_instruction(text);
            if machine.is_known != why.is_none() {
                let known = if machine.is_known { "a" } else { "no" };
                problems.insert(format!("{text}: {known} meaning"), format!("{why:?}"));
                continue;
            }
            let instruction = Instruction::parse(text);
            if let Some(why) = why {
                // A word that is tried is valid, or the form has no valid word.
                if tried.words == 0 {
                    tried.reasons.insert(why);
                }
                continue;
            }
            tried.words += 1;
            tried.reasons.clear();
            tried
                .modifiers
                .extend(instruction.modifiers.iter().map(|m| format!(".{m}")));
            match compare(&machine, &instruction, &mut random, after) {
                Ok(compared) => tried.compared += compared,
                Err(problem) => {
                    problems.insert(format!("{} {:016x} {text}", form.mnemonic, word), problem);
                }
            }
        }
        // A form may have no valid word.
        let nothing = tried.reasons == BTreeSet::from(["no valid modifier"]);
        if nothing || without_meaning::reason_of_form(form.spelling).is_some() {
            continue;
        }
        let missing = missing(form, &tried);
        if !missing.is_empty() {
            problems.insert(
                form.spelling.to_owned(),
                format!("never tried: {missing:?}"),
            );
        }
        if tried.compared < RESULTS {
            let few = format!("only {} words, {} results", tried.words, tried.compared);
            problems.insert(form.spelling.to_owned(), few);
        }
        println!(
            "{:016x} {}: {} words, {} results",
            form.value, form.mnemonic, tried.words, tried.compared
        );
    }
    let count = problems.len();
    let shown: Vec<String> = problems
        .into_iter()
        .take(12)
        .map(|(form, problem)| format!("{form}\n    {problem}"))
        .collect();
    assert!(count == 0, "{count} problems\n{}", shown.join("\n"));
}

/// Returns the modifiers of the form that occurred in no word with a meaning, although they are defined.
fn missing(form: &Form, tried: &Tried) -> Vec<String> {
    let spelled = form.modifiers().into_iter().filter(|name| {
        let parts: Vec<&str> = name.split('.').skip(1).collect();
        let seen = parts
            .iter()
            .all(|part| tried.modifiers.contains(&format!(".{part}")));
        !seen && without_meaning::reason_of_modifier(form.mnemonic, form.spelling, name).is_none()
    });
    spelled.collect()
}

/// Runs a program with random values; returns the number of compared threads.
fn compare(
    machine: &Machine,
    instruction: &Instruction,
    random: &mut Random,
    after: Reference,
) -> Result<usize, String> {
    let bank: [u32; BANK_WORDS] = {
        let words: Vec<u32> = (0..BANK_WORDS / 2).flat_map(|_| pair(random)).collect();
        words.try_into().expect("as many words")
    };
    let before: Vec<State> = (0..THREADS).map(|_| state(random)).collect();
    let mut expected = Vec::new();
    for (thread, state) in (0..).zip(&before) {
        let is_executed = instruction
            .guard
            .is_none_or(|(n, not)| state.predicate(Some(n)) != not);
        let before = InitialState {
            instruction,
            state,
            bank: &bank,
            thread,
        };
        let after = match is_executed {
            true => after(&before),
            false => Some(state.clone().into()),
        };
        expected.push(after);
    }
    // A misaligned address ends the run.
    if instruction.is_access() && expected.iter().any(Option::is_none) {
        return Ok(0);
    }
    let found = machine.run(&bank, &before)?;
    let mut compared = 0;
    for ((before, found), expected) in before.iter().zip(found).zip(expected) {
        let Some(FinalState {
            mut state,
            tolerance,
        }) = expected
        else {
            continue;
        };
        let mut is_near = true;
        if let Some((register, tolerance)) = &tolerance {
            is_near = tolerance.holds(found.register(Some(*register)));
            state.set(Some(*register), found.register(Some(*register)));
        }
        if !is_near || state != found {
            return Err(format!(
                "before   {before:?}\n    expected {state:?} {tolerance:?}\n    found    {found:?}"
            ));
        }
        compared += 1;
    }
    Ok(compared)
}

impl Instruction {
    fn is_access(&self) -> bool {
        memory::MNEMONICS.contains(&self.mnemonic.as_str())
    }
}

fn state(random: &mut Random) -> State {
    let mut registers = [0; 12];
    for words in registers.chunks_mut(2) {
        words.copy_from_slice(&pair(random));
    }
    // Equal operands in one case of eight.
    if random.below(8) == 0 {
        let from = random.below(6) as usize * 2;
        let to = random.below(6) as usize * 2;
        registers.copy_within(from..from + 2, to);
    }
    let mut room = [0; machine::BUFFER_BYTES];
    for bytes in room.chunks_mut(8) {
        let [low, high] = pair(random);
        bytes.copy_from_slice(&(u64::from(high) << 32 | u64::from(low)).to_le_bytes());
    }
    // The expected value of a compare-and-swap.
    if random.below(2) == 0 {
        let words = registers.iter().flat_map(|r| r.to_le_bytes());
        for (byte, word) in room
            .iter_mut()
            .zip(words.skip(random.below(3) as usize * 16))
        {
            *byte = word;
        }
    }
    State {
        registers,
        predicates: random.below(16) as u32,
        room,
    }
}

/// Draws two words: a double, two singles or two pairs of halves, random or edge cases, or small integers.
fn pair(random: &mut Random) -> [u32; 2] {
    let edge = |format: Format, random: &mut Random| {
        let all = specials(format);
        all[random.below(all.len() as u64) as usize]
    };
    let mut of = |format: Format| match random.below(3) {
        0 => edge(format, random),
        _ => random.pattern(format),
    };
    let kind = of(Format::Half) % 4;
    let double = match kind {
        0 => of(Format::Double),
        1 | 2 => of(Format::Single) << 32 | of(Format::Single),
        _ => (0..4).fold(0, |bits, _| bits << 16 | of(Format::Half)),
    };
    [double as u32, (double >> 32) as u32]
}

fn any(form: &Form, random: &mut Random) -> u64 {
    form.word(random)
}

#[test]
fn singles_and_doubles() {
    check(&arithmetic::MNEMONICS, 1, any, arithmetic::after);
}

#[test]
fn pairs_of_halves() {
    check(&halves::MNEMONICS, 2, any, halves::after);
}

#[test]
fn conversions() {
    check(&conversions::MNEMONICS, 3, any, conversions::after);
}

#[test]
fn special_functions() {
    check(&special::MNEMONICS, 4, any, special::after);
}

#[test]
fn loads_stores_and_atomics() {
    check(&memory::MNEMONICS, 5, memory::word, memory::after);
}

/// The program around an instruction has no other effect.
#[test]
fn nothing_else_changes() {
    let mut random = Random(6);
    for room in [BufferSpace::Global, BufferSpace::Shared, BufferSpace::Local] {
        // NOP
        let machine = Machine::of(0x50b0_0000_0007_0f00, room);
        let before: Vec<State> = (0..THREADS).map(|_| state(&mut random)).collect();
        let after = machine.run(&[0; BANK_WORDS], &before).expect("it runs");
        assert_eq!(after, before);
    }
}
