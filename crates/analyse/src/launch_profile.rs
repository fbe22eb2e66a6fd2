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
mod forecast;
pub(crate) mod launch;
mod lines;
mod loop_iterations;
pub(crate) mod operation;
mod record;
pub(crate) mod row;
pub(crate) mod run;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use warpbound_ir::OpIndex;
use warpbound_simt::lowest_lanes;

use accesses::AccessRecorder;
use decisive_cells::DecisiveCells;
use executions::ExecutionRecorder;
use forecast::StepForecast;
use launch::{LoopBits, ShapedWarp};
use row::{LANES, LaneRow};
use run::WarpRun;

pub use control::KnownTransfers;
pub use executions::{
    BlockKind, CountedAccesses, LaunchExecutions, LineWaitCounts, MAX_KIND_NUMBERS,
};
pub use launch::{
    GlobalContents, LaunchValues, LaunchedWarp, NoProfile, NoProfileReason, StatedLoop, WarpIssues,
};
pub use record::LaunchRecord;
pub use row::{ConstantWord, ValueOrigin};

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
