//! Tells how many blocks are done.

use warpbound_simulate::timed::{Event, EventListener};

use super::RunProgress;

/// Counts blocks.
pub(super) struct Blocks<'a> {
    progress: &'a mut dyn FnMut(RunProgress),
    done: u64,
}

impl<'a> Blocks<'a> {
    pub(super) fn new(progress: &'a mut dyn FnMut(RunProgress)) -> Blocks<'a> {
        Blocks { progress, done: 0 }
    }
}

impl EventListener for Blocks<'_> {
    #[inline(always)]
    fn event(&mut self, _cycle: u64, event: &Event) {
        if let Event::BlockEnds { .. } = event {
            self.done += 1;
            (self.progress)(RunProgress::Blocks(self.done));
        }
    }
}
