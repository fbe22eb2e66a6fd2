//! Recorded executions of instructions against the count rows of the kernels.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, ensure};
use warpbound_bounds::access::access_classes;
use warpbound_bounds::bound;
use warpbound_isa::instr::MemorySpace;
use warpbound_launch::LaunchFile;
use warpbound_load::Kernel;
use warpbound_measure::{CountsAuditOptions, MeasuredCounts, audit_counts};
use warpbound_query::{BoundOptions, ImageSelection, Session, StatedLaunches};
use warpbound_testkit::kernels;

use super::cubins_by_source;
use super::executions::{ComparedRuns, Executions};
use crate::each_kernel::each_kernel;

/// Recorded rows of a launch.
struct RecordedLaunch {
    source: String,
    /// Mangled name.
    kernel: String,
    /// Rows in the format of `warpbound audit --counts`.
    table: String,
    /// Executions by warps, over all instructions.
    executed: u64,
    rows: Vec<RecordedRow>,
}

/// Recorded numbers of an instruction, over all its executions.
pub(super) struct RecordedRow {
    /// Bytes from the begin of the kernel.
    pub(super) offset: u32,
    /// Executions by warps, active lanes in them, and lanes whose condition holds.
    pub(super) executions: Executions,
    /// Tags of L1 and sectors of L2 of global accesses, and wavefronts of shared memory, where the table has them.
    numbers: [Option<u64>; 3],
}

#[derive(Default)]
struct Tally {
    launches: usize,
    instructions: usize,
    blocks: usize,
    loops: usize,
    /// Launches with known sizes.
    sized: usize,
    refused: BTreeMap<String, String>,
    unchecked: usize,
    /// Recorded instructions with a class of accesses, and with a number of lines, sectors or turns, each: compared, and
    /// equal to the numbers of the class.
    accesses: [[usize; 2]; 3],
    /// Bound of a warp times the warps, over the recorded instructions of all warps.
    ratios: Vec<(f64, String)>,
    contradictions: Vec<String>,
    runs: ComparedRuns,
}

/// Returns the contradictions.
pub(super) fn run(csv: &str, cubins: &Path) -> anyhow::Result<Vec<String>> {
    let launches = read(csv)?;
    let files = cubins_by_source(cubins)?;
    let mut tally = Tally::default();
    for (name, launch) in &launches {
        let file = files.get(&launch.source);
        let file = file.with_context(|| format!("no cubin of {}", launch.source))?;
        let mut found = false;
        let unreadable = each_kernel(
            std::slice::from_ref(file),
            &ImageSelection::default(),
            |session, kernel| {
                if *kernel.name != *launch.kernel {
                    return Ok(());
                }
                found = true;
                tally.launch(session, kernel, name, launch)
            },
        )?;
        ensure!(
            found,
            "{}: no kernel {} ({unreadable:?})",
            file.display(),
            launch.kernel
        );
    }
    tally.print();
    tally.contradictions.append(&mut tally.runs.contradictions);
    Ok(tally.contradictions)
}

/// Reads the launches by name.
fn read(csv: &str) -> anyhow::Result<BTreeMap<String, RecordedLaunch>> {
    let mut lines = csv.lines();
    let head = lines.next().context("an empty table")?;
    ensure!(
        head.starts_with("source,kernel,launch,offset,sass,warps,threads,executing"),
        "columns source,kernel,launch,offset,sass,warps,threads,executing are expected"
    );
    let mut launches: BTreeMap<String, RecordedLaunch> = BTreeMap::new();
    for (number, line) in (2..).zip(lines) {
        let mut parts = line.splitn(4, ',');
        let mut part = || parts.next().with_context(|| format!("line {number}"));
        let (source, kernel, launch, rest) = (part()?, part()?, part()?, part()?);
        let (columns, row) = row(rest).with_context(|| format!("line {number}"))?;
        let entry = launches.entry(launch.to_owned());
        let launch = entry.or_insert_with(|| RecordedLaunch {
            source: source.to_owned(),
            kernel: kernel.to_owned(),
            table: "offset,sass,warps,threads,executing_threads\n".to_owned(),
            executed: 0,
            rows: Vec::new(),
        });
        launch.executed += row.executions.warps;
        launch.rows.push(row);
        writeln!(launch.table, "{columns}")?;
    }
    Ok(launches)
}

/// Returns the columns of a row from the offset to the lanes that execute, and its numbers. The text of the instruction may
/// have commas in quotation marks.
fn row(rest: &str) -> Option<(String, RecordedRow)> {
    let (offset, rest) = rest.split_once(',')?;
    let (sass, numbers) = match rest.strip_prefix('"') {
        Some(quoted) => quoted.split_once("\",")?,
        None => rest.split_once(',')?,
    };
    let mut numbers = numbers.split(',');
    let (warps, threads, executing) = (numbers.next()?, numbers.next()?, numbers.next()?);
    let columns = format!("{offset},\"{sass}\",{warps},{threads},{executing}");
    let mut further = || numbers.next().and_then(|number| number.parse().ok());
    let row = RecordedRow {
        offset: offset.parse().ok()?,
        executions: Executions {
            warps: warps.parse().ok()?,
            active: threads.parse().ok()?,
            executing: executing.parse().ok()?,
        },
        numbers: [further(), further(), further()],
    };
    Some((columns, row))
}

