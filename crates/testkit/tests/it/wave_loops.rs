//! Random programs of GCN3 with loops that count to numbers of the launch, against their derived bounds.

use warpbound_testkit::wave_loops::check::{LaunchFault, WaveLoopCampaign};

/// Bounds hold for all launches of AMD's GPUs that they are about, and some thread reaches many of them.
#[test]
fn bounds_hold_for_all_launches() {
    let campaign = WaveLoopCampaign::run(0..300, None);
    assert_eq!(campaign.problems, Vec::<String>::new());
    let WaveLoopCampaign {
        loops,
        derived: [of_any, of_stated],
        reached,
        ..
    } = campaign;
    // The sample must not become empty.
    assert!(loops > 1500 && of_any > loops / 3, "{of_any} of {loops}");
    assert!(
        of_stated >= of_any && reached > loops / 10,
        "{of_stated} {reached}"
    );
}

/// Grids of AMD's GPUs may have more groups in y and z than CUDA's, so bounds with the limits of CUDA are exceeded.
#[test]
fn limits_of_cuda_are_noticed() {
    let campaign = WaveLoopCampaign::run(0..60, Some(LaunchFault::CudaSizes));
    assert!(campaign.problems.len() > 5, "{:?}", campaign.problems);
}
