//! Replay of single warps: a recorded run against the transfer functions of bounds, cycle by cycle.
//!
//! A run is recorded with the outcome of each request, such as a hit in the L2 cache. With these outcomes the
//! transfer functions must yield each issue to the cycle (SOUNDNESS 11.6). For example, if an instruction is issued
//! in cycle 412 and replayed in cycle 411, a function or a timing fact is wrong. The replay does not check bounds on
//! accesses, because the recorded counts take their place.

use warpbound_base::Diagnostic;
use warpbound_cycles::{
    AccessDirection, FetchSource, MachineNumbers, RecordedTrace, ReplayedTimes, ServiceOrder,
    TracedAccess, TracedFetch, TracedInstr, TracedL2Line, TracedLine, TracedMiss, TracedShared,
    TranslationSource, replay, replay_bounded,
};
use warpbound_ir::OpIndex;
use warpbound_isa::Program;
use warpbound_launch::LaunchFile;
use warpbound_machine::Parameter;
use warpbound_simulate::timed::{
    AccessKind, Event, EventListener, FetchLevel, LOCAL_BASE, Outcome, TranslationLevel,
};
use warpbound_timing::{Completion, InstrFacts, instr_facts};

use warpbound_query::Session;
use warpbound_query::prepared::Prepared;
use warpbound_runs::TimedOptions;
use warpbound_runs::{runs::timed::configuration, runs::timed::simulate_with};

/// Listener that records the trace of a warp that runs alone.
#[derive(Default)]
pub struct TraceRecorder {
    /// Issued instructions.
    trace: RecordedTrace,
    /// Issue cycle of each instruction.
    cycles: Vec<u64>,
    /// Instruction that is being prepared.
    next: TracedInstr,
    is_prepared: bool,
    /// Whether lines of the L2 cache belong to an access, not to a line of code or a constant.
    in_access: bool,
}

impl EventListener for TraceRecorder {
    const RECORDS: bool = true;

    fn event(&mut self, _cycle: u64, _event: &Event) {}

    fn outcome(&mut self, outcome: &Outcome) {
        match *outcome {
            Outcome::Prepare { at, cycle, .. } => self.prepare(at, cycle),
            Outcome::Issue { cycle, .. } => {
                self.trace.instrs.push(std::mem::take(&mut self.next));
                self.cycles.push(cycle);
                self.is_prepared = false;
            }
            Outcome::Code { line, ahead, found } => {
                self.in_access = false;
                self.next.code.push(fetch(line, ahead, found));
            }
            Outcome::Constant {
                bank,
                offset,
                found,
            } => {
                self.in_access = false;
                // Traces have constant banks 65536 bytes apart.
                let address = u64::from(bank) * 0x1_0000 + u64::from(offset);
                let own = fetch(address, 0, found);
                match self.trace.instrs.last_mut() {
                    // Constants after an issue are addresses of its indexed access. Constants after a preparation are
                    // operands of the next instruction.
                    Some(issued) if !self.is_prepared => issued.loaded.push(own),
                    _ => self.next.operands.push(own),
                }
            }
            Outcome::Shared {
                kind,
                size,
                transactions,
                conflicts,
                same_word,
            } => {
                if let Some(issued) = self.trace.instrs.last_mut() {
                    issued.bytes = issued.bytes.max(size);
                    issued.shared = Some(TracedShared {
                        direction: direction(kind),
                        transactions,
                        conflicts,
                        same_word,
                    });
                }
            }
            Outcome::Refreshes { .. } => {}
            _ => self.access(outcome),
        }
    }
}

impl TraceRecorder {
    /// Begins the next instruction.
    fn prepare(&mut self, at: OpIndex, cycle: u64) {
        self.next = TracedInstr {
            at,
            ..TracedInstr::default()
        };
        self.is_prepared = true;
        // A warp that waits at a barrier requests its next instruction at the release, so later than at its issue.
        if let (Some(issued), Some(issue)) = (self.trace.instrs.last_mut(), self.cycles.last()) {
            issued.waits_at_barrier = cycle > *issue;
        }
    }

