//! Every form and modifier choice of integer instructions that has a meaning, compared with the reference.

use warpbound_ir::{Cell, Expr, Meaning, meaning_of};
use warpbound_isa::Arch;
use warpbound_isa::nvidia::SassProgram;
use warpbound_testkit::instructions::census::{FLOATS, document};
use warpbound_testkit::instructions::input_words::{EDGES, InputWords};
use warpbound_testkit::instructions::reference::{InstrInputs, file_of, outputs};
use warpbound_testkit::instructions::variants::{
    FormVariants, SpelledView, decode_word, form_variants,
};

/// Minimum number of random inputs for each form; each of its modifier choices has at least one.
const INPUTS: u64 = 10_000;

/// Inputs of an instruction.
struct Random(InputWords);

impl Random {
    fn new(seed: u64) -> Random {
        Random(InputWords::new(seed))
    }

    fn next(&mut self) -> u64 {
        self.0.bits()
    }

    fn word(&mut self) -> u32 {
        self.0.word()
    }

    fn inputs(&mut self) -> InstrInputs {
        let mut registers: [u32; 16] = std::array::from_fn(|_| self.word());
        // Equal or opposite operands.
        match self.next() % 8 {
            0 => registers[2] = registers[1],
            1 => registers[2] = registers[1].wrapping_neg(),
            2 => registers[3] = registers[1],
            _ => {}
        }
        InstrInputs {
            registers,
            predicates: std::array::from_fn(|_| self.next() >> 20 & 1 == 1),
            flags: (self.next() >> 20) as u32 & 15,
            constant: self.word(),
            lane: (self.next() >> 20) as u32 & 31,
        }
    }
}

fn evaluate(expr: &Expr, inputs: &InstrInputs) -> u32 {
    let eval = |e: &Expr| evaluate(e, inputs);
    match expr {
        Expr::Const(n) => *n,
        Expr::Cell(Cell::CC) => inputs.flags,
        Expr::Cell(cell) if cell.is_predicate() => inputs.predicates[cell.index() - 256].into(),
        Expr::Cell(cell) => inputs.registers[cell.index()],
        Expr::Unary(op, a) => op.apply(eval(a)),
        Expr::Binary(op, a, b) => op.apply(eval(a), eval(b)).expect("no division"),
        Expr::Ternary(op, a, b, c) => op.apply(eval(a), eval(b), eval(c)),
        Expr::Constant(..) => inputs.constant,
        Expr::Special(warpbound_isa::SpecialReg::LaneId) => inputs.lane,
        other => unreachable!("{other:?}"),
    }
}

/// Appends the cells on which an expression depends.
fn cells(expr: &Expr, found: &mut Vec<Cell>) {
    match expr {
        Expr::Cell(cell) => found.push(*cell),
        Expr::Unary(_, a) | Expr::Constant(_, a) => cells(a, found),
        Expr::Binary(_, a, b) => [a, b].into_iter().for_each(|e| cells(e, found)),
        Expr::Ternary(_, a, b, c) => [a, b, c].into_iter().for_each(|e| cells(e, found)),
        _ => {}
    }
}

fn checked(
    instr: &SpelledView,
    meaning: &Meaning,
    inputs: &InstrInputs,
    text: &dyn Fn() -> String,
) {
    let Meaning::Set(writes) = meaning else {
        unreachable!("{}: {meaning:?}", text());
    };
    let mut got: Vec<(Cell, u32)> = writes
        .iter()
        .map(|(cell, value)| (*cell, evaluate(value, inputs)))
        .collect();
    let expected = outputs(instr, inputs);
    assert!(
        expected.is_some(),
        "{} has a meaning, but no reference: {:?}",
        text(),
        instr.view
    );
    let mut expected = expected.unwrap_or_default();
    got.sort_unstable();
    expected.sort_unstable();
    assert_eq!(got, expected, "{} of {inputs:x?}", text());
}

/// Checks that the cells of a meaning are among the reads and writes that flow analyses use.
fn cells_are_known(program: &SassProgram, meaning: &Meaning, text: &dyn Fn() -> String) {
    let effects = program.effects(&program.instrs[0]);
    let reads: Vec<Cell> = effects.reads.iter().map(|&reg| reg.into()).collect();
    let writes: Vec<Cell> = effects.writes.iter().map(|&reg| reg.into()).collect();
    let Meaning::Set(values) = meaning else {
        return;
    };
    let mut read = Vec::new();
    for (cell, value) in values {
        assert!(writes.contains(cell), "{} writes {cell:?}", text());
        cells(value, &mut read);
    }
    for cell in read {
        assert!(reads.contains(&cell), "{} reads {cell:?}", text());
    }
}

