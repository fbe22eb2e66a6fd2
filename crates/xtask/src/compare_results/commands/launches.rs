//! Command lines that run kernels: every launch file, without time and on every machine.

use anyhow::Context;

use super::super::execute::FOLDER;
use super::{Plan, contents, paths, stem};
use crate::repository::Repository;

/// The machines that come with the tool for GPU code, and the chip whose code runs on each.
const MACHINES: [(&str, &str); 8] = [
    ("jetson-tx2", "sm_62"),
    ("gtx1080", "sm_61"),
    ("gtx1080ti", "sm_61"),
    ("titan-xp", "sm_61"),
    ("p40", "sm_61"),
    ("p100", "sm_61"),
    ("titan-x-maxwell", "sm_50"),
    ("gtx980", "sm_50"),
];

/// The machines for mini-SIMT code.
const MINI_MACHINES: [&str; 2] = ["paper-2014", "wide-8"];

/// Maximum number of threads of a launch for whose events and sensitivities the command lines ask.
const SHORT: u64 = 256;

/// Launches that take seconds on each machine; they run on one.
const LONG: [&str; 2] = ["chase_global_pages.toml", "walk_global.toml"];

/// Options of a run with time, with older spellings of some; each launch gets three of them.
const OPTIONS: [&str; 26] = [
    "--select slow",
    "--select fast",
    "--select lo",
    "--select hi",
    "--select seed=7",
    "--select typical",
    "--pick slow",
    "--pick fast",
    "--pick lo",
    "--pick hi",
    "--pick seed=3",
    "--scheduler lrr",
    "--scheduler gto",
    "--scheduler oldest",
    "--scheduler run-to-barrier",
    "--scheduler youngest",
    "--scheduler contended-unit",
    "--scheduler random:5",
    "--interlock scoreboard",
    "--interlock control-words",
    "--caches warm",
    "--caches cold --order fall-through-first",
    "--set shared.latency=30 --set l2.hit=250",
    "--set dram.latency=400",
    "--set issue.yield6=6 --scheduler lrr --select hi",
    "--max-instructions 50",
];

/// A launch of a kernel of ours on a GPU.
pub(super) struct Launch {
    path: String,
    /// The cubins of its source.
    cubins: Vec<String>,
    /// Threads of its grid.
    threads: u64,
}

impl Launch {
    /// The cubin for a chip: of the compiler that is used first, else of the other one, else any.
    fn cubin(&self, chip: &str) -> Option<&str> {
        let by_end = |end: String| self.cubins.iter().find(|path| path.ends_with(&end));
        let source = self.cubins.first().map(|path| stem(path))?;
        by_end(format!("/{source}.{chip}.cubin"))
            .or_else(|| by_end(format!(".nvrtc11.{chip}.cubin")))
            .or(self.cubins.first())
            .map(String::as_str)
    }
}

/// All launch files of kernels that are in a cubin.
pub(super) fn find(repository: &Repository, cubins: &[String]) -> anyhow::Result<Vec<Launch>> {
    let root = repository.root();
    let mut launches = Vec::new();
    let micro = root.join("kernels/microbenchmarks");
    for folder in [repository.launches(), repository.kernel_sources(), micro] {
        for path in paths(root, &folder, "toml")? {
            let text = String::from_utf8(contents(root, &path)?)
                .with_context(|| format!("{path} is not UTF-8"))?;
            let field = |name: &str| text.lines().find(|line| line.starts_with(name));
            if field("kernel").is_none() {
                continue; // a table of figures, no launch
            }
            let own = |source: &str| {
                let of = |cubin: &&String| stem(cubin) == source;
                cubins.iter().filter(of).cloned().collect::<Vec<_>>()
            };
            let mut found = own(stem(&path));
            if found.is_empty() && folder == repository.launches() {
                continue; // of a kernel for GCN3
            }
            if found.is_empty() {
                found = own("microbenchmarks");
            }
            let sizes = [field("grid"), field("block")].into_iter().flatten();
            let numbers = sizes.flat_map(|line| line.split(|c: char| !c.is_ascii_digit()));
            launches.push(Launch {
                threads: numbers.filter_map(|n| n.parse::<u64>().ok()).product(),
                cubins: found,
                path,
            });
        }
    }
    Ok(launches)
}

