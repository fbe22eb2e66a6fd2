//! Runs with time: what kernels compute does not depend on it, the rules of issue hold, and the same comes out each time.

use warpbound_driver::{Hooks, Prepared, Session, TimedOptions, TimedRun};
use warpbound_isa::Program;
use warpbound_launch::{LaunchFile, StartCaches};
use warpbound_machine::{GpuModel, Parameter, Selection, Unit, SchedulerPolicy};
use warpbound_simulate::timed::{Event, Interlock, EventListener, Stall};
use warpbound_testkit::kernels::{self, KernelReference};
use warpbound_testkit::issue_rules::IssueRules;

/// Launches of each kernel.
const LAUNCHES: u64 = 2;

/// Chips, and the machines that kernels for them run on.
const MACHINES: [(&str, &str); 3] = [
    ("sm_62", "jetson-tx2"),
    ("sm_61", "gtx1080"),
    ("sm_50", "titan-x-maxwell"),
];

/// Sources that use what a chip has not.
const IMPOSSIBLE: [(&str, &str); 2] = [("f16_arithmetic", "sm_50"), ("integer_mix", "sm_50")];

fn session(reference: &KernelReference, chip: &str) -> Session {
    let file = format!("{}.{chip}.cubin", reference.source);
    let path = format!("{}/../../kernels/built/{file}", env!("CARGO_MANIFEST_DIR"));
    let contents = std::fs::read(path).expect("the cubin is in the repository");
    Session::open(&file, &contents).expect("it loads")
}

fn options(machine: &str) -> TimedOptions {
    TimedOptions::new(GpuModel::built_in(machine).expect("it comes with the tool"))
}

fn run(
    session: &Session,
    reference: &KernelReference,
    launch: &LaunchFile,
    options: &TimedOptions,
) -> Result<TimedRun, String> {
    let hooks = Hooks {
        events: None,
        timeline: None,
        progress: &mut |_| (),
    };
    session
        .launched_grid(Some(reference.kernel), launch)
        .and_then(|kernel| session.run_timed(kernel, launch, options, hooks))
        .map_err(|diagnostic| diagnostic.to_string())
}

/// Ways to run: each machine with another policy and other numbers.
fn ways(chip: &str, machine: &str) -> Vec<TimedOptions> {
    let typical = options(machine);
    let other = match chip {
        "sm_62" => TimedOptions {
            scheduler: Some(SchedulerPolicy::RunToBarrier),
            selection: Selection::Seed(7),
            caches: Some(StartCaches::Warm),
            ..options(machine)
        },
        "sm_61" => TimedOptions {
            scheduler: Some(SchedulerPolicy::Lrr),
            selection: Selection::Most,
            ..options(machine)
        },
        _ => TimedOptions {
            scheduler: Some(SchedulerPolicy::Oldest),
            selection: Selection::Least,
            interlock: Interlock::Scoreboard,
            ..options(machine)
        },
    };
    vec![typical, other]
}

fn all_launches() -> impl Iterator<Item = (KernelReference, LaunchFile, &'static str, &'static str)> {
    kernels::all().into_iter().flat_map(|reference| {
        (0..LAUNCHES).flat_map(move |number| {
            let possible =
                move |(chip, _): &(&str, &str)| !IMPOSSIBLE.contains(&(reference.source, *chip));
            MACHINES
                .into_iter()
                .filter(possible)
                .map(move |(chip, machine)| (reference, (reference.launch)(number), chip, machine))
        })
    })
}

