//! Derived loop bounds, compared with the runs of single threads.

use warpbound_testkit::counted_loops::campaign::LoopCampaign;

#[test]
fn no_thread_of_a_random_program_exceeds_a_derived_bound() {
    let total = LoopCampaign::run(1, 0..400);
    println!(
        "{} programs ({} refused), {} threads, {:?}",
        total.programs, total.refused, total.threads, total.all
    );
    for (property, tally) in &total.properties {
        println!("{property:<50} {tally:?}");
    }
    println!("{:?} {:#?}", total.parts, total.unknown);
    let shown: Vec<&String> = total.problems.iter().take(5).collect();
    assert!(
        shown.is_empty(),
        "{} problems: {shown:#?}",
        total.problems.len()
    );
}
