//! Points, longest paths and formulas on real kernels with traces made by hand, and against independent schedules.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use warpbound_analyse::branch_sites;
use warpbound_analyse::instrumentation::PointGraph;
use warpbound_base::{Cycles, Named as _, Observed};
use warpbound_ir::OpIndex;
use warpbound_simulate::timed::{Event, EventListener as _, SplitRefusal, WarpPlace};

use super::combine::{Geometry, SplitRuns};
use super::formulas::{
    DelayedPath, batches, batches_of_one_pool, parallel_batch, room_times, serialised_batch,
};
use super::paths::PathFinder;
use super::traces::{EdgeTimes, PathTracer, RunTrace, SplitOrigin, Traces};
use warpbound_analyse::LaunchContext;
use warpbound_analyse::thread_cfg::Limits;
use warpbound_bounds::bound::FlowFacts;
use warpbound_query::{KernelFlow, Session};
use warpbound_runs::runs::timed::LaunchObservation;
use warpbound_simt::warp::WarpModel;

/// Kernel with its graph of points.
struct Fixture {
    session: Session,
    name: &'static str,
}

/// Results of a fixture that a test reads.
struct Analysed<'a> {
    addresses: Vec<u32>,
    flow: &'a KernelFlow,
    graph: &'a PointGraph,
}

impl Fixture {
    fn new(file: &str, name: &'static str) -> Fixture {
        let path = format!(
            "{}/../../kernels/built/{file}.gfx803.co",
            env!("CARGO_MANIFEST_DIR")
        );
        let contents = std::fs::read(path).unwrap();
        Fixture {
            session: Session::open(file, &contents).unwrap(),
            name,
        }
    }

    fn analyse(&self, test: impl FnOnce(&Analysed<'_>)) {
        let kernel = self.session.only_kernel(Some(self.name)).unwrap();
        let prepared = self.session.prepare(kernel).unwrap();
        let code = &prepared.code;
        let context = LaunchContext::default();
        let flow =
            KernelFlow::analyse(code, &context, &WarpModel::default(), &Limits::default()).unwrap();
        let sites = branch_sites::classify(code, &flow.thread, flow.dependence());
        let graph = PointGraph::build(code, &flow.thread, &flow.warp.graph.steps, &sites).unwrap();
        test(&Analysed {
            addresses: code.ops.iter().map(|op| op.addr.0).collect(),
            flow: &flow,
            graph: &graph,
        });
    }
}

impl Analysed<'_> {
    fn at(&self, address: u32) -> OpIndex {
        let position = self.addresses.iter().position(|&at| at == address);
        OpIndex(position.unwrap() as u32)
    }

    fn point(&self, address: u32) -> usize {
        let at = self.at(address);
        self.graph
            .points
            .iter()
            .position(|point| point.at == at)
            .unwrap()
    }

    /// Returns the points as texts: address and kinds.
    fn points(&self) -> Vec<String> {
        let text = |at: OpIndex| format!("{:#x}", self.addresses[at.index()]);
        let points = self.graph.points.iter();
        points
            .map(|point| {
                let kinds: Vec<_> = point.kinds.iter().map(|kind| kind.name()).collect();
                format!("{} {}", text(point.at), kinds.join(" "))
            })
            .collect()
    }

    /// Returns the edges as addresses: from, first operation after it, to.
    fn edges(&self) -> Vec<(u32, Option<u32>, u32)> {
        let at = |point: usize| self.addresses[self.graph.points[point].at.index()];
        let first = |node| self.addresses[self.flow.thread.space.block(node).first.index()];
        let edges = self.graph.edges.iter();
        let mut edges: Vec<_> = edges
            .map(|edge| (at(edge.from), edge.via.map(first), at(edge.to)))
            .collect();
        edges.sort_unstable();
        edges
    }

    /// Returns traces where each edge takes the time that `time` gives.
    fn traces(&self, time: impl Fn((u32, Option<u32>, u32)) -> Option<u64>) -> Traces {
        let at = |point: usize| self.addresses[self.graph.points[point].at.index()];
        let first = |node| self.addresses[self.flow.thread.space.block(node).first.index()];
        let edges = self.graph.edges.iter().map(|edge| {
            let time = time((at(edge.from), edge.via.map(first), at(edge.to)));
            EdgeTimes {
                count: time.is_some().into(),
                most: time.unwrap_or(0),
            }
        });
        Traces {
            edges: edges.collect(),
            ..Traces::default()
        }
    }

