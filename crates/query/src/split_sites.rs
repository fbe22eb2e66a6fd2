//! Sites at which the waves of a kernel may split.
//!
//! A site is a branch on EXEC after which both parts of a wave compute what the whole wave would (SOUNDNESS 12.6).
//! For example, the branch of an if-else around vector arithmetic; a barrier in an arm would be an obstacle.

use std::collections::BTreeSet;

use warpbound_analyse::split_sites::{FoundSite, SiteContext, find_sites};
use warpbound_analyse::thread_cfg::Limits;
use warpbound_analyse::{Dependence, ThreadCfg};
use warpbound_base::Diagnostic;
use warpbound_ir::{Op, OpIndex};
use warpbound_isa::Program;
use warpbound_isa::amd::GcnUnit;
use warpbound_isa::instr::MemorySpace;
use warpbound_load::ArgKind;

use crate::{Prepared, Session};

impl Session {
    /// Finds the sites of a kernel in order of address; there are none in code whose operations do not write a mask of
    /// active lanes. `block` is the number of work-items of a group in x, y and z, if the launch states it.
    ///
    /// # Errors
    ///
    /// The kernel is refused.
    pub fn split_sites(
        &self,
        prepared: &Prepared<'_>,
        block: Option<[u32; 3]>,
    ) -> Result<Vec<FoundSite>, Diagnostic> {
        let refused = |refusal| self.refusal_diagnostic(prepared, refusal);
        let code = &prepared.code;
        let thread = ThreadCfg::build(code, &Limits::default()).map_err(refused)?;
        let dependence = Dependence::compute(&thread);
        let context = site_context(prepared, block);
        find_sites(code, &thread, &dependence, &context).map_err(refused)
    }
}

/// Returns the facts, besides the operations, that the sites of a kernel depend on.
pub fn site_context(prepared: &Prepared<'_>, block: Option<[u32; 3]>) -> SiteContext {
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
    // A group of one wave needs no barriers, so the compiler, or an author who knows the launch, may omit them. Its
    // lanes then exchange data through LDS without a barrier, which splits would disturb (SOUNDNESS 12.6).
    let block = block.filter(|_| may_use_lds(prepared));
    let blocks = [kernel.required_block, kernel.max_threads, block];
    let lanes = u64::from(prepared.code.lanes());
    SiteContext {
        messages,
        omits_barriers: blocks
            .into_iter()
            .flatten()
            .any(|block| threads(block) <= lanes),
    }
}

/// Whether a kernel may access LDS: LDS of its own, or LDS that a launch adds for an argument or an operation.
fn may_use_lds(prepared: &Prepared<'_>) -> bool {
    let kernel = prepared.kernel;
    let has_argument = kernel.code_object.as_ref().is_some_and(|object| {
        let mut kinds = object.args.iter().map(|arg| arg.kind);
        kinds.any(|kind| kind == ArgKind::DynamicSharedPointer)
    });
    let in_lds = |op: &Op| match &op.meaning {
        Some(meaning) => {
            let accesses = meaning.accesses();
            accesses
                .iter()
                .any(|access| access.space == MemorySpace::Shared)
        }
        // An operation of unknown meaning that writes a register may be a load from LDS.
        None => !op.writes.is_empty(),
    };
    kernel.static_shared != Some(0) || has_argument || prepared.code.ops.iter().any(in_lds)
}
