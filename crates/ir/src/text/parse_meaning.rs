//! Parser of meanings and expressions. For example, `R2, R3 = load global [R7:R6]` has two destinations, a name, a
//! memory space and a 64-bit address.

use smallvec::SmallVec;
use warpbound_base::Named;

use super::cursor::{self, Cursor, Problem};
use super::implied::Implied;
use super::lexer::{self, Token};
use super::parse::CONTROL_EFFECTS;
use super::parse_exchange::{first_lane, lanes_of_mask, matching, reduction, shuffle, vote};
use super::parse_matrix as matrix;
use super::parse_operands::{
    Destination, OPERATIONS, address, cells, components, destination, expr, field, fields,
    no_dests, optional_field, pair, words,
};
use crate::{
    BarrierArrival, Cell, Expr, Meaning, SurfaceAccess, SurfaceOp, TextureOp, TextureRead,
    ValueDependence, Width,
};

/// Data effect of an operation in text.
pub(super) enum Body {
    /// Meaning.
    Known(Meaning),
    /// Cells and dependence of an operation of unknown meaning.
    Unknown(Implied),
}

/// Whether the rest of a line begins with a meaning, and not with an attribute or a control effect.
pub(super) fn starts_meaning(cursor: &Cursor<'_>) -> bool {
    match cursor.peek_word() {
        // Cells, components and unknown meanings.
        None => !cursor.is_at_end(),
        // Attributes and control effects follow a meaning, so none precedes them here.
        Some("reads" | "writes" | "value" | "barrier") => false,
        Some(word) => !CONTROL_EFFECTS.contains(&word),
    }
}

impl Body {
    pub(super) fn parse(cursor: &mut Cursor<'_>) -> Result<Body, Problem> {
        let dests = match has_destinations(cursor) {
            true => {
                let dests = cursor.list(destination)?;
                cursor.expect('=')?;
                dests
            }
            false => Vec::new(),
        };
        if cursor.accept('?') {
            // A `?` alone stands for an operation without data.
            let is_short = dests.is_empty() && !cursor.is_at_value();
            let (value, reads) = match is_short {
                true => (ValueDependence::Function, Vec::new()),
                false => (cursor.value()?, cursor.in_parentheses(Cursor::cell)?),
            };
            return Ok(Body::Unknown(Implied {
                reads: reads.into(),
                writes: cells(cursor, &dests)?.into(),
                value,
                barrier: false,
            }));
        }
        meaning(cursor, &dests).map(Body::Known)
    }
}

/// Whether a meaning begins with destinations.
fn has_destinations(cursor: &Cursor<'_>) -> bool {
    // No operation has the name of a cell.
    let is_dest = |word: &str| word == "_" || cursor::cell(word).is_some();
    cursor.peek_word().is_some_and(is_dest) || matches!(cursor.peek(), Some(Token::Number(_)))
}

