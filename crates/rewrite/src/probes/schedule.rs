//! Places of a probe's instructions inside its block, where control words let the warp wait anyway.
//!
//! All instructions of a block are executed equally often by the same lanes (SOUNDNESS 17), so a probe may count
//! anywhere between the first and the last of them. An instruction inserted after one with a stall count of n may
//! issue in one of the n - 1 cycles that pass unused. The stall is then divided between both, and the distance
//! between the instructions of the program stays as it was.
//!
//! For example, after `IADD` with a stall count of 6 a probe instruction issues 1 cycle later and gets a stall count
//! of 5. It costs nothing.

use std::collections::BTreeMap;

use warpbound_ir::{Cell, OpIndex};
use warpbound_isa::ControlWord;
use warpbound_isa::nvidia::SassInstr;

use super::sequence::{LONGEST_STALL, ProbeInstr, wait, with_stall};
use super::{ProbeEntry, ProbeFault, ProbeInsertion, ProbedCode, REGISTER_LATENCY};

/// Maximum number of gaps of a block that are tried.
const MOST_GAPS: usize = 48;

/// Instruction of a probe.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub(super) instr: ProbeInstr,
    /// Earlier steps, each with the minimum number of cycles from its issue to the issue of this step.
    pub(super) after: Vec<(usize, u32)>,
    /// Earliest cycle of the issue, counted from the first instruction of the block.
    pub(super) not_before: u32,
    /// Whether the step writes a register that stays in use after the probe.
    pub(super) writes_counter: bool,
}

/// Instructions of a probe in their places.
#[derive(Clone, Debug, Default)]
pub(super) struct Placed {
    pub(super) insertions: Vec<ProbeInsertion>,
    /// New control words for instructions of the program.
    pub(super) controls: BTreeMap<OpIndex, ControlWord>,
}

/// Place between two instructions of a block.
#[derive(Clone, Copy, Debug)]
struct Gap {
    /// Position of the instruction after the gap.
    at: usize,
    /// Cycles between the instructions around it.
    distance: u32,
    /// Cycles from the instruction before the gap until the first inserted one may issue.
    first: u32,
    /// Whether the stall of the instruction before the gap can be divided.
    divides: bool,
}

/// Gap with the steps placed in it.
#[derive(Clone, Debug)]
struct Filled {
    gap: Gap,
    /// Steps, each with its cycles after the instruction before the gap.
    steps: Vec<(usize, u32)>,
    /// Cycles from the instruction before the gap to the instruction after it.
    end: u32,
}

/// One way to place all steps, with the cycles that it costs.
struct Trial {
    cost: u32,
    filled: Vec<Filled>,
}

/// Registers that the steps write and that nothing needs after the probe.
pub(super) struct PrivateCells<'a> {
    pub(super) cells: &'a [Cell],
    /// Whether a register may be written before an instruction.
    pub(super) is_free: &'a dyn Fn(OpIndex, Cell) -> bool,
    /// Whether an instruction names a register.
    pub(super) is_named: &'a dyn Fn(OpIndex, Cell) -> bool,
}

/// Places the steps of a probe in order in the block from `at` on. Returns `None` if there is no gap at which all
/// private registers are free.
pub(super) fn place(
    probed: &ProbedCode<'_>,
    at: OpIndex,
    steps: &[Step],
    private: &PrivateCells<'_>,
) -> Option<Placed> {
    let blocks = &probed.cfg.space.blocks;
    let block = blocks.get(blocks.starting_at(at)?);
    let ops: Vec<OpIndex> = block.ops().collect();
    let instrs: Vec<&SassInstr> = ops
        .iter()
        .map(|op| probed.program.instrs.get(op.index()))
        .collect::<Option<_>>()?;
    let gaps = gaps_of(probed, &instrs);
    let mut best: Option<Trial> = None;
    for start in &gaps {
        let Some(&op) = ops.get(start.at) else { break };
        if !private
            .cells
            .iter()
            .all(|&cell| (private.is_free)(op, cell))
        {
            continue;
        }
        let names = |&&op: &&OpIndex| {
            private
                .cells
                .iter()
                .any(|&cell| (private.is_named)(op, cell))
        };
        // From there on the program may write the private registers itself, or may need its own values in them.
        let end = ops.iter().skip(start.at).position(|op| names(&op));
        let end = end.map_or(ops.len(), |count| start.at + count);
        let usable = gaps.iter().filter(|gap| (start.at..=end).contains(&gap.at));
        let usable: Vec<Gap> = usable.copied().collect();
        // Neither way is always cheaper, so both are tried.
        for takes_slots in [false, true] {
            let trial = attempt(steps, &instrs, &usable, takes_slots);
            let better =
                |known: &Trial| trial.as_ref().is_some_and(|trial| trial.cost < known.cost);
            if best.as_ref().is_none_or(better) {
                best = trial.or(best);
            }
        }
    }
    Some(write(probed, steps, &ops, &instrs, &best?))
}

