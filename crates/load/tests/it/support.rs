//! Files and checks shared by the tests.
#![allow(
    dead_code,
    clippy::panic,
    reason = "each test uses a part; a test may panic"
)]

use std::path::Path;

use warpbound_base::{CodeAddr, Diagnostic};
use warpbound_load::{Image, Kernel, KernelArg};

/// A file of `tests/data`.
pub(crate) fn data(name: &str) -> Vec<u8> {
    read(
        &Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/data")
            .join(name),
    )
}

/// A cubin of our own kernels.
pub(crate) fn built(name: &str) -> Vec<u8> {
    read(&built_folder().join(name))
}

/// A file of other compilers, options and linkers.
pub(crate) fn foreign(name: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels/foreign");
    read(&folder.join(name))
}

/// A cubin of our own kernels for a GPU with instructions of 128 bits.
pub(crate) fn wide(name: &str) -> Vec<u8> {
    read(&wide_folder().join(name))
}

fn wide_folder() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels/wide")
}

/// Cubins of our own kernels for GPUs with instructions of 128 bits, with their names.
pub(crate) fn wide_files() -> Vec<(String, Vec<u8>)> {
    let mut names: Vec<String> = std::fs::read_dir(wide_folder())
        .expect("a folder")
        .map(|entry| {
            entry
                .expect("an entry")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .collect();
    names.sort();
    names
        .into_iter()
        .map(|name| (name.clone(), wide(&name)))
        .collect()
}

pub(crate) fn built_folder() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels/built")
}

fn read(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Reads an image and calls all of its accessors; returns the diagnostic of a refusal.
pub(crate) fn exercise(bytes: &[u8]) -> Result<(), Diagnostic> {
    let image = Image::parse(bytes)?;
    let _ = (image.isa().to_string(), image.linkage());
    let names: Vec<String> = image.kernel_names().map(str::to_owned).collect();
    for attribute in image.other_attributes() {
        let _ = (attribute.name(), attribute.payload.len());
    }
    for name in names
        .iter()
        .take(4)
        .map(String::as_str)
        .chain(["no such kernel"])
    {
        if let Err(diagnostic) = image.kernel(name) {
            assert_one_line(&diagnostic);
        }
    }
    for warning in image.warnings() {
        assert_one_line(warning);
    }
    assert!(image.others().len() <= bytes.len());
    exercise_loaded_file(&image, bytes.len());
    for skipped in image.skipped() {
        assert!(skipped.sections > 0);
    }
    if !image.isa().has_readable_metadata() {
        return Ok(());
    }
    let (kernels, all_refused) = (image.all_kernels(), image.all_refused());
    assert_eq!(kernels.len() + all_refused.len(), names.len());
    for refused in all_refused {
        assert!(names.iter().any(|name| *name == *refused.name));
        assert_refusal(&refused.error);
    }
    for kernel in kernels.iter().chain(image.all_functions()) {
        exercise_code_object(kernel);
        let inside = |address: CodeAddr| (address.0 as usize) < kernel.code().len();
        let _ = (kernel.demangled(), kernel.code_digest());
        for address in (0..kernel.code().len() as u32 + 64).step_by(8) {
            let _ = kernel.source_line(CodeAddr(address));
            let _ = kernel.function_at(CodeAddr(address));
        }
        let _ = kernel.source_line(CodeAddr(u32::MAX));
        let _ = kernel.function_at(CodeAddr(u32::MAX));
        for addresses in [&kernel.exits, &kernel.ctaid_reads, &kernel.system_calls] {
            assert!(addresses.iter().all(|address| inside(*address)));
        }
        for branch in &kernel.indirect_branches {
            assert!(inside(branch.at));
            assert!(branch.targets.iter().all(|target| inside(*target)));
        }
        for relocation in &kernel.relocations {
            assert!(inside(CodeAddr(relocation.offset)));
            let _ = relocation.to_string();
            let _ = (relocation.operand(u128::MAX), relocation.operand_addend(0));
        }
        for function in kernel.functions.iter() {
            let end = u64::from(function.start.0) + u64::from(function.size);
            assert!(end <= kernel.code().len() as u64);
        }
        for number in 0..=u8::MAX {
            let Some(bank) = kernel.bank(number) else {
                continue;
            };
            for offset in [0, 1, bank.bytes().len() as u32, u32::MAX] {
                let _ = bank.word(offset);
            }
            for relocation in bank.relocations.iter() {
                let _ = relocation.to_string();
            }
        }
    }
    Ok(())
}

/// Checks the parts of a linked code object of `size` bytes.
fn exercise_loaded_file(image: &Image, size: usize) {
    let Some(loaded) = image.loaded_file() else {
        return;
    };
    assert!(loaded.addresses.len() + loaded.undefined.len() <= size);
    for segment in &loaded.segments {
        assert!(segment.bytes.len() as u64 <= segment.size);
    }
}

/// Checks the facts of a kernel of a code object.
fn exercise_code_object(kernel: &Kernel) {
    let Some(object) = &kernel.code_object else {
        return;
    };
    let end = |arg: &KernelArg| arg.offset + arg.size;
    let mut args = object.args.iter();
    assert!(args.all(|arg| end(arg) <= object.kernarg_size));
    assert!((kernel.entry.0 as usize) < kernel.code().len());
    let descriptor = &object.descriptor;
    let _ = (descriptor.mode(), descriptor.vector_registers());
    let _ = (descriptor.scalar_registers(), object.hidden_offset());
}

/// Checks that the refusal of a file is one line with a location.
pub(crate) fn assert_refusal(diagnostic: &Diagnostic) {
    assert_one_line(diagnostic);
    let text = diagnostic.to_string();
    // If the first byte becomes a `;`, the file is text.
    let says_where = text.contains("offset 0x") || text.starts_with("line ");
    assert!(says_where, "no offset in: {text}");
}

fn assert_one_line(diagnostic: &Diagnostic) {
    let text = diagnostic.to_string();
    assert!(
        !text.contains(char::is_control),
        "more than a line: {text:?}"
    );
}
