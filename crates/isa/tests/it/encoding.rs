//! Tables of words of 32, 64 and 128 bits and of mixed lengths: small tables, written for these tests, against a
//! search over all their rows.

use std::fmt::Write;
use warpbound_base::{BitRange, CodeAddr};
use warpbound_isa::encoding::{
    CodeLayout, EncodedInstr, EncodingTable, EncodingWord, TableDescription, WordWidth,
};

const ARCHS: [u32; 3] = [1, 2, 5];

/// Words of 32 bits: three levels of nesting, an illegal row, rows of some architectures.
const SHORT: TableDescription = TableDescription {
    text: "\
# value/mask        archs timing | effects | template
10000000/f0000000   all   alu    | -       | ADD{.SAT 4} {=R11:8}
11000000/ff000000   all   alu    | -       | ADD.X {=R11:8}
11000030/ff0000f0   2+    alu    | -       | ADD.Y {=R11:8}
11000031/ff0000ff   5     alu    | illegal | ADD
80000001/80000003   all   mem    | -       | LD {=R11:8}

80000002/80000003   1,5   mem    | -       | ST {R11:8}
f0000002/f0000003   1     mem    | illegal | ST
",
    layout: CodeLayout::Units(WordWidth::Bits32),
    index: &[BitRange { hi: 31, lo: 24 }],
    archs: &ARCHS,
};

/// Words of 128 bits with the opcode in the low bits, and nesting by the top bits.
const LONG: TableDescription = TableDescription {
    text: "\
00000000000000000000000000000210/00000000000000000000000000000fff all   alu | -       | FADD{.SAT 77}
80000000000000000000000000000210/80000000000000000000000000000fff all   alu | illegal | FADD
00000000000000000000000000000200/00000000000000000000000000000e00 2+    alu | -       | FMUL
00000008000000000000000000000a00/0000000f000000000000000000000e00 all   mem | -       | LD
00000008000000000000000000000a24/0000000f000000000000000000000fff 1     mem | -       | LD.X
00000007ffffffffffffffffffffffff/0000000fffffffffffffffffffffffff all   mem | -       | ONES
",
    layout: CodeLayout::Units(WordWidth::Bits128),
    index: &[BitRange { hi: 11, lo: 0 }],
    archs: &ARCHS,
};

/// Words of 32 and 64 bits. A literal follows some of both; a longer row is nested in a shorter one, once by bits of
/// the first unit (`ADD.D`) and once by bits of the second only (`SYNC.W`).
const MIXED: TableDescription = TableDescription {
    text: "\
00000000/ff000000+7:0=ff,15:8=ff       all alu | -       | ADD {=R23:16}
00000000000000fa/00000000ff0000ff      all alu | -       | ADD.D {=R23:16}
01000000/ff000000+7:0=ff               2+  alu | -       | MOV {=R23:16}
01030000/ff070000                      all alu | illegal | MOV
00000000d0000000/00000000fc000000      all alu | -       | MAD {=R39:32}
00000000d0050000/00000000fc070000      1,2 alu | -       | MAD.X {=R39:32}
80000000d0050000/80000000fc070000      all alu | illegal | MAD
00000000e0000000/00000000ff000000+39:32=fe all mem | -   | LD {=R39:32}
f0000000/ff000000                      all ctl | -       | SYNC
00001234f0000000/0000fffffff00000      all ctl | -       | SYNC.W
",
    layout: CodeLayout::Units(WordWidth::Bits32),
    index: &[BitRange { hi: 31, lo: 26 }, BitRange { hi: 18, lo: 16 }],
    archs: &ARCHS,
};

fn table<W: EncodingWord>(description: TableDescription) -> EncodingTable<W> {
    EncodingTable::read(description).expect("a table without faults")
}

/// Row as the search reads it.
struct PlainRow {
    mask: u128,
    value: u128,
    bytes: usize,
    archs: String,
    literal: Vec<(u32, u32, u128)>,
}

impl PlainRow {
    fn is_on(&self, arch: usize) -> bool {
        let number = ARCHS[arch];
        match self.archs.strip_suffix('+') {
            Some(first) => number >= first.parse().expect("a number"),
            None => {
                let mut numbers = self.archs.split(',');
                self.archs == "all" || numbers.any(|text| text == number.to_string())
            }
        }
    }
}

