//! Streaming writer of reports about the kernels of a file.

use std::io::{self, Write};

use serde::Serialize;

use crate::left_out::{LeftOutImages, messages};
use crate::to_json;

/// Format of reports about kernels.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReportFormat {
    /// Text.
    Text,
    /// JSON, in the form that [`ReportWriter`] describes.
    Json,
}

/// Report about one kernel.
pub trait KernelReport: Serialize {
    /// Name of the JSON format of several reports: `warpbound.NAME/VERSION`.
    const SCHEMA_OF_SEVERAL: &'static str;

    /// Whether the JSON of a single kernel has the same form as for several.
    const IS_ALWAYS_LISTED: bool = false;

    /// Returns the report as text, which ends with a line break.
    fn to_text(&self) -> String;
}

/// Writer that takes reports one at a time. In JSON, a single kernel is its report. Several kernels are one object
/// with `schema` ([`KernelReport::SCHEMA_OF_SEVERAL`]), `file`, and `kernels`, a list of reports. Reports that are
/// always listed ([`KernelReport::IS_ALWAYS_LISTED`]) have this form for a single kernel as well. `left_out`, a list
/// of [`LeftOutImages`], is present if images were left out.
pub struct ReportWriter<W> {
    out: W,
    format: ReportFormat,
    file: String,
    kernels: usize,
    /// First kernel as JSON, which is held back because a second one decides the form of the document.
    first: Option<String>,
    /// Whether the list of kernels has begun.
    is_listed: bool,
    left_out: Vec<LeftOutImages>,
}

impl<W: Write> ReportWriter<W> {
    /// Creates a report about `file`, which is the name that the user gave.
    pub fn new(out: W, format: ReportFormat, file: &str) -> ReportWriter<W> {
        ReportWriter {
            out,
            format,
            file: file.to_owned(),
            kernels: 0,
            first: None,
            is_listed: false,
            left_out: Vec::new(),
        }
    }

    /// Sets the images that were left out; must be called before the first kernel. They follow the kernels. In JSON,
    /// a single kernel is then a list as well.
    #[must_use]
    pub fn without(mut self, left_out: &[LeftOutImages]) -> ReportWriter<W> {
        self.left_out = left_out.to_vec();
        self
    }

    /// Writes one kernel.
    ///
    /// # Errors
    ///
    /// Errors of the output, as for [`ReportWriter::finish`].
    pub fn kernel<R: KernelReport>(&mut self, kernel: &R) -> io::Result<()> {
        self.kernels += 1;
        match (self.format, self.kernels) {
            (ReportFormat::Text, 1) => self.out.write_all(kernel.to_text().as_bytes()),
            (ReportFormat::Text, _) => write!(self.out, "\n{}", kernel.to_text()),
            // `left_out` needs a member of an object, which the report of one kernel is not.
            (ReportFormat::Json, 1) if R::IS_ALWAYS_LISTED || !self.left_out.is_empty() => {
                self.begin_list(R::SCHEMA_OF_SEVERAL)?;
                self.item(&to_json(kernel))
            }
            (ReportFormat::Json, 1) => {
                // A second kernel would make the document a list.
                self.first = Some(to_json(kernel));
                Ok(())
            }
            (ReportFormat::Json, _) => {
                if let Some(first) = self.first.take() {
                    self.begin_list(R::SCHEMA_OF_SEVERAL)?;
                    self.item(&first)?;
                }
                self.out.write_all(b",")?;
                self.item(&to_json(kernel))
            }
        }
    }

    /// Writes the beginning of a document that has a list of kernels.
    fn begin_list(&mut self, schema: &str) -> io::Result<()> {
        self.is_listed = true;
        let file = to_json(&self.file);
        let file = file.trim_end();
        write!(
            self.out,
            "{{\n  \"schema\": \"{schema}\",\n  \"file\": {file},\n  \"kernels\": ["
        )
    }

    fn item(&mut self, json: &str) -> io::Result<()> {
        let indented = json.trim_end().replace('\n', "\n    ");
        write!(self.out, "\n    {indented}")
    }

    /// Completes the report and returns the output.
    ///
    /// # Errors
    ///
    /// See [`ReportWriter::kernel`].
    pub fn finish(mut self) -> io::Result<W> {
        match (self.format, self.first.take()) {
            (ReportFormat::Json, Some(only)) => self.out.write_all(only.as_bytes())?,
            (ReportFormat::Json, None) if self.is_listed => {
                self.out.write_all(b"\n  ]")?;
                write_member(&mut self.out, &self.left_out)?;
                self.out.write_all(b"\n}\n")?;
            }
            (ReportFormat::Text, _) => {
                for message in messages(&self.left_out) {
                    write!(self.out, "\n{message}\n")?;
                }
            }
            // No kernel was passed, so there is no form of a document to choose.
            (ReportFormat::Json, None) => {}
        }
        Ok(self.out)
    }
}

/// Writes the last member of a document, `left_out`, if images were left out.
pub(crate) fn write_member(out: &mut impl Write, left_out: &[LeftOutImages]) -> io::Result<()> {
    if left_out.is_empty() {
        return Ok(());
    }
    let list = to_json(&left_out);
    let list = list.trim_end().replace('\n', "\n  ");
    write!(out, ",\n  \"left_out\": {list}")
}
