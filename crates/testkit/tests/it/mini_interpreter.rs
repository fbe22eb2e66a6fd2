//! The mini-SIMT machine compared with the independent `kernels/msimt/interpret.py`: cycles, faults, memories, traces.
#![allow(clippy::panic, reason = "helpers of tests")]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;
use warpbound_machine::mini::{AfterBarrier, Policy};
use warpbound_query::{Session, mini};
use warpbound_runs::run_mini;
use warpbound_simt::warp::DivergenceOrder;
use warpbound_simulate::mini::{Simulation, Start};
use warpbound_testkit::execute::mix;
use warpbound_testkit::mini::audit::{BlockCase, Subject};
use warpbound_testkit::mini::campaign::{case, unstructured_case};
use warpbound_testkit::mini::generate::{Generated, PARAMS};

const EXAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../kernels/msimt");

/// Number of random launches. Most end before the limit; both must stop the others.
const LAUNCHES: u64 = 240;
const MOST_CYCLES: u64 = 4_000;

/// Outcome of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Outcome {
    Ended { cycles: u64, memory: Vec<i32> },
    Stopped(String),
}

impl Outcome {
    /// Whether the interpreter's outcome agrees; it reports a fault with fewer details.
    fn is_confirmed_by(&self, other: &Outcome) -> bool {
        match (self, other) {
            (Outcome::Stopped(ours), Outcome::Stopped(theirs)) => ours.contains(theirs),
            _ => self == other,
        }
    }
}

/// Runs the interpreter, one process for all launches, and returns its output.
fn interpret(option: &str, launches: &[PathBuf]) -> String {
    let output = Command::new("python3")
        .arg(Path::new(EXAMPLES).join("interpret.py"))
        .arg(option)
        .args(launches)
        .output()
        .expect("python3, which this test needs, starts");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).expect("text")
}

