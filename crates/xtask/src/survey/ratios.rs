//! Bounds of builds for several architectures, relative to the builds for one of them.

use std::collections::BTreeMap;
use std::path::PathBuf;

use warpbound_bounds::bound;
use warpbound_load::Isa;
use warpbound_query::{BoundOptions, ImageSelection};

use crate::each_kernel::each_kernel;

/// Number of largest ratios that are printed for each architecture.
const SHOWN: usize = 8;

/// Bounds, in warp instructions, of one kernel of one source.
type Bounds = BTreeMap<Isa, u128>;

/// Bounds the kernels of the files, and prints for each architecture the distribution of bound / bound for `base`. Builds
/// of one kernel have one symbol and one file name up to the first full stop; a kernel that several files have for one
/// architecture counts once, with the first of them.
pub(super) fn run(files: &[PathBuf], base: Isa, options: &BoundOptions) -> anyhow::Result<()> {
    let mut kernels: BTreeMap<(String, String), Bounds> = BTreeMap::new();
    let mut unbounded = 0usize;
    for file in files {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let source = name.split('.').next().unwrap_or_default().to_owned();
        let one = std::slice::from_ref(file);
        let unreadable = each_kernel(one, &ImageSelection::default(), |session, kernel| {
            let report = bound(session, kernel, options)?;
            let key = (source.clone(), kernel.name.to_string());
            match report.verdict.bound() {
                Some(limit) => {
                    kernels
                        .entry(key)
                        .or_default()
                        .entry(session.image.isa())
                        .or_insert(limit);
                }
                None => unbounded += 1,
            }
            Ok(())
        })?;
        unbounded += unreadable.len();
    }
    let mut ratios: BTreeMap<Isa, Vec<Ratio>> = BTreeMap::new();
    let without_base = kernels
        .values()
        .filter(|bounds| !bounds.contains_key(&base));
    println!(
        "{} kernels; {} without a bound for {base}; {unbounded} builds without a bound",
        kernels.len(),
        without_base.count(),
    );
    for ((source, symbol), bounds) in &kernels {
        let Some(&of_base) = bounds.get(&base).filter(|bound| **bound > 0) else {
            continue;
        };
        for (&isa, &limit) in bounds.iter().filter(|(isa, _)| **isa != base) {
            ratios.entry(isa).or_default().push(Ratio {
                value: limit as f64 / of_base as f64,
                text: format!("{source} {symbol}: {limit}, {base} {of_base}"),
            });
        }
    }
    for (isa, mut of_isa) in ratios {
        of_isa.sort_by(|a, b| a.value.total_cmp(&b.value));
        print(isa, base, &of_isa);
    }
    Ok(())
}

struct Ratio {
    value: f64,
    text: String,
}

/// Prints the distribution of sorted ratios.
fn print(isa: Isa, base: Isa, ratios: &[Ratio]) {
    let at = |percent: usize| {
        let index = (ratios.len() * percent / 100).min(ratios.len().saturating_sub(1));
        ratios.get(index).map_or(0.0, |ratio| ratio.value)
    };
    println!(
        "{isa} / {base}, {} kernels: least {:.2}, 10 % {:.2}, 50 % {:.2}, 90 % {:.2}, greatest {:.2}",
        ratios.len(),
        at(0),
        at(10),
        at(50),
        at(90),
        at(100),
    );
    for ratio in ratios.iter().rev().take(SHOWN) {
        println!("  {:>6.2}  {}", ratio.value, ratio.text);
    }
}