fn plain_rows(table: &TableDescription) -> Vec<PlainRow> {
    let number = |text| u128::from_str_radix(text, 16).expect("a number");
    let lines = table.text.lines();
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| {
            let mut words = line.split_ascii_whitespace();
            let (pattern, archs) = (words.next().expect("bits"), words.next().expect("archs"));
            let (bits, literal) = pattern.split_once('+').unwrap_or((pattern, ""));
            let (value, mask) = bits.split_once('/').expect("a mask");
            let literal = literal.split(',').filter(|text| !text.is_empty());
            PlainRow {
                mask: number(mask),
                value: number(value),
                bytes: mask.len() / 2,
                archs: archs.to_owned(),
                literal: literal
                    .map(|text| {
                        let (range, value) = text.split_once('=').expect("a value");
                        let (hi, lo) = range.split_once(':').expect("a range");
                        let bit = |text: &str| text.parse::<u32>().expect("a bit");
                        (bit(hi), bit(lo), number(value))
                    })
                    .collect(),
            }
        })
        .collect()
}

/// Most specific of all rows that agree with the bits set in `present`.
fn search(rows: &[PlainRow], arch: usize, word: u128, present: u128) -> Option<usize> {
    let agrees = |row: &PlainRow| (word ^ row.value) & row.mask & present == 0 && row.is_on(arch);
    let matches = (0..rows.len()).filter(|&at| agrees(&rows[at]));
    matches.max_by_key(|&at| rows[at].mask.count_ones())
}

/// Address, length, row and word of each instruction, and whether the code ends with the last.
type Division = (Vec<(usize, usize, Option<usize>, u128)>, bool);

/// Division of code into instructions by [`search`].
fn search_all(rows: &[PlainRow], unit: usize, arch: usize, code: &[u8]) -> Division {
    let (mut found, mut at) = (Vec::new(), 0);
    while at < code.len() {
        let rest = &code[at..code.len().min(at + 16)];
        let word = |bytes: &[u8]| {
            let digits = bytes.iter().rev().fold(String::new(), |mut text, byte| {
                write!(text, "{byte:02x}").expect("a text");
                text
            });
            u128::from_str_radix(&digits, 16).expect("a number")
        };
        if rest.len() < unit {
            return (found, false);
        }
        let present = word(&vec![0xff; rest.len()]);
        let row = search(rows, arch, word(rest), present);
        let length = row.map_or(unit, |row| {
            let row = &rows[row];
            let field = |hi: u32, lo: u32| word(rest) >> lo & ((1 << (hi - lo + 1)) - 1);
            let mut conditions = row.literal.iter();
            let literal = conditions.any(|&(hi, lo, value)| field(hi, lo) == value);
            row.bytes + if literal { unit } else { 0 }
        });
        if length > rest.len() {
            return (found, false);
        }
        found.push((at, length, row, word(&rest[..length])));
        at += length;
    }
    (found, true)
}

fn division<W: EncodingWord>(table: &EncodingTable<W>, arch: usize, code: &[u8]) -> Division {
    let mut found = Vec::new();
    let result = table.decode(arch, code, |instr: EncodedInstr| {
        assert_eq!(instr.control, None);
        let row = instr.row.map(usize::from);
        found.push((instr.addr.0 as usize, instr.length, row, instr.word));
    });
    (found, result.is_ok())
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    fn wide(&mut self) -> u128 {
        u128::from(self.next()) << 64 | u128::from(self.next())
    }

    /// A word of which a row fixes the bits, sometimes with a flipped bit, or any word.
    fn word(&mut self, rows: &[PlainRow]) -> (u128, usize) {
        let row = &rows[self.next() as usize % rows.len()];
        let free = match self.next() % 3 {
            0 => self.wide(),
            1 => self.wide() & self.wide() & self.wide(),
            _ => self.wide() | self.wide() | self.wide(),
        };
        let word = match self.next() % 4 {
            0 => free,
            1 => (row.value | free & !row.mask) ^ 1 << (self.next() % 128),
            _ => row.value | free & !row.mask,
        };
        (word, row.bytes)
    }
}

/// Compares random words, random code and the same code without its end with the search.
fn compare<W: EncodingWord>(table: &EncodingTable<W>, description: &TableDescription, bits: u32) {
    let rows = plain_rows(description);
    let unit = description.layout.unit().bytes();
    let mut random = Random(bits.into());
    let mut matched = vec![0; rows.len()];
    let mut cut = 0;
    for round in 0..20_000 {
        let arch = round % ARCHS.len();
        let word = random.word(&rows).0 & u128::MAX >> (128 - bits);
        let expected = search(&rows, arch, word, u128::MAX);
        let row = table.find(arch, W::truncate(word)).map(usize::from);
        assert_eq!(row, expected, "{word:032x}");
        if let Some(row) = row {
            matched[row] += 1;
        }
    }
    assert!(matched.iter().all(|&count| count > 50), "{matched:?}");
    for round in 0..150 {
        let arch = round % ARCHS.len();
        let mut code = Vec::new();
        for _ in 0..12 {
            let (word, bytes) = random.word(&rows);
            code.extend(&word.to_le_bytes()[..bytes]);
        }
        let whole = division(table, arch, &code);
        for end in 0..=code.len() {
            let found = division(table, arch, &code[..end]);
            let expected = search_all(&rows, unit, arch, &code[..end]);
            assert_eq!(found, expected, "{code:02x?}");
            // Code without its end is divided as the whole code is.
            assert!(whole.0.starts_with(&found.0), "{code:02x?}");
            cut += usize::from(!found.1);
        }
    }
    assert!(cut > 1000, "{cut}");
}

