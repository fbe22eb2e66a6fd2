//! Coverage of meanings by instruction, with the reference of each: the table in `docs/instructions.md`.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use warpbound_ir::{Op, ValueDependence, meaning_of};
use warpbound_isa::nvidia::Opcode;
use warpbound_isa::{Arch, SpecialReg};

use super::reference::file_of;
use super::variants::{FormVariants, SpelledView, form_variants, operand_modifiers};

/// Maximum number of modifier choices that are examined of a form without a reference.
const MAX_EXAMINED: u64 = 1 << 14;

/// Graphics instructions, which have no meaning by intent.
const GRAPHICS: &[&str] = &[
    "AL2P", "ALD", "AST", "FSWZADD", "IPA", "ISBERD", "KIL", "OUT", "PIXLD", "RTT", "TXA",
];

/// Instructions whose operations the tests of `warpbound_ir` (`float`) compare with exact arithmetic.
pub const FLOATS: &[&str] = &[
    "DADD",
    "DFMA",
    "DMNMX",
    "DMUL",
    "DSET",
    "DSETP",
    "F2F",
    "F2I",
    "FADD",
    "FADD32I",
    "FCHK",
    "FCMP",
    "FFMA",
    "FFMA32I",
    "FMNMX",
    "FMUL",
    "FMUL32I",
    "FSET",
    "FSETP",
    "HADD2",
    "HADD2_32I",
    "HFMA2",
    "HFMA2_32I",
    "HMUL2",
    "HMUL2_32I",
    "HSET2",
    "HSETP2",
    "I2F",
    "MUFU",
    "RRO",
];

/// Special registers that runs define.
const SPECIAL: &[&str] = &[
    "SR_LANEID",
    "SR_TID.X",
    "SR_TID.Y",
    "SR_TID.Z",
    "SR_CTAID.X",
    "SR_CTAID.Y",
    "SR_CTAID.Z",
    "SR_EQMASK",
    "SR_LTMASK",
    "SR_LEMASK",
    "SR_GTMASK",
    "SR_GEMASK",
    "SR_LMEMHIOFF",
    // Timed runs only.
    "SR_VIRTCFG",
    "SR_VIRTID",
    "SR_CLOCKLO",
    "SR_CLOCKHI",
    "SR_GLOBALTIMERLO",
    "SR_GLOBALTIMERHI",
];

/// Whether a run can execute an operation.
pub fn is_executable(op: &Op) -> bool {
    // Some of the special registers are defined in timed runs only.
    let special = match op.value {
        ValueDependence::Special(register) => !matches!(
            register,
            SpecialReg::BlockSize | SpecialReg::SharedSize | SpecialReg::Other(_)
        ),
        _ => false,
    };
    op.meaning.is_some() || special
}

/// Coverage of the instructions of one mnemonic.
#[derive(Default)]
struct Row {
    forms: usize,
    /// Number of modifier choices, and of those with a meaning (`known`).
    all: u64,
    known: u64,
    /// The same numbers by modifier or operand modifier.
    by_part: BTreeMap<String, (u64, u64)>,
}

/// Returns the modifiers and operand modifiers of an instruction, each once.
fn modifiers_of(instr: &SpelledView) -> Vec<String> {
    let texts = instr.spelling.modifiers.iter();
    let mut parts: Vec<String> = texts.map(|&text| text.to_owned()).collect();
    for operand in &instr.view.operands {
        let text = operand_modifiers(operand);
        if operand.sets_cc {
            parts.push(".CC".to_owned());
        }
        let text = text.replace(".CC", "");
        if !text.is_empty() {
            parts.push(format!("operand {text}"));
        }
    }
    parts.sort_unstable();
    parts.dedup();
    parts
}

