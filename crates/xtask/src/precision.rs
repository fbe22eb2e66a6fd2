//! `cargo xtask precision`: checks that a bound is never greater where the warp is followed with more precision.

use std::collections::BTreeMap;

use anyhow::{Context, bail};
use warpbound_bounds::bound;
use warpbound_load::Kernel;
use warpbound_query::{AgreementDomain, GroupDomain, StackDomain, WarpModel};
use warpbound_query::{BoundOptions, FactReading, ImageSelection};

use crate::each_kernel::each_kernel;
use crate::repository::{Repository, files_with_extension};

pub(crate) const HELP: &str = "\
usage: cargo run --release -p warpbound-xtask -- precision [--every N] [FILE...]

Bounds each kernel of the files (kernels/built if none is given) with every choice of --stack, --groups and --agreement,
with 10 header executions for each loop and nothing derived. A bound may not be greater than one with less precision in
some domain and with more in none. Prints each kernel whose bound is; fails if there is one. In the paper's reading of
loop facts (--flow paper) they are counted only: graphs of different precision have different loops there.

  --every N   only every N-th kernel (1)";

/// Choices of each domain, the most precise first.
const STACKS: [StackDomain; 2] = [StackDomain::Full, StackDomain::Acyclic];
const GROUPS: [GroupDomain; 2] = [GroupDomain::Full, GroupDomain::Off];
const AGREEMENTS: [AgreementDomain; 3] = [
    AgreementDomain::Full,
    AgreementDomain::ActiveOnly,
    AgreementDomain::Off,
];

/// Readings of loop facts; the property is claimed for the first one.
const READINGS: [FactReading; 2] = [FactReading::Simt, FactReading::Paper];

/// Header executions of each loop per entry.
const LOOP_BOUND: u64 = 10;

/// Bounds of a kernel by the place of each choice; `None` for one without a bound.
type Bounds = BTreeMap<[usize; 3], Option<u128>>;

pub(crate) fn run(repository: &Repository, arguments: &[String]) -> anyhow::Result<()> {
    let (mut files, mut every) = (Vec::new(), 1usize);
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "--every" => every = rest.next().context("--every without a number")?.parse()?,
            flag if flag.starts_with('-') => bail!("no option is called {flag:?}"),
            file => files.push(file.into()),
        }
    }
    if files.is_empty() {
        for extension in ["cubin", "co"] {
            files.extend(files_with_extension(
                &repository.built_kernels(),
                extension,
            )?);
        }
    }
    let mut seen = 0usize;
    let mut found = [(0usize, 0usize); 2];
    let selection = ImageSelection::default();
    let unreadable = each_kernel(&files, &selection, |session, kernel| {
        seen += 1;
        if !seen.is_multiple_of(every.max(1)) {
            return Ok(());
        }
        for (reading, (compared, greater)) in READINGS.into_iter().zip(&mut found) {
            let bounds = bounds(
                |options| Ok(bound(session, kernel, options)?.verdict.bound()),
                reading,
            )?;
            let (pairs, above) = compare(kernel, reading, &bounds);
            *compared += pairs;
            *greater += above;
        }
        Ok(())
    })?;
    for why in unreadable {
        println!("cannot be read: {why}");
    }
    for (reading, (compared, greater)) in READINGS.into_iter().zip(found) {
        println!("{reading:?}: {compared} pairs of bounds, {greater} greater with more precision");
    }
    match found[0].1 {
        0 => Ok(()),
        _ => bail!("more precision gave a greater bound"),
    }
}

/// Bounds of a kernel with every choice.
fn bounds(
    bound: impl Fn(&BoundOptions) -> anyhow::Result<Option<u128>>,
    reading: FactReading,
) -> anyhow::Result<Bounds> {
    let mut bounds = Bounds::new();
    for (s, stack) in STACKS.into_iter().enumerate() {
        for (g, groups) in GROUPS.into_iter().enumerate() {
            for (a, agreement) in AGREEMENTS.into_iter().enumerate() {
                let options = BoundOptions {
                    loop_default: Some(LOOP_BOUND),
                    call_default: Some(LOOP_BOUND),
                    derive: false,
                    reading,
                    model: WarpModel {
                        stack,
                        groups,
                        agreement,
                        ..BoundOptions::default().model
                    },
                    ..BoundOptions::default()
                };
                bounds.insert([s, g, a], bound(&options)?);
            }
        }
    }
    Ok(bounds)
}

/// Compares all pairs of bounds of a kernel where one has more precision. Returns their number, and how many of the
/// more precise bounds are greater.
fn compare(kernel: &Kernel, reading: FactReading, bounds: &Bounds) -> (usize, usize) {
    let (mut pairs, mut greater) = (0, 0);
    for (precise, fine) in bounds {
        for (less, coarse) in bounds {
            let is_coarser = precise != less && precise.iter().zip(less).all(|(p, l)| p <= l);
            let Some(coarse) = coarse.filter(|_| is_coarser) else {
                continue;
            };
            pairs += 1;
            if fine.is_none_or(|fine| fine > coarse) {
                greater += 1;
                if reading != READINGS[0] {
                    continue;
                }
                let name = kernel.demangled();
                println!("{name}, {reading:?}: {fine:?} at {precise:?}, {coarse} at {less:?}");
            }
        }
    }
    (pairs, greater)
}
