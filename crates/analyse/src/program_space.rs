//! Program space that thread and warp analyses share: nodes (blocks in calling contexts), stack entries, and the
//! control effect of each node.
//!
//! The space grows while the thread-level graph is explored; nodes and entries keep their ids.

use std::collections::{BTreeMap, HashMap};

use warpbound_ir::{Code, ControlEffect, ControlTarget, ExecCondition, Op, OpIndex, tag_of};
use warpbound_isa::instr::StackToken;
use warpbound_simt::warp::{ControlOp, ReconvergencePoint};
use warpbound_simt::{EntryTable, NodeId, Tag};

use crate::blocks::{Block, Blocks};
use crate::context::{CalleeContext, ContextId, Contexts};
use crate::convergence::BarrierEffects;
use crate::indirect::IndirectTargets;
use crate::refusal::{Reason, Refusal};

/// Node: a block in a calling context.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ContextBlock {
    /// Index of the block in [`ProgramSpace::blocks`].
    pub block: usize,
    /// The calling context.
    pub context: ContextId,
}

/// Control effect of a node, with resolved targets.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ResolvedControl {
    /// The effect if the condition holds.
    pub op: ControlOp,
    /// Condition of the effect. A data operation that ends a block has no control effect, and `ALWAYS`.
    pub condition: ExecCondition,
    /// The node after it in memory.
    pub next: Option<NodeId>,
    /// Name of a function outside the file that runs as part of this node.
    pub external: Option<String>,
}

impl ResolvedControl {
    /// The next node, if the condition decides whether a thread goes on to it or elsewhere: the operation is a
    /// branch, an exit or a pop that does not also lead to the next node.
    pub(crate) fn next_where_condition_fails(&self) -> Option<NodeId> {
        let next = self.next?;
        let leads_to_next = match &self.op {
            ControlOp::Jump(target) | ControlOp::Branch { target, .. } => *target == next,
            ControlOp::IndirectJump { targets, .. } => targets.contains(&next),
            ControlOp::Exit | ControlOp::Pop(_) => false,
            // A call of a function outside the file goes on at the next node, whatever its condition.
            _ => true,
        };
        (!leads_to_next).then_some(next)
    }
}

/// Nodes, contexts and stack entries of a kernel, growing while it is explored.
#[derive(Clone, Debug)]
pub struct ProgramSpace {
    /// Basic blocks of the section.
    pub blocks: Blocks,
    /// Calling contexts.
    pub contexts: Contexts,
    /// Stack entries.
    pub entries: EntryTable,
    nodes: Vec<ContextBlock>,
    ids: HashMap<ContextBlock, NodeId>,
    /// Calls whose callee context is shared with other calls: the node that pushes the return
    /// entry, and the function called.
    pub shared_calls: BTreeMap<NodeId, SharedCall>,
    /// Effects of convergence barriers.
    pub(crate) barriers: BarrierEffects,
    /// Maximum number of nodes.
    limit: usize,
}

/// Call into a context that other calls enter as well.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SharedCall {
    /// The function called.
    pub callee: OpIndex,
    /// Whether the function is already on the call string; else the limit of contexts was reached.
    pub recursive: bool,
}

impl ProgramSpace {
    /// The space of a kernel before anything is explored.
    pub fn new(code: &Code, blocks: Blocks, context_limit: usize, node_limit: usize) -> Self {
        ProgramSpace {
            blocks,
            contexts: Contexts::new(code.entry, context_limit),
            entries: EntryTable::default(),
            nodes: Vec::new(),
            ids: HashMap::new(),
            shared_calls: BTreeMap::new(),
            barriers: BarrierEffects::default(),
            limit: node_limit,
        }
    }

    /// Number of nodes.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether nothing was explored.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The node with an id of this space.
    pub fn node(&self, id: NodeId) -> ContextBlock {
        self.nodes[id.index()]
    }

    /// The block of a node.
    pub fn block(&self, id: NodeId) -> Block {
        self.blocks.get(self.node(id).block)
    }

    /// The id of a node, if it is in the space.
    pub fn find(&self, node: ContextBlock) -> Option<NodeId> {
        self.ids.get(&node).copied()
    }

    /// All node ids.
    pub fn ids(&self) -> impl Iterator<Item = NodeId> + use<> {
        (0..self.nodes.len() as u32).map(NodeId)
    }

