//! Audit of bounds in cycles: simulated runs of a launch of one warp, compared with its bound.

use std::collections::BTreeMap;

use warpbound_audit::audit::{Claims, HeaderMaximum};
use warpbound_audit::{claims, monitor_single_warp};
use warpbound_base::{CodeAddr, Deadline, Diagnostic};
use warpbound_bounds::{CycleBound, CycleInputs, CycleOptions, LoneWarp};
use warpbound_ipet::{Effort, StatedCounts};
use warpbound_launch::LaunchFile;
use warpbound_launch::{PathOrder, StartCaches};
use warpbound_machine::{GpuModel, Parameter, Selection};
use warpbound_query::{
    AnalysedKernel, BoundOptions, CacheState, Prepared, Session, SplitOptions, StatedLaunches,
};
use warpbound_runs::{TimedOptions, simulate_with};
use warpbound_simulate::timed::Silent;
use warpbound_simulate::timed::SingleWarp;

use crate::control_words::{ControlWordProgram, KERNEL};
use crate::wave_programs::WaveProgram;

/// Machines whose bounds are audited, and the architecture of the code that runs on each.
pub const MACHINES: [(&str, u8); 4] = [
    ("jetson-tx2", 62),
    ("gtx1080", 61),
    ("p100", 61),
    ("titan-x-maxwell", 50),
];

/// Maximum number of warp instructions of a run.
const MOST_INSTRUCTIONS: u64 = 2_000_000;

/// Setup of one simulated run.
#[derive(Clone, Debug)]
pub struct RunSetup {
    /// Selection of the parameters.
    pub selection: Selection,
    /// Parameters with other values.
    pub set: Vec<(Parameter, u64)>,
    /// Initial state of the L2 cache.
    pub caches: StartCaches,
}

impl RunSetup {
    /// Returns setups for a machine: the slow end with both ends of the lines that are prefetched, the typical values,
    /// both ends of all ranges, and random selections.
    pub fn selections(machine: &GpuModel, caches: StartCaches, seeds: &[u64]) -> Vec<RunSetup> {
        let ahead = machine.range(Parameter::InstructionAhead);
        let of = |selection, set| RunSetup {
            selection,
            set,
            caches,
        };
        let slow = |ahead| of(Selection::Slow, vec![(Parameter::InstructionAhead, ahead)]);
        let mut setups = vec![slow(ahead.least)];
        if ahead.least != ahead.most {
            setups.push(slow(ahead.most));
        }
        let others = [Selection::Typical, Selection::Least, Selection::Most];
        let seeds = seeds.iter().map(|&seed| Selection::Seed(seed));
        setups.extend(
            others
                .into_iter()
                .chain(seeds)
                .map(|selection| of(selection, Vec::new())),
        );
        setups
    }
}

/// Initial states of the L2 cache that a bound holds for.
pub fn starts(caches: CacheState) -> &'static [StartCaches] {
    match caches {
        CacheState::Any => &[StartCaches::Warm, StartCaches::Cold],
        CacheState::Warm => &[StartCaches::Warm],
        CacheState::Cold => &[StartCaches::Cold],
    }
}

/// Kernel of a file on a machine, and the launches whose first and last warps run alone and are compared with its bounds.
pub struct CycleSubject<'a> {
    /// File with the kernel.
    pub session: &'a Session,
    /// Name of the kernel.
    pub kernel: &'a str,
    /// Launches; all have the same bound, as they differ in the contents of their buffers.
    pub launches: Vec<LaunchFile>,
    /// Bounds of loops, by the address of the header: header executions of a thread per entry.
    pub loops: Vec<(CodeAddr, u64)>,
    /// Machine of the bound.
    pub machine: &'a GpuModel,
    /// Initial state of the L2 cache for which the bound is computed.
    pub caches: CacheState,
    /// Splits of waves, in runs and bounds.
    pub splitting: SplitOptions,
}

