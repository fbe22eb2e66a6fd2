//! `cargo xtask kernels`: build our own kernels with NVRTC.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use crate::nvrtc::{Compiled, Nvrtc, Release};
use crate::repository::{Repository, files_with_extension};

pub(crate) const HELP: &str = "\
usage: cargo xtask kernels [--check] [NAME...]

Compiles kernels/cuda/NAME.cu (all of them without NAME) with NVRTC, with line tables, into
  kernels/built/NAME.sm_50.cubin, kernels/built/NAME.sm_61.cubin and kernels/built/NAME.sm_62.cubin (NVRTC 12.9)
  kernels/built/NAME.nvrtc11.sm_61.cubin (NVRTC 11.8: other code generation, texture references)
Same source, same bytes. Needs oracle/lib, which `cargo xtask oracle` fetches.

  --check   write nothing; fail if a built file is missing, differs, or has no source";

/// A build configuration of all kernels.
#[derive(Clone, Copy)]
struct Build {
    /// Part of the file name between the source's name and `.cubin`.
    suffix: &'static str,
    architecture: &'static str,
    release: Release,
}

/// GPUs for which the kernels are built, and the compilers.
const BUILDS: &[Build] = &[
    Build::new("sm_50", "sm_50", Release::Cuda12),
    Build::new("sm_61", "sm_61", Release::Cuda12),
    Build::new("sm_62", "sm_62", Release::Cuda12),
    Build::new("nvrtc11.sm_61", "sm_61", Release::Cuda11),
];

impl Build {
    const fn new(suffix: &'static str, architecture: &'static str, release: Release) -> Build {
        Build {
            suffix,
            architecture,
            release,
        }
    }
}

/// Sources that use features which a GPU or a compiler does not have, with the builds that are skipped.
///
/// Source: the compilers reject half-precision arithmetic before sm_53 and four-way byte products before sm_61; NVRTC
/// 11.8 declares the latter but cannot link them; CUDA 12 removed texture references.
const IMPOSSIBLE: &[(&str, &[&str])] = &[
    ("f16_arithmetic", &["sm_50"]),
    ("integer_mix", &["sm_50", "nvrtc11.sm_61"]),
    ("texture_reference", &["sm_50", "sm_61", "sm_62"]),
];

/// Warning of NVRTC 12.9 for every build.
const EXPECTED_WARNING: &str = "Architectures prior to '<compute/sm>_75' are deprecated";

/// An output file with its source and build.
struct Target {
    name: String,
    build: Build,
    source: PathBuf,
    output: PathBuf,
}

pub(crate) fn run(repository: &Repository, arguments: &[String]) -> anyhow::Result<()> {
    let mut check = false;
    let mut names = Vec::new();
    for argument in arguments {
        match argument.as_str() {
            "--check" => check = true,
            flag if flag.starts_with('-') => bail!("kernels does not know the argument {flag:?}"),
            name => names.push(name),
        }
    }
    let targets = targets(repository, &names)?;
    let lib = repository.oracle().join("lib");
    let compilers = [
        (Release::Cuda11, Nvrtc::load(&lib, Release::Cuda11)?),
        (Release::Cuda12, Nvrtc::load(&lib, Release::Cuda12)?),
    ];
    // The line table records the current directory; `/` reveals nothing about the machine.
    std::env::set_current_dir("/").context("cannot change to /")?;
    if !check {
        fs::create_dir_all(repository.built_kernels()).context("cannot create kernels/built")?;
    }

    let mut problems = Vec::new();
    for target in &targets {
        let compiler = compilers
            .iter()
            .find(|(release, _)| *release == target.build.release);
        let (_, nvrtc) = compiler.context("no such compiler")?;
        let cubin = build(nvrtc, repository, target)
            .with_context(|| format!("{}.cu for {}", target.name, target.build.suffix))?;
        if !check {
            fs::write(&target.output, &cubin)
                .with_context(|| format!("cannot write {}", target.output.display()))?;
            continue;
        }
        match fs::read(&target.output) {
            Ok(present) if present == cubin => {}
            Ok(_) => problems.push(format!(
                "{} differs from its source",
                file_name(&target.output)
            )),
            Err(_) => problems.push(format!(
                "{} is missing or unreadable",
                file_name(&target.output)
            )),
        }
    }
    if names.is_empty() {
        for file in files_with_extension(&repository.built_kernels(), "cubin")? {
            if targets.iter().all(|target| target.output != file) {
                problems.push(format!("{} has no source", file_name(&file)));
            }
        }
    }
    if !problems.is_empty() {
        bail!(
            "{} of kernels/built: {}",
            problems.len(),
            problems.join(", ")
        );
    }
    println!(
        "{} cubins {}",
        targets.len(),
        if check { "are up to date" } else { "built" }
    );
    Ok(())
}

/// Returns the outputs to build, in a fixed order.
fn targets(repository: &Repository, names: &[&str]) -> anyhow::Result<Vec<Target>> {
    let mut sources = files_with_extension(&repository.kernel_sources(), "cu")?;
    let stem = |path: &Path| {
        path.file_stem()
            .map(|stem| stem.to_string_lossy().into_owned())
            .unwrap_or_default()
    };
    for name in names {
        if sources.iter().all(|source| stem(source) != *name) {
            bail!("there is no kernels/cuda/{name}.cu");
        }
    }
    if !names.is_empty() {
        sources.retain(|source| names.contains(&stem(source).as_str()));
    }
    let mut targets = Vec::new();
    for source in sources {
        for &build in BUILDS {
            let name = stem(&source);
            let impossible = IMPOSSIBLE
                .iter()
                .find(|(impossible, _)| *impossible == name);
            if impossible.is_some_and(|(_, builds)| builds.contains(&build.suffix)) {
                continue;
            }
            let output = repository
                .built_kernels()
                .join(format!("{name}.{}.cubin", build.suffix));
            targets.push(Target {
                name,
                build,
                source: source.clone(),
                output,
            });
        }
    }
    Ok(targets)
}

fn build(nvrtc: &Nvrtc, repository: &Repository, target: &Target) -> anyhow::Result<Vec<u8>> {
    let source = fs::read_to_string(&target.source).context("the source cannot be read")?;
    let mut options = vec![
        format!("-arch={}", target.build.architecture),
        "-lineinfo".to_owned(),
    ];
    if target.build.release == Release::Cuda11 {
        // The default of NVRTC 12.9.
        options.push("-std=c++17".to_owned());
        // Suppresses "deprecated": this build exists for texture references.
        options.push("-diag-suppress=1215".to_owned());
    }
    let Compiled { cubin, log } = nvrtc.compile(
        &source,
        &format!("kernels/cuda/{}.cu", target.name),
        &options,
    )?;
    for line in log
        .lines()
        .filter(|line| !line.is_empty() && !line.contains(EXPECTED_WARNING))
    {
        eprintln!("{}.cu: {line}", target.name);
    }
    refuse_private_path(&cubin, repository.root())?;
    if let Some(home) = std::env::var_os("HOME") {
        refuse_private_path(&cubin, Path::new(&home))?;
    }
    Ok(cubin)
}

/// Fails if the cubin contains a path: a committed file must not reveal where it was built.
pub(crate) fn refuse_private_path(cubin: &[u8], path: &Path) -> anyhow::Result<()> {
    let needle = path.as_os_str().as_encoded_bytes();
    if needle.len() > 1 && cubin.windows(needle.len()).any(|window| window == needle) {
        bail!("the cubin contains the path {}", path.display());
    }
    Ok(())
}

fn file_name(path: &Path) -> String {
    path.file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default()
}
