//! A line on the terminal while kernels are worked on; nothing where nobody looks.

use std::io::{IsTerminal as _, Write as _};

/// Shown only for more than one kernel and on a terminal.
pub(crate) struct Progress {
    total: usize,
    shown: bool,
}

impl Progress {
    pub(crate) fn new(total: usize) -> Progress {
        Progress {
            total,
            shown: total > 1 && std::io::stderr().is_terminal(),
        }
    }

    pub(crate) fn show(&mut self, index: usize, name: &str) {
        if self.shown {
            let name: String = name.chars().take(50).collect();
            self.write(&format!("\r\x1b[K{}/{} {name}", index + 1, self.total));
        }
    }

    pub(crate) fn clear(&mut self) {
        if self.shown {
            self.write("\r\x1b[K");
        }
    }

    fn write(&self, text: &str) {
        // Progress that cannot be shown is no reason to stop.
        let _ = std::io::stderr().write_all(text.as_bytes());
    }
}
