//! Timing model compared with published figures of real GPUs: `kernels/microbenchmarks`, whose README explains the
//! keys.
//!
//! Expected values are read from there, and none from the machine files.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde::Deserialize;
use warpbound_base::Diagnostic;
use warpbound_launch::{ElementType, LaunchFile, NpyArray, ParamValue};
use warpbound_machine::GpuModel;
use warpbound_query::Session;
use warpbound_runs::{RunHooks, TimedOptions, simulate};

/// Contents of `published.toml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Published {
    series: Vec<Series>,
}

/// Figures of a GPU for launches that differ in a few parameters.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Series {
    title: String,
    machine: String,
    cubin: String,
    launch: String,
    kernel: Option<String>,
    #[serde(default)]
    element: usize,
    per: u32,
    less: Option<Other>,
    over: Option<Other>,
    tolerance: Option<f64>,
    source: String,
    points: Vec<Point>,
}

/// Launch whose value is subtracted, or is the divisor.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Other {
    launch: String,
    #[serde(default)]
    element: usize,
    per: u32,
    #[serde(default)]
    set: BTreeMap<String, u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Point {
    threads: Option<u32>,
    #[serde(default)]
    set: BTreeMap<String, u64>,
    published: Option<f64>,
    at_least: Option<f64>,
}

impl Point {
    /// Returns the numbers of the launch that belong to this point, before a colon: `stride 2: `.
    fn label(&self) -> String {
        let threads = self.threads.map(|threads| format!("threads {threads}"));
        let set = self
            .set
            .iter()
            .map(|(name, value)| format!("{name} {value}"));
        let words: Vec<String> = threads.into_iter().chain(set).collect();
        match words.is_empty() {
            true => String::new(),
            false => format!("{}: ", words.join(", ")),
        }
    }
}

fn folder() -> PathBuf {
    PathBuf::from(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../kernels/microbenchmarks"
    ))
}

fn published() -> Vec<Series> {
    let text = std::fs::read_to_string(folder().join("published.toml")).expect("it is there");
    let published: Published = toml::from_str(&text).expect("figures");
    published.series
}

/// Reads a launch of the directory and changes some of its numbers.
fn launch(name: &str, set: &BTreeMap<String, u64>, threads: Option<u32>) -> LaunchFile {
    let text = std::fs::read_to_string(folder().join(name)).expect(name);
    let files = |file: &str| Ok(std::fs::read(folder().join(file)).expect(file));
    let mut launch = LaunchFile::parse(name, &text, &files).expect("a launch");
    for (param, number) in set {
        let number = number.to_le_bytes();
        let mut found = launch.params.iter_mut().filter(|p| p.name == *param);
        let bytes = found.find_map(|param| match &mut param.value {
            ParamValue::Scalar { bytes, .. } => Some(bytes),
            _ => None,
        });
        let bytes = bytes.expect("a number of this name");
        let (kept, rest) = number.split_at(bytes.len());
        assert!(rest.iter().all(|&byte| byte == 0), "{name}: {param}");
        bytes.copy_from_slice(kept);
    }
    if let Some(threads) = threads {
        launch.block = [threads, 1, 1];
    }
    launch
}

/// Reads a cubin: from Volta on they are with the launches, those before with all other kernels.
pub(crate) fn read_cubin(cubin: &str) -> Vec<u8> {
    let mut path = folder().join(cubin);
    if !path.exists() {
        path = folder().join("../built").join(cubin);
    }
    std::fs::read(path).expect("the cubin is in the repository")
}

fn session(cubin: &str) -> Session {
    let contents = read_cubin(cubin);
    Session::open(cubin, &contents).expect("it loads")
}

/// Returns the final contents of the first buffer of a launch in a timed run on a machine.
fn measure(
    cubin: &str,
    kernel: Option<&str>,
    launch: &LaunchFile,
    machine: &str,
) -> Result<Vec<u32>, Diagnostic> {
    let session = session(cubin);
    let kernel = session.launched_kernel(kernel, launch.kernel.as_deref())?;
    let options = TimedOptions::new(GpuModel::built_in(machine)?);
    let hooks = RunHooks {
        events: None,
        timeline: None,
        progress: &mut |_| (),
    };
    let run = simulate(&session, kernel, launch, &options, hooks)?;
    let bytes = run.memory.buffers().first().map(|buffer| &buffer.bytes);
    let (words, _) = bytes.expect("the cycles").as_chunks::<4>();
    Ok(words.iter().copied().map(u32::from_le_bytes).collect())
}

