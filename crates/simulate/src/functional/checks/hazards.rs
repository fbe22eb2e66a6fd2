//! Hazards: pairs of instructions between which software inserts wait states, since the hardware does not wait (LLVM,
//! `GCNHazardRecognizer.cpp`, for GCN3). An issued instruction is one wait state; `s_nop N` is N + 1. For example, a
//! vector instruction that writes s0 and a load whose buffer descriptor has s0 need `s_nop 4` between them.

use std::collections::VecDeque;

use warpbound_base::Named;
use warpbound_ir::OpIndex;
use warpbound_isa::amd::{Encoding, GcnInstr, GcnOpcode, GcnValue, GcnView, scalar};
use warpbound_isa::{Reg, RegisterKind};

/// Pair of instructions that need wait states between them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Hazard {
    /// s_setreg, then s_getreg of the same register: 2.
    SetregGetreg,
    /// s_setreg, then s_setreg of the same register: 2.
    SetregSetreg,
    /// A vector instruction writes VCC, then v_div_fmas: 4.
    VccDivFmas,
    /// A vector instruction writes an SGPR, then a vector memory instruction reads it: 5.
    ScalarVectorMemory,
    /// A vector instruction writes an SGPR, then v_readlane or v_writelane has it as the lane: 4.
    ScalarLaneSelect,
    /// A vector instruction writes a VGPR, then one with DPP reads it: 2.
    VectorDpp,
    /// A vector instruction writes EXEC, then one with DPP: 5.
    ExecDpp,
    /// A scalar instruction writes M0, then s_sendmsg, s_ttracedata or GDS: 1.
    M0Message,
    /// A store of more than 64 bits, then a vector instruction writes its data: 1.
    StoreData,
    /// s_setreg of TRAPSTS, then s_rfe: 1.
    SetregReturn,
}

impl Named for Hazard {
    const ALL: &'static [(Hazard, &'static str)] = &[
        (
            Hazard::SetregGetreg,
            "s_setreg, then s_getreg of the same register",
        ),
        (
            Hazard::SetregSetreg,
            "s_setreg, then s_setreg of the same register",
        ),
        (Hazard::VccDivFmas, "a vector write of VCC, then v_div_fmas"),
        (
            Hazard::ScalarVectorMemory,
            "a vector write of an SGPR, then a vector memory instruction that reads it",
        ),
        (
            Hazard::ScalarLaneSelect,
            "a vector write of an SGPR, then v_readlane or v_writelane with it as the lane",
        ),
        (
            Hazard::VectorDpp,
            "a write of a VGPR, then DPP that reads it",
        ),
        (Hazard::ExecDpp, "a vector write of EXEC, then DPP"),
        (
            Hazard::M0Message,
            "a scalar write of M0, then a message or GDS",
        ),
        (
            Hazard::StoreData,
            "a store of more than 64 bits, then a vector write of its data",
        ),
        (Hazard::SetregReturn, "s_setreg of TRAPSTS, then s_rfe"),
    ];
}

impl Hazard {
    /// Wait states that the pair needs.
    pub fn wait_states(self) -> u32 {
        match self {
            Hazard::ScalarVectorMemory | Hazard::ExecDpp => 5,
            Hazard::VccDivFmas | Hazard::ScalarLaneSelect => 4,
            Hazard::SetregGetreg | Hazard::SetregSetreg | Hazard::VectorDpp => 2,
            Hazard::M0Message | Hazard::StoreData | Hazard::SetregReturn => 1,
        }
    }

    /// Maximum number of wait states of a pair.
    const MOST: u32 = 5;
}

/// Number of TRAPSTS among the hardware registers.
const TRAPSTS: u32 = 3;

