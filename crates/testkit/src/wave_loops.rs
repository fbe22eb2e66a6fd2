//! Random programs of GCN3 machine code with loops that count to numbers of the launch: indices of groups and of
//! work-items, numbers and sizes of groups, arguments. Each program says itself how often a thread executes the header of
//! each loop, so that launches with too many groups to run are checked as well.
//!
//! For example, a loop that counts to the index of the group in y has 70,000 iterations in the last group of a grid of
//! 1 x 70,000 x 1, which no GPU of NVIDIA's could launch.
//!
//! The code replaces the code of a kernel of `kernels/built`, whose arguments and registers it uses.

pub mod check;
pub mod launches;
mod limit;

use fastrand::Rng;
use warpbound_base::CodeAddr;
use warpbound_query::Session;

use crate::execute::mix;
use crate::wave_splits::machine_code::{EXEC, Label, MachineCode, Source, VCC};

use launches::LoopThread;
use limit::{LIMIT_REGISTERS, LIMIT_VECTOR, LimitWord};

/// Kernel whose code is replaced.
pub const KERNEL: &str = "grid_3d";

/// Code object with the kernel, the first two dwords of its code, and the bytes of its code.
const OBJECT: &[u8] = include_bytes!("../../../kernels/built/grid_3d.gfx803.co");
const FIRST: [u32; 2] = [0xc006_0003, 0x24];
const CODE_BYTES: usize = 0x150;

/// Scalar registers of the counters of loops, the vector register of counters, and registers that keep EXEC.
const COUNTERS: [u8; 3] = [3, 18, 19];
const COUNTER_VECTOR: u8 = 3;
const SAVED_EXEC: u8 = 24;

/// Instructions without operands, and forms of others (`isa/amd/gfx803.forms`).
const ENDPGM: u32 = 0xbf81_0000;
const WAIT_FOR_SCALARS: u32 = 0xbf8c_007f;
const S_BRANCH: u32 = 0xbf82_0000;
const S_CBRANCH_SCC1: u32 = 0xbf85_0000;
const S_CBRANCH_EXECNZ: u32 = 0xbf89_0000;
const S_MOV_B32: u32 = 0xbe80_0000;
const S_MOV_B64: u32 = 0xbe80_0100;
const S_ADD_U32: u32 = 0x8000_0000;
const S_AND_B64: u32 = 0x8680_0000;
const S_CMP_LT_I32: u32 = 0xbf04_0000;
const S_CMP_GE_I32: u32 = 0xbf03_0000;
const S_CMP_LT_U32: u32 = 0xbf0a_0000;
const S_CMP_GE_U32: u32 = 0xbf09_0000;
const V_MOV_B32: u32 = 0x7e00_0200;
const V_ADD_U32: u32 = 0x3200_0000;
const V_CMP_GT_U32: u32 = 0x7d98_0000;

/// Place of the test of a loop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LoopTest {
    /// Before each iteration.
    Head,
    /// After each iteration.
    Bottom,
    /// After each iteration, by the lanes that are left, with EXEC.
    Lanes,
}

/// Loop that counts to a word of the launch.
#[derive(Clone, Debug)]
pub struct WaveLoop {
    /// Address of the header.
    pub header: CodeAddr,
    /// Place of the test.
    pub test: LoopTest,
    /// Whether numbers are compared with signs.
    pub is_signed: bool,
    /// First value of the counter.
    pub first: u32,
    /// Number that an iteration adds to the counter.
    pub step: u32,
    /// Word that the counter is compared with.
    pub limit: LimitWord,
    /// Loop around it, by its number.
    pub outer: Option<usize>,
}

/// Executions of the header of a loop by a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ThreadHeaderCount {
    /// In each entry of the loop; the least number that is certain, if the counter passes its largest value.
    pub per_entry: u64,
    /// In all entries together.
    pub total: u64,
    /// Whether the numbers are exact.
    pub is_exact: bool,
}

/// Random program.
#[derive(Clone, Debug)]
pub struct LoopedWaves {
    /// Number from which it was generated.
    pub seed: u64,
    /// Loops, outer ones before the loops in them.
    pub loops: Vec<WaveLoop>,
    code: Vec<u8>,
}

