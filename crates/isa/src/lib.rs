//! Instruction sets: decoding, printing, reads and writes, control flow, all from tables.
pub mod instr;
