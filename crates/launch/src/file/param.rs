//! Parameters as launch files write them.

use serde::Deserialize;
use toml::Spanned;
use warpbound_base::Diagnostic;

use super::fill::Fill;
use super::number::{Number, Numbers};
use super::{NpyArray, ElementType, Expected, ReadFile, LaunchBuffer, LaunchFile, ParamValue, Vary};

/// The most axes of a buffer, as many as NumPy has.
const MOST_AXES: usize = 32;

/// The most bytes of a structure: what CUDA has for all parameters.
const MOST_STRUCTURE: usize = 4096;

/// What is wrong, and the byte of the file, where it is not the parameter as a whole.
pub(super) type Fault = (Diagnostic, Option<usize>);

/// A parameter of the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawParam {
    pub(super) name: Option<String>,
    pub(super) position: Option<Spanned<u32>>,
    #[serde(rename = "type")]
    element: Option<Spanned<ElementType>>,
    value: Option<Spanned<Number>>,
    vary: Option<Spanned<[Number; 2]>>,
    bytes: Option<Spanned<Vec<u8>>>,
    fields: Option<Spanned<Vec<RawField>>>,
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

/// What a parameter is, where other parameters are not known yet.
pub(super) enum Content {
    Value(ParamValue),
    /// An address in the buffer of the parameter of this name.
    Same {
        of: String,
        offset: u64,
    },
}

/// What parameters share while they are read.
pub(super) struct Reading<'a> {
    files: &'a ReadFile<'a>,
    /// Bytes of all buffers so far.
    total: u64,
    /// The names of textures and surfaces.
    pub(super) textures: Vec<String>,
    pub(super) surfaces: Vec<String>,
}

impl<'a> Reading<'a> {
    pub(super) fn new(files: &'a ReadFile<'a>) -> Reading<'a> {
        Reading {
            files,
            total: 0,
            textures: Vec::new(),
            surfaces: Vec::new(),
        }
    }

    /// Counts the bytes of a buffer.
    fn claim(&mut self, count: u64, element: ElementType) -> Result<(), Diagnostic> {
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

    fn contents(&self, name: &str) -> Result<Vec<u8>, Diagnostic> {
        (self.files)(name).map_err(|said| Diagnostic::new(said.to_string()))
    }

    /// An array of an NPY file, of the type and, if that is known, of the shape of the buffer.
    fn array(
        &self,
        name: &str,
        element: ElementType,
        shape: Option<&[u64]>,
    ) -> Result<NpyArray, Diagnostic> {
        // Whole sentences: the place of the diagnostic is that in the launch file.
        let within = |said: Diagnostic| Diagnostic::new(said.in_file(name).to_string());
        let array = NpyArray::from_npy(&self.contents(name)?).map_err(within)?;
        let differs = |what: String, hint: &str| within(Diagnostic::new(message).hint(hint));
        let error = match shape {
            _ if array.element != element => differs(
                format!(
                    "its numbers are {}, those of the buffer {element}",
                    array.element
                ),
                "convert them with astype, or change the type",
            ),
            Some(shape) if array.shape != shape => differs(
                format!(
                    "its shape is {:?}, that of the buffer {shape:?}",
                    array.shape
                ),
                "use reshape, or change the shape",
            ),
            _ => return Ok(array),
        };
        Err(error)
    }
}

/// The value of a key, and where it stands.
fn located<T>(key: &Option<Spanned<T>>) -> Option<(&T, usize)> {
    key.as_ref().map(|key| (key.get_ref(), key.span().start))
}

/// Adds a place to what is wrong.
fn at<T>(result: Result<T, Diagnostic>, place: usize) -> Result<T, Fault> {
    result.map_err(|diagnostic| (diagnostic, Some(place)))
}

fn fault<T>(message: impl Into<String>, place: usize) -> Result<T, Fault> {
    at(Err(Diagnostic::new(message)), place)
}

