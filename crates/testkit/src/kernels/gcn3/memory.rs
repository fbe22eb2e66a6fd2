//! References of kernels that use scratch, LDS, scalar loads and atomic operations.

use warpbound_launch::LaunchFile;

use super::super::{Row, TestLaunch};

pub(super) const KERNELS: &[Row] = &[
    ("atomics_all", "atomics_all", atomics_all),
    ("atomics_all", "atomics_lds", atomics_lds),
    ("barrier_phases", "barrier_phases", barrier_phases),
    ("scalar_table", "scalar_table", scalar_table),
    ("scratch_walk", "scratch_walk", scratch_walk),
];

/// Draws numbers of groups and of work-items of a group, at least eight.
fn shape(number: u64, rng: &mut fastrand::Rng) -> (usize, usize) {
    match number {
        0 => (1, 64),
        1 => (2, 100),
        2 => (3, 9),
        _ => (rng.usize(1..4), rng.usize(8..257)),
    }
}

fn launch(kernel: &str, groups: usize, items: usize) -> TestLaunch {
    TestLaunch::of(kernel, [groups as u32, 1, 1], [items as u32, 1, 1])
}

fn scratch_walk(number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let (groups, items) = shape(number, &mut rng);
    let start: Vec<i32> = (0..128).map(|_| rng.i32(0..128)).collect();
    let steps = rng.i32(0..60);
    let of = |i: usize| {
        let entry = |k: usize| (start[k] * (i as i32 + 1) + k as i32) & 127;
        let mut table: Vec<i32> = (0..128).map(entry).collect();
        let (mut at, mut sum) = (i & 127, 0i32);
        for _ in 0..steps {
            let next = table[at];
            sum = sum.wrapping_mul(5).wrapping_add(next);
            table[at] = (next + 3) & 127;
            if sum & 63 == 17 {
                break;
            }
            at = next as usize;
        }
        sum.wrapping_mul(128).wrapping_add(at as i32)
    };
    let end: Vec<i32> = (0..groups * items).map(of).collect();
    launch("scratch_walk", groups, items)
        .input("start", &start)
        .output("out", &vec![0; end.len()], &end)
        .value("steps", steps)
        .finish()
}

fn barrier_phases(number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let (groups, items) = match number {
        2 => (1, 256),
        _ => shape(number, &mut rng),
    };
    let different = rng.i32(1..1000);
    let numbers: Vec<i32> = (0..groups * items).map(|_| rng.i32(0..different)).collect();
    let mut end = numbers.clone();
    end.chunks_mut(items).for_each(<[i32]>::sort_unstable);
    launch("barrier_phases", groups, items)
        .input("in", &numbers)
        .output("out", &vec![0; end.len()], &end)
        .finish()
}

fn scalar_table(number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let (groups, items) = shape(number, &mut rng);
    let rounds = rng.usize(0..6);
    let mut table: Vec<i32> = (0..16 * (rounds + 1)).map(|_| rng.i32(..)).collect();
    table[0] = rounds as i32;
    let numbers: Vec<i32> = (0..groups * items).map(|_| rng.i32(..)).collect();
    let of = |&start: &i32| {
        let mixed = (0..).zip(&table[16..]).fold(start, |x, (k, &entry)| {
            (x ^ entry).wrapping_add(x << (k & 3))
        });
        mixed.wrapping_add(table[1].wrapping_mul(table[3]))
    };
    let end: Vec<i32> = numbers.iter().map(of).collect();
    launch("scalar_table", groups, items)
        .input("table", &table)
        .input("in", &numbers)
        .output("out", &vec![0; end.len()], &end)
        .finish()
}

fn atomics_all(number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let (groups, items) = shape(number, &mut rng);
    let numbers: Vec<i32> = (0..groups * items).map(|_| rng.i32(..)).collect();
    let start: Vec<i32> = (0..9).map(|_| rng.i32(..)).collect();
    let wide: Vec<u64> = (0..3).map(|_| rng.u64(..) >> 20).collect();
    let old_sum = rng.i32(..);
    let (mut end, mut wide_end, mut old_end) = (start.clone(), wide.clone(), old_sum);
    for &value in &numbers {
        end[0] = end[0].wrapping_add(value);
        end[1] = end[1].wrapping_sub(value);
        end[2] &= value | 0xff;
        end[3] |= value & 0xffff;
        end[4] ^= value;
        end[5] = end[5].min(value);
        end[6] = (end[6] as u32).max(value as u32) as i32;
        old_end = old_end.wrapping_add(end[7]);
        end[7] = end[7].wrapping_add(1);
        end[8] = 77;
        wide_end[0] = wide_end[0].wrapping_add((i64::from(value) as u64).wrapping_mul(3));
        wide_end[1] = wide_end[1].min(u64::from(value as u32) << 8);
        wide_end[2] = wide_end[2].max(u64::from(value as u32) << 9);
    }
    launch("atomics_all", groups, items)
        .input("in", &numbers)
        .output("words", &start, &end)
        .output("wide", &wide, &wide_end)
        .output("old_sum", &[old_sum], &[old_end])
        .finish()
}

fn atomics_lds(number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let (groups, items) = shape(number, &mut rng);
    let numbers: Vec<i32> = (0..groups * items).map(|_| rng.i32(..)).collect();
    let of_group = |group: &[i32]| {
        let mut words = [0, 0, -1, 0, 0, 0, 0, 0i32];
        let mut wide = [0u64; 2];
        for &value in group {
            words[0] = words[0].wrapping_add(value);
            words[1] = words[1].wrapping_sub(value);
            words[2] &= value | 0xf0f;
            words[3] |= value;
            words[4] ^= value;
            words[5] = words[5].max(value);
            words[7] += words[6];
            words[6] += 2;
            wide[0] += u64::from(value as u32);
            wide[1] = wide[1].max(u64::from(value as u32) << 4);
        }
        let halves = wide.map(|wide| [wide as i32, (wide >> 32) as i32]);
        [words.to_vec(), halves.concat()].concat()
    };
    let end: Vec<i32> = numbers.chunks(items).flat_map(of_group).collect();
    launch("atomics_lds", groups, items)
        .input("in", &numbers)
        .output("out", &vec![0; end.len()], &end)
        .finish()
}
