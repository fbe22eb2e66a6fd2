//! Reading of launch files: the TOML text, its checks, and the order of parameters.

pub(super) mod image;
pub(super) mod param;
pub(super) mod pointer;

use serde::Deserialize;
use toml::Spanned;
use warpbound_base::Diagnostic;

use self::image::{RawSurface, RawTexture};
use self::param::{ParamReader, ParsedParam, RawParam};
use self::pointer::RawPointer;
use crate::file::{
    LaunchBuffer, LaunchFile, LaunchParam, LaunchVariable, ParamValue, ReadFile, StartCaches,
    TexelBuffer,
};

/// The file as TOML states it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Raw {
    pub(super) kernel: Option<String>,
    pub(super) grid: Spanned<Vec<u32>>,
    pub(super) block: Spanned<Vec<u32>>,
    #[serde(default)]
    pub(super) dynamic_shared: u32,
    pub(super) stack: Option<Spanned<u32>>,
    #[serde(default)]
    pub(super) caches: StartCaches,
    #[serde(default)]
    pub(super) param: Vec<Spanned<RawParam>>,
    #[serde(default)]
    pub(super) variable: Vec<Spanned<RawParam>>,
    #[serde(default)]
    pub(super) buffer: Vec<Spanned<RawParam>>,
    #[serde(default)]
    pub(super) texture: Vec<Spanned<RawTexture>>,
    #[serde(default)]
    pub(super) surface: Vec<Spanned<RawSurface>>,
    #[serde(default)]
    pub(super) pointer: Vec<Spanned<RawPointer>>,
}

impl LaunchFile {
    /// Parses a launch file; `file` is its name in messages, `files` reads the files that it refers to.
    ///
    /// # Errors
    ///
    /// A diagnostic with file, line and cause.
    pub fn parse(file: &str, text: &str, files: &ReadFile<'_>) -> Result<LaunchFile, Diagnostic> {
        let raw: Raw = from_toml(file, text)?;
        let launch = LaunchFile::read(&raw, file, None, &mut ParamReader::new(files));
        launch.map_err(|(diagnostic, byte)| diagnostic.at_byte(text, byte).in_file(file))
    }

    /// Reads a launch. For a launch of a set, `objects` has the buffers and the other objects that the launches
    /// share.
    pub(super) fn read(
        raw: &Raw,
        file: &str,
        objects: Option<&LaunchFile>,
        reader: &mut ParamReader<'_>,
    ) -> Result<LaunchFile, LocatedError> {
        let (grid, block) = (
            located_size("grid", &raw.grid, 1 << 31)?,
            located_size("block", &raw.block, 1024)?,
        );
        let stack = stack_size(raw.stack.as_ref())?;
        // Parameters refer to textures and surfaces by name, so the names have to be known first.
        match objects {
            None => {
                reader.textures = raw.texture.iter().map(|t| t.get_ref().name()).collect();
                reader.surfaces = raw.surface.iter().map(|s| s.get_ref().name()).collect();
            }
            Some(shared) => {
                let textures = shared.textures.iter();
                reader.textures = textures.map(|t| t.image.name.clone()).collect();
                reader.surfaces = shared.surfaces.iter().map(|s| s.name.clone()).collect();
            }
        }
        let params = read_params(&raw.param, reader)?;
        let (variables, texels) = match objects {
            None => (
                read_variables(&raw.variable, reader)?,
                read_texels(&raw.buffer, reader)?,
            ),
            Some(shared) => (shared.variables.clone(), shared.texels.clone()),
        };
        // Aliases are resolved only now, because they may name a buffer that comes later in the file.
        let params = order_params(params, &texels)?;
        check_texels(&raw.buffer, &params, &texels)?;
        let mut launch = LaunchFile {
            file: file.to_owned(),
            grid,
            block,
            kernel: raw.kernel.clone(),
            dynamic_shared: raw.dynamic_shared,
            stack,
            caches: raw.caches,
            params,
            variables,
            texels,
            textures: Vec::new(),
            surfaces: Vec::new(),
            pointers: Vec::new(),
        };
        match objects {
            None => {
                // Texels are in buffers, whose sizes are known by now.
                let buffers: Vec<(&str, &LaunchBuffer)> = launch.buffers().collect();
                let images = image::read(&raw.texture, &raw.surface, &buffers);
                (launch.textures, launch.surfaces) = images?;
            }
            Some(shared) => {
                launch.textures.clone_from(&shared.textures);
                launch.surfaces.clone_from(&shared.surfaces);
                // Shared pointers come first, so that `set::check_shared` can skip them.
                launch.pointers.clone_from(&shared.pointers);
            }
        }
        // Last, because pointers may lie in parameters, buffers and variables.
        let pointers = pointer::read(&raw.pointer, &launch)?;
        launch.pointers.extend(pointers);
        Ok(launch)
    }
}

