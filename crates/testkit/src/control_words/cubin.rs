//! Writer of cubins with one kernel: an ELF file with the sections that the loader reads.

/// Kernel and what its sections state.
pub(super) struct KernelImage<'a> {
    pub(super) name: &'a str,
    /// Architecture: 61.
    pub(super) sm: u8,
    /// Groups of a control word and three instructions.
    pub(super) code: &'a [u8],
    pub(super) registers: u8,
    pub(super) barriers: u8,
    /// Sizes of the parameters in bytes, each aligned to its size.
    pub(super) params: &'a [u16],
    /// Bytes of static shared memory.
    pub(super) shared: u32,
    /// Bytes of local memory of a thread.
    pub(super) frame: u32,
    /// Contents of constant bank 3.
    pub(super) constants: &'a [u8],
}

/// First byte of the parameters in constant bank 0.
const PARAMETERS: u16 = 0x140;

const PROGBITS: u32 = 1;
const SYMTAB: u32 = 2;
const STRTAB: u32 = 3;
const NOBITS: u32 = 8;
const CUDA_INFO: u32 = 0x7000_0000;

const HEADER_BYTES: u64 = 64;
const SECTION_BYTES: u64 = 64;
const SYMBOL_BYTES: u32 = 24;

/// Indices of sections and of symbols that others refer to.
const SYMBOL_NAMES: u32 = 2;
const CODE: u16 = 9;
const BANK_0: u16 = 6;
const BANK_SYMBOL: u32 = 1;
const KERNEL_SYMBOL: u32 = 2;

/// Section before its place in the file is known.
struct SectionDraft {
    name: String,
    kind: u32,
    flags: u64,
    link: u32,
    info: u32,
    align: u64,
    contents: Vec<u8>,
    /// Size of a section without contents.
    size: u64,
}

impl SectionDraft {
    fn new(name: impl Into<String>, kind: u32, contents: Vec<u8>) -> SectionDraft {
        SectionDraft {
            name: name.into(),
            kind,
            flags: 0,
            link: 0,
            info: 0,
            align: 4,
            size: contents.len() as u64,
            contents,
        }
    }
}

