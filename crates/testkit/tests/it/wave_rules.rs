//! Timed runs of waves: their events obey the issue rules, every cycle is accounted for, and each rule finds a fault.

use warpbound_machine::{GpuModel, Parameter};

use warpbound_query::{Prepared, Session, SplitMarks, SplitOptions};

use warpbound_simulate::timed::SplitPipelines;

use warpbound_isa::Program;
use warpbound_launch::LaunchFile;
use warpbound_runs::{TimedOptions, simulate_with};
use warpbound_simulate::timed::{Event, EventListener, Stall};
use warpbound_testkit::kernels::{self, KernelReference};
use warpbound_testkit::wave_issue_rules::{WaveIssueRules, WaveRuleSetup};
use warpbound_testkit::wave_runs::{self, WaveRunCounts};

/// Parts of the messages of refusals.
const REFUSED: [&str; 2] = [
    "the meaning of this instruction is not known yet",
    "no table or address found for its register",
];

/// Each kernel with two variations of machine, selection, policy, splitting and single waves.
#[test]
fn runs_obey_the_issue_rules() {
    let mut counts = WaveRunCounts::default();
    let mut problems = Vec::new();
    for (number, reference) in (0u64..).zip(kernels::gcn3()) {
        let session = wave_runs::open(&reference);
        let launch = (reference.launch)(number % 3);
        let kernel = session.launched_kernel(Some(reference.kernel), None);
        let prepared = session.prepare(kernel.expect("it has the kernel"));
        let prepared = prepared.expect("it decodes");
        for variation in [2 * number, 2 * number + 1] {
            let options = wave_runs::options(variation);
            let name = format!("{} with variation {variation}", reference.kernel);
            match wave_runs::check(&session, &prepared, &launch, &options, &mut counts) {
                Ok(found) => problems.extend(found.iter().map(|text| format!("{name}: {text}"))),
                // Instructions without a meaning, and splitting of code whose flow is not followed, are refused.
                Err(error) if REFUSED.iter().any(|refusal| error.contains(refusal)) => {}
                Err(error) => problems.push(format!("{name}: {error}")),
            }
        }
    }
    assert!(counts.issues > 100_000 && counts.splits > 300, "{counts:?}");
    problems.truncate(20);
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// Events of a run.
#[derive(Default)]
struct Recorder(Vec<(u64, Event)>);

impl EventListener for Recorder {
    fn event(&mut self, cycle: u64, event: &Event) {
        self.0.push((cycle, *event));
    }
}

/// A recorded run.
struct Recorded {
    session: Session,
    reference: KernelReference,
    options: TimedOptions,
    events: Vec<(u64, Event)>,
}

impl Recorded {
    fn new(source: &str, options: TimedOptions) -> Recorded {
        let all = kernels::gcn3().into_iter();
        let reference = all.into_iter().find(|of| of.source == source);
        let reference = reference.expect("a kernel");
        let session = wave_runs::open(&reference);
        let mut recorder = Recorder::default();
        let launch: LaunchFile = (reference.launch)(0);
        simulate_with(
            &session,
            &prepare(&session, &reference),
            &launch,
            &options,
            &mut recorder,
        )
        .expect("it runs");
        Recorded {
            session,
            reference,
            options,
            events: recorder.0,
        }
    }

    /// Returns the violations of events, if the machine had other values of parameters.
    fn violations(
        &self,
        events: &[(u64, Event)],
        set: &[(Parameter, u64)],
        change: fn(&mut WaveRuleSetup),
    ) -> Vec<String> {
        let prepared = prepare(&self.session, &self.reference);
        let program = match &prepared.program {
            Program::Amd(program) => Some(program),
            _ => None,
        };
        let program = program.expect("it is for GCN3");
        let machine = wave_runs::configuration(&self.options);
        let machine = set.iter().fold(machine, |machine, &(parameter, value)| {
            machine.with(parameter, value)
        });
        let mut setup = wave_runs::rule_setup(&prepared, &self.options);
        change(&mut setup);
        let mut rules = WaveIssueRules::new(program, &machine, setup);
        for (cycle, event) in events {
            rules.event(*cycle, event);
        }
        rules.all_violations()
    }

    /// Returns the violations of changed events.
    fn with_fault(&self, change: impl FnOnce(&mut Vec<(u64, Event)>)) -> Vec<String> {
        let mut events = self.events.clone();
        change(&mut events);
        self.violations(&events, &[], |_| ())
    }
}

fn prepare<'a>(session: &'a Session, reference: &KernelReference) -> Prepared<'a> {
    let kernel = session.launched_kernel(Some(reference.kernel), None);
    let kernel = kernel.expect("it has the kernel");
    session.prepare(kernel).expect("it decodes")
}

fn options(splits: u32, merge: bool) -> TimedOptions {
    TimedOptions {
        splitting: SplitOptions {
            splits,
            pipelines: SplitPipelines::Parallel,
            marks: SplitMarks::All,
            merge,
        },
        // Branches that are not taken, messages and waits of wave states last longer than a turn.
        ..TimedOptions::new(GpuModel::built_in("gem5-apu").expect("it comes with the tool"))
    }
}

fn names(violations: &[String], rule: &str) -> bool {
    let start = format!("{rule}: ");
    violations
        .iter()
        .any(|violation| violation.starts_with(&start))
}

