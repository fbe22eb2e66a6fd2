//! Reads lines `word [control]` (hexadecimal) and prints each word's text as raw code at
//! consecutive positions: `cargo run --example spell -- 61 < words`.

use std::io::{BufRead, Write};
use warpbound_isa::{Arch, Program};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let sm = std::env::args().nth(1).unwrap_or_default().parse()?;
    let arch = Arch::from_sm(sm).ok_or("not a Maxwell or Pascal SM number")?;
    let mut words = Vec::new();
    let mut controls = Vec::new();
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let mut columns = line.split_whitespace();
        let word = columns.next().ok_or("empty line")?;
        words.push(u64::from_str_radix(word, 16)?);
        let control = columns.next().map(|c| u64::from_str_radix(c, 16));
        controls.push(control.transpose()?.unwrap_or(0x7ef) & 0x1f_ffff);
    }
    let count = words.len();
    words.resize(count.next_multiple_of(3), 0x50b0_0000_0007_0f00);
    controls.resize(words.len(), 0x7ef);
    let mut code = Vec::new();
    for (group, control) in words.chunks(3).zip(controls.chunks(3)) {
        let packed = (0u32..).zip(control).map(|(slot, c)| c << (21 * slot)).sum::<u64>();
        code.extend(packed.to_le_bytes());
        for word in group {
            code.extend(word.to_le_bytes());
        }
    }
    let program = Program::decode(arch, &code)?;
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    for (_, _, text) in program.listing().take(count) {
        writeln!(out, "{}", text.as_deref().unwrap_or("?"))?;
    }
    Ok(())
}
