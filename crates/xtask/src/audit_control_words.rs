//! `cargo xtask audit --cycles`: programs with random control words, simulated and compared with bounds in cycles.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::bail;
use warpbound_base::Diagnostic;
use warpbound_testkit::control_words::program;
use warpbound_testkit::cycle_bounds::{self, ComparedCycles, MACHINES};

use crate::audit_cycles::quantiles;
use crate::workers::for_each_number;

/// Time between two progress lines.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(20);

/// Maximum number of programs, with the largest ratios, that are printed.
const SHOWN: usize = 10;

/// Totals of the audit.
#[derive(Default)]
struct Total {
    done: u64,
    reported: Duration,
    runs: u64,
    violations: u64,
    /// Bound / worst run: with the program's loop bounds, and with the counts of the runs.
    stated: Vec<f64>,
    counted: Vec<f64>,
    refused: BTreeMap<String, u64>,
    /// Ratio, and the program with its terms.
    greatest: Vec<(f64, String)>,
}

/// Audits `count` programs from number `first` on.
pub(crate) fn run(first: u64, count: u64) -> anyhow::Result<()> {
    let machines = cycle_bounds::machines();
    let begin = Instant::now();
    let find = |nth| cycle_bounds::compare_program(&program(first + nth), &machines);
    let add = |total: &mut Total, nth, done| {
        total.add(first + nth, done);
        total.print_progress((first, count), begin);
    };
    let mut total = for_each_number(count, find, Total::default(), add);
    total.print(first);
    if total.violations > 0 {
        bail!("{} runs exceeded their bound", total.violations);
    }
    Ok(())
}

impl Total {
    fn add(&mut self, seed: u64, done: Result<ComparedCycles, Diagnostic>) {
        self.done += 1;
        let done = match done {
            Ok(done) => done,
            Err(why) => {
                *self.refused.entry(why.message).or_default() += 1;
                return;
            }
        };
        let (machine, _) = MACHINES[(seed % MACHINES.len() as u64) as usize];
        self.runs += done.runs;
        self.violations += done.violations.len() as u64;
        for violation in done.violations.iter().take(4) {
            println!("VIOLATION: program {seed} on {machine}: {violation}");
        }
        let worst = done.worst.max(1) as f64;
        let ratio = done.counted as f64 / worst;
        self.counted.push(ratio);
        self.stated
            .extend(done.stated.map(|bound| bound as f64 / worst));
        if self.greatest.len() < SHOWN || self.greatest.iter().any(|(known, _)| *known < ratio) {
            let (worst, bound) = (done.worst, done.counted);
            let text = format!(
                "program {seed} on {machine}: {worst} of {bound} ({}); {}",
                done.worst_run, done.terms
            );
            self.greatest.push((ratio, text));
            self.greatest.sort_by(|(a, _), (b, _)| b.total_cmp(a));
            self.greatest.truncate(SHOWN);
        }
    }

    fn print_progress(&mut self, (first, count): (u64, u64), begin: Instant) {
        let now = begin.elapsed();
        if now >= self.reported + PROGRESS_INTERVAL {
            self.reported = now;
            eprintln!(
                "{} of {count} from {first}, {} runs, {} violations",
                self.done, self.runs, self.violations
            );
        }
    }

    fn print(&mut self, first: u64) {
        for (ratio, text) in &self.greatest {
            println!("{ratio:8.3} {text}");
        }
        println!(
            "{} programs from {first}, {} runs, {} above their bound",
            self.done, self.runs, self.violations
        );
        println!(
            "bound / worst run with the program's loop bounds: {}",
            quantiles(&mut self.stated)
        );
        println!(
            "bound / worst run with the runs' loop counts: {}",
            quantiles(&mut self.counted)
        );
        for (reason, count) in &self.refused {
            println!("no bound: {count} {reason}");
        }
    }
}
