//! Occupancy of compute units against the tables of AMD's registers and a second count, and batches of workgroups.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use warpbound_base::Family;
use warpbound_machine::{
    BlockResources, GpuModel, Limit, MachineConfig, Occupancy, Parameter, Selection, WaveNeeds,
};

use Parameter as P;

/// Registers that limit nothing.
const FEW: WaveNeeds = WaveNeeds {
    vgprs: 8,
    sgprs: 16,
};

/// Returns a machine with the register files of the hardware.
fn hardware() -> MachineConfig {
    let machine = GpuModel::built_in("r9-nano").unwrap();
    // The compiler's table has steps of 4 (`machine/README.md`).
    machine.select(Selection::Typical).with(P::SimdSgprStep, 4)
}

fn gem5() -> MachineConfig {
    GpuModel::built_in("gem5-apu")
        .unwrap()
        .select(Selection::Typical)
}

/// Waves of a SIMD by registers, as the compiler's comment `Occupancy` has them: greatest number of registers for each
/// number of waves.
#[test]
fn registers_limit_waves_as_in_the_compilers_tables() {
    let machine = hardware();
    let waves = |vgprs, sgprs| {
        let said = Occupancy::of_cu(&machine, 64, &WaveNeeds { vgprs, sgprs }, 0).unwrap();
        assert_eq!(said.blocks, said.warps);
        assert_eq!(said.most_warps, 40);
        said.warps
    };
    let by_vgprs = [
        (24, 10),
        (28, 9),
        (32, 8),
        (36, 7),
        (40, 6),
        (48, 5),
        (64, 4),
        (84, 3),
        (128, 2),
        (256, 1),
    ];
    let mut from = 0;
    for (most, simd) in by_vgprs {
        for vgprs in from..=most {
            assert_eq!(waves(vgprs, 16), 4 * simd, "{vgprs} VGPRs");
        }
        from = most + 1;
    }
    let mut from = 0;
    for (most, simd) in [(80, 10), (88, 9), (100, 8), (102, 7)] {
        for sgprs in from..=most {
            assert_eq!(waves(8, sgprs), 4 * simd, "{sgprs} SGPRs");
        }
        from = most + 1;
    }
    // In steps of 16, as MGPUSim allocates them, 88 registers take 96.
    let machine = machine.with(P::SimdSgprStep, 16);
    let said = Occupancy::of_cu(
        &machine,
        64,
        &WaveNeeds {
            vgprs: 8,
            sgprs: 88,
        },
        0,
    )
    .unwrap();
    assert_eq!(
        (said.warps, &said.limits[..]),
        (32, &[Limit::ScalarRegisters][..])
    );
    // The register files of gem5 are larger.
    let said = Occupancy::of_cu(
        &gem5(),
        64,
        &WaveNeeds {
            vgprs: 180,
            sgprs: 102,
        },
        0,
    )
    .unwrap();
    assert_eq!(
        (said.warps, &said.limits[..]),
        (40, &[Limit::Warps, Limit::Blocks][..])
    );
}

/// A workgroup lives in one CU: 4 CUs of 40 slots hold 52 groups of 3 waves. Equation 5.1 of `wavefront-splitting-2022`
/// takes the slots of all CUs as one pool, and finds 53.
#[test]
fn capacity_is_rounded_down_per_compute_unit() {
    let machine = gem5();
    let said = Occupancy::of_cu(&machine, 192, &FEW, 0).unwrap();
    assert_eq!((said.blocks, said.warps), (13, 39));
    assert_eq!(said.limits, [Limit::Warps]);
    let cus = machine[P::CuCount];
    assert_eq!(cus * said.blocks, 52);
    let pool = cus * said.most_warps * 64 / 192;
    assert_eq!(pool, 53);
    for (groups, batches) in [(1, 1), (52, 1), (53, 2), (104, 2), (105, 3)] {
        assert_eq!(said.batches(cus, groups), batches, "{groups} groups");
    }
    assert_eq!(53_u64.div_ceil(pool), 1);
}

#[test]
fn other_resources_limit_groups() {
    let machine = hardware();
    let of = |threads, wave: WaveNeeds, lds| {
        let said = Occupancy::of_cu(&machine, threads, &wave, lds).unwrap();
        (said.blocks, said.warps, said.limits)
    };
    use Limit::{Barriers, Blocks, Registers, ScalarRegisters, Shared, Warps};
    assert_eq!(of(1, FEW, 0), (40, 40, vec![Warps, Blocks]));
    assert_eq!(of(65, FEW, 0), (20, 40, vec![Warps]));
    assert_eq!(of(1024, FEW, 0), (2, 32, vec![Warps]));
    // 16 barriers: groups of two waves, but not of one.
    let few = machine.clone().with(P::CuBarriers, 16);
    let said = Occupancy::of_cu(&few, 128, &FEW, 0).unwrap();
    assert_eq!((said.blocks, said.limits), (16, vec![Barriers]));
    assert_eq!(Occupancy::of_cu(&few, 64, &FEW, 0).unwrap().blocks, 40);
    // 20 KiB: three groups; 21.25 KiB and a byte: steps of 256.
    assert_eq!(of(64, FEW, 20 << 10), (3, 3, vec![Shared]));
    assert_eq!(of(64, FEW, 65536 / 3 / 256 * 256), (3, 3, vec![Shared]));
    assert_eq!(of(64, FEW, 65536 / 3 / 256 * 256 + 1), (2, 2, vec![Shared]));
    let wave = WaveNeeds {
        vgprs: 128,
        sgprs: 102,
    };
    assert_eq!(of(256, wave, 0), (2, 8, vec![Registers]));
    let wave = WaveNeeds {
        vgprs: 36,
        sgprs: 102,
    };
    assert_eq!(of(64, wave, 0), (28, 28, vec![Registers, ScalarRegisters]));
    assert_eq!(Limit::Shared.gcn3_name(), "LDS");
    assert_eq!(Limit::ScalarRegisters.gcn3_name(), "scalar registers");
}

