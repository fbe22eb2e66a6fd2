//! `cargo xtask plan-check`: plans of probes over all own kernels and launches.

use std::collections::BTreeMap;
use std::fs;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use warpbound_base::{CodeAddr, Deadline, Diagnostic};
use warpbound_launch::LaunchFile;
use warpbound_launch::PathOrder;
use warpbound_load::Kernel;
use warpbound_measure::probes::system::holds_in_every_run;
use warpbound_measure::probes::{
    ProbeCounters, ProbeOptions, ProbePlan, ProbeQuantity, ProbedBlocks,
};
use warpbound_measure::{PredictOptions, decode_counters, probe_plan, probe_system};
use warpbound_query::{BoundOptions, Contents, Session};
use warpbound_testkit::probe_plans::{BlockPlan, blocks_of, random_plans, run_counts};

use crate::repository::Repository;

pub(crate) const HELP: &str = "\
usage: cargo run --release -p warpbound-xtask -- plan-check [--runs N] [--forgeries N] [--seed S] [--arch BUILD] [--most-blocks N] [--rows] [NAME...]

Plans the probes of all own kernels as built for BUILD (sm_61), without a launch and for each launch in kernels/launches
(only those whose names begin so, if names are given): for any contents of its buffers, and with the contents as given
of those that the kernel does not write. Compares the counts that decoding gives with those of
functional runs in both orders of the sides of branches. Compares the weight of the plan with the optimum of all sets of
counters, for kernels of at most 16 blocks. Forges N (1,000) certificates. Reconstructs the counts of N (10,000) runs
of random programs. Prints the blocks with probes; fails on any difference.

  --most-blocks N   leave out kernels of more than N blocks, whose analysis takes seconds
  --rows            print the blocks with probes for each launch with contents as given, for any contents, without the
                    launch, and all blocks";

/// Time for the prediction of one launch.
const TIME_LIMIT: Duration = Duration::from_secs(20);

/// Largest number of warp instructions of a run.
const MOST_INSTRUCTIONS: u64 = 100_000_000;

/// Sums over kernels.
#[derive(Default)]
struct PlanTotal {
    /// Largest number of blocks of a kernel that is not left out.
    most_blocks: usize,
    left_out: usize,
    kernels: usize,
    blocks: usize,
    /// Blocks with probes by rule.
    probed: BTreeMap<&'static str, usize>,
    /// Kernels without probes by rule.
    free: BTreeMap<&'static str, usize>,
    counters: usize,
    refused: BTreeMap<String, usize>,
    enumerated: usize,
    forged: usize,
    slowest: Duration,
    differences: Vec<String>,
    launches: usize,
    /// Blocks, and blocks with probes for any contents and for the contents as given, summed over launches.
    of_launches: [usize; 3],
    /// Runs that ended with a fault, by fault.
    not_run: BTreeMap<String, usize>,
    /// Whether a row is printed for each launch.
    rows: bool,
    compared: usize,
    /// For each kernel its blocks, and the most probed blocks of the plans for its launches, for any contents and for
    /// the contents as given.
    with_launch: BTreeMap<String, [usize; 3]>,
}

