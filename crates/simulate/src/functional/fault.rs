//! Faults: errors of a kernel that stop a functional launch, and their messages.

use std::fmt;

use warpbound_base::Named;
use warpbound_ir::OpIndex;
use warpbound_isa::instr::MemorySpace;

use super::Size;

/// An error that stops a launch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    /// The operation.
    pub at: OpIndex,
    /// Index of the block.
    pub block: Size,
    /// Index of the thread in its block, if the fault concerns one thread.
    pub thread: Option<Size>,
    /// Kind of the fault.
    pub kind: FaultKind,
}

/// Kinds of faults.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FaultKind {
    /// The meaning of the operation is not modelled.
    Unsupported,
    /// The operation reads a clock or the number of an SM or warp slot, which only a simulation with time defines.
    NeedsTime,
    /// No source gives a time of the operation, which a simulation with time needs.
    WithoutTime,
    /// The program executed a trap.
    Trap,
    /// An access out of bounds of its memory.
    OutOfBounds {
        /// Memory space.
        space: MemorySpace,
        /// Byte address.
        address: u64,
        /// Position relative to the last buffer that starts below the address, or the size of the memory.
        context: Option<String>,
    },
    /// An access at an address that is not a multiple of its size.
    Misaligned {
        /// Memory space.
        space: MemorySpace,
        /// Byte address.
        address: u64,
        /// Size of the access in bytes.
        size: u32,
    },
    /// The launch binds no texture, or no surface, to an object.
    UnknownObject {
        /// Expected object: texture or surface.
        space: MemorySpace,
        /// Low word of the object.
        handle: u32,
        /// The object of the other kind that has this handle.
        bound_as: Option<String>,
    },
    /// A texture or surface of another kind than the instruction expects.
    WrongKind {
        /// Name of the object.
        name: String,
        /// Kind of the object.
        actual: &'static str,
        /// Kind that the instruction expects.
        expected: &'static str,
    },
    /// An access out of bounds of a surface, by an instruction that traps then.
    OutsideSurface {
        /// Name of the surface.
        name: String,
        /// Byte, row, slice.
        position: [i32; 3],
        /// Layer, for a layered surface.
        layer: Option<u32>,
        /// Size of the access in bytes.
        size: u32,
        /// Size of the surface.
        bounds: String,
    },
    /// SYNC, BRK, CONT or RET without an entry of its tag on the activation stack.
    MissingStackEntry(&'static str),
    /// All warps that have not exited are blocked at barriers that no other warp can reach.
    Deadlock(Vec<BarrierWait>),
    /// All lanes of a warp that have not exited wait for each other.
    WarpDeadlock,
    /// All lanes of a warp wait for each other, and some of them at different `WARPSYNC.COLLECTIVE`. Which code they would
    /// execute together is not known.
    CollectivesApart,
    /// A branch asks for the lanes of a mask, which are not the lanes that execute it, though none of them is elsewhere.
    UncertainGroup,
    /// Lanes of a warp arrive at a barrier that counts threads, without lanes that have not exited. How the hardware counts
    /// them is not modelled.
    PartOfWarpAtBarrier,
    /// A part of the lanes of a warp executes an operation that all of them must execute together.
    PartOfWarp,
    /// An indirect jump to an address without an instruction.
    InvalidJumpTarget(i64),
    /// A jump or call to code outside the file.
    ExternalCode(String),
    /// The listener stopped the launch.
    Stopped,
    /// The launch issued more instructions than its limit.
    InstructionLimit(u64),
    /// Execution continues past the last instruction.
    PastLastInstruction,
    /// The launch is for a machine of another vendor.
    OtherMachine,
    /// The machine has no such order of the warps of a scheduler.
    UnknownPolicy,
    /// A block needs more resources than an SM has.
    BlockTooLarge,
    /// The launch lacks the warp that is to run alone.
    UnknownWarp {
        /// Linear index of its block.
        block: u64,
        /// Number of the warp in its block.
        warp: u32,
    },
}

impl Fault {
    /// Returns a fault of the launch as a whole.
    pub(crate) fn of_launch(kind: FaultKind) -> Fault {
        Fault {
            at: OpIndex(0),
            block: [0; 3],
            thread: None,
            kind,
        }
    }

    /// Whether the launch exceeded its instruction limit.
    pub fn is_instruction_limit(&self) -> bool {
        matches!(self.kind, FaultKind::InstructionLimit(_))
    }
}

/// A warp blocked at a barrier.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BarrierWait {
    /// Index of the warp in its block.
    pub warp: u32,
    /// The operation.
    pub at: OpIndex,
    /// Number of the barrier.
    pub barrier: u32,
    /// Expected number of threads; `None` for all of the block.
    pub threads: Option<u32>,
}

/// Number of blocked warps that a message lists.
const MAX_LISTED_WARPS: usize = 8;

