//! `cargo xtask kernels`: build our own kernels with NVRTC.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use crate::nvrtc::{Compiled, Nvrtc};
use crate::repository::{Repository, files_with_extension};

pub(crate) const HELP: &str = "\
usage: cargo xtask kernels [--check] [NAME...]

Compiles kernels/cuda/NAME.cu (all of them without NAME) with NVRTC, with line tables, into
  kernels/built/NAME.sm_50.cubin, kernels/built/NAME.sm_61.cubin and kernels/built/NAME.sm_62.cubin
Same source, same bytes. Needs oracle/lib, which `cargo xtask oracle` fetches.

  --check   write nothing; fail if a built file is missing, differs, or has no source";

/// The GPUs the kernels are built for.
const ARCHITECTURES: &[&str] = &["sm_50", "sm_61", "sm_62"];

/// Sources that use what a GPU has not.
///
/// Source: the compiler refuses half-precision arithmetic before sm_53 and four-way byte products before sm_61.
const IMPOSSIBLE: &[(&str, &str)] = &[("f16_arithmetic", "sm_50"), ("integer_mix", "sm_50")];

/// NVRTC says this for every build.
const EXPECTED_WARNING: &str = "Architectures prior to '<compute/sm>_75' are deprecated";

/// One output file: which source, for which GPU.
struct Target {
    name: String,
    architecture: &'static str,
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
    let nvrtc = Nvrtc::load(&repository.oracle().join("lib"))?;
    // The line table records the current directory; the top of the file system says nothing about this machine.
    std::env::set_current_dir("/").context("cannot change to /")?;
    if !check {
        fs::create_dir_all(repository.built_kernels()).context("cannot create kernels/built")?;
    }

    let mut problems = Vec::new();
    for target in &targets {
        let cubin = build(&nvrtc, repository, target)
            .with_context(|| format!("{}.cu for {}", target.name, target.architecture))?;
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

/// The outputs to build, in a fixed order.
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
        for &architecture in ARCHITECTURES {
            let name = stem(&source);
            if IMPOSSIBLE.contains(&(name.as_str(), architecture)) {
                continue;
            }
            let output = repository
                .built_kernels()
                .join(format!("{name}.{architecture}.cubin"));
            targets.push(Target {
                name,
                architecture,
                source: source.clone(),
                output,
            });
        }
    }
    Ok(targets)
}

fn build(nvrtc: &Nvrtc, repository: &Repository, target: &Target) -> anyhow::Result<Vec<u8>> {
    let source = fs::read_to_string(&target.source).context("the source cannot be read")?;
    let options = [
        format!("-arch={}", target.architecture),
        "-lineinfo".to_owned(),
    ];
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

/// A committed file must not tell where it was built.
fn refuse_private_path(cubin: &[u8], path: &Path) -> anyhow::Result<()> {
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
