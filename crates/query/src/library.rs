//! Files with machine code: a cubin, or a file that contains many.
//!
//! Only the directory is read at first, and images are loaded on demand, one at a time. So a query about one kernel
//! of a library with hundreds of images needs little memory.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

use warpbound_analyse::access::KnownCounts;
use warpbound_base::{Diagnostic, SizeLimits};
use warpbound_ipet::FactsFile;
use warpbound_launch::LaunchFile;
use warpbound_load::{
    ByteSource, ContainerKind, FatbinEntry, Isa, MatchQuality, NamePattern, list_candidates,
};
use warpbound_report::LeftOutImages;

use crate::Session;
use crate::facts_check::FactsCheck;
use crate::unlinked::UnlinkedCopy;
use crate::{launch_knowledge::has_param, launch_knowledge::param_list};
use crate::{stated_launches::StatedLaunches, stated_launches::StatedParam};

/// Selection of images of a file.
#[derive(Clone, Copy, Default, Debug)]
pub struct ImageSelection {
    /// Image with this number, counted from 1 as by `warpbound list`.
    pub image: Option<usize>,
    /// Images for this architecture.
    pub isa: Option<Isa>,
}

/// Images that a query can use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UsableImages {
    /// Those whose kernels are analysed and run.
    Analysed,
    /// Also those whose instructions can be decoded.
    Decoded,
    /// Also those whose kernels can be listed, though their instructions cannot be decoded.
    Listed,
    /// All machine code.
    Any,
}

impl UsableImages {
    /// Whether images for an instruction set are among them.
    pub fn include(self, isa: Isa) -> bool {
        match self {
            UsableImages::Analysed => isa.is_supported(),
            UsableImages::Decoded => isa.is_decoded(),
            UsableImages::Listed => isa.has_readable_metadata(),
            UsableImages::Any => true,
        }
    }
}

/// Failure to use an image or a kernel.
#[derive(Clone, Debug)]
pub enum Unusable {
    /// Failure of an image, with all its kernels.
    Image(Diagnostic),
    /// Failure of a kernel.
    Kernel(Diagnostic),
    /// Images that are left out.
    LeftOut(LeftOutImages),
}

/// Kind of code to search an image for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CodeKind {
    /// Kernels.
    Kernels,
    /// Kernels, and functions with a code section of their own.
    All,
}

/// File with machine code. Its images are loaded on demand.
pub struct Library {
    pub(crate) file: String,
    /// Directory of the file: its entries, none of them loaded.
    pub library: warpbound_load::ImageDirectory,
    pub(crate) unlinked: OnceLock<Vec<UnlinkedCopy>>,
    /// Counts of memory accesses that all images share.
    known_counts: Arc<KnownCounts>,
}

/// Images of a file that a query is about.
#[derive(Clone, Copy, Debug)]
pub struct AskedImages<'a> {
    /// Numbers of the images with supported code.
    pub images: &'a [usize],
    /// Images for other architectures, which have no answer but must be named.
    pub left_out: &'a [LeftOutImages],
}

impl Library {
    /// Reads the directory of a file; `file` is its name in messages.
    ///
    /// # Errors
    ///
    /// The file cannot be used; the diagnostic names file, offset and cause.
    pub fn open(file: &str, source: impl ByteSource + 'static) -> Result<Library, Diagnostic> {
        let library = warpbound_load::ImageDirectory::open(source).map_err(|d| d.in_file(file))?;
        Ok(Library {
            file: file.to_owned(),
            library,
            unlinked: OnceLock::new(),
            known_counts: Arc::default(),
        })
    }

    /// Returns the name of the file in messages.
    pub fn name(&self) -> &str {
        &self.file
    }

    /// Whether the file is a single cubin or text, not a container.
    pub fn is_single(&self) -> bool {
        matches!(
            self.library.container(),
            ContainerKind::Cubin | ContainerKind::CodeObject | ContainerKind::Text
        )
    }

    /// Whether the file is mini-SIMT text.
    pub fn is_text(&self) -> bool {
        matches!(self.library.container(), ContainerKind::Text)
    }

