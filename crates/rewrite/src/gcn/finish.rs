//! Writing of the changed file: code, headers, descriptors, symbols, relocations of the loader, and metadata.
//!
//! For example, code of 0x300 bytes at address 0x1100 may grow as long as it ends before the page of the next
//! segment. Otherwise it moves to the end of the loaded file, after the added variable.

use warpbound_base::Diagnostic;
use warpbound_load::elf_numbers::{
    PT_LOAD, RELOCATION_SIZE, SECTION_HEADER_SIZE, SEGMENT_HEADER_SIZE, SHF_ALLOC, SHF_WRITE,
    SHT_DYNSYM, SHT_NOBITS, SHT_NOTE, SHT_RELA, SHT_SYMTAB, SYMBOL_SIZE,
};

use super::CodeObjectRewriter;
use super::code::{self, NewPlaces};
use super::elf::{entry, u16_at, u32_at, u64_at};
use super::metadata;

/// Page size of the loader in bytes. The offset and the address of a segment are equal modulo this number.
const PAGE: u64 = 0x1000;

/// Stride of the address at which moved code may begin, so that its low bits and its places in caches stay.
const CODE_STRIDE: u64 = 0x1_0000;

/// Writes the file.
pub(super) fn finish(rewriter: &CodeObjectRewriter<'_>) -> Result<Vec<u8>, Diagnostic> {
    let places = NewPlaces::of(rewriter)?;
    let address = code_address(rewriter, places.size)?;
    let code = code::write(rewriter, &places, address)?;
    let mut out = Rewritten {
        rewriter,
        places: &places,
        address,
        bytes: rewriter.object.bytes.to_vec(),
    };
    // Appending the code leaves the offsets of all other parts as they are.
    out.code(&code)?;
    // Otherwise all addresses of code stay right, also in debug sections.
    if !places.is_identity {
        out.symbols()?;
        out.relocations()?;
        out.drop_debug_sections();
    }
    out.descriptors()?;
    out.metadata()?;
    if let Some((name, size)) = &rewriter.variable {
        out.variable(name, *size)?;
    }
    Ok(out.bytes)
}

/// Address for code of a given size: the old one if the code fits before the next segment.
fn code_address(rewriter: &CodeObjectRewriter<'_>, size: u32) -> Result<u64, Diagnostic> {
    let object = &rewriter.object;
    let old = object.text().address;
    // Kernels are aligned relative to the section, which gives aligned addresses only then.
    if !old.is_multiple_of(256) {
        return Err(Diagnostic::new(
            "the code does not begin at a multiple of 256",
        ));
    }
    let loaded = object.segments.iter().filter(|s| s.kind == PT_LOAD);
    let next = loaded.map(|s| s.address).filter(|at| *at > old).min();
    // The loader maps whole pages, so the code must end before the page of the next segment.
    let room = next.map_or(u64::MAX, |next| next - next % PAGE);
    if old.checked_add(size.into()).is_some_and(|end| end <= room) {
        return Ok(old);
    }
    let (_, last) = object.last_segment()?;
    // The variable extends the last segment, so the code goes after it.
    let added = rewriter.variable.as_ref().map_or(0, |(_, bytes)| *bytes);
    let end = last.end().checked_next_multiple_of(8);
    let end = end.and_then(|end| end.checked_add(added));
    let moved = end.and_then(|end| {
        let base = end.checked_next_multiple_of(CODE_STRIDE)?;
        base.checked_add(old % CODE_STRIDE)
    });
    moved.ok_or_else(|| Diagnostic::new("there is no room for the code in the loaded file"))
}

/// The file while it is changed.
struct Rewritten<'a> {
    rewriter: &'a CodeObjectRewriter<'a>,
    places: &'a NewPlaces,
    /// New address of the code.
    address: u64,
    bytes: Vec<u8>,
}

