//! Probes of GCN3: counters in scalar registers, which a wave increments by scalar instructions and adds to a
//! variable where it ends.
//!
//! EXEC and SCC are unchanged after each probe: its instructions do not depend on EXEC, and SCC is saved where it is
//! live. Counters for which no scalar register is left are in lanes of vector registers.
//!
//! For example, a probe of issues is `s_add_u32 s20, s20, 1`. Where SCC is live, `s_cselect_b32 s16, 1, 0` stands
//! before it and `s_cmp_lg_u32 s16, 0` after it.

use std::collections::{BTreeMap, BTreeSet};

use warpbound_base::{CodeAddr, Diagnostic, Family};
use warpbound_isa::amd::{Encoding, GcnFlow, GcnOpcode, GcnProgram, GcnValue, scalar};
use warpbound_isa::{BranchTarget, Reg, RegisterKind};

use super::code;
use super::scc;
use super::sequence::{GcnSequence, LiteralDistance, NewGcnInstr};
use super::{CodeObjectRewriter, ObjectKernel};
use crate::probes::{Increment, ProbedQuantity};

/// Name of the variable that holds the counters.
const VARIABLE: &str = "warpbound_counters";

/// Number of scalar registers without the last six of 102, which hold VCC, FLAT_SCRATCH and XNACK_MASK.
const MOST_SCALAR: u8 = 96;

/// Counters that fit into one vector register, one in each lane.
const LANES: usize = Family::Gcn3.lanes() as usize;

/// Probes to add to a kernel of a code object.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ScalarProbes {
    /// Name of the kernel.
    pub kernel: String,
    /// Number of counters. The sum of a wave is counted modulo 2^32.
    pub counters: usize,
    /// Bytes of the variable before the first counter; a multiple of 8.
    pub first_byte: u64,
    /// Increments at the first instruction of a block, by its address relative to the code section.
    pub points: BTreeMap<CodeAddr, BTreeSet<Increment>>,
}

/// Result of adding probes to a kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ScalarProbesPlaced {
    /// Name of the variable: the requested bytes, then a 64-bit sum for each counter.
    pub variable: &'static str,
    /// Address of the first counter in the loaded file.
    pub address: u64,
    /// Size of the variable in bytes.
    pub bytes: u64,
    /// Number of probes that save SCC.
    pub scc_saved: usize,
    /// Number of inserted instructions.
    pub inserted: usize,
    /// Registers that a wave needs: numbered SGPRs, and VGPRs.
    pub registers: (u16, u16),
}

/// Place of a counter while a wave runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ScalarHome {
    Scalar(u8),
    Lane { vector: u8, lane: u8 },
}

/// Registers of the probes.
#[derive(Clone, Debug)]
struct ProbeRegisters {
    /// First of four scalar registers, even: saved SCC, a number of lanes, and a counter that is read from a lane.
    scratch: u8,
    homes: Vec<ScalarHome>,
    /// Number of SGPRs and of VGPRs, including the registers of the probes.
    needed: (u16, u16),
}

impl CodeObjectRewriter<'_> {
    /// Inserts probes into a kernel.
    ///
    /// # Errors
    ///
    /// Fails if the kernel does not exist, if its code selects registers by M0, if no register is free, or if its
    /// waves may end in a function that other kernels share.
    pub fn add_probes(&mut self, probes: &ScalarProbes) -> Result<ScalarProbesPlaced, Diagnostic> {
        let kernel = self
            .kernels
            .iter()
            .find(|k| k.name == probes.kernel)
            .cloned();
        let kernel = kernel.ok_or_else(|| {
            Diagnostic::new("the code object has no such kernel").in_kernel(&*probes.kernel)
        })?;
        if probes.counters == 0 && probes.points.is_empty() {
            return self.add_empty_variable(probes.first_byte);
        }
        check_registers(&self.program)?;
        // A wave must add its counters once, at an end that belongs to the kernel where it began.
        check_separation(self)?;
        let counters = probes.points.values().flatten().map(|inc| inc.counter + 1);
        let counters = counters.max().unwrap_or(0).max(probes.counters);
        let registers = ProbeRegisters::choose(self, counters)?;
        let bytes = probes.first_byte.saturating_add(8 * counters as u64);
        let address = self.add_variable(VARIABLE, bytes)?;
        let address = address.saturating_add(probes.first_byte);
        let live = scc::live_before(&self.program);
        let (mut scc_saved, mut inserted) = (0, 0);
        for (at, increments) in &probes.points {
            let index = self.program.index_of(*at);
            // Outside the known code, SCC counts as live.
            let is_live = index
                .and_then(|index| live.get(index))
                .copied()
                .unwrap_or(true);
            scc_saved += usize::from(is_live);
            let body = whole(registers.body(increments, is_live))?;
            inserted += body.len();
            self.insert_before(*at, body)?;
        }
        for at in ends(self, &kernel)? {
            let flush = registers.flush(address)?;
            inserted += flush.len();
            // Part of the body, so that a jump to the end passes it as well.
            self.insert_before(at, flush)?;
        }
        // In the prologue, so that a jump back to the first instruction does not clear the counters.
        let start = whole(registers.start())?;
        inserted += start.len();
        self.insert_at_start(&kernel, start)?;
        self.require_registers(registers.needed.0, registers.needed.1);
        Ok(ScalarProbesPlaced {
            variable: VARIABLE,
            address,
            bytes,
            scc_saved,
            inserted,
            registers: registers.needed,
        })
    }
}

