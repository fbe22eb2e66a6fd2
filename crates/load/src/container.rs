//! What a file is when it is not a cubin, so that the refusal can say so.

use warpbound_base::Diagnostic;

use crate::elf::{EM_CUDA, Elf, fault};

const EXTRACT: &str = "extract its cubins first, e.g. with `cuobjdump -xelf all`";
const COMPILE: &str = "compile it first, e.g. with `ptxas -arch sm_61`";

/// First bytes of files people may hand in by mistake, and what to say.
const MAGICS: [(&[u8], &str, &str); 7] = [
    (&[0x50, 0xed, 0x55, 0xba], "this is a fat binary", EXTRACT),
    (
        &[0xb1, 0x43, 0x62, 0x46],
        "this is a fat binary wrapper",
        EXTRACT,
    ),
    (
        b"//",
        "this is text, perhaps PTX; machine code is needed",
        COMPILE,
    ),
    (
        b".version",
        "this is PTX text; machine code is needed",
        COMPILE,
    ),
    (b"!<arch>", "this is an archive", EXTRACT),
    (
        b"BC\xc0\xde",
        "this is LLVM bitcode; machine code is needed",
        "compile it to a cubin first",
    ),
    (b"MZ", "this is a Windows program", EXTRACT),
];

/// Accepts bytes that begin like a 64-bit little-endian ELF file; names anything else.
pub(crate) fn check_magic(bytes: &[u8]) -> Result<(), Diagnostic> {
    if bytes.is_empty() {
        return Err(fault(0, "the file is empty"));
    }
    if let Some((_, what, hint)) = MAGICS.iter().find(|(magic, ..)| bytes.starts_with(magic)) {
        return Err(fault(0, *what).hint(*hint));
    }
    let start = bytes.get(..4).unwrap_or(bytes);
    if start != b"\x7fELF" {
        return Err(fault(
            0,
            "this is not a cubin: it does not begin with the ELF magic",
        ));
    }
    if bytes.len() < 64 {
        return Err(fault(
            bytes.len() as u64,
            "the file ends inside the ELF header (64 bytes)",
        ));
    }
    match bytes.get(4..6) {
        Some([2, 1]) => Ok(()),
        Some([1, _]) => Err(fault(4, "this is a 32-bit ELF file; cubins are 64-bit")),
        _ => Err(fault(4, "this is not a little-endian 64-bit ELF file")),
    }
}

/// Accepts an ELF file for NVIDIA GPUs; names any other.
pub(crate) fn check_machine(elf: &Elf<'_>) -> Result<(), Diagnostic> {
    if elf.header.machine == EM_CUDA {
        return Ok(());
    }
    let fat = elf.sections.iter().any(|section| {
        matches!(
            section.name,
            ".nv_fatbin" | ".nvFatBinSegment" | "__nv_relfatbin"
        )
    });
    let machine = match elf.header.machine {
        3 => "x86".to_owned(),
        62 => "x86-64".to_owned(),
        183 => "AArch64".to_owned(),
        224 => "AMD GPU".to_owned(),
        243 => "RISC-V".to_owned(),
        number => format!("machine number {number}"),
    };
    Err(if fat {
        fault(
            18,
            format!("this is a host file ({machine}) with a fat binary inside"),
        )
        .hint(EXTRACT)
    } else {
        fault(
            18,
            format!("this is an ELF file for {machine}, not a cubin"),
        )
    })
}
