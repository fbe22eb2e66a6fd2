//! Event file: a JSON line for each event of a timed simulation.

use std::io::{self, Write};

use warpbound_report::events::{EventInstruction, EventLine};
use warpbound_report::trace::JsonLines;
use warpbound_simulate::timed::{Event, EventListener};

use super::names::InstrNames;

/// Listener that writes a line for each event.
pub(crate) struct EventFile<'a> {
    out: JsonLines<&'a mut dyn Write>,
    names: &'a InstrNames,
}

impl<'a> EventFile<'a> {
    pub(crate) fn new(out: &'a mut dyn Write, names: &'a InstrNames) -> EventFile<'a> {
        EventFile {
            out: JsonLines::new(out),
            names,
        }
    }

    /// Completes the file; returns the first error of any write.
    pub(crate) fn finish(self) -> io::Result<()> {
        self.out.finish()
    }
}

impl EventListener for EventFile<'_> {
    const INLINED: bool = true;

    fn event(&mut self, cycle: u64, event: &Event) {
        let is_issue = matches!(event, Event::Issue { .. });
        let instruction = event.instruction().map(|at| {
            let name = self.names.at(at);
            EventInstruction {
                address: &name.address,
                text: is_issue.then_some(name.text.as_str()),
            }
        });
        self.out.line(&EventLine {
            cycle,
            event,
            instruction,
        });
    }
}
