//! Warp scheduling policies. `youngest`, `contended-unit` and `random` serve to find slow schedules; no hardware is
//! assumed to use them.

use std::fmt;
use std::str::FromStr;

use serde::Deserialize;
use warpbound_base::Diagnostic;

/// Warp scheduling policy: selects the ready warp of a scheduler that issues next.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(try_from = "String")]
pub enum SchedulerPolicy {
    /// Loose round robin: the next ready warp after the one that issued last, cyclically.
    Lrr,
    /// Greedy then oldest: the warp that issued last while it is ready and does not yield, else the oldest ready warp.
    Gto,
    /// The oldest ready warp.
    Oldest,
    /// The warp that issued last until it exits or waits at a barrier, then the oldest (`pastis-2022`, IV.C).
    RunToBarrier,
    /// The youngest ready warp.
    Youngest,
    /// The ready warp whose next instruction needs the unit that most other warps need next; the oldest of several.
    /// Delays the other warps, to test for scheduling anomalies.
    ContendedUnit,
    /// A pseudo-random ready warp; depends on the seed, the cycle and the warps alone.
    Random(u64),
}

impl SchedulerPolicy {
    /// Names of the policies without a seed.
    const NAMED: [(&str, SchedulerPolicy); 6] = [
        ("lrr", SchedulerPolicy::Lrr),
        ("gto", SchedulerPolicy::Gto),
        ("oldest", SchedulerPolicy::Oldest),
        ("run-to-barrier", SchedulerPolicy::RunToBarrier),
        ("youngest", SchedulerPolicy::Youngest),
        ("contended-unit", SchedulerPolicy::ContendedUnit),
    ];

    /// Whether some warp issues whenever one is ready. `run-to-barrier` does not: it waits for the warp that it runs.
    /// Bounds of launches rely on this (SOUNDNESS 20.1), unless they are for any scheduler (SOUNDNESS 20.6).
    pub fn is_work_conserving(self) -> bool {
        self != SchedulerPolicy::RunToBarrier
    }
}

impl fmt::Display for SchedulerPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = SchedulerPolicy::NAMED
            .iter()
            .find(|(_, policy)| policy == self);
        match (named, self) {
            (Some((name, _)), _) => f.write_str(name),
            (None, SchedulerPolicy::Random(seed)) => write!(f, "random:{seed}"),
            (None, policy) => write!(f, "{policy:?}"),
        }
    }
}

impl FromStr for SchedulerPolicy {
    type Err = Diagnostic;

    /// Parses the name of a policy; `random:SEED` has a seed of 64 bits.
    fn from_str(text: &str) -> Result<SchedulerPolicy, Diagnostic> {
        if let Some((_, policy)) = SchedulerPolicy::NAMED
            .iter()
            .find(|(name, _)| *name == text)
        {
            return Ok(*policy);
        }
        if let Some(seed) = text.strip_prefix("random:") {
            return seed.parse().map(SchedulerPolicy::Random).map_err(|_| {
                Diagnostic::new(format!("{seed:?} is not a whole number of 64 bits"))
            });
        }
        let names = SchedulerPolicy::NAMED.map(|(name, _)| name).join(", ");
        Err(Diagnostic::new(format!("there is no scheduler {text:?}"))
            .hint(format!("there are {names} and random:SEED")))
    }
}

impl TryFrom<String> for SchedulerPolicy {
    type Error = Diagnostic;

    fn try_from(text: String) -> Result<SchedulerPolicy, Diagnostic> {
        text.parse()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        let all = SchedulerPolicy::NAMED.map(|(_, policy)| policy);
        for policy in all
            .into_iter()
            .chain([0, 7, u64::MAX].map(SchedulerPolicy::Random))
        {
            assert_eq!(
                policy.to_string().parse::<SchedulerPolicy>().unwrap(),
                policy
            );
            assert_eq!(
                policy.is_work_conserving(),
                policy != SchedulerPolicy::RunToBarrier
            );
        }
        for wrong in [
            "",
            "best",
            "random",
            "random:",
            "random:-1",
            "random:x",
            "GTO",
        ] {
            assert!(wrong.parse::<SchedulerPolicy>().is_err(), "{wrong}");
        }
    }
}
