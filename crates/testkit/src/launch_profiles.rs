//! Launch profiles against functional runs, warp by warp.

pub mod programs;

use std::collections::{BTreeMap, BTreeSet};

use warpbound_analyse::access::MemoryUnits;
use warpbound_analyse::blocks::Blocks;
use warpbound_analyse::launch_profile::{
    ConstantWord, GlobalContents, KnownTransfers, LaunchExecutions, LaunchProfiler, LaunchValues,
};
use warpbound_analyse::launch_profile::{LaunchProfile, LaunchedWarp, NoProfile, WarpIssues};
use warpbound_analyse::prediction::{CountPredictor, LaunchTally};
use warpbound_base::Deadline;
use warpbound_bounds::{ProfileOptions, with_launch_profiler};
use warpbound_ir::OpIndex;
use warpbound_isa::nvidia::WARP_LANES;
use warpbound_launch::{GlobalMemory, Launch, LaunchFile, PathOrder, bind};
use warpbound_load::Image;
use warpbound_query::{Prepared, Session};
use warpbound_simulate::functional::{ExecutionListener, Issue, launch_with_listener};

/// Instructions that each warp of a run issues.
#[derive(Clone, Debug, Default)]
struct IssueCounter {
    counts: BTreeMap<LaunchedWarp, u64>,
}

impl<E> ExecutionListener<E> for IssueCounter {
    fn issue(&mut self, issue: &Issue<'_, E>) -> bool {
        let warp = LaunchedWarp {
            block: issue.block,
            warp: issue.first_thread() / WARP_LANES,
        };
        *self.counts.entry(warp).or_default() += 1;
        true
    }
}

/// Executions of operations in a run, by warp, and in the parts between barriers.
#[derive(Clone, Debug, Default)]
pub struct ExecutionCounter {
    barriers: BTreeSet<OpIndex>,
    /// Of each warp, executions before each of its barriers, and after the last one.
    parts: BTreeMap<LaunchedWarp, Vec<BTreeMap<OpIndex, u64>>>,
}

impl<E> ExecutionListener<E> for ExecutionCounter {
    fn issue(&mut self, issue: &Issue<'_, E>) -> bool {
        let warp = LaunchedWarp {
            block: issue.block,
            warp: issue.first_thread() / WARP_LANES,
        };
        let parts = self.parts.entry(warp).or_default();
        if parts.is_empty() {
            parts.push(BTreeMap::new());
        }
        if let Some(part) = parts.last_mut() {
            *part.entry(issue.at).or_default() += 1;
        }
        if self.barriers.contains(&issue.at) {
            parts.push(BTreeMap::new());
        }
        true
    }
}

impl ExecutionCounter {
    /// Whether some number of a run is above what is claimed of the launch; as text.
    pub fn contradiction(&self, claimed: &LaunchExecutions) -> Option<String> {
        let mut of_blocks: BTreeMap<[u32; 3], BTreeMap<OpIndex, u64>> = BTreeMap::new();
        let mut of_launch: BTreeMap<OpIndex, u64> = BTreeMap::new();
        let above = |what: &str, seen: &BTreeMap<OpIndex, u64>, most: &BTreeMap<OpIndex, u64>| {
            let mut above = seen.iter().filter_map(|(at, &count)| {
                let most = most.get(at).copied().unwrap_or(0);
                (count > most).then(|| format!("{what}: operation {}, {count} > {most}", at.0))
            });
            above.next()
        };
        for (warp, parts) in &self.parts {
            let mut whole: BTreeMap<OpIndex, u64> = BTreeMap::new();
            for (&at, &count) in parts.iter().flatten() {
                *whole.entry(at).or_default() += count;
                *of_blocks
                    .entry(warp.block)
                    .or_default()
                    .entry(at)
                    .or_default() += count;
                *of_launch.entry(at).or_default() += count;
            }
            if let Some(text) = above("warp", &whole, &claimed.of_warp) {
                return Some(text);
            }
        }
        for of_block in of_blocks.values() {
            if let Some(text) = above("block", of_block, &claimed.of_block) {
                return Some(text);
            }
        }
        if let Some(text) = above("launch", &of_launch, &claimed.of_launch) {
            return Some(text);
        }
        let of_chain = claimed.of_chain.as_ref()?;
        // The chain that takes, in each part, the warp with the most executions of an operation.
        let parts = self.parts.values().map(Vec::len).max().unwrap_or(0);
        let mut chain: BTreeMap<OpIndex, u64> = BTreeMap::new();
        for number in 0..parts {
            let mut most: BTreeMap<OpIndex, u64> = BTreeMap::new();
            for (&at, &count) in self
                .parts
                .values()
                .filter_map(|own| own.get(number))
                .flatten()
            {
                let own = most.entry(at).or_default();
                *own = count.max(*own);
            }
            for (at, count) in most {
                *chain.entry(at).or_default() += count;
            }
        }
        above("chain", &chain, of_chain)
    }
}

