//! The numbers that describe a Maxwell or Pascal GPU to the timing model: a row for each.

use warpbound_base::Diagnostic;

/// What a number counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    /// Cycles of the machine's clock.
    Cycles,
    /// Bytes.
    Bytes,
    /// Bytes in 1000 cycles.
    BytesPerKilocycle,
    /// Kilohertz.
    Kilohertz,
    /// Thousandths of a whole.
    PerMille,
    /// Things.
    Count,
}

/// Which values a number may have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Domain {
    /// Any.
    Any,
    /// At least 1.
    Positive,
    /// At least 1; between the values that a file states there may be some that make no machine, such as a cache
    /// whose size its ways do not divide.
    Size,
    /// A power of two, and a size.
    PowerOfTwo,
    /// 0 or 1.
    Switch,
}

/// At which value of a number a warp that runs alone is slowest, whatever the other numbers are.
///
/// With more warps no number has such an end: any of them may change who issues next (R. L. Graham, "Bounds on
/// multiprocessing timing anomalies", 1969). Alone, a warp is later when anything that it waits for is, but for two cases:
/// where fetched code shares a slice of the second level with the warp's own data, the slice may serve it in front of them
/// or behind; and an instruction for either arithmetic pipe that comes a cycle later may find the other one free.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SlowEnd {
    /// More is slower: latencies, and cycles for which something is taken.
    High,
    /// Less is slower: bandwidths, queues.
    Low,
    /// One of the two ends, or a value between them: which one depends on the kernel. Both ends are to be tried.
    Either,
    /// No end, as more of it is no better than less for some kernel: sizes. Each value that makes a machine is to be tried.
    Each,
}

