//! Text of an operation with its cells and constants marked, so that a reader can replace them.

use warpbound_ir::{
    Cell, Code, Expr, FurtherTest, MatrixRegisters, Meaning, Op, SurfaceOp, ValueDependence,
};
use warpbound_isa::SpecialReg;

/// Part of the text of an operation.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Piece {
    /// Text that the operation fixes.
    Text(String),
    /// Cell that is written, by its position among those written.
    Dest(usize, Cell),
    /// Cell that is read.
    Use(Cell),
}

/// Text of an operation in pieces, with everything else that its value rests on.
#[derive(Clone, Default, Debug)]
pub(super) struct Operands {
    pub(super) pieces: Vec<Piece>,
    /// Whether it reads a constant bank that host programs may write, or the address of a variable.
    pub(super) reads_module_data: bool,
    /// Whether it reads literals that the loader changes.
    pub(super) reads_unknown_literals: bool,
    /// Whether it reads a special register that changes during a run, or an unknown one.
    pub(super) reads_changing_special: bool,
}

impl Operands {
    /// Text of the effect of an operation on data, without its condition; `None` if the effect is unknown.
    pub(super) fn of_op(code: &Code, op: &Op) -> Option<Operands> {
        match (&op.meaning, special(op)) {
            (Some(meaning), _) => Some(Operands::of_meaning(code, meaning)),
            (None, Some((dest, value))) => {
                let mut found = Operands::default();
                found.pieces.push(Piece::Dest(0, dest));
                found.text(" = ");
                found.add_uses(code, &value);
                Some(found)
            }
            (None, None) => None,
        }
    }

    /// Text of the address of an access after a text for its kind; `None` if the operation is not a load, store or
    /// atomic operation at an address.
    pub(super) fn of_address(code: &Code, op: &Op, kind: &str) -> Option<Operands> {
        let address = match op.meaning.as_ref()? {
            Meaning::Load { address, .. }
            | Meaning::Store { address, .. }
            | Meaning::Atomic { address, .. } => address,
            _ => return None,
        };
        let mut found = Operands::default();
        found.text(kind);
        found.add_uses(code, &address.to_string());
        Some(found)
    }

    /// Text with the kind of each cell instead of its name. For example, `R3` and `R7` both become `R`.
    pub(super) fn without_cells(&self) -> String {
        let text = |piece: &Piece| match piece {
            Piece::Text(part) => part.clone(),
            Piece::Dest(_, cell) | Piece::Use(cell) => {
                if cell.is_predicate() { "P" } else { "R" }.to_owned()
            }
        };
        self.pieces.iter().map(text).collect()
    }

    /// Text of the value that an unguarded operation assigns to a cell; `None` for loads and other effects.
    pub(super) fn of_value(code: &Code, op: &Op, cell: Cell) -> Option<Operands> {
        let text = match (&op.meaning, special(op)) {
            (Some(meaning), _) => meaning.value_of(cell)?.to_string(),
            (None, found) => found?.1,
        };
        let mut found = Operands::default();
        found.add_uses(code, &text);
        Some(found)
    }

    /// Text of the meaning of an operation, without its condition.
    fn of_meaning(code: &Code, meaning: &Meaning) -> Operands {
        let mut found = Operands::default();
        match meaning {
            Meaning::Set(assignments) => {
                for (number, (dest, value)) in assignments.iter().enumerate() {
                    found.pieces.push(Piece::Dest(number, *dest));
                    found.text(" = ");
                    found.add_uses(code, &value.to_string());
                    found.text("; ");
                }
            }
            _ => {
                let text = meaning.to_string();
                // Only the texts of these meanings name the results before the first sign of equality.
                let split = text.split_once(" = ").filter(|_| has_dests(meaning));
                if let Some((dests, rest)) = split {
                    found.add_dests(dests);
                    found.text(" = ");
                    found.add_uses(code, rest);
                } else {
                    found.add_uses(code, &text);
                }
            }
        }
        found
    }

