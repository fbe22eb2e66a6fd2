//! Disassembly of bare instruction words.

use warpbound_base::{CodeAddr, Diagnostic, Family};
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
/// Each line has a word in hexadecimal, perhaps after `0x`. For code in groups it has 16 digits, for
/// NVIDIA's GPUs from Volta on 32; for GCN3 it has 8, or
/// 16 with the second dword before the first. Relative targets are printed as for an instruction at address 8
/// (code in groups) or 0, or as numbers of dwords (GCN3). Blank lines and lines that begin with `#` are skipped.
///
/// # Errors
///
/// The instruction set has no table, or a line has no word; the diagnostic has the line.
pub fn disassemble_words(isa: Isa, words: &str, out: &mut String) -> Result<(), Diagnostic> {
    if !isa.is_decoded() {
        isa.check_supported()?;
    }
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
        let word = match u128::from_str_radix(digits, 16) {
            // Digits are checked one by one, because the conversion also accepts a sign.
            Ok(word) if digits.bytes().all(|byte| byte.is_ascii_hexdigit()) => word,
            _ => return Err(fault("hexadecimal digits are expected")),
        };
        let is_written = match (isa, digits.len()) {
            (Isa::Gfx(_), 8) => write_gcn(word as u32, None, out),
            (Isa::Gfx(_), 16) => write_gcn(word as u32, Some((word >> 32) as u32), out),
            (Isa::Gfx(_), _) => return Err(fault("it has not 8 or 16 digits")),
            (Isa::Sm(sm), digits) => {
                let arch = Arch::from_sm(sm.number.into())
                    .ok_or_else(|| Diagnostic::new(format!("{sm} has no instruction table")))?;
                match (arch.family(), digits) {
                    (Family::Volta, 32) => write_sass(arch, word.to_le_bytes().to_vec(), out)?,
                    (Family::Volta, _) => return Err(fault("it has not 32 digits")),
                    (_, 16) => write_sass(arch, group_of(word as u64), out)?,
                    (_, _) => return Err(fault("it has not 16 digits")),
                }
            }
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

/// Group that begins with an instruction: a control word and three instructions.
fn group_of(word: u64) -> Vec<u8> {
    let words = [PLAIN_CONTROL, word, 0, 0];
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// Appends the first instruction of some code; returns whether there is one.
fn write_sass(arch: Arch, code: Vec<u8>, out: &mut String) -> Result<bool, Diagnostic> {
    let program = SassProgram::decode(arch, &code)?;
    let Some(instr) = program.instrs.first() else {
        return Ok(false);
    };
    Ok(program.write_text(instr, TargetStyle::Hex, None, out))
}
