//! Words of random programs (GCN3 ISA manual, chapter 13).

use fastrand::Rng;
use warpbound_base::CodeAddr;

/// `s_endpgm`.
pub(super) const ENDPGM: u32 = 0xbf81_0000;

/// Scalar registers: the kernel's arguments; pointers to two buffers; a number; results of the program; loop counters;
/// masks.
const KERNARG: u32 = 6;
const FRAME: u32 = 8;
const PLACES: u32 = 10;
const NUMBER: u32 = 12;
const RESULTS: u32 = 16;
const COUNTER: u32 = 32;
const MASK: u32 = 36;
const VCC: u32 = 106;
const M0: u32 = 124;
const EXEC: u32 = 126;

/// First operand of constants: 128 is 0; vector registers follow 256.
const ZERO: u32 = 128;
const MINUS_ONE: u32 = 193;
const VGPR: u32 = 256;

/// Vector registers: byte offset of the lane, address in LDS, addresses in both buffers; from 8 to 15 results.
const OFFSET: u32 = 2;
const IN_LDS: u32 = 3;
const IN_FRAME: u32 = 4;
const IN_PLACES: u32 = 6;

/// Deepest nest of loops and of branches.
const MOST_DEPTH: usize = 2;

/// Program under construction.
pub(super) struct Words<'a> {
    rng: &'a mut Rng,
    words: Vec<u32>,
    loops: Vec<(CodeAddr, u64)>,
}

