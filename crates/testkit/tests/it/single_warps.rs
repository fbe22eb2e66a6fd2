//! Runs of a single warp of a launch.

use warpbound_query::Session;

use warpbound_simulate::timed::SingleWarp;

use warpbound_ir::OpIndex;
use warpbound_isa::Program;
use warpbound_isa::nvidia::WARP_LANES;
use warpbound_launch::LaunchFile;
use warpbound_machine::{Parameter, Selection};
use warpbound_runs::{TimedOptions, simulate_with};
use warpbound_simt::Mask;
use warpbound_simulate::timed::{AccessKind, Event, EventListener, WarpPlace};
use warpbound_testkit::cycle_accounting::CycleAccounting;
use warpbound_testkit::issue_rules::IssueRules;
use warpbound_testkit::kernels::{self, KernelReference};

/// Records all events.
#[derive(Default)]
struct Recorder(Vec<(u64, Event)>);

impl EventListener for Recorder {
    fn event(&mut self, cycle: u64, event: &Event) {
        self.0.push((cycle, *event));
    }
}

/// Passes the events of a single warp on as those of warp 0 of a block of one warp.
struct FirstWarp<L>(L);

impl<L: EventListener> EventListener for FirstWarp<L> {
    fn event(&mut self, cycle: u64, event: &Event) {
        let mut event = *event;
        if let Event::Issue { warp, .. }
        | Event::Shared { warp, .. }
        | Event::Memory { warp, .. }
        | Event::WarpEnds { warp } = &mut event
        {
            warp.warp = 0;
        }
        self.0.event(cycle, &event);
    }
}

impl Recorder {
    /// Instructions of a warp, with their lanes.
    fn issued(&self, only: SingleWarp) -> Vec<(OpIndex, Mask, Mask)> {
        let events = self.0.iter().filter_map(|(_, event)| match *event {
            Event::Issue {
                warp,
                at,
                active,
                taken,
                ..
            } => {
                (warp.block == only.block && warp.warp == only.warp).then_some((at, active, taken))
            }
            _ => None,
        });
        events.collect()
    }

    /// Whether warps may exchange values: barriers, shared memory, atomic operations.
    fn communicates(&self) -> bool {
        self.0.iter().any(|(_, event)| {
            matches!(
                event,
                Event::Shared { .. }
                    | Event::BarrierOpens { .. }
                    | Event::Memory {
                        access: AccessKind::Atomic,
                        ..
                    }
            )
        })
    }

    /// Places of the issued instructions.
    fn places(&self) -> impl Iterator<Item = WarpPlace> {
        self.0.iter().filter_map(|(_, event)| match event {
            Event::Issue { warp, .. } => Some(*warp),
            _ => None,
        })
    }
}

fn session(reference: &KernelReference) -> Session {
    let file = format!("{}.sm_61.cubin", reference.source);
    let path = format!("{}/../../kernels/built/{file}", env!("CARGO_MANIFEST_DIR"));
    let contents = std::fs::read(path).expect("the cubin is in the repository");
    Session::open(&file, &contents).expect("it loads")
}

fn options(session: &Session, only: Option<SingleWarp>) -> TimedOptions {
    TimedOptions {
        only,
        ..TimedOptions::new(session.own_gpu_model().expect("a machine is for it"))
    }
}

/// Simulates a launch; returns its cycles.
fn run(
    session: &Session,
    reference: &KernelReference,
    launch: &LaunchFile,
    only: Option<SingleWarp>,
    listener: &mut impl EventListener,
) -> Result<u64, String> {
    let kernel = session
        .launched_kernel(Some(reference.kernel), launch.kernel.as_deref())
        .expect("it has the kernel");
    let prepared = session.prepare(kernel).expect("it decodes");
    let finished = simulate_with(
        session,
        &prepared,
        launch,
        &options(session, only),
        listener,
    );
    finished
        .map(|end| end.cycles.0.0)
        .map_err(|d| d.to_string())
}

/// Number of blocks of a launch, and of warps in each.
fn size(launch: &LaunchFile) -> (u64, u32) {
    let blocks = launch.grid.iter().map(|&n| u64::from(n)).product();
    let threads: u32 = launch.block.iter().product();
    (blocks, threads.div_ceil(WARP_LANES))
}

/// Only the warp issues, from its slot in the first row, and every cycle of it is accounted for. Warps that do not
/// communicate issue the same instructions as among others.
#[test]
fn a_single_warp_runs_alone() {
    let (mut runs, mut same) = (0, 0);
    for reference in kernels::all() {
        let session = session(&reference);
        let launch = (reference.launch)(0);
        let (blocks, warps) = size(&launch);
        let mut all = Recorder::default();
        run(&session, &reference, &launch, None, &mut all).expect("it runs");
        let name = reference.kernel;
        for only in [
            SingleWarp { block: 0, warp: 0 },
            SingleWarp {
                block: blocks - 1,
                warp: warps - 1,
            },
        ] {
            let mut listener = (Recorder::default(), FirstWarp(CycleAccounting::new()));
            let finished = run(&session, &reference, &launch, Some(only), &mut listener);
            let (events, FirstWarp(accounting)) = listener;
            if let Err(error) = finished {
                // It may wait for ever at a barrier for a number of threads, or find an address that it makes from values
                // of other warps outside its buffer.
                assert!(all.communicates(), "{name}: {error}");
                continue;
            }
            accounting
                .finish()
                .unwrap_or_else(|violations| panic!("{name}: {violations}"));
            let model = options(&session, None).machine;
            let machine = model.select(Selection::Typical);
            let schedulers = machine[Parameter::SmSchedulers] as u32;
            let place = WarpPlace {
                sm: 0,
                scheduler: only.warp % schedulers,
                slot: only.warp,
                block: only.block,
                warp: only.warp,
            };
            assert!(events.places().all(|at| at == place), "{name}");
            let begins = events
                .0
                .iter()
                .filter(|(_, e)| matches!(e, Event::BlockBegins { .. }));
            assert_eq!(begins.count(), 1, "{name}");
            runs += 1;
            if !all.communicates() {
                assert_eq!(events.issued(only), all.issued(only), "{name}");
                same += 1;
            }
        }
    }
    assert!(runs > 250 && same > 100, "{runs} runs, {same} compared");
}

