//! X3: nine kernels of the programs, hybrid times next to observed ones.

use warpbound_base::Diagnostic;
use warpbound_launch::LaunchFile;
use warpbound_runs::{RunOptions, execute};
use warpbound_testkit::kernels::HOST_PROGRAMS;

use super::chart::{Chart, ChartSeries};
use super::estimates::{EstimateCase, measure};
use super::runs::{RunConfiguration, RunSplitting, session};
use super::synthetic::is_below;
use super::{Bench, ExperimentOutcome, MACHINES};

/// Programs with the kernel that is analysed. The thesis shows nine programs, and names bfs and gaussian alone.
const KERNELS: [(&str, &str); 9] = [
    ("backprop", "backprop_forward"),
    ("bfs", "bfs_expand"),
    ("b+tree", "btree_find"),
    ("gaussian", "gaussian_update"),
    ("hotspot", "hotspot"),
    ("kmeans", "kmeans_assign"),
    ("nn", "nearest_few"),
    ("nw", "needleman_wunsch"),
    ("srad", "srad_coefficient"),
];

/// Maximum number of launches of a kernel whose traces are merged.
const LAUNCHES: usize = 4;
/// Maximum number of groups of a launch.
const GROUPS: u32 = 300;
/// Maximum number of reserve slots.
const SPLITS: u32 = 3;

/// Launches of a kernel in a program with an input: of the launches with the most groups, some that are spread over
/// the run.
fn launches(
    bench: &Bench<'_>,
    program: &str,
    kernel: &str,
    input: usize,
) -> anyhow::Result<Vec<LaunchFile>> {
    let mut programs = HOST_PROGRAMS.iter();
    let program = programs.find(|known| known.name == program);
    let program = program.ok_or_else(|| anyhow::anyhow!("no such program"))?;
    let session = session(bench.repository, program.source)?;
    let mut found: Vec<LaunchFile> = Vec::new();
    let run = program.run(input, &mut |launch| {
        let of = session.launched_kernel(None, launch.kernel.as_deref())?;
        let run = execute(&session, of, launch, &RunOptions::default(), &mut |_| {})?;
        if launch.kernel.as_deref() == Some(kernel) {
            found.push(launch.clone());
        }
        Ok(run.memory)
    });
    run.map_err(|d: Diagnostic| anyhow::anyhow!("{d}"))?;
    let groups = |launch: &LaunchFile| launch.grid.iter().product::<u32>();
    let most = found
        .iter()
        .map(groups)
        .filter(|&groups| groups <= GROUPS)
        .max();
    found.retain(|launch| 2 * groups(launch) > most.unwrap_or(0) && groups(launch) <= GROUPS);
    let step = found.len().div_ceil(LAUNCHES).max(1);
    Ok(found.into_iter().step_by(step).collect())
}

/// Bound of the one loop of these kernels whose count is data: most edges of a vertex of bfs.
fn most_edges(kernel: &str, launches: &[LaunchFile]) -> Option<u64> {
    let buffers = launches.iter().flat_map(LaunchFile::buffers);
    let mut nodes = buffers.filter(|(name, _)| kernel == "bfs_expand" && *name == "nodes");
    let (_, nodes) = nodes.next()?;
    let counts = nodes
        .bytes
        .chunks(8)
        .filter_map(|node| node.get(4..8)?.try_into().ok());
    counts
        .map(|count| u64::from(u32::from_le_bytes(count)))
        .max()
}

/// Observed and computed times of a kernel by the number of reserve slots.
struct KernelTimes {
    program: &'static str,
    observed: Vec<Option<f64>>,
    computed: Vec<Option<f64>>,
    thesis: Vec<Option<f64>>,
    serialised: Vec<Option<f64>>,
}

