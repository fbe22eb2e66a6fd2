//! Budget files: TOML with a table `[conditions]` and one table `[[kernel]]` per row.
//!
//! A row limits figures of the kernels whose name it has or fits, such as `bound = 1200` with a tolerance of `2 %`.
//! Positions of all numbers are kept, because a failed check points at the line of its limit.

use std::collections::BTreeMap;
use std::ops::Range;

use toml_edit::{Document, Item, Table, Value};
use warpbound_base::{Diagnostic, Named, Sm};
use warpbound_load::Isa;

use warpbound_query::CacheState;

/// Figure that a budget limits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum BudgetFigure {
    /// Bound of the instructions of a warp.
    Bound,
    /// Bound of the cycles of a warp that runs alone.
    Cycles,
    /// Registers of a thread.
    Registers,
    /// Scalar registers of a wave.
    ScalarRegisters,
    /// Instructions that load or store local memory.
    Spills,
    /// Bytes of static shared memory.
    Shared,
    /// Bytes of local memory of a thread.
    Local,
    /// Minimum number of resident warps.
    Occupancy,
    /// Bytes of code.
    CodeBytes,
}

impl Named for BudgetFigure {
    const ALL: &'static [(BudgetFigure, &'static str)] = &[
        (BudgetFigure::Bound, "bound"),
        (BudgetFigure::Cycles, "cycles"),
        (BudgetFigure::Registers, "registers"),
        (BudgetFigure::ScalarRegisters, "scalar_registers"),
        (BudgetFigure::Spills, "spills"),
        (BudgetFigure::Shared, "shared"),
        (BudgetFigure::Local, "local"),
        (BudgetFigure::Occupancy, "occupancy"),
        (BudgetFigure::CodeBytes, "code_bytes"),
    ];
}

impl BudgetFigure {
    /// Whether the budget is a minimum, as for occupancy.
    pub fn is_least(self) -> bool {
        self == BudgetFigure::Occupancy
    }

    /// Whether the tolerance applies. Numbers of registers, warps and bytes of memory are exact.
    pub fn is_tolerant(self) -> bool {
        matches!(
            self,
            BudgetFigure::Bound | BudgetFigure::Cycles | BudgetFigure::CodeBytes
        )
    }

    /// Unit in reports.
    pub fn unit(self) -> &'static str {
        match self {
            BudgetFigure::Bound | BudgetFigure::Spills => "instructions",
            BudgetFigure::Cycles => "cycles",
            BudgetFigure::Registers | BudgetFigure::ScalarRegisters => "registers",
            BudgetFigure::Shared | BudgetFigure::Local | BudgetFigure::CodeBytes => "bytes",
            BudgetFigure::Occupancy => "warps",
        }
    }
}

/// Tolerance in hundredths of a percent.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub struct Tolerance(pub u32);

impl Tolerance {
    /// Largest tolerance: 100 %.
    const MOST: f64 = 100.0;

    /// Returns the largest number that a limit allows, rounded down. For example, 149 with a tolerance of 2 % allows
    /// 151.
    pub fn applied(self, limit: u64) -> u128 {
        // In 128 bits, because a limit of 64 bits with a tolerance may need more.
        let more = u128::from(limit) * u128::from(self.0) / 10_000;
        u128::from(limit) + more
    }

    /// Parses `2 %`, `0.5%`.
    fn parse(text: &str) -> Option<Tolerance> {
        let number = text.trim().strip_suffix('%')?.trim();
        let percent: f64 = number.parse().ok()?;
        let is_valid = (0.0..=Tolerance::MOST).contains(&percent);
        // NaN is in no range. The number is at most 10,000, so the cast loses nothing.
        is_valid.then_some(Tolerance((percent * 100.0).round() as u32))
    }
}

/// Conditions under which bounds and occupancies of a budget are computed.
#[derive(Clone, Default, Debug)]
pub struct BudgetConditions {
    /// Architecture of the kernels; `None` for all supported ones.
    pub arch: Option<Isa>,
    /// Iteration bound of loops without a derived bound.
    pub loop_default: Option<u64>,
    /// Threads of the blocks.
    pub block: Option<[u32; 3]>,
    /// Machine of the cycles: a file in the folder of the budget, or the name of a built-in machine.
    pub machine: Option<String>,
    /// Second-level cache at the start.
    pub caches: Option<CacheState>,
    /// Facts file in the folder of the budget.
    pub facts: Option<String>,
    /// Tolerance of rows that state none.
    pub tolerance: Tolerance,
    /// Whether each kernel must have a row.
    pub deny_uncovered: bool,
}

