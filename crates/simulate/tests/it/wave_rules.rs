//! Rules of the compute unit with time (docs/timing-model-gcn3.md), on machine code in which they show alone.

use std::collections::{BTreeMap, BTreeSet};

use warpbound_ir::{Code, OpIndex};
use warpbound_isa::Program;
use warpbound_isa::amd::GcnProgram;
use warpbound_launch::{GlobalMemory, Launch, PathOrder, StartCaches, WaveEntry};
use warpbound_load::{GcnDescriptor, Kernel};
use warpbound_machine::{GpuModel, MachineConfig, Parameter, SchedulerPolicy, Selection};
use warpbound_simulate::functional::FaultKind;
use warpbound_simulate::timed::{
    Event, EventListener, SingleWarp, SplitMarking, SplitPipelines, SplitRefusal, SplitSetup,
    SplitSite, WarpPlace, WaveSetup, run_waves,
};
use warpbound_timing::{IssueKind, WaveFacts, gcn_facts};

/// Words of instructions.
mod words {
    pub(super) const END: u32 = 0xbf81_0000;
    pub(super) const BARRIER: u32 = 0xbf8a_0000;
    /// `s_mov_b64 exec, 0`
    pub(super) const NO_LANES: u32 = 0xbefe_0180;
    /// `s_mov_b32 m0, -1`
    pub(super) const ALL_LDS: u32 = 0xbefc_00c1;
    /// `s_mov_b32 s20, s21`
    pub(super) const SCALAR: u32 = 0xbe94_0015;
    /// `v_xor_b32 v0, v0, v0`
    pub(super) const DEPENDENT: u32 = 0x2a00_0100;
    /// `v_mul_lo_u32 v0, v0, v0`
    pub(super) const DEPENDENT_QUARTER: [u32; 2] = [0xd285_0000, 0x0002_0100];
    /// `flat_load_dword v30, v[0:1]`
    pub(super) const FLAT: [u32; 2] = [0xdc50_0000, 0x1e00_0000];
    /// `s_load_dword s40, s[0:1], 0x0`
    pub(super) const SCALAR_LOAD: [u32; 2] = [0xc002_0a00, 0];
    /// `s_load_dwordx2 s[40:41], s[0:1], 0x0`
    pub(super) const SCALAR_LOAD_2: [u32; 2] = [0xc006_0a00, 0];
    /// `ds_read_b32 v2, v1`
    pub(super) const LDS_READ: [u32; 2] = [0xd86c_0000, 0x0200_0001];

    /// `v_mov_b32 vN, v40`
    pub(super) const fn vector(register: u32) -> u32 {
        0x7e00_0228 | register << 17 | 0x100
    }

    /// `s_waitcnt`
    pub(super) const fn wait(vm: u32, lgkm: u32) -> u32 {
        0xbf8c_0070 | vm | lgkm << 8
    }
}

/// A launch of machine code: groups of threads along x. s0 and s1 have the address of a buffer of a word for each thread, s2
/// the index of the group, v0 the index of the thread.
struct WaveCase {
    program: GcnProgram,
    code: Code,
    launch: Launch,
    memory: GlobalMemory,
    setup: WaveSetup,
}

/// Machine on which instructions are always there, with one compute unit.
fn machine() -> MachineConfig {
    let machine = GpuModel::built_in("gem5-apu").expect("a machine");
    let machine = machine.select(Selection::Typical);
    let changes = [
        (Parameter::CuCount, 1),
        // All code is there at the start.
        (Parameter::InstructionAhead, 16),
        (Parameter::LaunchBlock, 0),
        (Parameter::DramRefresh, 0),
        (Parameter::SaluCycles, 1),
        (Parameter::SmemCycles, 1),
        (Parameter::VmemCycles, 1),
        (Parameter::LdsCycles, 1),
        (Parameter::BranchCycles, 1),
    ];
    changes
        .into_iter()
        .fold(machine, |machine, (parameter, value)| {
            machine.with(parameter, value)
        })
}

