//! Divergence in the report of a bound, and the causes of a coarser warp-level graph. For example, if calls of one
//! function share a context, the graph has paths that enter by one call and return to another one.

use std::collections::{BTreeMap, BTreeSet};

use warpbound_analyse::convergence::Demotion;
use warpbound_base::CodeAddr;
use warpbound_report::bound::{CodePlace, PathEdge};
use warpbound_simt::NodeId;

use super::query::BoundQuery;
use crate::facts::shared_header_note;
use warpbound_query::KernelFlow;
use warpbound_query::graph::calls;

impl BoundQuery<'_> {
    /// Returns notes on the sources of overestimation in the control flow.
    pub(super) fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let space = &self.analysed.flow.thread.space;
        let merged: BTreeSet<String> = space
            .shared_calls
            .values()
            // Recursion has one context by definition, and shows as a loop in the report.
            .filter(|call| !call.recursive)
            .map(|call| {
                self.analysed
                    .prepared
                    .function_name_at(self.analysed.prepared.addr(call.callee))
            })
            .collect();
        if !merged.is_empty() {
            let names: Vec<String> = merged.into_iter().collect();
            notes.push(format!(
                "too many calling contexts: calls of {} share one, which makes the bound coarser",
                names.join(", ")
            ));
        }
        let loops = self.names.iter().zip(&self.analysed.flow.loops.sites);
        let shared =
            loops.filter_map(|(name, site)| shared_header_note(self.analysed.prepared, name, site));
        notes.extend(shared);
        let scattered: BTreeSet<CodeAddr> = self
            .analysed
            .flow
            .warp
            .divergent_calls
            .iter()
            .map(|&id| self.last_addr(id))
            .collect();
        if !scattered.is_empty() {
            let locations = scattered.into_iter();
            let locations: Vec<String> = locations
                .map(|at| self.analysed.prepared.location_of(at))
                .collect();
            notes.push(format!(
                "the lanes of a warp may call up to {} different functions at {}",
                self.analysed.knowledge.context.live_lanes(),
                locations.join(", ")
            ));
        }
        notes.extend(self.demotion_notes());
        notes
    }

    /// Returns notes on the regions of convergence barriers whose lanes are not taken to be joined, one for each reason.
    fn demotion_notes(&self) -> impl Iterator<Item = String> {
        let mut places: BTreeMap<Demotion, Vec<String>> = BTreeMap::new();
        for (&region, &reason) in &self.analysed.flow.thread.regions.demoted {
            let place = self.analysed.prepared.location(region);
            places.entry(reason).or_default().push(place);
        }
        places.into_iter().map(|(reason, places)| {
            let why = match reason {
                Demotion::Release => "a YIELD, NANOSLEEP or WARPSYNC inside may let lanes go on early",
                Demotion::Break => "lanes leave them by BREAK",
                Demotion::SharedEnd => "they end where another such region does",
                Demotion::OtherBarrier => "they end where a region of another barrier does",
            };
            format!(
                "lanes are not counted as joined at the ends of the regions that begin at {}: {why}",
                places.join(", ")
            )
        })
    }

    /// Returns the branches at which lanes may diverge, in order of address.
    pub(super) fn divergent_branches(&self) -> Vec<CodePlace> {
        let branches: BTreeSet<(CodeAddr, Vec<String>)> = self
            .analysed
            .flow
            .warp
            .divergent
            .iter()
            .map(|&id| {
                (
                    self.last_addr(id),
                    calls(self.analysed.prepared, self.analysed.flow, id),
                )
            })
            .collect();
        branches
            .into_iter()
            .map(|(at, calls)| CodePlace {
                at: self.analysed.prepared.location_of(at),
                source: self.analysed.prepared.source(at),
                calls,
            })
            .collect()
    }

    /// Returns the edges over which a warp resumes lanes that diverged, in order of address.
    pub(super) fn divergence_edges(&self) -> Vec<PathEdge> {
        let KernelFlow { thread, warp, .. } = self.analysed.flow;
        let space = &thread.space;
        // A set, because contexts repeat the same pair of addresses.
        let edges: BTreeSet<(CodeAddr, CodeAddr)> = warp
            .divergence_edges(thread)
            .filter_map(|(from, step)| {
                let to = self.analysed.prepared.addr(space.block(step.to?).first);
                Some((self.last_addr(from), to))
            })
            .collect();
        edges
            .into_iter()
            .map(|(from, to)| PathEdge {
                from: self.analysed.prepared.location_of(from),
                to: self.analysed.prepared.location_of(to),
            })
            .collect()
    }

    /// Returns the address of the last instruction of a node.
    fn last_addr(&self, id: NodeId) -> CodeAddr {
        self.analysed
            .prepared
            .addr(self.analysed.flow.thread.space.block(id).last)
    }
}