/// Facts about an instruction that decide hazards.
#[derive(Clone, Debug, Default)]
pub(super) struct HazardFacts {
    /// Number of wait states that the instruction provides.
    states: u32,
    /// Whether it computes in the vector unit.
    is_vector: bool,
    is_scalar: bool,
    /// Whether it accesses memory per lane, other than LDS.
    is_vector_memory: bool,
    has_dpp: bool,
    is_div_fmas: bool,
    /// s_sendmsg, s_ttracedata, GDS.
    is_message: bool,
    is_return: bool,
    /// Hardware register that it sets, or gets.
    sets: Option<u32>,
    gets: Option<u32>,
    /// SGPR that selects a lane.
    lane_select: Option<Reg>,
    reads: Vec<Reg>,
    writes: Vec<Reg>,
    /// VGPRs of the data of a store of more than 64 bits.
    data: Vec<Reg>,
}

impl HazardFacts {
    pub(super) fn of(instr: &GcnInstr) -> HazardFacts {
        let mut facts = HazardFacts {
            states: 1,
            ..HazardFacts::default()
        };
        let Some(view) = instr.view() else {
            return facts;
        };
        let effects = instr.effects();
        (facts.reads, facts.writes) = (effects.reads, effects.writes);
        let encoding = view.encoding;
        facts.is_vector = matches!(
            encoding,
            Encoding::Vop1 | Encoding::Vop2 | Encoding::Vopc | Encoding::Vop3a | Encoding::Vop3b
        );
        facts.is_scalar = matches!(
            encoding,
            Encoding::Sop1 | Encoding::Sop2 | Encoding::Sopk | Encoding::Sopc
        );
        facts.is_vector_memory = matches!(
            encoding,
            Encoding::Mubuf | Encoding::Mtbuf | Encoding::Mimg | Encoding::Flat
        );
        facts.has_dpp = view.modifiers.dpp.is_some();
        let immediates: Vec<u32> = immediates(&view).collect();
        let register = immediates.first().map(|simm| simm & 0x3f);
        match view.opcode {
            // On GCN3, the count of s_nop has three bits.
            GcnOpcode::SNop => facts.states += immediates.first().map_or(0, |count| count & 7),
            GcnOpcode::SSetregB32 | GcnOpcode::SSetregImm32B32 => facts.sets = register,
            GcnOpcode::SGetregB32 => facts.gets = register,
            GcnOpcode::VDivFmasF32 | GcnOpcode::VDivFmasF64 => facts.is_div_fmas = true,
            GcnOpcode::VReadlaneB32 | GcnOpcode::VWritelaneB32 => {
                facts.lane_select = view
                    .operands
                    .last()
                    .and_then(|operand| match operand.value {
                        GcnValue::Scalar(number) => Some(Reg::scalar(number)),
                        _ => None,
                    });
            }
            GcnOpcode::SSendmsg | GcnOpcode::SSendmsghalt | GcnOpcode::STtracedata => {
                facts.is_message = true;
            }
            GcnOpcode::SRfeB64 | GcnOpcode::SRfeRestoreB64 => facts.is_return = true,
            _ => facts.is_message = view.modifiers.gds,
        }
        let is_store = effects
            .access
            .is_some_and(|access| access.stores && !access.loads);
        if facts.is_vector_memory && is_store {
            facts.data = wide_data(&view);
        }
        facts
    }

    fn writes(&self, number: u8) -> bool {
        self.writes.contains(&Reg::scalar(number))
    }

