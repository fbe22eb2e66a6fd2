//! Functional runs of every kernel with a reference, compared with the reference.

use warpbound_runs::{FunctionalRun, RunOptions, execute};

use warpbound_launch::GlobalMemory;
use warpbound_query::Session;
use warpbound_testkit::kernels::{self, KernelReference};

/// Builds of kernels: for one chip of each encoding and family, and by an older compiler.
const BUILDS: [&str; 4] = ["sm_50", "sm_61", "sm_62", OLDER];

/// Build by the older compiler, which has other code for functions and so other last digits.
const OLDER: &str = "nvrtc11.sm_61";

/// Sources that use features which a chip or a compiler does not have.
const IMPOSSIBLE: [(&str, &str); 6] = [
    ("f16_arithmetic", "sm_50"),
    ("integer_mix", "sm_50"),
    ("integer_mix", "nvrtc11.sm_61"),
    ("texture_reference", "sm_50"),
    ("texture_reference", "sm_61"),
    ("texture_reference", "sm_62"),
];

/// Number of launches of each kernel.
const LAUNCHES: u64 = 6;

/// Runs the launches of a kernel and returns the problems.
fn problems(reference: &KernelReference) -> Vec<String> {
    let builds = BUILDS
        .into_iter()
        .filter(|&build| !IMPOSSIBLE.contains(&(reference.source, build)));
    let sessions: Vec<(String, Session)> = builds
        .map(|build| {
            let file = format!("{}.{build}.cubin", reference.source);
            let path = format!("{}/../../kernels/built/{file}", env!("CARGO_MANIFEST_DIR"));
            let contents = std::fs::read(path).expect("the cubin is in the repository");
            let session = Session::open(&file, &contents).expect("it loads");
            (file, session)
        })
        .collect();
    let mut problems = Vec::new();
    for number in 0..LAUNCHES {
        let launch = (reference.launch)(number);
        let mut first: Option<(&str, GlobalMemory)> = None;
        for (file, session) in &sessions {
            let done = session
                .launched_kernel(Some(reference.kernel), launch.kernel.as_deref())
                .and_then(|kernel| {
                    execute(
                        session,
                        kernel,
                        &launch,
                        &RunOptions::default(),
                        &mut |_| (),
                    )
                    .and_then(FunctionalRun::as_expected)
                });
            let run = match done {
                Ok(run) => run,
                Err(diagnostic) => {
                    problems.push(format!("launch {number}: {diagnostic}"));
                    continue;
                }
            };
            if run.report.checked_elements == 0 {
                problems.push(format!("{file} launch {number}: nothing is compared"));
            }
            if file.contains(OLDER) {
                continue;
            }
            let Some((other, memory)) = &first else {
                first = Some((file, run.memory));
                continue;
            };
            for name in differing(memory, &run.memory) {
                problems.push(format!(
                    "launch {number}: {name} differs between {other} and {file}"
                ));
            }
        }
    }
    problems
}

/// Returns the names of the buffers that differ.
fn differing<'a>(a: &'a GlobalMemory, b: &'a GlobalMemory) -> impl Iterator<Item = &'a str> {
    assert_eq!(a.buffers().len(), b.buffers().len());
    let pairs = a.buffers().iter().zip(b.buffers());
    pairs.filter(|(a, b)| a != b).map(|(a, _)| a.name.as_str())
}

#[test]
fn kernels_compute_what_their_references_do() {
    let all: Vec<String> = kernels::all()
        .iter()
        .chain(&kernels::of_nvrtc_11_8())
        .flat_map(problems)
        .collect();
    assert!(all.is_empty(), "{}", all.join("\n"));
}
