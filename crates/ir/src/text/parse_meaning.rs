//! Parser of meanings and expressions. For example, `R2, R3 = load global [R7:R6]` has two destinations, a name, a
//! memory space and a 64-bit address.

use smallvec::SmallVec;
use warpbound_base::Named;

use super::cursor::{self, Cursor, Problem};
use super::float;
use super::implied::Implied;
use super::lexer::{self, Token};
use super::parse::CONTROL_EFFECTS;
use crate::{
    Address, BarrierArrival, BinaryOp, BufferOperand, Cell, Expr, Meaning, SurfaceAccess,
    SurfaceOp, TernaryOp, TextureOp, TextureRead, UnaryOp, ValueDependence, Width, WordHalf,
};

/// Maximum depth of an expression, because deeper ones would exhaust the stack of the parser.
const MAX_DEPTH: usize = 64;

const OPERATIONS: &str = "operations are those that `warpbound disasm --ir` prints";

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

/// Destination: a cell or none, with a component for textures.
struct Destination {
    component: Option<u8>,
    cell: Option<Cell>,
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

fn destination(cursor: &mut Cursor<'_>) -> Result<Destination, Problem> {
    let component = match cursor.peek() {
        Some(Token::Number(_)) => {
            let component = cursor.number("a component")?;
            cursor.expect(':')?;
            Some(component)
        }
        _ => None,
    };
    let cell = cursor.dest()?;
    Ok(Destination { component, cell })
}

/// Destinations that must be cells.
fn cells(cursor: &Cursor<'_>, dests: &[Destination]) -> Result<Vec<Cell>, Problem> {
    // An operation of unknown meaning writes whole cells.
    let cell = |dest: &Destination| dest.cell.filter(|_| dest.component.is_none());
    let cells: Option<Vec<Cell>> = dests.iter().map(cell).collect();
    cells.ok_or_else(|| cursor.problem("a destination is no cell", "write cells without numbers"))
}

/// Destinations that may be `_`.
fn words(cursor: &Cursor<'_>, dests: &[Destination]) -> Result<Vec<Option<Cell>>, Problem> {
    let cell = |dest: &Destination| dest.component.is_none().then_some(dest.cell);
    let cells: Option<Vec<Option<Cell>>> = dests.iter().map(cell).collect();
    let hint = "only textures have components: write cells without numbers";
    cells.ok_or_else(|| cursor.problem("a destination is a component", hint))
}

/// Two destinations; either may be `_`.
fn pair(cursor: &Cursor<'_>, dests: &[Destination]) -> Result<[Option<Cell>; 2], Problem> {
    let hint = "write two, `_` for none";
    let cells = words(cursor, dests)?;
    let two = cells.as_slice().try_into();
    two.map_err(|_| cursor.problem("the operation has two destinations", hint))
}

/// Destinations of components.
fn components<const N: usize>(
    cursor: &Cursor<'_>,
    dests: &[Destination],
) -> Result<SmallVec<[(u8, Cell); N]>, Problem>
where
    [(u8, Cell); N]: smallvec::Array<Item = (u8, Cell)>,
{
    let component = |dest: &Destination| dest.component.zip(dest.cell);
    let components: Option<SmallVec<[(u8, Cell); N]>> = dests.iter().map(component).collect();
    let hint = "write the number of the component before each cell: 0:R4";
    components.ok_or_else(|| cursor.problem("a destination is no component", hint))
}

fn no_dests(cursor: &Cursor<'_>, dests: &[Destination]) -> Result<(), Problem> {
    match dests.is_empty() {
        true => Ok(()),
        false => Err(cursor.problem("the operation has no destination", "remove it")),
    }
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
        "meet" => {
            cursor.advance();
            Some(Meaning::Meet(lanes_of_mask(cursor)?))
        }
        "ask" => {
            cursor.advance();
            Some(Meaning::Ask(lanes_of_mask(cursor)?))
        }
        "part" => {
            cursor.advance();
            Some(Meaning::Part)
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

fn shuffle(
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

fn vote(
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
fn lanes_of_mask(cursor: &mut Cursor<'_>) -> Result<Option<Expr>, Problem> {
    match cursor.one_of(&["all", "lanes"], "write all, or lanes(MASK)")? {
        "all" => Ok(None),
        _ => {
            let [lanes] = arguments(cursor)?;
            Ok(Some(lanes))
        }
    }
}

fn reduction(
    cursor: &mut Cursor<'_>,
    dests: &[Destination],
    parts: &[&str],
) -> Result<Option<Meaning>, Problem> {
    let [
        Destination {
            component: None,
            cell: dest,
        },
    ] = dests
    else {
        let hint = "assign to one cell, or to `_`";
        return Err(cursor.problem("a reduction has one destination", hint));
    };
    cursor.advance();
    let [op] = parts else { return Ok(None) };
    let Some(op) = Named::from_name(op) else {
        return Ok(None);
    };
    let [value] = arguments(cursor)?;
    Ok(Some(Meaning::Reduce {
        dest: *dest,
        op,
        value,
    }))
}

fn matching(
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

fn address(cursor: &mut Cursor<'_>) -> Result<Address, Problem> {
    cursor.expect('[')?;
    let first = expr(cursor)?;
    // With a colon, the first expression was the high word.
    let second = match cursor.accept(':') {
        true => Some(expr(cursor)?),
        false => None,
    };
    let buffer = match fields(cursor, "buffer")?.try_into() {
        Ok(descriptor) => Some(Box::new(BufferOperand {
            descriptor,
            index: optional_field(cursor, "index")?,
            scalar_offset: field(cursor, "offset")?,
        })),
        Err(_) => None,
    };
    let second_half = match optional_field(cursor, "second_half")? {
        Some(Expr::Const(distance)) => Some(distance),
        None => None,
        Some(_) => {
            let message = "the distance of the second half is no number".to_owned();
            return Err(cursor.problem_before(message, "write a number of bytes"));
        }
    };
    cursor.expect(']')?;
    let (low, high) = match second {
        Some(low) => (low, Some(first)),
        None => (first, None),
    };
    Ok(Address {
        low,
        high,
        buffer,
        second_half,
    })
}

/// Expressions of a field in parentheses; none if the line does not have the field.
fn fields(cursor: &mut Cursor<'_>, name: &str) -> Result<Vec<Expr>, Problem> {
    match cursor.accept_word(name) {
        true => cursor.in_parentheses(expr),
        false => Ok(Vec::new()),
    }
}

fn optional_field(cursor: &mut Cursor<'_>, name: &str) -> Result<Option<Expr>, Problem> {
    let mut found = fields(cursor, name)?;
    let value = found.pop();
    match found.is_empty() {
        true => Ok(value),
        false => {
            Err(cursor.problem_before(format!("{name} has several values"), "write one expression"))
        }
    }
}

fn field(cursor: &mut Cursor<'_>, name: &'static str) -> Result<Expr, Problem> {
    let found = optional_field(cursor, name)?;
    found.ok_or_else(|| {
        let message = format!("the operation has no {name}");
        cursor.problem(
            message,
            "write it as NAME(EXPRESSION), in the order that `disasm --ir` prints",
        )
    })
}

/// Arguments of an operation, which must have `N`.
fn arguments<const N: usize>(cursor: &mut Cursor<'_>) -> Result<[Expr; N], Problem> {
    let found = cursor.in_parentheses(expr)?;
    let count = found.len();
    found.try_into().map_err(|_| {
        cursor.problem_before(
            format!("the operation has {N} operands, not {count}"),
            "write that many expressions",
        )
    })
}

fn expr(cursor: &mut Cursor<'_>) -> Result<Expr, Problem> {
    nested_expr(cursor, MAX_DEPTH)
}

/// Expression of at most `depth` levels.
fn nested_expr(cursor: &mut Cursor<'_>, depth: usize) -> Result<Expr, Problem> {
    // Each level is a call, so the text must not decide how deep they go.
    let Some(depth) = depth.checked_sub(1) else {
        return Err(cursor.problem(
            format!("the expression has more than {MAX_DEPTH} levels"),
            "compute a part of it in another operation",
        ));
    };
    if let Some(Token::Number(_)) = cursor.peek() {
        return cursor.number("a word").map(Expr::Const);
    }
    let hint = "expressions are numbers, cells, tid, special.NAME, c[BANK][ADDRESS] and NAME(EXPRESSION, …)";
    let name = cursor.word("an expression", hint)?;
    // Constants are written like operands in assembly, `c[0][0x140]`.
    if name == "c" {
        cursor.expect('[')?;
        let bank = cursor.number("the number of a bank")?;
        cursor.expect(']')?;
        cursor.expect('[')?;
        let address = nested_expr(cursor, depth)?;
        cursor.expect(']')?;
        return Ok(Expr::Constant(bank, address.into()));
    }
    if cursor.peek() == Some(&Token::Sign('(')) {
        let operands = cursor.in_parentheses(|cursor| nested_expr(cursor, depth))?;
        let count = operands.len();
        return operation(name, operands).ok_or_else(|| {
            cursor.problem_before(
                format!("`{name}` is no operation of {count} operands"),
                OPERATIONS,
            )
        });
    }
    match (cursor::cell(name), cursor::special(name)) {
        (Some(cell), _) => Ok(Expr::Cell(cell)),
        (None, Some(register)) => Ok(Expr::Special(register)),
        (None, None) if name == "tid" => Ok(Expr::ThreadId),
        (None, None) => Err(cursor.problem_before(format!("`{name}` is no expression"), hint)),
    }
}

/// Operation with a name and these operands; `None` if it has another number of operands.
fn operation(name: &str, mut operands: Vec<Expr>) -> Option<Expr> {
    if let Some(op) = UnaryOp::from_name(name) {
        let [a] = operands.try_into().ok()?;
        return Some(Expr::unary(op, a));
    }
    if let Some(op) = BinaryOp::from_name(name) {
        let [a, b] = operands.try_into().ok()?;
        return Some(Expr::binary(op, a, b));
    }
    let table = || u8::try_from(lexer::number(name.strip_prefix("lut.")?)?).ok();
    let ternary = match name {
        "select" => Some(TernaryOp::Select),
        "carry" => Some(TernaryOp::Carry),
        "funnel_right" => Some(TernaryOp::FunnelRight),
        "funnel_left" => Some(TernaryOp::FunnelLeft),
        "permute" => Some(TernaryOp::Permute),
        _ => table().map(TernaryOp::Lut),
    };
    if let Some(op) = ternary {
        let [a, b, c] = operands.try_into().ok()?;
        return Some(Expr::ternary(op, a, b, c));
    }
    if let Some(half) = name.strip_prefix("ballot.") {
        let [value] = operands.try_into().ok()?;
        return Some(Expr::Ballot(Box::new(value), WordHalf::from_name(half)?));
    }
    if name == "from_lane" {
        let operands: [Expr; 2] = operands.try_into().ok()?;
        // Only a register has a value in another lane.
        let [Expr::Cell(cell), lane] = operands else {
            return None;
        };
        return Some(Expr::FromLane(cell, lane.into()));
    }
    let (name, half) = match name.strip_suffix(".high") {
        Some(name) => (name, WordHalf::High),
        None => (name, WordHalf::Low),
    };
    // A wrong number of words would make evaluation read past them.
    let op = float::parse(name).filter(|op| op.words() == operands.len())?;
    operands.shrink_to_fit();
    Some(Expr::Float(op, operands.into_boxed_slice(), half))
}
