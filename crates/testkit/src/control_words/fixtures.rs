//! Programs where a bound in cycles is easily too small: one for each rule about what is still in flight when an
//! instruction needs it.

mod global_lines;

use super::ControlWordProgram;
use super::generate::{GLOBAL, LANE, LOCAL, SHARED};
use super::listing::Listing;
use super::words::{self, Operand};

/// Named program.
pub struct CycleFixture {
    /// Name.
    pub name: &'static str,
    /// Program.
    pub program: ControlWordProgram,
}

type Body = fn(&mut Listing);

/// Names and bodies.
const ALL: &[(&str, Body)] = &[
    ("constant that a queued LDC requests", constant_behind_ldc),
    (
        "constant that a queued LDC requests in a loop",
        constant_behind_ldc_in_loop,
    ),
    ("load on one side", load_on_one_side),
    ("load on both sides", load_on_both_sides),
    ("load before a loop", load_before_loop),
    ("DEPBAR over back edges", depbar_over_back_edges),
    ("store buffer", store_buffer),
    ("store buffer, then fence", stores_then_fence),
    ("registers of misses", misses_in_flight),
    ("coalesced loads of 128 bits", coalesced_wide_loads),
    ("uniform loads of 128 bits", uniform_wide_loads),
    ("local accesses of 64 and 128 bits", local_wide_accesses),
    ("local loads of lines in flight", local_lines_in_flight),
    ("cached loads of lines in flight", cached_lines_in_flight),
    ("atomics, then loads", atomics_then_loads),
    ("code of 12 KiB in a loop", code_beyond_l1),
    ("code of 40 KiB in a loop", code_beyond_l15),
    ("jumps between lines", jumps_between_lines),
    ("jumps between lines of 12 KiB", jumps_in_large_code),
    ("constants in one set", constants_in_one_set),
    ("LDC of many addresses", ldc_of_many_addresses),
    ("LDC of two parts of a line in flight", ldc_of_two_parts),
    ("barriers in a loop", barriers_in_loop),
    ("shuffles among shared accesses", shuffles_and_shared),
    ("shared atomics", shared_atomics),
    ("pairs at block ends", pairs_at_block_ends),
    ("drains", drains),
    ("write-backs", write_backs),
    ("code after stores", code_after_stores),
    ("queues", queues),
    ("pages in several blocks", pages_in_several_blocks),
    ("loads over barriers", loads_over_barriers),
    ("lines lost while in flight", lines_lost_in_flight),
    ("loads one after the other", loads_one_by_one),
    ("short loop", short_loop),
    ("waits in a loop", waits_in_loop),
    ("atomics one after the other", atomics_one_by_one),
    ("full queue before a load", full_queue_before_load),
    ("shared atomics in a row", shared_atomics_in_a_row),
    ("lines in one set", lines_in_one_set),
    ("two lines", two_lines),
    ("full queue at the end", full_queue_at_the_end),
    ("busy pipe at the end", busy_pipe_at_the_end),
    ("wait for what was never raised", wait_for_never_raised),
    ("loads that nothing waits for", loads_without_waits),
    ("stores to lines on their way", |l| {
        global_lines::stores_beside_loads(l, 0);
    }),
    (
        "rows that blocks shift",
        global_lines::rows_that_blocks_shift,
    ),
    ("stores beside lines on their way", |l| {
        global_lines::stores_beside_loads(l, 1);
    }),
    ("lines again and again", global_lines::lines_again_and_again),
    (
        "lines from warp to warp",
        global_lines::lines_from_warp_to_warp,
    ),
    (
        "lines of generic addresses",
        global_lines::lines_of_generic_addresses,
    ),
    (
        "long segment from warp to warp",
        long_segment_from_warp_to_warp,
    ),
];

/// Returns the programs.
pub fn all() -> Vec<CycleFixture> {
    let fixture = |&(name, body): &(&'static str, Body)| {
        let mut listing = Listing::new();
        body(&mut listing);
        CycleFixture {
            name,
            program: listing.finish(),
        }
    };
    ALL.iter().map(fixture).collect()
}