    /// Returns the hazard of this instruction and a later one, if there is one.
    fn hazard_before(&self, later: &HazardFacts) -> Option<Hazard> {
        let vcc = || self.writes(scalar::VCC) || self.writes(scalar::VCC + 1);
        let exec = || self.writes(scalar::EXEC) || self.writes(scalar::EXEC + 1);
        let passes = |kind: RegisterKind, reads: &[Reg]| {
            let written = self.writes.iter().filter(|register| register.kind == kind);
            written.into_iter().any(|register| reads.contains(register))
        };
        let is_sgpr = |register: &&Reg| {
            register.kind == RegisterKind::Scalar && register.number < scalar::SCC
        };
        let is_same = |set: Option<u32>, other: Option<u32>| set.is_some() && set == other;
        let candidates = [
            (Hazard::SetregGetreg, is_same(self.sets, later.gets)),
            (Hazard::SetregSetreg, is_same(self.sets, later.sets)),
            (
                Hazard::VccDivFmas,
                later.is_div_fmas && self.is_vector && vcc(),
            ),
            (
                Hazard::ScalarVectorMemory,
                // EXEC is not an operand, and the hardware waits for it.
                later.is_vector_memory
                    && self.is_vector
                    && self
                        .writes
                        .iter()
                        .filter(is_sgpr)
                        .filter(|register| register.number < scalar::EXEC)
                        .any(|register| later.reads.contains(register)),
            ),
            (
                Hazard::ScalarLaneSelect,
                self.is_vector
                    && later
                        .lane_select
                        .is_some_and(|register| self.writes.contains(&register)),
            ),
            (
                Hazard::VectorDpp,
                later.has_dpp && self.is_vector && passes(RegisterKind::Vector, &later.reads),
            ),
            (Hazard::ExecDpp, later.has_dpp && self.is_vector && exec()),
            (
                Hazard::M0Message,
                later.is_message && self.is_scalar && self.writes(scalar::M0),
            ),
            (
                Hazard::StoreData,
                later.is_vector && self.data.iter().any(|data| later.writes.contains(data)),
            ),
            (
                Hazard::SetregReturn,
                later.is_return && self.sets == Some(TRAPSTS),
            ),
        ];
        let found = candidates.into_iter().find(|(_, is_there)| *is_there);
        found.map(|(hazard, _)| hazard)
    }
}

fn immediates(view: &GcnView) -> impl Iterator<Item = u32> {
    view.operands
        .iter()
        .filter_map(|operand| match operand.value {
            GcnValue::Immediate(value) => Some(value),
            _ => None,
        })
}

/// Data registers of a store of more than 64 bits; none for a buffer store whose offset is an SGPR.
fn wide_data(view: &GcnView) -> Vec<Reg> {
    let is_buffer = matches!(view.encoding, Encoding::Mubuf | Encoding::Mtbuf);
    let offset = view.operands.last().map(|operand| operand.value);
    if is_buffer && matches!(offset, Some(GcnValue::Scalar(_))) {
        return Vec::new();
    }
    // Addresses have at most two registers, so a wider operand is the data.
    let wide = view
        .operands
        .iter()
        .find_map(|operand| match operand.value {
            GcnValue::Vector(first) if operand.dwords > 2 => Some((first, operand.dwords)),
            _ => None,
        });
    let (first, count) = wide.unwrap_or((0, 0));
    (0..count)
        .map(|word| Reg::vector(first.wrapping_add(word)))
        .collect()
}

/// The last instructions of a wave, and the wait states since each of them.
#[derive(Default)]
pub(super) struct RecentInstrs(VecDeque<(OpIndex, u32)>);

impl RecentInstrs {
    /// Returns a hazard of an earlier instruction and this one for which the wait states between them do not suffice.
    pub(super) fn hazard(&self, facts: &HazardFacts, all: &[HazardFacts]) -> Option<Hazard> {
        self.0.iter().find_map(|&(at, states)| {
            let hazard = all.get(at.index())?.hazard_before(facts)?;
            (states < hazard.wait_states()).then_some(hazard)
        })
    }

    /// Adds an instruction.
    pub(super) fn issue(&mut self, at: OpIndex, facts: &HazardFacts) {
        for (_, states) in &mut self.0 {
            *states += facts.states;
        }
        // No hazard needs more wait states, so older instructions do not matter.
        self.0.retain(|(_, states)| *states < Hazard::MOST);
        self.0.push_back((at, 0));
    }
}

#[cfg(test)]
mod tests {
    use warpbound_base::CodeAddr;

    use super::*;