    /// Returns the node that begins at `op` in `context`, adding it if necessary; `None` if no block begins there.
    pub fn enter(&mut self, op: OpIndex, context: ContextId) -> Option<NodeId> {
        let node = ContextBlock {
            block: self.blocks.starting_at(op)?,
            context,
        };
        Some(*self.ids.entry(node).or_insert_with(|| {
            self.nodes.push(node);
            NodeId(self.nodes.len() as u32 - 1)
        }))
    }

    /// Returns the callee's entry node for a call by `here`; `pusher` is the node that pushed the return
    /// entry.
    fn enter_callee(
        &mut self,
        site: OpIndex,
        here: NodeId,
        pusher: NodeId,
        callee: OpIndex,
    ) -> Option<NodeId> {
        let entered = self.contexts.enter(self.node(here).context, site, callee);
        if let CalleeContext::Recursive(_) | CalleeContext::Merged(_) = entered {
            let call = SharedCall {
                callee,
                recursive: matches!(entered, CalleeContext::Recursive(_)),
            };
            self.shared_calls.insert(pusher, call);
        }
        self.enter(callee, entered.context())
    }

    /// The reconvergence point at the operation `at`, for the branches of `context`.
    fn reconvergence_point(
        &mut self,
        code: &Code,
        at: OpIndex,
        context: ContextId,
    ) -> Result<ReconvergencePoint, Refusal> {
        let refuse = |reason| Refusal {
            at: code.get(at).map(|op| op.addr).unwrap_or_default(),
            reason,
        };
        // A control operation ends its block; the node begins at the block's first operation.
        let block = self.blocks.ending_at(at);
        let first = block.map(|index| self.blocks.get(index).first);
        let node = first.and_then(|first| self.enter(first, context));
        Ok(ReconvergencePoint {
            at: node.ok_or_else(|| refuse(Reason::NoTarget(format!("#{}", at.0))))?,
            resume: self
                .enter(at.next(), context)
                .ok_or_else(|| refuse(Reason::RunsOffTheEnd))?,
        })
    }

    /// Resolves the control effect of the last operation of `here`.
    ///
    /// `indirect` has the targets of the indirect jumps resolved so far; `return_pushers` are the
    /// nodes that may have pushed the topmost return entry (for calls made of PRET and BRX).
    ///
    /// # Errors
    ///
    /// A refusal at the operation if its effect cannot be followed or the kernel has too many nodes.
    pub fn resolve(
        &mut self,
        code: &Code,
        here: NodeId,
        indirect: &BTreeMap<OpIndex, IndirectTargets>,
        return_pushers: &[NodeId],
    ) -> Result<ResolvedControl, Refusal> {
        let last = self.block(here).last;
        let Some(op) = code.get(last) else {
            return Err(Refusal {
                at: Default::default(),
                reason: Reason::RunsOffTheEnd,
            });
        };
        let site = Site {
            op,
            at: last,
            node: here,
            context: self.node(here).context,
        };
        if self.nodes.len() > self.limit {
            return Err(site.refuse(Reason::TooLarge(self.limit)));
        }
        let mut external = None;
        let control = match &op.control {
            ControlEffect::Indirect { .. } => {
                let targets = indirect.get(&last);
                let targets = targets.ok_or_else(|| site.refuse(Reason::UnknownIndirectTarget))?;
                self.indirect_jump(code, &site, targets, return_pushers, &mut external)?
            }
            ControlEffect::LinkedIndirect { .. } => {
                let targets = indirect.get(&last);
                let targets = targets.ok_or_else(|| site.refuse(Reason::UnknownIndirectTarget))?;
                self.linked_indirect(&site, targets, &mut external)?
            }
            _ => self.direct_control(code, &site, &mut external)?,
        };
        let condition = match op.control {
            ControlEffect::Next | ControlEffect::SetActive(_) => ExecCondition::ALWAYS,
            // Whether the condition holds or not, the lanes go on at the next operation.
            _ if control == ControlOp::FallThrough && external.is_none() => ExecCondition::ALWAYS,
            _ => op.condition,
        };
        // The abstract warp pushes entries of all active lanes; a guarded push would hold only some of them.
        if matches!(control, ControlOp::Push { .. } | ControlOp::Call { .. })
            && !condition.is_always()
        {
            return Err(site.refuse(Reason::ConditionalPush));
        }
        // There may be no code after an unconditional jump, so the next node is only entered where it is needed.
        let continues = !condition.is_always()
            || matches!(
                control,
                ControlOp::FallThrough | ControlOp::Reconverge | ControlOp::Push { .. }
            );
        let next = if continues {
            Some(self.enter_next(&site)?)
        } else {
            None
        };
        Ok(ResolvedControl {
            op: control,
            condition,
            next,
            external,
        })
    }

