//! `cargo xtask recordings`: what a GPU did, compared with graphs and bounds.

mod counts;
mod executions;
mod logs;
mod matrices;
mod price;
mod results;
mod special;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use crate::repository::Repository;

pub(crate) const HELP: &str = "\
usage: cargo run --release -p warpbound-xtask -- recordings --counts CSV CUBINS
       cargo run --release -p warpbound-xtask -- recordings --logs TSV PROGRAMS
       cargo run --release -p warpbound-xtask -- recordings --results JSONL CUBINS
       cargo run --release -p warpbound-xtask -- recordings --special FOLDER
       cargo run --release -p warpbound-xtask -- recordings --matrices FOLDER [--sample N]
       cargo run --release -p warpbound-xtask -- recordings --price CUBINS

Compares what a GPU did with the graphs and bounds of the kernels that it ran (SOUNDNESS 21.9).

  --counts CSV  executions of each instruction, summed over the warps of a launch, with the columns source, kernel
                (mangled), launch, offset (bytes), sass, warps, threads, executing. CUBINS has SOURCE.*.cubin. A launch that is
                called SOURCE.KERNEL.N is the one of that name in kernels/launches, so that its sizes and parameters are
                known. Each count is held to the rows of the count system, as `warpbound audit --counts` does. Further columns
                are tags of L1 and sectors of L2 of global accesses, and wavefronts of shared memory, which are held to the
                classes of accesses. The launch runs here, too: a run must have the same lanes at each instruction, and execute none
                less often
  --logs TSV    lines `program, warp, events`; an event is `point:mask:clock`, where a group of lanes with this mask read the
                clock. PROGRAMS has PROGRAM.cu and PROGRAM.cubin; `LOG(N` in the source is point N. A warp with a stack runs
                the recorded paths of the lanes: each of its steps must lie in one event, and the events of a point must
                have counts that the count system allows
  --results JSONL  final contents of the buffers of launches: a line of JSON for each, with launch (a file of kernels/launches),
                source, kernel and buffers, each with name, sha256, and as far as known values_hex and addresses_zeroed_at. Runs
                the same launches of CUBINS/SOURCE.*.cubin without time, and compares the bits
  --special FOLDER  results of special functions: FUNCTION.bin has pairs of words, operand and result, of rcp, rsq, sqrt, lg2,
                ex2, sin, cos (with subnormal numbers flushed; angles in radians), rcp64h or rsq64h (high words of doubles)
  --matrices FOLDER  sums of products of matrix units of eight GPUs: the folder model_validation of
                github.com/north-numerical-computing/MATLAB-tensor-core. With --sample N, prints the first N of each kind as
                the lines of crates/ir/tests/data/matrix_units.txt
  --price CUBINS  bounds without each assumption about GPUs with convergence barriers, against the bounds with them

Fails if a record contradicts a claim.";

/// Number of contradictions that are printed.
const SHOWN: usize = 20;

pub(crate) fn run(repository: &Repository, arguments: &[String]) -> anyhow::Result<()> {
    let contradictions = match arguments {
        [flag, csv, cubins] if flag == "--counts" => {
            counts::run(&text(Path::new(csv))?, Path::new(cubins))?
        }
        [flag, tsv, programs] if flag == "--logs" => {
            logs::run(&text(Path::new(tsv))?, Path::new(programs))?
        }
        [flag, lines, cubins] if flag == "--results" => {
            results::run(repository, &text(Path::new(lines))?, Path::new(cubins))?
        }
        [flag, folder] if flag == "--special" => special::run(Path::new(folder))?,
        [flag, folder] if flag == "--matrices" => matrices::run(Path::new(folder), 0)?,
        [flag, folder, option, count] if flag == "--matrices" && option == "--sample" => {
            matrices::run(Path::new(folder), count.parse().context("--sample N")?)?
        }
        [flag, cubins] if flag == "--price" => return price::run(repository, Path::new(cubins)),
        _ => bail!(
            "--counts, --logs, --results, --special, --matrices or --price with the paths that `--help` names"
        ),
    };
    for what in contradictions.iter().take(SHOWN) {
        println!("  {what}");
    }
    match contradictions.len() {
        0 => Ok(()),
        count => bail!("{count} contradictions"),
    }
}

/// Files of a folder by the part of their name before the first `.`.
fn cubins_by_source(folder: &Path) -> anyhow::Result<std::collections::BTreeMap<String, PathBuf>> {
    let files = crate::repository::files_with_extension(folder, "cubin")?;
    let named = files.into_iter().map(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let source = name.split('.').next().unwrap_or_default().to_owned();
        (source, path)
    });
    let named: std::collections::BTreeMap<_, _> = named.collect();
    match named.is_empty() {
        true => bail!("no cubins in {}", folder.display()),
        false => Ok(named),
    }
}

/// Reads a text.
fn text(path: &Path) -> anyhow::Result<String> {
    std::fs::read_to_string(path).with_context(|| path.display().to_string())
}
