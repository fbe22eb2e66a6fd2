//! Printer of code. It leaves out all that follows from the meaning, and prints what differs as attributes.

use std::fmt::{self, Display, Write as _};

use warpbound_base::{Family, Named};

use super::implied::{Implied, unstated_meaning};
use super::{float, names, print_matrix};
use crate::{
    Address, BarrierArrival, Cell, Code, ControlEffect, ControlTarget, ExecCondition, Expr,
    FurtherTest, Meaning, Op, OpIndex, OpScope, SurfaceAccess, SurfaceOp, TernaryOp, TextureOp,
    TextureRead, ValueDependence, Width, WordHalf,
};

/// Bytes of a constant bank in one line.
const ROW: usize = 32;

/// Returns the text of `code`, which [`super::parse()`] reads as the same code, apart from the parts that text leaves
/// out ([`crate::text`]).
///
/// All indexes of operations in `code` must exist. A target that does not becomes [`ControlTarget::Invalid`].
pub fn print(code: &Code) -> String {
    CodeText(code).to_string()
}

struct CodeText<'a>(&'a Code);

impl Display for CodeText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let code = self.0;
        let addr = |op: OpIndex| code.get(op).map(|op| op.addr).unwrap_or_default();
        if code.family != Family::default() {
            writeln!(f, "family {}", code.family.name())?;
        }
        // The parser takes the first operation by default, so the common case needs no line.
        if code.entry != OpIndex::default() {
            writeln!(f, "entry {}", addr(code.entry))?;
        }
        if code.group_bytes != 0 {
            writeln!(f, "group {}", code.group_bytes)?;
        }
        for function in &code.functions {
            let name = Quoted(&function.name);
            writeln!(f, "function {} {name}", addr(function.entry))?;
        }
        for (bank, bytes) in &code.constants {
            // An empty bank has a line as well.
            let first = bytes.get(..ROW).unwrap_or(bytes);
            // Short lines keep long banks readable and comparable line by line.
            let rest = bytes.get(first.len()..).unwrap_or_default();
            for row in [first].into_iter().chain(rest.chunks(ROW)) {
                let digits: String = row.iter().map(|byte| format!("{byte:02x}")).collect();
                writeln!(f, "bank {bank} \"{digits}\"")?;
            }
        }
        for (bank, offset, name) in &code.external_words {
            let name = Quoted(name);
            writeln!(f, "external_word c[{bank}][0x{offset:x}] {name}")?;
        }
        for word in &code.address_words {
            let (half, name) = (word.half.name(), Quoted(&word.symbol));
            writeln!(f, "address_word {half} {name} {}", Offset(word.addend))?;
        }
        if !code.agreed_at_entry.is_empty() {
            writeln!(f, "agreed {}", List(&code.agreed_at_entry))?;
        }
        for op in &code.ops {
            writeln!(f, "{}", OpText { code, op })?;
        }
        Ok(())
    }
}

/// Text in quotation marks, with escapes.
struct Quoted<'a>(&'a str);

impl Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        for c in self.0.chars() {
            match c {
                '"' | '\\' => write!(f, "\\{c}")?,
                // A control character could end the line that the parser reads.
                _ if c.is_control() => write!(f, "\\u{{{:x}}}", u32::from(c))?,
                _ => f.write_char(c)?,
            }
        }
        f.write_char('"')
    }
}

/// Signed constant with its sign.
struct Offset(i64);

impl Display for Offset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { '-' } else { '+' };
        // `unsigned_abs`, because the smallest number has no positive counterpart.
        write!(f, "{sign} 0x{:x}", self.0.unsigned_abs())
    }
}

/// Values separated by commas.
struct List<'a, T>(&'a [T]);

impl<T: Display> Display for List<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, value) in self.0.iter().enumerate() {
            let comma = if number == 0 { "" } else { ", " };
            write!(f, "{comma}{value}")?;
        }
        Ok(())
    }
}

struct OpText<'a> {
    code: &'a Code,
    op: &'a Op,
}

