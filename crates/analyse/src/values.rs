//! Register values of one lane, for the resolution of jump tables and indirect calls (SOUNDNESS 4.5).
//!
//! Abstract domain: finite sets of words, limited in size so that joins terminate. For example, `min(x, 3)` of an
//! unknown `x` is one of the words 0 to 3, and a jump table that is read at this index has at most 4 targets.

use std::collections::{BTreeMap, BTreeSet};

use warpbound_ir::{BinaryOp, Cell, Code, Expr, Meaning, Op, UnaryOp, ValueDomain, eval};
use warpbound_simt::warp::CellSet;

/// Largest set that a join of different sets makes; larger sets come from a clamp or mask. A loop is followed so often if
/// its counter decides a target.
const JOIN_LIMIT: usize = 16;
/// Largest index of a jump table that is followed.
const CLAMP_LIMIT: u32 = 4096;

/// Possible contents of a 32-bit register.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AbstractValue {
    /// One of these words.
    OneOf(BTreeSet<u32>),
    /// Some word of this constant bank, at an unknown offset.
    SomeWordOf(u8),
    /// The address of an external function, by symbol name.
    External(String),
    /// Any word.
    Any,
}

impl AbstractValue {
    fn constant(value: u32) -> Self {
        AbstractValue::OneOf([value].into())
    }

    /// The least upper bound, widened to [`AbstractValue::Any`] above [`JOIN_LIMIT`] words.
    fn join(&self, other: &Self) -> Self {
        match (self, other) {
            (a, b) if a == b => a.clone(),
            (AbstractValue::OneOf(a), AbstractValue::OneOf(b)) => {
                let both: BTreeSet<u32> = a.union(b).copied().collect();
                // A union no larger than one operand adds nothing to it, so ascending chains stay finite.
                if both.len() <= JOIN_LIMIT || both.len() == a.len().max(b.len()) {
                    AbstractValue::OneOf(both)
                } else {
                    AbstractValue::Any
                }
            }
            _ => AbstractValue::Any,
        }
    }
}

/// Register values of one lane; a cell without an entry may hold anything.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Values {
    known: BTreeMap<Cell, AbstractValue>,
}

impl Values {
    /// Possible contents of `cell`.
    pub fn get(&self, cell: Cell) -> AbstractValue {
        self.known.get(&cell).cloned().unwrap_or(AbstractValue::Any)
    }

    fn set(&mut self, cell: Cell, value: AbstractValue) {
        if value == AbstractValue::Any {
            self.known.remove(&cell);
        } else {
            self.known.insert(cell, value);
        }
    }

    /// Forgets all values.
    pub fn forget(&mut self) {
        self.known.clear();
    }

    /// Forgets the values of cells outside `cells`.
    pub fn keep(&mut self, cells: &CellSet) {
        self.known.retain(|cell, _| cells.contains(cell.index()));
    }

    /// Executes the data effect of `op`; cells that it writes and that are not `followed` may then hold anything.
    pub fn apply(&mut self, op: &Op, code: &Code, followed: &CellSet) {
        if op.writes.is_empty() || op.condition.is_never() {
            return;
        }
        let value_of = |cell| op.meaning.as_ref().and_then(|m: &Meaning| m.value_of(cell));
        // All writes of an operation read the state before it.
        let values: Vec<AbstractValue> = op
            .writes
            .iter()
            .map(|&cell| match value_of(cell) {
                Some(value) if followed.contains(cell.index()) => self.evaluate(value, code),
                _ => AbstractValue::Any,
            })
            .collect();
        for (&cell, new) in op.writes.iter().zip(values) {
            let new = if op.condition.is_always() {
                new
            } else {
                new.join(&self.get(cell))
            };
            self.set(cell, new);
        }
    }

    /// Joins `other` into these values; returns whether a value grew.
    pub fn join(&mut self, other: &Values) -> bool {
        let mut changed = false;
        self.known.retain(|cell, mine| {
            let joined = match other.known.get(cell) {
                Some(theirs) => mine.join(theirs),
                None => AbstractValue::Any,
            };
            changed |= joined != *mine;
            *mine = joined;
            *mine != AbstractValue::Any
        });
        changed
    }

    /// Evaluates an expression.
    pub fn evaluate(&self, expr: &Expr, code: &Code) -> AbstractValue {
        let mut domain = WordSets { values: self, code };
        eval(expr, &mut domain).unwrap_or(AbstractValue::Any)
    }
}

/// Whether [`Values::evaluate`] evaluates an expression of this kind.
pub(crate) fn models(expr: &Expr) -> bool {
    !matches!(expr, Expr::Ternary(..) | Expr::Float(..))
}

