//! Sites at which the waves of a kernel may split.

use std::collections::BTreeSet;

use warpbound_analyse::split_sites::{FoundSite, SiteContext, find_sites};
use warpbound_analyse::thread_cfg::Limits;
use warpbound_analyse::{Dependence, ThreadCfg};
use warpbound_base::Diagnostic;
use warpbound_ir::OpIndex;
use warpbound_isa::Program;
use warpbound_isa::amd::GcnUnit;

use crate::Session;
use crate::prepared::Prepared;

impl Session {
    /// Finds the sites of a kernel in order of address; none in code for GPUs whose operations do not write a mask of
    /// active lanes.
    ///
    /// # Errors
    ///
    /// The kernel is refused.
    pub fn split_sites(&self, prepared: &Prepared<'_>) -> Result<Vec<FoundSite>, Diagnostic> {
        let refused = |refusal| self.refusal_diagnostic(prepared, refusal);
        let code = &prepared.code;
        let thread = ThreadCfg::build(code, &Limits::default()).map_err(refused)?;
        let dependence = Dependence::compute(&thread);
        let context = site_context(prepared);
        find_sites(code, &thread, &dependence, &context).map_err(refused)
    }
}

/// Facts beside the operations on which the sites of a kernel depend.
pub(crate) fn site_context(prepared: &Prepared<'_>) -> SiteContext {
    let messages: BTreeSet<OpIndex> = match &prepared.program {
        Program::Amd(program) => {
            let instrs = (0u32..).map(OpIndex).zip(&program.instrs);
            let messages = instrs.filter(|(_, instr)| instr.unit() == Some(GcnUnit::Message));
            messages.map(|(at, _)| at).collect()
        }
        Program::Nvidia(_) | Program::Mini(_) => BTreeSet::new(),
    };
    let kernel = prepared.kernel;
    let threads = |block: [u32; 3]| block.into_iter().map(u64::from).product::<u64>();
    let blocks = [kernel.required_block, kernel.max_threads];
    let lanes = u64::from(prepared.code.lanes);
    SiteContext {
        messages,
        omits_barriers: blocks
            .into_iter()
            .flatten()
            .any(|block| threads(block) <= lanes),
    }
}
