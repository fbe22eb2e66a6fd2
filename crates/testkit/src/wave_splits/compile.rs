//! Compilation of structured programs to GCN3 machine code, as compilers write it: lanes are switched off and on by
//! writes of EXEC, and waves branch over sides that no lane takes. The compiler knows the branches at which a wave
//! may split, and where both parts may merge.
//!
//! Registers: `s[0:3]` buffer of private memory, `s[4:5]` output, `s[6:7]` FLAT_SCRATCH at the start, `s8` group,
//! `s9` offset of private memory; `s[12:..]` masks, `s96` to `s98` iteration numbers, `s99` temporary, `s[100:101]`
//! counters; `v0` work-item in its group, `v[2:3]` its output, from `v4` on the registers of statements, `v16` to
//! `v19` temporaries.

use warpbound_isa::Program;
use warpbound_isa::amd::GcnProgram;

use super::machine_code::{EXEC, FLAT_SCRATCH, Label, M0, MachineCode, Source, VCC};
use super::statement::{
    COUNTERS, Collective, LOOPS, LaneStatement, OUTPUTS, SLOTS, START, SideIdiom, TwoSides,
    VARIABLES, any, breaks,
};
use crate::exec_mask::statement::LaneCondition;
use crate::exec_mask::{LaneComparison, LaneOp, LaneOperand};

const S_ADD_U32: u32 = 0x8000_0000;
const S_ADDC_U32: u32 = 0x8200_0000;
const S_AND_B64: u32 = 0x8680_0000;
const S_OR_B64: u32 = 0x8780_0000;
const S_XOR_B64: u32 = 0x8880_0000;
const S_ANDN2_B64: u32 = 0x8980_0000;
const S_LSHR_B32: u32 = 0x8f00_0000;
const S_MUL_I32: u32 = 0x9200_0000;
const S_MOV_B32: u32 = 0xbe80_0000;
const S_MOV_B64: u32 = 0xbe80_0100;
const S_BCNT1_I32_B64: u32 = 0xbe80_0d00;
const S_AND_SAVEEXEC_B64: u32 = 0xbe80_2000;
const S_OR_SAVEEXEC_B64: u32 = 0xbe80_2100;
const S_ANDN2_SAVEEXEC_B64: u32 = 0xbe80_2300;
const S_CMP_LT_U32: u32 = 0xbf0a_0000;
const S_ENDPGM: u32 = 0xbf81_0000;
const S_BRANCH: u32 = 0xbf82_0000;
const S_CBRANCH_SCC0: u32 = 0xbf84_0000;
const S_CBRANCH_SCC1: u32 = 0xbf85_0000;
const S_CBRANCH_VCCZ: u32 = 0xbf86_0000;
const S_CBRANCH_VCCNZ: u32 = 0xbf87_0000;
const S_CBRANCH_EXECZ: u32 = 0xbf88_0000;
const S_CBRANCH_EXECNZ: u32 = 0xbf89_0000;
const S_BARRIER: u32 = 0xbf8a_0000;
/// For all counters.
const S_WAITCNT_0: u32 = 0xbf8c_0000;
/// hwreg(HW_REG_MODE, 21, 1)
const S_SETREG_MARK: u32 = 0xba00_0541;
const V_MIN_U32: u32 = 0x1c00_0000;
const V_LSHRREV_B32: u32 = 0x2000_0000;
const V_LSHLREV_B32: u32 = 0x2400_0000;
const V_AND_B32: u32 = 0x2600_0000;
const V_XOR_B32: u32 = 0x2a00_0000;
const V_ADD_U32: u32 = 0x3200_0000;
const V_ADDC_U32: u32 = 0x3800_0000;
const V_CMP_LT_U32: u32 = 0x7d92_0000;
const V_CMP_EQ_U32: u32 = 0x7d94_0000;
const V_MOV_B32: u32 = 0x7e00_0200;
const V_READFIRSTLANE_B32: u32 = 0x7e00_0400;
/// v_mov_b32 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf: both words.
const V_MOV_B32_DPP: [u32; 2] = [0x7e00_02fa, 0xff00_b100];
const V_MUL_LO_U32: u32 = 0xd285_0000;
const V_MBCNT_LO: u32 = 0xd28c_0000;
const V_MBCNT_HI: u32 = 0xd28d_0000;
const FLAT_STORE_DWORD: u32 = 0xdc70_0000;
const FLAT_LOAD_DWORD: u32 = 0xdc50_0000;
const FLAT_ATOMIC_ADD: u32 = 0xdd08_0000;
const DS_WRITE_B32: u32 = 0xd81a_0000;
const DS_READ_B32: u32 = 0xd86c_0000;
const BUFFER_LOAD_DWORD: u32 = 0xe050_0000;
const BUFFER_STORE_DWORD: u32 = 0xe070_0000;

