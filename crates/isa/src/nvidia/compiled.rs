//! Rows of NVIDIA's tables, as the build script has parsed them. For example, `volta::HEADS` has the mask and the value of
//! each row of `volta.forms`.

use crate::compiled::compiled;

compiled! {
    /// Maxwell and Pascal.
    maxwell, "maxwell.rs"
}

compiled! {
    /// Volta to Blackwell.
    volta, "volta.rs"
}
