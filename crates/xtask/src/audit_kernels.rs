//! `cargo xtask audit-kernels`: functional runs of kernels with a reference, compared with every claim about them.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use anyhow::{Context, bail};
use warpbound_audit::audit::{
    AuditObservations, BrokenStatement, Claims, DerivedClaims, HeaderMaximum, ObservedAccess,
    PathOrder, StatedFacts,
};
use warpbound_audit::{claims, derived_for_launch, monitor};
use warpbound_bounds::access_classes;
use warpbound_ipet::StatedCounts;
use warpbound_query::{BoundOptions, Session};
use warpbound_testkit::kernels::{self, KernelReference};

use crate::repository::{Repository, files_with_extension};
use crate::workers::for_each_task;

pub(crate) const HELP: &str = "\
usage: cargo run --release -p warpbound-xtask -- audit-kernels [--runs COUNT] [--gfx803] [--in FOLDER --arch ARCH] [NAME...]

Runs every kernel that has a reference (only those of kernels/cuda/NAME.cu, if names are given), as built for each chip, in
COUNT launches, with the sides of branches in both orders, on all cores, and compares
  - each step, stack, group relation and agreement of each warp with the claims of the analyses,
  - the requests, transactions, sectors, lines and conflicts of each memory access with its class in that launch,
  - the instructions of each warp with the bound.
  - the header executions of each thread with the derived bounds of loops, those for this launch and those for all.
The bound of a launch uses the loop bounds that its own threads show, the best that a user could state. So the ratio of
bound and instructions measures the bound, not the stated facts.
Prints a row for each kernel, with the launch in which a warp issued the most, and totals, memory accesses by class among
them: how many were executed, and how many had all numbers of their class in some execution. Fails on any contradiction.

  --runs COUNT   launches of each kernel (100): the first three are fixed, the others random
  --gfx803       kernels of kernels/gcn3 in place of those of kernels/cuda
  --in FOLDER    kernels of FOLDER/NAME.ARCH.cubin in place of those of kernels/built, for GPUs from Volta on

With --cycles: simulates single warps of all launches in kernels/launches (whose names begin with a NAME, if any are given) on
four machines and compares each run with the bound in cycles for the loop counts that the warp shows, with and without
the launch overhead. Prints a row for each launch and machine, the ratio of the bound and the worst run among them.

  --seeds COUNT     random selections of the parameters of the machine, besides slow, typical, lo and hi (4)
  --contents COUNT  contents of the buffers: the given ones, then random ones (2)
  --warps COUNT     most warps of each launch (4)
  --phases COUNT    runs of each warp at the slow end with refreshes of DRAM at different times (16)
  --warm, --cold    state of the L2 cache at the start (that of the launch)
  --gfx803          waves of kernels for GCN3 on gem5-apu and r9-nano
  --in FOLDER       kernels of FOLDER/NAME.ARCH.cubin on seven machines from t4 to rtx5090
  --beside          with --in: launches of kernels/plain and kernels/practice (`kernels --wide FOLDER --beside`)
  --splits COUNT    waves split at all sites, with this number of reserve slots (0)
  --serialised      splits have no pipelines of their own
  --merge           splits become one again at the join of their branch

With --cycles --grids: simulates whole launches, on four machines (two with --gfx803) and several numbers of SMs, and compares
each run with the bound of the launch.

  --runs COUNT      runs of each launch, machine and number of SMs (6)
  --sms COUNT       numbers of SMs of each launch and machine (3)
  --shapes COUNT    other numbers of blocks and threads (0); --contents COUNT as above (1)
  --in FOLDER       kernels of FOLDER/NAME.ARCH.cubin on seven machines from t4 to rtx5090
  --beside          with --in: launches of kernels/plain and kernels/practice (`kernels --wide FOLDER --beside`)
  --pinned          machines of which every number is drawn: one value in each range
  --odd             machines with odd numbers: 0, 1, 50 times the usual, caches of a few lines
  --seed N          seed of what is drawn (1); --part N --of M: every M-th launch, from the N-th one
  --journal FILE    line for each launch that is done; a later run goes on from it
  --minutes N       begin no launch after this time
";

/// Maximum number of warp instructions of a launch.
const MOST_INSTRUCTIONS: u64 = 100_000_000;

/// Number of problems that are printed of one kernel.
const SHOWN: usize = 5;

