use std::time::{Duration, Instant};

/// When work on one thing is to be given up; never, by default.
///
/// What is given up is named as such, and nothing is concluded from it. Whether that happens depends on the machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Deadline(Option<Instant>);

impl Deadline {
    /// So long from now; never where that is no time that a clock can show.
    pub fn after(duration: Duration) -> Deadline {
        Deadline(Instant::now().checked_add(duration))
    }

    /// Whether it is past.
    pub fn is_past(self) -> bool {
        self.0.is_some_and(|at| Instant::now() >= at)
    }
}
