//! `cargo xtask audit-loops`: threads of random programs compared with the derived bounds of their loops.

use anyhow::{Context, bail};
use warpbound_testkit::counted_loops::campaign::{LoopCampaign, PropertyTally};

use crate::repository::Repository;
use crate::workers::for_each_number;

pub(crate) const HELP: &str = "\
usage: cargo run --release -p warpbound-xtask -- audit-loops [--programs COUNT] [--seed NUMBER] [--first NUMBER]

Generates random programs with counted loops, derives bounds of their loops for three random ranges of launches each,
runs the threads of four launches of each range, and compares the header executions of each thread with the
derived bounds, totals, certain numbers and formulas. Prints the loops by property: how many have a bound, how many of
these were compared with runs that all ended, and how many bounds a thread reached. Fails on any contradiction.

  --programs COUNT  programs (20000)
  --seed NUMBER     start of the random sequence (1)
  --first NUMBER    number of the first program (0), to go on where a campaign was stopped";

/// Number of problems that are printed.
const SHOWN: usize = 20;

/// Programs that a worker takes at a time.
const CHUNK: u64 = 50;

pub(crate) fn run(_: &Repository, arguments: &[String]) -> anyhow::Result<()> {
    let (mut programs, mut seed, mut first) = (20_000u64, 1u64, 0u64);
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let value = rest.next().context("an option without a value")?;
        match argument.as_str() {
            "--programs" => programs = value.parse()?,
            "--seed" => seed = value.parse()?,
            "--first" => first = value.parse()?,
            other => bail!("no option is called {other:?}"),
        }
    }
    let end = first
        .checked_add(programs)
        .context("numbers of programs are below 2^64")?;
    let find = |chunk: u64| {
        let from = first + chunk * CHUNK;
        LoopCampaign::run(seed, from..end.min(from.saturating_add(CHUNK)))
    };
    let add = |total: &mut LoopCampaign, _, part| total.add(part);
    let chunks = programs.div_ceil(CHUNK);
    let total = for_each_number(chunks, find, LoopCampaign::default(), add);
    print(&total);
    if !total.problems.is_empty() {
        bail!("{} problems", total.problems.len());
    }
    Ok(())
}

fn print(total: &LoopCampaign) {
    println!(
        "{} programs, {} refused, {} threads",
        total.programs, total.refused, total.threads
    );
    let [totals, certain, formulas] = total.parts;
    println!("bounds with a total {totals}, a certain number {certain}, a formula {formulas}");
    println!(
        "{:<50} {:>8} {:>8} {:>9} {:>8}",
        "property", "loops", "derived", "compared", "reached"
    );
    let row = |name: &str, tally: &PropertyTally| {
        println!(
            "{name:<50} {:>8} {:>8} {:>9} {:>8}",
            tally.loops, tally.derived, tally.compared, tally.equal
        );
    };
    row("all", &total.all);
    for (name, tally) in &total.properties {
        row(name, tally);
    }
    println!("without a bound:");
    for (why, count) in &total.unknown {
        println!("{count:>8}  {why}");
    }
    println!("{} problems", total.problems.len());
    for problem in total.problems.iter().take(SHOWN) {
        println!("  {problem}");
    }
}
