//! References of kernels whose masks of active lanes matter.

use warpbound_launch::LaunchFile;

use super::super::{Row, TestLaunch};
use super::LANES;

pub(super) const KERNELS: &[Row] = &[
    ("break_continue", "break_continue", break_continue),
    ("collatz", "collatz", collatz),
    ("constant_branches", "constant_branches", constant_branches),
    ("mask_idioms", "cmpx_loop", |number| {
        per_element("cmpx_loop", number, |x| {
            let x = x & 0x3ff;
            (0..10).map(|by| x >> by).sum()
        })
    }),
    ("mask_idioms", "inverted_skip", |number| {
        per_element("inverted_skip", number, |x| {
            if x < 0 { x.wrapping_neg() } else { x }.min(100)
        })
    }),
    ("mask_idioms", "quad_masks", quad_masks),
    ("mask_idioms", "saved_masks", |number| {
        per_element("saved_masks", number, |x| match x {
            ..=15 => x.wrapping_mul(8),
            _ => x.wrapping_add(1),
        })
    }),
    ("mask_idioms", "vcc_loop", |number| {
        per_element("vcc_loop", number, |x| {
            let (mut x, mut halved) = (x & 0xffff, 0);
            while x > 8 {
                x /= 2;
                halved += 1;
            }
            halved + 100 * x
        })
    }),
    ("split_levels", "split_levels", split_levels),
    ("uniform_exit", "uniform_exit", uniform_exit),
    ("wave_votes", "wave_votes", wave_votes),
];

/// Draws numbers of groups and of work-items of a group. The first launches have chosen numbers.
fn shape(number: u64, rng: &mut fastrand::Rng) -> (usize, usize) {
    match number {
        0 => (1, 64),
        1 => (2, 100),
        2 => (3, 7),
        _ => (rng.usize(1..4), rng.usize(1..200)),
    }
}

/// Path of one lane through the levels from `bit` downwards.
fn levels(bit: usize, lane: usize, x: i32, table: &[i32]) -> i32 {
    let entry = |x: i32| table[(x & 63) as usize];
    if bit == 0 {
        let path = lane as i32;
        return x.wrapping_mul(2 * path + 3).wrapping_add(entry(x ^ path));
    }
    match lane & bit {
        0 => {
            let x = levels(bit / 2, lane, x, table);
            x ^ entry(x & 31)
        }
        _ => levels(bit / 2, lane, x.wrapping_add(entry(x & 15)), table),
    }
}

fn split_levels(number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let (groups, items) = shape(number, &mut rng);
    let table: Vec<i32> = (0..LANES).map(|_| rng.i32(..)).collect();
    let end: Vec<i32> = (0..groups * items)
        .map(|i| i % items % LANES)
        .map(|lane| levels(32, lane, table[lane], &table))
        .collect();
    TestLaunch::of("split_levels", [groups as u32, 1, 1], [items as u32, 1, 1])
        .input("in", &table)
        .output("out", &vec![0; end.len()], &end)
        .finish()
}

fn break_continue(number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let (groups, items) = shape(number, &mut rng);
    let (rows, columns) = (rng.usize(0..6), rng.usize(1..9));
    let table: Vec<i32> = (0..(rows * columns).max(1))
        .map(|_| rng.i32(0..100))
        .collect();
    let keys: Vec<i32> = (0..groups * items).map(|_| rng.i32(0..50)).collect();
    let search = |key: i32| {
        let mut sum = 0;
        for row in 0..rows {
            for entry in &table[row * columns..][..columns] {
                if entry & 3 == key & 3 {
                    continue;
                }
                sum += entry;
                if entry % 7 == key % 7 {
                    break;
                }
                if sum > 40 * key {
                    return sum;
                }
            }
            sum ^= row as i32;
        }
        -sum
    };
    let end: Vec<i32> = keys.iter().map(|&key| search(key)).collect();
    TestLaunch::of(
        "break_continue",
        [groups as u32, 1, 1],
        [items as u32, 1, 1],
    )
    .input("table", &table)
    .input("keys", &keys)
    .output("out", &vec![-9; end.len()], &end)
    .value("rows", rows as i32)
    .value("columns", columns as i32)
    .finish()
}

fn steps_to_one(start: i32) -> i32 {
    let (mut x, mut steps) = (start, 0);
    while x != 1 {
        x = if x % 2 == 1 { 3 * x + 1 } else { x / 2 };
        steps += 1;
    }
    steps
}

