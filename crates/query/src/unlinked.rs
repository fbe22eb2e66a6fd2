//! Images that are not linked, in files that have the same kernels linked as well: libraries built with `-rdc` keep
//! both.

use std::collections::{BTreeMap, BTreeSet};

use warpbound_base::Family;
use warpbound_load::{Isa, Linkage};

use crate::Library;

/// Image that is not linked and whose kernels are all in linked images for the same architecture.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UnlinkedCopy {
    /// Number of the image.
    pub image: usize,
    /// Number of the first linked image that has one of its kernels.
    pub linked: usize,
    /// Number of its kernels.
    pub kernels: usize,
}

impl Library {
    /// Returns the images that are not linked and whose kernels are in linked images as well, by number. Queries
    /// about all images leave them out; [`crate::ImageSelection::image`] selects one.
    pub fn unlinked_copies(&self) -> &[UnlinkedCopy] {
        self.unlinked.get_or_init(|| self.find_unlinked())
    }

    fn find_unlinked(&self) -> Vec<UnlinkedCopy> {
        let mut by_isa: BTreeMap<Isa, Vec<usize>> = BTreeMap::new();
        for (number, entry) in (1..).zip(self.library.entries()) {
            // Only cubins have a linkage.
            let may_be_unlinked = match entry.isa.family() {
                Some(Family::Maxwell | Family::Volta) => entry.kind.is_code(),
                Some(Family::Gcn3 | Family::MiniSimt) | None => false,
            };
            if may_be_unlinked {
                by_isa.entry(entry.isa).or_default().push(number);
            }
        }
        let several = by_isa.into_values().filter(|numbers| numbers.len() > 1);
        let mut copies: Vec<UnlinkedCopy> = several
            .flat_map(|numbers| self.copies_of(&numbers))
            .collect();
        copies.sort_unstable_by_key(|copy| copy.image);
        copies
    }

    /// Returns the copies among images for one architecture.
    fn copies_of(&self, numbers: &[usize]) -> Vec<UnlinkedCopy> {
        let linkage = |number: &usize| {
            let entry = self.entry(*number).ok()?;
            self.library.linkage(entry)
        };
        let unlinked: Vec<usize> = numbers
            .iter()
            .copied()
            .filter(|number| linkage(number) == Some(Linkage::Relocatable))
            .collect();
        // Copies need an image of each kind; otherwise no image has to be loaded.
        if unlinked.is_empty() || unlinked.len() == numbers.len() {
            return Vec::new();
        }
        // The first linked image of each kernel.
        let mut linked: BTreeMap<String, usize> = BTreeMap::new();
        let others = numbers.iter().filter(|number| !unlinked.contains(number));
        for &number in others {
            for name in self.names(number) {
                linked.entry(name).or_insert(number);
            }
        }
        let copy = |image: usize| {
            let names = self.names(image);
            let places: Option<Vec<usize>> =
                names.iter().map(|name| linked.get(name).copied()).collect();
            Some(UnlinkedCopy {
                image,
                // An image with a kernel that no linked image has is not a copy, and neither is one without kernels.
                linked: places?.into_iter().min()?,
                kernels: names.len(),
            })
        };
        unlinked.into_iter().filter_map(copy).collect()
    }

    /// Returns the mangled names of the kernels of an image; none if it cannot be loaded.
    fn names(&self, number: usize) -> BTreeSet<String> {
        let Ok(session) = self.session(number) else {
            return BTreeSet::new();
        };
        session.image.kernel_names().map(str::to_owned).collect()
    }
}
