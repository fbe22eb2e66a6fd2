//! `cargo xtask formulas`: formulas of kernels against their bounds at random points.

mod parameters;

use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, bail};
use warpbound_base::Instructions;
use warpbound_bounds::bound::symbolic_program;
use warpbound_ipet::StatedCounts;
use warpbound_ipet::formula::{Formula, FormulaEffort, find_formula};
use warpbound_load::{Isa, Kernel};
use warpbound_query::{BoundOptions, ImageSelection, KernelFlow, Session};

use crate::each_kernel::each_kernel;
use crate::repository::{Repository, files_with_extension};

pub(crate) const HELP: &str = "\
usage: cargo run --release -p warpbound-xtask -- formulas [--points N] [--launches N] [--seed N] [--arch ARCH] [--text] [FILE...]

For each kernel with loops (cubins of kernels/built for sm_61), with the count of every loop as a symbol: searches the
formula of its bound and compares it with the bound itself at N random points, half of them small numbers, the others up
to 10000. Then, where the counts of all loops are known in terms of the launch, the formula in parameters and sizes with
the bound of random launches. Prints one line per kernel and the sums. Fails if a formula is smaller than a bound.

  --points N   points per kernel (1000)
  --launches N launches per kernel (20)
  --seed N     seed of the points (1)
  --arch ARCH   only images for this architecture (sm_61)
  --text       print the formulas";

use self::parameters::ParameterComparison;

/// Largest count of a loop at a random point.
const MOST: u64 = 10_000;

/// Largest count at a point of small numbers.
const SMALL: u64 = 8;

pub(crate) fn run(repository: &Repository, arguments: &[String]) -> anyhow::Result<()> {
    let mut files = Vec::new();
    let mut selection = ImageSelection {
        isa: Some("sm_61".parse::<Isa>().map_err(anyhow::Error::msg)?),
        ..ImageSelection::default()
    };
    let mut comparison = Comparison {
        points: 1000,
        parameters: ParameterComparison::new(20),
        ..Comparison::default()
    };
    let mut seed = 1;
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let mut value = || rest.next().context("an option without a value");
        match argument.as_str() {
            "--points" => comparison.points = value()?.parse()?,
            "--launches" => comparison.parameters = ParameterComparison::new(value()?.parse()?),
            "--seed" => seed = value()?.parse()?,
            "--arch" | "--sm" => {
                selection.isa = Some(value()?.parse::<Isa>().map_err(anyhow::Error::msg)?)
            }
            "--text" => comparison.text = true,
            flag if flag.starts_with('-') => bail!("formulas does not know {flag:?}"),
            file => files.push(PathBuf::from(file)),
        }
    }
    if files.is_empty() {
        files = files_with_extension(&repository.built_kernels(), "cubin")?;
    }
    comparison.random = fastrand::Rng::with_seed(seed);
    let unreadable = each_kernel(&files, &selection, |session, kernel| {
        comparison.kernel(session, kernel)
    })?;
    for why in unreadable {
        println!("cannot be read: {why}");
    }
    comparison.print();
    comparison.parameters.print();
    match comparison.smaller + comparison.parameters.smaller {
        0 => Ok(()),
        n => bail!("formulas are smaller than the bound at {n} points"),
    }
}

/// Numbers of all kernels.
#[derive(Default)]
struct Comparison {
    points: usize,
    text: bool,
    random: fastrand::Rng,
    parameters: ParameterComparison,
    kernels: usize,
    with_formula: usize,
    /// Kernels whose formula equals the bound at 95 % of the points at least.
    equal_kernels: usize,
    compared: usize,
    equal: usize,
    smaller: usize,
    outside: usize,
}

impl Comparison {
    fn kernel(&mut self, session: &Session, kernel: &Kernel) -> anyhow::Result<()> {
        let prepared = session.prepare(kernel)?;
        let options = BoundOptions::default();
        let limits = options.limits();
        let flow =
            KernelFlow::analyse(&prepared.code, &Default::default(), &options.model, &limits);
        let Ok(flow) = flow else {
            return Ok(());
        };
        let loops = flow.loops.sites.len();
        if loops == 0 || flow.bound(&vec![Some(1); loops]).is_none() {
            return Ok(());
        }
        self.kernels += 1;
        let name = format!("{} {}", session.name(), kernel.demangled());
        let facts: Vec<usize> = (0..loops).collect();
        let bounds = vec![None; loops];
        let stated = StatedCounts {
            bounds: &bounds,
            ..StatedCounts::default()
        };
        let cost = |node| Instructions(flow.thread.space.block(node).instructions.into());
        let start = Instant::now();
        let program = symbolic_program(&flow, &facts, stated, cost)?;
        let formula = find_formula::<Instructions>(&program, FormulaEffort::default());
        let time = start.elapsed().as_millis();
        match formula {
            Ok(formula) => {
                self.with_formula += 1;
                self.compare(&flow, &formula, &name, time);
            }
            Err(why) => println!(
                "{name}: {loops} loops, {time} ms: no formula because {}",
                why.message
            ),
        }
        self.parameters
            .kernel(session, kernel, &mut self.random, &name)
    }

    fn compare(
        &mut self,
        flow: &KernelFlow,
        formula: &Formula<Instructions>,
        name: &str,
        time: u128,
    ) {
        let loops = formula.symbols();
        let (mut equal, mut smaller, mut outside, mut compared) = (0, 0, 0, 0);
        let mut worst: f64 = 1.0;
        for number in 0..self.points {
            let most = if number % 2 == 0 { SMALL } else { MOST };
            let point: Vec<u64> = (0..loops).map(|_| self.random.u64(1..=most)).collect();
            let counts: Vec<Option<u64>> = point.iter().copied().map(Some).collect();
            let Some(bound) = flow.bound(&counts) else {
                continue;
            };
            let bound = bound.limit().0;
            let Some(value) = formula.at(&point) else {
                outside += 1;
                continue;
            };
            let value = value.limit().0;
            compared += 1;
            equal += usize::from(value == bound);
            if value < bound {
                smaller += 1;
                println!("{name}: {value} is below the bound {bound} at {point:?}");
            }
            worst = worst.max(value as f64 / bound as f64);
        }
        println!(
            "{name}: {loops} loops, {} pieces, {time} ms; {equal} of {compared} equal, {outside} outside, at most {worst:.3} of the bound",
            formula.pieces().len()
        );
        if self.text {
            for piece in formula.pieces() {
                let name = |symbol: usize| format!("L{}", symbol + 1);
                println!("    {}", piece.bound().text(name));
                println!("      for {:?}", piece.region().least);
                for condition in &piece.region().conditions {
                    println!("      and {} >= 0", condition.text(name));
                }
            }
        }
        self.compared += compared;
        self.equal += equal;
        self.smaller += smaller;
        self.outside += outside;
        self.equal_kernels += usize::from(equal * 100 >= (compared + outside) * 95);
    }

    fn print(&self) {
        println!(
            "{} kernels with loops, {} with a formula, {} of them equal to the bound at 95 % of the points",
            self.kernels, self.with_formula, self.equal_kernels
        );
        println!(
            "{} points in the range of the formulas, {} equal, {} smaller; {} points outside the range",
            self.compared, self.equal, self.smaller, self.outside
        );
    }
}
