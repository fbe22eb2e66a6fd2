//! Conditions of rows: conjunctions of bits that hold for exactly some values of a field.

use std::collections::BTreeSet;

use super::word_bits::Bits;

/// Width up to which all conjunctions are tried.
const TRIED: usize = 8;

/// The shortest conjunction that holds for the values `wanted` and for no other of the values `known`.
pub(super) fn condition(
    bits: &Bits,
    wanted: &BTreeSet<u64>,
    known: &BTreeSet<u64>,
) -> Option<String> {
    if bits.width() > TRIED {
        return None;
    }
    let mut masks: Vec<u64> = (1..bits.values()).collect();
    masks.sort_by_key(|mask| (mask.count_ones(), *mask));
    let first = wanted.first()?;
    masks.into_iter().find_map(|mask| {
        // All wanted values agree on the bits of the mask, so the first one gives their values.
        let holds = |value: u64| value & mask == first & mask;
        let exact = known
            .iter()
            .all(|value| holds(*value) == wanted.contains(value));
        exact.then(|| spelled(bits, mask, *first))
    })
}

/// Conjunctions such that one holds for each of the values `wanted`, and none for values that are neither wanted nor
/// `open`. `None` if more than `most` are needed.
pub(super) fn cubes(
    bits: &Bits,
    wanted: &BTreeSet<u64>,
    open: &BTreeSet<u64>,
    most: usize,
) -> Option<Vec<String>> {
    let others: Vec<u64> = (0..bits.values())
        .filter(|value| !wanted.contains(value) && !open.contains(value))
        .collect();
    let mut left = wanted.clone();
    let mut out = Vec::new();
    while let Some(&value) = left.first() {
        let mut mask = bits.ones();
        for at in 0..bits.width() {
            let wider = mask & !(1 << at);
            if others.iter().all(|other| other & wider != value & wider) {
                mask = wider;
            }
        }
        left.retain(|other| other & mask != value & mask);
        out.push(spelled(bits, mask, value));
        if out.len() > most {
            return None;
        }
    }
    Some(out)
}

fn spelled(bits: &Bits, mask: u64, value: u64) -> String {
    let positions = bits.positions().iter().enumerate();
    let chosen = positions.filter(|(at, _)| mask >> at & 1 == 1);
    let parts = chosen.map(|(at, bit)| match value >> at & 1 {
        1 => bit.to_string(),
        _ => format!("!{bit}"),
    });
    parts.collect::<Vec<String>>().join("&")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::word_bits::Bits;
    use super::{condition, cubes};

    #[test]
    fn conditions_are_short() {
        let bits = Bits::new(vec![72, 74]);
        let all = BTreeSet::from([0, 1, 2, 3]);
        let of = |values: &[u64]| condition(&bits, &values.iter().copied().collect(), &all);
        assert_eq!(of(&[1]).as_deref(), Some("72&!74"));
        assert_eq!(of(&[2, 3]).as_deref(), Some("74"));
        assert_eq!(of(&[1, 2]), None);
    }

    #[test]
    fn several_conditions() {
        let bits = Bits::new(vec![72, 73, 74]);
        let none = BTreeSet::new();
        let wanted = BTreeSet::from([1, 3, 4]);
        let cubes = cubes(&bits, &wanted, &none, 4).expect("few");
        assert_eq!(cubes, ["72&!74", "!72&!73&74"]);
    }
}
