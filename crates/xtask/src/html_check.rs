//! `cargo xtask html-check`: pages of HTML are opened in a browser.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};
use warpbound_bounds::bound;
use warpbound_query::{BoundOptions, CycleQuery, Session};
use warpbound_report::{BoundFolder, BoundFormat, BoundWriter, KernelBound};

use crate::repository::Repository;

pub(crate) const HELP: &str = "\
usage: cargo xtask html-check [--shots FOLDER]

Fetches Chromium, a driver and axe-core in pinned versions from npm's registry into oracle/html, writes pages of bounds,
comparisons, runs and gaps, and opens each from disk in the headless browser: no request besides the page, no message in the console, no violation
by axe-core in the light and the dark scheme, each table sorted by each column by mouse and keyboard, each kernel folded
and unfolded, each number of the page in the JSON report. An index of 28,000 kernels must be open within 2 seconds, 100
kernels must take at most 2 MB.

  --shots FOLDER   also screenshots and the page as it is printed

Records the style sheet and the script that passed; a test compares them with those of the pages. A missing browser is
an error.";

/// Packages from npm's registry.
const PACKAGES: [&str; 3] = [
    "@sparticuz/chromium@147.0.0",
    "puppeteer-core@24.43.1",
    "axe-core@4.14.1",
];

/// Program that opens a page.
const CHECK: &str = include_str!("html_check/check.mjs");

/// Files of our own kernels on the pages: several kernels in a file, loops that diverge, and a wave of GCN3.
const FILES: [&str; 5] = [
    "transpose.sm_62.cubin",
    "bitonic_sort.sm_61.cubin",
    "rates.sm_50.cubin",
    "recursion.sm_61.cubin",
    "nested_loops.gfx803.co",
];

/// Commands with other pages, in the folder of the repository.
const COMMANDS: [(&str, &[&str]); 7] = [
    (
        "diff-spill",
        &[
            "diff",
            "kernels/rebuilt/pressure.base.cubin",
            "kernels/rebuilt/pressure.spill.cubin",
            "--cycles",
        ],
    ),
    (
        "diff-loop",
        &[
            "diff",
            "kernels/built/lud_diagonal.sm_61.cubin",
            "kernels/rebuilt/lud_diagonal.loop.cubin",
            "--loop-default",
            "10",
        ],
    ),
    (
        "diff-added",
        &[
            "diff",
            "kernels/built/transpose.sm_61.cubin",
            "kernels/built/bitonic_sort.sm_61.cubin",
        ],
    ),
    (
        "run",
        &[
            "run",
            "kernels/built/transpose.sm_62.cubin",
            "--launch",
            "kernels/launches/transpose.transpose.1.toml",
            "--sensitivities",
        ],
    ),
    (
        "run-waves",
        &[
            "run",
            "kernels/built/nested_loops.gfx803.co",
            "--launch",
            "kernels/launches/nested_loops.nested_divergent.1.toml",
            "--splits",
            "1",
        ],
    ),
    (
        "run-functional",
        &[
            "run",
            "kernels/built/transpose.sm_62.cubin",
            "--launch",
            "kernels/launches/transpose.transpose.1.toml",
            "--functional",
        ],
    ),
    (
        "gap",
        &[
            "gap",
            "kernels/built/matmul_int.sm_61.cubin",
            "--launch",
            "kernels/cuda/matmul_int.8x8.toml",
            "--seeds",
            "1",
        ],
    ),
];

/// Kernels of the large index.
const KERNELS_OF_INDEX: usize = 28_000;
/// Maximum of seconds until it is open.
const SECONDS: f64 = 2.0;
/// Kernels of the page whose size is limited, and the limit in bytes.
const KERNELS_OF_PAGE: usize = 100;
const BYTES: usize = 2_000_000;

