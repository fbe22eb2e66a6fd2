//! Test program around one instruction: threads load registers and predicates, execute it, and store the resulting
//! state.

use std::fmt;

use warpbound_base::CodeAddr;
use warpbound_ir::{Code, lift};
use warpbound_isa::nvidia::SassProgram as Instructions;
use warpbound_isa::{Arch, Program, TargetStyle};
use warpbound_launch::{GlobalMemory, Launch, PathOrder};
use warpbound_load::Kernel;
use warpbound_simulate::functional::launch;

/// First register that instructions under test may name, and the number of these registers.
pub(crate) const FIRST: u8 = 8;
pub(crate) const REGISTERS: usize = 12;
/// Number of predicates with a value: P0 to P3.
pub(crate) const PREDICATES: u32 = 4;

/// Register pair (R2, R3) with the address of the thread's own [`SLOT`] bytes of global memory: the state, then a
/// buffer.
pub(crate) const SLOT_REGISTER: u8 = 2;
const SLOT: usize = 128;
/// Offset of the buffer of a thread in its slot.
pub(crate) const BUFFER_OFFSET: usize = 64;
/// Size of the buffer in bytes; the thread has buffers of the same size in shared and local memory, at the addresses in
/// R5 and R6.
pub(crate) const BUFFER_BYTES: usize = 64;
pub(crate) const SHARED_REGISTER: u8 = 5;
pub(crate) const LOCAL_REGISTER: u8 = 6;
const LOCAL_AT: u32 = 32;

/// Constant bank that instructions under test may name, and its number of words.
pub(crate) const BANK: u8 = 3;
pub(crate) const BANK_WORDS: usize = 1024;

/// State of a thread: registers, predicates and buffer.
#[derive(Clone, PartialEq)]
pub(crate) struct State {
    pub(crate) registers: [u32; REGISTERS],
    pub(crate) predicates: u32,
    pub(crate) room: [u8; BUFFER_BYTES],
}

impl State {
    pub(crate) fn register(&self, number: Option<u8>) -> u32 {
        match number {
            None => 0,
            Some(n) => self.registers[usize::from(n - FIRST)],
        }
    }

    pub(crate) fn set(&mut self, number: Option<u8>, value: u32) {
        if let Some(n) = number {
            self.registers[usize::from(n - FIRST)] = value;
        }
    }

    pub(crate) fn predicate(&self, number: Option<u8>) -> bool {
        number.is_none_or(|n| self.predicates >> n & 1 == 1)
    }

    pub(crate) fn set_predicate(&mut self, number: Option<u8>, value: bool) {
        if let Some(n) = number {
            self.predicates = self.predicates & !(1 << n) | u32::from(value) << n;
        }
    }
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, value) in self.registers.iter().enumerate() {
            write!(f, "R{}={value:08x} ", n + usize::from(FIRST))?;
        }
        write!(f, "P={:04b}", self.predicates)?;
        if self.room.iter().any(|b| *b != 0) {
            write!(f, " room {:02x?}", self.room)?;
        }
        Ok(())
    }
}

/// Memory space of the buffer while the instruction is executed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum BufferSpace {
    Global,
    Shared,
    Local,
}

/// Words of the surrounding instructions (`isa/nvidia/maxwell.forms`).
mod words {
    pub(super) const ALWAYS: u64 = 7 << 16;
    pub(super) const NOP: u64 = 0x50b0_0000_0000_0f00 | ALWAYS;
    pub(super) const EXIT: u64 = 0xe300_0000_0000_000f | ALWAYS;
    /// Word of S2R R0, SR_TID.X.
    pub(super) const TID: u64 = 0xf0c8_0000_0210_0000 | ALWAYS;

    /// Encodes SHL to, from, by.
    pub(super) fn shl(to: u64, from: u64, by: u64) -> u64 {
        0x3848_0000_0000_0000 | ALWAYS | to | from << 8 | by << 20
    }
    /// Encodes MOV to, c[0x0][at].
    pub(super) fn mov(to: u64, at: u64) -> u64 {
        0x4c98_0780_0000_0000 | ALWAYS | to | (at / 4) << 20
    }
    /// Encodes MOV32I to, value.
    pub(super) fn immediate(to: u64, value: u32) -> u64 {
        0x0100_0000_0000_f000 | ALWAYS | to | u64::from(value) << 20
    }
    /// Encodes IADD to, a, b.
    pub(super) fn add(to: u64, a: u64, b: u64) -> u64 {
        0x5c10_0000_0000_0000 | ALWAYS | to | a << 8 | b << 20
    }
    /// Encodes @P IADD to, a, value.
    pub(super) fn add_if(predicate: u64, to: u64, a: u64, value: u64) -> u64 {
        0x3810_0000_0000_0000 | predicate << 16 | to | a << 8 | value << 20
    }
    /// Encodes LOP.AND to, a, value.
    pub(super) fn and(to: u64, a: u64, value: u64) -> u64 {
        0x3847_0000_0000_0000 | ALWAYS | to | a << 8 | value << 20
    }
    /// Encodes ISETP.NE.AND predicate, PT, a, RZ, PT.
    pub(super) fn not_zero(predicate: u64, a: u64) -> u64 {
        0x5b6b_0000_0000_0007 | ALWAYS | predicate << 3 | a << 8 | 0xff << 20 | 7 << 39
    }
    /// Encodes LDG.E.128, LDS.128, LDL.128 or their stores.
    pub(super) fn vector(opcode: u64, register: u64, address: u64, offset: u64) -> u64 {
        opcode | ALWAYS | register | address << 8 | offset << 20
    }
    pub(super) const LDG: u64 = 0xeed6_2000_0000_0000;
    pub(super) const STG: u64 = 0xeede_2000_0000_0000;
    pub(super) const LDS: u64 = 0xef4e_0000_0000_0000;
    pub(super) const STS: u64 = 0xef5e_0000_0000_0000;
    pub(super) const LDL: u64 = 0xef46_0000_0000_0000;
    pub(super) const STL: u64 = 0xef56_0000_0000_0000;
}

