//! Fingerprints of loops and accesses of small programs: equal for the same one in other surroundings, different for each
//! change that may change a count or an address.

use warpbound_analyse::ThreadCfg;
use warpbound_analyse::access::{AccessShape, MemoryUnits};
use warpbound_analyse::fingerprint::{
    FingerprintObstacle, LoopFingerprint, access_fingerprints, loop_fingerprints,
};
use warpbound_analyse::loops::Loops;
use warpbound_analyse::thread_cfg::Limits;
use warpbound_ir::text::parse;
use warpbound_ir::{Code, OpIndex};

/// A program that is given without addresses; `@N` is the address of line N, from 0.
#[track_caller]
fn program(lines: &str) -> Code {
    let address = |number: usize| format!("0x{:04x}", number * 8);
    let lines = lines.lines().map(str::trim).filter(|line| !line.is_empty());
    let program: String = lines
        .enumerate()
        .map(|(number, line)| {
            let line = match line.split_once('@') {
                Some((before, target)) => {
                    let target: usize = target.parse().expect("a line number");
                    format!("{before}{}", address(target))
                }
                None => line.to_owned(),
            };
            format!("{}: {line}\n", address(number))
        })
        .collect();
    parse("program", &program).expect("a program")
}

/// Fingerprints of the loops of a program.
#[track_caller]
fn fingerprints(lines: &str) -> Vec<LoopFingerprint> {
    let code = program(lines);
    let thread = ThreadCfg::build(&code, &Limits::default()).expect("a graph");
    let loops = Loops::of_thread(&code, &thread);
    loop_fingerprints(&code, &thread, &loops)
}

/// Texts of the code that decides the addresses of the accesses of a program, in order; the obstacle if it is not known.
#[track_caller]
fn addresses(lines: &str) -> Vec<Result<String, FingerprintObstacle>> {
    let code = program(lines);
    let thread = ThreadCfg::build(&code, &Limits::default()).expect("a graph");
    let units = MemoryUnits::NVIDIA;
    let all = (0..).map(OpIndex).zip(&code.ops);
    let accesses: Vec<OpIndex> = all
        .filter(|(_, op)| AccessShape::of(op, &units).is_some())
        .map(|(at, _)| at)
        .collect();
    let prints = access_fingerprints(&code, &thread, &units, &accesses);
    let text = |print: Option<warpbound_analyse::fingerprint::AccessFingerprint>| {
        let print = print.expect("an access");
        print.decides.map(|slice| slice.text)
    };
    prints.into_iter().map(text).collect()
}

/// Texts of the code that decides the counts.
#[track_caller]
fn decides(lines: &str) -> Vec<String> {
    let text = |print: LoopFingerprint| print.decides.expect("known").text;
    fingerprints(lines).into_iter().map(text).collect()
}

/// A loop up to a parameter.
const LOOP: &str = "
    R1 = 0
    R2 = c[0][0x140]
    R1 = add(R1, 1)
    P0 = lt_s(R1, R2)
    if P0 jump @2
    exit";

#[test]
fn registers_and_order_do_not_matter() {
    let other = "
        R9 = c[0][0x140]
        R7 = 0
        R4 = 5
        R7 = add(R7, 1)
        P3 = lt_s(R7, R9)
        if P3 jump @3
        exit";
    assert_eq!(decides(LOOP), decides(other));
}

#[test]
fn a_branch_elsewhere_does_not_matter() {
    let other = "
        R5 = special.thread_x
        P1 = lt_s(R5, 7)
        if P1 jump @4
        R6 = mul(R5, 3)
        R1 = 0
        R2 = c[0][0x140]
        R1 = add(R1, 1)
        R6 = add(R6, R5)
        P0 = lt_s(R1, R2)
        if P0 jump @6
        store global [R8:R5] = R6
        exit";
    assert_eq!(decides(LOOP), decides(other));
}

#[test]
fn a_limit_from_a_copy_or_another_computation_of_it_is_the_same() {
    let other = "
        R1 = 0
        R3 = c[0][0x140]
        R2 = R3
        R1 = add(R1, 1)
        R4 = c[0][0x140]
        P0 = lt_s(R1, R4)
        if P0 jump @3
        exit";
    assert_eq!(decides(LOOP), decides(other));
}

