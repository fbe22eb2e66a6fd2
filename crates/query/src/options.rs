//! Options of bounds and analyses.

use std::time::Duration;

use warpbound_analyse::LaunchContext;
use warpbound_analyse::thread_cfg::Limits;
use warpbound_base::{Deadline, Diagnostic, Family, Named};
use warpbound_ipet::FactsFile;
use warpbound_launch::LaunchFile;
use warpbound_load::{Isa, Kernel};
use warpbound_report::terms::MachineTerms;
use warpbound_simt::warp::WarpModel;

use crate::CycleQuery;
use crate::{stated_launches::NumberRange, stated_launches::StatedLaunches};

/// Interpretation of loop facts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum FactReading {
    /// Facts are about one thread; the count rows of the execution model relate them to warps.
    #[default]
    Simt,
    /// Facts are about the loops of the warp-level graph (`warp-cfg-2023`, for comparison).
    Paper,
}

/// Symbols of the formula of a bound.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FormulaSymbols {
    /// Counts of the loops without a fact.
    Loops,
    /// Words of the launch with these names.
    Parameters(Vec<String>),
}

impl FormulaSymbols {
    /// Returns the symbols that names stand for: `loops` alone for counts of loops, else names of words of the launch.
    pub fn named(names: &[String]) -> Option<FormulaSymbols> {
        match names {
            [] => None,
            [name] if name == "loops" => Some(FormulaSymbols::Loops),
            names => Some(FormulaSymbols::Parameters(names.to_vec())),
        }
    }

    /// Returns the names of words of the launch.
    pub fn parameters(&self) -> &[String] {
        match self {
            FormulaSymbols::Loops => &[],
            FormulaSymbols::Parameters(names) => names,
        }
    }
}

/// Use of the buffer contents of a launch file by a profile.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Contents {
    /// The profile holds for any contents.
    #[default]
    Any,
    /// The profile holds for the given contents; loads from buffers that the kernel does not write are known.
    AsGiven,
}

impl Named for Contents {
    const ALL: &'static [(Contents, &'static str)] =
        &[(Contents::Any, "any"), (Contents::AsGiven, "as-given")];
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
    /// Threads of a block in x, y, z, if it is one size.
    pub block: Option<[u32; 3]>,
    /// Other statements about launches.
    pub launches: StatedLaunches,
    /// Whether bounds of loops are derived from the machine code.
    pub derive: bool,
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
    /// Machine and caches of a bound in cycles, if one is asked for.
    pub cycles: Option<CycleQuery>,
    /// Bound of loops without a fact: header executions per entry and thread.
    pub loop_default: Option<u64>,
    /// Symbols of a formula, if one is asked for.
    pub formula: Option<FormulaSymbols>,
    /// Warp instructions per call of functions outside the file without a fact.
    pub call_default: Option<u64>,
    /// Time limit for the bound of one kernel; a kernel that exceeds it has no bound. The result depends on the speed
    /// of the host.
    pub time_limit: Option<Duration>,
    /// Whether the report contains the machine code with the findings at each instruction.
    pub machine_code: bool,
    /// Whether the report contains the construction time of the warp-level graph, which differs from run to run.
    pub timing: bool,
}

/// Maximum number of lanes of a warp over all machines.
const MAX_LANES: u32 = 64;

