//! Derived bounds of random programs of waves, compared with the executions of threads.

use std::collections::BTreeMap;

use fastrand::Rng;
use warpbound_base::{CodeAddr, Deadline, Diagnostic, SizeLimits};
use warpbound_query::loop_verdicts::LoopVerdicts;
use warpbound_query::{BoundOptions, KernelFlow, Prepared, Session};
use warpbound_runs::{RunOptions, execute_prepared};

use super::launches::{LaunchStatement, LoopLaunch, LoopThread};
use super::{KERNEL, LoopedWaves};

/// Statements about launches for each program, and launches for each statement.
const STATEMENTS: usize = 4;
const LAUNCHES: usize = 12;

/// Planted fault.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LaunchFault {
    /// The analysis assumes that grids and groups have the limits of CUDA.
    CudaSizes,
}

/// Totals of a campaign.
#[derive(Clone, Debug, Default)]
pub struct WaveLoopCampaign {
    /// Programs.
    pub programs: usize,
    /// Loops, once for each statement.
    pub loops: usize,
    /// Loops with a bound for any launch, and with a bound for the stated launches.
    pub derived: [usize; 2],
    /// Bounds that some thread reaches.
    pub reached: usize,
    /// Contradictions.
    pub problems: Vec<String>,
}

impl WaveLoopCampaign {
    /// Checks the programs of some seeds.
    pub fn run(seeds: std::ops::Range<u64>, fault: Option<LaunchFault>) -> WaveLoopCampaign {
        let mut campaign = WaveLoopCampaign::default();
        for seed in seeds {
            let program = LoopedWaves::generate(seed);
            campaign.programs += 1;
            if let Err(why) = campaign.program(&program, fault) {
                campaign.problems.push(format!("program {seed:#x}: {why}"));
            }
        }
        campaign
    }

    fn program(
        &mut self,
        program: &LoopedWaves,
        fault: Option<LaunchFault>,
    ) -> Result<(), Diagnostic> {
        let mut rng = Rng::with_seed(program.seed);
        let session = program.session();
        let kernel = session.only_kernel(Some(KERNEL))?;
        let prepared = session.prepare(kernel)?;
        self.run_small(program, &session, &prepared, &mut rng)?;
        for _ in 0..STATEMENTS {
            let stated = LaunchStatement::draw(&mut rng);
            let options = stated.options();
            let mut knowledge = session.launch(kernel, &options)?;
            if fault == Some(LaunchFault::CudaSizes) {
                knowledge.ranges.limits = SizeLimits::CUDA;
            }
            let flow = session.flow(&prepared, &knowledge.context, &options)?;
            let any: Vec<LoopLaunch> = (0..LAUNCHES).map(|_| LoopLaunch::draw(&mut rng)).collect();
            let members: Vec<LoopLaunch> = any.iter().map(|other| stated.member(*other)).collect();
            self.loops += program.loops.len();
            // Options that state nothing ask for what holds in any launch.
            let of_any = (BoundOptions::default(), any);
            for (number, (options, launches)) in [of_any, (options, members)].iter().enumerate() {
                let (ranges, deadline) = (&knowledge.ranges, Deadline::default());
                let verdicts = LoopVerdicts::derive(&prepared, &flow, ranges, options, deadline);
                let derived = self.compare(program, &flow, &verdicts, launches, &mut rng);
                self.derived[number] += derived;
            }
        }
        Ok(())
    }

    /// Compares bounds with threads of launches that they hold for. Returns the number of bounds.
    fn compare(
        &mut self,
        program: &LoopedWaves,
        flow: &KernelFlow,
        verdicts: &LoopVerdicts,
        launches: &[LoopLaunch],
        rng: &mut Rng,
    ) -> usize {
        let seed = program.seed;
        let sites = flow.loops.sites.iter().map(|site| site.addr());
        let sites: BTreeMap<CodeAddr, usize> = sites.zip(0..).collect();
        let mut derived = 0;
        for (number, own) in program.loops.iter().enumerate() {
            let Some(&site) = sites.get(&own.header) else {
                let missing = format!("program {seed:#x}: no loop at {}", own.header);
                self.problems.push(missing);
                continue;
            };
            let Some(bound) = verdicts.bound(site) else {
                continue;
            };
            derived += 1;
            let threads: Vec<LoopThread> = launches
                .iter()
                .flat_map(|launch| launch.some_threads(rng))
                .collect();
            let counts = threads.iter().map(|thread| program.counts(thread)[number]);
            let most = counts.clone().map(|count| count.per_entry).max();
            self.reached += usize::from(most == Some(bound.per_entry));
            let total = bound.total.unwrap_or(u64::MAX);
            let mut counts = threads.iter().zip(counts);
            let broken =
                counts.find(|(_, count)| count.per_entry > bound.per_entry || count.total > total);
            if let Some((thread, count)) = broken {
                self.problems.push(format!(
                    "program {seed:#x}: {own:?}: {count:?} in {thread:?}, by {bound:?}"
                ));
            }
        }
        derived
    }

    /// Runs a small launch, and compares the executions of headers with what the program says of itself.
    fn run_small(
        &mut self,
        program: &LoopedWaves,
        session: &Session,
        prepared: &Prepared<'_>,
        rng: &mut Rng,
    ) -> Result<(), Diagnostic> {
        let launch = LoopLaunch::draw_small(rng);
        let groups = launch.all_threads();
        let options = RunOptions::default();
        let expected = program.executions(&groups);
        // Counters that wrap around would make runs long.
        let Some(expected) = expected.filter(|all| all.iter().sum::<u64>() < 1_000_000) else {
            return Ok(());
        };
        let file = launch.file();
        let run = execute_prepared(session, prepared, &file, &options, &mut |_| ())?;
        for (own, expected) in program.loops.iter().zip(expected) {
            let at = prepared
                .code
                .ops
                .iter()
                .position(|op| op.addr == own.header);
            let issues = at.and_then(|at| run.counts.issues.get(at)).copied();
            if issues != Some(expected) {
                self.problems.push(format!(
                    "program {:#x}: the header at {} is executed {issues:?} times, not {expected}, in {launch:?}",
                    program.seed, own.header
                ));
            }
        }
        Ok(())
    }
}

impl LoopedWaves {
    /// Returns how often waves execute the header of each loop, for groups of one wave: as often as the lane that
    /// executes it most. `None` if it is not known exactly.
    fn executions(&self, groups: &[Vec<LoopThread>]) -> Option<Vec<u64>> {
        let mut all = vec![0u64; self.loops.len()];
        for group in groups {
            let mut of_wave = vec![0; self.loops.len()];
            for thread in group {
                for (most, count) in of_wave.iter_mut().zip(self.counts(thread)) {
                    *most = count.total.max(*most);
                    if !count.is_exact {
                        return None;
                    }
                }
            }
            for (sum, own) in all.iter_mut().zip(of_wave) {
                *sum = sum.saturating_add(own);
            }
        }
        Some(all)
    }
}