/// High word of flat addresses of private memory.
const PRIVATE_APERTURE: u32 = 0x2000_0001;

/// First vector register of statements.
const REGISTER: u8 = 4;
const TEMPORARY: u8 = 16;
const TEMPORARY_SCALAR: u8 = 99;
const COUNTER_ADDRESS: u8 = 100;
const ITERATION: u8 = 96;
const FIRST_MASK: u8 = 12;

/// Vector registers of compiled programs.
pub const VECTOR_REGISTERS: u32 = 20;

/// Kind of a branch on EXEC.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BranchKind {
    /// Over a side of an if.
    Side,
    /// Out of a loop, or back to its start.
    Loop,
    /// Over the rest of the program.
    Rest,
}

/// Branch at which waves may split.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KnownSite {
    /// Number of the instruction.
    pub at: u32,
    /// Number of the instruction before which both parts may merge.
    pub merge_point: Option<u32>,
    /// Kind of the branch.
    pub kind: BranchKind,
    /// Whether its sides have no barrier.
    pub without_barrier: bool,
}

/// Compiled program.
#[derive(Clone, Debug)]
pub struct CompiledWaves {
    /// The machine code.
    pub bytes: Vec<u8>,
    /// The branches at which waves may split, in order.
    pub sites: Vec<KnownSite>,
}

impl CompiledWaves {
    /// The decoded code; `None` if it cannot be decoded.
    pub fn program(&self) -> Option<Program> {
        GcnProgram::decode(&self.bytes).ok().map(Program::Amd)
    }
}

/// Compiles a program for a launch of `groups` groups of `threads` work-items; `None` if it takes too many registers.
pub fn compile(statements: &[LaneStatement], groups: u32, threads: u32) -> Option<CompiledWaves> {
    let mut compiler = WaveCompiler {
        code: MachineCode::default(),
        sites: Vec::new(),
        next_mask: FIRST_MASK,
        broken: None,
        threads,
        fits: true,
    };
    let end = compiler.code.label();
    compiler.prologue(groups);
    compiler.block(statements, end);
    if !statements
        .iter()
        .any(|s| matches!(s, LaneStatement::If(sides) if sides.is_rest))
    {
        compiler.store_variables();
    }
    compiler.code.land(end);
    compiler.code.put(&[S_ENDPGM]);
    compiler.sites.sort_by_key(|site| site.at);
    Some(CompiledWaves {
        sites: compiler.sites,
        bytes: compiler.fits.then(|| compiler.code.finish())??,
    })
}

fn scalar(number: u8) -> Source {
    Source::Scalar(number)
}

/// Vector register of a register of statements.
fn register(number: u8) -> u8 {
    REGISTER + number
}

fn operand(operand: LaneOperand) -> Source {
    match operand {
        LaneOperand::Vector(number) => Source::Vector(register(number)),
        LaneOperand::Scalar(level) => Source::Scalar(ITERATION + level),
        LaneOperand::Const(value) => Source::Number(value),
    }
}

struct WaveCompiler {
    code: MachineCode,
    sites: Vec<KnownSite>,
    /// First pair of scalar registers that is free.
    next_mask: u8,
    /// Mask of the lanes that have left the innermost loop.
    broken: Option<u8>,
    threads: u32,
    /// Whether there were enough scalar registers.
    fits: bool,
}

