//! Kernels of our own with the cubins that are built from their sources.

use std::path::Path;

use warpbound_base::Diagnostic;
use warpbound_load::Kernel;
use warpbound_query::Session;

use super::KernelReference;

/// A kernel with its cubin.
pub struct BuiltKernel {
    /// The kernel.
    pub reference: KernelReference,
    /// Contents of the cubin.
    pub contents: Vec<u8>,
    /// The cubin, loaded.
    pub session: Session,
}

impl BuiltKernel {
    /// Returns the kernels of a build (`sm_61`) of these sources, or of all; those without a cubin in `folder` are left
    /// out.
    ///
    /// # Errors
    ///
    /// A cubin cannot be read, or no kernel is left.
    pub fn of_build(
        folder: &Path,
        build: &str,
        sources: &[&str],
    ) -> Result<Vec<BuiltKernel>, Diagnostic> {
        let mut found = Vec::new();
        for reference in super::all() {
            if !sources.is_empty() && !sources.contains(&reference.source) {
                continue;
            }
            let name = format!("{}.{build}.cubin", reference.source);
            let Ok(contents) = std::fs::read(folder.join(&name)) else {
                continue;
            };
            let session = Session::open(&name, &contents)?;
            found.push(BuiltKernel {
                reference,
                contents,
                session,
            });
        }
        match found.is_empty() {
            true => Err(Diagnostic::new("no kernel with these names")),
            false => Ok(found),
        }
    }

    /// Returns the kernel in its image.
    ///
    /// # Errors
    ///
    /// The cubin has no kernel of that name.
    pub fn kernel(&self) -> Result<&Kernel, Diagnostic> {
        let found = self.session.kernels(Some(self.reference.kernel))?;
        let first = found.first().copied();
        first.ok_or_else(|| Diagnostic::new("there is no such kernel"))
    }
}
