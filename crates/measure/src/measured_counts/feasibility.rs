//! Decides whether counts of steps exist that give the measured counts of blocks and satisfy the count rows, summed
//! over warps.
//!
//! Each row of the count system holds for each warp of a run (SOUNDNESS 5). The rows are linear, so their sum over
//! the warps holds if the right side is multiplied by the number of warps (SOUNDNESS 17). Only rows of starts and of
//! guarded lanes have a right side other than 0. For example, `warp start = 1` becomes `warp start = 40` in a launch
//! of 40 warps.

use std::collections::BTreeMap;

use warpbound_base::Diagnostic;
use warpbound_ipet::{
    Effort, IntegerProgram, Relation, RowId, SolveOutcome, VarId, solve, solve_each,
};
use warpbound_simt::NodeId;
use warpbound_simt::counts::{CountKind, CountRow, CountVar, Factor, RowFamily, RowRelation};

use warpbound_query::KernelFlow;

/// Effort for a linear program without a search for integer points.
fn relaxed() -> Effort {
    // The relaxation proves enough: if it has no solution, no integer counts exist. The converse is not claimed
    // (SOUNDNESS 17).
    Effort {
        nodes: 0,
        ..Effort::default()
    }
}

/// Bounds of loops and the user's other statements.
pub(crate) struct SummedFacts {
    /// Bound of each loop: header executions of a thread for each entry.
    pub(crate) bounds: Vec<Option<u64>>,
    /// Total of each loop: header executions of a thread.
    pub(crate) totals: Vec<Option<u64>>,
    /// Counts that `never` statements exclude, with the text of the statement.
    pub(crate) never: Vec<(String, Vec<CountVar>)>,
}

/// Measured count of a block.
#[derive(Clone, Copy)]
pub(crate) struct BlockSum {
    /// Index of the block.
    pub(crate) block: usize,
    /// Executions by warps; with merged groups, fewer than the count rows are about.
    pub(crate) issues: Option<u64>,
    pub(crate) lanes: Option<u64>,
}

/// Numbers of warps and threads of the launch, if known.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct LaunchSums {
    pub(crate) warps: Option<u64>,
    pub(crate) threads: Option<u64>,
}

/// Fact of the launch or of the user; its rows need not hold in every run of the kernel.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Statement {
    /// Bound or total of a loop.
    Loop(usize),
    /// `never` statement.
    Never(usize),
    /// Lanes that pass guards on the thread index: the size of the block.
    GuardedLanes,
}

/// Outcome of a check.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Feasibility {
    /// Counts of steps exist.
    Possible,
    /// No such counts exist; the parts of the contradiction.
    Impossible(Contradicting),
    /// The solver gave up.
    Unknown(String),
}

/// Parts of a contradiction.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Contradicting {
    /// Indices of the blocks whose measured counts take part.
    pub(super) blocks: Vec<usize>,
    /// Families of the rows that take part.
    pub(super) families: Vec<RowFamily>,
}

/// Origin of a row of the program.
#[derive(Clone, Copy)]
enum SummedRow {
    Block(usize),
    Count(RowFamily),
    Stated,
}

/// Sums of counts over the warps of a launch.
pub(crate) struct SummedCounts<'a> {
    flow: &'a KernelFlow,
    facts: &'a SummedFacts,
    launch: LaunchSums,
    /// Maximum number of live lanes of a warp.
    lanes: i64,
    /// Whether warps execute blocks at most as often as the count rows say, because groups of lanes may merge (SOUNDNESS
    /// 21.4). The lanes are the same.
    merges: bool,
    blocks: Vec<BlockSum>,
    /// Counts of the arrivals at each block: of warps, then of lanes.
    arrivals: BTreeMap<usize, [Vec<CountVar>; 2]>,
    warp_start: Option<CountVar>,
    thread_start: Option<CountVar>,
}

