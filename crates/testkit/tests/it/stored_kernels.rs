//! Kernels that lie beside their launches, in a folder of `kernels`.

use std::fs;
use std::path::{Path, PathBuf};

use warpbound_base::Diagnostic;
use warpbound_launch::LaunchFile;
use warpbound_query::Session;

/// A folder of `kernels`.
pub(crate) fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../kernels")
        .join(name)
}

/// Session of a built kernel, and a launch beside it.
pub(crate) fn stored(image: &Path, launch: &str) -> (Session, LaunchFile) {
    let path = image.to_string_lossy();
    let session = Session::open(&path, &fs::read(image).expect("a file")).expect("it loads");
    let file = image.with_file_name(format!("{launch}.toml"));
    let text = fs::read_to_string(file).expect("a launch file");
    let none = |file: &str| {
        Err(Diagnostic::new(format!(
            "{file} is not a part of the launch"
        )))
    };
    let launch = LaunchFile::parse(launch, &text, &none).expect("a launch file");
    (session, launch)
}
