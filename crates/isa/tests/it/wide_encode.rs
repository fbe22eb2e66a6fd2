//! Words of 128 bits are encoded as they are decoded: recorded words from their operands, and new instructions.

use std::collections::BTreeSet;

use warpbound_base::{CodeAddr, Family};
use warpbound_isa::instr::ValueSource;
use warpbound_isa::nvidia::{
    BracketOperand, ControlWord, EncodeError, FieldRole, InstrFields, Modifier, NewOperand, Opcode,
    OperandMismatch, SassProgram, WordBuilder, encode, table,
};
use warpbound_isa::{Arch, Axis, SpecialReg, TargetStyle};

static RECORDED: &str = include_str!("../data/wide_spelling.txt");

/// Text of a word at address 0.
fn text(arch: Arch, word: u128) -> String {
    let program = SassProgram::decode(arch, &word.to_le_bytes()).expect("a whole word");
    let text = program.text(&program.instrs[0], TargetStyle::Hex);
    text.unwrap_or_else(|| "!".to_owned())
}

/// Recorded words that are instructions, with their fields and texts, on each of their architectures.
fn recorded() -> impl Iterator<Item = (Arch, u128, InstrFields, &'static str)> {
    let lines = RECORDED.lines().filter(|line| !line.starts_with('#'));
    lines.flat_map(|line| {
        let mut columns = line.splitn(4, ' ').skip(1);
        let word = columns.next().expect("a word");
        let word = u128::from_str_radix(word, 16).expect("a word");
        let archs = columns.next().expect("architectures");
        let text = columns.next().expect("a text");
        archs.split(',').filter_map(move |sm| {
            let sm = sm.parse().expect("an SM number");
            let arch = Arch::from_sm(sm).expect("a table");
            let fields = InstrFields::decode(arch, word)?;
            Some((arch, word, fields, text))
        })
    })
}

const PT: NewOperand = NewOperand::pred(None);

fn reg(number: u8) -> NewOperand {
    NewOperand::reg(number)
}

fn pred(number: u8) -> NewOperand {
    NewOperand::pred(Some(number))
}

/// Address `[base+offset]` with the text `.64` and a descriptor.
fn described(descriptor: u8, base: u8, offset: i64) -> NewOperand {
    NewOperand::brackets(BracketOperand {
        descriptor: Some(Some(descriptor)),
        base: Some(Some(base)),
        offset,
        suffix: ".64",
        ..BracketOperand::new("desc")
    })
}

#[test]
fn every_recorded_word_is_encoded_again_from_its_parts() {
    let (mut words, mut exact) = (0, 0);
    for (arch, word, fields, spelled) in recorded() {
        let title = format!("{arch} {word:032x} {spelled}");
        assert_eq!(encode(&fields), word, "{title}");
        // Bits that no field names do not follow from operands.
        let stated = !fields.unnamed_mask();
        let builder = WordBuilder::of_word(arch, word, 0, CodeAddr(0)).expect("operands");
        let with_codes = builder.clone().with_codes(&fields).build();
        let with_codes = with_codes.map(|built| (built ^ word) & stated);
        assert_eq!(with_codes, Ok(0), "{title}");
        let built = builder.build().expect(&title);
        let again = WordBuilder::of_word(arch, built, 0, CodeAddr(0));
        assert_eq!(again.as_ref(), Some(&builder), "{title}");
        words += 1;
        if (built ^ word) & stated == 0 {
            exact += 1;
            assert_eq!(text(arch, built), text(arch, word));
        }
    }
    assert!(words > 7_000, "{words} words");
    assert!(exact * 2 > words, "{exact} of {words} words without codes");
}

/// The builder takes each operand from its value, not from the codes: codes of another word of the row change nothing.
#[test]
fn codes_replace_no_operand() {
    let (arch, addr) = (Arch::Sm90, CodeAddr(0));
    // IADD3 R2, R3, R4, R5 and IADD3 R252, ... with other operands.
    let build = |registers: [u8; 4]| {
        let operands = registers.map(reg);
        let builder = WordBuilder::new(arch, Opcode::Iadd3).operands(&operands);
        builder.build().expect("a word")
    };
    let (word, other) = (build([2, 3, 4, 5]), build([252, 251, 250, 249]));
    let codes = InstrFields::decode(arch, other).expect("IADD3");
    let builder = WordBuilder::of_word(arch, word, 0, addr).expect("operands");
    assert_eq!(builder.with_codes(&codes).build(), Ok(word));
}