/// Meaning, after its destinations.
fn meaning(cursor: &mut Cursor<'_>, dests: &[Destination]) -> Result<Meaning, Problem> {
    let Some(word) = cursor.peek_word() else {
        return assignments(cursor, dests);
    };
    // Modifiers follow the name after dots, as in `atomic.add.u32`.
    let parts: Vec<&str> = word.split('.').collect();
    let (name, parts) = parts.split_first().map_or(("", &[][..]), |(n, p)| (*n, p));
    let known = match name {
        "load" => load(cursor, dests, parts)?,
        "store" => {
            no_dests(cursor, dests)?;
            store(cursor, parts)?
        }
        "shuffle" => shuffle(cursor, dests, parts)?,
        "vote" => vote(cursor, dests, parts)?,
        "reduce" => reduction(cursor, dests, parts)?,
        "match" => matching(cursor, dests, parts)?,
        "first_lane" => first_lane(cursor, dests, parts)?,
        "meet" => {
            cursor.advance();
            Some(Meaning::Meet(lanes_of_mask(cursor)?))
        }
        "ask" => {
            cursor.advance();
            Some(Meaning::Ask(lanes_of_mask(cursor)?))
        }
        "any_lane" if parts.is_empty() => {
            cursor.advance();
            Some(Meaning::AnyLane(field(cursor, "predicate")?))
        }
        "part" => {
            cursor.advance();
            Some(Meaning::Part)
        }
        "matrix_product" => matrix::product(cursor, dests, parts)?,
        "matrix_transpose" if parts.is_empty() => matrix::transpose(cursor, dests)?,
        "matrix_load" => matrix::access(cursor, dests, true, parts)?,
        "matrix_store" => matrix::access(cursor, dests, false, parts)?,
        "copy" => {
            no_dests(cursor, dests)?;
            matrix::copy(cursor, parts)?
        }
        "atomic" => atomic(cursor, dests, parts)?,
        "texture" => texture(cursor, dests, parts)?,
        "texture_size" => {
            cursor.advance();
            Some(Meaning::TextureSize {
                dests: components(cursor, dests)?,
                handle: field(cursor, "handle")?,
                level: field(cursor, "level")?,
            })
        }
        "surface" => surface(cursor, dests, parts)?,
        "barrier" => {
            no_dests(cursor, dests)?;
            barrier(cursor, parts)?
        }
        "barrier_result" if parts.is_empty() => {
            cursor.advance();
            let [dest, truth] = pair(cursor, dests)?;
            Some(Meaning::BarrierResult { dest, truth })
        }
        "trap" | "nop" if parts.is_empty() => {
            cursor.advance();
            no_dests(cursor, dests)?;
            Some(match name {
                "trap" => Meaning::Trap,
                _ => Meaning::Set(SmallVec::new()),
            })
        }
        // Without a destination, the word cannot be an expression either.
        _ if dests.is_empty() => {
            let message = format!("`{word}` is no cell, operation or control effect");
            return Err(cursor.problem(message, OPERATIONS));
        }
        _ => return assignments(cursor, dests),
    };
    known.ok_or_else(|| cursor.problem_before(format!("`{word}` is no operation"), OPERATIONS))
}

/// Assignments, after the first destination.
fn assignments(cursor: &mut Cursor<'_>, dests: &[Destination]) -> Result<Meaning, Problem> {
    let [
        Destination {
            component: None,
            cell: Some(first),
        },
    ] = dests
    else {
        let hint = "assign to one cell: CELL = EXPRESSION, CELL = EXPRESSION";
        return Err(cursor.problem("an assignment has one destination", hint));
    };
    let mut assigned: SmallVec<[(Cell, Expr); 2]> = SmallVec::new();
    assigned.push((*first, expr(cursor)?));
    while cursor.accept(',') {
        let cell = cursor.cell()?;
        cursor.expect('=')?;
        assigned.push((cell, expr(cursor)?));
    }
    Ok(Meaning::Set(assigned))
}

/// Width of an access from the modifiers of its name.
fn width(parts: &[&str]) -> Option<Width> {
    match parts {
        [] => Some(Width::Words),
        // Words are the default, which has no suffix.
        [name] => Width::from_name(name).filter(|width| *width != Width::Words),
        _ => None,
    }
}

fn load(
    cursor: &mut Cursor<'_>,
    dests: &[Destination],
    parts: &[&str],
) -> Result<Option<Meaning>, Problem> {
    cursor.advance();
    // The caller reports an unknown modifier at the name.
    let Some(width) = width(parts) else {
        return Ok(None);
    };
    Ok(Some(Meaning::Load {
        dests: words(cursor, dests)?.into(),
        width,
        space: cursor.named("a memory space")?,
        address: address(cursor)?,
    }))
}

fn store(cursor: &mut Cursor<'_>, parts: &[&str]) -> Result<Option<Meaning>, Problem> {
    cursor.advance();
    let Some(width) = width(parts) else {
        return Ok(None);
    };
    let space = cursor.named("a memory space")?;
    let address = address(cursor)?;
    cursor.expect('=')?;
    Ok(Some(Meaning::Store {
        values: cursor.list(expr)?.into(),
        width,
        space,
        address,
    }))
}