macro_rules! parameters {
    (
        $($(#[doc = $doc:literal])+ $id:ident = $name:literal, $unit:ident, $slow:ident $(, $domain:ident)?;)+
    ) => {
        /// A number of a machine, see the rows of this file.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[repr(u8)]
        pub enum Parameter {
            $($(#[doc = $doc])+ $id,)+
        }

        impl Parameter {
            /// All of them, in the order of the rows.
            pub const ALL: &[Parameter] = &[$(Parameter::$id),+];

            /// Section and key in machine files, `section.key`.
            pub fn name(self) -> &'static str {
                match self { $(Parameter::$id => $name,)+ }
            }

            /// The parameter of this name.
            ///
            /// # Errors
            ///
            /// Where there is none: names that are like it.
            pub fn named(name: &str) -> Result<Parameter, Diagnostic> {
                let known = Parameter::ALL.iter().find(|parameter| parameter.name() == name);
                known.copied().ok_or_else(|| unknown(name))
            }

            /// What it counts.
            pub fn unit(self) -> Unit {
                match self { $(Parameter::$id => Unit::$unit,)+ }
            }

            /// Which values it may have.
            pub fn domain(self) -> Domain {
                match self { $(Parameter::$id => parameters!(@domain $($domain)?),)+ }
            }

            /// At which value a warp that runs alone is slowest.
            pub fn slow(self) -> SlowEnd {
                match self { $(Parameter::$id => parameters!(@slow $slow),)+ }
            }

            /// What it is, in words.
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

/// There is no number of this name; what it may have meant are those of the same section, or of the same key in others.
fn unknown(name: &str) -> Diagnostic {
    let (section, key) = name.split_once('.').unwrap_or((name, name));
    let parts = |parameter: &Parameter| parameter.name().split_once('.').unwrap_or_default();
    let names = |near: &dyn Fn(&Parameter) -> bool| -> Vec<&str> {
        let near = Parameter::ALL.iter().filter(|parameter| near(parameter));
        near.map(|parameter| parameter.name()).collect()
    };
    let mut near = names(&|parameter| parts(parameter).0 == section);
    if near.is_empty() {
        near = names(&|parameter| parts(parameter).1 == key);
    }
    let what = Diagnostic::new(format!("no number of a machine is called {name:?}"));
    if !near.is_empty() {
        return what.hint(format!("there are {}", near.join(", ")));
    }
    let mut sections: Vec<&str> = Parameter::ALL.iter().map(|p| parts(p).0).collect();
    sections.dedup();
    what.hint(format!(
        "SECTION.KEY, of the sections {}",
        sections.join(", ")
    ))
}

// A row: what it is, name in files, unit, slow end, and which values it may have where that is not any.
parameters! {
    /// Streaming multiprocessors.
    SmCount = "sm.count", Count, each, Size;
    /// Warp schedulers of an SM, each with a sub-partition of its own.
    SmSchedulers = "sm.schedulers", Count, each, Size;
    /// Warps that an SM holds.
    SmWarps = "sm.warps", Count, each, Size;
    /// Blocks that an SM holds.
    SmBlocks = "sm.blocks", Count, each, Size;
    /// Threads that an SM holds.
    SmThreads = "sm.threads", Count, each, Size;
    /// 32-bit registers of an SM.
    SmRegisters = "sm.registers", Count, each, Size;
    /// Shared memory of an SM.
    SmShared = "sm.shared", Bytes, each, Size;
    /// Threads that a block may have.
    BlockThreads = "block.threads", Count, each, Size;
    /// Registers that a block may have.
    BlockRegisters = "block.registers", Count, each, Size;
    /// Shared memory that a block may have.
    BlockShared = "block.shared", Bytes, each, Size;
    /// Registers of a warp are allocated in steps of so many.
    RegisterStep = "block.register_step", Count, each, Size;
    /// Sub-partitions that share the registers of an SM evenly: the warps that it holds are a multiple of so many, and
    /// `block.registers` is for the warps of a block rounded up to one.
    WarpStep = "block.warp_step", Count, each, Size;
    /// Shared memory is allocated in steps of so many bytes.
    SharedStep = "block.shared_step", Bytes, each, Size;
    /// The clock of the SMs.
    /// Either: only code that reads the time in nanoseconds does anything else at another clock.
    Clock = "clock.frequency", Kilohertz, either, Positive;

    /// From the launch of a kernel until its first block may begin, its first instructions at hand.
    LaunchKernel = "launch.kernel", Cycles, high;
    /// Between the beginnings of two blocks on the same SM.
    LaunchBlock = "launch.block", Cycles, high;
    /// From the end of the last warp until the kernel counts as done.
    LaunchEnd = "launch.end", Cycles, high;
    /// 1: a kernel is done when the second level has all its stores, too. 0: when its last warp has ended.
    LaunchStores = "launch.stores", Count, high, Switch;

    /// 1: an instruction with the code 16 issues together with the next one. 0: one cycle before it.
    /// Low: the second of a pair is a cycle later.
    IssueDual = "issue.dual", Count, low, Switch;
    /// From an instruction with the code 29 (YIELD6) to the next of its warp.
    IssueYield6 = "issue.yield6", Cycles, high;
    /// From an instruction with the code 30 (YIELD8) to the next of its warp.
    IssueYield8 = "issue.yield8", Cycles, high;
    /// From an instruction with the code 31 (OFF_DECK) to the next of its warp.
    IssueOffDeck = "issue.off_deck", Cycles, high;
    /// From an instruction with the code 0 (DRAIN) to the next of its warp, once all that its warp waits for is there.
    IssueDrain = "issue.drain", Cycles, high;
    /// More cycles after a branch that jumps, to fetch from elsewhere.
    IssueJump = "issue.jump", Cycles, high;
    /// From the release of a scoreboard until a warp that waits for it can issue.
    IssueWake = "issue.wake", Cycles, high;
    /// For each operand more than one from the same register bank that the reuse cache does not have.
    IssueBankConflict = "issue.bank_conflict", Cycles, high;
    /// Register banks of a sub-partition.
    IssueBanks = "issue.banks", Count, each, Size;

    /// From an instruction of fixed latency to one that reads its register.
    LatencyAlu = "latency.alu", Cycles, high;
    /// From an instruction of fixed latency to one that reads its predicate.
    LatencyPredicate = "latency.predicate", Cycles, high;
    /// From an instruction of fixed latency to one that reads its condition code.
    LatencyCarry = "latency.carry", Cycles, high;
    /// Special functions, population count, leading zeros.
    LatencyXu = "latency.xu", Cycles, high;
    /// Conversions of at most 32 bits.
    LatencyConversion = "latency.conversion", Cycles, high;
    /// Double precision, and conversions of 64 bits.
    LatencyFp64 = "latency.fp64", Cycles, high;
    /// Half precision.
    LatencyFp16 = "latency.fp16", Cycles, high;
    /// The instructions IMAD and IMUL (compilers write XMAD, which is as other integer arithmetic).
    LatencyImad = "latency.imad", Cycles, high;
    /// Special registers by S2R.
    LatencySpecialRegister = "latency.special_register", Cycles, high;
    /// Shuffles.
    LatencyShuffle = "latency.shuffle", Cycles, high;
    /// Results of the memory path that is not named otherwise (B2R, AL2P).
    LatencyOther = "latency.other", Cycles, high;

    /// Cycles for which a warp instruction takes the pipe of comparisons, shifts and moves.
    /// Either: what goes to one pipe or the other goes to the one that is free, so that it matters what came before.
    OccupancyFxu = "occupancy.fxu", Cycles, either;
    /// Cycles for which a warp instruction takes the pipe of multiplications and additions.
    /// Either, as `occupancy.fxu`.
    OccupancyFmai = "occupancy.fmai", Cycles, either;
    /// Cycles for which a warp instruction takes the unit of special functions and conversions.
    OccupancyXu = "occupancy.xu", Cycles, high;
    /// Cycles for which a warp instruction takes the double precision lanes of its sub-partition.
    OccupancyFp64 = "occupancy.fp64", Cycles, high;
    /// Cycles for which a warp instruction takes the half precision lanes of its sub-partition.
    OccupancyFp16 = "occupancy.fp16", Cycles, high;
    /// Cycles for which a warp instruction takes the load/store lanes of its sub-partition.
    OccupancyLsu = "occupancy.lsu", Cycles, high;
    /// Instructions for the memory path that a sub-partition takes before the unit that they need is free.
    /// Low: a warp waits where the queue is full, and the unit serves in order whether it waits or not.
    OccupancyQueue = "occupancy.queue", Count, low, Positive;

    /// A shared memory access without its width and conflicts (22 of "22 + base + 2 conflicts").
    SharedLatency = "shared.latency", Cycles, high;
    /// The base of an access of at most 32 bits.
    SharedBase32 = "shared.base_32", Cycles, high;
    /// The base of an access of 64 bits.
    SharedBase64 = "shared.base_64", Cycles, high;
    /// The base of an access of 128 bits.
    SharedBase128 = "shared.base_128", Cycles, high;
    /// For each conflict.
    SharedConflict = "shared.conflict", Cycles, high;
    /// Cycles for which a transaction takes the shared memory of the SM.
    SharedTransaction = "shared.transaction", Cycles, high;
    /// From the issue of an access until its source registers have been read, without conflicts.
    SharedSources = "shared.sources", Cycles, high;
    /// An atomic operation beyond a load.
    SharedAtomic = "shared.atomic", Cycles, high;
    /// For each thread that an atomic operation works at the same address for.
    SharedAtomicThread = "shared.atomic_thread", Cycles, high;

    /// From the last arrival at a barrier until the warps that waited can issue.
    BarrierLatency = "barrier.latency", Cycles, high;
    /// Threads that barriers of an SM count in a cycle.
    BarrierThreads = "barrier.threads", Count, low, Positive;
    /// MEMBAR.CTA beyond what its warp has outstanding.
    FenceBlock = "fence.block", Cycles, high;
    /// MEMBAR.GL and .SYS beyond what its warp has outstanding.
    FenceDevice = "fence.device", Cycles, high;

    /// The first constant cache of an SM.
    ConstantL1Bytes = "constant.l1_bytes", Bytes, each, Size;
    /// Its line.
    ConstantL1Line = "constant.l1_line", Bytes, each, PowerOfTwo;
    /// Its ways.
    ConstantL1Ways = "constant.l1_ways", Count, each, Size;
    /// LDC when it hits there.
    ConstantL1Hit = "constant.l1_hit", Cycles, high;
    /// More cycles of an instruction with a constant operand that hits.
    ConstantOperand = "constant.operand", Cycles, high;
    /// The second constant cache of an SM.
    ConstantL15Bytes = "constant.l15_bytes", Bytes, each, Size;
    /// Its line.
    ConstantL15Line = "constant.l15_line", Bytes, each, PowerOfTwo;
    /// Its ways.
    ConstantL15Ways = "constant.l15_ways", Count, each, Size;
    /// More cycles, than of a hit in the first one, when a constant is in the second one only.
    ConstantL15Beyond = "constant.l15_beyond_l1", Cycles, high;
    /// The same when it is in the second-level cache only.
    ConstantL2Beyond = "constant.l2_beyond_l1", Cycles, high;

    /// The first instruction cache of an SM.
    InstructionL1Bytes = "instruction.l1_bytes", Bytes, each, Size;
    /// The line of the instruction caches.
    InstructionLine = "instruction.line", Bytes, each, PowerOfTwo;
    /// Its ways.
    InstructionL1Ways = "instruction.l1_ways", Count, each, Size;
    /// The second instruction cache of an SM.
    InstructionL15Bytes = "instruction.l15_bytes", Bytes, each, Size;
    /// Its ways.
    InstructionL15Ways = "instruction.l15_ways", Count, each, Size;
    /// Lines behind the one in use that are fetched ahead.
    /// Each: a line fetched ahead saves a miss, but comes behind the one that is needed, and another line makes room.
    InstructionAhead = "instruction.ahead", Count, each;
    /// From the need of an instruction to its issue when it is in the second instruction cache only.
    InstructionL15Hit = "instruction.l15_hit", Cycles, high;
    /// The same when it is in the second-level cache only.
    InstructionL2Hit = "instruction.l2_hit", Cycles, high;

    /// First-level data caches of an SM.
    L1Units = "l1.units", Count, each, Size;
    /// Bytes of each.
    L1Bytes = "l1.bytes", Bytes, each, Size;
    /// Bytes for which a tag stands; sectors of it are fetched one by one.
    L1Line = "l1.line", Bytes, each, PowerOfTwo;
    /// Sets.
    L1Sets = "l1.sets", Count, each, Size;
    /// Load of a single thread that hits.
    L1Hit = "l1.hit", Cycles, high;
    /// 1: all loads from global memory are cached, 0: only those that may be (LDG.CI).
    /// Either: a hit is faster, but a load that finds its line on its way waits for all of it.
    L1AllLoads = "l1.all_loads", Count, either, Switch;
    /// Threads of a request when each accesses at most 32 bits; half of it for 64 bits, a quarter for 128.
    L1RequestThreads = "l1.request_threads", Count, each, PowerOfTwo;
    /// Tags that are looked up in a cycle.
    L1Tags = "l1.tags", Count, low, Positive;
    /// Sectors that can be on their way from the second level at a time.
    /// Low: a load waits where no more sectors can be on their way.
    L1Misses = "l1.misses", Count, low, Positive;
    /// Sectors that can be on their way to the second level at a time, to be written.
    /// Low: a store waits where no more can be on their way.
    L1Stores = "l1.stores", Count, low, Positive;
    /// 1: a sector that several requests of an instruction want is asked for once. 0: each of them asks for it.
    /// Low: what is asked for again takes its time again.
    L1Merge = "l1.merge", Count, low, Switch;
    /// From the issue of a store or load until its source registers have been read.
    L1Sources = "l1.sources", Cycles, high;

    /// The second-level cache.
    L2Bytes = "l2.bytes", Bytes, each, Size;
    /// Bytes for which a tag stands.
    L2Line = "l2.line", Bytes, each, PowerOfTwo;
    /// Bytes of a sector, of both levels.
    L2Sector = "l2.sector", Bytes, each, PowerOfTwo;
    /// Ways.
    L2Ways = "l2.ways", Count, each, Size;
    /// Slices, each with a port of its own.
    L2Slices = "l2.slices", Count, each, Size;
    /// 1: lines are spread over the slices by a hash of their address. 0: by the remainder of their number.
    /// Either: which lines share a slice is another matter with each.
    L2Hash = "l2.hash", Count, either, Switch;
    /// Load of a single thread that hits in the second level.
    L2Hit = "l2.hit", Cycles, high;
    /// What a slice moves.
    L2Bandwidth = "l2.slice_bandwidth", BytesPerKilocycle, low, Positive;
    /// What an SM gets from and gives to the second level.
    SmBandwidth = "l2.sm_bandwidth", BytesPerKilocycle, low, Positive;

    /// More cycles of a load from memory than of one that hits in the second level, translation apart.
    DramBeyond = "dram.beyond_l2", Cycles, high;
    /// What the bus of the memory moves while it moves data.
    DramBandwidth = "dram.bandwidth", BytesPerKilocycle, low, Positive;
    /// The part of the bandwidth that reads get: rows that are opened and closed, and whatever else no program gets around.
    DramReads = "dram.read_efficiency", PerMille, low, Positive;
    /// The part of it that writes get.
    DramWrites = "dram.write_efficiency", PerMille, low, Positive;
    /// The part of a sector's time on the bus that is lost more for each sector written among reads: of as many as are read.
    DramTurnaround = "dram.turnaround", PerMille, high;
    /// Cycles for which the memory is closed in each interval of refresh.
    DramRefresh = "dram.refresh", Cycles, high;
    /// From one refresh to the next.
    /// Either: with another interval the memory is closed at other times, which a run may hit or miss.
    DramRefreshInterval = "dram.refresh_interval", Cycles, either, Positive;

    /// Entries of the first-level translation buffer.
    TlbL1Entries = "tlb.l1_entries", Count, each, Size;
    /// What an entry of it translates.
    TlbL1Page = "tlb.l1_page", Bytes, each, PowerOfTwo;
    /// More cycles when the translation is in the second level only.
    TlbL1Miss = "tlb.l1_miss", Cycles, high;
    /// Entries of the second-level translation buffer.
    TlbL2Entries = "tlb.l2_entries", Count, each, Size;
    /// What an entry of it translates.
    TlbL2Page = "tlb.l2_page", Bytes, each, PowerOfTwo;
    /// More cycles when the translation is in page tables that are cached.
    TlbL2Miss = "tlb.l2_miss", Cycles, high;
    /// More cycles for the first use of a page table that nothing has cached.
    TlbWalk = "tlb.walk", Cycles, high;

    /// An atomic operation of global memory beyond a load.
    AtomicLatency = "atomic.latency", Cycles, high;
    /// More when several threads of a warp want the same address.
    AtomicShared = "atomic.contended", Cycles, high;
    /// Cycles for which atomic operations on a sector take their slice of the second level.
    AtomicOccupancy = "atomic.occupancy", Cycles, high;

    /// A texture read that hits.
    TextureHit = "texture.hit", Cycles, high;
    /// Cycles for which a texture read takes the texture unit.
    TextureOccupancy = "texture.occupancy", Cycles, high;
}
