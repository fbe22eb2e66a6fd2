//! Divergence report: the answers of gated single assignment and of agreement, side by side.
//!
//! Both analyses claim only uniformity, so lanes can diverge only where both allow it. For example, after a branch
//! that separates lanes with different values, agreement proves a value uniform that gated single assignment does
//! not. The report explains each such difference.

use std::collections::BTreeMap;

use warpbound_analyse::Divergence;
use warpbound_analyse::branch_sites::{self, BranchSite};
use warpbound_analyse::determinacy::{Determinacy, Origins};
use warpbound_analyse::divergence::{Chain, DivergenceSource, LinkRole, OpDivergence, QueryKind};
use warpbound_analyse::divergence_by_agreement::{
    AgreementAnalysis, AgreementLoss, AgreementVerdict,
};
use warpbound_analyse::missed_reconvergence::find_missed_reconvergence;
use warpbound_base::{Diagnostic, Family, Named};
use warpbound_ir::{Code, OpIndex};
use warpbound_isa::instr::MemorySpace;
use warpbound_load::Kernel;
use warpbound_report::divergence as report;
use warpbound_simt::{NodeId, Tag};

use crate::graph::calls;
use crate::prepared::Prepared;
use crate::{AnalysedKernel, BoundOptions, KernelAnalysis, KernelFlow, Session};
use warpbound_analyse::LaunchContext;

impl Session {
    /// Computes the origins of a kernel's branches: what must be known to compute their conditions.
    ///
    /// # Errors
    ///
    /// The kernel is refused.
    pub fn determinacy(&self, prepared: &Prepared<'_>) -> Result<Determinacy, Diagnostic> {
        let options = BoundOptions::default();
        let launch = self.launch(prepared.kernel, &options)?.context;
        let flow = self.flow(prepared, &launch, &options)?;
        Ok(determinacy_of(&prepared.code, &flow))
    }
}

impl Session {
    /// Reports which branches, loads and barriers of a kernel may diverge, and the reasons.
    ///
    /// # Errors
    ///
    /// The kernel is refused.
    pub fn divergence(
        &self,
        kernel: &Kernel,
        options: &BoundOptions,
    ) -> Result<report::DivergenceReport, Diagnostic> {
        divergence_of(&self.analyse(kernel, options)?)
    }
}

/// Reports the divergence of an analysed kernel, with what must be known to compute its branches.
///
/// # Errors
///
/// The kernel is refused.
pub fn divergence_of(
    analysis: &KernelAnalysis<'_>,
) -> Result<report::DivergenceReport, Diagnostic> {
    let AnalysedKernel { prepared, flow, .. } = analysis.followed()?;
    let determinacy = match prepared.family() {
        Family::Gcn3 => None,
        Family::Maxwell | Family::Volta | Family::MiniSimt => {
            Some(determinacy_of(&prepared.code, flow))
        }
    };
    let context = &analysis.knowledge.context;
    Ok(divergence_report(
        prepared,
        flow,
        context,
        determinacy.as_ref(),
    ))
}

