//! Options of bounds and analyses.

use std::time::Duration;

use warpbound_analyse::LaunchContext;
use warpbound_analyse::thread_cfg::Limits;
use warpbound_base::{Deadline, Diagnostic};
use warpbound_bound::FactsFile;
use warpbound_isa::nvidia::WARP_LANES;
use warpbound_launch::LaunchFile;
use warpbound_load::{Isa, Kernel};
use warpbound_simt::warp::WarpModel;

use crate::Contents;

/// Interpretation of loop facts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum FactReading {
    /// Facts are about one thread; the count rows of the execution model relate them to warps.
    #[default]
    Simt,
    /// Facts are about the loops of the warp-level graph (`warp-cfg-2023`, for comparison).
    Paper,
}

/// Launch whose warps are profiled.
#[derive(Clone, Debug)]
pub struct ProfiledLaunch {
    /// The launch.
    pub file: LaunchFile,
    /// Use of the contents of its buffers.
    pub contents: Contents,
}

/// Inputs of a bound besides the code.
#[derive(Clone, Debug)]
pub struct BoundOptions {
    /// Threads of a block in x, y, z.
    pub block: Option<[u32; 3]>,
    /// Lanes of a warp, if the instruction set does not fix them.
    pub warp_width: Option<u32>,
    /// Precision of the abstract warp.
    pub model: WarpModel,
    /// Interpretation of loop facts.
    pub reading: FactReading,
    /// Launch whose warps are profiled, for a bound of this launch; its block is [`BoundOptions::block`].
    pub profiled_launch: Option<ProfiledLaunch>,
    /// Flow facts.
    pub facts: FactsFile,
    /// Bound of loops without a fact: header executions per entry and thread.
    pub loop_default: Option<u64>,
    /// Warp instructions per call of functions outside the file without a fact.
    pub call_default: Option<u64>,
    /// Time limit for the bound of one kernel; a kernel that exceeds it has no bound. The result depends on the speed
    /// of the host.
    pub time_limit: Option<Duration>,
    /// Whether the report contains the construction time of the warp-level graph, which differs from run to run.
    pub timing: bool,
}

/// Maximum of lanes of a warp over all machines.
const MAX_LANES: u32 = 64;

impl Default for BoundOptions {
    fn default() -> Self {
        BoundOptions {
            block: None,
            warp_width: None,
            model: WarpModel {
                may_diverge: true,
                ..WarpModel::default()
            },
            reading: FactReading::Simt,
            profiled_launch: None,
            facts: FactsFile::default(),
            loop_default: None,
            call_default: None,
            time_limit: None,
            timing: false,
        }
    }
}

impl BoundOptions {
    /// Returns the limits of an analysis that starts now.
    pub fn limits(&self) -> Limits {
        Limits {
            deadline: self.time_limit.map_or(Deadline::default(), Deadline::after),
            ..Limits::default()
        }
    }

    /// Returns the facts about a launch of `kernel` for the analyses.
    ///
    /// # Errors
    ///
    /// The stated block differs from the one that the kernel requires or is too large for it, or the warp width is not
    /// that of the GPU.
    pub(crate) fn launch(&self, kernel: &Kernel, isa: Isa) -> Result<LaunchContext, Diagnostic> {
        let size_text = |[x, y, z]: [u32; 3]| format!("{x},{y},{z}");
        let fail = |message: String| Err(Diagnostic::new(message).in_kernel(kernel.demangled()));
        let threads = |block: [u32; 3]| {
            block
                .iter()
                .fold(1u64, |n, &d| n.saturating_mul(u64::from(d)))
        };
        if let (Some(stated), Some(required)) = (self.block, kernel.required_block)
            && stated != required
        {
            return fail(format!(
                "the kernel requires blocks of {}, not {}",
                size_text(required),
                size_text(stated)
            ));
        }
        if let (Some(stated), Some(most)) = (self.block, kernel.max_threads)
            && threads(stated) > threads(most)
        {
            return fail(format!(
                "the kernel allows blocks of {} threads, {} are {}",
                threads(most),
                size_text(stated),
                threads(stated)
            ));
        }
        let warp_width = match (isa, self.warp_width) {
            (Isa::Sm(_), None | Some(WARP_LANES)) => WARP_LANES,
            (Isa::Sm(_), Some(stated)) => {
                return fail(format!(
                    "warps of {isa} have {WARP_LANES} lanes, not {stated}"
                ));
            }
            (Isa::MiniSimt, stated) => stated.unwrap_or(MAX_LANES),
        };
        Ok(LaunchContext {
            warp_width,
            block: self.block.or(kernel.required_block),
            ..LaunchContext::default()
        })
    }
}
