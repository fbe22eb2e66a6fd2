//! Words of 128 bits (sm_70 to sm_121), put together again from their fields and from their operands.

use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;

use anyhow::bail;
use warpbound_base::{CodeAddr, Family};
use warpbound_isa::instr::BranchTarget;
use warpbound_isa::nvidia::{
    Arch, ControlWord, FormId, InstrFields, OperandValue, SassProgram, TargetStyle, View,
    WordBuilder, encode, table,
};

use crate::disasm_compare::{SplitMix, random_words_of, real_words};

/// Address of each word: far from both ends of the address space, but for targets of more than 32 bits.
const ADDR: CodeAddr = CodeAddr(0x0800_0000);

/// Words to check.
pub(super) struct WideOptions<'a> {
    /// Number of random words for each architecture; `None`: all words of the cubins.
    pub(super) random: Option<usize>,
    /// Start of the random sequence.
    pub(super) seed: u64,
    /// Cubins, and directories with cubins.
    pub(super) paths: &'a [PathBuf],
    /// Number of differences and of rows to print.
    pub(super) show: usize,
}

/// Checks words of cubins or random words, and prints counts and differences.
pub(super) fn run(options: &WideOptions<'_>) -> anyhow::Result<()> {
    let real = real_words(options.paths)?;
    let everywhere: Vec<u128> = real.values().flatten().copied().collect();
    let mut random = SplitMix(options.seed);
    let mut check = WideCheck::default();
    for arch in Arch::of_family(Family::Volta) {
        let own = real.get(&arch.sm());
        let words: Vec<u128> = match options.random {
            None => own.into_iter().flatten().copied().collect(),
            Some(count) => {
                let samples = own.map(|own| own.iter().copied().collect());
                let samples: Vec<u128> = samples.unwrap_or_else(|| everywhere.clone());
                let words = random_words_of(&mut random, count, arch, &samples);
                let controlled = words.into_iter().map(|word| match random.next() % 2 {
                    0 => word,
                    _ => ControlWord::of_field(u128::from(random.next()) << 105).in_word(word),
                });
                controlled.collect()
            }
        };
        let mut tally = Tally::default();
        for word in words {
            check.word(arch, word, &mut tally);
        }
        if tally.words > 0 {
            println!("{arch}: {tally}");
        }
        check.total.add(&tally);
    }
    check.print(options.show);
    match check.differences.len() {
        0 => Ok(()),
        count => bail!("{count} words are encoded otherwise"),
    }
}

/// Counts of words.
#[derive(Default)]
struct Tally {
    words: u64,
    instructions: u64,
    /// Words that are the only ones with their text.
    only: u64,
    /// Words that share their text with the one that the builder makes without codes.
    shared: u64,
    /// Words with bits set that no field of their row names.
    unnamed: u64,
}

impl Tally {
    fn add(&mut self, other: &Tally) {
        self.words += other.words;
        self.instructions += other.instructions;
        self.only += other.only;
        self.shared += other.shared;
        self.unnamed += other.unnamed;
    }
}

impl std::fmt::Display for Tally {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{} distinct words, {} instructions, {} built exactly without codes, {} share their operands with another word, {} with bits that no field names",
            self.words, self.instructions, self.only, self.shared, self.unnamed
        )
    }
}

/// Counts of checks, and what they found.
#[derive(Default)]
struct WideCheck {
    total: Tally,
    forms: HashSet<FormId>,
    /// Bits without a name that are set in some word, by row.
    unnamed: BTreeMap<FormId, u128>,
    /// Opcodes of words that share their text with another word, with the number of words, and bits that differ.
    shared: BTreeMap<&'static str, (u64, u128)>,
    differences: Vec<String>,
}

