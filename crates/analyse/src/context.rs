//! Calling contexts: call strings (Sharir and Pnueli 1981).
//!
//! Two calls of one function are two contexts, so that their returns do not close a loop. For example, a kernel that
//! calls `f` at two places has the contexts of itself and of both calls. Recursive calls enter an existing context,
//! and calls after a limit share one per function (SOUNDNESS 5.10).

use std::collections::HashMap;

use warpbound_ir::OpIndex;

/// Index of a calling context of [`Contexts`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ContextId(pub u32);

/// Call of a call string.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Call {
    caller: ContextId,
    /// Call site; `None` if several sites share the context.
    site: Option<OpIndex>,
    callee: OpIndex,
}

/// Context of a callee, with the reason for the choice.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CalleeContext {
    /// The call has a context of its own.
    Own(ContextId),
    /// The callee is already on the call string: its context is entered again.
    Recursive(ContextId),
    /// The limit is reached: all further calls of the function share a context.
    Merged(ContextId),
}

impl CalleeContext {
    /// The context.
    pub fn context(self) -> ContextId {
        match self {
            CalleeContext::Own(c) | CalleeContext::Recursive(c) | CalleeContext::Merged(c) => c,
        }
    }
}

/// All contexts of a kernel.
#[derive(Clone, Debug)]
pub struct Contexts {
    /// Call that leads into each context; context 0 is the kernel itself and has none.
    calls: Vec<Option<Call>>,
    ids: HashMap<Call, ContextId>,
    entry: OpIndex,
    limit: usize,
}

impl Contexts {
    /// The context of the kernel itself.
    pub const KERNEL: ContextId = ContextId(0);

    /// The contexts of a kernel that begins at `entry`, with at most `limit` contexts for calls of their own.
    pub fn new(entry: OpIndex, limit: usize) -> Self {
        Contexts {
            calls: vec![None],
            ids: HashMap::new(),
            entry,
            limit,
        }
    }

    /// Returns the context that `callee` runs in when called at `site` in `caller`, making one if necessary.
    pub fn enter(&mut self, caller: ContextId, site: OpIndex, callee: OpIndex) -> CalleeContext {
        // Entering the context of an enclosing activation keeps call strings, and so the number of nodes, finite.
        let mut ancestor = Some(caller);
        while let Some(context) = ancestor {
            if self.callee(context) == callee {
                return CalleeContext::Recursive(context);
            }
            ancestor = self.call(context).map(|c| c.caller);
        }
        let own = Call {
            caller,
            site: Some(site),
            callee,
        };
        if let Some(&known) = self.ids.get(&own) {
            return CalleeContext::Own(known);
        }
        if self.calls.len() < self.limit {
            return CalleeContext::Own(self.intern(own));
        }
        // Without caller and site it is one context for each function, so their number stays finite.
        CalleeContext::Merged(self.intern(Call {
            caller: Self::KERNEL,
            site: None,
            callee,
        }))
    }

    fn intern(&mut self, call: Call) -> ContextId {
        *self.ids.entry(call).or_insert_with(|| {
            self.calls.push(Some(call));
            ContextId(self.calls.len() as u32 - 1)
        })
    }

    fn call(&self, context: ContextId) -> Option<Call> {
        self.calls.get(context.0 as usize).copied().flatten()
    }

    /// Context of the caller and the call site; `None` for the kernel, and for a context that several calls share.
    pub fn caller(&self, context: ContextId) -> Option<(ContextId, OpIndex)> {
        let call = self.call(context)?;
        Some((call.caller, call.site?))
    }

    /// Entry operation of the function that runs in a context.
    pub fn callee(&self, context: ContextId) -> OpIndex {
        self.call(context).map_or(self.entry, |c| c.callee)
    }

    /// Call sites from the kernel down to the context; a shared context begins with `None`.
    pub fn string(&self, context: ContextId) -> Vec<Option<OpIndex>> {
        let mut sites = Vec::new();
        let mut at = self.call(context);
        while let Some(call) = at {
            sites.push(call.site);
            at = self.call(call.caller);
        }
        sites.reverse();
        sites
    }

    /// Number of contexts.
    pub fn len(&self) -> usize {
        self.calls.len()
    }

    /// False: the kernel itself is a context.
    pub fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }
}