/// Profile of a warp, and what a run issued.
#[derive(Clone, Copy, Debug)]
pub struct ComparedWarp {
    /// The warp.
    pub warp: LaunchedWarp,
    /// Instructions that it issued.
    pub issued: u64,
    /// Its profile.
    pub profile: Result<WarpIssues, NoProfile>,
}

impl ComparedWarp {
    /// Whether the profile contradicts the run: it is smaller, or exact and different.
    pub fn is_wrong(&self) -> bool {
        match self.profile {
            Ok(WarpIssues { issues, exact }) => {
                issues < self.issued || exact && issues != self.issued
            }
            Err(_) => false,
        }
    }
}

/// Instructions that each warp of a launch issues in a functional run.
///
/// # Errors
///
/// The fault of a run that has one.
pub fn issued_by_warp(
    contents: &[u8],
    prepared: &Prepared<'_>,
    launch: &LaunchFile,
    order: PathOrder,
    max_instructions: u64,
) -> Result<BTreeMap<LaunchedWarp, u64>, String> {
    let image = Image::parse(contents).map_err(|why| why.to_string())?;
    let (run, mut memory) = bind(
        launch,
        &image,
        prepared.kernel,
        &prepared.code,
        order,
        max_instructions,
    )
    .map_err(|why| why.to_string())?;
    let mut counter = IssueCounter::default();
    match launch_with_listener(&prepared.code, &run, &mut memory, &mut counter) {
        Ok(_) => Ok(counter.counts),
        Err(fault) => Err(format!("{fault:?}")),
    }
}

/// Profiles each warp that a run of the launch has executed, and compares. After a warp without a profile, the others
/// have none: the launch has no bound.
///
/// # Errors
///
/// The launch does not suit the kernel.
pub fn compare(
    session: &Session,
    prepared: &Prepared<'_>,
    launch: &LaunchFile,
    options: &ProfileOptions,
    issued: &BTreeMap<LaunchedWarp, u64>,
) -> Result<Vec<ComparedWarp>, String> {
    let compared = with_launch_profiler(session, prepared, launch, options, |profiler| {
        let mut failed = None;
        let each = issued.iter().map(|(&warp, &issued)| {
            let profile = match failed {
                None => profiler.profile(warp),
                Some(why) => Err(why),
            };
            failed = profile.err();
            ComparedWarp {
                warp,
                issued,
                profile,
            }
        });
        each.collect()
    });
    let (compared, _) = compared.map_err(|why| why.to_string())?;
    Ok(compared)
}

/// Launch of a [`ProfiledProgram`](programs::ProfiledProgram).
#[derive(Clone, Debug)]
pub struct ProgramLaunch {
    /// The launch.
    pub launch: Launch,
    /// Memory at its start: the two buffers.
    pub memory: GlobalMemory,
}

impl ProgramLaunch {
    /// A random launch; equal seeds give equal launches, but for the order of the sides of branches.
    pub fn random(seed: u64, order: PathOrder) -> ProgramLaunch {
        let mut rng = fastrand::Rng::with_seed(seed);
        let block = match rng.bool() {
            true => [rng.u32(1..80), 1, 1],
            false => [rng.u32(1..12), rng.u32(1..8), 1],
        };
        let grid = [rng.u32(1..4), 1, 1];
        let mut memory = GlobalMemory::default();
        let mut bank = vec![0; 0x150];
        for (at, name) in programs::BUFFERS.into_iter().zip(["written", "read"]) {
            let words = (0..programs::BUFFER_WORDS).flat_map(|_| rng.u32(0..8).to_le_bytes());
            let address = memory.add(name, words.collect());
            bank[at as usize..][..8].copy_from_slice(&address.to_le_bytes());
        }
        ProgramLaunch {
            launch: Launch {
                grid,
                block,
                shared: 0,
                local: 0,
                constants: vec![(0, bank)],
                textures: Vec::new(),
                surfaces: Vec::new(),
                max_instructions: 1_000_000,
                order,
                wave_entry: None,
            },
            memory,
        }
    }

    /// Instructions that each warp issues.
    pub fn issued(&self, code: &warpbound_ir::Code) -> BTreeMap<LaunchedWarp, u64> {
        let mut counter = IssueCounter::default();
        let mut memory = self.memory.clone();
        launch_with_listener(code, &self.launch, &mut memory, &mut counter)
            .expect("the programs end");
        counter.counts
    }