/// Loop counts of a run: per entry, and in total.
type LoopCounts = (Vec<Option<u64>>, Vec<Option<u64>>);

/// Result of a comparison.
#[derive(Clone, Debug, Default)]
pub struct ComparedCycles {
    /// Runs that were compared.
    pub runs: u64,
    /// Runs above their bound: the setup, and both numbers.
    pub violations: Vec<String>,
    /// Cycles of the slowest run, without the overhead of the launch.
    pub worst: u64,
    /// Setup of the slowest run.
    pub worst_run: String,
    /// Bound with the stated loops, without the overhead of the launch; `None` if it was not computed.
    pub stated: Option<u64>,
    /// Largest bound with the loop counts of a run.
    pub counted: u64,
    /// Terms of the largest bound.
    pub terms: String,
}

impl ComparedCycles {
    fn add_run(&mut self, what: &str, cycles: u64, overhead: u64, bounds: &[&CycleBound]) {
        self.runs += 1;
        let net = cycles.saturating_sub(overhead);
        for bound in bounds {
            let limit = bound.bound.upper_bound().limit().0;
            if cycles > limit || net > bound.net() {
                let both = format!(
                    "{cycles} cycles, bound {limit}; net {net}, bound {}",
                    bound.net()
                );
                self.violations.push(format!("{what}: {both}"));
            }
        }
        if net > self.worst {
            self.worst = net;
            what.clone_into(&mut self.worst_run);
        }
    }
}

/// Claims of the analyses about a subject, from which its bounds follow.
struct PreparedSubject<'a> {
    subject: &'a CycleSubject<'a>,
    prepared: &'a Prepared<'a>,
    claims: Claims<'a>,
    /// Machine of the runs.
    machine: &'a GpuModel,
}

impl<'a> CycleSubject<'a> {
    fn bound_options(&self) -> BoundOptions {
        let launch = self.launches.first().cloned();
        BoundOptions {
            block: launch.as_ref().map(|launch| launch.block),
            launches: StatedLaunches {
                file: launch.map(Into::into),
                ..StatedLaunches::default()
            },
            ..BoundOptions::default()
        }
    }

    /// Compares runs on a machine with the bounds. The machine is the one of the bound unless a fault is planted.
    /// `change` changes the inputs of the bounds.
    ///
    /// # Errors
    ///
    /// The reason why there is no bound, or no run.
    pub fn compare(
        &self,
        machine: &GpuModel,
        setups: &[RunSetup],
        change: &dyn Fn(&mut CycleInputs),
    ) -> Result<ComparedCycles, Diagnostic> {
        let kernel = self.session.launched_kernel(None, Some(self.kernel))?;
        let prepared = self.session.prepare(kernel)?;
        let options = self.bound_options();
        let claims = claims(self.session, &prepared, &options)?;
        let knowledge = self.session.launch(
            kernel,
            &BoundOptions {
                block: None,
                ..options.clone()
            },
        )?;
        let subject = PreparedSubject {
            subject: self,
            prepared: &prepared,
            claims,
            machine,
        };
        let cycles = CycleOptions {
            counts: Default::default(),
            machine: self.machine.clone(),
            caches: self.caches,
            splitting: self.splitting.clone(),
        };
        let analysed = AnalysedKernel {
            session: self.session,
            prepared: &prepared,
            options: &options,
            knowledge: &knowledge,
            flow: &subject.claims.flow,
            deadline: Deadline::default(),
        };
        let mut lone = LoneWarp::new(analysed, &cycles, &subject.stated())?;
        lone.change(change);
        subject.compare(&lone, setups)
    }
}

