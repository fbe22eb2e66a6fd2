//! `cargo xtask audit --launches` and `--odd`: programs of a few instructions as launches, on machines with one value
//! for each number.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::bail;
use warpbound_audit::audit::LaunchTimeAudit;
use warpbound_base::Diagnostic;

use crate::audit_cycles::quantiles;
use crate::workers::for_each_number;

/// Time between two progress lines.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(20);

/// Programs with the smallest ratios that are printed.
const SHOWN: usize = 10;

/// Totals of the audit.
#[derive(Default)]
struct Total {
    done: u64,
    reported: Duration,
    runs: u64,
    skipped: u64,
    exceeded: u64,
    ratios: Vec<f64>,
    refused: BTreeMap<String, u64>,
    /// Ratio, program and sum.
    smallest: Vec<(f64, String)>,
}

/// Comparison of the launch of a number with its bound.
type Compare = fn(u64) -> Result<LaunchTimeAudit, Diagnostic>;

/// Audits `count` launches from number `first` on.
pub(crate) fn run(first: u64, count: u64, compare: Compare) -> anyhow::Result<()> {
    let begin = Instant::now();
    let add = |total: &mut Total, nth, found| {
        total.add(first + nth, found);
        if begin.elapsed() >= total.reported + PROGRESS_INTERVAL {
            total.reported = begin.elapsed();
            eprintln!(
                "{} of {count}, {} runs, {} above",
                total.done, total.runs, total.exceeded
            );
        }
    };
    let total = for_each_number(count, |nth| compare(first + nth), Total::default(), add);
    total.print(first)
}

impl Total {
    fn add(&mut self, seed: u64, found: Result<LaunchTimeAudit, Diagnostic>) {
        self.done += 1;
        let refused = match &found {
            Ok(found) => found.refused.clone(),
            Err(why) => Some(why.message.clone()),
        };
        if let Some(why) = refused {
            *self.refused.entry(why).or_default() += 1;
        }
        let Ok(found) = found else {
            return;
        };
        self.runs += found.runs;
        self.skipped += found.skipped;
        self.exceeded += found.exceeded.len() as u64;
        for run in &found.exceeded {
            println!("VIOLATION: program {seed}: {}; {:?}", run.text, found.terms);
        }
        let Some((ratio, (worst, run))) = found.ratio().zip(found.worst.as_ref()) else {
            return;
        };
        self.ratios.push(ratio);
        if self.smallest.len() < SHOWN || self.smallest.iter().any(|(known, _)| *known > ratio) {
            let (bound, shape) = (found.bound, &found.shape);
            let text = format!("program {seed}: {worst} of {bound} ({run}); {shape}");
            self.smallest.push((ratio, text));
            self.smallest.sort_by(|(a, _), (b, _)| a.total_cmp(b));
            self.smallest.truncate(SHOWN);
        }
    }

    fn print(mut self, first: u64) -> anyhow::Result<()> {
        for (ratio, text) in &self.smallest {
            println!("{ratio:8.3} {text}");
        }
        println!(
            "{} programs from {first}, {} runs, {} above their bound, {} left out",
            self.done, self.runs, self.exceeded, self.skipped
        );
        println!("bound / worst simulated: {}", quantiles(&mut self.ratios));
        for (reason, count) in &self.refused {
            println!("no bound: {count} {reason}");
        }
        if self.exceeded > 0 {
            bail!("{} runs exceeded their bound", self.exceeded);
        }
        Ok(())
    }
}
