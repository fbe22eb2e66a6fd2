//! Digests by which loops are found again in another build of a kernel (SOUNDNESS 5.15).

use std::fmt::Write as _;

use warpbound_analyse::fingerprint::{CountSlice, FingerprintObstacle, loop_fingerprints};
use warpbound_bound::facts::LoopIdentity;
use warpbound_load::{Image, Kernel, VariableLocation, text_digest};

use crate::KernelFlow;
use crate::prepared::Prepared;

/// Version of the texts of the digests; digests of different versions never fit.
const VERSION: &str = "loop 1\n";

/// First constant bank that is the module's, not the launch's or the compiler's.
const FIRST_MODULE_BANK: u8 = 3;

/// Fingerprint of a loop, with the reason if the code that decides its counts is not known.
pub(crate) struct IdentifiedLoop {
    pub(crate) identity: LoopIdentity,
    pub(crate) obstacle: Option<FingerprintObstacle>,
}

/// Computes the fingerprints of the loops of a kernel, in the order of the sites.
pub(crate) fn identify_loops(
    image: &Image,
    prepared: &Prepared<'_>,
    flow: &KernelFlow,
) -> Vec<IdentifiedLoop> {
    let kernel = prepared.kernel;
    let interface = format!("{VERSION}{}", interface(kernel));
    let data = module_data(image, kernel);
    let prints = loop_fingerprints(&prepared.code, &flow.thread, &flow.loops);
    let identify = |print: warpbound_analyse::fingerprint::LoopFingerprint| {
        let digest = |slice: &CountSlice| {
            let data = if slice.reads_data { data.as_str() } else { "" };
            text_digest(&format!("{interface}{data}{}", slice.text))
        };
        IdentifiedLoop {
            identity: LoopIdentity {
                decides: print.decides.as_ref().ok().map(digest),
                body: Some(text_digest(&format!("{VERSION}{}", print.body))),
            },
            obstacle: print.decides.err(),
        }
    };
    prints.into_iter().map(identify).collect()
}

/// Text of what a launch of the kernel may pass: the places of its parameters and the limits of its blocks.
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

/// Text of the variables of the module with their places and initial contents.
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
    lines.sort_unstable();
    let module_banks = kernel
        .banks
        .iter()
        .filter(|bank| bank.number >= FIRST_MODULE_BANK);
    lines.extend(module_banks.map(|bank| format!("bank {} {:?}\n", bank.number, bank.bytes())));
    lines.concat()
}
