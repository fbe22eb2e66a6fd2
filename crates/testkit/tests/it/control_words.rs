//! Random programs with random control words: shapes that occur in their runs, bounds of their loops, and the issue
//! rules.

mod census;

use std::collections::BTreeMap;
use std::sync::OnceLock;

use warpbound_bounds::bound;
use warpbound_query::{BoundOptions, Prepared};

use warpbound_isa::nvidia::{ControlWord, SassProgram};
use warpbound_isa::{Program, TargetStyle};
use warpbound_machine::{GpuModel, Parameter, Selection};
use warpbound_runs::TimedOptions;
use warpbound_simulate::timed::{Event, EventListener, Silent};
use warpbound_testkit::control_words::{ControlWordProgram, program};
use warpbound_testkit::cycle_accounting::CycleAccounting;
use warpbound_testkit::issue_rules::IssueRules;

use census::{Issued, shapes};

const SEEDS: u64 = 500;

/// Recorder of issues and of the sectors of accesses.
#[derive(Default)]
struct Trace(Vec<Issued>);

impl EventListener for Trace {
    fn event(&mut self, cycle: u64, event: &Event) {
        match *event {
            Event::Issue {
                at,
                active,
                taken,
                waited,
                ..
            } => self.0.push(Issued {
                cycle,
                at: at.index(),
                active: active.count_ones(),
                taken: taken.count_ones(),
                waited,
                sectors: None,
            }),
            Event::Memory { sectors, .. } => {
                if let Some(last) = self.0.last_mut() {
                    last.sectors = Some(sectors);
                }
            }
            _ => {}
        }
    }
}

fn options(machine: &str) -> TimedOptions {
    TimedOptions::new(GpuModel::built_in(machine).expect("it comes with the tool"))
}

/// Returns the decoded instructions of a program.
fn decoded(prepared: &Prepared<'_>) -> SassProgram {
    let sass = match &prepared.program {
        Program::Nvidia(sass) => Some(sass.clone()),
        _ => None,
    };
    sass.expect("it is for a GPU")
}

/// Simulates the first launch of a program on sm_61 with a listener; returns its decoded instructions.
fn run(
    program: &ControlWordProgram,
    options: &TimedOptions,
    listener: &mut impl EventListener,
) -> SassProgram {
    let session = program.session(61);
    let launch = program.launch(0);
    let cycles = program.cycles(&session, &launch, options, listener);
    cycles.expect("it has no faults");
    decoded(&program.prepared(&session).expect("it ran"))
}

/// Number of programs in whose run each shape occurs.
fn occurrences() -> &'static BTreeMap<String, usize> {
    static COUNTS: OnceLock<BTreeMap<String, usize>> = OnceLock::new();
    COUNTS.get_or_init(|| {
        let mut options = options("gtx1080");
        // A sector counts once, so that the number of sectors tells the addresses apart.
        options.set.push((Parameter::L1Merge, 1));
        let mut counts = BTreeMap::new();
        for seed in 0..SEEDS {
            let program = program(seed);
            let mut trace = Trace::default();
            let sass = run(&program, &options, &mut trace);
            for shape in shapes(&sass, &program.loops, &trace.0) {
                *counts.entry(shape).or_default() += 1;
            }
        }
        counts
    })
}

/// Asserts that each shape occurs in the runs of at least `least` programs.
#[track_caller]
fn occur(shapes: impl IntoIterator<Item = String>, least: usize) {
    let counts = occurrences();
    let rare: Vec<String> = shapes
        .into_iter()
        .map(|shape| (counts.get(&shape).copied().unwrap_or(0), shape))
        .filter(|(count, _)| *count < least)
        .map(|(count, shape)| format!("{shape}: {count}"))
        .collect();
    assert!(rare.is_empty(), "{rare:?} of {counts:#?}");
}

#[test]
fn every_scheduling_code_is_executed() {
    occur((0..32).map(|code| format!("code {code}")), 20);
}

#[test]
fn every_scoreboard_is_raised_by_results_and_by_sources() {
    let kinds = ["write", "read", "waited"];
    let all = kinds
        .iter()
        .flat_map(|kind| (0..6).map(move |n| format!("{kind} {n}")));
    occur(all, 50);
}

#[test]
fn depbar_leaves_none_to_three_outstanding() {
    occur((0..4).map(|most| format!("depbar leaves {most}")), 20);
    occur((0..6).map(|n| format!("depbar of {n}")), 20);
}

