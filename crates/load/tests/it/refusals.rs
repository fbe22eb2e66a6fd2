//! Refusals: files that are not cubins, unsupported architectures, contradictions.

#![allow(clippy::panic, reason = "helpers of tests")]

use crate::support::data;
use warpbound_load::Image;

fn refusal(bytes: &[u8]) -> String {
    match Image::parse(bytes) {
        Ok(_) => panic!("accepted"),
        Err(diagnostic) => diagnostic.to_string(),
    }
}

/// The error of the only refused kernel; checks that all others are as in the sound file.
fn refused_kernel(sound: &[u8], bytes: &[u8]) -> String {
    let (sound, image) = (
        Image::parse(sound).expect("sound"),
        Image::parse(bytes).expect("read in part"),
    );
    let [refused] = image.refused() else {
        panic!("{:?}", image.refused());
    };
    let kernels = |image: &Image| {
        let all = image.kernels().expect("supported").iter();
        let others = all.filter(|kernel| kernel.name != refused.name);
        others
            .map(|kernel| format!("{kernel:?}"))
            .collect::<Vec<_>>()
    };
    assert_eq!(kernels(&image), kernels(&sound));
    assert_eq!(
        image.kernels().expect("supported").len() + 1,
        image.kernel_names().len()
    );
    let names = sound.kernel_names().collect::<Vec<_>>();
    assert!(names.contains(&&*refused.name));
    let said = image.kernel(&refused.name).expect_err("refused");
    assert_eq!(said, refused.error);
    said.to_string()
}

/// Replaces the first occurrence of `old`; returns its offset and the new file.
fn replace(original: &[u8], old: &[u8], new: &[u8]) -> (usize, Vec<u8>) {
    let mut bytes = original.to_vec();
    let at = bytes
        .windows(old.len())
        .position(|window| window == old)
        .expect("the record");
    bytes[at..at + new.len()].copy_from_slice(new);
    (at, bytes)
}

#[test]
fn other_architectures_are_read_or_refused_by_name() {
    for name in ["sm_75", "sm_90a", "sm_120"] {
        let image = Image::parse(&data(&format!("tiny.{name}.cubin"))).unwrap();
        assert_eq!(image.isa().to_string(), name);
        assert_eq!(
            image.kernel_names().collect::<Vec<_>>(),
            ["_ZN5outer4tinyEPi"]
        );
        // They are analysed, run and timed, and what measures or rewrites them refuses them.
        assert_eq!(image.kernels().map(<[_]>::len), Ok(1));
        assert_eq!(image.isa().check_supported(), Ok(()));
        assert_eq!(image.isa().check_timed(), Ok(()));
        let said = "kernels for NVIDIA GPUs from Volta on are bounded, run and predicted, but neither measured nor rewritten yet";
        assert_eq!(image.isa().check_measured().unwrap_err().to_string(), said);
    }
    let supported = "(sm_50 to sm_62, sm_75 to sm_103, sm_110 to sm_121 are)";
    let renumbered = |number: u8| {
        let mut bytes = data("tiny.sm_75.cubin");
        for byte in &mut bytes[48..52] {
            *byte = if *byte == 75 { number } else { *byte };
        }
        Image::parse(&bytes).unwrap()
    };
    // Code of sm_72 is disassembled; what analyses it refuses it.
    let image = renumbered(72);
    assert_eq!(image.isa().to_string(), "sm_72");
    assert_eq!(image.kernels().map(<[_]>::len), Ok(1));
    let said = "kernels for sm_72 are listed and disassembled, but neither analysed nor run yet";
    assert_eq!(
        image.isa().check_supported().unwrap_err().to_string(),
        format!("{said} {supported}")
    );
    assert!(!image.isa().is_supported() && !image.isa().is_run());
    // No table has the instructions of sm_107.
    let image = renumbered(107);
    assert_eq!(image.isa().to_string(), "sm_107");
    let said = "sm_107 is not supported yet, only `list` and `extract` read its files";
    let said = format!("{said} {supported}");
    assert_eq!(image.kernels().unwrap_err().to_string(), said);
    assert_eq!(
        image.kernel("tiny").unwrap_err().to_string(),
        format!("kernel tiny: {said}")
    );
}

