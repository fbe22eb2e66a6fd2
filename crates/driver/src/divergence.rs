//! What may diverge, as gated values and as agreement see it.

use warpbound_analyse::divergence::{Chain, OpDivergence, QueryKind, LinkRole, DivergenceSource};
use warpbound_analyse::meeting::apart;
use warpbound_analyse::opinion::{Agreement, AgreementLoss, AgreementVerdict};
use warpbound_analyse::{Dependence, Divergence};
use warpbound_base::Diagnostic;
use warpbound_ir::OpIndex;
use warpbound_isa::instr::MemorySpace;
use warpbound_load::Kernel;
use warpbound_report::divergence as report;
use warpbound_simt::{NodeId, Tag};

use crate::graph::calls;
use crate::prepared::Prepared;
use crate::{KernelFlow, BoundOptions, Session};

impl Session {
    /// Which branches, loads and barriers of a kernel may diverge, and why.
    ///
    /// # Errors
    ///
    /// Where the kernel is refused.
    pub fn divergence(
        &self,
        kernel: &Kernel,
        options: &BoundOptions,
    ) -> Result<report::DivergenceReport, Diagnostic> {
        let prepared = self.prepare(kernel)?;
        let launch = options
            .launch(kernel, self.image.isa())
            .map_err(|d| self.locate(d))?;
        let flow = self.flow(&prepared, &launch, options)?;
        let code = &prepared.code;
        let dependence = Dependence::run(&flow.thread);
        let found = Divergence::run(code, &flow.thread, &dependence, &launch);
        let agreement = Agreement {
            code,
            thread: &flow.thread,
            warp: &flow.warp,
            launch: &launch,
        };
        let opinions = agreement.opinions(&found.items);
        let apart = apart(code, &flow.thread, &flow.warp, &dependence);
        let writer = Writer {
            prepared: &prepared,
            flow: &flow,
            agreement,
            meets: !apart.iter().any(|apart| apart.for_values),
            meets_all: apart.is_empty(),
        };
        let last = |node: NodeId| prepared.place(flow.thread.space.block(node).last);
        let first = |node: NodeId| prepared.place(flow.thread.space.block(node).first);
        Ok(report::DivergenceReport {
            schema: report::DivergenceReport::SCHEMA,
            kernel: kernel.demangled(),
            items: found
                .items
                .iter()
                .zip(&opinions)
                .map(|(item, opinion)| writer.item(item, opinion))
                .collect(),
            apart: apart
                .into_iter()
                .map(|apart| report::MissedReconvergenceReport {
                    branch: last(apart.branch),
                    meeting: first(apart.meeting),
                    for_values: apart.for_values,
                })
                .collect(),
        })
    }
}

struct Writer<'a> {
    prepared: &'a Prepared<'a>,
    flow: &'a KernelFlow,
    agreement: Agreement<'a>,
    /// Lanes are known to meet, as far as values depend on it.
    meets: bool,
    /// They are known to meet everywhere.
    meets_all: bool,
}

