//! Launch files of GPU kernels: grid, block, parameters, initial and expected contents of buffers.

mod compare;
mod data_range;
mod element;
mod fill;
mod half;
mod image;
mod npy;
mod number;
mod pointer;
mod read;
mod set;
mod vary;

use serde::Deserialize;
use warpbound_base::{Diagnostic, Named};

pub use compare::Expected;
pub use data_range::DataRange;
pub use element::ElementType;
pub use image::{ImageBinding, TexelLayout, TextureBinding};
pub use npy::NpyArray;
pub use pointer::{LaunchPointer, PointerLocation};
pub use set::{EndCondition, HostWrite, LaunchSet, Repetition, SetContents, SetLaunch};
pub use vary::Vary;

/// Function that reads a file that a launch file refers to, by its name there.
pub type ReadFile<'a> = dyn Fn(&str) -> Result<Vec<u8>, Diagnostic> + 'a;

/// A launch file: one launch of a grid.
#[derive(Clone, PartialEq, Debug)]
pub struct LaunchFile {
    /// Name of the file, for messages.
    pub file: String,
    /// Name of the kernel, if given.
    pub kernel: Option<String>,
    /// Blocks in x, y, z.
    pub grid: [u32; 3],
    /// Threads of a block in x, y, z.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory of a block.
    pub dynamic_shared: u32,
    /// Bytes of local memory of a thread, if given.
    pub stack: Option<u32>,
    /// Initial contents of the second-level cache in a run with time.
    pub caches: StartCaches,
    /// The parameters, by position.
    pub params: Vec<LaunchParam>,
    /// Initial contents of variables of the module (`cudaMemcpyToSymbol`), in the order of the file.
    pub variables: Vec<LaunchVariable>,
    /// Buffers that are not parameters, for texels.
    pub texels: Vec<TexelBuffer>,
    /// Textures.
    pub textures: Vec<TextureBinding>,
    /// Surfaces.
    pub surfaces: Vec<ImageBinding>,
    /// Addresses inside buffers, structures and variables.
    pub pointers: Vec<LaunchPointer>,
}

/// Initial contents of the second-level cache of the GPU.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StartCaches {
    /// Nothing.
    #[default]
    Cold,
    /// Buffers, constants and code.
    Warm,
}

impl Named for StartCaches {
    const ALL: &'static [(StartCaches, &'static str)] =
        &[(StartCaches::Cold, "cold"), (StartCaches::Warm, "warm")];
}

/// A variable of the module.
#[derive(Clone, PartialEq, Debug)]
pub struct LaunchVariable {
    /// Name, mangled or as in C++.
    pub name: String,
    /// Initial contents, from the first byte on.
    pub buffer: LaunchBuffer,
}

/// A buffer that is not a parameter.
#[derive(Clone, PartialEq, Debug)]
pub struct TexelBuffer {
    /// Name, distinct from the names of parameters.
    pub name: String,
    /// Its contents.
    pub buffer: LaunchBuffer,
}

/// A parameter of a launch.
#[derive(Clone, PartialEq, Debug)]
pub struct LaunchParam {
    /// Name for messages.
    pub name: String,
    /// Its value.
    pub value: ParamValue,
}

/// Value of a parameter.
#[derive(Clone, PartialEq, Debug)]
pub enum ParamValue {
    /// A number, or a structure, by its bytes.
    Scalar {
        /// The type of a number; `None` for structures.
        element: Option<ElementType>,
        /// Its bytes.
        bytes: Vec<u8>,
        /// Range of the number in similar launches (`vary`).
        vary: Option<Vary>,
    },
    /// A buffer of global memory; the parameter is its address.
    Buffer(LaunchBuffer),
    /// An address in the buffer of another parameter, or in a buffer that is no parameter.
    Alias {
        /// The buffer, as index in [`LaunchFile::buffers`].
        buffer: usize,
        /// Byte offset in the buffer, at most its size.
        offset: u64,
    },
    /// The object of a texture, by its index in [`LaunchFile::textures`].
    Texture(usize),
    /// The object of a surface, by its index in [`LaunchFile::surfaces`].
    Surface(usize),
}

/// A buffer of global memory.
#[derive(Clone, PartialEq, Debug)]
pub struct LaunchBuffer {
    /// Type of an element.
    pub element: ElementType,
    /// Number of elements along each axis.
    pub shape: Vec<u64>,
    /// Initial contents.
    pub bytes: Vec<u8>,
    /// Expected final contents, if given.
    pub expect: Option<Expected>,
    /// Name of the NPY file to which the final contents are written, if given.
    pub output: Option<String>,
    /// Range of the numbers that the kernel loads from it, if stated (`range`).
    pub range: Option<DataRange>,
}

impl LaunchFile {
    /// Whether a parameter varies among the launches that the file is about (`vary`).
    pub fn varies(&self) -> bool {
        self.params
            .iter()
            .any(|param| matches!(param.value, ParamValue::Scalar { vary: Some(_), .. }))
    }

    /// Returns the launch with the stated values of its parameters; none varies.
    #[must_use]
    pub fn as_one(&self) -> LaunchFile {
        let mut one = self.clone();
        for param in &mut one.params {
            if let ParamValue::Scalar { vary, .. } = &mut param.value {
                *vary = None;
            }
        }
        one
    }

    /// Largest size of all buffers together, in bytes.
    pub const MAX_BYTES: u64 = 1 << 31;

    /// Largest local memory of a thread in bytes (CUDA C++ Programming Guide, technical specifications).
    pub const MAX_STACK: u32 = 512 << 10;

    /// Largest number of parameters: CUDA's limit is 4 KiB, and each has at least one byte.
    pub const MAX_PARAMS: u32 = 4096;

    /// Whether a parameter or a variable is or contains the address of a buffer.
    pub fn has_addresses(&self) -> bool {
        let is_address = |param: &LaunchParam| {
            matches!(
                param.value,
                ParamValue::Buffer(_) | ParamValue::Alias { .. }
            )
        };
        !self.pointers.is_empty() || self.params.iter().any(is_address)
    }

    /// Returns the buffers with their names: first the buffers of parameters, by position, then the others.
    pub fn buffers(&self) -> impl Iterator<Item = (&str, &LaunchBuffer)> {
        let params = self.params.iter().filter_map(|param| match &param.value {
            ParamValue::Buffer(buffer) => Some((param.name.as_str(), buffer)),
            _ => None,
        });
        let others = self.texels.iter();
        params.chain(others.map(|other| (other.name.as_str(), &other.buffer)))
    }
}
