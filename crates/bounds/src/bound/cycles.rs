//! Bound in cycles as a part of the report of a kernel: the bound of a lone warp, or of a block, an SM or a grid.

use warpbound_base::{Diagnostic, Family};
use warpbound_ipet::{Effort, StatedCounts};
use warpbound_query::TimeScope;
use warpbound_report::CycleBoundReport;

use super::past_time_limit;
use super::profile_report::contents_assumption;
use super::query::BoundQuery;
use crate::LoneWarp;
use crate::{cycles::CycleOptions, cycles::LaunchExtent, cycles::LaunchTime};
use crate::{
    cycles::bound::CycleBound, cycles::bound::report, cycles::bound::report_without_machine,
};
use crate::{cycles::launch_report::BoundedLaunch, cycles::launch_report::launch_report};

impl BoundQuery<'_> {
    /// Computes the bound in cycles, if one is asked for.
    pub(super) fn cycles(&self, stated: StatedCounts<'_>) -> Option<CycleBoundReport> {
        let query = self.analysed.options.cycles.as_ref()?;
        let options = match CycleOptions::of(query, self.analysed.session) {
            Ok(options) => options,
            Err(why) => return Some(report_without_machine(query.caches, &why)),
        };
        let scope = query.scope.unwrap_or_else(|| self.default_scope());
        if scope != TimeScope::Warp {
            let schedulers = query.schedulers;
            let extent = LaunchExtent { scope, schedulers };
            let bound = self.launch_bound(&options, extent, stated);
            return Some(launch_report(self.analysed, &options, extent, bound));
        }
        let found = self.cycle_bound(&options, stated);
        let mut assumptions = options.assumptions(self.analysed);
        let read = found.as_ref().map_or(&[][..], |(_, read)| read);
        assumptions.extend(contents_assumption(read));
        let bound = found.as_ref().map(|(bound, _)| bound);
        Some(report(self.analysed.prepared, &options, bound, assumptions))
    }

    /// Returns the part of the launch whose cycles are bounded if none is stated.
    fn default_scope(&self) -> TimeScope {
        let is_for_launches = match self.analysed.prepared.family() {
            Family::Maxwell | Family::Volta => true,
            Family::Gcn3 | Family::MiniSimt => false,
        };
        match self.analysed.options.launches.shaped_file() {
            Some(_) if is_for_launches => TimeScope::Grid,
            _ => TimeScope::Warp,
        }
    }

    /// Computes the bound in cycles. Also returns the names of the buffers whose contents it rests on. The error is
    /// the reason why there is no bound.
    fn cycle_bound(
        &self,
        options: &CycleOptions,
        stated: StatedCounts<'_>,
    ) -> Result<(CycleBound, Vec<String>), Diagnostic> {
        let effort = Effort {
            deadline: self.analysed.deadline,
            ..Effort::default()
        };
        let lone = LoneWarp::new(self.analysed, options, stated.bounds)?;
        let bound = lone.bound(stated, effort);
        let bound = bound.map_err(|why| self.no_bound(why, lone.not_executed.as_deref()))?;
        Ok((bound, lone.read))
    }

    /// Returns the reason why there is no bound, and why the launch was not executed, since an execution might have
    /// given one.
    fn no_bound(&self, why: Diagnostic, not_executed: Option<&str>) -> Diagnostic {
        match not_executed {
            _ if self.analysed.deadline.is_past() => past_time_limit(self.analysed.options),
            Some(reason) if why.hint.is_none() => {
                why.hint(format!("the launch was not executed: {reason}"))
            }
            _ => why,
        }
    }

    /// Computes the bound of the launch in cycles. The error is the reason why there is none.
    fn launch_bound(
        &self,
        options: &CycleOptions,
        extent: LaunchExtent,
        stated: StatedCounts<'_>,
    ) -> Result<BoundedLaunch, Diagnostic> {
        let effort = Effort {
            deadline: self.analysed.deadline,
            ..Effort::default()
        };
        let time = LaunchTime::new(self.analysed, options, extent, stated.bounds)?;
        let bound = time.bound(stated, effort);
        let bound = bound.map_err(|why| self.no_bound(why, time.not_executed()))?;
        let estimate = match time.is_of_warps() {
            true => {
                let estimate = time.cta_estimate(
                    self.analysed.prepared,
                    self.analysed.flow,
                    options.caches,
                    stated,
                );
                let limit = bound.bound.upper_bound().limit().0;
                Some(estimate.and_then(|estimate| estimate.within(limit)))
            }
            false => None,
        };
        Ok(BoundedLaunch {
            cycles: bound,
            estimate,
            shape: *time.shape(),
            chain: time.chain(),
            read: time.read().to_vec(),
            not_executed: time.not_executed().map(str::to_owned),
        })
    }
}
