//! Fingerprints of loops and of memory accesses: a text for each, equal in two builds of a kernel only if a fact
//! about it means the same in both (SOUNDNESS 5.15).
//!
//! The text describes all that decides how often the loop is entered and how often its header runs, or which
//! addresses each thread accesses: a slice of the kernel with its control flow. Registers, addresses and the order of
//! independent instructions leave no trace in it. For example, a loop keeps its fingerprint if the compiler holds the
//! counter in another register.

mod body;
mod events;
mod operands;
mod reaching;
mod slice;
mod text;
mod values;

use std::fmt;

use warpbound_base::{CodeAddr, Named as _};
use warpbound_ir::{Code, OpIndex};
use warpbound_simt::counts::CountedLoop;

use crate::access::{AccessMode, AccessShape, MemoryUnits};
use crate::loops::Loops;
use crate::thread_cfg::ThreadCfg;

use operands::{Operands, condition_text};
use slice::{Slice, Subject};
use values::Values;

/// Fingerprint of a loop.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LoopFingerprint {
    /// Code that decides how often the loop is entered and how often its header runs; the reason if it is not known.
    pub decides: Result<CountSlice, FingerprintObstacle>,
    /// Instructions of the loop, without the instructions of loops inside it: the multiset of their texts without
    /// registers.
    pub body: String,
}

/// Fingerprint of a memory access.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AccessFingerprint {
    /// Code that decides how often each thread executes the access, and with which addresses; the reason if it is not
    /// known.
    pub decides: Result<CountSlice, FingerprintObstacle>,
    /// The access as an instruction: its condition, kind and address without registers.
    pub body: String,
}

/// Code that decides the counts of a loop, or the addresses of an access.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CountSlice {
    /// Canonical text of the slice.
    pub text: String,
    /// Whether values from memory or from constants of the module decide the counts, so that their initial contents in
    /// the binary count as well.
    pub reads_data: bool,
}

/// Reason why the code that decides a loop's counts, or the addresses of an access, is not known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FingerprintObstacle {
    /// The loop is recursion.
    Recursion,
    /// Instruction of unknown effect.
    UnknownInstruction(CodeAddr),
    /// Function outside the file may write registers or memory.
    ExternalCall,
    /// Value from other lanes of the warp, which depends on the lanes that are active.
    OtherLanes(CodeAddr),
    /// Jump through a register, or return that may lead to several places.
    IndirectJump(CodeAddr),
    /// The code keeps words of the warp, or the mask of active lanes, in registers, which are not followed.
    WordsOfWarp,
    /// More operations decide the counts than are compared.
    TooLarge,
    /// The time limit is exceeded.
    TimeLimit,
}

impl fmt::Display for FingerprintObstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FingerprintObstacle::Recursion => f.write_str("it is recursion"),
            FingerprintObstacle::UnknownInstruction(at) => {
                write!(
                    f,
                    "it rests on the instruction at {at}, whose effect is unknown"
                )
            }
            FingerprintObstacle::ExternalCall => {
                f.write_str("it may rest on a function outside the file")
            }
            FingerprintObstacle::OtherLanes(at) => {
                write!(
                    f,
                    "it rests on values of other lanes, from the instruction at {at}"
                )
            }
            FingerprintObstacle::IndirectJump(at) => {
                write!(
                    f,
                    "it rests on the jump at {at}, which may lead to several places"
                )
            }
            FingerprintObstacle::WordsOfWarp => {
                f.write_str("it rests on scalar registers and on the mask of active lanes, which are not compared")
            }
            FingerprintObstacle::TooLarge => {
                f.write_str("more instructions decide it than are compared")
            }
            FingerprintObstacle::TimeLimit => f.write_str("the time limit is exceeded"),
        }
    }
}

/// Maximum number of operations in the slices of all loops of a kernel: each loop has an equal share, whatever the
/// others need, so that a fingerprint does not depend on them. In kernels with thousands of instructions, the slice
/// of a loop that memory decides contains most of the kernel.
const MAX_OPERATIONS: usize = 300_000;

/// Minimum share of a loop.
const MIN_SHARE: usize = 2_000;

/// Computes the fingerprints of all loops, in the order of [`Loops::sites`].
pub fn loop_fingerprints(code: &Code, thread: &ThreadCfg, loops: &Loops) -> Vec<LoopFingerprint> {
    let mut values = Values::new(code, thread);
    let share = MAX_OPERATIONS / loops.sites.len().max(1);
    let share = share.max(MIN_SHARE);
    let sites = loops.sites.iter().enumerate();
    let print = |(fact, site): (usize, &crate::loops::LoopSite)| {
        let of_site = loops.loops.iter().filter(|l| l.fact == fact);
        let of_site: Vec<&CountedLoop> = of_site.collect();
        let decides = match site.recursion {
            Some(_) => Err(FingerprintObstacle::Recursion),
            None => print_slice(code, thread, &mut values, &Subject::Loop(&of_site), share),
        };
        LoopFingerprint {
            decides,
            body: body::print(code, thread, loops, fact),
        }
    };
    sites.map(print).collect()
}

/// Computes the fingerprints of memory accesses; `None` for an operation that accesses no memory at an address.
pub fn access_fingerprints(
    code: &Code,
    thread: &ThreadCfg,
    units: &MemoryUnits,
    accesses: &[OpIndex],
) -> Vec<Option<AccessFingerprint>> {
    let mut values = Values::new(code, thread);
    let share = (MAX_OPERATIONS / accesses.len().max(1)).max(MIN_SHARE);
    let mut print = |&at: &OpIndex| {
        let op = code.get(at)?;
        let shape = AccessShape::of(op, units)?;
        let address = Operands::of_address(code, op, &shape_text(shape))?;
        let body = format!("{} {}", condition_text(op), address.without_cells());
        let subject = Subject::Access {
            at,
            address: &address,
        };
        Some(AccessFingerprint {
            decides: print_slice(code, thread, &mut values, &subject, share),
            body,
        })
    };
    accesses.iter().map(&mut print).collect()
}

/// Finds a slice and writes its text.
fn print_slice<'a>(
    code: &'a Code,
    thread: &'a ThreadCfg,
    values: &mut Values<'a>,
    subject: &Subject<'_>,
    share: usize,
) -> Result<CountSlice, FingerprintObstacle> {
    // Cells of lanes are followed, words of the warp are not.
    if code.writes_words_of_warp() || code.writes_active_mask() {
        return Err(FingerprintObstacle::WordsOfWarp);
    }
    let slice = Slice::find(code, thread, values, subject, share)?;
    text::print(&slice, subject, code, thread, values)
}

/// Text of the kind of an access.
fn shape_text(shape: AccessShape) -> String {
    let mode = match shape.mode {
        AccessMode::Plain => "plain",
        AccessMode::Atomic => "atomic",
        AccessMode::Buffer => "buffer",
        AccessMode::Scalar => "scalar",
    };
    let (space, bytes) = (shape.space.name(), shape.bytes);
    match shape.second_half {
        Some(distance) => format!("{mode} {space} {bytes} and {distance} "),
        None => format!("{mode} {space} {bytes} "),
    }
}
