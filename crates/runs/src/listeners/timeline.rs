//! Timeline of a simulation in the Trace Event Format: a process for each SM, a thread for each warp slot and each
//! block slot. One cycle is written as one microsecond, because the format has no cycles.
//!
//! For example, an instruction is a slice from its issue to the next issue of its warp. Slices are written as soon as
//! their ends are known, so that the state does not grow with the simulation.

use std::io::{self, Write};

use warpbound_ir::OpIndex;
use warpbound_launch::Size;
use warpbound_report::terms::MachineTerms;
use warpbound_report::trace::{Phase, TraceArgs, TraceEvent, TraceMetadata, TraceWriter};
use warpbound_simt::Mask;
use warpbound_simulate::timed::{
    Event, EventListener, HitLevel, SplitRefusal, StallCycles, WarpPlace, format_mask, path_name,
};

use super::names::{InstrNames, nonzero_stalls};

/// Listener that writes a timeline. Its state is bounded by the resident blocks and warps.
pub(crate) struct Timeline<'a> {
    out: TraceWriter<&'a mut dyn Write>,
    names: &'a InstrNames,
    terms: MachineTerms,
    /// Warp slots of an SM. The thread numbers after them are for misses and blocks.
    slots: WarpSlots,
    sms: Vec<Sm>,
    /// Identifier of the next asynchronous slice.
    id: u64,
}

/// State of an SM on the timeline.
#[derive(Default)]
struct Sm {
    is_named: bool,
    has_misses: bool,
    slots: Vec<WarpSlot>,
    /// Block slots; `None` is a free slot.
    block_slots: Vec<Option<ResidentBlock>>,
}

/// State of a warp slot.
#[derive(Clone, Default)]
struct WarpSlot {
    is_named: bool,
    /// Last issued instruction of its warp, whose slice is open.
    issued: Option<OpenSlice>,
}

/// Issued instruction.
#[derive(Clone, Copy)]
struct OpenSlice {
    cycle: u64,
    at: OpIndex,
    block: u64,
    warp: u32,
    active: Mask,
    waited: StallCycles,
}

/// Resident block.
#[derive(Clone, Copy)]
struct ResidentBlock {
    cycle: u64,
    number: u64,
    index: Size,
    warps: u32,
}

/// Warp slots of an SM or a compute unit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct WarpSlots {
    /// Slots of launched warps, the first ones.
    pub(crate) base: u64,
    /// Reserve slots of each base slot, for splits.
    pub(crate) reserve: u64,
}

impl WarpSlots {
    /// Number of slots.
    fn all(self) -> u64 {
        self.base.saturating_mul(self.reserve.saturating_add(1))
    }

    /// Returns the name of the thread of a slot, and its position among the slots, where splits follow their wave.
    /// For example, with 10 base slots and 2 reserve slots each, slot 13 is split 2 of wave 1 and has position 5.
    fn thread(self, warp: &WarpPlace, terms: MachineTerms) -> (String, u64) {
        let (slot, rows) = (u64::from(warp.slot), self.reserve.saturating_add(1));
        let (base, split) = match slot.checked_sub(self.base) {
            // Without splits there are no reserve slots to divide by.
            Some(reserve) if self.reserve > 0 => {
                (reserve / self.reserve, reserve % self.reserve + 1)
            }
            _ => (slot, 0),
        };
        let MachineTerms {
            warp: noun,
            scheduler,
            ..
        } = terms;
        let number = match split {
            0 => String::new(),
            split => format!(", split {split}"),
        };
        let name = format!("{noun} {base}{number} ({scheduler} {})", warp.scheduler);
        (name, base.saturating_mul(rows).saturating_add(split))
    }
}

/// Returns the reason why a wave does not split.
fn reason_name(reason: SplitRefusal) -> &'static str {
    match reason {
        SplitRefusal::NoSlot => "no free slot",
        SplitRefusal::NoRegisters => "no free registers",
    }
}

/// Returns the process number of an SM. Viewers give number 0 a special meaning.
fn process_id(sm: u32) -> u64 {
    u64::from(sm) + 1
}

/// Returns the thread number of a warp slot.
fn warp_thread(slot: u32) -> u64 {
    // Thread 0 has the events of the whole kernel.
    u64::from(slot) + 1
}

