//! Static check of control words: whether each result is present when an instruction reads it.
//!
//! A forward dataflow over the thread-level graph carries two facts for each register: the results of fixed latency
//! that may not be present yet, with the minimum number of cycles since their issue, and the operations of variable
//! latency whose results or sources no wait has covered yet. A hazard that control words leave open on some path is a
//! [`LintFinding`].
//!
//! For example, `IADD R2, R0, R1` with a stall count of 1 before `IADD R3, R2, R2` is "read too early": 1 cycle
//! instead of 6. The check is no proof (SOUNDNESS 14).

mod distances;
mod state;

use std::collections::BTreeSet;
use warpbound_base::GroupedCode;

use warpbound_analyse::ThreadCfg;
use warpbound_ir::{Cell, Code, ControlEffect, Meaning, Op, OpIndex};
use warpbound_isa::nvidia::{LatencyKind, Opcode, OperandValue, SassInstr, SassProgram};

pub use distances::{ConsumerClass, ProducerClass, least_distance};

/// Kinds of hazards.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum ControlHazard {
    /// A result of fixed latency is read before it is present.
    ReadTooEarly,
    /// A result of variable latency is read without a wait for its scoreboard.
    ResultNotAwaited,
    /// A register is written while an earlier operation of variable latency may still write it.
    ResultOverwritten,
    /// A register is written while an earlier operation of variable latency may still read it.
    SourceOverwritten,
    /// The second instruction of a pair depends on the first.
    DependentPair,
    /// A register kept in the operand reuse cache is written by the instruction that keeps it.
    StaleReuse,
}

impl ControlHazard {
    /// Name in reports.
    pub fn name(self) -> &'static str {
        match self {
            ControlHazard::ReadTooEarly => "read too early",
            ControlHazard::ResultNotAwaited => "result not awaited",
            ControlHazard::ResultOverwritten => "result overwritten",
            ControlHazard::SourceOverwritten => "source overwritten",
            ControlHazard::DependentPair => "dependent pair",
            ControlHazard::StaleReuse => "stale reuse",
        }
    }
}

/// Hazard that control words leave open.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct LintFinding {
    /// Operation that reads or writes too early.
    pub at: OpIndex,
    /// Kind of the hazard.
    pub hazard: ControlHazard,
    /// Register.
    pub cell: Cell,
    /// Earlier operation.
    pub producer: OpIndex,
    /// Cycles between both issues and the minimum that is safe, for [`ControlHazard::ReadTooEarly`].
    pub cycles: Option<(u8, u8)>,
    /// Whether the hazard exists only if a lane executes both operations, which the code may exclude by its
    /// computations: the guards differ or may have changed, or one has a guard and a branch lies between the
    /// operations.
    pub is_possible: bool,
}

/// Read of a result of fixed latency.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct DependentRead {
    /// Operation that reads.
    pub consumer: OpIndex,
    /// Operation that writes.
    pub producer: OpIndex,
    /// Register.
    pub cell: Cell,
    /// Minimum number of cycles between both issues on any path.
    pub cycles: u8,
}

/// Result of the check of a kernel.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Linted {
    /// Hazards, in order of address.
    pub findings: Vec<LintFinding>,
    /// Reads of results of fixed latency within the longest distance that is checked, a few cycles.
    pub dependences: Vec<DependentRead>,
}

/// Checks the control words of code that was lifted from `program`.
pub fn lint(code: &Code, program: &SassProgram, cfg: &ThreadCfg) -> Linted {
    let facts: Vec<InstrHazards> = code
        .ops
        .iter()
        .zip(&program.instrs)
        .map(|(op, instr)| InstrHazards::of(op, instr, program))
        .collect();
    let mut findings = BTreeSet::new();
    let mut dependences = BTreeSet::new();
    state::visit(cfg, &facts, &mut |at, before| {
        if let Some(instr) = facts.get(at.index()) {
            before.check(at, instr, &facts, &mut findings, &mut dependences);
        }
    });
    // Pairs and reuse bits concern the next instruction in the code.
    for (index, pair) in facts.windows(2).enumerate() {
        if let [first, second] = pair {
            check_neighbours(OpIndex(index as u32), first, second, &mut findings);
        }
    }
    // On another path or in another context, the same hazard may be certain. The order puts that one first.
    let mut findings: Vec<LintFinding> = findings.into_iter().collect();
    findings.dedup_by(|later, first| {
        let is_possible = first.is_possible;
        LintFinding {
            is_possible,
            ..*later
        } == *first
    });
    Linted {
        findings,
        dependences: dependences.into_iter().collect(),
    }
}

