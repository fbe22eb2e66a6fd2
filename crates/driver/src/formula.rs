//! Formulas of kernels: bounds as functions of the counts of loops.

use warpbound_base::{Diagnostic, Instructions};
use warpbound_bound::formula::SymbolicProgram;
use warpbound_bound::{Ipet, StatedCounts};
use warpbound_simt::NodeId;

use crate::KernelFlow;

impl KernelFlow {
    /// Returns the integer program in which the bounds of some loops are symbols: symbol `s` is the bound of fact
    /// `facts[s]` (one per element of `Loops::sites`), header executions per entry and thread. `stated` has the bounds
    /// of the other loops; a node costs `cost(node)`.
    ///
    /// # Errors
    ///
    /// A number is too large for the program.
    pub fn symbolic_program(
        &self,
        facts: &[usize],
        stated: StatedCounts<'_>,
        cost: impl Fn(NodeId) -> Instructions,
    ) -> Result<SymbolicProgram, Diagnostic> {
        SymbolicProgram::read_off(facts.len(), |values| {
            let mut bounds = stated.bounds.to_vec();
            for (&fact, &value) in facts.iter().zip(values) {
                if let Some(bound) = bounds.get_mut(fact) {
                    *bound = Some(value);
                }
            }
            let stated = StatedCounts {
                bounds: &bounds,
                ..stated
            };
            let ipet = Ipet::with_facts(&self.counts, &cost, stated);
            let ipet =
                ipet.map_err(|_| Diagnostic::new("a number is too large to compute with"))?;
            Ok(ipet.model().clone())
        })
    }
}
