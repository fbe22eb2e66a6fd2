//! Facts about accesses of another build: which of them hold for a new one (SOUNDNESS 5.15).
//!
//! A fact is carried to each access whose deciding code has the same fingerprint: the code that computes its
//! addresses and decides how often it is executed.

use std::fmt::Write as _;

use warpbound_analyse::access::{AccessShape, MemoryUnits};
use warpbound_base::{Diagnostic, Named as _};
use warpbound_ipet::KernelFacts;
use warpbound_ipet::facts::{AccessFact, AccessNumbersFact};
use warpbound_ir::OpIndex;

use warpbound_bounds::facts::accesses::{access_line, numbers_of, stated_by};
use warpbound_bounds::facts::identity::{IdentifiedFact, identify_accesses};

use super::{NO_FINGERPRINT, NewKernel};
use warpbound_query::prepared::Prepared;
use warpbound_query::{KernelFlow, Session};

/// Computes the fingerprints of accesses that facts about them lack.
///
/// # Errors
///
/// A fact is about an instruction that is no access.
pub(super) fn complete_accesses(
    session: &Session,
    prepared: &Prepared<'_>,
    flow: &KernelFlow,
    facts: &mut KernelFacts,
) -> Result<(), Diagnostic> {
    stated_by(prepared, facts)?;
    let Some(units) = MemoryUnits::of(prepared.family()) else {
        return Ok(());
    };
    for fact in facts.accesses_mut() {
        if let Some(at) = prepared.code.at(fact.at) {
            let prints = identify_accesses(&session.image, prepared, flow, &units, &[at]);
            if let Some(print) = prints.into_iter().next() {
                fact.identity = print.identity;
            }
        }
    }
    Ok(())
}

impl NewKernel<'_> {
    /// Returns the lines of the facts about the accesses of a kernel whose code is the same.
    ///
    /// # Errors
    ///
    /// A fact is about an instruction that is no access.
    pub(super) fn same_accesses(&self, facts: &KernelFacts) -> Result<Vec<String>, Diagnostic> {
        stated_by(self.prepared, facts)?;
        let stated = facts.accesses().iter();
        let stated: Vec<(OpIndex, &AccessFact)> = stated
            .filter_map(|fact| Some((self.prepared.code.at(fact.at)?, fact)))
            .collect();
        let ops: Vec<OpIndex> = stated.iter().map(|&(at, _)| at).collect();
        let prints = self.access_prints(&ops);
        let lines = stated.iter().zip(prints);
        let lines =
            lines.filter_map(|((at, fact), print)| self.access_fact(*at, &fact.numbers, print));
        Ok(lines.collect())
    }

    /// Returns the lines of the facts about accesses of other code that hold here. The others are listed in `text`.
    pub(super) fn carried_accesses(&self, old: &[&KernelFacts], text: &mut String) -> Vec<String> {
        let facts: Vec<&AccessFact> = old.iter().flat_map(|facts| facts.accesses()).collect();
        if facts.is_empty() {
            return Vec::new();
        }
        let units = MemoryUnits::of(self.prepared.family());
        let is_access = |&at: &OpIndex| {
            let op = self.prepared.code.get(at).zip(units.as_ref());
            op.is_some_and(|(op, units)| AccessShape::of(op, units).is_some())
        };
        let all = (0..self.prepared.code.ops.len() as u32).map(OpIndex);
        let ops: Vec<OpIndex> = all.filter(is_access).collect();
        let mut is_carried = vec![false; facts.len()];
        let mut lines = Vec::new();
        for (&at, print) in ops.iter().zip(self.access_prints(&ops)) {
            let Some(decides) = &print.identity.decides else {
                continue;
            };
            let like = |fact: &AccessFact| fact.identity.decides.as_ref() == Some(decides);
            let like: Vec<usize> = (0..facts.len()).filter(|&i| like(facts[i])).collect();
            let Some(&first) = like.first() else {
                continue;
            };
            // Accesses with one fingerprint have the same addresses, so the fact about each of them holds for the
            // others. If the facts differ, one of them may be wrong, and none is carried.
            let numbers = facts[first].numbers;
            if numbers.is_empty() || like.iter().any(|&i| facts[i].numbers != numbers) {
                continue;
            }
            let place = self.prepared.addr(at);
            let _ = writeln!(
                text,
                "#   access at {place} carried from {}",
                old_access(facts[first])
            );
            lines.extend(self.access_fact(at, &numbers, print));
            like.iter().for_each(|&i| is_carried[i] = true);
        }
        for (fact, _) in facts
            .iter()
            .zip(is_carried)
            .filter(|(_, is_carried)| !is_carried)
        {
            let why = match (fact.numbers.is_empty(), &fact.identity.decides) {
                (true, _) => "it had no number",
                (false, None) => NO_FINGERPRINT,
                (false, Some(_)) => {
                    "no access has its fingerprint: the code that decides its addresses changed, or other facts contradict it"
                }
            };
            let _ = writeln!(text, "#   access {} asked again: {why}", old_access(fact));
        }
        lines
    }

    fn access_prints(&self, ops: &[OpIndex]) -> Vec<IdentifiedFact> {
        let Some(units) = MemoryUnits::of(self.prepared.family()) else {
            return Vec::new();
        };
        let image = &self.session.image;
        identify_accesses(image, self.prepared, self.flow, &units, ops)
    }

    /// Returns the line of a fact about an access of the kernel; `None` if the operation is no access.
    fn access_fact(
        &self,
        at: OpIndex,
        numbers: &AccessNumbersFact,
        print: IdentifiedFact,
    ) -> Option<String> {
        let units = MemoryUnits::of(self.prepared.family())?;
        let shape = AccessShape::of(self.prepared.code.get(at)?, &units)?;
        let stated = numbers_of(numbers);
        let line = access_line(self.prepared, at, shape, &stated, print.identity);
        Some(line.format_line())
    }
}

/// Returns the address and the numbers of an old fact.
fn old_access(fact: &AccessFact) -> String {
    let AccessNumbersFact {
        sectors,
        lines,
        conflicts,
        space,
    } = fact.numbers;
    let numbers = [
        ("sectors", sectors),
        ("lines", lines),
        ("conflicts", conflicts),
    ];
    let numbers = numbers.iter();
    let mut parts: Vec<String> = numbers
        .filter_map(|(key, number)| Some(format!("{key} = {}", (*number)?)))
        .collect();
    parts.extend(space.map(|space| format!("space = {}", space.name())));
    format!("{} ({})", fact.at, parts.join(", "))
}
