//! Kernels of `kernels/practice`, as engineers write them: what runs do, against results and claims.

use std::fs;
use std::path::{Path, PathBuf};

use warpbound_audit::audit::{PathOrder, variation};
use warpbound_audit::{claims, derived_for_launch, monitor, ranged_loads};
use warpbound_bounds::access_classes;
use warpbound_launch::compare_buffers;
use warpbound_query::BoundOptions;

use super::stored_kernels::{folder, stored};

/// Kernels whose launches fault in the simulator, and why: it refuses accesses of generic memory that are not aligned, which
/// compilers for gfx803 make of loads of bytes.
const UNALIGNED: [&str; 2] = ["ip_checksum", "stereo_sad"];

/// Images of a kernel, from both compilers for NVIDIA's GPUs and that for AMD's.
fn images(name: &str) -> Vec<PathBuf> {
    let builds = ["sm_61.cubin", "nvrtc11.sm_61.cubin", "gfx803.co"];
    let images = builds.map(|build| folder("practice").join(format!("{name}.{build}")));
    images.into_iter().filter(|path| path.exists()).collect()
}

/// Runs the launch of a kernel as given, and once with other contents; returns what contradicts the claims.
fn contradictions(name: &str, image: &Path) -> Vec<String> {
    let (session, launch) = stored(image, name);
    let kernel = session
        .launched_kernel(None, launch.kernel.as_deref())
        .expect("it has it");
    let prepared = session.prepare(kernel).expect("it decodes");
    let options = BoundOptions {
        block: Some(launch.block),
        ..BoundOptions::default()
    };
    let mut claims = claims(&session, &prepared, &options).expect("it is followed");
    let accesses = access_classes(&session, &prepared, &claims.flow, &launch);
    claims.accesses = accesses.expect("the launch suits the kernel");
    let loaded = ranged_loads(&session, &prepared, &claims.flow, &launch);
    claims.loaded = loaded.expect("the launch suits the kernel");
    let derived = derived_for_launch(&session, &prepared, &claims.flow, &launch);
    let derived = derived.expect("the launch suits the kernel");
    let mut found = Vec::new();
    for (number, launch) in [launch.clone(), variation(&launch, 1).launch]
        .iter()
        .enumerate()
    {
        let run = monitor(
            &session,
            &prepared,
            &claims,
            launch,
            PathOrder::TakenFirst,
            1_000_000,
        )
        .expect("the launch suits the kernel");
        let seen = &run.observations;
        found.extend(seen.violations.keys().map(|own| format!("{name}: {own}")));
        let broken = derived.violated(seen, &derived, run.fault.is_none());
        found.extend(broken.iter().map(|own| format!("{name}: {own:?}")));
        // Other contents may lead out of the buffers.
        if number > 0 {
            continue;
        }
        match &run.fault {
            Some(_) if UNALIGNED.contains(&name) => {}
            Some(fault) => found.push(format!("{name}: {fault:?}")),
            None => {
                let compared = compare_buffers(launch, &run.memory);
                found.extend(compared.mismatch.map(|why| format!("{name}: {why}")));
            }
        }
    }
    found
}

#[test]
fn runs_have_the_expected_results_and_contradict_no_claim() {
    let files = fs::read_dir(folder("practice")).expect("a folder");
    let files = files.map(|file| file.expect("a file").path());
    let launches = files.filter(|path| path.extension().is_some_and(|end| end == "toml"));
    let mut names: Vec<String> = launches
        .filter_map(|path| Some(path.file_stem()?.to_string_lossy().into_owned()))
        .collect();
    names.sort();
    assert_eq!(names.len(), 60);
    let mut count = 0;
    let mut found = Vec::new();
    for name in &names {
        for image in images(name) {
            count += 1;
            found.extend(contradictions(name, &image));
        }
    }
    assert_eq!(count, 75);
    assert!(found.is_empty(), "{found:#?}");
}
