//! `warpbound bound`.
//!
//! For example, `warpbound bound lib.so --shard 1/4 --format jsonl` writes a row for every fourth kernel. Each output
//! takes one kernel at a time, so a large library needs no memory for all bounds.

use warpbound_base::Diagnostic;
use warpbound_bounds::bounds;
use warpbound_query::LaunchSet;
use warpbound_query::{
    AskedImages, BoundOptions, CycleQuery, FormulaSymbols, Library, ProfiledLaunch, SplitMarks,
    SplitOptions, Unusable,
};
use warpbound_report::{BoundFolder, BoundWriter, KernelBound, LeftOutImages};
use warpbound_rows::{BoundRecord, ResultTable, RowWriter};

use crate::arguments::{
    BoundArguments, Cost, CycleArguments, LaunchArguments, OutputFormat, SplitMerge,
};
use crate::bound_set::bound_set;
use crate::common::{CommandError, NO_BOUND, UNUSABLE, VIOLATED};
use crate::common::{facts_options, left_out_code, print_diagnostic, weightier};
use crate::launches::{kernel_name, launch_options};
use crate::output::Output;
use crate::progress::Progress;
use crate::source_lines::SourceLines;
use crate::{pages, rows};
use warpbound_query::input;
use warpbound_query::input::Launches;

/// Maximum number of bytes of text that are spooled in memory until the table before them is complete. Beyond it, a
/// temporary file is used.
const SPOOLED: usize = 16 << 20;

/// Returns the machine and the caches of the bounds in cycles, if requested.
fn cycle_query(
    library: &Library,
    arguments: &BoundArguments,
) -> Result<Option<CycleQuery>, CommandError> {
    let CycleArguments {
        machine,
        caches,
        scope,
        schedulers,
        clock,
        limit,
        splits,
        pipelines,
        merge,
    } = &arguments.cycles;
    if arguments.cost != Cost::Cycles {
        let given = [
            ("--machine", machine.is_some()),
            ("--caches", caches.is_some()),
            ("--scope", scope.is_some()),
            ("--schedulers", schedulers.is_some()),
            ("--clock", clock.is_some()),
            ("--limit", limit.is_some()),
            ("--splits", splits.is_some()),
            ("--pipelines", pipelines.is_some()),
            ("--merge", merge.is_some()),
        ];
        return match given.iter().find(|(_, given)| *given) {
            Some((option, _)) => Err(CommandError::Usage(format!(
                "{option} is for --cost cycles"
            ))),
            None => Ok(None),
        };
    }
    if library.is_text() {
        let message = "--cost cycles is for GPU kernels, this is mini-SIMT";
        let refused = Diagnostic::new(message).in_file(library.name());
        let instead = "`warpbound cta` bounds the cycles of its blocks";
        return Err(refused.hint(instead).into());
    }
    Ok(Some(CycleQuery {
        machine: machine.as_deref().map(input::gpu_model).transpose()?,
        caches: caches.unwrap_or_default(),
        splitting: SplitOptions {
            splits: splits.unwrap_or(0),
            pipelines: pipelines.unwrap_or_default(),
            marks: SplitMarks::All,
            merge: matches!(merge, Some(SplitMerge::Join)),
        },
        scope: *scope,
        schedulers: schedulers.unwrap_or_default(),
        clock: *clock,
    }))
}

/// Returns the options of the bounds, without launches.
fn options_without_launch(
    library: &Library,
    arguments: &BoundArguments,
) -> Result<BoundOptions, CommandError> {
    Ok(BoundOptions {
        model: arguments.domains.model(),
        derive: !arguments.no_derive,
        reading: arguments.flow.into(),
        formula: FormulaSymbols::named(&arguments.formula),
        call_default: arguments.call_default,
        time_limit: arguments.time_limit,
        timing: arguments.timing,
        machine_code: arguments.machine_code
            // Source lines stand between instructions, and a page always shows them.
            || arguments.sources.is_some()
            || arguments.format == OutputFormat::Html,
        cycles: cycle_query(library, arguments)?,
        ..facts_options(library, &arguments.facts)?
    })
}