pub(crate) fn run(repository: &Repository, arguments: &[String]) -> anyhow::Result<()> {
    let (mut runs, mut forgeries, mut seed) = (10_000, 1_000, 19);
    let (mut build, mut names) = ("sm_61".to_owned(), Vec::new());
    let (mut most_blocks, mut rows) = (usize::MAX, false);
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let mut value = || rest.next().context("an option without a value");
        match argument.as_str() {
            "--runs" => runs = value()?.parse()?,
            "--forgeries" => forgeries = value()?.parse()?,
            "--seed" => seed = value()?.parse()?,
            "--arch" => build = value()?.clone(),
            "--rows" => rows = true,
            "--most-blocks" => most_blocks = value()?.parse()?,
            flag if flag.starts_with('-') => bail!("no option is called {flag:?}"),
            name => names.push(name.to_owned()),
        }
    }
    let mut total = PlanTotal {
        most_blocks,
        rows,
        ..PlanTotal::default()
    };
    let sessions = sessions(repository, &build, &names)?;
    for (_, session) in &sessions {
        for kernel in session.kernels(None).unwrap_or_default() {
            total.add_kernel(session, kernel);
        }
    }
    total.add_forgeries(&sessions, forgeries, seed);
    let launches = match build.starts_with("gfx") {
        true => repository.gcn3_launches()?,
        false => repository.cuda_launches()?,
    };
    for path in launches {
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if names.is_empty() || names.iter().any(|start| name.starts_with(start)) {
            let added = total.add_launch(repository, &build, &name);
            added.with_context(|| name.clone())?;
        }
    }
    total.print();
    let found = random_plans(seed, runs, holds_in_every_run);
    println!(
        "random programs: {} with {} blocks, {} counters for both counts of each; {} runs, {} differences",
        found.programs,
        found.blocks,
        found.probes,
        found.runs,
        found.wrong.len()
    );
    total.differences.extend(found.wrong);
    for difference in total.differences.iter().take(20) {
        println!("  {difference}");
    }
    match total.differences.len() {
        0 => Ok(()),
        wrong => bail!("{wrong} differences"),
    }
}

/// Opens the cubins of a build whose names begin so; all of them if no names are given.
fn sessions(
    repository: &Repository,
    build: &str,
    names: &[String],
) -> anyhow::Result<Vec<(String, Session)>> {
    let extension = if build.starts_with("gfx") {
        "co"
    } else {
        "cubin"
    };
    let files = crate::repository::files_with_extension(&repository.built_kernels(), extension)?;
    let mut sessions = Vec::new();
    for path in files {
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let is_of_build = name
            .split_once('.')
            .is_some_and(|(_, rest)| rest == format!("{build}.{extension}"));
        let is_named = names.is_empty() || names.iter().any(|start| name.starts_with(start));
        if is_of_build && is_named {
            sessions.push((name.clone(), Session::open(&name, &fs::read(&path)?)?));
        }
    }
    Ok(sessions)
}

impl PlanTotal {
    /// Plans a kernel by each rule without a launch, and compares the plan with the optimum.
    fn add_kernel(&mut self, session: &Session, kernel: &Kernel) {
        if self.leaves_out(session, kernel) {
            self.left_out += 1;
            return;
        }
        let mut rules = Vec::new();
        let start = Instant::now();
        for rule in [ProbedBlocks::Plan, ProbedBlocks::Tainted, ProbedBlocks::All] {
            let options = ProbeOptions {
                rule,
                ..ProbeOptions::default()
            };
            match probe_plan(session, kernel, &options) {
                Ok(plan) => rules.push(plan),
                Err(why) => {
                    *self.refused.entry(why.message).or_default() += 1;
                    break;
                }
            }
            if rule == ProbedBlocks::Plan {
                self.slowest = self.slowest.max(start.elapsed());
            }
        }
        for plan in &rules {
            let probed = plan.probed_blocks();
            *self.probed.entry(plan.rule.name()).or_default() += probed;
            *self.free.entry(plan.rule.name()).or_default() += usize::from(probed == 0);
        }
        let Some(plan) = rules.first() else {
            return;
        };
        self.kernels += 1;
        self.blocks += plan.blocks;
        self.counters += plan.probes.len();
        if plan.blocks > 16 {
            return;
        }
        if let Ok(system) = probe_system(session, kernel, &BoundOptions::default()) {
            let chosen = BlockPlan::new(&system);
            for quantity in [0, 1] {
                let (ours, best) = (
                    chosen.weight(quantity),
                    chosen.least_weight_by_enumeration(quantity),
                );
                self.enumerated += 1;
                if best != Some(ours) {
                    let name = &kernel.name;
                    let what = format!("{name}: weight {ours}, the optimum is {best:?}");
                    self.differences.push(what);
                }
            }
        }
    }

