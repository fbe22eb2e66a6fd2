//! Least distances between an instruction of fixed latency and a reader of its result, in cycles between both issues.
//!
//! The latencies are published (Jia et al., arXiv:1804.06826, Table 4.1: 6 for the arithmetic pipes of Pascal, 12 for
//! predicates, which maxas and Mesa's NAK wait 13 cycles for). Instructions of the queues read their sources some cycles
//! after their issue; by how much, no source says: there the least distances are the shortest that `ptxas` leaves in
//! kernels of ours and of NVIDIA's libraries (experiment).

use warpbound_ir::Cell;
use warpbound_isa::nvidia::{
    InstrClass, LatencyKind, Opcode, OperandValue, OperandWord, SassInstr, SassProgram, Timing,
};

/// Cycles after which every result of fixed latency is present.
pub(super) const HORIZON: u8 = 15;

/// Instructions of fixed latency by their result.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum ProducerClass {
    /// Pipes of arithmetic, front end.
    Arithmetic,
    /// Video instructions, which pass a queue (VADD and its kind, but VMAD).
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

/// Instructions by when they read their general registers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum ConsumerClass {
    /// Fixed latency, branches: at the issue.
    AtIssue,
    /// Queues of global memory, textures and special functions.
    SlowQueue,
    /// Other queues.
    Queue,
    /// P2R, which reads predicates later than a guard does.
    Predicates,
    /// Textures and surfaces: the table names more registers than an instruction may read, so nothing is checked.
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

/// Least cycles between the issue of an instruction and that of a reader of its result in `cell`.
pub fn least_distance(producer: ProducerClass, consumer: ConsumerClass, cell: Cell) -> u8 {
    if cell.is_predicate() {
        return match consumer {
            // The shortest in hand-written kernels of cuDNN 7.
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

/// Fewest cycles from the issue of an instruction to the next of its warp. Codes 29 to 31 as maxas reads them: no document
/// says how long they wait (docs/timing-model.md).
pub(super) fn distance(instr: &SassInstr, timing: Option<&Timing>) -> u8 {
    let least = timing.map_or(1, |timing| timing.min_wait.max(1));
    match instr.control.usched {
        16 => 0,
        29 => 13,
        30 => 14,
        31 => 15,
        _ => instr.control.min_distance().max(least),
    }
}

/// Scoreboards that a DEPBAR waits for. To a count other than 0 it leaves the latest operations; what is left is not
/// checked.
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
