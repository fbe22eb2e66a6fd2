//! `cargo xtask rewrite-check`: cubins are taken apart and written again.

mod listing;
mod sample;

use std::path::PathBuf;

use anyhow::{Context, bail};
use warpbound_query::GpuModel;
use warpbound_query::{Session, rewritten};
use warpbound_runs::{RunHooks, TimedOptions, simulate};
use warpbound_testkit::kernels;
use warpbound_testkit::rewriting::{built_file, difference, with_nops};

use crate::repository::Repository;

pub(crate) const HELP: &str = "\
usage: cargo xtask rewrite-check [--launches COUNT] [--seed NUMBER] [--sample COUNT FILE...]

Takes the code of cubins apart and writes it again. Without a sample: our own kernels of sm_50, sm_61, sm_62 and of
NVRTC 11.8 for sm_61. Written without insertions, a file must have the same bytes, so that it takes the same cycles; with
NOPs at random places and on taken edges, each launch must have the same results.

  --launches COUNT       launches of each kernel (3)
  --seed NUMBER          start of the random places (1)
  --sample COUNT FILE... instead: COUNT kernels drawn from the cubins in these libraries; each is rewritten or refused. The
                         cubin without insertions must have the same bytes; of the kernel with NOPs, nvdisasm (from
                         `cargo xtask oracle`) must print the same instructions between the NOPs, and targets that lead
                         to the same instructions

Prints what was rewritten and refused, and the times for 12,000 instructions.";

/// Builds of our own kernels.
const BUILDS: [&str; 4] = ["sm_50", "sm_61", "sm_62", "nvrtc11.sm_61"];

/// A NOP is inserted before one in this many instructions.
const ONE_IN: u32 = 3;

pub(crate) fn run(repository: &Repository, arguments: &[String]) -> anyhow::Result<()> {
    let options = parse(arguments)?;
    let problems = match options.sample {
        None => own_kernels(&options)?,
        Some(count) => sample::sample(repository, count, &options)?,
    };
    for problem in problems.iter().take(20) {
        println!("  {problem}");
    }
    match problems.len() {
        0 => Ok(()),
        count => bail!("{count} differences"),
    }
}

struct Options {
    launches: u64,
    seed: u64,
    sample: Option<usize>,
    files: Vec<PathBuf>,
}

fn parse(arguments: &[String]) -> anyhow::Result<Options> {
    let mut options = Options {
        launches: 3,
        seed: 1,
        sample: None,
        files: Vec::new(),
    };
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let mut number = || -> anyhow::Result<u64> {
            let text = rest.next();
            Ok(text
                .with_context(|| format!("{argument} needs a number"))?
                .parse()?)
        };
        match argument.as_str() {
            "--launches" => options.launches = number()?,
            "--seed" => options.seed = number()?,
            "--sample" => options.sample = Some(usize::try_from(number()?)?),
            file if !file.starts_with('-') => options.files.push(file.into()),
            other => bail!("unknown argument {other}"),
        }
    }
    Ok(options)
}

/// Checks our own kernels; returns the differences.
fn own_kernels(options: &Options) -> anyhow::Result<Vec<String>> {
    let mut problems = Vec::new();
    let (mut files, mut launches, mut nops, mut stubs, mut timed) = (0, 0, 0, 0, 0);
    let all = kernels::all().into_iter().chain(kernels::of_nvrtc_11_8());
    for (number, reference) in (0..).zip(all) {
        for build in BUILDS {
            let Some(file) = built_file(&reference, build) else {
                continue;
            };
            let name = format!("{} {} {build}", reference.source, reference.kernel);
            files += 1;
            if rewritten(&file)? != file {
                problems.push(format!("{name}: other bytes without insertions"));
            }
            let padded = match with_nops(&file, options.seed + number, ONE_IN) {
                Ok(padded) => padded,
                Err(diagnostic) => {
                    println!("  refused: {name}: {diagnostic}");
                    continue;
                }
            };
            nops += padded.nops;
            stubs += padded.stubs;
            let before = Session::open(&name, &file)?;
            let after = match Session::open(&name, &padded.bytes) {
                Ok(after) => after,
                Err(diagnostic) => {
                    problems.push(format!("{name}: {diagnostic}"));
                    continue;
                }
            };
            for number in 0..options.launches {
                let launch = (reference.launch)(number);
                launches += 1;
                if let Some(found) = difference(&before, &after, reference.kernel, &launch)? {
                    problems.push(format!("{name}, launch {number}: {found}"));
                }
                if build == "sm_62" && number == 0 {
                    timed += 1;
                    let found = with_time(&after, reference.kernel, &launch)?;
                    problems.extend(found.map(|found| format!("{name}, with time: {found}")));
                }
            }
        }
    }
    println!(
        "{files} kernels written again with the same bytes; {nops} NOPs and {stubs} stubs; {launches} launches, {timed} more with time; {} differences",
        problems.len()
    );
    Ok(problems)
}

/// Runs a launch with time; returns a difference from the expected contents.
fn with_time(
    session: &Session,
    kernel: &str,
    launch: &warpbound_launch::LaunchFile,
) -> anyhow::Result<Option<String>> {
    let options = TimedOptions::new(GpuModel::built_in("jetson-tx2")?);
    let hooks = RunHooks {
        events: None,
        timeline: None,
        progress: &mut |_| (),
    };
    let kernel = session.launched_kernel(Some(kernel), launch.kernel.as_deref())?;
    let run = simulate(session, kernel, launch, &options, hooks)?;
    Ok(run.unexpected.map(|diagnostic| diagnostic.to_string()))
}