    /// Returns the numbers of the selected images with machine code of a supported architecture; at least one. A
    /// cubin file has the number 1, whatever its architecture. Copies that are not linked are left out unless one is
    /// selected by number, see [`Library::unlinked_copies`].
    ///
    /// # Errors
    ///
    /// No image is left, or the image selected by number is not machine code.
    pub fn select(&self, selection: &ImageSelection) -> Result<Vec<usize>, Diagnostic> {
        self.select_usable(selection, UsableImages::Analysed)
    }

    /// Like [`Library::select`], with the images that a query can use.
    ///
    /// # Errors
    ///
    /// See [`Library::select`].
    pub fn select_usable(
        &self,
        selection: &ImageSelection,
        usable: UsableImages,
    ) -> Result<Vec<usize>, Diagnostic> {
        let mut numbers = self.select_images(selection, usable)?;
        // A search for copies loads images, so it is omitted where there can be none.
        if selection.image.is_none() && numbers.len() > 1 {
            let copies = self.unlinked_copies();
            numbers.retain(|number| copies.iter().all(|copy| copy.image != *number));
        }
        Ok(numbers)
    }

    /// Like [`Library::select`], including images of unsupported architectures.
    ///
    /// # Errors
    ///
    /// See [`Library::select`].
    pub fn select_any(&self, selection: &ImageSelection) -> Result<Vec<usize>, Diagnostic> {
        self.select_images(selection, UsableImages::Any)
    }

    /// Instruction sets of images, each once.
    pub fn isas(&self, images: &[usize]) -> Vec<Isa> {
        let entries = (1..).zip(self.library.entries());
        let entries = entries.filter(|(number, _)| images.contains(number));
        let isas: BTreeSet<Isa> = entries.map(|(_, entry)| entry.isa).collect();
        isas.into_iter().collect()
    }

    /// Selects images among those that a query can use.
    fn select_images(
        &self,
        selection: &ImageSelection,
        usable: UsableImages,
    ) -> Result<Vec<usize>, Diagnostic> {
        let fail = |message: String| Diagnostic::new(message).in_file(self.file.as_str());
        let entries = self.library.entries();
        if let Some(number) = selection.image {
            let entry = self.entry(number)?;
            if !entry.kind.is_code() {
                return Err(fail(format!(
                    "image {number} is {}, not a cubin",
                    entry.kind
                )));
            }
        }
        let cubins = || (1..).zip(entries).filter(|(_, e)| e.kind.is_code());
        let chosen = |isa: Option<Isa>| -> Vec<usize> {
            let chosen = cubins().filter(|(number, entry)| {
                // A single cubin, or an image selected by number, is kept: loading it reports the unsupported
                // architecture.
                let is_requested = self.is_single() || selection.image.is_some();
                (is_requested || usable.include(entry.isa))
                    && selection.image.is_none_or(|selected| selected == *number)
                    && isa.is_none_or(|selected| entry.isa == selected)
            });
            chosen.map(|(number, _)| number).collect()
        };
        let numbers = match chosen(selection.isa) {
            numbers if !numbers.is_empty() => numbers,
            // GPUs of some architectures run the code of another one, so it is their code if the file has no other.
            none => match selection.isa.and_then(Isa::fallback) {
                Some(other) => chosen(Some(other)),
                None => none,
            },
        };
        if !numbers.is_empty() {
            return Ok(numbers);
        }
        if let Some(isa) = selection.isa
            && let Err(unsupported) = isa.check_supported()
            && cubins().any(|(_, entry)| entry.isa == isa)
        {
            return Err(unsupported.in_file(self.file.as_str()));
        }
        let mut others: Vec<Isa> = cubins().map(|(_, entry)| entry.isa).collect();
        others.sort_unstable();
        others.dedup();
        let others: Vec<String> = others.iter().map(ToString::to_string).collect();
        let others = match others.is_empty() {
            true => "no machine code at all".to_owned(),
            false => others.join(", "),
        };
        Err(match selection.isa {
            Some(isa) => fail(format!("there is no machine code for {isa} in this file")),
            None => {
                fail("there is no machine code for a supported architecture in this file".into())
            }
        }
        .hint(format!("the file has {others}")))
    }

