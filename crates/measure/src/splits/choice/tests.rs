use fastrand::Rng;
use warpbound_ipet::evaluate;

use super::*;

/// Random forest with some number of sites, at most `most`.
fn forest(rng: &mut Rng, most: usize) -> SiteForest {
    let count = rng.usize(1..=most);
    let slot_use = match rng.bool() {
        true => SlotUse::Nested,
        false => SlotUse::All,
    };
    let mut forest = SiteForest {
        sites: Vec::new(),
        roots: Vec::new(),
        slot_use,
    };
    for number in 0..count {
        let arm = |rng: &mut Rng| ChoiceArm {
            cycles: [0, rng.u64(..20), rng.u64(..400)][rng.usize(..3)],
            sites: Vec::new(),
        };
        forest.sites.push(ChoiceSite {
            arms: [arm(rng), arm(rng)],
            overhead: [0, 4, rng.u64(..60)][rng.usize(..3)],
            slots: match slot_use {
                SlotUse::Nested => 1,
                SlotUse::All => [1, 1, rng.u64(1..4)][rng.usize(..3)],
            },
        });
        match number > 0 && rng.u8(..4) > 0 {
            true => {
                let around = rng.usize(..number);
                forest.sites[around].arms[rng.usize(..2)].sites.push(number);
            }
            false => forest.roots.push(number),
        }
    }
    forest
}

/// Returns the cycles of the longest path: it takes one arm of each chosen site and both arms of the others. All
/// combinations are tried.
fn longest_path(forest: &SiteForest, chosen: &[bool]) -> i128 {
    let taken: Vec<usize> = (0..chosen.len()).filter(|&site| chosen[site]).collect();
    let ways = 0u32..1 << taken.len();
    let paths = ways.map(|way| {
        let mut cycles = 0;
        let mut open = forest.roots.clone();
        while let Some(site) = open.pop() {
            let found = &forest.sites[site];
            let place = taken.iter().position(|&other| other == site);
            let arms = match place {
                Some(bit) => vec![&found.arms[(way >> bit & 1) as usize]],
                None => found.arms.iter().collect(),
            };
            cycles += place.map_or(0, |_| i128::from(found.overhead));
            for arm in arms {
                cycles += i128::from(arm.cycles);
                open.extend(&arm.sites);
            }
        }
        cycles
    });
    paths.max().unwrap_or(0)
}

/// Maximum number of slots in use at a time, from the chosen sites around each site, innermost first.
fn slots_in_use(forest: &SiteForest, chosen: &[bool]) -> u64 {
    let slots = |site: usize| match chosen[site] {
        true => forest.sites[site].slots,
        false => 0,
    };
    if forest.slot_use == SlotUse::All {
        return (0..chosen.len()).map(slots).sum();
    }
    let around = |site: usize| {
        (0..chosen.len()).find(|&other| {
            let mut arms = forest.sites[other].arms.iter();
            arms.any(|arm| arm.sites.contains(&site))
        })
    };
    let chain = |site: usize| std::iter::successors(Some(site), |&site| around(site));
    let sums = (0..chosen.len()).map(|site| chain(site).map(slots).sum());
    sums.max().unwrap_or(0)
}

fn random_choice(rng: &mut Rng, count: usize) -> Vec<bool> {
    (0..count).map(|_| rng.bool()).collect()
}

/// The model agrees with paths through the arms.
#[test]
fn the_model_is_the_longest_path() {
    let rng = &mut Rng::with_seed(7);
    for _ in 0..400 {
        let forest = forest(rng, 8);
        let chosen = random_choice(rng, forest.sites.len());
        assert_eq!(
            forest.cycles(&chosen),
            longest_path(&forest, &chosen),
            "{forest:?}"
        );
        assert_eq!(
            forest.slots(&chosen),
            slots_in_use(&forest, &chosen),
            "{forest:?}"
        );
    }
}