pub(crate) fn run(repository: &Repository, arguments: &[String]) -> anyhow::Result<()> {
    if let Some(at) = arguments.iter().position(|argument| argument == "--cycles") {
        let mut rest = arguments.to_vec();
        rest.remove(at);
        return crate::audit_cycles::run(repository, &rest);
    }
    let (mut runs, mut names, mut extension) = (100u64, Vec::new(), "cubin");
    let (mut folder, mut arch) = (repository.built_kernels(), None);
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "--runs" => runs = rest.next().context("--runs without a number")?.parse()?,
            "--gfx803" => extension = "co",
            "--in" => folder = rest.next().context("--in without a folder")?.into(),
            "--arch" => arch = Some(rest.next().context("--arch without an architecture")?),
            flag if flag.starts_with('-') => bail!("no option is called {flag:?}"),
            name => names.push(name),
        }
    }
    let references = references(extension);
    let wanted = |r: &&KernelReference| names.is_empty() || names.contains(&r.source);
    let mut tasks = Vec::new();
    for path in files_with_extension(&folder, extension)? {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let mut parts = name.split('.');
        let source = parts.next().unwrap_or_default();
        if arch.is_some_and(|arch| parts.next() != Some(arch)) {
            continue;
        }
        for reference in references.iter().filter(wanted) {
            if reference.source == source {
                tasks.push((path.clone(), reference));
            }
        }
    }
    if tasks.is_empty() {
        bail!("no kernel with these names");
    }
    println!(
        "{:<30} {:<34} {:>5} {:>7} {:>10} {:>10} {:>10} {:>7} {:>7}",
        "file", "kernel", "runs", "faulted", "violations", "worst", "bound", "ratio", "median"
    );
    let find = |(path, reference): &(PathBuf, &KernelReference)| {
        let name = path.file_name().unwrap_or_default();
        let name = name.to_string_lossy().into_owned();
        let contents = std::fs::read(path).map_err(anyhow::Error::from);
        let done = contents.and_then(|contents| audit(&name, &contents, reference, runs));
        (name, done)
    };
    let add = |total: &mut AuditTotal, (_, reference): &(_, &KernelReference), found| {
        let (name, done): (String, _) = found;
        total.add(&name, reference.kernel, done);
    };
    let total = for_each_task(&tasks, find, AuditTotal::default(), add);
    println!(
        "{} kernels, {} runs, {} of them ended in a fault, {} warps, {} warp instructions, {} violations",
        total.kernels, total.runs, total.faulted, total.warps, total.issued, total.violations
    );
    println!(
        "bound / instructions of the worst warp: median {:.3}",
        median(&mut total.ratios.clone())
    );
    println!("{}", access_table(&total.accesses));
    println!("{}", total.loops.text());
    if total.violations > 0 || total.faulted > 0 || total.broken > 0 {
        bail!(
            "{} violations, {} faults, {} kernels that could not be audited",
            total.violations,
            total.faulted,
            total.broken
        );
    }
    Ok(())
}

/// Returns the references of the kernels in files with an extension.
fn references(extension: &str) -> Vec<KernelReference> {
    match extension {
        "cubin" => {
            let mut references = kernels::all();
            references.extend(kernels::of_nvrtc_11_8());
            references
        }
        _ => kernels::gcn3(),
    }
}

/// Totals of the runs of one kernel.
#[derive(Default)]
struct KernelRow {
    runs: u64,
    faulted: u64,
    warps: u64,
    issued: u64,
    violations: u64,
    /// Instructions of the worst warp, and the bound of its launch.
    worst: Option<(u64, u128)>,
    ratios: Vec<f64>,
    /// Executed accesses by operation, with the kinds of their last classes.
    accesses: BTreeMap<usize, (&'static str, ObservedAccess)>,
    loops: DerivedLoops,
    problems: Vec<String>,
}

/// Loops that threads entered, compared with the bounds that are derived for their launch.
#[derive(Clone, Default)]
struct DerivedLoops {
    /// Loops of launches: all, and the ones with a derived bound.
    entered: u64,
    derived: u64,
    /// Derived bounds that some thread of the launch reaches.
    equal: u64,
    /// The same for bounds that are derived for all launches.
    derived_for_all: u64,
    equal_for_all: u64,
    /// Loops of kernels with a derived bound in each launch, and loops whose bound is reached in each launch.
    of_kernels: u64,
    always_equal: u64,
}

impl DerivedLoops {
    fn add(&mut self, other: &DerivedLoops) {
        self.entered += other.entered;
        self.derived += other.derived;
        self.equal += other.equal;
        self.derived_for_all += other.derived_for_all;
        self.equal_for_all += other.equal_for_all;
        self.of_kernels += other.of_kernels;
        self.always_equal += other.always_equal;
    }

