//! Timed runs: results equal the references, the issue rules hold, and runs repeat exactly.

use warpbound_query::{Prepared, Session};

use warpbound_isa::Program;
use warpbound_launch::{LaunchFile, StartCaches};
use warpbound_machine::{GpuModel, SchedulerPolicy, Selection, Unit};
use warpbound_runs::{RunHooks, TimedOptions, TimedRun, simulate, simulate_with};
use warpbound_simulate::timed::{Event, EventListener, Interlock, Stall};
use warpbound_testkit::issue_rules::IssueRules;
use warpbound_testkit::kernels::{self, KernelReference};

/// Number of launches of each kernel.
const LAUNCHES: u64 = 2;

/// Chips, and the machines that run kernels built for them.
const MACHINES: [(&str, &str); 3] = [
    ("sm_62", "jetson-tx2"),
    ("sm_61", "gtx1080"),
    ("sm_50", "titan-x-maxwell"),
];

/// Sources that use features which a chip does not have.
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
    let hooks = RunHooks {
        events: None,
        timeline: None,
        progress: &mut |_| (),
    };
    session
        .launched_kernel(Some(reference.kernel), launch.kernel.as_deref())
        .and_then(|kernel| simulate(session, kernel, launch, options, hooks))
        .map_err(|diagnostic| diagnostic.to_string())
}

/// Returns the configurations of a machine: typical, and with another policy and other parameters.
fn configurations(chip: &str, machine: &str) -> Vec<TimedOptions> {
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

fn all_launches() -> impl Iterator<Item = (KernelReference, LaunchFile, &'static str, &'static str)>
{
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

/// The final contents of buffers equal the references, for any order of issue.
#[test]
fn results_do_not_depend_on_time() {
    let mut problems = Vec::new();
    for (reference, launch, chip, machine) in all_launches() {
        let session = session(&reference, chip);
        for options in configurations(chip, machine) {
            let name = format!("{} on {machine}, {:?}", reference.kernel, options.scheduler);
            match run(&session, &reference, &launch, &options) {
                Err(error) => problems.push(format!("{name}: {error}")),
                Ok(run) if run.report.checked_elements == 0 => {
                    problems.push(format!("{name}: nothing is compared"));
                }
                Ok(run) => problems.extend(
                    run.unexpected
                        .map(|difference| format!("{name}: {difference}")),
                ),
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// The events of all runs obey the issue rules.
#[test]
fn runs_obey_the_issue_rules() {
    let mut problems = Vec::new();
    let mut issues = 0;
    for (reference, launch, chip, machine) in all_launches() {
        let session = session(&reference, chip);
        let kernel = session.launched_kernel(Some(reference.kernel), launch.kernel.as_deref());
        let kernel = kernel.expect("it has the kernel");
        let prepared = session.prepare(kernel).expect("it is decoded");
        let Program::Nvidia(program) = &prepared.program else {
            continue;
        };
        for mut options in configurations(chip, machine) {
            options.interlock = Interlock::ControlWords;
            let machine_config = options.machine.select(options.selection);
            let mut rules = IssueRules::new(program, &machine_config);
            if simulate_with(&session, &prepared, &launch, &options, &mut rules).is_err() {
                continue;
            }
            issues += rules.issues;
            let name = |difference| format!("{} on {machine}: {difference}", reference.kernel);
            problems.extend(rules.all_violations().iter().map(name));
        }
    }
    assert!(issues > 1_000_000, "{issues} issues");
    problems.truncate(50);
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// Planted fault: moves issues to the cycle without the stall for one reason.
struct EarlyIssue<'a> {
    rules: IssueRules<'a>,
    reason: Stall,
}

impl EventListener for EarlyIssue<'_> {
    fn event(&mut self, cycle: u64, event: &Event) {
        let mut event = *event;
        let mut early = 0;
        if let Event::Issue { waited, .. } = &mut event {
            early = std::mem::take(&mut waited[self.reason as usize]);
        }
        self.rules.event(cycle - early, &event);
    }
}

/// A planted fault against each rule is reported.
#[test]
fn planted_early_issues_are_reported() {
    let reference = kernels::all()
        .into_iter()
        .find(|reference| reference.source == "hotspot")
        .expect("a kernel with barriers and shared memory");
    let launch = (reference.launch)(0);
    let session = session(&reference, "sm_61");
    let kernel = session.launched_kernel(Some(reference.kernel), launch.kernel.as_deref());
    let prepared = session
        .prepare(kernel.expect("it has the kernel"))
        .expect("it is decoded");
    let Program::Nvidia(program) = &prepared.program else {
        panic!("it is for a GPU");
    };
    let options = options("gtx1080");
    let machine_config = options.machine.select(Selection::Typical);
    for (reason, rule) in [
        (Stall::Dependency, "which requires"),
        (Stall::Memory, "does not wait for scoreboard"),
        (Stall::Barrier, "the preceding barrier is not open"),
        (Stall::Unit, "is busy"),
        (Stall::Selection, "has already issued in this cycle"),
    ] {
        let mut early_issue = EarlyIssue {
            rules: IssueRules::new(program, &machine_config),
            reason,
        };
        simulate_with(&session, &prepared, &launch, &options, &mut early_issue).expect("it runs");
        let problems = early_issue.rules.all_violations();
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

/// Parameters that a run did not use do not change it, so the listed assumptions are complete.
#[test]
fn unused_parameters_change_nothing() {
    let mut random = fastrand::Rng::with_seed(6);
    let mut tried = 0;
    for (reference, launch, chip, machine) in all_launches().step_by(5) {
        let session = session(&reference, chip);
        let Ok(kernel) = session.launched_kernel(Some(reference.kernel), launch.kernel.as_deref())
        else {
            continue;
        };
        let prepared: Prepared<'_> = session.prepare(kernel).expect("it is decoded");
        // Other parameters reach other behaviour.
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
        let machine_config = options.machine.select(pick);
        let mut silent = warpbound_simulate::timed::Silent;
        let Ok(first) = simulate_with(&session, &prepared, &launch, &options, &mut silent) else {
            continue;
        };
        for parameter in options.machine.parameters() {
            let figure = options.machine.range(parameter);
            if first.used_parameters.contains(&parameter) || random.u32(0..4) > 0 {
                continue;
            }
            // Counts of cycles may have any value.
            let other = match parameter.unit() {
                Unit::Cycles => machine_config[parameter] + 7,
                _ if machine_config[parameter] == figure.most => figure.least,
                _ => figure.most,
            };
            if other == machine_config[parameter] {
                continue;
            }
            options.set.push((parameter, other));
            let again = simulate_with(&session, &prepared, &launch, &options, &mut silent)
                .expect("it runs");
            let name = parameter.name();
            assert_eq!(first.cycles, again.cycles, "{}: {name}", reference.kernel);
            options.set.clear();
            tried += 1;
        }
    }
    assert!(tried > 500, "{tried}");
}
