//! Audit of a launch set: each kernel against all its launches, with the buffers that the launches share.
//!
//! Launches with the same kernel and block size have one bound. Each launch starts with the buffers that the launch
//! before it has left, so a loop count may depend on earlier launches. Launches run one after the other; effects of
//! kernels that run at the same time are not seen (SOUNDNESS 9.2).

use crate::{audit::audit_basis, audit::audited_kernel, audit::prepare_audited};
use warpbound_base::Diagnostic;
use warpbound_launch::{
    BufferComparison, GlobalMemory, LaunchFile, LaunchSet, PathOrder, SetContents, Size,
    compare_buffers,
};
use warpbound_load::Kernel;
use warpbound_report::AuditSetReport;
use warpbound_report::launch_set::AuditedLaunch;

use super::{AuditBasis, AuditOptions, AuditedKernel, vary};
use warpbound_query::{BoundOptions, Session};
use warpbound_runs::{
    runs::set::SetEnd, runs::set::StreamOrder, runs::set::kernels_of_set, runs::set::rounds,
    runs::set::run_set,
};

/// One execution of a launch set in an audit.
#[derive(Clone, Copy)]
struct SetVariant {
    /// Number of the run, from 1.
    number: u64,
    paths: PathOrder,
    streams: StreamOrder,
}

/// Executes a launch set and variations of it, and compares each launch with all claims and statements about its
/// kernel, for launches with its block size. The first run is the set as given; its buffers at the end are compared
/// with the expected contents. A set with streams also runs with the streams in another order. `on_run` receives the
/// number of each completed run.
///
/// # Errors
///
/// A launch does not suit its kernel, or the facts contradict each other.
pub fn audit_set(
    session: &Session,
    set: &LaunchSet,
    options: &BoundOptions,
    runs: &AuditOptions,
    mut on_run: impl FnMut(u64),
) -> Result<AuditSetReport, Diagnostic> {
    let kernels = kernels_of_set(session, set)?;
    let groups = Groups::of(set, &kernels);
    let mut prepared = Vec::with_capacity(groups.all.len());
    for &(kernel, _, _) in &groups.all {
        prepared.push(prepare_audited(session, kernel)?);
    }
    let start = SetContents::of(set);
    let mut bases: Vec<AuditBasis> = Vec::with_capacity(prepared.len());
    for (prepared, &(_, _, first)) in prepared.iter().zip(&groups.all) {
        let Some(launch) = set.launches.get(first) else {
            continue;
        };
        let launch = start.launch(launch, 0);
        bases.push(audit_basis(session, prepared, &launch, options)?);
    }
    let mut report = empty_set_report(session, set, &kernels, &groups, &bases);
    if bases.iter().any(|basis| basis.flow.is_none()) {
        report.kernels = bases.into_iter().map(|basis| basis.report).collect();
        return Ok(report);
    }
    let mut audited = Vec::with_capacity(bases.len());
    for (prepared, basis) in prepared.iter().zip(&mut bases) {
        if let Some((context, flow)) = basis.flow.take() {
            audited.push(audited_kernel(
                session, prepared, context, flow, basis, runs,
            )?);
        }
    }
    let mut audit = SetAudit {
        set,
        groups: &groups,
        kernels: audited,
        report: &mut report,
    };
    audit.run_all(start, runs, &mut on_run)?;
    for kernel in audit.kernels {
        kernel.audit.finish();
    }
    report.kernels = bases.into_iter().map(|basis| basis.report).collect();
    // Unexpected contents are not a finding of one kernel, but they count as violations of the set.
    let differences = [&report.unexpected, &report.order_difference];
    let differences = differences.iter().filter(|found| found.is_some()).count();
    let violations: u64 = report.kernels.iter().map(|kernel| kernel.violations).sum();
    report.violations = violations + differences as u64;
    Ok(report)
}

/// Returns the report of an audit before its first run.
fn empty_set_report(
    session: &Session,
    set: &LaunchSet,
    kernels: &[&Kernel],
    groups: &Groups<'_>,
    bases: &[AuditBasis],
) -> AuditSetReport {
    let launches = set.launches.iter().zip(kernels).zip(&groups.of_launch);
    AuditSetReport {
        schema: AuditSetReport::SCHEMA,
        file: session.file.clone(),
        set: set.file.clone(),
        runs: 0,
        launches: launches
            .map(|((launch, kernel), &group)| AuditedLaunch {
                name: launch.name.clone(),
                kernel: kernel.demangled(),
                executions: 0,
                warp_instructions: 0,
                worst_simulated: None,
                bound: bases.get(group).and_then(|basis| basis.report.bound),
            })
            .collect(),
        repetitions: Vec::new(),
        kernels: Vec::new(),
        checked_elements: 0,
        unexpected: None,
        compared_orders: false,
        order_difference: None,
        violations: 0,
    }
}

/// Launches grouped by kernel and block size.
struct Groups<'a> {
    /// Kernel, block size, first launch.
    all: Vec<(&'a Kernel, Size, usize)>,
    /// Group of each launch.
    of_launch: Vec<usize>,
}