impl WaveCase {
    fn new(words: &[u32], groups: u32, threads: u32) -> WaveCase {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let program = GcnProgram::decode(&bytes).expect("dwords");
        let lifted = Program::Amd(program.clone());
        let code = warpbound_ir::lift(&Kernel::default(), &lifted).expect("it lifts");
        let mut memory = GlobalMemory::default();
        let out = memory.add("out", vec![0; 4 * (groups * threads) as usize]);
        let descriptor = GcnDescriptor {
            // Two user SGPRs, the group along x.
            rsrc2: 2 << 1 | 1 << 7,
            ..GcnDescriptor::default()
        };
        let (grid, block) = ([groups, 1, 1], [threads, 1, 1]);
        let user = vec![out as u32, (out >> 32) as u32];
        let launch = Launch {
            grid,
            block,
            shared: 8192,
            local: 0,
            constants: Vec::new(),
            textures: Vec::new(),
            surfaces: Vec::new(),
            max_instructions: 1 << 20,
            order: PathOrder::TakenFirst,
            wave_entry: Some(WaveEntry::new(descriptor, [block, grid], user, 0, 0x1000)),
        };
        WaveCase {
            program,
            code,
            launch,
            memory,
            setup: WaveSetup {
                machine: machine(),
                policy: SchedulerPolicy::Oldest,
                caches: StartCaches::Warm,
                vgprs: 24,
                sgprs: 48,
                only: None,
                splitting: SplitSetup::default(),
            },
        }
    }

    fn with(mut self, parameter: Parameter, value: u64) -> WaveCase {
        self.setup.machine = self.setup.machine.with(parameter, value);
        self
    }

    fn run(&self) -> WaveOutcome {
        let mut memory = self.memory.clone();
        let mut events = Recorded::default();
        let result = run_waves(
            &self.code,
            &self.program,
            &self.launch,
            &self.setup,
            &mut memory,
            &mut events,
        );
        let cycles = result.expect("it runs").cycles.0.0;
        let bytes = memory.buffers()[0].bytes.as_chunks::<4>().0.iter();
        WaveOutcome {
            facts: gcn_facts(&self.code, &self.program),
            events: events.0,
            cycles,
            words: bytes.map(|word| u32::from_le_bytes(*word)).collect(),
        }
    }
}

#[derive(Default)]
struct Recorded(Vec<(u64, Event)>);

impl EventListener for Recorded {
    fn event(&mut self, cycle: u64, event: &Event) {
        self.0.push((cycle, *event));
    }
}

struct WaveOutcome {
    facts: Vec<WaveFacts>,
    events: Vec<(u64, Event)>,
    cycles: u64,
    words: Vec<u32>,
}

impl WaveOutcome {
    /// Issues: cycle, wave, instruction.
    fn issues(&self) -> Vec<(u64, WarpPlace, usize)> {
        let issue = |(cycle, event): &(u64, Event)| match event {
            Event::Issue { warp, at, .. } => Some((*cycle, *warp, at.index())),
            _ => None,
        };
        self.events.iter().filter_map(issue).collect()
    }

    /// Cycles of the issues of an instruction.
    fn cycles_of(&self, at: usize) -> Vec<u64> {
        let issues = self.issues().into_iter();
        issues
            .filter(|issue| issue.2 == at)
            .map(|issue| issue.0)
            .collect()
    }

    /// Issues that need a unit, by compute unit, cycle and kind.
    fn by_turn(&self) -> BTreeMap<(u32, u64), Vec<(IssueKind, WarpPlace)>> {
        let mut turns: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for (cycle, warp, at) in self.issues() {
            let kind = self.facts[at].kind;
            if kind != IssueKind::Internal {
                turns
                    .entry((warp.sm, cycle))
                    .or_default()
                    .push((kind, warp));
            }
        }
        turns
    }
}

