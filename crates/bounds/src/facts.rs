//! Templates of facts files, and facts files with observations of an audit.
//!
//! A template has a line for each loop without a derived bound, with `?` for its number. For example, a loop that a
//! load ends is listed as `bound = "?"`, and a loop of 16 iterations is a comment with its derivation. Observed
//! numbers are marked, because another launch may exceed them.

pub mod accesses;
pub mod identity;

use crate::facts::identity::identify_loops;
use crate::{facts::accesses::observed_accesses, facts::accesses::open_accesses};
use warpbound_analyse::Refusal;
use warpbound_analyse::loop_bounds::CountPattern;
use warpbound_analyse::loops::LoopSite;
use warpbound_base::Diagnostic;
use warpbound_ipet::facts::{FactIdentity, KernelLines, LoopLine, format_call};
use warpbound_ipet::{FactsFile, LoopName, LoopNumbers};
use warpbound_load::Kernel;
use warpbound_report::AuditReport;

use warpbound_query::loop_verdicts::LoopVerdicts;
use warpbound_query::{AnalysedKernel, BoundOptions, KernelFlow, Session};
use warpbound_query::{prepared::Prepared, prepared::loop_names};

/// Subjects of the lines of a template of a facts file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FactsExtent {
    /// Loops and functions outside the file.
    Loops,
    /// Also accesses whose addresses are not known.
    Accesses,
}

/// Header of a facts file.
pub const FACTS_HEAD: &str = "\
# Flow facts for warpbound.
# bound: the most executions of the loop's header for each entry of the loop, by one thread.
#        A loop that tests at its end runs its header n times for n iterations; one that
#        tests at its head, n + 1 times. Replace each \"?\" by a number.
# total: may stand beside or instead of the bound: the most executions of the header in the whole run of one thread.
# never = [\"0x0200\", \"0x01a8 -> 0x0220\"], beside loops: blocks that no thread executes, steps that no thread takes.
# headers: the loop can be entered at several places; bound counts the executions of all of them together.
# recursion: the \"loop\" is recursion of this function, direct or through others; bound counts all calls
#        that one call from outside leads to, at any depth, itself included.
# On GCN3 the wave stands for the thread: its lanes have one program counter.
# instructions: the most warp instructions that one call of the function issues.
# sectors, lines, conflicts: the most of one execution of the access by a warp, as `warpbound access` counts them;
#        space: the only memory that a generic access reaches. Bounds in cycles use them. Those that cost most come
#        first, where a loop without a number counts as 100 executions.
# decides, body: fingerprints, by which `facts --update` finds the loop or access in another build.
";

/// Returns the lines of a facts file for a kernel with the observations of an audit, marked as observed: `bound`
/// refuses the file until a person has removed the mark. Loops that no run entered have `?`.
///
/// # Errors
///
/// The kernel is refused.
pub fn observed_facts(
    session: &Session,
    kernel: &Kernel,
    audit: &AuditReport,
) -> Result<String, Diagnostic> {
    let options = BoundOptions {
        block: Some(audit.block),
        ..BoundOptions::default()
    };
    let analysis = session.analyse(kernel, &options)?;
    let analysed = analysis.followed()?;
    let AnalysedKernel { prepared, flow, .. } = analysed;
    let names = loop_names(&flow.loops);
    let prints = identify_loops(&session.image, prepared, flow);
    let loops = names.iter().zip(&flow.loops.sites).zip(prints);
    let lines = loops.map(|((name, site), print)| {
        let seen = audit.loops.iter().find(|seen| seen.id == name.id);
        // No number is known of a loop that no run entered, and 0 would be a claim.
        let entered = seen.filter(|seen| seen.observed > 0);
        let numbers = LoopNumbers {
            bound: entered.map(|seen| seen.observed),
            total: entered.map(|seen| seen.observed_total),
        };
        let line = loop_line(prepared, name, site);
        let identity = print.identity;
        LoopLine { identity, ..line }.format_line_with(numbers)
    });
    let lines: Vec<String> = lines.collect();
    let calls = flow.external_names();
    let calls: Vec<String> = calls.iter().map(|name| format_call(name)).collect();
    let accesses = observed_accesses(analysed, audit);
    let (name, digest) = (kernel.demangled(), kernel.code_digest());
    let lines = KernelLines {
        status: Some(FactsFile::OBSERVED),
        loops: &lines,
        accesses: &accesses,
        calls: &calls,
        ..KernelLines::new(&name, &digest)
    };
    Ok(format!("{}\n{}", OBSERVED_HEAD, lines.format()))
}

/// Header of a file of observed facts.
const OBSERVED_HEAD: &str = "\
# Observations of runs, not facts: other launches may exceed them. Before `warpbound bound` accepts them, a person
# has to check that each number holds for every input, and to replace each line  status = \"observed\"  by
# signed_off_by = \"NAME\".
# bound: the most executions of the loop's header for each entry of the loop, by one thread.
# total: the most of them in the whole run of one thread. Leave it out where it does not hold.
# sectors, lines, conflicts: the most of one execution of an access by a warp, where the analysis knows no better.
# On GCN3 the wave stands for the thread.
";