#[test]
fn scoreboards_are_raised_twice_before_a_wait() {
    occur(
        ["raised twice".to_owned(), "raised by two units".to_owned()],
        20,
    );
}

#[test]
fn scoreboards_are_raised_in_a_loop_and_awaited_after_it() {
    occur(["raised in loop".to_owned()], 20);
}

#[test]
fn scoreboards_are_raised_before_a_loop_and_awaited_in_it() {
    occur(["awaited in loop".to_owned()], 20);
}

#[test]
fn pairs_issue_together_are_split_by_waits_and_form_chains() {
    let shapes = [
        "pair together",
        "pair split by a wait",
        "chain of pairs",
        "pair with a branch",
    ];
    occur(shapes.map(str::to_owned), 20);
}

#[test]
fn loads_before_and_in_a_conditional_are_awaited_after_it() {
    let shapes = ["load before a conditional", "load in a conditional"];
    occur(shapes.map(str::to_owned), 20);
}

#[test]
fn stores_come_in_bursts() {
    occur(["store burst".to_owned()], 20);
}

#[test]
fn wide_accesses_are_uniform_or_local() {
    let shapes = [
        "uniform 128 bits",
        "local 64 bits",
        "local 128 bits",
        "diverse 128 bits",
    ];
    occur(shapes.map(str::to_owned), 20);
}

#[test]
fn loads_follow_atomics_on_the_same_line() {
    let shapes = ["global load after an atomic", "shared load after an atomic"];
    occur(shapes.map(str::to_owned), 20);
}

#[test]
fn queues_of_units_are_full() {
    let units = ["xu", "fp64", "fp16", "lsu"];
    occur(units.map(|unit| format!("full queue of {unit}")), 20);
}

#[test]
fn code_outgrows_the_first_instruction_cache() {
    occur(["more than 8 KiB of code".to_owned()], 10);
}

#[test]
fn drains_wait_for_pending_loads() {
    occur(["drain with a pending load".to_owned()], 20);
}

#[test]
fn every_kind_of_instruction_and_branch_is_executed() {
    let mnemonics = [
        "ATOM", "ATOMS", "BAR", "BFE", "BRA", "DADD", "DEPBAR", "DFMA", "DMUL", "EXIT", "F2F",
        "F2I", "FADD", "FFMA", "FLO", "HADD2", "HFMA2", "I2F", "IADD", "IADD3", "IMAD", "IMUL",
        "ISETP", "LDC", "LDG", "LDL", "LDS", "LOP", "MEMBAR", "MOV", "MOV32I", "MUFU", "POPC",
        "PSETP", "RED", "S2R", "SHFL", "SHL", "SSY", "STG", "STL", "STS", "SYNC", "VOTE", "XMAD",
    ];
    occur(mnemonics.map(str::to_owned), 20);
    let branches = [
        "divergent branch",
        "uniform branch",
        "some lanes exit",
        "loop left by some lanes",
    ];
    occur(branches.map(str::to_owned), 20);
    occur(
        ["constant operand of bank 3", "reuse"].map(str::to_owned),
        20,
    );
}

/// Programs are a function of the seed, and run on all machines whatever memory contains.
#[test]
fn programs_run_on_all_machines() {
    let machines = [
        ("gtx1080", 61),
        ("jetson-tx2", 62),
        ("p100", 60),
        ("titan-x-maxwell", 52),
    ];
    for seed in 1000..1040 {
        let drawn = program(seed);
        assert_eq!(drawn.code, program(seed).code);
        assert_ne!(drawn.code, program(seed + 1).code);
        for (machine, sm) in machines {
            let session = drawn.session(sm);
            for (contents, selection) in (0..).zip([Selection::Slow, Selection::Seed(seed)]) {
                let options = TimedOptions {
                    selection,
                    ..options(machine)
                };
                let launch = drawn.launch(contents);
                let mut accounting = CycleAccounting::new();
                let cycles = drawn.cycles(&session, &launch, &options, &mut accounting);
                let cycles = cycles.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
                let events = accounting.finish();
                assert!(events.is_ok(), "seed {seed} on {machine}: {events:?}");
                assert!(cycles > 0);
            }
        }
    }
}

