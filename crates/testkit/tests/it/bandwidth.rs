//! Sustained rates of the timing model compared with published ones: `kernels/microbenchmarks/rates.toml`, whose keys
//! the README there explains.
//!
//! `cargo test -p warpbound-testkit --test it -- --nocapture bandwidth::` prints all of them.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZero;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use serde::Deserialize;
use warpbound_base::Diagnostic;
use warpbound_launch::{LaunchFile, ParamValue};
use warpbound_machine::{GpuModel, Parameter, Selection};
use warpbound_query::Session;
use warpbound_runs::{TimedOptions, simulate_with};
use warpbound_simulate::timed::Silent;

/// Maximum median deviation of the rates without a tolerance of their own, which no machine parameter is set to meet.
const MEDIAN: f64 = 0.12;
/// Maximum deviation of one of these rates, unless it is explained.
const WORST: f64 = 0.35;
/// Maximum deviation of a rate by which a machine parameter was chosen.
const FITTED: f64 = 0.1;
/// Maximum relative drop of a rate when SMs are added.
const SCALING: f64 = 0.03;
/// Minimum ratio of the rates with twice the SMs and with the SMs, while the memory bandwidth suffices for all.
const PROPORTION: f64 = 1.9;

/// Contents of `rates.toml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rates {
    code: BTreeMap<String, String>,
    series: Vec<Series>,
}

/// Rates of several GPUs for the same launch.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Series {
    title: String,
    #[serde(default = "rates")]
    cubin: String,
    kernels: Vec<String>,
    launch: toml::Table,
    amount: u64,
    less: Option<Less>,
    /// Number of SMs that are simulated, if not all: for resources that SMs do not share.
    sms: Option<u64>,
    #[serde(default)]
    unit: Unit,
    published_as: String,
    rates: Vec<Rate>,
}

/// The launch that is subtracted: the same with another grid or other numbers.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Less {
    grid: Option<Vec<u32>>,
    #[serde(default)]
    set: BTreeMap<String, u64>,
    amount: u64,
}

/// A published rate.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rate {
    machine: String,
    gpu: String,
    /// Clock of the SMs in MHz, if not that of the machine.
    clock: Option<u64>,
    published: f64,
    tolerance: Option<f64>,
    #[serde(default)]
    fitted: bool,
    explained: Option<String>,
    source: String,
}

#[derive(Clone, Copy, Deserialize, Default)]
enum Unit {
    /// 10⁹ bytes in a second.
    #[default]
    #[serde(rename = "GB/s")]
    Gigabytes,
    /// 2³⁰ bytes in a second.
    #[serde(rename = "GiB/s")]
    Gibibytes,
    /// 10⁹ operations in a second.
    #[serde(rename = "G/s")]
    Operations,
}

impl Unit {
    fn name(self) -> &'static str {
        match self {
            Unit::Gigabytes => "GB/s",
            Unit::Gibibytes => "GiB/s",
            Unit::Operations => "G/s",
        }
    }

    /// Converts an amount per second to this unit.
    fn of(self, amount: f64) -> f64 {
        match self {
            Unit::Gigabytes | Unit::Operations => amount / 1e9,
            Unit::Gibibytes => amount / f64::from(1 << 30),
        }
    }
}

fn rates() -> String {
    "rates".to_owned()
}

fn kernels() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../kernels"))
}

fn published() -> Rates {
    let path = kernels().join("microbenchmarks/rates.toml");
    let text = std::fs::read_to_string(path).expect("it is there");
    toml::from_str(&text).expect("rates")
}

fn session(cubin: &str, chip: &str) -> Session {
    let name = format!("{cubin}.{chip}.cubin");
    let contents = std::fs::read(kernels().join("built").join(&name));
    let contents = contents.expect("the cubin is in the repository");
    Session::open(&name, &contents).expect("it loads")
}

/// Returns the launch of a series, or the one that is subtracted.
fn launch(series: &Series, kernel: &str, less: Option<&Less>) -> LaunchFile {
    let mut table = series.launch.clone();
    table.insert("kernel".to_owned(), kernel.into());
    let text = toml::to_string(&table).expect("a launch file");
    let no_files = |name: &str| Err(Diagnostic::new("no files").in_file(name));
    let mut launch = LaunchFile::parse(&series.title, &text, &no_files).expect("a launch");
    let Some(less) = less else { return launch };
    if let Some(grid) = &less.grid {
        for (size, &other) in launch.grid.iter_mut().zip(grid) {
            *size = other;
        }
    }
    for (name, number) in &less.set {
        let mut found = launch.params.iter_mut().filter(|p| p.name == *name);
        let bytes = found.find_map(|param| match &mut param.value {
            ParamValue::Scalar { bytes, .. } => Some(bytes),
            _ => None,
        });
        let bytes = bytes.expect("a number of this name");
        let width = bytes.len();
        bytes.copy_from_slice(&number.to_le_bytes()[..width]);
    }
    launch
}

