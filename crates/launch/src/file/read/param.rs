//! Parameters, variables and buffers in launch files.

use serde::Deserialize;
use toml::Spanned;
use warpbound_base::Diagnostic;

use crate::file::fill::Fill;
use crate::file::number::{Number, Numbers};
use crate::file::{
    DataRange, ElementType, Expected, LaunchBuffer, LaunchFile, NpyArray, ParamValue, ReadFile,
    Vary,
};

/// Largest number of axes of a buffer, as in NumPy.
const MAX_AXES: usize = 32;

/// Maximum size of a structure in bytes: CUDA's limit on all parameters together.
const MAX_STRUCTURE: usize = 4096;

/// An error, and the byte of the file to which it applies; `None` for the parameter as a whole.
pub(in crate::file) type LocatedError = (Diagnostic, Option<usize>);

/// A `[[param]]`, `[[variable]]` or `[[buffer]]` of the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::file) struct RawParam {
    pub(in crate::file) name: Option<String>,
    pub(in crate::file) position: Option<Spanned<u32>>,
    #[serde(rename = "type")]
    element: Option<Spanned<ElementType>>,
    value: Option<Spanned<Number>>,
    vary: Option<Spanned<[Number; 2]>>,
    range: Option<Spanned<[Number; 2]>>,
    bytes: Option<Spanned<Vec<u8>>>,
    fields: Option<Spanned<Vec<RawField>>>,
    #[serde(alias = "buffer")]
    same_as: Option<Spanned<String>>,
    texture: Option<Spanned<String>>,
    surface: Option<Spanned<String>>,
    offset: Option<Spanned<u64>>,
    shape: Option<Spanned<Vec<u32>>>,
    fill: Option<Spanned<Fill>>,
    low: Option<Spanned<Number>>,
    high: Option<Spanned<Number>>,
    values: Option<Spanned<Vec<Number>>>,
    file: Option<Spanned<String>>,
    raw: Option<Spanned<String>>,
    output: Option<Spanned<String>>,
    expect: Option<Spanned<Numbers>>,
    relative: Option<Spanned<f64>>,
    absolute: Option<Spanned<f64>>,
}

/// A field of a structure: a number, or an array of them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawField {
    #[serde(rename = "type")]
    element: ElementType,
    value: Option<Number>,
    values: Option<Vec<Number>>,
}

/// A parameter before references to other parameters are resolved.
pub(in crate::file) enum ParsedParam {
    Value(ParamValue),
    /// An address in the buffer of the named parameter.
    Alias {
        of: String,
        offset: u64,
    },
}

/// State shared by the parameters of a file while they are read.
pub(in crate::file) struct ParamReader<'a> {
    files: &'a ReadFile<'a>,
    /// Total size of the buffers read so far, in bytes.
    total: u64,
    /// Names of the textures and surfaces of the file.
    pub(in crate::file) textures: Vec<String>,
    pub(in crate::file) surfaces: Vec<String>,
}

impl<'a> ParamReader<'a> {
    pub(in crate::file) fn new(files: &'a ReadFile<'a>) -> ParamReader<'a> {
        ParamReader {
            files,
            total: 0,
            textures: Vec::new(),
            surfaces: Vec::new(),
        }
    }

    /// Adds a buffer to the total size and checks the limit, before the buffer is allocated.
    fn reserve(&mut self, count: u64, element: ElementType) -> Result<(), Diagnostic> {
        // Saturated sums exceed the limit.
        let bytes = count.saturating_mul(element.size() as u64);
        self.total = self.total.saturating_add(bytes);
        match self.total <= LaunchFile::MAX_BYTES {
            true => Ok(()),
            false => Err(Diagnostic::new(format!(
                "the buffers have more than {} bytes",
                LaunchFile::MAX_BYTES
            ))),
        }
    }

    /// Reads a file that the launch file refers to.
    fn contents(&self, name: &str) -> Result<Vec<u8>, Diagnostic> {
        (self.files)(name).map_err(|error| Diagnostic::new(error.to_string()))
    }

    /// Reads an NPY file; checks that it has the element type and, if given, the shape of the buffer.
    fn array(
        &self,
        name: &str,
        element: ElementType,
        shape: Option<&[u64]>,
    ) -> Result<NpyArray, Diagnostic> {
        // The inner diagnostic becomes text: the location of the outer one is in the launch file.
        let within = |error: Diagnostic| Diagnostic::new(error.in_file(name).to_string());
        let array = NpyArray::from_npy(&self.contents(name)?).map_err(within)?;
        let differs = |message: String, hint: &str| within(Diagnostic::new(message).hint(hint));
        let error = match shape {
            _ if array.element != element => differs(
                format!(
                    "its numbers are {}, and the buffer has {element}",
                    array.element
                ),
                "convert them with astype, or change the type",
            ),
            Some(shape) if array.shape != shape => differs(
                format!(
                    "its shape is {:?}, and the buffer has {shape:?}",
                    array.shape
                ),
                "use reshape, or change the shape",
            ),
            _ => return Ok(array),
        };
        Err(error)
    }
}

