/// Latency kind of a form: fixed, or variable and protected by scoreboards.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum LatencyKind {
    /// Fixed latency: protected by issue distance only.
    Fixed,
    /// Fixed on chips with a full-rate unit, through a scoreboard elsewhere; compilers use both.
    Either,
    /// Variable latency: write and read scoreboards.
    ScoreboardReadWrite,
    /// Variable latency without a result register: read scoreboard only.
    ScoreboardRead,
    /// Branch unit and dependency barriers.
    Branch,
}

/// Timing class of a form, from the machine descriptions inside NVIDIA's tools.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Timing {
    /// Latency kind.
    pub latency: LatencyKind,
    /// Minimum legal issue distance to the warp's next instruction, in cycles.
    pub min_wait: u8,
    /// Queue of the variable-latency path (`xu`, `tex`, `shm`, …); empty for fixed latency.
    pub queue: &'static str,
    /// Execution pipes the instruction may use.
    pub pipes: Vec<&'static str>,
}

impl Timing {
    pub(crate) fn parse(words: &[&'static str]) -> Option<Timing> {
        let [latency, min_wait, queue, pipes] = words else {
            return None;
        };
        let latency = match *latency {
            "fixed" => LatencyKind::Fixed,
            "either" => LatencyKind::Either,
            "scoreboard_rw" => LatencyKind::ScoreboardReadWrite,
            "scoreboard_r" => LatencyKind::ScoreboardRead,
            "branch" => LatencyKind::Branch,
            _ => return None,
        };
        Some(Timing {
            latency,
            min_wait: min_wait.parse().ok()?,
            queue: if *queue == "-" { "" } else { queue },
            pipes: pipes.split(',').collect(),
        })
    }
}
