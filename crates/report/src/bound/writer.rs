//! Streaming writer of the bounds of many kernels.

use std::io::{self, Cursor, Read, Seek, Write};

use crate::bound::html::{KernelIndex, Sections};
use crate::bound::{BoundVerdict, KernelBound, SCHEMA};
use crate::conditions::BoundConditions;
use crate::cycle_bound::CycleBoundReport;
use crate::html::list;
use crate::html::{foot, head, unfolded};
use crate::left_out::{LeftOutImages, messages};
use crate::report_writer::write_member;
use crate::table::{Align, table};
use crate::terms::MachineTerms;
use crate::to_json;
use warpbound_base::Family;

/// Format of bounds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BoundFormat {
    /// Text, about one screen for each kernel. A table of all kernels comes first if there are several.
    Text,
    /// One JSON object with schema `warpbound.bound/1`: `schema`, `file`, and `kernels`, a list of [`KernelBound`];
    /// also `left_out`, a list of [`LeftOutImages`], if there are any.
    Json,
    /// One page of HTML: a table of all kernels, then a section for each.
    Html,
}

/// Temporary storage for the text of kernels, until the table that precedes them is complete.
pub trait Spool: Read + Write + Seek {}

impl<T: Read + Write + Seek> Spool for T {}

/// Writer that takes bounds one at a time, so that a large library needs no memory for all of them. Text and HTML are
/// spooled, because the table of all kernels precedes them. JSON is written at once.
pub struct BoundWriter<W> {
    out: W,
    format: BoundFormat,
    file: String,
    explain: bool,
    spool: Box<dyn Spool>,
    summary: Summary,
    index: KernelIndex,
    sections: Sections,
    kernels: usize,
    left_out: Vec<LeftOutImages>,
}

/// Table of all kernels.
#[derive(Default)]
struct Summary {
    rows: Vec<Row>,
    bounded: usize,
    /// Family of the machine, which decides the terms of the text. A file has one machine, so one kernel decides for
    /// all.
    family: Family,
    conditions: BoundConditions,
}

/// Row of the table.
struct Row {
    /// Bound, or the verdict if there is none.
    bound: String,
    /// Bound in cycles, if it was asked for.
    cycles: Option<String>,
    loops: usize,
    image: Option<usize>,
    kernel: String,
}

impl<W: Write> BoundWriter<W> {
    /// Creates a report about `file`, which is the name that the user gave. Nothing is written before the first
    /// kernel. The spool is in memory.
    pub fn new(out: W, format: BoundFormat, file: &str) -> BoundWriter<W> {
        BoundWriter {
            out,
            format,
            file: file.to_owned(),
            explain: false,
            spool: Box::new(Cursor::new(Vec::new())),
            summary: Summary::default(),
            index: KernelIndex::new(),
            sections: Sections::default(),
            kernels: 0,
            left_out: Vec::new(),
        }
    }

    /// Adds images that were left out. Text and HTML list them before the kernels, JSON after them.
    pub fn leave_out(&mut self, images: &LeftOutImages) {
        self.left_out.push(images.clone());
    }

    /// Replaces the spool with an empty one, such as a temporary file.
    #[must_use]
    pub fn spooled(mut self, spool: impl Spool + 'static) -> BoundWriter<W> {
        self.spool = Box::new(spool);
        self
    }

