//! Instructions one by one: all their forms and modifiers, and what they compute according to references that share no
//! code with the meanings.

pub mod census;
pub mod reference;
pub mod variants;