impl Rewritten<'_> {
    fn put(&mut self, at: usize, value: &[u8]) -> Result<(), Diagnostic> {
        let field = at
            .checked_add(value.len())
            .and_then(|end| self.bytes.get_mut(at..end));
        let field = field.ok_or_else(|| Diagnostic::new("the ELF file is damaged"))?;
        field.copy_from_slice(value);
        Ok(())
    }

    fn put_u64(&mut self, at: usize, value: u64) -> Result<(), Diagnostic> {
        self.put(at, &value.to_le_bytes())
    }

    /// Offset of the header of a section.
    fn section_header(&self, index: usize) -> Result<usize, Diagnostic> {
        let at = entry(self.rewriter.object.sections_at, index, SECTION_HEADER_SIZE);
        at.ok_or_else(|| Diagnostic::new("the ELF file is damaged"))
    }

    /// Appends bytes at the next offset with a given remainder modulo the alignment. Returns the offset.
    fn append(&mut self, bytes: &[u8], alignment: u64, remainder: u64) -> u64 {
        while self.bytes.len() as u64 % alignment != remainder {
            self.bytes.push(0);
        }
        let at = self.bytes.len() as u64;
        self.bytes.extend_from_slice(bytes);
        at
    }

    /// Puts the code into the file: in its old place if address and size are unchanged, else at the end.
    fn code(&mut self, code: &[u8]) -> Result<(), Diagnostic> {
        let object = &self.rewriter.object;
        let text = object.text();
        let old = usize::try_from(text.offset).unwrap_or(usize::MAX);
        let fits = code.len() as u64 == text.size && self.address == text.address;
        let mut offset = text.offset;
        if fits {
            self.put(old, code)?;
        } else {
            self.put(old, &vec![0; object.code().len()])?;
            offset = self.append(code, PAGE, self.address % PAGE);
        }
        let (address, size) = (self.address, code.len() as u64);
        let header = self.section_header(object.text)?;
        for (at, value) in [(16, address), (24, offset), (32, size)] {
            self.put_u64(header + at, value)?;
        }
        let mut segments = object.segments.clone();
        if let Some(segment) = segments.get_mut(object.text_segment) {
            segment.address = address;
        }
        // ELF demands loaded segments in ascending order of their addresses, so moved code changes the order of
        // headers.
        let slots: Vec<usize> = loaded(&segments).collect();
        let mut order = slots.clone();
        order.sort_by_key(|index| segments.get(*index).map(|segment| segment.address));
        let table = object.segments_at;
        for (slot, index) in slots.into_iter().zip(order) {
            let from = entry(table, index, SEGMENT_HEADER_SIZE);
            let (Some(from), Some(to)) = (from, entry(table, slot, SEGMENT_HEADER_SIZE)) else {
                continue;
            };
            let header = object.bytes.get(from..from + SEGMENT_HEADER_SIZE);
            self.put(to, header.unwrap_or_default())?;
            if index == object.text_segment {
                // Offset, virtual and physical address, size in the file and in memory.
                let fields = [
                    (8, offset),
                    (16, address),
                    (24, address),
                    (32, size),
                    (40, size),
                ];
                for (at, value) in fields {
                    self.put_u64(to + at, value)?;
                }
            }
        }
        Ok(())
    }

    /// Moves the symbols that lie in the code.
    fn symbols(&mut self) -> Result<(), Diagnostic> {
        let rewriter = self.rewriter;
        let text = rewriter.object.text();
        for (table, section) in rewriter.object.sections.iter().enumerate() {
            if !matches!(section.kind, SHT_SYMTAB | SHT_DYNSYM) {
                continue;
            }
            let symbols = rewriter.object.symbols(table).unwrap_or_default();
            for (index, (name, value, size, of)) in symbols.into_iter().enumerate() {
                if of != rewriter.object.text {
                    continue;
                }
                let refuse = || {
                    let message = format!("symbol {name} is not at the start of an instruction");
                    Diagnostic::new(message)
                };
                let offset = |address: u64| u32::try_from(address.checked_sub(text.address)?).ok();
                let start = offset(value).ok_or_else(refuse)?;
                // A kernel's symbol names the start of its waves, before the prologue.
                let label = self
                    .places
                    .start(start)
                    .or_else(|| self.places.label(start));
                let label = label.ok_or_else(refuse)?;
                let mut length = 0;
                if size > 0 {
                    let end = value.checked_add(size).and_then(offset);
                    let end = end.and_then(|end| self.places.end(end));
                    length = u64::from(end.ok_or_else(refuse)?.saturating_sub(label));
                }
                let at = usize::try_from(section.offset).unwrap_or(usize::MAX);
                let at = entry(at, index, SYMBOL_SIZE).ok_or_else(refuse)?;
                self.put_u64(at + 8, self.address.wrapping_add(label.into()))?;
                self.put_u64(at + 16, length)?;
            }
        }
        Ok(())
    }

    /// Moves the addresses of code that the loader writes into data, and refuses relocations inside the code.
    fn relocations(&mut self) -> Result<(), Diagnostic> {
        /// Relocation by which the loader writes an address of the file itself (LLVM, `R_AMDGPU_RELATIVE64`).
        const OWN_ADDRESS: u32 = 13;
        let rewriter = self.rewriter;
        let object = &rewriter.object;
        let text = object.text();
        for (index, section) in object.sections.iter().enumerate() {
            if section.kind != SHT_RELA {
                continue;
            }
            let entries = object.contents(index).unwrap_or_default();
            for (number, relocation) in entries.chunks_exact(RELOCATION_SIZE).enumerate() {
                let at = u64_at(relocation, 0).unwrap_or(0);
                let here =
                    |message: &str| Diagnostic::new(message).at(format_args!("address 0x{at:x}"));
                // Such an address is not visible in the instruction, so nothing is known of its use.
                if at
                    .checked_sub(text.address)
                    .is_some_and(|at| at < text.size)
                {
                    return Err(here("the loader writes an address into the code"));
                }
                if u32_at(relocation, 8) != Some(OWN_ADDRESS) {
                    continue;
                }
                let old = u64_at(relocation, 16).unwrap_or(0);
                let new = code::new_address(rewriter, self.places, self.address, old);
                let new = new.ok_or_else(|| {
                    here("the loader writes an address inside an instruction here")
                })?;
                let start = usize::try_from(section.offset).unwrap_or(usize::MAX);
                let start = entry(start, number, RELOCATION_SIZE);
                let start = start.ok_or_else(|| here("the ELF file is damaged"))?;
                self.put_u64(start + 16, new)?;
            }
        }
        Ok(())
    }

    /// Empties the debug sections, whose addresses refer to the old code.
    fn drop_debug_sections(&mut self) {
        let sections = self.rewriter.object.sections.iter().enumerate();
        for (index, section) in sections {
            if section.name.starts_with(".debug_")
                && let Ok(header) = self.section_header(index)
            {
                // Cannot fail, because the header was read from this place.
                let _ = self.put_u64(header + 32, 0);
            }
        }
    }

    /// Writes entries and register counts into the descriptors.
    fn descriptors(&mut self) -> Result<(), Diagnostic> {
        let rewriter = self.rewriter;
        for kernel in &rewriter.kernels {
            let (descriptor, offset) = kernel.descriptor;
            let start = self.places.start(kernel.entry.0).ok_or_else(|| {
                Diagnostic::new("no instruction begins at the kernel's entry").at(kernel.entry)
            })?;
            let entry = self.address.wrapping_add(start.into());
            self.put_u64(offset + 16, entry.wrapping_sub(descriptor))?;
            let (scalar, vector) = rewriter.registers;
            let mut rsrc1 = kernel.facts.rsrc1;
            // VGPRs are allocated in groups of 4 and SGPRs in groups of 16. The fields count groups of 4 and of 8,
            // less one.
            let vector = u32::from(vector.div_ceil(4).saturating_sub(1)).min(0x3f);
            let scalar = scalar.next_multiple_of(16) / 8;
            let scalar = u32::from(scalar.saturating_sub(1)).min(0xf);
            // Never lowered, because the kernel's own code may use all registers that it states.
            rsrc1 = rsrc1 & !0x3f | (rsrc1 & 0x3f).max(vector);
            rsrc1 = rsrc1 & !(0xf << 6) | (rsrc1 >> 6 & 0xf).max(scalar) << 6;
            self.put(offset + 48, &rsrc1.to_le_bytes())?;
        }
        Ok(())
    }

    /// Writes register counts into the metadata.
    fn metadata(&mut self) -> Result<(), Diagnostic> {
        let (scalar, vector) = self.rewriter.registers;
        if (scalar, vector) == (0, 0) {
            return Ok(());
        }
        let object = &self.rewriter.object;
        let notes = object.sections.iter().filter(|s| s.kind == SHT_NOTE);
        for section in notes {
            let start = usize::try_from(section.offset).unwrap_or(usize::MAX);
            let size = usize::try_from(section.size).unwrap_or(usize::MAX);
            let mut at = start;
            let end = start.saturating_add(size).min(object.bytes.len());
            // A note has the lengths of owner and contents and a type, then both parts, each padded to 4 bytes.
            while at < end
                && let Some(owner) = u32_at(object.bytes, at)
                && let Some(length) = u32_at(object.bytes, at + 4)
            {
                let body = at + 12 + (owner as usize).next_multiple_of(4);
                let contents = object.bytes.get(body..body.saturating_add(length as usize));
                let Some(contents) = contents else { break };
                self.kernel_counts(contents, body, scalar, vector)?;
                at = body.saturating_add((length as usize).next_multiple_of(4));
            }
        }
        Ok(())
    }

    fn kernel_counts(
        &mut self,
        contents: &[u8],
        at: usize,
        scalar: u16,
        vector: u16,
    ) -> Result<(), Diagnostic> {
        for kernel in metadata::register_places(contents).unwrap_or_default() {
            for (place, least) in [(kernel.scalar, scalar), (kernel.vector, vector)] {
                let Some(place) = place else { continue };
                // Only numbers of one byte can be less than a count of registers that is needed.
                let stated = match contents.get(place) {
                    Some(0xcc) => contents.get(place + 1).copied().unwrap_or(u8::MAX),
                    Some(small @ 0..=0x7f) => *small,
                    _ => u8::MAX,
                };
                // Another number cannot grow, because the metadata keeps its layout.
                if u16::from(stated) < least
                    && !metadata::put_number(&mut self.bytes, at + place, least)
                {
                    let message = format!("its metadata has no room for {least} registers");
                    return Err(Diagnostic::new(message).in_kernel(kernel.name));
                }
            }
        }
        Ok(())
    }

    /// Extends the last segment by the variable, and gives the variable a symbol and a section.
    fn variable(&mut self, name: &str, size: u64) -> Result<(), Diagnostic> {
        let object = &self.rewriter.object;
        let address = object.variable_address()?;
        let (_, last) = object.last_segment()?;
        // Headers of segments may have been reordered, so the segment is found by its address.
        let table = object.segments_at;
        for index in 0..object.segments.len() {
            let at = entry(table, index, SEGMENT_HEADER_SIZE);
            let at = at.ok_or_else(|| Diagnostic::new("the ELF file is damaged"))?;
            if u32_at(&self.bytes, at) == Some(PT_LOAD)
                && u64_at(&self.bytes, at + 16) == Some(last.address)
            {
                // In memory only: loaders fill the part that the file does not have with zeros.
                self.put_u64(at + 40, (address - last.address).saturating_add(size))?;
            }
        }
        self.name_variable(name, address, size)
    }

    /// Appends the section headers with one more section, and the tables with the new names and the symbol.
    fn name_variable(&mut self, name: &str, address: u64, size: u64) -> Result<(), Diagnostic> {
        let object = &self.rewriter.object;
        let damaged = || Diagnostic::new("the ELF file is damaged");
        let count = object.sections.len();
        let tables = object.sections.iter().enumerate();
        let symbols = tables
            .clone()
            .find(|(_, section)| section.kind == SHT_SYMTAB);
        // A stripped file has no table for the symbol.
        let Some((symbols, header)) = symbols else {
            return Ok(());
        };
        let strings = header.link;
        let mut names = object.contents(object.names).ok_or_else(damaged)?.to_vec();
        let section_name = names.len() as u32;
        names.extend_from_slice(format!(".{name}\0").as_bytes());
        let mut texts = object.contents(strings).ok_or_else(damaged)?.to_vec();
        let symbol_name = texts.len() as u32;
        texts.extend_from_slice(format!("{name}\0").as_bytes());
        let at = usize::try_from(header.offset).map_err(|_| damaged())?;
        let end = at.saturating_add(usize::try_from(header.size).map_err(|_| damaged())?);
        // From the changed bytes, because the symbols of the code have moved already.
        let mut entries = self.bytes.get(at..end).ok_or_else(damaged)?.to_vec();
        let section = u16::try_from(count).map_err(|_| damaged())?;
        entries.extend_from_slice(&symbol_name.to_le_bytes());
        // A global object of default visibility.
        entries.extend_from_slice(&[0x11, 0]);
        entries.extend_from_slice(&section.to_le_bytes());
        entries.extend_from_slice(&address.to_le_bytes());
        entries.extend_from_slice(&size.to_le_bytes());
        let start = object.sections_at;
        let end = entry(start, count, SECTION_HEADER_SIZE).ok_or_else(damaged)?;
        let mut headers = self.bytes.get(start..end).ok_or_else(damaged)?.to_vec();
        let parts = [(object.names, names), (strings, texts), (symbols, entries)];
        for (index, bytes) in parts {
            let offset = self.append(&bytes, 8, 0);
            for (field, value) in [(24, offset), (32, bytes.len() as u64)] {
                let at = index * SECTION_HEADER_SIZE + field;
                let field = headers.get_mut(at..at + 8).ok_or_else(damaged)?;
                field.copy_from_slice(&value.to_le_bytes());
            }
        }
        headers.extend_from_slice(&variable_header(section_name, address, size));
        let at = self.append(&headers, 8, 0);
        self.put_u64(40, at)?;
        let one_more = u16_at(&self.bytes, 60).unwrap_or(0).saturating_add(1);
        self.put(60, &one_more.to_le_bytes())
    }
}

/// Header of a writable section in memory, without contents in the file.
fn variable_header(name: u32, address: u64, size: u64) -> [u8; SECTION_HEADER_SIZE] {
    const WRITE_ALLOC: u64 = SHF_WRITE | SHF_ALLOC;
    let mut header = [0; SECTION_HEADER_SIZE];
    let mut put = |at: usize, value: &[u8]| {
        if let Some(field) = header.get_mut(at..at + value.len()) {
            field.copy_from_slice(value);
        }
    };
    put(0, &name.to_le_bytes());
    put(4, &SHT_NOBITS.to_le_bytes());
    put(8, &WRITE_ALLOC.to_le_bytes());
    put(16, &address.to_le_bytes());
    put(32, &size.to_le_bytes());
    put(48, &8u64.to_le_bytes());
    header
}

/// Indices of the loaded segments.
fn loaded(segments: &[super::elf::ObjectSegment]) -> impl Iterator<Item = usize> {
    let all = segments.iter().enumerate();
    all.filter(|(_, segment)| segment.kind == PT_LOAD)
        .map(|(index, _)| index)
}
