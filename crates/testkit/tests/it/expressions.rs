//! Recorded kernels of CUDA C expressions (`cargo xtask expressions --record`), compared with the values in Rust.

use std::path::PathBuf;

use warpbound_testkit::expressions::{Batch, run};

/// Number of threads, each with its own values of the variables.
const THREADS: usize = 256;

fn recorded() -> Vec<PathBuf> {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/../../kernels/expressions");
    let mut sources: Vec<PathBuf> = std::fs::read_dir(directory)
        .expect("the directory is in the repository")
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|e| e == "cu"))
        .collect();
    sources.sort();
    sources
}

#[test]
fn recorded_expressions_have_their_values_in_rust() {
    let (mut expressions, mut problems) = (0, Vec::new());
    for path in recorded() {
        let source = std::fs::read_to_string(&path).expect("it can be read");
        let numbers: Vec<u64> = source
            .lines()
            .next()
            .unwrap_or_default()
            .split(|c: char| !c.is_ascii_digit())
            .filter_map(|word| word.parse().ok())
            .collect();
        let [count, seed] = numbers.as_slice() else {
            panic!("{}: no seed in the first line", path.display());
        };
        let batch = Batch::new(*seed, *count as usize);
        assert_eq!(
            batch.source(),
            source,
            "{}: record it again",
            path.display()
        );
        let cubin = std::fs::read(path.with_extension("sm_61.cubin")).expect("it was recorded");
        let outcome = run(&batch, &cubin, THREADS).expect("it runs");
        assert_eq!(outcome.values, batch.expressions.len() * THREADS);
        expressions += batch.expressions.len();
        for problem in outcome.problems {
            problems.push(format!("{}\n    {}", problem.expression, problem.values));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    assert!(expressions >= 100, "only {expressions} expressions");
}