/// Limit of a figure, with its line in the budget.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BudgetLimit {
    /// Number.
    pub number: u64,
    /// Line in the file, from 1.
    pub line: usize,
}

/// Row of a budget.
#[derive(Clone, Debug)]
pub struct BudgetRow {
    /// Line of its head, from 1.
    pub line: usize,
    /// Name: a symbol, a demangled name, or a pattern, where `*` stands for any text and `?` for one character.
    pub kernel: String,
    /// Architecture; `None` for any.
    pub arch: Option<Isa>,
    /// Whether it may match no kernel.
    pub optional: bool,
    /// Limits.
    pub limits: BTreeMap<BudgetFigure, BudgetLimit>,
    /// Names of the allowed assumptions of bounds, with the line.
    pub assumptions: Option<(Vec<String>, usize)>,
    /// Tolerance.
    pub tolerance: Tolerance,
}

impl BudgetRow {
    /// Whether it is for kernels of an architecture.
    pub fn is_for(&self, isa: Isa) -> bool {
        self.arch.is_none_or(|own| own == isa)
    }

    /// Whether its name is a pattern.
    pub fn is_pattern(&self) -> bool {
        self.kernel.contains(['*', '?'])
    }
}

/// Budget file.
#[derive(Clone, Debug)]
pub struct Budget {
    /// Name in messages.
    pub file: String,
    /// Conditions.
    pub conditions: BudgetConditions,
    /// Rows in the order of the file.
    pub rows: Vec<BudgetRow>,
    /// Text of the file.
    pub(super) text: String,
}

/// Keys of `[conditions]`.
const CONDITIONS: [&str; 8] = [
    "arch",
    "loop_default",
    "block",
    "machine",
    "caches",
    "facts",
    "tolerance",
    "uncovered",
];

impl Budget {
    /// Parses a budget.
    ///
    /// # Errors
    ///
    /// The text is not TOML, or a key or value does not belong in a budget; the diagnostic names the line.
    pub fn parse(file: &str, text: &str) -> Result<Budget, Diagnostic> {
        let parser = BudgetParser::new(file, text);
        let document = Document::parse(text).map_err(|error| {
            // The parser's messages have several lines, and a diagnostic has one.
            let at = error.span().map_or(0, |span| span.start);
            parser.fail(at, error.message().replace(char::is_control, " "))
        })?;
        let mut conditions = BudgetConditions::default();
        let mut rows = Vec::new();
        for (key, item) in document.iter() {
            match (key, item) {
                ("conditions", Item::Table(table)) => conditions = parser.conditions(table)?,
                // Rows are parsed below, because the conditions with their default tolerance may follow them.
                ("kernel", Item::ArrayOfTables(_)) => {}
                _ => {
                    let at = span(item.span());
                    let error = parser.fail(at, format!("{key:?} is no key of a budget"));
                    return Err(error.hint("a budget has [conditions] and [[kernel]]"));
                }
            }
        }
        if let Some(Item::ArrayOfTables(tables)) = document.get("kernel") {
            for table in tables {
                rows.push(parser.row(table, conditions.tolerance)?);
            }
        }
        Ok(Budget {
            file: file.to_owned(),
            conditions,
            rows,
            text: text.to_owned(),
        })
    }
}

/// Returns where a value begins.
fn span(span: Option<Range<usize>>) -> usize {
    span.map_or(0, |span| span.start)
}

/// Parser of the tables of a budget.
struct BudgetParser<'a> {
    file: &'a str,
    /// Positions of the ends of lines, ascending, for a binary search: each value of each row needs its line.
    line_ends: Vec<usize>,
}