    fn text(&self) -> String {
        let share = |part: u64, of: u64| 100.0 * part as f64 / of.max(1) as f64;
        format!(
            "loops of launches that threads entered: {}; derived for the launch: {}, reached: {} ({:.1} %); derived for \
             all launches: {}, reached: {} ({:.1} %)\nloops derived in each launch: {}, reached in each launch: {} ({:.1} %)",
            self.entered,
            self.derived,
            self.equal,
            share(self.equal, self.derived),
            self.derived_for_all,
            self.equal_for_all,
            share(self.equal_for_all, self.derived_for_all),
            self.of_kernels,
            self.always_equal,
            share(self.always_equal, self.of_kernels)
        )
    }
}

impl KernelRow {
    /// Compares the warps of a launch with the bound for the loop bounds that its threads show.
    fn compare_bound(&mut self, launch: u64, claims: &Claims<'_>, seen: &AuditObservations) {
        // Any number is a true bound of a loop that no thread reaches.
        let of_loop = |most: &Option<HeaderMaximum>| Some(most.map_or(0, |most| most.count));
        let loops: Vec<Option<u64>> = seen.max_per_entry.iter().map(of_loop).collect();
        let totals: Vec<Option<u64>> = seen.max_totals.iter().map(of_loop).collect();
        let counts = StatedCounts {
            bounds: &loops,
            totals: &totals,
            never: &[],
        };
        let bound = claims.flow.bound_with(counts, |_| 0);
        let bound = bound.map(|bound| bound.limit().0);
        let stated = StatedFacts {
            loops,
            totals,
            bound,
        };
        for broken in stated.violated(seen) {
            self.violations += 1;
            if let BrokenStatement::Bound { bound, worst } = broken {
                self.problem(
                    launch,
                    format_args!(
                        "{} instructions in {:?}, the bound is {bound}",
                        worst.issued, worst.warp
                    ),
                );
            }
        }
        match (seen.worst, bound) {
            (Some(worst), Some(bound)) => {
                self.ratios.push(bound as f64 / worst.issued as f64);
                if self.worst.is_none_or(|(most, _)| most < worst.issued) {
                    self.worst = Some((worst.issued, bound));
                }
            }
            (_, None) => {
                self.violations += 1;
                self.problem(launch, "no bound, although each loop has one");
            }
            (None, Some(_)) => {}
        }
    }

    /// Compares the loops of a launch with the bounds derived for it and for all launches.
    fn compare_loops(
        &mut self,
        launch: u64,
        seen: &AuditObservations,
        has_ended: bool,
        [for_launch, for_all]: [&DerivedClaims; 2],
    ) {
        for claims in [for_launch, for_all] {
            for broken in claims.violated(seen, for_launch, has_ended) {
                self.violations += 1;
                self.problem(launch, format_args!("{broken:?}"));
            }
        }
        for (site, most) in seen.max_per_entry.iter().enumerate() {
            let Some(most) = most else {
                continue;
            };
            let loops = &mut self.loops;
            loops.entered += 1;
            if let Some(bound) = for_launch.bound(site) {
                loops.derived += 1;
                loops.equal += u64::from(bound.per_entry == most.count);
            }
            if let Some(bound) = for_all.bound(site) {
                loops.derived_for_all += 1;
                loops.equal_for_all += u64::from(bound.per_entry == most.count);
            }
        }
    }

    fn problem(&mut self, launch: u64, problem: impl std::fmt::Display) {
        if self.problems.len() < SHOWN {
            self.problems.push(format!("launch {launch}: {problem}"));
        }
    }