impl Series {
    /// Returns the cycles per link of a point, less or divided by the cycles of the launch that the series names.
    fn value(&self, point: &Point) -> f64 {
        let launch = launch(&self.launch, &point.set, point.threads);
        let cycles = measure(&self.cubin, self.kernel.as_deref(), &launch, &self.machine);
        let cycles = cycles.expect("it runs");
        let value = f64::from(cycles[self.element]) / f64::from(self.per);
        let other = |other: &Other| {
            let launch = self::launch(&other.launch, &other.set, None);
            let cycles = measure(&self.cubin, None, &launch, &self.machine);
            let cycles = cycles.expect("it runs");
            f64::from(cycles[other.element]) / f64::from(other.per)
        };
        let less = self.less.as_ref().map_or(0.0, other);
        (value - less) / self.over.as_ref().map_or(1.0, other)
    }
}

#[test]
fn figures_of_real_gpus() {
    let mut problems = Vec::new();
    for series in published() {
        println!("\n{} ({}; {})", series.title, series.machine, series.source);
        let mut figures = Vec::new();
        for point in &series.points {
            let value = series.value(point);
            let (relation, wanted, holds) = match (point.published, point.at_least) {
                (Some(published), _) => {
                    let off = (value - published).abs();
                    let most = series.tolerance.map(|part| part * published);
                    // Quotients by powers of two are exact, so a tolerance of 0 is meaningful.
                    ("for", published, most.is_none_or(|most| off <= most))
                }
                (None, least) => {
                    let least = least.expect("one of the two");
                    ("at least", least, value >= least)
                }
            };
            let figure = format!("{}{value:.2} {relation} {wanted:.2}", point.label());
            if !holds {
                problems.push(format!("{}: {figure}", series.title));
            }
            figures.push(figure);
        }
        println!("  {}", figures.join("; "));
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// Six blocks of 768 threads on two SMs of 2048: each SM holds two, and the last two wait until others end (Amert et
/// al., "GPU Scheduling on the NVIDIA TX2", RTSS 2017: the first of its six kernels).
#[test]
fn blocks_on_two_sms() {
    let launch = launch("spin.toml", &BTreeMap::new(), None);
    let cubin = "microbenchmarks.sm_62.cubin";
    let places = measure(cubin, None, &launch, "jetson-tx2").expect("it runs");
    let places: Vec<&[u32]> = places.chunks(3).collect();
    assert_eq!(places.len(), 6);
    let (first, last) = places.split_at(4);
    let done = first.iter().map(|place| place[2]).min().expect("four");
    for sm in [0, 1] {
        assert_eq!(first.iter().filter(|place| place[0] == sm).count(), 2);
    }
    assert_ne!(first[0][0], first[1][0], "the second goes to the other SM");
    assert!(first.iter().all(|place| place[1] < done), "{places:?}");
    assert!(last.iter().all(|place| place[1] >= done), "{places:?}");
}

#[test]
fn figures_fit_launches_and_kernels() {
    let mut used = BTreeSet::from(["spin.toml".to_owned()]);
    for series in published() {
        let session = session(&series.cubin);
        let title = &series.title;
        let fits = |kernel: Option<&str>, launch: &LaunchFile, element: usize| {
            let kernel = session
                .launched_kernel(kernel, launch.kernel.as_deref())
                .expect(title);
            assert_eq!(kernel.params.len(), launch.params.len(), "{title}");
            let (name, buffer) = launch.buffers().next().expect("the cycles");
            assert_eq!(
                (name, buffer.element),
                ("cycles", ElementType::U32),
                "{title}"
            );
            assert!(element < buffer.bytes.len() / 4, "{title}");
        };
        for other in series.less.iter().chain(&series.over) {
            used.insert(other.launch.clone());
            let launch = launch(&other.launch, &other.set, None);
            fits(None, &launch, other.element);
        }
        used.insert(series.launch.clone());
        assert!(!series.points.is_empty() && series.per > 0, "{title}");
        for point in &series.points {
            let launch = launch(&series.launch, &point.set, point.threads);
            fits(series.kernel.as_deref(), &launch, series.element);
            let (published, least) = (point.published.is_some(), point.at_least.is_some());
            assert!(published != least, "{title}");
            assert!(published || series.tolerance.is_none(), "{title}");
        }
    }
    let files = std::fs::read_dir(folder()).expect("it is there");
    let names = files.map(|file| file.expect("a file").file_name());
    let launches: BTreeSet<String> = names
        .filter_map(|name| name.into_string().ok())
        .filter(|name| name.ends_with(".toml") && name != "published.toml" && name != "rates.toml")
        .collect();
    assert_eq!(used, launches);
}

/// The offsets of each ring lead from its start through all its words and back.
#[test]
fn rings_of_constants() {
    let contents = std::fs::read(folder().join("rings.npy")).expect("it is there");
    let array = NpyArray::from_npy(&contents).expect("an array");
    let words: Vec<u32> = array
        .bytes
        .chunks_exact(4)
        .map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]))
        .collect();
    for (start, bytes, stride) in [
        (0, 1536, 64),
        (4, 2560, 64),
        (8, 32768, 256),
        (16, 40960, 256),
    ] {
        let mut at = start;
        for step in 1..=bytes / stride {
            at = words[at as usize / 4];
            assert_eq!(at, start + step * stride % bytes);
        }
    }
}
