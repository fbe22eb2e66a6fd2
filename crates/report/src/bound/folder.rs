//! Bounds of many kernels as a folder of pages: an index, and shards that each hold the sections of some kernels.

use std::io;

use crate::bound::KernelBound;
use crate::bound::html::{KernelIndex, Sections};
use crate::html::list;
use crate::html::shards::PageFolder;
use crate::left_out::LeftOutImages;

/// Writer of a folder of pages: `index.html` with a table of all kernels, and `kernels-1.html`, `kernels-2.html`, …
/// with the sections of up to 100 kernels each. Only one shard is in memory at a time.
pub struct BoundFolder<'a> {
    folder: PageFolder<'a>,
    index: KernelIndex,
    sections: Sections,
    left_out: Vec<String>,
}

impl<'a> BoundFolder<'a> {
    /// Creates a report about `file`, which is the name that the user gave. `pages` receives each page when it is
    /// complete, and the index last.
    pub fn new(
        file: &str,
        pages: impl FnMut(&str, &str) -> io::Result<()> + 'a,
    ) -> BoundFolder<'a> {
        BoundFolder {
            folder: PageFolder::new(file, pages),
            index: KernelIndex::new(),
            sections: Sections::default(),
            left_out: Vec::new(),
        }
    }

    /// Adds images that were left out.
    pub fn leave_out(&mut self, images: &LeftOutImages) {
        self.left_out.push(images.message());
    }

    /// Adds one kernel.
    ///
    /// # Errors
    ///
    /// Errors of the receiver of pages.
    pub fn kernel(&mut self, kernel: &KernelBound) -> io::Result<()> {
        // Sections refer to earlier ones of the same page, so each shard starts afresh.
        if self.folder.is_at_start() {
            self.sections = Sections::default();
        }
        // Link and id must be taken before the section is added, because adding it may complete the shard.
        self.index.row(kernel, &self.folder.next_link());
        let section = self.sections.section(kernel, &self.folder.next_id());
        self.folder.section(&section)
    }

    /// Writes the last shard and the index.
    ///
    /// # Errors
    ///
    /// See [`BoundFolder::kernel`].
    pub fn finish(self) -> io::Result<()> {
        let mut index = String::new();
        list(2, "Left out", &self.left_out, &mut index);
        index.push_str(&self.index.finish());
        self.folder.finish(&index)
    }
}
