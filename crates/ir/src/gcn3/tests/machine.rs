//! A wave with its registers, on which instructions take effect by their meanings.

use std::collections::BTreeMap;

use warpbound_base::CodeAddr;
use warpbound_isa::SpecialReg;
use warpbound_isa::amd::{GcnInstr, WAVE_LANES, scalar};

use crate::gcn3::mode::ModeState;
use crate::gcn3::{MeaningContext, meaning};
use crate::{BinaryOp, Cell, Expr, Meaning, TernaryOp, UnaryOp, ValueDomain, WordHalf, eval};

/// First word of a row of the table of forms, by the text between its effects and its operands.
pub(super) fn row(name: &str) -> u64 {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../isa/amd/gfx803.forms");
    let table = std::fs::read_to_string(path).unwrap();
    let is_row = |line: &&str| {
        let text = line.rsplit('|').next().unwrap_or_default();
        text.split_whitespace().next() == Some(name)
    };
    let line = table.lines().find(is_row);
    let line = line.unwrap_or_else(|| panic!("no row `{name}`"));
    u64::from_str_radix(line.split('/').next().unwrap(), 16).unwrap()
}

/// Instruction with two scalar sources.
pub(super) fn sop2(name: &str, dest: u64, a: u64, b: u64) -> u64 {
    row(name) | dest << 16 | b << 8 | a
}

/// Instruction with one scalar source.
pub(super) fn sop1(name: &str, dest: u64, a: u64) -> u64 {
    row(name) | dest << 16 | a
}

/// Vector instruction with two sources, in 4 bytes.
pub(super) fn vop2(name: &str, dest: u64, a: u64, b: u64) -> u64 {
    row(name) | dest << 17 | b << 9 | a
}

/// Vector instruction in 8 bytes: source 256 + N is vector register N.
pub(super) fn vop3(name: &str, dest: u64, sources: [u64; 3]) -> u64 {
    let [a, b, c] = sources;
    row(name) | dest | a << 32 | b << 41 | c << 50
}

/// Registers of a wave; those that were never set are 0.
#[derive(Clone, Default)]
pub(super) struct Wave {
    scalars: BTreeMap<u8, u32>,
    vectors: BTreeMap<(u8, u32), u32>,
}

impl Wave {
    /// Wave with active lanes.
    pub(super) fn with_active(lanes: u64) -> Wave {
        let mut wave = Wave::default();
        wave.set_pair(scalar::EXEC, lanes);
        wave
    }

    pub(super) fn set_scalar(&mut self, register: u8, value: u32) {
        self.scalars.insert(register, value);
    }

    pub(super) fn set_pair(&mut self, register: u8, value: u64) {
        self.set_scalar(register, value as u32);
        self.set_scalar(register + 1, (value >> 32) as u32);
    }

    /// Gives all lanes a value.
    pub(super) fn set_vector(&mut self, register: u8, value: impl Fn(u32) -> u32) {
        for lane in 0..WAVE_LANES {
            self.vectors.insert((register, lane), value(lane));
        }
    }

    pub(super) fn scalar(&self, register: u8) -> u32 {
        self.scalars.get(&register).copied().unwrap_or(0)
    }

    pub(super) fn pair(&self, register: u8) -> u64 {
        u64::from(self.scalar(register + 1)) << 32 | u64::from(self.scalar(register))
    }

    pub(super) fn vector(&self, register: u8, lane: u32) -> u32 {
        self.vectors.get(&(register, lane)).copied().unwrap_or(0)
    }

    /// Executes an instruction.
    pub(super) fn step(&mut self, word: u64) {
        let meaning = meaning_of(word).unwrap_or_else(|| panic!("no meaning: {word:016x}"));
        self.apply(word, meaning);
    }

    /// Executes an instruction with a meaning.
    pub(super) fn apply(&mut self, word: u64, meaning: Meaning) {
        let Meaning::Set(values) = meaning else {
            panic!("no assignments: {word:016x}");
        };
        let instr = decoded(word);
        let before = self.clone();
        let active = self.pair(scalar::EXEC);
        for (cell, value) in values {
            check_cells(&instr, cell, &value);
            let number = cell.register().number;
            if !cell.is_per_lane() {
                let value = before.word_of_wave(&value, active);
                self.scalars.insert(number, value);
                continue;
            }
            for lane in 0..WAVE_LANES {
                if instr.effects().is_warp_scope || active >> lane & 1 == 1 {
                    let value = before.in_lane(&value, lane);
                    self.vectors.insert((number, lane), value);
                }
            }
        }
    }

