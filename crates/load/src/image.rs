//! The whole file.

use std::sync::Arc;

use bytes::Bytes;
use warpbound_base::Diagnostic;

use crate::assemble;
use crate::attribute::Attribute;
use crate::container::{self, Magic};
use crate::elf::{Elf, Header, fault};
use crate::isa::Isa;
use crate::kernel::{Kernel, demangle};
use crate::name::{NamePattern, spell_candidates};
use crate::sm::Sm;
use crate::text;
use crate::variable::Variable;

/// A cubin, or a file of mini-SIMT text.
#[derive(Clone, Debug)]
pub struct Image {
    pub(crate) isa: Isa,
    pub(crate) linkage: Linkage,
    pub(crate) kernel_names: Vec<Arc<str>>,
    pub(crate) kernels: Vec<Kernel>,
    pub(crate) refused: Vec<RefusedKernel>,
    pub(crate) device_functions: Vec<Kernel>,
    pub(crate) others: Vec<Other>,
    pub(crate) variables: Vec<Variable>,
    pub(crate) other_attributes: Vec<Attribute>,
    pub(crate) warnings: Vec<Diagnostic>,
}

/// A kernel whose parts are damaged or contradict each other. The others of its file are read all the same.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RefusedKernel {
    /// Mangled name.
    pub name: Arc<str>,
    /// The error, with the kernel's name and the offset in the file.
    pub why: Diagnostic,
}

/// Whether a file is linked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Linkage {
    /// Ready to be loaded.
    Executable,
    /// Compiled for later linking (`-rdc`, `-c`): calls and addresses may still be relocations.
    Relocatable,
}

/// Something in the file that is not a kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Other {
    /// Mangled name, or name of the section.
    pub name: Arc<str>,
    /// What it is.
    pub kind: OtherKind,
    /// Size in bytes; 0 for what lies outside the file.
    pub size: u64,
}

/// Kinds of things that are not kernels.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OtherKind {
    /// A device function with a code section of its own.
    DeviceFunction,
    /// A variable in global, constant or shared memory.
    Variable,
    /// A function or variable that another file must provide.
    External,
    /// A texture that the host binds by its name.
    TextureReference,
    /// A surface that the host binds by its name.
    SurfaceReference,
    /// A section that is not read; its ELF section type.
    Section(u32),
}

impl RefusedKernel {
    /// The name as C++ source has it.
    pub fn demangled(&self) -> String {
        demangle(&self.name)
    }
}

