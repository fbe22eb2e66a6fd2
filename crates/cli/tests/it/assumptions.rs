//! Assumptions and notes of `bound` and `facts`.

use crate::support::run;

fn bound(file: &str, kernel: &str) -> String {
    run(&["bound", file, "--kernel", kernel, "--loop-default", "10"]).done()
}

#[test]
fn the_condition_code_is_assumed_where_lanes_agree_on_it() {
    assert!(bound("cc_branch.sm_61.cubin", "cc_branch").contains("(condition-code)"));
    assert!(!bound("joined_pointers.sm_61.cubin", "joined_pointers").contains("(condition-code)"));
}

#[test]
fn agreement_on_the_number_of_the_sm_is_assumed() {
    assert!(bound("microbenchmarks.sm_61.cubin", "spin").contains("(virtual-id)"));
    assert!(!bound("cc_branch.sm_61.cubin", "cc_branch").contains("(virtual-id)"));
}

/// Nested source loops that start at the same instruction have one header and one fact.
#[test]
fn a_header_of_several_loops_is_named() {
    let note = "L1 counts all loops that share this header: threads return to it from 0x01d0 (shared_header.cu:12), \
                0x01f0 (shared_header.cu:14)";
    assert!(
        bound("shared_header.sm_61.cubin", "shared_header").contains(&format!("note: {note}\n"))
    );
    let facts = run(&["facts", "shared_header.sm_61.cubin"]).done();
    assert!(facts.contains(&format!("    # {note}\n    {{ id = \"L1\"")));
    let one_latch = run(&["facts", "break_loop.sm_61.cubin"]).done();
    assert!(!one_latch.contains("share this header"));
}
