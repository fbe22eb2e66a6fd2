//! Timing of each instruction on a machine: its timing facts, and the cycles to the next issue of its warp from the
//! parameters of the machine. Computed once per run.

use warpbound_ir::Code;
use warpbound_isa::nvidia::SassProgram;
use warpbound_machine::Parameter;
use warpbound_timing::{Distance, InstrFacts, instr_facts};

use super::super::parameters::{Tracked, UsedParameters};

/// Timing of an instruction.
#[derive(Clone, Debug)]
pub(super) struct InstrTiming {
    /// Facts without parameters.
    pub(super) facts: InstrFacts,
    pub(super) issue: Tracked<IssueDelay>,
}

/// Cycles from the issue of an instruction to the next issue of its warp.
#[derive(Clone, Copy, Debug)]
pub(super) struct IssueDelay {
    /// Stall count of the control word; 0 if the next instruction may issue in the same cycle.
    pub(super) stall: u32,
    /// Additional cycles for conflicts in the register banks.
    pub(super) bank_conflicts: u32,
}

/// Returns the timing of each instruction of a code, which was lifted from `program`.
pub(super) fn instr_timings(
    code: &Code,
    program: &SassProgram,
    parameters: &UsedParameters,
) -> Vec<InstrTiming> {
    let facts = instr_facts(code, program).into_iter();
    let timing = |facts| InstrTiming {
        issue: issue_delay(&facts, parameters),
        facts,
    };
    facts.map(timing).collect()
}

/// Returns the issue delay of an instruction. The stall counts of some codes of the control word are parameters; the
/// others are in the code itself.
fn issue_delay(facts: &InstrFacts, parameters: &UsedParameters) -> Tracked<IssueDelay> {
    let mut reader = parameters.reader();
    let stall = match facts.distance {
        Distance::Cycles(cycles) => cycles,
        Distance::Parameter(parameter) => reader.get(parameter) as u32,
        Distance::Pair => 1 - reader.get(Parameter::IssueDual).min(1) as u32,
    };
    let mut banks = parameters.reader();
    let conflicts = facts.bank_conflicts(banks.get(Parameter::IssueBanks));
    let per_conflict = banks.get(Parameter::IssueBankConflict) as u32;
    if conflicts > 0 {
        reader.join(&banks);
    }
    reader.track(IssueDelay {
        // A control word below the minimum of its class delays by the minimum (docs/timing-model.md).
        stall: stall.max(facts.least),
        bank_conflicts: conflicts * per_conflict,
    })
}