impl Writer<'_> {
    fn item(&self, item: &OpDivergence, opinion: &AgreementVerdict) -> report::OpReport {
        let at = self.prepared.addr(item.at);
        report::OpReport {
            at: self.prepared.place(item.at),
            instruction: self.spelled(item.at),
            kind: match item.kind {
                QueryKind::Branch => report::ItemKind::Branch,
                QueryKind::Load => report::ItemKind::Load,
                QueryKind::Barrier => report::ItemKind::Barrier,
            },
            source: self.prepared.source(at),
            function: self.prepared.function(at),
            contexts: item.nodes.len(),
            cells: item
                .cells
                .iter()
                .map(|&cell| self.prepared.cell(cell))
                .collect(),
            values: report::Answer {
                gsa: !item.divergent.is_empty(),
                agreement: !opinion.divergent.is_empty(),
                gsa_contexts: item.divergent.len(),
                agreement_contexts: opinion.divergent.len(),
                difference: self.values_differ(item, opinion),
                chain: self.chain(item.chain.as_ref()),
                calls: self.calls(item.chain.as_ref()),
            },
            partial: report::Answer {
                gsa: !item.partial.is_empty(),
                agreement: !opinion.partial.is_empty(),
                gsa_contexts: item.partial.len(),
                agreement_contexts: opinion.partial.len(),
                difference: self.partial_differ(item, opinion),
                chain: self.chain(item.partial_chain.as_ref()),
                calls: self.calls(item.partial_chain.as_ref()),
            },
        }
    }

    fn spelled(&self, at: OpIndex) -> String {
        self.prepared.program.text(at.index()).unwrap_or_default()
    }

    fn calls(&self, chain: Option<&Chain>) -> Vec<String> {
        chain.map_or(Vec::new(), |chain| {
            calls(self.prepared, self.flow, chain.node)
        })
    }

    fn chain(&self, chain: Option<&Chain>) -> Vec<report::ChainLink> {
        let Some(chain) = chain else {
            return Vec::new();
        };
        let last = chain.links.len().saturating_sub(1);
        let link = |(nth, link): (usize, &warpbound_analyse::divergence::Link)| report::ChainLink {
            at: self.prepared.place(link.at),
            gate: match link.role {
                LinkRole::Entry => report::Gate::Entry,
                LinkRole::Written => report::Gate::Written,
                LinkRole::Conditional => report::Gate::Conditional,
                LinkRole::Gamma => report::Gate::Gamma,
                LinkRole::Mu => report::Gate::Mu,
                LinkRole::Eta => report::Gate::Eta,
                LinkRole::Callee => report::Gate::Callee,
                LinkRole::Way => report::Gate::Way,
            },
            cell: link.cell.map(|cell| self.prepared.cell(cell)),
            instruction: match link.role {
                LinkRole::Entry | LinkRole::Gamma | LinkRole::Mu | LinkRole::Eta => None,
                _ => Some(self.spelled(link.at)),
            },
            because: (nth == last).then(|| because(chain.source).to_owned()),
        };
        chain.links.iter().enumerate().map(link).collect()
    }

    /// Which of two different answers about values is more precise, and why.
    fn values_differ(&self, item: &OpDivergence, opinion: &AgreementVerdict) -> Option<String> {
        let sharper = item.divergent.difference(&opinion.divergent).next();
        let sharper = sharper.map(|&node| {
            let why = self.sharpened(item, node);
            format!("agreement is more precise: {why}")
        });
        let blunter = opinion.divergent.difference(&item.divergent).next();
        let blunter = blunter.map(|&node| self.lost(item, node));
        joined(sharper, blunter)
    }

    /// Why agreement knows what gated values do not know.
    fn sharpened(&self, item: &OpDivergence, node: NodeId) -> String {
        let at = |op| self.prepared.place(op);
        if let Some(&branch) = item.split.get(&node) {
            let branch = at(branch);
            return format!("lanes that come here together were sorted by this value at {branch}");
        }
        let chain = item.chain.as_ref().filter(|chain| chain.node == node);
        let link = chain.and_then(|chain| self.agreement.doubts(chain));
        let cell = link
            .and_then(|link| link.cell)
            .map(|cell| self.prepared.cell(cell));
        match (link.map(|link| (link.role, at(link.at))), cell) {
            (Some((LinkRole::Way, at)), _) => {
                format!("it knows that lanes which come to {at} together go the same way")
            }
            (Some((LinkRole::Gamma | LinkRole::Mu, at)), Some(cell)) => {
                format!("it knows that lanes which come to {at} together have the same {cell}")
            }
            (Some((_, at)), Some(cell)) => {
                format!("it knows that {cell} is the same behind {at}")
            }
            _ => "lanes that come here together hold the same value".to_owned(),
        }
    }

    /// Why agreement does not know what gated values know.
    fn lost(&self, item: &OpDivergence, node: NodeId) -> String {
        let at = |op| self.prepared.place(op);
        let name = |cell| self.prepared.cell(cell);
        let why = match self.agreement.lost(node, item.at, &item.cells) {
            Some(AgreementLoss::Resumed(op, cell, Tag::Nil)) => {
                format!(
                    "lanes that waited for others go on at {} with an older {}",
                    at(op),
                    name(cell)
                )
            }
            Some(AgreementLoss::Resumed(op, cell, tag)) => format!(
                "agreement loses {} at {}, where lanes go on that waited for {}",
                name(cell),
                at(op),
                tag.name()
            ),
            Some(AgreementLoss::Written(op, cell)) => {
                format!("agreement loses {} at {}", name(cell), at(op))
            }
            Some(AgreementLoss::Entry(cell)) => {
                format!(
                    "agreement follows {} back to the entry on a way that no lane takes with it",
                    name(cell)
                )
            }
            None => "agreement is lost on the way".to_owned(),
        };
        let taken = match self.meets {
            true => "gated values are more precise",
            false => "gated values say more, if lanes meet (see below)",
        };
        format!("{taken}: {why}")
    }

    /// Which of two different answers about presence is more precise, and why.
    fn partial_differ(&self, item: &OpDivergence, opinion: &AgreementVerdict) -> Option<String> {
        let sharper = item.partial.difference(&opinion.partial).next();
        let sharper = sharper.map(|_| {
            "agreement is more precise: no lane is waiting elsewhere when the warp comes here"
                .to_owned()
        });
        let blunter = opinion.partial.difference(&item.partial).next();
        let blunter = blunter.map(|_| match self.meets_all {
            true => "gated values are more precise: lanes that parted have met again".to_owned(),
            false => "agreement sees lanes that may still wait, though all come here (see below)"
                .to_owned(),
        });
        joined(sharper, blunter)
    }
}

/// Both sentences, where there are two.
fn joined(one: Option<String>, other: Option<String>) -> Option<String> {
    match (one, other) {
        (Some(one), Some(other)) => Some(format!("in some contexts {one}; in others {other}")),
        (one, other) => one.or(other),
    }
}

fn because(source: DivergenceSource) -> &'static str {
    match source {
        DivergenceSource::Entry => "nothing is known of it at entry",
        DivergenceSource::Lane => "each lane has its own",
        DivergenceSource::Special(_) => "differs from lane to lane",
        DivergenceSource::Load(MemorySpace::Local) => "local memory: each lane has its own",
        DivergenceSource::Load(MemorySpace::Generic) => "generic memory: may be local, where each lane has its own",
        DivergenceSource::Load(_) => "memory that others may write meanwhile",
        DivergenceSource::Callee => "the callee may leave anything",
        DivergenceSource::Stack => "resumes where the lane came from",
    }
}
