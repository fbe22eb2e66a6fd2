//! Comparison of two builds as HTML: one page, or a folder with an index.

use std::io;

use crate::build_diff::BuildDiffReport;
use crate::build_diff::html_parts::{DiffIndex, lists, section, summary};
use crate::html::shards::PageFolder;
use crate::html::{foot, head, unfolded};

impl BuildDiffReport {
    /// Returns the comparison as one page of HTML: the numbers of kernels, a table of all figures that differ, and a
    /// section for each kernel.
    pub fn html(&self) -> String {
        let mut index = DiffIndex::new();
        let mut sections = String::new();
        for (nth, kernel) in self.kernels.iter().enumerate() {
            let id = format!("k{nth}");
            index.rows(kernel, &format!("#{id}"));
            sections.push_str(&section(kernel, &id));
        }
        // A single section is shown unfolded, since there is no other to choose from.
        if self.kernels.len() == 1 {
            sections = unfolded(&sections);
        }
        let (head, foot) = (head(&self.title()), foot());
        let (summary, index, lists) = (summary(self), index.finish(), lists(self));
        format!("{head}{summary}{index}{sections}{lists}{foot}")
    }

    /// Writes the comparison as a folder of pages. `index.html` has everything except the sections, which are in
    /// `kernels-1.html`, `kernels-2.html`, … with up to 100 each. `pages` receives each page, the index last.
    ///
    /// # Errors
    ///
    /// Errors of `pages`.
    pub fn html_folder(&self, pages: impl FnMut(&str, &str) -> io::Result<()>) -> io::Result<()> {
        let mut folder = PageFolder::new(&self.title(), pages);
        let mut index = DiffIndex::new();
        for kernel in &self.kernels {
            // The link must be taken before the section is added, because adding it advances the number.
            index.rows(kernel, &folder.next_link());
            folder.section(&section(kernel, &folder.next_id()))?;
        }
        let (summary, index, lists) = (summary(self), index.finish(), lists(self));
        folder.finish(&format!("{summary}{index}{lists}"))
    }

    /// Returns the title of a page.
    fn title(&self) -> String {
        format!("{} → {}", self.old, self.new)
    }
}
