//! Hazards of small programs and of changed control words, and the distances that compilers leave.

use std::collections::BTreeMap;

use warpbound_analyse::ThreadCfg;
use warpbound_isa::Program;
use warpbound_isa::nvidia::{Arch, SassProgram};
use warpbound_load::{Image, Isa};

use super::state::Checks;
use super::{Cell, Distances, InstrHazards, lint};

/// Shortest distances by the pipes of producer and consumer and by the kind of register, with an example.
type Shortest = BTreeMap<String, (u8, usize, String)>;

/// Lints each kernel of a file: findings as text, or the refusal; adds the distances to `shortest`.
fn lint_file(name: &str, data: &[u8], shortest: &mut Shortest) -> Vec<Result<Vec<String>, String>> {
    let image = Image::parse(data).unwrap();
    let Isa::Sm(sm) = image.isa() else {
        return Vec::new();
    };
    let arch = Arch::from_sm(sm.number.into()).unwrap();
    let of_kernel = |kernel: &warpbound_load::Kernel| {
        let program = SassProgram::decode(arch, kernel.code()).unwrap();
        let program = Program::Nvidia(program);
        let code = warpbound_ir::lift(kernel, &program).unwrap();
        let Program::Nvidia(sass) = &program else {
            return Err("other machine".to_owned());
        };
        let cfg = ThreadCfg::build(&code, &Default::default());
        let cfg = cfg.map_err(|refusal| format!("{refusal:?}"))?;
        let linted = lint(&code, sass, &cfg);
        let text = |at: warpbound_ir::OpIndex| program.text(at.index()).unwrap_or_default();
        for dependence in linted.dependences {
            let class = |at: warpbound_ir::OpIndex| {
                let timing = sass.timing(&sass.instrs[at.index()]).unwrap();
                format!(
                    "{:?} {} {}",
                    timing.latency,
                    timing.queue,
                    timing.pipes.join(",")
                )
            };
            let register = dependence.cell.register().kind;
            let (from, to) = (class(dependence.producer), class(dependence.consumer));
            let example = format!(
                "{name} {}: {} -> {}",
                code.ops[dependence.consumer.index()].addr,
                text(dependence.producer),
                text(dependence.consumer)
            );
            let slot = shortest.entry(format!("{register:?}: {from} -> {to}"));
            let slot = slot.or_insert_with(|| (u8::MAX, 0, String::new()));
            if dependence.cycles < slot.0 {
                *slot = (dependence.cycles, 0, example);
            }
            slot.1 += usize::from(dependence.cycles == slot.0);
        }
        let findings = linted.findings.iter();
        Ok(findings
            .map(|finding| {
                format!(
                    "{name} {} {finding:?}: {} -> {}",
                    code.ops[finding.at.index()].addr,
                    text(finding.producer),
                    text(finding.at)
                )
            })
            .collect())
    };
    image.kernels().unwrap().iter().map(of_kernel).collect()
}

/// No finding in our own cubins, which NVIDIA's compilers wrote.
#[test]
fn own_cubins_have_no_findings() {
    let own = concat!(env!("CARGO_MANIFEST_DIR"), "/../../kernels/built");
    let folder = std::env::var("WARPBOUND_LINT_FOLDER").unwrap_or(own.to_owned());
    let mut found = Vec::new();
    let (mut kernels, mut refused) = (0, 0);
    let mut shortest = Shortest::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|e| e != "cubin") {
            continue;
        }
        let data = std::fs::read(&path).unwrap();
        let file = path.file_name().unwrap().to_string_lossy().into_owned();
        for linted in lint_file(&file, &data, &mut shortest) {
            kernels += 1;
            match linted {
                Ok(findings) => found.extend(findings),
                Err(_) => refused += 1,
            }
        }
    }
    eprintln!("{kernels} kernels, {refused} refused");
    for (classes, (least, count, example)) in &shortest {
        eprintln!("{least:2} {count:5} {classes} | {example}");
    }
    assert!(refused * 20 < kernels, "{kernels} {refused}");
    let sample: Vec<&String> = found.iter().take(40).collect();
    assert!(found.is_empty(), "{}: {sample:#?}", found.len());
}

