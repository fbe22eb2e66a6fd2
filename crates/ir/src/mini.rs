//! Lifting of mini-SIMT programs: meaning of the instructions and reconvergence points of the branches
//! (`abstract-cta-2014`, section 4; `isa/mini-simt/README.md`). For example, `bz x, else` becomes a branch under the
//! guard x = 0 whose lanes reconverge at the `sync` after both sides.

use smallvec::smallvec;
use warpbound_base::{CodeAddr, Diagnostic, Family};
use warpbound_graph::{Digraph, Dominators};
use warpbound_isa::instr::MemorySpace;
use warpbound_isa::mini::{FlowKind, Instr, Operation, Program, Slot, SourceOperand};
use warpbound_load::Kernel;

use crate::{
    Address, BarrierArrival, BinaryOp, Cell, Code, CodeFunction, ControlEffect, ControlTarget,
    ExecCondition, Expr, Meaning, Op, OpIndex, OpScope, ValueDependence, Width,
};

/// Memory of mini-SIMT: words shared by all threads of the block.
const MEMORY: MemorySpace = MemorySpace::Shared;

/// Lifts a kernel; its last operation is [`ControlEffect::End`].
pub(crate) fn lift(kernel: &Kernel, program: &Program) -> Result<Code, Diagnostic> {
    let mut ops: Vec<Op> = (0..)
        .zip(&program.instrs)
        .map(|(at, instr)| lift_instr(program, instr, CodeAddr(at)))
        .collect();
    // Lanes that run past the last instruction exit there, so that each path has an end for the postdominators.
    ops.push(Op {
        control: ControlEffect::End,
        ..empty_op(CodeAddr(ops.len() as u32))
    });
    set_reconvergence_points(kernel, program, &mut ops)?;
    Ok(Code {
        family: Family::MiniSimt,
        ops,
        functions: vec![CodeFunction {
            name: kernel.name.to_string(),
            entry: OpIndex(0),
        }],
        // Launch constants are equal in all threads, and all other variables begin as 0.
        agreed_at_entry: (0u8..)
            .zip(&program.variables)
            .map(|(v, _)| Cell::gpr(v))
            .collect(),
        ..Code::default()
    })
}

fn empty_op(addr: CodeAddr) -> Op {
    Op {
        addr,
        condition: ExecCondition::ALWAYS,
        reads: Default::default(),
        writes: Default::default(),
        value: ValueDependence::Function,
        control: ControlEffect::Next,
        barrier: false,
        scope: OpScope::Lane,
        meaning: None,
    }
}

fn lift_instr(program: &Program, instr: &Instr, addr: CodeAddr) -> Op {
    let row = program.row(instr);
    let mut op = empty_op(addr);
    let (mut reads, mut target, mut operator) = (Vec::new(), None, None);
    for slot in &instr.slots {
        match *slot {
            Slot::Write(v) => op.writes.push(Cell::gpr(v)),
            Slot::Read(operand) => {
                reads.push(match operand {
                    SourceOperand::Number(n) => Expr::Const(n),
                    SourceOperand::Variable(v) => Expr::Cell(Cell::gpr(v)),
                    SourceOperand::Tid => Expr::ThreadId,
                });
                match operand {
                    SourceOperand::Variable(v) => op.reads.push(Cell::gpr(v)),
                    SourceOperand::Tid => op.value = ValueDependence::Lane,
                    SourceOperand::Number(_) => {}
                }
            }
            Slot::Branch(v) => op.condition.guard = Some(Cell::gpr(v)),
            Slot::Label(to) => target = Some(ControlTarget::Op(OpIndex(to))),
            Slot::Operator(o) => operator = Some(o),
        }
    }
    // A load whose address contains `Tid` keeps the dependence `Lane`, which is weaker.
    if row.loads && op.value == ValueDependence::Function {
        op.value = ValueDependence::Load(MEMORY);
    }
    let dest = op.writes.first().copied();
    op.meaning = match (dest, reads.as_slice(), operator) {
        (Some(dest), [address], None) if row.loads => Some(Meaning::Load {
            dests: smallvec![Some(dest)],
            width: Width::Words,
            space: MEMORY,
            address: Address::short(address.clone()),
        }),
        (Some(dest), [value], None) => Some(Meaning::set(dest, value.clone())),
        (Some(dest), [a, b], Some(operator)) => {
            let value = binary_expr(operator, a.clone(), b.clone());
            Some(Meaning::set(dest, value))
        }
        (None, [number, threads], None) if row.flow == FlowKind::Barrier => {
            Some(Meaning::Barrier {
                number: number.clone(),
                threads: threads.clone(),
                arrival: BarrierArrival::Wait,
            })
        }
        (None, [address, value], None) => Some(Meaning::Store {
            values: smallvec![value.clone()],
            width: Width::Words,
            space: MEMORY,
            address: Address::short(address.clone()),
        }),
        _ => None,
    };
    op.condition.negated = row.flow == FlowKind::IfZero;
    op.barrier = row.flow == FlowKind::Barrier;
    op.control = match (row.flow, target) {
        (FlowKind::Jump, Some(to)) => ControlEffect::Jump(to),
        (FlowKind::IfZero | FlowKind::IfNotZero, Some(to)) => ControlEffect::Branch {
            to,
            reconvergence: None,
        },
        (FlowKind::Sync, _) => ControlEffect::Reconverge,
        _ => ControlEffect::Next,
    };
    op
}

