//! Launch profiles: no run exceeds them, and exact ones are what each warp issues. Random programs, the repository's
//! kernels, and planted faults.

use std::path::Path;

use warpbound_analyse::launch_profile::ValueOrigin;
use warpbound_analyse::launch_profile::{NoProfileReason, WarpIssues};
use warpbound_audit::audit::{HeaderMaximum, ProfiledWarps, WarpId, WorstWarp};
use warpbound_audit::{claims, monitor, monitor_with_profile};
use warpbound_base::Diagnostic;
use warpbound_bounds::{ProfileOptions, launch_profile, stated_loops};
use warpbound_ir::float::{FloatOp, Flush, Format, Rounding};
use warpbound_ir::{ControlEffect, Expr, Meaning, Op, VoteMode, WordHalf};
use warpbound_isa::SpecialReg;
use warpbound_launch::{LaunchFile, ParamValue, PathOrder};
use warpbound_query::{BoundOptions, Contents, Session};
use warpbound_testkit::launch_profiles::programs::ProfiledProgram;
use warpbound_testkit::launch_profiles::{ComparedWarp, ProgramLaunch, compare, issued_by_warp};

const ORDERS: [PathOrder; 2] = [PathOrder::TakenFirst, PathOrder::FallThroughFirst];

const MOST_INSTRUCTIONS: u64 = 2_000_000;

/// Buffer that random programs only read, and the one that they write.
const READ: Option<usize> = Some(1);
const WRITTEN: Option<usize> = Some(0);

/// Outcome of random programs: warps by kind of profile.
#[derive(Default, Debug)]
struct Outcome {
    exact: u32,
    bounded: u32,
    undecided: u32,
    wrong: Vec<ComparedWarp>,
}

/// Compares the profiles of random programs, as `seen` shows them to the profiler, with runs.
fn random_programs(
    seeds: std::ops::Range<u64>,
    readable: Option<usize>,
    seen: impl Fn(&ProfiledProgram) -> ProfiledProgram,
) -> Outcome {
    let mut outcome = Outcome::default();
    for seed in seeds {
        let program = ProfiledProgram::random(seed);
        let seen = seen(&program);
        for order in ORDERS {
            let launch = ProgramLaunch::random(seed, order);
            let issued = launch.issued(&program.code);
            for one in launch.compare(&seen, &issued, readable) {
                match one.profile {
                    Ok(profile) if profile.exact => outcome.exact += 1,
                    Ok(_) => outcome.bounded += 1,
                    Err(_) => outcome.undecided += 1,
                }
                if one.is_wrong() {
                    outcome.wrong.push(one);
                }
            }
        }
    }
    outcome
}

#[test]
fn profiles_of_random_programs_hold() {
    for readable in [None, READ] {
        let outcome = random_programs(0..400, readable, ProfiledProgram::clone);
        assert!(outcome.wrong.is_empty(), "{:?}", outcome.wrong.first());
        let Outcome {
            exact,
            bounded,
            undecided,
            ..
        } = outcome;
        // Each kind occurs often enough to be tested.
        assert!(
            exact > 200 && bounded > 200,
            "{exact} {bounded} {undecided}"
        );
        assert!(
            undecided * 3 < exact + bounded,
            "{exact} {bounded} {undecided}"
        );
    }
}

/// Number of claims of executions of random programs that hold, with and without parts between barriers; or the first that
/// does not.
fn compare_executions(
    seeds: std::ops::Range<u64>,
    readable: Option<usize>,
    seen: impl Fn(&ProfiledProgram) -> ProfiledProgram,
) -> Result<[u32; 2], String> {
    let mut compared = [0; 2];
    for seed in seeds {
        let program = match seed % 3 {
            0 => ProfiledProgram::random_with_barriers(seed),
            _ => ProfiledProgram::random(seed),
        };
        let seen = seen(&program);
        for order in ORDERS {
            let launch = ProgramLaunch::random(seed, order);
            let Some(claimed) = launch.claimed_executions(&seen, readable) else {
                continue;
            };
            let run = launch.executions(&program.code);
            if let Some(text) = run.contradiction(&claimed) {
                return Err(format!("seed {seed}: {text}"));
            }
            compared[usize::from(claimed.of_chain.is_some())] += 1;
        }
    }
    Ok(compared)
}