pub(crate) fn run(repository: &Repository, arguments: &[String]) -> anyhow::Result<()> {
    let shots = match arguments {
        [] => None,
        [option, folder] if option == "--shots" => Some(PathBuf::from(folder)),
        _ => bail!("wrong arguments\n\n{HELP}"),
    };
    let browser = Browser::fetch(repository, shots)?;
    let mut problems = 0;
    let mut first_kernels = Vec::new();
    for name in FILES {
        let kernels = bounds(&repository.built_kernels().join(name))?;
        let page = write_report(&kernels, name, BoundFormat::Html)?;
        let report = write_report(&kernels, name, BoundFormat::Json)?;
        problems += usize::from(browser.open(name, &page, Some(&report))?.is_none());
        first_kernels.extend(kernels.into_iter().next());
    }
    for (name, command) in COMMANDS {
        let page = output_of(repository, command, "html")?;
        let report = output_of(repository, command, "json")?;
        problems += usize::from(browser.open(name, &page, Some(&report))?.is_none());
    }
    let median = median_kernel(repository)?;
    let pages = write_report(
        &vec![median.clone(); KERNELS_OF_PAGE],
        "median",
        BoundFormat::Html,
    )?;
    println!(
        "{KERNELS_OF_PAGE} kernels of median size: {} bytes",
        pages.len()
    );
    problems += usize::from(pages.len() > BYTES);
    let index = index_page(&median)?;
    let seconds = browser.open("index", &index, None)?;
    println!("index of {KERNELS_OF_INDEX} kernels: {} bytes", index.len());
    problems += usize::from(seconds.is_none_or(|seconds| seconds > SECONDS));
    if problems > 0 {
        bail!("{problems} pages have problems");
    }
    record(repository)
}

/// Returns the report of a command in a format.
fn output_of(repository: &Repository, command: &[&str], format: &str) -> anyhow::Result<String> {
    let mut run = Command::new("cargo");
    run.args(["run", "--quiet", "--package", "warpbound-cli", "--"]);
    run.args(command).args(["--format", format]);
    let output = run.current_dir(repository.root()).output();
    let output = output.context("cannot start cargo")?;
    if !output.status.success() {
        let message = String::from_utf8_lossy(&output.stderr);
        bail!("{} does not succeed: {message}", command.join(" "));
    }
    Ok(String::from_utf8(output.stdout)?)
}

/// Returns the bounds of the kernels of a file in instructions and cycles, with the machine code.
fn bounds(file: &Path) -> anyhow::Result<Vec<KernelBound>> {
    let name = file.display().to_string();
    let contents = fs::read(file).with_context(|| format!("cannot read {name}"))?;
    let session = Session::open(&name, &contents).map_err(anyhow::Error::msg)?;
    let options = BoundOptions {
        loop_default: Some(10),
        call_default: Some(10),
        cycles: Some(CycleQuery::default()),
        machine_code: true,
        ..BoundOptions::default()
    };
    let kernels = session.kernels(None).map_err(anyhow::Error::msg)?;
    let bound = |kernel| bound(&session, kernel, &options).map_err(anyhow::Error::msg);
    kernels.into_iter().map(bound).collect()
}

/// Returns the kernel whose section has the median size, of all kernels of ours for one architecture.
fn median_kernel(repository: &Repository) -> anyhow::Result<KernelBound> {
    let mut sizes = Vec::new();
    let files = crate::repository::files_with_extension(&repository.built_kernels(), "cubin")?;
    let of_architecture = |file: &&PathBuf| file.to_string_lossy().ends_with("sm_61.cubin");
    for file in files.iter().filter(of_architecture) {
        for kernel in bounds(file)? {
            let page = write_report(std::slice::from_ref(&kernel), "", BoundFormat::Html)?;
            sizes.push((page.len(), kernel));
        }
    }
    sizes.sort_by_key(|(size, _)| *size);
    let middle = sizes.len() / 2;
    let (_, kernel) = sizes
        .into_iter()
        .nth(middle)
        .context("there are no kernels")?;
    Ok(kernel)
}

/// Returns a report as one file.
fn write_report(
    kernels: &[KernelBound],
    file: &str,
    format: BoundFormat,
) -> anyhow::Result<String> {
    let mut writer = BoundWriter::new(Vec::new(), format, file);
    kernels
        .iter()
        .try_for_each(|kernel| writer.kernel(kernel))?;
    Ok(String::from_utf8(writer.finish()?)?)
}