impl Default for BoundOptions {
    fn default() -> Self {
        BoundOptions {
            block: None,
            launches: StatedLaunches::default(),
            derive: true,
            warp_width: None,
            model: WarpModel {
                may_diverge: true,
                ..WarpModel::default()
            },
            reading: FactReading::Simt,
            profiled_launch: None,
            facts: FactsFile::default(),
            cycles: None,
            loop_default: None,
            formula: None,
            call_default: None,
            time_limit: None,
            machine_code: false,
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

    /// Returns the statements about launches as a noun phrase.
    pub fn launch_text(&self) -> String {
        let size = |[x, y, z]: [NumberRange; 3]| format!("{x} x {y} x {z}");
        let block = self.block.map(|block| block.map(NumberRange::one));
        let block = block.or(self.launches.block);
        let block = block.map(|block| format!("blocks of {} threads", size(block)));
        let grid = self.launches.grid;
        let grid = grid.map(|grid| format!("grids of {} blocks", size(grid)));
        let params = self.launches.params.iter();
        let params = params.map(|param| format!("{} = {}", param.name, param.range));
        let stated: Vec<String> = block.into_iter().chain(grid).chain(params).collect();
        let stated = stated.join(", ");
        match &self.launches.file {
            None => stated,
            Some(file) if stated.is_empty() && file.varies() => format!(
                "the sizes of {0}, and its parameters with the ranges of those that vary",
                file.file
            ),
            Some(file) if stated.is_empty() => {
                format!("the sizes and parameters of {}", file.file)
            }
            Some(file) => format!("the sizes and parameters of {}, but {stated}", file.file),
        }
    }

    /// Whether the options state anything about launches.
    pub fn states_launch(&self) -> bool {
        self.block.is_some() || !self.launches.is_empty()
    }

    /// Returns the threads of a block in x, y, z: as stated, as in the launch file, or as the kernel requires.
    ///
    /// # Errors
    ///
    /// The stated block differs from the one that the kernel requires or is too large for it.
    pub(crate) fn block_ranges(
        &self,
        kernel: &Kernel,
    ) -> Result<Option<[NumberRange; 3]>, Diagnostic> {
        let size_text = |size: [NumberRange; 3]| size.map(|axis| axis.to_string()).join(",");
        let fail = |message: String| Err(Diagnostic::new(message).in_kernel(kernel.demangled()));
        let exact = |block: [u32; 3]| block.map(NumberRange::one);
        let file = self.launches.file.as_ref();
        let stated = self.block.map(exact).or(self.launches.block);
        let stated = stated.or_else(|| file.map(|file| exact(file.block)));
        let required = kernel.required_block.map(exact);
        if let (Some(stated), Some(required)) = (stated, required)
            // A range is fine if it contains the required block, which then replaces it.
            && !stated
                .iter()
                .zip(required)
                .all(|(all, one)| all.contains(one))
        {
            return fail(format!(
                "the kernel requires blocks of {}, not {}",
                size_text(required),
                size_text(stated)
            ));
        }
        let threads = |block: [NumberRange; 3]| {
            // A range is refused only if even its smallest block is too large. Saturating, since the numbers are from
            // the user.
            let sizes = block.iter().map(|axis| axis.least);
            sizes.fold(1i128, i128::saturating_mul)
        };
        if let (Some(stated), Some(most)) = (stated, kernel.max_threads.map(exact))
            && threads(stated) > threads(most)
        {
            return fail(format!(
                "the kernel allows blocks of {} threads, {} are {}",
                threads(most),
                size_text(stated),
                threads(stated)
            ));
        }
        // A required block is the block of every launch.
        Ok(required.or(stated))
    }

    /// Returns the facts about a launch of `kernel` for the analyses.
    ///
    /// # Errors
    ///
    /// The stated block differs from the one that the kernel requires or is too large for it, or the warp width
    /// differs from the width of the GPU.
    pub fn launch(&self, kernel: &Kernel, isa: Isa) -> Result<LaunchContext, Diagnostic> {
        let fail = |message: String| Err(Diagnostic::new(message).in_kernel(kernel.demangled()));
        let block = self.block_ranges(kernel)?;
        let warp_width = match (isa.family(), self.warp_width) {
            // Warps of these machines may have any width, so the largest one is assumed if none is stated.
            (Some(Family::MiniSimt), stated) => stated.unwrap_or(MAX_LANES),
            (Some(family), None) => family.lanes(),
            (Some(family), Some(stated)) if stated == family.lanes() => stated,
            (Some(family), Some(stated)) => {
                let warps = MachineTerms::of(family).warp;
                let lanes = family.lanes();
                return fail(format!(
                    "{warps}s of {isa} have {lanes} lanes, not {stated}"
                ));
            }
            (None, _) => return fail(format!("{isa} is not supported")),
        };
        Ok(LaunchContext {
            warp_width,
            // Analyses of warps know one block or none; a range of sizes is used where launch ranges are.
            block: block.and_then(only_size),
            ..LaunchContext::default()
        })
    }
}

/// Returns the only size of a range of sizes, if it has one.
fn only_size(size: [NumberRange; 3]) -> Option<[u32; 3]> {
    let mut only = [0; 3];
    for (to, axis) in only.iter_mut().zip(size) {
        *to = u32::try_from(axis.only()?).ok()?;
    }
    Some(only)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(x: (i128, i128), y: i128, kernel: &Kernel) -> Result<Option<[u32; 3]>, String> {
        let range = |(least, most)| NumberRange { least, most };
        let mut options = BoundOptions::default();
        options.launches.block = Some([range(x), NumberRange::one(y), NumberRange::one(1)]);
        let launch = options.launch(kernel, Isa::MiniSimt);
        launch.map(|launch| launch.block).map_err(|d| d.message)
    }

    #[test]
    fn a_required_block_is_in_the_stated_range() {
        let mut kernel = Kernel::default();
        kernel.required_block = Some([8, 4, 1]);
        assert_eq!(block((1, 16), 4, &kernel), Ok(Some([8, 4, 1])));
        let message = "the kernel requires blocks of 8,4,1, not 4..6,4,1";
        assert_eq!(block((4, 6), 4, &kernel), Err(message.to_owned()));
    }

    #[test]
    fn some_block_of_the_stated_range_is_allowed() {
        let mut kernel = Kernel::default();
        kernel.max_threads = Some([128, 1, 1]);
        assert_eq!(block((64, 256), 2, &kernel), Ok(None));
        assert_eq!(block((64, 64), 2, &kernel), Ok(Some([64, 2, 1])));
        let message = "the kernel allows blocks of 128 threads, 65..256,2,1 are 130";
        assert_eq!(block((65, 256), 2, &kernel), Err(message.to_owned()));
    }
}