/// Returns the program of a name.
///
/// # Panics
///
/// There is none.
pub fn named(name: &str) -> ControlWordProgram {
    let found = all().into_iter().find(|fixture| fixture.name == name);
    found.expect("a name of the list").program
}

/// Constant in a set of the first constant cache, by number: 512 bytes apart.
fn constant(number: u32, offset: u32) -> Operand {
    Operand::Constant(words::BANK, 0x40 + 512 * number + offset)
}

fn read_constant(l: &mut Listing, operand: Operand) {
    l.op(words::mov(30, operand));
}

/// Stores of a sector per lane.
fn divergent_stores(l: &mut Listing, count: u32) {
    l.global(0, 7);
    for nth in 0..count {
        l.op(words::store_global(40, GLOBAL, 32 * (nth % 4), 4));
    }
}

fn ldc(l: &mut Listing, offset: u32) {
    l.op(words::load_constant(20, words::RZ, offset, 4)).write = Some(5);
}

fn constant_behind_ldc(l: &mut Listing) {
    // The line of the second cache is present, and the line of the first cache is not.
    read_constant(l, Operand::Constant(words::BANK, 0x400));
    divergent_stores(l, 6);
    ldc(l, 0x440);
    read_constant(l, Operand::Constant(words::BANK, 0x444));
    l.chain(100, 15);
}

fn constant_behind_ldc_in_loop(l: &mut Listing) {
    for number in 0..9 {
        read_constant(l, constant(number, 0));
    }
    l.global(0, 7);
    l.repeat(12, |l| {
        for nth in 0..6 {
            l.op(words::store_global(40, GLOBAL, 32 * (nth % 4), 4));
        }
        ldc(l, 0x40);
        read_constant(l, constant(0, 4));
        for number in 1..6 {
            read_constant(l, constant(number, 0));
        }
    });
}

fn load_on_one_side(l: &mut Listing) {
    l.repeat(24, |l| {
        l.global(0, 7);
        l.diverge(
            |l| l.op(words::load_global(20, GLOBAL, 0, 4, 0)).write = Some(0),
            |l| l.chain(5, 10),
        );
        l.wait(1);
        l.chain(5, 10);
    });
}

fn load_on_both_sides(l: &mut Listing) {
    l.global(1, 7);
    l.repeat(8, |l| {
        l.diverge(
            |l| {
                l.op(words::load_global(20, GLOBAL, 0, 16, 0)).write = Some(0);
                l.chain(2, 3);
            },
            |l| {
                l.op(words::load_global(24, GLOBAL, 64, 16, 0)).write = Some(1);
                l.wait(1);
            },
        );
        l.chain(1, 5);
        l.wait(2);
    });
}

fn load_before_loop(l: &mut Listing) {
    l.global(0, 7);
    l.op(words::load_global(20, GLOBAL, 0, 4, 0)).write = Some(1);
    l.repeat(24, |l| {
        l.chain(3, 7);
        l.wait(2);
        l.repeat(3, |l| {
            l.wait(4);
            l.op(words::load_global(20, GLOBAL, 32, 4, 0)).write = Some(2);
        });
        l.op(words::load_global(20, GLOBAL, 64, 4, 0)).write = Some(1);
    });
    l.wait(6);
}

fn depbar_over_back_edges(l: &mut Listing) {
    l.global(0, 7);
    l.repeat(30, |l| {
        l.op(words::load_global(20, GLOBAL, 0, 4, 0)).write = Some(0);
        l.op(words::load_global(21, GLOBAL, 32, 4, 0)).write = Some(0);
        l.op(words::load_shared(22, words::RZ, 0, 4)).write = Some(0);
        l.op(words::depbar(0, 2, 0));
        l.chain(1, 4);
    });
    l.op(words::depbar(0, 1, 0));
    l.chain(2, 4);
    l.op(words::depbar(0, 0, 0));
}

