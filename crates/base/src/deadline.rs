use std::time::{Duration, Instant};

/// Wall-clock limit for one piece of work; none by default.
///
/// Work cut short by a deadline is reported as such, and nothing is concluded from it. The speed of the host decides
/// which work is cut short, so results with a deadline are not reproducible.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Deadline(Option<Instant>);

impl Deadline {
    /// Returns the deadline `duration` from now; no deadline if the clock cannot represent that time.
    pub fn after(duration: Duration) -> Deadline {
        Deadline(Instant::now().checked_add(duration))
    }

    /// Returns whether the deadline has passed.
    pub fn is_past(self) -> bool {
        self.0.is_some_and(|at| Instant::now() >= at)
    }
}
