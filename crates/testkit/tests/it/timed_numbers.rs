//! Timed runs with arbitrary machine parameters: cycles are accounted for, a single warp never gains by a longer
//! latency, and no warp waits forever.

use std::collections::HashMap;

use warpbound_base::Family;
use warpbound_ir::{Cell, Code};
use warpbound_isa::{Program, nvidia};
use warpbound_launch::LaunchFile;
use warpbound_machine::SchedulerPolicy;
use warpbound_machine::{GpuModel, Parameter, Selection, SlowEnd, Unit};
use warpbound_query::Session;
use warpbound_runs::{TimedOptions, simulate_with};
use warpbound_simulate::timed::{Event, EventListener, Interlock, Silent, Stall};
use warpbound_testkit::cycle_accounting::CycleAccounting;
use warpbound_testkit::kernels::{self, KernelReference};

fn session(reference: &KernelReference, chip: &str) -> Session {
    let file = format!("{}.{chip}.cubin", reference.source);
    let path = format!("{}/../../kernels/built/{file}", env!("CARGO_MANIFEST_DIR"));
    let contents = std::fs::read(path).expect("the cubin is in the repository");
    Session::open(&file, &contents).expect("it loads")
}

fn options(machine: &str) -> TimedOptions {
    TimedOptions::new(GpuModel::built_in(machine).expect("it comes with the tool"))
}

/// Returns the first kernel of a source.
fn of_source(source: &str) -> KernelReference {
    let mut all = kernels::all().into_iter();
    let found = all.find(|reference| reference.source == source);
    found.expect("there is such a kernel")
}

/// Runs a launch of a kernel with a listener; returns the cycles.
fn run(
    reference: &KernelReference,
    session: &Session,
    launch: &LaunchFile,
    options: &TimedOptions,
    listener: &mut impl EventListener,
) -> u64 {
    let kernel = session.launched_kernel(Some(reference.kernel), launch.kernel.as_deref());
    let prepared = session.prepare(kernel.expect("it has the kernel"));
    let run = simulate_with(
        session,
        &prepared.expect("it decodes"),
        launch,
        options,
        listener,
    );
    run.expect("it runs").cycles.0.0
}

