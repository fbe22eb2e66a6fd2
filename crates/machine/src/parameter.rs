//! Parameters of the timing models, one row each. A parameter belongs to the machines of one family or of
//! several.

use warpbound_base::{Diagnostic, Family};

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
    /// Any value.
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
    /// 0 or 2: banks of bytes or of words.
    BankShift,
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
    /// None: a larger value makes some kernels slower and others faster, as the sizes of caches do. Each value that
    /// describes a machine has to be tried.
    Each,
}

macro_rules! parameters {
    (
        $($(#[doc = $doc:literal])+ $id:ident = $families:ident $name:literal, $unit:ident, $slow:ident
            $(, $domain:ident)?;)+
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

            /// Parameters of the machines of a family, in the order of [`Parameter::ALL`].
            pub fn of_family(family: Family) -> impl Iterator<Item = Parameter> {
                let all = Parameter::ALL.iter().copied();
                all.filter(move |parameter| parameter.is_of(family))
            }

            /// Section and key in machine files, `section.key`.
            pub fn name(self) -> &'static str {
                match self { $(Parameter::$id => $name,)+ }
            }

            /// Returns the parameter with a name.
            ///
            /// # Errors
            ///
            /// No parameter has this name; the hint lists similar names.
            pub fn named(name: &str) -> Result<Parameter, Diagnostic> {
                let known = Parameter::ALL.iter().find(|parameter| parameter.name() == name);
                known.copied().ok_or_else(|| unknown_name(name))
            }

            /// Whether machines of a family have the parameter.
            pub fn is_of(self, family: Family) -> bool {
                self.families().contains(&family)
            }

            /// Families whose machines have it.
            pub(crate) fn families(self) -> &'static [Family] {
                match self { $(Parameter::$id => parameters!(@families $families),)+ }
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

            /// Description, from the comment of the row.
            pub fn meaning(self) -> &'static str {
                match self { $(Parameter::$id => concat!($($doc),+).trim_ascii(),)+ }
            }
        }
    };
    (@families all) => { &[Family::Maxwell, Family::Volta, Family::Gcn3] };
    (@families nvidia) => { &[Family::Maxwell, Family::Volta] };
    (@families maxwell) => { &[Family::Maxwell] };
    (@families volta) => { &[Family::Volta] };
    (@families gcn3) => { &[Family::Gcn3] };
    (@slow high) => { SlowEnd::High };
    (@slow low) => { SlowEnd::Low };
    (@slow either) => { SlowEnd::Either };
    (@slow each) => { SlowEnd::Each };
    (@domain) => { Domain::Any };
    (@domain $domain:ident) => { Domain::$domain };
}

/// Returns the error for an unknown name. The hint lists the names in the same section, or else the names with the
/// same key.
fn unknown_name(name: &str) -> Diagnostic {
    // A name without a dot may be meant as a section or as a key.
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
    let mut sections: Vec<&str> = Vec::new();
    for section in Parameter::ALL.iter().map(|parameter| parts(parameter).0) {
        if !sections.contains(&section) {
            sections.push(section);
        }
    }
    error.hint(format!(
        "SECTION.KEY, of the sections {}",
        sections.join(", ")
    ))
}

