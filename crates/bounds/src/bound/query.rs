//! Inputs of a bound: the analysed kernel, its facts, the names of its loops and the bounds derived for them.

use warpbound_ipet::{KernelFacts, LoopName};
use warpbound_query::AnalysedKernel;
use warpbound_query::loop_verdicts::LoopVerdicts;
use warpbound_query::prepared::loop_names;

/// Inputs of the bound of one kernel.
pub(super) struct BoundQuery<'a> {
    pub(super) analysed: AnalysedKernel<'a>,
    pub(super) facts: Option<&'a KernelFacts>,
    pub(super) names: Vec<LoopName>,
    pub(super) verdicts: LoopVerdicts,
}

impl<'a> BoundQuery<'a> {
    pub(super) fn new(analysed: AnalysedKernel<'a>) -> BoundQuery<'a> {
        let AnalysedKernel {
            prepared,
            options,
            flow,
            deadline,
            ..
        } = analysed;
        let (kernel, ranges) = (prepared.kernel, &analysed.knowledge.ranges);
        BoundQuery {
            analysed,
            facts: options
                .facts
                .find([&*kernel.name, &kernel.demangled()], &kernel.code_digest()),
            names: loop_names(&flow.loops),
            verdicts: LoopVerdicts::derive(prepared, flow, ranges, options, deadline),
        }
    }
}
