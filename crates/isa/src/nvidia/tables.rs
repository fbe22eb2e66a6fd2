//! Table of an architecture.

use super::shared::arch::Arch;
use super::shared::lookup::FormTable;
use super::{maxwell, volta};
use warpbound_base::Family;

/// Table of the architecture's family.
pub fn table(arch: Arch) -> &'static FormTable {
    match arch.family() {
        Family::Volta => &volta::TABLE,
        // Families of other vendors have no architecture here.
        Family::Maxwell | Family::Gcn3 | Family::MiniSimt => &maxwell::TABLE,
    }
}
