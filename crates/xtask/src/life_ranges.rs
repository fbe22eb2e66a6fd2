//! `cargo xtask life-ranges`: registers read and written, compared with NVIDIA's disassembler.

mod marks;
mod record;
mod synthetic;
mod wide;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::PathBuf;

use anyhow::{Context, bail};
use warpbound_isa::nvidia::{Opcode, OperandRole, OperandValue, SassProgram};
use warpbound_isa::{
    Arch, Effects, FurtherCondition, InstrFlow, MemorySpace, Reg, RegisterKind, SassInstr,
    TargetStyle,
};

use crate::cubin;
use crate::nvdisasm::Nvdisasm;
use crate::repository::Repository;
use marks::Marks;

pub(crate) const HELP: &str = "\
usage: cargo xtask life-ranges [--show COUNT] [--every NUMBER] [DIRECTORY...]
       cargo xtask life-ranges [--show COUNT] [--seed NUMBER] --forms COUNT [--wide] [--record]

Compares the registers and predicates that every instruction reads and writes (crates/isa) with the marks in the
table of life ranges of oracle/bin/nvdisasm (-plr): `v` usage, `^` assignment, `x` both. Prints counts, the
first differences and the cubins that the disassembler refuses; fails if there is one of either. Cubins: kernels/built and the files *.cubin below DIRECTORY.

  --every NUMBER  only every NUMBERth of the cubins below DIRECTORY (1)
  --forms COUNT   instead: COUNT random words of every encoding form without control flow, on each
                  architecture, inserted into a cubin of kernels/built
  --wide          the forms of 128 bits, in generated cubins
  --record        also write the marks to crates/isa/tests/data/life_ranges.txt (--wide: wide_life_ranges.txt), which a
                  test reads
  --seed NUMBER   start of the random sequence (1)
  --show COUNT    number of differences to print (20)

isa/nvidia/README.md lists the registers that the table omits; they are not compared.";

struct Options {
    directories: Vec<PathBuf>,
    every: usize,
    forms: Option<usize>,
    wide: bool,
    record: bool,
    seed: u64,
    show: usize,
}

pub(crate) fn run(repository: &Repository, arguments: &[String]) -> anyhow::Result<()> {
    let options = parse(arguments)?;
    let nvdisasm = Releases {
        older: Nvdisasm::new(&repository.oracle())?,
        newer: Nvdisasm::release_13(&repository.oracle()).ok(),
    };
    let mut tally = LifeRangeTally {
        keep: options.record,
        ..LifeRangeTally::default()
    };
    match options.forms {
        Some(count) if options.wide => {
            wide::compare_forms(repository, &nvdisasm, &mut tally, count, options.seed)?;
        }
        Some(count) => {
            synthetic::compare_forms(repository, &nvdisasm, &mut tally, count, options.seed)?;
        }
        None => {
            let mut files = cubin::cubins_below(&[repository.built_kernels()])?;
            if !options.directories.is_empty() {
                let others = cubin::cubins_below(&options.directories)?;
                files.extend(others.into_iter().step_by(options.every));
            }
            for file in files {
                let contents = cubin::read(&file)?;
                if let Err(error) = compare(&nvdisasm, &mut tally, &contents) {
                    tally.failed.push(format!("{}: {error:#}", file.display()));
                }
            }
        }
    }
    if options.record {
        record::write(repository, &tally.marked, options.wide)?;
    }
    tally.print(options.show);
    match (tally.differences.len(), tally.failed.len()) {
        (0, 0) => Ok(()),
        (0, failed) => bail!("{failed} cubins were not compared"),
        (count, _) => bail!("{count} of {} instructions differ", tally.compared),
    }
}

fn parse(arguments: &[String]) -> anyhow::Result<Options> {
    let mut options = Options {
        directories: Vec::new(),
        every: 1,
        forms: None,
        wide: false,
        record: false,
        seed: 1,
        show: 20,
    };
    let mut arguments = arguments.iter();
    while let Some(flag) = arguments.next() {
        let mut number = || -> anyhow::Result<u64> {
            let text = arguments
                .next()
                .with_context(|| format!("{flag} needs a number"))?;
            text.parse()
                .with_context(|| format!("{flag} needs a number, not {text:?}"))
        };
        match flag.as_str() {
            "--every" => options.every = usize::try_from(number()?)?.max(1),
            "--forms" => options.forms = Some(usize::try_from(number()?)?),
            "--wide" => options.wide = true,
            "--record" => options.record = true,
            "--seed" => options.seed = number()?,
            "--show" => options.show = usize::try_from(number()?)?,
            other if other.starts_with('-') => {
                bail!("unknown argument {other:?}")
            }
            directory => options.directories.push(PathBuf::from(directory)),
        }
    }
    if options.record && options.forms.is_none() {
        bail!("--record requires --forms");
    }
    Ok(options)
}

