//! Planted faults, each of which must be caught by the audit that finds nothing without it.

use std::collections::BTreeSet;

use warpbound_analyse::LaunchContext;
use warpbound_analyse::thread_cfg::Limits;
use warpbound_ir::{Code, ControlEffect, ExecCondition, ValueDependence};
use warpbound_isa::instr::{MemorySpace, StackToken};
use warpbound_simt::counts::{CountInput, CountKind, CountSystem, CountVar, Factor, RowFamily};
use warpbound_simt::warp::{DivergenceOrder, Via, WarpModel};
use warpbound_simt::{AbstractState, EntryId, Tag};
use warpbound_testkit::audit::{Analysed, WarpFindings};
use warpbound_testkit::execute::{PlantedFault, RunSeed, mix};
use warpbound_testkit::generate::{
    exotic, structured, two_headers, unstructured, unwound_from_outside,
};

const PROGRAMS: u64 = 100;
const RUNS: u64 = 6;

/// Planted faults of a test.
#[derive(Default)]
struct Plant<'a> {
    /// Change of the code that is analysed; the code that runs is unchanged.
    code: Option<&'a dyn Fn(&mut Code)>,
    /// Change of the results of the analyses.
    results: Option<&'a dyn Fn(&mut Analysed<'_>)>,
    /// Fault of the machine.
    machine: Option<PlantedFault>,
    /// Launch that is analysed.
    launch: Option<LaunchContext>,
    /// Launch that runs, if another.
    runs_with: Option<LaunchContext>,
    /// Divergence order that is analysed.
    order: DivergenceOrder,
    /// Domains of the analyses, if not the default.
    model: Option<WarpModel>,
    /// Number subtracted from each loop bound that a run shows.
    less: u64,
    /// Number subtracted from each loop total that a run shows.
    less_total: u64,
    /// Whether a step that a lane took is stated as never taken.
    denies_a_step: bool,
}

/// Numbers of findings by kind, over many runs.
#[derive(Debug, Default)]
struct Caught {
    mismatches: usize,
    edges: usize,
    agreements: usize,
    /// Number of runs with more instructions than the bound.
    bounds: usize,
    /// Number of runs of programs without a bound although each loop has one.
    unbounded: usize,
    others: usize,
}

impl Caught {
    fn nothing(&self) -> bool {
        let claims = self.edges + self.agreements + self.bounds + self.unbounded;
        self.mismatches + claims + self.others == 0
    }

    fn add(&mut self, findings: &WarpFindings) {
        self.mismatches += findings.mismatches.len();
        for violation in &findings.violations {
            if violation.contains("is no edge") || violation.contains("not on the edge") {
                self.edges += 1;
            } else if violation.contains("claimed to agree") {
                self.agreements += 1;
            } else if violation.contains("bound None") {
                self.unbounded += 1;
            } else if violation.contains("bound") {
                self.bounds += 1;
            } else {
                self.others += 1;
            }
        }
    }
}

fn audit(plant: &Plant<'_>) -> Caught {
    let mut caught = Caught::default();
    for program in 0..PROGRAMS {
        let mut rng = fastrand::Rng::with_seed(mix(&[11, program]));
        let code = match program % 8 {
            0 | 4 => unstructured(&mut rng),
            1 | 5 => exotic(&mut rng),
            2 => two_headers(&mut rng),
            6 => unwound_from_outside(&mut rng),
            _ => structured(&mut rng),
        };
        let mut analysed_code = code.clone();
        if let Some(change) = plant.code {
            change(&mut analysed_code);
        }
        let launch = plant.launch.unwrap_or(LaunchContext {
            warp_width: 8,
            ..LaunchContext::default()
        });
        let model = plant.model.unwrap_or(WarpModel {
            may_diverge: true,
            order: plant.order,
            ..WarpModel::default()
        });
        let Ok(mut analysed) = Analysed::run(&analysed_code, launch, &model, &Limits::default())
        else {
            continue;
        };
        analysed.claims.code = &code;
        if let Some(change) = plant.results {
            change(&mut analysed);
        }
        if let Some(launch) = plant.runs_with {
            analysed.claims.launch = launch;
        }
        analysed.loop_bound_decrement = plant.less;
        analysed.loop_total_decrement = plant.less_total;
        analysed.denies_taken_step = plant.denies_a_step;
        for run in 0..RUNS {
            let run = RunSeed {
                seed: mix(&[13, program, run]),
                lanes: u64::MAX >> (64 - analysed.claims.launch.live_lanes()),
                first_thread: 0,
                fall_through_first: None,
                max_steps: 1_500,
                fault: plant.machine,
            };
            caught.add(&analysed.audit(run, 2, true));
        }
    }
    caught
}

