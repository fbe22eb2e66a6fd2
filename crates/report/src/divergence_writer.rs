//! Streaming writer of the divergence reports of many kernels.

use std::io::{self, Write};

use crate::bound_writer::BoundFormat;
use crate::divergence::DivergenceReport;
use crate::to_json;

/// The name of the JSON format of several kernels.
const SCHEMA: &str = "warpbound.divergences/1";

/// Writer that takes reports one at a time. In JSON, one kernel is its report; several are one object with `schema`
/// (`warpbound.divergences/1`), `file`, and `kernels`, a list of these.
pub struct DivergenceWriter<W> {
    out: W,
    format: BoundFormat,
    file: String,
    kernels: usize,
    /// First kernel as JSON, held back until a second one decides the form of the document.
    first: Option<String>,
}

impl<W: Write> DivergenceWriter<W> {
    /// Creates a report about `file`, the name that the user gave.
    pub fn new(out: W, format: BoundFormat, file: &str) -> DivergenceWriter<W> {
        DivergenceWriter {
            out,
            format,
            file: file.to_owned(),
            kernels: 0,
            first: None,
        }
    }

    /// Writes one kernel.
    ///
    /// # Errors
    ///
    /// Errors of the output, as for [`DivergenceWriter::finish`].
    pub fn kernel(&mut self, kernel: &DivergenceReport) -> io::Result<()> {
        self.kernels += 1;
        match (self.format, self.kernels) {
            (BoundFormat::Text, 1) => self.out.write_all(kernel.text().as_bytes()),
            (BoundFormat::Text, _) => write!(self.out, "\n{}", kernel.text()),
            (BoundFormat::Json, 1) => {
                self.first = Some(to_json(kernel));
                Ok(())
            }
            (BoundFormat::Json, _) => {
                if let Some(first) = self.first.take() {
                    let file = to_json(&self.file);
                    let file = file.trim_end();
                    write!(
                        self.out,
                        "{{\n  \"schema\": \"{SCHEMA}\",\n  \"file\": {file},\n  \"kernels\": ["
                    )?;
                    self.item(&first)?;
                }
                self.out.write_all(b",")?;
                self.item(&to_json(kernel))
            }
        }
    }

    fn item(&mut self, json: &str) -> io::Result<()> {
        let indented = json.trim_end().replace('\n', "\n    ");
        write!(self.out, "\n    {indented}")
    }

    /// Completes the report and returns the output.
    ///
    /// # Errors
    ///
    /// See [`DivergenceWriter::kernel`].
    pub fn finish(mut self) -> io::Result<W> {
        match (self.format, self.first.take()) {
            (BoundFormat::Json, Some(only)) => self.out.write_all(only.as_bytes())?,
            (BoundFormat::Json, None) if self.kernels > 1 => self.out.write_all(b"\n  ]\n}\n")?,
            _ => {}
        }
        Ok(self.out)
    }
}
