//! Damaged files: any bytes give an image or a one-line diagnostic with location and cause.

#![allow(clippy::panic, reason = "helpers of tests")]

use crate::code_objects::compressed_bundles;
use crate::support::{assert_refusal, built, data, exercise, wide};
use proptest::prelude::*;
use warpbound_load::{Bytes, Image, ImageDirectory};

const FILES: [&str; 4] = [
    "features.sm_61.cubin",
    "features_relocatable.sm_61.cubin",
    "debug.sm_61.cubin",
    "tiny.sm_120.cubin",
];

/// Code objects of every version, linked and not, with and without line tables.
const CODE_OBJECTS: [&str; 10] = [
    "gcn/kernels.v2.co",
    "gcn/kernels.v2.o",
    "gcn/kernels.v3.co",
    "gcn/kernels.v4.co",
    "gcn/kernels.v5.o",
    "gcn/kernels.v6.co",
    "gcn/lines.v5.co",
    "gcn/lines.v5.o",
    "gcn/state.v5.co",
    "gcn/stripped.v5.co",
];

fn check(bytes: &[u8]) {
    if let Err(diagnostic) = exercise(bytes) {
        assert_refusal(&diagnostic);
    }
}

/// The header tables are at the end of these files, so every truncation is refused.
#[test]
fn every_truncation_is_refused() {
    for name in FILES {
        let bytes = data(name);
        for length in 0..bytes.len() {
            match exercise(&bytes[..length]) {
                Ok(()) => panic!("{name} cut to {length} bytes was accepted"),
                Err(diagnostic) => assert_refusal(&diagnostic),
            }
        }
        assert_eq!(exercise(&bytes), Ok(()), "{name}");
    }
}

/// The header tables are at the end of these files, too.
#[test]
fn truncations_of_code_objects_are_refused() {
    for name in CODE_OBJECTS {
        let bytes = data(name);
        for length in (0..bytes.len()).step_by(7) {
            match exercise(&bytes[..length]) {
                Ok(()) => panic!("{name} cut to {length} bytes was accepted"),
                Err(diagnostic) => assert_refusal(&diagnostic),
            }
        }
        assert_eq!(exercise(&bytes), Ok(()), "{name}");
    }
}

/// Truncations and changes of an offload bundle: its directory lists what is there, or says where it is damaged.
#[test]
fn damaged_bundles() {
    let open = |bytes: Vec<u8>| match ImageDirectory::open(Bytes::from(bytes)) {
        Ok(directory) => {
            for entry in directory.entries() {
                if let Err(diagnostic) = directory.image(entry) {
                    assert!(!diagnostic.to_string().contains(char::is_control));
                }
            }
        }
        Err(diagnostic) => assert_refusal(&diagnostic),
    };
    let compressed = compressed_bundles().into_iter().map(|(_, bytes, _)| bytes);
    for bytes in compressed.chain([data("gcn/bundle.hipfb")]) {
        for length in 0..bytes.len() {
            open(bytes[..length].to_vec());
        }
        for at in 0..400 {
            for byte in [0, 1, 0x7f, 0x80, 0xff] {
                let mut damaged = bytes.clone();
                damaged[at] = byte;
                open(damaged);
            }
        }
    }
}

/// A compressed bundle that is cut short is refused: by its directory, or where the image is unpacked.
#[test]
fn truncations_of_compressed_bundles_are_refused() {
    for (title, bytes, _) in compressed_bundles() {
        for length in 0..bytes.len() {
            let directory = ImageDirectory::open(Bytes::from(bytes[..length].to_vec()));
            let error = match &directory {
                Ok(directory) => directory.image(&directory.entries()[0]).err(),
                Err(error) => Some(error.clone()),
            };
            let error = error.unwrap_or_else(|| panic!("{title} cut to {length} bytes"));
            assert_refusal(&error);
        }
    }
}

