//! Recorded results of special functions, compared with MUFU.

use std::path::Path;

use anyhow::{Context, bail};
use warpbound_ir::float::single::{self, Scale};
use warpbound_ir::float::special::{self, SpecialFunction};
use warpbound_ir::float::{Flush, Rounding};

use crate::repository::files_with_extension;

/// 1/(2 pi), by which compilers multiply an angle.
const TURN: u32 = 0x3e22_f983;

/// Maximum number of differences that are printed of each function.
const SHOWN: usize = 5;

/// Compares the values in the files of a folder, and returns those that differ.
pub(super) fn run(folder: &Path) -> anyhow::Result<Vec<String>> {
    let mut differences = Vec::new();
    for path in files_with_extension(folder, "bin")? {
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let function = function_named(&name)?;
        let bytes = std::fs::read(&path).with_context(|| path.display().to_string())?;
        let words: Vec<u32> = bytes
            .as_chunks::<4>()
            .0
            .iter()
            .map(|word| u32::from_le_bytes(*word))
            .collect();
        let (pairs, rest) = words.as_chunks::<2>();
        if !rest.is_empty() {
            bail!("{}: a number of pairs is expected", path.display());
        }
        let differ = |&&[operand, result]: &&[u32; 2]| function(operand) != result;
        let found: Vec<&[u32; 2]> = pairs.iter().filter(differ).collect();
        println!("{name}: {} values, {} differ", pairs.len(), found.len());
        differences.extend(found.iter().take(SHOWN).map(|[operand, result]| {
            let own = function(*operand);
            format!("{name} of 0x{operand:08x}: recorded 0x{result:08x}, here 0x{own:08x}")
        }));
    }
    Ok(differences)
}

/// Function that compilers translate to one MUFU.
fn function_named(name: &str) -> anyhow::Result<fn(u32) -> u32> {
    Ok(match name {
        "rcp" => special::rcp,
        "rsq" => special::rsq,
        "sqrt" => special::sqrt,
        "lg2" => special::lg2,
        "ex2" => |x| special::ex2(special::reduce_exponent(x)),
        "sin" => |x| SpecialFunction::Sin.apply(turns(x)),
        "cos" => |x| SpecialFunction::Cos.apply(turns(x)),
        "rcp64h" => special::rcp64h,
        "rsq64h" => special::rsq64h,
        _ => bail!("{name} is no function"),
    })
}

/// Angle in the form of MUFU's operand: FMUL.RZ and MUFU.
fn turns(x: u32) -> u32 {
    let product = single::mul(x, TURN, Scale::One, Rounding::Zero, Flush::Ftz);
    special::reduce_turns(product)
}
