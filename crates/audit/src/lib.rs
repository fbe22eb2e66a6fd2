//! Audits: runs compared with every claim of the analyses and bounds, and gap breakdowns: the gap between a bound and the
//! slowest run.
//!
//! An audit says whether a claim is wrong, and a gap breakdown says how loose a bound is. Both need runs, so neither
//! proves a claim.
//!
//! # Concepts
//!
//! * claims about each step of a warp: `audit/src/audit/claims.rs`
//! * monitor of the warps of a run, for any execution model: `MonitoredModel` in `audit/src/audit/monitor.rs`; of masks
//!   and values of lanes: `testkit/src/exec_mask/waves.rs`
//! * each lane of a warp of groups, and the lanes that claims keep together: `audit/src/audit/groups.rs`
//! * recording of single warps for replays: `audit/src/audit/replay.rs`; faults: `testkit/tests/it/replay.rs`
//! * varied launches: `audit/src/audit/vary.rs`
//! * accesses of a run against their classes: `audit/src/audit/accesses.rs`
//! * single warps against their bounds in cycles: `audit/src/audit/cycles.rs`
//! * launches against their bounds in cycles: `audit/src/audit/launch_cycles.rs`; `xtask/src/audit_grids.rs`,
//!   `audit_sizes.rs`
//! * launch profiles against runs: `audit/src/audit/profiles.rs`
//! * launch sets against all claims: `audit/src/audit/set.rs`
//! * gap breakdown of a warp (its worst run, its bound, the gap by cause): `audit/src/gap.rs`,
//!   `audit/src/gap/conditions.rs`, `runs.rs`, `observed.rs`, `chain.rs`
//! * gap breakdown of a launch: `audit/src/gap/launch.rs`, `audit/src/gap/launch/runs.rs`, `record.rs`,
//!   `paths.rs`, `chain.rs`, `composition.rs`; `xtask/src/gaps/grids.rs`

pub mod audit;
pub mod gap;

pub use audit::{
    audit, audit_launch_time, audit_lone_warps, audit_set, claims, derived_for, derived_for_all,
    derived_for_launch, monitor, monitor_single_warp, monitor_with_profile, ranged_loads,
    record_warp,
};
pub use gap::{GapOptions, gap, has_launch_gap, launch_gap};