    fn finder(&self, bound: Option<u64>) -> PathFinder<'_> {
        let loops = self.flow.loops.sites.len();
        let facts = FlowFacts {
            bounds: vec![bound; loops],
            totals: vec![None; loops],
            never: Vec::new(),
        };
        PathFinder::new(self.graph, self.flow, &facts).unwrap()
    }
}

const NONE: &[warpbound_ipet::ExclusiveArms] = &[];

/// Figures 5.2b and 5.3: both arms of an if-else lie on one path, and the points agree with the thesis.
#[test]
fn points_of_an_if_else_are_those_of_the_figures() {
    Fixture::new("if_else", "if_else").analyse(|kernel| {
        assert_eq!(
            kernel.points(),
            [
                "0x0 start",
                "0x60 branch",
                "0x164 join",
                "0x168 branch",
                "0x288 join",
                "0x2a0 end"
            ]
        );
        assert_eq!(
            kernel.edges(),
            [
                (0x0, None, 0x60),
                (0x60, Some(0x64), 0x164),
                (0x60, Some(0x164), 0x164),
                (0x164, None, 0x168),
                (0x168, Some(0x16c), 0x288),
                (0x168, Some(0x288), 0x288),
                (0x288, None, 0x2a0),
            ]
        );
        let [first, second] = kernel.graph.branches[..] else {
            panic!("{:?}", kernel.graph.branches)
        };
        assert_eq!((first.other_arm, second.other_arm), (Some(1), None));
    });
}

#[test]
fn points_of_a_loop_include_its_header_and_its_end() {
    Fixture::new("loop_repush", "loop_repush").analyse(|kernel| {
        let points = kernel.points();
        assert!(points.contains(&"0x90 join".to_owned()), "{points:?}");
        assert!(points.contains(&"0x8c loop-back".to_owned()), "{points:?}");
        let closing = kernel.graph.edges.iter().filter(|edge| edge.closes_loop);
        let closing: Vec<_> = closing.map(|edge| (edge.from, edge.to)).collect();
        assert_eq!(closing, [(kernel.point(0x8c), kernel.point(0x90))]);
    });
}

/// Times of the edges of Figure 5.4 on the if-else: a before the first branch, b and d the arms, c and e the skips.
fn figure_5_4(edge: (u32, Option<u32>, u32)) -> Option<u64> {
    Some(match edge {
        (0x0, ..) => 1000,
        (0x60, Some(0x64), _) => 200,
        (0x60, Some(0x164), _) => 3,
        (0x168, Some(0x16c), _) => 50,
        (0x168, Some(0x288), _) => 7,
        _ => 0,
    })
}

/// Figure 5.4: full a + b + d, parent a + b + e, child c + d.
#[test]
fn configurations_are_those_of_the_figure() {
    Fixture::new("if_else", "if_else").analyse(|kernel| {
        let finder = kernel.finder(None);
        let traces = kernel.traces(figure_5_4);
        let edges = finder.measured(&traces, |_| false);
        let full = finder
            .longest(&edges, SplitOrigin::Launch, &finder.ends, NONE)
            .unwrap();
        assert_eq!(full.time.0, Cycles(1000 + 200 + 50));
        let place = |place| {
            let path = finder.longest_of_configuration(&traces, &[0], place);
            path.unwrap().time.0
        };
        assert_eq!(place(0), Cycles(1000 + 200 + 7));
        assert_eq!(place(1), Cycles(3 + 50));
        // A wave that splits or whose lanes agree executes one arm: the longer one, whichever it is.
        let one = finder.exclusive_arms(|_| true);
        let longest = |origin, exclusive| {
            let path = finder.longest(&edges, origin, &finder.ends, exclusive);
            path.unwrap().time.0
        };
        assert_eq!(longest(SplitOrigin::Launch, &one), Cycles(1000 + 200 + 7));
        let child = SplitOrigin::Child(kernel.point(0x60));
        assert_eq!(longest(child, &one), Cycles(3 + 50));
        let slow_second = |edge| match edge {
            (0x168, Some(0x16c), _) => Some(900),
            _ => figure_5_4(edge),
        };
        let edges = finder.measured(&kernel.traces(slow_second), |_| false);
        let one = finder.exclusive_arms(|_| true);
        let path = finder
            .longest(&edges, SplitOrigin::Launch, &finder.ends, &one)
            .unwrap();
        // The thesis has no wave with this path: at each mark a wave splits (E8).
        assert_eq!(path.time.0, Cycles(1000 + 3 + 900));
    });
}

