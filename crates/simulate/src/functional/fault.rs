use std::fmt;

use warpbound_ir::OpIndex;
use warpbound_isa::instr::MemorySpace;

use super::Size;

/// Why a launch cannot go on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    /// The operation.
    pub at: OpIndex,
    /// The block.
    pub block: Size,
    /// The thread of the block, when it is about one.
    pub thread: Option<Size>,
    /// What happened.
    pub kind: FaultKind,
}

/// What stops a launch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FaultKind {
    /// What the operation means is not known yet.
    Unsupported,
    /// The operation reads a clock, or where its warp is.
    NeedsTime,
    /// The program stops itself.
    Trap,
    /// An access outside the memory.
    OutOfBounds {
        /// Which memory.
        space: MemorySpace,
        /// The address.
        address: u64,
        /// What the next buffer below is and how far behind its end the access ends, when there is one.
        context: Option<String>,
    },
    /// An access at an address that is no multiple of its size.
    Misaligned {
        /// Which memory.
        space: MemorySpace,
        /// The address.
        address: u64,
        /// The size in bytes.
        size: u32,
    },
    /// The launch binds no texture, or no surface, to an object.
    UnknownObject {
        /// Texture or surface.
        space: MemorySpace,
        /// The low word of the object.
        handle: u32,
        /// What the object is instead.
        other: Option<String>,
    },
    /// A texture or a surface that is not what the instruction asks for.
    WrongKind {
        /// Its name.
        name: String,
        /// What it is.
        actual: &'static str,
        /// What is asked for.
        expected: &'static str,
    },
    /// An access outside a surface by an instruction that may not go there.
    OutsideSurface {
        /// The surface.
        name: String,
        /// Byte, row, slice.
        place: [i32; 3],
        /// The layer, where there are some.
        layer: Option<u32>,
        /// Bytes of the access.
        size: u32,
        /// What the surface has.
        bounds: String,
    },
    /// SYNC, BRK, CONT or RET without an entry on the stack.
    MissingStackEntry(&'static str),
    /// Warps wait at barriers and nobody else can come.
    Deadlock(Vec<BarrierWait>),
    /// An indirect jump to an address at which no instruction stands.
    InvalidJumpTarget(i64),
    /// Control goes to code that the file does not contain.
    ExternalCode(String),
    /// The listener has heard enough.
    Stopped,
    /// More instructions than allowed.
    InstructionLimit(u64),
    /// The code ends without an EXIT.
    PastLastInstruction,
    /// A block takes more than an SM has.
    BlockTooLarge,
}

impl Fault {
    /// A fault of no instruction.
    pub(crate) fn of_launch(kind: FaultKind) -> Fault {
        Fault {
            at: OpIndex(0),
            block: [0; 3],
            thread: None,
            kind,
        }
    }

    /// It is that the launch issued more instructions than it may.
    pub fn is_instruction_limit(&self) -> bool {
        matches!(self.kind, FaultKind::InstructionLimit(_))
    }
}

/// A warp that waits at a barrier.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BarrierWait {
    /// Its number in the block.
    pub warp: u32,
    /// The operation.
    pub at: OpIndex,
    /// The barrier.
    pub barrier: u32,
    /// For how many threads it waits; `None` is all of the block.
    pub threads: Option<u32>,
}

/// How many of the waiting warps a message names.
const MOST_WAITERS: usize = 8;

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
        match &self.kind {
            FaultKind::Unsupported => {
                f.write_str("what this instruction means is not known yet")?;
            }
            FaultKind::NeedsTime => {
                f.write_str("clocks and the numbers of SMs and warps need a run with time")?;
            }
            FaultKind::Trap => f.write_str("the kernel stops itself (trap)")?,
            FaultKind::OutOfBounds {
                space,
                address,
                context: near,
            } => {
                write!(
                    f,
                    "address 0x{address:x} is outside the {} memory",
                    name(*space)
                )?;
                if let Some(near) = near {
                    write!(f, " ({near})")?;
                }
            }
            FaultKind::Misaligned {
                space,
                address,
                size,
            } => write!(
                f,
                "address 0x{address:x} of the {} memory is no multiple of {size}",
                name(*space)
            )?,
            FaultKind::UnknownObject {
                space,
                handle,
                other,
            } => {
                write!(f, "0x{handle:x} is no {} of the launch", name(*space))?;
                if let Some(other) = other {
                    write!(f, " but {other}")?;
                }
            }
            FaultKind::WrongKind { name, actual: is, expected: wanted } => {
                write!(f, "{name} is {is}, the instruction asks for {wanted}")?;
            }
            FaultKind::OutsideSurface {
                name,
                place: [byte, row, slice],
                layer,
                size,
                bounds,
            } => {
                write!(f, "{size} bytes at byte {byte}, row {row}, slice {slice}")?;
                if let Some(layer) = layer {
                    write!(f, " of layer {layer}")?;
                }
                write!(f, " are outside the surface {name}, which has {bounds}")?;
            }
            FaultKind::MissingStackEntry(tag) => {
                write!(f, "there is no {tag} entry on the stack")?;
            }
            FaultKind::Deadlock(waiters) => {
                f.write_str("nobody can come to the barriers at which warps wait: ")?;
                for (place, waiter) in waiters.iter().take(MOST_WAITERS).enumerate() {
                    let comma = if place == 0 { "" } else { ", " };
                    write!(f, "{comma}{waiter}")?;
                }
                if waiters.len() > MOST_WAITERS {
                    write!(f, " and {} more", waiters.len() - MOST_WAITERS)?;
                }
            }
            FaultKind::InvalidJumpTarget(address) => {
                write!(f, "there is no instruction at 0x{address:x}")?;
            }
            FaultKind::ExternalCode(name) => {
                write!(f, "goes to {name}, which is not in the file")?
            }
            FaultKind::Stopped => f.write_str("the run was stopped")?,
            FaultKind::InstructionLimit(limit) => {
                write!(
                    f,
                    "the warps have issued {limit} instructions without coming to an end"
                )?;
            }
            FaultKind::PastLastInstruction => f.write_str("execution runs past the last instruction")?,
            FaultKind::BlockTooLarge => f.write_str("a block takes more than an SM has")?,
        }
        f.write_str(", in ")?;
        if let Some([x, y, z]) = self.thread {
            write!(f, "thread ({x}, {y}, {z}) of ")?;
        }
        let [x, y, z] = self.block;
        write!(f, "block ({x}, {y}, {z})")
    }
}

fn name(space: MemorySpace) -> &'static str {
    match space {
        MemorySpace::Global => "global",
        MemorySpace::Shared => "shared",
        MemorySpace::Local => "local",
        MemorySpace::Constant => "constant",
        MemorySpace::Generic => "generic",
        MemorySpace::Texture => "texture",
        MemorySpace::Surface => "surface",
        MemorySpace::Attribute => "attribute",
    }
}