/// An error, and the byte of the file to which it applies.
pub(super) type LocatedError = (Diagnostic, usize);

/// Parses the text of a file.
pub(super) fn from_toml<T: serde::de::DeserializeOwned>(
    file: &str,
    text: &str,
) -> Result<T, Diagnostic> {
    toml::from_str(text).map_err(|error| {
        let at = error.span().map(|span| span.start);
        Diagnostic::for_text(file, text, error.message(), at)
    })
}

/// Checks the stack size.
fn stack_size(stack: Option<&Spanned<u32>>) -> Result<Option<u32>, LocatedError> {
    match stack {
        Some(stack) if *stack.get_ref() > LaunchFile::MAX_STACK => {
            let max = LaunchFile::MAX_STACK;
            let message = format!("stack has {} bytes, at most {max}", stack.get_ref());
            Err((Diagnostic::new(message), stack.span().start))
        }
        stack => Ok(stack.map(|stack| *stack.get_ref())),
    }
}

/// Reads the parameters, in the order of the file. A parameter without a position follows the one before it.
fn read_params(
    raw: &[Spanned<RawParam>],
    reader: &mut ParamReader<'_>,
) -> Result<Vec<PositionedParam>, LocatedError> {
    let mut params = Vec::new();
    let mut next = 0u32;
    for param in raw {
        let (span, raw) = (param.span().start, param.get_ref());
        let position = match &raw.position {
            None => next,
            Some(position) => *position.get_ref(),
        };
        // Checked first, so that the position after this one does not overflow.
        if position >= LaunchFile::MAX_PARAMS {
            let max = LaunchFile::MAX_PARAMS;
            let message = format!("position {position} is beyond the {max} that there can be");
            return Err((Diagnostic::new(message), span));
        }
        next = position + 1;
        let name = raw.name.clone().unwrap_or_else(|| position.to_string());
        let content = raw.read(reader).map_err(|(mut diagnostic, byte)| {
            diagnostic.message = format!("parameter {name}: {}", diagnostic.message);
            (diagnostic, byte.unwrap_or(span))
        })?;
        params.push(PositionedParam {
            position,
            span,
            name,
            content,
        });
    }
    Ok(params)
}

/// Reads the variables of the module, in the order of the file.
fn read_variables(
    raw: &[Spanned<RawParam>],
    reader: &mut ParamReader<'_>,
) -> Result<Vec<LaunchVariable>, LocatedError> {
    let mut variables: Vec<LaunchVariable> = Vec::new();
    for variable in raw {
        let (span, raw) = (variable.span().start, variable.get_ref());
        let Some(name) = raw.name.clone() else {
            return Err((Diagnostic::new("a variable has no name"), span));
        };
        let fault = |mut diagnostic: Diagnostic, byte: Option<usize>| {
            diagnostic.message = format!("variable {name}: {}", diagnostic.message);
            (diagnostic, byte.unwrap_or(span))
        };
        if variables.iter().any(|other| other.name == name) {
            return Err(fault(Diagnostic::new("it is defined twice"), None));
        }
        let content = raw.read(reader).map_err(|(d, byte)| fault(d, byte))?;
        let (ParsedParam::Value(ParamValue::Buffer(buffer)), None) = (content, &raw.position)
        else {
            let message = Diagnostic::new("it is no buffer")
                .hint("give it a type, and values, a file or a shape");
            return Err(fault(message, None));
        };
        if buffer.range.is_some() {
            let message = "range is for buffers of global memory, whose address is a parameter";
            return Err(fault(Diagnostic::new(message), None));
        }
        variables.push(LaunchVariable { name, buffer });
    }
    Ok(variables)
}

