//! Sections of cubins that are counted and not read, because they have no effect on the instructions.
//!
//! For example, a cubin for sm_120 has a second form of each kernel in `.nv.capmerc.text.*`, which a loader may
//! translate for another GPU; the instructions that sm_120 executes are in `.text.*`.

use crate::compat::COMPAT;
use crate::image::{Image, OtherKind};

/// Kinds of sections that are not read.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum SkippedKind {
    /// Mercury: code and metadata in a form that a loader may translate for another GPU.
    Mercury,
    /// Records about GPUs on which the file may run.
    Compatibility,
    /// Notes of the tools that made the file.
    Notes,
}

/// Sections of one kind that are not read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SkippedSections {
    /// Kind of the sections.
    pub kind: SkippedKind,
    /// Number of the sections.
    pub sections: usize,
    /// Sum of their sizes in bytes.
    pub bytes: u64,
}

/// Begins of names of sections (experiment: NVRTC and ptxas 13.5).
const PREFIXES: [(&str, SkippedKind); 4] = [
    (".nv.merc.", SkippedKind::Mercury),
    (".nv.capmerc.", SkippedKind::Mercury),
    (COMPAT, SkippedKind::Compatibility),
    (".note.nv.", SkippedKind::Notes),
];

impl Image {
    /// Sections that are counted and not read, by kind; kinds without a section are left out.
    pub fn skipped(&self) -> Vec<SkippedSections> {
        let mut found: Vec<SkippedSections> = Vec::new();
        for other in &self.others {
            let OtherKind::Section(_) = other.kind else {
                continue;
            };
            let prefix = PREFIXES
                .iter()
                .find(|(prefix, _)| other.name.starts_with(prefix));
            let Some(&(_, kind)) = prefix else {
                continue;
            };
            match found.iter_mut().find(|own| own.kind == kind) {
                Some(own) => {
                    own.sections += 1;
                    own.bytes = own.bytes.saturating_add(other.size);
                }
                None => found.push(SkippedSections {
                    kind,
                    sections: 1,
                    bytes: other.size,
                }),
            }
        }
        found.sort_by_key(|own| own.kind);
        found
    }
}
