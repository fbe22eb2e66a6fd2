//! Loaded cubin and the queries on it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use warpbound_analyse::access::KnownCounts;
use warpbound_base::{Diagnostic, Family};
use warpbound_ipet::FactsFile;
use warpbound_launch::{GlobalMemory, Launch, LaunchFile, PathOrder};
use warpbound_load::{Image, Kernel, NamePattern, RefusedKernel, list_candidates};
use warpbound_machine::GpuModel;

use crate::CodeKind;
use crate::facts_check::FactsCheck;
use crate::prepared::Prepared;

/// Loaded cubin.
pub struct Session {
    /// Name of the file, and of the image in it, in messages.
    pub file: String,
    /// Number of the image in a file with several.
    pub number: Option<usize>,
    /// Loaded image.
    pub image: Image,
    /// Counts of memory accesses that all kernels share.
    pub(crate) known_counts: Arc<KnownCounts>,
    pub(crate) preparations: AtomicUsize,
}

impl Session {
    /// Loads the contents of a cubin; `file` is its name in messages.
    ///
    /// # Errors
    ///
    /// The contents cannot be used; the diagnostic names file, offset and cause.
    pub fn open(file: &str, contents: &[u8]) -> Result<Session, Diagnostic> {
        let image = Image::parse(contents).map_err(|d| d.in_file(file))?;
        Ok(Session {
            file: file.to_owned(),
            number: None,
            image,
            known_counts: Arc::default(),
            preparations: AtomicUsize::new(0),
        })
    }

    /// Returns the name of the file, and of the image in it, in messages.
    pub fn name(&self) -> &str {
        &self.file
    }

    /// Returns the family of the machines that execute the code; `None` if its architecture is not supported.
    pub fn family(&self) -> Option<Family> {
        self.image.isa().family()
    }

    /// Returns all kernels, or the ones that a name fits best (see [`NamePattern`]); at least one if a name is given.
    ///
    /// # Errors
    ///
    /// The architecture is not supported, or no kernel has the name.
    pub fn kernels(&self, name: Option<&str>) -> Result<Vec<&Kernel>, Diagnostic> {
        let Some(name) = name else {
            let kernels = self.image.kernels().map(|all| all.iter().collect());
            return kernels.map_err(|d| self.locate(d));
        };
        let found = self.find(Some(&NamePattern::new(name)), CodeKind::Kernels)?;
        if found.is_empty() {
            return Err(self.locate(self.image.no_such_kernel(name)));
        }
        found
            .into_iter()
            .map(|index| self.kernel_at(index))
            .collect()
    }

    /// Returns the positions of all kernels, or of the ones that a name fits best. Unreadable kernels follow the
    /// readable ones; with [`CodeKind::All`], functions with a code section of their own follow both.
    pub(crate) fn find(
        &self,
        name: Option<&NamePattern>,
        find: CodeKind,
    ) -> Result<Vec<usize>, Diagnostic> {
        let kernels = self.image.kernels().map_err(|d| self.locate(d))?;
        let refused = self.image.refused().iter().map(|kernel| &kernel.name);
        let functions = match find {
            CodeKind::All => self.image.device_functions(),
            CodeKind::Kernels => &[],
        };
        let all = kernels.iter().map(|kernel| &kernel.name).chain(refused);
        let all = all.chain(functions.iter().map(|kernel| &kernel.name));
        Ok(match name {
            Some(name) => name.best_matches(all.enumerate()),
            None => (0..all.count()).collect(),
        })
    }

    /// Returns the kernel of a launch: the one called `name`, else the one that the launch file names, else the only
    /// one.
    ///
    /// # Errors
    ///
    /// If there is no such kernel, or several.
    pub fn launched_kernel(
        &self,
        name: Option<&str>,
        stated: Option<&str>,
    ) -> Result<&Kernel, Diagnostic> {
        self.only_kernel(name.or(stated))
    }

    /// Returns the kernel of a launch: the one with the name, or the only one if there is no name.
    ///
    /// # Errors
    ///
    /// There is no such kernel, or there are several.
    pub fn only_kernel(&self, name: Option<&str>) -> Result<&Kernel, Diagnostic> {
        if let Some(name) = name {
            return self.image.kernel(name).map_err(|d| self.locate(d));
        }
        match self.kernels(None)?.as_slice() {
            [kernel] => Ok(kernel),
            [] => Err(self.locate(Diagnostic::new("the file has no kernels"))),
            several => {
                let names = list_candidates(several.iter().map(|kernel| &kernel.name));
                Err(self.locate(
                    Diagnostic::new(format!("the file has several kernels: {names}"))
                        .hint("choose with --kernel"),
                ))
            }
        }
    }

    /// Returns the kernel or function at a position from [`Library::find`](crate::Library::find).
    ///
    /// # Errors
    ///
    /// The file has no such kernel, or it cannot be read.
    pub fn kernel_at(&self, index: usize) -> Result<&Kernel, Diagnostic> {
        let kernels = self.image.kernels().map_err(|d| self.locate(d))?;
        if let Some(kernel) = kernels.get(index) {
            return Ok(kernel);
        }
        // Positions count readable kernels, then refused ones, then functions, as `find` does.
        let before = kernels.len() + self.image.refused().len();
        let function = index.checked_sub(before);
        let function = function.and_then(|index| self.image.device_functions().get(index));
        function.ok_or_else(|| {
            let why = match self.refused_at(index) {
                Some(refused) => refused.error.clone(),
                None => Diagnostic::new(format!("there is no kernel {index}")),
            };
            self.locate(why)
        })
    }

