//! Instructions without a meaning, since no source defines them.

/// Returns the reason why an instruction has no meaning; `None` if it has one.
pub(crate) fn reason_of_instruction(text: &str) -> Option<&'static str> {
    let (guard_off, _) = text.split_once(' ').unwrap_or((text, ""));
    let text_after_guard = match guard_off.starts_with('@') {
        true => &text[guard_off.len() + 1..],
        false => text,
    };
    let (opcode, operands) = text_after_guard
        .split_once(' ')
        .unwrap_or((text_after_guard, ""));
    let mnemonic = opcode.split('.').next().unwrap_or_default();
    let has = |modifier: &str| opcode.split('.').any(|m| m == modifier);
    let first = operands.split(", ").next().unwrap_or_default();
    if text.contains("INVALID") || opcode.contains("???") {
        return Some("no valid modifier");
    }
    if first.ends_with(".CC") && !matches!(mnemonic, "FSET" | "DSET") {
        return Some("flags of a float");
    }
    match mnemonic {
        "HADD2" | "HMUL2" | "HFMA2" if has("MRG_H0") || has("MRG_H1") => Some("merged halves"),
        "HADD2" | "HMUL2" | "HFMA2" if has("F32") && !are_alike(operands) => {
            Some("which half becomes a single")
        }
        "HSETP2" if has("H_AND") && operands.split(", ").nth(1) != Some("PT") => {
            Some("the second predicate of both halves")
        }
        "F2I" if !has("F16") && operands.contains(".H1") => {
            Some("a half of an operand that has none")
        }
        "I2F" if operands.contains(".B") && !has("U8") && !has("S8") => {
            Some("a byte of an operand that has none")
        }
        "F2F" if has("PASS") => Some("a conversion that passes"),
        "MUFU" if has("SAT") && (has("RCP64H") || has("RSQ64H")) => {
            Some("a high word is no single")
        }
        "ATOM" | "LDG" if first.starts_with('P') => Some("pages that are not there"),
        "ATOM" | "ATOMS" | "RED" => atomic(opcode),
        "LDC" if has("IL") || has("IS") || has("ISL") => Some("segments of constants"),
        _ => None,
    }
}

/// Whether every operand after the first contributes the same to both halves.
fn are_alike(operands: &str) -> bool {
    let is_number = |text: &str| text.starts_with(|c: char| c.is_ascii_digit() || "+-".contains(c));
    let operands: Vec<&str> = operands.split(", ").skip(1).map(str::trim).collect();
    let numbers: Vec<&&str> = operands
        .iter()
        .filter(|text| is_number(text) && !text.contains('R'))
        .collect();
    let registers = operands
        .iter()
        .filter(|text| text.contains('R') || text.contains("c["));
    let mut registers = registers;
    numbers.windows(2).all(|pair| pair[0] == pair[1])
        && registers.all(|text| {
            text.contains(".H0_H0")
                || text.contains(".H1_H1")
                || text.contains("RZ") && !text.contains(".F32")
        })
}

/// Whether the text does not determine if an instruction has a meaning, since two NaNs may differ.
pub(crate) fn may_be_either(text: &str) -> bool {
    text.contains(".F32") && text.contains("NAN")
}

/// Returns the reason for atomic operations that PTX does not have for a type.
fn atomic(opcode: &str) -> Option<&'static str> {
    let has = |modifier: &str| opcode.split('.').any(|m| m == modifier);
    let float = has("F32") || has("F64") || has("F16x2");
    if has("SAFEADD") || has("CAST") {
        return Some("not in PTX");
    }
    if float && !has("ADD") {
        return Some("floats are only added");
    }
    let signed = has("S32") || has("S64");
    (signed && (has("INC") || has("DEC"))).then_some("counters have no sign")
}

/// Returns the reason why no word of a form has a meaning.
pub(crate) fn reason_of_form(spelling: &str) -> Option<&'static str> {
    (spelling.contains("=P43:41 flip"))
        .then_some("pages that are not there")
        .or(spelling.contains(".CAST").then_some("not in PTX"))
}

/// Returns the reason why no word with a modifier has a meaning.
pub(crate) fn reason_of_modifier(
    mnemonic: &str,
    spelling: &str,
    name: &str,
) -> Option<&'static str> {
    if name.contains("INVALID") || name.contains("???") {
        return Some("no valid modifier");
    }
    match (mnemonic, name) {
        ("HADD2" | "HMUL2" | "HFMA2", ".F32") if spelling.contains("{C38") => {
            Some("which half becomes a single")
        }
        ("HADD2" | "HMUL2" | "HFMA2", ".MRG_H0" | ".MRG_H1") => Some("merged halves"),
        ("F2F", ".PASS") => Some("a conversion that passes"),
        ("ATOM", ".SAFEADD") => Some("not in PTX"),
        ("LDC", ".IL" | ".IS" | ".ISL") => Some("segments of constants"),
        _ => None,
    }
}
