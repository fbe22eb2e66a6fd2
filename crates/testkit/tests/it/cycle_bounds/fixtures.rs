//! Programs in which a bound is easily too small, on machines on which it is.

use warpbound_query::CacheState;
use warpbound_testkit::control_words::fixtures;

use super::{compare, machines};

/// Compares all fixtures on a machine.
fn check(machine_name: &str) {
    let machines = machines::all();
    let machine = machines.iter().find(|(name, _)| *name == machine_name);
    let (_, machine) = machine.expect("a name of the list");
    let mut violations = Vec::new();
    for fixture in fixtures::all() {
        for caches in [CacheState::Any, CacheState::Warm, CacheState::Cold] {
            let found = compare(&fixture.program, machine, caches);
            let ratio = found.counted as f64 / found.worst.max(1) as f64;
            println!(
                "{ratio:6.3} {} of {} {} {caches:?}",
                found.worst, found.counted, fixture.name
            );
            let first = found.violations.first();
            violations.extend(first.map(|found| format!("{} {caches:?}: {found}", fixture.name)));
        }
    }
    assert!(violations.is_empty(), "on {machine_name}: {violations:#?}");
}

macro_rules! machines {
    ($($test:ident: $name:literal,)*) => {
        $(#[test]
        fn $test() {
            check($name);
        })*
    };
}

machines! {
    no_run_exceeds_its_bound_on_a_gtx1080: "gtx1080",
    no_run_exceeds_its_bound_on_a_jetson_tx2: "jetson-tx2",
    no_run_exceeds_its_bound_with_frequent_refreshes: "frequent refreshes",
    no_run_exceeds_its_bound_with_a_small_l2_cache: "small L2 cache",
    no_run_exceeds_its_bound_with_small_tlbs: "small TLBs",
    no_run_exceeds_its_bound_with_small_pages: "small pages",
    no_run_exceeds_its_bound_with_one_large_translation: "one large translation",
    no_run_exceeds_its_bound_with_small_instruction_caches: "small instruction caches",
    no_run_exceeds_its_bound_with_slow_prefetch: "slow prefetch",
    no_run_exceeds_its_bound_with_small_windows: "small windows",
    no_run_exceeds_its_bound_with_slow_dram: "slow DRAM",
}
