//! Sites at which the waves of a kernel may split: their costs, and which to choose. A site is a branch on the mask
//! of active lanes. For example, at an if-else a wave may send the lanes of each arm their own way, instead of
//! executing both arms one after the other.

pub mod choice;
mod costs;
mod forest;

use std::sync::Arc;
use warpbound_analyse::split_sites::{FoundSite, SplitObstacle, find_sites};
use warpbound_base::{CodeAddr, Diagnostic, Named};
use warpbound_bounds::bound::flow_facts;
use warpbound_isa::Program;
use warpbound_launch::MarkedSites;
use warpbound_load::Kernel;
use warpbound_machine::{GpuModel, Selection};
use warpbound_query::split_sites::site_context;
use warpbound_report::BoundAssumption;
use warpbound_report::splits::{ChoiceReport, ChosenBy, ObstacleReport, SiteReport, SplitsReport};

use choice::SiteChoice;
use costs::NodeCosts;
use forest::{KernelSites, SiteCosts};
use warpbound_query::prepared::Prepared;
use warpbound_query::{AnalysedKernel, BoundOptions, KernelAnalysis, Session};

/// Options of a report of sites.
#[derive(Clone, Debug)]
pub struct SplitsOptions {
    /// Number of reserve slots of a launch wave.
    pub splits: u32,
    /// Whether splits merge at the join of their branch.
    pub merge: bool,
    /// Machine; `None` is the default one of the architecture of the code.
    pub machine: Option<GpuModel>,
    /// Launches and facts, for the executions of sites.
    pub bound: BoundOptions,
}

/// Reports the sites of a kernel: their costs on a machine, and the sites that each rule chooses.
///
/// # Errors
///
/// The kernel is refused or not for GCN3, the machine is for other code, or statements about the launch do not suit the
/// kernel.
pub fn splits(
    session: &Session,
    kernel: &Kernel,
    options: &SplitsOptions,
) -> Result<SplitsReport, Diagnostic> {
    let prepared = Arc::new(session.prepare_measured(kernel)?);
    let Program::Amd(program) = &prepared.program else {
        let isa = session.image.isa();
        let message = format!("waves split on GCN3 only, and this is code for {isa}");
        return Err(session.locate(Diagnostic::new(message).in_kernel(kernel.demangled())));
    };
    let machine = match &options.machine {
        Some(machine) => machine.clone(),
        None => session.own_gpu_model()?,
    };
    let isa = session.image.isa().to_string();
    if !machine.is_for(&isa) {
        let message = format!("machine {} does not execute code for {isa}", machine.name);
        return Err(session.locate(Diagnostic::new(message)));
    }
    let analysis = KernelAnalysis::new(session, Arc::clone(&prepared), &options.bound)?;
    let analysed = analysis.followed()?;
    let AnalysedKernel {
        knowledge, flow, ..
    } = analysed;
    let facts = flow_facts(analysed)?;
    let dependence = flow.dependence();
    let context = site_context(&prepared, knowledge.context.block);
    let found = find_sites(&prepared.code, &flow.thread, dependence, &context);
    let found = found.map_err(|refusal| session.refusal_diagnostic(&prepared, refusal))?;
    // The costs are estimates for a choice and no bounds, so typical values are used.
    let config = machine.select(Selection::Typical);
    let costs = NodeCosts::new(&prepared, program, &config, flow, &facts.bounds);
    let sites = KernelSites::new(&flow.thread, dependence, &costs, &found, options);
    Ok(report(&prepared, &machine.name, &found, &sites, options))
}

/// Makes the report.
fn report(
    prepared: &Prepared<'_>,
    machine: &str,
    found: &[FoundSite],
    sites: &KernelSites,
    options: &SplitsOptions,
) -> SplitsReport {
    let slots = u64::from(options.splits);
    let forest = &sites.forest;
    let program = forest.by_program(slots);
    let (greedy, first) = (forest.greedy(slots), forest.first_sites(slots));
    let exhaustive = forest.exhaustive(slots);
    let choices = [
        ("program", Some(&program)),
        ("greedy", Some(&greedy)),
        ("first", Some(&first)),
        ("exhaustive", exhaustive.as_ref()),
    ];
    let is_chosen = |choice: &SiteChoice, number: Option<usize>| {
        number.is_some_and(|number| choice.chosen.get(number) == Some(&true))
    };
    let rows = found.iter().zip(&sites.costs).map(|(site, costs)| {
        let row = site_report(prepared, site, costs, options);
        SiteReport {
            chosen: ChosenBy {
                program: is_chosen(&program, costs.number),
                greedy: is_chosen(&greedy, costs.number),
                first: is_chosen(&first, costs.number),
                exhaustive: exhaustive
                    .as_ref()
                    .map(|choice| is_chosen(choice, costs.number)),
            },
            ..row
        }
    });
    SplitsReport {
        schema: SplitsReport::SCHEMA,
        kernel: prepared.kernel.demangled(),
        machine: machine.to_owned(),
        splits: options.splits,
        merge: if options.merge { "join" } else { "none" },
        assumptions: vec![race_free_lanes()],
        sites: rows.collect(),
        choices: choices
            .into_iter()
            .filter_map(|(rule, choice)| {
                let choice = choice?;
                Some(ChoiceReport {
                    rule,
                    sites: choice.chosen.iter().filter(|chosen| **chosen).count(),
                    saved: choice.saved,
                    at_most: choice.at_most,
                })
            })
            .collect(),
    }
}

fn site_report(
    prepared: &Prepared<'_>,
    site: &FoundSite,
    costs: &SiteCosts,
    options: &SplitsOptions,
) -> SiteReport {
    let addr = prepared.addr(site.at);
    let obstacles = |list: &[SplitObstacle]| {
        let reports = list.iter().map(|obstacle| ObstacleReport {
            address: prepared.addr(obstacle.at).to_string(),
            reason: obstacle.reason.to_string(),
            cause: obstacle
                .reason
                .cause()
                .map(|cause| prepared.addr(cause.at).to_string()),
        });
        reports.collect::<Vec<ObstacleReport>>()
    };
    let accepted = costs.number.is_some();
    SiteReport {
        address: addr.to_string(),
        source: prepared.source(addr),
        kind: site.kind.name(),
        verdict: site.verdict().name(),
        merge_point: site.merge_point.map(|at| prepared.addr(at).to_string()),
        arms: accepted.then_some(costs.arms),
        // Merged splits execute the code after the join once.
        tail: (accepted && !options.merge).then_some(costs.tail),
        executions: costs.executions,
        saved: accepted.then_some(costs.saved),
        chosen: ChosenBy::default(),
        apart: obstacles(&site.apart),
        merged: obstacles(&site.merged),
    }
}

/// Returns the text of a marks file with the sites that the integer program chooses in reports.
pub fn chosen_marks(reports: &[SplitsReport]) -> String {
    let mut marked = MarkedSites::default();
    for report in reports {
        for site in report.sites.iter().filter(|site| site.chosen.program) {
            let digits = site.address.trim_start_matches("0x");
            // Addresses of reports are hexadecimal numbers, so this never fails.
            if let Ok(addr) = u32::from_str_radix(digits, 16) {
                marked.add(Some(report.kernel.clone()), CodeAddr(addr));
            }
        }
    }
    marked.text()
}

/// Returns the assumption on which all sites rest (SOUNDNESS 2).
fn race_free_lanes() -> BoundAssumption {
    BoundAssumption {
        id: "race-free-lanes",
        text: "lanes of a wave exchange data through memory only over barriers, and no result depends on the order of the atomic operations of its lanes".to_owned(),
    }
}
