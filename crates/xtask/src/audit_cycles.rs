//! `cargo xtask audit-kernels --cycles`: timed runs of single warps, compared with the bounds of a lone warp.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use warpbound_audit::audit::{LoneWarpAudit, LoneWarpRuns, PathOrder, variation};
use warpbound_audit::{audit_lone_warps, claims};
use warpbound_base::Diagnostic;
use warpbound_bounds::CycleOptions;
use warpbound_launch::LaunchFile;
use warpbound_launch::StartCaches;
use warpbound_query::SplitPipelines;
use warpbound_query::{BoundOptions, CacheState, Session, SplitMarks, SplitOptions};
use warpbound_query::{GpuModel, Selection};

use crate::audit_grids;
use crate::repository::Repository;
use crate::workers::for_each_task;

/// Machines, and the chip whose code runs on each.
pub(crate) const MACHINES: [(&str, &str); 4] = [
    ("jetson-tx2", "sm_62"),
    ("gtx1080", "sm_61"),
    ("p100", "sm_61"),
    ("titan-x-maxwell", "sm_50"),
];

/// Machines of waves.
pub(crate) const WAVE_MACHINES: [(&str, &str); 2] = [("gem5-apu", "gfx803"), ("r9-nano", "gfx803")];

/// Machines of code with convergence barriers.
pub(crate) const WIDE_MACHINES: [(&str, &str); 7] = [
    ("h200", "sm_90"),
    ("jetson-orin", "sm_87"),
    ("rtx5090", "sm_120"),
    ("a100", "sm_80"),
    ("t4", "sm_75"),
    ("b200", "sm_100"),
    ("thor", "sm_110"),
];

/// Time between two progress lines.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(20);

/// Extent of the audit.
#[derive(Clone)]
struct Extent {
    /// Random selections of the parameters of the machine.
    seeds: u64,
    /// Contents of the buffers: the given ones, and random ones.
    contents: u64,
    /// Maximum number of warps of each launch.
    warps: u64,
    /// Runs of each warp at the slow end with refreshes of DRAM at different times.
    phases: u64,
    /// State of the caches at the start; `None` for the state that each launch states.
    caches: Option<CacheState>,
    /// Whether kernels for GCN3 are audited.
    is_gcn3: bool,
    /// Folder with the code for GPUs from Volta on, if their kernels are audited.
    wide: Option<PathBuf>,
    /// Whether the launches of kernels/plain and kernels/practice are audited, whose code is in `wide`.
    is_beside: bool,
    /// Splits of their waves.
    splitting: SplitOptions,
}

/// Parses the options, and the beginnings of names of launches.
fn extent_of(arguments: &[String]) -> anyhow::Result<(Extent, Vec<&str>)> {
    let mut extent = Extent {
        seeds: 4,
        contents: 2,
        warps: 4,
        phases: 16,
        caches: None,
        is_gcn3: false,
        wide: None,
        is_beside: false,
        splitting: SplitOptions {
            marks: SplitMarks::All,
            ..SplitOptions::default()
        },
    };
    let mut names: Vec<&str> = Vec::new();
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        if argument == "--in" {
            extent.wide = Some(rest.next().context("--in without a folder")?.into());
            continue;
        }
        let mut number = || -> anyhow::Result<u64> {
            Ok(rest.next().context("an option without a number")?.parse()?)
        };
        match argument.as_str() {
            "--seeds" => extent.seeds = number()?,
            "--contents" => extent.contents = number()?,
            "--warps" => extent.warps = number()?,
            "--phases" => extent.phases = number()?,
            "--gfx803" => extent.is_gcn3 = true,
            "--beside" => extent.is_beside = true,
            "--splits" => extent.splitting.splits = u32::try_from(number()?)?,
            "--serialised" => extent.splitting.pipelines = SplitPipelines::Serialised,
            "--merge" => extent.splitting.merge = true,
            "--warm" => extent.caches = Some(CacheState::Warm),
            "--cold" => extent.caches = Some(CacheState::Cold),
            flag if flag.starts_with('-') => bail!("no option is called {flag:?}"),
            name => names.push(name),
        }
    }
    Ok((extent, names))
}