/// Returns the cycles of a launch on a machine with some parameters set.
fn cycles(session: &Session, launch: &LaunchFile, machine: &str, set: &[(Parameter, u64)]) -> u64 {
    let kernel = session
        .launched_kernel(None, launch.kernel.as_deref())
        .expect("it has the kernel");
    let mut options = TimedOptions::new(GpuModel::built_in(machine).expect("a machine"));
    options.set.extend(set);
    let prepared = session.prepare_timed(kernel).expect("it decodes");
    // Without statistics, which take a good part of the time of a run.
    let run = simulate_with(session, &prepared, launch, &options, &mut Silent);
    run.expect("it runs").cycles.0.0
}

/// Returns the bytes or operations of a series per cycle.
fn per_cycle(
    series: &Series,
    kernel: &str,
    chip: &str,
    machine: &str,
    set: &[(Parameter, u64)],
) -> f64 {
    let session = session(&series.cubin, chip);
    let whole = cycles(&session, &launch(series, kernel, None), machine, set);
    let (less, amount) = match &series.less {
        Some(less) => {
            let launch = launch(series, kernel, Some(less));
            (cycles(&session, &launch, machine, set), less.amount)
        }
        None => (0, 0),
    };
    assert!(whole > less, "{}: {whole} after {less}", series.title);
    (series.amount - amount) as f64 / (whole - less) as f64
}

/// Parameters that are set for all rates, to see their effect: `RATES_SET=dram.beyond_l2=290,l2.hit=240`.
fn overridden_parameters() -> Vec<(Parameter, u64)> {
    let set = std::env::var("RATES_SET").unwrap_or_default();
    let one = |one: &str| {
        let (name, value) = one.split_once('=').expect("NAME=VALUE");
        let parameter = Parameter::named(name).expect("a number of machines");
        (parameter, value.parse().expect("a number"))
    };
    set.split(',')
        .filter(|one| !one.is_empty())
        .map(one)
        .collect()
}

/// Returns the simulated rate; that of the fastest kernel if there are several.
fn simulate(series: &Series, rate: &Rate, chip: &str) -> f64 {
    let device = GpuModel::built_in(&rate.machine).expect("a machine");
    let picked = device.select(Selection::default());
    let mut clock = picked[Parameter::Clock];
    let mut set = overridden_parameters();
    if let Some(megahertz) = rate.clock {
        // DRAM keeps its own clock.
        let bandwidth = picked[Parameter::DramBandwidth] * clock / (megahertz * 1000);
        clock = megahertz * 1000;
        set.push((Parameter::Clock, clock));
        set.push((Parameter::DramBandwidth, bandwidth));
    }
    let mut sms = 1.0;
    if let Some(count) = series.sms {
        sms = picked[Parameter::SmCount] as f64 / count as f64;
        set.push((Parameter::SmCount, count));
    }
    let rates = series.kernels.iter().map(|kernel| {
        let in_a_cycle = per_cycle(series, kernel, chip, &rate.machine, &set);
        series.unit.of(in_a_cycle * sms * clock as f64 * 1e3)
    });
    rates.fold(0.0, f64::max)
}

/// Returns the results of all jobs in order, computed on all cores.
fn in_parallel<Job: Sync>(jobs: &[Job], work: impl Fn(&Job) -> f64 + Sync) -> Vec<f64> {
    let next = AtomicUsize::new(0);
    let workers = thread::available_parallelism().map_or(1, NonZero::get);
    let worker = || {
        let mut done = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(job) = jobs.get(index) else {
                return done;
            };
            done.push((index, work(job)));
        }
    };
    let mut done: Vec<(usize, f64)> = thread::scope(|scope| {
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(worker)).collect();
        let parts = workers.into_iter().map(|worker| worker.join());
        parts.flat_map(|part| part.expect("it ends")).collect()
    });
    done.sort_unstable_by_key(|&(index, _)| index);
    done.into_iter().map(|(_, result)| result).collect()
}

/// Returns a row of the table in `docs/evidence.md`, with a star at GPUs by whose rate a parameter was chosen.
fn row(series: &Series, simulated: &[f64]) -> String {
    let list = |items: Vec<String>| items.join(", ");
    let gpu = |rate: &Rate| format!("{}{}", rate.gpu, if rate.fitted { "*" } else { "" });
    let rates = &series.rates;
    format!(
        "| {} | {} | {} | {} |",
        series.title,
        list(rates.iter().map(gpu).collect()),
        list(
            rates
                .iter()
                .map(|r| format!("{:.0}", r.published))
                .collect()
        ),
        list(simulated.iter().map(|rate| format!("{rate:.0}")).collect()),
    )
}