/// A target counts in units of 4 bytes from the next instruction, in a split field.
#[test]
fn targets_count_in_units_of_4_bytes_from_the_next_instruction() {
    // 80: BRA 0x2a0 at address 0x1d0 and back to 0x40.
    for (at, to, units) in [(0x1d0, 0x2a0, 0x30_i64), (0x1d0, 0x40, -0x68)] {
        let builder = WordBuilder::new(Arch::Sm90, Opcode::Bra);
        let target = NewOperand::target(CodeAddr(to));
        let word = builder.at(CodeAddr(at)).operands(&[target]).build();
        let word = word.expect("a word");
        let field = (word >> 34 & ((1 << 48) - 1)) << 8 | word >> 16 & 0xff;
        assert_eq!(field as u64, units as u64 & ((1 << 56) - 1), "{word:032x}");
        let program = SassProgram::decode(Arch::Sm90, &word.to_le_bytes()).expect("a word");
        let moved = warpbound_isa::SassInstr {
            addr: CodeAddr(at),
            ..program.instrs[0]
        };
        let printed = program.text(&moved, TargetStyle::Hex);
        assert_eq!(printed, Some(format!("BRA {to:#x}")));
    }
    let odd = WordBuilder::new(Arch::Sm90, Opcode::Bra).at(CodeAddr(0));
    let odd = odd.operands(&[NewOperand::target(CodeAddr(0x32))]).build();
    let mismatch = OperandMismatch::Multiple { of: 4 };
    assert!(matches!(odd, Err(EncodeError::Operand { mismatch: m, .. }) if m == mismatch));
}

/// URZ has the number 63 before sm_100 and 255 from then on; the number itself is no register.
#[test]
fn urz_has_the_number_of_its_architecture() {
    let built = |arch, number| {
        let operands = [reg(3), NewOperand::uniform(number)];
        WordBuilder::new(arch, Opcode::Mov)
            .operands(&operands)
            .build()
    };
    for (arch, urz) in [
        (Arch::Sm75, 63),
        (Arch::Sm90, 63),
        (Arch::Sm100, 255),
        (Arch::Sm120, 255),
    ] {
        let word = built(arch, 255).expect("a word");
        assert_eq!(word >> 32 & 0xff, urz, "{arch}");
        assert_eq!(text(arch, word), "MOV R3, URZ");
        let word = built(arch, 62).expect("a word");
        assert_eq!(text(arch, word), "MOV R3, UR62");
    }
    assert!(built(Arch::Sm90, 63).is_err() && built(Arch::Sm90, 64).is_err());
    let word = built(Arch::Sm100, 63).expect("a word");
    assert_eq!(text(Arch::Sm100, word), "MOV R3, UR63");
}

/// Builds a word and compares its text.
fn builds(
    arch: Arch,
    expected: &str,
    opcode: Opcode,
    modifiers: &'static str,
    operands: &[NewOperand],
) {
    let builder = WordBuilder::new(arch, opcode)
        .modifier_text(modifiers)
        .operands(operands);
    let word = builder.build().map(|word| text(arch, word));
    assert_eq!(word.as_deref(), Ok(expected));
}