/// n dependent vector instructions take n times the latency: 4n cycles, or 16n at a quarter of the rate.
#[test]
fn dependent_vector_instructions() {
    for count in [1_usize, 2, 7, 60] {
        for (word, parameter, cycles) in [
            (&[words::DEPENDENT][..], Parameter::ValuLatency, 4),
            (&[words::DEPENDENT], Parameter::ValuLatency, 8),
            (&words::DEPENDENT_QUARTER, Parameter::ValuQuarter, 4),
            (&words::DEPENDENT_QUARTER, Parameter::ValuQuarter, 16),
        ] {
            let mut program = word.repeat(count);
            program.push(words::END);
            let run = WaveCase::new(&program, 1, 64).with(parameter, cycles).run();
            let issued: Vec<u64> = (0..count).flat_map(|at| run.cycles_of(at)).collect();
            // The first turn of SIMD 0 after the start is cycle 4.
            let expected: Vec<u64> = (0..count as u64)
                .map(|number| 4 + number * cycles)
                .collect();
            assert_eq!(issued, expected);
            // s_endpgm waits for the turn only, not for results.
            assert_eq!(run.cycles_of(count), [(count as u64 - 1) * cycles + 8]);
        }
    }
}

/// Five instructions of different kinds issue in each turn of a SIMD; fewer if the machine has fewer.
#[test]
fn five_kinds_issue_together() {
    let mut program = vec![words::NO_LANES];
    for number in 0..12 {
        program.extend([words::vector(number), words::SCALAR]);
        program.extend(words::FLAT);
        program.extend(words::LDS_READ);
        program.extend(words::SCALAR_LOAD);
    }
    program.push(words::END);
    let case = || WaveCase::new(&program, 5, 256);
    let run = case().run();
    let turns = run.by_turn();
    for (turn, issues) in &turns {
        let kinds: BTreeSet<IssueKind> = issues.iter().map(|issue| issue.0).collect();
        assert_eq!(kinds.len(), issues.len(), "{turn:?}");
        let simds = issues.iter().map(|issue| issue.1.scheduler);
        assert!(simds.into_iter().all(|simd| u64::from(simd) == turn.1 % 4));
        assert!(issues.len() <= 5);
    }
    // Once the five waves of a SIMD are apart, each turn has five issues.
    let mut longest = 0;
    let mut length = 0;
    for (_, issues) in turns.iter().filter(|(turn, _)| turn.1 % 4 == 0) {
        length = if issues.len() == 5 { length + 1 } else { 0 };
        longest = longest.max(length);
    }
    assert!(longest >= 40, "{longest} turns with five issues");
    for most in 1..5 {
        let run = case().with(Parameter::IssueKinds, most).run();
        let turns = run.by_turn();
        assert!(turns.values().all(|issues| issues.len() as u64 <= most));
        let last = turns.keys().next_back().map_or(0, |turn| turn.1);
        assert!(last / 4 >= 5 * 61 / most - 1, "{most}: {last}");
    }
}

/// An access to LDS whose fullest bank has k requests in each half of the wave takes 2 (k - 1) passes more than one
/// without conflicts, by the rule of each kind of banks.
#[test]
fn lds_conflicts_cost_their_degree() {
    for shift in [0, 2] {
        for power in 2..7_u32 {
            for conflict in [0, 1, 3] {
                // v_lshlrev_b32 v1, power, v0
                let address = 0x2402_0080 + power;
                let program = [
                    words::ALL_LDS,
                    address,
                    words::LDS_READ[0],
                    words::LDS_READ[1],
                    words::END,
                ];
                let run = WaveCase::new(&program, 1, 64)
                    .with(Parameter::LdsBankShift, shift)
                    .with(Parameter::LdsConflict, conflict)
                    .with(Parameter::LdsLatency, 20)
                    .with(Parameter::LdsCycles, 3)
                    .run();
                let degree = match shift {
                    0 => 1 << power.min(5),
                    _ => 1 << (power - 2),
                };
                let access = run.events.iter().find_map(|(cycle, event)| match event {
                    Event::Shared {
                        transactions,
                        conflicts,
                        done,
                        ..
                    } => Some((*transactions, *conflicts, done - cycle)),
                    _ => None,
                });
                let further = 2 * (degree - 1);
                let time = 3 + 20 + u64::from(further) * conflict;
                assert_eq!(access, Some((2 * degree, further, time)), "{shift} {power}");
            }
        }
    }
}

