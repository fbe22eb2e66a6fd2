//! Code objects of AMD's GPUs: `data/README.md` says how the files were made. Expected numbers are from the sources and from
//! llvm-readobj and llvm-dwarfdump.
#![allow(clippy::panic, reason = "a test may panic")]

use crate::support::{assert_refusal, data};
use warpbound_base::CodeAddr;
use warpbound_load::{
    ArgKind, Bytes, CodeObjectKernel, CodeObjectVersion, ContainerKind, EntryKind, HiddenArg,
    Image, ImageDirectory, Isa, Kernel, Linkage, Packing,
};

/// Versions with the files of `kernels.cl`, linked.
const VERSIONS: [(&str, CodeObjectVersion); 5] = [
    ("gcn/kernels.v2.co", CodeObjectVersion::V2),
    ("gcn/kernels.v3.co", CodeObjectVersion::V3),
    ("gcn/kernels.v4.co", CodeObjectVersion::V4),
    ("gcn/kernels.v5.co", CodeObjectVersion::V5),
    ("gcn/kernels.v6.co", CodeObjectVersion::V6),
];

const S_ENDPGM: u32 = 0xbf81_0000;

fn image(name: &str) -> Image {
    Image::parse(&data(name)).unwrap_or_else(|why| panic!("{name}: {why}"))
}

fn kernel<'a>(image: &'a Image, name: &str) -> &'a Kernel {
    image.kernel(name).unwrap_or_else(|why| panic!("{why}"))
}

fn object(kernel: &Kernel) -> &CodeObjectKernel {
    kernel.code_object.as_ref().expect("of a code object")
}

fn word(kernel: &Kernel, at: usize) -> u32 {
    u32::from_le_bytes(kernel.code()[at..at + 4].try_into().expect("four bytes"))
}

/// Explicit arguments: offset, size, kind.
fn explicit(kernel: &Kernel) -> Vec<(u32, u32, ArgKind)> {
    let args = object(kernel).args.iter();
    let explicit = args.filter(|arg| !arg.kind.is_hidden());
    explicit
        .map(|arg| (arg.offset, arg.size, arg.kind))
        .collect()
}

#[test]
fn kernels_of_every_version() {
    for (name, version) in VERSIONS {
        let image = image(name);
        assert_eq!(image.isa().to_string(), "gfx803", "{name}");
        assert_eq!(image.linkage(), Linkage::Executable, "{name}");
        assert_eq!(image.refused(), [], "{name}");
        assert_eq!(image.warnings(), [], "{name}");
        let names: Vec<&str> = image.kernel_names().collect();
        assert_eq!(names, ["add", "call", "scratch", "hidden"], "{name}");
        let others: Vec<&str> = image.others().iter().map(|o| &*o.name).collect();
        assert_eq!(others, ["table"], "{name}");
        for kernel in image.kernels().expect("supported") {
            assert_eq!(object(kernel).version, version);
            assert!(object(kernel).descriptor.mode() == 0x3c0, "{name}");
        }
        use ArgKind::{ByValue, DynamicSharedPointer, GlobalBuffer};
        let add = kernel(&image, "add");
        let pointers = [(0, 8, GlobalBuffer), (8, 8, GlobalBuffer)];
        assert_eq!(explicit(add)[..2], pointers);
        assert_eq!(explicit(add)[2..], [(16, 4, ByValue)]);
        assert_eq!((object(add).kernarg_size, add.required_block), (20, None));
        assert_eq!(add.max_threads, Some([256, 1, 1]));
        let call = kernel(&image, "call");
        let expected = [
            (0, 8, GlobalBuffer),
            (8, 1, ByValue),
            (12, 4, DynamicSharedPointer),
            (16, 2, ByValue),
        ];
        assert_eq!(explicit(call), expected, "{name}");
        let params: Vec<_> = call
            .params
            .iter()
            .map(|p| (p.ordinal, p.offset, p.size))
            .collect();
        assert_eq!(params, [(0, 0, 8), (1, 8, 1), (2, 12, 4), (3, 16, 2)]);
        assert_eq!(call.required_block, Some([64, 1, 1]), "{name}");
        assert_eq!(kernel(&image, "scratch").frame_size, Some(164), "{name}");
    }
}