/// Returns the divergence of a kernel whose control flow is known; with what must be known to compute its branches, if
/// that is given.
pub fn divergence_report(
    prepared: &Prepared<'_>,
    flow: &KernelFlow,
    launch: &LaunchContext,
    determinacy: Option<&Determinacy>,
) -> report::DivergenceReport {
    let code = &prepared.code;
    let dependence = flow.dependence();
    let found = Divergence::analyse(code, &flow.thread, dependence, launch);
    let agreement = AgreementAnalysis {
        code,
        thread: &flow.thread,
        warp: &flow.warp,
        launch,
    };
    let verdicts = agreement.verdicts(&found.items);
    let missed = find_missed_reconvergence(code, &flow.thread, &flow.warp, dependence);
    let without_determinacy = match prepared.family() {
        Family::Gcn3 => Some(WITHOUT_DETERMINACY),
        Family::Maxwell | Family::Volta | Family::MiniSimt => None,
    };
    let writer = ReportBuilder {
        determinacy,
        prepared,
        flow,
        agreement,
        reconverges: !missed.iter().any(|branch| branch.for_values),
        always_reconverges: missed.is_empty(),
        sites: branch_sites::classify(code, &flow.thread, dependence),
    };
    let last = |node: NodeId| prepared.location(flow.thread.space.block(node).last);
    let first = |node: NodeId| prepared.location(flow.thread.space.block(node).first);
    report::DivergenceReport {
        schema: report::DivergenceReport::SCHEMA,
        kernel: prepared.kernel.demangled(),
        items: found
            .items
            .iter()
            .zip(&verdicts)
            .map(|(item, verdict)| writer.item(item, verdict))
            .collect(),
        missed_reconvergences: missed
            .into_iter()
            .map(|found| report::MissedReconvergenceReport {
                branch: last(found.branch),
                reconvergence: first(found.reconvergence),
                for_values: found.for_values,
            })
            .collect(),
        without_determinacy,
    }
}

/// Computes the origins of branches: what must be known to compute their conditions.
pub fn determinacy_of(code: &Code, flow: &KernelFlow) -> Determinacy {
    let dependence = flow.dependence();
    let missed = find_missed_reconvergence(code, &flow.thread, &flow.warp, dependence);
    // If a reconvergence may be missed, each branch may decide which lanes are active anywhere after it.
    Determinacy::analyse(code, &flow.thread, dependence, missed.is_empty())
}

/// Builder of the report, with the results of both analyses.
struct ReportBuilder<'a> {
    prepared: &'a Prepared<'a>,
    flow: &'a KernelFlow,
    agreement: AgreementAnalysis<'a>,
    /// Whether lanes are known to reconverge wherever values depend on it.
    reconverges: bool,
    /// Whether lanes are known to reconverge everywhere.
    always_reconverges: bool,
    /// Kinds of branches, in code that keeps masks of lanes.
    sites: BTreeMap<OpIndex, BranchSite>,
    /// Origins of branches, if the instruction set is covered.
    determinacy: Option<&'a Determinacy>,
}

/// Note of reports on code whose active lanes follow from a register.
const WITHOUT_DETERMINACY: &str = "What must be known to compute a branch is not reported for GCN3: which lanes are \
active follows from EXEC there.";