/// Vector memory completes in order: s_waitcnt vmcnt(1) waits for a load that misses, though the load after it hits.
#[test]
fn vector_loads_complete_in_order() {
    // v_mov_b32 v0, s0; v_mov_b32 v1, s1; then a line 256 bytes after it in v[2:3].
    let near = [0x7e00_0200, 0x7e02_0201];
    // v_add_u32 v2, vcc, 0x100, v0; v_mov_b32 v3, s1.
    let far = [0x3204_00ff, 0x100, 0x7e06_0201];
    let far_load = [0xdc50_0000, 0x1f00_0002];
    let mut program = near.to_vec();
    program.extend(far);
    program.extend(words::FLAT);
    program.push(words::wait(0, 0));
    program.extend(far_load);
    program.extend(words::FLAT);
    program.extend([
        words::wait(1, 15),
        words::vector(5),
        words::wait(0, 0),
        words::END,
    ]);
    let run = WaveCase::new(&program, 8, 64).run();
    let first = run.issues()[0].1;
    let loads: Vec<u64> = run
        .events
        .iter()
        .filter_map(|(_, event)| match event {
            Event::Memory { warp, done, .. } if *warp == first => Some(*done),
            _ => None,
        })
        .collect();
    let [_, missed, hit] = loads[..] else {
        panic!("{loads:?}");
    };
    assert!(hit < missed, "{loads:?}");
    let at = |number: usize| {
        let mut issues = run.issues().into_iter();
        issues
            .find(|issue| issue.1 == first && issue.2 == number)
            .map(|issue| issue.0)
    };
    let simd = u64::from(first.scheduler);
    let turn = (missed..).find(|cycle| cycle % 4 == simd);
    assert_eq!(at(8), turn);
    assert_eq!(at(10), turn.map(|turn| turn + 8));
}

/// Scalar memory completes out of order and counts twice from two dwords on: only lgkmcnt(0), or a count that leaves less
/// than it adds, waits for it.
#[test]
fn scalar_loads_complete_out_of_order() {
    for (most, waits_for_load) in [(3, false), (2, false), (1, true), (0, true)] {
        let mut program = vec![words::ALL_LDS, words::vector(1)];
        program.extend(words::SCALAR_LOAD_2);
        program.extend(words::LDS_READ);
        program.extend([words::wait(15, most), words::END]);
        let run = WaveCase::new(&program, 1, 64).run();
        let done = |is_scalar: bool| {
            let found = run.events.iter().find_map(|(_, event)| match event {
                Event::Scalar { done, .. } if is_scalar => Some(*done),
                Event::Shared { done, .. } if !is_scalar => Some(*done),
                _ => None,
            });
            found.expect("an access")
        };
        let (scalar, lds) = (done(true), done(false));
        assert!(scalar > lds + 8);
        let after_lds = run.cycles_of(3)[0] + 4;
        let expected = match (waits_for_load, most) {
            (true, _) => scalar.next_multiple_of(4),
            (false, 2) => lds.next_multiple_of(4),
            (false, _) => after_lds,
        };
        assert_eq!(run.cycles_of(4), [expected], "lgkmcnt({most})");
    }
}

