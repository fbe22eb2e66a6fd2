//! Shape of a launch on a machine: blocks, warps, SMs, and the blocks that an SM holds.
//!
//! A machine has ranges of numbers, so the shape has the least and greatest values for which the bound has to hold.
//! For example, if a block needs 24 KiB of shared memory and an SM has 64 to 96 KiB, the SM holds 2 to 4 blocks, if
//! nothing else limits it.

use warpbound_base::{Diagnostic, Family};
use warpbound_cycles::MachineNumbers;
use warpbound_ipet::{LaunchShape, WaveSpread};
use warpbound_launch::Launch;
use warpbound_machine::{BlockResources, GpuModel, MachineConfig, Parameter, Selection};

use super::wave_launch;
use crate::cycles::launch_memory::lanes;
use crate::{cycles::CycleOptions, cycles::TimeScope};
use warpbound_query::prepared::Prepared;

/// Returns the shape of a launch on every machine within the ranges.
pub(super) fn shape(
    launch: &Launch,
    numbers: &MachineNumbers,
    machine: &LaunchMachine,
    scope: TimeScope,
) -> LaunchShape {
    let resident = machine.resident;
    let shape = LaunchShape {
        blocks: product(launch.grid),
        warps: product(launch.block).div_ceil(lanes(numbers)),
        // The fewest SMs make the fullest SM; the most SMs request the most lines.
        sms: machine.sms.0.max(1),
        most_sms: machine.sms.1.max(1),
        resident,
        sub_partitions: machine.parts.max(1),
    };
    match scope {
        TimeScope::Grid => shape,
        TimeScope::Warp | TimeScope::Block => LaunchShape {
            blocks: 1,
            sms: 1,
            most_sms: 1,
            ..shape
        },
        TimeScope::Sm => LaunchShape {
            // An SM has no queue here: it holds all of its blocks at once.
            blocks: blocks_of_sm(&shape),
            sms: 1,
            most_sms: 1,
            resident: (resident.1, resident.1),
            ..shape
        },
    }
}

/// Maximum number of blocks that an SM holds at once. If all blocks are dispatched at once, they are spread evenly
/// (SOUNDNESS 20.5).
fn blocks_of_sm(shape: &LaunchShape) -> u64 {
    let (least, most) = shape.resident;
    match shape.blocks <= shape.sms.saturating_mul(least) {
        true => shape.blocks.div_ceil(shape.sms),
        false => most.min(shape.blocks),
    }
}

/// Number of threads or blocks of a size.
pub(super) fn product(size: [u32; 3]) -> u64 {
    let sizes = size.iter().map(|&n| u64::from(n));
    // Launch files are refused above 2^31 blocks, so the product does not saturate.
    sizes.fold(1u64, u64::saturating_mul).max(1)
}

/// Part of a machine that the shape of a launch depends on.
pub(super) struct LaunchMachine {
    /// Minimum and maximum number of SMs, or of compute units.
    pub(super) sms: (u64, u64),
    /// Minimum number of sub-partitions of an SM.
    pub(super) parts: u64,
    /// Minimum and maximum number of blocks that an SM holds.
    pub(super) resident: (u64, u64),
    /// Distance of the local memories of two SMs, in warps.
    pub(super) stride: u64,
    /// Spread of waves over SIMDs; `None` for warps.
    pub(super) spread: Option<WaveSpread>,
}

impl LaunchMachine {
    pub(super) fn new(
        prepared: &Prepared<'_>,
        launch: &Launch,
        numbers: &MachineNumbers,
        cycles: &CycleOptions,
    ) -> Result<LaunchMachine, Diagnostic> {
        if prepared.family() == Family::Gcn3 {
            return wave_launch::machine_of(prepared, launch, numbers, cycles);
        }
        let resident = resident_blocks(
            &cycles.machine,
            product(launch.block),
            prepared.kernel.registers.into(),
            launch.shared.into(),
        )?;
        let slots = numbers.range(Parameter::SmWarps);
        // The addresses of local memory follow from the number of slots, so that a range has no single layout.
        if slots.0 != slots.1 {
            return Err(Diagnostic::new(
                "bounds of launches are for machines whose sm.warps is one number",
            ));
        }
        Ok(LaunchMachine {
            sms: numbers.range(Parameter::SmCount),
            parts: numbers.range(Parameter::SmSchedulers).0,
            resident,
            stride: slots.1,
            spread: None,
        })
    }
}

/// Maximum number of combinations of values of a machine for which the number of resident blocks is computed.
const MOST_MACHINES: usize = 256;

/// Returns the minimum and maximum number of blocks that an SM holds, over all values of the machine.
///
/// # Errors
///
/// A block fits on no SM for some values, or there are too many values.
fn resident_blocks(
    machine: &GpuModel,
    threads: u64,
    registers: u64,
    shared: u64,
) -> Result<(u64, u64), Diagnostic> {
    // Fewer blocks fit on an SM with less of a resource. A longer step may waste more or less: a need of 12 takes 16
    // in steps of 8, and 12 in steps of 12.
    let is_step = |parameter| {
        matches!(
            parameter,
            Parameter::RegisterStep | Parameter::WarpStep | Parameter::SharedStep
        )
    };
    resident_range(machine, BlockResources::PARAMETERS, &is_step, |machine| {
        let sm = BlockResources::of_sm(machine);
        let block = BlockResources::of_block(machine, threads, registers, shared);
        blocks_on(sm, block)
    })
}

/// Returns the minimum and maximum number of blocks over all values of some parameters of a machine. A parameter in
/// which the number is monotone is tried at both ends of its range, and any other one at each value.
///
/// # Errors
///
/// The number is 0 for some values, or there are too many values.
pub(super) fn resident_range(
    machine: &GpuModel,
    parameters: &[Parameter],
    is_step: &dyn Fn(Parameter) -> bool,
    blocks_of: impl Fn(&MachineConfig) -> u64,
) -> Result<(u64, u64), Diagnostic> {
    // The number of blocks depends on none of the other parameters, so any selection of them will do.
    let mut machines = vec![machine.select(Selection::Typical)];
    for &parameter in parameters {
        let range = machine.range(parameter);
        if range.least == range.most {
            continue;
        }
        let values: Vec<u64> = match is_step(parameter) {
            // One value more than allowed is enough for the refusal below.
            true => (range.least..=range.most).take(MOST_MACHINES + 1).collect(),
            false => vec![range.least, range.most],
        };
        if values.len() * machines.len() > MOST_MACHINES {
            let name = parameter.name();
            return Err(Diagnostic::new(format!("{name} has too many values")));
        }
        machines = values
            .iter()
            .flat_map(|&value| {
                machines
                    .iter()
                    .map(move |own| own.clone().with(parameter, value))
            })
            .collect();
    }
    let mut range: Option<(u64, u64)> = None;
    for machine in &machines {
        let blocks = blocks_of(machine);
        if blocks == 0 {
            return Err(Diagnostic::new("a block of the launch fits on no SM"));
        }
        range = Some(match range {
            None => (blocks, blocks),
            Some((least, most)) => (least.min(blocks), most.max(blocks)),
        });
    }
    range.ok_or_else(|| Diagnostic::new("the machine has no values"))
}

/// Number of blocks that fit on an SM, one after the other.
pub(super) fn blocks_on(mut sm: BlockResources, block: BlockResources) -> u64 {
    let mut blocks = 0;
    while let Some(rest) = sm.without(&block) {
        sm = rest;
        blocks += 1;
    }
    blocks
}
