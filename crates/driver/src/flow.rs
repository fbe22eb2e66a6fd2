//! Everything that is known of a kernel's control flow: the stages from code to count rows.

use warpbound_analyse::loops::Loops;
use warpbound_analyse::thread::Limits;
use warpbound_analyse::{Launch, Refusal, ThreadCfg, WarpCfg};
use warpbound_ir::Code;
use warpbound_simt::counts::{CountInput, CountSystem};
use warpbound_simt::warp::Model;

/// The control flow of one kernel.
pub struct Flow {
    /// Thread-level graph.
    pub thread: ThreadCfg,
    /// Warp-level graph.
    pub warp: WarpCfg,
    /// Loops and what they need facts for.
    pub loops: Loops,
    /// Rows about counts.
    pub counts: CountSystem,
}

impl Flow {
    /// Analyses `code`; refuses what cannot be followed.
    pub fn run(
        code: &Code,
        launch: &Launch,
        model: &Model,
        limits: &Limits,
    ) -> Result<Flow, Refusal> {
        let mut thread = ThreadCfg::run(code, limits)?;
        let warp = WarpCfg::run(code, &mut thread, launch, model)?;
        let loops = Loops::run(code, &thread);
        let counts = CountSystem::run(&CountInput {
            lanes: launch.live_lanes(),
            entry: thread.entry,
            thread: &thread.steps,
            warp: &warp.steps,
            entries: &thread.space.entries,
            loops: &loops.loops,
            shared_returns: &loops.shared_returns,
            state: &|node| warp.state(node),
        });
        Ok(Flow {
            thread,
            warp,
            loops,
            counts,
        })
    }
}
