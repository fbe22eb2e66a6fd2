//! Outcomes of timed runs: they state the same numbers as the events of the same run.

use warpbound_query::Session;

use warpbound_simulate::timed::SingleWarp;

use warpbound_ir::OpIndex;
use warpbound_launch::StartCaches;
use warpbound_machine::{Parameter, Selection};
use warpbound_runs::{TimedOptions, simulate_with};
use warpbound_simulate::timed::{
    AccessKind, Event, EventListener, FetchLevel, HitLevel, Interlock, Outcome, TranslationLevel,
    WarpPlace,
};
use warpbound_testkit::kernels::{self, KernelReference};

/// Requests, sectors, lookups and hits in L1, lookups and hits in L2, sectors of DRAM, misses of the TLB.
type Traffic = [u32; 8];

/// Constant or line of code that the first cache misses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Miss {
    Code(OpIndex),
    Constant(u8, u32),
}

/// Statements that both the events and the outcomes of a run make.
#[derive(Default, PartialEq, Debug)]
struct Facts {
    /// Each issued instruction with its traffic.
    issues: Vec<(u64, WarpPlace, OpIndex, Traffic)>,
    /// Kind, transactions, conflicts.
    shared: Vec<(AccessKind, u32, u32)>,
    misses: Vec<(Miss, HitLevel)>,
}

impl Facts {
    fn issue(&mut self, cycle: u64, warp: WarpPlace, at: OpIndex) {
        self.issues.push((cycle, warp, at, Traffic::default()));
    }

    /// Adds traffic of the instruction issued last.
    fn add(&mut self, more: Traffic) {
        let (_, _, _, sum) = self.issues.last_mut().expect("an issue");
        for (sum, more) in sum.iter_mut().zip(more) {
            *sum += more;
        }
    }
}

/// Facts from the events.
#[derive(Default)]
struct FromEvents(Facts);

impl EventListener for FromEvents {
    fn event(&mut self, cycle: u64, event: &Event) {
        match *event {
            Event::Issue { warp, at, .. } => self.0.issue(cycle, warp, at),
            Event::Shared {
                access,
                transactions,
                conflicts,
                ..
            } => self.0.shared.push((access, transactions, conflicts)),
            Event::Memory {
                requests,
                sectors,
                l1_lookups,
                l1_hits,
                l2_lookups,
                l2_hits,
                dram_sectors,
                tlb_misses,
                ..
            } => self.0.add([
                requests,
                sectors,
                l1_lookups,
                l1_hits,
                l2_lookups,
                l2_hits,
                dram_sectors,
                tlb_misses,
            ]),
            Event::FetchMiss { at, found, .. } => self.0.misses.push((Miss::Code(at), found)),
            Event::ConstantMiss {
                bank,
                offset,
                found,
                ..
            } => self.0.misses.push((Miss::Constant(bank, offset), found)),
            _ => {}
        }
    }
}

/// Facts from the outcomes, and checks of their order.
#[derive(Default)]
struct FromOutcomes {
    facts: Facts,
    /// Instruction that is prepared.
    prepared: OpIndex,
    /// Last access: kind, and whether it looks up the L1 cache.
    access: Option<(AccessKind, bool)>,
    /// Lines left in the last request, and sectors left for lines of the L2 cache.
    lines: u32,
    sectors: u32,
    /// Whether lines of the L2 cache refill the caches of the SM, and whether the miss is among the facts.
    refills: Option<bool>,
    /// Numbers of outcomes by kind of interest.
    seen: Seen,
}

/// Numbers that show that a kind of outcome occurs.
#[derive(Default, Debug)]
struct Seen {
    pairs: u32,
    prefetched: u32,
    merged: u32,
    pending: u32,
    evicted: u32,
    contended: u32,
    same_word: u32,
    refreshes: u64,
    pending_translations: u32,
    second_translations: u32,
}

impl FromOutcomes {
    /// Checks that the previous access is complete.
    fn begin(&mut self) {
        assert_eq!((self.lines, self.sectors), (0, 0));
        self.refills = None;
    }

    /// Adds a line of code or a constant.
    fn fetch(&mut self, miss: Miss, found: FetchLevel, is_fact: bool) {
        self.begin();
        let level = match found {
            FetchLevel::First => return,
            FetchLevel::Second => HitLevel::Second,
            FetchLevel::L2 => HitLevel::L2,
        };
        if found == FetchLevel::L2 {
            self.refills = Some(is_fact);
        }
        if is_fact {
            self.facts.misses.push((miss, level));
        }
    }

