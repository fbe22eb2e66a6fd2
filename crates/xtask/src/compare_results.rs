//! `cargo xtask compare-results`: two builds of the program put out the same, but for words that were renamed.

mod commands;
mod compare;
mod execute;
mod json;
mod words;

use std::collections::BTreeMap;
use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};

use self::compare::{Compared, compare};
use self::execute::{CommandLine, Program};
use self::words::{Used, Words};
use crate::repository::Repository;

pub(crate) const HELP: &str = "\
usage: cargo run --release -p warpbound-xtask -- compare-results --before PATH [--after PATH] [--words FILE]
           [--output FOLDER] [--only SUBSTRING] [--quick] [--list] [--record]
           [--keep-after] [--jobs N]

Runs two builds of warpbound on the same command lines and compares standard output, standard error, exit codes and
written files, to show that a change of the sources changed no result. The command lines look at, bound, audit and run
all kernels of kernels/ with all launches on all machines, and give unusable inputs; about 20 minutes on two cores for
each build. One comparison at a time runs in a checkout.

Two checks, independent of each other:
  words     Texts are equal after each word of the earlier one is renamed as FILE says. Columns and line breaks may
            move in blocks of lines (up to a blank line) in which a word was renamed. Every key and value of a JSON
            document is in the later one, in the same order, words in its strings renamed; new keys are counted.
  numbers   The runs of digits of a text, in order, are equal without any renaming; of JSON, those of all values and
            keys but new ones.

Prints each difference with its command line, then the counts; fails if there is a difference.

  --before PATH      the earlier build
  --after PATH       the later build (target/release/warpbound)
  --words FILE       lines `old => new`; lines that begin with # are comments (crates/xtask/renamed_words.txt)
  --output FOLDER    keep there what the earlier build puts out, and take it from there the next time. It is kept for
                     the program's bytes, the command line and the contents of the files that this names
  --keep-after       keep there what the later build puts out as well: to compare again with other words is quick then
  --only SUBSTRING   only command lines with this in them
  --quick            one in 23 command lines of each kind, always the same ones
  --list             only print the command lines
  --record           only run the earlier build and keep in FOLDER what it puts out
  --jobs N           processes at a time (one for each core)";

/// Differences that are printed.
const SHOWN: usize = 60;

/// Control sequence that clears a line of a terminal.
const CLEAR: &str = "\r\x1b[K";

/// Options of the command line.
struct Options {
    before: PathBuf,
    after: PathBuf,
    words: PathBuf,
    output: Option<PathBuf>,
    only: Option<String>,
    quick: bool,
    list: bool,
    record: bool,
    keep_after: bool,
    jobs: usize,
}

pub(crate) fn run(repository: &Repository, arguments: &[String]) -> anyhow::Result<()> {
    let options = Options::parse(repository, arguments)?;
    let root = repository.root();
    let name = options.words.display().to_string();
    let text = std::fs::read_to_string(&options.words)
        .with_context(|| format!("cannot read the list of renamed words {name}"))?;
    let words = Words::parse(&name, &text)?;
    let before = Program::open(&options.before, root, options.output.as_deref())?;
    let mut lines = commands::all(repository, &before)?;
    if options.quick {
        lines = commands::sample(lines);
    }
    if let Some(part) = &options.only {
        lines.retain(|line| line.show().contains(part.as_str()));
    }
    if lines.is_empty() {
        bail!("no command line is left to compare; `compare-results --list` prints all");
    }
    if options.list {
        let mut out = std::io::stdout().lock();
        for line in &lines {
            writeln!(out, "{}", line.show()).context("cannot write the list")?;
        }
        return Ok(());
    }
    let after = match options.record {
        true => None,
        false => {
            let cache = options.output.as_deref().filter(|_| options.keep_after);
            Some(Program::open(&options.after, root, cache)?)
        }
    };
    if after
        .as_ref()
        .is_some_and(|after| after.digest == before.digest)
    {
        eprintln!("note: --before and --after are the same program");
    }
    let begin = Instant::now();
    let total = compare_all(&lines, &before, after.as_ref(), &words, options.jobs)?;
    execute::remove_folders(root);
    if options.record {
        println!(
            "{} command lines are recorded, {} were already",
            lines.len(),
            total.from_cache
        );
        return Ok(());
    }
    total.print(&lines, &words, begin.elapsed());
    match total.count(|one| one.differs()) {
        0 => Ok(()),
        count => bail!(
            "{count} of {} command lines put out something else; a word that was renamed on purpose belongs into {name}",
            lines.len()
        ),
    }
}

impl Options {
    fn parse(repository: &Repository, arguments: &[String]) -> anyhow::Result<Options> {
        let root = repository.root();
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let mut before = None;
        let mut options = Options {
            before: PathBuf::new(),
            after: root.join("target/release/warpbound"),
            words: root.join("crates/xtask/renamed_words.txt"),
            output: None,
            only: None,
            quick: false,
            list: false,
            record: false,
            keep_after: false,
            jobs: cores,
        };
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            let mut value = || {
                rest.next()
                    .with_context(|| format!("{argument} without a value"))
            };
            match argument.as_str() {
                "--before" => before = Some(PathBuf::from(value()?)),
                "--after" => options.after = PathBuf::from(value()?),
                "--words" => options.words = PathBuf::from(value()?),
                "--output" => options.output = Some(std::path::absolute(value()?)?),
                "--only" => options.only = Some(value()?.clone()),
                "--quick" => options.quick = true,
                "--list" => options.list = true,
                "--record" => options.record = true,
                "--keep-after" => options.keep_after = true,
                "--jobs" => {
                    let jobs = value()?
                        .parse()
                        .ok()
                        .filter(|jobs| (1..=256).contains(jobs));
                    options.jobs = jobs.context("--jobs needs a number from 1 to 256")?;
                }
                other => {
                    bail!("compare-results does not know {other:?}; `--help` lists its options")
                }
            }
        }
        options.before =
            before.context("compare-results needs --before PATH, a build to compare with")?;
        if options.output.is_none() && (options.record || options.keep_after) {
            bail!("--record and --keep-after need --output FOLDER, the folder to keep outputs in");
        }
        Ok(options)
    }
}