    /// Adds an outcome of an access to global or local memory.
    fn access(&mut self, outcome: &Outcome) {
        let Some(issued) = self.trace.instrs.last_mut() else {
            // Before the first issue, only lines of code and constants are requested.
            self.add_line_of_fetch(outcome);
            return;
        };
        match *outcome {
            Outcome::Access {
                kind,
                size,
                cached,
                contended,
            } => {
                self.in_access = true;
                issued.bytes = issued.bytes.max(size);
                issued.accesses.push(TracedAccess {
                    direction: direction(kind),
                    cached,
                    is_local: false,
                    contended,
                    requests: Vec::new(),
                });
            }
            Outcome::Request { .. } => {
                if let Some(access) = issued.accesses.last_mut() {
                    access.requests.push(Vec::new());
                }
            }
            Outcome::Line {
                line,
                sectors,
                merged,
                l1_hits,
            } => {
                if let Some(access) = issued.accesses.last_mut() {
                    access.is_local = line >= LOCAL_BASE;
                    if let Some(request) = access.requests.last_mut() {
                        request.push(TracedLine {
                            line,
                            sectors,
                            merged,
                            l1_hits,
                            beyond: None,
                        });
                    }
                }
                // Local memory has one access for each word of a lane, so their number gives the bytes.
                let words = issued
                    .accesses
                    .iter()
                    .filter(|access| access.is_local)
                    .count();
                if words > 1 {
                    issued.bytes = issued.bytes.max(4 * words as u32);
                }
            }
            Outcome::Translation { found, .. } => {
                if let Some(line) = last_line(issued) {
                    line.beyond = Some(TracedMiss {
                        translation: translation(found),
                        awaits_translation: found == TranslationLevel::First { pending: true },
                        lines: Default::default(),
                    });
                }
            }
            Outcome::L2Line { .. } if self.in_access => {
                let beyond = last_line(issued).and_then(|line| line.beyond.as_mut());
                if let (Some(beyond), Some(line)) = (beyond, l2_line(outcome)) {
                    beyond.lines.push(line);
                }
            }
            _ => self.add_line_of_fetch(outcome),
        }
    }

    /// Adds a line of the L2 cache to the line of code or the constant that is requested.
    fn add_line_of_fetch(&mut self, outcome: &Outcome) {
        let requested = match self.is_prepared {
            // The line of code is requested before the operands, so lines belong to the operands as soon as there are
            // any.
            true => match self.next.operands.is_empty() {
                true => self.next.code.last_mut(),
                false => self.next.operands.last_mut(),
            },
            false => {
                let issued = self.trace.instrs.last_mut();
                issued.and_then(|issued| issued.loaded.last_mut())
            }
        };
        if let (Some(requested), Some(line)) = (requested, l2_line(outcome)) {
            requested.lines.push(line);
        }
    }

    /// Removes and returns the instructions whose outcomes are complete: all except the last one that was issued.
    pub(crate) fn take_complete(&mut self) -> impl Iterator<Item = TracedInstr> + '_ {
        // The outcomes of an access come after the issue, so the last instruction may still get some.
        let complete = self.trace.instrs.len().saturating_sub(1);
        self.cycles.drain(..complete);
        self.trace.instrs.drain(..complete)
    }

    /// Returns the trace and the cycle of each issue.
    pub fn finish(self) -> (RecordedTrace, Vec<u64>) {
        (self.trace, self.cycles)
    }
}

fn last_line(issued: &mut TracedInstr) -> Option<&mut TracedLine> {
    issued.accesses.last_mut()?.requests.last_mut()?.last_mut()
}

fn fetch(address: u64, ahead: u64, found: FetchLevel) -> TracedFetch {
    TracedFetch {
        address,
        ahead,
        found: match found {
            FetchLevel::First => FetchSource::First,
            FetchLevel::Second => FetchSource::Second,
            FetchLevel::L2 => FetchSource::Beyond,
        },
        lines: Default::default(),
    }
}

fn direction(kind: AccessKind) -> AccessDirection {
    match kind {
        AccessKind::Load => AccessDirection::Load,
        AccessKind::Store => AccessDirection::Store,
        AccessKind::Atomic => AccessDirection::Atomic,
    }
}

fn translation(found: TranslationLevel) -> TranslationSource {
    match found {
        TranslationLevel::First { .. } => TranslationSource::First,
        TranslationLevel::Second => TranslationSource::Second,
        TranslationLevel::PageTable => TranslationSource::PageTable,
        TranslationLevel::Walk => TranslationSource::Walk,
    }
}

fn l2_line(outcome: &Outcome) -> Option<TracedL2Line> {
    match *outcome {
        Outcome::L2Line {
            line,
            slice,
            sectors,
            hits,
            missing,
            evicted,
            pending,
            ..
        } => Some(TracedL2Line {
            line,
            slice,
            sectors,
            hits,
            awaits_sectors: pending.is_some(),
            missing,
            evicted,
        }),
        _ => None,
    }
}

/// Recorded run of a single warp, with what its replay needs.
pub struct RecordedRun {
    /// Facts about the instructions of the kernel.
    pub facts: Vec<InstrFacts>,
    /// Trace of the warp.
    pub trace: RecordedTrace,
    /// Numbers of the configuration that the warp ran on.
    pub numbers: MachineNumbers,
    /// Cycles of its issues and of the end of the launch.
    pub simulated: ReplayedTimes,
}

