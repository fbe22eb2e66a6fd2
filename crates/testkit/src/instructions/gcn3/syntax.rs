//! Assembly text of GCN3 instructions, parsed into mnemonic, operands and modifiers.

/// Instruction as its text states it.
#[derive(Clone, PartialEq, Debug)]
pub struct AsmInstr {
    /// Mnemonic without the suffix of its encoding.
    pub name: String,
    /// The encoding that the suffix names: `e32`, `e64`, `sdwa`, `dpp`, or nothing.
    pub suffix: &'static str,
    /// Operands in the order of the text.
    pub operands: Vec<AsmOperand>,
    /// Words after the operands: name, and the text after a colon.
    pub modifiers: Vec<(String, String)>,
}

/// Operand with its prefix modifiers.
#[derive(Clone, PartialEq, Debug)]
pub struct AsmOperand {
    /// The value without modifiers.
    pub value: AsmValue,
    /// Whether a float is negated.
    pub negate: bool,
    /// Whether a float loses its sign first.
    pub absolute: bool,
    /// Whether a selected part is extended with its sign.
    pub sign_extend: bool,
}

/// Value of an operand.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum AsmValue {
    /// The first of one or more registers of the wave, by its number in encodings.
    Scalar(u8),
    /// The first of one or more registers of the lanes.
    Vector(u8),
    /// An integer.
    Int(i64),
    /// A float that an encoding has a number for.
    Float(f64),
    /// A literal of 32 bits.
    Literal(u32),
    /// Whether VCC is 0.
    VccIsZero,
    /// Whether EXEC is 0.
    ExecIsZero,
    /// A part of a hardware register: number, first bit, number of bits.
    Hardware(u32, u32, u32),
}

/// Parses the text of an instruction; `None` for text outside of this subset.
pub fn parse(text: &str) -> Option<AsmInstr> {
    let text = text.trim();
    let (mnemonic, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let suffixes = ["e32", "e64", "sdwa", "dpp"];
    let found = suffixes.into_iter().find_map(|suffix| {
        let name = mnemonic.strip_suffix(suffix)?.strip_suffix('_')?;
        Some((name, suffix))
    });
    let (name, suffix) = found.unwrap_or((mnemonic, ""));
    let mut pieces = split(rest.trim(), |c| c == ',');
    let mut modifiers = Vec::new();
    if let Some(last) = pieces.pop() {
        let mut words = split(last.trim(), char::is_whitespace).into_iter();
        pieces.extend(words.next());
        for word in words {
            let (name, value) = word.split_once(':').unwrap_or((word, ""));
            modifiers.push((name.to_owned(), value.to_owned()));
        }
    }
    let pieces = pieces.into_iter().map(str::trim);
    // Comparisons with SDWA have no suffix in the text.
    let selects = modifiers.iter().any(|(name, _)| name == "src0_sel");
    let suffix = if selects { "sdwa" } else { suffix };
    let operands: Option<Vec<AsmOperand>> = pieces
        .filter(|piece| !piece.is_empty())
        .map(operand)
        .collect();
    Some(AsmInstr {
        name: name.to_owned(),
        suffix,
        operands: operands?,
        modifiers,
    })
}

/// Splits at separators outside of brackets; leaves out empty parts.
fn split(text: &str, is_separator: impl Fn(char) -> bool) -> Vec<&str> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0, 0);
    for (at, c) in text.char_indices() {
        match c {
            '[' | '(' => depth += 1,
            ']' | ')' => depth -= 1,
            _ if depth == 0 && is_separator(c) => {
                parts.push(&text[start..at]);
                start = at + c.len_utf8();
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts.retain(|part| !part.trim().is_empty());
    parts
}

fn operand(text: &str) -> Option<AsmOperand> {
    let mut operand = AsmOperand {
        value: AsmValue::Int(0),
        negate: false,
        absolute: false,
        sign_extend: false,
    };
    let mut text = text;
    if let Some(inner) = inside(text, "sext(", ")") {
        (operand.sign_extend, text) = (true, inner);
    }
    if let Some(inner) = inside(text, "neg(", ")") {
        (operand.negate, text) = (true, inner);
    } else if let Some(inner) = text.strip_prefix('-')
        && !inner.starts_with(|c: char| c.is_ascii_digit())
    {
        (operand.negate, text) = (true, inner);
    }
    if let Some(inner) = inside(text, "|", "|") {
        (operand.absolute, text) = (true, inner);
    }
    operand.value = value(text)?;
    Some(operand)
}

fn inside<'a>(text: &'a str, open: &str, close: &str) -> Option<&'a str> {
    text.strip_prefix(open)?.strip_suffix(close)
}