    /// Hazards of a sequence of instructions, by their words: for each instruction the one that it completes.
    fn hazards(words: &[(u32, Option<u32>)]) -> Vec<Option<Hazard>> {
        let facts: Vec<HazardFacts> = words
            .iter()
            .map(|&(first, second)| HazardFacts::of(&GcnInstr::decode(CodeAddr(0), first, second)))
            .collect();
        let mut recent = RecentInstrs::default();
        let mut found = Vec::new();
        for (facts_here, at) in facts.iter().zip((0..).map(OpIndex)) {
            found.push(recent.hazard(facts_here, &facts));
            recent.issue(at, facts_here);
        }
        found
    }

    /// s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), 3
    const SETREG: (u32, Option<u32>) = (0xba00_0901, Some(3));
    /// v_cmp_lt_u32_e32 vcc, v0, v1
    const CMP_VCC: (u32, Option<u32>) = (0x7d92_0300, None);
    /// v_div_fmas_f32 v0, v1, v2, v3
    const DIV_FMAS: (u32, Option<u32>) = (0xd1e2_0000, Some(0x040e_0501));

    /// Each pair without wait states, with one less than it needs, and with as many.
    #[test]
    fn wait_states_between_pairs() {
        let s_nop = |count: u32| (0xbf80_0000 | (count - 1), None);
        let pairs = [
            // s_getreg_b32 s0, hwreg(HW_REG_MODE, 4, 2)
            (Hazard::SetregGetreg, SETREG, (0xb880_0901, None)),
            (Hazard::SetregSetreg, SETREG, SETREG),
            (Hazard::VccDivFmas, CMP_VCC, DIV_FMAS),
            // v_cmp_lt_u32_e64 s[4:5], v0, v1; buffer_load_dword v1, v2, s[4:7], 0 offen
            (
                Hazard::ScalarVectorMemory,
                (0xd0c9_0004, Some(0x0002_0300)),
                (0xe050_1000, Some(0x8001_0102)),
            ),
            // v_cmp_lt_u32_e64 s[4:5], v0, v1; v_readlane_b32 s4, v1, s5
            (
                Hazard::ScalarLaneSelect,
                (0xd0c9_0004, Some(0x0002_0300)),
                (0xd289_0004, Some(0x0000_0b01)),
            ),
            // v_mov_b32 v5, 0; v_mov_b32_dpp v3, v5 row_shl:1
            (
                Hazard::VectorDpp,
                (0x7e0a_0280, None),
                (0x7e06_02fa, Some(0xff01_0105)),
            ),
            // v_cmpx_lt_u32 vcc, v0, v1; v_mov_b32_dpp v3, v5 row_shl:1
            (
                Hazard::ExecDpp,
                (0x7db2_0300, None),
                (0x7e06_02fa, Some(0xff01_0105)),
            ),
            // s_mov_b32 m0, s1; s_sendmsg sendmsg(MSG_INTERRUPT)
            (Hazard::M0Message, (0xbefc_0001, None), (0xbf90_0001, None)),
            // flat_store_dwordx4 v[0:1], v[4:7]; v_mov_b32 v5, 0
            (
                Hazard::StoreData,
                (0xdc7c_0000, Some(0x0000_0400)),
                (0x7e0a_0280, None),
            ),
        ];
        for (hazard, first, then) in pairs {
            assert_eq!(hazards(&[first, then])[1], Some(hazard));
            let needed = hazard.wait_states();
            if needed > 1 {
                let less = hazards(&[first, s_nop(needed - 1), then]);
                assert_eq!(less[2], Some(hazard), "{}", hazard.name());
            }
            let enough = hazards(&[first, s_nop(needed), then]);
            assert_eq!(enough, [None; 3], "{}", hazard.name());
        }
        // Another register than the one that is set.
        assert_eq!(hazards(&[SETREG, (0xb880_0902, None)]), [None; 2]);
    }
}