impl Display for OpText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let op = self.op;
        write!(f, "{}:", op.addr)?;
        if !op.condition.is_always() {
            write!(f, "  if {}", ConditionText(op.condition))?;
        }
        if op.scope == OpScope::Warp {
            f.write_str("  warp")?;
        }
        let implied = Implied::by(op.meaning.as_ref(), &op.control);
        match &op.meaning {
            Some(meaning) => {
                // A jump without an effect on data is the common case, and stands alone on its line.
                if op.meaning != unstated_meaning(&op.control) {
                    write!(f, "  {meaning}")?;
                }
                // Effects over-approximate: they may name registers that the meaning does not read, and must survive.
                if implied.reads != op.reads {
                    write!(f, "  reads({})", List(&op.reads))?;
                }
                if implied.writes != op.writes {
                    write!(f, "  writes({})", List(&op.writes))?;
                }
                if implied.value != op.value {
                    write!(f, "  value({})", ValueText(op.value))?;
                }
            }
            // The parser restores such an operation from its control effect alone.
            None if self.is_unstated(&implied) => {}
            None if is_without_data(op) => f.write_str("  ?")?,
            None => {
                let dests = List(&op.writes);
                let equals = if op.writes.is_empty() { "" } else { " = " };
                let (value, reads) = (ValueText(op.value), List(&op.reads));
                write!(f, "  {dests}{equals}?{value}({reads})")?;
            }
        }
        if implied.barrier != op.barrier {
            let state = if op.barrier { "yes" } else { "no" };
            write!(f, "  barrier({state})")?;
        }
        self.write_control(f)
    }
}

/// Whether an operation reads and writes no cells.
fn is_without_data(op: &Op) -> bool {
    op.reads.is_empty() && op.writes.is_empty() && op.value == ValueDependence::Function
}

impl OpText<'_> {
    /// Whether the data effect of an operation without a meaning follows from its control effect.
    fn is_unstated(&self, implied: &Implied) -> bool {
        let op = self.op;
        op.control != ControlEffect::Next
            && unstated_meaning(&op.control).is_none()
            && (&implied.reads, &implied.writes, implied.value) == (&op.reads, &op.writes, op.value)
    }

    fn target<'a>(&'a self, target: &'a ControlTarget) -> TargetText<'a> {
        TargetText {
            code: self.code,
            target,
        }
    }

    fn write_control(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.op.control {
            ControlEffect::Next => Ok(()),
            ControlEffect::Jump(to) => write!(f, "  jump {}", self.target(to)),
            ControlEffect::Branch { to, reconvergence } => {
                write!(f, "  branch {} reconvergence ", self.target(to))?;
                match reconvergence.and_then(|at| self.code.get(at)) {
                    Some(op) => write!(f, "{}", op.addr),
                    None => f.write_str("end"),
                }
            }
            ControlEffect::Reconverge => f.write_str("  reconverge"),
            ControlEffect::SetActive(mask) => write!(f, "  set_active {mask}"),
            ControlEffect::Indirect {
                base,
                anchor,
                relative,
            } => {
                let kind = if *relative { "relative" } else { "absolute" };
                write!(f, "  indirect {kind} {} {}", Dest(*base), Offset(*anchor))
            }
            ControlEffect::Call(to) => write!(f, "  call {}", self.target(to)),
            ControlEffect::Push(token, to) => {
                write!(f, "  push {} {}", token.name(), self.target(to))
            }
            ControlEffect::Pop(token) => write!(f, "  pop {}", token.name()),
            ControlEffect::LinkedCall(to) => write!(f, "  linked_call {}", self.target(to)),
            ControlEffect::LinkedIndirect {
                base,
                anchor,
                relative,
            } => {
                let kind = if *relative { "relative" } else { "absolute" };
                let to = (Dest(*base), Offset(*anchor));
                write!(f, "  linked_indirect {kind} {} {}", to.0, to.1)
            }
            effect if *effect == ControlEffect::RETURN => f.write_str("  return"),
            ControlEffect::Return {
                base,
                anchor,
                relative,
            } => {
                let kind = if *relative { "relative" } else { "absolute" };
                write!(f, "  return {kind} {} {}", Dest(*base), Offset(*anchor))
            }
            ControlEffect::OpenBarrier(barrier, to) => {
                write!(f, "  open_barrier {barrier} {}", self.target(to))
            }
            ControlEffect::JoinBarrier(barrier) => write!(f, "  join_barrier {barrier}"),
            ControlEffect::BreakBarrier(barrier) => write!(f, "  break_barrier {barrier}"),
            ControlEffect::SaveBarrier(barrier, to) => {
                write!(f, "  save_barrier {barrier} {}", Dest(*to))
            }
            ControlEffect::WriteBarrier {
                barrier,
                source,
                cleared,
            } => {
                write!(f, "  write_barrier {barrier} {}", Dest(*source))?;
                match cleared {
                    Some(cleared) => write!(f, " clear {cleared}"),
                    None => Ok(()),
                }
            }
            ControlEffect::Release => f.write_str("  release"),
            ControlEffect::Collective(to) => write!(f, "  collective {}", self.target(to)),
            ControlEffect::FreeJump(to) => write!(f, "  free_jump {}", self.target(to)),
            ControlEffect::Exit => f.write_str("  exit"),
            ControlEffect::End => f.write_str("  end"),
            ControlEffect::Unsupported(name) => write!(f, "  unsupported {}", Quoted(name)),
        }
    }
}

