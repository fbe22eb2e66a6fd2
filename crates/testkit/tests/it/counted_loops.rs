//! Derived loop bounds, compared with the runs of single threads.
//!
//! A fault of the derivation is planted in one of two ways: the analysed code differs from the code that runs, as if the
//! analysis read it wrongly, or a derived number is changed. The runs must contradict both.

use warpbound_analyse::launch_ranges::{LaunchRanges, LaunchWord, WordRange};
use warpbound_analyse::loop_bounds::{CountPattern, DerivedBound, LoopVerdict, WhyUnknown};
use warpbound_ir::{Code, text};
use warpbound_testkit::counted_loops::campaign::LoopCampaign;
use warpbound_testkit::counted_loops::check::{
    BrokenCount, CountContradiction, LoopedCode, ObservedCounts, contradictions,
};
use warpbound_testkit::counted_loops::launches::OneLaunch;

/// Threads of a block and blocks of the grid in all runs.
const BLOCK: [u32; 3] = [8, 1, 1];
const GRID: [u32; 3] = [2, 1, 1];

/// Operations of a thread, for loops that do not end.
const STEPS: usize = 20_000;

/// Parses the lines of a program, 8 bytes each.
pub(super) fn code_of(lines: &[&str]) -> Code {
    let numbered = lines.iter().enumerate();
    let lines = numbered.map(|(number, line)| format!("0x{:04x}: {line}\n", 8 * number));
    text::parse("program", &lines.collect::<String>()).expect("a program")
}

/// Ranges in which everything is known but the parameters, which have these ranges.
pub(super) fn ranges_of(parameters: &[Option<WordRange>]) -> LaunchRanges {
    let mut ranges = LaunchRanges {
        block: BLOCK.map(|n| Some(WordRange::one(n))),
        grid: GRID.map(|n| Some(WordRange::one(n))),
        ..LaunchRanges::default()
    };
    let sizes = BLOCK.into_iter().chain(GRID);
    let sizes = sizes.map(|size| Some(WordRange::one(size)));
    let at = |first: u32| (first..).step_by(4);
    let words = at(8).zip(sizes);
    let words = words.chain(at(0x140).zip(parameters.iter().copied()));
    for (offset, range) in words {
        let name = format!("c{offset:x}");
        ranges.words.insert((0, offset), LaunchWord { name, range });
    }
    ranges
}

/// Derives from `analysed`, runs all threads of `code` with these parameters, and returns the verdicts, the counts and
/// the contradictions.
pub(super) fn compare(
    code: &Code,
    analysed: &Code,
    parameters: &[u32],
    ranges: &LaunchRanges,
    change: impl Fn(&mut DerivedBound),
) -> (Vec<LoopVerdict>, ObservedCounts, Vec<CountContradiction>) {
    let looped = LoopedCode::build(code).expect("followed");
    let of_analysed = LoopedCode::build(analysed).expect("followed");
    let mut verdicts = of_analysed.derive(ranges);
    for verdict in &mut verdicts {
        if let LoopVerdict::Bounded(bound) = verdict {
            change(bound);
        }
    }
    let launch = OneLaunch::new(BLOCK, GRID, parameters);
    let mut rng = fastrand::Rng::with_seed(7);
    let (threads, all) = launch.threads(&mut rng);
    let mut seen = ObservedCounts::none(looped.loops.sites.len());
    for thread in threads {
        let counts = looped
            .observe(&launch, thread, rng.u64(..), STEPS)
            .expect("the thread follows the graph");
        seen.raise(&counts);
    }
    let found = contradictions(&verdicts, &launch, &seen, all);
    (verdicts, seen, found)
}

/// Checks that all loops of a program have these bounds, by address, and that some thread reaches each of them.
fn assert_counts(lines: &[&str], parameters: &[u32], ranges: &LaunchRanges, counts: &[u64]) {
    let code = code_of(lines);
    let (verdicts, seen, found) = compare(&code, &code, parameters, ranges, |_| {});
    assert!(found.is_empty(), "{found:?}");
    let bounds: Vec<Option<u64>> = verdicts.iter().map(bound_of).collect();
    let expected: Vec<Option<u64>> = counts.iter().map(|&count| Some(count)).collect();
    assert_eq!(bounds, expected, "{verdicts:#?}");
    let observed: Vec<u64> = seen.sites.iter().map(|count| count.per_entry).collect();
    assert_eq!(observed, counts);
}

