//! Code as text, both ways: [`print()`] writes every part of a [`Code`](crate::Code), [`parse()`] reads it back.
//!
//! ```text
//! entry 0x0008
//! group 32
//! function 0x0008 "saxpy"
//! bank 2 "0000803f"
//! 0x0008:  R1 = c[0][0x20]                       ; comments go to the end of the line
//! 0x0010:  if !P0  R4 = add(R2, c[0][0x140])
//! 0x0018:  R2, R3 = load global [R7:R6]
//! 0x0028:  if P0  jump 0x0050
//! 0x0030:  push sync 0x0050
//! 0x0038:  P1 = ?lane(R0)                        ; unknown meaning: writes, dependence, reads
//! 0x0048:  pop sync
//! 0x0050:  exit
//! ```
//!
//! A line is a statement about the code or an operation: its address, its condition (`if P0`, `if !R3`, `if cc(2)`,
//! `if !P0 & cc(2)`, `if never`), its meaning, its control effect. Targets are addresses of operations,
//! `external "NAME"` or `invalid "TEXT"`.
//!
//! Reads, writes, the dependence of the written values and the barrier flag follow from the meaning in most operations
//! and are left out there. Where they do not, `reads(…)`, `writes(…)`, `value(…)` and `barrier(yes)` state them. An
//! operation of unknown meaning is written `WRITES = ?DEPENDENCE(READS)`, or `?` if it reads and writes no cell; one
//! without an effect is `nop`. Where a line states neither, a control effect of GPUs has no other effect.
//!
//! Numbers are decimal or hexadecimal, floating-point constants are their bits.

mod cursor;
mod float;
mod implied;
mod lexer;
mod names;
mod parse;
mod parse_meaning;
mod print;

pub use parse::parse;
pub use print::print;
