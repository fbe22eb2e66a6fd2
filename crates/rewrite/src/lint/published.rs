//! Required distances of GPUs whose latencies are published, of all chips the same.
//!
//! The latencies are published: 6 cycles for the arithmetic pipes and 12 for predicates (Jia et al., arXiv:1804.06826,
//! Table 4.1, Tesla P4); maxas and Mesa's NAK wait 13 cycles for predicates. Instructions of the queues read
//! their sources some cycles after their issue, and no source says how many. There the minimum is the shortest
//! distance that `ptxas` leaves in our kernels and in NVIDIA's libraries (experiment).
//!
//! For example, `IADD R2, R0, R1` needs 6 cycles before `IADD R3, R2, R2`, and 4 cycles before a queue reads `R2`.

use std::sync::LazyLock;

use warpbound_isa::nvidia::{LatencyKind, Opcode, SassInstr, SassProgram};

use super::distances::{Classes, Distances, RegisterUse};

/// Cycles after which every result of fixed latency is present.
const HORIZON: u8 = 15;

/// Producers: arithmetic pipes and the front end.
const ARITHMETIC: &str = "arithmetic";
/// Video instructions, which pass a queue: VADD and similar ones, but not VMAD.
const VIDEO: &str = "video";
/// Double or half precision without a scoreboard.
const PRECISION: &str = "precision";
/// Readers by the time at which they read their general registers. Fixed latency, and branches: at the issue.
const AT_ISSUE: &str = "at issue";
/// Queues of global memory, textures and special functions.
const SLOW_QUEUE: &str = "slow queue";
/// Other queues.
const QUEUE: &str = "queue";
/// P2R, which reads predicates at another time than a guard.
const PREDICATES: &str = "predicates";

/// Required distances: producer, reader, registers, predicates.
const REQUIRED: &[(&str, &str, u8, u8)] = &[
    (ARITHMETIC, AT_ISSUE, 6, 13),
    // 7: the shortest distance in hand-written kernels of cuDNN 7.
    (ARITHMETIC, PREDICATES, 6, 7),
    (ARITHMETIC, SLOW_QUEUE, 2, 13),
    (ARITHMETIC, QUEUE, 4, 13),
    (PRECISION, AT_ISSUE, 6, 13),
    (PRECISION, PREDICATES, 6, 7),
    (PRECISION, SLOW_QUEUE, 2, 13),
    (PRECISION, QUEUE, 4, 13),
    (VIDEO, AT_ISSUE, 11, 13),
    (VIDEO, PREDICATES, 11, 7),
    (VIDEO, SLOW_QUEUE, 11, 13),
    (VIDEO, QUEUE, 11, 13),
];

/// Required distances of all chips. Results that are written again are not judged: no source states a distance.
pub(super) static DISTANCES: LazyLock<Distances> = LazyLock::new(|| {
    let classes = [
        ARITHMETIC, VIDEO, PRECISION, AT_ISSUE, SLOW_QUEUE, QUEUE, PREDICATES,
    ];
    let mut distances = Distances::new(&classes, HORIZON);
    for &(producer, reader, registers, predicates) in REQUIRED {
        for (used, cycles) in [("R", registers), ("P", predicates), ("@P", predicates)] {
            // A guard is read as any other predicate here.
            if let Some(used) = RegisterUse::named(used) {
                let (producer, reader) = (distances.class(producer), distances.class(reader));
                distances.require(producer, reader, used, cycles);
            }
        }
    }
    distances
});

/// Classes of an instruction.
pub(super) fn classes(distances: &Distances, program: &SassProgram, instr: &SassInstr) -> Classes {
    Classes::of(distances, producer(program, instr), reader(program, instr))
}

fn producer(program: &SassProgram, instr: &SassInstr) -> &'static str {
    match program.timing(instr) {
        Some(timing) if timing.latency == LatencyKind::Either => PRECISION,
        // In NCCL 2 the compiler reads the result of VMAD after 6 cycles.
        _ if program.opcode(instr) == Some(Opcode::Vmad) => ARITHMETIC,
        Some(timing) if timing.pipes.contains(&"mio") => VIDEO,
        _ => ARITHMETIC,
    }
}

fn reader(program: &SassProgram, instr: &SassInstr) -> &'static str {
    if program.opcode(instr) == Some(Opcode::P2r) {
        return PREDICATES;
    }
    let Some(timing) = program.timing(instr) else {
        return AT_ISSUE;
    };
    match (timing.latency, timing.queue) {
        (LatencyKind::ScoreboardRead | LatencyKind::ScoreboardReadWrite, "tex" | "xu") => {
            SLOW_QUEUE
        }
        (LatencyKind::ScoreboardRead | LatencyKind::ScoreboardReadWrite, _) => QUEUE,
        _ => AT_ISSUE,
    }
}