/// With the least values nothing is prefetched, so that instructions after barriers miss.
#[test]
fn cycles_are_accounted_for_with_other_parameters() {
    let policies = [
        SchedulerPolicy::Gto,
        SchedulerPolicy::Lrr,
        SchedulerPolicy::Oldest,
        SchedulerPolicy::RunToBarrier,
        SchedulerPolicy::Youngest,
        SchedulerPolicy::ContendedUnit,
        SchedulerPolicy::Random(5),
    ];
    let mut problems = Vec::new();
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
            let mut accounting = CycleAccounting::new();
            let session = session(reference, "sm_61");
            run(reference, &session, &launch, &options, &mut accounting);
            if let Err(violations) = accounting.finish() {
                problems.push(format!(
                    "{} on {machine}, {pick:?}: {violations}",
                    reference.kernel
                ));
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// Parameters with which resources that fetches and data share take no time: their order may give a gain
/// (`testkit::monotone`).
const NO_CONTENTION: [(Parameter, u64); 3] = [
    (Parameter::L2Bandwidth, 1 << 40),
    (Parameter::DramBandwidth, 1 << 40),
    (Parameter::AtomicOccupancy, 0),
];

/// A single warp performs the same actions in the same order, so a longer latency never makes it end earlier.
#[test]
fn a_single_warp_gains_nothing_by_longer_latencies() {
    let mut problems = Vec::new();
    let mut slower = 0;
    let single_warp_launches = kernels::all().into_iter().filter_map(|reference| {
        let mut launches = (0..6).map(reference.launch);
        let is_single_warp = |launch: &LaunchFile| {
            launch.grid == [1; 3] && launch.block.iter().product::<u32>() <= 32
        };
        Some((reference, launches.find(is_single_warp)?))
    });
    let of_the_paper =
        |(reference, _): &(KernelReference, LaunchFile)| reference.source == "matmul_int";
    for (_, (reference, launch)) in (0..)
        .zip(single_warp_launches)
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
                options.set = [&NO_CONTENTION, set].concat();
                run(&reference, &session, &launch, &options, &mut Silent)
            };
            let first = time(&[]);
            for parameter in Parameter::of_family(Family::Maxwell) {
                let is_apart = NO_CONTENTION.iter().any(|(other, _)| *other == parameter);
                if parameter.unit() != Unit::Cycles
                    || parameter.slow_end() != SlowEnd::High
                    || is_apart
                {
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

/// Accesses that find the window of outstanding misses full keep the load/store lanes, so that warps wait for these
/// before they issue more.
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

/// Listener for the shortest distances from instructions of fixed latency to those that read their results.
struct Distances<'a> {
    code: &'a Code,
    fixed: Vec<bool>,
    /// Cycle in which each cell of a warp was last written, and whether with a fixed latency.
    written: HashMap<(u64, u32, Cell), (u64, bool)>,
    /// Shortest distance for registers, predicates and the condition code.
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

/// Without control words no instruction issues before its operands are ready.
#[test]
fn scoreboards_keep_the_latencies() {
    let mut least = [u64::MAX; 3];
    for reference in kernels::all() {
        let session = session(&reference, "sm_62");
        let launch = (reference.launch)(1);
        let kernel = session.launched_kernel(Some(reference.kernel), launch.kernel.as_deref());
        let prepared = session.prepare(kernel.expect("it has the kernel"));
        let prepared = prepared.expect("it decodes");
        let Program::Nvidia(program) = &prepared.program else {
            panic!("it is for a GPU");
        };
        let is_fixed = |instr| {
            let timing = program.timing(instr);
            timing.is_some_and(|timing| timing.latency == nvidia::LatencyKind::Fixed)
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
        let run = simulate_with(&session, &prepared, &launch, &options, &mut distances);
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

/// Listener for the instructions that open barriers: those issued last when one opens.
struct BarrierOpeners {
    last: usize,
    opened: Vec<usize>,
}

impl EventListener for BarrierOpeners {
    fn event(&mut self, _: u64, event: &Event) {
        match event {
            Event::Issue { at, .. } => self.last = at.index(),
            Event::BarrierOpens { .. } => self.opened.push(self.last),
            _ => {}
        }
    }
}

/// A warp that arrives at a barrier without waiting opens it immediately if all others already wait.
#[test]
fn arrivals_without_waiting_open_barriers() {
    let all = kernels::all();
    let reference = all.iter().find(|known| known.kernel == "barrier_named");
    let reference = reference.expect("a kernel with BAR.ARV");
    let session = session(reference, "sm_62");
    let launch = (reference.launch)(0);
    let kernel = session.launched_kernel(Some(reference.kernel), launch.kernel.as_deref());
    let prepared = session.prepare(kernel.expect("it has the kernel"));
    let prepared = prepared.expect("it decodes");
    let Program::Nvidia(program) = &prepared.program else {
        panic!("it is for a GPU");
    };
    let mut openers = BarrierOpeners {
        last: 0,
        opened: Vec::new(),
    };
    let options = options("jetson-tx2");
    let run = simulate_with(&session, &prepared, &launch, &options, &mut openers);
    run.expect("it runs");
    let passes = |at: &&usize| {
        let view = program.view(&program.instrs[**at]);
        view.is_some_and(|view| {
            view.opcode == nvidia::Opcode::Bar && view.has(nvidia::Modifier::Arv)
        })
    };
    assert!(openers.opened.iter().filter(passes).count() > 0);
}

/// Warps that end do not arrive at a barrier, so runs without barriers use no parameter of barriers.
#[test]
fn kernels_without_barriers_use_no_parameter_of_barriers() {
    let reference = of_source("mandelbrot");
    let session = session(&reference, "sm_62");
    let launch = (reference.launch)(0);
    assert!(launch.block.iter().product::<u32>() > 32);
    let kernel = session.launched_kernel(Some(reference.kernel), launch.kernel.as_deref());
    let prepared = session.prepare(kernel.expect("it has the kernel"));
    let prepared = prepared.expect("it decodes");
    let run = simulate_with(
        &session,
        &prepared,
        &launch,
        &options("jetson-tx2"),
        &mut Silent,
    );
    let run = run.expect("it runs");
    for parameter in [Parameter::BarrierLatency, Parameter::BarrierThreads] {
        assert!(
            !run.used_parameters.contains(&parameter),
            "{}",
            parameter.name()
        );
    }
}

/// Texture and surface accesses use the units of L1, so a run uses the number of units.
#[test]
fn surfaces_use_the_number_of_units() {
    let all = kernels::all();
    let reference = all.iter().find(|known| known.kernel == "surface_copy");
    let reference = reference.expect("a kernel with surfaces");
    let session = session(reference, "sm_62");
    let launch = (reference.launch)(0);
    let kernel = session.launched_kernel(Some(reference.kernel), launch.kernel.as_deref());
    let prepared = session.prepare(kernel.expect("it has the kernel"));
    let prepared = prepared.expect("it decodes");
    let run = simulate_with(
        &session,
        &prepared,
        &launch,
        &options("jetson-tx2"),
        &mut Silent,
    );
    assert!(
        run.expect("it runs")
            .used_parameters
            .contains(&Parameter::L1Units)
    );
}
