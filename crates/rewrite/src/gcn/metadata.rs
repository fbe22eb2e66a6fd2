//! Places of register counts in the metadata of a code object, which is MessagePack.
//!
//! For example, `ab .sgpr_count 10` states 16 scalar registers: a text of 11 bytes, and a number of one byte. Only
//! numbers are changed, and only if their length stays, because nothing else in the note moves.

/// Maximum depth of nested lists and maps, which limits the recursion in hostile files.
const MAX_DEPTH: usize = 32;

/// Places of the register counts of a kernel in metadata: offsets of the first bytes of the values.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct RegisterPlaces {
    pub(super) name: String,
    pub(super) scalar: Option<usize>,
    pub(super) vector: Option<usize>,
}

/// Finds the places of all kernels; `None` if the bytes are no metadata.
pub(super) fn register_places(bytes: &[u8]) -> Option<Vec<RegisterPlaces>> {
    let mut kernels = Vec::new();
    each_entry(bytes, 0, |key, at| {
        if key == b"amdhsa.kernels" {
            kernels = elements(bytes, at)?;
        }
        Some(())
    })?;
    let mut found = Vec::new();
    for kernel in kernels {
        let mut places = RegisterPlaces::default();
        each_entry(bytes, kernel, |key, at| {
            match key {
                b".name" => {
                    let (start, end) = text(bytes, at)?;
                    places.name = String::from_utf8_lossy(bytes.get(start..end)?).into_owned();
                }
                b".sgpr_count" => places.scalar = Some(at),
                b".vgpr_count" => places.vector = Some(at),
                _ => {}
            }
            Some(())
        })?;
        found.push(places);
    }
    Some(found)
}

/// Writes a number over another one of the same length. Returns whether that is possible.
pub(super) fn put_number(bytes: &mut [u8], at: usize, number: u16) -> bool {
    let Some(tail) = bytes.get_mut(at..) else {
        return false;
    };
    match (tail, u8::try_from(number)) {
        // MessagePack writes numbers up to 127 in the first byte itself.
        ([value @ 0..=0x7f, ..], Ok(small @ 0..=0x7f)) => {
            *value = small;
            true
        }
        ([0xcc, value, ..], Ok(number)) => {
            *value = number;
            true
        }
        ([0xcd, high, low, ..], _) => {
            [*high, *low] = number.to_be_bytes();
            true
        }
        _ => false,
    }
}

/// Visits each entry of a map with its key, which is a text, and the offset of its value.
fn each_entry(
    bytes: &[u8],
    at: usize,
    mut visit: impl FnMut(&[u8], usize) -> Option<()>,
) -> Option<()> {
    let (count, mut at) = match *bytes.get(at)? {
        short @ 0x80..=0x8f => (usize::from(short & 15), at + 1),
        0xde => (number(bytes, at + 1, 2)?, at + 3),
        0xdf => (number(bytes, at + 1, 4)?, at + 5),
        _ => return None,
    };
    for _ in 0..count {
        let (start, end) = text(bytes, at)?;
        visit(bytes.get(start..end)?, end)?;
        at = skip(bytes, end, 0)?;
    }
    Some(())
}

/// Returns the offsets of the elements of a list.
fn elements(bytes: &[u8], at: usize) -> Option<Vec<usize>> {
    let (count, mut at) = match *bytes.get(at)? {
        short @ 0x90..=0x9f => (usize::from(short & 15), at + 1),
        0xdc => (number(bytes, at + 1, 2)?, at + 3),
        0xdd => (number(bytes, at + 1, 4)?, at + 5),
        _ => return None,
    };
    let mut found = Vec::new();
    for _ in 0..count {
        found.push(at);
        at = skip(bytes, at, 0)?;
    }
    Some(found)
}