impl Image {
    /// Reads a cubin.
    ///
    /// A cubin of an architecture that is not supported is read as far as its list of kernels. A kernel with
    /// parts that are damaged or contradict each other is set apart, see [`Image::refused`].
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
        match container::magic(&file)? {
            Magic::Elf => {}
            Magic::Text => return text::image(&file),
            Magic::FatBinary | Magic::Archive => {
                return Err(fault(0, "this is not a single cubin"));
            }
        }
        let elf = Elf::parse(&file)?;
        let sm = architecture(&elf.header)?;
        let linkage = match elf.header.file_type {
            1 => Linkage::Relocatable,
            2 => Linkage::Executable,
            other => {
                return Err(fault(
                    16,
                    format!("ELF type {other} is neither an executable nor a relocatable cubin"),
                ));
            }
        };
        assemble::image(&file, &elf, sm, linkage)
    }

    /// The instruction set of the code.
    pub fn isa(&self) -> Isa {
        self.isa
    }

    /// Whether the file is linked.
    pub fn linkage(&self) -> Linkage {
        self.linkage
    }

    /// Mangled names of all kernels, in the order of their code sections; also for architectures
    /// that are not supported.
    pub fn kernel_names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.kernel_names.iter().map(AsRef::as_ref)
    }

    /// The kernels that can be read, in the order of their code sections.
    ///
    /// # Errors
    ///
    /// Where the architecture is not supported, a line that says so.
    pub fn kernels(&self) -> Result<&[Kernel], Diagnostic> {
        self.isa.check_supported()?;
        Ok(&self.kernels)
    }

    /// Positions of the kernels that a name fits best, in the order of [`Image::kernels`] and then of
    /// [`Image::refused`]; none where it fits none.
    fn find(&self, name: &NamePattern) -> Result<Vec<usize>, Diagnostic> {
        let kernels = self.kernels()?.iter().map(|kernel| &kernel.name);
        let refused = self.refused.iter().map(|kernel| &kernel.name);
        Ok(name.best(kernels.chain(refused).enumerate()))
    }

    /// The kernels that cannot be read, in the order of their code sections; none of an architecture that is
    /// not supported, of which no kernel is read.
    pub fn refused(&self) -> &[RefusedKernel] {
        &self.refused
    }

    /// The functions that have a code section of their own and are no kernels, in the order of the sections;
    /// those that can be read. [`Kernel::params`] and the like are empty.
    pub fn device_functions(&self) -> &[Kernel] {
        &self.device_functions
    }

    /// The one kernel that a name fits best, see [`NamePattern`].
    ///
    /// # Errors
    ///
    /// Where the architecture is not supported, or no kernel or several have the name; the hint has the nearest.
    pub fn kernel(&self, name: &str) -> Result<&Kernel, Diagnostic> {
        let pattern = NamePattern::new(name);
        let found = self.find(&pattern).map_err(|d| d.in_kernel(name))?;
        match found.as_slice() {
            [one] => self.kernels.get(*one).ok_or_else(|| {
                let refused = one.checked_sub(self.kernels.len());
                match refused.and_then(|index| self.refused.get(index)) {
                    Some(refused) => refused.why.clone(),
                    None => self.no_such_kernel(name),
                }
            }),
            [] => Err(self.no_such_kernel(name)),
            several => {
                let names = several.iter().filter_map(|&n| self.kernels.get(n));
                let names = spell_candidates(names.map(|kernel| &kernel.name));
                let what = format!("{name:?} is the name of several kernels: {names}");
                Err(Diagnostic::new(what).hint("give the whole name of one"))
            }
        }
    }

    /// Message for a name that no kernel has.
    pub fn no_such_kernel(&self, name: &str) -> Diagnostic {
        let nearest = NamePattern::new(name).nearest(self.kernel_names());
        Diagnostic::new(format!("there is no kernel {name:?}")).hint(nearest)
    }

    /// What the file holds besides kernels and their parts, in the order of the file: symbols, then sections.
    pub fn others(&self) -> &[Other] {
        &self.others
    }

    /// The variables that a host program can name, in the order of the file.
    pub fn variables(&self) -> &[Variable] {
        &self.variables
    }

    /// Attributes of the whole file (`.nv.info`) that no kernel's field stands for.
    pub fn other_attributes(&self) -> &[Attribute] {
        &self.other_attributes
    }

    /// What is wrong with the file but does not touch the meaning of its code, e.g. a damaged line table.
    pub fn warnings(&self) -> &[Diagnostic] {
        &self.warnings
    }
}

/// The first architecture that has variants with accelerators (`sm_90a`).
const FIRST_WITH_ACCELERATORS: u8 = 90;

/// The architecture in the ELF flags. The layout of the flags follows the ABI version (experiment: NVRTC
/// 12.9 and CUDA 13 output). Bit 11 of version 7 has two meanings: nvdisasm calls it `EF_CUDA_SW_1729687` on
/// Maxwell and Pascal, where an assembler of NVIDIA sets it, and the accelerators of sm_90a came later.
pub(crate) fn architecture(header: &Header) -> Result<Sm, Diagnostic> {
    let flags = header.flags;
    match header.abi_version {
        7 => Ok(Sm {
            number: flags as u8,
            accelerators: flags & 0x800 != 0 && flags as u8 >= FIRST_WITH_ACCELERATORS,
        }),
        8 => Ok(Sm {
            number: (flags >> 8) as u8,
            accelerators: flags & 0x8 != 0,
        }),
        other => Err(fault(
            8,
            format!("ABI version {other} is not known (7 and 8 are)"),
        )),
    }
}
