//! Update of budget files: numbers of rows are replaced where they stand, and comments stay.
//!
//! A row with a pattern gets the worst figure of all its kernels. For example, `gemm*` with two kernels of 40 and 48
//! registers gets `registers = 48`. Limits that a row does not state are not added.

use std::collections::{BTreeMap, BTreeSet};

use toml_edit::{Array, ArrayOfTables, DocumentMut, Item, RawString, Table, Value};
use warpbound_base::Named as _;
use warpbound_load::Isa;
use warpbound_report::build_diff::NamedKernel;

use super::budget::{Budget, BudgetFigure};
use super::check::DecidedLimits;
use super::measure::MeasuredKernel;

/// New numbers of rows: for each row, the worst figures of its kernels.
#[derive(Default)]
pub(super) struct RowValues {
    /// Numbers by row and figure; `None` if the figure of a kernel is unknown, so that the row keeps its number.
    numbers: BTreeMap<(usize, BudgetFigure), Option<u128>>,
    /// Assumptions by row; `None` if they are unknown for a kernel.
    assumptions: BTreeMap<usize, Option<BTreeSet<&'static str>>>,
    /// Rows for kernels that have none, by name and architecture.
    new: BTreeMap<(String, Isa), NewRow>,
}

/// Row for a kernel.
#[derive(Default)]
struct NewRow {
    comment: Option<String>,
    numbers: BTreeMap<BudgetFigure, Option<u128>>,
    assumptions: Option<BTreeSet<&'static str>>,
}

impl RowValues {
    /// Adds the figures of a kernel to the rows that limit them.
    pub(super) fn add(&mut self, decided: &DecidedLimits, measured: &MeasuredKernel) {
        for (&figure, &(row, _)) in &decided.limits {
            let value = measured.values.get(&figure);
            let value = value.and_then(|value| value.as_ref().ok().copied());
            worsen(self.numbers.entry((row, figure)), figure, value);
        }
        if let Some((row, ..)) = decided.assumptions {
            let names = names_of(measured);
            let known = self.assumptions.entry(row).or_insert(Some(BTreeSet::new()));
            *known = known.take().zip(names).map(|(mut known, names)| {
                known.extend(names);
                known
            });
        }
    }

    /// Adds a row for a kernel that has none, or the figures of another kernel with its name.
    pub(super) fn add_row(&mut self, kernel: &NamedKernel, isa: Isa, measured: &MeasuredKernel) {
        // As the name of a row, `f(float*)` would be read as a pattern, so the row gets the symbol and the name
        // becomes a comment.
        let has_wildcard = kernel.name.contains(['*', '?']);
        let name = if has_wildcard {
            &kernel.symbol
        } else {
            &kernel.name
        };
        let row = self.new.entry((name.clone(), isa)).or_default();
        row.comment = has_wildcard.then(|| kernel.name.clone());
        for (&figure, value) in &measured.values {
            worsen(
                row.numbers.entry(figure),
                figure,
                value.as_ref().ok().copied(),
            );
        }
        if let Some(names) = names_of(measured) {
            row.assumptions.get_or_insert_default().extend(names);
        }
    }
}

/// Returns the names of the assumptions of a kernel, if they are known.
fn names_of(measured: &MeasuredKernel) -> Option<BTreeSet<&'static str>> {
    let all = measured.assumptions.as_ref()?.as_ref().ok()?;
    Some(all.iter().map(|assumption| assumption.id).collect())
}

/// Replaces a number by a worse one. An unknown figure of one kernel makes the number of the row unknown.
fn worsen<K: Ord>(
    entry: std::collections::btree_map::Entry<'_, K, Option<u128>>,
    figure: BudgetFigure,
    value: Option<u128>,
) {
    let worse = |known: u128, value: u128| match figure.is_least() {
        true => known.min(value),
        false => known.max(value),
    };
    entry
        .and_modify(|known| *known = known.zip(value).map(|(known, value)| worse(known, value)))
        .or_insert(value);
}