/// An arm that no run has executed is missing. A skip that no run has taken is not, because the arm takes longer.
#[test]
fn edges_that_no_run_has_passed_are_missing_unless_they_skip_executed_code() {
    Fixture::new("if_else", "if_else").analyse(|kernel| {
        let finder = kernel.finder(None);
        let without = |left_out: &[(u32, u32)]| {
            let traces = kernel.traces(|edge| {
                let is_out = edge.1.is_some_and(|via| left_out.contains(&(edge.0, via)));
                figure_5_4(edge).filter(|_| !is_out)
            });
            finder.missing(&traces, SplitOrigin::Launch, NONE).len()
        };
        assert_eq!(without(&[]), 0);
        assert_eq!(without(&[(0x60, 0x164), (0x168, 0x288)]), 0);
        assert_eq!(without(&[(0x60, 0x64)]), 1);
        assert_eq!(without(&[(0x60, 0x64), (0x168, 0x16c)]), 2);
        // If no run took either side, nothing after the branch is known.
        assert_eq!(without(&[(0x60, 0x64), (0x60, 0x164)]), 2);
    });
    // The way around the loop has executed all code of the edge from the start to the end.
    Fixture::new("loop_repush", "loop_repush").analyse(|kernel| {
        let finder = kernel.finder(Some(4));
        let traces = kernel.traces(|edge| (edge.2 != 0x1f4 || edge.0 == 0x8c).then_some(1));
        assert!(
            finder
                .missing(&traces, SplitOrigin::Launch, NONE)
                .is_empty()
        );
        let traces = kernel.traces(|edge| (edge.2 != 0x1f4 || edge.0 == 0).then_some(1));
        let missing = finder.missing(&traces, SplitOrigin::Launch, NONE);
        assert_eq!(missing.len(), 1);
    });
}

/// Events of a run, by hand.
struct Script<'a, 'b> {
    kernel: &'a Analysed<'b>,
    tracer: PathTracer<'a>,
}

impl<'a, 'b> Script<'a, 'b> {
    fn new(kernel: &'a Analysed<'b>) -> Script<'a, 'b> {
        let ops = kernel.addresses.len();
        let tracer = PathTracer::new(kernel.graph, &kernel.flow.thread, ops);
        Script { kernel, tracer }
    }

    fn place(block: u64, slot: u32) -> WarpPlace {
        WarpPlace {
            sm: 0,
            scheduler: 0,
            slot,
            block,
            warp: 0,
        }
    }

    fn begins(&mut self, cycle: u64, block: u64) {
        let event = Event::BlockBegins {
            sm: 0,
            block,
            index: [block as u32, 0, 0],
            warps: 1,
        };
        self.tracer.event(cycle, &event);
    }

    /// Issues operations, each at its cycle.
    fn issues(&mut self, block: u64, slot: u32, issues: &[(u64, u32)]) {
        for &(cycle, address) in issues {
            let event = Event::Issue {
                warp: Script::place(block, slot),
                at: self.kernel.at(address),
                active: 1,
                taken: 1,
                waited: Default::default(),
            };
            self.tracer.event(cycle, &event);
        }
    }

    fn split(&mut self, cycle: u64, block: u64, parent: u32, child: u32, address: u32) {
        let event = Event::Split {
            parent: Script::place(block, parent),
            child: Script::place(block, child),
            at: self.kernel.at(address),
            parent_lanes: 1,
            child_lanes: 2,
        };
        self.tracer.event(cycle, &event);
    }

