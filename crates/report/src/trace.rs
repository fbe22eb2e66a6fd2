//! Writers of simulation events as they occur: JSON lines, and the Trace Event Format that Perfetto opens ("Trace
//! Event Format", a document of the Chromium project).

use std::io::{self, Write};

use serde::Serialize;

use crate::timed::StallCounts;

/// Writer of JSON lines, with one value per line. It keeps its first error until [`JsonLines::finish`].
pub struct JsonLines<W> {
    out: W,
    line: Vec<u8>,
    failed: Option<io::Error>,
}

impl<W: Write> JsonLines<W> {
    /// Creates a writer to `out`.
    pub fn new(out: W) -> JsonLines<W> {
        JsonLines {
            out,
            line: Vec::new(),
            failed: None,
        }
    }

    /// Writes `value` as a line. After an error, writes nothing.
    pub fn line(&mut self, value: &impl Serialize) {
        self.write(b"", value, b"\n");
    }

    fn write(&mut self, before: &[u8], value: &impl Serialize, after: &[u8]) {
        if self.failed.is_some() {
            return;
        }
        // The line is completed first, so that a value that fails leaves no half of it in the output.
        self.line.clear();
        self.line.extend_from_slice(before);
        let written = serde_json::to_writer(&mut self.line, value).map_err(io::Error::from);
        self.line.extend_from_slice(after);
        let written = written.and_then(|()| self.out.write_all(&self.line));
        // A simulation goes on without its events, and `finish` reports the error.
        self.failed = written.err();
    }

    /// Writes bytes without a value.
    fn raw(&mut self, bytes: &[u8]) {
        if self.failed.is_none() {
            self.failed = self.out.write_all(bytes).err();
        }
    }

    /// Flushes the output.
    ///
    /// # Errors
    ///
    /// The first error of any write.
    pub fn finish(mut self) -> io::Result<()> {
        match self.failed.take() {
            Some(error) => Err(error),
            None => self.out.flush(),
        }
    }
}

/// Event of the Trace Event Format. Its times are in microseconds, and one cycle is written as one microsecond.
#[derive(Clone, Debug, Serialize)]
pub struct TraceEvent<'a> {
    /// Display name.
    pub name: &'a str,
    /// Category.
    pub cat: &'static str,
    /// Kind of event.
    pub ph: Phase,
    /// Start time.
    pub ts: u64,
    /// Duration of a slice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dur: Option<u64>,
    /// The process.
    pub pid: u64,
    /// The thread.
    pub tid: u64,
    /// Identifier that the begin and the end of one asynchronous slice share.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<u64>,
    /// Scope of an instant: `g` for all processes, `t` for its thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub s: Option<&'static str>,
    /// Details that viewers show for a selected event.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub args: Option<TraceArgs<'a>>,
}

/// Details of an event that viewers show when it is selected.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum TraceArgs<'a> {
    /// Details of a block.
    Block {
        /// Block index in x, y, z.
        block: [u32; 3],
        /// Linear index of the block in the grid.
        number: u64,
        /// Warps of the block.
        warps: u32,
    },
    /// Details of an issued instruction.
    Issue {
        /// Address of the instruction.
        address: &'a str,
        /// Disassembly of the instruction.
        text: &'a str,
        /// `file:line`, if the file has a line table.
        source: Option<&'a str>,
        /// Linear index of the warp's block in the grid.
        block: u64,
        /// Number of the warp in its block.
        warp: u32,
        /// Mask of the active lanes.
        active: String,
        /// Cycles since the previous issue of the warp, including that issue, by stall reason.
        #[serde(rename = "waited")]
        stalls: StallCounts,
    },
    /// Details of an access to shared memory.
    Shared {
        /// Address of the instruction.
        address: &'a str,
        /// Transactions.
        transactions: u32,
        /// Transactions caused by bank conflicts.
        conflicts: u32,
    },
    /// Details of an access to global or local memory.
    Memory {
        /// Address of the instruction.
        address: &'a str,
        /// Sectors that the access requests.
        sectors: u32,
        /// Sectors that hit in the L1 cache.
        l1_hits: u32,
        /// Sectors that hit in the L2 cache.
        l2_hits: u32,
        /// Sectors transferred to or from DRAM.
        dram: u32,
    },
    /// Details of an access to scalar memory.
    Scalar {
        /// Address of the instruction.
        address: &'a str,
        /// Lines of the scalar cache.
        lines: u32,
        /// Lines that hit in the scalar cache.
        hits: u32,
        /// Lines that missed the scalar cache and hit in the L2 cache.
        l2_hits: u32,
    },
    /// Details of a split of a wave.
    Split {
        /// Address of the branch.
        address: &'a str,
        /// Slot of the new split.
        child: u32,
        /// Mask of the lanes that stay.
        parent_lanes: String,
        /// Mask of the lanes of the new split.
        child_lanes: String,
    },
    /// Details of a refused split.
    NoSplit {
        /// Address of the branch.
        address: &'a str,
        /// Reason.
        reason: &'static str,
    },
    /// Details of a merge of two splits.
    Merge {
        /// Address of the merge point.
        address: &'a str,
        /// Slot of the split that ends.
        from: u32,
        /// Slot of the split that goes on.
        into: u32,
    },
    /// Details of the warps that waited at a barrier.
    Barrier {
        /// Number of warps.
        warps: u32,
    },
    /// Name of a process or thread.
    Named {
        /// Display name.
        name: &'a str,
    },
    /// Display position of a process or thread.
    Sorted {
        /// Sort key. Smaller keys are shown first.
        sort_index: u64,
    },
}

