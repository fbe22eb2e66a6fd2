//! Lines of source files, for reports with machine code.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use warpbound_base::Diagnostic;
use warpbound_report::KernelBound;

/// Source files of a folder. Each is read when one of its lines is needed.
pub(crate) struct SourceLines {
    folder: PathBuf,
    /// Lines of each file; `None` for a file that cannot be read.
    files: BTreeMap<String, Option<Vec<String>>>,
}

impl SourceLines {
    /// Creates the lines of the files in a folder.
    pub(crate) fn new(folder: &Path) -> SourceLines {
        SourceLines {
            folder: folder.to_owned(),
            files: BTreeMap::new(),
        }
    }

    /// Adds the text of each source line to the machine code of a kernel.
    pub(crate) fn add_to(&mut self, kernel: &mut KernelBound) {
        for instruction in kernel
            .machine_code
            .iter_mut()
            .flat_map(|code| &mut code.instructions)
        {
            let source = instruction.source.as_deref();
            instruction.source_text = source.and_then(|source| self.line(source));
        }
    }

    /// Returns the line `FILE:NUMBER` without leading and trailing space.
    fn line(&mut self, source: &str) -> Option<String> {
        // From the right, because a path may contain a colon.
        let (file, number) = source.rsplit_once(':')?;
        let index = number.parse::<usize>().ok()?.checked_sub(1)?;
        let folder = &self.folder;
        // A file that cannot be read is remembered too, so that it is tried once and named once.
        let lines = self.files.entry(file.to_owned()).or_insert_with(|| {
            let text = std::fs::read(folder.join(file)).ok()?;
            // Sources may be in another encoding than UTF-8.
            let text = String::from_utf8_lossy(&text);
            // The listing has its own indentation.
            Some(text.lines().map(|line| line.trim().to_owned()).collect())
        });
        lines.as_ref()?.get(index).cloned()
    }

    /// Returns a message about the files that could not be read, if there are any.
    pub(crate) fn missing(&self) -> Option<Diagnostic> {
        let missing = self.files.iter().filter(|(_, lines)| lines.is_none());
        let names: Vec<&str> = missing.map(|(name, _)| name.as_str()).collect();
        let (first, rest) = names.split_first()?;
        let more = match rest.len() {
            0 => String::new(),
            count => format!(" and {count} more source files"),
        };
        let message = format!("{first}{more} cannot be read, its lines are not shown");
        Some(Diagnostic::new(message).in_file(self.folder.display().to_string()))
    }
}
