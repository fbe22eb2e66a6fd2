//! Determinacy: branches have the same outcomes in runs that differ only in what they do not follow from.

use std::collections::{BTreeMap, BTreeSet};

use warpbound_analyse::determinacy::{Determinacy, DeterminacyFault, Origins};
use warpbound_analyse::thread_cfg::Limits;
use warpbound_analyse::{Dependence, ThreadCfg};
use warpbound_ir::OpIndex;
use warpbound_launch::PathOrder;
use warpbound_testkit::determinacy::{
    BranchOutcomes, branch_outcomes, set_data, set_params, with_params,
};
use warpbound_testkit::launch_profiles::ProgramLaunch;
use warpbound_testkit::launch_profiles::programs::ProfiledProgram;

/// Contradictions between runs and the determinacy of a program, and the claims that were tested.
#[derive(Default, Debug)]
struct Outcome {
    claims: BTreeMap<&'static str, u64>,
    wrong: Vec<String>,
}

impl Outcome {
    /// Records whether two threads had the same outcomes at each of some branches.
    fn compare(
        &mut self,
        origin: &'static str,
        branches: &BTreeSet<OpIndex>,
        runs: [&BranchOutcomes; 2],
        same_thread: impl Fn((u32, u32)) -> (u32, u32),
    ) {
        for ((at, thread), outcomes) in runs[0] {
            if !branches.contains(at) {
                continue;
            }
            let other = runs[1].get(&(*at, same_thread(*thread)));
            *self.claims.entry(origin).or_default() += 1;
            if other != Some(outcomes) {
                self.wrong.push(format!(
                    "{origin}: operation {}, thread {thread:?}: {outcomes:?} and {other:?}",
                    at.0
                ));
            }
        }
    }
}

/// Branches whose condition, and whose executions, do not follow from any of these origins.
fn branches_without(
    program: &ProfiledProgram,
    thread: &ThreadCfg,
    found: &Determinacy,
    excluded: &[Origins],
) -> BTreeSet<OpIndex> {
    let lacks = |origins: Origins| excluded.iter().all(|&origin| !origins.has(origin));
    let mut branches = BTreeSet::new();
    for node in thread.space.ids().filter(|&node| thread.is_reached(node)) {
        let block = thread.space.block(node);
        let Some(determined) = found.branches.get(&block.last) else {
            continue;
        };
        let op = program.code.get(block.last).expect("an operation");
        let executions = found.blocks.get(&block.first).copied().unwrap_or_default();
        if !op.condition.is_always() && lacks(determined.origins) && lacks(executions) {
            branches.insert(block.last);
        }
    }
    branches
}

/// Compares runs of a program with its determinacy, as found with a fault.
fn check(program: &ProfiledProgram, seed: u64, fault: DeterminacyFault, outcome: &mut Outcome) {
    let program = with_params(program);
    let Ok(thread) = ThreadCfg::build(&program.code, &Limits::default()) else {
        return;
    };
    let dependence = Dependence::compute(&thread);
    // The random programs branch without a push, so lanes may stay apart.
    let found = Determinacy::analyse_with_fault(&program.code, &thread, &dependence, false, fault);
    let without = |excluded: &[Origins]| branches_without(&program, &thread, &found, excluded);
    let mut launch = ProgramLaunch::random(seed, PathOrder::TakenFirst);
    set_params(&mut launch, [3, 5]);
    let run = branch_outcomes(&program, &launch);
    let same = |thread| thread;

    let mut other = launch.clone();
    set_data(&mut other, seed + 1);
    let with_data = branch_outcomes(&program, &other);
    let free = without(&[Origins::DATA, Origins::OTHER]);
    outcome.compare("data", &free, [&run, &with_data], same);

    let mut other = launch.clone();
    set_params(&mut other, [seed as u32 % 7, 1]);
    let with_param = branch_outcomes(&program, &other);
    let free = without(&[Origins::PARAM, Origins::DATA, Origins::OTHER]);
    outcome.compare("param", &free, [&run, &with_param], same);

    let launched = [Origins::DATA, Origins::OTHER];
    let mut free = without(&[Origins::THREAD, launched[0], launched[1]]);
    outcome.compare("thread", &free, [&run, &run], |(block, _)| (block, 0));
    let of_block = without(&[Origins::BLOCK, launched[0], launched[1]]);
    outcome.compare("block", &of_block, [&run, &run], |(_, thread)| (0, thread));

    let mut other = launch.clone();
    other.launch.order = PathOrder::FallThroughFirst;
    free = without(&launched);
    let reversed = branch_outcomes(&program, &other);
    outcome.compare("order", &free, [&run, &reversed], same);
}

fn check_programs(seeds: std::ops::Range<u64>, fault: DeterminacyFault) -> Outcome {
    let mut outcome = Outcome::default();
    for seed in seeds {
        let before = outcome.wrong.len();
        check(&ProfiledProgram::random(seed), seed, fault, &mut outcome);
        for wrong in outcome.wrong.iter_mut().skip(before) {
            *wrong = format!("seed {seed}: {wrong}");
        }
    }
    outcome
}

#[test]
fn branches_follow_only_from_their_origins() {
    let outcome = check_programs(0..300, DeterminacyFault::None);
    assert!(outcome.wrong.is_empty(), "{:?}", outcome.wrong.first());
    for origin in ["data", "param", "thread", "block", "order"] {
        let claims = outcome.claims.get(origin).copied().unwrap_or(0);
        assert!(claims > 1000, "{origin}: {claims} claims");
    }
}

#[test]
fn planted_dropped_implicit_flows_are_found() {
    // In random programs, few values hang on data by control alone.
    let program = ProfiledProgram::implicit_flow();
    for (fault, is_wrong) in [
        (DeterminacyFault::None, false),
        (DeterminacyFault::NoImplicitFlow, true),
    ] {
        let mut outcome = Outcome::default();
        (0..8).for_each(|seed| check(&program, seed, fault, &mut outcome));
        assert_eq!(!outcome.wrong.is_empty(), is_wrong, "{outcome:?}");
    }
}

#[test]
fn planted_thread_registers_taken_for_those_of_the_block_are_found() {
    let outcome = check_programs(0..100, DeterminacyFault::ThreadAsBlock);
    assert!(!outcome.wrong.is_empty(), "{:?}", outcome.claims);
}

#[test]
fn planted_exchanges_without_active_lanes_are_found() {
    // In random programs, few votes of lanes that a word set apart decide a branch.
    let program = ProfiledProgram::vote_of_some_lanes();
    for (fault, is_wrong) in [
        (DeterminacyFault::None, false),
        (DeterminacyFault::NoActiveLanes, true),
    ] {
        let mut outcome = Outcome::default();
        (0..8).for_each(|seed| check(&program, seed, fault, &mut outcome));
        assert_eq!(!outcome.wrong.is_empty(), is_wrong, "{outcome:?}");
    }
}