/// Returns the index of many kernels with the bound of one.
fn index_page(kernel: &KernelBound) -> anyhow::Result<String> {
    let mut index = String::new();
    let mut folder = BoundFolder::new("library.so", |name: &str, page: &str| -> io::Result<()> {
        if name == "index.html" {
            index = page.to_owned();
        }
        Ok(())
    });
    let mut kernel = KernelBound {
        machine_code: None,
        ..kernel.clone()
    };
    for number in 0..KERNELS_OF_INDEX {
        kernel.name = format!("void library::kernel<float, {number}>(float*, int)");
        folder.kernel(&kernel)?;
    }
    folder.finish()?;
    Ok(index)
}

/// Headless browser in `oracle/html`.
struct Browser {
    folder: PathBuf,
    shots: Option<PathBuf>,
}

impl Browser {
    /// Fetches the packages, unless they are there.
    fn fetch(repository: &Repository, shots: Option<PathBuf>) -> anyhow::Result<Browser> {
        let folder = repository.oracle().join("html");
        fs::create_dir_all(&folder).context("cannot create oracle/html")?;
        fs::write(folder.join("package.json"), "{\"private\": true}\n")
            .context("cannot write package.json")?;
        fs::write(folder.join("check.mjs"), CHECK).context("cannot write check.mjs")?;
        let mut install = Command::new("npm");
        install.args([
            "install",
            "--no-audit",
            "--no-fund",
            "--ignore-scripts",
            "--silent",
        ]);
        install.args(PACKAGES).current_dir(&folder);
        if !install.status().context("cannot start npm")?.success() {
            bail!("npm cannot install {}", PACKAGES.join(", "));
        }
        Ok(Browser { folder, shots })
    }

    /// Opens a page and prints what was found. Returns the seconds until it was open, or `None` if it has problems.
    fn open(&self, name: &str, page: &str, report: Option<&str>) -> anyhow::Result<Option<f64>> {
        let path = self.folder.join("page.html");
        fs::write(&path, page).context("cannot write the page")?;
        let mut check = Command::new("node");
        check
            .arg("check.mjs")
            .arg("page.html")
            .current_dir(&self.folder);
        match report {
            None => check.arg("-"),
            Some(report) => {
                fs::write(self.folder.join("page.json"), report).context("cannot write JSON")?;
                check.arg("page.json")
            }
        };
        match &self.shots {
            None => check.arg("-"),
            Some(shots) => {
                let own = std::path::absolute(shots)?.join(name);
                fs::create_dir_all(&own).context("cannot create the folder of screenshots")?;
                check.arg(own)
            }
        };
        let output = check.output().context("cannot start node")?;
        let line = String::from_utf8_lossy(&output.stdout);
        println!("{name}: {}", line.trim_end());
        if line.is_empty() {
            bail!("{}", String::from_utf8_lossy(&output.stderr));
        }
        let found: serde_json::Value = serde_json::from_str(&line)?;
        Ok(found["seconds"]
            .as_f64()
            .filter(|_| output.status.success()))
    }
}

/// Records the style sheet and the script that passed.
fn record(repository: &Repository) -> anyhow::Result<()> {
    let crates = repository.root().join("crates");
    for name in ["page.css", "page.js"] {
        let recorded = crates.join("xtask/src/html_check/checked").join(name);
        fs::copy(crates.join("report/src/html").join(name), recorded)
            .with_context(|| format!("cannot record {name}"))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    /// A change of the style sheet or the script takes a run of `cargo xtask html-check`, which records both.
    #[test]
    fn pages_are_those_that_a_browser_checked() {
        assert!(
            include_str!("html_check/checked/page.css")
                == include_str!("../../report/src/html/page.css")
        );
        assert!(
            include_str!("html_check/checked/page.js")
                == include_str!("../../report/src/html/page.js")
        );
    }
}
