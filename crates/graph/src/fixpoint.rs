use std::collections::BTreeSet;

/// A forward dataflow problem whose nodes may be discovered while it is solved.
pub trait Problem {
    /// What holds on entry to a node.
    type State: Clone;
    /// Why the analysis cannot go on.
    type Error;

    /// Flows `state` through `node`; calls `emit` for each successor with the state it receives.
    fn flow(
        &mut self,
        node: usize,
        state: &Self::State,
        emit: &mut dyn FnMut(usize, Self::State),
    ) -> Result<(), Self::Error>;

    /// Joins `new` into `old`; true when `old` grew. Must reach a maximum in finitely many steps.
    fn join(&mut self, node: usize, old: &mut Self::State, new: Self::State) -> bool;

    /// Order in which waiting nodes are taken: smaller first. Only speed depends on it.
    fn priority(&self, node: usize) -> u64 {
        node as u64
    }
}

/// The least solution that the iteration reached; exists only when solved.
#[derive(Clone, Debug)]
pub struct Solution<S> {
    states: Vec<Option<S>>,
}

impl<S> Solution<S> {
    /// State on entry to `node`; `None` when no flow reaches it.
    pub fn get(&self, node: usize) -> Option<&S> {
        self.states.get(node).and_then(Option::as_ref)
    }

    /// Nodes that are reached, ascending, with their states.
    pub fn reached(&self) -> impl Iterator<Item = (usize, &S)> {
        self.states
            .iter()
            .enumerate()
            .filter_map(|(node, state)| Some((node, state.as_ref()?)))
    }
}

/// Iterates `problem` from `root` until nothing changes.
pub fn solve<P: Problem>(
    problem: &mut P,
    root: usize,
    initial: P::State,
) -> Result<Solution<P::State>, P::Error> {
    let mut states: Vec<Option<P::State>> = Vec::new();
    let mut waiting = BTreeSet::new();
    let mut emitted = vec![(root, initial)];
    loop {
        for (node, new) in emitted.drain(..) {
            if node >= states.len() {
                states.resize_with(node + 1, || None);
            }
            let grew = match &mut states[node] {
                Some(old) => problem.join(node, old, new),
                slot => {
                    *slot = Some(new);
                    true
                }
            };
            if grew {
                waiting.insert((problem.priority(node), node));
            }
        }
        let Some((_, node)) = waiting.pop_first() else {
            return Ok(Solution { states });
        };
        if let Some(state) = states[node].clone() {
            problem.flow(node, &state, &mut |to, s| emitted.push((to, s)))?;
        }
    }
}