impl RawParam {
    /// What the parameter is.
    pub(super) fn read(&self, reading: &mut Reading<'_>) -> Result<Content, Fault> {
        self.check_keys()?;
        if let Some((&number, place)) = located(&self.value) {
            let element = self.element(place)?;
            let bytes = at(encode(element, &[number], "value"), place)?;
            let vary = match located(&self.vary) {
                None => None,
                Some((&[low, high], place)) => {
                    let vary = Vary::new(element, low, high).map_err(Diagnostic::new);
                    Some(at(vary, place)?)
                }
            };
            return Ok(Content::Value(ParamValue::Scalar {
                element: Some(element),
                bytes,
                vary,
            }));
        }
        if let Some((_, place)) = located(&self.vary) {
            return fault("vary needs a value, which the launch has itself", place);
        }
        let structure = match (located(&self.bytes), located(&self.fields)) {
            (Some((bytes, place)), _) => Some((bytes.clone(), place)),
            (None, Some((fields, place))) => Some((at(structure(fields), place)?, place)),
            (None, None) => None,
        };
        if let Some((bytes, place)) = structure {
            if bytes.is_empty() || bytes.len() > MOST_STRUCTURE {
                let message = format!("it has {} bytes, not 1 to {MOST_STRUCTURE}", bytes.len());
                return fault(message, place);
            }
            return Ok(Content::Value(ParamValue::Scalar {
                element: None,
                bytes,
                vary: None,
            }));
        }
        if let Some((name, place)) = located(&self.texture) {
            let found = reading.textures.iter().position(|other| other == name);
            return match found {
                Some(number) => Ok(Content::Value(ParamValue::Texture(number))),
                None => fault(format!("there is no texture {name}"), place),
            };
        }
        if let Some((name, place)) = located(&self.surface) {
            let found = reading.surfaces.iter().position(|other| other == name);
            return match found {
                Some(number) => Ok(Content::Value(ParamValue::Surface(number))),
                None => fault(format!("there is no surface {name}"), place),
            };
        }
        if let Some((of, _)) = located(&self.same_as) {
            return Ok(Content::Same {
                of: of.clone(),
                offset: located(&self.offset).map_or(0, |(&offset, _)| offset),
            });
        }
        let buffer = self.buffer(reading)?;
        Ok(Content::Value(ParamValue::Buffer(buffer)))
    }

