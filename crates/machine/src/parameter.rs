//! Parameters of the timing model of Maxwell and Pascal GPUs: one row each.

use warpbound_base::Diagnostic;

/// Unit of a parameter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    /// Cycles of the SM clock.
    Cycles,
    /// Bytes.
    Bytes,
    /// Bytes per 1000 cycles.
    BytesPerKilocycle,
    /// Kilohertz.
    Kilohertz,
    /// Thousandths of a whole.
    PerMille,
    /// A count, or a flag (0 or 1).
    Count,
}

/// Valid values of a parameter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Domain {
    /// Any.
    Any,
    /// At least 1.
    Positive,
    /// At least 1. Some values within the range of a machine file may not describe a machine, such as a cache size that
    /// the number of ways does not divide.
    Size,
    /// A size that is a power of two.
    PowerOfTwo,
    /// 0 or 1.
    Switch,
}

/// End of a parameter's range at which a warp that runs alone is never faster, whatever the other parameters are.
///
/// With several warps no parameter has such an end, as any of them may change which warp issues next (timing anomalies:
/// R. L. Graham, "Bounds on multiprocessing timing anomalies", 1969). A lone warp is later if any of its waits ends
/// later, with two exceptions: code fetches and data accesses that share an L2 slice may be served in either order, and
/// an instruction for either arithmetic pipe may find the other pipe free if it issues a cycle later.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SlowEnd {
    /// The greatest value: latencies, occupancies.
    High,
    /// The least value: bandwidths, queue entries.
    Low,
    /// Either end or a value between them, depending on the kernel. Both ends have to be tried.
    Either,
    /// None: for some kernels more is slower, for others faster, as of sizes. Each value that describes a machine has
    /// to be tried.
    Each,
}