/// Offsets of the state and of the predicate bits in a slot, and scratch registers.
const PREDICATES_AT: u64 = 48;
const BITS: u64 = 24;
const SCRATCH: u64 = 28;

/// Test program of an instruction.
pub(crate) struct Machine {
    code: Code,
    /// Text of the instruction as NVIDIA's disassembler prints it.
    pub(crate) text: Option<String>,
    /// Whether the instruction has a meaning.
    pub(crate) is_known: bool,
}

impl Machine {
    pub(crate) fn of(word: u64, room: BufferSpace) -> Machine {
        let mut program = vec![
            words::TID,
            words::shl(4, 0, 7),
            words::mov(2, 0x140),
            words::mov(3, 0x144),
            words::add(2, 2, 4),
            words::shl(SHARED_REGISTER.into(), 0, 6),
            words::immediate(LOCAL_REGISTER.into(), LOCAL_AT),
        ];
        let slot = u64::from(SLOT_REGISTER);
        let other = match room {
            BufferSpace::Global => None,
            BufferSpace::Shared => Some((words::LDS, words::STS, u64::from(SHARED_REGISTER))),
            BufferSpace::Local => Some((words::LDL, words::STL, u64::from(LOCAL_REGISTER))),
        };
        let quarters = || (0..4u64).map(|n| 16 * n);
        if let Some((_, store, base)) = other {
            for at in quarters() {
                program.push(words::vector(
                    words::LDG,
                    SCRATCH,
                    slot,
                    BUFFER_OFFSET as u64 + at,
                ));
                program.push(words::vector(store, SCRATCH, base, at));
            }
        }
        for n in 0..3 {
            program.push(words::vector(words::LDG, 8 + 4 * n, slot, 16 * n));
        }
        program.push(words::vector(words::LDG, BITS, slot, PREDICATES_AT));
        for n in 0..u64::from(PREDICATES) {
            program.push(words::and(SCRATCH, BITS, 1 << n));
            program.push(words::not_zero(n, SCRATCH));
        }
        let under_test = program.len();
        program.push(word);
        program.push(words::immediate(BITS, 0));
        for n in 0..u64::from(PREDICATES) {
            program.push(words::add_if(n, BITS, BITS, 1 << n));
        }
        for n in 0..3 {
            program.push(words::vector(words::STG, 8 + 4 * n, slot, 16 * n));
        }
        program.push(words::vector(words::STG, BITS, slot, PREDICATES_AT));
        if let Some((load, _, base)) = other {
            for at in quarters() {
                program.push(words::vector(load, SCRATCH, base, at));
                program.push(words::vector(
                    words::STG,
                    SCRATCH,
                    slot,
                    BUFFER_OFFSET as u64 + at,
                ));
            }
        }
        program.push(words::EXIT);
        Machine::assembled(&program, under_test)
    }

    fn assembled(program: &[u64], under_test: usize) -> Machine {
        let mut bytes = Vec::new();
        for group in program.chunks(3) {
            bytes.extend(0u64.to_le_bytes());
            for n in 0..3 {
                let word = group.get(n).copied().unwrap_or(words::NOP);
                bytes.extend(word.to_le_bytes());
            }
        }
        let instructions = Instructions::decode(Arch::Sm61, &bytes).expect("whole groups");
        let text = instructions.text(&instructions.instrs[under_test], TargetStyle::Hex);
        let mut kernel = Kernel::default();
        kernel.entry = CodeAddr(8);
        let code = lift(&kernel, &Program::Nvidia(instructions)).expect("it begins at 8");
        let is_known = code.ops[under_test].meaning.is_some();
        Machine {
            code,
            text,
            is_known,
        }
    }

    /// Runs the program and returns the states of the threads after the instruction.
    pub(crate) fn run(
        &self,
        bank: &[u32; BANK_WORDS],
        before: &[State],
    ) -> Result<Vec<State>, String> {
        let mut slots = Vec::new();
        for state in before {
            slots.extend(state.registers.iter().flat_map(|r| r.to_le_bytes()));
            slots.extend(state.predicates.to_le_bytes());
            slots.extend([0; 12]);
            slots.extend(state.room);
        }
        let mut memory = GlobalMemory::default();
        let address = memory.add("slots", slots);
        let mut constants = vec![0u8; 0x150];
        constants[0x140..0x148].copy_from_slice(&address.to_le_bytes());
        let threads = before.len() as u32;
        let run = Launch {
            grid: [1; 3],
            block: [threads, 1, 1],
            shared: threads * BUFFER_BYTES as u32,
            local: LOCAL_AT + BUFFER_BYTES as u32,
            constants: vec![
                (0, constants),
                (BANK, bank.iter().flat_map(|w| w.to_le_bytes()).collect()),
            ],
            textures: Vec::new(),
            surfaces: Vec::new(),
            max_instructions: 1_000_000,
            order: PathOrder::TakenFirst,
            wave_entry: None,
        };
        launch(&self.code, &run, &mut memory).map_err(|fault| fault.to_string())?;
        let bytes = &memory.buffers()[0].bytes;
        let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four"));
        Ok((0..before.len())
            .map(|thread| {
                let slot = thread * SLOT;
                State {
                    registers: std::array::from_fn(|n| word(slot + 4 * n)),
                    predicates: word(slot + PREDICATES_AT as usize),
                    room: std::array::from_fn(|n| bytes[slot + BUFFER_OFFSET + n]),
                }
            })
            .collect())
    }
}