/// Runs all rates; with `RATES=TEXT` in the environment only those whose title or machine contains the text.
#[test]
fn rates_of_real_gpus() {
    let wanted = std::env::var("RATES").unwrap_or_default();
    let mut published = published();
    for series in &mut published.series {
        if !series.title.contains(&wanted) {
            series.rates.retain(|rate| rate.machine.contains(&wanted));
        }
    }
    published.series.retain(|series| !series.rates.is_empty());
    let jobs: Vec<(&Series, &Rate)> = published
        .series
        .iter()
        .flat_map(|series| series.rates.iter().map(move |rate| (series, rate)))
        .collect();
    let simulated = in_parallel(&jobs, |(series, rate)| {
        simulate(series, rate, &published.code[&rate.machine])
    });

    let mut problems = Vec::new();
    let mut others = Vec::new();
    let mut table = Vec::new();
    let mut rest = simulated.as_slice();
    for series in &published.series {
        let (mine, after) = rest.split_at(series.rates.len());
        rest = after;
        table.push(row(series, mine));
        println!("\n{} ({})", series.title, series.published_as);
        for (rate, simulated) in series.rates.iter().zip(mine) {
            let off = simulated / rate.published - 1.0;
            let line = format!(
                "{}: {simulated:.1} for {:.1} {}, {:+.1} %",
                rate.gpu,
                rate.published,
                series.unit.name(),
                100.0 * off
            );
            println!("  {line}  ({})", rate.source);
            if let Some(reason) = &rate.explained {
                println!("    {reason}");
            }
            if rate.tolerance.is_none() && !rate.fitted {
                others.push(off.abs());
            }
            let most = match (rate.tolerance, rate.fitted) {
                (Some(tolerance), _) => tolerance,
                (None, true) => FITTED,
                (None, false) => WORST,
            };
            if off.abs() > most && rate.explained.is_none() {
                problems.push(format!("{}, {line}", series.title));
            }
        }
    }
    println!(
        "\n| kernel | GPU | published | here |\n{}\n",
        table.join("\n")
    );
    others.sort_by(f64::total_cmp);
    if let (Some(&median), Some(&worst)) = (others.get(others.len() / 2), others.last()) {
        println!(
            "{} rates that no number is set to meet: median {:.1} % off, worst {:.1} %",
            others.len(),
            100.0 * median,
            100.0 * worst
        );
        if median > MEDIAN && wanted.is_empty() {
            problems.push(format!("half of the rates are {median:.3} off"));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// Each rate has a machine, a build for it, a source, and a launch that fits the kernel.
#[test]
fn rates_fit_launches_and_kernels() {
    let published = published();
    for series in &published.series {
        let title = &series.title;
        assert!(
            !series.rates.is_empty() && !series.kernels.is_empty(),
            "{title}"
        );
        assert!(!series.published_as.is_empty(), "{title}");
        let less = series.less.as_ref().map_or(0, |less| less.amount);
        assert!(series.amount > less, "{title}");
        for rate in &series.rates {
            assert!(rate.published > 0.0 && !rate.source.is_empty(), "{title}");
            GpuModel::built_in(&rate.machine).expect(title);
            let session = session(&series.cubin, &published.code[&rate.machine]);
            for kernel in &series.kernels {
                for less in [None, series.less.as_ref()] {
                    let launch = launch(series, kernel, less);
                    let kernel = session
                        .launched_kernel(None, launch.kernel.as_deref())
                        .expect(title);
                    assert_eq!(kernel.params.len(), launch.params.len(), "{title}");
                }
            }
        }
    }
    let gpus: BTreeSet<&str> = published
        .series
        .iter()
        .flat_map(|series| &series.rates)
        .filter(|rate| rate.tolerance.is_none() && !rate.fitted)
        .map(|rate| rate.gpu.as_str())
        .collect();
    assert!(gpus.len() >= 4, "{gpus:?}");
}

/// More SMs do not lower the rate of a stream; twice the SMs double it while the memory bandwidth suffices.
#[test]
fn rates_grow_with_sms() {
    let published = published();
    let streams = [
        ("copy of doubles", "gtx1080", 20),
        ("reads of quadruples of floats", "gtx1080", 20),
        ("triad of doubles", "p100", 56),
    ];
    let mut jobs = Vec::new();
    for (title, machine, all) in streams {
        let mut found = published.series.iter().filter(|s| s.title == title);
        let series = found.next().expect("a stream");
        let mut count = 1;
        while count < all {
            jobs.push((series, machine, count));
            count *= 2;
        }
        jobs.push((series, machine, all));
    }
    let rates = in_parallel(&jobs, |&(series, machine, count)| {
        let set = [(Parameter::SmCount, count)];
        let chip = &published.code[machine];
        per_cycle(series, &series.kernels[0], chip, machine, &set)
    });
    let mut problems = Vec::new();
    let (mut best, mut last) = (0.0, 0.0);
    for (&(series, machine, count), rate) in jobs.iter().zip(rates) {
        let line = format!(
            "{} on {count} SMs of {machine}: {rate:.2} bytes in a cycle",
            series.title
        );
        println!("{line}");
        if count == 1 {
            (best, last) = (rate, rate / 2.0);
        }
        if rate < best * (1.0 - SCALING) {
            problems.push(format!("{line}, {best:.2} on fewer"));
        }
        let device = GpuModel::built_in(machine).expect("a machine");
        let memory = device.select(Selection::default())[Parameter::DramBandwidth] as f64 / 1000.0;
        // SMs that leave half of the memory bandwidth idle do not delay each other.
        if 2.0 * last < memory / 2.0 && rate < PROPORTION * last {
            problems.push(format!("{line}, {last:.2} on half as many"));
        }
        best = best.max(rate);
        last = rate;
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}
