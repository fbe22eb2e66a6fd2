//! [`ImageDirectory`]: the images in a cubin, code object or text file, in a fat binary or offload bundle, in a host
//! file or in an archive.

use std::sync::Arc;

use bytes::Bytes;
use warpbound_base::{Diagnostic, Isa, Sm, SmReach};

use crate::bundle;
use crate::code_object;
use crate::compat;
use crate::container::{self, Magic};
use crate::elf::{Elf, Header, check_machine, fault};
use crate::elf_numbers::{EM_AMDGPU, EM_CUDA};
use crate::entry::{EntryKind, FatbinEntry, Packing};
use crate::fatbin;
use crate::flags::architecture;
use crate::host::{self, FatSection};
use crate::image::{Image, Linkage};
use crate::source::{ByteSource, Window};

/// The kind of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ContainerKind {
    /// A single cubin.
    Cubin,
    /// A single code object of an AMD GPU.
    CodeObject,
    /// mini-SIMT text.
    Text,
    /// A fat binary.
    FatBinary,
    /// An offload bundle.
    OffloadBundle,
    /// A program, shared object or object file of the host.
    Host,
    /// A static archive of object files.
    Archive,
}

/// Directory of the images in a file. Only the directory is in memory; images are read one at a time, because a
/// library may have gigabytes of them. For example, a program with a fat binary for two architectures has two entries.
pub struct ImageDirectory {
    source: Box<dyn ByteSource>,
    container: ContainerKind,
    entries: Vec<FatbinEntry>,
}

impl ImageDirectory {
    /// Reads the directory of a file.
    ///
    /// # Errors
    ///
    /// One line naming offset and cause, for a file that is none of [`ContainerKind`], is damaged, or has
    /// neither machine code nor PTX for a GPU inside.
    pub fn open(source: impl ByteSource + 'static) -> Result<ImageDirectory, Diagnostic> {
        let file = Window::all(&source);
        let mut entries = Vec::new();
        let head = file.head(64)?;
        let container = match container::recognize(&head)? {
            Magic::Archive => {
                for (name, member) in host::archive_members(file)? {
                    let before = entries.len();
                    // An archive may hold any file; only ELF files and fat binaries hold GPU code.
                    let head = member.head(64)?;
                    if matches!(
                        container::recognize(&head),
                        Ok(Magic::Elf | Magic::FatBinary | Magic::OffloadBundle)
                    ) {
                        open_file(member, &mut entries).map_err(|mut diagnostic| {
                            diagnostic.message = format!("member {name}: {}", diagnostic.message);
                            diagnostic
                        })?;
                    }
                    for entry in entries.iter_mut().skip(before) {
                        entry.member = Some(Arc::clone(&name));
                    }
                }
                ContainerKind::Archive
            }
            Magic::Text => {
                entries.push(single_entry(file, EntryKind::Text, Isa::MiniSimt));
                ContainerKind::Text
            }
            Magic::Elf | Magic::FatBinary | Magic::OffloadBundle => open_file(file, &mut entries)?,
        };
        if entries.is_empty() {
            // A host file without GPU code is a mistake that a better message can explain: it names the machine.
            if container == ContainerKind::Host {
                check_machine(&Header::read(&head)?)?;
            }
            return Err(fault(0, "there is no GPU code in this file"));
        }
        Ok(ImageDirectory {
            source: Box::new(source),
            container,
            entries,
        })
    }

    /// The kind of the file.
    pub fn container(&self) -> ContainerKind {
        self.container
    }

    /// All entries, in the order of the file.
    pub fn entries(&self) -> &[FatbinEntry] {
        &self.entries
    }

    /// The contents of an entry, unpacked.
    ///
    /// # Errors
    ///
    /// One line naming offset and cause, for an entry that cannot be read or unpacked.
    pub fn contents(&self, entry: &FatbinEntry) -> Result<Bytes, Diagnostic> {
        entry.contents(Window::all(&*self.source))
    }