fn collatz(number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let (groups, items) = shape(number, &mut rng);
    let count = rng.usize(1..=groups * items);
    let starts: Vec<i32> = (0..count).map(|_| rng.i32(1..1000)).collect();
    let end: Vec<i32> = starts.iter().map(|&start| steps_to_one(start)).collect();
    TestLaunch::of("collatz", [groups as u32, 1, 1], [items as u32, 1, 1])
        .input("in", &starts)
        .output("out", &vec![-1; count], &end)
        .value("count", count as i32)
        .finish()
}

fn wave_votes(number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let (groups, items) = shape(number, &mut rng);
    let starts: Vec<i32> = (0..groups * items).map(|_| rng.i32(1..60)).collect();
    let rounds: Vec<i32> = starts.iter().map(|&start| steps_to_one(start)).collect();
    // Each round counts the lanes that are at one when it ends; lanes that start at one count in all rounds.
    let helpers: Vec<i32> = rounds
        .chunks(items)
        .flat_map(|group| group.chunks(LANES))
        .flat_map(|wave| {
            let most = wave.iter().copied().max().unwrap_or(0);
            let seen: i32 = wave
                .iter()
                .map(|steps| most - steps + i32::from(*steps > 0))
                .sum();
            vec![seen; wave.len()]
        })
        .collect();
    let nothing = vec![-1; starts.len()];
    TestLaunch::of("wave_votes", [groups as u32, 1, 1], [items as u32, 1, 1])
        .input("in", &starts)
        .output("rounds", &nothing, &rounds)
        .output("helpers", &nothing, &helpers)
        .finish()
}

fn uniform_exit(number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let (groups, items) = shape(number, &mut rng);
    let plan: Vec<i32> = (0..groups.max(6)).map(|_| rng.i32(-3..6)).collect();
    let most = rng.i32(0..6);
    let start: Vec<i32> = (0..groups * items).map(|_| rng.i32(..)).collect();
    let numbers: Vec<i32> = (0..groups * items).map(|_| rng.i32(..)).collect();
    let end: Vec<i32> = (0..groups * items)
        .map(|i| match plan[i / items] {
            0 => start[i],
            todo @ ..0 => numbers[i].wrapping_sub(todo),
            todo => (0..todo.min(most) as usize).fold(0, |sum: i32, round| {
                sum.wrapping_add(numbers[i].wrapping_mul(plan[round]))
            }),
        })
        .collect();
    TestLaunch::of("uniform_exit", [groups as u32, 1, 1], [items as u32, 1, 1])
        .input("plan", &plan)
        .input("in", &numbers)
        .output("out", &start, &end)
        .value("most", most)
        .finish()
}

/// Launch of a kernel in assembly on numbers, half of them small.
fn of_numbers(
    kernel: &str,
    number: u64,
    results: impl Fn(&[i32], usize) -> Vec<i32>,
) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let (groups, items) = shape(number, &mut rng);
    let numbers: Vec<i32> = (0..groups * items)
        .map(|_| match rng.bool() {
            true => rng.i32(..),
            false => rng.i32(-200..200),
        })
        .collect();
    let end = results(&numbers, items);
    TestLaunch::of(kernel, [groups as u32, 1, 1], [items as u32, 1, 1])
        .input("in", &numbers)
        .output("out", &vec![0; end.len()], &end)
        .value("items", items as i32)
        .finish()
}

fn per_element(kernel: &str, number: u64, result: impl Fn(i32) -> i32) -> LaunchFile {
    of_numbers(kernel, number, |numbers, _| {
        numbers.iter().map(|&x| result(x)).collect()
    })
}

fn constant_branches(number: u64) -> LaunchFile {
    per_element("constant_branches", number, |x| {
        (0..3).fold(x.wrapping_add(7), |x, _| x.wrapping_mul(5).wrapping_add(1))
    })
}

fn quad_masks(number: u64) -> LaunchFile {
    let of_wave = |wave: &[i32]| {
        let odd = |quad: &[i32]| quad.iter().any(|x| x & 1 == 1);
        let quads: Vec<bool> = wave.chunks(4).map(odd).collect();
        let mask = |bits: usize| {
            let set = quads.iter().enumerate().filter(|(_, is_odd)| **is_odd);
            set.fold(0u64, |mask, (quad, _)| {
                mask | ((1 << bits) - 1) << (bits * quad)
            })
        };
        let (some, whole) = (mask(1), mask(4));
        match some {
            0 => -1,
            _ => ((some as u32).wrapping_add(whole as u32) ^ (whole >> 32) as u32) as i32,
        }
    };
    of_numbers("quad_masks", number, |numbers, items| {
        numbers
            .chunks(items)
            .flat_map(|group| group.chunks(LANES))
            .flat_map(|wave| vec![of_wave(wave); wave.len()])
            .collect()
    })
}
