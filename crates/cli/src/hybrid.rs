//! `warpbound hybrid`.

use warpbound_base::Diagnostic;
use warpbound_driver::{HybridOptions, Kernel, LaunchFile, Session, SplitOptions, TimedOptions};
use warpbound_report::{HybridReport, to_json};

use crate::arguments::{GraphFormat, HybridArguments, SplitMerge};
use crate::output::Output;
use crate::progress::Progress;
use crate::run::split_marks;
use crate::{CommandError, NO_BOUND, VIOLATED, facts_options, input, launched_session, print};

/// Estimates the time of a kernel from observed times of its parts; returns the exit code.
pub(crate) fn hybrid(arguments: &HybridArguments) -> Result<u8, CommandError> {
    let HybridArguments {
        input,
        launch,
        kernel,
        machine,
        facts,
        splits,
        marks,
        merge,
        contents,
        parallel_only,
        selection,
        scheduler,
        max_instructions,
        format,
        output,
    } = arguments;
    let library = input::library(&input.file)?;
    if library.is_text() {
        let message = "a hybrid analysis is for GPU kernels, this is mini-SIMT";
        return Err(Diagnostic::new(message).in_file(library.name()).into());
    }
    let facts = facts_options(&library, facts)?;
    let launches = launch
        .iter()
        .map(|path| input::grid(path))
        .collect::<Result<Vec<_>, _>>()?;
    let Some(target) = launches.first() else {
        return Err(CommandError::Usage("--launch is missing".to_owned()));
    };
    let name = kernel.as_deref();
    let session = launched_session(&library, input, name, target)?;
    let kernel = session.launched_kernel(name, target.kernel.as_deref())?;
    let machine = match machine {
        Some(name) => input::gpu_model(name)?,
        None => session.own_gpu_model()?,
    };
    let options = HybridOptions {
        splits: splits.clone(),
        contents: *contents,
        serialised: !parallel_only,
        facts: facts.facts,
        loop_default: facts.loop_default,
        ..HybridOptions::new(TimedOptions {
            scheduler: *scheduler,
            selection: selection.unwrap_or_default(),
            splitting: SplitOptions {
                marks: split_marks(marks.as_deref())?,
                merge: matches!(merge, Some(SplitMerge::Join)),
                ..SplitOptions::default()
            },
            max_instructions: *max_instructions,
            ..TimedOptions::new(machine)
        })
    };
    if session.is_nvidia() {
        return of_warps(arguments, &session, kernel, &launches, &options);
    }
    let out = Output::open(output.output.as_deref())?;
    let mut progress = Progress::new();
    let show = |done, all| progress.runs(done, all);
    let report = session.hybrid(kernel, &launches, &options, show);
    progress.clear();
    let report = report?;
    let text = match format {
        GraphFormat::Text => report.text(),
        GraphFormat::Json => to_json(&report),
        GraphFormat::Dot => report.dot(),
        GraphFormat::Svg => report.svg(),
    };
    print(out, &text)?;
    Ok(code(&report))
}

/// Estimates the time of a warp of an NVIDIA GPU; returns the exit code.
fn of_warps(
    arguments: &HybridArguments,
    session: &Session,
    kernel: &Kernel,
    launches: &[LaunchFile],
    options: &HybridOptions,
) -> Result<u8, CommandError> {
    let of_waves = [
        ("--marks", arguments.marks.is_some()),
        ("--merge", arguments.merge.is_some()),
        ("--contents", arguments.contents > 0),
        ("--parallel-only", arguments.parallel_only),
    ];
    if let Some((option, _)) = of_waves.iter().find(|(_, given)| *given) {
        let message = format!("{option} is for waves of GCN3, and this is code for an NVIDIA GPU");
        return Err(Diagnostic::new(message).in_file(session.name()).into());
    }
    let out = Output::open(arguments.output.output.as_deref())?;
    let mut progress = Progress::new();
    let show = |done, all| progress.runs(done, all);
    let report = session.hybrid_of_warps(kernel, launches, options, show);
    progress.clear();
    let report = report?;
    let text = match arguments.format {
        GraphFormat::Text => report.text(),
        GraphFormat::Json => to_json(&report),
        GraphFormat::Dot | GraphFormat::Svg => {
            let message = "dot and svg draw the points of waves of GCN3";
            return Err(Diagnostic::new(message).in_file(session.name()).into());
        }
    };
    print(out, &text)?;
    if report.is_exceeded() {
        Ok(VIOLATED)
    } else if report.estimate.is_none() {
        Ok(NO_BOUND)
    } else {
        Ok(0)
    }
}

/// Returns the exit code: a run that exceeds its estimate has priority over a missing estimate.
fn code(report: &HybridReport) -> u8 {
    if report.exceeded().is_some() {
        VIOLATED
    } else if report.splits.iter().any(|of| of.parallel.is_none()) {
        NO_BOUND
    } else {
        0
    }
}
