//! Event file: a JSON line for each event of a timed simulation.

use std::io::{self, Write};

use warpbound_report::events::{EventLine, EventWarp, EventRecord};
use warpbound_report::trace::JsonLines;
use warpbound_simulate::timed::{Event, EventListener, WarpPlace};

use super::names::{InstrNames, access_name, mask_text, level_name, space_name, nonzero_stalls};

/// Listener that writes a line for each event.
pub(super) struct EventFile<'a> {
    out: JsonLines<&'a mut dyn Write>,
    names: &'a InstrNames,
}

impl<'a> EventFile<'a> {
    pub(super) fn new(out: &'a mut dyn Write, names: &'a InstrNames) -> EventFile<'a> {
        EventFile {
            out: JsonLines::new(out),
            names,
        }
    }

    /// Completes the file; returns the first error of any write.
    pub(super) fn finish(self) -> io::Result<()> {
        self.out.finish()
    }
}

impl EventListener for EventFile<'_> {
    fn event(&mut self, cycle: u64, event: &Event) {
        let event = event_record(self.names, event);
        self.out.line(&EventLine { cycle, event });
    }
}

fn event_warp(warp: &WarpPlace) -> EventWarp {
    EventWarp {
        sm: warp.sm,
        scheduler: warp.scheduler,
        slot: warp.slot,
        block: warp.block,
        warp: warp.warp,
    }
}

/// Converts an event to its record, with addresses and texts of instructions.
fn event_record<'a>(names: &'a InstrNames, event: &Event) -> EventRecord<'a> {
    match event {
        Event::Launched => EventRecord::Launched,
        &Event::BlockBegins {
            sm,
            number,
            block,
            warps,
        } => EventRecord::BlockBegins {
            sm,
            block: number,
            index: block,
            warps,
        },
        Event::Issue {
            warp,
            at,
            active,
            taken,
            waited: cycles,
        } => EventRecord::Issue {
            warp: event_warp(warp),
            address: &names.at(*at).address,
            text: &names.at(*at).text,
            active: mask_text(*active),
            taken: mask_text(*taken),
            stalls: nonzero_stalls(cycles),
        },
        Event::Shared {
            warp,
            at,
            kind,
            transactions,
            conflicts,
            done,
        } => EventRecord::Shared {
            warp: event_warp(warp),
            address: &names.at(*at).address,
            access: access_name(*kind),
            transactions: *transactions,
            conflicts: *conflicts,
            done: *done,
        },
        Event::Global {
            warp,
            at,
            space,
            kind,
            requests,
            sectors,
            l1_hits,
            l1_lookups,
            l2_hits,
            l2_lookups,
            dram,
            tlb_misses,
            done,
        } => EventRecord::Memory {
            warp: event_warp(warp),
            address: &names.at(*at).address,
            space: space_name(*space),
            access: access_name(*kind),
            requests: *requests,
            sectors: *sectors,
            l1_lookups: *l1_lookups,
            l1_hits: *l1_hits,
            l2_lookups: *l2_lookups,
            l2_hits: *l2_hits,
            dram_sectors: *dram,
            tlb_misses: *tlb_misses,
            done: *done,
        },
        &Event::ConstantMiss {
            sm,
            bank,
            offset,
            found,
        } => EventRecord::ConstantMiss {
            sm,
            bank,
            offset,
            found: level_name(found),
        },
        &Event::FetchMiss { sm, at, found } => EventRecord::FetchMiss {
            sm,
            address: &names.at(at).address,
            found: level_name(found),
        },
        &Event::BarrierOpens { sm, block, warps } => EventRecord::BarrierOpens { sm, block, warps },
        Event::WarpEnds { warp } => EventRecord::WarpEnds { warp: event_warp(warp) },
        &Event::BlockEnds { sm, number, block } => EventRecord::BlockEnds {
            sm,
            block: number,
            index: block,
        },
        Event::Done => EventRecord::Done,
    }
}
