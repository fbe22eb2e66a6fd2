//! Report of abstract CTA simulation (`abstract-cta-2014` 3.3) and of a block's cycle bound.
//!
//! The estimate is the published one and no bound: a run may exceed it. For example, it omits that each warp
//! evaluates the predicate of a loop once more than it iterates. The bound holds for every run of the launch
//! (SOUNDNESS 6).

mod dot;
mod svg;

use serde::Serialize;

use crate::conditions::{BoundAssumption, write_assumptions};
use crate::table::{Align, counted, table};

/// Result for one launch.
#[derive(Clone, Debug, Serialize)]
pub struct CtaReport {
    /// Always `warpbound.cta/1`.
    pub schema: &'static str,
    /// The file.
    pub file: String,
    /// The kernel.
    pub kernel: String,
    /// The machine.
    pub machine: String,
    /// Threads of the block.
    pub threads: u32,
    /// Warps of the block.
    pub warps: usize,
    /// Lanes of a warp.
    pub warp_width: u32,
    /// Latency of a memory read in cycles.
    pub memory_latency: u64,
    /// Abstract warp (`abstract-cta-2014` 3.2).
    pub abstract_warp: Vec<ElementReport>,
    /// Iterations of each loop by the warps.
    pub loops: Vec<LoopCount>,
    /// Steps of the abstract CTA simulation.
    pub steps: Vec<CtaStepReport>,
    /// Estimate as the paper computes it, in cycles: `T_exec = T_instr + T_stall`. It is not a bound.
    pub estimate: Option<u64>,
    /// Instruction cycles of the estimate.
    pub t_instr: Option<u64>,
    /// Stall cycles of the estimate.
    pub t_stall: Option<u64>,
    /// Estimate that includes the last evaluation of each loop's predicate. It is not a bound.
    pub corrected: Option<u64>,
    /// Reason why there is no estimate.
    pub no_estimate: Option<String>,
    /// Bound in cycles of every run of the launch, for any memory contents.
    pub sound: Option<u64>,
    /// Part of the bound when some warp issues, in cycles.
    pub sound_issues: Option<u64>,
    /// Part of the bound when all warps stall, in cycles.
    pub sound_stalls: Option<u64>,
    /// Argument that limits the stalls.
    pub sound_rule: Option<&'static str>,
    /// Numbers of warps whose profile is exact, exact except for regions that depend on data, and only bounded as a
    /// whole.
    #[serde(rename = "outlines")]
    pub warp_profiles: [usize; 3],
    /// Reason why there is no bound.
    pub no_sound: Option<String>,
    /// Lines for the facts file, to be completed by the user.
    pub missing_facts: Vec<String>,
    /// Assumptions of the bound.
    pub assumptions: Vec<BoundAssumption>,
}

/// Element of an abstract warp.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum ElementReport {
    /// Time node.
    Time {
        /// Address of the first instruction.
        from: String,
        /// Address of the last instruction.
        to: String,
        /// `T_instr`.
        instr: u64,
        /// `T_shift`.
        shift: u64,
    },
    /// Memory access node.
    Memory {
        /// Address of the instruction.
        at: String,
    },
    /// Barrier node.
    Barrier {
        /// Address of the instruction.
        at: String,
    },
    /// Loop.
    Loop {
        /// Address of the header.
        at: String,
        /// Elements that are executed once more than the body, that is the evaluation of the predicate.
        head: Vec<ElementReport>,
        /// Other elements of an iteration.
        body: Vec<ElementReport>,
    },
}

/// Iterations of a loop by each warp, per entry of the loop.
#[derive(Clone, Debug, Serialize)]
pub struct LoopCount {
    /// Address of the header.
    pub at: String,
    /// Pairs of a number of warps and their iterations, in order of warps. Consecutive warps with equal iterations
    /// share a pair.
    pub warps: Vec<(u64, u64)>,
    /// Origin of the iteration counts.
    pub source: &'static str,
}

