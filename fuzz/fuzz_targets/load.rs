//! Fuzz target: bytes as a container of cubins and code objects, and as a single one.
#![no_main]

use libfuzzer_sys::fuzz_target;
use warpbound_load::{Bytes, ImageDirectory, Isa};

// The checks of images and refusals are those of the tests of damaged files.
#[path = "../../crates/load/tests/it/support.rs"]
mod support;

fuzz_target!(|bytes: &[u8]| {
    if let Err(refusal) = support::exercise(bytes) {
        support::assert_refusal(&refusal);
    }
    let directory = match ImageDirectory::open(Bytes::copy_from_slice(bytes)) {
        Ok(directory) => directory,
        Err(refusal) => return support::assert_refusal(&refusal),
    };
    assert!(!directory.entries().is_empty());
    for entry in directory.entries() {
        match directory.image(entry) {
            Ok(image) => {
                assert!(entry.kind.is_code());
                match (image.isa(), entry.isa) {
                    // Fat binary entries do not record accelerators.
                    (Isa::Sm(own), Isa::Sm(stated)) => assert_eq!(own.number, stated.number),
                    (own, stated) => assert_eq!(own, stated),
                }
            }
            // A message about the entry as a whole has no offset.
            Err(refusal) => assert!(!refusal.to_string().contains(char::is_control)),
        }
    }
});
