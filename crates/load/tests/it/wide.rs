//! Cubins and fat binaries for GPUs with instructions of 128 bits, against the output of `cuobjdump -elf` and
//! `cuobjdump -res-usage` 13.5 for the same files.

#![allow(clippy::panic, reason = "helpers of tests")]

use crate::support::{assert_refusal, data, exercise, wide, wide_files};
use warpbound_load::{
    Bytes, EntryKind, Image, ImageDirectory, IndirectKind, Kernel, Linkage, Packing, Param,
    SkippedKind,
};

fn image(bytes: &[u8]) -> Image {
    Image::parse(bytes).unwrap_or_else(|diagnostic| panic!("{diagnostic}"))
}

fn resources(build: &str) -> Image {
    image(&data(&format!("wide/resources{build}.cubin")))
}

#[track_caller]
fn kernel<'a>(image: &'a Image, name: &str) -> &'a Kernel {
    let mut kernels = image.all_kernels().iter();
    kernels
        .find(|kernel| &*kernel.name == name)
        .unwrap_or_else(|| panic!("no kernel {name}: {:?}", image.all_refused()))
}

/// Sections of a file: offset of the header, name, offset and size of the contents.
fn sections(bytes: &[u8]) -> Vec<(usize, String, usize, usize)> {
    let word = |at: usize| {
        u64::from_le_bytes(bytes[at..at + 8].try_into().expect("a field of the file")) as usize
    };
    let half = |at: usize| {
        usize::from(u16::from_le_bytes(
            bytes[at..at + 2].try_into().expect("a field of the file"),
        ))
    };
    let (table, count, names) = (word(40), half(60), half(62));
    let strings = word(table + 64 * names + 24);
    (0..count)
        .map(|index| {
            let header = table + 64 * index;
            let name = u32::from_le_bytes(
                bytes[header..header + 4]
                    .try_into()
                    .expect("a field of the file"),
            ) as usize;
            let name = &bytes[strings + name..];
            let end = name
                .iter()
                .position(|&byte| byte == 0)
                .expect("a field of the file");
            let name = String::from_utf8(name[..end].to_vec()).expect("a field of the file");
            (header, name, word(header + 24), word(header + 32))
        })
        .collect()
}

/// Changes the header of the code section of a function.
fn with_section(bytes: &[u8], name: &str, change: impl Fn(&mut [u8])) -> Vec<u8> {
    let mut changed = bytes.to_vec();
    let (header, ..) = sections(bytes)
        .into_iter()
        .find(|(_, own, ..)| own == name)
        .expect("the section");
    change(&mut changed[header..header + 64]);
    changed
}

/// Changes the number of each attribute `from` in a section.
fn with_attribute(bytes: &[u8], section: &str, from: [u8; 2], to: u8) -> Vec<u8> {
    let mut changed = bytes.to_vec();
    let (_, _, start, size) = sections(bytes)
        .into_iter()
        .find(|(_, own, ..)| own == section)
        .expect("the section");
    let mut at = start;
    while at < start + size {
        if bytes[at..at + 2] == from {
            changed[at + 1] = to;
        }
        at += match bytes[at] {
            4 => 4 + usize::from(u16::from_le_bytes([bytes[at + 2], bytes[at + 3]])),
            _ => 4,
        };
    }
    changed
}

#[test]
fn architectures_have_their_names() {
    for (file, isa) in [
        (".cuda12.sm_75", "sm_75"),
        (".cuda12.sm_90a", "sm_90a"),
        (".cuda13.sm_75", "sm_75"),
        (".cuda13.sm_90", "sm_90"),
        // The ELF flags of CUDA 13 have no suffix.
        (".cuda13.sm_100a", "sm_100a"),
        (".cuda13.sm_120f", "sm_120f"),
    ] {
        let bytes = data(&format!("wide/resources{file}.cubin"));
        assert_eq!(image(&bytes).isa().to_string(), isa);
        let directory = ImageDirectory::open(Bytes::from(bytes)).unwrap();
        assert_eq!(directory.entries()[0].isa.to_string(), isa);
        assert_eq!(
            directory
                .image(&directory.entries()[0])
                .unwrap()
                .isa()
                .to_string(),
            isa
        );
    }
}

