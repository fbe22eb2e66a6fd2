//! Fields of an opcode without a row: what each bit of a word changes in its text.

use std::collections::BTreeMap;

use warpbound_isa::nvidia::Arch;

use crate::disasm_compare::Oracles;

/// Bits that a row can have fields in: all but opcode, guard and control field.
const BITS: std::ops::Range<u32> = 16..105;

/// Prints the bits of a word by what they change: the token of the text, with the range of bits, so that a row can be
/// written down. Bits that make the word illegal and bits without effect are listed apart.
pub(super) fn propose(oracles: &Oracles, arch: Arch, word: u128, text: &str) -> anyhow::Result<()> {
    let bits: Vec<u32> = BITS.filter(|bit| *bit != 91).collect();
    let words: Vec<u128> = bits.iter().map(|bit| word ^ 1 << bit).collect();
    let changed = oracles.texts(arch, &words)?;
    let mut by_effect: BTreeMap<String, Vec<u32>> = BTreeMap::new();
    for (bit, changed) in bits.iter().zip(&changed) {
        let effect = match changed {
            None => "illegal".to_owned(),
            Some(changed) if changed == text => "no effect".to_owned(),
            Some(changed) => effect(text, changed),
        };
        by_effect.entry(effect).or_default().push(*bit);
    }
    println!("    {text}");
    for (effect, bits) in &by_effect {
        println!("    {:24} {effect}", ranges(bits));
    }
    Ok(())
}

/// Description of a change: the operand with its place, or the modifiers.
fn effect(before: &str, after: &str) -> String {
    let (head, rest) = before.split_once(' ').unwrap_or((before, ""));
    let (new_head, new_rest) = after.split_once(' ').unwrap_or((after, ""));
    if head != new_head {
        return format!("opcode {head} becomes {new_head}");
    }
    let (old, new): (Vec<&str>, Vec<&str>) =
        (rest.split(", ").collect(), new_rest.split(", ").collect());
    if old.len() != new.len() {
        return format!("operands become {new_rest}");
    }
    let changed = old.iter().zip(&new).position(|(old, new)| old != new);
    match changed.and_then(|at| Some((at, old.get(at)?, new.get(at)?))) {
        Some((at, old, new)) if is_number(old) && is_number(new) => {
            format!("operand {at}: number of {}", kind(old))
        }
        Some((at, old, new)) => format!("operand {at}: {old} becomes {new}"),
        None => "no operand".to_owned(),
    }
}

/// Whether a text is a register or an integer without modifiers.
fn is_number(text: &str) -> bool {
    let digits = text.trim_start_matches(|c: char| c.is_ascii_uppercase());
    !digits.contains(['.', '[', '-', '~', '!', '|'])
        && digits
            .trim_start_matches("0x")
            .chars()
            .all(|c| c.is_ascii_hexdigit())
}

/// Letters of a register; `immediate` for a number.
fn kind(text: &str) -> &str {
    match text.trim_end_matches(|c: char| c.is_ascii_digit()) {
        letters if letters.starts_with(|c: char| c.is_ascii_uppercase()) => letters,
        _ => "immediate",
    }
}

/// Bits as ranges, highest first: `63:40+31:24`.
fn ranges(bits: &[u32]) -> String {
    let mut parts: Vec<(u32, u32)> = Vec::new();
    for &bit in bits {
        match parts.last_mut() {
            Some((_, hi)) if *hi + 1 == bit => *hi = bit,
            _ => parts.push((bit, bit)),
        }
    }
    let texts = parts.iter().rev().map(|(lo, hi)| match lo == hi {
        true => lo.to_string(),
        false => format!("{hi}:{lo}"),
    });
    texts.collect::<Vec<_>>().join("+")
}

#[cfg(test)]
mod tests {
    use super::{effect, ranges};

    #[test]
    fn changes_are_described() {
        assert_eq!(ranges(&[3, 4, 5, 9]), "9+5:3");
        assert_eq!(effect("MOV R0, R1", "MOV R0, R3"), "operand 1: number of R");
        assert_eq!(effect("A.B R0", "A.C R0"), "opcode A.B becomes A.C");
    }
}