    /// Returns the kernel at a position if it cannot be read.
    pub fn refused_at(&self, index: usize) -> Option<&RefusedKernel> {
        let kernels = self.image.kernels().ok()?;
        self.image.refused().get(index.checked_sub(kernels.len())?)
    }

    /// Returns the mangled name of the kernel at a position, readable or not.
    pub(crate) fn symbol_at(&self, index: usize) -> Option<&Arc<str>> {
        match self.refused_at(index) {
            Some(refused) => Some(&refused.name),
            None => Some(&self.kernel_at(index).ok()?.name),
        }
    }

    /// Checks that all facts are about kernels of this file and their present code, and that no kernel has facts under
    /// both of its names, which could contradict each other.
    ///
    /// # Errors
    ///
    /// Some facts violate this; the diagnostic names the first.
    pub fn check_facts(&self, facts: &FactsFile) -> Result<(), Diagnostic> {
        let mut check = FactsCheck::new(facts);
        for kernel in self.kernels(None)? {
            check.match_kernel(kernel)?;
        }
        check.finish()
    }

    /// Returns how many times kernels of this image were decoded and lifted. A task does this once for a kernel, because
    /// decoding and lifting take a part of its time that a second one would double.
    pub fn preparations(&self) -> usize {
        self.preparations.load(Ordering::Relaxed)
    }

    /// Decodes and lifts a kernel.
    ///
    /// # Errors
    ///
    /// See [`Prepared::new`].
    pub fn prepare<'a>(&'a self, kernel: &'a Kernel) -> Result<Prepared<'a>, Diagnostic> {
        self.preparations.fetch_add(1, Ordering::Relaxed);
        let isa = self.image.isa();
        // Before lifting, because the decoder has one name for several architectures.
        let supported = isa.check_supported();
        supported.map_err(|d| self.locate(d.in_kernel(kernel.demangled())))?;
        let prepared = Prepared::new(kernel, isa, &self.file);
        let mut prepared = prepared.map_err(|d| self.locate(d))?;
        // Kernels of one file access memory in few forms, and counting one is expensive, so the counts are shared.
        prepared.known_counts = Arc::clone(&self.known_counts);
        Ok(prepared)
    }

    /// Decodes and lifts a kernel whose runs are to be timed, or that is to be bounded in cycles.
    ///
    /// # Errors
    ///
    /// As [`Session::prepare`], or kernels of the family are not timed yet.
    pub fn prepare_timed<'a>(&'a self, kernel: &'a Kernel) -> Result<Prepared<'a>, Diagnostic> {
        let prepared = self.prepare(kernel)?;
        let checked = self.image.isa().check_timed();
        checked.map_err(|d| self.locate(d.in_kernel(kernel.demangled())))?;
        Ok(prepared)
    }

    /// Decodes and lifts a kernel that is to be measured or rewritten.
    ///
    /// # Errors
    ///
    /// As [`Session::prepare`], or kernels of the family are not measured yet.
    pub fn prepare_measured<'a>(&'a self, kernel: &'a Kernel) -> Result<Prepared<'a>, Diagnostic> {
        let prepared = self.prepare(kernel)?;
        let checked = self.image.isa().check_measured();
        checked.map_err(|d| self.locate(d.in_kernel(kernel.demangled())))?;
        Ok(prepared)
    }

    /// Decodes and lifts a kernel that is to be run.
    ///
    /// # Errors
    ///
    /// As [`Session::prepare`], or kernels of the family are not run yet.
    pub fn prepare_run<'a>(&'a self, kernel: &'a Kernel) -> Result<Prepared<'a>, Diagnostic> {
        let prepared = self.prepare(kernel)?;
        self.check_run(kernel)?;
        Ok(prepared)
    }

    /// Refuses a kernel of a family whose kernels are not run yet.
    ///
    /// # Errors
    ///
    /// A diagnostic with the name of the family.
    pub fn check_run(&self, kernel: &Kernel) -> Result<(), Diagnostic> {
        let checked = self.image.isa().check_run();
        checked.map_err(|d| self.locate(d.in_kernel(kernel.demangled())))
    }

    /// Applies a launch file to a kernel. Returns the launch, limited to `max_instructions` warp instructions, and the
    /// initial memory.
    ///
    /// # Errors
    ///
    /// See [`warpbound_launch::bind`].
    pub fn bind(
        &self,
        prepared: &Prepared<'_>,
        launch: &LaunchFile,
        order: PathOrder,
        max_instructions: u64,
    ) -> Result<(Launch, GlobalMemory), Diagnostic> {
        let (kernel, code) = (prepared.kernel, &prepared.code);
        warpbound_launch::bind(launch, &self.image, kernel, code, order, max_instructions)
    }

    /// Returns the model of the GPU that the code is for.
    ///
    /// # Errors
    ///
    /// No built-in machine has the architecture of the code.
    pub fn own_gpu_model(&self) -> Result<GpuModel, Diagnostic> {
        let isa = self.image.isa();
        // Of kernels that are not timed at all, a missing machine is not the reason.
        isa.check_timed().map_err(|d| self.locate(d))?;
        let isa = isa.to_string();
        GpuModel::for_architecture(&isa).map_err(|diagnostic| {
            let family = self.image.isa().family();
            let names: Vec<&str> = family.into_iter().flat_map(GpuModel::names_of).collect();
            let hint = format!(
                "choose with --machine: {}; run --functional needs none",
                names.join(", ")
            );
            self.locate(diagnostic.hint(hint))
        })
    }

    /// Adds the file to a diagnostic.
    pub fn locate(&self, diagnostic: Diagnostic) -> Diagnostic {
        diagnostic.in_file(self.file.as_str())
    }
}