/// Planted fault: the fingerprint ignores constants, parameters or operations.
#[test]
fn another_limit_start_step_or_comparison_is_another_loop() {
    let base = decides(LOOP);
    for (old, new) in [
        ("c[0][0x140]", "c[0][0x144]"),
        ("c[0][0x140]", "12"),
        ("R1 = 0", "R1 = 1"),
        ("add(R1, 1)", "add(R1, 2)"),
        ("add(R1, 1)", "sub(R1, 1)"),
        ("lt_s", "le_s"),
        ("lt_s", "lt_u"),
        ("lt_s(R1, R2)", "lt_s(R2, R1)"),
        ("if P0 jump", "if !P0 jump"),
    ] {
        let other = LOOP.replace(old, new);
        assert_ne!(other, LOOP);
        assert_ne!(base, decides(&other), "{new}");
    }
}

/// Planted fault: the code outside of the loop that computes its limit is ignored.
#[test]
fn a_limit_computed_elsewhere_is_another_loop() {
    let computed = |shift: u32| {
        decides(&format!(
            "
            R5 = special.thread_x
            R2 = shl(R5, {shift})
            R1 = 0
            R1 = add(R1, 1)
            P0 = lt_s(R1, R2)
            if P0 jump @3
            exit"
        ))
    };
    assert_eq!(computed(1), computed(1));
    assert_ne!(computed(1), computed(2));
    // The limit depends on a branch elsewhere.
    let chosen = |limit: u32, when: &str| {
        decides(&format!(
            "
            R5 = special.thread_x
            P1 = lt_s(R5, 7)
            R2 = 10
            if {when} jump @5
            R2 = {limit}
            R1 = 0
            R1 = add(R1, 1)
            P0 = lt_s(R1, R2)
            if P0 jump @6
            exit"
        ))
    };
    assert_eq!(chosen(20, "P1"), chosen(20, "P1"));
    assert_ne!(chosen(20, "P1"), chosen(30, "P1"));
    assert_ne!(chosen(20, "P1"), chosen(20, "!P1"));
}

/// Planted fault: the order of two guarded writes of the limit is ignored.
#[test]
fn the_last_of_two_guarded_writes_counts() {
    let guarded = |first: &str, second: &str| {
        decides(&format!(
            "
            R5 = special.thread_x
            P1 = lt_s(R5, 7)
            P2 = lt_s(R5, 9)
            R2 = 10
            {first}
            {second}
            R1 = 0
            R1 = add(R1, 1)
            P0 = lt_s(R1, R2)
            if P0 jump @7
            exit"
        ))
    };
    let (one, two) = ("if P1 R2 = 20", "if P2 R2 = 30");
    assert_ne!(guarded(one, two), guarded(two, one));
}

/// Planted fault: the loops around a loop are ignored.
#[test]
fn another_nesting_is_another_loop() {
    let nested = |outer: &str| {
        decides(&format!(
            "
            R3 = 0
            R1 = 0
            R2 = c[0][0x140]
            R1 = add(R1, 1)
            P0 = lt_s(R1, R2)
            if P0 jump @3
            R3 = add(R3, 1)
            P1 = lt_s(R3, {outer})
            if P1 jump @1
            exit"
        ))
    };
    let (one, two) = (nested("5"), nested("6"));
    assert_eq!(one.len(), 2);
    // The outer loop is changed, which decides how often the inner one is entered.
    assert_ne!(one, two);
    assert_ne!(one[1], two[1]);
    let alone = decides(LOOP);
    assert!(!one.contains(&alone[0]));
}

/// A change of the inner loop changes nothing for the outer one.
#[test]
fn an_inner_loop_does_not_decide_the_outer_one() {
    let nested = |inner: &str| {
        decides(&format!(
            "
            R3 = 0
            R1 = 0
            R1 = add(R1, 1)
            P0 = lt_s(R1, {inner})
            if P0 jump @2
            R3 = add(R3, 1)
            P1 = lt_s(R3, 9)
            if P1 jump @1
            exit"
        ))
    };
    let (one, two) = (nested("5"), nested("6"));
    assert_eq!(one[0], two[0]);
    assert_ne!(one[1], two[1]);
}

