//! Disassembly.

/// The instructions of one kernel.
#[derive(Clone, Debug)]
pub struct Listing {
    /// Name as C++ source has it.
    pub kernel: String,
    /// Lines in address order.
    pub lines: Vec<Line>,
}

/// One instruction.
#[derive(Clone, Debug)]
pub struct Line {
    /// Address, `0x0008`.
    pub at: String,
    /// Labels that name the address: functions, then branch targets.
    pub labels: Vec<String>,
    /// Spelling with labels as targets.
    pub text: String,
    /// Scheduling information, where the instruction set has any.
    pub control: Option<ControlColumns>,
    /// Source line, where it differs from that of the line before.
    pub source: Option<String>,
}

/// The control word's part about one instruction, spelled.
#[derive(Clone, Debug)]
pub struct ControlColumns {
    /// Scheduling code: cycles, or the kind of wait.
    pub stall: String,
    /// `Y` where the scheduler may change to another warp.
    pub yields: bool,
    /// Scoreboard released when the result is written.
    pub write: Option<u8>,
    /// Scoreboard released when the sources have been read.
    pub read: Option<u8>,
    /// Scoreboards waited for, one bit each.
    pub wait: u8,
    /// Operands kept for reuse, one bit each.
    pub reuse: u8,
}

impl Listing {
    /// One instruction per line, with control words decoded in columns.
    pub fn columns(&self) -> String {
        let mut out = format!("{}\n", self.kernel);
        if self.lines.iter().any(|line| line.control.is_some()) {
            out.push_str("   addr  stall y w r wait   reuse\n");
        }
        for line in &self.lines {
            if let Some(source) = &line.source {
                out.push_str(&format!("; {source}\n"));
            }
            for label in &line.labels {
                out.push_str(&format!("{label}:\n"));
            }
            let addr = line.at.trim_start_matches("0x");
            let Some(c) = &line.control else {
                out.push_str(&format!("{addr:>7}    {}\n", line.text));
                continue;
            };
            let digit = |n: Option<u8>| n.map_or('-', |n| char::from(b'0' + n.min(9)));
            let bits = |mask: u8, names: &str| -> String {
                names
                    .chars()
                    .enumerate()
                    .map(|(i, name)| if mask >> i & 1 == 1 { name } else { '-' })
                    .collect()
            };
            out.push_str(&format!(
                "{:>7}  {:>5} {} {} {} {} {}    {}\n",
                addr,
                c.stall,
                if c.yields { 'y' } else { '-' },
                digit(c.write),
                digit(c.read),
                bits(c.wait, "012345"),
                bits(c.reuse, "abc"),
                line.text
            ));
        }
        out
    }
}
