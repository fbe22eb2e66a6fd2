//! Report of memory accesses: their classes, and upper bounds on requests, transactions, sectors, lines and bank
//! conflicts for one execution by a warp.
//!
//! For example, a coalesced load of 4 bytes per lane by 32 lanes touches 128 bytes: up to 4 sectors of 32 bytes in
//! one line if it is aligned, 5 sectors in two lines if not.

use serde::Serialize;

use crate::KernelReport;
use crate::conditions::{BoundAssumption, write_assumptions};
use crate::table::{Align, table};
use warpbound_base::Family;

/// Accesses of a kernel.
#[derive(Clone, Debug, Serialize)]
pub struct AccessReport {
    /// Always `warpbound.access/1`.
    pub schema: &'static str,
    /// Demangled name.
    pub kernel: String,
    /// Threads of a block in x, y, z; `None` if they are not known.
    pub block: Option<[u32; 3]>,
    /// Accesses in order of address.
    pub accesses: Vec<ReportedAccess>,
    /// Family of the machine. For GCN3 the numbers describe a compute unit, otherwise NVIDIA's memory.
    #[serde(skip)]
    pub family: Family,
    /// Accesses that are not listed.
    pub notes: Vec<String>,
    /// Assumptions on which the numbers rest.
    pub assumptions: Vec<BoundAssumption>,
}

/// Access and its class.
#[derive(Clone, Debug, Serialize)]
pub struct ReportedAccess {
    /// Address of the instruction.
    pub address: String,
    /// Disassembly.
    pub instruction: String,
    /// Source line.
    pub source: Option<String>,
    /// Function that contains it, if not the kernel itself.
    pub function: Option<String>,
    /// Memory space: `global`, `local`, `shared`, `generic`, `constant`; others are not counted.
    pub space: &'static str,
    /// Kind of access.
    pub kind: &'static str,
    /// Bytes per lane.
    pub bytes: Option<u32>,
    /// Relation between the addresses of the lanes.
    #[serde(flatten)]
    pub class: AccessClassReport,
    /// Numbers of one execution; `None` if they are not counted.
    #[serde(flatten)]
    pub numbers: AccessNumbers,
    /// Whether every execution by a full warp, with all threads active, has exactly these numbers.
    pub exact: bool,
    /// Explanation of the class.
    pub reason: String,
}

/// Relation between the addresses of the lanes of a warp.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "class", rename_all = "kebab-case")]
pub enum AccessClassReport {
    /// The same address in all lanes.
    Uniform,
    /// Consecutive lanes access consecutive elements.
    Coalesced,
    /// Addresses of consecutive lanes differ by the same number of bytes.
    Strided {
        /// Difference in bytes.
        stride: i64,
    },
    /// Linear function of the thread index.
    Affine {
        /// Bytes by which the address grows with the thread index in x, y, z.
        coefficients: [i64; 3],
    },
    /// Addresses in a limited range.
    Array {
        /// Bytes of the range.
        array_bytes: u64,
    },
    /// Addresses in a few clusters.
    Near {
        /// Upper bound on the number of clusters in a warp.
        clusters: u32,
        /// Maximum distance of two addresses in one cluster; `None` if only parts of the warp have near addresses.
        distance_bytes: Option<u64>,
    },
    /// Addresses that all follow from the launch and are listed one by one.
    Listed,
    /// Any addresses; the facts file states some of the numbers.
    Stated,
    /// Any addresses.
    Unknown {
        /// Address of the load that decides the addresses, if one does.
        decided_by: Option<String>,
    },
    /// Accesses whose cost is not counted in lines or banks, such as texture reads.
    NotCounted,
}

impl AccessClassReport {
    /// Returns the class in words.
    pub fn text(&self) -> String {
        match self {
            AccessClassReport::Uniform => "uniform".to_owned(),
            AccessClassReport::Coalesced => "coalesced".to_owned(),
            AccessClassReport::Strided { stride } => format!("strided by {stride}"),
            AccessClassReport::Affine { .. } => "affine".to_owned(),
            AccessClassReport::Array { array_bytes } => format!("within {array_bytes} bytes"),
            AccessClassReport::Near {
                clusters,
                distance_bytes,
            } => match distance_bytes {
                None => "near in parts".to_owned(),
                Some(bytes) if *clusters == 1 => format!("within {bytes} bytes"),
                Some(bytes) => format!("{clusters} times within {bytes} bytes"),
            },
            AccessClassReport::Listed => "listed".to_owned(),
            AccessClassReport::Stated => "stated".to_owned(),
            AccessClassReport::Unknown { .. } => "unknown".to_owned(),
            AccessClassReport::NotCounted => "not counted".to_owned(),
        }
    }
}

