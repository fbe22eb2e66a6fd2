//! `cargo xtask audit --splits`: launches with waves that split, compared with lanes alone.

use anyhow::bail;
use warpbound_testkit::wave_splits::campaign::{SplitCampaign, SplitFindings, campaign};
use warpbound_testkit::wave_splits::sites::{self, SiteFindings};
use warpbound_testkit::wave_splits::timed::{self, TimedSplits};

use crate::workers::for_each_number;

/// Programs of a part of the work.
const PART: usize = 250;

/// Number of problems that are printed.
const SHOWN: usize = 20;

/// Results of all parts.
#[derive(Default)]
struct AllParts {
    untimed: SplitFindings,
    timed: TimedSplits,
    sites: SiteFindings,
}

/// Runs programs on all cores.
pub(crate) fn run(seed: u64, programs: usize) -> anyhow::Result<()> {
    let parts = programs.div_ceil(PART);
    let find = |part: u64| {
        let size = PART.min(programs - part as usize * PART);
        let seed = seed.wrapping_mul(1_000_003).wrapping_add(part);
        AllParts {
            untimed: campaign(SplitCampaign {
                seed,
                programs: size,
                orders: 1,
                fault: None,
            }),
            timed: timed::campaign(seed, size),
            sites: sites::campaign(seed, size),
        }
    };
    let add = |all: &mut AllParts, _, more: AllParts| {
        all.untimed.add(more.untimed);
        all.timed.add(more.timed);
        all.sites.add(more.sites);
    };
    let all = for_each_number(parts as u64, find, AllParts::default(), add);
    print(&all)
}

fn print(all: &AllParts) -> anyhow::Result<()> {
    let AllParts {
        untimed,
        timed,
        sites,
    } = all;
    println!(
        "without time: {} programs, {} branches, {} runs, {} instructions, {} splits, {} refused, {} merges",
        untimed.programs[0],
        untimed.sites,
        untimed.runs,
        untimed.steps,
        untimed.splits,
        untimed.refused,
        untimed.merges
    );
    println!(
        "  {} programs differ from lanes alone, {} runs from those without splitting, {} with too many splits",
        untimed.wrong_alone, untimed.wrong, untimed.too_many
    );
    println!(
        "with time: {} runs, {} instructions, {} splits, {} refused, {} merges",
        timed.runs, timed.steps, timed.splits, timed.refused, timed.merges
    );
    println!(
        "  {} runs differ, {} break a rule, {} of {} runs with no slots have other events than without splitting",
        timed.wrong, timed.broken, timed.without[1], timed.without[0]
    );
    let [found, apart, merged] = sites.found;
    println!(
        "sites: {} programs, {} with lanes that influence each other, {found} branches, {apart} accepted without merging, {merged} with",
        sites.programs[0], sites.programs[1]
    );
    let [known, apart, merged] = sites.plain;
    println!(
        "  of {known} plain ones {apart} accepted without merging, {merged} with; {} known ones missing",
        sites.missing
    );
    println!(
        "  {} runs, {} splits, {} merges, {} differ; {} programs do not end",
        sites.runs.runs, sites.runs.splits, sites.runs.merges, sites.runs.wrong, sites.endless
    );
    for (reason, count) in &sites.obstacles {
        println!("    {count:>6}  {reason}");
    }
    let problems = [&untimed.problems, &timed.problems, &sites.runs.problems].map(Vec::as_slice);
    let problems = problems.concat();
    for problem in problems.iter().take(SHOWN) {
        println!("  {problem}");
    }
    match problems.len() + sites.missing {
        0 => Ok(()),
        count => bail!("{count} problems or more"),
    }
}
