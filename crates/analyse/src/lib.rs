//! Static analyses of a kernel: warp-level control-flow graph, agreement, values, loops.
//!
//! The method is that of Jeanmougin et al. (WCET 2023), section 3: abstract interpretation of the
//! machine code builds the graph. It runs twice over the same program space: for one lane alone
//! ([`thread`]), which resolves jump tables and gives the thread-level graph, and for a whole warp
//! ([`warp`]).

pub mod agreement;
pub mod blocks;
pub mod context;
pub mod dependence;
pub mod divergence;
pub mod gsa;
pub mod indirect;
pub mod iterations;
pub mod loops;
pub mod meeting;
pub mod opinion;
pub mod outline;
pub mod passing;
pub mod refusal;
pub mod relevant;
pub mod space;
pub mod thread;
pub mod values;
pub mod warp;

pub use agreement::LaunchContext;
pub use dependence::Dependence;
pub use divergence::Divergence;
pub use refusal::{Reason, Refusal};
pub use thread::ThreadCfg;
pub use warp::WarpCfg;
