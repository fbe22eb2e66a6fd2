//! Implicit path enumeration (IPET; Li and Malik 1995; for warps `warp-cfg-2023`, section 4): count rows, loop facts
//! and costs become an integer program.
//!
//! A loop fact becomes a row in two steps. `warpbound_simt::counts` (`add_loop_row`) makes the count row: the
//! executions of the loop's header that it limits, per entry or in total, with a coefficient that refers to the fact
//! ([`Factor::TimesBound`], [`Factor::TimesTotal`]). Here [`loop_fact_coefficient`] puts in the number that the user
//! stated ([`crate::facts`]) and `add_count_row` adds the row to the program. A row whose fact is not stated is left
//! out, so that the program is unbounded where a loop bound is missing.

use std::marker::PhantomData;

use warpbound_base::Quantity;
use warpbound_simt::NodeId;
use warpbound_simt::counts::{
    CountKind, CountRow, CountSystem, CountVar, Factor, RowFamily, RowRelation as CountRelation,
};
use warpbound_simt::warp::Via;

use crate::model::{IntegerProgram, Relation, VarId};
use crate::solve::{Effort, SolveOutcome, solve};
use crate::warp_bound::{Contradiction, Verdict, WarpBound};

/// Error: a number exceeds the range of coefficients. A wrapped or saturated coefficient could exclude real runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NumberTooLarge {
    /// Number of the loop fact whose bound or total, times a coefficient, is too large.
    LoopFact(usize),
    /// Node that costs too much.
    Cost(NodeId),
}

/// Flow facts about counts, by fact number.
#[derive(Clone, Copy, Default, Debug)]
pub struct StatedCounts<'a> {
    /// Maximum header executions per loop entry and thread, for each fact.
    pub bounds: &'a [Option<u64>],
    /// Maximum header executions of a thread in the whole run, for each fact.
    pub totals: &'a [Option<u64>],
    /// Steps that no thread takes: the text of the statement, and the counts that are 0.
    pub never: &'a [(String, Vec<CountVar>)],
}

/// Integer program of a kernel, which maximises a quantity of a warp, with the mapping from count variables to its
/// variables.
#[derive(Clone, Debug)]
pub struct Ipet<Q> {
    model: IntegerProgram,
    /// Variable of the program for each count variable.
    vars: Vec<VarId>,
    /// Origin of each row of the program.
    origins: Vec<RowOrigin>,
    /// Number of loop bounds that are not stated.
    missing_bounds: usize,
    quantity: PhantomData<Q>,
}

/// Origin of a row of the program.
#[derive(Clone, Copy, Debug)]
enum RowOrigin {
    /// A count row.
    Count(RowFamily),
    /// A `never` fact.
    Never,
}

impl RowOrigin {
    /// Whether the row contains a number or statement of the user: a fact, or the shape of the block.
    fn rests_on_statement(self) -> bool {
        match self {
            RowOrigin::Never => true,
            RowOrigin::Count(family) => match family {
                RowFamily::LoopPerThread
                | RowFamily::LoopLockstep
                | RowFamily::LoopOfWarp
                | RowFamily::TotalPerThread
                | RowFamily::TotalLockstep
                | RowFamily::GuardedLanes
                | RowFamily::LaunchExecutions => true,
                RowFamily::Start | RowFamily::Flow | RowFamily::ThreadFlow | RowFamily::Pops => {
                    false
                }
            },
        }
    }
}

impl<Q: Quantity> Ipet<Q> {
    /// Builds the program with loop bounds only: maximise the cost of all executed nodes.
    ///
    /// `bounds[f]` is the bound of fact `f`: header executions per entry and thread.
    ///
    /// # Errors
    ///
    /// See [`Ipet::with_facts`].
    pub fn new(
        system: &CountSystem,
        cost: impl Fn(NodeId) -> Q,
        bounds: &[Option<u64>],
    ) -> Result<Ipet<Q>, NumberTooLarge> {
        let stated = StatedCounts {
            bounds,
            ..StatedCounts::default()
        };
        Ipet::with_facts(system, cost, stated)
    }

