//! Folder of pages: an index, and shards that each hold some sections.
//!
//! For example, 250 sections make `index.html` and three shards. A shard is complete, and leaves memory, when it has
//! 100 sections.

use std::io;
use std::mem;

use super::{foot, head};

/// Maximum number of sections in a shard.
const SECTIONS: usize = 100;

/// Receiver of complete pages: a file name and the contents.
type PageSink<'a> = Box<dyn FnMut(&str, &str) -> io::Result<()> + 'a>;

/// Writer of a folder of pages: `index.html`, and `kernels-1.html`, `kernels-2.html`, … with up to 100 sections each.
/// Only one shard is in memory at a time.
pub(crate) struct PageFolder<'a> {
    title: String,
    pages: PageSink<'a>,
    shard: String,
    sections: usize,
}

impl<'a> PageFolder<'a> {
    /// Creates a folder. `pages` receives each page when it is complete, and the index last.
    pub(crate) fn new(
        title: &str,
        pages: impl FnMut(&str, &str) -> io::Result<()> + 'a,
    ) -> PageFolder<'a> {
        PageFolder {
            title: title.to_owned(),
            pages: Box::new(pages),
            shard: String::new(),
            sections: 0,
        }
    }

    /// Returns the name of the next section in its page.
    pub(crate) fn next_id(&self) -> String {
        // Numbers go on over all shards, so an id is unique in the folder.
        format!("k{}", self.sections)
    }

    /// Returns the address of the next section, for links from the index.
    pub(crate) fn next_link(&self) -> String {
        format!("{}#{}", page_name(self.sections / SECTIONS), self.next_id())
    }

    /// Whether the next section is the first of its page.
    pub(crate) fn is_at_start(&self) -> bool {
        self.shard.is_empty()
    }

    /// Adds a section.
    ///
    /// # Errors
    ///
    /// Errors of the receiver of pages.
    pub(crate) fn section(&mut self, section: &str) -> io::Result<()> {
        self.shard.push_str(section);
        self.sections += 1;
        match self.sections % SECTIONS {
            0 => self.write_shard(),
            _ => Ok(()),
        }
    }

    /// Writes the last shard, and then the index with this content.
    ///
    /// # Errors
    ///
    /// See [`PageFolder::section`].
    pub(crate) fn finish(mut self, index: &str) -> io::Result<()> {
        // After a multiple of 100 sections the last shard is written already.
        if !self.shard.is_empty() {
            self.write_shard()?;
        }
        let page = format!("{}{index}{}", head(&self.title), foot());
        (self.pages)("index.html", &page)
    }

    /// Writes the sections since the last shard as a page.
    fn write_shard(&mut self) -> io::Result<()> {
        // The shard ends with the section that was counted last.
        let page = page_name((self.sections - 1) / SECTIONS);
        let sections = mem::take(&mut self.shard);
        let back = "<p><a href=\"index.html\">All kernels</a></p>\n<div class=\"tools\"></div>\n";
        let text = format!("{}{back}{sections}{}", head(&self.title), foot());
        (self.pages)(&page, &text)
    }
}

/// Returns the file name of a shard.
fn page_name(shard: usize) -> String {
    format!("kernels-{}.html", shard + 1)
}
