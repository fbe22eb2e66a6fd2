//! Every kernel with a reference computes what the reference says.

use warpbound_driver::Session;
use warpbound_testkit::kernels::{self, Reference};

/// The chips for which kernels are built.
const CHIPS: [&str; 2] = ["sm_61", "sm_62"];

/// Launches of each kernel.
const LAUNCHES: u64 = 6;

/// Runs the launches of a kernel; what went wrong.
fn problems(reference: &Reference) -> Vec<String> {
    let mut problems = Vec::new();
    for chip in CHIPS {
        let file = format!("{}.{chip}.cubin", reference.source);
        let path = format!("{}/../../kernels/built/{file}", env!("CARGO_MANIFEST_DIR"));
        let contents = std::fs::read(path).expect("the cubin is in the repository");
        let session = Session::open(&file, &contents).expect("it loads");
        for number in 0..LAUNCHES {
            let launch = (reference.launch)(number);
            let done = session
                .launched_grid(Some(reference.kernel), &launch)
                .and_then(|kernel| session.run_functional(kernel, &launch, None));
            match done {
                Ok(run) if run.report.checked_elements == 0 => {
                    problems.push(format!("{file} launch {number}: nothing is compared"));
                }
                Ok(_) => {}
                Err(diagnostic) => problems.push(format!("launch {number}: {diagnostic}")),
            }
        }
    }
    problems
}

#[test]
fn kernels_compute_what_their_references_do() {
    let all: Vec<String> = kernels::all().iter().flat_map(problems).collect();
    assert!(all.is_empty(), "{}", all.join("\n"));
}
