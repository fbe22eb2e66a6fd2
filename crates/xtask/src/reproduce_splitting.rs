//! `cargo xtask reproduce-splitting`: the experiments of `wavefront-splitting-2022`, and further ones.

mod batches;
mod chart;
mod choice;
mod estimates;
mod kernels;
mod measurements;
mod programs;
mod runs;
mod synthetic;

#[cfg(test)]
mod tests;

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, bail};

use crate::repository::{Repository, files_with_extension};
use chart::Chart;
use measurements::Measurements;

pub(crate) const HELP: &str = "\
cargo xtask reproduce-splitting [--only X1,X3] [--quick] [--out DIR]

Repeats the experiments X1 to X8 of docs/wavefront-splitting.md on simulated compute units, prints each figure beside that
of the thesis where it states one, and writes a report and plots (SVG) into DIR, by default target/reproduce-splitting.
Results of single runs are kept there: an interrupted command goes on where it stopped, and a new build begins again.

  --only LIST   the experiments of these names
  --quick       few and small inputs: some minutes
  --out DIR     where the report, the plots and the results of runs go

Fails if a computed time is below an observed one where that must not be, or if splitting changes a result. Outcomes outside of the ranges
of the document are printed, and are no failures.
";

/// Surroundings of an experiment.
struct Bench<'a> {
    repository: &'a Repository,
    measurements: Measurements,
    out: PathBuf,
    /// Few and small inputs.
    is_quick: bool,
}

/// Machines of the experiments; the thesis uses the first.
const MACHINES: [&str; 2] = ["gem5-apu", "r9-nano"];

/// Outcome of an experiment.
#[derive(Default)]
struct ExperimentOutcome {
    /// Tables and remarks.
    text: String,
    /// Outcomes that were required or expected.
    checks: Vec<ExpectedOutcome>,
}

/// Something that an experiment was to show.
struct ExpectedOutcome {
    what: String,
    holds: bool,
    /// Whether it must hold: soundness and correctness. The others are ranges that were expected.
    is_required: bool,
}

/// An experiment.
struct Experiment {
    name: &'static str,
    title: &'static str,
    run: fn(&Bench<'_>) -> anyhow::Result<ExperimentOutcome>,
}

const EXPERIMENTS: &[Experiment] = &[
    Experiment {
        name: "X1",
        title: "Six nested levels of branches, 64 paths",
        run: synthetic::paths,
    },
    Experiment {
        name: "X2",
        title: "Speedup of fourteen programs by splitting",
        run: programs::speedup,
    },
    Experiment {
        name: "X3",
        title: "Hybrid times of nine kernels beside observed ones",
        run: kernels::hybrid,
    },
    Experiment {
        name: "X4",
        title: "Merging at joins",
        run: programs::merging,
    },
    Experiment {
        name: "X5",
        title: "Choice of sites",
        run: choice::choice,
    },
    Experiment {
        name: "X6",
        title: "A short branch before a long loop that reads memory",
        run: synthetic::tail,
    },
    Experiment {
        name: "X7",
        title: "Results of random programs",
        run: audit,
    },
    Experiment {
        name: "X8",
        title: "Batches of groups",
        run: batches::batches,
    },
];

pub(crate) fn run(repository: &Repository, arguments: &[String]) -> anyhow::Result<()> {
    let mut only: Option<Vec<String>> = None;
    let mut is_quick = false;
    let mut out = repository.root().join("target/reproduce-splitting");
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let mut value = || {
            rest.next()
                .with_context(|| format!("{argument} needs a value"))
        };
        match argument.as_str() {
            "--only" => only = Some(value()?.split(',').map(str::to_owned).collect()),
            "--quick" => is_quick = true,
            "--out" => out = PathBuf::from(value()?),
            other => bail!("no option is called {other:?}"),
        }
    }
    let chosen = chosen(only.as_deref())?;
    let bench = Bench {
        measurements: Measurements::open(&out, &inputs(repository)?)?,
        repository,
        out,
        is_quick,
    };
    let (mut report, mut failed) = (String::new(), 0);
    for experiment in chosen {
        let begin = Instant::now();
        let outcome = (experiment.run)(&bench).with_context(|| experiment.name)?;
        let seconds = begin.elapsed().as_secs();
        eprintln!("{}: {seconds} s", experiment.name);
        let text = outcome.write(experiment);
        print!("{text}");
        report += &text;
        failed += outcome.failures();
    }
    fs::write(bench.out.join("report.txt"), report).context("cannot write the report")?;
    match failed {
        0 => Ok(()),
        _ => bail!("{failed} required outcomes do not hold"),
    }
}

