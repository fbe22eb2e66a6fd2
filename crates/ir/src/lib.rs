//! What instructions mean, written once and interpreted by every analysis.
//!
//! [`Code`] is one section of machine code in the form the analyses read: operations with
//! condition, reads, writes, control effect and, where there is one yet, a [`Meaning`]. [`lift`]
//! makes it from decoded instructions.

mod atomic;
mod cell;
mod code;
pub mod float;
mod image;
mod lift;
mod maxwell;
mod meaning;
mod mini;
mod nvidia;

pub use atomic::{AtomicKind, AtomicOp};
pub use cell::Cell;
pub use code::{AddressWord, Code, ExecCondition, ControlEffect, CodeFunction, Op, OpIndex, ControlTarget, ValueDependence};
pub use image::{ImageKind, Outside, SurfaceAccess, SurfaceWhat, TextureRead, TextureWhat};
pub use lift::{lift, lift_flow};
pub use maxwell::{cc_test, meaning as meaning_of};
pub use meaning::{
    Address, BarrierArrival, BinaryOp, Expr, Half, Meaning, Question, ShuffleMode, TernaryOp, UnaryOp,
    VoteMode, Width,
};
