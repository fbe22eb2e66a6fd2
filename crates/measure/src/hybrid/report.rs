//! Report of a hybrid analysis, made from merged runs: configurations, longest paths and formulas.

use std::collections::{BTreeMap, BTreeSet};

use warpbound_base::{Diagnostic, Named as _};
use warpbound_ipet::NoLongestPath;
use warpbound_launch::LaunchFile;
use warpbound_report::HybridReport;
use warpbound_report::hybrid::{HybridConfiguration, HybridEdge, HybridPoint, SplitEstimate};
use warpbound_simulate::timed::SplitPipelines;

use super::HybridOptions;
use super::combine::SplitRuns;
use super::formulas::{
    DelayedPath, batches, batches_of_one_pool, parallel_batch, serialised_batch,
};
use super::longest::LongestPaths;
use super::paths::PathFinder;
use super::traces::SplitOrigin;
use warpbound_bounds::{bound::FlowFacts, bound::bound};
use warpbound_query::graph::calls;
use warpbound_query::prepared::loop_names;
use warpbound_query::{BoundOptions, CfgLevel, CycleQuery, KernelFlow, Prepared, Session};

/// Runs by number of splits and pipelines.
pub(super) type RunsBySplits = BTreeMap<(u32, u8), SplitRuns>;

/// Inputs of a report, apart from the runs.
pub(super) struct ReportInputs<'a> {
    pub(super) session: &'a Session,
    pub(super) prepared: &'a Prepared<'a>,
    pub(super) flow: &'a KernelFlow,
    pub(super) finder: &'a PathFinder<'a>,
    pub(super) facts: &'a FlowFacts,
    pub(super) options: &'a HybridOptions,
    pub(super) bound_options: &'a BoundOptions,
}