/// Every kernel of our own is read, without a warning, and each address is inside its code.
#[test]
fn own_kernels_are_read_whole() {
    let mut kernels = 0;
    for (name, bytes) in wide_files() {
        assert_eq!(exercise(&bytes), Ok(()), "{name}");
        let image = image(&bytes);
        assert_eq!(
            (image.warnings(), image.all_refused()),
            (&[][..], &[][..]),
            "{name}"
        );
        assert_eq!(
            image.kernel_names().len(),
            image.all_kernels().len(),
            "{name}"
        );
        assert_eq!(image.kernels().is_ok(), image.isa().is_decoded());
        for kernel in image.all_kernels() {
            kernels += 1;
            assert!(
                kernel.registers >= 2 && kernel.code().len() % 128 == 0,
                "{name}"
            );
            assert_eq!(kernel.instruction_slots(), Some(kernel.code().len() / 16));
            let block = kernel.param_block.as_ref().expect("parameters");
            let offset = match image.isa().to_string().as_str() {
                "sm_75" | "sm_87" => 0x160,
                "sm_90" => 0x210,
                _ => 0x380,
            };
            assert_eq!((block.bank, block.offset), (0, offset), "{name}");
            let no_name = kernel
                .other_attributes
                .iter()
                .filter(|a| a.name().is_none());
            // cuobjdump 13.5 has no name for it, either.
            assert!(no_name.into_iter().all(|a| a.code == 0x5f), "{name}");
        }
    }
    assert!(kernels >= 100, "{kernels}");
}

#[test]
fn registers_are_those_of_the_attribute() {
    for (build, expected) in [
        (".cuda12.sm_75", [24, 8, 10]),
        (".cuda12.sm_90a", [24, 10, 12]),
        (".cuda13.sm_75", [24, 8, 10]),
        (".cuda13.sm_90", [24, 10, 14]),
        (".cuda13.sm_100a", [24, 10, 14]),
    ] {
        let image = resources(build);
        let registers = |name| kernel(&image, name).registers;
        let found = ["recursive", "limited", "static_shared"].map(registers);
        assert_eq!(found, expected, "{build}");
    }
    // Bits 31:24 of `sh_info` are no registers from sm_90 on.
    let original = data("wide/resources.cuda13.sm_90.cubin");
    let bytes = with_section(&original, ".text.recursive", |header| header[47] = 200);
    let damaged = image(&bytes);
    assert_eq!(kernel(&damaged, "recursive").registers, 24);
    assert!(damaged.warnings().is_empty());
    // On sm_75 they are, and the maximum is safe.
    let original = data("wide/resources.cuda13.sm_75.cubin");
    let bytes = with_section(&original, ".text.bounded", |header| header[47] = 200);
    let damaged = image(&bytes);
    assert_eq!(kernel(&damaged, "bounded").registers, 200);
    let warning = damaged.warnings()[0].to_string();
    assert!(warning.contains("states 200 registers"), "{warning}");
}

#[test]
fn a_kernel_without_a_number_of_registers_is_refused() {
    const REGCOUNT: [u8; 2] = [4, 0x2f];
    let original = data("wide/resources.cuda13.sm_90.cubin");
    let damaged = image(&with_attribute(&original, ".nv.info", REGCOUNT, 0x7e));
    assert!(damaged.all_kernels().is_empty());
    for refused in damaged.all_refused() {
        assert_refusal(&refused.error);
        assert!(refused.error.to_string().contains("REGCOUNT"));
    }
    // The section has them up to sm_89.
    let original = data("wide/resources.cuda13.sm_75.cubin");
    let damaged = image(&with_attribute(&original, ".nv.info", REGCOUNT, 0x7e));
    assert_eq!(damaged.all_refused(), []);
    // 256 registers: bits 15:8 of the value after the symbol.
    let mut bytes = data("wide/resources.cuda13.sm_90.cubin");
    let (_, _, start, _) = sections(&bytes)
        .into_iter()
        .find(|(_, name, ..)| name == ".nv.info")
        .expect("the section");
    assert_eq!(bytes[start..start + 2], REGCOUNT);
    bytes[start + 9] = 1;
    let damaged = image(&bytes);
    let [refused] = damaged.all_refused() else {
        panic!("{:?}", damaged.all_refused());
    };
    assert!(refused.error.to_string().contains("at most 255 exist"));
}