/// Returns the text of a budget with other numbers, and the number of its rows that changed and that are new.
pub(super) fn update(budget: &Budget, values: &RowValues) -> (String, (usize, usize)) {
    let Ok(mut document) = budget.text.parse::<DocumentMut>() else {
        // Not reached, because the text was parsed as a budget before.
        return (budget.text.clone(), (0, 0));
    };
    let kernels = document.entry("kernel");
    let kernels = kernels.or_insert(Item::ArrayOfTables(ArrayOfTables::new()));
    let Some(tables) = kernels.as_array_of_tables_mut() else {
        return (budget.text.clone(), (0, 0));
    };
    let mut changed = BTreeSet::new();
    for (row, table) in tables.iter_mut().enumerate() {
        for &(figure, key) in BudgetFigure::ALL {
            let number = values.numbers.get(&(row, figure)).copied().flatten();
            // Only limits that the row states are updated; a figure that it leaves open stays open.
            let value = table.get_mut(key).and_then(Item::as_value_mut);
            if let (Some(number), Some(value)) = (number.and_then(integer), value)
                && value.as_integer() != Some(number)
            {
                // The decor holds the space and the comments around the number.
                let decor = value.decor().clone();
                *value = Value::from(number);
                *value.decor_mut() = decor;
                changed.insert(row);
            }
        }
        let names = values.assumptions.get(&row).and_then(Option::as_ref);
        let array = table.get_mut("assumptions").and_then(Item::as_array_mut);
        if let (Some(names), Some(array)) = (names, array)
            && replace_names(array, names)
        {
            changed.insert(row);
        }
    }
    for ((name, isa), row) in &values.new {
        tables.push(new_table(name, *isa, row));
    }
    if tables.is_empty() {
        document.remove("kernel");
    }
    (document.to_string(), (changed.len(), values.new.len()))
}

/// Removes names from a list and adds others; the rest stays as it is, with all comments. Returns whether any changed.
fn replace_names(array: &mut Array, names: &BTreeSet<&'static str>) -> bool {
    let before: BTreeSet<String> = array
        .iter()
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect();
    let is_same = before.len() == names.len() && before.iter().all(|name| names.contains(&**name));
    if is_same {
        return false;
    }
    let mut kept = Array::new();
    kept.set_trailing_comma(array.trailing_comma());
    // Comments around removed names. They are kept, because a comment after the comma of a name belongs to the next
    // one in the syntax, but perhaps not in meaning.
    let mut comments = String::new();
    for value in array.iter() {
        let mut value = value.clone();
        let text =
            |raw: Option<&RawString>| raw.and_then(RawString::as_str).unwrap_or("").to_owned();
        let prefix = joined(&comments, &text(value.decor().prefix()));
        let is_gone = value.as_str().is_some_and(|name| !names.contains(name));
        if is_gone {
            let all = format!("{prefix}{}", text(value.decor().suffix()));
            comments = if all.contains('#') {
                all
            } else {
                String::new()
            };
            continue;
        }
        comments.clear();
        value.decor_mut().set_prefix(prefix);
        kept.push_formatted(value);
    }
    for name in names.iter().filter(|name| !before.contains(**name)) {
        kept.push(*name);
    }
    let trailing = array.trailing().as_str().unwrap_or("").to_owned();
    kept.set_trailing(joined(&comments, &trailing));
    *kept.decor_mut() = array.decor().clone();
    *array = kept;
    true
}

/// Returns comments followed by space. One line end between them suffices.
fn joined(comments: &str, space: &str) -> String {
    match comments.contains('#') && space.starts_with('\n') {
        true => format!("{}{space}", comments.trim_end()),
        false => format!("{comments}{space}"),
    }
}

/// Returns the row of a kernel.
fn new_table(name: &str, isa: Isa, row: &NewRow) -> Table {
    let mut table = Table::new();
    let comment = row.comment.as_ref().map(|text| {
        // TOML allows no control characters in comments, and a line end would end the comment.
        let text = text.replace(char::is_control, "\u{fffd}");
        format!("\n# {text}\n")
    });
    table
        .decor_mut()
        .set_prefix(comment.unwrap_or_else(|| "\n".to_owned()));
    table.insert("name", Item::Value(name.into()));
    table.insert("arch", Item::Value(isa.to_string().into()));
    for (figure, number) in &row.numbers {
        if let Some(number) = number.and_then(integer) {
            table.insert(figure.name(), Item::Value(number.into()));
        }
    }
    if let Some(names) = &row.assumptions {
        let names: Array = names.iter().copied().collect();
        table.insert("assumptions", Item::Value(names.into()));
    }
    table
}

/// Returns a number as an integer of TOML, which has 64 bits with a sign; `None` if it is too large.
fn integer(number: u128) -> Option<i64> {
    i64::try_from(number).ok()
}
