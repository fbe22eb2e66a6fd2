//! Addresses of buffer accesses (GCN3 ISA manual, 8.1.5 "Buffer addressing"; gem5, `Inst_MUBUF::calcAddr`).

/// Layout of a buffer, from the four words of its descriptor and the scalar offset of the instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct BufferLayout {
    /// Address of the first byte, the scalar offset included.
    base: u64,
    /// Bytes between records.
    stride: u64,
    /// Size: number of records of swizzled buffers with a stride, otherwise bytes.
    records: u32,
    scalar_offset: u32,
    /// Of swizzled buffers, the number of records whose elements lie together, and the bytes of an element.
    swizzle: Option<[u64; 2]>,
    /// Whether the number of the lane is added to the index.
    adds_lane: bool,
}

impl BufferLayout {
    /// Reads a descriptor.
    pub(super) fn new(descriptor: [u32; 4], scalar_offset: u32) -> BufferLayout {
        let [low, high, records, layout] = descriptor;
        let base = u64::from(low) | u64::from(high & 0xffff) << 32;
        let adds_lane = layout >> 23 & 1 == 1;
        let stride = high >> 16 & 0x3fff;
        // If the lane is added to the index, the bits of the data format extend the stride.
        let more = if adds_lane { layout >> 15 & 15 } else { 0 };
        let is_swizzled = high >> 31 == 1;
        BufferLayout {
            base: base + u64::from(scalar_offset),
            stride: u64::from(stride | more << 14),
            records,
            scalar_offset,
            swizzle: is_swizzled.then(|| [8 << (layout >> 21 & 3), 2 << (layout >> 19 & 3)]),
            adds_lane,
        }
    }

    /// Returns the address of a byte at an offset in a record; `None` if it is out of range: loads give 0 there, and
    /// stores are dropped. For example, in a buffer that is swizzled with 64 records and elements of 4 bytes, the
    /// first element of record 1 is at byte 4.
    pub(super) fn address(&self, offset: u32, index: u32, lane: usize) -> Option<u64> {
        let lane = if self.adds_lane { lane as u64 } else { 0 };
        let (offset, index) = (u64::from(offset), u64::from(index) + lane);
        // In 64 bits: the stride has at most 18 bits and the index 33, so nothing overflows.
        let linear = offset + self.stride * index;
        let is_inside = match self.swizzle {
            Some(_) if self.stride != 0 => index < u64::from(self.records) && offset < self.stride,
            // The manual subtracts the scalar offset; the subtraction wraps around, as in gem5.
            _ => linear < u64::from(self.records.wrapping_sub(self.scalar_offset)),
        };
        let at = match self.swizzle {
            None => linear,
            Some([records, element]) => {
                let row = index / records * self.stride + offset / element * element;
                row * records + index % records * element + offset % element
            }
        };
        is_inside.then(|| self.base.wrapping_add(at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linear_buffers() {
        let layout = BufferLayout::new([0x1000, 0x7 | 12 << 16, 120, 0], 8);
        assert_eq!(layout.address(4, 2, 3), Some(0x7_0000_1000 + 8 + 4 + 24));
        // The size is in bytes, less the scalar offset.
        assert_eq!(layout.address(3, 9, 0), Some(0x7_0000_1000 + 8 + 3 + 108));
        assert_eq!(layout.address(4, 9, 0), None);
        assert_eq!(layout.address(0, 10, 0), None);
    }

    /// Scratch: words of the 64 lanes follow each other.
    #[test]
    fn swizzled_by_lane() {
        let layout = 1 << 19 | 3 << 21 | 1 << 23;
        let layout = BufferLayout::new([0, 0x4000 | 1 << 31, 1 << 20, layout], 4096);
        let base = 0x4000_0000_0000 + 4096;
        assert_eq!(layout.address(0, 0, 5), Some(base + 20));
        assert_eq!(layout.address(9, 0, 5), Some(base + 2 * 256 + 20 + 1));
    }

    #[test]
    fn swizzled_records() {
        // Records of 16 bytes, elements of 8 bytes, 8 records together, 20 records.
        let layout = BufferLayout::new([0, 16 << 16 | 1 << 31, 20, 2 << 19], 0);
        assert_eq!(layout.address(0, 1, 9), Some(8));
        assert_eq!(layout.address(12, 9, 9), Some((16 + 8) * 8 + 8 + 4));
        assert_eq!(layout.address(0, 20, 0), None);
        assert_eq!(layout.address(16, 0, 0), None);
    }
}