/// The code of a kernel that calls nothing is its function; of one that calls, the section with all functions.
#[test]
fn code_of_kernels() {
    for (name, _) in VERSIONS {
        let image = image(name);
        let add = kernel(&image, "add");
        assert_eq!(add.entry, CodeAddr(0), "{name}");
        assert_eq!(add.functions.len(), 1, "{name}");
        assert_eq!(add.functions[0].size as usize, add.code().len(), "{name}");
        assert_eq!(word(add, add.code().len() - 4), S_ENDPGM, "{name}");
        let call = kernel(&image, "call");
        assert!(call.entry > CodeAddr(0), "{name}");
        let function = call.functions.iter().find(|f| &*f.name == "multiply_add");
        assert_eq!(function.map(|f| f.start), Some(CodeAddr(0)), "{name}");
        let own = call.functions.iter().find(|f| f.start == call.entry);
        assert_eq!(own.map(|f| &*f.name), Some("call"), "{name}");
        // Both views show the same instructions.
        let at = call
            .functions
            .iter()
            .find(|f| &*f.name == "add")
            .expect("add")
            .start
            .0 as usize;
        assert_eq!(
            call.code()[at..at + add.code().len()],
            *add.code(),
            "{name}"
        );
        let distance = object(add).code_address - object(call).code_address;
        assert_eq!(distance, at as u64, "{name}");
        assert_ne!(add.code_digest(), call.code_digest());
    }
    let image = image("gcn/kernels.v5.co");
    let add = kernel(&image, "add");
    assert_eq!((add.code().len(), object(add).code_address), (116, 0x2300));
    assert_eq!(add.file_offset, 0x1300);
}

/// Every hidden argument that the compilers list is where the table of its version has it, and the tables differ.
#[test]
fn hidden_arguments_of_every_version() {
    for (name, version) in VERSIONS {
        let image = image(name);
        let object = object(kernel(&image, "hidden"));
        assert_eq!(object.hidden_offset(), 16, "{name}");
        let layout = HiddenArg::layout(version);
        let mut found = 0;
        for arg in &object.args {
            let ArgKind::Hidden(hidden) = arg.kind else {
                continue;
            };
            if hidden == HiddenArg::None {
                continue;
            }
            let place = (hidden, arg.offset - 16, arg.size);
            assert!(layout.contains(&place), "{name}: {place:?}");
            let other = match version < CodeObjectVersion::V5 {
                true => HiddenArg::layout(CodeObjectVersion::V5),
                false => HiddenArg::layout(CodeObjectVersion::V4),
            };
            assert!(!other.contains(&place), "{name}: {place:?}");
            found += 1;
        }
        let size = if version < CodeObjectVersion::V5 {
            56
        } else {
            256
        };
        assert_eq!(object.kernarg_size, 16 + size, "{name}");
        assert!(found > 0, "{name}");
    }
}

