//! Whether a block fits on an SM, and how many do.

use warpbound_base::Diagnostic;
use warpbound_machine::{Parameter, Picked, Room};
use warpbound_report::timed::Theoretical;
use warpbound_simulate::functional::Launch;
use warpbound_simulate::timed::Setup;

/// What a block of a launch takes of an SM.
fn room(machine: &Picked, launch: &Launch, registers: u32) -> Room {
    let threads = launch.block.iter().map(|&n| u64::from(n)).product();
    Room::of_block(machine, threads, registers.into(), launch.shared.into())
}

/// Refuses a block that does not fit.
pub(super) fn check_fit(name: &str, launch: &Launch, setup: &Setup) -> Result<(), Diagnostic> {
    let machine = &setup.machine;
    let block = room(machine, launch, setup.registers);
    let limits = [
        ("threads", block.threads, Parameter::BlockThreads, "a block"),
        (
            "registers",
            block.registers,
            Parameter::BlockRegisters,
            "a block",
        ),
        (
            "bytes of shared memory",
            block.shared,
            Parameter::BlockShared,
            "a block",
        ),
        ("threads", block.threads, Parameter::SmThreads, "an SM"),
        ("warps", block.warps, Parameter::SmWarps, "an SM"),
        (
            "registers",
            block.registers,
            Parameter::SmRegisters,
            "an SM",
        ),
        (
            "bytes of shared memory",
            block.shared,
            Parameter::SmShared,
            "an SM",
        ),
        ("places", block.blocks, Parameter::SmBlocks, "an SM"),
    ];
    for (what, taken, limit, whose) in limits {
        let most = machine[limit];
        if taken > most {
            return Err(Diagnostic::new(format!(
                "a block takes {taken} {what}, {whose} of machine {name} has at most {most}"
            )));
        }
    }
    Ok(())
}

/// How many blocks of a launch fit on an SM; `None` where nobody has worked it out.
pub(super) fn theoretical(
    _machine: &Picked,
    _launch: &Launch,
    _setup: &Setup,
) -> Option<Theoretical> {
    None
}