    /// Sets whether text also lists the divergence edges.
    #[must_use]
    pub fn explained(mut self, explain: bool) -> BoundWriter<W> {
        self.explain = explain;
        self
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
    /// Errors of the output, as for [`BoundWriter::finish`].
    pub fn kernel(&mut self, kernel: &KernelBound) -> io::Result<()> {
        match self.format {
            BoundFormat::Text => {
                if self.kernels > 0 {
                    self.spool.write_all(b"\n")?;
                }
                let text = kernel.text(&self.file, self.explain);
                self.spool.write_all(text.as_bytes())?;
                self.summary.add(kernel);
            }
            BoundFormat::Html => {
                // Names of kernels may be equal in several images, so the link uses a number.
                let id = format!("k{}", self.kernels);
                self.index.row(kernel, &format!("#{id}"));
                let section = self.sections.section(kernel, &id);
                self.spool.write_all(section.as_bytes())?;
            }
            BoundFormat::Json => {
                if self.kernels == 0 {
                    self.write_head()?;
                }
                let comma = if self.kernels > 0 { "," } else { "" };
                // Indented by hand, so that the document looks as if it had been serialised as a whole.
                let text = to_json(kernel);
                write!(self.out, "{comma}\n    ")?;
                self.out
                    .write_all(text.trim_end().replace('\n', "\n    ").as_bytes())?;
            }
        }
        self.kernels += 1;
        Ok(())
    }

    /// Completes the report and returns the output.
    ///
    /// # Errors
    ///
    /// See [`BoundWriter::kernel`].
    pub fn finish(mut self) -> io::Result<W> {
        match self.format {
            BoundFormat::Text => {
                for message in messages(&self.left_out) {
                    writeln!(self.out, "{message}\n")?;
                }
                // A table of one kernel would only repeat its section.
                if self.kernels > 1 {
                    let text = self.summary.text(&self.file);
                    writeln!(self.out, "{text}")?;
                }
                self.spool.rewind()?;
                io::copy(&mut self.spool, &mut self.out)?;
            }
            BoundFormat::Html => {
                self.out.write_all(head(&self.file).as_bytes())?;
                let mut left_out = String::new();
                list(2, "Left out", &messages(&self.left_out), &mut left_out);
                self.out.write_all(left_out.as_bytes())?;
                self.out.write_all(self.index.finish().as_bytes())?;
                self.spool.rewind()?;
                match self.kernels {
                    // A single section is shown unfolded, since there is no other to choose from.
                    1 => {
                        let only = unfolded(&io::read_to_string(&mut self.spool)?);
                        self.out.write_all(only.as_bytes())?;
                    }
                    _ => {
                        io::copy(&mut self.spool, &mut self.out)?;
                    }
                }
                self.out.write_all(foot().as_bytes())?;
            }
            BoundFormat::Json => {
                let end = if self.kernels > 0 { "\n  ]" } else { "]" };
                // Without kernels the head has not been written yet.
                if self.kernels == 0 {
                    self.write_head()?;
                }
                self.out.write_all(end.as_bytes())?;
                // Last, because images may be left out after kernels were written.
                write_member(&mut self.out, &self.left_out)?;
                self.out.write_all(b"\n}\n")?;
            }
        }
        // The caller may drop the output, which would lose an error of a late write.
        self.out.flush()?;
        Ok(self.out)
    }
}

impl Summary {
    fn add(&mut self, kernel: &KernelBound) {
        self.family = kernel.family;
        let bound = match &kernel.verdict {
            BoundVerdict::Bounded { bound, .. } => {
                self.bounded += 1;
                // The table has one clause for all bounds, so it names the statements of all of them.
                self.conditions = self.conditions.and(kernel.conditions());
                bound.to_string()
            }
            BoundVerdict::Unbounded { .. } => "no bound".to_owned(),
            BoundVerdict::Refused { .. } => "refused".to_owned(),
        };
        self.rows.push(Row {
            bound,
            cycles: kernel.cycles.as_ref().map(CycleBoundReport::cell),
            loops: kernel.loops.len(),
            image: kernel.image,
            kernel: kernel.name.clone(),
        });
    }

    fn text(self, file: &str) -> String {
        let all = self.rows.len();
        let without = match all - self.bounded {
            0 => String::new(),
            n => format!(", {n} without a bound"),
        };
        let condition = self.conditions.clause();
        let with_cycles = self.rows.iter().any(|row| row.cycles.is_some());
        let cycles = match with_cycles {
            true => ", and most cycles that it takes alone",
            false => "",
        };
        let mut out = format!(
            "{file}: {all} kernels, {} bounded{without}\n  most instructions that a {} issues{cycles}{condition}:\n",
            self.bounded,
            MachineTerms::of(self.family).warp
        );
        let mut columns = vec![Align::Right, Align::Right, Align::Left];
        let mut heads = vec!["at most", "loops", "kernel"];
        // Columns are inserted from the right, so that the positions of the others stay valid.
        if self.rows.iter().any(|row| row.image.is_some()) {
            columns.insert(2, Align::Right);
            heads.insert(2, "image");
        }
        if with_cycles {
            columns.insert(1, Align::Right);
            heads.insert(1, "cycles");
        }
        let mut rows = vec![heads.into_iter().map(str::to_owned).collect()];
        for row in self.rows {
            // Cells are inserted in the same order as the columns above.
            let mut cells = vec![row.bound, row.loops.to_string(), row.kernel];
            if let Some(image) = row.image {
                cells.insert(2, image.to_string());
            }
            if with_cycles {
                cells.insert(1, row.cycles.unwrap_or_default());
            }
            rows.push(cells);
        }
        out.push_str(&table(4, &columns, &rows));
        out
    }
}
