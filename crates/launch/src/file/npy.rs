//! NPY files, NumPy's file format of an array (NumPy documentation, `numpy.lib.format`): magic string, version, size of
//! the header, header as a Python dictionary, numbers.

use warpbound_base::Diagnostic;

use super::element::ElementType;

const MAGIC: &[u8] = b"\x93NUMPY";

/// Alignment of the numbers in the file, in bytes; the header is padded to it.
const ALIGNMENT: usize = 64;

/// An array of numbers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NpyArray {
    /// Type of an element.
    pub element: ElementType,
    /// Number of elements along each axis.
    pub shape: Vec<u64>,
    /// Little-endian elements in C order (last axis fastest).
    pub bytes: Vec<u8>,
}

/// Keys of a header.
#[derive(Default)]
struct Header {
    descr: Option<String>,
    fortran: Option<bool>,
    shape: Option<Vec<u64>>,
}

impl NpyArray {
    /// Parses an NPY file of version 1, 2 or 3 with plain little-endian numbers in C order.
    ///
    /// # Errors
    ///
    /// The defect of the file, with a hint how to write a readable one with NumPy.
    pub fn from_npy(contents: &[u8]) -> Result<NpyArray, Diagnostic> {
        let (header, data) = split(contents)?;
        let header = Parser { rest: header }.dictionary()?;
        let missing = |key: &str| damaged(&format!("its header has no {key}"));
        let descr = header.descr.ok_or_else(|| missing("descr"))?;
        let element = element_of(&descr)?;
        let shape = header.shape.ok_or_else(|| missing("shape"))?;
        if header.fortran.ok_or_else(|| missing("fortran_order"))? {
            return Err(Diagnostic::new("its numbers are in Fortran order")
                .hint("save numpy.ascontiguousarray(...)"));
        }
        let size = element.size() as u64;
        // A saturated product differs from the length of any data, so the file is refused.
        let needed = shape.iter().fold(size, |n, &d| n.saturating_mul(d));
        if needed != data.len() as u64 {
            return Err(damaged(&format!(
                "it has {} bytes of numbers, its header says {needed}",
                data.len()
            )));
        }
        Ok(NpyArray {
            element,
            shape,
            bytes: data.to_owned(),
        })
    }

    /// Returns an NPY file of version 1, or 2 if the header is too long for version 1.
    pub fn to_npy(&self) -> Vec<u8> {
        let sizes: Vec<String> = self.shape.iter().map(u64::to_string).collect();
        let shape = match sizes.as_slice() {
            // Without the comma Python reads a number, not a tuple.
            [one] => format!("({one},)"),
            all => format!("({})", all.join(", ")),
        };
        let descr = descr_of(self.element);
        let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
        let mut out = MAGIC.to_vec();
        // The header of a file of version 1 begins at byte 10, of version 2 at byte 12, because its length has two
        // more bytes.
        let padded = |before: usize| (before + header.len() + 1).next_multiple_of(ALIGNMENT);
        let total = match u16::try_from(padded(10) - 10) {
            Ok(length) => {
                out.extend([1, 0]);
                out.extend(length.to_le_bytes());
                padded(10)
            }
            Err(_) => {
                out.extend([2, 0]);
                // A header that long is written with four bytes of length, and has less than 4 GiB.
                let length = u32::try_from(padded(12) - 12).unwrap_or(u32::MAX);
                out.extend(length.to_le_bytes());
                padded(12)
            }
        };
        out.extend(header.as_bytes());
        // The format pads the header with spaces and ends it with a newline.
        out.resize(total - 1, b' ');
        out.push(b'\n');
        out.extend(&self.bytes);
        out
    }
}

/// Returns the diagnostic of a damaged file.
fn damaged(message: &str) -> Diagnostic {
    Diagnostic::new(format!("not a whole NPY file: {message}")).hint("write it with numpy.save")
}

/// Splits a file into header and numbers.
fn split(contents: &[u8]) -> Result<(&[u8], &[u8]), Diagnostic> {
    let rest = contents
        .strip_prefix(MAGIC)
        .ok_or_else(|| Diagnostic::new("no NPY file").hint("write it with numpy.save"))?;
    let short = || damaged("it ends in its header");
    let (length, rest) = match rest {
        [1, _, a, b, rest @ ..] => (usize::from(u16::from_le_bytes([*a, *b])), rest),
        [2 | 3, _, a, b, c, d, rest @ ..] => (u32::from_le_bytes([*a, *b, *c, *d]) as usize, rest),
        [major, ..] if !(1..=3).contains(major) => {
            let message = format!("an NPY file of version {major}, which is not known");
            return Err(Diagnostic::new(message).hint("write it with numpy.save"));
        }
        _ => return Err(short()),
    };
    rest.split_at_checked(length).ok_or_else(short)
}

/// NumPy's `descr` of a type.
fn descr_of(element: ElementType) -> &'static str {
    match element {
        ElementType::U8 => "|u1",
        ElementType::S8 => "|i1",
        ElementType::U16 => "<u2",
        ElementType::S16 => "<i2",
        ElementType::U32 => "<u4",
        ElementType::S32 => "<i4",
        ElementType::U64 => "<u8",
        ElementType::S64 => "<i8",
        ElementType::F16 => "<f2",
        ElementType::F32 => "<f4",
        ElementType::F64 => "<f8",
    }
}