fn theirs(launches: &[PathBuf]) -> Vec<Outcome> {
    let outcome = |line: &str| {
        let value: serde_json::Value = serde_json::from_str(line).expect("a JSON object");
        match value["fault"].as_str() {
            Some(fault) => Outcome::Stopped(fault.to_owned()),
            None => Outcome::Ended {
                cycles: value["cycles"].as_u64().expect("cycles"),
                memory: serde_json::from_value(value["memory"].clone()).expect("words"),
            },
        }
    };
    let all: Vec<Outcome> = interpret("--json", launches).lines().map(outcome).collect();
    assert_eq!(all.len(), launches.len());
    all
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Reads the launch of a file, its program and its machine.
fn parts(path: &Path) -> (mini::LaunchFile, String, mini::Machine) {
    let launch = mini::LaunchFile::parse("launch", &read(path)).expect("a launch");
    let name = path.file_name().expect("a name").to_string_lossy();
    let program = name.split('.').next().unwrap_or_default();
    let text = read(&path.with_file_name(format!("{program}.msimt")));
    let machine = launch.machine.as_deref().unwrap_or(mini::Machine::DEFAULT);
    let machine = match machine.ends_with(".toml") {
        true => mini::Machine::parse("machine", &read(&path.with_file_name(machine))),
        false => mini::Machine::built_in(machine),
    };
    (launch, text, machine.expect("a machine"))
}

/// Simulates a launch on its machine, modified by `change`.
fn simulate(path: &Path, change: impl FnOnce(&mut mini::Machine)) -> Outcome {
    let (launch, text, mut machine) = parts(path);
    change(&mut machine);
    let subject = Subject::new(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let constants = subject.params.iter();
    let start = Start {
        threads: launch.threads,
        cells: constants
            .map(|(name, cell)| (*cell, launch.constants[name]))
            .collect(),
        memory: launch.words(),
    };
    let simulation = Simulation::new(&subject.code, &machine).expect("runnable");
    let limit = launch.max_cycles.unwrap_or(1_000_000);
    match simulation.run(&start, limit, |_| ()) {
        Ok(finished) => Outcome::Ended {
            cycles: finished.cycles.0.0,
            memory: finished.memory.iter().map(|&word| word as i32).collect(),
        },
        Err(fault) => Outcome::Stopped(fault.to_string()),
    }
}

/// Returns the launches for which the two differ.
fn differences(
    launches: &[PathBuf],
    theirs: &[Outcome],
    change: fn(&mut mini::Machine),
) -> Vec<String> {
    let both = launches.iter().zip(theirs);
    both.filter_map(|(path, theirs)| {
        let ours = simulate(path, change);
        let text = || format!("{}: {ours:?}, not {theirs:?}", path.display());
        (!ours.is_confirmed_by(theirs)).then(text)
    })
    .collect()
}

fn examples() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(EXAMPLES).expect("kernels/msimt");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let mut launches: Vec<PathBuf> = paths
        .filter(|path| path.extension().is_some_and(|ext| ext == "toml"))
        .collect();
    launches.sort();
    assert!(launches.len() > 20, "{launches:?}");
    launches
}

/// Writes a program, a machine and a launch with the one memory `words`.
fn write(folder: &Path, name: &str, text: &str, case: &BlockCase, words: &[u32]) -> PathBuf {
    let file = |end: &str, contents: &str| {
        let path = folder.join(format!("{name}{end}"));
        std::fs::write(&path, contents).expect("a scratch file");
        path
    };
    let mut constants = String::new();
    for (name, value) in PARAMS.iter().zip(&case.constants) {
        let _ = writeln!(constants, "{name} = {value}");
    }
    let launch = format!(
        "machine = \"{name}.machine.toml\"\nthreads = {}\nmemory = {}\nmax_cycles = {MOST_CYCLES}\n[constants]\n\
         {constants}[[data]]\nat = 0\nvalues = {words:?}\n",
        case.threads,
        words.len()
    );
    file(".msimt", text);
    file(".machine.toml", &machine_file(&case.machine));
    file(".toml", &launch)
}

fn machine_file(machine: &mini::Machine) -> String {
    let latency = |latency: warpbound_machine::mini::Latency| {
        let (least, most) = (latency.least.0, latency.most.0);
        format!("{{ cycles = [{least}, {most}], source = \"random\" }}")
    };
    let order = match machine.order {
        DivergenceOrder::TakenFirst => "taken-first",
        DivergenceOrder::FallThroughFirst => "fall-through-first",
        DivergenceOrder::Any => panic!("a machine has one order"),
    };
    let policy = match machine.policy {
        Policy::RoundRobin => "round-robin",
        Policy::LowestFirst => "lowest-first",
        Policy::Greedy => "greedy",
    };
    let after = match machine.after_barrier {
        AfterBarrier::FirstWarp => "first-warp",
        AfterBarrier::NextWarp => "next-warp",
    };
    format!(
        "name = \"random\"\nwarp_width = {}\nwarps = {}\n[latency]\nplain = {}\nmemory = {}\n[scheduler]\n\
         policy = {{ value = \"{policy}\", source = \"\" }}\nbarrier_release = {}\n\
         after_barrier = {{ value = \"{after}\", source = \"\" }}\n\
         divergence_order = {{ value = \"{order}\", source = \"\" }}\n",
        machine.warp_width,
        machine.warps,
        latency(machine.plain),
        latency(machine.memory),
        latency(machine.barrier_release),
    )
}

/// Writes launches of random programs.
fn random_launches(folder: &TempDir, case: fn(u64) -> (Generated, BlockCase)) -> Vec<PathBuf> {
    (0..LAUNCHES)
        .map(|number| {
            let (generated, case) = case(mix(&[20261123, number]));
            let words = &case.memories[number as usize % case.memories.len()];
            let name = format!("random{number}");
            write(folder.path(), &name, &generated.text, &case, words)
        })
        .collect()
}

/// Returns random launches and the interpreter's outcomes, which must agree with the machine's.
fn confirmed_launches(
    folder: &TempDir,
    case: fn(u64) -> (Generated, BlockCase),
) -> (Vec<PathBuf>, Vec<Outcome>) {
    let launches = random_launches(folder, case);
    let theirs = theirs(&launches);
    let ended = |outcome: &&Outcome| matches!(outcome, Outcome::Ended { .. });
    let ended = theirs.iter().filter(ended).count();
    println!("{LAUNCHES} launches, {ended} end");
    assert!(ended > 150, "{ended}");
    assert_eq!(differences(&launches, &theirs, |_| ()), [""; 0]);
    (launches, theirs)
}

#[test]
fn examples_take_the_same_cycles_and_leave_the_same_memory() {
    let launches = examples();
    let theirs = theirs(&launches);
    assert_eq!(differences(&launches, &theirs, |_| ()), [""; 0]);
}

#[test]
fn random_programs_take_the_same_cycles_and_leave_the_same_memory() {
    let folder = TempDir::new().expect("a scratch folder");
    let (launches, theirs) = confirmed_launches(&folder, case);
    // A change of any machine parameter is noticed.
    let changes: [fn(&mut mini::Machine); 7] = [
        |machine| {
            machine.policy = match machine.policy {
                Policy::Greedy => Policy::RoundRobin,
                _ => Policy::Greedy,
            };
        },
        |machine| {
            machine.after_barrier = match machine.after_barrier {
                AfterBarrier::FirstWarp => AfterBarrier::NextWarp,
                AfterBarrier::NextWarp => AfterBarrier::FirstWarp,
            };
        },
        |machine| machine.plain.most.0 += 1,
        |machine| machine.memory.most.0 += 1,
        |machine| machine.barrier_release.most.0 += 1,
        |machine| machine.warp_width = machine.warp_width % 64 + 1,
        |machine| {
            machine.order = match machine.order {
                DivergenceOrder::TakenFirst => DivergenceOrder::FallThroughFirst,
                _ => DivergenceOrder::TakenFirst,
            };
        },
    ];
    for (number, change) in changes.into_iter().enumerate() {
        let found = differences(&launches, &theirs, change);
        assert!(!found.is_empty(), "change {number} is not noticed");
    }
}

#[test]
fn unstructured_programs_take_the_same_cycles_and_leave_the_same_memory() {
    let folder = TempDir::new().expect("a scratch folder");
    confirmed_launches(&folder, unstructured_case);
}

/// Cases that random programs do not reach: faults, and rules for edge cases.
#[test]
fn odd_programs_do_the_same() {
    let (_, mut case) = case(1);
    case.machine.warp_width = 4;
    case.machine.memory = warpbound_machine::mini::Latency::exactly(7);
    case.machine.barrier_release = warpbound_machine::mini::Latency::exactly(3);
    case.threads = 10;
    case.constants = vec![10, u32::MAX, 1 << 31];
    let programs = [
        "binop q = 2 - Tid\n binop q = 7 / q",
        "binop q = 2 - Tid\n binop q = 7 % q",
        "load q = -1",
        "binop q = Tid + 8\n load q = q",
        "store 16 = Tid",
        "binop q = 0 - Tid\n store q = Tid",
        "l: jump l",
        // Edge cases of arithmetic.
        "binop q = m / n\n store 1 = q\n binop q = m % n\n store 2 = q\n binop q = -7 / 2\n store 3 = q\n \
         binop q = -7 % 2\n store 4 = q\n binop q = 7 / -2\n store 5 = q\n binop q = 7 % -2\n store 6 = q",
        "binop q = n << 31\n store 1 = q\n binop q = n << 32\n store 2 = q\n binop q = n >> n\n store 3 = q\n \
         binop q = n >> 31\n store 4 = q\n binop q = 1 << -1\n store 5 = q\n binop q = m >> 1\n store 6 = q",
        "binop q = n < 1\n store 1 = q\n binop q = n min 1\n store 2 = q\n binop q = n max 1\n store 3 = q\n \
         binop q = m * m\n store 4 = q\n binop q = m * 3\n store 5 = q\n binop q = m - 1\n store 6 = q",
        "const q = 0xffffffff\n store 1 = q\n const q = 4294967295\n store 2 = q\n const q = -0x80000000\n store 3=q\n \
         const q=- 5\n store 4=q\n binop q=Tid-1\n store 5=q",
        // Many lanes write one word.
        "store 3 = Tid",
        // A branch to the next instruction does not diverge.
        "binop q = Tid & 1\n bz q, l\n l: sync\n store Tid = q",
        "binop q = Tid & 1\n bnz q, l\n l: sync\n barrier 0, 10\n store Tid = 1",
        // Barriers: fewer and more than expected, none, other numbers, disagreements, one as the last instruction.
        "barrier 0, 11",
        "barrier 0, 9\n store Tid = 1",
        "barrier 0, 4\n store Tid = 1",
        "barrier 0, 5\n store Tid = 1\n barrier 0, 5",
        "barrier 5, 0\n barrier -1, -3\n store Tid = 1",
        "barrier Tid, 10",
        "barrier 0, Tid",
        "binop q = Tid / 4\n binop p = 10 - q\n barrier 0, p",
        "binop q = Tid / 4\n barrier q, 2\n barrier q, 2",
        "binop q = Tid < 4\n bz q, l\n barrier 0, 4\n jump e\n l: barrier 0, 6\n e: sync",
        "load q = Tid\n barrier 0, threads",
        "binop q = Tid < 4\n bz q, l\n load q = Tid\n load q = q\n l: sync\n barrier 0, threads",
        "binop q = Tid & 1\n bz q, l\n load q = Tid\n barrier 1, 5\n l: sync\n barrier 0, threads",
        "binop q = Tid & 1\n bz q, l\n load q = Tid\n barrier 1, 5\n jump e\n l: barrier 2, 5\n e:",
        "barrier 0, threads\n binop q = Tid % 3\n bz q, e\n load q = Tid\n bnz q, e\n store Tid = 9\n e:",
        // A sync without divergence, and one that is the reconvergence point of two branches.
        "sync\n store Tid = 1\n sync",
        "binop q = Tid % 3\n bz q, l\n binop p = Tid % 2\n bz p, l\n store Tid = 1\n l: sync\n store Tid = 2",
        "h: binop q = q + 1\n binop p = q <= Tid\n bnz p, h\n sync\n store Tid = q\n jmp e\n e:",
    ];
    let folder = TempDir::new().expect("a scratch folder");
    let words: Vec<u32> = (0..16).map(|word| word % 3).collect();
    let orders = [
        DivergenceOrder::TakenFirst,
        DivergenceOrder::FallThroughFirst,
    ];
    let mut launches = Vec::new();
    for (number, program) in programs.iter().enumerate() {
        for order in orders {
            case.machine.order = order;
            let text = format!(".kernel Odd\n.param {}\n {program}\n", PARAMS.join(", "));
            let name = format!("odd{number}{order:?}");
            launches.push(write(folder.path(), &name, &text, &case, &words));
        }
    }
    let theirs = theirs(&launches);
    assert_eq!(differences(&launches, &theirs, |_| ()), [""; 0]);
    let mut faults = BTreeMap::new();
    for outcome in &theirs {
        if let Outcome::Stopped(fault) = outcome {
            *faults.entry(fault.as_str()).or_insert(0) += 1;
        }
    }
    // Every kind of fault occurs.
    assert_eq!(faults.len(), 6, "{faults:?}");
}

#[test]
fn examples_have_the_same_trace() {
    let launches = examples();
    let text = interpret("--trace", &launches);
    let mut lines = text.lines();
    for path in &launches {
        let (launch, program, machine) = parts(path);
        let session = Session::open("program", program.as_bytes()).expect("a program");
        let kernel = session
            .launched_kernel(None, launch.kernel.as_deref())
            .expect("a kernel");
        let mut compared = 0;
        let mut compare = |line: &str| {
            compared += 1;
            assert_eq!(
                Some(line),
                lines.next(),
                "{}, line {compared}",
                path.display()
            );
        };
        // A failing launch also has a trace.
        let _ = run_mini(
            &session,
            kernel,
            &launch,
            &machine,
            None,
            Some(&mut compare),
        );
        let last = lines.next().expect("a line for each launch");
        let name = path.file_name().expect("a name").to_string_lossy();
        assert!(last.starts_with(&format!("{name}: ")), "{last}");
        assert!(compared > 5);
    }
    assert_eq!(lines.next(), None);
}
