//! Runs with time, whatever the numbers of the machine: the books close, a lone warp never gains by a longer latency, and
//! nobody waits for ever.

use std::collections::HashMap;

use warpbound_driver::{Session, TimedOptions, SchedulerPolicy};
use warpbound_ir::{Cell, Code};
use warpbound_isa::{Program, nvidia};
use warpbound_launch::{LaunchFile};
use warpbound_machine::{GpuModel, Parameter, Selection, SlowEnd, Unit};
use warpbound_simulate::timed::{Event, Interlock, EventListener, Silent, Stall};
use warpbound_testkit::kernels::{self, KernelReference};
use warpbound_testkit::cycle_accounting::CycleAccounting;

fn session(reference: &KernelReference, chip: &str) -> Session {
    let file = format!("{}.{chip}.cubin", reference.source);
    let path = format!("{}/../../kernels/built/{file}", env!("CARGO_MANIFEST_DIR"));
    let contents = std::fs::read(path).expect("the cubin is in the repository");
    Session::open(&file, &contents).expect("it loads")
}

fn options(machine: &str) -> TimedOptions {
    TimedOptions::new(GpuModel::built_in(machine).expect("it comes with the tool"))
}

/// A kernel of ours by its source, the first if there are several.
fn of_source(source: &str) -> KernelReference {
    let mut all = kernels::all().into_iter();
    let found = all.find(|reference| reference.source == source);
    found.expect("there is such a kernel")
}

/// Runs a launch of a kernel while somebody listens.
fn run(
    reference: &KernelReference,
    session: &Session,
    launch: &LaunchFile,
    options: &TimedOptions,
    listener: &mut impl EventListener,
) -> u64 {
    let kernel = session.launched_grid(Some(reference.kernel), launch);
    let prepared = session.prepare(kernel.expect("it has the kernel"));
    let run = session.time(&prepared.expect("it decodes"), launch, options, listener);
    run.expect("it runs").cycles.0.0
}

/// With the least of all numbers nothing is fetched ahead, so that instructions behind barriers are not at hand.
#[test]
fn books_close_with_other_numbers() {
    let policies = [
        SchedulerPolicy::Gto,
        SchedulerPolicy::Lrr,
        SchedulerPolicy::Oldest,
        SchedulerPolicy::RunToBarrier,
        SchedulerPolicy::Youngest,
        SchedulerPolicy::ContendedUnit,
        SchedulerPolicy::Random(5),
    ];
    let mut mistakes = Vec::new();
    for (pick, machine) in [
        (Selection::Least, "gtx1080"),
        (Selection::Least, "p100"),
        (Selection::Most, "p100"),
        (Selection::Seed(1), "gtx1080"),
        (Selection::Slow, "gtx1080ti"),
    ] {
        for (number, reference) in kernels::all().iter().enumerate() {
            let options = TimedOptions {
                scheduler: Some(policies[number % policies.len()]),
                selection: pick,
                ..options(machine)
            };
            let launch = (reference.launch)(1);
            let mut ledger = CycleAccounting::new();
            let session = session(reference, "sm_61");
            run(reference, &session, &launch, &options, &mut ledger);
            if let Err(what) = ledger.finish() {
                mistakes.push(format!(
                    "{} on {machine}, {pick:?}: {what}",
                    reference.kernel
                ));
            }
        }
    }
    assert!(mistakes.is_empty(), "{}", mistakes.join("\n"));
}

/// What fetches and the data of a warp share, taking no time: which of them comes first may be a gain (`testkit::monotone`).
const APART: [(Parameter, u64); 3] = [
    (Parameter::L2Bandwidth, 1 << 40),
    (Parameter::DramBandwidth, 1 << 40),
    (Parameter::AtomicOccupancy, 0),
];

