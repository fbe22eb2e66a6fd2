//! `cargo xtask profiles`: launch profiles against functional runs.

use std::collections::BTreeMap;
use std::fs;
use std::time::Instant;

use anyhow::{Context, bail};
use warpbound_audit::{claims, monitor};
use warpbound_base::{Deadline, Diagnostic, Named};
use warpbound_bounds::NoProfileReason;
use warpbound_bounds::{ProfileOptions, stated_loops};
use warpbound_launch::{LaunchFile, PathOrder};
use warpbound_query::{BoundOptions, Contents, Session};
use warpbound_testkit::launch_profiles::{compare, issued_by_warp};

use crate::repository::Repository;

pub(crate) const HELP: &str = "\
usage: cargo run --release -p warpbound-xtask -- profiles [--contents any|as-given] [--observed] [NAME...]

Profiles the launches in kernels/launches (only those whose names begin so, if names are given), as built for sm_61, and compares each warp with
functional runs in both orders of the sides of branches: no warp may issue more than its profile, and one whose profile is
exact issues as many. Prints a row for each launch, and the ratios of bound and worst warp; fails on any contradiction.
No facts are given, so that loops that memory ends leave a launch without a profile.

  --observed   the loops have the bounds that the threads of each run show, the best that a user could state";

/// Largest number of warp instructions of a run.
const MOST_INSTRUCTIONS: u64 = 100_000_000;

/// Time for the profile of one launch.
const TIME_LIMIT: std::time::Duration = std::time::Duration::from_secs(20);

pub(crate) fn run(repository: &Repository, arguments: &[String]) -> anyhow::Result<()> {
    let (mut contents, mut observed, mut names) = (Contents::Any, false, Vec::new());
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "--contents" => {
                let name = rest.next().context("--contents without a word")?;
                let known = Contents::ALL.iter().find(|(_, known)| known == name);
                contents = known.context("contents are any or as-given")?.0;
            }
            "--observed" => observed = true,
            flag if flag.starts_with('-') => bail!("no option is called {flag:?}"),
            name => names.push(name.to_owned()),
        }
    }
    println!(
        "{:<46} {:>9} {:>9} {:>7} {:>8}",
        "launch", "worst", "bound", "ratio", "seconds"
    );
    let mut total = ProfileTotal::default();
    for path in repository.cuda_launches()? {
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if names.is_empty() || names.iter().any(|start| name.starts_with(start)) {
            let row =
                profile_row(repository, &name, contents, observed).with_context(|| name.clone())?;
            total.add(&name, row);
        }
    }
    total.print();
    match total.wrong {
        0 => Ok(()),
        wrong => bail!("{wrong} warps contradict their profiles"),
    }
}

/// Profile of one launch, and its runs.
struct LaunchRow {
    worst: u64,
    bound: Result<(u64, bool), NoProfileReason>,
    wrong: Vec<String>,
    seconds: f64,
}

