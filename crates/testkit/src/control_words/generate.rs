//! Generator of random programs: straight code, conditionals that lanes or warps take, counted loops, and accesses to
//! all memories. Addresses are computed so that they are valid for every contents of memory.

use fastrand::Rng;
use warpbound_base::CodeAddr;

use super::CountedHeader;
use super::slot::{Raises, Slot, SlotStyle, layout};
use super::words::{self, Operand};

/// Bytes of static shared memory, of local memory of a thread, and of a buffer; a lane's address is in the first half.
pub(super) const SHARED_BYTES: u32 = 8192;
pub(super) const LOCAL_BYTES: u32 = 512;
const HALF_OF_BUFFER: u32 = 8192;

/// Registers with a meaning; those from [`DATA`] on hold values of any kind.
pub(super) const LANE: u8 = 0;
const THREAD: u8 = 1;
/// Addresses of the two buffers, in pairs.
pub(super) const BUFFERS: [u8; 2] = [2, 4];
/// Pair with the address of the next access to global memory.
pub(super) const GLOBAL: u8 = 6;
pub(super) const SHARED: u8 = 8;
pub(super) const LOCAL: u8 = 9;
pub(super) const COUNTERS: [u8; 2] = [10, 11];
const CONSTANT: u8 = 14;
pub(super) const SCRATCH: u8 = 15;
const LIMIT: u8 = 12;
pub(super) const DATA: u8 = 16;
const DATA_COUNT: u8 = words::REGISTERS - DATA;

/// Predicates: of loop branches; of conditionals by depth; of guards.
const OF_LOOP: u8 = 0;
const OF_GUARD: u8 = 3;
/// Predicate of the bound of a loop that lanes leave one by one.
const OF_LANES: u8 = 4;

/// Maximum depth of nested constructs.
const DEPTH: usize = 3;

/// Position of a line, bound later.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Mark(usize);

/// Instruction of a program that is not laid out yet.
struct Line {
    word: u64,
    slot: Slot,
    target: Option<Mark>,
}

/// Program while it is written.
pub(super) struct ProgramDraft<'r> {
    pub(super) rng: &'r mut Rng,
    style: SlotStyle,
    lines: Vec<Line>,
    marks: Vec<usize>,
    loops: Vec<(Mark, usize, u64)>,
    /// Alignment in bytes of the addresses in [`GLOBAL`], [`SHARED`] and [`LOCAL`]; `None` before they are set.
    aligned: [Option<u32>; 3],
    /// Number of enclosing constructs where lanes may have diverged.
    divergent: usize,
    loop_depth: usize,
    /// Instructions that may still be drawn.
    left: usize,
}

/// Memory of an access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Space {
    Global,
    Shared,
    Local,
}

/// Addresses of the lanes of an access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Lanes {
    /// The same for all lanes.
    Uniform,
    /// A distance of a power of two from lane to lane.
    Strided(u32),
    /// From a register of any contents.
    Random,
}

