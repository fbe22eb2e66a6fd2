//! Launch files of GPU kernels: grid, block, parameters, what buffers hold before and after.

mod compare;
mod element;
mod fill;
mod half;
mod npy;
mod number;
mod param;
mod vary;

use serde::Deserialize;
use toml::Spanned;
use warpbound_base::Diagnostic;

pub use compare::Expected;
pub use element::Element;
pub use npy::Array;
pub use vary::Vary;

use param::{Content, RawParam, Reading};

/// Gives the contents of a file that a launch file names, by the name that stands there.
pub type Files<'a> = dyn Fn(&str) -> Result<Vec<u8>, Diagnostic> + 'a;

/// A launch of a grid.
#[derive(Clone, PartialEq, Debug)]
pub struct GridFile {
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
    /// The parameters, by position.
    pub params: Vec<GridParam>,
    /// What variables of the module hold (`cudaMemcpyToSymbol`), in the order of the file.
    pub variables: Vec<GridVariable>,
}

/// A variable of the module.
#[derive(Clone, PartialEq, Debug)]
pub struct GridVariable {
    /// Its name, mangled or as in C++.
    pub name: String,
    /// What it holds, from its first byte on.
    pub buffer: GridBuffer,
}

/// A parameter of a launch.
#[derive(Clone, PartialEq, Debug)]
pub struct GridParam {
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
        element: Option<Element>,
        /// Its bytes.
        bytes: Vec<u8>,
        /// Between which numbers it may lie in launches like this one (`vary`).
        vary: Option<Vary>,
    },
    /// A buffer of global memory; the parameter is its address.
    Buffer(GridBuffer),
    /// An address in the buffer of another parameter.
    Same {
        /// The position of that parameter, which is a [`ParamValue::Buffer`].
        buffer: usize,
        /// Bytes from the beginning of the buffer, at most its size.
        offset: u64,
    },
}

/// A buffer of global memory.
#[derive(Clone, PartialEq, Debug)]
pub struct GridBuffer {
    /// The type of an element.
    pub element: Element,
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
    #[serde(default)]
    param: Vec<Spanned<RawParam>>,
    #[serde(default)]
    variable: Vec<Spanned<RawParam>>,
}

impl GridFile {
    /// The most bytes of all buffers.
    pub const MOST_BYTES: u64 = 1 << 31;

    /// The most parameters: as many as fit into the 4 KiB that CUDA has for them.
    pub const MOST_PARAMS: u32 = 4096;

    /// Reads a launch file; `file` is its name in messages, `files` gives the contents of those that it names.
    ///
    /// # Errors
    ///
    /// One line naming file, line and cause.
    pub fn parse(file: &str, text: &str, files: &Files<'_>) -> Result<GridFile, Diagnostic> {
        let raw: Raw = toml::from_str(text).map_err(|error| {
            let at = error.span().map(|span| span.start);
            Diagnostic::of_text(file, text, error.message(), at)
        })?;
        let at = |diagnostic: Diagnostic, byte: usize| diagnostic.at_byte(text, byte).in_file(file);
        let size = |name: &str, given: &Spanned<Vec<u32>>, most: u64| {
            size(name, given.get_ref(), most).map_err(|d| at(d, given.span().start))
        };
        let (grid, block) = (
            size("grid", &raw.grid, 1 << 31)?,
            size("block", &raw.block, 1024)?,
        );
        let mut reading = Reading::new(files);
        let mut placed = Vec::new();
        let mut next = 0u32;
        for param in &raw.param {
            let (span, raw) = (param.span().start, param.get_ref());
            let position = match &raw.position {
                None => next,
                Some(position) => *position.get_ref(),
            };
            if position >= GridFile::MOST_PARAMS {
                let most = GridFile::MOST_PARAMS;
                let what = format!("position {position} is beyond the {most} that there can be");
                return Err(at(Diagnostic::new(what), span));
            }
            next = position + 1;
            let name = raw.name.clone().unwrap_or_else(|| position.to_string());
            let content = raw.read(&mut reading).map_err(|(mut diagnostic, byte)| {
                diagnostic.what = format!("parameter {name}: {}", diagnostic.what);
                at(diagnostic, byte.unwrap_or(span))
            })?;
            placed.push(Placed {
                position,
                span,
                name,
                content,
            });
        }
        let mut variables: Vec<GridVariable> = Vec::new();
        for variable in &raw.variable {
            let (span, raw) = (variable.span().start, variable.get_ref());
            let Some(name) = raw.name.clone() else {
                let what = Diagnostic::new("a variable has no name");
                return Err(at(what, span));
            };
            let fault = |mut diagnostic: Diagnostic, byte: Option<usize>| {
                diagnostic.what = format!("variable {name}: {}", diagnostic.what);
                at(diagnostic, byte.unwrap_or(span))
            };
            if variables.iter().any(|other| other.name == name) {
                return Err(fault(Diagnostic::new("it is there twice"), None));
            }
            let content = raw.read(&mut reading).map_err(|(d, byte)| fault(d, byte))?;
            let (Content::Value(ParamValue::Buffer(buffer)), None) = (content, &raw.position)
            else {
                let what = Diagnostic::new("it is no buffer")
                    .hint("give it a type, and values, a file or a shape");
                return Err(fault(what, None));
            };
            variables.push(GridVariable { name, buffer });
        }
        let params = in_order(placed).map_err(|(diagnostic, span)| at(diagnostic, span))?;
        Ok(GridFile {
            file: file.to_owned(),
            grid,
            block,
            kernel: raw.kernel,
            dynamic_shared: raw.dynamic_shared,
            params,
            variables,
        })
    }

