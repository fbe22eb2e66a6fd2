//! Which instructions have a meaning, and what it was compared with: the table in `docs/instructions.md`.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use warpbound_ir::{Op, Value, meaning_of};
use warpbound_isa::{Arch, View};

use super::reference::file_of;
use super::variants::{Shape, shapes, signs};

/// Of a form with more choices of modifiers, and without a reference, only so many are looked at here.
const MOST: u64 = 1 << 14;

/// Instructions of graphics: without a meaning by intent.
const GRAPHICS: &[&str] = &[
    "AL2P", "ALD", "AST", "FSWZADD", "IPA", "ISBERD", "KIL", "OUT", "PIXLD", "RTT", "TXA",
];

/// Instructions whose operations `crates/ir/tests/it/float` compares with exact arithmetic.
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

/// Special registers that a run can tell.
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
    // In runs with time.
    "SR_VIRTCFG",
    "SR_VIRTID",
    "SR_CLOCKLO",
    "SR_CLOCKHI",
    "SR_GLOBALTIMERLO",
    "SR_GLOBALTIMERHI",
];

/// An operation that a run can execute.
pub fn is_known(op: &Op) -> bool {
    // Those that only a run with time can tell are 2, 3, 80 to 83.
    let special = matches!(
        op.value,
        Value::Special(0 | 2 | 3 | 33..=35 | 37..=39 | 56..=60 | 80..=83)
    );
    op.meaning.is_some() || special && op.meaning.is_none()
}

/// What is known of the instructions of one name.
#[derive(Default)]
struct Row {
    forms: usize,
    /// Choices of modifiers, and how many of them have a meaning.
    all: u64,
    known: u64,
    /// The same of those with a certain modifier or sign.
    by_part: BTreeMap<String, (u64, u64)>,
}

fn parts(view: &View) -> Vec<String> {
    let mut parts: Vec<String> = view.modifiers.iter().map(|&text| text.to_owned()).collect();
    for operand in &view.operands {
        let text = signs(operand);
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

fn add(shape: &Shape, row: &mut Row) {
    let count = shape.count();
    let most = if file_of(shape.mnemonic).is_some() {
        count
    } else {
        MOST
    };
    let step = count.div_ceil(most);
    // An odd step meets all values of all bits.
    let step = step + (step + 1) % 2;
    row.forms += 1;
    for number in (0..count).step_by(step as usize) {
        // Some immediates have a meaning where others have none.
        let views = [0u64, 5, 0x4_3210]
            .into_iter()
            .filter_map(|immediate| shape.view(Arch::Sm61, shape.word(number, &mut || immediate)));
        let views: Vec<View> = views.collect();
        let Some(first) = views.first() else {
            continue;
        };
        let special = |view: &View| {
            let mut words = view
                .operands
                .iter()
                .filter_map(|operand| match operand.value {
                    warpbound_isa::Value::Word(text) => Some(text),
                    _ => None,
                });
            matches!(view.mnemonic, "S2R" | "CS2R") && words.all(|text| SPECIAL.contains(&text))
        };
        let known = views
            .iter()
            .any(|view| meaning_of(view).is_some() || special(view));
        row.all += 1;
        row.known += u64::from(known);
        for part in parts(first) {
            let (all, with) = row.by_part.entry(part).or_default();
            *all += 1;
            *with += u64::from(known);
        }
    }
}

/// The text of `docs/instructions.md`.
pub fn document() -> String {
    let mut rows: BTreeMap<&'static str, Row> = BTreeMap::new();
    for shape in shapes(Arch::Sm61) {
        add(&shape, rows.entry(shape.mnemonic).or_default());
    }
    let mut out = String::from(
        "# Instructions of Maxwell and Pascal\n\n\
         Made by `cargo xtask meanings`; a test compares it with the code. All instructions are decoded, with what they read,\n\
         write and do to the control flow. Running a kernel needs a meaning as well.\n\n\
         * forms: rows of `isa/nvidia/maxwell.forms` (sm_61)\n\
         * meaning: of all choices of modifiers that are no error, the part that has one; then the modifiers, signs and selected\n  \
         parts that never have. `graphics` is without by intent.\n\
         * reference: the file in `crates/testkit/src/instructions/reference/` that every choice of modifiers with a meaning was\n  \
         compared with, edge values and at least 10,000 random inputs for each form; `float`: the operations were compared in\n  \
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
