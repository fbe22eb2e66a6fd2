//! Prediction of counts: how often each block runs in a launch, and with how many lanes, by execution of the slice that
//! branches depend on (SOUNDNESS 15).
//!
//! Each warp is executed with values that are known or unknown, as launch profiles do, by the rules of the concrete
//! stack. Where an unknown value decides a transfer, all that the lanes may execute until they meet again is a
//! region: its blocks have unknown counts, and what it writes is unknown after it. Blocks outside of regions are
//! counted exactly. For example, after `if (a[i] > 0) x; y;` the count of `x` is unknown, and the count of `y` is
//! exact. Warps for which the launch decides the same are executed once.

mod region;
mod slice;
mod warp;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

use warpbound_ir::OpIndex;
use warpbound_simt::lowest_lanes;

use crate::blocks::Blocks;
use crate::launch_profile::decisive_cells::DecisiveCells;
use crate::launch_profile::launch::ShapedWarp;
use crate::launch_profile::row::{LANES, LaneRow};
use crate::launch_profile::{
    LaunchValues, LaunchedWarp, NoProfile, ValueOrigin, WarpShape, thread_rows,
};

use region::{Region, RegionStart};
use slice::Slice;
use warp::PredictedWarp;

/// Count of one block.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct BlockTally {
    /// Executions by a warp outside of regions.
    pub issues: u128,
    /// Active lanes, summed over these executions.
    pub lanes: u128,
    /// Operations whose unknown condition or target began a region that has the block, or at which a warp could not be
    /// followed. Without any, the count is exact.
    pub unknown_at: BTreeSet<OpIndex>,
    /// Whether some execution has lanes that others of the warp may have joined, so that a GPU executes the block less
    /// often if groups come together without a barrier. The lanes are exact all the same (SOUNDNESS 15.9).
    pub is_apart: bool,
}

impl BlockTally {
    /// Adds the count of a number of equal warps. A warp executes fewer blocks than there are steps, of 64 bits, and a
    /// launch has fewer than 2^63 warps.
    fn add(&mut self, other: &BlockTally, warps: u64) {
        self.issues += other.issues * u128::from(warps);
        self.lanes += other.lanes * u128::from(warps);
        self.unknown_at.extend(other.unknown_at.iter().copied());
        self.is_apart |= other.is_apart;
    }
}

/// Counts of all blocks in one warp.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WarpTally {
    /// Count of each block of the code.
    pub blocks: Vec<BlockTally>,
    /// The operation at which the warp could not be followed, if there is one; then all blocks are unknown.
    pub lost: Option<NoProfile>,
}

/// Counts of all blocks in a launch.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LaunchTally {
    /// Count of each block of the code.
    pub blocks: Vec<BlockTally>,
    /// Warps of the launch.
    pub warps: u64,
    /// Warps that were executed; the others are equal to one of them.
    pub executed: u64,
    /// The first warp that could not be followed.
    pub lost: Option<(LaunchedWarp, NoProfile)>,
    /// Properties of the launch that decided transfers.
    pub decided: ValueOrigin,
}

/// Predictor of the counts of one launch.
pub struct CountPredictor<'a> {
    values: LaunchValues<'a>,
    cells: DecisiveCells,
    slice: Slice,
    /// Thread index of the lanes of each warp of a block along each axis.
    threads: Vec<[LaneRow; 3]>,
    known: BTreeMap<ValueOrigin, HashMap<WarpShape, Rc<WarpTally>>>,
    regions: HashMap<RegionStart, Rc<Region>>,
    steps_left: u64,
    executed: u64,
}