/// First difference between a replay and the run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReplayDifference {
    /// Position in the trace; the last position if only the ends differ.
    pub position: usize,
    /// Instruction.
    pub at: OpIndex,
    /// Simulated and replayed cycle.
    pub cycles: (u64, u64),
}

/// Runs a single warp and records it. The options name the warp; a launch of a single warp needs no name.
///
/// # Errors
///
/// The timed run fails, or its machine is unsuitable for bounds in cycles.
pub fn record_warp(
    session: &Session,
    prepared: &Prepared<'_>,
    grid: &LaunchFile,
    options: &TimedOptions,
) -> Result<RecordedRun, Diagnostic> {
    let Program::Nvidia(program) = &prepared.program else {
        return Err(Diagnostic::new(
            "mini-SIMT programs have no warps to replay",
        ));
    };
    let numbers = MachineNumbers::of_config(&configuration(options)?)?;
    let mut recorder = TraceRecorder::default();
    let run = simulate_with(session, prepared, grid, options, &mut recorder)?;
    let (trace, issues) = recorder.finish();
    Ok(RecordedRun {
        facts: instr_facts(&prepared.code, program),
        trace,
        numbers,
        simulated: ReplayedTimes {
            issues,
            end: run.cycles.0.0,
        },
    })
}

impl RecordedRun {
    /// Returns why the run has no replay: the timing class of an instruction, or a texture; `None` if it has one.
    pub fn refusal(&self) -> Option<String> {
        let of_trace = self.trace.instrs.iter();
        let facts = of_trace.filter_map(|instr| self.facts.get(instr.at.index()));
        facts
            .map(|facts| match facts.completion {
                Completion::Texture => Some("textures have no replay"),
                _ if !facts.has_class => Some("an instruction has no timing class"),
                _ => None,
            })
            .find_map(|why| why.map(str::to_owned))
    }

    /// Replays the run.
    pub fn replay(&self, order: ServiceOrder) -> ReplayedTimes {
        replay(&self.facts, &self.trace, &self.numbers, order)
    }

    /// Replays the run with the memory accesses of the bound.
    pub fn replay_bounded(&self) -> ReplayedTimes {
        replay_bounded(&self.facts, &self.trace, &self.numbers)
    }

    /// Replays the run; returns the first difference, `None` if each cycle is the same.
    pub fn compare(&self, order: ServiceOrder) -> Option<ReplayDifference> {
        self.difference(&self.replay(order))
    }

    /// Returns the first difference of replayed times.
    pub fn difference(&self, replayed: &ReplayedTimes) -> Option<ReplayDifference> {
        self.find(replayed, |simulated, replayed| simulated != replayed)
    }

    /// Returns the first instruction whose replayed time is earlier than in the run.
    pub fn first_earlier(&self, replayed: &ReplayedTimes) -> Option<ReplayDifference> {
        self.find(replayed, |simulated, replayed| simulated > replayed)
    }

    /// As [`RecordedRun::first_earlier`], with the refreshes of DRAM until each cycle added to the replayed time.
    /// Bounds count refreshes apart (SOUNDNESS 11.4).
    pub fn first_earlier_than_refreshes(
        &self,
        replayed: &ReplayedTimes,
    ) -> Option<ReplayDifference> {
        self.find(replayed, |simulated, replayed| {
            simulated > replayed + self.refreshes(simulated)
        })
    }

    /// Returns the cycles of all refreshes of DRAM that start up to a cycle.
    fn refreshes(&self, cycle: u64) -> u64 {
        let [each, interval] = [Parameter::DramRefresh, Parameter::DramRefreshInterval]
            .map(|parameter| self.numbers.slow(parameter));
        each * (cycle / interval.max(1))
    }

    /// Returns the cycle when the warp starts.
    pub fn start(&self) -> u64 {
        self.numbers.slow(Parameter::LaunchKernel)
    }

    fn find(
        &self,
        replayed: &ReplayedTimes,
        differs: impl Fn(u64, u64) -> bool,
    ) -> Option<ReplayDifference> {
        let simulated = self.simulated.issues.iter().chain([&self.simulated.end]);
        let replayed = replayed.issues.iter().chain([&replayed.end]);
        let cycles = simulated.zip(replayed).map(|(a, b)| (*a, *b));
        let (position, cycles) = cycles.enumerate().find(|(_, (a, b))| differs(*a, *b))?;
        // The end of the launch follows the issues, so its position is one past the trace.
        let last = self.trace.instrs.len().saturating_sub(1);
        let instr = self.trace.instrs.get(position.min(last));
        Some(ReplayDifference {
            position: position.min(last),
            at: instr.map_or(OpIndex(0), |instr| instr.at),
            cycles,
        })
    }
}
