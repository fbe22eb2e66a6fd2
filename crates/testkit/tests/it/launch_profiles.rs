//! Launch profiles: no run exceeds them, and exact ones are what each warp issues. Random programs, the repository's
//! kernels, and planted faults.

use std::path::Path;

use warpbound_base::Diagnostic;
use warpbound_driver::{Contents, ProfileOptions, Session};
use warpbound_ir::{ControlEffect, Expr, Meaning, Op, VoteMode};
use warpbound_isa::SpecialReg;
use warpbound_launch::{LaunchFile, ParamValue, PathOrder};
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

/// A launch of the repository: its name, the launch and the cubin.
type CommittedLaunch = (String, LaunchFile, Vec<u8>);

/// Launches of the repository whose name ends so.
fn committed_launches(end: &str) -> Vec<CommittedLaunch> {
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
        let contents = builds.into_iter().find_map(read).expect("a cubin");
        (name, launch, contents)
    };
    names.into_iter().map(read).collect()
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
            let (profile, _) = session
                .launch_profile(&prepared, &file, &options)
                .expect("the launch suits the kernel");
            let bound = profile.bound();
            assert!(
                bound.is_some_and(|bound| bound.exact),
                "{launch}: {profile:?}"
            );
        }
    }
}
