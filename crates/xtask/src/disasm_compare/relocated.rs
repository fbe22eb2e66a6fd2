//! Comparison of the text of instructions with a relocation, which a linker or the driver resolves.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context, bail};
use warpbound_isa::nvidia::Arch;
use warpbound_load::Bytes;
use warpbound_query::{CodeKind, ImageSelection, Library};

use crate::cubin::{self, cubins_below};
use crate::nvdisasm::{Nvdisasm, listed_instruction};

/// Texts of relocated instructions by section and address.
type Texts = BTreeMap<String, BTreeMap<u32, String>>;

/// Compares all relocated instructions of the cubins below some directories.
pub(super) fn run(nvdisasm: &Nvdisasm, directories: &[PathBuf], show: usize) -> anyhow::Result<()> {
    if directories.is_empty() {
        bail!("--relocated needs directories");
    }
    let (mut compared, mut differences) = (0, Vec::new());
    for file in cubins_below(directories)? {
        let contents = cubin::read(&file)?;
        let sm = cubin::code_sections(&contents).map(|(sm, _)| sm);
        if sm.and_then(Arch::from_sm).is_none() {
            continue;
        }
        let ours = ours(&contents).with_context(|| file.display().to_string())?;
        if ours.values().all(BTreeMap::is_empty) {
            continue;
        }
        let theirs = theirs(&nvdisasm.cubin(&["-c", "-ndf"], &contents)?);
        for (section, texts) in &ours {
            for (address, ours) in texts {
                compared += 1;
                let theirs = theirs.get(section).and_then(|texts| texts.get(address));
                if theirs != Some(ours) {
                    let theirs = theirs.map_or("(nothing)", String::as_str);
                    let name = file.display();
                    differences.push(format!(
                        "{name} {section} 0x{address:x}\n    ours   {ours}\n    theirs {theirs}"
                    ));
                }
            }
        }
    }
    println!(
        "{compared} relocated instructions compared, {} differ",
        differences.len()
    );
    for difference in differences.iter().take(show) {
        println!("{difference}");
    }
    match differences.is_empty() {
        true => Ok(()),
        false => bail!("{} of {compared} differ", differences.len()),
    }
}

/// Returns our text of the instructions with a relocation.
fn ours(contents: &[u8]) -> anyhow::Result<Texts> {
    let library = Library::open("", Bytes::copy_from_slice(contents))?;
    let images = library.select(&ImageSelection::default())?;
    let mut texts = Texts::new();
    for item in library.find(&images, None, CodeKind::All) {
        let (session, index) = item?;
        let kernel = session.kernel_at(index)?;
        let mut listing = String::new();
        session.disassemble_plain(kernel, &mut listing)?;
        let mut lines: BTreeMap<u32, String> =
            listing.lines().filter_map(listed_instruction).collect();
        let relocations = &kernel.relocations;
        lines.retain(|address, _| {
            let found = relocations.binary_search_by_key(address, |r| r.offset);
            found.is_ok()
        });
        texts.insert(format!(".text.{}", kernel.name), lines);
    }
    Ok(texts)
}

/// Returns the text of nvdisasm, without the braces of pairs.
fn theirs(listing: &str) -> Texts {
    let (mut texts, mut section) = (Texts::new(), String::new());
    for line in listing.lines() {
        if let Some(name) = line.strip_prefix("\t.section\t") {
            let name = name.split(',').next().unwrap_or_default();
            section = name.trim_matches('"').to_owned();
        } else if let Some((address, text)) = listed_instruction(line) {
            let text = text.trim_start_matches('{').trim_end_matches('}');
            let text = text.trim().trim_end_matches(';').trim().to_owned();
            texts
                .entry(section.clone())
                .or_default()
                .insert(address, text);
        }
    }
    texts
}
