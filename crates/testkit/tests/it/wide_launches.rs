//! Bounds in cycles of launches of several warps whose lanes part, against timed runs in both orders of the sides of branches.

use fastrand::Rng;
use warpbound_audit::audit::{LaunchTimeAudit, LaunchTimeRuns, PathOrder};
use warpbound_audit::claims;
use warpbound_base::{Deadline, Diagnostic};
use warpbound_bounds::cycles::CycleInputs;
use warpbound_bounds::{CycleOptions, LaunchExtent, LaunchTime};
use warpbound_cycles::{KernelTime, MachineNumbers};
use warpbound_ipet::{BlockChain, Effort, LaunchTerm, SchedulerClass, StatedCounts};
use warpbound_launch::LaunchFile;
use warpbound_machine::{GpuModel, Parameter, SchedulerPolicy, Selection};
use warpbound_query::{
    AnalysedKernel, BoundOptions, CacheState, Session, StatedLaunches, TimeScope,
};
use warpbound_testkit::odd_machines::odd_machine;
use warpbound_testkit::short_launches::compare_launch;

/// Launches of several warps. In all of them, lanes of a warp part; some have barriers between the places where they do.
const LAUNCHES: [&str; 8] = [
    "hotspot.hotspot.1",
    "mandelbrot.mandelbrot.1",
    "switch_table.switch_table.1",
    "goto_flow.goto_cross.1",
    "bitonic_sort.bitonic_block_double.2",
    "f64_division.f64_division.1",
    "barrier_kinds.barrier_named.1",
    "barrier_kinds.barrier_reduce.1",
];

/// Launch with the code that it is for.
pub(crate) struct Subject {
    session: Session,
    pub(crate) launch: LaunchFile,
}

impl Subject {
    fn read(name: &str) -> Subject {
        let source = name.split('.').next().unwrap_or_default();
        Subject::of_files(
            &format!("wide/{source}.sm_90.cubin"),
            &format!("launches/{name}.toml"),
        )
    }

    /// Launch of a kernel of `groups_that_meet`, or of the file with its name.
    fn meeting(kernel: &str) -> Subject {
        let folder = match kernel {
            "meet_in_function" => "limits/meet_in_function",
            _ => "limits/groups_that_meet",
        };
        let mut subject =
            Subject::of_files(&format!("{folder}.sm_90.cubin"), &format!("{folder}.toml"));
        subject.launch.kernel = Some(kernel.to_owned());
        subject
    }

    pub(crate) fn of_files(cubin: &str, launch: &str) -> Subject {
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../kernels");
        let read = |path: &str| {
            std::fs::read(format!("{root}/{path}")).map_err(|e| Diagnostic::new(e.to_string()))
        };
        let contents = read(cubin).expect("a cubin");
        let text = read(launch).expect("a launch file");
        let text = String::from_utf8(text).expect("text");
        let files = |file: &str| read(&format!("launches/{file}"));
        Subject {
            session: Session::open(cubin, &contents).expect("it loads"),
            launch: LaunchFile::parse(launch, &text, &files).expect("a launch"),
        }
    }

    pub(crate) fn compare(
        &self,
        machine: GpuModel,
        order: PathOrder,
    ) -> Result<LaunchTimeAudit, Diagnostic> {
        let runs = LaunchTimeRuns {
            cycles: CycleOptions {
                counts: Default::default(),
                machine,
                caches: CacheState::Any,
                splitting: Default::default(),
            },
            runs: vec![
                (Selection::Slow, SchedulerPolicy::Gto),
                (Selection::Typical, SchedulerPolicy::Lrr),
                (Selection::Seed(7), SchedulerPolicy::Random(3)),
            ],
            order,
            max_instructions: 2_000_000,
            schedulers: SchedulerClass::WorkConserving,
            searches: false,
        };
        compare_launch(&self.session, &self.launch, &runs)
    }
}

impl Subject {
    /// Bound of the launch, without its overhead, from inputs that are changed.
    pub(crate) fn planted_bound(
        &self,
        machine: &GpuModel,
        change: impl FnOnce(&mut CycleInputs),
    ) -> u64 {
        self.with_time(machine, |mut time, loops| {
            time.change(change);
            let stated = vec![None; loops];
            let stated = StatedCounts {
                bounds: &stated,
                totals: &stated,
                never: &[],
            };
            let found = time.bound(stated, Effort::default());
            let bound = found.expect("it has a bound").bound;
            bound.upper_bound().limit().0 - bound.term(LaunchTerm::Launch)
        })
    }