/// Adds the runs and audits of one launch of a GPU kernel. `index` is its number among all launches.
pub(super) fn grid(plan: &mut Plan, launch: &Launch, index: usize) {
    let path = &launch.path;
    let Some(cubin) = launch.cubin("sm_61") else {
        return;
    };
    let functional = format!("run {cubin} --launch {path} --functional");
    plan.add("run --functional", &format!("{functional} --stats"));
    plan.add(
        "run --functional",
        &format!("{functional} --stats --format json"),
    );
    let other = [
        "",
        "--order fall-through-first --stats",
        "--threads 2",
        "--max-instructions 30",
    ];
    let other = other[index % other.len()];
    plan.add(
        "run --functional, options",
        &format!("{functional} {other}"),
    );
    if let Some(other) = launch.cubin("sm_50") {
        let words = format!("run {other} --launch {path} --functional --stats");
        plan.add("run --functional", &words);
    }
    let format = ["text", "json"][index % 2];
    let words = format!("audit {cubin} --launch {path} --runs 2 --loop-default 100");
    plan.add("audit", &format!("{words} --format {format}"));
    if index.is_multiple_of(3) {
        let words = format!("audit {cubin} --launch {path} --loop-default 1 --seed 5");
        plan.add("audit that breaks facts", &words);
        let words = format!("audit {cubin} --launch {path} --write-facts {FOLDER}/kernel.facts");
        plan.add("audit that writes facts", &words);
    }
    timed(plan, launch, index);
}

/// Adds the runs with time.
fn timed(plan: &mut Plan, launch: &Launch, index: usize) {
    let path = &launch.path;
    let long = LONG.iter().any(|name| path.ends_with(name));
    for (machine, chip) in MACHINES {
        let Some(cubin) = launch.cubin(chip).filter(|_| !long || machine == "gtx1080") else {
            continue;
        };
        let words = format!("run {cubin} --launch {path} --machine {machine}");
        plan.add("run, text", &format!("{words} --stats"));
        if !long {
            plan.add("run, JSON", &format!("{words} --stats --format json"));
        }
    }
    let (machine, chip) = MACHINES[index % MACHINES.len()];
    let Some(cubin) = launch.cubin(chip).filter(|_| !long) else {
        return;
    };
    let words = format!("run {cubin} --launch {path}");
    if let Some(other) = launch.cubins.iter().find(|path| path.contains(".nvrtc11.")) {
        plan.add(
            "run, second compiler",
            &format!("run {other} --launch {path}"),
        );
    }
    for turn in 0..3 {
        let option = OPTIONS[(index * 3 + turn) % OPTIONS.len()];
        let format = ["text", "json"][(index + turn) % 2];
        let words = format!("{words} --machine {machine} {option} --format {format}");
        plan.add("run, options", &words);
    }
    if launch.threads > SHORT {
        return;
    }
    match index % 4 {
        0 => plan.add("events", &format!("{words} --events {FOLDER}/events.jsonl")),
        1 => plan.add(
            "timelines",
            &format!("{words} --timeline {FOLDER}/timeline.json"),
        ),
        2 => plan.add("sensitivities", &format!("{words} --sensitivities")),
        _ => plan.add(
            "sensitivities",
            &format!(
                "{words} --sensitivities --threads 2 --format json --output {FOLDER}/run.json"
            ),
        ),
    }
}

/// Adds runs and estimates of mini-SIMT programs.
pub(super) fn mini(plan: &mut Plan, repository: &Repository) -> anyhow::Result<()> {
    let root = repository.root();
    for path in paths(root, &root.join("kernels/msimt"), "toml")? {
        let program = format!("kernels/msimt/{}.msimt", stem(&path));
        for machine in ["".to_owned()]
            .into_iter()
            .chain(MINI_MACHINES.map(|m| format!("--machine {m}")))
        {
            let run = format!("run {program} --launch {path} {machine}");
            let cta = format!("cta {program} --launch {path} {machine}");
            for format in ["text", "json"] {
                plan.add("mini-SIMT run", &format!("{run} --format {format}"));
            }
            plan.add("mini-SIMT run", &format!("{run} --trace"));
            for format in super::GRAPH_FORMATS {
                for facts in ["", "--loop-default 10"] {
                    plan.add("cta", &format!("{cta} --format {format} {facts}"));
                }
            }
            plan.add(
                "cta",
                &format!("{cta} --loop-default 300 --output {FOLDER}/cta.txt"),
            );
            plan.add("mini-SIMT run", &format!("{run} --output {FOLDER}/run.txt"));
            plan.add("mini-SIMT run", &format!("{run} --max-cycles 20"));
        }
        plan.add(
            "mini-SIMT bound",
            &format!("bound {program} --loop-default 10 --warp-width 4 --block 16"),
        );
        plan.add(
            "mini-SIMT bound",
            &format!("divergence {program} --warp-width 8 --format json"),
        );
        plan.add(
            "mini-SIMT audit",
            &format!("audit {program} --launch {path}"),
        );
    }
    Ok(())
}
