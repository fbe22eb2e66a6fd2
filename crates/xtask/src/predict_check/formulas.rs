//! Closed forms of counts against predictions by the slice, in random launches of all kernels.

use std::collections::BTreeMap;

use fastrand::Rng;
use warpbound_measure::formula_inputs;
use warpbound_query::Session;
use warpbound_testkit::count_formulas::ComparedFormulas;

use super::{CommittedLaunch, CubinFolder};
use crate::repository::Repository;

/// Differences of a kernel that are printed.
const PRINTED: usize = 3;

/// Numbers of all kernels.
#[derive(Default)]
struct FormulaTotal {
    kernels: u64,
    /// Kernels with a formula of each block, and of some.
    whole: u64,
    some: u64,
    blocks: u64,
    with_formula: u64,
    /// Blocks with a formula for the executions by warps, and with a sum over all threads.
    of_warps: u64,
    with_sum: u64,
    compared: ComparedFormulas,
    /// Blocks without a formula, by reason.
    reasons: BTreeMap<&'static str, u64>,
}

/// Compares the formulas of all kernels in `launches` random launches of each.
pub(super) fn check(
    repository: &Repository,
    cubins: &CubinFolder,
    names: &[String],
    launches: u64,
    seed: u64,
) -> anyhow::Result<()> {
    let mut total = FormulaTotal::default();
    for committed in first_launches(repository, names)? {
        if let Some(found) = CommittedLaunch::read(repository, &committed, cubins)? {
            total.add_kernel(&committed, &found, launches, seed)?;
        }
    }
    total.print();
    match total.compared.wrong.len() {
        0 => Ok(()),
        wrong => anyhow::bail!("{wrong} formulas are not what is predicted"),
    }
}

/// For each kernel the first of its launches.
fn first_launches(repository: &Repository, names: &[String]) -> anyhow::Result<Vec<String>> {
    let mut first: BTreeMap<String, String> = BTreeMap::new();
    for path in repository.cuda_launches()? {
        let name = path.file_name().unwrap_or_default();
        let name = name.to_string_lossy().into_owned();
        let is_named = names.iter().any(|start| name.starts_with(start));
        if !names.is_empty() && !is_named {
            continue;
        }
        // SOURCE.KERNEL.NUMBER.toml
        let kernel = name.trim_end_matches(".toml");
        let kernel = kernel.rsplit_once('.').map_or(kernel, |(kernel, _)| kernel);
        first.entry(kernel.to_owned()).or_insert(name);
    }
    Ok(first.into_values().collect())
}

impl FormulaTotal {
    fn add_kernel(
        &mut self,
        name: &str,
        CommittedLaunch { launch, cubin }: &CommittedLaunch,
        launches: u64,
        seed: u64,
    ) -> anyhow::Result<()> {
        let session = Session::open(name, cubin)?;
        let kernel = session.launched_kernel(None, launch.kernel.as_deref())?;
        let prepared = session.prepare(kernel)?;
        self.kernels += 1;
        let inputs = match formula_inputs(&session, &prepared, None) {
            Ok(inputs) => inputs,
            Err(why) => {
                println!("{name}: {why}");
                return Ok(());
            }
        };
        let formulas = inputs.find(&prepared);
        let mut with = Vec::new();
        for (&block, found) in formulas.blocks() {
            match found {
                Ok(_) => with.push(block),
                Err(why) => *self.reasons.entry(why.reason.text()).or_default() += 1,
            }
        }
        let blocks = formulas.blocks().len();
        self.blocks += blocks as u64;
        self.with_formula += with.len() as u64;
        self.whole += u64::from(with.len() == blocks);
        self.some += u64::from(!with.is_empty());
        let of_warps = with.iter().filter(|&&block| formulas.is_whole(block));
        self.of_warps += of_warps.count() as u64;
        let with_sum = with
            .iter()
            .filter(|&&block| formulas.sum_text(block).is_some());
        self.with_sum += with_sum.count() as u64;
        let mut rng = Rng::with_seed(seed);
        let compared = ComparedFormulas::of_kernel(
            &session, &prepared, &formulas, launch, launches, &mut rng,
        )?;
        println!(
            "{name}: {} of {blocks} blocks with a formula, {} launches",
            with.len(),
            compared.launches
        );
        for wrong in compared.wrong.iter().take(PRINTED) {
            println!("    wrong: {wrong}");
        }
        self.compared.append(compared);
        Ok(())
    }

    fn print(&self) {
        println!(
            "{} kernels, {} with a formula of each block, {} with one of some block",
            self.kernels, self.whole, self.some
        );
        println!(
            "{} of {} blocks with a formula; {} of them also for executions by warps, {} with a sum over all threads",
            self.with_formula, self.blocks, self.of_warps, self.with_sum
        );
        for (reason, blocks) in &self.reasons {
            println!("{blocks} blocks without one because of {reason}");
        }
        let compared = &self.compared;
        println!(
            "{} random launches: {} formulas equal to the prediction ({} also by the sum, {} also for warps), {} outside their range, {} counts not predicted, {} wrong",
            compared.launches,
            compared.equal,
            compared.sums,
            compared.issues,
            compared.outside,
            compared.unpredicted,
            compared.wrong.len()
        );
    }
}
