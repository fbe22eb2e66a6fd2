//! Sums over the paths of warps of which the bound of a launch is composed: greatest ones by integer programs, or those of
//! the paths of a run.

use std::cell::RefCell;
use std::collections::HashMap;

use super::executed::ExecutionServices;
use super::segments::greatest_segment;
use super::*;

/// Sums of costs over paths, the greatest of all paths that are possible or observed.
pub trait PathSums {
    /// Sum, with the evidence for it.
    type Sum: Clone;

    /// Cycles of a sum.
    fn cycles(sum: &Self::Sum) -> u64;

    /// Time of a warp, or of a chain of warps, among others, without its waits for them; with its first requests, if these
    /// are counted for each warp. The vectors are those that it was computed with.
    fn path(
        &self,
        time: &mut KernelTime<'_>,
        counts_first: bool,
    ) -> Result<(Self::Sum, NodeVectors), Diagnostic>;

    /// The same for a warp that others follow.
    fn followed(
        &self,
        time: &mut KernelTime<'_>,
        counts_first: bool,
    ) -> Result<(Self::Sum, NodeVectors), Diagnostic>;

    /// Sum of a number of each node over a chain of warps.
    fn of_chain(&self, of_node: &dyn Fn(usize) -> u64) -> Result<Self::Sum, Diagnostic>;

    /// Sum of a number of each node over a warp, and of a number for its start.
    fn of_warp(
        &self,
        of_node: &dyn Fn(usize) -> u64,
        of_warp: u64,
    ) -> Result<Self::Sum, Diagnostic>;
}

/// Vectors with which the times of warps, and of those that others follow, were computed.
#[derive(Clone)]
pub struct SumVectors {
    /// Vectors of the warp whose end the launch waits for.
    pub path: NodeVectors,
    /// Vectors of a warp that another one follows in its place.
    pub followed: NodeVectors,
}

/// Times of which a bound is composed, and the vectors that they were computed with.
pub struct LaunchSums<T> {
    /// Times of warps.
    pub times: LaunchTimes<T>,
    /// Windows of requests that delay warps.
    pub windows: Vec<Window>,
    /// Vectors that these times were computed with.
    pub vectors: SumVectors,
}

impl LaunchTime {
    /// Collects the times of which the bound of the launch is composed.
    pub fn times<S: PathSums>(
        &self,
        sums: &S,
        (inputs, contention): (&CycleInputs, &Contention),
        time: &mut KernelTime<'_>,
    ) -> Result<LaunchSums<S::Sum>, Diagnostic> {
        let is_alone = inputs.others == OtherWarps::Absent;
        // Of warps one after the other, each would wait for first requests that another one has made.
        let is_single = self.chain != BlockChain::AllWarps;
        let (path, path_vectors) = sums.path(time, is_single)?;
        let (followed, followed_vectors) = match self.needs_followed() {
            true => sums.followed(time, is_single)?,
            false => (path.clone(), path_vectors.clone()),
        };
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
            (false, true) => contention.first_of_sm.saturating_add(contention.in_flight),
            (false, false) => contention.first.saturating_add(contention.in_flight),
        };
        let unfinished = |node: usize| match is_alone {
            true => 0,
            false => whole_cycles(contention.unfinished.get(node).copied().unwrap_or(0)),
        };
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

    /// Most barriers that a warp passes, if it matters.
    fn barriers<S: PathSums>(&self, sums: &S, contention: &Contention) -> Result<u64, Diagnostic> {
        if self.chain != BlockChain::Aligned {
            return Ok(0);
        }
        let count = |node: usize| contention.barriers.get(node).copied().unwrap_or(0);
        Ok(S::cycles(&sums.of_warp(&count, 0)?))
    }

    /// Greatest service of a sub-partition that a warp takes between two barriers; all of it if there are none, or where a
    /// block has no other one beside it.
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
        Ok(found.map_or(of_warp, |found| found.min(of_warp)))
    }

    /// Greatest service of a warp by the resources that the warps of an SM share, and the windows of requests that are a part of
    /// it.
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
            let all = || Ok(u128::from(sectors_of(window.sectors)?) * warps);
            if window.binds(contention, (at_once, warps), all)? {
                windows.push(window);
            }
        }
        let services = SmServices::of(contention, &windows);
        let found = sums.of_warp(&|node| services.of_node(node), services.of_warp())?;
        Ok((found, windows))
    }

    /// Whether all blocks start at once, and the most blocks that an SM holds at a time.
    pub fn resident_blocks(&self) -> (bool, u64) {
        let shape = &self.shape;
        let at_once = shape.blocks <= shape.sms.saturating_mul(shape.resident.0);
        let resident = match at_once {
            true => shape.blocks.div_ceil(shape.sms.max(1)),
            false => shape.resident.1,
        };
        (at_once, resident)
    }
}

/// Services of nodes by what the warps of an SM share.
#[derive(Clone, Copy)]
pub(super) struct SmServices<'a> {
    contention: &'a Contention,
    windows: &'a [Window],
}

impl<'a> SmServices<'a> {
    /// Those with the waits for some windows of requests.
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
        let waits = self
            .windows
            .iter()
            .map(|window| services[window.held as usize].div_ceil(window.places + 1));
        services[Service::Sm as usize] + waits.sum::<u64>()
    }

    /// Cycles of each warp besides its nodes.
    pub(super) fn of_warp(self) -> u64 {
        whole_cycles(self.contention.warp_end)
    }
}

/// Window of outstanding requests of an SM.
#[derive(Clone, Copy)]
pub struct Window {
    held: Service,
    sectors: Service,
    /// Sectors that it holds beside those of a request.
    pub places: u64,
}

impl Window {
    /// Those of loads and of stores.
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

    /// Whether it delays warps: one that holds all that `warps` may have in flight, or all sectors of blocks that start at
    /// once, delays none.
    ///
    /// # Errors
    ///
    /// Those of `sectors`.
    pub fn binds(
        self,
        contention: &Contention,
        (at_once, warps): (bool, u128),
        sectors: impl FnOnce() -> Result<u128, Diagnostic>,
    ) -> Result<bool, Diagnostic> {
        let window = u128::from(self.places);
        let outstanding = contention
            .outstanding
            .filter(|_| self.sectors == Service::LoadSectors);
        if outstanding.is_some_and(|own| warps * u128::from(own) <= window) {
            return Ok(false);
        }
        Ok(!at_once || sectors()? > window)
    }
}

/// Integer programs over the counts of a warp, or of a chain of warps.
pub(super) struct ServiceProgram<'a> {
    pub(super) launch: &'a LaunchTime,
    pub(super) stated: StatedCounts<'a>,
    pub(super) effort: Effort,
    /// Sums that were computed: most services are the same, whichever way first requests are counted.
    known: RefCell<HashMap<ServiceKey, WarpBound<Cycles>>>,
}

/// Services of the source of each step, and of the warp besides.
type ServiceKey = (Vec<u64>, u64);

/// Most solutions of the integer program of the path, each with vectors that suit the path of the one before.
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

/// Costs of a warp among others; with its first requests, if these are counted for each warp.
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
            let Some(path) = best.worst_path() else { break };
            let variables = self.launch.inputs.variables.iter();
            let counts: Vec<u128> = variables.map(|&var| path.count(var)).collect();
            if !time.improve(&counts) {
                break;
            }
            let found = self.solve(&costs_among(time, counts_first))?;
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