/// Returns the experiments of these names, or all.
fn chosen(only: Option<&[String]>) -> anyhow::Result<Vec<&'static Experiment>> {
    let Some(names) = only else {
        return Ok(EXPERIMENTS.iter().collect());
    };
    let find = |name: &String| {
        let mut all = EXPERIMENTS.iter();
        let found = all.find(|experiment| experiment.name.eq_ignore_ascii_case(name));
        found.with_context(|| format!("no experiment is called {name:?}"))
    };
    names.iter().map(find).collect()
}

/// Returns what runs depend on besides this program: the code objects.
fn inputs(repository: &Repository) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    for path in files_with_extension(&repository.built_kernels(), "co")? {
        bytes.extend(fs::read(path)?);
    }
    Ok(bytes)
}

/// X7: random programs with splits against the same without, by the audit.
fn audit(bench: &Bench<'_>) -> anyhow::Result<ExperimentOutcome> {
    let programs = if bench.is_quick { "100" } else { "10000" };
    let arguments = ["--splits".to_owned(), programs.to_owned()];
    let mut outcome = ExperimentOutcome::default();
    outcome.line(format!(
        "  cargo xtask audit --splits {programs}, whose output is above"
    ));
    let result = crate::audit::run(bench.repository, &arguments);
    if let Err(why) = &result {
        outcome.line(format!("  {why:#}"));
    }
    outcome.require(
        "splits, merges and their order change no result",
        result.is_ok(),
    );
    Ok(outcome)
}

impl Bench<'_> {
    /// Writes a plot.
    fn draw(&self, name: &str, chart: &Chart) -> anyhow::Result<()> {
        let path = self.out.join(format!("{name}.svg"));
        fs::write(&path, chart.svg()).with_context(|| format!("cannot write {}", path.display()))
    }
}

impl ExperimentOutcome {
    /// Adds a line of text.
    fn line(&mut self, line: impl AsRef<str>) {
        self.text += line.as_ref();
        self.text.push('\n');
    }

    /// Adds something that must hold.
    fn require(&mut self, what: impl Into<String>, holds: bool) {
        self.checks.push(ExpectedOutcome {
            what: what.into(),
            holds,
            is_required: true,
        });
    }

    /// Adds something that was expected.
    fn expect(&mut self, what: impl Into<String>, holds: bool) {
        self.checks.push(ExpectedOutcome {
            what: what.into(),
            holds,
            is_required: false,
        });
    }

    fn failures(&self) -> usize {
        let failed = |check: &&ExpectedOutcome| check.is_required && !check.holds;
        self.checks.iter().filter(failed).count()
    }

    /// Returns the outcome as text.
    fn write(&self, experiment: &Experiment) -> String {
        let mut text = format!(
            "{}: {}\n\n{}\n",
            experiment.name, experiment.title, self.text
        );
        for check in &self.checks {
            let verdict = match (check.holds, check.is_required) {
                (true, _) => "holds",
                (false, true) => "DOES NOT HOLD",
                (false, false) => "outside of the expected range",
            };
            let _ = writeln!(text, "  {}: {verdict}", check.what);
        }
        text.push('\n');
        text
    }
}
