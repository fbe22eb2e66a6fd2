//! A file with machine code inside: a cubin, or a file that holds many.

use std::sync::Arc;

use warpbound_base::Diagnostic;
use warpbound_bound::FactsFile;
use warpbound_load::{Container, Entry, Isa, Kernel, RefusedKernel, Sm, Source};
use warpbound_report::bound::KernelBound;

use crate::facts_check::FactsCheck;
use crate::jobs::in_order;
use crate::{Options, Session};

/// Which images of a file.
#[derive(Clone, Copy, Default, Debug)]
pub struct Selection {
    /// The one with this number, counted from 1 as `warpbound list` does.
    pub image: Option<usize>,
    /// Those for this architecture.
    pub sm: Option<Sm>,
}

/// What to look for in an image.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Find {
    /// Kernels.
    Kernels,
    /// Kernels, and functions with a code section of their own.
    All,
}

/// A file with machine code inside. Its images are loaded when they are asked for.
pub struct Library {
    pub(crate) file: String,
    pub(crate) library: warpbound_load::Library,
}

impl Library {
    /// Reads the directory of a file; `file` is its name in messages.
    ///
    /// # Errors
    ///
    /// One line naming file, offset and cause, where the file cannot be used.
    pub fn open(file: &str, source: impl Source + 'static) -> Result<Library, Diagnostic> {
        let library = warpbound_load::Library::open(source).map_err(|d| d.in_file(file))?;
        Ok(Library {
            file: file.to_owned(),
            library,
        })
    }

    /// Whether the file is a cubin, or text, and no collection.
    pub fn is_single(&self) -> bool {
        matches!(self.library.container(), Container::Cubin | Container::Text)
    }

    /// Whether the file is mini-SIMT text.
    pub fn is_text(&self) -> bool {
        matches!(self.library.container(), Container::Text)
    }

    /// Numbers of the selected images with machine code of a supported architecture; at least one. A file
    /// that is a cubin has the number 1, whatever its architecture.
    ///
    /// # Errors
    ///
    /// Where nothing is left, or the image that is asked for by its number is of no use.
    pub fn select(&self, selection: &Selection) -> Result<Vec<usize>, Diagnostic> {
        let fail = |what: String| Diagnostic::new(what).in_file(self.file.as_str());
        let entries = self.library.entries();
        if let Some(number) = selection.image {
            let entry = self.entry(number)?;
            if !entry.kind.is_code() {
                return Err(fail(format!("image {number} is {}, no cubin", entry.kind)));
            }
        }
        let cubins = || (1..).zip(entries).filter(|(_, e)| e.kind.is_code());
        let chosen = |sm: Option<Sm>| -> Vec<usize> {
            let chosen = cubins().filter(|(number, entry)| {
                // A cubin, and an image that is asked for, can say themselves that they are not supported.
                let asked = self.is_single() || selection.image.is_some();
                (asked || entry.isa.is_supported())
                    && selection.image.is_none_or(|wanted| wanted == *number)
                    && sm.is_none_or(|wanted| entry.isa == Isa::Sm(wanted))
            });
            chosen.map(|(number, _)| number).collect()
        };
        let numbers = match chosen(selection.sm) {
            numbers if !numbers.is_empty() => numbers,
            // Chips of sm_53 run the code of sm_52 where a file has none for them.
            none => match selection.sm.and_then(Sm::stands_in) {
                Some(other) => chosen(Some(other)),
                None => none,
            },
        };
        if !numbers.is_empty() {
            return Ok(numbers);
        }
        if let Some(sm) = selection.sm
            && let Err(unsupported) = sm.check_supported()
            && cubins().any(|(_, entry)| entry.isa == Isa::Sm(sm))
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
        Err(match selection.sm {
            Some(sm) => fail(format!("there is no machine code for {sm} in this file")),
            None => {
                fail("there is no machine code for a supported architecture in this file".into())
            }
        }
        .hint(format!("the file has {others}")))
    }

