//! Splitting of waves in a timed simulation: the sites of a kernel that a run uses, and what it did there.

use std::collections::BTreeMap;

use warpbound_base::{CodeAddr, Diagnostic, Named};
use warpbound_isa::amd::{GcnOpcode, GcnProgram, GcnValue};
use warpbound_report::timed::waves::{RefusedSite, RefusedSplits, SplitCount, SplittingReport};
use warpbound_simulate::functional::Counts;
use warpbound_simulate::timed::{SplitMarking, SplitSetup, SplitSite};

use crate::listeners::cycle_statistics::CycleStatistics;
use crate::listeners::names::InstrNames;
use warpbound_query::{Prepared, Session, SplitMarks, SplitOptions};

/// Splitting in a run, and the branches on EXEC that are not sites.
#[derive(Clone, Debug)]
pub struct SplitPlan {
    /// Setup as the simulator reads it.
    pub setup: SplitSetup,
    marks: &'static str,
    refused: Vec<RefusedSite>,
}

impl SplitPlan {
    /// Finds the sites at which waves of a kernel may split, in launches with groups of this size if they are known.
    ///
    /// # Errors
    ///
    /// The control flow of the kernel cannot be followed, or a wave may not split at a site that a file marks.
    pub fn new(
        session: &Session,
        prepared: &Prepared<'_>,
        program: &GcnProgram,
        options: &SplitOptions,
        block: Option<[u32; 3]>,
    ) -> Result<SplitPlan, Diagnostic> {
        let marking = match options.marks {
            SplitMarks::Own if writes_mark(program) => SplitMarking::Mode,
            SplitMarks::Mode => SplitMarking::Mode,
            _ => SplitMarking::Sites,
        };
        let mut plan = SplitPlan {
            setup: SplitSetup {
                splits: options.splits,
                pipelines: options.pipelines,
                marking,
                sites: BTreeMap::new(),
                merge: options.merge,
            },
            marks: match (&options.marks, marking) {
                (_, SplitMarking::Mode) => "mode",
                (SplitMarks::At(_), _) => "file",
                (_, SplitMarking::Sites) => "all",
            },
            refused: Vec::new(),
        };
        // Finding sites needs the control flow, which may be refused; a run without splits does not need it.
        if options.splits > 0 {
            plan.find_sites(session, prepared, &options.marks, block)?;
        }
        Ok(plan)
    }

    /// Finds the sites at which waves may split. What is an obstacle depends on whether splits merge.
    fn find_sites(
        &mut self,
        session: &Session,
        prepared: &Prepared<'_>,
        marks: &SplitMarks,
        block: Option<[u32; 3]>,
    ) -> Result<(), Diagnostic> {
        let merge = self.setup.merge;
        let found = session.split_sites(prepared, block)?;
        let marked = match marks {
            SplitMarks::At(marked) => {
                let kernel = prepared.kernel;
                Some(marked.of_kernel(&[&*kernel.name, &kernel.demangled()]))
            }
            _ => None,
        };
        let is_marked = |addr: CodeAddr| {
            let marked = marked.as_ref();
            marked.is_none_or(|marked| marked.contains(&addr))
        };
        if let Some(marked) = &marked {
            let known: Vec<CodeAddr> = found.iter().map(|site| prepared.addr(site.at)).collect();
            // A mark without a branch would be ignored silently, so it is an error.
            if let Some(addr) = marked.iter().find(|addr| !known.contains(addr)) {
                let message = "no branch on EXEC that a wave reaches is at this address";
                return Err(Diagnostic::new(message).at(addr));
            }
        }
        for site in found {
            let addr = prepared.addr(site.at);
            if site.may_split(merge) {
                if is_marked(addr) {
                    // Without merging, both parts of a wave run to the end of the kernel.
                    let merge_point = site.merge_point.filter(|_| merge);
                    self.setup.sites.insert(site.at, SplitSite { merge_point });
                }
                continue;
            }
            let obstacles = if merge { &site.merged } else { &site.apart };
            let reasons = obstacles
                .iter()
                .map(|obstacle| format!("{}: {}", prepared.addr(obstacle.at), obstacle.reason));
            let mut reasons: Vec<String> = reasons.collect();
            reasons.dedup();
            // A site that a file marks is requested explicitly, so a refusal is an error rather than a row of the
            // report.
            if marked.is_some() && is_marked(addr) {
                let message = format!("waves may not split here: {}", reasons.join("; "));
                return Err(Diagnostic::new(message).at(addr));
            }
            self.refused.push(RefusedSite {
                address: addr.to_string(),
                reasons,
            });
        }
        Ok(())
    }

    /// Reports the splits of a run; `None` if waves do not split.
    pub(super) fn report(
        &self,
        names: &InstrNames,
        counts: &Counts,
        statistics: &CycleStatistics,
    ) -> Option<SplittingReport> {
        let setup = &self.setup;
        if setup.splits == 0 {
            return None;
        }
        let sites: Vec<SplitCount> = setup
            .sites
            .iter()
            .map(|(&at, site)| {
                let merge_point = site.merge_point.filter(|_| setup.merge);
                let counted = statistics.splits.get(&at).copied().unwrap_or_default();
                SplitCount {
                    address: names.at(at).address.clone(),
                    source: names.at(at).source.clone(),
                    merge_point: merge_point.map(|at| names.at(at).address.clone()),
                    wave_instructions: counts.issues.get(at.index()).copied().unwrap_or(0),
                    taken: counted.taken,
                    refused: counted.refused,
                    merges: counted.merges,
                }
            })
            .collect();
        let sum = |of: fn(&SplitCount) -> u64| sites.iter().map(of).sum();
        let (taken, merges) = (sum(|site| site.taken), sum(|site| site.merges));
        let refused = RefusedSplits {
            no_slot: sum(|site| site.refused.no_slot),
            no_registers: sum(|site| site.refused.no_registers),
        };
        Some(SplittingReport {
            splits: setup.splits,
            pipelines: setup.pipelines.name(),
            marks: self.marks,
            merge: if setup.merge { "join" } else { "none" },
            taken,
            refused,
            merges,
            most_live: statistics.most_splits,
            resident: statistics.resident_splits(),
            sites,
            refused_sites: self.refused.clone(),
        })
    }
}

/// Whether an instruction writes the bit of MODE that marks branches.
fn writes_mark(program: &GcnProgram) -> bool {
    program.instrs.iter().any(|instr| {
        let is_write = matches!(
            instr.opcode(),
            Some(GcnOpcode::SSetregB32 | GcnOpcode::SSetregImm32B32)
        );
        let view = instr.view().filter(|_| is_write);
        let operands = view.iter().flat_map(|view| &view.operands);
        // A field of a hardware register is encoded as its number, its first bit, and its number of bits less one.
        // MODE is register 1.
        let mut fields = operands.filter_map(|operand| match operand.value {
            GcnValue::Immediate(field) => Some(field),
            _ => None,
        });
        // The field is the first immediate; a value may follow it.
        fields.next().is_some_and(|field| {
            let (first, bits) = (field >> 6 & 0x1f, (field >> 11 & 0x1f) + 1);
            field & 0x3f == 1 && (first..first + bits).contains(&21)
        })
    })
}
