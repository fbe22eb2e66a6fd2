//! Findings of an audit: results accumulated over its runs.
//!
//! A violation is kept once, with the first run that shows it. For example, if runs 3 and 7 break the same loop fact,
//! the report has one finding, of run 3.

use std::collections::BTreeMap;

use warpbound_ir::OpIndex;
use warpbound_report::KernelBound;
use warpbound_report::audit::{AuditReport, AuditedLoop, Finding};
use warpbound_report::bound::Origin;

use super::accesses::audited_access;
use super::{
    AuditFault, BrokenStatement, DerivedClaims, LoneWarpAudit, MAX_SHOWN, MonitoredRun,
    ObservedAccess, StatedFacts, Violation, index_text, warp_text,
};
use warpbound_query::prepared::Prepared;

/// Results accumulated over the runs.
pub(super) struct Audit<'a> {
    pub(super) prepared: &'a Prepared<'a>,
    pub(super) stated: StatedFacts,
    pub(super) bound: &'a KernelBound,
    /// Findings in the order of the report: statements, bounds, claims by operation, timed runs.
    pub(super) findings: BTreeMap<(u8, usize, String), Finding>,
    /// Violations beyond the limit of a run, which are only counted.
    further_violations: u64,
    most: Vec<u64>,
    pub(super) totals: Vec<u64>,
    /// Bounds of loops that hold in all launches.
    pub(super) derived_for_all: DerivedClaims,
    /// Bounds of loops for the launches of the runs.
    derived: Vec<DerivedCount>,
    accesses: BTreeMap<OpIndex, ObservedAccess>,
    /// Runs of single warps with time.
    pub(super) cycles: LoneWarpAudit,
    pub(super) report: &'a mut AuditReport,
}

/// Bounds of a loop for the launches of the runs.
#[derive(Clone, Copy, Default)]
struct DerivedCount {
    most: u64,
    is_missing: bool,
    is_reached: bool,
}

impl<'a> Audit<'a> {
    pub(super) fn new(
        prepared: &'a Prepared<'a>,
        bound: &'a KernelBound,
        derived_for_all: DerivedClaims,
        report: &'a mut AuditReport,
    ) -> Audit<'a> {
        Audit {
            prepared,
            stated: StatedFacts {
                loops: bound.loops.iter().map(|l| l.bound).collect(),
                totals: bound.loops.iter().map(|l| l.total).collect(),
                bound: bound.verdict.bound(),
            },
            bound,
            findings: BTreeMap::new(),
            further_violations: 0,
            most: vec![0; bound.loops.len()],
            totals: vec![0; bound.loops.len()],
            derived_for_all,
            derived: vec![DerivedCount::default(); bound.loops.len()],
            accesses: BTreeMap::new(),
            cycles: LoneWarpAudit::default(),
            report,
        }
    }
}