struct TargetText<'a> {
    code: &'a Code,
    target: &'a ControlTarget,
}

impl Display for TargetText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.target {
            ControlTarget::Op(at) => match self.code.get(*at) {
                Some(op) => write!(f, "{}", op.addr),
                // Text can only name operations that exist.
                None => write!(f, "invalid \"operation {}\"", at.0),
            },
            ControlTarget::External(name) => write!(f, "external {}", Quoted(name)),
            ControlTarget::Invalid(text) => write!(f, "invalid {}", Quoted(text)),
        }
    }
}

struct ConditionText(ExecCondition);

impl Display for ConditionText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let condition = self.0;
        let not = if condition.negated { "!" } else { "" };
        let guard = match condition.guard {
            Some(guard) => Some(format!("{not}{guard}")),
            // A negated constant guard holds in no lane.
            None => condition.negated.then(|| "never".to_owned()),
        };
        let test = condition.tests_cc().then_some(condition.cc_test.0);
        let further = condition.further.map(|further| match further {
            FurtherTest::Predicate { cell, negated } => {
                let not = if negated { "!" } else { "" };
                format!("{not}{cell}")
            }
            FurtherTest::Group => "group".to_owned(),
        });
        let parts = [guard, test.map(|test| format!("cc({test})")), further];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        f.write_str(&parts.join(" & "))
    }
}

struct ValueText(ValueDependence);

impl Display for ValueText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            ValueDependence::Function => f.write_str("function"),
            ValueDependence::Load(space) => write!(f, "load.{}", space.name()),
            ValueDependence::Special(register) => write!(f, "special.{register}"),
            ValueDependence::Uniform => f.write_str("uniform"),
            ValueDependence::Lane => f.write_str("lane"),
        }
    }
}

impl Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Expr::Const(number @ 0..=255) => write!(f, "{number}"),
            Expr::Const(number) => write!(f, "0x{number:x}"),
            Expr::Cell(cell) => write!(f, "{cell}"),
            Expr::ThreadId => f.write_str("tid"),
            Expr::Constant(bank, address) => match **address {
                Expr::Const(offset) => write!(f, "c[{bank}][0x{offset:x}]"),
                _ => write!(f, "c[{bank}][{address}]"),
            },
            Expr::Special(register) => write!(f, "special.{register}"),
            Expr::Unary(op, a) => write!(f, "{}({a})", op.name()),
            Expr::Binary(op, a, b) => write!(f, "{}({a}, {b})", op.name()),
            Expr::Ternary(op, a, b, c) => {
                let name = match op {
                    TernaryOp::Select => "select",
                    TernaryOp::Lut(table) => &format!("lut.{table}"),
                    TernaryOp::Carry => "carry",
                    TernaryOp::FunnelRight => "funnel_right",
                    TernaryOp::FunnelLeft => "funnel_left",
                    TernaryOp::Permute => "permute",
                };
                write!(f, "{name}({a}, {b}, {c})")
            }
            Expr::Float(op, operands, half) => {
                f.write_str(&float::print(*op))?;
                // The low word is the default, also for results of one word.
                if *half == WordHalf::High {
                    f.write_str(".high")?;
                }
                write!(f, "({})", List(operands))
            }
            Expr::Ballot(value, half) => write!(f, "ballot.{}({value})", half.name()),
            Expr::FromLane(cell, lane) => write!(f, "from_lane({cell}, {lane})"),
        }
    }
}

/// Destination; `_` if there is none.
pub(super) struct Dest(pub(super) Option<Cell>);

impl Display for Dest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(cell) => write!(f, "{cell}"),
            None => f.write_char('_'),
        }
    }
}