#[test]
fn numbers_between_the_supported_ones_are_refused() {
    let mut bytes = data("tiny.sm_52.cubin");
    for (number, supported) in [
        (50, true),
        (51, false),
        (53, true),
        (54, false),
        (62, true),
        (63, false),
        (30, false),
    ] {
        bytes[48] = number;
        let image = Image::parse(&bytes).unwrap();
        assert_eq!(image.isa().to_string(), format!("sm_{number}"));
        assert_eq!(image.kernels().is_ok(), supported, "sm_{number}");
    }
}

#[test]
fn unknown_abi_version() {
    let mut bytes = data("tiny.sm_52.cubin");
    bytes[8] = 9;
    assert_eq!(
        refusal(&bytes),
        "offset 0x8: ABI version 9 is not known (7 and 8 are)"
    );
}

#[test]
fn files_that_are_not_cubins() {
    assert_eq!(refusal(b""), "offset 0x0: the file is empty");
    assert_eq!(
        refusal(b"\x7fELF\x02\x01\x01"),
        "offset 0x7: the file ends inside the ELF header (64 bytes)"
    );
    assert_eq!(
        refusal(&[0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0]),
        "offset 0x0: this is not a single cubin"
    );
    assert_eq!(
        refusal(b"//\n// Generated by NVIDIA NVVM Compiler"),
        "offset 0x0: this is text, such as CUDA C++ or PTX; machine code is needed; compile CUDA C++ with `nvcc -cubin -arch=sm_61`, PTX with `ptxas -arch sm_61`"
    );
    for (bytes, what) in [
        (
            &b"#include <cuda.h>\n"[..],
            "this is text, such as CUDA C++ or PTX",
        ),
        (
            b"/* saxpy */\n__global__ void f",
            "this is text, such as CUDA C++ or PTX",
        ),
        (
            b"\n\n__global__ void f(int *p) {}",
            "this is text, such as CUDA C++ or PTX",
        ),
        (b"\xed\x43\x4e\x7f\x01\x02", "this is LTO-IR"),
        (
            b"PK\x03\x04\x14",
            "this is a ZIP archive, such as a Python wheel",
        ),
        (b"\x1f\x8b\x08", "this is compressed by gzip"),
        (b"\xfd7zXZ\0", "this is compressed by xz"),
        (b"BZh91AY", "this is compressed by bzip2"),
        (b"\x28\xb5\x2f\xfd", "this is compressed by zstd"),
    ] {
        let said = refusal(bytes);
        assert!(said.starts_with(&format!("offset 0x0: {what}")), "{said}");
        // Each says what to do.
        assert!(said.contains("; "), "{said}");
    }
    assert_eq!(
        refusal(b"\x89PNG"),
        "offset 0x0: this is neither a cubin nor a file that holds cubins: it does not begin like one"
    );
    let mut elf32 = data("tiny.sm_52.cubin");
    elf32[4] = 1;
    assert_eq!(
        refusal(&elf32),
        "offset 0x4: this is a 32-bit ELF file; cubins are 64-bit"
    );
}

#[test]
fn host_files_are_recognised() {
    let mut bytes = data("tiny.sm_52.cubin");
    bytes[18] = 62;
    assert_eq!(
        refusal(&bytes),
        "offset 0x12: this is an ELF file for x86-64 without NVIDIA machine code inside"
    );
}

#[test]
fn an_unknown_kernel_name_lists_the_kernels() {
    let image = Image::parse(&data("features.sm_61.cubin")).unwrap();
    assert_eq!(
        image.kernel("nothing").unwrap_err().to_string(),
        "there is no kernel \"nothing\"; the file has report, outer::scale"
    );
}

