//! Digests that identify loops and accesses in another build of a kernel (SOUNDNESS 5.15).
//!
//! The digest covers the code that decides how often a loop iterates, or which addresses an access has. For example,
//! another build may hold the limit of a loop in R7 instead of R5, and the digest stays the same. If it computes the
//! limit as `n + 1`, the digest changes.

use std::fmt::Write as _;

use warpbound_analyse::access::MemoryUnits;
use warpbound_analyse::fingerprint::{
    CountSlice, FingerprintObstacle, access_fingerprints, loop_fingerprints,
};
use warpbound_base::ConstantBanks;
use warpbound_ipet::facts::FactIdentity;
use warpbound_ir::OpIndex;
use warpbound_load::{Image, Kernel, VariableLocation, text_digest};

use warpbound_query::KernelFlow;
use warpbound_query::prepared::Prepared;

/// Versions of the texts that digests are made of. Digests of different versions never match.
const LOOP_VERSION: &str = "loop 1\n";
const ACCESS_VERSION: &str = "access 1\n";

/// First constant bank of the module. Lower ones belong to the launch or the compiler.
const FIRST_MODULE_BANK: u8 = ConstantBanks::OF_CUBINS.variables;

/// Fingerprint of a loop or access. If the code that decides what its fact is about is not known, the obstacle is the
/// reason.
#[derive(Default)]
pub struct IdentifiedFact {
    /// Identity, by which an update of facts recognises the loop or access.
    pub identity: FactIdentity,
    /// Reason why there is no fingerprint.
    pub obstacle: Option<FingerprintObstacle>,
}

/// Computes the fingerprints of the loops of a kernel, in the order of the sites.
pub fn identify_loops(
    image: &Image,
    prepared: &Prepared<'_>,
    flow: &KernelFlow,
) -> Vec<IdentifiedFact> {
    let digests = Digests::new(image, prepared.kernel, LOOP_VERSION);
    let prints = loop_fingerprints(&prepared.code, &flow.thread, &flow.loops);
    let prints = prints.into_iter();
    prints
        .map(|print| digests.identify(&print.decides, &print.body))
        .collect()
}

/// Computes the fingerprints of accesses of a kernel. An operation that accesses no memory has an empty one.
pub fn identify_accesses(
    image: &Image,
    prepared: &Prepared<'_>,
    flow: &KernelFlow,
    units: &MemoryUnits,
    accesses: &[OpIndex],
) -> Vec<IdentifiedFact> {
    let digests = Digests::new(image, prepared.kernel, ACCESS_VERSION);
    let prints = access_fingerprints(&prepared.code, &flow.thread, units, accesses);
    let identify = |print: Option<warpbound_analyse::fingerprint::AccessFingerprint>| {
        let print = print?;
        Some(digests.identify(&print.decides, &print.body))
    };
    let prints = prints.into_iter();
    prints
        .map(|print| identify(print).unwrap_or_default())
        .collect()
}

/// Digests of the texts of one kernel.
struct Digests {
    version: &'static str,
    interface: String,
    data: String,
}

impl Digests {
    fn new(image: &Image, kernel: &Kernel, version: &'static str) -> Digests {
        Digests {
            version,
            interface: format!("{version}{}", interface(kernel)),
            data: module_data(image, kernel),
        }
    }

    fn identify(
        &self,
        decides: &Result<CountSlice, FingerprintObstacle>,
        body: &str,
    ) -> IdentifiedFact {
        let digest = |slice: &CountSlice| {
            // Data that the slice does not read may change without an effect on its count.
            let data = if slice.reads_data { &*self.data } else { "" };
            text_digest(&format!("{}{data}{}", self.interface, slice.text))
        };
        IdentifiedFact {
            identity: FactIdentity {
                decides: decides.as_ref().ok().map(digest),
                body: Some(text_digest(&format!("{}{body}", self.version))),
            },
            obstacle: decides.as_ref().err().copied(),
        }
    }
}

/// Returns the text of the interface of a kernel: the places of its parameters and the limits of its blocks.
fn interface(kernel: &Kernel) -> String {
    let mut text = String::new();
    for param in &kernel.params {
        let _ = writeln!(
            text,
            "parameter {} {} {}",
            param.ordinal, param.offset, param.size
        );
    }
    let block = kernel
        .param_block
        .as_ref()
        .map(|block| (block.bank, block.offset, block.size));
    let _ = writeln!(text, "parameters {block:?}");
    let limits = (kernel.required_block, kernel.max_threads);
    let _ = writeln!(text, "block {limits:?}");
    text
}

/// Returns the text of the variables of the module, with their places and initial contents.
fn module_data(image: &Image, kernel: &Kernel) -> String {
    let mut lines: Vec<String> = image
        .variables()
        .iter()
        .filter_map(|variable| match &variable.location {
            VariableLocation::Constant { bank, offset } => {
                let (name, size) = (&variable.name, variable.size);
                Some(format!("{name} {size} c[{bank}][{offset}]\n"))
            }
            VariableLocation::Global(contents) => {
                let contents: &[u8] = contents;
                Some(format!(
                    "{} {} {contents:?}\n",
                    variable.name, variable.size
                ))
            }
            // No analysis reads the contents of a loaded code object.
            VariableLocation::Loaded(_) => None,
        })
        .collect();
    // Builds may list the same variables in another order.
    lines.sort_unstable();
    let module_banks = kernel
        .banks
        .iter()
        .filter(|bank| bank.number >= FIRST_MODULE_BANK);
    lines.extend(module_banks.map(|bank| format!("bank {} {:?}\n", bank.number, bank.bytes())));
    lines.concat()
}
