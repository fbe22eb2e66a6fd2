//! Sums over the paths of warps that the bound of a launch is composed of: the largest sums by integer programs, or
//! the sums over the paths of a run.
//!
//! [`PathSums`] has one implementation for each, so that a bound and the composition of a run (SOUNDNESS 20.10) add
//! the same terms.

use std::cell::RefCell;
use std::collections::HashMap;

use super::executed::ExecutionServices;
use super::segments::greatest_segment;
use super::*;

/// Sums of costs over paths: the largest over all paths that are possible, or over the paths that were observed.
pub trait PathSums {
    /// Sum, with the evidence for it.
    type Sum: Clone;

    /// Cycles of a sum.
    fn cycles(sum: &Self::Sum) -> u64;

    /// Time of a warp, or of a chain of warps, among others, without its waits for them. Contains first requests if
    /// they are counted for each warp. Also returns the vectors that the time was computed with.
    fn path(
        &self,
        time: &mut KernelTime<'_>,
        counts_first: bool,
    ) -> Result<(Self::Sum, NodeVectors), Diagnostic>;

    /// The same time for a warp that others follow: it ends with its last instruction, whatever it has stored.
    fn followed(
        &self,
        time: &mut KernelTime<'_>,
        counts_first: bool,
    ) -> Result<(Self::Sum, NodeVectors), Diagnostic>;

    /// Weight of the path of a chain of warps, where each node has a weight.
    fn of_chain(&self, of_node: &dyn Fn(usize) -> u64) -> Result<Self::Sum, Diagnostic>;

    /// Weight of the path of a warp, where each node has a weight, and the start has one.
    fn of_warp(
        &self,
        of_node: &dyn Fn(usize) -> u64,
        of_warp: u64,
    ) -> Result<Self::Sum, Diagnostic>;
}

/// Vectors with which the times of warps, and of warps that others follow, were computed.
#[derive(Clone)]
pub struct SumVectors {
    /// Vectors of the warp whose end the launch waits for.
    pub path: NodeVectors,
    /// Vectors of a warp that another one follows in its place.
    pub followed: NodeVectors,
}

/// Times that a bound is composed of, and the vectors that they were computed with.
pub struct LaunchSums<T> {
    /// Times of warps.
    pub times: LaunchTimes<T>,
    /// Windows of requests that delay warps.
    pub windows: Vec<Window>,
    /// Vectors that these times were computed with.
    pub vectors: SumVectors,
}

impl LaunchTime {
    /// Collects the times that the bound of the launch is composed of.
    pub fn times<S: PathSums>(
        &self,
        sums: &S,
        inputs: &CycleInputs,
        contention: &Contention,
        time: &mut KernelTime<'_>,
    ) -> Result<LaunchSums<S::Sum>, Diagnostic> {
        let is_alone = inputs.others == OtherWarps::Absent;
        // If warps follow one another, each would wait for first requests that another one has made. So the SM pays
        // for all of them.
        let is_single = self.chain != BlockChain::AllWarps;
        let (path, path_vectors) = sums.path(time, is_single)?;
        let (followed, followed_vectors) = match self.needs_followed() {
            true => sums.followed(time, is_single)?,
            false => (path.clone(), path_vectors.clone()),
        };
        // A lone warp waits for its own requests only, and its path contains their services.
        let of_service = |service: Service| {
            move |node| match is_alone {
                true => 0,
                false => whole_cycles(of_node(contention, node)[service as usize]),
            }
        };
        let (sm, windows) = match is_alone {
            true => (sums.of_warp(&of_service(Service::Sm), 0)?, Vec::new()),
            false => self.sm(sums, contention)?,
        };
        let first = match (is_alone, is_single) {
            (true, _) => 0,
            // Paths contain the rest of `first`.
            (false, true) => contention.first_of_sm.saturating_add(contention.in_flight),
            (false, false) => contention.first.saturating_add(contention.in_flight),
        };
        let unfinished = |node: usize| match is_alone {
            true => 0,
            false => whole_cycles(contention.unfinished.get(node).copied().unwrap_or(0)),
        };
        // With aligned barriers, different warps of the chain are served, each in its own segment (SOUNDNESS 20.4).
        let core = sums.of_chain(&of_service(Service::Core))?;
        let executed = self.executed.as_ref().filter(|_| !is_alone);
        let of_sm = SmServices::of(contention, &windows);
        let times = LaunchTimes {
            path,
            followed,
            chain: self.chain,
            schedulers: self.schedulers,
            queued: Cycles(whole_cycles(contention.queued)),
            barriers: self.barriers(sums, contention)?,
            segment: self.segment(sums, contention, &core)?,
            core,
            sm,
            gpu: sums.of_warp(&of_service(Service::Gpu), 0)?,
            first: Cycles(first),
            lines: Cycles(if is_alone { 0 } else { contention.lines }),
            ended: Cycles(if is_alone { 0 } else { contention.ended }),
            unfinished: sums.of_warp(&unfinished, 0)?,
            executed: executed.map(|executed| {
                let of_execution = ExecutionServices {
                    inputs,
                    time,
                    contention,
                    of_sm,
                };
                executed.services(&of_execution, self.shape.warps)
            }),
            apart: Cycles(self.numbers.range(Parameter::LaunchBlock).1),
        };
        let vectors = SumVectors {
            path: path_vectors,
            followed: followed_vectors,
        };
        Ok(LaunchSums {
            times,
            windows,
            vectors,
        })
    }