#[test]
fn words_of_32_bits() {
    compare(&table::<u32>(SHORT), &SHORT, 32);
}

#[test]
fn words_of_128_bits() {
    compare(&table::<u128>(LONG), &LONG, 128);
}

#[test]
fn words_of_mixed_length() {
    compare(&table::<u64>(MIXED), &MIXED, 64);
}

#[test]
fn rows_are_disjoint_or_nested() {
    for table in [SHORT, LONG, MIXED] {
        let rows = plain_rows(&table);
        for (at, a) in rows.iter().enumerate() {
            for b in &rows[at + 1..] {
                let common = a.mask & b.mask;
                let is_nested = a.mask != b.mask && (common == a.mask || common == b.mask);
                assert!(is_nested || (a.value ^ b.value) & common != 0);
            }
        }
    }
}

/// The most specific row wins; a row that an architecture lacks does not.
#[test]
fn nested_rows() {
    let table = table::<u32>(SHORT);
    let line = |arch, word| {
        let row = table.find(arch, word).map(usize::from);
        let head = row.and_then(|row| table.heads().get(row))?;
        let is_illegal = table.line(head).contains("illegal");
        Some((table.mnemonic(head), row?, is_illegal))
    };
    assert_eq!(line(2, 0x1200_0031), Some(("ADD", 0, false)));
    assert_eq!(line(2, 0x1100_0041), Some(("ADD", 1, false)));
    assert_eq!(line(2, 0x1100_0032), Some(("ADD", 2, false)));
    assert_eq!(line(2, 0x1100_0031), Some(("ADD", 3, true)));
    assert_eq!(line(1, 0x1100_0031), Some(("ADD", 2, false)));
    assert_eq!(line(0, 0x1100_0031), Some(("ADD", 1, false)));
    assert_eq!(line(1, 0x8000_0002), None);
    assert_eq!(line(0, 0x8000_0002), Some(("ST", 5, false)));
    assert_eq!(line(0, 0xf000_0002), Some(("ST", 6, true)));
    assert_eq!(line(0, 0), None);
}

#[test]
fn lengths_and_literals() {
    let units: [u32; 15] = [
        0x0012_0304, // ADD
        0x0012_03ff, // ADD with a literal, by the first of two fields
        0xffff_ffff,
        0x0012_ff04, // ADD with a literal, by the second
        0x0000_0001,
        0xd001_0000, // MAD
        0x0000_0007,
        0xe000_0000, // LD with a literal after the second unit
        0x0000_00fe,
        0x89ab_cdef,
        0x7fff_ffff, // no row
        0xd005_0000, // illegal by a bit of the second unit, which belongs to it
        0x8000_0000,
        0x0100_00ff, // no row on the first architecture, so no literal
        0x0003_0000,
    ];
    let code: Vec<u8> = units.iter().flat_map(|unit| unit.to_le_bytes()).collect();
    let mut instrs = Vec::new();
    let table = table::<u64>(MIXED);
    let result = table.decode(0, &code, |instr| {
        let row = instr
            .row
            .and_then(|row| table.heads().get(usize::from(row)));
        let mnemonic = row.map(|head| table.mnemonic(head));
        let timing = row.map(|head| table.timing(head));
        instrs.push((instr.addr.0, instr.length, instr.word, mnemonic, timing));
    });
    assert_eq!(result, Ok(()));
    let expected = [
        (0, 4, 0x0012_0304, Some("ADD"), Some("alu")),
        (4, 8, 0xffff_ffff_0012_03ff, Some("ADD"), Some("alu")),
        (12, 8, 0x0000_0001_0012_ff04, Some("ADD"), Some("alu")),
        (20, 8, 0x0000_0007_d001_0000, Some("MAD"), Some("alu")),
        (
            28,
            12,
            0x89ab_cdef_0000_00fe_e000_0000,
            Some("LD"),
            Some("mem"),
        ),
        (40, 4, 0x7fff_ffff, None, None),
        (44, 8, 0x8000_0000_d005_0000, Some("MAD"), Some("alu")),
        (52, 4, 0x0100_00ff, None, None),
        (56, 4, 0x0003_0000, Some("ADD"), Some("alu")),
    ];
    assert_eq!(instrs, expected);
}