    /// Cells that are read, in the order of the text.
    pub(super) fn uses(&self) -> impl Iterator<Item = Cell> + '_ {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Use(cell) => Some(*cell),
            _ => None,
        })
    }

    /// Position of a cell among those written.
    pub(super) fn dest(&self, cell: Cell) -> Option<usize> {
        self.pieces.iter().find_map(|piece| match piece {
            Piece::Dest(number, dest) if *dest == cell => Some(*number),
            _ => None,
        })
    }

    fn text(&mut self, text: &str) {
        match self.pieces.last_mut() {
            Some(Piece::Text(last)) => last.push_str(text),
            _ => self.pieces.push(Piece::Text(text.to_owned())),
        }
    }

    fn add_dests(&mut self, text: &str) {
        let mut number = 0;
        for token in tokens(text) {
            match cell_of(token) {
                Some(cell) => {
                    self.pieces.push(Piece::Dest(number, cell));
                    number += 1;
                }
                None => self.text(token),
            }
        }
    }

    fn add_uses(&mut self, code: &Code, text: &str) {
        let mut rest = text;
        while let Some(token) = tokens(rest).next() {
            rest = rest.get(token.len()..).unwrap_or_default();
            if token == "c"
                && let Some((bank, after)) = bank_of(rest)
            {
                rest = self.add_constant(code, bank, after);
                continue;
            }
            if let Some(name) = token.strip_prefix("special.") {
                self.reads_changing_special |= !is_fixed(name);
            }
            match cell_of(token) {
                Some(cell) => self.pieces.push(Piece::Use(cell)),
                None => self.text(token),
            }
        }
    }

    /// Adds a word of a constant bank. `after` is the text after `c[BANK][`. Returns the text after the part that was
    /// added.
    fn add_constant<'t>(&mut self, code: &Code, bank: u8, after: &'t str) -> &'t str {
        let fixed = after.split_once(']').and_then(|(address, rest)| {
            let digits = address.strip_prefix("0x")?;
            Some((u64::from_str_radix(digits, 16).ok()?, rest))
        });
        let banks = code.family.facts().constant_banks;
        // The launch fills this bank with block, grid and parameters, so the module does not decide its words.
        let is_of_launch = banks.is_some_and(|banks| bank == banks.launch);
        // The binary fixes the words of this bank only.
        let is_literal = banks.is_some_and(|banks| bank == banks.literals);
        let Some((offset, rest)) = fixed else {
            match is_literal {
                true => self.add_literals(code, bank),
                false => self.reads_module_data |= !is_of_launch,
            }
            self.text(&format!("c[{bank}]["));
            return after;
        };
        let address = usize::try_from(offset / 4).ok();
        let word = address.and_then(|at| code.address_words.get(at));
        match (bank, word, code.constant(bank, offset)) {
            // The loader chooses the address, so the symbol stands for it.
            (Code::ADDRESS_BANK, Some(word), _) => {
                self.reads_module_data = true;
                self.text(&format!(
                    "address({:?} {:?} {})",
                    word.half, word.symbol, word.addend
                ));
            }
            // Literals move when others are added, so their values count instead of their addresses.
            (_, _, Some(value)) if is_literal => self.text(&Expr::Const(value).to_string()),
            _ => {
                self.reads_unknown_literals |= is_literal;
                self.reads_module_data |= !is_of_launch;
                self.text(&format!("c[{bank}][{offset}]"));
            }
        }
        rest
    }

    /// Adds all literals, because one of them is read at an address that is not fixed.
    fn add_literals(&mut self, code: &Code, bank: u8) {
        match code.constants.iter().find(|(number, _)| *number == bank) {
            Some((_, bytes)) => self.text(&format!("literals({bytes:?})")),
            None => self.reads_unknown_literals = true,
        }
    }
}

/// Whether the effect of an operation on data is unknown.
pub(super) fn is_unknown(op: &Op) -> bool {
    op.meaning.is_none() && special(op).is_none()
}

/// Cell that an operation without a meaning writes, and the text of the special register that it reads.
fn special(op: &Op) -> Option<(Cell, String)> {
    match (op.value, op.writes.as_slice()) {
        (ValueDependence::Special(register), [dest]) => {
            Some((*dest, format!("special.{register}")))
        }
        _ => None,
    }
}