/// A descriptor in which everything is on, and one in which nothing is.
#[test]
fn descriptors() {
    let image = image("gcn/state.v5.co");
    let everything = kernel(&image, "everything");
    let descriptor = &object(everything).descriptor;
    assert_eq!(descriptor.properties, 0x7f);
    assert_eq!(descriptor.user_registers(), 4 + 2 + 2 + 2 + 2 + 2 + 1);
    assert!(descriptor.has_wave_offset() && descriptor.has_block_info());
    assert!((0..3).all(|axis| descriptor.has_block_index(axis)));
    assert_eq!(descriptor.index_registers(), 3);
    // 17 registers and 30 + 6 special ones, in granules of 4 and 16.
    assert_eq!(descriptor.vector_registers(), 20);
    assert_eq!(descriptor.scalar_registers(), 48);
    // f32: round up, keep denormals; f16 and f64: round to even, keep denormals; no clamp, IEEE.
    assert_eq!(descriptor.mode(), 0b10_1111_0001);
    assert_eq!(everything.static_shared, Some(12));
    assert_eq!(everything.frame_size, Some(20));
    assert_eq!(everything.registers, 17);
    assert_eq!(object(everything).args[0].name.as_deref(), Some("out"));
    let nothing = kernel(&image, "nothing");
    let descriptor = &object(nothing).descriptor;
    assert_eq!((descriptor.properties, descriptor.user_registers()), (0, 0));
    assert!(!descriptor.has_wave_offset() && !descriptor.has_block_info());
    assert!(!(0..3).any(|axis| descriptor.has_block_index(axis)));
    assert_eq!(descriptor.index_registers(), 1);
    let [warning] = image.warnings() else {
        panic!("{:?}", image.warnings());
    };
    let text = warning.to_string();
    assert!(text.contains("kernel nothing"), "{text}");
    assert!(text.contains("its arguments are unknown"), "{text}");
}

/// The table of the loader has the kernels where the linker's is stripped.
#[test]
fn stripped_files() {
    let (whole, stripped) = (image("gcn/kernels.v5.co"), image("gcn/stripped.v5.co"));
    for name in ["add", "call", "scratch", "hidden"] {
        let (whole, stripped) = (kernel(&whole, name), kernel(&stripped, name));
        assert_eq!(whole.code_digest(), stripped.code_digest(), "{name}");
        assert_eq!(whole.entry, stripped.entry, "{name}");
        assert_eq!(object(whole).args, object(stripped).args, "{name}");
    }
}

/// A file that is not linked has the same kernels, but for those that need the address of a variable.
#[test]
fn relocatable_files() {
    for (name, linked) in [
        ("gcn/kernels.v2.o", "gcn/kernels.v2.co"),
        ("gcn/kernels.v5.o", "gcn/kernels.v5.co"),
    ] {
        let (image, linked) = (image(name), image(linked));
        assert_eq!(image.linkage(), Linkage::Relocatable);
        assert!(image.loaded_file().is_none());
        for kernel_name in ["add", "scratch", "hidden"] {
            let (own, same) = (kernel(&image, kernel_name), kernel(&linked, kernel_name));
            assert_eq!(own.code(), same.code(), "{name}");
            assert_eq!(object(own).descriptor, object(same).descriptor, "{name}");
        }
        let [refused] = image.refused() else {
            panic!("{:?}", image.refused());
        };
        let text = refused.error.to_string();
        assert!(text.starts_with("kernel call: offset 0x"), "{text}");
        assert!(
            text.contains("needs the address of table: link the file first"),
            "{text}"
        );
    }
}

#[test]
fn source_lines() {
    let (linked, relocatable) = (image("gcn/lines.v5.co"), image("gcn/lines.v5.o"));
    for image in [&linked, &relocatable] {
        let add = kernel(image, "add");
        let line = |at: u32| add.source_line(CodeAddr(at)).map(|line| line.to_string());
        assert_eq!(line(0).as_deref(), Some("/sources/kernels.cl:13"));
        assert_eq!(line(0x10).as_deref(), Some("/sources/kernels.cl:14"));
        assert_eq!(line(0x70).as_deref(), Some("/sources/kernels.cl:15"));
    }
    let call = kernel(&linked, "call");
    let line = |at: u32| call.source_line(CodeAddr(at)).map(|line| line.line);
    assert_eq!((line(0), line(4)), (Some(10), Some(10)));
    assert_eq!(line(call.entry.0), Some(18));
    assert_eq!(line(call.entry.0 + 0x94), Some(20));
}

