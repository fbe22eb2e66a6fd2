//! Machines of mini-SIMT (`abstract-cta-2014`, section 4). A machine file states the width of warps, the latencies
//! and the rules of the scheduler. For example, `paper-2014` has warps of 4 lanes and memory reads of 10 cycles.

use std::fmt;

use serde::Deserialize;
use warpbound_base::{Cycles, Diagnostic};
use warpbound_simt::warp::DivergenceOrder;

/// Built-in machines: name and machine file.
const BUILT_IN: [(&str, &str); 2] = [
    (
        "paper-2014",
        include_str!("../../../machine/mini-simt/paper-2014.toml"),
    ),
    (
        "wide-8",
        include_str!("../../../machine/mini-simt/wide-8.toml"),
    ),
];

/// Latency: a range of cycles.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Latency {
    /// Minimum latency.
    pub least: Cycles,
    /// Maximum latency.
    pub most: Cycles,
}

impl Latency {
    /// Returns a latency of exactly `cycles`.
    pub fn exactly(cycles: u64) -> Latency {
        Latency {
            least: Cycles(cycles),
            most: Cycles(cycles),
        }
    }
}

/// Warp scheduling policy: selects the ready warp that issues next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Policy {
    /// The next ready warp after the one that issued last, cyclically in the order of their numbers.
    RoundRobin,
    /// The ready warp with the lowest number.
    LowestFirst,
    /// The warp that issued last as long as it is ready, else as round robin.
    Greedy,
}

/// Warp with which the scheduler resumes after the release of a barrier.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AfterBarrier {
    /// The first ready warp of the block.
    FirstWarp,
    /// The next warp after the one that issued last, as without a barrier.
    NextWarp,
}

/// Machine of mini-SIMT (`abstract-cta-2014`, section 4): it issues one instruction per cycle.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Machine {
    /// Name, as in `--machine`.
    pub name: String,
    /// Lanes per warp, 1 to 64.
    pub warp_width: u32,
    /// Maximum number of resident warps.
    pub warps: u32,
    /// Cycles from the issue of an instruction to the next issue of its warp. A warp issues at most once per cycle, so
    /// 0 counts as 1.
    pub plain: Latency,
    /// Cycles from the issue of a memory read to the next issue of its warp.
    pub memory: Latency,
    /// Cycles from the last arrival at a barrier until the waiting warps are ready, at least 1.
    pub barrier_release: Latency,
    /// Warp scheduling policy.
    pub policy: Policy,
    /// Start of the round after the release of a barrier.
    pub after_barrier: AfterBarrier,
    /// Side of a divergent branch that is executed first.
    pub order: DivergenceOrder,
}

impl Machine {
    /// Upper limit on the latencies in a machine file, in cycles.
    pub const MOST_LATENCY: u64 = 1 << 20;

    /// Upper limit on the number of resident warps in a machine file.
    pub const MOST_WARPS: u32 = 1 << 20;

    /// Default machine.
    pub const DEFAULT: &str = "paper-2014";

    /// Returns a built-in machine.
    ///
    /// # Errors
    ///
    /// No built-in machine has this name.
    pub fn built_in(name: &str) -> Result<Machine, Diagnostic> {
        match BUILT_IN.iter().find(|(known, _)| *known == name) {
            Some((name, text)) => Machine::parse(name, text),
            None => {
                let names: Vec<&str> = BUILT_IN.iter().map(|(name, _)| *name).collect();
                Err(
                    Diagnostic::new(format!("there is no machine {name:?}")).hint(format!(
                        "there are {}, and files that end in .toml",
                        names.join(", ")
                    )),
                )
            }
        }
    }