/// Returns the start and the end of a text.
fn text(bytes: &[u8], at: usize) -> Option<(usize, usize)> {
    let (length, start) = match *bytes.get(at)? {
        short @ 0xa0..=0xbf => (usize::from(short & 31), at + 1),
        0xd9 => (number(bytes, at + 1, 1)?, at + 2),
        0xda => (number(bytes, at + 1, 2)?, at + 3),
        0xdb => (number(bytes, at + 1, 4)?, at + 5),
        _ => return None,
    };
    let end = start.checked_add(length)?;
    (end <= bytes.len()).then_some((start, end))
}

/// Returns the offset after a value.
fn skip(bytes: &[u8], at: usize, depth: usize) -> Option<usize> {
    if depth > MAX_DEPTH {
        return None;
    }
    let first = *bytes.get(at)?;
    let sized = |width: usize, each: usize| {
        let count = number(bytes, at + 1, width)?;
        at.checked_add(1 + width)?
            .checked_add(count.checked_mul(each)?)
    };
    let many =
        |count: usize, start: usize| (0..count).try_fold(start, |at, _| skip(bytes, at, depth + 1));
    match first {
        0..=0x7f | 0xc0..=0xc3 | 0xe0..=0xff => Some(at + 1),
        0x80..=0x8f => many(2 * usize::from(first & 15), at + 1),
        0x90..=0x9f => many(usize::from(first & 15), at + 1),
        0xa0..=0xbf => Some(at + 1 + usize::from(first & 31)),
        0xc4 | 0xd9 => sized(1, 1),
        0xc5 | 0xda => sized(2, 1),
        0xc6 | 0xdb => sized(4, 1),
        0xcc | 0xd0 => Some(at + 2),
        0xcd | 0xd1 => Some(at + 3),
        0xca | 0xce | 0xd2 => Some(at + 5),
        0xcb | 0xcf | 0xd3 => Some(at + 9),
        0xdc => many(number(bytes, at + 1, 2)?, at + 3),
        0xdd => many(number(bytes, at + 1, 4)?, at + 5),
        0xde => many(number(bytes, at + 1, 2)?.checked_mul(2)?, at + 3),
        0xdf => many(number(bytes, at + 1, 4)?.checked_mul(2)?, at + 5),
        _ => None,
    }
    .filter(|end| *end <= bytes.len())
}

/// Big-endian number of `width` bytes.
fn number(bytes: &[u8], at: usize, width: usize) -> Option<usize> {
    let bytes = bytes.get(at..at.checked_add(width)?)?;
    let number = bytes.iter().fold(0u64, |n, byte| n << 8 | u64::from(*byte));
    usize::try_from(number).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_found_and_changed() {
        let mut bytes = vec![0x82];
        let text = |bytes: &mut Vec<u8>, text: &str| {
            bytes.push(0xa0 | text.len() as u8);
            bytes.extend_from_slice(text.as_bytes());
        };
        text(&mut bytes, "amdhsa.version");
        bytes.extend([0x92, 1, 0xcd, 1, 2]);
        text(&mut bytes, "amdhsa.kernels");
        bytes.extend([0x91, 0x83]);
        text(&mut bytes, ".name");
        text(&mut bytes, "kernel");
        text(&mut bytes, ".sgpr_count");
        bytes.push(16);
        text(&mut bytes, ".vgpr_count");
        bytes.extend([0xcc, 200]);
        let places = register_places(&bytes).expect("metadata");
        let [kernel] = places.as_slice() else {
            panic!("{places:?}");
        };
        assert_eq!(kernel.name, "kernel");
        let (scalar, vector) = (kernel.scalar.expect("there"), kernel.vector.expect("there"));
        assert!(put_number(&mut bytes, scalar, 100) && !put_number(&mut bytes, vector, 256));
        assert!(!put_number(&mut bytes, scalar, 128) && put_number(&mut bytes, vector, 255));
        assert_eq!((bytes[scalar], bytes[vector + 1]), (100, 255));
        for length in 0..bytes.len() {
            assert_eq!(register_places(&bytes[..length]), None, "{length}");
        }
    }
}