/// Adds the coverage of one form to the row of its mnemonic.
fn add_form(shape: &FormVariants, row: &mut Row) {
    let count = shape.count();
    let most = if file_of(shape.mnemonic).is_some() {
        count
    } else {
        MAX_EXAMINED
    };
    let step = count.div_ceil(most);
    // An odd step visits all values of the low bits.
    let step = step + (step + 1) % 2;
    row.forms += 1;
    for number in (0..count).step_by(step as usize) {
        // Whether an instruction has a meaning can depend on its immediate.
        let views = [0u64, 5, 0x4_3210]
            .into_iter()
            .filter_map(|immediate| shape.view(Arch::Sm61, shape.word(number, &mut || immediate)));
        let views: Vec<SpelledView> = views.collect();
        let Some(first) = views.first() else {
            continue;
        };
        let special = |instr: &SpelledView| {
            let mut words = instr
                .view
                .operands
                .iter()
                .filter_map(|operand| match operand.value {
                    warpbound_isa::OperandValue::Word { text, .. } => Some(text),
                    _ => None,
                });
            matches!(instr.view.opcode, Opcode::S2r | Opcode::Cs2r)
                && words.all(|text| SPECIAL.contains(&text))
        };
        let known = views
            .iter()
            .any(|instr| meaning_of(&instr.view).is_some() || special(instr));
        row.all += 1;
        row.known += u64::from(known);
        for part in modifiers_of(first) {
            let (all, with) = row.by_part.entry(part).or_default();
            *all += 1;
            *with += u64::from(known);
        }
    }
}

/// Returns the text of `docs/instructions.md`.
pub fn document() -> String {
    let mut rows: BTreeMap<&'static str, Row> = BTreeMap::new();
    for shape in form_variants(Arch::Sm61) {
        add_form(&shape, rows.entry(shape.mnemonic).or_default());
    }
    let mut out = String::from(
        "# Instructions of Maxwell and Pascal\n\n\
         Generated by `cargo xtask meanings`; a test compares it with the code. All instructions are decoded, with their reads,\n\
         writes and effects on control flow. Running a kernel also requires a meaning.\n\n\
         * forms: rows of `isa/nvidia/maxwell.forms` (sm_61)\n\
         * meaning: the share of valid modifier choices with a meaning; then the modifiers, signs and selected parts that never\n  \
         have one. `graphics` instructions have none by intent.\n\
         * reference: the file in `crates/testkit/src/instructions/reference/` with which every modifier choice with a meaning was\n  \
         compared, on edge values and at least 10,000 random inputs for each form; `float`: the operations were compared in\n  \
         `crates/ir/tests/it/float`.\n\n\
         | instruction | forms | meaning | without | reference |\n|---|---|---|---|---|\n",
    );
    for (mnemonic, row) in &rows {
        let meaning = match (row.known, row.all) {
            (0, _) if GRAPHICS.contains(mnemonic) => "graphics".to_owned(),
            (0, _) => "none".to_owned(),
            (known, all) if known == all => "all".to_owned(),
            (known, all) => format!("{}%", (known * 100 / all).max(1)),
        };
        let missing: Vec<&str> = match row.known {
            0 => Vec::new(),
            _ => {
                let never = row.by_part.iter().filter(|(_, (_, with))| *with == 0);
                never.map(|(part, _)| part.as_str()).collect()
            }
        };
        let missing = match (missing.len(), meaning.ends_with('%')) {
            (0, true) => "combinations".to_owned(),
            (0, false) => String::new(),
            (1..=24, _) => missing.join(" "),
            (count, _) => format!("{} and {} more", missing[..12].join(" "), count - 12),
        };
        let reference = match (row.known, file_of(mnemonic)) {
            (0, _) => "",
            (_, Some(file)) => file,
            _ if FLOATS.contains(mnemonic) => "float",
            _ => "",
        };
        let missing = missing.replace('|', "\\|");
        let _ = writeln!(
            out,
            "| {mnemonic} | {} | {meaning} | {missing} | {reference} |",
            row.forms
        );
    }
    out
}