    /// Adds a part of an access to global or local memory.
    fn memory(&mut self, outcome: &Outcome) {
        match *outcome {
            Outcome::Request { lines } => {
                self.begin();
                self.lines = lines;
                self.facts.add([1, 0, 0, 0, 0, 0, 0, 0]);
            }
            Outcome::Line {
                sectors,
                merged,
                l1_hits,
                ..
            } => {
                assert_eq!(self.sectors, 0);
                assert_eq!((merged & !sectors, l1_hits & !(sectors & !merged)), (0, 0));
                self.lines -= 1;
                self.sectors = (sectors & !merged & !l1_hits).count_ones();
                self.seen.merged += u32::from(merged != 0);
                let requested = (sectors & !merged).count_ones();
                let looked_up = match self.access {
                    Some((AccessKind::Load, true)) => requested,
                    _ => 0,
                };
                let hits = l1_hits.count_ones();
                self.facts.add([0, requested, looked_up, hits, 0, 0, 0, 0]);
            }
            Outcome::Translation { found, .. } => {
                assert!(self.sectors > 0);
                let missed = match found {
                    TranslationLevel::First { pending } => {
                        self.seen.pending_translations += u32::from(pending);
                        0
                    }
                    TranslationLevel::Second => {
                        self.seen.second_translations += 1;
                        1
                    }
                    TranslationLevel::PageTable | TranslationLevel::Walk => 1,
                };
                self.facts.add([0, 0, 0, 0, 0, 0, 0, missed]);
            }
            Outcome::L2Line {
                sectors,
                hits,
                missing,
                evicted,
                pending,
                ..
            } => {
                self.seen.pending += u32::from(pending.is_some());
                self.seen.evicted += u32::from(evicted > 0);
                self.l2_line(sectors, hits, missing + evicted);
            }
            _ => {}
        }
    }

    fn l2_line(&mut self, sectors: u32, hits: u32, dram: u32) {
        match self.refills {
            Some(is_fact) => {
                if dram > 0 && is_fact {
                    self.facts.misses.last_mut().expect("a miss").1 = HitLevel::Dram;
                }
            }
            None => {
                self.sectors -= sectors;
                self.facts.add([0, 0, 0, 0, sectors, hits, dram, 0]);
            }
        }
    }
}

impl EventListener for FromOutcomes {
    const RECORDS: bool = true;

    fn event(&mut self, _: u64, _: &Event) {}

    fn outcome(&mut self, outcome: &Outcome) {
        match *outcome {
            Outcome::Prepare { at, .. } => {
                self.begin();
                self.prepared = at;
            }
            Outcome::Issue {
                warp,
                at,
                cycle,
                second,
            } => {
                self.begin();
                let mut before = self.facts.issues.iter().rev();
                let last =
                    before.find(|(_, of, ..)| (of.block, of.warp) == (warp.block, warp.warp));
                assert_eq!(second, last.is_some_and(|(before, ..)| *before == cycle));
                self.seen.pairs += u32::from(second);
                self.facts.issue(cycle, warp, at);
            }
            Outcome::Code { ahead, found, .. } => {
                self.seen.prefetched += u32::from(ahead > 0 && found != FetchLevel::First);
                self.fetch(Miss::Code(self.prepared), found, ahead == 0);
            }
            Outcome::Constant {
                bank,
                offset,
                found,
            } => self.fetch(Miss::Constant(bank, offset), found, true),
            Outcome::Shared {
                kind,
                transactions,
                conflicts,
                same_word,
                size,
            } => {
                self.begin();
                assert!([1, 2, 4, 8, 16].contains(&size));
                assert_eq!(same_word > 0, kind == AccessKind::Atomic);
                self.seen.same_word += u32::from(same_word > 1);
                self.facts.shared.push((kind, transactions, conflicts));
            }
            Outcome::Access {
                kind,
                cached,
                contended,
                ..
            } => {
                self.begin();
                self.access = Some((kind, cached));
                self.seen.contended += u32::from(contended);
            }
            Outcome::Refreshes { count, last } => {
                assert!(count > 0 && last > 0);
                self.seen.refreshes += count;
            }
            _ => self.memory(outcome),
        }
    }
}