impl Audit<'_> {
    /// Adds the observations of a run: violations, maxima and the fault.
    pub(super) fn add(&mut self, run: u64, monitored: MonitoredRun) {
        let MonitoredRun {
            observations: seen,
            fault,
            memory: _,
        } = monitored;
        for broken in self.stated.violated(&seen) {
            let (key, claim, message) = self.describe_broken(broken);
            let finding = |message| Finding {
                claim,
                run,
                at: None,
                source: None,
                message,
            };
            self.findings.entry(key).or_insert_with(|| finding(message));
        }
        for (violation, warp) in &seen.violations {
            let Violation { claim, at, message } = violation;
            let addr = self.prepared.addr(*at);
            let finding = || Finding {
                claim: claim.name(),
                run,
                at: Some(self.prepared.location(*at)),
                source: self.prepared.source(addr),
                message: format!("{message}; {}", warp_text(*warp)),
            };
            // The key leaves the warp out, so that other warps and runs with the same violation do not repeat it.
            let key = (2, at.index(), message.clone());
            self.findings.entry(key).or_insert_with(finding);
        }
        self.further_violations += seen.further_violations;
        for (most, seen) in self.most.iter_mut().zip(&seen.max_per_entry) {
            *most = (*most).max(seen.map_or(0, |most| most.count));
        }
        for (most, seen) in self.totals.iter_mut().zip(&seen.max_totals) {
            *most = (*most).max(seen.map_or(0, |most| most.count));
        }
        for (at, seen) in &seen.accesses {
            self.accesses.entry(*at).or_default().add(seen);
        }
        let report = &mut *self.report;
        report.runs += 1;
        report.warp_instructions += seen.issued;
        report.warps += seen.ended_warps;
        if let Some(worst) = seen.worst
            && report
                .worst_simulated
                .is_none_or(|most| most < worst.issued)
        {
            report.worst_simulated = Some(worst.issued);
            report.worst_at = Some(format!("{}, run {run}", warp_text(worst.warp)));
        }
        if let Some(fault) = fault {
            report.faulted += 1;
            report.given_faulted |= run == 1;
            let message = fault.to_string();
            let faults = &mut report.faults;
            if let Some(known) = faults.iter_mut().find(|known| known.message == message) {
                known.runs += 1;
            } else if faults.len() < MAX_SHOWN {
                let runs = 1;
                faults.push(AuditFault { run, runs, message });
            }
        }
    }

    /// Compares a run with the derived bounds of loops.
    pub(super) fn add_derived(
        &mut self,
        run: u64,
        monitored: &MonitoredRun,
        for_launch: &DerivedClaims,
    ) {
        let seen = &monitored.observations;
        let has_ended = monitored.fault.is_none();
        let sets = [
            (for_launch, "for this launch"),
            (&self.derived_for_all, "for all launches"),
        ];
        for (number, (claims, launches)) in sets.into_iter().enumerate() {
            for broken in claims.violated(seen, for_launch, has_ended) {
                let id = self.bound.loops.get(broken.number);
                let message = broken.text(id.map_or("?", |l| l.id.as_str()), launches);
                let key = (
                    0,
                    broken.number,
                    format!("derived {number} {:?}", broken.part),
                );
                self.findings.entry(key).or_insert_with(|| Finding {
                    claim: "derived",
                    run,
                    at: None,
                    source: None,
                    message,
                });
            }
        }
        for (number, count) in self.derived.iter_mut().enumerate() {
            let observed = seen.max_per_entry.get(number).copied().flatten();
            match for_launch.bound(number) {
                Some(bound) => {
                    count.most = count.most.max(bound.per_entry);
                    count.is_reached |= observed.is_some_and(|seen| seen.count == bound.per_entry);
                }
                // A number for all runs needs a bound in the launch of each run.
                None => count.is_missing = true,
            }
        }
    }

    /// Returns the position of a violated statement in the report, the kind of statement, and the message.
    fn describe_broken(
        &self,
        broken: BrokenStatement,
    ) -> ((u8, usize, String), &'static str, String) {
        match broken {
            BrokenStatement::Fact {
                number,
                stated,
                most,
            } => {
                let about = self.bound.loops.get(number);
                let id = about.map_or("?", |l| l.id.as_str());
                let from = match about.map(|l| l.origin) {
                    Some(Origin::LoopDefault) => " (--loop-default)",
                    Some(Origin::Derived | Origin::Launch) => " (derived)",
                    _ => "",
                };
                let message = format!(
                    "fact {id} <= {stated}{from} broken: thread {} of block {} ran {}",
                    most.thread,
                    index_text(most.block),
                    most.count
                );
                ((0, number, String::new()), "fact", message)
            }
            BrokenStatement::Total {
                number,
                stated,
                most,
            } => {
                let id = self.bound.loops.get(number).map_or("?", |l| l.id.as_str());
                let message = format!(
                    "fact {id} <= {stated} in total broken: thread {} of block {} ran {}",
                    most.thread,
                    index_text(most.block),
                    most.count
                );
                ((0, number, "total".to_owned()), "fact", message)
            }
            BrokenStatement::Never { number, thread } => {
                let never = self.bound.never.get(number).map_or("?", String::as_str);
                let message = format!(
                    "fact never {never} broken: thread {} of block {} executes it",
                    thread.thread,
                    index_text(thread.block)
                );
                ((0, number, "never".to_owned()), "fact", message)
            }
            BrokenStatement::Bound { bound, worst } => {
                let message = format!(
                    "{} issued {} instructions, the bound is {bound}",
                    warp_text(worst.warp),
                    worst.issued
                );
                ((1, 0, String::new()), "bound", message)
            }
        }
    }

    /// Completes the report with findings, ratio and loops.
    pub(super) fn finish(self) {
        let prepared = self.prepared;
        let accesses = self.accesses.iter();
        let accesses = accesses.filter_map(|(&at, seen)| audited_access(prepared, at, seen));
        let accesses = accesses.collect();
        let report = self.report;
        report.accesses = accesses;
        // The count comes before the list is cut, since it decides the result of the audit.
        report.violations = self.findings.len() as u64 + self.further_violations;
        report.findings = self.findings.into_values().take(MAX_SHOWN).collect();
        if let (Some(bound), Some(worst)) = (report.bound, report.worst_simulated) {
            report.ratio = Some((bound as f64 / worst as f64 * 1000.0).round() / 1000.0);
        }
        let counts = self.most.into_iter().zip(self.totals).zip(self.derived);
        let loops = self.bound.loops.iter().zip(counts);
        report.loops = loops
            .map(|(about, ((most, most_total), derived))| AuditedLoop {
                id: about.id.clone(),
                at: about.at.clone(),
                source: about.source.clone(),
                bound: about.bound,
                total: about.total,
                origin: about.origin,
                derived: (!derived.is_missing).then_some(derived.most),
                reached: derived.is_reached,
                observed: most,
                observed_total: most_total,
            })
            .collect();
    }
}
