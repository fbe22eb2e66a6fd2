//! Layout of a file: offsets of sections and tables, and extents of segments.

use warpbound_base::Diagnostic;
use warpbound_load::elf_numbers::{
    PF_R, PF_W, PT_LOAD, PT_PHDR, SECTION_HEADER_SIZE, SEGMENT_HEADER_SIZE, SHF_ALLOC, SHF_WRITE,
};

use super::{ElfFile, ElfSection, ElfSegment, fault, part};

/// Flags of segments: readable and writable.
const PF_RW: u32 = PF_R | PF_W;

/// Returns the file as bytes.
pub(super) fn write(file: &ElfFile) -> Result<Vec<u8>, Diagnostic> {
    // Only if the number of sections and all their sizes are as before can each header and contents be written in
    // place.
    let mut out = file.original.clone();
    let count = out.get(60..62).map_or(0, |raw| match raw {
        &[low, high] => u16::from_le_bytes([low, high]),
        _ => 0,
    });
    let mut same_sizes = usize::from(count) == file.sections.len();
    for (index, section) in file.sections.iter().enumerate() {
        let Some(header) = section_header(&file.original, index) else {
            same_sizes = false;
            break;
        };
        let written = raw_header(section, section.offset);
        same_sizes &= header.get(32..40) == written.get(32..40);
        if !same_sizes {
            break;
        }
        copy(&mut out, header_offset(&file.original, index), &written);
        if section.kind != 0 && section.has_contents() {
            copy(&mut out, section.offset, &section.data);
        }
    }
    if same_sizes {
        Ok(out)
    } else {
        write_anew(file)
    }
}

/// Offset of a section header in a file.
fn header_offset(data: &[u8], index: usize) -> u64 {
    let table = super::Fields(data).u64(40).unwrap_or(0);
    table.saturating_add((index * SECTION_HEADER_SIZE) as u64)
}

/// Returns a section header in a file.
fn section_header(data: &[u8], index: usize) -> Option<&[u8]> {
    part(data, header_offset(data, index), SECTION_HEADER_SIZE as u64)
}

/// Copies bytes to an offset, which must be inside the file.
fn copy(out: &mut [u8], offset: u64, bytes: &[u8]) {
    let place = usize::try_from(offset)
        .ok()
        .and_then(|start| out.get_mut(start..start.checked_add(bytes.len())?));
    if let Some(place) = place {
        place.copy_from_slice(bytes);
    }
}

/// Encodes a section header.
fn raw_header(section: &ElfSection, offset: u64) -> Vec<u8> {
    let mut raw = Vec::with_capacity(SECTION_HEADER_SIZE);
    raw.extend(section.name_at.to_le_bytes());
    raw.extend(section.kind.to_le_bytes());
    raw.extend(section.flags.to_le_bytes());
    raw.extend(section.address.to_le_bytes());
    raw.extend(offset.to_le_bytes());
    raw.extend(section.size().to_le_bytes());
    raw.extend(section.link.to_le_bytes());
    raw.extend(section.info.to_le_bytes());
    raw.extend(section.align.to_le_bytes());
    raw.extend(section.entry_size.to_le_bytes());
    raw
}

/// Fills `out` with zeros up to a multiple of `align`.
fn pad(out: &mut Vec<u8>, align: u64) {
    // A damaged file may state an alignment of 0 or one that would fill the disk.
    let align = usize::try_from(align).unwrap_or(1).clamp(1, 4096);
    out.resize(out.len().next_multiple_of(align), 0);
}

/// Returns the file as bytes, with every offset computed anew.
pub(super) fn write_anew(file: &ElfFile) -> Result<Vec<u8>, Diagnostic> {
    let mut order: Vec<usize> = (1..file.sections.len()).collect();
    // Stable sort: sections with the same offset are empty or were added. Among them the allocated ones come last, as
    // in all files of `ptxas`.
    order.sort_by_key(|&index| {
        let section = file.sections.get(index);
        section.map_or((0, 0), |s| (s.offset, s.flags & SHF_ALLOC))
    });
    let mut out = file.header.to_vec();
    let mut offsets = vec![0; file.sections.len()];
    for index in order {
        let (Some(section), Some(offset)) = (file.sections.get(index), offsets.get_mut(index))
        else {
            continue;
        };
        pad(&mut out, section.align);
        *offset = out.len() as u64;
        out.extend(&section.data);
    }
    pad(&mut out, 8);
    let sections_at = out.len() as u64;
    for (section, &offset) in file.sections.iter().zip(&offsets) {
        // The empty entry 0 has no place in the file.
        let offset = if section.kind == 0 {
            section.offset
        } else {
            offset
        };
        out.extend(raw_header(section, offset));
    }
    let segments_at = out.len() as u64;
    let segments = segments(file, &offsets, segments_at)?;
    for segment in &segments {
        out.extend(raw_segment(segment));
    }
    // Without program headers, the offset of their table stays as it was.
    if !segments.is_empty() {
        copy(&mut out, 32, &segments_at.to_le_bytes());
    }
    copy(&mut out, 40, &sections_at.to_le_bytes());
    copy(&mut out, 56, &(segments.len() as u16).to_le_bytes());
    copy(&mut out, 60, &(file.sections.len() as u16).to_le_bytes());
    Ok(out)
}

