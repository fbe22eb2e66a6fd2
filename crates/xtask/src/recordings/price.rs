//! Bounds of kernels with convergence barriers without one of the assumptions.

use std::collections::BTreeMap;
use std::path::Path;

use warpbound_bounds::bound;
use warpbound_ir::Code;
use warpbound_load::Kernel;
use warpbound_query::{BoundOptions, ImageSelection, KernelFlow, Session};
use warpbound_simt::warp::WarpModel;
use warpbound_testkit::convergence::without_barriers;

use crate::each_kernel::each_kernel;
use crate::repository::{Repository, files_with_extension};

/// Bound of each loop.
const LOOP_BOUND: u64 = 10;

#[derive(Default)]
struct Prices {
    kernels: usize,
    bounded: usize,
    /// Kernels whose bound rests on an assumption, by its name.
    resting: BTreeMap<String, usize>,
    /// Bound without an assumption / bound with it, by its name.
    ratios: BTreeMap<&'static str, Vec<(f64, String)>>,
}

pub(super) fn run(_: &Repository, cubins: &Path) -> anyhow::Result<()> {
    let files = files_with_extension(cubins, "cubin")?;
    let mut prices = Prices::default();
    let unreadable = each_kernel(&files, &ImageSelection::default(), |session, kernel| {
        prices.kernel(session, kernel)
    })?;
    for why in unreadable {
        println!("not read: {why}");
    }
    prices.print();
    Ok(())
}

impl Prices {
    fn kernel(&mut self, session: &Session, kernel: &Kernel) -> anyhow::Result<()> {
        self.kernels += 1;
        let options = BoundOptions {
            loop_default: Some(LOOP_BOUND),
            derive: false,
            ..BoundOptions::default()
        };
        let report = bound(session, kernel, &options)?;
        if report.verdict.bound().is_none() {
            return Ok(());
        }
        self.bounded += 1;
        for assumption in &report.assumptions {
            *self.resting.entry(assumption.id.to_string()).or_default() += 1;
        }
        let prepared = session.prepare(kernel)?;
        let knowledge = session.launch(kernel, &options)?;
        let bound_of = |code: &Code, model: &WarpModel| {
            let limits = options.limits();
            let flow = KernelFlow::analyse(code, &knowledge.context, model, &limits).ok()?;
            let loops = vec![Some(LOOP_BOUND); flow.loops.sites.len()];
            Some(flow.bound(&loops)?.limit().0 as f64)
        };
        let alone = WarpModel {
            may_diverge: false,
            ..options.model
        };
        let Some(with) = bound_of(&prepared.code, &options.model) else {
            return Ok(());
        };
        let name = format!("{} {}", session.name(), kernel.demangled());
        let unjoined = bound_of(&without_barriers(&prepared.code), &options.model);
        // Without groups that stay whole, each lane may execute its path alone.
        let lanes = f64::from(prepared.code.lanes());
        let apart = bound_of(&prepared.code, &alone).map(|bound| bound * lanes);
        for (assumption, without) in [("bsync-joins", unjoined), ("groups-whole", apart)] {
            if let Some(without) = without {
                let ratios = self.ratios.entry(assumption).or_default();
                ratios.push((without / with, name.clone()));
            }
        }
        Ok(())
    }

    fn print(&mut self) {
        println!(
            "{} kernels, {} bounded with {LOOP_BOUND} for each loop; their bounds rest on",
            self.kernels, self.bounded
        );
        for (name, count) in &self.resting {
            println!("  {count:>6}  {name}");
        }
        for (name, ratios) in &mut self.ratios {
            ratios.sort_by(|a, b| a.0.total_cmp(&b.0));
            println!("bound without {name} / bound with it:");
            for percent in [0, 50, 75, 90, 99, 100] {
                if let Some((ratio, kernel)) = ratios.get((ratios.len() - 1) * percent / 100) {
                    println!("  {percent:>3} %  {ratio:>8.2}  {kernel}");
                }
            }
        }
    }
}
