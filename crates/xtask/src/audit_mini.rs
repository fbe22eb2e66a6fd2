//! `cargo xtask audit-mini`: the mini-SIMT machine compared with every claim about its programs.

use anyhow::{Context, bail};
use warpbound_testkit::mini::campaign::{
    MiniCampaign, campaign, case, split_loop_entry_case, unstructured_case,
};

use crate::repository::Repository;

pub(crate) const HELP: &str = "\
usage: cargo run --release -p warpbound-xtask -- audit-mini [--programs COUNT] [--seed NUMBER]

Generates random mini-SIMT programs (structured ones, unstructured ones, and loops entered in parts), each with a random
launch (1 to 64 warps of 1 to 64 lanes, latencies of 0 to 200 cycles, all schedulers, both divergence orders) and three
random memories, runs them, and compares
  - the instructions of each warp with a plain interpreter, and the traces of lanes with their traces alone,
  - each step, stack of frames and agreement with the claims of the analyses, and each divergence with the
    divergence analysis,
  - cycles and instructions with the bounds of the block, with warp profiles and without.
Prints totals and fails on any contradiction.

  --programs COUNT  programs of each kind (20000)
  --seed NUMBER     start of the random sequence (1)";

/// Number of problems that are printed.
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
    let unstructured = campaign(unstructured_case, seed, programs, None);
    print("unstructured programs", &unstructured);
    let split_entry = campaign(split_loop_entry_case, seed, programs, None);
    print("loops entered in parts", &split_entry);
    let problems = [&structured, &unstructured, &split_entry];
    let problems: usize = problems.iter().map(|total| total.problems.len()).sum();
    if problems > 0 {
        bail!("{problems} problems");
    }
    Ok(())
}

fn print(title: &str, total: &MiniCampaign) {
    let [exact, regions, whole] = total.profiles;
    println!("{title}:");
    println!(
        "  {} programs, {} without a bound",
        total.programs, total.unbounded
    );
    println!(
        "  {} runs that ended, {} that did not ({} deadlocks as claimed); {} warps that diverged",
        total.runs, total.stuck, total.deadlocks, total.diverged
    );
    println!(
        "  warps with an exact profile {exact}, with data-dependent regions {regions}, bounded as a whole {whole}"
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
