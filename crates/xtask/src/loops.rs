//! `cargo xtask loops`: loops of our own kernels whose bounds are derived from the machine code.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, bail};
use warpbound_audit::audit::{AuditObservations, Claims, DerivedClaims, PathOrder};
use warpbound_audit::{claims, derived_for, derived_for_all, derived_for_launch, monitor};
use warpbound_launch::LaunchFile;
use warpbound_launch::ParamValue;
use warpbound_load::Kernel;
use warpbound_query::{
    BoundOptions, ImageSelection, NumberRange, Prepared, Session, StatedLaunches, StatedParam,
};
use warpbound_query::{LoopVerdict, WhyUnknown};
use warpbound_testkit::kernels::{self, KernelReference};

use crate::each_kernel::each_kernel;
use crate::repository::{Repository, files_with_extension};

pub(crate) const HELP: &str = "\
usage: cargo run --release -p warpbound-xtask -- loops [--build BUILD] [--in DIRECTORY] [--no-runs]

Derives the bounds of the loops of kernels/built/*.BUILD.cubin: with the parameters as symbols of which nothing is known,
with integers of 4 bytes from 1 to 1000, blocks up to the limits of GPUs and grids of up to 65535 blocks in each direction, and with each launch of a kernel
that has a reference. Prints a row for each loop: its bound or the reason why there is none, the bound for these ranges,
the number of launches with a bound, and whether its count varies when only the contents of buffers vary; then totals by
pattern and by reason.

  --build BUILD   build of the kernels (sm_61)
  --in DIRECTORY  kernels of this folder, such as those of `cargo xtask kernels --unpinned DIRECTORY` (kernels/built)
  --no-runs       no runs, so that nothing is said about contents";

/// Launches of each kernel, and variations of the contents of each.
const LAUNCHES: u64 = 3;
const CONTENTS: u64 = 4;

/// Maximum number of warp instructions of a run.
const MOST_INSTRUCTIONS: u64 = 20_000_000;

pub(crate) fn run(repository: &Repository, arguments: &[String]) -> anyhow::Result<()> {
    let (mut build, mut runs) = ("sm_61".to_owned(), true);
    let mut folder = repository.built_kernels();
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "--build" => build = rest.next().context("--build without a name")?.clone(),
            "--in" => folder = rest.next().context("--in without a folder")?.into(),
            "--no-runs" => runs = false,
            other => bail!("no option is called {other:?}"),
        }
    }
    let mut files = files_with_extension(&folder, "cubin")?;
    files.retain(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let rest = name.split_once('.').map_or("", |(_, rest)| rest);
        rest == format!("{build}.cubin")
    });
    if files.is_empty() {
        bail!(
            "no cubin of {} is called NAME.{build}.cubin",
            folder.display()
        );
    }
    let references = kernels::all();
    let mut survey = LoopSurvey::default();
    let unreadable = each_kernel(&files, &ImageSelection::default(), |session, kernel| {
        let source = session.name().split('.').next().unwrap_or_default();
        let reference = references
            .iter()
            .find(|r| r.source == source && r.kernel == kernel.demangled());
        survey.add_kernel(session, kernel, reference, runs)
    })?;
    for why in unreadable {
        survey.refused.push(why.to_string());
    }
    survey.print();
    Ok(())
}

/// Loop of a kernel.
struct SurveyedLoop {
    kernel: String,
    at: String,
    depth: u32,
    /// Verdict with the parameters as symbols.
    static_verdict: LoopVerdict,
    /// Verdict with ranges of sizes and parameters.
    ranges: Option<LoopVerdict>,
    /// Verdicts with the launches.
    launches: Vec<LoopVerdict>,
    /// Whether the count varies with the contents of buffers; `None` if no run says so.
    varies: Option<bool>,
}

#[derive(Default)]
struct LoopSurvey {
    loops: Vec<SurveyedLoop>,
    kernels: usize,
    refused: Vec<String>,
}

impl LoopSurvey {
    fn add_kernel(
        &mut self,
        session: &Session,
        kernel: &Kernel,
        reference: Option<&KernelReference>,
        runs: bool,
    ) -> anyhow::Result<()> {
        self.kernels += 1;
        let name = format!("{} {}", session.name(), kernel.demangled());
        let prepared = session.prepare(kernel)?;
        let claims = match claims(session, &prepared, &BoundOptions::default()) {
            Ok(claims) => claims,
            Err(why) => {
                self.refused.push(why.to_string());
                return Ok(());
            }
        };
        if claims.flow.loops.sites.is_empty() {
            return Ok(());
        }
        let derived = derived_for_all(session, &prepared, &claims.flow)?;
        let ranges = derived_for(session, &prepared, &claims.flow, small_ranges(kernel));
        let ranges = ranges.ok();
        let launches: Vec<LaunchFile> = match reference {
            Some(reference) => (0..LAUNCHES).map(reference.launch).collect(),
            None => Vec::new(),
        };
        let with_launches: Result<Vec<DerivedClaims>, _> = launches
            .iter()
            .map(|launch| derived_for_launch(session, &prepared, &claims.flow, launch))
            .collect();
        let with_launches = with_launches?;
        let varying = match runs {
            true => varying_counts(session, &prepared, &claims, &launches)?,
            false => vec![None; claims.flow.loops.sites.len()],
        };
        for (number, site) in claims.flow.loops.sites.iter().enumerate() {
            let verdict = |of: &DerivedClaims| of.verdicts().get(number).cloned();
            let Some(static_verdict) = verdict(&derived) else {
                continue;
            };
            self.loops.push(SurveyedLoop {
                kernel: name.clone(),
                at: site.addr().to_string(),
                depth: site.depth,
                static_verdict,
                ranges: ranges.as_ref().and_then(verdict),
                launches: with_launches.iter().filter_map(verdict).collect(),
                varies: varying.get(number).copied().flatten(),
            });
        }
        Ok(())
    }

    fn print(&self) {
        for l in &self.loops {
            let derived = l.launches.iter().filter(|v| is_bounded(v)).count();
            let ranges = match &l.ranges {
                Some(LoopVerdict::Bounded(bound)) => bound.per_entry.to_string(),
                _ => "none".to_owned(),
            };
            let varies = match l.varies {
                None => "",
                Some(true) => "contents vary it",
                Some(false) => "contents do not vary it",
            };
            println!(
                "{:<64} {:>7} depth {} {:<40} ranges {ranges:<9} launches {derived}/{} {varies}",
                l.kernel.chars().take(64).collect::<String>(),
                l.at,
                l.depth,
                text(&l.static_verdict),
                l.launches.len(),
            );
        }
        println!();
        let mut patterns: BTreeMap<String, [usize; 5]> = BTreeMap::new();
        for l in &self.loops {
            let row = patterns.entry(kind(&l.static_verdict)).or_default();
            row[0] += 1;
            row[1] += usize::from(l.is_bounded_with_launches());
            row[2] += usize::from(l.varies == Some(true));
            row[3] += usize::from(l.varies == Some(false));
            row[4] += usize::from(l.ranges.as_ref().is_some_and(is_bounded));
        }
        println!(
            "{:<60} {:>6} {:>20} {:>22} {:>14} {:>18}",
            "with parameters as symbols",
            "loops",
            "derived with ranges",
            "derived with launches",
            "contents vary",
            "contents do not"
        );
        for (pattern, [loops, launches, vary, fixed, ranges]) in &patterns {
            println!("{pattern:<60} {loops:>6} {ranges:>20} {launches:>22} {vary:>14} {fixed:>18}");
        }
        self.print_totals();
    }

    fn print_totals(&self) {
        let count =
            |holds: &dyn Fn(&SurveyedLoop) -> bool| self.loops.iter().filter(|l| holds(l)).count();
        let all = self.loops.len();
        let symbolic = count(&|l| is_bounded(&l.static_verdict));
        let either = count(&|l| l.is_bounded());
        let memory = count(&|l| !l.is_bounded() && l.is_decided_by_memory());
        let varying = count(&|l| !l.is_bounded() && l.varies == Some(true));
        let share = |part: usize, of: usize| 100.0 * part as f64 / of.max(1) as f64;
        println!(
            "\n{} kernels, {all} loops, {} refused",
            self.kernels,
            self.refused.len()
        );
        println!("derived with parameters as symbols: {symbolic}");
        println!(
            "derived so, with the ranges or with each launch: {either} ({:.1} %)",
            share(either, all)
        );
        println!("not derived: {}", all - either);
        println!("  decided by memory, by the analysis' own reason: {memory}");
        println!("  whose count varies with contents in a run:      {varying}");
        println!(
            "derived of those that memory does not decide, by the analysis' reason: {:.1} %",
            share(either, all - memory)
        );
        let is_open_by_memory = |l: &SurveyedLoop| !l.is_bounded() && l.is_decided_by_memory();
        let launched = count(&|l| !l.launches.is_empty() && !is_open_by_memory(l));
        let derived = count(&|l| !l.launches.is_empty() && l.is_bounded());
        println!(
            "  {derived} of the {launched} that are in kernels with a launch:                  {:.1} %",
            share(derived, launched)
        );
        println!(
            "derived of those whose count did not vary with contents:               {:.1} %",
            share(either, all - varying)
        );
        let with_loops: BTreeSet<&str> = self.loops.iter().map(|l| l.kernel.as_str()).collect();
        let open = self.loops.iter().filter(|l| !l.is_bounded());
        let open: BTreeSet<&str> = open.map(|l| l.kernel.as_str()).collect();
        println!(
            "kernels with loops: {}, all of them derived in {}",
            with_loops.len(),
            with_loops.len() - open.len()
        );
        for why in &self.refused {
            println!("  {why}");
        }
    }
}

impl SurveyedLoop {
    /// Whether there are launches, and each has a derived bound.
    fn is_bounded_with_launches(&self) -> bool {
        !self.launches.is_empty() && self.launches.iter().all(is_bounded)
    }

    fn is_bounded(&self) -> bool {
        let with_ranges = self.ranges.as_ref().is_some_and(is_bounded);
        is_bounded(&self.static_verdict) || with_ranges || self.is_bounded_with_launches()
    }

    fn is_decided_by_memory(&self) -> bool {
        let mut verdicts = self.launches.iter().chain([&self.static_verdict]);
        verdicts.any(|v| matches!(v, LoopVerdict::Unknown(WhyUnknown::Memory { .. })))
    }
}

/// Launches with integers of 4 bytes from 1 to 1000, and sizes up to the limits of GPUs.
fn small_ranges(kernel: &Kernel) -> StatedLaunches {
    let up_to = |most: i128| NumberRange { least: 1, most };
    let small = kernel.params.iter().enumerate();
    let small = small.filter(|(_, param)| param.size == 4);
    StatedLaunches {
        // A kernel may require its block.
        block: None,
        grid: Some([u16::MAX.into(); 3].map(up_to)),
        params: small
            .map(|(number, _)| StatedParam {
                name: number.to_string(),
                range: up_to(1000),
            })
            .collect(),
        ..StatedLaunches::default()
    }
}

fn is_bounded(verdict: &LoopVerdict) -> bool {
    matches!(verdict, LoopVerdict::Bounded(_))
}

/// Verdict as text: the bound with its pattern, or the reason.
fn text(verdict: &LoopVerdict) -> String {
    match verdict {
        LoopVerdict::Bounded(bound) => format!("{} ({})", bound.per_entry, kind(verdict)),
        LoopVerdict::Unknown(WhyUnknown::Memory { load, .. }) => format!("memory at {load}"),
        LoopVerdict::Unknown(WhyUnknown::Parameter { name, .. }) => format!("parameter {name}"),
        LoopVerdict::Unknown(WhyUnknown::Pattern(_)) => kind(verdict),
    }
}

/// Row of the table: the pattern of the count, or the reason without addresses and names.
pub(crate) fn kind(verdict: &LoopVerdict) -> String {
    match verdict {
        LoopVerdict::Bounded(bound) => bound.evidence.pattern.name().to_owned(),
        LoopVerdict::Unknown(WhyUnknown::Memory { .. }) => "no: memory".to_owned(),
        LoopVerdict::Unknown(WhyUnknown::Parameter { .. }) => "no: parameter".to_owned(),
        LoopVerdict::Unknown(WhyUnknown::Pattern(reason)) => format!("no: {reason}"),
    }
}

/// Returns for each loop whether its largest count per entry varies with the contents of the buffers of a launch.
/// Runs that end in a fault say nothing.
fn varying_counts(
    session: &Session,
    prepared: &Prepared<'_>,
    claims: &Claims<'_>,
    launches: &[LaunchFile],
) -> anyhow::Result<Vec<Option<bool>>> {
    let mut varies = vec![None; claims.flow.loops.sites.len()];
    for launch in launches {
        let options = BoundOptions {
            block: Some(launch.block),
            ..BoundOptions::default()
        };
        let claims = warpbound_audit::claims(session, prepared, &options)?;
        let mut first: Option<Vec<u64>> = None;
        for number in 0..=CONTENTS {
            let with = with_contents(launch, number);
            let order = PathOrder::TakenFirst;
            let run = monitor(session, prepared, &claims, &with, order, MOST_INSTRUCTIONS)?;
            if run.fault.is_some() {
                continue;
            }
            let counts = counts(&run.observations);
            let Some(first) = &first else {
                first = Some(counts);
                continue;
            };
            for (known, (a, b)) in varies.iter_mut().zip(first.iter().zip(&counts)) {
                *known = Some(known.unwrap_or(false) || a != b);
            }
        }
    }
    Ok(varies)
}

fn counts(seen: &AuditObservations) -> Vec<u64> {
    let counts = seen.max_per_entry.iter();
    counts
        .map(|most| most.map_or(0, |most| most.count))
        .collect()
}

/// Returns a launch with other contents of its buffers: as given for 0, else zeros, small numbers or random bits.
fn with_contents(launch: &LaunchFile, number: u64) -> LaunchFile {
    let mut launch = launch.clone();
    if number == 0 {
        return launch;
    }
    let mut rng = fastrand::Rng::with_seed(number);
    for param in &mut launch.params {
        let ParamValue::Buffer(buffer) = &mut param.value else {
            continue;
        };
        for word in buffer.bytes.chunks_mut(4) {
            let contents = match number {
                1 => 0,
                2 | 3 => rng.u32(0..8),
                _ => rng.u32(..),
            };
            for (to, from) in word.iter_mut().zip(contents.to_le_bytes()) {
                *to = from;
            }
        }
    }
    launch
}
