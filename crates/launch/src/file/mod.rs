//! Launch files of GPU kernels: grid, block, parameters, what buffers hold before and after.

mod compare;
mod element;
mod fill;
mod image;
mod npy;
mod number;
mod param;
mod pointer;
mod vary;

use serde::Deserialize;
use toml::Spanned;
use warpbound_base::{Diagnostic, Named};

pub use compare::Expected;
pub use element::ElementType;
pub use image::{ImageBinding, TexelLayout, TextureBinding};
pub use npy::NpyArray;
pub use pointer::{LaunchPointer, PointerLocation};
pub use vary::Vary;

use image::{RawSurface, RawTexture};
use param::{Content, RawParam, Reading};
use pointer::RawPointer;

/// Gives the contents of a file that a launch file names, by the name that stands there.
pub type ReadFile<'a> = dyn Fn(&str) -> Result<Vec<u8>, Diagnostic> + 'a;

/// A launch of a grid.
#[derive(Clone, PartialEq, Debug)]
pub struct LaunchFile {
    /// The file's name.
    pub file: String,
    /// The kernel, when the file names one.
    pub kernel: Option<String>,
    /// Blocks in x, y, z.
    pub grid: [u32; 3],
    /// Threads of a block in x, y, z.
    pub block: [u32; 3],
    /// Bytes of shared memory that the launch adds.
    pub dynamic_shared: u32,
    /// Bytes of local memory of a thread, where the file says so.
    pub stack: Option<u32>,
    /// What is in the second-level cache at the start of a run with time.
    pub caches: StartCaches,
    /// The parameters, by position.
    pub params: Vec<LaunchParam>,
    /// What variables of the module hold (`cudaMemcpyToSymbol`), in the order of the file.
    pub variables: Vec<LaunchVariable>,
    /// Buffers that are no parameters, for texels.
    pub texels: Vec<TexelBuffer>,
    /// Textures.
    pub textures: Vec<TextureBinding>,
    /// Surfaces.
    pub surfaces: Vec<ImageBinding>,
    /// Addresses inside buffers, structures and variables.
    pub pointers: Vec<LaunchPointer>,
}

/// What is in the second-level cache of the GPU when a kernel begins.
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
    /// Its name, mangled or as in C++.
    pub name: String,
    /// What it holds, from its first byte on.
    pub buffer: LaunchBuffer,
}

/// A buffer that is no parameter.
#[derive(Clone, PartialEq, Debug)]
pub struct TexelBuffer {
    /// Its name, other than those of parameters.
    pub name: String,
    /// The numbers.
    pub buffer: LaunchBuffer,
}

/// A parameter of a launch.
#[derive(Clone, PartialEq, Debug)]
pub struct LaunchParam {
    /// The name that messages use.
    pub name: String,
    /// What it is.
    pub value: ParamValue,
}

/// What a parameter is.
#[derive(Clone, PartialEq, Debug)]
pub enum ParamValue {
    /// A number, or a structure, by its bytes.
    Scalar {
        /// The type of a number; `None` for structures.
        element: Option<ElementType>,
        /// Its bytes.
        bytes: Vec<u8>,
        /// Between which numbers it may lie in launches like this one (`vary`).
        vary: Option<Vary>,
    },
    /// A buffer of global memory; the parameter is its address.
    Buffer(LaunchBuffer),
    /// An address in the buffer of another parameter.
    Alias {
        /// The position of that parameter, which is a [`ParamValue::Buffer`].
        buffer: usize,
        /// Bytes from the beginning of the buffer, at most its size.
        offset: u64,
    },
    /// The object of a texture, by its number among [`LaunchFile::textures`].
    Texture(usize),
    /// The object of a surface, by its number among [`LaunchFile::surfaces`].
    Surface(usize),
}

