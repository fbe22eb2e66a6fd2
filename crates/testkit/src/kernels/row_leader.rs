//! Reference of look-ups in a table by the first thread of each row.

use fastrand::Rng;
use warpbound_launch::LaunchFile;

use super::{Row, TestLaunch};

pub(super) const KERNELS: &[Row] = &[
    ("row_leader", "row_leader", each),
    ("row_leader", "row_leader_shared", sums),
];

/// Numbers of blocks, columns and rows of a block, and entries of the table.
struct TableShape {
    blocks: usize,
    columns: usize,
    rows: usize,
    m: usize,
}

impl TableShape {
    fn of(number: u64, rng: &mut Rng) -> TableShape {
        let chosen = [(1, 32, 4, 9), (3, 5, 7, 3), (1, 1, 1, 0)];
        let chosen = chosen.get(number as usize).copied();
        let (blocks, columns, rows, m) = chosen.unwrap_or_else(|| {
            let (columns, rows) = (rng.usize(1..40), rng.usize(1..9));
            (rng.usize(1..4), columns, rows, rng.usize(0..12))
        });
        TableShape {
            blocks,
            columns,
            rows,
            m,
        }
    }

    fn numbers(&self, rng: &mut Rng) -> Vec<i32> {
        let count = self.blocks * self.rows * self.columns;
        (0..count).map(|_| rng.i32(-20..20)).collect()
    }

    /// Returns a launch of a kernel that maps `numbers` to `ends`.
    fn launch(&self, kernel: &str, numbers: &[i32], table: &[i32], ends: &[i32]) -> LaunchFile {
        let block = [self.columns as u32, self.rows as u32, 1];
        // A buffer has at least one element.
        let table = if table.is_empty() { &[0] } else { table };
        TestLaunch::of(kernel, [self.blocks as u32, 1, 1], block)
            .input("in", numbers)
            .input("table", table)
            .output("out", &vec![-77; ends.len()], ends)
            .value("m", self.m as i32)
            .finish()
    }
}

fn table(shape: &TableShape, rng: &mut Rng) -> Vec<i32> {
    (0..shape.m).map(|_| rng.i32(-20..20)).collect()
}

/// Returns the first index of the number in the table plus its quotient by that index plus three; -1 if it is missing.
fn look_up(table: &[i32], number: i32) -> i32 {
    let found = table.iter().position(|&entry| entry == number);
    found.map_or(-1, |at| at as i32 + number / (at as i32 + 3))
}

fn each(number: u64) -> LaunchFile {
    let mut rng = Rng::with_seed(number);
    let shape = TableShape::of(number, &mut rng);
    let (numbers, table) = (shape.numbers(&mut rng), table(&shape, &mut rng));
    let ends: Vec<i32> = numbers.iter().map(|&n| look_up(&table, n)).collect();
    shape.launch("row_leader", &numbers, &table, &ends)
}

fn sums(number: u64) -> LaunchFile {
    let mut rng = Rng::with_seed(number);
    let shape = TableShape::of(number, &mut rng);
    let (numbers, table) = (shape.numbers(&mut rng), table(&shape, &mut rng));
    let rows = numbers.chunks(shape.columns);
    let sums = rows.map(|row| row.iter().map(|&n| look_up(&table, n)).sum::<i32>());
    let ends: Vec<i32> = sums
        .flat_map(|sum| (0..shape.columns as i32).map(move |column| sum + column))
        .collect();
    shape.launch("row_leader_shared", &numbers, &table, &ends)
}