/// Planted fault: loops are identified by their order.
#[test]
fn two_loops_of_one_shape_that_are_swapped_keep_their_fingerprints() {
    let two = |first: &str, second: &str| {
        decides(&format!(
            "
            R1 = 0
            R1 = add(R1, 1)
            P0 = lt_s(R1, {first})
            if P0 jump @1
            R1 = 0
            R1 = add(R1, 1)
            P0 = lt_s(R1, {second})
            if P0 jump @5
            exit"
        ))
    };
    let (before, after) = (two("10", "20"), two("20", "10"));
    assert_ne!(before[0], before[1]);
    assert_eq!(before[0], after[1]);
    assert_eq!(before[1], after[0]);
}

/// Planted fault: what the kernel itself stores is ignored.
#[test]
fn stores_to_memory_that_decides_a_loop_count() {
    let loaded = |space: &str, store: &str| {
        decides(&format!(
            "
            R5 = special.thread_x
            {store}
            R2 = load {space} [R5]
            R1 = 0
            R1 = add(R1, 1)
            P0 = lt_s(R1, R2)
            if P0 jump @4
            exit"
        ))
    };
    let none = loaded("shared", "nop");
    assert_ne!(none, loaded("shared", "store shared [R5] = 4"));
    assert_ne!(
        loaded("shared", "store shared [R5] = 5"),
        loaded("shared", "store shared [R5] = 4")
    );
    assert_ne!(none, loaded("shared", "store generic [R6:R5] = 4"));
    assert_ne!(none, loaded("shared", "barrier.wait number(0) threads(0)"));
    // Memory of another space is another memory.
    assert_eq!(none, loaded("shared", "store local [R5] = 4"));
    assert_ne!(none, loaded("local", "nop"));
}

#[test]
fn data_of_the_module_is_marked() {
    let data = |limit: &str| {
        let lines = LOOP.replace("c[0][0x140]", limit);
        let prints = fingerprints(&lines);
        prints[0].decides.as_ref().expect("known").reads_data
    };
    assert!(!data("c[0][0x140]"));
    assert!(data("c[3][0x0]"));
    assert!(data("load global [R4:R3]"));
}

/// A trap that guards the loop: without it, the loop is reached with other values.
#[test]
fn traps_count() {
    let guarded = |limit: u32| {
        decides(&format!(
            "
            R2 = c[0][0x140]
            P1 = lt_s(R2, {limit})
            if !P1 trap
            R1 = 0
            R1 = add(R1, 1)
            P0 = lt_s(R1, R2)
            if P0 jump @4
            exit"
        ))
    };
    assert_ne!(guarded(100), guarded(200));
}

#[test]
fn what_cannot_be_followed_is_an_obstacle() {
    let of = |limit: &str| {
        let lines = format!(
            "
            R5 = special.lane
            {limit}
            R1 = 0
            R1 = add(R1, 1)
            P0 = lt_s(R1, R2)
            if P0 jump @{}
            exit",
            2 + limit.lines().count()
        );
        fingerprints(&lines)[0].decides.clone().map(|_| ())
    };
    assert!(matches!(
        of("R2, _ = shuffle.index(R5, 0, 0x1f)"),
        Err(FingerprintObstacle::OtherLanes(_))
    ));
    assert!(matches!(
        of("R2 = ?lane(R5)"),
        Err(FingerprintObstacle::UnknownInstruction(_))
    ));
    assert!(matches!(
        of("call external \"f\""),
        Err(FingerprintObstacle::ExternalCall)
    ));
    assert!(matches!(
        of("R2, _ = matrix_product.8.16.s8.s8.s32.wrapping a(R5) b(0) c(0, 0)"),
        Err(FingerprintObstacle::OtherLanes(_))
    ));
    assert!(matches!(
        of("R2, P1 = first_lane(R5)"),
        Err(FingerprintObstacle::OtherLanes(_))
    ));
    // When a copy is complete depends on waits that the text does not have.
    let copied = "copy.4 [R5] from [R4:R3] reads(1)\n";
    assert!(matches!(
        of(&format!("{copied} R2 = load shared [R5]")),
        Err(FingerprintObstacle::UnknownInstruction(_))
    ));
    assert!(matches!(
        of("matrix_store [R5] values(R6)\n R2 = load shared [R5]"),
        Err(FingerprintObstacle::OtherLanes(_))
    ));
    // A value that the loop does not depend on is none.
    assert_eq!(of("R3 = ?lane(R5)"), of("R2 = 5"));
}

