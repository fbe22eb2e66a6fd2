//! Assumptions of a bound (SOUNDNESS 2), each listed where an analysis or the user relied on it.
//!
//! For example, `taken-first` is listed only if the option orders the sides of a branch and a branch may diverge.

use std::collections::BTreeMap;

use crate::assumptions::{
    assumption, convergence_assumptions, lanes_assumption, launch_assumptions,
    warp_graph_assumptions,
};
use warpbound_analyse::indirect::IndirectTargets;
use warpbound_ir::{ControlEffect, Op, OpIndex};
use warpbound_isa::instr::StackToken;
use warpbound_load::Kernel;
use warpbound_report::BoundAssumption;
use warpbound_report::bound::{ExternalCall, LoopReport, Origin};
use warpbound_simt::warp::DivergenceOrder;

use super::query::BoundQuery;
use crate::access::accesses_outside_buffers;
use warpbound_query::{BoundOptions, FactReading};

impl BoundQuery<'_> {
    /// Lists the assumptions of the bound: the execution, the user's statements, the model, and the code.
    pub(super) fn assumptions(
        &self,
        loops: &[LoopReport],
        never: &[String],
        calls: &[ExternalCall],
    ) -> Vec<BoundAssumption> {
        let mut all = vec![
            assumption("undisturbed", self.undisturbed_text()),
            lanes_assumption(&self.analysed.knowledge.context),
        ];
        self.add_stated_assumptions(loops, never, &mut all);
        self.add_model_assumptions(&mut all);
        self.add_code_assumptions(calls, &mut all);
        all.extend(stack_assumption(
            self.analysed.prepared.kernel,
            self.analysed.options,
        ));
        self.add_segment_assumptions(loops, &mut all);
        let code = &self.analysed.prepared.code;
        all.extend(convergence_assumptions(code, &self.analysed.flow.thread));
        all
    }

    /// States that nothing interrupts the run, and names accesses of the launch at which a run may end in a fault.
    fn undisturbed_text(&self) -> String {
        let mut text =
            "no trap, fault, debugger or preemption makes the warp issue more instructions"
                .to_owned();
        let [misaligned, outside] = self.faults_of_launch();
        if !misaligned.is_empty() {
            text += &format!(
                ". In this launch, a thread whose address is misaligned faults if it executes the access at {}",
                misaligned.join(", ")
            );
        }
        if !outside.is_empty() {
            text += &format!(
                ". In this launch, a thread leaves all buffers, where runs of this tool place them, by the access at {}",
                outside.join(", ")
            );
        }
        if !misaligned.is_empty() || !outside.is_empty() {
            text += "; the bound says nothing of runs that fault";
        }
        text
    }

    /// Returns the places of accesses of the launch with misaligned addresses, and of accesses that leave all
    /// buffers.
    fn faults_of_launch(&self) -> [Vec<String>; 2] {
        if self.analysed.options.launches.file.is_none() {
            return Default::default();
        }
        let misaligned = self.analysed.accesses().misaligned.clone();
        let file = self.analysed.options.launches.only_file();
        let outside = file.map(|file| {
            accesses_outside_buffers(
                self.analysed.session,
                self.analysed.prepared,
                self.analysed.flow,
                file,
            )
            .unwrap_or_default()
        });
        let outside = outside.unwrap_or_default().into_iter().collect();
        [misaligned, outside].map(|all: Vec<OpIndex>| {
            let places = all
                .into_iter()
                .map(|at| self.analysed.prepared.location(at));
            places.collect()
        })
    }

    /// Adds the assumptions about memory and registers. Code objects use these where cubins have constant banks and a
    /// stack of the hardware.
    fn add_segment_assumptions(&self, loops: &[LoopReport], all: &mut Vec<BoundAssumption>) {
        let code = &self.analysed.prepared.code;
        let derives = loops
            .iter()
            .any(|l| l.uses(Origin::Derived) || l.uses(Origin::Launch));
        if derives && !code.entry_values.is_empty() {
            let text =
                "the kernel's arguments and the dispatch packet are not written while it runs";
            all.push(assumption("constant-segments", text));
        }
        // A return by the stack of the hardware reads no register, so only returns by a saved address are found here.
        let returns =
            |op: &Op| op.control == ControlEffect::Pop(StackToken::Ret) && !op.reads.is_empty();
        let space = &self.analysed.flow.thread.space;
        let nodes = space
            .ids()
            .filter(|&node| self.analysed.flow.thread.is_reached(node));
        let mut ends = nodes.filter_map(|node| code.get(space.block(node).last));
        if ends.any(returns) {
            let text = "functions return to the instruction after their call, with the kernel's floating-point modes";
            all.push(assumption("calling-convention", text));
        }
    }

    /// Adds the statements of the user that the bound depends on.
    fn add_stated_assumptions(
        &self,
        loops: &[LoopReport],
        never: &[String],
        all: &mut Vec<BoundAssumption>,
    ) {
        let origin = |origin| loops.iter().any(|l| l.uses(origin));
        if origin(Origin::Launch) {
            all.extend(launch_assumptions(self.analysed.options));
        }
        let signed = self.facts.and_then(|facts| facts.signed_off_by.as_ref());
        let signed = signed.map_or(String::new(), |name| format!("; signed off by {name}"));
        if origin(Origin::Facts) {
            let text = format!("the bounds of the facts file hold for every input{signed}");
            all.push(assumption("loop-facts", text));
        }
        if !never.is_empty() {
            let steps = never.join(", ");
            let text = format!("no thread executes {steps}, for any input{signed}");
            all.push(assumption("never", text));
        }
        if let (true, Some(default)) = (
            origin(Origin::LoopDefault),
            self.analysed.options.loop_default,
        ) {
            let text = format!(
                "loops without a fact run their header at most {default} times per entry and thread"
            );
            all.push(assumption("loop-default", text));
        }
        if self.analysed.options.reading == FactReading::Paper {
            all.push(assumption(
                "paper-flow",
                "loop bounds are bounds of the warp-level loops, including lanes that iterate separately",
            ));
        }
    }

    /// Adds the properties of the hardware that the analyses of the warp have used.
    fn add_model_assumptions(&self, all: &mut Vec<BoundAssumption>) {
        let first = match self.analysed.options.model.order {
            // The analysis follows both orders, so nothing is assumed.
            DivergenceOrder::Any => None,
            DivergenceOrder::TakenFirst => Some(("taken-first", "take it")),
            DivergenceOrder::FallThroughFirst => Some(("fall-through-first", "do not take it")),
        };
        // Without a divergent branch the order was not used.
        if let Some((id, lanes)) = first.filter(|_| !self.analysed.flow.warp.divergent.is_empty()) {
            let text = format!("after a divergent branch the lanes that {lanes} run first");
            all.push(assumption(id, text));
        }
        all.extend(warp_graph_assumptions(&self.analysed.flow.warp.used));
    }

    /// Adds the assumptions about indirect calls and about functions outside the file.
    fn add_code_assumptions(&self, calls: &[ExternalCall], all: &mut Vec<BoundAssumption>) {
        for (op, targets) in &self.analysed.flow.thread.indirect {
            if let IndirectTargets::Code { ops, assumed: true } = targets {
                let names: Vec<String> = ops
                    .iter()
                    .map(|&op| {
                        self.analysed
                            .prepared
                            .function_name_at(self.analysed.prepared.addr(op))
                    })
                    .collect();
                let text = format!(
                    "the indirect call at {} reaches only functions whose addresses are in the constants: {}",
                    self.analysed.prepared.location(*op),
                    names.join(", ")
                );
                all.push(assumption("call-table", text));
            }
        }
        // A function is called in several places, but the fact about it is stated once.
        let calls: BTreeMap<&str, Option<u64>> = calls
            .iter()
            .map(|call| (call.name.as_str(), call.instructions))
            .collect();
        for (name, instructions) in calls {
            let text = format!(
                "each call of {name} issues at most {} instructions and returns with all its lanes",
                instructions.unwrap_or(0)
            );
            all.push(assumption("external-call", text));
        }
    }
}

/// States the assumption about the stack of a kernel whose file does not know its size.
fn stack_assumption(kernel: &Kernel, options: &BoundOptions) -> Option<BoundAssumption> {
    let file = options.launches.file.as_ref();
    let text = match file.and_then(|file| warpbound_launch::assumed_stack(kernel, file)) {
        Some(bytes) => format!(
            "each thread has {bytes} bytes of stack, which suffice: the file does not know how much code that recurses needs"
        ),
        None if kernel.has_unknown_stack && file.is_none() => {
            "the stack of each thread suffices: the file does not know how much code that recurses needs".to_owned()
        }
        None => return None,
    };
    Some(assumption("stack-size", text))
}