impl WaveCompiler {
    fn mask(&mut self) -> u8 {
        let mask = self.next_mask;
        self.fits &= mask + 1 < ITERATION;
        if self.fits {
            self.next_mask += 2;
        }
        mask
    }

    fn wait(&mut self) {
        self.code.put(&[S_WAITCNT_0]);
    }

    /// `dest` = `a` op `b` on masks.
    fn combine(&mut self, form: u32, dest: u8, a: u8, b: u8) {
        self.code.sop2(form, dest, scalar(a), scalar(b));
    }

    /// Adds a number to a 64-bit address in `dest` and the next register; `low` and `high` are its words.
    fn address(&mut self, dest: u8, low: Source, high: Source, offset: u8) {
        let code = &mut self.code;
        code.vop2(V_ADD_U32, dest, low, offset);
        code.vop1(V_MOV_B32, dest + 1, high);
        code.vop2(V_ADDC_U32, dest + 1, Source::Number(0), dest + 1);
    }

    fn prologue(&mut self, groups: u32) {
        let code = &mut self.code;
        code.sop2(S_ADD_U32, TEMPORARY_SCALAR, scalar(6), scalar(9));
        let eight = Source::Number(8);
        code.sop2(
            S_LSHR_B32,
            FLAT_SCRATCH + 1,
            scalar(TEMPORARY_SCALAR),
            eight,
        );
        code.sop1(S_MOV_B32, FLAT_SCRATCH, scalar(7));
        code.sop1(S_MOV_B32, M0, Source::Number(u32::MAX));
        // Number of the work-item in the launch, in v1.
        let threads = Source::Number(self.threads);
        code.sop2(S_MUL_I32, TEMPORARY_SCALAR, scalar(8), threads);
        code.vop2(V_ADD_U32, 1, scalar(TEMPORARY_SCALAR), 0);
        let bytes = 4 * OUTPUTS as u32;
        code.sop1(S_MOV_B32, TEMPORARY_SCALAR, Source::Number(bytes));
        let number = Source::Vector(1);
        code.vop3(V_MUL_LO_U32, TEMPORARY, scalar(TEMPORARY_SCALAR), number);
        let all = groups * self.threads * bytes;
        code.sop2(S_ADD_U32, COUNTER_ADDRESS, scalar(4), Source::Number(all));
        let none = Source::Number(0);
        code.sop2(S_ADDC_U32, COUNTER_ADDRESS + 1, scalar(5), none);
        self.address(2, scalar(4), scalar(5), TEMPORARY);
        for (variable, (factor, offset)) in (0..).zip(START) {
            let (code, to) = (&mut self.code, register(variable));
            code.sop1(S_MOV_B32, TEMPORARY_SCALAR, Source::Number(factor));
            code.vop3(
                V_MUL_LO_U32,
                to,
                scalar(TEMPORARY_SCALAR),
                Source::Vector(1),
            );
            code.vop2(V_ADD_U32, to, Source::Number(offset), to);
            code.vop2(V_LSHRREV_B32, to, Source::Number(13), to);
            code.vop2(V_AND_B32, to, Source::Number(7), to);
        }
        // Registers of loops.
        for number in VARIABLES..VARIABLES + 2 * LOOPS {
            self.code
                .vop1(V_MOV_B32, register(number as u8), Source::Number(0));
        }
    }

    fn block(&mut self, statements: &[LaneStatement], end: Label) {
        for statement in statements {
            let (masks, broken) = (self.next_mask, self.broken);
            self.statement(statement, end);
            (self.next_mask, self.broken) = (masks, broken);
        }
    }

