//! Recorded groups of lanes against a warp with a stack, and against the count rows.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, ensure};
use warpbound_analyse::ThreadCfg;
use warpbound_analyse::indirect::IndirectTargets;
use warpbound_ir::{ControlEffect, OpIndex};
use warpbound_load::Kernel;
use warpbound_measure::{CountsAuditOptions, MeasuredCounts, audit_counts};
use warpbound_query::{BoundOptions, ImageSelection, Prepared, Session};
use warpbound_testkit::convergence::{LaneMask, RecordedCode, StackRun};

use super::{cubins_by_source, text};
use crate::each_kernel::each_kernel;

/// Group of lanes that passed a point.
#[derive(Clone, Copy)]
struct Event {
    point: u32,
    lanes: LaneMask,
}

/// Warps of a program, each with its events in order.
type Warps = Vec<Vec<Event>>;

/// Whether a record of a warp fits the warp with a stack.
enum RecordVerdict {
    Fits,
    Unknown,
    Contradicts(String),
}

#[derive(Default)]
struct Tally {
    programs: usize,
    warps: usize,
    events: usize,
    /// Steps of the warp with a stack at points.
    steps: usize,
    /// Warps with groups that merged.
    merged: usize,
    /// Programs with warps whose paths the record does not tell, for example turns of a loop without points, so that no
    /// path that was tried fits; and the number of these warps.
    untold: BTreeMap<String, usize>,
    contradictions: Vec<String>,
    /// Programs that the analyses refuse, with the reason.
    refused: BTreeMap<String, String>,
}

/// Returns the contradictions.
pub(super) fn run(tsv: &str, folder: &Path) -> anyhow::Result<Vec<String>> {
    let programs = read(tsv)?;
    let files = cubins_by_source(folder)?;
    let mut tally = Tally::default();
    for (name, warps) in &programs {
        let file = files.get(name);
        let file = file.with_context(|| format!("no cubin of {name}"))?;
        let source = text(&folder.join(format!("{name}.cu")))?;
        let images = ImageSelection::default();
        let unreadable = each_kernel(std::slice::from_ref(file), &images, |session, kernel| {
            tally.program(session, kernel, name, &points_by_line(&source), warps)
        })?;
        ensure!(unreadable.is_empty(), "{}: {unreadable:?}", file.display());
    }
    tally.print();
    Ok(tally.contradictions)
}

/// Reads the events by program.
fn read(tsv: &str) -> anyhow::Result<BTreeMap<String, Warps>> {
    let mut programs: BTreeMap<String, Warps> = BTreeMap::new();
    for (number, line) in (1..).zip(tsv.lines()) {
        let mut columns = line.split('\t');
        let (Some(program), Some(_), Some(events)) =
            (columns.next(), columns.next(), columns.next())
        else {
            anyhow::bail!("line {number}: three columns are expected");
        };
        if program == "program" {
            continue;
        }
        let events: Option<Vec<Event>> = events.split(' ').map(event).collect();
        let events = events.with_context(|| format!("line {number}: point:mask:clock"))?;
        programs.entry(program.to_owned()).or_default().push(events);
    }
    Ok(programs)
}

/// Reads `point:mask:clock`.
fn event(text: &str) -> Option<Event> {
    let mut parts = text.split(':');
    let (point, lanes, _) = (parts.next()?, parts.next()?, parts.next()?);
    Some(Event {
        point: point.parse().ok()?,
        lanes: LaneMask::from_str_radix(lanes, 16).ok()?,
    })
}

/// Points by the line of the source that logs them.
fn points_by_line(source: &str) -> BTreeMap<usize, u32> {
    let point = |line: &str| {
        let (_, rest) = line.split_once("LOG(")?;
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        digits.parse().ok()
    };
    let lines = (1..).zip(source.lines());
    lines
        .filter_map(|(number, line)| Some((number, point(line)?)))
        .collect()
}

