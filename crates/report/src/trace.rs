//! What happens in a run, written while it happens: JSON lines, and the Trace Event Format that Perfetto opens
//! ("Trace Event Format", a document of the Chromium project).

use std::io::{self, Write};

use serde::Serialize;

use crate::timed::Waited;

/// Writes values, one line each.
pub struct JsonLines<W> {
    out: W,
    line: Vec<u8>,
    failed: Option<io::Error>,
}

impl<W: Write> JsonLines<W> {
    /// Writes to `out`, a line at a time.
    pub fn new(out: W) -> JsonLines<W> {
        JsonLines {
            out,
            line: Vec::new(),
            failed: None,
        }
    }

    /// Adds a line; after a failure nothing more is written.
    pub fn line(&mut self, value: &impl Serialize) {
        self.write(b"", value, b"\n");
    }

    fn write(&mut self, before: &[u8], value: &impl Serialize, after: &[u8]) {
        if self.failed.is_some() {
            return;
        }
        self.line.clear();
        self.line.extend_from_slice(before);
        let written = serde_json::to_writer(&mut self.line, value).map_err(io::Error::from);
        self.line.extend_from_slice(after);
        let written = written.and_then(|()| self.out.write_all(&self.line));
        self.failed = written.err();
    }

    fn raw(&mut self, bytes: &[u8]) {
        if self.failed.is_none() {
            self.failed = self.out.write_all(bytes).err();
        }
    }

    /// The end.
    ///
    /// # Errors
    ///
    /// The first failure.
    pub fn finish(mut self) -> io::Result<()> {
        match self.failed.take() {
            Some(error) => Err(error),
            None => self.out.flush(),
        }
    }
}

/// An event of the Trace Event Format. Times are microseconds there; a cycle is written as one.
#[derive(Clone, Debug, Serialize)]
pub struct TraceEvent<'a> {
    /// What it is called.
    pub name: &'a str,
    /// Its category.
    pub cat: &'static str,
    /// What kind of event it is.
    pub ph: Phase,
    /// When it begins.
    pub ts: u64,
    /// How long it takes, of slices.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dur: Option<u64>,
    /// The process.
    pub pid: u64,
    /// The thread.
    pub tid: u64,
    /// What begins and ends of one asynchronous slice share.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<u64>,
    /// How wide an instant is drawn: `g` all processes, `t` its thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub s: Option<&'static str>,
    /// What is shown when it is selected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub args: Option<TraceArgs<'a>>,
}

/// What is shown of an event when it is selected.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum TraceArgs<'a> {
    /// Of a block.
    Block {
        /// Its place in the grid.
        block: [u32; 3],
        /// How many blocks of the grid are before it.
        number: u64,
        /// Its warps.
        warps: u32,
    },
    /// Of an instruction that was issued.
    Issue {
        /// Its address.
        address: &'a str,
        /// The instruction.
        text: &'a str,
        /// `file:line`, where the file has a line table.
        source: Option<&'a str>,
        /// How many blocks of the grid are before that of its warp.
        block: u64,
        /// The warp in its block.
        warp: u32,
        /// The active lanes.
        active: String,
        /// What the cycles before it went into, those of the issue before included.
        waited: Waited,
    },
    /// Of an access to shared memory.
    Shared {
        /// Address of the instruction.
        address: &'a str,
        /// Transactions.
        transactions: u32,
        /// Those of them that are there for conflicts.
        conflicts: u32,
    },
    /// Of an access to global or local memory.
    Memory {
        /// Address of the instruction.
        address: &'a str,
        /// Sectors that it touches.
        sectors: u32,
        /// Those found in the first level.
        l1_hits: u32,
        /// Those found in the second level.
        l2_hits: u32,
        /// Those that came from memory or went there.
        dram: u32,
    },
    /// Of warps that waited at a barrier.
    Barrier {
        /// How many.
        warps: u32,
    },
    /// Of a process or thread.
    Named {
        /// Its name.
        name: &'a str,
    },
    /// Of a process or thread.
    Sorted {
        /// Its place among the others.
        sort_index: u64,
    },
}

