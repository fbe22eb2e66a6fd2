//! Campaigns over random programs: derivation under random ranges of launches, and runs of launches in them.

use std::collections::BTreeMap;

use fastrand::Rng;
use warpbound_analyse::loop_bounds::{LoopVerdict, WhyUnknown};

use super::check::{BrokenCount, LoopedCode, ObservedCounts, contradictions};
use super::generate::LoopProgram;
use super::launches::{DrawnRanges, OneLaunch};
use crate::execute::mix;

/// Ranges of launches for each program.
const RANGES: usize = 3;

/// Launches of each range.
const MEMBERS: usize = 4;

/// Operations of one thread, and of all threads of a program under one range.
const STEPS: usize = 4_000;
const STEPS_OF_ALL: usize = 200_000;

/// Loops with a property.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct PropertyTally {
    /// Loops.
    pub loops: usize,
    /// Loops with a derived bound.
    pub derived: usize,
    /// Loops whose bound was compared with runs that all ended.
    pub compared: usize,
    /// Loops of these that a thread of some launch executed as often as the bound.
    pub equal: usize,
}

/// Totals of a campaign over programs with counted loops.
#[derive(Clone, Debug, Default)]
pub struct LoopCampaign {
    /// Number of programs.
    pub programs: usize,
    /// Number of programs refused.
    pub refused: usize,
    /// Number of threads that ran.
    pub threads: usize,
    /// All loops, once for each range.
    pub all: PropertyTally,
    /// Loops by property.
    pub properties: BTreeMap<&'static str, PropertyTally>,
    /// Number of bounds with each optional part: a total, a certain number, a formula.
    pub parts: [usize; 3],
    /// Number of loops without a bound, by reason.
    pub unknown: BTreeMap<String, usize>,
    /// Number of contradictions by claim.
    pub broken: BTreeMap<BrokenCount, usize>,
    /// Contradictions, with the seed of the program.
    pub problems: Vec<String>,
}

impl LoopCampaign {
    /// Checks programs with consecutive numbers.
    pub fn run(seed: u64, numbers: std::ops::Range<u64>) -> LoopCampaign {
        let mut total = LoopCampaign::default();
        for number in numbers {
            total.program(mix(&[seed, number]));
        }
        total
    }

    /// Generates the program of a seed and checks it.
    pub fn program(&mut self, seed: u64) {
        let mut rng = Rng::with_seed(seed);
        let program = LoopProgram::generate(&mut rng);
        self.programs += 1;
        let Ok(looped) = LoopedCode::build(&program.code) else {
            self.refused += 1;
            return;
        };
        for _ in 0..RANGES {
            let ranges = DrawnRanges::draw(&program.parameters, &mut rng);
            let verdicts = looped.derive(&ranges.ranges);
            let name = format!("program {seed:#x}");
            let seen = self.runs(&name, &looped, &ranges, &verdicts, &mut rng);
            self.count(&program, &looped, &verdicts, &seen);
        }
    }

    /// Runs launches of a range and compares them with the verdicts; returns the most executions.
    ///
    /// Bounds that do not use what is known of the launch are compared with another launch as well.
    fn runs(
        &mut self,
        name: &str,
        looped: &LoopedCode<'_>,
        ranges: &DrawnRanges,
        verdicts: &[LoopVerdict],
        rng: &mut Rng,
    ) -> ObservedCounts {
        let mut most = ObservedCounts::none(looped.loops.sites.len());
        let mut steps_left = STEPS_OF_ALL;
        for number in 0..=MEMBERS {
            let is_member = number < MEMBERS;
            let launch = match is_member {
                true => ranges.member(number, rng),
                false => ranges.any_launch(rng),
            };
            let (seen, all) = self.threads(name, looped, &launch, &mut steps_left, rng);
            let unconditional: Vec<LoopVerdict>;
            let verdicts = match is_member {
                true => verdicts,
                false => {
                    unconditional = without_launch(looped, ranges);
                    &unconditional
                }
            };
            for broken in contradictions(verdicts, &launch, &seen, all) {
                *self.broken.entry(broken.claim).or_default() += 1;
                let addr = looped.loops.sites[broken.site].addr();
                let found = &verdicts[broken.site];
                let launches = if is_member { "" } else { "another launch: " };
                self.problems.push(format!(
                    "{name}: loop {addr}: {broken:?}; {found:?}; {launches}{launch:?}; {:?}",
                    ranges.ranges
                ));
            }
            if is_member {
                most.raise(&seen);
            }
        }
        most
    }