/// Returns the value of a key, and its byte offset in the file.
fn with_span<T>(key: &Option<Spanned<T>>) -> Option<(&T, usize)> {
    key.as_ref().map(|key| (key.get_ref(), key.span().start))
}

/// Adds the byte offset in the file to an error.
fn locate<T>(result: Result<T, Diagnostic>, byte: usize) -> Result<T, LocatedError> {
    result.map_err(|diagnostic| (diagnostic, Some(byte)))
}

/// Returns an error at a byte offset of the file.
fn error_at<T>(message: impl Into<String>, byte: usize) -> Result<T, LocatedError> {
    locate(Err(Diagnostic::new(message)), byte)
}

impl RawParam {
    /// Reads the parameter. The keys that are present decide its kind.
    pub(in crate::file) fn read(
        &self,
        reader: &mut ParamReader<'_>,
    ) -> Result<ParsedParam, LocatedError> {
        // From here on, one key decides the kind of the parameter.
        self.check_keys()?;
        if let Some((&number, byte)) = with_span(&self.value) {
            let element = self.element(byte)?;
            let bytes = locate(encode(element, &[number], "value"), byte)?;
            let vary = match with_span(&self.vary) {
                None => None,
                Some((&[low, high], byte)) => {
                    let vary = Vary::new(element, low, high).map_err(Diagnostic::new);
                    Some(locate(vary, byte)?)
                }
            };
            return Ok(ParsedParam::Value(ParamValue::Scalar {
                element: Some(element),
                bytes,
                vary,
            }));
        }
        if let Some((_, byte)) = with_span(&self.vary) {
            return error_at("vary needs a value, the one of this launch", byte);
        }
        let structure = match (with_span(&self.bytes), with_span(&self.fields)) {
            (Some((bytes, byte)), _) => Some((bytes.clone(), byte)),
            (None, Some((fields, byte))) => Some((locate(encode_structure(fields), byte)?, byte)),
            (None, None) => None,
        };
        if let Some((bytes, byte)) = structure {
            if bytes.is_empty() || bytes.len() > MAX_STRUCTURE {
                let message = format!("it has {} bytes, not 1 to {MAX_STRUCTURE}", bytes.len());
                return error_at(message, byte);
            }
            return Ok(ParsedParam::Value(ParamValue::Scalar {
                element: None,
                bytes,
                vary: None,
            }));
        }
        if let Some((name, byte)) = with_span(&self.texture) {
            let found = reader.textures.iter().position(|other| other == name);
            return match found {
                Some(number) => Ok(ParsedParam::Value(ParamValue::Texture(number))),
                None => error_at(format!("there is no texture {name}"), byte),
            };
        }
        if let Some((name, byte)) = with_span(&self.surface) {
            let found = reader.surfaces.iter().position(|other| other == name);
            return match found {
                Some(number) => Ok(ParsedParam::Value(ParamValue::Surface(number))),
                None => error_at(format!("there is no surface {name}"), byte),
            };
        }
        if let Some((of, _)) = with_span(&self.same_as) {
            return Ok(ParsedParam::Alias {
                of: of.clone(),
                offset: with_span(&self.offset).map_or(0, |(&offset, _)| offset),
            });
        }
        let buffer = self.buffer(reader)?;
        Ok(ParsedParam::Value(ParamValue::Buffer(buffer)))
    }