/// A simulator that takes less than a parameter of the machine for each of its times breaks the rule about it.
#[test]
fn times_that_are_too_short_are_reported() {
    let hotspot = Recorded::new("hotspot", options(0, false));
    let levels = Recorded::new("split_levels", options(3, true));
    let mix = Recorded::new("f64_mix", options(0, false));
    let products = Recorded::new("split_levels", options(0, false));
    for (run, parameter, rule) in [
        (&hotspot, Parameter::ValuCycles, "pipelines"),
        (&hotspot, Parameter::SaluCycles, "pipelines"),
        (&levels, Parameter::BranchCycles, "pipelines"),
        (&hotspot, Parameter::VmemCycles, "pipelines"),
        (&hotspot, Parameter::LdsCycles, "pipelines"),
        (&hotspot, Parameter::SmemCycles, "pipelines"),
        (&products, Parameter::ValuQuarter, "pipelines"),
        (&mix, Parameter::ValuF64Mul, "pipelines"),
        (&hotspot, Parameter::ValuLatency, "registers"),
        (&hotspot, Parameter::ValuToScalar, "registers"),
        (&hotspot, Parameter::SaluLatency, "registers"),
        (&levels, Parameter::SaluSlow, "registers"),
        (&hotspot, Parameter::BranchNotTaken, "delays"),
        (&levels, Parameter::BranchTaken, "delays"),
        (&hotspot, Parameter::BarrierLatency, "barriers"),
        (&levels, Parameter::SplitLatency, "splits"),
        (&levels, Parameter::SplitMerge, "splits"),
    ] {
        let name = parameter.name();
        assert!(
            run.violations(&run.events, &[], |_| ()).is_empty(),
            "{name}"
        );
        let found = run.violations(&run.events, &[(parameter, 1000)], |_| ());
        assert!(names(&found, rule), "{name}: {found:?}");
    }
    for (run, parameter, most, rule) in [
        (&levels, Parameter::IssueKinds, 1, "kinds"),
        (&hotspot, Parameter::SimdWaves, 0, "capacity"),
        (&hotspot, Parameter::CuGroups, 0, "capacity"),
    ] {
        let found = run.violations(&run.events, &[(parameter, most)], |_| ());
        assert!(names(&found, rule), "{}: {found:?}", parameter.name());
    }
}

/// Position of the first event of a kind.
fn find(events: &[(u64, Event)], is: impl Fn(&Event) -> bool) -> usize {
    let position = events.iter().position(|(_, event)| is(event));
    position.expect("the run has such an event")
}

/// Wrong issues are reported by the rule that they break.
#[test]
fn wrong_issues_are_reported() {
    let run = Recorded::new("hotspot", options(0, false));
    let late = run.with_fault(|events| {
        let at = find(events, |event| matches!(event, Event::Issue { .. }));
        events[at].0 += 1;
    });
    assert!(names(&late, "turns"), "{late:?}");
    let together = run.with_fault(|events| {
        // The whole of SIMD 1 one turn of SIMD 0 earlier is SIMD 0.
        for (cycle, event) in events.iter_mut() {
            if let Event::Issue { warp, .. } = event
                && warp.scheduler == 1
            {
                warp.scheduler = 0;
                *cycle -= 1;
            }
        }
    });
    assert!(names(&together, "siblings"), "{together:?}");
    let unwaited = run.with_fault(|events| {
        for (_, event) in events.iter_mut() {
            if let Event::Memory { done, .. } = event {
                *done += 1000;
            }
        }
    });
    assert!(names(&unwaited, "waits"), "{unwaited:?}");
    let unwaited = run.with_fault(|events| {
        for (_, event) in events.iter_mut() {
            if let Event::Scalar { done, .. } = event {
                *done += 1000;
            }
        }
    });
    assert!(names(&unwaited, "waits"), "{unwaited:?}");
    let early = run.with_fault(|events| {
        for (cycle, event) in events.iter_mut() {
            if let Event::Issue { waited, .. } = event {
                *cycle -= std::mem::take(&mut waited[Stall::Barrier as usize]);
            }
        }
    });
    assert!(names(&early, "barriers"), "{early:?}");
    let lost = run.with_fault(|events| {
        let at = find(events, |event| {
            matches!(
                event,
                Event::Memory {
                    l2_lookups: 1..,
                    ..
                }
            )
        });
        if let Event::Memory {
            l2_hits,
            l2_lookups,
            ..
        } = &mut events[at].1
        {
            *l2_hits = *l2_lookups + 1;
        }
    });
    assert!(names(&lost, "memory"), "{lost:?}");
    let unbegun = run.with_fault(|events| {
        let at = find(events, |event| matches!(event, Event::BlockBegins { .. }));
        events.remove(at);
    });
    assert!(names(&unbegun, "events"), "{unbegun:?}");
}

/// Splits that share lanes, and siblings on pipelines that are not theirs, are reported.
#[test]
fn wrong_splits_are_reported() {
    let run = Recorded::new("split_levels", options(3, false));
    let serialised = run.violations(&run.events, &[], |setup| {
        setup.pipelines = SplitPipelines::Serialised;
    });
    assert!(names(&serialised, "kinds"), "{serialised:?}");
    assert!(names(&serialised, "pipelines"), "{serialised:?}");
    let fewer = run.violations(&run.events, &[], |setup| setup.splits = 1);
    assert!(names(&fewer, "splits"), "{fewer:?}");
    // The lanes of a child as the thesis has them: all that are not active in the parent (E1).
    let bare = run.with_fault(|events| {
        for (_, event) in events.iter_mut() {
            if let Event::Split {
                parent_lanes,
                child_lanes,
                ..
            } = event
            {
                *child_lanes = !*parent_lanes;
            }
        }
    });
    assert!(names(&bare, "splits"), "{bare:?}");
    let elsewhere = run.with_fault(|events| {
        let at = find(events, |event| matches!(event, Event::Split { .. }));
        if let Event::Split { child, .. } = &mut events[at].1 {
            child.slot = 0;
        }
    });
    assert!(names(&elsewhere, "splits"), "{elsewhere:?}");
}
