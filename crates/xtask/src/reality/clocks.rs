//! Cycles that microbenchmarks read from the clock of their SM.

use anyhow::Context;
use warpbound_launch::{LaunchFile, ParamValue, StartCaches};

use super::{Comparisons, Model, ModelledLaunch, column, rows};

/// Kernels that one launch file has in common.
const LATENCIES: &str = "latency";

/// Compares the recorded launches of `kernels/microbenchmarks`.
pub(super) fn compare(model: &Model, text: &str) -> anyhow::Result<Comparisons> {
    let mut found = Comparisons::default();
    for row in rows(text) {
        let name = column(&row, "launch")?;
        let recorded = column(&row, "first")?.parse().context("first")?;
        found.add(name, recorded, cycles(model, name));
    }
    Ok(found)
}

/// Runs a launch; returns the first element of its first buffer.
fn cycles(model: &Model, name: &str) -> anyhow::Result<f64> {
    let launch = launch_of(model, name)?;
    let mut parts = name.split('.');
    let run = model.run(&ModelledLaunch {
        source: parts.next().unwrap_or_default(),
        kernel: parts.next(),
        launch: &launch,
        caches: StartCaches::Cold,
    })?;
    let buffer = run.memory.buffers().first().context("no buffer")?;
    let word = buffer.bytes.first_chunk().context("no element")?;
    Ok(f64::from(u32::from_le_bytes(*word)))
}

/// Launch of a microbenchmark, `SOURCE.KERNEL.PART...`.
pub(super) fn launch_of(model: &Model, name: &str) -> anyhow::Result<LaunchFile> {
    let mut parts = name.split('.').skip(1);
    let kernel = parts.next().context("the name has a kernel")?;
    let file = match kernel.starts_with(LATENCIES) {
        true => LATENCIES,
        false => kernel,
    };
    let mut launch = model.launch("microbenchmarks", file)?;
    for part in parts {
        apply(part, &mut launch)?;
    }
    Ok(launch)
}

/// Applies a part of a name to a launch: `stride8` sets a parameter, `32threads` the block, and `4KiB` the pieces of code.
fn apply(part: &str, launch: &mut LaunchFile) -> anyhow::Result<()> {
    let is_digit = |c: char| c.is_ascii_digit();
    if let Some(threads) = part.strip_suffix("threads") {
        launch.block = [threads.parse()?, 1, 1];
        return Ok(());
    }
    let (name, value) = match part.strip_suffix("KiB") {
        Some(pieces) => ("pieces", pieces),
        None => part.split_at(part.find(is_digit).context("a name and a number")?),
    };
    let value: u32 = value.parse()?;
    let mut known = launch.params.iter_mut().filter(|param| param.name == name);
    let bytes = known.find_map(|param| match &mut param.value {
        ParamValue::Scalar { bytes, .. } => bytes.first_chunk_mut(),
        _ => None,
    });
    *bytes.with_context(|| format!("no parameter {name} of 32 bits"))? = value.to_le_bytes();
    Ok(())
}
