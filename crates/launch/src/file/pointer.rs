//! Addresses of buffers inside buffers, structures and variables.

use serde::Deserialize;
use toml::Spanned;
use warpbound_base::Diagnostic;

use super::{LaunchFile, ParamValue};

/// Bytes of an address.
const SIZE: u64 = 8;

/// Addresses that the launch writes before the kernel begins: `count` of them, the first to byte `to_offset` of a buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LaunchPointer {
    /// Where they stand.
    pub location: PointerLocation,
    /// The byte there at which the first begins.
    pub offset: u64,
    /// The number of the buffer they point into, among [`LaunchFile::buffers`].
    pub buffer: usize,
    /// The byte of that buffer to which the first points; at most its size.
    pub to_offset: u64,
    /// The number of pointers.
    pub count: u64,
    /// Bytes from the beginning of one to that of the next.
    pub step: u64,
    /// Bytes from where one points to where the next does.
    pub to_step: u64,
}

/// Where addresses stand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PointerLocation {
    /// In a parameter of this position, a structure that is passed by value.
    Param(usize),
    /// In a buffer of this number among [`LaunchFile::buffers`].
    Buffer(usize),
    /// In a variable of this number among [`LaunchFile::variables`].
    Variable(usize),
}

impl LaunchPointer {
    /// The byte at which each begins, and the byte of the buffer to which it points.
    pub fn addresses(&self) -> impl Iterator<Item = (u64, u64)> + use<> {
        let LaunchPointer {
            offset,
            to_offset,
            step,
            to_step,
            ..
        } = *self;
        // All of them have been found to lie inside.
        (0..self.count).map(move |n| (offset + n * step, to_offset + n * to_step))
    }
}

/// Addresses of the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawPointer {
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

/// The addresses of a launch whose parameters, buffers and variables are known.
///
/// # Errors
///
/// The error, and the byte of the file.
pub(super) fn read(
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
    fn read(&self, launch: &LaunchFile) -> Result<LaunchPointer, Diagnostic> {
        let fail = |message: String| Err(Diagnostic::new(message));
        let (place, room) = place(launch, &self.place)?;
        let mut buffers = launch.buffers().enumerate();
        let Some((buffer, (_, target))) = buffers.find(|(_, (name, _))| *name == self.to) else {
            let message = Diagnostic::new(format!("there is no buffer {}", self.to));
            return Err(message.hint("a parameter or [[buffer]] of this name is what it points into"));
        };
        let (count, step) = (self.count.unwrap_or(1), self.step.unwrap_or(SIZE));
        if count == 0 || step < SIZE {
            return fail(format!(
                "{count} addresses, {step} bytes apart; there must be one at least, and {SIZE} bytes for each"
            ));
        }
        let last = |offset: u64, step: u64| (count - 1).checked_mul(step)?.checked_add(offset);
        let end = last(self.offset, step).and_then(|last| last.checked_add(SIZE));
        if end.is_none_or(|end| end > room) {
            return fail(format!(
                "from byte {} on there is no room for {count} of {SIZE} bytes: {} has {room}",
                self.offset, self.place
            ));
        }
        let size = target.bytes.len() as u64;
        if last(self.to_offset, self.to_step).is_none_or(|last| last > size) {
            return fail(format!(
                "it points behind the end of {}, which has {size} bytes",
                self.to
            ));
        }
        Ok(LaunchPointer {
            location: place,
            offset: self.offset,
            buffer,
            to_offset: self.to_offset,
            count,
            step,
            to_step: self.to_step,
        })
    }
}

/// The object of a name, and its bytes.
fn place(launch: &LaunchFile, name: &str) -> Result<(PointerLocation, u64), Diagnostic> {
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
            found.push((PointerLocation::Variable(number), variable.buffer.bytes.len()));
        }
    }
    match found.as_slice() {
        [(place, size)] => Ok((*place, *size as u64)),
        [] => {
            let message = Diagnostic::new("nothing of this name holds addresses");
            Err(message.hint("it is a buffer, a [[variable]], or a parameter with fields or bytes"))
        }
        _ => Err(Diagnostic::new(
            "a variable and something else have this name",
        )),
    }
}