    /// Value of an expression over registers of the wave.
    pub(super) fn value(&self, value: &Expr) -> u32 {
        self.in_lane(value, 0)
    }

    fn word_of_wave(&self, value: &Expr, active: u64) -> u32 {
        let Expr::Ballot(holds, half) = value else {
            return self.in_lane(value, 0);
        };
        let lanes = (0..WAVE_LANES).filter(|lane| active >> lane & 1 == 1);
        let lanes = lanes.filter(|&lane| self.in_lane(holds, lane) != 0);
        let mask = lanes.fold(0u64, |mask, lane| mask | 1 << lane);
        match half {
            WordHalf::Low => mask as u32,
            WordHalf::High => (mask >> 32) as u32,
        }
    }

    fn in_lane(&self, value: &Expr, lane: u32) -> u32 {
        eval(value, &mut Lane { wave: self, lane }).unwrap()
    }
}

/// Instruction that a word encodes.
pub(super) fn decoded(word: u64) -> GcnInstr {
    let instr = GcnInstr::decode(CodeAddr(0), word as u32, Some((word >> 32) as u32));
    assert!(instr.form.is_some(), "no instruction: {word:016x}");
    instr
}

/// Meaning of the instruction that a word encodes.
pub(super) fn meaning_of(word: u64) -> Option<Meaning> {
    let instr = decoded(word);
    let context = MeaningContext {
        mode: ModeState::default(),
        instr: &instr,
    };
    meaning(&instr.view().unwrap(), &context)
}

/// Cells that an instruction assigns, with their values.
pub(super) fn assignments(word: u64) -> Option<Vec<(Cell, Expr)>> {
    match meaning_of(word)? {
        Meaning::Set(values) => Some(values.to_vec()),
        _ => None,
    }
}

/// Checks that the effects name the cells of an assignment.
pub(super) fn check_cells(instr: &GcnInstr, dest: Cell, value: &Expr) {
    let effects = instr.effects();
    let name = instr.opcode().unwrap();
    let mut cells = Vec::new();
    collect(value, &mut cells);
    for cell in cells {
        assert!(
            effects.reads.contains(&cell.register()),
            "{name} reads {cell}"
        );
    }
    assert!(
        effects.writes.contains(&dest.register()),
        "{name} writes {dest}"
    );
}

fn collect(value: &Expr, cells: &mut Vec<Cell>) {
    match value {
        Expr::Cell(cell) => cells.push(*cell),
        Expr::FromLane(cell, lane) => {
            cells.push(*cell);
            collect(lane, cells);
        }
        Expr::Const(_) | Expr::ThreadId | Expr::Special(_) => {}
        Expr::Constant(_, a) | Expr::Unary(_, a) | Expr::Ballot(a, _) => collect(a, cells),
        Expr::Binary(_, a, b) => [a, b].into_iter().for_each(|part| collect(part, cells)),
        Expr::Ternary(_, a, b, c) => {
            [a, b, c].into_iter().for_each(|part| collect(part, cells));
        }
        Expr::Float(_, words, _) => words.iter().for_each(|part| collect(part, cells)),
    }
}

/// Values in a lane.
struct Lane<'a> {
    wave: &'a Wave,
    lane: u32,
}

impl ValueDomain for Lane<'_> {
    type Value = u32;

    fn constant(&mut self, value: u32) -> Option<u32> {
        Some(value)
    }

    fn cell(&mut self, cell: Cell) -> Option<u32> {
        let number = cell.register().number;
        Some(match cell.is_per_lane() {
            true => self.wave.vector(number, self.lane),
            false => self.wave.scalar(number),
        })
    }

    fn special(&mut self, register: SpecialReg) -> Option<u32> {
        (register == SpecialReg::LaneId).then_some(self.lane)
    }

    fn unary(&mut self, op: UnaryOp, a: u32) -> Option<u32> {
        Some(op.apply(a))
    }

    fn binary(&mut self, op: BinaryOp, a: u32, b: u32) -> Option<u32> {
        op.apply(a, b)
    }

    fn ternary(&mut self, op: TernaryOp, [a, b, c]: [u32; 3]) -> Option<u32> {
        Some(op.apply(a, b, c))
    }

    fn value_in_lane(&mut self, cell: Cell, lane: u32) -> Option<u32> {
        Some(self.wave.vector(cell.register().number, lane % WAVE_LANES))
    }
}
