//! Images that a query covers but that no analysis reads, because their architecture is not supported.

use serde::Serialize;

/// Images of a file for one unsupported architecture.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct LeftOutImages {
    /// File as the user named it.
    pub file: String,
    /// Architecture: `sm_87`.
    pub isa: String,
    /// Numbers of the images in the file, from 1.
    pub images: Vec<usize>,
    /// Reason.
    pub reason: String,
}

impl LeftOutImages {
    /// Returns the images and the reason, and how to repeat the query without them.
    pub fn message(&self) -> String {
        format!("{}; --arch chooses others", self.sentence())
    }

    /// Returns the images and the reason.
    pub(crate) fn sentence(&self) -> String {
        let LeftOutImages {
            file, isa, reason, ..
        } = self;
        let numbers: Vec<String> = self.images.iter().map(ToString::to_string).collect();
        // Images of one architecture share a reason, so they make one sentence.
        let images = match numbers.as_slice() {
            [only] => format!("image {only} for {isa} is"),
            several => format!("images {} for {isa} are", several.join(", ")),
        };
        format!("{file}: {images} left out: {reason}")
    }
}

/// Returns the messages about images that were left out.
pub(crate) fn messages(left_out: &[LeftOutImages]) -> Vec<String> {
    left_out.iter().map(LeftOutImages::message).collect()
}
