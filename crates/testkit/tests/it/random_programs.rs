//! Random programs: concrete warps compared with every claim of the analyses.

use warpbound_testkit::random::campaign;

#[test]
fn no_run_of_a_random_program_contradicts_the_analyses() {
    let total = campaign(2023, 4_000);
    println!(
        "{} programs ({} refused), {} runs, {} diverged, {} finished, {} bounded, median ratio {:.2}",
        total.programs,
        total.refused,
        total.runs,
        total.diverged,
        total.finished,
        total.bounded,
        total.median_ratio()
    );
    let shown = total.problems.iter().take(10).cloned().collect::<Vec<_>>();
    assert!(
        shown.is_empty(),
        "{} problems: {shown:#?}",
        total.problems.len()
    );
    assert!(
        total.diverged * 2 > total.runs,
        "too few runs diverge to mean anything"
    );
    assert!(
        total.bounded * 2 > total.runs,
        "too few runs are compared with a bound"
    );
}
