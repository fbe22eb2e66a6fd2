//! The program space that thread and warp analyses share: nodes, contexts, stack entries, and what
//! the last operation of each node does.

use std::collections::{BTreeMap, HashMap};

use warpbound_ir::{Code, ExecCondition, ControlEffect, OpIndex, ControlTarget};
use warpbound_isa::instr::StackToken;
use warpbound_simt::warp::{ControlOp, ReconvergencePoint};
use warpbound_simt::{EntryTable, NodeId, Tag};

use crate::blocks::{Block, Blocks};
use crate::context::{ContextId, Contexts, Entered};
use crate::indirect::IndirectTargets;
use crate::refusal::{Reason, Refusal};

/// A block in a calling context.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ContextBlock {
    /// Index of the block in [`Space::blocks`].
    pub block: usize,
    /// The calling context.
    pub context: ContextId,
}

/// Control effect of a node, with the targets found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Resolved {
    /// The effect when the condition holds.
    pub op: ControlOp,
    /// When it takes effect. A data operation that ends a block has no control effect to guard.
    pub condition: ExecCondition,
    /// The node after it in memory.
    pub next: Option<NodeId>,
    /// A function outside the file runs as part of this node.
    pub external: Option<String>,
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
    limit: usize,
}

/// A call into a context that other calls enter as well.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SharedCall {
    /// The function called.
    pub callee: OpIndex,
    /// The function is already being executed; else contexts ran out.
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
            limit: node_limit,
        }
    }

    /// Number of nodes met.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Nothing explored yet.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The node of an id of this space.
    pub fn node(&self, id: NodeId) -> ContextBlock {
        self.nodes[id.index()]
    }

    /// The block of a node.
    pub fn block(&self, id: NodeId) -> Block {
        self.blocks.get(self.node(id).block)
    }

    /// The id of a node, if it was met.
    pub fn find(&self, node: ContextBlock) -> Option<NodeId> {
        self.ids.get(&node).copied()
    }

    /// All node ids met so far.
    pub fn ids(&self) -> impl Iterator<Item = NodeId> + use<> {
        (0..self.nodes.len() as u32).map(NodeId)
    }

    /// The node that begins at `op` in `context`.
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

    /// The callee's entry node for a call by `here`; `pusher` is the node that pushed the return
    /// entry.
    fn enter_callee(
        &mut self,
        site: OpIndex,
        here: NodeId,
        pusher: NodeId,
        callee: OpIndex,
    ) -> Option<NodeId> {
        let entered = self.contexts.enter(self.node(here).context, site, callee);
        if let Entered::Recursive(_) | Entered::Merged(_) = entered {
            let call = SharedCall {
                callee,
                recursive: matches!(entered, Entered::Recursive(_)),
            };
            self.shared_calls.insert(pusher, call);
        }
        self.enter(callee, entered.context())
    }

    /// The point at which the lanes meet that the branches of `at` send apart.
    fn meeting(
        &mut self,
        code: &Code,
        at: OpIndex,
        context: ContextId,
    ) -> Result<ReconvergencePoint, Refusal> {
        let refuse = |reason| Refusal {
            at: code.get(at).map(|op| op.addr).unwrap_or_default(),
            reason,
        };
        // The operation ends a block; which, only the blocks know.
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

    /// Control effect of the last operation of `here`.
    ///
    /// `indirect` gives the targets of the indirect jumps resolved so far; `return_pushers` the
    /// nodes that may have pushed the topmost return entry (for calls made of PRET and BRX).
    pub fn resolve(
        &mut self,
        code: &Code,
        here: NodeId,
        indirect: &BTreeMap<OpIndex, IndirectTargets>,
        return_pushers: &[NodeId],
    ) -> Result<Resolved, Refusal> {
        let last = self.block(here).last;
        let context = self.node(here).context;
        let Some(op) = code.get(last) else {
            return Err(Refusal {
                at: Default::default(),
                reason: Reason::RunsOffTheEnd,
            });
        };
        let refuse = |reason| Refusal {
            at: op.addr,
            reason,
        };
        if self.nodes.len() > self.limit {
            return Err(refuse(Reason::TooLarge(self.limit)));
        }
        let following = OpIndex(last.0 + 1);
        let mut external = None;
        let target = |space: &mut ProgramSpace, target: &ControlTarget, context| match target {
            ControlTarget::Op(at) => space
                .enter(*at, context)
                .ok_or_else(|| refuse(Reason::NoTarget(format!("#{}", at.0)))),
            ControlTarget::External(name) | ControlTarget::Nowhere(name) => {
                Err(refuse(Reason::NoTarget(name.clone())))
            }
        };
        let resolved = match &op.control {
            ControlEffect::Next => ControlOp::FallThrough,
            ControlEffect::Jump(to) => ControlOp::Jump(target(self, to, context)?),
            ControlEffect::Branch { to, meet } => ControlOp::Branch {
                target: target(self, to, context)?,
                meet: match *meet {
                    Some(at) => Some(self.meeting(code, at, context)?),
                    None => None,
                },
            },
            ControlEffect::Meet => ControlOp::Meet,
            ControlEffect::Push(token, to) => ControlOp::Push {
                tag: tag_of(*token)
                    .ok_or_else(|| refuse(Reason::Unsupported(format!("{token:?}"))))?,
                resume: target(self, to, context)?,
            },
            ControlEffect::Call(ControlTarget::External(name)) => {
                external = Some(name.clone());
                ControlOp::FallThrough
            }
            ControlEffect::Call(ControlTarget::Nowhere(name)) => {
                return Err(refuse(Reason::NoTarget(name.clone())));
            }
            ControlEffect::Call(ControlTarget::Op(callee)) => {
                let resume = self
                    .enter(following, context)
                    .ok_or_else(|| refuse(Reason::RunsOffTheEnd))?;
                let callee = self
                    .enter_callee(last, here, here, *callee)
                    .ok_or_else(|| refuse(Reason::NoTarget(format!("#{}", callee.0))))?;
                ControlOp::Call { resume, callee }
            }
            ControlEffect::Unwind(token) => ControlOp::Unwind(
                tag_of(*token).ok_or_else(|| refuse(Reason::Unsupported(format!("{token:?}"))))?,
            ),
            ControlEffect::Exit | ControlEffect::End => ControlOp::Exit,
            ControlEffect::Indirect { .. } => {
                match indirect.get(&last) {
                    Some(IndirectTargets::External(name)) => {
                        // The callee returns to the entry that PRET pushed.
                        external = Some(name.clone());
                        ControlOp::Unwind(Tag::Ret)
                    }
                    Some(IndirectTargets::Code { ops, .. }) => {
                        let mut targets = Vec::new();
                        for &to in ops {
                            let is_call = !return_pushers.is_empty()
                                && to != code.entry
                                && code.function_at(to).is_some();
                            let node = if is_call {
                                let mut found = None;
                                for &pusher in return_pushers {
                                    found = self.enter_callee(last, here, pusher, to);
                                }
                                found
                            } else {
                                self.enter(to, context)
                            };
                            targets.push(
                                node.ok_or_else(|| refuse(Reason::NoTarget(format!("#{}", to.0))))?,
                            );
                        }
                        ControlOp::Scatter {
                            targets,
                            agreed: false,
                        }
                    }
                    None => return Err(refuse(Reason::UnknownIndirectTarget)),
                }
            }
            ControlEffect::Unsupported(name) => return Err(refuse(Reason::Unsupported(name.clone()))),
        };
        let condition = match op.control {
            ControlEffect::Next => ExecCondition::ALWAYS,
            _ => op.condition,
        };
        if matches!(resolved, ControlOp::Push { .. } | ControlOp::Call { .. })
            && !condition.is_always()
        {
            return Err(refuse(Reason::ConditionalPush));
        }
        let goes_on = !condition.is_always()
            || matches!(
                resolved,
                ControlOp::FallThrough | ControlOp::Meet | ControlOp::Push { .. }
            );
        let next = if goes_on {
            Some(
                self.enter(following, context)
                    .ok_or_else(|| refuse(Reason::RunsOffTheEnd))?,
            )
        } else {
            None
        };
        Ok(Resolved {
            op: resolved,
            condition,
            next,
            external,
        })
    }
}

/// The stack tag of a token; `None` for those that are refused by name.
fn tag_of(token: StackToken) -> Option<Tag> {
    match token {
        StackToken::Sync => Some(Tag::Sync),
        StackToken::Brk => Some(Tag::Brk),
        StackToken::Cont => Some(Tag::Cont),
        StackToken::Ret => Some(Tag::Ret),
        StackToken::LongJmp | StackToken::Exit => None,
    }
}