/// Upper bounds for one execution of an access by a warp. For a generic access, they count the lanes that access one
/// space.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct AccessNumbers {
    /// Requests, each for up to 8, 4 or 2 lanes; for shared memory, pools.
    pub requests: Option<u32>,
    /// Global and local memory: lines, counted for each request separately. Shared memory: accesses to the banks.
    /// Constants: distinct words.
    pub transactions: Option<u32>,
    /// Sectors, counted for each request separately.
    pub sectors: Option<u32>,
    /// Distinct lines.
    pub lines: Option<u32>,
    /// Transactions due to bank conflicts.
    pub conflicts: Option<u32>,
    /// Transactions due to bank conflicts with banks of bytes, for machines that may have such banks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub byte_conflicts: Option<u32>,
}

impl AccessNumbers {
    /// Returns the numbers with their names.
    pub(crate) fn named(&self) -> [(&'static str, Option<u32>); 6] {
        [
            ("requests", self.requests),
            ("transactions", self.transactions),
            ("sectors", self.sectors),
            ("lines", self.lines),
            ("conflicts", self.conflicts),
            ("conflicts by byte", self.byte_conflicts),
        ]
    }
}

/// Legend of the columns.
const LEGEND: &str = "
  each number is the most that one execution by a warp can cause, whichever of its threads take part; those marked =
  are the numbers of each execution by all threads of a full warp
  requests: groups of 8, 4 or 2 threads for accesses of 4, 8 or 16 bytes; of shared memory, pools of 32, 16 or 8
  transactions: lines of each request; of shared memory, accesses to the banks; of constants, distinct words
  sectors: sectors of 32 bytes of each request; lines: distinct lines of 128 bytes of all requests
";

/// Legend of the columns for warps that make one request.
const WHOLE_WARP_LEGEND: &str = "
  each number is the most that one execution can cause by threads that convergence barriers keep together, whichever of
  them take part; those marked = are the numbers of each execution by all threads of a full warp. Threads that have
  parted and meet again without a barrier may cause more together (SOUNDNESS 21.10)
  requests: one of the warp; of shared memory, pools of 32, 16 or 8 threads for accesses of 4, 8 or 16 bytes
  transactions: distinct lines of 128 bytes; of shared memory, accesses to the banks; of constants, distinct words
  sectors: distinct sectors of 32 bytes; lines: as transactions
";

/// Legend of the columns for waves.
const WAVE_LEGEND: &str = "
  each number is the most that one execution by a wave can cause, whichever of its lanes take part; those marked =
  are the numbers of each execution by as many lanes as may take part; of an instruction with two addresses, of each
  requests: groups of 64, 32, 21 or 16 lanes for accesses of 4, 8, 12 or 16 bytes; of LDS, 32 lanes for each word
  transactions: lines of each request; of LDS, passes over banks of words
  sectors: as transactions; lines: distinct lines of 64 bytes
  conflicts: further passes over banks of words; conflicts by byte: the same over banks of bytes
";

impl AccessReport {
    /// The name of the JSON format of a kernel.
    pub const SCHEMA: &'static str = "warpbound.access/1";

    /// Returns the report as text: a line for each access, followed by the reason for its class.
    pub fn text(&self) -> String {
        let mut out = format!("{}: {}\n", self.kernel, self.summary());
        if !self.accesses.is_empty() {
            self.write_table(&mut out);
            // A compute unit forms requests of other sizes and has lines of 64 bytes.
            out.push_str(match self.family {
                Family::Gcn3 => WAVE_LEGEND,
                Family::Volta => WHOLE_WARP_LEGEND,
                Family::Maxwell | Family::MiniSimt => LEGEND,
            });
        }
        // Notes are about accesses that are not in the table, so they follow even an empty table.
        for note in &self.notes {
            out.push_str(&format!("  note: {note}\n"));
        }
        if !self.accesses.is_empty() {
            // They concern the numbers of the accesses, so without an access there is none to state.
            write_assumptions(&mut out, "assumed", &self.assumptions);
        }
        out
    }

