//! Launch profiles: the instructions that each warp of a launch of machine code issues, by execution with values that
//! are known or unknown (SOUNDNESS 6.5).
//!
//! Known are the values that follow from the launch: constants, parameters, thread and block indices. Unknown are
//! values that come from memory, clocks and approximations. Where an unknown value decides a transfer, the warp
//! continues on both sides, with the lanes that may be there; loops end by their stated bounds. For example,
//! `if (n > 8)` on a parameter is decided, while after `if (a[i] > 8)` each lane may be on either side. Only cells
//! that may decide a transfer are followed. Warps for which the launch decides the same are executed once.

mod accesses;
mod alternative;
mod candidates;
pub(crate) mod control;
pub(crate) mod decisive_cells;
pub(crate) mod effects;
mod executions;
mod lines;
mod loop_iterations;
pub(crate) mod operation;
pub(crate) mod row;
pub(crate) mod run;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use warpbound_base::Deadline;
use warpbound_ir::{Code, OpIndex};
use warpbound_simt::lowest_lanes;

use accesses::AccessRecorder;
use decisive_cells::DecisiveCells;
use executions::ExecutionRecorder;
use row::{LANES, LaneRow};
use run::{ShapedWarp, WarpRun};

pub use accesses::LaunchRecord;
pub use executions::{BlockKind, CountedAccesses, LaunchExecutions, MAX_KIND_NUMBERS};
pub use row::ValueOrigin;

/// Steps between two looks at the clock.
const DEADLINE_STEPS: u64 = 1 << 12;

/// Word of a constant bank of a launch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ConstantWord {
    /// Its value; any bits where they are unknown.
    pub word: u32,
    /// Its known bits. The bits next to a parameter of one or two bytes are unknown unless another parameter defines
    /// them.
    pub known: u32,
    /// Whether it follows from the addresses of buffers, variables or windows, which another run may choose otherwise.
    pub is_address: bool,
}

impl ConstantWord {
    /// Returns the value, if all bits are known.
    pub fn whole(self) -> Option<u32> {
        (self.known == u32::MAX).then_some(self.word)
    }

    fn origin(self) -> ValueOrigin {
        match self.is_address {
            true => ValueOrigin::ADDRESS,
            false => ValueOrigin::NONE,
        }
    }
}

/// Global memory whose contents a profile may read as constants.
pub trait GlobalContents {
    /// The byte at an address, if it is the same during the whole launch.
    fn byte(&self, address: u64) -> Option<u8>;

    /// A thread may write this number of bytes at an address, which is `None` if it is not known.
    fn write(&self, address: Option<u64>, bytes: u64);

    /// Whether a thread may write contents that are read as constants; results that were computed with them will not
    /// be used.
    fn is_outdated(&self) -> bool {
        false
    }
}

/// Loop whose header a thread executes at most `bound` times for each entry of the loop.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StatedLoop {
    /// Its only header.
    pub header: OpIndex,
    /// Its operations; none of them is also executed outside it.
    pub body: BTreeSet<OpIndex>,
    /// Maximum number of header executions.
    pub bound: u64,
}

/// Launch to be profiled: what is known of its values.
pub struct LaunchValues<'a> {
    /// Code of the kernel.
    pub code: &'a Code,
    /// Blocks of the grid in x, y, z.
    pub grid: [u32; 3],
    /// Threads of a block in x, y, z.
    pub block: [u32; 3],
    /// Word of a constant bank at a byte address.
    pub constant: &'a dyn Fn(u8, u32) -> Option<ConstantWord>,
    /// Memory that loads may read; without it, all that they load is unknown.
    pub contents: Option<&'a dyn GlobalContents>,
    /// Whether global memory has this number of bytes at an address; without it, no access is compared with it.
    pub holds: Option<&'a dyn Fn(u64, u32) -> bool>,
    /// For indirect jumps, all operations that they can reach.
    pub indirect: &'a BTreeMap<OpIndex, BTreeSet<OpIndex>>,
    /// Loops with a bound, at most [`LaunchValues::MAX_LOOPS`].
    pub loops: &'a [StatedLoop],
    /// Maximum number of warp instructions that are executed for all warps together.
    pub steps: u64,
    /// Time at which profiles end without a result.
    pub deadline: Deadline,
}

