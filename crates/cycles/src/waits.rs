//! Waits of all instructions of a kernel for lines of code and constants, by node. For example, the second of two
//! instructions in a persistent line has no wait for code, since the first has requested the line.

mod accesses;
mod covered;
mod ranges;
mod requested;

use std::collections::{BTreeMap, BTreeSet};

use warpbound_ir::OpIndex;
use warpbound_machine::Parameter;

use crate::account::Term;
use crate::code::TimedCode;
use crate::kernel::{OnceCost, OtherWarps, TimedKernel};
use crate::leads::Leads;
use crate::lines::{
    CacheShape, FirstMisses, Lateness, LineCaches, LineLatencies, LineWait, all, transfer,
};
use crate::memory::times::MemoryTimes;
use crate::numbers::{MILLI, MachineNumbers};
use crate::prefetches::Prefetches;
use crate::step::OpWaits;

use ranges::{
    BANK_STRIDE, acyclic, code_ranges, constant_ranges, loaded_code, preloaded_constants,
};
use requested::Requested;

/// Maximum number of lines of a constant bank whose first misses are counted one by one. A load from a longer bank
/// waits for a first miss each time.
const MOST_COUNTED: u64 = 8;

const CODE: [CacheShape; 2] = [
    [
        Parameter::InstructionL1Bytes,
        Parameter::InstructionLine,
        Parameter::InstructionL1Ways,
    ],
    [
        Parameter::InstructionL15Bytes,
        Parameter::InstructionLine,
        Parameter::InstructionL15Ways,
    ],
];

const CONSTANTS: [CacheShape; 2] = [
    [
        Parameter::ConstantL1Bytes,
        Parameter::ConstantL1Line,
        Parameter::ConstantL1Ways,
    ],
    [
        Parameter::ConstantL15Bytes,
        Parameter::ConstantL15Line,
        Parameter::ConstantL15Ways,
    ],
];

/// Waits of the instructions of a kernel.
pub(crate) struct KernelWaits {
    /// Waits of each node's instructions.
    pub(crate) nodes: Vec<Vec<OpWaits>>,
    /// Costs that are counted once, or a limited number of times.
    pub(crate) once: Vec<OnceCost>,
    /// Time by which lines and translations that other warps have requested may arrive later than if the warp
    /// requests them.
    pub(crate) in_flight: i64,
    /// Service of all lines of code and constants, each once, by the memory that all SMs share.
    pub(crate) lines: i64,
    /// Bytes of a line of code.
    pub(crate) line: u64,
}

/// Computation of the waits.
struct Builder<'a> {
    kernel: &'a TimedKernel<'a>,
    code: LineCaches,
    constants: LineCaches,
    /// Nodes that a warp executes at most once.
    once: Vec<bool>,
    code_counted: FirstMisses,
    constants_counted: FirstMisses,
    /// Service of a line of constants at a slice and at DRAM.
    in_bank: (i64, i64),
    /// Bytes of a sector of the L2 cache.
    sector: u64,
    /// Time from the second constant cache to the first.
    from_second: i64,
    /// Service of the lines that any fetch may prefetch again, if the second cache may lose lines.
    refetched: Option<(i64, i64)>,
    /// Lines of code that the second cache has when the launch begins, and keeps.
    in_second: BTreeSet<u64>,
    /// Lines of code that have arrived whenever they are needed, because the first requests of others are paid for.
    covered: BTreeSet<u64>,
    /// Time by which each line of code may arrive later if it is prefetched.
    late: BTreeMap<u64, i64>,
    /// Delay of prefetched lines that the first cache may lose before they are needed.
    late_lost: BTreeMap<u64, i64>,
    /// Access whose time contains the walk of the only page of a space, for global and for local memory.
    walk_at: [Option<OpIndex>; 2],
    walks_counted: [BTreeMap<usize, u64>; 2],
    translated: [BTreeMap<usize, u64>; 2],
    /// Sectors whose misses are counted, by node.
    misses_counted: BTreeMap<usize, u64>,
    /// Times by which another warp's request may be made later than one that is simulated after it, if there are
    /// others.
    leads: Option<Leads>,
    /// Whether the SM pays for first requests of lines.
    lines_of_sm: bool,
    /// Whether the SM pays for translations.
    pages_of_sm: bool,
}