    fn refused(&mut self, cycle: u64, block: u64, slot: u32, address: u32) {
        let event = Event::SplitRefused {
            warp: Script::place(block, slot),
            at: self.kernel.at(address),
            reason: SplitRefusal::NoSlot,
        };
        self.tracer.event(cycle, &event);
    }

    fn ends(&mut self, cycle: u64, block: u64, slot: u32) {
        let warp = Script::place(block, slot);
        self.tracer.event(cycle, &Event::WarpEnds { warp });
    }

    fn group_ends(&mut self, cycle: u64, block: u64) {
        let event = Event::BlockEnds {
            sm: 0,
            block,
            index: [block as u32, 0, 0],
        };
        self.tracer.event(cycle, &event);
    }

    fn finish(self) -> Result<RunTrace, String> {
        self.tracer.finish()
    }
}

/// Three waves of three groups on a machine for two groups: the third group begins when the first one has ended
/// (Figure 5.5).
#[test]
fn delays_are_from_the_room_of_a_group_or_from_its_batch() {
    Fixture::new("if_else", "if_else").analyse(|kernel| {
        let mut script = Script::new(kernel);
        let way = |start: u64| {
            [
                (0, 0x0),
                (10, 0x60),
                (14, 0x64),
                (30, 0x164),
                (34, 0x168),
                (38, 0x288),
                (46, 0x2a0),
            ]
            .map(|(cycle, at)| (start + cycle, at))
        };
        script.begins(100, 0);
        script.begins(104, 1);
        script.issues(0, 0, &way(108));
        script.issues(1, 1, &way(112));
        script.ends(158, 0, 0);
        script.group_ends(160, 0);
        script.ends(170, 1, 1);
        script.begins(163, 2);
        script.group_ends(170, 1);
        script.issues(2, 0, &way(175));
        script.ends(221, 2, 0);
        script.group_ends(225, 2);
        let run = script.finish().unwrap();
        assert_eq!(run.observed(), Observed(Cycles(225 - 108)));
        assert_eq!(run.first_dispatch(), 100);
        assert_eq!(run.traces.tail, 170 - 158);
        let mut runs = SplitRuns::default();
        let geometry = Geometry {
            groups: 3,
            threads: 64,
            resident: 2,
            slots: 2,
        };
        runs.add(&run, &geometry, &launched(), true);
        let of = runs.configurations.values().next().unwrap();
        // Room for the third group is there at 160, when the first one has ended.
        assert_eq!((of.count, of.delay), (3, 175 - 160));
        // In a batch of (5.1) it is the first one, and has no delay.
        assert_eq!(runs.thesis_delays[&0], 112 - 108);
        let time = |edge| runs.traces.time(edge).map(|time| time.0.0);
        let times: Vec<_> = (0..kernel.graph.edges.len()).filter_map(time).collect();
        assert_eq!(times, [10, 20, 4, 4, 8]);
    });
}

fn launched() -> LaunchObservation {
    LaunchObservation {
        cycles: Observed(Cycles(0)),
        issued: 0,
        units: 1,
        resident: 2,
        slots: 2,
        sites: Default::default(),
        marked_by_mode: false,
    }
}

/// Figure 5.6: the delay of a late split is added to its own path, not to its parent's path.
#[test]
fn the_delay_of_a_late_split_is_not_added_to_the_path_of_its_parent() {
    let [parent, child] =
        [(3, 100), (80, 15)].map(|(delay, longest)| DelayedPath { delay, longest });
    assert_eq!(parallel_batch([parent, child]), Some(103));
    assert_eq!(serialised_batch([3, 80], [100, 15]), Some(195));
    assert_eq!(parallel_batch([]), None);
}

/// A machine of 4 compute units with 40 slots each holds 4 × 13 groups of 3 waves, and not ⌊160 / 3⌋ of them (E3).
#[test]
fn a_pool_of_all_units_holds_more_groups_than_the_units_do() {
    assert_eq!(batches_of_one_pool(53, 3 * 64, 160), 1);
    assert_eq!(batches(53, 4 * 13), 2);
    assert_eq!(
        (batches(52, 52), batches_of_one_pool(54, 3 * 64, 160)),
        (1, 2)
    );
    // Fewer waves than slots: W is the number of waves of the kernel.
    assert_eq!(batches_of_one_pool(2, 256, 160), 1);
    // No groups, or a machine that holds none, must not divide by zero.
    assert_eq!((batches(0, 0), batches_of_one_pool(0, 0, 0)), (0, 0));
}