/// Releases of the disassembler.
struct Releases {
    /// Release 12.4, for Maxwell to Volta.
    older: Nvdisasm,
    /// Release 13.5, for Turing and later.
    newer: Option<Nvdisasm>,
}

impl Releases {
    fn for_arch(&self, arch: Arch) -> anyhow::Result<&Nvdisasm> {
        match arch.sm() {
            ..75 => Ok(&self.older),
            _ => self
                .newer
                .as_ref()
                .context("release 13.5 is missing; `cargo xtask oracle` fetches it"),
        }
    }
}

/// Compares every instruction of a cubin; files of other architectures are skipped.
fn compare(nvdisasm: &Releases, tally: &mut LifeRangeTally, contents: &[u8]) -> anyhow::Result<()> {
    let Some((sm, sections)) = cubin::code_sections(contents) else {
        return Ok(());
    };
    let Some(arch) = Arch::from_sm(sm) else {
        return Ok(());
    };
    if sections.is_empty() {
        return Ok(());
    }
    let output = nvdisasm
        .for_arch(arch)?
        .cubin(&["-c", "-plr", "-lrm", "narrow", "-novliw"], contents)?;
    let theirs = marks::read(&output);
    tally.cubins += 1;
    for section in sections {
        let Some(marks) = theirs.get(&section.name) else {
            tally.unlisted += 1;
            continue;
        };
        let program = SassProgram::decode(arch, &section.code)?;
        for instr in &program.instrs {
            match marks.get(&instr.addr.0) {
                Some(marks) => tally.instruction(&program, instr, marks),
                None if matches!(program.mnemonic(instr), Some("NOP" | "EXIT")) => {
                    tally.count_exception("unreachable padding and EXIT, which are not listed");
                }
                None => bail!("{}: no marks at {}", section.name, instr.addr),
            }
        }
    }
    Ok(())
}

/// Kinds of disagreement about one register.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Kind {
    WeMissRead,
    WeMissWrite,
    OnlyWeRead,
    OnlyWeWrite,
}

struct Difference {
    sm: u32,
    address: u32,
    word: u128,
    text: String,
    mnemonic: &'static str,
    registers: Vec<(Kind, Reg)>,
}

#[derive(Default)]
struct LifeRangeTally {
    cubins: usize,
    /// Cubins that were not compared, each with the reason.
    failed: Vec<String>,
    /// Number of code sections for which the tool prints no table.
    unlisted: usize,
    compared: usize,
    /// Numbers of registers that both name as read, and as written.
    reads: usize,
    writes: usize,
    /// Number of exceptions by rule of the README.
    exceptions: BTreeMap<&'static str, usize>,
    forms: BTreeSet<(u32, warpbound_isa::nvidia::FormId)>,
    differences: Vec<Difference>,
    /// Whether to keep the marks.
    keep: bool,
    /// Every compared word with its marks, if they are kept.
    marked: record::Marked,
}

impl LifeRangeTally {
    fn instruction(&mut self, program: &SassProgram, instr: &SassInstr, marks: &Marks) {
        let effects = program.effects(instr);
        if let InstrFlow::Call(_)
        | InstrFlow::LinkedCall(_)
        | InstrFlow::LinkedIndirect { .. }
        | InstrFlow::Return { .. }
        | InstrFlow::Indirect { .. } = effects.flow
        {
            self.count_exception(
                "calls and indirect jumps, marked with the registers of the code that they reach",
            );
            return;
        }
        let mut reads: BTreeSet<Reg> = effects.reads.iter().copied().collect();
        reads.extend(effects.guard.register());
        if let FurtherCondition::Predicate(predicate) = effects.further {
            reads.extend(predicate.register());
        }
        let writes: BTreeSet<Reg> = effects.writes.iter().copied().collect();
        let mut registers = Vec::new();
        for (kind, from, to) in [
            (Kind::WeMissRead, &marks.reads, &reads),
            (Kind::WeMissWrite, &marks.writes, &writes),
            (Kind::OnlyWeRead, &reads, &marks.reads),
            (Kind::OnlyWeWrite, &writes, &marks.writes),
        ] {
            registers.extend(from.difference(to).map(|&register| (kind, register)));
        }
        registers.retain(|&(kind, register)| {
            match exception_rule(program, instr, &effects, kind, register) {
                Some(rule) => {
                    self.count_exception(rule);
                    false
                }
                None => true,
            }
        });
        self.compared += 1;
        self.reads += reads.intersection(&marks.reads).count();
        self.writes += writes.intersection(&marks.writes).count();
        let sm = program.arch().sm();
        if self.keep {
            self.marked
                .entry(instr.word)
                .or_default()
                .insert(sm, (marks.reads.clone(), marks.writes.clone()));
        }
        self.forms.extend(instr.form.map(|form| (sm, form)));
        if !registers.is_empty() {
            self.differences.push(Difference {
                sm,
                address: instr.addr.0,
                word: instr.word,
                text: program
                    .text(instr, TargetStyle::Hex)
                    .unwrap_or_else(|| marks.text.clone()),
                mnemonic: program.mnemonic(instr).unwrap_or_default(),
                registers,
            });
        }
    }