/// Returns the type of a `descr`: for example, `<f4` is `f32`.
fn element_of(descr: &str) -> Result<ElementType, Diagnostic> {
    let (order, kind) = descr.split_at_checked(1).unwrap_or(("", descr));
    let found = ElementType::ALL
        .into_iter()
        .find(|&element| descr_of(element).get(1..) == Some(kind));
    match (found, order) {
        // Single bytes have no byte order.
        (Some(element), "<" | "|" | ">" | "=") if element.size() == 1 => Ok(element),
        (Some(element), "<") => Ok(element),
        (Some(_), ">") => Err(Diagnostic::new(format!(
            "its numbers ({descr}) have the highest byte first"
        ))
        .hint(format!("save ....astype(\"<{kind}\")"))),
        _ => Err(Diagnostic::new(format!(
            "its numbers ({descr}) are of no type of launch files"
        ))
        .hint("convert them with astype")),
    }
}

/// Parser of a Python dictionary literal of strings, booleans and tuples of integers.
struct Parser<'a> {
    rest: &'a [u8],
}

impl<'a> Parser<'a> {
    /// Parses the header.
    fn dictionary(mut self) -> Result<Header, Diagnostic> {
        let mut header = Header::default();
        self.expect(b'{')?;
        while !self.take(b'}') {
            let key = self.string()?;
            self.expect(b':')?;
            match key {
                "descr" if self.starts(b'[') => {
                    return Err(Diagnostic::new("its numbers are in structures")
                        .hint("save each field as an array"));
                }
                "descr" => header.descr = Some(self.string()?.to_owned()),
                "fortran_order" => header.fortran = Some(self.boolean()?),
                "shape" => header.shape = Some(self.tuple()?),
                key => {
                    // The file may contain anything, so the message has a short and escaped key.
                    let key: String = key.escape_default().take(40).collect();
                    return Err(damaged(&format!("its header has a key {key}")));
                }
            }
            // Python allows a comma after the last entry, and NumPy writes one.
            if !self.take(b',') {
                self.expect(b'}')?;
                break;
            }
        }
        match self.rest.trim_ascii() {
            [] => Ok(header),
            _ => Err(damaged("its header continues after its end")),
        }
    }

    /// Whether the next byte after white space is `byte`.
    fn starts(&mut self, byte: u8) -> bool {
        self.rest = self.rest.trim_ascii_start();
        self.rest.first() == Some(&byte)
    }

    /// Consumes `byte` if it is next; returns whether it was.
    fn take(&mut self, byte: u8) -> bool {
        let found = self.starts(byte);
        if found {
            self.rest = self.rest.get(1..).unwrap_or_default();
        }
        found
    }

    fn expect(&mut self, byte: u8) -> Result<(), Diagnostic> {
        match self.take(byte) {
            true => Ok(()),
            false => Err(damaged(&format!("its header has no {}", byte as char))),
        }
    }

