//! The committed launches of our own kernels give their expected results.

use std::path::Path;

use warpbound_base::Diagnostic;
use warpbound_launch::LaunchFile;
use warpbound_query::Session;
use warpbound_runs::{FunctionalRun, RunOptions};

#[test]
fn committed_launches() {
    let kernels = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels");
    let folder = kernels.join("launches");
    let mut names: Vec<String> = std::fs::read_dir(&folder)
        .expect("kernels/launches")
        .map(|entry| entry.expect("an entry").file_name())
        .filter_map(|name| name.into_string().ok())
        .filter(|name| name.ends_with(".toml"))
        .collect();
    names.sort();
    assert!(names.len() >= 12, "{names:?}");
    let mut problems = Vec::new();
    for name in names {
        let files = |file: &str| {
            std::fs::read(folder.join(file)).map_err(|error| Diagnostic::new(error.to_string()))
        };
        let text = std::fs::read_to_string(folder.join(&name)).expect("a text");
        let launch = LaunchFile::parse(&name, &text, &files).expect("a launch");
        let source = name.split('.').next().unwrap_or_default();
        // Some sources are for the older compiler only.
        let builds = ["sm_61", "nvrtc11.sm_61"].map(|build| format!("{source}.{build}.cubin"));
        let read = |cubin: String| {
            let contents = std::fs::read(kernels.join("built").join(&cubin)).ok()?;
            Some((cubin, contents))
        };
        let Some((cubin, contents)) = builds.into_iter().find_map(read) else {
            let other = kernels.join("built").join(format!("{source}.gfx803.co"));
            assert!(other.exists(), "{name} has no code");
            continue;
        };
        let session = Session::open(&cubin, &contents).expect("it loads");
        let done = session
            .launched_kernel(None, launch.kernel.as_deref())
            .and_then(|kernel| {
                warpbound_runs::execute(
                    &session,
                    kernel,
                    &launch,
                    &RunOptions::default(),
                    &mut |_| (),
                )
                .and_then(FunctionalRun::as_expected)
            });
        match done {
            Ok(run) if run.report.checked_elements == 0 => {
                problems.push(format!("{name}: nothing is compared"));
            }
            Ok(_) => {}
            Err(diagnostic) => problems.push(format!("{name}: {diagnostic}")),
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}