/// Text of the condition of an operation; its cells are in [`warpbound_ir::ExecCondition::cells`].
pub(super) fn condition_text(op: &Op) -> String {
    let condition = op.condition;
    let not = if condition.negated { "not " } else { "" };
    let guard = if condition.guard.is_some() {
        "guard"
    } else {
        "true"
    };
    let further = match condition.further {
        Some(FurtherTest::Predicate { negated: true, .. }) => " and not another",
        Some(FurtherTest::Predicate { .. }) => " and another",
        Some(FurtherTest::Group) => " and a property of the group",
        None => "",
    };
    match condition.tests_cc() {
        true => format!("if {not}{guard} and cc {}{further}", condition.cc_test.0),
        false => format!("if {not}{guard}{further}"),
    }
}

/// Whether the text of a meaning begins with the cells that it writes.
fn has_dests(meaning: &Meaning) -> bool {
    match meaning {
        Meaning::Load { dests, .. } => !dests.is_empty(),
        Meaning::Atomic { dests, .. } => !dests.is_empty(),
        Meaning::TextureSize { dests, .. } => !dests.is_empty(),
        Meaning::Texture(read) => !read.dests.is_empty(),
        Meaning::Surface(access) => {
            matches!(&access.op, SurfaceOp::Load(dests) if !dests.is_empty())
        }
        Meaning::Shuffle { .. }
        | Meaning::Vote { .. }
        | Meaning::Reduce { .. }
        | Meaning::Match { .. }
        | Meaning::FirstLane { .. }
        | Meaning::MatrixProduct(_)
        | Meaning::MatrixTranspose(_)
        | Meaning::BarrierResult { .. } => true,
        Meaning::MatrixAccess(access) => matches!(access.registers, MatrixRegisters::Load(_)),
        Meaning::Set(_)
        | Meaning::Store { .. }
        | Meaning::MemoryCopy(_)
        | Meaning::Barrier { .. }
        | Meaning::Meet(_)
        | Meaning::Part
        | Meaning::Ask(_)
        | Meaning::AnyLane(_)
        | Meaning::Trap => false,
    }
}

/// Whether a special register, by its name, keeps its value during the run of a thread.
fn is_fixed(name: &str) -> bool {
    match SpecialReg::named(name) {
        Some(
            SpecialReg::LaneId
            | SpecialReg::ThreadIndex(_)
            | SpecialReg::BlockIndex(_)
            | SpecialReg::BlockSize
            | SpecialReg::SharedSize
            | SpecialReg::StackLimit
            | SpecialReg::BlockInCluster
            | SpecialReg::SharedWindowHigh
            | SpecialReg::LanesEqual
            | SpecialReg::LanesBelow
            | SpecialReg::LanesUpTo
            | SpecialReg::LanesAbove
            | SpecialReg::LanesFrom,
        ) => true,
        // Clocks change, and nothing is known of other registers.
        Some(_) | None => false,
    }
}

/// Splits text into words (letters, digits, `.` and `_`) and single other characters.
fn tokens(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
        let first = rest.chars().next()?;
        let length = match is_word(first) {
            true => rest.find(|c| !is_word(c)).unwrap_or(rest.len()),
            false => first.len_utf8(),
        };
        let (token, after) = rest.split_at(length);
        rest = after;
        Some(token)
    })
}

/// Bank number at the beginning of `[BANK][…`, and the text after it.
fn bank_of(text: &str) -> Option<(u8, &str)> {
    let (bank, rest) = text.strip_prefix('[')?.split_once("][")?;
    Some((bank.parse().ok()?, rest))
}

/// Cell of a lane with this name. Registers of the warp are left out: no operation of the code writes them.
fn cell_of(token: &str) -> Option<Cell> {
    if token == "CC" {
        return Some(Cell::CC);
    }
    let number = |digits: &str| digits.parse::<u8>().ok();
    let cell = match (token.strip_prefix('R'), token.strip_prefix('P')) {
        (Some(digits), _) => Cell::gpr(number(digits)?),
        (None, Some(digits)) => Cell::pred(number(digits)?),
        (None, None) => return None,
    };
    // Another spelling of the number, for example `R07`, is no cell.
    (cell.to_string() == token).then_some(cell)
}
