//! Flow facts of a bound: bounds of loops, and code that no thread executes.
//!
//! A loop may have a stated and a derived number, and the smaller one is used. For example, if the code shows at most
//! 100 header executions and a fact states 40, the bound uses 40 and rests on the fact.

use warpbound_analyse::loop_bounds::CountPattern;
use warpbound_base::Diagnostic;
use warpbound_ipet::{LoopNumbers, Never};
use warpbound_report::bound::{LoopReport, Origin};
use warpbound_report::derivation::LoopDerivation;
use warpbound_simt::counts::CountVar;

use super::query::BoundQuery;
use crate::facts::accesses::stated_accesses;
use crate::facts::loop_line;
use warpbound_query::FactReading;

/// Numbers about loops that the integer program uses, by loop.
pub(super) struct LoopFacts {
    /// Bounds per entry, with their origins.
    bounds: Vec<Option<(u64, Origin)>>,
    /// Totals, with their origins.
    totals: Vec<Option<(u64, Origin)>>,
}

impl LoopFacts {
    /// Returns the bounds per entry.
    pub(super) fn bounds(&self) -> Vec<Option<u64>> {
        self.bounds.iter().map(|b| b.map(|(n, _)| n)).collect()
    }

    /// Returns the bound of a loop per entry.
    pub(super) fn bound(&self, fact: usize) -> Option<u64> {
        known(&self.bounds, fact).map(|(bound, _)| bound)
    }

    /// Whether the bound of a loop is a fact that the user states.
    pub(super) fn is_stated(&self, fact: usize) -> bool {
        known(&self.bounds, fact).is_some_and(|(_, origin)| origin == Origin::Facts)
    }

    /// Returns the totals.
    pub(super) fn totals(&self) -> Vec<Option<u64>> {
        self.totals.iter().map(|t| t.map(|(n, _)| n)).collect()
    }
}

impl BoundQuery<'_> {
    /// Returns the numbers about loops: the smaller of the stated and the derived number, or else the default. A
    /// derived number that rests on the width of a register alone is used only where there is no other number.
    ///
    /// # Errors
    ///
    /// A fact is about a loop that the kernel does not have, or is false in all launches.
    pub(super) fn loop_facts(&self) -> Result<LoopFacts, Diagnostic> {
        // Bounds in instructions use no fact about accesses, but a fact that is about another instruction is an error
        // all the same.
        stated_accesses(self.analysed.prepared, &self.analysed.options.facts)?;
        let stated = match self.facts {
            Some(facts) => facts.numbers(&self.names)?,
            None => vec![LoopNumbers::default(); self.names.len()],
        };
        let mut facts = LoopFacts {
            bounds: Vec::new(),
            totals: Vec::new(),
        };
        for (number, stated) in stated.into_iter().enumerate() {
            self.check_stated(number, stated)?;
            let bound = self.verdicts.bound(number);
            let derived = LoopNumbers {
                bound: bound.map(|bound| bound.per_entry),
                total: bound.and_then(|bound| bound.total),
            };
            let origin = self.verdicts.origin(number);
            // A total implies a bound per entry (SOUNDNESS 5.6); the default is for loops without any number.
            let default = self.analysed.options.loop_default;
            let default = default.map(|bound| (bound, Origin::LoopDefault));
            let derived_bound = derived.per_entry().zip(origin);
            // Such a number is true, but so large that a default of the user is preferred.
            let is_of_width = bound.is_some_and(|b| b.evidence.pattern == CountPattern::Width);
            facts.bounds.push(match is_of_width {
                true => {
                    let stated = stated.per_entry().map(|bound| (bound, Origin::Facts));
                    stated.or(default).or(derived_bound)
                }
                false => smaller(stated.per_entry(), derived.per_entry(), origin).or(default),
            });
            facts
                .totals
                .push(smaller(stated.total, derived.total, origin));
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
        // A bound with this fact would be below the count of some run.
        let launches = match self.analysed.options.states_launch() {
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
        let excluded = self
            .analysed
            .flow
            .excluded_counts(&self.analysed.prepared.code, &never);
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
            let of_fact = self
                .analysed
                .flow
                .loops
                .loops
                .iter()
                .zip(&self.analysed.flow.counts.lockstep);
            of_fact
                .filter(|(l, _)| l.fact == fact)
                .all(|(_, lockstep)| *lockstep)
        };
        let sites = self
            .names
            .iter()
            .zip(&self.analysed.flow.loops.sites)
            .enumerate();
        let report = sites.map(|(fact, (name, site))| LoopReport {
            id: name.id.clone(),
            at: self.analysed.prepared.location_of(name.at),
            source: self.analysed.prepared.source(name.at),
            depth: site.depth,
            bound: facts.bound(fact),
            total: known(&facts.totals, fact).map(|(total, _)| total),
            origin: known(&facts.bounds, fact).map_or(Origin::Missing, |(_, origin)| origin),
            total_origin: known(&facts.totals, fact).map(|(_, origin)| origin),
            derivation: self.derivation(fact, facts),
            // In the reading of the paper, facts are about the warp in any case.
            lockstep: self.analysed.options.reading == FactReading::Simt && in_lockstep(fact),
            headers: site.headers.iter().map(ToString::to_string).collect(),
            recursion: site.recursion.map(|op| {
                self.analysed
                    .prepared
                    .function_name_at(self.analysed.prepared.addr(op))
            }),
            contexts: site.contexts,
        });
        report.collect()
    }

    /// Returns the derivation for a loop. The evidence of a bound that is not used is left out.
    fn derivation(&self, number: usize, facts: &LoopFacts) -> LoopDerivation {
        let is_stated =
            |known: Option<(u64, Origin)>| known.is_none_or(|(_, origin)| origin == Origin::Facts);
        let is_unused = is_stated(known(&facts.bounds, number))
            && is_stated(known(&facts.totals, number))
            && self.verdicts.bound(number).is_some();
        match is_unused {
            true => LoopDerivation::default(),
            false => self.verdicts.derivation(self.analysed.prepared, number),
        }
    }

    /// Returns the lines of a facts file for the loops without a bound.
    pub(super) fn missing_loop_facts(&self, facts: &LoopFacts) -> Vec<String> {
        let sites = self
            .names
            .iter()
            .zip(&self.analysed.flow.loops.sites)
            .enumerate();
        let missing = sites.filter(|(fact, _)| known(&facts.bounds, *fact).is_none());
        missing
            .map(|(_, (name, site))| loop_line(self.analysed.prepared, name, site).format_line())
            .collect()
    }
}

/// Returns the number of a loop with its origin, if there is one.
fn known(numbers: &[Option<(u64, Origin)>], number: usize) -> Option<(u64, Origin)> {
    numbers.get(number).copied().flatten()
}

/// Returns the smaller of a stated and a derived number, with its origin. One or both may be missing. If both are
/// equal, the origin of the derived one is returned.
fn smaller(
    stated: Option<u64>,
    derived: Option<u64>,
    origin: Option<Origin>,
) -> Option<(u64, Origin)> {
    let derived = derived.zip(origin);
    let stated = stated.map(|stated| (stated, Origin::Facts));
    derived
        .into_iter()
        .chain(stated)
        // The first of two equal numbers is kept: the derived one, which rests on no statement about the loop.
        .min_by_key(|(number, _)| *number)
}
