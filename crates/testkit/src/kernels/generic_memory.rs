//! Reference of accesses through generic pointers, by one warp: its lanes run in lockstep, so all writes precede all
//! reads.

use warpbound_launch::LaunchFile;

use super::{Row, TestLaunch};

pub(super) const KERNELS: &[Row] = &[("generic_memory", "generic_memory", launch)];

fn launch(number: u64) -> LaunchFile {
    let mut rng = fastrand::Rng::with_seed(number);
    let (threads, n) = match number {
        0 => (32, 6),
        1 => (25, 3),
        2 => (1, -5),
        _ => (rng.usize(1..33), rng.i32(-1000..1000)),
    };
    let start: Vec<i32> = (0..threads.max(4)).map(|_| rng.i32(-9999..9999)).collect();
    let (mut data, mut staged) = (start.clone(), [0i32; 128]);
    staged[..threads].copy_from_slice(&start[..threads]);
    let mut own: Vec<[i32; 4]> = (0..threads as i32)
        .map(|t| std::array::from_fn(|k| t * k as i32))
        .collect();
    let cell = n.rem_euclid(4) as usize;
    for (t, own) in own.iter_mut().enumerate() {
        match t % 3 {
            0 => data[cell] = n,
            1 => staged[cell] = n,
            _ => own[cell] = n,
        }
    }
    for t in 0..threads {
        match t % 2 {
            0 => staged[t] += n,
            _ => data[t] += n,
        }
    }
    let out: Vec<i32> = (0..threads)
        .map(|t| {
            let chosen = match t % 3 {
                0 => &data[..cell],
                1 => &staged[..cell],
                _ => &own[t][..cell],
            };
            let sums = chosen.iter().sum::<i32>() + staged[..=t].iter().sum::<i32>();
            sums + own[t][n.rem_euclid(2) as usize]
        })
        .collect();
    TestLaunch::of("generic_memory", [1; 3], [threads as u32, 1, 1])
        .output("data", &start, &data)
        .output("out", &vec![0; threads], &out)
        .value("n", n)
        .finish()
}