impl Parameter {
    /// Parameters that were added after the first release of machine files, in the order of their addition.
    const ADDED: &[Parameter] = &[
        Parameter::OccupancyShuffle,
        Parameter::SharedBanks,
        Parameter::SharedPoolThreads,
        Parameter::ConstantReplay,
        Parameter::InstructionAheadBandwidth,
        Parameter::TlbPageTables,
        Parameter::CuCount,
        Parameter::CuSimds,
        Parameter::CuLds,
        Parameter::CuGroups,
        Parameter::CuBarriers,
        Parameter::GroupThreads,
        Parameter::GroupLds,
        Parameter::GroupLdsStep,
        Parameter::SimdWaves,
        Parameter::SimdVgprs,
        Parameter::SimdSgprs,
        Parameter::SimdVgprStep,
        Parameter::SimdSgprStep,
        Parameter::IssueKinds,
        Parameter::ValuCycles,
        Parameter::ValuQuarter,
        Parameter::ValuF64Add,
        Parameter::ValuF64Mul,
        Parameter::ValuLatency,
        Parameter::ValuToScalar,
        Parameter::SaluCycles,
        Parameter::SaluLatency,
        Parameter::SaluSlow,
        Parameter::BranchCycles,
        Parameter::BranchNotTaken,
        Parameter::BranchTaken,
        Parameter::MessageLatency,
        Parameter::NopState,
        Parameter::SleepUnit,
        Parameter::SmemCycles,
        Parameter::SmemCycles8,
        Parameter::SmemCycles16,
        Parameter::ScalarBytes,
        Parameter::ScalarLine,
        Parameter::ScalarWays,
        Parameter::ScalarHit,
        Parameter::ScalarBeyond,
        Parameter::VmemCycles,
        Parameter::LdsCycles,
        Parameter::LdsLatency,
        Parameter::LdsConflict,
        Parameter::LdsAtomic,
        Parameter::LdsBanks,
        Parameter::LdsBankShift,
        Parameter::LdsGroup,
        Parameter::SplitLatency,
        Parameter::SplitMerge,
        Parameter::SplitRegisters,
        Parameter::SharedReserved,
        Parameter::IssueGroupSwitch,
        Parameter::ConstantPreloaded,
        Parameter::InstructionPreloaded,
    ];

    /// Number of the parameter in random selections. Rows that are added later do not change it, so that a seed
    /// selects the same values of the other parameters in all versions. New rows go to the end of
    /// [`Parameter::ADDED`].
    pub(crate) fn draw_number(self) -> u64 {
        // Parameters of the first release have the numbers below `first`.
        let first = Parameter::ALL.len() - Parameter::ADDED.len();
        let added = Parameter::ADDED.iter().position(|added| *added == self);
        let before = Parameter::ADDED.iter().filter(|added| **added < self);
        let number = match added {
            Some(position) => first + position,
            // Rows added later may stand anywhere in the table; older rows keep the numbers that they had without
            // them.
            None => self as usize - before.count(),
        };
        number as u64
    }
}

