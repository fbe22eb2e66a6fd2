//! Report of closed forms of counts: how often a thread executes each block, as a formula of the launch.
//!
//! For example, the body of `for (i = tid; i < n; i += 256)` has the formula `L1`, with `L1 = max(0, ceil((n - tid) /
//! 256))`. A formula claims nothing outside the conditions that are printed with it (SOUNDNESS 15.8).

use serde::Serialize;

use crate::conditions::{BoundAssumption, write_assumptions};
use crate::table::{Align, counted, section, wrapped};

/// Formulas of the counts of a kernel.
#[derive(Clone, Debug, Serialize)]
pub struct CountFormulaReport {
    /// Always `warpbound.count-formulas/1`.
    pub schema: &'static str,
    /// Name of the file.
    pub file: String,
    /// Demangled name.
    pub kernel: String,
    /// Blocks of the grid in x, y, z, for the launch that checked the formulas.
    pub grid: Option<[u32; 3]>,
    /// Threads of a block in x, y, z, for that launch.
    pub block: Option<[u32; 3]>,
    /// Numbers of iterations that the formulas mention.
    pub loops: Vec<FormulaLoopReport>,
    /// Blocks in order of address.
    pub blocks: Vec<BlockFormulaReport>,
    /// Properties of the hardware that the formulas and their values rest on (SOUNDNESS 15.9).
    pub assumptions: Vec<BoundAssumption>,
}

/// Number of iterations of a loop.
#[derive(Clone, Debug, Serialize)]
pub struct FormulaLoopReport {
    /// Name in formulas.
    pub name: String,
    /// Address of the branch that leaves the loop.
    pub at: String,
    /// Source line of that branch.
    pub source: Option<String>,
    /// Iterations after which the loop goes on, each time it is entered.
    pub rounds: String,
    /// Conditions under which this number holds.
    pub valid: Vec<String>,
}

/// Formula of the count of a block.
#[derive(Clone, Debug, Serialize)]
pub struct BlockFormulaReport {
    /// Address of the first instruction.
    pub at: String,
    /// Address of its last instruction.
    pub last: String,
    /// Source line of the first instruction.
    pub source: Option<String>,
    /// Function that contains it, if not the kernel itself.
    pub function: Option<String>,
    /// Number of instructions.
    pub instructions: u64,
    /// Executions by one thread.
    pub formula: Option<String>,
    /// Sum over all threads of a launch, if it has a simple form.
    pub sum: Option<String>,
    /// Whether warps execute the block with all their live lanes. A warp then executes it as often as its lane with
    /// the most executions.
    pub is_whole: bool,
    /// Names of the iteration counts that the formula mentions, directly or through other counts.
    pub loops: Vec<String>,
    /// Reason why there is no formula.
    pub without: Option<NoFormulaReport>,
    /// Value in the launch that checked the formulas.
    pub value: Option<FormulaValue>,
}

/// Reason why a block has no formula.
#[derive(Clone, Debug, Serialize)]
pub struct NoFormulaReport {
    /// Address of the operation that has no formula.
    pub at: String,
    /// The reason.
    pub reason: String,
}

/// Value of a formula in a launch, next to the prediction.
#[derive(Clone, Debug, Serialize)]
pub struct FormulaValue {
    /// Executions by all threads, if the launch is in the range of the formula.
    pub lanes: Option<u64>,
    /// Executions by warps, if they follow.
    pub issues: Option<u64>,
    /// Predicted number of active lanes, if known.
    pub predicted_lanes: Option<u64>,
    /// Predicted number of executions by warps, if known.
    pub predicted_issues: Option<u64>,
    /// Whether the formula differs from the prediction.
    pub disagrees: bool,
}

impl CountFormulaReport {
    /// Name of the JSON format.
    pub const SCHEMA: &'static str = "warpbound.count-formulas/1";

    /// Returns whether any block has a formula.
    pub fn has_any(&self) -> bool {
        self.blocks.iter().any(|block| block.formula.is_some())
    }