impl KernelWaits {
    /// Costs that a path pays, and costs that count for an SM, whichever warps wait.
    pub(crate) fn once_by_payer(&self, others: OtherWarps) -> (Vec<OnceCost>, Vec<OnceCost>) {
        let once = self.once.iter().cloned();
        once.partition(|cost| match cost.term {
            Term::Translation => !others.have_translations(),
            // Each warp waits for the sectors that it accesses.
            Term::GlobalMemory => true,
            _ => !others.have_lines(),
        })
    }

    pub(crate) fn compute(
        kernel: &TimedKernel<'_>,
        numbers: &MachineNumbers,
        memory: &MemoryTimes,
    ) -> KernelWaits {
        let mut builder = Builder::new(kernel, numbers, memory);
        let ahead = numbers.range(Parameter::InstructionAhead);
        let requested = builder.requested(ahead.0);
        builder.covered = builder.covered_lines(&requested, ahead.0);
        builder.walk_at = builder.first_accesses(&requested);
        let mut nodes = vec![Vec::new(); kernel.nodes.len()];
        for (number, waits) in nodes.iter_mut().enumerate() {
            if let Some(requested) = requested.get(number).cloned().flatten() {
                *waits = builder.node(number, requested);
            }
        }
        let mut code = builder.code.first_misses(&builder.code_counted);
        if let (TimedCode::Waves(_), Some(_)) = (kernel.facts, builder.leads) {
            // A line that another wave has requested arrives at any time of a turn.
            for (_, milli) in &mut code {
                *milli += numbers.turn() - MILLI;
            }
        }
        code.extend(builder.prefetches(ahead.1, memory));
        let constants = builder.constants.first_misses(&builder.constants_counted);
        let mut once = once_costs(code, Term::Fetch);
        once.extend(once_costs(constants, Term::Constants));
        once.extend(builder.translations(numbers, memory));
        once.extend(builder.missing_sectors(memory));
        KernelWaits {
            nodes,
            once,
            in_flight: builder.in_flight(),
            lines: builder.line_services(ahead.1, memory),
            line: builder.code.line[0],
        }
    }
}

/// Refill of a line of a second cache from the L2 cache.
struct Refill {
    /// Time from the request to the arrival, without contention.
    beyond: i64,
    /// Service at a slice and at DRAM.
    service: (i64, i64),
}

impl Refill {
    fn new(
        kernel: &TimedKernel<'_>,
        numbers: &MachineNumbers,
        memory: &MemoryTimes,
        line: u64,
        latency: Parameter,
        may_miss: bool,
    ) -> Refill {
        // Several lines of the L2 cache are requested at the same time; the last one waits for the others. Each may
        // replace a line with stored data.
        let of_l2 = numbers.slow(Parameter::L2Line).max(1);
        let parts = line.div_ceil(of_l2).max(1) as i64;
        let sectors = (line.min(of_l2) / sector(numbers)).max(1) as i64;
        let (slice, mut dram) = memory.line_service(sectors, may_miss);
        if kernel.lines_may_evict {
            dram += memory.evicted_line();
        }
        let mut beyond = numbers.milli(latency) + (parts - 1) * (slice + dram);
        if may_miss {
            beyond += numbers.milli(Parameter::DramBeyond);
        }
        Refill {
            beyond,
            service: (parts * slice, parts * dram),
        }
    }
}