/// Returns the launch of a name `SOURCE.KERNEL.N`, if our own kernels have it.
fn known_launch(source: &str, kernel: &str, name: &str) -> Option<LaunchFile> {
    let number = name.rsplit('.').next()?.parse().ok()?;
    let references = kernels::all().into_iter().chain(kernels::of_nvrtc_11_8());
    let mut own = references.filter(|r| r.source == source && r.kernel == kernel);
    own.next().map(|reference| (reference.launch)(number))
}

impl Tally {
    fn launch(
        &mut self,
        session: &Session,
        kernel: &Kernel,
        name: &str,
        recorded: &RecordedLaunch,
    ) -> anyhow::Result<()> {
        let launch = known_launch(&recorded.source, &kernel.demangled(), name);
        self.sized += usize::from(launch.is_some());
        let options = CountsAuditOptions {
            grid: launch.as_ref().map(|launch| launch.grid),
            bound: BoundOptions {
                block: launch.as_ref().map(|launch| launch.block),
                launches: launch.as_ref().map(StatedLaunches::one).unwrap_or_default(),
                ..BoundOptions::default()
            },
        };
        let measured = MeasuredCounts::parse(name, &recorded.table)?;
        let report = audit_counts(session, kernel, &measured, &options)
            .map_err(|why| anyhow::anyhow!("{name}: {why}"))?;
        self.launches += 1;
        self.instructions += report.instructions;
        self.blocks += report.blocks;
        self.loops += report.loops;
        self.unchecked += report.unchecked.len();
        if let Some(why) = &report.refused {
            self.refused.insert(kernel.demangled(), why.clone());
        }
        for finding in &report.findings {
            let at = finding.at.as_deref().unwrap_or("-");
            let what = format!("{name} {at} {}: {}", finding.claim, finding.message);
            self.contradictions.push(what);
        }
        if let Some(launch) = &launch {
            self.compare_accesses(session, kernel, name, launch, &recorded.rows)?;
            self.runs
                .compare(session, kernel, name, launch, &recorded.rows);
        }
        let bound = bound(session, kernel, &options.bound)?;
        if let Some((bound, warps)) = bound.verdict.bound().zip(report.warps) {
            let all = bound as f64 * warps as f64;
            self.ratios
                .push((all / recorded.executed.max(1) as f64, name.to_owned()));
            if all < recorded.executed as f64 {
                let what = format!(
                    "{name}: {} instructions of {warps} warps, at most {bound} each",
                    recorded.executed
                );
                self.contradictions.push(what);
            }
        }
        Ok(())
    }

    /// Compares recorded accesses with the classes in their launch.
    fn compare_accesses(
        &mut self,
        session: &Session,
        kernel: &Kernel,
        name: &str,
        launch: &LaunchFile,
        recorded: &[RecordedRow],
    ) -> anyhow::Result<()> {
        let prepared = session.prepare(kernel)?;
        let options = BoundOptions {
            block: Some(launch.block),
            launches: StatedLaunches::one(launch),
            ..BoundOptions::default()
        };
        let context = options.launch(prepared.kernel, session.image.isa())?;
        // A kernel that the analyses refuse has no classes.
        let Ok(flow) = session.flow(&prepared, &context, &options) else {
            return Ok(());
        };
        let classes = access_classes(session, &prepared, &flow, launch)?;
        for access in recorded {
            let at = prepared.kernel.entry.offset(access.offset.into());
            let Some(at) = at.and_then(|at| prepared.code.at(at)) else {
                continue;
            };
            let Some(class) = classes.get(&at) else {
                continue;
            };
            let global = class.limit(MemorySpace::Global).unwrap_or_default();
            let shared = class.limit(MemorySpace::Shared).unwrap_or_default();
            let limits = [
                ("tags", global.transactions),
                ("sectors", global.sectors),
                ("turns of shared memory", shared.transactions),
            ];
            for (number, (noun, limit)) in limits.into_iter().enumerate() {
                let Some(seen) = access.numbers[number].filter(|_| limit > 0) else {
                    continue;
                };
                let most = access.executions.warps * u64::from(limit);
                let [compared, equal] = &mut self.accesses[number];
                *compared += 1;
                *equal += usize::from(seen == most);
                if seen > most {
                    self.contradictions.push(format!(
                        "{name} {}: {seen} {noun} in {} executions, at most {limit} each",
                        prepared.location(at),
                        access.executions.warps
                    ));
                }
            }
        }
        Ok(())
    }

    fn print(&mut self) {
        println!(
            "{} launches, {} of them with known sizes and parameters: {} instructions, {} blocks and {} loops compared; {} contradictions",
            self.launches,
            self.sized,
            self.instructions,
            self.blocks,
            self.loops,
            self.contradictions.len()
        );
        let [tags, sectors, turns] = self.accesses;
        println!(
            "accesses with a class, equal to its numbers in all executions: tags {} of {}, sectors {} of {}, turns of shared \
             memory {} of {}",
            tags[1], tags[0], sectors[1], sectors[0], turns[1], turns[0]
        );
        self.runs.print();
        println!("{} statements not compared", self.unchecked);
        for (kernel, why) in &self.refused {
            println!("  flow of {kernel} not compared: {why}");
        }
        self.ratios.sort_by(|a, b| a.0.total_cmp(&b.0));
        let at = |percent: usize| {
            self.ratios
                .get(self.ratios.len().saturating_sub(1) * percent / 100)
        };
        println!(
            "bound of all warps / recorded instructions, {} launches with a bound:",
            self.ratios.len()
        );
        for percent in [0, 25, 50, 75, 90, 100] {
            if let Some((ratio, name)) = at(percent) {
                println!("  {percent:>3} %  {ratio:>8.2}  {name}");
            }
        }
    }
}