macro_rules! parameters {
    (
        $($(#[doc = $doc:literal])+ $id:ident = $name:literal, $unit:ident, $slow:ident $(, $domain:ident)?;)+
    ) => {
        /// Parameter of a machine; see the rows of this file.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[repr(u8)]
        pub enum Parameter {
            $($(#[doc = $doc])+ $id,)+
        }

        impl Parameter {
            /// All parameters, in the order of the rows.
            pub const ALL: &[Parameter] = &[$(Parameter::$id),+];

            /// Section and key in machine files, `section.key`.
            pub fn name(self) -> &'static str {
                match self { $(Parameter::$id => $name,)+ }
            }

            /// Returns the parameter of a name.
            ///
            /// # Errors
            ///
            /// If there is none; the hint has similar names.
            pub fn named(name: &str) -> Result<Parameter, Diagnostic> {
                let known = Parameter::ALL.iter().find(|parameter| parameter.name() == name);
                known.copied().ok_or_else(|| unknown_name(name))
            }

            /// Unit of its values.
            pub fn unit(self) -> Unit {
                match self { $(Parameter::$id => Unit::$unit,)+ }
            }

            /// Valid values.
            pub fn domain(self) -> Domain {
                match self { $(Parameter::$id => parameters!(@domain $($domain)?),)+ }
            }

            /// End of its range at which a lone warp is slowest.
            pub fn slow_end(self) -> SlowEnd {
                match self { $(Parameter::$id => parameters!(@slow $slow),)+ }
            }

            /// Description.
            pub fn meaning(self) -> &'static str {
                match self { $(Parameter::$id => concat!($($doc),+).trim_ascii(),)+ }
            }
        }
    };
    (@slow high) => { SlowEnd::High };
    (@slow low) => { SlowEnd::Low };
    (@slow either) => { SlowEnd::Either };
    (@slow each) => { SlowEnd::Each };
    (@domain) => { Domain::Any };
    (@domain $domain:ident) => { Domain::$domain };
}

/// Returns the error for an unknown name; the hint has the names of the same section, or else those of the same key.
fn unknown_name(name: &str) -> Diagnostic {
    let (section, key) = name.split_once('.').unwrap_or((name, name));
    let parts = |parameter: &Parameter| parameter.name().split_once('.').unwrap_or_default();
    let names = |is_similar: &dyn Fn(&Parameter) -> bool| -> Vec<&str> {
        let similar = Parameter::ALL
            .iter()
            .filter(|parameter| is_similar(parameter));
        similar.map(|parameter| parameter.name()).collect()
    };
    let mut similar = names(&|parameter| parts(parameter).0 == section);
    if similar.is_empty() {
        similar = names(&|parameter| parts(parameter).1 == key);
    }
    let error = Diagnostic::new(format!("no number of a machine is called {name:?}"));
    if !similar.is_empty() {
        return error.hint(format!("there are {}", similar.join(", ")));
    }
    let mut sections: Vec<&str> = Parameter::ALL.iter().map(|p| parts(p).0).collect();
    sections.dedup();
    error.hint(format!(
        "SECTION.KEY, of the sections {}",
        sections.join(", ")
    ))
}

impl Parameter {
    /// Parameters that were added after the first release of machine files, in the order in which they were added.
    const ADDED: &[Parameter] = &[
        Parameter::OccupancyShuffle,
        Parameter::SharedBanks,
        Parameter::SharedPoolThreads,
        Parameter::ConstantReplay,
        Parameter::InstructionAheadBandwidth,
        Parameter::TlbPageTables,
    ];

    /// Number of the parameter for random selections: independent of rows added later, so that a seed selects the same
    /// values of the others in all versions. New rows go to the end of [`Parameter::ADDED`].
    pub(crate) fn draw_number(self) -> u64 {
        let first = Parameter::ALL.len() - Parameter::ADDED.len();
        let added = Parameter::ADDED.iter().position(|added| *added == self);
        let before = Parameter::ADDED.iter().filter(|added| **added < self);
        let number = match added {
            Some(position) => first + position,
            None => self as usize - before.count(),
        };
        number as u64
    }
}

// A row: description, name in machine files, unit, slow end, and valid values unless all are.
parameters! {
    /// Streaming multiprocessors (SMs) of the GPU.
    SmCount = "sm.count", Count, each, Size;
    /// Warp schedulers of an SM, one per sub-partition.
    SmSchedulers = "sm.schedulers", Count, each, Size;
    /// Resident warps per SM.
    SmWarps = "sm.warps", Count, each, Size;
    /// Resident blocks per SM.
    SmBlocks = "sm.blocks", Count, each, Size;
    /// Resident threads per SM.
    SmThreads = "sm.threads", Count, each, Size;
    /// 32-bit registers per SM.
    SmRegisters = "sm.registers", Count, each, Size;
    /// Shared memory per SM.
    SmShared = "sm.shared", Bytes, each, Size;
    /// Limit of the threads of a block.
    BlockThreads = "block.threads", Count, each, Size;
    /// Limit of the registers of a block.
    BlockRegisters = "block.registers", Count, each, Size;
    /// Limit of the shared memory of a block.
    BlockShared = "block.shared", Bytes, each, Size;
    /// Allocation granularity of the registers of a warp.
    RegisterStep = "block.register_step", Count, each, Size;
    /// Allocation granularity of warps: sub-partitions that share the registers of an SM evenly. `block.registers` is
    /// the limit for the warps of a block rounded up to a multiple of it.
    WarpStep = "block.warp_step", Count, each, Size;
    /// Allocation granularity of shared memory.
    SharedStep = "block.shared_step", Bytes, each, Size;
    /// Clock frequency of the SMs.
    /// Either: it matters only to code that reads the global timer, in nanoseconds.
    Clock = "clock.frequency", Kilohertz, either, Positive;

    /// From the launch of a kernel to the start of its first block, with the first instructions in the instruction
    /// cache.
    LaunchKernel = "launch.kernel", Cycles, high;
    /// Between the starts of two blocks on one SM.
    LaunchBlock = "launch.block", Cycles, high;
    /// From the end of the last warp to the end of the kernel.
    LaunchEnd = "launch.end", Cycles, high;
    /// 1: a kernel ends when the L2 cache has accepted all its stores, too. 0: when its last warp has exited.
    LaunchStores = "launch.stores", Count, high, Switch;

    /// 1: dual issue: an instruction with control code 16 issues in the same cycle as the next one. 0: one cycle before
    /// it.
    /// Low: without dual issue, the second of a pair issues a cycle later.
    IssueDual = "issue.dual", Count, low, Switch;
    /// From the issue of an instruction with control code 29 (YIELD6) to the next issue of its warp.
    IssueYield6 = "issue.yield6", Cycles, high;
    /// From the issue of an instruction with control code 30 (YIELD8) to the next issue of its warp.
    IssueYield8 = "issue.yield8", Cycles, high;
    /// From the issue of an instruction with control code 31 (OFF_DECK) to the next issue of its warp.
    IssueOffDeck = "issue.off_deck", Cycles, high;
    /// Additional cycles after an instruction with control code 0 (DRAIN), once all scoreboards of its warp are
    /// released.
    IssueDrain = "issue.drain", Cycles, high;
    /// Additional cycles after a taken branch, to redirect the fetch.
    IssueJump = "issue.jump", Cycles, high;
    /// From the release of a scoreboard to the first possible issue of a warp that waits for it.
    IssueWake = "issue.wake", Cycles, high;
    /// Additional cycles per register bank conflict: each further operand from one bank that is not in the reuse cache.
    IssueBankConflict = "issue.bank_conflict", Cycles, high;
    /// Register banks per sub-partition.
    IssueBanks = "issue.banks", Count, each, Size;

    /// Fixed latency of results in registers.
    LatencyAlu = "latency.alu", Cycles, high;
    /// Fixed latency of results in predicates.
    LatencyPredicate = "latency.predicate", Cycles, high;
    /// Fixed latency of results in the condition code.
    LatencyCarry = "latency.carry", Cycles, high;
    /// Latency of special functions, population count, leading zeros.
    LatencyXu = "latency.xu", Cycles, high;
    /// Latency of conversions of at most 32 bits.
    LatencyConversion = "latency.conversion", Cycles, high;
    /// Latency of double precision, and of conversions of 64 bits.
    LatencyFp64 = "latency.fp64", Cycles, high;
    /// Latency of half precision.
    LatencyFp16 = "latency.fp16", Cycles, high;
    /// Latency of IMAD and IMUL (compilers use XMAD, which has the fixed latency).
    LatencyImad = "latency.imad", Cycles, high;
    /// Latency of reads of special registers (S2R).
    LatencySpecialRegister = "latency.special_register", Cycles, high;
    /// Latency of shuffles.
    LatencyShuffle = "latency.shuffle", Cycles, high;
    /// Latency of other instructions on the memory path (B2R, AL2P).
    LatencyOther = "latency.other", Cycles, high;

    /// Cycles for which a warp instruction occupies the pipe of comparisons, shifts and moves.
    /// Either: instructions for either pipe take the free one, which depends on the instructions before them.
    OccupancyFxu = "occupancy.fxu", Cycles, either;
    /// Cycles for which a warp instruction occupies the pipe of multiplications and additions.
    /// Either, as `occupancy.fxu`.
    OccupancyFmai = "occupancy.fmai", Cycles, either;
    /// Cycles for which a warp instruction occupies the unit of special functions and conversions.
    OccupancyXu = "occupancy.xu", Cycles, high;
    /// Cycles for which a warp instruction occupies the double precision lanes of its sub-partition.
    OccupancyFp64 = "occupancy.fp64", Cycles, high;
    /// Cycles for which a warp instruction occupies the half precision lanes of its sub-partition.
    OccupancyFp16 = "occupancy.fp16", Cycles, high;
    /// Cycles for which a warp instruction occupies the load/store lanes of its sub-partition.
    OccupancyLsu = "occupancy.lsu", Cycles, high;
    /// Cycles for which a shuffle occupies the exchange network of shared memory, which the SM has once.
    OccupancyShuffle = "occupancy.shuffle", Cycles, high;
    /// Entries of the instruction queue of a unit of a sub-partition.
    /// Low: a warp waits if the queue is full; the unit serves instructions in order in any case.
    OccupancyQueue = "occupancy.queue", Count, low, Positive;

    /// Latency of a shared memory access without the parts for its width and its conflicts (22 of "22 + base + 2
    /// conflicts").
    SharedLatency = "shared.latency", Cycles, high;
    /// Base of an access of at most 32 bits.
    SharedBase32 = "shared.base_32", Cycles, high;
    /// Base of an access of 64 bits.
    SharedBase64 = "shared.base_64", Cycles, high;
    /// Base of an access of 128 bits.
    SharedBase128 = "shared.base_128", Cycles, high;
    /// Additional cycles per bank conflict.
    SharedConflict = "shared.conflict", Cycles, high;
    /// Cycles for which a transaction without conflict occupies the shared memory of the SM.
    SharedTransaction = "shared.transaction", Cycles, high;
    /// From the issue of an access until its source registers have been read, without conflicts.
    SharedSources = "shared.sources", Cycles, high;
    /// Additional latency of an atomic operation over a load.
    SharedAtomic = "shared.atomic", Cycles, high;
    /// Additional cycles of an atomic operation per thread at the same address.
    SharedAtomicThread = "shared.atomic_thread", Cycles, high;
    /// Banks of shared memory, each of 32 bits.
    SharedBanks = "shared.banks", Count, each, PowerOfTwo;
    /// Threads of a pool, whose bank conflicts are resolved together, for accesses of at most 32 bits; half as many for
    /// 64 bits, a quarter for 128.
    SharedPoolThreads = "shared.pool_threads", Count, each, PowerOfTwo;

    /// From the last arrival at a barrier to the first possible issue of the waiting warps.
    BarrierLatency = "barrier.latency", Cycles, high;
    /// Threads per cycle that the barriers of an SM count.
    BarrierThreads = "barrier.threads", Count, low, Positive;
    /// Latency of MEMBAR.CTA, after the completion of the warp's outstanding accesses.
    FenceBlock = "fence.block", Cycles, high;
    /// Latency of MEMBAR.GL and .SYS, after the completion of the warp's outstanding accesses.
    FenceDevice = "fence.device", Cycles, high;

    /// Size of the first constant cache of an SM.
    ConstantL1Bytes = "constant.l1_bytes", Bytes, each, Size;
    /// Line of the first constant cache.
    ConstantL1Line = "constant.l1_line", Bytes, each, PowerOfTwo;
    /// Ways of the first constant cache.
    ConstantL1Ways = "constant.l1_ways", Count, each, Size;
    /// Latency of LDC that hits in the first constant cache.
    ConstantL1Hit = "constant.l1_hit", Cycles, high;
    /// Additional cycles of LDC for each further address: the cache serves one address at a time.
    ConstantReplay = "constant.l1_replay", Cycles, high;
    /// Additional cycles of an instruction with a constant operand that hits.
    ConstantOperand = "constant.operand", Cycles, high;
    /// Size of the second constant cache of an SM.
    ConstantL15Bytes = "constant.l15_bytes", Bytes, each, Size;
    /// Line of the second constant cache.
    ConstantL15Line = "constant.l15_line", Bytes, each, PowerOfTwo;
    /// Ways of the second constant cache.
    ConstantL15Ways = "constant.l15_ways", Count, each, Size;
    /// Additional latency of a hit in the second constant cache over one in the first.
    ConstantL15Beyond = "constant.l15_beyond_l1", Cycles, high;
    /// Additional latency of a hit in the L2 cache over one in the first constant cache.
    ConstantL2Beyond = "constant.l2_beyond_l1", Cycles, high;

    /// Size of the first instruction cache of an SM.
    InstructionL1Bytes = "instruction.l1_bytes", Bytes, each, Size;
    /// Line of both instruction caches.
    InstructionLine = "instruction.line", Bytes, each, PowerOfTwo;
    /// Ways of the first instruction cache.
    InstructionL1Ways = "instruction.l1_ways", Count, each, Size;
    /// Size of the second instruction cache of an SM.
    InstructionL15Bytes = "instruction.l15_bytes", Bytes, each, Size;
    /// Ways of the second instruction cache.
    InstructionL15Ways = "instruction.l15_ways", Count, each, Size;
    /// Lines prefetched after the one in use.
    /// Each: a prefetched line saves a miss, but occupies the L2 cache and replaces another line.
    InstructionAhead = "instruction.ahead", Count, each;
    /// Rate at which prefetched lines arrive after the line in use.
    InstructionAheadBandwidth = "instruction.ahead_bandwidth", BytesPerKilocycle, low, Positive;
    /// Latency of an instruction fetch that hits in the second instruction cache.
    InstructionL15Hit = "instruction.l15_hit", Cycles, high;
    /// Latency of an instruction fetch that hits in the L2 cache.
    InstructionL2Hit = "instruction.l2_hit", Cycles, high;

    /// L1 data caches of an SM.
    L1Units = "l1.units", Count, each, Size;
    /// Size of each L1 cache.
    L1Bytes = "l1.bytes", Bytes, each, Size;
    /// Line of the L1 caches; its sectors are fetched one by one.
    L1Line = "l1.line", Bytes, each, PowerOfTwo;
    /// Sets of each L1 cache.
    L1Sets = "l1.sets", Count, each, Size;
    /// Latency of a load of one thread that hits in the L1 cache.
    L1Hit = "l1.hit", Cycles, high;
    /// 1: all loads from global memory look up the L1 cache, 0: only those that allow it (LDG.CI).
    /// Either: a hit is faster, but a load that hits a line in flight waits for the whole line.
    L1AllLoads = "l1.all_loads", Count, either, Switch;
    /// Threads of a request for accesses of at most 32 bits; half as many for 64 bits, a quarter for 128.
    L1RequestThreads = "l1.request_threads", Count, each, PowerOfTwo;
    /// Tags looked up per cycle.
    L1Tags = "l1.tags", Count, low, Positive;
    /// Miss-status holding registers (MSHRs) of an SM, one per sector in flight from the L2 cache.
    /// Low: a load that misses waits for a free register.
    L1Misses = "l1.misses", Count, low, Positive;
    /// Entries of the store buffer of an SM, one per sector in flight to the L2 cache.
    /// Low: a store waits for a free entry.
    L1Stores = "l1.stores", Count, low, Positive;
    /// 1: the requests of an instruction share the sectors that they request from the L2 cache. 0: each requests its
    /// own.
    /// Low: a sector requested twice takes time twice.
    L1Merge = "l1.merge", Count, low, Switch;
    /// From the acceptance of a load or store by the L1 cache until its source registers have been read.
    L1Sources = "l1.sources", Cycles, high;

    /// Size of the L2 cache.
    L2Bytes = "l2.bytes", Bytes, each, Size;
    /// Line of the L2 cache.
    L2Line = "l2.line", Bytes, each, PowerOfTwo;
    /// Sector of the L1 and L2 caches.
    L2Sector = "l2.sector", Bytes, each, PowerOfTwo;
    /// Ways of the L2 cache.
    L2Ways = "l2.ways", Count, each, Size;
    /// Slices of the L2 cache, each with its own port.
    L2Slices = "l2.slices", Count, each, Size;
    /// 1: the slice of a line is a hash of its address. 0: the remainder of its line number.
    /// Either: the lines that share a slice differ.
    L2Hash = "l2.hash", Count, either, Switch;
    /// Latency of a load of one thread that hits in the L2 cache.
    L2Hit = "l2.hit", Cycles, high;
    /// Bandwidth of an L2 slice.
    L2Bandwidth = "l2.slice_bandwidth", BytesPerKilocycle, low, Positive;
    /// Bandwidth between an SM and the L2 cache.
    SmBandwidth = "l2.sm_bandwidth", BytesPerKilocycle, low, Positive;

    /// Additional latency of a load from DRAM over one that hits in the L2 cache, without address translation.
    DramBeyond = "dram.beyond_l2", Cycles, high;
    /// Peak bandwidth of DRAM.
    DramBandwidth = "dram.bandwidth", BytesPerKilocycle, low, Positive;
    /// Part of the peak bandwidth that reads reach; the rest is lost to row activations and other overhead of DRAM.
    DramReads = "dram.read_efficiency", PerMille, low, Positive;
    /// Part of the peak bandwidth that writes reach.
    DramWrites = "dram.write_efficiency", PerMille, low, Positive;
    /// Bus turnaround: part of a sector's bus time that is lost for each sector written among reads, of at most as many
    /// as are read.
    DramTurnaround = "dram.turnaround", PerMille, high;
    /// Cycles of a refresh, in which DRAM serves no requests.
    DramRefresh = "dram.refresh", Cycles, high;
    /// Cycles between the starts of two refreshes.
    /// Either: with another interval, refreshes delay other requests.
    DramRefreshInterval = "dram.refresh_interval", Cycles, either, Positive;

    /// Entries of the L1 TLB of an SM.
    TlbL1Entries = "tlb.l1_entries", Count, each, Size;
    /// Page translated by an entry of the L1 TLB.
    TlbL1Page = "tlb.l1_page", Bytes, each, PowerOfTwo;
    /// Additional latency of a translation that hits in the L2 TLB.
    TlbL1Miss = "tlb.l1_miss", Cycles, high;
    /// Entries of the L2 TLB.
    TlbL2Entries = "tlb.l2_entries", Count, each, Size;
    /// Page translated by an entry of the L2 TLB.
    TlbL2Page = "tlb.l2_page", Bytes, each, PowerOfTwo;
    /// Additional latency of a translation from a page table that is cached.
    TlbL2Miss = "tlb.l2_miss", Cycles, high;
    /// Additional latency of a translation from a page table that is not cached.
    TlbWalk = "tlb.walk", Cycles, high;
    /// Page tables that caches hold, each for one page of the L2 TLB.
    TlbPageTables = "tlb.page_tables", Count, each, Size;

    /// Additional latency of an atomic operation on global memory over a load.
    AtomicLatency = "atomic.latency", Cycles, high;
    /// Additional latency if several threads of a warp access the same address.
    AtomicShared = "atomic.contended", Cycles, high;
    /// Cycles for which the atomic operations on a sector occupy their L2 slice.
    AtomicOccupancy = "atomic.occupancy", Cycles, high;

    /// Latency of a texture read that hits.
    TextureHit = "texture.hit", Cycles, high;
    /// Cycles for which a texture read occupies its unit.
    TextureOccupancy = "texture.occupancy", Cycles, high;
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Draw numbers are those of the first release for its parameters, and follow them for parameters added later.
    #[test]
    fn draw_numbers_are_stable() {
        let numbers: BTreeSet<u64> = Parameter::ALL.iter().map(|p| p.draw_number()).collect();
        assert!(numbers.into_iter().eq(0..Parameter::ALL.len() as u64));
        for (parameter, number) in [
            (Parameter::SmCount, 0),
            (Parameter::OccupancyLsu, 43),
            (Parameter::OccupancyQueue, 44),
            (Parameter::SharedAtomicThread, 53),
            (Parameter::BarrierLatency, 54),
            (Parameter::TlbWalk, 110),
            (Parameter::TextureOccupancy, 115),
            (Parameter::OccupancyShuffle, 116),
            (Parameter::TlbPageTables, 121),
        ] {
            assert_eq!(parameter.draw_number(), number, "{}", parameter.name());
        }
    }
}