/// Loops run their headers as often as their facts allow, and no more.
#[test]
fn facts_about_loops_hold_and_are_attained() {
    let (mut loops, mut attained) = (0, 0);
    for seed in 0..SEEDS {
        let program = program(seed);
        if program.loops.is_empty() {
            continue;
        }
        let mut trace = Trace::default();
        let sass = run(&program, &options("gtx1080"), &mut trace);
        for fact in &program.loops {
            let header = sass.index_of(fact.header).expect("an instruction");
            // The instruction before a header is outside the loop and leads into it only.
            let (mut most, mut count) = (0, 0);
            for issued in &trace.0 {
                if issued.at + 1 == header {
                    count = 0;
                } else if issued.at == header {
                    count += 1;
                    most = most.max(count);
                }
            }
            assert!(
                most <= fact.per_entry,
                "seed {seed}: {fact:?} runs {most} times"
            );
            loops += usize::from(most > 0);
            attained += usize::from(most == fact.per_entry);
        }
    }
    assert!(loops > 300, "{loops} loops");
    assert!(attained * 10 > loops * 8, "{attained} of {loops}");
}

/// The bound in instructions holds for runs with other contents, with the stated facts.
#[test]
fn instruction_bounds_hold_under_the_facts() {
    let (mut bounded, mut equal) = (0, 0);
    for seed in 0..150 {
        let program = program(seed);
        let session = program.session(61);
        let prepared = program.prepared(&session).expect("it is decoded");
        let bounds = BoundOptions {
            block: Some([program.threads, 1, 1]),
            facts: program.facts(&session),
            derive: false,
            ..BoundOptions::default()
        };
        let report = bound(&session, prepared.kernel, &bounds).expect("facts of this code");
        let Some(bound) = report.verdict.bound() else {
            panic!("seed {seed}: {:?}", report.verdict.reason());
        };
        bounded += 1;
        for contents in 0..2 {
            let mut trace = Trace::default();
            let launch = program.launch(contents);
            let run = program.cycles(&session, &launch, &options("gtx1080"), &mut trace);
            run.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
            let issued = trace.0.len() as u128;
            assert!(issued <= bound, "seed {seed}: {issued} of {bound}");
            equal += usize::from(issued == bound);
        }
    }
    assert_eq!(bounded, 150);
    assert!(
        equal > 50,
        "{equal} runs with as many instructions as the bound"
    );
}

/// Damage to a control word.
type ControlWordChange = fn(&mut ControlWord);

/// Returns the violations of the issue rules for control words that are changed after the run.
fn violations(seed: u64, change: impl Fn(&mut ControlWord)) -> Vec<String> {
    let program = program(seed);
    let options = options("gtx1080");
    let mut sass = run(&program, &options, &mut Silent);
    for instr in &mut sass.instrs {
        change(&mut instr.control);
    }
    let machine = options.machine.select(options.selection);
    let mut rules = IssueRules::new(&sass, &machine);
    run(&program, &options, &mut rules);
    rules.all_violations()
}

#[test]
fn runs_obey_the_issue_rules() {
    for seed in 2000..2100 {
        let violations = violations(seed, |_| ());
        assert!(violations.is_empty(), "seed {seed}: {violations:?}");
    }
}

/// Planted faults: the rules tell other control words from those that ran.
#[test]
fn other_control_words_break_the_issue_rules() {
    let changes: [(&str, ControlWordChange); 3] = [
        ("stall", |control| {
            if (1..15).contains(&control.usched) {
                control.usched += 1;
            }
        }),
        ("wait", |control| control.wait_mask = 0x3f),
        ("write scoreboard", |control| {
            control.write_sb = control.write_sb.map(|number| (number + 1) % 6);
        }),
    ];
    for (name, change) in changes {
        let broken = (2000..2040).filter(|&seed| !violations(seed, change).is_empty());
        let broken = broken.count();
        assert!(broken > 10, "{name}: seen in {broken} of 40 programs");
    }
}

/// Every word is an instruction, and branches have targets inside the code.
#[test]
fn programs_decode_completely() {
    for seed in 0..SEEDS {
        let session = program(seed).session(61);
        let drawn = program(seed);
        let prepared = drawn.prepared(&session).expect("it is decoded");
        let sass = decoded(&prepared);
        for instr in &sass.instrs {
            let text = sass.text(instr, TargetStyle::Hex).expect("an instruction");
            assert!(!text.contains("INVALID") && !text.contains("???"), "{text}");
            let target = text.rsplit("0x").next().filter(|_| text.contains("BRA"));
            let target = target.map(|hex| u32::from_str_radix(hex, 16).expect("an address"));
            if let Some(target) = target {
                assert!(
                    sass.index_of(warpbound_base::CodeAddr(target)).is_some(),
                    "{text}"
                );
            }
        }
    }
}