#[test]
fn nothing_is_found_without_a_planted_fault() {
    let caught = audit(&Plant::default());
    assert!(caught.nothing(), "{caught:?}");
}

#[test]
fn dropped_resume_edge() {
    let drop_resumes = |analysed: &mut Analysed<'_>| {
        let entries = &analysed.claims.flow.thread.space.entries;
        for steps in &mut analysed.claims.flow.warp.graph.steps {
            steps.retain(|s| !matches!(s.via, Via::Resume(id) if entries.get(id).tag == Tag::Sync));
        }
    };
    let caught = audit(&Plant {
        results: Some(&drop_resumes),
        ..Plant::default()
    });
    assert!(caught.edges > 0, "{caught:?}");
}

#[test]
fn dropped_divergence_edge() {
    let drop_divergence = |analysed: &mut Analysed<'_>| {
        let entries = &analysed.claims.flow.thread.space.entries;
        for steps in &mut analysed.claims.flow.warp.graph.steps {
            steps.retain(|s| !matches!(s.via, Via::Resume(id) if entries.get(id).tag == Tag::Nil));
        }
    };
    let caught = audit(&Plant {
        results: Some(&drop_divergence),
        ..Plant::default()
    });
    assert!(caught.edges > 0, "{caught:?}");
}

#[test]
fn push_missing_on_the_divergent_outcome_of_a_branch() {
    let drop_pushes = |analysed: &mut Analysed<'_>| {
        for step in analysed.claims.flow.warp.graph.steps.iter_mut().flatten() {
            step.pushes.clear();
        }
    };
    let caught = audit(&Plant {
        results: Some(&drop_pushes),
        ..Plant::default()
    });
    assert!(caught.edges > 0, "{caught:?}");
}

#[test]
fn machine_that_takes_lanes_out_of_the_tagged_entry() {
    let caught = audit(&Plant {
        machine: Some(PlantedFault::LosesTaggedEntry),
        ..Plant::default()
    });
    assert!(caught.mismatches > 0, "{caught:?}");
}

#[test]
fn machine_that_leaves_the_entries_above_the_tagged_one() {
    let caught = audit(&Plant {
        machine: Some(PlantedFault::KeepsEntriesAbove),
        ..Plant::default()
    });
    assert!(
        caught.edges + caught.others + caught.mismatches > 0,
        "{caught:?}"
    );
}

#[test]
fn machine_whose_exit_forgets_the_pending_entries() {
    let caught = audit(&Plant {
        machine: Some(PlantedFault::ExitKeepsPending),
        ..Plant::default()
    });
    assert!(caught.edges + caught.others > 0, "{caught:?}");
}

#[test]
fn loop_bounds_one_too_small() {
    let caught = audit(&Plant {
        less: 1,
        ..Plant::default()
    });
    assert!(caught.bounds > 0, "{caught:?}");
}

#[test]
fn totals_of_loops_one_too_small() {
    let caught = audit(&Plant {
        less_total: 1,
        ..Plant::default()
    });
    assert!(caught.bounds > 0, "{caught:?}");
}

#[test]
fn taken_steps_stated_as_never_taken() {
    let caught = audit(&Plant {
        denies_a_step: true,
        ..Plant::default()
    });
    assert!(caught.bounds > 0, "{caught:?}");
}

/// Lanes that are pending outside the loop and return to it: their executions of the header add up.
#[test]
fn totals_taken_for_the_warp_where_lanes_come_back() {
    let plant = |analysed: &mut Analysed<'_>| {
        let shared = analysed.claims.flow.loops.shared_returns.clone();
        let all = counts(analysed, true, &shared);
        let rows = all.rows.into_iter();
        let totals = rows.filter(|row| row.family == RowFamily::TotalLockstep);
        analysed.claims.flow.counts.rows.extend(totals);
    };
    let caught = audit(&Plant {
        results: Some(&plant),
        ..Plant::default()
    });
    assert!(caught.bounds > 0, "{caught:?}");
}

/// Without count rows a bound can only grow; here it is lost.
#[test]
fn warp_counts_not_tied_to_thread_counts() {
    let untie = |analysed: &mut Analysed<'_>| {
        analysed
            .claims
            .flow
            .counts
            .rows
            .retain(|row| row.family != RowFamily::ThreadFlow);
    };
    let caught = audit(&Plant {
        results: Some(&untie),
        ..Plant::default()
    });
    assert!(caught.unbounded > 0, "{caught:?}");
}

