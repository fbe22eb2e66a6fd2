//! Audits: runs compared with every claim of the analyses and bounds, and sandwiches: the gap between a bound and the
//! slowest run.
//!
//! An audit says whether a claim is wrong, and a sandwich says how loose a bound is. Both need runs, so neither
//! proves a claim.

pub mod audit;
pub mod gap;

pub use audit::{
    audit, audit_launch_time, audit_lone_warps, audit_set, claims, derived_for, derived_for_all,
    derived_for_launch, monitor, monitor_single_warp, monitor_with_profile, ranged_loads,
    record_warp,
};
pub use gap::{GapOptions, gap, has_launch_gap, launch_gap};