/// A barrier opens when its last wave arrives; the waves go on in their turns after its latency.
#[test]
fn barriers_open_for_all() {
    for latency in [1, 4, 20] {
        let program = [words::BARRIER, words::vector(0), words::END];
        let run = WaveCase::new(&program, 1, 256)
            .with(Parameter::BarrierLatency, latency)
            .run();
        assert_eq!(run.cycles_of(0), [1, 2, 3, 4]);
        let opens = run.events.iter().filter_map(|(cycle, event)| match event {
            Event::BarrierOpens { warps, .. } => Some((*cycle, *warps)),
            _ => None,
        });
        assert_eq!(opens.collect::<Vec<_>>(), [(4, 4)]);
        for (cycle, warp, _) in run.issues().iter().filter(|issue| issue.2 == 1) {
            let simd = u64::from(warp.scheduler);
            let after = (4 + latency..).find(|cycle| cycle % 4 == simd && *cycle > 4);
            assert_eq!(Some(*cycle), after);
        }
    }
}

/// The oldest wave of a SIMD issues until it ends; in turn, each issues after the one before.
#[test]
fn orders_of_waves() {
    let mut program: Vec<u32> = (0..10).map(words::vector).collect();
    program.push(words::END);
    let order = |policy| {
        let mut case = WaveCase::new(&program, 1, 512);
        case.setup.policy = policy;
        let run = case.run();
        let vectors = run.issues().into_iter().filter(|issue| issue.2 < 10);
        let of_first = vectors.filter(|issue| issue.1.scheduler == 0);
        of_first.map(|issue| issue.1.warp).collect::<Vec<u32>>()
    };
    let oldest = [vec![0; 10], vec![4; 10]].concat();
    assert_eq!(order(SchedulerPolicy::Oldest), oldest);
    assert_eq!(order(SchedulerPolicy::Lrr), [0, 4].repeat(10));
    let mut case = WaveCase::new(&program, 1, 512);
    case.setup.policy = SchedulerPolicy::Gto;
    let refused = run_waves(
        &case.code,
        &case.program,
        &case.launch,
        &case.setup,
        &mut case.memory.clone(),
        &mut Recorded::default(),
    );
    assert_eq!(refused.expect_err("refused").kind, FaultKind::UnknownPolicy);
}

/// Groups start together as far as slots, registers, LDS and barriers of a compute unit allow.
#[test]
fn dispatch_by_occupancy() {
    let mut program: Vec<u32> = (0..10).map(words::vector).collect();
    program.push(words::END);
    let together = |change: &dyn Fn(WaveCase) -> WaveCase, threads| {
        let run = change(WaveCase::new(&program, 60, threads)).run();
        let begins = run
            .events
            .iter()
            .filter(|(cycle, event)| *cycle == 0 && matches!(event, Event::BlockBegins { .. }));
        let begins = begins.count();
        let first = run.issues().into_iter();
        let first = first.filter(|issue| issue.1.block < begins as u64);
        let places: BTreeSet<(u32, u32)> = first.map(|issue| (issue.1.sm, issue.1.slot)).collect();
        (begins, places.len())
    };
    let with_shared = |bytes| {
        move |mut case: WaveCase| {
            case.launch.shared = bytes;
            case
        }
    };
    let small = with_shared(0);
    assert_eq!(together(&small, 192), (13, 39));
    assert_eq!(together(&small, 64), (40, 40));
    assert_eq!(together(&with_shared(30_000), 192).0, 2);
    // 256 vector registers hold two waves of 128 in each SIMD.
    let registers = |case: WaveCase| {
        let mut case = small(case).with(Parameter::SimdVgprs, 256);
        case.setup.vgprs = 126;
        case
    };
    assert_eq!(together(&registers, 192), (2, 6));
    let barriers = |case| small(case).with(Parameter::CuBarriers, 5);
    assert_eq!(together(&barriers, 128).0, 5);
    assert_eq!(together(&barriers, 64).0, 40);
    // On two compute units in turn.
    let run = WaveCase::new(&program, 2, 64)
        .with(Parameter::CuCount, 2)
        .run();
    let units: BTreeSet<u32> = run.issues().iter().map(|issue| issue.1.sm).collect();
    assert_eq!(units.len(), 2);
}

