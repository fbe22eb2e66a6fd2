use std::time::{Duration, Instant};

/// A time limit of work on one thing; none by default.
///
/// Work that is given up is named as such, and nothing is concluded from it. The machine's speed decides which work that is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Deadline(Option<Instant>);

impl Deadline {
    /// So long from now; never where that is no time that a clock can show.
    pub fn after(duration: Duration) -> Deadline {
        Deadline(Instant::now().checked_add(duration))
    }

    /// Tells if the time is over.
    pub fn is_past(self) -> bool {
        self.0.is_some_and(|at| Instant::now() >= at)
    }
}
