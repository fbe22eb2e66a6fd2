//! Plans of probes against runs: reconstructed counts, forged certificates, and the optimum by enumeration.

use std::collections::{BTreeMap, BTreeSet};

use fastrand::Rng;
use warpbound_analyse::LaunchContext;
use warpbound_analyse::blocks::Blocks;
use warpbound_analyse::thread_cfg::Limits;
use warpbound_ipet::plan::certificate::verify_plan;
use warpbound_ipet::plan::{LinearForm, Measurable, MeasurementPlan, PlanProblem, find_plan};
use warpbound_ir::{Code, OpIndex};
use warpbound_launch::{LaunchFile, PathOrder, bind};
use warpbound_load::Image;
use warpbound_measure::probes::system::ProbeSystem;
use warpbound_query::{KernelFlow, Prepared};
use warpbound_simt::counts::CountRow;
use warpbound_simt::lanes_of;
use warpbound_simt::warp::WarpModel;
use warpbound_simulate::functional::{Counts, launch};

use crate::execute::{Ending, NoLabels, RunSeed, Warp, mix};
use crate::generate::{exotic, jump_or_call, structured, two_headers, unstructured};
use crate::random::live_lanes_of_first_warp;

/// Executions and active lanes of each operation that begins a block.
pub type CountedOps = BTreeMap<OpIndex, [u64; 2]>;

/// Plan for the counts of all blocks of a kernel, issues and then lanes.
pub struct BlockPlan {
    /// Blocks of the targets and candidates, issues (0) or lanes (1).
    pub names: Vec<(OpIndex, usize)>,
    /// The problem.
    pub problem: PlanProblem,
    /// Its solution.
    pub plan: MeasurementPlan,
}

impl BlockPlan {
    /// Plans counters for all blocks of a system, with the expected executions as weights.
    pub fn new(system: &ProbeSystem) -> BlockPlan {
        let mut problem = PlanProblem {
            equalities: system.equalities.clone(),
            known: vec![system.warps.clone(), system.threads.clone()],
            ..PlanProblem::default()
        };
        let mut names = Vec::new();
        for (&first, forms) in &system.blocks {
            for (quantity, form) in [&forms.issues, &forms.lanes].into_iter().enumerate() {
                names.push((first, quantity));
                problem.targets.push(form.clone());
                problem.candidates.push(Measurable {
                    form: form.clone(),
                    weight: forms.frequency * (3 - quantity as u64),
                });
            }
        }
        let plan = find_plan(&problem).expect("each count is a candidate itself");
        BlockPlan {
            names,
            problem,
            plan,
        }
    }

    /// Reconstructs all counts of a run from the counts of the probes, and lists the differences.
    pub fn differences(&self, warps: u64, threads: u64, counted: &CountedOps) -> Vec<String> {
        let count = |at: usize| {
            let (first, quantity) = self.names[at];
            counted.get(&first).map_or(0, |counts| counts[quantity])
        };
        let known = |at: usize| [warps, threads].get(at).copied();
        let mut differences = Vec::new();
        for (at, derivation) in self.plan.derivations.iter().enumerate() {
            let derived = derivation.value(known, |probe| Some(i128::from(count(probe))));
            if derived != Some(count(at)) {
                let (first, quantity) = self.names[at];
                let counted = count(at);
                differences.push(format!(
                    "operation {}, quantity {quantity}: {derived:?} instead of {counted}",
                    first.0
                ));
            }
        }
        differences
    }

    /// Weight of the probes of one quantity.
    pub fn weight(&self, quantity: usize) -> u64 {
        let probes = self.plan.probes.iter();
        let probes = probes.filter(|&&at| self.names[at].1 == quantity);
        probes.map(|&at| self.problem.candidates[at].weight).sum()
    }

    /// Minimum weight of counters of one quantity that all counts of it follow from, by trying all sets of as many
    /// counters as are needed; `None` for more than 16 blocks. Ranks are computed modulo a prime of 61 bits, with no
    /// function of the search.
    pub fn least_weight_by_enumeration(&self, quantity: usize) -> Option<u64> {
        let of = |at: &usize| self.names[*at].1 == quantity;
        let candidates: Vec<usize> = (0..self.names.len()).filter(of).collect();
        if candidates.len() > 16 {
            return None;
        }
        let free = self.problem.equalities.iter().chain(&self.problem.known);
        let mut free_rows = Residues::default();
        free.for_each(|form| {
            free_rows.insert(form);
        });
        let forms: Vec<Vec<(usize, u64)>> = candidates
            .iter()
            .map(|&at| free_rows.rest(&self.problem.candidates[at].form))
            .collect();
        let rank_of = |chosen: u32| {
            let mut rows = Residues::default();
            let bits = (0..forms.len()).filter(|bit| chosen >> bit & 1 == 1);
            bits.filter(|&bit| rows.insert_rest(forms[bit].clone()))
                .count()
        };
        let needed = rank_of(u32::MAX);
        let weight = |chosen: u32| -> u64 {
            let bits = (0..forms.len()).filter(|bit| chosen >> bit & 1 == 1);
            bits.map(|bit| self.problem.candidates[candidates[bit]].weight)
                .sum()
        };
        let mut sets: Vec<(u64, u32)> = (0..1_u32 << forms.len())
            .filter(|chosen| chosen.count_ones() as usize == needed)
            .map(|chosen| (weight(chosen), chosen))
            .collect();
        sets.sort_unstable();
        let best = sets
            .into_iter()
            .find(|&(_, chosen)| rank_of(chosen) == needed);
        best.map(|(weight, _)| weight)
    }

