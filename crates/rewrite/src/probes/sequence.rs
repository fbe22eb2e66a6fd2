//! Sequences of instructions with control words. Each instruction waits for the results that it reads.
//!
//! For example, `until(issue + 6)` raises the stall count of the last instruction until its result is ready 6 cycles
//! after its issue; above 15 cycles, NOPs follow.

use warpbound_base::Diagnostic;
use warpbound_isa::SpecialReg;
use warpbound_isa::instr::Guard;
use warpbound_isa::nvidia::{Arch, ControlWord, Modifier, NewOperand, Opcode, WordBuilder};
use warpbound_load::AddressHalf;

/// Instruction to insert.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ProbeInstr {
    /// Word, without targets.
    pub word: u64,
    /// Control word.
    pub control: ControlWord,
    /// Half of the variable's address that the loader writes into the immediate operand.
    pub address: Option<AddressHalf>,
}

/// Control word without scoreboards, after which the next instruction issues one cycle later.
const PLAIN: ControlWord = ControlWord {
    usched: 17,
    write_sb: None,
    read_sb: None,
    wait_mask: 0,
    reuse: 0,
    coupled: false,
};

/// `NOP` without a condition.
const NOP: u64 = 0x50b0_0000_0007_0f00;

/// Maximum stall count in cycles.
pub(super) const LONGEST_STALL: u32 = 15;

/// Returns the control word with a stall count of 1 to 15 cycles. A hint to switch warps stays.
pub(super) fn with_stall(control: ControlWord, stall: u32) -> ControlWord {
    let stall = stall.clamp(1, LONGEST_STALL) as u8;
    // Codes 17 to 27 are 1 to 11 cycles; codes 1 to 15 are 1 to 15 cycles with a hint to switch warps.
    let hints = control.usched < 16 || stall > 11;
    let usched = if hints { stall } else { 16 + stall };
    ControlWord { usched, ..control }
}

/// Adds NOPs that take this many cycles.
pub(super) fn wait(list: &mut Vec<ProbeInstr>, mut cycles: u32) {
    while cycles > 0 {
        let stall = cycles.min(LONGEST_STALL);
        list.push(ProbeInstr {
            word: NOP,
            control: with_stall(PLAIN, stall),
            address: None,
        });
        cycles -= stall;
    }
}

/// Sequence of instructions under one guard.
pub(super) struct Sequence {
    arch: Arch,
    /// Guard of the instructions that follow.
    pub(super) guard: Guard,
    instrs: Vec<ProbeInstr>,
    /// Earliest issue cycle of each instruction, counted from the first one.
    issue: Vec<u32>,
    /// Scoreboards that the next instruction waits for.
    waits: u8,
}

impl Sequence {
    pub(super) fn new(arch: Arch, guard: Guard) -> Sequence {
        Sequence {
            arch,
            guard,
            instrs: Vec::new(),
            issue: Vec::new(),
            waits: 0,
        }
    }

    /// Minimum number of cycles from the first issue to the issue after the last instruction.
    pub(super) fn length(&self) -> u32 {
        match (self.issue.last(), self.instrs.last()) {
            (Some(&issue), Some(last)) => issue + u32::from(last.control.min_distance()),
            _ => 0,
        }
    }

    /// Makes the next instruction wait for scoreboards.
    pub(super) fn wait(&mut self, scoreboards: u8) {
        self.waits |= scoreboards;
    }

    /// Delays the next instruction until `cycle`, counted from the first one.
    pub(super) fn until(&mut self, cycle: u32) {
        let missing = cycle.saturating_sub(self.length());
        let Some(last) = self.instrs.last_mut() else {
            return;
        };
        let stall = u32::from(last.control.min_distance()) + missing;
        // Codes 17 to 27 are 1 to 11 cycles; 12 to 15 exist only with a hint to switch warps.
        if stall <= 11 {
            last.control.usched = 16 + stall as u8;
        } else if stall <= 15 {
            last.control.usched = stall as u8;
        } else {
            last.control.usched = 15;
            // The NOP must neither depend on the guard nor take over the waits of the next instruction.
            let (guard, waits) = (self.guard, self.waits);
            (self.guard, self.waits) = (Guard::ALWAYS, 0);
            // A NOP has no operand, so it always has an encoding.
            let _ = self.add(Opcode::Nop, &[], &[]);
            (self.guard, self.waits) = (guard, waits);
            // Again, because one NOP waits for 15 cycles at most.
            self.until(cycle);
        }
    }

