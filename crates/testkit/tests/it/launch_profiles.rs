//! Launch profiles of the repository's kernels: no run exceeds them, and exact ones are what each warp issues.

use std::path::Path;

use warpbound_base::Diagnostic;
use warpbound_driver::{ProfileOptions, Session};
use warpbound_launch::{LaunchFile, PathOrder};
use warpbound_testkit::launch_profiles::{compare, issued_by_warp};

const MOST_INSTRUCTIONS: u64 = 20_000_000;

fn committed_launches() -> Vec<(String, LaunchFile, Vec<u8>)> {
    let kernels = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels");
    let folder = kernels.join("launches");
    let mut names: Vec<String> = std::fs::read_dir(&folder)
        .expect("kernels/launches")
        .map(|entry| entry.expect("an entry").file_name())
        .filter_map(|name| name.into_string().ok())
        .filter(|name| name.ends_with(".toml"))
        .collect();
    names.sort();
    let read = |name: String| {
        let files = |file: &str| {
            std::fs::read(folder.join(file)).map_err(|error| Diagnostic::new(error.to_string()))
        };
        let text = std::fs::read_to_string(folder.join(&name)).expect("a text");
        let launch = LaunchFile::parse(&name, &text, &files).expect("a launch");
        let source = name.split('.').next().unwrap_or_default();
        let builds = ["sm_61", "nvrtc11.sm_61"].map(|build| format!("{source}.{build}.cubin"));
        let read = |cubin: String| std::fs::read(kernels.join("built").join(cubin)).ok();
        let contents = builds.into_iter().find_map(read).expect("a cubin");
        (name, launch, contents)
    };
    names.into_iter().map(read).collect()
}

#[test]
fn profiles_of_all_launches_hold() {
    let mut problems = Vec::new();
    for (name, launch, contents) in committed_launches() {
        let session = Session::open(&name, &contents).expect("it loads");
        let kernel = session
            .launched_kernel(None, launch.kernel.as_deref())
            .expect("it has it");
        let prepared = session.prepare(kernel).expect("it decodes");
        for order in [PathOrder::TakenFirst, PathOrder::FallThroughFirst] {
            let issued = issued_by_warp(&contents, &prepared, &launch, order, MOST_INSTRUCTIONS);
            let issued = issued.expect("it runs");
            let options = ProfileOptions::default();
            let compared = compare(&session, &prepared, &launch, &options, &issued);
            let compared = compared.expect("the launch suits the kernel");
            let wrong = compared.iter().filter(|one| one.is_wrong());
            problems.extend(wrong.map(|one| format!("{name} {order:?}: {one:?}")));
            if order == PathOrder::TakenFirst {
                let worst = issued.values().max().copied().unwrap_or(1);
                let bound = compared
                    .iter()
                    .map(|c| c.profile.map_or(u64::MAX, |p| p.issues))
                    .max()
                    .unwrap_or(0);
                let exact = compared.iter().all(|c| c.profile.is_ok_and(|p| p.exact));
                let err = compared.iter().find_map(|c| c.profile.err());
                println!("STAT {name} {worst} {bound} {exact} {err:?}");
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}