    /// Executions of operations by the warps of a run.
    pub fn executions(&self, code: &warpbound_ir::Code) -> ExecutionCounter {
        let barriers = (0..).map(OpIndex).zip(&code.ops);
        let mut counter = ExecutionCounter {
            barriers: barriers
                .filter(|(_, op)| op.barrier)
                .map(|(at, _)| at)
                .collect(),
            parts: BTreeMap::new(),
        };
        let mut memory = self.memory.clone();
        launch_with_listener(code, &self.launch, &mut memory, &mut counter)
            .expect("the programs end");
        counter
    }

    /// Counts the executions of all operations as a faulty profiler would that sees `seen` in place of the program;
    /// `None` if some warp cannot be followed.
    pub fn claimed_executions(
        &self,
        seen: &programs::ProfiledProgram,
        readable: Option<usize>,
    ) -> Option<LaunchExecutions> {
        let all = (0..seen.code.ops.len()).map(|at| OpIndex(at as u32));
        self.with_values(seen, readable, |values| {
            let record = LaunchProfiler::record(values, MemoryUnits::NVIDIA, all);
            Some(record.ok()?.executions)
        })
    }

    /// Profiles the warps of the launch as a faulty profiler would that sees `seen` in place of the program, and
    /// compares them with what they issued. With `readable`, loads from this buffer find what it holds at the start.
    pub fn compare(
        &self,
        seen: &programs::ProfiledProgram,
        issued: &BTreeMap<LaunchedWarp, u64>,
        readable: Option<usize>,
    ) -> Vec<ComparedWarp> {
        self.with_profiler(seen, readable, |profiler| {
            let compared = issued.iter().map(|(&warp, &issued)| ComparedWarp {
                warp,
                issued,
                profile: profiler.profile(warp),
            });
            compared.collect()
        })
    }

    /// Profiles all warps of the launch; with `readable`, loads from this buffer find what it holds at the start.
    pub fn profile(
        &self,
        program: &programs::ProfiledProgram,
        readable: Option<usize>,
    ) -> LaunchProfile {
        self.with_profiler(program, readable, |profiler| profiler.profile_all())
    }

    /// Predicts the counts of the launch as a faulty predictor would that sees `seen` in place of the program; with
    /// `readable`, loads from this buffer find what it holds at the start.
    pub fn predict(
        &self,
        seen: &programs::ProfiledProgram,
        readable: Option<usize>,
    ) -> LaunchTally {
        let blocks = Blocks::build(&seen.code, &BTreeSet::new());
        self.with_values(seen, readable, |values| {
            CountPredictor::new(values, &blocks).predict_all()
        })
    }

    fn with_profiler<T>(
        &self,
        seen: &programs::ProfiledProgram,
        readable: Option<usize>,
        compute: impl FnOnce(&mut LaunchProfiler<'_>) -> T,
    ) -> T {
        self.with_values(seen, readable, |values| {
            compute(&mut LaunchProfiler::new(values))
        })
    }

    fn with_values<T>(
        &self,
        seen: &programs::ProfiledProgram,
        readable: Option<usize>,
        compute: impl FnOnce(LaunchValues<'_>) -> T,
    ) -> T {
        let constant = |bank: u8, address: u32| {
            let (_, bytes) = self.launch.constants.first().filter(|_| bank == 0)?;
            let word = bytes.get(address as usize..)?.first_chunk::<4>()?;
            Some(ConstantWord {
                word: u32::from_le_bytes(*word),
                known: u32::MAX,
                is_address: true,
            })
        };
        let contents = readable.map(|buffer| StartContents {
            memory: &self.memory,
            buffer,
        });
        let transfers = KnownTransfers::default();
        compute(LaunchValues {
            code: &seen.code,
            grid: self.launch.grid,
            block: self.launch.block,
            constant: &constant,
            contents: contents
                .as_ref()
                .map(|contents| contents as &dyn GlobalContents),
            holds: None,
            transfers: &transfers,
            loops: &seen.loops,
            steps: 3_000_000,
            deadline: Deadline::default(),
        })
    }
}

/// Contents of one buffer at the start of a launch, whoever writes it.
struct StartContents<'a> {
    memory: &'a GlobalMemory,
    buffer: usize,
}

impl GlobalContents for StartContents<'_> {
    fn byte(&self, address: u64) -> Option<u8> {
        let buffer = self.memory.buffers().get(self.buffer)?;
        let at = address.checked_sub(buffer.address)?;
        buffer.bytes.get(usize::try_from(at).ok()?).copied()
    }

    fn write(&self, _address: Option<u64>, _bytes: u64) {}
}