impl PreparedSubject<'_> {
    /// Bounds of the loops of the flow, in its order.
    fn stated(&self) -> Vec<Option<u64>> {
        let sites = self.claims.flow.loops.sites.iter();
        let bound = |at| self.subject.loops.iter().find(|(known, _)| *known == at);
        sites
            .map(|site| bound(site.addr()).map(|(_, bound)| *bound))
            .collect()
    }

    /// Compares runs of all launches and orders with the bound for stated facts, and with that for the counts of the
    /// run.
    fn compare(
        &self,
        lone: &LoneWarp<'_>,
        setups: &[RunSetup],
    ) -> Result<ComparedCycles, Diagnostic> {
        let stated = self.stated();
        let of_facts = lone.bound(
            StatedCounts {
                bounds: &stated,
                totals: &vec![None; stated.len()],
                never: &[],
            },
            Effort::default(),
        )?;
        let mut found = ComparedCycles {
            stated: Some(of_facts.net()),
            ..ComparedCycles::default()
        };
        let mut known: BTreeMap<LoopCounts, CycleBound> = BTreeMap::new();
        let orders = [PathOrder::TakenFirst, PathOrder::FallThroughFirst];
        for (content, launch) in self.subject.launches.iter().enumerate() {
            let ends = self.ends(launch);
            let runs = ends
                .iter()
                .flat_map(|&warp| orders.map(|order| (warp, order)));
            for (warp, order) in runs {
                let counts = self.counts(launch, warp, order)?;
                if !known.contains_key(&counts) {
                    let stated = StatedCounts {
                        bounds: &counts.0,
                        totals: &counts.1,
                        never: &[],
                    };
                    known.insert(counts.clone(), lone.bound(stated, Effort::default())?);
                }
                let Some(of_run) = known.get(&counts) else {
                    continue;
                };
                if of_run.net() > found.counted {
                    found.counted = of_run.net();
                    found.terms = terms(of_run);
                }
                for setup in setups {
                    let (cycles, overhead) = self.run(launch, warp, order, setup)?;
                    let what = format!(
                        "{} {:?} {:?}, {order:?}, content {content}, warp {} of block {}",
                        setup.selection, setup.set, setup.caches, warp.warp, warp.block
                    );
                    found.add_run(&what, cycles, overhead, &[&of_facts, of_run]);
                }
            }
        }
        Ok(found)
    }

    /// The first warp of a launch, and the last one if it is another.
    fn ends(&self, launch: &LaunchFile) -> Vec<SingleWarp> {
        let product = |size: [u32; 3]| size.into_iter().map(u64::from).product::<u64>();
        let lanes = u64::from(self.prepared.family().lanes());
        let warps = product(launch.block).div_ceil(lanes).max(1);
        let first = SingleWarp { block: 0, warp: 0 };
        let last = SingleWarp {
            block: product(launch.grid).saturating_sub(1),
            warp: (warps - 1) as u32,
        };
        let ends = [first, last];
        let count = if first == last { 1 } else { 2 };
        ends[..count].to_vec()
    }

    /// Returns the loop counts of a warp.
    fn counts(
        &self,
        launch: &LaunchFile,
        warp: SingleWarp,
        order: PathOrder,
    ) -> Result<LoopCounts, Diagnostic> {
        let seen = monitor_single_warp(
            self.subject.session,
            self.prepared,
            &self.claims,
            launch,
            warp,
            order,
            MOST_INSTRUCTIONS,
        )?;
        if let Some(fault) = seen.fault {
            return Err(fault);
        }
        let count = |most: &Option<HeaderMaximum>| Some(most.map_or(0, |most| most.count));
        Ok((
            seen.observations.max_per_entry.iter().map(count).collect(),
            seen.observations.max_totals.iter().map(count).collect(),
        ))
    }

    /// Returns the cycles of a warp that runs alone, and the overhead of its launch.
    fn run(
        &self,
        launch: &LaunchFile,
        warp: SingleWarp,
        order: PathOrder,
        setup: &RunSetup,
    ) -> Result<(u64, u64), Diagnostic> {
        let machine = self.machine;
        let options = TimedOptions {
            selection: setup.selection,
            set: setup.set.clone(),
            caches: Some(setup.caches),
            order,
            only: Some(warp),
            max_instructions: Some(MOST_INSTRUCTIONS),
            splitting: self.subject.splitting.clone(),
            ..TimedOptions::new(machine.clone())
        };
        let run = simulate_with(
            self.subject.session,
            self.prepared,
            launch,
            &options,
            &mut Silent,
        )?;
        let selected = machine.select(setup.selection);
        let value = |parameter: Parameter| {
            let set = setup.set.iter().find(|(own, _)| *own == parameter);
            set.map_or(selected[parameter], |(_, value)| *value)
        };
        let overhead = value(Parameter::LaunchKernel) + value(Parameter::LaunchEnd);
        Ok((run.cycles.0.0, overhead))
    }
}

