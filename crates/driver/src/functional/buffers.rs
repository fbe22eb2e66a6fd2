//! Buffers of a launch: where they lie, what they hold at the end.

use warpbound_base::Diagnostic;
use warpbound_load::{
    NpyArray, LaunchBuffer, LaunchFile, LaunchParam, Kernel, ParamValue, PointerPlace, demangle,
};
use warpbound_simulate::functional::{Buffer, GlobalMemory};

use super::{images, pointers};

/// Places the buffers of a launch in memory, in the order of [`LaunchFile::buffers`]; the bytes of each parameter.
pub(super) fn place(grid: &LaunchFile, memory: &mut GlobalMemory) -> Vec<Vec<u8>> {
    let mut addresses = Vec::with_capacity(grid.params.len());
    for param in &grid.params {
        addresses.push(match &param.value {
            ParamValue::Buffer(buffer) => memory.add(&param.name, buffer.bytes.clone()),
            _ => 0,
        });
    }
    for texels in &grid.texels {
        memory.add(&texels.name, texels.buffer.bytes.clone());
    }
    pointers::fill_buffers(grid, memory);
    let memory = &*memory;
    let object = |low: u32| u64::from(low).to_le_bytes().to_vec();
    let value = |(position, (param, own)): (usize, (&LaunchParam, &u64))| match &param.value {
        ParamValue::Scalar { bytes, .. } => {
            pointers::filled(bytes, PointerPlace::Param(position), grid, memory).into_owned()
        }
        ParamValue::Buffer(_) => own.to_le_bytes().to_vec(),
        ParamValue::Same { buffer, offset } => {
            let other = addresses.get(*buffer).copied().unwrap_or_default();
            other.wrapping_add(*offset).to_le_bytes().to_vec()
        }
        ParamValue::Texture(number) => object(images::texture_object(*number)),
        ParamValue::Surface(number) => object(images::surface_object(grid, *number)),
    };
    let params = grid.params.iter().zip(&addresses).enumerate();
    params.map(value).collect()
}

/// The buffers of a launch and the variables in global memory that it names, with what they hold.
fn ends<'a>(
    grid: &'a LaunchFile,
    memory: &'a GlobalMemory,
) -> impl Iterator<Item = (&'a str, &'a LaunchBuffer, &'a Buffer, PointerPlace)> {
    let params = grid.buffers().zip(memory.buffers()).enumerate();
    let params = params
        .map(|(number, ((name, buffer), end))| (name, buffer, end, PointerPlace::Buffer(number)));
    let variables = grid.variables.iter().enumerate();
    let variables = variables.filter_map(|(number, given)| {
        let is =
            |buffer: &&Buffer| buffer.name == given.name || demangle(&buffer.name) == given.name;
        // Behind the buffers, which may have the same names.
        let end = memory
            .buffers()
            .iter()
            .skip(grid.buffers().count())
            .find(is)?;
        let place = PointerPlace::Variable(number);
        Some((given.name.as_str(), &given.buffer, end, place))
    });
    params.chain(variables)
}

/// Buffers beside what the launch expects.
pub(crate) struct Compared {
    /// Elements that were compared.
    pub(crate) elements: usize,
    /// The first that is not as expected.
    pub(crate) unexpected: Option<Diagnostic>,
}

/// Compares buffers with what the launch expects.
pub(crate) fn compare(kernel: &Kernel, grid: &LaunchFile, memory: &GlobalMemory) -> Compared {
    let mut compared = Compared {
        elements: 0,
        unexpected: None,
    };
    for (name, buffer, found, place) in ends(grid, memory) {
        let (Some(expect), element) = (&buffer.expect, buffer.element) else {
            continue;
        };
        let size = element.size();
        // Addresses are expected where they stood.
        let wanted = pointers::filled(&expect.bytes, place, grid, memory);
        let pairs = || found.bytes.chunks(size).zip(wanted.chunks(size));
        compared.elements += pairs().count();
        let mut others = pairs()
            .enumerate()
            .filter(|(_, (found, expected))| !element.matches(found, expected, expect));
        if compared.unexpected.is_none()
            && let Some((index, (found, expected))) = others.next()
        {
            let mut what = format!(
                "{name}{} is {} at the end, not {}",
                indices(&buffer.shape, index),
                element.spell(found),
                element.spell(expected)
            );
            let (more, all) = (others.count(), pairs().count());
            if more > 0 {
                what.push_str(&format!(", and {more} more of {all} elements differ"));
            }
            let diagnostic = Diagnostic::new(what).in_kernel(kernel.demangled());
            compared.unexpected = Some(diagnostic.in_file(grid.file.as_str()));
        }
    }
    compared
}

/// The place of an element along each axis: `[2][0]`.
fn indices(shape: &[u64], index: usize) -> String {
    let mut rest = index as u64;
    let mut out = Vec::new();
    for &length in shape.iter().skip(1).rev() {
        out.push(format!("[{}]", rest % length.max(1)));
        rest /= length.max(1);
    }
    out.push(format!("[{rest}]"));
    out.reverse();
    out.concat()
}

/// The files that a launch wants: name as the launch file has it, NPY contents.
pub(crate) fn outputs<'a>(
    grid: &'a LaunchFile,
    memory: &'a GlobalMemory,
) -> impl Iterator<Item = (&'a str, Vec<u8>)> {
    ends(grid, memory).filter_map(|(_, buffer, end, _)| {
        let name = buffer.output.as_deref()?;
        let array = NpyArray {
            element: buffer.element,
            shape: buffer.shape.clone(),
            bytes: end.bytes.iter().take(buffer.bytes.len()).copied().collect(),
        };
        Some((name, array.to_npy()))
    })
}

#[cfg(test)]
mod tests {
    use super::indices;

    #[test]
    fn places_of_elements() {
        assert_eq!(indices(&[], 0), "[0]");
        assert_eq!(indices(&[7], 5), "[5]");
        assert_eq!(indices(&[2, 3], 5), "[1][2]");
        assert_eq!(indices(&[2, 3, 4], 23), "[1][2][3]");
    }
}
