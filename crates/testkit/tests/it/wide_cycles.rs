//! Bounds in cycles of lone warps with convergence barriers, against timed runs in both orders of the sides of branches.

use fastrand::Rng;
use warpbound_base::{CodeAddr, Diagnostic};
use warpbound_bounds::cycles::CycleInputs;
use warpbound_cycles::PreloadedConstants;
use warpbound_launch::LaunchFile;
use warpbound_machine::{GpuModel, Parameter};
use warpbound_query::{CacheState, Session, SplitOptions};
use warpbound_testkit::cycle_bounds::{ComparedCycles, CycleSubject, RunSetup, starts};
use warpbound_testkit::odd_machines::odd_machine;

/// Kernels whose lanes part, with a launch, and the address of the header of their loop.
const KERNELS: [(&str, &str, Option<u32>); 4] = [
    ("hotspot", "hotspot.hotspot.0", Some(0x420)),
    ("mandelbrot", "mandelbrot.mandelbrot.0", Some(0x180)),
    ("switch_table", "switch_table.switch_table.0", None),
    ("switch_table", "switch_table.switch_table.1", None),
];

/// Most executions of the header of a loop, which none of the launches reaches.
const ITERATIONS: u64 = 1000;

/// The H200 with this number of cycles for each change of groups.
fn machine(group_switch: u64) -> GpuModel {
    let text = include_str!("../../../../machine/nvidia/h200.toml");
    let stated = "group_switch = { value = [10, 65], typical = 18,";
    assert!(text.contains(stated));
    let changed = format!("group_switch = {{ value = [{group_switch}, {group_switch}],");
    GpuModel::parse("h200.toml", &text.replace(stated, &changed)).expect("a machine")
}

fn read_launch(name: &str) -> LaunchFile {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../kernels/launches");
    let path = |file: &str| std::path::Path::new(folder).join(file);
    let text = std::fs::read_to_string(path(&format!("{name}.toml"))).expect("a launch file");
    let files =
        |file: &str| std::fs::read(path(file)).map_err(|error| Diagnostic::new(error.to_string()));
    LaunchFile::parse(name, &text, &files).expect("a launch")
}

/// Kernel of a launch, whose code may be changed.
struct Subject {
    session: Session,
    launch: LaunchFile,
    kernel: String,
}

impl Subject {
    fn read(source: &str, launch: &str) -> Subject {
        Subject::changed(source, launch, &|_| {})
    }

    /// Reads a kernel, and changes the bytes of its code.
    fn changed(source: &str, launch: &str, change: &dyn Fn(&mut [u8])) -> Subject {
        let path = format!(
            "{}/../../kernels/wide/{source}.sm_90.cubin",
            env!("CARGO_MANIFEST_DIR")
        );
        let mut contents = std::fs::read(path).expect("the cubin is in the repository");
        let launch = read_launch(launch);
        let kernel = launch.kernel.clone().expect("launch files name a kernel");
        let session = Session::open(source, &contents).expect("it loads");
        let found = session.launched_kernel(None, Some(&kernel));
        let code = found.expect("it is there").file_offset as usize;
        change(&mut contents[code..]);
        Subject {
            session: Session::open(source, &contents).expect("it loads"),
            launch,
            kernel,
        }
    }

    fn compare(
        &self,
        machine: &GpuModel,
        header: Option<u32>,
        change: &dyn Fn(&mut CycleInputs),
    ) -> Result<ComparedCycles, Diagnostic> {
        self.compare_on(machine, machine, header, change)
    }

    /// Compares runs on a machine with bounds for another one.
    fn compare_on(
        &self,
        of_runs: &GpuModel,
        machine: &GpuModel,
        header: Option<u32>,
        change: &dyn Fn(&mut CycleInputs),
    ) -> Result<ComparedCycles, Diagnostic> {
        let subject = CycleSubject {
            session: &self.session,
            kernel: &self.kernel,
            launches: vec![self.launch.clone()],
            loops: header
                .map(|at| (CodeAddr(at), ITERATIONS))
                .into_iter()
                .collect(),
            machine,
            caches: CacheState::Any,
            splitting: SplitOptions::default(),
        };
        let setups: Vec<RunSetup> = starts(CacheState::Any)
            .iter()
            .flat_map(|&start| RunSetup::selections(of_runs, start, &[1, 2]))
            .collect();
        subject.compare(of_runs, &setups, change)
    }
}

#[test]
fn runs_in_both_orders_are_within_their_bounds() {
    for (source, launch, header) in KERNELS {
        let subject = Subject::read(source, launch);
        for group_switch in [0, 40, 20_000] {
            let machine = machine(group_switch);
            let found = subject
                .compare(&machine, header, &|_| {})
                .expect("it has a bound");
            assert!(found.runs > 0, "{launch}");
            assert_eq!(found.violations, Vec::<String>::new(), "{launch}");
        }
    }
}

/// Runs on machines with odd numbers: 0, 1, 50 times the usual one, caches of a few lines.
fn odd_runs(seeds: std::ops::Range<u64>) -> (u64, Vec<String>) {
    let base = GpuModel::built_in("h200").expect("a built-in machine");
    let (mut runs, mut violations) = (0, Vec::new());
    for seed in seeds {
        let machine = odd_machine(&base, &mut Rng::with_seed(seed));
        for (source, launch, header) in KERNELS {
            // Machines with several sizes of a line have no bound, and a block may not fit.
            if let Ok(found) = Subject::read(source, launch).compare(&machine, header, &|_| {}) {
                runs += found.runs;
                let named = found.violations.into_iter();
                violations.extend(named.map(|what| format!("{launch}, machine {seed}: {what}")));
            }
        }
    }
    (runs, violations)
}