/// The code ends inside an instruction, its literal, or a unit, or where a longer row may still match.
#[test]
fn truncated_code() {
    let table = table::<u64>(MIXED);
    let fault = |arch, units: &[u32], bytes: usize| {
        let code: Vec<u8> = units.iter().flat_map(|unit| unit.to_le_bytes()).collect();
        let mut visited = 0;
        let result = table.decode(arch, &code[..bytes], |_| visited += 1);
        (visited, result.err().map(|error| error.to_string()))
    };
    assert_eq!(fault(0, &[0, 0], 8), (2, None));
    assert_eq!(fault(1, &[0x0100_00ff, 0], 8), (1, None));
    for (visited, units, bytes, message, place) in [
        (1, [0, 0], 7, "3 of 4 bytes", "0x0004"),
        (1, [0, 0x0000_00ff], 7, "3 of 4 bytes", "0x0004"),
        (1, [0, 0x0000_00ff], 8, "4 of 8 bytes", "0x0004"),
        (1, [0, 0x0100_00ff], 8, "4 of 8 bytes", "0x0004"),
        (0, [0xd000_0000, 0], 4, "4 of 8 bytes", "0x0000"),
        (0, [0xd000_0000, 0], 6, "6 of 8 bytes", "0x0000"),
        (0, [0xe000_0000, 0xfe], 8, "8 of 12 bytes", "0x0000"),
        (0, [0xf000_0000, 0], 4, "4 of 8 bytes", "0x0000"),
    ] {
        let (count, error) = fault(1, &units, bytes);
        let error = error.expect("a fault");
        assert_eq!(count, visited, "{error}");
        assert!(error.contains("ends inside an instruction"), "{error}");
        assert!(error.contains(message) && error.contains(place), "{error}");
    }
    // The same first unit with a second one that excludes the longer row.
    assert_eq!(fault(1, &[0xf000_0000, 0], 8), (2, None));
    assert_eq!(fault(1, &[0xf000_0000, 0x1234], 8), (1, None));
}

/// A fault in a row is a build error that shows the line; the build script calls the same function.
#[test]
fn faults_in_rows() {
    let message = |text: &'static str, layout, bits| {
        let table = TableDescription {
            text,
            layout,
            ..SHORT
        };
        table.parse(bits).map(|parsed| parsed.heads[0].mask)
    };
    let short = CodeLayout::Units(WordWidth::Bits32);
    let groups = CodeLayout::ControlGroups;
    assert_eq!(
        message("1/3 all alu | - | A", short, 32),
        Err("1/3 all alu | - | A".into())
    );
    assert_eq!(
        message("00000001/00000003 all alu | - | A.B", short, 32),
        Ok(3)
    );
    for (line, layout, bits) in [
        ("00000001/0000000000000003 all alu | - | A", short, 64),
        (
            "0000000000000001/0000000000000003 all alu | - | A",
            short,
            32,
        ),
        ("00000001/00000003 all alu | - | A", groups, 64),
        (
            "0000000000000001/0000000000000003+1:0=0 all alu | - | A",
            groups,
            64,
        ),
        ("00000004/00000003 all alu | - | A", short, 32),
        ("00000001/0000000g all alu | - | A", short, 32),
        ("00000001/00000003 3 alu | - | A", short, 32),
        ("00000001/00000003 all | - | A", short, 32),
        ("00000001/00000003 all alu alu | - | A", short, 32),
        ("00000001/00000003 all alu | - | {x 1}", short, 32),
        ("00000001/00000003 all alu | -", short, 32),
        ("00000001/00000003+7:0 all alu | - | A", short, 32),
        ("00000001/00000003+0:7=ff all alu | - | A", short, 32),
        ("00000001/00000003+7:0=100 all alu | - | A", short, 32),
        ("00000001/00000003+32:31=1 all alu | - | A", short, 32),
        (
            "00000001/00000003+1:0=1,1:0=2,1:0=3 all alu | - | A",
            short,
            32,
        ),
    ] {
        assert_eq!(message(line, layout, bits), Err(line.into()));
    }
}

#[test]
fn addresses_of_groups_skip_control_words() {
    use warpbound_isa::Arch;
    use warpbound_isa::nvidia::SassProgram;
    let code: Vec<u8> = (0..64).collect();
    let program = SassProgram::decode(Arch::Sm61, &code).expect("two groups");
    let addrs: Vec<CodeAddr> = program.instrs.iter().map(|instr| instr.addr).collect();
    assert_eq!(addrs, [8, 16, 24, 40, 48, 56].map(CodeAddr));
    assert_eq!(program.instrs[3].word, 0x2f2e_2d2c_2b2a_2928);
    let error = SassProgram::decode(Arch::Sm61, &code[..40]).expect_err("no group");
    let error = error.to_string();
    assert!(
        error.contains("40 bytes are not a multiple of 32"),
        "{error}"
    );
}