/// Number of outcomes that a listener receives which does not ask for them.
#[derive(Default)]
struct Unrequested(u64);

impl EventListener for Unrequested {
    fn event(&mut self, _: u64, _: &Event) {}

    fn outcome(&mut self, _: &Outcome) {
        self.0 += 1;
    }
}

fn session(reference: &KernelReference) -> Session {
    let file = format!("{}.sm_61.cubin", reference.source);
    let path = format!("{}/../../kernels/built/{file}", env!("CARGO_MANIFEST_DIR"));
    let contents = std::fs::read(path).expect("the cubin is in the repository");
    Session::open(&file, &contents).expect("it loads")
}

/// Configurations that reach all kinds of outcomes: small caches, few TLB entries, both interlocks, one warp alone.
fn configurations(session: &Session) -> Vec<TimedOptions> {
    let typical = || TimedOptions::new(session.own_gpu_model().expect("a machine is for it"));
    vec![
        typical(),
        TimedOptions {
            selection: Selection::Seed(11),
            caches: Some(StartCaches::Warm),
            interlock: Interlock::Scoreboard,
            ..typical()
        },
        TimedOptions {
            set: vec![(Parameter::L2Bytes, 4096), (Parameter::L2Ways, 1)],
            ..typical()
        },
        TimedOptions {
            selection: Selection::Least,
            caches: Some(StartCaches::Cold),
            only: Some(SingleWarp { block: 0, warp: 0 }),
            ..typical()
        },
    ]
}

/// Events and outcomes of a run state the same issues, traffic, transactions and misses, and recording changes nothing.
#[test]
fn outcomes_state_what_events_state() {
    let mut seen = Vec::new();
    for reference in kernels::all() {
        let session = session(&reference);
        let launch = (reference.launch)(0);
        let kernel = session
            .launched_kernel(Some(reference.kernel), launch.kernel.as_deref())
            .expect("it has the kernel");
        let prepared = session.prepare(kernel).expect("it decodes");
        for options in configurations(&session) {
            let mut silent = (FromEvents::default(), Unrequested::default());
            let mut both = (FromOutcomes::default(), Some(FromEvents::default()));
            let alone = simulate_with(&session, &prepared, &launch, &options, &mut silent);
            let found = simulate_with(&session, &prepared, &launch, &options, &mut (&mut both));
            let name = reference.kernel;
            let cycles = |run: &Result<warpbound_simulate::timed::TimedResult, _>| {
                run.as_ref()
                    .ok()
                    .map(|run| (run.cycles, run.used_parameters.clone()))
            };
            assert_eq!(cycles(&alone), cycles(&found), "{name}");
            let (outcomes, Some(FromEvents(events))) = both else {
                panic!("it stays");
            };
            assert_eq!(silent.1.0, 0, "{name}: nothing records");
            assert!(silent.0.0 == events, "{name}: recording changes the events");
            let FromOutcomes {
                facts, seen: own, ..
            } = outcomes;
            for (outcome, event) in facts.issues.iter().zip(&events.issues) {
                assert_eq!(outcome, event, "{name}");
            }
            assert_eq!(facts.issues.len(), events.issues.len(), "{name}");
            assert_eq!(facts.shared, events.shared, "{name}");
            assert_eq!(facts.misses, events.misses, "{name}");
            seen.push(own);
        }
    }
    let sum = |of: fn(&Seen) -> u64| seen.iter().map(of).sum::<u64>();
    let sums = [
        ("pairs", sum(|seen| seen.pairs.into())),
        ("prefetched lines", sum(|seen| seen.prefetched.into())),
        ("merged sectors", sum(|seen| seen.merged.into())),
        ("pending hits", sum(|seen| seen.pending.into())),
        ("evictions", sum(|seen| seen.evicted.into())),
        ("contended atomics", sum(|seen| seen.contended.into())),
        ("lanes on one word", sum(|seen| seen.same_word.into())),
        ("refreshes", sum(|seen| seen.refreshes)),
        (
            "pending translations",
            sum(|seen| seen.pending_translations.into()),
        ),
        (
            "second-level translations",
            sum(|seen| seen.second_translations.into()),
        ),
    ];
    let missing: Vec<&str> = sums
        .iter()
        .filter(|(_, n)| *n == 0)
        .map(|(name, _)| *name)
        .collect();
    assert!(missing.is_empty(), "no {missing:?}: {sums:?}");
}
