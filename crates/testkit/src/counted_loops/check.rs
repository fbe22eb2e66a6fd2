//! Observed header executions of threads, compared with derived bounds.

use warpbound_analyse::Refusal;
use warpbound_analyse::launch_ranges::LaunchRanges;
use warpbound_analyse::loop_bounds::{CountFormula, DerivedBound, LoopVerdict, derive};
use warpbound_analyse::loops::Loops;
use warpbound_analyse::thread_cfg::{Limits, ThreadCfg};
use warpbound_ir::{Code, OpIndex};
use warpbound_simt::NodeId;

use super::launches::OneLaunch;
use super::thread::{ThreadEnd, ThreadIndices, run_thread};

/// Program with its thread-level graph and loops.
pub struct LoopedCode<'a> {
    /// The program.
    pub code: &'a Code,
    /// Its thread-level graph.
    pub thread: ThreadCfg,
    /// Its loops.
    pub loops: Loops,
}

/// Maximum number of header executions of a site by one thread.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct SiteCount {
    /// In one entry of the loop.
    pub per_entry: u64,
    /// In the whole run.
    pub total: u64,
}

/// Observation of one thread or of several.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ObservedCounts {
    /// Counts by site.
    pub sites: Vec<SiteCount>,
    /// Whether all runs ended within their limit of operations.
    pub complete: bool,
}

impl ObservedCounts {
    /// Counts before any run.
    pub fn none(sites: usize) -> ObservedCounts {
        ObservedCounts {
            sites: vec![SiteCount::default(); sites],
            complete: true,
        }
    }

    /// Raises the counts to the counts of another observation.
    pub fn raise(&mut self, other: &ObservedCounts) {
        for (most, new) in self.sites.iter_mut().zip(&other.sites) {
            most.per_entry = most.per_entry.max(new.per_entry);
            most.total = most.total.max(new.total);
        }
        self.complete &= other.complete;
    }
}

impl<'a> LoopedCode<'a> {
    /// Builds graph and loops.
    ///
    /// # Errors
    ///
    /// The code is refused.
    pub fn build(code: &'a Code) -> Result<LoopedCode<'a>, Refusal> {
        let thread = ThreadCfg::build(code, &Limits::default())?;
        let loops = Loops::of_thread(code, &thread);
        Ok(LoopedCode {
            code,
            thread,
            loops,
        })
    }

    /// Derives the bounds of the loops from the code that runs.
    pub fn derive(&self, ranges: &LaunchRanges) -> Vec<LoopVerdict> {
        derive(self.code, &self.thread, &self.loops, ranges)
    }

    /// Runs a thread for at most `steps` operations and counts header executions.
    ///
    /// # Errors
    ///
    /// The thread takes a step that the graph does not have: the addresses of the two operations.
    pub fn observe(
        &self,
        launch: &OneLaunch,
        indices: ThreadIndices,
        seed: u64,
        steps: usize,
    ) -> Result<ObservedCounts, String> {
        let mut counter = HeaderCounter::new(self);
        let end = run_thread(self.code, launch, indices, seed, steps, |at, _| {
            counter.visit(at);
        });
        match (counter.lost, end) {
            (Some(lost), _) => Err(lost),
            (None, ThreadEnd::Lost) => Err("the thread runs off the code".to_owned()),
            (None, _) => Ok(ObservedCounts {
                sites: counter.most,
                complete: end == ThreadEnd::Exited,
            }),
        }
    }
}

/// Counter of header executions along the nodes of the graph.
struct HeaderCounter<'a> {
    program: &'a LoopedCode<'a>,
    at: NodeId,
    /// Operation that runs next in the block, and the last one.
    last: OpIndex,
    began: bool,
    since_entry: Vec<u64>,
    most: Vec<SiteCount>,
    totals: Vec<u64>,
    lost: Option<String>,
}