/// What is said of a file as a whole.
#[derive(Clone, Debug, Serialize)]
pub struct TraceAbout<'a> {
    /// The file with the machine code.
    pub file: &'a str,
    /// The kernel.
    pub kernel: &'a str,
    /// The machine.
    pub machine: &'a str,
    /// What a microsecond stands for.
    pub time: &'static str,
}

impl TraceAbout<'_> {
    /// What a microsecond stands for.
    pub const TIME: &'static str = "1 us shown is 1 cycle";
}

/// Kinds of events.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub enum Phase {
    /// A slice of a thread.
    #[serde(rename = "X")]
    Complete,
    /// Something at one time.
    #[serde(rename = "i")]
    Instant,
    /// The begin of a slice that is independent of the others of its thread.
    #[serde(rename = "b")]
    AsyncBegin,
    /// Its end.
    #[serde(rename = "e")]
    AsyncEnd,
    /// A name.
    #[serde(rename = "M")]
    Metadata,
}

/// Writes the Trace Event Format.
pub struct TraceWriter<W> {
    out: JsonLines<W>,
    is_first: bool,
}

impl<W: Write> TraceWriter<W> {
    /// Begins a file; `about` is said of it as a whole.
    pub fn new(out: W, about: &TraceAbout<'_>) -> TraceWriter<W> {
        let mut out = JsonLines::new(out);
        // Viewers round to this unit.
        let before = b"{\"displayTimeUnit\":\"ns\",\"otherData\":";
        out.write(before, about, b",\"traceEvents\":[\n");
        TraceWriter {
            out,
            is_first: true,
        }
    }

    /// Adds an event; after a failure nothing more is written.
    pub fn event(&mut self, event: &TraceEvent<'_>) {
        let before: &[u8] = if self.is_first { b"" } else { b",\n" };
        self.is_first = false;
        self.out.write(before, event, b"");
    }

    /// Names a process.
    pub fn process(&mut self, pid: u64, name: &str) {
        self.metadata("process_name", pid, 0, TraceArgs::Named { name });
        let args = TraceArgs::Sorted { sort_index: pid };
        self.metadata("process_sort_index", pid, 0, args);
    }

    /// Names a thread; those with a smaller `sort_index` are shown before it.
    pub fn thread(&mut self, pid: u64, tid: u64, name: &str, sort_index: u64) {
        self.metadata("thread_name", pid, tid, TraceArgs::Named { name });
        let args = TraceArgs::Sorted { sort_index };
        self.metadata("thread_sort_index", pid, tid, args);
    }

    fn metadata(&mut self, name: &str, pid: u64, tid: u64, args: TraceArgs<'_>) {
        self.event(&TraceEvent {
            name,
            cat: "__metadata",
            ph: Phase::Metadata,
            ts: 0,
            dur: None,
            pid,
            tid,
            id: None,
            s: None,
            args: Some(args),
        });
    }

    /// The end of the file.
    ///
    /// # Errors
    ///
    /// The first failure.
    pub fn finish(mut self) -> io::Result<()> {
        self.out.raw(b"\n]}\n");
        self.out.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A disk that is full after so many bytes.
    struct Full(usize);

    impl Write for Full {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            match self.0.checked_sub(bytes.len()) {
                Some(left) => {
                    self.0 = left;
                    Ok(bytes.len())
                }
                None => Err(io::Error::other("full")),
            }
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    const ABOUT: TraceAbout<'_> = TraceAbout {
        file: "f",
        kernel: "k",
        machine: "m",
        time: TraceAbout::TIME,
    };

    #[test]
    fn a_file_without_events_is_json_too() {
        let mut bytes = Vec::new();
        let writer = TraceWriter::new(&mut bytes, &ABOUT);
        writer.finish().unwrap();
        let parsed: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
        assert_eq!(parsed["otherData"]["kernel"], "k");
        assert_eq!(parsed["traceEvents"], serde_json::json!([]));
    }

    #[test]
    fn the_first_failure_is_told_at_the_end() {
        for room in [0, 10, 170, 200] {
            let mut writer = TraceWriter::new(Full(room), &ABOUT);
            writer.process(1, "SM 0");
            writer.process(2, "SM 1");
            assert_eq!(writer.finish().unwrap_err().to_string(), "full", "{room}");
        }
        let mut lines = JsonLines::new(Full(20));
        lines.line(&1);
        assert!(lines.finish().is_ok());
    }
}
