//! Builds: files and folders with machine code, and the options for their bounds.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use warpbound_base::{Diagnostic, Sm};
use warpbound_builds::builds::Build;
use warpbound_query::Isa;
use warpbound_query::input;
use warpbound_query::{BoundOptions, CacheState, CycleQuery, ImageSelection, Library, NumberRange};

use crate::arguments::Jobs;
use crate::values::{loop_default, named, size};

/// Options of bounds that are about all kernels of a build.
#[derive(Args)]
pub(crate) struct BuildArguments {
    #[arg(
        long,
        alias = "sm",
        value_name = "ARCH",
        help = format!("Only kernels for this architecture, such as {} or gfx803", Sm::EXAMPLE)
    )]
    pub(crate) arch: Option<Isa>,
    /// Bound of loops without a derived one: executions of their header per entry
    #[arg(long, value_name = "N", value_parser = loop_default())]
    pub(crate) loop_default: Option<u64>,
    /// Threads of the blocks, for bounds and occupancy [default: any; the occupancy is for the best size]
    #[arg(long, value_name = "X,Y,Z", value_parser = size)]
    pub(crate) block: Option<[NumberRange; 3]>,
    /// Also bound the cycles of a warp that runs alone
    #[arg(long)]
    pub(crate) cycles: bool,
    /// Machine of the cycles: a file, or the name of a built-in machine [default: the one that the code is for]
    #[arg(long, value_name = "M", requires = "cycles")]
    pub(crate) machine: Option<String>,
    /// L2 cache at the start: in any state, holding buffers, constants and code (warm), or empty (cold) [default: any]
    #[arg(long, value_parser = named::<CacheState>(), requires = "cycles")]
    pub(crate) caches: Option<CacheState>,
    #[command(flatten)]
    pub(crate) jobs: Jobs,
}

impl BuildArguments {
    /// Returns the selection of images.
    pub(crate) fn selection(&self) -> ImageSelection {
        ImageSelection {
            image: None,
            isa: self.arch,
        }
    }

    /// Returns the size of blocks if it is one.
    pub(crate) fn one_block(&self) -> Option<[u32; 3]> {
        one_size(self.block?)
    }

    /// Returns the options of bounds, without facts.
    pub(crate) fn options(&self) -> Result<BoundOptions, Diagnostic> {
        let mut options = BoundOptions {
            loop_default: self.loop_default,
            ..BoundOptions::default()
        };
        options.launches.block = self.block;
        if self.cycles {
            options.cycles = Some(CycleQuery {
                machine: self.machine.as_deref().map(input::gpu_model).transpose()?,
                caches: self.caches.unwrap_or_default(),
                ..CycleQuery::default()
            });
        }
        Ok(options)
    }
}

/// Returns a size if it is no range.
fn one_size(block: [NumberRange; 3]) -> Option<[u32; 3]> {
    let one =
        |range: NumberRange| (range.least == range.most).then(|| u32::try_from(range.least).ok());
    let [x, y, z] = block.map(|range| one(range).flatten());
    Some([x?, y?, z?])
}

/// Opens a file, or all files with machine code in a folder and its subfolders. Files of the folder that begin like
/// machine code of a GPU but cannot be read go to `damaged`.
pub(crate) fn libraries(
    path: &Path,
    damaged: &mut Vec<Diagnostic>,
) -> Result<Vec<Library>, Diagnostic> {
    if !path.is_dir() {
        return Ok(vec![input::library(path)?]);
    }
    let mut files = Vec::new();
    collect(path, 0, &mut files)?;
    // The folder of a build has other files too, so a file without machine code is no error there.
    let mut found = Vec::new();
    for file in &files {
        match input::library(file) {
            // Text of mini-SIMT is not part of a build.
            Ok(library) if library.is_text() => {}
            Ok(library) => found.push(library),
            Err(why) if input::begins_like_code(file) => damaged.push(why),
            Err(_) => {}
        }
    }
    match (found.is_empty(), damaged.pop()) {
        // It was taken out only to become the error if nothing was found.
        (false, last) => {
            damaged.extend(last);
            Ok(found)
        }
        (true, Some(why)) => Err(why),
        (true, None) => Err(Diagnostic::new("no file in this folder has machine code")
            .in_file(path.display().to_string())),
    }
}

/// Maximum depth of nested folders.
const MAX_DEPTH: usize = 32;

/// Collects the files of a folder in the order of their names.
fn collect(folder: &Path, depth: usize, files: &mut Vec<PathBuf>) -> Result<(), Diagnostic> {
    let unreadable = |error: std::io::Error| {
        Diagnostic::new(format!("cannot be read: {error}")).in_file(folder.display().to_string())
    };
    let entries = fs::read_dir(folder).map_err(unreadable)?;
    let mut paths = Vec::new();
    for entry in entries {
        paths.push(entry.map_err(unreadable)?.path());
    }
    // File systems list a folder in any order; reports must not depend on it.
    paths.sort();
    for path in paths {
        if path.is_file() {
            files.push(path);
        } else if path.is_dir() && !path.is_symlink() && depth < MAX_DEPTH {
            // A symbolic link is not followed, because it may lead back to a folder around it.
            collect(&path, depth + 1, files)?;
        }
    }
    Ok(())
}

/// Reads a build.
pub(crate) fn build(path: &Path, arguments: &BuildArguments) -> Result<Build, Diagnostic> {
    let mut damaged = Vec::new();
    let mut build = Build::read(
        &path.display().to_string(),
        libraries(path, &mut damaged)?,
        &arguments.selection(),
        arguments.one_block(),
        arguments.jobs.count(),
    )?;
    build.unreadable.extend(damaged);
    Ok(build)
}
