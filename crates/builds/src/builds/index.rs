//! Index of a build: its kernels with their names, digests and resources.
//!
//! The index needs no analysis: it contains what the files state, so that kernels can be paired and equal ones
//! recognised before any of them is analysed. For example, two kernels of one architecture with equal code,
//! surroundings and resources have equal bounds, unless facts are stated about one of them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::hash::{DefaultHasher, Hasher as _};
use std::sync::{Arc, Mutex, PoisonError};

use warpbound_base::Diagnostic;
use warpbound_ipet::FactsFile;
use warpbound_load::{Image, Isa, Kernel, VariableLocation};
use warpbound_query::facts_check::FactsCheck;
use warpbound_query::jobs::map_in_order;
use warpbound_query::{ImageSelection, Library, Session, UsableImages};
use warpbound_report::LeftOutImages;

use super::occupancy::{KernelOccupancy, OccupancyCalculator};
use super::pairing::name_without_hashes;

/// Resources that the file states about a kernel.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub struct KernelResources {
    /// Registers per thread; on GCN3, VGPRs.
    pub registers: u32,
    /// SGPRs per wave; `None` on NVIDIA's GPUs.
    pub scalar_registers: Option<u32>,
    /// Bytes of static shared memory of a block; unknown in relocatable files.
    pub shared: Option<u32>,
    /// Bytes of local memory per thread; on GCN3, bytes of scratch.
    pub local: Option<u32>,
    /// Barriers.
    pub barriers: u32,
    /// Bytes of the parameters.
    pub parameter_bytes: u64,
    /// Bytes of the code section: the kernel, functions after it, padding.
    pub code_bytes: u64,
    /// Occupancy; `None` if shared memory or the machine is not known.
    pub occupancy: Option<KernelOccupancy>,
}

/// Kernel of a build.
#[derive(Clone, Debug)]
pub struct BuildKernel {
    /// Position of its file in [`Build::libraries`].
    pub file: usize,
    /// Number of its image in the file.
    pub image: usize,
    /// Position in the image, for [`Session::kernel_at`].
    pub position: usize,
    /// Architecture, as [`Isa`](warpbound_base::Isa) prints it.
    pub isa: Isa,
    /// Name in the symbol table.
    pub symbol: Arc<str>,
    /// Demangled name.
    pub name: String,
    /// Demangled name with `#` for each digest: `k_#` for `k_0f3a99d2`.
    pub hashless: String,
    /// Digest of the code ([`Kernel::code_digest`]); empty for a kernel that cannot be read.
    pub code: String,
    /// Digest of everything else that an analysis reads about the kernel: parameters, limits of blocks, constants,
    /// relocations.
    pub surroundings: u64,
    /// Resources.
    pub resources: KernelResources,
    /// Reason why the kernel cannot be read.
    pub refused: Option<Diagnostic>,
}

/// Number of a file and of an image in it, with the loaded image.
type RecentSession = ((usize, usize), Arc<Session>);

/// Files that belong together, with the index of their kernels.
pub struct Build {
    /// Name of the file or folder, for messages.
    pub name: String,
    /// Files.
    pub libraries: Vec<Library>,
    /// Kernels in the order of files, images and positions.
    pub kernels: Vec<BuildKernel>,
    /// Images that cannot be read.
    pub unreadable: Vec<Diagnostic>,
    /// Images for architectures that are not supported, unless an architecture is selected.
    pub left_out: Vec<LeftOutImages>,
    /// Images that were loaded last, by file and number. A few suffice, because kernels of one image follow each
    /// other.
    recent: Mutex<VecDeque<RecentSession>>,
}

/// Maximum number of images that stay in memory.
const RECENT: usize = 8;