impl BudgetParser<'_> {
    fn new<'a>(file: &'a str, text: &str) -> BudgetParser<'a> {
        let ends = text.bytes().enumerate();
        let ends = ends.filter_map(|(at, byte)| (byte == b'\n').then_some(at));
        BudgetParser {
            file,
            line_ends: ends.collect(),
        }
    }

    /// Returns the line of a byte, from 1.
    fn line(&self, at: usize) -> usize {
        // The byte of a line end belongs to the line that it ends.
        self.line_ends.partition_point(|&end| end < at) + 1
    }

    fn fail(&self, at: usize, message: String) -> Diagnostic {
        let line = self.line(at);
        Diagnostic::new(message)
            .at(format_args!("line {line}"))
            .in_file(self.file)
    }

    fn conditions(&self, table: &Table) -> Result<BudgetConditions, Diagnostic> {
        let mut conditions = BudgetConditions::default();
        for (key, item) in table {
            match key {
                "arch" => conditions.arch = Some(self.isa(key, item)?),
                "loop_default" => conditions.loop_default = Some(self.number(key, item)?),
                "block" => conditions.block = Some(self.block(key, item)?),
                "machine" => conditions.machine = Some(self.text_of(key, item)?.to_owned()),
                "caches" => {
                    let name = self.text_of(key, item)?;
                    let known = CacheState::ALL.iter().find(|(_, known)| *known == name);
                    let wrong = || self.wrong(key, item, "any, warm or cold");
                    conditions.caches = Some(known.ok_or_else(wrong)?.0);
                }
                "facts" => conditions.facts = Some(self.text_of(key, item)?.to_owned()),
                "tolerance" => conditions.tolerance = self.tolerance(key, item)?,
                "uncovered" => {
                    conditions.deny_uncovered = match self.text_of(key, item)? {
                        "allow" => false,
                        "deny" => true,
                        _ => return Err(self.wrong(key, item, "allow or deny")),
                    };
                }
                _ => return Err(self.unknown(key, item, &CONDITIONS)),
            }
        }
        Ok(conditions)
    }

    fn row(&self, table: &Table, tolerance: Tolerance) -> Result<BudgetRow, Diagnostic> {
        let at = span(table.span());
        let mut row = BudgetRow {
            line: self.line(at),
            kernel: String::new(),
            arch: None,
            optional: false,
            limits: BTreeMap::new(),
            assumptions: None,
            tolerance,
        };
        for (key, item) in table {
            match key {
                "name" => row.kernel = self.text_of(key, item)?.to_owned(),
                "arch" => row.arch = Some(self.isa(key, item)?),
                "optional" => {
                    let wrong = || self.wrong(key, item, "true or false");
                    row.optional = item.as_bool().ok_or_else(wrong)?;
                }
                "tolerance" => row.tolerance = self.tolerance(key, item)?,
                "assumptions" => {
                    row.assumptions = Some((self.names(key, item)?, self.line(span(item.span()))));
                }
                _ => {
                    let figure = BudgetFigure::ALL.iter().find(|(_, name)| *name == key);
                    let Some((figure, _)) = figure else {
                        let mut keys = vec!["name", "arch", "optional", "tolerance", "assumptions"];
                        keys.extend(BudgetFigure::ALL.iter().map(|(_, name)| *name));
                        return Err(self.unknown(key, item, &keys));
                    };
                    let limit = BudgetLimit {
                        number: self.number(key, item)?,
                        line: self.line(span(item.span())),
                    };
                    row.limits.insert(*figure, limit);
                }
            }
        }
        match row.kernel.is_empty() {
            false => Ok(row),
            true => Err(self.fail(at, "the row has no name".to_owned())),
        }
    }

    fn unknown(&self, key: &str, item: &Item, known: &[&str]) -> Diagnostic {
        let error = self.fail(span(item.span()), format!("{key:?} is no key here"));
        error.hint(format!("there are {}", known.join(", ")))
    }

    fn wrong(&self, key: &str, item: &Item, wanted: &str) -> Diagnostic {
        self.fail(span(item.span()), format!("{key} must be {wanted}"))
    }

    fn text_of<'a>(&self, key: &str, item: &'a Item) -> Result<&'a str, Diagnostic> {
        item.as_str().ok_or_else(|| self.wrong(key, item, "a text"))
    }

    fn number(&self, key: &str, item: &Item) -> Result<u64, Diagnostic> {
        let number = item.as_integer().and_then(|n| u64::try_from(n).ok());
        number.ok_or_else(|| self.wrong(key, item, "a number that is not negative"))
    }

    fn isa(&self, key: &str, item: &Item) -> Result<Isa, Diagnostic> {
        let what = format!("an architecture, such as {} or gfx803", Sm::EXAMPLE);
        let wrong = || self.wrong(key, item, &what);
        self.text_of(key, item)?.parse().map_err(|_| wrong())
    }

    fn tolerance(&self, key: &str, item: &Item) -> Result<Tolerance, Diagnostic> {
        let wrong = || self.wrong(key, item, "a percentage from \"0 %\" to \"100 %\"");
        Tolerance::parse(self.text_of(key, item)?).ok_or_else(wrong)
    }

    fn names(&self, key: &str, item: &Item) -> Result<Vec<String>, Diagnostic> {
        let wrong = || self.wrong(key, item, "a list of names");
        let values = item.as_array().ok_or_else(wrong)?.iter();
        let names = values.map(|value| value.as_str().map(str::to_owned));
        names.collect::<Option<_>>().ok_or_else(wrong)
    }

    fn block(&self, key: &str, item: &Item) -> Result<[u32; 3], Diagnostic> {
        let number = |value: &Value| {
            let number = value.as_integer().and_then(|n| u32::try_from(n).ok());
            number.filter(|&n| n > 0)
        };
        let numbers = item.as_array().map(|array| {
            let numbers: Option<Vec<u32>> = array.iter().map(number).collect();
            // One wrong value makes the list empty, and an empty list is refused below.
            numbers.unwrap_or_default()
        });
        match numbers.as_deref() {
            Some(&[x]) => Ok([x, 1, 1]),
            Some(&[x, y]) => Ok([x, y, 1]),
            Some(&[x, y, z]) => Ok([x, y, z]),
            _ => Err(self.wrong(key, item, "a list of one to three positive numbers")),
        }
    }
}