/// Returns the lines of a facts file for a kernel, with `?` for missing numbers.
///
/// # Errors
///
/// See [`Session::prepare`] and [`Session::launch`].
pub fn facts_template(
    session: &Session,
    kernel: &Kernel,
    options: &BoundOptions,
    extent: FactsExtent,
) -> Result<String, Diagnostic> {
    let analysis = session.analyse(kernel, options)?;
    let text = match analysis.parts() {
        Ok(analysed) => {
            let AnalysedKernel {
                prepared,
                flow,
                deadline,
                ..
            } = analysed;
            let ranges = &analysed.knowledge.ranges;
            let verdicts = LoopVerdicts::derive(prepared, flow, ranges, options, deadline);
            let prints = identify_loops(&session.image, prepared, flow);
            let identities = prints.into_iter().map(|print| print.identity);
            let accesses = match extent {
                FactsExtent::Loops => Vec::new(),
                FactsExtent::Accesses => open_accesses(analysed, &verdicts)?,
            };
            kernel_text(prepared, flow, &verdicts, identities, &accesses)
        }
        Err(refusal) => refused(kernel, refusal),
    };
    Ok(format!("\n{text}"))
}

/// Returns the line about a refused kernel.
pub fn refused(kernel: &Kernel, refusal: &Refusal) -> String {
    let (name, at, reason) = (kernel.demangled(), refusal.at, &refusal.reason);
    format!("# kernel {name} is refused: {at}: {reason}\n")
}

/// Returns the lines of a facts file for a kernel. Loops whose bounds are derived are comments. `identities` are the
/// fingerprints of the loops, and `accesses` the lines about accesses.
fn kernel_text(
    prepared: &Prepared<'_>,
    flow: &KernelFlow,
    verdicts: &LoopVerdicts,
    identities: impl Iterator<Item = FactIdentity>,
    accesses: &[String],
) -> String {
    let mut loops = Vec::new();
    let names = loop_names(&flow.loops);
    let sites = names.iter().zip(&flow.loops.sites).zip(identities);
    for (number, ((name, site), identity)) in sites.enumerate() {
        let line = loop_line(prepared, name, site);
        let line = LoopLine { identity, ..line };
        let derivation = verdicts.derivation(prepared, number).text();
        let bound = verdicts.bound(number);
        // A bound by the width of a register is so large that a fact is asked for all the same.
        if let Some(bound) = bound.filter(|b| b.evidence.pattern != CountPattern::Width) {
            let source = line
                .source
                .map_or(String::new(), |source| format!(" ({source})"));
            let most = bound.per_entry;
            let (id, at) = (&name.id, prepared.location_of(name.at));
            loops.push(comment(&format!(
                "{id} at {at}{source}: at most {most}, derived: {derivation}"
            )));
            continue;
        }
        if !derivation.is_empty() {
            loops.push(comment(&derivation));
        }
        if let Some(note) = shared_header_note(prepared, name, site) {
            loops.push(comment(&note));
        }
        loops.push(line.format_line());
    }
    let calls: Vec<String> = flow
        .external_names()
        .iter()
        .map(|name| format_call(name))
        .collect();
    let kernel = prepared.kernel;
    let is_comment = |line: &String| line.starts_with('#');
    if loops.iter().all(is_comment) && calls.is_empty() && accesses.is_empty() {
        let mut text = format!("# kernel {} needs no facts\n", kernel.demangled());
        loops
            .iter()
            .for_each(|line| text.push_str(&format!("{line}\n")));
        return text;
    }
    let (name, digest) = (kernel.demangled(), kernel.code_digest());
    KernelLines {
        loops: &loops,
        accesses,
        calls: &calls,
        ..KernelLines::new(&name, &digest)
    }
    .format()
}

/// Returns a comment of a facts file. Control characters are replaced, because the name of a source file could
/// contain a line break and end the comment.
fn comment(text: &str) -> String {
    format!("# {}", text.replace(char::is_control, "\u{fffd}"))
}

/// Returns the line of a facts file for a loop.
pub fn loop_line<'a>(
    prepared: &Prepared<'_>,
    name: &'a LoopName,
    site: &'a LoopSite,
) -> LoopLine<'a> {
    let function = |op| prepared.function_name_at(prepared.addr(op));
    LoopLine {
        name,
        source: prepared.source(name.at),
        depth: site.depth,
        headers: &site.headers,
        recursion: site.recursion.map(function),
        identity: FactIdentity::default(),
    }
}

/// Returns a note for a loop with several latches, because its fact is easily mistaken for the fact of one source
/// loop. For example, two nested source loops may share a header, and its executions count the iterations of both.
pub fn shared_header_note(
    prepared: &Prepared<'_>,
    name: &LoopName,
    site: &LoopSite,
) -> Option<String> {
    if site.latches.len() < 2 || site.recursion.is_some() {
        return None;
    }
    let latches: Vec<String> = site
        .latches
        .iter()
        .map(|&at| match prepared.source(at) {
            Some(source) => format!("{} ({source})", prepared.location_of(at)),
            None => prepared.location_of(at),
        })
        .collect();
    Some(format!(
        "{} counts all loops that share this header: threads return to it from {}",
        name.id,
        latches.join(", ")
    ))
}