/// Checks that the only loop of a program has no bound, and returns the reason.
fn assert_unknown(lines: &[&str], parameters: &[u32]) -> WhyUnknown {
    let code = code_of(lines);
    let ranges = ranges_of(&known(parameters));
    let (verdicts, _, found) = compare(&code, &code, parameters, &ranges, |_| {});
    assert!(found.is_empty(), "{found:?}");
    let why = match verdicts.as_slice() {
        [LoopVerdict::Unknown(why)] => Some(why.clone()),
        _ => None,
    };
    why.expect("one loop, without a bound")
}

pub(super) fn bound_of(verdict: &LoopVerdict) -> Option<u64> {
    match verdict {
        LoopVerdict::Bounded(bound) => Some(bound.per_entry),
        LoopVerdict::Unknown(_) => None,
    }
}

/// Ranges of parameters that are known.
fn known(parameters: &[u32]) -> Vec<Option<WordRange>> {
    let words = parameters.iter().copied();
    words.map(|word| Some(WordRange::one(word))).collect()
}

/// Checks that a fault in the analysed code is reported as a claim broken, and that nothing is without it.
fn assert_caught(lines: &[&str], faulty: &[&str], parameters: &[u32], claim: BrokenCount) {
    let (code, analysed) = (code_of(lines), code_of(faulty));
    let ranges = ranges_of(&known(parameters));
    let (verdicts, _, right) = compare(&code, &code, parameters, &ranges, |_| {});
    assert!(right.is_empty(), "{right:?}");
    let (faulty, _, found) = compare(&code, &analysed, parameters, &ranges, |_| {});
    assert!(
        found.iter().any(|broken| broken.claim == claim),
        "{verdicts:?} {faulty:?} {found:?}"
    );
}

/// `for (i = 0; i < 10; i++)`, tested at the head: the header runs 11 times.
const HEAD_TESTED: [&str; 6] = [
    "R2 = 0",
    "P1 = lt_s(R2, 10)",
    "if !P1 jump 0x0028",
    "R2 = add(R2, 1)",
    "jump 0x0008",
    "exit",
];

/// Fails if a loop that is tested at its head has one header execution less.
#[test]
fn a_head_tested_loop_is_not_off_by_one() {
    assert_counts(&HEAD_TESTED, &[], &ranges_of(&[]), &[11]);
    let code = code_of(&HEAD_TESTED);
    let less = |bound: &mut DerivedBound| bound.per_entry -= 1;
    let (_, _, found) = compare(&code, &code, &[], &ranges_of(&[]), less);
    let expected = CountContradiction {
        site: 0,
        claim: BrokenCount::PerEntry,
        claimed: 10,
        observed: 11,
    };
    assert_eq!(found, [expected]);
}

/// Fails if a certain number that no thread reaches is not noticed.
#[test]
fn a_certain_number_must_be_reached() {
    let code = code_of(&HEAD_TESTED);
    let more = |bound: &mut DerivedBound| bound.certain = Some(12);
    let (_, _, found) = compare(&code, &code, &[], &ranges_of(&[]), more);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].claim, BrokenCount::Certain);
    let total = |bound: &mut DerivedBound| bound.total = Some(10);
    let (_, _, found) = compare(&code, &code, &[], &ranges_of(&[]), total);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].claim, BrokenCount::Total);
}

/// Fails if `!=` counts with a step that does not divide the distance.
#[test]
fn until_equal_needs_a_step_that_divides_the_distance() {
    let until = |limit: &str| {
        [
            "R2 = 0".to_owned(),
            "R2 = add(R2, 3)".to_owned(),
            format!("P1 = ne(R2, {limit})"),
            "if P1 jump 0x0008".to_owned(),
            "exit".to_owned(),
        ]
    };
    let lines = |limit| until(limit).map(String::leak).map(|line| &*line);
    assert_counts(&lines("12"), &[], &ranges_of(&[]), &[4]);
    assert!(matches!(
        assert_unknown(&lines("10"), &[]),
        WhyUnknown::Pattern(_)
    ));
    let mut faulty = lines("10");
    faulty[2] = "P1 = lt_s(R2, 10)";
    assert_caught(&lines("10"), &faulty, &[], BrokenCount::PerEntry);
}

