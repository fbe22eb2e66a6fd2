//! Minimum distances between an instruction of fixed latency and a reader of its result, in cycles between both
//! issues.
//!
//! The latencies are published: 6 cycles for the arithmetic pipes and 12 for predicates (Jia et al., arXiv:1804.06826,
//! Table 4.1, Tesla P4); maxas and Mesa's NAK wait 13 cycles for predicates. Instructions of the queues read
//! their sources some cycles after their issue, and no source says how many. There the minimum is the shortest
//! distance that `ptxas` leaves in our kernels and in NVIDIA's libraries (experiment).
//!
//! For example, `IADD R2, R0, R1` needs 6 cycles before `IADD R3, R2, R2`, and 4 cycles before a queue reads `R2`.

use warpbound_ir::Cell;
use warpbound_isa::nvidia::{
    InstrClass, LatencyKind, Opcode, OperandValue, OperandWord, SassInstr, SassProgram, Timing,
};

/// Cycles after which every result of fixed latency is present.
pub(super) const HORIZON: u8 = 15;

/// Class of an instruction of fixed latency as a producer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum ProducerClass {
    /// Arithmetic pipes and the front end.
    Arithmetic,
    /// Video instructions, which pass a queue: VADD and similar ones, but not VMAD.
    Video,
    /// Double or half precision without a scoreboard.
    Precision,
}

impl ProducerClass {
    pub(super) fn of(program: &SassProgram, instr: &SassInstr) -> ProducerClass {
        match program.timing(instr) {
            Some(timing) if timing.latency == LatencyKind::Either => ProducerClass::Precision,
            // In NCCL 2 the compiler reads the result of VMAD after 6 cycles.
            _ if program.opcode(instr) == Some(Opcode::Vmad) => ProducerClass::Arithmetic,
            Some(timing) if timing.pipes.contains(&"mio") => ProducerClass::Video,
            _ => ProducerClass::Arithmetic,
        }
    }
}

/// Class of an instruction by the time at which it reads its general registers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum ConsumerClass {
    /// Fixed latency, and branches: at the issue.
    AtIssue,
    /// Queues of global memory, textures and special functions.
    SlowQueue,
    /// Other queues.
    Queue,
    /// P2R, which reads predicates at another time than a guard.
    Predicates,
    /// Textures and surfaces. The table names more registers than an instruction may read, so they are not checked.
    Unknown,
}

impl ConsumerClass {
    pub(super) fn of(program: &SassProgram, instr: &SassInstr) -> ConsumerClass {
        let opcode = program.opcode(instr);
        if opcode.is_some_and(|opcode| opcode.class() == InstrClass::TextureSurface) {
            return ConsumerClass::Unknown;
        }
        if opcode == Some(Opcode::P2r) {
            return ConsumerClass::Predicates;
        }
        let Some(timing) = program.timing(instr) else {
            return ConsumerClass::AtIssue;
        };
        match (timing.latency, timing.queue) {
            (LatencyKind::ScoreboardRead | LatencyKind::ScoreboardReadWrite, "tex" | "xu") => {
                ConsumerClass::SlowQueue
            }
            (LatencyKind::ScoreboardRead | LatencyKind::ScoreboardReadWrite, _) => {
                ConsumerClass::Queue
            }
            _ => ConsumerClass::AtIssue,
        }
    }
}

/// Minimum number of cycles between the issue of an instruction and the issue of a reader of its result in `cell`.
pub fn least_distance(producer: ProducerClass, consumer: ConsumerClass, cell: Cell) -> u8 {
    if cell.is_predicate() {
        return match consumer {
            // The shortest distance in hand-written kernels of cuDNN 7.
            ConsumerClass::Predicates => 7,
            _ => 13,
        };
    }
    match (producer, consumer) {
        (_, ConsumerClass::Unknown) => 0,
        (ProducerClass::Video, _) => 11,
        (_, ConsumerClass::AtIssue | ConsumerClass::Predicates) => 6,
        (_, ConsumerClass::SlowQueue) => 2,
        (_, ConsumerClass::Queue) => 4,
    }
}

/// Minimum number of cycles from the issue of an instruction to the next issue of its warp. Codes 29 to 31 are read
/// as in maxas, because no document says how long they wait (docs/timing-model.md).
pub(super) fn distance(instr: &SassInstr, timing: Option<&Timing>) -> u8 {
    let least = timing.map_or(1, |timing| timing.min_wait.max(1));
    match instr.control.usched {
        // The first of a pair issues in the same cycle as the second.
        16 => 0,
        29 => 13,
        30 => 14,
        31 => 15,
        _ => instr.control.min_distance().max(least),
    }
}

/// Scoreboards that a DEPBAR waits for. With a count other than 0 it leaves the latest operations outstanding, which
/// is not checked.
pub(super) fn released(program: &SassProgram, instr: &SassInstr) -> u8 {
    if program.opcode(instr) != Some(Opcode::Depbar) {
        return 0;
    }
    let view = program.view(instr);
    let operands = view.iter().flat_map(|view| &view.operands);
    operands.fold(0, |mask, operand| match operand.value {
        OperandValue::Word {
            word: OperandWord::Scoreboard(number),
            ..
        } => mask | 1_u8.checked_shl(number.into()).unwrap_or(0),
        OperandValue::Word {
            word: OperandWord::Scoreboards(set),
            ..
        } => mask | set,
        _ => mask,
    })
}
