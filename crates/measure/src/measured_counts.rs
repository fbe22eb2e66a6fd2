//! Counts of instructions that were measured elsewhere: files of other tools, and of our own runs. For example, a
//! source page of Nsight Compute says how often each instruction was issued on a GPU, and [`audit_counts`] checks
//! whether any run of the kernel can have these counts.

pub mod audit;
pub(crate) mod feasibility;
mod matching;

use std::path::Path;
use warpbound_base::Diagnostic;
use warpbound_ir::OpIndex;
use warpbound_simulate::functional::Counts;

use warpbound_query::{Prepared, input};

pub use audit::CountsAuditOptions;
pub use audit::audit_counts;
pub use warpbound_report::CountsAuditReport;

/// Tool that wrote a file of counts; its columns say which.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CountsSource {
    /// `warpbound run --functional --counts`.
    Own,
    /// Source page of Nsight Compute (`ncu --page source --csv`).
    NsightCompute,
    /// Fields of CUPTI's records of executed instructions (`CUpti_ActivityInstructionExecution`).
    Cupti,
    /// Counts of another tool, such as one made with NVBit: address or offset, warp-level and thread-level counts.
    Other,
}

impl CountsSource {
    /// Name in reports.
    pub fn name(self) -> &'static str {
        match self {
            CountsSource::Own => "warpbound",
            CountsSource::NsightCompute => "Nsight Compute",
            CountsSource::Cupti => "CUPTI",
            CountsSource::Other => "counts by address",
        }
    }

    /// Whether the tool also lists instructions that were never executed.
    fn lists_all(self) -> bool {
        matches!(self, CountsSource::Own | CountsSource::NsightCompute)
    }
}

/// Counts of the instructions of a kernel, from a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MeasuredCounts {
    /// Name of the file, for messages.
    pub file: String,
    /// Name of the kernel, if the file has it.
    pub kernel: Option<String>,
    /// Tool that wrote the file.
    pub source: CountsSource,
    /// Instructions in the order of the file.
    pub rows: Vec<MeasuredRow>,
}

/// Counts of an instruction, summed over the warps of a launch. A count that the file does not have is absent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MeasuredRow {
    /// Line in the file, from 1.
    pub line: usize,
    /// Address or offset.
    pub address: u64,
    /// Text of the instruction.
    pub text: Option<String>,
    /// Issues by a warp.
    pub issues: Option<u64>,
    /// Active lanes, summed over these issues.
    pub lanes: Option<u64>,
    /// Active lanes where the guard held.
    pub executed: Option<u64>,
}

/// Column of a file of counts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Column {
    Address,
    Text,
    Issues,
    Lanes,
    Executed,
}

/// Names of columns in lower case, each with the tool that writes it if only one does.
const COLUMNS: &[(&str, Column, Option<CountsSource>)] = &[
    ("address", Column::Address, None),
    ("offset", Column::Address, None),
    ("pc", Column::Address, None),
    ("pcoffset", Column::Address, Some(CountsSource::Cupti)),
    ("instruction", Column::Text, None),
    ("source", Column::Text, None),
    ("sass", Column::Text, None),
    ("warps", Column::Issues, Some(CountsSource::Own)),
    (
        "instructions executed",
        Column::Issues,
        Some(CountsSource::NsightCompute),
    ),
    (
        "# instructions executed",
        Column::Issues,
        Some(CountsSource::NsightCompute),
    ),
    (
        "inst_executed",
        Column::Issues,
        Some(CountsSource::NsightCompute),
    ),
    ("executed", Column::Issues, Some(CountsSource::Cupti)),
    ("warp_count", Column::Issues, None),
    ("warp-level count", Column::Issues, None),
    ("threads", Column::Lanes, Some(CountsSource::Own)),
    (
        "thread instructions executed",
        Column::Lanes,
        Some(CountsSource::NsightCompute),
    ),
    (
        "thread_inst_executed",
        Column::Lanes,
        Some(CountsSource::NsightCompute),
    ),
    ("threadsexecuted", Column::Lanes, Some(CountsSource::Cupti)),
    ("thread_count", Column::Lanes, None),
    ("thread-level count", Column::Lanes, None),
    (
        "executing_threads",
        Column::Executed,
        Some(CountsSource::Own),
    ),
    (
        "predicated-on thread instructions executed",
        Column::Executed,
        Some(CountsSource::NsightCompute),
    ),
    (
        "thread_inst_executed_true",
        Column::Executed,
        Some(CountsSource::NsightCompute),
    ),
    (
        "notpredoffthreadsexecuted",
        Column::Executed,
        Some(CountsSource::Cupti),
    ),
];

