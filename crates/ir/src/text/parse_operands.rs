//! Parser of the parts of meanings: destinations, addresses, fields and expressions. For example, `handle(R4)` is a field with
//! one expression.

use smallvec::SmallVec;
use warpbound_base::Named;

use super::cursor::{self, Cursor, Problem};
use super::float;
use super::lexer::{self, Token};
use crate::{Address, BinaryOp, BufferOperand, Cell, Expr, TernaryOp, UnaryOp, WordHalf};

/// Hint for a name that is no operation.
pub(super) const OPERATIONS: &str = "operations are those that `warpbound disasm --ir` prints";

/// Maximum depth of an expression, because deeper ones would exhaust the stack of the parser.
pub(super) const MAX_DEPTH: usize = 64;

/// Destination: a cell or none, with a component for textures.
pub(super) struct Destination {
    pub(super) component: Option<u8>,
    pub(super) cell: Option<Cell>,
}

pub(super) fn destination(cursor: &mut Cursor<'_>) -> Result<Destination, Problem> {
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
pub(super) fn cells(cursor: &Cursor<'_>, dests: &[Destination]) -> Result<Vec<Cell>, Problem> {
    // An operation of unknown meaning writes whole cells.
    let cell = |dest: &Destination| dest.cell.filter(|_| dest.component.is_none());
    let cells: Option<Vec<Cell>> = dests.iter().map(cell).collect();
    cells.ok_or_else(|| cursor.problem("a destination is no cell", "write cells without numbers"))
}

/// Destinations that may be `_`.
pub(super) fn words(
    cursor: &Cursor<'_>,
    dests: &[Destination],
) -> Result<Vec<Option<Cell>>, Problem> {
    let cell = |dest: &Destination| dest.component.is_none().then_some(dest.cell);
    let cells: Option<Vec<Option<Cell>>> = dests.iter().map(cell).collect();
    let hint = "only textures have components: write cells without numbers";
    cells.ok_or_else(|| cursor.problem("a destination is a component", hint))
}

/// Two destinations; either may be `_`.
pub(super) fn pair(
    cursor: &Cursor<'_>,
    dests: &[Destination],
) -> Result<[Option<Cell>; 2], Problem> {
    let hint = "write two, `_` for none";
    let cells = words(cursor, dests)?;
    let two = cells.as_slice().try_into();
    two.map_err(|_| cursor.problem("the operation has two destinations", hint))
}

/// The one destination; it may be `_`.
pub(super) fn only_word(
    cursor: &Cursor<'_>,
    dests: &[Destination],
) -> Result<Option<Cell>, Problem> {
    match dests {
        [
            Destination {
                component: None,
                cell,
            },
        ] => Ok(*cell),
        _ => {
            let hint = "assign to one cell, or to `_`";
            Err(cursor.problem("the operation has one destination", hint))
        }
    }
}

/// Number in the name of an operation.
pub(super) fn unsigned(part: &str) -> Option<u64> {
    lexer::number(part)
}

/// Destinations of components.
pub(super) fn components<const N: usize>(
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

pub(super) fn no_dests(cursor: &Cursor<'_>, dests: &[Destination]) -> Result<(), Problem> {
    match dests.is_empty() {
        true => Ok(()),
        false => Err(cursor.problem("the operation has no destination", "remove it")),
    }
}

pub(super) fn address(cursor: &mut Cursor<'_>) -> Result<Address, Problem> {
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
pub(super) fn fields(cursor: &mut Cursor<'_>, name: &str) -> Result<Vec<Expr>, Problem> {
    match cursor.accept_word(name) {
        true => cursor.in_parentheses(expr),
        false => Ok(Vec::new()),
    }
}

pub(super) fn optional_field(cursor: &mut Cursor<'_>, name: &str) -> Result<Option<Expr>, Problem> {
    let mut found = fields(cursor, name)?;
    let value = found.pop();
    match found.is_empty() {
        true => Ok(value),
        false => {
            Err(cursor.problem_before(format!("{name} has several values"), "write one expression"))
        }
    }
}

pub(super) fn field(cursor: &mut Cursor<'_>, name: &'static str) -> Result<Expr, Problem> {
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
pub(super) fn arguments<const N: usize>(cursor: &mut Cursor<'_>) -> Result<[Expr; N], Problem> {
    let found = cursor.in_parentheses(expr)?;
    let count = found.len();
    found.try_into().map_err(|_| {
        cursor.problem_before(
            format!("the operation has {N} operands, not {count}"),
            "write that many expressions",
        )
    })
}

pub(super) fn expr(cursor: &mut Cursor<'_>) -> Result<Expr, Problem> {
    nested_expr(cursor, MAX_DEPTH)
}

/// Expression of at most `depth` levels.
pub(super) fn nested_expr(cursor: &mut Cursor<'_>, depth: usize) -> Result<Expr, Problem> {
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
pub(super) fn operation(name: &str, mut operands: Vec<Expr>) -> Option<Expr> {
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
