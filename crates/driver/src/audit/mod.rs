//! Runs of a kernel against everything that is claimed of it.
//!
//! The simulator knows no analysis. What its warps do is compared, instruction by instruction, with the warp-level graph,
//! the stacks and the agreements that the analyses claim ([`Claims`], [`Watch`]), and in the end with the facts that a user
//! states and with the bound ([`Stated`]).

mod claims;
mod loops;
mod vary;
mod watch;

use std::collections::BTreeMap;

use warpbound_base::Diagnostic;
use warpbound_bound::Never;
use warpbound_isa::Program;
use warpbound_load::{LaunchFile, Kernel};
use warpbound_report::KernelBound;
use warpbound_report::audit::{AuditFault, AuditReport, AuditedLoop, Finding};
use warpbound_report::bound::Origin;
use warpbound_simulate::functional::{Size, launch_with};

use crate::functional::{MOST_INSTRUCTIONS, limits};
use crate::prepared::Prepared;
use crate::{BoundOptions, Session};

pub use claims::{Claim, Claims, ClaimPoint, Point, Violation};
pub use loops::{HeaderCount, LoopCounter, HeaderMaximum};
pub use warpbound_simulate::functional::PathOrder;
pub use watch::{Seen, ClaimMonitor, WarpId, WorstWarp};

/// Findings and faults that a report shows.
const SHOWN: usize = 20;

/// A run that nobody has tried may issue so many times the instructions of the launch as given.
const LONGER: u64 = 16;

/// Which runs an audit does.
#[derive(Clone, Copy, Debug)]
pub struct AuditRuns {
    /// Runs: first the launch as given, then others like it.
    pub runs: u64,
    /// Start of the random sequence of those.
    pub seed: u64,
    /// The most warp instructions of the first run.
    pub max_instructions: Option<u64>,
}

impl Default for AuditRuns {
    fn default() -> AuditRuns {
        AuditRuns {
            runs: 1,
            seed: 1,
            max_instructions: None,
        }
    }
}

/// A run that was watched.
#[derive(Clone, Debug)]
pub struct Watched {
    /// What was seen, up to the fault if there was one.
    pub seen: Seen,
    /// Why it did not come to its end, and where in the kernel.
    pub fault: Option<Diagnostic>,
}

/// What a user states of loops, and the bound that follows.
#[derive(Clone, Debug, Default)]
pub struct StatedFacts {
    /// The bound of each loop, in the order of [`warpbound_analyse::loops::Loops::sites`]: header executions per entry
    /// and thread.
    pub loops: Vec<Option<u64>>,
    /// The total of each loop: header executions of a thread in its whole run.
    pub totals: Vec<Option<u64>>,
    /// Instructions of a warp.
    pub bound: Option<u128>,
}

/// A run is not as stated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BrokenStatement {
    /// A thread ran a loop's header more often.
    Fact {
        /// The number of the loop.
        number: usize,
        /// The statement.
        stated: u64,
        /// The event that contradicts it.
        most: HeaderMaximum,
    },
    /// A thread ran a loop's header more often in its whole run.
    Total {
        /// The number of the loop.
        number: usize,
        /// The statement.
        stated: u64,
        /// The event that contradicts it.
        most: HeaderMaximum,
    },
    /// A thread did what no thread does.
    Never {
        /// The number of the statement.
        number: usize,
        /// The first thread that did.
        who: HeaderMaximum,
    },
    /// A warp issued more instructions, although no fact is broken.
    Bound {
        /// The bound.
        bound: u128,
        /// The event that contradicts it.
        worst: WorstWarp,
    },
}

impl StatedFacts {
    /// What a run contradicts. A bound rests on the facts: where one is broken, it is not compared.
    pub fn broken(&self, seen: &Seen) -> Vec<BrokenStatement> {
        let pairs = self.loops.iter().zip(&seen.most).enumerate();
        let facts = pairs.filter_map(|(number, (stated, most))| {
            let (stated, most) = ((*stated)?, (*most)?);
            // Where it only follows from a total that is broken, that says it.
            let total = |totals: &[Option<u64>]| totals.get(number).copied().flatten();
            let all = seen.totals.get(number).copied().flatten();
            let follows = total(&self.totals)
                .zip(all)
                .is_some_and(|(total, all)| stated >= total && all.count > total);
            (most.count > stated && !follows).then_some(BrokenStatement::Fact {
                number,
                stated,
                most,
            })
        });
        let totals = self.totals.iter().zip(&seen.totals).enumerate();
        let totals = totals.filter_map(|(number, (stated, most))| {
            let (stated, most) = ((*stated)?, (*most)?);
            (most.count > stated).then_some(BrokenStatement::Total {
                number,
                stated,
                most,
            })
        });
        let happened = seen.happened.iter().enumerate();
        let happened = happened.filter_map(|(number, who)| {
            Some(BrokenStatement::Never {
                number,
                who: (*who)?,
            })
        });
        let mut broken: Vec<BrokenStatement> = facts.chain(totals).chain(happened).collect();
        if let (true, Some(bound), Some(worst)) = (broken.is_empty(), self.bound, seen.worst)
            && u128::from(worst.issued) > bound
        {
            broken.push(BrokenStatement::Bound { bound, worst });
        }
        broken
    }
}

