//! Translation lookaside buffers (TLBs): one in each SM, and a second-level TLB with the page tables that all SMs
//! share.
//!
//! Both are fully associative with least-recently-used replacement. A miss is translated once: later requests for the
//! same page wait for the translation in flight.

use warpbound_machine::Parameter;

use super::cache::Cache;
use super::outcome::TranslationLevel;
use super::parameters::{ParameterReader, Tracked, UsedParameters};

/// Returns a fully associative cache of page translations.
fn translations(entries: u64, page: u64) -> Cache {
    Cache::new(entries * page, page, entries)
}

/// First-level TLB of an SM.
pub(super) struct L1Tlb {
    translations: Cache,
    /// Bytes of a page.
    page: u64,
    /// Page of the last access, and the cycle from which its translation is present.
    last: (u64, u64),
}

impl L1Tlb {
    pub(super) fn read(reader: &mut ParameterReader<'_>) -> L1Tlb {
        let page = reader.get(Parameter::TlbL1Page).max(1);
        let entries = reader.get(Parameter::TlbL1Entries);
        L1Tlb {
            translations: translations(entries, page),
            page,
            last: (u64::MAX, 0),
        }
    }

    /// Translates an address for an access in cycle `at`. Returns the cycle from which the translation is present, and
    /// the level that has it.
    pub(super) fn translate(
        &mut self,
        parameters: &UsedParameters,
        l2_tlb: &mut L2Tlb,
        at: u64,
        address: u64,
    ) -> (u64, TranslationLevel) {
        let page = address / self.page;
        let hit = |ready| TranslationLevel::First {
            pending: ready > at,
        };
        // This translation is the most recently used one already: without a lookup, replacement stays the same.
        if page == self.last.0 {
            return (self.last.1, hit(self.last.1));
        }
        let (ready, found) = match self.translations.request_line(address) {
            Some(ready) => (ready, hit(ready)),
            None => {
                let (ready, found) = l2_tlb.translate(parameters, at, address);
                self.translations.set_ready(address, ready);
                (ready, found)
            }
        };
        self.last = (page, ready);
        (ready, found)
    }
}

/// Second-level TLB, and the caches that hold page tables.
pub(super) struct L2Tlb {
    translations: Tracked<Cache>,
    /// Page tables in caches; one table per page of this TLB.
    page_tables: Tracked<Cache>,
    /// Bytes of a page.
    page: u64,
}

impl L2Tlb {
    /// Returns the TLB of a machine, empty.
    pub(super) fn new(parameters: &UsedParameters) -> L2Tlb {
        let mut reader = parameters.reader();
        let page = reader.get(Parameter::TlbL2Page).max(1);
        let entries = reader.get(Parameter::TlbL2Entries);
        let translations_l2 = reader.track(translations(entries, page));
        // A reader of its own, because page tables matter only to translations that miss.
        let mut reader = parameters.reader();
        let page = reader.get(Parameter::TlbL2Page).max(1);
        let tables = reader.get(Parameter::TlbPageTables);
        L2Tlb {
            translations: translations_l2,
            page_tables: reader.track(translations(tables, page)),
            page,
        }
    }

    /// Enters the translations of a range of addresses, as if the host had just written it.
    pub(super) fn warm(&mut self, address: u64, bytes: u64) {
        let end = address + bytes;
        let mut at = address / self.page * self.page;
        while at < end {
            self.translations.unmarked().request_line(at);
            self.page_tables.unmarked().request_line(at);
            at += self.page;
        }
    }

    /// Translates an address that missed in a first-level TLB in cycle `at`; returns the cycle from which the
    /// translation is present, and the level that has it.
    fn translate(
        &mut self,
        parameters: &UsedParameters,
        at: u64,
        address: u64,
    ) -> (u64, TranslationLevel) {
        let hit = at + parameters.get(Parameter::TlbL1Miss);
        // A hit does not mark the sizes as used: except with warm caches, every run starts with a miss.
        if let Some(ready) = self.translations.unmarked().request_line(address) {
            let ready = match ready > hit {
                // A translation in progress is present no later than one of its own would be: the request for it may
                // have been simulated before, but arrive after this one.
                true => ready.min(at + parameters.get(Parameter::TlbWalk)).max(hit),
                false => hit,
            };
            return (ready, TranslationLevel::Second);
        }
        let cached_table = parameters.get(Parameter::TlbL2Miss);
        let (latency, found) = match self.page_tables.get_mut(parameters).request_line(address) {
            Some(_) => (cached_table, TranslationLevel::PageTable),
            None => (parameters.get(Parameter::TlbWalk), TranslationLevel::Walk),
        };
        let ready = at + latency;
        self.translations
            .get_mut(parameters)
            .set_ready(address, ready);
        (ready, found)
    }
}

#[cfg(test)]
mod tests {
    use warpbound_machine::{GpuModel, Selection};

    use super::*;

    /// A page table is walked again only if it was evicted.
    #[test]
    fn page_tables_are_cached() {
        let model = GpuModel::built_in("gtx1080").expect("a built-in machine");
        for (tables, walks_again) in [(1, true), (2, false)] {
            let machine = model.select(Selection::Typical);
            let machine = machine.with(Parameter::TlbL2Entries, 1);
            let machine = machine.with(Parameter::TlbPageTables, tables);
            let page = machine[Parameter::TlbL2Page];
            let parameters = UsedParameters::new(&machine);
            let mut tlb = L2Tlb::new(&parameters);
            let latencies = [0, page, 0].map(|address| tlb.translate(&parameters, 0, address).0);
            let (walk, cached) = (machine[Parameter::TlbWalk], machine[Parameter::TlbL2Miss]);
            let third = if walks_again { walk } else { cached };
            assert_eq!(latencies, [walk, walk, third]);
        }
    }
}
