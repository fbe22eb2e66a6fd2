//! A made-up instruction set from which rows are learned. Its texts follow from code, so that no disassembler is needed.

use warpbound_base::CodeAddr;
use warpbound_isa::nvidia::Arch;

use super::answers::Disassembler;
use super::{learn_from, read_all};
use crate::disasm_compare::SplitMix;
use crate::probe_encodings::word_of_opcode;

const ADD: u32 = 0x123;
const LOAD: u32 = 0x145;
const BRANCH: u32 = 0x147;

/// Disassembler of the instruction set.
struct MadeUp;

impl Disassembler for MadeUp {
    fn lines(&self, words: &[u128]) -> anyhow::Result<Vec<(u32, Option<String>)>> {
        let lines = (0u32..).step_by(16).zip(words);
        Ok(lines
            .map(|(address, word)| (address, text(*word, address)))
            .collect())
    }
}

fn field(word: u128, high: u32, low: u32) -> u64 {
    (word >> low) as u64 & ((1 << (high - low + 1)) - 1)
}

fn bit(word: u128, at: u32) -> bool {
    word >> at & 1 == 1
}

fn register(number: u64) -> String {
    match number {
        255 => "RZ".to_owned(),
        number => format!("R{number}"),
    }
}

fn predicate(number: u64) -> String {
    match number {
        7 => "PT".to_owned(),
        number => format!("P{number}"),
    }
}

fn signed(number: i64) -> String {
    let sign = if number < 0 { "-" } else { "" };
    format!("{sign}{:#x}", number.unsigned_abs())
}

fn text(word: u128, address: u32) -> Option<String> {
    let guard = match field(word, 14, 12) {
        7 if !bit(word, 15) => String::new(),
        number => format!(
            "@{}{} ",
            if bit(word, 15) { "!" } else { "" },
            predicate(number)
        ),
    };
    let text = match field(word, 11, 0) as u32 {
        ADD => add(word),
        LOAD => load(word),
        BRANCH => branch(word, address),
        _ => None,
    }?;
    Some(format!("{guard}{text}"))
}

/// Bit 90 chooses between a register and an immediate; bit 74 means the carry, and turns the sign of bit 72 into a
/// complement; a rounding of 3 is illegal, and so are `.SAT` and `.X` together.
fn add(word: u128) -> Option<String> {
    let carry = bit(word, 74);
    let rounding = ["", ".RM", ".RP"].get(field(word, 79, 78) as usize)?;
    if carry && bit(word, 80) || bit(word, 60) && !bit(word, 90) {
        return None;
    }
    let mut out = format!("ADDX{rounding}");
    if bit(word, 80) {
        out += ".SAT";
    }
    if carry {
        out += ".X";
    }
    out += &format!(" {}", register(field(word, 23, 16)));
    if field(word, 83, 81) != 7 {
        out += &format!(", {}", predicate(field(word, 83, 81)));
    }
    let sign = match (bit(word, 72), carry) {
        (true, false) => "-",
        (true, true) => "~",
        _ => "",
    };
    out += &format!(", {sign}{}", register(field(word, 31, 24)));
    out += &match bit(word, 90) {
        true => format!(", {}", signed(i64::from(field(word, 63, 32) as i32))),
        false => format!(
            ", {}{}",
            register(field(word, 39, 32)),
            ["", ".H0", ".H1", ".H1_H0"][field(word, 76, 75) as usize]
        ),
    };
    if carry {
        let not = if bit(word, 88) { "!" } else { "" };
        out += &format!(", {not}{}", predicate(field(word, 87, 85)));
    }
    Some(out)
}

/// An address in brackets; a base of RZ together with bit 91 names another address space.
fn load(word: u128) -> Option<String> {
    let size =
        [".U8", ".S8", ".U16", ".S16", "", ".64", ".128"].get(field(word, 75, 73) as usize)?;
    let base = field(word, 31, 24);
    let offset = (field(word, 63, 40) as i64) << 40 >> 40;
    let wide = if bit(word, 77) { ".64" } else { "" };
    let address = match (base, offset) {
        (255, _) if wide.is_empty() => signed(field(word, 63, 40) as i64),
        (_, 0) => format!("{}{wide}", register(base)),
        _ => format!("{}{wide}+{}", register(base), signed(offset)),
    };
    let address = if base == 255 && wide.is_empty() && offset == 0 {
        "RZ".to_owned()
    } else {
        address
    };
    Some(format!(
        "LOADX{size} {}, [{address}]",
        register(field(word, 23, 16))
    ))
}

/// A relative target in units of 4 bytes, and a condition that is left out.
fn branch(word: u128, address: u32) -> Option<String> {
    let offset = (field(word, 63, 40) as i64) << 40 >> 40;
    let target = signed(i64::from(address) + 16 + offset * 4);
    let not = if bit(word, 90) { "!" } else { "" };
    let condition = match (field(word, 89, 87), not) {
        (7, "") => String::new(),
        (number, not) => format!("{not}{}, ", predicate(number)),
    };
    Some(format!("BRX2 {condition}{target}"))
}

/// Learns an opcode; returns its rows as text after it has compared them on random words.
fn learned(opcode: u32) -> Vec<String> {
    let seeds: Vec<u128> = vec![word_of_opcode(opcode)];
    let learned = learn_from(&MadeUp, Arch::Sm90, opcode, &seeds, SplitMix(7));
    let (rows, doubts) = learned.expect("learned");
    assert!(doubts.is_empty(), "{doubts:?}");
    let reader = read_all(Arch::Sm90, &rows).expect("rows that the table can read");
    let mut random = SplitMix(99);
    let mut legal = 0;
    for _ in 0..3000 {
        let bits = u128::from(random.next()) << 64 | u128::from(random.next());
        let sparse = bits & (u128::from(random.next()) << 64 | u128::MAX >> 64);
        let word = word_of_opcode(opcode) | sparse & ((1 << 91) - (1 << 16));
        let theirs = text(word, 0x40);
        legal += usize::from(theirs.is_some());
        assert_eq!(reader.text(word, CodeAddr(0x40)), theirs, "{word:032x}");
    }
    assert!(legal > 500, "{legal}");
    let rows = rows
        .iter()
        .map(|row| format!("{} | {}", row.effects.join(" "), row.template));
    rows.collect()
}

#[test]
fn fields_lists_operands_and_legality_are_learned() {
    let rows = learned(ADD);
    // Bit 90 changes the kind of an operand, so there are two rows.
    assert_eq!(rows.len(), 2, "{rows:#?}");
    for row in &rows {
        assert!(
            row.contains("{=R23:16}, {=P83:81 opt}, {R31:24 neg=72&!74 inv=72&74}"),
            "{row}"
        );
        assert!(row.contains("{P87:85 not=88 hide=!74}"), "{row}");
        assert!(row.contains("ADDX{«0» 79:78}"), "{row}");
    }
    assert!(rows.iter().any(|row| row.contains("{S63:32}")), "{rows:#?}");
}

#[test]
fn addresses_in_brackets_are_learned() {
    let rows = learned(LOAD);
    assert_eq!(rows.len(), 1, "{rows:#?}");
    assert!(rows[0].contains("{[R31:24/«"), "{rows:#?}");
    assert!(rows[0].contains("+S63:40]}"), "{rows:#?}");
}

#[test]
fn targets_are_learned() {
    let rows = learned(BRANCH);
    assert_eq!(rows.len(), 1, "{rows:#?}");
    assert!(
        rows[0].contains("BRX2 {P89:87 not=90 opt}, {T63:40}"),
        "{rows:#?}"
    );
}
