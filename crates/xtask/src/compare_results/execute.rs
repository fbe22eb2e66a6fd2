//! Execution of programs on command lines, and the cache of their outputs.

use std::fs;
use std::io::{Cursor, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, bail};
use zip::write::SimpleFileOptions;
use zip::{ZipArchive, ZipWriter};

use super::compare::Output;

/// Placeholder in arguments: the folder that a command line may write to.
pub(super) const FOLDER: &str = "{folder}";

/// Folder of these folders, in the checkout. Their names depend on the command line only, because messages contain
/// them.
const FOLDERS: &str = "target/compare-results";

pub(super) const STANDARD_OUTPUT: &str = "standard output";
const STANDARD_ERROR: &str = "standard error";

/// One call of the program.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct CommandLine {
    /// Kind of the command line; a sample has some of each group.
    pub(super) group: &'static str,
    /// Arguments; `FOLDER` in them is a new folder.
    pub(super) arguments: Vec<String>,
    /// Files that are in the folder before.
    pub(super) given: Vec<(&'static str, Vec<u8>)>,
    pub(super) standard_input: Vec<u8>,
}

impl CommandLine {
    /// The command line as a shell understands it, with the program's name.
    pub(super) fn show(&self) -> String {
        let mut text = "warpbound".to_owned();
        for argument in &self.arguments {
            let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=,:+".contains(c);
            match !argument.is_empty() && argument.chars().all(plain) {
                true => text.push_str(&format!(" {argument}")),
                false => text.push_str(&format!(" '{argument}'")),
            }
        }
        text
    }

    /// Digest of the arguments, the given files and the standard input.
    pub(super) fn digest(&self) -> u64 {
        let mut digest = Digest::default();
        for argument in &self.arguments {
            digest.add(argument.as_bytes());
        }
        for (name, contents) in &self.given {
            digest.add(name.as_bytes());
            digest.add(contents);
        }
        digest.add(&self.standard_input);
        digest.0
    }
}

/// FNV-1a of 64 bits (Fowler, Noll, Vo) over byte strings and their lengths.
pub(super) struct Digest(u64);

impl Default for Digest {
    fn default() -> Self {
        Digest(0xcbf2_9ce4_8422_2325)
    }
}

impl Digest {
    fn add(&mut self, bytes: &[u8]) {
        for &byte in (bytes.len() as u64).to_le_bytes().iter().chain(bytes) {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}

/// A build of the program.
pub(super) struct Program {
    path: PathBuf,
    pub(super) digest: u64,
    root: PathBuf,
    cache: Option<PathBuf>,
}

impl Program {
    /// Opens a program that is run in `root`. Its outputs are kept in `cache` if that is given.
    pub(super) fn open(path: &Path, root: &Path, cache: Option<&Path>) -> anyhow::Result<Program> {
        let shown = path.display();
        let contents = fs::read(path).with_context(|| {
            format!("cannot read the program {shown}; `cargo build --release` builds target/release/warpbound")
        })?;
        let mut digest = Digest::default();
        digest.add(&contents);
        let cache = cache.map(|folder| folder.join(format!("{:016x}", digest.0)));
        if let Some(cache) = &cache {
            fs::create_dir_all(cache)
                .with_context(|| format!("cannot make the folder {}", cache.display()))?;
        }
        let path = fs::canonicalize(path).with_context(|| format!("cannot find {shown}"))?;
        Ok(Program {
            path,
            digest: digest.0,
            root: root.to_owned(),
            cache,
        })
    }

    /// Output of the program, from the cache if it is there; true if it was.
    pub(super) fn output(&self, line: &CommandLine) -> anyhow::Result<(Output, bool)> {
        let Some(cache) = &self.cache else {
            return Ok((self.execute(line)?, false));
        };
        let entry = cache.join(format!("{:016x}.zip", self.key(line)));
        let known = fs::read(&entry).map_err(anyhow::Error::from);
        if let Ok(output) = known.and_then(|bytes| unpack(&bytes, &line.show())) {
            return Ok((output, true));
        }
        let output = self.execute(line)?;
        let write = || -> anyhow::Result<()> {
            let mut file = tempfile::NamedTempFile::new_in(cache)?;
            file.write_all(&pack(&output, &line.show())?)?;
            file.persist(&entry)?;
            Ok(())
        };
        write().with_context(|| format!("cannot write {}", entry.display()))?;
        Ok((output, false))
    }

    /// Digest of the command line, of the files that it names, and of the `.npy` files that launch files name.
    fn key(&self, line: &CommandLine) -> u64 {
        let mut digest = Digest(line.digest());
        for argument in &line.arguments {
            let path = self.root.join(argument);
            let Ok(contents) = fs::read(&path) else {
                continue;
            };
            digest.add(&contents);
            if path
                .extension()
                .is_some_and(|extension| extension == "toml")
            {
                let text = String::from_utf8_lossy(&contents);
                for name in text.split('"').filter(|name| name.ends_with(".npy")) {
                    let data = path.parent().map(|folder| fs::read(folder.join(name)));
                    digest.add(&data.and_then(Result::ok).unwrap_or_default());
                }
            }
        }
        digest.0
    }

    /// Runs the program in the checkout.
    fn execute(&self, line: &CommandLine) -> anyhow::Result<Output> {
        let relative = format!("{FOLDERS}/{:016x}", line.digest());
        let folder = self.root.join(&relative);
        if folder.exists() {
            fs::remove_dir_all(&folder)
                .with_context(|| format!("cannot clear {}", folder.display()))?;
        }
        fs::create_dir_all(&folder)
            .with_context(|| format!("cannot make the folder {}", folder.display()))?;
        for (name, contents) in &line.given {
            fs::write(folder.join(name), contents)
                .with_context(|| format!("cannot write {relative}/{name}"))?;
        }
        let arguments = line.arguments.iter().map(|a| a.replace(FOLDER, &relative));
        let mut child = Command::new(&self.path)
            .args(arguments)
            .current_dir(&self.root)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot run {}", self.path.display()))?;
        if let Some(mut stdin) = child.stdin.take() {
            // A program that does not read it all ends the pipe; that is no error here.
            let _ = stdin.write_all(&line.standard_input);
        }
        let done = child
            .wait_with_output()
            .with_context(|| format!("cannot wait for {}", line.show()))?;
        let mut output = Output {
            code: done.status.code(),
            ..Output::default()
        };
        output.parts.insert(STANDARD_OUTPUT.to_owned(), done.stdout);
        output.parts.insert(STANDARD_ERROR.to_owned(), done.stderr);
        let read = read_files(&folder, "", line, &mut output);
        read.with_context(|| format!("cannot read what is in {}", folder.display()))?;
        fs::remove_dir_all(&folder)
            .with_context(|| format!("cannot remove {}", folder.display()))?;
        Ok(output)
    }
}

/// Removes the folders of command lines, which are empty now.
pub(super) fn remove_folders(root: &Path) {
    // Another comparison may still use them; what stays is in target/ and does no harm.
    let _ = fs::remove_dir(root.join(FOLDERS));
}

/// Adds the files below a folder to the output, except the given files that did not change.
fn read_files(
    folder: &Path,
    before: &str,
    line: &CommandLine,
    output: &mut Output,
) -> anyhow::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = format!("{before}{}", entry.file_name().to_string_lossy());
        if entry.file_type()?.is_dir() {
            read_files(&entry.path(), &format!("{name}/"), line, output)?;
            continue;
        }
        let contents = fs::read(entry.path())?;
        let given = line.given.iter().find(|(given, _)| *given == name);
        if given.is_none_or(|(_, before)| *before != contents) {
            output.parts.insert(format!("file {name}"), contents);
        }
    }
    Ok(())
}

