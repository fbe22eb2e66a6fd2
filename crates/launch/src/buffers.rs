//! Buffers of a launch: placement, comparison with the expected contents, output files.

use warpbound_base::Diagnostic;
use warpbound_load::demangle;

use crate::file::{LaunchBuffer, LaunchFile, LaunchParam, NpyArray, ParamValue, PointerLocation};
use crate::memory::{Buffer, GlobalMemory};
use crate::{bindings, pointers};

/// Places the buffers of a launch in memory, in the order of [`LaunchFile::buffers`]; returns the bytes of each
/// parameter.
pub(super) fn place(file: &LaunchFile, memory: &mut GlobalMemory) -> Vec<Vec<u8>> {
    let mut addresses = Vec::with_capacity(file.params.len());
    for param in &file.params {
        addresses.push(match &param.value {
            ParamValue::Buffer(buffer) => memory.add(&param.name, buffer.bytes.clone()),
            // Not used: only a buffer has an address of its own.
            _ => 0,
        });
    }
    for texels in &file.texels {
        memory.add(&texels.name, texels.buffer.bytes.clone());
    }
    // A pointer may refer to any buffer, so all buffers have their addresses first.
    pointers::fill_buffers(file, memory);
    let memory = &*memory;
    let object = |low: u32| u64::from(low).to_le_bytes().to_vec();
    let value = |(position, (param, own)): (usize, (&LaunchParam, &u64))| match &param.value {
        ParamValue::Scalar { bytes, .. } => {
            pointers::with_pointers(bytes, PointerLocation::Param(position), file, memory)
                .into_owned()
        }
        ParamValue::Buffer(_) => own.to_le_bytes().to_vec(),
        ParamValue::Alias { buffer, offset } => {
            let other = memory
                .buffers()
                .get(*buffer)
                .map_or(0, |placed| placed.address);
            other.wrapping_add(*offset).to_le_bytes().to_vec()
        }
        ParamValue::Texture(number) => object(bindings::texture_object(*number)),
        ParamValue::Surface(number) => object(bindings::surface_object(file, *number)),
    };
    let params = file.params.iter().zip(&addresses).enumerate();
    params.map(value).collect()
}

/// Returns the buffers of a launch and the global variables that it names, each with its final bytes.
fn final_contents<'a>(
    file: &'a LaunchFile,
    memory: &'a GlobalMemory,
) -> impl Iterator<Item = (&'a str, &'a LaunchBuffer, &'a [u8], PointerLocation)> {
    let params = file.buffers().zip(memory.buffers()).enumerate();
    let params = params.map(|(number, ((name, buffer), end))| {
        (
            name,
            buffer,
            end.bytes.as_slice(),
            PointerLocation::Buffer(number),
        )
    });
    let variables = file.variables.iter().enumerate();
    let variables = variables.filter_map(|(number, given)| {
        let has_name =
            |buffer: &&Buffer| buffer.name == given.name || demangle(&buffer.name) == given.name;
        let mut inner = memory.inner();
        let inner = inner.find(|(variable, _)| variable.name == given.name);
        // Variables follow the buffers in memory; a buffer may have the same name.
        let mut own = memory.buffers().iter().skip(file.buffers().count());
        let end = match inner {
            Some((_, bytes)) => bytes,
            // A variable in constant memory has no final contents.
            None => own.find(has_name)?.bytes.as_slice(),
        };
        let location = PointerLocation::Variable(number);
        Some((given.name.as_str(), &given.buffer, end, location))
    });
    params.chain(variables)
}

/// Result of a comparison of buffers with their expected contents.
#[derive(Default)]
pub struct BufferComparison {
    /// Number of compared elements.
    pub elements: usize,
    /// Diagnostic of the first element that differs.
    pub mismatch: Option<Diagnostic>,
}

/// Compares the final contents of buffers with the expected contents of the launch file.
pub fn compare_buffers(file: &LaunchFile, memory: &GlobalMemory) -> BufferComparison {
    let mut compared = BufferComparison {
        elements: 0,
        mismatch: None,
    };
    for (name, buffer, found, location) in final_contents(file, memory) {
        let (Some(expect), element) = (&buffer.expect, buffer.element) else {
            continue;
        };
        let size = element.size();
        // The kernel must leave the pointers as they were.
        let expected = pointers::with_pointers(&expect.bytes, location, file, memory);
        let pairs = || found.chunks(size).zip(expected.chunks(size));
        compared.elements += pairs().count();
        let mut mismatches = pairs()
            .enumerate()
            .filter(|(_, (found, expected))| !element.matches(found, expected, expect));
        if compared.mismatch.is_none()
            && let Some((index, (found, expected))) = mismatches.next()
        {
            let mut message = format!(
                "{name}{} is {} at the end, not {}",
                indices(&buffer.shape, index),
                element.format_value(found),
                element.format_value(expected)
            );
            let (more, all) = (mismatches.count(), pairs().count());
            if more > 0 {
                message.push_str(&format!(", and {more} more of {all} elements differ"));
            }
            compared.mismatch = Some(Diagnostic::new(message).in_file(file.file.as_str()));
        }
    }
    compared
}

/// Index of an element along each axis: for example, element 5 of the shape [2, 3] is `[1][2]`.
fn indices(shape: &[u64], index: usize) -> String {
    let mut rest = index as u64;
    let mut out = Vec::new();
    // From the last axis, along which elements follow each other.
    for &length in shape.iter().skip(1).rev() {
        out.push(format!("[{}]", rest % length.max(1)));
        rest /= length.max(1);
    }
    out.push(format!("[{rest}]"));
    out.reverse();
    out.concat()
}

/// Contents of a buffer or variable at the end of a launch.
#[derive(Clone, Debug)]
pub struct FinalArray<'a> {
    /// Name of the buffer or variable in the launch file.
    pub name: &'a str,
    /// Whether it is a variable of the module.
    pub is_variable: bool,
    /// The contents, in the shape that the launch file states.
    pub array: NpyArray,
}

/// Returns the contents of the buffers of a launch and of the variables that it names, at the end.
pub fn final_arrays<'a>(
    file: &'a LaunchFile,
    memory: &'a GlobalMemory,
) -> impl Iterator<Item = FinalArray<'a>> {
    final_contents(file, memory).map(|(name, buffer, end, location)| FinalArray {
        name,
        is_variable: matches!(location, PointerLocation::Variable(_)),
        array: array(buffer, end),
    })
}

/// Returns the output files of a launch: name in the launch file, and NPY contents.
pub fn output_files<'a>(
    file: &'a LaunchFile,
    memory: &'a GlobalMemory,
) -> impl Iterator<Item = (&'a str, Vec<u8>)> {
    final_contents(file, memory).filter_map(|(_, buffer, end, _)| {
        let name = buffer.output.as_deref()?;
        Some((name, array(buffer, end).to_npy()))
    })
}

/// Returns the final bytes of a buffer as an array of its shape.
fn array(buffer: &LaunchBuffer, end: &[u8]) -> NpyArray {
    NpyArray {
        element: buffer.element,
        shape: buffer.shape.clone(),
        // A variable may be larger than the contents that the launch file gives.
        bytes: end.iter().take(buffer.bytes.len()).copied().collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::indices;

    #[test]
    fn indices_of_elements() {
        assert_eq!(indices(&[], 0), "[0]");
        assert_eq!(indices(&[7], 5), "[5]");
        assert_eq!(indices(&[2, 3], 5), "[1][2]");
        assert_eq!(indices(&[2, 3, 4], 23), "[1][2][3]");
    }
}
