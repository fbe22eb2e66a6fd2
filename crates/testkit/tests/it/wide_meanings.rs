//! Integer instructions from Turing to Blackwell, compared with a reference that reads the text which NVIDIA's disassembler
//! recorded for the same words (`wide_spelling.txt`).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use warpbound_base::Family;
use warpbound_ir::{Cell, Expr, MatrixRegisters, Meaning, Op, ValueDependence, lift};
use warpbound_isa::nvidia::SassProgram;
use warpbound_isa::{Arch, Program, Reg, RegisterKind};
use warpbound_load::Kernel;
use warpbound_query::Session;
use warpbound_testkit::instructions::input_words::InputWords;
use warpbound_testkit::instructions::wide_reference::{
    WideInputs, WideInstr, WideOutputs, has_reference, outputs,
};

static RECORDED: &str = include_str!("../../../isa/tests/data/wide_spelling.txt");

/// Minimum number of random inputs for each spelling, over its words.
const INPUTS: usize = 10_000;

/// Words of compilers with their texts, for what random words do not have.
const COMPILED: [(u32, u128, &str); 6] = [
    (
        90,
        0x008fc800_078019ff_00000004_06067211,
        "LEA R6, P0, -R6, R4, 0x3",
    ),
    (
        120,
        0x0c8fe400_07800200_80000008_04ff7235,
        "IADD.64 RZ, P0, R4, -R8",
    ),
    (
        120,
        0x000fcc00_000e0600_8000000a_06067235,
        "IADD.64.X R6, R6, ~R10, P0",
    ),
    (
        90,
        0x004fca00_03fe0200_00000007_00077248,
        "VIMNMX.U16x2 R7, R0, R7, PT",
    ),
    (
        90,
        0x004fca00_07fe0300_00000009_00097248,
        "VIMNMX.S16x2 R9, R0, R9, !PT",
    ),
    (
        90,
        0x000fe400_03fe1100_00000010_040b7848,
        "VIMNMX.RELU R11, R4, 0x10, PT",
    ),
];

/// First architecture whose code is analysed.
const FIRST_SM: u32 = 75;

/// Difference of a text without a reference.
const NO_REFERENCE: &str = "no reference";

/// Instructions with floating-point operands or results, which `ir/tests/it/float` compares.
const FLOATS: [&str; 31] = [
    "DADD", "DFMA", "DMUL", "DSETP", "F2F", "F2FP", "F2I", "F2IP", "FADD", "FCHK", "FFMA", "FMNMX",
    "FMNMX3", "FMUL", "FRND", "FSEL", "FSETP", "HADD2", "HFMA2", "HMUL2", "HSET2", "HSETP2", "I2F",
    "I2FP", "MUFU", "UF2I", "UFADD", "UFFMA", "UFMUL", "UFSEL", "UFSETP",
];

/// Recorded word on an architecture, with its meaning.
struct WideRow {
    arch: Arch,
    text: &'static str,
    instr: WideInstr<'static>,
    op: Op,
}

impl WideRow {
    /// Assignments of its meaning; `None` for other meanings, and for none.
    fn assignments(&self) -> Option<&[(Cell, Expr)]> {
        match &self.op.meaning {
            Some(Meaning::Set(writes)) => Some(writes),
            _ => None,
        }
    }
}