impl ReportBuilder<'_> {
    /// Returns the report of an operation.
    fn item(&self, item: &OpDivergence, verdict: &AgreementVerdict) -> report::OpReport {
        let at = self.prepared.addr(item.at);
        report::OpReport {
            at: self.prepared.location(item.at),
            instruction: self.instr_text(item.at),
            kind: match item.kind {
                QueryKind::Branch => report::ItemKind::Branch,
                QueryKind::Load => report::ItemKind::Load,
                QueryKind::Barrier => report::ItemKind::Barrier,
            },
            site: self.sites.get(&item.at).map(|site| site.name()),
            source: self.prepared.source(at),
            function: self.prepared.function(at),
            contexts: item.nodes.len(),
            cells: item
                .cells
                .iter()
                .map(|&cell| self.prepared.cell(cell))
                .collect(),
            values: report::DivergenceAnswer {
                gsa: !item.divergent.is_empty(),
                agreement: !verdict.divergent.is_empty(),
                gsa_contexts: item.divergent.len(),
                agreement_contexts: verdict.divergent.len(),
                difference: self.values_difference(item, verdict),
                chain: self.chain(item.chain.as_ref()),
                calls: self.calls(item.chain.as_ref()),
            },
            partial: report::DivergenceAnswer {
                gsa: !item.partial.is_empty(),
                agreement: !verdict.partial.is_empty(),
                gsa_contexts: item.partial.len(),
                agreement_contexts: verdict.partial.len(),
                difference: self.partial_difference(item, verdict),
                chain: self.chain(item.partial_chain.as_ref()),
                calls: self.calls(item.partial_chain.as_ref()),
            },
            determinacy: match item.kind {
                QueryKind::Branch => self.determinacy(item.at),
                QueryKind::Load | QueryKind::Barrier => None,
            },
        }
    }

    /// Returns what must be known to compute the condition of a branch.
    fn determinacy(&self, at: OpIndex) -> Option<report::DeterminacyReport> {
        let found = self.determinacy?.branches.get(&at)?;
        let location = |at: &OpIndex| self.prepared.location(*at);
        let chains = Origins::ALL.iter().filter_map(|(origin, name)| {
            let links = found.chains.get(origin)?.iter();
            Some((*name, links.map(|link| location(&link.at)).collect()))
        });
        Some(report::DeterminacyReport {
            origins: found.origins.names().collect(),
            tainted: found.origins.has(Origins::THREAD),
            loads: found.loads.ops.iter().map(location).collect(),
            more_loads: found.loads.are_more,
            chains: chains.collect(),
        })
    }

    fn instr_text(&self, at: OpIndex) -> String {
        self.prepared.program.text(at.index()).unwrap_or_default()
    }

    fn calls(&self, chain: Option<&Chain>) -> Vec<String> {
        chain.map_or(Vec::new(), |chain| {
            calls(self.prepared, self.flow, chain.node)
        })
    }

    /// Returns the report of a chain of definitions.
    fn chain(&self, chain: Option<&Chain>) -> Vec<report::ChainLink> {
        let Some(chain) = chain else {
            return Vec::new();
        };
        let last = chain.links.len().saturating_sub(1);
        let link = |(nth, link): (usize, &warpbound_analyse::divergence::Link)| report::ChainLink {
            at: self.prepared.location(link.at),
            gate: match link.role {
                LinkRole::Entry => report::Gate::Entry,
                LinkRole::Written => report::Gate::Written,
                LinkRole::Conditional => report::Gate::Conditional,
                LinkRole::Gamma => report::Gate::Gamma,
                LinkRole::Mu => report::Gate::Mu,
                LinkRole::Eta => report::Gate::Eta,
                LinkRole::Callee => report::Gate::Callee,
                LinkRole::BranchOutcome => report::Gate::ControlDependence,
            },
            cell: link.cell.map(|cell| self.prepared.cell(cell)),
            instruction: match link.role {
                // Entries and gates are where paths join, and not instructions.
                LinkRole::Entry | LinkRole::Gamma | LinkRole::Mu | LinkRole::Eta => None,
                _ => Some(self.instr_text(link.at)),
            },
            reason: (nth == last).then(|| source_reason(chain.source).to_owned()),
        };
        chain.links.iter().enumerate().map(link).collect()
    }

    /// Explains a difference between the answers about values: the more precise one, and the reason.
    fn values_difference(&self, item: &OpDivergence, verdict: &AgreementVerdict) -> Option<String> {
        // A register of the warp has one value for all lanes, so the analyses cannot differ about it.
        if item.cells.iter().all(|cell| !cell.is_per_lane()) {
            return None;
        }
        let sharper = item.divergent.difference(&verdict.divergent).next();
        let sharper = sharper.map(|&node| {
            let why = self.explain_agreement(item, node);
            format!("agreement is more precise: {why}")
        });
        let blunter = verdict.divergent.difference(&item.divergent).next();
        let blunter = blunter.map(|&node| self.explain_loss(item, node));
        join_sentences(sharper, blunter)
    }

    /// Explains why agreement proves uniformity where gated values do not.
    fn explain_agreement(&self, item: &OpDivergence, node: NodeId) -> String {
        let at = |op| self.prepared.location(op);
        if let Some(&branch) = item.split.get(&node) {
            let branch = at(branch);
            return format!("the branch at {branch} has separated lanes with different values");
        }
        // The chain is of one context only; in another one it would explain a different path.
        let chain = item.chain.as_ref().filter(|chain| chain.node == node);
        let link = chain.and_then(|chain| self.agreement.last_uniform_link(chain));
        let cell = link
            .and_then(|link| link.cell)
            .map(|cell| self.prepared.cell(cell));
        match (link.map(|link| (link.role, at(link.at))), cell) {
            (Some((LinkRole::BranchOutcome, at)), _) => {
                format!("lanes that execute {at} together take the same branch")
            }
            (Some((LinkRole::Gamma | LinkRole::Mu, at)), Some(cell)) => {
                format!("lanes that execute {at} together have the same {cell}")
            }
            (Some((_, at)), Some(cell)) => {
                format!("{cell} is equal in all lanes after {at}")
            }
            _ => "lanes that execute it together hold the same value".to_owned(),
        }
    }

    /// Explains why agreement does not prove uniformity where gated values do.
    fn explain_loss(&self, item: &OpDivergence, node: NodeId) -> String {
        let at = |op| self.prepared.location(op);
        let name = |cell| self.prepared.cell(cell);
        let why = match self.agreement.find_loss(node, item.at, &item.cells) {
            // A NIL entry waits for no instruction: these lanes are the other side of a divergent branch.
            Some(AgreementLoss::Resumed(op, cell, Tag::Nil)) => {
                format!(
                    "pending lanes resume at {} with an older {}",
                    at(op),
                    name(cell)
                )
            }
            Some(AgreementLoss::Resumed(op, cell, tag)) => format!(
                "agreement loses {} at {}, where lanes resume that waited for {}",
                name(cell),
                at(op),
                tag.name()
            ),
            Some(AgreementLoss::Written(op, cell)) => {
                format!("agreement loses {} at {}", name(cell), at(op))
            }
            Some(AgreementLoss::Entry(cell)) => {
                format!(
                    "agreement traces {} back to the entry on a path that no lane takes with this value",
                    name(cell)
                )
            }
            None => "agreement is lost on a path to it".to_owned(),
        };
        // Gated values assume that lanes reconverge, so their answer is qualified where that may be missed.
        let taken = match self.reconverges {
            true => "gated values are more precise",
            false => "gated values are more precise if lanes reconverge (see below)",
        };
        format!("{taken}: {why}")
    }

    /// Explains a difference between the answers about partial execution: the more precise one, and the reason.
    fn partial_difference(
        &self,
        item: &OpDivergence,
        verdict: &AgreementVerdict,
    ) -> Option<String> {
        let sharper = item.partial.difference(&verdict.partial).next();
        let sharper = sharper.map(|_| {
            "agreement is more precise: no lane is pending elsewhere when the warp executes it"
                .to_owned()
        });
        let blunter = verdict.partial.difference(&item.partial).next();
        let blunter = blunter.map(|_| match self.always_reconverges {
            true => "gated values are more precise: diverged lanes have reconverged".to_owned(),
            false => {
                "agreement has lanes that may still be pending, though all execute it (see below)"
                    .to_owned()
            }
        });
        join_sentences(sharper, blunter)
    }
}

/// Joins the sentences of both directions of a difference.
fn join_sentences(one: Option<String>, other: Option<String>) -> Option<String> {
    match (one, other) {
        (Some(one), Some(other)) => Some(format!("in some contexts {one}; in others {other}")),
        (one, other) => one.or(other),
    }
}

/// Returns the reason for a source of divergence.
fn source_reason(source: DivergenceSource) -> &'static str {
    match source {
        DivergenceSource::Entry => "unknown at entry",
        DivergenceSource::Lane => "each lane has its own",
        DivergenceSource::Special(_) => "differs from lane to lane",
        DivergenceSource::Load(MemorySpace::Local) => "local memory: each lane has its own",
        DivergenceSource::Load(MemorySpace::Generic) => {
            "generic memory: may be local, where each lane has its own"
        }
        DivergenceSource::Load(_) => "memory that other warps may write meanwhile",
        DivergenceSource::Callee => "the callee may write any value",
        DivergenceSource::Stack => "resumes where the lane came from",
        DivergenceSource::Choice => "may go on at its target or after it",
    }
}