fn value(text: &str) -> Option<AsmValue> {
    if let Some(inner) = inside(text, "hwreg(", ")") {
        let mut parts = inner.split(',').map(str::trim);
        let number = match parts.next()? {
            "HW_REG_MODE" => 1,
            "HW_REG_STATUS" => 2,
            "HW_REG_TRAPSTS" => 3,
            "HW_REG_HW_ID" => 4,
            "HW_REG_GPR_ALLOC" => 5,
            "HW_REG_LDS_ALLOC" => 6,
            "HW_REG_IB_STS" => 7,
            other => other.parse().ok()?,
        };
        let mut number_or = |default| parts.next().map_or(Some(default), |n| n.parse().ok());
        return Some(AsmValue::Hardware(number, number_or(0)?, number_or(32)?));
    }
    if let Some(scalar) = scalar(text) {
        return Some(AsmValue::Scalar(scalar));
    }
    if let Some(rest) = text.strip_prefix('v')
        && let Some(first) = first_of(rest)
    {
        return Some(AsmValue::Vector(first));
    }
    match text {
        "src_vccz" | "vccz" => return Some(AsmValue::VccIsZero),
        "src_execz" | "execz" => return Some(AsmValue::ExecIsZero),
        _ => {}
    }
    if let Some(hex) = text.strip_prefix("0x") {
        return u32::from_str_radix(hex, 16).ok().map(AsmValue::Literal);
    }
    match text.contains('.') {
        true => text.parse().ok().map(AsmValue::Float),
        false => text.parse().ok().map(AsmValue::Int),
    }
}

/// Returns the number of a register of the wave, or of the first of several.
fn scalar(text: &str) -> Option<u8> {
    let named = [
        ("flat_scratch", 102),
        ("flat_scratch_lo", 102),
        ("flat_scratch_hi", 103),
        ("xnack_mask", 104),
        ("xnack_mask_lo", 104),
        ("xnack_mask_hi", 105),
        ("vcc", 106),
        ("vcc_lo", 106),
        ("vcc_hi", 107),
        ("tba", 108),
        ("tba_lo", 108),
        ("tba_hi", 109),
        ("tma", 110),
        ("tma_lo", 110),
        ("tma_hi", 111),
        ("m0", 124),
        ("exec", 126),
        ("exec_lo", 126),
        ("exec_hi", 127),
        ("src_scc", 128),
        ("scc", 128),
    ];
    if let Some((_, number)) = named.iter().find(|(name, _)| *name == text) {
        return Some(*number);
    }
    if let Some(rest) = text.strip_prefix("ttmp") {
        return Some(112 + first_of(rest)?);
    }
    first_of(text.strip_prefix('s')?)
}

/// Returns the first number of `5` or `[5:6]`.
fn first_of(text: &str) -> Option<u8> {
    match inside(text, "[", "]") {
        Some(range) => range.split(':').next()?.parse().ok(),
        None => text.parse().ok(),
    }
}

impl AsmInstr {
    /// Returns the text after the colon of a modifier; empty text for a bare word.
    pub fn modifier(&self, name: &str) -> Option<&str> {
        let mut all = self.modifiers.iter();
        let found = all.find(|(other, _)| other == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Whether every modifier is among these.
    pub fn has_only(&self, names: &[&str]) -> bool {
        let mut all = self.modifiers.iter();
        all.all(|(name, _)| names.contains(&name.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operands_and_modifiers() {
        let instr = parse("v_add_f32_e64 v1, -|v2|, neg(1.0) clamp mul:2").expect("it parses");
        assert_eq!((instr.name.as_str(), instr.suffix), ("v_add_f32", "e64"));
        assert_eq!(instr.operands[0].value, AsmValue::Vector(1));
        assert!(instr.operands[1].negate && instr.operands[1].absolute);
        assert!(instr.operands[2].negate && instr.operands[2].value == AsmValue::Float(1.0));
        assert_eq!(instr.modifier("mul"), Some("2"));
        assert_eq!(instr.modifier("clamp"), Some(""));
        let instr = parse("v_mov_b32_dpp v1, v2 quad_perm:[0,1,2,3] row_mask:0xf bank_mask:0xf");
        let instr = instr.expect("it parses");
        assert_eq!(instr.operands.len(), 2);
        assert_eq!(instr.modifier("quad_perm"), Some("[0,1,2,3]"));
        let instr = parse("s_getreg_b32 s3, hwreg(HW_REG_MODE, 4, 2)").expect("it parses");
        assert_eq!(instr.operands[1].value, AsmValue::Hardware(1, 4, 2));
        let instr = parse("s_and_saveexec_b64 s[2:3], vcc").expect("it parses");
        let values: Vec<AsmValue> = instr.operands.iter().map(|o| o.value).collect();
        assert_eq!(values, [AsmValue::Scalar(2), AsmValue::Scalar(106)]);
        assert_eq!(
            parse("s_mov_b32 s0, -16").expect("it parses").operands[1].value,
            AsmValue::Int(-16)
        );
    }
}
