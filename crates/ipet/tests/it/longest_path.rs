//! Longest paths between points against the enumeration of all paths of small random graphs.

use std::collections::BTreeMap;

use warpbound_base::{Cycles, Observed};
use warpbound_ipet::{
    Effort, ExclusiveArms, Ipet, MeasuredEdge, MeasuredGraph, NoLongestPath, PathQuery, PathStart,
    StatedCounts, longest_path,
};
use warpbound_simt::counts::{CountInput, CountSystem, CountedLoop};
use warpbound_simt::warp::{Via, WarpStep};
use warpbound_simt::{EntryTable, NodeId};

use crate::generate::Random;

/// If-else as the compilers write it: two branches in sequence, each around one arm.
#[derive(Clone, Debug)]
struct IfElse {
    first: usize,
    into_first: usize,
    second: usize,
    into_second: usize,
    /// Nodes of the first arm, with the second branch.
    inside_first: Vec<usize>,
}

/// Random structured graph; each node ends with a point, and each edge between nodes is an edge between points.
#[derive(Default, Debug)]
struct Program {
    nodes: usize,
    edges: Vec<(usize, usize)>,
    loops: Vec<(usize, Vec<usize>, u64)>,
    pairs: Vec<IfElse>,
}

impl Program {
    fn node(&mut self) -> usize {
        self.nodes += 1;
        self.nodes - 1
    }

    fn edge(&mut self, from: usize, to: usize) -> usize {
        self.edges.push((from, to));
        self.edges.len() - 1
    }

    /// Appends code after `from`; returns its last node.
    fn extend(&mut self, random: &mut Random, from: usize, depth: u32) -> usize {
        let shape = if depth == 0 { 0 } else { random.between(0, 4) };
        match shape {
            0 => {
                let next = self.node();
                self.edge(from, next);
                next
            }
            1 => {
                let middle = self.extend(random, from, depth - 1);
                self.extend(random, middle, depth - 1)
            }
            2 => {
                let first = self.extend(random, from, 0);
                let into_first = self.edges.len();
                let inside = self.nodes;
                let end = self.extend(random, first, depth - 1);
                let second = self.node();
                let inside_first = (inside..self.nodes).collect();
                self.edge(end, second);
                self.edge(first, second);
                let into_second = self.edges.len();
                let end = self.extend(random, second, depth - 1);
                let join = self.node();
                self.edge(end, join);
                self.edge(second, join);
                self.pairs.push(IfElse {
                    first,
                    into_first,
                    second,
                    into_second,
                    inside_first,
                });
                join
            }
            3 => {
                let branch = self.extend(random, from, 0);
                let end = self.extend(random, branch, depth - 1);
                let join = self.node();
                self.edge(end, join);
                self.edge(branch, join);
                join
            }
            _ => {
                let header = self.extend(random, from, 0);
                let latch = self.extend(random, header, depth - 1);
                self.edge(latch, header);
                let body = (header..self.nodes).collect();
                self.loops.push((header, body, random.between(1, 3) as u64));
                self.extend(random, latch, 0)
            }
        }
    }

    fn steps(&self) -> Vec<Vec<WarpStep>> {
        let mut steps = vec![Vec::new(); self.nodes];
        let step = |to: Option<usize>| WarpStep {
            to: to.map(|to| NodeId(to as u32)),
            via: Via::Walk,
            pushes: Default::default(),
        };
        for &(from, to) in &self.edges {
            steps[from].push(step(Some(to)));
        }
        steps[self.nodes - 1].push(step(None));
        steps
    }

    fn counted_loops(&self) -> Vec<CountedLoop> {
        self.loops
            .iter()
            .enumerate()
            .map(|(fact, (header, body, _))| CountedLoop {
                headers: vec![NodeId(*header as u32)],
                body: body.iter().map(|&node| NodeId(node as u32)).collect(),
                fact,
            })
            .collect()
    }

    fn system(&self, steps: &[Vec<WarpStep>]) -> CountSystem {
        let loops = self.counted_loops();
        CountSystem::build(&CountInput {
            lanes: 64,
            lane_limits: &[],
            entry: NodeId(0),
            thread: steps,
            warp: steps,
            entries: &EntryTable::default(),
            loops: &loops,
            shared_returns: &Default::default(),
            pending: &|_| &[],
        })
    }
}

/// Enumeration of the paths of a program.
struct Walk<'a> {
    program: &'a Program,
    times: &'a [Option<u64>],
    exclusive: bool,
    most: Option<u64>,
    /// Steps that are left; paths of a program are short.
    left: u64,
}