#[test]
fn new_instructions_of_three_architectures() {
    use Opcode::{Imad, Isetp, Ldc, Lds, Lop3, Mov, Nop, Popc, S2r, Vote};
    for arch in [Arch::Sm75, Arch::Sm90, Arch::Sm120] {
        builds(arch, "NOP", Nop, "", &[]);
        let thread = NewOperand::special(SpecialReg::ThreadIndex(Axis::X));
        builds(arch, "S2R R4, SR_TID.X", S2r, "", &[reg(4), thread]);
        let below = NewOperand::special(SpecialReg::LanesBelow);
        builds(arch, "S2R R4, SR_LTMASK", S2r, "", &[reg(4), below]);
        builds(arch, "POPC R2, R3", Popc, "", &[2, 3].map(reg));
        let operands = [reg(2), PT, PT];
        builds(arch, "VOTE.ANY R2, PT, PT", Vote, ".ANY", &operands);
        let immediate = NewOperand::int(-4);
        builds(
            arch,
            "MOV R1, 0xfffffffc",
            Mov,
            "",
            &[reg(1), NewOperand::int(0xffff_fffc)],
        );
        let operands = [pred(0), PT, reg(2), immediate, PT];
        builds(
            arch,
            "ISETP.LT.U32.AND P0, PT, R2, -0x4, PT",
            Isetp,
            ".LT.U32.AND",
            &operands,
        );
        builds(
            arch,
            "LDS R5, [R9+0x10]",
            Lds,
            "",
            &[reg(5), NewOperand::memory(9, 16)],
        );
        let operands = [
            reg(2),
            reg(3),
            reg(4),
            NewOperand::zero(),
            NewOperand::int(0xc0),
        ];
        let operands = [operands.as_slice(), &[NewOperand::not_pred(None)]].concat();
        builds(
            arch,
            "LOP3.LUT R2, R3, R4, RZ, 0xc0, !PT",
            Lop3,
            ".LUT",
            &operands,
        );
        // The name follows from the operands.
        let operands = [2, 255, 255, 7].map(reg);
        builds(arch, "IMAD.MOV.U32 R2, RZ, RZ, R7", Imad, ".U32", &operands);
        builds(
            arch,
            "LDC R1, c[0x0][0x28]",
            Ldc,
            "",
            &[reg(1), NewOperand::constant_at(0, 255, 0x28)],
        );
    }
}

#[test]
fn new_instructions_with_carries_and_constants() {
    use Opcode::{Iadd3, Mov, S2ur};
    let hopper = Arch::Sm90;
    builds(
        hopper,
        "MOV R1, c[0x0][0x28]",
        Mov,
        "",
        &[reg(1), NewOperand::constant(0, 0x28)],
    );
    let operands = [reg(2), pred(1), reg(3).negated(), reg(4), reg(5)];
    builds(hopper, "IADD3 R2, P1, -R3, R4, R5", Iadd3, "", &operands);
    let operands = [
        reg(2),
        reg(3),
        reg(4),
        reg(5),
        pred(0),
        NewOperand::not_pred(None),
    ];
    builds(
        hopper,
        "IADD3.X R2, R3, R4, R5, P0, !PT",
        Iadd3,
        ".X",
        &operands,
    );
    let block = NewOperand::special(SpecialReg::BlockIndex(Axis::X));
    builds(
        hopper,
        "S2UR UR4, SR_CTAID.X",
        S2ur,
        "",
        &[NewOperand::uniform(4), block],
    );
}

/// One uniform register holds no number of each lane, and no document says whose number it has.
#[test]
fn uniform_registers_have_no_numbers_of_lanes() {
    let source = |opcode, dest, register| {
        let operands = [dest, NewOperand::special(register)];
        let builder = WordBuilder::new(Arch::Sm90, opcode).operands(&operands);
        let word: u128 = builder.build().expect("an instruction");
        let program = SassProgram::decode(Arch::Sm90, &word.to_le_bytes()).expect("a whole word");
        program.effects(&program.instrs[0]).source
    };
    let (lane, block) = (SpecialReg::LaneId, SpecialReg::BlockIndex(Axis::X));
    let uniform = NewOperand::uniform(4);
    assert_eq!(source(Opcode::S2ur, uniform, lane), ValueSource::Uniform);
    let of_block = source(Opcode::S2ur, uniform, block);
    assert_eq!(of_block, ValueSource::Special(block));
    assert_eq!(
        source(Opcode::S2r, reg(4), lane),
        ValueSource::Special(lane)
    );
}

#[test]
fn new_accesses_of_memory() {
    use Opcode::{Atomg, Ldg, Lds, Stg};
    let hopper = Arch::Sm90;
    let loads = [reg(4), described(6, 4, 0x180)];
    builds(
        hopper,
        "LDG.E R4, desc[UR6][R4.64+0x180]",
        Ldg,
        ".E",
        &loads,
    );
    let stores = [described(6, 4, -8), reg(10)];
    builds(
        hopper,
        "STG.E.64 desc[UR6][R4.64+-0x8], R10",
        Stg,
        ".E.64",
        &stores,
    );
    let misaligned = [described(6, 4, -8), reg(9)];
    let store = WordBuilder::new(hopper, Stg)
        .modifier_text(".E.64")
        .operands(&misaligned);
    assert!(store.build().is_err());
    let exchanges = [PT, reg(2), described(4, 8, 0), reg(9)];
    let expected = "ATOMG.E.EXCH.STRONG.GPU PT, R2, desc[UR4][R8.64], R9";
    builds(hopper, expected, Atomg, ".E.EXCH.STRONG.GPU", &exchanges);
    let scaled = NewOperand::brackets(BracketOperand {
        base: Some(Some(5)),
        uniform: Some(Some(7)),
        offset: 0x200,
        suffix: ".X4",
        ..BracketOperand::new("")
    });
    builds(
        hopper,
        "LDS R3, [R5.X4+UR7+0x200]",
        Lds,
        "",
        &[reg(3), scaled],
    );
}