/// Step of the simulation.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum CtaStepReport {
    /// Element outside all loops.
    Element {
        /// Addresses of the first and the last instruction.
        at: String,
        /// Cycles that the element adds, stalls included.
        cycles: u64,
        /// Stall cycles, which are part of the cycles.
        stall: u64,
        /// `N_low` and `N_high`.
        warps: (u64, u64),
        /// `T_SHIFT` after the element.
        shift: u64,
    },
    /// Consecutive iterations with equal cycles and warps.
    Iterations {
        /// Address of the loop header.
        at: String,
        /// Number of iterations.
        count: u64,
        /// Cycles of one iteration.
        cycles: u64,
        /// Stall cycles, which are part of the cycles of one iteration.
        stall: u64,
        /// Number of warps that execute them.
        warps: u64,
    },
    /// Accesses left in the LOG at the end.
    Flush {
        /// Stall cycles.
        cycles: u64,
    },
}

impl CtaReport {
    /// The name of the JSON format.
    pub const SCHEMA: &'static str = "warpbound.cta/1";

    /// Returns the report as text.
    pub fn text(&self) -> String {
        let mut out = format!(
            "kernel {}  ({}, machine {})\n  a block of {} in {} of {}, a read of the memory takes {} cycles\n",
            self.kernel,
            self.file,
            self.machine,
            counted(self.threads as usize, "thread"),
            counted(self.warps, "warp"),
            counted(self.warp_width as usize, "lane"),
            self.memory_latency
        );
        if !self.abstract_warp.is_empty() {
            out.push_str("  code of each warp (the abstract warp):\n");
            let heads = ["code", "", "cycles", "less where threads diverge"];
            let mut rows = vec![heads.map(str::to_owned).to_vec()];
            element_rows(&self.abstract_warp, 0, &mut rows);
            let columns = [Align::Left, Align::Left, Align::Right, Align::Left];
            out.push_str(&table(4, &columns, &rows));
        }
        for count in &self.loops {
            let numbers: Vec<String> = count
                .warps
                .iter()
                .take(12)
                .map(|&(warps, n)| match warps {
                    1 => n.to_string(),
                    warps => format!("{n} ({warps} warps)"),
                })
                .collect();
            let more = if count.warps.len() > 12 { ", ..." } else { "" };
            out.push_str(&format!(
                "  iterations of the loop at {} by each warp, from {}: {}{more}\n",
                count.at,
                count.source,
                numbers.join(", ")
            ));
        }
        if !self.steps.is_empty() {
            out.push_str("  all warps together, step by step (abstract CTA simulation):\n");
            let heads = ["cycles", "code", "executed by", "shift by", "stalls"];
            let mut rows = vec![heads.map(str::to_owned).to_vec()];
            rows.extend(self.steps.iter().map(step_row));
            let columns = [
                Align::Right,
                Align::Left,
                Align::Left,
                Align::Right,
                Align::Left,
            ];
            out.push_str(&table(4, &columns, &rows));
        }
        self.write_results(&mut out);
        out
    }