/// Rows of the program hold for a choice exactly if there are slots and each site saves no more than the longest paths do
/// with it and without it.
#[test]
fn rows_hold_exactly_for_possible_choices() {
    let rng = &mut Rng::with_seed(11);
    let (mut possible, mut impossible) = (0, 0);
    for _ in 0..400 {
        let forest = forest(rng, 7);
        let count = forest.sites.len();
        let slots = rng.u64(..4);
        let order: Vec<usize> = (0..count).collect();
        let (program, _) = forest.program(&order, &[], slots);
        let chosen = random_choice(rng, count);
        // Savings of the part of the forest below a site, by paths.
        let saved_below = |site: usize| {
            let part = SiteForest {
                roots: vec![site],
                ..forest.clone()
            };
            longest_path(&part, &vec![false; count]) - longest_path(&part, &chosen)
        };
        let saved: Vec<i128> = (0..count).map(saved_below).collect();
        if saved.iter().any(|&saved| saved < 0) {
            // The variables are not negative: no program chooses such sites.
            continue;
        }
        let mut point: Vec<u128> = saved.iter().map(|&saved| saved as u128).collect();
        point.extend(chosen.iter().map(|&chosen| u128::from(chosen)));
        let has_slots = slots_in_use(&forest, &chosen) <= slots;
        let value = evaluate(&program, &point);
        assert_eq!(value.is_ok(), has_slots, "{forest:?} {chosen:?}");
        if !has_slots {
            impossible += 1;
            continue;
        }
        possible += 1;
        let roots = forest.roots.iter().map(|&root| saved[root]);
        assert_eq!(
            value.expect("a point").to_string(),
            roots.sum::<i128>().to_string()
        );
        for &root in &forest.roots {
            let mut more = point.clone();
            more[root] += 1;
            assert!(evaluate(&program, &more).is_err(), "{forest:?} {chosen:?}");
        }
    }
    assert!(possible > 50 && impossible > 50, "{possible} {impossible}");
}

/// X5: the program saves as much as the best of all choices, and says that no choice saves more.
#[test]
fn the_program_finds_the_best_of_all_choices() {
    let rng = &mut Rng::with_seed(13);
    let (mut better_than_first, mut better_than_greedy) = (0, 0);
    for _ in 0..150 {
        let forest = forest(rng, 8);
        let slots = rng.u64(..4);
        let program = forest.by_program(slots);
        let best = forest.exhaustive(slots).expect("few sites");
        assert_eq!(program.saved, best.saved, "{forest:?} {slots}");
        assert_eq!(program.at_most, Some(best.saved), "{forest:?} {slots}");
        assert!(slots_in_use(&forest, &program.chosen) <= slots);
        for simple in [forest.first_sites(slots), forest.greedy(slots)] {
            assert!(simple.saved <= best.saved);
            assert!(slots_in_use(&forest, &simple.chosen) <= slots);
        }
        better_than_first += usize::from(forest.first_sites(slots).saved < best.saved);
        better_than_greedy += usize::from(forest.greedy(slots).saved < best.saved);
    }
    assert!(better_than_first > 20 && better_than_greedy > 2);
}

/// A site whose splits cost more than the shorter arm is not chosen (`wavefront-splitting-2022`: E8).
#[test]
fn sites_that_lose_are_not_chosen() {
    let arm = |cycles| ChoiceArm {
        cycles,
        sites: Vec::new(),
    };
    let site = |overhead| ChoiceSite {
        arms: [arm(100), arm(20)],
        overhead,
        slots: 1,
    };
    let forest = SiteForest {
        sites: vec![site(30), site(5)],
        roots: vec![0, 1],
        slot_use: SlotUse::Nested,
    };
    assert_eq!(forest.by_program(1).chosen, [false, true]);
    assert_eq!(forest.first_sites(1).saved, -10 + 15);
    // With one slot for splits that do not merge, the first site takes it.
    let apart = SiteForest {
        slot_use: SlotUse::All,
        ..forest
    };
    assert_eq!(apart.first_sites(1).chosen, [true, false]);
    assert_eq!(apart.by_program(1).chosen, [false, true]);
}