    /// Linkage of the cubin of an entry; `None` for an entry that is no cubin or cannot be read.
    pub fn linkage(&self, entry: &FatbinEntry) -> Option<Linkage> {
        if entry.kind != EntryKind::Cubin {
            return None;
        }
        /// Bytes of the header of a file.
        const HEADER: usize = 64;
        // Libraries have some gigabytes of cubins, so no more of them is unpacked.
        let header = entry.head(Window::all(&*self.source), HEADER);
        let header = Header::read(&header.ok()?).ok()?;
        Linkage::of_file_type(header.file_type).filter(|_| header.machine == EM_CUDA)
    }

    /// Loads the cubin of an entry.
    ///
    /// # Errors
    ///
    /// One line naming the cause, for an entry that is no cubin, cannot be unpacked, is damaged, or is for another
    /// architecture than in the directory. Offsets in messages count from the start of the unpacked cubin.
    pub fn image(&self, entry: &FatbinEntry) -> Result<Image, Diagnostic> {
        if !entry.kind.is_code() {
            return Err(Diagnostic::new(format!(
                "this is {}, no machine code",
                entry.kind
            )));
        }
        let mut image = Image::from_bytes(self.contents(entry)?)?;
        let agree = match (image.isa, entry.isa) {
            (Isa::Sm(own), Isa::Sm(stated)) => {
                // Each of both may leave out the suffix of the architecture.
                if own.reach == SmReach::Generation {
                    image.isa = Isa::Sm(Sm {
                        number: own.number,
                        ..stated
                    });
                }
                own.number == stated.number
            }
            (own, stated) => own == stated,
        };
        if !agree {
            return Err(Diagnostic::new(format!(
                "the directory says {}, the cubin {}",
                entry.isa,
                image.isa()
            )));
        }
        Ok(image)
    }
}

/// Architecture of a file that is a cubin.
fn cubin_architecture(file: Window<'_>, header: &Header) -> Result<Sm, Diagnostic> {
    let sm = architecture(header)?;
    // The suffix may be in a section. Damage there is reported when the image is loaded.
    let whole = || {
        let bytes = file.bytes().ok()?;
        let elf = Elf::parse(&bytes).ok()?;
        compat::architecture(&elf, &mut Vec::new()).ok()
    };
    Ok(match sm.may_have_suffix() {
        true => whole().unwrap_or(sm),
        false => sm,
    })
}

/// The only entry of a file that is itself an image.
fn single_entry(file: Window<'_>, kind: EntryKind, isa: Isa) -> FatbinEntry {
    FatbinEntry {
        kind,
        isa,
        packing: Packing::None,
        offset: file.start,
        packed_size: file.size,
        size: file.size,
        bundle_offset: None,
        member: None,
    }
}

/// Adds the entries of an ELF file or a fat binary.
fn open_file(
    file: Window<'_>,
    entries: &mut Vec<FatbinEntry>,
) -> Result<ContainerKind, Diagnostic> {
    let head = file.head(64)?;
    match container::recognize(&head)? {
        Magic::FatBinary => {
            fatbin::scan(file, entries)?;
            return Ok(ContainerKind::FatBinary);
        }
        Magic::OffloadBundle => {
            bundle::scan(file, entries)?;
            return Ok(ContainerKind::OffloadBundle);
        }
        // Archives and text do not come here, because the callers match them first.
        Magic::Elf | Magic::Archive | Magic::Text => {}
    }
    let header = Header::read(&head)?;
    if header.machine == EM_CUDA {
        let isa = Isa::Sm(cubin_architecture(file, &header)?);
        entries.push(single_entry(file, EntryKind::Cubin, isa));
        return Ok(ContainerKind::Cubin);
    }
    if header.machine == EM_AMDGPU {
        let isa = match code_object::target(&header)? {
            (_, Some(gfx)) => Isa::Gfx(gfx),
            // Only files of version 2 have the target in a note, so only they are read whole.
            (_, None) => code_object::isa(&file.bytes()?)?,
        };
        entries.push(single_entry(file, EntryKind::CodeObject, isa));
        return Ok(ContainerKind::CodeObject);
    }
    // Only data sections may hold other data between containers; the toolchain fills the dedicated ones.
    for section in host::fat_sections(file)? {
        match section {
            FatSection::Dedicated(section) => fatbin::scan(section, entries)?,
            FatSection::Bundles(section) => bundle::scan(section, entries)?,
            FatSection::Data(section) => fatbin::search(section, entries)?,
        }
    }
    Ok(ContainerKind::Host)
}