impl<'a> Builder<'a> {
    fn new(
        kernel: &'a TimedKernel<'a>,
        numbers: &MachineNumbers,
        memory: &MemoryTimes,
    ) -> Builder<'a> {
        let milli = |parameter| numbers.milli(parameter);
        let refill =
            |line, latency, may_miss| Refill::new(kernel, numbers, memory, line, latency, may_miss);
        let line = numbers.slow(Parameter::InstructionLine).max(1);
        let (_, ahead) = numbers.range(Parameter::InstructionAhead);
        let of_code = refill(line, Parameter::InstructionL2Hit, kernel.lines_may_miss);
        let service = of_code.service;
        // A prefetched line is requested after those before it, and arrives after them.
        let bandwidth = numbers.slow(Parameter::InstructionAheadBandwidth);
        let each = transfer(line, bandwidth) + service.0 + service.1;
        let ranges = code_ranges(kernel, line, ahead);
        let latencies = LineLatencies {
            second: milli(Parameter::InstructionL15Hit),
            beyond: of_code.beyond,
            prefetched: ahead as i64 * each,
            after_others: ahead as i64 * transfer(line, bandwidth),
            service,
            reaches_dram: kernel.lines_may_miss,
            among_others: kernel.others != OtherWarps::Absent,
        };
        // What a launch loads may replace other lines.
        let loaded = numbers.range(Parameter::InstructionPreloaded);
        let mut of_second = ranges.clone();
        of_second.extend(loaded_code(kernel, line, loaded.1.div_ceil(line)));
        let code = LineCaches::new([&ranges, &of_second], numbers, CODE, latencies);
        let in_second = loaded_code(kernel, line, loaded.0 / line);
        let in_second = in_second
            .into_iter()
            .flat_map(|(from, to)| from / line..to / line);
        let in_second = in_second
            .filter(|&line| code.stays_in_second(line))
            .collect();
        let mut lines = ranges
            .iter()
            .flat_map(|(first, end)| first / line..end / line);
        let refetched = lines
            .any(|line| !code.stays_in_second(line))
            .then_some((ahead as i64 * service.0, ahead as i64 * service.1));
        let of_bank = numbers.slow(Parameter::ConstantL15Line).max(1);
        let of_bank = refill(
            of_bank,
            Parameter::ConstantL2Beyond,
            kernel.constants_may_miss,
        );
        let constants = constant_caches(kernel, numbers, &of_bank);
        let prefetches = Prefetches::new(kernel, numbers, line, ahead, each);
        Builder {
            kernel,
            code,
            constants,
            once: acyclic(kernel),
            code_counted: FirstMisses::default(),
            constants_counted: FirstMisses::default(),
            in_bank: of_bank.service,
            sector: sector(numbers),
            from_second: milli(Parameter::ConstantL15Beyond),
            refetched,
            in_second,
            covered: BTreeSet::new(),
            late: prefetches.late_lines(),
            late_lost: prefetches.late_lost_lines(),
            walk_at: [None; 2],
            walks_counted: Default::default(),
            translated: Default::default(),
            misses_counted: BTreeMap::new(),
            leads: match kernel.others {
                OtherWarps::Absent => None,
                _ => Some(Leads::of(kernel, numbers)),
            },
            lines_of_sm: kernel.others.have_lines(),
            pages_of_sm: kernel.others.have_translations(),
        }
    }

    /// Service of the lines that are prefetched: each occupies a slice and DRAM once. Lines that the second cache
    /// loses may be prefetched again; their requests are part of each wait.
    fn prefetches(&self, ahead: u64, memory: &MemoryTimes) -> Vec<(Vec<usize>, i64)> {
        if ahead == 0 {
            return Vec::new();
        }
        let line = self.code.line[0];
        let mut nodes: BTreeMap<u64, BTreeSet<usize>> = BTreeMap::new();
        for (number, range) in self.kernel.nodes.iter().enumerate() {
            if let Some((first, last)) = *range {
                let requested = self.address(first) / line..=self.lines(last)[1] + ahead;
                for own in requested.filter(|own| !self.in_second.contains(own)) {
                    nodes.entry(own).or_default().insert(number);
                }
            }
        }
        let sectors = (line / self.sector).max(1) as i64;
        let last = self.kernel.nodes.iter().flatten();
        let last = last.map(|&(_, last)| self.lines(last)[1]).max();
        let nodes = nodes.into_iter();
        nodes
            .map(|(own, nodes)| {
                // Bytes after the code may be in no cache, even if the code is in the L2 cache.
                let may_miss = self.kernel.lines_may_miss || last.is_none_or(|last| own > last);
                let service = memory.line_service(sectors, may_miss);
                let evicted = match self.kernel.lines_may_evict {
                    true => sectors * memory.evicted_line(),
                    false => 0,
                };
                (nodes.into_iter().collect(), service.0 + service.1 + evicted)
            })
            .collect()
    }

    /// Service of all lines of code and constants that an SM may request, each once.
    fn line_services(&self, ahead: u64, memory: &MemoryTimes) -> i64 {
        // `prefetches` returns nothing for 0 lines ahead, but the lines of the code are requested all the same.
        let code = self.prefetches(ahead.max(1), memory);
        let code: i64 = code.iter().map(|(_, service)| service).sum();
        let size = self.constants.line[1];
        let ranges = constant_ranges(self.kernel);
        let lines = ranges.iter().filter(|(first, end)| first < end);
        let lines = lines.flat_map(|(first, end)| first / size..=(end - 1) / size);
        let lines: BTreeSet<u64> = lines.collect();
        // A line that the second cache may lose is fetched again for each part of it that is new to the first cache.
        let parts = (size / self.constants.line[0]).max(1) as i64;
        let fetches = lines.iter().map(|&line| {
            let [_, is_loaded] = self.are_preloaded(line * size);
            match (self.constants.stays_in_second(line), is_loaded) {
                (true, true) => 0,
                (true, false) => 1,
                (false, _) => parts,
            }
        });
        code + fetches.sum::<i64>() * (self.in_bank.0 + self.in_bank.1)
    }

    /// Time by which first requests of other warps may delay a warp longer than its own requests would: once for each
    /// line and translation.
    fn in_flight(&self) -> i64 {
        let Some(leads) = self.leads else {
            return 0;
        };
        let mut time = 0;
        if !self.lines_of_sm {
            // Nothing waits for lines after the code, because they are only prefetched.
            let needed = code_ranges(self.kernel, self.code.line[0], 0);
            time += self.code.in_flight(leads.code, &needed, &self.covered);
            let mut needed = constant_ranges(self.kernel);
            // What the launch has loaded is never in flight.
            let is_in_first = |address| self.are_preloaded(address)[0];
            needed.retain(|&(first, end)| {
                !(is_in_first(first) && is_in_first(end.saturating_sub(1)))
            });
            let covered = BTreeSet::new();
            time += self.constants.in_flight(leads.constants, &needed, &covered);
        }
        if !self.pages_of_sm {
            let pages = self.kernel.translations.iter();
            let pages: u64 = pages.map(|pages| pages.walks + pages.first_level).sum();
            time += pages as i64 * leads.accesses;
        }
        time
    }

    /// Returns the waits of a node's instructions; `requested` has the lines requested on every path to it.
    fn node(&mut self, node: usize, mut requested: Requested) -> Vec<OpWaits> {
        let Some(Some((first, last))) = self.kernel.nodes.get(node).copied() else {
            return Vec::new();
        };
        let once = self.once.get(node).copied().unwrap_or(false);
        let loads = self.kernel.loaded_constants.values();
        let banks: BTreeSet<u64> = loads.map(|loaded| loaded.bank.into()).collect();
        let mut waits = Vec::new();
        for op in (first.0..=last.0).map(OpIndex) {
            let [line, last] = self.lines(op);
            let fetch = self.fetch(node, line, &requested, once);
            // The line of its first byte is requested with it, so this line may be the prefetched one.
            let fetch_last = match last == line {
                true => LineWait::default(),
                false => self.fetch(node, last, &requested, once),
            };
            let addresses: Vec<u64> = self.constant_addresses(op).collect();
            let constants = addresses.iter().map(|&address| {
                let lines = self.constants.line.map(|size| address / size);
                let known = [0, 1].map(|level| requested.constants[level].contains(&lines[level]));
                self.constant(node, address, known, once, false)
            });
            let constants = all(constants.collect::<Vec<_>>());
            let (loaded_constants, further_words) = self.loaded(node, op);
            let access = self.access(node, op, once, &mut requested.translated);
            let mut banks_read = addresses.iter().map(|address| address / BANK_STRIDE);
            let may_be_loaded = banks_read.any(|bank| banks.contains(&bank));
            waits.push(OpWaits {
                fetch,
                fetch_last,
                constants,
                may_be_loaded,
                from_second: self.from_second,
                loaded_constants,
                further_words,
                access,
            });
            requested.code.extend([line, last]);
            for address in addresses {
                for (level, known) in requested.constants.iter_mut().enumerate() {
                    known.insert(address / self.constants.line[level]);
                }
            }
        }
        waits
    }

    /// Wait for the line of a constant. `known` says for each cache whether every path to here has requested it,
    /// `once` whether the instruction is issued at most once. If each execution `pays_in_full`, no first miss is
    /// counted for it.
    fn constant(
        &mut self,
        node: usize,
        address: u64,
        known: [bool; 2],
        once: bool,
        pays_in_full: bool,
    ) -> LineWait {
        let stays = self
            .constants
            .stays_in_first(address / self.constants.line[0]);
        let [in_first, in_second] = self.are_preloaded(address);
        // What the launch has loaded is there, whichever warp reads it first.
        if in_first && stays {
            return LineWait::default();
        }
        let counted = &mut self.constants_counted;
        match self.leads.filter(|_| self.lines_of_sm || !stays) {
            Some(leads) => {
                let in_full = pays_in_full && !self.lines_of_sm;
                let lead = leads.constants;
                self.constants
                    .wait_among_others(address, in_second, lead, in_full, node, counted)
            }
            None => {
                let pays = once || pays_in_full;
                let late = Lateness::Of(0);
                self.constants
                    .wait(address, known, pays, late, node, counted)
            }
        }
    }

    /// Wait for a line of code.
    fn fetch(&mut self, node: usize, line: u64, requested: &Requested, once: bool) -> LineWait {
        if self.covered.contains(&line) {
            return LineWait::default();
        }
        let stays = self.code.stays_in_first(line);
        if let Some(leads) = self.leads.filter(|_| self.lines_of_sm || !stays) {
            let counted = &mut self.code_counted;
            let address = line * self.code.line[0];
            let loaded = self.in_second.contains(&line);
            let fetch = self
                .code
                .wait_among_others(address, loaded, leads.code, false, node, counted);
            return self.with_refetched(fetch);
        }
        let known = requested.code.contains(&line);
        let in_second = known || self.in_second.contains(&line);
        let late_of = |lines: &BTreeMap<u64, i64>| lines.get(&line).copied().unwrap_or(0);
        let lost = match stays {
            true => 0,
            false => late_of(&self.late_lost),
        };
        let late = match stays && !self.covered.is_empty() {
            // The wait is long enough for the lines that were prefetched last.
            true => Lateness::OfLast,
            false => Lateness::Of(late_of(&self.late).max(lost)),
        };
        let counted = &mut self.code_counted;
        let address = line * self.code.line[0];
        let fetch = self
            .code
            .wait(address, [known, in_second], once, late, node, counted);
        self.with_refetched(fetch)
    }

    /// Lines of the first and of the last byte of an instruction.
    fn lines(&self, op: OpIndex) -> [u64; 2] {
        let (first, last) = self.kernel.facts.bytes(op);
        [first, last].map(|byte| byte / self.code.line[0])
    }

    /// Adds the lines that a fetch may prefetch again to its wait.
    fn with_refetched(&self, fetch: LineWait) -> LineWait {
        let Some((slice, dram)) = self.refetched else {
            return fetch;
        };
        LineWait {
            waits: true,
            reaches_l2: true,
            reaches_dram: self.kernel.lines_may_miss,
            service: (fetch.service.0 + slice, fetch.service.1 + dram),
            each_service: (fetch.each_service.0 + slice, fetch.each_service.1 + dram),
            ..fetch
        }
    }

    /// Wait of a load from a constant bank, and its words after the first one.
    fn loaded(&mut self, node: usize, op: OpIndex) -> (LineWait, u32) {
        let Some(&loaded) = self.kernel.loaded_constants.get(&op) else {
            return (LineWait::default(), 0);
        };
        let first = u64::from(loaded.bank) * BANK_STRIDE + loaded.offset;
        let [line, _] = self.constants.line;
        let last = first + loaded.bytes.max(1) - 1;
        let lines = first / line..=last / line;
        let further = loaded.words.saturating_sub(1);
        // Each address may be in any line of the bank, so the longest wait of all lines counts.
        let pays_in_full = last / line - first / line >= MOST_COUNTED;
        let each = lines.map(|number| {
            let address = number * line;
            let known = self.are_preloaded(address);
            self.constant(node, address, known, false, pays_in_full)
        });
        let longest = each.reduce(LineWait::or).unwrap_or_default();
        (longest.repeated(1 + i64::from(further)), further)
    }

    /// Whether the launch certainly loads the line of an address into the first, and into the second cache.
    fn are_preloaded(&self, address: u64) -> [bool; 2] {
        [0, 1].map(|level| {
            // A line whose first word is loaded is there as a whole.
            let line = self.constants.line[level];
            let [certain, _] = preloaded_constants(self.kernel, level);
            certain.is_some_and(|(begin, end)| (begin..end).contains(&(address / line * line)))
        })
    }

    fn address(&self, op: OpIndex) -> u64 {
        self.kernel.facts.bytes(op).0
    }

    /// Addresses of the constant operands of an instruction.
    fn constant_addresses(&self, op: OpIndex) -> impl Iterator<Item = u64> + use<'a> {
        let constants = self.kernel.facts.constants(op);
        constants
            .iter()
            .map(|&(bank, offset)| u64::from(bank) * BANK_STRIDE + u64::from(offset))
    }
}

