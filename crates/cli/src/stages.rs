//! Times of the stages of a command, which `--timing` prints (`efficient-instrumentation-2014`, Figure 8).

use std::time::{Duration, Instant};

/// Stages of a command, in the order of their first beginning.
pub(crate) struct Stages {
    /// Whether the times were requested.
    is_asked: bool,
    last: Instant,
    stages: Vec<(&'static str, Duration)>,
}

impl Stages {
    /// Begins the first stage.
    pub(crate) fn new(is_asked: bool) -> Stages {
        Stages {
            is_asked,
            last: Instant::now(),
            stages: Vec::new(),
        }
    }

    /// Ends a stage, such as `parse`, `analyse`, `instrument` or `execute`, and begins the next one. Times of stages
    /// with the same name are added.
    pub(crate) fn end(&mut self, name: &'static str) {
        let now = Instant::now();
        let passed = now.duration_since(self.last);
        self.last = now;
        match self.stages.iter_mut().find(|(known, _)| *known == name) {
            Some((_, sum)) => *sum += passed,
            None => self.stages.push((name, passed)),
        }
    }

    /// Prints the times to standard error, so that the output is the same in each run.
    pub(crate) fn print(&self) {
        if !self.is_asked {
            return;
        }
        let all: Duration = self.stages.iter().map(|(_, time)| *time).sum();
        for (name, time) in &self.stages {
            // A sum of 0 must not divide.
            let share = time.as_secs_f64() / all.as_secs_f64().max(1e-9) * 100.0;
            eprintln!(
                "{name:<12}{:>10.3} ms{share:>7.1} %",
                time.as_secs_f64() * 1e3
            );
        }
    }
}