impl Walk<'_> {
    fn from(&mut self, node: usize, time: u64, rounds: &mut [u64], arms: &mut [bool]) {
        self.left -= 1;
        if node == self.program.nodes - 1 {
            self.most = self.most.max(Some(time));
        }
        for (edge, &(from, _)) in self.program.edges.iter().enumerate() {
            if from == node {
                self.take(edge, time, rounds, arms);
            }
        }
    }

    fn take(&mut self, edge: usize, time: u64, rounds: &[u64], arms: &[bool]) {
        let (from, to) = self.program.edges[edge];
        let Some(cost) = self.times[edge] else {
            return;
        };
        let (mut rounds, mut arms) = (rounds.to_vec(), arms.to_vec());
        for (number, (header, body, bound)) in self.program.loops.iter().enumerate() {
            if to == *header {
                rounds[number] = if body.contains(&from) {
                    rounds[number] + 1
                } else {
                    1
                };
                if rounds[number] > *bound {
                    return;
                }
            }
        }
        for (number, pair) in self.program.pairs.iter().enumerate() {
            if from == pair.first {
                arms[number] = edge == pair.into_first;
            }
            if self.exclusive && edge == pair.into_second && arms[number] {
                return;
            }
        }
        self.from(to, time + cost, &mut rounds, &mut arms);
    }
}

/// Longest path by the integer program.
fn by_program(
    program: &Program,
    times: &[Option<u64>],
    start: PathStart<'_>,
    exclusive: bool,
) -> Option<u64> {
    let steps = program.steps();
    let system = program.system(&steps);
    let bounds: Vec<Option<u64>> = program
        .loops
        .iter()
        .map(|(_, _, bound)| Some(*bound))
        .collect();
    let stated = StatedCounts {
        bounds: &bounds,
        totals: &vec![None; bounds.len()],
        never: &[],
    };
    let ipet = Ipet::with_step_costs(&system, |_| None, stated).expect("small numbers");
    let nodes: Vec<NodeId> = (0..program.nodes as u32).map(NodeId).collect();
    let edges: Vec<MeasuredEdge> = program
        .edges
        .iter()
        .zip(times)
        .map(|(&(from, to), time)| MeasuredEdge {
            from,
            via: Some(NodeId(to as u32)),
            to,
            time: time.map(|time| Observed(Cycles(time))),
        })
        .collect();
    let leaving = |node: usize| {
        let edges = program.edges.iter().enumerate();
        let from = edges.filter(|(_, (from, _))| *from == node);
        from.map(|(edge, _)| edge).collect()
    };
    let exclusive: Vec<ExclusiveArms> = program
        .pairs
        .iter()
        .filter(|_| exclusive)
        .map(|pair| ExclusiveArms {
            label: String::new(),
            arms: vec![pair.into_first, pair.into_second],
            executions: leaving(pair.first),
        })
        .collect();
    let query = PathQuery {
        start,
        ends: &[program.nodes - 1],
        exclusive: &exclusive,
    };
    let graph = MeasuredGraph {
        nodes: &nodes,
        edges: &edges,
        loops: &program.counted_loops(),
        bounds: &bounds,
    };
    match longest_path(&ipet, &system, graph, query, Effort::default()) {
        Ok(path) => {
            let counts = path.counts.expect("an integral path");
            let time: u128 = counts
                .iter()
                .zip(times)
                .map(|(count, time)| count * u128::from(time.unwrap_or(0)))
                .sum();
            assert_eq!(time, u128::from(path.time.0.0), "{program:?}");
            Some(path.time.0.0)
        }
        Err(NoLongestPath::NoPath) => None,
        Err(why) => {
            assert_eq!(format!("{why:?}"), "", "{program:?}");
            None
        }
    }
}

/// Longest path by enumeration.
fn by_enumeration(
    program: &Program,
    times: &[Option<u64>],
    first: Option<&[usize]>,
    exclusive: bool,
) -> Option<u64> {
    let mut walk = Walk {
        program,
        times,
        exclusive,
        most: None,
        left: 200_000,
    };
    // The loops around the start are in their first round, and the first arms around it were entered at their branches.
    let start = first.map_or(0, |first| program.edges[first[0]].0);
    let around = |body: &Vec<usize>| u64::from(body.contains(&start));
    let mut rounds: Vec<u64> = program
        .loops
        .iter()
        .map(|(_, body, _)| around(body))
        .collect();
    let inside = |pair: &IfElse| pair.inside_first.contains(&start);
    let mut arms: Vec<bool> = program.pairs.iter().map(inside).collect();
    match first {
        None => walk.from(0, 0, &mut rounds, &mut arms),
        Some(first) => {
            for &edge in first {
                walk.take(edge, 0, &rounds, &arms);
            }
        }
    }
    walk.most
}

