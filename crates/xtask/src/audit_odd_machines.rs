//! `cargo xtask audit --climb` and `--grown`: launches on machines with odd numbers that come closer and closer to
//! their bounds, and bounds of launches that grow.

use std::time::{Duration, Instant};

use anyhow::bail;
use warpbound_testkit::odd_machines::{self, Climb};

use crate::workers::for_each_number;

/// Time between two progress lines.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(20);

/// Steps of a search.
const STEPS: u64 = 30;

/// Findings that are printed.
const SHOWN: usize = 10;

/// Calls a function for each number from `first` on, on all cores, and adds what it finds, with progress lines.
fn for_each<T: Send, A: Send>(
    (first, count): (u64, u64),
    find: impl Fn(u64) -> T + Sync,
    total: A,
    add: impl Fn(&mut A, u64, T) -> String + Sync,
) -> A {
    let begin = Instant::now();
    let add = |(total, reported): &mut (A, Duration), nth, found| {
        let line = add(total, first + nth, found);
        if begin.elapsed() >= *reported + PROGRESS_INTERVAL {
            *reported = begin.elapsed();
            eprintln!("{nth} of {count}, {line}");
        }
    };
    let find = |nth| find(first + nth);
    for_each_number(count, find, (total, Duration::ZERO), add).0
}

/// Totals of the searches.
#[derive(Default)]
struct Climbs {
    steps: u64,
    runs: u64,
    exceeded: u64,
    best: Vec<(f64, String)>,
}

/// Searches from the launches of `count` numbers for runs above their bounds.
pub(crate) fn climb(first: u64, count: u64) -> anyhow::Result<()> {
    let find = |number| odd_machines::climb(number, STEPS).ok();
    let add = |total: &mut Climbs, number: u64, found: Option<Climb>| {
        if let Some(found) = found {
            total.steps += found.steps;
            total.runs += found.runs;
            total.exceeded += found.exceeded.len() as u64;
            for text in found.exceeded.iter().take(1) {
                println!("VIOLATION: launch {number}: {text}");
            }
            if let Some(ratio) = found.best.ratio() {
                let run = found.best.worst.as_ref().map_or("", |(_, run)| run);
                total.best.push((
                    ratio,
                    format!("launch {number}: {run}; {}", found.best.shape),
                ));
                total.best.sort_by(|(a, _), (b, _)| a.total_cmp(b));
                total.best.truncate(SHOWN);
            }
        }
        format!("{} runs, {} above", total.runs, total.exceeded)
    };
    let total = for_each((first, count), find, Climbs::default(), add);
    for (ratio, text) in &total.best {
        println!("{ratio:8.3} {text}");
    }
    println!(
        "{count} searches from {first}, {} comparisons, {} runs, {} above their bound",
        total.steps, total.runs, total.exceeded
    );
    if total.exceeded > 0 {
        bail!("{} runs exceeded their bound", total.exceeded);
    }
    Ok(())
}

/// Bounds the launches of `count` numbers again after they grew.
pub(crate) fn grow(first: u64, count: u64) -> anyhow::Result<()> {
    let add = |total: &mut (u64, u64), number: u64, found| {
        for grown in found {
            let odd_machines::GrownBound {
                what,
                bounds,
                terms,
            } = grown;
            total.0 += 1;
            if bounds.1 < bounds.0 {
                total.1 += 1;
                println!(
                    "FALL: launch {number}: {what}: {} to {}",
                    bounds.0, bounds.1
                );
                println!("  {}\n  {}", terms[0], terms[1]);
            }
        }
        format!("{} bounds, {} fell", total.0, total.1)
    };
    let find = |number| odd_machines::grown_bounds(number).unwrap_or_default();
    let (bounds, falls) = for_each((first, count), find, (0, 0), add);
    println!("{count} launches from {first}, {bounds} bounds of larger ones, {falls} fell");
    if falls > 0 {
        bail!("{falls} bounds fell");
    }
    Ok(())
}