/// Dispatches groups one by one to the unit that has room first, with a delay: an independent schedule.
fn schedule(seed: u64, units: u64, each: u64, groups: u64) -> (Vec<(u64, u64)>, u64) {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut free: Vec<Vec<u64>> = vec![vec![0; each as usize]; units as usize];
    let mut spans = Vec::new();
    let mut dispatcher = 0;
    let pace = random.u64(0..4);
    for _ in 0..groups {
        let earliest = free.iter().enumerate().flat_map(|(unit, slots)| {
            slots
                .iter()
                .enumerate()
                .map(move |(slot, &at)| (at, unit, slot))
        });
        let (at, unit, slot) = earliest.min().unwrap();
        let begins = at.max(dispatcher);
        dispatcher = begins + pace;
        let ends = begins + random.u64(1..60);
        free[unit][slot] = ends;
        spans.push((begins, ends));
    }
    let all = spans.iter().map(|span| span.1).max().unwrap();
    (spans, all)
}

/// The time of any schedule is at most the number of batches times the largest time from the room of a group to its
/// end. With the batches of (5.1) this does not hold.
#[test]
fn no_schedule_takes_longer_than_its_batches() {
    let mut below = 0;
    for seed in 0..3000 {
        let mut random = fastrand::Rng::with_seed(seed);
        let (units, slots, waves) = (random.u64(1..5), random.u64(1..12), random.u64(1..5));
        let each = slots / waves;
        if each == 0 {
            continue;
        }
        let groups = random.u64(1..60);
        let (spans, all) = schedule(seed, units, each, groups);
        let ends: Vec<u64> = spans.iter().map(|span| span.1).collect();
        let rooms = room_times(0, units * each, &ends);
        let times = rooms.iter().zip(&spans).map(|(room, span)| span.1 - room);
        let most = times.max().unwrap();
        assert!(rooms.iter().zip(&spans).all(|(room, span)| *room <= span.0));
        assert!(all <= batches(groups, units * each) * most, "seed {seed}");
        below += u32::from(all > batches_of_one_pool(groups, waves * 64, units * slots) * most);
    }
    assert!(below > 0, "the batches of (5.1) never were too few");
}

/// One wave, one reserve slot, a site in a loop of four rounds: it splits in the first round, and executes both arms in
/// the others. The configuration of the thesis, which splits once, has one arm in all rounds (E7).
#[test]
fn a_mark_in_a_loop_splits_more_than_once() {
    Fixture::new("loop_repush", "loop_repush").analyse(|kernel| {
        let mut script = Script::new(kernel);
        script.begins(0, 0);
        script.issues(0, 0, &[(0, 0x0), (10, 0x14), (20, 0x90), (30, 0xa8)]);
        script.split(30, 0, 0, 1, 0xa8);
        script.issues(
            0,
            1,
            &[
                (34, 0xa8),
                (40, 0x154),
                (44, 0x158),
                (48, 0x15c),
                (80, 0x70),
            ],
        );
        script.issues(
            0,
            0,
            &[
                (34, 0xac),
                (90, 0x154),
                (94, 0x158),
                (98, 0x70),
                (102, 0x8c),
            ],
        );
        let mut cycle = 102;
        for _ in 0..3 {
            script.refused(cycle + 10, 0, 0, 0xa8);
            let round = [
                (4, 0x90),
                (10, 0xa8),
                (14, 0xac),
                (74, 0x154),
                (78, 0x158),
                (82, 0x15c),
            ];
            let rest = [(110, 0x70), (114, 0x8c)];
            script.issues(0, 0, &round.map(|(after, at)| (cycle + after, at)));
            script.issues(0, 0, &rest.map(|(after, at)| (cycle + after, at)));
            cycle += 114;
        }
        script.issues(0, 0, &[(cycle + 4, 0x1f4)]);
        script.ends(cycle + 5, 0, 0);
        // The child leaves the loop at once.
        script.issues(0, 1, &[(90, 0x8c), (94, 0x1f4)]);
        script.ends(95, 0, 1);
        script.group_ends(cycle + 5, 0);
        let run = script.finish().unwrap();
        let launched = run
            .members
            .iter()
            .find(|m| m.origin == SplitOrigin::Launch)
            .unwrap();
        assert_eq!(launched.undivided.len(), 1);
        let observed = run.observed().0.0;
        let finder = kernel.finder(Some(4));
        let edges = finder.measured(&run.traces, |_| false);
        // The wave does not always split, so both arms may be executed.
        let exclusive = finder.exclusive_arms(|branch| !launched.undivided.contains(&branch));
        assert!(exclusive.is_empty());
        let longest = finder.longest(&edges, SplitOrigin::Launch, &finder.ends, &exclusive);
        let corrected = longest.unwrap().time.0.0 + run.traces.tail;
        assert!(corrected >= observed, "{corrected} {observed}");
        let once: Vec<u64> = [0, 1]
            .into_iter()
            .map(|place| {
                let path = finder.longest_of_configuration(&run.traces, &[0], place);
                path.unwrap().time.0.0 + run.traces.tail
            })
            .collect();
        assert!(
            once.iter().all(|&time| time < observed),
            "{once:?} {observed}"
        );
    });
}