impl WaveLoop {
    /// Iterations of an entry, and whether they are exact.
    fn iterations(&self, thread: &LoopThread) -> (u64, bool) {
        let limit = self.limit.value(thread);
        // The smallest counter that ends the loop, and the largest counter before it wraps around.
        let (limit, most) = match self.is_signed {
            true => (i64::from(limit as i32), i64::from(i32::MAX)),
            false => (limit.into(), u32::MAX.into()),
        };
        let distance = u64::try_from(limit - i64::from(self.first)).unwrap_or(0);
        let needed = distance.div_ceil(self.step.into());
        let iterations = match self.test {
            LoopTest::Head => needed,
            LoopTest::Bottom | LoopTest::Lanes => needed.max(1),
        };
        let last = i128::from(self.first) + i128::from(iterations) * i128::from(self.step);
        (iterations, last <= i128::from(most))
    }

    /// Executions of the header in an entry for some iterations.
    fn executions(&self, iterations: u64) -> u64 {
        iterations + u64::from(self.test == LoopTest::Head)
    }
}

impl LoopedWaves {
    /// Generates the program of a seed.
    pub fn generate(seed: u64) -> LoopedWaves {
        let mut rng = Rng::with_seed(mix(&[0x3a7f, seed]));
        let mut writer = Writer {
            code: MachineCode::default(),
            loops: Vec::new(),
        };
        writer.prologue();
        for number in 0..rng.usize(1..=COUNTERS.len()) {
            if number < writer.loops.len() {
                continue;
            }
            let nests = number + 1 < COUNTERS.len() && rng.u8(0..4) == 0;
            writer.counted_loop(None, nests, &mut rng);
        }
        writer.code.put(&[ENDPGM]);
        LoopedWaves {
            seed,
            loops: writer.loops,
            code: writer.code.finish().expect("all labels have places"),
        }
    }

    /// Returns a session of the code object with the program.
    ///
    /// # Panics
    ///
    /// The program is longer than the code that it replaces.
    pub fn session(&self) -> Session {
        let first: Vec<u8> = FIRST.iter().flat_map(|word| word.to_le_bytes()).collect();
        let mut places = OBJECT.windows(first.len());
        let place = places.position(|bytes| bytes == first);
        let place = place.expect("the code of the kernel");
        let length = self.code.len();
        assert!(length <= CODE_BYTES, "{length} bytes");
        let mut object = OBJECT.to_vec();
        // The rest is no part of the program: it ends.
        let ends = ENDPGM.to_le_bytes().into_iter().cycle();
        let code = self.code.iter().copied().chain(ends);
        for (to, from) in object[place..place + CODE_BYTES].iter_mut().zip(code) {
            *to = from;
        }
        let name = format!("wave_loops_{:#x}.co", self.seed);
        Session::open(&name, &object).expect("the code object of a kernel")
    }

    /// Returns how often a thread executes the header of each loop.
    pub fn counts(&self, thread: &LoopThread) -> Vec<ThreadHeaderCount> {
        let mut counts: Vec<ThreadHeaderCount> = Vec::new();
        // Iterations of all entries of a loop, which are the entries of the loops in it.
        let mut bodies: Vec<u64> = Vec::new();
        for own in &self.loops {
            let (iterations, is_exact) = own.iterations(thread);
            let entries = own.outer.map_or(1, |outer| bodies[outer]);
            let outer_is_exact = own.outer.is_none_or(|outer| counts[outer].is_exact);
            let per_entry = own.executions(iterations);
            bodies.push(entries.saturating_mul(iterations));
            counts.push(ThreadHeaderCount {
                // A loop that is never entered has no entry with this number.
                per_entry: if entries == 0 { 0 } else { per_entry },
                total: entries.saturating_mul(per_entry),
                is_exact: is_exact && outer_is_exact,
            });
        }
        counts
    }
}

/// Program under construction.
struct Writer {
    code: MachineCode,
    loops: Vec<WaveLoop>,
}

impl Writer {
    /// Loads the hidden arguments and the arguments.
    fn prologue(&mut self) {
        limit::load(&mut self.code);
        self.code.put(&[WAIT_FOR_SCALARS]);
    }