impl fmt::Display for BarrierWait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "warp {} at barrier {}", self.warp, self.barrier)?;
        match self.threads {
            None => Ok(()),
            Some(threads) => write!(f, " for {threads} threads"),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, in ", self.kind)?;
        if let Some([x, y, z]) = self.thread {
            write!(f, "thread ({x}, {y}, {z}) of ")?;
        }
        let [x, y, z] = self.block;
        write!(f, "block ({x}, {y}, {z})")
    }
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FaultKind::Unsupported => {
                f.write_str("the meaning of this instruction is not known yet")
            }
            FaultKind::NeedsTime => {
                f.write_str("clocks and the numbers of SMs and warps need a run with time")
            }
            FaultKind::WithoutTime => f.write_str(
                "the instruction has no timing class, so only a run without time executes it (--functional)",
            ),
            FaultKind::Trap => f.write_str("the kernel stops itself (trap)"),
            FaultKind::OutOfBounds {
                space,
                address,
                context,
            } => {
                let name = space.name();
                write!(f, "address 0x{address:x} is outside the {name} memory")?;
                match context {
                    None => Ok(()),
                    Some(context) => write!(f, " ({context})"),
                }
            }
            FaultKind::Misaligned {
                space,
                address,
                size,
            } => {
                let name = space.name();
                write!(
                    f,
                    "address 0x{address:x} of the {name} memory is no multiple of {size}"
                )
            }
            FaultKind::UnknownObject {
                space,
                handle,
                bound_as,
            } => {
                write!(f, "0x{handle:x} is no {} of the launch", space.name())?;
                match bound_as {
                    None => Ok(()),
                    Some(object) => write!(f, " but {object}"),
                }
            }
            FaultKind::WrongKind {
                name,
                actual,
                expected,
            } => write!(f, "{name} is {actual}, the instruction expects {expected}"),
            FaultKind::OutsideSurface { .. } => write_outside_surface(f, self),
            FaultKind::WarpDeadlock
            | FaultKind::CollectivesApart
            | FaultKind::UncertainGroup
            | FaultKind::PartOfWarpAtBarrier
            | FaultKind::PartOfWarp => f.write_str(message_about_groups(self)),
            FaultKind::MissingStackEntry(tag) => write!(f, "there is no {tag} entry on the stack"),
            FaultKind::Deadlock(waits) => write_deadlock(f, waits),
            FaultKind::InvalidJumpTarget(address) => {
                write!(f, "there is no instruction at 0x{address:x}")
            }
            FaultKind::ExternalCode(name) => write!(f, "goes to {name}, which is not in the file"),
            FaultKind::Stopped => f.write_str("the run was stopped"),
            FaultKind::InstructionLimit(most) => {
                write!(
                    f,
                    "the warps have issued {most} instructions without terminating"
                )
            }
            FaultKind::PastLastInstruction => {
                f.write_str("execution runs past the last instruction")
            }
            FaultKind::OtherMachine => f.write_str("the launch is for another machine"),
            FaultKind::UnknownPolicy => {
                f.write_str("the machine has no such scheduling policy: it has oldest and lrr")
            }
            FaultKind::BlockTooLarge => f.write_str("a block takes more than an SM has"),
            FaultKind::UnknownWarp { block, warp } => write!(f, "there is no warp {block}.{warp}"),
        }
    }
}

/// Returns the message of a fault of groups of lanes; empty for other faults.
fn message_about_groups(fault: &FaultKind) -> &'static str {
    match fault {
        FaultKind::WarpDeadlock => "all lanes of the warp wait for each other, and none can go on",
        FaultKind::CollectivesApart => {
            "lanes wait for each other at different WARPSYNC.COLLECTIVE, and which code they execute together is not known"
        }
        FaultKind::UncertainGroup => {
            "a branch asks for lanes that have exited, or not for all that execute it, and whether it is taken is not known"
        }
        FaultKind::PartOfWarpAtBarrier => {
            "lanes arrive at a barrier without others of their warp, which is not modelled for this GPU"
        }
        FaultKind::PartOfWarp => {
            "not all 32 lanes of the warp execute the operation, which leaves its result undefined"
        }
        _ => "",
    }
}

/// Writes the message of an access outside a surface; nothing for other faults.
fn write_outside_surface(f: &mut fmt::Formatter<'_>, fault: &FaultKind) -> fmt::Result {
    let FaultKind::OutsideSurface {
        name,
        position: [byte, row, slice],
        layer,
        size,
        bounds,
    } = fault
    else {
        return Ok(());
    };
    write!(f, "{size} bytes at byte {byte}, row {row}, slice {slice}")?;
    if let Some(layer) = layer {
        write!(f, " of layer {layer}")?;
    }
    write!(f, " are outside the surface {name}, which has {bounds}")
}

/// Writes the message of a deadlock with the first of its blocked warps.
fn write_deadlock(f: &mut fmt::Formatter<'_>, waits: &[BarrierWait]) -> fmt::Result {
    f.write_str("no other warp can arrive at the barriers where warps wait: ")?;
    for (index, wait) in waits.iter().take(MAX_LISTED_WARPS).enumerate() {
        let comma = if index == 0 { "" } else { ", " };
        write!(f, "{comma}{wait}")?;
    }
    match waits.len().checked_sub(MAX_LISTED_WARPS) {
        None | Some(0) => Ok(()),
        Some(more) => write!(f, " and {more} more"),
    }
}

/// Fault in splitting that tests plant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SplitFault {
    /// The child has all lanes that are not active in its parent, including lanes of siblings (E1).
    BareComplement,
    /// A wave may split unless no lane is active, or all 64 are (E2).
    FullMask,
    /// A split and its parent both arrive at barriers with the threads of the parent before (E4).
    BarrierNotCounted,
    /// EXEC as instructions read it has lanes of siblings (E6).
    UnmaskedReads,
    /// Splits at one branch take one slot together, however often the branch is executed (E7).
    MarkCountedOnce,
}