#[test]
fn runs_on_odd_machines_are_within_their_bounds() {
    let (runs, violations) = odd_runs(0..20);
    assert!(runs > 200, "{runs}");
    assert_eq!(violations, Vec::<String>::new());
}

/// A bound that takes the constants of a launch to be in more caches than a machine loads, which takes long for the others.
#[test]
fn planted_constants_that_are_not_present_are_found() {
    let base = GpuModel::built_in("h200").expect("a built-in machine");
    let subject = Subject::read("hotspot", "hotspot.hotspot.0");
    for (loaded, claimed) in [(0, 1), (0, 2), (1, 2)] {
        let beyond = match loaded {
            0 => Parameter::ConstantL2Beyond,
            _ => Parameter::ConstantL15Beyond,
        };
        let machine = base
            .clone()
            .with(Parameter::ConstantPreloaded, loaded)
            .with(beyond, 200_000);
        let found = subject.compare(&machine, None, &|_| {});
        let violations = found.expect("it has a bound").violations;
        assert_eq!(violations, Vec::<String>::new());
        let planted = subject.compare(&machine, None, &|inputs| {
            inputs.preloaded = Some(PreloadedConstants {
                bank: 0,
                bytes: 0x400,
                caches: (claimed, claimed),
            });
        });
        let violations = planted.expect("it has a bound").violations;
        assert!(!violations.is_empty(), "{loaded} {claimed}");
    }
}

/// A bound that takes lines of code to come with others, or to be loaded by the launch, on a machine where they do not.
#[test]
fn planted_lines_that_do_not_come_with_others_are_found() {
    let base = GpuModel::built_in("h200").expect("a built-in machine");
    let machine = |ahead, loaded| {
        base.clone()
            .with(Parameter::InstructionAhead, ahead)
            .with(Parameter::InstructionPreloaded, loaded)
            .with(Parameter::InstructionL2Hit, 200_000)
    };
    let (source, launch, header) = KERNELS[0];
    let subject = Subject::read(source, launch);
    for (ahead, loaded) in [(0, 0), (1, 0), (3, 0), (8, 0), (0, 1024), (3, 65_536)] {
        let present = machine(ahead, loaded);
        let found = subject.compare(&present, header, &|_| {});
        let violations = found.expect("it has a bound").violations;
        assert_eq!(violations, Vec::<String>::new(), "{ahead} {loaded}");
    }
    for ([ahead, loaded], [claimed_ahead, claimed_loaded]) in
        [([0, 0], [3, 0]), ([1, 0], [8, 0]), ([0, 0], [0, 65_536])]
    {
        let (of_runs, claimed) = (
            machine(ahead, loaded),
            machine(claimed_ahead, claimed_loaded),
        );
        let planted = subject.compare_on(&of_runs, &claimed, header, &|_| {});
        let violations = planted.expect("it has a bound").violations;
        assert!(!violations.is_empty(), "{ahead} {loaded}");
    }
}

/// A line that comes from the L2 cache, after a line that the launch has loaded, and lines that take long to arrive one after the
/// other: the first request of one line does not pay for the others if it is too short.
#[test]
fn lines_that_come_with_others_are_within_the_first_request() {
    let base = GpuModel::built_in("h200").expect("a built-in machine");
    let subject = Subject::read("f64_division", "f64_division.f64_division.0");
    let far = |lines: u64| {
        base.clone()
            .with(Parameter::InstructionAhead, 3)
            .with(Parameter::InstructionPreloaded, 128 * lines)
            .with(Parameter::InstructionL2Hit, 200_000)
    };
    let slow = |ahead| {
        base.clone()
            .with(Parameter::InstructionAhead, ahead)
            .with(Parameter::InstructionPreloaded, 65_536)
            .with(Parameter::InstructionAheadBandwidth, 1)
    };
    let machines = (4..14).map(far).chain([1, 2, 8].map(slow));
    for (number, machine) in machines.enumerate() {
        let found = subject.compare(&machine, None, &|_| {});
        let found = found.expect("it has a bound");
        assert!(found.runs > 0, "{number}");
        assert_eq!(found.violations, Vec::<String>::new(), "{number}");
    }
}

/// Groups also change within the code of a group, at each YIELD of it.
#[test]
fn groups_that_yield_are_within_their_bounds() {
    // In two branches that divide numbers, whose results are stored at addresses that do not depend on them.
    let instructions = || (0x1a..=0x2f).chain(0x3d..=0x51);
    const YIELD: [u64; 2] = [0x0000_0000_0000_7946, 0x000f_ea00_0380_0000];
    let subject = Subject::changed("switch_table", "switch_table.switch_table.1", &|code| {
        for at in instructions().map(|number: usize| number * 16) {
            for (half, word) in YIELD.iter().enumerate() {
                code[at + 8 * half..][..8].copy_from_slice(&word.to_le_bytes());
            }
        }
    });
    let machine = machine(20_000);
    let found = subject
        .compare(&machine, None, &|_| {})
        .expect("it has a bound");
    assert_eq!(found.violations, Vec::<String>::new());
    // The other groups run at each of them, and go on.
    assert!(found.worst > 4 * 20_000, "{}", found.worst);
}

/// A bound that takes groups to change for nothing, on a machine that takes long for it.
#[test]
fn planted_changes_of_groups_without_a_price_are_found() {
    let machine = machine(500_000);
    for (source, launch, header) in KERNELS {
        let compared = Subject::read(source, launch).compare(&machine, header, &|inputs| {
            assert!(inputs.parted.is_some(), "{launch}");
            inputs.parted = None;
        });
        let violations = compared.expect("it has a bound").violations;
        assert!(!violations.is_empty(), "{launch}");
    }
}
