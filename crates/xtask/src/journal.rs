//! Journals of campaigns: results as lines of JSON, from which a later run goes on.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::Path;

use anyhow::{Context, bail};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// Journal that lines are added to; without a file nothing is written.
pub(crate) struct Journal {
    file: Option<File>,
    /// Lines that could not be written.
    problems: Vec<String>,
}

/// First line of a journal.
#[derive(Serialize, Deserialize)]
struct JournalHead {
    seed: u64,
}

impl Journal {
    /// Opens a journal and returns the results that it has, which count as done. `what` says what they are, for
    /// messages. Without a path nothing is written.
    ///
    /// # Errors
    ///
    /// The file cannot be read or written, or is a journal of another seed.
    pub(crate) fn open<T: DeserializeOwned>(
        path: Option<&Path>,
        seed: u64,
        what: &str,
    ) -> anyhow::Result<(Journal, Vec<T>)> {
        let mut journal = Journal {
            file: None,
            problems: Vec::new(),
        };
        let mut done = Vec::new();
        let Some(path) = path else {
            return Ok((journal, done));
        };
        let text = match path.exists() {
            true => fs::read_to_string(path)?,
            false => String::new(),
        };
        // The last line may be incomplete.
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        let mut lines = text.get(..whole).unwrap_or_default().lines();
        if let Some(head) = lines.next() {
            let head = serde_json::from_str(head);
            let head: JournalHead = head.with_context(|| format!("no journal of {what}"))?;
            if head.seed != seed {
                bail!("the journal is of seed {}", head.seed);
            }
        }
        for line in lines {
            done.push(serde_json::from_str(line)?);
        }
        let mut file = OpenOptions::new().create(true).append(true).open(path)?;
        file.set_len(whole as u64)?;
        if whole == 0 {
            writeln!(file, "{}", serde_json::to_string(&JournalHead { seed })?)?;
        }
        journal.file = Some(file);
        Ok((journal, done))
    }

    /// Adds a result.
    pub(crate) fn add<T: Serialize>(&mut self, result: &T) {
        if let Some(file) = &mut self.file {
            let line = serde_json::to_string(result).map_err(anyhow::Error::from);
            let written = line.and_then(|line| Ok(writeln!(file, "{line}")?));
            if let Err(error) = written {
                self.problems.push(format!("the journal: {error:#}"));
            }
        }
    }

    /// Closes the journal and returns why lines could not be written.
    pub(crate) fn finish(self) -> Vec<String> {
        self.problems
    }
}