/// A buffer of global memory.
#[derive(Clone, PartialEq, Debug)]
pub struct LaunchBuffer {
    /// The type of an element.
    pub element: ElementType,
    /// The number of elements along each axis.
    pub shape: Vec<u64>,
    /// What it holds at the start.
    pub bytes: Vec<u8>,
    /// What it holds at the end, when the file says so.
    pub expect: Option<Expected>,
    /// The NPY file to which it is written at the end, as the launch file names it.
    pub output: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    kernel: Option<String>,
    grid: Spanned<Vec<u32>>,
    block: Spanned<Vec<u32>>,
    #[serde(default)]
    dynamic_shared: u32,
    stack: Option<Spanned<u32>>,
    #[serde(default)]
    caches: StartCaches,
    #[serde(default)]
    param: Vec<Spanned<RawParam>>,
    #[serde(default)]
    variable: Vec<Spanned<RawParam>>,
    #[serde(default)]
    buffer: Vec<Spanned<RawParam>>,
    #[serde(default)]
    texture: Vec<Spanned<RawTexture>>,
    #[serde(default)]
    surface: Vec<Spanned<RawSurface>>,
    #[serde(default)]
    pointer: Vec<Spanned<RawPointer>>,
}

impl LaunchFile {
    /// The most bytes of all buffers.
    pub const MAX_BYTES: u64 = 1 << 31;

    /// The most bytes of local memory of a thread, as on GPUs.
    pub const MAX_STACK: u32 = 512 << 10;

    /// The most parameters: as many as fit into the 4 KiB that CUDA has for them.
    pub const MAX_PARAMS: u32 = 4096;

    /// Reads a launch file; `file` is its name in messages, `files` gives the contents of those that it names.
    ///
    /// # Errors
    ///
    /// One line naming file, line and cause.
    pub fn parse(file: &str, text: &str, files: &ReadFile<'_>) -> Result<LaunchFile, Diagnostic> {
        let raw: Raw = toml::from_str(text).map_err(|error| {
            let at = error.span().map(|span| span.start);
            Diagnostic::for_text(file, text, error.message(), at)
        })?;
        let at = |diagnostic: Diagnostic, byte: usize| diagnostic.at_byte(text, byte).in_file(file);
        let size = |name: &str, given: &Spanned<Vec<u32>>, axes: [u32; 3], most: u64| {
            size(name, given.get_ref(), axes, most).map_err(|d| at(d, given.span().start))
        };
        let (grid, block) = (
            size(
                "grid",
                &raw.grid,
                [i32::MAX as u32, 65_535, 65_535],
                1 << 31,
            )?,
            size("block", &raw.block, [1024, 1024, 64], 1024)?,
        );
        let stack = match &raw.stack {
            Some(stack) if *stack.get_ref() > LaunchFile::MAX_STACK => {
                let most = LaunchFile::MAX_STACK;
                let message = format!("stack has {} bytes, at most {most}", stack.get_ref());
                return Err(at(Diagnostic::new(message), stack.span().start));
            }
            stack => stack.as_ref().map(|stack| *stack.get_ref()),
        };
        let mut reading = Reading::new(files);
        reading.textures = raw.texture.iter().map(|t| t.get_ref().name()).collect();
        reading.surfaces = raw.surface.iter().map(|s| s.get_ref().name()).collect();
        let mut placed = Vec::new();
        let mut next = 0u32;
        for param in &raw.param {
            let (span, raw) = (param.span().start, param.get_ref());
            let position = match &raw.position {
                None => next,
                Some(position) => *position.get_ref(),
            };
            if position >= LaunchFile::MAX_PARAMS {
                let most = LaunchFile::MAX_PARAMS;
                let message = format!("position {position} is beyond the {most} that there can be");
                return Err(at(Diagnostic::new(message), span));
            }
            next = position + 1;
            let name = raw.name.clone().unwrap_or_else(|| position.to_string());
            let content = raw.read(&mut reading).map_err(|(mut diagnostic, byte)| {
                diagnostic.message = format!("parameter {name}: {}", diagnostic.message);
                at(diagnostic, byte.unwrap_or(span))
            })?;
            placed.push(Placed {
                position,
                span,
                name,
                content,
            });
        }
        let mut variables: Vec<LaunchVariable> = Vec::new();
        for variable in &raw.variable {
            let (span, raw) = (variable.span().start, variable.get_ref());
            let Some(name) = raw.name.clone() else {
                let message = Diagnostic::new("a variable has no name");
                return Err(at(message, span));
            };
            let fault = |mut diagnostic: Diagnostic, byte: Option<usize>| {
                diagnostic.message = format!("variable {name}: {}", diagnostic.message);
                at(diagnostic, byte.unwrap_or(span))
            };
            if variables.iter().any(|other| other.name == name) {
                return Err(fault(Diagnostic::new("it is there twice"), None));
            }
            let content = raw.read(&mut reading).map_err(|(d, byte)| fault(d, byte))?;
            let (Content::Value(ParamValue::Buffer(buffer)), None) = (content, &raw.position)
            else {
                let message = Diagnostic::new("it is no buffer")
                    .hint("give it a type, and values, a file or a shape");
                return Err(fault(message, None));
            };
            variables.push(LaunchVariable { name, buffer });
        }
        let params = in_order(placed).map_err(|(diagnostic, span)| at(diagnostic, span))?;
        let mut launch = LaunchFile {
            file: file.to_owned(),
            grid,
            block,
            kernel: raw.kernel,
            dynamic_shared: raw.dynamic_shared,
            stack,
            caches: raw.caches,
            params,
            variables,
            texels: Vec::new(),
            textures: Vec::new(),
            surfaces: Vec::new(),
            pointers: Vec::new(),
        };
        for raw in &raw.buffer {
            let span = raw.span().start;
            let texels = launch.texels(raw.get_ref(), &mut reading);
            let texels = texels.map_err(|(message, byte)| at(message, byte.unwrap_or(span)))?;
            launch.texels.push(texels);
        }
        let buffers: Vec<(&str, &LaunchBuffer)> = launch.buffers().collect();
        let images = image::read(&raw.texture, &raw.surface, &buffers);
        (launch.textures, launch.surfaces) = images.map_err(|(d, span)| at(d, span))?;
        let pointers = pointer::read(&raw.pointer, &launch);
        launch.pointers = pointers.map_err(|(d, span)| at(d, span))?;
        Ok(launch)
    }