impl<'a> SummedCounts<'a> {
    pub(crate) fn new(
        flow: &'a KernelFlow,
        facts: &'a SummedFacts,
        launch: LaunchSums,
        lanes: u64,
        blocks: Vec<BlockSum>,
    ) -> SummedCounts<'a> {
        let mut summed = SummedCounts {
            flow,
            facts,
            launch,
            lanes: i64::try_from(lanes).unwrap_or(i64::MAX),
            merges: false,
            blocks,
            arrivals: BTreeMap::new(),
            warp_start: None,
            thread_start: None,
        };
        summed.find_arrivals();
        summed
    }

    /// Takes the measured executions by warps as lower limits, for GPUs whose groups of lanes may merge.
    pub(crate) fn with_merges(mut self, merges: bool) -> SummedCounts<'a> {
        self.merges = merges;
        self
    }

    /// Finds the counts whose sum is the number of executions of each block.
    fn find_arrivals(&mut self) {
        let flow = self.flow;
        let mut add = |node: NodeId, level: usize, var: CountVar| {
            // A block in several calling contexts is several nodes, and tools count all of them together.
            let block = flow.thread.space.node(node).block;
            let levels = self.arrivals.entry(block).or_default();
            if let Some(list) = levels.get_mut(level) {
                list.push(var);
            }
        };
        for (number, counted) in flow.counts.variables.iter().enumerate() {
            let var = CountVar(number);
            match counted {
                CountKind::WarpStart => {
                    self.warp_start = Some(var);
                    add(flow.thread.entry, 0, var);
                }
                CountKind::ThreadStart => {
                    self.thread_start = Some(var);
                    add(flow.thread.entry, 1, var);
                }
                CountKind::WarpStep(_, step) => {
                    if let Some(to) = step.to {
                        add(to, 0, var);
                    }
                }
                CountKind::ThreadStep(_, step) => {
                    if let Some(to) = step.to {
                        add(to, 1, var);
                    }
                }
            }
        }
    }

    /// Returns the statements for which numbers are known.
    pub(super) fn statements(&self) -> Vec<Statement> {
        let known = |numbers: &[Option<u64>], at: usize| numbers.get(at).copied().flatten();
        let loops = 0..self.facts.bounds.len().max(self.facts.totals.len());
        let loops = loops.filter(|&at| {
            known(&self.facts.bounds, at).is_some() || known(&self.facts.totals, at).is_some()
        });
        let mut all: Vec<Statement> = loops.map(Statement::Loop).collect();
        all.extend((0..self.facts.never.len()).map(Statement::Never));
        let rows = &self.flow.counts.rows;
        if rows.iter().any(|row| row.family == RowFamily::GuardedLanes) {
            all.push(Statement::GuardedLanes);
        }
        all
    }

    /// Checks the measured counts of the blocks that `uses` accepts against the rows of all runs and the rows of
    /// `statements`.
    pub(super) fn check(
        &self,
        statements: &[Statement],
        uses: impl Fn(usize) -> bool,
    ) -> Feasibility {
        let (model, _, rows) = self.program(statements, uses);
        match solve(&model, relaxed()) {
            // Only a contradiction with an exact certificate is a finding; no other outcome proves one.
            SolveOutcome::Bounded(_) | SolveOutcome::Unbounded(_) => Feasibility::Possible,
            SolveOutcome::Infeasible(conflict) => {
                Feasibility::Impossible(parts(&rows, &conflict.rows))
            }
            SolveOutcome::SolverFailed(why) => Feasibility::Unknown(why.to_string()),
        }
    }

    /// Returns the counts whose sums are the executions of a block, by warps and by lanes; `None` for a block to
    /// which no step leads.
    pub(crate) fn arrivals(&self, block: usize) -> Option<&[Vec<CountVar>; 2]> {
        self.arrivals.get(&block)
    }

    /// Returns the smallest and the largest value of each sum over all counts that satisfy all rows and the counts of
    /// blocks; `None` where no limit was found.
    ///
    /// # Errors
    ///
    /// No counts satisfy the rows.
    pub(crate) fn ranges(
        &self,
        sums: &[Vec<(CountVar, i64)>],
    ) -> Result<Vec<[Option<i128>; 2]>, Diagnostic> {
        let (mut model, vars, _) = self.program(&self.statements(), |_| true);
        // An execution has at most as many active lanes as a warp has threads. Flow alone does not relate the two.
        for [warps, threads] in self.arrivals.values() {
            let lanes = threads.iter().map(|&var| (var, 1));
            let issues = warps.iter().map(|&var| (var, -self.lanes));
            let terms = lanes.chain(issues);
            let terms = terms.filter_map(|(var, n)| Some((*vars.get(var.0)?, n)));
            model.add_row("", "", terms.collect::<Vec<_>>(), Relation::Le, 0);
        }
        // The solver maximises, so the smallest value is minus the maximum of the negated sum. The smallest values
        // come first because consecutive programs then have similar optima.
        let objectives = [-1, 1].into_iter().flat_map(|sign| {
            let objective = |sum: &Vec<(CountVar, i64)>| {
                let mut costs: BTreeMap<VarId, i64> = BTreeMap::new();
                for &(var, factor) in sum {
                    if let Some(&var) = vars.get(var.0) {
                        let cost = costs.entry(var).or_default();
                        *cost = cost.saturating_add(sign * factor);
                    }
                }
                costs.into_iter().collect()
            };
            sums.iter().map(objective).collect::<Vec<_>>()
        });
        let objectives: Vec<Vec<(VarId, i64)>> = objectives.collect();
        let limits = solve_each(&model, &objectives, relaxed());
        let limits = limits.into_iter().map(|outcome| match outcome {
            SolveOutcome::Bounded(found) => Ok(Some(found.bound)),
            SolveOutcome::Unbounded(_) | SolveOutcome::SolverFailed(_) => Ok(None),
            SolveOutcome::Infeasible(_) => {
                let message = "no execution has the predicted counts: a bound of a loop is false, or a prediction";
                Err(Diagnostic::new(message))
            }
        });
        let limits: Vec<Option<i128>> = limits.collect::<Result<_, _>>()?;
        let (least, most) = limits.split_at(sums.len());
        let ranges = least.iter().zip(most);
        Ok(ranges
            .map(|(&least, &most)| [least.map(|negated| -negated), most])
            .collect())
    }

    /// Returns the program with the rows of all runs, the rows of `statements`, and the counts of the blocks that
    /// `uses` accepts. Its variables are in the order of the counts, and the last list has the origin of each row.
    fn program(
        &self,
        statements: &[Statement],
        uses: impl Fn(usize) -> bool,
    ) -> (IntegerProgram, Vec<VarId>, Vec<SummedRow>) {
        let mut model = IntegerProgram::new();
        let all = self.flow.counts.variables.iter().enumerate();
        let vars: Vec<VarId> = all
            .map(|(number, _)| model.add_var(number.to_string(), 0, None))
            .collect();
        let mut rows: Vec<SummedRow> = Vec::new();
        let mut add = |origin: SummedRow, terms: &[(CountVar, i64)], relation, rhs: i128| {
            let terms = terms.iter();
            let terms = terms.filter_map(|&(var, n)| Some((*vars.get(var.0)?, n)));
            model.add_row("", "", terms.collect::<Vec<_>>(), relation, rhs);
            rows.push(origin);
        };
        self.add_starts(&mut add);
        for row in &self.flow.counts.rows {
            let origin = match statement_of(row) {
                None => SummedRow::Count(row.family),
                Some(statement) if statements.contains(&statement) => SummedRow::Stated,
                Some(_) => continue,
            };
            // A row that is left out only allows more counts, so no contradiction is false.
            if let Some((terms, constant)) = self.summed(row) {
                let relation = match row.relation {
                    RowRelation::AtMost => Relation::Le,
                    RowRelation::Exactly => Relation::Eq,
                };
                add(origin, &terms, relation, constant);
            }
        }
        for statement in statements {
            if let Statement::Never(number) = statement
                && let Some((_, counts)) = self.facts.never.get(*number)
            {
                let terms: Vec<_> = counts.iter().map(|&var| (var, 1)).collect();
                add(SummedRow::Stated, &terms, Relation::Eq, 0);
            }
        }
        self.add_blocks(uses, &mut add);
        (model, vars, rows)
    }

    /// Adds the rows of starts: the warps and threads of the launch. Each warp has at least one thread and at most as
    /// many as it has lanes.
    fn add_starts(&self, add: &mut impl FnMut(SummedRow, &[(CountVar, i64)], Relation, i128)) {
        let (Some(warps), Some(threads)) = (self.warp_start, self.thread_start) else {
            return;
        };
        let origin = SummedRow::Count(RowFamily::Start);
        add(
            origin,
            &[(threads, 1), (warps, -self.lanes)],
            Relation::Le,
            0,
        );
        add(origin, &[(warps, 1), (threads, -1)], Relation::Le, 0);
        for (start, count) in [(warps, self.launch.warps), (threads, self.launch.threads)] {
            if let Some(count) = count {
                add(origin, &[(start, 1)], Relation::Eq, count.into());
            }
        }
    }

    /// Adds the measured counts of blocks.
    fn add_blocks(
        &self,
        uses: impl Fn(usize) -> bool,
        add: &mut impl FnMut(SummedRow, &[(CountVar, i64)], Relation, i128),
    ) {
        for sum in self.blocks.iter().filter(|sum| uses(sum.block)) {
            let Some([warps, threads]) = self.arrivals.get(&sum.block) else {
                continue;
            };
            let issues = match self.merges {
                true => Relation::Ge,
                false => Relation::Eq,
            };
            let counts = [
                (warps, issues, sum.issues),
                (threads, Relation::Eq, sum.lanes),
            ];
            for (vars, relation, count) in counts {
                if let Some(count) = count {
                    let terms: Vec<_> = vars.iter().map(|&var| (var, 1)).collect();
                    add(SummedRow::Block(sum.block), &terms, relation, count.into());
                }
            }
            if self.merges && sum.lanes.is_some() {
                // The counts of the rows are not measured, but each execution has between one lane and all.
                let lanes = || threads.iter().map(|&var| (var, 1));
                let no_fewer = warps.iter().map(|&var| (var, -self.lanes)).chain(lanes());
                let no_more = warps.iter().map(|&var| (var, -1)).chain(lanes());
                let origin = SummedRow::Block(sum.block);
                add(origin, &no_fewer.collect::<Vec<_>>(), Relation::Le, 0);
                add(origin, &no_more.collect::<Vec<_>>(), Relation::Ge, 0);
            }
        }
    }

    /// Returns the terms and the right side of a row summed over the warps; `None` if its number is unknown, or for a
    /// row of starts, which [`SummedCounts::add_starts`] adds.
    fn summed(&self, row: &CountRow) -> Option<(Vec<(CountVar, i64)>, i128)> {
        if row.family == RowFamily::Start {
            return None;
        }
        let mut terms = Vec::with_capacity(row.terms.len() + 1);
        for &(var, factor) in &row.terms {
            terms.push((var, self.coefficient(factor)?));
        }
        if row.constant != 0 {
            // The right side counts once for each warp, and the starts count the warps.
            terms.push((self.warp_start?, row.constant.checked_neg()?));
        }
        Some((terms, 0))
    }

    /// Returns the coefficient of a term; `None` if its loop has no number, or if the number is too large.
    fn coefficient(&self, factor: Factor) -> Option<i64> {
        let (n, numbers, fact) = match factor {
            Factor::Number(n) => return Some(n),
            Factor::TimesBound(n, fact) => (n, &self.facts.bounds, fact),
            Factor::TimesTotal(n, fact) => (n, &self.facts.totals, fact),
        };
        let number = numbers.get(fact).copied().flatten()?;
        i64::try_from(number).ok()?.checked_mul(n)
    }
}

