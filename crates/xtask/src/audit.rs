//! `cargo xtask audit`: concrete warps compared with every claim of the analyses.

use anyhow::{Context, bail};
use warpbound_query::Session;
use warpbound_testkit::exec_mask::waves::{WaveFindings, audit_waves};
use warpbound_testkit::odd_machines::compare_odd_launch;
use warpbound_testkit::random::{WarpCampaign, campaign};
use warpbound_testkit::short_launches::compare_short_program;

use crate::repository::{Repository, files_with_extension};
use crate::workers::for_each_number;
use crate::{audit_control_words, audit_odd_machines, audit_short_launches, audit_splits};

pub(crate) const HELP: &str = "\
usage: cargo run --release -p warpbound-xtask -- audit [--runs COUNT] [--seed NUMBER]
                                                       [--cycles COUNT [--from NUMBER]]
                                                       [--launches COUNT [--from NUMBER]]
                                                       [--odd COUNT [--from NUMBER]]
                                                       [--climb COUNT [--from NUMBER]]
                                                       [--grown COUNT [--from NUMBER]]
                                                       [--waves COUNT]
                                                       [--splits COUNT]

Runs warps through random programs (half of the runs) and through the control flow
of kernels/built (the other half), in random launches and both divergence orders, and compares
  - the traces of lanes in the warp with their traces alone,
  - each step, stack, group relation and agreement with the claims of the analyses,
  - the executed instructions with the bound for the run's own loop bounds.
With --cycles, programs of machine code with random control words are simulated instead, each on one of
four machines with different numbers, cache states, contents of memory and divergence orders,
and each run is compared with the bounds in cycles: for the program's loop bounds, and for the run's.
With --launches, programs of a few instructions run as launches of up to 200 blocks on machines of which every number
is known, under two policies each, and are compared with the bounds of launches.
With --odd, each number of the machine may also be 0, 1, ten and fifty times that of a real machine or 1000, caches have few
lines, and programs read lines that conflict in one cache and fit in another, or leave work unfinished when their blocks end.
With --climb, numbers, blocks and threads of such launches are changed step by step towards the smallest bound / run.
With --grown, their bounds are computed again with more iterations, more blocks and longer ranges: none may fall.
With --waves, waves of 64 lanes run random structured programs that keep masks, and are compared with the claims about
masks, about values of active lanes, about loops and with the bound.
With --splits, random programs of machine code run with waves that split, without and with time: what they leave in memory
is compared with what each lane computes alone, and sites that the analysis accepts must change nothing.
Prints totals and fails on any contradiction.

  --runs COUNT     runs in all (100000)
  --seed NUMBER    start of the random sequence (1)
  --cycles COUNT   programs with random control words
  --from NUMBER    number of the first of them (0)
  --launches COUNT programs as launches
  --odd COUNT      launches on machines with odd numbers
  --climb COUNT    searches, of 30 steps each
  --grown COUNT    launches that grow
  --waves COUNT    waves, four for each program
  --splits COUNT   programs that run with waves that split";

/// Number of problems that are printed.
const SHOWN: usize = 20;

/// Waves of each program of [`audit_random_waves`], and programs of a part of the work.
const WAVES: usize = 4;
const PART: usize = 500;

/// Audits waves of random programs that keep masks, on all cores.
fn audit_random_waves(seed: u64, count: usize) -> anyhow::Result<()> {
    let programs = count.div_ceil(WAVES);
    let parts = programs.div_ceil(PART);
    let find = |part: u64| {
        let size = PART.min(programs - part as usize * PART);
        audit_waves(seed.wrapping_add(part), size, WAVES, None)
    };
    let add = |found: &mut WaveFindings, _, more| found.add(more);
    let found = for_each_number(parts as u64, find, WaveFindings::default(), add);
    println!(
        "{} waves of {programs} programs, {} instructions, {} claims about masks, {} values of active lanes",
        found.waves, found.steps, found.mask_claims, found.lane_values
    );
    let (loops, derived) = found.loops;
    println!(
        "{loops} loops, {derived} with a derived bound, {} of these reached",
        found.reached
    );
    let (compared, issued, bounds) = found.bounds;
    println!(
        "{compared} waves compared with a bound: {issued} instructions, bounds {bounds}, ratio of the sums {:.3}",
        bounds as f64 / issued.max(1) as f64
    );
    for problem in found.problems.iter().take(SHOWN) {
        println!("  {problem}");
    }
    match found.problems.len() {
        0 => Ok(()),
        count => bail!("{count} problems or more"),
    }
}

