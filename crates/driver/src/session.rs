//! A loaded cubin and the questions that can be asked of it.

use warpbound_base::Diagnostic;
use warpbound_bound::FactsFile;
use warpbound_load::{Image, Kernel};

use crate::facts_check::FactsCheck;
use crate::prepared::Prepared;

/// A loaded cubin.
pub struct Session {
    /// The name of the file, and the image in it, in messages.
    pub(crate) file: String,
    /// The number of the image in a file with several.
    pub(crate) number: Option<usize>,
    pub(crate) image: Image,
}

impl Session {
    /// Loads the contents of a cubin; `file` is its name in messages.
    ///
    /// # Errors
    ///
    /// One line naming file, offset and cause, where the contents cannot be used.
    pub fn open(file: &str, contents: &[u8]) -> Result<Session, Diagnostic> {
        let image = Image::parse(contents).map_err(|d| d.in_file(file))?;
        Ok(Session {
            file: file.to_owned(),
            number: None,
            image,
        })
    }

    /// The name of the file, and of the image in it, in messages.
    pub fn name(&self) -> &str {
        &self.file
    }

    /// All kernels, or the one of a name, mangled or not.
    ///
    /// # Errors
    ///
    /// Where the architecture is not supported, or no kernel has the name.
    pub fn kernels(&self, name: Option<&str>) -> Result<Vec<&Kernel>, Diagnostic> {
        let kernels = match name {
            None => self.image.kernels().map(|all| all.iter().collect()),
            Some(name) => self.image.kernel(name).map(|one| vec![one]),
        };
        kernels.map_err(|d| self.locate(d))
    }

    /// Checks that all facts are about kernels of this file, as they are now, and that none has facts under
    /// both of its names, which could contradict each other.
    ///
    /// # Errors
    ///
    /// For the first facts of which that is not so.
    pub fn check_facts(&self, facts: &FactsFile) -> Result<(), Diagnostic> {
        let mut check = FactsCheck::new(facts);
        for kernel in self.kernels(None)? {
            check.see(kernel)?;
        }
        check.finish()
    }

    /// The kernel decoded and lifted.
    ///
    /// # Errors
    ///
    /// See [`Prepared::run`].
    pub fn prepare<'a>(&'a self, kernel: &'a Kernel) -> Result<Prepared<'a>, Diagnostic> {
        Prepared::run(kernel, self.image.isa(), &self.file).map_err(|d| self.locate(d))
    }

    /// Adds the file to a diagnostic.
    pub(crate) fn locate(&self, diagnostic: Diagnostic) -> Diagnostic {
        diagnostic.in_file(self.file.as_str())
    }
}
