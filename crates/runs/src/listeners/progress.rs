//! Progress of a timed simulation by completed blocks.

use warpbound_simulate::timed::{Event, EventListener};

use crate::RunProgress;

/// Listener that reports the number of completed blocks.
pub(crate) struct BlockProgress<'a> {
    progress: &'a mut dyn FnMut(RunProgress),
    done: u64,
}

impl<'a> BlockProgress<'a> {
    pub(crate) fn new(progress: &'a mut dyn FnMut(RunProgress)) -> BlockProgress<'a> {
        BlockProgress { progress, done: 0 }
    }
}

impl EventListener for BlockProgress<'_> {
    const INLINED: bool = true;

    #[inline(always)]
    fn event(&mut self, _cycle: u64, event: &Event) {
        if let Event::BlockEnds { .. } = event {
            self.done += 1;
            (self.progress)(RunProgress::Blocks(self.done));
        }
    }
}