/// A bundle of a few bytes that states 4 GiB less one byte, and one that states 2^60.
#[test]
fn stated_sizes_of_compressed_bundles_are_not_allocated() {
    for (version, size) in [(2u16, u64::from(u32::MAX)), (3, 1 << 60)] {
        let name = if version == 2 {
            "gcn/ccob2z.hipfb"
        } else {
            "gcn/ccob3z.hipfb"
        };
        let mut bytes = data(name);
        match version {
            2 => bytes[12..16].copy_from_slice(&u32::MAX.to_le_bytes()),
            _ => bytes[16..24].copy_from_slice(&size.to_le_bytes()),
        }
        match ImageDirectory::open(Bytes::from(bytes)) {
            // The directory is there, and so is the only image.
            Ok(directory) => assert!(directory.image(&directory.entries()[0]).is_ok()),
            Err(error) => assert_refusal(&error),
        }
    }
}

/// Each header field with each of a few extreme values.
#[test]
fn bad_header_words() {
    for name in FILES.iter().chain(&CODE_OBJECTS) {
        let bytes = data(name);
        let section_headers = u64::from_le_bytes(bytes[40..48].try_into().unwrap()) as usize;
        let headers = (0..64).chain(section_headers..bytes.len());
        for at in headers.step_by(4) {
            for word in [0, 1, 0x7fff_ffff, 0x8000_0000, u32::MAX] {
                let mut damaged = bytes.clone();
                damaged[at..at + 4].copy_from_slice(&word.to_le_bytes());
                check(&damaged);
            }
        }
    }
}

/// All sections at one offset, all symbols with one name: the cost must not multiply.
#[test]
fn overlapping_sections_stay_cheap() {
    let mut bytes = data("features.sm_61.cubin");
    let table = u64::from_le_bytes(bytes[40..48].try_into().unwrap()) as usize;
    let count = usize::from(u16::from_le_bytes(bytes[60..62].try_into().unwrap()));
    let size = bytes.len() as u64;
    for index in 1..count {
        let header = table + 64 * index;
        bytes[header + 24..header + 32].copy_from_slice(&0u64.to_le_bytes());
        bytes[header + 32..header + 40].copy_from_slice(&size.to_le_bytes());
    }
    check(&bytes);
}

/// Thousands of relocation tables that each cover half of a large file would cost quadratic time.
#[test]
fn many_tables_over_one_big_range_are_refused() {
    const SHT_REL: u8 = 9;
    const TABLES: u16 = 60_000;
    let original = data("tiny.sm_52.cubin");
    let table = u64::from_le_bytes(original[40..48].try_into().unwrap()) as usize;
    let count = u16::from_le_bytes(original[60..62].try_into().unwrap());
    let mut bytes = original.clone();
    bytes.resize(1 << 20, 0);
    bytes.extend_from_slice(&original[table..table + 64 * usize::from(count)]);
    for _ in count..TABLES {
        // Entries of zeros: they change offset 0 of section 1 and name symbol 0.
        let mut header = [0u8; 64];
        header[4] = SHT_REL;
        header[24..32].copy_from_slice(&(1u64 << 19).to_le_bytes());
        header[32..40].copy_from_slice(&(1u64 << 19).to_le_bytes());
        header[44] = 1;
        bytes.extend_from_slice(&header);
    }
    bytes[32..40].fill(0);
    bytes[40..48].copy_from_slice(&(1u64 << 20).to_le_bytes());
    bytes[60..62].copy_from_slice(&TABLES.to_le_bytes());
    check(&bytes);
    let image = Image::parse(&bytes).expect("the ELF layer is sound");
    let [warning] = image.warnings() else {
        panic!("{:?}", image.warnings());
    };
    assert!(warning.message.contains("sections overlap"), "{warning}");
}

/// Numbers of a linear congruential generator (Knuth's MMIX), so that each run damages the same bytes.
struct Seeded(u64);

impl Seeded {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % limit
    }
}