/// Domain of the values of one lane; an unknown one is [`AbstractValue::Any`], which a mask or clamp narrows.
struct WordSets<'a> {
    values: &'a Values,
    code: &'a Code,
}

impl ValueDomain for WordSets<'_> {
    type Value = AbstractValue;

    fn models(&self, expr: &Expr) -> bool {
        models(expr)
    }

    fn unknown(&mut self) -> Option<AbstractValue> {
        Some(AbstractValue::Any)
    }

    fn constant(&mut self, value: u32) -> Option<AbstractValue> {
        Some(AbstractValue::constant(value))
    }

    fn cell(&mut self, cell: Cell) -> Option<AbstractValue> {
        Some(self.values.get(cell))
    }

    fn constant_word(&mut self, bank: u8, address: AbstractValue) -> Option<AbstractValue> {
        Some(load(bank, &address, self.code))
    }

    fn unary(&mut self, op: UnaryOp, a: AbstractValue) -> Option<AbstractValue> {
        Some(match a {
            AbstractValue::OneOf(words) => {
                AbstractValue::OneOf(words.into_iter().map(|word| op.apply(word)).collect())
            }
            _ => AbstractValue::Any,
        })
    }

    fn binary(
        &mut self,
        op: BinaryOp,
        a: AbstractValue,
        b: AbstractValue,
    ) -> Option<AbstractValue> {
        let narrow = match op {
            BinaryOp::And => mask(&a, &b).or_else(|| mask(&b, &a)),
            BinaryOp::MinU => clamp(&a, &b).or_else(|| clamp(&b, &a)),
            _ => None,
        };
        Some(narrow.unwrap_or_else(|| pointwise(op, &a, &b)))
    }
}

/// Results for all pairs of operands, if both sets are known and their product is small.
fn pointwise(op: BinaryOp, a: &AbstractValue, b: &AbstractValue) -> AbstractValue {
    match (a, b) {
        // The limit admits a clamped index (0 to `CLAMP_LIMIT`) with a constant operand.
        (AbstractValue::OneOf(a), AbstractValue::OneOf(b))
            if a.len().saturating_mul(b.len()) <= CLAMP_LIMIT as usize + 1 =>
        {
            let pairs = a.iter().flat_map(|&x| b.iter().map(move |&y| (x, y)));
            let values: Option<BTreeSet<u32>> = pairs.map(|(x, y)| op.apply(x, y)).collect();
            values.map_or(AbstractValue::Any, AbstractValue::OneOf)
        }
        _ => AbstractValue::Any,
    }
}

/// The word, if there is only one.
fn single(value: &AbstractValue) -> Option<u32> {
    match value {
        AbstractValue::OneOf(set) if set.len() == 1 => set.first().copied(),
        _ => None,
    }
}

/// `min(any, n)`: one of `0..=n`. Compilers clamp the index of a jump table in this way.
fn clamp(unknown: &AbstractValue, limit: &AbstractValue) -> Option<AbstractValue> {
    let limit = single(limit)?;
    // For a known set `pointwise` is exact.
    (!matches!(unknown, AbstractValue::OneOf(_)) && limit <= CLAMP_LIMIT)
        .then(|| AbstractValue::OneOf((0..=limit).collect()))
}

/// `any & m`: one of the submasks of `m`, if there are few.
fn mask(unknown: &AbstractValue, bits: &AbstractValue) -> Option<AbstractValue> {
    let bits = single(bits)?;
    // A mask of k bits has 2^k submasks.
    if matches!(unknown, AbstractValue::OneOf(_)) || bits.count_ones() > CLAMP_LIMIT.ilog2() {
        return None;
    }
    let mut submasks = BTreeSet::new();
    let mut sub = bits;
    loop {
        submasks.insert(sub);
        if sub == 0 {
            return Some(AbstractValue::OneOf(submasks));
        }
        sub = (sub - 1) & bits;
    }
}

/// Word of constant memory at one of these addresses.
fn load(bank: u8, address: &AbstractValue, code: &Code) -> AbstractValue {
    let AbstractValue::OneOf(addresses) = address else {
        // Only a bank in the binary has known words.
        let fixed = code.constants.iter().any(|(b, _)| *b == bank);
        return if fixed {
            AbstractValue::SomeWordOf(bank)
        } else {
            AbstractValue::Any
        };
    };
    if let Some(address) = single(address) {
        let external = code
            .external_words
            .iter()
            .find(|(b, offset, _)| *b == bank && *offset == address);
        if let Some((_, _, name)) = external {
            return AbstractValue::External(name.clone());
        }
    }
    let words: Option<BTreeSet<u32>> = addresses
        .iter()
        .map(|&a| code.constant(bank, a.into()))
        .collect();
    words.map_or(AbstractValue::Any, AbstractValue::OneOf)
}
