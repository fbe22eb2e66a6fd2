//! Commands that say something of each kernel: `disasm`, `divergence`, `facts`.

use std::io::Write as _;

use warpbound_base::Diagnostic;
use warpbound_driver::{CodeKind, BoundOptions, Session};
use warpbound_report::DivergenceWriter;

use crate::arguments::{Format, Input, OutputArguments, Style};
use crate::output::Output;
use crate::{Stop, UNUSABLE, input, say};

pub(crate) fn disasm(
    input: &Input,
    kernel: Option<&str>,
    style: Style,
    output: &OutputArguments,
) -> Result<u8, Stop> {
    let mut out = Output::open(output.output.as_deref())?;
    let mut first = true;
    let mut text = String::new();
    let done = each_kernel(input, kernel, CodeKind::All, |session, index| {
        let kernel = session.kernel_at(index)?;
        text.clear();
        if !first {
            text.push('\n');
        }
        match style {
            Style::Columns => text.push_str(&session.disassemble(kernel)?.columns()),
            Style::Nvdisasm => session.disassemble_plain(kernel, &mut text)?,
        }
        first = false;
        Ok(out.write_all(text.as_bytes())?)
    })?;
    out.finish()?;
    Ok(done.code())
}

pub(crate) fn divergence(
    input: &Input,
    kernel: Option<&str>,
    options: &BoundOptions,
    format: Format,
    output: &OutputArguments,
) -> Result<u8, Stop> {
    let out = Output::open(output.output.as_deref())?;
    let file = input.name();
    let mut writer = DivergenceWriter::new(out, format.into(), &file);
    let done = each_kernel(input, kernel, CodeKind::Kernels, |session, index| {
        let report = session.divergence(session.kernel_at(index)?, options)?;
        Ok(writer.kernel(&report)?)
    })?;
    writer.finish()?.finish()?;
    Ok(done.code())
}

pub(crate) fn facts(
    input: &Input,
    kernel: Option<&str>,
    output: &OutputArguments,
) -> Result<u8, Stop> {
    let mut out = Output::open(output.output.as_deref())?;
    let mut first = true;
    let done = each_kernel(input, kernel, CodeKind::Kernels, |session, index| {
        let text = session.facts(session.kernel_at(index)?)?;
        if first {
            out.write_all(Session::FACTS_HEAD.as_bytes())?;
        }
        first = false;
        Ok(out.write_all(text.as_bytes())?)
    })?;
    out.finish()?;
    Ok(done.code())
}

/// Failures of a query that has an answer for other kernels.
struct Done {
    /// True if a kernel or image that was asked for is among them.
    is_lacking: bool,
    diagnostics: Vec<Diagnostic>,
}

impl Done {
    /// Says what is wrong, once the answer is out; the exit code.
    fn code(self) -> u8 {
        self.diagnostics.iter().for_each(say);
        match self.is_lacking {
            true => UNUSABLE,
            false => 0,
        }
    }
}

/// Does something with each kernel that was asked for. One that it cannot be done with, or an image that cannot be
/// used, is no reason to say nothing about the others; there must be one.
fn each_kernel(
    input: &Input,
    name: Option<&str>,
    find: CodeKind,
    mut work: impl FnMut(&Session, usize) -> Result<(), Stop>,
) -> Result<Done, Stop> {
    let library = input::library(&input.file)?;
    let selection = input.selection();
    let images = library.select(&selection)?;
    let (mut answered, mut is_lacking) = (0, false);
    let mut diagnostics = Vec::new();
    for item in library.find(&images, name, find) {
        match item {
            Ok((session, index)) => match work(&session, index) {
                Ok(()) => answered += 1,
                Err(Stop::Input(diagnostic)) => {
                    is_lacking = true;
                    diagnostics.push(diagnostic);
                }
                Err(stop) => return Err(stop),
            },
            Err(diagnostic) => {
                // Who asks for a kernel does not ask for the other images.
                is_lacking |= name.is_none();
                diagnostics.push(diagnostic);
            }
        }
    }
    if answered > 0 {
        return Ok(Done {
            is_lacking,
            diagnostics,
        });
    }
    Err(match diagnostics.pop() {
        Some(last) => {
            diagnostics.iter().for_each(say);
            last
        }
        None => library.no_kernel(&images, name),
    }
    .into())
}
