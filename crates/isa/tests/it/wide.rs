//! Words of 128 bits compared with recorded output of NVIDIA's disassembler (`wide_spelling.txt`): rows of `address word
//! architectures text`, with `!` for a word that is no instruction.

use std::collections::{BTreeMap, BTreeSet};

use warpbound_base::{CodeAddr, Family};
use warpbound_isa::nvidia::{InstrFields, SassProgram, WordBuilder, encode, table};
use warpbound_isa::{Arch, MemorySpace, TargetStyle};

static RECORDED: &str = include_str!("../data/wide_spelling.txt");

/// Parses all rows and lists: they are parsed on demand, so a fault in one could remain undetected.
#[test]
fn every_wide_row_reads() {
    let table = table(Arch::Sm90);
    assert_eq!(table.check(), Ok(()));
    let rows = include_str!("../../../../isa/nvidia/volta.forms").lines();
    let rows = rows.filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
    assert_eq!(table.forms().count(), rows.count());
}

#[test]
fn wide_masks_are_disjoint_or_nested() {
    let table = table(Arch::Sm90);
    for arch in Arch::of_family(Family::Volta) {
        let forms: Vec<_> = table
            .forms()
            .map(|(_, form)| form)
            .filter(|form| form.exists_on(arch))
            .collect();
        for (at, a) in forms.iter().enumerate() {
            for b in &forms[at + 1..] {
                let common = a.mask & b.mask;
                let nested = common == a.mask || common == b.mask;
                assert!(
                    (a.value ^ b.value) & common != 0 || nested && a.mask != b.mask,
                    "{arch}: {:032x}/{:032x} and {:032x}/{:032x} overlap",
                    a.value,
                    a.mask,
                    b.value,
                    b.mask,
                );
            }
        }
    }
}

/// Line of the record: index of the word, the word, its architectures, text.
fn recorded() -> Vec<(usize, u128, Vec<Arch>, &'static str)> {
    let lines = RECORDED.lines().filter(|line| !line.starts_with('#'));
    let parsed = lines.map(|line| {
        let mut columns = line.splitn(4, ' ');
        let mut column = || columns.next().expect("four columns");
        let address = usize::from_str_radix(column(), 16).expect("an address");
        let word = u128::from_str_radix(column(), 16).expect("a word");
        let archs = column().split(',').map(|sm| {
            let sm = sm.parse().expect("an SM number");
            Arch::from_sm(sm).expect("a table")
        });
        (address / 16, word, archs.collect(), column())
    });
    parsed.collect()
}

/// Whether the word is left out on the architecture: sm_107 has no rows, and Volta ignores bit 91, which is a part of
/// the opcode in the rows of later chips (isa/nvidia/README.md, "deliberate differences").
fn is_left_out(arch: Arch, word: u128) -> bool {
    arch == Arch::Sm107 || arch.sm() < 75 && word >> 91 & 1 == 1
}

#[test]
fn every_recorded_wide_word_is_spelled_as_recorded() {
    let lines = recorded();
    let words: BTreeMap<usize, u128> = lines.iter().map(|line| (line.0, line.1)).collect();
    let code: Vec<u8> = words.values().flat_map(|word| word.to_le_bytes()).collect();
    let mut wrong: BTreeMap<(u32, String), Vec<String>> = BTreeMap::new();
    let (mut compared, mut differ) = (0, 0);
    for arch in Arch::of_family(Family::Volta) {
        let program = SassProgram::decode(arch, &code).expect("whole words");
        for (index, word, archs, text) in &lines {
            if !archs.contains(&arch) || is_left_out(arch, *word) {
                continue;
            }
            let ours = program.text(&program.instrs[*index], TargetStyle::Hex);
            // The tool prints runs of blanks, which the record does not have.
            let ours = ours.map(|ours| ours.split_whitespace().collect::<Vec<_>>().join(" "));
            let ours = ours.as_deref().unwrap_or("!");
            compared += 1;
            if ours != *text {
                differ += 1;
                let shown = if *text == "!" { ours } else { text };
                let mnemonic = shown.split(['.', ' ']).next().unwrap_or_default();
                let of_mnemonic = wrong.entry((arch.sm(), mnemonic.to_owned())).or_default();
                of_mnemonic.push(format!(
                    "{word:032x}\n        ours     {ours}\n        recorded {text}"
                ));
            }
        }
    }
    let report: Vec<String> = wrong
        .iter()
        .map(|((sm, mnemonic), words)| {
            let some: Vec<&str> = words.iter().take(2).map(String::as_str).collect();
            format!(
                "sm_{sm} {mnemonic}: {}\n    {}",
                words.len(),
                some.join("\n    ")
            )
        })
        .collect();
    assert_eq!(
        differ,
        0,
        "{differ} of {compared} words differ\n{}",
        report.join("\n")
    );
}

