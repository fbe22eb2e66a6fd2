//! Meanings against results that are written by hand from the manual's descriptions.

mod bytes;
mod carries;
mod completeness;
mod lanes;
mod machine;
mod parts;
mod scalar;
mod vector;