    /// Returns the images with machine code that a query asks about and [`Library::select`] leaves out, because their
    /// architecture is not supported. With the name of a kernel, only images that have it are returned. The list is
    /// empty if the query selects an image or an architecture, or if the file is a single image: loading it reports the
    /// reason.
    pub fn left_out(&self, selection: &ImageSelection, name: Option<&str>) -> Vec<LeftOutImages> {
        self.left_out_of(selection, name, UsableImages::Analysed)
    }

    /// Like [`Library::left_out`], for a query that can use other images than those that are analysed.
    pub fn left_out_of(
        &self,
        selection: &ImageSelection,
        name: Option<&str>,
        usable: UsableImages,
    ) -> Vec<LeftOutImages> {
        match self.is_single() {
            true => Vec::new(),
            false => self.unusable(selection, name, usable),
        }
    }

    /// Like [`Library::left_out_of`], but includes a file that is a single image.
    pub fn unusable(
        &self,
        selection: &ImageSelection,
        name: Option<&str>,
        usable: UsableImages,
    ) -> Vec<LeftOutImages> {
        if selection.image.is_some() || selection.isa.is_some() {
            return Vec::new();
        }
        let pattern = name.map(NamePattern::new);
        let mut found: BTreeMap<Isa, LeftOutImages> = BTreeMap::new();
        for (number, entry) in (1..).zip(self.library.entries()) {
            if usable.include(entry.isa) {
                continue;
            }
            let Err(why) = entry.isa.check_supported() else {
                continue;
            };
            // An image that cannot be read may have the kernel, so it is named too.
            let has_kernel = |pattern| self.has_kernel(number, pattern).unwrap_or(true);
            if !entry.kind.is_code() || !pattern.as_ref().is_none_or(has_kernel) {
                continue;
            }
            let images = found.entry(entry.isa).or_insert_with(|| LeftOutImages {
                file: self.file.clone(),
                isa: entry.isa.to_string(),
                images: Vec::new(),
                reason: why.to_string(),
            });
            images.images.push(number);
        }
        found.into_values().collect()
    }

    /// Loads the image with a number.
    ///
    /// # Errors
    ///
    /// The image cannot be used; the diagnostic names file, image and cause.
    pub fn session(&self, number: usize) -> Result<Session, Diagnostic> {
        let file = self.image_name(number);
        let entry = self.entry(number)?;
        // A file that is one image needs no image number in reports.
        let number = (!self.is_single()).then_some(number);
        let image = self.library.image(entry);
        Ok(Session {
            image: image.map_err(|d| d.in_file(file.as_str()))?,
            file,
            number,
            known_counts: Arc::clone(&self.known_counts),
            preparations: Default::default(),
        })
    }

    /// Returns the name of an image in messages.
    pub fn image_name(&self, number: usize) -> String {
        match self.is_single() {
            true => self.file.clone(),
            false => format!("{} image {number}", self.file),
        }
    }

    /// Loads the image of a selection that leaves exactly one.
    ///
    /// # Errors
    ///
    /// The selection leaves none or several, or the image cannot be used.
    pub fn only_session(&self, selection: &ImageSelection) -> Result<Session, Diagnostic> {
        match self.select(selection)?.as_slice() {
            [number] => self.session(*number),
            _ => Err(Diagnostic::new("the file has several images")
                .in_file(self.file.as_str())
                .hint("choose with --image")),
        }
    }

    pub(crate) fn entry(&self, number: usize) -> Result<&FatbinEntry, Diagnostic> {
        let entries = self.library.entries();
        let index = number.checked_sub(1);
        index.and_then(|index| entries.get(index)).ok_or_else(|| {
            Diagnostic::new(format!("there is no image {number}"))
                .in_file(self.file.as_str())
                .hint(format!("the file has the images 1 to {}", entries.len()))
        })
    }