#[test]
fn barriers_are_those_of_the_attribute() {
    for build in [
        ".cuda12.sm_75",
        ".cuda12.sm_90a",
        ".cuda13.sm_75",
        ".cuda13.sm_90",
    ] {
        let image = resources(build);
        let barriers = |name| kernel(&image, name).barriers;
        let found = ["static_shared", "dynamic_shared", "limited"].map(barriers);
        assert_eq!(found, [6, 1, 0], "{build}");
    }
    for arch in ["sm_75", "sm_87", "sm_90", "sm_120"] {
        let image = image(&wide(&format!("barrier_kinds.{arch}.cubin")));
        assert_eq!(kernel(&image, "barrier_named").barriers, 16, "{arch}");
        assert_eq!(kernel(&image, "barrier_reduce").barriers, 1, "{arch}");
    }
    // Bits 20 and up of the flags are no barriers in CUDA 13.
    let original = data("wide/resources.cuda13.sm_75.cubin");
    let nine_barriers = |header: &mut [u8]| header[10] |= 9 << 4;
    let damaged = image(&with_section(
        &original,
        ".text.static_shared",
        nine_barriers,
    ));
    assert_eq!(kernel(&damaged, "static_shared").barriers, 6);
    let warning = damaged.warnings()[0].to_string();
    assert!(warning.contains("flags are 0x9, expected 0"), "{warning}");
    // In CUDA 12 they are.
    let original = data("wide/resources.cuda12.sm_75.cubin");
    let damaged = image(&with_section(&original, ".text.limited", nine_barriers));
    assert_eq!(kernel(&damaged, "limited").barriers, 9);
}

#[test]
fn shared_memory_is_without_the_part_of_the_system() {
    for (build, reserved) in [
        (".cuda12.sm_75", 0),
        (".cuda12.sm_90a", 0x400),
        (".cuda13.sm_75", 0),
        (".cuda13.sm_90", 0x400),
        (".cuda13.sm_100a", 0x400),
    ] {
        let image = resources(build);
        let stated = kernel(&image, "static_shared");
        assert_eq!(
            (stated.static_shared, stated.reserved_shared),
            (Some(1200), reserved),
            "{build}"
        );
        assert_eq!(
            kernel(&image, "dynamic_shared").static_shared,
            Some(0),
            "{build}"
        );
    }
    let unlinked = resources("_relocatable.cuda13.sm_90");
    assert_eq!(unlinked.linkage(), Linkage::Relocatable);
    assert_eq!(kernel(&unlinked, "static_shared").static_shared, None);
}

#[test]
fn parameters_of_both_versions() {
    let param = |ordinal, offset, size| Param {
        ordinal,
        offset,
        size,
    };
    for build in [".cuda12.sm_75", ".cuda13.sm_90", ".cuda13.sm_120f"] {
        let image = resources(build);
        let large = kernel(&image, "large_params");
        assert_eq!(
            large.params,
            [param(0, 0, 12_000), param(1, 12_000, 8)],
            "{build}"
        );
        assert_eq!(
            large.param_block.as_ref().map(|block| block.size),
            Some(12_008)
        );
        let medium = kernel(&image, "medium_params");
        let expected = [param(0, 0, 4000), param(1, 4000, 8), param(2, 4008, 1)];
        assert_eq!(medium.params, expected, "{build}");
    }
}

#[test]
fn launch_limits() {
    let image = resources(".cuda13.sm_90");
    assert_eq!(kernel(&image, "cluster").required_cluster, Some([2, 2, 1]));
    let rank = kernel(&image, "cluster_rank");
    assert_eq!(
        (rank.required_cluster, rank.max_cluster_blocks),
        (None, Some(8))
    );
    assert_eq!(rank.max_threads, Some([128, 1, 1]));
    assert_eq!(kernel(&image, "limited").register_limit, Some(40));
    let recursive = kernel(&image, "recursive");
    assert!(recursive.has_unknown_stack);
    assert_eq!(
        (recursive.min_stack_size, recursive.crs_stack_size),
        (None, None)
    );
    let prints = kernel(&image, "prints");
    assert_eq!(
        (prints.min_stack_size, prints.system_calls.len()),
        (Some(8), 1)
    );
    assert_eq!(&*prints.externs[0], "vprintf");
}