/// Writes destinations and the sign of equality; nothing if there are no destinations.
pub(super) fn write_dests<T: Display>(
    f: &mut fmt::Formatter<'_>,
    dests: impl IntoIterator<Item = T>,
) -> fmt::Result {
    let dests: Vec<T> = dests.into_iter().collect();
    match dests.is_empty() {
        true => Ok(()),
        false => write!(f, "{} = ", List(&dests)),
    }
}

/// Writes destinations of components.
fn write_components(f: &mut fmt::Formatter<'_>, dests: &[(u8, Cell)]) -> fmt::Result {
    let dest = |(component, cell): &(u8, Cell)| format!("{component}:{cell}");
    write_dests(f, dests.iter().map(dest))
}

/// Writes a field with expressions in parentheses, unless there are none.
pub(super) fn write_field(f: &mut fmt::Formatter<'_>, name: &str, values: &[Expr]) -> fmt::Result {
    match values {
        [] => Ok(()),
        _ => write!(f, " {name}({})", List(values)),
    }
}

/// Suffix of the width of an access.
fn width_suffix(width: Width) -> String {
    match width {
        Width::Words => String::new(),
        _ => format!(".{}", width.name()),
    }
}

impl Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('[')?;
        if let Some(high) = &self.high {
            // The high word comes first, as in `R7:R6`.
            write!(f, "{high}:")?;
        }
        write!(f, "{}", self.low)?;
        if let Some(buffer) = &self.buffer {
            write_field(f, "buffer", &buffer.descriptor)?;
            write_field(f, "index", buffer.index.as_slice())?;
            write_field(f, "offset", std::slice::from_ref(&buffer.scalar_offset))?;
        }
        if let Some(distance) = self.second_half {
            write_field(f, "second_half", &[Expr::Const(distance)])?;
        }
        f.write_char(']')
    }
}

impl Display for Meaning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Meaning::Set(assignments) if assignments.is_empty() => f.write_str("nop"),
            Meaning::Set(assignments) => {
                let assignment = |(dest, value): &(Cell, Expr)| format!("{dest} = {value}");
                let assignments: Vec<String> = assignments.iter().map(assignment).collect();
                write!(f, "{}", List(&assignments))
            }
            Meaning::Load { .. } | Meaning::Store { .. } | Meaning::Atomic { .. } => {
                write_access(f, self)
            }
            Meaning::Shuffle { .. }
            | Meaning::Vote { .. }
            | Meaning::Reduce { .. }
            | Meaning::Match { .. }
            | Meaning::FirstLane { .. } => write_exchange(f, self),
            Meaning::MatrixProduct(_)
            | Meaning::MatrixTranspose(_)
            | Meaning::MatrixAccess(_)
            | Meaning::MemoryCopy(_) => print_matrix::write(f, self),
            Meaning::Ask(None) => f.write_str("ask all"),
            Meaning::Ask(Some(lanes)) => write!(f, "ask lanes({lanes})"),
            Meaning::AnyLane(holds) => write!(f, "any_lane predicate({holds})"),
            Meaning::Part => f.write_str("part"),
            Meaning::Meet(None) => f.write_str("meet all"),
            Meaning::Meet(Some(lanes)) => write!(f, "meet lanes({lanes})"),
            Meaning::Texture(read) => write_texture(f, read),
            Meaning::TextureSize {
                handle,
                level,
                dests,
            } => {
                write_components(f, dests)?;
                write!(f, "texture_size handle({handle}) level({level})")
            }
            Meaning::Surface(access) => write_surface(f, access),
            Meaning::Barrier {
                number,
                threads,
                arrival,
            } => {
                let kind = match arrival {
                    BarrierArrival::Wait => "wait",
                    BarrierArrival::Arrive => "arrive",
                    BarrierArrival::Reduce(reduction, _) => &format!("reduce.{}", reduction.name()),
                };
                write!(f, "barrier.{kind} number({number}) threads({threads})")?;
                match arrival {
                    BarrierArrival::Reduce(_, predicate) => write!(f, " predicate({predicate})"),
                    BarrierArrival::Wait | BarrierArrival::Arrive => Ok(()),
                }
            }
            Meaning::BarrierResult { dest, truth } => {
                write_dests(f, [*dest, *truth].map(Dest))?;
                f.write_str("barrier_result")
            }
            Meaning::Trap => f.write_str("trap"),
        }
    }
}