fn atomic(
    cursor: &mut Cursor<'_>,
    dests: &[Destination],
    parts: &[&str],
) -> Result<Option<Meaning>, Problem> {
    cursor.advance();
    let [op, kind] = parts else { return Ok(None) };
    let (Some(op), Some(kind)) = (Named::from_name(op), Named::from_name(kind)) else {
        return Ok(None);
    };
    let space = cursor.named("a memory space")?;
    let address = address(cursor)?;
    cursor.expect('=')?;
    Ok(Some(Meaning::Atomic {
        dests: words(cursor, dests)?.into(),
        op,
        kind,
        space,
        address,
        operands: cursor.list(expr)?.into(),
    }))
}

fn texture(
    cursor: &mut Cursor<'_>,
    dests: &[Destination],
    parts: &[&str],
) -> Result<Option<Meaning>, Problem> {
    cursor.advance();
    let [op, kind] = parts else { return Ok(None) };
    let gathered = || lexer::number(op.strip_prefix("gather")?);
    let op = match *op {
        "sample" => Some(TextureOp::Sample),
        "texel" => Some(TextureOp::Texel),
        _ => gathered()
            .and_then(|component| component.try_into().ok())
            .map(TextureOp::Gather),
    };
    let (Some(op), Some(kind)) = (op, Named::from_name(kind)) else {
        return Ok(None);
    };
    Ok(Some(Meaning::Texture(Box::new(TextureRead {
        op,
        kind,
        dests: components(cursor, dests)?,
        handle: field(cursor, "handle")?,
        coordinates: fields(cursor, "at")?.into(),
        layer: optional_field(cursor, "layer")?,
        level: optional_field(cursor, "level")?,
        offsets: fields(cursor, "offsets")?.into(),
    }))))
}

fn surface(
    cursor: &mut Cursor<'_>,
    dests: &[Destination],
    parts: &[&str],
) -> Result<Option<Meaning>, Problem> {
    cursor.advance();
    let [op @ .., kind, width, outside] = parts else {
        return Ok(None);
    };
    let (Some(kind), Some(width), Some(out_of_bounds)) = (
        Named::from_name(kind),
        Named::from_name(width),
        Named::from_name(outside),
    ) else {
        return Ok(None);
    };
    let handle = field(cursor, "handle")?;
    let coordinates = fields(cursor, "at")?.into();
    let layer = optional_field(cursor, "layer")?;
    let op = match op {
        ["load"] => SurfaceOp::Load(words(cursor, dests)?.into()),
        ["store"] => SurfaceOp::Store(fields(cursor, "values")?.into()),
        ["reduce", op, number] => {
            let (Some(op), Some(number)) = (Named::from_name(op), Named::from_name(number)) else {
                return Ok(None);
            };
            SurfaceOp::Reduce(op, number, fields(cursor, "operands")?.into())
        }
        _ => return Ok(None),
    };
    if !matches!(op, SurfaceOp::Load(_)) {
        no_dests(cursor, dests)?;
    }
    Ok(Some(Meaning::Surface(Box::new(SurfaceAccess {
        op,
        width,
        kind,
        handle,
        coordinates,
        layer,
        out_of_bounds,
    }))))
}

fn barrier(cursor: &mut Cursor<'_>, parts: &[&str]) -> Result<Option<Meaning>, Problem> {
    cursor.advance();
    let number = field(cursor, "number")?;
    let threads = field(cursor, "threads")?;
    let arrival = match parts {
        ["wait"] => BarrierArrival::Wait,
        ["arrive"] => BarrierArrival::Arrive,
        ["reduce", reduction] => match Named::from_name(reduction) {
            Some(reduction) => BarrierArrival::Reduce(reduction, field(cursor, "predicate")?),
            None => return Ok(None),
        },
        _ => return Ok(None),
    };
    Ok(Some(Meaning::Barrier {
        number,
        threads,
        arrival,
    }))
}