impl ReportInputs<'_> {
    /// Makes the report.
    pub(super) fn report(
        &self,
        target: &LaunchFile,
        splits: &BTreeSet<u32>,
        runs: &RunsBySplits,
        notes: BTreeSet<String>,
    ) -> Result<HybridReport, Diagnostic> {
        let (session, prepared, options) = (self.session, self.prepared, self.options);
        let geometry = runs.values().find_map(|runs| runs.target);
        let Some(geometry) = geometry else {
            let message = Diagnostic::new("no run of the first launch has come to its end");
            return Err(session.locate(message.in_kernel(prepared.kernel.demangled())));
        };
        let get = |count: u32, pipelines: SplitPipelines| runs.get(&(count, pipelines as u8));
        let mut estimates = Vec::new();
        for &count in splits {
            let Some(parallel) = get(count, SplitPipelines::Parallel) else {
                continue;
            };
            let serialised = match count {
                // Without splits the pipelines make no difference, and only parallel ones were run.
                0 => Some(parallel).filter(|_| options.serialised),
                _ => get(count, SplitPipelines::Serialised),
            };
            estimates.push(self.estimate(count, parallel, serialised));
        }
        let graph = session.graph(prepared.kernel, CfgLevel::Warp, self.bound_options)?;
        let points = self.points(&graph);
        Ok(HybridReport {
            schema: HybridReport::SCHEMA,
            file: session.file.clone(),
            kernel: prepared.kernel.demangled(),
            machine: options.timed.machine.name.clone(),
            selection: options.timed.selection.to_string(),
            groups: target.grid.iter().map(|&n| u64::from(n)).product(),
            threads: geometry.threads,
            resident: geometry.resident,
            batches: batches(geometry.groups, geometry.resident),
            thesis_batches: batches_of_one_pool(geometry.groups, geometry.threads, geometry.slots),
            merge: options.timed.splitting.merge,
            points,
            splits: estimates,
            static_lone_wave: self.static_lone_wave(),
            loops: self.loops(),
            assumptions: self.assumptions(),
            notes: notes.into_iter().collect(),
            graph,
        })
    }

    /// Estimates the kernel with a number of splits.
    fn estimate(
        &self,
        splits: u32,
        runs: &SplitRuns,
        serialised: Option<&SplitRuns>,
    ) -> SplitEstimate {
        let paths = LongestPaths::new(self.finder, runs, splits);
        let missing = paths.missing();
        let of_seen = self.parallel(runs, &paths);
        let by_serialised = serialised.and_then(|runs| {
            let paths = LongestPaths::new(self.finder, runs, splits);
            let estimate = self.serialised(runs, &paths).ok()?;
            estimate.filter(|_| paths.missing().is_empty())
        });
        let (thesis_parallel, thesis_serialised) = self.thesis(splits, runs);
        let edges = self.edges(runs, &missing);
        let seen = edges.iter().filter(|edge| edge.count > 0).count();
        SplitEstimate {
            splits,
            observed: runs.observed.0,
            observed_with_launch: runs.observed.1,
            observed_serialised: serialised.map(|runs| runs.observed.0),
            // With a missing edge the number is only about paths that were seen, and is reported separately.
            parallel: of_seen
                .clone()
                .ok()
                .flatten()
                .filter(|_| missing.is_empty()),
            serialised: by_serialised,
            thesis_parallel,
            thesis_serialised,
            reason: self.reason(of_seen.as_ref().err(), &missing),
            parallel_of_seen: of_seen.ok().flatten(),
            coverage: match edges.len() {
                0 => 1.0,
                all => seen as f64 / all as f64,
            },
            runs: runs.count,
            splits_taken: runs.traces.splits.values().sum(),
            splits_refused: runs.traces.refusals,
            merges: runs.traces.merges,
            configurations: self.configurations(&paths),
            edges,
        }
    }

    /// Estimates the kernel with parallel pipelines by (5.4), with batches of the groups that the machine holds, and
    /// with delays from when there is room for a group. For example, 10 groups on a machine for 4 take 3 batches.
    fn parallel(
        &self,
        runs: &SplitRuns,
        paths: &LongestPaths<'_>,
    ) -> Result<Option<u64>, NoLongestPath> {
        let mut most = 0;
        for origin in paths.origins() {
            most = paths.largest(paths.of_origin(origin), true)?.max(most);
        }
        let geometry = runs.target;
        Ok(geometry.map(|of| batches(of.groups, of.resident).saturating_mul(most)))
    }

    /// Estimates the kernel with serialised pipelines by (5.5), with the same corrections. The path of a place is the
    /// longest path of any split that had the place.
    fn serialised(
        &self,
        runs: &SplitRuns,
        paths: &LongestPaths<'_>,
    ) -> Result<Option<u64>, NoLongestPath> {
        let places = runs.configurations.values().flat_map(|of| &of.places);
        let places: BTreeSet<u32> = places.copied().collect();
        let mut longest = Vec::new();
        for place in places {
            longest.push(paths.largest(paths.of_place(place), false)?);
        }
        let delays = runs.configurations.values().map(|of| of.delay);
        let batch = serialised_batch(delays, longest);
        let geometry = runs.target.zip(batch);
        Ok(geometry.map(|(of, batch)| batches(of.groups, of.resident).saturating_mul(batch)))
    }

    /// Computes (5.4) and (5.5) as in the thesis.
    fn thesis(&self, splits: u32, runs: &SplitRuns) -> (Option<u64>, Option<u64>) {
        let Some(geometry) = runs.target else {
            return (None, None);
        };
        let marks = self.marks(runs, splits);
        let mut all = Vec::new();
        for place in 0..=marks.len() {
            let path = self
                .finder
                .longest_of_configuration(&runs.traces, &marks, place);
            let delay = u32::try_from(place)
                .ok()
                .and_then(|place| runs.thesis_delays.get(&place));
            if let (Ok(path), Some(&delay)) = (path, delay) {
                all.push(DelayedPath {
                    delay,
                    longest: path.time.0.0.saturating_add(runs.traces.tail),
                });
            }
        }
        let batches = batches_of_one_pool(geometry.groups, geometry.threads, geometry.slots);
        let delays = all.iter().map(|split| split.delay);
        let serial = serialised_batch(delays, all.iter().map(|split| split.longest));
        let times = |batch: u64| batches.saturating_mul(batch);
        (parallel_batch(all).map(times), serial.map(times))
    }

    /// Returns the first marks in the order of their addresses, as numbers of branches. A branch that decides about
    /// the other arm of an if-else is no mark of its own.
    fn marks(&self, runs: &SplitRuns, splits: u32) -> Vec<usize> {
        let graph = self.finder.graph;
        let seconds: BTreeSet<usize> = graph
            .branches
            .iter()
            .filter_map(|branch| branch.other_arm)
            .collect();
        let mut marks: Vec<(u32, usize)> = graph
            .branches
            .iter()
            .enumerate()
            .filter(|(number, _)| !seconds.contains(number))
            .filter_map(|(number, branch)| Some((graph.points.get(branch.point)?.at, number)))
            .filter(|(at, _)| runs.sites.contains(at))
            .map(|(at, number)| (at.0, number))
            .collect();
        marks.sort_unstable();
        let marks = marks.into_iter().map(|(_, number)| number);
        marks.take(splits as usize).collect()
    }

    /// Computes the bound of a wave that runs alone, if there is one.
    fn static_lone_wave(&self) -> Option<u64> {
        let options = BoundOptions {
            cycles: Some(CycleQuery {
                machine: Some(self.options.timed.machine.clone()),
                ..CycleQuery::default()
            }),
            ..self.bound_options.clone()
        };
        // The bound is shown for comparison only, so a refusal is no error.
        let bound = bound(self.session, self.prepared.kernel, &options).ok()?;
        bound.cycles?.bound
    }

    /// Returns the reason for the missing estimate.
    fn reason(&self, failed: Option<&NoLongestPath>, missing: &BTreeSet<usize>) -> Option<String> {
        match failed {
            Some(NoLongestPath::Unbounded) => {
                let names = loop_names(&self.flow.loops);
                let missing = names.iter().zip(&self.facts.bounds);
                let missing: Vec<String> = missing
                    .filter(|(_, bound)| bound.is_none())
                    .map(|(name, _)| format!("{} at {}", name.id, name.at))
                    .collect();
                return Some(format!("no bound of loop {}", missing.join(", ")));
            }
            Some(NoLongestPath::NoPath) => {
                return Some("no path of passed edges leads to the end".to_owned());
            }
            Some(NoLongestPath::Failed(why)) => return Some(why.message.clone()),
            None => {}
        }
        let missing: Vec<String> = missing.iter().map(|&edge| self.edge_name(edge)).collect();
        (!missing.is_empty()).then(|| {
            format!(
                "no run has passed {}, which a wave may pass",
                missing.join(", ")
            )
        })
    }

    fn edge_name(&self, number: usize) -> String {
        self.finder
            .graph
            .edges
            .get(number)
            .map_or(String::new(), |edge| {
                format!("P{} → P{}", edge.from, edge.to)
            })
    }

    fn configurations(&self, paths: &LongestPaths<'_>) -> Vec<HybridConfiguration> {
        let configuration = |origin: SplitOrigin| {
            let members = paths.of_origin(origin);
            HybridConfiguration {
                origin: match origin {
                    SplitOrigin::Launch => "launch".to_owned(),
                    SplitOrigin::Child(point) => self.location(point),
                },
                count: members.iter().map(|(_, of)| of.count).sum(),
                delay: members.iter().map(|(_, of)| of.delay).max().unwrap_or(0),
                merges: members.iter().all(|(of, _)| !of.reaches_end),
                longest: paths.largest(members, false).ok(),
            }
        };
        paths.origins().into_iter().map(configuration).collect()
    }

    /// Returns the label or address of a point.
    fn location(&self, point: usize) -> String {
        let point = self.finder.graph.points.get(point);
        point.map_or(String::new(), |point| self.prepared.location(point.at))
    }

    fn edges(&self, runs: &SplitRuns, missing: &BTreeSet<usize>) -> Vec<HybridEdge> {
        let space = &self.flow.thread.space;
        let edges = self.finder.graph.edges.iter().enumerate();
        edges
            .map(|(number, edge)| HybridEdge {
                from: edge.from,
                to: edge.to,
                via: edge
                    .via
                    .map(|via| self.prepared.location(space.block(via).first)),
                time: runs.traces.time(number).map(|time| time.0.0),
                count: runs.traces.edges.get(number).map_or(0, |times| times.count),
                missing: missing.contains(&number),
            })
            .collect()
    }

    fn points(&self, graph: &warpbound_report::Graph) -> Vec<HybridPoint> {
        let space = &self.flow.thread.space;
        let points = self.finder.graph.points.iter();
        points
            .map(|point| {
                let first = self.prepared.location(space.block(point.node).first);
                let calls = calls(self.prepared, self.flow, point.node);
                let block = graph
                    .nodes
                    .iter()
                    .position(|node| node.from == first && node.calls == calls);
                HybridPoint {
                    at: self.prepared.location(point.at),
                    block: block.unwrap_or_default(),
                    kinds: point.kinds.iter().map(|kind| kind.name()).collect(),
                    calls,
                    source: self.prepared.source(self.prepared.addr(point.at)),
                }
            })
            .collect()
    }

    /// Returns the bounds of loops as sentences.
    fn loops(&self) -> Vec<String> {
        let names = loop_names(&self.flow.loops);
        let numbers = self.facts.bounds.iter().zip(&self.facts.totals);
        let numbers = names.iter().zip(numbers);
        let sentence = |(name, (bound, total)): (&warpbound_ipet::LoopName, _)| {
            let text = match (bound, total) {
                (Some(bound), _) => {
                    format!("its header is executed at most {bound} times for each entry")
                }
                (None, Some(total)) => format!("its header is executed at most {total} times"),
                (None, None) => "no bound".to_owned(),
            };
            format!("{} at {}: {text}", name.id, name.at)
        };
        let numbers: Vec<_> = numbers
            .map(|(name, (bound, total))| sentence((name, (*bound, *total))))
            .collect();
        numbers
    }

    /// Returns the assumptions of the estimates.
    fn assumptions(&self) -> Vec<String> {
        let mut all = vec![
            "no edge between points takes longer than in the runs, and no wave starts later after there is room for its group"
                .to_owned(),
            "an edge that no run has passed takes no longer than a way that runs have passed, if that way executes all code of the edge and more".to_owned(),
        ];
        if self.options.splits.iter().any(|&splits| splits > 0) {
            all.push(
                "a wave whose lanes disagree splits at a site, unless waves of its origin were refused to in a run"
                    .to_owned(),
            );
            all.push(
                "splits begin at those sites only at which splits of the runs began".to_owned(),
            );
        }
        all
    }
}
