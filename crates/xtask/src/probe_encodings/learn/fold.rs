//! Rows of several chips as rows with a column of chips, and rows that differ in nothing but a fixed bit as one row.

use std::collections::BTreeMap;

use super::lists::NamedLists;
use super::spell::{List, SpelledRow};
use crate::probe_encodings::rows::opcode;

/// Joins rows of one chip that are equal but for the value of one fixed bit.
pub(super) fn join_halves(rows: Vec<SpelledRow>) -> Vec<SpelledRow> {
    let mut rows = rows;
    loop {
        let pair = rows.iter().enumerate().find_map(|(at, row)| {
            let others = rows.iter().enumerate().skip(at + 1);
            let mut others = others.filter(|(_, other)| is_other_half(row, other));
            others.next().map(|(other, _)| (at, other))
        });
        let Some((at, other)) = pair else {
            return rows;
        };
        let half = rows.remove(other);
        if let Some(row) = rows.get_mut(at) {
            let bit = row.value ^ half.value;
            row.mask &= !bit;
            row.value &= !bit;
        }
    }
}

fn is_other_half(row: &SpelledRow, other: &SpelledRow) -> bool {
    let same = row.mask == other.mask
        && row.template == other.template
        && row.effects == other.effects
        && row.lists == other.lists;
    // Destinations and other fields are spelled with their bits, so the freed bit is in none of them.
    same && (row.value ^ other.value).is_power_of_two()
}

/// Parts that rows of several chips share, in the order of the table. Lists of a row may differ between chips: their name is
/// the same, and the texts are not.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    opcode: u32,
    fixed: u32,
    value: u128,
    mask: u128,
    template: String,
    effects: Vec<String>,
    lists: Vec<usize>,
}

impl Key {
    fn of(row: &SpelledRow) -> Key {
        Key {
            opcode: opcode(row.value),
            fixed: row.mask.count_ones(),
            value: row.value,
            mask: row.mask,
            template: row.template.clone(),
            effects: row.effects.clone(),
            lists: row.lists.iter().map(Vec::len).collect(),
        }
    }
}

/// Lines of a table: equal rows of several chips become one line. `all` has the numbers of all chips, oldest first.
pub(super) fn lines(
    rows: &BTreeMap<u32, Vec<SpelledRow>>,
    all: &[u32],
    names: &mut NamedLists<'_>,
) -> Vec<String> {
    let mut same: BTreeMap<Key, Vec<(u32, &SpelledRow)>> = BTreeMap::new();
    for (chip, rows) in rows {
        for row in rows {
            same.entry(Key::of(row)).or_default().push((*chip, row));
        }
    }
    let mut lines = Vec::new();
    for (key, rows) in &same {
        let Some((_, first)) = rows.first() else {
            continue;
        };
        let mnemonic = key
            .template
            .find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let mnemonic = key.template.get(..mnemonic.unwrap_or(key.template.len()));
        let lists = (0..first.lists.len()).map(|at| {
            let texts = rows
                .iter()
                .filter_map(|(chip, row)| Some((*chip, row.lists.get(at)?.clone())));
            let texts: BTreeMap<u32, List> = texts.collect();
            names.name(mnemonic.unwrap_or_default(), &texts)
        });
        let lists: Vec<String> = lists.collect();
        let chips: Vec<u32> = rows.iter().map(|(chip, _)| *chip).collect();
        lines.push(first.line(&column(&chips, all), &lists));
    }
    lines
}

/// Column of chips: `all`, `90+`, or a list.
pub(super) fn column(chips: &[u32], all: &[u32]) -> String {
    let later: Vec<u32> = all
        .iter()
        .copied()
        .filter(|chip| Some(chip) >= chips.first())
        .collect();
    match chips.first() {
        _ if chips == all => "all".to_owned(),
        Some(first) if chips == later && chips.len() > 1 => format!("{first}+"),
        _ => chips
            .iter()
            .map(u32::to_string)
            .collect::<Vec<_>>()
            .join(","),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::lists::{KnownLists, NamedLists};
    use super::super::spell::SpelledRow;
    use super::{column, join_halves, lines};

    fn row(value: u128, mask: u128, text: &str) -> SpelledRow {
        SpelledRow {
            mask,
            value,
            effects: Vec::new(),
            template: "MOV{«0» 72}".to_owned(),
            lists: vec![vec![Some(String::new()), Some(text.to_owned())]],
        }
    }

    #[test]
    fn rows_are_joined() {
        let rows = vec![row(2, 0xff, ".A"), row(3, 0xff, ".A"), row(4, 0xff, ".B")];
        assert_eq!(join_halves(rows), [row(2, 0xfe, ".A"), row(4, 0xff, ".B")]);
    }

    #[test]
    fn chips_share_a_row() {
        let known = KnownLists::read("", &[80, 90]);
        let mut names = NamedLists::new(&known);
        let rows = BTreeMap::from([
            (80, vec![row(2, 0xff, ".A")]),
            (90, vec![row(2, 0xff, ".B")]),
        ]);
        let lines = lines(&rows, &[80, 90], &mut names);
        assert_eq!(lines.len(), 1);
        assert!(lines[0].contains(" all ") && lines[0].ends_with("MOV{mov.a 72}"));
        assert_eq!(names.lines(), "names mov.a - .B\nnames mov.a@80 1=.A\n");
        assert_eq!(column(&[90, 100], &[80, 90, 100]), "90+");
    }
}