    /// Calls `work` with the time of the launch and the number of its loops.
    pub(crate) fn with_time<T>(
        &self,
        machine: &GpuModel,
        work: impl FnOnce(LaunchTime, usize) -> T,
    ) -> T {
        let kernel = self.launch.kernel.as_deref();
        let kernel = self
            .session
            .launched_kernel(None, kernel)
            .expect("a kernel");
        let prepared = self.session.prepare_timed(kernel).expect("it is analysed");
        let options = BoundOptions {
            launches: StatedLaunches::one(&self.launch),
            ..BoundOptions::default()
        };
        let claims = claims(&self.session, &prepared, &options).expect("claims");
        let knowledge = self.session.launch(kernel, &options).expect("a launch");
        let analysed = AnalysedKernel {
            session: &self.session,
            prepared: &prepared,
            options: &options,
            knowledge: &knowledge,
            flow: &claims.flow,
            deadline: Deadline::default(),
        };
        let cycles = CycleOptions {
            counts: Default::default(),
            machine: machine.clone(),
            caches: CacheState::Any,
            splitting: Default::default(),
        };
        let extent = LaunchExtent {
            scope: TimeScope::Grid,
            schedulers: SchedulerClass::WorkConserving,
        };
        let time = LaunchTime::new(analysed, &cycles, extent, &[]).expect("it has a time");
        work(time, claims.flow.loops.sites.len())
    }
}

const ORDERS: [PathOrder; 2] = [PathOrder::TakenFirst, PathOrder::FallThroughFirst];

#[test]
fn launches_in_both_orders_are_within_their_bounds() {
    let base = GpuModel::built_in("h200").expect("a built-in machine");
    for name in LAUNCHES {
        let subject = Subject::read(name);
        for (number, order) in ORDERS.into_iter().enumerate() {
            for group_switch in [0, 20_000] {
                let machine = base
                    .clone()
                    .with(Parameter::IssueGroupSwitch, group_switch)
                    .with(Parameter::SmCount, 1 + number as u64);
                let found = subject
                    .compare(machine, order)
                    .expect("it suits the kernel");
                assert_eq!(found.refused, None, "{name}");
                assert!(found.runs > 0, "{name}: {} skipped", found.skipped);
                assert!(found.exceeded.is_empty(), "{name}: {:?}", found.exceeded);
            }
        }
    }
}

/// Machines with odd numbers: 0, 1, 50 times the usual one, caches of a few lines.
#[test]
fn launches_on_odd_machines_are_within_their_bounds() {
    let base = GpuModel::built_in("h200").expect("a built-in machine");
    let mut runs = 0;
    for (number, name) in LAUNCHES.into_iter().enumerate() {
        let subject = Subject::read(name);
        for seed in 0..6 {
            let seed = 100 * number as u64 + seed;
            let machine = odd_machine(&base, &mut Rng::with_seed(seed));
            let machine = machine.with(Parameter::SmCount, 1 + seed % 3);
            // A block may not fit on an SM.
            let Ok(found) = subject.compare(machine, ORDERS[seed as usize % 2]) else {
                continue;
            };
            runs += found.runs;
            assert!(
                found.exceeded.is_empty(),
                "{name} {seed}: {:?}",
                found.exceeded
            );
        }
    }
    assert!(runs > 60, "{runs}");
}

/// A bound that takes groups to change for nothing, on a machine that takes long for it.
#[test]
fn planted_changes_of_groups_without_a_price_are_found() {
    let base = GpuModel::built_in("h200").expect("a built-in machine");
    let machine = base
        .with(Parameter::IssueGroupSwitch, 100_000)
        .with(Parameter::SmCount, 1);
    let subject = Subject::read("switch_table.switch_table.1");
    let found = subject.compare(machine.clone(), PathOrder::TakenFirst);
    let found = found.expect("it suits the kernel");
    let worst = found.worst.map_or(0, |(worst, _)| worst);
    let mut is_parted = false;
    let planted = subject.planted_bound(&machine, |inputs| {
        is_parted = inputs.parted.take().is_some();
    });
    assert!(is_parted);
    assert!(planted < worst, "{planted} {worst}");
    assert!(subject.planted_bound(&machine, |_| {}) >= worst);
}

/// A group that goes on has not waited for the loads of another one, so they are in flight together.
#[test]
fn loads_of_other_groups_stay_in_flight() {
    let machine = GpuModel::built_in("h200").expect("a built-in machine");
    let numbers = MachineNumbers::of_ranges(&machine).expect("numbers");
    let outstanding = |inputs: &CycleInputs| {
        let kernel = inputs.kernel();
        let contention = KernelTime::new(&kernel, &numbers).contention(&numbers);
        contention
            .expect("services")
            .outstanding
            .unwrap_or(u64::MAX)
    };
    let mut found = Vec::new();
    for name in LAUNCHES {
        Subject::read(name).with_time(&machine, |time, _| {
            let of_all = outstanding(time.inputs());
            let mut alone = time.inputs().clone();
            let change = alone.parted.take().map(|parted| parted.change);
            alone
                .steps
                .retain(|step| Some(step.from) != change && step.to != change);
            found.push((of_all, outstanding(&alone)));
        });
    }
    assert!(found.iter().all(|(of_all, alone)| of_all >= alone));
    assert!(
        found.iter().any(|(of_all, alone)| of_all > alone),
        "{found:?}"
    );
}