impl WideCheck {
    /// Checks a word of an architecture.
    fn word(&mut self, arch: Arch, word: u128, tally: &mut Tally) {
        tally.words += 1;
        let Some(fields) = InstrFields::decode(arch, word) else {
            return;
        };
        tally.instructions += 1;
        self.forms.insert(fields.form());
        if fields.unnamed() != 0 {
            tally.unnamed += 1;
            *self.unnamed.entry(fields.form()).or_default() |= fields.unnamed();
        }
        // Bits that no field names do not follow from operands.
        let stated = !fields.unnamed_mask();
        match built_again(arch, word, &fields) {
            Ok(built) if (built ^ word) & stated == 0 => tally.only += 1,
            Ok(built) => {
                tally.shared += 1;
                let form = table(arch).form(fields.form());
                let name = form.map_or("?", |form| form.mnemonic());
                let (count, bits) = self.shared.entry(name).or_default();
                *count += 1;
                *bits |= (built ^ word) & stated;
            }
            Err(difference) => {
                self.differences
                    .push(format!("{arch} {word:032x}: {difference}"));
            }
        }
    }

    fn print(&self, show: usize) {
        println!("all: {}", self.total);
        println!("{} forms", self.forms.len());
        println!("{} opcodes with shared texts", self.shared.len());
        let mut shared: Vec<_> = self.shared.iter().collect();
        shared.sort_by_key(|(_, (count, _))| std::cmp::Reverse(*count));
        for (name, (count, bits)) in shared.into_iter().take(show) {
            println!("  {name}: {count} words, bits {bits:032x}");
        }
        println!("{} forms with bits that no field names", self.unnamed.len());
        for (id, bits) in self.unnamed.iter().take(show) {
            if let Some(form) = table(Arch::Sm90).form(*id) {
                let (value, mask) = (form.value, form.mask);
                println!(
                    "  {value:032x}/{mask:032x} {}: {bits:032x}",
                    form.mnemonic()
                );
            }
        }
        println!("{} differences", self.differences.len());
        for difference in self.differences.iter().take(show) {
            println!("  {difference}");
        }
    }
}

/// Puts a word together from its fields, builds it from its operands with the codes of its fields, and builds it from its
/// operands alone. Returns the last word, which has at least the same operands.
fn built_again(arch: Arch, word: u128, fields: &InstrFields) -> Result<u128, String> {
    let encoded = encode(fields);
    if encoded != word {
        return Err(format!("fields give {encoded:032x}"));
    }
    let builder = WordBuilder::of_word(arch, word, 0, ADDR).ok_or("has no operands")?;
    let exact = builder.clone().with_codes(fields).build();
    let exact = exact.map_err(|error| format!("with codes: {error}"))?;
    if (exact ^ word) & !fields.unnamed_mask() != 0 {
        return Err(format!("operands with codes give {exact:032x}"));
    }
    let built = builder
        .build()
        .map_err(|error| format!("operands: {error}"))?;
    if WordBuilder::of_word(arch, built, 0, ADDR).as_ref() != Some(&builder) {
        return Err(format!("operands give {built:032x}, which has others"));
    }
    let ((text, view), (other, _)) = (printed(arch, word)?, printed(arch, built)?);
    // Of a target outside the code space only the text has the distance.
    let is_outside = view
        .operands
        .iter()
        .any(|operand| operand.value == OperandValue::Target(BranchTarget::Outside));
    match text == other || is_outside {
        true => Ok(built),
        false => Err(format!("operands give {built:032x}: {other}, not {text}")),
    }
}

/// Text of a word, and its operands at the address of all checks.
fn printed(arch: Arch, word: u128) -> Result<(String, View), String> {
    let program = SassProgram::decode(arch, &word.to_le_bytes());
    let program = program.map_err(|error| error.to_string())?;
    let instr = program.instrs.first().ok_or("no word")?;
    let text = program.text(instr, TargetStyle::Hex).ok_or("no text")?;
    let mut moved = *instr;
    moved.addr = ADDR;
    let view = program.view(&moved).ok_or("no operands")?;
    Ok((text, view))
}
