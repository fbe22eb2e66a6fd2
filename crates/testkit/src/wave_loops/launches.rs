//! Launches that a result is about, stated in different ways, and threads of launches among them.

use fastrand::Rng;
use warpbound_launch::LaunchFile;
use warpbound_query::{BoundOptions, NumberRange, StatedLaunches, StatedParam};

use super::KERNEL;
use crate::kernels::TestLaunch;

/// Names of the arguments after the buffer.
const ARGUMENTS: [&str; 3] = ["width", "height", "depth"];

/// Sizes and numbers of a launch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LoopLaunch {
    /// Work-items of a group.
    pub block: [u32; 3],
    /// Groups.
    pub grid: [u32; 3],
    /// Work-items in x of the last group if it is not whole, else 0.
    pub remainder: u32,
    /// Arguments after the buffer.
    pub arguments: [u32; 3],
}

/// Thread of a launch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LoopThread {
    /// The launch.
    pub launch: LoopLaunch,
    /// Index of its group.
    pub group: [u32; 3],
    /// Index of the work-item in its group.
    pub item: [u32; 3],
}

/// Statement about launches: least and largest numbers. What is not stated may be anything.
#[derive(Clone, Copy, Default, Debug)]
pub struct LaunchStatement {
    block: Option<[(u32, u32); 3]>,
    grid: Option<[(u32, u32); 3]>,
    arguments: [Option<(u32, u32)>; 3],
    /// Whether a launch file states it all.
    is_file: bool,
}

impl LoopLaunch {
    /// Draws any launch of the kernel: at most 256 work-items in a group, fewer than 2^32 along each axis.
    pub fn draw(rng: &mut Rng) -> LoopLaunch {
        let block = draw_block(rng);
        let mut grid = [0; 3].map(|_| rng.u32(1..4));
        // Most launches have many groups along one axis.
        let long = rng.usize(0..3);
        if rng.u8(0..4) > 0 {
            grid[long] = [255, 65_535, 65_536, 70_000, 1 << 20, 5_000_000][rng.usize(0..6)];
        }
        LoopLaunch {
            block,
            grid,
            remainder: rng.u32(0..block[0]),
            arguments: [0; 3].map(|_| draw_number(rng)),
        }
    }

    /// Draws a launch of a few groups with one wave each, which can be run.
    pub fn draw_small(rng: &mut Rng) -> LoopLaunch {
        LoopLaunch {
            block: [rng.u32(1..9), rng.u32(1..5), rng.u32(1..3)],
            grid: [0; 3].map(|_| rng.u32(1..4)),
            remainder: 0,
            arguments: [0; 3].map(|_| rng.u32(0..200)),
        }
    }

    /// Returns the file of a launch of whole groups.
    pub fn file(&self) -> LaunchFile {
        let mut launch = TestLaunch::of(KERNEL, self.grid, self.block).scratch("out", &[0_u32; 4]);
        for (name, number) in ARGUMENTS.into_iter().zip(self.arguments) {
            launch = launch.value(name, number as i32);
        }
        launch.finish()
    }

    /// Returns all threads, group by group in the order of the hardware.
    pub fn all_threads(&self) -> Vec<Vec<LoopThread>> {
        let items = all_indices(self.block);
        let groups = all_indices(self.grid).into_iter().map(|group| {
            let threads = items.iter().map(|&item| LoopThread {
                launch: *self,
                group,
                item,
            });
            threads.collect()
        });
        groups.collect()
    }

    /// Returns some threads, with those at the ends of all axes.
    pub fn some_threads(&self, rng: &mut Rng) -> Vec<LoopThread> {
        let mut index = |size: [u32; 3], style: u8| match style {
            0 => [0; 3],
            1 => size.map(|n| n - 1),
            _ => size.map(|n| rng.u32(0..n)),
        };
        let threads = [(0, 0), (1, 1), (1, 0), (0, 1), (2, 2), (2, 1), (1, 2)];
        let threads = threads.map(|(of_group, of_item)| LoopThread {
            launch: *self,
            group: index(self.grid, of_group),
            item: index(self.block, of_item),
        });
        threads.into()
    }
}

