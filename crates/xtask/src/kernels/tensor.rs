//! Sources with tensor cores, bulk copies and clusters, which only some chips have.

use std::path::Path;

use anyhow::bail;

use super::{Build, Compiler, Target};
use crate::nvrtc::Release;
use crate::repository::{Repository, files_with_extension};

/// GPUs for which these sources are built. Instructions that no later chip is promised to have need the `a`.
const BUILDS: &[Build] = &[
    Build::new("sm_75", "sm_75", Release::Cuda13),
    Build::new("sm_80", "sm_80", Release::Cuda13),
    Build::new("sm_89", "sm_89", Release::Cuda13),
    Build::new("sm_90a", "sm_90a", Release::Cuda13),
    Build::new("sm_100a", "sm_100a", Release::Cuda13),
    Build::new("sm_110a", "sm_110a", Release::Cuda13),
    Build::new("sm_120a", "sm_120a", Release::Cuda13),
];

/// Sources whose instructions some of these GPUs lack, with the builds that are skipped.
const IMPOSSIBLE: &[(&str, &[&str])] = &[
    ("barriers_and_copies", &["sm_75"]),
    (
        "block_scaled_mma",
        &["sm_75", "sm_80", "sm_89", "sm_90a", "sm_100a", "sm_110a"],
    ),
    ("clusters", &["sm_75", "sm_80", "sm_89"]),
    ("conversions", &["sm_75"]),
    ("mma_gemm", &["sm_75"]),
    (
        "tensor_memory",
        &["sm_75", "sm_80", "sm_89", "sm_90a", "sm_120a"],
    ),
    (
        "warp_group_mma",
        &["sm_75", "sm_80", "sm_89", "sm_100a", "sm_110a", "sm_120a"],
    ),
];

/// Returns the outputs in a folder, of all sources or of those with these names.
pub(super) fn targets(
    repository: &Repository,
    names: &[&str],
    folder: &Path,
) -> anyhow::Result<Vec<Target>> {
    let mut targets = Vec::new();
    for source in files_with_extension(&repository.tensor_sources(), "cu")? {
        let name = source.file_stem().unwrap_or_default();
        let name = name.to_string_lossy().into_owned();
        if !names.is_empty() && !names.contains(&name.as_str()) {
            continue;
        }
        let impossible = IMPOSSIBLE.iter().find(|(other, _)| *other == name);
        for &build in BUILDS {
            if impossible.is_some_and(|(_, builds)| builds.contains(&build.suffix)) {
                continue;
            }
            targets.push(Target {
                compiler: Compiler::Nvrtc(build),
                program: format!("kernels/tensor/{name}.cu"),
                output: folder.join(format!("{name}.{}.cubin", build.suffix)),
                name: name.clone(),
                source: source.clone(),
                unpinned: false,
            });
        }
    }
    if targets.is_empty() {
        bail!("kernels/tensor has no source called {}", names.join(", "));
    }
    Ok(targets)
}