    /// Builds the program with all kinds of flow facts: maximise the cost of all executed nodes.
    ///
    /// Rows with a bound or total that is not stated are left out, so that the program is unbounded where a loop bound
    /// is missing.
    ///
    /// # Errors
    ///
    /// Fails if a coefficient or cost overflows.
    pub fn with_facts(
        system: &CountSystem,
        cost: impl Fn(NodeId) -> Q,
        stated: StatedCounts<'_>,
    ) -> Result<Ipet<Q>, NumberTooLarge> {
        let mut costs = vec![0i64; system.len()];
        for (&node, arriving) in &system.executions {
            let cost = i64::try_from(cost(node).number());
            let cost = cost.map_err(|_| NumberTooLarge::Cost(node))?;
            for var in arriving {
                // Each execution of a node is one arrival, so the arrivals have its cost.
                costs[var.0] = cost;
            }
        }
        Ipet::with_costs(system, costs, stated)
    }

    /// Builds the program with all kinds of flow facts: maximise the cost of all steps of the warp. `cost` has the
    /// cost of each count variable. A step without a cost is one that a warp never takes, and costs nothing.
    ///
    /// # Errors
    ///
    /// Fails if a coefficient or cost overflows.
    pub fn with_step_costs(
        system: &CountSystem,
        cost: impl Fn(CountVar) -> Option<Q>,
        stated: StatedCounts<'_>,
    ) -> Result<Ipet<Q>, NumberTooLarge> {
        let mut costs = Vec::with_capacity(system.len());
        for (number, counted) in system.variables.iter().enumerate() {
            let cost = cost(CountVar(number)).map_or(0, |cost| cost.number());
            let node = match counted {
                CountKind::WarpStep(from, _) | CountKind::ThreadStep(from, _) => *from,
                CountKind::WarpStart | CountKind::ThreadStart => NodeId(0),
            };
            costs.push(i64::try_from(cost).map_err(|_| NumberTooLarge::Cost(node))?);
        }
        Ipet::with_costs(system, costs, stated)
    }

    /// Adds a cost that a warp pays at most `most` times in all, and at most the given number of times per execution
    /// of each node. For example, the first miss of a line that two nodes may wait for has `most` 1, and counts once
    /// if either is executed.
    ///
    /// # Errors
    ///
    /// Fails if the cost overflows.
    pub fn add_limited_cost(
        &mut self,
        system: &CountSystem,
        label: &str,
        cost: Q,
        most: u64,
        nodes: &[(NodeId, u64)],
    ) -> Result<(), NumberTooLarge> {
        let node = nodes.first().map_or(NodeId(0), |(node, _)| *node);
        let too_large = NumberTooLarge::Cost(node);
        let cost = i64::try_from(cost.number()).map_err(|_| too_large)?;
        let times = self.model.add_var(label, cost, Some(most));
        let mut terms = vec![(times, 1)];
        for (node, each) in nodes {
            let each = i64::try_from(*each).map_err(|_| too_large)?;
            let arriving = system.executions.get(node).into_iter().flatten();
            terms.extend(arriving.map(|var| (self.vars[var.0], -each)));
        }
        self.model.add_row(
            format!("{label} with the nodes that pay"),
            RowFamily::Flow.reason(),
            terms,
            Relation::Le,
            0,
        );
        self.origins.push(RowOrigin::Count(RowFamily::Flow));
        Ok(())
    }

    /// Builds the program for the costs of the count variables.
    fn with_costs(
        system: &CountSystem,
        costs: Vec<i64>,
        stated: StatedCounts<'_>,
    ) -> Result<Ipet<Q>, NumberTooLarge> {
        let mut model = IntegerProgram::new();
        let vars: Vec<VarId> = system
            .variables
            .iter()
            .zip(costs)
            .map(|(counted, cost)| model.add_var(variable_label(counted), cost, None))
            .collect();
        let mut ipet = Ipet {
            model,
            vars,
            origins: Vec::with_capacity(system.rows.len() + stated.never.len()),
            missing_bounds: stated.bounds.iter().filter(|b| b.is_none()).count(),
            quantity: PhantomData,
        };
        for row in &system.rows {
            ipet.add_count_row(row, stated)?;
        }
        for (text, counts) in stated.never {
            ipet.add_never_row(text, counts);
        }
        Ok(ipet)
    }

    /// Integer program.
    pub fn model(&self) -> &IntegerProgram {
        &self.model
    }

    /// Variable of the program for a count variable; `None` if the count variable belongs to another system.
    pub(crate) fn variable(&self, var: CountVar) -> Option<VarId> {
        self.vars.get(var.0).copied()
    }

    /// Variables of the program for the count variables, in their order.
    pub(crate) fn variables(&self) -> impl Iterator<Item = VarId> {
        self.vars.iter().copied()
    }