    /// Adds an instruction and returns the cycle of its issue.
    ///
    /// # Errors
    ///
    /// If no form of the instruction fits the operands.
    pub(super) fn add(
        &mut self,
        opcode: Opcode,
        modifiers: &[Modifier],
        operands: &[NewOperand],
    ) -> Result<u32, Diagnostic> {
        let word = WordBuilder::new(self.arch, opcode)
            .with_guard(self.guard)
            .modifiers(modifiers)
            .operands(operands)
            .build()
            .map_err(|error| Diagnostic::new(format!("a probe cannot be encoded: {error}")))?;
        let issue = self.length();
        let control = ControlWord {
            wait_mask: std::mem::take(&mut self.waits),
            ..PLAIN
        };
        self.instrs.push(ProbeInstr {
            // Probes are written for words of 64 bits.
            word: word as u64,
            control,
            address: None,
        });
        self.issue.push(issue);
        Ok(issue)
    }

    /// Sets the scoreboards of the last instruction.
    pub(super) fn holds(&mut self, write: Option<u8>, read: Option<u8>) {
        if let Some(last) = self.instrs.last_mut() {
            last.control.write_sb = write;
            last.control.read_sb = read;
        }
    }

    /// Returns the instructions. A NOP is added if the next instruction was to wait for scoreboards.
    pub(super) fn finish(mut self) -> Result<Vec<ProbeInstr>, Diagnostic> {
        if self.waits != 0 {
            self.guard = Guard::ALWAYS;
            self.add(Opcode::Nop, &[], &[])?;
        }
        Ok(self.instrs)
    }

    // Instructions of probes.

    /// `to = 0`.
    pub(super) fn zero(&mut self, to: u8) -> Result<u32, Diagnostic> {
        self.add(Opcode::Mov, &[], &[NewOperand::reg(to), NewOperand::zero()])
    }

    /// `to = from`.
    pub(super) fn copy(&mut self, to: u8, from: u8) -> Result<u32, Diagnostic> {
        self.add(
            Opcode::Mov,
            &[],
            &[NewOperand::reg(to), NewOperand::reg(from)],
        )
    }

    /// `to = number`.
    pub(super) fn number(&mut self, to: u8, number: u32) -> Result<u32, Diagnostic> {
        let number = NewOperand::int(i64::from(number));
        self.add(Opcode::Mov32i, &[], &[NewOperand::reg(to), number])
    }

    /// `to, to + 1 =` the address of the variable. The loader writes the two immediates.
    pub(super) fn address(&mut self, to: u8) -> Result<u32, Diagnostic> {
        let mut last = 0;
        for (register, half) in [(to, AddressHalf::Low), (to + 1, AddressHalf::High)] {
            last = self.number(register, 0)?;
            if let Some(instr) = self.instrs.last_mut() {
                instr.address = Some(half);
            }
        }
        Ok(last)
    }

    /// `to =` the mask of the lower lanes, released by a scoreboard.
    pub(super) fn lanes_below(&mut self, to: u8, scoreboard: u8) -> Result<u32, Diagnostic> {
        let special = NewOperand::special(SpecialReg::LanesBelow);
        let issue = self.add(Opcode::S2r, &[], &[NewOperand::reg(to), special])?;
        self.holds(Some(scoreboard), None);
        Ok(issue)
    }

    /// `to =` the mask of the active lanes.
    pub(super) fn ballot(&mut self, to: u8) -> Result<u32, Diagnostic> {
        let always = NewOperand::pred(None);
        self.add(
            Opcode::Vote,
            &[Modifier::All],
            &[NewOperand::reg(to), always, always],
        )
    }

    /// `pred = (a & b) == 0`.
    pub(super) fn test_disjoint(&mut self, pred: u8, a: u8, b: u8) -> Result<u32, Diagnostic> {
        let operands = [
            NewOperand::pred(Some(pred)),
            NewOperand::zero(),
            NewOperand::reg(a),
            NewOperand::reg(b),
        ];
        self.add(Opcode::Lop, &[Modifier::And, Modifier::Z], &operands)
    }

    /// `to = a & b`.
    pub(super) fn and(&mut self, to: u8, a: u8, b: u8) -> Result<u32, Diagnostic> {
        let operands = [to, a, b].map(NewOperand::reg);
        self.add(Opcode::Lop, &[Modifier::And], &operands)
    }

    /// `to = a & number`.
    pub(super) fn and_number(&mut self, to: u8, a: u8, number: u32) -> Result<u32, Diagnostic> {
        let number = NewOperand::int(i64::from(number));
        let operands = [NewOperand::reg(to), NewOperand::reg(a), number];
        self.add(Opcode::Lop32i, &[Modifier::And], &operands)
    }

    /// `to = a == 0 ? all bits : 0`.
    pub(super) fn mask_if_zero(&mut self, to: u8, a: u8) -> Result<u32, Diagnostic> {
        let operands = [
            NewOperand::reg(to),
            NewOperand::reg(a),
            NewOperand::zero(),
            NewOperand::pred(None),
        ];
        self.add(Opcode::Iset, &[Modifier::Eq, Modifier::And], &operands)
    }

