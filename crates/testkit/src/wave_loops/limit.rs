//! Words of a launch that loops count to, and changes of them.

use fastrand::Rng;

use super::launches::LoopThread;
use crate::wave_splits::machine_code::{MachineCode, Source};

/// Scalar registers of the limits of loops, and the vector register of a limit that lanes have.
pub(super) const LIMIT_REGISTERS: [u8; 3] = [0, 1, 2];
pub(super) const LIMIT_VECTOR: u8 = 4;

/// Scalar registers at the start: the address of the arguments, and the index of the group in x, y, z. The index of the
/// work-item is in the first vector registers.
const KERNARG: u32 = 6;
const GROUP: u8 = 8;

/// Scalar registers that the prologue loads: numbers of groups in x, y, z, sizes of groups in x and y, then the size in z
/// and the remainder in x; the arguments.
const GROUPS: u8 = 12;
const SIZES: u8 = 15;
const SIZE_AND_REMAINDER: u8 = 16;
const ARGUMENTS: u8 = 20;

const S_AND_B32: u32 = 0x8600_0000;
const S_LSHR_B32: u32 = 0x8f00_0000;
const S_ADD_U32: u32 = 0x8000_0000;
const S_MIN_U32: u32 = 0x8380_0000;
const S_MOV_B32: u32 = 0xbe80_0000;
const V_AND_B32: u32 = 0x2600_0000;
const V_LSHRREV_B32: u32 = 0x2000_0000;
const V_ADD_U32: u32 = 0x3200_0000;
const V_MIN_U32: u32 = 0x1c00_0000;
const V_MOV_B32: u32 = 0x7e00_0200;

/// Origin of a word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LimitSource {
    /// Index of the group along an axis.
    Group(usize),
    /// Index of the work-item in its group along an axis.
    Item(usize),
    /// Number of groups along an axis.
    Groups(usize),
    /// Work-items of a group along an axis.
    Size(usize),
    /// Work-items of a group in z, and above it the work-items of the last group in x if it is not whole.
    SizeAndRemainder,
    /// Argument, by its number after the buffer.
    Argument(usize),
}

/// Change of a word, modulo 2^32.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LimitChange {
    /// Bits that stay.
    And(u32),
    /// Shift to the right by some bits.
    Shift(u32),
    /// Sum.
    Add(u32),
    /// Smaller of both.
    Min(u32),
}

/// Word that a loop counts to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LimitWord {
    /// Origin.
    pub source: LimitSource,
    /// Changes, in order.
    pub changes: Vec<LimitChange>,
}

/// Writes the loads of the words.
pub(super) fn load(code: &mut MachineCode) {
    // s_load_dwordx4, s_load_dword.
    for (op, register, offset) in [
        (2, GROUPS, 24),
        (0, SIZE_AND_REMAINDER, 40),
        (2, ARGUMENTS, 8),
    ] {
        code.put(&[
            0xc002_0000 | op << 18 | u32::from(register) << 6 | KERNARG >> 1,
            offset,
        ]);
    }
}

impl LimitWord {
    /// Draws a word.
    pub(super) fn draw(rng: &mut Rng) -> LimitWord {
        let axis = rng.usize(0..3);
        let source = match rng.u8(0..12) {
            0..=4 => LimitSource::Group(axis),
            5 | 6 => LimitSource::Item(axis),
            7 => LimitSource::Groups(axis),
            8 => LimitSource::Size(axis),
            9 => LimitSource::SizeAndRemainder,
            _ => LimitSource::Argument(axis),
        };
        let changes = (0..rng.usize(0..3)).map(|_| match rng.u8(0..5) {
            0 => LimitChange::And([0xff, 0xffff, 0xf_fffe][rng.usize(0..3)]),
            1 => LimitChange::Shift(rng.u32(1..20)),
            2 => LimitChange::Min([40, 70_000, 200_000][rng.usize(0..3)]),
            _ => LimitChange::Add([1, 2, 7, 1000][rng.usize(0..4)]),
        });
        let changes = changes.collect();
        LimitWord { source, changes }
    }

    /// Whether lanes have different words.
    pub(super) fn is_of_lane(&self) -> bool {
        matches!(self.source, LimitSource::Item(_))
    }

    /// Word of a thread.
    pub(super) fn value(&self, thread: &LoopThread) -> u32 {
        let launch = &thread.launch;
        let word = match self.source {
            LimitSource::Group(axis) => thread.group[axis],
            LimitSource::Item(axis) => thread.item[axis],
            LimitSource::Groups(axis) => launch.grid[axis],
            LimitSource::Size(axis) => launch.block[axis],
            LimitSource::SizeAndRemainder => launch.remainder << 16 | launch.block[2],
            LimitSource::Argument(number) => launch.arguments[number],
        };
        self.changes
            .iter()
            .fold(word, |word, change| match *change {
                LimitChange::And(mask) => word & mask,
                LimitChange::Shift(bits) => word >> bits,
                LimitChange::Add(more) => word.wrapping_add(more),
                LimitChange::Min(most) => word.min(most),
            })
    }

    /// Writes the computation of the word, into the register of a loop or into the vector register.
    pub(super) fn write(&self, code: &mut MachineCode, number: usize) {
        let to = LIMIT_REGISTERS[number];
        let own = Source::Scalar(to);
        let scalar = |register: u8| Source::Scalar(register);
        let halves = Source::Number(0xffff);
        match self.source {
            LimitSource::Item(axis) => {
                let item = Source::Vector(axis as u8);
                code.vop1(V_MOV_B32, LIMIT_VECTOR, item);
                return self.change_vector(code);
            }
            LimitSource::Group(axis) => code.sop1(S_MOV_B32, to, scalar(GROUP + axis as u8)),
            LimitSource::Groups(axis) => code.sop1(S_MOV_B32, to, scalar(GROUPS + axis as u8)),
            LimitSource::Size(0) => code.sop2(S_AND_B32, to, scalar(SIZES), halves),
            LimitSource::Size(1) => code.sop2(S_LSHR_B32, to, scalar(SIZES), Source::Number(16)),
            LimitSource::Size(_) => code.sop2(S_AND_B32, to, scalar(SIZE_AND_REMAINDER), halves),
            LimitSource::SizeAndRemainder => code.sop1(S_MOV_B32, to, scalar(SIZE_AND_REMAINDER)),
            LimitSource::Argument(number) => {
                code.sop1(S_MOV_B32, to, scalar(ARGUMENTS + number as u8));
            }
        }
        for change in &self.changes {
            let (form, number) = match *change {
                LimitChange::And(mask) => (S_AND_B32, mask),
                LimitChange::Shift(bits) => (S_LSHR_B32, bits),
                LimitChange::Add(more) => (S_ADD_U32, more),
                LimitChange::Min(most) => (S_MIN_U32, most),
            };
            code.sop2(form, to, own, Source::Number(number));
        }
    }

    fn change_vector(&self, code: &mut MachineCode) {
        for change in &self.changes {
            let (form, number) = match *change {
                LimitChange::And(mask) => (V_AND_B32, mask),
                LimitChange::Shift(bits) => (V_LSHRREV_B32, bits),
                LimitChange::Add(more) => (V_ADD_U32, more),
                LimitChange::Min(most) => (V_MIN_U32, most),
            };
            code.vop2(form, LIMIT_VECTOR, Source::Number(number), LIMIT_VECTOR);
        }
    }
}
