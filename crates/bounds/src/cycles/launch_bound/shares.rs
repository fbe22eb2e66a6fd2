//! Cycles of the bound of a launch by operation: each term of the sum is divided as its worst path divides it.
//!
//! For example, if a term has 600 cycles and its worst path spends one third of its services in a load, the load gets
//! 200 of them. The shares are for reports: no bound rests on them, so floating-point numbers are precise enough.

use warpbound_base::Cycles;
use warpbound_cycles::{Contention, KernelTime, Service};
use warpbound_ipet::WarpBound;

use crate::cycles::CycleInputs;

/// Cycles of each operation.
pub(super) struct Shares<'a> {
    inputs: &'a CycleInputs,
    contention: &'a Contention,
    pub(super) instructions: Vec<f64>,
}

impl<'a> Shares<'a> {
    /// Starts with 0 for each operation.
    pub(super) fn new(inputs: &'a CycleInputs, contention: &'a Contention) -> Shares<'a> {
        Shares {
            inputs,
            contention,
            instructions: vec![0.0; contention.ops.len()],
        }
    }

    /// Adds the times of warps.
    pub(super) fn add_path(
        &mut self,
        time: &mut KernelTime<'_>,
        solved: &WarpBound<Cycles>,
        cycles: u64,
    ) {
        let of_path = time.instructions(&self.counts(solved));
        self.add(&of_path, cycles);
    }

    /// Adds the services by a resource.
    pub(super) fn add_service(
        &mut self,
        service: Service,
        solved: &WarpBound<Cycles>,
        cycles: u64,
    ) {
        let counts = self.counts(solved);
        let mut of_path = vec![0.0; self.instructions.len()];
        for (step, count) in self.inputs.steps.iter().zip(counts) {
            let ends = self.inputs.nodes.get(step.from).copied().flatten();
            let Some((first, last)) = ends.filter(|_| count > 0) else {
                continue;
            };
            for op in first.index()..=last.index() {
                let services = self.contention.ops.get(op);
                let service = services.map_or(0, |services| services[service as usize]);
                if let Some(own) = of_path.get_mut(op) {
                    *own += count as f64 * service as f64;
                }
            }
        }
        self.add(&of_path, cycles);
    }

    /// Executions of each step on the worst path; 0 if no worst path is known.
    fn counts(&self, solved: &WarpBound<Cycles>) -> Vec<u128> {
        let path = solved.worst_path();
        let count = |&var| path.map_or(0, |path| path.count(var));
        self.inputs.variables.iter().map(count).collect()
    }

    /// Divides cycles in proportion to the parts of `proportion`.
    fn add(&mut self, proportion: &[f64], cycles: u64) {
        let sum: f64 = proportion.iter().sum();
        // A term without a worst path has no shares.
        if sum <= 0.0 {
            return;
        }
        for (own, part) in self.instructions.iter_mut().zip(proportion) {
            *own += part / sum * cycles as f64;
        }
    }
}