/// Compares all modifier choices of a form with the reference; returns the number of choices with a meaning.
fn check(arch: Arch, shape: &FormVariants) -> u64 {
    let mut random = Random::new(0x1234_5678_9abc_def1 ^ shape.count());
    let mut with_meaning = Vec::new();
    for number in 0..shape.count() {
        let word = shape.word(number, &mut || random.next() >> 16);
        let view = shape.view(arch, word);
        if view.is_some_and(|view| meaning_of(&view.view).is_some()) {
            with_meaning.push(number);
        }
    }
    let each = INPUTS.div_ceil(with_meaning.len().max(1) as u64).max(6);
    for &number in &with_meaning {
        // The meaning can depend on immediates, so there are several words.
        let words = each.min(16);
        for turn in 0..words {
            let word = shape.word(number, &mut || match turn % 2 {
                0 => random.next() >> 16,
                _ => u64::from(EDGES[(random.next() >> 20) as usize % EDGES.len()]),
            });
            let Some(view) = shape.view(arch, word) else {
                continue;
            };
            // Some immediates have no meaning.
            let Some(meaning) = meaning_of(&view.view) else {
                continue;
            };
            let program = decode_word(arch, word).expect("a group");
            // Printed only when something differs, because there are very many words.
            let text = || {
                let text = program.text(&program.instrs[0], Default::default());
                text.unwrap_or_default()
            };
            cells_are_known(&program, &meaning, &text);
            for _ in 0..each.div_ceil(words) {
                checked(&view, &meaning, &random.inputs(), &text);
            }
        }
    }
    with_meaning.len() as u64
}

/// Checks the mnemonics of one file of references; one test per file, so that they run in parallel.
fn check_file(file: &str) {
    let mut forms = 0;
    for arch in [Arch::Sm61, Arch::Sm50] {
        for shape in form_variants(arch) {
            if file_of(shape.mnemonic) == Some(file) {
                forms += u64::from(check(arch, &shape) > 0);
            }
        }
    }
    assert!(forms > 0, "no form");
}

#[test]
fn arithmetic() {
    check_file("arithmetic");
}

#[test]
fn bits() {
    check_file("bits");
}

#[test]
fn compare() {
    check_file("compare");
}

#[test]
fn video() {
    check_file("video");
}

/// Every instruction with a meaning has a reference.
#[test]
fn no_meaning_is_without_a_reference() {
    let mut missing = Vec::new();
    for shape in form_variants(Arch::Sm61) {
        let is_tested = file_of(shape.mnemonic).is_some() || FLOATS.contains(&shape.mnemonic);
        // LDC loads from constant memory: runs of kernels compare the loaded values.
        if is_tested || shape.mnemonic == "LDC" {
            continue;
        }
        let computes = (0..shape.count().min(1 << 12)).any(|number| {
            let view = shape.view(Arch::Sm61, shape.word(number, &mut || 5));
            let meaning = view.and_then(|view| meaning_of(&view.view));
            matches!(meaning, Some(Meaning::Set(writes)) if !writes.is_empty())
        });
        if computes {
            missing.push(shape.mnemonic);
        }
    }
    missing.dedup();
    assert!(missing.is_empty(), "{missing:?}");
}

/// The table that `cargo xtask meanings` writes is current.
#[test]
fn the_table_in_docs_is_up_to_date() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/instructions.md");
    let written = std::fs::read_to_string(path).expect("it exists");
    assert!(written == document(), "run `cargo xtask meanings`");
}

/// The comparison finds a difference when the reference is that of another instruction.
#[test]
fn a_wrong_meaning_is_found() {
    let shapes = form_variants(Arch::Sm61);
    let shape = shapes.iter().find(|shape| shape.mnemonic == "IADD3");
    let shape = shape.expect("it exists");
    let view = shape
        .view(Arch::Sm61, shape.word(0, &mut || 5))
        .expect("a word");
    let meaning = meaning_of(&view.view).expect("a meaning");
    let mut wrong = view.clone();
    wrong.view.operands[3].negate = true;
    let mut random = Random::new(99);
    let differ = std::panic::catch_unwind(move || {
        for _ in 0..100 {
            checked(&wrong, &meaning, &random.inputs(), &|| "IADD3".to_owned());
        }
    });
    assert!(differ.is_err());
}