fn binary_expr(operation: Operation, a: Expr, b: Expr) -> Expr {
    let (op, a, b) = match operation {
        Operation::Add => (BinaryOp::Add, a, b),
        Operation::Sub => (BinaryOp::Sub, a, b),
        Operation::Mul => (BinaryOp::Mul, a, b),
        Operation::Div => (BinaryOp::DivS, a, b),
        Operation::Rem => (BinaryOp::RemS, a, b),
        Operation::And => (BinaryOp::And, a, b),
        Operation::Or => (BinaryOp::Or, a, b),
        Operation::Xor => (BinaryOp::Xor, a, b),
        Operation::Shl => (BinaryOp::Shl, a, b),
        Operation::Shr => (BinaryOp::Shr, a, b),
        Operation::Lt => (BinaryOp::LtS, a, b),
        Operation::Le => (BinaryOp::LeS, a, b),
        Operation::Gt => (BinaryOp::LtS, b, a),
        Operation::Ge => (BinaryOp::LeS, b, a),
        Operation::Eq => (BinaryOp::Eq, a, b),
        Operation::Ne => (BinaryOp::Ne, a, b),
        Operation::Min => (BinaryOp::MinS, a, b),
        Operation::Max => (BinaryOp::MaxS, a, b),
    };
    Expr::binary(op, a, b)
}

/// Sets the reconvergence point of each branch: its immediate postdominator, which must be a `sync` or the end
/// (`abstract-cta-2014`, section 4).
fn set_reconvergence_points(
    kernel: &Kernel,
    program: &Program,
    ops: &mut [Op],
) -> Result<(), Diagnostic> {
    let end = ops.len() - 1;
    let mut edges = Vec::new();
    for (at, op) in ops.iter().enumerate().take(end) {
        match &op.control {
            ControlEffect::Jump(ControlTarget::Op(to)) => edges.push((at, to.index())),
            ControlEffect::Branch {
                to: ControlTarget::Op(to),
                ..
            } => edges.extend([(at, at + 1), (at, to.index())]),
            // Barriers and `sync` fall through like other instructions.
            _ => edges.push((at, at + 1)),
        }
    }
    let post = Dominators::compute_post(&Digraph::new(ops.len(), edges), [end]);
    for at in 0..end {
        // Lanes that reach the end of the code exit and need no `sync` there.
        let found = post.immediate(at).filter(|&point| point < end);
        let point = found.and_then(|point| Some((point, ops.get(point)?.control.clone())));
        let Some(ControlEffect::Branch {
            reconvergence: meet,
            ..
        }) = ops.get_mut(at).map(|op| &mut op.control)
        else {
            continue;
        };
        *meet = match point {
            None => None,
            Some((point, ControlEffect::Reconverge)) => Some(OpIndex(point as u32)),
            Some((point, _)) => {
                let diagnostic = Diagnostic::new(format!(
                    "the paths from this branch reconverge at {}, which is not a sync",
                    program.position_name(point as u32)
                ))
                .hint("insert a sync there");
                return Err(match program.instrs.get(at) {
                    Some(instr) => diagnostic.at(format_args!(
                        "line {}, column {}",
                        kernel.first_line.saturating_add(instr.line),
                        instr.column
                    )),
                    None => diagnostic,
                });
            }
        };
    }
    Ok(())
}