/// An entry of the cache: a zip archive of the command line, the exit code and all parts.
fn pack(output: &Output, command: &str) -> anyhow::Result<Vec<u8>> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    let code = output.code.map_or(String::new(), |code| code.to_string());
    let own = [("command", command.as_bytes()), ("code", code.as_bytes())];
    let parts = output.parts.iter();
    let parts = parts.map(|(name, contents)| (format!("part {name}"), contents.as_slice()));
    for (name, contents) in own
        .map(|(name, c)| (name.to_owned(), c))
        .into_iter()
        .chain(parts)
    {
        archive.start_file(name, SimpleFileOptions::default())?;
        archive.write_all(contents)?;
    }
    Ok(archive.finish()?.into_inner())
}

/// Output in an entry of the cache; an error if the entry is of another command line.
fn unpack(bytes: &[u8], command: &str) -> anyhow::Result<Output> {
    let mut archive = ZipArchive::new(Cursor::new(bytes))?;
    let (mut output, mut found) = (Output::default(), false);
    for index in 0..archive.len() {
        let mut file = archive.by_index(index)?;
        let (name, mut contents) = (file.name().to_owned(), Vec::new());
        file.read_to_end(&mut contents)?;
        match name.strip_prefix("part ") {
            Some(part) => {
                output.parts.insert(part.to_owned(), contents);
            }
            None if name == "command" => found = contents == command.as_bytes(),
            None => output.code = String::from_utf8(contents)?.parse().ok(),
        }
    }
    if !found {
        bail!("the entry is of another command line");
    }
    Ok(output)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_keep_everything() {
        let mut output = Output {
            code: Some(64),
            ..Output::default()
        };
        output
            .parts
            .insert("file a/b.cubin".to_owned(), vec![0xff, 0, 1]);
        output.parts.insert(STANDARD_OUTPUT.to_owned(), Vec::new());
        let bytes = pack(&output, "warpbound list x").unwrap();
        assert_eq!(unpack(&bytes, "warpbound list x").unwrap(), output);
        assert!(unpack(&bytes, "warpbound list y").is_err());
        assert!(unpack(&bytes[..20], "warpbound list x").is_err());
    }

    #[test]
    fn digests_see_where_arguments_end() {
        let line = |arguments: &[&str]| CommandLine {
            arguments: arguments.iter().map(|a| (*a).to_owned()).collect(),
            ..CommandLine::default()
        };
        assert_ne!(line(&["ab", "c"]).digest(), line(&["a", "bc"]).digest());
        assert_eq!(line(&["x y"]).show(), "warpbound 'x y'");
    }
}
