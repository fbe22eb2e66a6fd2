use std::collections::BTreeSet;

/// A forward dataflow problem whose nodes may be discovered while it is solved.
pub trait DataflowProblem {
    /// What holds on entry to a node.
    type State;
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

    /// Order in which waiting nodes are taken, sweep by sweep: smaller first. Only speed depends on it.
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
pub fn solve<P: DataflowProblem>(
    problem: &mut P,
    root: usize,
    initial: P::State,
) -> Result<Solution<P::State>, P::Error> {
    let mut states: Vec<Option<P::State>> = Vec::new();
    let mut waiting = BTreeSet::new();
    let mut emitted = vec![(root, initial)];
    let mut position = (0, 0);
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
        // In sweeps over all that waits. Going back at once to what comes earlier would settle inner loops anew for
        // each round of an outer one: as often as the product of the rounds of all, not their sum.
        let later = waiting.range(position..).next();
        let Some(&next) = later.or_else(|| waiting.first()) else {
            return Ok(Solution { states });
        };
        waiting.remove(&next);
        position = next;
        let node = next.1;
        if let Some(state) = &states[node] {
            problem.flow(node, state, &mut |to, s| emitted.push((to, s)))?;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Loops in loops: a path, and from its second half an edge back to the node as far from the middle. Each
    /// edge back adds a bit, and each node passes on what it has.
    struct Nest {
        depth: usize,
        flows: usize,
    }

    impl DataflowProblem for Nest {
        type State = u64;
        type Error = ();

        fn flow(
            &mut self,
            node: usize,
            state: &u64,
            emit: &mut dyn FnMut(usize, u64),
        ) -> Result<(), ()> {
            self.flows += 1;
            let last = 2 * self.depth - 1;
            if node < last {
                emit(node + 1, *state);
            }
            if node >= self.depth {
                emit(last - node, state | 1 << (node - self.depth));
            }
            Ok(())
        }

        fn join(&mut self, _: usize, old: &mut u64, new: u64) -> bool {
            let grew = new & !*old != 0;
            *old |= new;
            grew
        }
    }

    #[test]
    fn nested_loops_take_a_few_sweeps_however_deep() {
        for depth in [5, 20, 60] {
            let mut nest = Nest { depth, flows: 0 };
            let solution = solve(&mut nest, 0, 0).unwrap();
            let all = (1 << depth) - 1;
            assert!((0..2 * depth).all(|node| solution.get(node) == Some(&all)));
            assert!(
                nest.flows <= 4 * 2 * depth,
                "{} for {depth} loops",
                nest.flows
            );
        }
    }
}