/// Splits that begin and end, the smallest free place, and a run that leaves the graph.
#[test]
fn traces_of_splits_have_places_and_origins() {
    Fixture::new("loop_repush", "loop_repush").analyse(|kernel| {
        let mut script = Script::new(kernel);
        script.begins(0, 0);
        script.issues(0, 0, &[(0, 0x0), (10, 0x14), (20, 0x90)]);
        // Before the parent has issued the branch.
        script.split(30, 0, 0, 7, 0xa8);
        script.split(30, 0, 0, 9, 0xa8);
        script.issues(
            0,
            0,
            &[(30, 0xa8), (31, 0x154), (32, 0x158), (33, 0x70), (34, 0x8c)],
        );
        for slot in [7, 9] {
            let way = [
                (40, 0xa8),
                (41, 0x154),
                (42, 0x158),
                (43, 0x70),
                (44, 0x8c),
                (45, 0x1f4),
            ];
            script.issues(0, slot, &way);
        }
        script.ends(46, 0, 7);
        script.issues(0, 0, &[(50, 0x90), (51, 0xa8)]);
        script.split(51, 0, 0, 8, 0xa8);
        script.issues(
            0,
            8,
            &[(60, 0xa8), (61, 0x154), (62, 0x158), (63, 0x70), (64, 0x8c)],
        );
        script.issues(0, 8, &[(65, 0x1f4)]);
        script.ends(66, 0, 8);
        script.ends(66, 0, 9);
        script.issues(
            0,
            0,
            &[
                (70, 0x154),
                (71, 0x158),
                (72, 0x70),
                (73, 0x8c),
                (74, 0x1f4),
            ],
        );
        script.ends(75, 0, 0);
        script.group_ends(75, 0);
        let run = script.finish().unwrap();
        let branch = SplitOrigin::Child(kernel.point(0xa8));
        let members: Vec<_> = run
            .members
            .iter()
            .map(|m| (m.origin, m.place, m.first, m.last))
            .collect();
        assert_eq!(
            members,
            [
                (branch, 1, 40, 45),
                (branch, 1, 60, 65),
                (branch, 2, 40, 45),
                (SplitOrigin::Launch, 0, 0, 74),
            ]
        );
        assert_eq!(run.traces.splits[&kernel.point(0xa8)], 3);

        let mut astray = Script::new(kernel);
        astray.begins(0, 0);
        astray.issues(
            0,
            0,
            &[(0, 0x0), (10, 0x14), (20, 0x90), (30, 0xa8), (34, 0x70)],
        );
        assert!(astray.finish().is_err());
        let mut unfinished = Script::new(kernel);
        unfinished.begins(0, 0);
        unfinished.issues(0, 0, &[(0, 0x0)]);
        assert!(unfinished.finish().is_err());
    });
}
