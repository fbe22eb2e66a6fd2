//! `warpbound list`.

use std::io::Write as _;

use clap::Args;
use warpbound_base::Diagnostic;
use warpbound_query::Library;
use warpbound_query::{NamePattern, UsableImages};
use warpbound_report::{FileReport, LeftOutImages, ListReport, ListedImage, to_json};

use crate::arguments::{Format, Input, OutputArguments};
use crate::common::{CommandError, UNUSABLE, left_out_code, print_diagnostic};
use crate::output::Output;
use warpbound_query::input;

/// Arguments of `list`.
#[derive(Args)]
pub(crate) struct ListArguments {
    #[command(flatten)]
    pub(crate) input: Input,
    /// Only kernels with this name: mangled, demangled, demangled without namespaces and arguments, or a prefix and `*`
    #[arg(long, value_name = "K")]
    pub(crate) kernel: Option<String>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
    #[command(flatten)]
    pub(crate) output: OutputArguments,
}

/// Lists the kernels of images, or the images of a file. Returns the exit code.
pub(crate) fn list(arguments: &ListArguments) -> Result<u8, CommandError> {
    let ListArguments {
        input,
        kernel,
        format,
        output,
    } = arguments;
    let kernel = kernel.as_deref();
    let library = input::library(&input.file)?;
    let selection = input.selection();
    let is_all = selection.image.is_none() && selection.isa.is_none() && kernel.is_none();
    let mut code = 0;
    // The directory already names all images.
    let left_out = match is_all {
        true => Vec::new(),
        false => library.left_out_of(&selection, kernel, UsableImages::Listed),
    };
    let found_reports = match is_all && !library.is_single() {
        true => None,
        false => {
            let numbers = crate::common::select_usable(&library, input, UsableImages::Listed)?;
            let (found, unread) = read_reports(&library, &numbers, kernel)?;
            // Without --image, a kernel that another image has answers the query.
            let is_answered = kernel.is_some() && selection.image.is_none() && !found.is_empty();
            if found.is_empty() {
                if let Some(diagnostic) = unread.into_iter().next() {
                    return Err(diagnostic.into());
                }
                return Err(library.no_kernel(&numbers, kernel).into());
            }
            for diagnostic in &unread {
                print_diagnostic(diagnostic);
                // The kernel may be in the unreadable image, unless it was found.
                if !is_answered {
                    code = UNUSABLE;
                }
            }
            Some(found)
        }
    };
    let mut out = Output::open(output.output.as_deref())?;
    let text = render(&library, found_reports.as_deref(), &left_out, *format);
    out.write_all(text.as_bytes())?;
    out.finish()?;
    code = code.max(left_out_code(&left_out, false));
    for (_, report) in found_reports.iter().flatten() {
        if let Some(why) = &report.refused {
            // The names of the kernels were printed in spite of that.
            print_diagnostic(&Diagnostic::new(why).in_file(report.file.as_str()));
            code = UNUSABLE;
        }
    }
    Ok(code)
}

/// Reports on images, with the numbers of the images.
type Reports = Vec<(usize, FileReport)>;

/// Returns reports on the readable images that have the kernel, and the diagnostics of unreadable images.
fn read_reports(
    library: &Library,
    numbers: &[usize],
    kernel: Option<&str>,
) -> Result<(Reports, Vec<Diagnostic>), CommandError> {
    let pattern = kernel.map(NamePattern::new);
    let (mut found, mut unread) = (Vec::new(), Vec::new());
    for &number in numbers {
        match library.session(number) {
            Ok(session) => {
                let report = session.list_matching(pattern.as_ref());
                if pattern.is_none() || !report.kernels.is_empty() {
                    found.push((number, report));
                }
            }
            // With a single image nothing else can be listed.
            Err(diagnostic) if library.is_single() => return Err(diagnostic.into()),
            Err(diagnostic) => unread.push(diagnostic),
        }
    }
    Ok((found, unread))
}

/// Formats the directory, or the reports of images.
fn render(
    library: &Library,
    reports: Option<&[(usize, FileReport)]>,
    left_out: &[LeftOutImages],
    format: Format,
) -> String {
    let directory = library.directory();
    match (format, reports) {
        (Format::Text, None) => directory.text(),
        (Format::Text, Some(reports)) => {
            let texts: Vec<String> = reports.iter().map(|(_, report)| report.text()).collect();
            texts.join("\n")
        }
        (Format::Json, _) => {
            let contents = |number: usize| {
                let has_number = |(of, _): &&(usize, FileReport)| *of == number;
                let report = reports?.iter().find(has_number)?;
                Some(report.1.clone())
            };
            let listed = directory.images.into_iter().filter_map(|image| {
                let contents = contents(image.number);
                let is_wanted = reports.is_none() || contents.is_some();
                is_wanted.then_some(ListedImage { image, contents })
            });
            to_json(&ListReport {
                schema: ListReport::SCHEMA,
                file: directory.file,
                kind: directory.kind,
                images: listed.collect(),
                left_out: left_out.to_vec(),
            })
        }
    }
}
