//! Recognition of a file's kind by its first bytes.
//!
//! The first 64 bytes suffice. For example, a file that begins with `7f 45 4c 46` and has 2, 1 in the next two bytes
//! is a 64-bit little-endian ELF file. Files that are often given by mistake, such as PTX text, get a message that
//! names their kind.

use warpbound_base::Diagnostic;

use crate::bundle;
use crate::elf::fault;

/// Files that may have machine code inside.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Magic {
    /// A 64-bit little-endian ELF file: a cubin, or a file of the host.
    Elf,
    /// One or more fat binaries.
    FatBinary,
    /// One or more offload bundles.
    OffloadBundle,
    /// A static archive.
    Archive,
    /// mini-SIMT text.
    Text,
}

const COMPILE: &str =
    "compile CUDA C++ with `nvcc -cubin -arch=sm_61`, PTX with `ptxas -arch sm_61`";

const UNPACK: &str = "unpack it, and give the libraries or cubins in it";

/// First bytes of files that are often given by mistake, each with its message and hint.
const UNSUPPORTED_FORMATS: [(&[u8], &str, &str); 11] = [
    (
        &[0xb1, 0x43, 0x62, 0x46],
        "this is the wrapper of a fat binary, which only points to it",
        "give the host file that the wrapper is part of",
    ),
    (
        b"\xed\x43\x4e\x7f",
        "this is LTO-IR, code before link-time optimisation; machine code is needed",
        "link it with `nvlink -lto -arch=sm_61`, or compile without -dlto",
    ),
    (
        b"PK\x03\x04",
        "this is a ZIP archive, such as a Python wheel",
        UNPACK,
    ),
    (b"\x1f\x8b", "this is compressed by gzip", UNPACK),
    (b"\xfd7zXZ\0", "this is compressed by xz", UNPACK),
    (b"BZh", "this is compressed by bzip2", UNPACK),
    (b"\x28\xb5\x2f\xfd", "this is compressed by zstd", UNPACK),
    (
        b"//",
        "this is text, such as CUDA C++ or PTX; machine code is needed",
        COMPILE,
    ),
    (
        b".version",
        "this is PTX text; machine code is needed",
        COMPILE,
    ),
    (
        b"BC\xc0\xde",
        "this is LLVM bitcode; machine code is needed",
        "compile it to a cubin first",
    ),
    (
        b"MZ",
        "this is a Windows program",
        "extract its cubins first, e.g. with `cuobjdump -xelf all`",
    ),
];

/// Recognizes a file by its first 64 bytes, or all of a shorter file. The error for another file names its kind.
pub(crate) fn recognize(head: &[u8]) -> Result<Magic, Diagnostic> {
    if head.is_empty() {
        return Err(fault(0, "the file is empty"));
    }
    if head.starts_with(&[0x50, 0xed, 0x55, 0xba]) {
        return Ok(Magic::FatBinary);
    }
    if head.starts_with(bundle::MAGIC) || head.starts_with(bundle::COMPRESSED_MAGIC) {
        return Ok(Magic::OffloadBundle);
    }
    if head.starts_with(b"!<arch>\n") || head.starts_with(b"!<thin>\n") {
        return Ok(Magic::Archive);
    }
    if is_text(head) {
        return Ok(Magic::Text);
    }
    if let Some((_, message, hint)) = UNSUPPORTED_FORMATS
        .iter()
        .find(|(magic, ..)| head.starts_with(magic))
    {
        return Err(fault(0, *message).hint(*hint));
    }
    let start = head.get(..4).unwrap_or(head);
    if start != b"\x7fELF" {
        if is_source(head) {
            let text = "this is text, such as CUDA C++ or PTX; machine code is needed";
            return Err(fault(0, text).hint(COMPILE));
        }
        let diagnostic = fault(
            0,
            "this is neither a cubin nor a file that holds cubins: it does not begin like one",
        );
        let is_text = |byte: &u8| byte.is_ascii_graphic() || byte.is_ascii_whitespace();
        return Err(match head.iter().all(is_text) {
            true => diagnostic.hint("mini-SIMT text begins with a .kernel line or a comment"),
            false => diagnostic,
        });
    }
    if head.len() < 64 {
        return Err(fault(
            head.len() as u64,
            "the file ends inside the ELF header (64 bytes)",
        ));
    }
    // `EI_CLASS`: 1 is 32-bit, 2 is 64-bit; `EI_DATA`: 1 is little-endian.
    match head.get(4..6) {
        Some([2, 1]) => Ok(Magic::Elf),
        Some([1, _]) => Err(fault(4, "this is a 32-bit ELF file; cubins are 64-bit")),
        _ => Err(fault(4, "this is not a little-endian 64-bit ELF file")),
    }
}

/// Whether a file with these first bytes begins like machine code of a GPU: a cubin, a code object, a fat binary or an
/// offload bundle, damaged or not.
pub fn begins_like_code(head: &[u8]) -> bool {
    // `e_machine` of cubins (`EM_CUDA`) and of code objects (`EM_AMDGPU`).
    let of_gpu = matches!(head.get(18..20), Some([190 | 224, 0]));
    head.starts_with(&[0x50, 0xed, 0x55, 0xba])
        || head.starts_with(bundle::MAGIC)
        || head.starts_with(bundle::COMPRESSED_MAGIC)
        || (head.starts_with(b"\x7fELF") && of_gpu)
}

/// Whether `head` begins a source text: a preprocessor line, a comment, or a declaration of CUDA C++ or C++.
fn is_source(head: &[u8]) -> bool {
    let rest = head.trim_ascii_start();
    let begins = [
        "#",
        "//",
        "/*",
        "__global__",
        "__device__",
        "extern ",
        "template",
        "namespace ",
        "using ",
        "typedef ",
        "struct ",
        "static ",
        ".version",
    ];
    begins.iter().any(|word| rest.starts_with(word.as_bytes()))
}

/// Whether `head` begins a mini-SIMT text: with a comment or a `.kernel` line.
fn is_text(head: &[u8]) -> bool {
    let rest = head.trim_ascii_start();
    rest.starts_with(b";") || rest.starts_with(b".kernel") || (rest.is_empty() && !head.is_empty())
}