/// Gaps of a block: before its first instruction, and after each instruction that does not issue together with the
/// next.
fn gaps_of(probed: &ProbedCode<'_>, instrs: &[&SassInstr]) -> Vec<Gap> {
    let mut gaps = vec![Gap {
        at: 0,
        distance: 0,
        first: 0,
        // Nothing is known of the instruction before the block: several may lead here.
        divides: false,
    }];
    let all = instrs.iter().enumerate();
    for (at, instr) in all.take(instrs.len().saturating_sub(1).min(MOST_GAPS)) {
        let control = instr.control;
        if control.dual_issue() {
            continue;
        }
        let distance = u32::from(control.min_distance());
        let divides = control.stall().is_some_and(|stall| stall > 1);
        let least = probed.program.timing(instr);
        let least = least.map_or(1, |timing| u32::from(timing.min_wait.max(1)));
        // The scoreboard is set one cycle after the issue, so a wait for it must not issue earlier.
        let sets = control.write_sb.is_some() || control.read_sb.is_some();
        let least = if sets { least.max(2) } else { least };
        gaps.push(Gap {
            at: at + 1,
            distance,
            // Without a stall to divide, the code of the instruction keeps its whole distance.
            first: match divides {
                true => least.min(distance),
                false => distance.max(1),
            },
            divides,
        });
    }
    gaps
}

/// Places the steps in these gaps: each where it costs nothing or, with `takes_slots`, as soon as it need not wait
/// for another one. Remaining steps go into the last gap.
fn attempt(
    steps: &[Step],
    instrs: &[&SassInstr],
    gaps: &[Gap],
    takes_slots: bool,
) -> Option<Trial> {
    let last = gaps.last()?.at;
    let distance = |instr: &&SassInstr| u32::from(instr.control.min_distance());
    let (mut trial, mut issued, mut written) = (
        Trial {
            cost: 0,
            filled: Vec::new(),
        },
        Vec::new(),
        None,
    );
    // Earliest issue cycle of the instruction after the gap.
    let (mut now, mut passed) = (0, 0);
    for gap in gaps {
        now += instrs
            .iter()
            .take(gap.at)
            .skip(passed)
            .map(distance)
            .sum::<u32>();
        passed = gap.at;
        let before = now.saturating_sub(gap.distance);
        let (mut next, mut end) = (before + gap.first, now);
        let mut here = Vec::new();
        while let Some(step) = steps.get(issued.len()) {
            let ready = step
                .after
                .iter()
                .map(|&(of, cycles)| issued.get(of).map_or(0, |at| at + cycles));
            let ready = ready.max().unwrap_or(0).max(step.not_before);
            let issue = next.max(ready);
            let is_free = gap.divides && issue < end;
            if !is_free && gap.at != last && !(takes_slots && ready <= next) {
                break;
            }
            here.push((issued.len(), issue - before));
            issued.push(issue);
            if step.writes_counter {
                written = Some(issue);
            }
            next = issue + 1;
            end = end.max(next);
        }
        trial.cost += end - now;
        now = end;
        if !here.is_empty() {
            let end = end - before;
            trial.filled.push(Filled {
                gap: *gap,
                steps: here,
                end,
            });
        }
    }
    if issued.len() < steps.len() {
        return None;
    }
    let tail: u32 = instrs.iter().skip(passed).map(distance).sum();
    if let (Some(written), Some(filled)) = (written, trial.filled.last_mut()) {
        // The next probe may read the counter directly after the block.
        let missing = (written + u32::from(REGISTER_LATENCY)).saturating_sub(now + tail);
        filled.end += missing;
        trial.cost += missing;
    }
    Some(trial)
}

/// Writes the placed instructions with their stall counts.
fn write(
    probed: &ProbedCode<'_>,
    steps: &[Step],
    ops: &[OpIndex],
    instrs: &[&SassInstr],
    trial: &Trial,
) -> Placed {
    let mut placed = Placed::default();
    for filled in &trial.filled {
        let gap = filled.gap;
        let Some(&op) = ops.get(gap.at) else { continue };
        let first = filled.steps.first().map_or(0, |(_, cycle)| *cycle);
        let mut list: Vec<ProbeInstr> = Vec::new();
        let before = gap.at.checked_sub(1).filter(|_| gap.divides);
        let before = before.and_then(|before| Some((*ops.get(before)?, *instrs.get(before)?)));
        match before {
            Some((op, instr)) => {
                // A longer stall than a control word can hold is continued by NOPs.
                let own = first.min(LONGEST_STALL);
                placed.controls.insert(op, with_stall(instr.control, own));
                wait(&mut list, first - own);
            }
            None => wait(&mut list, first.saturating_sub(gap.first)),
        }
        let ends = filled.steps.iter().skip(1).map(|(_, cycle)| *cycle);
        let lost = ProbeFault::StallsLost.is_in(probed.fault);
        let end = if lost {
            first + filled.steps.len() as u32
        } else {
            filled.end
        };
        for (&(step, cycle), end) in filled.steps.iter().zip(ends.chain([end])) {
            let Some(step) = steps.get(step) else {
                continue;
            };
            let stall = end.saturating_sub(cycle);
            let own = stall.min(LONGEST_STALL);
            let control = with_stall(step.instr.control, own);
            list.push(ProbeInstr {
                control,
                ..step.instr
            });
            wait(&mut list, stall - own);
        }
        placed.insertions.push(ProbeInsertion {
            at: op,
            entry: ProbeEntry::All,
            instrs: list,
        });
    }
    placed
}