impl<'a> Timeline<'a> {
    /// Creates a timeline.
    pub(crate) fn new(
        out: &'a mut dyn Write,
        names: &'a InstrNames,
        about: &TraceMetadata<'_>,
        terms: MachineTerms,
        slots: WarpSlots,
    ) -> Timeline<'a> {
        Timeline {
            out: TraceWriter::new(out, about),
            names,
            terms,
            slots,
            sms: Vec::new(),
            id: 0,
        }
    }

    /// Completes the file; returns the first error of any write.
    pub(crate) fn finish(self) -> io::Result<()> {
        self.out.finish()
    }

    fn miss_thread(&self) -> u64 {
        self.slots.all() + 1
    }

    fn block_thread(&self, slot: usize) -> u64 {
        self.slots.all() + 2 + slot as u64
    }

    /// Returns the state of an SM, and names its process at the first use.
    fn sm(&mut self, sm: u32) -> &mut Sm {
        let index = sm as usize;
        if index >= self.sms.len() {
            self.sms.resize_with(index + 1, Sm::default);
        }
        // Named at the first event, so that idle SMs do not appear.
        if !self.sms[index].is_named {
            self.sms[index].is_named = true;
            let name = format!("{} {sm}", self.terms.unit);
            self.out.process(process_id(sm), &name);
        }
        &mut self.sms[index]
    }

    /// Returns the slot of a warp, and names its thread at the first use.
    fn slot(&mut self, warp: &WarpPlace) -> &mut WarpSlot {
        let index = warp.slot as usize;
        let slots = &mut self.sm(warp.sm).slots;
        if index >= slots.len() {
            slots.resize(index + 1, WarpSlot::default());
        }
        if !slots[index].is_named {
            slots[index].is_named = true;
            let thread = warp_thread(warp.slot);
            // Warps are shown below blocks and misses, splits below the wave whose slots they take.
            let (name, position) = self.slots.thread(warp, self.terms);
            let order = self.slots.all() + 1 + position;
            self.out.thread(process_id(warp.sm), thread, &name, order);
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

    /// Ends the slice of the last instruction of a warp.
    fn end_issue(&mut self, cycle: u64, warp: &WarpPlace) {
        let Some(issued) = self.slot(warp).issued.take() else {
            return;
        };
        let name = self.names.at(issued.at);
        self.out.event(&TraceEvent {
            name: name.mnemonic,
            cat: "issue",
            ph: Phase::Complete,
            ts: issued.cycle,
            dur: Some(cycle.saturating_sub(issued.cycle)),
            pid: process_id(warp.sm),
            tid: warp_thread(warp.slot),
            id: None,
            s: None,
            args: Some(TraceArgs::Issue {
                address: &name.address,
                text: &name.text,
                source: name.source.as_deref(),
                block: issued.block,
                warp: issued.warp,
                active: format_mask(issued.active),
                stalls: nonzero_stalls(&issued.waited),
            }),
        });
    }

    /// Assigns a block to the first free block slot, so that there are no more threads than resident blocks.
    fn begin_block(&mut self, sm: u32, running: ResidentBlock) {
        let block_slots = &mut self.sm(sm).block_slots;
        match block_slots.iter().position(Option::is_none) {
            Some(slot) => block_slots[slot] = Some(running),
            None => {
                block_slots.push(Some(running));
                let slot = block_slots.len() - 1;
                let thread = self.block_thread(slot);
                let name = format!("blocks {slot}");
                self.out.thread(process_id(sm), thread, &name, slot as u64);
            }
        }
    }

    /// Returns the slot of a block.
    fn find_block_slot(&mut self, sm: u32, number: u64) -> Option<usize> {
        let block_slots = &self.sm(sm).block_slots;
        let is = |running: &Option<ResidentBlock>| running.is_some_and(|r| r.number == number);
        block_slots.iter().position(is)
    }

    /// Frees the slot of a block and writes its slice.
    fn end_block(&mut self, cycle: u64, sm: u32, number: u64) {
        let Some(slot) = self.find_block_slot(sm, number) else {
            return;
        };
        let Some(running) = self.sm(sm).block_slots[slot].take() else {
            return;
        };
        let [x, y, z] = running.index;
        self.out.event(&TraceEvent {
            name: &format!("block ({x}, {y}, {z})"),
            cat: "block",
            ph: Phase::Complete,
            ts: running.cycle,
            dur: Some(cycle.saturating_sub(running.cycle)),
            pid: process_id(sm),
            tid: self.block_thread(slot),
            id: None,
            s: None,
            args: Some(TraceArgs::Block {
                block: running.index,
                number,
                warps: running.warps,
            }),
        });
    }

    /// Writes an asynchronous slice from the issue of an access to its completion, because accesses of one warp
    /// overlap.
    fn write_access(
        &mut self,
        cycle: u64,
        done: u64,
        warp: &WarpPlace,
        name: &str,
        args: TraceArgs<'_>,
    ) {
        // Slices of one thread have to nest, which accesses of one warp need not; asynchronous slices are paired by
        // number.
        let next_slice_id = self.id;
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
                pid: process_id(warp.sm),
                tid: warp_thread(warp.slot),
                id: Some(next_slice_id),
                s: None,
                args,
            });
        }
    }

    /// Writes an instant for a miss of a first-level cache.
    fn write_miss(&mut self, cycle: u64, sm: u32, access: &str, found: HitLevel) {
        let thread = self.miss_thread();
        let drawn = self.sm(sm);
        if !drawn.has_misses {
            drawn.has_misses = true;
            self.out
                .thread(process_id(sm), thread, "misses", self.slots.all());
        }
        let from = match found {
            HitLevel::First => "first cache",
            HitLevel::Second => "second cache",
            HitLevel::L2 => "L2",
            HitLevel::Dram => "DRAM",
        };
        let name = format!("{access} from {from}");
        let at = [cycle, process_id(sm), thread];
        self.write(&name, "miss", Phase::Instant, at, None);
    }

    /// Writes an instant for the release of a barrier, on the thread of the block.
    fn write_barrier(&mut self, cycle: u64, sm: u32, block: u64, warps: u32) {
        if let Some(slot) = self.find_block_slot(sm, block) {
            let at = [cycle, process_id(sm), self.block_thread(slot)];
            let args = Some(TraceArgs::Barrier { warps });
            self.write("barrier opens", "barrier", Phase::Instant, at, args);
        }
    }

    /// Writes the instants of a split or a merge, on the threads of both waves.
    fn write_split_event(&mut self, cycle: u64, event: &Event) {
        let names = self.names;
        let (marks, args) = match event {
            Event::Split {
                parent,
                child,
                at,
                parent_lanes,
                child_lanes,
            } => {
                let args = TraceArgs::Split {
                    address: &names.at(*at).address,
                    child: child.slot,
                    parent_lanes: format_mask(*parent_lanes),
                    child_lanes: format_mask(*child_lanes),
                };
                (vec![("splits", parent), ("split begins", child)], args)
            }
            Event::SplitRefused { warp, at, reason } => {
                let args = TraceArgs::NoSplit {
                    address: &names.at(*at).address,
                    reason: reason_name(*reason),
                };
                (vec![("does not split", warp)], args)
            }
            Event::Merge { into, from, at } => {
                // The merged split issues nothing more, so no later event would end its slice.
                self.end_issue(cycle, from);
                let args = TraceArgs::Merge {
                    address: &names.at(*at).address,
                    from: from.slot,
                    into: into.slot,
                };
                (vec![("merges", into), ("split ends", from)], args)
            }
            _ => return,
        };
        for (name, warp) in marks {
            // Names the thread if this is its first event.
            self.slot(warp);
            let at = [cycle, process_id(warp.sm), warp_thread(warp.slot)];
            self.write(name, "split", Phase::Instant, at, Some(args.clone()));
        }
    }

    /// Writes an instant that concerns the whole kernel.
    fn write_kernel_event(&mut self, cycle: u64, name: &str) {
        self.out.event(&TraceEvent {
            name,
            cat: "kernel",
            ph: Phase::Instant,
            ts: cycle,
            dur: None,
            pid: process_id(0),
            tid: 0,
            id: None,
            // Scope `g` shows the instant in all processes, whereas `t` shows it on one thread.
            s: Some("g"),
            args: None,
        });
    }

    /// Writes the slice of an access to memory.
    fn write_memory_event(&mut self, cycle: u64, event: &Event) {
        match event {
            Event::Shared {
                warp,
                at,
                access: kind,
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
                let name = format!("{} {}", self.terms.shared, kind.name());
                self.write_access(cycle, *done, warp, &name, args);
            }
            Event::Memory {
                warp,
                at,
                space,
                access: kind,
                sectors,
                l1_hits,
                l2_hits,
                dram_sectors: dram,
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
                let name = format!("{} {}", path_name(*space), kind.name());
                self.write_access(cycle, *done, warp, &name, args);
            }
            Event::Scalar {
                warp,
                at,
                access: kind,
                lines,
                hits,
                l2_hits,
                done,
            } => {
                let names = self.names;
                let args = TraceArgs::Scalar {
                    address: &names.at(*at).address,
                    lines: *lines,
                    hits: *hits,
                    l2_hits: *l2_hits,
                };
                let name = format!("scalar {}", kind.name());
                self.write_access(cycle, *done, warp, &name, args);
            }
            _ => {}
        }
    }
}