/// Fails if signed and unsigned comparisons are exchanged.
#[test]
fn signed_and_unsigned_comparisons_differ() {
    let with = |comparison| {
        [
            "R2 = c[0][0x140]",
            "R2 = add(R2, 1)",
            comparison,
            "if P1 jump 0x0008",
            "exit",
        ]
    };
    let [signed, unsigned] = ["P1 = lt_s(R2, 3)", "P1 = lt_u(R2, 3)"].map(with);
    let parameters = [0xffff_fffb];
    let ranges = ranges_of(&known(&parameters));
    assert_counts(&signed, &parameters, &ranges, &[8]);
    assert_counts(&unsigned, &parameters, &ranges, &[1]);
    assert_caught(&signed, &unsigned, &parameters, BrokenCount::PerEntry);
    assert_caught(&unsigned, &signed, &parameters, BrokenCount::Certain);
}

/// Fails if a step is not seen to wrap around.
#[test]
fn a_step_across_the_end_of_the_words_is_no_count() {
    let with = |start, comparison| {
        [
            start,
            "R2 = add(R2, 7)",
            comparison,
            "if P1 jump 0x0008",
            "exit",
        ]
    };
    // 0xfffffff0, 0xfffffff7, 0xfffffffe, 5: the loop goes on.
    let wraps = with("R2 = 0xfffffff0", "P1 = lt_u(R2, 0xffffffff)");
    assert_unknown(&wraps, &[]);
    let same_distance = with("R2 = 0", "P1 = lt_u(R2, 15)");
    assert_counts(&same_distance, &[], &ranges_of(&[]), &[3]);
    assert_caught(&wraps, &same_distance, &[], BrokenCount::PerEntry);
    let signed = with("R2 = 0x7ffffff0", "P1 = lt_s(R2, 0x7fffffff)");
    assert_unknown(&signed, &[]);
    assert_caught(&signed, &same_distance, &[], BrokenCount::PerEntry);
}

/// A product by the chain of 16-bit multiplications of a compiler; its last line is given.
fn chain(last: &'static str) -> [&'static str; 10] {
    [
        "R1 = c[0][0x140]",
        "R2 = c[0][0x144]",
        "R3 = add(mul(and(R1, 0xffff), and(R2, 0xffff)), 0)",
        "R4 = or(and(add(mul(and(R1, 0xffff), and(shr(R2, 16), 0xffff)), 0), 0xffff), shl(R2, 16))",
        last,
        "R6 = 0",
        "R6 = add(R6, 0x10000)",
        "P1 = lt_u(R6, R5)",
        "if P1 jump 0x0030",
        "exit",
    ]
}

/// Fails if a part of the multiply chain is dropped.
#[test]
fn a_multiply_chain_is_a_product_with_all_carries() {
    let whole = "R5 = add(shl(mul(and(shr(R1, 16), 0xffff), and(shr(R4, 16), 0xffff)), 16), add(R3, shl(R4, 16)))";
    let without_high = "R5 = add(R3, shl(R4, 16))";
    let without_cross =
        "R5 = add(shl(mul(and(shr(R1, 16), 0xffff), and(shr(R4, 16), 0xffff)), 16), R3)";
    // 0x2_0003 · 0x101 has a high half, and so has 0x203 · 0x3_0000.
    let parameters = [0x2_0003, 0x101];
    let product = 0x2_0003u64 * 0x101;
    let ranges = ranges_of(&known(&parameters));
    let count = product.div_ceil(0x1_0000);
    assert_counts(&chain(whole), &parameters, &ranges, &[count]);
    assert_caught(
        &chain(whole),
        &chain(without_high),
        &parameters,
        BrokenCount::PerEntry,
    );
    let parameters = [0x203, 0x3_0000];
    let count = (0x203u64 * 0x3_0000).div_ceil(0x1_0000);
    let ranges = ranges_of(&known(&parameters));
    assert_counts(&chain(whole), &parameters, &ranges, &[count]);
    assert_caught(
        &chain(whole),
        &chain(without_cross),
        &parameters,
        BrokenCount::PerEntry,
    );
}

