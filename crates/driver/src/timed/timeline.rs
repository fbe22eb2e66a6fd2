//! A run in the Trace Event Format: a process for each SM, a thread for each place of a warp and of a block. A cycle
//! is shown as a microsecond.

use std::io::{self, Write};

use warpbound_ir::OpIndex;
use warpbound_report::trace::{Phase, TraceAbout, TraceArgs, TraceEvent, TraceWriter};
use warpbound_simulate::functional::Size;
use warpbound_simulate::timed::{Event, HitLevel, EventListener, StallCycles, WarpPlace};

use super::names::{Names, access_name, lanes, space_name, waited};

/// Writes a timeline. What it remembers is what the SMs hold.
pub(super) struct Timeline<'a> {
    out: TraceWriter<&'a mut dyn Write>,
    names: &'a Names,
    /// Warps that an SM holds at most: the threads behind them are for misses and blocks.
    slots: u64,
    sms: Vec<Sm>,
    /// Of the next asynchronous slice.
    id: u64,
}

/// An SM that is drawn.
#[derive(Default)]
struct Sm {
    is_named: bool,
    has_misses: bool,
    slots: Vec<Slot>,
    /// Blocks, and `None` where there was one.
    places: Vec<Option<Running>>,
}

/// A place for a warp.
#[derive(Clone, Default)]
struct Slot {
    is_named: bool,
    /// The instruction that its warp issued last.
    issued: Option<Issued>,
}

#[derive(Clone, Copy)]
struct Issued {
    cycle: u64,
    at: OpIndex,
    block: u64,
    warp: u32,
    active: u32,
    waited: StallCycles,
}

#[derive(Clone, Copy)]
struct Running {
    cycle: u64,
    number: u64,
    index: Size,
    warps: u32,
}

/// Number 0 has a meaning of its own in viewers.
fn process(sm: u32) -> u64 {
    u64::from(sm) + 1
}

fn warp_thread(slot: u32) -> u64 {
    u64::from(slot) + 1
}

impl<'a> Timeline<'a> {
    /// `slots`: the warps that an SM holds at most.
    pub(super) fn new(
        out: &'a mut dyn Write,
        names: &'a Names,
        about: &TraceAbout<'_>,
        slots: u64,
    ) -> Timeline<'a> {
        Timeline {
            out: TraceWriter::new(out, about),
            names,
            slots,
            sms: Vec::new(),
            id: 0,
        }
    }

    /// Whether all could be written.
    pub(super) fn finish(self) -> io::Result<()> {
        self.out.finish()
    }

    fn miss_thread(&self) -> u64 {
        self.slots + 1
    }

    fn block_thread(&self, place: usize) -> u64 {
        self.slots + 2 + place as u64
    }

    /// An SM, which has a name from now on.
    fn sm(&mut self, sm: u32) -> &mut Sm {
        let index = sm as usize;
        if index >= self.sms.len() {
            self.sms.resize_with(index + 1, Sm::default);
        }
        if !self.sms[index].is_named {
            self.sms[index].is_named = true;
            self.out.process(process(sm), &format!("SM {sm}"));
        }
        &mut self.sms[index]
    }

    /// The place of a warp, which has a name from now on.
    fn slot(&mut self, warp: &WarpPlace) -> &mut Slot {
        let index = warp.slot as usize;
        let slots = &mut self.sm(warp.sm).slots;
        if index >= slots.len() {
            slots.resize(index + 1, Slot::default());
        }
        if !slots[index].is_named {
            slots[index].is_named = true;
            let thread = warp_thread(warp.slot);
            // Behind blocks and misses.
            let order = self.slots + thread;
            let name = format!("warp {} (scheduler {})", warp.slot, warp.scheduler);
            self.out.thread(process(warp.sm), thread, &name, order);
        }
        &mut self.sms[warp.sm as usize].slots[index]
    }

    fn write(
        &mut self,
        name: &str,
        cat: &'static str,
        ph: Phase,
        [ts, pid, tid]: [u64; 3],
        args: Option<TraceArgs<'_>>,
    ) {
        self.out.event(&TraceEvent {
            name,
            cat,
            ph,
            ts,
            dur: None,
            pid,
            tid,
            id: None,
            s: (ph == Phase::Instant).then_some("t"),
            args,
        });
    }

    /// The slice of the instruction that a warp issued last ends.
    fn end_issue(&mut self, cycle: u64, place: &WarpPlace) {
        let Some(issued) = self.slot(place).issued.take() else {
            return;
        };
        let name = self.names.at(issued.at);
        self.out.event(&TraceEvent {
            name: name.mnemonic,
            cat: "issue",
            ph: Phase::Complete,
            ts: issued.cycle,
            dur: Some(cycle.saturating_sub(issued.cycle)),
            pid: process(place.sm),
            tid: warp_thread(place.slot),
            id: None,
            s: None,
            args: Some(TraceArgs::Issue {
                address: &name.address,
                text: &name.text,
                source: name.source.as_deref(),
                block: issued.block,
                warp: issued.warp,
                active: lanes(issued.active),
                waited: waited(&issued.waited),
            }),
        });
    }

    fn begin_block(&mut self, sm: u32, running: Running) {
        let places = &mut self.sm(sm).places;
        match places.iter().position(Option::is_none) {
            Some(place) => places[place] = Some(running),
            None => {
                places.push(Some(running));
                let place = places.len() - 1;
                let thread = self.block_thread(place);
                let name = format!("blocks {place}");
                self.out.thread(process(sm), thread, &name, place as u64);
            }
        }
    }

    /// The place of a block.
    fn place(&mut self, sm: u32, number: u64) -> Option<usize> {
        let places = &self.sm(sm).places;
        let is = |running: &Option<Running>| running.is_some_and(|r| r.number == number);
        places.iter().position(is)
    }

    fn end_block(&mut self, cycle: u64, sm: u32, number: u64) {
        let Some(place) = self.place(sm, number) else {
            return;
        };
        let Some(running) = self.sm(sm).places[place].take() else {
            return;
        };
        let [x, y, z] = running.index;
        self.out.event(&TraceEvent {
            name: &format!("block ({x}, {y}, {z})"),
            cat: "block",
            ph: Phase::Complete,
            ts: running.cycle,
            dur: Some(cycle.saturating_sub(running.cycle)),
            pid: process(sm),
            tid: self.block_thread(place),
            id: None,
            s: None,
            args: Some(TraceArgs::Block {
                block: running.index,
                number,
                warps: running.warps,
            }),
        });
    }

    /// A slice beside those of the instructions, from the issue of an access until its result is there.
    fn access(&mut self, cycle: u64, done: u64, warp: &WarpPlace, name: &str, args: TraceArgs<'_>) {
        let id = self.id;
        self.id += 1;
        let ends = [
            (Phase::AsyncBegin, cycle, Some(args)),
            (Phase::AsyncEnd, done.max(cycle), None),
        ];
        for (ph, ts, args) in ends {
            self.out.event(&TraceEvent {
                name,
                cat: "memory",
                ph,
                ts,
                dur: None,
                pid: process(warp.sm),
                tid: warp_thread(warp.slot),
                id: Some(id),
                s: None,
                args,
            });
        }
    }

    fn miss(&mut self, cycle: u64, sm: u32, what: &str, found: HitLevel) {
        let thread = self.miss_thread();
        let drawn = self.sm(sm);
        if !drawn.has_misses {
            drawn.has_misses = true;
            self.out.thread(process(sm), thread, "misses", self.slots);
        }
        let from = match found {
            HitLevel::First => "first cache",
            HitLevel::Second => "second cache",
            HitLevel::L2 => "L2",
            HitLevel::Dram => "DRAM",
        };
        let name = format!("{what} from {from}");
        let at = [cycle, process(sm), thread];
        self.write(&name, "miss", Phase::Instant, at, None);
    }
}

