//! Divergence of small hand-written programs.

use smallvec::SmallVec;
use warpbound_analyse::divergence::{Chain, DivergenceSource, LinkRole, OpDivergence, QueryKind};
use warpbound_analyse::divergence_by_agreement::AgreementAnalysis;
use warpbound_analyse::missed_reconvergence::find_missed_reconvergence;
use warpbound_analyse::thread_cfg::Limits;
use warpbound_analyse::{Dependence, Divergence, LaunchContext, ThreadCfg, WarpCfg};
use warpbound_base::CodeAddr;
use warpbound_ir::{
    Cell, Code, ControlEffect, ControlTarget, ExecCondition, Op, OpIndex, OpScope, ValueDependence,
};
use warpbound_isa::instr::{CcTest, MemorySpace, StackToken};
use warpbound_simt::warp::WarpModel;

/// Program under construction: each method adds an operation, numbered in order.
#[derive(Default)]
struct Program(Code);

impl Program {
    fn push(
        mut self,
        guard: Option<(u8, bool)>,
        reads: &[Cell],
        writes: &[Cell],
        value: ValueDependence,
        control: ControlEffect,
    ) -> Self {
        self.0.ops.push(Op {
            addr: CodeAddr(self.0.ops.len() as u32 * 8),
            condition: ExecCondition {
                guard: guard.map(|(p, _)| Cell::pred(p)),
                negated: guard.is_some_and(|(_, negated)| negated),
                cc_test: CcTest::TRUE,
                further: None,
            },
            reads: SmallVec::from_slice(reads),
            writes: SmallVec::from_slice(writes),
            value,
            control,
            barrier: false,
            scope: OpScope::Lane,
            meaning: None,
        });
        self
    }

    /// Writes a function of the cells read.
    fn set(self, cell: Cell, reads: &[Cell]) -> Self {
        self.push(
            None,
            reads,
            &[cell],
            ValueDependence::Function,
            ControlEffect::Next,
        )
    }

    /// Writes the lane's number.
    fn lane(self, cell: Cell) -> Self {
        self.push(
            None,
            &[],
            &[cell],
            ValueDependence::Lane,
            ControlEffect::Next,
        )
    }

    fn load(self, cell: Cell, address: Cell) -> Self {
        let value = ValueDependence::Load(MemorySpace::Shared);
        self.push(None, &[address], &[cell], value, ControlEffect::Next)
    }

    fn barrier(self) -> Self {
        let mut program = self.push(
            None,
            &[],
            &[],
            ValueDependence::Function,
            ControlEffect::Next,
        );
        if let Some(op) = program.0.ops.last_mut() {
            op.barrier = true;
        }
        program
    }

    /// Jumps if the predicate holds.
    fn jump_if(self, predicate: u8, to: u32) -> Self {
        let jump = ControlEffect::Jump(ControlTarget::Op(OpIndex(to)));
        self.push(
            Some((predicate, false)),
            &[],
            &[],
            ValueDependence::Function,
            jump,
        )
    }

    fn control(self, control: ControlEffect) -> Self {
        self.push(None, &[], &[], ValueDependence::Function, control)
    }

    fn jump(self, to: u32) -> Self {
        self.control(ControlEffect::Jump(ControlTarget::Op(OpIndex(to))))
    }

    /// Pushes an SSY entry.
    fn ssy(self, to: u32) -> Self {
        self.control(ControlEffect::Push(
            StackToken::Sync,
            ControlTarget::Op(OpIndex(to)),
        ))
    }

    fn sync(self) -> Self {
        self.control(ControlEffect::Pop(StackToken::Sync))
    }

    fn exit(self) -> Code {
        self.control(ControlEffect::Exit).0
    }
}

const fn width() -> LaunchContext {
    LaunchContext {
        warp_width: 8,
        block: None,
        global_is_stable: true,
    }
}

fn analyse(code: &Code) -> Divergence {
    let thread = ThreadCfg::build(code, &Limits::default()).expect("the program is analysed");
    Divergence::analyse(code, &thread, &Dependence::compute(&thread), &width())
}

fn item(found: &Divergence, at: u32) -> &OpDivergence {
    let of = |item: &&OpDivergence| item.at == OpIndex(at);
    found.items.iter().find(of).expect("a query")
}

/// Roles and operations of a chain.
fn links(chain: &Option<Chain>) -> Vec<(LinkRole, u32)> {
    let links = chain.iter().flat_map(|chain| &chain.links);
    links.map(|link| (link.role, link.at.0)).collect()
}

fn r(n: u8) -> Cell {
    Cell::gpr(n)
}

fn p(n: u8) -> Cell {
    Cell::pred(n)
}

