//! Meanings against results that are written by hand from the manual's descriptions.

mod bytes;
mod carries;
mod lanes;
mod machine;
mod parts;
mod scalar;
mod vector;
