//! Choice of the sites at which a wave splits: an integer program, and simple rules to compare it with.
//!
//! The model: a wave executes both arms of a site one after the other. If it splits there, its splits execute the
//! arms in parallel, and the site costs some cycles of overhead. A choice must not need more splits at a time than
//! there are slots.
//!
//! For example, arms of 100 and 60 cycles take 160 cycles. With an overhead of 20, a wave that splits takes 120 and
//! saves 40.

use warpbound_ipet::{Effort, IntegerProgram, Relation, SolveOutcome, VarId, solve};

/// Arm of a site, over all executions in a wave.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ChoiceArm {
    /// Cycles of the arm without the sites in it.
    pub cycles: u64,
    /// Sites in it, in order.
    pub sites: Vec<usize>,
}

/// Site of a [`SiteForest`], over all executions in a wave.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ChoiceSite {
    /// Both arms.
    pub arms: [ChoiceArm; 2],
    /// Cycles that splitting costs: the split and the merge, or what both splits execute after the join.
    pub overhead: u64,
    /// Number of slots that splitting takes.
    pub slots: u64,
}

/// Rule by which splits use slots.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SlotUse {
    /// Splits merge at the join: sites nested in each other need slots at the same time.
    Nested,
    /// Splits run apart until they end: all sites need slots at the same time.
    All,
}

/// Sites of a kernel, nested by their arms.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SiteForest {
    /// Sites; a site has a smaller number than the sites in its arms.
    pub sites: Vec<ChoiceSite>,
    /// Sites that are in no arm, in order.
    pub roots: Vec<usize>,
    /// Use of slots.
    pub slot_use: SlotUse,
}

/// Choice of sites.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SiteChoice {
    /// For each site, whether it is chosen.
    pub chosen: Vec<bool>,
    /// Cycles that a wave saves by the model.
    pub saved: i128,
    /// Proven limit of the cycles that any choice saves; only the integer program has one.
    pub at_most: Option<i128>,
}

/// Maximum number of subproblems of the integer program; each is solved exactly.
const MAX_SUBPROBLEMS: usize = 300;

/// Maximum number of sites for which all choices are tried, 2^12 at most.
pub const MAX_EXHAUSTIVE: usize = 12;

impl SiteForest {
    /// Returns the cycles that all sites take in a wave that splits at the chosen ones.
    pub fn cycles(&self, chosen: &[bool]) -> i128 {
        self.sum(&self.roots, chosen)
    }

    fn sum(&self, sites: &[usize], chosen: &[bool]) -> i128 {
        sites
            .iter()
            .map(|&site| self.site_cycles(site, chosen))
            .sum()
    }

    fn site_cycles(&self, site: usize, chosen: &[bool]) -> i128 {
        let Some(found) = self.sites.get(site) else {
            return 0;
        };
        let [first, second] = found
            .arms
            .each_ref()
            .map(|arm| i128::from(arm.cycles) + self.sum(&arm.sites, chosen));
        // A choice may be shorter than the list of sites: `&[]` splits nowhere.
        match chosen.get(site) {
            Some(true) => first.max(second) + i128::from(found.overhead),
            _ => first + second,
        }
    }

    /// Returns the slots that a wave needs if it splits at the chosen sites.
    pub fn slots(&self, chosen: &[bool]) -> u64 {
        match self.slot_use {
            SlotUse::All => {
                let sites = self.sites.iter().zip(chosen);
                let taken = sites.filter(|(_, chosen)| **chosen);
                taken
                    .map(|(site, _)| site.slots)
                    .fold(0, u64::saturating_add)
            }
            SlotUse::Nested => self.deepest(&self.roots, chosen),
        }
    }

    /// Returns the largest number of slots in use along any chain of nested sites.
    fn deepest(&self, sites: &[usize], chosen: &[bool]) -> u64 {
        let depths = sites.iter().map(|&site| {
            let Some(found) = self.sites.get(site) else {
                return 0;
            };
            let arms = found
                .arms
                .iter()
                .map(|arm| self.deepest(&arm.sites, chosen));
            let own = match chosen.get(site) {
                Some(true) => found.slots,
                _ => 0,
            };
            own.saturating_add(arms.max().unwrap_or(0))
        });
        depths.max().unwrap_or(0)
    }