/// Header line of our own files.
const OWN_HEAD: &str = "address,instruction,warps,threads,executing_threads";

impl MeasuredCounts {
    /// Reads a file of counts.
    ///
    /// # Errors
    ///
    /// The file cannot be read or used.
    pub fn read(path: &Path) -> Result<MeasuredCounts, Diagnostic> {
        MeasuredCounts::parse(&path.display().to_string(), &input::text(path)?)
    }

    /// Reads a file of counts. The first line with an address column and a column of counts is the head of the table; a
    /// line `Kernel Name,NAME` before it names the kernel. `file` is the name in messages.
    ///
    /// # Errors
    ///
    /// There is no such head, a number is unreadable, or the table is empty or begins again (several kernels).
    pub fn parse(file: &str, text: &str) -> Result<MeasuredCounts, Diagnostic> {
        let mut table: Option<(Vec<Option<Column>>, CountsSource)> = None;
        let mut kernel = None;
        let mut rows = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.trim_end_matches('\r');
            if line.trim().is_empty() {
                continue;
            }
            let fail = |message: String| {
                let message = Diagnostic::new(message);
                message.at(format_args!("line {number}")).in_file(file)
            };
            let cells = cells(line);
            // Our own files begin with a comment. The name of a column may begin with the same character.
            let is_head = || cells.as_deref().is_some_and(|cells| head(cells).is_some());
            if line.starts_with('#') && !is_head() {
                continue;
            }
            let cells = cells.ok_or_else(|| fail("a quotation mark is missing".into()))?;
            let is_name = cells.first().is_some_and(|cell| cell == "Kernel Name");
            // Rows of a second launch would have the same addresses as the rows of the first, and could not be kept
            // apart.
            if is_name || (table.is_some() && head(&cells).is_some()) {
                if table.is_some() {
                    let message = "a second kernel or launch begins here".to_owned();
                    return Err(fail(message).hint("leave the rows of one launch in the file"));
                }
                kernel = cells.get(1).cloned();
                continue;
            }
            match &table {
                None => table = head(&cells),
                Some((columns, _)) => rows.push(row(number, columns, &cells).map_err(fail)?),
            }
        }
        let Some((_, source)) = table else {
            let message =
                "no head of a table of counts: a column `address` or `offset`, and one of counts";
            return Err(Diagnostic::new(message).in_file(file).hint(format!(
                "such as {OWN_HEAD}, or the columns of Nsight Compute"
            )));
        };
        if rows.is_empty() {
            return Err(Diagnostic::new("no counts after the head of the table").in_file(file));
        }
        Ok(MeasuredCounts {
            file: file.to_owned(),
            kernel,
            source,
            rows,
        })
    }

    /// Returns the name of the kernel without return type, arguments of templates and parameters: Nsight Compute
    /// spells these otherwise than other tools, as in `void f<(int)32>(T2 *)`. For example, this one gives `f`.
    pub fn bare_kernel(&self) -> Option<String> {
        let (mut bare, mut depth) = (String::new(), 0_u32);
        let name = self.kernel.as_deref()?;
        for c in name.strip_prefix("void ").unwrap_or(name).chars() {
            match c {
                '<' => depth += 1,
                // The name comes from a file, so it may close more brackets than it opens.
                '>' => depth = depth.saturating_sub(1),
                '(' if depth == 0 => break,
                c if depth == 0 => bare.push(c),
                _ => {}
            }
        }
        let bare = bare.trim();
        (!bare.is_empty()).then(|| bare.to_owned())
    }

    /// Returns the text of a file with the counts of a run.
    pub fn of_run(prepared: &Prepared<'_>, counts: &Counts) -> String {
        let mut out = format!(
            "# counted by the simulator of warpbound\nKernel Name,{}\n{OWN_HEAD}\n",
            quoted(&prepared.kernel.demangled())
        );
        for (at, op) in prepared.code.ops.iter().enumerate() {
            let count = |counts: &[u64]| counts.get(at).copied().unwrap_or(0);
            let text = prepared.program.text(at).unwrap_or_default();
            out.push_str(&format!(
                "{},{},{},{},{}\n",
                op.addr,
                quoted(&text),
                count(&counts.issues),
                count(&counts.active),
                count(&counts.executed)
            ));
        }
        out
    }
}