/// A launch of one warp is the run of its only warp, and the issue rules hold.
#[test]
fn a_launch_of_one_warp_is_unchanged() {
    let mut compared = 0;
    for reference in kernels::all() {
        let session = session(&reference);
        let launch = (reference.launch)(0);
        let launch = match size(&launch) {
            (1, 1) => launch,
            _ => LaunchFile {
                grid: [1; 3],
                block: [launch.block[0].min(WARP_LANES), 1, 1],
                ..launch
            },
        };
        let only = SingleWarp { block: 0, warp: 0 };
        let mut all = Recorder::default();
        let Ok(cycles) = run(&session, &reference, &launch, None, &mut all) else {
            continue;
        };
        let mut alone = Recorder::default();
        let again = run(&session, &reference, &launch, Some(only), &mut alone);
        assert_eq!(again, Ok(cycles), "{}", reference.kernel);
        assert!(all.0 == alone.0, "{}: events", reference.kernel);
        compared += 1;
    }
    assert!(compared > 100, "{compared}");
}

fn reference(kernel: &str) -> KernelReference {
    let mut all = kernels::all().into_iter();
    all.find(|reference| reference.kernel == kernel)
        .expect("it is in the repository")
}

/// Barriers of the whole block do not wait for warps that have exited; those of a number of threads do.
#[test]
fn barriers_of_a_single_warp() {
    let only = Some(SingleWarp { block: 0, warp: 1 });
    let reduce = reference("barrier_reduce");
    let launch = (reduce.launch)(0);
    assert!(size(&launch).1 > 1, "several warps");
    let mut events = Recorder::default();
    run(&session(&reduce), &reduce, &launch, only, &mut events).expect("it ends");
    let opens = |event: &Event| matches!(event, Event::BarrierOpens { warps: 1, .. });
    assert!(events.0.iter().any(|(_, event)| opens(event)));

    let named = reference("barrier_named");
    let launch = (named.launch)(2);
    assert_eq!(size(&launch).1, 2);
    let found = run(
        &session(&named),
        &named,
        &launch,
        only,
        &mut Recorder::default(),
    );
    let error = found.expect_err("it waits for another warp");
    assert!(error.contains("no other warp can arrive"), "{error}");
    assert!(error.contains("warp 1 at barrier"), "{error}");
}

/// The issue rules, which read the control words themselves, hold in runs of the last warp of a launch.
#[test]
fn issue_rules_of_a_single_warp() {
    let mut issues = 0;
    for reference in kernels::all() {
        let session = session(&reference);
        let kernel = session
            .launched_kernel(Some(reference.kernel), None)
            .expect("it has the kernel");
        let prepared = session.prepare(kernel).expect("it decodes");
        let Program::Nvidia(program) = &prepared.program else {
            panic!("machine code");
        };
        let machine = options(&session, None).machine.select(Selection::Typical);
        let mut rules = FirstWarp(IssueRules::new(program, &machine));
        let launch = (reference.launch)(0);
        let (blocks, warps) = size(&launch);
        let only = Some(SingleWarp {
            block: blocks - 1,
            warp: warps - 1,
        });
        if run(&session, &reference, &launch, only, &mut rules).is_ok() {
            let violations = rules.0.all_violations();
            assert!(
                violations.is_empty(),
                "{}: {violations:?}",
                reference.kernel
            );
        }
        issues += rules.0.issues;
    }
    assert!(issues > 10_000, "{issues} issues");
}

/// A warp or block that the launch lacks is refused.
#[test]
fn unknown_warps_are_refused() {
    let reference = reference("barrier_reduce");
    let session = session(&reference);
    let launch = (reference.launch)(0);
    let (blocks, warps) = size(&launch);
    for (block, warp) in [
        (blocks, 0),
        (0, warps),
        (u64::MAX, u32::MAX),
        (blocks - 1, warps),
    ] {
        let only = Some(SingleWarp { block, warp });
        let found = run(
            &session,
            &reference,
            &launch,
            only,
            &mut Recorder::default(),
        );
        let error = found.expect_err("there is no such warp");
        let expected = format!("there is no warp {block}.{warp}");
        assert!(error.contains(&expected), "{error}");
    }
    let only = Some(SingleWarp {
        block: blocks - 1,
        warp: warps - 1,
    });
    run(
        &session,
        &reference,
        &launch,
        only,
        &mut Recorder::default(),
    )
    .expect("the last warp");
}
