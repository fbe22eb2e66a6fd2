//! Meaning of instructions, defined once and interpreted by every analysis and simulator.
//!
//! [`Code`] is one section of machine code as analyses read it: operations with condition, reads, writes, control
//! effect and, where it is known, a [`Meaning`]. [`lift()`] makes it from decoded instructions. For example, the
//! meaning of `IADD R0, R1, R2` is the assignment of R1 + R2 to R0.
//!
//! Invariant: an operation without a meaning still has complete reads, writes and control flow, so that flow analyses
//! with it are sound. An interpreter must treat its results as unknown values.
//!
//! # Concepts
//!
//! * operations as analyses read them: `ir/src/code.rs`, `meaning.rs`
//! * control effects as transfers of execution models: `ControlEffect::transfer` in `ir/src/code.rs`
//! * meaning of each opcode: `ir/src/maxwell.rs`, `ir/src/volta.rs` (from Turing on); GCN3: `ir/src/gcn3/scalar.rs`, `vector.rs` (with SDWA and DPP),
//!   `memory.rs`; mini-SIMT: `ir/src/mini.rs`
//! * cells that operations read and write: `ir/src/cell.rs`
//! * operations and registers of the warp: `OpScope` in `ir/src/code.rs`, `is_per_lane` in `cell.rs`; refused in
//!   `analyse/src/thread_cfg.rs`, agreement in `agreement.rs`
//! * evaluation of expressions: `ir/src/eval.rs`; domains of values: `analyse/src/values.rs`, `iterations.rs`,
//!   `launch_profile.rs`, `simulate/src/functional/compile.rs`
//! * floating-point operations on bit patterns: `ir/src/float.rs`; of GCN3: `ir/src/float/gcn.rs`; approximated
//!   functions: `ir/src/float/special.rs`, with the bits of NVIDIA's GPUs
//! * atomic operations: `ir/src/atomic.rs`
//! * products of matrices, fragments in registers, arithmetic of matrix units: `ir/src/matrix.rs`, `ir/src/matrix/`
//! * textures and surfaces as operands: `ir/src/image.rs`
//! * code as text, printed and parsed: `ir/src/text.rs`; programs in it, with what the analyses find:
//!   `testkit/tests/ir`
//! * lifting of NVIDIA's instructions: `ir/src/lift.rs`, `ir/src/nvidia.rs`, `ir/src/nvidia/operands.rs`
//! * lifting of GCN3 (control flow, jumps through registers, registers at the entry, modes): `ir/src/gcn3.rs`,
//!   `ir/src/gcn3/jumps.rs`, `entry.rs`, `mode.rs`
//! * reconvergence points of mini-SIMT: `ir/src/mini.rs`

mod atomic;
mod cell;
mod code;
mod eval;
mod expr;
pub mod float;
mod gcn3;
mod image;
mod lift;
mod matrix;
mod maxwell;
mod meaning;
mod mini;
mod nvidia;
pub mod text;
mod volta;

pub use atomic::{AtomicKind, AtomicOp};
pub use cell::Cell;
pub use code::{
    AddressWord, Code, CodeFunction, ControlEffect, ControlTarget, ExecCondition, FurtherTest, Op,
    OpIndex, OpScope, ValueDependence, tag_of,
};
pub use eval::{ValueDomain, eval};
pub use expr::{BinaryOp, Expr, TernaryOp, UnaryOp, WordHalf};
pub use gcn3::meaning_with_mode;
pub use image::{ImageKind, OutOfBounds, SurfaceAccess, SurfaceOp, TextureOp, TextureRead};
pub use lift::{lift, lift_flow};
pub use matrix::{
    ElementFormat, ElementKind, Fragment, MatrixAccess, MatrixProduct, MatrixRegisters,
    MatrixTranspose, MemoryCopy, SumFormat, SumRule, transposed,
};
pub use maxwell::{cc_test, further_test, meaning as meaning_of};
pub use meaning::{
    Address, AddressedAccess, BarrierArrival, BarrierReduction, BufferOperand, MatchMode, Meaning,
    ShuffleMode, VoteMode, WarpReduction, Width,
};