    /// `to += number`.
    pub(super) fn increase(&mut self, to: u8, number: u32) -> Result<u32, Diagnostic> {
        let number = NewOperand::int(i64::from(number as i32));
        let operands = [NewOperand::reg(to), NewOperand::reg(to), number];
        self.add(Opcode::Iadd32i, &[], &operands)
    }

    /// `to += number`, with the carry in the condition code.
    pub(super) fn increase_low(&mut self, to: u8, number: u32) -> Result<u32, Diagnostic> {
        let number = NewOperand::int(i64::from(number as i32));
        let to = NewOperand::reg(to);
        self.add(Opcode::Iadd32i, &[], &[to.setting_cc(), to, number])
    }

    /// `to += by`, with the carry in the condition code.
    pub(super) fn increase_low_by(&mut self, to: u8, by: u8) -> Result<u32, Diagnostic> {
        let operands = [
            NewOperand::reg(to).setting_cc(),
            NewOperand::reg(to),
            NewOperand::reg(by),
        ];
        self.add(Opcode::Iadd, &[], &operands)
    }

    /// `to +=` the carry, and `by` (255 for zero).
    pub(super) fn increase_high_by(&mut self, to: u8, by: u8) -> Result<u32, Diagnostic> {
        let operands = [to, to, by].map(NewOperand::reg);
        self.add(Opcode::Iadd, &[Modifier::X], &operands)
    }

    /// `to +=` the carry minus one, which is the upper half of a negative number.
    pub(super) fn decrease_high(&mut self, to: u8) -> Result<u32, Diagnostic> {
        let operands = [
            NewOperand::reg(to),
            NewOperand::reg(to),
            NewOperand::int(-1),
        ];
        self.add(Opcode::Iadd, &[Modifier::X], &operands)
    }

    /// `to =` the sign of `of`, in all bits.
    pub(super) fn sign(&mut self, to: u8, of: u8) -> Result<u32, Diagnostic> {
        let operands = [
            NewOperand::reg(to),
            NewOperand::reg(of),
            NewOperand::int(31),
        ];
        self.add(Opcode::Shr, &[], &operands)
    }

    /// `to += by`.
    pub(super) fn increase_by(&mut self, to: u8, by: u8) -> Result<u32, Diagnostic> {
        let operands = [to, to, by].map(NewOperand::reg);
        self.add(Opcode::Iadd, &[], &operands)
    }

    /// `to =` the number of bits set in `of`, released by a scoreboard.
    pub(super) fn population(&mut self, to: u8, of: u8, scoreboard: u8) -> Result<u32, Diagnostic> {
        let issue = self.add(Opcode::Popc, &[], &[to, of].map(NewOperand::reg))?;
        self.holds(Some(scoreboard), None);
        Ok(issue)
    }

    /// `to += a * number`, with the low 16 bits of `a`.
    pub(super) fn add_times(&mut self, to: u8, a: u8, number: u16) -> Result<u32, Diagnostic> {
        let operands = [
            NewOperand::reg(to),
            NewOperand::reg(a),
            NewOperand::int(i64::from(number)),
            NewOperand::reg(to),
        ];
        self.add(Opcode::Xmad, &[], &operands)
    }

    /// `to =` a special register, released by a scoreboard.
    pub(super) fn special(
        &mut self,
        to: u8,
        special: SpecialReg,
        scoreboard: u8,
    ) -> Result<u32, Diagnostic> {
        let operands = [NewOperand::reg(to), NewOperand::special(special)];
        let issue = self.add(Opcode::S2r, &[], &operands)?;
        self.holds(Some(scoreboard), None);
        Ok(issue)
    }

    /// Shifts a register by a number of bits, to the right if it is negative.
    pub(super) fn shift(&mut self, of: u8, bits: i32) -> Result<u32, Diagnostic> {
        let number = NewOperand::int(i64::from(bits.unsigned_abs()));
        let operands = [NewOperand::reg(of), NewOperand::reg(of), number];
        match bits < 0 {
            true => self.add(Opcode::Shr, &[Modifier::U32], &operands),
            false => self.add(Opcode::Shl, &[], &operands),
        }
    }

    /// Writes zero to shared memory.
    pub(super) fn clear_shared(&mut self, base: u8, offset: i64) -> Result<u32, Diagnostic> {
        let operands = [NewOperand::memory(base, offset), NewOperand::zero()];
        self.add(Opcode::Sts, &[], &operands)
    }