    /// The control effect of an operation that is not an indirect jump; `external` is set for a call of a function
    /// outside the file.
    fn direct_control(
        &mut self,
        code: &Code,
        site: &Site<'_>,
        external: &mut Option<String>,
    ) -> Result<ControlOp, Refusal> {
        Ok(match &site.op.control {
            ControlEffect::Next | ControlEffect::SetActive(_) => ControlOp::FallThrough,
            ControlEffect::Jump(to) => ControlOp::Jump(self.enter_target(site, to)?),
            ControlEffect::Branch { to, reconvergence } => ControlOp::Branch {
                target: self.enter_target(site, to)?,
                reconvergence: match *reconvergence {
                    Some(at) => Some(self.reconvergence_point(code, at, site.context)?),
                    None => None,
                },
            },
            ControlEffect::Reconverge => ControlOp::Reconverge,
            ControlEffect::Push(token, to) => ControlOp::Push {
                tag: site.tag(*token)?,
                resume: self.enter_target(site, to)?,
            },
            // The function runs as part of this node.
            ControlEffect::Call(ControlTarget::External(name)) => {
                *external = Some(name.clone());
                ControlOp::FallThrough
            }
            ControlEffect::Call(ControlTarget::Invalid(name)) => {
                return Err(site.refuse(Reason::NoTarget(name.clone())));
            }
            ControlEffect::Call(ControlTarget::Op(callee)) => {
                let resume = self.enter_next(site)?;
                let callee = self
                    .enter_callee(site.at, site.node, site.node, *callee)
                    .ok_or_else(|| site.no_target(*callee))?;
                ControlOp::Call { resume, callee }
            }
            ControlEffect::Pop(token) => ControlOp::Pop(site.tag(*token)?),
            ControlEffect::LinkedCall(ControlTarget::External(name)) => {
                *external = Some(name.clone());
                ControlOp::FallThrough
            }
            ControlEffect::LinkedCall(ControlTarget::Invalid(name)) => {
                return Err(site.refuse(Reason::NoTarget(name.clone())));
            }
            ControlEffect::LinkedCall(ControlTarget::Op(callee)) => {
                ControlOp::Jump(self.enter_linked(site, *callee)?)
            }
            ControlEffect::Return { .. } => ControlOp::Jump(self.enter_caller(site)?),
            ControlEffect::OpenBarrier(barrier, to) => {
                match self.barriers.ignored.contains(&site.at) {
                    true => ControlOp::FallThrough,
                    false => ControlOp::Push {
                        tag: Tag::Barrier(*barrier),
                        resume: self.enter_target(site, to)?,
                    },
                }
            }
            ControlEffect::JoinBarrier(barrier) => match self.barriers.ignored.contains(&site.at) {
                true => ControlOp::FallThrough,
                false => {
                    let opened = self.barriers.ended.get(&site.at).copied();
                    ControlOp::Pop(Tag::Barrier(opened.unwrap_or(*barrier)))
                }
            },
            // The lanes that break run on; the region is demoted.
            ControlEffect::BreakBarrier(_)
            | ControlEffect::SaveBarrier(..)
            | ControlEffect::WriteBarrier { .. }
            | ControlEffect::Release => ControlOp::FallThrough,
            ControlEffect::Collective(to) | ControlEffect::FreeJump(to) => {
                ControlOp::IndirectJump {
                    targets: vec![self.enter_next(site)?, self.enter_target(site, to)?],
                    agreed: false,
                }
            }
            ControlEffect::Exit | ControlEffect::End => ControlOp::Exit,
            ControlEffect::Indirect { .. } | ControlEffect::LinkedIndirect { .. } => {
                return Err(site.refuse(Reason::UnknownIndirectTarget));
            }
            ControlEffect::Unsupported(name) => {
                return Err(site.refuse(Reason::Unsupported(name.clone())));
            }
        })
    }

