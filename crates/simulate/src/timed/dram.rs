//! DRAM of the GPU: one bus with a latency, read and write efficiencies, bus turnaround and refresh.
//!
//! Banks and rows are not modelled one by one: the efficiencies are the parts of the bandwidth that streams of reads
//! and of writes reach (`docs/timing-model.md`).

use warpbound_machine::Parameter;

use super::l2::L2Section;
use super::parameters::{Tracked, UsedParameters};
use super::server::{MILLI, Server};

/// Denominator of efficiencies and of the turnaround.
const PER_MILLE: u64 = 1000;

/// DRAM: all channels as one bus, over which addresses are spread evenly.
pub(super) struct Dram {
    bus: Server,
    /// Cycles from a request to its data, without contention.
    pub(super) latency: u64,
    /// Bus time of a sector read and of a sector written, and the bus time lost to a turnaround, in thousandths of
    /// cycles.
    read: u64,
    write: u64,
    turnaround: u64,
    /// Sectors read since the bus was last turned, at most `max_unturned`: each of that many sectors written pays a
    /// turnaround. For example, after 4 sectors read, 4 of 6 sectors written pay one.
    unturned: u64,
    /// Reads that may be queued while the bus is turned: a line for each L2 slice.
    max_unturned: u64,
    /// Cycles of a refresh; cycles from one refresh to the next; cycle when the next one starts.
    refresh: u64,
    refresh_interval: u64,
    next_refresh: u64,
    /// Number of refreshes that the bus was reserved for.
    pub(super) refreshes: u64,
}

impl Dram {
    /// Returns the idle DRAM of a machine.
    pub(super) fn new(parameters: &UsedParameters) -> Tracked<Dram> {
        let mut reader = parameters.reader();
        let l2 = L2Section::read(&mut reader);
        let bandwidth = u128::from(reader.get(Parameter::DramBandwidth).max(1));
        let bus_time = |efficiency: u64| {
            // One factor for thousandths of cycles, the other for a bandwidth per 1000 cycles.
            let bytes = u128::from(l2.sector * MILLI * MILLI);
            let bandwidth = bandwidth * u128::from(efficiency.max(1));
            (bytes * u128::from(PER_MILLE) / bandwidth) as u64
        };
        let refresh_interval = reader.get(Parameter::DramRefreshInterval).max(1);
        let dram = Dram {
            bus: Server::default(),
            latency: l2.hit + reader.get(Parameter::DramBeyond),
            read: bus_time(reader.get(Parameter::DramReads)),
            write: bus_time(reader.get(Parameter::DramWrites)),
            turnaround: bus_time(PER_MILLE) * reader.get(Parameter::DramTurnaround) / PER_MILLE,
            unturned: 0,
            max_unturned: l2.slices * l2.line / l2.sector,
            refresh: reader.get(Parameter::DramRefresh),
            refresh_interval,
            next_refresh: refresh_interval,
            refreshes: 0,
        };
        reader.track(dram)
    }

    /// Reads sectors that are requested in cycle `at`; returns the cycle when they arrive.
    pub(super) fn read(&mut self, now: u64, at: u64, sectors: u32) -> u64 {
        self.refresh_until(now, at);
        let sectors = u64::from(sectors);
        self.unturned = (self.unturned + sectors).min(self.max_unturned);
        self.bus.reserve_milli(now, at, self.read * sectors) + self.latency
    }

    /// Writes back sectors in cycle `at`; returns the cycle when the bus accepts them.
    pub(super) fn write(&mut self, now: u64, at: u64, sectors: u32) -> u64 {
        self.refresh_until(now, at);
        let sectors = u64::from(sectors);
        let turned = sectors.min(self.unturned);
        self.unturned -= turned;
        let milli = self.write * sectors + self.turnaround * turned;
        self.bus.reserve_milli(now, at, milli)
    }

    /// Start of the last refresh for which the bus was reserved.
    pub(super) fn last_refresh(&self) -> u64 {
        self.next_refresh - self.refresh_interval
    }

    /// Returns the cycle when sectors requested in cycle `at` would arrive, without a reservation.
    pub(super) fn probe_read(&self, at: u64, sectors: u32) -> u64 {
        self.bus.probe(at, self.read * u64::from(sectors)) + self.latency
    }

    /// Reserves the bus for the refreshes that start up to cycle `at`.
    fn refresh_until(&mut self, now: u64, at: u64) {
        // The caller reserves its own transfer afterwards, which therefore waits for these refreshes.
        while self.next_refresh <= at {
            // Refreshes before `now` delay no later request and are skipped.
            let past = now.saturating_sub(self.next_refresh) / self.refresh_interval;
            self.next_refresh += past * self.refresh_interval;
            self.bus.reserve(now, self.next_refresh, self.refresh);
            self.next_refresh += self.refresh_interval;
            self.refreshes += 1;
        }
    }
}