/// Errors in the parts of one kernel refuse that kernel only.
#[test]
fn contradictions_are_refused_where_they_are() {
    let original = data("features.sm_61.cubin");
    // EXIT_INSTR_OFFSETS of 0x148, moved past the code of 0x240 bytes.
    let (at, bytes) = replace(
        &original,
        &[4, 0x1c, 4, 0, 0x48, 1, 0, 0],
        &[4, 0x1c, 4, 0, 0x40, 2, 0, 0],
    );
    assert_eq!(
        refused_kernel(&original, &bytes),
        format!(
            "kernel _ZN5outer5scaleIfEEvPT_3BoxIcEi: offset 0x{:x}: attribute EXIT_INSTR_OFFSETS: \
             0x240 is not the address of an instruction (the code has 0x240 bytes)",
            at + 4
        )
    );
    // CBANK_PARAM_SIZE of 16, changed to 20.
    let (_, bytes) = replace(&original, &[3, 0x19, 0x10, 0], &[3, 0x19, 0x14, 0]);
    let said = refused_kernel(&original, &bytes);
    assert!(
        said.ends_with(
            "attribute PARAM_CBANK: the parameters take 16 bytes, but 20 by CBANK_PARAM_SIZE"
        ),
        "{said}"
    );
    // A record that claims more bytes than its section has.
    let (at, bytes) = replace(
        &original,
        &[4, 0x46, 4, 0, 0x68, 1, 0, 0],
        &[4, 0x46, 0xff, 0xff, 0x68, 1, 0, 0],
    );
    assert_eq!(
        refused_kernel(&original, &bytes),
        format!(
            "kernel report: offset 0x{at:x}: attribute 0x46 of 65535 bytes reaches beyond its section"
        )
    );
}

/// Libraries contain kernels whose parameter bank their file does not define.
#[test]
fn an_undefined_parameter_bank_refuses_its_kernel() {
    let original = data("features.sm_61.cubin");
    for kernel in ["_ZN5outer5scaleIfEEvPT_3BoxIcEi", "report"] {
        let at = parameter_bank(&original, kernel);
        let mut bytes = original.clone();
        // Symbol 0 is the undefined one.
        bytes[at..at + 4].fill(0);
        assert_eq!(
            refused_kernel(&original, &bytes),
            format!(
                "kernel {kernel}: offset 0x{at:x}: attribute PARAM_CBANK: symbol 0 is not a \
                 constant bank of this kernel"
            )
        );
    }
}

/// Hand-written kernels refer to the section by an undefined symbol of its name.
#[test]
fn a_parameter_bank_that_an_undefined_symbol_names() {
    let original = data("features.sm_61.cubin");
    let at = parameter_bank(&original, "report");
    let number = u32::from_le_bytes(original[at..at + 4].try_into().unwrap());
    let symbols = section_at(&original, |header| original[header + 4] == 2);
    let strings = section_header(&original, usize::from(original[symbols + 40]));
    let symbol = contents_offset(&original, symbols) + 24 * number as usize;
    let names = contents_offset(&original, strings);
    // The string table of the symbols also contains the section names.
    let name_at = |name: &[u8]| {
        let mut table = original[names..].windows(name.len());
        table.position(|window| window == name).expect("a name") as u32
    };
    for (name, is_read) in [
        (&b".nv.constant0.report\0"[..], true),
        (b".nv.constant0._ZN5outer5scaleIfEEvPT_3BoxIcEi\0", false),
        (b"vprintf\0", false),
    ] {
        let mut bytes = original.clone();
        bytes[symbol..symbol + 4].copy_from_slice(&name_at(name).to_le_bytes());
        bytes[symbol + 4..symbol + 8].fill(0);
        if is_read {
            let image = Image::parse(&bytes).unwrap();
            let sound = Image::parse(&original).unwrap();
            let block = |image: &Image| image.kernel("report").unwrap().param_block.clone();
            assert!(block(&image).is_some());
            assert_eq!(block(&image), block(&sound));
        } else {
            let said = refused_kernel(&original, &bytes);
            assert!(
                said.ends_with("is not a constant bank of this kernel"),
                "{said}"
            );
        }
    }
}

