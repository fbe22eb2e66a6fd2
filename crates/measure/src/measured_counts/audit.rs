//! Measured counts compared with what every run satisfies: constant counts in blocks, flow, and the user's facts. For
//! example, if block A branches only to B and C, 100 issues of A cannot go with 60 of B and 50 of C.

use std::collections::BTreeMap;

use warpbound_analyse::blocks::Block;
use warpbound_base::{Diagnostic, Family};
use warpbound_bounds::bound::bound;
use warpbound_ipet::Never;
use warpbound_ir::{ControlEffect, OpIndex};
use warpbound_load::Kernel;
use warpbound_query::{BoundOptions, KernelFlow, Prepared, Session};
use warpbound_report::KernelBound;
use warpbound_report::counts_audit::{CountsAuditReport, CountsFinding};

use super::feasibility::{
    BlockSum, Contradicting, Feasibility, LaunchSums, Statement, SummedCounts, SummedFacts,
};
use super::{MatchedCounts, MeasuredCounts, OpCounts};

/// Maximum number of findings in a report.
const MAX_SHOWN: usize = 20;

/// Maximum number of blocks of a contradiction that are dropped one by one, to find the ones that it needs. Each drop
/// is another linear program.
const MAX_DROPPED: usize = 60;

/// Input of a comparison, apart from the counts.
#[derive(Clone, Debug, Default)]
pub struct CountsAuditOptions {
    /// Facts and statements about launches.
    pub bound: BoundOptions,
    /// Number of blocks of the launch per axis, if known; the threads of a block are in [`BoundOptions::block`].
    pub grid: Option<[u32; 3]>,
}

/// Compares measured counts of a launch of a kernel with what every run satisfies. The counts need not be of a launch
/// that the simulator could run.
///
/// # Errors
///
/// The counts are of another kernel or build, the kernel is not of an NVIDIA GPU, or the facts contradict each other.
pub fn audit_counts(
    session: &Session,
    kernel: &Kernel,
    measured: &MeasuredCounts,
    options: &CountsAuditOptions,
) -> Result<CountsAuditReport, Diagnostic> {
    let prepared = session.prepare(kernel)?;
    match prepared.family() {
        Family::Maxwell | Family::Volta => {}
        Family::Gcn3 | Family::MiniSimt => {
            let message = "measured counts are compared for kernels of NVIDIA's GPUs only";
            let diagnostic = Diagnostic::new(message).in_kernel(kernel.demangled());
            return Err(session.locate(diagnostic));
        }
    }
    let counts = measured.matched(&prepared)?;
    let knowledge = session.launch(kernel, &options.bound)?;
    let flow = session.flow(&prepared, &knowledge.context, &options.bound);
    // Counts of single instructions can be checked without a graph.
    let (flow, refused) = match flow {
        Ok(flow) => (Some(flow), None),
        Err(refusal) => (None, Some(refusal.to_string())),
    };
    let mut audit = CountsAudit {
        prepared: &prepared,
        counts: &counts,
        findings: Vec::new(),
        unchecked: Vec::new(),
    };
    let width = u64::from(prepared.code.lanes());
    audit.check_instructions(width);
    let mut report = CountsAuditReport {
        schema: CountsAuditReport::SCHEMA,
        file: session.file.clone(),
        kernel: kernel.demangled(),
        counts: measured.file.clone(),
        source: measured.source.name(),
        refused,
        warps: None,
        threads: None,
        instructions: prepared.code.ops.len(),
        blocks: 0,
        loops: 0,
        unchecked: Vec::new(),
        violations: 0,
        findings: Vec::new(),
    };
    if let Some(flow) = &flow {
        let launch = launch_sums(options, width);
        let bound = bound(session, kernel, &options.bound)?;
        let lanes = knowledge.context.live_lanes();
        audit.check_flow(flow, &bound, &options.bound, launch, lanes, &mut report);
    }
    // The report shows the first findings but counts all.
    report.violations = audit.findings.len();
    audit.findings.truncate(MAX_SHOWN);
    report.findings = audit.findings;
    report.unchecked = audit.unchecked;
    Ok(report)
}