impl CodeObjectRewriter<'_> {
    /// Adds the variable of a kernel without probes, whose code stays unchanged.
    fn add_empty_variable(&mut self, bytes: u64) -> Result<ScalarProbesPlaced, Diagnostic> {
        let address = self.add_variable(VARIABLE, bytes)?;
        Ok(ScalarProbesPlaced {
            variable: VARIABLE,
            address: address.saturating_add(bytes),
            bytes,
            scc_saved: 0,
            inserted: 0,
            registers: (0, 0),
        })
    }
}

/// Returns the instructions of a sequence; fails if one has no encoding.
fn whole(sequence: GcnSequence) -> Result<Vec<NewGcnInstr>, Diagnostic> {
    let instrs = sequence.finish();
    instrs.ok_or_else(|| Diagnostic::new("an instruction of a probe has no encoding"))
}

/// Refuses code that may use a register that no instruction names.
fn check_registers(program: &GcnProgram) -> Result<(), Diagnostic> {
    use GcnOpcode::{
        SMovreldB32, SMovreldB64, SMovrelsB32, SMovrelsB64, SSetGprIdxMode, SSetGprIdxOn,
    };
    let indexed = [
        SMovreldB32,
        SMovreldB64,
        SMovrelsB32,
        SMovrelsB64,
        SSetGprIdxMode,
        SSetGprIdxOn,
    ];
    let mut instrs = program.instrs.iter();
    let found = instrs.find(|instr| instr.opcode().is_some_and(|op| indexed.contains(&op)));
    match found {
        None => Ok(()),
        Some(instr) => {
            let message = "an instruction selects registers by M0: which are free is not known";
            Err(Diagnostic::new(message).at(instr.addr))
        }
    }
}

/// Refuses code if waves of one kernel can enter another kernel, where they would end without adding their counters.
fn check_separation(rewriter: &CodeObjectRewriter<'_>) -> Result<(), Diagnostic> {
    let kernels = &rewriter.kernels;
    let kernel_at = |at: CodeAddr| {
        kernels
            .iter()
            .position(|kernel| (kernel.entry..kernel.end).contains(&at))
    };
    for kernel in kernels {
        rewriter.check_start(kernel)?;
    }
    let refuse = |at: CodeAddr| {
        let message = "waves of one kernel may come into another one from here";
        Err(Diagnostic::new(message).at(at))
    };
    for instr in &rewriter.program.instrs {
        let target = match instr.effects().flow {
            GcnFlow::Jump(to) | GcnFlow::Branch(_, to) => to,
            _ => continue,
        };
        if let BranchTarget::Code(to) = target
            && let Some(kernel) = kernel_at(to)
            && kernel_at(instr.addr) != Some(kernel)
        {
            return refuse(instr.addr);
        }
    }
    let text = rewriter.object.text().address;
    // A computed address may be called or jumped to. With one kernel there is no other one to enter.
    for (from, address) in code::computed_addresses(rewriter)? {
        let offset = address
            .checked_sub(text)
            .and_then(|at| u32::try_from(at).ok());
        if kernels.len() > 1 && offset.is_some_and(|at| kernel_at(CodeAddr(at)).is_some()) {
            return refuse(from);
        }
    }
    Ok(())
}

/// Returns the addresses at which waves of a kernel end.
fn ends(
    rewriter: &CodeObjectRewriter<'_>,
    kernel: &ObjectKernel,
) -> Result<Vec<CodeAddr>, Diagnostic> {
    let within = |of: &ObjectKernel, at: CodeAddr| (of.entry..of.end).contains(&at);
    let mut found = Vec::new();
    for instr in &rewriter.program.instrs {
        if instr.effects().flow != GcnFlow::Exit {
            continue;
        }
        let of_another = rewriter
            .kernels
            .iter()
            .any(|other| other.name != kernel.name && within(other, instr.addr));
        // With a single kernel, also a function outside it ends only waves of this kernel.
        if within(kernel, instr.addr) || !of_another && rewriter.kernels.len() == 1 {
            found.push(instr.addr);
        } else if !of_another {
            let message = "waves of several kernels may end in this function";
            return Err(Diagnostic::new(message).at(instr.addr));
        }
    }
    Ok(found)
}