impl<'a> Words<'a> {
    pub(super) fn new(rng: &'a mut Rng) -> Words<'a> {
        Words {
            rng,
            words: Vec::new(),
            loops: Vec::new(),
        }
    }

    pub(super) fn finish(self) -> (Vec<u32>, Vec<(CodeAddr, u64)>) {
        (self.words, self.loops)
    }

    pub(super) fn append(&mut self, words: &[u32]) {
        self.words.extend_from_slice(words);
    }

    fn push(&mut self, word: u32) {
        self.words.push(word);
    }

    fn sopp(&mut self, op: u32, operand: u32) {
        self.push(0xbf80_0000 | op << 16 | operand & 0xffff);
    }

    fn sop1(&mut self, op: u32, dst: u32, src: u32) {
        self.push(0xbe80_0000 | dst << 16 | op << 8 | src);
    }

    fn sop2(&mut self, op: u32, dst: u32, [a, b]: [u32; 2]) {
        self.push(0x8000_0000 | op << 23 | dst << 16 | b << 8 | a);
    }

    fn sopc(&mut self, op: u32, [a, b]: [u32; 2]) {
        self.push(0xbf00_0000 | op << 16 | b << 8 | a);
    }

    fn movk(&mut self, dst: u32, value: u32) {
        self.push(0xb000_0000 | dst << 16 | value & 0xffff);
    }

    fn vop1(&mut self, op: u32, dst: u32, src: u32) {
        self.push(0x7e00_0000 | dst << 17 | op << 9 | src);
    }

    fn vop2(&mut self, op: u32, dst: u32, src: u32, second: u32) {
        self.push(op << 25 | dst << 17 | second << 9 | src);
    }

    fn vopc(&mut self, op: u32, src: u32, second: u32) {
        self.push(0x7c00_0000 | op << 17 | second << 9 | src);
    }

    fn vop3(&mut self, op: u32, dst: u32, [a, b, c]: [u32; 3]) {
        self.push(0xd000_0000 | op << 16 | dst);
        self.push(c << 18 | b << 9 | a);
    }

    fn smem(&mut self, op: u32, dst: u32, base: u32, offset: u32) {
        self.push(0xc002_0000 | op << 18 | dst << 6 | base >> 1);
        self.push(offset);
    }

    fn flat(&mut self, op: u32, dst: u32, address: u32, data: u32) {
        self.push(0xdc00_0000 | op << 18);
        self.push(dst << 24 | data << 8 | address);
    }

    fn ds(&mut self, op: u32, dst: u32, data: u32) {
        self.push(0xd800_0000 | op << 17);
        self.push(dst << 24 | data << 8 | IN_LDS);
    }

    /// Loads the arguments and computes the addresses of each lane, with random distances of the lanes.
    pub(super) fn prologue(&mut self) {
        self.smem(1, FRAME, KERNARG, 0);
        self.smem(1, PLACES, KERNARG, 0x28);
        self.smem(0, NUMBER, KERNARG, 0x20);
        self.sop1(0, M0, MINUS_ONE);
        let shifts = [
            self.rng.u32(2..=8),
            self.rng.u32(2..=8),
            self.rng.u32(3..=6),
        ];
        self.wait(15, 0);
        for (vector, scalar, shift) in
            [(IN_FRAME, FRAME, shifts[0]), (IN_PLACES, PLACES, shifts[1])]
        {
            // v_lshlrev_b32, v_add_u32, v_mov_b32, v_addc_u32.
            self.vop2(18, OFFSET, ZERO + shift, 0);
            self.vop2(25, vector, scalar, OFFSET);
            self.vop1(1, vector + 1, scalar + 1);
            self.vop2(28, vector + 1, ZERO, vector + 1);
        }
        self.vop2(18, IN_LDS, ZERO + shifts[2], 0);
        for register in 8..16 {
            self.vop1(1, register, ZERO + register);
        }
        for register in RESULTS..COUNTER {
            self.sop1(0, register, ZERO + register - RESULTS);
        }
    }

    pub(super) fn end(&mut self) {
        self.push(ENDPGM);
    }

    fn wait(&mut self, vm: u32, lgkm: u32) {
        self.sopp(12, vm | 0x70 | lgkm << 8);
    }

    /// Writes some random instructions, with loops and branches to a depth.
    pub(super) fn block(&mut self, size: usize, depth: usize) {
        let mut left = size;
        while left > 0 {
            left -= 1;
            let nested = depth < MOST_DEPTH && left >= 4;
            match self.rng.u8(0..24) {
                0 | 1 if nested => {
                    let own = self.rng.usize(1..=left.min(10));
                    left -= own;
                    self.counted_loop(own, depth);
                }
                2 if nested => {
                    let own = self.rng.usize(1..=left.min(8));
                    left -= own;
                    self.branch_on_lanes(own, depth);
                }
                3 if nested => {
                    let own = self.rng.usize(1..=left.min(8));
                    left -= own;
                    self.uniform_branch(own, depth);
                }
                4..=8 => self.memory(),
                9 | 10 => self.waits(),
                11..=14 => self.scalar(),
                15 => self.internal(),
                _ => self.vector(),
            }
        }
    }

    /// Loop with a counter.
    fn counted_loop(&mut self, size: usize, depth: usize) {
        let counter = COUNTER + depth as u32;
        let count = self.rng.u32(1..=6);
        self.movk(counter, count);
        let header = self.words.len();
        self.loops.push((CodeAddr(header as u32 * 4), count.into()));
        self.block(size, depth + 1);
        // s_add_u32 of -1, s_cmp_lg_u32, s_cbranch_scc1.
        self.sop2(0, counter, [counter, MINUS_ONE]);
        self.sopc(7, [counter, ZERO]);
        let distance = header as i64 - self.words.len() as i64 - 1;
        self.sopp(5, distance as u32);
    }

    /// Instructions of some lanes, skipped if there are none.
    fn branch_on_lanes(&mut self, size: usize, depth: usize) {
        let mask = MASK + 2 * depth as u32;
        // v_cmp_lt_u32, s_and_saveexec_b64, s_cbranch_execz, s_or_b64.
        let limit = self.rng.u32(0..=64);
        self.vopc(0xc9, ZERO + limit, 0);
        self.sop1(32, mask, VCC);
        let branch = self.words.len();
        self.sopp(8, 0);
        self.block(size, depth + 1);
        self.words[branch] |= (self.words.len() - branch - 1) as u32;
        self.sop2(15, EXEC, [EXEC, mask]);
    }

    /// Instructions that are skipped or not, by a number of the launch.
    fn uniform_branch(&mut self, size: usize, depth: usize) {
        // s_cmp_lt_u32, s_cbranch_scc1.
        let limit = self.rng.u32(0..8);
        self.sopc(10, [NUMBER, ZERO + limit]);
        let branch = self.words.len();
        self.sopp(5, 0);
        self.block(size, depth + 1);
        self.words[branch] |= (self.words.len() - branch - 1) as u32;
    }

    fn result(&mut self) -> u32 {
        self.rng.u32(8..16)
    }

    fn pair(&mut self) -> u32 {
        8 + 2 * self.rng.u32(0..4)
    }

    fn scalar_result(&mut self) -> u32 {
        self.rng.u32(RESULTS..COUNTER)
    }

    /// Vector instruction of any rate; some write scalar registers.
    fn vector(&mut self) {
        let (a, b, c) = (self.result(), self.result(), self.result());
        let (x, y, z) = (self.pair(), self.pair(), self.pair());
        let scalar = self.scalar_result();
        match self.rng.u8(0..12) {
            // v_xor_b32, v_mul_u32_u24, v_add_u32, v_cndmask_b32.
            0 | 1 => self.vop2(21, a, VGPR + b, c),
            2 => self.vop2(8, a, VGPR + b, c),
            3 => self.vop2(25, a, VGPR + b, c),
            4 => self.vop2(0, a, VGPR + b, c),
            // v_mul_lo_u32, v_rcp_f32.
            5 => self.vop3(0x285, a, [VGPR + b, VGPR + c, 0]),
            6 => self.vop1(34, a, VGPR + b),
            // v_add_f64, v_mul_f64.
            7 => self.vop3(0x280, x, [VGPR + y, VGPR + z, 0]),
            8 => self.vop3(0x281, x, [VGPR + y, VGPR + z, 0]),
            // v_readfirstlane_b32, and its use.
            9 => {
                self.vop1(2, scalar, VGPR + a);
                self.sop2(0, scalar, [scalar, scalar]);
            }
            // v_cmp_lt_u32, v_add_u32 of a scalar register.
            10 => self.vopc(0xc9, VGPR + a, b),
            _ => self.vop2(25, a, scalar, c),
        }
    }

    fn scalar(&mut self) {
        let (a, b, c) = (
            self.scalar_result(),
            self.scalar_result(),
            self.scalar_result(),
        );
        match self.rng.u8(0..4) {
            // s_add_u32, s_mul_i32, s_mov_b32.
            0 => self.sop2(0, a, [b, c]),
            1 => self.sop2(36, a, [b, c]),
            2 => self.sop1(0, a, b),
            // s_and_b64 of VCC.
            _ => self.sop2(13, VCC, [VCC, EXEC]),
        }
    }

    fn memory(&mut self) {
        let (a, b) = (self.result(), self.result());
        let pair = self.pair();
        match self.rng.u8(0..16) {
            // flat_load_dword, of both buffers, and x2, x4.
            0 | 1 => self.flat(20, a, IN_FRAME, 0),
            2 => self.flat(20, a, IN_PLACES, 0),
            3 => self.flat(21, pair, IN_FRAME, 0),
            4 => self.flat(23, 8 + 4 * (self.words.len() as u32 % 2), IN_FRAME, 0),
            // flat_store_dword, flat_store_dwordx2, flat_atomic_add.
            5 => self.flat(28, 0, IN_PLACES, a),
            6 => self.flat(29, 0, IN_PLACES, pair),
            7 => self.flat(66, 0, IN_PLACES, b),
            // ds_read_b32, ds_read_b64, ds_write_b32, ds_add_u32.
            8 => self.ds(54, a, 0),
            9 => self.ds(118, pair, 0),
            10 => self.ds(13, 0, a),
            11 => self.ds(0, 0, a),
            // ds_read2_b32: two accesses, here with one address.
            12 | 13 => self.ds(55, pair, 0),
            // s_load_dword, x2, x4, x8 of the first buffer, at any offset.
            _ => {
                let op = self.rng.u32(0..4);
                let dst = RESULTS + 8 * self.rng.u32(0..2);
                let offset = 4 * self.rng.u32(0..256);
                self.smem(op, dst, FRAME, offset);
            }
        }
    }

    fn waits(&mut self) {
        let count = |rng: &mut Rng| match rng.u8(0..3) {
            0 => 15,
            1 => 0,
            _ => rng.u32(1..15),
        };
        let (vm, lgkm) = (count(self.rng), count(self.rng));
        self.wait(vm, lgkm);
    }

    fn internal(&mut self) {
        match self.rng.u8(0..5) {
            0 => self.sopp(14, 1),
            1 => self.sopp(10, 0),
            _ => {
                let states = self.rng.u32(0..16);
                self.sopp(0, states);
            }
        }
    }
}