/// Operations that read the clock for a point.
fn points(prepared: &Prepared<'_>, lines: &BTreeMap<usize, u32>) -> BTreeMap<OpIndex, u32> {
    let ops = (0..).map(OpIndex).zip(&prepared.code.ops);
    let point = |at: OpIndex, addr| {
        let text = prepared.program.text(at.index())?;
        if !text.contains("SR_CLOCKLO") {
            return None;
        }
        let source = prepared.source(addr)?;
        lines
            .get(&source.rsplit(':').next()?.parse().ok()?)
            .copied()
    };
    ops.filter_map(|(at, op)| Some((at, point(at, op.addr)?)))
        .collect()
}

/// Place of a call whose functions are not known, if there is one.
fn unknown_call(prepared: &Prepared<'_>, thread: &ThreadCfg) -> Option<String> {
    let is_reached = |at: OpIndex| {
        let mut ids = thread.space.ids().filter(|&id| thread.is_reached(id));
        ids.any(|id| thread.space.block(id).ops().any(|op| op == at))
    };
    let ops = (0..).map(OpIndex).zip(&prepared.code.ops);
    let mut calls =
        ops.filter(|(_, op)| matches!(op.control, ControlEffect::LinkedIndirect { .. }));
    let unknown = calls.find(|(at, _)| {
        let targets = thread.indirect.get(at);
        is_reached(*at) && !matches!(targets, Some(IndirectTargets::Code { .. }))
    });
    Some(prepared.location(unknown?.0))
}

impl Tally {
    fn program(
        &mut self,
        session: &Session,
        kernel: &Kernel,
        name: &str,
        lines: &BTreeMap<usize, u32>,
        warps: &Warps,
    ) -> anyhow::Result<()> {
        self.programs += 1;
        let prepared = session.prepare(kernel)?;
        let options = BoundOptions::default();
        let knowledge = session.launch(kernel, &options)?;
        let flow = match session.flow(&prepared, &knowledge.context, &options) {
            Ok(flow) => flow,
            Err(why) => {
                self.refused.insert(name.to_owned(), why.to_string());
                return Ok(());
            }
        };
        if let Some(at) = unknown_call(&prepared, &flow.thread) {
            let why = format!("the call at {at} has targets that are not in the code");
            self.refused.insert(name.to_owned(), why);
            return Ok(());
        }
        let points = points(&prepared, lines);
        let mut code = RecordedCode::new(&prepared.code, &flow.thread, &points);
        for (number, events) in warps.iter().enumerate() {
            self.warps += 1;
            self.events += events.len();
            let paths = paths_of_lanes(events);
            match self.warp(&mut code, events, &paths) {
                RecordVerdict::Fits => {}
                RecordVerdict::Unknown => *self.untold.entry(name.to_owned()).or_default() += 1,
                RecordVerdict::Contradicts(why) => {
                    let what = format!("{name} warp {number}: {why}");
                    self.contradictions.push(what);
                }
            }
        }
        self.counts(session, kernel, &prepared, name, &points, warps)
    }

    /// Holds a warp to the warp with a stack.
    fn warp(
        &mut self,
        code: &mut RecordedCode<'_>,
        events: &[Event],
        paths: &[Vec<u32>],
    ) -> RecordVerdict {
        let first = code.run(paths, &BTreeSet::new());
        let (ambiguous, known) = (first.ambiguous.clone(), first.known_steps);
        let Err((step, why)) = self.compare(events, first) else {
            return RecordVerdict::Fits;
        };
        if known.is_none_or(|known| step < known) {
            return RecordVerdict::Contradicts(why);
        }
        // The first try may have chosen other paths between points. One that fits is enough.
        let single = ambiguous.iter().map(|&branch| BTreeSet::from([branch]));
        let mut tries = single.chain([ambiguous.clone()]);
        match tries.any(|second| self.compare(events, code.run(paths, &second)).is_ok()) {
            true => RecordVerdict::Fits,
            false => RecordVerdict::Unknown,
        }
    }