    /// Loads the image of a number.
    ///
    /// # Errors
    ///
    /// One line naming file, image and cause, where it cannot be used.
    pub fn session(&self, number: usize) -> Result<Session, Diagnostic> {
        let (file, number) = match self.is_single() {
            true => (self.file.clone(), None),
            false => (format!("{} image {number}", self.file), Some(number)),
        };
        let entry = self.entry(number.unwrap_or(1))?;
        let image = self.library.image(entry);
        Ok(Session {
            image: image.map_err(|d| d.in_file(file.as_str()))?,
            file,
            number,
        })
    }

    /// The image that a selection leaves, when that is one.
    ///
    /// # Errors
    ///
    /// Where it leaves none or several, or the image cannot be used.
    pub fn only_session(&self, selection: &Selection) -> Result<Session, Diagnostic> {
        match self.select(selection)?.as_slice() {
            [number] => self.session(*number),
            _ => Err(Diagnostic::new("the file has several images")
                .in_file(self.file.as_str())
                .hint("choose with --image")),
        }
    }

    fn entry(&self, number: usize) -> Result<&Entry, Diagnostic> {
        let entries = self.library.entries();
        let index = number.checked_sub(1);
        index.and_then(|index| entries.get(index)).ok_or_else(|| {
            Diagnostic::new(format!("there is no image {number}"))
                .in_file(self.file.as_str())
                .hint(format!("the file has the images 1 to {}", entries.len()))
        })
    }

