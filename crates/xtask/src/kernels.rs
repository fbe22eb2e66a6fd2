//! `cargo xtask kernels`: build our own kernels, NVIDIA's with NVRTC and AMD's with clang.

mod tensor;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use crate::gcn3_compiler::Gcn3Compiler;
use crate::nvrtc::{Compiled, Nvrtc, Release};
use crate::repository::{Repository, files_with_extension};

pub(crate) const HELP: &str = "\
usage: cargo xtask kernels [--check] [--gcn3] [NAME...]
       cargo xtask kernels --unpinned DIRECTORY [NAME...]
       cargo xtask kernels --wide DIRECTORY [NAME...]
       cargo xtask kernels --tensor DIRECTORY [NAME...]
       cargo xtask kernels --beside [--check]

Compiles kernels/cuda/NAME.cu (all of them without NAME) with NVRTC, with line tables, into
  kernels/built/NAME.sm_50.cubin, kernels/built/NAME.sm_61.cubin and kernels/built/NAME.sm_62.cubin (NVRTC 12.9)
  kernels/built/NAME.nvrtc11.sm_61.cubin (NVRTC 11.8: other code generation, texture references)
  kernels/wide/NAME.sm_75.cubin, .sm_87.cubin, .sm_90.cubin, .sm_120.cubin (NVRTC 13.5; a few kernels of different
            features)
and kernels/gcn3/NAME.cl or NAME.s with clang and lld 22.1.8 into
  kernels/built/NAME.gfx803.co
Same source, same bytes. Needs oracle/lib and oracle/bin, which `cargo xtask oracle` fetches.

  --check   write nothing; fail if a built file is missing, differs, or has no source
  --gcn3    only the sources in kernels/gcn3
  --unpinned DIRECTORY   without the lines `#pragma unroll 1` and `#pragma nounroll`, which most authors do not write,
            into this folder: loops as compilers unroll them
  --wide DIRECTORY   all sources for the GPUs with instructions of 128 bits (sm_75, 80, 87, 90, 100, 110, 120) into this
            folder, for example target/wide; only a few of them are in the repository, because they are large
  --tensor DIRECTORY   instead: kernels/tensor/NAME.cu (tensor cores, bulk copies, clusters, tensor memory) into this
            folder, each for the chips that have its instructions: sm_75, 80, 89, 90a, 100a, 110a and 120a
  --beside  instead: the cubins and code objects of kernels/plain and kernels/practice, which lie beside their sources;
            with --wide their sources for the GPUs with instructions of 128 bits, into that folder";

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

/// GPUs with instructions of 128 bits, for which all kernels can be built.
const WIDE_BUILDS: &[Build] = &[
    Build::new("sm_75", "sm_75", Release::Cuda13),
    Build::new("sm_80", "sm_80", Release::Cuda13),
    Build::new("sm_87", "sm_87", Release::Cuda13),
    Build::new("sm_90", "sm_90", Release::Cuda13),
    Build::new("sm_100", "sm_100", Release::Cuda13),
    Build::new("sm_110", "sm_110", Release::Cuda13),
    Build::new("sm_120", "sm_120", Release::Cuda13),
];

/// Those of them whose cubins are in the repository: Turing, a Jetson, a server and a desktop.
const KEPT_WIDE_BUILDS: [&str; 4] = ["sm_75", "sm_87", "sm_90", "sm_120"];

/// Kernels whose cubins for these GPUs are in the repository: atomics, shared memory, barriers with numbers and in
/// functions, system calls, divisions by called functions, pointers to functions, irreducible loops, nested divergent
/// loops, recursion, tables of a switch, textures (also of objects that differ among lanes), votes, and the kernels of benchmarks.
const KEPT_WIDE_KERNELS: [&str; 18] = [
    "atomics",
    "backprop",
    "barrier_in_function",
    "barrier_kinds",
    "bitonic_sort",
    "external_call",
    "f64_division",
    "function_pointer",
    "goto_flow",
    "hotspot",
    "mandelbrot",
    "matmul_tiled",
    "nested_loops",
    "recursion",
    "switch_table",
    "texture",
    "texture_kinds",
    "vote",
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
    (
        "texture_reference",
        &[
            "sm_50", "sm_61", "sm_62", "sm_75", "sm_80", "sm_87", "sm_90", "sm_100", "sm_110",
            "sm_120",
        ],
    ),
];

/// Warning of NVRTC 12.9 for every build.
const EXPECTED_WARNING: &str = "Architectures prior to '<compute/sm>_75' are deprecated";

/// An output file with its source and build.
struct Target {
    name: String,
    compiler: Compiler,
    source: PathBuf,
    output: PathBuf,
    /// Path of the source from the root of the repository, in line tables.
    program: String,
    /// Whether the loops that the source keeps as they are may be unrolled.
    unpinned: bool,
}