    /// `to =` the first word of shared memory at `base`, released by a scoreboard.
    pub(super) fn load_shared(
        &mut self,
        to: u8,
        base: u8,
        scoreboard: u8,
    ) -> Result<u32, Diagnostic> {
        let operands = [NewOperand::reg(to), NewOperand::memory(base, 0)];
        let issue = self.add(Opcode::Lds, &[], &operands)?;
        self.holds(Some(scoreboard), None);
        Ok(issue)
    }

    /// Adds a register to the first word of shared memory at `base`.
    pub(super) fn add_to_shared(&mut self, base: u8, value: u8) -> Result<u32, Diagnostic> {
        let operands = [
            NewOperand::zero(),
            NewOperand::memory(base, 0),
            NewOperand::reg(value),
        ];
        self.add(Opcode::Atoms, &[Modifier::Add], &operands)
    }

    /// `to =` the second word of shared memory at `base`, which becomes `value`; released by a scoreboard.
    pub(super) fn exchange_shared(
        &mut self,
        to: u8,
        base: u8,
        value: u8,
        scoreboard: u8,
    ) -> Result<u32, Diagnostic> {
        let operands = [
            NewOperand::reg(to),
            NewOperand::memory(base, 4),
            NewOperand::reg(value),
        ];
        let issue = self.add(Opcode::Atoms, &[Modifier::Exch], &operands)?;
        self.holds(Some(scoreboard), None);
        Ok(issue)
    }

    /// Makes earlier accesses visible to the block before later ones.
    pub(super) fn fence(&mut self) -> Result<u32, Diagnostic> {
        self.add(Opcode::Membar, &[Modifier::Cta], &[])
    }

    /// `to = a * number`, with the low 16 bits of `a`.
    pub(super) fn times(&mut self, to: u8, a: u8, number: u16) -> Result<u32, Diagnostic> {
        let operands = [
            NewOperand::reg(to),
            NewOperand::reg(a),
            NewOperand::int(i64::from(number)),
            NewOperand::zero(),
        ];
        self.add(Opcode::Xmad, &[], &operands)
    }

    /// `to =` the low word of the clock.
    pub(super) fn clock(&mut self, to: u8) -> Result<u32, Diagnostic> {
        let special = NewOperand::special(SpecialReg::ClockLow);
        self.add(Opcode::Cs2r, &[], &[NewOperand::reg(to), special])
    }

    /// `to = a - b`.
    pub(super) fn difference(&mut self, to: u8, a: u8, b: u8) -> Result<u32, Diagnostic> {
        let operands = [
            NewOperand::reg(to),
            NewOperand::reg(a),
            NewOperand::reg(b).negated(),
        ];
        self.add(Opcode::Iadd, &[], &operands)
    }

    /// `to =` the word at an offset of constant bank 4, plus or minus `by`.
    pub(super) fn add_constant(
        &mut self,
        to: u8,
        by: u8,
        offset: u32,
        is_subtracted: bool,
    ) -> Result<u32, Diagnostic> {
        let offset = i32::try_from(offset)
            .map_err(|_| Diagnostic::new("the constants of the module are too large"))?;
        let by = match is_subtracted {
            true => NewOperand::reg(by).negated(),
            false => NewOperand::reg(by),
        };
        let operands = [NewOperand::reg(to), by, NewOperand::constant(4, offset)];
        self.add(Opcode::Iadd, &[], &operands)
    }

    /// `to = a < b ? all bits : 0`, for unsigned numbers.
    pub(super) fn mask_if_below(&mut self, to: u8, a: u8, b: u8) -> Result<u32, Diagnostic> {
        let operands = [
            NewOperand::reg(to),
            NewOperand::reg(a),
            NewOperand::reg(b),
            NewOperand::pred(None),
        ];
        let modifiers = [Modifier::Lt, Modifier::U32, Modifier::And];
        self.add(Opcode::Iset, &modifiers, &operands)
    }

    /// Raises 32 bits of global memory to `value` if they are less, at `base, base + 1` plus an offset in bytes.
    pub(super) fn raise_memory(
        &mut self,
        base: u8,
        offset: u32,
        value: u8,
    ) -> Result<u32, Diagnostic> {
        let operands = [
            NewOperand::memory(base, i64::from(offset)),
            NewOperand::reg(value),
        ];
        self.add(Opcode::Red, &[Modifier::E, Modifier::Max], &operands)
    }

    /// Adds the 64 bits of `value, value + 1` to global memory at `base, base + 1` plus an offset in bytes.
    pub(super) fn add_to_memory(
        &mut self,
        base: u8,
        offset: u32,
        value: u8,
    ) -> Result<u32, Diagnostic> {
        let modifiers = [Modifier::E, Modifier::Add, Modifier::U64];
        let operands = [
            NewOperand::memory(base, i64::from(offset)),
            NewOperand::reg(value),
        ];
        self.add(Opcode::Red, &modifiers, &operands)
    }
}
