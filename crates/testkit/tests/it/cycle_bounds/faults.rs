//! Faults planted in what a bound is computed from: each makes some run of a fixture exceed its bound.

use warpbound_query::CacheState;

use warpbound_bounds::CycleInputs;
use warpbound_testkit::control_words::fixtures;

use super::compare_states;
use super::machines::with_ranges;

/// Fault: other ranges of the machine of the bound, or changed inputs.
struct Fault<'a> {
    ranges: &'a [(&'a str, u64, u64)],
    change: fn(&mut CycleInputs),
    /// States of the caches that the bound assumes, and of the runs.
    caches: [CacheState; 2],
}

const NONE: Fault<'_> = Fault {
    ranges: &[],
    change: |_| {},
    caches: [CacheState::Warm; 2],
};

/// Asserts that runs of a fixture exceed a bound with a fault, and none a bound without.
#[track_caller]
fn is_caught(fixture: &str, fault: &Fault<'_>) {
    is_caught_on(&[], fixture, fault);
}

/// Asserts the same on a machine with other ranges.
#[track_caller]
fn is_caught_on(ranges: &[(&str, u64, u64)], fixture: &str, fault: &Fault<'_>) {
    let program = fixtures::named(fixture);
    let machine = with_ranges("gtx1080", ranges);
    let kept = ranges
        .iter()
        .filter(|(name, ..)| fault.ranges.iter().all(|(other, ..)| other != name));
    let changed: Vec<_> = kept.chain(fault.ranges).copied().collect();
    let of_bound = with_ranges("gtx1080", &changed);
    let [assumed, caches] = fault.caches;
    let sound = compare_states(&program, (&machine, &machine), (caches, caches), &|_| {});
    let sound = sound.expect("it has a bound");
    assert_eq!(sound.violations, Vec::<String>::new(), "without a fault");
    let faulty = compare_states(
        &program,
        (&machine, &of_bound),
        (assumed, caches),
        &fault.change,
    );
    let faulty = faulty.expect("it has a bound");
    let numbers = (sound.worst, sound.counted, faulty.counted);
    assert!(
        !faulty.violations.is_empty(),
        "not caught: worst run, bound, bound with the fault {numbers:?}"
    );
}

/// Replaces the completions of some instructions, by their description, by that of another one.
fn replace_completion(inputs: &mut CycleInputs, name: &str, by: &str) {
    let described =
        |name: &str, completion: &dyn std::fmt::Debug| format!("{completion:?}").starts_with(name);
    let other = inputs.facts.iter().map(|facts| facts.completion);
    let other = other
        .into_iter()
        .find(|completion| described(by, completion));
    let other = other.expect("the program has one");
    for facts in &mut inputs.facts {
        if described(name, &facts.completion) {
            facts.completion = other;
        }
    }
}

macro_rules! faults {
    ($($test:ident: $fixture:literal, { $($field:ident: $value:expr),* };)*) => {
        $(#[test]
        fn $test() {
            is_caught($fixture, &Fault { $($field: $value,)* ..NONE });
        })*
    };
}