/// Compiler of a target.
#[derive(Clone, Copy)]
enum Compiler {
    Nvrtc(Build),
    Clang,
}

/// Compilers that are needed.
struct Compilers {
    nvrtc: Vec<(Release, Nvrtc)>,
    gcn3: Option<Gcn3Compiler>,
}

impl Compilers {
    fn find(repository: &Repository, targets: &[Target]) -> anyhow::Result<Compilers> {
        let needs_nvrtc = |target: &Target| matches!(target.compiler, Compiler::Nvrtc(_));
        let mut nvrtc = Vec::new();
        if targets.iter().any(needs_nvrtc) {
            let lib = repository.oracle().join("lib");
            for release in [Release::Cuda11, Release::Cuda12, Release::Cuda13] {
                let needs = |target: &Target| match target.compiler {
                    Compiler::Nvrtc(build) => build.release == release,
                    Compiler::Clang => false,
                };
                if targets.iter().any(needs) {
                    nvrtc.push((release, Nvrtc::load(&lib, release)?));
                }
            }
        }
        let gcn3 = match targets.iter().all(needs_nvrtc) {
            true => None,
            false => Some(Gcn3Compiler::find(repository)?),
        };
        Ok(Compilers { nvrtc, gcn3 })
    }

    fn build(&self, repository: &Repository, target: &Target) -> anyhow::Result<Vec<u8>> {
        let contents = match target.compiler {
            Compiler::Nvrtc(with) => {
                let found = self
                    .nvrtc
                    .iter()
                    .find(|(release, _)| *release == with.release);
                let (_, nvrtc) = found.context("no such compiler")?;
                build(nvrtc, target, with)?
            }
            Compiler::Clang => {
                let compiler = self.gcn3.as_ref().context("no such compiler")?;
                let changed = target.unpinned.then(|| source_of(target)).transpose()?;
                compiler.compile(&target.source, changed.as_deref())?
            }
        };
        refuse_private_path(&contents, repository.root())?;
        if let Some(home) = std::env::var_os("HOME") {
            refuse_private_path(&contents, Path::new(&home))?;
        }
        Ok(contents)
    }
}

/// Arguments of the command.
#[derive(Default)]
struct Arguments<'a> {
    check: bool,
    only_gcn3: bool,
    beside: bool,
    /// Folders of `--unpinned`, `--wide` and `--tensor`.
    unpinned: Option<PathBuf>,
    wide: Option<PathBuf>,
    tensor: Option<PathBuf>,
    names: Vec<&'a str>,
}

impl Arguments<'_> {
    fn parse(arguments: &[String]) -> anyhow::Result<Arguments<'_>> {
        let mut found = Arguments::default();
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            let mut folder = || {
                let folder = rest.next();
                let folder = folder.with_context(|| format!("{argument} without a folder"))?;
                anyhow::Ok(Some(std::path::absolute(folder)?))
            };
            match argument.as_str() {
                "--unpinned" => found.unpinned = folder()?,
                "--wide" => found.wide = folder()?,
                "--tensor" => found.tensor = folder()?,
                "--check" => found.check = true,
                "--gcn3" => found.only_gcn3 = true,
                "--beside" => found.beside = true,
                flag if flag.starts_with('-') => {
                    bail!("kernels does not know the argument {flag:?}")
                }
                name => found.names.push(name),
            }
        }
        let folders = [&found.unpinned, &found.wide, &found.tensor];
        if found.check && folders.iter().any(|folder| folder.is_some()) {
            bail!("--check compares kernels/built and kernels/wide, not another folder");
        }
        Ok(found)
    }
}