/// Targets of jump tables, as `cuobjdump -elf` prints them.
#[test]
fn indirect_branches() {
    for arch in ["sm_75", "sm_87", "sm_90", "sm_120"] {
        let image = image(&wide(&format!("switch_table.{arch}.cubin")));
        let kernels = image.all_kernels().iter();
        let branches: Vec<_> = kernels.flat_map(|k| &k.indirect_branches).collect();
        assert!(!branches.is_empty(), "{arch}");
        for branch in branches {
            assert_eq!(branch.kind, IndirectKind::Branch, "{arch}");
            assert!(branch.targets.len() >= 2, "{arch}");
            assert!(branch.targets.iter().all(|at| at.0 % 16 == 0));
        }
    }
    let image = image(&wide("switch_table.sm_90.cubin"));
    let branch = &kernel(&image, "switch_table").indirect_branches[0];
    let targets: Vec<u32> = branch.targets.iter().map(|at| at.0).collect();
    assert_eq!((branch.at.0, targets), (0x180, vec![0x320, 0x190, 0x830]));
}

#[test]
fn sections_that_are_not_read_are_counted() {
    let kinds = |name: &str| -> Vec<(SkippedKind, usize)> {
        let skipped = image(&wide(name)).skipped();
        assert!(skipped.iter().all(|skipped| skipped.bytes > 0));
        skipped
            .iter()
            .map(|skipped| (skipped.kind, skipped.sections))
            .collect()
    };
    let (notes, records) = ((SkippedKind::Notes, 2), (SkippedKind::Compatibility, 1));
    assert_eq!(kinds("atomics.sm_75.cubin"), [notes]);
    assert_eq!(kinds("atomics.sm_90.cubin"), [records, notes]);
    let mercury = (SkippedKind::Mercury, 20);
    assert_eq!(kinds("atomics.sm_120.cubin"), [mercury, records, notes]);
}

#[test]
fn relocations_have_names_and_operands() {
    let image = resources("_relocatable.cuda13.sm_90");
    let texts = |name| -> Vec<String> {
        let kernel = kernel(&image, name);
        let own = kernel.own_section();
        own.relocations
            .iter()
            .map(|relocation| relocation.operand(0).text)
            .collect()
    };
    // As nvdisasm 13.5 prints them, but for the labels of return addresses.
    assert_eq!(
        texts("bounded"),
        ["32@lo(variable)", "32@hi(variable)", "`(table)"]
    );
    assert_eq!(
        texts("recursive"),
        [
            "32@lo((recursive + 0x70))",
            "32@hi((recursive + 0x70))",
            "`(_Z9fibonaccii)"
        ]
    );
    for kernel in image.all_kernels().iter().chain(image.all_functions()) {
        for relocation in &kernel.relocations {
            assert!(relocation.name().is_some(), "{relocation}");
        }
    }
}

#[test]
fn a_fat_binary_for_many_chips() {
    let bytes = data("wide/wide.fatbin");
    let directory = ImageDirectory::open(Bytes::from(bytes.clone())).unwrap();
    let found: Vec<(String, String, Packing)> = directory
        .entries()
        .iter()
        .map(|entry| (entry.kind.to_string(), entry.isa.to_string(), entry.packing))
        .collect();
    let cubin = |isa: &str| ("cubin".to_owned(), isa.to_owned(), Packing::Zstd);
    assert_eq!(
        found[..4],
        [
            cubin("sm_75"),
            cubin("sm_90"),
            cubin("sm_100a"),
            cubin("sm_120f")
        ]
    );
    assert_eq!((&*found[4].0, &*found[4].1), ("PTX", "sm_90"));
    for entry in &directory.entries()[..4] {
        let image = directory.image(entry).unwrap();
        assert_eq!(image.isa(), entry.isa);
        assert!(!image.all_kernels().is_empty() && image.warnings().is_empty());
    }
    // The kind is the first field of the first entry, after a header of 16 bytes.
    for (number, kind, name) in [
        (8, EntryKind::Lto, "LTO"),
        (64, EntryKind::RelocatablePtx, "relocatable PTX"),
        (128, EntryKind::Tile, "tile IR"),
        (99, EntryKind::Other(99), "kind 99"),
    ] {
        let mut bytes = bytes.clone();
        bytes[16] = number;
        let directory = ImageDirectory::open(Bytes::from(bytes)).unwrap();
        let entry = &directory.entries()[0];
        assert_eq!((entry.kind, &*entry.kind.to_string()), (kind, name));
        let error = directory.image(entry).unwrap_err().to_string();
        assert_eq!(error, format!("this is {name}, no machine code"));
    }
}
