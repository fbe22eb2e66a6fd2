//! Check that facts are about the kernels of a file and their present code.
//!
//! Facts name a kernel and the digest of its code. For example, facts about `f` with digest `1f…` are refused if the
//! file has `f` with another digest, because a loop bound of old code may be wrong for new code.

use std::collections::BTreeMap;

use warpbound_base::Diagnostic;
use warpbound_ipet::{FactsFile, KernelFacts};
use warpbound_load::Kernel;

/// Check of facts against kernels, one kernel at a time.
pub struct FactsCheck<'a> {
    /// Facts of each kernel, with the best match so far.
    facts: Vec<(&'a KernelFacts, FactsMatch)>,
    /// Name in the facts file, by symbol and digest of a matched kernel.
    known: BTreeMap<(String, String), &'a str>,
    /// Names of the first kernels, for messages.
    names: Vec<String>,
}

/// Maximum number of names in a message.
const MAX_SHOWN: usize = 8;

/// Best match of the facts of a kernel so far.
enum FactsMatch {
    Nothing,
    /// Kernel of the same name, with this other digest.
    OtherCode(String),
    Kernel,
}

impl<'a> FactsCheck<'a> {
    /// Begins the check of some facts; none of them has been matched yet.
    pub fn new(facts: &'a FactsFile) -> FactsCheck<'a> {
        let facts = facts
            .kernels()
            .iter()
            .map(|facts| (facts, FactsMatch::Nothing));
        FactsCheck {
            facts: facts.collect(),
            known: BTreeMap::new(),
            names: Vec::new(),
        }
    }

    /// Whether all facts have matched a kernel.
    pub(crate) fn is_complete(&self) -> bool {
        self.facts
            .iter()
            .all(|(_, found)| matches!(found, FactsMatch::Kernel))
    }

    /// Matches the facts against a kernel.
    ///
    /// # Errors
    ///
    /// Both names of the kernel have facts, which could contradict each other.
    pub fn match_kernel(&mut self, kernel: &Kernel) -> Result<(), Diagnostic> {
        // Without facts there is no need to compute digests.
        if self.facts.is_empty() {
            return Ok(());
        }
        let (demangled, digest) = (kernel.demangled(), kernel.code_digest());
        // One name more than is shown, so that `finish` knows whether there are more.
        if self.names.len() <= MAX_SHOWN {
            self.names.push(demangled.clone());
        }
        for (facts, found) in &mut self.facts {
            if facts.name != *kernel.name && facts.name != demangled {
                continue;
            }
            if facts.code != digest {
                // A match of another image stays, because images for several architectures contain one kernel with
                // different code.
                if let FactsMatch::Nothing = found {
                    *found = FactsMatch::OtherCode(digest.clone());
                }
                continue;
            }
            *found = FactsMatch::Kernel;
            let key = (kernel.name.to_string(), digest.clone());
            // A kernel has a mangled and a demangled name, so two entries of the file may be about it.
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

    /// Checks that all facts have matched a kernel.
    ///
    /// # Errors
    ///
    /// Some facts are about no kernel, or about other code; the diagnostic names the first.
    pub fn finish(&self) -> Result<(), Diagnostic> {
        for (facts, found) in &self.facts {
            let diagnostic = match found {
                FactsMatch::Kernel => continue,
                FactsMatch::Nothing => {
                    let shown = self
                        .names
                        .get(..MAX_SHOWN)
                        .unwrap_or(&self.names)
                        .join(", ");
                    let more = if self.names.len() > MAX_SHOWN {
                        ", and more"
                    } else {
                        ""
                    };
                    Diagnostic::new(format!("there is no kernel {:?}", facts.name))
                        .hint(format!("the file has {shown}{more}"))
                }
                FactsMatch::OtherCode(digest) => Diagnostic::new(format!(
                    "the facts are about other code: digest {} there, {digest} in the binary",
                    facts.code
                ))
                .hint(
                    "`warpbound facts FILE --update OLD` carries over those whose loop is the same",
                ),
            };
            return Err(facts.locate(diagnostic));
        }
        Ok(())
    }
}