/// Checks an instruction against the next one.
fn check_neighbours(
    at: OpIndex,
    first: &InstrHazards,
    second: &InstrHazards,
    findings: &mut BTreeSet<LintFinding>,
) {
    let finding = |hazard, cell| LintFinding {
        at: at.next(),
        hazard,
        cell,
        producer: at,
        cycles: None,
        is_possible: !first.runs_with(second),
    };
    if first.is_first_of_pair && !first.excludes(second) {
        // Writes of variable latency are left out: they happen long after the other instruction's.
        let written = second.producer.iter().flat_map(|_| &second.writes);
        let touched = second.reads.iter().chain(written);
        let is_checked = second.consumer != ConsumerClass::Unknown;
        for &cell in touched.filter(|cell| is_checked && first.writes.contains(cell)) {
            findings.insert(finding(ControlHazard::DependentPair, cell));
        }
    }
    for (slot, &cell) in first.slots.iter().enumerate() {
        let Some(cell) = cell else { continue };
        let is_kept = first.reuse >> slot & 1 == 1;
        let is_read = second.slots.get(slot).copied().flatten() == Some(cell);
        if is_kept && is_read && first.writes.contains(&cell) {
            findings.insert(finding(ControlHazard::StaleReuse, cell));
        }
    }
}

/// Facts about an instruction on which hazards depend.
#[derive(Clone, Debug)]
struct InstrHazards {
    /// Registers that are read, including the condition and the base of an indirect target.
    reads: Vec<Cell>,
    /// General registers that an operation of variable latency reads some time after its issue. Predicates are read
    /// at the issue.
    sources: Vec<Cell>,
    writes: Vec<Cell>,
    /// Cycles to the next issue.
    distance: u8,
    /// Whether the next instruction waits for all scoreboards.
    drains: bool,
    is_first_of_pair: bool,
    /// Scoreboards that the instruction waits for before it issues, and scoreboards that DEPBAR frees.
    wait_mask: u8,
    releases: u8,
    write_sb: Option<u8>,
    read_sb: Option<u8>,
    /// Class of the result if its latency is fixed; `None` if a scoreboard protects it.
    producer: Option<ProducerClass>,
    consumer: ConsumerClass,
    /// Whether this is an access to memory, in all lanes of the warp, that keeps its scoreboard busy for longer than
    /// any fixed latency.
    is_slow: bool,
    /// Whether the warp waits for the instruction in its queue.
    is_barrier: bool,
    /// Queue that completes its operations in order.
    queue: Option<&'static str>,
    /// Predicate of the guard, and whether the guard is negated.
    guard: Option<(Cell, bool)>,
    /// General registers in operand slots, and slots that the reuse cache keeps.
    slots: [Option<Cell>; 3],
    reuse: u8,
}

/// Queue whose operations complete in any order.
const UNORDERED: &str = "unordered";

impl InstrHazards {
    /// Whether no lane executes both, as long as the predicate keeps its value. For example, `@P0` excludes `@!P0`.
    fn excludes(&self, other: &InstrHazards) -> bool {
        match (self.guard, other.guard) {
            (Some((a, negated)), Some((b, not))) => a == b && negated != not,
            _ => false,
        }
    }

    /// Whether a lane that executes one instruction may also execute the other, as long as the predicate keeps its
    /// value: at most one has a guard, or both have the same guard.
    fn runs_with(&self, other: &InstrHazards) -> bool {
        match (self.guard, other.guard) {
            (Some(one), Some(another)) => one == another,
            _ => true,
        }
    }

    fn of(op: &Op, instr: &SassInstr, program: &SassProgram) -> InstrHazards {
        let control = instr.control;
        let timing = program.timing(instr);
        let code = GroupedCode::WITH_THREE_SLOTS;
        let (write_sb, read_sb) = (
            code.scoreboard(control.write_sb),
            code.scoreboard(control.read_sb),
        );
        let latency = timing.map_or(LatencyKind::Fixed, |timing| timing.latency);
        let is_fixed = match latency {
            LatencyKind::Fixed | LatencyKind::Branch => true,
            // Both kinds occur: without a scoreboard, the stall count covers the latency.
            LatencyKind::Either => write_sb.is_none(),
            LatencyKind::ScoreboardReadWrite | LatencyKind::ScoreboardRead => false,
        };
        let view = program.view(instr);
        let mut slots = [None; 3];
        for operand in view.iter().flat_map(|view| &view.operands) {
            if let (OperandValue::Reg(Some(register)), Some(slot)) = (operand.value, operand.slot)
                && let Some(slot) = slots.get_mut(usize::from(slot))
            {
                *slot = Some(Cell::gpr(register));
            }
        }
        let base = match op.control {
            ControlEffect::Indirect { base, .. } => base,
            _ => None,
        };
        let consumer = ConsumerClass::of(program, instr);
        // Of textures and surfaces the table names the largest vector, so no read is certain.
        let operands = match consumer {
            ConsumerClass::Unknown => &[][..],
            _ => &op.reads,
        };
        let general = operands.iter().filter(|cell| {
            let kind = cell.register().kind;
            kind == warpbound_isa::RegisterKind::Vector
        });
        let unread = flags_not_read(op, program, instr);
        let read = operands
            .iter()
            .copied()
            .filter(|cell| !unread.contains(cell));
        let reads = read.chain(op.condition.cells());
        InstrHazards {
            sources: general.copied().collect(),
            reads: reads.chain(base).collect(),
            writes: written(op, program, instr),
            distance: distances::distance(instr, timing),
            drains: control.usched == 0,
            is_first_of_pair: control.dual_issue(),
            wait_mask: control.wait_mask & 0x3f,
            releases: distances::released(program, instr),
            write_sb,
            read_sb,
            producer: is_fixed.then(|| ProducerClass::of(program, instr)),
            consumer,
            // Without a guard, the LDG accesses memory in every case, which takes longer than any fixed latency.
            is_slow: write_sb.is_some()
                && op.condition.decided_by().is_none()
                && program.opcode(instr) == Some(Opcode::Ldg),
            is_barrier: op.barrier,
            queue: timing
                .map(|timing| timing.queue)
                .filter(|queue| !queue.is_empty() && *queue != UNORDERED),
            guard: op
                .condition
                .decided_by()
                .map(|cell| (cell, op.condition.negated)),
            slots,
            // On instructions of variable latency the reuse bits have another meaning.
            reuse: if latency == LatencyKind::Fixed {
                control.reuse
            } else {
                0
            },
        }
    }
}

