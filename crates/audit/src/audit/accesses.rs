//! Memory accesses of monitored warps: their requests, transactions, sectors, lines and conflicts, counted from the
//! addresses of the active lanes and compared with their classes (SOUNDNESS 5.13).
//!
//! The counting follows the rules in words (`docs/timing-model.md`, `pastis-2022` III.B). It shares nothing with the
//! classes, nor with the timing model, whose events tests compare it with. For example, 32 lanes that load
//! consecutive words from a multiple of 128 have 4 requests, 4 sectors and 1 line; a class that claims 3 sectors is
//! violated.

use std::collections::{BTreeMap, BTreeSet};

use warpbound_analyse::access::{
    AccessClass, AccessCounts, AccessMode, AccessShape, MemoryUnits, StatedAccess, constant_address,
};
use warpbound_base::{Family, Named as _};
use warpbound_ir::{Cell, Expr, OpIndex};
use warpbound_isa::instr::MemorySpace;
use warpbound_report::audit::AuditedAccess;
use warpbound_runs::access_counts::{
    count_access, count_access_of_wave, count_access_of_whole_warp,
};
use warpbound_simt::{Mask, lanes_of};
use warpbound_simulate::functional::{Issue, MemoryAccess};

use super::claims::{Claim, Claims, Violation};
use warpbound_bounds::access::report_numbers;
use warpbound_query::prepared::Prepared;

/// Observed executions of an access.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ObservedAccess {
    /// Executions with at least one active lane.
    pub executions: u64,
    /// Largest count of each kind in its classes.
    pub limits: AccessCounts,
    /// Largest observed count of each kind.
    pub most: AccessCounts,
    /// Whether some execution had all counts of the class in its launch.
    pub reaches_class: bool,
}

impl ObservedAccess {
    /// Adds the observations of another run.
    pub fn add(&mut self, other: &ObservedAccess) {
        self.executions += other.executions;
        self.limits = self.limits.max(other.limits);
        self.most = self.most.max(other.most);
        self.reaches_class |= other.reaches_class;
    }
}

/// Comparison of the accesses of a launch with their classes.
pub(super) struct AccessMonitor<'a> {
    claims: &'a Claims<'a>,
    /// Operation issued last.
    at: OpIndex,
    seen: BTreeMap<OpIndex, ObservedAccess>,
}

impl<'a> AccessMonitor<'a> {
    /// Creates a monitor that has seen nothing.
    pub(super) fn new(claims: &'a Claims<'a>) -> AccessMonitor<'a> {
        AccessMonitor {
            claims,
            at: OpIndex::default(),
            seen: BTreeMap::new(),
        }
    }

    /// Returns the observations.
    pub(super) fn finish(self) -> BTreeMap<OpIndex, ObservedAccess> {
        self.seen
    }

    /// Receives an instruction before its access. Indexed constants are compared here, as the simulator reports no
    /// access for them.
    pub(super) fn issue<E>(&mut self, issue: &Issue<'_, E>, found: &mut Vec<Violation>) {
        self.issue_of(issue, issue.taken, found);
    }

    /// As [`AccessMonitor::issue`], for a part of the lanes that take part.
    pub(super) fn issue_of<E>(
        &mut self,
        issue: &Issue<'_, E>,
        taken: Mask,
        found: &mut Vec<Violation>,
    ) {
        self.at = issue.at;
        let claims = self.claims;
        let Some(class) = claims.accesses.get(&issue.at) else {
            return;
        };
        let address = claims.code.get(issue.at).and_then(constant_address);
        if let (Some(address), true) = (address, taken != 0) {
            let of_lane = |lane| evaluate(address, &|cell| issue.cell(cell).get(lane));
            // Lanes that read the same word share a transaction.
            let words: BTreeSet<u32> = lanes_of(taken)
                .filter_map(|lane| Some(of_lane(lane)? & !3))
                .collect();
            let counts = AccessCounts {
                requests: 1,
                transactions: words.len() as u32,
                ..AccessCounts::default()
            };
            let parts = [(MemorySpace::Constant, counts)];
            self.compare(class, &parts, taken, found);
        }
    }

    /// Receives the access of the instruction issued last.
    pub(super) fn access(&mut self, access: &MemoryAccess<'_>, found: &mut Vec<Violation>) {
        let Some(class) = self.claims.accesses.get(&self.at) else {
            return;
        };
        let is_wave = self.is_wave();
        let align = match access.space {
            _ if !is_wave => access.size,
            // Accesses that name LDS are aligned to their size, others to words.
            MemorySpace::Shared => access.size.next_power_of_two(),
            _ => access.size.min(4),
        };
        let aligned = |lane: usize| {
            let address = access.addresses.get(lane);
            // Scalar loads ignore the lowest bits of the address.
            let is_scalar = class.shape.mode == AccessMode::Scalar;
            address.is_some_and(|address| is_scalar || address.is_multiple_of(align.into()))
        };
        // A misaligned address ends the run here, and classes assume aligned addresses (`aligned`, SOUNDNESS 2).
        if access.taken == 0 || !lanes_of(access.taken).all(aligned) {
            return;
        }
        let parts = match self.claims.code.family {
            Family::Maxwell | Family::MiniSimt => count_access(access),
            Family::Volta => count_access_of_whole_warp(access),
            Family::Gcn3 => count_access_of_wave(access, class.shape.mode),
        };
        self.compare(class, &parts, access.taken, found);
        // Only vector accesses are translated, so the assumption is about them alone (SOUNDNESS 11.7).
        if class.shape.mode != AccessMode::Scalar {
            found.extend(self.runtime_access(access));
        }
        let stated = self.claims.stated_accesses.get(&self.at);
        if let Some(message) = stated.and_then(|stated| excess(stated, &parts)) {
            found.push(Violation {
                claim: Claim::AccessFact,
                at: self.at,
                message,
            });
        }
    }

    /// Returns a violation if a lane accesses memory of the runtime, which by the claims no lane does.
    fn runtime_access(&self, access: &MemoryAccess<'_>) -> Option<Violation> {
        let is_touched = |address: u64| {
            let end = address.saturating_add(access.size.into());
            let mut ranges = self.claims.runtime_memory.iter();
            ranges.any(|range| address < range.end && range.start < end)
        };
        let addresses = lanes_of(access.taken).filter_map(|lane| access.addresses.get(lane));
        let touched = addresses.copied().find(|&address| is_touched(address))?;
        Some(Violation {
            claim: Claim::RuntimeMemory,
            at: self.at,
            message: format!(
                "a lane accesses 0x{touched:x}, which the runtime owns, by an address that comes from none of its pointers"
            ),
        })
    }

    /// Whether the warps are waves of a compute unit.
    fn is_wave(&self) -> bool {
        self.claims.code.family.has_exec_mask()
    }

    /// Compares the counts of an execution, by memory space, with a class.
    fn compare(
        &mut self,
        class: &AccessClass,
        parts: &[(MemorySpace, AccessCounts)],
        taken: Mask,
        found: &mut Vec<Violation>,
    ) {
        let at = self.at;
        let seen = self.seen.entry(at).or_default();
        seen.executions += 1;
        seen.limits = class.worst();
        // Fewer lanes may have smaller counts, and lanes of a generic access may be in several spaces. So only an
        // execution by all lanes in one space must have the exact counts.
        let is_full = taken.count_ones() == class.lanes;
        if taken.count_ones() > class.lanes {
            found.push(Violation {
                claim: Claim::Access,
                at,
                message: format!("more than {} lanes access memory together", class.lanes),
            });
        }
        for &(space, counts) in parts {
            seen.most = seen.most.max(counts);
            // A space that is not in the class has the limit 0, so any access to it is a violation.
            let limit = class.limit(space).unwrap_or_default();
            seen.reaches_class |= counts == limit;
            let broken = match counts.is_within(limit) {
                true if class.is_exact && is_full && parts.len() == 1 && counts != limit => {
                    "are exactly"
                }
                true => continue,
                false => "are at most",
            };
            found.push(Violation {
                claim: Claim::Access,
                at,
                message: format!(
                    "an access to {} memory has {}, which by its class {broken} {}",
                    space.name(),
                    numbers(counts),
                    numbers(limit)
                ),
            });
        }
    }
}