#[test]
fn executions_of_random_programs_hold() {
    for readable in [None, READ] {
        let compared = compare_executions(0..400, readable, ProfiledProgram::clone);
        let [without, with] = compared.unwrap_or_else(|why| panic!("{why}"));
        // Words of that buffer decide how many barriers a warp passes.
        let are_unknown = readable.is_none();
        assert!(
            with > 200 && (without > 5) == are_unknown,
            "{without} {with}"
        );
    }
}

/// Quotients are known whatever the last bit of a reciprocal is, if they are corrected; else nothing is known of them. In
/// the runs each lane has another result of a reciprocal.
#[test]
fn quotients_of_approximate_reciprocals_are_exact_or_unknown() {
    let (mut exact, mut other) = (0, 0);
    for seed in 0..300 {
        let program = ProfiledProgram::random_with_divisions(seed);
        let launch = ProgramLaunch::random(seed, PathOrder::TakenFirst);
        for run in [&program, &program.with_other_reciprocals()] {
            for one in launch.compare(&program, &launch.issued(&run.code), None) {
                match one.profile {
                    Ok(profile) if profile.exact => exact += 1,
                    _ => other += 1,
                }
                assert!(!one.is_wrong(), "seed {seed}: {one:?}");
            }
        }
    }
    assert!(exact > 200 && other > 100, "{exact} {other}");
}

#[test]
fn planted_blocks_whose_executions_are_taken_for_equal_are_found() {
    let seen = |program: &ProfiledProgram| {
        program.changed(|op| {
            if let Some(Meaning::Set(sets)) = &mut op.meaning {
                for (_, value) in sets {
                    if matches!(value, Expr::Special(SpecialReg::BlockIndex(_))) {
                        *value = Expr::Const(0);
                    }
                }
            }
        })
    };
    assert!(compare_executions(0..200, None, seen).is_err());
}

#[test]
fn planted_barriers_that_end_no_part_are_found() {
    let seen = |program: &ProfiledProgram| program.changed(|op| op.barrier = false);
    assert!(compare_executions(0..200, None, seen).is_err());
}

/// Whether random programs show that a profiler which sees them changed is wrong.
fn is_found(seeds: std::ops::Range<u64>, change: impl Fn(&mut Op)) -> bool {
    let outcome = random_programs(seeds, None, |program| program.changed(&change));
    !outcome.wrong.is_empty()
}

#[test]
fn planted_loaded_words_taken_for_known_are_found() {
    assert!(is_found(0..60, |op| {
        if let Some(Meaning::Load { dests, .. }) = &op.meaning {
            let sets = dests.iter().flatten().map(|&cell| (cell, Expr::Const(3)));
            op.meaning = Some(Meaning::Set(sets.collect()));
        }
    }));
}

#[test]
fn planted_exits_that_are_not_taken_are_found() {
    assert!(is_found(0..60, |op| {
        if op.control == ControlEffect::Exit && !op.condition.is_always() {
            op.control = ControlEffect::Next;
        }
    }));
}

#[test]
fn planted_blocks_taken_for_equal_are_found() {
    assert!(is_found(0..200, |op| {
        if let Some(Meaning::Set(sets)) = &mut op.meaning {
            for (_, value) in sets {
                if matches!(value, Expr::Special(SpecialReg::BlockIndex(_))) {
                    *value = Expr::Const(0);
                }
            }
        }
    }));
}

#[test]
fn planted_shuffles_of_own_values_are_found() {
    assert!(is_found(0..200, |op| {
        if let Some(Meaning::Shuffle { dest, value, .. }) = &op.meaning {
            let sets = dest.iter().map(|&cell| (cell, value.clone()));
            op.meaning = Some(Meaning::Set(sets.collect()));
        }
    }));
}

#[test]
fn planted_votes_of_another_kind_are_found() {
    assert!(is_found(0..200, |op| {
        if let Some(Meaning::Vote { mode, .. }) = &mut op.meaning {
            *mode = match mode {
                VoteMode::All => VoteMode::Any,
                VoteMode::Any | VoteMode::Same => VoteMode::All,
            };
        }
    }));
}

#[test]
fn planted_loop_bounds_less_one_are_found() {
    let outcome = random_programs(0..400, None, |program| {
        let mut seen = program.clone();
        for stated in &mut seen.loops {
            stated.bound -= 1;
        }
        seen
    });
    assert!(!outcome.wrong.is_empty(), "{outcome:?}");
}

#[test]
fn planted_contents_of_a_written_buffer_are_found() {
    let outcome = random_programs(0..300, WRITTEN, ProfiledProgram::clone);
    assert!(!outcome.wrong.is_empty(), "{outcome:?}");
}

