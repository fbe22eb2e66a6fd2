//! X2 and X4: the programs of the table with 1 to 3 reserve slots against no splitting, without merging and with it.

use warpbound_query::Session;
use warpbound_testkit::kernels::{HOST_PROGRAMS, HostProgram};

use super::chart::{Chart, ChartSeries};
use super::measurements::{Numbers, RunTask};
use super::runs::{RunConfiguration, RunSplitting, program_run, session};
use super::{Bench, ExperimentOutcome, MACHINES};

/// Names of the sizes.
const SIZES: [&str; 3] = ["small", "medium", "large"];
/// Numbers of reserve slots.
const SPLITS: [u32; 3] = [1, 2, 3];

/// A program with an input, on a machine.
#[derive(Clone, Copy)]
struct ProgramCase {
    program: &'static HostProgram,
    input: usize,
    machine: &'static str,
}

impl ProgramCase {
    /// Cases on a machine, of a size after the other.
    fn all(bench: &Bench<'_>, machine: &'static str) -> Vec<ProgramCase> {
        let sizes = if bench.is_quick { 0..1 } else { 0..SIZES.len() };
        let of_size = |input| {
            let programs = HOST_PROGRAMS.iter();
            programs.map(move |program| ProgramCase {
                program,
                input,
                machine,
            })
        };
        sizes.flat_map(of_size).collect()
    }

    fn configuration(self, splits: u32, merges: bool) -> RunConfiguration {
        let splitting = RunSplitting {
            merges: merges && splits > 0,
            ..RunSplitting::parallel(splits)
        };
        RunConfiguration::typical(self.machine, splitting)
    }

    fn key(self, splits: u32, merges: bool) -> String {
        let configuration = self.configuration(splits, merges).key();
        format!(
            "{} {} {configuration}",
            self.program.name, SIZES[self.input]
        )
    }

    /// Speedups for each number of reserve slots; the error says why there is none.
    fn speedups(self, bench: &Bench<'_>, merges: bool) -> Result<[f64; 3], String> {
        let cycles = |run: &Numbers| run.get("cycles").map_or(f64::NAN, |&cycles| cycles as f64);
        let whole = bench.measurements.get(&self.key(0, false))?;
        let mut speedups = [f64::NAN; 3];
        for (speedup, splits) in speedups.iter_mut().zip(SPLITS) {
            let run = bench.measurements.get(&self.key(splits, merges))?;
            if run.get("results") != whole.get("results") {
                return Err(format!("other results with {splits} reserve slots"));
            }
            *speedup = cycles(&whole) / cycles(&run);
        }
        Ok(speedups)
    }
}

/// Makes the runs of all cases, without splitting and with it.
fn measure(bench: &Bench<'_>, machine: &'static str, merges: bool) -> anyhow::Result<()> {
    let mut sessions: Vec<Session> = Vec::new();
    for program in HOST_PROGRAMS {
        sessions.push(session(bench.repository, program.source)?);
    }
    let what = if merges { "X4" } else { "X2" };
    let what = format!("{what} on {machine}");
    let mut cases = ProgramCase::all(bench, machine);
    for slots in [&[0][..], &SPLITS[..]] {
        let mut tasks = Vec::new();
        for &case in &cases {
            let mut programs = HOST_PROGRAMS.iter().zip(&sessions);
            let found = programs.find(|(program, _)| program.name == case.program.name);
            let Some((_, session)) = found else { continue };
            tasks.extend(slots.iter().map(|&splits| {
                let configuration = case.configuration(splits, merges);
                RunTask {
                    key: case.key(splits, merges),
                    run: Box::new(move || {
                        program_run(session, case.program, case.input, &configuration)
                    }),
                }
            }));
        }
        bench.measurements.make(&what, &tasks)?;
        // What does not finish without splitting is not run with it.
        cases.retain(|case| bench.measurements.get(&case.key(0, false)).is_ok());
    }
    Ok(())
}