/// Returns the user's launch set, if the launch file is one.
fn launch_set(
    library: &Library,
    arguments: &BoundArguments,
) -> Result<Option<Box<LaunchSet>>, CommandError> {
    let LaunchArguments {
        launch,
        block,
        grid,
        params,
        ..
    } = &arguments.launch;
    let Some(file) = launch.as_ref().filter(|_| !library.is_text()) else {
        return Ok(None);
    };
    let Launches::Set(set) = input::launches(file)? else {
        return Ok(None);
    };
    let given = [
        ("--block", block.is_some()),
        ("--grid", grid.is_some()),
        ("--param", !params.is_empty()),
        ("--formula", !arguments.formula.is_empty()),
    ];
    match given.iter().find(|(_, given)| *given) {
        Some((option, _)) => Err(CommandError::Usage(format!(
            "{option} is for one launch, {} is a launch set",
            set.file
        ))),
        None => Ok(Some(set)),
    }
}

/// Returns the options of the bounds.
fn bound_options(
    library: &Library,
    arguments: &BoundArguments,
) -> Result<BoundOptions, CommandError> {
    let options = options_without_launch(library, arguments)?;
    let mut options = launch_options(library, &arguments.launch, options)?;
    options.profiled_launch = options.launches.only_file().map(|file| ProfiledLaunch {
        file: file.clone(),
        contents: arguments.contents.into(),
    });
    Ok(options)
}

/// Output of bounds.
enum BoundOutput<'a> {
    /// One file, or standard output.
    File(BoundWriter<Output>),
    /// A folder of pages.
    Folder(BoundFolder<'a>),
    /// Rows about a file.
    Rows(RowWriter<Output>, String),
}