/// Profiles one launch and compares it with its runs.
fn profile_row(
    repository: &Repository,
    name: &str,
    contents: Contents,
    observed: bool,
) -> anyhow::Result<LaunchRow> {
    let folder = repository.launches();
    let files = |file: &str| {
        fs::read(folder.join(file)).map_err(|error| Diagnostic::new(error.to_string()))
    };
    let text = fs::read_to_string(folder.join(name))?;
    let launch = LaunchFile::parse(name, &text, &files)?;
    let source = name.split('.').next().unwrap_or_default();
    // Some sources are for the older compiler only.
    let builds = ["sm_61", "nvrtc11.sm_61"];
    let read = |build: &str| {
        fs::read(
            repository
                .built_kernels()
                .join(format!("{source}.{build}.cubin")),
        )
        .ok()
    };
    let cubin = builds.into_iter().find_map(read).context("no cubin")?;
    let session = Session::open(name, &cubin)?;
    let kernel = session.launched_kernel(None, launch.kernel.as_deref())?;
    let prepared = session.prepare(kernel)?;
    let block = BoundOptions {
        block: Some(launch.block),
        ..BoundOptions::default()
    };
    let claims = claims(&session, &prepared, &block)?;
    let mut row = LaunchRow {
        worst: 0,
        bound: Ok((0, true)),
        wrong: Vec::new(),
        seconds: 0.0,
    };
    for order in [PathOrder::TakenFirst, PathOrder::FallThroughFirst] {
        let issued = issued_by_warp(&cubin, &prepared, &launch, order, MOST_INSTRUCTIONS);
        let issued = issued.map_err(|why| anyhow::anyhow!(why))?;
        let mut loops = Vec::new();
        if observed {
            let run = monitor(
                &session,
                &prepared,
                &claims,
                &launch,
                order,
                MOST_INSTRUCTIONS,
            )?;
            let seen = run.observations.max_per_entry.into_iter();
            let bounds: Vec<Option<u64>> = seen
                .map(|most| Some(most.map_or(0, |most| most.count)))
                .collect();
            loops = stated_loops(&claims.flow, &bounds);
        }
        let options = ProfileOptions {
            contents,
            transfers: claims.flow.known_transfers(&prepared.code),
            loops,
            deadline: Deadline::after(TIME_LIMIT),
            ..ProfileOptions::default()
        };
        let start = Instant::now();
        let compared = compare(&session, &prepared, &launch, &options, &issued);
        row.seconds = row.seconds.max(start.elapsed().as_secs_f64());
        for one in compared.map_err(|why| anyhow::anyhow!(why))? {
            row.worst = row.worst.max(one.issued);
            if one.is_wrong() {
                row.wrong.push(format!("{order:?}: {one:?}"));
            }
            row.bound = match (row.bound, one.profile) {
                (Ok((most, exact)), Ok(profile)) => {
                    Ok((most.max(profile.issues), exact && profile.exact))
                }
                (Err(why), _) => Err(why),
                (_, Err(why)) => Err(why.reason),
            };
        }
    }
    Ok(row)
}

/// Sums over all launches.
#[derive(Default)]
struct ProfileTotal {
    exact: Vec<f64>,
    cut: Vec<f64>,
    without: BTreeMap<String, u64>,
    wrong: u64,
    seconds: f64,
}

impl ProfileTotal {
    fn add(&mut self, name: &str, row: LaunchRow) {
        self.seconds += row.seconds;
        let bound = match row.bound {
            Ok((bound, exact)) => {
                let ratio = bound as f64 / row.worst.max(1) as f64;
                let ratios = if exact {
                    &mut self.exact
                } else {
                    &mut self.cut
                };
                ratios.push(ratio);
                format!("{bound:>9} {ratio:>7.3}{}", if exact { " " } else { "~" })
            }
            Err(why) => {
                *self.without.entry(format!("{why:?}")).or_default() += 1;
                format!("{:>17}", format!("{why:?}"))
            }
        };
        println!("{name:<46} {:>9} {bound} {:>8.3}", row.worst, row.seconds);
        for wrong in &row.wrong {
            self.wrong += 1;
            println!("    wrong: {wrong}");
        }
    }

    fn print(&mut self) {
        for (name, ratios) in [
            ("exact", &mut self.exact),
            ("with decisions by unknown values", &mut self.cut),
        ] {
            ratios.sort_by(f64::total_cmp);
            let at = |part: f64| {
                let index = (ratios.len() as f64 * part) as usize;
                ratios
                    .get(index.min(ratios.len().saturating_sub(1)))
                    .copied()
                    .unwrap_or(0.0)
            };
            println!(
                "{} launches {name}: bound / worst warp median {:.3}, 90 % at most {:.3}",
                ratios.len(),
                at(0.5),
                at(0.9)
            );
        }
        for (why, count) in &self.without {
            println!("{count} launches without a profile: {why}");
        }
        println!("{:.1} s", self.seconds);
    }
}