    /// Iterates over the kernels of the images with these numbers, or in each image over those that a name fits best.
    /// Images are loaded one at a time. An unusable image yields one diagnostic; an unreadable kernel has a position
    /// like the others, and [`Session::kernel_at`] returns its diagnostic.
    pub fn kernels<'a>(
        &'a self,
        images: &'a [usize],
        name: Option<&str>,
    ) -> impl Iterator<Item = Result<(Arc<Session>, usize), Diagnostic>> + use<'a> {
        self.find(images, name, CodeKind::Kernels)
    }

    /// Like [`Library::kernels`]; with [`CodeKind::All`], the functions of each image follow its kernels.
    pub fn find<'a>(
        &'a self,
        images: &'a [usize],
        name: Option<&str>,
        find: CodeKind,
    ) -> impl Iterator<Item = Result<(Arc<Session>, usize), Diagnostic>> + use<'a> {
        let pattern = name.map(NamePattern::new);
        // Images are loaded lazily, so that only the image of the current kernel is in memory.
        images.iter().flat_map(move |&number| {
            let session = self.session(number).map(Arc::new);
            let kernels = session.and_then(|session| {
                let found = session.find(pattern.as_ref(), find)?;
                Ok((session, found))
            });
            let (items, error) = match kernels {
                Ok((session, found)) => {
                    let items = found
                        .into_iter()
                        .map(move |k| Ok((Arc::clone(&session), k)));
                    (Some(items), None)
                }
                Err(diagnostic) => (None, Some(Err(diagnostic))),
            };
            items.into_iter().flatten().chain(error)
        })
    }

    /// Returns the one kernel in the images with these numbers that a name fits best.
    ///
    /// # Errors
    ///
    /// There is none, or more than one. If there is none, the diagnostic of an unusable image has priority.
    pub fn only_kernel(
        &self,
        images: &[usize],
        name: &str,
    ) -> Result<(Arc<Session>, usize), Diagnostic> {
        let pattern = NamePattern::new(name);
        let mut best: Option<(MatchQuality, Arc<Session>, usize)> = None;
        // Images and symbols of the kernels that fit as well as the best.
        let mut equal: Vec<(String, Arc<str>)> = Vec::new();
        let mut unusable = None;
        for item in self.kernels(images, Some(name)) {
            let (session, index) = match item {
                Ok(found) => found,
                Err(diagnostic) => {
                    // The kernel may be in the unusable image, so this is the reason to report if no other image has
                    // it.
                    unusable.get_or_insert(diagnostic);
                    continue;
                }
            };
            let Some(symbol) = session.symbol_at(index).cloned() else {
                continue;
            };
            let Some(fit) = pattern.match_quality(&symbol) else {
                continue;
            };
            // The search keeps the best matches of each image, so matches of different images are compared here.
            let known = best.as_ref().map(|(fit, ..)| *fit);
            // Without a match so far, `known` is `None`, which is less than any quality.
            if Some(fit) >= known {
                if Some(fit) > known {
                    equal.clear();
                }
                equal.push((session.name().to_owned(), symbol));
                best = Some((fit, session, index));
            }
        }
        match (best, equal.as_slice()) {
            (Some((_, session, index)), [_]) => Ok((session, index)),
            (Some(_), [(one, first), (other, _), ..]) => {
                let same = equal.iter().all(|(_, symbol)| symbol == first);
                let (message, hint) = match same {
                    true => (
                        format!("kernel {name:?} is in {one} and in {other}"),
                        "choose with --image or --sm",
                    ),
                    false => {
                        let names = list_candidates(equal.iter().map(|(_, symbol)| symbol));
                        (
                            format!("{name:?} is the name of several kernels: {names}"),
                            "give the whole name of one, and choose among images with --image or --sm",
                        )
                    }
                };
                Err(Diagnostic::new(message)
                    .in_file(self.file.as_str())
                    .hint(hint))
            }
            _ => Err(unusable.unwrap_or_else(|| self.no_kernel(images, Some(name)))),
        }
    }

    /// Returns the image whose kernel is launched: the one with the kernel `name`, else with the kernel that the
    /// launch file names, else the only image.
    ///
    /// # Errors
    ///
    /// There is no such kernel or image, or there are several.
    pub fn launched_session(
        &self,
        selection: &ImageSelection,
        name: Option<&str>,
        launch: &LaunchFile,
    ) -> Result<Arc<Session>, Diagnostic> {
        let images = self.select(selection)?;
        match name.or(launch.kernel.as_deref()) {
            Some(name) => Ok(self.only_kernel(&images, name)?.0),
            None => Ok(Arc::new(self.only_session(selection)?)),
        }
    }

    /// Returns the diagnostic for a search by [`Library::kernels`] that finds none.
    pub fn no_kernel(&self, images: &[usize], name: Option<&str>) -> Diagnostic {
        let in_file = |diagnostic: Diagnostic| diagnostic.in_file(self.file.as_str());
        let Some(name) = name else {
            return in_file(Diagnostic::new("the file has no kernels"))
                .hint("`warpbound list` prints what it has");
        };
        let mut symbols = Vec::new();
        // Images that cannot be loaded contribute no names.
        for session in images.iter().filter_map(|&n| self.session(n).ok()) {
            symbols.extend(session.image.kernel_names().map(str::to_owned));
        }
        symbols.sort_unstable();
        symbols.dedup();
        let nearest = NamePattern::new(name).nearest_hint(symbols.iter());
        in_file(Diagnostic::new(format!("there is no kernel {name:?}"))).hint(nearest)
    }

    /// Checks that statements about launches apply to kernels of some images, or to kernels with a name.
    ///
    /// # Errors
    ///
    /// A range is empty, a size exceeds the limits of GPUs, a launch file could be for several kernels, or no kernel
    /// has a stated parameter.
    pub fn check_launches(
        &self,
        images: &[usize],
        name: Option<&str>,
        launches: &StatedLaunches,
    ) -> Result<(), Diagnostic> {
        let fail = |message: String| Diagnostic::new(message).in_file(self.file.as_str());
        let isas = self.isas(images);
        // Ranges must suit some machine even if the query is about no image.
        let of_no_image = isas.is_empty().then(SizeLimits::default);
        // Sizes must suit the machines of each image that the query is about.
        let limits = isas.into_iter().map(SizeLimits::of_isa);
        for limits in limits.chain(of_no_image) {
            launches.check(limits)?;
        }
        let of_gpus = [
            ("--grid", launches.grid.is_some()),
            ("--param", !launches.params.is_empty()),
        ];
        if let (true, Some((option, _))) = (self.is_text(), of_gpus.iter().find(|(_, is)| *is)) {
            return Err(fail(format!(
                "{option} is for GPU kernels, this is mini-SIMT"
            )));
        }
        if launches.file.is_none() && launches.params.is_empty() {
            return Ok(());
        }
        // One kernel with the parameter suffices, because a query about several kernels skips the statement for the
        // others.
        let mut missing: Vec<&StatedParam> = launches.params.iter().collect();
        let (mut symbols, mut params) = (BTreeSet::new(), String::new());
        for (session, index) in self.kernels(images, name).filter_map(Result::ok) {
            // Other checks report unreadable kernels.
            let Ok(kernel) = session.kernel_at(index) else {
                continue;
            };
            symbols.insert(Arc::clone(&kernel.name));
            params = param_list(kernel, launches);
            missing.retain(|stated| !has_param(kernel, launches, stated));
        }
        if let (Some(file), None, 2..) = (&launches.file, name, symbols.len()) {
            let names = list_candidates(symbols.iter());
            let message = format!("the file has several kernels: {names}");
            let hint = format!(
                "choose with --kernel, or name the kernel of the launch in {}",
                file.file
            );
            return Err(fail(message).hint(hint));
        }
        let (Some(stated), Some(kernel)) = (missing.first(), symbols.first()) else {
            return Ok(());
        };
        match symbols.len() {
            1 => {
                let message = format!("there is no parameter {:?}", stated.name);
                let kernel = warpbound_load::demangle(kernel);
                Err(fail(message).in_kernel(kernel).hint(params))
            }
            _ => Err(fail(format!("no kernel has a parameter {:?}", stated.name))
                .hint("by position, parameters are called p0, p1, ...")),
        }
    }

    /// Checks that all facts are about kernels of this file and their present code; see [`Session::check_facts`].
    ///
    /// # Errors
    ///
    /// Some facts are about no kernel of the file, or about other code; the diagnostic names the first.
    pub fn check_facts(&self, facts: &FactsFile) -> Result<(), Diagnostic> {
        let mut check = FactsCheck::new(facts);
        for number in self.select(&ImageSelection::default())? {
            // The remaining images need not be loaded.
            if check.is_complete() {
                break;
            }
            // An image that cannot be loaded has no kernels, so no facts can match it.
            let Ok(session) = self.session(number) else {
                continue;
            };
            for kernel in session.kernels(None).unwrap_or_default() {
                check.match_kernel(kernel)?;
            }
        }
        check.finish()
    }
}