#[test]
fn a_group_that_fits_nowhere_says_why() {
    let machine = hardware();
    let wave = |vgprs, sgprs| WaveNeeds { vgprs, sgprs };
    for (threads, wave, lds, said) in [
        (
            1025,
            FEW,
            0,
            "a workgroup takes 1025, but group.threads is 1024",
        ),
        (
            64,
            FEW,
            65537,
            "a workgroup takes 65537, but group.lds is 65536",
        ),
        (
            64,
            wave(257, 16),
            0,
            "a workgroup takes 260, but simd.vgprs is 256",
        ),
        (
            1024,
            wave(65, 16),
            0,
            "a workgroup takes 272, but simd.vgprs is 256",
        ),
        (
            64,
            wave(8, 801),
            0,
            "a workgroup takes 804, but simd.sgprs is 800",
        ),
    ] {
        let error = Occupancy::of_cu(&machine, threads, &wave, lds).unwrap_err();
        assert_eq!(error.to_string(), said);
    }
    let few = machine.clone().with(P::SimdWaves, 2);
    let error = Occupancy::of_cu(&few, 1024, &FEW, 0).unwrap_err();
    assert_eq!(error.limit, P::SimdWaves);
    let few = machine.with(P::GroupLds, 1 << 20);
    let error = Occupancy::of_cu(&few, 64, &FEW, 65537).unwrap_err();
    assert_eq!((error.limit, error.takes), (P::CuLds, 65536 + 256));
}

/// Groups placed wave by wave on SIMDs in turn, each with its own slots and registers, until one does not fit.
fn placed(machine: &MachineConfig, threads: u64, wave: &WaveNeeds, lds: u64) -> u64 {
    let round = |count: u64, step: u64| count.max(1).div_ceil(step) * step;
    let vgprs = round(wave.vgprs, machine[P::SimdVgprStep]);
    let sgprs = round(wave.sgprs, machine[P::SimdSgprStep]);
    let mut simds = vec![
        [
            machine[P::SimdWaves],
            machine[P::SimdVgprs],
            machine[P::SimdSgprs]
        ];
        machine[P::CuSimds] as usize
    ];
    let mut free_lds = machine[P::CuLds];
    let mut free_barriers = machine[P::CuBarriers];
    let mut next = 0;
    let mut groups = 0;
    let waves = threads.div_ceil(64);
    let lds = if lds == 0 {
        0
    } else {
        round(lds, machine[P::GroupLdsStep])
    };
    loop {
        if groups == machine[P::CuGroups] || free_lds < lds || (waves > 1 && free_barriers == 0) {
            return groups;
        }
        for _ in 0..waves {
            let fits = |simd: &[u64; 3]| simd[0] >= 1 && simd[1] >= vgprs && simd[2] >= sgprs;
            let in_turn = (0..simds.len()).map(|more| (next + more) % simds.len());
            let Some(simd) = in_turn.into_iter().find(|&simd| fits(&simds[simd])) else {
                return groups;
            };
            simds[simd][0] -= 1;
            simds[simd][1] -= vgprs;
            simds[simd][2] -= sgprs;
            next = simd + 1;
        }
        free_lds -= lds;
        free_barriers -= u64::from(waves > 1);
        groups += 1;
    }
}

/// The rules, groups placed wave by wave, and resources subtracted until none fits, in all combinations.
#[test]
fn placed_groups_agree_with_the_rules() {
    for name in GpuModel::names_of(Family::Gcn3) {
        let model = GpuModel::built_in(name).unwrap();
        for selection in [
            Selection::Typical,
            Selection::Least,
            Selection::Most,
            Selection::Seed(5),
        ] {
            let machine = model.select(selection);
            for threads in (1..=1024).step_by(31) {
                for vgprs in (0..=256).step_by(5) {
                    for (sgprs, lds) in [(8, 0), (8, 1), (81, 0), (102, 7000), (40, 30_000)] {
                        let wave = WaveNeeds { vgprs, sgprs };
                        let case = (name, selection, threads, wave, lds);
                        let expected = placed(&machine, threads, &wave, lds);
                        let Ok(said) = Occupancy::of_cu(&machine, threads, &wave, lds) else {
                            assert_eq!(expected, 0, "{case:?}");
                            continue;
                        };
                        assert_eq!(said.blocks, expected, "{case:?}");
                        let group = BlockResources::of_group(&machine, threads, lds);
                        let empty = BlockResources::of_cu(&machine, &wave);
                        let next = |free: &BlockResources| free.without(&group);
                        let states = std::iter::successors(Some(empty), next);
                        assert_eq!(states.count() as u64, expected + 1, "{case:?}");
                    }
                }
            }
        }
    }
}