/// Returns the statement that a row rests on; `None` if it holds in every run.
fn statement_of(row: &CountRow) -> Option<Statement> {
    let of_loop = || {
        row.terms.iter().find_map(|(_, factor)| match factor {
            Factor::Number(_) => None,
            Factor::TimesBound(_, fact) | Factor::TimesTotal(_, fact) => {
                Some(Statement::Loop(*fact))
            }
        })
    };
    match row.family {
        RowFamily::Start | RowFamily::Flow | RowFamily::ThreadFlow | RowFamily::Pops => None,
        // Measured counts are compared with the rows of a kernel, which has no rows of a launch.
        RowFamily::GuardedLanes | RowFamily::LaunchExecutions => Some(Statement::GuardedLanes),
        RowFamily::LoopPerThread
        | RowFamily::LoopLockstep
        | RowFamily::LoopOfWarp
        | RowFamily::TotalPerThread
        | RowFamily::TotalLockstep => of_loop(),
    }
}

/// Returns the blocks and families that take part in a contradiction between rows.
fn parts(rows: &[SummedRow], conflict: &[RowId]) -> Contradicting {
    let mut found = Contradicting::default();
    for row in conflict {
        match rows.get(row.index()) {
            Some(SummedRow::Block(block)) => found.blocks.push(*block),
            Some(SummedRow::Count(family)) => found.families.push(*family),
            // The caller knows which statements it asked about.
            Some(SummedRow::Stated) | None => {}
        }
    }
    // A block has a row for issues and one for lanes, and a family has many rows.
    found.blocks.sort_unstable();
    found.blocks.dedup();
    found.families.sort_unstable();
    found.families.dedup();
    found
}
