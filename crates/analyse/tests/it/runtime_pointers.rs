//! Pointers that a wave begins with, in S0 and S1: one program for each rule.

use warpbound_analyse::ThreadCfg;
use warpbound_analyse::runtime_pointers::may_reach_accesses;
use warpbound_analyse::thread_cfg::Limits;
use warpbound_base::Family;
use warpbound_ir::{Cell, text};

/// Whether an access of a program, whose operations have addresses from 0 in steps of 4, may read the pointer.
fn reaches(lines: &[&str]) -> bool {
    reaches_with("", lines)
}

fn reaches_with(statements: &str, lines: &[&str]) -> bool {
    let numbered = lines.iter().enumerate();
    let body = numbered.map(|(at, line)| format!("{:#06x}: {line}\n", at * 4));
    let source = format!("{statements}{}", body.collect::<String>());
    let mut code = text::parse("program.ir", &source).expect("a program");
    code.family = Family::Gcn3;
    let thread = ThreadCfg::build(&code, &Limits::default()).expect("a graph");
    may_reach_accesses(&code, &thread, &[0, 1].map(Cell::scalar))
}

const ARGUMENT: &str = "warp S4, S5 = load global [S1:S0]";
const SUM: &str = "R2 = add(S4, shl(R0, 2)), R3 = S5";
const LOAD: &str = "R4 = load global [R3:R2]";
const STORE: &str = "store global[R3:R2] = R4";

#[test]
fn arguments_are_no_such_pointers() {
    assert!(!reaches(&[ARGUMENT, SUM, LOAD, STORE, "exit"]));
}

#[test]
fn sums_and_moves_of_pointers_are_pointers() {
    let of_pointer = "R2 = add(S0, shl(R0, 2)), R3 = S1";
    assert!(reaches(&[of_pointer, LOAD, "exit"]));
    assert!(reaches(&[of_pointer, STORE, "exit"]));
    let moved = "warp S4 = add(S0, 4), S5 = S1";
    assert!(reaches(&[moved, SUM, LOAD, "exit"]));
    assert!(reaches(&[
        moved,
        SUM,
        "R5 = atomic.add.u32 global[R3:R2] = R4",
        "exit"
    ]));
}

/// A pointer in memory may come back from any load.
#[test]
fn stored_pointers_count() {
    assert!(reaches(&[ARGUMENT, SUM, "R4 = S0", STORE, "exit"]));
}

/// A register of the wave that is written holds a pointer no more; one of lanes does where lanes are not active.
#[test]
fn registers_of_the_wave_are_replaced() {
    let replaced = "warp S0, S1 = load global [S1:S0]";
    let sum = "R2 = add(S0, R0), R3 = S1";
    assert!(!reaches(&[replaced, sum, LOAD, "exit"]));
    let of_lanes = "R2 = S0, R3 = S1";
    assert!(reaches(&[
        of_lanes,
        replaced,
        "R2 = S4, R3 = S5",
        LOAD,
        "exit"
    ]));
}

/// The pointer is replaced on one of two paths only.
#[test]
fn paths_join() {
    let lines = [
        "warp S128 = 0",
        "if S128 jump 0x000c",
        "warp S0 = 0, S1 = 0",
        "R2 = add(S0, R0), R3 = S1",
        LOAD,
        "exit",
    ];
    assert!(reaches(&lines));
    let conditional = [
        "warp S128 = 0",
        "if S128 warp S0 = 0, S1 = 0",
        lines[3],
        LOAD,
        "exit",
    ];
    assert!(reaches(&conditional));
}

/// The pointer comes from the iteration before.
#[test]
fn loops_are_followed() {
    let lines = [
        "warp S6 = 0, S4 = 0, S5 = 0",
        SUM,
        LOAD,
        "warp S4 = S0, S5 = S1",
        "warp S6 = add(S6, 1), S128 = lt_u(S6, 9)",
        "if S128 jump 0x0004",
        "exit",
    ];
    assert!(reaches(&lines));
}

#[test]
fn addresses_of_code_count() {
    let address = "warp S4 = c[32][0x0], S5 = c[32][0x4]";
    let words = "address_word low \"\" + 0x20\naddress_word high \"\" + 0x20\n";
    assert!(reaches_with(words, &[address, SUM, LOAD, "exit"]));
    // A scalar load of what lies there is none of a lane.
    let table = "warp S8 = load global [S5:S4]";
    assert!(!reaches_with(
        words,
        &[address, table, ARGUMENT, SUM, LOAD, "exit"]
    ));
}

#[test]
fn unknown_operations_may_have_one() {
    assert!(reaches(&["warp S4, S5 = ?uniform()", SUM, LOAD, "exit"]));
}