impl Build {
    /// Reads the kernels of files on `jobs` threads: of all supported architectures, or of the
    /// selected one. `block` is the size of the blocks of all launches, if it is known.
    ///
    /// # Errors
    ///
    /// No file has code of the selected architecture, or no image is for a supported one.
    pub fn read(
        name: &str,
        libraries: Vec<Library>,
        selection: &ImageSelection,
        block: Option<[u32; 3]>,
        jobs: usize,
    ) -> Result<Build, Diagnostic> {
        let mut images = Vec::new();
        let (mut failed, mut left_out) = (Vec::new(), Vec::new());
        for (file, library) in libraries.iter().enumerate() {
            let unsupported = library.unusable(selection, None, UsableImages::Decoded);
            let is_left_out =
                |number: &usize| unsupported.iter().any(|of| of.images.contains(number));
            match library.select_usable(selection, UsableImages::Decoded) {
                Ok(mut numbers) => {
                    numbers.retain(|number| !is_left_out(number));
                    images.extend(numbers.into_iter().map(|number| (file, number)));
                }
                // Not a failure, because its images are named as left out.
                Err(_) if !unsupported.is_empty() => {}
                Err(diagnostic) => failed.push(diagnostic),
            }
            left_out.extend(unsupported);
        }
        if images.is_empty() {
            let unsupported = left_out.first().map(|of| Diagnostic::new(of.message()));
            if let Some(diagnostic) = failed.pop().or(unsupported) {
                return Err(diagnostic);
            }
        }
        // A selected architecture does not concern the files without code for it.
        if selection.isa.is_some() {
            failed.clear();
        }
        // Machines are built once and before the threads start, which share the calculator read-only.
        let mut calculator = OccupancyCalculator::default();
        for library in &libraries {
            for entry in library.library.entries() {
                calculator.learn(&entry.isa.to_string());
            }
        }
        let mut build = Build {
            name: name.to_owned(),
            libraries: Vec::new(),
            kernels: Vec::new(),
            unreadable: failed,
            left_out,
            recent: Mutex::default(),
        };
        let read = |(file, number): (usize, usize)| {
            let library = libraries.get(file);
            let session = library.map(|library| library.session(number));
            session.map(|session| Ok(kernels_of(&session?, file, number, &calculator, block)))
        };
        let done: Result<(), std::convert::Infallible> =
            map_in_order(jobs, images.into_iter(), read, |kernels| {
                match kernels {
                    Some(Ok(kernels)) => build.kernels.extend(kernels),
                    Some(Err(diagnostic)) => build.unreadable.push(diagnostic),
                    None => {}
                }
                Ok(())
            });
        // Failures of images are collected above, so the work as a whole cannot fail.
        let Ok(()) = done;
        build.libraries = libraries;
        Ok(build)
    }

    /// Checks that all facts are about kernels of the build and their present code; see [`Session::check_facts`].
    ///
    /// # Errors
    ///
    /// Some facts are about no kernel of the build, or about other code; the diagnostic names the first.
    pub fn check_facts(&self, facts: &FactsFile) -> Result<(), Diagnostic> {
        let mut check = FactsCheck::new(facts);
        let images: BTreeSet<(usize, usize)> = self
            .kernels
            .iter()
            .map(|kernel| (kernel.file, kernel.image))
            .collect();
        for (file, image) in images {
            let session = self
                .libraries
                .get(file)
                .map(|library| library.session(image));
            // An image that cannot be loaded has no kernels, so no facts can match it.
            let Some(Ok(session)) = session else {
                continue;
            };
            for kernel in session.kernels(None).unwrap_or_default() {
                check.match_kernel(kernel)?;
            }
        }
        check.finish()
    }

    /// Loads the image of a kernel.
    ///
    /// # Errors
    ///
    /// The image cannot be read.
    pub fn session(&self, kernel: &BuildKernel) -> Result<Arc<Session>, Diagnostic> {
        let key = (kernel.file, kernel.image);
        let find = |recent: &VecDeque<RecentSession>| {
            let mut known = recent.iter();
            known
                .find(|(own, _)| *own == key)
                .map(|(_, session)| Arc::clone(session))
        };
        if let Some(session) = find(&self.recent.lock().unwrap_or_else(PoisonError::into_inner)) {
            return Ok(session);
        }
        let library = self.libraries.get(kernel.file);
        let none = || Diagnostic::new("the file is not in the build").in_file(self.name.as_str());
        // The lock is free while an image is loaded, so that other threads can load others. Two threads may load one
        // image twice, which costs only time.
        let session = Arc::new(library.ok_or_else(none)?.session(kernel.image)?);
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        recent.push_back((key, Arc::clone(&session)));
        // First in, first out suffices, because kernels are mostly analysed in the order of their images.
        if recent.len() > RECENT {
            recent.pop_front();
        }
        Ok(session)
    }
}

/// Returns the kernels of an image.
fn kernels_of(
    session: &Session,
    file: usize,
    image: usize,
    calculator: &OccupancyCalculator,
    block: Option<[u32; 3]>,
) -> Vec<BuildKernel> {
    let isa = session.image.isa();
    let isa_name = isa.to_string();
    let blank = |position: usize, symbol: &Arc<str>| {
        let name = warpbound_load::demangle(symbol);
        BuildKernel {
            file,
            image,
            position,
            isa,
            symbol: Arc::clone(symbol),
            hashless: name_without_hashes(&name),
            name,
            code: String::new(),
            surroundings: 0,
            resources: KernelResources::default(),
            refused: None,
        }
    };
    let module = module_digest(&session.image);
    let kernels = session.image.kernels().unwrap_or_default();
    let readable = kernels.iter().enumerate().map(|(position, kernel)| {
        let occupancy = calculator.occupancy(kernel, &isa_name, block);
        BuildKernel {
            code: kernel.code_digest(),
            surroundings: surroundings(kernel, module),
            resources: KernelResources {
                occupancy,
                ..resources(kernel)
            },
            ..blank(position, &kernel.name)
        }
    });
    // Unreadable kernels follow the readable ones, in the numbering of `Session::kernel_at`.
    let refused = session.image.refused().iter().enumerate();
    let refused = refused.map(|(position, kernel)| BuildKernel {
        refused: Some(session.locate(kernel.error.clone())),
        ..blank(kernels.len() + position, &kernel.name)
    });
    readable.chain(refused).collect()
}

