//! Parsing of an [`Image`]: dispatch on the kind of the file.

use bytes::Bytes;
use warpbound_base::Diagnostic;

use crate::assemble;
use crate::code_object;
use crate::compat;
use crate::container::{self, Magic};
use crate::elf::{Elf, fault};
use crate::elf_numbers::EM_AMDGPU;
use crate::image::{Image, Linkage};
use crate::text;

impl Image {
    /// Reads a cubin, a code object or a mini-SIMT text.
    ///
    /// A cubin of an unsupported architecture gives only the list of kernels. A kernel with damaged or contradictory
    /// parts is refused, see [`Image::refused`].
    ///
    /// # Errors
    ///
    /// One line naming the file offset and the cause, for a file that is not a cubin, is damaged, or
    /// contradicts itself.
    pub fn parse(bytes: &[u8]) -> Result<Image, Diagnostic> {
        Image::from_bytes(Bytes::copy_from_slice(bytes))
    }

    /// [`Image::parse`] without a copy.
    pub(crate) fn from_bytes(file: Bytes) -> Result<Image, Diagnostic> {
        match container::recognize(&file)? {
            Magic::Elf => {}
            Magic::Text => return text::parse(&file),
            Magic::FatBinary | Magic::OffloadBundle | Magic::Archive => {
                return Err(fault(0, "this is not a single cubin"));
            }
        }
        let elf = Elf::parse(&file)?;
        if elf.header.machine == EM_AMDGPU {
            return code_object::assemble(&file, &elf);
        }
        let mut warnings = Vec::new();
        let sm = compat::architecture(&elf, &mut warnings)?;
        let file_type = elf.header.file_type;
        let linkage = Linkage::of_file_type(file_type).ok_or_else(|| {
            let message =
                format!("ELF type {file_type} is neither an executable nor a relocatable cubin");
            fault(16, message)
        })?;
        let mut image = assemble::assemble(&file, &elf, sm, linkage)?;
        image.warnings.extend(warnings);
        Ok(image)
    }
}
