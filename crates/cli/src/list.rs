//! `warpbound list`.

use std::io::Write as _;

use warpbound_base::Diagnostic;
use warpbound_driver::{Library, NamePattern};
use warpbound_report::{FileReport, Listed, ListedImage, to_json};

use crate::arguments::{Format, Input, OutputArguments};
use crate::output::Output;
use crate::{Stop, UNUSABLE, input, say};

/// Lists the kernels of images, or the images; the exit code.
pub(crate) fn list(
    input: &Input,
    kernel: Option<&str>,
    format: Format,
    output: &OutputArguments,
) -> Result<u8, Stop> {
    let library = input::library(&input.file)?;
    let selection = input.selection();
    let is_all = selection.image.is_none() && selection.sm.is_none() && kernel.is_none();
    let mut code = 0;
    let reports = match is_all && !library.is_single() {
        true => None,
        false => {
            let numbers = library.select(&selection)?;
            let (found, unread) = reports(&library, &numbers, kernel)?;
            // Of an image that was not asked for by itself, only a kernel was wanted.
            let is_answered = kernel.is_some() && selection.image.is_none() && !found.is_empty();
            if found.is_empty() {
                if let Some(diagnostic) = unread.into_iter().next() {
                    return Err(diagnostic.into());
                }
                return Err(library.no_kernel(&numbers, kernel).into());
            }
            for diagnostic in &unread {
                say(diagnostic);
                if !is_answered {
                    code = UNUSABLE;
                }
            }
            Some(found)
        }
    };
    let mut out = Output::open(output.output.as_deref())?;
    out.write_all(spelled(&library, reports.as_deref(), format).as_bytes())?;
    out.finish()?;
    for (_, report) in reports.iter().flatten() {
        if let Some(why) = &report.refused {
            // The names of the kernels are worth printing all the same.
            say(&Diagnostic::new(why).in_file(report.file.as_str()));
            code = UNUSABLE;
        }
    }
    Ok(code)
}

/// Images with their numbers.
type Reports = Vec<(usize, FileReport)>;

/// The images that can be read and have the kernel, and what is wrong with those that cannot be read.
fn reports(
    library: &Library,
    numbers: &[usize],
    kernel: Option<&str>,
) -> Result<(Reports, Vec<Diagnostic>), Stop> {
    let pattern = kernel.map(NamePattern::new);
    let (mut found, mut unread) = (Vec::new(), Vec::new());
    for &number in numbers {
        match library.session(number) {
            Ok(session) => {
                let report = session.list_of(pattern.as_ref());
                if pattern.is_none() || !report.kernels.is_empty() {
                    found.push((number, report));
                }
            }
            Err(diagnostic) if library.is_single() => return Err(diagnostic.into()),
            Err(diagnostic) => unread.push(diagnostic),
        }
    }
    Ok((found, unread))
}

fn spelled(library: &Library, reports: Option<&[(usize, FileReport)]>, format: Format) -> String {
    let directory = library.directory();
    match (format, reports) {
        (Format::Text, None) => directory.text(),
        (Format::Text, Some(reports)) => {
            let texts: Vec<String> = reports.iter().map(|(_, report)| report.text()).collect();
            texts.join("\n")
        }
        (Format::Json, _) => {
            let contents = |number: usize| {
                let wanted = |(of, _): &&(usize, FileReport)| *of == number;
                let report = reports?.iter().find(wanted)?;
                Some(report.1.clone())
            };
            let listed = directory.images.into_iter().filter_map(|image| {
                let contents = contents(image.number);
                let is_wanted = reports.is_none() || contents.is_some();
                is_wanted.then_some(ListedImage { image, contents })
            });
            to_json(&Listed {
                schema: Listed::SCHEMA,
                file: directory.file,
                kind: directory.kind,
                images: listed.collect(),
            })
        }
    }
}
