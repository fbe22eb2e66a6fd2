//! Outcomes of the branches of random programs, thread by thread, in runs that differ in one origin of values only.

use std::collections::BTreeMap;

use warpbound_ir::{ControlEffect, Expr, Meaning, OpIndex};
use warpbound_simt::lanes_of;
use warpbound_simulate::functional::{ExecutionListener, Issue, launch_with_listener};

use crate::launch_profiles::ProgramLaunch;
use crate::launch_profiles::programs::ProfiledProgram;

/// Thread of a launch: index of its block in x, and its number in the block.
pub type ThreadName = (u32, u32);

/// Whether the condition of each branch held, for each thread and in order of execution.
pub type BranchOutcomes = BTreeMap<(OpIndex, ThreadName), Vec<bool>>;

/// First byte in bank 0 of the parameters that [`with_params`] adds.
const PARAMS: u32 = 0x150;

/// Registers that begin as parameters instead of constants.
const PARAM_REGISTERS: [u8; 2] = [2, 3];

#[derive(Default)]
struct OutcomeCollector {
    branches: Vec<bool>,
    outcomes: BranchOutcomes,
}

impl<E> ExecutionListener<E> for OutcomeCollector {
    fn issue(&mut self, issue: &Issue<'_, E>) -> bool {
        if self
            .branches
            .get(issue.at.index())
            .copied()
            .unwrap_or(false)
        {
            for lane in lanes_of(issue.active) {
                let thread = (issue.block[0], issue.first_thread() + lane as u32);
                let outcomes = self.outcomes.entry((issue.at, thread)).or_default();
                outcomes.push(issue.taken >> lane & 1 == 1);
            }
        }
        true
    }
}

/// Runs a launch and returns the outcomes of all control operations with a condition.
pub fn branch_outcomes(program: &ProfiledProgram, launch: &ProgramLaunch) -> BranchOutcomes {
    let ops = program.code.ops.iter();
    let mut collector = OutcomeCollector {
        branches: ops
            .map(|op| op.control != ControlEffect::Next && !op.condition.is_always())
            .collect(),
        ..OutcomeCollector::default()
    };
    let mut memory = launch.memory.clone();
    launch_with_listener(&program.code, &launch.launch, &mut memory, &mut collector)
        .expect("the programs end");
    collector.outcomes
}

/// The program with two of its constants read from parameters.
#[must_use]
pub fn with_params(program: &ProfiledProgram) -> ProfiledProgram {
    let mut changed = program.clone();
    for (number, register) in PARAM_REGISTERS.into_iter().enumerate() {
        let cell = warpbound_ir::Cell::gpr(register);
        let first = changed
            .code
            .ops
            .iter_mut()
            .find(|op| op.writes.contains(&cell));
        if let Some(Meaning::Set(sets)) = first.and_then(|op| op.meaning.as_mut()) {
            for (_, value) in sets {
                let at = PARAMS + 4 * number as u32;
                *value = Expr::Constant(0, Box::new(Expr::Const(at)));
            }
        }
    }
    changed
}

/// Sets the parameters of a launch.
pub fn set_params(launch: &mut ProgramLaunch, words: [u32; 2]) {
    if let Some((_, bank)) = launch.launch.constants.first_mut() {
        bank.resize(PARAMS as usize, 0);
        bank.extend(words.iter().flat_map(|word| word.to_le_bytes()));
    }
}

/// Replaces the contents of both buffers.
pub fn set_data(launch: &mut ProgramLaunch, seed: u64) {
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut memory = warpbound_launch::GlobalMemory::default();
    for buffer in launch.memory.buffers() {
        let words = buffer.bytes.len() / 4;
        let bytes = (0..words).flat_map(|_| rng.u32(0..8).to_le_bytes());
        memory.add(buffer.name.as_str(), bytes.collect());
    }
    launch.memory = memory;
}