#[test]
fn guard_and_control_field_are_part_of_the_word() {
    // 103: @!P0 LDG.E R4, desc[UR6][R4.64+0x180], with a wait and a scoreboard.
    let word: u128 = 0x000e_a200_0c1e_1900_0001_8006_0404_8981;
    let control = ControlWord {
        usched: 17,
        write_sb: Some(2),
        read_sb: None,
        wait_mask: 0,
        reuse: 0,
        coupled: false,
    };
    assert_eq!(ControlWord::of_field(word), control);
    let builder = WordBuilder::new(Arch::Sm103, Opcode::Ldg)
        .guard(0, true)
        .modifier(Modifier::E)
        .operands(&[reg(4), described(6, 4, 0x180)]);
    let built = builder.clone().control(control).build().expect("a word");
    assert_eq!(text(Arch::Sm103, built), text(Arch::Sm103, word));
    assert_eq!(ControlWord::of_field(built), control);
    // The rest of the word is the same with another control field.
    let plain = builder.clone().build().expect("a word");
    assert_eq!(ControlWord::of_field(plain), ControlWord::PLAIN);
    assert_eq!(control.in_word(plain), built);
    // No instruction has the stall code of a pair.
    let paired = ControlWord {
        usched: 16,
        ..control
    };
    let opcode = Opcode::Ldg;
    assert_eq!(
        builder.control(paired).build(),
        Err(EncodeError::Control { opcode })
    );
}

#[test]
fn operands_are_kept_in_the_reuse_cache_if_the_stall_code_allows_it() {
    let operands = [reg(12), reg(5).reused(), reg(2).reused(), reg(255)];
    let builder = WordBuilder::new(Arch::Sm86, Opcode::Vabsdiff4)
        .modifier_text(".U8")
        .operands(&operands);
    let word = builder.clone().build().expect("a word");
    assert_eq!(
        text(Arch::Sm86, word),
        "VABSDIFF4.U8 R12, R5.reuse, R2.reuse, RZ"
    );
    assert_eq!(ControlWord::of_field(word).reuse, 0b0011);
    // Below 17 the bits are a code for batches.
    let control = ControlWord {
        usched: 4,
        ..ControlWord::PLAIN
    };
    let mismatch = OperandMismatch::Modifier;
    assert_eq!(
        builder.control(control).build(),
        Err(EncodeError::Operand {
            opcode: Opcode::Vabsdiff4,
            index: 1,
            mismatch
        })
    );
    let load = [reg(3), NewOperand::memory(5, 0).reused()];
    assert!(
        WordBuilder::new(Arch::Sm86, Opcode::Lds)
            .operands(&load)
            .build()
            .is_err()
    );
}

/// Two codes with the same text: the codes of a word decide, and without them the first one is taken.
#[test]
fn codes_choose_between_words_with_the_same_text() {
    let mut pairs = 0;
    for (arch, word, fields, spelled) in recorded().filter(|(arch, ..)| *arch == Arch::Sm90) {
        for (index, (role, width, value)) in fields.fields().enumerate() {
            if !matches!(role, FieldRole::Modifier(_)) || width > 5 {
                continue;
            }
            for other in (0..1 << width).filter(|other| *other != value) {
                let mut changed = fields.clone();
                if !changed.set(index, other) {
                    continue;
                }
                let twin = encode(&changed);
                if text(arch, twin) != spelled || text(arch, word) != spelled {
                    continue;
                }
                pairs += 1;
                let of = |word| WordBuilder::of_word(arch, word, 0, CodeAddr(0)).expect("operands");
                assert_eq!(of(word), of(twin), "{spelled}");
                let stated = twin & !changed.unnamed();
                assert_eq!(
                    of(word).with_codes(&changed).build(),
                    Ok(stated),
                    "{spelled}"
                );
            }
        }
    }
    assert!(pairs > 10, "{pairs} pairs");
}

