//! Tells how many blocks are done.

use warpbound_simulate::timed::{Event, Listener};

use super::Step;

/// Counts blocks.
pub(super) struct Blocks<'a> {
    progress: &'a mut dyn FnMut(Step),
    done: u64,
}

impl<'a> Blocks<'a> {
    pub(super) fn new(progress: &'a mut dyn FnMut(Step)) -> Blocks<'a> {
        Blocks { progress, done: 0 }
    }
}

impl Listener for Blocks<'_> {
    #[inline(always)]
    fn event(&mut self, _cycle: u64, event: &Event) {
        if let Event::BlockEnds { .. } = event {
            self.done += 1;
            (self.progress)(Step::Blocks(self.done));
        }
    }
}
