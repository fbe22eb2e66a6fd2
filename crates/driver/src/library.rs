//! A file with machine code inside: a cubin, or a file that holds many.

use std::sync::Arc;

use warpbound_base::Diagnostic;
use warpbound_bound::FactsFile;
use warpbound_load::{Container, FatbinEntry, Fit, Isa, NamePattern, Sm, ByteSource, spell_candidates};
use warpbound_report::bound::KernelBound;

use crate::facts_check::FactsCheck;
use crate::jobs::in_order;
use crate::{BoundOptions, Session};

/// Which images of a file.
#[derive(Clone, Copy, Default, Debug)]
pub struct ImageSelection {
    /// The one with this number, counted from 1 as `warpbound list` does.
    pub image: Option<usize>,
    /// Those for this architecture.
    pub sm: Option<Sm>,
}

/// An image or a kernel that cannot be used.
#[derive(Clone, Debug)]
pub enum Unusable {
    /// An image, with all its kernels.
    Image(Diagnostic),
    /// A kernel.
    Kernel(Diagnostic),
}

/// Kinds of code to look for in an image.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CodeKind {
    /// Kernels.
    Kernels,
    /// Kernels, and functions with a code section of their own.
    All,
}

/// A file with machine code inside. Its images are loaded when they are asked for.
pub struct Library {
    pub(crate) file: String,
    pub(crate) library: warpbound_load::ImageDirectory,
}

impl Library {
    /// Reads the directory of a file; `file` is its name in messages.
    ///
    /// # Errors
    ///
    /// One line naming file, offset and cause, where the file cannot be used.
    pub fn open(file: &str, source: impl ByteSource + 'static) -> Result<Library, Diagnostic> {
        let library = warpbound_load::ImageDirectory::open(source).map_err(|d| d.in_file(file))?;
        Ok(Library {
            file: file.to_owned(),
            library,
        })
    }

