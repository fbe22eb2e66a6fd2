//! Width of the registers of sums: one word if no thread can exceed it, otherwise two. For example, a factor of -3 in
//! a block that a warp executes at most 1000 times adds at most 3000 in absolute value, which one word holds.

use std::collections::BTreeMap;

use warpbound_base::{Deadline, Instructions};
use warpbound_bounds::bound::flow_facts;
use warpbound_ipet::{Effort, Ipet, Verdict};
use warpbound_ir::OpIndex;
use warpbound_report::ProbePlan;
use warpbound_rewrite::probes::{CounterRange, ProbeRequest, ProbeStyle};

use super::{CounterKind, InstrumentOptions, Target};
use crate::probes::launch_digest;
use warpbound_query::{AnalysedKernel, BoundOptions, StatedLaunches};

/// Absolute value from which on a sum may not fit a signed word.
const WORD_LIMIT: u128 = 1 << 31;

impl Target<'_> {
    /// Returns the range of the sums of a thread. A sum is in one word only if the integer program of the kernel
    /// bounds what a warp can add to it, with the loop bounds that follow from the launch. A thread adds no more than
    /// its warp.
    pub(super) fn range(
        &self,
        plan: &ProbePlan,
        options: &InstrumentOptions,
        request: &ProbeRequest,
    ) -> CounterRange {
        if options.counters == CounterKind::Probes && plan.sums.is_empty() {
            return CounterRange::Count;
        }
        let mut increments = request.points.values().flatten();
        let has_negative = increments.any(|increment| (increment.weight as i32) < 0);
        if options.style != ProbeStyle::Registers && !has_negative {
            // Counters in memory have 64 bits, and an unsigned word is added to them as it is.
            return CounterRange::Count;
        }
        match self.greatest_sum(plan, options, request) {
            // Two words are always right, and cost more registers.
            Some(Instructions(sum)) if sum < WORD_LIMIT => CounterRange::SignedWord,
            _ => CounterRange::Double,
        }
    }

    /// Returns a bound on the absolute value of each sum of a thread; `None` if no bound is known.
    fn greatest_sum(
        &self,
        plan: &ProbePlan,
        options: &InstrumentOptions,
        request: &ProbeRequest,
    ) -> Option<Instructions> {
        let launch = options.launch.as_ref();
        // Loop bounds of another launch than the plan's need not hold in the measured run.
        let is_planned = |launch: &std::sync::Arc<_>| {
            let planned = plan.launch.as_ref();
            planned.is_some_and(|planned| *planned == launch_digest(launch))
        };
        let bound = BoundOptions {
            block: plan.block,
            launches: StatedLaunches {
                file: launch.filter(|launch| is_planned(launch)).cloned(),
                ..StatedLaunches::default()
            },
            ..BoundOptions::default()
        };
        let knowledge = self.session.launch(self.prepared.kernel, &bound).ok()?;
        let flow = self
            .session
            .flow(self.prepared, &knowledge.context, &bound)
            .ok()?;
        let facts = flow_facts(AnalysedKernel {
            session: self.session,
            prepared: self.prepared,
            options: &bound,
            knowledge: &knowledge,
            flow: &flow,
            deadline: Deadline::default(),
        })
        .ok()?;
        let growth = growth_of_blocks(request);
        let blocks = &flow.thread.space;
        let cost = |node| {
            let growth = growth.get(&blocks.block(node).first);
            Instructions(growth.copied().unwrap_or(0))
        };
        let program = Ipet::with_facts(&flow.counts, cost, facts.stated()).ok()?;
        // The relaxation is already a bound (SOUNDNESS 5.11).
        let effort = Effort {
            nodes: 0,
            ..Effort::default()
        };
        match program.solve(effort) {
            Ok(Verdict::Bounded(bound)) => Some(bound.upper_bound().limit()),
            _ => None,
        }
    }
}

/// Returns, for each block, an upper bound on what an execution adds to any counter, in absolute value.
fn growth_of_blocks(request: &ProbeRequest) -> BTreeMap<OpIndex, u128> {
    let points = request.points.iter().map(|(&at, increments)| {
        // A counter may grow by issues and by lanes in one block. Absolute values are added, so that increments of
        // different signs do not cancel.
        let mut by_counter: BTreeMap<usize, u128> = BTreeMap::new();
        for increment in increments {
            let weight = (increment.weight as i32).unsigned_abs();
            *by_counter.entry(increment.counter).or_default() += u128::from(weight);
        }
        (at, by_counter.into_values().max().unwrap_or(0))
    });
    points.collect()
}