    /// Parses a machine file; `file` is its name in messages.
    ///
    /// # Errors
    ///
    /// The first error, with file, position and cause.
    pub fn parse(file: &str, text: &str) -> Result<Machine, Diagnostic> {
        let error = |message: String| Diagnostic::new(message).in_file(file);
        let raw: RawMachine = toml::from_str(text).map_err(|error| {
            let at = error.span().map(|span| span.start);
            Diagnostic::for_text(file, text, error.message(), at)
        })?;
        // Masks of lanes have 64 bits.
        if !(1..=64).contains(&raw.warp_width) {
            return Err(error(format!(
                "warp_width is {}; warps have 1 to 64 lanes",
                raw.warp_width
            )));
        }
        if !(1..=Machine::MOST_WARPS).contains(&raw.warps) {
            return Err(error(format!(
                "warps is {}; a machine holds 1 to {}",
                raw.warps,
                Machine::MOST_WARPS
            )));
        }
        let latency = |name: &str, raw: &RawLatency| {
            let [least, most] = raw.cycles;
            if raw.source.is_empty() {
                return Err(error(format!("{name} does not say where it is from")));
            }
            if least > most || most > Machine::MOST_LATENCY {
                return Err(error(format!(
                    "{name} is between {least} and {most} cycles; at most {} are understood",
                    Machine::MOST_LATENCY
                )));
            }
            Ok(Latency {
                least: Cycles(least),
                most: Cycles(most),
            })
        };
        Ok(Machine {
            plain: latency("latency.plain", &raw.latency.plain)?,
            memory: latency("latency.memory", &raw.latency.memory)?,
            barrier_release: latency("scheduler.barrier_release", &raw.scheduler.barrier_release)?,
            name: raw.name,
            warp_width: raw.warp_width,
            warps: raw.warps,
            policy: match raw.scheduler.policy.value.as_str() {
                "round-robin" => Policy::RoundRobin,
                "lowest-first" => Policy::LowestFirst,
                "greedy" => Policy::Greedy,
                other => {
                    return Err(error(format!("unknown policy {other:?}"))
                        .hint("there are \"round-robin\", \"lowest-first\" and \"greedy\""));
                }
            },
            after_barrier: match raw.scheduler.after_barrier.value.as_str() {
                "first-warp" => AfterBarrier::FirstWarp,
                "next-warp" => AfterBarrier::NextWarp,
                other => {
                    return Err(error(format!("unknown after_barrier {other:?}"))
                        .hint("there are \"first-warp\" and \"next-warp\""));
                }
            },
            order: match raw.scheduler.divergence_order.value.as_str() {
                "taken-first" => DivergenceOrder::TakenFirst,
                "fall-through-first" => DivergenceOrder::FallThroughFirst,
                other => {
                    return Err(error(format!("unknown divergence_order {other:?}"))
                        .hint("there are \"taken-first\" and \"fall-through-first\""));
                }
            },
        })
    }
}

impl fmt::Display for Latency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.least == self.most {
            true => write!(f, "{}", self.most),
            false => write!(f, "{} to {}", self.least, self.most),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawMachine {
    name: String,
    warp_width: u32,
    warps: u32,
    latency: RawLatencies,
    scheduler: RawScheduler,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawLatencies {
    plain: RawLatency,
    memory: RawLatency,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawLatency {
    cycles: [u64; 2],
    source: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawScheduler {
    policy: RawChoice,
    after_barrier: RawChoice,
    barrier_release: RawLatency,
    divergence_order: RawChoice,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawChoice {
    value: String,
    #[serde(rename = "source")]
    _source: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_machines_are_complete() {
        for (name, _) in BUILT_IN {
            let machine = Machine::built_in(name).unwrap();
            assert_eq!(machine.name, name);
        }
        let paper = Machine::built_in(Machine::DEFAULT).unwrap();
        assert_eq!((paper.warp_width, paper.memory), (4, Latency::exactly(10)));
    }

    #[test]
    fn missing_and_unknown_keys_are_refused() {
        let (_, text) = BUILT_IN[0];
        for line in ["warps = 64", "warp_width = 4"] {
            let error = Machine::parse("m.toml", &text.replace(line, "")).unwrap_err();
            assert!(error.to_string().starts_with("m.toml: "), "{error}");
            assert!(error.to_string().contains("missing field"), "{error}");
        }
        let error = Machine::parse("m.toml", &text.replace("[10, 10]", "[10, 9]")).unwrap_err();
        assert!(error.to_string().contains("between 10 and 9"), "{error}");
        assert!(Machine::parse("m.toml", &text.replace("warps", "wraps")).is_err());
        assert!(
            Machine::parse("m.toml", &text.replace("warp_width = 4", "warp_width = 65")).is_err()
        );
    }
}