    /// Returns the cycles that a wave saves by splitting at the chosen sites; negative if it loses.
    pub fn saved(&self, chosen: &[bool]) -> i128 {
        self.cycles(&[]) - self.cycles(chosen)
    }

    /// Chooses the first sites in order for which there are slots (`wavefront-splitting-2022` 5.2.2).
    pub fn first_sites(&self, slots: u64) -> SiteChoice {
        let order: Vec<usize> = (0..self.sites.len()).collect();
        self.take_in_order(&order, slots)
    }

    /// Chooses the sites whose shorter arm is longest, as long as there are slots. For example, arms of 90 and 80
    /// cycles come before arms of 500 and 70.
    pub fn greedy(&self, slots: u64) -> SiteChoice {
        let gain = |site: usize| {
            let found = self.sites.get(site)?;
            let arms = found.arms.each_ref();
            let cycles = arms.map(|arm| i128::from(arm.cycles) + self.sum(&arm.sites, &[]));
            let shorter = cycles.into_iter().min()?;
            // A wave that splits saves at most the shorter arm.
            (shorter > i128::from(found.overhead)).then_some(shorter)
        };
        let with_gain = (0..self.sites.len()).filter_map(|site| Some((gain(site)?, site)));
        let mut order: Vec<(i128, usize)> = with_gain.collect();
        order.sort_by_key(|&(gain, site)| (-gain, site));
        let order: Vec<usize> = order.into_iter().map(|(_, site)| site).collect();
        self.take_in_order(&order, slots)
    }

    fn take_in_order(&self, order: &[usize], slots: u64) -> SiteChoice {
        let mut chosen = vec![false; self.sites.len()];
        for &site in order {
            // A site that does not fit is skipped, because a later one may need fewer slots.
            chosen[site] = true;
            chosen[site] = self.slots(&chosen) <= slots;
        }
        self.choice(chosen)
    }

    fn choice(&self, chosen: Vec<bool>) -> SiteChoice {
        SiteChoice {
            saved: self.saved(&chosen),
            chosen,
            at_most: None,
        }
    }

    /// Returns the best of all choices; `None` with more sites than [`MAX_EXHAUSTIVE`]. Among equal ones it is the
    /// first in the order of binary numbers whose lowest bit is the first site.
    pub fn exhaustive(&self, slots: u64) -> Option<SiteChoice> {
        let count = self.sites.len();
        if count > MAX_EXHAUSTIVE {
            return None;
        }
        let all = (0u32..1 << count).map(|number| {
            let bits = (0..count).map(|site| number >> site & 1 == 1);
            bits.collect::<Vec<bool>>()
        });
        let possible = all.filter(|chosen| self.slots(chosen) <= slots);
        let best = possible.map(|chosen| self.choice(chosen));
        best.reduce(|best, other| match other.saved > best.saved {
            true => other,
            false => best,
        })
    }