impl LaunchStatement {
    /// Draws a statement.
    pub fn draw(rng: &mut Rng) -> LaunchStatement {
        let launch = LoopLaunch::draw(rng);
        let exact = |numbers: [u32; 3]| numbers.map(|n| (n, n));
        if rng.u8(0..4) == 0 {
            return LaunchStatement {
                block: Some(exact(launch.block)),
                grid: Some(exact(launch.grid)),
                arguments: exact(launch.arguments).map(Some),
                is_file: true,
            };
        }
        let more = |n: u32, rng: &mut Rng| match rng.u8(0..3) {
            0 => (n, n),
            _ => (n - rng.u32(0..n.min(50)), n.saturating_add(rng.u32(0..50))),
        };
        LaunchStatement {
            block: (rng.u8(0..3) == 0).then(|| exact(launch.block)),
            grid: (rng.u8(0..3) == 0).then(|| launch.grid.map(|n| more(n, rng))),
            arguments: launch.arguments.map(|n| {
                let is_stated = rng.bool() && (1..1 << 30).contains(&n);
                is_stated.then(|| more(n, rng))
            }),
            is_file: false,
        }
    }

    /// Returns the options that state it.
    pub fn options(&self) -> BoundOptions {
        if self.is_file {
            let launch = self.member(LoopLaunch::draw(&mut Rng::with_seed(0)));
            return BoundOptions {
                launches: StatedLaunches {
                    file: Some(launch.file().into()),
                    ..StatedLaunches::default()
                },
                ..BoundOptions::default()
            };
        }
        let range = |(least, most): (u32, u32)| NumberRange {
            least: least.into(),
            most: most.into(),
        };
        let ranges = |size: Option<[(u32, u32); 3]>| size.map(|size| size.map(range));
        // Without a launch file, arguments have positions; the first one is the buffer.
        let params = (1..).zip(self.arguments);
        let params = params.filter_map(|(position, stated): (usize, _)| {
            Some(StatedParam {
                name: format!("p{position}"),
                range: range(stated?),
            })
        });
        BoundOptions {
            launches: StatedLaunches {
                file: None,
                block: ranges(self.block),
                grid: ranges(self.grid),
                params: params.collect(),
            },
            ..BoundOptions::default()
        }
    }

    /// Returns a launch that the statement is about: `other` where it states nothing, else the nearest number.
    pub fn member(&self, other: LoopLaunch) -> LoopLaunch {
        let within = |numbers: [u32; 3], stated: Option<[(u32, u32); 3]>| match stated {
            None => numbers,
            Some(stated) => [0, 1, 2].map(|at| numbers[at].clamp(stated[at].0, stated[at].1)),
        };
        let block = within(other.block, self.block);
        let arguments = [0, 1, 2].map(|at| match self.arguments[at] {
            None => other.arguments[at],
            Some((least, most)) => other.arguments[at].clamp(least, most),
        });
        LoopLaunch {
            block,
            grid: within(other.grid, self.grid),
            // Grids of a launch file consist of whole groups.
            remainder: match self.is_file {
                true => 0,
                false => other.remainder % block[0],
            },
            arguments,
        }
    }
}

fn draw_block(rng: &mut Rng) -> [u32; 3] {
    match rng.u8(0..6) {
        0 => [256, 1, 1],
        1 => [1, 256, 1],
        2 => [1, 1, 256],
        3 => [8, 8, 4],
        _ => [rng.u32(1..=40), rng.u32(1..4), rng.u32(1..3)],
    }
}

fn draw_number(rng: &mut Rng) -> u32 {
    match rng.u8(0..4) {
        0 => rng.u32(0..40),
        1 => rng.u32(..),
        2 => [i32::MAX as u32, u32::MAX, 1 << 31][rng.usize(0..3)],
        _ => rng.u32(0..200_000),
    }
}

/// Returns all indices of a block or a grid, x first.
fn all_indices([x, y, z]: [u32; 3]) -> Vec<[u32; 3]> {
    let rows = (0..z).flat_map(|z| (0..y).map(move |y| (y, z)));
    rows.flat_map(|(y, z)| (0..x).map(move |x| [x, y, z]))
        .collect()
}
