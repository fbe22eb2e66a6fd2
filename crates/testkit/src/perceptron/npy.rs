//! The array files of NumPy (format 1.0), as far as weights and images need them: little-endian, rows first.

/// A number that such files hold.
pub trait Item: Copy {
    /// Its type in the header.
    const DESCR: &'static str;

    /// Bytes of a number.
    const SIZE: usize;

    /// Its bytes, the lowest first.
    fn put(self, bytes: &mut Vec<u8>);

    /// The number of `SIZE` bytes, the lowest first.
    fn of(bytes: &[u8]) -> Self;
}

impl Item for u8 {
    const DESCR: &'static str = "|u1";
    const SIZE: usize = 1;

    fn put(self, bytes: &mut Vec<u8>) {
        bytes.push(self);
    }

    fn of(bytes: &[u8]) -> u8 {
        bytes.first().copied().unwrap_or(0)
    }
}

impl Item for f32 {
    const DESCR: &'static str = "<f4";
    const SIZE: usize = 4;

    fn put(self, bytes: &mut Vec<u8>) {
        bytes.extend(self.to_le_bytes());
    }

    fn of(bytes: &[u8]) -> f32 {
        let mut four = [0; 4];
        for (to, from) in four.iter_mut().zip(bytes) {
            *to = *from;
        }
        f32::from_le_bytes(four)
    }
}

const MAGIC: &[u8] = b"\x93NUMPY\x01\x00";

/// The contents of a file with an array of a shape.
pub fn write<T: Item>(shape: &[usize], numbers: &[T]) -> Vec<u8> {
    let mut header = header::<T>(shape);
    // The numbers begin at a multiple of 64; the header ends with a line feed.
    let before = MAGIC.len() + 2;
    let filled = (before + header.len() + 1).next_multiple_of(64) - before;
    while header.len() + 1 < filled {
        header.push(' ');
    }
    header.push('\n');
    let mut bytes = MAGIC.to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    numbers.iter().for_each(|number| number.put(&mut bytes));
    bytes
}

/// The numbers of a file with an array of this type and shape.
///
/// # Errors
///
/// What is wrong with the file.
pub fn read<T: Item>(contents: &[u8], shape: &[usize]) -> Result<Vec<T>, String> {
    let rest = contents
        .strip_prefix(MAGIC)
        .ok_or("it is no array file of format 1.0")?;
    let (length, rest) = match rest {
        [low, high, rest @ ..] => (usize::from(u16::from_le_bytes([*low, *high])), rest),
        _ => return Err("the header is cut off".to_owned()),
    };
    let (found, data) = rest
        .split_at_checked(length)
        .ok_or("the header is cut off")?;
    let found = String::from_utf8_lossy(found);
    let expected = header::<T>(shape);
    if found.trim_end() != expected {
        return Err(format!("it is {}, not {expected}", found.trim_end()));
    }
    if data.len() != shape.iter().product::<usize>() * T::SIZE {
        return Err(format!("{} bytes of numbers for {shape:?}", data.len()));
    }
    Ok(data.chunks(T::SIZE).map(T::of).collect())
}

/// The header without its end, as NumPy writes it.
fn header<T: Item>(shape: &[usize]) -> String {
    let sizes: Vec<String> = shape.iter().map(usize::to_string).collect();
    let comma = if shape.len() == 1 { "," } else { "" };
    format!(
        "{{'descr': '{}', 'fortran_order': False, 'shape': ({}{comma}), }}",
        T::DESCR,
        sizes.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let bytes = write(
            &[2, 3],
            &[1.5f32, -2.0, 0.0, f32::MAX, f32::MIN_POSITIVE, 1e-3],
        );
        assert_eq!(bytes.len() % 64, 24);
        assert_eq!(bytes.get(127), Some(&b'\n'));
        let back: Vec<f32> = read(&bytes, &[2, 3]).expect("it was just written");
        assert_eq!(back, [1.5, -2.0, 0.0, f32::MAX, f32::MIN_POSITIVE, 1e-3]);
        assert!(read::<f32>(&bytes, &[3, 2]).is_err());
        assert!(read::<u8>(&bytes, &[2, 3]).is_err());
        for cut in 0..bytes.len() {
            assert!(read::<f32>(&bytes[..cut], &[2, 3]).is_err());
        }
    }
}
