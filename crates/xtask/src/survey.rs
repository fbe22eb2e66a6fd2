//! `cargo xtask survey`: bounds and times of the kernels of many files, and the compiler's branch targets.

mod cycles;
mod growth;
mod ratios;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use warpbound_audit::derived_for_all;
use warpbound_bounds::bound;
use warpbound_load::{Isa, Kernel};
use warpbound_query::LoopVerdict;
use warpbound_query::{BoundOptions, ImageSelection, KernelFlow, Session};
use warpbound_testkit::targets::compare;

use self::growth::Growth;
use crate::each_kernel::each_kernel;
use crate::loops;
use crate::repository::{Repository, files_with_extension};

pub(crate) const HELP: &str = "\
usage: cargo run --release -p warpbound-xtask -- survey [--turns N] [--arch ARCH] [--every N] [--time-limit SECONDS] [FILE...]
       cargo run --release -p warpbound-xtask -- survey --cycles [--arch ARCH] [--every N] [--time-limit SECONDS] [--record FILE] [FILE...]
       cargo run --release -p warpbound-xtask -- survey --relative-to ARCH FILE...

Bounds every kernel of the files (cubins of kernels/built) with a bound of 10 for each loop and compares the
targets of SYNC, BRK and BRX with those that the compiler recorded. Derives the bounds of the loops, parameters as
symbols, and counts them by pattern. Prints the kernels without a bound, the share with a
bound of those that end and call no function outside their file, the differences, and the distribution of the times of
the warp-level graph, of the derivation and of the whole bound, on one core, also by blocks, loops and divergent branches. Fails if a
target differs. The libraries of `cargo xtask oracle --libraries` are oracle/libraries/*.so.* and
oracle/libraries/cu1[12]/*. With --cycles: how many of the kernels with a bound have one in cycles of a lone warp on the
gtx1080, with any caches and without a launch; the reasons why others have none, and the processor time of these bounds.
With --relative-to: the distribution of the bounds for each architecture, relative to those of the same kernels for ARCH.

  --turns N   measure each kernel N times and take the median (9; 1 where files are given)
  --arch ARCH  only images for this architecture
  --every N   only each Nth kernel
  --time-limit SECONDS   give a kernel up after this time; the result depends on the machine
  --record FILE   (with --cycles) write the bound of each kernel and its terms";

/// Beginning of the reason for a kernel that does not end.
const NEVER_ENDS: &str = "infinite loop";

/// Number of slowest and of refused kernels that are named.
const SHOWN: usize = 10;

pub(crate) fn run(repository: &Repository, arguments: &[String]) -> anyhow::Result<()> {
    let (mut files, mut turns, mut selection) = (Vec::new(), None, ImageSelection::default());
    let mut options = BoundOptions {
        loop_default: Some(10),
        // Derived bounds are counted and timed apart.
        derive: false,
        ..BoundOptions::default()
    };
    let (mut every, mut in_cycles, mut record, mut base) = (1usize, false, None, None);
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let mut value = || rest.next().context("an option without a value");
        match argument.as_str() {
            "--cycles" => in_cycles = true,
            "--relative-to" => base = Some(value()?.parse::<Isa>().map_err(anyhow::Error::msg)?),
            "--record" => record = Some(PathBuf::from(value()?)),
            "--turns" => turns = Some(value()?.parse()?),
            "--every" => every = value()?.parse()?,
            "--arch" | "--sm" => {
                selection.isa = Some(value()?.parse::<Isa>().map_err(anyhow::Error::msg)?)
            }
            "--time-limit" => {
                let limit = Duration::try_from_secs_f64(value()?.parse()?)?;
                options.time_limit = Some(limit);
            }
            flag if flag.starts_with('-') => bail!("unknown argument {flag:?}"),
            file => files.push(PathBuf::from(file)),
        }
    }
    let turns = turns.unwrap_or(if files.is_empty() { 9 } else { 1 });
    if files.is_empty() {
        files = files_with_extension(&repository.built_kernels(), "cubin")?;
    }
    if every == 0 {
        bail!("--every needs a number of at least 1");
    }
    if let Some(base) = base {
        return ratios::run(&files, base, &options);
    }
    if in_cycles {
        let selected = cycles::Selected {
            files: &files,
            images: &selection,
            every,
            record: record.as_deref(),
        };
        return cycles::run(&selected, &options);
    }
    let (mut survey, mut count) = (Survey::default(), 0usize);
    let unreadable = each_kernel(&files, &selection, |session, kernel| {
        count += 1;
        match (count - 1).is_multiple_of(every) {
            true => survey.kernel(session, kernel, &options, turns),
            false => Ok(()),
        }
    })?;
    for why in unreadable {
        survey.unreadable(why.to_string());
    }
    survey.print();
    if !survey.differences.is_empty() {
        bail!("{} targets differ", survey.differences.len());
    }
    Ok(())
}

#[derive(Default)]
struct Survey {
    bounded: usize,
    /// Numbers of kernels that end and call no function outside their file, and of such kernels with a bound.
    ending: usize,
    ending_bounded: usize,
    /// Kernels without a bound, by reason.
    others: BTreeMap<String, Vec<String>>,
    /// Kernels whose worst path is below the bound or unknown.
    gaps: Vec<String>,
    divergence_edges: usize,
    equal: usize,
    unreachable: Vec<String>,
    differences: Vec<String>,
    /// Times, with number of instructions and name of the kernel.
    cfg: Vec<(Duration, usize, String)>,
    bound: Vec<(Duration, usize, String)>,
    derivation: Vec<(Duration, usize, String)>,
    /// Loops by the pattern of their derived count, or by the reason why there is none; and loops with a formula.
    loops: BTreeMap<String, usize>,
    formulas: usize,
    growth: Growth,
}

impl Survey {
    fn kernel(
        &mut self,
        session: &Session,
        kernel: &Kernel,
        options: &BoundOptions,
        turns: usize,
    ) -> anyhow::Result<()> {
        let name = format!("{} {}", session.name(), kernel.demangled());
        let prepared = match session.prepare(kernel) {
            Ok(prepared) => prepared,
            Err(why) => {
                self.unreadable(why.to_string());
                return Ok(());
            }
        };
        let launch = Default::default();
        let build =
            || KernelFlow::analyse(&prepared.code, &launch, &options.model, &options.limits());
        let (cfg_time, flow) = timed(turns, build);
        let (bound_time, report) = timed(turns, || bound(session, kernel, options));
        let report = match report {
            Ok(report) => report,
            Err(why) => {
                self.unreadable(why.to_string());
                return Ok(());
            }
        };
        let size = prepared.code.ops.len();
        self.cfg.push((cfg_time, size, name.clone()));
        self.bound.push((bound_time, size, name.clone()));
        let reason = report.verdict.reason().unwrap_or_default();
        if report.external_calls.is_empty() && !reason.starts_with(NEVER_ENDS) {
            self.ending += 1;
            self.ending_bounded += usize::from(report.verdict.bound().is_some());
        }
        self.divergence_edges += report.divergence_edges.len();
        if let Some(bound) = report.verdict.bound() {
            self.bounded += 1;
            let gap = report.verdict.integrality_gap();
            if gap != Some(0) {
                let gap = gap.map_or("?".to_owned(), |n| n.to_string());
                self.gaps.push(format!("{name}: bound {bound}, {gap} less"));
            }
        } else {
            // Reasons about unknown callees differ by the address of the call only.
            let kind = match reason.split_once(" at 0x") {
                Some((kind, _)) => kind.to_owned(),
                None => reason.to_owned(),
            };
            self.others.entry(kind).or_default().push(name.clone());
        }
        if let Ok(flow) = flow {
            let (time, derived) = timed(turns, || derived_for_all(session, &prepared, &flow));
            self.derivation.push((time, size, name.clone()));
            if let Ok(derived) = derived {
                self.count_loops(derived.verdicts());
            }
            self.growth.add(&flow, cfg_time, bound_time);
            let check = compare(kernel, &prepared.code, &flow.thread);
            self.equal += check.equal;
            let named = |what: &String| format!("{name} {what}");
            self.unreachable
                .extend(check.unreachable.iter().map(|at| format!("{name} {at}")));
            self.differences.extend(check.differences.iter().map(named));
        }
        Ok(())
    }

    /// Counts loops by pattern or reason.
    fn count_loops(&mut self, verdicts: &[LoopVerdict]) {
        for verdict in verdicts {
            *self.loops.entry(loops::kind(verdict)).or_default() += 1;
            let has_formula =
                matches!(verdict, LoopVerdict::Bounded(bound) if bound.count.is_some());
            self.formulas += usize::from(has_formula);
        }
    }

    /// Counts an unreadable kernel or image.
    fn unreadable(&mut self, why: String) {
        self.ending += 1;
        let names = self.others.entry("cannot be read".to_owned());
        names.or_default().push(why);
    }

    fn print(&mut self) {
        println!(
            "{} of the {} kernels that end and call nothing outside their file are bounded ({:.2} %)",
            self.ending_bounded,
            self.ending,
            100.0 * self.ending_bounded as f64 / self.ending.max(1) as f64
        );
        let without: usize = self.others.values().map(Vec::len).sum();
        println!("{} kernels bounded, {without} not:", self.bounded);
        for (reason, names) in &self.others {
            println!("  {:>6}  {reason}", names.len());
            print_some(names);
        }
        println!(
            "bounded kernels whose worst path is below the bound: {}",
            self.gaps.len()
        );
        print_some(&self.gaps);
        println!("divergence edges: {}", self.divergence_edges);
        println!(
            "targets of SYNC, BRK, BRX: {} as recorded by the compiler, {} differ",
            self.equal,
            self.differences.len()
        );
        print_some(&self.differences);
        println!("recorded but unreachable: {}", self.unreachable.len());
        print_some(&self.unreachable);
        print_times("warp-level graph (both graphs, loops, rows)", &mut self.cfg);
        print_times("whole bound, from the loaded file", &mut self.bound);
        print_times(
            "derivation of loop bounds, parameters as symbols",
            &mut self.derivation,
        );
        let all: usize = self.loops.values().sum();
        println!("{all} loops, {} of them with a formula:", self.formulas);
        for (pattern, count) in &self.loops {
            let share = 100.0 * *count as f64 / all.max(1) as f64;
            println!("  {count:>6}  {share:>5.1} %  {pattern}");
        }
        self.growth.print();
    }
}

fn print_some(names: &[String]) {
    for name in names.iter().take(SHOWN) {
        println!("          {name}");
    }
    if names.len() > SHOWN {
        println!("          and {} more", names.len() - SHOWN);
    }
}

/// Returns the median time of `work` and its last result.
fn timed<R>(turns: usize, work: impl Fn() -> R) -> (Duration, R) {
    let turn = || {
        let start = Instant::now();
        let result = work();
        (start.elapsed(), result)
    };
    let (first, mut result) = turn();
    let mut times = vec![first];
    for _ in 1..turns {
        let (time, again) = turn();
        times.push(time);
        result = again;
    }
    times.sort_unstable();
    (times.get(times.len() / 2).copied().unwrap_or(first), result)
}

fn print_times(what: &str, times: &mut [(Duration, usize, String)]) {
    times.sort_unstable();
    let largest = times.iter().max_by_key(|(_, size, _)| size).cloned();
    let at = |percent: usize| {
        let index = (times.len() * percent / 100).min(times.len().saturating_sub(1));
        times.get(index).map(|(time, ..)| *time).unwrap_or_default()
    };
    println!(
        "\n{what}, {} kernels: 50 % {:?}, 75 % {:?}, 90 % {:?}, 95 % {:?}, 99 % {:?}, slowest:",
        times.len(),
        at(50),
        at(75),
        at(90),
        at(95),
        at(99)
    );
    let line = |(time, size, name): &(Duration, usize, String)| {
        let name: String = name.chars().take(90).collect();
        println!("  {time:>12?}  {size:>6} instructions  {name}");
    };
    times.iter().rev().take(SHOWN).for_each(line);
    println!("largest:");
    largest.iter().for_each(line);
}