/// Returns the warps and threads of a launch, if its sizes are known.
fn launch_sums(options: &CountsAuditOptions, width: u64) -> LaunchSums {
    let product = |size: [u32; 3]| {
        let mut numbers = size.into_iter().map(u64::from);
        numbers.try_fold(1u64, u64::checked_mul)
    };
    let sizes = options.grid.and_then(product);
    let Some((grid, block)) = sizes.zip(options.bound.block.and_then(product)) else {
        return LaunchSums::default();
    };
    LaunchSums {
        warps: grid.checked_mul(block.div_ceil(width)),
        threads: grid.checked_mul(block),
    }
}

/// Comparison in progress.
struct CountsAudit<'a> {
    prepared: &'a Prepared<'a>,
    counts: &'a MatchedCounts,
    findings: Vec<CountsFinding>,
    unchecked: Vec<String>,
}

impl CountsAudit<'_> {
    fn add(&mut self, claim: &'static str, at: Option<OpIndex>, message: String) {
        let addr = at.map(|at| self.prepared.addr(at));
        self.findings.push(CountsFinding {
            claim,
            at: at.map(|at| self.prepared.location(at)),
            source: addr.and_then(|addr| self.prepared.source(addr)),
            message,
        });
    }

    /// Checks the counts of each instruction. Each issue has between one active lane and all lanes of the warp. The
    /// guard holds in at most the active lanes, and in all of them if there is none.
    fn check_instructions(&mut self, width: u64) {
        for at in (0u32..).map(OpIndex).take(self.prepared.code.ops.len()) {
            let OpCounts {
                issues,
                lanes,
                executed,
                ..
            } = self.counts.at(at);
            if let Some((issues, lanes)) = issues.zip(lanes) {
                if lanes < issues {
                    let message = format!("{issues} issues with {lanes} active lanes in all");
                    self.add("instruction", Some(at), message);
                }
                if issues.checked_mul(width).is_some_and(|most| lanes > most) {
                    let message = format!(
                        "{lanes} active lanes in {issues} issues of warps of {width} lanes"
                    );
                    self.add("instruction", Some(at), message);
                }
            }
            let Some((lanes, executed)) = lanes.zip(executed) else {
                continue;
            };
            // An instruction that is not in the code counts as guarded, which asks for less.
            let is_guarded = self
                .prepared
                .code
                .get(at)
                .is_none_or(|op| !op.condition.is_always());
            if executed > lanes || (!is_guarded && executed != lanes) {
                let guard = if is_guarded { "" } else { ", without a guard" };
                let message = format!("executed in {executed} of {lanes} active lanes{guard}");
                self.add("instruction", Some(at), message);
            }
        }
    }

    /// Checks that all instructions of a block have the counts of its first one, or fewer issues where groups of lanes
    /// may merge on the way. Returns the counts on which all of them agree.
    fn block_sum(&mut self, index: usize, block: Block) -> BlockSum {
        let merges = self.prepared.family().may_merge_groups();
        let is_counted = |counts: &OpCounts| counts.issues.is_some() || counts.lanes.is_some();
        let mut counted = block.ops().map(|at| (at, self.counts.at(at)));
        let counted = counted.find(|(_, counts)| is_counted(counts));
        let (begin, first) = counted.unwrap_or((block.first, OpCounts::default()));
        let mut before = first.issues;
        let mut sum = BlockSum {
            block: index,
            issues: first.issues,
            lanes: first.lanes,
        };
        for at in block.ops() {
            let here = self.counts.at(at);
            let is_end =
                self.prepared.code.get(at).map(|op| &op.control) == Some(&ControlEffect::End);
            // The end of the code is an operation that is never issued, and some tools count some instructions only.
            if is_end || !is_counted(&here) {
                continue;
            }
            let are_issues_possible = match merges {
                // A group splits at the end of a block only, so no more groups leave an instruction than came to it.
                true => here.issues <= before,
                false => here.issues == first.issues,
            };
            before = here.issues;
            if are_issues_possible && here.lanes == first.lanes {
                continue;
            }
            let text = |counts: OpCounts| {
                let number = |n: Option<u64>| n.map_or("?".to_owned(), |n| n.to_string());
                format!(
                    "{} issues, {} lanes",
                    number(counts.issues),
                    number(counts.lanes)
                )
            };
            let begin = self.prepared.location(begin);
            let line = here
                .line
                .map_or(String::new(), |line| format!(" (line {line})"));
            let message = format!(
                "{}{line}; the block begins at {begin} with {}",
                text(here),
                text(first)
            );
            self.add("block", Some(at), message);
            // Which of two different counts is the block's is unknown, so flow is checked without it.
            sum.issues = sum.issues.filter(|_| are_issues_possible);
            sum.lanes = sum.lanes.filter(|_| here.lanes == first.lanes);
        }
        sum
    }

    /// Checks blocks, flow and facts.
    fn check_flow(
        &mut self,
        flow: &KernelFlow,
        bound: &KernelBound,
        options: &BoundOptions,
        launch: LaunchSums,
        lanes: u64,
        report: &mut CountsAuditReport,
    ) {
        let space = &flow.thread.space;
        let mut reached: BTreeMap<usize, Block> = BTreeMap::new();
        for id in space.ids().filter(|&id| flow.thread.is_reached(id)) {
            reached.insert(space.node(id).block, space.block(id));
        }
        let mut sums = Vec::new();
        for index in 0..space.blocks.len() {
            let block = space.blocks.get(index);
            if reached.contains_key(&index) {
                sums.push(self.block_sum(index, block));
            } else {
                self.check_unreached(block);
            }
        }
        let names = [
            &*self.prepared.kernel.name,
            &self.prepared.kernel.demangled(),
        ];
        let stated = options
            .facts
            .find(names, &self.prepared.kernel.code_digest());
        let never: Vec<Never> = stated.map_or(Vec::new(), |facts| facts.never().collect());
        let facts = SummedFacts {
            bounds: bound.loops.iter().map(|l| l.bound).collect(),
            totals: bound.loops.iter().map(|l| l.total).collect(),
            never: flow.excluded_counts(&self.prepared.code, &never),
        };
        let entry = space.node(flow.thread.entry).block;
        // Only without a step back to it does the first block run exactly once in each warp and thread.
        let is_entered_again = flow
            .thread
            .steps
            .iter()
            .flatten()
            .any(|step| step.to.is_some_and(|to| space.node(to).block == entry));
        let first = sums
            .iter()
            .find(|sum| sum.block == entry && !is_entered_again);
        report.warps = launch.warps.or(first.and_then(|sum| sum.issues));
        report.threads = launch.threads.or(first.and_then(|sum| sum.lanes));
        report.blocks = reached.len();
        let is_known =
            |l: &&warpbound_report::bound::LoopReport| l.bound.is_some() || l.total.is_some();
        report.loops = bound.loops.iter().filter(is_known).count();
        let merges = self.prepared.family().may_merge_groups();
        let summed = SummedCounts::new(flow, &facts, launch, lanes, sums).with_merges(merges);
        // Usually everything holds, and one linear program shows it.
        let all = summed.statements();
        if summed.check(&all, |_| true) == Feasibility::Possible {
            return;
        }
        // If the counts contradict the rows of all runs, every fact would seem false.
        match summed.check(&[], |_| true) {
            Feasibility::Possible => self.check_statements(&summed, &facts, bound),
            Feasibility::Impossible(parts) => self.add_contradiction(&summed, &reached, parts),
            Feasibility::Unknown(why) => self.unchecked.push(format!("flow: {why}")),
        }
    }

    /// Checks that a block that no thread can reach was not executed.
    fn check_unreached(&mut self, block: Block) {
        for at in block.ops() {
            let counts = self.counts.at(at);
            if counts.issues.is_some_and(|n| n > 0) || counts.lanes.is_some_and(|n| n > 0) {
                let message = "executed, and no thread can reach it".to_owned();
                return self.add("unreached", Some(at), message);
            }
        }
    }

    /// Adds a contradiction between counts of blocks. Blocks that it does not need are left out, as far as the limit
    /// allows.
    fn add_contradiction(
        &mut self,
        summed: &SummedCounts<'_>,
        reached: &BTreeMap<usize, Block>,
        parts: Contradicting,
    ) {
        let mut needed = parts;
        let mut nth = 0;
        while needed.blocks.len() <= MAX_DROPPED && nth < needed.blocks.len() {
            let Some(&left_out) = needed.blocks.get(nth) else {
                break;
            };
            let uses = |block: usize| block != left_out && needed.blocks.contains(&block);
            match summed.check(&[], uses) {
                // The blocks before `nth` stay: without one of them there was no contradiction, and fewer blocks give
                // none either. So `nth` remains the next block to try.
                Feasibility::Impossible(fewer) => needed = fewer,
                Feasibility::Possible | Feasibility::Unknown(_) => nth += 1,
            }
        }
        let firsts = needed.blocks.iter().filter_map(|block| reached.get(block));
        let firsts: Vec<OpIndex> = firsts.map(|block| block.first).collect();
        let number = |n: Option<u64>| n.map_or("?".to_owned(), |n| n.to_string());
        let counts = firsts.iter().map(|&first| {
            let counts = self.counts.at(first);
            let location = self.prepared.location(first);
            format!(
                "{location} {} / {}",
                number(counts.issues),
                number(counts.lanes)
            )
        });
        let counts: Vec<String> = counts.collect();
        let reasons = needed.families.iter().map(|family| family.reason());
        let reasons: Vec<&str> = reasons.collect();
        let message = format!(
            "no execution has these counts of blocks (issues / lanes): {}; rules: {}",
            counts.join(", "),
            reasons.join("; ")
        );
        self.add("flow", firsts.first().copied(), message);
        let why = "loops and other facts: the counts of blocks contradict each other already";
        self.unchecked.push(why.to_owned());
    }

    /// Checks each fact alone, then all together.
    fn check_statements(
        &mut self,
        summed: &SummedCounts<'_>,
        facts: &SummedFacts,
        bound: &KernelBound,
    ) {
        let statements = summed.statements();
        let before = self.findings.len();
        for &statement in &statements {
            // One fact at a time names the false one; all together they would only show that some fact is false.
            match summed.check(&[statement], |_| true) {
                Feasibility::Possible => {}
                Feasibility::Impossible(_) => self.add_statement(statement, facts, bound),
                Feasibility::Unknown(why) => self.unchecked.push(why),
            }
        }
        // A false fact makes all facts together false, which says nothing more.
        if self.findings.len() > before || statements.len() < 2 {
            return;
        }
        match summed.check(&statements, |_| true) {
            Feasibility::Possible => {}
            Feasibility::Impossible(_) => {
                let message = "each fact may hold, but not all of them together".to_owned();
                self.add("facts", None, message);
            }
            Feasibility::Unknown(why) => self.unchecked.push(why),
        }
    }

    fn add_statement(&mut self, statement: Statement, facts: &SummedFacts, bound: &KernelBound) {
        match statement {
            Statement::Loop(number) => {
                let Some(of) = bound.loops.get(number) else {
                    return;
                };
                let numbers = [(of.bound, "per entry"), (of.total, "in total")];
                let numbers = numbers
                    .into_iter()
                    .filter_map(|(n, name)| Some(format!("{} times {name}", n?)));
                let numbers: Vec<String> = numbers.collect();
                self.findings.push(CountsFinding {
                    claim: "loop",
                    at: Some(of.at.clone()),
                    source: of.source.clone(),
                    message: format!(
                        "loop {}: some thread executed its header more often than {}",
                        of.id,
                        numbers.join(" or ")
                    ),
                });
            }
            Statement::Never(number) => {
                let text = facts
                    .never
                    .get(number)
                    .map_or("", |(text, _)| text.as_str());
                self.add(
                    "never",
                    None,
                    format!("executed, and excluded: never {text}"),
                );
            }
            Statement::GuardedLanes => {
                let message =
                    "more lanes pass guards on the thread index than blocks of this size have";
                self.add("guard", None, message.to_owned());
            }
        }
    }
}