    /// The kernels of the images with these numbers, or those of a name; each image is loaded when its turn
    /// comes. An image that cannot be used is one diagnostic; a kernel that cannot be read has a position like
    /// the others, and [`Session::kernel_at`] says what is wrong with it.
    pub fn kernels<'a>(
        &'a self,
        images: &'a [usize],
        name: Option<&'a str>,
    ) -> impl Iterator<Item = Result<(Arc<Session>, usize), Diagnostic>> + 'a {
        self.find(images, name, Find::Kernels)
    }

    /// [`Library::kernels`], and with [`Find::All`] after those of each image its functions.
    pub fn find<'a>(
        &'a self,
        images: &'a [usize],
        name: Option<&'a str>,
        find: Find,
    ) -> impl Iterator<Item = Result<(Arc<Session>, usize), Diagnostic>> + 'a {
        images.iter().flat_map(move |&number| {
            let session = self.session(number).map(Arc::new);
            let kernels = session.and_then(|session| {
                let found = session.find(name, find)?;
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

    /// The one kernel of a name in the images with these numbers.
    ///
    /// # Errors
    ///
    /// Where there is none, or more than one. An image that cannot be used is named where none is found.
    pub fn only_kernel(
        &self,
        images: &[usize],
        name: &str,
    ) -> Result<(Arc<Session>, usize), Diagnostic> {
        let (mut found, mut unusable): (Option<(Arc<Session>, usize)>, _) = (None, None);
        for item in self.kernels(images, Some(name)) {
            match (item, &found) {
                (Ok(first), None) => found = Some(first),
                (Ok((other, _)), Some((one, _))) => {
                    let (one, other) = (one.name(), other.name());
                    let what = format!("kernel {name:?} is in {one} and in {other}");
                    return Err(Diagnostic::new(what)
                        .in_file(self.file.as_str())
                        .hint("choose with --image, and by its mangled name"));
                }
                (Err(diagnostic), _) => {
                    unusable.get_or_insert(diagnostic);
                }
            }
        }
        found.ok_or_else(|| unusable.unwrap_or_else(|| self.no_kernel(images, Some(name))))
    }

    /// What to say when [`Library::kernels`] finds none.
    pub fn no_kernel(&self, images: &[usize], name: Option<&str>) -> Diagnostic {
        let in_file = |diagnostic: Diagnostic| diagnostic.in_file(self.file.as_str());
        let Some(name) = name else {
            return in_file(Diagnostic::new("the file has no kernels"))
                .hint("`warpbound list` prints what it has");
        };
        if let ([number], true) = (images, self.is_single())
            && let Ok(session) = self.session(*number)
            && let Err(diagnostic) = session.kernels(Some(name))
        {
            return diagnostic;
        }
        in_file(Diagnostic::new(format!("there is no kernel {name:?}")))
            .hint("`warpbound list` with --image or --sm prints those that there are")
    }

    /// The bounds of the kernels of some images, or of those of a name, worked on by `jobs` threads.
    /// `each` gets them in the order of the file, whatever the number of threads; what cannot be used comes
    /// as a diagnostic. Stops when `each` returns an error.
    ///
    /// # Errors
    ///
    /// That of `each`.
    pub fn bounds<E>(
        &self,
        images: &[usize],
        name: Option<&str>,
        options: &Options,
        jobs: usize,
        mut each: impl FnMut(Result<KernelBound, Diagnostic>) -> Result<(), E>,
    ) -> Result<(), E> {
        let bound = |item: Result<(Arc<Session>, usize), Diagnostic>| {
            let (session, index) = item?;
            match session.kernel_at(index) {
                Ok(kernel) => session.bound(kernel, options),
                Err(why) => match session.refused_at(index) {
                    Some(refused) => Ok(session.refused_bound(&refused.name, &refused.why)),
                    None => Err(why),
                },
            }
        };
        in_order(jobs, self.kernels(images, name), bound, &mut each)
    }

    /// Checks that all facts are about kernels of this file, as they are now; see [`Session::check_facts`].
    ///
    /// # Errors
    ///
    /// For the first facts of which that is not so.
    pub fn check_facts(&self, facts: &FactsFile) -> Result<(), Diagnostic> {
        let mut check = FactsCheck::new(facts);
        for number in self.select(&Selection::default())? {
            if check.is_complete() {
                break;
            }
            // What cannot be loaded has no facts.
            let Ok(session) = self.session(number) else {
                continue;
            };
            for kernel in session.kernels(None).unwrap_or_default() {
                check.see(kernel)?;
            }
        }
        check.finish()
    }
}

impl Session {
    /// Positions of all kernels, or of those of a name; none where no kernel has it. Behind those that can be
    /// read come those that cannot, then the functions with a code section of their own, where they are asked for.
    fn find(&self, name: Option<&str>, find: Find) -> Result<Vec<usize>, Diagnostic> {
        let fits = |kernel: &Kernel| {
            name.is_none_or(|name| *kernel.name == *name || kernel.demangled() == name)
        };
        let kernels = self.kernels(None)?;
        let refused = self.image.refused().iter();
        let refused = refused.map(|kernel| name.is_none_or(|name| kernel.is_named(name)));
        let functions = match find {
            Find::All => self.image.device_functions(),
            Find::Kernels => &[],
        };
        let fit = kernels.into_iter().map(fits).chain(refused);
        let fit = fit.chain(functions.iter().map(fits));
        let positions = (0..).zip(fit).filter(|(_, fits)| *fits);
        Ok(positions.map(|(index, _)| index).collect())
    }

    /// The kernel or function at a position that [`Library::find`] gave.
    ///
    /// # Errors
    ///
    /// Where the file has no such kernel, or it cannot be read.
    pub fn kernel_at(&self, index: usize) -> Result<&Kernel, Diagnostic> {
        let kernels = self.kernels(None)?;
        if let Some(kernel) = kernels.get(index) {
            return Ok(kernel);
        }
        let before = kernels.len() + self.image.refused().len();
        let function = index.checked_sub(before);
        let function = function.and_then(|index| self.image.device_functions().get(index));
        function.ok_or_else(|| {
            let why = match self.refused_at(index) {
                Some(refused) => refused.why.clone(),
                None => Diagnostic::new(format!("there is no kernel {index}")),
            };
            self.locate(why)
        })
    }

    /// The kernel at a position, if it is one that cannot be read.
    fn refused_at(&self, index: usize) -> Option<&RefusedKernel> {
        let kernels = self.image.kernels().ok()?;
        self.image.refused().get(index.checked_sub(kernels.len())?)
    }
}