/// Findings in a kernel of nbody after its control words were changed one at a time: changes made, and found.
fn planted(change: impl Fn(u64, u32) -> Option<u64>) -> (usize, usize) {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../kernels/built");
    let data = std::fs::read(format!("{folder}/nbody.sm_61.cubin")).unwrap();
    let image = Image::parse(&data).unwrap();
    let kernel = &image.kernels().unwrap()[0];
    let (mut made, mut found) = (0, 0);
    for (group, slot) in (0..kernel.code().len() / 32).flat_map(|g| (0..3).map(move |s| (g, s))) {
        let mut code = kernel.code().to_vec();
        let control = code[group * 32..].first_chunk_mut::<8>().unwrap();
        let Some(changed) = change(u64::from_le_bytes(*control), 21 * slot) else {
            continue;
        };
        *control = changed.to_le_bytes();
        let program = SassProgram::decode(Arch::Sm61, &code).unwrap();
        let lifted = warpbound_ir::lift(kernel, &Program::Nvidia(program.clone())).unwrap();
        let cfg = ThreadCfg::build(&lifted, &Default::default()).unwrap();
        made += 1;
        let findings = lint(&lifted, &program, &cfg).findings;
        found += usize::from(findings.iter().any(|finding| !finding.is_possible));
    }
    (made, found)
}

/// A stall count of 5 or more, lowered to 1: the result is read too early, where the next instruction reads it.
#[test]
fn a_lowered_stall_count_is_found() {
    let (made, found) = planted(|control, shift| {
        let code = control >> shift & 0x1f;
        matches!(code, 5..=15 | 21..=27).then(|| control & !(0x1f << shift) | 1 << shift)
    });
    assert!(made >= 10 && found * 2 >= made, "{found} of {made}");
}

/// A wait mask, cleared.
#[test]
fn a_removed_wait_is_found() {
    let (made, found) = planted(|control, shift| {
        let mask = 0x3f << (shift + 11);
        (control & mask != 0).then_some(control & !mask)
    });
    assert!(made >= 5 && found * 2 >= made, "{found} of {made}");
}

/// Code of `bits.sm_61.cubin`, with a change of one word, linted: hazards and whether they are possible only.
fn bits(at: usize, change: impl Fn(u64) -> u64) -> Vec<(super::ControlHazard, bool)> {
    let data = include_bytes!("../../tests/data/bits.sm_61.cubin");
    let image = Image::parse(data).unwrap();
    let kernel = &image.kernels().unwrap()[0];
    let mut code = kernel.code().to_vec();
    let word = code[at..].first_chunk_mut::<8>().unwrap();
    *word = change(u64::from_le_bytes(*word)).to_le_bytes();
    let program = SassProgram::decode(Arch::Sm61, &code).unwrap();
    let lifted = warpbound_ir::lift(kernel, &Program::Nvidia(program.clone())).unwrap();
    let cfg = ThreadCfg::build(&lifted, &Default::default()).unwrap();
    let findings = lint(&lifted, &program, &cfg).findings;
    let kinds = findings.iter();
    kinds
        .map(|finding| (finding.hazard, finding.is_possible))
        .collect()
}

/// `R2P PR, R9.B2, 0x7` writes P0 to P2, so a guard on P3 in the next cycle reads an older value: fails if all
/// predicates count as written. With P3 in the mask, it is read too early.
#[test]
fn predicates_outside_the_mask_of_r2p_are_not_written() {
    assert_eq!(bits(0x7d8, |word| word), []);
    let mask_of_p3 = |word| word | 0x8 << 20;
    let found = bits(0x7d8, mask_of_p3);
    assert!(
        found.contains(&(super::ControlHazard::ReadTooEarly, false)),
        "{found:?}"
    );
}

/// Published distances.
fn distances() -> &'static Distances {
    &super::published::DISTANCES
}

