//! Launch files of GPU kernels: grid, block, parameters.

use serde::Deserialize;
use warpbound_base::Diagnostic;

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
    /// A number, as its bytes.
    Scalar(Vec<u8>),
    /// A buffer of global memory; the parameter is its address.
    Buffer {
        /// The type of an element.
        element: Element,
        /// What it holds at the start.
        bytes: Vec<u8>,
        /// What it holds at the end, when the file says so.
        expect: Option<Expected>,
    },
}

/// What a buffer holds at the end.
#[derive(Clone, PartialEq, Debug)]
pub struct Expected {
    /// The numbers, as many as the buffer has.
    pub bytes: Vec<u8>,
    /// By how much of an expected number a float may differ from it.
    pub relative: f64,
    /// By how much a float may differ in any case.
    pub absolute: f64,
}

/// The type of a number.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)]
pub enum Element {
    U8,
    S8,
    U16,
    S16,
    U32,
    S32,
    U64,
    S64,
    F32,
    F64,
}

impl Element {
    /// Bytes of a number.
    pub fn size(self) -> usize {
        match self {
            Element::U8 | Element::S8 => 1,
            Element::U16 | Element::S16 => 2,
            Element::U32 | Element::S32 | Element::F32 => 4,
            Element::U64 | Element::S64 | Element::F64 => 8,
        }
    }

    /// A number of a file as bytes; `None` when the type cannot hold it.
    fn bytes(self, number: Number) -> Option<Vec<u8>> {
        let (least, most) = match self {
            Element::U8 => (0, i128::from(u8::MAX)),
            Element::S8 => (i8::MIN.into(), i8::MAX.into()),
            Element::U16 => (0, u16::MAX.into()),
            Element::S16 => (i16::MIN.into(), i16::MAX.into()),
            Element::U32 => (0, u32::MAX.into()),
            Element::S32 => (i32::MIN.into(), i32::MAX.into()),
            Element::U64 => (0, u64::MAX.into()),
            Element::S64 => (i64::MIN.into(), i64::MAX.into()),
            Element::F32 => return Some((number.float() as f32).to_le_bytes().to_vec()),
            Element::F64 => return Some(number.float().to_le_bytes().to_vec()),
        };
        let Number::Integer(value) = number else {
            return None;
        };
        let value = i128::from(value);
        let bytes = value.to_le_bytes();
        ((least..=most).contains(&value)).then(|| bytes[..self.size()].to_vec())
    }

    /// Whether a number is the expected one, or near enough for a float. NaN is near NaN; no float is near an
    /// infinite one but itself.
    pub fn matches(self, found: &[u8], expected: &[u8], near: &Expected) -> bool {
        let number = |bytes: &[u8]| match (self, bytes) {
            (Element::F32, &[a, b, c, d]) => Some(f64::from(f32::from_le_bytes([a, b, c, d]))),
            (Element::F64, &[a, b, c, d, e, f, g, h]) => {
                Some(f64::from_le_bytes([a, b, c, d, e, f, g, h]))
            }
            _ => None,
        };
        if found == expected {
            return true;
        }
        let (Some(found), Some(expected)) = (number(found), number(expected)) else {
            return false;
        };
        if near.relative == 0.0 && near.absolute == 0.0 {
            return false;
        }
        let may = near.absolute.max(near.relative * expected.abs());
        found.is_nan() && expected.is_nan()
            || expected.is_finite() && (found - expected).abs() <= may
    }

    /// A number spelled out; nothing when the bytes are too few.
    pub fn spell(self, bytes: &[u8]) -> String {
        let mut low = [0u8; 8];
        for (to, from) in low.iter_mut().zip(bytes) {
            *to = *from;
        }
        let word = u64::from_le_bytes(low);
        match self {
            Element::U8 | Element::U16 | Element::U32 | Element::U64 => word.to_string(),
            Element::S8 => (word as i8).to_string(),
            Element::S16 => (word as i16).to_string(),
            Element::S32 => (word as i32).to_string(),
            Element::S64 => (word as i64).to_string(),
            Element::F32 => f32::from_bits(word as u32).to_string(),
            Element::F64 => f64::from_bits(word).to_string(),
        }
    }
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(untagged)]
enum Number {
    Integer(i64),
    Float(f64),
}