    /// Upper bound on the barriers that a warp passes; 0 where the chain does not change the warp at barriers.
    fn barriers<S: PathSums>(&self, sums: &S, contention: &Contention) -> Result<u64, Diagnostic> {
        if self.chain != BlockChain::Aligned {
            return Ok(0);
        }
        let count = |node: usize| contention.barriers.get(node).copied().unwrap_or(0);
        Ok(S::cycles(&sums.of_warp(&count, 0)?))
    }

    /// Upper bound on the service of a sub-partition that a warp takes between two barriers. It is the service of the
    /// whole warp if there are no barriers, or if no other block shares the SM.
    fn segment<S: PathSums>(
        &self,
        sums: &S,
        contention: &Contention,
        core: &S::Sum,
    ) -> Result<Cycles, Diagnostic> {
        let of_warp = Cycles(S::cycles(core));
        let LaunchShape {
            blocks,
            sms,
            resident,
            ..
        } = self.shape;
        // Only epochs of other blocks use the segment (SOUNDNESS 20.5), so its integer programs are not solved
        // without any.
        let has_others = blocks > sms && resident.1 > 1;
        if self.chain != BlockChain::Aligned || !has_others {
            return Ok(of_warp);
        }
        let in_run = |nodes: &[usize]| {
            let core = |node| whole_cycles(of_node(contention, node)[Service::Core as usize]);
            let of_node = |node| if nodes.contains(&node) { core(node) } else { 0 };
            Ok(S::cycles(&sums.of_warp(&of_node, 0)?))
        };
        let found = greatest_segment(&self.inputs, contention, in_run)?;
        // A segment is a part of a warp, so the service of the whole warp limits it as well.
        Ok(found.map_or(of_warp, |found| found.min(of_warp)))
    }

    /// Upper bound on the service of a warp by the resources that the warps of an SM share, and the windows of
    /// requests that it contains.
    fn sm<S: PathSums>(
        &self,
        sums: &S,
        contention: &Contention,
    ) -> Result<(S::Sum, Vec<Window>), Diagnostic> {
        let sectors_of = |sectors: Service| -> Result<u64, Diagnostic> {
            let of_node = |node: usize| of_node(contention, node)[sectors as usize];
            Ok(S::cycles(&sums.of_warp(&of_node, 0)?))
        };
        let (at_once, resident) = self.resident_blocks();
        let warps = u128::from(resident) * u128::from(self.shape.warps);
        let mut windows = Vec::new();
        for window in Window::of(contention) {
            // An integer program gives this number, so it is computed only where it decides.
            let all = || Ok(u128::from(sectors_of(window.sectors)?) * warps);
            if window.binds(contention, at_once, warps, all)? {
                windows.push(window);
            }
        }
        let services = SmServices::of(contention, &windows);
        let found = sums.of_warp(&|node| services.of_node(node), services.of_warp())?;
        Ok((found, windows))
    }

