//! Closed forms of counts agree with predictions by the slice in random launches; with planted faults they do not.

use fastrand::Rng;
use warpbound_ir::{BinaryOp, Expr, Meaning, Op};
use warpbound_launch::LaunchFile;
use warpbound_measure::formula_inputs;
use warpbound_query::Session;
use warpbound_testkit::count_formulas::ComparedFormulas;

use crate::launch_profiles::committed_launches;

/// Kernels with guards on indices, steps, shifts, nested loops, exits and words chosen at joins.
const KERNELS: [&str; 12] = [
    "bitonic_sort.bitonic_step.0",
    "early_exit.",
    "matmul_int.",
    "nbody.nbody_advance.0",
    "nested_loops.nested_fixed.0",
    "nested_loops.nested_triangular.0",
    "reduction.reduction_tree.0",
    "transpose.",
    "triangle_sum.",
    "uniform_loop.uniform_loop.0",
    "walsh_transform.",
    "wavelet_2d.",
];

/// Random launches of each kernel.
const LAUNCHES: u64 = 12;

type Committed = (String, LaunchFile, Vec<u8>);

fn launches() -> Vec<Committed> {
    let mut all = committed_launches(".0.toml");
    all.retain(|(name, ..)| KERNELS.iter().any(|start| name.starts_with(start)));
    all
}

/// Compares the formulas of a kernel, as `change` shows its operations to their search, with predictions.
fn compare(
    (name, launch, cubin): &Committed,
    seed: u64,
    change: impl Fn(&mut Op),
) -> ComparedFormulas {
    let session = Session::open(name, cubin).expect("it loads");
    let kernel = session.launched_kernel(None, launch.kernel.as_deref());
    let kernel = kernel.expect("it has it");
    let prepared = session.prepare(kernel).expect("it decodes");
    let mut seen = session.prepare(kernel).expect("it decodes");
    seen.code.ops.iter_mut().for_each(change);
    let Ok(inputs) = formula_inputs(&session, &seen, None) else {
        // A fault may make a kernel endless.
        return ComparedFormulas::default();
    };
    let formulas = inputs.find(&seen);
    let mut rng = Rng::with_seed(seed);
    let compared =
        ComparedFormulas::of_kernel(&session, &prepared, &formulas, launch, LAUNCHES, &mut rng);
    let mut compared = compared.expect("the launches suit the kernel");
    for wrong in &mut compared.wrong {
        *wrong = format!("{name}: {wrong}");
    }
    compared
}

#[test]
fn formulas_are_what_is_predicted() {
    let mut all = ComparedFormulas::default();
    for (seed, launch) in (0..).zip(&launches()) {
        all.append(compare(launch, seed, |_| {}));
    }
    assert!(all.wrong.is_empty(), "{:?}", all.wrong.first());
    // Each part occurs often enough to be tested.
    let ComparedFormulas {
        equal,
        sums,
        issues,
        ..
    } = all;
    assert!(
        equal > 1000 && sums > 300 && issues > 300,
        "{equal} {sums} {issues}"
    );
}

/// An expression with another in place of each of its parts, innermost first.
fn mapped(expr: &Expr, change: &impl Fn(Expr) -> Expr) -> Expr {
    let part = |expr: &Expr| mapped(expr, change);
    change(match expr {
        Expr::Unary(op, a) => Expr::unary(*op, part(a)),
        Expr::Binary(op, a, b) => Expr::binary(*op, part(a), part(b)),
        Expr::Ternary(op, a, b, c) => Expr::ternary(*op, part(a), part(b), part(c)),
        other => other.clone(),
    })
}

/// Whether the formulas of some kernel are found to be wrong if its search sees changed expressions.
fn is_found(change: impl Fn(Expr) -> Expr) -> bool {
    let changed = |op: &mut Op| {
        if let Some(Meaning::Set(sets)) = &mut op.meaning {
            for (_, value) in sets.iter_mut() {
                *value = mapped(value, &change);
            }
        }
    };
    launches()
        .iter()
        .any(|launch| !compare(launch, 1, changed).wrong.is_empty())
}

#[test]
fn planted_equality_in_guards_is_found() {
    assert!(is_found(|expr| match expr {
        Expr::Binary(BinaryOp::LtS, a, b) => Expr::Binary(BinaryOp::LeS, a, b),
        Expr::Binary(BinaryOp::LeS, a, b) => Expr::Binary(BinaryOp::LtS, a, b),
        other => other,
    }));
}

#[test]
fn planted_unsigned_comparisons_are_found() {
    assert!(is_found(|expr| match expr {
        Expr::Binary(BinaryOp::LtS, a, b) => Expr::Binary(BinaryOp::LtU, a, b),
        Expr::Binary(BinaryOp::LeS, a, b) => Expr::Binary(BinaryOp::LeU, a, b),
        other => other,
    }));
}

#[test]
fn planted_steps_are_found() {
    assert!(is_found(|expr| match expr {
        Expr::Binary(BinaryOp::Add, a, b) if *b == Expr::Const(1) =>
            Expr::Binary(BinaryOp::Add, a, Expr::Const(2).into()),
        other => other,
    }));
}

#[test]
fn planted_shifts_are_found() {
    assert!(is_found(|expr| match expr {
        Expr::Binary(op @ (BinaryOp::Shr | BinaryOp::Sar | BinaryOp::Shl), a, b)
            if *b == Expr::Const(1) =>
            Expr::Binary(op, a, Expr::Const(2).into()),
        other => other,
    }));
}
