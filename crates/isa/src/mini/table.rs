//! Instruction and operator tables: `isa/mini-simt/instructions.tsv` and `operators.tsv`. A row states mnemonic,
//! alias, syntax, control flow, and whether the result comes from memory. For example, `jmp` and `jump` are two names
//! of one row.

use std::sync::OnceLock;

use warpbound_base::Diagnostic;

static INSTRUCTIONS: &str = include_str!("../../../../isa/mini-simt/instructions.tsv");
static OPERATORS: &str = include_str!("../../../../isa/mini-simt/operators.tsv");

/// One element of an instruction's syntax.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SyntaxItem {
    /// A variable that is written.
    Write,
    /// A number, a variable or `Tid`.
    Read,
    /// The variable that decides a branch.
    Branch,
    /// The label that a branch targets.
    Label,
    /// An operator of `operators.tsv`.
    Operator,
    /// Literal text.
    Text(&'static str),
}

/// Control-flow kind of an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FlowKind {
    /// Falls through to the next instruction.
    Next,
    /// Jumps to the label in all lanes.
    Jump,
    /// Branches to the label in lanes whose branch variable is zero.
    IfZero,
    /// Branches to the label in lanes whose branch variable is not zero.
    IfNotZero,
    /// Reconverges lanes that diverged at a branch.
    Sync,
    /// Waits for other warps of the block.
    Barrier,
}

/// Operation of `binop`; its meaning is defined in `ir`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "self-explanatory names")]
pub enum Operation {
    Add,
    Sub,
    Mul,
    Div,
    Rem,
    And,
    Or,
    Xor,
    Shl,
    Shr,
    Lt,
    Le,
    Gt,
    Ge,
    Eq,
    Ne,
    Min,
    Max,
}

/// Row of the instruction table.
#[derive(Clone, Debug)]
pub struct Row {
    /// Mnemonic as programs are printed.
    pub mnemonic: &'static str,
    /// Alternative mnemonic that the parser accepts.
    pub(crate) alias: Option<&'static str>,
    pub(crate) syntax: Vec<SyntaxItem>,
    /// Control flow.
    pub flow: FlowKind,
    /// Whether the written value is loaded from memory.
    pub loads: bool,
}

/// Tables of all instructions and operators.
#[derive(Debug)]
pub struct Table {
    /// Instructions, in the order of the file.
    pub rows: Vec<Row>,
    /// Operators: spelling and operation.
    pub operators: Vec<(&'static str, Operation)>,
}

impl Table {
    /// Index of the row with a mnemonic or alias.
    pub(crate) fn find(&self, mnemonic: &str) -> Option<usize> {
        self.rows
            .iter()
            .position(|row| row.mnemonic == mnemonic || row.alias == Some(mnemonic))
    }

    /// Operation with a spelling.
    pub(crate) fn operation(&self, spelling: &str) -> Option<Operation> {
        let (_, operation) = self.operators.iter().find(|(s, _)| *s == spelling)?;
        Some(*operation)
    }

    /// Spelling of an operation.
    pub(crate) fn spelling(&self, operation: Operation) -> &'static str {
        let found = self.operators.iter().find(|(_, o)| *o == operation);
        found.map_or("?", |(spelling, _)| spelling)
    }
}

/// Returns the table, which is parsed on first use.
///
/// # Errors
///
/// Names the line of the table that cannot be read.
pub fn table() -> Result<&'static Table, Diagnostic> {
    static TABLE: OnceLock<Result<Table, String>> = OnceLock::new();
    TABLE
        .get_or_init(parse)
        .as_ref()
        .map_err(|error| Diagnostic::new(format!("instruction table: {error}")))
}

fn parse() -> Result<Table, String> {
    Ok(Table {
        rows: parse_lines(INSTRUCTIONS, parse_row)?,
        operators: parse_lines(OPERATORS, parse_operator)?,
    })
}

fn parse_lines<T>(
    text: &'static str,
    read: impl Fn(&'static str) -> Option<T>,
) -> Result<Vec<T>, String> {
    text.lines()
        .filter(|line| !line.is_empty() && !line.starts_with("# "))
        .map(|line| read(line).ok_or_else(|| format!("cannot read {line:?}")))
        .collect()
}

fn parse_row(line: &'static str) -> Option<Row> {
    let mut columns = line.split('\t');
    let mut column = || columns.next();
    let mnemonic = column()?;
    let also = column().filter(|&name| name != "-");
    let syntax = column()?;
    let row = Row {
        mnemonic,
        alias: also,
        syntax: match syntax {
            "-" => Vec::new(),
            syntax => syntax.split(' ').map(parse_syntax_item).collect(),
        },
        flow: match column()? {
            "next" => FlowKind::Next,
            "jump" => FlowKind::Jump,
            "if-zero" => FlowKind::IfZero,
            "if-not-zero" => FlowKind::IfNotZero,
            "sync" => FlowKind::Sync,
            "barrier" => FlowKind::Barrier,
            _ => return None,
        },
        loads: match column()? {
            "memory" => true,
            "function" | "-" => false,
            _ => return None,
        },
    };
    // A further column would be a mistake in the file.
    columns.next().is_none().then_some(row)
}

fn parse_syntax_item(word: &'static str) -> SyntaxItem {
    match word {
        "write" => SyntaxItem::Write,
        "read" => SyntaxItem::Read,
        "branch" => SyntaxItem::Branch,
        "label" => SyntaxItem::Label,
        "operator" => SyntaxItem::Operator,
        // Anything else is literal text, such as `=` and commas.
        text => SyntaxItem::Text(text),
    }
}

fn parse_operator(line: &'static str) -> Option<(&'static str, Operation)> {
    let (spelling, operation) = line.split_once('\t')?;
    let operation = match operation {
        "add" => Operation::Add,
        "sub" => Operation::Sub,
        "mul" => Operation::Mul,
        "div" => Operation::Div,
        "rem" => Operation::Rem,
        "and" => Operation::And,
        "or" => Operation::Or,
        "xor" => Operation::Xor,
        "shl" => Operation::Shl,
        "shr" => Operation::Shr,
        "lt" => Operation::Lt,
        "le" => Operation::Le,
        "gt" => Operation::Gt,
        "ge" => Operation::Ge,
        "eq" => Operation::Eq,
        "ne" => Operation::Ne,
        "min" => Operation::Min,
        "max" => Operation::Max,
        _ => return None,
    };
    Some((spelling, operation))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_can_be_read() {
        let table = table().unwrap();
        assert_eq!(table.rows.len(), 9);
        assert_eq!(table.operators.len(), 18);
        assert_eq!(table.find("jmp"), table.find("jump"));
    }
}