pub(crate) fn run(repository: &Repository, arguments: &[String]) -> anyhow::Result<()> {
    if let Some(at) = arguments.iter().position(|argument| argument == "--grids") {
        let rest: Vec<String> = [&arguments[..at], &arguments[at + 1..]].concat();
        return audit_grids::run(repository, &rest);
    }
    let (extent, names) = extent_of(arguments)?;
    if extent.is_beside && extent.wide.is_none() {
        bail!(
            "--beside needs --in FOLDER, where `kernels --wide FOLDER --beside` has put the code"
        );
    }
    let mut machines = Vec::new();
    let of_kind: &[(&str, &str)] = match extent.is_gcn3 {
        true => &WAVE_MACHINES,
        false if extent.wide.is_some() => &WIDE_MACHINES,
        false => &MACHINES,
    };
    for &(name, chip) in of_kind {
        let machine = GpuModel::built_in(name).map_err(|d| anyhow::anyhow!("{d}"))?;
        machines.push((machine, chip));
    }
    let files = match extent.is_gcn3 {
        true => repository.gcn3_launches()?,
        false if extent.is_beside => repository.launches_beside()?,
        false => repository.cuda_launches()?,
    };
    let launches = launches(files, &names)?;
    let mut tasks = Vec::new();
    for launch in &launches {
        tasks.extend(machines.iter().map(|machine| (launch, machine)));
    }
    let begin = Instant::now();
    let find = |((name, grid), (machine, chip)): &(&(String, LaunchFile), &(GpuModel, &str))| {
        audit(repository, (name, grid), (machine, chip), &extent)
    };
    let add =
        |total: &mut Total, ((name, _), (machine, _)): &(&(String, _), &(GpuModel, _)), done| {
            total.add(name, &machine.name, done);
            total.print_progress(tasks.len(), begin);
        };
    let mut total = for_each_task(&tasks, find, Total::default(), add);
    total.lines.sort();
    print!("{}", total.lines.join(""));
    println!(
        "{} launches on {} machines: {} bounds, {} runs of single warps, {} above their bound",
        launches.len(),
        machines.len(),
        total.bounds,
        total.runs,
        total.violations
    );
    println!(
        "bound / worst simulated, net of launch overhead, with the loop counts of the runs: {}",
        quantiles(&mut total.ratios)
    );
    println!(
        "left out: {} without code for the chip; {} runs that fault or execute other instructions with time",
        total.without_code, total.skipped
    );
    for (reason, count) in &total.refused {
        println!("no bound: {count} {reason}");
    }
    if total.violations > 0 || !total.problems.is_empty() {
        bail!(
            "{} runs exceeded their bound; {}",
            total.violations,
            total.problems.join("; ")
        );
    }
    Ok(())
}

/// Returns the median, the 90th and 99th percentile and the largest number.
pub(crate) fn quantiles(numbers: &mut [f64]) -> String {
    numbers.sort_by(f64::total_cmp);
    let at = |share: f64| {
        let position = (numbers.len() as f64 * share) as usize;
        numbers
            .get(position.min(numbers.len().saturating_sub(1)))
            .copied()
            .unwrap_or(f64::NAN)
    };
    format!(
        "median {:.3}, 90 % {:.3}, 99 % {:.3}, most {:.3} ({})",
        at(0.5),
        at(0.9),
        at(0.99),
        at(1.0),
        numbers.len()
    )
}

/// Returns the launches of kernels whose sources have these names, or of all kernels.
pub(crate) fn launches(
    files: Vec<PathBuf>,
    names: &[&str],
) -> anyhow::Result<Vec<(String, LaunchFile)>> {
    let mut launches = Vec::new();
    for path in files {
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let source = name.split('.').next().unwrap_or_default();
        if !names.is_empty() && !names.iter().any(|n| *n == source || name.starts_with(n)) {
            continue;
        }
        let text = fs::read_to_string(&path)?;
        let files = |file: &str| {
            let contents = fs::read(path.with_file_name(file));
            contents.map_err(|error| Diagnostic::new(error.to_string()))
        };
        let grid = LaunchFile::parse(&name, &text, &files).map_err(|d| anyhow::anyhow!("{d}"))?;
        launches.push((name, grid));
    }
    Ok(launches)
}

/// Result of a launch on a machine.
enum Audited {
    WithoutCode,
    Refused(String),
    Done(LoneWarpAudit),
}