    fn statement(&mut self, statement: &LaneStatement, end: Label) {
        match statement {
            LaneStatement::Assign { dest, op, a, b } => self.assign(*dest, *op, *a, *b),
            LaneStatement::If(sides) if sides.is_rest => self.rest(sides, end),
            LaneStatement::If(sides) if sides.idiom == SideIdiom::Move => self.moved(sides, end),
            LaneStatement::If(sides) => self.sides(sides, end),
            LaneStatement::Loop { .. } => self.iterate(statement, end),
            LaneStatement::Break(condition) => {
                self.compare(*condition);
                if let Some(broken) = self.broken {
                    self.combine(S_OR_B64, broken, broken, VCC);
                }
                self.combine(S_ANDN2_B64, EXEC, EXEC, VCC);
            }
            LaneStatement::Return(condition) => {
                self.compare(*condition);
                self.combine(S_ANDN2_B64, EXEC, EXEC, VCC);
            }
            LaneStatement::Repeat { level, times, body } => {
                let number = ITERATION + level;
                self.code.sop1(S_MOV_B32, number, Source::Number(0));
                let header = self.code.label();
                self.code.land(header);
                self.block(body, end);
                let code = &mut self.code;
                code.sop2(S_ADD_U32, number, scalar(number), Source::Number(1));
                code.sop2(S_CMP_LT_U32, 0, scalar(number), Source::Number(*times));
                code.branch(S_CBRANCH_SCC1, header);
            }
            LaneStatement::FirstIterations { level, below, body } => {
                let (number, below) = (scalar(ITERATION + level), Source::Number(*below));
                self.code.sop2(S_CMP_LT_U32, 0, number, below);
                let skip = self.code.label();
                self.code.branch(S_CBRANCH_SCC0, skip);
                self.block(body, end);
                self.code.land(skip);
            }
            LaneStatement::Store { slot, from } => {
                self.store(FLAT_STORE_DWORD, u32::from(*slot), register(*from));
            }
            LaneStatement::StorePrivate { word, from } => self.store_private(*word, *from),
            LaneStatement::LoadPrivate { word, to } => self.load_private(*word, *to),
            LaneStatement::Count { counter, by_ballot } => self.count(*counter, *by_ballot),
            LaneStatement::Exchange { variable, distance } => self.exchange(*variable, *distance),
            LaneStatement::Collective { kind, variable } => {
                self.collective(*kind, register(*variable));
            }
            LaneStatement::Mark(is_set) => {
                self.code.put(&[S_SETREG_MARK, u32::from(*is_set)]);
            }
        }
    }

    fn assign(&mut self, dest: u8, op: LaneOp, a: LaneOperand, b: u8) {
        let (dest, b) = (register(dest), register(b));
        let form = match op {
            LaneOp::Add => V_ADD_U32,
            LaneOp::And => V_AND_B32,
            LaneOp::Xor => V_XOR_B32,
            LaneOp::Mul => {
                return self
                    .code
                    .vop3(V_MUL_LO_U32, dest, operand(a), Source::Vector(b));
            }
        };
        self.code.vop2(form, dest, operand(a), b);
    }

    /// Writes the lanes for which a condition holds to VCC.
    fn compare(&mut self, condition: LaneCondition) {
        let form = match condition.comparison {
            LaneComparison::Less => V_CMP_LT_U32,
            LaneComparison::Equal => V_CMP_EQ_U32,
        };
        let b = match condition.b {
            LaneOperand::Vector(number) => register(number),
            other => {
                self.code.vop1(V_MOV_B32, TEMPORARY, operand(other));
                TEMPORARY
            }
        };
        self.code.vop2(form, 0, operand(condition.a), b);
    }

    /// Writes a branch at which waves may split; returns its site.
    fn site(&mut self, form: u32, to: Label, kind: BranchKind) -> usize {
        self.sites.push(KnownSite {
            at: self.code.count(),
            merge_point: None,
            kind,
            without_barrier: true,
        });
        self.code.branch(form, to);
        self.sites.len() - 1
    }

    /// Sets the merge point of sites before the next instruction, unless lanes of a side leave a loop around it: the
    /// mask of those lanes would differ.
    fn merge_here(&mut self, sites: &[Option<usize>], sides: &TwoSides) {
        let leaves = breaks(&sides.then) || breaks(&sides.otherwise);
        let here = self.code.count();
        for &site in sites.iter().flatten() {
            self.sites[site].merge_point = (!leaves).then_some(here);
        }
    }

