//! Flow facts of a bound: bounds of loops, and code that no thread executes.

use warpbound_base::Diagnostic;
use warpbound_bound::{LoopNumbers, Never};
use warpbound_report::bound::{LoopReport, Origin};
use warpbound_simt::counts::CountVar;

use super::BoundQuery;
use crate::FactReading;
use crate::facts::loop_line;

/// Facts about loops, by loop.
pub(super) struct LoopFacts {
    /// Numbers that the facts file states.
    stated: Vec<LoopNumbers>,
    /// Bounds per entry that the integer program uses.
    pub(super) bounds: Vec<Option<u64>>,
    /// Totals that it uses.
    pub(super) totals: Vec<Option<u64>>,
}

impl LoopFacts {
    /// Returns the origin of the bound of a loop.
    fn origin(&self, fact: usize) -> Origin {
        let stated = self.stated.get(fact).and_then(|n| n.per_entry());
        match (stated, self.bounds.get(fact).copied().flatten()) {
            (Some(_), _) => Origin::Facts,
            (None, Some(_)) => Origin::LoopDefault,
            (None, None) => Origin::Missing,
        }
    }
}

impl BoundQuery<'_> {
    /// Returns the facts about loops.
    ///
    /// # Errors
    ///
    /// A fact is about a loop that the kernel does not have.
    pub(super) fn loop_facts(&self) -> Result<LoopFacts, Diagnostic> {
        let stated = match self.facts {
            Some(facts) => facts.numbers(&self.names)?,
            None => vec![LoopNumbers::default(); self.names.len()],
        };
        // A total implies a bound per entry (SOUNDNESS 5.6); the default is for loops without any fact.
        let bounds = stated
            .iter()
            .map(|numbers| numbers.per_entry().or(self.options.loop_default));
        Ok(LoopFacts {
            bounds: bounds.collect(),
            totals: stated.iter().map(|numbers| numbers.total).collect(),
            stated,
        })
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
            origin: facts.origin(fact),
            lockstep: self.options.reading == FactReading::Simt && in_lockstep(fact),
            headers: site.headers.iter().map(ToString::to_string).collect(),
            recursion: site
                .recursion
                .map(|op| self.prepared.function_name_at(self.prepared.addr(op))),
            contexts: site.contexts,
        });
        report.collect()
    }

    /// Returns the lines of a facts file for the loops without a bound.
    pub(super) fn missing_loop_facts(&self, facts: &LoopFacts) -> Vec<String> {
        let sites = self.names.iter().zip(&self.flow.loops.sites).enumerate();
        let missing = sites.filter(|(fact, _)| facts.origin(*fact) == Origin::Missing);
        missing
            .map(|(_, (name, site))| loop_line(self.prepared, name, site).format_line())
            .collect()
    }
}