pub(crate) fn run(repository: &Repository, arguments: &[String]) -> anyhow::Result<()> {
    let (mut runs, mut seed) = (100_000usize, 1u64);
    let (mut cycles, mut first, mut waves, mut splits) = (None, 0u64, None, None);
    let mut short_launches = None;
    let (mut odd, mut climb, mut grown) = (None, None, None);
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let value = rest.next().context("an option without a value")?;
        match argument.as_str() {
            "--runs" => runs = value.parse()?,
            "--seed" => seed = value.parse()?,
            "--cycles" => cycles = Some(value.parse()?),
            "--launches" => short_launches = Some(value.parse()?),
            "--odd" => odd = Some(value.parse()?),
            "--climb" => climb = Some(value.parse()?),
            "--grown" => grown = Some(value.parse()?),
            "--from" => first = value.parse()?,
            "--waves" => waves = Some(value.parse()?),
            "--splits" => splits = Some(value.parse()?),
            other => bail!("no option is called {other:?}"),
        }
    }
    if let Some(count) = cycles {
        return audit_control_words::run(first, count);
    }
    if let Some(count) = short_launches {
        return audit_short_launches::run(first, count, compare_short_program);
    }
    if let Some(count) = odd {
        return audit_short_launches::run(first, count, compare_odd_launch);
    }
    if let Some(count) = climb {
        return audit_odd_machines::climb(first, count);
    }
    if let Some(count) = grown {
        return audit_odd_machines::grow(first, count);
    }
    if let Some(count) = waves {
        return audit_random_waves(seed, count);
    }
    if let Some(count) = splits {
        return audit_splits::run(seed, count);
    }
    let random = campaign(seed, runs / 2);
    print("random programs", &random);
    let kernels = audit_kernels(repository, seed, runs - runs / 2)?;
    print("own kernels", &kernels);
    if !random.problems.is_empty() || !kernels.problems.is_empty() {
        bail!(
            "{} problems",
            random.problems.len() + kernels.problems.len()
        );
    }
    Ok(())
}

fn audit_kernels(repository: &Repository, seed: u64, runs: usize) -> anyhow::Result<WarpCampaign> {
    let mut sessions = Vec::new();
    for path in files_with_extension(&repository.built_kernels(), "cubin")? {
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let session = Session::open(&name, &std::fs::read(&path)?)?;
        sessions.push((name, session));
    }
    let mut total = WarpCampaign::default();
    let mut rng = fastrand::Rng::with_seed(seed);
    // Several launches of each kernel, so that all of them get a share of the runs.
    while total.runs < runs {
        for (name, session) in &sessions {
            for kernel in session.kernels(None)? {
                let prepared = session.prepare(kernel)?;
                let name = format!("{name} {}", kernel.demangled());
                total.audit_program(&name, &prepared.code, &mut rng, 20);
            }
        }
    }
    Ok(total)
}

fn print(title: &str, total: &WarpCampaign) {
    println!("{title}:");
    println!(
        "  {} programs, {} refused with a domain switched off, {} refused:",
        total.programs, total.refused_at_reduced_precision, total.refused
    );
    for (reason, count) in &total.refusals {
        println!("    {count:>6}  {reason}");
    }
    println!(
        "  {} runs, {} diverged, {} finished and were compared with a bound",
        total.runs, total.diverged, total.bounded
    );
    println!(
        "  bound / executed instructions: median {:.3}",
        total.median_ratio()
    );
    println!("  {} problems", total.problems.len());
    for problem in total.problems.iter().take(SHOWN) {
        println!("    {problem}");
    }
}
