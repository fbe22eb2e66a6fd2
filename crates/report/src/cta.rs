//! What abstract CTA simulation and the bound of a block say of a launch.

use serde::Serialize;

use crate::bound::BoundAssumption;
use crate::table::{Align, counted, table};

/// The result for one launch.
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
    /// Cycles of a memory read.
    pub memory_latency: u64,
    /// The abstract warp.
    pub abstract_warp: Vec<ElementReport>,
    /// How often the warps iterate each loop.
    pub loops: Vec<LoopCount>,
    /// The simulation, step by step.
    pub steps: Vec<CtaStepReport>,
    /// The estimate as the paper computes it, in cycles: `T_exec = T_instr + T_stall`. No bound.
    pub estimate: Option<u64>,
    /// Cycles of instructions in it.
    pub t_instr: Option<u64>,
    /// Cycles of stalls in it.
    pub t_stall: Option<u64>,
    /// The estimate with the last evaluation of each loop's predicate. No bound either.
    pub corrected: Option<u64>,
    /// Why there is no estimate.
    pub no_estimate: Option<String>,
    /// What no run of the launch exceeds, in cycles, whatever the memory holds.
    pub sound: Option<u64>,
    /// Cycles in which an instruction is issued, in the bound.
    pub sound_issues: Option<u64>,
    /// Cycles in which none is.
    pub sound_stalls: Option<u64>,
    /// Why there are no more stalls.
    pub sound_rule: Option<&'static str>,
    /// Warps whose instructions are known exactly; known but for regions that data decide; bounded as a whole.
    pub outlines: [usize; 3],
    /// Why there is no bound.
    pub no_sound: Option<String>,
    /// Lines to paste into the facts file.
    pub missing_facts: Vec<String>,
    /// What the bound rests on.
    pub assumptions: Vec<BoundAssumption>,
}

/// An element of an abstract warp.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum ElementReport {
    /// A time node.
    Time {
        /// Places of the first and last instruction.
        from: String,
        /// See `from`.
        to: String,
        /// `T_instr`.
        instr: u64,
        /// `T_shift`.
        shift: u64,
    },
    /// A memory access node.
    Memory {
        /// Its instruction.
        at: String,
    },
    /// A barrier node.
    Barrier {
        /// Its instruction.
        at: String,
    },
    /// A loop.
    Loop {
        /// Its header.
        at: String,
        /// What is executed once more than the rest.
        head: Vec<ElementReport>,
        /// The rest of an iteration.
        body: Vec<ElementReport>,
    },
}

/// How often the warps iterate a loop each time that they come to it.
#[derive(Clone, Debug, Serialize)]
pub struct LoopCount {
    /// Its header.
    pub at: String,
    /// Warps in order; several with the same number are one entry: number of warps, iterations.
    pub warps: Vec<(u64, u64)>,
    /// Where the numbers are from.
    pub source: &'static str,
}

/// A step of the simulation.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum CtaStepReport {
    /// An element outside all loops.
    Element {
        /// Places of its first and last instruction.
        at: String,
        /// Cycles that it adds, stalls included.
        cycles: u64,
        /// Cycles of stalls among them.
        stall: u64,
        /// `N_low` and `N_high`.
        warps: (u64, u64),
        /// `T_SHIFT` behind it.
        shift: u64,
    },
    /// Iterations that are alike.
    Iterations {
        /// The loop's header.
        at: String,
        /// How many.
        count: u64,
        /// Cycles of one.
        cycles: u64,
        /// Cycles of stalls among them.
        stall: u64,
        /// Warps that execute them.
        warps: u64,
    },
    /// Accesses left in the LOG.
    Flush {
        /// Cycles of stalls.
        cycles: u64,
    },
}

impl CtaReport {
    /// The name of the JSON format.
    pub const SCHEMA: &'static str = "warpbound.cta/1";

    /// One screen of text.
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
            out.push_str("  what each warp executes (the abstract warp):\n");
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
            let heads = ["cycles", "code", "executed by", "apart by", "waits"];
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

    /// The abstract warp for Graphviz, drawn as in the paper's Figure 3.
    pub fn dot(&self) -> String {
        crate::cta_dot::dot(self)
    }

    /// The abstract warp as a drawing.
    pub fn svg(&self) -> String {
        crate::cta_svg::svg(self)
    }

    fn write_results(&self, out: &mut String) {
        let number = |n: Option<u64>| n.unwrap_or(0).to_string();
        match self.estimate {
            Some(estimate) => {
                out.push_str(&format!(
                    "  estimate as published, which runs may exceed: {} cycles = {} of instructions + {} of stalls\n",
                    estimate,
                    number(self.t_instr),
                    number(self.t_stall)
                ));
                if let Some(corrected) = self.corrected.filter(|&c| c != estimate) {
                    out.push_str(&format!(
                        "    it leaves out that each warp evaluates the predicate of a loop once more than it \
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
                    "  bound, which no run exceeds: {} cycles = {} in which a warp issues + {} in which all wait\n",
                    sound,
                    number(self.sound_issues),
                    number(self.sound_stalls)
                ));
                let [exact, regions, whole] = self.outlines;
                out.push_str(&format!(
                    "    instructions that warps issue: exact for {exact} of {} warps, exact but for parts that data decides \
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
            out.push_str("  assumed:\n");
            for assumption in &self.assumptions {
                out.push_str(&format!("    {} ({})\n", assumption.text, assumption.id));
            }
        }
    }
}

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
                        "leaves the loop or goes on".to_owned(),
                    ]);
                    element_rows(body, depth + 1, rows);
                }
            }
        }
    }
}

/// `from..to`, or one place.
pub(crate) fn span(from: &str, to: &str) -> String {
    match from == to {
        true => from.to_owned(),
        false => format!("{from}..{to}"),
    }
}

fn step_row(step: &CtaStepReport) -> Vec<String> {
    let warps = |low: u64, high: u64| match low == high {
        true => counted(high as usize, "warp"),
        false => format!("{low} to {high} warps"),
    };
    let waits = |stall: u64, each: &str| match stall {
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
            waits(*stall, ""),
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
            waits(*stall, " of each"),
        ],
        CtaStepReport::Flush { cycles } => vec![
            cycles.to_string(),
            "memory reads still under way".to_owned(),
            String::new(),
            String::new(),
            waits(*cycles, ""),
        ],
    }
}
