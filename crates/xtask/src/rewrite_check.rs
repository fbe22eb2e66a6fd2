//! `cargo xtask rewrite-check`: cubins are taken apart and written again.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use fastrand::Rng;
use warpbound_driver::{GpuModel, RunHooks, Session, TimedOptions, rewritten};
use warpbound_load::{EntryKind, FileSource, ImageDirectory};
use warpbound_testkit::kernels;
use warpbound_testkit::rewriting::{built_file, difference, with_nops};

use crate::nvdisasm::Nvdisasm;
use crate::repository::Repository;

pub(crate) const HELP: &str = "\
usage: cargo xtask rewrite-check [--launches COUNT] [--seed NUMBER] [--sample COUNT FILE...]

Takes the code of cubins apart and writes it again. Without a sample: our own kernels of sm_50, sm_61, sm_62 and of
NVRTC 11.8 for sm_61. Written without insertions, a file must have the same bytes, so that it takes the same cycles; with
NOPs at random places and on taken edges, each launch must have the same results.

  --launches COUNT       launches of each kernel (3)
  --seed NUMBER          start of the random places (1)
  --sample COUNT FILE... instead: COUNT kernels drawn from the cubins in these libraries; each is rewritten or refused, and
                         nvdisasm (from `cargo xtask oracle`) must print the same instructions between the NOPs

Prints what was rewritten and refused, and the time for 12,000 instructions.";

/// Builds of our own kernels.
const BUILDS: [&str; 4] = ["sm_50", "sm_61", "sm_62", "nvrtc11.sm_61"];

/// A NOP is inserted before one in this many instructions.
const ONE_IN: u32 = 3;

pub(crate) fn run(repository: &Repository, arguments: &[String]) -> anyhow::Result<()> {
    let options = parse(arguments)?;
    let problems = match options.sample {
        None => own_kernels(&options)?,
        Some(count) => sample(repository, count, &options)?,
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
    let run = session.simulate(kernel, launch, &options, hooks)?;
    Ok(run.unexpected.map(|diagnostic| diagnostic.to_string()))
}

/// Draws kernels of libraries, rewrites their cubins and compares the disassembly; returns the differences.
fn sample(repository: &Repository, count: usize, options: &Options) -> anyhow::Result<Vec<String>> {
    let oracle = Nvdisasm::new(&repository.oracle())?;
    let mut rng = Rng::with_seed(options.seed);
    let mut problems = Vec::new();
    let mut refused: BTreeMap<String, usize> = BTreeMap::new();
    let (mut drawn, mut done, mut compared, mut instructions) = (0, 0, 0, 0);
    let mut time = Duration::ZERO;
    let mut libraries = Vec::new();
    for path in &options.files {
        let source =
            FileSource::new(File::open(path).with_context(|| path.display().to_string())?)?;
        let library = ImageDirectory::open(source)?;
        let mut numbers: Vec<usize> = (0..library.entries().len()).collect();
        numbers.retain(|&number| {
            let entry = &library.entries()[number];
            entry.kind == EntryKind::Cubin && entry.isa.is_supported()
        });
        rng.shuffle(&mut numbers);
        libraries.push((path, library, numbers));
    }
    while drawn < count {
        let before = drawn;
        for (path, library, numbers) in &mut libraries {
            let Some(number) = numbers.pop() else {
                continue;
            };
            let contents = library.contents(&library.entries()[number])?;
            let name = format!("{} image {number}", path.display());
            let image = warpbound_load::Image::parse(&contents)?;
            let Some(kernel) = image.kernels()?.iter().max_by_key(|k| k.code().len()) else {
                continue;
            };
            drawn += 1;
            let started = Instant::now();
            let again = rewritten(&contents);
            time += started.elapsed();
            let code: usize = image
                .kernels()?
                .iter()
                .map(|kernel| kernel.code().len())
                .sum();
            instructions += code / 32 * 3;
            let padded = again.and_then(|again| Ok((again, with_nops(&contents, rng.u64(..), 4)?)));
            match padded {
                Ok((again, padded)) => {
                    done += 1;
                    if again != *contents {
                        problems.push(format!("{name}: other bytes without insertions"));
                    }
                    compared += 1;
                    let found = disassembly_difference(&oracle, &contents, &padded.bytes)?;
                    problems.extend(found.map(|found| format!("{name} {}: {found}", kernel.name)));
                }
                Err(diagnostic) => {
                    *refused.entry(diagnostic.message.clone()).or_default() += 1;
                    println!("  refused: {name} {}: {diagnostic}", kernel.name);
                }
            }
            if drawn == count {
                break;
            }
        }
        if drawn == before {
            break;
        }
    }
    println!(
        "{drawn} cubins drawn, {done} rewritten ({:.1} %), {compared} compared with nvdisasm, {} differences",
        100.0 * f64::from(done) / drawn.max(1) as f64,
        problems.len()
    );
    for (reason, count) in &refused {
        println!("  {count} refused: {reason}");
    }
    let seconds = time.as_secs_f64() / instructions.max(1) as f64 * 12_000.0;
    println!(
        "{instructions} instructions written again in {:.2} s: {:.1} ms for 12,000",
        time.as_secs_f64(),
        seconds * 1000.0
    );
    Ok(problems)
}

/// Compares the instructions that nvdisasm prints for a cubin and for one with NOPs.
fn disassembly_difference(
    oracle: &Nvdisasm,
    before: &[u8],
    after: &[u8],
) -> anyhow::Result<Option<String>> {
    let listing = |contents: &[u8]| -> anyhow::Result<Vec<String>> {
        let text = oracle.cubin(&["-c", "-novliw", "-ndf"], contents)?;
        Ok(text.lines().filter_map(instruction).collect())
    };
    let (old, new) = (listing(before)?, listing(after)?);
    let (old, new) = (without_nops(&old), without_nops(&new));
    if old.is_empty() {
        return Ok(Some("nvdisasm prints no instruction".to_owned()));
    }
    let different = old.iter().zip(&new).find(|(old, new)| old != new);
    Ok(match different {
        Some((old, new)) => Some(format!("{old} became {new}")),
        None if old.len() != new.len() => {
            Some(format!("{} instructions became {}", old.len(), new.len()))
        }
        None => None,
    })
}

/// The instruction on a line of a listing, without its address, its target and the reuse of its operands: a target is a
/// number after a blank without a comma, and a register before a NOP is not kept.
fn instruction(line: &str) -> Option<String> {
    let (_, text) = line.trim_start().strip_prefix("/*")?.split_once("*/")?;
    let text = text.split(';').next()?.trim().replace(".reuse", "");
    let targets = [" 0x", " -0x", "`("].into_iter().flat_map(|start| {
        let found = text.match_indices(start).map(|(at, _)| at);
        found.collect::<Vec<usize>>()
    });
    let is_target = |at: &usize| !text.get(..*at).is_some_and(|before| before.ends_with(','));
    let end = targets.filter(is_target).min().unwrap_or(text.len());
    let kept = text.get(..end).unwrap_or_default().trim();
    (!kept.is_empty()).then(|| kept.to_owned())
}

fn without_nops(listing: &[String]) -> Vec<&String> {
    listing
        .iter()
        .filter(|text| !text.starts_with("NOP"))
        .collect()
}
