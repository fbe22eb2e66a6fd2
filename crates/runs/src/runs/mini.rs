//! Simulation of one block of a mini-SIMT kernel, cycle by cycle.
//!
//! The run ends with a comparison of memory with the expected words of the launch file. A line of the trace is, for
//! example, `07 loop: add 1101`: in cycle 7 the lanes 0, 1 and 3 of the only warp execute the `add` at the label
//! `loop`.

use std::fmt::Write as _;

use warpbound_base::{Diagnostic, Family};
use warpbound_ir::{Cell, OpIndex};
use warpbound_isa::Program;
use warpbound_load::Kernel;
use warpbound_query::mini;
use warpbound_report::RunReport;
use warpbound_simulate::mini::{CycleEvent, Simulation, Start};

use warpbound_query::Session;
use warpbound_query::prepared::Prepared;

/// Default limit of the cycles of a run.
const MAX_CYCLES: u64 = 100_000_000;

/// Simulates a block to its end. `trace`, if given, receives a line for each cycle: `cycle label: instruction
/// lanes`, as in `abstract-cta-2014`, Figure 2.
///
/// # Errors
///
/// The kernel cannot be simulated, the launch does not suit it, the run ends in a fault, or the memory at the end
/// differs from the expected words.
pub fn run_mini(
    session: &Session,
    kernel: &Kernel,
    launch: &mini::LaunchFile,
    machine: &mini::Machine,
    max_cycles: Option<u64>,
    trace: Option<&mut dyn FnMut(&str)>,
) -> Result<RunReport, Diagnostic> {
    let prepared = session.prepare(kernel)?;
    let here = |diagnostic: Diagnostic| session.locate(diagnostic.in_kernel(kernel.demangled()));
    let not_runnable =
        |at: OpIndex, message: String| here(prepared.at_op(Diagnostic::new(message), at));
    check_machine(session, &prepared).map_err(here)?;
    let cells = launch_cells(&prepared, launch)?;
    let simulation = Simulation::new(&prepared.code, machine)
        .map_err(|unknown| not_runnable(unknown.at, unknown.to_string()))?;
    let warps = simulation.warps(launch.threads);
    check_machine_holds(warps, launch, machine)?;
    let start = Start {
        threads: launch.threads,
        cells,
        memory: launch.words(),
    };
    let limit = max_cycles.or(launch.max_cycles).unwrap_or(MAX_CYCLES);
    let mut line = String::new();
    let finished = match trace {
        None => simulation.run(&start, limit, |_| ()),
        Some(print) => simulation.run(&start, limit, |event| {
            line.clear();
            write_trace_line(&prepared, machine.warp_width, warps, event, &mut line);
            print(&line);
        }),
    };
    let finished = finished.map_err(|fault| {
        let place = prepared.location(fault.at);
        not_runnable(fault.at, format!("{place}: {fault}"))
    })?;
    let mut checked_words = 0;
    for words in &launch.expect {
        // The launch file was checked when it was parsed, so all expected words are within memory and none is
        // skipped.
        let found = finished.memory.iter().skip(words.at as usize);
        for (at, (found, expected)) in (words.at..).zip(found.zip(&words.values)) {
            if found != expected {
                // With a sign, because launch files may state words as negative numbers.
                let (found, expected) = (*found as i32, *expected as i32);
                return Err(Diagnostic::new(format!(
                    "the word at {at} is {found} at the end, not {expected}"
                ))
                .in_kernel(kernel.demangled())
                .in_file(launch.file.as_str()));
            }
            checked_words += 1;
        }
    }
    Ok(RunReport {
        schema: RunReport::SCHEMA,
        file: session.file.clone(),
        kernel: kernel.demangled(),
        machine: machine.name.clone(),
        threads: launch.threads,
        warps,
        warp_width: machine.warp_width,
        cycles: finished.cycles.0.0,
        issued: finished.issued,
        stalled: finished.stalled,
        checked_words,
    })
}

/// Checks that the code is mini-SIMT.
pub fn check_machine(session: &Session, prepared: &Prepared<'_>) -> Result<(), Diagnostic> {
    match prepared.family() {
        Family::MiniSimt => Ok(()),
        Family::Maxwell | Family::Volta | Family::Gcn3 => Err(Diagnostic::new(format!(
            "{} kernels do not run on machines for mini-SIMT",
            session.image.isa()
        ))
        .hint("`warpbound run` has machines for them")),
    }
}

/// Checks that the machine can hold the warps of a launch.
pub fn check_machine_holds(
    warps: usize,
    launch: &mini::LaunchFile,
    machine: &mini::Machine,
) -> Result<(), Diagnostic> {
    if warps > machine.warps as usize {
        return Err(Diagnostic::new(format!(
            "{} threads make {warps} warps, machine {} holds {}",
            launch.threads, machine.name, machine.warps
        ))
        .in_file(launch.file.as_str()));
    }
    Ok(())
}

/// Returns the initial values of the cells, which are equal in all threads.
///
/// # Errors
///
/// A launch constant has no value, or the kernel has no launch constant of a given name.
pub fn launch_cells(
    prepared: &Prepared<'_>,
    launch: &mini::LaunchFile,
) -> Result<Vec<(Cell, u32)>, Diagnostic> {
    let fault = |message: String| {
        Diagnostic::new(message)
            .in_kernel(prepared.kernel.demangled())
            .in_file(launch.file.as_str())
    };
    let names: Vec<&str> = match &prepared.program {
        Program::Mini(program) => {
            let params = program.variables.iter().take(program.params);
            params.map(String::as_str).collect()
        }
        Program::Nvidia(_) | Program::Amd(_) => Vec::new(),
    };
    if let Some(name) = launch
        .constants
        .keys()
        .find(|name| !names.contains(&name.as_str()))
    {
        return Err(fault(format!("the kernel has no launch constant {name}")));
    }
    // Launch constants are the first variables of a program, and variables are cells in the same order.
    (0u8..)
        .zip(names)
        .map(|(index, name)| match launch.constants.get(name) {
            Some(&value) => Ok((Cell::gpr(index), value)),
            None => Err(fault(format!("launch constant {name} has no value"))),
        })
        .collect()
}

/// Writes a cycle of the trace.
fn write_trace_line(
    prepared: &Prepared<'_>,
    width: u32,
    warps: usize,
    event: CycleEvent,
    line: &mut String,
) {
    // Writing to a string cannot fail.
    let _ = match event {
        CycleEvent::Issue {
            cycle,
            warp,
            op,
            active,
        } => {
            let mnemonic = prepared.program.mnemonic(op.index()).unwrap_or("?");
            let lanes: String = (0..width)
                .map(|lane| if active >> lane & 1 == 1 { '1' } else { '0' })
                .collect();
            let place = prepared.location(op);
            match warps {
                // One warp needs no number, as in the figure of the paper.
                1 => write!(line, "{cycle:02} {place}: {mnemonic} {lanes}"),
                _ => write!(line, "{cycle:02} {place}: {mnemonic} {lanes} warp {warp}"),
            }
        }
        CycleEvent::Stall { cycle, warp, op } => {
            let place = prepared.location(op);
            match warps {
                1 => write!(line, "{cycle:02} {place}: stall"),
                _ => write!(line, "{cycle:02} {place}: stall warp {warp}"),
            }
        }
    };
}
