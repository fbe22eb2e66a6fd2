//! Operations that a simulator does not support.

use std::fmt;

use warpbound_ir::OpIndex;

/// An operation that a simulator cannot execute.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnsupportedOp {
    /// The operation.
    pub at: OpIndex,
}

impl fmt::Display for UnsupportedOp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the meaning of this instruction is not known yet, so it cannot be run")
    }
}
