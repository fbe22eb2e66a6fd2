//! Progress line on standard error, if standard error is a terminal and `--quiet` is not given.

use std::io::Write as _;
use std::time::{Duration, Instant};

use warpbound_report::KernelBound;

use crate::messages::has_progress;

/// Minimum interval between updates.
const EVERY: Duration = Duration::from_millis(100);

/// Width of the bar in characters.
const WIDTH: usize = 20;

/// Progress line, shown only on a terminal.
pub(crate) struct Progress {
    is_wanted: bool,
    done: usize,
    last: Instant,
    shown: bool,
}

impl Progress {
    pub(crate) fn new() -> Progress {
        Progress {
            is_wanted: has_progress(),
            done: 0,
            last: Instant::now(),
            shown: false,
        }
    }

    /// Shows how many of `all` runs are done.
    pub(crate) fn runs(&mut self, done: u64, all: u64) {
        // A terminal is slow: an update for each run could take longer than the run.
        if !self.is_wanted || self.last.elapsed() < EVERY {
            return;
        }
        self.last = Instant::now();
        self.shown = true;
        write(&format!("\r\x1b[K{done} of {all} runs"));
    }

    /// Shows that a kernel is done. Its image has index `position` among `images` images.
    pub(crate) fn show(&mut self, kernel: &KernelBound, position: usize, images: usize) {
        self.done += 1;
        if !self.is_wanted || self.last.elapsed() < EVERY {
            return;
        }
        self.last = Instant::now();
        self.shown = true;
        // A name that wraps would leave remains of itself at the next update.
        let name: String = kernel.name.chars().take(40).collect();
        let bar = match images {
            0 | 1 => String::new(),
            _ => {
                let filled = WIDTH * position / images;
                format!(
                    "[{:<WIDTH$}] {:3} %  ",
                    "#".repeat(filled),
                    100 * position / images
                )
            }
        };
        write(&format!("\r\x1b[K{bar}{} kernels, {name}", self.done));
    }

    /// Shows how many of `all` blocks of a launch are done.
    pub(crate) fn blocks(&mut self, done: u64, all: u64) {
        if !self.is_wanted || self.last.elapsed() < EVERY {
            return;
        }
        self.last = Instant::now();
        self.shown = true;
        // In 128 bits, because the product may exceed 64.
        let of = |whole: u64| u128::from(done) * u128::from(whole) / u128::from(all.max(1));
        let filled = usize::try_from(of(WIDTH as u64)).unwrap_or(WIDTH);
        let (bar, percent) = ("#".repeat(filled), of(100));
        write(&format!(
            "\r\x1b[K[{bar:<WIDTH$}] {percent:3} %  {done} of {all} blocks"
        ));
    }

    /// Shows how many launches of a set are done, of at most `all`.
    pub(crate) fn launches(&mut self, done: u64, all: u64) {
        if !self.is_wanted || self.last.elapsed() < EVERY {
            return;
        }
        self.last = Instant::now();
        self.shown = true;
        write(&format!("\r\x1b[K{done} of at most {all} launches"));
    }

    pub(crate) fn clear(&mut self) {
        if self.shown {
            write("\r\x1b[K");
        }
    }
}

fn write(text: &str) {
    // An error of the terminal must not stop the work.
    let _ = std::io::stderr().write_all(text.as_bytes());
}