/// Number of the first register above all that the code names, below `most`.
fn first_free(program: &GcnProgram, kind: RegisterKind, most: u8) -> u8 {
    let mut first = 0;
    for instr in &program.instrs {
        let effects = instr.effects();
        let registers = effects.reads.iter().chain(&effects.writes);
        let numbers = registers
            .filter(|reg| reg.kind == kind && reg.number < most)
            .map(|reg: &Reg| reg.number + 1);
        first = numbers.max().unwrap_or(0).max(first);
    }
    first
}

impl ProbeRegisters {
    /// Chooses registers that no instruction of the code names and that no kernel receives at its start.
    fn choose(
        rewriter: &CodeObjectRewriter<'_>,
        counters: usize,
    ) -> Result<ProbeRegisters, Diagnostic> {
        /// Number of scalar registers that instructions can name.
        const NAMED: u8 = 102;
        /// Scalar registers after those of the user: three indices, facts about the block, and the scratch offset.
        const OF_BLOCK: u32 = 5;
        // Over the whole section, because functions may be shared by all kernels.
        let program = &rewriter.program;
        let received = rewriter
            .kernels
            .iter()
            .map(|k| k.facts.user_registers() + OF_BLOCK);
        let received = u8::try_from(received.max().unwrap_or(0)).unwrap_or(u8::MAX);
        let free = first_free(program, RegisterKind::Scalar, NAMED).max(received);
        // `s_getpc_b64` writes a pair, which begins at an even number.
        let scratch = free.checked_next_multiple_of(2).unwrap_or(u8::MAX);
        if scratch.saturating_add(4) > MOST_SCALAR {
            let message = format!("the code uses {free} scalar registers: none is free");
            return Err(Diagnostic::new(message));
        }
        let mut homes: Vec<ScalarHome> = (scratch + 4..MOST_SCALAR)
            .take(counters)
            .map(ScalarHome::Scalar)
            .collect();
        let scalar = usize::from(scratch) + 4 + homes.len();
        // A work-item receives up to three vector registers for its index, and the flush uses the first four.
        let mut vectors = first_free(program, RegisterKind::Vector, u8::MAX).max(4);
        let left = counters - homes.len();
        for number in 0..left {
            if number > 0 && number % LANES == 0 || vectors == u8::MAX {
                vectors = vectors.saturating_add(1);
            }
            if vectors == u8::MAX {
                return Err(Diagnostic::new(
                    "no vector register is free for the counters",
                ));
            }
            homes.push(ScalarHome::Lane {
                vector: vectors,
                lane: (number % LANES) as u8,
            });
        }
        let vector = match left {
            0 => 4,
            _ => u16::from(vectors).saturating_add(1),
        };
        Ok(ProbeRegisters {
            scratch,
            homes,
            needed: (u16::try_from(scalar).unwrap_or(u16::MAX), vector),
        })
    }

    fn scratch(&self, number: u8) -> GcnValue {
        GcnValue::Scalar(self.scratch.saturating_add(number))
    }

    /// Instructions that set all counters to zero.
    fn start(&self) -> GcnSequence {
        let mut out = GcnSequence::default();
        for home in &self.homes {
            match home {
                ScalarHome::Scalar(register) => out.push(
                    GcnOpcode::SMovB32,
                    Encoding::Sop1,
                    &[GcnValue::Scalar(*register), GcnValue::Int(0)],
                ),
                ScalarHome::Lane { vector, lane } => {
                    write_lane(&mut out, *vector, *lane, GcnValue::Int(0));
                }
            }
        }
        out
    }

