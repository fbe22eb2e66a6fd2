//! A loaded file and the questions that can be asked of it.

use std::collections::BTreeMap;

use warpbound_base::Diagnostic;
use warpbound_bound::FactsFile;
use warpbound_load::{Image, Kernel};

use crate::prepared::Prepared;

/// A loaded file.
pub struct Session {
    pub(crate) file: String,
    pub(crate) image: Image,
}

impl Session {
    /// Loads the contents of a file; `file` is its name in messages.
    ///
    /// # Errors
    ///
    /// One line naming file, offset and cause, where the contents cannot be used.
    pub fn open(file: &str, contents: &[u8]) -> Result<Session, Diagnostic> {
        let image = Image::parse(contents).map_err(|d| d.in_file(file))?;
        Ok(Session {
            file: file.to_owned(),
            image,
        })
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

    /// Checks that every kernel that `facts` speaks about exists, and that none has facts under both of
    /// its names, which could contradict each other.
    ///
    /// # Errors
    ///
    /// For the first facts of which that is not so.
    pub fn check_facts(&self, facts: &FactsFile) -> Result<(), Diagnostic> {
        let mut known: BTreeMap<&str, &str> = BTreeMap::new();
        for stated in facts.kernels() {
            let kernel = self.image.kernel(&stated.name);
            let kernel = kernel.map_err(|d| stated.locate(d))?;
            if let Some(other) = known.insert(&kernel.name, &stated.name) {
                return Err(stated.locate(Diagnostic::new(format!(
                    "second [[kernel]] for {}, which is {other} above",
                    stated.name
                ))));
            }
        }
        Ok(())
    }

    /// The kernel decoded and lifted.
    ///
    /// # Errors
    ///
    /// See [`Prepared::run`].
    pub fn prepare<'a>(&self, kernel: &'a Kernel) -> Result<Prepared<'a>, Diagnostic> {
        Prepared::run(kernel, self.image.sm()).map_err(|d| self.locate(d))
    }

    /// Adds the file to a diagnostic.
    pub(crate) fn locate(&self, diagnostic: Diagnostic) -> Diagnostic {
        diagnostic.in_file(self.file.as_str())
    }
}
