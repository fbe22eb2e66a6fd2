//! Events as JSON lines.

use std::io::{self, Write};

use warpbound_report::events::{EventLine, EventWarp, Happening};
use warpbound_report::trace::JsonLines;
use warpbound_simulate::timed::{Event, EventListener, WarpPlace};

use super::names::{Names, access_name, lanes, level_name, space_name, waited};

/// Writes a line for each event.
pub(super) struct Events<'a> {
    out: JsonLines<&'a mut dyn Write>,
    names: &'a Names,
}

impl<'a> Events<'a> {
    pub(super) fn new(out: &'a mut dyn Write, names: &'a Names) -> Events<'a> {
        Events {
            out: JsonLines::new(out),
            names,
        }
    }

    /// Whether all could be written.
    pub(super) fn finish(self) -> io::Result<()> {
        self.out.finish()
    }
}

impl EventListener for Events<'_> {
    fn event(&mut self, cycle: u64, event: &Event) {
        let event = line(self.names, event);
        self.out.line(&EventLine { cycle, event });
    }
}

fn place(warp: &WarpPlace) -> EventWarp {
    EventWarp {
        sm: warp.sm,
        scheduler: warp.scheduler,
        slot: warp.slot,
        block: warp.block,
        warp: warp.warp,
    }
}

/// An event with the names of people.
fn line<'a>(names: &'a Names, event: &Event) -> Happening<'a> {
    match event {
        Event::Launched => Happening::Launched,
        &Event::BlockBegins {
            sm,
            number,
            block,
            warps,
        } => Happening::BlockBegins {
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
        } => Happening::Issue {
            warp: place(warp),
            address: &names.at(*at).address,
            text: &names.at(*at).text,
            active: lanes(*active),
            taken: lanes(*taken),
            waited: waited(cycles),
        },
        Event::Shared {
            warp,
            at,
            kind,
            transactions,
            conflicts,
            done,
        } => Happening::Shared {
            warp: place(warp),
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
        } => Happening::Memory {
            warp: place(warp),
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
        } => Happening::ConstantMiss {
            sm,
            bank,
            offset,
            found: level_name(found),
        },
        &Event::FetchMiss { sm, at, found } => Happening::FetchMiss {
            sm,
            address: &names.at(at).address,
            found: level_name(found),
        },
        &Event::BarrierOpens { sm, block, warps } => Happening::BarrierOpens { sm, block, warps },
        Event::WarpEnds { warp } => Happening::WarpEnds { warp: place(warp) },
        &Event::BlockEnds { sm, number, block } => Happening::BlockEnds {
            sm,
            block: number,
            index: block,
        },
        Event::Done => Happening::Done,
    }
}
