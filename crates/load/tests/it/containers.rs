//! Fat binaries, host files and archives; `cargo xtask containers` builds them with NVIDIA's tools, gcc and ar.
#![allow(clippy::panic, reason = "a test may panic")]

use crate::support::data;
use warpbound_load::{
    Bytes, ContainerKind, EntryKind, FatbinEntry, Image, ImageDirectory, Packing,
};

const KERNELS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../kernels/built");

fn open(name: &str) -> ImageDirectory {
    let bytes = Bytes::from(data(&format!("containers/{name}")));
    ImageDirectory::open(bytes).unwrap_or_else(|why| panic!("{name}: {why}"))
}

fn refusal(bytes: Vec<u8>) -> String {
    match ImageDirectory::open(Bytes::from(bytes)) {
        Ok(_) => panic!("it is accepted"),
        Err(diagnostic) => diagnostic.to_string(),
    }
}

/// Properties of an entry in the directory: kind, architecture, packing, unpacked size.
fn summary(entry: &FatbinEntry) -> (EntryKind, String, Packing, u64) {
    (entry.kind, entry.isa.to_string(), entry.packing, entry.size)
}

/// Unpacked entries equal the packed cubins byte for byte.
#[test]
fn fat_binaries() {
    let originals = ["if_else.sm_61.cubin", "vote.sm_62.cubin"]
        .map(|name| std::fs::read(format!("{KERNELS}/{name}")).expect(name));
    for (name, packing) in [
        ("plain.fatbin", Packing::None),
        ("lz4.fatbin", Packing::Lz4),
        ("zstd.fatbin", Packing::Zstd),
    ] {
        let library = open(name);
        assert_eq!(library.container(), ContainerKind::FatBinary);
        let found: Vec<_> = library.entries().iter().map(summary).collect();
        let expected = [
            (EntryKind::Cubin, "sm_61".to_owned(), packing, 9128),
            (EntryKind::Cubin, "sm_62".to_owned(), packing, 9000),
            (EntryKind::Ptx, "sm_61".to_owned(), packing, 80),
        ];
        assert_eq!(found.len(), 3, "{name}");
        assert_eq!(found[..2], expected[..2], "{name}");
        assert_eq!(found[2].0, EntryKind::Ptx, "{name}");
        for (entry, original) in library.entries().iter().zip(&originals) {
            let image = library.image(entry).expect(name);
            let expected = Image::parse(original).expect("our own cubin");
            for (kernel, same) in image
                .kernels()
                .expect("supported")
                .iter()
                .zip(expected.kernels().expect("supported"))
            {
                assert_eq!(kernel.name, same.name);
                assert_eq!(kernel.code_digest(), same.code_digest());
            }
            assert_eq!(image.kernel_names().len(), expected.kernel_names().len());
        }
        let why = library
            .image(&library.entries()[2])
            .unwrap_err()
            .to_string();
        assert_eq!(why, "this is PTX, no machine code");
    }
}

#[test]
fn host_files() {
    let kinds = |library: &ImageDirectory| {
        let entries = library.entries().iter();
        entries
            .map(|e| format!("{} {} {}", e.kind, e.isa, e.packing))
            .collect::<Vec<_>>()
            .join(", ")
    };
    let object = open("host.o");
    assert_eq!(object.container(), ContainerKind::Host);
    let zstd = "cubin sm_61 zstd, cubin sm_62 zstd, PTX sm_61 zstd";
    assert_eq!(kinds(&object), zstd);
    // The section holds two containers, one after the other.
    let lz4 = zstd.replace("zstd", "lz4");
    assert_eq!(kinds(&open("host.so")), format!("{zstd}, {lz4}"));
    let relocatable = open("relocatable.o");
    assert_eq!(kinds(&relocatable), "cubin sm_61 lz4");
    let image = relocatable
        .image(&relocatable.entries()[0])
        .expect("a cubin");
    assert_eq!(image.linkage(), warpbound_load::Linkage::Relocatable);
    assert_eq!(image.kernel_names().len(), 2);

    let archive = open("host.a");
    assert_eq!(archive.container(), ContainerKind::Archive);
    let members: Vec<_> = archive
        .entries()
        .iter()
        .map(|e| e.member.as_deref())
        .collect();
    let zstd = Some("zstd.o");
    assert_eq!(members, [zstd, zstd, zstd, Some("relocatable.o")]);
    for entry in archive.entries() {
        if entry.kind == EntryKind::Cubin {
            archive.image(entry).expect("a cubin");
        }
    }
}