/// Fails if the chain is not followed for parameters that are known only as ranges.
#[test]
fn a_multiply_chain_of_ranges_is_followed() {
    let whole = "R5 = add(shl(mul(and(shr(R1, 16), 0xffff), and(shr(R4, 16), 0xffff)), 16), add(R3, shl(R4, 16)))";
    let between = |least, most| Some(WordRange::between(least, most));
    let ranges = ranges_of(&[between(1, 0x100), between(1, 0x1_0000)]);
    assert_counts(&chain(whole), &[0x100, 0x1_0000], &ranges, &[0x100]);
}

/// Fails if a carried predicate counts no iteration more, also where the first test fails.
#[test]
fn a_predicate_of_the_iteration_before_counts_one_more() {
    let carried = [
        "R2 = 0",
        "P1 = 1",
        "if !P1 jump 0x0030",
        "R2 = add(R2, 1)",
        "P1 = lt_s(R2, c[0][0x140])",
        "jump 0x0010",
        "exit",
    ];
    let ranges = ranges_of(&[Some(WordRange::between(-100, 100))]);
    assert_counts(&carried, &[100], &ranges, &[101]);
    let code = code_of(&carried);
    for limit in [-100, -5, 0, 1, 2] {
        let (_, _, found) = compare(&code, &code, &[limit as u32], &ranges, |_| {});
        assert!(found.is_empty(), "{limit}: {found:?}");
    }
}

/// Fails if a counter is replaced by the one of the iteration before, but not inside other operations.
#[test]
fn a_masked_counter_of_the_iteration_before_is_no_smaller() {
    let masked = |compared, step| {
        [
            "R2 = 0",
            compared,
            "if !P1 jump 0x0028",
            step,
            "jump 0x0008",
            "exit",
        ]
    };
    for lines in [
        masked("P1 = le_u(and(R2, 1), 0)", "R2 = add(R2, 0x40)"),
        masked("P1 = le_u(and(R2, 7), 6)", "R2 = add(R2, 2)"),
    ] {
        assert_unknown(&lines, &[]);
    }
}

/// Fails if it is used of a loop's counter that it is not below its first content where the loop was never entered.
#[test]
fn counters_of_loops_that_are_not_entered_limit_nothing() {
    let lines = [
        "R1 = c[0][0x140]",
        "R2 = R1",
        "P1 = eq(R2, 0)",
        "if P1 jump 0x0030",
        "R2 = sub(R2, 1)",
        "jump 0x0010",
        "P1 = lt_u(R1, 100)",
        "if !P1 jump 0x0060",
        "R3 = R1",
        "R3 = add(R3, 1)",
        "P1 = lt_u(R3, 100)",
        "if P1 jump 0x0048",
        "exit",
    ];
    let code = code_of(&lines);
    let (verdicts, _, found) = compare(&code, &code, &[1000], &ranges_of(&[None]), |_| {});
    assert!(found.is_empty(), "{found:?}");
    assert!(matches!(
        verdicts.as_slice(),
        [LoopVerdict::Unknown(_), LoopVerdict::Bounded(_)]
    ));
}

/// Fails if a word that each iteration loads cancels with the one of the iteration before.
#[test]
fn loads_of_two_iterations_do_not_cancel() {
    let lines = [
        "R2 = 0",
        "R4 = 0",
        "R3 = load global[R2]",
        "P1 = lt_u(add(sub(R4, R3), R2), 10)",
        "R4 = R3",
        "R2 = add(R2, 1)",
        "if P1 jump 0x0010",
        "exit",
    ];
    assert_unknown(&lines, &[]);
}

/// Fails if a condition that never holds is left out of a conjunction, so that a number seems certain.
#[test]
fn a_constant_part_of_a_condition_makes_nothing_certain() {
    let lines = [
        "R2 = 0",
        "P2 = lt_s(c[0][0x140], 2)",
        "P1 = and(lt_s(R2, 10), P2)",
        "if !P1 jump 0x0030",
        "R2 = add(R2, 1)",
        "jump 0x0008",
        "exit",
    ];
    let code = code_of(&lines);
    for parameter in [0, 5] {
        let ranges = ranges_of(&known(&[parameter]));
        let (_, _, found) = compare(&code, &code, &[parameter], &ranges, |_| {});
        assert!(found.is_empty(), "{found:?}");
    }
}

