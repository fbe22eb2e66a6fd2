//! Implicit path enumeration: count rows, loop facts and costs become an integer program.

use warpbound_simt::NodeId;
use warpbound_simt::counts::{CountSystem, CountVar, CountKind, Factor, RowRelation as CountRelation};
use warpbound_simt::warp::Via;

use crate::model::{IntegerProgram, Relation, VarId};

/// A loop bound times a coefficient leaves the range of a coefficient.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BoundTooLarge {
    /// Which fact.
    pub fact: usize,
}

/// Statements about counts.
#[derive(Clone, Copy, Default, Debug)]
pub struct StatedCounts<'a> {
    /// For each fact, the most header executions per entry and thread.
    pub bounds: &'a [Option<u64>],
    /// For each fact, the most header executions of a thread in the whole run.
    pub totals: &'a [Option<u64>],
    /// Steps that no thread takes: the spelling of the statement, and the counts that are 0.
    pub never: &'a [(String, Vec<CountVar>)],
}

/// The integer program of a kernel, with the way back from its variables to counts.
#[derive(Clone, Debug)]
pub struct Ipet {
    /// The program.
    pub model: IntegerProgram,
    /// Model variable of each count variable.
    pub vars: Vec<VarId>,
}

impl Ipet {
    /// Builds the program: maximise the cost of all executed nodes.
    ///
    /// `bounds[f]` is the bound of fact `f` (header executions per entry, per thread); loop rows of
    /// a fact without a bound are left out, so that the program is unbounded where one is missing.
    pub fn new(
        system: &CountSystem,
        cost: impl Fn(NodeId) -> u64,
        bounds: &[Option<u64>],
    ) -> Result<Ipet, BoundTooLarge> {
        let stated = StatedCounts {
            bounds,
            ..StatedCounts::default()
        };
        Ipet::with(system, cost, stated)
    }

    /// The same with all that may be stated; rows about totals that are missing are left out, too.
    pub fn with(
        system: &CountSystem,
        cost: impl Fn(NodeId) -> u64,
        stated: StatedCounts<'_>,
    ) -> Result<Ipet, BoundTooLarge> {
        let mut costs = vec![0i64; system.len()];
        for (&node, arriving) in &system.executions {
            for var in arriving {
                // A node's cost fits: blocks are shorter than 2^32 instructions and external
                // calls are limited when their fact is read.
                costs[var.0] = i64::try_from(cost(node)).unwrap_or(i64::MAX);
            }
        }
        let mut model = IntegerProgram::new();
        let vars: Vec<VarId> = system
            .variables
            .iter()
            .zip(costs)
            .map(|(counted, cost)| model.add_var(variable_label(counted), cost, None))
            .collect();
        let var = |v: CountVar| vars[v.0];
        'rows: for row in &system.rows {
            let mut terms = Vec::with_capacity(row.terms.len());
            for &(v, factor) in &row.terms {
                let (n, numbers, fact) = match factor {
                    Factor::Number(n) => {
                        terms.push((var(v), n));
                        continue;
                    }
                    Factor::TimesBound(n, fact) => (n, stated.bounds, fact),
                    Factor::TimesTotal(n, fact) => (n, stated.totals, fact),
                };
                let Some(number) = numbers.get(fact).copied().flatten() else {
                    continue 'rows;
                };
                let factor = i64::try_from(number)
                    .ok()
                    .and_then(|number| number.checked_mul(n))
                    .ok_or(BoundTooLarge { fact })?;
                terms.push((var(v), factor));
            }
            let relation = match row.relation {
                CountRelation::AtMost => Relation::Le,
                CountRelation::Exactly => Relation::Eq,
            };
            model.add_row(
                row.label.as_str(),
                row.family.reason(),
                terms,
                relation,
                row.constant.into(),
            );
        }
        for (spelled, counts) in stated.never {
            let terms: Vec<_> = counts.iter().map(|&v| (var(v), 1)).collect();
            let label = format!("never {spelled}");
            let reason = "stated: no thread takes this step";
            model.add_row(label, reason, terms, Relation::Eq, 0);
        }
        Ok(Ipet { model, vars })
    }
}

/// The name of a variable.
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