/// Segments as the program headers have them, and an address that the loader writes.
#[test]
fn loaded_files() {
    let image = image("gcn/kernels.v5.co");
    let loaded = image.loaded_file().expect("it is linked");
    let segments: Vec<_> = loaded
        .segments
        .iter()
        .map(|s| (s.address, s.bytes.len() as u64, s.size))
        .collect();
    assert_eq!(segments.len(), 3);
    assert_eq!(segments[0].0, 0);
    assert!(segments[2].1 < segments[2].2, "zeros follow the contents");
    let code = &loaded.segments[1];
    let add = kernel(&image, "add");
    let at = (object(add).code_address - code.address) as usize;
    assert_eq!(code.bytes[at..at + add.code().len()], *add.code());
    assert_eq!((loaded.addresses.len(), loaded.undefined.len()), (0, 0));
}

#[test]
fn other_targets_are_listed_and_refused_by_name() {
    let image = image("gcn/kernels.gfx906.co");
    assert_eq!(image.kernel_names().count(), 4);
    let error = image.kernels().expect_err("not supported").to_string();
    assert_eq!(error, "gfx906 is not supported (gfx803 is)");
    for (number, name) in [
        (0x2c, "gfx900"),
        (0x3f, "gfx90a"),
        (0x4c, "gfx942"),
        (0x51, "gfx9-generic"),
    ] {
        let mut bytes = data("gcn/kernels.v5.co");
        bytes[48] = number;
        let image = Image::parse(&bytes).expect("it is listed");
        assert_eq!(image.isa().to_string(), name);
        assert!(image.kernels().is_err());
    }
    // The flags of old files of version 2 do not name the target: the note does.
    let mut bytes = data("gcn/kernels.v2.co");
    bytes[48] = 2;
    let image = Image::parse(&bytes).expect("the note names it");
    assert_eq!(image.isa().to_string(), "gfx803");
    assert_eq!(image.kernels().expect("supported").len(), 4);
    let directory = ImageDirectory::open(Bytes::from(bytes)).expect("it is a code object");
    assert_eq!(directory.container(), ContainerKind::CodeObject);
    assert!(directory.image(&directory.entries()[0]).is_ok());
}

/// Changes bytes of a file, by offset.
fn changed(name: &str, changes: &[(usize, u8)]) -> Vec<u8> {
    let mut bytes = data(name);
    for &(at, byte) in changes {
        bytes[at] = byte;
    }
    bytes
}

#[test]
fn files_are_refused_with_place_and_cause() {
    let file = "gcn/kernels.v5.co";
    for (changes, expected) in [
        (
            &[(7, 66)][..],
            "offset 0x7: the file is for an AMD GPU and OS ABI 66, not for HSA (64)",
        ),
        (
            &[(8, 9)],
            "offset 0x8: code objects of ABI version 9 are not known (0 to 4 are)",
        ),
        (
            &[(48, 0x77)],
            "offset 0x30: there is no AMD target with the number 0x77",
        ),
        (
            &[(16, 2)],
            "offset 0x10: ELF type 2 is neither a linked nor a relocatable code object",
        ),
    ] {
        let error = Image::parse(&changed(file, changes)).expect_err(expected);
        assert_eq!(error.to_string(), expected);
    }
    let bytes = data(file);
    let at = bytes
        .windows(14)
        .position(|w| w == b"amdhsa.kernels")
        .expect("metadata");
    let error = Image::parse(&changed(file, &[(at - 2, 0xdf)])).expect_err("no MessagePack");
    assert!(
        error.to_string().contains("the metadata is no MessagePack"),
        "{error}"
    );
    assert_refusal(&error);
    let error = Image::parse(&changed(file, &[(at - 2, 0xc0)])).expect_err("nil");
    assert!(
        error.to_string().ends_with("the metadata: it is no map"),
        "{error}"
    );
    let file = "gcn/kernels.v2.co";
    let bytes = data(file);
    let at = bytes
        .windows(8)
        .position(|w| w == b"Kernels:")
        .expect("metadata");
    let error = Image::parse(&changed(file, &[(at + 7, b'&')])).expect_err("no key");
    assert_eq!(
        error.to_string(),
        format!("offset 0x{at:x}: the metadata has a line without a key")
    );
}