/// Fails if the exit of some threads inside the loop is not seen.
#[test]
fn an_exit_in_the_body_makes_nothing_certain() {
    let lines = [
        "R2 = 0",
        "P1 = ?lane()",
        "if P1 exit",
        "R2 = add(R2, 1)",
        "P2 = lt_s(R2, 100)",
        "if P2 jump 0x0008",
        "exit",
    ];
    let code = code_of(&lines);
    let (verdicts, seen, found) = compare(&code, &code, &[], &ranges_of(&[]), |_| {});
    assert!(found.is_empty(), "{found:?}");
    assert_eq!(
        verdicts.iter().map(bound_of).collect::<Vec<_>>(),
        [Some(100)]
    );
    assert!(seen.sites[0].per_entry < 100);
}

/// Fails if a loop that memory decides is not named by its load.
#[test]
fn a_loaded_limit_names_the_load() {
    let lines = [
        "R2 = 0",
        "R3 = load global[R2]",
        "R2 = add(R2, 1)",
        "P1 = lt_s(R2, R3)",
        "if P1 jump 0x0010",
        "exit",
    ];
    match assert_unknown(&lines, &[]) {
        WhyUnknown::Memory { load, exit } => assert_eq!((load.0, exit.0), (8, 0x20)),
        other => panic!("{other:?}"),
    }
}

/// Fails if a step that may be 0 is counted as 1.
#[test]
fn a_step_that_may_be_zero_is_no_count() {
    let lines = [
        "R0 = ?special.thread_x()",
        "R2 = 0",
        "R2 = add(R2, R0)",
        "P1 = lt_s(R2, 100)",
        "if P1 jump 0x0010",
        "exit",
    ];
    assert_unknown(&lines, &[]);
    let mut at_least_one = lines;
    at_least_one[1] = "R0 = add(R0, 1), R2 = 0";
    assert_counts(&at_least_one, &[], &ranges_of(&[]), &[100]);
}

/// Fails if a counter that is kept from an earlier entry is taken to begin anew.
#[test]
fn a_counter_that_is_kept_does_not_begin_anew() {
    let lines = [
        "R1 = 0",
        "R2 = 0",
        "nop",
        "R2 = add(R2, 1)",
        "P1 = ne(R2, 10)",
        "if P1 jump 0x0018",
        "R1 = add(R1, 1)",
        "P2 = lt_s(R1, 2)",
        "if P2 jump 0x0010",
        "exit",
    ];
    let code = code_of(&lines);
    let (verdicts, _, found) = compare(&code, &code, &[], &ranges_of(&[]), |_| {});
    assert!(found.is_empty(), "{found:?}");
    assert_eq!(
        verdicts.iter().map(bound_of).collect::<Vec<_>>(),
        [Some(2), None]
    );
}

/// Fails if a halving search whose ends are moved under different conditions is counted.
#[test]
fn a_search_halves_only_under_one_condition() {
    let with = |middle: &'static str, second: &'static str| {
        [
            "R1 = 0",
            "R2 = 1000",
            "P0 = lt_s(R1, R2)",
            "if !P0 jump 0x0060",
            middle,
            "R4 = load global[R3]",
            "P1 = lt_s(R4, 5)",
            "R5 = load global[R3]",
            "P2 = lt_s(R5, 5)",
            "if P1 R1 = add(R3, 1)",
            second,
            "jump 0x0010",
            "exit",
        ]
    };
    let middles = [
        "R3 = shr(add(R1, R2), 1)",
        "R3 = sar(add(add(R1, R2), shr(add(R1, R2), 31)), 1)",
    ];
    for middle in middles {
        let code = code_of(&with(middle, "if !P1 R2 = R3"));
        let (verdicts, seen, found) = compare(&code, &code, &[], &ranges_of(&[]), |_| {});
        assert!(found.is_empty(), "{found:?}");
        let bounds: Vec<Option<u64>> = verdicts.iter().map(bound_of).collect();
        assert_eq!(bounds, [Some(11)], "{middle}");
        assert!(seen.sites[0].per_entry <= 11);
        assert_unknown(&with(middle, "if !P2 R2 = R3"), &[]);
    }
    // Another bit than the sign is no middle.
    assert_unknown(
        &with(
            "R3 = sar(add(add(R1, R2), shr(add(R1, R2), 3)), 1)",
            "if !P1 R2 = R3",
        ),
        &[],
    );
}