    /// Solves the program.
    ///
    /// # Errors
    ///
    /// The facts contradict each other.
    pub fn solve(&self, effort: Effort) -> Result<Verdict<Q>, Contradiction> {
        // `solve` returns only bounds that the certificate checker has accepted (SOUNDNESS 5.11).
        match solve(&self.model, effort) {
            SolveOutcome::Bounded(certified) => {
                let bound = WarpBound::from_certified(&certified, &self.vars);
                Ok(bound.map_or_else(Verdict::Refused, Verdict::Bounded))
            }
            SolveOutcome::Unbounded(_) => Ok(Verdict::Unbounded {
                missing_bounds: self.missing_bounds,
            }),
            SolveOutcome::Infeasible(conflict) => {
                // The other rows hold in every run, so the fault must be in a statement.
                let stated = conflict.rows.iter().filter(|row| {
                    let origin = self.origins.get(row.index());
                    origin.is_some_and(|origin| origin.rests_on_statement())
                });
                let labels = stated.filter_map(|&row| Some(self.model.row(row)?.label.clone()));
                Err(Contradiction {
                    rows: labels.collect(),
                })
            }
            SolveOutcome::SolverFailed(why) => Ok(Verdict::Refused(why)),
        }
    }

    /// Adds a count row, with the numbers of its loop facts put in; leaves it out if one of them is not stated.
    fn add_count_row(
        &mut self,
        row: &CountRow,
        stated: StatedCounts<'_>,
    ) -> Result<(), NumberTooLarge> {
        let mut terms = Vec::with_capacity(row.terms.len());
        for &(var, factor) in &row.terms {
            let Some(coefficient) = loop_fact_coefficient(factor, stated)? else {
                // A row that is left out only admits more counts, so the program still bounds every run.
                return Ok(());
            };
            terms.push((self.vars[var.0], coefficient));
        }
        let relation = match row.relation {
            CountRelation::AtMost => Relation::Le,
            CountRelation::Exactly => Relation::Eq,
        };
        self.model.add_row(
            row.label.as_str(),
            row.family.reason(),
            terms,
            relation,
            row.constant.into(),
        );
        self.origins.push(RowOrigin::Count(row.family));
        Ok(())
    }

    /// Adds the row of a `never` fact: the sum of the excluded counts is 0.
    fn add_never_row(&mut self, text: &str, counts: &[CountVar]) {
        let terms: Vec<_> = counts.iter().map(|&v| (self.vars[v.0], 1)).collect();
        let label = format!("never {text}");
        let reason = "stated: no thread takes this step";
        self.model.add_row(label, reason, terms, Relation::Eq, 0);
        self.origins.push(RowOrigin::Never);
    }
}

/// Coefficient of a term of a count row, with the stated bound or total of its loop fact put in. `None` if that
/// number is not stated.
fn loop_fact_coefficient(
    factor: Factor,
    stated: StatedCounts<'_>,
) -> Result<Option<i64>, NumberTooLarge> {
    let (n, numbers, fact) = match factor {
        Factor::Number(n) => return Ok(Some(n)),
        Factor::TimesBound(n, fact) => (n, stated.bounds, fact),
        Factor::TimesTotal(n, fact) => (n, stated.totals, fact),
    };
    let Some(number) = numbers.get(fact).copied().flatten() else {
        return Ok(None);
    };
    i64::try_from(number)
        .ok()
        .and_then(|number| number.checked_mul(n))
        .map(Some)
        .ok_or(NumberTooLarge::LoopFact(fact))
}

/// Label of a variable.
fn variable_label(counted: &CountKind) -> String {
    let step = |from: &NodeId, step: &warpbound_simt::warp::WarpStep| {
        let to = step.to.map_or("end".to_owned(), |n| n.0.to_string());
        let arrow = match step.via {
            Via::Walk if step.pushes.is_empty() => "→",
            Via::Walk => "→ (push)",
            Via::Resume(_) => "⇢",
        };
        format!("{} {arrow} {to}", from.0)
    };
    match counted {
        CountKind::WarpStart => "warp start".to_owned(),
        CountKind::WarpStep(from, s) => format!("warp {}", step(from, s)),
        CountKind::ThreadStart => "lanes start".to_owned(),
        CountKind::ThreadStep(from, s) => format!("lanes {}", step(from, s)),
    }
}
