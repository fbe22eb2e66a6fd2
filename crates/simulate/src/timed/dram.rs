//! The memory of the GPU: one bus, a latency, and what keeps the bus from moving data all the time.

use warpbound_machine::Parameter;

use super::numbers::{Numbered, Numbers};
use super::server::{MILLI, Server};

const DRAM: Numbered = Numbered::of(&[
    Parameter::DramBeyond,
    Parameter::DramBandwidth,
    Parameter::DramReads,
    Parameter::DramWrites,
    Parameter::DramTurnaround,
    Parameter::DramRefresh,
    Parameter::DramRefreshInterval,
]);

/// A thousand is all of it.
const WHOLE: u64 = 1000;

/// The memory: the channels of a GPU taken as one bus, over which addresses are spread evenly.
pub(super) struct Dram {
    bus: Server,
    /// From the request to its data, where the bus is free.
    pub(super) latency: u64,
    /// Time that a sector takes of the bus when it is read, when it is written, and more when it is written among
    /// reads, in thousandths of a cycle.
    read: u64,
    write: u64,
    turn: u64,
    /// Sectors read for which no write has turned the bus, as many as reads may wait while it is turned: a line of each slice.
    unturned: u64,
    waiting: u64,
    /// The bus is closed for some cycles in each interval; when that is next.
    refresh: u64,
    interval: u64,
    next: u64,
}

impl Dram {
    /// `sector` is in bytes.
    pub(super) fn new(numbers: &Numbers, sector: u64) -> Dram {
        let peek = |parameter| numbers.peek(parameter);
        let rate = u128::from(peek(Parameter::DramBandwidth).max(1));
        let take = |share: u64| {
            let bytes = u128::from(sector * MILLI * MILLI);
            (bytes * u128::from(WHOLE) / (rate * u128::from(share.max(1)))) as u64
        };
        let all = take(WHOLE);
        let interval = peek(Parameter::DramRefreshInterval).max(1);
        Dram {
            bus: Server::default(),
            latency: peek(Parameter::L2Hit) + peek(Parameter::DramBeyond),
            read: take(peek(Parameter::DramReads)),
            write: take(peek(Parameter::DramWrites)),
            turn: all * peek(Parameter::DramTurnaround) / WHOLE,
            unturned: 0,
            waiting: peek(Parameter::L2Slices) * peek(Parameter::L2Line) / sector,
            refresh: peek(Parameter::DramRefresh),
            interval,
            next: interval,
        }
    }

    /// Sectors are asked for at a cycle; when they are there.
    pub(super) fn read(&mut self, numbers: &Numbers, now: u64, at: u64, sectors: u32) -> u64 {
        numbers.touch(DRAM);
        self.refresh(now, at);
        self.unturned = (self.unturned + u64::from(sectors)).min(self.waiting);
        self.bus
            .reserve_milli(now, at, self.read * u64::from(sectors))
            + self.latency
    }

    /// Sectors are written back at a cycle; when the bus takes them.
    pub(super) fn write(&mut self, numbers: &Numbers, now: u64, at: u64, sectors: u32) -> u64 {
        numbers.touch(DRAM);
        self.refresh(now, at);
        let sectors = u64::from(sectors);
        let turned = sectors.min(self.unturned);
        self.unturned -= turned;
        let milli = self.write * sectors + self.turn * turned;
        self.bus.reserve_milli(now, at, milli)
    }

    /// The cycle at which sectors would be there that were asked for at a cycle; reserves nothing.
    pub(super) fn would_read(&self, at: u64, sectors: u32) -> u64 {
        self.bus.probe(at, self.read * u64::from(sectors)) + self.latency
    }

    /// The refreshes up to a cycle take their time.
    fn refresh(&mut self, now: u64, at: u64) {
        while self.next <= at {
            // Those of the past delay nothing that comes now.
            self.next += now.saturating_sub(self.next) / self.interval * self.interval;
            self.bus.reserve(now, self.next, self.refresh);
            self.next += self.interval;
        }
    }
}