#[test]
fn a_cubin_is_a_library_of_one() {
    let library = ImageDirectory::open(Bytes::from(data("tiny.sm_52.cubin"))).expect("it opens");
    assert_eq!(library.container(), ContainerKind::Cubin);
    assert_eq!(library.entries().len(), 1);
    assert_eq!(library.entries()[0].isa.to_string(), "sm_52");
    library.image(&library.entries()[0]).expect("it loads");
}

#[test]
fn damage_is_named_with_its_offset() {
    let plain = data("containers/plain.fatbin");
    let with = |at: usize, bytes: &[u8]| {
        let mut damaged = plain.clone();
        damaged[at..at + bytes.len()].copy_from_slice(bytes);
        damaged
    };
    assert_eq!(
        refusal(with(4, &[2])),
        "offset 0x0: fat binary of version 2 with a header of 16 bytes; version 1 is known"
    );
    assert!(
        refusal(with(14, &[1])).contains("a fat binary of 0x1"),
        "{}",
        refusal(with(14, &[1]))
    );
    assert_eq!(
        refusal(with(0x14, &[63])),
        "offset 0x14: the header of an entry has 63 bytes, not at least 64"
    );
    assert!(refusal(with(0x1c, &[1])).starts_with("offset 0x50: an entry of 0x1"));
    assert_eq!(
        refusal(with(0x39, &[0xa0])),
        "offset 0x38: an entry is packed in two ways"
    );
    assert_eq!(
        refusal(with(0x2c, &[0, 1])),
        "offset 0x2c: an entry is for no known architecture"
    );
    let mut trailing = plain.clone();
    trailing.extend([0; 16]);
    assert!(ImageDirectory::open(Bytes::from(trailing.clone())).is_ok());
    trailing.extend([1; 8]);
    assert_eq!(
        refusal(trailing),
        format!(
            "offset 0x{:x}: a fat binary is expected here, and its magic number is missing",
            plain.len() + 16
        )
    );
    // A valid directory with damaged packed bytes.
    for name in ["lz4.fatbin", "zstd.fatbin"] {
        let mut packed = data(&format!("containers/{name}"));
        for byte in &mut packed[0x60..0x90] {
            *byte ^= 0x55;
        }
        let library = ImageDirectory::open(Bytes::from(packed)).expect(name);
        let why = library
            .image(&library.entries()[0])
            .unwrap_err()
            .to_string();
        assert!(
            why.starts_with("offset 0x50: cannot be unpacked: "),
            "{why}"
        );
    }
    // A stated size that the packed bytes cannot have.
    let mut packed = data("containers/lz4.fatbin");
    packed[0x4b] = 0xff;
    let library = ImageDirectory::open(Bytes::from(packed)).expect("a directory");
    let why = library
        .image(&library.entries()[0])
        .unwrap_err()
        .to_string();
    assert_eq!(
        why,
        "offset 0x50: 0xff0023a8 bytes are more than a cubin has"
    );
}

#[test]
fn every_truncation_and_bit_flip_is_read_or_refused() {
    for name in [
        "zstd.fatbin",
        "lz4.fatbin",
        "host.o",
        "host.a",
        "relocatable.o",
    ] {
        let whole = data(&format!("containers/{name}"));
        for length in (0..whole.len()).step_by(7) {
            read_all(whole[..length].to_vec());
        }
        for bit in (0..whole.len() * 8).step_by(29) {
            let mut damaged = whole.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            read_all(damaged);
        }
    }
}

/// Reads the directory and all entries; a refusal must be one line.
fn read_all(bytes: Vec<u8>) {
    let one_line = |text: String| assert!(!text.contains(char::is_control), "{text:?}");
    match ImageDirectory::open(Bytes::from(bytes)) {
        Err(why) => one_line(why.to_string()),
        Ok(library) => {
            for entry in library.entries() {
                if let Err(why) = library.image(entry) {
                    one_line(why.to_string());
                }
            }
        }
    }
}