    /// Adds the accesses of a run.
    fn add_accesses(&mut self, claims: &Claims<'_>, seen: &AuditObservations) {
        for (at, seen) in &seen.accesses {
            let class = claims.accesses.get(at);
            let kind = class.map_or("none", |class| class.pattern.name());
            let (known, sum) = self.accesses.entry(at.index()).or_default();
            *known = kind;
            sum.add(seen);
        }
    }
}

/// Number of accesses of a kind, and of accesses that had all counts of their class.
type AccessTotals = BTreeMap<&'static str, [u64; 2]>;

/// Formats the accesses by class.
fn access_table(totals: &AccessTotals) -> String {
    let share = |[all, equal]: [u64; 2]| {
        let percent = 100.0 * equal as f64 / all.max(1) as f64;
        format!("{all:>7} {equal:>7} {percent:>6.1} %\n")
    };
    let mut out = format!("{:<30} {:>7} {:>7}\n", "memory accesses", "all", "equal");
    let mut sum = [0; 2];
    for (kind, &[all, equal]) in totals {
        sum = [sum[0] + all, sum[1] + equal];
        out.push_str(&format!("  {kind:<28} {}", share([all, equal])));
    }
    out.push_str(&format!("  {:<28} {}", "all", share(sum)));
    out
}

#[derive(Default)]
struct AuditTotal {
    kernels: u64,
    runs: u64,
    faulted: u64,
    warps: u64,
    issued: u64,
    violations: u64,
    broken: u64,
    ratios: Vec<f64>,
    accesses: AccessTotals,
    loops: DerivedLoops,
}

impl AuditTotal {
    fn add(&mut self, file: &str, kernel: &str, done: anyhow::Result<KernelRow>) {
        self.kernels += 1;
        let kernel: String = kernel.chars().take(34).collect();
        let mut row = match done {
            Ok(row) => row,
            Err(error) => {
                self.broken += 1;
                println!("{file:<30} {kernel:<34} {error:#}");
                return;
            }
        };
        let middle = median(&mut row.ratios);
        let (worst, bound) = row.worst.unwrap_or_default();
        println!(
            "{file:<30} {kernel:<34} {:>5} {:>7} {:>10} {worst:>10} {bound:>10} {:>7.3} {middle:>7.3}",
            row.runs,
            row.faulted,
            row.violations,
            bound as f64 / worst.max(1) as f64,
        );
        for problem in &row.problems {
            println!("    {problem}");
        }
        self.runs += row.runs;
        self.faulted += row.faulted;
        self.warps += row.warps;
        self.issued += row.issued;
        self.violations += row.violations;
        self.ratios.append(&mut row.ratios);
        for (kind, seen) in row.accesses.values() {
            let [all, equal] = self.accesses.entry(kind).or_default();
            *all += 1;
            *equal += u64::from(seen.reaches_class);
        }
        self.loops.add(&row.loops);
    }
}

fn median(ratios: &mut [f64]) -> f64 {
    ratios.sort_by(f64::total_cmp);
    ratios.get(ratios.len() / 2).copied().unwrap_or(0.0)
}

/// Audits the launches of one kernel of a cubin.
fn audit(
    file: &str,
    contents: &[u8],
    reference: &KernelReference,
    runs: u64,
) -> anyhow::Result<KernelRow> {
    let session = Session::open(file, contents)?;
    let kernel = session.kernels(Some(reference.kernel))?;
    let kernel = kernel.first().context("there is no such kernel")?;
    let prepared = session.prepare(kernel)?;
    // The claims depend on the block shape.
    let mut known: HashMap<[u32; 3], Claims<'_>> = HashMap::new();
    let mut row = KernelRow::default();
    let mut derived_for_all = None;
    // For each loop, whether its bound was derived, and reached, in all launches that entered it.
    let mut always: BTreeMap<usize, [bool; 2]> = BTreeMap::new();
    for number in 0..runs {
        let launch = (reference.launch)(number);
        let claims = match known.entry(launch.block) {
            Entry::Occupied(claims) => claims.into_mut(),
            Entry::Vacant(entry) => {
                let options = BoundOptions {
                    block: Some(launch.block),
                    ..BoundOptions::default()
                };
                entry.insert(claims(&session, &prepared, &options)?)
            }
        };
        let order = match number % 2 {
            0 => PathOrder::TakenFirst,
            _ => PathOrder::FallThroughFirst,
        };
        claims.accesses = access_classes(&session, &prepared, &claims.flow, &launch)?;
        let watched = monitor(
            &session,
            &prepared,
            claims,
            &launch,
            order,
            MOST_INSTRUCTIONS,
        )?;
        let seen = watched.observations;
        row.runs += 1;
        row.warps += seen.ended_warps;
        row.issued += seen.issued;
        row.add_accesses(claims, &seen);
        row.violations += seen.violations.len() as u64 + seen.further_violations;
        for violation in seen.violations.keys() {
            row.problem(number, format_args!("op {}: {violation}", violation.at.0));
        }
        let has_ended = watched.fault.is_none();
        if let Some(fault) = watched.fault {
            row.faulted += 1;
            row.problem(number, fault);
        }
        let for_launch = derived_for_launch(&session, &prepared, &claims.flow, &launch)?;
        let for_all = match &derived_for_all {
            Some(known) => known,
            None => derived_for_all.insert(warpbound_audit::derived_for_all(
                &session,
                &prepared,
                &claims.flow,
            )?),
        };
        row.compare_loops(number, &seen, has_ended, [&for_launch, for_all]);
        for (site, most) in seen.max_per_entry.iter().enumerate() {
            if let Some(most) = most {
                let bound = for_launch.bound(site).map(|bound| bound.per_entry);
                let known = always.entry(site).or_insert([true; 2]);
                known[0] &= bound.is_some();
                known[1] &= bound == Some(most.count);
            }
        }
        row.compare_bound(number, claims, &seen);
    }
    row.loops.of_kernels = always.values().filter(|[derived, _]| *derived).count() as u64;
    row.loops.always_equal = always.values().filter(|[_, equal]| *equal).count() as u64;
    Ok(row)
}