/// A lone warp does the same in the same order, so that it is never done earlier when something takes longer.
#[test]
fn a_lone_warp_gains_nothing_by_longer_latencies() {
    let mut problems = Vec::new();
    let mut slower = 0;
    let lone = kernels::all().into_iter().filter_map(|reference| {
        let mut launches = (0..6).map(reference.launch);
        let is_lone =
            |launch: &LaunchFile| launch.grid == [1; 3] && launch.block.iter().product::<u32>() <= 32;
        Some((reference, launches.find(is_lone)?))
    });
    let of_the_paper = |(reference, _): &(KernelReference, LaunchFile)| reference.source == "matmul_int";
    for (_, (reference, launch)) in (0..)
        .zip(lone)
        .filter(|(number, found)| number % 6 == 0 || of_the_paper(found))
    {
        let session = session(&reference, "sm_62");
        let source = reference.source;
        for pick in [Selection::Typical, Selection::Least, Selection::Seed(3)] {
            let mut options = TimedOptions {
                selection: pick,
                ..options("jetson-tx2")
            };
            let picked = options.machine.select(pick);
            let mut time = |set: &[(Parameter, u64)]| {
                options.set = [&APART, set].concat();
                run(&reference, &session, &launch, &options, &mut Silent)
            };
            let first = time(&[]);
            for &parameter in Parameter::ALL {
                let is_apart = APART.iter().any(|(other, _)| *other == parameter);
                if parameter.unit() != Unit::Cycles || parameter.slow_end() != SlowEnd::High || is_apart {
                    continue;
                }
                let mut before = first;
                for more in [1, 3, 5, 40] {
                    let cycles = time(&[(parameter, picked[parameter] + more)]);
                    slower += u32::from(cycles > before);
                    if cycles < before {
                        let name = parameter.name();
                        problems.push(format!("{source}, {pick:?}: {name} +{more}: {cycles}"));
                    }
                    before = cycles;
                }
            }
        }
    }
    assert!(slower > 500, "{slower} made a difference");
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// Cycles for which warps waited for a unit of their sub-partition.
#[derive(Default)]
struct Units {
    waited: u64,
}

impl EventListener for Units {
    fn event(&mut self, _: u64, event: &Event) {
        if let Event::Issue { waited, .. } = event {
            self.waited += waited[Stall::Unit as usize];
        }
    }
}

/// Accesses that find no room among those under way keep the load/store lanes, so that warps wait for these before they issue
/// more.
#[test]
fn a_full_window_stops_the_issue_of_accesses() {
    let reference = kernels::all()
        .into_iter()
        .find(|reference| reference.kernel == "hotspot")
        .expect("there is the kernel");
    let session = session(&reference, "sm_62");
    let launch = (reference.launch)(0);
    let waited = |misses| {
        let options = TimedOptions {
            set: vec![(Parameter::L1Misses, misses)],
            ..options("jetson-tx2")
        };
        let mut units = Units::default();
        run(&reference, &session, &launch, &options, &mut units);
        units.waited
    };
    assert!(
        waited(4) > 2 * waited(512),
        "{} and {}",
        waited(4),
        waited(512)
    );
}

/// Notes the shortest distances from instructions of fixed latency to those that read their results.
struct Distances<'a> {
    code: &'a Code,
    fixed: Vec<bool>,
    /// When a cell of a warp was written last, and whether with a fixed latency.
    written: HashMap<(u64, u32, Cell), (u64, bool)>,
    /// Of registers, predicates, the condition code.
    least: [u64; 3],
}

impl EventListener for Distances<'_> {
    fn event(&mut self, cycle: u64, event: &Event) {
        let Event::Issue { warp, at, .. } = event else {
            return;
        };
        let op = &self.code.ops[at.index()];
        for cell in op.reads.iter().copied().chain(op.condition.cells()) {
            let written = self.written.get(&(warp.block, warp.warp, cell));
            if let Some((before, true)) = written {
                let kind = match cell {
                    Cell::CC => 2,
                    cell => usize::from(cell.is_predicate()),
                };
                self.least[kind] = self.least[kind].min(cycle - before);
            }
        }
        let is_fixed = self.fixed[at.index()];
        for &cell in &op.writes {
            let written = (cycle, is_fixed);
            self.written.insert((warp.block, warp.warp, cell), written);
        }
    }
}