    /// Changes the certificate so that it proves no longer what it claims; returns the check's answer, `None` if
    /// there is nothing to change.
    pub fn forged(&self, rng: &mut Rng) -> Option<bool> {
        let (mut problem, mut plan) = (self.problem.clone(), self.plan.clone());
        let one = || warpbound_ipet::plan::Multiplier::from_integer(1.into());
        let target = rng.usize(0..plan.derivations.len());
        match rng.u8(0..6) {
            // A multiplier of a form that is not 0.
            0 => {
                let derivation = &mut plan.derivations[target];
                let terms = [&mut derivation.known, &mut derivation.probes];
                let term = terms.into_iter().flatten().nth(rng.usize(0..2))?;
                term.1 += one();
            }
            1 => {
                let equalities = &mut plan.derivations[target].equalities;
                let at = rng.usize(0..equalities.len().max(1));
                equalities.get_mut(at)?.1 -= one();
            }
            // A probe that is not measured.
            2 => {
                let dropped = rng.usize(0..plan.probes.len().max(1));
                let dropped = *plan.probes.get(dropped)?;
                plan.probes.retain(|&probe| probe != dropped);
            }
            // A row of other code.
            3 => {
                let used = &plan.derivations[target].equalities;
                let &(row, _) = used.get(rng.usize(0..used.len().max(1)))?;
                let form = &problem.equalities[row];
                let &(unknown, _) = form.terms().first()?;
                let changed = form.terms().iter().copied().chain([(unknown, 1)]);
                problem.equalities[row] = LinearForm::sum(changed)?;
            }
            // The combination of another count.
            4 => {
                let other = rng.usize(0..plan.derivations.len());
                if problem.targets[other] == problem.targets[target] {
                    return None;
                }
                plan.derivations[target] = plan.derivations[other].clone();
            }
            // A count that is missing.
            _ => {
                plan.derivations.pop()?;
            }
        }
        Some(verify_plan(&problem, &plan).is_err())
    }
}

/// Rows in echelon form modulo a prime.
#[derive(Default)]
struct Residues {
    rows: BTreeMap<usize, Vec<(usize, u64)>>,
}

/// A prime (2⁶¹ - 1).
const PRIME: u64 = (1 << 61) - 1;

fn times(a: u64, b: u64) -> u64 {
    (u128::from(a) * u128::from(b) % u128::from(PRIME)) as u64
}

fn power(base: u64, exponent: u64) -> u64 {
    let (mut result, mut square, mut rest) = (1, base, exponent);
    while rest != 0 {
        if rest & 1 == 1 {
            result = times(result, square);
        }
        square = times(square, square);
        rest >>= 1;
    }
    result
}

impl Residues {
    /// Rest of a form after subtraction of rows.
    fn rest(&self, form: &LinearForm) -> Vec<(usize, u64)> {
        let terms = form.terms().iter();
        let residue = |factor: i64| (i128::from(factor).rem_euclid(i128::from(PRIME))) as u64;
        self.rest_of(terms.map(|&(at, factor)| (at, residue(factor))).collect())
    }

    fn rest_of(&self, row: Vec<(usize, u64)>) -> Vec<(usize, u64)> {
        let mut values: BTreeMap<usize, u64> = row.into_iter().collect();
        // Pivots are the least columns of their rows, so those that come in are greater.
        let mut next = 0;
        while let Some((&column, &value)) = values.range(next..).next() {
            next = column + 1;
            if let (Some(by), true) = (self.rows.get(&column), value != 0) {
                for &(at, of) in by {
                    let entry = values.entry(at).or_default();
                    *entry = (*entry + PRIME - times(value, of)) % PRIME;
                }
            }
        }
        values.retain(|_, value| *value != 0);
        values.into_iter().collect()
    }

    fn insert(&mut self, form: &LinearForm) -> bool {
        let rest = self.rest(form);
        self.insert_rest(rest)
    }

