use super::certificate::verify_plan;
use super::*;

fn form(terms: &[(usize, i64)]) -> LinearForm {
    LinearForm::sum(terms.iter().copied()).unwrap_or_default()
}

/// Random numbers (an xorshift of 64 bits).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 11) as usize) % limit.max(1)
    }
}

/// Forms with small factors over `unknowns` unknowns.
fn random_form(numbers: &mut Numbers, unknowns: usize) -> LinearForm {
    let terms = 1 + numbers.below(4);
    let terms: Vec<(usize, i64)> = (0..terms)
        .map(|_| (numbers.below(unknowns), numbers.below(5) as i64 - 2))
        .collect();
    form(&terms)
}

fn random_problem(numbers: &mut Numbers) -> PlanProblem {
    let unknowns = 2 + numbers.below(9);
    let mut forms = |most| -> Vec<LinearForm> {
        let count = numbers.below(most);
        (0..count).map(|_| random_form(numbers, unknowns)).collect()
    };
    let (equalities, known, targets) = (forms(7), forms(3), forms(9));
    let candidates = targets.iter().map(|form| Measurable {
        form: form.clone(),
        weight: 1 + numbers.below(6) as u64,
    });
    PlanProblem {
        equalities,
        known,
        candidates: candidates.collect(),
        targets: targets.clone(),
    }
}

fn weight(problem: &PlanProblem, probes: &[usize]) -> u64 {
    let weights = probes.iter().filter_map(|&at| problem.candidates.get(at));
    weights.map(|candidate| candidate.weight).sum()
}

/// Whether all targets follow, by the ranks of dense matrices: no function of the plan.
fn suffices(problem: &PlanProblem, probes: &[usize]) -> bool {
    let mut rows: Vec<&LinearForm> = problem.equalities.iter().chain(&problem.known).collect();
    rows.extend(probes.iter().map(|&at| &problem.candidates[at].form));
    let before = rank(&rows);
    rows.extend(&problem.targets);
    rank(&rows) == before
}

/// Rank by fraction-free elimination of dense rows.
fn rank(forms: &[&LinearForm]) -> usize {
    let columns = forms.iter().flat_map(|f| f.terms().iter().map(|t| t.0 + 1));
    let width = columns.max().unwrap_or(0);
    let dense = |form: &&LinearForm| {
        let mut row = vec![0_i128; width];
        for &(at, factor) in form.terms() {
            row[at] = i128::from(factor);
        }
        row
    };
    let mut rows: Vec<Vec<i128>> = forms.iter().map(dense).collect();
    let mut rank = 0;
    for column in 0..width {
        let Some(at) = (rank..rows.len()).find(|&r| rows[r][column] != 0) else {
            continue;
        };
        rows.swap(rank, at);
        let by = rows[rank].clone();
        for row in rows.iter_mut().skip(rank + 1) {
            let (a, b) = (row[column], by[column]);
            for (value, of) in row.iter_mut().zip(&by) {
                *value = *value * b - of * a;
            }
            let divisor = row.iter().fold(0_i128, |g, v| num_integer_gcd(g, v.abs()));
            row.iter_mut().for_each(|v| *v /= divisor.max(1));
        }
        rank += 1;
    }
    rank
}

fn num_integer_gcd(a: i128, b: i128) -> i128 {
    if b == 0 { a } else { num_integer_gcd(b, a % b) }
}

/// A branch with two sides: entry 0 → 1, 2 → join; one counter tells all.
#[test]
fn one_counter_for_two_sides() {
    let problem = PlanProblem {
        // x0 = x1 + x2, x3 = x1 + x2, and the start is known.
        equalities: vec![
            form(&[(0, 1), (1, -1), (2, -1)]),
            form(&[(3, 1), (1, -1), (2, -1)]),
        ],
        known: vec![form(&[(0, 1)])],
        candidates: (0..4)
            .map(|at| Measurable {
                form: form(&[(at, 1)]),
                weight: [9, 5, 3, 9][at],
            })
            .collect(),
        targets: (0..4).map(|at| form(&[(at, 1)])).collect(),
    };
    let plan = find_plan(&problem).unwrap();
    assert_eq!(plan.probes, [2]);
    verify_plan(&problem, &plan).unwrap();
    let values = plan.derivations.iter();
    let values: Vec<_> = values.map(|d| d.value(|_| Some(10), |_| Some(4))).collect();
    assert_eq!(values, [Some(10), Some(6), Some(4), Some(10)]);
    // More on one side than there are in all: the counter is not of this program.
    assert_eq!(plan.derivations[1].value(|_| Some(10), |_| Some(11)), None);
}

#[test]
fn a_target_without_measurement_is_named() {
    let problem = PlanProblem {
        targets: vec![LinearForm::default(), form(&[(3, 1)])],
        ..PlanProblem::default()
    };
    assert_eq!(find_plan(&problem), Err(NotDerivable(1)));
}

/// The greedy basis against all subsets of candidates, where every candidate is a target; every plan passes the
/// certificate.
#[test]
fn greedy_is_the_optimum() {
    let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
    let mut probed = 0;
    for _ in 0..2_000 {
        let problem = random_problem(&mut numbers);
        let plan = find_plan(&problem).unwrap();
        verify_plan(&problem, &plan).unwrap();
        assert!(suffices(&problem, &plan.probes));
        let all = problem.candidates.len();
        let subsets = (0_u32..1 << all)
            .map(|bits| -> Vec<usize> { (0..all).filter(|at| bits >> at & 1 == 1).collect() });
        let ours = weight(&problem, &plan.probes);
        let mut cheaper = subsets.filter(|probes| weight(&problem, probes) < ours);
        assert!(
            !cheaper.any(|probes| suffices(&problem, &probes)),
            "{problem:?}"
        );
        probed += plan.probes.len();
    }
    assert!(probed > 2_000);
}

/// For random points that satisfy the equalities, derived values are the values of the targets.
#[test]
fn derived_values_are_those_of_the_point() {
    let mut numbers = Numbers(7);
    for _ in 0..500 {
        let problem = random_problem(&mut numbers);
        let plan = find_plan(&problem).unwrap();
        // Known and measured forms of a point of the unknowns; equalities as known forms have any value.
        let point: Vec<i128> = (0..12).map(|_| numbers.below(1_000) as i128).collect();
        let at = |form: &LinearForm| -> BigRational {
            let terms = form.terms().iter().map(|&(u, f)| i128::from(f) * point[u]);
            BigRational::from_integer(terms.sum::<i128>().into())
        };
        for (target, derivation) in problem.targets.iter().zip(&plan.derivations) {
            let sum = |terms: &[(usize, Multiplier)], forms: &dyn Fn(usize) -> BigRational| {
                let terms = terms.iter().map(|(i, by)| by * forms(*i));
                terms.sum::<BigRational>()
            };
            let value = sum(&derivation.equalities, &|i| at(&problem.equalities[i]))
                + sum(&derivation.known, &|i| at(&problem.known[i]))
                + sum(&derivation.probes, &|i| at(&problem.candidates[i].form));
            assert_eq!(value, at(target));
        }
    }
}