/// Rows of each recorded word that is an instruction, on the first and on the last architecture with this text, and of
/// [`COMPILED`].
static ROWS: LazyLock<Vec<WideRow>> = LazyLock::new(|| {
    let mut of_arch: BTreeMap<u32, Vec<(u128, &'static str)>> = BTreeMap::new();
    for line in RECORDED.lines().filter(|line| !line.starts_with('#')) {
        let mut columns = line.splitn(4, ' ').skip(1);
        let mut column = || columns.next().expect("four columns");
        let word = u128::from_str_radix(column(), 16).expect("a word");
        let sms = column().split(',').map(|sm| sm.parse().expect("an SM"));
        let sms: Vec<u32> = sms.filter(|&sm| sm >= FIRST_SM).collect();
        let text = column();
        if text != "!" {
            let ends: BTreeSet<u32> = sms.first().into_iter().chain(sms.last()).copied().collect();
            for sm in ends {
                of_arch.entry(sm).or_default().push((word, text));
            }
        }
    }
    for (sm, word, text) in COMPILED {
        of_arch.entry(sm).or_default().push((word, text));
    }
    let mut rows = Vec::new();
    for (sm, words) in of_arch {
        let arch = Arch::from_sm(sm).expect("a table");
        assert_eq!(arch.family(), Family::Volta);
        let code: Vec<u8> = words.iter().flat_map(|word| word.0.to_le_bytes()).collect();
        let program = SassProgram::decode(arch, &code).expect("whole words");
        let code = lift(&Kernel::default(), &Program::Nvidia(program)).expect("it begins at 0");
        for ((_, text), op) in words.into_iter().zip(code.ops) {
            let instr = WideInstr::parse(text).expect("an instruction");
            rows.push(WideRow {
                arch,
                text,
                instr,
                op,
            });
        }
    }
    rows
});

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

    fn inputs(&mut self) -> WideInputs {
        WideInputs {
            registers: std::array::from_fn(|_| self.word()),
            uniform: std::array::from_fn(|_| self.word()),
            predicates: [false; 8],
            uniform_predicates: [false; 8],
            // A prime, so that bytes and banks far apart do not share a word.
            constants: (0..509).map(|_| self.word()).collect(),
            first_constant: 0,
        }
    }

    /// Draws new values for the predicates, the constants and the registers of some numbers.
    fn refresh(&mut self, inputs: &mut WideInputs, registers: &[(bool, u8)]) {
        let bits = self.next();
        inputs.predicates = std::array::from_fn(|at| bits >> (8 + at) & 1 == 1);
        inputs.uniform_predicates = std::array::from_fn(|at| bits >> (16 + at) & 1 == 1);
        inputs.first_constant = (bits >> 32) as usize % inputs.constants.len();
        let mut last = 0;
        for (index, &(uniform, number)) in registers.iter().enumerate() {
            // Equal and opposite operands, and numbers of 64 bits that differ in one word only.
            let value = match self.next() >> 20 & 15 {
                0 => last,
                1 => u32::wrapping_neg(last),
                2 => !last,
                _ => self.word(),
            };
            let file = match uniform {
                false => &mut inputs.registers,
                true => &mut inputs.uniform,
            };
            file[usize::from(number)] = value;
            // Registers come in pairs; the first one is the operand of 32 bits.
            if index % 2 == 0 {
                last = value;
            }
        }
    }
}