    /// Runs the threads of a launch; returns the most executions, and whether all threads ran.
    fn threads(
        &mut self,
        name: &str,
        looped: &LoopedCode<'_>,
        launch: &OneLaunch,
        steps_left: &mut usize,
        rng: &mut Rng,
    ) -> (ObservedCounts, bool) {
        let mut seen = ObservedCounts::none(looped.loops.sites.len());
        let (threads, mut all) = launch.threads(rng);
        for indices in threads {
            let steps = STEPS.min(*steps_left);
            if steps == 0 {
                seen.complete = false;
                all = false;
                break;
            }
            self.threads += 1;
            match looped.observe(launch, indices, rng.u64(..), steps) {
                Ok(counts) => {
                    seen.raise(&counts);
                    if !counts.complete {
                        *steps_left -= steps;
                    }
                }
                Err(problem) => self.problems.push(format!("{name}: {problem}")),
            }
        }
        (seen, all)
    }

    fn count(
        &mut self,
        program: &LoopProgram,
        looped: &LoopedCode<'_>,
        verdicts: &[LoopVerdict],
        seen: &ObservedCounts,
    ) {
        let sites = looped.loops.sites.iter().zip(verdicts).zip(&seen.sites);
        for ((site, verdict), count) in sites {
            let mut tally = PropertyTally {
                loops: 1,
                ..PropertyTally::default()
            };
            match verdict {
                LoopVerdict::Bounded(bound) => {
                    tally.derived = 1;
                    tally.compared = usize::from(seen.complete && count.per_entry > 0);
                    let equal = count.per_entry == bound.per_entry;
                    tally.equal = usize::from(tally.compared == 1 && equal);
                    let parts = [
                        bound.total.is_some(),
                        bound.certain.is_some(),
                        bound.count.is_some(),
                    ];
                    for (number, has) in self.parts.iter_mut().zip(parts) {
                        *number += usize::from(has);
                    }
                }
                LoopVerdict::Unknown(why) => {
                    let why = match why {
                        WhyUnknown::Memory { .. } => "memory".to_owned(),
                        WhyUnknown::Parameter { .. } => "parameter".to_owned(),
                        WhyUnknown::Pattern(text) => text.clone(),
                    };
                    *self.unknown.entry(why).or_default() += 1;
                }
            }
            self.all.add(tally);
            let tags = site.headers.iter().find_map(|at| program.shapes.get(at));
            for tag in tags.into_iter().flatten() {
                self.properties.entry(tag).or_default().add(tally);
            }
        }
    }

    /// Adds the totals of another campaign.
    pub fn add(&mut self, other: LoopCampaign) {
        self.programs += other.programs;
        self.refused += other.refused;
        self.threads += other.threads;
        self.all.add(other.all);
        for (tag, tally) in other.properties {
            self.properties.entry(tag).or_default().add(tally);
        }
        for (number, more) in self.parts.iter_mut().zip(other.parts) {
            *number += more;
        }
        for (why, count) in other.unknown {
            *self.unknown.entry(why).or_default() += count;
        }
        for (claim, count) in other.broken {
            *self.broken.entry(claim).or_default() += count;
        }
        self.problems.extend(other.problems);
    }
}

/// The bounds that hold in all launches.
fn without_launch(looped: &LoopedCode, ranges: &DrawnRanges) -> Vec<LoopVerdict> {
    looped.derive(&ranges.ranges.without_statements())
}

impl PropertyTally {
    fn add(&mut self, other: PropertyTally) {
        self.loops += other.loops;
        self.derived += other.derived;
        self.compared += other.compared;
        self.equal += other.equal;
    }
}