/// Facts about a kernel do not hold for the same code with other float modes.
#[test]
fn digests_depend_on_float_modes() {
    let file = "gcn/state.v5.co";
    let bytes = data(file);
    let registers = [4, 0x11, 0x8f, 0];
    let at = bytes
        .windows(4)
        .position(|w| w == registers)
        .expect("rsrc1");
    let other = Image::parse(&changed(file, &[(at + 1, 0x01)])).expect("a mode");
    let (own, other) = (image(file), other);
    let (own, other) = (kernel(&own, "everything"), kernel(&other, "everything"));
    assert_eq!(own.code(), other.code());
    assert_ne!(own.code_digest(), other.code_digest());
}

/// Contradictions within one kernel refuse that kernel only.
#[test]
fn kernels_are_refused_with_place_and_cause() {
    // The descriptors of `state.s`, whose offsets are those of the symbols.
    let file = "gcn/state.v5.co";
    let bytes = data(file);
    let lds = [12, 0, 0, 0, 20, 0, 0, 0, 8, 0, 0, 0];
    let at = bytes
        .windows(12)
        .position(|w| w == lds)
        .expect("a descriptor");
    for (offset, byte, expected) in [
        (
            0,
            13,
            "the descriptor states 13 bytes of LDS, the metadata 12",
        ),
        (
            4,
            21,
            "the descriptor states 21 bytes of scratch, the metadata 20",
        ),
        (
            8,
            9,
            "the descriptor states 9 bytes of arguments, the metadata 8",
        ),
        (
            16,
            bytes[at + 16] | 2,
            "the kernel's first instruction is not at a multiple of 4",
        ),
        (
            19,
            2,
            "the kernel's first instruction lies outside the code sections",
        ),
        (48, 0x40, "the descriptor states 4 VGPRs, the metadata 17"),
        (
            57,
            4,
            "the kernel has waves of 32 lanes, which gfx803 has not",
        ),
        (
            58,
            1,
            "the kernel has arguments in registers, which gfx803 has not",
        ),
    ] {
        let image = Image::parse(&changed(file, &[(at + offset, byte)])).expect(expected);
        let [refused] = image.refused() else {
            panic!("{expected}: {:?}", image.refused());
        };
        let text = refused.error.to_string();
        assert!(text.starts_with("kernel everything: offset 0x"), "{text}");
        assert!(text.ends_with(expected), "{text}");
        assert_eq!(image.kernels().expect("supported").len(), 1);
    }
    let bytes = data("gcn/kernels.v5.co");
    let at = bytes
        .windows(8)
        .position(|w| w == b"by_value")
        .expect("a kind");
    let image = Image::parse(&changed("gcn/kernels.v5.co", &[(at, b'x')])).expect("other kernels");
    let text = image.refused()[0].error.to_string();
    assert!(
        text.contains("arguments of kind \"xy_value\" are not known"),
        "{text}"
    );
}

/// Entries of a bundle, of a host file with one, and compressed bundles.
#[test]
fn offload_bundles() {
    let bundle = data("gcn/bundle.hipfb");
    let directory = ImageDirectory::open(Bytes::from(bundle.clone())).expect("a bundle");
    assert_eq!(directory.container(), ContainerKind::OffloadBundle);
    let entries: Vec<_> = directory
        .entries()
        .iter()
        .map(|entry| (entry.kind, entry.isa.to_string(), entry.size))
        .collect();
    let object = |isa: &str, size| (EntryKind::CodeObject, isa.to_owned(), size);
    let size = data("gcn/state.v5.co").len() as u64;
    let expected = [
        object("gfx803", size),
        object("gfx906", 64),
        object("unknown-gfx", 64),
    ];
    assert_eq!(entries, expected);
    let image = directory.image(&directory.entries()[0]).expect("gfx803");
    assert_eq!(image.kernels().expect("supported").len(), 2);
    // Two bundles with padding between them.
    let mut two = bundle.clone();
    two.resize(two.len().next_multiple_of(4096), 0);
    two.extend(&bundle);
    let directory = ImageDirectory::open(Bytes::from(two)).expect("bundles");
    assert_eq!(directory.entries().len(), 6);
    assert!(directory.entries()[3].isa.is_supported());
    for length in [10, 24, 31, 40, 60, 100, 300, bundle.len() - 1] {
        let error = ImageDirectory::open(Bytes::from(bundle[..length].to_vec()));
        assert_refusal(&error.err().expect("it is cut short"));
    }
}