impl LaunchValues<'_> {
    /// Largest number of loops with a bound.
    pub const MAX_LOOPS: usize = 64;

    /// Default of [`LaunchValues::steps`].
    pub const STEPS: u64 = 50_000_000;

    /// Uses up a step; fails if none is left, after the deadline, or if the result will not be used.
    pub(crate) fn spend_step(&self, left: &mut u64) -> Result<(), NoProfileReason> {
        *left = left.checked_sub(1).ok_or(NoProfileReason::Steps)?;
        if !left.is_multiple_of(DEADLINE_STEPS) {
            return Ok(());
        }
        // A loop that waits for a write may be endless with the contents from before.
        if self.contents.is_some_and(|contents| contents.is_outdated()) {
            return Err(NoProfileReason::Outdated);
        }
        match self.deadline.is_past() {
            true => Err(NoProfileReason::TimeLimit),
            false => Ok(()),
        }
    }
}

/// Instructions of one warp.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WarpIssues {
    /// Maximum number of instructions that it issues.
    pub issues: u64,
    /// Whether every run of the launch issues exactly this number, because no unknown value decided anything.
    pub exact: bool,
}

/// Reason why a warp has no profile.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NoProfileReason {
    /// An operation that profiles do not follow.
    Unsupported,
    /// An indirect jump whose target is unknown.
    IndirectJump,
    /// Unknown values decide too often: most likely a loop without a bound.
    Decisions,
    /// Too many instructions.
    Steps,
    /// Too many stack entries: most likely an endless recursion.
    StackHeight,
    /// The deadline has passed.
    TimeLimit,
    /// Contents that were read as constants are written in the launch.
    Outdated,
}

/// Failure of a profile.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NoProfile {
    /// Operation at which it ends.
    pub at: OpIndex,
    /// Reason.
    pub reason: NoProfileReason,
}

/// Warp of a launch.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct LaunchedWarp {
    /// Index of its block.
    pub block: [u32; 3],
    /// Its number in the block.
    pub warp: u32,
}

/// Profile of all warps of a launch.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LaunchProfile {
    /// The warp with the largest number of instructions among those that have a profile; the first of them.
    pub worst: Option<(LaunchedWarp, WarpIssues)>,
    /// The warp with the largest number of instructions among those whose profile is exact; the first of them.
    pub worst_exact: Option<(LaunchedWarp, u64)>,
    /// The first warp without a profile.
    pub undecided: Option<(LaunchedWarp, NoProfile)>,
    /// Warps that were executed; the others are equal to one of them.
    pub executed: u64,
    /// Operations at which unknown values decided.
    pub unknown_at: BTreeSet<OpIndex>,
    /// Properties of the launch that decided transfers.
    pub decided: ValueOrigin,
}

impl LaunchProfile {
    /// Maximum number of instructions that any warp of the launch issues, if all warps have a profile.
    pub fn bound(&self) -> Option<WarpIssues> {
        match self.undecided {
            None => self.worst.map(|(_, issues)| issues),
            Some(_) => None,
        }
    }
}

/// Profiler of the warps of one launch.
pub struct LaunchProfiler<'a> {
    values: LaunchValues<'a>,
    cells: DecisiveCells,
    /// For each operation, its loops.
    loops_of: Vec<LoopBits>,
    /// Thread index of the lanes of each warp of a block along each axis.
    threads: Vec<[LaneRow; 3]>,
    known: KnownWarps,
    steps_left: u64,
    executed: u64,
    unknown_at: BTreeSet<OpIndex>,
    decided: ValueOrigin,
    /// Accesses, if they are recorded.
    accesses: Option<AccessRecorder>,
    /// Executions, if they are counted.
    executions: Option<ExecutionRecorder>,
}

/// Blocks after which the steps of the others are forecast.
const FORECAST_BLOCKS: u64 = 1024;

