//! `cargo xtask extract`: extract the cubins of libraries.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::PathBuf;

use anyhow::{Context, bail};
use warpbound_load::{EntryKind, FileSource, ImageDirectory};

use crate::repository::Repository;

pub(crate) const HELP: &str = "\
usage: cargo xtask extract [--every N] DIRECTORY FILE...

Writes the cubins inside the files (fat binaries, programs, libraries, archives), for GPUs whose code is disassembled, as
DIRECTORY/FILE.NUMBER.SM.cubin, numbered as `warpbound list` does; for `disasm-compare` and `life-ranges`.

  --every N   only each Nth cubin for a GPU, beginning with the first";

pub(crate) fn run(_: &Repository, arguments: &[String]) -> anyhow::Result<()> {
    let (every, arguments) = match arguments {
        [flag, number, rest @ ..] if flag == "--every" => {
            let number = number.parse().ok().filter(|&number: &usize| number > 0);
            (number.context("--every needs a number")?, rest)
        }
        _ => (1, arguments),
    };
    let [directory, files @ ..] = arguments else {
        bail!("no directory given");
    };
    fs::create_dir_all(directory).with_context(|| format!("cannot create {directory}"))?;
    let mut count = 0;
    for file in files.iter().map(PathBuf::from) {
        let library = ImageDirectory::open(FileSource::new(File::open(&file)?)?)?;
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let mut of_gpu: BTreeMap<String, usize> = BTreeMap::new();
        for (number, entry) in (1..).zip(library.entries()) {
            if entry.kind != EntryKind::Cubin || !entry.isa.is_decoded() {
                continue;
            }
            let before = of_gpu.entry(entry.isa.to_string()).or_default();
            *before += 1;
            if (*before - 1).is_multiple_of(every) {
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