/// Registers that an operation writes. Of the predicates that R2P may write, only those in a constant mask count.
fn written(op: &Op, program: &SassProgram, instr: &SassInstr) -> Vec<Cell> {
    let mut writes = op.writes.to_vec();
    if let (Some(Opcode::R2p), Some(meaning)) = (program.opcode(instr), &op.meaning) {
        writes.retain(|&cell| meaning.value_of(cell).is_some());
    }
    writes
}

/// Predicates and condition codes that the table lists as reads for all modifiers and masks, but that this operation
/// does not read: outside the mask of P2R, or unused by the operation's meaning.
fn flags_not_read(op: &Op, program: &SassProgram, instr: &SassInstr) -> Vec<Cell> {
    let is_flag = |cell: &&Cell| cell.is_predicate() || **cell == Cell::CC;
    let flags = op.reads.iter().filter(is_flag).copied();
    if program.opcode(instr) == Some(Opcode::P2r) {
        let view = program.view(instr);
        let operands = view.iter().flat_map(|view| &view.operands);
        let mask = operands.rev().find_map(|operand| match operand.value {
            OperandValue::Int(mask) => Some(mask),
            _ => None,
        });
        let in_mask = |cell: &Cell| {
            // Without a constant mask, every predicate may be read.
            let bit = (0..7).find(|&n| *cell == Cell::pred(n));
            mask.is_none_or(|mask| bit.is_none_or(|n| mask >> n & 1 == 1))
        };
        return flags.filter(|cell| !in_mask(cell)).collect();
    }
    let Some(Meaning::Set(writes)) = &op.meaning else {
        return Vec::new();
    };
    let mut read = BTreeSet::new();
    for (_, value) in writes {
        value.for_each_cell(&|_| true, &mut |cell| {
            read.insert(cell);
        });
    }
    flags.filter(|cell| !read.contains(cell)).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use warpbound_analyse::ThreadCfg;
    use warpbound_isa::Program;
    use warpbound_isa::nvidia::{Arch, SassProgram};
    use warpbound_load::{Image, Isa};

    use super::{Cell, ConsumerClass, InstrHazards, ProducerClass, lint};

    /// Shortest distances by the pipes of producer and consumer and by the kind of register, with an example.
    type Shortest = BTreeMap<String, (u8, usize, String)>;

    /// Lints each kernel of a file: findings as text, or the refusal; adds the distances to `shortest`.
    fn lint_file(
        name: &str,
        data: &[u8],
        shortest: &mut Shortest,
    ) -> Vec<Result<Vec<String>, String>> {
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
        for (group, slot) in (0..kernel.code().len() / 32).flat_map(|g| (0..3).map(move |s| (g, s)))
        {
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
        let data = include_bytes!("../tests/data/bits.sm_61.cubin");
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

    /// An instruction of fixed latency.
    fn instr(writes: Vec<Cell>, reads: Vec<Cell>) -> InstrHazards {
        InstrHazards {
            reads,
            sources: Vec::new(),
            writes,
            distance: 1,
            drains: false,
            is_first_of_pair: false,
            wait_mask: 0,
            releases: 0,
            write_sb: None,
            read_sb: None,
            producer: Some(ProducerClass::Arithmetic),
            consumer: ConsumerClass::AtIssue,
            is_slow: false,
            is_barrier: false,
            queue: None,
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
            producer: None,
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
            for &at in order {
                state.step(OpIndex(at), &all[at as usize], &all);
            }
            state.learn(Cell::pred(0), value, &all);
            state.branch();
            state.check(OpIndex(2), &all[2], &all, &mut findings, &mut dependences);
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
            producer: None,
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
            for (at, instr) in order.iter().enumerate() {
                let at = OpIndex(at as u32);
                state.check(at, instr, &order, &mut found, &mut dependences);
                state.step(at, instr, &order);
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
}