    /// An if whose saved mask has the lanes that are not active, so that lanes that a side drops stay away.
    fn sides(&mut self, sides: &TwoSides, end: Label) {
        let waiting = self.mask();
        self.compare(sides.condition);
        self.code.sop1(S_AND_SAVEEXEC_B64, waiting, scalar(VCC));
        self.combine(S_XOR_B64, waiting, EXEC, waiting);
        let other = self.code.label();
        let branch = |compiler: &mut Self, is_there: bool, to: Label| {
            is_there.then(|| compiler.site(S_CBRANCH_EXECZ, to, BranchKind::Side))
        };
        let first = branch(self, sides.skips[0], other);
        self.block(&sides.then, end);
        self.code.land(other);
        let mut second = None;
        if !sides.otherwise.is_empty() {
            match sides.idiom {
                SideIdiom::AndNotSave => {
                    self.code
                        .sop1(S_ANDN2_SAVEEXEC_B64, waiting, scalar(waiting));
                }
                _ => {
                    self.code.sop1(S_OR_SAVEEXEC_B64, waiting, scalar(waiting));
                    self.combine(S_XOR_B64, EXEC, EXEC, waiting);
                }
            }
            let join = self.code.label();
            second = branch(self, sides.skips[1], join);
            self.block(&sides.otherwise, end);
            self.code.land(join);
        }
        self.combine(S_OR_B64, EXEC, EXEC, waiting);
        self.merge_here(&[first, second], sides);
    }

    /// An if whose saved mask has all lanes.
    fn moved(&mut self, sides: &TwoSides, end: Label) {
        let [saved, condition] = [self.mask(), self.mask()];
        self.compare(sides.condition);
        self.code.sop1(S_MOV_B64, condition, scalar(VCC));
        self.code.sop1(S_AND_SAVEEXEC_B64, saved, scalar(condition));
        let other = self.code.label();
        let first = sides.skips[0].then(|| self.site(S_CBRANCH_EXECZ, other, BranchKind::Side));
        self.block(&sides.then, end);
        self.code.land(other);
        let mut second = None;
        if !sides.otherwise.is_empty() {
            self.combine(S_ANDN2_B64, EXEC, saved, condition);
            let join = self.code.label();
            second = sides.skips[1].then(|| self.site(S_CBRANCH_EXECZ, join, BranchKind::Side));
            self.block(&sides.otherwise, end);
            self.code.land(join);
        }
        self.code.sop1(S_MOV_B64, EXEC, scalar(saved));
        self.merge_here(&[first, second], sides);
    }

    /// The rest of the program for the lanes for which a condition holds; the others end.
    fn rest(&mut self, sides: &TwoSides, end: Label) {
        let saved = self.mask();
        self.compare(sides.condition);
        self.code.sop1(S_AND_SAVEEXEC_B64, saved, scalar(VCC));
        let site = self.site(S_CBRANCH_EXECZ, end, BranchKind::Rest);
        let meets = |one: &LaneStatement| matches!(one, LaneStatement::Exchange { .. });
        self.sites[site].without_barrier = !any(&sides.then, &meets);
        self.block(&sides.then, end);
        self.store_variables();
    }

    fn iterate(&mut self, statement: &LaneStatement, end: Label) {
        let LaneStatement::Loop {
            level,
            bound,
            tests_last,
            body,
        } = statement
        else {
            return;
        };
        let counter = register(VARIABLES as u8 + level);
        let limit = counter + LOOPS as u8;
        let [broken, leaving] = [self.mask(), self.mask()];
        let code = &mut self.code;
        code.vop2(V_AND_B32, limit, Source::Number(3), register(*bound));
        code.vop1(V_MOV_B32, counter, Source::Number(0));
        code.sop1(S_MOV_B64, broken, Source::Number(0));
        let [header, exit] = [code.label(), code.label()];
        code.land(header);
        self.broken = Some(broken);
        let mut site = None;
        if !tests_last {
            self.leave_loop(counter, limit, [broken, leaving]);
            site = Some(self.site(S_CBRANCH_EXECZ, exit, BranchKind::Loop));
        }
        self.code
            .vop2(V_ADD_U32, counter, Source::Number(1), counter);
        self.block(body, end);
        if *tests_last {
            self.leave_loop(counter, limit, [broken, leaving]);
            site = Some(self.site(S_CBRANCH_EXECNZ, header, BranchKind::Loop));
        } else {
            self.code.branch(S_BRANCH, header);
        }
        self.code.land(exit);
        self.combine(S_OR_B64, EXEC, EXEC, broken);
        if let Some(site) = site {
            self.sites[site].merge_point = Some(self.code.count());
        }
    }