/// Caches of constants, whose lines come from the L2 cache with `of_bank`.
fn constant_caches(
    kernel: &TimedKernel<'_>,
    numbers: &MachineNumbers,
    of_bank: &Refill,
) -> LineCaches {
    let latencies = LineLatencies {
        second: numbers.milli(Parameter::ConstantL15Beyond),
        beyond: of_bank.beyond,
        prefetched: 0,
        after_others: 0,
        service: of_bank.service,
        reaches_dram: kernel.constants_may_miss,
        among_others: kernel.others != OtherWarps::Absent,
    };
    let [of_first, of_second] = [0, 1].map(|level| {
        let mut ranges = constant_ranges(kernel);
        // What a launch loads may replace other lines.
        let [_, loaded] = preloaded_constants(kernel, level);
        ranges.extend(loaded);
        ranges
    });
    LineCaches::new([&of_first, &of_second], numbers, CONSTANTS, latencies)
}

/// Bytes of a sector of the L2 cache.
fn sector(numbers: &MachineNumbers) -> u64 {
    numbers.slow(Parameter::L2Sector).max(1)
}

/// Whole cycles of a time.
fn cycles(milli: i64) -> u64 {
    (milli.max(0) + MILLI - 1).div_euclid(MILLI) as u64
}

/// Returns the costs of first misses, one for all that the same nodes may pay.
fn once_costs(misses: Vec<(Vec<usize>, i64)>, term: Term) -> Vec<OnceCost> {
    let mut by_nodes: BTreeMap<Vec<usize>, i64> = BTreeMap::new();
    for (nodes, milli) in misses {
        // A delay of whole cycles delays what follows by as many (SOUNDNESS 11.1).
        *by_nodes.entry(nodes).or_default() += cycles(milli) as i64 * MILLI;
    }
    let each = by_nodes.into_iter().map(|(nodes, milli)| OnceCost {
        cycles: cycles(milli),
        most: 1,
        nodes: nodes.into_iter().map(|node| (node, 1)).collect(),
        term,
    });
    each.collect()
}