    /// Holds each step of the warp with a stack to lie in one event. Otherwise returns the number of the step that does
    /// not, and why.
    fn compare(&mut self, events: &[Event], run: StackRun) -> Result<(), (usize, String)> {
        let mut events_of_lanes: Vec<Vec<usize>> = vec![Vec::new(); 32];
        for (number, event) in events.iter().enumerate() {
            for (lane, of_lane) in events_of_lanes.iter_mut().enumerate() {
                if event.lanes >> lane & 1 == 1 {
                    of_lane.push(number);
                }
            }
        }
        for (number, step) in run.steps.iter().enumerate() {
            let of = |&(lane, passed): &(u32, usize)| {
                events_of_lanes[lane as usize].get(passed).copied()
            };
            let lies_in: BTreeSet<Option<usize>> = step.lanes.iter().map(of).collect();
            if lies_in.len() != 1 {
                let lanes: Vec<u32> = step.lanes.iter().map(|(lane, _)| *lane).collect();
                let point = step.point;
                let why = format!(
                    "point {point}: lanes {lanes:?} run together with a stack, and did not"
                );
                return Err((number, why));
            }
        }
        if let Some(why) = run.stuck {
            return Err((run.steps.len(), why));
        }
        self.steps += run.steps.len();
        self.merged += usize::from(run.steps.len() > events.len());
        Ok(())
    }

    /// Holds the executions of the points, summed over the warps, to the count rows.
    fn counts(
        &mut self,
        session: &Session,
        kernel: &Kernel,
        prepared: &Prepared<'_>,
        name: &str,
        points: &BTreeMap<OpIndex, u32>,
        warps: &Warps,
    ) -> anyhow::Result<()> {
        let mut counts: BTreeMap<u32, [u64; 2]> = BTreeMap::new();
        for event in warps.iter().flatten() {
            let [groups, lanes] = counts.entry(event.point).or_default();
            *groups += 1;
            *lanes += u64::from(event.lanes.count_ones());
        }
        let mut table = "offset,warp_count,thread_count\n".to_owned();
        // A point that stands at several addresses was counted at all of them together.
        let mut addresses: BTreeMap<u32, usize> = BTreeMap::new();
        for point in points.values() {
            *addresses.entry(*point).or_default() += 1;
        }
        for (at, op) in (0..).map(OpIndex).zip(&prepared.code.ops) {
            // A point under a condition was counted where it holds.
            let is_known = |point: &&u32| addresses[*point] == 1 && op.condition.is_always();
            let point = points.get(&at).filter(is_known);
            match point {
                Some(point) => {
                    let [groups, lanes] = counts.get(point).copied().unwrap_or_default();
                    writeln!(table, "{},{groups},{lanes}", op.addr)?;
                }
                None => writeln!(table, "{}", op.addr)?,
            }
        }
        let measured = MeasuredCounts::parse(name, &table)?;
        let options = CountsAuditOptions::default();
        let report = audit_counts(session, kernel, &measured, &options)
            .map_err(|why| anyhow::anyhow!("{name}: {why}"))?;
        for finding in &report.findings {
            let what = format!("{name} {}: {}", finding.claim, finding.message);
            self.contradictions.push(what);
        }
        Ok(())
    }

    fn print(&self) {
        println!(
            "{} programs, {} warps, {} events; a warp with a stack makes {} steps for them; groups merged in {} warps",
            self.programs, self.warps, self.events, self.steps, self.merged
        );
        for (name, why) in &self.refused {
            println!("  {name} is refused: {why}");
        }
        for (name, warps) in &self.untold {
            println!("  {name}: the record does not tell the paths of {warps} warps");
        }
        println!("{} contradictions", self.contradictions.len());
    }
}

/// Points that each lane passed.
fn paths_of_lanes(events: &[Event]) -> Vec<Vec<u32>> {
    let of = |lane: u32| {
        let own = events.iter().filter(|event| event.lanes >> lane & 1 == 1);
        own.map(|event| event.point).collect()
    };
    (0..32).map(of).collect()
}