    /// A call through a register, with its return address in registers.
    fn linked_indirect(
        &mut self,
        site: &Site<'_>,
        targets: &IndirectTargets,
        external: &mut Option<String>,
    ) -> Result<ControlOp, Refusal> {
        let ops = match targets {
            IndirectTargets::External(name) => {
                *external = Some(name.clone());
                return Ok(ControlOp::FallThrough);
            }
            IndirectTargets::Code { ops, .. } => ops,
        };
        let callees = ops.iter().map(|&callee| self.enter_linked(site, callee));
        Ok(ControlOp::IndirectJump {
            targets: callees.collect::<Result<Vec<_>, _>>()?,
            agreed: false,
        })
    }

    /// The first node of a function that is called with its return address in registers: it has a context of its own.
    fn enter_linked(&mut self, site: &Site<'_>, callee: OpIndex) -> Result<NodeId, Refusal> {
        let entered = self
            .contexts
            .enter(self.node(site.node).context, site.at, callee);
        let CalleeContext::Own(context) = entered else {
            // Lanes of several frames may execute one instruction together, and barriers in registers do not come back
            // (experiments with an H200).
            return Err(site.refuse(Reason::Unsupported("a recursive call".to_owned())));
        };
        self.enter(callee, context)
            .ok_or_else(|| site.no_target(callee))
    }

    /// The node after the call that led into the context of `site`.
    fn enter_caller(&mut self, site: &Site<'_>) -> Result<NodeId, Refusal> {
        let (caller, call) = self.contexts.caller(site.context).ok_or_else(|| {
            site.refuse(Reason::Unsupported("a return without a call".to_owned()))
        })?;
        self.enter(call.next(), caller)
            .ok_or_else(|| site.refuse(Reason::RunsOffTheEnd))
    }

    /// The control effect of an indirect jump to `targets`. A jump to a function after PRET is a call: its callee has
    /// a context, and returns to the entry of one of `return_pushers`.
    fn indirect_jump(
        &mut self,
        code: &Code,
        site: &Site<'_>,
        targets: &IndirectTargets,
        return_pushers: &[NodeId],
        external: &mut Option<String>,
    ) -> Result<ControlOp, Refusal> {
        let ops = match targets {
            IndirectTargets::External(name) => {
                // The callee returns to the entry that PRET pushed.
                *external = Some(name.clone());
                return Ok(ControlOp::Pop(Tag::Ret));
            }
            IndirectTargets::Code { ops, .. } => ops,
        };
        let mut targets = Vec::new();
        for &to in ops {
            let is_call =
                !return_pushers.is_empty() && to != code.entry && code.function_at(to).is_some();
            let node = if is_call {
                // The callee's node depends on `site` alone, but each pusher is recorded if the call is shared.
                let mut found = None;
                for &pusher in return_pushers {
                    found = self.enter_callee(site.at, site.node, pusher, to);
                }
                found
            } else {
                self.enter(to, site.context)
            };
            targets.push(node.ok_or_else(|| site.no_target(to))?);
        }
        Ok(ControlOp::IndirectJump {
            targets,
            agreed: false,
        })
    }

    /// The node of a direct target in the context of `site`.
    fn enter_target(&mut self, site: &Site<'_>, target: &ControlTarget) -> Result<NodeId, Refusal> {
        match target {
            ControlTarget::Op(at) => self
                .enter(*at, site.context)
                .ok_or_else(|| site.no_target(*at)),
            ControlTarget::External(name) | ControlTarget::Invalid(name) => {
                Err(site.refuse(Reason::NoTarget(name.clone())))
            }
        }
    }

    /// The node after `site` in memory.
    fn enter_next(&mut self, site: &Site<'_>) -> Result<NodeId, Refusal> {
        self.enter(site.at.next(), site.context)
            .ok_or_else(|| site.refuse(Reason::RunsOffTheEnd))
    }
}

/// Operation that ends a node.
struct Site<'a> {
    op: &'a Op,
    at: OpIndex,
    node: NodeId,
    context: ContextId,
}

impl Site<'_> {
    fn refuse(&self, reason: Reason) -> Refusal {
        Refusal {
            at: self.op.addr,
            reason,
        }
    }

    fn no_target(&self, target: OpIndex) -> Refusal {
        self.refuse(Reason::NoTarget(format!("#{}", target.0)))
    }

    /// The tag of a token, or a refusal by the token's name.
    fn tag(&self, token: StackToken) -> Result<Tag, Refusal> {
        tag_of(token).ok_or_else(|| self.refuse(Reason::Unsupported(format!("{token:?}"))))
    }
}