/// A value of a lane on the other side of a branch depends on the order of the sides, so it is unknown.
#[test]
fn what_the_other_side_holds_is_unknown() {
    let program = ProfiledProgram::shuffle_across_sides();
    let mut counts = Vec::new();
    for order in ORDERS {
        let mut launch = ProgramLaunch::random(0, order);
        (launch.launch.block, launch.launch.grid) = ([32, 1, 1], [1; 3]);
        let issued = launch.issued(&program.code);
        for one in launch.compare(&program, &issued, None) {
            assert!(!one.is_wrong(), "{one:?}");
            assert!(one.profile.is_ok_and(|profile| !profile.exact), "{one:?}");
            counts.push(one.issued);
        }
    }
    assert_ne!(counts[0], counts[1], "the order decides what is issued");
}

/// A launch of one block of this many threads.
fn one_block(order: PathOrder, threads: u32) -> ProgramLaunch {
    let mut launch = ProgramLaunch::random(0, order);
    (launch.launch.block, launch.launch.grid) = ([threads, 1, 1], [1; 3]);
    launch
}

/// Asserts that a profile holds for a warp whose sides execute a long end each.
#[track_caller]
fn assert_each_side_counts(program: &ProfiledProgram) {
    for order in ORDERS {
        let launch = one_block(order, 32);
        let issued = launch.issued(&program.code);
        for one in launch.compare(program, &issued, None) {
            assert!(one.issued > 200, "both sides have an end: {one:?}");
            assert!(one.profile.is_ok() && !one.is_wrong(), "{one:?}");
        }
    }
}

#[test]
fn entries_of_sides_that_push_at_the_same_operation_stay_apart() {
    assert_each_side_counts(&ProfiledProgram::sides_that_push_the_same());
}

#[test]
fn sides_that_never_meet_stay_apart() {
    assert_each_side_counts(&ProfiledProgram::sides_that_never_meet());
}

/// The profile of a program that branches on a word of a floating-point operation.
fn is_known(op: FloatOp, words: &[u32]) -> bool {
    let words = words.iter().map(|&word| Expr::Const(word)).collect();
    let program = ProfiledProgram::branch_on(Expr::Float(op, words, WordHalf::Low));
    let profile = one_block(PathOrder::TakenFirst, 32).profile(&program, None);
    profile.bound().expect("a profile").exact
}

#[test]
fn flushed_results_of_roundings_near_the_subnormal_numbers_are_unknown() {
    const ONE: u32 = 0x3f80_0000;
    const LESS_THAN_ONE: u32 = 0x3f7f_ffff;
    const SMALLEST_NORMAL: u32 = 0x0080_0000;
    let fma = |flush| FloatOp::FmaSingle(Rounding::Nearest, flush);
    // Below the smallest normal number before it is rounded, and not after.
    let rounded = [LESS_THAN_ONE, SMALLEST_NORMAL, 0];
    assert!(!is_known(fma(Flush::Ftz), &rounded));
    assert!(is_known(fma(Flush::Keep), &rounded));
    // A product with zero is exact.
    assert!(is_known(fma(Flush::Ftz), &[0, ONE, SMALLEST_NORMAL]));
    let narrow = |flush| FloatOp::ToFormat {
        from: Format::Double,
        to: Format::Single,
        rounding: Rounding::Nearest,
        flush,
        saturate: false,
    };
    let below = [0xf800_0000, 0x380f_ffff];
    assert!(!is_known(narrow(Flush::Ftz), &below));
    assert!(is_known(narrow(Flush::Keep), &below));
}

#[test]
fn endless_recursion_ends_at_the_limit_of_the_stack() {
    let launch = one_block(PathOrder::TakenFirst, 32);
    let profile = launch.profile(&ProfiledProgram::endless_recursion(), None);
    let (_, why) = profile.undecided.expect("no profile");
    assert_eq!(why.reason, NoProfileReason::StackHeight);
}

/// Stated loops that no lane enters change nothing, also more of them than are counted.
#[test]
fn loops_that_no_lane_enters_change_nothing() {
    let issues = |loops| {
        let program = ProfiledProgram::round_beside_loops(100, loops);
        let launch = one_block(PathOrder::TakenFirst, 32);
        launch.profile(&program, None).bound()
    };
    assert!(issues(0).is_some());
    assert_eq!(issues(0), issues(64));
    assert_eq!(issues(0), issues(70));
}

