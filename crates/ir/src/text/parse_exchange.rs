//! Parser of exchanges between lanes. For example, `R4, P0 = shuffle.index(R2, 0, 31)` is a shuffle with two destinations.

use warpbound_base::Named;

use super::cursor::{Cursor, Problem};
use super::parse_operands::{Destination, arguments, expr, only_word, pair};
use crate::{Expr, Meaning};

pub(super) fn shuffle(
    cursor: &mut Cursor<'_>,
    dests: &[Destination],
    parts: &[&str],
) -> Result<Option<Meaning>, Problem> {
    let [dest, in_range] = pair(cursor, dests)?;
    cursor.advance();
    let [mode] = parts else { return Ok(None) };
    let Some(mode) = Named::from_name(mode) else {
        return Ok(None);
    };
    let [value, lane, limit] = arguments(cursor)?;
    Ok(Some(Meaning::Shuffle {
        dest,
        in_range,
        mode,
        value,
        lane,
        limit,
    }))
}

pub(super) fn vote(
    cursor: &mut Cursor<'_>,
    dests: &[Destination],
    parts: &[&str],
) -> Result<Option<Meaning>, Problem> {
    let [ballot, result] = pair(cursor, dests)?;
    cursor.advance();
    let [mode] = parts else { return Ok(None) };
    let Some(mode) = Named::from_name(mode) else {
        return Ok(None);
    };
    let [predicate] = arguments(cursor)?;
    Ok(Some(Meaning::Vote {
        ballot,
        result,
        mode,
        predicate,
    }))
}

/// Lanes that meet or are asked for: all that have not exited (`None`), or the lanes of a mask.
pub(super) fn lanes_of_mask(cursor: &mut Cursor<'_>) -> Result<Option<Expr>, Problem> {
    match cursor.one_of(&["all", "lanes"], "write all, or lanes(MASK)")? {
        "all" => Ok(None),
        _ => {
            let [lanes] = arguments(cursor)?;
            Ok(Some(lanes))
        }
    }
}

pub(super) fn reduction(
    cursor: &mut Cursor<'_>,
    dests: &[Destination],
    parts: &[&str],
) -> Result<Option<Meaning>, Problem> {
    let dest = only_word(cursor, dests)?;
    cursor.advance();
    let [op] = parts else { return Ok(None) };
    let Some(op) = Named::from_name(op) else {
        return Ok(None);
    };
    let [value] = arguments(cursor)?;
    Ok(Some(Meaning::Reduce { dest, op, value }))
}

pub(super) fn matching(
    cursor: &mut Cursor<'_>,
    dests: &[Destination],
    parts: &[&str],
) -> Result<Option<Meaning>, Problem> {
    let [mask, all_equal] = pair(cursor, dests)?;
    cursor.advance();
    let [mode] = parts else { return Ok(None) };
    let Some(mode) = Named::from_name(mode) else {
        return Ok(None);
    };
    let words = cursor.in_parentheses(expr)?;
    if !(1..=2).contains(&words.len()) {
        let hint = "write one word, or two";
        return Err(cursor.problem_before("a comparison is of one value".to_owned(), hint));
    }
    Ok(Some(Meaning::Match {
        mask,
        all_equal,
        mode,
        words: words.into(),
    }))
}

pub(super) fn first_lane(
    cursor: &mut Cursor<'_>,
    dests: &[Destination],
    parts: &[&str],
) -> Result<Option<Meaning>, Problem> {
    let [dest, differs] = pair(cursor, dests)?;
    cursor.advance();
    let accumulates = match parts {
        [] => false,
        ["accumulated"] => true,
        _ => return Ok(None),
    };
    let [value] = arguments(cursor)?;
    Ok(differs.map(|differs| Meaning::FirstLane {
        dest,
        differs,
        accumulates,
        value,
    }))
}
