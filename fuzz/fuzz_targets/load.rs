//! Fuzz target: bytes as a container of cubins, and as a single cubin.
#![no_main]

use libfuzzer_sys::fuzz_target;
use warpbound_load::{Bytes, EntryKind, Library};

// The checks of images and refusals are those of the tests of damaged files.
#[path = "../../crates/load/tests/it/support.rs"]
mod support;

fuzz_target!(|bytes: &[u8]| {
    if let Err(refusal) = support::exercise(bytes) {
        support::assert_refusal(&refusal);
    }
    let library = match Library::open(Bytes::copy_from_slice(bytes)) {
        Ok(library) => library,
        Err(refusal) => return support::assert_refusal(&refusal),
    };
    assert!(!library.entries().is_empty());
    for entry in library.entries() {
        match library.image(entry) {
            Ok(image) => {
                assert_eq!(entry.kind, EntryKind::Cubin);
                assert_eq!(image.sm().number, entry.sm.number);
            }
            // A message about the entry as a whole has no offset.
            Err(refusal) => assert!(!refusal.to_string().contains(char::is_control)),
        }
    }
});
