//! Bounds of many kernels as a folder of pages: an index, and shards with the sections of some kernels each.

use std::io;
use std::mem;

use crate::bound::KernelBound;
use crate::html::kernel::{KernelIndex, Sections};
use crate::html::{foot, head};

/// Maximum of kernels of a shard.
const KERNELS: usize = 100;

/// Receiver of complete pages: a file name and the contents.
type PageSink<'a> = Box<dyn FnMut(&str, &str) -> io::Result<()> + 'a>;

/// Writer of a folder of pages: `index.html` with a table of all kernels, and `kernels-1.html`, `kernels-2.html`, …
/// with the sections of up to 100 kernels each. One shard is in memory at a time.
pub struct BoundFolder<'a> {
    file: String,
    pages: PageSink<'a>,
    index: KernelIndex,
    sections: Sections,
    shard: String,
    kernels: usize,
}

impl<'a> BoundFolder<'a> {
    /// Creates a report about `file`, the name that the user gave. `pages` receives each page when it is complete, the
    /// index last.
    pub fn new(
        file: &str,
        pages: impl FnMut(&str, &str) -> io::Result<()> + 'a,
    ) -> BoundFolder<'a> {
        BoundFolder {
            file: file.to_owned(),
            pages: Box::new(pages),
            index: KernelIndex::new(),
            sections: Sections::default(),
            shard: String::new(),
            kernels: 0,
        }
    }

    /// Adds one kernel.
    ///
    /// # Errors
    ///
    /// Errors of the receiver of pages.
    pub fn kernel(&mut self, kernel: &KernelBound) -> io::Result<()> {
        let page = page_name(self.kernels / KERNELS);
        let id = format!("k{}", self.kernels);
        self.index.row(kernel, &format!("{page}#{id}"));
        let section = self.sections.section(kernel, &id);
        self.shard.push_str(&section);
        self.kernels += 1;
        match self.kernels % KERNELS {
            0 => self.write_shard(),
            _ => Ok(()),
        }
    }

    /// Writes the last shard and the index.
    ///
    /// # Errors
    ///
    /// See [`BoundFolder::kernel`].
    pub fn finish(mut self) -> io::Result<()> {
        if !self.shard.is_empty() {
            self.write_shard()?;
        }
        let index = format!("{}{}{}", head(&self.file), self.index.finish(), foot());
        (self.pages)("index.html", &index)
    }

    /// Writes the sections since the last shard as a page.
    fn write_shard(&mut self) -> io::Result<()> {
        let page = page_name((self.kernels - 1) / KERNELS);
        let sections = mem::take(&mut self.shard);
        self.sections = Sections::default();
        let back = "<p><a href=\"index.html\">All kernels</a></p>\n<div class=\"tools\"></div>\n";
        let text = format!("{}{back}{sections}{}", head(&self.file), foot());
        (self.pages)(&page, &text)
    }
}

/// Returns the file name of a shard.
fn page_name(shard: usize) -> String {
    format!("kernels-{}.html", shard + 1)
}