/// Encodes a program header.
fn raw_segment(segment: &ElfSegment) -> Vec<u8> {
    let mut raw = Vec::with_capacity(SEGMENT_HEADER_SIZE);
    raw.extend(segment.kind.to_le_bytes());
    raw.extend(segment.flags.to_le_bytes());
    for field in [
        segment.offset,
        segment.address,
        segment.physical,
        segment.file_size,
        segment.memory_size,
        segment.align,
    ] {
        raw.extend(field.to_le_bytes());
    }
    raw
}

/// Program headers for sections at `offsets` and a table at `table`.
fn segments(file: &ElfFile, offsets: &[u64], table: u64) -> Result<Vec<ElfSegment>, Diagnostic> {
    let old_table = super::Fields(&file.header).u64(32).unwrap_or(0);
    if file.segments.is_empty() {
        return Ok(Vec::new());
    }
    let variables = |section: &ElfSection| {
        section.flags & (SHF_ALLOC | SHF_WRITE) == SHF_ALLOC | SHF_WRITE && section.size() > 0
    };
    let has_writable = file
        .segments
        .iter()
        .any(|s| s.kind == PT_LOAD && s.flags == PF_RW);
    let mut segments = Vec::new();
    let mut of_table = Vec::new();
    for segment in &file.segments {
        // A PT_LOAD segment may cover the table of program headers as well, and then moves with it.
        let is_table = segment.kind == PT_PHDR || segment.offset == old_table;
        if is_table
            && segment.kind == PT_LOAD
            && !has_writable
            && file.sections.iter().any(variables)
        {
            // The file had no variables before. They get a segment of their own, before the segment of the table as
            // in files of `ptxas`.
            let writable = ElfSegment {
                flags: PF_RW,
                ..segment.clone()
            };
            segments.push(extent(writable, file, offsets, variables));
            of_table.push(false);
        }
        of_table.push(is_table);
        segments.push(if is_table {
            segment.clone()
        } else if segment.kind == PT_LOAD {
            let is_writable = segment.flags == PF_RW;
            extent(segment.clone(), file, offsets, |section| {
                section.flags & SHF_ALLOC != 0 && (section.flags & SHF_WRITE != 0) == is_writable
            })
        } else {
            let kind = segment.kind;
            // Its extent could not be recomputed, so it might cover the wrong bytes.
            return Err(fault(
                old_table,
                format!("a program header of type 0x{kind:x} is not known"),
            ));
        });
    }
    let size = (segments.len() * SEGMENT_HEADER_SIZE) as u64;
    for (segment, is_table) in segments.iter_mut().zip(of_table) {
        if is_table {
            segment.offset = table;
            segment.file_size = size;
            segment.memory_size = size;
        }
    }
    Ok(segments)
}

/// Returns the segment with the extent of the sections that belong to it.
fn extent(
    mut segment: ElfSegment,
    file: &ElfFile,
    offsets: &[u64],
    belongs: impl Fn(&ElfSection) -> bool,
) -> ElfSegment {
    let inside = || {
        let sections = file.sections.iter().zip(offsets);
        sections.filter(|(section, _)| belongs(section))
    };
    let start = inside().map(|(_, &offset)| offset).min();
    let Some(start) = start else { return segment };
    // A section of zeros has an offset but no bytes, so the part in the file ends where it begins.
    let in_file = |section: &ElfSection| match section.has_contents() {
        true => section.size(),
        false => 0,
    };
    let ends = inside().map(|(section, &offset)| offset.saturating_add(in_file(section)));
    let end = ends.max().unwrap_or(start);
    let mut memory_end = end;
    // Zeros follow the contents in memory, each section at its own alignment.
    for (section, _) in inside().filter(|(section, _)| !section.has_contents()) {
        memory_end = memory_end.next_multiple_of(section.align.clamp(1, 4096));
        memory_end = memory_end.saturating_add(section.size());
    }
    segment.offset = start;
    segment.file_size = end - start;
    segment.memory_size = memory_end - start;
    segment
}