/// Fails if a search that is tested at its end is counted where its ends may be the wrong way round at first, or if one of them
/// need not move.
#[test]
fn a_search_that_is_tested_at_its_end_begins_with_a_distance() {
    let from = |first: &'static str, low: &'static str| {
        [
            first,
            "R2 = 1000",
            "R3 = shr(add(R1, R2), 1)",
            "R4 = load global[R3]",
            "P1 = lt_s(R4, 5)",
            low,
            "if !P1 R2 = R3",
            "P0 = lt_s(R1, R2)",
            "if P0 jump 0x0010",
            "exit",
        ]
    };
    let code = code_of(&from("R1 = 0", "if P1 R1 = add(R3, 1)"));
    let (verdicts, _, found) = compare(&code, &code, &[], &ranges_of(&[]), |_| {});
    assert!(found.is_empty(), "{found:?}");
    let bounds: Vec<Option<u64>> = verdicts.iter().map(bound_of).collect();
    assert_eq!(bounds, [Some(10)]);
    let anywhere = "R1 = load.u16 global[R9]";
    assert_unknown(&from(anywhere, "if P1 R1 = add(R3, 1)"), &[]);
    assert_unknown(&from("R1 = 0", "if P1 R1 = R3"), &[]);
}

/// Fails if what is left of a word after half of it is taken away is not limited, or if a word that may be 0 at the end of an
/// iteration may be 0 at the next header, too.
#[test]
fn a_length_that_halves_is_followed() {
    let with = |left: &'static str| {
        [
            "R2 = 350",
            "R3 = shr(R2, 1)",
            "R4 = load global[R3]",
            "P1 = lt_s(R4, 5)",
            left,
            "if !P1 R2 = R3",
            "P0 = ne(R2, 0)",
            "if P0 jump 0x0008",
            "exit",
        ]
    };
    let code = code_of(&with("if P1 R2 = sub(sub(R2, R3), 1)"));
    let (verdicts, _, found) = compare(&code, &code, &[], &ranges_of(&[]), |_| {});
    assert!(found.is_empty(), "{found:?}");
    let bounds: Vec<Option<u64>> = verdicts.iter().map(bound_of).collect();
    assert_eq!(bounds, [Some(9)], "{verdicts:?}");
    // Of a length of 1, one would be left for ever.
    assert_unknown(&with("if P1 R2 = sub(R2, R3)"), &[]);
}

/// Fails if a word of this header in a condition at the end of an iteration is taken for the word of the next header: R2 is less
/// there, so that the condition would never hold.
#[test]
fn a_word_of_this_header_is_none_of_the_next() {
    let lines = [
        "R1 = 1000",
        "R2 = 100",
        "R3 = min_u(shr(R2, 1), R1)",
        "R1 = sub(R2, 1)",
        "P0 = lt_u(R1, R2)",
        "R2 = R3",
        "if P0 jump 0x0010",
        "exit",
    ];
    assert_counts(&lines, &[], &ranges_of(&[]), &[8]);
}

/// Fails if the ends of a search may be so great that their sum has a sign.
#[test]
fn a_search_up_to_words_whose_sum_has_a_sign_is_not_counted() {
    let up_to = |end: &'static str| {
        [
            "R1 = 0",
            end,
            "P0 = le_s(R1, R2)",
            "if !P0 jump 0x0060",
            "R3 = sar(add(R1, R2), 1)",
            "R4 = load global[R3]",
            "P1 = lt_s(R4, 5)",
            "if P1 R1 = add(R3, 1)",
            "if !P1 R2 = sub(R3, 1)",
            "nop",
            "nop",
            "jump 0x0010",
            "exit",
        ]
    };
    let bounds = |end| {
        let code = code_of(&up_to(end));
        let (verdicts, ..) = compare(&code, &code, &[], &ranges_of(&[]), |_| {});
        verdicts.iter().map(bound_of).collect::<Vec<_>>()
    };
    assert_eq!(bounds("R2 = 0x3fffffff"), [Some(32)]);
    assert_unknown(&up_to("R2 = 0x40000000"), &[]);
}

