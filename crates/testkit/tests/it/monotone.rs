//! Monotonicity of timed runs of a single warp, which is never faster when a machine parameter moves to its slow end
//! (all launches: `cargo xtask monotone`).

use warpbound_query::Session;

use warpbound_launch::StartCaches;

use warpbound_launch::LaunchFile;
use warpbound_machine::{GpuModel, Selection};
use warpbound_runs::TimedOptions;
use warpbound_testkit::kernels;
use warpbound_testkit::monotone::{SlowEndRuns, compare_at_slow_end, is_single_warp};

/// Compares every sixth kernel with a single-warp launch, with its parameters at their slow ends.
fn compare_launches(
    (machine, chip): (&str, &str),
    caches: StartCaches,
    [from, to]: [Selection; 2],
) -> Vec<(String, SlowEndRuns)> {
    let single_warp_launches = kernels::all().into_iter().filter_map(|reference| {
        let mut launches = (0..6).map(reference.launch);
        let launch: LaunchFile = launches.find(is_single_warp)?;
        Some((reference, launch))
    });
    let run = |(reference, launch): (kernels::KernelReference, LaunchFile)| {
        let file = format!("{}.{chip}.cubin", reference.source);
        let path = format!("{}/../../kernels/built/{file}", env!("CARGO_MANIFEST_DIR"));
        let contents = std::fs::read(path).expect("the cubin is in the repository");
        let session = Session::open(&file, &contents).expect("it loads");
        let kernel = session.launched_kernel(Some(reference.kernel), launch.kernel.as_deref());
        let prepared = session.prepare(kernel.expect("it has the kernel"));
        let options = TimedOptions {
            caches: Some(caches),
            selection: from,
            ..TimedOptions::new(GpuModel::built_in(machine).expect("it comes with the tool"))
        };
        let prepared = prepared.expect("it decodes");
        let compared =
            compare_at_slow_end(&session, &prepared, &launch, &options, to).expect("it runs");
        (reference.kernel.to_owned(), compared)
    };
    single_warp_launches.step_by(6).map(run).collect()
}

#[test]
fn no_parameter_is_faster_at_its_slow_end() {
    let (mut runs, mut slower) = (0, 0);
    for machine in [("jetson-tx2", "sm_62"), ("p100", "sm_61")] {
        for caches in [StartCaches::Cold, StartCaches::Warm] {
            let ends = [Selection::Typical, Selection::Slow];
            for (kernel, compared) in compare_launches(machine, caches, ends) {
                runs += compared.runs;
                slower += compared.slower;
                let broken: Vec<_> = compared
                    .faster
                    .iter()
                    .filter(|f| f.is_violation())
                    .collect();
                assert!(broken.is_empty(), "{kernel} on {machine:?}: {broken:?}");
            }
        }
    }
    assert!(runs > 500 && slower > 300, "{slower} of {runs} are slower");
}

/// The fast ends are faster, and contention does not explain that.
#[test]
fn the_comparison_finds_faster_runs() {
    let machine = ("jetson-tx2", "sm_62");
    let compared = compare_launches(
        machine,
        StartCaches::Cold,
        [Selection::Slow, Selection::Fast],
    );
    let faster = compared.iter().flat_map(|(_, compared)| &compared.faster);
    let broken = faster.filter(|faster| faster.is_violation()).count();
    assert!(broken > 50, "{broken}");
}