/// Figure 2 of `abstract-cta-2014`, with SSY where this machine needs it: registers d=0, s=1, i=2, L=3,
/// Tp=4, x=5; predicates of l08, l10 and l14 are P0, P1, P2.
fn figure_2() -> Code {
    Program::default()
        .set(r(0), &[]) // 0 l00
        .set(r(1), &[])
        .lane(r(2)) // 2 l02: i = Tid
        .set(r(3), &[r(2)])
        .set(r(4), &[r(2)]) // 4 l06: Tp = Tid + 1
        .ssy(22)
        .set(p(0), &[r(2), r(3)]) // 6 l07, header
        .jump_if(0, 21) // 7 l08
        .set(p(1), &[r(0), r(4)])
        .ssy(13)
        .jump_if(1, 12) // 10 l10
        .set(r(1), &[r(1)])
        .sync()
        .set(p(2), &[r(0)]) // 13 l13
        .jump_if(2, 17) // 14 l14
        .load(r(5), r(0)) // 15 l15, at a uniform address
        .set(r(1), &[r(1), r(5)])
        .barrier() // 17 l18
        .set(r(0), &[r(0)])
        .set(r(2), &[r(2)])
        .jump(6)
        .sync() // 21
        .set(r(5), &[r(0)]) // 22 l24
        .load(r(6), r(0))
        .exit()
}

#[test]
fn the_paper_s_example() {
    let code = figure_2();
    let found = analyse(&code);
    // "GSA places a μ function at l07 that chains the branch predicate to the definition of i."
    let loop_branch = item(&found, 7);
    assert!(!loop_branch.divergent.is_empty());
    let expected = [
        (LinkRole::Written, 6),
        (LinkRole::Mu, 6),
        (LinkRole::Written, 2),
    ];
    assert_eq!(links(&loop_branch.chain), expected);
    let source = loop_branch.chain.as_ref().map(|chain| chain.source);
    assert_eq!(source, Some(DivergenceSource::Lane));
    // "Similarly, the branch at l10 is divergent."
    assert!(!item(&found, 10).divergent.is_empty());
    // "The branch at l14 is not divergent." Nor is the address of the load after it.
    assert!(item(&found, 14).divergent.is_empty());
    assert!(item(&found, 15).divergent.is_empty());
    // Lanes that have left the loop are not active at its barrier.
    let barrier = item(&found, 17);
    assert_eq!(
        (barrier.kind, barrier.partial.len()),
        (QueryKind::Barrier, 1)
    );
    assert_eq!(
        links(&barrier.partial_chain)[0],
        (LinkRole::BranchOutcome, 7)
    );
    // After the loop all lanes are active, but d is from different iterations: an η with the loop's predicate.
    let after = item(&found, 23);
    assert!(after.partial.is_empty());
    assert_eq!(
        links(&after.chain)[..2],
        [(LinkRole::Eta, 6), (LinkRole::BranchOutcome, 7)]
    );
}

#[test]
fn agreement_gives_the_same_answers_for_the_example() {
    let code = figure_2();
    let mut thread = ThreadCfg::build(&code, &Limits::default()).expect("the program is analysed");
    let model = WarpModel {
        may_diverge: true,
        ..WarpModel::default()
    };
    let launch = width();
    let warp =
        WarpCfg::build(&code, &mut thread, &launch, &model).expect("the program is analysed");
    let dependence = Dependence::compute(&thread);
    let found = Divergence::analyse(&code, &thread, &dependence, &launch);
    let agreement = AgreementAnalysis {
        code: &code,
        thread: &thread,
        warp: &warp,
        launch: &launch,
    };
    for (item, verdict) in found.items.iter().zip(agreement.verdicts(&found.items)) {
        assert_eq!(item.divergent, verdict.divergent, "{item:?}");
    }
    // SSY precedes each divergent branch, so lanes reconverge.
    assert_eq!(
        find_missed_reconvergence(&code, &thread, &warp, &dependence),
        []
    );
}

#[test]
fn a_join_of_different_values_is_as_divergent_as_the_branch() {
    let program = |by_lane: bool| {
        let start = match by_lane {
            true => Program::default().lane(p(0)),
            false => Program::default().set(p(0), &[]),
        };
        start
            .ssy(7)
            .jump_if(0, 5)
            .set(r(1), &[])
            .sync()
            .set(r(1), &[]) // 5
            .sync()
            .set(p(1), &[r(1)]) // 7
            .jump_if(1, 9)
            .exit()
    };
    let expected = [
        (LinkRole::Written, 7),
        (LinkRole::Gamma, 7),
        (LinkRole::BranchOutcome, 2),
        (LinkRole::Written, 0),
    ];
    assert_eq!(links(&item(&analyse(&program(true)), 8).chain), expected);
    assert!(item(&analyse(&program(false)), 8).divergent.is_empty());
}