/// A loop down by 2, four times unrolled, with the remaining iterations before it, as compilers make it of
/// `for (i = n; i > 0; i -= 2)`: a remainder modulo 4, a join of two counters, and the loop with a step of 8.
const DOWN_BY_TWO: [&str; 16] = [
    "R1 = c[0][0x140]",
    "P0 = lt_s(R1, 1)",
    "if P0 exit",
    "R2 = and(add(shr(sub(R1, 1), 1), 1), 3)",
    "P1 = ne(R2, 0)",
    "if !P1 jump 0x0050",
    "R1 = sub(R1, 2)",
    "R2 = sub(R2, 1)",
    "P1 = ne(R2, 0)",
    "if P1 jump 0x0030",
    "nop",
    "P1 = lt_s(0, R1)",
    "if !P1 jump 0x0078",
    "R1 = sub(R1, 8)",
    "jump 0x0058",
    "exit",
];

/// Fails if a constant that is added to a remainder hides it, or if the width of the counter is taken for the count of the
/// loop that follows: its limits are lost where two counters meet.
#[test]
fn the_remainder_of_an_unrolled_loop_is_counted() {
    let ranges = ranges_of(&[Some(WordRange::between(0, 100))]);
    let code = code_of(&DOWN_BY_TWO);
    for n in [0, 1, 2, 7, 8, 50, 99, 100] {
        let (verdicts, _, found) = compare(&code, &code, &[n], &ranges, |_| {});
        assert!(found.is_empty(), "{n}: {found:?}");
        let bounds: Vec<Option<u64>> = verdicts.iter().map(bound_of).collect();
        assert_eq!(bounds[0], Some(3), "{verdicts:#?}");
        assert!(bounds[1].is_none_or(|bound| bound == 14), "{verdicts:#?}");
    }
}

/// The loop over the words of 2 / pi that `sin` needs for large arguments: from `15 - r` to `19 - r`, or to 18 where that is
/// smaller, where nothing but the width of `r` is known.
const REDUCTION: [&str; 9] = [
    "R0 = load global[R9]",
    "R0 = shr(R0, 6)",
    "R3 = sub(15, R0)",
    "P0 = lt_s(14, sub(16, R0))",
    "R4 = select(P0, 18, sub(19, R0))",
    "R3 = add(R3, 1)",
    "P1 = lt_s(R3, R4)",
    "if P1 jump 0x0028",
    "exit",
];

/// Fails if a limit that is one of two words is not followed by cases: the width of the register would be the bound.
#[test]
fn a_limit_that_is_selected_is_counted_by_cases() {
    let code = code_of(&REDUCTION);
    let (verdicts, _, found) = compare(&code, &code, &[], &ranges_of(&[]), |_| {});
    assert!(found.is_empty(), "{found:?}");
    assert_eq!(verdicts.iter().map(bound_of).collect::<Vec<_>>(), [Some(4)]);
    // Without its condition, the second case has no limit of its own.
    let mut without = REDUCTION;
    without[3] = "P0 = lt_s(R8, 3)";
    let without = code_of(&without);
    let (verdicts, ..) = compare(&without, &without, &[], &ranges_of(&[]), |_| {});
    let bounds: Vec<Option<u64>> = verdicts.iter().map(bound_of).collect();
    assert!(bounds.iter().all(|bound| *bound != Some(4)), "{bounds:?}");
    // The smaller one of two words, of which one is known.
    let mut minimum = REDUCTION;
    minimum[2] = "R3 = 0";
    minimum[3] = "nop";
    minimum[4] = "R4 = min_s(R0, 12)";
    let code = code_of(&minimum);
    let (verdicts, _, found) = compare(&code, &code, &[], &ranges_of(&[]), |_| {});
    assert!(found.is_empty(), "{found:?}");
    assert_eq!(
        verdicts.iter().map(bound_of).collect::<Vec<_>>(),
        [Some(12)]
    );
}

