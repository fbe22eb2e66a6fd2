//! Reading of the pointers of a launch file, which must stay in their objects.

use serde::Deserialize;
use toml::Spanned;
use warpbound_base::Diagnostic;

use crate::file::{LaunchFile, LaunchPointer, ParamValue, PointerLocation};

/// Size of an address in bytes.
const SIZE: u64 = 8;

/// A `[[pointer]]` of the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::file) struct RawPointer {
    #[serde(rename = "in")]
    place: String,
    #[serde(default)]
    offset: u64,
    to: String,
    #[serde(default)]
    to_offset: u64,
    count: Option<u64>,
    step: Option<u64>,
    #[serde(default)]
    to_step: u64,
}

/// Reads the pointers of a launch whose parameters, buffers and variables are known.
///
/// # Errors
///
/// The error, and the byte of the file to which it applies.
pub(in crate::file) fn read(
    all: &[Spanned<RawPointer>],
    launch: &LaunchFile,
) -> Result<Vec<LaunchPointer>, (Diagnostic, usize)> {
    let mut pointers = Vec::with_capacity(all.len());
    for raw in all {
        let (at, raw) = (raw.span().start, raw.get_ref());
        let pointer = raw.read(launch).map_err(|mut diagnostic| {
            diagnostic.message = format!("pointer in {}: {}", raw.place, diagnostic.message);
            (diagnostic, at)
        })?;
        pointers.push(pointer);
    }
    Ok(pointers)
}

impl RawPointer {
    /// Reads a pointer and checks that its addresses and targets are in bounds.
    fn read(&self, launch: &LaunchFile) -> Result<LaunchPointer, Diagnostic> {
        let fail = |message: String| Err(Diagnostic::new(message));
        let (location, size) = find_object(launch, &self.place)?;
        let mut buffers = launch.buffers().enumerate();
        let Some((buffer, (_, target))) = buffers.find(|(_, (name, _))| *name == self.to) else {
            let message = Diagnostic::new(format!("there is no buffer {}", self.to));
            return Err(message.hint("it points into a parameter or [[buffer]] of this name"));
        };
        let (count, step) = (self.count.unwrap_or(1), self.step.unwrap_or(SIZE));
        // Addresses that are closer would overwrite each other.
        if count == 0 || step < SIZE {
            return fail(format!(
                "{count} addresses, {step} bytes apart; there must be one at least, and {SIZE} bytes for each"
            ));
        }
        // The file may state any numbers, so sums and products are checked.
        let last = |offset: u64, step: u64| (count - 1).checked_mul(step)?.checked_add(offset);
        let end = last(self.offset, step).and_then(|last| last.checked_add(SIZE));
        if end.is_none_or(|end| end > size) {
            return fail(format!(
                "from byte {} on there is no space for {count} of {SIZE} bytes: {} has {size}",
                self.offset, self.place
            ));
        }
        let target_size = target.bytes.len() as u64;
        // An address one past the end is valid, as in C.
        if last(self.to_offset, self.to_step).is_none_or(|last| last > target_size) {
            return fail(format!(
                "it points past the end of {}, which has {target_size} bytes",
                self.to
            ));
        }
        Ok(LaunchPointer {
            location,
            offset: self.offset,
            buffer,
            to_offset: self.to_offset,
            count,
            step,
            to_step: self.to_step,
        })
    }
}

/// Finds the object with a name, and its size in bytes.
fn find_object(launch: &LaunchFile, name: &str) -> Result<(PointerLocation, u64), Diagnostic> {
    let mut found = Vec::new();
    for (position, param) in launch.params.iter().enumerate() {
        if let ParamValue::Scalar {
            element: None,
            bytes,
            ..
        } = &param.value
            && param.name == name
        {
            found.push((PointerLocation::Param(position), bytes.len()));
        }
    }
    for (number, (other, buffer)) in launch.buffers().enumerate() {
        if other == name {
            found.push((PointerLocation::Buffer(number), buffer.bytes.len()));
        }
    }
    for (number, variable) in launch.variables.iter().enumerate() {
        if variable.name == name {
            found.push((
                PointerLocation::Variable(number),
                variable.buffer.bytes.len(),
            ));
        }
    }
    match found.as_slice() {
        [(location, size)] => Ok((*location, *size as u64)),
        [] => {
            let message = Diagnostic::new("nothing of this name holds addresses");
            Err(message.hint("it is a buffer, a [[variable]], or a parameter with fields or bytes"))
        }
        _ => Err(Diagnostic::new(
            "a variable and something else have this name",
        )),
    }
}
