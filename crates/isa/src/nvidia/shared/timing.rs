//! Timing classes of NVIDIA's instructions. For example, `FFMA` has a fixed latency, which its control word accounts
//! for, and `LDG` has a variable one, for which a scoreboard waits.

/// Latency kind of a form: fixed, or variable and protected by scoreboards.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum LatencyKind {
    /// Fixed latency, protected by the issue distance only.
    Fixed,
    /// Fixed on chips with a full-rate unit, variable with a scoreboard elsewhere. Compilers use both.
    Either,
    /// Variable latency: write and read scoreboards.
    ScoreboardReadWrite,
    /// Variable latency without a result register: read scoreboard only.
    ScoreboardRead,
    /// Branch unit and dependency barriers.
    Branch,
}

/// Execution unit of a sub-partition.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum ExecUnit {
    /// No unit that is ever busy.
    None,
    /// Pipe of comparisons, shifts and moves.
    Fxu,
    /// Pipe of multiplications and additions.
    Fmai,
    /// Either pipe, `Fmai` if it is free.
    Math,
    /// Special functions and conversions.
    Xu,
    /// Double precision.
    Fp64,
    /// Half precision.
    Fp16,
    /// Load/store lanes.
    Lsu,
}

impl ExecUnit {
    /// Number of units.
    pub const COUNT: usize = 8;

    fn parse(word: &str) -> Option<ExecUnit> {
        Some(match word {
            "none" => ExecUnit::None,
            "fxu" => ExecUnit::Fxu,
            "fmai" => ExecUnit::Fmai,
            "math" => ExecUnit::Math,
            "xu" => ExecUnit::Xu,
            "fp64" => ExecUnit::Fp64,
            "fp16" => ExecUnit::Fp16,
            "lsu" => ExecUnit::Lsu,
            _ => return None,
        })
    }
}

/// Latency class of an instruction: the event that completes it. For each class, a timing model has a parameter or a
/// path of its memory system.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum LatencyClass {
    /// Fixed latency, which control words account for.
    Fixed,
    /// Double precision.
    Fp64,
    /// Half precision.
    Fp16,
    /// Special function unit.
    Xu,
    /// Conversions in the special function unit.
    Conversion,
    /// Integer multiplication (IMUL, IMAD).
    Imad,
    /// Exchange between lanes (SHFL).
    Shuffle,
    /// Special register (S2R).
    SpecialRegister,
    /// Access of memory other than constant memory.
    Memory,
    /// Load from constant memory (LDC).
    Constant,
    /// Texture or surface.
    Texture,
    /// Memory barrier (MEMBAR): a latency of its own; of `.GL` and `.SYS` after the warp's stores and atomic operations.
    Fence,
    /// Wait for scoreboards (DEPBAR).
    Depbar,
    /// Variable latency of any other instruction.
    Other,
    /// Nothing is known of the time.
    Unknown,
}

impl LatencyClass {
    fn parse(word: &str) -> Option<LatencyClass> {
        Some(match word {
            "fixed" => LatencyClass::Fixed,
            "fp64" => LatencyClass::Fp64,
            "fp16" => LatencyClass::Fp16,
            "xu" => LatencyClass::Xu,
            "conversion" => LatencyClass::Conversion,
            "imad" => LatencyClass::Imad,
            "shuffle" => LatencyClass::Shuffle,
            "special" => LatencyClass::SpecialRegister,
            "memory" => LatencyClass::Memory,
            "constant" => LatencyClass::Constant,
            "texture" => LatencyClass::Texture,
            "fence" => LatencyClass::Fence,
            "depbar" => LatencyClass::Depbar,
            "other" => LatencyClass::Other,
            "unknown" => LatencyClass::Unknown,
            _ => return None,
        })
    }
}

/// Timing class of a form. For Maxwell and Pascal the first four fields come from the machine descriptions inside
/// NVIDIA's tools, and unit and latency class are derived from them; from Volta on they come from experiments and from
/// compilers' code (docs/timing-model.md).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Timing {
    /// Name of the class. Tables of distances refer to it.
    pub name: &'static str,
    /// Latency kind.
    pub latency: LatencyKind,
    /// Minimum legal issue distance to the warp's next instruction, in cycles.
    pub min_wait: u8,
    /// Queue of the variable-latency path (`xu`, `tex`, `shm`, …); empty for fixed latency.
    pub queue: &'static str,
    /// Execution pipes the instruction may use.
    pub pipes: Vec<&'static str>,
    /// Execution unit that it occupies.
    pub unit: ExecUnit,
    /// Class of its latency.
    pub completion: LatencyClass,
}

impl Timing {
    pub(crate) fn parse(name: &'static str, words: &[&'static str]) -> Option<Timing> {
        let [latency, min_wait, queue, pipes, unit, completion] = words else {
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
            name,
            latency,
            min_wait: min_wait.parse().ok()?,
            queue: if *queue == "-" { "" } else { queue },
            pipes: pipes.split(',').collect(),
            unit: ExecUnit::parse(unit)?,
            completion: LatencyClass::parse(completion)?,
        })
    }
}
