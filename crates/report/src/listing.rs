//! Disassembly of a kernel, with decoded control words in columns.

/// Disassembled instructions of one kernel.
#[derive(Clone, Debug)]
pub struct Listing {
    /// Demangled name.
    pub kernel: String,
    /// Lines in order of address.
    pub lines: Vec<ListingLine>,
}

/// One instruction.
#[derive(Clone, Debug)]
pub struct ListingLine {
    /// Address, `0x0008`.
    pub at: String,
    /// Labels at the address: first functions, then branch targets.
    pub labels: Vec<String>,
    /// Text of the instruction, with labels as targets.
    pub text: String,
    /// Dwords of the instruction in hexadecimal, if the number of dwords varies between instructions.
    pub words: Option<String>,
    /// Control word of the instruction, if the instruction set has one.
    pub control: Option<ControlColumns>,
    /// Source line, if it differs from the source line of the previous line.
    pub source: Option<String>,
}

/// Fields of a control word for one instruction.
#[derive(Clone, Debug)]
pub struct ControlColumns {
    /// Stall cycles, or the kind of wait.
    pub stall: String,
    /// Yield flag: the scheduler may switch to another warp.
    pub yields: bool,
    /// Scoreboard that is released when the result is written.
    pub write: Option<u8>,
    /// Scoreboard that is released when the sources have been read.
    pub read: Option<u8>,
    /// Mask of the scoreboards that the instruction waits for.
    pub wait: u8,
    /// Mask of the operand slots that the reuse cache keeps.
    pub reuse: u8,
}

impl Listing {
    /// Returns the listing as text: one instruction per line, with decoded control words in columns. For example,
    /// `IADD` that stalls for 6 cycles and waits for scoreboard 0 has `6`, and `0-----` in the column of waits.
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
            // Only NVIDIA's code has control words.
            let Some(c) = &line.control else {
                match &line.words {
                    Some(words) => {
                        out.push_str(&format!("{addr:>7}  {words:<17}    {}\n", line.text))
                    }
                    None => out.push_str(&format!("{addr:>7}    {}\n", line.text)),
                }
                continue;
            };
            let text = &line.text;
            out.push_str(&format!("{addr:>7}  {}    {text}\n", c.text()));
        }
        out
    }
}

impl ControlColumns {
    /// Returns the fields as columns: stall, yield, write and read scoreboard, awaited scoreboards, reuse.
    pub fn text(&self) -> String {
        // Scoreboards have one digit, and a longer number would shift the columns.
        let digit = |n: Option<u8>| n.map_or('-', |n| char::from(b'0' + n.min(9)));
        let bits = |mask: u8, names: &str| -> String {
            let flag = |(i, name)| if mask >> i & 1 == 1 { name } else { '-' };
            names.chars().enumerate().map(flag).collect()
        };
        format!(
            "{:>5} {} {} {} {} {}",
            self.stall,
            if self.yields { 'y' } else { '-' },
            digit(self.write),
            digit(self.read),
            bits(self.wait, "012345"),
            bits(self.reuse, "abc"),
        )
    }
}
