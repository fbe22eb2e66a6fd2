//! [`Image`]: the contents of a cubin, of a code object or of a mini-SIMT text.

use std::sync::Arc;

use warpbound_base::Diagnostic;

use crate::attribute::Attribute;
use crate::code_object::LoadedFile;
use crate::demangle::demangle;
use crate::kernel::Kernel;
use crate::name::{NamePattern, list_candidates};
use crate::variable::Variable;
use warpbound_base::Isa;

/// A cubin, a code object, or a file of mini-SIMT text.
#[derive(Clone, Debug)]
pub struct Image {
    pub(crate) isa: Isa,
    pub(crate) linkage: Linkage,
    pub(crate) kernel_names: Vec<Arc<str>>,
    pub(crate) kernels: Vec<Kernel>,
    pub(crate) refused: Vec<RefusedKernel>,
    pub(crate) device_functions: Vec<Kernel>,
    pub(crate) others: Vec<OtherItem>,
    pub(crate) variables: Vec<Variable>,
    pub(crate) other_attributes: Vec<Attribute>,
    pub(crate) loaded_file: Option<LoadedFile>,
    pub(crate) warnings: Vec<Diagnostic>,
}

/// A kernel whose parts are damaged or contradict each other. Other kernels of the file are still read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RefusedKernel {
    /// Mangled name.
    pub name: Arc<str>,
    /// The error, with the kernel's name and the offset in the file.
    pub error: Diagnostic,
}

/// Linkage state of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Linkage {
    /// Ready to be loaded.
    Executable,
    /// Compiled for later linking (`-rdc`, `-c`): calls and addresses may still be relocations.
    Relocatable,
}

impl Linkage {
    /// The linkage of a cubin with this ELF type (`ET_REL`, `ET_EXEC`).
    pub(crate) fn of_file_type(file_type: u16) -> Option<Linkage> {
        match file_type {
            1 => Some(Linkage::Relocatable),
            2 => Some(Linkage::Executable),
            _ => None,
        }
    }
}

/// An item of the file that is not a kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OtherItem {
    /// Mangled name, or name of the section.
    pub name: Arc<str>,
    /// Kind of the item.
    pub kind: OtherKind,
    /// Size in bytes; 0 for an external item.
    pub size: u64,
}

/// Kinds of items other than kernels.
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
    /// If the instructions of the architecture cannot be decoded.
    pub fn kernels(&self) -> Result<&[Kernel], Diagnostic> {
        if !self.isa.is_decoded() {
            self.isa.check_supported()?;
        }
        Ok(&self.kernels)
    }

    /// The kernels whose metadata can be read, in the order of their code sections; also of architectures whose
    /// instructions cannot be decoded ([`Isa::has_readable_metadata`]).
    pub fn all_kernels(&self) -> &[Kernel] {
        &self.kernels
    }

    /// The kernels whose metadata cannot be read, of the same architectures as [`Image::all_kernels`].
    pub fn all_refused(&self) -> &[RefusedKernel] {
        &self.refused
    }

    /// The readable functions with a code section of their own, of the same architectures as
    /// [`Image::all_kernels`].
    pub fn all_functions(&self) -> &[Kernel] {
        &self.device_functions
    }

    /// Positions of the kernels that a name matches best: positions in [`Image::kernels`], continued in
    /// [`Image::refused`]. Empty if no kernel matches.
    fn find(&self, name: &NamePattern) -> Result<Vec<usize>, Diagnostic> {
        let kernels = self.kernels()?.iter().map(|kernel| &kernel.name);
        let refused = self.refused.iter().map(|kernel| &kernel.name);
        Ok(name.best_matches(kernels.chain(refused).enumerate()))
    }

    /// The kernels that cannot be read, in the order of their code sections. Empty if the instructions of the
    /// architecture cannot be decoded; [`Image::all_refused`] has these kernels, too.
    pub fn refused(&self) -> &[RefusedKernel] {
        match self.isa.is_decoded() {
            true => &self.refused,
            false => &[],
        }
    }

    /// The readable functions that have a code section of their own and are not kernels, in the order of the
    /// sections. They have no launch metadata: [`Kernel::params`] is empty. Empty if the instructions of the architecture
    /// cannot be decoded; [`Image::all_functions`] has these functions, too.
    pub fn device_functions(&self) -> &[Kernel] {
        match self.isa.is_decoded() {
            true => &self.device_functions,
            false => &[],
        }
    }

    /// The one kernel that a name matches best, see [`NamePattern`].
    ///
    /// # Errors
    ///
    /// If the architecture is not supported, or if no kernel or several match; the hint lists the nearest names.
    pub fn kernel(&self, name: &str) -> Result<&Kernel, Diagnostic> {
        let pattern = NamePattern::new(name);
        let found = self.find(&pattern).map_err(|d| d.in_kernel(name))?;
        match found.as_slice() {
            [one] => self.kernels.get(*one).ok_or_else(|| {
                // Positions count the readable kernels first, see `find`.
                let refused = one.checked_sub(self.kernels.len());
                match refused.and_then(|index| self.refused.get(index)) {
                    Some(refused) => refused.error.clone(),
                    None => self.no_such_kernel(name),
                }
            }),
            [] => Err(self.no_such_kernel(name)),
            several => {
                let names = several.iter().filter_map(|&n| self.kernels.get(n));
                let names = list_candidates(names.map(|kernel| &kernel.name));
                let message = format!("{name:?} is the name of several kernels: {names}");
                Err(Diagnostic::new(message).hint("give the whole name of one"))
            }
        }
    }

    /// Diagnostic for a name that matches no kernel; the hint lists the nearest names.
    pub fn no_such_kernel(&self, name: &str) -> Diagnostic {
        let nearest = NamePattern::new(name).nearest_hint(self.kernel_names());
        Diagnostic::new(format!("there is no kernel {name:?}")).hint(nearest)
    }

    /// Items other than kernels and their parts, in the order of the file: symbols, then sections.
    pub fn others(&self) -> &[OtherItem] {
        &self.others
    }

    /// The variables that a host program can name, in the order of the file.
    pub fn variables(&self) -> &[Variable] {
        &self.variables
    }

    /// The file as the loader places it in memory; `None` unless it is a linked code object of a supported AMD GPU.
    pub fn loaded_file(&self) -> Option<&LoadedFile> {
        self.loaded_file.as_ref()
    }

    /// Attributes of the whole file (`.nv.info`) that no field of a kernel represents.
    pub fn other_attributes(&self) -> &[Attribute] {
        &self.other_attributes
    }

    /// Defects that do not affect the meaning of the code, e.g. a damaged line table.
    pub fn warnings(&self) -> &[Diagnostic] {
        &self.warnings
    }
}
