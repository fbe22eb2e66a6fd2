//! Journal of a campaign: a line for each launch and round, from which a later run goes on.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::time::Duration;

use anyhow::Context;

/// Comparison of one launch in one round.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct CheckedRound {
    pub(super) launch: String,
    pub(super) round: u64,
    /// Source and name of the kernel.
    pub(super) kernel: String,
    pub(super) runs: u64,
    /// Blocks whose known counts equal the counts of the run, and blocks without counts.
    pub(super) right: u64,
    pub(super) unknown: u64,
    /// Differences, as text.
    pub(super) wrong: Vec<String>,
    /// Blocks of the launch as given, in round 0.
    pub(super) blocks: u64,
    /// Blocks that are known for any contents, and for the contents as given.
    pub(super) known: [u64; 2],
    /// Whether runs with the same numbers and other contents, or another order of lanes, have other counts.
    pub(super) differs: bool,
    /// Reason why the launch has no counts.
    pub(super) lost: Option<String>,
    pub(super) predicting: Duration,
    pub(super) running: Duration,
}

/// Progress of a campaign.
pub(super) struct Journal {
    seed: u64,
    rows: BTreeMap<(String, u64), CheckedRound>,
    file: Option<File>,
}

impl Journal {
    /// Opens a journal; lines of other seeds are not taken over. Without a path nothing is written.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or a line is none of a journal.
    pub(super) fn open(path: Option<&Path>, seed: u64) -> anyhow::Result<Journal> {
        let mut journal = Journal {
            seed,
            rows: BTreeMap::new(),
            file: None,
        };
        let Some(path) = path else {
            return Ok(journal);
        };
        let text = match path.exists() {
            true => fs::read_to_string(path)?,
            false => String::new(),
        };
        for (number, line) in text.lines().enumerate() {
            let row = parse(line, seed);
            let row = row.with_context(|| format!("{}, line {}", path.display(), number + 1))?;
            if let Some(row) = row {
                journal.rows.insert((row.launch.clone(), row.round), row);
            }
        }
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        journal.file = Some(file);
        Ok(journal)
    }

    /// The row of a launch and round, if it has been done.
    pub(super) fn row(&self, launch: &str, round: u64) -> Option<&CheckedRound> {
        self.rows.get(&(launch.to_owned(), round))
    }

    /// Appends a row.
    ///
    /// # Errors
    ///
    /// The file cannot be written.
    pub(super) fn add(&mut self, row: &CheckedRound) -> anyhow::Result<()> {
        let Some(file) = &mut self.file else {
            return Ok(());
        };
        let numbers = [
            self.seed,
            row.round,
            row.runs,
            row.right,
            row.unknown,
            row.blocks,
            row.known[0],
            row.known[1],
            row.differs.into(),
            row.predicting.as_millis() as u64,
            row.running.as_millis() as u64,
        ];
        let numbers: Vec<String> = numbers.iter().map(u64::to_string).collect();
        let lost = row.lost.as_deref().unwrap_or("-");
        let wrong = row.wrong.join("; ");
        writeln!(
            file,
            "{}\t{}\t{}\t{lost}\t{wrong}",
            row.launch,
            row.kernel,
            numbers.join("\t")
        )?;
        Ok(())
    }
}

/// The row of a line; `None` if it is of another seed.
fn parse(line: &str, seed: u64) -> anyhow::Result<Option<CheckedRound>> {
    let fields: Vec<&str> = line.split('\t').collect();
    let [launch, kernel, numbers @ .., lost, wrong] = fields.as_slice() else {
        anyhow::bail!("too few fields");
    };
    let numbers: Vec<u64> = numbers
        .iter()
        .map(|number| Ok(number.parse()?))
        .collect::<anyhow::Result<_>>()?;
    let &[
        of,
        round,
        runs,
        right,
        unknown,
        blocks,
        any,
        given,
        differs,
        predicting,
        running,
    ] = numbers.as_slice()
    else {
        anyhow::bail!("{} numbers", numbers.len());
    };
    let wrong = wrong.split("; ").filter(|text| !text.is_empty());
    Ok((of == seed).then(|| CheckedRound {
        launch: (*launch).to_owned(),
        round,
        kernel: (*kernel).to_owned(),
        runs,
        right,
        unknown,
        wrong: wrong.map(str::to_owned).collect(),
        blocks,
        known: [any, given],
        differs: differs != 0,
        lost: (*lost != "-").then(|| (*lost).to_owned()),
        predicting: Duration::from_millis(predicting),
        running: Duration::from_millis(running),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn campaign_goes_on_from_its_journal() {
        let name = format!("warpbound-journal-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let row = CheckedRound {
            launch: "a.b.0.toml".to_owned(),
            round: 3,
            kernel: "a.b".to_owned(),
            runs: 5,
            wrong: vec!["one".to_owned(), "two".to_owned()],
            known: [1, 2],
            differs: true,
            ..CheckedRound::default()
        };
        let mut journal = Journal::open(Some(&path), 1).expect("it is new");
        journal.add(&row).expect("it is written");
        let read = Journal::open(Some(&path), 1).expect("it is read");
        assert_eq!(read.row("a.b.0.toml", 3), Some(&row));
        assert_eq!(read.row("a.b.0.toml", 2), None);
        let other = Journal::open(Some(&path), 2).expect("it is read");
        assert_eq!(other.row("a.b.0.toml", 3), None);
        fs::remove_file(&path).expect("it was there");
    }
}