/// 3,000 changes of a few bits and 3,000 truncations of each kind of file for GPUs with instructions of 128 bits.
#[test]
fn damaged_files_for_wide_instructions() {
    const EACH: usize = 3000;
    let cubins = [
        ("CUDA 12, sm_75", data("tiny.sm_75.cubin")),
        ("CUDA 12, sm_90a", data("tiny.sm_90a.cubin")),
        ("CUDA 12, sm_120", data("tiny.sm_120.cubin")),
        ("CUDA 13, sm_75", wide("switch_table.sm_75.cubin")),
        ("CUDA 13, sm_90", wide("switch_table.sm_90.cubin")),
        ("CUDA 13, sm_120", wide("switch_table.sm_120.cubin")),
    ];
    let mut seeded = Seeded(128);
    let flipped = |bytes: &[u8], seeded: &mut Seeded| {
        let mut damaged = bytes.to_vec();
        for _ in 0..=seeded.below(5) {
            damaged[seeded.below(bytes.len())] ^= 1 << seeded.below(8);
        }
        damaged
    };
    for (title, bytes) in &cubins {
        for _ in 0..EACH {
            check(&flipped(bytes, &mut seeded));
            let length = seeded.below(bytes.len());
            let cut = exercise(&bytes[..length]);
            assert_refusal(&cut.expect_err(title));
        }
    }
    let fatbin = data("wide/wide.fatbin");
    for _ in 0..EACH {
        let length = seeded.below(fatbin.len());
        for damaged in [flipped(&fatbin, &mut seeded), fatbin[..length].to_vec()] {
            let directory = match ImageDirectory::open(Bytes::from(damaged)) {
                Ok(directory) => directory,
                Err(refusal) => {
                    assert_refusal(&refusal);
                    continue;
                }
            };
            for entry in directory.entries() {
                // A message about the entry as a whole has no offset.
                if let Err(refusal) = directory.image(entry) {
                    let text = refusal.to_string();
                    let is_whole =
                        text.starts_with("this is ") || text.starts_with("the directory");
                    assert!(is_whole || text.contains("offset 0x"), "{text}");
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_bit_flips(
        file in 0..FILES.len(),
        flips in prop::collection::vec((any::<prop::sample::Index>(), 0..8u8), 1..6),
    ) {
        let mut bytes = data(FILES[file]);
        for (at, bit) in flips {
            let at = at.index(bytes.len());
            bytes[at] ^= 1 << bit;
        }
        check(&bytes);
    }

    #[test]
    fn random_bit_flips_of_code_objects(
        file in 0..CODE_OBJECTS.len(),
        flips in prop::collection::vec((any::<prop::sample::Index>(), 0..8u8), 1..6),
    ) {
        let mut bytes = data(CODE_OBJECTS[file]);
        for (at, bit) in flips {
            let at = at.index(bytes.len());
            bytes[at] ^= 1 << bit;
        }
        check(&bytes);
    }

    /// Damage to notes, symbols and headers, which are few of the bytes.
    #[test]
    fn random_words_in_code_objects(
        file in 0..CODE_OBJECTS.len(),
        words in prop::collection::vec(
            (any::<prop::sample::Index>(), prop_oneof![0..64u32, Just(u32::MAX), any::<u32>()]), 1..4),
    ) {
        let mut bytes = data(CODE_OBJECTS[file]);
        for (at, word) in words {
            let at = at.index(bytes.len() - 4);
            bytes[at..at + 4].copy_from_slice(&word.to_le_bytes());
        }
        check(&bytes);
    }

    #[test]
    fn random_words(
        file in 0..FILES.len(),
        words in prop::collection::vec((any::<prop::sample::Index>(), any::<[u8; 4]>()), 1..4),
    ) {
        let mut bytes = data(FILES[file]);
        for (at, word) in words {
            let at = at.index(bytes.len() - 4);
            bytes[at..at + 4].copy_from_slice(&word);
        }
        check(&bytes);
    }

    /// Damage to the metadata only: attributes, symbols, relocations and line table, not the code.
    #[test]
    fn random_words_in_metadata(
        at in any::<prop::sample::Index>(),
        word in prop_oneof![0..64u32, Just(u32::MAX), Just(0x7fff_ffff), any::<u32>()],
        width in 1..5usize,
    ) {
        let mut bytes = built("switch_table.sm_61.cubin");
        let at = at.index(bytes.len() / 4 - 1) * 4;
        bytes[at..at + width].copy_from_slice(&word.to_le_bytes()[..width]);
        check(&bytes);
    }
}
