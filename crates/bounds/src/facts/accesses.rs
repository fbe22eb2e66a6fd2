//! Facts about memory accesses: the numbers that a facts file states, and lines of a facts file for accesses with
//! unknown addresses.
//!
//! For example, `a[b[i]]` has unknown addresses and counts as up to 32 sectors. If the user knows that every 8
//! consecutive lanes read one sector of 32 bytes, a fact of 4 sectors lowers the bound in cycles.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::facts::identity::identify_accesses;
use warpbound_analyse::access::{
    AccessClass, AccessMode, AccessPattern, AccessShape, MemoryUnits, StatedAccess,
};
use warpbound_base::{Diagnostic, Named as _};
use warpbound_ipet::facts::{AccessFact, AccessLine, AccessNumbersFact, FactIdentity, StatedSpace};
use warpbound_ipet::{FactsFile, KernelFacts};
use warpbound_ir::OpIndex;
use warpbound_isa::instr::MemorySpace;
use warpbound_report::AuditReport;

use super::identity::IdentifiedFact;
use crate::access::AccessFindings;
use warpbound_query::loop_verdicts::LoopVerdicts;
use warpbound_query::prepared::Prepared;
use warpbound_query::{AnalysedKernel, KernelFlow};

/// Executions that a loop without a number counts as, when accesses are sorted by their cost.
const ASSUMED_ITERATIONS: u64 = 100;

/// Returns the statements of a facts file about the accesses of a kernel, by operation.
///
/// # Errors
///
/// A fact is about an instruction that is no access, or states a number that its memory does not have.
pub fn stated_accesses(
    prepared: &Prepared<'_>,
    facts: &FactsFile,
) -> Result<BTreeMap<OpIndex, StatedAccess>, Diagnostic> {
    let kernel = prepared.kernel;
    let names = [&*kernel.name, &kernel.demangled()];
    match facts.find(names, &kernel.code_digest()) {
        Some(facts) => stated_by(prepared, facts),
        None => Ok(BTreeMap::new()),
    }
}

/// Returns the same as [`stated_accesses`], from the facts about the kernel.
pub fn stated_by(
    prepared: &Prepared<'_>,
    facts: &KernelFacts,
) -> Result<BTreeMap<OpIndex, StatedAccess>, Diagnostic> {
    let mut stated = BTreeMap::new();
    let Some(units) = MemoryUnits::of(prepared.family()) else {
        // Other machines have no units to count in, so a fact about them would be ignored silently.
        return match facts.accesses().first() {
            None => Ok(stated),
            Some(fact) => Err(facts.locate_access(
                fact,
                Diagnostic::new("facts about accesses are for GPU kernels"),
            )),
        };
    };
    for fact in facts.accesses() {
        let locate = |message: String| {
            let hint = "`warpbound access` lists the accesses and their memory";
            facts.locate_access(fact, Diagnostic::new(message).hint(hint))
        };
        let found = prepared.code.at(fact.at).and_then(|at| {
            let shape = AccessShape::of(prepared.code.get(at)?, &units)?;
            Some((at, shape))
        });
        let Some((at, shape)) = found else {
            let message = format!(
                "no access to memory whose address is an operand is at {}",
                fact.at
            );
            return Err(locate(message));
        };
        check_keys(fact, shape).map_err(locate)?;
        stated.insert(at, numbers_of(&fact.numbers));
    }
    Ok(stated)
}

/// Checks that an access has the numbers that a fact states. The error is a message.
fn check_keys(fact: &AccessFact, shape: AccessShape) -> Result<(), String> {
    let spaces = possible_spaces(shape);
    let has_lines = spaces.iter().any(|space| *space != MemorySpace::Shared);
    let has_banks = spaces.contains(&MemorySpace::Shared);
    let numbers = &fact.numbers;
    let given = [
        ("sectors", numbers.sectors.is_some(), has_lines),
        ("lines", numbers.lines.is_some(), has_lines),
        ("conflicts", numbers.conflicts.is_some(), has_banks),
    ];
    let about = format!(
        "the access at {} is to {} memory",
        fact.at,
        shape.space.name()
    );
    if let Some((key, ..)) = given.iter().find(|(_, is_stated, has)| *is_stated && !has) {
        return Err(format!("{about}, which has no `{key}`"));
    }
    match numbers.space.map(memory_space) {
        Some(space) if !spaces.contains(&space) => {
            Err(format!("{about}, not to {} memory", space.name()))
        }
        _ => Ok(()),
    }
}