/// Header of the first section that satisfies the predicate.
fn section_at(bytes: &[u8], predicate: impl Fn(usize) -> bool) -> usize {
    let count = usize::from(u16::from_le_bytes([bytes[60], bytes[61]]));
    let mut headers = (0..count).map(|section| section_header(bytes, section));
    headers
        .find(|&header| predicate(header))
        .expect("the section")
}

/// Offset of the contents of a section.
fn contents_offset(bytes: &[u8], header: usize) -> usize {
    u64::from_le_bytes(bytes[header + 24..header + 32].try_into().expect("8 bytes")) as usize
}

/// Offset of the symbol in the attribute PARAM_CBANK of a kernel.
fn parameter_bank(bytes: &[u8], kernel: &str) -> usize {
    let image = Image::parse(bytes).expect("a sound file");
    let size = image
        .kernel(kernel)
        .expect("a sound file")
        .param_block
        .clone()
        .expect("a sound file");
    let place = [size.offset.to_le_bytes(), size.size.to_le_bytes()].concat();
    let is_record = |at: &usize| {
        bytes[*at..].starts_with(&[4, 0x0a, 8, 0]) && bytes[at + 8..].starts_with(&place)
    };
    (0..bytes.len() - 12).find(is_record).expect("the record") + 4
}

/// The flag that NVIDIA's assembler sets for GEMMs does not mark an accelerator.
#[test]
fn a_software_flag_is_no_accelerator() {
    for number in [50u8, 52, 60, 61, 62] {
        let mut bytes = data("tiny.sm_52.cubin");
        let flags = 0x3c_0d00 | u32::from(number);
        bytes[48..52].copy_from_slice(&flags.to_le_bytes());
        let image = Image::parse(&bytes).expect("a sound file");
        assert_eq!(image.isa().to_string(), format!("sm_{number}"));
        assert_eq!(image.kernels().expect("a sound file").len(), 1);
    }
}

fn section_header(bytes: &[u8], section: usize) -> usize {
    u64::from_le_bytes(bytes[40..48].try_into().expect("a sound file")) as usize + 64 * section
}

/// A part without an owner would silently be missing from its kernel.
#[test]
fn parts_without_an_owner_are_refused() {
    let original = data("features.sm_61.cubin");
    let mut refused = Vec::new();
    // Sections 17, 18: constant bank 0 of each kernel; 22, 24: their shared memory (`readelf -S`).
    for section in [17, 18, 22, 24] {
        let mut bytes = original.clone();
        bytes[section_header(&original, section) + 44] = 0;
        let said = refused_kernel(&original, &bytes);
        assert!(
            said.ends_with("belongs to section 0, which is not code"),
            "{said}"
        );
        refused.push(said);
    }
    assert!(
        refused[0].contains(".nv.constant0._ZN5outer5scale"),
        "{}",
        refused[0]
    );
    assert!(refused[3].contains(".nv.shared.report"), "{}", refused[3]);
}

/// Without its name, the part could belong to any kernel.
#[test]
fn parts_without_owner_and_name_are_refused_with_all() {
    let original = data("features.sm_61.cubin");
    let mut bytes = original.clone();
    bytes[section_header(&original, 17) + 44] = 0;
    let (_, bytes) = replace(
        &bytes,
        b".nv.constant0._ZN5outer5scale",
        b".nv.constant0._ZN5Outer5",
    );
    let said = refusal(&bytes);
    assert!(
        said.ends_with("belongs to section 0, which is not code"),
        "{said}"
    );
}