/// An instruction of fixed latency.
fn instr(writes: Vec<Cell>, reads: Vec<Cell>) -> InstrHazards {
    let classes = super::distances::Classes::of(distances(), "arithmetic", "at issue");
    InstrHazards {
        reads: reads.into_iter().map(|cell| (cell, classes.user)).collect(),
        conditions: Vec::new(),
        sources: Vec::new(),
        writes,
        second: None,
        distance: 1,
        drains: false,
        is_first_of_pair: false,
        wait_mask: 0,
        releases: 0,
        write_sb: None,
        read_sb: None,
        is_fixed: true,
        classes,
        has_certain_reads: true,
        is_slow: false,
        is_barrier: false,
        queue: None,
        source_queue: None,
        guard: None,
        slots: [None; 3],
        reuse: 0,
    }
}

/// `@P0 LDG R4`, then a branch on P0: where P0 is false, no lane has loaded. Fails if a guard is not followed past
/// the branch that its predicate decides, or if it is followed where the predicate is true or has changed.
#[test]
fn a_branch_tells_which_guarded_loads_were_executed() {
    use super::{ControlHazard, OpIndex, state::Underway};
    let load = InstrHazards {
        write_sb: Some(2),
        is_fixed: false,
        guard: Some((Cell::pred(0), false)),
        ..instr(vec![Cell::gpr(4)], vec![Cell::gpr(8)])
    };
    let reader = instr(vec![Cell::gpr(6)], vec![Cell::gpr(4)]);
    let test = instr(vec![Cell::pred(0)], vec![]);
    // The last one reads, after a branch on P0.
    let all = [load, test, reader];
    let found = |order: &[u32], value: bool| {
        let (mut findings, mut dependences) = Default::default();
        let mut state = Underway::default();
        let checks = Checks {
            facts: &all,
            distances: distances(),
        };
        for &at in order {
            state.step(OpIndex(at), &all[at as usize], &checks);
        }
        state.learn(Cell::pred(0), value, &all);
        state.branch();
        state.check(
            OpIndex(2),
            &all[2],
            &checks,
            &mut findings,
            &mut dependences,
        );
        let kinds = findings.iter();
        kinds
            .map(|finding: &super::LintFinding| (finding.hazard, finding.is_possible))
            .collect::<Vec<_>>()
    };
    let possible = [(ControlHazard::ResultNotAwaited, true)];
    assert_eq!(found(&[0], false), []);
    assert_eq!(found(&[0], true), possible);
    assert_eq!(found(&[0, 1], false), possible);
    // In an earlier iteration the lane may have loaded.
    assert_eq!(found(&[0, 1, 0], false), possible);
}

/// A result of fixed latency is present once a load that was issued after it has been awaited: fails if only stall
/// counts are added. Without the wait, it is read too early.
#[test]
fn a_wait_for_a_later_load_covers_fixed_results() {
    use super::{ControlHazard, OpIndex, state::Underway};
    let load = InstrHazards {
        write_sb: Some(2),
        is_fixed: false,
        is_slow: true,
        ..instr(vec![Cell::gpr(4)], vec![Cell::gpr(8)])
    };
    let sum = |wait_mask| InstrHazards {
        wait_mask,
        ..instr(vec![Cell::gpr(6)], vec![Cell::gpr(4), Cell::gpr(1)])
    };
    let hazards = |order: [InstrHazards; 3]| {
        let (mut found, mut dependences) = Default::default();
        let mut state = Underway::default();
        let checks = Checks {
            facts: &order,
            distances: distances(),
        };
        for (at, instr) in order.iter().enumerate() {
            let at = OpIndex(at as u32);
            state.check(at, instr, &checks, &mut found, &mut dependences);
            state.step(at, instr, &checks);
        }
        let hazards = found
            .iter()
            .map(|finding: &super::LintFinding| finding.hazard);
        hazards.collect::<Vec<_>>()
    };
    let product = || instr(vec![Cell::gpr(1)], vec![]);
    assert_eq!(hazards([product(), load.clone(), sum(1 << 2)]), []);
    let early = [ControlHazard::ReadTooEarly];
    assert_eq!(hazards([load.clone(), product(), sum(1 << 2)]), early);
    let without = hazards([product(), load, sum(0)]);
    assert_eq!(
        without,
        [ControlHazard::ReadTooEarly, ControlHazard::ResultNotAwaited]
    );
}