fn store_buffer(l: &mut Listing) {
    divergent_stores(l, 40);
    l.op(words::load_global(20, GLOBAL, 0, 4, 0)).write = Some(0);
    l.wait(1);
}

fn stores_then_fence(l: &mut Listing) {
    l.op(words::memory_barrier(0));
    l.repeat(16, |l| {
        divergent_stores(l, 9);
        l.op(words::memory_barrier(1));
        l.op(words::load_global(20, GLOBAL, 0, 4, 0)).write = Some(0);
        l.wait(1);
    });
    divergent_stores(l, 9);
}

fn misses_in_flight(l: &mut Listing) {
    l.global(0, 7);
    l.repeat(8, |l| {
        for nth in 0..12 {
            let slot = l.op(words::load_global(20, GLOBAL, 16 * (nth % 4), 16, 0));
            slot.write = Some(0);
            slot.read = Some(1);
        }
        l.wait(2);
    });
    l.wait(3);
}

fn coalesced_wide_loads(l: &mut Listing) {
    l.global(0, 4);
    for nth in 0..30 {
        l.op(words::load_global(20, GLOBAL, 512 * nth, 16, 0)).write = Some(0);
    }
    l.wait(1);
}

fn uniform_wide_loads(l: &mut Listing) {
    l.op(words::add_low(GLOBAL, 2, words::RZ));
    l.op(words::add_high(GLOBAL + 1, 3, words::RZ));
    l.repeat(4, |l| {
        for nth in 0..12 {
            l.op(words::load_global(20, GLOBAL, 256 * nth, 16, 0)).write = Some(0);
        }
        l.wait(1);
    });
}

fn local_wide_accesses(l: &mut Listing) {
    l.shared_and_local(2, 3);
    l.repeat(4, |l| {
        l.op(words::store_local(20, LOCAL, 256, 8)).read = Some(1);
        l.op(words::load_local(20, LOCAL, 0, 8)).write = Some(0);
        l.op(words::load_local(24, LOCAL, 128, 8)).write = Some(0);
        l.wait(3);
        l.op(words::and(LOCAL, LOCAL, 0xf0));
        l.op(words::store_local(20, LOCAL, 240, 16));
        l.op(words::load_local(20, LOCAL, 240, 16)).write = Some(0);
        l.op(words::load_local(24, LOCAL, 0, 16)).write = Some(0);
        l.wait(1);
        l.op(words::shift_left(LOCAL, 0, 3));
    });
}

fn local_lines_in_flight(l: &mut Listing) {
    l.shared_and_local(2, 2);
    l.op(words::load_local(20, words::RZ, 0, 4)).write = Some(0);
    for nth in 0..8 {
        l.op(words::load_local(20, words::RZ, 16 * nth, 4)).write = Some(0);
        l.op(words::load_local(21, words::RZ, 16 * nth, 4)).write = Some(1);
        l.wait(2);
    }
    l.wait(3);
}

fn cached_lines_in_flight(l: &mut Listing) {
    l.global(0, 2);
    for nth in 0..8 {
        for register in 20..23 {
            l.op(words::load_global(register, GLOBAL, 512 * nth, 4, 2))
                .write = Some(0);
        }
        l.op(words::load_global(24, GLOBAL, 512 * nth, 4, 2)).write = Some(1);
        l.wait(2);
    }
    l.wait(1);
}

fn atomics_then_loads(l: &mut Listing) {
    l.repeat(16, |l| {
        l.global(1, 5);
        l.op(words::atomic(0, 20, GLOBAL, 0, 40)).write = Some(0);
        l.op(words::reduction(0, GLOBAL, 0, 40));
        l.op(words::load_global(21, GLOBAL, 0, 4, 0)).write = Some(1);
        l.wait(2);
        // All lanes at one address.
        l.op(words::add_low(GLOBAL, 4, words::RZ));
        l.op(words::add_high(GLOBAL + 1, 5, words::RZ));
        l.op(words::atomic(0, 20, GLOBAL, 64, 40)).write = Some(0);
        l.op(words::load_global(21, GLOBAL, 64, 4, 0)).write = Some(1);
        l.wait(2);
    });
    l.op(words::reduction(0, GLOBAL, 0, 40));
}