fn random_program(seed: u64) -> (Program, Vec<Option<u64>>) {
    let mut random = Random(seed);
    let mut program = Program::default();
    let first = program.node();
    let last = program.extend(&mut random, first, 3);
    program.extend(&mut random, last, 0);
    let times = (0..program.edges.len())
        .map(|_| (random.between(0, 15) > 0).then(|| random.between(0, 50) as u64))
        .collect();
    (program, times)
}

#[test]
fn longest_paths_are_those_of_the_enumeration() {
    let mut kinds: BTreeMap<(bool, bool), u32> = BTreeMap::new();
    for seed in 0..600 {
        let (program, times) = random_program(seed);
        for exclusive in [false, true] {
            let expected = by_enumeration(&program, &times, None, exclusive);
            let found = by_program(&program, &times, PathStart::Point(0), exclusive);
            assert_eq!(
                found, expected,
                "seed {seed}, exclusive {exclusive}: {program:?} {times:?}"
            );
            *kinds.entry((exclusive, expected.is_some())).or_default() += 1;
        }
    }
    assert!(
        kinds.len() == 4 && kinds.values().all(|&count| count > 50),
        "{kinds:?}"
    );
}

#[test]
fn longest_paths_from_a_branch_are_those_of_the_enumeration() {
    let (mut found_paths, mut inside_loops) = (0, 0);
    for seed in 0..600 {
        let (program, times) = random_program(seed);
        let skips = program.pairs.iter().map(|pair| (pair.first, pair.second));
        for (from, to) in skips.collect::<Vec<_>>() {
            let edges = program.edges.iter().enumerate();
            let first: Vec<usize> = edges
                .filter(|(_, edge)| **edge == (from, to))
                .map(|(number, _)| number)
                .collect();
            for exclusive in [false, true] {
                let expected = by_enumeration(&program, &times, Some(&first), exclusive);
                let found = by_program(&program, &times, PathStart::Edge(&first), exclusive);
                assert_eq!(
                    found, expected,
                    "seed {seed} from {from}: {program:?} {times:?}"
                );
                found_paths += u32::from(found.is_some());
                inside_loops += u32::from(program.loops.iter().any(|l| l.1.contains(&from)));
            }
        }
    }
    assert!(
        found_paths > 200 && inside_loops > 100,
        "{found_paths} {inside_loops}"
    );
}

/// Without its exclusive arms, a program with an if-else would take the time of both arms.
#[test]
fn exclusive_arms_decide() {
    let mut shorter = 0;
    for seed in 0..200 {
        let (program, times) = random_program(seed);
        let both = by_program(&program, &times, PathStart::Point(0), false);
        let one = by_program(&program, &times, PathStart::Point(0), true);
        assert!(one <= both);
        shorter += u32::from(one < both);
    }
    assert!(shorter > 20, "{shorter}");
}

#[test]
fn a_loop_without_a_bound_has_no_longest_path() {
    let program = Program {
        nodes: 3,
        edges: vec![(0, 1), (1, 1), (1, 2)],
        loops: vec![(1, vec![1], 0)],
        pairs: Vec::new(),
    };
    let steps = program.steps();
    let system = program.system(&steps);
    let ipet = Ipet::with_step_costs(&system, |_| None, StatedCounts::default()).unwrap();
    let edges: Vec<MeasuredEdge> = program
        .edges
        .iter()
        .map(|&(from, to)| MeasuredEdge {
            from,
            via: Some(NodeId(to as u32)),
            to,
            time: Some(Observed(Cycles(3))),
        })
        .collect();
    let graph = MeasuredGraph {
        nodes: &[NodeId(0), NodeId(1), NodeId(2)],
        edges: &edges,
        loops: &program.counted_loops(),
        bounds: &[None],
    };
    let query = PathQuery {
        start: PathStart::Point(0),
        ends: &[2],
        exclusive: &[],
    };
    let found = longest_path(&ipet, &system, graph, query, Effort::default());
    assert_eq!(found, Err(NoLongestPath::Unbounded));
}