    /// Returns the report as text: numbers of iterations, a table of the blocks, and the blocks without a formula.
    pub fn text(&self) -> String {
        let mut out = format!("{}: executions of each block by one thread\n", self.kernel);
        out.push_str(
            "words are 32 bits, sums and products modulo 2^32; < is signed, <u unsigned; [condition] is 1 or 0\n",
        );
        if !self.loops.is_empty() {
            out.push_str("\niterations after which a loop goes on, each time that it is entered\n");
            for of in &self.loops {
                out.push_str(&of.text());
            }
        }
        let mut columns = vec![Align::Left; 3];
        let mut head = vec!["block", "source", "formula"];
        // Values of a launch replace the sum over all threads, which they evaluate.
        let has_values = self.grid.is_some();
        if has_values {
            columns.extend([Align::Right; 2]);
            head.extend(["lanes", "issues"]);
        } else {
            columns.push(Align::Left);
            head.push("all threads");
        }
        let with = self.blocks.iter().filter(|block| block.formula.is_some());
        section(
            &mut out,
            &columns,
            head,
            with.map(|block| block.row(has_values)),
        );
        let without: Vec<&BlockFormulaReport> = self
            .blocks
            .iter()
            .filter(|block| block.formula.is_none())
            .collect();
        if !without.is_empty() {
            out.push_str("\nwithout a formula\n");
            out.push_str(&reasons_text(&without));
        }
        let known = self.blocks.len() - without.len();
        let blocks = counted(self.blocks.len(), "block");
        out.push_str(&format!("\n{known} of {blocks} with a formula\n"));
        if has_values {
            out.push_str(&self.check_text());
        }
        if !self.assumptions.is_empty() {
            write_assumptions(&mut out, "assumed", &self.assumptions);
        }
        out
    }

    /// Returns the line about the comparison with the prediction of the launch.
    fn check_text(&self) -> String {
        let values = || self.blocks.iter().filter_map(|block| block.value.as_ref());
        let count = |is: &dyn Fn(&FormulaValue) -> bool| values().filter(|value| is(value)).count();
        let compared =
            |value: &FormulaValue| value.lanes.is_some() && value.predicted_lanes.is_some();
        format!(
            "{} compared with the prediction of the launch, {} differ; {} outside the range of the formula or too long to evaluate\n",
            count(&compared),
            count(&|value| value.disagrees),
            self.blocks
                .iter()
                .filter(|block| {
                    let value = block.value.as_ref();
                    block.formula.is_some() && value.is_some_and(|value| value.lanes.is_none())
                })
                .count()
        )
    }
}

impl FormulaLoopReport {
    fn text(&self) -> String {
        let source = self.source.as_ref();
        let source = source.map_or(String::new(), |source| format!(" ({source})"));
        let valid = match self.valid.is_empty() {
            true => String::new(),
            false => format!("\n      where {}", self.valid.join(" and ")),
        };
        format!(
            "  {} = {}\n      loop left at {}{source}{valid}\n",
            self.name, self.rounds, self.at
        )
    }
}

impl BlockFormulaReport {
    fn row(&self, has_values: bool) -> Vec<String> {
        let mut row = vec![
            format!("{}..{}", self.at, self.last),
            self.source.clone().unwrap_or_default(),
            self.formula.clone().unwrap_or_default(),
        ];
        if has_values {
            let number =
                |count: Option<u64>| count.map_or(String::new(), |count| count.to_string());
            let value = self.value.as_ref();
            row.push(number(value.and_then(|value| value.lanes)));
            row.push(number(value.and_then(|value| value.issues)));
        } else {
            row.push(self.sum.clone().unwrap_or_default());
        }
        row
    }
}

/// Returns the reasons why blocks have no formula, each with the addresses of its blocks.
fn reasons_text(without: &[&BlockFormulaReport]) -> String {
    let mut reasons: Vec<(String, Vec<&str>)> = Vec::new();
    for block in without {
        let why = match &block.without {
            Some(why) => format!("{}, at {}", why.reason, why.at),
            None => "unknown".to_owned(),
        };
        // Reasons stay in the order of the blocks, which a map would lose.
        match reasons.iter_mut().find(|(known, _)| *known == why) {
            Some((_, blocks)) => blocks.push(&block.at),
            None => reasons.push((why, vec![&block.at])),
        }
    }
    let lines = reasons.into_iter().map(|(why, blocks)| {
        let blocks = wrapped(6, &format!("blocks {}", blocks.join(" ")));
        format!("  {why}\n{blocks}")
    });
    lines.collect()
}