/// The builder writes only the text after the general register, so no other term may have one.
#[test]
fn only_general_registers_have_texts_in_brackets() {
    let rows = include_str!("../../../../isa/nvidia/volta.forms").lines();
    let mut suffixes = 0;
    for line in rows.filter(|line| !line.starts_with('#')) {
        for brackets in line.split('{').filter(|item| item.contains('[')) {
            let item = brackets.split([' ', '}']).next().unwrap_or_default();
            suffixes += item.matches('/').count();
            assert!(item.matches('/').count() <= 1, "{item}");
            for term in item
                .split(['[', ']'])
                .flat_map(|group| group.split("+G"))
                .skip(1)
            {
                let is_general = term.starts_with('R');
                assert!(is_general || !term.split('+').next().unwrap_or_default().contains('/'));
            }
        }
    }
    assert!(suffixes > 50, "{suffixes} texts");
}

/// Every row that is an instruction on some architecture can be built again with its fixed bits and zeros.
#[test]
fn the_plainest_word_of_every_row_is_built_again() {
    let mut built = 0;
    for arch in Arch::of_family(Family::Volta) {
        for (_, form) in table(arch).forms().filter(|(_, form)| form.exists_on(arch)) {
            let word = ControlWord::PLAIN.in_word(form.value) | 0x7000 & !form.mask;
            let Some(fields) = InstrFields::decode(arch, word) else {
                continue;
            };
            let builder = WordBuilder::of_word(arch, word, 0, CodeAddr(0x100)).expect("operands");
            let stated = Ok(word & !fields.unnamed());
            let title = form.mnemonic();
            assert_eq!(
                builder.with_codes(&fields).build(),
                stated,
                "{arch} {word:032x} {title}"
            );
            built += 1;
        }
    }
    assert!(built > 5_000, "{built} words");
}

/// Predicates of the uniform datapath that a row stores inverted (texts of nvdisasm 13.5).
#[test]
fn inverted_uniform_predicates() {
    let word: u128 = 0x000f_c200_0000_0000_0000_0000_0000_723c;
    for (code, text_of_code) in [(0, ""), (1, ", UP6"), (7, ", UP0"), (9, ", !UP6")] {
        let word = word | code << 87;
        let expected = format!("HMMA.1688.F16 R0, R0, R0, R0{text_of_code}");
        assert_eq!(text(Arch::Sm86, word), expected);
        let builder = WordBuilder::of_word(Arch::Sm86, word, 0, CodeAddr(0)).expect("operands");
        let built = builder.build().expect("a word");
        assert_eq!(text(Arch::Sm86, built), expected);
    }
}

/// Words of a row that differ from those of a narrower one in a single bit: a builder that only fills the fields of the
/// wider row could make a word of the narrower one.
#[test]
fn words_stay_out_of_narrower_rows() {
    let (mut built, mut failed) = (0, BTreeSet::new());
    for arch in Arch::of_family(Family::Volta) {
        let forms: Vec<_> = table(arch).forms().map(|(_, form)| form).collect();
        let forms = forms.iter().filter(|form| form.exists_on(arch));
        let forms: Vec<_> = forms.collect();
        for (narrow, wide) in forms.iter().flat_map(|a| forms.iter().map(move |b| (a, b))) {
            let is_nested = narrow.mask != wide.mask
                && narrow.mask & wide.mask == wide.mask
                && narrow.value & wide.mask == wide.value;
            let free = narrow.mask & !wide.mask;
            for bit in (0..105).filter(|bit| is_nested && free >> bit & 1 == 1) {
                let word =
                    ControlWord::PLAIN.in_word(narrow.value ^ 1 << bit) | 0x7000 & !wide.mask;
                let Some(builder) = WordBuilder::of_word(arch, word, 0, CodeAddr(0x100)) else {
                    continue;
                };
                built += 1;
                let again = builder.build().map(|again| text(arch, again));
                if again.as_deref() != Ok(text(arch, word).as_str()) {
                    failed.insert(format!("{arch} {word:032x} {} {again:?}", text(arch, word)));
                }
            }
        }
    }
    assert!(built > 1000, "{built} words");
    assert!(
        failed.is_empty(),
        "{} of {built}: {failed:#?}",
        failed.len()
    );
}
