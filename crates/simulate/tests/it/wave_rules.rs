//! Rules of the compute unit with time (docs/timing-model-gcn3.md), on machine code in which they show alone.

mod splitting;

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