/// Reads the buffers that are no parameters, in the order of the file.
fn read_texels(
    raw: &[Spanned<RawParam>],
    reader: &mut ParamReader<'_>,
) -> Result<Vec<TexelBuffer>, LocatedError> {
    let mut all = Vec::with_capacity(raw.len());
    for raw in raw {
        let (span, raw) = (raw.span().start, raw.get_ref());
        let Some(name) = raw.name.clone() else {
            return Err((Diagnostic::new("a buffer has no name"), span));
        };
        let within = |(mut diagnostic, byte): param::LocatedError| {
            diagnostic.message = format!("buffer {name}: {}", diagnostic.message);
            (diagnostic, byte.unwrap_or(span))
        };
        let fail = |message: &str| Err(within((Diagnostic::new(message), None)));
        if raw.position.is_some() {
            return fail("it is no parameter, so it has no position");
        }
        let ParsedParam::Value(ParamValue::Buffer(buffer)) = raw.read(reader).map_err(within)?
        else {
            return fail("it is no buffer");
        };
        all.push(TexelBuffer { name, buffer });
    }
    Ok(all)
}

/// Checks that the names and output files of buffers are unique and differ from the names and files of parameters.
/// `raw` has the buffers as the file states them; it is empty where the launch does not state its buffers itself.
fn check_texels(
    raw: &[Spanned<RawParam>],
    params: &[LaunchParam],
    texels: &[TexelBuffer],
) -> Result<(), LocatedError> {
    let outputs = params.iter().filter_map(|param| match &param.value {
        ParamValue::Buffer(buffer) => buffer.output.as_deref(),
        _ => None,
    });
    let mut outputs: Vec<&str> = outputs.collect();
    let mut names: Vec<&str> = params.iter().map(|param| param.name.as_str()).collect();
    for (raw, texels) in raw.iter().zip(texels) {
        let fail = |message: &str| {
            let message = format!("buffer {}: {message}", texels.name);
            Err((Diagnostic::new(message), raw.span().start))
        };
        if names.contains(&texels.name.as_str()) {
            return fail("another buffer or parameter has this name");
        }
        names.push(&texels.name);
        if let Some(output) = texels.buffer.output.as_deref() {
            if outputs.contains(&output) {
                return fail("another buffer is written to its output");
            }
            outputs.push(output);
        }
    }
    Ok(())
}

/// A parameter that has been read.
struct PositionedParam {
    position: u32,
    /// Byte of the file at which it begins.
    span: usize,
    name: String,
    content: ParsedParam,
}

/// Sorts parameters by position, checks that positions, names and output files are unique, and resolves aliases of the
/// buffers of parameters and of `texels`.
fn order_params(
    mut params: Vec<PositionedParam>,
    texels: &[TexelBuffer],
) -> Result<Vec<LaunchParam>, LocatedError> {
    // A stable sort, so that the message about a shared position has the order of the file.
    params.sort_by_key(|param| param.position);
    check_order(&params)?;
    let mut values = Vec::with_capacity(params.len());
    for param in &params {
        values.push(match &param.content {
            ParsedParam::Value(_) => None,
            ParsedParam::Alias { of, offset } => {
                let value = alias(&params, texels, of, *offset).map_err(|mut diagnostic| {
                    diagnostic.message =
                        format!("parameter {}: {}", param.name, diagnostic.message);
                    (diagnostic, param.span)
                });
                Some(value?)
            }
        });
    }
    let resolved = params.into_iter().zip(values);
    Ok(resolved
        .filter_map(|(param, alias)| {
            let value = match param.content {
                ParsedParam::Value(value) => value,
                ParsedParam::Alias { .. } => alias?,
            };
            Some(LaunchParam {
                name: param.name,
                value,
            })
        })
        .collect())
}