faults! {
    a_wait_mask_that_is_ignored_is_caught: "loads one after the other", {
        change: |inputs| inputs.facts.iter_mut().for_each(|facts| facts.wait_mask = 0)
    };
    a_wake_that_is_not_added_is_caught: "waits in a loop", { ranges: &[("issue.wake", 0, 0)] };
    a_scoreboard_raised_by_sources_is_caught: "loads one after the other", {
        change: |inputs| for facts in &mut inputs.facts {
            facts.read_sb = facts.write_sb.take();
        }
    };
    a_load_of_the_other_side_that_is_forgotten_is_caught: "load on one side", {
        change: |inputs| inputs.facts.iter_mut().for_each(|facts| facts.wait_mask = 0)
    };
    a_load_that_a_barrier_forgets_is_caught: "loads over barriers", {
        change: |inputs| inputs.facts.iter_mut().for_each(|facts| facts.wait_mask &= !1)
    };
    a_depbar_that_is_ignored_is_caught: "DEPBAR over back edges", {
        change: |inputs| replace_completion(inputs, "Depbar", "Fixed")
    };
    bank_conflicts_that_are_dropped_are_caught: "short loop", { ranges: &[("issue.bank_conflict", 0, 0)] };
    a_jump_that_is_not_added_is_caught: "short loop", { ranges: &[("issue.jump", 0, 0)] };
    a_drain_that_is_ignored_is_caught: "drains", {
        change: |inputs| inputs.facts.iter_mut().for_each(|facts| facts.drains = false)
    };
    the_longest_queue_is_caught: "full queue before a load", { ranges: &[("occupancy.queue", 8, 8)] };
    wide_accesses_as_single_words_are_caught: "coalesced loads of 128 bits", {
        change: |inputs| for limits in inputs.accesses.values_mut() {
            limits.bytes = 4;
            for space in &mut limits.spaces {
                space.sectors = space.sectors.min(4);
                space.requests = 4;
            }
        }
    };
    shared_conflicts_that_are_dropped_are_caught: "shuffles among shared accesses", {
        change: |inputs| for limits in inputs.accesses.values_mut() {
            limits.spaces.iter_mut().for_each(|space| space.conflicts = 0);
        }
    };
    the_serial_part_of_shared_atomics_is_caught: "shared atomics", {
        change: |inputs| for limits in inputs.accesses.values_mut() {
            limits.spaces.iter_mut().for_each(|space| space.same_word = 0);
        }
    };
    fewer_sectors_are_caught: "registers of misses", {
        change: |inputs| for limits in inputs.accesses.values_mut() {
            limits.spaces.iter_mut().for_each(|space| space.sectors = 1);
        }
    };
    hits_that_ignore_lines_in_flight_are_caught: "local loads of lines in flight", {
        change: |inputs| for limits in inputs.accesses.values_mut() {
            for space in &mut limits.spaces {
                space.may_miss = false;
                space.may_hit_l1 = false;
            }
        }
    };
    a_fence_without_stores_is_caught: "store buffer, then fence", {
        change: |inputs| replace_completion(inputs, "Fence { device: true", "Fence { device: false")
    };
    lines_that_do_not_stay_are_caught: "jumps between lines of 12 KiB", {
        ranges: &[("instruction.l1_bytes", 65536, 65536), ("instruction.l15_bytes", 65536, 65536)]
    };
    constants_that_do_not_stay_are_caught: "constants in one set", { ranges: &[("constant.l1_ways", 16, 16)] };
    cold_caches_taken_for_warm_ones_are_caught: "loads one after the other", {
        caches: [CacheState::Warm, CacheState::Cold]
    };
    a_smaller_latency_of_dram_is_caught: "loads one after the other", {
        ranges: &[("dram.beyond_l2", 302, 302)],
        caches: [CacheState::Cold; 2]
    };
    loads_that_may_not_miss_are_caught: "loads one after the other", {
        change: |inputs| for limits in inputs.accesses.values_mut() {
            limits.spaces.iter_mut().for_each(|space| space.may_miss = false);
        },
        caches: [CacheState::Cold; 2]
    };
    more_registers_of_misses_are_caught: "registers of misses", { ranges: &[("l1.misses", 512, 512)] };
    a_larger_store_buffer_is_caught: "store buffer", { ranges: &[("l1.stores", 512, 512)] };
}

#[test]
fn prefetches_that_are_ignored_are_caught() {
    let fault = Fault {
        ranges: &[("instruction.ahead", 0, 0)],
        ..NONE
    };
    let ranges = [("instruction.ahead_bandwidth", 250, 250)];
    is_caught_on(&ranges, "jumps between lines", &fault);
}

#[test]
fn translations_that_are_left_out_are_caught() {
    let fault = Fault {
        change: |inputs| inputs.translations = Default::default(),
        caches: [CacheState::Cold; 2],
        ..NONE
    };
    let ranges = [("tlb.l1_page", 4096, 4096), ("tlb.l2_page", 8192, 8192)];
    is_caught_on(&ranges, "pages in several blocks", &fault);
}

#[test]
fn refreshes_that_are_left_out_are_caught() {
    let ranges = [
        ("dram.refresh_interval", 700, 900),
        ("dram.refresh", 300, 500),
    ];
    let fault = Fault {
        change: |inputs| inputs.reaches_dram = false,
        caches: [CacheState::Cold; 2],
        ..NONE
    };
    is_caught_on(&ranges, "loads one after the other", &fault);
}

#[test]
fn write_backs_that_are_left_out_are_caught() {
    let ranges = [
        ("l2.bytes", 16384, 16384),
        ("l2.ways", 4, 4),
        ("l2.slices", 2, 2),
        ("dram.bandwidth", 1000, 2000),
    ];
    let fault = Fault {
        change: |inputs| {
            for limits in inputs.accesses.values_mut() {
                limits
                    .spaces
                    .iter_mut()
                    .for_each(|space| space.may_evict = false);
            }
            inputs.lines_may_evict = false;
        },
        caches: [CacheState::Cold; 2],
        ..NONE
    };
    is_caught_on(&ranges, "write-backs", &fault);
}

#[test]
fn constants_that_all_ways_but_the_most_lose_are_caught() {
    let fault = Fault {
        ranges: &[("constant.l1_ways", 16, 16)],
        ..NONE
    };
    is_caught_on(
        &[("constant.l1_ways", 4, 16)],
        "constants in one set",
        &fault,
    );
}