/// The body is the loop's own code, wherever its registers are.
#[test]
fn the_body_is_the_own_code() {
    let body = |extra: &str| {
        let lines = LOOP.replace("P0 = ", &format!("{extra}\n P0 = "));
        fingerprints(&lines)[0].body.clone()
    };
    assert_eq!(body("R5 = mul(R6, 3)"), body("R8 = mul(R4, 3)"));
    assert_ne!(body("R5 = mul(R6, 3)"), body("R5 = mul(R6, 4)"));
}

/// A loop with an access that a parameter and a counter decide.
const ACCESS: &str = "
    R1 = 0
    R4 = special.thread_x
    R2 = c[0][0x140]
    R6 = add(R2, mul(R4, 4))
    R7 = c[0][0x144]
    R1 = add(R1, 1)
    P1 = lt_s(R4, 20)
    if P1 store global [R7:R6] = R1
    R6 = add(R6, 128)
    P0 = lt_s(R1, 9)
    if P0 jump @5
    exit";

#[test]
fn registers_and_stored_values_do_not_matter_to_an_access() {
    let other = "
        R21 = special.thread_x
        R11 = 0
        R12 = c[0][0x140]
        R17 = c[0][0x144]
        R16 = add(R12, mul(R21, 4))
        R11 = add(R11, 1)
        P3 = lt_s(R21, 20)
        R30 = mul(R11, 77)
        if P3 store global [R17:R16] = R30
        R16 = add(R16, 128)
        P2 = lt_s(R11, 9)
        if P2 jump @5
        exit";
    assert_eq!(addresses(ACCESS), addresses(other));
}

/// Planted fault: the fingerprint of an access ignores its address, its guard or its width.
#[test]
fn another_address_guard_width_or_number_of_executions_is_another_access() {
    let base = addresses(ACCESS);
    assert!(base.iter().all(Result::is_ok), "{base:?}");
    for (old, new) in [
        ("c[0][0x140]", "c[0][0x148]"),
        ("mul(R4, 4)", "mul(R4, 8)"),
        ("add(R6, 128)", "add(R6, 4)"),
        ("R7 = c[0][0x144]", "R7 = 0"),
        ("[R7:R6]", "[R7:R2]"),
        ("store global [R7:R6]", "store shared [R6]"),
        ("global [R7:R6] = R1", "global [R7:R6] = R1, R4"),
        ("lt_s(R4, 20)", "lt_s(R4, 21)"),
        ("if P1 store", "if !P1 store"),
        ("if P1 store", "store"),
        ("lt_s(R1, 9)", "lt_s(R1, 10)"),
    ] {
        let other = ACCESS.replace(old, new);
        assert_ne!(other, ACCESS, "{old}");
        assert_ne!(addresses(&other), base, "{old} -> {new}");
    }
}

/// A load whose address another load decides: what stores to that memory decides it as well.
#[test]
fn addresses_that_memory_decides_rest_on_the_stores() {
    let chained = "
        R2 = c[0][0x140]
        R3 = c[0][0x144]
        store shared [R2] = R3
        R4 = load shared [R2]
        R5 = load shared [R4]
        exit";
    let base = addresses(chained);
    let other = addresses(&chained.replace("R3 = c[0][0x144]", "R3 = c[0][0x148]"));
    assert_eq!(base.first(), other.first());
    assert_ne!(base.last(), other.last());
}

/// Scalar registers and the mask of active lanes are not followed.
#[test]
fn accesses_of_waves_have_no_fingerprint() {
    let wave = "
        warp S4 = 64
        R1 = add(R0, S4)
        R2 = load shared [R1]
        exit";
    let found = addresses(wave);
    assert_eq!(found, [Err(FingerprintObstacle::WordsOfWarp)]);
}