/// Returns the columns of a head and the tool that writes it; `None` if the cells are no head.
fn head(cells: &[String]) -> Option<(Vec<Option<Column>>, CountsSource)> {
    let known = |cell: &String| {
        let name = cell.trim().to_lowercase();
        COLUMNS.iter().find(|(known, ..)| *known == name)
    };
    let found: Vec<_> = cells.iter().map(known).collect();
    let mut columns: Vec<Option<Column>> = Vec::new();
    for one in &found {
        // Nsight Compute has some columns twice, with equal values; the second one is skipped.
        let column = one.map(|(_, column, _)| *column);
        let is_new = column.is_none_or(|column| !columns.contains(&Some(column)));
        columns.push(column.filter(|_| is_new));
    }
    let has = |column| columns.contains(&Some(column));
    let is_head = has(Column::Address) && (has(Column::Issues) || has(Column::Lanes));
    // The first column that only one tool writes decides; without one the file is from some other tool.
    let source = found.iter().flatten().find_map(|(_, _, source)| *source);
    is_head.then_some((columns, source.unwrap_or(CountsSource::Other)))
}

/// Reads a row of counts.
fn row(line: usize, columns: &[Option<Column>], cells: &[String]) -> Result<MeasuredRow, String> {
    let mut row = MeasuredRow {
        line,
        address: 0,
        text: None,
        issues: None,
        lanes: None,
        executed: None,
    };
    let mut has_address = false;
    for (column, cell) in columns.iter().zip(cells) {
        let cell = cell.trim();
        match column {
            None => {}
            Some(Column::Address) => {
                row.address = address(cell).ok_or_else(|| format!("no address: {cell}"))?;
                has_address = true;
            }
            Some(Column::Text) => row.text = Some(cell.to_owned()),
            Some(Column::Issues) => row.issues = Some(count(cell)?),
            Some(Column::Lanes) => row.lanes = Some(count(cell)?),
            Some(Column::Executed) => row.executed = Some(count(cell)?),
        }
    }
    // A short row may end before the column of addresses.
    match has_address {
        true => Ok(row),
        false => Err("the row has no address".to_owned()),
    }
}

/// Reads an address: hexadecimal with `0x`, or decimal.
fn address(cell: &str) -> Option<u64> {
    let hexadecimal = cell.strip_prefix("0x").or_else(|| cell.strip_prefix("0X"));
    match hexadecimal {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => cell.parse().ok(),
    }
}

/// Reads a count; commas may separate thousands, as in `116,224`.
fn count(cell: &str) -> Result<u64, String> {
    let digits: String = cell.chars().filter(|&c| c != ',').collect();
    digits.parse().map_err(|_| format!("no count: {cell}"))
}

/// Splits a line at commas outside quotation marks; `None` if a mark is missing. For example, `"a,b",1` has the cells
/// `a,b` and `1`.
fn cells(line: &str) -> Option<Vec<String>> {
    let mut cells = vec![String::new()];
    let mut is_quoted = false;
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            // Two marks in quoted text stand for one (RFC 4180).
            '"' if is_quoted && chars.peek() == Some(&'"') => {
                chars.next();
                cells.last_mut()?.push('"');
            }
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => cells.push(String::new()),
            c => cells.last_mut()?.push(c),
        }
    }
    (!is_quoted).then_some(cells)
}

