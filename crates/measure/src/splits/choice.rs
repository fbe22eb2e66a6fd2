//! Choice of the sites at which a wave splits: an integer program, and simple rules to compare it with.
//!
//! The model: a wave executes both arms of a site one after the other; if it splits there, its splits execute them side by
//! side, and the site costs some cycles beside. What is chosen must not need more splits at a time than there are slots.

use warpbound_bound::{Effort, IntegerProgram, Relation, SolveOutcome, VarId, solve};

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
    /// Cycles that splitting costs: of the split and of the merge, or what the splits repeat after the join.
    pub overhead: u64,
    /// Slots that splitting takes.
    pub slots: u64,
}

/// Rule by which splits use slots.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SlotUse {
    /// Splits merge at the join: sites nested in each other need slots at the same time.
    Nested,
    /// Splits run apart until they end: all sites do.
    All,
}

/// Sites of a kernel, nested by their arms.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SiteForest {
    /// Sites; those in the arms of a site have greater numbers.
    pub sites: Vec<ChoiceSite>,
    /// Sites that are in no arm, in order.
    pub roots: Vec<usize>,
    /// Use of slots.
    pub slot_use: SlotUse,
}

/// Sites that are chosen.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SiteChoice {
    /// For each site, whether it is chosen.
    pub chosen: Vec<bool>,
    /// Cycles that a wave saves by the model.
    pub saved: i128,
    /// Cycles that no choice exceeds, if they are proven; of the integer program.
    pub at_most: Option<i128>,
}

/// Most subproblems of the integer program; each is solved exactly.
const MAX_SUBPROBLEMS: usize = 300;

/// Most sites of which all choices are tried.
pub const MAX_EXHAUSTIVE: usize = 12;

impl SiteForest {
    /// Cycles of the sites of a wave that splits at the chosen ones.
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
        match chosen.get(site) {
            Some(true) => first.max(second) + i128::from(found.overhead),
            _ => first + second,
        }
    }

    /// Slots that a wave needs which splits at the chosen sites.
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

    /// Cycles that a wave saves by splitting at the chosen sites; negative if it loses.
    pub fn saved(&self, chosen: &[bool]) -> i128 {
        self.cycles(&[]) - self.cycles(chosen)
    }

    /// The first sites in order for which there are slots (`wavefront-splitting-2022` 5.2.2).
    pub fn first_sites(&self, slots: u64) -> SiteChoice {
        let order: Vec<usize> = (0..self.sites.len()).collect();
        self.take_in_order(&order, slots)
    }

    /// The sites with the longest shorter arm for which there are slots.
    pub fn greedy(&self, slots: u64) -> SiteChoice {
        let gain = |site: usize| {
            let found = self.sites.get(site)?;
            let arms = found.arms.each_ref();
            let cycles = arms.map(|arm| i128::from(arm.cycles) + self.sum(&arm.sites, &[]));
            let shorter = cycles.into_iter().min()?;
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

    /// The best of all choices; of equal ones the first, in the order of the binary numbers whose lowest bit is the first
    /// site. `None` with more sites than [`MAX_EXHAUSTIVE`].
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

    /// The best choice by an integer program, with the cycles that no choice exceeds.
    ///
    /// Subproblems decide one site after the other. Each has a bound with an exact certificate; those that cannot be better
    /// than the best choice so far are dropped. After a limit of subproblems the best so far is returned, with a bound that
    /// is larger than what it saves.
    pub fn by_program(&self, slots: u64) -> SiteChoice {
        let mut best = self.choice(vec![false; self.sites.len()]);
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
                // Not looked at any more: it may reach what all sites may.
                false => Some(order.iter().map(|&site| self.most_saved(site)).sum()),
            };
            solved += 1;
            let Some(bound) = bound else {
                continue;
            };
            let is_leaf = decided.len() >= order.len() || solved > MAX_SUBPROBLEMS;
            if bound > best.saved && !is_leaf {
                for value in [false, true] {
                    let mut next = decided.clone();
                    next.push(value);
                    open.push(next);
                }
            } else {
                at_most = at_most.map(|most: i128| most.max(bound));
            }
        }
        let at_most = at_most.map(|most| most.max(best.saved));
        SiteChoice { at_most, ..best }
    }

    /// Most cycles that splitting at one site may save.
    fn most_saved(&self, site: usize) -> i128 {
        let Some(found) = self.sites.get(site) else {
            return 0;
        };
        let arms = found.arms.each_ref();
        let cycles = arms.map(|arm| i128::from(arm.cycles) + self.sum(&arm.sites, &[]));
        cycles.into_iter().min().unwrap_or(0) - i128::from(found.overhead)
    }

    /// Solves the program with the first sites of an order decided. Returns its bound, `None` if it has no solution;
    /// improves `best` by the choice that it finds.
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
            let choice = self.choice(chosen);
            if choice.saved > best.saved && self.slots(&choice.chosen) <= slots {
                *best = choice;
            }
        };
        // What is decided may be the best, also where the solver finds no integer point.
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

    /// Integer program: a variable for each site of `order` that is 1 if it is chosen, and one for the cycles that each
    /// site saves with those in its arms.
    fn program(
        &self,
        order: &[usize],
        decided: &[bool],
        slots: u64,
    ) -> (IntegerProgram, Vec<VarId>) {
        let mut program = IntegerProgram::new();
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

    /// Rows of the cycles that a site saves: those of its arms, and if it is chosen those of the shorter arm.
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
        // Serial: the gains of both arms, and at most the shorter arm if it is chosen.
        let shorter = self.most_saved(site).max(0);
        let weight = -i64::try_from(shorter).unwrap_or(i64::MAX);
        let serial = inside.iter().flatten().copied();
        let serial = serial.chain(chosen.map(|chosen| (chosen, weight)));
        let all = serial.chain([(gain, 1)]);
        program.add_row("serial", "arms one after the other", all, Relation::Le, 0);
        let Some(chosen) = chosen else {
            return;
        };
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

    /// Rows of the slots: for each chain of nested sites, or for all sites.
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

    /// Chains of sites, each nested in the one before, from a site in no arm to one without sites in its arms.
    fn chains(&self) -> Vec<Vec<usize>> {
        let mut chains = Vec::new();
        let mut open: Vec<Vec<usize>> = self.roots.iter().map(|&root| vec![root]).collect();
        while let Some(chain) = open.pop() {
            let last = chain.last().and_then(|&site| self.sites.get(site));
            let arms = last.into_iter().flat_map(|site| &site.arms);
            let inside: Vec<usize> = arms.flat_map(|arm| &arm.sites).copied().collect();
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
