//! Reference of sums of the table entries that pass filters.

use warpbound_launch::LaunchFile;

use super::writes::{UnorderedWrites, uncontested};
use super::{Row, TestLaunch};

pub(super) const KERNELS: &[Row] = &[("continue_loop", "continue_loop", launch)];

fn launch(number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let most = [1, 6, 33].get(number as usize).copied();
    let most: usize = most.unwrap_or_else(|| rng.usize(1..40));
    // A thread writes into cells of others whenever its sum is even; with small entries most sums stay odd.
    let (threads, (table, n), writes) = uncontested(most, |threads| {
        let n = rng.usize(2..=threads + 12);
        let first_large = threads.min(n);
        let mut table: Vec<i32> = (0..n.max(64))
            .map(|j| match rng.usize(0..10) {
                0 if j >= first_large => rng.i32(-4 * threads as i32..4 * threads as i32),
                1..3 => 2 * rng.i32(-2..3) + 1,
                _ => 0,
            })
            .collect();
        match threads {
            1 => table.fill_with(|| rng.i32(-1000..1000)),
            _ => table[0] = rng.i32(-99..99),
        }
        let writes = all_writes(&table, threads, n);
        ((table, n), writes)
    });
    let start = vec![-77; threads + n];
    TestLaunch::of("continue_loop", [1; 3], [threads as u32, 1, 1])
        .input("table", &table)
        .output("out", &start, &writes.final_contents(&start))
        .value("n", n as i32)
        .finish()
}

fn all_writes(table: &[i32], threads: usize, n: usize) -> UnorderedWrites {
    let mut writes = UnorderedWrites::default();
    for i in 0..threads {
        let mut sum = 0;
        for (j, &entry) in table.iter().enumerate().take(n) {
            if entry == i as i32 {
                continue;
            }
            sum += entry / (i as i32 + 1);
            if sum % 2 == 0 {
                sum += table[sum.rem_euclid(64) as usize] % (i as i32 + 3);
                writes.write(i, i + j, sum);
            }
        }
        writes.write(i, i, sum);
    }
    writes
}
