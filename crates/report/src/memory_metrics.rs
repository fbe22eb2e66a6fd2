//! Memory divergence: the number of sectors, transactions and bank conflicts that the accesses of a launch cause.

use serde::Serialize;

use crate::table::{Align, section};

/// Memory divergence of a launch, counted in a run from the addresses of the lanes, with the upper bounds by the
/// classes of the accesses.
///
/// For example, 10 executions of a load with 4 sectors each and a class that allows 32 have 40 sectors of at most
/// 320.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct MemoryDivergence {
    /// Whole kernel, by memory space.
    pub spaces: Vec<AccessedMemory>,
    /// By instruction, in order of address.
    pub accesses: Vec<AccessedMemory>,
    /// By source line, in order of its name; empty without a line table.
    pub lines: Vec<AccessedMemory>,
    /// By block, in order of address.
    pub blocks: Vec<AccessedMemory>,
}

/// Accesses of some instructions to one memory space.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct AccessedMemory {
    /// Instruction, `file:line`, or address or label of the block. `None` for a whole kernel, and for code without a
    /// source line.
    pub name: Option<String>,
    /// Memory space of the addresses.
    pub space: &'static str,
    /// Executions by a warp with at least one lane that accesses the space.
    pub executions: u64,
    /// Transactions: lines of each request, or accesses to the banks of shared memory.
    pub transactions: u64,
    /// Sectors of 32 bytes, counted for each request separately; absent for shared memory.
    pub sectors: Option<u64>,
    /// Transactions due to bank conflicts; absent except for shared memory.
    pub conflicts: Option<u64>,
    /// Upper bound on the transactions of all these executions, by the classes of the accesses; absent if one has no
    /// class.
    pub most_transactions: Option<u64>,
    /// Upper bound on the sectors, in the same way.
    pub most_sectors: Option<u64>,
    /// Upper bound on the bank conflicts, in the same way.
    pub most_conflicts: Option<u64>,
}

impl AccessedMemory {
    /// Adds the numbers of other accesses to the same space.
    pub fn add(&mut self, other: &AccessedMemory) {
        // An empty sum takes over the other one, whose absent numbers must stay absent.
        if self.executions == 0 {
            let name = self.name.take();
            *self = AccessedMemory {
                name,
                ..other.clone()
            };
            return;
        }
        // A sum is known only if both parts are.
        let both = |a: Option<u64>, b: Option<u64>| a.zip(b).map(|(a, b)| a.saturating_add(b));
        self.executions += other.executions;
        self.transactions += other.transactions;
        self.sectors = both(self.sectors, other.sectors);
        self.conflicts = both(self.conflicts, other.conflicts);
        self.most_transactions = both(self.most_transactions, other.most_transactions);
        self.most_sectors = both(self.most_sectors, other.most_sectors);
        self.most_conflicts = both(self.most_conflicts, other.most_conflicts);
    }

    /// Returns the cells of a row. Sectors diverge, or bank conflicts for shared memory.
    fn row(&self) -> Vec<String> {
        let (counted, most) = match self.conflicts {
            Some(_) => (self.conflicts, self.most_conflicts),
            None => (self.sectors, self.most_sectors),
        };
        let each = |sum: Option<u64>| {
            let each = sum.map(|sum| sum as f64 / self.executions.max(1) as f64);
            each.map_or("?".to_owned(), |each| format!("{each:.2}"))
        };
        let name = self.name.clone().unwrap_or_else(|| "-".to_owned());
        vec![
            name,
            self.space.to_owned(),
            self.executions.to_string(),
            each(Some(self.transactions)),
            each(self.sectors),
            each(self.conflicts),
            match (counted, most) {
                // `?` for a limit means that some access has no class.
                (Some(_), most) => each(most),
                (None, _) => "?".to_owned(),
            },
        ]
    }
}

impl MemoryDivergence {
    /// Writes the numbers of each space. With `details`, also the numbers of instructions, lines and blocks.
    pub(crate) fn write(&self, details: bool, out: &mut String) {
        let mut table = |name: &'static str, rows: &[AccessedMemory]| {
            let head = vec![
                name,
                "space",
                "accesses",
                "transactions",
                "sectors",
                "conflicts",
                "at most",
            ];
            let columns = [
                Align::Left,
                Align::Left,
                Align::Right,
                Align::Right,
                Align::Right,
                Align::Right,
                Align::Right,
            ];
            section(out, &columns, head, rows.iter().map(AccessedMemory::row));
        };
        table("each access on average", &self.spaces);
        if details {
            table("access", &self.accesses);
            table("line", &self.lines);
            table("block", &self.blocks);
        }
    }
}
