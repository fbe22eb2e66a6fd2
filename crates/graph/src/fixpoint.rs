use std::collections::BTreeSet;

/// Forward dataflow problem whose nodes may be discovered while it is solved.
pub trait DataflowProblem {
    /// Dataflow fact on entry to a node; a join semilattice under [`DataflowProblem::join`].
    type State;
    /// Reason to give up.
    type Error;

    /// Computes the transfer function of `node` on `state`; calls `emit` for each successor with the state
    /// that it receives.
    fn flow(
        &mut self,
        node: usize,
        state: &Self::State,
        emit: &mut dyn FnMut(usize, Self::State),
    ) -> Result<(), Self::Error>;

    /// Joins `new` into `old` and returns whether `old` grew. Ascending chains must be finite.
    fn join(&mut self, node: usize, old: &mut Self::State, new: Self::State) -> bool;

    /// Position of `node` in a sweep over the worklist, smaller first. Only speed depends on it.
    fn priority(&self, node: usize) -> u64 {
        node as u64
    }
}

/// Fixpoint of a [`DataflowProblem`]. Only [`solve`] makes one, so it is always complete.
#[derive(Clone, Debug)]
pub struct Solution<S> {
    states: Vec<Option<S>>,
}

impl<S> Solution<S> {
    /// State on entry to `node`; `None` if the node is not reached.
    pub fn get(&self, node: usize) -> Option<&S> {
        self.states.get(node).and_then(Option::as_ref)
    }

    /// Reached nodes, ascending, with their states.
    pub fn reached(&self) -> impl Iterator<Item = (usize, &S)> {
        self.states
            .iter()
            .enumerate()
            .filter_map(|(node, state)| Some((node, state.as_ref()?)))
    }
}

/// Iterates `problem` from `root` to a fixpoint.
///
/// # Errors
///
/// The first error of [`DataflowProblem::flow`].
pub fn solve<P: DataflowProblem>(
    problem: &mut P,
    root: usize,
    initial: P::State,
) -> Result<Solution<P::State>, P::Error> {
    let mut states: Vec<Option<P::State>> = Vec::new();
    // Ordered by priority, so that a sweep continues from its position instead of starting again.
    let mut worklist = BTreeSet::new();
    let mut emitted = vec![(root, initial)];
    let mut position = (0, 0);
    loop {
        for (node, new) in emitted.drain(..) {
            // Nodes may be discovered while the problem is solved.
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
                worklist.insert((problem.priority(node), node));
            }
        }
        // Sweeps over the whole worklist. Returning at once to earlier nodes would stabilise inner loops again
        // in each iteration of an outer one: the product of all iteration counts instead of their sum.
        let later = worklist.range(position..).next();
        let Some(&next) = later.or_else(|| worklist.first()) else {
            return Ok(Solution { states });
        };
        worklist.remove(&next);
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

    /// Nested loops: a path, and from each node of its second half an edge back to the node at the same
    /// distance from the middle. Each back edge adds a bit, and each node passes its bits on.
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
