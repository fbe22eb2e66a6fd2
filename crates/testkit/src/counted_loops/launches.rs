//! Random ranges of launches, and launches in them.

use std::collections::BTreeMap;

use fastrand::Rng;
use warpbound_analyse::launch_ranges::{LaunchRanges, LaunchWord, WordRange};

use super::thread::ThreadIndices;
use super::writer::PARAMETERS;

/// Byte offset of the sizes of block and grid in constant bank 0.
const SIZES: u32 = 8;

/// Maximum number of threads of a launch that all run. Of a larger launch some threads run.
const ALL_THREADS: u64 = 96;

/// Launch: sizes, and words of constant banks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OneLaunch {
    /// Threads of a block in x, y, z.
    pub block: [u32; 3],
    /// Blocks of the grid in x, y, z.
    pub grid: [u32; 3],
    /// Words of constant banks by bank and byte offset.
    pub words: BTreeMap<(u8, u32), u32>,
}

impl OneLaunch {
    /// Makes a launch whose parameters are words from offset 0x140 of bank 0 on.
    pub fn new(block: [u32; 3], grid: [u32; 3], parameters: &[u32]) -> OneLaunch {
        let sizes = (SIZES..).step_by(4).zip(block.into_iter().chain(grid));
        let parameters = (PARAMETERS..).step_by(4).zip(parameters.iter().copied());
        let words = sizes.chain(parameters);
        OneLaunch {
            block,
            grid,
            words: words.map(|(offset, word)| ((0, offset), word)).collect(),
        }
    }

    /// Returns threads of the launch, and whether they are all: else corners of block and grid and some others.
    pub fn threads(&self, rng: &mut Rng) -> (Vec<ThreadIndices>, bool) {
        let product = |size: [u32; 3]| size.iter().map(|&n| u64::from(n)).product::<u64>();
        let count = product(self.block).saturating_mul(product(self.grid));
        let [block, grid] = [self.block, self.grid];
        if count <= ALL_THREADS {
            let blocks = all_indices(grid);
            let threads = blocks.flat_map(|block_index| {
                all_indices(block).map(move |thread| ThreadIndices {
                    thread,
                    block: block_index,
                })
            });
            return (threads.collect(), true);
        }
        let mut index = |size: [u32; 3]| {
            size.map(|n| match rng.u8(0..4) {
                0 => 0,
                1..=2 => n - 1,
                _ => rng.u32(0..n),
            })
        };
        let threads = (0..ALL_THREADS / 3).map(|_| ThreadIndices {
            thread: index(block),
            block: index(grid),
        });
        (threads.collect(), false)
    }
}

/// Returns all indices of a block or a grid.
fn all_indices([x, y, z]: [u32; 3]) -> impl Iterator<Item = [u32; 3]> {
    (0..z).flat_map(move |z| (0..y).flat_map(move |y| (0..x).map(move |x| [x, y, z])))
}

/// Random range of launches, with the launch that the program was written for.
pub struct DrawnRanges {
    /// The range, as the analysis takes it.
    pub ranges: LaunchRanges,
    nominal: OneLaunch,
}

impl DrawnRanges {
    /// Draws ranges around a nominal launch with these parameters.
    pub fn draw(parameters: &[u32], rng: &mut Rng) -> DrawnRanges {
        let nominal = OneLaunch::new(draw_block(rng), draw_grid(rng), parameters);
        let mut ranges = LaunchRanges::default();
        let sizes_known = rng.u8(0..4);
        let sizes = nominal.block.into_iter().chain(nominal.grid).enumerate();
        for (number, size) in sizes {
            let is_block = number < 3;
            let limit = match number {
                0 | 1 => 1024,
                2 => 64,
                3 => i32::MAX as u32,
                _ => u32::from(u16::MAX),
            };
            let range = match sizes_known {
                0 => None,
                1 => Some(WordRange::one(size)),
                2 => is_block.then(|| WordRange::one(size)),
                _ => {
                    let less = rng.u32(0..4).min(size - 1);
                    let more = rng.u32(0..4).min(limit - size);
                    let between = WordRange::between((size - less).into(), (size + more).into());
                    Some(between)
                }
            };
            match is_block {
                true => ranges.block[number] = range,
                false => ranges.grid[number - 3] = range,
            }
            let name = SIZE_NAMES[number].to_owned();
            let word = LaunchWord { name, range };
            ranges.words.insert((0, SIZES + 4 * number as u32), word);
        }
        let parameters_known = rng.u8(0..5);
        for (number, &word) in parameters.iter().enumerate() {
            let range = match parameters_known {
                0 => None,
                1 => Some(WordRange::one(word)),
                _ => draw_range(word, rng),
            };
            let offset = PARAMETERS + 4 * number as u32;
            let name = format!("p{number}");
            let known = LaunchWord { name, range };
            // A word that is not listed is unknown as well.
            if range.is_some() || rng.bool() {
                ranges.words.insert((0, offset), known);
            }
        }
        ranges.is_one_launch = sizes_known == 1 && parameters_known == 1;
        DrawnRanges { ranges, nominal }
    }