    /// Whether a kernel has too many blocks, as the code is cut without analysis.
    fn leaves_out(&self, session: &Session, kernel: &Kernel) -> bool {
        let prepared = session.prepare(kernel);
        let blocks = prepared.map(|prepared| blocks_of(&prepared.code));
        blocks.is_ok_and(|blocks| blocks > self.most_blocks)
    }

    /// Forges certificates of all kernels in turn.
    fn add_forgeries(&mut self, sessions: &[(String, Session)], forgeries: usize, seed: u64) {
        let mut plans = Vec::new();
        for (_, session) in sessions {
            for kernel in session.kernels(None).unwrap_or_default() {
                if self.leaves_out(session, kernel) {
                    continue;
                }
                let system = probe_system(session, kernel, &BoundOptions::default());
                plans.extend(system.map(|system| (kernel.name.clone(), BlockPlan::new(&system))));
            }
        }
        let mut rng = fastrand::Rng::with_seed(seed);
        while self.forged < forgeries && !plans.is_empty() {
            for (name, plan) in &plans {
                match plan.forged(&mut rng) {
                    Some(_) if self.forged == forgeries => return,
                    Some(is_refused) => {
                        self.forged += 1;
                        if !is_refused {
                            self.differences
                                .push(format!("{name}: a forged proof is accepted"));
                        }
                    }
                    None => {}
                }
            }
        }
    }

    /// Options of a plan for a launch.
    fn options_of(launch: &LaunchFile, contents: Contents) -> ProbeOptions {
        ProbeOptions {
            bound: BoundOptions {
                block: Some(launch.block),
                ..BoundOptions::default()
            },
            launch: Some(launch.clone().into()),
            predict: PredictOptions {
                contents,
                deadline: Deadline::after(TIME_LIMIT),
                ..PredictOptions::default()
            },
            ..ProbeOptions::default()
        }
    }

