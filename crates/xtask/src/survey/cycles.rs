//! `survey --cycles`: bounds in cycles of the kernels of many files, and their times.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::bail;
use warpbound_base::{Deadline, Diagnostic};
use warpbound_bounds::{CycleOptions, LoneWarp};
use warpbound_ipet::{Effort, StatedCounts};
use warpbound_load::{FileSource, Kernel};
use warpbound_query::GpuModel;
use warpbound_query::{
    AnalysedKernel, BoundOptions, CacheState, ImageSelection, Library, Prepared, Session,
};

use super::{print_some, print_times};

/// Machine of the bounds.
const MACHINE: &str = "gtx1080";

/// Time between two progress lines.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(20);

/// Kernels that are surveyed.
pub(super) struct Selected<'a> {
    pub(super) files: &'a [PathBuf],
    pub(super) images: &'a ImageSelection,
    /// Distance of the kernels that are taken.
    pub(super) every: usize,
    /// File for the result of each kernel.
    pub(super) record: Option<&'a Path>,
}

/// Bounds the kernels on all cores and prints how many have a bound in cycles.
pub(super) fn run(selected: &Selected<'_>, options: &BoundOptions) -> anyhow::Result<()> {
    let machine = GpuModel::built_in(MACHINE).map_err(|d| anyhow::anyhow!("{d}"))?;
    let cycles = CycleOptions {
        counts: Default::default(),
        machine,
        caches: CacheState::Any,
        splitting: Default::default(),
    };
    let survey = Mutex::new(CycleSurvey::default());
    for path in selected.files {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let library = Library::open(&name, FileSource::new(File::open(path)?)?)?;
        // A library without the selected architecture is not an error.
        let images = library.select(selected.images).unwrap_or_default();
        let kernels = library.kernels(&images, None);
        let kernels = Mutex::new(kernels.step_by(selected.every).enumerate());
        let next = || lock(&kernels).next();
        std::thread::scope(|scope| {
            for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
                scope.spawn(|| {
                    while let Some((number, item)) = next() {
                        let done = catch_unwind(AssertUnwindSafe(|| match &item {
                            Ok((session, index)) => of_kernel(session, *index, options, &cycles),
                            Err(_) => Surveyed::unreadable(),
                        }));
                        let done = done.unwrap_or_else(|_| Surveyed {
                            outcome: Outcome::Panicked,
                            ..Surveyed::unreadable()
                        });
                        lock(&survey).add(format!("{name} {number:06}"), done);
                    }
                });
            }
        });
    }
    let mut survey = survey.into_inner().unwrap_or_else(PoisonError::into_inner);
    survey.print();
    if let Some(path) = selected.record {
        survey.lines.sort();
        fs::write(path, survey.lines.join(""))?;
    }
    match survey.panics.len() {
        0 => Ok(()),
        n => bail!("{n} kernels panicked: {}", survey.panics.join(", ")),
    }
}

/// Locks a mutex; the workers catch panics of the kernels' bounds.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Bound of a kernel in cycles, or its absence.
enum Outcome {
    Unreadable,
    /// The kernel has no bound in instructions either.
    WithoutInstructions,
    /// Bound in cycles, and its terms.
    Bounded(u64, String),
    Refused(String),
    Panicked,
}

/// Result of a kernel.
struct Surveyed {
    name: String,
    instructions: usize,
    /// Time of the bound in cycles, from the control flow.
    time: Duration,
    outcome: Outcome,
}

impl Surveyed {
    fn unreadable() -> Surveyed {
        Surveyed {
            name: String::new(),
            instructions: 0,
            time: Duration::ZERO,
            outcome: Outcome::Unreadable,
        }
    }
}

/// Bounds a kernel in instructions and in cycles.
fn of_kernel(
    session: &Session,
    index: usize,
    options: &BoundOptions,
    cycles: &CycleOptions,
) -> Surveyed {
    let Ok(kernel) = session.kernel_at(index) else {
        return Surveyed::unreadable();
    };
    let named = |outcome| Surveyed {
        name: kernel.demangled(),
        outcome,
        ..Surveyed::unreadable()
    };
    match bound(session, kernel, options, cycles) {
        Ok(done) => done,
        Err(_) => named(Outcome::WithoutInstructions),
    }
}