pub(super) fn evaluate(expr: &Expr, inputs: &WideInputs) -> u32 {
    let eval = |e: &Expr| evaluate(e, inputs);
    match expr {
        Expr::Const(n) => *n,
        Expr::Cell(cell) => {
            let register = cell.register();
            let number = usize::from(register.number);
            match register.kind {
                RegisterKind::Vector => inputs.registers[number],
                RegisterKind::Predicate => inputs.predicates[number].into(),
                RegisterKind::Uniform => inputs.uniform[number],
                RegisterKind::UniformPredicate => inputs.uniform_predicates[number].into(),
                _ => unreachable!("{cell}"),
            }
        }
        Expr::Constant(bank, byte) => inputs.constant(*bank, eval(byte)),
        Expr::Unary(op, a) => op.apply(eval(a)),
        Expr::Binary(op, a, b) => op.apply(eval(a), eval(b)).expect("no division"),
        Expr::Ternary(op, a, b, c) => op.apply(eval(a), eval(b), eval(c)),
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

/// Compares a meaning with the reference of a text for a number of inputs; returns the first difference.
fn difference(
    writes: &[(Cell, Expr)],
    instr: &WideInstr<'_>,
    turns: usize,
    inputs: &mut WideInputs,
    random: &mut Random,
) -> Option<String> {
    let registers: Vec<(bool, u8)> = instr.registers_read().collect();
    for _ in 0..turns {
        random.refresh(inputs, &registers);
        let values = writes.iter();
        let mut got: WideOutputs = values
            .map(|(cell, e)| (*cell, evaluate(e, inputs)))
            .collect();
        let Some(mut expected) = outputs(instr, inputs) else {
            return Some(NO_REFERENCE.to_owned());
        };
        got.sort_unstable();
        expected.sort_unstable();
        if got != expected {
            let of = |&(uniform, number): &(bool, u8)| match uniform {
                false => format!("R{number}={:#x}", inputs.registers[usize::from(number)]),
                true => format!("UR{number}={:#x}", inputs.uniform[usize::from(number)]),
            };
            let registers: Vec<String> = registers.iter().map(of).collect();
            return Some(format!(
                "meaning {got:x?}, reference {expected:x?} of {registers:?}, P{:?}, UP{:?}, constants from {}",
                inputs.predicates, inputs.uniform_predicates, inputs.first_constant
            ));
        }
    }
    None
}

/// Compares a row with the readings of its text; returns the first difference of the last one if all differ.
fn difference_of_row(
    row: &WideRow,
    turns: usize,
    inputs: &mut WideInputs,
    random: &mut Random,
) -> Option<String> {
    let writes = row.assignments().unwrap_or_default();
    let found = difference(writes, &row.instr, turns, inputs, random)?;
    match row.instr.with_hidden_carry() {
        Some(other) => difference(writes, &other, turns, inputs, random),
        None => Some(found),
    }
}

/// Rows whose instruction has a reference and a meaning that assigns values, by spelling.
fn rows_by_spelling() -> BTreeMap<&'static str, Vec<&'static WideRow>> {
    let mut by_spelling: BTreeMap<&str, Vec<&WideRow>> = BTreeMap::new();
    for row in ROWS.iter() {
        if has_reference(row.instr.mnemonic) && row.assignments().is_some() {
            by_spelling.entry(row.instr.spelling).or_default().push(row);
        }
    }
    by_spelling
}

#[test]
fn integer_instructions_mean_what_their_text_states() {
    let mut random = Random::new(0x1234_5678_9abc_def1);
    let mut inputs = random.inputs();
    let mut differ = Vec::new();
    let (mut spellings, mut compared, mut drawn) = (0, 0, 0);
    for rows in rows_by_spelling().values() {
        let turns = INPUTS.div_ceil(rows.len());
        for row in rows {
            let found = difference_of_row(row, turns, &mut inputs, &mut random);
            if let Some(found) = found {
                differ.push(format!("{}: {}: {found}", row.arch, row.text));
            }
            compared += 1;
            drawn += turns;
        }
        spellings += 1;
    }
    // So that rows do not lose their meanings unnoticed.
    assert!(
        spellings >= 159 && compared >= 1526,
        "{spellings} spellings, {compared} rows"
    );
    assert!(drawn >= INPUTS * spellings);
    assert!(
        differ.is_empty(),
        "{}:\n{}",
        differ.len(),
        differ.join("\n")
    );
}

/// The guard is the one of the text, and flow analyses know the cells of a meaning.
#[test]
fn guards_and_cells_are_known() {
    let mut wrong = Vec::new();
    for row in ROWS.iter().filter(|row| has_reference(row.instr.mnemonic)) {
        let condition = &row.op.condition;
        if (condition.guard, condition.negated) != row.instr.guard {
            wrong.push(format!("{}: {}: {condition:?}", row.arch, row.text));
        }
        let mut read = Vec::new();
        for (cell, value) in row.assignments().unwrap_or_default() {
            cells(value, &mut read);
            if !row.op.writes.contains(cell) {
                wrong.push(format!("{}: {} writes {cell}", row.arch, row.text));
            }
        }
        for cell in read.iter().filter(|cell| !row.op.reads.contains(cell)) {
            wrong.push(format!("{}: {} reads {cell}", row.arch, row.text));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Cells that a meaning writes.
fn destinations(meaning: &Meaning) -> Vec<Cell> {
    let some = |cells: &[Option<Cell>]| cells.iter().flatten().copied().collect();
    match meaning {
        Meaning::Set(writes) => writes.iter().map(|(cell, _)| *cell).collect(),
        Meaning::Load { dests, .. } => some(dests),
        Meaning::Atomic { dests, .. } => some(dests),
        Meaning::Shuffle { dest, in_range, .. } => some(&[*dest, *in_range]),
        Meaning::Vote { ballot, result, .. } => some(&[*ballot, *result]),
        Meaning::Reduce { dest, .. } => some(&[*dest]),
        Meaning::Match {
            mask, all_equal, ..
        } => some(&[*mask, *all_equal]),
        Meaning::FirstLane { dest, differs, .. } => some(&[*dest, Some(*differs)]),
        Meaning::MatrixProduct(product) => some(&product.dests),
        Meaning::MatrixTranspose(transpose) => some(&[transpose.dest]),
        Meaning::MatrixAccess(access) => match &access.registers {
            MatrixRegisters::Load(dests) => some(dests),
            MatrixRegisters::Store(_) => Vec::new(),
        },
        Meaning::BarrierResult { dest, truth } => some(&[*dest, *truth]),
        Meaning::Texture(read) => read.dests.iter().map(|(_, cell)| *cell).collect(),
        Meaning::TextureSize { dests, .. } => dests.iter().map(|(_, cell)| *cell).collect(),
        _ => Vec::new(),
    }
}

/// Flow analyses know what each instruction writes, in random words and in the code of compilers. The disassembler is no
/// reference for the fourth component of a texture from sm_100 on, which it does not mark.
#[test]
fn what_a_meaning_writes_is_known() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../kernels/wide");
    let mut sessions = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let bytes = std::fs::read(&path).expect("a cubin");
        sessions.push(Session::open(&path.display().to_string(), &bytes).expect("it loads"));
    }
    let mut wrong = Vec::new();
    let (mut written, mut textures) = (0, 0);
    let mut check = |op: &Op, name: &str| {
        let Some(meaning) = &op.meaning else { return };
        textures += usize::from(matches!(meaning, Meaning::Texture(_)));
        for cell in destinations(meaning) {
            written += 1;
            if !op.writes.contains(&cell) {
                wrong.push(format!("{name} {}: {cell}", op.addr));
            }
        }
    };
    for row in ROWS.iter() {
        check(&row.op, row.text);
    }
    for session in &sessions {
        for kernel in session.image.kernels().expect("kernels") {
            let prepared = session.prepare(kernel).expect("it is lifted");
            prepared
                .code
                .ops
                .iter()
                .for_each(|op| check(op, &session.file));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(written > 10_000 && textures > 20, "{written}, {textures}");
}

/// S2UR of a number that differs among the lanes has no meaning: which lane gives it is not known. S2R and other numbers have one.
#[test]
fn numbers_of_lanes_in_uniform_registers_are_unknown() {
    // S2UR UR4 and S2R R4 of SR_LANEID, SR_TID.Y and SR_CTAID.X
    for (word, numbers) in [
        (
            0x0004_79c3_u128,
            [(0x00_u128, true), (0x22, true), (0x25, false)],
        ),
        (0x0004_7919, [(0x00, false), (0x22, false), (0x25, false)]),
    ] {
        for (number, is_unknown) in numbers {
            for sm in [75, 90, 120] {
                let arch = Arch::from_sm(sm).expect("a table");
                let word = word | number << 72;
                let program = SassProgram::decode(arch, &word.to_le_bytes()).expect("a word");
                let code =
                    lift(&Kernel::default(), &Program::Nvidia(program)).expect("it begins at 0");
                let value = code.ops[0].value;
                let found = !matches!(value, ValueDependence::Special(_));
                assert_eq!(found, is_unknown, "sm_{sm} {word:032x}: {value:?}");
            }
        }
    }
}

/// Instructions on all predicates of a file read or write each of them, unless a constant mask chooses some.
#[test]
fn sets_of_predicates_are_read_and_written() {
    for (mnemonic, of, writes) in [
        ("P2R", Cell::pred as fn(u8) -> Cell, false),
        ("R2P", Cell::pred, true),
        ("UP2UR", uniform_predicate, false),
        ("UR2UP", uniform_predicate, true),
    ] {
        let mut whole = 0;
        for row in ROWS.iter().filter(|row| row.instr.mnemonic == mnemonic) {
            let cells: &[Cell] = match writes {
                true => &row.op.writes,
                false => &row.op.reads,
            };
            let named = (0..7).filter(|number| cells.contains(&of(*number))).count();
            // A mask in a register may choose each predicate, or none, so that the old value is read, too.
            let is_constant = row
                .text
                .rsplit(", ")
                .next()
                .is_some_and(|last| last.starts_with("0x"));
            assert!(
                named == 7 || writes && is_constant,
                "{} {}",
                row.arch,
                row.text
            );
            let keeps = (0..7).all(|number| row.op.reads.contains(&of(number)));
            assert!(!writes || is_constant || keeps, "{} {}", row.arch, row.text);
            whole += usize::from(named == 7);
        }
        assert!(whole > 0, "{mnemonic}");
    }
}

fn uniform_predicate(number: u8) -> Cell {
    Cell::of(Reg::uniform_predicate(number))
}

/// Every instruction whose meaning assigns values has a reference, unless it computes floating-point numbers.
#[test]
fn no_wide_meaning_is_without_a_reference() {
    let missing: BTreeSet<&str> = ROWS
        .iter()
        .filter(|row| row.assignments().is_some_and(|writes| !writes.is_empty()))
        .map(|row| row.instr.mnemonic)
        .filter(|mnemonic| !has_reference(mnemonic) && !FLOATS.contains(mnemonic))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}

/// Whether the comparison finds that the reference of another text differs from the meaning, for some word of a spelling.
fn is_found(spelling: &str, other_text: impl Fn(&str) -> Option<String>) -> bool {
    let mut random = Random::new(99);
    let mut inputs = random.inputs();
    let mut planted = 0;
    let rows = rows_by_spelling();
    let rows = rows.get(spelling).expect("a spelling with a meaning");
    let found = rows.iter().any(|row| {
        let Some(text) = other_text(row.text) else {
            return false;
        };
        assert_ne!(text, row.text);
        planted += 1;
        let instr = WideInstr::parse(&text).expect("an instruction");
        let writes = row.assignments().unwrap_or_default();
        // Rows that differ for another reason show nothing.
        let is_right = difference(writes, &row.instr, 1000, &mut inputs, &mut random).is_none();
        let found = difference(writes, &instr, 1000, &mut inputs, &mut random);
        is_right && found.is_some_and(|why| why != NO_REFERENCE)
    });
    assert!(planted > 0, "no text of {spelling} can be changed");
    found
}

/// Text with another operand in place of one, counted from 0 if positive and else from the end.
fn with_operand(text: &str, index: isize, of: impl Fn(&str) -> Option<String>) -> Option<String> {
    let (spelling, operands) = text.rsplit_once(", ").map(|_| {
        let begin = text.find(char::is_whitespace).unwrap_or(0);
        text.split_at(begin + 1)
    })?;
    let mut operands: Vec<String> = operands.split(", ").map(str::to_owned).collect();
    let index = index
        .rem_euclid(operands.len().cast_signed())
        .cast_unsigned();
    let replaced = of(&operands[index]).filter(|other| *other != operands[index])?;
    operands[index] = replaced;
    Some(format!("{spelling}{}", operands.join(", ")))
}

fn immediate(text: &str) -> Option<u32> {
    u32::from_str_radix(text.strip_prefix("0x")?, 16).ok()
}

#[test]
fn a_wrong_row_of_a_table_is_found() {
    for row in 0..8 {
        let other_table = |text: &str| {
            with_operand(text, -2, |table| {
                Some(format!("{:#x}", immediate(table)? ^ 1 << row))
            })
        };
        assert!(is_found("LOP3.LUT", other_table), "row {row}");
        assert!(is_found("ULOP3.LUT", other_table), "row {row}");
        assert!(is_found("PLOP3.LUT", other_table), "row {row}");
    }
}

#[test]
fn a_wrong_modifier_is_found() {
    for (spelling, other) in [
        ("SHF.L.W.U32", "SHF.L.U32"),
        ("SHF.R.U32.HI", "SHF.R.S32.HI"),
        ("SGXT.W", "SGXT"),
        ("SGXT.U32", "SGXT"),
        ("FLO.U32", "FLO"),
        ("FLO.U32.SH", "FLO.U32"),
        ("PRMT.ECL", "PRMT.ECR"),
        ("PRMT.B4E", "PRMT.F4E"),
        ("IMAD.WIDE", "IMAD.WIDE.U32"),
        ("IMAD.HI.U32", "IMAD.HI"),
        ("UIMAD.WIDE", "UIMAD.WIDE.U32"),
        ("ISETP.GE.U32.AND.EX", "ISETP.GE.U32.AND"),
        ("ISETP.GE.U32.AND.EX", "ISETP.LT.U32.AND.EX"),
        ("ISETP.LT.AND.EX", "ISETP.LT.U32.AND.EX"),
        ("ISETP.GE.AND", "ISETP.GE.U32.AND"),
        ("ISETP.GE.AND", "ISETP.GT.AND"),
        ("VIMNMX.S32", "VIMNMX.U32"),
        ("VIMNMX.U16x2", "VIMNMX.S16x2"),
        ("VIMNMX.S16x2", "VIMNMX.U16x2"),
        ("VIMNMX.U32", "VIMNMX.S32"),
        ("VIMNMX3", "VIMNMX3.U32"),
        ("VIADDMNMX.U32", "VIADDMNMX"),
        ("IMNMX.U32", "IMNMX"),
        ("VABSDIFF4.U8.ACC", "VABSDIFF4.ACC"),
        ("IDP.2A.LO.S16.U8", "IDP.2A.HI.S16.U8"),
    ] {
        let replaced = |text: &str| Some(text.replacen(spelling, other, 1));
        assert!(is_found(spelling, replaced), "{other} for {spelling}");
    }
}

#[test]
fn a_wrong_operand_is_found() {
    let replaced_by = |index, other: &'static str| {
        move |text: &str| with_operand(text, index, |_| Some(other.to_owned()))
    };
    // Copies of signs in selectors of bytes.
    let unsigned = |text: &str| {
        with_operand(text, 2, |selector| {
            Some(format!("{:#x}", immediate(selector)? & 0x7777))
        })
    };
    assert!(is_found("PRMT", unsigned));
    // Carries that are dropped.
    let first_carry = |text: &str| {
        with_operand(text, -2, |carry| {
            carry.starts_with('P').then(|| "!PT".to_owned())
        })
    };
    assert!(is_found("IADD3.X", first_carry));
    assert!(is_found("IADD3.X", replaced_by(-1, "!PT")));
    assert!(is_found("IMAD.X", replaced_by(-1, "!PT")));
    assert!(is_found("IMAD.WIDE.U32.X", replaced_by(-1, "!PT")));
    assert!(is_found("LEA.HI.X", replaced_by(-1, "!PT")));
    // Another high word, and another shift.
    let other_word = |word: &str| Some(if word == "RZ" { "R200" } else { "RZ" }.to_owned());
    assert!(is_found("LEA.HI.X", |text: &str| with_operand(
        text, -3, other_word
    )));
    assert!(is_found("LEA.HI", |text: &str| with_operand(
        text, -2, other_word
    )));
    assert!(is_found("LEA.HI", replaced_by(-1, "0x9")));
    assert!(is_found("LEA", replaced_by(-1, "0x9")));
    // Predicates that are written, or that choose.
    assert!(is_found("SEL", replaced_by(-1, "!PT")));
    assert!(is_found("ISETP.GE.U32.AND.EX", replaced_by(-1, "PT")));
    // The 1 of a complement that is dropped.
    let not = |text: &str| text.contains("-R").then(|| text.replacen("-R", "~R", 1));
    assert!(is_found("IADD3", not));
}
