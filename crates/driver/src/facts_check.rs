//! Whether facts are about the kernels at hand.

use std::collections::BTreeMap;

use warpbound_base::Diagnostic;
use warpbound_bound::{FactsFile, KernelFacts};
use warpbound_load::Kernel;

/// Compares facts with one kernel after the other.
pub(crate) struct FactsCheck<'a> {
    /// The facts, each with what is known of it so far.
    facts: Vec<(&'a KernelFacts, Found)>,
    /// Names in the facts file of kernels that have facts, by symbol and digest.
    known: BTreeMap<(String, String), &'a str>,
    /// Names of the first kernels.
    names: Vec<String>,
}

/// Names that a message shows.
const SHOWN: usize = 8;

enum Found {
    Nothing,
    /// A kernel of this name, with this digest.
    OtherCode(String),
    Kernel,
}

impl<'a> FactsCheck<'a> {
    pub(crate) fn new(facts: &'a FactsFile) -> FactsCheck<'a> {
        let facts = facts.kernels().iter().map(|facts| (facts, Found::Nothing));
        FactsCheck {
            facts: facts.collect(),
            known: BTreeMap::new(),
            names: Vec::new(),
        }
    }

    /// Whether all facts have found their kernel.
    pub(crate) fn is_complete(&self) -> bool {
        self.facts
            .iter()
            .all(|(_, found)| matches!(found, Found::Kernel))
    }

    /// Looks at a kernel.
    ///
    /// # Errors
    ///
    /// Where there are facts under both its names, which could contradict each other.
    pub(crate) fn see(&mut self, kernel: &Kernel) -> Result<(), Diagnostic> {
        if self.facts.is_empty() {
            return Ok(());
        }
        let (demangled, digest) = (kernel.demangled(), kernel.code_digest());
        if self.names.len() <= SHOWN {
            self.names.push(demangled.clone());
        }
        for (facts, found) in &mut self.facts {
            if facts.name != *kernel.name && facts.name != demangled {
                continue;
            }
            if facts.code != digest {
                if let Found::Nothing = found {
                    *found = Found::OtherCode(digest.clone());
                }
                continue;
            }
            *found = Found::Kernel;
            let key = (kernel.name.to_string(), digest.clone());
            if let Some(other) = self.known.insert(key, &facts.name)
                && other != facts.name
            {
                return Err(facts.locate(Diagnostic::new(format!(
                    "second [[kernel]] for {}, which is {other} above",
                    facts.name
                ))));
            }
        }
        Ok(())
    }

    /// The verdict.
    ///
    /// # Errors
    ///
    /// For the first facts that are about no kernel, or about other code.
    pub(crate) fn finish(&self) -> Result<(), Diagnostic> {
        for (facts, found) in &self.facts {
            let diagnostic = match found {
                Found::Kernel => continue,
                Found::Nothing => {
                    let shown = self.names.get(..SHOWN).unwrap_or(&self.names).join(", ");
                    let more = if self.names.len() > SHOWN {
                        ", and more"
                    } else {
                        ""
                    };
                    Diagnostic::new(format!("there is no kernel {:?}", facts.name))
                        .hint(format!("the file has {shown}{more}"))
                }
                Found::OtherCode(digest) => Diagnostic::new(format!(
                    "the facts are about other code: digest {} there, {digest} in the binary",
                    facts.code
                ))
                .hint("check each bound against the new code and take the new digest over"),
            };
            return Err(facts.locate(diagnostic));
        }
        Ok(())
    }
}