/// Terms of a bound that are not 0.
fn terms(bound: &CycleBound) -> String {
    let terms = bound.term_cycles().filter(|(_, cycles)| *cycles > 0);
    let terms: Vec<String> = terms
        .map(|(name, cycles)| format!("{name} {cycles}"))
        .collect();
    terms.join(", ")
}

/// Compares runs of a random program with its bounds on one of the machines of [`MACHINES`], which its seed selects.
///
/// # Errors
///
/// The reason why there is no bound, or no run.
pub fn compare_program(
    program: &ControlWordProgram,
    machines: &[GpuModel],
) -> Result<ComparedCycles, Diagnostic> {
    let number = (program.seed % MACHINES.len() as u64) as usize;
    let machine = &machines[number];
    let session = program.session(MACHINES[number].1);
    let states = [CacheState::Any, CacheState::Warm, CacheState::Cold];
    let caches = states[(program.seed / MACHINES.len() as u64 % 3) as usize];
    let subject = CycleSubject {
        session: &session,
        kernel: KERNEL,
        launches: vec![program.launch(0), program.launch(1)],
        loops: program
            .loops
            .iter()
            .map(|fact| (fact.header, fact.per_entry))
            .collect(),
        machine,
        caches,
        splitting: SplitOptions::default(),
    };
    let seeds = [2 * program.seed + 1, 2 * program.seed + 2];
    let setups: Vec<RunSetup> = starts(caches)
        .iter()
        .flat_map(|&start| RunSetup::selections(machine, start, &seeds))
        .collect();
    subject.compare(machine, &setups, &|_| {})
}

/// Machines of GCN3 whose bounds are audited.
pub const WAVE_MACHINES: [&str; 2] = ["gem5-apu", "r9-nano"];

/// Compares runs of a random program of waves with its bounds on one of some machines, which its seed selects.
///
/// # Errors
///
/// The reason why there is no bound, or no run.
pub fn compare_wave_program(
    program: &WaveProgram,
    machines: &[GpuModel],
) -> Result<ComparedCycles, Diagnostic> {
    let count = machines.len() as u64;
    let machine = &machines[(program.seed % count) as usize];
    let session = program.session();
    let states = [CacheState::Any, CacheState::Warm, CacheState::Cold];
    let caches = states[(program.seed / count % 3) as usize];
    let subject = CycleSubject {
        session: &session,
        kernel: crate::wave_programs::KERNEL,
        launches: vec![program.launch(0), program.launch(1)],
        loops: program.loops.clone(),
        machine,
        caches,
        splitting: SplitOptions::default(),
    };
    let seeds = [2 * program.seed + 1, 2 * program.seed + 2];
    let setups: Vec<RunSetup> = starts(caches)
        .iter()
        .flat_map(|&start| RunSetup::selections(machine, start, &seeds))
        .collect();
    subject.compare(machine, &setups, &|_| {})
}

/// Returns the machines of [`MACHINES`].
///
/// # Panics
///
/// The tool lacks one of them.
pub fn machines() -> Vec<GpuModel> {
    let model = |(name, _): (&str, u8)| GpuModel::built_in(name).expect("it comes with the tool");
    MACHINES.into_iter().map(model).collect()
}