    /// The buffers that are parameters of their own, by position.
    pub fn buffers(&self) -> impl Iterator<Item = (&GridParam, &GridBuffer)> {
        self.params.iter().filter_map(|param| match &param.value {
            ParamValue::Buffer(buffer) => Some((param, buffer)),
            ParamValue::Scalar { .. } | ParamValue::Same { .. } => None,
        })
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
fn in_order(mut placed: Vec<Placed>) -> Result<Vec<GridParam>, (Diagnostic, usize)> {
    placed.sort_by_key(|param| param.position);
    for (expected, param) in (0..).zip(&placed) {
        if param.position > expected {
            let what = format!("there is no parameter at position {expected}");
            let hint = format!("{} is the next, at {}", param.name, param.position);
            return Err((Diagnostic::new(what).hint(hint), param.span));
        }
        if param.position < expected {
            let others = placed.iter().filter(|p| p.position == param.position);
            let names: Vec<&str> = others.map(|p| p.name.as_str()).collect();
            let what = format!(
                "{} are both at position {}",
                names.join(" and "),
                param.position
            );
            return Err((Diagnostic::new(what), param.span));
        }
        let earlier = placed.iter().take(expected as usize);
        if earlier.into_iter().any(|other| other.name == param.name) {
            let what = format!("two parameters have the name {}", param.name);
            return Err((Diagnostic::new(what), param.span));
        }
    }
    let mut outputs: Vec<&str> = Vec::new();
    for param in &placed {
        if let Content::Value(ParamValue::Buffer(buffer)) = &param.content
            && let Some(output) = &buffer.output
        {
            if outputs.contains(&output.as_str()) {
                let what = format!(
                    "parameter {}: another one is written to {output}",
                    param.name
                );
                return Err((Diagnostic::new(what), param.span));
            }
            outputs.push(output);
        }
    }
    let shared = |of: &str, offset: u64, own: &Placed| {
        let fail = |what: String| {
            let what = format!("parameter {}: {what}", own.name);
            Err((Diagnostic::new(what), own.span))
        };
        let Some(buffer) = placed.iter().position(|other| other.name == of) else {
            return fail(format!("there is no parameter {of}"));
        };
        match placed.get(buffer).map(|other| &other.content) {
            Some(Content::Value(ParamValue::Buffer(other))) => match other.bytes.len() as u64 {
                size if offset <= size => Ok(ParamValue::Same { buffer, offset }),
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
            Some(GridParam {
                name: param.name,
                value,
            })
        })
        .collect())
}

/// One to three numbers, the others 1; `most` is the most that their product may be.
fn size(name: &str, given: &[u32], most: u64) -> Result<[u32; 3], Diagnostic> {
    let mut size = [1u32; 3];
    if given.len() > 3 || given.is_empty() {
        let what = format!("{name} has {} numbers, not 1 to 3", given.len());
        return Err(Diagnostic::new(what));
    }
    for (to, from) in size.iter_mut().zip(given) {
        *to = *from;
    }
    let all = size.iter().fold(1u64, |n, &d| n.saturating_mul(d.into()));
    match (1..=most).contains(&all) {
        true => Ok(size),
        false => Err(Diagnostic::new(format!(
            "{name} has {all} elements, not 1 to {most}"
        ))),
    }
}