/// Forecast of the steps of the blocks of a launch whose index decides what they do.
///
/// Recognises early that the steps of a launch do not suffice: each block takes at least one step, and if the first
/// blocks all take more, the others are expected to take as many as the least of them. A wrong forecast loses a
/// profile, and nothing else.
struct StepForecast {
    /// Blocks that are not done.
    blocks: u128,
    done: u64,
    /// Minimum number of steps of a block so far.
    least: u64,
    steps_left: u64,
}

impl StepForecast {
    fn new(grid: [u32; 3], steps_left: u64) -> StepForecast {
        StepForecast {
            blocks: grid.iter().map(|&blocks| u128::from(blocks)).product(),
            done: 0,
            least: u64::MAX,
            steps_left,
        }
    }

    /// Enters another block, after which `steps_left` remain; returns whether the other blocks need more.
    fn exceeds(&mut self, steps_left: u64) -> bool {
        self.least = self.least.min(self.steps_left.saturating_sub(steps_left));
        self.steps_left = steps_left;
        self.blocks = self.blocks.saturating_sub(1);
        self.done += 1;
        let each = match self.done {
            1 => 1,
            FORECAST_BLOCKS => self.least.max(1),
            _ => return false,
        };
        self.blocks.saturating_mul(each.into()) > u128::from(steps_left)
    }
}

/// Loops of [`LaunchValues::loops`] at an operation, as bits.
#[derive(Clone, Copy, Default, Debug)]
struct LoopBits {
    /// Loops that contain it.
    around: u64,
    /// Loops whose header it is.
    headed: u64,
}

/// Results of executed warps, by the properties that decided them. Warps that agree in these have equal results.
#[derive(Default)]
struct KnownWarps {
    by_origin: BTreeMap<ValueOrigin, HashMap<WarpShape, KnownWarp>>,
}

/// Result of an executed warp.
#[derive(Clone, Copy)]
struct KnownWarp {
    result: Result<WarpIssues, NoProfile>,
    /// Number of its executions, if they are counted.
    recorded: Option<usize>,
}

/// Profile of a warp: its own, or the profile of an equal warp.
struct DecidedProfile {
    /// Properties of the launch that decided it.
    decided: ValueOrigin,
    result: Result<WarpIssues, NoProfile>,
    /// See [`KnownWarp::recorded`].
    recorded: Option<usize>,
}

impl DecidedProfile {
    /// A profile that was not executed.
    fn without_execution(result: Result<WarpIssues, NoProfile>) -> DecidedProfile {
        DecidedProfile {
            decided: ValueOrigin::NONE,
            result,
            recorded: None,
        }
    }
}

/// Properties of a warp that decided its profile; the others are 0.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct WarpShape {
    block: [u32; 3],
    warp: u32,
    lanes: u32,
}

impl WarpShape {
    pub(crate) fn new(warp: LaunchedWarp, lanes: u32, decided: ValueOrigin) -> WarpShape {
        let if_decided = |origin, number| match decided.has(origin) {
            true => number,
            false => 0,
        };
        WarpShape {
            block: std::array::from_fn(|axis| {
                if_decided(ValueOrigin::BLOCK[axis], warp.block[axis])
            }),
            warp: if_decided(ValueOrigin::WARP, warp.warp),
            lanes,
        }
    }
}

impl KnownWarps {
    fn find(&self, warp: LaunchedWarp, lanes: u32) -> Option<DecidedProfile> {
        // The result holds for each warp that has the same values of the properties which decided it.
        self.by_origin.iter().find_map(|(&decided, results)| {
            let known = results.get(&WarpShape::new(warp, lanes, decided))?;
            Some(DecidedProfile {
                decided,
                result: known.result,
                recorded: known.recorded,
            })
        })
    }
}