    /// Whether all blocks start at once, and the maximum number of blocks that an SM holds at a time.
    pub fn resident_blocks(&self) -> (bool, u64) {
        let shape = &self.shape;
        // Only the minimum numbers of SMs and places are certain to be free when the launch begins.
        let at_once = shape.blocks <= shape.sms.saturating_mul(shape.resident.0);
        let resident = match at_once {
            true => shape.blocks.div_ceil(shape.sms.max(1)),
            false => shape.resident.1,
        };
        (at_once, resident)
    }
}

/// Services of nodes by the resources that the warps of an SM share.
#[derive(Clone, Copy)]
pub(super) struct SmServices<'a> {
    contention: &'a Contention,
    windows: &'a [Window],
}

impl<'a> SmServices<'a> {
    /// Returns the services with the waits for these windows of requests.
    pub(super) fn of(contention: &'a Contention, windows: &'a [Window]) -> SmServices<'a> {
        SmServices {
            contention,
            windows,
        }
    }

    /// Cycles of one execution of a node.
    pub(super) fn of_node(self, node: usize) -> u64 {
        whole_cycles(self.milli(&of_node(self.contention, node)))
    }

    /// Thousandths of cycles of one execution with these services.
    pub(super) fn milli(self, services: &NodeServices) -> u64 {
        // A waiting request finds more than `places` sectors of others in flight. So the sum of the times in flight,
        // divided by `places + 1`, limits all such waits (SOUNDNESS 20.2).
        let waits = self
            .windows
            .iter()
            .map(|window| services[window.held as usize].div_ceil(window.places + 1));
        services[Service::Sm as usize] + waits.sum::<u64>()
    }

    /// Cycles of each warp in addition to its nodes.
    pub(super) fn of_warp(self) -> u64 {
        whole_cycles(self.contention.warp_end)
    }
}

/// Window of outstanding requests of an SM: MSHRs for loads, or the store buffer.
#[derive(Clone, Copy)]
pub struct Window {
    held: Service,
    sectors: Service,
    /// Sectors that the window holds in addition to the sectors of one request.
    pub places: u64,
}

impl Window {
    /// Returns the windows of loads and of stores.
    pub fn of(contention: &Contention) -> [Window; 2] {
        let [loads, stores] = contention.windows;
        [
            (Service::Loads, Service::LoadSectors, loads),
            (Service::Stores, Service::StoreSectors, stores),
        ]
        .map(|(held, sectors, places)| Window {
            held,
            sectors,
            places,
        })
    }

    /// Whether the window delays warps. A window delays none if it holds all sectors that `warps` may have in flight,
    /// or all sectors of blocks that start at once. For example, 64 warps with at most 2 sectors in flight each never
    /// fill a window of 128 places.
    ///
    /// # Errors
    ///
    /// The error of `sectors`.
    pub fn binds(
        self,
        contention: &Contention,
        at_once: bool,
        warps: u128,
        sectors: impl FnOnce() -> Result<u128, Diagnostic>,
    ) -> Result<bool, Diagnostic> {
        let window = u128::from(self.places);
        // Stores have no scoreboard for their end, so nothing limits how many a warp has in flight (SOUNDNESS 20.2).
        let outstanding = contention
            .outstanding
            .filter(|_| self.sectors == Service::LoadSectors);
        if outstanding.is_some_and(|own| warps * u128::from(own) <= window) {
            return Ok(false);
        }
        // Warps that have ended may have left sectors in flight, so the sum counts only if no block follows another
        // one.
        Ok(!at_once || sectors()? > window)
    }
}