/// Speedups of the cases of a machine, with their means.
struct Speedups {
    /// Speedups for 1, 2 and 3 reserve slots, or why there are none.
    cases: Vec<(ProgramCase, Result<[f64; 3], String>)>,
}

impl Speedups {
    fn of(bench: &Bench<'_>, machine: &'static str, merges: bool) -> Speedups {
        let cases = ProgramCase::all(bench, machine).into_iter();
        Speedups {
            cases: cases
                .map(|case| (case, case.speedups(bench, merges)))
                .collect(),
        }
    }

    /// All speedups with their cases.
    fn values(&self) -> impl Iterator<Item = (ProgramCase, [f64; 3])> {
        let found = |(case, speedups): &(ProgramCase, Result<[f64; 3], String>)| {
            Some((*case, *speedups.as_ref().ok()?))
        };
        self.cases.iter().filter_map(found)
    }

    /// Arithmetic mean over cases and numbers of slots.
    fn mean(&self) -> f64 {
        mean(self.values().flat_map(|(_, speedups)| speedups))
    }

    /// Best speedup of each program over its sizes and numbers of slots, best first.
    fn ranking(&self) -> Vec<(&'static str, f64)> {
        let mut best: Vec<(&'static str, f64)> = Vec::new();
        for (case, speedups) in self.values() {
            let here = speedups.into_iter().fold(f64::MIN, f64::max);
            match best.iter_mut().find(|(name, _)| *name == case.program.name) {
                Some((_, known)) => *known = known.max(here),
                None => best.push((case.program.name, here)),
            }
        }
        best.sort_by(|a, b| b.1.total_cmp(&a.1));
        best
    }

    /// Programs and sizes with another result than without splitting.
    fn different(&self) -> usize {
        let differs = |result: &Result<[f64; 3], String>| {
            result
                .as_ref()
                .is_err_and(|why| why.starts_with("other results"))
        };
        self.cases
            .iter()
            .filter(|(_, result)| differs(result))
            .count()
    }

    fn table(&self, bench: &Bench<'_>, merges: bool, outcome: &mut ExperimentOutcome) {
        outcome.line(
            "  program         size    S=1    S=2    S=3    splits taken at S=3, cycles at S=0",
        );
        for (case, speedups) in &self.cases {
            let (name, size) = (case.program.name, SIZES[case.input]);
            match speedups {
                Ok([one, two, three]) => {
                    let number = |splits, name| {
                        let key = case.key(splits, merges && splits > 0);
                        bench.measurements.number(&key, name).unwrap_or(0)
                    };
                    outcome.line(format!(
                        "  {name:15} {size:6} {one:6.3} {two:6.3} {three:6.3}    {} {}",
                        number(3, "splits"),
                        number(0, "cycles")
                    ));
                }
                Err(why) => outcome.line(format!("  {name:15} {size:6} none: {why}")),
            }
        }
    }

    /// Plot of the speedups with a number of reserve slots, as in Figure 6.1.
    fn chart(&self, title: &str, slots: usize) -> Chart {
        let of = |program: &HostProgram, input: usize| {
            let mut values = self.values();
            let found =
                values.find(|(case, _)| case.program.name == program.name && case.input == input);
            found.map(|(_, speedups)| speedups[slots])
        };
        let series = |(input, name): (usize, &&str)| ChartSeries {
            name: (*name).to_owned(),
            values: HOST_PROGRAMS
                .iter()
                .map(|program| of(program, input))
                .collect(),
        };
        Chart {
            head: vec![
                title.to_owned(),
                format!(
                    "S = {}; the axis begins at 0.5; a missing bar did not finish",
                    SPLITS[slots]
                ),
            ],
            axis: "speedup".to_owned(),
            categories: HOST_PROGRAMS
                .iter()
                .map(|program| program.name.to_owned())
                .collect(),
            series: SIZES.iter().enumerate().map(series).collect(),
            is_lines: false,
            level: Some((1.0, 0.5)),
        }
    }
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0), |(sum, count), value| (sum + value, count + 1));
    sum / f64::from(count)
}