impl<'a> Groups<'a> {
    fn of(set: &LaunchSet, kernels: &[&'a Kernel]) -> Groups<'a> {
        let mut groups = Groups {
            all: Vec::new(),
            of_launch: Vec::with_capacity(kernels.len()),
        };
        for (number, (launch, kernel)) in set.launches.iter().zip(kernels).enumerate() {
            // Bounds and claims hold for one block size, so launches with another size need their own.
            let block = launch.launch.block;
            // Kernels are borrowed from one session, so the same kernel has the same address.
            let is_same =
                |other: &(&Kernel, Size, usize)| std::ptr::eq(other.0, *kernel) && other.1 == block;
            let known = groups.all.iter().position(is_same);
            let group = known.unwrap_or_else(|| {
                groups.all.push((kernel, block, number));
                groups.all.len() - 1
            });
            groups.of_launch.push(group);
        }
        groups
    }
}

/// Runs of a launch set and its kernels.
struct SetAudit<'a, 'b> {
    set: &'a LaunchSet,
    groups: &'a Groups<'a>,
    kernels: Vec<AuditedKernel<'b>>,
    report: &'a mut AuditSetReport,
}

impl SetAudit<'_, '_> {
    /// Executes the set as given, in another order of streams, and with other contents.
    fn run_all(
        &mut self,
        start: SetContents,
        runs: &AuditOptions,
        on_run: &mut dyn FnMut(u64),
    ) -> Result<(), Diagnostic> {
        let mut variant = SetVariant {
            number: 1,
            paths: PathOrder::TakenFirst,
            streams: StreamOrder::File,
        };
        let given = self.run(start.clone(), variant)?;
        self.report.repetitions = rounds(self.set, &given.rounds);
        let memory = given.memory.unwrap_or_default();
        let has_ended = given.unfinished.is_none() && !self.has_faulted();
        // Buffers of an unfinished run are incomplete, so a difference from the expected contents says nothing.
        let compared = match has_ended {
            true => compare_buffers(&self.set.objects, &memory),
            false => BufferComparison::default(),
        };
        self.report.checked_elements = compared.elements;
        let unexpected = given.unfinished.or(compared.mismatch);
        self.report.unexpected = unexpected.map(|found| found.to_string());
        on_run(variant.number);
        if self.set.has_streams() {
            variant.number += 1;
            variant.streams = StreamOrder::Reversed;
            let other = self.run(start, variant)?;
            // A file may state that its results depend on the order of the streams.
            if has_ended && !self.set.order_dependent {
                self.report.compared_orders = true;
                self.report.order_difference = match (other.unfinished, other.memory) {
                    (Some(unfinished), _) => Some(unfinished.to_string()),
                    (None, Some(other)) => difference(&memory, &other),
                    // A fault leaves no memory, and the report of its kernel names it.
                    (None, None) => None,
                };
            }
            on_run(variant.number);
        }
        for run in 2..=runs.runs {
            let number = variant.number + 1;
            let varied = vary::variation(&self.set.objects, runs.seed_of(run));
            let objects = LaunchSet {
                objects: varied.launch,
                ..self.set.clone()
            };
            variant = SetVariant {
                number,
                paths: varied.order,
                streams: match run % 2 {
                    0 => StreamOrder::Reversed,
                    _ => StreamOrder::File,
                },
            };
            self.run(SetContents::of(&objects), variant)?;
            on_run(number);
        }
        Ok(())
    }

    /// Whether a launch of the set as given ended in a fault.
    fn has_faulted(&self) -> bool {
        let mut kernels = self.kernels.iter();
        kernels.any(|kernel| kernel.audit.report.given_faulted)
    }

    /// Executes the set once. A fault ends the run.
    fn run(&mut self, start: SetContents, variant: SetVariant) -> Result<SetEnd, Diagnostic> {
        let SetAudit {
            set,
            groups,
            kernels,
            report,
        } = self;
        let mut execute = |number: usize, launch: &LaunchFile| {
            let group = groups.of_launch.get(number).copied().unwrap_or_default();
            let (Some(kernel), Some(totals)) =
                (kernels.get_mut(group), report.launches.get_mut(number))
            else {
                return Ok(None);
            };
            let run = kernel.run(variant.number, launch, variant.paths)?;
            totals.executions += 1;
            totals.warp_instructions += run.issued;
            totals.worst_simulated = totals.worst_simulated.max(run.worst);
            Ok(run.memory)
        };
        let end = run_set(set, start, variant.streams, &mut execute)?;
        report.runs += 1;
        Ok(end)
    }
}

/// Describes the first difference between two memories after the same launches.
fn difference(one: &GlobalMemory, other: &GlobalMemory) -> Option<String> {
    one.buffers()
        .iter()
        .zip(other.buffers())
        .find_map(|(one, other)| {
            let mut pairs = one.bytes.iter().zip(&other.bytes);
            let at = pairs.position(|(one, other)| one != other)?;
            Some(format!("byte {at} of {} differs", one.name))
        })
}
