//! Analyses of the control flow of our own kernels.

use std::path::PathBuf;

use warpbound_analyse::ThreadCfg;
use warpbound_analyse::loops::Loops;
use warpbound_analyse::thread_cfg::Limits;
use warpbound_analyse::values::{AbstractValue, Values};
use warpbound_ir::{Code, ControlEffect, Expr, Meaning, Op};
use warpbound_query::{KernelFlow, Session};
use warpbound_simt::warp::{CellSet, WarpModel};
use warpbound_testkit::random::WarpCampaign;
use warpbound_testkit::targets::compare;

fn cubins() -> Vec<PathBuf> {
    let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/../../kernels/built");
    let mut paths: Vec<PathBuf> = std::fs::read_dir(dir)
        .expect("kernels/built is in the repository")
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|e| e == "cubin"))
        .collect();
    paths.sort();
    paths
}

fn for_each_kernel(mut work: impl FnMut(&str, &warpbound_query::Prepared<'_>)) {
    for path in cubins() {
        let file = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let contents = std::fs::read(&path).expect("it can be read");
        let session = Session::open(&file, &contents).expect("it loads");
        for kernel in session.kernels(None).expect("it is supported") {
            let prepared = session.prepare(kernel).expect("it decodes");
            work(&format!("{file} {}", kernel.demangled()), &prepared);
        }
    }
}

#[test]
fn targets_are_those_that_the_compiler_recorded() {
    let model = WarpModel {
        may_diverge: true,
        ..WarpModel::default()
    };
    let (mut equal, mut unreachable) = (0, Vec::new());
    for_each_kernel(|name, prepared| {
        let Ok(flow) = KernelFlow::analyse(
            &prepared.code,
            &Default::default(),
            &model,
            &Default::default(),
        ) else {
            return;
        };
        let check = compare(prepared.kernel, &prepared.code, &flow.thread);
        assert!(
            check.differences.is_empty(),
            "{name}: {:?}",
            check.differences
        );
        assert!(!check.has_no_record, "{name} has no record");
        equal += check.equal;
        unreachable.extend(check.unreachable.iter().map(|at| format!("{name} {at}")));
    });
    assert!(equal >= 400, "only {equal} instructions compared");
    // After a trap.
    assert_eq!(
        unreachable,
        ["external_call.nvrtc11.sm_61.cubin external_malloc 0x0070"],
        "an unreachable instruction must be listed here"
    );
}

#[test]
fn no_run_of_a_kernel_contradicts_the_analyses() {
    let mut total = WarpCampaign::default();
    let mut rng = fastrand::Rng::with_seed(61);
    for_each_kernel(|name, prepared| {
        total.audit_program(name, &prepared.code, &mut rng, 10);
    });
    println!(
        "{} kernels, {} runs, {} diverged, {} bounded, median ratio {:.2}",
        total.programs,
        total.runs,
        total.diverged,
        total.bounded,
        total.median_ratio()
    );
    assert!(
        total.problems.is_empty(),
        "{:#?}",
        &total.problems[..total.problems.len().min(10)]
    );
    // Two kernels that never end, in four builds.
    assert!(total.refused <= 8, "{:?}", total.refusals);
    assert!(
        total.bounded * 10 > total.runs * 8,
        "too few runs are compared with a bound"
    );
}

/// Code as lifted for `list` has the same loops, and meanings and registers only where indirect jumps need them.
#[test]
fn code_without_meanings_has_the_same_flow() {
    let (mut with, mut without) = (0, 0);
    for_each_kernel(|name, prepared| {
        let code = warpbound_ir::lift_flow(prepared.kernel, &prepared.program).expect("it lifts");
        let jumps = |op: &Op| matches!(op.control, ControlEffect::Indirect { .. });
        let indirect = code.ops.iter().any(jumps);
        let meanings = code.ops.iter().any(|op| op.meaning.is_some());
        assert_eq!(meanings, indirect, "{name}");
        let registers = code.ops.iter().any(|op| !op.writes.is_empty());
        assert_eq!(registers, indirect, "{name}");
        *if indirect { &mut with } else { &mut without } += 1;
        let graph = |code: &Code| {
            let thread = ThreadCfg::build(code, &Limits::default()).ok()?;
            let loops = Loops::of_thread(code, &thread);
            Some((thread.steps, thread.indirect, loops.sites))
        };
        assert_eq!(graph(&code), graph(&prepared.code), "{name}");
    });
    assert!(with >= 10 && without >= 400, "{with}, {without}");
}

/// A relocated immediate has no value before the loader has written it.
#[test]
fn an_immediate_that_the_loader_writes_is_unknown() {
    let mut relocated = 0;
    for_each_kernel(|name, prepared| {
        let code = &prepared.code;
        for op in &code.ops {
            let Some(Meaning::Set(writes)) = &op.meaning else {
                continue;
            };
            let is_address = |(_, value): &&(_, Expr)| matches!(value, Expr::Constant(bank, _) if *bank == Code::ADDRESS_BANK);
            let Some((cell, _)) = writes.iter().find(is_address) else {
                continue;
            };
            relocated += 1;
            let mut values = Values::default();
            let mut followed = CellSet::default();
            followed.insert(cell.index());
            values.apply(op, code, &followed);
            assert_eq!(values.get(*cell), AbstractValue::Any, "{name} {}", op.addr);
        }
        let all = prepared.kernel.relocations.iter();
        let halves = all.filter(|relocation| relocation.word_immediate().is_some());
        assert_eq!(halves.count(), code.address_words.len(), "{name}");
    });
    assert!(relocated >= 4, "only {relocated} relocated immediates");
}
