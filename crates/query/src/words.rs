//! Disassembly of bare instruction words.

use warpbound_base::{CodeAddr, Diagnostic};
use warpbound_isa::TargetStyle;
use warpbound_isa::amd::GcnInstr;
use warpbound_isa::nvidia::{Arch, SassProgram};
use warpbound_load::Isa;

/// Text of a word that is not an instruction.
const INVALID: &str = "invalid";

/// Control word without stalls and waits, which the text of an instruction would otherwise show.
const PLAIN_CONTROL: u64 = 0x7ef | 0x7ef << 21 | 0x7ef << 42;

/// Appends a line with the text of the instruction for each word of `words`, `invalid` for a word that is none.
///
/// Each line has a word in hexadecimal, perhaps after `0x`. For NVIDIA's GPUs it has 16 digits; for GCN3 it has 8, or
/// 16 with the second dword before the first. Relative targets are printed as for an instruction at address 8
/// (NVIDIA), or as numbers of dwords (GCN3). Blank lines and lines that begin with `#` are skipped.
///
/// # Errors
///
/// The instruction set has no table, or a line has no word; the diagnostic has the line.
pub fn disassemble_words(isa: Isa, words: &str, out: &mut String) -> Result<(), Diagnostic> {
    isa.check_supported()?;
    for (number, line) in (1u32..).zip(words.lines()) {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let digits = line.strip_prefix("0x").unwrap_or(line);
        let fault = |message: &str| {
            let message = format!("{line:?} is no instruction word: {message}");
            Diagnostic::new(message).at(format_args!("line {number}"))
        };
        let word = match u64::from_str_radix(digits, 16) {
            // Digits are checked one by one, because the conversion also accepts a sign.
            Ok(word) if digits.bytes().all(|byte| byte.is_ascii_hexdigit()) => word,
            _ => return Err(fault("hexadecimal digits are expected")),
        };
        let is_written = match (isa, digits.len()) {
            (Isa::Gfx(_), 8) => write_gcn(word as u32, None, out),
            (Isa::Gfx(_), 16) => write_gcn(word as u32, Some((word >> 32) as u32), out),
            (Isa::Gfx(_), _) => return Err(fault("it has not 8 or 16 digits")),
            (Isa::Sm(sm), 16) => {
                let arch = Arch::from_sm(sm.number.into())
                    .ok_or_else(|| Diagnostic::new(format!("{sm} has no instruction table")))?;
                write_sass(arch, word, out)?
            }
            (Isa::Sm(_), _) => return Err(fault("it has not 16 digits")),
            (Isa::MiniSimt, _) => {
                return Err(Diagnostic::new(
                    "mini-SIMT is text and has no instruction words",
                ));
            }
        };
        if !is_written {
            out.push_str(INVALID);
        }
        out.push('\n');
    }
    Ok(())
}

/// Appends the instruction at the start of two dwords; returns whether there is one.
fn write_gcn(first: u32, second: Option<u32>, out: &mut String) -> bool {
    GcnInstr::decode(CodeAddr(0), first, second).write_text(TargetStyle::Hex, out)
}

/// Appends an instruction of NVIDIA's GPUs; returns whether there is one.
fn write_sass(arch: Arch, word: u64, out: &mut String) -> Result<bool, Diagnostic> {
    // The decoder reads groups of a control word and three instructions.
    let group: Vec<u8> = [PLAIN_CONTROL, word, 0, 0]
        .iter()
        .flat_map(|word| word.to_le_bytes())
        .collect();
    let program = SassProgram::decode(arch, &group)?;
    let Some(instr) = program.instrs.first() else {
        return Ok(false);
    };
    Ok(program.write_text(instr, TargetStyle::Hex, None, out))
}