/// Whether a name fits a pattern, where `*` stands for any text and `?` for one character. For example, `a*c` fits
/// `abbc` but not `abcd`.
pub(super) fn fits(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) =
        (pattern.chars().collect(), name.chars().collect());
    let (mut p, mut n) = (0, 0);
    // Last star, and the end of the text that it stands for. Earlier stars need no second try: text that one of them
    // could take in addition, the last one can take too.
    let mut star = None;
    while let Some(&own) = name.get(n) {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p, n));
                p += 1;
            }
            Some(&wanted) if wanted == '?' || wanted == own => (p, n) = (p + 1, n + 1),
            _ => match star {
                Some((at, end)) => {
                    star = Some((at, end + 1));
                    (p, n) = (at + 1, end + 1);
                }
                None => return false,
            },
        }
    }
    // The name is consumed, so only stars, which may stand for no text, can remain.
    pattern.iter().skip(p).all(|&c| c == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_fit_whole_names() {
        for (pattern, name, expected) in [
            ("*", "", true),
            ("a*c", "abbc", true),
            ("a*c", "abcd", false),
            ("a?c", "abc", true),
            ("a?c", "ac", false),
            ("*gemm*", "void gemm<int>(float*)", true),
            ("*ab*ab", "abab", true),
            ("*ab*ab", "ababa", false),
            ("operator[]", "operator[]", true),
            ("f(float**)", "f(float**)", true),
            ("größ?", "größe", true),
        ] {
            assert_eq!(fits(pattern, name), expected, "{pattern} {name}");
        }
        // Linear in the number of stars, not exponential.
        let pattern = "*a".repeat(40);
        assert!(!fits(&pattern, &"a".repeat(39)));
    }

    #[test]
    fn tolerances_are_exact() {
        let parsed = |text| Tolerance::parse(text).map(|tolerance| tolerance.0);
        assert_eq!(parsed("2 %"), Some(200));
        assert_eq!(parsed("0.25%"), Some(25));
        for wrong in ["2", "-1 %", "101 %", "NaN %", "", "%"] {
            assert_eq!(parsed(wrong), None, "{wrong}");
        }
        assert_eq!(Tolerance(200).applied(149), 151);
        assert_eq!(Tolerance(0).applied(u64::MAX), u64::MAX.into());
        assert_eq!(
            Tolerance(10_000).applied(u64::MAX),
            2 * u128::from(u64::MAX)
        );
    }
}