    /// Counts an exception under its rule.
    fn count_exception(&mut self, rule: &'static str) {
        *self.exceptions.entry(rule).or_default() += 1;
    }

    fn print(&self, show: usize) {
        println!(
            "{} cubins, {} instructions of {} forms (per architecture) compared; both name {} reads and {} writes",
            self.cubins,
            self.compared,
            self.forms.len(),
            self.reads,
            self.writes
        );
        if self.unlisted > 0 {
            println!("{} code sections without a table", self.unlisted);
        }
        for failed in &self.failed {
            println!("not compared: {failed}");
        }
        for (rule, count) in &self.exceptions {
            println!("{count:>8} left out: {rule}");
        }
        let mut groups: BTreeMap<(&str, Kind), usize> = BTreeMap::new();
        for difference in &self.differences {
            let kinds: BTreeSet<Kind> =
                difference.registers.iter().map(|(kind, _)| *kind).collect();
            for kind in kinds {
                *groups.entry((difference.mnemonic, kind)).or_default() += 1;
            }
        }
        for ((mnemonic, kind), count) in groups {
            println!("{count:>8} {mnemonic} {kind:?}");
        }
        for difference in self.differences.iter().take(show) {
            println!(
                "sm_{} {:#06x} {:#018x} {}\n    {:?}",
                difference.sm,
                difference.address,
                difference.word,
                difference.text,
                difference.registers
            );
        }
    }
}

/// Uniform registers that have a column in the table. Compilers leave those below to the driver, apart from the preamble of
/// code for sm_87.
const LISTED_UNIFORM: Range<u8> = 4..62;

/// Returns the rule that explains a difference, if there is one; isa/nvidia/README.md gives the reasons. Except for the
/// condition code, all rules are about registers that only we name.
fn exception_rule(
    program: &SassProgram,
    instr: &SassInstr,
    effects: &Effects,
    kind: Kind,
    register: Reg,
) -> Option<&'static str> {
    let is_only_ours = matches!(kind, Kind::OnlyWeRead | Kind::OnlyWeWrite);
    let is_uniform = register.kind == RegisterKind::Uniform;
    if is_only_ours && is_uniform && !LISTED_UNIFORM.contains(&register.number) {
        return Some("UR0 to UR3 and UR62 to UR254, which the table never lists");
    }
    if register == Reg::CC {
        return Some("the condition code, which has no column");
    }
    if matches!(kind, Kind::WeMissRead | Kind::WeMissWrite) {
        return None;
    }
    let view = program.view(instr)?;
    let text = program.text(instr, TargetStyle::Hex)?;
    let stays_in_part = view
        .operands
        .iter()
        .any(|operand| operand.role == OperandRole::ReadWrite)
        || matches!(view.opcode, Opcode::Mov | Opcode::Mov32i);
    let all_predicates = view
        .operands
        .iter()
        .any(|operand| matches!(operand.value, OperandValue::AllPreds(_)));
    let texture = effects
        .access
        .is_some_and(|access| matches!(access.space, MemorySpace::Texture | MemorySpace::Surface));
    if text.contains("INVALID") || text.contains("???") {
        Some("registers of an invalid size")
    } else if kind == Kind::OnlyWeRead && stays_in_part && effects.writes.contains(&register) {
        Some("the old value of a register that is written in part")
    } else if matches!(
        register.kind,
        RegisterKind::Predicate | RegisterKind::UniformPredicate
    ) && all_predicates
    {
        Some("the predicates that PR and UPR stand for")
    } else if kind == Kind::OnlyWeRead && texture {
        Some("coordinates of textures and surfaces after the marked ones")
    } else if kind == Kind::OnlyWeWrite && texture && effects.reads.contains(&register) {
        Some("the fourth component of a texture, which is not marked from sm_100 on")
    } else {
        None
    }
}
