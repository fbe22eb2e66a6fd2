//! Kinds of the branches of waves in our own kernels (`analyse/src/branch_sites.rs`), as their sources have them.

use std::path::Path;

use warpbound_query::{BoundOptions, Session};

/// Kinds of the conditional branches of a kernel, in order of address.
fn kinds(file: &str, kernel: &str) -> Vec<&'static str> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels/built");
    let contents = std::fs::read(path.join(file)).expect("a code object");
    let session = Session::open(file, &contents).expect("it loads");
    let kernels = session.kernels(Some(kernel)).expect("it is there");
    let kernel = kernels.first().expect("one kernel");
    let report = session.divergence(kernel, &BoundOptions::default());
    let items = report.expect("it is followed").items;
    items.into_iter().filter_map(|item| item.site).collect()
}

/// A branch on EXEC that no operation writes is no divergence: some lane is active.
#[test]
fn constant_branches_are_no_divergence() {
    let found = kinds("constant_branches.gfx803.co", "constant_branches");
    let constant = found.iter().filter(|&&kind| kind == "constant").count();
    assert_eq!(
        (constant, found.contains(&"split")),
        (3, false),
        "{found:?}"
    );
}

/// The idioms of LLVM 15 and later, and of LLVM 14: the first branch may have lanes on both sides, the second passes the
/// other arm.
#[test]
fn both_idioms_of_if_and_else_are_splits() {
    assert_eq!(kinds("if_else.gfx803.co", "if_else"), ["split", "skip"]);
    assert_eq!(kinds("if_else.gfx803.co", "if_only"), ["skip"]);
    let older = kinds("if_else_nested_llvm14.gfx803.co", "if_else_nested");
    assert!(older.contains(&"split"), "{older:?}");
}

/// Six nested levels: 63 branches with lanes on both sides, for 64 paths.
#[test]
fn six_levels_have_63_splits() {
    let found = kinds("split_levels.gfx803.co", "split_levels");
    let splits = found.iter().filter(|&&kind| kind == "split").count();
    assert_eq!((splits, found.len()), (63, 126), "{found:?}");
}

#[test]
fn loops_have_latches() {
    let found = kinds("nested_loops.gfx803.co", "nested_fixed");
    assert_eq!(found, ["latch", "latch"]);
}