    /// Finds the best choice by an integer program, and a limit of the cycles that any choice saves.
    ///
    /// Subproblems decide one site after the other. Each has an upper bound with an exact certificate, and is dropped
    /// if it cannot be better than the best choice so far. After `MAX_SUBPROBLEMS` the best choice so far is
    /// returned, with a larger limit.
    pub fn by_program(&self, slots: u64) -> SiteChoice {
        let mut best = self.choice(vec![false; self.sites.len()]);
        // Any other site only costs cycles and slots, because splitting saves at most the shorter arm less the
        // overhead.
        let mut order: Vec<usize> = (0..self.sites.len())
            .filter(|&site| self.most_saved(site) > 0)
            .collect();
        order.sort_by_key(|&site| (-self.most_saved(site), site));
        let mut at_most = Some(0);
        let mut open: Vec<Vec<bool>> = vec![Vec::new()];
        let mut solved = 0;
        while let Some(decided) = open.pop() {
            let bound = match solved < MAX_SUBPROBLEMS {
                true => self.subproblem(&order, &decided, slots, &mut best),
                // Out of budget: without a solution, only the sum of all gains is a limit.
                false => Some(order.iter().map(|&site| self.most_saved(site)).sum()),
            };
            solved += 1;
            let Some(bound) = bound else {
                continue;
            };
            // Past the limit nothing is divided further, so the loop ends.
            let is_leaf = decided.len() >= order.len() || solved > MAX_SUBPROBLEMS;
            if bound > best.saved && !is_leaf {
                for value in [false, true] {
                    let mut next = decided.clone();
                    next.push(value);
                    open.push(next);
                }
            } else {
                // A subproblem that is dropped could still reach its bound, so the limit covers it.
                at_most = at_most.map(|most: i128| most.max(bound));
            }
        }
        let at_most = at_most.map(|most| most.max(best.saved));
        SiteChoice { at_most, ..best }
    }

    /// Upper bound on the cycles that splitting at one site saves: the shorter arm less the overhead.
    fn most_saved(&self, site: usize) -> i128 {
        let Some(found) = self.sites.get(site) else {
            return 0;
        };
        let arms = found.arms.each_ref();
        let cycles = arms.map(|arm| i128::from(arm.cycles) + self.sum(&arm.sites, &[]));
        cycles.into_iter().min().unwrap_or(0) - i128::from(found.overhead)
    }

    /// Solves the program with the first sites of `order` decided. Returns its bound, `None` if it has no solution,
    /// and improves `best` by the choice that it finds.
    fn subproblem(
        &self,
        order: &[usize],
        decided: &[bool],
        slots: u64,
        best: &mut SiteChoice,
    ) -> Option<i128> {
        let mut improve = |values: &dyn Fn(usize) -> bool| {
            let mut chosen = vec![false; self.sites.len()];
            for (at, &site) in order.iter().enumerate() {
                chosen[site] = values(at);
            }
            // The gain is computed by the model, so a wrong answer of the solver cannot be called the best choice.
            let choice = self.choice(chosen);
            if choice.saved > best.saved && self.slots(&choice.chosen) <= slots {
                *best = choice;
            }
        };
        // The sites decided so far may be the best choice even if the solver finds no integer point.
        improve(&|at| decided.get(at) == Some(&true));
        let (program, variables) = self.program(order, decided, slots);
        match solve(&program, Effort::default()) {
            SolveOutcome::Bounded(found) => {
                improve(&|at| {
                    let variable = variables.get(at);
                    variable.is_some_and(|&variable| found.witness_of(variable) == Some(1))
                });
                Some(found.bound)
            }
            SolveOutcome::Infeasible(_) => None,
            // Without a bound the subproblem is divided further.
            SolveOutcome::Unbounded(_) | SolveOutcome::SolverFailed(_) => {
                Some(order.iter().map(|&site| self.most_saved(site)).sum())
            }
        }
    }

    /// Makes the integer program. Each site of `order` has a variable that is 1 if it is chosen, and each site has
    /// one for the cycles that are saved at it and in its arms.
    fn program(
        &self,
        order: &[usize],
        decided: &[bool],
        slots: u64,
    ) -> (IntegerProgram, Vec<VarId>) {
        let mut program = IntegerProgram::new();
        // The gain of a root includes the gains of all sites in its arms, so only roots are in the objective.
        let is_root = |site: usize| i64::from(self.roots.contains(&site));
        let gains: Vec<VarId> = (0..self.sites.len())
            .map(|site| program.add_var(format!("saved at {site}"), is_root(site), None))
            .collect();
        let chosen: Vec<VarId> = order
            .iter()
            .map(|site| program.add_var(format!("chosen {site}"), 0, Some(1)))
            .collect();
        let variable_of = |site: usize| {
            let at = order.iter().position(|&other| other == site)?;
            chosen.get(at).copied()
        };
        for (site, &gain) in gains.iter().enumerate() {
            self.add_gain_rows(&mut program, site, gain, variable_of(site), &gains);
        }
        for (&variable, &value) in chosen.iter().zip(decided) {
            let value = i128::from(value);
            program.add_row("decided", "branching", [(variable, 1)], Relation::Eq, value);
        }
        self.add_slot_rows(&mut program, &variable_of, slots);
        (program, chosen)
    }