/// Fails if a warp whose condition fails in all lanes is taken for equal to a warp whose condition holds.
#[test]
fn what_a_condition_leaves_out_follows_from_it() {
    let program = ProfiledProgram::rounds_set_in_one_block(100);
    let mut launch = one_block(PathOrder::TakenFirst, 32);
    launch.launch.grid = [3, 1, 1];
    let issued = launch.issued(&program.code);
    for one in launch.compare(&program, &issued, None) {
        assert!(one.profile.is_ok_and(|profile| profile.exact), "{one:?}");
        assert!(!one.is_wrong(), "{one:?}");
    }
    let most = launch
        .profile(&program, None)
        .bound()
        .map(|most| most.issues);
    assert_eq!(most, issued.values().copied().max());
}

/// A literal address is in a buffer only because of where this program puts buffers.
#[test]
fn contents_at_a_literal_address_rest_on_the_addresses_of_buffers() {
    let launch = one_block(PathOrder::TakenFirst, 32);
    let address = launch.memory.buffers()[1].address;
    let profile = launch.profile(&ProfiledProgram::branch_on_word_at(address), READ);
    assert!(profile.bound().is_some_and(|bound| bound.exact));
    assert!(profile.decided.has(ValueOrigin::CONTENTS));
    assert!(profile.decided.has(ValueOrigin::ADDRESS));
}

/// An audit finds profiles that rest on loop bounds of 1, and none that rest on those which threads show.
#[test]
fn planted_loop_bounds_of_one_contradict_an_audited_warp() {
    let mut found = 0;
    for (name, launch, cubin) in committed_launches(".1.toml") {
        if !name.starts_with("bfs.") {
            continue;
        }
        let session = Session::open(&name, &cubin).expect("it loads");
        let kernel = session.launched_kernel(None, launch.kernel.as_deref());
        let kernel = kernel.expect("it has it");
        let prepared = session.prepare(kernel).expect("it decodes");
        let options = BoundOptions {
            block: Some(launch.block),
            ..BoundOptions::default()
        };
        let claims = claims(&session, &prepared, &options).expect("claims");
        let seen = monitor(
            &session,
            &prepared,
            &claims,
            &launch,
            PathOrder::TakenFirst,
            MOST_INSTRUCTIONS,
        );
        let seen = seen.expect("a run").observations;
        for planted in [false, true] {
            let bound = |most: &Option<HeaderMaximum>| match planted {
                false => Some(most.map_or(0, |most| most.count)),
                true => Some(1),
            };
            let bounds: Vec<Option<u64>> = seen.max_per_entry.iter().map(bound).collect();
            let options = ProfileOptions {
                loops: stated_loops(&claims.flow, &bounds),
                transfers: claims.flow.known_transfers(&prepared.code),
                ..ProfileOptions::default()
            };
            let run = monitor_with_profile(
                &session,
                &prepared,
                &claims,
                &launch,
                PathOrder::TakenFirst,
                MOST_INSTRUCTIONS,
                &options,
            );
            let (_, warps) = run.expect("a run");
            if planted {
                found += u32::from(warps.wrong.is_some());
            } else {
                assert_eq!(warps.wrong, None, "{name}");
                assert_eq!(warps.compared, seen.ended_warps, "{name}");
            }
        }
    }
    assert!(found > 0);
}

#[test]
fn an_exact_profile_that_is_too_large_contradicts_an_audited_warp() {
    let ended = WorstWarp {
        issued: 20,
        warp: WarpId {
            block: [0; 3],
            warp: 0,
        },
    };
    let contradicts = |issues, exact| {
        let mut warps = ProfiledWarps::default();
        warps.add(ended, WarpIssues { issues, exact });
        warps.wrong.is_some()
    };
    assert!(contradicts(21, true) && contradicts(19, true) && contradicts(19, false));
    assert!(!contradicts(20, true) && !contradicts(21, false));
}

/// A launch of the repository: its name, the launch and the cubin.
pub(crate) type CommittedLaunch = (String, LaunchFile, Vec<u8>);