/// Returns the spaces that an access may reach, if facts can be about them.
fn possible_spaces(shape: AccessShape) -> Vec<MemorySpace> {
    match (shape.mode, shape.space) {
        // The lines of a scalar load follow from its width.
        (AccessMode::Scalar, _) => Vec::new(),
        (AccessMode::Buffer, _) => vec![MemorySpace::Global, MemorySpace::Local],
        (_, MemorySpace::Generic) => {
            vec![MemorySpace::Global, MemorySpace::Shared, MemorySpace::Local]
        }
        (_, space @ (MemorySpace::Global | MemorySpace::Shared | MemorySpace::Local)) => {
            vec![space]
        }
        _ => Vec::new(),
    }
}

fn memory_space(space: StatedSpace) -> MemorySpace {
    match space {
        StatedSpace::Global => MemorySpace::Global,
        StatedSpace::Shared => MemorySpace::Shared,
        StatedSpace::Local => MemorySpace::Local,
    }
}

/// Returns stated numbers in the form of a class. No class has a number above 2^32 - 1, so a larger one states
/// nothing.
pub fn numbers_of(fact: &AccessNumbersFact) -> StatedAccess {
    let number = |number: Option<u64>| number.map(|n| u32::try_from(n).unwrap_or(u32::MAX));
    StatedAccess {
        sectors: number(fact.sectors),
        lines: number(fact.lines),
        conflicts: number(fact.conflicts),
        space: fact.space.map(memory_space),
    }
}

/// Returns stated numbers in words, for assumptions.
pub(crate) fn stated_text(prepared: &Prepared<'_>, at: OpIndex, stated: &StatedAccess) -> String {
    let numbers = [
        (stated.sectors, "sectors"),
        (stated.lines, "lines"),
        (stated.conflicts, "conflicts"),
    ];
    let numbers = numbers
        .into_iter()
        .filter_map(|(number, noun)| Some(format!("{} {noun}", number?)));
    let space = stated.space.map(|space| format!("{} memory", space.name()));
    let parts: Vec<String> = numbers.chain(space).collect();
    format!("{} ({})", prepared.location(at), parts.join(", "))
}

/// Returns the lines of a facts file for the accesses whose addresses are not known, under comments with their costs.
/// The accesses that cost most come first.
///
/// # Errors
///
/// The stated launch does not suit the kernel.
pub(super) fn open_accesses(
    analysed: AnalysedKernel<'_>,
    verdicts: &LoopVerdicts,
) -> Result<Vec<String>, Diagnostic> {
    let AnalysedKernel {
        session,
        prepared,
        options,
        flow,
        ..
    } = analysed;
    let Some(units) = MemoryUnits::of(prepared.family()) else {
        return Ok(Vec::new());
    };
    let file = options.launches.only_file();
    let found = AccessFindings::find_in_launch(analysed, file, units)?;
    let executions = executions(flow, verdicts);
    let open = found.classes.iter().filter(|(_, class)| is_open(class));
    let mut open: Vec<(u64, OpIndex, &AccessClass)> = open
        .map(|(&at, class)| {
            let worst = class.worst();
            let units = u64::from(worst.sectors.max(worst.transactions));
            let executions = executions.get(&at).copied().unwrap_or(0);
            (executions.saturating_mul(units), at, class)
        })
        // Code that no thread reaches costs nothing.
        .filter(|(cost, ..)| *cost > 0)
        .collect();
    // Accesses of equal cost are sorted by place, so that the file does not change from run to run.
    open.sort_by_key(|&(cost, at, _)| (Reverse(cost), at));
    let ops: Vec<OpIndex> = open.iter().map(|&(_, at, _)| at).collect();
    let prints = identify_accesses(&session.image, prepared, flow, &units, &ops);
    let mut last = String::new();
    let lines = open.iter().zip(prints);
    let lines = lines.map(|(&(_, at, class), print)| {
        let stated = StatedAccess::default();
        let line = access_line(prepared, at, class.shape, &stated, print.identity);
        let line = line.format_line();
        let executions = executions.get(&at).copied().unwrap_or(0);
        let comment = format!("# {}", open_text(class, executions));
        // Unrolled loops have many accesses with the same comment, which is written once.
        match std::mem::replace(&mut last, comment.clone()) == comment {
            true => line,
            false => format!("{comment}\n    {line}"),
        }
    });
    Ok(lines.collect())
}

