//! Flow facts of a bound: bounds of loops, and code that no thread executes.

use warpbound_base::Diagnostic;
use warpbound_bound::{LoopNumbers, Never};
use warpbound_report::bound::{LoopReport, Origin};
use warpbound_report::derivation::LoopDerivation;
use warpbound_simt::counts::CountVar;

use super::BoundQuery;
use crate::FactReading;
use crate::facts::loop_line;

/// Numbers about loops that the integer program uses, by loop.
pub(super) struct LoopFacts {
    /// Bounds per entry.
    pub(super) bounds: Vec<Option<u64>>,
    /// Totals.
    pub(super) totals: Vec<Option<u64>>,
    /// Origins of the bounds.
    pub(super) origins: Vec<Origin>,
}

impl BoundQuery<'_> {
    /// Returns the numbers about loops: the smaller of stated and derived ones, or else the default.
    ///
    /// # Errors
    ///
    /// A fact is about a loop that the kernel does not have, or is false in all launches.
    pub(super) fn loop_facts(&self) -> Result<LoopFacts, Diagnostic> {
        let stated = match self.facts {
            Some(facts) => facts.numbers(&self.names)?,
            None => vec![LoopNumbers::default(); self.names.len()],
        };
        let mut facts = LoopFacts {
            bounds: Vec::new(),
            totals: Vec::new(),
            origins: Vec::new(),
        };
        for (number, stated) in stated.into_iter().enumerate() {
            self.check_stated(number, stated)?;
            let bound = self.verdicts.bound(number);
            let derived = LoopNumbers {
                bound: bound.map(|bound| bound.per_entry),
                total: bound.and_then(|bound| bound.total),
            };
            // A total implies a bound per entry (SOUNDNESS 5.6); the default is for loops without any number.
            let known = min(stated.per_entry(), derived.per_entry());
            facts.bounds.push(known.or(self.options.loop_default));
            facts.totals.push(min(stated.total, derived.total));
            let is_used = is_smaller(stated.per_entry(), derived.per_entry())
                || is_smaller(stated.total, derived.total);
            facts
                .origins
                .push(match (bound, self.options.loop_default) {
                    _ if is_used => Origin::Facts,
                    // A kernel may fix the size of its blocks, too.
                    (Some(bound), _) if bound.uses_launch && self.options.states_launch() => {
                        Origin::Launch
                    }
                    (Some(_), _) => Origin::Derived,
                    (None, Some(_)) => Origin::LoopDefault,
                    (None, None) => Origin::Missing,
                });
        }
        Ok(facts)
    }

    /// Checks that stated numbers are not smaller than a count that some thread reaches in every launch.
    fn check_stated(&self, number: usize, stated: LoopNumbers) -> Result<(), Diagnostic> {
        let certain = self.verdicts.bound(number).and_then(|bound| bound.certain);
        let (Some(certain), Some(stated), Some(facts), Some(name)) = (
            certain,
            stated.per_entry(),
            self.facts,
            self.names.get(number),
        ) else {
            return Ok(());
        };
        if stated >= certain {
            return Ok(());
        }
        let launches = match self.options.states_launch() {
            true => "all launches that are stated",
            false => "all launches",
        };
        let message = format!(
            "the bound {stated} of loop {} is false: in {launches} a thread executes its header {certain} times",
            name.id
        );
        Err(facts.locate_loop(name, Diagnostic::new(message)))
    }

    /// Returns the `never` statements with the count variables that each excludes.
    ///
    /// # Errors
    ///
    /// A statement is about code that the kernel does not have.
    pub(super) fn excluded(&self) -> Result<Vec<(String, Vec<CountVar>)>, Diagnostic> {
        let Some(facts) = self.facts else {
            return Ok(Vec::new());
        };
        let never: Vec<Never> = facts.never().collect();
        let excluded = self.flow.excluded_counts(&self.prepared.code, &never);
        for (number, (text, counts)) in excluded.iter().enumerate() {
            // A statement that excludes no count has a wrong address; ignoring it would hide the mistake.
            if counts.is_empty() {
                let message = match never.get(number) {
                    Some(Never::Step { .. }) => {
                        format!("no step leads from {}", text.replace("->", "to"))
                    }
                    _ => format!("no instruction that can be reached is at {text}"),
                };
                let diagnostic =
                    Diagnostic::new(message).hint("`warpbound cfg` shows blocks and steps");
                return Err(facts.locate_never(number, diagnostic));
            }
        }
        Ok(excluded)
    }

    /// Returns the loops with their facts.
    pub(super) fn loops(&self, facts: &LoopFacts) -> Vec<LoopReport> {
        let in_lockstep = |fact: usize| {
            let of_fact = self.flow.loops.loops.iter().zip(&self.flow.counts.lockstep);
            of_fact
                .filter(|(l, _)| l.fact == fact)
                .all(|(_, lockstep)| *lockstep)
        };
        let sites = self.names.iter().zip(&self.flow.loops.sites).enumerate();
        let report = sites.map(|(fact, (name, site))| LoopReport {
            id: name.id.clone(),
            at: self.prepared.location_of(name.at),
            source: self.prepared.source(name.at),
            depth: site.depth,
            bound: facts.bounds.get(fact).copied().flatten(),
            total: facts.totals.get(fact).copied().flatten(),
            origin: facts.origins.get(fact).copied().unwrap_or(Origin::Missing),
            derivation: self.derivation(fact, facts),
            lockstep: self.options.reading == FactReading::Simt && in_lockstep(fact),
            headers: site.headers.iter().map(ToString::to_string).collect(),
            recursion: site
                .recursion
                .map(|op| self.prepared.function_name_at(self.prepared.addr(op))),
            contexts: site.contexts,
        });
        report.collect()
    }

    /// Returns the derivation for a loop, without evidence of a bound that is not used.
    fn derivation(&self, number: usize, facts: &LoopFacts) -> LoopDerivation {
        match (facts.origins.get(number), self.verdicts.bound(number)) {
            (Some(Origin::Facts), Some(_)) => LoopDerivation::default(),
            _ => self.verdicts.derivation(self.prepared, number),
        }
    }

    /// Returns the lines of a facts file for the loops without a bound.
    pub(super) fn missing_loop_facts(&self, facts: &LoopFacts) -> Vec<String> {
        let sites = self.names.iter().zip(&self.flow.loops.sites).enumerate();
        let missing = sites.filter(|(fact, _)| facts.bounds.get(*fact) == Some(&None));
        missing
            .map(|(_, (name, site))| loop_line(self.prepared, name, site).format_line())
            .collect()
    }
}

/// Returns the smaller of two numbers, of which either may be unknown.
fn min(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    one.into_iter().chain(other).min()
}

/// Whether a number is smaller than another one, or known while the other one is not.
fn is_smaller(one: Option<u64>, other: Option<u64>) -> bool {
    one.is_some_and(|one| other.is_none_or(|other| one < other))
}
