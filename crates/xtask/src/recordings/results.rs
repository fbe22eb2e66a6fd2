//! Recorded results of launches against runs of the same code.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Context;
use serde::Deserialize;
use sha2::{Digest, Sha256};
use warpbound_base::Diagnostic;
use warpbound_launch::LaunchFile;
use warpbound_query::Session;
use warpbound_runs::{FunctionalRun, RunOptions, execute};

use super::cubins_by_source;
use crate::repository::Repository;

/// Recorded launch.
#[derive(Deserialize)]
struct RecordedLaunch {
    /// Name of the file in `kernels/launches`.
    launch: String,
    source: String,
    kernel: String,
    buffers: Vec<RecordedBuffer>,
}

/// Recorded contents of a buffer at the end.
#[derive(Deserialize)]
struct RecordedBuffer {
    name: String,
    /// Digest of the bytes.
    sha256: String,
    /// Bytes, where they are recorded.
    values_hex: Option<String>,
    /// Byte offsets of addresses of 8 bytes that were replaced by zeros, because a GPU places buffers elsewhere.
    #[serde(default)]
    addresses_zeroed_at: Vec<usize>,
}

#[derive(Default)]
struct Tally {
    launches: usize,
    equal: usize,
    buffers: [usize; 2],
    /// Launches with other results, and their differences.
    other: BTreeMap<String, String>,
    faults: BTreeMap<String, String>,
}

/// Compares the results, and returns those that differ.
pub(super) fn run(
    repository: &Repository,
    lines: &str,
    cubins: &Path,
) -> anyhow::Result<Vec<String>> {
    let files = cubins_by_source(cubins)?;
    let mut tally = Tally::default();
    for line in lines.lines() {
        let recorded: RecordedLaunch = serde_json::from_str(line).context("a line of JSON")?;
        let Some(path) = files.get(&recorded.source) else {
            continue;
        };
        let folder = repository.root().join("kernels/launches");
        let name = format!("{}.toml", recorded.launch);
        let read = |file: &str| {
            let contents = std::fs::read(folder.join(file));
            contents.map_err(|error| Diagnostic::new(error.to_string()))
        };
        let text = std::fs::read_to_string(folder.join(&name)).context(name.clone())?;
        let launch = LaunchFile::parse(&name, &text, &read)?;
        tally.launches += 1;
        match executed(path, &recorded, &launch) {
            Ok(run) => tally.compare(&recorded, &launch, &run),
            Err(why) => {
                tally.faults.insert(recorded.launch, why.to_string());
            }
        }
    }
    tally.print();
    let differ = tally.other.iter().chain(&tally.faults);
    Ok(differ
        .map(|(launch, why)| format!("{launch}: {why}"))
        .collect())
}

fn executed(
    path: &Path,
    recorded: &RecordedLaunch,
    launch: &LaunchFile,
) -> anyhow::Result<FunctionalRun> {
    let session = Session::open(&path.display().to_string(), &std::fs::read(path)?)?;
    let kernel = session.launched_kernel(Some(&recorded.kernel), launch.kernel.as_deref())?;
    let options = RunOptions::default();
    Ok(execute(&session, kernel, launch, &options, &mut |_| ())?)
}

impl Tally {
    fn compare(&mut self, recorded: &RecordedLaunch, launch: &LaunchFile, run: &FunctionalRun) {
        let names: Vec<&str> = launch.buffers().map(|(name, _)| name).collect();
        let mut differences = Vec::new();
        for buffer in &recorded.buffers {
            // Buffers of the launch file come first, then variables of the module by their symbols.
            let place = names.iter().position(|name| *name == buffer.name);
            let found = match place {
                Some(place) => run.memory.buffers().get(place),
                None => run
                    .memory
                    .buffers()
                    .iter()
                    .find(|own| *own.name == *buffer.name),
            };
            // Variables in constant memory have no buffer, and do not change.
            let Some(found) = found else { continue };
            let mut bytes = found.bytes.clone();
            for &at in &buffer.addresses_zeroed_at {
                if let Some(address) = bytes.get_mut(at..at + 8) {
                    address.fill(0);
                }
            }
            let digest = Sha256::digest(&bytes);
            let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
            let is_equal = digest == buffer.sha256;
            self.buffers[0] += 1;
            self.buffers[1] += usize::from(is_equal);
            if !is_equal {
                differences.push(difference(buffer, &bytes));
            }
        }
        match differences.is_empty() {
            true => self.equal += 1,
            false => {
                let launch = recorded.launch.clone();
                self.other.insert(launch, differences.join("; "));
            }
        }
    }

    fn print(&self) {
        println!(
            "{} launches, {} with the recorded results in each bit; {} of {} buffers equal; {} launches that end in a fault here",
            self.launches,
            self.equal,
            self.buffers[1],
            self.buffers[0],
            self.faults.len()
        );
    }
}

/// Describes how the words of a buffer differ from the recorded ones.
fn difference(recorded: &RecordedBuffer, own: &[u8]) -> String {
    let name = &recorded.name;
    let Some(values) = recorded.values_hex.as_deref().and_then(bytes_of) else {
        return format!("{name} differs");
    };
    let word = |bytes: &[u8]| match bytes {
        [a, b, c, d] => u32::from_le_bytes([*a, *b, *c, *d]),
        _ => 0,
    };
    let words = values.chunks_exact(4).zip(own.chunks_exact(4));
    let distances = words.map(|(a, b)| word(a).abs_diff(word(b)));
    let distances: Vec<u32> = distances.filter(|&distance| distance != 0).collect();
    let most = distances.iter().max().copied().unwrap_or_default();
    format!(
        "{} of {} words of {name} differ, by at most {most} units",
        distances.len(),
        own.len() / 4
    )
}

fn bytes_of(hex: &str) -> Option<Vec<u8>> {
    let pairs = (0..hex.len()).step_by(2);
    pairs
        .map(|at| u8::from_str_radix(hex.get(at..at + 2)?, 16).ok())
        .collect()
}
