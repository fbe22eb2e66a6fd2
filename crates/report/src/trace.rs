//! What happens in a run, written while it happens: JSON lines, and the Trace Event Format that Perfetto opens
//! ("Trace Event Format", a document of the Chromium project).

use std::io::{self, Write};

use serde::Serialize;

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
pub struct TraceEvent<'a, A> {
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
    pub pid: u32,
    /// The thread.
    pub tid: u32,
    /// What begins and ends of one asynchronous slice share.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<u64>,
    /// How wide an instant is drawn: `g` all processes, `t` its thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub s: Option<&'static str>,
    /// What is shown when it is selected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub args: Option<A>,
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

#[derive(Serialize)]
struct Named<'a> {
    name: &'a str,
}

#[derive(Serialize)]
struct Sorted {
    sort_index: u32,
}

impl<W: Write> TraceWriter<W> {
    /// Begins a file; `about` is said of it as a whole.
    pub fn new(out: W, about: &impl Serialize) -> TraceWriter<W> {
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
    pub fn event<A: Serialize>(&mut self, event: &TraceEvent<'_, A>) {
        let before: &[u8] = if self.is_first { b"" } else { b",\n" };
        self.is_first = false;
        self.out.write(before, event, b"");
    }

    /// Names a process.
    pub fn process(&mut self, pid: u32, name: &str) {
        self.metadata("process_name", pid, 0, Named { name });
    }

    /// Names a thread; threads are shown in the order of their numbers.
    pub fn thread(&mut self, pid: u32, tid: u32, name: &str) {
        self.metadata("thread_name", pid, tid, Named { name });
        let args = Sorted { sort_index: tid };
        self.metadata("thread_sort_index", pid, tid, args);
    }

    fn metadata(&mut self, name: &str, pid: u32, tid: u32, args: impl Serialize) {
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

    #[test]
    fn a_file_without_events_is_json_too() {
        let mut bytes = Vec::new();
        let writer = TraceWriter::new(&mut bytes, &Named { name: "n" });
        writer.finish().unwrap();
        let parsed: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
        assert_eq!(parsed["otherData"]["name"], "n");
        assert_eq!(parsed["traceEvents"], serde_json::json!([]));
    }

    #[test]
    fn the_first_failure_is_told_at_the_end() {
        for room in [0, 10, 70, 100] {
            let mut writer = TraceWriter::new(Full(room), &Named { name: "n" });
            writer.process(1, "SM 0");
            writer.process(2, "SM 1");
            assert_eq!(writer.finish().unwrap_err().to_string(), "full", "{room}");
        }
        let mut lines = JsonLines::new(Full(20));
        lines.line(&1);
        assert!(lines.finish().is_ok());
    }
}
