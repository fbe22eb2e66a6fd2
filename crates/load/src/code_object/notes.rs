//! Notes of a code object: its metadata and, in version 2, its target.

use rmpv::Value;
use warpbound_base::Diagnostic;

use super::yaml;
use crate::elf::{Elf, fault};
use crate::elf_numbers::SHT_NOTE;

/// Owner and type of the notes that are read (LLVM, "User Guide for AMDGPU Backend", "Note Records").
const METADATA: (&[u8], u32) = (b"AMDGPU", 32);
const METADATA_V2: (&[u8], u32) = (b"AMD", 10);
const ISA_VERSION_V2: (&[u8], u32) = (b"AMD", 3);

/// Maximum depth of nested lists and maps in metadata; compilers write five levels. The limit bounds the recursion of
/// the reader.
const MAX_DEPTH: usize = 32;

/// Facts that the notes of a file state.
#[derive(Default)]
pub(super) struct Notes {
    /// Metadata, with the offset of its note's contents in the file.
    pub(super) metadata: Option<(u64, Value)>,
    /// Name of the target that a file of version 2 states: `gfx803`.
    pub(super) target: Option<String>,
}

/// A note.
struct Note<'a> {
    owner: &'a [u8],
    kind: u32,
    contents: &'a [u8],
    /// Offset of the contents in the file.
    offset: u64,
}

/// Reads the notes of a file.
pub(super) fn read(elf: &Elf<'_>) -> Result<Notes, Diagnostic> {
    let mut found = Notes::default();
    let sections = elf.sections.iter();
    for section in sections.filter(|section| section.kind == SHT_NOTE) {
        let bytes = elf.contents(section)?;
        let mut rest = bytes;
        while !rest.is_empty() {
            let at = section.offset + (bytes.len() - rest.len()) as u64;
            let (note, tail) =
                split_note(rest, at).ok_or_else(|| fault(at, "a note is cut short"))?;
            rest = tail;
            let key = (note.owner, note.kind);
            let metadata = match key {
                METADATA => message_pack(&note)?,
                METADATA_V2 => yaml::parse(note.contents, note.offset)?,
                ISA_VERSION_V2 => {
                    found.target = found.target.or_else(|| target_name(note.contents));
                    continue;
                }
                _ => continue,
            };
            // Which of two notes is right cannot be decided.
            if found.metadata.is_some() {
                return Err(fault(at, "there are two notes with metadata"));
            }
            found.metadata = Some((note.offset, metadata));
        }
    }
    Ok(found)
}

/// Splits the first note from the rest; `offset` is its place in the file.
fn split_note(bytes: &[u8], offset: u64) -> Option<(Note<'_>, &[u8])> {
    let (header, rest) = bytes.split_first_chunk::<12>()?;
    let [owner_size, size, kind] = [word(header, 0), word(header, 4), word(header, 8)];
    let (owner, rest) = split_padded(rest, owner_size)?;
    let at = offset + (bytes.len() - rest.len()) as u64;
    let (contents, rest) = split_padded(rest, size)?;
    let owner = owner.strip_suffix(b"\0").unwrap_or(owner);
    let note = Note {
        owner,
        kind,
        contents,
        offset: at,
    };
    Some((note, rest))
}

/// Splits `size` bytes and their padding to a multiple of 4 from the rest. The last ones may lack their padding.
fn split_padded(bytes: &[u8], size: u32) -> Option<(&[u8], &[u8])> {
    let size = usize::try_from(size).ok()?;
    let padded = size.checked_next_multiple_of(4)?;
    let own = bytes.get(..size)?;
    Some((own, bytes.get(padded..).unwrap_or_default()))
}

/// Little-endian word at an offset; 0 past the end.
fn word(bytes: &[u8], at: usize) -> u32 {
    let word = bytes.get(at..).and_then(<[u8]>::first_chunk);
    word.map_or(0, |word| u32::from_le_bytes(*word))
}

/// Reads metadata in MessagePack.
fn message_pack(note: &Note<'_>) -> Result<Value, Diagnostic> {
    let mut rest = note.contents;
    rmpv::decode::read_value_with_max_depth(&mut rest, MAX_DEPTH).map_err(|error| {
        let at = note.offset + (note.contents.len() - rest.len()) as u64;
        fault(at, format!("the metadata is no MessagePack: {error}"))
    })
}

/// Name of the target in a note with the version of the instruction set. The note has the sizes of two names, three
/// numbers, then the names (ROCR, `amdgpu_hsa_note_isa_t`). For example, the numbers 8, 0, 3 give `gfx803`.
fn target_name(contents: &[u8]) -> Option<String> {
    let [major, minor, stepping] = [word(contents, 4), word(contents, 8), word(contents, 12)];
    (contents.len() >= 16).then(|| format!("gfx{major}{minor}{stepping:x}"))
}