    /// Switches off the lanes whose iteration number has reached their limit.
    fn leave_loop(&mut self, counter: u8, limit: u8, [broken, leaving]: [u8; 2]) {
        self.code
            .vop2(V_CMP_LT_U32, 0, Source::Vector(counter), limit);
        self.combine(S_ANDN2_B64, leaving, EXEC, VCC);
        self.combine(S_OR_B64, broken, broken, leaving);
        self.combine(S_AND_B64, EXEC, EXEC, VCC);
    }

    /// Stores a vector register as a word of the work-item's output, or adds it: `form` is the instruction.
    fn store(&mut self, form: u32, word: u32, from: u8) {
        let offset = Source::Number(4 * word);
        self.code.vop1(V_MOV_B32, TEMPORARY, offset);
        self.address(TEMPORARY, Source::Vector(2), Source::Vector(3), TEMPORARY);
        self.code.memory(form, TEMPORARY, from, 0);
    }

    /// Adds the variables to the output, which begins as 0, so that a lane that ends twice shows.
    fn store_variables(&mut self) {
        for variable in 0..VARIABLES {
            let word = (SLOTS + variable) as u32;
            self.store(FLAT_ATOMIC_ADD, word, register(variable as u8));
        }
    }

    /// Address of a word of private memory, in temporaries.
    fn private(&mut self, word: u8) {
        let code = &mut self.code;
        code.vop1(V_MOV_B32, TEMPORARY, Source::Number(4 * u32::from(word)));
        code.vop1(V_MOV_B32, TEMPORARY + 1, Source::Number(PRIVATE_APERTURE));
    }

    fn store_private(&mut self, word: u8, from: u8) {
        self.private(word);
        let from = register(from);
        // The same memory by both of its ways.
        match word % 2 {
            0 => self.code.memory(FLAT_STORE_DWORD, TEMPORARY, from, 0),
            _ => self.code.buffer(BUFFER_STORE_DWORD, TEMPORARY, from, 0, 9),
        }
    }

    fn load_private(&mut self, word: u8, to: u8) {
        self.private(word);
        let to = register(to);
        match word {
            0 | 1 => self.code.memory(FLAT_LOAD_DWORD, TEMPORARY, 0, to),
            _ => self.code.buffer(BUFFER_LOAD_DWORD, TEMPORARY, to, 0, 9),
        }
        self.wait();
    }

    /// The lowest lane adds the number of lanes to a counter (LLVM's optimisation of atomic operations).
    fn count(&mut self, counter: u8, by_ballot: bool) {
        let [lanes, saved] = [self.mask(), self.mask()];
        let source = match by_ballot {
            // The number of lanes is the number in EXEC all the same.
            true => {
                let zero = Source::Number(0);
                self.code.vop1(V_MOV_B32, TEMPORARY, zero);
                self.code.vop2(V_CMP_EQ_U32, 0, zero, TEMPORARY);
                VCC
            }
            false => EXEC,
        };
        self.code.sop1(S_MOV_B64, lanes, scalar(source));
        let (code, below) = (&mut self.code, TEMPORARY + 2);
        code.vop3(V_MBCNT_LO, below, scalar(lanes), Source::Number(0));
        code.vop3(V_MBCNT_HI, below, scalar(lanes + 1), Source::Vector(below));
        code.sop1(S_BCNT1_I32_B64, TEMPORARY_SCALAR, scalar(EXEC));
        code.vop2(V_CMP_EQ_U32, 0, Source::Number(0), below);
        code.sop1(S_AND_SAVEEXEC_B64, saved, scalar(VCC));
        let offset = Source::Number(4 * u32::from(counter % COUNTERS as u8));
        code.vop1(V_MOV_B32, TEMPORARY, offset);
        let [low, high] = [COUNTER_ADDRESS, COUNTER_ADDRESS + 1].map(scalar);
        self.address(TEMPORARY, low, high, TEMPORARY);
        let code = &mut self.code;
        code.vop1(V_MOV_B32, below, scalar(TEMPORARY_SCALAR));
        code.memory(FLAT_ATOMIC_ADD, TEMPORARY, below, 0);
        self.combine(S_OR_B64, EXEC, EXEC, saved);
    }

