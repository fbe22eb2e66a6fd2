//! Occupancy of a GCN3 compute unit.
//!
//! A workgroup stays on one CU and needs its slots, registers and LDS there. So the capacity of a GPU is the sum of
//! the capacities of its CUs, each rounded down: registers left over on two CUs do not make room for one more group.
//! Waves go to the SIMDs of a CU in turn, and all waves of a kernel have the same registers, so every SIMD holds the
//! same number of them. The rules are AMD's, as LLVM's back end implements them (`AMDGPUBaseInfo.cpp`: waves per SIMD
//! by registers).

use warpbound_base::Family;

use super::{BlockResources, BlockTooLarge, Limit, Occupancy, in_steps};
use crate::{MachineConfig, Parameter};

/// Lanes of a wave.
const WAVE_LANES: u64 = Family::Gcn3.lanes() as u64;

/// Registers that a wave of a kernel needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WaveNeeds {
    /// Vector registers.
    pub vgprs: u64,
    /// Scalar registers, with VCC and the reserved ones.
    pub sgprs: u64,
}

impl WaveNeeds {
    /// Returns the vector and scalar registers that are allocated to a wave: whole allocation steps, at least one.
    /// For example, with a step of 4, a wave with 5 vector registers gets 8.
    pub fn allocated(&self, machine: &MachineConfig) -> WaveNeeds {
        WaveNeeds {
            vgprs: in_steps(self.vgprs.max(1), machine[Parameter::SimdVgprStep]),
            sgprs: in_steps(self.sgprs.max(1), machine[Parameter::SimdSgprStep]),
        }
    }

    /// Returns the number of waves that a SIMD holds by its slots, its vector and its scalar registers.
    fn waves_of_simd(&self, machine: &MachineConfig) -> [(Limit, u64); 3] {
        let WaveNeeds { vgprs, sgprs } = self.allocated(machine);
        [
            (Limit::Warps, machine[Parameter::SimdWaves]),
            (Limit::Registers, machine[Parameter::SimdVgprs] / vgprs),
            (
                Limit::ScalarRegisters,
                machine[Parameter::SimdSgprs] / sgprs,
            ),
        ]
    }
}

impl BlockResources {
    /// Parameters that the resources of CUs and workgroups depend on.
    pub const CU_PARAMETERS: &[Parameter] = &[
        Parameter::CuSimds,
        Parameter::CuLds,
        Parameter::CuGroups,
        Parameter::CuBarriers,
        Parameter::GroupLdsStep,
        Parameter::SimdWaves,
        Parameter::SimdVgprs,
        Parameter::SimdSgprs,
        Parameter::SimdVgprStep,
        Parameter::SimdSgprStep,
    ];

    /// Returns the resources of an empty CU for waves with these registers. `warps` counts the slots that such waves
    /// can use; registers may limit it.
    pub fn of_cu(machine: &MachineConfig, wave: &WaveNeeds) -> BlockResources {
        let of_simd = wave.waves_of_simd(machine).map(|(_, waves)| waves);
        let waves = of_simd.into_iter().fold(u64::MAX, u64::min) * machine[Parameter::CuSimds];
        BlockResources {
            threads: waves * WAVE_LANES,
            warps: waves,
            blocks: machine[Parameter::CuGroups],
            // `warps` accounts for the registers.
            registers: 0,
            shared: machine[Parameter::CuLds],
            barriers: machine[Parameter::CuBarriers],
        }
    }

    /// Returns the resources of a CU that a workgroup of `threads` (at least 1) and `lds` bytes needs.
    pub fn of_group(machine: &MachineConfig, threads: u64, lds: u64) -> BlockResources {
        let waves = threads.max(1).div_ceil(WAVE_LANES);
        BlockResources {
            // A saturated size exceeds `group.threads`, so it is refused.
            threads: waves.saturating_mul(WAVE_LANES),
            warps: waves,
            blocks: 1,
            registers: 0,
            shared: in_steps(lds, machine[Parameter::GroupLdsStep]),
            barriers: u64::from(waves > 1),
        }
    }
}

impl Occupancy {
    /// Returns the occupancy of a CU with workgroups of one kernel: `threads` per group (at least 1), registers per
    /// wave, `lds` bytes per group, static and dynamic together.
    ///
    /// # Errors
    ///
    /// Not even one group fits. The error names the first of `group.threads`, `group.lds`, `cu.lds`, `cu.groups`,
    /// `cu.barriers`, `simd.waves`, `simd.vgprs` and `simd.sgprs` that the group exceeds. The last three are compared
    /// with the needs of its waves on one SIMD.
    pub fn of_cu(
        machine: &MachineConfig,
        threads: u64,
        wave: &WaveNeeds,
        lds: u64,
    ) -> Result<Occupancy, BlockTooLarge> {
        let group = BlockResources::of_group(machine, threads, lds);
        let allocated = wave.allocated(machine);
        // Waves go to the SIMDs in turn, so the fullest SIMD gets this many of the group.
        let of_simd = group.warps.div_ceil(machine[Parameter::CuSimds].max(1));
        for (limit, takes) in [
            (Parameter::GroupThreads, threads.max(1)),
            (Parameter::GroupLds, lds),
            (Parameter::CuLds, group.shared),
            (Parameter::CuGroups, 1),
            (Parameter::CuBarriers, group.barriers),
            (Parameter::SimdWaves, of_simd),
            (
                Parameter::SimdVgprs,
                of_simd.saturating_mul(allocated.vgprs),
            ),
            (
                Parameter::SimdSgprs,
                of_simd.saturating_mul(allocated.sgprs),
            ),
        ] {
            let has = machine[limit];
            if takes > has {
                return Err(BlockTooLarge { limit, takes, has });
            }
        }
        let simds = machine[Parameter::CuSimds];
        let waves = wave.waves_of_simd(machine);
        // All waves need the same registers, so each SIMD holds as many as any other.
        let by_waves = waves.map(|(limit, waves)| (limit, waves * simds / group.warps));
        let cu = BlockResources::of_cu(machine, wave);
        // A group that needs none of a resource is not limited by it.
        let by = |has: u64, takes: u64| has.checked_div(takes).unwrap_or(u64::MAX);
        let others = [
            (Limit::Blocks, cu.blocks),
            (Limit::Shared, by(cu.shared, group.shared)),
            (Limit::Barriers, by(cu.barriers, group.barriers)),
        ];
        let fitting = || by_waves.iter().chain(&others);
        let blocks = fitting().map(|(_, fit)| *fit).fold(u64::MAX, u64::min);
        let mut limits: Vec<Limit> = fitting()
            .filter(|(_, fit)| *fit == blocks)
            .map(|(limit, _)| *limit)
            .collect();
        // [`Occupancy::limits`] has the order of [`Limit`], and the arrays above have another one.
        limits.sort_unstable();
        Ok(Occupancy {
            blocks,
            warps: blocks * group.warps,
            most_warps: machine[Parameter::SimdWaves] * simds,
            limits,
        })
    }

    /// Returns the number of batches that `units` CUs or SMs of this occupancy need for a number of blocks, because
    /// each unit holds whole blocks only. For example, 10 blocks take 2 batches on 2 units that hold 3 blocks each.
    pub fn batches(&self, units: u64, blocks: u64) -> u64 {
        // At least 1, because a GPU without units would divide by 0.
        let resident = units.saturating_mul(self.blocks).max(1);
        blocks.div_ceil(resident)
    }
}