    /// A buffer that is no parameter.
    fn texels(
        &self,
        raw: &RawParam,
        reading: &mut Reading<'_>,
    ) -> Result<TexelBuffer, param::Fault> {
        let Some(name) = raw.name.clone() else {
            return Err((Diagnostic::new("a buffer has no name"), None));
        };
        let within = |(mut diagnostic, byte): param::Fault| {
            diagnostic.message = format!("buffer {name}: {}", diagnostic.message);
            (diagnostic, byte)
        };
        let fail = |message: &str| Err(within((Diagnostic::new(message), None)));
        if self.params.iter().any(|param| param.name == name)
            || self.texels.iter().any(|other| other.name == name)
        {
            return fail("another buffer or parameter has this name");
        }
        if raw.position.is_some() {
            return fail("it is no parameter, so it has no position");
        }
        let Content::Value(ParamValue::Buffer(buffer)) = raw.read(reading).map_err(within)? else {
            return fail("it is no buffer");
        };
        let mut outputs = self
            .buffers()
            .filter_map(|(_, other)| other.output.as_ref());
        if outputs.any(|other| Some(other) == buffer.output.as_ref()) {
            return fail("another buffer is written to its output");
        }
        Ok(TexelBuffer { name, buffer })
    }

    /// The buffers with their names: those that are parameters of their own, by position, then the others.
    pub fn buffers(&self) -> impl Iterator<Item = (&str, &LaunchBuffer)> {
        let params = self.params.iter().filter_map(|param| match &param.value {
            ParamValue::Buffer(buffer) => Some((param.name.as_str(), buffer)),
            _ => None,
        });
        let others = self.texels.iter();
        params.chain(others.map(|other| (other.name.as_str(), &other.buffer)))
    }
}

/// A parameter that has been read.
struct Placed {
    position: u32,
    /// Where it begins in the file, in bytes.
    span: usize,
    name: String,
    content: Content,
}