impl Session {
    /// Everything that is claimed of the warps of a kernel.
    ///
    /// # Errors
    ///
    /// Where the kernel is not followed, or the block does not suit it.
    pub fn claims<'a>(
        &self,
        prepared: &'a Prepared<'_>,
        options: &BoundOptions,
    ) -> Result<Claims<'a>, Diagnostic> {
        let launch = options
            .launch(prepared.kernel, self.image.isa())
            .map_err(|d| self.locate(d))?;
        let flow = self.flow(prepared, &launch, options)?;
        let kernel = prepared.kernel;
        let names = [&*kernel.name, &kernel.demangled()];
        let facts = options.facts.find(names, &kernel.code_digest());
        let never: Vec<Never> = facts.map_or(Vec::new(), |facts| facts.never().collect());
        Ok(Claims::new(&prepared.code, launch, flow).with_never(&never))
    }

    /// Runs all blocks of a grid and compares what their warps do with what is claimed.
    ///
    /// # Errors
    ///
    /// Where the launch does not suit the kernel.
    pub fn watch(
        &self,
        prepared: &Prepared<'_>,
        claims: &Claims<'_>,
        grid: &LaunchFile,
        order: PathOrder,
        max_instructions: u64,
    ) -> Result<Watched, Diagnostic> {
        let (run, mut memory) = self.start(prepared, grid, order, max_instructions)?;
        let mut watch = ClaimMonitor::new(claims);
        let done = launch_with(&prepared.code, &run, &mut memory, &mut watch);
        Ok(Watched {
            seen: watch.finish(),
            fault: done.err().map(|fault| prepared.fault(&fault)),
        })
    }

    /// Runs a launch, and others like it, and compares with all that is claimed and stated. `ran` gets the number of
    /// each run that is done.
    ///
    /// # Errors
    ///
    /// Where the launch does not suit the kernel, or the facts contradict each other.
    pub fn audit(
        &self,
        kernel: &Kernel,
        grid: &LaunchFile,
        options: &BoundOptions,
        runs: &AuditRuns,
        mut ran: impl FnMut(u64),
    ) -> Result<AuditReport, Diagnostic> {
        let options = BoundOptions {
            block: Some(grid.block),
            ..options.clone()
        };
        let prepared = self.prepare(kernel)?;
        if !matches!(prepared.program, Program::Nvidia(_)) {
            let what = Diagnostic::new("only GPU kernels are audited, this one is mini-SIMT");
            return Err(self.locate(what.in_kernel(kernel.demangled())));
        }
        // Also tells whether the launch suits the kernel.
        limits::check(kernel, grid)?;
        self.start(&prepared, grid, PathOrder::default(), 0)?;
        let bound = self.bound(kernel, &options)?;
        let mut report = self.empty_report(kernel, grid, &bound);
        let claims = match self.claims(&prepared, &options) {
            Ok(claims) => claims,
            Err(why) => {
                report.refused = Some(why.to_string());
                return Ok(report);
            }
        };
        let mut audit = Audit {
            prepared: &prepared,
            stated: StatedFacts {
                loops: bound.loops.iter().map(|l| l.bound).collect(),
                totals: bound.loops.iter().map(|l| l.total).collect(),
                bound: bound.bound,
            },
            bound: &bound,
            findings: BTreeMap::new(),
            more: 0,
            most: vec![0; bound.loops.len()],
            totals: vec![0; bound.loops.len()],
            report: &mut report,
        };
        let mut limit = runs.max_instructions.unwrap_or(MOST_INSTRUCTIONS);
        for number in 1..=runs.runs {
            let varied;
            let (launch, order) = match number {
                1 => (grid, PathOrder::TakenFirst),
                _ => {
                    varied = vary::variation(grid, runs.seed.wrapping_mul(1 << 32) ^ number);
                    (&varied.launch, varied.order)
                }
            };
            let watched = self.watch(&prepared, &claims, launch, order, limit)?;
            if number == 1 {
                let longer = watched.seen.issued.saturating_add(1000);
                limit = limit.min(longer.saturating_mul(LONGER));
            }
            audit.add(number, watched);
            ran(number);
        }
        audit.finish();
        Ok(report)
    }

    fn empty_report(&self, kernel: &Kernel, grid: &LaunchFile, bound: &KernelBound) -> AuditReport {
        AuditReport {
            schema: AuditReport::SCHEMA,
            file: self.file.clone(),
            kernel: kernel.demangled(),
            grid: grid.grid,
            block: grid.block,
            refused: None,
            runs: 0,
            faulted: 0,
            given_faulted: false,
            warp_instructions: 0,
            warps: 0,
            violations: 0,
            findings: Vec::new(),
            worst_simulated: None,
            worst_at: None,
            bound: bound.bound,
            no_bound: bound.reason.clone(),
            ratio: None,
            loops: Vec::new(),
            faults: Vec::new(),
        }
    }
}

