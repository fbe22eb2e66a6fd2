//! Code as text, both ways: [`print()`] writes a [`Code`](crate::Code), [`parse()`] reads it back. Text leaves out
//! [`Code::entry_values`](crate::Code::entry_values), so code that is read has no values at its entry.
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
//! A line is a statement about the code or an operation. Statements:
//!
//! | statement | part of the code |
//! |---|---|
//! | `entry 0x0008` | first operation of the kernel; by default the operation of the first line |
//! | `family gcn3` | family of the machines that execute it; the default of `Family` without this line |
//! | `group 32` | bytes of a fetch group |
//! | `function 0x0008 "saxpy"` | function, by its first operation |
//! | `bank 2 "0000803f"` | bytes of a constant bank, in hexadecimal; the next line may continue them |
//! | `external_word c[4][0x18] "vprintf"` | word of a bank: address of an external function, from the loader |
//! | `address_word low "table" + 0x20` | next word of bank 32: `low` or `high` half of an address plus a constant |
//! | `agreed R0, P6, CC` | cells that are equal in all lanes when the kernel begins |
//!
//! An operation is `ADDRESS: [if CONDITION] [warp] [MEANING] [ATTRIBUTES] [CONTROL EFFECT]`. Each lane has cells `R0`
//! to `R255`, `P0` to `P7` and `CC`; the warp has masks `M0` to `M7` and scalars `S0` to `S129`. A condition is `P0`,
//! `!R3` or another cell, `cc(2)`, both as in `!P0 & cc(2)`, or `never`. With `warp`, the operation has the scope
//! [`OpScope::Warp`](crate::OpScope::Warp), and reads cells of lanes only through `from_lane`, unless it writes one.
//! Control effects:
//!
//! | control effect | meaning |
//! |---|---|
//! | `jump TARGET`, `call TARGET` | jump, call |
//! | `branch TARGET reconvergence ADDRESS` | branch with a frame; `end` instead of the address is the end of the code |
//! | `reconverge` | reconvergence of the lanes that diverged at a branch |
//! | `set_active M0` | the mask register becomes the mask of the active lanes |
//! | `indirect relative R1 + 0x10` | jump to the sum, in this code; `absolute`: anywhere; `_`: no register |
//! | `push sync TARGET`, `pop sync` | stack entry of a tag: `sync`, `brk`, `cont`, `ret`, `longjmp`, `exit` |
//! | `exit`, `end` | end of the lanes; the same after the last instruction |
//! | `unsupported "RTT"` | control flow that no analysis follows |
//!
//! Targets are addresses of operations, `external "NAME"` or `invalid "TEXT"`.
//!
//! Special registers have names, `special.thread_x`, or else the number of their instruction set, `special.255`. The
//! names of operations and modifiers are in `text/names.rs` and `text/float.rs`.
//!
//! In most operations, the meaning implies reads, writes, the dependence of the written values and the barrier flag,
//! so text leaves them out. Otherwise `reads(…)`, `writes(…)`, `value(…)` and `barrier(yes)` state them. An operation
//! of unknown meaning is written `WRITES = ?DEPENDENCE(READS)`, or `?` if it reads and writes no cell. An operation
//! without an effect is `nop`. If a line states no meaning, a control effect of GPUs has no other effect.
//!
//! Numbers are decimal or hexadecimal, floating-point constants are their bits.

mod cursor;
mod float;
mod implied;
mod lexer;
mod names;
mod parse;
mod parse_exchange;
mod parse_matrix;
mod parse_meaning;
mod parse_operands;
mod print;
mod print_matrix;

pub use parse::parse;
pub use print::print;