fn code_beyond_l1(l: &mut Listing) {
    l.global(0, 7);
    l.repeat(3, |l| {
        for _ in 0..11 {
            l.op(words::load_global(20, GLOBAL, 0, 4, 0)).write = Some(0);
            l.chain(100, 1);
            l.wait(1);
        }
    });
}

fn code_beyond_l15(l: &mut Listing) {
    l.repeat(2, |l| l.chain(3800, 1));
}

/// Appends blocks of one line of code each, executed in an order that jumps back and forth.
fn scattered_blocks(l: &mut Listing, count: usize, stride: usize) {
    let places: Vec<_> = (0..count).map(|_| l.place()).collect();
    let end = l.place();
    let order: Vec<usize> = (0..count).map(|nth| nth * stride % count).collect();
    let next = |block: usize| {
        let nth = order.iter().position(|&own| own == block).unwrap_or(0);
        order.get(nth + 1).map_or(end, |&next| places[next])
    };
    l.op_to(words::BRANCH, places[0]);
    for (block, &place) in places.iter().enumerate() {
        // 12 instructions in each line of 128 bytes.
        while !l.len().is_multiple_of(12) {
            l.op(words::NOP);
        }
        l.bind(place);
        l.chain(1, 1);
        l.op_to(words::BRANCH, next(block));
    }
    l.bind(end);
}

fn jumps_between_lines(l: &mut Listing) {
    scattered_blocks(l, 31, 7);
    l.repeat(2, |l| scattered_blocks(l, 9, 2));
    scattered_blocks(l, 8, 3);
}

fn jumps_in_large_code(l: &mut Listing) {
    l.repeat(3, |l| scattered_blocks(l, 97, 16));
}

fn constants_in_one_set(l: &mut Listing) {
    l.repeat(6, |l| {
        for number in 0..9 {
            read_constant(l, constant(number, 0));
        }
        l.chain(1, 2);
    });
}

fn ldc_of_many_addresses(l: &mut Listing) {
    l.op(words::shift_left(14, 0, 7));
    l.repeat(4, |l| {
        l.op(words::load_constant(20, 14, 0, 4)).write = Some(0);
        l.op(words::load_constant(22, 14, 64, 8)).write = Some(1);
        read_constant(l, constant(1, 0));
        l.wait(3);
    });
}

fn ldc_of_two_parts(l: &mut Listing) {
    // The second part comes from the second cache, after the arrival of the line there.
    for line in 4..14 {
        for (part, scoreboard) in [(0, 4), (1, 5)] {
            let load = words::load_constant(20, words::RZ, line * 256 + part * 64, 4);
            l.op(load).write = Some(scoreboard);
        }
        l.wait(0b11_0000);
    }
}

fn barriers_in_loop(l: &mut Listing) {
    l.repeat(20, |l| {
        l.op(words::BARRIER);
        read_constant(l, constant(2, 0));
        l.op(words::BARRIER);
        l.op(words::store_shared(20, SHARED, 0, 4));
        l.chain(14, 1);
    });
}

fn shuffles_and_shared(l: &mut Listing) {
    l.shared_and_local(7, 2);
    l.repeat(16, |l| {
        for nth in 0..4 {
            l.op(words::load_shared(20, SHARED, 4 * nth, 4)).write = Some(0);
            let shuffle = l.op(words::shuffle(0, 22, 20, 3));
            (shuffle.write, shuffle.read) = (Some(1), Some(2));
            l.op(words::load_shared(24, SHARED, 0, 16)).write = Some(3);
        }
        l.wait(4);
        l.wait(2);
        l.wait(9);
    });
}

fn shared_atomics(l: &mut Listing) {
    l.shared_and_local(2, 2);
    l.repeat(24, |l| {
        l.op(words::shared_atomic(0, 20, words::RZ, 0, 40)).write = Some(0);
        l.op(words::load_shared(21, SHARED, 0, 4)).write = Some(1);
        l.op(words::shared_atomic(0, 20, SHARED, 0, 40)).write = Some(2);
        l.wait(2);
        l.wait(5);
    });
}

