//! Adversarial files: bytes that a file refers to many times are not read or kept once per reference.
#![allow(clippy::panic, reason = "a test may panic")]

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use warpbound_load::{ByteSource, Bytes, ImageDirectory};

/// Header of a section in a host file: name, flags, offset, size.
type Section = (u32, u64, u64, u64);

const ALLOC: u64 = 2;
const SECTION_HEADER: usize = 64;

/// A host file: `contents` at 0x40, then `names`, then the section table.
fn host(contents: &[u8], names: &[u8], sections: &[Section]) -> Vec<u8> {
    let mut file = vec![0; 64];
    file.extend_from_slice(contents);
    let names_at = file.len() as u64;
    file.extend_from_slice(names);
    file.resize(file.len().next_multiple_of(8), 0);
    let table = file.len() as u64;
    let names = (names.len() as u32 - 1, 0, names_at, names.len() as u64);
    for &(name, flags, offset, size) in [names].iter().chain(sections) {
        let mut header = [0; SECTION_HEADER];
        header[..4].copy_from_slice(&name.to_le_bytes());
        header[4] = 1;
        header[8..16].copy_from_slice(&flags.to_le_bytes());
        header[24..32].copy_from_slice(&offset.to_le_bytes());
        header[32..40].copy_from_slice(&size.to_le_bytes());
        file.extend_from_slice(&header);
    }
    file[..8].copy_from_slice(b"\x7fELF\x02\x01\x01\x00");
    file[16..24].copy_from_slice(&[3, 0, 62, 0, 1, 0, 0, 0]);
    file[40..48].copy_from_slice(&table.to_le_bytes());
    file[58] = SECTION_HEADER as u8;
    file[60..62].copy_from_slice(&(sections.len() as u16 + 1).to_le_bytes());
    file
}

/// Header of a container with `size` bytes of entries.
fn container(header_size: u16, size: usize) -> [u8; 16] {
    let mut header = [0; 16];
    header[..6].copy_from_slice(&[0x50, 0xed, 0x55, 0xba, 1, 0]);
    header[6..8].copy_from_slice(&header_size.to_le_bytes());
    header[8..].copy_from_slice(&(size as u64).to_le_bytes());
    header
}

/// An entry with PTX and without contents.
fn entry() -> [u8; 64] {
    let mut header = [0; 64];
    header[0] = 1;
    header[4] = 64;
    header
}

fn refusal(file: Vec<u8>) -> String {
    match ImageDirectory::open(Bytes::from(file)) {
        Ok(_) => panic!("it is accepted"),
        Err(diagnostic) => diagnostic.to_string(),
    }
}

/// Without a limit, half a megabyte would yield about a million entries.
#[test]
fn sections_over_one_fat_binary() {
    let mut contents = container(16, 4000 * 64).to_vec();
    contents.extend(entry().repeat(4000));
    let size = contents.len() as u64;
    for (names, flags) in [(&b".nv_fatbin\0"[..], 0), (&b".data\0"[..], ALLOC)] {
        let sections = vec![(0, flags, 64, size); 4000];
        let why = refusal(host(&contents, names, &sections));
        let expected =
            "offset 0x40: sections overlap: together they are more than four times the file";
        assert_eq!(why, expected);
    }
}

/// Overlapping section names, each as long as their table, are only compared by prefix; a search for the end of each
/// would take minutes.
#[test]
fn long_names_that_overlap() {
    let names = vec![b'a'; 1 << 21];
    let sections = vec![(0, ALLOC, 64, 0); 30_000];
    let file = host(&[0; 64], &names, &sections);
    let why = refusal(file);
    assert!(why.contains("without NVIDIA machine code inside"), "{why}");
}

/// Every entry contains a false container with a damaged end.
#[test]
fn containers_inside_each_other() {
    const UNITS: usize = 1 << 14;
    let mut contents = Vec::new();
    for unit in 1..=UNITS {
        let mut entry = entry();
        entry[16..32].copy_from_slice(&container(48, (UNITS - unit + 1) * 64));
        contents.extend(entry);
    }
    contents.extend([0xff; 64]);
    let sections = [(0, ALLOC, 64, contents.len() as u64)];
    let why = refusal(host(&contents, b".data\0", &sections));
    assert!(
        why.ends_with(
            "things that look like fat binaries overlap: together they are more than four times the file"
        ),
        "{why}"
    );
}

/// All members of an archive share one long name.
#[test]
fn members_of_one_long_name() {
    let header = |name: &str, size: usize| {
        let zeros = "0           0     0     0       ";
        format!("{name:<16}{zeros}{size:<10}`\n").into_bytes()
    };
    let mut names = vec![b'n'; 1 << 18];
    names.extend(b"/\n");
    let mut file = b"!<arch>\n".to_vec();
    file.extend(header("//", names.len()));
    file.extend(&names);
    for _ in 0..(1 << 12) {
        file.extend(header("/0", 0));
    }
    let why = refusal(file);
    assert!(
        why.ends_with(": names overlap: together they are more than four times the file"),
        "{why}"
    );
}

/// Source that counts the bytes read.
struct Counting {
    bytes: Bytes,
    read: Arc<AtomicU64>,
}

impl ByteSource for Counting {
    fn size(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn read(&self, offset: u64, length: usize) -> io::Result<Bytes> {
        self.read.fetch_add(length as u64, Ordering::Relaxed);
        self.bytes.read(offset, length)
    }
}

/// Data after a container is not read again for each container.
#[test]
fn many_containers_among_data() {
    let mut contents = container(16, 64).to_vec();
    contents.extend(entry());
    let contents = contents.repeat(20_000);
    let sections = [(0, ALLOC, 64, contents.len() as u64)];
    let file = Bytes::from(host(&contents, b".data\0", &sections));
    let read = Arc::new(AtomicU64::new(0));
    let size = file.len() as u64;
    let library = ImageDirectory::open(Counting {
        bytes: file,
        read: Arc::clone(&read),
    });
    let library = library.unwrap_or_else(|why| panic!("{why}"));
    assert_eq!(library.entries().len(), 20_000);
    let read = read.load(Ordering::Relaxed);
    assert!(read < 4 * size, "{read} bytes of {size}");
}