/// Describes, in a clause, a count of an execution that exceeds the facts file. `parts` has the counts by memory
/// space.
fn excess(stated: &StatedAccess, parts: &[(MemorySpace, AccessCounts)]) -> Option<String> {
    let too_many = |seen: u32, stated: Option<u32>, noun: &str| {
        let stated = stated.filter(|&stated| seen > stated)?;
        Some(format!(
            "fact of at most {stated} {noun} broken: an execution has {seen}"
        ))
    };
    parts.iter().find_map(|(space, counts)| {
        let other = stated.space.filter(|stated| stated != space);
        let elsewhere = other.map(|stated| {
            let (stated, space) = (stated.name(), space.name());
            format!("fact of {stated} memory broken: an execution accesses {space} memory")
        });
        elsewhere
            .or_else(|| too_many(counts.sectors, stated.sectors, "sectors"))
            .or_else(|| too_many(counts.lines, stated.lines, "lines"))
            .or_else(|| too_many(counts.conflicts, stated.conflicts, "conflicts"))
            .or_else(|| too_many(counts.byte_conflicts, stated.conflicts, "conflicts by byte"))
    })
}

/// Returns the report of an executed access.
pub(super) fn audited_access(
    prepared: &Prepared<'_>,
    at: OpIndex,
    seen: &ObservedAccess,
) -> Option<AuditedAccess> {
    let units = MemoryUnits::of(prepared.family())?;
    let space = AccessShape::of(prepared.code.get(at)?, &units)?.space;
    Some(AuditedAccess {
        at: prepared.location(at),
        source: prepared.source(prepared.addr(at)),
        executions: seen.executions,
        limits: report_numbers(&units, space, seen.limits),
        observed: report_numbers(&units, space, seen.most),
        reaches_class: seen.reaches_class,
    })
}

/// Formats the counts of an access for messages.
fn numbers(counts: AccessCounts) -> String {
    let mut text = format!(
        "{} requests, {} transactions, {} sectors, {} lines, {} conflicts",
        counts.requests, counts.transactions, counts.sectors, counts.lines, counts.conflicts
    );
    if counts.byte_conflicts > 0 {
        text += &format!(", {} by byte", counts.byte_conflicts);
    }
    text
}

/// Returns the value of an address expression of a constant; `None` if it consists of more than cells, numbers and
/// binary operations.
fn evaluate(expr: &Expr, cell_value: &dyn Fn(Cell) -> u32) -> Option<u32> {
    match expr {
        Expr::Const(value) => Some(*value),
        Expr::Cell(cell) => Some(cell_value(*cell)),
        Expr::Binary(op, a, b) => op.apply(evaluate(a, cell_value)?, evaluate(b, cell_value)?),
        _ => None,
    }
}
