//! Warp-level graph of any program under any abstract execution model (Algorithm 1 of `warp-cfg-2023` 3.4).
//!
//! Worklist iteration over the abstract states of an [`AbstractModel`] at the nodes of a [`WarpProgram`].

use std::collections::BTreeSet;

use warpbound_graph::{DataflowProblem, Solution, solve};
use warpbound_simt::warp::{CellSet, KnownCondition, MayUnderflow, WarpStep};
use warpbound_simt::{AbstractModel, EntryTable, NodeId};

/// Last instruction of a node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NodeEnd<C> {
    /// Its control operation.
    pub op: C,
    /// The condition of the operation in the active lanes.
    pub condition: KnownCondition,
    /// The node after it in memory.
    pub next: Option<NodeId>,
}

/// Program of numbered nodes that a warp executes under an abstract execution model.
pub trait WarpProgram<M: AbstractModel> {
    /// Reason to refuse the program.
    type Error;

    /// Applies the data effects of `node` to the state of the warp on entry to it and returns its last instruction, or
    /// `None` if no warp executes the node.
    ///
    /// # Errors
    ///
    /// The program is refused.
    fn execute(
        &mut self,
        node: NodeId,
        state: &mut M::State,
    ) -> Result<Option<NodeEnd<M::Control>>, Self::Error>;

    /// The stack entries of the program.
    fn entries(&mut self) -> &mut EntryTable;

    /// The refusal of a program whose stack may underflow at the end of `node`.
    fn underflow(&self, node: NodeId, error: MayUnderflow) -> Self::Error;

    /// Position of `node` in a sweep over the nodes, smaller first. Only speed depends on it.
    fn priority(&self, node: NodeId) -> u64;
}

/// Steps of a warp between nodes, and the abstract state at each node.
#[derive(Debug)]
pub struct WarpGraph<S> {
    /// For each node, the steps that the warp may take from it.
    pub steps: Vec<Vec<WarpStep>>,
    states: Solution<S>,
}

impl<S> WarpGraph<S> {
    /// Builds the graph of a program with this number of nodes, whose lanes agree on `agree` at `entry`.
    ///
    /// # Errors
    ///
    /// The first of [`WarpProgram::execute`] and [`WarpProgram::underflow`].
    pub fn build<M: AbstractModel<State = S>, P: WarpProgram<M>>(
        model: &M,
        program: &mut P,
        nodes: usize,
        entry: NodeId,
        agree: CellSet,
    ) -> Result<WarpGraph<S>, P::Error> {
        let mut explorer = Explorer {
            model,
            program,
            steps: vec![Vec::new(); nodes],
        };
        let states = solve(&mut explorer, entry.index(), model.entry(agree))?;
        Ok(WarpGraph {
            steps: explorer.steps,
            states,
        })
    }

    /// State of the warp about to execute `node`; `None` if it never does.
    pub fn state(&self, node: NodeId) -> Option<&S> {
        self.states.get(node.index())
    }

    /// All steps with their source nodes.
    pub fn edges(&self) -> impl Iterator<Item = (NodeId, &WarpStep)> {
        self.steps
            .iter()
            .enumerate()
            .flat_map(|(from, steps)| steps.iter().map(move |s| (NodeId(from as u32), s)))
    }
}

struct Explorer<'a, M, P> {
    model: &'a M,
    program: &'a mut P,
    steps: Vec<Vec<WarpStep>>,
}

impl<M: AbstractModel, P: WarpProgram<M>> DataflowProblem for Explorer<'_, M, P> {
    type State = M::State;
    type Error = P::Error;

    fn flow(
        &mut self,
        node: usize,
        state: &M::State,
        emit: &mut dyn FnMut(usize, M::State),
    ) -> Result<(), P::Error> {
        let here = NodeId(node as u32);
        let mut state = state.clone();
        let Some(end) = self.program.execute(here, &mut state)? else {
            return Ok(());
        };
        let mut steps = BTreeSet::new();
        let result = self.model.step(
            state,
            &end.op,
            end.condition,
            (here, end.next),
            self.program.entries(),
            &mut |step, to| {
                if let (Some(node), Some(to)) = (step.to, to) {
                    emit(node.index(), to);
                }
                steps.insert(step);
            },
        );
        result.map_err(|error| self.program.underflow(here, error))?;
        // States only grow, so the last visit finds all steps of the earlier ones.
        self.steps[node] = steps.into_iter().collect();
        Ok(())
    }

    fn join(&mut self, _: usize, old: &mut M::State, new: M::State) -> bool {
        self.model.join(old, &new)
    }

    fn priority(&self, node: usize) -> u64 {
        self.program.priority(NodeId(node as u32))
    }
}