/// X2.
pub(super) fn speedup(bench: &Bench<'_>) -> anyhow::Result<ExperimentOutcome> {
    let mut outcome = ExperimentOutcome::default();
    for machine in machines(bench) {
        measure(bench, machine, false)?;
        let speedups = Speedups::of(bench, machine, false);
        outcome.line(format!(
            "{machine}, marks at all sites, parallel pipelines, no merging:"
        ));
        speedups.table(bench, false, &mut outcome);
        for (slots, splits) in SPLITS.iter().enumerate() {
            let title = format!("Speedup by splitting on {machine} (as Figure 6.1)");
            let chart = speedups.chart(&title, slots);
            bench.draw(&format!("x2-{machine}-s{splits}"), &chart)?;
        }
        let ranking = speedups.ranking();
        let best = ranking.first().copied().unwrap_or(("none", f64::NAN));
        outcome.line(format!(
            "  mean {:.3} (thesis: 1.02), best {:.3} by {} (thesis: 1.18 by nw)",
            speedups.mean(),
            best.1,
            best.0
        ));
        outcome.require(
            format!("{machine}: splitting changes no result"),
            speedups.different() == 0,
        );
        if machine != MACHINES[0] {
            continue;
        }
        let mean = speedups.mean();
        outcome.expect(
            format!("mean {mean:.3} in 0.98 to 1.10"),
            (0.98..=1.10).contains(&mean),
        );
        let place = ranking.iter().position(|(name, _)| *name == "nw");
        outcome.expect(
            "nw is among the best three",
            place.is_some_and(|place| place < 3),
        );
        let nw = place
            .and_then(|place| ranking.get(place))
            .map_or(f64::NAN, |(_, best)| *best);
        outcome.expect(format!("nw {nw:.3} is at least 1.10"), nw >= 1.10);
        let all: Vec<f64> = speedups
            .values()
            .flat_map(|(_, speedups)| speedups)
            .collect();
        let near = all
            .iter()
            .filter(|speedup| (**speedup - 1.0).abs() <= 0.03)
            .count();
        outcome.expect(
            format!("{near} of {} speedups within 3 % of 1: most", all.len()),
            2 * near > all.len(),
        );
    }
    Ok(outcome)
}

/// X4.
pub(super) fn merging(bench: &Bench<'_>) -> anyhow::Result<ExperimentOutcome> {
    let mut outcome = ExperimentOutcome::default();
    for machine in machines(bench) {
        measure(bench, machine, false)?;
        measure(bench, machine, true)?;
        let without = Speedups::of(bench, machine, false);
        let with = Speedups::of(bench, machine, true);
        outcome.line(format!("{machine}, merging at joins:"));
        with.table(bench, true, &mut outcome);
        for (slots, splits) in SPLITS.iter().enumerate() {
            let title = format!("Speedup by splitting and merging on {machine}");
            let chart = with.chart(&title, slots);
            bench.draw(&format!("x4-{machine}-s{splits}"), &chart)?;
        }
        let (mean, thesis) = (with.mean(), without.mean());
        outcome.line(format!("  mean {mean:.3}, without merging {thesis:.3}"));
        outcome.require(
            format!("{machine}: merging changes no result"),
            with.different() == 0,
        );
        outcome.expect(
            format!("{machine}: mean with merging {mean:.3} is at least {thesis:.3} without"),
            mean >= thesis,
        );
        let slower = with
            .values()
            .filter(|(_, speedups)| speedups.iter().any(|&s| s < 0.98));
        let slower: Vec<String> = slower
            .map(|(case, _)| format!("{} {}", case.program.name, SIZES[case.input]))
            .collect();
        outcome.expect(
            format!(
                "{machine}: no program is slower than without splitting by more than 2 % ({})",
                slower.join(", ")
            ),
            slower.is_empty(),
        );
    }
    Ok(outcome)
}

fn machines(bench: &Bench<'_>) -> impl Iterator<Item = &'static str> {
    let count = if bench.is_quick { 1 } else { MACHINES.len() };
    MACHINES.into_iter().take(count)
}