/// Resolves an alias: byte `offset` of the buffer of parameter `of`, or of the `[[buffer]]` of this name.
fn alias(
    params: &[PositionedParam],
    texels: &[TexelBuffer],
    of: &str,
    offset: u64,
) -> Result<ParamValue, Diagnostic> {
    let own = |param: &PositionedParam| match &param.content {
        ParsedParam::Value(ParamValue::Buffer(buffer)) => Some(buffer.bytes.len()),
        _ => None,
    };
    let params_with = || params.iter().filter_map(|param| Some((param, own(param)?)));
    // [`LaunchFile::buffers`] has the buffers of parameters first, so this position is an index there.
    let named = params_with().position(|(param, _)| param.name == of);
    let found = match named {
        Some(buffer) => params_with().nth(buffer).map(|(_, size)| (buffer, size)),
        None => {
            let number = texels.iter().position(|other| other.name == of);
            let sized = number.and_then(|n| Some((n, texels.get(n)?.buffer.bytes.len())));
            sized.map(|(number, size)| (params_with().count() + number, size))
        }
    };
    match found {
        None if params.iter().any(|param| param.name == of) => {
            Err(Diagnostic::new(format!("{of} is no buffer of its own")))
        }
        None => Err(Diagnostic::new(format!("there is no parameter {of}"))
            .hint("it is the name of a parameter with a buffer, or of a [[buffer]]")),
        Some((buffer, size)) if offset <= size as u64 => Ok(ParamValue::Alias { buffer, offset }),
        Some((_, size)) => Err(Diagnostic::new(format!(
            "byte {offset} is past the end of {of}, which has {size}"
        ))),
    }
}

/// Checks that the positions, names and output files of sorted parameters are unique.
fn check_order(params: &[PositionedParam]) -> Result<(), LocatedError> {
    for (expected, param) in (0..).zip(params) {
        if param.position > expected {
            let message = format!("there is no parameter at position {expected}");
            let hint = format!("{} is the next, at {}", param.name, param.position);
            return Err((Diagnostic::new(message).hint(hint), param.span));
        }
        if param.position < expected {
            let others = params.iter().filter(|p| p.position == param.position);
            let names: Vec<&str> = others.map(|p| p.name.as_str()).collect();
            let message = format!(
                "{} are both at position {}",
                names.join(" and "),
                param.position
            );
            return Err((Diagnostic::new(message), param.span));
        }
        let earlier = params.iter().take(expected as usize);
        if earlier.into_iter().any(|other| other.name == param.name) {
            let message = format!("two parameters have the name {}", param.name);
            return Err((Diagnostic::new(message), param.span));
        }
    }
    let mut outputs: Vec<&str> = Vec::new();
    for param in params {
        if let ParsedParam::Value(ParamValue::Buffer(buffer)) = &param.content
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
    Ok(())
}

/// Reads a size; an error has the byte offset of the size in the file.
fn located_size(
    name: &str,
    given: &Spanned<Vec<u32>>,
    most: u64,
) -> Result<[u32; 3], LocatedError> {
    size(name, given.get_ref(), most).map_err(|d| (d, given.span().start))
}

/// Reads a size in x, y and z; absent axes are 1. `most` limits the product of the axes. The limits of each axis depend
/// on the machines of the kernel, and [`check_limits`](crate::check_limits) has them.
pub(super) fn size(name: &str, given: &[u32], most: u64) -> Result<[u32; 3], Diagnostic> {
    let mut size = [1u32; 3];
    if given.len() > 3 || given.is_empty() {
        let message = format!("{name} has {} numbers, not 1 to 3", given.len());
        return Err(Diagnostic::new(message));
    }
    for (to, from) in size.iter_mut().zip(given) {
        *to = *from;
    }
    // A saturated product exceeds every limit, so the size is refused.
    let all = size.iter().fold(1u64, |n, &d| n.saturating_mul(d.into()));
    match (1..=most).contains(&all) {
        true => Ok(size),
        false => Err(Diagnostic::new(format!(
            "{name} has {all} elements, not 1 to {most}"
        ))),
    }
}