fn pairs_at_block_ends(l: &mut Listing) {
    l.repeat(40, |l| {
        l.op(words::plain3(0, 20, 21, Operand::Register(22), 23))
            .code = 16;
        l.op(words::special_function(0, 24, 25)).code = 16;
        l.diverge(
            |l| {
                l.op(words::plain3(1, 20, 21, Operand::Register(22), 23))
                    .code = 16;
                l.op(words::plain3(0, 20, 21, Operand::Register(22), 23))
                    .code = 16;
            },
            |l| l.op(words::plain(0, 20, 21, Operand::Register(22))).code = 16,
        );
        l.op(words::plain3(0, 20, 21, Operand::Register(22), 23))
            .code = 16;
    });
}

fn drains(l: &mut Listing) {
    l.global(0, 7);
    l.repeat(30, |l| {
        l.op(words::load_global(20, GLOBAL, 0, 4, 0)).write = Some(4);
        l.op(words::store_global(20, GLOBAL, 32, 4)).read = Some(5);
        l.op(words::add_number(41, 41, 1)).code = 0;
        l.chain(2, 1);
    });
}

fn write_backs(l: &mut Listing) {
    l.repeat(4, |l| {
        for buffer in [0, 1] {
            l.global(buffer, 7);
            l.op(words::store_global(20, GLOBAL, 0, 4));
            l.op(words::load_global(21, GLOBAL, 4096, 4, 0)).write = Some(0);
            l.op(words::load_global(22, GLOBAL, 8192, 4, 0)).write = Some(1);
            l.op(words::store_global(20, GLOBAL, 4096, 4));
            l.op(words::store_global(20, GLOBAL, 8192, 4));
            l.wait(3);
        }
        l.op(words::memory_barrier(1));
    });
}

fn code_after_stores(l: &mut Listing) {
    l.repeat(2, |l| {
        divergent_stores(l, 9);
        scattered_blocks(l, 31, 9);
        read_constant(l, constant(3, 0));
    });
}

fn loads_one_by_one(l: &mut Listing) {
    l.global(0, 2);
    for nth in 0..30 {
        l.op(words::load_global(20, GLOBAL, 128 * nth, 4, 0)).write = Some(0);
        l.wait(1);
    }
}

/// Operands of one bank, and a taken branch.
fn short_loop(l: &mut Listing) {
    l.repeat(200, |l| {
        l.op(words::plain3(0, 30, 20, Operand::Register(24), 28));
        l.op(words::plain3(0, 31, 21, Operand::Register(25), 29));
    });
}

fn waits_in_loop(l: &mut Listing) {
    l.repeat(200, |l| {
        l.op(words::special_function(0, 32, 33)).write = Some(0);
        l.wait(1);
    });
}

fn atomics_one_by_one(l: &mut Listing) {
    l.global(0, 2);
    for _ in 0..60 {
        l.op(words::atomic(0, 20, GLOBAL, 0, 40)).write = Some(0);
        l.wait(1);
    }
}

fn full_queue_before_load(l: &mut Listing) {
    l.global(0, 2);
    l.repeat(40, |l| {
        for _ in 0..10 {
            l.op(words::double(0, 22, 24, 26, 28));
        }
        l.op(words::load_global(20, GLOBAL, 0, 4, 0)).write = Some(0);
        l.wait(1);
    });
}

fn loads_over_barriers(l: &mut Listing) {
    l.global(0, 7);
    l.repeat(20, |l| {
        l.op(words::load_global(20, GLOBAL, 0, 4, 0)).write = Some(0);
        l.op(words::load_shared(21, SHARED, 0, 4)).write = Some(1);
        l.op(words::BARRIER);
        l.wait(2);
        l.chain(2, 3);
        l.op(words::BARRIER);
        l.wait(1);
    });
}