impl<'r> ProgramDraft<'r> {
    pub(super) fn new(rng: &'r mut Rng) -> ProgramDraft<'r> {
        let style = SlotStyle::draw(rng);
        let left = match rng.u8(0..12) {
            // More than the first instruction cache holds.
            0 => rng.usize(400..1400),
            _ => rng.usize(10..90),
        };
        ProgramDraft {
            rng,
            style,
            lines: Vec::new(),
            marks: Vec::new(),
            loops: Vec::new(),
            aligned: [None; 3],
            divergent: 0,
            loop_depth: 0,
            left,
        }
    }

    /// Writes the whole program.
    pub(super) fn write(&mut self) {
        self.prologue();
        while self.left > 0 {
            self.item(0);
        }
        for _ in 0..self.rng.usize(0..3) {
            self.store(Space::Global);
        }
        self.emit(words::EXIT, Raises::Nothing);
    }

    /// Returns code and loops.
    pub(super) fn finish(self) -> (Vec<u8>, Vec<CountedHeader>) {
        let addr = |mark: Mark| addr_of(self.marks[mark.0]);
        let instrs = self.lines.iter().enumerate().map(|(number, line)| {
            let word = match line.target {
                Some(to) => {
                    let next = i64::from(addr_of(number)) + 8;
                    words::to_target(line.word, i64::from(addr(to)) - next)
                }
                None => line.word,
            };
            (word, line.slot)
        });
        let instrs: Vec<(u64, Slot)> = instrs.collect();
        let mut loops: Vec<CountedHeader> = self
            .loops
            .iter()
            .map(|&(header, latch, per_entry)| CountedHeader {
                header: CodeAddr(addr(header)),
                latch: CodeAddr(addr_of(latch)),
                per_entry,
            })
            .collect();
        loops.sort_by_key(|fact| fact.header);
        (layout(&instrs, words::NOP), loops)
    }

    /// Appends an instruction with a random slot, which it returns.
    pub(super) fn emit(&mut self, word: u64, raises: Raises) -> &mut Slot {
        let slot = self.style.slot(raises, self.rng);
        self.left = self.left.saturating_sub(1);
        self.lines.push(Line {
            word,
            slot,
            target: None,
        });
        let last = self.lines.len() - 1;
        &mut self.lines[last].slot
    }

    /// Sets the scheduling code of the last instruction.
    pub(super) fn set_last_code(&mut self, code: u8) {
        if let Some(line) = self.lines.last_mut() {
            line.slot.code = code;
        }
    }

    /// Appends an instruction that refers to a line.
    fn emit_to(&mut self, word: u64, to: Mark) {
        self.emit(word, Raises::Nothing);
        if let Some(line) = self.lines.last_mut() {
            line.target = Some(to);
        }
    }

    fn mark(&mut self) -> Mark {
        self.marks.push(usize::MAX);
        Mark(self.marks.len() - 1)
    }

    /// Binds a mark to the next line. Addresses are set anew after it, since other paths lead there.
    fn bind(&mut self, mark: Mark) {
        self.marks[mark.0] = self.lines.len();
        self.aligned = [None; 3];
    }

    pub(super) fn one_in(&mut self, n: u32) -> bool {
        self.rng.u32(0..n) == 0
    }

    pub(super) fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.rng.usize(0..choices.len())]
    }

    /// Returns a data register that begins a group of as many bytes.
    pub(super) fn data(&mut self, bytes: u32) -> u8 {
        let step = (bytes / 4).max(1) as u8;
        DATA + step * self.rng.u8(0..DATA_COUNT / step)
    }

    /// Returns a data register or RZ.
    fn source(&mut self) -> u8 {
        match self.one_in(12) {
            true => words::RZ,
            false => self.data(4),
        }
    }

    /// Returns a data register or a word of a constant bank.
    fn operand(&mut self) -> Operand {
        match self.rng.u8(0..8) {
            0 => Operand::Constant(0, 0x140 + 4 * self.rng.u32(0..5)),
            1 => Operand::Constant(words::BANK, 4 * self.rng.u32(0..words::CONSTANT_BYTES / 4)),
            _ => Operand::Register(self.source()),
        }
    }

    fn prologue(&mut self) {
        self.emit(words::special(LANE, words::LANE), Raises::ReadAndWrite);
        self.emit(
            words::special(THREAD, words::THREAD_X),
            Raises::ReadAndWrite,
        );
        for (at, to) in (0..4).zip(BUFFERS[0]..) {
            let from = Operand::Constant(0, 0x140 + 4 * at);
            self.emit(words::mov(to, from), Raises::Nothing);
        }
        self.emit(
            words::mov(LIMIT, Operand::Constant(0, 0x150)),
            Raises::Nothing,
        );
        for _ in 0..self.rng.usize(1..4) {
            self.load(Space::Global);
        }
    }

    /// Writes one item of any kind.
    pub(super) fn item(&mut self, depth: usize) {
        match self.rng.u8(0..64) {
            0..=13 => self.arithmetic(),
            14..=20 => self.other_unit(),
            21..=27 => {
                let space = self.space();
                self.load(space);
            }
            28..=32 => {
                let space = self.space();
                self.store(space);
            }
            33..=34 => self.load_constant(),
            35..=37 => self.atomic(),
            38..=39 => {
                let (scoreboard, others) = (self.rng.u8(0..6), self.rng.u8(0..64));
                let others = if self.rng.bool() { 0 } else { others };
                let most = self.pick(&[0, 0, 1, 1, 2, 3, 5]);
                self.emit(words::depbar(scoreboard, most, others), Raises::Nothing);
            }
            40 => {
                let level = self.rng.u64(0..3);
                self.emit(words::memory_barrier(level), Raises::Read);
            }
            41 if self.divergent == 0 => {
                self.emit(words::BARRIER, Raises::Read);
            }
            42..=44 if depth < DEPTH => self.conditional(depth),
            45..=47 if depth < DEPTH && self.loop_depth < COUNTERS.len() => {
                self.counted_loop(depth)
            }
            48..=59 => self.idiom(depth),
            60..=61 if self.one_in(3) => self.early_exit(),
            _ => self.guarded(),
        }
    }

    fn space(&mut self) -> Space {
        self.pick(&[Space::Global, Space::Global, Space::Shared, Space::Local])
    }

    pub(super) fn arithmetic(&mut self) {
        let (number, to, a, b) = (
            self.rng.usize(..),
            self.data(4),
            self.source(),
            self.operand(),
        );
        match self.rng.u8(0..5) {
            0..=1 => {
                let c = self.source();
                self.emit(words::plain3(number, to, a, b, c), Raises::Nothing);
            }
            2 if self.one_in(3) => {
                self.emit(words::vote(to, OF_GUARD), Raises::Nothing);
            }
            3 if self.one_in(3) => {
                let value = self.rng.u32(..);
                self.emit(words::mov32(to, value), Raises::Nothing);
            }
            _ => {
                self.emit(words::plain(number, to, a, b), Raises::Nothing);
            }
        }
    }

    /// Writes an instruction of a unit with variable latency.
    pub(super) fn other_unit(&mut self) {
        let number = self.rng.usize(..);
        let (to, a, b, c) = (self.data(4), self.source(), self.source(), self.source());
        let [to2, a2, b2, c2] = [(); 4].map(|()| self.data(8));
        let word = match self.rng.u8(0..9) {
            0..=1 => words::special_function(number, to, a),
            2..=3 => words::double(number, to2, a2, b2, c2),
            4 => words::half(number, to, a, b, c),
            5 => words::multiply(number, to, a, b, c),
            6 => {
                let (mode, lane) = (self.rng.u64(0..4), self.rng.u64(0..32));
                words::shuffle(mode, to, a, lane)
            }
            7 => match self.rng.bool() {
                true => words::convert_wide(true, to2, a),
                false => words::convert_wide(false, to, a2),
            },
            _ => {
                let register = self.pick(&[words::LANE, words::THREAD_X, words::BLOCK_X]);
                words::special(to, register)
            }
        };
        self.emit(word, Raises::ReadAndWrite);
    }

    /// Writes the computation of the addresses of the next accesses to a memory, aligned to `bytes`.
    pub(super) fn set_address(&mut self, space: Space, lanes: Lanes, bytes: u32) {
        let most = match space {
            Space::Global => HALF_OF_BUFFER,
            Space::Shared => SHARED_BYTES / 2,
            Space::Local => LOCAL_BYTES / 2,
        };
        let to = match space {
            Space::Global => SCRATCH,
            Space::Shared => SHARED,
            Space::Local => LOCAL,
        };
        let (word, aligned) = match lanes {
            Lanes::Uniform => {
                let at = 16 * self.rng.u32(0..most / 16);
                (words::mov32(to, at), 16)
            }
            Lanes::Strided(shift) => {
                // 32 lanes stay in the first half.
                let shift = shift.min(most.trailing_zeros() - 5);
                (words::shift_left(to, LANE, shift), 1 << shift)
            }
            Lanes::Random => {
                let from = self.data(4);
                (words::and(to, from, (most - 1) & !(bytes - 1)), bytes)
            }
        };
        self.emit(word, Raises::Nothing);
        if space == Space::Global {
            let base = self.pick(&BUFFERS);
            self.emit(words::add_low(GLOBAL, base, SCRATCH), Raises::Nothing);
            self.emit(
                words::add_high(GLOBAL + 1, base + 1, words::RZ),
                Raises::Nothing,
            );
        }
        self.aligned[space as usize] = Some(aligned.min(16));
    }

    /// Returns the size and the offset of an access; sets addresses anew in most cases.
    fn place(&mut self, space: Space) -> (u32, u32) {
        let known = self.aligned[space as usize];
        let aligned = match known {
            Some(aligned) if self.one_in(2) => aligned,
            _ => {
                let bytes = self.pick(&[4, 4, 8, 16]);
                let lanes = self.lanes(bytes);
                self.set_address(space, lanes, bytes);
                self.aligned[space as usize].unwrap_or(4)
            }
        };
        let sizes = [1, 2, 4, 4, 4, 8, 8, 16, 16].map(|size: u32| size.min(aligned));
        (self.pick(&sizes), self.offset(space))
    }

    fn lanes(&mut self, bytes: u32) -> Lanes {
        match self.rng.u8(0..8) {
            0..=2 => Lanes::Strided(bytes.trailing_zeros()),
            3..=4 => Lanes::Strided(self.rng.u32(bytes.trailing_zeros()..9)),
            5 => Lanes::Uniform,
            _ => Lanes::Random,
        }
    }

    /// Returns a random offset that keeps an access in its memory.
    fn offset(&mut self, space: Space) -> u32 {
        let bytes = match space {
            Space::Global => HALF_OF_BUFFER,
            Space::Shared => SHARED_BYTES / 2,
            Space::Local => LOCAL_BYTES / 2,
        };
        match self.one_in(3) {
            true => 0,
            false => 16 * self.rng.u32(0..bytes / 16),
        }
    }

    /// Writes a load.
    pub(super) fn load(&mut self, space: Space) -> &mut Slot {
        let (bytes, offset) = self.place(space);
        self.load_at(space, offset, bytes)
    }

    /// Writes a load at an offset from the addresses that were set last.
    pub(super) fn load_at(&mut self, space: Space, offset: u32, bytes: u32) -> &mut Slot {
        let to = self.data(bytes);
        let word = match space {
            Space::Global => {
                let policy = self.pick(&[0, 0, 0, 1, 2, 3]);
                words::load_global(to, GLOBAL, offset, bytes, policy)
            }
            Space::Shared => words::load_shared(to, SHARED, offset, bytes),
            Space::Local => words::load_local(to, LOCAL, offset, bytes),
        };
        self.emit(word, Raises::ReadAndWrite)
    }

    /// Writes a store.
    pub(super) fn store(&mut self, space: Space) {
        let (bytes, offset) = self.place(space);
        self.store_at(space, offset, bytes);
    }

    /// Writes a store at an offset from the addresses that were set last.
    pub(super) fn store_at(&mut self, space: Space, offset: u32, bytes: u32) -> &mut Slot {
        let from = self.data(bytes);
        let word = match space {
            Space::Global => words::store_global(from, GLOBAL, offset, bytes),
            Space::Shared => words::store_shared(from, SHARED, offset, bytes),
            Space::Local => words::store_local(from, LOCAL, offset, bytes),
        };
        self.emit(word, Raises::Read)
    }

    /// Writes an indexed load from a constant bank.
    fn load_constant(&mut self) {
        let word = match self.rng.u8(0..3) {
            0 => words::mov32(CONSTANT, 8 * self.rng.u32(0..0x200)),
            1 => words::shift_left(CONSTANT, LANE, self.rng.u32(3..8)),
            _ => words::and(CONSTANT, self.data(4), 0xff8),
        };
        self.emit(word, Raises::Nothing);
        let bytes = self.pick(&[4, 4, 8]);
        let (to, offset) = (self.data(bytes), 8 * self.rng.u32(0..0x80));
        let word = words::load_constant(to, CONSTANT, offset, bytes);
        self.emit(word, Raises::ReadAndWrite);
    }

    /// Writes an atomic operation on global or shared memory.
    fn atomic(&mut self) {
        let space = self.pick(&[Space::Global, Space::Global, Space::Shared]);
        let lanes = self.lanes(4);
        self.set_address(space, lanes, 4);
        let offset = self.offset(space);
        self.atomic_at(space, offset);
    }

    /// Writes an atomic operation at an offset from the addresses that were set last.
    pub(super) fn atomic_at(&mut self, space: Space, offset: u32) {
        let number = self.rng.u64(0..9);
        let (to, value) = (self.data(4), self.source());
        match space {
            Space::Shared => {
                let word = words::shared_atomic(number, to, SHARED, offset, value);
                self.emit(word, Raises::ReadAndWrite);
            }
            _ if self.one_in(3) => {
                self.emit(
                    words::reduction(number, GLOBAL, offset, value),
                    Raises::Read,
                );
            }
            _ => {
                let word = words::atomic(number, to, GLOBAL, offset, value);
                self.emit(word, Raises::ReadAndWrite);
            }
        }
    }

    /// Writes a comparison into a predicate; `is_uniform` chooses whether all lanes agree on it.
    fn comparison(&mut self, predicate: u8, is_uniform: bool) {
        let comparison = self.pick(&[
            words::LESS,
            words::EQUAL,
            words::LESS_OR_EQUAL,
            words::NOT_EQUAL,
        ]);
        let a = match (is_uniform, self.rng.bool()) {
            (true, _) => LIMIT,
            (false, true) => LANE,
            (false, false) => self.data(4),
        };
        let number = self.rng.i32(0..20);
        let word = words::compare(comparison, predicate, a, number);
        self.emit(word, Raises::Nothing);
    }

    /// Writes an instruction with a guard.
    fn guarded(&mut self) {
        if self.rng.bool() {
            let is_uniform = self.rng.bool();
            self.comparison(OF_GUARD, is_uniform);
        }
        let first = self.lines.len();
        match self.rng.u8(0..4) {
            0..=1 => self.arithmetic(),
            2 => self.other_unit(),
            // The address is set before, so that only the access has the guard.
            _ => {
                let space = self.space();
                let lanes = self.lanes(4);
                self.set_address(space, lanes, 4);
                let offset = self.offset(space);
                let first = self.lines.len();
                match self.rng.bool() {
                    true => self.load_at(space, offset, 4),
                    false => self.store_at(space, offset, 4),
                };
                return self.add_guard(first);
            }
        }
        self.add_guard(first);
    }

    /// Adds a guard to the lines from a number on.
    fn add_guard(&mut self, first: usize) {
        let negated = self.rng.bool();
        for line in self.lines.iter_mut().skip(first) {
            line.word = words::guarded(line.word, OF_GUARD, negated);
        }
    }

    /// Writes an exit for some lanes, outside regions where lanes wait for each other.
    fn early_exit(&mut self) {
        if self.divergent > 0 || self.loop_depth > 0 {
            return;
        }
        // At least one lane goes on, so that the rest of the program runs in most cases.
        let word = words::compare(words::LESS, OF_GUARD, LANE, self.rng.i32(1..8));
        self.emit(word, Raises::Nothing);
        self.emit(words::guarded(words::EXIT, OF_GUARD, true), Raises::Nothing);
    }

    /// Writes a conditional: of lanes, with reconvergence, or of the warp.
    pub(super) fn conditional(&mut self, depth: usize) {
        let is_uniform = self.one_in(3);
        let predicate = 1 + self.rng.u8(0..2);
        let (other, end) = (self.mark(), self.mark());
        self.comparison(predicate, is_uniform);
        if !is_uniform {
            self.divergent += 1;
            self.emit_to(words::PUSH_SYNC, end);
        }
        let negated = self.rng.bool();
        self.emit_to(words::guarded(words::BRANCH, predicate, negated), other);
        self.body(depth);
        match is_uniform {
            true => self.emit_to(words::BRANCH, end),
            false => {
                self.emit(words::SYNC, Raises::Nothing);
            }
        }
        self.bind(other);
        if self.rng.bool() {
            self.body(depth);
        }
        if !is_uniform {
            self.emit(words::SYNC, Raises::Nothing);
            self.divergent -= 1;
        }
        self.bind(end);
    }

    fn body(&mut self, depth: usize) {
        for _ in 0..self.rng.usize(1..5) {
            self.item(depth + 1);
        }
    }

    /// Writes a loop with a constant count, or one that lanes leave after at most as many iterations.
    fn counted_loop(&mut self, depth: usize) {
        self.loop_around(|draft| draft.body(depth));
    }

    /// Writes a loop around a body.
    pub(super) fn loop_around(&mut self, body: impl FnOnce(&mut Self)) {
        let Some(&counter) = COUNTERS.get(self.loop_depth) else {
            return body(self);
        };
        let most = self.pick(&[1, 2, 3, 4, 6, 8]);
        let is_divergent = self.one_in(3);
        let (header, end) = (self.mark(), self.mark());
        self.emit(words::mov32(counter, 0), Raises::Nothing);
        if is_divergent {
            self.divergent += 1;
            self.emit_to(words::PUSH_SYNC, end);
        }
        self.bind(header);
        self.loop_depth += 1;
        body(self);
        self.loop_depth -= 1;
        self.emit(words::add_number(counter, counter, 1), Raises::Nothing);
        self.emit(
            words::compare(words::LESS, OF_LOOP, counter, most),
            Raises::Nothing,
        );
        if is_divergent {
            // Lanes with a small number leave early: the count must also be below theirs.
            let below = words::compare_registers(words::LESS, OF_LANES, counter, LANE);
            self.emit(below, Raises::Nothing);
            let both = words::and_predicates(OF_LOOP, OF_LANES);
            self.emit(both, Raises::Nothing);
        }
        let latch = self.lines.len();
        self.emit_to(words::guarded(words::BRANCH, OF_LOOP, false), header);
        self.loops.push((header, latch, most as u64));
        if is_divergent {
            self.emit(words::SYNC, Raises::Nothing);
            self.divergent -= 1;
        }
        self.bind(end);
    }
}

/// Returns the address of the instruction with a number: three follow each control word.
pub(super) fn addr_of(number: usize) -> u32 {
    (32 * (number / 3) + 8 * (number % 3 + 1)) as u32
}