    /// Refuses keys that say nothing together.
    fn check_keys(&self) -> Result<(), Fault> {
        /// A key, where it stands, what kind of parameter it is for.
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
                [$((stringify!($name), located(&self.$name).map(|(_, place)| place), Kind::$kind),)*]
            };
        }
        let keys: [Key; 19] = keys! {
            value: Value, vary: Value, bytes: Structure, fields: Structure, same_as: Same,
            texture: Object, surface: Object,
            values: Buffer, fill: Buffer, file: Buffer, raw: Buffer, shape: Buffer,
            low: Buffer, high: Buffer, output: Buffer, expect: Buffer,
            relative: Buffer, absolute: Buffer, offset: Same,
        };
        let mut given = keys
            .iter()
            .filter_map(|&(key, place, kind)| Some((key, place?, kind)));
        let Some((first, _, kind)) = given.next() else {
            let message = "it is neither a number nor a buffer";
            let hint = "give it a value, or a shape";
            return Err((Diagnostic::new(message).hint(hint), None));
        };
        let contents = [
            "bytes", "fields", "values", "fill", "file", "raw", "texture", "surface",
        ];
        for (key, place, other) in given {
            let both = contents.contains(&first) && contents.contains(&key);
            if other != kind || both {
                return fault(format!("{key} does not go with {first}"), place);
            }
        }
        match located(&self.element) {
            Some((_, place)) if matches!(kind, Kind::Structure | Kind::Same | Kind::Object) => {
                fault(format!("type does not go with {first}"), place)
            }
            _ => Ok(()),
        }
    }

    fn element(&self, place: usize) -> Result<ElementType, Fault> {
        let Some((&element, _)) = located(&self.element) else {
            let names = ElementType::ALL.map(ElementType::name).join(", ");
            let message = Diagnostic::new("it has no type");
            return at(Err(message.hint(format!("type is one of {names}"))), place);
        };
        Ok(element)
    }

    fn buffer(&self, reading: &mut Reading<'_>) -> Result<LaunchBuffer, Fault> {
        let element = self.element.as_ref().map(|element| element.span().start);
        let place = [
            element,
            located(&self.values).map(|(_, place)| place),
            located(&self.file).map(|(_, place)| place),
            located(&self.raw).map(|(_, place)| place),
            located(&self.shape).map(|(_, place)| place),
        ];
        let place = place.into_iter().flatten().next();
        let element = match (&self.element, place) {
            (Some(element), _) => *element.get_ref(),
            (None, Some(place)) => self.element(place)?,
            (None, None) => {
                let message = Diagnostic::new("it has no type and no shape");
                return Err((message.hint("give it both"), None));
            }
        };
        let place = place.unwrap_or_default();
        let shape = match located(&self.shape) {
            Some((shape, place)) if shape.len() > MOST_AXES => {
                let message = format!("shape has {} numbers, at most {MOST_AXES}", shape.len());
                return fault(message, place);
            }
            Some((shape, place)) => {
                let shape: Vec<u64> = shape.iter().map(|&n| n.into()).collect();
                at(reading.claim(elements(&shape), element), place)?;
                Some(shape)
            }
            None => None,
        };
        let (shape, bytes) = self.start(element, shape, place, reading)?;
        Ok(LaunchBuffer {
            expect: self.expected(element, &shape, bytes.len(), reading)?,
            output: self.output()?,
            element,
            shape,
            bytes,
        })
    }

    /// Shape and bytes at the start.
    fn start(
        &self,
        element: ElementType,
        shape: Option<Vec<u64>>,
        place: usize,
        reading: &mut Reading<'_>,
    ) -> Result<(Vec<u64>, Vec<u8>), Fault> {
        let is_random = matches!(located(&self.fill), Some((Fill::Random(_), _)));
        for (key, bound) in [("low", &self.low), ("high", &self.high)] {
            if let (Some((_, place)), false) = (located(bound), is_random) {
                return fault(
                    format!("{key} goes with fill = {{ random = SEED }} only"),
                    place,
                );
            }
        }
        // What a file or a list has, where no shape says how much it is to be.
        let mut sized = |count: u64, place: usize| match &shape {
            Some(shape) if elements(shape) == count => Ok(shape.clone()),
            Some(shape) => {
                let all = elements(shape);
                fault(format!("{count} numbers for a buffer of {all}"), place)
            }
            None => at(reading.claim(count, element), place).map(|()| vec![count]),
        };
        if let Some((values, place)) = located(&self.values) {
            let shape = sized(values.len() as u64, place)?;
            return Ok((shape, at(encode(element, values, "values"), place)?));
        }
        if let Some((name, place)) = located(&self.file) {
            let array = at(reading.array(name, element, shape.as_deref()), place)?;
            if shape.is_none() {
                at(reading.claim(elements(&array.shape), element), place)?;
            }
            return Ok((array.shape, array.bytes));
        }
        if let Some((name, place)) = located(&self.raw) {
            let bytes = at(reading.contents(name), place)?;
            let (length, size) = (bytes.len(), element.size());
            if !length.is_multiple_of(size) {
                return fault(
                    format!("{name} has {length} bytes, no multiple of the {size} of {element}"),
                    place,
                );
            }
            let count = (length / size) as u64;
            let shape = match shape {
                Some(shape) if elements(&shape) == count => shape,
                Some(shape) => {
                    let all = elements(&shape);
                    return fault(
                        format!("{name} has {count} numbers, the buffer {all}"),
                        place,
                    );
                }
                None => {
                    at(reading.claim(count, element), place)?;
                    vec![count]
                }
            };
            return Ok((shape, bytes));
        }
        let (fill, place) = match located(&self.fill) {
            Some((&fill, place)) => (fill, place),
            None => (Fill::Zeros, place),
        };
        let Some(shape) = shape else {
            let message = format!("it is filled with {}, but has no shape", fill.name());
            return fault(message, place);
        };
        let bound = |key: &Option<Spanned<Number>>| located(key).map(|(&number, _)| number);
        let (low, high) = (bound(&self.low), bound(&self.high));
        // `claim` has seen that this is no more than memory has.
        let count = elements(&shape) as usize;
        let bytes = fill.bytes(element, count, low, high);
        Ok((shape, at(bytes.map_err(Diagnostic::new), place)?))
    }

    fn expected(
        &self,
        element: ElementType,
        shape: &[u64],
        size: usize,
        reading: &Reading<'_>,
    ) -> Result<Option<Expected>, Fault> {
        let mut tolerances = [0.0; 2];
        let keys = [("relative", &self.relative), ("absolute", &self.absolute)];
        for (tolerance, (key, given)) in tolerances.iter_mut().zip(keys) {
            let Some((&number, place)) = located(given) else {
                continue;
            };
            if self.expect.is_none() {
                return fault(format!("{key} says nothing without expect"), place);
            }
            if !element.is_float() {
                return fault(format!("{key} is for floats, not for {element}"), place);
            }
            if !(number.is_finite() && number >= 0.0) {
                return fault(format!("{key} is {number}, not a number from 0 on"), place);
            }
            *tolerance = number;
        }
        let [relative, absolute] = tolerances;
        let Some((expect, place)) = located(&self.expect) else {
            return Ok(None);
        };
        let bytes = match expect {
            Numbers::List(numbers) => {
                let bytes = at(encode(element, numbers, "expect"), place)?;
                if bytes.len() != size {
                    let (given, count) = (numbers.len(), elements(shape));
                    return fault(
                        format!("{given} expected numbers for a buffer of {count}"),
                        place,
                    );
                }
                bytes
            }
            Numbers::File(name) => at(reading.array(name, element, Some(shape)), place)?.bytes,
        };
        Ok(Some(Expected {
            bytes,
            relative,
            absolute,
        }))
    }

    fn output(&self) -> Result<Option<String>, Fault> {
        match located(&self.output) {
            None => Ok(None),
            Some((name, _)) if name.ends_with(".npy") => Ok(Some(name.clone())),
            Some((name, place)) => {
                let message = format!("output is {name}, which does not end in .npy");
                at(
                    Err(Diagnostic::new(message).hint("NPY files are written")),
                    place,
                )
            }
        }
    }
}

/// The number of elements of a shape.
fn elements(shape: &[u64]) -> u64 {
    shape.iter().fold(1, |n, &d| n.saturating_mul(d))
}

/// Numbers as bytes; `key` is where they stand.
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

/// A structure as C lays it out: each field at a multiple of its size, the whole padded to a multiple of the largest.
fn structure(fields: &[RawField]) -> Result<Vec<u8>, Diagnostic> {
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