    fn exchange(&mut self, variable: u8, distance: u32) {
        let (code, own, other) = (&mut self.code, TEMPORARY, TEMPORARY + 1);
        code.vop2(V_LSHLREV_B32, own, Source::Number(2), 0);
        code.memory(DS_WRITE_B32, own, register(variable), 0);
        self.wait();
        self.code.put(&[S_BARRIER]);
        // The number of the other work-item, modulo the size of the group.
        let past = Source::Number(self.threads.wrapping_neg());
        let code = &mut self.code;
        code.vop2(V_ADD_U32, own, Source::Number(distance), 0);
        code.vop2(V_ADD_U32, other, past, own);
        code.vop2(V_MIN_U32, own, Source::Vector(own), other);
        code.vop2(V_LSHLREV_B32, own, Source::Number(2), own);
        code.memory(DS_READ_B32, own, 0, register(variable));
        self.wait();
        self.code.put(&[S_BARRIER]);
    }

    fn collective(&mut self, kind: Collective, variable: u8) {
        let own = Source::Vector(variable);
        let (temporary, word) = (TEMPORARY, TEMPORARY_SCALAR);
        let masks = self.next_mask;
        let lanes = self.mask();
        let code = &mut self.code;
        let [start, after] = [code.label(), code.label()];
        let first_lane = |code: &mut MachineCode| {
            let to = u32::from(word) << 17;
            code.put(&[V_READFIRSTLANE_B32 | to | (256 + u32::from(variable))]);
        };
        let below_four = |code: &mut MachineCode| {
            code.vop1(V_MOV_B32, temporary, Source::Number(4));
            code.vop2(V_CMP_LT_U32, 0, own, temporary);
        };
        match kind {
            Collective::AnyLoop => {
                code.land(start);
                code.vop2(V_ADD_U32, variable, Source::Number(1), variable);
                below_four(code);
                code.branch(S_CBRANCH_VCCNZ, start);
            }
            Collective::UniformLoop => {
                code.sop1(S_MOV_B32, word, Source::Number(0));
                code.land(start);
                code.sop2(S_ADD_U32, word, scalar(word), Source::Number(1));
                code.vop1(V_MOV_B32, temporary, scalar(word));
                code.vop2(V_CMP_EQ_U32, 0, Source::Number(2), temporary);
                code.branch(S_CBRANCH_VCCZ, start);
            }
            Collective::FirstLane => {
                first_lane(code);
                code.vop2(V_ADD_U32, variable, scalar(word), variable);
            }
            Collective::FirstLaneBranch => {
                first_lane(code);
                code.sop2(S_CMP_LT_U32, 0, scalar(word), Source::Number(3));
                code.branch(S_CBRANCH_SCC0, after);
                code.vop2(V_XOR_B32, variable, Source::Number(5), variable);
            }
            Collective::MaskCount => {
                below_four(code);
                code.sop1(S_BCNT1_I32_B64, word, scalar(VCC));
                code.vop2(V_ADD_U32, variable, scalar(word), variable);
            }
            Collective::MaskBranch => {
                below_four(code);
                code.sop2(S_AND_B64, lanes, scalar(EXEC), scalar(VCC));
                code.branch(S_CBRANCH_SCC0, after);
                code.vop2(V_XOR_B32, variable, Source::Number(3), variable);
            }
            Collective::Neighbour => {
                let [form, lanes] = V_MOV_B32_DPP;
                let to = u32::from(temporary) << 17;
                code.put(&[form | to, lanes | u32::from(variable)]);
                code.vop2(V_ADD_U32, variable, Source::Vector(temporary), variable);
            }
        }
        code.land(after);
        self.code
            .vop2(V_AND_B32, variable, Source::Number(7), variable);
        self.next_mask = masks;
    }
}
