//! The same programs with the sites that the analysis finds: it finds those that the compiler knows, and those that it
//! accepts change no result.

use std::collections::BTreeMap;

use fastrand::Rng;
use warpbound_analyse::split_sites::{FoundSite, SiteContext, find_sites};
use warpbound_analyse::thread_cfg::Limits;
use warpbound_analyse::{Dependence, ThreadCfg};
use warpbound_ir::OpIndex;
use warpbound_launch::Launch;
use warpbound_simulate::functional::{NoListener, UntimedSplits, launch_waves};

use super::campaign::{SLOTS, SplitFindings, SplitSubject};
use super::compile::BranchKind;
use super::generate;
use super::statement::{LaneStatement, any};

/// Maximum number of instructions of a launch without splitting.
const MOST_INSTRUCTIONS: u64 = 1 << 18;

/// Maximum number of instructions of a launch with splitting, as a multiple of the number without.
const MOST_TIMES: u64 = 80;

/// Results of a campaign.
#[derive(Clone, Debug, Default)]
pub struct SiteFindings {
    /// Number of programs, and of programs whose lanes influence each other.
    pub programs: [usize; 2],
    /// Number of known branches over a side of an if, in programs whose lanes meet at exchanges only; number of them
    /// that the analysis accepts without merging, and with merging.
    pub plain: [usize; 3],
    /// Number of branches on EXEC that the analysis reports; number of them that it accepts without, and with
    /// merging.
    pub found: [usize; 3],
    /// Numbers of obstacles to plain branches, by reason.
    pub obstacles: BTreeMap<String, usize>,
    /// Number of known branches that the analysis does not report.
    pub missing: usize,
    /// Number of programs that do not end without splitting.
    pub endless: usize,
    /// Results of the runs.
    pub runs: SplitFindings,
}

/// Runs random programs with the sites that the analysis accepts. In half of the programs lanes influence each other.
pub fn campaign(seed: u64, programs: usize) -> SiteFindings {
    let mut rng = Rng::with_seed(seed);
    let mut all = SiteFindings::default();
    for number in 0..programs {
        let program = generate::program_with(&mut rng, number % 2 == 1);
        let collective = |one: &LaneStatement| matches!(one, LaneStatement::Collective { .. });
        let counts = |one: &LaneStatement| matches!(one, LaneStatement::Count { .. });
        let is_plain = !any(&program.statements, &collective);
        // Compilers leave out barriers in groups of one wave only if they know the size.
        let context = SiteContext::default();
        let subject = SplitSubject::new(&program);
        let Some(subject) = subject else { continue };
        all.programs[0] += 1;
        all.programs[1] += usize::from(!is_plain);
        let Some(found) = sites(&subject, &context) else {
            all.runs.report(|| format!("program {number}: no analysis"));
            continue;
        };
        all.compare_sites(
            &subject,
            &found,
            is_plain && !any(&program.statements, &counts),
        );
        all.run(number, &subject, &found, &mut rng);
    }
    all
}

fn sites(subject: &SplitSubject, context: &SiteContext) -> Option<Vec<FoundSite>> {
    let thread = ThreadCfg::build(&subject.code, &Limits::default()).ok()?;
    let dependence = Dependence::compute(&thread);
    find_sites(&subject.code, &thread, &dependence, context).ok()
}

impl SiteFindings {
    /// Adds the results of another campaign.
    pub fn add(&mut self, other: SiteFindings) {
        let sums = [&mut self.programs[..], &mut self.plain, &mut self.found];
        let numbers = [&other.programs[..], &other.plain, &other.found];
        for (sums, numbers) in sums.into_iter().zip(numbers) {
            for (sum, number) in sums.iter_mut().zip(numbers) {
                *sum += number;
            }
        }
        self.missing += other.missing;
        self.endless += other.endless;
        for (reason, count) in other.obstacles {
            *self.obstacles.entry(reason).or_default() += count;
        }
        self.runs.add(other.runs);
    }

    fn compare_sites(&mut self, subject: &SplitSubject, found: &[FoundSite], is_plain: bool) {
        self.found[0] += found.len();
        for site in found {
            self.found[1] += usize::from(site.may_split(false));
            self.found[2] += usize::from(site.may_split(true));
        }
        let known = subject
            .sites
            .iter()
            .filter(|one| one.kind == BranchKind::Side);
        for known in known {
            let site = found.iter().find(|site| site.at == OpIndex(known.at));
            let Some(site) = site else {
                self.missing += 1;
                continue;
            };
            if !is_plain {
                continue;
            }
            self.plain[0] += 1;
            self.plain[1] += usize::from(site.may_split(false));
            self.plain[2] += usize::from(site.may_split(true));
            if !site.may_split(false) || known.merge_point.is_some() && !site.may_split(true) {
                for obstacle in site.apart.iter().chain(&site.merged) {
                    let reason = obstacle.reason.to_string();
                    *self.obstacles.entry(reason).or_default() += 1;
                }
            }
        }
    }

    fn run(&mut self, number: usize, subject: &SplitSubject, found: &[FoundSite], rng: &mut Rng) {
        let mut alone = subject.memory.clone();
        let launch = Launch {
            max_instructions: MOST_INSTRUCTIONS,
            ..subject.launch.clone()
        };
        let counts = launch_waves(&subject.code, &launch, &mut alone, &mut NoListener);
        // A loop on the values of all active lanes may not end without lanes.
        let Ok(counts) = counts else {
            self.endless += 1;
            return;
        };
        let limit = counts.issued() * MOST_TIMES;
        for slots in SLOTS {
            for merges in [false, true] {
                let chosen = found.iter().filter(|site| site.may_split(merges));
                let splitting = UntimedSplits {
                    splits: slots,
                    sites: chosen
                        .map(|site| (site.at, site.merge_point.filter(|_| merges)))
                        .collect(),
                    merges,
                    ..UntimedSplits::default()
                };
                let seed = rng.u64(..);
                let result = subject.compare(&splitting, seed, (&alone, limit), &mut self.runs);
                if let Err(problem) = result {
                    self.runs.wrong += 1;
                    self.runs.report(|| {
                        format!("program {number}, {slots} slots, merges {merges}: {problem}")
                    });
                }
            }
        }
    }
}
