//! Parser of operations on matrices and of copies, whose text `print_matrix.rs` writes.

use warpbound_base::Named;

use super::cursor::{Cursor, Problem};
use super::parse_operands::{
    Destination, address, field, fields, no_dests, only_word, unsigned, words,
};
use crate::{MatrixAccess, MatrixProduct, MatrixRegisters, MatrixTranspose, Meaning, MemoryCopy};

/// Reads a product, after its destinations.
pub(super) fn product(
    cursor: &mut Cursor<'_>,
    dests: &[Destination],
    parts: &[&str],
) -> Result<Option<Meaning>, Problem> {
    cursor.advance();
    let [rows, depth, a, b, sums, rule] = parts else {
        return Ok(None);
    };
    let numbers = unsigned(rows).zip(unsigned(depth));
    let numbers =
        numbers.filter(|&(rows, depth)| matches!(rows, 8 | 16) && (1..=256).contains(&depth));
    let formats = (
        Named::from_name(a),
        Named::from_name(b),
        Named::from_name(sums),
    );
    let (Some((rows, depth)), (Some(a), Some(b), Some(sums)), Some(rule)) =
        (numbers, formats, Named::from_name(rule))
    else {
        return Ok(None);
    };
    let product = MatrixProduct {
        rows: rows as u8,
        depth: depth as u16,
        factors: [a, b],
        sums,
        rule,
        a: fields(cursor, "a")?,
        b: fields(cursor, "b")?,
        c: fields(cursor, "c")?,
        dests: words(cursor, dests)?,
    };
    // A product that does not fit its fragments has no result, and runs rely on that it fits.
    if !product.is_consistent() {
        let message = "the matrices have other numbers of words".to_owned();
        return Err(cursor.problem_before(message, "write as many words as the fragments have"));
    }
    Ok(Some(Meaning::MatrixProduct(Box::new(product))))
}

/// Reads a transposition, after its destination.
pub(super) fn transpose(
    cursor: &mut Cursor<'_>,
    dests: &[Destination],
) -> Result<Option<Meaning>, Problem> {
    cursor.advance();
    Ok(Some(Meaning::MatrixTranspose(Box::new(MatrixTranspose {
        dest: only_word(cursor, dests)?,
        value: field(cursor, "value")?,
    }))))
}

/// Reads a load or store of matrices, after its destinations.
pub(super) fn access(
    cursor: &mut Cursor<'_>,
    dests: &[Destination],
    loads: bool,
    parts: &[&str],
) -> Result<Option<Meaning>, Problem> {
    cursor.advance();
    let transposes = match parts {
        [] => false,
        ["transposed"] => true,
        _ => return Ok(None),
    };
    let address = address(cursor)?;
    let registers = match loads {
        true => MatrixRegisters::Load(words(cursor, dests)?.into()),
        false => {
            no_dests(cursor, dests)?;
            MatrixRegisters::Store(fields(cursor, "values")?.into())
        }
    };
    let access = MatrixAccess {
        transposes,
        address,
        registers,
    };
    if !matches!(access.matrices(), 1 | 2 | 4) {
        let message = format!("the operation moves {} matrices", access.matrices());
        return Err(cursor.problem_before(message, "write one, two or four words"));
    }
    Ok(Some(Meaning::MatrixAccess(Box::new(access))))
}

/// Reads a copy from global to shared memory.
pub(super) fn copy(cursor: &mut Cursor<'_>, parts: &[&str]) -> Result<Option<Meaning>, Problem> {
    cursor.advance();
    let (bytes, pads) = match parts {
        [bytes] => (bytes, false),
        [bytes, "padded"] => (bytes, true),
        _ => return Ok(None),
    };
    let Some(bytes) = unsigned(bytes).filter(|bytes| matches!(bytes, 4 | 8 | 16)) else {
        return Ok(None);
    };
    let to = address(cursor)?;
    if !cursor.accept_word("from") {
        let hint = "write copy.BYTES [SHARED] from [GLOBAL] reads(CONDITION)";
        return Err(cursor.problem("a copy has no source", hint));
    }
    Ok(Some(Meaning::MemoryCopy(Box::new(MemoryCopy {
        bytes: bytes as u8,
        to,
        from: address(cursor)?,
        reads: field(cursor, "reads")?,
        pads,
    }))))
}