/// A wave that runs alone issues as if the launch had no other.
#[test]
fn a_wave_alone() {
    let mut program: Vec<u32> = (0..10).map(words::vector).collect();
    program.extend([words::BARRIER, words::vector(1), words::END]);
    let mut case = WaveCase::new(&program, 3, 512);
    case.setup.only = Some(SingleWarp { block: 2, warp: 5 });
    let run = case.run();
    assert!(
        run.issues()
            .iter()
            .all(|issue| (issue.1.block, issue.1.warp) == (2, 5))
    );
    assert_eq!(run.issues().len(), 13);
    case.setup.only = Some(SingleWarp { block: 2, warp: 8 });
    let lacking = run_waves(
        &case.code,
        &case.program,
        &case.launch,
        &case.setup,
        &mut case.memory.clone(),
        &mut Recorded::default(),
    );
    let unknown = FaultKind::UnknownWarp { block: 2, warp: 8 };
    assert_eq!(lacking.expect_err("refused").kind, unknown);
}

/// Two arms of vector instructions, nested once more in the first: lanes below 32 take the first arm, those below 16 its
/// first arm. Each lane adds a number for each arm; the sums are stored at the end.
struct TwoArms {
    words: Vec<u32>,
    outer: OpIndex,
    inner: OpIndex,
    merge_inner: OpIndex,
    merge_outer: OpIndex,
}

fn two_arms(length: u32) -> TwoArms {
    let mut words: Vec<u32> = Vec::new();
    // Position of each instruction; all have one dword, up to the store.
    let compare = |limit: u32| 0x7d98_0080 + limit;
    // v_add_u32 v2, vcc, number, v2
    let add = |number: u32| 0x3204_0480 + number;
    let begin = |words: &mut Vec<u32>, save: u32, limit: u32| {
        // v_cmp_gt_u32 vcc, limit, v0; s_and_saveexec s[save], vcc; s_xor s[save], exec, s[save]; s_cbranch_execz
        words.push(compare(limit));
        words.push(0xbe80_206a | save << 16);
        words.push(0x8880_007e | save << 16 | save << 8);
        words.push(0xbf88_0000);
        words.len() - 1
    };
    let other = |words: &mut Vec<u32>, save: u32| {
        // s_or_saveexec s[save], s[save]; s_xor exec, exec, s[save]; s_cbranch_execz
        let first = words.len();
        words.push(0xbe80_2100 | save << 16 | save);
        words.push(0x88fe_007e | save << 8);
        words.push(0xbf88_0000);
        (first, words.len() - 1)
    };
    let join = |words: &mut Vec<u32>, save: u32| {
        words.push(0x87fe_007e | save << 8);
        words.len()
    };
    let patch = |words: &mut Vec<u32>, branch: usize, target: usize| {
        words[branch] |= (target - branch - 1) as u32;
    };
    // v_mov_b32 v2, 0
    words.push(0x7e04_0280);
    let outer = begin(&mut words, 4, 32);
    let inner = begin(&mut words, 6, 16);
    words.extend((0..length).map(|_| add(1)));
    let (inner_other, inner_skip) = other(&mut words, 6);
    words.extend((0..length).map(|_| add(2)));
    let merge_inner = join(&mut words, 6);
    let (outer_other, outer_skip) = other(&mut words, 4);
    words.extend((0..length).map(|_| add(3)));
    let merge_outer = join(&mut words, 4);
    patch(&mut words, inner, inner_other);
    patch(&mut words, inner_skip, merge_inner - 1);
    patch(&mut words, outer, outer_other);
    patch(&mut words, outer_skip, merge_outer - 1);
    // v_lshlrev_b32 v3, 2, v0; v_add_u32 v4, vcc, s0, v3; v_mov_b32 v5, s1; v_addc_u32 v5, vcc, 0, v5, vcc
    words.extend([0x2406_0082, 0x3208_0600, 0x7e0a_0201, 0x380a_0a80]);
    // flat_store_dword v[4:5], v2
    words.extend([0xdc70_0000, 0x0000_0204, words::END]);
    let at = |number: usize| OpIndex(number as u32);
    TwoArms {
        words,
        outer: at(outer),
        inner: at(inner),
        merge_inner: at(merge_inner),
        merge_outer: at(merge_outer),
    }
}