// A row: description (printed in reports), families whose machines have the parameter, name in machine files, unit,
// slow end, and valid values unless every value is valid.
parameters! {
    /// Streaming multiprocessors (SMs) of the GPU.
    SmCount = nvidia "sm.count", Count, each, Size;
    /// Warp schedulers of an SM, one per sub-partition.
    SmSchedulers = nvidia "sm.schedulers", Count, each, Size;
    /// Resident warps per SM.
    SmWarps = nvidia "sm.warps", Count, each, Size;
    /// Resident blocks per SM.
    SmBlocks = nvidia "sm.blocks", Count, each, Size;
    /// Resident threads per SM.
    SmThreads = nvidia "sm.threads", Count, each, Size;
    /// 32-bit registers per SM.
    SmRegisters = nvidia "sm.registers", Count, each, Size;
    /// Shared memory per SM.
    SmShared = nvidia "sm.shared", Bytes, each, Size;
    /// Limit of the threads of a block.
    BlockThreads = nvidia "block.threads", Count, each, Size;
    /// Limit of the registers of a block.
    BlockRegisters = nvidia "block.registers", Count, each, Size;
    /// Limit of the shared memory of a block.
    BlockShared = nvidia "block.shared", Bytes, each, Size;
    /// Allocation granularity of the registers of a warp.
    RegisterStep = nvidia "block.register_step", Count, each, Size;
    /// Allocation granularity of warps: sub-partitions that share the registers of an SM evenly. `block.registers` is
    /// the limit for the warps of a block rounded up to a multiple of it.
    WarpStep = nvidia "block.warp_step", Count, each, Size;
    /// Allocation granularity of shared memory.
    SharedStep = nvidia "block.shared_step", Bytes, each, Size;
    /// Shared memory of each block that belongs to the system, beside the block's own.
    SharedReserved = volta "block.shared_reserved", Bytes, each;
    /// Clock frequency of the SMs.
    /// Either: it matters only to code that reads the global timer, in nanoseconds.
    Clock = all "clock.frequency", Kilohertz, either, Positive;

    /// From the launch of a kernel to the start of its first block, with the first instructions in the instruction
    /// cache.
    LaunchKernel = all "launch.kernel", Cycles, high;
    /// Between the starts of two blocks on one SM.
    LaunchBlock = all "launch.block", Cycles, high;
    /// From the end of the last warp to the end of the kernel.
    LaunchEnd = all "launch.end", Cycles, high;
    /// 1: a kernel ends when the L2 cache has accepted all its stores, too. 0: when its last warp has exited.
    LaunchStores = all "launch.stores", Count, high, Switch;

    /// 1: dual issue: an instruction with control code 16 issues in the same cycle as the next one. 0: one cycle before
    /// it.
    /// Low: without dual issue, the second of a pair issues a cycle later.
    IssueDual = maxwell "issue.dual", Count, low, Switch;
    /// From the issue of an instruction with control code 29 (YIELD6) to the next issue of its warp.
    IssueYield6 = maxwell "issue.yield6", Cycles, high;
    /// From the issue of an instruction with control code 30 (YIELD8) to the next issue of its warp.
    IssueYield8 = maxwell "issue.yield8", Cycles, high;
    /// From the issue of an instruction with control code 31 (OFF_DECK) to the next issue of its warp.
    IssueOffDeck = maxwell "issue.off_deck", Cycles, high;
    /// Additional cycles after an instruction with control code 0 (DRAIN), once all scoreboards of its warp are
    /// released.
    IssueDrain = nvidia "issue.drain", Cycles, high;
    /// Additional cycles after a taken branch, to redirect the fetch.
    IssueJump = nvidia "issue.jump", Cycles, high;
    /// Additional cycles before another group of a diverged warp issues, because the group before it ended, waits at a
    /// convergence barrier or gave way.
    IssueGroupSwitch = volta "issue.group_switch", Cycles, high;
    /// From the release of a scoreboard to the first possible issue of a warp that waits for it.
    IssueWake = nvidia "issue.wake", Cycles, high;
    /// Additional cycles per register bank conflict: each further operand from one bank that is not in the reuse cache.
    IssueBankConflict = nvidia "issue.bank_conflict", Cycles, high;
    /// Register banks per sub-partition.
    IssueBanks = nvidia "issue.banks", Count, each, Size;

    /// Fixed latency of results in registers.
    LatencyAlu = nvidia "latency.alu", Cycles, high;
    /// Fixed latency of results in predicates.
    LatencyPredicate = nvidia "latency.predicate", Cycles, high;
    /// Fixed latency of results in the condition code.
    LatencyCarry = nvidia "latency.carry", Cycles, high;
    /// Latency of special functions, population count, leading zeros.
    LatencyXu = nvidia "latency.xu", Cycles, high;
    /// Latency of conversions of at most 32 bits.
    LatencyConversion = nvidia "latency.conversion", Cycles, high;
    /// Latency of double precision, and of conversions of 64 bits.
    LatencyFp64 = nvidia "latency.fp64", Cycles, high;
    /// Latency of half precision.
    LatencyFp16 = nvidia "latency.fp16", Cycles, high;
    /// Latency of IMAD and IMUL (compilers use XMAD, which has the fixed latency).
    LatencyImad = maxwell "latency.imad", Cycles, high;
    /// Latency of reads of special registers (S2R).
    LatencySpecialRegister = nvidia "latency.special_register", Cycles, high;
    /// Latency of shuffles.
    LatencyShuffle = nvidia "latency.shuffle", Cycles, high;
    /// Latency of other instructions on the memory path (B2R, AL2P).
    LatencyOther = nvidia "latency.other", Cycles, high;

    /// Cycles for which a warp instruction occupies the pipe of comparisons, shifts and moves.
    /// Either: instructions for either pipe take the free one, which depends on the instructions before them.
    OccupancyFxu = nvidia "occupancy.fxu", Cycles, either;
    /// Cycles for which a warp instruction occupies the pipe of multiplications and additions.
    /// Either, as `occupancy.fxu`.
    OccupancyFmai = nvidia "occupancy.fmai", Cycles, either;
    /// Cycles for which a warp instruction occupies the unit of special functions and conversions.
    OccupancyXu = nvidia "occupancy.xu", Cycles, high;
    /// Cycles for which a warp instruction occupies the double precision lanes of its sub-partition.
    OccupancyFp64 = nvidia "occupancy.fp64", Cycles, high;
    /// Cycles for which a warp instruction occupies the half precision lanes of its sub-partition.
    OccupancyFp16 = nvidia "occupancy.fp16", Cycles, high;
    /// Cycles for which a warp instruction occupies the load/store lanes of its sub-partition.
    OccupancyLsu = nvidia "occupancy.lsu", Cycles, high;
    /// Cycles for which a shuffle occupies the exchange network of shared memory, which the SM has once.
    OccupancyShuffle = nvidia "occupancy.shuffle", Cycles, high;
    /// Entries of the instruction queue of a unit of a sub-partition.
    /// Low: a warp waits if the queue is full; the unit serves instructions in order in any case.
    OccupancyQueue = nvidia "occupancy.queue", Count, low, Positive;

    /// Latency of a shared memory access without the parts for its width and its conflicts (22 of "22 + base + 2
    /// conflicts").
    SharedLatency = nvidia "shared.latency", Cycles, high;
    /// Base of an access of at most 32 bits.
    SharedBase32 = nvidia "shared.base_32", Cycles, high;
    /// Base of an access of 64 bits.
    SharedBase64 = nvidia "shared.base_64", Cycles, high;
    /// Base of an access of 128 bits.
    SharedBase128 = nvidia "shared.base_128", Cycles, high;
    /// Additional cycles per bank conflict.
    SharedConflict = nvidia "shared.conflict", Cycles, high;
    /// Cycles for which a transaction without conflict occupies the shared memory of the SM.
    SharedTransaction = nvidia "shared.transaction", Cycles, high;
    /// From the issue of an access until its source registers have been read, without conflicts.
    SharedSources = nvidia "shared.sources", Cycles, high;
    /// Additional latency of an atomic operation over a load.
    SharedAtomic = nvidia "shared.atomic", Cycles, high;
    /// Additional cycles of an atomic operation per thread at the same address.
    SharedAtomicThread = nvidia "shared.atomic_thread", Cycles, high;
    /// Banks of shared memory, each of 32 bits.
    SharedBanks = nvidia "shared.banks", Count, each, PowerOfTwo;
    /// Threads of a pool, whose bank conflicts are resolved together, for accesses of at most 32 bits; half as many for
    /// 64 bits, a quarter for 128.
    SharedPoolThreads = nvidia "shared.pool_threads", Count, each, PowerOfTwo;

    /// From the last arrival at a barrier to the first possible issue of the waiting warps.
    BarrierLatency = all "barrier.latency", Cycles, high;
    /// Threads per cycle that the barriers of an SM count.
    BarrierThreads = nvidia "barrier.threads", Count, low, Positive;
    /// Latency of MEMBAR.CTA, which does not wait for accesses of the warp.
    FenceBlock = nvidia "fence.block", Cycles, high;
    /// Latency of MEMBAR.GL and .SYS, after the completion of the warp's stores and atomic operations.
    FenceDevice = nvidia "fence.device", Cycles, high;

    /// Size of the first constant cache of an SM.
    ConstantL1Bytes = nvidia "constant.l1_bytes", Bytes, each, Size;
    /// Line of the first constant cache.
    ConstantL1Line = nvidia "constant.l1_line", Bytes, each, PowerOfTwo;
    /// Ways of the first constant cache.
    ConstantL1Ways = nvidia "constant.l1_ways", Count, each, Size;
    /// Latency of LDC that hits in the first constant cache.
    ConstantL1Hit = nvidia "constant.l1_hit", Cycles, high;
    /// Additional cycles of LDC for each further address: the cache serves one address at a time.
    ConstantReplay = nvidia "constant.l1_replay", Cycles, high;
    /// Additional cycles of an instruction with a constant operand that hits.
    ConstantOperand = nvidia "constant.operand", Cycles, high;
    /// Constant caches that a launch loads with its constants, its parameters among them, before a block starts: 0 none,
    /// 1 the second, 2 both.
    /// Each: a line that is loaded saves a miss, but replaces another line.
    ConstantPreloaded = volta "constant.preloaded", Count, each;
    /// Size of the second constant cache of an SM.
    ConstantL15Bytes = nvidia "constant.l15_bytes", Bytes, each, Size;
    /// Line of the second constant cache.
    ConstantL15Line = nvidia "constant.l15_line", Bytes, each, PowerOfTwo;
    /// Ways of the second constant cache.
    ConstantL15Ways = nvidia "constant.l15_ways", Count, each, Size;
    /// Additional latency of a hit in the second constant cache over one in the first.
    ConstantL15Beyond = nvidia "constant.l15_beyond_l1", Cycles, high;
    /// Additional latency of a hit in the L2 cache over one in the first constant cache.
    ConstantL2Beyond = nvidia "constant.l2_beyond_l1", Cycles, high;

    /// Size of the first instruction cache of an SM.
    InstructionL1Bytes = all "instruction.l1_bytes", Bytes, each, Size;
    /// Line of both instruction caches.
    InstructionLine = all "instruction.line", Bytes, each, PowerOfTwo;
    /// Ways of the first instruction cache.
    InstructionL1Ways = all "instruction.l1_ways", Count, each, Size;
    /// Size of the second instruction cache of an SM.
    InstructionL15Bytes = all "instruction.l15_bytes", Bytes, each, Size;
    /// Ways of the second instruction cache.
    InstructionL15Ways = all "instruction.l15_ways", Count, each, Size;
    /// Bytes of code, from the first line of the kernel, that a launch loads into the second instruction cache of each SM
    /// before it begins.
    /// Each: a line that is loaded saves a miss, but replaces another line.
    InstructionPreloaded = volta "instruction.preloaded", Bytes, each;
    /// Lines prefetched after the one in use.
    /// Each: a prefetched line saves a miss, but occupies the L2 cache and replaces another line.
    InstructionAhead = all "instruction.ahead", Count, each;
    /// Rate at which prefetched lines arrive after the line in use.
    InstructionAheadBandwidth = all "instruction.ahead_bandwidth", BytesPerKilocycle, low, Positive;
    /// Latency of an instruction fetch that hits in the second instruction cache.
    InstructionL15Hit = all "instruction.l15_hit", Cycles, high;
    /// Latency of an instruction fetch that hits in the L2 cache.
    InstructionL2Hit = all "instruction.l2_hit", Cycles, high;

    /// L1 data caches of an SM.
    L1Units = all "l1.units", Count, each, Size;
    /// Size of each L1 cache.
    L1Bytes = all "l1.bytes", Bytes, each, Size;
    /// Line of the L1 caches; its sectors are fetched one by one.
    L1Line = all "l1.line", Bytes, each, PowerOfTwo;
    /// Sets of each L1 cache.
    L1Sets = all "l1.sets", Count, each, Size;
    /// Latency of a load of one thread that hits in the L1 cache.
    L1Hit = all "l1.hit", Cycles, high;
    /// 1: all loads from global memory look up the L1 cache, 0: only those that allow it (LDG.CI).
    /// Either: a hit is faster, but a load that hits a line in flight waits for the whole line.
    L1AllLoads = all "l1.all_loads", Count, either, Switch;
    /// Threads of a request for accesses of at most 32 bits; half as many for 64 bits, a quarter for 128.
    L1RequestThreads = all "l1.request_threads", Count, each, PowerOfTwo;
    /// Tags looked up per cycle.
    L1Tags = all "l1.tags", Count, low, Positive;
    /// Miss-status holding registers (MSHRs) of an SM, one per sector in flight from the L2 cache.
    /// Low: a load that misses waits for a free register.
    L1Misses = all "l1.misses", Count, low, Positive;
    /// Entries of the store buffer of an SM, one per sector in flight to the L2 cache.
    /// Low: a store waits for a free entry.
    L1Stores = all "l1.stores", Count, low, Positive;
    /// 1: the requests of an instruction share the sectors that they request from the L2 cache. 0: each requests its
    /// own.
    /// Low: a sector requested twice takes time twice.
    L1Merge = all "l1.merge", Count, low, Switch;
    /// From the acceptance of a load or store by the L1 cache until its source registers have been read.
    L1Sources = all "l1.sources", Cycles, high;

    /// Size of the L2 cache.
    L2Bytes = all "l2.bytes", Bytes, each, Size;
    /// Line of the L2 cache.
    L2Line = all "l2.line", Bytes, each, PowerOfTwo;
    /// Sector of the L1 and L2 caches.
    L2Sector = all "l2.sector", Bytes, each, PowerOfTwo;
    /// Ways of the L2 cache.
    L2Ways = all "l2.ways", Count, each, Size;
    /// Slices of the L2 cache, each with its own port.
    L2Slices = all "l2.slices", Count, each, Size;
    /// 1: the slice of a line is a hash of its address. 0: the remainder of its line number.
    /// Either: the lines that share a slice differ.
    L2Hash = all "l2.hash", Count, either, Switch;
    /// Latency of a load of one thread that hits in the L2 cache.
    L2Hit = all "l2.hit", Cycles, high;
    /// Bandwidth of an L2 slice.
    L2Bandwidth = all "l2.slice_bandwidth", BytesPerKilocycle, low, Positive;
    /// Bandwidth between an SM and the L2 cache.
    SmBandwidth = all "l2.sm_bandwidth", BytesPerKilocycle, low, Positive;

    /// Additional latency of a load from DRAM over one that hits in the L2 cache, without address translation.
    DramBeyond = all "dram.beyond_l2", Cycles, high;
    /// Peak bandwidth of DRAM.
    DramBandwidth = all "dram.bandwidth", BytesPerKilocycle, low, Positive;
    /// Part of the peak bandwidth that reads reach; the rest is lost to row activations and other overhead of DRAM.
    DramReads = all "dram.read_efficiency", PerMille, low, Positive;
    /// Part of the peak bandwidth that writes reach.
    DramWrites = all "dram.write_efficiency", PerMille, low, Positive;
    /// Bus turnaround: part of a sector's bus time that is lost for each sector written among reads, of at most as many
    /// as are read.
    DramTurnaround = all "dram.turnaround", PerMille, high;
    /// Cycles of a refresh, in which DRAM serves no requests.
    DramRefresh = all "dram.refresh", Cycles, high;
    /// Cycles between the starts of two refreshes.
    /// Either: with another interval, refreshes delay other requests.
    DramRefreshInterval = all "dram.refresh_interval", Cycles, either, Positive;

    /// Entries of the L1 TLB of an SM.
    TlbL1Entries = all "tlb.l1_entries", Count, each, Size;
    /// Page translated by an entry of the L1 TLB.
    TlbL1Page = all "tlb.l1_page", Bytes, each, PowerOfTwo;
    /// Additional latency of a translation that hits in the L2 TLB.
    TlbL1Miss = all "tlb.l1_miss", Cycles, high;
    /// Entries of the L2 TLB.
    TlbL2Entries = all "tlb.l2_entries", Count, each, Size;
    /// Page translated by an entry of the L2 TLB.
    TlbL2Page = all "tlb.l2_page", Bytes, each, PowerOfTwo;
    /// Additional latency of a translation from a page table that is cached.
    TlbL2Miss = all "tlb.l2_miss", Cycles, high;
    /// Additional latency of a translation from a page table that is not cached.
    TlbWalk = all "tlb.walk", Cycles, high;
    /// Page tables that caches hold, each for one page of the L2 TLB.
    TlbPageTables = all "tlb.page_tables", Count, each, Size;

    /// Additional latency of an atomic operation on global memory over a load.
    AtomicLatency = all "atomic.latency", Cycles, high;
    /// Additional latency if several threads of a warp access the same address.
    AtomicShared = all "atomic.contended", Cycles, high;
    /// Cycles for which the atomic operations on a sector occupy their L2 slice.
    AtomicOccupancy = all "atomic.occupancy", Cycles, high;

    /// Latency of a texture read that hits.
    TextureHit = nvidia "texture.hit", Cycles, high;
    /// Cycles for which a texture read occupies its unit.
    TextureOccupancy = nvidia "texture.occupancy", Cycles, high;

    /// Compute units (CUs) of the GPU.
    CuCount = gcn3 "cu.count", Count, each, Size;
    /// SIMDs of a CU: SIMD n issues in the cycles whose remainder by this number is n.
    CuSimds = gcn3 "cu.simds", Count, each, Size;
    /// LDS of a CU.
    CuLds = gcn3 "cu.lds", Bytes, each, Size;
    /// Resident workgroups per CU.
    CuGroups = gcn3 "cu.groups", Count, each, Size;
    /// Resident workgroups of more than one wave per CU: each has a barrier.
    CuBarriers = gcn3 "cu.barriers", Count, each, Size;
    /// Limit of the threads of a workgroup.
    GroupThreads = gcn3 "group.threads", Count, each, Size;
    /// Limit of the LDS of a workgroup.
    GroupLds = gcn3 "group.lds", Bytes, each, Size;
    /// Allocation granularity of LDS.
    GroupLdsStep = gcn3 "group.lds_step", Bytes, each, Size;
    /// Resident waves per SIMD: base slots. Reserve slots of splits come in addition.
    SimdWaves = gcn3 "simd.waves", Count, each, Size;
    /// Vector registers of a SIMD, each of 64 lanes with 4 bytes.
    SimdVgprs = gcn3 "simd.vgprs", Count, each, Size;
    /// Scalar registers of a SIMD.
    SimdSgprs = gcn3 "simd.sgprs", Count, each, Size;
    /// Allocation granularity of vector registers.
    SimdVgprStep = gcn3 "simd.vgpr_step", Count, each, Size;
    /// Allocation granularity of scalar registers.
    SimdSgprStep = gcn3 "simd.sgpr_step", Count, each, Size;

    /// Instructions of different kinds that a SIMD issues in its cycle; internal ones (waits, barriers) do not count.
    /// Low: a wave issues one of them, but a split may wait for the turn of another one.
    IssueKinds = gcn3 "issue.kinds", Count, low, Positive;

    /// Cycles for which an instruction occupies the vector ALU of its SIMD, at the full rate.
    ValuCycles = gcn3 "valu.cycles", Cycles, high;
    /// Cycles for which an instruction at a quarter of the rate occupies the vector ALU: 32-bit integer
    /// multiplications, transcendental functions, division steps.
    ValuQuarter = gcn3 "valu.quarter", Cycles, high;
    /// Cycles for which an addition of 64-bit floating point occupies the vector ALU.
    ValuF64Add = gcn3 "valu.f64_add", Cycles, high;
    /// Cycles for which a multiplication of 64-bit floating point, fused or not, occupies the vector ALU.
    ValuF64Mul = gcn3 "valu.f64_mul", Cycles, high;
    /// From the issue of a vector instruction to that of one that reads the vector register it wrote, unless it
    /// occupies the vector ALU for longer.
    ValuLatency = gcn3 "valu.latency", Cycles, high;
    /// From the issue of a vector instruction to that of one that reads the scalar register or VCC it wrote.
    ValuToScalar = gcn3 "valu.to_scalar", Cycles, high;

    /// Cycles for which an instruction occupies the scalar ALU of the CU.
    SaluCycles = gcn3 "salu.cycles", Cycles, high;
    /// From the issue of a scalar instruction to that of one that reads its result.
    SaluLatency = gcn3 "salu.latency", Cycles, high;
    /// The same for s_setreg and the instructions that save EXEC (*_saveexec).
    SaluSlow = gcn3 "salu.slow", Cycles, high;
    /// Cycles for which a branch occupies the branch unit of the CU.
    BranchCycles = gcn3 "branch.cycles", Cycles, high;
    /// From the issue of a branch that is not taken to the next issue of its wave.
    BranchNotTaken = gcn3 "branch.not_taken", Cycles, high;
    /// From the issue of a branch that is taken to the next issue of its wave.
    BranchTaken = gcn3 "branch.taken", Cycles, high;
    /// From the issue of a message (s_sendmsg) to its completion.
    MessageLatency = gcn3 "message.latency", Cycles, high;
    /// Cycles of a wait state of s_nop.
    NopState = gcn3 "nop.state", Cycles, high;
    /// Cycles of a unit of s_sleep.
    SleepUnit = gcn3 "sleep.unit", Cycles, high;

    /// Cycles for which a scalar load of one to four dwords occupies the scalar memory unit of the CU.
    SmemCycles = gcn3 "smem.cycles", Cycles, high;
    /// The same for eight dwords.
    SmemCycles8 = gcn3 "smem.cycles_8", Cycles, high;
    /// The same for sixteen dwords.
    SmemCycles16 = gcn3 "smem.cycles_16", Cycles, high;
    /// Size of the scalar cache, as a CU sees it.
    ScalarBytes = gcn3 "scalar.bytes", Bytes, each, Size;
    /// Line of the scalar cache.
    ScalarLine = gcn3 "scalar.line", Bytes, each, PowerOfTwo;
    /// Ways of the scalar cache.
    ScalarWays = gcn3 "scalar.ways", Count, each, Size;
    /// Latency of a scalar load that hits in the scalar cache.
    ScalarHit = gcn3 "scalar.hit", Cycles, high;
    /// Additional latency of a scalar load that hits in the L2 cache over one that hits in the scalar cache.
    ScalarBeyond = gcn3 "scalar.beyond", Cycles, high;

    /// Cycles for which an access of one dword per lane occupies the vector memory unit of the CU; more dwords as many
    /// times.
    VmemCycles = gcn3 "vmem.cycles", Cycles, high;
    /// Cycles for which an access of one dword per lane without conflict occupies the LDS unit of the CU; more dwords
    /// as many times.
    LdsCycles = gcn3 "lds.cycles", Cycles, high;
    /// Latency of an LDS access without conflict.
    LdsLatency = gcn3 "lds.latency", Cycles, high;
    /// Cycles of each further pass over a bank of LDS.
    LdsConflict = gcn3 "lds.conflict", Cycles, high;
    /// Additional latency of an atomic operation on LDS over a load.
    LdsAtomic = gcn3 "lds.atomic", Cycles, high;
    /// Banks of LDS.
    LdsBanks = gcn3 "lds.banks", Count, each, PowerOfTwo;
    /// The bank of an address is the address shifted by this, modulo the banks. 2: banks of words, as the hardware has
    /// them; two lanes conflict if their words differ. 0: banks of bytes, as in gem5; they conflict if their addresses
    /// differ.
    /// Either: other lanes conflict.
    LdsBankShift = gcn3 "lds.bank_shift", Count, either, BankShift;
    /// Lanes whose bank conflicts are resolved together.
    LdsGroup = gcn3 "lds.group", Count, each, PowerOfTwo;

    /// Additional cycles before the first issue of a split.
    SplitLatency = gcn3 "split.latency", Cycles, high;
    /// Cycles of a merge of two splits.
    SplitMerge = gcn3 "split.merge", Cycles, high;
    /// 1: reserve slots have registers of their own. 0: a split needs free vector and scalar registers of its SIMD.
    /// Either: a wave splits or does not.
    SplitRegisters = gcn3 "split.registers", Count, either, Switch;
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Parameters of the first release keep their draw numbers, and parameters added later follow.
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
            (Parameter::CuCount, 122),
            (Parameter::SplitRegisters, 169),
        ] {
            assert_eq!(parameter.draw_number(), number, "{}", parameter.name());
        }
    }
}
