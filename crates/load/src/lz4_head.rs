//! Start of an LZ4 block. For example, the 64 bytes of an ELF header are the first of several megabytes, and need no more
//! than the first sequences of the block.

/// Number in the four bits of a token, with the bytes that follow if they are all ones.
fn length(start: u8, packed: &mut std::slice::Iter<'_, u8>) -> Option<usize> {
    let mut sum = usize::from(start);
    if start == 15 {
        loop {
            let more = *packed.next()?;
            sum = sum.checked_add(usize::from(more))?;
            if more != u8::MAX {
                break;
            }
        }
    }
    Some(sum)
}

/// The first `count` unpacked bytes, or all if there are fewer; `None` for a damaged block.
pub(crate) fn lz4_head(packed: &[u8], count: usize) -> Option<Vec<u8>> {
    /// A match has at least these bytes, which its length does not count.
    const SHORTEST_MATCH: usize = 4;
    let mut out = Vec::with_capacity(count);
    let mut packed = packed.iter();
    while out.len() < count {
        let Some(&token) = packed.next() else {
            break;
        };
        let literals = length(token >> 4, &mut packed)?;
        let wanted = literals.min(count - out.len());
        out.extend_from_slice(packed.as_slice().get(..wanted)?);
        if out.len() == count {
            break;
        }
        packed = packed.as_slice().get(literals..)?.iter();
        // The last sequence has no match.
        let Some(&low) = packed.next() else {
            break;
        };
        let distance = usize::from(u16::from_le_bytes([low, *packed.next()?]));
        let length = length(token & 15, &mut packed)?.checked_add(SHORTEST_MATCH)?;
        for _ in 0..length.min(count - out.len()) {
            // A match may overlap the bytes that it makes.
            let from = out.len().checked_sub(distance).filter(|_| distance > 0)?;
            out.push(*out.get(from)?);
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::lz4_head;

    #[test]
    fn heads_are_prefixes_of_the_unpacked_block() {
        let mixed: Vec<u8> = (0..5000_u32).map(|at| (at * at / 128) as u8).collect();
        let samples = [
            mixed.as_slice(),
            &[0; 3000],
            b"abcabcabcabcabcabcabcabcabcabcabcabc....end",
            b"short",
            b"",
        ];
        for bytes in samples {
            let packed = lz4_flex::block::compress(bytes);
            for count in [0, 1, 5, 16, 64, 300, 10_000] {
                let expected = &bytes[..count.min(bytes.len())];
                assert_eq!(
                    lz4_head(&packed, count).as_deref(),
                    Some(expected),
                    "{count}"
                );
            }
        }
    }

    #[test]
    fn damaged_blocks_have_no_head() {
        // Literals that are cut off, a match before the start, a distance of 0, lengths without an end.
        for packed in [
            &[0x50, 1, 2][..],
            &[0x10, 7, 2, 0],
            &[0x10, 7, 0, 0],
            &[0xf0, 255],
            &[0x1f, 7, 1, 0, 255],
        ] {
            assert_eq!(lz4_head(packed, 64), None, "{packed:?}");
        }
    }
}