/// What is known after some runs.
struct Audit<'a> {
    prepared: &'a Prepared<'a>,
    stated: StatedFacts,
    bound: &'a KernelBound,
    /// What was found, in the order of the report, with the run and how it is told.
    findings: BTreeMap<(u8, usize, String), Finding>,
    /// Findings that no run has kept apart.
    more: u64,
    most: Vec<u64>,
    totals: Vec<u64>,
    report: &'a mut AuditReport,
}

impl Audit<'_> {
    fn add(&mut self, run: u64, watched: Watched) {
        let Watched { seen, fault } = watched;
        for broken in self.stated.broken(&seen) {
            let (key, claim, what) = self.tell(broken);
            let finding = |what| Finding {
                claim,
                run,
                at: None,
                source: None,
                what,
            };
            self.findings.entry(key).or_insert_with(|| finding(what));
        }
        for (violation, who) in &seen.violations {
            let Violation { claim, at, what } = violation;
            let addr = self.prepared.addr(*at);
            let finding = || Finding {
                claim: claim.name(),
                run,
                at: Some(self.prepared.place(*at)),
                source: self.prepared.source(addr),
                what: format!("{what}; {}", warp(*who)),
            };
            let key = (2, at.index(), what.clone());
            self.findings.entry(key).or_insert_with(finding);
        }
        self.more += seen.more_violations;
        for (most, seen) in self.most.iter_mut().zip(&seen.most) {
            *most = (*most).max(seen.map_or(0, |most| most.count));
        }
        for (most, seen) in self.totals.iter_mut().zip(&seen.totals) {
            *most = (*most).max(seen.map_or(0, |most| most.count));
        }
        let report = &mut *self.report;
        report.runs += 1;
        report.warp_instructions += seen.issued;
        report.warps += seen.finished;
        if let Some(worst) = seen.worst
            && report
                .worst_simulated
                .is_none_or(|most| most < worst.issued)
        {
            report.worst_simulated = Some(worst.issued);
            report.worst_at = Some(format!("{}, run {run}", warp(worst.who)));
        }
        if let Some(fault) = fault {
            report.faulted += 1;
            report.given_faulted |= run == 1;
            let what = fault.to_string();
            let faults = &mut report.faults;
            if let Some(known) = faults.iter_mut().find(|known| known.what == what) {
                known.runs += 1;
            } else if faults.len() < SHOWN {
                let runs = 1;
                faults.push(AuditFault { run, runs, what });
            }
        }
    }

    /// Where a broken statement stands in the report, and its words.
    fn tell(&self, broken: BrokenStatement) -> ((u8, usize, String), &'static str, String) {
        match broken {
            BrokenStatement::Fact {
                number,
                stated,
                most,
            } => {
                let about = self.bound.loops.get(number);
                let id = about.map_or("?", |l| l.id.as_str());
                let from = match about.map(|l| l.origin) {
                    Some(Origin::LoopDefault) => " (--loop-default)",
                    _ => "",
                };
                let what = format!(
                    "fact {id} <= {stated}{from} broken: thread {} of block {} ran {}",
                    most.thread,
                    spelled(most.block),
                    most.count
                );
                ((0, number, String::new()), "fact", what)
            }
            BrokenStatement::Total {
                number,
                stated,
                most,
            } => {
                let id = self.bound.loops.get(number).map_or("?", |l| l.id.as_str());
                let what = format!(
                    "fact {id} <= {stated} in total broken: thread {} of block {} ran {}",
                    most.thread,
                    spelled(most.block),
                    most.count
                );
                ((0, number, "total".to_owned()), "fact", what)
            }
            BrokenStatement::Never { number, who } => {
                let never = self.bound.never.get(number).map_or("?", String::as_str);
                let what = format!(
                    "fact never {never} broken: thread {} of block {} came there",
                    who.thread,
                    spelled(who.block)
                );
                ((0, number, "never".to_owned()), "fact", what)
            }
            BrokenStatement::Bound { bound, worst } => {
                let what = format!(
                    "{} issued {} instructions, the bound is {bound}",
                    warp(worst.who),
                    worst.issued
                );
                ((1, 0, String::new()), "bound", what)
            }
        }
    }

    fn finish(self) {
        let report = self.report;
        report.violations = self.findings.len() as u64 + self.more;
        report.findings = self.findings.into_values().take(SHOWN).collect();
        if let (Some(bound), Some(worst)) = (report.bound, report.worst_simulated) {
            report.ratio = Some((bound as f64 / worst as f64 * 1000.0).round() / 1000.0);
        }
        let loops = self.bound.loops.iter().zip(self.most).zip(self.totals);
        report.loops = loops
            .map(|((about, most), most_total)| AuditedLoop {
                id: about.id.clone(),
                at: about.at.clone(),
                source: about.source.clone(),
                bound: about.bound,
                total: about.total,
                most,
                most_total,
            })
            .collect();
    }
}

fn spelled([x, y, z]: Size) -> String {
    format!("({x}, {y}, {z})")
}

fn warp(who: WarpId) -> String {
    format!("warp {} of block {}", who.warp, spelled(who.block))
}