    fn string(&mut self) -> Result<&'a str, Diagnostic> {
        let quote = if self.starts(b'"') { b'"' } else { b'\'' };
        self.expect(quote)?;
        let end = self.rest.iter().position(|&byte| byte == quote);
        let (text, rest) = end
            .and_then(|end| self.rest.split_at_checked(end))
            .ok_or_else(|| damaged("a string of its header does not end"))?;
        self.rest = rest.get(1..).unwrap_or_default();
        std::str::from_utf8(text).map_err(|_| damaged("its header is no text"))
    }

    fn boolean(&mut self) -> Result<bool, Diagnostic> {
        self.rest = self.rest.trim_ascii_start();
        for (word, value) in [("True", true), ("False", false)] {
            if let Some(rest) = self.rest.strip_prefix(word.as_bytes()) {
                self.rest = rest;
                return Ok(value);
            }
        }
        Err(damaged("fortran_order is neither True nor False"))
    }

    fn tuple(&mut self) -> Result<Vec<u64>, Diagnostic> {
        let mut numbers = Vec::new();
        self.expect(b'(')?;
        while !self.take(b')') {
            self.rest = self.rest.trim_ascii_start();
            let digits = self.rest.iter().take_while(|b| b.is_ascii_digit()).count();
            let (number, rest) = self.rest.split_at_checked(digits).unwrap_or_default();
            let number = std::str::from_utf8(number)
                .ok()
                .and_then(|n| n.parse().ok());
            numbers.push(number.ok_or_else(|| damaged("its shape is no tuple of numbers"))?);
            self.rest = rest;
            if !self.take(b',') {
                self.expect(b')')?;
                break;
            }
        }
        Ok(numbers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(major: u8, header: &str, data: &[u8]) -> Vec<u8> {
        let mut out = [MAGIC, &[major, 0]].concat();
        match major {
            1 => out.extend((header.len() as u16).to_le_bytes()),
            _ => out.extend((header.len() as u32).to_le_bytes()),
        }
        out.extend(header.as_bytes());
        out.extend(data);
        out
    }

    /// The output of `numpy.save` for `numpy.arange(6, dtype="<u2").reshape(2, 3)`.
    #[test]
    fn a_file_of_numpy() {
        let header = "{'descr': '<u2', 'fortran_order': False, 'shape': (2, 3), }";
        let bytes = [0, 0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0];
        // `numpy.save` pads this header so that the numbers begin at byte 128.
        let padded = format!("{header:<117}\n");
        let contents = file(1, &padded, &bytes);
        assert_eq!(contents.len(), 128 + 12);
        let array = NpyArray::from_npy(&contents).unwrap();
        assert_eq!(array.element, ElementType::U16);
        assert_eq!(array.shape, [2, 3]);
        assert_eq!(array.bytes, bytes);
        assert_eq!(array.to_npy().len() % 64, 12);
        assert_eq!(&array.to_npy()[10..][..header.len()], header.as_bytes());
    }

    #[test]
    fn round_trip() {
        for element in ElementType::ALL {
            // The last shape has a header that is too long for version 1.
            for shape in [vec![], vec![3], vec![2, 0], vec![2, 1, 3], vec![1; 20_000]] {
                let count = shape.iter().product::<u64>() as usize;
                let bytes = (0..count * element.size()).map(|n| n as u8).collect();
                let array = NpyArray {
                    element,
                    shape,
                    bytes,
                };
                let written = array.to_npy();
                assert_eq!((written.len() - array.bytes.len()) % 64, 0);
                assert_eq!(NpyArray::from_npy(&written).unwrap(), array);
            }
        }
    }

    #[test]
    fn other_spellings() {
        for (major, header) in [
            (2, "{\"descr\":'<i4','fortran_order':False,\"shape\":(1,)}"),
            (
                3,
                " { 'shape' : ( 1 , ), 'fortran_order' : False , 'descr' : '<i4' } \n",
            ),
        ] {
            let array = NpyArray::from_npy(&file(major, header, &[7, 0, 0, 0])).unwrap();
            assert_eq!((array.element, array.shape), (ElementType::S32, vec![1]));
        }
    }

    #[test]
    fn unreadable_files_are_refused() {
        let plain = "{'descr': '<i4', 'fortran_order': False, 'shape': (1,), }";
        let with = |from: &str, to: &str| file(1, &plain.replace(from, to), &[0; 4]);
        for (contents, message) in [
            (b"PK\x03\x04".to_vec(), "no NPY file"),
            (MAGIC.to_vec(), "ends in its header"),
            (file(1, plain, &[0; 4])[..40].to_vec(), "ends in its header"),
            (file(9, plain, &[0; 4]), "version 9"),
            (
                file(1, plain, &[0; 3]),
                "it has 3 bytes of numbers, its header says 4",
            ),
            (
                file(1, plain, &[0; 5]),
                "it has 5 bytes of numbers, its header says 4",
            ),
            (
                with("False", "True"),
                "Fortran order; save numpy.ascontiguousarray",
            ),
            (with("False", "0"), "neither True nor False"),
            (
                with("<i4", ">i4"),
                "highest byte first; save ....astype(\"<i4\")",
            ),
            (with("<i4", "<c8"), "no type of launch files"),
            (with("<i4", "|b1"), "no type of launch files"),
            (with("<i4", "é"), "no type of launch files"),
            (with("<i4", ""), "no type of launch files"),
            (with("'<i4'", "[('a', '<i4')]"), "structures"),
            (with("'shape'", "'size'"), "a key size"),
            (with("(1,)", "(-1,)"), "no tuple"),
            (with("(1,)", "(99999999999999999999,)"), "no tuple"),
            (
                with("(1,)", "(4294967296, 4294967296, 9)"),
                "its header says 1844",
            ),
            (with(", }", ", } x"), "after its end"),
            (with(", 'shape': (1,)", ""), "no shape"),
            (with("'descr': '<i4', ", ""), "no descr"),
            (with("'fortran_order': False, ", ""), "no fortran_order"),
            (with(", }", ""), "no }"),
            (with("'shape'", "'shape"), "does not end"),
            (with("'shape':", "'shape'"), "no :"),
        ] {
            let said = NpyArray::from_npy(&contents).unwrap_err().to_string();
            assert!(said.contains(message), "{message:?}: {said}");
        }
    }

    /// Any prefix, and any changed byte of the header, is read or refused.
    #[test]
    fn damaged_files_cause_no_panic() {
        let array = NpyArray {
            element: ElementType::F32,
            shape: vec![2, 3],
            bytes: vec![0; 24],
        };
        let whole = array.to_npy();
        for end in 0..whole.len() {
            assert!(NpyArray::from_npy(&whole[..end]).is_err());
        }
        // The header takes the first 128 bytes.
        for at in 0..128 {
            for byte in 0..=255 {
                let mut changed = whole.clone();
                changed[at] = byte;
                let _ = NpyArray::from_npy(&changed);
            }
        }
    }
}
