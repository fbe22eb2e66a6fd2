//! Every kernel of the repository: a bound, or a refusal that is listed here.

use std::collections::BTreeMap;
use std::mem::discriminant;

use warpbound_bounds::bound;
use warpbound_query::{AgreementDomain, DivergenceOrder, GroupDomain, StackDomain, WarpModel};

use warpbound_query::{BoundOptions, FactReading, Session};
use warpbound_report::KernelBound;
use warpbound_report::bound::BoundVerdict;

use crate::support::{built, cubins};

/// Kernels without a bound under `--loop-default 10`, and their reasons.
const REFUSED: [(&str, &str); 6] = [
    ("callback", "call of unknown callee at 0x"),
    ("callback_apart", "call of unknown callee at 0x"),
    ("external_call", "call of vprintf, whose cost is unknown"),
    ("external_malloc", "call of malloc, whose cost is unknown"),
    (
        "infinite_loop",
        "infinite loop: no instruction reachable from here exits the kernel",
    ),
    (
        "infinite_for_some",
        "infinite loop: no instruction reachable from here exits the kernel",
    ),
];

fn options(model: WarpModel) -> BoundOptions {
    BoundOptions {
        loop_default: Some(10),
        // Derived bounds of some loops would hide what the analysis of warps changes.
        derive: false,
        timing: true,
        model,
        ..BoundOptions::default()
    }
}

fn full() -> WarpModel {
    BoundOptions::default().model
}

fn bounds(file: &str, options: &BoundOptions) -> Vec<KernelBound> {
    let session = Session::open(file, &built(file)).expect(file);
    let kernels = session.kernels(None).expect(file);
    let bound = |kernel| bound(&session, kernel, options).expect(file);
    kernels.into_iter().map(bound).collect()
}

#[test]
fn bounded_or_refused_by_name() {
    let mut refused = BTreeMap::new();
    let mut bounded = 0;
    let files = cubins(".cubin");
    for file in &files {
        for kernel in bounds(file, &options(full())) {
            let what = format!("{file}: {}", kernel.name);
            let (reason, at) = match &kernel.verdict {
                BoundVerdict::Bounded { .. } => {
                    bounded += 1;
                    check(&kernel, &what);
                    continue;
                }
                BoundVerdict::Refused { reason, at, .. } => (reason, at),
                BoundVerdict::Unbounded { reason } => panic!("{what}: {reason}"),
            };
            assert!(at.is_some(), "{what}");
            let known = REFUSED.iter().find(|(name, _)| *name == kernel.name);
            assert!(
                known.is_some_and(|(_, why)| reason.contains(why)),
                "{what}: {reason}"
            );
            *refused.entry(kernel.name).or_insert(0) += 1;
        }
    }
    // Each for sm_50, sm_61 and sm_62, and for sm_61 by an older compiler.
    let expected = REFUSED
        .iter()
        .map(|&(name, _)| (name.to_owned(), 4))
        .collect();
    assert_eq!(refused, expected);
    assert!(
        bounded >= 4 * 90,
        "only {bounded} kernels in {} files",
        files.len()
    );
}

/// The parts of a report agree with each other.
fn check(kernel: &KernelBound, what: &str) {
    let BoundVerdict::Bounded {
        bound,
        worst_path_value: Some(witness),
    } = kernel.verdict
    else {
        panic!("{what}: {:?}", kernel.verdict);
    };
    assert!(kernel.missing_facts.is_empty(), "{what}");
    let gap = kernel.verdict.integrality_gap().expect(what);
    assert_eq!(bound - witness, gap, "{what}");
    let path: u128 = kernel.worst_path.iter().map(|block| block.total).sum();
    assert_eq!(path, witness, "{what}");
    for block in &kernel.worst_path {
        assert_eq!(
            block.total,
            block.count * u128::from(block.instructions),
            "{what}"
        );
    }
    // The gap is the overestimation by fractional executions.
    assert!(gap * 50 <= bound, "{what}: {bound} over {witness}");
    assert!(kernel.loops.iter().all(|l| l.bound == Some(10)), "{what}");
    assert_eq!(kernel.lanes, 32, "{what}");
    assert!(kernel.cfg_seconds.is_some(), "{what}");
}