#[test]
fn a_conditional_write_is_a_gate() {
    let code = Program::default()
        .lane(p(0))
        .set(r(1), &[])
        .push(
            Some((0, false)),
            &[],
            &[r(1)],
            ValueDependence::Function,
            ControlEffect::Next,
        )
        .load(r(2), r(1)) // 3
        .exit();
    let found = analyse(&code);
    let expected = [(LinkRole::Conditional, 2), (LinkRole::Written, 0)];
    assert_eq!(links(&item(&found, 3).chain), expected);
}

/// A uniform predicate ends the loop, but only for lanes that reach the branch in that iteration.
#[test]
fn a_loop_left_inside_a_divergent_branch_is_left_in_different_iterations() {
    let program = |by_lane: bool| {
        let start = match by_lane {
            true => Program::default().lane(p(0)),
            false => Program::default().set(p(0), &[]),
        };
        start
            .set(r(1), &[])
            .ssy(10)
            .set(r(1), &[r(1)]) // 3, header
            .set(p(1), &[r(1)])
            .jump_if(0, 7)
            .jump_if(2, 3) // 6
            .jump_if(1, 9)
            .jump(3)
            .sync()
            .load(r(2), r(1)) // 10
            .exit()
    };
    let analysed = |by_lane| {
        let mut code = program(by_lane);
        // P2 has a definition, whose value does not matter.
        code.ops[1].writes.push(p(2));
        analyse(&code)
    };
    let found = analysed(true);
    assert!(item(&found, 6).divergent.is_empty());
    assert!(item(&found, 7).divergent.is_empty());
    // Every lane executes 7 before it leaves, but not in each iteration.
    let expected = [
        (LinkRole::Eta, 3),
        (LinkRole::BranchOutcome, 5),
        (LinkRole::Written, 0),
    ];
    assert_eq!(links(&item(&found, 10).chain), expected);
    assert!(item(&analysed(false), 10).divergent.is_empty());
}

/// A branch without SSY inside a loop: its sides iterate the loop one after the other.
#[test]
fn missed_reconvergence_is_reported() {
    let code = Program::default()
        .lane(p(0))
        .set(r(1), &[])
        .set(r(1), &[r(1)]) // 2, header
        .jump_if(0, 5)
        .set(r(2), &[])
        .push(
            None,
            &[],
            &[p(1)],
            ValueDependence::Uniform,
            ControlEffect::Next,
        ) // 5: a vote
        .jump_if(1, 2)
        .exit();
    let mut thread = ThreadCfg::build(&code, &Limits::default()).expect("the program is analysed");
    let model = WarpModel {
        may_diverge: true,
        ..WarpModel::default()
    };
    let warp =
        WarpCfg::build(&code, &mut thread, &width(), &model).expect("the program is analysed");
    let dependence = Dependence::compute(&thread);
    let found = Divergence::analyse(&code, &thread, &dependence, &width());
    // Uniform among the lanes that vote together,
    assert!(item(&found, 6).divergent.is_empty());
    // but the two sides do not reconverge before the vote.
    let all = find_missed_reconvergence(&code, &thread, &warp, &dependence);
    let last = |node| thread.space.block(node).last.0;
    let branches: Vec<_> = all.iter().map(|a| (last(a.branch), a.for_values)).collect();
    assert_eq!(branches, [(3, true)]);
}

#[test]
fn a_callee_outside_the_file_makes_cells_divergent() {
    let code = Program::default()
        .set(r(1), &[])
        .control(ControlEffect::Call(ControlTarget::External(
            "outside".into(),
        )))
        .load(r(2), r(1))
        .exit();
    let found = analyse(&code);
    let chain = &item(&found, 2).chain;
    assert_eq!(links(chain), [(LinkRole::Callee, 1)]);
    assert_eq!(
        chain.as_ref().map(|c| c.source),
        Some(DivergenceSource::Callee)
    );
}

/// Analysis time of ten thousand blocks with joins of two hundred cells.
#[test]
fn large_kernels_stay_fast() {
    let mut program = Program::default().lane(p(0));
    for round in 0..5_000u32 {
        let at = program.0.ops.len() as u32;
        let cell = r((round % 200) as u8);
        program = program
            .set(p(1), &[cell])
            .jump_if((round % 2) as u8, at + 3)
            .set(cell, &[cell])
            .load(r(201), cell);
    }
    let code = program.exit();
    let start = std::time::Instant::now();
    let found = analyse(&code);
    assert_eq!(found.items.len(), 10_000);
    let taken = start.elapsed();
    assert!(taken.as_secs() < 20, "{taken:?}");
}
