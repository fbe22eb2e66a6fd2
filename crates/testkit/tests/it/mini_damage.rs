//! Arbitrary texts as mini-SIMT programs, launches and machines: each is accepted, or refused with a one-line message
//! and a location. Nothing panics.
#![allow(clippy::panic, reason = "helpers of tests")]

use std::fmt::Write as _;

use proptest::prelude::*;
use warpbound_bounds::cta::cta_within;
use warpbound_ir::lift;
use warpbound_isa::{self as isa, Program};
use warpbound_load::Image;
use warpbound_query::{BoundOptions, Session, mini};
use warpbound_runs::run_mini;

const PROGRAMS: [&str; 4] = [
    include_str!("../../../../kernels/msimt/triangle_sum.msimt"),
    include_str!("../../../../kernels/msimt/compaction.msimt"),
    include_str!("../../../../kernels/msimt/early_return.msimt"),
    include_str!("../../../../kernels/msimt/odd_even_sort.msimt"),
];
const LAUNCH: &str = include_str!("../../../../kernels/msimt/triangle_sum.4x1.toml");
/// Limit of the steps of profiles: damaged programs often loop for ever, and steps up to the usual limit would show
/// nothing more about them.
const PROFILE_STEPS: u64 = 200_000;
const MACHINE: &str = include_str!("../../../../machine/mini-simt/paper-2014.toml");

/// Words of programs, so that some random texts are valid programs.
const WORDS: &str = ".kernel .param const binop load store bz bnz jump sync barrier a b Tid l: m: l m = , 0 1 -1 7 \
                     0xffffffff + - * / % << >> <= min : . ; - 4294967296 0x \u{e9} \u{b} \u{a0}";

#[track_caller]
fn assert_line(diagnostic: &warpbound_base::Diagnostic) {
    let line = diagnostic.to_string();
    assert!(
        !line.is_empty() && !line.contains(char::is_control),
        "{line:?}"
    );
}

/// Loads, decodes and lifts a text; returns whether it is a valid program.
fn lifts(bytes: &[u8]) -> bool {
    let each = || {
        let image = Image::parse(bytes)?;
        for kernel in image.kernels()? {
            let program = isa::mini::Program::decode(kernel.code(), kernel.first_line)?;
            for instr in &program.instrs {
                assert!(!program.text(instr).is_empty());
            }
            lift(kernel, &Program::Mini(program))?;
        }
        Ok(())
    };
    let done: Result<(), warpbound_base::Diagnostic> = each();
    done.inspect_err(assert_line).is_ok()
}

/// Applies all commands to a program: runs and bounds, with a small launch.
fn use_program(text: &str) {
    let Ok(session) = Session::open("program", text.as_bytes()) else {
        return;
    };
    let kernels = session.kernels(None).unwrap_or_default();
    let machine = mini::Machine::built_in(mini::Machine::DEFAULT).expect("the machine");
    let mut launch =
        mini::LaunchFile::parse("launch", "threads = 6\nmemory = 32\nmax_cycles = 2000\n")
            .expect("a launch");
    for name in ["a", "b", "c", "v", "n", "from", "to"] {
        launch.constants.insert(name.to_owned(), 3);
    }
    let options = BoundOptions {
        loop_default: Some(5),
        ..BoundOptions::default()
    };
    for kernel in kernels {
        // A launch has exactly the constants of its kernel.
        let mut launch = launch.clone();
        let declared = |name: &String| {
            let names = text
                .lines()
                .filter_map(|line| line.trim().strip_prefix(".param"));
            names
                .flat_map(|names| names.split(','))
                .any(|known| known.trim() == name)
        };
        launch.constants.retain(|name, _| declared(name));
        let ran = run_mini(&session, kernel, &launch, &machine, None, None);
        let _ = ran.inspect_err(assert_line).map(|report| report.text());
        let bounded = cta_within(&session, kernel, &launch, &machine, &options, PROFILE_STEPS);
        let _ = bounded
            .inspect_err(assert_line)
            .map(|report| (report.text(), report.dot(), report.svg()));
    }
}