/// Decodes a word on an architecture.
fn decoded(arch: Arch, word: u128) -> SassProgram {
    SassProgram::decode(arch, &word.to_le_bytes()).expect("a whole word")
}

/// A matrix takes one register of each lane; copies name their size.
#[test]
fn accesses_of_matrices_have_sizes() {
    for (text, word, bytes) in [
        (
            "LDSM.16.MT88.2 R28, [R32]",
            0x000fe800_00004100_00000000_201c783b,
            8,
        ),
        (
            "LDSM.16.M88.4 R24, [R34]",
            0x002e6400_00000200_00000000_2218783b,
            16,
        ),
        (
            "LDGSTS.E.64.ZFILL [R13+0x400], [R6.64], P1",
            0x0003e800_08961a44_00400000_060d7fae,
            8,
        ),
        (
            "@!P2 LDGSTS.E [R0+0x600], [R4.64]",
            0x0003e800_0b921844_00600000_0400afae,
            4,
        ),
    ] {
        let program = decoded(Arch::Sm80, word);
        let instr = &program.instrs[0];
        assert_eq!(program.text(instr, TargetStyle::Hex).as_deref(), Some(text));
        assert_eq!(program.access_bytes(instr), Some(bytes), "{text}");
    }
}

/// Rows of sm_70 and sm_72 have the effects of the later chips, although no analysis accepts code of these two.
#[test]
fn every_row_has_effects() {
    let mut local = 0;
    for arch in Arch::of_family(Family::Volta) {
        for (_, form) in table(arch).forms().filter(|(_, form)| form.exists_on(arch)) {
            let program = decoded(arch, form.value);
            let instr = &program.instrs[0];
            let effects = program.effects(instr);
            let name = form.mnemonic();
            let control = program.control_effects(instr);
            assert_eq!(control.flow, effects.flow, "{arch} {name}");
            assert_eq!(control.guard, effects.guard, "{arch} {name}");
            assert_eq!(control.further, effects.further, "{arch} {name}");
            if instr.form.is_some() && ["LDL", "STL"].contains(&name) {
                let space = effects.access.map(|access| access.space);
                assert_eq!(space, Some(MemorySpace::Local), "{arch} {name}");
                local += 1;
            }
        }
    }
    assert!(local >= 18, "{local} loads and stores of local memory");
}

/// Mnemonics of which the builder cannot make every word again from its operands. The list may only become shorter.
const NOT_REBUILT: [&str; 0] = [];

/// Words of each row with random free bits, and uniform ones: every query answers, whatever the bits are.
#[test]
fn random_words_are_printed_and_taken_apart() {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let mut instructions = 0;
    let mut not_rebuilt = BTreeSet::new();
    for arch in Arch::of_family(Family::Volta) {
        let forms: Vec<_> = table(arch).forms().map(|(_, form)| form).collect();
        for number in 0..4 * forms.len() {
            let random = u128::from(next()) << 64 | u128::from(next());
            let word = match (number % 4, forms.get(number / 4)) {
                (0..3, Some(form)) => form.value | random & !form.mask,
                _ => random,
            };
            let program = decoded(arch, word);
            let instr = &program.instrs[0];
            let known = instr.form.is_some();
            let text = program.text(instr, TargetStyle::Hex);
            assert_eq!(text.is_some(), known, "{arch} {word:032x}");
            assert!(text.is_none_or(|text| !text.is_empty() && text.is_ascii()));
            assert_eq!(program.view(instr).is_some(), known);
            assert_eq!(program.timing(instr).is_some(), known);
            let _ = (program.effects(instr), program.access_bytes(instr));
            let fields = InstrFields::decode(arch, word);
            assert_eq!(fields.is_some(), known);
            if let Some(fields) = fields {
                assert_eq!(encode(&fields), word, "{arch}");
                instructions += 1;
            }
            let builder = WordBuilder::of_word(arch, word, 0, CodeAddr(0x100));
            assert_eq!(builder.is_some(), known);
            if let Some(builder) = builder {
                let built = builder.build().ok();
                let again =
                    built.and_then(|built| WordBuilder::of_word(arch, built, 0, CodeAddr(0x100)));
                if again.as_ref() != Some(&builder) {
                    let text = program.text(instr, TargetStyle::Hex).unwrap_or_default();
                    let opcode = text.split(' ').find(|part| !part.starts_with('@'));
                    let mnemonic = opcode.and_then(|opcode| opcode.split('.').next());
                    not_rebuilt.insert(mnemonic.unwrap_or_default().to_owned());
                }
            }
        }
    }
    assert!(instructions > 10_000, "{instructions} instructions");
    let not_rebuilt: Vec<&str> = not_rebuilt.iter().map(String::as_str).collect();
    assert_eq!(not_rebuilt, NOT_REBUILT);
}