/// Launches of the repository whose name ends so.
pub(crate) fn committed_launches(end: &str) -> Vec<CommittedLaunch> {
    let kernels = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels");
    let folder = kernels.join("launches");
    let mut names: Vec<String> = std::fs::read_dir(&folder)
        .expect("kernels/launches")
        .map(|entry| entry.expect("an entry").file_name())
        .filter_map(|name| name.into_string().ok())
        .filter(|name| name.ends_with(end))
        .collect();
    names.sort();
    let read = |name: String| {
        let files = |file: &str| {
            std::fs::read(folder.join(file)).map_err(|error| Diagnostic::new(error.to_string()))
        };
        let text = std::fs::read_to_string(folder.join(&name)).expect("a text");
        let launch = LaunchFile::parse(&name, &text, &files).expect("a launch");
        let source = name.split('.').next().unwrap_or_default();
        let builds = ["sm_61", "nvrtc11.sm_61"].map(|build| format!("{source}.{build}.cubin"));
        let read = |cubin: String| std::fs::read(kernels.join("built").join(cubin)).ok();
        // Launches of kernels for GCN3 have no cubin.
        let contents = builds.into_iter().find_map(read)?;
        Some((name, launch, contents))
    };
    names.into_iter().filter_map(read).collect()
}

/// Compares the profiles of a launch with runs of `runs`, which are launches like it.
fn contradictions(
    (name, launch, cubin): &CommittedLaunch,
    runs: &[LaunchFile],
    contents: Contents,
) -> Vec<String> {
    let session = Session::open(name, cubin).expect("it loads");
    let kernel = session.launched_kernel(None, launch.kernel.as_deref());
    let prepared = session
        .prepare(kernel.expect("it has it"))
        .expect("it decodes");
    let options = ProfileOptions {
        contents,
        steps: 1_000_000,
        ..ProfileOptions::default()
    };
    let mut wrong = Vec::new();
    for (run, order) in runs.iter().zip(ORDERS.into_iter().cycle()) {
        // Other contents may make a kernel fault.
        let issued = issued_by_warp(cubin, &prepared, run, order, MOST_INSTRUCTIONS);
        let Ok(issued) = issued else { continue };
        let compared = compare(&session, &prepared, launch, &options, &issued);
        let compared = compared.expect("the launch suits the kernel");
        let found = compared.iter().filter(|one| one.is_wrong());
        wrong.extend(found.map(|one| format!("{name}: {one:?}")));
    }
    wrong
}

/// The launch with small numbers, and with random bits, in all buffers.
fn with_other_contents(launch: &LaunchFile, seed: u64) -> [LaunchFile; 2] {
    let mut rng = fastrand::Rng::with_seed(seed);
    [7, u8::MAX].map(|most| {
        let mut other = launch.clone();
        for param in &mut other.params {
            if let ParamValue::Buffer(buffer) = &mut param.value {
                let number = |(at, byte): (usize, &mut u8)| {
                    *byte = match most {
                        u8::MAX => rng.u8(..),
                        most if at % 4 == 0 => rng.u8(0..=most),
                        _ => 0,
                    };
                };
                buffer.bytes.iter_mut().enumerate().for_each(number);
            }
        }
        other
    })
}

#[test]
fn profiles_of_launches_hold_for_any_contents() {
    let mut wrong = Vec::new();
    for (seed, one) in (0..).zip(committed_launches(".1.toml")) {
        let [small, random] = with_other_contents(&one.1, seed);
        let runs = [one.1.clone(), one.1.clone(), small, random];
        wrong.extend(contradictions(&one, &runs, Contents::Any));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn profiles_of_launches_hold_for_their_contents() {
    let mut wrong = Vec::new();
    for one in committed_launches(".2.toml") {
        let runs = [one.1.clone(), one.1.clone()];
        wrong.extend(contradictions(&one, &runs, Contents::AsGiven));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Kernels without branches that memory decides: their profiles are exact.
#[test]
fn profiles_without_decisions_of_memory_are_exact() {
    for name in [
        "matmul_tiled",
        "transpose",
        "saxpy",
        "reduction",
        "convolution",
    ] {
        for (launch, file, cubin) in committed_launches(".0.toml") {
            if !launch.starts_with(&format!("{name}.")) {
                continue;
            }
            let session = Session::open(&launch, &cubin).expect("it loads");
            let kernel = session.launched_kernel(None, file.kernel.as_deref());
            let prepared = session
                .prepare(kernel.expect("it has it"))
                .expect("it decodes");
            let options = ProfileOptions::default();
            let (profile, _) = launch_profile(&session, &prepared, &file, &options)
                .expect("the launch suits the kernel");
            let bound = profile.bound();
            assert!(
                bound.is_some_and(|bound| bound.exact),
                "{launch}: {profile:?}"
            );
        }
    }
}