/// Less precision only makes the bound larger, or removes it.
#[test]
fn less_precision_never_lowers_a_bound() {
    let coarser = [
        (
            "acyclic stacks",
            WarpModel {
                stack: StackDomain::Acyclic,
                ..full()
            },
        ),
        (
            "no groups",
            WarpModel {
                groups: GroupDomain::Off,
                ..full()
            },
        ),
        (
            "agreement of the active",
            WarpModel {
                agreement: AgreementDomain::ActiveOnly,
                ..full()
            },
        ),
        (
            "no agreement",
            WarpModel {
                agreement: AgreementDomain::Off,
                ..full()
            },
        ),
    ];
    let mut larger = BTreeMap::new();
    for file in cubins(".sm_61.cubin") {
        let precise = bounds(&file, &options(full()));
        for (what, model) in coarser {
            compare(
                &file,
                what,
                &precise,
                &bounds(&file, &options(model)),
                &mut larger,
            );
        }
    }
    // None of the switches is without effect.
    assert_eq!(larger.len(), coarser.len(), "{larger:?}");
}

/// More facts only make the bound smaller.
#[test]
fn more_knowledge_never_raises_a_bound() {
    let taken_first = options(WarpModel {
        order: DivergenceOrder::TakenFirst,
        ..full()
    });
    let block = |block| BoundOptions {
        block: Some(block),
        ..options(full())
    };
    let mut larger = BTreeMap::new();
    for file in cubins(".sm_61.cubin") {
        let unknown = bounds(&file, &options(full()));
        for (what, options) in [
            ("taken lanes first", &taken_first),
            ("a block of 1024", &block([1024, 1, 1])),
            ("a block of 8", &block([2, 2, 2])),
        ] {
            compare(&file, what, &bounds(&file, options), &unknown, &mut larger);
        }
    }
}

/// Checks that no bound of `coarse` is below that of `fine`; counts the differences.
fn compare<'a>(
    file: &str,
    what: &'a str,
    fine: &[KernelBound],
    coarse: &[KernelBound],
    larger: &mut BTreeMap<&'a str, usize>,
) {
    assert_eq!(fine.len(), coarse.len());
    for (fine, coarse) in fine.iter().zip(coarse) {
        assert_eq!(fine.symbol, coarse.symbol);
        let at = format!("{file}: {}: {what}", fine.name);
        match (fine.verdict.bound(), coarse.verdict.bound()) {
            (Some(fine), Some(coarse)) => assert!(fine <= coarse, "{at}: {fine} and {coarse}"),
            (None, Some(_)) => panic!("{at}: a bound where less is known, none where more is"),
            (_, None) => assert!(coarse.verdict.reason().is_some(), "{at}"),
        }
        if fine.verdict.bound() != coarse.verdict.bound() {
            *larger.entry(what).or_insert(0) += 1;
        }
    }
}

/// The paper's reading is coarser, but where lanes enter a loop at two places, call or recurse apart: there it
/// counts one of them for all.
#[test]
fn the_papers_reading() {
    let paper = BoundOptions {
        reading: FactReading::Paper,
        ..options(full())
    };
    let mut lower = Vec::new();
    for file in cubins(".sm_61.cubin") {
        for (simt, paper) in bounds(&file, &options(full()))
            .iter()
            .zip(bounds(&file, &paper))
        {
            assert_eq!(
                discriminant(&simt.verdict),
                discriminant(&paper.verdict),
                "{file}: {}",
                simt.name
            );
            if paper.verdict.bound() < simt.verdict.bound() {
                lower.push(paper.name);
            }
        }
    }
    // The first one built by the older compiler, the others by both.
    let expected = [
        "function_pointer_uniform",
        "goto_irreducible",
        "goto_irreducible",
        "recursion",
        "recursion",
    ];
    assert_eq!(lower, expected);
}
