//! Parts that the commands share: exit codes, the error that stops a command, options from common arguments, and printing.

use std::io::{self, Write};
use std::sync::Arc;

use warpbound_base::Diagnostic;
use warpbound_query::{
    BoundOptions, FactsFile, LaunchFile, LaunchSet, Library, Session, UsableImages, input,
};
use warpbound_report::LeftOutImages;

use crate::arguments::{DomainArguments, FactsArguments, Input, LaunchArguments};
use crate::launches::launch_options;
use crate::messages;
use crate::output::Output;

/// An audit found a violation, or a limit is exceeded.
pub(crate) const VIOLATED: u8 = 1;
/// Some kernel has no bound.
pub(crate) const NO_BOUND: u8 = 2;
/// An input cannot be used.
pub(crate) const UNUSABLE: u8 = 3;
/// The command line is wrong.
pub(crate) const USAGE: u8 = 64;

/// Returns the exit code of a command with two findings: what is certainly wrong comes before what cannot be used,
/// and that before what is not known. For example, a limit that is exceeded is not hidden by a kernel without a
/// bound.
pub(crate) fn weightier(one: u8, other: u8) -> u8 {
    let order = [VIOLATED, UNUSABLE, NO_BOUND];
    let first = order.into_iter().find(|code| [one, other].contains(code));
    first.unwrap_or(0)
}

/// Error that stops a command.
pub(crate) enum CommandError {
    /// Options that do not go together.
    Usage(String),
    Input(Diagnostic),
    Output(io::Error),
}

impl From<Diagnostic> for CommandError {
    fn from(diagnostic: Diagnostic) -> CommandError {
        CommandError::Input(diagnostic)
    }
}

impl From<io::Error> for CommandError {
    fn from(error: io::Error) -> CommandError {
        CommandError::Output(error)
    }
}

/// Returns the options for an analysis of control flow.
pub(crate) fn flow_options(
    library: &Library,
    launch: &LaunchArguments,
    domains: &DomainArguments,
) -> Result<BoundOptions, Diagnostic> {
    let options = BoundOptions {
        model: domains.model(),
        ..BoundOptions::default()
    };
    launch_options(library, launch, options)
}

/// Returns options with the user's flow facts.
pub(crate) fn facts_options(
    library: &Library,
    facts: &FactsArguments,
) -> Result<BoundOptions, Diagnostic> {
    Ok(BoundOptions {
        facts: match &facts.facts {
            Some(path) => input::facts(library, path)?,
            None => FactsFile::default(),
        },
        loop_default: facts.loop_default,
        ..BoundOptions::default()
    })
}

/// Returns the image whose kernel is launched: the image that contains it, or the only image. Also names other images
/// that have the kernel but cannot be used.
pub(crate) fn launched_session(
    library: &Library,
    input: &Input,
    kernel: Option<&str>,
    grid: &LaunchFile,
) -> Result<Arc<Session>, Diagnostic> {
    let name = kernel.or(grid.kernel.as_deref());
    // A launch uses one image, so the exit code of the other images does not count.
    left_out_code(&library.left_out(&input.selection(), name), false);
    library.launched_session(&input.selection(), kernel, grid)
}

/// Returns the numbers of the selected images. Names unlinked copies, which are left out, on standard error.
pub(crate) fn select(library: &Library, input: &Input) -> Result<Vec<usize>, Diagnostic> {
    select_usable(library, input, UsableImages::Analysed)
}

/// Like [`select`], with the images that a query can use.
pub(crate) fn select_usable(
    library: &Library,
    input: &Input,
    usable: UsableImages,
) -> Result<Vec<usize>, Diagnostic> {
    let selection = input.selection();
    let images = library.select_usable(&selection, usable)?;
    // An image that was asked for by number is never left out.
    if selection.image.is_none() {
        for copy in library.unlinked_copies() {
            if images.contains(&copy.linked) {
                messages::note(&format_args!(
                    "{} image {} is not linked and left out: image {} has its kernels linked (--image {} for the copies)",
                    library.name(),
                    copy.image,
                    copy.linked,
                    copy.image
                ));
            }
        }
    }
    Ok(images)
}

/// Returns the session with the kernels of a launch set.
pub(crate) fn session_of_set(
    library: &Library,
    input: &Input,
    kernel: Option<&str>,
    set: &LaunchSet,
) -> Result<Arc<Session>, Diagnostic> {
    if kernel.is_some() {
        let message = "--kernel is for one launch: a launch set names its kernels";
        return Err(Diagnostic::new(message).in_file(set.file.as_str()));
    }
    let images = select(library, input)?;
    let names = set.launches.iter();
    // A launch without a name launches the only kernel, which then is the kernel of all launches with a name too.
    match names
        .filter_map(|launch| launch.launch.kernel.as_deref())
        .next()
    {
        Some(name) => Ok(library.only_kernel(&images, name)?.0),
        None => Ok(Arc::new(library.only_session(&input.selection())?)),
    }
}

/// Writes a report.
pub(crate) fn print(mut out: Output, text: &str) -> Result<(), CommandError> {
    out.write_all(text.as_bytes())?;
    Ok(out.finish()?)
}

/// Returns the exit code of a query that left these images out. Prints their names to standard error unless the
/// answer on standard output names them.
pub(crate) fn left_out_code(left_out: &[LeftOutImages], is_shown: bool) -> u8 {
    for images in left_out.iter().filter(|_| !is_shown) {
        messages::error(&images.message());
    }
    match left_out.is_empty() {
        true => 0,
        false => NO_BOUND,
    }
}

/// Prints a diagnostic to standard error.
pub(crate) fn print_diagnostic(diagnostic: &Diagnostic) {
    messages::error(diagnostic);
}
