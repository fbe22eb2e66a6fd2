//! Times of kernels by size.

use std::collections::BTreeMap;
use std::time::Duration;

use warpbound_query::KernelFlow;

/// Times and sizes of one kernel.
struct Point {
    blocks: usize,
    loops: usize,
    divergent: usize,
    cfg: Duration,
    bound: Duration,
}

/// Times of kernels by their blocks, loops and divergent branches.
#[derive(Default)]
pub(super) struct Growth(Vec<Point>);

impl Growth {
    /// Adds the times of a kernel: of its warp-level graph, and of its whole bound.
    pub(super) fn add(&mut self, flow: &KernelFlow, cfg: Duration, bound: Duration) {
        self.0.push(Point {
            blocks: flow.thread.space.len(),
            loops: flow.loops.loops.len(),
            divergent: flow.warp.divergent.len(),
            cfg,
            bound,
        });
    }

    /// Prints the number of kernels and their median times, in all and by block, for each quadrupling of each size.
    pub(super) fn print(&self) {
        type Size = fn(&Point) -> usize;
        let sizes: [(&str, Size); 3] = [
            ("blocks, in all contexts", |point| point.blocks),
            ("loops", |point| point.loops),
            ("divergent branches", |point| point.divergent),
        ];
        for (title, size) in sizes {
            let mut classes: BTreeMap<u32, Vec<&Point>> = BTreeMap::new();
            for point in &self.0 {
                let class = size(point).checked_ilog(4).map_or(0, |log| log + 1);
                classes.entry(class).or_default().push(point);
            }
            println!(
                "\n{title}: kernels; median time of the warp-level graph and of the whole bound, and these by block"
            );
            for (class, points) in classes {
                let most = 4usize.pow(class) - 1;
                let median = |of: &dyn Fn(&Point) -> Duration| {
                    let mut times: Vec<Duration> = points.iter().map(|point| of(point)).collect();
                    times.sort_unstable();
                    times.get(times.len() / 2).copied().unwrap_or_default()
                };
                let by_block = |time: Duration, point: &Point| time / point.blocks.max(1) as u32;
                println!(
                    "  up to {most:>6} {:>6} {:>12?} {:>12?} {:>10?} {:>10?}",
                    points.len(),
                    median(&|point| point.cfg),
                    median(&|point| point.bound),
                    median(&|point| by_block(point.cfg, point)),
                    median(&|point| by_block(point.bound, point)),
                );
            }
        }
    }
}