    /// Returns the number of accesses in each class.
    fn summary(&self) -> String {
        if self.accesses.is_empty() {
            return "no memory accesses".to_owned();
        }
        type ClassPredicate = fn(&AccessClassReport) -> bool;
        let kinds: [(&str, ClassPredicate); 10] = [
            ("uniform", |c| matches!(c, AccessClassReport::Uniform)),
            ("coalesced", |c| matches!(c, AccessClassReport::Coalesced)),
            ("strided", |c| {
                matches!(c, AccessClassReport::Strided { .. })
            }),
            ("affine", |c| matches!(c, AccessClassReport::Affine { .. })),
            ("within an array", |c| {
                matches!(c, AccessClassReport::Array { .. })
            }),
            ("near each other", |c| {
                matches!(c, AccessClassReport::Near { .. })
            }),
            ("listed", |c| matches!(c, AccessClassReport::Listed)),
            ("stated", |c| matches!(c, AccessClassReport::Stated)),
            ("unknown", |c| {
                matches!(c, AccessClassReport::Unknown { .. })
            }),
            ("not counted", |c| {
                matches!(c, AccessClassReport::NotCounted)
            }),
        ];
        let counts = kinds.iter().filter_map(|(name, fits)| {
            let count = self.accesses.iter().filter(|a| fits(&a.class)).count();
            (count > 0).then(|| format!("{count} {name}"))
        });
        let counts: Vec<String> = counts.collect();
        let all = match self.accesses.len() {
            1 => "1 memory access".to_owned(),
            n => format!("{n} memory accesses"),
        };
        format!("{all}: {}", counts.join(", "))
    }

    fn write_table(&self, out: &mut String) {
        let mut heads = vec![
            "at",
            "instruction",
            "space",
            "class",
            "",
            "requests",
            "transactions",
            "sectors",
            "lines",
            "conflicts",
        ];
        // Only LDS may have banks of bytes.
        heads.extend(self.family.has_exec_mask().then_some("conflicts by byte"));
        heads.push("source");
        let align = |head: &&str| match *head {
            "requests" | "transactions" | "sectors" | "lines" | "conflicts"
            | "conflicts by byte" => Align::Right,
            _ => Align::Left,
        };
        let columns: Vec<Align> = heads.iter().map(align).collect();
        let mut rows = vec![heads.into_iter().map(str::to_owned).collect()];
        let row = |access: &ReportedAccess| access.row(self.family.has_exec_mask());
        rows.extend(self.accesses.iter().map(row));
        let lines = table(2, &columns, &rows);
        let mut lines = lines.lines();
        out.push('\n');
        out.push_str(lines.next().unwrap_or_default());
        out.push('\n');
        // The table has one line for each access, after the line of the heads.
        for (access, line) in self.accesses.iter().zip(lines) {
            out.push_str(&format!("{line}\n      {}\n", access.reason));
        }
    }
}

impl ReportedAccess {
    /// Returns the row of the table, with or without the number of conflicts by byte.
    fn row(&self, is_wave: bool) -> Vec<String> {
        // Without numbers a relation would have nothing to stand before.
        let is_counted = self.numbers.transactions.is_some();
        let relation = match (self.exact, is_counted) {
            (_, false) => "",
            (true, true) => "=",
            (false, true) => "<=",
        };
        let mut row = vec![
            self.address.clone(),
            self.instruction.clone(),
            self.space.to_owned(),
            self.class.text(),
            relation.to_owned(),
        ];
        let number = |number: Option<u32>| number.map_or("-".to_owned(), |n| n.to_string());
        let numbers = self.numbers.named().map(|(_, value)| number(value));
        // The last of the six numbers is the number of conflicts by byte.
        row.extend(numbers.into_iter().take(5 + usize::from(is_wave)));
        row.push(self.source.clone().unwrap_or_default());
        row
    }
}

impl KernelReport for AccessReport {
    const SCHEMA_OF_SEVERAL: &'static str = "warpbound.accesses/1";
    const IS_ALWAYS_LISTED: bool = true;

    fn to_text(&self) -> String {
        self.text()
    }
}