impl TwoArms {
    fn case(&self, threads: u32, splits: u32, pipelines: SplitPipelines, merge: bool) -> WaveCase {
        let mut case = WaveCase::new(&self.words, 1, threads);
        let site = |merge_point| SplitSite {
            merge_point: Some(merge_point),
        };
        case.setup.splitting = SplitSetup {
            splits,
            pipelines,
            marking: SplitMarking::Sites,
            sites: [
                (self.outer, site(self.merge_outer)),
                (self.inner, site(self.merge_inner)),
            ]
            .into(),
            merge,
        };
        case
    }
}

/// Sums that lanes of a wave of `two_arms` leave.
fn sums(length: u32, threads: u32) -> Vec<u32> {
    let sum = |lane: u32| match lane {
        0..16 => length,
        16..32 => 2 * length,
        _ => 3 * length,
    };
    (0..threads).map(sum).collect()
}

/// Splits have the lanes of Table 4.1 of `wavefront-splitting-2022`, results do not depend on splitting, and two arms take
/// the time of one where pipelines are parallel.
#[test]
fn splits_of_two_arms() {
    const LENGTH: u32 = 20;
    let arms = two_arms(LENGTH);
    let whole = arms.case(64, 0, SplitPipelines::Parallel, false).run();
    assert_eq!(whole.words, sums(LENGTH, 64));
    for pipelines in [SplitPipelines::Parallel, SplitPipelines::Serialised] {
        for merge in [false, true] {
            let run = arms.case(64, 2, pipelines, merge).run();
            assert_eq!(run.words, whole.words, "{pipelines:?} {merge}");
            let lanes = run.events.iter().filter_map(|(_, event)| match event {
                Event::Split {
                    parent_lanes,
                    child_lanes,
                    parent,
                    child,
                    ..
                } => Some((*parent_lanes, *child_lanes, parent.slot, child.slot)),
                _ => None,
            });
            let low = 0xffff_ffff;
            let expected = [(low, !low, 0, 40), (0xffff, 0xffff_0000, 0, 41)];
            assert_eq!(lanes.collect::<Vec<_>>(), expected);
            let merges = |(_, event): &&(u64, Event)| matches!(event, Event::Merge { .. });
            assert_eq!(
                run.events.iter().filter(merges).count(),
                if merge { 2 } else { 0 }
            );
            let together = run.by_turn().values().any(|issues| {
                let vectors = issues.iter().filter(|issue| issue.0 == IssueKind::Vector);
                vectors.count() > 1
            });
            assert_eq!(together, pipelines == SplitPipelines::Parallel);
            let arm = u64::from(LENGTH) * 4;
            match pipelines {
                // Three arms of the length one after the other become two and one beside each other.
                SplitPipelines::Parallel => {
                    assert!(
                        run.cycles + arm < whole.cycles,
                        "{} {}",
                        run.cycles,
                        whole.cycles
                    );
                }
                SplitPipelines::Serialised => assert!(run.cycles + arm > whole.cycles),
            }
        }
    }
}

/// Without reserve slots, or without sites, the events are those of a machine that does not split.
#[test]
fn no_splits_no_difference() {
    let arms = two_arms(6);
    let mut plain = arms.case(200, 0, SplitPipelines::Parallel, false);
    let none = plain.run();
    plain.setup.splitting = SplitSetup::default();
    assert_eq!(plain.run().events, none.events);
    let mut without_sites = arms.case(200, 7, SplitPipelines::Parallel, true);
    without_sites.setup.splitting.sites.clear();
    assert_eq!(without_sites.run().events, none.events);
    // Units that stay busy for longer than a turn, with instructions that depend on none.
    let mut program: Vec<u32> = Vec::new();
    for number in 0..8 {
        // v_mul_lo_u32 vN, v40, v40; s_mov_b32
        program.extend([0xd285_0000 | number, 0x0002_5128, words::SCALAR]);
    }
    program.push(words::END);
    let busy = |splits| {
        let case = WaveCase::new(&program, 1, 512).with(Parameter::ValuQuarter, 16);
        let mut case = case.with(Parameter::SaluCycles, 9);
        case.setup.splitting.splits = splits;
        case.run().events
    };
    assert_eq!(busy(0), busy(7));
    // The bit of MODE is not set.
    let mut unmarked = arms.case(200, 7, SplitPipelines::Parallel, true);
    unmarked.setup.splitting.marking = SplitMarking::Mode;
    assert_eq!(unmarked.run().events, none.events);
}

