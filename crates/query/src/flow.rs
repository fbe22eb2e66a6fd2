//! Control flow of a kernel: the stages from code to count rows.
//!
//! Code → thread-level graph → warp-level graph → loops → count rows. For example, a divergent branch is one node
//! with two edges in the thread-level graph; in the warp-level graph one edge pushes the lanes that wait, and a
//! resume edge returns to them.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use warpbound_analyse::guarded_lanes::lane_limits;
use warpbound_analyse::launch_profile::KnownTransfers;
use warpbound_analyse::loops::Loops;
use warpbound_analyse::program_space::ResolvedControl;
use warpbound_analyse::thread_cfg::Limits;
use warpbound_analyse::{Dependence, LaunchContext, Refusal, ThreadCfg, WarpCfg};
use warpbound_base::{Diagnostic, Instructions, UpperBound};
use warpbound_ipet::{Effort, Ipet, Never, NeverIndex, StatedCounts, Verdict};
use warpbound_ir::Code;
use warpbound_simt::counts::{CountInput, CountKind, CountSystem, CountVar, LaneLimit};
use warpbound_simt::warp::{Via, WarpModel};
use warpbound_simt::{AbstractState, EntryId, NodeId};

use crate::prepared::Prepared;
use crate::{BoundOptions, Session};

/// Control flow of one kernel.
pub struct KernelFlow {
    /// Thread-level graph.
    pub thread: ThreadCfg,
    /// Warp-level graph.
    pub warp: WarpCfg,
    /// Loops and the sites for which they need facts.
    pub loops: Loops,
    /// Edges that only some lanes of a warp take.
    pub lane_limits: Vec<LaneLimit>,
    /// Count rows.
    pub counts: CountSystem,
    dependence: OnceLock<Dependence>,
}

impl KernelFlow {
    /// Analyses `code`; refuses control flow that the analyses cannot follow.
    pub fn analyse(
        code: &Code,
        launch: &LaunchContext,
        model: &WarpModel,
        limits: &Limits,
    ) -> Result<KernelFlow, Refusal> {
        let mut thread = ThreadCfg::build(code, limits)?;
        // Before the warp-level graph, where a branch diverges unless the lanes agree on its condition.
        thread.agree_on_warp_numbers(code, launch);
        let warp = WarpCfg::build(code, &mut thread, launch, model)?;
        let loops = Loops::of_thread(code, &thread);
        let limits = lane_limits(code, &thread, launch);
        let pending = |node| pending_entries(&warp, node);
        let counts = CountSystem::build(&CountInput {
            lane_limits: &limits,
            ..count_input(launch, &thread, &warp, &loops, &pending)
        });
        Ok(KernelFlow {
            thread,
            warp,
            loops,
            lane_limits: limits,
            counts,
            dependence: OnceLock::new(),
        })
    }

    /// Returns dominators, loops and control dependence of the thread-level graph, computed at the first call.
    pub fn dependence(&self) -> &Dependence {
        self.dependence
            .get_or_init(|| Dependence::compute(&self.thread))
    }

    /// Replaces loops and count rows by the ones of the paper's reading of loop facts: the loops of the warp-level
    /// graph and the rows of [`CountSystem::of_paper`] (`warp-cfg-2023` 4).
    #[must_use]
    pub fn with_paper_reading(mut self, code: &Code, launch: &LaunchContext) -> KernelFlow {
        self.loops = Loops::of_warp(code, &self.thread, &self.warp);
        let KernelFlow {
            thread,
            warp,
            loops,
            ..
        } = &self;
        let pending = |node| pending_entries(warp, node);
        self.counts = CountSystem::of_paper(&count_input(launch, thread, warp, loops, &pending));
        self
    }

    /// Returns the count rows of one thread.
    pub fn counts_of_thread(&self, launch: &LaunchContext) -> CountSystem {
        let pending = |node| pending_entries(&self.warp, node);
        CountSystem::of_thread(&count_input(
            launch,
            &self.thread,
            &self.warp,
            &self.loops,
            &pending,
        ))
    }

    /// Returns what the graphs of `code` say about its control transfers, for launch profiles.
    pub fn known_transfers(&self, code: &Code) -> KnownTransfers {
        KnownTransfers::of_warps(code, &self.thread, &self.warp)
    }

    /// Returns the bound in warp instructions for the given loop bounds, one per element of [`Loops::sites`].
    /// Functions outside the file count 0. `None` if there is no bound.
    pub fn bound(&self, loops: &[Option<u64>]) -> Option<UpperBound<Instructions>> {
        let stated = StatedCounts {
            bounds: loops,
            ..StatedCounts::default()
        };
        self.bound_with(stated, |_| 0)
    }

    /// Like `bound` for all stated facts; a node costs `call(node)` in addition to its instructions.
    pub fn bound_with(
        &self,
        stated: StatedCounts<'_>,
        call: impl Fn(NodeId) -> u64,
    ) -> Option<UpperBound<Instructions>> {
        let cost = |node| {
            let instructions = self.thread.space.block(node).instructions;
            Instructions(u128::from(instructions) + u128::from(call(node)))
        };
        let ipet = Ipet::with_facts(&self.counts, cost, stated).ok()?;
        // Without branch and bound the relaxation is solved once; its bound is sound (SOUNDNESS 5.11).
        let effort = Effort {
            nodes: 0,
            ..Effort::default()
        };
        match ipet.solve(effort) {
            Ok(Verdict::Bounded(bound)) => Some(bound.upper_bound()),
            _ => None,
        }
    }