/// Bounds a readable kernel; the error is about its bound in instructions.
fn bound(
    session: &Session,
    kernel: &Kernel,
    options: &BoundOptions,
    cycles: &CycleOptions,
) -> Result<Surveyed, Diagnostic> {
    let in_instructions = warpbound_bounds::bound(session, kernel, options)?;
    if in_instructions.verdict.bound().is_none() {
        return Err(Diagnostic::new("no bound in instructions"));
    }
    let analysis = session.analyse(kernel, options)?;
    let analysed = analysis.parts();
    let analysed = analysed.map_err(|refusal| Diagnostic::new(refusal.reason.to_string()))?;
    let AnalysedKernel { prepared, flow, .. } = analysed;
    let (begin, begin_of_thread) = (Instant::now(), thread_time());
    let found = LoneWarp::new(analysed, cycles, &[]);
    let found = found.and_then(|lone| {
        let counts = vec![options.loop_default; flow.loops.sites.len()];
        let stated = StatedCounts {
            bounds: &counts,
            totals: &vec![None; counts.len()],
            never: &[],
        };
        let effort = Effort {
            deadline: options
                .time_limit
                .map_or(Deadline::default(), Deadline::after),
            ..Effort::default()
        };
        lone.bound(stated, effort)
    });
    let of_thread = thread_time().zip(begin_of_thread);
    let time = of_thread.map_or(begin.elapsed(), |(end, begin)| end.saturating_sub(begin));
    let outcome = match found {
        Ok(bound) => {
            let terms = bound.term_cycles().filter(|(_, cycles)| *cycles > 0);
            let terms: Vec<String> = terms.map(|(name, n)| format!("{name} {n}")).collect();
            Outcome::Bounded(bound.bound.upper_bound().limit().0, terms.join(", "))
        }
        Err(why) => Outcome::Refused(reason(prepared, &why)),
    };
    Ok(Surveyed {
        name: kernel.demangled(),
        instructions: prepared.code.ops.len(),
        time,
        outcome,
    })
}

/// Returns a reason with the name of the instruction that it is about, without its address.
fn reason(prepared: &Prepared<'_>, why: &Diagnostic) -> String {
    let at = why.location.position.as_ref();
    let op = at.and_then(|at| {
        prepared
            .code
            .ops
            .iter()
            .position(|op| op.addr.to_string() == *at)
    });
    match op.and_then(|op| prepared.program.mnemonic(op)) {
        Some(mnemonic) => format!("{mnemonic}: {}", why.message),
        None => why.message.clone(),
    }
}

/// Returns the processor time of this thread, which other load does not change; `None` if the host does not say.
fn thread_time() -> Option<Duration> {
    // The host accounts for the time of a thread when it gives up its core.
    std::thread::yield_now();
    let text = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let nanoseconds = text.split_whitespace().next()?.parse().ok()?;
    Some(Duration::from_nanos(nanoseconds))
}

/// Counts and times of bounds in cycles.
#[derive(Default)]
struct CycleSurvey {
    unreadable: usize,
    without_instructions: usize,
    bounded: usize,
    refused: BTreeMap<String, Vec<String>>,
    panics: Vec<String>,
    times: Vec<(Duration, usize, String)>,
    lines: Vec<String>,
    reported: Option<Instant>,
}

impl CycleSurvey {
    /// Adds a kernel, which is named by its file and its number there.
    fn add(&mut self, number: String, kernel: Surveyed) {
        let name = format!("{number} {}", kernel.name);
        let mut line = name.clone();
        match kernel.outcome {
            Outcome::Unreadable => self.unreadable += 1,
            Outcome::WithoutInstructions => self.without_instructions += 1,
            Outcome::Panicked => self.panics.push(number.clone()),
            Outcome::Bounded(bound, terms) => {
                self.bounded += 1;
                self.times.push((kernel.time, kernel.instructions, name));
                // Writing to a string cannot fail.
                let _ = writeln!(line, ": {bound} ({terms})");
                self.lines.push(line);
            }
            Outcome::Refused(reason) => {
                let _ = writeln!(line, ": {reason}");
                self.lines.push(line);
                self.times
                    .push((kernel.time, kernel.instructions, name.clone()));
                self.refused.entry(reason).or_default().push(name);
            }
        }
        let reported = self.reported.get_or_insert_with(Instant::now);
        if reported.elapsed() >= PROGRESS_INTERVAL {
            *reported = Instant::now();
            let refused: usize = self.refused.values().map(Vec::len).sum();
            eprintln!("{} bounds, {refused} without, at {number}", self.bounded);
        }
    }

    fn print(&mut self) {
        let refused: usize = self.refused.values().map(Vec::len).sum();
        let all = self.bounded + refused;
        println!(
            "{} of {all} kernels with a bound in instructions have one in cycles of {MACHINE} ({:.2} %), {refused} have none:",
            self.bounded,
            100.0 * self.bounded as f64 / all.max(1) as f64
        );
        for (reason, names) in &self.refused {
            println!("  {:>6}  {reason}", names.len());
            print_some(names);
        }
        println!(
            "{} kernels have no bound in instructions, {} cannot be read",
            self.without_instructions, self.unreadable
        );
        print_times("bound in cycles, from the control flow", &mut self.times);
    }
}