#[test]
fn lanes_that_arrive_over_another_step_forgotten() {
    let forget = |analysed: &mut Analysed<'_>| {
        for row in &mut analysed.claims.flow.counts.rows {
            if row.family == RowFamily::ThreadFlow {
                let mut lanes = 0;
                row.terms.retain(|(_, factor)| {
                    lanes += usize::from(matches!(factor, Factor::Number(n) if *n < 0));
                    lanes <= 1 || matches!(factor, Factor::Number(n) if *n > 0)
                });
            }
        }
    };
    let caught = audit(&Plant {
        results: Some(&forget),
        ..Plant::default()
    });
    assert!(caught.bounds > 0, "{caught:?}");
}

/// Returns the count rows of `flow`, with other claims about the states at headers or about shared returns.
fn counts(
    analysed: &Analysed<'_>,
    no_state: bool,
    shared_returns: &BTreeSet<EntryId>,
) -> CountSystem {
    let pending = |node| match analysed.claims.flow.warp.state(node) {
        Some(state) if !no_state => state.pending(),
        _ => &[],
    };
    CountSystem::build(&CountInput {
        lanes: analysed.claims.launch.live_lanes(),
        lane_limits: &analysed.claims.flow.lane_limits,
        entry: analysed.claims.flow.thread.entry,
        thread: &analysed.claims.flow.thread.steps,
        warp: &analysed.claims.flow.warp.graph.steps,
        entries: &analysed.claims.flow.thread.space.entries,
        loops: &analysed.claims.flow.loops.loops,
        shared_returns,
        pending: &pending,
    })
}

#[test]
fn every_loop_claimed_to_iterate_in_lockstep() {
    // Planted: nothing is pending at any header, so no waiting lane could reach it.
    let claim = |analysed: &mut Analysed<'_>| {
        analysed.claims.flow.counts =
            counts(analysed, true, &analysed.claims.flow.loops.shared_returns);
        assert!(
            analysed
                .claims
                .flow
                .counts
                .lockstep
                .iter()
                .all(|&together| together)
        );
    };
    let caught = audit(&Plant {
        results: Some(&claim),
        ..Plant::default()
    });
    assert!(caught.bounds > 0, "{caught:?}");
}

#[test]
fn lockstep_loops_without_entries_by_resume() {
    let walk_only = |analysed: &mut Analysed<'_>| {
        let variables = &analysed.claims.flow.counts.variables;
        let resumes = |var: &CountVar| matches!(&variables[var.0], CountKind::WarpStep(_, step) if step.via != Via::Walk);
        for row in &mut analysed.claims.flow.counts.rows {
            if row.family == RowFamily::LoopLockstep {
                row.terms.retain(|(var, factor)| {
                    !(matches!(factor, Factor::TimesBound(..)) && resumes(var))
                });
            }
        }
    };
    let caught = audit(&Plant {
        results: Some(&walk_only),
        ..Plant::default()
    });
    assert!(caught.bounds > 0, "{caught:?}");
}

#[test]
fn fewer_lanes_than_live() {
    let narrow = LaunchContext {
        warp_width: 8,
        block: Some([2, 1, 1]),
        ..LaunchContext::default()
    };
    let wide = LaunchContext {
        warp_width: 8,
        ..LaunchContext::default()
    };
    let caught = audit(&Plant {
        launch: Some(narrow),
        runs_with: Some(wide),
        ..Plant::default()
    });
    assert!(caught.bounds > 0, "{caught:?}");
}

#[test]
fn pushes_not_counted() {
    let forget = |analysed: &mut Analysed<'_>| {
        for row in analysed
            .claims
            .flow
            .counts
            .rows
            .iter_mut()
            .filter(|row| row.family == RowFamily::Pops)
        {
            row.terms
                .retain(|(_, factor)| !matches!(factor, Factor::Number(n) if *n < 0));
        }
    };
    let caught = audit(&Plant {
        results: Some(&forget),
        ..Plant::default()
    });
    assert!(caught.bounds > 0, "{caught:?}");
}

/// Repeats the analyses with one calling context for all calls.
fn without_call_strings(analysed: &mut Analysed<'_>) {
    let limits = Limits {
        contexts: 1,
        ..Limits::default()
    };
    let model = WarpModel {
        may_diverge: true,
        ..WarpModel::default()
    };
    if let Ok(again) = Analysed::run(
        analysed.claims.code,
        analysed.claims.launch,
        &model,
        &limits,
    ) {
        *analysed = again;
    }
}

