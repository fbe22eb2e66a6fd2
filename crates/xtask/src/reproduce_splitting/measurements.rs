//! Measurements: results of single runs by key, kept in a file so that an interrupted command goes on where it stopped.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Context;

/// Numbers of a run by name.
pub(crate) type Numbers = BTreeMap<String, u64>;

/// Numbers of a run, or the reason why there are none.
pub(crate) type Measured = Result<Numbers, String>;

/// A run: a key that says all that it depends on, and a function that makes it.
pub(crate) struct RunTask<'a> {
    pub(crate) key: String,
    pub(crate) run: Box<dyn Fn() -> Measured + Send + Sync + 'a>,
}

/// Measurements of all runs so far.
pub(crate) struct Measurements {
    path: PathBuf,
    known: Mutex<BTreeMap<String, Measured>>,
}

/// Time between two progress lines.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(20);

impl Measurements {
    /// Opens the measurements in a folder. Measurements of another build of this program are dropped, because
    /// machines, kernels and code may have changed.
    ///
    /// # Errors
    ///
    /// The folder or the file cannot be used.
    pub(crate) fn open(folder: &Path, inputs: &[u8]) -> anyhow::Result<Measurements> {
        fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let path = folder.join("measurements.tsv");
        let build = fingerprint(inputs)?;
        let text = fs::read_to_string(&path).unwrap_or_default();
        // An interrupted run may have left a part of a line.
        let whole = text.rfind('\n').map_or("", |end| &text[..=end]);
        let mut known = BTreeMap::new();
        let kept = match whole.lines().next() == Some(build.as_str()) {
            true => whole.to_owned(),
            false => format!("{build}\n"),
        };
        known.extend(kept.lines().skip(1).filter_map(parse_line));
        fs::write(&path, kept).context("cannot write measurements")?;
        Ok(Measurements {
            path,
            known: Mutex::new(known),
        })
    }

    /// Makes the runs that are missing, on all cores, and prints progress on standard error.
    ///
    /// # Errors
    ///
    /// The file cannot be written.
    pub(crate) fn make(&self, what: &str, tasks: &[RunTask<'_>]) -> anyhow::Result<()> {
        let missing: Vec<&RunTask<'_>> = {
            let known = self.known();
            tasks
                .iter()
                .filter(|task| !known.contains_key(&task.key))
                .collect()
        };
        if missing.is_empty() {
            return Ok(());
        }
        let file = OpenOptions::new().append(true).open(&self.path);
        let file = Mutex::new(file.context("cannot append to the measurements")?);
        let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let begin = Instant::now();
        let reported = Mutex::new(Instant::now());
        let workers = std::thread::available_parallelism().map_or(1, usize::from);
        let work = || -> anyhow::Result<()> {
            while let Some(task) = missing.get(next.fetch_add(1, Ordering::Relaxed)) {
                let measured = (task.run)();
                write_line(&mut lock(&file), &task.key, &measured)?;
                self.known().insert(task.key.clone(), measured);
                let done = done.fetch_add(1, Ordering::Relaxed) + 1;
                let mut reported = lock(&reported);
                if reported.elapsed() >= PROGRESS_INTERVAL {
                    *reported = Instant::now();
                    let seconds = begin.elapsed().as_secs();
                    eprintln!("{what}: {done} of {} runs, {seconds} s", missing.len());
                }
            }
            Ok(())
        };
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
            for worker in workers {
                match worker.join() {
                    Ok(result) => result?,
                    Err(_) => anyhow::bail!("a run panicked"),
                }
            }
            Ok(())
        })
    }

    /// Returns the result of a run.
    pub(crate) fn get(&self, key: &str) -> Measured {
        let found = self.known().get(key).cloned();
        found.unwrap_or_else(|| Err("not measured".to_owned()))
    }

    /// Returns one number of a run.
    pub(crate) fn number(&self, key: &str, name: &str) -> Option<u64> {
        self.get(key).ok()?.get(name).copied()
    }

    fn known(&self) -> MutexGuard<'_, BTreeMap<String, Measured>> {
        lock(&self.known)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Line that names this build and what it reads: equal ones give equal numbers.
fn fingerprint(inputs: &[u8]) -> anyhow::Result<String> {
    let program = std::env::current_exe().context("no path of this program")?;
    let mut hasher = DefaultHasher::new();
    fs::read(program)
        .context("cannot read this program")?
        .hash(&mut hasher);
    inputs.hash(&mut hasher);
    Ok(format!("build {:016x}", hasher.finish()))
}

fn write_line(file: &mut File, key: &str, measured: &Measured) -> anyhow::Result<()> {
    let result = match measured {
        Ok(numbers) => {
            let pairs = numbers
                .iter()
                .map(|(name, value)| format!("{name}={value}"));
            pairs.collect::<Vec<String>>().join(" ")
        }
        Err(reason) => format!("! {}", reason.replace(['\n', '\t'], " ")),
    };
    writeln!(file, "{key}\t{result}").context("cannot write measurements")
}

/// Parses a line of [`write_line`].
fn parse_line(line: &str) -> Option<(String, Measured)> {
    let (key, result) = line.split_once('\t')?;
    let measured = match result.strip_prefix("! ") {
        Some(reason) => Err(reason.to_owned()),
        None => {
            let pairs = result.split(' ').map(|pair| {
                let (name, value) = pair.split_once('=')?;
                Some((name.to_owned(), value.parse().ok()?))
            });
            Ok(pairs.collect::<Option<Numbers>>()?)
        }
    };
    Some((key.to_owned(), measured))
}