fn audit(
    repository: &Repository,
    (name, grid): (&str, &LaunchFile),
    (machine, chip): (&GpuModel, &str),
    extent: &Extent,
) -> anyhow::Result<Audited> {
    let source = name.split('.').next().unwrap_or_default();
    let extension = if extent.is_gcn3 { "co" } else { "cubin" };
    let builds = [chip.to_string(), format!("nvrtc11.{chip}")];
    let cubin = |build: String| {
        let name = format!("{source}.{build}.{extension}");
        match &extent.wide {
            Some(folder) => folder.join(name),
            None => repository.built_kernels().join(name),
        }
    };
    let Some(path) = builds.map(cubin).into_iter().find(|path| path.exists()) else {
        return Ok(Audited::WithoutCode);
    };
    let to_error = |diagnostic: Diagnostic| anyhow::anyhow!("{diagnostic}");
    let session = Session::open(name, &fs::read(&path)?).map_err(to_error)?;
    let kernel = match session.launched_kernel(None, grid.kernel.as_deref()) {
        Ok(kernel) => kernel,
        // Some launches are of instances of templates, which kernels for GCN3 do not have.
        Err(_) if extent.is_gcn3 => return Ok(Audited::WithoutCode),
        Err(why) => return Err(to_error(why)),
    };
    let prepared = session.prepare(kernel).map_err(to_error)?;
    let options = BoundOptions {
        block: Some(grid.block),
        ..BoundOptions::default()
    };
    let claims = match claims(&session, &prepared, &options) {
        Ok(claims) => claims,
        Err(why) => return Ok(Audited::Refused(why.message)),
    };
    let runs = lone_warp_runs(machine, grid, extent);
    let mut found = LoneWarpAudit::default();
    for content in 0..extent.contents {
        let (launch, order) = match content {
            0 => (grid.clone(), PathOrder::TakenFirst),
            _ => {
                let varied = variation(grid, content);
                (varied.launch, varied.order)
            }
        };
        let runs = LoneWarpRuns {
            orders: vec![order],
            ..runs.clone()
        };
        let of_content =
            audit_lone_warps(&session, &prepared, &claims, &launch, &runs).map_err(to_error)?;
        if let Some(why) = of_content.refused {
            return Ok(Audited::Refused(why));
        }
        found.add(of_content);
    }
    Ok(Audited::Done(found))
}

/// Returns the runs of a launch on a machine, in the initial state of the caches that the launch has.
fn lone_warp_runs(machine: &GpuModel, grid: &LaunchFile, extent: &Extent) -> LoneWarpRuns {
    let mut selections = vec![
        Selection::Slow,
        Selection::Typical,
        Selection::Least,
        Selection::Most,
    ];
    selections.extend((1..=extent.seeds).map(Selection::Seed));
    LoneWarpRuns {
        cycles: CycleOptions {
            counts: Default::default(),
            machine: machine.clone(),
            caches: extent.caches.unwrap_or(match grid.caches {
                StartCaches::Warm => CacheState::Warm,
                StartCaches::Cold => CacheState::Cold,
            }),
            splitting: extent.splitting.clone(),
        },
        most_warps: extent.warps,
        searched_warps: extent.warps,
        refresh_phases: extent.phases,
        selections,
        orders: Vec::new(),
        max_instructions: LoneWarpRuns::MAX_INSTRUCTIONS,
    }
}

/// Totals of the audit.
#[derive(Default)]
struct Total {
    done: usize,
    reported: Duration,
    bounds: u64,
    runs: u64,
    skipped: u64,
    violations: usize,
    without_code: usize,
    ratios: Vec<f64>,
    refused: BTreeMap<String, usize>,
    lines: Vec<String>,
    problems: Vec<String>,
}

impl Total {
    fn add(&mut self, name: &str, machine: &str, done: anyhow::Result<Audited>) {
        self.done += 1;
        match done {
            Err(error) => self.problems.push(format!("{name}: {error:#}")),
            Ok(Audited::WithoutCode) => self.without_code += 1,
            Ok(Audited::Refused(why)) => *self.refused.entry(why).or_default() += 1,
            Ok(Audited::Done(found)) => self.add_found(name, machine, found),
        }
    }

    fn add_found(&mut self, name: &str, machine: &str, found: LoneWarpAudit) {
        self.bounds += found.bounds;
        self.runs += found.runs;
        self.skipped += found.skipped;
        self.violations += found.exceeded.len();
        for exceeded in &found.exceeded {
            let text = &exceeded.text;
            self.lines
                .push(format!("VIOLATION {name} on {machine}: {text}\n"));
        }
        let (Some(ratio), Some(worst)) = (found.ratio(), &found.worst) else {
            return;
        };
        self.ratios.push(ratio);
        let terms = found.terms.iter();
        let terms: Vec<String> = terms
            .map(|(name, cycles)| format!("{name} {cycles}"))
            .collect();
        self.lines.push(format!(
            "{ratio:8.3} {name} on {machine}: {} of {} ({}); {}\n",
            worst.cycles,
            found.bound,
            worst.run,
            terms.join(", ")
        ));
    }

    /// Prints the progress on standard error.
    fn print_progress(&mut self, all: usize, begin: Instant) {
        let now = begin.elapsed();
        if now >= self.reported + PROGRESS_INTERVAL {
            self.reported = now;
            eprintln!(
                "{} of {all}, {} runs, {} violations",
                self.done, self.runs, self.violations
            );
        }
    }
}

/// Returns numbers of warps, spread over all.
pub(crate) fn chosen_warps(all: u64, most: u64) -> impl Iterator<Item = u64> {
    let count = all.min(most).max(1);
    (0..count).map(move |n| n * all.saturating_sub(1) / (count - 1).max(1))
}