    /// Appends the estimate, the bound, the missing facts and the assumptions.
    fn write_results(&self, out: &mut String) {
        // A part is present whenever the number that it is part of is.
        let number = |n: Option<u64>| n.unwrap_or(0).to_string();
        match self.estimate {
            Some(estimate) => {
                out.push_str(&format!(
                    "  estimate as published, which runs may exceed: {} cycles = {} of instructions + {} of stalls\n",
                    estimate,
                    number(self.t_instr),
                    number(self.t_stall)
                ));
                // Without loops both estimates are the same.
                if let Some(corrected) = self.corrected.filter(|&c| c != estimate) {
                    out.push_str(&format!(
                        "    it omits that each warp evaluates the predicate of a loop once more than it \
                         iterates; with that: {} cycles\n",
                        corrected
                    ));
                }
            }
            None => {
                let why = self.no_estimate.as_deref().unwrap_or("unknown reason");
                out.push_str(&format!("  no estimate: {why}\n"));
            }
        }
        match self.sound {
            Some(sound) => {
                out.push_str(&format!(
                    "  bound, which no run exceeds: {} cycles = {} in which a warp issues + {} in which all stall\n",
                    sound,
                    number(self.sound_issues),
                    number(self.sound_stalls)
                ));
                let [exact, regions, whole] = self.warp_profiles;
                out.push_str(&format!(
                    "    instructions that warps issue: exact for {exact} of {} warps, exact except for parts that depend on data \
                     for {regions}, bounded as a whole for {whole}\n",
                    self.warps
                ));
                if let Some(rule) = self.sound_rule {
                    out.push_str(&format!("    stalls: {rule}\n"));
                }
            }
            None => {
                let why = self.no_sound.as_deref().unwrap_or("unknown reason");
                out.push_str(&format!("  no bound: {why}\n"));
            }
        }
        if !self.missing_facts.is_empty() {
            out.push_str("  lines for the facts file, to be completed:\n");
            for line in &self.missing_facts {
                out.push_str(&format!("    {line}\n"));
            }
        }
        if self.sound.is_some() {
            write_assumptions(out, "assumed", &self.assumptions);
        }
    }
}

/// Appends a row for each element, indented by the depth of its loop.
fn element_rows(elements: &[ElementReport], depth: usize, rows: &mut Vec<Vec<String>>) {
    let indent = "  ".repeat(depth);
    for element in elements {
        match element {
            ElementReport::Time {
                from,
                to,
                instr,
                shift,
            } => rows.push(vec![
                format!("{indent}{}", span(from, to)),
                "instructions".to_owned(),
                instr.to_string(),
                match shift {
                    0 => String::new(),
                    shift => format!("up to {shift}"),
                },
            ]),
            ElementReport::Memory { at } => {
                rows.push(vec![format!("{indent}{at}"), "memory read".to_owned()]);
            }
            ElementReport::Barrier { at } => {
                rows.push(vec![format!("{indent}{at}"), "barrier".to_owned()]);
            }
            ElementReport::Loop { at, head, body } => {
                rows.push(vec![format!("{indent}{at}"), "loop".to_owned()]);
                element_rows(head, depth + 1, rows);
                if !body.is_empty() {
                    rows.push(vec![
                        format!("{indent}  -"),
                        "exits the loop or iterates".to_owned(),
                    ]);
                    element_rows(body, depth + 1, rows);
                }
            }
        }
    }
}

/// Formats a range of addresses as `from..to`, or as one address.
pub(crate) fn span(from: &str, to: &str) -> String {
    match from == to {
        true => from.to_owned(),
        false => format!("{from}..{to}"),
    }
}

/// Returns the row of a simulation step.
fn step_row(step: &CtaStepReport) -> Vec<String> {
    let warps = |low: u64, high: u64| match low == high {
        true => counted(high as usize, "warp"),
        false => format!("{low} to {high} warps"),
    };
    let stalls = |stall: u64, each: &str| match stall {
        0 => String::new(),
        stall => format!("{stall} of the cycles{each}"),
    };
    match step {
        CtaStepReport::Element {
            at,
            cycles,
            stall,
            warps: (low, high),
            shift,
        } => vec![
            cycles.to_string(),
            at.clone(),
            warps(*low, *high),
            shift.to_string(),
            stalls(*stall, ""),
        ],
        CtaStepReport::Iterations {
            at,
            count,
            cycles,
            stall,
            warps: n,
        } => vec![
            format!("{count} x {cycles}"),
            format!("iterations of {at}"),
            warps(*n, *n),
            String::new(),
            stalls(*stall, " of each"),
        ],
        CtaStepReport::Flush { cycles } => vec![
            cycles.to_string(),
            "outstanding memory reads".to_owned(),
            String::new(),
            String::new(),
            stalls(*cycles, ""),
        ],
    }
}