impl<'a> BoundOutput<'a> {
    /// Opens the output of the arguments.
    fn open(arguments: &'a BoundArguments) -> Result<BoundOutput<'a>, CommandError> {
        let file = arguments.input.name();
        let output = arguments.output.output.as_deref();
        if arguments.format == OutputFormat::Html
            && let Some(folder) = pages::folder(output)
        {
            let pages = pages::page_writer(folder)?;
            return Ok(BoundOutput::Folder(BoundFolder::new(&file, pages)));
        }
        let format = match arguments.format.report_or_rows() {
            Ok(format) => format,
            Err(rows) => {
                let writer = rows::open(&arguments.output, rows, ResultTable::Bounds)?;
                return Ok(BoundOutput::Rows(writer, file));
            }
        };
        let out = Output::open(output)?;
        let writer = BoundWriter::new(out, format.into(), &file)
            .spooled(tempfile::spooled_tempfile(SPOOLED))
            .explained(arguments.explain);
        Ok(BoundOutput::File(writer))
    }

    /// Writes the images at a position of the query that were left out.
    fn leave_out(&mut self, position: u64, images: &LeftOutImages) -> std::io::Result<()> {
        match self {
            // A row for them as well, so that a join over many files shows that they have no bound.
            BoundOutput::Rows(writer, file) => {
                let record = BoundRecord {
                    position,
                    file,
                    kernel: Err(images),
                };
                return writer.row(record.cells());
            }
            BoundOutput::File(writer) => writer.leave_out(images),
            BoundOutput::Folder(folder) => folder.leave_out(images),
        }
        Ok(())
    }

    /// Writes the bound of the kernel at a position of the query.
    fn kernel(&mut self, position: u64, kernel: &KernelBound) -> std::io::Result<()> {
        match self {
            BoundOutput::Rows(writer, file) => {
                let record = BoundRecord {
                    position,
                    file,
                    kernel: Ok(kernel),
                };
                writer.row(record.cells())
            }
            BoundOutput::File(writer) => writer.kernel(kernel),
            BoundOutput::Folder(folder) => folder.kernel(kernel),
        }
    }

    fn finish(self) -> std::io::Result<()> {
        match self {
            BoundOutput::File(writer) => writer.finish()?.finish(),
            BoundOutput::Folder(folder) => folder.finish(),
            BoundOutput::Rows(writer, _) => writer.finish()?.finish(),
        }
    }
}

/// Bounds kernels. Returns the exit code.
pub(crate) fn bound(arguments: &BoundArguments) -> Result<u8, CommandError> {
    let BoundArguments {
        input,
        kernel,
        jobs,
        ..
    } = arguments;
    let library = input::library(&input.file)?;
    if let Some(set) = launch_set(&library, arguments)? {
        let options = options_without_launch(&library, arguments)?;
        return bound_set(&library, arguments, &set, &options);
    }
    let options = bound_options(&library, arguments)?;
    let limit = arguments.cycles.limit;
    let shard = arguments.shard.shard.unwrap_or_default();
    let kernel = kernel_name(kernel.as_deref(), &options);
    let images = crate::common::select(&library, input)?;
    library.check_launches(&images, kernel, &options.launches)?;
    let left_out = library.left_out(&input.selection(), kernel);
    let jobs = jobs.count();
    let mut report = BoundOutput::open(arguments)?;
    let mut progress = Progress::new();
    let (mut is_empty, mut code) = (true, 0);
    // With --kernel, an unreadable image is no error of the command, because another image may have the kernel.
    let image_code = match kernel {
        Some(_) => 0,
        None => UNUSABLE,
    };
    let mut diagnostics = Vec::new();
    let mut sources = arguments.sources.as_deref().map(SourceLines::new);
    let each = |position: u64, result: Result<KernelBound, Unusable>| {
        match result {
            Ok(mut kernel) => {
                is_empty = false;
                let image = kernel.image.and_then(|n| images.binary_search(&n).ok());
                progress.show(&kernel, image.unwrap_or(0), images.len());
                let cycles = kernel.cycles.as_ref();
                let is_without_cycles = cycles.is_some_and(|cycles| cycles.bound.is_none());
                if kernel.verdict.bound().is_none() || is_without_cycles {
                    code = weightier(code, NO_BOUND);
                }
                if let Some(over) = limit.and_then(|limit| limit.exceeded(&kernel)) {
                    code = weightier(code, VIOLATED);
                    diagnostics.push(over);
                }
                if let Some(sources) = &mut sources {
                    sources.add_to(&mut kernel);
                }
                report.kernel(position, &kernel)?;
            }
            Err(Unusable::Image(diagnostic)) => {
                code = weightier(code, image_code);
                diagnostics.push(diagnostic);
            }
            Err(Unusable::Kernel(diagnostic)) => {
                code = weightier(code, UNUSABLE);
                diagnostics.push(diagnostic);
            }
            Err(Unusable::LeftOut(images)) => report.leave_out(position, &images)?,
        }
        Ok(())
    };
    let asked = AskedImages {
        images: &images,
        left_out: &left_out,
    };
    let done: Result<(), CommandError> =
        bounds(&library, asked, kernel, &options, shard, jobs, each);
    // The progress line must be gone before diagnostics are printed.
    progress.clear();
    done?;
    // Any shard may be empty. Only the first one is not if there is a kernel at all, so it reports that there is
    // none.
    if is_empty && (shard.contains(0) || !diagnostics.is_empty()) {
        // It becomes the error of the command, so it must not be printed twice.
        let last = diagnostics.pop();
        diagnostics.iter().for_each(print_diagnostic);
        let nothing = || library.no_kernel(&images, kernel);
        return Err(last.unwrap_or_else(nothing).into());
    }
    report.finish()?;
    diagnostics.extend(sources.and_then(|sources| sources.missing()));
    diagnostics.iter().for_each(print_diagnostic);
    let is_text = arguments.format == OutputFormat::Text;
    let is_shown = is_text && arguments.output.output.is_none();
    Ok(weightier(code, left_out_code(&left_out, is_shown)))
}
