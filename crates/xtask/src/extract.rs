//! `cargo xtask extract`: extract the cubins of libraries.

use std::fs::{self, File};
use std::path::PathBuf;

use anyhow::{Context, bail};
use warpbound_load::{EntryKind, FileSource, ImageDirectory};

use crate::repository::Repository;

pub(crate) const HELP: &str = "\
usage: cargo xtask extract DIRECTORY FILE...

Writes the cubins for Maxwell and Pascal inside the files (fat binaries, programs, libraries, archives) as
DIRECTORY/FILE.NUMBER.SM.cubin, numbered as `warpbound list` does; for `disasm-compare` and `life-ranges`.";

pub(crate) fn run(_: &Repository, arguments: &[String]) -> anyhow::Result<()> {
    let [directory, files @ ..] = arguments else {
        bail!("no directory given");
    };
    fs::create_dir_all(directory).with_context(|| format!("cannot create {directory}"))?;
    let mut count = 0;
    for file in files.iter().map(PathBuf::from) {
        let library = ImageDirectory::open(FileSource::new(File::open(&file)?)?)?;
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        for (number, entry) in (1..).zip(library.entries()) {
            if entry.kind == EntryKind::Cubin && entry.isa.is_decoded() {
                let to =
                    PathBuf::from(directory).join(format!("{name}.{number}.{}.cubin", entry.isa));
                fs::write(&to, library.contents(entry)?)
                    .with_context(|| format!("cannot write {}", to.display()))?;
                count += 1;
            }
        }
    }
    println!("{count} cubins");
    Ok(())
}
