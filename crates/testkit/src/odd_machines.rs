//! Audit of bounds of launches on machines with odd numbers: each number may be 0, 1, 1000, or many times the one of
//! a real machine, and caches have few lines. With numbers near the ones of real machines, a bound may take for
//! granted which level of memory is the slower one, and no run shows it.

use fastrand::Rng;
use warpbound_audit::audit::{LaunchTimeAudit, LaunchTimeRuns, PathOrder};
use warpbound_audit::claims;
use warpbound_base::{Deadline, Diagnostic};
use warpbound_bounds::{CycleOptions, LaunchExtent, LaunchTime};
use warpbound_ipet::SchedulerClass;
use warpbound_ipet::{Effort, LaunchTerm, StatedCounts};
use warpbound_launch::LaunchFile;
use warpbound_machine::{Domain, GpuModel, Parameter, SchedulerPolicy, Selection, Unit};
use warpbound_query::{
    AnalysedKernel, BoundOptions, CacheState, Session, StatedLaunches, TimeScope,
};

use crate::control_words::{
    ControlWordProgram, odd_program, row_program, segment_program, short_program,
};
use crate::execute::mix;
use crate::short_launches::{MACHINES, compare_launch, counts_of, pinned_machine};

/// Sizes of a cache: parameters of its bytes, its line and its ways.
const CACHES: [[Parameter; 3]; 4] = [
    [
        Parameter::ConstantL1Bytes,
        Parameter::ConstantL1Line,
        Parameter::ConstantL1Ways,
    ],
    [
        Parameter::ConstantL15Bytes,
        Parameter::ConstantL15Line,
        Parameter::ConstantL15Ways,
    ],
    [
        Parameter::InstructionL1Bytes,
        Parameter::InstructionLine,
        Parameter::InstructionL1Ways,
    ],
    [
        Parameter::InstructionL15Bytes,
        Parameter::InstructionLine,
        Parameter::InstructionL15Ways,
    ],
];

/// Numbers that stay as they are: a launch must fit into them, they have no effect on cycles, or bounds are refused for
/// other values.
const KEPT: [Parameter; 19] = [
    Parameter::SmCount,
    Parameter::SmSchedulers,
    Parameter::SmWarps,
    Parameter::SmThreads,
    Parameter::SmRegisters,
    Parameter::SmShared,
    Parameter::BlockThreads,
    Parameter::BlockRegisters,
    Parameter::BlockShared,
    Parameter::RegisterStep,
    Parameter::WarpStep,
    Parameter::SharedStep,
    Parameter::Clock,
    Parameter::L1Line,
    Parameter::L1RequestThreads,
    Parameter::L2Line,
    Parameter::L2Sector,
    Parameter::SharedBanks,
    Parameter::SharedPoolThreads,
];

const BLOCKS: [u32; 12] = [1, 2, 2, 3, 4, 7, 9, 20, 33, 100, 195, 300];
const THREADS: [u32; 6] = [1, 32, 33, 64, 96, 160];
const SMS: [u64; 7] = [1, 1, 2, 2, 3, 20, 99];

/// Longest time that a machine of this audit takes for one event, in cycles.
const MOST_CYCLES: u64 = 200_000;

/// Launch on a machine with odd numbers.
pub struct OddLaunch {
    /// Its program.
    pub program: ControlWordProgram,
    /// Its code.
    pub session: Session,
    /// Launch of it.
    pub launch: LaunchFile,
    /// Machine and runs.
    pub runs: LaunchTimeRuns,
}