impl EventListener for Timeline<'_> {
    const INLINED: bool = true;

    fn event(&mut self, cycle: u64, event: &Event) {
        match event {
            &Event::BlockBegins {
                sm,
                block: number,
                index,
                warps,
            } => self.begin_block(
                sm,
                ResidentBlock {
                    cycle,
                    number,
                    index,
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
                let slice = OpenSlice {
                    cycle,
                    at: *at,
                    block: warp.block,
                    warp: warp.warp,
                    active: *active,
                    waited: *waited,
                };
                // The duration of an instruction is known only at the next issue of its warp.
                self.end_issue(cycle, warp);
                self.slot(warp).issued = Some(slice);
            }
            Event::Shared { .. } | Event::Memory { .. } | Event::Scalar { .. } => {
                self.write_memory_event(cycle, event);
            }
            &Event::ConstantMiss { sm, found, .. } => self.write_miss(cycle, sm, "constant", found),
            &Event::FetchMiss { sm, found, .. } => self.write_miss(cycle, sm, "instruction", found),
            &Event::BarrierOpens { sm, block, warps } => {
                self.write_barrier(cycle, sm, block, warps)
            }
            Event::WarpEnds { warp } => self.end_issue(cycle, warp),
            Event::Split { .. } | Event::SplitRefused { .. } | Event::Merge { .. } => {
                self.write_split_event(cycle, event);
            }
            &Event::BlockEnds {
                sm, block: number, ..
            } => self.end_block(cycle, sm, number),
            Event::Launched => self.write_kernel_event(cycle, "launched"),
            Event::Done => self.write_kernel_event(cycle, "done"),
        }
    }
}