impl Number {
    fn float(self) -> f64 {
        match self {
            Number::Integer(value) => value as f64,
            Number::Float(value) => value,
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    kernel: Option<String>,
    grid: Vec<u32>,
    block: Vec<u32>,
    #[serde(default)]
    dynamic_shared: u32,
    #[serde(default)]
    param: Vec<RawParam>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawParam {
    name: String,
    #[serde(rename = "type")]
    element: Element,
    value: Option<Number>,
    shape: Option<Vec<u32>>,
    fill: Option<Fill>,
    values: Option<Vec<Number>>,
    expect: Option<Vec<Number>>,
    #[serde(default)]
    relative: f64,
    #[serde(default)]
    absolute: f64,
}

/// How a buffer begins.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
enum Fill {
    /// Zeros.
    Zeros,
    /// 0, 1, 2, ...
    Iota,
    /// Numbers from a generator that begins with this seed: integers of 0 to 99, or floats of 0 to 1.
    Random(u64),
}

impl GridFile {
    /// The most bytes of all buffers.
    pub const MOST_BYTES: u64 = 1 << 31;

    /// Reads a launch file; `file` is its name in messages.
    ///
    /// # Errors
    ///
    /// One line naming file, position and cause.
    pub fn parse(file: &str, text: &str) -> Result<GridFile, Diagnostic> {
        let fault = |what: String| Diagnostic::new(what).in_file(file);
        let raw: Raw = toml::from_str(text).map_err(|error| {
            let at = error.span().map(|span| span.start);
            Diagnostic::of_text(file, text, error.message(), at)
        })?;
        let size = |name: &str, given: &[u32], most: u64| {
            let mut size = [1u32; 3];
            if given.len() > 3 || given.is_empty() {
                return Err(fault(format!(
                    "{name} has {} numbers, not 1 to 3",
                    given.len()
                )));
            }
            for (to, from) in size.iter_mut().zip(given) {
                *to = *from;
            }
            let all = size.iter().fold(1u64, |n, &d| n.saturating_mul(d.into()));
            match (1..=most).contains(&all) {
                true => Ok(size),
                false => Err(fault(format!("{name} has {all} elements, not 1 to {most}"))),
            }
        };
        let mut total = 0u64;
        let mut params = Vec::new();
        for param in &raw.param {
            let here = |what: &str| fault(format!("parameter {}: {what}", param.name));
            let value = param.value(&mut total).map_err(|what| here(&what))?;
            params.push(GridParam {
                name: param.name.clone(),
                value,
            });
        }
        Ok(GridFile {
            file: file.to_owned(),
            grid: size("grid", &raw.grid, 1 << 31)?,
            block: size("block", &raw.block, 1024)?,
            kernel: raw.kernel,
            dynamic_shared: raw.dynamic_shared,
            params,
        })
    }
}

impl RawParam {
    fn value(&self, total: &mut u64) -> Result<ParamValue, String> {
        let bytes_of = |number: Number| {
            self.element
                .bytes(number)
                .ok_or_else(|| format!("{number:?} is no number of its type"))
        };
        let all = |numbers: &[Number]| -> Result<Vec<u8>, String> {
            let parts: Result<Vec<Vec<u8>>, String> =
                numbers.iter().map(|&n| bytes_of(n)).collect();
            Ok(parts?.concat())
        };
        if let Some(value) = self.value {
            let only = self.shape.is_none() && self.fill.is_none() && self.values.is_none();
            return match only && self.expect.is_none() {
                true => Ok(ParamValue::Scalar(bytes_of(value)?)),
                false => Err("it has a value, so it is no buffer".to_owned()),
            };
        }
        let count = match (&self.shape, &self.values) {
            (Some(shape), _) => shape.iter().fold(1u64, |n, &d| n.saturating_mul(d.into())),
            (None, Some(values)) => values.len() as u64,
            (None, None) => return Err("it has neither a value nor a shape".to_owned()),
        };
        *total = total.saturating_add(count.saturating_mul(self.element.size() as u64));
        if *total > GridFile::MOST_BYTES {
            return Err(format!(
                "the buffers have more than {} bytes",
                GridFile::MOST_BYTES
            ));
        }
        let bytes = match (&self.values, self.fill) {
            (Some(values), None) => all(values)?,
            (None, fill) => self.filled(fill.unwrap_or(Fill::Zeros), count)?,
            (Some(_), Some(_)) => return Err("it has both values and a fill".to_owned()),
        };
        let size = count as usize * self.element.size();
        let expect = self.expect.as_deref().map(all).transpose()?;
        for bytes in [Some(&bytes), expect.as_ref()].into_iter().flatten() {
            if bytes.len() != size {
                let given = bytes.len() / self.element.size();
                return Err(format!("{given} values for a buffer of {count}"));
            }
        }
        Ok(ParamValue::Buffer {
            element: self.element,
            bytes,
            expect: expect.map(|bytes| Expected {
                bytes,
                relative: self.relative,
                absolute: self.absolute,
            }),
        })
    }

    fn filled(&self, fill: Fill, count: u64) -> Result<Vec<u8>, String> {
        let mut bytes = Vec::with_capacity(count as usize * self.element.size());
        let is_float = matches!(self.element, Element::F32 | Element::F64);
        let mut state = match fill {
            Fill::Random(seed) => seed,
            Fill::Zeros | Fill::Iota => 0,
        };
        for number in 0..count {
            let value = match fill {
                Fill::Zeros => Number::Integer(0),
                Fill::Iota => Number::Integer(number as i64),
                Fill::Random(_) => {
                    // The splitmix64 generator.
                    state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
                    let mut word = state;
                    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
                    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
                    word ^= word >> 31;
                    match is_float {
                        true => Number::Float((word >> 40) as f64 / (1u64 << 24) as f64),
                        false => Number::Integer((word % 100) as i64),
                    }
                }
            };
            let element = self.element.bytes(value);
            bytes.extend(element.ok_or_else(|| format!("its type cannot hold {number}"))?);
        }
        Ok(bytes)
    }
}