/// Returns the launch of a seed on a machine that is drawn too.
///
/// # Errors
///
/// If the machine does not come with the tool.
pub fn odd_launch(seed: u64) -> Result<OddLaunch, Diagnostic> {
    let mut rng = Rng::with_seed(mix(&[0x0dd_1a0c4, seed]));
    let program = match rng.u32(..8) {
        0 => short_program(seed),
        1 => segment_program(seed),
        2..=3 => row_program(seed),
        _ => odd_program(seed),
    };
    let (name, sm) = MACHINES[rng.usize(..MACHINES.len())];
    let base = GpuModel::built_in(name)?;
    let machine = odd_machine(&base, &mut rng).with(Parameter::SmCount, pick(&mut rng, &SMS));
    let mut launch = program.launch(seed);
    launch.grid = [pick(&mut rng, &BLOCKS), 1, 1];
    launch.block = [pick(&mut rng, &THREADS), 1, 1];
    let policies = [
        SchedulerPolicy::Gto,
        SchedulerPolicy::Lrr,
        SchedulerPolicy::Oldest,
        SchedulerPolicy::Youngest,
        SchedulerPolicy::Random(seed),
    ];
    let policies = [pick(&mut rng, &policies), pick(&mut rng, &policies)];
    let runs = LaunchTimeRuns {
        cycles: CycleOptions {
            counts: counts_of(seed),
            machine,
            caches: pick(
                &mut rng,
                &[CacheState::Cold, CacheState::Warm, CacheState::Warm],
            ),
            splitting: Default::default(),
        },
        runs: policies.map(|policy| (Selection::Typical, policy)).to_vec(),
        order: PathOrder::TakenFirst,
        max_instructions: 500_000,
        schedulers: SchedulerClass::WorkConserving,
        searches: false,
    };
    Ok(OddLaunch {
        session: program.session(sm),
        program,
        launch,
        runs,
    })
}

/// Compares the launch of a seed with its bound.
///
/// # Errors
///
/// As [`compare_launch`].
pub fn compare_odd_launch(seed: u64) -> Result<LaunchTimeAudit, Diagnostic> {
    let odd = odd_launch(seed)?;
    compare_launch(&odd.session, &odd.launch, &odd.runs)
}

/// Result of a search for the run that comes closest to its bound.
pub struct Climb {
    /// Comparisons that were made.
    pub steps: u64,
    /// The one with the smallest ratio.
    pub best: LaunchTimeAudit,
    /// Runs of all comparisons, and those that exceeded their bound.
    pub runs: u64,
    /// See [`Climb::runs`].
    pub exceeded: Vec<String>,
    /// Machine of that comparison.
    pub machine: GpuModel,
}

/// Changes numbers of the machine, blocks and threads of the launch of a seed one after the other, and keeps what
/// brings the run closer to its bound.
///
/// # Errors
///
/// As [`compare_launch`], for the first launch.
pub fn climb(seed: u64, steps: u64) -> Result<Climb, Diagnostic> {
    let mut rng = Rng::with_seed(mix(&[0xc11b, seed]));
    let mut odd = odd_launch(seed)?;
    let best = compare_launch(&odd.session, &odd.launch, &odd.runs)?;
    let mut found = Climb {
        steps: 1,
        runs: best.runs,
        exceeded: texts(&best),
        best,
        machine: odd.runs.cycles.machine.clone(),
    };
    for _ in 0..steps {
        let kept = (odd.launch.clone(), odd.runs.cycles.machine.clone());
        match rng.u32(..6) {
            0 => odd.launch.grid = [pick(&mut rng, &BLOCKS), 1, 1],
            1 => odd.launch.block = [pick(&mut rng, &THREADS), 1, 1],
            _ => {
                let changes = 1 + rng.u32(..3);
                for _ in 0..changes {
                    odd.runs.cycles.machine = change(&odd.runs.cycles.machine, &mut rng);
                }
            }
        }
        let Ok(audit) = compare_launch(&odd.session, &odd.launch, &odd.runs) else {
            (odd.launch, odd.runs.cycles.machine) = kept;
            continue;
        };
        found.steps += 1;
        found.runs += audit.runs;
        found.exceeded.extend(texts(&audit));
        let ratio = |audit: &LaunchTimeAudit| audit.ratio().unwrap_or(f64::INFINITY);
        match ratio(&audit) <= ratio(&found.best) {
            true => {
                found.best = audit;
                found.machine = odd.runs.cycles.machine.clone();
            }
            false => (odd.launch, odd.runs.cycles.machine) = kept,
        }
    }
    Ok(found)
}

/// Runs above their bound, as text.
fn texts(audit: &LaunchTimeAudit) -> Vec<String> {
    let exceeded = audit.exceeded.iter();
    exceeded
        .map(|run| format!("{}; {}; {:?}", run.text, audit.shape, audit.terms))
        .collect()
}

/// Bounds of a launch before and after something grew.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GrownBound {
    /// Name of the number that grew.
    pub what: String,
    /// Bound before and after it, in cycles.
    pub bounds: (u64, u64),
    /// Terms of both.
    pub terms: [String; 2],
}

