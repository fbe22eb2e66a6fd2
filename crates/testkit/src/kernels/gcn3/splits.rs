//! References of the kernels of the experiments on splitting waves.

use warpbound_launch::LaunchFile;

use super::super::{Row, TestLaunch};
use super::LANES;

pub(super) const KERNELS: &[Row] = &[
    ("batches", "batch_lds", batch_lds),
    ("batches", "batch_plain", |number| {
        batch("batch_plain", number)
    }),
    ("batches", "batch_sgprs", |number| {
        batch("batch_sgprs", number)
    }),
    ("batches", "batch_vgprs", |number| {
        batch("batch_vgprs", number)
    }),
    ("marked_branches", "marked_branches", marked_branches),
    ("marked_if_else", "marked_if_else", marked_if_else),
    ("split_paths", "split_paths", split_paths),
    ("split_tail", "split_tail", split_tail),
];

/// Draws numbers of groups and of work-items of a group. The first launches have chosen numbers.
fn shape(number: u64, rng: &mut fastrand::Rng) -> (usize, usize) {
    match number {
        0 => (1, 64),
        1 => (3, 100),
        2 => (2, 7),
        _ => (rng.usize(1..4), rng.usize(1..200)),
    }
}

/// One step of a chain of the first kind: low bits are mixed upwards.
fn mixed(x: i32, by: i32) -> i32 {
    (x.wrapping_mul(8) ^ x).wrapping_add(by)
}

/// One step of a chain of the second kind: high bits are folded downwards.
fn folded(x: i32, by: i32) -> i32 {
    x.wrapping_sub(by) ^ x.div_euclid(32)
}

/// Six steps with consecutive numbers, of the first kind or the second.
fn chain(is_mixed: bool, x: i32, first: i32) -> i32 {
    let step = if is_mixed { mixed } else { folded };
    (first..first + 6).fold(x, step)
}

/// Launch of a kernel that computes `end` from the elements of `in`; `end` gets the work-item's number in its group.
fn per_item(kernel: &str, number: u64, end: impl Fn(usize, i32) -> i32) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let (groups, items) = shape(number, &mut rng);
    let start: Vec<i32> = (0..groups * items).map(|_| rng.i32(..)).collect();
    let numbered = start.iter().enumerate();
    let end: Vec<i32> = numbered.map(|(at, &x)| end(at % items, x)).collect();
    TestLaunch::of(kernel, [groups as u32, 1, 1], [items as u32, 1, 1])
        .input("in", &start)
        .output("out", &vec![0; end.len()], &end)
        .finish()
}

fn split_paths(number: u64) -> LaunchFile {
    per_item("split_paths", number, |item, start| {
        let lane = item % LANES;
        let bits = || (0..6).rev().map(|level| 1 << level);
        let down = bits().filter(|bit| lane & bit != 0);
        let x = down.fold(start, |x, bit| mixed(x, bit as i32));
        let x = chain(lane % 2 == 1, x, 8 * lane as i32);
        let up = bits().rev().filter(|bit| lane & bit == 0);
        up.fold(x, |x, bit| folded(x, bit as i32))
    })
}

fn marked_if_else(number: u64) -> LaunchFile {
    per_item("marked_if_else", number, |item, x| match item {
        ..3 => chain(true, x, 1),
        _ => chain(false, x, 2),
    })
}

fn split_tail(number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let (groups, items) = shape(number, &mut rng);
    let (all, rounds) = (groups * items, rng.usize(0..9));
    let table: Vec<i32> = (0..(all * rounds).max(1)).map(|_| rng.i32(..)).collect();
    let end = |i: usize| {
        let arm = match i % items % 2 {
            1 => chain(true, i as i32, 100),
            _ => chain(false, i as i32, 200),
        };
        (0..rounds).fold(arm, |x, round| {
            (x ^ table[round * all + i]).wrapping_add(round as i32)
        })
    };
    let end: Vec<i32> = (0..all).map(end).collect();
    TestLaunch::of("split_tail", [groups as u32, 1, 1], [items as u32, 1, 1])
        .input("table", &table)
        .output("out", &vec![0; all], &end)
        .value("rounds", rounds as i32)
        .finish()
}

/// Numbers of groups, of work-items of a group and of rounds, and the elements before and after the rounds.
fn batch_contents(number: u64) -> ([usize; 3], Vec<i32>, Vec<i32>) {
    let mut rng = fastrand::Rng::with_seed(number);
    let (groups, items) = shape(number, &mut rng);
    let rounds = rng.usize(0..20);
    let start: Vec<i32> = (0..groups * items).map(|_| rng.i32(..)).collect();
    let after = |&x: &i32| (0..rounds as i32).fold(x, mixed);
    let end = start.iter().map(after).collect();
    ([groups, items, rounds], start, end)
}

fn batch_launch(kernel: &str, sizes: [usize; 3], start: &[i32], end: &[i32]) -> LaunchFile {
    let [groups, items, rounds] = sizes;
    TestLaunch::of(kernel, [groups as u32, 1, 1], [items as u32, 1, 1])
        .input("in", start)
        .output("out", &vec![0; end.len()], end)
        .value("rounds", rounds as i32)
        .finish()
}

fn batch(kernel: &str, number: u64) -> LaunchFile {
    let (sizes, start, end) = batch_contents(number);
    batch_launch(kernel, sizes, &start, &end)
}

/// Each work-item adds what the one on the other side of its group has read.
fn batch_lds(number: u64) -> LaunchFile {
    let (sizes, start, mut end) = batch_contents(number);
    for (group, end) in start.chunks(sizes[1]).zip(end.chunks_mut(sizes[1])) {
        for (end, other) in end.iter_mut().zip(group.iter().rev()) {
            *end = end.wrapping_add(*other);
        }
    }
    batch_launch("batch_lds", sizes, &start, &end)
}

/// Lanes below 3 take the first arm. The second launch has the four lanes of the table.
fn marked_branches(number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let lanes = match number {
        0 => LANES,
        1 => 4,
        2 => 2,
        _ => rng.usize(1..=LANES),
    };
    let end: Vec<i32> = (0..lanes as i32)
        .map(|lane| if lane < 3 { 100 + lane } else { 200 + lane })
        .collect();
    TestLaunch::of("marked_branches", [1; 3], [lanes as u32, 1, 1])
        .output("out", &vec![0; lanes], &end)
        .finish()
}
