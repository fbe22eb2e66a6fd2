//! Lines of an event file, with one JSON object for each event of a timed simulation.
//!
//! An event has its own keys (`warpbound_simulate::timed::Event`), and its kind is in `event`.

use serde::Serialize;

/// Line of the event file.
#[derive(Clone, Debug, Serialize)]
pub struct EventLine<'a, E> {
    /// Cycle of the event.
    pub cycle: u64,
    /// Event with its kind and details.
    #[serde(flatten)]
    pub event: E,
    /// Instruction that the event is about.
    #[serde(flatten)]
    pub instruction: Option<EventInstruction<'a>>,
}

/// Instruction of an event.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct EventInstruction<'a> {
    /// Address.
    pub address: &'a str,
    /// Disassembly, if the event is the issue of the instruction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<&'a str>,
}