/// Compressed bundles of clang, which state their size from version 2 on; version 1 is version 2 without that field.
pub(crate) fn compressed_bundles() -> Vec<(&'static str, Vec<u8>, Packing)> {
    let first = |name| {
        let mut bytes = data(name);
        bytes.drain(8..12);
        bytes[4] = 1;
        bytes
    };
    vec![
        ("version 1, zlib", first("gcn/ccob2.hipfb"), Packing::Zlib),
        ("version 1, zstd", first("gcn/ccob2z.hipfb"), Packing::Zstd),
        ("version 2, zlib", data("gcn/ccob2.hipfb"), Packing::Zlib),
        ("version 2, zstd", data("gcn/ccob2z.hipfb"), Packing::Zstd),
        ("version 3, zstd", data("gcn/ccob3z.hipfb"), Packing::Zstd),
    ]
}

/// Sizes and names are those that `clang-offload-bundler` and `llvm-nm` show of the unpacked bundle.
#[test]
fn compressed_offload_bundles() {
    let names = ["perm", "clamps", "ids3", "stale"];
    for (title, bytes, packing) in compressed_bundles() {
        let length = bytes.len() as u64;
        // A second one after padding.
        let mut two = bytes.clone();
        two.resize(bytes.len().next_multiple_of(4096), 0);
        two.extend(&bytes);
        for (bytes, count) in [(bytes, 1), (two, 2)] {
            let directory = ImageDirectory::open(Bytes::from(bytes)).expect(title);
            assert_eq!(directory.container(), ContainerKind::OffloadBundle);
            let entries = directory.entries();
            assert_eq!(entries.len(), count, "{title}");
            for entry in entries {
                assert_eq!(entry.isa.to_string(), "gfx803", "{title}");
                assert_eq!((entry.packing, entry.size), (packing, 5856), "{title}");
                assert!(entry.packed_size < length, "{title}");
                let image = directory.image(entry).expect(title);
                let mut found: Vec<&str> = image.kernel_names().collect();
                found.sort_by_key(|name| names.iter().position(|known| known == name));
                assert_eq!(found, names, "{title}");
            }
        }
    }
    for (at, byte, expected) in [
        (
            4,
            4,
            "offset 0x0: this is a compressed offload bundle of version 4",
        ),
        (
            6,
            2,
            "offset 0x6: this offload bundle is compressed by method 2",
        ),
        (
            8,
            23,
            "offset 0x0: a compressed bundle of 0x17 bytes is less than its header",
        ),
        (
            12,
            16,
            "offset 0x0: an entry of 0x16e0 bytes at 0x1000 reaches beyond the end",
        ),
    ] {
        let mut bytes = data("gcn/ccob2.hipfb");
        bytes[at] = byte;
        if at >= 8 {
            bytes[at + 1] = if at == 8 { 0 } else { 0x10 };
        }
        let error = ImageDirectory::open(Bytes::from(bytes))
            .err()
            .expect(expected);
        assert!(error.to_string().starts_with(expected), "{error}");
    }
}

#[test]
fn code_objects_are_entries_of_their_own() {
    for (name, isa) in [
        ("gcn/kernels.v5.co", "gfx803"),
        ("gcn/kernels.gfx906.co", "gfx906"),
    ] {
        let directory = ImageDirectory::open(Bytes::from(data(name))).expect(name);
        let [entry] = directory.entries() else {
            panic!("{name}");
        };
        assert_eq!(entry.kind, EntryKind::CodeObject);
        assert_eq!(entry.isa.to_string(), isa);
        assert!(matches!(entry.isa, Isa::Gfx(_)));
        assert_eq!(directory.image(entry).expect(name).isa(), entry.isa);
    }
}