/// One slot: the second split is refused, and the wave goes on as one; without registers each is.
#[test]
fn splits_without_a_place() {
    let arms = two_arms(6);
    let refusals = |case: WaveCase| {
        let run = case.run();
        assert_eq!(run.words, sums(6, 64));
        let reason = |(_, event): &(u64, Event)| match event {
            Event::SplitRefused { reason, .. } => Some(*reason),
            _ => None,
        };
        run.events.iter().filter_map(reason).collect::<Vec<_>>()
    };
    let case = |splits| arms.case(64, splits, SplitPipelines::Parallel, true);
    assert_eq!(refusals(case(2)), []);
    // More splits than lanes cannot live.
    let most = case(u32::MAX).run();
    assert_eq!(most.events, case(63).run().events);
    assert_eq!(refusals(case(1)), [SplitRefusal::NoSlot]);
    let mut full = case(2).with(Parameter::SplitRegisters, 0);
    full.setup.vgprs = 256;
    let full = full.with(Parameter::SimdVgprs, 256);
    assert_eq!(refusals(full), [SplitRefusal::NoRegisters; 2]);
    // Registers for two waves: the wave and its first child.
    let half = || {
        let mut half = case(2).with(Parameter::SplitRegisters, 0);
        half.setup.vgprs = 128;
        half.with(Parameter::SimdVgprs, 256)
    };
    assert_eq!(refusals(half()), [SplitRefusal::NoRegisters]);
    // They are kept for groups that have not started: the first of these starts a million cycles later.
    let mut later = half();
    later.launch.grid = [2, 1, 1];
    later.setup.splitting.splits = 1;
    let later = later.with(Parameter::LaunchBlock, 1_000_000).run();
    let splits = later.events.iter().filter_map(|(_, event)| match event {
        Event::Split { parent, .. } => Some(parent.block),
        _ => None,
    });
    assert_eq!(splits.collect::<Vec<_>>(), [1]);
}

/// Waves and splits account for all cycles between their issues; slots are free again after a merge or an end.
#[test]
fn cycles_between_issues_add_up() {
    let arms = two_arms(9);
    for splits in [0, 1, 2, 3] {
        for pipelines in [SplitPipelines::Parallel, SplitPipelines::Serialised] {
            for merge in [false, true] {
                let run = arms.case(1000, splits, pipelines, merge).run();
                let mut last: BTreeMap<u32, u64> = BTreeMap::new();
                for (cycle, event) in &run.events {
                    match event {
                        Event::Issue { warp, waited, .. } => {
                            let before = last.insert(warp.slot, *cycle).unwrap_or(0);
                            assert_eq!(waited.iter().sum::<u64>(), cycle - before, "{event:?}");
                        }
                        Event::Split { child, .. } => {
                            assert_eq!(last.insert(child.slot, *cycle), None);
                        }
                        Event::Merge { from: place, .. } | Event::WarpEnds { warp: place } => {
                            assert!(last.remove(&place.slot).is_some());
                        }
                        _ => {}
                    }
                }
                assert!(last.is_empty());
                assert_eq!(run.words, sums_of_group(9, 1000));
            }
        }
    }
}

/// Sums that a group of several waves leaves: lanes are compared by their number in the group.
fn sums_of_group(length: u32, threads: u32) -> Vec<u32> {
    sums(length, threads)
}