/// Blocks of one line, each followed by lines that are prefetched with it; between a block and the next line other
/// blocks of the same set run.
fn lines_lost_in_flight(l: &mut Listing) {
    scattered_blocks(l, 160, 33);
    l.repeat(2, |l| scattered_blocks(l, 161, 16));
}

fn pages_in_several_blocks(l: &mut Listing) {
    for buffer in [2, 4] {
        l.op(words::add_low(GLOBAL, buffer, words::RZ));
        l.op(words::add_high(GLOBAL + 1, buffer + 1, words::RZ));
        for nth in 0..4 {
            l.op(words::load_global(20, GLOBAL, 4096 * nth, 4, 0)).write = Some(0);
            l.wait(1);
            let next = l.place();
            l.op_to(words::BRANCH, next);
            l.bind(next);
        }
    }
}

fn queues(l: &mut Listing) {
    l.shared_and_local(7, 2);
    l.repeat(16, |l| {
        for nth in 0..10 {
            l.op(words::special_function(0, 20, 21)).write = Some(0);
            l.op(words::double(nth, 22, 24, 26, 28)).write = Some(1);
            l.op(words::half(nth, 20, 21, 22, 23)).write = Some(2);
            l.op(words::load_shared(32, SHARED, 0, 16)).write = Some(3);
        }
        l.wait(1);
        l.wait(2);
        l.wait(12);
    });
}

/// Each access holds its unit until the atomic operation before it is complete.
fn shared_atomics_in_a_row(l: &mut Listing) {
    l.shared_and_local(2, 2);
    l.repeat(12, |l| {
        for _ in 0..88 {
            l.op(words::shared_atomic(0, 20, words::RZ, 0, 40));
        }
    });
}

/// Jumps over lines of code that are in one set of the first cache.
fn lines_in_one_set(l: &mut Listing) {
    let places: Vec<_> = (0..5).map(|_| l.place()).collect();
    let end = l.place();
    for (number, &place) in places.iter().enumerate() {
        while !l.len().is_multiple_of(16 * 12) {
            l.op(words::NOP);
        }
        l.bind(place);
        l.op_to(
            words::BRANCH,
            places.get(number + 1).copied().unwrap_or(end),
        );
    }
    l.bind(end);
}

/// Ends while its instructions wait in the queue of a unit.
fn full_queue_at_the_end(l: &mut Listing) {
    for to in 20..28 {
        l.op(words::half(1, to, 10, 11, 12));
    }
}

/// Ends while its last instruction occupies a pipe.
fn busy_pipe_at_the_end(l: &mut Listing) {
    l.op(words::shift_left(40, 41, 1));
}

/// As the one before, but the first instruction waits for a scoreboard.
fn wait_for_never_raised(l: &mut Listing) {
    l.slot(0).waits = 1;
    busy_pipe_at_the_end(l);
}

/// Passes barriers and ends while the loads of all warps fill the window.
fn loads_without_waits(l: &mut Listing) {
    l.global(0, 5);
    l.op(words::load_global(20, GLOBAL, 0, 4, 0)).write = Some(4);
    for _ in 0..4 {
        l.op(words::BARRIER).code = 2;
    }
}

/// Nothing but the fetch of a second line.
fn two_lines(l: &mut Listing) {
    l.chain(13, 1);
}

/// Four short segments between barriers, then one where a warp after the other occupies a unit for 1,920 cycles. In
/// its short segments, a block waits for another block in one sub-partition after the other.
fn long_segment_from_warp_to_warp(l: &mut Listing) {
    l.op(words::special(LANE, words::THREAD_X));
    for _ in 0..4 {
        l.op(words::double(0, 26, 28, 30, 32)).write = Some(0);
        l.op(words::BARRIER).waits = 1;
    }
    for warp in 1..4 {
        // Nine fences for each warp before.
        l.unless_warp((words::LESS, warp), |l| {
            for _ in 0..9 {
                l.op(words::memory_barrier(0));
            }
        });
    }
    for _ in 0..60 {
        l.op(words::double(0, 26, 28, 30, 32));
    }
}
