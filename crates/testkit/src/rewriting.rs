//! Rewritten cubins against the originals: NOPs inserted at random, so that every instruction moves, then the same
//! launches with the same results.

use fastrand::Rng;
use warpbound_base::{CodeAddr, Diagnostic};
use warpbound_isa::ControlWord;
use warpbound_launch::LaunchFile;
use warpbound_query::Session;
use warpbound_rewrite::{CubinRewriter, EditedCode, Entry, NewInstr};
use warpbound_runs::RunOptions;

use crate::kernels::KernelReference;

/// `NOP`, one cycle, without scoreboards.
const NOP: NewInstr = NewInstr {
    word: 0x50b0_0000_0007_0f00,
    control: ControlWord {
        usched: 1,
        write_sb: None,
        read_sb: None,
        wait_mask: 0,
        reuse: 0,
        coupled: false,
    },
    target: None,
    address: None,
};

/// A cubin with NOPs.
#[derive(Clone, Debug)]
pub struct PaddedCubin {
    /// The file.
    pub bytes: Vec<u8>,
    /// NOPs inserted.
    pub nops: usize,
    /// Branches that enter code of their own on the way to their target.
    pub stubs: usize,
}

/// Inserts NOPs into all code of a cubin: before each instruction with a probability of one in `one_in`, one to seven
/// of them, and on the taken edges of as many branches.
///
/// # Errors
///
/// The rewriter refuses the file.
pub fn with_nops(file: &[u8], seed: u64, one_in: u32) -> Result<PaddedCubin, Diagnostic> {
    let rewriter = CubinRewriter::open(file)?;
    let kernels = rewriter.code_names();
    padded(rewriter, &kernels, (seed, one_in, true))
}

/// Inserts NOPs into the code of one kernel, as [`with_nops`]; on taken edges only if `has_stubs`.
///
/// # Errors
///
/// The rewriter refuses the file.
pub fn with_nops_in(
    file: &[u8],
    kernel: &str,
    seed: u64,
    one_in: u32,
    has_stubs: bool,
) -> Result<PaddedCubin, Diagnostic> {
    let rewriter = CubinRewriter::open(file)?;
    let kernels = [kernel.to_owned()];
    padded(rewriter, &kernels, (seed, one_in, has_stubs))
}

fn padded(
    mut rewriter: CubinRewriter<'_>,
    kernels: &[String],
    (seed, one_in, has_stubs): (u64, u32, bool),
) -> Result<PaddedCubin, Diagnostic> {
    let mut rng = Rng::with_seed(seed);
    let (mut nops, mut stubs) = (0, 0);
    for name in kernels {
        let code = rewriter.code(name)?;
        for index in 0..code.len() as u32 {
            let at = CodeAddr(index / 3 * 32 + 8 + index % 3 * 8);
            if rng.u32(0..one_in) == 0 {
                let count = rng.usize(1..8);
                let entry = match rng.bool() {
                    true => Entry::All,
                    false => Entry::FallThrough,
                };
                code.insert_before(at, entry, vec![NOP; count])?;
                nops += count;
            }
            if has_stubs && rng.u32(0..one_in) == 0 && on_taken_edge(code, at, &mut rng) {
                stubs += 1;
            }
        }
    }
    Ok(PaddedCubin {
        bytes: rewriter.finish()?,
        nops,
        stubs,
    })
}

/// Inserts NOPs on the taken edge of an instruction, if it is a branch.
fn on_taken_edge(code: &mut EditedCode, at: CodeAddr, rng: &mut Rng) -> bool {
    let count = rng.usize(1..4);
    code.insert_on_taken(at, vec![NOP; count]).is_ok()
}

/// Opens the cubin of a reference for a build, such as `sm_61`; `None` if the source is not built for it.
pub fn built_file(reference: &KernelReference, build: &str) -> Option<Vec<u8>> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../kernels/built");
    std::fs::read(format!("{folder}/{}.{build}.cubin", reference.source)).ok()
}

/// Executes a launch by both files; returns the difference, if there is one.
///
/// # Errors
///
/// The original does not run.
pub fn difference(
    before: &Session,
    after: &Session,
    kernel: &str,
    launch: &LaunchFile,
) -> Result<Option<String>, Diagnostic> {
    let options = RunOptions::default();
    let run = |session: &Session| {
        let kernel = session.launched_kernel(Some(kernel), launch.kernel.as_deref())?;
        warpbound_runs::execute(session, kernel, launch, &options, &mut |_| ())
    };
    let expected = run(before)?;
    let found = match run(after) {
        Ok(found) => found,
        Err(diagnostic) => return Ok(Some(diagnostic.to_string())),
    };
    if let (None, Some(unexpected)) = (expected.unexpected, found.unexpected) {
        return Ok(Some(unexpected.to_string()));
    }
    Ok((expected.memory != found.memory).then(|| "other contents of memory".to_owned()))
}