    /// Instructions of one probe; SCC is kept where it is live.
    fn body(&self, increments: &BTreeSet<Increment>, is_scc_live: bool) -> GcnSequence {
        let mut out = GcnSequence::default();
        let (saved, lanes) = (self.scratch(0), self.scratch(1));
        let one = GcnValue::Int(1);
        // Both `s_bcnt1` and `s_add_u32` write SCC.
        if is_scc_live {
            let values = [saved, one, GcnValue::Int(0)];
            out.push(GcnOpcode::SCselectB32, Encoding::Sop2, &values);
        }
        for increment in increments {
            let weight = constant(increment.weight);
            let growth = match increment.quantity {
                ProbedQuantity::Issues => weight,
                ProbedQuantity::Lanes => {
                    // Before the first instruction of the block, EXEC is the set of active lanes that counts
                    // (SOUNDNESS 19).
                    let exec = GcnValue::Scalar(scalar::EXEC);
                    out.push(GcnOpcode::SBcnt1I32B64, Encoding::Sop1, &[lanes, exec]);
                    if increment.weight != 1 {
                        let values = [lanes, lanes, weight];
                        out.push(GcnOpcode::SMulI32, Encoding::Sop2, &values);
                    }
                    lanes
                }
            };
            match self.homes.get(increment.counter) {
                Some(ScalarHome::Scalar(register)) => {
                    let counter = GcnValue::Scalar(*register);
                    out.push(
                        GcnOpcode::SAddU32,
                        Encoding::Sop2,
                        &[counter, counter, growth],
                    );
                }
                Some(ScalarHome::Lane { vector, lane }) => {
                    let counter = self.scratch(2);
                    read_lane(&mut out, counter, *vector, *lane);
                    out.push(
                        GcnOpcode::SAddU32,
                        Encoding::Sop2,
                        &[counter, counter, growth],
                    );
                    write_lane(&mut out, *vector, *lane, counter);
                }
                None => {}
            }
        }
        if is_scc_live {
            let values = [saved, GcnValue::Int(0)];
            out.push(GcnOpcode::SCmpLgU32, Encoding::Sopc, &values);
        }
        out
    }

    /// Instructions that add all counters to the variable, in one lane. The wave ends after them, so EXEC, SCC and
    /// the first vector registers may be overwritten.
    fn flush(&self, address: u64) -> Result<Vec<NewGcnInstr>, Diagnostic> {
        let mut out = GcnSequence::default();
        let (low, high) = (self.scratch(0), self.scratch(1));
        let exec = GcnValue::Scalar(scalar::EXEC);
        // Lane 0 exists in every wave, and one lane must add each sum once.
        out.push(
            GcnOpcode::SMovB64,
            Encoding::Sop1,
            &[exec, GcnValue::Int(1)],
        );
        let from = out.len();
        out.push(GcnOpcode::SGetpcB64, Encoding::Sop1, &[low]);
        // Not an inline constant, so that the encoding has a literal for the distance.
        let literal = GcnValue::Literal(u32::MAX / 2);
        for (opcode, register, is_high) in [
            (GcnOpcode::SAddU32, low, false),
            (GcnOpcode::SAddcU32, high, true),
        ] {
            let distance = LiteralDistance {
                from,
                to: address,
                is_high,
            };
            let values = [register, register, literal];
            out.push_with(opcode, Encoding::Sop2, &values, Some(distance));
        }
        let vector = GcnValue::Vector;
        // The upper word of each addition, which has 64 bits.
        out.push(
            GcnOpcode::VMovB32,
            Encoding::Vop1,
            &[vector(3), GcnValue::Int(0)],
        );
        for home in &self.homes {
            let counter = match home {
                ScalarHome::Scalar(register) => GcnValue::Scalar(*register),
                ScalarHome::Lane { vector, lane } => {
                    read_lane(&mut out, self.scratch(2), *vector, *lane);
                    self.scratch(2)
                }
            };
            for (to, from) in [(0, low), (1, high), (2, counter)] {
                out.push(GcnOpcode::VMovB32, Encoding::Vop1, &[vector(to), from]);
            }
            let values = [vector(0), vector(2)];
            out.push(GcnOpcode::FlatAtomicAddX2, Encoding::Flat, &values);
            let eight = GcnValue::Int(8);
            out.push(GcnOpcode::SAddU32, Encoding::Sop2, &[low, low, eight]);
            out.push(
                GcnOpcode::SAddcU32,
                Encoding::Sop2,
                &[high, high, GcnValue::Int(0)],
            );
        }
        whole(out)
    }
}

fn read_lane(out: &mut GcnSequence, to: GcnValue, vector: u8, lane: u8) {
    let values = [to, GcnValue::Vector(vector), GcnValue::Int(lane.into())];
    out.push(GcnOpcode::VReadlaneB32, Encoding::Vop3a, &values);
}

fn write_lane(out: &mut GcnSequence, vector: u8, lane: u8, from: GcnValue) {
    let values = [GcnValue::Vector(vector), from, GcnValue::Int(lane.into())];
    out.push(GcnOpcode::VWritelaneB32, Encoding::Vop3a, &values);
}

/// Constant of 32 bits, inline if it is at most 64.
fn constant(number: u32) -> GcnValue {
    match i32::try_from(number) {
        Ok(small @ 0..=64) => GcnValue::Int(small),
        _ => GcnValue::Literal(number),
    }
}