/// Returns the lines of a facts file with the numbers that an audit has observed, for the accesses whose addresses
/// are not known.
pub(super) fn observed_accesses(analysed: AnalysedKernel<'_>, audit: &AuditReport) -> Vec<String> {
    let AnalysedKernel {
        session,
        prepared,
        flow,
        ..
    } = analysed;
    let Some(units) = MemoryUnits::of(prepared.family()) else {
        return Vec::new();
    };
    let open = analysed
        .accesses()
        .classes
        .iter()
        .filter(|(_, class)| is_open(class));
    let seen = open.filter_map(|(&at, class)| {
        let place = prepared.location(at);
        let seen = audit.accesses.iter().find(|seen| seen.at == place)?;
        let stated = StatedAccess {
            sectors: seen.observed.sectors.filter(|&number| number > 0),
            lines: seen.observed.lines.filter(|&number| number > 0),
            conflicts: seen.observed.conflicts,
            space: None,
        };
        Some((at, class.shape, stated))
    });
    let seen: Vec<(OpIndex, AccessShape, StatedAccess)> = seen.collect();
    let ops: Vec<OpIndex> = seen.iter().map(|&(at, ..)| at).collect();
    let prints = identify_accesses(&session.image, prepared, flow, &units, &ops);
    let lines = seen.iter().zip(prints);
    let line =
        |((at, shape, stated), print): (&(OpIndex, AccessShape, StatedAccess), IdentifiedFact)| {
            access_line(prepared, *at, *shape, stated, print.identity).format_line()
        };
    lines.map(line).collect()
}

/// Whether a fact would help: the access is to memory that facts are about, and its addresses are not known.
fn is_open(class: &AccessClass) -> bool {
    let pattern = class.pattern;
    let worst = class.worst();
    matches!(
        pattern,
        AccessPattern::Unknown(_) | AccessPattern::Array(_) | AccessPattern::Near(_)
    ) && !possible_spaces(class.shape).is_empty()
        // One sector without conflicts is the least that an access takes.
        && (worst.sectors > 1 || worst.conflicts > 0)
}

/// Describes an access whose addresses are not known, by the maximum numbers of one execution.
fn open_text(class: &AccessClass, executions: u64) -> String {
    let worst = class.worst();
    let numbers = match class.shape.space {
        MemorySpace::Shared => format!("{} conflicts", worst.conflicts),
        _ => format!("{} sectors in {} lines", worst.sectors, worst.lines),
    };
    let times = match executions {
        1 => "once".to_owned(),
        n => format!("{n} times"),
    };
    format!(
        "{} memory, up to {numbers}, executed {times}",
        class.shape.space.name()
    )
}

/// Returns the executions of each operation by a thread, estimated from the bounds of the loops around it. For
/// example, an operation in two nested loops with bounds of 10 and 20 has 200.
fn executions(flow: &KernelFlow, verdicts: &LoopVerdicts) -> BTreeMap<OpIndex, u64> {
    let space = &flow.thread.space;
    let mut of_node: BTreeMap<_, u64> = BTreeMap::new();
    for found in &flow.loops.loops {
        let bound = verdicts.bound(found.fact).map(|bound| bound.per_entry);
        for &node in &found.body {
            let count = of_node.entry(node).or_insert(1);
            // The numbers only sort the lines, so they may saturate.
            *count = count.saturating_mul(bound.unwrap_or(ASSUMED_ITERATIONS));
        }
    }
    let mut of_op = BTreeMap::new();
    for node in space.ids().filter(|&node| flow.thread.is_reached(node)) {
        let count = of_node.get(&node).copied().unwrap_or(1);
        for at in space.block(node).ops() {
            let sum: &mut u64 = of_op.entry(at).or_default();
            *sum = sum.saturating_add(count);
        }
    }
    of_op
}

/// Returns the line of a facts file for an access. The line has the keys that the memory of the access has, with the
/// stated numbers.
pub fn access_line(
    prepared: &Prepared<'_>,
    at: OpIndex,
    shape: AccessShape,
    stated: &StatedAccess,
    identity: FactIdentity,
) -> AccessLine {
    let spaces = possible_spaces(shape);
    let has_lines = spaces.iter().any(|space| *space != MemorySpace::Shared);
    let has_banks = spaces.contains(&MemorySpace::Shared);
    let keys = [
        ("sectors", stated.sectors, has_lines),
        ("lines", stated.lines, has_lines),
        ("conflicts", stated.conflicts, has_banks),
    ];
    let numbers = keys
        .into_iter()
        .filter(|(_, _, has)| *has)
        .map(|(key, number, _)| (key, number.map(u64::from)));
    let addr = prepared.addr(at);
    let space = stated.space.and_then(|space| {
        let mut all = StatedSpace::ALL.iter().map(|(stated, _)| *stated);
        all.find(|&stated| memory_space(stated) == space)
    });
    AccessLine {
        at: addr,
        source: prepared.source(addr),
        numbers: numbers.collect(),
        space,
        identity,
    }
}