    /// Draws a launch that need not be in the range.
    pub fn any_launch(&self, rng: &mut Rng) -> OneLaunch {
        let words = (PARAMETERS..).step_by(4);
        let nominal = words.map_while(|offset| self.nominal.words.get(&(0, offset)).copied());
        let parameters: Vec<u32> = nominal.map(|word| draw_word(word, rng)).collect();
        OneLaunch::new(draw_block(rng), draw_grid(rng), &parameters)
    }

    /// Draws a launch of the range: with the nominal contents, at a corner, or any.
    pub fn member(&self, number: usize, rng: &mut Rng) -> OneLaunch {
        let style = match number {
            0 => 0,
            _ => rng.u8(0..4),
        };
        let mut size = |number: usize, range: Option<WordRange>, nominal: u32| match range {
            Some(range) => draw_member(range, nominal, style, rng),
            None if style == 0 => nominal,
            None if number < 3 => draw_block(rng)[number].min(nominal.max(2)),
            None => draw_grid(rng)[number - 3],
        };
        let mut block = [0, 1, 2].map(|at| size(at, self.ranges.block[at], self.nominal.block[at]));
        if block.iter().product::<u32>() > 1024 {
            block = self.nominal.block;
        }
        let grid = [0, 1, 2].map(|at| size(at + 3, self.ranges.grid[at], self.nominal.grid[at]));
        let parameters: Vec<u32> = (PARAMETERS..)
            .step_by(4)
            .map_while(|offset| {
                self.nominal
                    .words
                    .get(&(0, offset))
                    .map(|word| (offset, *word))
            })
            .map(|(offset, nominal)| {
                let word = self.ranges.words.get(&(0, offset));
                match word.and_then(|word| word.range) {
                    Some(range) => draw_member(range, nominal, style, rng),
                    None if rng.bool() => nominal,
                    None => draw_word(nominal, rng),
                }
            })
            .collect();
        OneLaunch::new(block, grid, &parameters)
    }
}

const SIZE_NAMES: [&str; 6] = [
    "blockDim.x",
    "blockDim.y",
    "blockDim.z",
    "gridDim.x",
    "gridDim.y",
    "gridDim.z",
];

fn draw_block(rng: &mut Rng) -> [u32; 3] {
    let x = [1, 2, 3, 4, 7, 8, 16, 32, 33, 64][rng.usize(0..10)];
    match rng.u8(0..4) {
        0 => [x, rng.u32(1..4), rng.u32(1..3)],
        1 => [[96, 256, 512][rng.usize(0..3)], 1, 1],
        _ => [x, 1, 1],
    }
}

fn draw_grid(rng: &mut Rng) -> [u32; 3] {
    match rng.u8(0..8) {
        0 => [[100, 4096, 65_536, i32::MAX as u32][rng.usize(0..4)], 1, 1],
        1 => [rng.u32(1..4), rng.u32(1..3), rng.u32(1..3)],
        2 => [1, u16::MAX.into(), 1],
        _ => [rng.u32(1..4), 1, 1],
    }
}

/// Draws the range of a word: none, the word alone, or numbers around it.
fn draw_range(word: u32, rng: &mut Rng) -> Option<WordRange> {
    let width = match rng.u8(0..8) {
        0 => return None,
        1 => return Some(WordRange::one(word)),
        2..=4 => 12,
        5..=6 => 300,
        _ => 1 << 20,
    };
    // Words of the upper half stand for numbers of either sign.
    let number = match rng.bool() {
        true => i64::from(word as i32),
        false => i64::from(word),
    };
    let least = number - rng.i64(0..=width);
    let most = number + rng.i64(0..=width);
    let least = least.max(i64::from(i32::MIN));
    let most = most.min(u32::MAX.into());
    let modulus = [1, 1, 1, 2, 4, 16][rng.usize(0..6)];
    Some(WordRange {
        least,
        most,
        modulus,
        residue: word & (modulus - 1),
    })
}

/// Draws a word of a range; `nominal` is one of it.
fn draw_member(range: WordRange, nominal: u32, style: u8, rng: &mut Rng) -> u32 {
    let modulus = i64::from(range.modulus);
    // Least and greatest number with the residue.
    let least = range.least + (i64::from(range.residue) - range.least).rem_euclid(modulus);
    let most = range.most - (range.most - i64::from(range.residue)).rem_euclid(modulus);
    let number = match style {
        0 => return nominal,
        1 => least,
        2 => most,
        _ => least + rng.i64(0..=(most - least) / modulus) * modulus,
    };
    number as u32
}

/// Draws a word: near the nominal one, small, near the ends of the ranges of numbers, or any.
fn draw_word(nominal: u32, rng: &mut Rng) -> u32 {
    let near = rng.u32(0..40);
    match rng.u8(0..6) {
        0 => nominal.wrapping_add(near).wrapping_sub(20),
        1 => near,
        2 => near.wrapping_neg(),
        3 => (1u32 << 31).wrapping_add(near).wrapping_sub(20),
        4 => 1 << rng.u32(0..32),
        _ => rng.u32(..),
    }
}