impl<'a> CountPredictor<'a> {
    /// Makes a predictor of a launch, for these blocks of its code. Loops of the launch's values are not used.
    pub fn new(values: LaunchValues<'a>, blocks: &Blocks) -> CountPredictor<'a> {
        let memory = values.contents.is_some();
        let cells = DecisiveCells::find(values.code, memory, false);
        CountPredictor {
            slice: Slice::new(values.code, blocks, &cells, memory),
            cells,
            threads: thread_rows(values.block),
            known: BTreeMap::new(),
            regions: HashMap::new(),
            steps_left: values.steps,
            executed: 0,
            values,
        }
    }

    /// Returns the number of warps of a block.
    pub fn warps(&self) -> u32 {
        self.threads.len() as u32
    }

    /// Predicts one warp of the launch; returns also the properties of the launch that decided its counts.
    pub fn predict(&mut self, warp: LaunchedWarp) -> (ValueOrigin, Rc<WarpTally>) {
        let threads = self.values.block.iter().map(|&size| u64::from(size));
        let first = u64::from(warp.warp) * LANES as u64;
        let count = threads.product::<u64>().saturating_sub(first);
        let lanes = lowest_lanes(count.min(LANES as u64) as u32) as u32;
        let Some(&threads) = self.threads.get(warp.warp as usize).filter(|_| lanes != 0) else {
            let blocks = vec![BlockTally::default(); self.slice.len()];
            return (ValueOrigin::NONE, Rc::new(WarpTally { blocks, lost: None }));
        };
        // Grids can have more blocks than there is time to look at: each counts as a step.
        if let Err(reason) = self.values.spend_step(&mut self.steps_left) {
            let at = self.values.code.entry;
            return (
                ValueOrigin::NONE,
                Rc::new(self.lost(NoProfile { at, reason })),
            );
        }
        let equal = self.known.iter().find_map(|(&decided, tallies)| {
            let tally = tallies.get(&WarpShape::new(warp, lanes, decided))?;
            Some((decided, tally.clone()))
        });
        if let Some(equal) = equal {
            return equal;
        }
        let shaped = ShapedWarp {
            block: warp.block,
            lanes,
            threads,
        };
        let run = PredictedWarp::new(
            &self.values,
            &self.cells,
            &self.slice,
            shaped,
            &mut self.steps_left,
            &mut self.regions,
        );
        let (decided, tally) = run.execute();
        let tally = Rc::new(tally);
        self.executed += 1;
        let of_origin = self.known.entry(decided).or_default();
        of_origin.insert(WarpShape::new(warp, lanes, decided), tally.clone());
        (decided, tally)
    }

    /// Follows the first thread of the first block alone, as a warp of one lane, and returns its executions of each
    /// block.
    pub fn predict_first_thread(&mut self) -> WarpTally {
        let Some(&threads) = self.threads.first() else {
            return WarpTally {
                blocks: vec![BlockTally::default(); self.slice.len()],
                lost: None,
            };
        };
        let shaped = ShapedWarp {
            block: [0; 3],
            lanes: 1,
            threads,
        };
        let run = PredictedWarp::new(
            &self.values,
            &self.cells,
            &self.slice,
            shaped,
            &mut self.steps_left,
            &mut self.regions,
        );
        run.execute().1
    }

    /// Counts of a warp that cannot be followed.
    fn lost(&self, why: NoProfile) -> WarpTally {
        let unknown = BlockTally {
            unknown_at: BTreeSet::from([why.at]),
            ..BlockTally::default()
        };
        WarpTally {
            blocks: vec![unknown; self.slice.len()],
            lost: Some(why),
        }
    }

    /// Predicts all warps of the launch. After one that cannot be followed, no count is known, so it ends.
    pub fn predict_all(&mut self) -> LaunchTally {
        let grid = self.values.grid;
        let mut all = LaunchTally {
            blocks: vec![BlockTally::default(); self.slice.len()],
            ..LaunchTally::default()
        };
        'warps: for warp in 0..self.warps() {
            let mut place = LaunchedWarp {
                block: [0; 3],
                warp,
            };
            // Each round predicts the next block, and skips those that cannot differ from it.
            loop {
                let (decided, tally) = self.predict(place);
                let mut axis = 0;
                let mut equal = 1u64;
                while axis < 3 && place.block[axis] == 0 && !decided.has(ValueOrigin::BLOCK[axis]) {
                    // Along an axis whose index decided nothing, all blocks are equal to this one.
                    equal = equal.saturating_mul(u64::from(grid[axis]));
                    axis += 1;
                }
                all.add(place, decided, &tally, equal);
                // Without one warp, no count of the launch is known.
                if all.lost.is_some() {
                    break 'warps;
                }
                if !advance(&mut place.block, grid, axis) {
                    break;
                }
            }
        }
        let blocks = grid.iter().map(|&size| u64::from(size));
        let blocks = blocks.fold(1, u64::saturating_mul);
        all.warps = blocks.saturating_mul(u64::from(self.warps()));
        all.executed = self.executed;
        all
    }
}

/// Moves to the next block that differs along an axis, in the order x, y, z; returns whether there is one.
fn advance(block: &mut [u32; 3], grid: [u32; 3], first_axis: usize) -> bool {
    for axis in first_axis..3 {
        block[axis] += 1;
        if block[axis] < grid[axis] {
            return true;
        }
        block[axis] = 0;
    }
    false
}

impl LaunchTally {
    fn add(&mut self, place: LaunchedWarp, decided: ValueOrigin, tally: &WarpTally, warps: u64) {
        self.decided = self.decided.with(decided);
        for (block, more) in self.blocks.iter_mut().zip(&tally.blocks) {
            block.add(more, warps);
        }
        if let (None, Some(lost)) = (self.lost, tally.lost) {
            self.lost = Some((place, lost));
        }
    }
}