/// Buffers hold at the end what the references say, in whatever order warps issue.
#[test]
fn results_do_not_depend_on_time() {
    let mut problems = Vec::new();
    for (reference, launch, chip, machine) in all_launches() {
        let session = session(&reference, chip);
        for options in ways(chip, machine) {
            let name = format!("{} on {machine}, {:?}", reference.kernel, options.scheduler);
            match run(&session, &reference, &launch, &options) {
                Err(error) => problems.push(format!("{name}: {error}")),
                Ok(run) if run.report.checked_elements == 0 => {
                    problems.push(format!("{name}: nothing is compared"));
                }
                Ok(run) => problems.extend(run.unexpected.map(|what| format!("{name}: {what}"))),
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// The events of all runs obey the rules of issue.
#[test]
fn the_referee_finds_nothing() {
    let mut problems = Vec::new();
    let mut issues = 0;
    for (reference, launch, chip, machine) in all_launches() {
        let session = session(&reference, chip);
        let kernel = session.launched_grid(Some(reference.kernel), &launch);
        let kernel = kernel.expect("it has the kernel");
        let prepared = session.prepare(kernel).expect("it is decoded");
        let Program::Nvidia(program) = &prepared.program else {
            continue;
        };
        for mut options in ways(chip, machine) {
            options.interlock = Interlock::ControlWords;
            let picked = options.machine.select(options.selection);
            let mut referee = IssueRules::new(program, &picked);
            if session
                .time(&prepared, &launch, &options, &mut referee)
                .is_err()
            {
                continue;
            }
            issues += referee.issues;
            let name = |what| format!("{} on {machine}: {what}", reference.kernel);
            problems.extend(referee.all_violations().iter().map(name));
        }
    }
    assert!(issues > 1_000_000, "{issues} issues");
    problems.truncate(50);
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// Lets a warp issue too early: as if it had not waited for a reason.
struct Hasty<'a> {
    referee: IssueRules<'a>,
    reason: Stall,
}

impl EventListener for Hasty<'_> {
    fn event(&mut self, cycle: u64, event: &Event) {
        let mut event = *event;
        let mut early = 0;
        if let Event::Issue { waited, .. } = &mut event {
            early = std::mem::take(&mut waited[self.reason as usize]);
        }
        self.referee.event(cycle - early, &event);
    }
}

/// A planted fault for each rule: the referee names it.
#[test]
fn the_referee_bites() {
    let reference = kernels::all()
        .into_iter()
        .find(|reference| reference.source == "hotspot")
        .expect("a kernel with barriers and shared memory");
    let launch = (reference.launch)(0);
    let session = session(&reference, "sm_61");
    let kernel = session.launched_grid(Some(reference.kernel), &launch);
    let prepared = session
        .prepare(kernel.expect("it has the kernel"))
        .expect("it is decoded");
    let Program::Nvidia(program) = &prepared.program else {
        panic!("it is for a GPU");
    };
    let options = options("gtx1080");
    let picked = options.machine.select(Selection::Typical);
    for (reason, rule) in [
        (Stall::Dependency, "which demands"),
        (Stall::Memory, "does not wait for scoreboard"),
        (Stall::Barrier, "the barrier before is not open"),
        (Stall::Unit, "is busy"),
        (Stall::Selection, "has issued in this cycle"),
    ] {
        let mut hasty = Hasty {
            referee: IssueRules::new(program, &picked),
            reason,
        };
        session
            .time(&prepared, &launch, &options, &mut hasty)
            .expect("it runs");
        let problems = hasty.referee.all_violations();
        let named = problems.iter().any(|problem| problem.contains(rule));
        assert!(named, "{rule}: {problems:?}");
    }
}

/// The same run twice, byte for byte.
#[test]
fn runs_repeat() {
    for (reference, launch, chip, machine) in all_launches().step_by(7) {
        let session = session(&reference, chip);
        let text = || match run(&session, &reference, &launch, &options(machine)) {
            Ok(run) => format!("{:?} {:?}", run.report, run.memory),
            Err(error) => error,
        };
        assert_eq!(text(), text(), "{}", reference.kernel);
    }
}

/// What a run did not ask for does not change it: so what is listed as assumed is all that was.
#[test]
fn untouched_numbers_change_nothing() {
    let mut random = fastrand::Rng::with_seed(6);
    let mut tried = 0;
    for (reference, launch, chip, machine) in all_launches().step_by(5) {
        let session = session(&reference, chip);
        let Ok(kernel) = session.launched_grid(Some(reference.kernel), &launch) else {
            continue;
        };
        let prepared: Prepared<'_> = session.prepare(kernel).expect("it is decoded");
        // With other numbers, other things happen.
        let pick = match random.u32(0..4) {
            0 => Selection::Typical,
            1 => Selection::Least,
            2 => Selection::Most,
            _ => Selection::Seed(random.u64(..)),
        };
        let interlock = match random.u32(0..4) {
            0 => Interlock::Scoreboard,
            _ => Interlock::ControlWords,
        };
        let mut options = TimedOptions {
            selection: pick,
            interlock,
            ..options(machine)
        };
        let picked = options.machine.select(pick);
        let mut silent = warpbound_simulate::timed::Silent;
        let Ok(first) = session.time(&prepared, &launch, &options, &mut silent) else {
            continue;
        };
        for &parameter in Parameter::ALL {
            let figure = options.machine.range(parameter);
            if first.used_parameters.contains(&parameter) || random.u32(0..4) > 0 {
                continue;
            }
            // Counts of cycles may have any value.
            let other = match parameter.unit() {
                Unit::Cycles => picked[parameter] + 7,
                _ if picked[parameter] == figure.most => figure.least,
                _ => figure.most,
            };
            if other == picked[parameter] {
                continue;
            }
            options.set.push((parameter, other));
            let again = session
                .time(&prepared, &launch, &options, &mut silent)
                .expect("it runs");
            let name = parameter.name();
            assert_eq!(first.cycles, again.cycles, "{}: {name}", reference.kernel);
            options.set.clear();
            tried += 1;
        }
    }
    assert!(tried > 500, "{tried}");
}
