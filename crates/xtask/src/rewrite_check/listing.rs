//! Listings of nvdisasm before and after NOPs were inserted.

use anyhow::bail;

use crate::nvdisasm::Nvdisasm;

/// Instructions whose last operand is an address of the code, or leads to one.
const TRANSFERS: [&str; 10] = [
    "BRA", "SSY", "PBK", "PCNT", "CAL", "PRET", "PEXIT", "PLONGJMP", "JMP", "JCAL",
];

/// Jump through a register to which a distance is added.
const INDEXED: &str = "BRX";

/// Instructions of code, without NOPs, by ascending address; a word that the tool rejects has no text.
pub(super) struct Listing(Vec<(u32, String)>);

/// Number that an instruction has at its end, and the text before it.
enum Ending<'a> {
    /// Address in the code.
    Target(&'a str, u32),
    /// Distance that a jump through a register adds to the address after it.
    Distance(&'a str, i64),
    Other,
}

impl Listing {
    /// Lists whole groups of a control word and three instructions.
    pub(super) fn of(oracle: &Nvdisasm, sm: u32, code: &[u8]) -> anyhow::Result<Listing> {
        let texts = oracle.disassemble(sm, code)?;
        let all = texts.into_iter().map(|(at, text)| {
            let text = text.unwrap_or_default().replace(".reuse", "");
            (at, text)
        });
        let listing: Vec<(u32, String)> =
            all.filter(|(_, text)| !text.starts_with("NOP")).collect();
        if listing.is_empty() {
            bail!("nvdisasm prints no instruction");
        }
        Ok(Listing(listing))
    }

    /// Number of instructions.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Number of the first instruction at or after an address. The word before the first instruction of a group is
    /// its control word.
    fn first_from(&self, at: u32) -> usize {
        self.0.partition_point(|(addr, _)| *addr < at)
    }

    /// Compares with the listing of the changed code; returns the first difference.
    pub(super) fn difference(&self, new: &Listing) -> Option<String> {
        if self.len() != new.len() {
            return Some(format!("{} instructions became {}", self.len(), new.len()));
        }
        let pairs = self.0.iter().zip(&new.0);
        for ((old_at, old_text), (new_at, new_text)) in pairs {
            let is_same = match (ending(old_text), ending(new_text)) {
                (Ending::Target(old, to), Ending::Target(changed, target)) => {
                    old == changed && self.first_from(to) == new.first_from(target)
                }
                (Ending::Distance(old, by), Ending::Distance(changed, distance)) => {
                    let base = i64::from(*old_at) + by;
                    old == changed && base == i64::from(*new_at) + distance
                }
                (Ending::Other, Ending::Other) => old_text == new_text,
                _ => false,
            };
            if !is_same {
                return Some(format!(
                    "{old_at:04x} {old_text} became {new_at:04x} {new_text}"
                ));
            }
        }
        None
    }
}

/// Reads the number at the end of a control transfer.
fn ending(text: &str) -> Ending<'_> {
    let mut words = text
        .split_whitespace()
        .filter(|word| !word.starts_with('@'));
    let name = words.next().unwrap_or_default();
    let name = name.split('.').next().unwrap_or_default();
    let Some((head, last)) = text.rsplit_once(' ') else {
        return Ending::Other;
    };
    let digits = last.trim_start_matches('-').strip_prefix("0x");
    let number = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
    match number {
        Some(number) if name == INDEXED => {
            let sign = if last.starts_with('-') { -1 } else { 1 };
            Ending::Distance(head, sign * i64::from(number))
        }
        Some(number) if TRANSFERS.contains(&name) && !last.starts_with('-') => {
            Ending::Target(head, number)
        }
        _ => Ending::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::Listing;

    fn listing(lines: &[(u32, &str)]) -> Listing {
        let lines = lines.iter().map(|(at, text)| (*at, (*text).to_owned()));
        Listing(lines.collect())
    }

    #[test]
    fn targets_lead_to_the_same_instructions() {
        let old = listing(&[(8, "MOV R0, 0x8"), (16, "@P0 BRA 0x20"), (40, "EXIT")]);
        let same = listing(&[(8, "MOV R0, 0x8"), (24, "@P0 BRA 0x40"), (80, "EXIT")]);
        assert_eq!(old.difference(&same), None);
        for text in ["@P0 BRA 0x18", "@P1 BRA 0x40", "@P0 BRA R2", "EXIT"] {
            let other = listing(&[(8, "MOV R0, 0x8"), (24, text), (80, "EXIT")]);
            assert!(old.difference(&other).is_some(), "{text}");
        }
        let moved = listing(&[(8, "MOV R0, 0x10"), (24, "@P0 BRA 0x40"), (80, "EXIT")]);
        assert!(old.difference(&moved).is_some(), "a constant is no target");
    }

    #[test]
    fn indexed_jumps_keep_their_base() {
        let old = listing(&[(16, "BRX R4 -0x18")]);
        assert_eq!(old.difference(&listing(&[(40, "BRX R4 -0x30")])), None);
        assert!(old.difference(&listing(&[(40, "BRX R4 -0x18")])).is_some());
    }
}