/// Returns `text` with some bytes changed, or some lines removed, duplicated or moved.
fn damaged(
    text: &str,
    bytes: &[(prop::sample::Index, u8)],
    lines: &[(prop::sample::Index, u8)],
) -> Vec<u8> {
    let mut all: Vec<&str> = text.lines().collect();
    for (at, how) in lines {
        let at = at.index(all.len());
        let other = usize::from(*how) % all.len();
        match how % 3 {
            0 => drop(all.remove(at)),
            1 => all.insert(at, all[other]),
            _ => all.swap(at, other),
        }
    }
    let mut damaged = all.join("\n").into_bytes();
    for (at, byte) in bytes {
        let at = at.index(damaged.len());
        damaged[at] = *byte;
    }
    damaged
}

fn few<T: Strategy>(each: T) -> impl Strategy<Value = Vec<(prop::sample::Index, T::Value)>> {
    prop::collection::vec((any::<prop::sample::Index>(), each), 0..4)
}

/// Strategy of bytes, most of them as in texts.
fn byte() -> impl Strategy<Value = u8> {
    prop_oneof![
        prop::sample::select(b" \n;:,=.-0x9lTa+<\"[]{}\xff\0".to_vec()),
        any::<u8>()
    ]
}

/// The examples themselves are valid, so the damage is the cause of refusals.
#[test]
fn the_examples_are_programs() {
    for text in PROGRAMS {
        assert!(lifts(text.as_bytes()), "{text}");
        use_program(text);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_bytes(bytes in prop::collection::vec(any::<u8>(), 0..200), begins in any::<bool>()) {
        let mut text = if begins { b".kernel K\n".to_vec() } else { Vec::new() };
        text.extend(bytes);
        lifts(&text);
    }

    #[test]
    fn random_words(lines in prop::collection::vec(prop::collection::vec(any::<prop::sample::Index>(), 0..8), 1..12)) {
        let words: Vec<&str> = WORDS.split(' ').filter(|word| !word.is_empty()).collect();
        let mut text = ".kernel K\n".to_owned();
        for line in lines {
            for word in line {
                let _ = write!(text, "{} ", words[word.index(words.len())]);
            }
            text.push('\n');
        }
        lifts(text.as_bytes());
    }

    #[test]
    fn damaged_programs(
        example in 0..PROGRAMS.len(),
        bytes in few(byte()),
        lines in few(any::<u8>()),
    ) {
        let text = damaged(PROGRAMS[example], &bytes, &lines);
        if lifts(&text) && let Ok(text) = std::str::from_utf8(&text) {
            use_program(text);
        }
    }

    #[test]
    fn damaged_launches(bytes in few(byte()), lines in few(any::<u8>())) {
        let text = damaged(LAUNCH, &bytes, &lines);
        match mini::LaunchFile::parse("launch", &String::from_utf8_lossy(&text)) {
            Ok(launch) => prop_assert_eq!(launch.words().len(), launch.memory as usize),
            Err(diagnostic) => assert_line(&diagnostic),
        }
    }

    #[test]
    fn damaged_machines(bytes in few(byte()), lines in few(any::<u8>())) {
        let text = damaged(MACHINE, &bytes, &lines);
        match mini::Machine::parse("machine", &String::from_utf8_lossy(&text)) {
            Ok(machine) => prop_assert!((1..=64).contains(&machine.warp_width) && machine.warps >= 1),
            Err(diagnostic) => assert_line(&diagnostic),
        }
    }

    #[test]
    fn random_text_as_launch_and_machine(text in "(\\PC|\n){0,80}") {
        if let Err(diagnostic) = mini::LaunchFile::parse("launch", &text) {
            assert_line(&diagnostic);
        }
        let machine = mini::Machine::parse("machine", &text);
        assert_line(&machine.expect_err("no text of this length is a machine"));
    }
}