impl<'a> LaunchProfiler<'a> {
    /// Makes a profiler of a launch. Loops beyond [`LaunchValues::MAX_LOOPS`] count as loops without a bound.
    pub fn new(values: LaunchValues<'a>) -> LaunchProfiler<'a> {
        LaunchProfiler::following(values, None)
    }

    /// A profiler that records accesses, if there is a recorder for them.
    fn following(values: LaunchValues<'a>, accesses: Option<AccessRecorder>) -> LaunchProfiler<'a> {
        let code = values.code;
        let mut loops_of = vec![LoopBits::default(); code.ops.len()];
        for (number, stated) in values
            .loops
            .iter()
            // One bit for each loop.
            .take(LaunchValues::MAX_LOOPS)
            .enumerate()
        {
            for at in &stated.body {
                if let Some(bits) = loops_of.get_mut(at.index()) {
                    bits.around |= 1u64 << number;
                    if *at == stated.header {
                        bits.headed |= 1u64 << number;
                    }
                }
            }
        }
        LaunchProfiler {
            cells: DecisiveCells::find(code, values.contents.is_some(), accesses.is_some()),
            accesses,
            executions: None,
            loops_of,
            threads: thread_rows(values.block),
            known: KnownWarps::default(),
            steps_left: values.steps,
            executed: 0,
            unknown_at: BTreeSet::new(),
            decided: ValueOrigin::NONE,
            values,
        }
    }

    /// Returns the number of warps of a block.
    pub fn warps(&self) -> u32 {
        self.threads.len() as u32
    }

    /// Profiles one warp of the launch.
    ///
    /// # Errors
    ///
    /// [`NoProfile`] if it cannot be followed.
    pub fn profile(&mut self, warp: LaunchedWarp) -> Result<WarpIssues, NoProfile> {
        self.decided_profile(warp).result
    }

    /// The profile of a warp, and what decided it.
    fn decided_profile(&mut self, warp: LaunchedWarp) -> DecidedProfile {
        let threads = self
            .values
            .block
            .iter()
            .map(|&size| u64::from(size))
            .product::<u64>();
        let first = u64::from(warp.warp) * LANES as u64;
        let count = threads.saturating_sub(first).min(LANES as u64);
        let lanes = lowest_lanes(count as u32) as u32;
        let none = WarpIssues {
            issues: 0,
            exact: true,
        };
        let Some(&threads) = self.threads.get(warp.warp as usize).filter(|_| lanes != 0) else {
            return DecidedProfile::without_execution(Ok(none));
        };
        // Grids can have more blocks than there is time to look at: each counts as a step.
        if let Err(reason) = self.values.spend_step(&mut self.steps_left) {
            let at = self.values.code.entry;
            return DecidedProfile::without_execution(Err(NoProfile { at, reason }));
        }
        if let Some(known) = self.known.find(warp, lanes) {
            return known;
        }
        let shaped = ShapedWarp {
            block: warp.block,
            lanes,
            threads,
        };
        let mut run = WarpRun::new(
            &self.values,
            &self.cells,
            &self.loops_of,
            shaped,
            &mut self.steps_left,
        );
        run.accesses = self.accesses.as_mut();
        run.executions = self.executions.as_mut();
        let result = run.execute();
        let decided = run.decided;
        self.unknown_at.append(&mut run.unknown_at);
        self.decided = self.decided.with(decided);
        self.executed += 1;
        // Only the properties that decided it tell the warp apart from others.
        let shape = WarpShape::new(warp, lanes, decided);
        let of_origin = self.known.by_origin.entry(decided).or_default();
        let recorded = self.executions.as_ref().map(ExecutionRecorder::last);
        of_origin.insert(shape, KnownWarp { result, recorded });
        DecidedProfile {
            decided,
            result,
            recorded,
        }
    }

    /// Reason why a launch of very many blocks is not executed.
    fn too_many_steps(&self) -> NoProfile {
        NoProfile {
            at: self.values.code.entry,
            reason: NoProfileReason::Steps,
        }
    }

    /// Profiles all warps of the launch.
    pub fn profile_all(&mut self) -> LaunchProfile {
        let mut all = LaunchProfile::default();
        for warp in 0..self.warps() {
            let [width, height, depth] = self.values.grid;
            let mut forecast = StepForecast::new(self.values.grid, self.steps_left);
            'blocks: for z in 0..depth {
                for y in 0..height {
                    for x in 0..width {
                        let place = LaunchedWarp {
                            block: [x, y, z],
                            warp,
                        };
                        let profiled = self.decided_profile(place);
                        all.add(place, profiled.result);
                        let decided = profiled.decided;
                        let differs = ValueOrigin::BLOCK.iter().any(|&axis| decided.has(axis));
                        // The warp is the same in all blocks if the index of the block decided nothing.
                        if all.undecided.is_some() || !differs {
                            break 'blocks;
                        }
                        if forecast.exceeds(self.steps_left) {
                            all.add(place, Err(self.too_many_steps()));
                            break 'blocks;
                        }
                    }
                }
            }
            if all.undecided.is_some() {
                break;
            }
        }
        LaunchProfile {
            executed: self.executed,
            unknown_at: self.unknown_at.clone(),
            decided: self.decided,
            ..all
        }
    }
}

impl LaunchProfile {
    fn add(&mut self, warp: LaunchedWarp, result: Result<WarpIssues, NoProfile>) {
        match result {
            Ok(issues) => {
                let is_more = |(_, most): &(LaunchedWarp, WarpIssues)| most.issues < issues.issues;
                if self.worst.as_ref().is_none_or(is_more) {
                    self.worst = Some((warp, issues));
                }
                let is_more = |(_, most): &(LaunchedWarp, u64)| *most < issues.issues;
                if issues.exact && self.worst_exact.as_ref().is_none_or(is_more) {
                    self.worst_exact = Some((warp, issues.issues));
                }
            }
            Err(why) => {
                self.undecided.get_or_insert((warp, why));
            }
        }
    }
}

/// Thread indices of the lanes of each warp of a block along each axis. An index follows from the number of the warp if
/// it is not the same in all warps.
pub(crate) fn thread_rows(block: [u32; 3]) -> Vec<[LaneRow; 3]> {
    let [x, y, z] = block.map(|size| u64::from(size.max(1)));
    let warps = (x * y * z).div_ceil(LANES as u64);
    // CUDA numbers the threads of a block x + y·X + z·X·Y; a warp has consecutive ones (SOUNDNESS 5.9).
    let index = |thread: u64| {
        let line = thread / x;
        [thread % x, line % y, line / y].map(|index| index as u32)
    };
    let rows = |warp: u64| {
        let lanes: [[u32; 3]; LANES] =
            std::array::from_fn(|lane| index(warp * LANES as u64 + lane as u64));
        [0, 1, 2].map(|axis| lanes.map(|index| index[axis]))
    };
    let all: Vec<[[u32; LANES]; 3]> = (0..warps).map(rows).collect();
    // An index that is the same in all warps does not tell one warp from another.
    let is_same = |axis: usize| all.windows(2).all(|pair| pair[0][axis] == pair[1][axis]);
    let origins = [0, 1, 2].map(|axis| match is_same(axis) {
        true => ValueOrigin::NONE,
        false => ValueOrigin::WARP,
    });
    let with_origins = |rows: &[[u32; LANES]; 3]| {
        std::array::from_fn(|axis| LaneRow::of_lanes(rows[axis], origins[axis]))
    };
    all.iter().map(with_origins).collect()
}

#[cfg(test)]
mod tests {
    use super::{FORECAST_BLOCKS, StepForecast};

    #[test]
    fn blocks_beyond_the_steps_that_are_left_are_forecast() {
        // Each of nine further blocks takes a step at least.
        assert!(StepForecast::new([5, 2, 1], 20).exceeds(8));
        assert!(!StepForecast::new([5, 2, 1], 20).exceeds(9));
        // The others are expected to take three, as the least of the first ones.
        let after_some = |further: u32, left: u64| {
            let blocks = FORECAST_BLOCKS as u32 + further;
            let mut forecast = StepForecast::new([blocks, 1, 1], 4 * FORECAST_BLOCKS + left);
            let least = (1..FORECAST_BLOCKS)
                .any(|done| forecast.exceeds(4 * (FORECAST_BLOCKS - done) + left));
            assert!(!least);
            forecast.exceeds(left + 1)
        };
        assert!(after_some(1000, 2998));
        assert!(!after_some(1000, 2999));
    }
}
