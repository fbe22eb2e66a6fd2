//! Counts of affine accesses that were computed before.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use warpbound_isa::instr::MemorySpace;

use super::numbers::AccessCounts;
use super::shape::CountedForm;
use super::units::MemoryUnits;

/// Maximum number of forms that are kept; the kernels of a library have some hundreds.
const MOST_FORMS: usize = 1 << 16;

/// Key of the counts of an affine access.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct AffineForm {
    pub(super) units: MemoryUnits,
    pub(super) space: MemorySpace,
    pub(super) form: CountedForm,
    /// Threads of a block in x, y, z, if known, and the lanes that take part otherwise.
    pub(super) block: Option<[u32; 3]>,
    pub(super) lanes: usize,
    /// Bytes by which addresses grow with the thread index in x, y, z.
    pub(super) coefficients: [i64; 3],
    /// Power of two modulo which the base has a known remainder, and the remainder.
    pub(super) base: (u64, u64),
    /// Threads of the block that may take part; all may without it.
    pub(super) executing: Option<Vec<bool>>,
}

/// Counts of affine accesses, and whether they are exact, for all kernels that share them. The kernels of one file
/// access memory in few forms, while counting one form for blocks of any shape tries thousands of warps.
#[derive(Default, Debug)]
pub struct KnownCounts(Mutex<BTreeMap<AffineForm, (AccessCounts, bool)>>);

impl KnownCounts {
    /// Returns the counts of a form, which are computed at the first call.
    pub(super) fn get(
        &self,
        form: AffineForm,
        count: impl FnOnce() -> (AccessCounts, bool),
    ) -> (AccessCounts, bool) {
        // Numbers are inserted whole, so that a panic elsewhere leaves none that is wrong.
        let lock = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(&known) = lock().get(&form) {
            return known;
        }
        // Two threads may count the same form, with the same result.
        let counted = count();
        let mut known = lock();
        if known.len() < MOST_FORMS {
            known.insert(form, counted);
        }
        counted
    }
}