/// Groups that a GPU takes for one group access several addresses at once, and each of them accesses one.
#[test]
fn groups_that_meet_are_within_their_bounds() {
    let base = GpuModel::built_in("h200").expect("a built-in machine");
    let slow = [
        ("meet_in_shared", &[(Parameter::SharedConflict, 5000)][..]),
        ("meet_in_function", &[(Parameter::SharedConflict, 5000)]),
        (
            "meet_in_global",
            &[(Parameter::L1Misses, 7), (Parameter::L2Hit, 20_000)],
        ),
        ("meet_in_constants", &[(Parameter::ConstantReplay, 20_000)]),
    ];
    for (kernel, numbers) in slow {
        let numbers = numbers.iter();
        let machine = numbers.fold(base.clone(), |machine, &(p, value)| machine.with(p, value));
        for blocks in [1, 5] {
            let mut subject = Subject::meeting(kernel);
            subject.launch.grid = [blocks, 1, 1];
            let mut worst = 0;
            for order in ORDERS {
                let found = subject.compare(machine.clone(), order);
                let found = found.expect("it suits the kernel");
                assert_eq!(found.refused, None, "{kernel}");
                assert!(found.exceeded.is_empty(), "{kernel}: {:?}", found.exceeded);
                worst = found.worst.map_or(0, |(run, _)| run.max(worst));
            }
            if kernel == "meet_in_global" {
                // Bounds of misses exceed these runs, whatever the numbers of an access are.
                continue;
            }
            // A bound of what each group accesses alone.
            let planted = subject.planted_bound(&machine, |inputs| {
                let spaces = inputs.accesses.values_mut();
                for limits in spaces.flat_map(|limits| &mut limits.spaces) {
                    (limits.lines, limits.sectors, limits.conflicts) = (1, 1, 0);
                }
                for loaded in inputs.loaded_constants.values_mut() {
                    loaded.words = 1;
                }
            });
            assert!(planted < worst, "{kernel}: {planted} {worst}");
        }
    }
}

/// Lines that come from the L2 cache after lines that the launch has loaded: the wait for a line of the second cache is too
/// short for them.
#[test]
fn lines_after_loaded_ones_are_waited_for() {
    let base = GpuModel::built_in("h200").expect("a built-in machine");
    for kernel in ["meet_in_shared", "meet_in_constants", "meet_in_global"] {
        let subject = Subject::meeting(kernel);
        for lines in 4..12 {
            let machine = base
                .clone()
                .with(Parameter::InstructionAhead, 3)
                .with(Parameter::InstructionPreloaded, 128 * lines)
                .with(Parameter::InstructionL2Hit, 200_000);
            let found = subject.compare(machine, PathOrder::TakenFirst);
            let found = found.expect("it suits the kernel");
            assert!(found.runs > 0, "{kernel}");
            assert!(found.exceeded.is_empty(), "{kernel}: {:?}", found.exceeded);
        }
    }
}

/// If lanes of a warp may be elsewhere while others are at a barrier, the graph does not have the parts of the warp between
/// barriers, so the warps of a block count one after the other.
#[test]
fn warps_add_up_where_lanes_may_be_apart_at_a_barrier() {
    let machine = GpuModel::built_in("h200").expect("a built-in machine");
    let chain = |subject: &Subject| {
        subject.with_time(&machine, |time, _| {
            let apart = time.inputs().parted.as_ref().map(|parted| &parted.apart);
            (time.chain(), apart.is_some_and(|apart| !apart.is_empty()))
        })
    };
    let folder = "limits/apart_at_barrier";
    let apart = Subject::of_files(&format!("{folder}.sm_90.cubin"), &format!("{folder}.toml"));
    assert_eq!(chain(&apart), (BlockChain::AllWarps, true));
    // Lanes of these part as well, but have joined at each barrier. The second one has barriers at the beginning of a region
    // where lanes part.
    for name in ["hotspot.hotspot.1", "barrier_kinds.barrier_reduce.0"] {
        assert_eq!(chain(&Subject::read(name)), (BlockChain::Aligned, true));
    }
    for order in [PathOrder::TakenFirst, PathOrder::FallThroughFirst] {
        let found = apart.compare(machine.clone(), order);
        let found = found.expect("it suits the kernel");
        assert!(
            found.runs > 0 && found.exceeded.is_empty(),
            "{:?}",
            found.exceeded
        );
    }
}