#[test]
fn call_strings_off_and_pops_not_tied_to_pushes() {
    let merge = |analysed: &mut Analysed<'_>| {
        without_call_strings(analysed);
        analysed
            .claims
            .flow
            .counts
            .rows
            .retain(|row| row.family != RowFamily::Pops);
    };
    let caught = audit(&Plant {
        results: Some(&merge),
        ..Plant::default()
    });
    assert!(caught.unbounded > 0, "{caught:?}");
}

#[test]
fn returns_from_a_shared_context_claimed_to_be_of_one_call() {
    let merge = |analysed: &mut Analysed<'_>| {
        without_call_strings(analysed);
        analysed.claims.flow.counts = counts(analysed, false, &BTreeSet::new());
    };
    let caught = audit(&Plant {
        results: Some(&merge),
        ..Plant::default()
    });
    assert!(caught.bounds + caught.unbounded > 0, "{caught:?}");
}

/// Plants a fault in the code that is analysed: applies `change` to every operation.
fn reading(change: impl Fn(&mut warpbound_ir::Op)) -> Caught {
    let all = |code: &mut Code| code.ops.iter_mut().for_each(&change);
    audit(&Plant {
        code: Some(&all),
        ..Plant::default()
    })
}

#[test]
fn private_memory_claimed_to_agree() {
    let caught = reading(|op| {
        if op.value == ValueDependence::Load(MemorySpace::Local) {
            op.value = ValueDependence::Load(MemorySpace::Shared);
        }
    });
    assert!(caught.agreements > 0, "{caught:?}");
}

#[test]
fn shuffles_and_atomics_claimed_to_agree() {
    let caught = reading(|op| {
        if op.value == ValueDependence::Lane {
            op.value = ValueDependence::Function;
        }
    });
    assert!(caught.agreements > 0, "{caught:?}");
}

#[test]
fn guarded_writes_claimed_to_replace_the_old_value() {
    let caught = reading(|op| {
        if op.control == ControlEffect::Next {
            op.condition = ExecCondition::ALWAYS;
        }
    });
    assert!(caught.agreements > 0, "{caught:?}");
}

#[test]
fn operand_left_out_of_the_reads() {
    let caught = reading(|op| op.reads.clear());
    assert!(caught.agreements > 0, "{caught:?}");
}

#[test]
fn thread_index_claimed_to_agree() {
    let claimed = LaunchContext {
        warp_width: 8,
        block: Some([8, 2, 1]),
        ..LaunchContext::default()
    };
    let real = LaunchContext {
        warp_width: 8,
        block: Some([3, 3, 1]),
        ..LaunchContext::default()
    };
    let caught = audit(&Plant {
        launch: Some(claimed),
        runs_with: Some(real),
        ..Plant::default()
    });
    assert!(caught.agreements > 0, "{caught:?}");
}

#[test]
fn divergent_branches_claimed_to_be_uniform() {
    let model = WarpModel {
        may_diverge: false,
        ..WarpModel::default()
    };
    let caught = audit(&Plant {
        model: Some(model),
        ..Plant::default()
    });
    assert!(caught.edges + caught.others > 0, "{caught:?}");
}

#[test]
fn one_order_of_divergence_assumed_and_another_run() {
    let caught = audit(&Plant {
        order: DivergenceOrder::TakenFirst,
        ..Plant::default()
    });
    assert!(caught.edges + caught.others > 0, "{caught:?}");
}

#[test]
fn jump_table_that_is_too_short() {
    let cut = |code: &mut Code| {
        for (_, bytes) in &mut code.constants {
            // All words are replaced by the first one.
            if let Some(first) = bytes.first_chunk::<4>().copied() {
                bytes
                    .chunks_exact_mut(4)
                    .for_each(|word| word.copy_from_slice(&first));
            }
        }
    };
    let caught = audit(&Plant {
        code: Some(&cut),
        ..Plant::default()
    });
    assert!(caught.edges + caught.others > 0, "{caught:?}");
}

#[test]
fn brk_assumed_to_stop_at_the_nearest_ssy() {
    let caught = reading(|op| {
        if op.control == ControlEffect::Pop(StackToken::Brk) {
            op.control = ControlEffect::Pop(StackToken::Sync);
        }
    });
    assert!(caught.edges + caught.others > 0, "{caught:?}");
}
