use std::fmt;

use warpbound_ir::OpIndex;
use warpbound_isa::instr::Space;

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
    NotRunnable,
    /// An access outside the memory.
    OutOfBounds {
        /// Which memory.
        space: Space,
        /// The address.
        address: u64,
        /// What the next buffer below is and how far behind its end the access ends, when there is one.
        near: Option<String>,
    },
    /// An access at an address that is no multiple of its size.
    Misaligned {
        /// Which memory.
        space: Space,
        /// The address.
        address: u64,
        /// The size in bytes.
        size: u32,
    },
    /// SYNC, BRK, CONT or RET without an entry on the stack.
    NoEntry(&'static str),
    /// Warps wait at barriers and nobody else can come.
    Deadlock {
        /// The barrier.
        number: u32,
        /// Threads that are there.
        arrived: u32,
        /// Threads that it waits for.
        expected: u32,
    },
    /// More instructions than allowed.
    TooLong(u64),
    /// The code ends without an EXIT.
    RunsOffTheEnd,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            FaultKind::NotRunnable => {
                f.write_str("what this instruction means is not known yet")?;
            }
            FaultKind::OutOfBounds {
                space,
                address,
                near,
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
            FaultKind::NoEntry(tag) => {
                write!(f, "there is no {tag} entry on the stack")?;
            }
            FaultKind::Deadlock {
                number,
                arrived,
                expected,
            } => write!(
                f,
                "barrier {number} can never be satisfied: {arrived} threads are there, it waits for {expected}"
            )?,
            FaultKind::TooLong(limit) => {
                write!(
                    f,
                    "the warps have issued {limit} instructions without coming to an end"
                )?;
            }
            FaultKind::RunsOffTheEnd => f.write_str("execution runs past the last instruction")?,
        }
        f.write_str(", in ")?;
        if let Some([x, y, z]) = self.thread {
            write!(f, "thread ({x}, {y}, {z}) of ")?;
        }
        let [x, y, z] = self.block;
        write!(f, "block ({x}, {y}, {z})")
    }
}

fn name(space: Space) -> &'static str {
    match space {
        Space::Global => "global",
        Space::Shared => "shared",
        Space::Local => "local",
        Space::Constant => "constant",
        Space::Generic => "generic",
        Space::Texture => "texture",
        Space::Surface => "surface",
        Space::Attribute => "attribute",
    }
}