pub(crate) fn run(repository: &Repository, arguments: &[String]) -> anyhow::Result<()> {
    let Arguments {
        check,
        only_gcn3,
        beside,
        unpinned,
        wide,
        tensor,
        names,
    } = Arguments::parse(arguments)?;
    let mut targets = match (&wide, &tensor, beside) {
        (Some(folder), _, false) => wide_targets(&repository.kernel_sources(), &names, folder)?,
        (Some(folder), _, true) => {
            let mut targets = Vec::new();
            for sources in repository.folders_beside() {
                targets.extend(wide_targets(&sources, &names, folder)?);
            }
            targets
        }
        (None, Some(folder), _) => tensor::targets(repository, &names, folder)?,
        (None, None, true) => targets_beside(repository)?,
        (None, None, false) => targets(repository, &names)?,
    };
    if only_gcn3 {
        targets.retain(|target| matches!(target.compiler, Compiler::Clang));
    }
    let folder = match (&unpinned, wide.as_ref().or(tensor.as_ref())) {
        (Some(folder), _) => {
            unpin(&mut targets, folder);
            folder.clone()
        }
        (None, Some(folder)) => folder.clone(),
        (None, None) => repository.built_kernels(),
    };
    let elsewhere = unpinned.is_some() || wide.is_some() || tensor.is_some();
    let compilers = Compilers::find(repository, &targets)?;
    // The line table records the current directory; `/` reveals nothing about the machine.
    std::env::set_current_dir("/").context("cannot change to /")?;
    if !check {
        fs::create_dir_all(&folder)
            .with_context(|| format!("cannot create {}", folder.display()))?;
    }

    let mut problems = Vec::new();
    for target in &targets {
        let contents = compilers
            .build(repository, target)
            .with_context(|| format!("{} from {}", file_name(&target.output), target.name))?;
        if !check {
            fs::write(&target.output, &contents)
                .with_context(|| format!("cannot write {}", target.output.display()))?;
            continue;
        }
        match fs::read(&target.output) {
            Ok(present) if present == contents => {}
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
    if names.is_empty() && !only_gcn3 && !beside && !elsewhere {
        problems.extend(without_source(repository, &targets)?);
    }
    if !problems.is_empty() {
        bail!(
            "{} of the built kernels: {}",
            problems.len(),
            problems.join(", ")
        );
    }
    println!(
        "{} kernels {}",
        targets.len(),
        if check { "are up to date" } else { "built" }
    );
    Ok(())
}

/// Names the files of `kernels/built` that no target is.
fn without_source(repository: &Repository, targets: &[Target]) -> anyhow::Result<Vec<String>> {
    let mut files = files_with_extension(&repository.built_kernels(), "cubin")?;
    files.extend(files_with_extension(&repository.wide_kernels(), "cubin")?);
    files.extend(built_gcn3_kernels(repository)?);
    files.retain(|file| targets.iter().all(|target| target.output != *file));
    let problems = files.iter();
    let problems = problems.map(|file| format!("{} has no source", file_name(file)));
    Ok(problems.collect())
}

/// Has targets built into another folder, with loops as compilers unroll them.
fn unpin(targets: &mut [Target], folder: &Path) {
    for target in targets {
        target.output = folder.join(file_name(&target.output));
        target.unpinned = true;
    }
}

/// Returns the code objects in `kernels/built` that are built from a source in `kernels/gcn3`.
fn built_gcn3_kernels(repository: &Repository) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = files_with_extension(&repository.built_kernels(), "co")?;
    files.retain(|file| file_name(file).ends_with(".gfx803.co"));
    Ok(files)
}

/// Returns the outputs to build, in a fixed order.
fn targets(repository: &Repository, names: &[&str]) -> anyhow::Result<Vec<Target>> {
    let mut sources = files_with_extension(&repository.kernel_sources(), "cu")?;
    let mut gcn3_sources = files_with_extension(&repository.gcn3_sources(), "cl")?;
    gcn3_sources.extend(files_with_extension(&repository.gcn3_sources(), "s")?);
    let stem = |path: &Path| {
        path.file_stem()
            .map(|stem| stem.to_string_lossy().into_owned())
            .unwrap_or_default()
    };
    for name in names {
        if sources
            .iter()
            .chain(&gcn3_sources)
            .all(|source| stem(source) != *name)
        {
            bail!("neither kernels/cuda nor kernels/gcn3 has a source called {name}");
        }
    }
    if !names.is_empty() {
        sources.retain(|source| names.contains(&stem(source).as_str()));
        gcn3_sources.retain(|source| names.contains(&stem(source).as_str()));
    }
    let target = |source: &Path, compiler: Compiler, end: &str| {
        let name = stem(source);
        let output = repository.built_kernels().join(format!("{name}.{end}"));
        Target {
            compiler,
            program: format!("kernels/cuda/{name}.cu"),
            name,
            source: source.to_owned(),
            output,
            unpinned: false,
        }
    };
    let mut targets = Vec::new();
    for source in &sources {
        for &build in BUILDS {
            let name = stem(source);
            let impossible = IMPOSSIBLE
                .iter()
                .find(|(impossible, _)| *impossible == name);
            if impossible.is_some_and(|(_, builds)| builds.contains(&build.suffix)) {
                continue;
            }
            let end = format!("{}.cubin", build.suffix);
            targets.push(target(source, Compiler::Nvrtc(build), &end));
        }
    }
    let kept: Vec<&str> = KEPT_WIDE_KERNELS
        .into_iter()
        .filter(|kernel| names.is_empty() || names.contains(kernel))
        .collect();
    if !kept.is_empty() {
        let mut wide = wide_targets(
            &repository.kernel_sources(),
            &kept,
            &repository.wide_kernels(),
        )?;
        let is_kept = |target: &Target| match target.compiler {
            Compiler::Nvrtc(build) => KEPT_WIDE_BUILDS.contains(&build.suffix),
            Compiler::Clang => false,
        };
        wide.retain(is_kept);
        targets.extend(wide);
    }
    let gcn3_targets = gcn3_sources.iter();
    targets.extend(gcn3_targets.map(|source| target(source, Compiler::Clang, "gfx803.co")));
    Ok(targets)
}

/// Returns the outputs for the GPUs with instructions of 128 bits, of all sources or of those with these names.
fn wide_targets(sources: &Path, names: &[&str], folder: &Path) -> anyhow::Result<Vec<Target>> {
    let mut targets = Vec::new();
    for source in files_with_extension(sources, "cu")? {
        let name = source
            .file_stem()
            .map(|stem| stem.to_string_lossy().into_owned())
            .unwrap_or_default();
        if !names.is_empty() && !names.contains(&name.as_str()) {
            continue;
        }
        let impossible = IMPOSSIBLE.iter().find(|(other, _)| *other == name);
        for &build in WIDE_BUILDS {
            if impossible.is_some_and(|(_, builds)| builds.contains(&build.suffix)) {
                continue;
            }
            targets.push(Target {
                compiler: Compiler::Nvrtc(build),
                program: format!("kernels/{}/{name}.cu", file_name(sources)),
                output: folder.join(format!("{name}.{}.cubin", build.suffix)),
                name: name.clone(),
                source: source.clone(),
                unpinned: false,
            });
        }
    }
    Ok(targets)
}

/// Returns the outputs in the folders of their sources that exist.
fn targets_beside(repository: &Repository) -> anyhow::Result<Vec<Target>> {
    let mut targets = Vec::new();
    for path in repository.folders_beside() {
        let folder = file_name(&path);
        let mut outputs = files_with_extension(&path, "cubin")?;
        outputs.extend(files_with_extension(&path, "co")?);
        for output in outputs {
            let file = file_name(&output);
            let (name, end) = file.split_once('.').context("a file without a build")?;
            let build = end.strip_suffix(".cubin");
            let build = BUILDS.iter().find(|own| build == Some(own.suffix));
            let (compiler, extension) = match build {
                Some(&build) => (Compiler::Nvrtc(build), "cu"),
                None => (Compiler::Clang, "cl"),
            };
            targets.push(Target {
                name: name.to_owned(),
                compiler,
                source: path.join(format!("{name}.{extension}")),
                program: format!("kernels/{folder}/{name}.{extension}"),
                output,
                unpinned: false,
            });
        }
    }
    Ok(targets)
}

/// Text of a source, without the lines that keep loops as they are if the target is unpinned.
fn source_of(target: &Target) -> anyhow::Result<String> {
    let source = fs::read_to_string(&target.source).context("the source cannot be read")?;
    if !target.unpinned {
        return Ok(source);
    }
    let keeps_loop = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        matches!(
            words.as_slice(),
            ["#pragma", "unroll", "1"] | ["#pragma", "nounroll"]
        )
    };
    // Empty lines in their place, so that numbers of lines stay.
    let lines = source
        .lines()
        .map(|line| if keeps_loop(line) { "" } else { line });
    Ok(lines.collect::<Vec<_>>().join("\n") + "\n")
}

