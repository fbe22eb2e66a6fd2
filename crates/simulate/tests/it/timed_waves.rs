//! Kernels of the repository for GCN3 with time: each launch leaves the contents that it leaves without.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use warpbound_base::Diagnostic;
use warpbound_ir::Code;
use warpbound_isa::Program;
use warpbound_isa::amd::GcnProgram;
use warpbound_launch::{
    GlobalMemory, Launch, LaunchFile, PathOrder, StartCaches, bind, compare_buffers,
};
use warpbound_load::Image;
use warpbound_machine::{GpuModel, SchedulerPolicy, Selection};
use warpbound_simulate::functional::launch;
use warpbound_simulate::timed::{EventListener, Silent, SplitSetup, WaveSetup, run_waves};

fn kernels() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels")
}

/// A kernel with a launch.
struct Case {
    name: String,
    program: GcnProgram,
    code: Code,
    grid: LaunchFile,
    launch: Launch,
    memory: GlobalMemory,
}

/// Loads a launch; `None` if it is one of another file's kernel, or if it does not suit the kernel.
fn open(image: &Image, path: &Path) -> Option<Case> {
    let text = std::fs::read_to_string(path).expect("text");
    let folder = path.parent().expect("a folder");
    let grid = LaunchFile::parse("launch", &text, &|name| {
        std::fs::read(folder.join(name)).map_err(|error| Diagnostic::new(error.to_string()))
    });
    let grid = grid.ok()?;
    let kernel = image
        .kernel(grid.kernel.as_deref().unwrap_or_default())
        .ok()?;
    let program = GcnProgram::decode(kernel.code()).ok()?;
    let code = warpbound_ir::lift(kernel, &Program::Amd(program.clone())).ok()?;
    let bound = bind(
        &grid,
        image,
        kernel,
        &code,
        PathOrder::TakenFirst,
        100_000_000,
    );
    let (launch, memory) = bound.ok()?;
    let name = path.file_stem()?.to_str()?.to_owned();
    Some(Case {
        name,
        program,
        code,
        grid,
        launch,
        memory,
    })
}

/// All launches of all kernels, or of those whose names begin with one of some words.
fn cases(only: &[&str]) -> Vec<Case> {
    let built = std::fs::read_dir(kernels().join("built")).expect("built");
    let stems: BTreeSet<String> = built
        .filter_map(|file| {
            let name = file.expect("a file").file_name().into_string().ok()?;
            Some(name.strip_suffix(".gfx803.co")?.to_owned())
        })
        .collect();
    let launches = std::fs::read_dir(kernels().join("launches")).expect("launches");
    let mut files: Vec<PathBuf> = launches.map(|file| file.expect("a file").path()).collect();
    files.sort();
    let mut cases = Vec::new();
    for stem in stems {
        if !only.is_empty() && !only.iter().any(|only| stem.starts_with(only)) {
            continue;
        }
        let path = kernels().join(format!("built/{stem}.gfx803.co"));
        let image = Image::parse(&std::fs::read(path).expect("a code object")).expect("it loads");
        let own = |path: &&PathBuf| {
            let name = path.file_name().and_then(|name| name.to_str());
            name.is_some_and(|name| {
                name.ends_with(".toml") && name.split('.').next() == Some(&stem)
            })
        };
        cases.extend(
            files
                .iter()
                .filter(own)
                .filter_map(|path| open(&image, path)),
        );
    }
    cases
}

/// Setup of a run of a launch on a machine.
fn setup(case: &Case, machine: &str, selection: Selection) -> WaveSetup {
    let entry = case.launch.wave_entry.as_ref().expect("waves");
    WaveSetup {
        machine: GpuModel::built_in(machine)
            .expect("a machine")
            .select(selection),
        policy: SchedulerPolicy::Oldest,
        caches: StartCaches::Cold,
        vgprs: entry.vector_count().into(),
        sgprs: entry.scalar_count().into(),
        only: None,
        splitting: SplitSetup::default(),
    }
}

/// Contents of the buffers of a memory.
fn contents(memory: &GlobalMemory) -> Vec<Vec<u8>> {
    memory
        .buffers()
        .iter()
        .map(|buffer| buffer.bytes.clone())
        .collect()
}

/// Runs a launch with time; returns the cycles, or the fault.
fn run(
    case: &Case,
    setup: &WaveSetup,
    memory: &mut GlobalMemory,
    listener: &mut impl EventListener,
) -> Result<u64, String> {
    let result = run_waves(
        &case.code,
        &case.program,
        &case.launch,
        setup,
        memory,
        listener,
    );
    match result {
        Ok(result) => Ok(result.cycles.0.0),
        Err(fault) => Err(fault.to_string()),
    }
}

/// Launches with time leave what they leave without, on both machines, and fault where they fault without.
#[test]
fn launches_leave_the_same_contents_with_time() {
    let only = std::env::var("WARPBOUND_GCN3").ok();
    let only: Vec<&str> = only.iter().map(String::as_str).collect();
    let mut same = 0;
    for case in cases(&only) {
        let mut expected = case.memory.clone();
        let outcome = launch(&case.code, &case.launch, &mut expected);
        for machine in ["gem5-apu", "r9-nano"] {
            let mut memory = case.memory.clone();
            let setup = setup(&case, machine, Selection::Typical);
            let found = run(&case, &setup, &mut memory, &mut Silent);
            match &outcome {
                Ok(counts) => {
                    let cycles = found.unwrap_or_else(|fault| panic!("{}: {fault}", case.name));
                    // The order of atomic operations may show: then in what the reference allows.
                    let allowed = || compare_buffers(&case.grid, &memory).mismatch.is_none();
                    let is_same = contents(&memory) == contents(&expected);
                    assert!(is_same || allowed(), "{} {machine}", case.name);
                    if only.len() == 1 {
                        println!("{} {machine}: {} in {cycles}", case.name, counts.issued());
                    }
                    same += 1;
                }
                Err(_) => assert!(found.is_err(), "{}", case.name),
            }
        }
    }
    println!("{same} runs");
    assert!(!only.is_empty() || same >= 860, "{same} runs");
}