/// Bounds the launch of a seed, and again with more iterations of a loop, more blocks, and longer ranges of numbers
/// of the machine. What has no bound is left out.
///
/// # Errors
///
/// The first launch has no bound.
pub fn grown_bounds(seed: u64) -> Result<Vec<GrownBound>, Diagnostic> {
    let odd = odd_launch(seed)?;
    let mut rng = Rng::with_seed(mix(&[0x640, seed]));
    let counts: Vec<u64> = odd.program.loops.iter().map(|l| l.per_entry).collect();
    let bounded = Bounded {
        odd: &odd,
        launch: odd.launch.clone(),
        machine: odd.runs.cycles.machine.clone(),
        counts,
    };
    let before = bounded.limit()?;
    let mut grown = Vec::new();
    for number in 0..bounded.counts.len() {
        let mut more = bounded.clone();
        more.counts[number] += 1 + rng.u64(..20);
        grown.push((format!("loop {number}"), more));
    }
    for blocks in BLOCKS {
        if blocks > bounded.launch.grid[0] {
            let mut more = bounded.clone();
            more.launch.grid = [blocks, 1, 1];
            grown.push((format!("{blocks} blocks"), more));
        }
    }
    let parameters: Vec<Parameter> = bounded.machine.parameters().collect();
    for _ in 0..8 {
        let parameter = pick(&mut rng, &parameters);
        let Some(value) = odd_value(&bounded.machine, parameter, &mut rng) else {
            continue;
        };
        if valid(bounded.machine.clone().with(parameter, value)).is_none() {
            continue;
        }
        let mut more = bounded.clone();
        more.machine = more.machine.extended(parameter, value);
        grown.push((format!("{} to {value}", parameter.name()), more));
    }
    let mut found = Vec::new();
    let mut fewer_blocks = before.clone();
    for (what, more) in grown {
        let Ok(after) = more.limit() else { continue };
        // Of more and more blocks, each bound is compared with the one before.
        let compared = match what.ends_with("blocks") {
            true => std::mem::replace(&mut fewer_blocks, after.clone()),
            false => before.clone(),
        };
        found.push(GrownBound {
            what,
            bounds: (compared.0, after.0),
            terms: [compared.1, after.1],
        });
    }
    Ok(found)
}

/// Launch that is bounded for stated loop counts.
#[derive(Clone)]
struct Bounded<'a> {
    odd: &'a OddLaunch,
    launch: LaunchFile,
    machine: GpuModel,
    counts: Vec<u64>,
}

impl Bounded<'_> {
    /// Bound in cycles, and its terms.
    fn limit(&self) -> Result<(u64, String), Diagnostic> {
        let OddLaunch {
            session, program, ..
        } = self.odd;
        let kernel = session.launched_kernel(None, self.launch.kernel.as_deref())?;
        let prepared = session.prepare(kernel)?;
        let options = BoundOptions {
            block: Some(self.launch.block),
            launches: StatedLaunches {
                file: Some(self.launch.clone().into()),
                ..StatedLaunches::default()
            },
            ..BoundOptions::default()
        };
        let claims = claims(session, &prepared, &options)?;
        let options = BoundOptions {
            block: None,
            ..options
        };
        let knowledge = session.launch(kernel, &options)?;
        let cycles = CycleOptions {
            machine: self.machine.clone(),
            ..self.odd.runs.cycles.clone()
        };
        let extent = LaunchExtent {
            scope: TimeScope::Grid,
            schedulers: self.odd.runs.schedulers,
        };
        let analysed = AnalysedKernel {
            session,
            prepared: &prepared,
            options: &options,
            knowledge: &knowledge,
            flow: &claims.flow,
            deadline: Deadline::default(),
        };
        let sites = claims.flow.loops.sites.iter();
        let stated: Vec<Option<u64>> = sites
            .map(|site| {
                let mut known = program.loops.iter().zip(&self.counts);
                let own = known.find(|(fact, _)| fact.header == site.addr());
                own.map(|(_, &count)| count)
            })
            .collect();
        let time = LaunchTime::new(analysed, &cycles, extent, &stated)?;
        let stated = StatedCounts {
            bounds: &stated,
            totals: &vec![None; stated.len()],
            never: &[],
        };
        let found = time.bound(stated, Effort::default())?;
        let terms = LaunchTerm::ALL.map(|term| (term.name(), found.bound.term(term)));
        let text = format!("{:?}; {terms:?}", time.shape());
        Ok((found.bound.upper_bound().limit().0, text))
    }
}

