//! Reference of single instructions: all forms and modifiers, and results computed by code that is independent of the
//! meanings in `warpbound_ir`.

pub mod census;
pub mod gcn3;
pub mod gcn3_campaign;
pub mod input_words;
pub mod reference;
pub mod variants;
pub mod wide_reference;
