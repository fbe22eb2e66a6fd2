//! `cargo xtask rebuilt`: build changed sources of our own kernels with NVRTC.

use std::fs;
use std::path::Path;

use anyhow::{Context, bail};
use serde::Deserialize;

use crate::kernels::refuse_private_path;
use crate::nvrtc::{Compiled, Nvrtc, Release};
use crate::repository::Repository;

pub(crate) const HELP: &str = "\
usage: cargo xtask rebuilt

Applies the changes in kernels/rebuilt/edits.toml to sources in kernels/cuda and compiles the results for sm_61 with
NVRTC 12.9, as `cargo xtask kernels` does, into
  kernels/rebuilt/NAME.moved.cubin       with other line numbers
  kernels/rebuilt/NAME.elsewhere.cubin   with a change outside of loops
  kernels/rebuilt/NAME.loop.cubin        with one loop changed
and sources in kernels/rebuilt, with the changes and the limits of registers that the file states, into
  kernels/rebuilt/NAME.VARIANT.cubin
Same source, same bytes. Needs oracle/lib, which `cargo xtask oracle` fetches.";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EditFile {
    edit: Vec<Edit>,
    variant: Vec<Variant>,
}

/// Build of a source in the folder itself.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Variant {
    source: String,
    name: String,
    /// Name that the compiler is given for the source, without extension, if it is another one.
    file: Option<String>,
    /// Texts to be replaced wherever they occur, and their replacements.
    #[serde(default)]
    changes: Vec<[String; 2]>,
    /// Maximum number of registers of a thread.
    most_registers: Option<u32>,
}

/// Changes of a source: text that occurs in it, and the text that replaces the last occurrence.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Edit {
    source: String,
    elsewhere: [String; 2],
    r#loop: [String; 2],
}

/// Lines that shift all others.
const MOVED: &str = "// A line.\n\n// Another line.\n\n\n";

pub(crate) fn run(repository: &Repository, arguments: &[String]) -> anyhow::Result<()> {
    if let Some(argument) = arguments.first() {
        bail!("rebuilt does not know the argument {argument:?}");
    }
    let folder = repository.rebuilt_kernels();
    let edits = fs::read_to_string(folder.join("edits.toml")).context("no edits.toml")?;
    let edits: EditFile = toml::from_str(&edits).context("edits.toml")?;
    let nvrtc = Nvrtc::load(&repository.oracle().join("lib"), Release::Cuda12)?;
    // The line table records the current directory; `/` reveals nothing about the machine.
    std::env::set_current_dir("/").context("cannot change to /")?;
    let mut built = 0;
    for edit in &edits.edit {
        let path = repository
            .kernel_sources()
            .join(format!("{}.cu", edit.source));
        let source = fs::read_to_string(&path).with_context(|| format!("no {}.cu", edit.source))?;
        let variants = [
            ("moved", format!("{MOVED}{source}")),
            ("elsewhere", replaced(&source, edit, &edit.elsewhere)?),
            ("loop", replaced(&source, edit, &edit.r#loop)?),
        ];
        for (variant, text) in variants {
            let output = folder.join(format!("{}.{variant}.cubin", edit.source));
            let cubin = compile(&nvrtc, &edit.source, &text)
                .with_context(|| format!("{}.{variant}", edit.source))?;
            refuse_private_path(&cubin, repository.root())?;
            fs::write(&output, cubin)
                .with_context(|| format!("cannot write {}", output.display()))?;
            built += 1;
        }
    }
    for variant in &edits.variant {
        let Variant { source, name, .. } = variant;
        let cubin = compile_variant(&nvrtc, &folder, variant)
            .with_context(|| format!("{source}.{name}"))?;
        refuse_private_path(&cubin, repository.root())?;
        let output = folder.join(format!("{source}.{name}.cubin"));
        fs::write(&output, cubin).with_context(|| format!("cannot write {}", output.display()))?;
        built += 1;
    }
    println!("{built} cubins built");
    Ok(())
}

/// Replaces the last occurrence of a text.
fn replaced(source: &str, edit: &Edit, [old, new]: &[String; 2]) -> anyhow::Result<String> {
    let at = source.rfind(old.as_str());
    let at = at.with_context(|| format!("{}.cu has no {old:?}", edit.source))?;
    let (before, rest) = source.split_at(at);
    Ok([before, new, rest.strip_prefix(old.as_str()).unwrap_or(rest)].concat())
}

fn compile_variant(nvrtc: &Nvrtc, folder: &Path, variant: &Variant) -> anyhow::Result<Vec<u8>> {
    let path = folder.join(format!("{}.cu", variant.source));
    let mut text = fs::read_to_string(&path).context("no source")?;
    for [old, new] in &variant.changes {
        if !text.contains(old.as_str()) {
            bail!("the source has no {old:?}");
        }
        text = text.replace(old.as_str(), new);
    }
    let mut options = vec!["-arch=sm_61".to_owned(), "-lineinfo".to_owned()];
    options.extend(
        variant
            .most_registers
            .map(|most| format!("-maxrregcount={most}")),
    );
    let file = variant.file.as_ref().unwrap_or(&variant.source);
    let Compiled { cubin, .. } =
        nvrtc.compile(&text, &format!("kernels/rebuilt/{file}.cu"), &options)?;
    Ok(cubin)
}

fn compile(nvrtc: &Nvrtc, name: &str, source: &str) -> anyhow::Result<Vec<u8>> {
    let options = ["-arch=sm_61".to_owned(), "-lineinfo".to_owned()];
    let Compiled { cubin, .. } =
        nvrtc.compile(source, &format!("kernels/cuda/{name}.cu"), &options)?;
    Ok(cubin)
}
