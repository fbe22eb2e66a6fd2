//! `cargo xtask audit-mini`: the mini-SIMT machine against everything that is said of its programs.

use anyhow::{Context, bail};
use warpbound_testkit::mini::campaign::{Campaign, campaign, case, parted_case, tangled_case};

use crate::repository::Repository;

pub(crate) const HELP: &str = "\
usage: cargo run --release -p warpbound-xtask -- audit-mini [--programs COUNT] [--seed NUMBER]

Makes random mini-SIMT programs, structured ones and as many whose branches go anywhere, each with a random launch (1 to 64 warps of 1 to 64 lanes, latencies of 0 to 200
cycles, all schedulers, both orders of divergence) and three random memories, runs them, and compares
  - what each warp issues with a plain interpreter, and the traces of lanes with their traces alone,
  - each step, stack of frames and agreement with what the analyses claim, and each divergence with the
    divergence analysis,
  - cycles and instructions with the bounds of the block, with outlines and without.
Prints totals and fails if anything contradicts.

  --programs COUNT  programs of each kind (20000)
  --seed NUMBER     start of the random sequence (1)";

/// Problems printed.
const SHOWN: usize = 20;

pub(crate) fn run(_: &Repository, arguments: &[String]) -> anyhow::Result<()> {
    let (mut programs, mut seed) = (20_000usize, 1u64);
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let value = rest.next().context("an option without a value")?;
        match argument.as_str() {
            "--programs" => programs = value.parse()?,
            "--seed" => seed = value.parse()?,
            other => bail!("no option is called {other:?}"),
        }
    }
    let structured = campaign(case, seed, programs, None);
    print("structured programs", &structured);
    let tangled = campaign(tangled_case, seed, programs, None);
    print("tangled programs", &tangled);
    let parted = campaign(parted_case, seed, programs, None);
    print("loops entered in parts", &parted);
    let problems = [&structured, &tangled, &parted];
    let problems: usize = problems.iter().map(|total| total.problems.len()).sum();
    if problems > 0 {
        bail!("{problems} problems");
    }
    Ok(())
}

fn print(title: &str, total: &Campaign) {
    let [exact, regions, whole] = total.outlines;
    println!("{title}:");
    println!(
        "  {} programs, {} without a bound",
        total.programs, total.unbounded
    );
    println!(
        "  {} runs that ended, {} that did not ({} deadlocks as claimed); {} warps whose lanes parted",
        total.runs, total.stuck, total.deadlocks, total.diverged
    );
    println!(
        "  warps known exactly {exact}, but for regions that data decide {regions}, bounded as a whole {whole}"
    );
    println!(
        "  bound / cycles: median {:.3}, 90 % {:.3}, 99 % {:.1}, most {:.1}",
        total.ratio(50),
        total.ratio(90),
        total.ratio(99),
        total.ratio(100)
    );
    println!("  {} problems", total.problems.len());
    for problem in total.problems.iter().take(SHOWN) {
        println!("    {problem}");
    }
}
