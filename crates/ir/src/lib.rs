//! Meaning of instructions, defined once and interpreted by every analysis and simulator.
//!
//! [`Code`] is one section of machine code as analyses read it: operations with condition, reads, writes, control
//! effect and, where it is known, a [`Meaning`]. [`lift()`] makes it from decoded instructions. For example, the
//! meaning of `IADD R0, R1, R2` is the assignment of R1 + R2 to R0.
//!
//! Invariant: an operation without a meaning still has complete reads, writes and control flow, so that flow analyses
//! with it are sound. An interpreter must treat its results as unknown values.

mod atomic;
mod cell;
mod code;
mod eval;
pub mod float;
mod gcn3;
mod image;
mod lift;
mod maxwell;
mod meaning;
mod mini;
mod nvidia;
pub mod text;

pub use atomic::{AtomicKind, AtomicOp};
pub use cell::Cell;
pub use code::{
    AddressWord, Code, CodeFunction, ControlEffect, ControlTarget, ExecCondition, Op, OpIndex,
    OpScope, ValueDependence,
};
pub use eval::{ValueDomain, eval};
pub use gcn3::meaning_with_mode;
pub use image::{ImageKind, OutOfBounds, SurfaceAccess, SurfaceOp, TextureOp, TextureRead};
pub use lift::{lift, lift_flow};
pub use maxwell::{cc_test, meaning as meaning_of};
pub use meaning::{
    Address, BarrierArrival, BarrierReduction, BinaryOp, BufferOperand, Expr, Meaning, ShuffleMode,
    TernaryOp, UnaryOp, VoteMode, Width, WordHalf,
};