/// Fails if a count that the width of a register limits is said to be one of the loop, or one that is certain is not.
#[test]
fn a_count_from_the_width_of_a_register_is_named_so() {
    let pattern = |limit: &'static str, step: &'static str| {
        let lines = [
            "R0 = load global[R9]",
            "R1 = shr(R0, 6)",
            "R2 = 0",
            step,
            limit,
            "if P1 jump 0x0018",
            "exit",
        ];
        let code = code_of(&lines);
        let looped = LoopedCode::build(&code).expect("followed");
        match looped.derive(&ranges_of(&[])).as_slice() {
            [LoopVerdict::Bounded(bound)] => Some((bound.per_entry, bound.evidence.pattern)),
            _ => None,
        }
    };
    let by_one = "R2 = add(R2, 1)";
    let loaded = pattern("P1 = lt_s(R2, R1)", by_one);
    assert_eq!(loaded, Some(((1 << 26) - 1, CountPattern::Width)));
    let constant = pattern("P1 = lt_s(R2, 2000000)", by_one);
    assert_eq!(constant, Some((2_000_000, CountPattern::Affine)));
    // Below 2²⁰ it is a count like any other.
    let few = pattern("P1 = lt_s(R2, R1)", "R2 = add(R2, 64)");
    assert_eq!(few, Some((1 << 20, CountPattern::Affine)));
}

/// Remainder of an unrolled loop, after a branch that skips it if there is none.
const REMAINDER: [&str; 7] = [
    "R0 = and(c[0][0x140], 3)",
    "P0 = eq(R0, 0)",
    "if P0 jump 0x0030",
    "R0 = sub(R0, 1)",
    "P0 = ne(R0, 0)",
    "if P0 jump 0x0018",
    "exit",
];

/// Fails if a loop that the launch never enters has no bound, or if one that it enters is taken for such a loop.
#[test]
fn a_loop_that_no_thread_enters_is_known() {
    let code = code_of(&REMAINDER);
    let pattern = |parameter: u32, ranges: LaunchRanges| {
        let (verdicts, _, found) = compare(&code, &code, &[parameter], &ranges, |_| {});
        assert!(found.is_empty(), "{found:?}");
        match verdicts.as_slice() {
            [LoopVerdict::Bounded(bound)] => Some((bound.per_entry, bound.evidence.pattern)),
            _ => None,
        }
    };
    let of = |parameter| pattern(parameter, ranges_of(&known(&[parameter])));
    assert_eq!(of(8), Some((1, CountPattern::Never)));
    assert_eq!(of(9), Some((1, CountPattern::Affine)));
    assert_eq!(of(11), Some((3, CountPattern::Affine)));
    let any = pattern(11, ranges_of(&[None]));
    assert_eq!(any, Some((3, CountPattern::Affine)));
    // The branch is read the other way round.
    let mut faulty = REMAINDER;
    faulty[2] = "if !P0 jump 0x0030";
    assert_caught(&REMAINDER, &faulty, &[11], BrokenCount::PerEntry);
}

/// Runs the random programs of the gate.
#[test]
fn no_thread_of_a_random_program_exceeds_a_derived_bound() {
    let total = LoopCampaign::run(15, 0..340);
    println!(
        "{} programs ({} refused), {} threads, {:?}",
        total.programs, total.refused, total.threads, total.all
    );
    let shown: Vec<&String> = total.problems.iter().take(5).collect();
    assert!(
        shown.is_empty(),
        "{} problems: {shown:#?}",
        total.problems.len()
    );
    // Programs in which nothing is derived would show nothing.
    for (property, least) in [
        ("affine: up", 80),
        ("affine: down", 40),
        ("affine: ne", 5),
        ("affine: eq", 10),
        ("geometric", 20),
        ("halving", 8),
        ("16-bit multiply chain", 10),
        ("joined by and", 15),
        ("copied predicate", 20),
        ("tested at the head", 40),
        ("tested at the end", 60),
        ("tested in the middle", 15),
        ("old value tested at the end", 15),
        ("tested by the predicate of the iteration before", 15),
        ("limit: thread", 10),
        ("start: thread", 10),
        ("left by a pop", 30),
        ("header where sides meet", 8),
        ("unrolled by a compiler", 200),
    ] {
        let derived = total.properties.get(property).map_or(0, |t| t.derived);
        assert!(derived >= least, "{property}: {derived} loops derived");
    }
    assert!(total.all.equal * 2 > total.all.compared);
}
