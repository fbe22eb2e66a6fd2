//! GPUs on which a cubin may run, as its sections state it.
//!
//! From CUDA 13 on the ELF flags have only the number of the architecture. A record of `.nv.compat` marks code that
//! uses accelerators (suffix `a`), and the note of the assembler has its options, among them the name with suffix `f`.
//! For example, the record `02 09 01 00` of a file for number 100 makes it one for sm_100a.

use warpbound_base::{Diagnostic, Named as _, Sm, SmReach};

use crate::attribute;
use crate::elf::{Elf, Section};
use crate::flags;

/// Name of the section with records of compatibility.
pub(crate) const COMPAT: &str = ".nv.compat";

/// Record that marks accelerators (`EICOMPAT_ATTR_CUDA_ACCELERATOR_TARGET`).
const ACCELERATOR_TARGET: u8 = 0x09;

/// Name of the note with the options of the assembler.
const TOOL_NOTE: &str = ".note.nv.tkinfo";

/// Architecture of a cubin, with the suffix of its name. A damaged section becomes a warning, because the number alone
/// decides how the code is read.
pub(crate) fn architecture(
    elf: &Elf<'_>,
    warnings: &mut Vec<Diagnostic>,
) -> Result<Sm, Diagnostic> {
    let sm = flags::architecture(&elf.header)?;
    if sm.reach != SmReach::Generation {
        return Ok(sm);
    }
    let find = |name: &str| elf.sections.iter().find(|section| section.name == name);
    let reach = match has_accelerators(elf, find(COMPAT)) {
        Ok(true) => SmReach::Alone,
        Ok(false) => stated_reach(elf, find(TOOL_NOTE), sm.number),
        Err(damage) => {
            warnings.push(damage);
            SmReach::Generation
        }
    };
    Ok(Sm { reach, ..sm })
}

/// Whether a record of `.nv.compat` marks accelerators.
fn has_accelerators(elf: &Elf<'_>, compat: Option<&Section<'_>>) -> Result<bool, Diagnostic> {
    let Some(compat) = compat.filter(|section| section.has_contents()) else {
        return Ok(false);
    };
    // The records have the layout of attributes, with numbers of their own.
    let bytes = elf.peek(compat, 0, compat.size).unwrap_or_default();
    let records = attribute::parse_records(&bytes.to_vec().into(), compat.offset)?;
    Ok(records
        .iter()
        .any(|record| record.code == ACCELERATOR_TARGET && record.payload.first() == Some(&1)))
}

/// Suffix of the architecture with this number in the options of the assembler, `-arch sm_100f`.
fn stated_reach(elf: &Elf<'_>, note: Option<&Section<'_>>, number: u8) -> SmReach {
    let bytes = note.and_then(|note| elf.peek(note, 0, note.size));
    let bytes = bytes.unwrap_or_default();
    let option = format!("-arch sm_{number}{}", SmReach::Related.name());
    let is_stated = |window: &[u8]| window == option.as_bytes();
    match bytes.windows(option.len()).any(is_stated) {
        true => SmReach::Related,
        false => SmReach::Generation,
    }
}