impl EventListener for Timeline<'_> {
    fn event(&mut self, cycle: u64, event: &Event) {
        match event {
            &Event::BlockBegins {
                sm,
                number,
                block,
                warps,
            } => self.begin_block(
                sm,
                Running {
                    cycle,
                    number,
                    index: block,
                    warps,
                },
            ),
            Event::Issue {
                warp,
                at,
                active,
                waited,
                ..
            } => {
                self.end_issue(cycle, warp);
                self.slot(warp).issued = Some(Issued {
                    cycle,
                    at: *at,
                    block: warp.block,
                    warp: warp.warp,
                    active: *active,
                    waited: *waited,
                });
            }
            Event::Shared {
                warp,
                at,
                kind,
                transactions,
                conflicts,
                done,
            } => {
                let names = self.names;
                let args = TraceArgs::Shared {
                    address: &names.at(*at).address,
                    transactions: *transactions,
                    conflicts: *conflicts,
                };
                let name = format!("shared {}", access_name(*kind));
                self.access(cycle, *done, warp, &name, args);
            }
            Event::Global {
                warp,
                at,
                space,
                kind,
                sectors,
                l1_hits,
                l2_hits,
                dram,
                done,
                ..
            } => {
                let names = self.names;
                let args = TraceArgs::Memory {
                    address: &names.at(*at).address,
                    sectors: *sectors,
                    l1_hits: *l1_hits,
                    l2_hits: *l2_hits,
                    dram: *dram,
                };
                let name = format!("{} {}", space_name(*space), access_name(*kind));
                self.access(cycle, *done, warp, &name, args);
            }
            &Event::ConstantMiss { sm, found, .. } => self.miss(cycle, sm, "constant", found),
            &Event::FetchMiss { sm, found, .. } => self.miss(cycle, sm, "instruction", found),
            &Event::BarrierOpens { sm, block, warps } => {
                if let Some(place) = self.place(sm, block) {
                    let at = [cycle, process(sm), self.block_thread(place)];
                    let args = Some(TraceArgs::Barrier { warps });
                    self.write("barrier opens", "barrier", Phase::Instant, at, args);
                }
            }
            Event::WarpEnds { warp } => self.end_issue(cycle, warp),
            &Event::BlockEnds { sm, number, .. } => self.end_block(cycle, sm, number),
            Event::Launched | Event::Done => {
                let name = match event {
                    Event::Launched => "launched",
                    _ => "done",
                };
                self.out.event(&TraceEvent {
                    name,
                    cat: "kernel",
                    ph: Phase::Instant,
                    ts: cycle,
                    dur: None,
                    pid: process(0),
                    tid: 0,
                    id: None,
                    s: Some("g"),
                    args: None,
                });
            }
        }
    }
}