/// Without control words nothing is faster than what instructions depend on.
#[test]
fn scoreboards_keep_the_latencies() {
    let mut least = [u64::MAX; 3];
    for reference in kernels::all() {
        let session = session(&reference, "sm_62");
        let launch = (reference.launch)(1);
        let kernel = session.launched_grid(Some(reference.kernel), &launch);
        let prepared = session.prepare(kernel.expect("it has the kernel"));
        let prepared = prepared.expect("it decodes");
        let Program::Nvidia(program) = &prepared.program else {
            panic!("it is for a GPU");
        };
        let is_fixed = |instr| {
            let timing = program.timing(instr);
            timing.is_some_and(|timing| timing.latency == nvidia::Latency::Fixed)
        };
        let options = TimedOptions {
            interlock: Interlock::Scoreboard,
            ..options("jetson-tx2")
        };
        let mut distances = Distances {
            code: &prepared.code,
            fixed: program.instrs.iter().map(is_fixed).collect(),
            written: HashMap::new(),
            least,
        };
        let run = session.time(&prepared, &launch, &options, &mut distances);
        run.expect("it runs");
        least = distances.least;
    }
    let machine = options("jetson-tx2").machine.select(Selection::Typical);
    let expected = [
        Parameter::LatencyAlu,
        Parameter::LatencyPredicate,
        Parameter::LatencyCarry,
    ];
    assert_eq!(least, expected.map(|parameter| machine[parameter]));
}

/// Notes which instructions open barriers: those that were issued last when one opened.
struct Openers {
    last: usize,
    opened: Vec<usize>,
}

impl EventListener for Openers {
    fn event(&mut self, _: u64, event: &Event) {
        match event {
            Event::Issue { at, .. } => self.last = at.index(),
            Event::BarrierOpens { .. } => self.opened.push(self.last),
            _ => {}
        }
    }
}

/// Who comes to a barrier without waiting opens it there and then when all others wait already.
#[test]
fn arrivals_without_waiting_open_barriers() {
    let all = kernels::all();
    let reference = all.iter().find(|known| known.kernel == "barrier_named");
    let reference = reference.expect("a kernel with BAR.ARV");
    let session = session(reference, "sm_62");
    let launch = (reference.launch)(0);
    let kernel = session.launched_grid(Some(reference.kernel), &launch);
    let prepared = session.prepare(kernel.expect("it has the kernel"));
    let prepared = prepared.expect("it decodes");
    let Program::Nvidia(program) = &prepared.program else {
        panic!("it is for a GPU");
    };
    let mut openers = Openers {
        last: 0,
        opened: Vec::new(),
    };
    let options = options("jetson-tx2");
    let run = session.time(&prepared, &launch, &options, &mut openers);
    run.expect("it runs");
    let passes = |at: &&usize| {
        let view = program.view(&program.instrs[**at]);
        view.is_some_and(|view| view.mnemonic == "BAR" && view.has(".ARV"))
    };
    assert!(openers.opened.iter().filter(passes).count() > 0);
}

/// Warps that end come to no barrier: what is assumed of barriers has no part in runs without any.
#[test]
fn kernels_without_barriers_ask_for_no_number_of_them() {
    let reference = of_source("mandelbrot");
    let session = session(&reference, "sm_62");
    let launch = (reference.launch)(0);
    assert!(launch.block.iter().product::<u32>() > 32);
    let kernel = session.launched_grid(Some(reference.kernel), &launch);
    let prepared = session.prepare(kernel.expect("it has the kernel"));
    let prepared = prepared.expect("it decodes");
    let run = session.time(&prepared, &launch, &options("jetson-tx2"), &mut Silent);
    let run = run.expect("it runs");
    for parameter in [Parameter::BarrierLatency, Parameter::BarrierThreads] {
        assert!(!run.used_parameters.contains(&parameter), "{}", parameter.name());
    }
}

/// Texture and surface units are those of the first level: how many there are has a part in the result.
#[test]
fn surfaces_ask_for_the_number_of_units() {
    let all = kernels::all();
    let reference = all.iter().find(|known| known.kernel == "surface_copy");
    let reference = reference.expect("a kernel with surfaces");
    let session = session(reference, "sm_62");
    let launch = (reference.launch)(0);
    let kernel = session.launched_grid(Some(reference.kernel), &launch);
    let prepared = session.prepare(kernel.expect("it has the kernel"));
    let prepared = prepared.expect("it decodes");
    let run = session.time(&prepared, &launch, &options("jetson-tx2"), &mut Silent);
    assert!(run.expect("it runs").used_parameters.contains(&Parameter::L1Units));
}