    /// The name of the file in messages.
    pub fn name(&self) -> &str {
        &self.file
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
    pub fn select(&self, selection: &ImageSelection) -> Result<Vec<usize>, Diagnostic> {
        self.select_of(selection, false)
    }

    /// [`Library::select`] with the images of architectures that are not supported.
    ///
    /// # Errors
    ///
    /// See [`Library::select`].
    pub fn select_any(&self, selection: &ImageSelection) -> Result<Vec<usize>, Diagnostic> {
        self.select_of(selection, true)
    }

    fn select_of(&self, selection: &ImageSelection, any: bool) -> Result<Vec<usize>, Diagnostic> {
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
                let asked = any || self.is_single() || selection.image.is_some();
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
        let file = self.image_name(number);
        let entry = self.entry(number)?;
        let number = (!self.is_single()).then_some(number);
        let image = self.library.image(entry);
        Ok(Session {
            image: image.map_err(|d| d.in_file(file.as_str()))?,
            file,
            number,
        })
    }

    /// An image in messages.
    pub(crate) fn image_name(&self, number: usize) -> String {
        match self.is_single() {
            true => self.file.clone(),
            false => format!("{} image {number}", self.file),
        }
    }

    /// The image that a selection leaves, when that is one.
    ///
    /// # Errors
    ///
    /// Where it leaves none or several, or the image cannot be used.
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

    /// The kernels of the images with these numbers, or in each image those that a name fits best; each image is
    /// loaded when its turn comes. An image that cannot be used is one diagnostic; a kernel that cannot be read has a
    /// position like the others, and [`Session::kernel_at`] says what is wrong with it.
    pub fn kernels<'a>(
        &'a self,
        images: &'a [usize],
        name: Option<&str>,
    ) -> impl Iterator<Item = Result<(Arc<Session>, usize), Diagnostic>> + use<'a> {
        self.find(images, name, CodeKind::Kernels)
    }

    /// [`Library::kernels`], and with [`Find::All`] after those of each image its functions.
    pub fn find<'a>(
        &'a self,
        images: &'a [usize],
        name: Option<&str>,
        find: CodeKind,
    ) -> impl Iterator<Item = Result<(Arc<Session>, usize), Diagnostic>> + use<'a> {
        let pattern = name.map(NamePattern::new);
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

    /// The one kernel in the images with these numbers that a name fits best.
    ///
    /// # Errors
    ///
    /// Where there is none, or more than one. An image that cannot be used is named where none is found.
    pub fn only_kernel(
        &self,
        images: &[usize],
        name: &str,
    ) -> Result<(Arc<Session>, usize), Diagnostic> {
        let pattern = NamePattern::new(name);
        let mut best: Option<(Fit, Arc<Session>, usize)> = None;
        // Where the kernels are that fit as well as the best, and what they are called.
        let mut equal: Vec<(String, Arc<str>)> = Vec::new();
        let mut unusable = None;
        for item in self.kernels(images, Some(name)) {
            let (session, index) = match item {
                Ok(found) => found,
                Err(diagnostic) => {
                    unusable.get_or_insert(diagnostic);
                    continue;
                }
            };
            let Some(symbol) = session.symbol_at(index).cloned() else {
                continue;
            };
            let Some(fit) = pattern.fit(&symbol) else {
                continue;
            };
            let known = best.as_ref().map(|(fit, ..)| *fit);
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
                let (what, hint) = match same {
                    true => (
                        format!("kernel {name:?} is in {one} and in {other}"),
                        "choose with --image or --sm",
                    ),
                    false => {
                        let names = spell_candidates(equal.iter().map(|(_, symbol)| symbol));
                        (
                            format!("{name:?} is the name of several kernels: {names}"),
                            "give the whole name of one, and choose among images with --image or --sm",
                        )
                    }
                };
                Err(Diagnostic::new(what).in_file(self.file.as_str()).hint(hint))
            }
            _ => Err(unusable.unwrap_or_else(|| self.no_kernel(images, Some(name)))),
        }
    }

    /// What to say when [`Library::kernels`] finds none.
    pub fn no_kernel(&self, images: &[usize], name: Option<&str>) -> Diagnostic {
        let in_file = |diagnostic: Diagnostic| diagnostic.in_file(self.file.as_str());
        let Some(name) = name else {
            return in_file(Diagnostic::new("the file has no kernels"))
                .hint("`warpbound list` prints what it has");
        };
        let mut symbols = Vec::new();
        // What cannot be loaded has no names.
        for session in images.iter().filter_map(|&n| self.session(n).ok()) {
            symbols.extend(session.image.kernel_names().map(str::to_owned));
        }
        symbols.sort_unstable();
        symbols.dedup();
        let nearest = NamePattern::new(name).nearest(symbols.iter());
        in_file(Diagnostic::new(format!("there is no kernel {name:?}"))).hint(nearest)
    }

    /// The bounds of the kernels of some images, or of those of a name, worked on by `jobs` threads.
    /// `each` gets them in the order of the file, whatever the number of threads, and what cannot be used. Stops when
    /// `each` returns an error.
    ///
    /// # Errors
    ///
    /// That of `each`.
    pub fn bounds<E>(
        &self,
        images: &[usize],
        name: Option<&str>,
        options: &BoundOptions,
        jobs: usize,
        mut each: impl FnMut(Result<KernelBound, Unusable>) -> Result<(), E>,
    ) -> Result<(), E> {
        let bound = |item: Result<(Arc<Session>, usize), Diagnostic>| {
            let (session, index) = item.map_err(Unusable::Image)?;
            match session.kernel_at(index) {
                Ok(kernel) => session.bound(kernel, options).map_err(Unusable::Kernel),
                Err(why) => match session.refused_at(index) {
                    Some(refused) => Ok(session.refused_bound(&refused.name, &refused.why)),
                    None => Err(Unusable::Kernel(why)),
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
        for number in self.select(&ImageSelection::default())? {
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