impl<'a> HeaderCounter<'a> {
    fn new(program: &'a LoopedCode<'a>) -> HeaderCounter<'a> {
        let sites = program.loops.sites.len();
        HeaderCounter {
            program,
            at: program.thread.entry,
            last: OpIndex::default(),
            began: false,
            since_entry: vec![0; program.loops.loops.len()],
            most: vec![SiteCount::default(); sites],
            totals: vec![0; sites],
            lost: None,
        }
    }

    fn visit(&mut self, op: OpIndex) {
        let space = &self.program.thread.space;
        if self.lost.is_some() {
            return;
        }
        if !self.began {
            self.began = true;
            self.enter(None, self.program.thread.entry);
            return;
        }
        if op != space.block(self.at).first && self.last != space.block(self.at).last {
            self.last = op;
            return;
        }
        let steps = self.program.thread.steps.get(self.at.index());
        let targets = steps.into_iter().flatten().filter_map(|step| step.to);
        let mut found: Vec<NodeId> = targets.filter(|&to| space.block(to).first == op).collect();
        found.sort_unstable();
        found.dedup();
        match found.as_slice() {
            [to] => self.enter(Some(self.at), *to),
            _ => {
                let count = found.len();
                let last = self.last.0;
                self.lost = Some(format!(
                    "the graph has {count} steps from operation {last} to {}",
                    op.0
                ));
            }
        }
    }

    fn enter(&mut self, from: Option<NodeId>, to: NodeId) {
        self.at = to;
        self.last = self.program.thread.space.block(to).first;
        for (number, counted) in self.program.loops.loops.iter().enumerate() {
            if !counted.headers.contains(&to) {
                continue;
            }
            let inside = from.is_some_and(|from| counted.body.contains(&from));
            let running = &mut self.since_entry[number];
            *running = if inside { *running + 1 } else { 1 };
            self.totals[counted.fact] += 1;
            let most = &mut self.most[counted.fact];
            most.per_entry = most.per_entry.max(*running);
            most.total = self.totals[counted.fact];
        }
    }
}

/// Claim of a derived bound that an observation contradicts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum BrokenCount {
    /// Maximum number of executions per entry.
    PerEntry,
    /// Maximum number of executions in the whole run.
    Total,
    /// Executions that some thread of each launch reaches.
    Certain,
    /// Formula of the executions per entry.
    Formula,
}

/// CountContradiction between a claim and the threads of one launch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CountContradiction {
    /// Number of the site.
    pub site: usize,
    /// The claim.
    pub claim: BrokenCount,
    /// Claimed number.
    pub claimed: u64,
    /// Observed number.
    pub observed: u64,
}

/// Compares the counts of threads of a launch with verdicts; `all` states that these are all threads of the launch.
pub fn contradictions(
    verdicts: &[LoopVerdict],
    launch: &OneLaunch,
    seen: &ObservedCounts,
    all: bool,
) -> Vec<CountContradiction> {
    let mut found = Vec::new();
    for (site, (verdict, count)) in verdicts.iter().zip(&seen.sites).enumerate() {
        let LoopVerdict::Bounded(bound) = verdict else {
            continue;
        };
        for (claim, claimed, observed) in claims(bound, launch, *count) {
            let is_broken = match claim {
                BrokenCount::Certain => all && seen.complete && observed < claimed,
                _ => observed > claimed,
            };
            if is_broken {
                found.push(CountContradiction {
                    site,
                    claim,
                    claimed,
                    observed,
                });
            }
        }
    }
    found
}

/// Returns the claims of a bound about a launch: claimed and observed numbers.
fn claims(
    bound: &DerivedBound,
    launch: &OneLaunch,
    seen: SiteCount,
) -> impl Iterator<Item = (BrokenCount, u64, u64)> {
    let per_entry = (BrokenCount::PerEntry, bound.per_entry, seen.per_entry);
    let total = bound.total.map(|t| (BrokenCount::Total, t, seen.total));
    let certain = bound.certain;
    let certain = certain.map(|c| (BrokenCount::Certain, c, seen.per_entry));
    let formula = bound.count.as_ref().and_then(|f| count_of(f, launch));
    let formula = formula.map(|f| (BrokenCount::Formula, f, seen.per_entry));
    [Some(per_entry), total, certain, formula]
        .into_iter()
        .flatten()
}

/// Returns the number that a formula states for a launch; `None` outside its range of validity.
pub fn count_of(formula: &CountFormula, launch: &OneLaunch) -> Option<u64> {
    let number_of = |key: &(u8, u32)| {
        let word = *launch.words.get(key)?;
        let (_, least, most) = formula.valid.iter().find(|(valid, ..)| valid == key)?;
        let numbers = [i64::from(word), i64::from(word as i32)];
        numbers.into_iter().find(|n| (least..=most).contains(&n))
    };
    // Words that only limit the validity count as well.
    if formula
        .valid
        .iter()
        .any(|(key, ..)| number_of(key).is_none())
    {
        return None;
    }
    let mut numerator = 0i128;
    for (coefficient, words) in &formula.numerator {
        let mut product = i128::from(*coefficient);
        for word in words {
            product = product.checked_mul(number_of(word)?.into())?;
        }
        numerator = numerator.checked_add(product)?;
    }
    let divisor = i128::from(formula.divisor);
    let quotient = -(-numerator).div_euclid(divisor);
    let count = (quotient + i128::from(formula.added)).max(1);
    u64::try_from(count).ok()
}