    /// Adds a row if it is independent; returns whether it is.
    fn insert_rest(&mut self, row: Vec<(usize, u64)>) -> bool {
        let rest = self.rest_of(row);
        let Some(&(column, pivot)) = rest.first() else {
            return false;
        };
        let inverse = power(pivot, PRIME - 2);
        let row = rest.into_iter().map(|(at, of)| (at, times(of, inverse)));
        self.rows.insert(column, row.collect());
        true
    }
}

/// Outcome of plans for random programs.
#[derive(Clone, Debug, Default)]
pub struct RandomPlans {
    /// Programs with a plan.
    pub programs: usize,
    /// Their blocks.
    pub blocks: usize,
    /// Counters of their plans.
    pub probes: usize,
    /// Runs that ended and whose counts were all reconstructed.
    pub runs: usize,
    /// Differences.
    pub wrong: Vec<String>,
}

/// Warp steps after which a run is given up.
const MAX_STEPS: usize = 5_000;

/// Runs of each program.
const RUNS: usize = 10;

/// Plans counters for random programs from the rows that `is_equality` accepts, and reconstructs the counts of at least
/// `runs` runs that end.
pub fn random_plans(
    seed: u64,
    runs: usize,
    is_equality: impl Fn(&CountRow) -> bool,
) -> RandomPlans {
    let mut total = RandomPlans::default();
    let mut number = 0;
    while total.runs < runs {
        number += 1;
        let mut rng = Rng::with_seed(mix(&[seed, number]));
        let code = match rng.u8(0..8) {
            0 => unstructured(&mut rng),
            1 | 2 => exotic(&mut rng),
            3 => jump_or_call(&mut rng),
            4 => two_headers(&mut rng),
            _ => structured(&mut rng),
        };
        let context = LaunchContext {
            warp_width: [4, 8, 32][rng.usize(0..3)],
            ..LaunchContext::default()
        };
        let model = WarpModel {
            may_diverge: true,
            ..WarpModel::default()
        };
        // Few contexts: calls share them.
        let contexts = [1, 3, 2_000][rng.usize(0..3)];
        let limits = Limits {
            contexts,
            ..Limits::default()
        };
        let Ok(flow) = KernelFlow::analyse(&code, &context, &model, &limits) else {
            continue;
        };
        if !flow.external_names().is_empty() {
            continue;
        }
        let system = ProbeSystem::new(&code, &flow, &is_equality).expect("small factors");
        let plan = BlockPlan::new(&system);
        total.programs += 1;
        total.blocks += system.blocks.len();
        total.probes += plan.plan.probes.len();
        for run in 0..RUNS {
            let all = live_lanes_of_first_warp(&context);
            let lanes = match run % 3 {
                0 => (rng.u64(..) & all).max(1),
                _ => all,
            };
            let run = RunSeed {
                seed: rng.u64(..),
                lanes,
                first_thread: 0,
                fall_through_first: None,
                max_steps: MAX_STEPS,
                fault: None,
            };
            let Some(counted) = counted(&code, &context, run) else {
                continue;
            };
            total.runs += 1;
            let threads = u64::from(lanes.count_ones());
            let wrong = plan.differences(1, threads, &counted);
            let wrong = wrong.into_iter().take(1);
            total
                .wrong
                .extend(wrong.map(|what| format!("program {number}: {what}")));
        }
    }
    total
}

/// Counts the operations of a run; `None` if it does not end.
fn counted(code: &Code, context: &LaunchContext, run: RunSeed) -> Option<CountedOps> {
    let mut counted = CountedOps::new();
    let ending = Warp::new(code, context, run, NoLabels).run(|event| {
        if let Some(top) = event.before.top() {
            let counts = counted.entry(top.next.op).or_default();
            counts[0] += 1;
            counts[1] += lanes_of(top.mask).count() as u64;
        }
    });
    (ending == Ending::Finished).then_some(counted)
}

/// Number of blocks of a code without the targets of its indirect jumps.
pub fn blocks_of(code: &Code) -> usize {
    Blocks::build(code, &BTreeSet::new()).len()
}

/// Counts of each operation in a functional run of a launch of a cubin.
///
/// # Errors
///
/// The fault of a run that has one.
pub fn run_counts(
    contents: &[u8],
    prepared: &Prepared<'_>,
    launched: &LaunchFile,
    order: PathOrder,
    max_instructions: u64,
) -> Result<Counts, String> {
    let image = Image::parse(contents).map_err(|why| why.to_string())?;
    let (kernel, code) = (prepared.kernel, &prepared.code);
    let bound = bind(launched, &image, kernel, code, order, max_instructions);
    let (run, mut memory) = bound.map_err(|why| why.to_string())?;
    launch(code, &run, &mut memory).map_err(|fault| format!("{fault:?}"))
}