    /// Returns the function outside the file that a node calls, and the maximum number of callees that a warp of
    /// `lanes` lanes executes there: one per lane if the lanes may disagree on the callee, because lanes with
    /// different callees call them one after another.
    pub fn external_callees(&self, node: NodeId, lanes: u64) -> Option<(&str, u64)> {
        let resolved = self.thread.resolved.get(node.index())?.as_ref()?;
        let callees = match self.warp.divergent_calls.contains(&node) {
            true => lanes,
            false => 1,
        };
        Some((resolved.external.as_deref()?, callees))
    }

    /// Returns, for each `never` statement, its text and the count variables that it excludes.
    pub fn excluded_counts(&self, code: &Code, never: &[Never]) -> Vec<(String, Vec<CountVar>)> {
        let index = NeverIndex::new(never);
        let texts = never.iter().map(|never| (never.to_string(), Vec::new()));
        let mut excluded: Vec<(String, Vec<CountVar>)> = texts.collect();
        // The texts are part of the result even if they exclude nothing, so that statements and results pair up.
        if index.is_empty() {
            return excluded;
        }
        for (number, counted) in self.counts.variables.iter().enumerate() {
            let (from, to) = match counted {
                // The start leads to the entry without a step, so only statements about blocks can exclude it.
                CountKind::WarpStart | CountKind::ThreadStart => (None, Some(self.thread.entry)),
                CountKind::WarpStep(from, step) | CountKind::ThreadStep(from, step) => {
                    // On a resume edge the warp returns to lanes that are already at `to`: no thread takes that edge.
                    let is_warp = matches!(counted, CountKind::WarpStep(..));
                    let walks = !is_warp || matches!(step.via, Via::Walk);
                    (Some(*from).filter(|_| walks), step.to)
                }
            };
            let Some(to) = to else {
                continue;
            };
            for never in self.violated_never(code, &index, from, to) {
                if let Some((_, counts)) = excluded.get_mut(never) {
                    counts.push(CountVar(number));
                }
            }
        }
        excluded
    }

    /// Returns the numbers of the `never` statements that a thread violates on the step `from` one node `to` another;
    /// `None` is the start of the thread.
    pub fn violated_never<'a>(
        &self,
        code: &Code,
        index: &'a NeverIndex,
        from: Option<NodeId>,
        to: NodeId,
    ) -> impl Iterator<Item = usize> + use<'a> {
        let space = &self.thread.space;
        let addr = |op| code.get(op).map(|op| op.addr);
        let block = space.block(to);
        let range = addr(block.first).zip(addr(block.last));
        // A statement about a step names the last instruction of one block and the first of the next.
        let last = from.and_then(|from| addr(space.block(from).last));
        let step = last
            .zip(range)
            .and_then(|(last, (first, _))| index.of_step(last, first));
        let blocks = range
            .into_iter()
            .flat_map(|(first, last)| index.of_block(first..=last));
        step.into_iter().chain(blocks)
    }

    /// Returns the names of the called functions outside the file.
    pub fn external_names(&self) -> BTreeSet<String> {
        let external = |resolved: &ResolvedControl| resolved.external.clone();
        self.thread
            .resolved
            .iter()
            .flatten()
            .filter_map(external)
            .collect()
    }
}

impl Session {
    /// Computes the control flow of a kernel.
    ///
    /// # Errors
    ///
    /// The kernel is refused.
    pub fn flow(
        &self,
        prepared: &Prepared<'_>,
        launch: &LaunchContext,
        options: &BoundOptions,
    ) -> Result<KernelFlow, Diagnostic> {
        let flow = KernelFlow::analyse(&prepared.code, launch, &options.model, &Limits::default());
        flow.map_err(|refusal| self.refusal_diagnostic(prepared, refusal))
    }

    /// Returns the diagnostic of a refused kernel, with its location.
    pub fn refusal_diagnostic(&self, prepared: &Prepared<'_>, refusal: Refusal) -> Diagnostic {
        let source = prepared.source(refusal.at);
        let mut diagnostic = Diagnostic::from(refusal).in_kernel(prepared.kernel.demangled());
        diagnostic.location.source = source;
        self.locate(diagnostic)
    }
}

/// Collects the input of the count rows.
fn count_input<'a>(
    launch: &LaunchContext,
    thread: &'a ThreadCfg,
    warp: &'a WarpCfg,
    loops: &'a Loops,
    pending: &'a dyn Fn(NodeId) -> &'a [EntryId],
) -> CountInput<'a> {
    CountInput {
        lanes: launch.live_lanes(),
        // Only `analyse` adds these rows (SOUNDNESS 5.9); the paper's reading has none.
        lane_limits: &[],
        entry: thread.entry,
        thread: &thread.steps,
        warp: &warp.graph.steps,
        entries: &thread.space.entries,
        loops: &loops.loops,
        shared_returns: &loops.shared_returns,
        pending,
    }
}

/// Returns the entries that may be pending while the warp executes a node.
pub fn pending_entries(warp: &WarpCfg, node: NodeId) -> &[EntryId] {
    warp.state(node).map_or(&[], AbstractState::pending)
}