/// Results of all comparisons.
#[derive(Default)]
struct Total {
    /// By number of the command line.
    done: BTreeMap<usize, Compared>,
    from_cache: usize,
    used: Used,
    error: Option<anyhow::Error>,
}

/// Compares both programs on all command lines, `jobs` at a time; without `after`, only runs `before`.
fn compare_all(
    lines: &[CommandLine],
    before: &Program,
    after: Option<&Program>,
    words: &Words,
    jobs: usize,
) -> anyhow::Result<Total> {
    let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    let total = Mutex::new(Total::default());
    let progress = Progress::new(lines.len());
    let work = || {
        while !failed.load(Ordering::Relaxed) {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(line) = lines.get(index) else {
                return;
            };
            let one = compare_one(line, before, after, words);
            let mut total = total.lock().unwrap_or_else(PoisonError::into_inner);
            match one {
                Ok((compared, cached, used)) => {
                    total.done.insert(index, compared);
                    total.from_cache += usize::from(cached);
                    total.used.extend(used);
                }
                Err(error) => {
                    failed.store(true, Ordering::Relaxed);
                    let error = error.context(line.show());
                    total.error.get_or_insert(error);
                }
            }
            progress.tell(&total);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(work);
        }
    });
    progress.end();
    let mut total = total.into_inner().unwrap_or_else(PoisonError::into_inner);
    match total.error.take() {
        Some(error) => Err(error),
        None => Ok(total),
    }
}

fn compare_one(
    line: &CommandLine,
    before: &Program,
    after: Option<&Program>,
    words: &Words,
) -> anyhow::Result<(Compared, bool, Used)> {
    let (old, cached) = before.output(line)?;
    let mut used = Used::new();
    let Some(after) = after else {
        return Ok((Compared::default(), cached, used));
    };
    let (new, _) = after.output(line)?;
    let compared = compare(&old, &new, words, &mut used);
    Ok((compared, cached, used))
}

/// Line on a terminal with the number of comparisons done.
struct Progress {
    all: usize,
    begin: Instant,
    terminal: bool,
    reported: Mutex<Duration>,
}

impl Progress {
    fn new(all: usize) -> Self {
        Progress {
            all,
            begin: Instant::now(),
            terminal: std::io::stderr().is_terminal(),
            reported: Mutex::default(),
        }
    }

    fn tell(&self, total: &Total) {
        let mut reported = self.reported.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.begin.elapsed();
        if self.terminal && now >= *reported + Duration::from_secs(1) {
            *reported = now;
            let different = total.count(Compared::differs);
            eprint!(
                "{CLEAR}{} of {}, {different} different",
                total.done.len(),
                self.all
            );
        }
    }

    fn end(&self) {
        if self.terminal {
            eprint!("{CLEAR}");
        }
    }
}

impl Compared {
    fn differs(&self) -> bool {
        !self.differences.is_empty() || !self.number_differences.is_empty()
    }
}

impl Total {
    fn count(&self, of: impl Fn(&Compared) -> bool) -> usize {
        self.done.values().filter(|one| of(one)).count()
    }

    /// Prints the differences and the counts.
    fn print(&self, lines: &[CommandLine], words: &Words, time: Duration) {
        let mut shown = 0;
        for (&index, one) in self.done.iter().filter(|(_, one)| one.differs()) {
            shown += 1;
            if shown > SHOWN {
                continue;
            }
            println!("{}", lines[index].show());
            for difference in &one.differences {
                println!("  words: {difference}");
            }
            for difference in &one.number_differences {
                println!("  numbers: {difference}");
            }
        }
        if shown > SHOWN {
            println!(
                "and {} more command lines; --only SUBSTRING shows others",
                shown - SHOWN
            );
        }
        let mut extra: BTreeMap<&str, usize> = BTreeMap::new();
        for one in self.done.values() {
            for (key, count) in &one.extra {
                *extra.entry(key.as_str()).or_default() += count;
            }
        }
        for (key, count) in &extra {
            println!("only after: JSON key {key}, {count} times");
        }
        let unused = words.others(&self.used);
        if !unused.is_empty() {
            println!(
                "renamed words that no differing output has: {}",
                unused.join(", ")
            );
        }
        let numbers: usize = self.done.values().map(|one| one.numbers).sum();
        let equal = self.count(|one| one.equal && !one.differs());
        let renamed = self.count(|one| !one.equal && !one.differs());
        println!(
            "{} command lines compared ({} of the earlier build from the cache) in {} s",
            self.done.len(),
            self.from_cache,
            time.as_secs()
        );
        println!("  equal, all bytes: {equal}");
        println!(
            "  equal after renaming words: {renamed}, {} of them laid out otherwise, {} with new JSON keys",
            self.count(|one| one.layout && !one.differs()),
            self.count(|one| !one.extra.is_empty() && !one.differs()),
        );
        println!("  different: {}", self.count(Compared::differs));
        println!(
            "    by words: {}; by numbers, without the list of words: {} ({numbers} numbers compared)",
            self.count(|one| !one.differences.is_empty()),
            self.count(|one| !one.number_differences.is_empty())
        );
    }
}
