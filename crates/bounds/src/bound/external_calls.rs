//! Calls of functions outside the file, and their costs.
//!
//! For example, if a fact states 40 instructions for `vprintf`, each call of it adds 40 to the cost of its node. If
//! the 32 lanes of a warp may call different functions there, it adds 32 * 40.

use std::collections::{BTreeMap, BTreeSet};

use warpbound_base::Diagnostic;
use warpbound_ipet::facts::format_call;
use warpbound_report::bound::ExternalCall;
use warpbound_simt::NodeId;

use super::query::BoundQuery;

/// Calls of functions outside the file.
#[derive(Default)]
pub(super) struct ExternalCalls {
    /// Instructions by calling node; 0 where they are unknown.
    pub(super) costs: BTreeMap<NodeId, u64>,
    /// Calls in the order of their nodes.
    pub(super) calls: Vec<ExternalCall>,
}

impl ExternalCalls {
    fn unknown(&self) -> impl Iterator<Item = &ExternalCall> {
        self.calls.iter().filter(|call| call.instructions.is_none())
    }

    /// Returns the reason why there is no bound if the cost of a call is unknown.
    pub(super) fn refusal(&self) -> Option<Diagnostic> {
        let call = self.unknown().next()?;
        let message = format!("call of {}, whose cost is unknown", call.name);
        let mut refusal = Diagnostic::new(message).at(&call.at);
        refusal.location.source = call.source.clone();
        Some(refusal)
    }

    /// Returns the lines of a facts file for the missing costs.
    pub(super) fn missing_facts(&self) -> impl Iterator<Item = String> {
        let names: BTreeSet<&str> = self.unknown().map(|call| call.name.as_str()).collect();
        names.into_iter().map(format_call)
    }
}

impl BoundQuery<'_> {
    /// Returns the calls of functions outside the file with their costs.
    ///
    /// # Errors
    ///
    /// A fact names a function that the kernel does not call.
    pub(super) fn external_calls(&self) -> Result<ExternalCalls, Diagnostic> {
        // A misspelled name in the facts must not pass as a fact about nothing.
        let called = self.analysed.flow.external_names();
        if let Some(facts) = self.facts
            && let Some(call) = facts.calls().iter().find(|c| !called.contains(&c.name))
        {
            return Err(facts.locate_call(
                call,
                Diagnostic::new(format!(
                    "the kernel calls no {} outside the file",
                    call.name
                )),
            ));
        }
        let mut external = ExternalCalls::default();
        let space = &self.analysed.flow.thread.space;
        for id in space.ids() {
            // Where lanes may disagree on the callee, each lane costs a call (SOUNDNESS 2, `external-call`).
            let lanes = self.analysed.knowledge.context.live_lanes();
            let Some((name, callees)) = self.analysed.flow.external_callees(id, lanes) else {
                continue;
            };
            let stated = self.facts.and_then(|facts| facts.call(name));
            let instructions = stated.or(self.analysed.options.call_default);
            // An unknown cost counts 0 here; [`ExternalCalls::refusal`] then withholds the bound.
            let cost = instructions.unwrap_or(0).saturating_mul(callees);
            external.costs.insert(id, cost);
            let at = self.analysed.prepared.addr(space.block(id).last);
            external.calls.push(ExternalCall {
                at: self.analysed.prepared.location_of(at),
                source: self.analysed.prepared.source(at),
                name: name.to_owned(),
                instructions,
            });
        }
        Ok(external)
    }
}