    /// Writes a loop, and perhaps a loop in it.
    fn counted_loop(&mut self, outer: Option<usize>, nests: bool, rng: &mut Rng) {
        let number = self.loops.len();
        let limit = LimitWord::draw(rng);
        let test = match limit.is_of_lane() {
            true => LoopTest::Lanes,
            false if nests || outer.is_some() => {
                [LoopTest::Head, LoopTest::Bottom][rng.usize(0..2)]
            }
            false => [LoopTest::Head, LoopTest::Bottom, LoopTest::Lanes][rng.usize(0..3)],
        };
        // A loop of some lanes has no loops in it: scalar counters are for all lanes.
        let nests = nests && test != LoopTest::Lanes;
        let own = WaveLoop {
            header: CodeAddr(0),
            test,
            is_signed: test != LoopTest::Lanes && rng.u8(0..4) == 0,
            first: [0, 0, 1, 5, 100][rng.usize(0..5)],
            step: [1, 1, 1, 2, 3, 16][rng.usize(0..6)],
            limit,
            outer,
        };
        own.limit.write(&mut self.code, number);
        self.loops.push(own.clone());
        let header = match test {
            LoopTest::Lanes => self.lanes_loop(&own, number),
            LoopTest::Head | LoopTest::Bottom => self.scalar_loop(&own, number, nests, rng),
        };
        self.loops[number].header = header;
    }

    /// Address of the next instruction.
    fn here(&self) -> CodeAddr {
        CodeAddr(self.code.bytes())
    }

    /// Loop with a scalar counter.
    fn scalar_loop(
        &mut self,
        own: &WaveLoop,
        number: usize,
        nests: bool,
        rng: &mut Rng,
    ) -> CodeAddr {
        let counter = COUNTERS[number];
        let of_counter = Source::Scalar(counter);
        let limit = Source::Scalar(LIMIT_REGISTERS[number]);
        let (before, after) = match own.is_signed {
            true => (S_CMP_GE_I32, S_CMP_LT_I32),
            false => (S_CMP_GE_U32, S_CMP_LT_U32),
        };
        self.code
            .sop1(S_MOV_B32, counter, Source::Number(own.first));
        let (head, end) = (self.code.label(), self.code.label());
        self.code.land(head);
        let header = self.here();
        if own.test == LoopTest::Head {
            self.code.sop2(before, 0, of_counter, limit);
            self.code.branch(S_CBRANCH_SCC1, end);
        }
        let step = Source::Number(own.step);
        if own.test == LoopTest::Bottom {
            self.code.sop2(S_ADD_U32, counter, of_counter, step);
        }
        if nests {
            self.counted_loop_in(number, rng);
        }
        match own.test {
            LoopTest::Head => {
                self.code.sop2(S_ADD_U32, counter, of_counter, step);
                self.code.branch(S_BRANCH, head);
            }
            LoopTest::Bottom | LoopTest::Lanes => {
                self.repeat_while(after, [of_counter, limit], head)
            }
        }
        self.code.land(end);
        header
    }

    fn counted_loop_in(&mut self, outer: usize, rng: &mut Rng) {
        self.counted_loop(Some(outer), false, rng);
    }

    fn repeat_while(&mut self, comparison: u32, [a, b]: [Source; 2], head: Label) {
        self.code.sop2(comparison, 0, a, b);
        self.code.branch(S_CBRANCH_SCC1, head);
    }

    /// Loop that lanes leave one by one.
    fn lanes_loop(&mut self, own: &WaveLoop, number: usize) -> CodeAddr {
        let exec = Source::Scalar(EXEC);
        let limit = match own.limit.is_of_lane() {
            true => Source::Vector(LIMIT_VECTOR),
            false => Source::Scalar(LIMIT_REGISTERS[number]),
        };
        self.code.sop1(S_MOV_B64, SAVED_EXEC, exec);
        let first = Source::Number(own.first);
        self.code.vop1(V_MOV_B32, COUNTER_VECTOR, first);
        let head = self.code.label();
        self.code.land(head);
        let header = self.here();
        let step = Source::Number(own.step);
        self.code
            .vop2(V_ADD_U32, COUNTER_VECTOR, step, COUNTER_VECTOR);
        self.code.vop2(V_CMP_GT_U32, 0, limit, COUNTER_VECTOR);
        self.code.sop2(S_AND_B64, EXEC, exec, Source::Scalar(VCC));
        self.code.branch(S_CBRANCH_EXECNZ, head);
        self.code.sop1(S_MOV_B64, EXEC, Source::Scalar(SAVED_EXEC));
        header
    }
}