    /// Refuses combinations of keys of different kinds, and several sources of contents.
    fn check_keys(&self) -> Result<(), LocatedError> {
        /// A key, its byte offset in the file, and the kind of parameter that it belongs to.
        type Key = (&'static str, Option<usize>, Kind);
        #[derive(Clone, Copy, PartialEq)]
        enum Kind {
            Value,
            Structure,
            Same,
            Object,
            Buffer,
        }
        macro_rules! keys {
            ($($name:ident: $kind:ident,)*) => {
                [$((stringify!($name), with_span(&self.$name).map(|(_, byte)| byte), Kind::$kind),)*]
            };
        }
        let keys: [Key; 20] = keys! {
            value: Value, vary: Value, bytes: Structure, fields: Structure, same_as: Same,
            texture: Object, surface: Object,
            values: Buffer, fill: Buffer, file: Buffer, raw: Buffer, shape: Buffer,
            low: Buffer, high: Buffer, range: Buffer, output: Buffer, expect: Buffer,
            relative: Buffer, absolute: Buffer, offset: Same,
        };
        // The first key in this order decides the kind, and the others have to agree with it.
        let mut given = keys
            .iter()
            .filter_map(|&(key, byte, kind)| Some((key, byte?, kind)));
        let Some((first, _, kind)) = given.next() else {
            let message = "it is neither a number nor a buffer";
            let hint = "give it a value, or a shape";
            return Err((Diagnostic::new(message).hint(hint), None));
        };
        let contents = [
            "bytes", "fields", "values", "fill", "file", "raw", "texture", "surface",
        ];
        for (key, byte, other) in given {
            let both = contents.contains(&first) && contents.contains(&key);
            if other != kind || both {
                return error_at(format!("{key} does not go with {first}"), byte);
            }
        }
        match with_span(&self.element) {
            Some((_, byte)) if matches!(kind, Kind::Structure | Kind::Same | Kind::Object) => {
                error_at(format!("type does not go with {first}"), byte)
            }
            _ => Ok(()),
        }
    }

    /// Returns the element type, or an error at `byte` if there is none.
    fn element(&self, byte: usize) -> Result<ElementType, LocatedError> {
        let Some((&element, _)) = with_span(&self.element) else {
            let names = ElementType::ALL.map(ElementType::name).join(", ");
            let message = Diagnostic::new("it has no type");
            return locate(Err(message.hint(format!("type is one of {names}"))), byte);
        };
        Ok(element)
    }

    /// Reads a buffer: shape, initial and expected contents, output file.
    fn buffer(&self, reader: &mut ParamReader<'_>) -> Result<LaunchBuffer, LocatedError> {
        let element = self.element.as_ref().map(|element| element.span().start);
        // An error about the type is reported at the first of these keys that is present.
        let byte = [
            element,
            with_span(&self.values).map(|(_, byte)| byte),
            with_span(&self.file).map(|(_, byte)| byte),
            with_span(&self.raw).map(|(_, byte)| byte),
            with_span(&self.shape).map(|(_, byte)| byte),
        ];
        let byte = byte.into_iter().flatten().next();
        let element = match (&self.element, byte) {
            (Some(element), _) => *element.get_ref(),
            (None, Some(byte)) => self.element(byte)?,
            (None, None) => {
                let message = Diagnostic::new("it has no type and no shape");
                return Err((message.hint("give it both"), None));
            }
        };
        let byte = byte.unwrap_or_default();
        let shape = match with_span(&self.shape) {
            Some((shape, byte)) if shape.len() > MAX_AXES => {
                let message = format!("shape has {} numbers, at most {MAX_AXES}", shape.len());
                return error_at(message, byte);
            }
            Some((shape, byte)) => {
                let shape: Vec<u64> = shape.iter().map(|&n| n.into()).collect();
                locate(reader.reserve(element_count(&shape), element), byte)?;
                Some(shape)
            }
            None => None,
        };
        let (shape, bytes) = self.initial_contents(element, shape, byte, reader)?;
        let range = match with_span(&self.range) {
            None => None,
            Some((&limits, byte)) => {
                let range = DataRange::new(element, limits, &bytes).map_err(Diagnostic::new);
                Some(locate(range, byte)?)
            }
        };
        Ok(LaunchBuffer {
            expect: self.expected(element, &shape, bytes.len(), reader)?,
            output: self.output()?,
            range,
            element,
            shape,
            bytes,
        })
    }

    /// Reads the shape and the initial bytes of a buffer.
    fn initial_contents(
        &self,
        element: ElementType,
        shape: Option<Vec<u64>>,
        byte: usize,
        reader: &mut ParamReader<'_>,
    ) -> Result<(Vec<u64>, Vec<u8>), LocatedError> {
        let is_random = matches!(with_span(&self.fill), Some((Fill::Random(_), _)));
        for (key, bound) in [("low", &self.low), ("high", &self.high)] {
            if let (Some((_, byte)), false) = (with_span(bound), is_random) {
                return error_at(
                    format!("{key} goes with fill = {{ random = SEED }} only"),
                    byte,
                );
            }
        }
        // The shape of `count` numbers: the given one, which must match, or one axis.
        let mut sized = |count: u64, byte: usize| match &shape {
            Some(shape) if element_count(shape) == count => Ok(shape.clone()),
            Some(shape) => {
                let all = element_count(shape);
                error_at(format!("{count} numbers for a buffer of {all}"), byte)
            }
            None => locate(reader.reserve(count, element), byte).map(|()| vec![count]),
        };
        // `check_keys` has refused several sources of contents.
        if let Some((values, byte)) = with_span(&self.values) {
            let shape = sized(values.len() as u64, byte)?;
            return Ok((shape, locate(encode(element, values, "values"), byte)?));
        }
        if let Some((name, byte)) = with_span(&self.file) {
            let array = locate(reader.array(name, element, shape.as_deref()), byte)?;
            // With a shape, `buffer` has reserved the size already.
            if shape.is_none() {
                locate(reader.reserve(element_count(&array.shape), element), byte)?;
            }
            return Ok((array.shape, array.bytes));
        }
        if let Some((name, byte)) = with_span(&self.raw) {
            let bytes = locate(reader.contents(name), byte)?;
            let (length, size) = (bytes.len(), element.size());
            if !length.is_multiple_of(size) {
                return error_at(
                    format!("{name} has {length} bytes, no multiple of the {size} of {element}"),
                    byte,
                );
            }
            let count = (length / size) as u64;
            let shape = match shape {
                Some(shape) if element_count(&shape) == count => shape,
                Some(shape) => {
                    let all = element_count(&shape);
                    return error_at(
                        format!("{name} has {count} numbers, the buffer {all}"),
                        byte,
                    );
                }
                None => {
                    locate(reader.reserve(count, element), byte)?;
                    vec![count]
                }
            };
            return Ok((shape, bytes));
        }
        let (fill, byte) = match with_span(&self.fill) {
            Some((&fill, byte)) => (fill, byte),
            None => (Fill::Zeros, byte),
        };
        let Some(shape) = shape else {
            let message = format!("it is filled with {}, but has no shape", fill.name());
            return error_at(message, byte);
        };
        let bound = |key: &Option<Spanned<Number>>| with_span(key).map(|(&number, _)| number);
        let (low, high) = (bound(&self.low), bound(&self.high));
        // `reserve` has limited the count.
        let count = usize::try_from(element_count(&shape)).unwrap_or(usize::MAX);
        let bytes = fill.bytes(element, count, low, high);
        Ok((shape, locate(bytes.map_err(Diagnostic::new), byte)?))
    }

    /// Reads the expected final contents and their tolerances.
    fn expected(
        &self,
        element: ElementType,
        shape: &[u64],
        size: usize,
        reader: &ParamReader<'_>,
    ) -> Result<Option<Expected>, LocatedError> {
        let mut tolerances = [0.0; 2];
        let keys = [("relative", &self.relative), ("absolute", &self.absolute)];
        for (tolerance, (key, given)) in tolerances.iter_mut().zip(keys) {
            let Some((&number, byte)) = with_span(given) else {
                continue;
            };
            if self.expect.is_none() {
                return error_at(format!("{key} has no effect without expect"), byte);
            }
            if !element.is_float() {
                return error_at(format!("{key} is for floats, not for {element}"), byte);
            }
            if !(number.is_finite() && number >= 0.0) {
                return error_at(format!("{key} is {number}, not a number from 0 on"), byte);
            }
            *tolerance = number;
        }
        let [relative, absolute] = tolerances;
        let Some((expect, byte)) = with_span(&self.expect) else {
            return Ok(None);
        };
        let bytes = match expect {
            Numbers::List(numbers) => {
                let bytes = locate(encode(element, numbers, "expect"), byte)?;
                // `array` has compared the shape of a file.
                if bytes.len() != size {
                    let (given, count) = (numbers.len(), element_count(shape));
                    return error_at(
                        format!("{given} expected numbers for a buffer of {count}"),
                        byte,
                    );
                }
                bytes
            }
            Numbers::File(name) => locate(reader.array(name, element, Some(shape)), byte)?.bytes,
        };
        Ok(Some(Expected {
            bytes,
            relative,
            absolute,
        }))
    }

    /// Reads the name of the output file.
    fn output(&self) -> Result<Option<String>, LocatedError> {
        match with_span(&self.output) {
            None => Ok(None),
            Some((name, _)) if name.ends_with(".npy") => Ok(Some(name.clone())),
            Some((name, byte)) => {
                let message = format!("output is {name}, which does not end in .npy");
                locate(
                    Err(Diagnostic::new(message).hint("NPY files are written")),
                    byte,
                )
            }
        }
    }
}

/// Number of elements of a shape, saturating.
fn element_count(shape: &[u64]) -> u64 {
    shape.iter().fold(1, |n, &d| n.saturating_mul(d))
}

/// Encodes numbers as bytes; `key` names them in messages.
fn encode(element: ElementType, numbers: &[Number], key: &str) -> Result<Vec<u8>, Diagnostic> {
    let mut bytes = Vec::with_capacity(numbers.len().saturating_mul(element.size()));
    for (index, &number) in numbers.iter().enumerate() {
        if element.encode(number, &mut bytes).is_none() {
            let of = match key {
                "value" => key.to_owned(),
                _ => format!("{key}[{index}]"),
            };
            return Err(Diagnostic::new(format!(
                "{of} is {number}, which is no {element}"
            )));
        }
    }
    Ok(bytes)
}

/// Encodes a structure with C layout: each field aligned to its size, the whole padded to the largest alignment. For
/// example, a `u8` followed by a `u32` takes 8 bytes, 3 of them padding.
fn encode_structure(fields: &[RawField]) -> Result<Vec<u8>, Diagnostic> {
    let mut bytes = Vec::new();
    let mut alignment = 1;
    for (index, field) in fields.iter().enumerate() {
        let size = field.element.size();
        alignment = size.max(alignment);
        bytes.resize(bytes.len().next_multiple_of(size), 0);
        let numbers = match (&field.value, &field.values) {
            (Some(value), None) => std::slice::from_ref(value),
            (None, Some(values)) => values.as_slice(),
            _ => {
                let message = format!("fields[{index}] has either value or values");
                return Err(Diagnostic::new(message));
            }
        };
        bytes.extend(encode(
            field.element,
            numbers,
            &format!("fields[{index}].values"),
        )?);
    }
    bytes.resize(bytes.len().next_multiple_of(alignment), 0);
    Ok(bytes)
}
