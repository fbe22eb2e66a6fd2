//! Limit of the sectors that an SM may have under way at a time.

use std::collections::VecDeque;

/// The sectors that are under way: of misses, between the first-level cache and what is beyond it, the places of the miss
/// status holding registers; of stores, those that the second level has not taken yet.
#[derive(Clone, Debug)]
pub(super) struct Window {
    most: u64,
    /// Those under way.
    held: u64,
    /// Times at which sectors leave, and how many, in the order of time.
    leave: VecDeque<(u64, u64)>,
}

impl Window {
    /// For `most` sectors at a time, at least one.
    pub(super) fn new(most: u64) -> Window {
        Window {
            most: most.max(1),
            held: 0,
            leave: VecDeque::new(),
        }
    }

    /// Asks for room for some sectors from a cycle on; returns when there is. What leaves first makes room first. More
    /// sectors than the window holds have it for themselves.
    pub(super) fn enter(&mut self, at: u64, count: u64) -> u64 {
        let mut start = at;
        while let Some(&(time, left)) = self.leave.front()
            && (time <= start || self.held + count > self.most)
        {
            self.leave.pop_front();
            self.held -= left;
            start = start.max(time);
        }
        start
    }

    /// Sectors that have entered leave at a cycle.
    pub(super) fn hold(&mut self, count: u64, until: u64) {
        self.held += count;
        // Most leave after all that entered before.
        let later = self
            .leave
            .iter()
            .rev()
            .take_while(|(time, _)| *time > until);
        let place = self.leave.len() - later.count();
        self.leave.insert(place, (until, count));
    }
}

#[cfg(test)]
mod tests {
    use super::Window;

    /// Sectors that leave first make room first, whatever entered first.
    #[test]
    fn a_window_is_in_the_order_of_time() {
        let mut window = Window::new(8);
        assert_eq!(window.enter(0, 4), 0);
        window.hold(4, 1000);
        assert_eq!(window.enter(0, 4), 0);
        window.hold(4, 50);
        assert_eq!(window.enter(10, 4), 50);
        window.hold(4, 70);
        assert_eq!(window.enter(10, 4), 70);
        window.hold(4, 2000);
        assert_eq!(window.enter(10, 16), 2000);
    }
}