    /// Decodes the counters of a launch and compares all counts with the counts of the run.
    fn add_launch(
        &mut self,
        repository: &Repository,
        build: &str,
        name: &str,
    ) -> anyhow::Result<()> {
        let folder = repository.launches();
        let files = |file: &str| {
            fs::read(folder.join(file)).map_err(|error| Diagnostic::new(error.to_string()))
        };
        let launch = LaunchFile::parse(name, &fs::read_to_string(folder.join(name))?, &files)?;
        let source = name.split('.').next().unwrap_or_default();
        let extension = if build.starts_with("gfx") {
            "co"
        } else {
            "cubin"
        };
        let path = repository
            .built_kernels()
            .join(format!("{source}.{build}.{extension}"));
        let Ok(cubin) = fs::read(path) else {
            return Ok(());
        };
        let session = Session::open(name, &cubin)?;
        // Some sources have fewer kernels for GCN3.
        let Ok(kernel) = session.launched_kernel(None, launch.kernel.as_deref()) else {
            return Ok(());
        };
        let prepared = session.prepare(kernel)?;
        if self.leaves_out(&session, kernel) {
            return Ok(());
        }
        let general = probe_plan(&session, kernel, &ProbeOptions::default());
        let Ok(general) = general else {
            return Ok(());
        };
        let planned = [Contents::Any, Contents::AsGiven].map(|contents| {
            probe_plan(&session, kernel, &PlanTotal::options_of(&launch, contents))
        });
        let [any, given] = planned;
        let plans = [general, any?, given?];
        let [general, probed, of_given] =
            [0, 1, 2].map(|number: usize| plans[number].probed_blocks());
        let blocks = plans[0].blocks;
        let entry = self
            .with_launch
            .entry(format!("{source} {}", kernel.name))
            .or_default();
        *entry = [blocks, entry[1].max(probed), entry[2].max(of_given)];
        self.launches += 1;
        for (sum, more) in self.of_launches.iter_mut().zip([blocks, probed, of_given]) {
            *sum += more;
        }
        if self.rows {
            println!("{name:<60} {of_given:>5} {probed:>5} {general:>5} {blocks:>5}");
        }
        for order in [PathOrder::TakenFirst, PathOrder::FallThroughFirst] {
            let counts = run_counts(&cubin, &prepared, &launch, order, MOST_INSTRUCTIONS);
            // Waves have one order of the sides, and some kernels of GCN3 have instructions without a meaning.
            let counts = match counts {
                Ok(counts) => counts,
                Err(why) => {
                    *self.not_run.entry(why).or_default() += 1;
                    continue;
                }
            };
            let count = |at: u32, quantity| {
                let of = match quantity {
                    ProbeQuantity::Issues => &counts.issues,
                    ProbeQuantity::Lanes => &counts.active,
                };
                let op = prepared.code.at(CodeAddr(at));
                op.and_then(|op| of.get(op.index())).copied().unwrap_or(0)
            };
            for plan in &plans {
                let values = plan
                    .probes
                    .iter()
                    .map(|probe| count(probe.at, probe.quantity));
                let values: Vec<u64> = values.collect();
                let counters = ProbeCounters::from_csv(&ProbeCounters::to_csv(plan, &values))?;
                self.compare(name, &session, kernel, plan, &counters, &launch, &count);
            }
        }
        Ok(())
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of one comparison")]
    fn compare(
        &mut self,
        name: &str,
        session: &Session,
        kernel: &Kernel,
        plan: &ProbePlan,
        counters: &ProbeCounters,
        launch: &LaunchFile,
        count: &dyn Fn(u32, ProbeQuantity) -> u64,
    ) {
        match decode_counters(session, kernel, plan, counters, Some(launch)) {
            Err(why) => self.differences.push(format!("{name}: {why}")),
            Ok(decoded) => {
                for (of, value) in decoded.values {
                    let warpbound_measure::probes::WantedCount::Block(at, quantity) = of else {
                        continue;
                    };
                    self.compared += 1;
                    let counted = count(at, quantity);
                    if counted != value {
                        let at = CodeAddr(at);
                        let what = format!("{name}: block {at}: {value}, counted {counted}");
                        self.differences.push(what);
                    }
                }
            }
        }
    }

    fn print(&self) {
        println!(
            "{} kernels, {} blocks, slowest plan {:.2?}; {} kernels left out",
            self.kernels, self.blocks, self.slowest, self.left_out
        );
        for (why, kernels) in &self.refused {
            println!("  refused {kernels}: {why}");
        }
        for (rule, probed) in &self.probed {
            let share = 100.0 * *probed as f64 / self.blocks.max(1) as f64;
            let free = self.free.get(rule).copied().unwrap_or(0);
            println!(
                "  rule {rule}: {probed} blocks with probes ({share:.1} %), {free} kernels without any"
            );
        }
        println!("  counters of the plans: {}", self.counters);
        let share = |probed: usize, blocks: usize| 100.0 * probed as f64 / blocks.max(1) as f64;
        for (number, contents) in [(1, "any contents"), (2, "contents as given")] {
            let sum = |of: usize| -> usize { self.with_launch.values().map(|row| row[of]).sum() };
            let (blocks, probed) = (sum(0), sum(number));
            let free = self.with_launch.values().filter(|row| row[number] == 0);
            println!(
                "with a launch (the one that needs most), {contents}: {} kernels, {probed} of {blocks} blocks with probes \
                 ({:.1} %), {} kernels without any",
                self.with_launch.len(),
                share(probed, blocks),
                free.count()
            );
            let (blocks, probed) = (self.of_launches[0], self.of_launches[number]);
            println!(
                "summed over launches: {probed} of {blocks} blocks with probes ({:.1} %)",
                share(probed, blocks)
            );
        }
        println!(
            "weights compared with the optimum of all sets: {}",
            self.enumerated
        );
        println!("forged proofs: {}", self.forged);
        for (why, runs) in &self.not_run {
            println!("{runs} runs with a fault: {why}");
        }
        println!(
            "{} launches in both orders, plans with and without the launch: {} counts decoded",
            self.launches, self.compared
        );
    }
}
