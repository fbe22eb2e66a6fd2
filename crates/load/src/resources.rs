//! Registers, barriers and shared memory of a kernel, from the places where each version of cubins states them.
//!
//! For example, the number of barriers is in bits 20 and up of the code section's `sh_flags` up to CUDA 12, and in the
//! attribute `NUM_BARRIERS` from CUDA 13 on (experiment: `bar.sync 5` gives 6 in both).

use warpbound_base::{Diagnostic, SmFacts};

use crate::attribute::Attribute;
use crate::elf::{Section, fault};
use crate::flags::ABI_OF_CUDA_12;

/// Maximum number of general registers per thread on an NVIDIA GPU.
const MOST_REGISTERS: u32 = 255;

/// Number of barriers of the hardware.
const MOST_BARRIERS: u64 = 16;

/// A number that a kernel states, with a warning if two places of the file disagree about it.
#[derive(Debug)]
pub(crate) struct Stated<T> {
    pub(crate) value: T,
    pub(crate) warning: Option<Diagnostic>,
}

/// Registers per thread. `stated` is the attribute `REGCOUNT`: the linker counts the registers of the functions that a
/// kernel may call there only.
pub(crate) fn registers(
    facts: &SmFacts,
    section: &Section<'_>,
    stated: Option<u32>,
) -> Result<Stated<u16>, Diagnostic> {
    let impossible = stated.filter(|&stated| stated > MOST_REGISTERS);
    let possible = stated.filter(|&stated| stated <= MOST_REGISTERS);
    // From Hopper on, `sh_info` is the index of the function's symbol and nothing else.
    if !facts.has_registers_in_section {
        return match (possible, impossible) {
            (Some(stated), _) => Ok(Stated {
                value: to_u16(stated),
                warning: None,
            }),
            (None, Some(stated)) => Err(fault(
                section.offset,
                format!(
                    "attribute REGCOUNT states {stated} registers, at most {MOST_REGISTERS} exist"
                ),
            )),
            (None, None) => Err(fault(
                section.offset,
                "no attribute REGCOUNT states the registers of the function",
            )),
        };
    }
    let of_section = section.info >> 24;
    let contradicts = stated.filter(|&stated| stated < of_section || stated > MOST_REGISTERS);
    let warning = contradicts.map(|stated| {
        // A count beyond 16 bits is as impossible as this one.
        let stated = to_u16(stated);
        let message =
            format!("the section states {of_section} registers, attribute REGCOUNT {stated}");
        fault(section.offset, message)
    });
    // An impossible count is ignored because the section still states one that fits into eight bits.
    let value = to_u16(of_section.max(possible.unwrap_or_default()));
    Ok(Stated { value, warning })
}

/// Barriers in use: the highest index plus one. `stated` is the attribute `NUM_BARRIERS`, which kernels without a
/// barrier do not have.
pub(crate) fn barriers(
    abi_version: u8,
    section: &Section<'_>,
    stated: Option<&Attribute>,
) -> Result<Stated<u8>, Diagnostic> {
    let of_flags = section.flags >> 20;
    let of_attribute = stated.map(Attribute::number).transpose()?.map(u64::from);
    let is_in_flags = abi_version == ABI_OF_CUDA_12;
    let count = match is_in_flags {
        true => of_flags.max(of_attribute.unwrap_or_default()),
        false => of_attribute.unwrap_or_default(),
    };
    let value = u8::try_from(count)
        .ok()
        .filter(|&count| u64::from(count) <= MOST_BARRIERS);
    let value = value.ok_or_else(|| {
        let message =
            format!("the code section states {count} barriers, at most {MOST_BARRIERS} exist");
        match stated {
            Some(attribute) if of_attribute == Some(count) => attribute.fault(format_args!(
                "states {count}, at most {MOST_BARRIERS} exist"
            )),
            _ => fault(section.offset, message),
        }
    })?;
    let stray = (!is_in_flags && of_flags != 0).then(|| {
        let message =
            format!("bits 20 and up of the code section's flags are 0x{of_flags:x}, expected 0");
        fault(section.offset, message)
    });
    let differs = is_in_flags && of_attribute.is_some_and(|count| count != of_flags);
    let differs = differs.then(|| {
        let message = format!(
            "the code section states {of_flags} barriers, attribute NUM_BARRIERS {}",
            of_attribute.unwrap_or_default()
        );
        fault(section.offset, message)
    });
    Ok(Stated {
        value,
        warning: stray.or(differs),
    })
}

/// Static shared memory of a kernel in bytes, from the size of its sections: the kernel's own bytes, and the bytes of
/// the system before them. A section that is smaller than the system's part does not have it.
pub(crate) fn shared_memory(facts: &SmFacts, size: u32) -> (u32, u32) {
    match size.checked_sub(facts.reserved_shared) {
        Some(own) if size > 0 => (own, facts.reserved_shared),
        _ => (size, 0),
    }
}

/// Converts a number of registers; one beyond 16 bits saturates.
fn to_u16(count: u32) -> u16 {
    u16::try_from(count).unwrap_or(u16::MAX)
}