impl KernelImage<'_> {
    /// Returns the file.
    pub(super) fn to_elf(&self) -> Vec<u8> {
        let mut sections = self.sections();
        let mut names = vec![0u8];
        let mut name_offsets = Vec::new();
        for section in &sections {
            name_offsets.push(names.len() as u32);
            names.extend(section.name.bytes());
            names.push(0);
        }
        sections[0].size = names.len() as u64;
        sections[0].contents = names;
        let mut file = vec![0u8; HEADER_BYTES as usize];
        // The first header belongs to no section.
        let mut headers = vec![0u8; SECTION_BYTES as usize];
        for (section, name) in sections.iter().zip(name_offsets) {
            while !file.len().is_multiple_of(32) {
                file.push(0);
            }
            let offset = file.len() as u64;
            file.extend(&section.contents);
            headers.extend(name.to_le_bytes());
            headers.extend(section.kind.to_le_bytes());
            for number in [section.flags, 0, offset, section.size] {
                headers.extend(number.to_le_bytes());
            }
            headers.extend(section.link.to_le_bytes());
            headers.extend(section.info.to_le_bytes());
            let entry = match section.kind {
                SYMTAB => u64::from(SYMBOL_BYTES),
                _ => 0,
            };
            headers.extend(section.align.to_le_bytes());
            headers.extend(entry.to_le_bytes());
        }
        while !file.len().is_multiple_of(8) {
            file.push(0);
        }
        let table = file.len() as u64;
        file.extend(headers);
        file[..HEADER_BYTES as usize].copy_from_slice(&self.header(table, sections.len()));
        file
    }

    /// Header of the file: 64 bits, little endian, an executable for NVIDIA's GPUs, with the section table at `table`.
    fn header(&self, table: u64, sections: usize) -> [u8; HEADER_BYTES as usize] {
        let mut header = [0u8; HEADER_BYTES as usize];
        let mut put = |at: usize, bytes: &[u8]| header[at..at + bytes.len()].copy_from_slice(bytes);
        put(0, &[0x7f, b'E', b'L', b'F', 2, 1, 1, 0x33, 7]);
        put(16, &2u16.to_le_bytes());
        put(18, &190u16.to_le_bytes());
        put(20, &1u32.to_le_bytes());
        put(40, &table.to_le_bytes());
        let sm = u32::from(self.sm);
        put(48, &(sm << 16 | 0x500 | sm).to_le_bytes());
        put(52, &(HEADER_BYTES as u16).to_le_bytes());
        put(54, &56u16.to_le_bytes());
        put(58, &(SECTION_BYTES as u16).to_le_bytes());
        put(60, &(sections as u16 + 1).to_le_bytes());
        put(62, &1u16.to_le_bytes());
        header
    }

    /// Sections from number 1 on; the first one is filled with their names.
    fn sections(&self) -> Vec<SectionDraft> {
        let name = self.name;
        let names = [format!(".nv.constant0.{name}"), name.to_owned()];
        let mut strings = vec![0u8];
        let offsets = names.each_ref().map(|name| {
            let offset = strings.len() as u32;
            strings.extend(name.bytes());
            strings.push(0);
            offset
        });
        let mut symbols = vec![0u8; SYMBOL_BYTES as usize];
        // The bank is a local section symbol; the kernel a global function, marked as an entry.
        symbols.extend(symbol(offsets[0], 3, 0, BANK_0, 0));
        symbols.extend(symbol(offsets[1], 0x12, 0x10, CODE, self.code.len() as u64));
        let parameters = self.parameter_bytes();
        let of_kernel = |mut section: SectionDraft| {
            section.info = CODE.into();
            section
        };
        let mut table = SectionDraft::new(".symtab", SYMTAB, symbols);
        (table.link, table.info) = (SYMBOL_NAMES, KERNEL_SYMBOL);
        let bank = vec![0u8; usize::from(PARAMETERS) + parameters];
        let mut shared = SectionDraft::new(format!(".nv.shared.{name}"), NOBITS, Vec::new());
        shared.size = self.shared.into();
        let mut code = SectionDraft::new(format!(".text.{name}"), PROGBITS, self.code.to_vec());
        // Allocated and executable. The numbers of barriers and of registers are in the upper bits.
        code.flags = 6 | u64::from(self.barriers) << 20;
        code.info = KERNEL_SYMBOL | u32::from(self.registers) << 24;
        code.align = 32;
        vec![
            SectionDraft::new(".shstrtab", STRTAB, Vec::new()),
            SectionDraft::new(".strtab", STRTAB, strings),
            table,
            SectionDraft::new(".nv.info", CUDA_INFO, self.file_attributes()),
            of_kernel(SectionDraft::new(
                format!(".nv.info.{name}"),
                CUDA_INFO,
                self.kernel_attributes(),
            )),
            of_kernel(SectionDraft::new(names[0].clone(), PROGBITS, bank)),
            SectionDraft::new(".nv.constant3", PROGBITS, self.constants.to_vec()),
            of_kernel(shared),
            code,
        ]
    }

    /// Size of the parameters.
    fn parameter_bytes(&self) -> usize {
        self.params.iter().map(|&size| usize::from(size)).sum()
    }

    /// Attributes of the file: sizes of the frame and of the stack.
    fn file_attributes(&self) -> Vec<u8> {
        let sizes = [0x11, 0x12, 0x23];
        let of_kernel = |code| record(code, &[KERNEL_SYMBOL, self.frame]);
        sizes.into_iter().flat_map(of_kernel).collect()
    }

    /// Attributes of the kernel: its parameters.
    fn kernel_attributes(&self) -> Vec<u8> {
        let size = self.parameter_bytes() as u32;
        let block = u32::from(PARAMETERS) | size << 16;
        let mut records = record(0x0a, &[BANK_SYMBOL, block]);
        // A number of 16 bits: the size of the parameters.
        records.extend([3, 0x19]);
        records.extend((size as u16).to_le_bytes());
        let mut offset = 0;
        for (ordinal, &bytes) in (0u32..).zip(self.params) {
            let position = ordinal | offset << 16;
            // The size is in bits 31:18; the others are as compilers set them.
            let shape = 0x1_f000 | u32::from(bytes) << 18;
            records.extend(record(0x17, &[0, position, shape]));
            offset += u32::from(bytes);
        }
        records
    }
}

/// Entry of the symbol table.
fn symbol(name: u32, info: u8, other: u8, section: u16, size: u64) -> Vec<u8> {
    let mut entry = name.to_le_bytes().to_vec();
    entry.extend([info, other]);
    entry.extend(section.to_le_bytes());
    entry.extend(0u64.to_le_bytes());
    entry.extend(size.to_le_bytes());
    entry
}

/// Attribute with words.
fn record(code: u8, words: &[u32]) -> Vec<u8> {
    let mut bytes = vec![4, code];
    bytes.extend((4 * words.len() as u16).to_le_bytes());
    bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
    bytes
}
