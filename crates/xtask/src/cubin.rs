//! Code sections of cubins, read without the loader: comparisons must not depend on whether the loader accepts a file.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;

/// A code section of a cubin.
pub(crate) struct CodeSection {
    /// Name of the section: `.text.NAME`.
    pub(crate) name: String,
    /// Contents, in whole groups.
    pub(crate) code: Vec<u8>,
    /// Offset in the file.
    pub(crate) offset: usize,
}

/// Returns SM number and code sections of a cubin for Maxwell or Pascal; `None` for any other file.
pub(crate) fn code_sections(file: &[u8]) -> Option<(u32, Vec<CodeSection>)> {
    const CUDA: u64 = 190;
    sections(file, CUDA, |name| name.starts_with(".text."))
}

/// Returns the code sections of a code object for AMD's GPUs; `None` for any other file.
pub(crate) fn amd_code_sections(file: &[u8]) -> Option<Vec<CodeSection>> {
    const AMDGPU: u64 = 224;
    Some(sections(file, AMDGPU, |name| name == ".text")?.1)
}

/// Returns the low byte of the flags and the sections with certain names of an ELF file for a machine.
fn sections(
    file: &[u8],
    machine: u64,
    is_code: impl Fn(&str) -> bool,
) -> Option<(u32, Vec<CodeSection>)> {
    /// ELF, 64 bits, little endian.
    const MAGIC: [u8; 6] = [0x7f, b'E', b'L', b'F', 2, 1];
    const PROGBITS: u64 = 1;
    if !file.starts_with(&MAGIC) || number(file, 0x12, 2)? != machine {
        return None;
    }
    let flags = number(file, 0x30, 4)?;
    // Files of CUDA 13 have another ABI version, with the number of the GPU one byte further up.
    let flags = match number(file, 8, 1)? {
        8.. => flags >> 8,
        _ => flags,
    };
    let flags = u32::try_from(flags & 0xff).ok()?;
    let table = usize::try_from(number(file, 0x28, 8)?).ok()?;
    let size = usize::try_from(number(file, 0x3a, 2)?).ok()?;
    let count = usize::try_from(number(file, 0x3c, 2)?).ok()?;
    let header = |index: usize| file.get(table + index * size..table + (index + 1) * size);
    let names = header(usize::try_from(number(file, 0x3e, 2)?).ok()?)?;
    let names = usize::try_from(number(names, 24, 8)?).ok()?;
    let mut sections = Vec::new();
    for index in 0..count {
        let header = header(index)?;
        let name = file.get(names + usize::try_from(number(header, 0, 4)?).ok()?..)?;
        let name = String::from_utf8_lossy(name.split(|&byte| byte == 0).next()?).into_owned();
        if !is_code(&name) || number(header, 4, 4)? != PROGBITS {
            continue;
        }
        let offset = usize::try_from(number(header, 24, 8)?).ok()?;
        let length = usize::try_from(number(header, 32, 8)?).ok()?;
        let code = file.get(offset..offset.checked_add(length)?)?.to_vec();
        sections.push(CodeSection { name, code, offset });
    }
    Some((flags, sections))
}

/// Reads a little-endian number of `length` bytes.
fn number(bytes: &[u8], at: usize, length: usize) -> Option<u64> {
    let bytes = bytes.get(at..at.checked_add(length)?)?;
    Some(
        bytes
            .iter()
            .rev()
            .fold(0, |value, &byte| value << 8 | u64::from(byte)),
    )
}

/// Returns all files named `*.cubin` in these directories and below, and paths that are files, sorted by path.
pub(crate) fn cubins_below(directories: &[PathBuf]) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut open: Vec<PathBuf> = directories.to_vec();
    while let Some(directory) = open.pop() {
        if directory.is_file() {
            files.push(directory);
            continue;
        }
        let entries = fs::read_dir(&directory)
            .with_context(|| format!("cannot list {}", directory.display()))?;
        for entry in entries {
            let entry = entry.with_context(|| format!("cannot list {}", directory.display()))?;
            let path = entry.path();
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                open.push(path);
            } else if path.extension().is_some_and(|found| found == "cubin") {
                files.push(path);
            }
        }
    }
    files.sort();
    anyhow::ensure!(
        !files.is_empty(),
        "no file named *.cubin below {}",
        directories
            .iter()
            .map(|directory| directory.display().to_string())
            .collect::<Vec<_>>()
            .join(", ")
    );
    Ok(files)
}

/// Reads a file; the error names it.
pub(crate) fn read(path: &Path) -> anyhow::Result<Vec<u8>> {
    fs::read(path).with_context(|| format!("cannot read {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::code_sections;

    #[test]
    fn sections_of_an_own_kernel() {
        let path = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../kernels/built/if_else.sm_61.cubin"
        );
        let file = std::fs::read(path).expect("the cubin is in the repository");
        let (sm, sections) = code_sections(&file).expect("a cubin");
        let kernels = warpbound_load::Image::parse(&file).expect("it loads");
        assert_eq!(sm, 61);
        for kernel in kernels.kernels().expect("it has kernels") {
            let name = format!(".text.{}", kernel.name);
            assert!(
                sections
                    .iter()
                    .any(|section| section.name == name && section.code == kernel.code())
            );
        }
        assert!(code_sections(&file[..file.len() / 2]).is_none());
        assert!(code_sections(b"no ELF").is_none());
    }
}