/// Parameters by position; each position and each name is there once.
fn in_order(mut placed: Vec<Placed>) -> Result<Vec<LaunchParam>, (Diagnostic, usize)> {
    placed.sort_by_key(|param| param.position);
    for (expected, param) in (0..).zip(&placed) {
        if param.position > expected {
            let message = format!("there is no parameter at position {expected}");
            let hint = format!("{} is the next, at {}", param.name, param.position);
            return Err((Diagnostic::new(message).hint(hint), param.span));
        }
        if param.position < expected {
            let others = placed.iter().filter(|p| p.position == param.position);
            let names: Vec<&str> = others.map(|p| p.name.as_str()).collect();
            let message = format!(
                "{} are both at position {}",
                names.join(" and "),
                param.position
            );
            return Err((Diagnostic::new(message), param.span));
        }
        let earlier = placed.iter().take(expected as usize);
        if earlier.into_iter().any(|other| other.name == param.name) {
            let message = format!("two parameters have the name {}", param.name);
            return Err((Diagnostic::new(message), param.span));
        }
    }
    let mut outputs: Vec<&str> = Vec::new();
    for param in &placed {
        if let Content::Value(ParamValue::Buffer(buffer)) = &param.content
            && let Some(output) = &buffer.output
        {
            if outputs.contains(&output.as_str()) {
                let message = format!(
                    "parameter {}: another one is written to {output}",
                    param.name
                );
                return Err((Diagnostic::new(message), param.span));
            }
            outputs.push(output);
        }
    }
    let shared = |of: &str, offset: u64, own: &Placed| {
        let fail = |message: String| {
            let message = format!("parameter {}: {message}", own.name);
            Err((Diagnostic::new(message), own.span))
        };
        let Some(buffer) = placed.iter().position(|other| other.name == of) else {
            return fail(format!("there is no parameter {of}"));
        };
        match placed.get(buffer).map(|other| &other.content) {
            Some(Content::Value(ParamValue::Buffer(other))) => match other.bytes.len() as u64 {
                size if offset <= size => Ok(ParamValue::Alias { buffer, offset }),
                size => fail(format!(
                    "byte {offset} is behind the end of {of}, which has {size}"
                )),
            },
            _ => fail(format!("{of} is no buffer of its own")),
        }
    };
    let mut values = Vec::with_capacity(placed.len());
    for param in &placed {
        values.push(match &param.content {
            Content::Value(_) => None,
            Content::Same { of, offset } => Some(shared(of, *offset, param)?),
        });
    }
    let params = placed.into_iter().zip(values);
    Ok(params
        .filter_map(|(param, shared)| {
            let value = match param.content {
                Content::Value(value) => value,
                Content::Same { .. } => shared?,
            };
            Some(LaunchParam {
                name: param.name,
                value,
            })
        })
        .collect())
}

/// One to three numbers, the others 1; `most` is the most that their product may be.
/// A size in x, y and z: the numbers that are given, then 1. `axes` and `most` are the limits of CUDA for compute
/// capability 5.0 to 6.2, or our own.
fn size(name: &str, given: &[u32], axes: [u32; 3], most: u64) -> Result<[u32; 3], Diagnostic> {
    let mut size = [1u32; 3];
    if given.len() > 3 || given.is_empty() {
        let message = format!("{name} has {} numbers, not 1 to 3", given.len());
        return Err(Diagnostic::new(message));
    }
    for (to, from) in size.iter_mut().zip(given) {
        *to = *from;
    }
    for ((axis, &most), &n) in ["x", "y", "z"].iter().zip(&axes).zip(&size) {
        if n > most {
            let message = format!("{name} has {n} elements in {axis}, at most {most}");
            return Err(Diagnostic::new(message));
        }
    }
    let all = size.iter().fold(1u64, |n, &d| n.saturating_mul(d.into()));
    match (1..=most).contains(&all) {
        true => Ok(size),
        false => Err(Diagnostic::new(format!(
            "{name} has {all} elements, not 1 to {most}"
        ))),
    }
}
