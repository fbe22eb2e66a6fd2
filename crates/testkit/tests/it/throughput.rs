//! Results per cycle of a full SM, compared with the CUDA C Programming Guide, "Throughput of Native Arithmetic
//! Instructions".

use warpbound_base::Diagnostic;
use warpbound_launch::LaunchFile;
use warpbound_machine::{GpuModel, Parameter};
use warpbound_query::Session;
use warpbound_runs::{RunHooks, TimedOptions, simulate};

use crate::microbenchmarks::read_cubin;

/// Kernel of `microbenchmarks.cu`, type of its values, instructions of a link of its chain before and from Volta on, and the
/// guide's results per cycle by machine, in the order of [`MACHINES`]. 0: the guide's class has other conversions.
const TABLE: [(&str, &str, [u32; 2], [u32; 8]); 8] = [
    ("ffma", "f32", [1, 1], [128, 128, 64, 64, 64, 128, 128, 128]),
    ("shift", "u32", [1, 1], [64, 64, 32, 64, 64, 64, 64, 64]),
    (
        "multiply",
        "u32",
        [3, 1],
        [128, 128, 64, 64, 64, 64, 64, 64],
    ),
    ("rsqrt", "f32", [1, 1], [32, 32, 16, 16, 16, 16, 16, 16]),
    ("popc", "u32", [1, 1], [32, 32, 16, 16, 16, 16, 16, 16]),
    ("conversion", "u32", [1, 1], [32, 32, 16, 0, 0, 0, 0, 0]),
    ("shuffle", "u32", [1, 1], [32, 32, 32, 32, 32, 32, 32, 32]),
    ("dfma", "f64", [1, 1], [4, 4, 32, 2, 32, 2, 2, 64]),
];

/// Machines, and the code that they run.
const MACHINES: [(&str, &str); 8] = [
    ("jetson-tx2", "sm_62"),
    ("gtx1080", "sm_61"),
    ("p100", "sm_61"),
    ("t4", "sm_75"),
    ("a100", "sm_80"),
    ("rtx3090", "sm_86"),
    ("rtx4090", "sm_89"),
    ("h200", "sm_90"),
];

/// Machines before Volta.
const BEFORE_VOLTA: usize = 3;

/// Threads of a block: sixteen blocks fill an SM, and start and end at different times.
const THREADS: u64 = 128;
/// Links of a thread's chain: two passes of 64.
const LINKS: u64 = 128;

/// Returns the cycles of `blocks` blocks on one SM.
fn cycles(machine: &str, chip: &str, kernel: &str, element: &str, blocks: u64) -> u64 {
    let file = format!("microbenchmarks.{chip}.cubin");
    let contents = read_cubin(&file);
    let session = Session::open(&file, &contents).expect("it loads");
    let text = format!(
        "kernel = 'latency_{kernel}'\ngrid = [{blocks}]\nblock = [{THREADS}]\n\
         param = [{{name = 'cycles', type = 'u32', shape = [32]}},\
         {{name = 'values', type = '{element}', shape = [1088]}}]"
    );
    let no_files = |name: &str| Err(Diagnostic::new("no files").in_file(name));
    let grid = LaunchFile::parse("launch", &text, &no_files).expect("a launch");
    let kernel = session
        .launched_kernel(None, grid.kernel.as_deref())
        .expect("its kernel");
    let mut options =
        TimedOptions::new(GpuModel::built_in(machine).expect("it comes with the tool"));
    options.set.push((Parameter::SmCount, 1));
    let hooks = RunHooks {
        events: None,
        timeline: None,
        progress: &mut |_| (),
    };
    let run = simulate(&session, kernel, &grid, &options, hooks);
    run.expect("it runs").report.cycles
}

#[test]
fn results_in_a_cycle() {
    let mut problems = Vec::new();
    for (kernel, element, instructions, published) in TABLE {
        for (number, ((machine, chip), published)) in
            MACHINES.into_iter().zip(published).enumerate()
        {
            if published == 0 {
                continue;
            }
            let instructions = instructions[usize::from(number >= BEFORE_VOLTA)];
            let [few, many] =
                [32, 160].map(|blocks| cycles(machine, chip, kernel, element, blocks));
            let results = 128 * THREADS * LINKS * u64::from(instructions);
            let rate = results as f64 / (many - few) as f64;
            let line = format!("{kernel} on {machine}: {rate:.1} of {published}");
            println!("{line}");
            let published = f64::from(published);
            // One instruction in seven is before or after the chains; the ends of the two runs may differ slightly.
            if rate > published * 1.01 || rate < published * 0.75 {
                problems.push(line);
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}
