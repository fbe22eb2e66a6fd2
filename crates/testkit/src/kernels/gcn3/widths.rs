//! References of kernels that access memory in all widths, and through buffer descriptors.

use warpbound_launch::LaunchFile;

use super::super::{Row, TestLaunch};

pub(super) const KERNELS: &[Row] = &[
    ("buffer_rows", "buffer_rows", buffer_rows),
    ("memory_widths", "flat_widths", flat_widths),
    ("memory_widths", "lds_widths", lds_widths),
];

/// Draws numbers of groups and of work-items of a group.
fn shape(number: u64, rng: &mut fastrand::Rng) -> (usize, usize) {
    match number {
        0 => (1, 64),
        1 => (2, 100),
        2 => (3, 9),
        _ => (rng.usize(1..4), rng.usize(1..257)),
    }
}

fn launch(kernel: &str, groups: usize, items: usize) -> TestLaunch {
    TestLaunch::of(kernel, [groups as u32, 1, 1], [items as u32, 1, 1])
}

fn buffer_rows(number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let (groups, items) = shape(number, &mut rng);
    let rows = rng.usize(1..=groups * items);
    // Rows from `rows` on are outside of the descriptor's range, inside of the buffer.
    let all = groups * items + 2;
    let words: Vec<i32> = (0..4 * all).map(|_| rng.i32(..)).collect();
    let start: Vec<i32> = (0..4 * all).map(|_| rng.i32(..)).collect();
    let mut end = start.clone();
    for row in 0..rows {
        let first = words[4 * row];
        let second = match row + 1 < rows {
            true => words[4 * row + 5],
            false => 5,
        };
        let low = words[4 * row + 2] & 0xff;
        end[4 * row] = first.wrapping_add(second);
        end[4 * row + 1] = first ^ low;
        end[4 * row + 3] = second.wrapping_sub(low);
    }
    launch("buffer_rows", groups, items)
        .input("in", &words)
        .output("out", &start, &end)
        .value("rows", rows as i32)
        .finish()
}

fn flat_widths(number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let (groups, items) = shape(number, &mut rng);
    let count = groups * items;
    let bytes: Vec<u8> = (0..count).map(|_| rng.u8(..)).collect();
    let halves: Vec<i16> = (0..count).map(|_| rng.i16(..)).collect();
    let quads: Vec<i32> = (0..4 * count).map(|_| rng.i32(..)).collect();
    let byte = |i: usize| i32::from(bytes[i] as i8);
    let half = |i: usize| i32::from(halves[i]);
    let out_bytes: Vec<u8> = (0..count).map(|i| (byte(i) + half(i)) as u8).collect();
    let out_halves: Vec<i16> = (0..count).map(|i| (byte(i) * half(i)) as i16).collect();
    let out_quads: Vec<i32> = (0..count)
        .flat_map(|i| {
            let quad = &quads[4 * i..][..4];
            [
                quad[3],
                quad[2].wrapping_add(byte(i)),
                quad[1],
                quad[0] ^ half(i),
            ]
        })
        .collect();
    let out_pairs: Vec<i64> = (0..count)
        .map(|i| i64::from(quads[4 * i]) * i64::from(byte(i)) + i64::from(quads[4 * i + 3]))
        .collect();
    launch("flat_widths", groups, items)
        .input("bytes", &bytes)
        .input("halves", &halves)
        .input("quads", &quads)
        .output("out_bytes", &vec![0; count], &out_bytes)
        .output("out_halves", &vec![0; count], &out_halves)
        .output("out_quads", &vec![0; 4 * count], &out_quads)
        .output("out_pairs", &vec![0; count], &out_pairs)
        .finish()
}

fn lds_widths(number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let (groups, items) = shape(number, &mut rng);
    let numbers: Vec<i32> = (0..groups * items).map(|_| rng.i32(..)).collect();
    let of = |own: i32, other: i32| {
        let parts = i32::from(other as u8) + i32::from((other >> 3) as i16);
        parts
            .wrapping_add(other >> 4)
            .wrapping_add(other ^ own)
            .wrapping_add(other.wrapping_mul(3))
            .wrapping_add(!other)
    };
    let end: Vec<i32> = numbers
        .chunks(items)
        .flat_map(|group| group.iter().zip(group.iter().rev()))
        .map(|(&own, &other)| of(own, other))
        .collect();
    launch("lds_widths", groups, items)
        .input("in", &numbers)
        .output("out", &vec![0; end.len()], &end)
        .finish()
}