/// Writes an exchange between lanes; nothing for other meanings.
fn write_exchange(f: &mut fmt::Formatter<'_>, meaning: &Meaning) -> fmt::Result {
    match meaning {
        Meaning::Shuffle {
            dest,
            in_range,
            mode,
            value,
            lane,
            limit,
        } => {
            write_dests(f, [*dest, *in_range].map(Dest))?;
            write!(f, "shuffle.{}({value}, {lane}, {limit})", mode.name())
        }
        Meaning::Vote {
            ballot,
            result,
            mode,
            predicate,
        } => {
            write_dests(f, [*ballot, *result].map(Dest))?;
            write!(f, "vote.{}({predicate})", mode.name())
        }
        Meaning::Reduce { dest, op, value } => {
            write_dests(f, [Dest(*dest)])?;
            write!(f, "reduce.{}({value})", op.name())
        }
        Meaning::Match {
            mask,
            all_equal,
            mode,
            words,
        } => {
            write_dests(f, [*mask, *all_equal].map(Dest))?;
            let words: Vec<String> = words.iter().map(Expr::to_string).collect();
            write!(f, "match.{}({})", mode.name(), words.join(", "))
        }
        Meaning::FirstLane {
            dest,
            differs,
            accumulates,
            value,
        } => {
            write_dests(f, [*dest, Some(*differs)].map(Dest))?;
            let suffix = match accumulates {
                true => ".accumulated",
                false => "",
            };
            write!(f, "first_lane{suffix}({value})")
        }
        _ => Ok(()),
    }
}

/// Writes an access to memory; nothing for other meanings.
fn write_access(f: &mut fmt::Formatter<'_>, meaning: &Meaning) -> fmt::Result {
    match meaning {
        Meaning::Load {
            dests,
            width,
            space,
            address,
        } => {
            write_dests(f, dests.iter().copied().map(Dest))?;
            let (width, space) = (width_suffix(*width), space.name());
            write!(f, "load{width} {space}{address}")
        }
        Meaning::Store {
            values,
            width,
            space,
            address,
        } => {
            let (width, space) = (width_suffix(*width), space.name());
            write!(f, "store{width} {space}{address} = {}", List(values))
        }
        Meaning::Atomic {
            dests,
            op,
            kind,
            space,
            address,
            operands,
        } => {
            write_dests(f, dests.iter().copied().map(Dest))?;
            let (op, kind, space) = (op.name(), kind.name(), space.name());
            let operands = List(operands);
            write!(f, "atomic.{op}.{kind} {space}{address} = {operands}")
        }
        _ => Ok(()),
    }
}

fn write_texture(f: &mut fmt::Formatter<'_>, read: &TextureRead) -> fmt::Result {
    write_components(f, &read.dests)?;
    let op = match read.op {
        TextureOp::Sample => "sample",
        TextureOp::Texel => "texel",
        TextureOp::Gather(component) => &format!("gather{component}"),
    };
    let kind = names::name(read.kind);
    write!(f, "texture.{op}.{kind} handle({})", read.handle)?;
    write_field(f, "at", &read.coordinates)?;
    write_field(f, "layer", read.layer.as_slice())?;
    write_field(f, "level", read.level.as_slice())?;
    write_field(f, "offsets", &read.offsets)
}

fn write_surface(f: &mut fmt::Formatter<'_>, access: &SurfaceAccess) -> fmt::Result {
    let op = match &access.op {
        SurfaceOp::Load(dests) => {
            write_dests(f, dests.iter().copied().map(Dest))?;
            "load"
        }
        SurfaceOp::Store(_) => "store",
        SurfaceOp::Reduce(op, number, _) => &format!("reduce.{}.{}", op.name(), number.name()),
    };
    let kind = names::name(access.kind);
    let width = access.width.name();
    let outside = access.out_of_bounds.name();
    write!(
        f,
        "surface.{op}.{kind}.{width}.{outside} handle({})",
        access.handle
    )?;
    write_field(f, "at", &access.coordinates)?;
    write_field(f, "layer", access.layer.as_slice())?;
    match &access.op {
        SurfaceOp::Load(_) => Ok(()),
        SurfaceOp::Store(values) => write_field(f, "values", values),
        SurfaceOp::Reduce(_, _, operands) => write_field(f, "operands", operands),
    }
}