/// Sections of code: without contents, with contents that reach beyond the file, with too many barriers.
#[test]
fn a_damaged_code_section_refuses_its_kernel() {
    let original = data("features.sm_61.cubin");
    let image = Image::parse(&original).unwrap();
    let code = image.kernel("report").unwrap().file_offset.to_le_bytes();
    let header = (0..)
        .map(|section| section_header(&original, section))
        .find(|header| original[header + 24..header + 32] == code)
        .unwrap();
    for (at, value, said) in [
        (4, 8, "the code section has no contents"),
        (27, 0x7f, "reaches beyond the end of the file"),
        (
            11,
            0xff,
            "the code section states 4086 barriers, at most 16 exist",
        ),
        (
            16,
            8,
            "the code section has the fixed address 0x8, expected 0",
        ),
        (32, 8, "function report reaches beyond its section"),
    ] {
        let mut bytes = original.clone();
        bytes[header + at] = value;
        if at == 32 {
            bytes[header + 33] = 0;
        }
        let why = refused_kernel(&original, &bytes);
        assert!(
            why.starts_with("kernel report: offset 0x") && why.contains(said),
            "{why}"
        );
    }
}

/// All variables of a file lie in one section, which is read once.
#[test]
fn many_variables_in_one_section() {
    const VARIABLES: usize = 500;
    let original = data("features.sm_61.cubin");
    let variable = |name: &str| {
        let image = Image::parse(&original).unwrap();
        let found = image.variables().iter().find(|v| *v.name == *name).cloned();
        found.expect("a variable of the file")
    };
    let bytes = with_symbols(&original, "$str", VARIABLES);
    let image = Image::parse(&bytes).unwrap();
    assert!(image.refused().is_empty(), "{:?}", image.refused());
    assert_eq!(image.kernels().unwrap().len(), 2);
    let copies = image.variables().iter().filter(|v| **v == variable("$str"));
    assert_eq!(copies.count(), VARIABLES + 1);
}

/// The file with more copies of a symbol, and with a section of initial values that covers most of it.
fn with_symbols(original: &[u8], name: &str, count: usize) -> Vec<u8> {
    let number = |bytes: &[u8], at: usize| {
        u64::from_le_bytes(bytes[at..at + 8].try_into().expect("a sound file")) as usize
    };
    let sections = usize::from(u16::from_le_bytes(
        original[60..62].try_into().expect("a sound file"),
    ));
    let header_of = |kind: u8| {
        let mut headers = (0..sections).map(|section| section_header(original, section));
        headers
            .find(|&header| original[header + 4] == kind)
            .expect("a sound file")
    };
    let symbols = header_of(2);
    let strings = section_header(original, usize::from(original[symbols + 40]));
    let (start, size) = (
        number(original, symbols + 24),
        number(original, symbols + 32),
    );
    let names = number(original, strings + 24);
    let is_wanted = |symbol: &&[u8]| {
        let at = names + u32::from_le_bytes(symbol[..4].try_into().expect("a sound file")) as usize;
        original[at..].starts_with(format!("{name}\0").as_bytes())
    };
    let table = &original[start..start + size];
    let symbol = table.chunks(24).find(is_wanted).expect("the symbol");
    let initial = section_header(original, usize::from(symbol[6]));
    let mut bytes = original.to_vec();
    let place = bytes.len() as u64;
    bytes.extend_from_slice(table);
    for _ in 0..count {
        bytes.extend_from_slice(symbol);
    }
    let size = bytes.len() as u64 - place;
    bytes[symbols + 24..symbols + 32].copy_from_slice(&place.to_le_bytes());
    bytes[symbols + 32..symbols + 40].copy_from_slice(&size.to_le_bytes());
    // Values up to the end of the file, so that the section is a large part of it.
    let values = number(original, initial + 24);
    let large = (bytes.len() - values) as u64;
    bytes[initial + 32..initial + 40].copy_from_slice(&large.to_le_bytes());
    bytes
}

/// Both were found by fuzzing: a message without a place, and one of several lines.
#[test]
fn texts_without_a_kernel_or_with_an_unprintable_name() {
    let nothing = refusal(b"; a comment\n; and another one");
    assert!(nothing.starts_with("line 2: "), "{nothing}");
    let unprintable = refusal(b"; a text\n.kernel a\x01b\n");
    assert!(unprintable.starts_with("line 2: "), "{unprintable}");
    assert!(!unprintable.contains(char::is_control), "{unprintable:?}");
}