/// One of some values.
fn pick<T: Copy>(rng: &mut Rng, values: &[T]) -> T {
    values[rng.usize(..values.len())]
}

/// Returns a machine with one value for each number: some are near a real machine, the others odd.
pub fn odd_machine(base: &GpuModel, rng: &mut Rng) -> GpuModel {
    let mut machine = pinned_machine(base, rng.u64(..));
    let percent = pick(rng, &[0, 5, 20, 60]);
    for parameter in base.parameters() {
        if rng.u32(..100) < percent {
            machine = with_odd(machine, parameter, rng);
        }
    }
    for cache in CACHES {
        if rng.u32(..3) > 0 {
            machine = with_small_cache(machine, cache, rng);
        }
    }
    match rng.bool() {
        true => with_small_l1(machine, rng),
        false => machine,
    }
}

/// Returns a machine with one number, or the shape of one cache, drawn anew.
fn change(machine: &GpuModel, rng: &mut Rng) -> GpuModel {
    let parameters: Vec<Parameter> = machine.parameters().collect();
    match rng.u32(..5) {
        0 => with_small_cache(machine.clone(), pick(rng, &CACHES), rng),
        _ => with_odd(machine.clone(), pick(rng, &parameters), rng),
    }
}

/// Odd value of a number of a machine; `None` if the number is kept, or the machine has none.
fn odd_value(machine: &GpuModel, parameter: Parameter, rng: &mut Rng) -> Option<u64> {
    if KEPT.contains(&parameter) {
        return None;
    }
    let typical = machine.range(parameter).typical;
    let value = match parameter.domain() {
        Domain::Switch => rng.u64(..2),
        Domain::PowerOfTwo => 1 << rng.u32(..8),
        _ => pick(rng, &[0, 1, 10 * typical, 50 * typical, 1000, typical]),
    };
    let is_time = parameter.unit() == Unit::Cycles;
    (!is_time || value <= MOST_CYCLES).then_some(value)
}

/// Returns the machine with an odd value of a number, if it is a machine then.
fn with_odd(machine: GpuModel, parameter: Parameter, rng: &mut Rng) -> GpuModel {
    match odd_value(&machine, parameter, rng) {
        Some(value) => valid(machine.clone().with(parameter, value)).unwrap_or(machine),
        None => machine,
    }
}

/// Returns the machine with a cache of few lines, if it is a machine then.
fn with_small_cache(
    machine: GpuModel,
    [bytes, line, ways]: [Parameter; 3],
    rng: &mut Rng,
) -> GpuModel {
    let of_line = match rng.bool() {
        true => pick(rng, &[32, 64, 128, 256]),
        false => machine.range(line).typical,
    };
    let of_ways = pick(rng, &[1, 1, 2, 4]);
    let sets = pick(rng, &[1, 2, 3, 4, 8, 16]);
    let small = machine
        .clone()
        .with(line, of_line)
        .with(ways, of_ways)
        .with(bytes, of_line * of_ways * sets);
    valid(small).unwrap_or(machine)
}

/// Returns the machine with one L1 cache for each SM that all loads look up, of few lines or of just enough for a small
/// launch, if it is a machine then. A bound may take such a cache to keep what the launch loads.
fn with_small_l1(machine: GpuModel, rng: &mut Rng) -> GpuModel {
    let line = machine.range(Parameter::L1Line).typical;
    let sets = pick(rng, &[1, 2, 3, 4, 8]);
    let ways = pick(rng, &[1, 2, 4, 8, 16, 64]);
    let small = machine
        .clone()
        .with(Parameter::L1Units, 1)
        .with(Parameter::L1AllLoads, 1)
        .with(Parameter::L1Sets, sets)
        .with(
            Parameter::L1Bytes,
            line * sets * ways + rng.u64(..line * sets),
        );
    valid(small).unwrap_or(machine)
}

/// Returns a model if its numbers describe a machine together.
fn valid(machine: GpuModel) -> Option<GpuModel> {
    let numbers = machine.select(Selection::Typical);
    numbers.check().is_ok().then_some(machine)
}
