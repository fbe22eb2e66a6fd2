//! `cargo xtask tables`: the evaluation of `warp-cfg-2023` (section 4) over many kernels.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use warpbound_load::Isa;
use warpbound_query::LaunchContext;
use warpbound_query::{AgreementDomain, GroupDomain, StackDomain, WarpModel};
use warpbound_query::{BoundOptions, ImageSelection, KernelFlow, Prepared};

use crate::each_kernel::each_kernel;
use crate::repository::{Repository, files_with_extension};

pub(crate) const HELP: &str = "\
usage: cargo run --release -p warpbound-xtask -- tables [--every N] [--arch ARCH] [FILE...]

For the kernels of the files (cubins of kernels/built), each loop bounded by 10: the share of kernels whose bound
grows by a factor of ten or more, or is lost, when a domain is switched off, for both readings of loop facts; the
number of divergence edges; the time of the construction of the warp-level graph, on one core.

  --every N   only each Nth kernel (1)
  --arch ARCH  only images for this architecture";

/// Factor by which a bound must grow to count as severely degraded (section 4.2).
const SEVERE: u128 = 10;

/// Header executions of every loop (section 4.1).
const LOOP_BOUND: u64 = 10;

/// Domains that are switched off, with the paper's share of degraded kernels in percent.
const VARIANTS: [(&str, u32); 4] = [
    ("acyclic stack graphs only", 25),
    ("no groups", 15),
    ("no agreement", 52),
    ("agreement of the active lanes only", 37),
];

fn variant(index: usize) -> WarpModel {
    let mut model = BoundOptions::default().model;
    match index {
        0 => model.stack = StackDomain::Acyclic,
        1 => model.groups = GroupDomain::Off,
        2 => model.agreement = AgreementDomain::Off,
        _ => model.agreement = AgreementDomain::ActiveOnly,
    }
    model
}

pub(crate) fn run(repository: &Repository, arguments: &[String]) -> anyhow::Result<()> {
    let (mut files, mut every, mut selection) = (Vec::new(), 1usize, ImageSelection::default());
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let mut value = || rest.next().context("an option without a value");
        match argument.as_str() {
            "--every" => every = value()?.parse()?,
            "--arch" | "--sm" => {
                selection.isa = Some(value()?.parse::<Isa>().map_err(anyhow::Error::msg)?)
            }
            flag if flag.starts_with('-') => bail!("tables does not know {flag:?}"),
            file => files.push(PathBuf::from(file)),
        }
    }
    if files.is_empty() {
        files = files_with_extension(&repository.built_kernels(), "cubin")?;
    }
    let mut tables = Tables::default();
    let mut seen = 0;
    let unreadable = each_kernel(&files, &selection, |session, kernel| {
        seen += 1;
        if seen % every == 0 {
            tables.kernel(&session.prepare(kernel)?);
        }
        Ok(())
    })?;
    for why in unreadable {
        println!("cannot be read: {why}");
    }
    tables.print();
    Ok(())
}

/// Bounds of one kernel for a model, by reading of loop facts; `None` if there is none.
struct Bounds {
    simt: Option<u128>,
    paper: Option<u128>,
}

fn bounds(prepared: &Prepared<'_>, flow: KernelFlow) -> Bounds {
    let code = &prepared.code;
    let value = |flow: &KernelFlow| {
        let facts = vec![Some(LOOP_BOUND); flow.loops.sites.len()];
        flow.bound(&facts).map(|bound| bound.limit().0)
    };
    let simt = value(&flow);
    let paper = value(&flow.with_paper_reading(code, &LaunchContext::default()));
    Bounds { simt, paper }
}

/// Numbers of kernels that have a bound with all domains, and of kernels whose bound is degraded or lost.
#[derive(Default, Clone, Copy)]
struct Degraded {
    bounded: usize,
    severe: usize,
    lost: usize,
}

impl Degraded {
    fn add(&mut self, full: Option<u128>, less: Option<u128>) {
        let Some(full) = full else { return };
        self.bounded += 1;
        match less {
            None => self.lost += 1,
            Some(less) => self.severe += usize::from(less >= SEVERE.saturating_mul(full)),
        }
    }

    fn share(&self, count: usize) -> f64 {
        100.0 * count as f64 / self.bounded.max(1) as f64
    }
}

#[derive(Default)]
struct Tables {
    kernels: usize,
    refused: usize,
    simt: [Degraded; VARIANTS.len()],
    paper: [Degraded; VARIANTS.len()],
    divergence_edges: Vec<usize>,
    times: Vec<Duration>,
}

impl Tables {
    fn kernel(&mut self, prepared: &Prepared<'_>) {
        let flow = |model: &WarpModel| {
            KernelFlow::analyse(
                &prepared.code,
                &LaunchContext::default(),
                model,
                &Default::default(),
            )
            .ok()
        };
        self.kernels += 1;
        let start = Instant::now();
        let Some(full) = flow(&BoundOptions::default().model) else {
            self.refused += 1;
            return;
        };
        self.times.push(start.elapsed());
        let edges = full.warp.divergence_edges(&full.thread).count();
        self.divergence_edges.push(edges);
        let full = bounds(prepared, full);
        for index in 0..VARIANTS.len() {
            let less = flow(&variant(index)).map(|flow| bounds(prepared, flow));
            self.simt[index].add(full.simt, less.as_ref().and_then(|b| b.simt));
            self.paper[index].add(full.paper, less.as_ref().and_then(|b| b.paper));
        }
    }

    fn print(&mut self) {
        println!(
            "{} kernels, {} of them refused\n",
            self.kernels, self.refused
        );
        println!("bound ten times larger or more / lost, in percent of the kernels");
        println!(
            "  {:<36} {:>18} {:>18} {:>8}",
            "", "--flow paper", "--flow simt", "paper"
        );
        for (index, (name, percent)) in VARIANTS.iter().enumerate() {
            let shares =
                |d: &Degraded| format!("{:.1} / {:.1}", d.share(d.severe), d.share(d.lost));
            println!(
                "  {name:<36} {:>18} {:>18} {percent:>8}",
                shares(&self.paper[index]),
                shares(&self.simt[index])
            );
        }
        self.divergence_edges.sort_unstable();
        self.times.sort_unstable();
        let few = self.divergence_edges.iter().filter(|&&n| n <= 4).count();
        println!(
            "\ndivergence edges of a kernel: {} have 4 or fewer (paper: 34 of 37); {}",
            few,
            quantiles(&self.divergence_edges)
        );
        println!(
            "construction of the warp-level graph (paper: 75 % 90 ms, most 1.3 s): {}",
            quantiles(&self.times)
        );
    }
}

fn quantiles<T: std::fmt::Debug>(sorted: &[T]) -> String {
    let at = |percent: usize| {
        let index = (sorted.len() * percent / 100).min(sorted.len().saturating_sub(1));
        sorted
            .get(index)
            .map_or("-".to_owned(), |n| format!("{n:?}"))
    };
    format!(
        "50 % {}, 75 % {}, 95 % {}, most {}",
        at(50),
        at(75),
        at(95),
        at(100)
    )
}