/// X3.
pub(super) fn hybrid(bench: &Bench<'_>) -> anyhow::Result<ExperimentOutcome> {
    let mut outcome = ExperimentOutcome::default();
    let machine = MACHINES[0];
    let input = usize::from(!bench.is_quick);
    let kernels = if bench.is_quick {
        &KERNELS[1..4]
    } else {
        &KERNELS[..]
    };
    let mut cases = Vec::new();
    for &(program, kernel) in kernels {
        let source = HOST_PROGRAMS.iter().find(|known| known.name == program);
        let source = source.map_or("", |known| known.source);
        let launches = launches(bench, program, kernel, input)?;
        cases.extend((0..=SPLITS).map(|splits| EstimateCase {
            source,
            name: format!("{program} {kernel} {input}"),
            launches: launches.clone(),
            configuration: RunConfiguration::typical(machine, RunSplitting::parallel(splits)),
            is_serialised: true,
            contents: 2,
            loop_default: most_edges(kernel, &launches),
        }));
    }
    measure(bench, "X3", &cases)?;
    outcome.line(format!("Kernels of the programs on {machine}: cycles"));
    outcome.line("  program   S   observed  by (5.4) corrected  thesis' own  by (5.5)  computed/observed  edges seen");
    let mut all = Vec::new();
    for (at, &(program, _)) in kernels.iter().enumerate() {
        let of_kernel = cases
            .iter()
            .skip(at * (SPLITS as usize + 1))
            .take(SPLITS as usize + 1);
        let mut times = KernelTimes {
            program,
            observed: Vec::new(),
            computed: Vec::new(),
            thesis: Vec::new(),
            serialised: Vec::new(),
        };
        for case in of_kernel {
            times.add(bench, case, &mut outcome);
        }
        all.push(times);
    }
    for times in &all {
        bench.draw(&format!("x3-{}", times.program), &times.chart(machine))?;
        let program = times.program;
        outcome.require(
            format!("{program}: computed >= observed for every S"),
            is_below(&times.observed, &times.computed),
        );
    }
    let change = |program: &str| {
        let times = all.iter().find(|times| times.program == program)?;
        let (first, last) = ((*times.computed.first()?)?, (*times.computed.last()?)?);
        Some(last / first)
    };
    let change_of = |program: &str| change(program).unwrap_or(f64::NAN);
    let (bfs, gaussian) = (change_of("bfs"), change_of("gaussian"));
    outcome.expect(format!("bfs: computed falls with S ({bfs:.3})"), bfs < 1.0);
    outcome.expect(
        format!("gaussian: computed rises with S ({gaussian:.3})"),
        gaussian > 1.0,
    );
    Ok(outcome)
}

impl KernelTimes {
    /// Adds the times of a case, and a line of the table.
    fn add(&mut self, bench: &Bench<'_>, case: &EstimateCase, outcome: &mut ExperimentOutcome) {
        let splits = case.configuration.splitting.splits;
        let found = bench.measurements.get(&case.key());
        if let Err(why) = &found {
            outcome.line(format!("  {:9} {splits}  none: {why}", self.program));
        }
        let numbers = found.unwrap_or_default();
        let of = |name: &str| numbers.get(name).map(|&n| n as f64);
        self.observed.push(of("observed"));
        self.computed.push(of("parallel"));
        self.thesis.push(of("thesis_parallel"));
        self.serialised.push(of("serialised"));
        if let (Some(observed), Some(computed)) = (of("observed"), of("parallel")) {
            let cell = |name: &str| of(name).map_or("-".to_owned(), |n| format!("{n}"));
            let partial = of("is_partial").map_or("", |_| ", estimate without the others");
            outcome.line(format!(
                "  {:9} {splits} {observed:>10} {computed:>19} {:>12} {:>9} {:>18.2}  {} of {}{partial}",
                self.program,
                cell("thesis_parallel"),
                cell("serialised"),
                computed / observed,
                cell("seen"),
                cell("edges"),
            ));
        }
    }

    /// Plot as Figure 6.3.
    fn chart(&self, machine: &str) -> Chart {
        let series = |name: &str, values: &[Option<f64>]| ChartSeries {
            name: name.to_owned(),
            values: values.to_vec(),
        };
        Chart {
            head: vec![format!("{} on {machine} (as Figure 6.3)", self.program)],
            axis: "cycles".to_owned(),
            categories: (0..=SPLITS).map(|splits| format!("S={splits}")).collect(),
            series: vec![
                series("observed", &self.observed),
                series("computed (5.4), corrected", &self.computed),
                series("computed, thesis' own", &self.thesis),
                series("computed, serialised (5.5)", &self.serialised),
            ],
            is_lines: false,
            level: None,
        }
    }
}