fn build(nvrtc: &Nvrtc, target: &Target, build: Build) -> anyhow::Result<Vec<u8>> {
    let source = source_of(target)?;
    let mut options = vec![
        format!("-arch={}", build.architecture),
        "-lineinfo".to_owned(),
    ];
    if build.release == Release::Cuda11 {
        // The default of NVRTC 12.9.
        options.push("-std=c++17".to_owned());
        // Suppresses "deprecated": this build exists for texture references.
        options.push("-diag-suppress=1215".to_owned());
    }
    let Compiled { cubin, log } = nvrtc.compile(&source, &target.program, &options)?;
    for line in log
        .lines()
        .filter(|line| !line.is_empty() && !line.contains(EXPECTED_WARNING))
    {
        eprintln!("{}.cu: {line}", target.name);
    }
    Ok(cubin)
}

/// Fails if a built file contains a path: a committed file must not reveal where it was built.
pub(crate) fn refuse_private_path(cubin: &[u8], path: &Path) -> anyhow::Result<()> {
    let needle = path.as_os_str().as_encoded_bytes();
    if needle.len() > 1 && cubin.windows(needle.len()).any(|window| window == needle) {
        bail!("the built file contains the path {}", path.display());
    }
    Ok(())
}

fn file_name(path: &Path) -> String {
    path.file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default()
}