/// Quotes a cell that has a comma, a quotation mark or a line break.
fn quoted(cell: &str) -> String {
    match cell.contains([',', '"', '\n']) {
        true => format!("\"{}\"", cell.replace('"', "\"\"")),
        false => cell.to_owned(),
    }
}

/// Counts by operation of a kernel. A count that the file does not have is absent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct OpCounts {
    /// Line in the file; `None` for an instruction that the file does not list.
    line: Option<usize>,
    issues: Option<u64>,
    lanes: Option<u64>,
    executed: Option<u64>,
}

/// Counts of all operations of a kernel, in order.
pub(crate) struct MatchedCounts {
    ops: Vec<OpCounts>,
}

impl MatchedCounts {
    fn at(&self, at: OpIndex) -> OpCounts {
        self.ops.get(at.index()).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The head is the beginning of one that Nsight Compute wrote (`--page source --csv`), with a column that comes
    /// twice and a comma after the name; the numbers are made up.
    #[test]
    fn columns_of_nsight_compute_are_read() {
        let text = "\"Kernel Name\",\"void ns::f<(bool)1, (int)32>(T2 *, T3)\",\n\
            \"Address\",\"Source\",\"Warp Stall Sampling (All Cycles)\",\"Instructions Executed\",\"# Samples\",\
            \"Instructions Executed\",\"Thread Instructions Executed\",\"Predicated-On Thread Instructions Executed\",\
            \"Avg. Threads Executed\"\n\
            \"0x7fc400001000\",\"      MOV R1, c[0x0][0x28] \",\"42\",\"3632\",\"42\",\"3632\",\"116,224\",\"116,223\",\"32\"\n";
        let counts = MeasuredCounts::parse("a.csv", text).expect("it is a table");
        assert_eq!(counts.source, CountsSource::NsightCompute);
        assert_eq!(counts.bare_kernel().as_deref(), Some("ns::f"));
        let [row] = counts.rows.as_slice() else {
            panic!("one row")
        };
        assert_eq!(row.address, 0x7fc4_0000_1000);
        let read = (row.issues, row.lanes, row.executed);
        assert_eq!(read, (Some(3632), Some(116_224), Some(116_223)));
    }

    /// Nsight Compute begins some names of columns with the character of our comments. Such a head counts as one, also
    /// where a second table begins.
    #[test]
    fn a_head_may_begin_like_a_comment() {
        let text = "# a comment, not a head\n# Instructions Executed,Address\n3632,0x1000\n";
        let counts = MeasuredCounts::parse("a.csv", text).expect("it is a table");
        assert_eq!(counts.source, CountsSource::NsightCompute);
        let rows: Vec<_> = counts
            .rows
            .iter()
            .map(|row| (row.address, row.issues))
            .collect();
        assert_eq!(rows, [(0x1000, Some(3632))]);
        let twice = format!("{text}{text}");
        let refused = MeasuredCounts::parse("a.csv", &twice).expect_err("two tables");
        assert!(refused.to_string().contains("a second kernel"), "{refused}");
    }

    /// The columns are those that TAU writes from CUPTI's records (`sass_instr_I.csv`); the numbers are made up.
    #[test]
    fn columns_of_cupti_are_read() {
        let text = "timestamp,correlationId,executed,flags,functionId,kind,notPredOffThreadsExecuted,pcOffset,\
            sourceLocatorId,threadsExecuted\n17,1,4,0,3,30,100,16,2,128\n";
        let counts = MeasuredCounts::parse("a.csv", text).expect("it is a table");
        assert_eq!(counts.source, CountsSource::Cupti);
        let [row] = counts.rows.as_slice() else {
            panic!("one row")
        };
        let read = (row.address, row.issues, row.lanes, row.executed);
        assert_eq!(read, (16, Some(4), Some(128), Some(100)));
    }
}