/// Returns the resources of a kernel, without the occupancy.
fn resources(kernel: &Kernel) -> KernelResources {
    let object = kernel.code_object.as_ref();
    let scratch = object.map(|object| object.descriptor.private_segment);
    let local = kernel.frame_size.or(kernel.min_stack_size);
    KernelResources {
        registers: match object {
            Some(object) => object.descriptor.vector_registers().into(),
            None => kernel.registers.into(),
        },
        scalar_registers: object.map(|object| object.descriptor.scalar_registers().into()),
        shared: kernel.static_shared,
        // A cubin states no stack size for a kernel without a stack, so a missing size is 0.
        local: scratch.or(Some(local.unwrap_or(0))),
        barriers: kernel.barriers.into(),
        parameter_bytes: kernel.params.iter().map(|p| u64::from(p.size)).sum(),
        code_bytes: kernel.code().len() as u64,
        occupancy: None,
    }
}

/// Returns a digest of what analyses read about a kernel besides its code; `module` is the digest of its image.
/// Symbols are compared without digests in their names, because these change with every build. The result is
/// comparable only within one process, because the algorithm of `DefaultHasher` may change between releases of Rust.
fn surroundings(kernel: &Kernel, module: u64) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write_u64(module);
    let mut add = |text: String| {
        hasher.write(text.as_bytes());
        // The separator keeps `ab`, `c` apart from `a`, `bc`.
        hasher.write_u8(0);
    };
    let (entry, params, block) = (kernel.entry, &kernel.params, &kernel.param_block);
    let (required, threads) = (kernel.required_block, kernel.max_threads);
    add(format!(
        "{entry} {params:?} {block:?} {required:?} {threads:?}"
    ));
    let stacks = (
        kernel.frame_size,
        kernel.min_stack_size,
        kernel.max_stack_size,
    );
    let arguments = kernel
        .code_object
        .as_ref()
        .map(|object| (&object.args, object.kernarg_size));
    add(format!(
        "{stacks:?} {:?} {arguments:?}",
        kernel.crs_stack_size
    ));
    for function in &*kernel.functions {
        let (start, size, frame) = (function.start, function.size, function.frame_size);
        add(format!("function {start} {size} {frame:?}"));
    }
    add(format!("{:?} {:?}", kernel.indirect_branches, kernel.exits));
    for name in &kernel.externs {
        add(name_without_hashes(&warpbound_load::demangle(name)));
    }
    let of_banks = kernel.banks.iter().flat_map(|bank| bank.relocations.iter());
    // Tables of functions in constant banks are zeros with relocations, so the relocations decide what is called.
    for relocation in kernel.relocations.iter().chain(of_banks) {
        add(name_without_hashes(&format!("{relocation:?}")));
    }
    for bank in &kernel.banks {
        hasher.write_u8(bank.number);
        // The length separates the contents of one bank from the next.
        hasher.write_usize(bank.bytes().len());
        hasher.write(bank.bytes());
    }
    hasher.finish()
}

/// Returns a digest of what analyses of a kernel read of its image: functions with sections of their own, and
/// variables.
fn module_digest(image: &Image) -> u64 {
    let mut hasher = DefaultHasher::new();
    for function in image.device_functions() {
        hasher.write(name_without_hashes(&warpbound_load::demangle(&function.name)).as_bytes());
        hasher.write_usize(function.code().len());
        hasher.write(function.code());
        // 0, because the digest of the module is what is being computed.
        hasher.write_u64(surroundings(function, 0));
    }
    for variable in image.variables() {
        hasher.write(name_without_hashes(&warpbound_load::demangle(&variable.name)).as_bytes());
        hasher.write_u32(variable.size);
        match &variable.location {
            VariableLocation::Constant { bank, offset } => {
                hasher.write_u8(*bank);
                hasher.write_u32(*offset);
            }
            VariableLocation::Global(contents) => hasher.write(contents),
            VariableLocation::Loaded(address) => hasher.write_u64(*address),
        }
    }
    hasher.finish()
}

/// Groups kernels by a key; each group keeps the order of the build.
pub(super) fn grouped<K: Ord>(
    kernels: impl Iterator<Item = (usize, K)>,
) -> BTreeMap<K, Vec<usize>> {
    let mut groups: BTreeMap<K, Vec<usize>> = BTreeMap::new();
    for (at, key) in kernels {
        groups.entry(key).or_default().push(at);
    }
    groups
}

#[cfg(test)]
mod tests;
