//! Bound in cycles as a part of the report of a kernel.

use warpbound_base::Diagnostic;
use warpbound_bound::{Effort, StatedCounts};
use warpbound_report::CycleBoundReport;

use super::{BoundQuery, past_time_limit};
use crate::LoneWarp;
use crate::cycles::CycleOptions;
use crate::cycles::bound::{CycleBound, report, report_without_machine};

impl BoundQuery<'_> {
    /// Computes the bound in cycles, if one is asked for.
    pub(super) fn cycles(&self, stated: StatedCounts<'_>) -> Option<CycleBoundReport> {
        let query = self.options.cycles.as_ref()?;
        let options = match query.options(self.session) {
            Ok(options) => options,
            Err(why) => return Some(report_without_machine(query.caches, &why)),
        };
        let bound = self.cycle_bound(&options, stated);
        let assumptions = options.assumptions(self.session, self.options);
        Some(report(self.prepared, &options, bound.as_ref(), assumptions))
    }

    /// Computes the bound in cycles; the error is the reason why there is none.
    fn cycle_bound(
        &self,
        options: &CycleOptions,
        stated: StatedCounts<'_>,
    ) -> Result<CycleBound, Diagnostic> {
        let effort = Effort {
            deadline: self.deadline,
            ..Effort::default()
        };
        let lone = LoneWarp::new(
            self.session,
            (self.prepared, self.flow),
            self.knowledge,
            (self.options, options),
        )?;
        let bound = lone.bound(stated, effort);
        bound.map_err(|why| match self.deadline.is_past() {
            true => past_time_limit(self.options),
            false => why,
        })
    }
}
