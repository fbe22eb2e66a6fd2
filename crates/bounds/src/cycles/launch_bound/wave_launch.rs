//! Launches of waves: compute units, their SIMDs, and the groups that they hold (SOUNDNESS 20.9).
//!
//! For example, a CU has 4 SIMDs of 10 wave slots and 64 KiB of LDS, so it holds 16 groups of one wave that need 4
//! KiB each. One SIMD may have waves of 10 of them, so `part` is 10/16.

use std::cell::Cell;

use warpbound_base::Diagnostic;
use warpbound_cycles::MachineNumbers;
use warpbound_ipet::WaveSpread;
use warpbound_launch::Launch;
use warpbound_machine::{BlockResources, MachineConfig, Parameter, WaveNeeds};

use super::shape::{LaunchMachine, blocks_on, product, resident_range};
use crate::cycles::CycleOptions;
use warpbound_query::prepared::Prepared;
use warpbound_runs::runs::timed::wave_registers;

/// Returns the part of a machine of compute units that the shape of a launch depends on.
///
/// # Errors
///
/// A group fits on no compute unit, the number of SIMDs or of their waves is a range, or waves may split.
pub(super) fn machine_of(
    prepared: &Prepared<'_>,
    launch: &Launch,
    numbers: &MachineNumbers,
    cycles: &CycleOptions,
) -> Result<LaunchMachine, Diagnostic> {
    // SOUNDNESS 20.9 argues for waves that do not split.
    if cycles.splitting.splits > 0 {
        let why = Diagnostic::new("launches of waves that may split have no bound in cycles");
        return Err(why.hint("leave --splits out, or state --scope warp for one wave"));
    }
    let [simds, slots] = [Parameter::CuSimds, Parameter::SimdWaves].map(|parameter| {
        let (least, most) = numbers.range(parameter);
        (least == most).then_some(least)
    });
    let (Some(simds), Some(slots)) = (simds, slots) else {
        return Err(Diagnostic::new(
            "bounds of launches are for machines whose cu.simds and simd.waves are one number each",
        ));
    };
    let [vgprs, sgprs] = wave_registers(prepared).map(u64::from);
    let (threads, shared) = (product(launch.block), u64::from(launch.shared));
    // Largest number of waves of a SIMD, and largest part of the groups of a CU that have a wave in one SIMD. Both
    // are taken over all numbers of the machine, in the closure that is called for each.
    let crowded = Cell::new((0, (0, 1)));
    let of_machine = |machine: &MachineConfig| {
        let cu = BlockResources::of_cu(machine, &WaveNeeds { vgprs, sgprs });
        let groups = blocks_on(cu, BlockResources::of_group(machine, threads, shared));
        let of_simd = cu.warps / simds.max(1);
        let (most, part) = crowded.get();
        let own = (of_simd.min(groups), groups.max(1));
        // The fractions are compared by cross multiplication, which is exact.
        let is_more =
            u128::from(own.0) * u128::from(part.1) > u128::from(part.0) * u128::from(own.1);
        crowded.set((of_simd.max(most), if is_more { own } else { part }));
        groups
    };
    let mut models = vec![cycles.machine.clone()];
    for (step, need) in [
        (Parameter::SimdVgprStep, vgprs.max(1)),
        (Parameter::SimdSgprStep, sgprs.max(1)),
        (Parameter::GroupLdsStep, shared),
    ] {
        // A longer step may round a need up more or less, so its extremes need not be at the ends of the range.
        let (least, most) = numbers.range(step);
        let steps = extreme_steps(least, most, need)?;
        models = models
            .iter()
            .flat_map(|model| steps.map(|value| model.clone().with(step, value)))
            .collect();
    }
    // In all other resources the number of groups is monotone, so the ends of their ranges suffice.
    let mut resident: Option<(u64, u64)> = None;
    for model in &models {
        let parameters = BlockResources::CU_PARAMETERS;
        let (least, most) = resident_range(model, parameters, &|_| false, of_machine)?;
        resident = Some(match resident {
            None => (least, most),
            Some(known) => (known.0.min(least), known.1.max(most)),
        });
    }
    let resident = resident.ok_or_else(|| Diagnostic::new("the machine has no values"))?;
    let (most, part) = crowded.get();
    let waves = threads.div_ceil(warpbound_launch::gcn::LANES.into());
    Ok(LaunchMachine {
        sms: numbers.range(Parameter::CuCount),
        parts: simds,
        resident,
        spread: Some(WaveSpread { part, most }),
        stride: (simds * slots).saturating_mul(waves),
    })
}

/// Maximum number of steps that are tried one by one.
const MOST_STEPS: u64 = 1 << 16;

/// Returns the steps of a range with which a need in whole steps is smallest and largest. For example, a need of 12
/// takes 12 in steps of 4, 16 in steps of 8, and 12 in steps of 12: of the steps from 4 to 12, the result is 4 and
/// 11, because 11 rounds it up to 22.
///
/// # Errors
///
/// The range is too long.
fn extreme_steps(least: u64, most: u64, need: u64) -> Result<[u64; 2], Diagnostic> {
    if most.saturating_sub(least) > MOST_STEPS {
        return Err(Diagnostic::new(
            "the machine has too many steps of a resource",
        ));
    }
    let in_steps = |step: &u64| need.div_ceil((*step).max(1)).saturating_mul((*step).max(1));
    let of_range = || least..=most.max(least);
    let first = of_range().min_by_key(in_steps).unwrap_or(least);
    let last = of_range().max_by_key(in_steps).unwrap_or(most);
    Ok([first, last])
}
