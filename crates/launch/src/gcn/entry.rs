//! Registers of a wave when it begins. For example, a kernel that requests the block index in x finds it in the first
//! SGPR after the user SGPRs.

use std::ops::Range;

use warpbound_load::GcnDescriptor;

use super::{LANES, words};
use crate::launch::Size;

/// Initial state of the waves of a launch. Registers without a value are undefined at the start.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WaveEntry {
    pub(super) descriptor: GcnDescriptor,
    pub(super) block: Size,
    pub(super) grid: Size,
    /// Values of the user SGPRs, from s0 on. The descriptor may state more registers than it fills.
    pub(super) user: Vec<u32>,
    /// Bytes of scratch of a lane, a multiple of 4.
    pub(super) lane_scratch: u32,
    /// Address of the first byte of the kernel's code.
    pub(super) code_base: u64,
}

/// Numbers of scalar cells, as `isa::RegisterKind::Scalar` counts them, besides the SGPRs.
const EXEC_LOW: u8 = 126;
const EXEC_HIGH: u8 = 127;
const MODE: u8 = 129;

/// Bit of the word with facts about the block that marks its first wave (gem5, `ComputeUnit::startWavefront`).
const FIRST_WAVE: u32 = 1 << 31;

impl WaveEntry {
    /// Returns the state for a size of blocks and a number of blocks in the grid. `user` has the values of the user
    /// SGPRs from s0 on, `lane_scratch` the bytes of scratch of a lane (a multiple of 4), and `code_base` is the
    /// address of the first byte of the code.
    pub fn new(
        descriptor: GcnDescriptor,
        [block, grid]: [Size; 2],
        user: Vec<u32>,
        lane_scratch: u32,
        code_base: u64,
    ) -> WaveEntry {
        WaveEntry {
            descriptor,
            block,
            grid,
            user,
            lane_scratch,
            code_base,
        }
    }

    /// Number of waves of a block.
    pub fn waves(&self) -> u32 {
        self.threads().div_ceil(LANES)
    }

    /// Returns the lanes of a wave that exist, which are its initial mask of active lanes. For example, wave 1 of a
    /// block of 100 work-items has the lowest 36 lanes.
    pub fn lanes(&self, wave: u32) -> u64 {
        // Waves past the last one have no lanes.
        let first = wave.saturating_mul(LANES);
        match self.threads().saturating_sub(first) {
            0 => 0,
            threads => u64::MAX >> (LANES - threads.min(LANES)),
        }
    }

    /// Address of the first byte of the kernel's code (`s_getpc` adds the position in the code).
    pub fn code_base(&self) -> u64 {
        self.code_base
    }

    /// Bytes of scratch of a lane, a multiple of 4.
    pub fn lane_scratch(&self) -> u32 {
        self.lane_scratch
    }

    /// SGPRs that a wave may use, VCC, FLAT_SCRATCH and XNACK_MASK included.
    pub fn scalar_count(&self) -> u16 {
        self.descriptor.scalar_registers()
    }

    /// VGPRs that a wave may use.
    pub fn vector_count(&self) -> u16 {
        self.descriptor.vector_registers()
    }

    /// Start value of MODE.
    pub fn mode(&self) -> u32 {
        self.descriptor.mode()
    }

    /// User SGPRs with the addresses of the dispatch packet, the queue and the arguments.
    pub fn runtime_pointers(&self) -> Range<u8> {
        self.descriptor.runtime_pointers()
    }

    /// Scalar cells of a wave that are defined when it begins, with their values: SGPRs, EXEC (126, 127), MODE (129).
    pub fn scalars(&self, group: Size, wave: u32) -> Vec<(u8, u32)> {
        let mut all = numbered(0, &self.user);
        let first = self.descriptor.user_registers();
        all.extend(numbered(first, &self.system(group, wave)));
        let [low, high] = words(self.lanes(wave));
        all.push((EXEC_LOW, low));
        all.push((EXEC_HIGH, high));
        all.push((MODE, self.mode()));
        all
    }

    /// Values of the SGPRs after the user SGPRs.
    fn system(&self, group: Size, wave: u32) -> Vec<u32> {
        // The order of the ABI: block indices, facts about the block, offset of the wave's scratch.
        let mut values = Vec::new();
        for (axis, index) in (0..).zip(group) {
            if self.descriptor.has_block_index(axis) {
                values.push(index);
            }
        }
        if self.descriptor.has_block_info() {
            let first = if wave == 0 { FIRST_WAVE } else { 0 };
            // The number of waves has six bits.
            values.push(first | self.waves() & 0x3f);
        }
        if self.descriptor.has_wave_offset() {
            values.push(wave.wrapping_mul(self.lane_scratch.wrapping_mul(LANES)));
        }
        values
    }

    /// VGPRs of a wave that are defined when it begins, from v0 on, lane by lane: the index of the work-item in its
    /// block along x, y, z. Lanes that do not exist have 0.
    pub fn vectors(&self, wave: u32) -> Vec<[u32; LANES as usize]> {
        let [x, y, _] = self.block.map(|size| size.max(1));
        let exists = self.lanes(wave);
        let index = |axis: u32, lane: u32| {
            let thread = wave.wrapping_mul(LANES).wrapping_add(lane);
            match axis {
                _ if exists >> lane & 1 == 0 => 0,
                0 => thread % x,
                1 => thread / x % y,
                _ => thread / x / y,
            }
        };
        let registers = 0..self.descriptor.index_registers();
        registers
            .map(|axis| {
                let mut row = [0; LANES as usize];
                for (value, lane) in row.iter_mut().zip(0..) {
                    *value = index(axis, lane);
                }
                row
            })
            .collect()
    }

    /// Work-items of a block.
    fn threads(&self) -> u32 {
        let threads: u64 = self.block.iter().map(|&size| u64::from(size)).product();
        u32::try_from(threads).unwrap_or(u32::MAX)
    }
}

/// Pairs values with the numbers of their registers, from `first` on.
fn numbered(first: u32, values: &[u32]) -> Vec<(u8, u32)> {
    let numbers = (first..).map_while(|number| u8::try_from(number).ok());
    numbers.zip(values.iter().copied()).collect()
}
