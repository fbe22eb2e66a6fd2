//! The bounds of many kernels, written one by one.

use std::io::{self, Write};

use crate::bound::{KernelBound, SCHEMA, Status};
use crate::table::{Align, grouped, table};
use crate::to_json;

/// Format of bounds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BoundFormat {
    /// A screen of text for each kernel, and a table at the end when there are several.
    Text,
    /// One JSON object, schema `warpbound.bound/1`: `schema`, `file`, and `kernels`, a list of
    /// [`KernelBound`].
    Json,
}

/// Writes bounds as they come, so that those of a large library need not be in memory together.
pub struct BoundWriter<W> {
    out: W,
    format: BoundFormat,
    file: String,
    /// Rows of the table at the end.
    rows: Vec<[String; 2]>,
    kernels: usize,
}

impl<W: Write> BoundWriter<W> {
    /// A report about `file`, the name that the user gave. Nothing is written before the first kernel.
    pub fn new(out: W, format: BoundFormat, file: &str) -> BoundWriter<W> {
        BoundWriter {
            out,
            format,
            file: file.to_owned(),
            rows: Vec::new(),
            kernels: 0,
        }
    }

    fn write_head(&mut self) -> io::Result<()> {
        let file = to_json(&self.file);
        let file = file.trim_end();
        write!(
            self.out,
            "{{\n  \"schema\": \"{SCHEMA}\",\n  \"file\": {file},\n  \"kernels\": ["
        )
    }

    /// Writes one kernel.
    ///
    /// # Errors
    ///
    /// Those of the output; so for [`BoundWriter::finish`].
    pub fn kernel(&mut self, kernel: &KernelBound) -> io::Result<()> {
        match self.format {
            BoundFormat::Text => {
                writeln!(self.out, "{}", kernel.text(&self.file))?;
                let bound = match (kernel.status, kernel.bound) {
                    (Status::Bounded, Some(bound)) => grouped(bound),
                    (Status::Refused, _) => "refused".to_owned(),
                    _ => "no bound".to_owned(),
                };
                self.rows.push([bound, kernel.name.clone()]);
            }
            BoundFormat::Json => {
                if self.kernels == 0 {
                    self.write_head()?;
                }
                let comma = if self.kernels > 0 { "," } else { "" };
                let text = to_json(kernel);
                write!(self.out, "{comma}\n    ")?;
                self.out
                    .write_all(text.trim_end().replace('\n', "\n    ").as_bytes())?;
            }
        }
        self.kernels += 1;
        Ok(())
    }

    /// Ends the report and hands back what it was written to.
    ///
    /// # Errors
    ///
    /// See [`BoundWriter::kernel`].
    pub fn finish(mut self) -> io::Result<W> {
        match self.format {
            BoundFormat::Text if self.kernels > 1 => {
                let rows: Vec<Vec<String>> = self.rows.into_iter().map(Into::into).collect();
                writeln!(self.out, "all kernels, warp instructions at most:")?;
                let text = table(2, &[Align::Right, Align::Left], &rows);
                self.out.write_all(text.as_bytes())?;
            }
            BoundFormat::Text => (),
            BoundFormat::Json => {
                let end = if self.kernels > 0 { "\n  ]" } else { "]" };
                if self.kernels == 0 {
                    self.write_head()?;
                }
                write!(self.out, "{end}\n}}\n")?;
            }
        }
        self.out.flush()?;
        Ok(self.out)
    }
}