    /// Adds the rows of the cycles that a site saves: the gains in its arms and, if it is chosen, the shorter arm.
    fn add_gain_rows(
        &self,
        program: &mut IntegerProgram,
        site: usize,
        gain: VarId,
        chosen: Option<VarId>,
        gains: &[VarId],
    ) {
        let Some(found) = self.sites.get(site) else {
            return;
        };
        let gain_of = |&site: &usize| gains.get(site).map(|&gain| (gain, -1));
        let inside = found.arms.each_ref().map(|arm| {
            let sites = arm.sites.iter().filter_map(gain_of);
            sites.collect::<Vec<(VarId, i64)>>()
        });
        let arms = found.arms.each_ref();
        let cycles = arms.map(|arm| i128::from(arm.cycles) + self.sum(&arm.sites, &[]));
        // Serial: at most the gains in both arms, and the shorter arm less the overhead if the site is chosen.
        let shorter = self.most_saved(site).max(0);
        let weight = -i64::try_from(shorter).unwrap_or(i64::MAX);
        let serial = inside.iter().flatten().copied();
        let serial = serial.chain(chosen.map(|chosen| (chosen, weight)));
        let all = serial.chain([(gain, 1)]);
        program.add_row("serial", "arms one after the other", all, Relation::Le, 0);
        let Some(chosen) = chosen else {
            return;
        };
        // A chosen site takes at least each of its arms with the gains in that arm. If it is not chosen the row is
        // slack, because the sites of the other arm save no more than that arm takes.
        let overhead = i64::try_from(found.overhead).unwrap_or(i64::MAX);
        for (arm, other) in [(0, 1), (1, 0)] {
            let terms = inside[arm].iter().copied();
            let terms = terms.chain([(gain, 1), (chosen, overhead)]);
            let rest = cycles[other];
            program.add_row(
                "longer",
                "an arm takes its cycles",
                terms,
                Relation::Le,
                rest,
            );
        }
    }

    /// Adds the rows of the slots: one for each chain of nested sites, or one for all sites.
    fn add_slot_rows(
        &self,
        program: &mut IntegerProgram,
        variable_of: &dyn Fn(usize) -> Option<VarId>,
        slots: u64,
    ) {
        let chains = match self.slot_use {
            SlotUse::All => vec![(0..self.sites.len()).collect()],
            SlotUse::Nested => self.chains(),
        };
        for chain in chains {
            let terms: Vec<(VarId, i64)> = chain
                .into_iter()
                .filter_map(|site| {
                    let slots = i64::try_from(self.sites.get(site)?.slots).unwrap_or(i64::MAX);
                    Some((variable_of(site)?, slots))
                })
                .collect();
            let slots = i128::from(slots);
            program.add_row("slots", "splits at a time", terms, Relation::Le, slots);
        }
    }

    /// Returns all chains of nested sites, from a root to a site without sites in its arms.
    fn chains(&self) -> Vec<Vec<usize>> {
        let mut chains = Vec::new();
        let mut open: Vec<Vec<usize>> = self.roots.iter().map(|&root| vec![root]).collect();
        while let Some(chain) = open.pop() {
            let last = chain.last().and_then(|&site| self.sites.get(site));
            let arms = last.into_iter().flat_map(|site| &site.arms);
            let inside: Vec<usize> = arms.flat_map(|arm| &arm.sites).copied().collect();
            // Prefixes of a chain need no row of their own, because slots are not negative.
            if inside.is_empty() {
                chains.push(chain);
                continue;
            }
            open.extend(inside.into_iter().map(|site| {
                let mut longer = chain.clone();
                longer.push(site);
                longer
            }));
        }
        chains
    }
}

#[cfg(test)]
mod tests;
