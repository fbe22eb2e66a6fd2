//! Bound of a launch set in cycles: the sum of the bounds of its launches, which run one after the other.
//!
//! For example, a set that runs a launch with a bound of 5000 cycles 10 times has a bound of 50 000 cycles (SOUNDNESS
//! 20.7).

use std::sync::Arc;

use crate::bound::bound;
use warpbound_base::{Diagnostic, Named};
use warpbound_launch::{LaunchFile, LaunchSet, SetContents, SetLaunch};
use warpbound_load::Kernel;
use warpbound_report::BoundAssumption;
use warpbound_report::set_bound::{SetBoundReport, SetLaunchBound};
use warpbound_runs::runs::set::kernels_of_set;

use crate::{cycles::CycleOptions, cycles::slowest, cycles::times};
use warpbound_query::{BoundOptions, ProfiledLaunch, Session, StatedLaunches};
use warpbound_query::{Contents, CycleQuery, TimeScope};

/// Maximum number of executions of one launch with different sizes or parameters.
const MOST_ROUNDS: u64 = 4096;

/// Bounds the launches of a set in cycles, whole grids one after the other, each for any contents of its buffers and
/// from the caches that the options state. `options` ask for cycles.
///
/// # Errors
///
/// The set has streams, whose launches may run at the same time; the options ask for another part of a launch; or a
/// kernel is not in the file.
pub fn bound_set(
    session: &Session,
    set: &LaunchSet,
    options: &BoundOptions,
) -> Result<SetBoundReport, Diagnostic> {
    let here = |why: Diagnostic| why.in_file(set.file.as_str());
    let Some(query) = &options.cycles else {
        return Err(here(Diagnostic::new("a launch set is bounded in cycles")));
    };
    if query.scope.is_some_and(|scope| scope != TimeScope::Grid) {
        let why = Diagnostic::new("a launch set is bounded in whole grids");
        return Err(here(why.hint("leave --scope out")));
    }
    if let Some(launch) = set.launches.iter().find(|launch| launch.stream.is_some()) {
        let why = Diagnostic::new(format!(
            "launch {} is in a stream: launches of different streams may run at the same time, and bounds are for \
                 launches that have the GPU for themselves",
            launch.name
        ));
        let hint = "without `stream`, the launches of the set are bounded one after the other";
        return Err(here(why.hint(hint)));
    }
    let cycles = CycleQuery {
        scope: Some(TimeScope::Grid),
        ..query.clone()
    };
    let kernels = kernels_of_set(session, set)?;
    let mut bounds = SetBounds {
        session,
        options: BoundOptions {
            cycles: Some(cycles.clone()),
            ..options.clone()
        },
        contents: SetContents::of(set),
        assumptions: Vec::new(),
    };
    let mut launches = Vec::new();
    for repetition in &set.repetitions {
        let range = repetition.launches.clone();
        let of_set = set.launches.get(range.clone()).into_iter().flatten();
        for (launch, kernel) in of_set.zip(kernels.get(range).into_iter().flatten()) {
            launches.push(bounds.launch(launch, kernel, repetition.rounds)?);
        }
    }
    let mut sums = launches.iter().map(|launch| launch.sum);
    // One launch without a bound leaves the set without one.
    let bound = sums.try_fold(0u64, |sum, own| sum.checked_add(own?));
    let machine = CycleOptions::of(&cycles, session)
        .ok()
        .map(|options| options.machine);
    let times = match (&machine, bound) {
        (Some(machine), Some(cycles)) => times(machine, cycles),
        _ => Vec::new(),
    };
    let mut assumptions = bounds.assumptions;
    assumptions.push(BoundAssumption {
            id: "clean-caches",
            text: "at the start of each launch the L2 cache holds no data that still has to be written to DRAM".to_owned(),
        });
    assumptions.push(BoundAssumption {
            id: "one-after-the-other",
            text: "each launch of the set starts after the one before it has ended; the time of the host between them is \
                   not counted"
                .to_owned(),
        });
    Ok(SetBoundReport {
        schema: SetBoundReport::SCHEMA,
        file: session.file.clone(),
        set: set.file.clone(),
        machine: machine.as_ref().map(|machine| machine.name.clone()),
        scope: TimeScope::Grid.name(),
        schedulers: cycles.schedulers.name(),
        caches: cycles.caches.name(),
        launches,
        bound,
        milliseconds: slowest(&times),
        times,
        assumptions,
    })
}

/// Bounds of the launches of a set.
struct SetBounds<'a> {
    session: &'a Session,
    options: BoundOptions,
    contents: SetContents,
    /// Assumptions of all bounds, each once.
    assumptions: Vec<BoundAssumption>,
}

impl SetBounds<'_> {
    /// Bounds all executions of a launch. Executions with the same size and parameters have the same bound.
    fn launch(
        &mut self,
        launch: &SetLaunch,
        kernel: &Kernel,
        rounds: u64,
    ) -> Result<SetLaunchBound, Diagnostic> {
        let mut found = SetLaunchBound {
            name: launch.name.clone(),
            kernel: kernel.demangled().to_string(),
            rounds,
            bound: Some(0),
            sum: Some(0),
            reason: None,
        };
        let in_round = |round| self.contents.launch(launch, round);
        // Sizes and parameters change linearly from round to round, so the first and the last round show whether any
        // differ.
        let differs = rounds > 1 && in_round(0) != in_round(rounds - 1);
        let (computed, times) = match differs {
            false => (1.min(rounds), rounds),
            true => (rounds, 1),
        };
        if computed > MOST_ROUNDS {
            return Ok(SetLaunchBound {
                bound: None,
                sum: None,
                reason: Some(format!(
                    "its {rounds} executions have different sizes or parameters; at most {MOST_ROUNDS} are bounded"
                )),
                ..found
            });
        }
        for round in 0..computed {
            let file = self.contents.launch(launch, round);
            match self.execution(kernel, file)? {
                Ok(cycles) => {
                    found.bound = found.bound.max(Some(cycles));
                    let own = cycles.checked_mul(times);
                    found.sum = found.sum.zip(own).and_then(|(a, b)| a.checked_add(b));
                }
                Err(why) => {
                    (found.bound, found.sum) = (None, None);
                    found.reason = Some(why);
                    break;
                }
            }
        }
        Ok(found)
    }

    /// Bounds one execution. The inner error is the reason why it has no bound.
    fn execution(
        &mut self,
        kernel: &Kernel,
        file: LaunchFile,
    ) -> Result<Result<u64, String>, Diagnostic> {
        let options = BoundOptions {
            launches: StatedLaunches {
                file: Some(Arc::new(file.clone())),
                ..StatedLaunches::default()
            },
            profiled_launch: Some(ProfiledLaunch {
                file,
                // Earlier launches of the set may have written the buffers.
                contents: Contents::Any,
            }),
            ..self.options.clone()
        };
        let report = bound(self.session, kernel, &options)?;
        let cycles = report.cycles.as_ref();
        let why = |reason: Option<&String>| {
            Err(reason.map_or("no bound was computed".to_owned(), String::clone))
        };
        let Some(cycles) = cycles else {
            return Ok(why(None));
        };
        for assumption in report.assumptions.iter().chain(&cycles.assumptions) {
            // These assumptions restate one launch, and the set has many.
            let is_of_launch = assumption.id == "launch-range" || assumption.id == "lanes";
            if !is_of_launch && !self.assumptions.iter().any(|own| own.id == assumption.id) {
                self.assumptions.push(assumption.clone());
            }
        }
        Ok(cycles.bound.map_or_else(|| why(cycles.reason.as_ref()), Ok))
    }
}