/// Metadata of a trace file, its `otherData`.
#[derive(Clone, Debug, Serialize)]
pub struct TraceMetadata<'a> {
    /// The file with the machine code.
    pub file: &'a str,
    /// The kernel.
    pub kernel: &'a str,
    /// The machine.
    pub machine: &'a str,
    /// Meaning of a microsecond of the trace.
    pub time: &'static str,
}

impl TraceMetadata<'_> {
    /// Meaning of a microsecond of the trace.
    pub const TIME: &'static str = "1 us shown is 1 cycle";
}

/// Kinds of events.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub enum Phase {
    /// A slice of a thread.
    #[serde(rename = "X")]
    Complete,
    /// An instant.
    #[serde(rename = "i")]
    Instant,
    /// Begin of an asynchronous slice, which may overlap other slices of its thread.
    #[serde(rename = "b")]
    AsyncBegin,
    /// End of an asynchronous slice.
    #[serde(rename = "e")]
    AsyncEnd,
    /// Name or position of a process or thread.
    #[serde(rename = "M")]
    Metadata,
}

/// Writer of the Trace Event Format.
pub struct TraceWriter<W> {
    out: JsonLines<W>,
    is_first: bool,
}

impl<W: Write> TraceWriter<W> {
    /// Starts a file with the given metadata.
    pub fn new(out: W, metadata: &TraceMetadata<'_>) -> TraceWriter<W> {
        let mut out = JsonLines::new(out);
        // Viewers round displayed times to this unit.
        let before = b"{\"displayTimeUnit\":\"ns\",\"otherData\":";
        out.write(before, metadata, b",\"traceEvents\":[\n");
        TraceWriter {
            out,
            is_first: true,
        }
    }

    /// Writes an event. After an error, writes nothing.
    pub fn event(&mut self, event: &TraceEvent<'_>) {
        // The separator comes before an event, because it is not known which event is the last.
        let before: &[u8] = if self.is_first { b"" } else { b",\n" };
        self.is_first = false;
        self.out.write(before, event, b"");
    }

    /// Names a process. Processes are shown in the order of `pid`.
    pub fn process(&mut self, pid: u64, name: &str) {
        self.metadata("process_name", pid, 0, TraceArgs::Named { name });
        let args = TraceArgs::Sorted { sort_index: pid };
        self.metadata("process_sort_index", pid, 0, args);
    }

    /// Names a thread. Threads with a smaller `sort_index` are shown above it.
    pub fn thread(&mut self, pid: u64, tid: u64, name: &str, sort_index: u64) {
        self.metadata("thread_name", pid, tid, TraceArgs::Named { name });
        let args = TraceArgs::Sorted { sort_index };
        self.metadata("thread_sort_index", pid, tid, args);
    }

    /// Writes a metadata event, which names or sorts a process or a thread.
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

    /// Completes the file.
    ///
    /// # Errors
    ///
    /// The first error of any write.
    pub fn finish(mut self) -> io::Result<()> {
        // Without its end the file would be no JSON.
        self.out.raw(b"\n]}\n");
        self.out.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writer that fails once its number of free bytes is exhausted.
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

    const ABOUT: TraceMetadata<'_> = TraceMetadata {
        file: "f",
        kernel: "k",
        machine: "m",
        time: TraceMetadata::TIME,
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
    fn finish_returns_the_first_error() {
        for free in [0, 10, 170, 200] {
            let mut writer = TraceWriter::new(Full(free), &ABOUT);
            writer.process(1, "SM 0");
            writer.process(2, "SM 1");
            assert_eq!(writer.finish().unwrap_err().to_string(), "full", "{free}");
        }
        let mut lines = JsonLines::new(Full(20));
        lines.line(&1);
        assert!(lines.finish().is_ok());
    }
}
