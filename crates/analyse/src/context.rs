//! Calling contexts: call strings, so that two calls of one function do not become a loop.

use std::collections::HashMap;

use warpbound_ir::OpIndex;

/// A calling context of [`Contexts`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ContextId(pub u32);

/// One call of a call string.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Call {
    caller: ContextId,
    /// `None` when many call sites share the context.
    site: Option<OpIndex>,
    callee: OpIndex,
}

/// How a context was found for a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Entered {
    /// The call has a context of its own.
    Own(ContextId),
    /// The callee is already being executed: its context is entered again.
    Recursive(ContextId),
    /// Too many contexts: all further calls of the function share one.
    Merged(ContextId),
}

impl Entered {
    /// The callee's context.
    pub fn context(self) -> ContextId {
        match self {
            Entered::Own(c) | Entered::Recursive(c) | Entered::Merged(c) => c,
        }
    }
}

/// All contexts of a kernel.
#[derive(Clone, Debug)]
pub struct Contexts {
    /// Context 0 is the kernel itself and has no call.
    calls: Vec<Option<Call>>,
    ids: HashMap<Call, ContextId>,
    entry: OpIndex,
    limit: usize,
}

impl Contexts {
    /// The context of the kernel itself.
    pub const KERNEL: ContextId = ContextId(0);

    /// Contexts of a kernel that begins at `entry`; beyond `limit` contexts, calls share.
    pub fn new(entry: OpIndex, limit: usize) -> Self {
        Contexts {
            calls: vec![None],
            ids: HashMap::new(),
            entry,
            limit,
        }
    }

    /// The context in which `callee` runs when called at `site` in `caller`.
    pub fn enter(&mut self, caller: ContextId, site: OpIndex, callee: OpIndex) -> Entered {
        let mut around = Some(caller);
        while let Some(context) = around {
            if self.callee(context) == callee {
                return Entered::Recursive(context);
            }
            around = self.call(context).map(|c| c.caller);
        }
        let own = Call {
            caller,
            site: Some(site),
            callee,
        };
        if let Some(&known) = self.ids.get(&own) {
            return Entered::Own(known);
        }
        if self.calls.len() < self.limit {
            return Entered::Own(self.intern(own));
        }
        Entered::Merged(self.intern(Call {
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

    /// Entry of the function that runs in a context.
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

    /// Never: the kernel itself is a context.
    pub fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }
}
