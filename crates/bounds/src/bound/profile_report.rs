//! The profile of a launch in the bound of its kernel.

use crate::profile::{launch_profile, loops_of_profile, reason_text};
use warpbound_analyse::launch_profile::ValueOrigin;
use warpbound_base::{Diagnostic, Family, Instructions};
use warpbound_ipet::{Verdict, WarpBound};
use warpbound_ir::OpIndex;
use warpbound_report::BoundAssumption;
use warpbound_report::bound::{CodePlace, ProfileReport, ReportedWarp, UndecidedWarp};

use super::query::BoundQuery;
use crate::ProfileOptions;
use warpbound_analyse::{launch_profile::LaunchProfile, launch_profile::LaunchedWarp};

/// Profile of the launch of a query, and its part of the report.
pub(super) struct QueryProfile {
    profile: LaunchProfile,
    /// Buffers whose contents the profile rests on.
    read: Vec<String>,
    pub(super) report: ProfileReport,
}

impl BoundQuery<'_> {
    /// Profiles the launch, if one is stated; loops have these bounds.
    ///
    /// # Errors
    ///
    /// The launch does not suit the kernel.
    pub(super) fn profile(
        &self,
        bounds: &[Option<u64>],
    ) -> Result<Option<QueryProfile>, Diagnostic> {
        let Some(launch) = &self.analysed.options.profiled_launch else {
            return Ok(None);
        };
        let kernel = self.analysed.prepared.kernel;
        match self.analysed.prepared.family() {
            Family::Maxwell | Family::Volta => {}
            // Profiles follow the stack of a warp, not masks, so the bound rests on the stated launch alone.
            Family::Gcn3 => return Ok(None),
            Family::MiniSimt => {
                let message = Diagnostic::new(
                    "only launches of GPU kernels are profiled, this kernel is mini-SIMT",
                );
                return Err(message.in_kernel(kernel.demangled()));
            }
        }
        // The smaller of two bounds holds for the launch only if both are about its block.
        if self
            .analysed
            .knowledge
            .context
            .block
            .is_some_and(|block| block != launch.file.block)
        {
            let message =
                Diagnostic::new("the launch has another block than the one that is stated");
            return Err(message.in_kernel(kernel.demangled()));
        }
        let options = ProfileOptions {
            contents: launch.contents,
            deadline: self.analysed.deadline,
            transfers: self
                .analysed
                .flow
                .known_transfers(&self.analysed.prepared.code),
            loops: loops_of_profile(self.analysed.flow, self.analysed.options.reading, bounds),
            ..ProfileOptions::default()
        };
        let prepared = self.analysed.prepared;
        let (profile, read) =
            launch_profile(self.analysed.session, prepared, &launch.file, &options)?;
        let place = |at: OpIndex| CodePlace {
            at: prepared.location(at),
            source: prepared.source(prepared.addr(at)),
            calls: Vec::new(),
        };
        let undecided = profile.undecided.map(|(warp, why)| UndecidedWarp {
            warp: warp_place(warp),
            at: prepared.location(why.at),
            source: prepared.source(prepared.addr(why.at)),
            reason: reason_text(why.reason).to_owned(),
        });
        let bound = profile.bound();
        let report = ProfileReport {
            grid: launch.file.grid,
            bound: bound.map(|bound| bound.issues),
            decides: false,
            exact: bound.is_some_and(|bound| bound.exact),
            static_bound: None,
            worst: profile.worst.map(|(warp, _)| warp_place(warp)),
            executed: profile.executed,
            unknown_at: profile.unknown_at.iter().copied().map(place).collect(),
            contents: read.clone(),
            undecided,
        };
        Ok(Some(QueryProfile {
            profile,
            read,
            report,
        }))
    }
}

impl QueryProfile {
    /// Returns the smaller bound: the bound of the launch, or the bound of all launches.
    ///
    /// # Errors
    ///
    /// A warp issues more than the bound of all launches in every run: a fact or default of that bound is false for
    /// the launch.
    pub(super) fn verdict(
        &mut self,
        of_all: Verdict<Instructions>,
    ) -> Result<Verdict<Instructions>, Diagnostic> {
        self.report.static_bound = match &of_all {
            Verdict::Bounded(bound) => Some(bound.upper_bound().limit().0),
            Verdict::Unbounded { .. } | Verdict::Refused(_) => None,
        };
        // An exact profile rests on no fact, so the other bound is the false one (SOUNDNESS 6.5).
        if let (Some(bound), Some((warp, issues))) =
            (self.report.static_bound, self.profile.worst_exact)
            && bound < u128::from(issues)
        {
            return Err(false_statements(bound, warp, issues));
        }
        let Some(bound) = self.report.bound else {
            return Ok(of_all);
        };
        let bound = u128::from(bound);
        if self
            .report
            .static_bound
            .is_some_and(|of_all| of_all <= bound)
        {
            return Ok(of_all);
        }
        self.report.decides = true;
        Ok(Verdict::Bounded(WarpBound::from_profile(Instructions(
            bound,
        ))))
    }

    /// Returns the assumptions of the bound of the launch.
    pub(super) fn assumptions(&self) -> Vec<BoundAssumption> {
        let mut all = vec![BoundAssumption {
            id: "launch",
            text: "the launch has the grid, block, parameters and constants of the launch file"
                .to_owned(),
        }];
        if self.profile.decided.has(ValueOrigin::ADDRESS) {
            all.push(BoundAssumption {
                id: "addresses",
                text: "buffers are at the addresses at which runs of this program place them"
                    .to_owned(),
            });
        }
        // Contents that were read but decided nothing are no assumption.
        if self.profile.decided.has(ValueOrigin::CONTENTS) {
            all.extend(contents_assumption(&self.read));
        }
        all
    }
}

/// Returns the assumption that these buffers hold the contents of the launch file; `None` without buffers.
pub(crate) fn contents_assumption(buffers: &[String]) -> Option<BoundAssumption> {
    let names = buffers.join(", ");
    (!buffers.is_empty()).then(|| BoundAssumption {
        id: "contents",
        text: format!("when the kernel begins, these hold what the launch file gives: {names}"),
    })
}

/// Returns the diagnostic of a warp that issues more in every run than the facts and defaults allow.
fn false_statements(bound: u128, warp: LaunchedWarp, issues: u64) -> Diagnostic {
    let [x, y, z] = warp.block;
    let number = warp.warp;
    Diagnostic::new(format!(
        "the facts or defaults are false for this launch: with them a warp issues at most {bound} instructions, but warp \
         {number} of block {x}, {y}, {z} issues {issues} in every run"
    ))
}

fn warp_place(warp: LaunchedWarp) -> ReportedWarp {
    ReportedWarp {
        block: warp.block,
        warp: warp.warp,
    }
}
