//! A line on the terminal while kernels are worked on; nothing where nobody looks.

use std::io::{IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

use warpbound_report::KernelBound;

/// Nobody reads faster.
const EVERY: Duration = Duration::from_millis(100);

/// Characters of the bar.
const WIDTH: usize = 20;

/// Shown only on a terminal.
pub(crate) struct Progress {
    on_terminal: bool,
    done: usize,
    last: Instant,
    shown: bool,
}

impl Progress {
    pub(crate) fn new() -> Progress {
        Progress {
            on_terminal: std::io::stderr().is_terminal(),
            done: 0,
            last: Instant::now(),
            shown: false,
        }
    }

    /// So many of some runs are done.
    pub(crate) fn runs(&mut self, done: u64, all: u64) {
        if !self.on_terminal || self.last.elapsed() < EVERY {
            return;
        }
        self.last = Instant::now();
        self.shown = true;
        write(&format!("\r\x1b[K{done} of {all} runs"));
    }

    /// A kernel is done; it is in the image at this place of so many.
    pub(crate) fn show(&mut self, kernel: &KernelBound, place: usize, images: usize) {
        self.done += 1;
        if !self.on_terminal || self.last.elapsed() < EVERY {
            return;
        }
        self.last = Instant::now();
        self.shown = true;
        let name: String = kernel.name.chars().take(40).collect();
        let bar = match images {
            0 | 1 => String::new(),
            _ => {
                let filled = WIDTH * place / images;
                format!(
                    "[{:<WIDTH$}] {:3} %  ",
                    "#".repeat(filled),
                    100 * place / images
                )
            }
        };
        write(&format!("\r\x1b[K{bar}{} kernels, {name}", self.done));
    }

    pub(crate) fn clear(&mut self) {
        if self.shown {
            write("\r\x1b[K");
        }
    }
}

fn write(text: &str) {
    // Progress that cannot be shown is no reason to stop.
    let _ = std::io::stderr().write_all(text.as_bytes());
}