/// Integer programs over the counts of a warp, or of a chain of warps.
pub(super) struct ServiceProgram<'a> {
    pub(super) launch: &'a LaunchTime,
    pub(super) stated: StatedCounts<'a>,
    pub(super) effort: Effort,
    /// Sums that were computed. Most services are the same for each way to count first requests.
    known: RefCell<HashMap<ServiceKey, WarpBound<Cycles>>>,
}

/// Service of the source of each step, and of the start of the warp.
type ServiceKey = (Vec<u64>, u64);

/// Maximum number of solutions of the integer program of the path. Each uses vectors that suit the path before.
const MOST_ROUNDS: usize = 3;

impl<'a> ServiceProgram<'a> {
    pub(super) fn new(
        launch: &'a LaunchTime,
        stated: StatedCounts<'a>,
        effort: Effort,
    ) -> ServiceProgram<'a> {
        ServiceProgram {
            launch,
            stated,
            effort,
            known: RefCell::default(),
        }
    }

    /// Solves for the costs of steps.
    fn solve(&self, costs: &PathTime) -> Result<WarpBound<Cycles>, Diagnostic> {
        let LaunchTime { counts, inputs, .. } = self.launch;
        solve(counts, inputs, costs, self.stated, self.effort)
    }
}

/// Costs of a warp among others. Contains first requests if they are counted for each warp.
pub fn costs_among(time: &KernelTime<'_>, counts_first: bool) -> PathTime {
    let mut costs = time.costs();
    if !counts_first {
        costs.once.clear();
    }
    costs
}

impl PathSums for ServiceProgram<'_> {
    type Sum = WarpBound<Cycles>;

    fn cycles(sum: &WarpBound<Cycles>) -> u64 {
        sum.upper_bound().limit().0
    }

    fn path(
        &self,
        time: &mut KernelTime<'_>,
        counts_first: bool,
    ) -> Result<(WarpBound<Cycles>, NodeVectors), Diagnostic> {
        let mut best = self.solve(&costs_among(time, counts_first))?;
        let mut vectors = time.vectors();
        for _ in 1..MOST_ROUNDS {
            // Vectors are improved for the worst path, so without one there is nothing to improve.
            let Some(path) = best.worst_path() else { break };
            let variables = self.launch.inputs.variables.iter();
            let counts: Vec<u128> = variables.map(|&var| path.count(var)).collect();
            if !time.improve(&counts) {
                break;
            }
            let found = self.solve(&costs_among(time, counts_first))?;
            // Any vectors give a bound (SOUNDNESS 11.5), so a round that does not help is dropped.
            if found.upper_bound().limit() >= best.upper_bound().limit() {
                break;
            }
            (best, vectors) = (found, time.vectors());
        }
        Ok((best, vectors))
    }

    fn followed(
        &self,
        time: &mut KernelTime<'_>,
        counts_first: bool,
    ) -> Result<(WarpBound<Cycles>, NodeVectors), Diagnostic> {
        let found = self.solve(&costs_among(time, counts_first).followed())?;
        Ok((found, time.vectors()))
    }

    fn of_chain(&self, of_node: &dyn Fn(usize) -> u64) -> Result<WarpBound<Cycles>, Diagnostic> {
        self.of_warp(of_node, 0)
    }

    fn of_warp(
        &self,
        of_node: &dyn Fn(usize) -> u64,
        of_warp: u64,
    ) -> Result<WarpBound<Cycles>, Diagnostic> {
        let steps = self.launch.inputs.steps.iter();
        let key = (steps.map(|step| of_node(step.from)).collect(), of_warp);
        if let Some(known) = self.known.borrow().get(&key) {
            return Ok(known.clone());
        }
        let cost = |cycles: u64| StepCost {
            cycles,
            terms: Default::default(),
        };
        let (steps, _) = &key;
        let found = self.solve(&PathTime {
            exits: Vec::new(),
            steps: steps.iter().map(|&cycles| Some(cost(cycles))).collect(),
            start: cost(of_warp),
            once: Vec::new(),
        })?;
        self.known.borrow_mut().insert(key, found.clone());
        Ok(found)
    }
}
